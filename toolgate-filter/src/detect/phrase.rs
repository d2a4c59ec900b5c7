//! Phrases of words, matched word by word from a first word that was found already.

use std::ops::Range;

use super::Hit;
use super::words::{Vocabulary, WINDOW, Word, Words};
use crate::marker;
use crate::rules::{PHRASES, Phrase, RuleId, Step};
use crate::text::{byte, byte_before, floor, slice};

/// The phrases, made ready: their sets of words have become bits.
pub(super) struct Grammar {
    vocabulary: Vocabulary,
    phrases: Vec<Ready>,
}

struct Ready {
    rule: RuleId,
    first: &'static [&'static str],
    then: Vec<ReadyStep>,
    /// How many words the whole may take.
    words: usize,
}

struct ReadyStep {
    /// How many words it may pass over.
    reach: usize,
    takes: Takes,
}

enum Takes {
    Set(u128),
    Name,
    Address,
}

/// The places of the phrases that begin with one word.
#[derive(Debug)]
pub(super) struct Begun {
    phrases: Vec<usize>,
    /// How many words their first steps may look at.
    near: usize,
    /// How many words the longest of them may take.
    words: usize,
}

impl Grammar {
    pub(super) fn new() -> Self {
        let mut sets = Vec::new();
        let phrases = PHRASES.iter().map(|phrase| ready(phrase, &mut sets));
        Self {
            phrases: phrases.collect(),
            vocabulary: Vocabulary::new(&sets),
        }
    }

    /// Every word that a phrase begins with, and the phrases that do.
    pub(super) fn firsts(&self) -> Vec<(&'static str, Begun)> {
        let all = self.phrases.iter().flat_map(|phrase| phrase.first);
        let mut words: Vec<&'static str> = all.copied().collect();
        words.sort_unstable();
        words.dedup();
        words.into_iter().map(|w| (w, self.begun(w))).collect()
    }

    fn begun(&self, word: &'static str) -> Begun {
        let mut begun = Begun {
            phrases: Vec::new(),
            near: 0,
            words: 0,
        };
        for (place, phrase) in self.phrases.iter().enumerate() {
            if phrase.first.contains(&word) {
                begun.phrases.push(place);
                begun.near = begun
                    .near
                    .max(phrase.then.first().map_or(0, |step| step.reach + 1));
                begun.words = begun.words.max(phrase.words);
            }
        }
        begun
    }

    pub(super) fn reader<'t>(&'t self, text: &'t str) -> Reader<'t> {
        Reader {
            text,
            phrases: &self.phrases,
            words: Words::new(text, &self.vocabulary),
        }
    }
}

fn ready(phrase: &Phrase, sets: &mut Vec<&'static [&'static str]>) -> Ready {
    let mut bit = |set: &'static [&'static str]| {
        let place = sets.iter().position(|known| *known == set);
        let place = place.unwrap_or_else(|| {
            sets.push(set);
            sets.len() - 1
        });
        u32::try_from(place)
            .ok()
            .and_then(|place| 1_u128.checked_shl(place))
            .unwrap_or(0)
    };
    let then: Vec<ReadyStep> = phrase
        .then
        .iter()
        .map(|step| {
            let (reach, takes) = match step {
                Step::Within(reach, set) => (*reach, Takes::Set(bit(set))),
                Step::Name(reach) => (*reach, Takes::Name),
                Step::Address(reach) => (*reach, Takes::Address),
            };
            ReadyStep { reach, takes }
        })
        .collect();
    Ready {
        rule: phrase.rule,
        first: phrase.first,
        words: then.iter().map(|step| step.reach + 1).sum(),
        then,
    }
}

/// Looks for phrases in one text, from its front to its back.
pub(super) struct Reader<'t> {
    text: &'t str,
    phrases: &'t [Ready],
    words: Words<'t>,
}

impl Reader<'_> {
    /// The first phrase that the text goes on with after its first word at `start..end`.
    pub(super) fn phrase(&mut self, start: usize, end: usize, begun: &Begun) -> Option<Hit> {
        let text = self.text;
        if is_word(byte_before(text, start)) || is_word(byte(text, end)) {
            return None;
        }
        let phrases = begun.phrases.iter().filter_map(|i| self.phrases.get(*i));
        // Most first words go on with nothing of note: look no further than a first step reaches.
        let words = self.words.after(start, end, begun.near);
        let begins = |phrase: &Ready| {
            phrase.then.first().is_some_and(|step| {
                let mut within = words.iter().take(step.reach + 1);
                within.any(|word| fits(text, word, step).is_some())
            })
        };
        if !phrases.clone().any(begins) {
            return None;
        }
        let words = self.words.after(start, end, begun.words);
        let mut phrases = phrases;
        phrases.find_map(|phrase| {
            let last = follow(text, words, &phrase.then)?;
            Some(Hit::new(phrase.rule, start..last))
        })
    }
}

/// The end of the match of `steps` against the words, or `None`.
///
/// A step may take a later word than the first that fits; with so few words and steps the search
/// stays small.
fn follow(text: &str, words: &[Word], steps: &[ReadyStep]) -> Option<usize> {
    let (step, more) = steps.split_first()?;
    for (i, word) in words.iter().enumerate().take(step.reach + 1) {
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

/// Where the step ends that takes this word.
fn fits(text: &str, word: &Word, step: &ReadyStep) -> Option<usize> {
    match step.takes {
        Takes::Set(set) => (word.sets & set != 0).then_some(word.span.end),
        Takes::Name => is_name(text, &word.span).then_some(word.span.end),
        Takes::Address => address(text, &word.span),
    }
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
