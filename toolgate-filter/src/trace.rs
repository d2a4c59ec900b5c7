//! Edits of a text, and the way back from a place in the edited text to the original.

use std::ops::Range;

use crate::marker;
use crate::text::slice;

/// A replacement of `span`.
#[derive(Debug)]
pub(crate) struct Edit {
    pub(crate) span: Range<usize>,
    pub(crate) with: With,
}

/// What takes the place of something.
#[derive(Debug, Clone, Copy)]
pub(crate) enum With {
    Text(&'static str),
    /// The marker with this word.
    Marker(&'static str),
}

impl With {
    /// Its length in bytes.
    const fn length(self) -> usize {
        match self {
            Self::Text(text) => text.len(),
            Self::Marker(word) => marker::length(word),
        }
    }

    /// Whether nothing does.
    pub(crate) const fn is_empty(self) -> bool {
        matches!(self, Self::Text(text) if text.is_empty())
    }
}

/// Where each part of an edited text came from.
#[derive(Debug)]
pub(crate) struct Trace {
    // INVARIANT: sorted and gapless in `out`.
    parts: Vec<Part>,
}

#[derive(Debug)]
struct Part {
    out: Range<usize>,
    src: Range<usize>,
    copied: bool,
}

impl Trace {
    /// The range of the original that a range of the edited text stands for.
    pub(crate) fn origin(&self, span: &Range<usize>) -> Range<usize> {
        let start = self.part(span.start).map_or(span.start, |part| {
            if part.copied {
                part.src.start + (span.start - part.out.start)
            } else {
                part.src.start
            }
        });
        let last = span.end.saturating_sub(1).max(span.start);
        let end = self.part(last).map_or(span.end, |part| {
            if part.copied {
                part.src.start + (span.end.max(part.out.start) - part.out.start)
            } else {
                part.src.end
            }
        });
        start..end.max(start)
    }

    fn part(&self, at: usize) -> Option<&Part> {
        let after = self.parts.partition_point(|part| part.out.end <= at);
        self.parts.get(after).or_else(|| self.parts.last())
    }
}

/// Applies edits that are sorted and do not overlap.
pub(crate) fn apply(text: &str, edits: Vec<Edit>) -> (String, Trace) {
    let more: usize = edits.iter().map(|edit| edit.with.length()).sum();
    let mut out = String::with_capacity(text.len() + more);
    let mut parts = Vec::with_capacity(edits.len() * 2 + 1);
    let mut done = 0;
    let copy = |out: &mut String, parts: &mut Vec<Part>, src: Range<usize>| {
        if !src.is_empty() {
            let start = out.len();
            out.push_str(slice(text, src.clone()));
            parts.push(Part {
                out: start..out.len(),
                src,
                copied: true,
            });
        }
    };
    for edit in edits {
        copy(&mut out, &mut parts, done..edit.span.start);
        done = edit.span.end;
        let start = out.len();
        match edit.with {
            With::Text(text) => out.push_str(text),
            With::Marker(word) => marker::push(&mut out, word),
        }
        if out.len() > start {
            parts.push(Part {
                out: start..out.len(),
                src: edit.span,
                copied: false,
            });
        }
    }
    copy(&mut out, &mut parts, done..text.len());
    (out, Trace { parts })
}
