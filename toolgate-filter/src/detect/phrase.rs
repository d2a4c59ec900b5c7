//! Phrases of words, matched word by word from a first word that was found already.

use std::ops::Range;

use super::Hit;
use crate::marker;
use crate::rules::{Phrase, Step};
use crate::text::{byte, byte_before, char_at, floor, slice};

/// The first of `phrases` that the text goes on with after its first word at `start..end`.
pub(super) fn matches(
    text: &str,
    start: usize,
    end: usize,
    phrases: &[&'static Phrase],
) -> Option<Hit> {
    if is_word(byte_before(text, start)) || is_word(byte(text, end)) {
        return None;
    }
    // Most first words go on with nothing of note: look no further than a first step reaches.
    let near = phrases.iter().filter_map(|phrase| phrase.then.first());
    let near = near.map(|step| reach(step) + 1).max().unwrap_or(0);
    let words = Words::after(text, end, near);
    let begins = |phrase: &&Phrase| {
        phrase.then.first().is_some_and(|step| {
            let mut within = words.as_slice().iter().take(reach(step) + 1);
            within.any(|word| fits(text, word, step).is_some())
        })
    };
    if !phrases.iter().copied().any(|phrase| begins(&phrase)) {
        return None;
    }
    let whole = phrases
        .iter()
        .map(|phrase| phrase.then.iter().map(|s| reach(s) + 1).sum());
    let words = Words::after(text, end, whole.max().unwrap_or(MOST));
    phrases.iter().find_map(|phrase| {
        let last = follow(text, words.as_slice(), phrase.then)?;
        Some(Hit::new(phrase.rule, start..last))
    })
}

/// The end of the match of `steps` against the words, or `None`.
///
/// A step may take a later word than the first that fits; with so few words and steps the search
/// stays small.
fn follow(text: &str, words: &[Range<usize>], steps: &[Step]) -> Option<usize> {
    let (step, more) = steps.split_first()?;
    for (i, word) in words.iter().enumerate().take(reach(step) + 1) {
        let Some(end) = fits(text, word, step) else {
            continue;
        };
        if more.is_empty() {
            return Some(end);
        }
        let rest = words.get(i + 1..).unwrap_or_default();
        if let Some(end) = follow(text, rest, more) {
            return Some(end);
        }
    }
    None
}

/// How many words the step may pass over.
const fn reach(step: &Step) -> usize {
    let (Step::Within(skip, _) | Step::Name(skip) | Step::Address(skip)) = step;
    *skip
}

/// Where the step ends that takes this word.
fn fits(text: &str, word: &Range<usize>, step: &Step) -> Option<usize> {
    match step {
        Step::Within(_, set) => {
            let found = slice(text, word.clone());
            set.iter()
                .any(|w| w.eq_ignore_ascii_case(found))
                .then_some(word.end)
        }
        Step::Name(_) => is_name(text, word).then_some(word.end),
        Step::Address(_) => address(text, word),
    }
}

/// The next words of one sentence.
struct Words {
    words: [Range<usize>; MOST],
    count: usize,
}

impl Words {
    fn after(text: &str, at: usize, most: usize) -> Self {
        let mut this = Self {
            words: std::array::from_fn(|_| 0..0),
            count: 0,
        };
        let limit = floor(text, (at + WINDOW).min(text.len()));
        let mut at = at;
        while let Some(slot) = this.words.get_mut(this.count).filter(|_| this.count < most) {
            let rest = slice(text, at..limit);
            let begins = |c: char| c.is_alphanumeric() || c == '_' || c == '[';
            let Some(gap) = first(rest, begins) else {
                break;
            };
            if this.count > 0 && ends_sentence(slice(rest, 0..gap)) {
                break;
            }
            let start = at + gap;
            let end = match marker::end(text, start) {
                Some(end) => end,
                None if byte(text, start) == b'[' => {
                    at = start + 1;
                    continue;
                }
                None => {
                    let rest = slice(text, start..limit);
                    let ends = |c: char| !(c.is_alphanumeric() || matches!(c, '_' | '\'' | '’'));
                    let length = first(rest, ends);
                    start + length.unwrap_or(rest.len())
                }
            };
            *slot = start..end;
            this.count += 1;
            at = end;
        }
        this
    }

    fn as_slice(&self) -> &[Range<usize>] {
        self.words.get(..self.count).unwrap_or_default()
    }
}

/// Where the first such character is; plain ASCII is looked through byte by byte.
fn first(text: &str, such: impl Fn(char) -> bool) -> Option<usize> {
    let plain = |b: u8| b.is_ascii() && !such(char::from(b));
    let at = text.bytes().position(|b| !plain(b))?;
    let rest = slice(text, at..text.len());
    rest.find(such).map(|more| at + more)
}

fn ends_sentence(gap: &str) -> bool {
    if gap == " " {
        return false;
    }
    let stop = gap.find(['.', '!', '?', ';']);
    let stopped = stop.is_some_and(|at| {
        char_at(gap, at + 1).is_none_or(|c| c.is_whitespace() || c == '"' || c == '\'')
            && gap.len() > at + 1
    });
    // The end of a string in JSON or code ends what it says, too.
    stopped
        || ["\n\n", "\",", "\":", "\";"]
            .iter()
            .any(|end| gap.contains(end))
}

/// A word with an underscore, with a capital inside, or in quotes.
fn is_name(text: &str, word: &Range<usize>) -> bool {
    let found = slice(text, word.clone());
    let humps =
        found.chars().skip(1).any(char::is_uppercase) && found.chars().any(char::is_lowercase);
    let quoted = matches!(byte_before(text, word.start), b'"' | b'\'' | b'`')
        && matches!(byte(text, word.end), b'"' | b'\'' | b'`');
    found.len() > 2 && (found.trim_matches('_').contains('_') || humps || quoted)
}

/// The end of the web or mail address that begins with this word.
fn address(text: &str, word: &Range<usize>) -> Option<usize> {
    let found = slice(text, word.clone());
    if marker::is_marker(found) {
        return (found == "[redacted:email]").then_some(word.end);
    }
    let rest = slice(
        text,
        word.end..floor(text, (word.end + WINDOW).min(text.len())),
    );
    let length = rest.find(|c: char| c.is_whitespace() || "\"'<>`,)".contains(c));
    let rest = slice(rest, 0..length.unwrap_or(rest.len()));
    let is_web = found
        .get(..4)
        .is_some_and(|start| start.eq_ignore_ascii_case("http"))
        && rest.starts_with("://");
    let is_mail = rest
        .split_once('@')
        .is_some_and(|(_, host)| host.trim_end_matches('.').contains('.'));
    (is_web || is_mail).then_some(word.end + rest.len())
}

fn is_word(b: u8) -> bool {
    b.is_ascii_alphanumeric() || b == b'_' || b == b'-'
}

const MOST: usize = 16;
const WINDOW: usize = 240;
