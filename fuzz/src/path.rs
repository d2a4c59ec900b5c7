use toolgate_core::rules::check_path;
use unicode_normalization::UnicodeNormalization as _;

use crate::support;

/// Paths: what is accepted under a prefix stays below it, however the path is resolved.
pub fn path(data: &[u8]) {
    let text = support::text(data);
    for prefix in ["docs/", "docs", "/srv/docs", "docs/a b/"] {
        if check_path(prefix, &text).is_ok() {
            assert!(stays_below(prefix, &text), "{text:?} leaves {prefix:?}");
        }
    }
    let plain = |c: char| c.is_ascii_lowercase() || c == '/';
    let has_empty = text.contains("//") || text.starts_with('/');
    if text.chars().all(plain) && !has_empty {
        let is_ok = check_path("docs/", &format!("docs/{text}")).is_ok();
        assert!(is_ok, "the plain path {text:?} is refused");
    }
}

/// Whether a path lies below a prefix for several naive resolvers.
pub(crate) fn stays_below(prefix: &str, path: &str) -> bool {
    let decoded: &[fn(&str) -> String] = &[
        str::to_owned,
        |path| percent_decoded(path),
        |path| fixed_point(path, percent_decoded),
        |path| fixed_point(path, |path| percent_decoded(path).nfkc().collect()),
        |path| path.nfkc().collect(),
    ];
    let read: &[fn(&str) -> String] = &[
        str::to_owned,
        // Windows drops dots and spaces at the end of a segment; servers cut off parameters.
        |segment| segment.trim_end_matches([' ', '.']).to_owned(),
        |segment| segment.trim().to_owned(),
        |segment| {
            segment
                .split([';', '?', '#', '\0'])
                .next()
                .unwrap_or_default()
                .to_owned()
        },
        |segment| segment.chars().filter(|c| !c.is_control()).collect(),
    ];
    decoded.iter().all(|decode| {
        let path = decode(path);
        read.iter().all(|read| is_below(prefix, &path, read))
    })
}

fn is_below(prefix: &str, path: &str, read: &fn(&str) -> String) -> bool {
    let wanted: Vec<&str> = prefix.split('/').filter(|it| !it.is_empty()).collect();
    let mut place: Vec<&str> = Vec::new();
    for segment in path.split(['/', '\\']) {
        let as_read = read(segment);
        match as_read.as_str() {
            ".." => {
                if place.pop().is_none() {
                    return false;
                }
            }
            "." => {}
            _ if segment.is_empty() => {}
            // A segment of dots alone is another place on some systems.
            _ if segment.len() > 1 && segment.chars().all(|c| c == '.') => return false,
            _ => place.push(segment),
        }
    }
    place.starts_with(&wanted) && path.starts_with('/') == prefix.starts_with('/')
}

fn fixed_point(text: &str, step: impl Fn(&str) -> String) -> String {
    let mut text = text.to_owned();
    for _ in 0..100 {
        let next = step(&text);
        if next == text {
            break;
        }
        text = next;
    }
    text
}

/// Undoes one layer of percent-encoding, written without the crate that the rule uses.
fn percent_decoded(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let digit = |at: usize| bytes.get(at).and_then(|b| char::from(*b).to_digit(16));
        match (bytes[at], digit(at + 1), digit(at + 2)) {
            (b'%', Some(high), Some(low)) => {
                out.push(u8::try_from(high * 16 + low).unwrap_or_default());
                at += 3;
            }
            (byte, ..) => {
                out.push(byte);
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}
