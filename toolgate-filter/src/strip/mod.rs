//! Removes what a reader cannot see: invisible characters and terminal control sequences.
//!
//! It runs before matching, so that a word with something invisible in it is still that word.

mod invisible;
mod terminal;

pub(crate) use invisible::is_unseen;

use std::ops::Range;

use crate::rules::RuleId;
use crate::trace::{Edit, With};

/// What has to be removed from a text, sorted, and the rule for each removal.
#[derive(Debug, Default)]
pub(crate) struct Cuts {
    pub(crate) edits: Vec<Edit>,
    pub(crate) found: Vec<(RuleId, Range<usize>)>,
}

impl Cuts {
    fn cut(&mut self, rule: RuleId, span: Range<usize>, with: &'static str) {
        match self.edits.last_mut() {
            Some(last)
                if last.span.end == span.start && with.is_empty() && last.with.is_empty() =>
            {
                last.span.end = span.end;
            }
            _ => self.edits.push(Edit {
                span: span.clone(),
                with: With::Text(with),
            }),
        }
        match self.found.last_mut() {
            Some((same, last)) if *same == rule && last.end == span.start => last.end = span.end,
            _ => self.found.push((rule, span)),
        }
    }
}

/// Finds what to remove; `None` for text that needs nothing.
pub(crate) fn cuts(text: &str) -> Option<Cuts> {
    if is_plain(text) {
        return None;
    }
    let mut cuts = Cuts::default();
    let mut at = 0;
    let mut kept = invisible::Kept::default();
    while let Some(c) = text.get(at..).and_then(|rest| rest.chars().next()) {
        let next = at + c.len_utf8();
        if let Some((end, with)) = terminal::sequence(text, at, c) {
            cuts.cut(RuleId::TERMINAL_ESCAPE, at..end, with);
            if !with.is_empty() {
                kept.push('\n');
            }
            at = end;
            continue;
        }
        match invisible::judge(text, at, c, &kept) {
            invisible::Verdict::Keep(end) => {
                for c in text.get(at..end).unwrap_or_default().chars() {
                    kept.push(c);
                }
                at = end;
            }
            invisible::Verdict::Cut(rule) => {
                cuts.cut(rule, at..next, "");
                at = next;
            }
        }
    }
    (!cuts.edits.is_empty()).then_some(cuts)
}

/// Whether a text is made of printable ASCII, tabs and line ends alone.
fn is_plain(text: &str) -> bool {
    let odd = |b: u8| !(b' '..=b'~').contains(&b) && b != b'\n' && b != b'\t';
    // Whole blocks without an early exit, which the compiler turns into vector instructions.
    !text
        .as_bytes()
        .chunks(64)
        .any(|block| block.iter().fold(false, |any, b| any | odd(*b)))
}
