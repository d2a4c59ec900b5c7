//! A text as its letters read: without the marks that stand on them and what shows nothing.
//!
//! Such characters belong to words of many scripts and stay in the text. A rule must not miss its
//! match because one of them stands in the middle of it.

use std::borrow::Cow;
use std::sync::OnceLock;

use unicode_normalization::char::{compose, is_combining_mark};

use super::Hit;
use crate::strip::is_unseen;
use crate::text::{byte, byte_before, char_at};

/// A text without marks, and the way back into the text that has them.
#[derive(Debug)]
pub(super) struct View {
    pub(super) text: String,
    /// Places in the view and where each is in the text, for every piece that was copied.
    jumps: Vec<(usize, usize)>,
    /// Where a mark of the text parts words that the view reads as one, as a keycap before a
    /// number does.
    borders: Vec<usize>,
}

impl View {
    /// `None` for a text that has no marks.
    pub(super) fn of(text: &str) -> Option<Self> {
        let mut next = next_mark(text, 0);
        next?;
        let mut view = Self {
            text: String::with_capacity(text.len()),
            jumps: Vec::new(),
            borders: Vec::new(),
        };
        let mut copied = 0;
        while let Some((at, mark)) = next {
            view.copy(text, copied, at);
            copied = at + mark.len_utf8();
            if !view.put_on(mark) && is_jamo(mark) {
                view.copy(text, at, copied);
            }
            if begins_word(byte(text, copied)) && ends_in_word(&view.text) {
                view.borders.push(copied);
            }
            next = next_mark(text, copied);
        }
        view.copy(text, copied, text.len());
        view.jumps.push((view.text.len(), text.len()));
        Some(view)
    }

    /// The matches in the text of which this is the view, each with the marks that end it.
    pub(super) fn origins(&self, mut hits: Vec<Hit>) -> Vec<Hit> {
        let mut near = 0;
        for hit in &mut hits {
            let (start, end) = (hit.span.start, hit.span.end);
            hit.span = self.source(start, &mut near)..self.source(end, &mut near);
            hit.from = if hit.from == start {
                hit.span.start
            } else {
                self.source(hit.from, &mut near)
            };
            hit.until = if hit.until == end {
                hit.span.end
            } else {
                self.source(hit.until, &mut near)
            };
        }
        hits
    }

    pub(super) fn has_borders(&self) -> bool {
        !self.borders.is_empty()
    }

    /// Whether a match in the text begins where the view has no border.
    pub(super) fn misses(&self, hit: &Hit) -> bool {
        self.borders.binary_search(&hit.from).is_ok()
    }

    /// Where a place in the view is in the text. `near` is where the last one was looked up: most
    /// follow one another.
    fn source(&self, at: usize, near: &mut usize) -> usize {
        let within = |i: usize| {
            let starts = self.jumps.get(i).is_some_and(|(view, _)| *view <= at);
            starts && self.jumps.get(i + 1).is_none_or(|(view, _)| *view > at)
        };
        let close = (*near..*near + 4).find(|i| within(*i));
        *near = close.unwrap_or_else(|| {
            let after = self.jumps.partition_point(|(view, _)| *view <= at);
            after.saturating_sub(1)
        });
        let jump = self.jumps.get(*near).filter(|(view, _)| *view <= at);
        jump.map_or(at, |(view, source)| source + (at - view))
    }

    fn copy(&mut self, text: &str, from: usize, to: usize) {
        if let Some(piece) = text.get(from..to).filter(|piece| !piece.is_empty()) {
            self.jumps.push((self.text.len(), from));
            self.text.push_str(piece);
        }
    }

    /// Makes one letter of the last one and a mark, where they are another letter than it alone.
    fn put_on(&mut self, mark: char) -> bool {
        if !is_voicing(mark) && !is_jamo(mark) {
            return false;
        }
        let base = self.text.chars().next_back();
        let whole = base.and_then(|base| compose(base, mark));
        if let Some(whole) = whole {
            self.text.pop();
            self.text.push(whole);
        }
        whole.is_some()
    }
}

/// The text as its letters read.
pub(crate) fn seen(text: &str) -> Cow<'_, str> {
    View::of(text).map_or(Cow::Borrowed(text), |view| Cow::Owned(view.text))
}

/// The next mark that could stand in the middle of a match, at `from` or after it.
fn next_mark(text: &str, from: usize) -> Option<(usize, char)> {
    let mut at = from;
    loop {
        at += ahead(text.as_bytes().get(at..)?)?;
        let c = char_at(text, at)?;
        // What stands before `from` was a mark itself, so one there has no base that is known.
        let base = || text.get(from..at)?.chars().next_back();
        if is_mark(c) && !base().is_some_and(ends_matches) {
            return Some((at, c));
        }
        at += c.len_utf8();
    }
}

/// Whether a character is in no word that a rule knows: what it carries hides nothing that it does
/// not part anyway. Most marks are on such letters and signs.
fn ends_matches(c: char) -> bool {
    matches!(c, '\u{590}'..='\u{10ff}' | '\u{2000}'..='\u{2fff}' | '\u{1f000}'..='\u{1faff}')
}

/// Where the next character from U+0300 on begins: no mark is before these.
fn ahead(bytes: &[u8]) -> Option<usize> {
    let begins = |b: &u8| *b >= 0xcc;
    if bytes.first().is_some_and(begins) {
        return Some(0);
    }
    // Whole blocks without an early exit, which the compiler turns into vector instructions.
    let plain = |block: &&[u8]| !block.iter().fold(false, |any, b| any | begins(b));
    let skipped = bytes.chunks(BLOCK).take_while(plain).count() * BLOCK;
    let at = bytes.get(skipped..)?.iter().position(begins)?;
    Some(skipped + at)
}

/// Whether a character changes nothing about which letters a text has.
fn is_mark(c: char) -> bool {
    static MARKS: OnceLock<Vec<u64>> = OnceLock::new();
    let code = u32::from(c);
    if code > 0xffff {
        return !matches!(c, '\u{1f000}'..='\u{1faff}') && is_listed(c);
    }
    // Looked up once for each character of the basic plane, where most texts are.
    let marks = MARKS.get_or_init(|| {
        let word = |word: u32| {
            let bits = (0..64).filter(|bit| char::from_u32(word * 64 + bit).is_some_and(is_listed));
            bits.fold(0, |set, bit| set | 1 << bit)
        };
        (0..0x400).map(word).collect()
    });
    let word = usize::try_from(code / 64).ok().and_then(|i| marks.get(i));
    word.is_some_and(|set| set >> (code % 64) & 1 == 1)
}

fn is_listed(c: char) -> bool {
    // Signs of some scripts that format what follows them.
    let formats = matches!(c,
        '\u{600}'..='\u{605}' | '\u{6dd}' | '\u{70f}' | '\u{890}' | '\u{891}' | '\u{8e2}'
        | '\u{110bd}' | '\u{110cd}' | '\u{13430}'..='\u{1345f}');
    c >= '\u{300}' && (formats || is_combining_mark(c) || is_unseen(c) || is_jamo(c))
}

/// The marks that make another kana of a kana.
fn is_voicing(c: char) -> bool {
    matches!(c, '\u{3099}' | '\u{309a}')
}

/// The vowels and final consonants that Hangul syllables are spelt with.
fn is_jamo(c: char) -> bool {
    matches!(c, '\u{1161}'..='\u{1175}' | '\u{11a8}'..='\u{11c2}')
}

/// Whether what a rule looks for may begin with this character but not inside a word.
fn begins_word(b: u8) -> bool {
    b.is_ascii_alphanumeric() || matches!(b, b'+' | b'(')
}

fn ends_in_word(text: &str) -> bool {
    byte_before(text, text.len()).is_ascii_alphanumeric()
}

const BLOCK: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_view_has_letters_and_no_marks() {
        let cases = [
            ("plain", "plain"),
            ("é漢字", "é漢字"),
            ("7\u{20e3}e\u{301}\u{323}x", "7ex"),
            ("密\u{e0100}码", "密码"),
            ("ハ\u{309a}スワ\u{301}ート\u{3099}", "パスワード"),
            ("\u{1107}\u{1175}\u{1106}\u{1175}\u{11af}", "비밀"),
            ("ㄱ\u{301}\u{1161}x", "ㄱ\u{1161}x"),
            ("की ❤\u{fe0f} 👩\u{200d}💻", "की ❤\u{fe0f} 👩\u{200d}💻"),
            ("7\u{93c}\u{301}\u{93f}x", "7x"),
            ("\u{301}", ""),
        ];
        for (text, expected) in cases {
            assert_eq!(seen(text), expected, "from {text:?}");
        }
    }

    #[test]
    fn places_lead_back_into_the_text() {
        let view = View::of("\u{301}a\u{301}bハ\u{309a}c\u{20e3}").unwrap();
        assert_eq!(view.text, "abパc");
        let places: Vec<usize> = [0, 1, 2, 5, 6].map(|at| view.source(at, &mut 0)).to_vec();
        assert_eq!(places, [2, 5, 6, 12, 16]);
        let view = View::of("a\u{301}\u{1161}b").unwrap();
        assert_eq!([5, 4, 1].map(|at| view.source(at, &mut 0)), [7, 6, 3]);
    }
}
