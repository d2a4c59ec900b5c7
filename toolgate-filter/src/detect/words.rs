//! The words of a text, read once and in order however often they are asked for.

use std::collections::{HashMap, VecDeque};
use std::ops::Range;

use crate::marker;
use crate::text::{byte, char_at, floor, slice};

/// Which of some sets of words a word is in, one bit for each set.
#[derive(Debug, Default)]
pub(super) struct Vocabulary {
    sets: HashMap<&'static str, u128>,
    longest: usize,
}

impl Vocabulary {
    /// The first set is the lowest bit; sets past the 128th have none.
    pub(super) fn new(sets: &[&'static [&'static str]]) -> Self {
        let mut this = Self::default();
        for (place, set) in (0..u128::BITS).zip(sets) {
            for word in *set {
                *this.sets.entry(word).or_default() |= 1 << place;
                this.longest = this.longest.max(word.len());
            }
        }
        this
    }

    /// The sets that a word is in, whatever its case.
    fn sets(&self, word: &str) -> u128 {
        if word.len() > self.longest || !word.is_ascii() {
            return 0;
        }
        let known = self.sets.get(word.to_ascii_lowercase().as_str());
        known.copied().unwrap_or(0)
    }
}

/// A word, or a marker that stands for one.
#[derive(Debug)]
pub(super) struct Word {
    pub(super) span: Range<usize>,
    /// The sets of words that it is in, one bit for each.
    pub(super) sets: u128,
    /// Whether a sentence ended before it.
    opens: bool,
}

/// Reads a text from the front to the back.
#[derive(Debug)]
pub(super) struct Words<'t> {
    text: &'t str,
    vocabulary: &'t Vocabulary,
    ahead: VecDeque<Word>,
    /// Where the last word ended.
    last: usize,
    /// Up to where the text has been read.
    read: usize,
}

impl<'t> Words<'t> {
    pub(super) fn new(text: &'t str, vocabulary: &'t Vocabulary) -> Self {
        Self {
            text,
            vocabulary,
            ahead: VecDeque::new(),
            last: 0,
            read: 0,
        }
    }

    /// At most `most` words of one sentence, after the word that begins at `start` and reaches to
    /// `end` at least.
    ///
    /// `start` must not be smaller than in an earlier call.
    pub(super) fn after(&mut self, start: usize, end: usize, most: usize) -> &[Word] {
        while self.ahead.front().is_some_and(|w| w.span.start < end) {
            self.ahead.pop_front();
        }
        if self.ahead.is_empty() && self.read < end {
            // The word itself is read again from its start, so that it ends where words do.
            self.read = start;
            self.last = start;
        }
        let limit = floor(self.text, (end + WINDOW).min(self.text.len()));
        while self.ahead.len() < most && self.read < limit {
            if let Some(word) = self.next(limit).filter(|word| word.span.start >= end) {
                self.ahead.push_back(word);
            }
        }
        let words = self.ahead.make_contiguous();
        let within = |(i, word): (usize, &Word)| word.span.end <= limit && (i == 0 || !word.opens);
        let count = words.iter().enumerate().take(most);
        let count = count.take_while(|(i, word)| within((*i, word))).count();
        words.get(..count).unwrap_or_default()
    }

    /// The next word that begins before `limit`; without one, the text is read up to there.
    fn next(&mut self, limit: usize) -> Option<Word> {
        let begins = |c: char| c.is_alphanumeric() || c == '_' || c == '[';
        let Some(gap) = first(slice(self.text, self.read..limit), begins) else {
            self.read = limit;
            return None;
        };
        let start = self.read + gap;
        let (end, sets) = match marker::end(self.text, start) {
            Some(end) => (end, 0),
            None if byte(self.text, start) == b'[' => {
                self.read = start + 1;
                return None;
            }
            None => {
                let rest = slice(self.text, start..self.text.len());
                let ends = |c: char| !(c.is_alphanumeric() || matches!(c, '_' | '\'' | '’'));
                let end = start + first(rest, ends).unwrap_or(rest.len());
                (end, self.vocabulary.sets(slice(self.text, start..end)))
            }
        };
        let opens = start - self.last > WINDOW || ends_sentence(slice(self.text, self.last..start));
        self.read = end;
        self.last = end;
        Some(Word {
            span: start..end,
            sets,
            opens,
        })
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

/// How far words are read on, in bytes.
pub(super) const WINDOW: usize = 240;
