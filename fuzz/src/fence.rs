use std::borrow::Cow;

use toolgate_filter::fence::FenceId;
use toolgate_filter::fence::defuse;
use toolgate_filter::fence::wrap;
use unicode_normalization::UnicodeNormalization as _;

use crate::support;

/// The fence: a note on the first line, then the text inside. A lenient reader sees one opening
/// tag, one closing tag at the end and our own notes before, whatever the text holds.
pub fn fence(data: &[u8]) {
    let text = support::text(data);
    let id = FenceId::from_entropy([0x5a; 16]);
    let (note, inner) = support::line(&text);
    for (note, inner) in [(note, inner), ("a note", &text)] {
        let out = wrap(inner, &id, &[note]);
        let end = format!("\n</tool_output id=\"{id}\">");
        assert!(out.ends_with(&end), "the end is ours");
        assert_eq!(out.to_lowercase().matches(&id.to_string()).count(), 2);
        let (head, rest) = out.split_once("\n<tool_output trust").expect("our own tag");
        assert!(
            head.starts_with("toolgate: ") && !head.contains(['\n', '\r']),
            "{head:?}"
        );
        let body = rest.strip_suffix(&end).expect("as was seen above");
        let (_, body) = body.split_once('\n').expect("our own line");
        untagged(head);
        untagged(body);
        for line in body.lines() {
            let line = line.trim_start().to_lowercase();
            assert!(!line.starts_with("toolgate:"), "a forged note: {line:?}");
        }
    }
    let once = defuse(&text);
    assert_eq!(defuse(&once), once, "defusing settles");
}

/// No reader finds a tag, in whatever layer of escapes.
fn untagged(text: &str) {
    let mut text = Cow::Borrowed(text);
    for layer in 0..MOST_LAYERS {
        let folded: String = text.nfkc().filter(|c| !is_unseen(*c)).collect();
        let folded = folded.to_lowercase();
        let squeezed: String = folded.chars().filter(|c| !c.is_whitespace()).collect();
        for tag in ["<tool_output", "</tool_output"] {
            assert!(
                !squeezed.contains(tag),
                "a tag in layer {layer} of {text:?}"
            );
        }
        let next = unescaped(&text);
        if next == text {
            break;
        }
        text = Cow::Owned(next);
    }
}

/// Undoes one layer of escapes, each wherever it stands.
fn unescaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let lower = rest
            .get(..12.min(rest.len()))
            .unwrap_or(rest)
            .to_ascii_lowercase();
        let found = ESCAPES.iter().find(|(escape, _)| lower.starts_with(escape));
        let (read, used) = found.map_or((c, c.len_utf8()), |(escape, c)| (*c, escape.len()));
        out.push(read);
        rest = &rest[used..];
    }
    out
}

fn is_unseen(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}' | '\u{feff}')
}

const MOST_LAYERS: usize = 8;

/// Some escapes of what a tag is made of.
const ESCAPES: [(&str, char); 26] = [
    ("&lt;", '<'),
    ("&amp;", '&'),
    ("&sol;", '/'),
    ("&lowbar;", '_'),
    ("&#60;", '<'),
    ("&#47;", '/'),
    ("&#38;", '&'),
    ("&#95;", '_'),
    ("&#x3c;", '<'),
    ("&#x2f;", '/'),
    ("&#x26;", '&'),
    ("&#x74;", 't'),
    ("%3c", '<'),
    ("%2f", '/'),
    ("%25", '%'),
    ("%26", '&'),
    ("%5f", '_'),
    ("%74", 't'),
    ("\\u003c", '<'),
    ("\\u0026", '&'),
    ("\\u005c", '\\'),
    ("\\u002f", '/'),
    ("\\x3c", '<'),
    ("\\x2f", '/'),
    ("\\\\", '\\'),
    ("\\/", '/'),
];
