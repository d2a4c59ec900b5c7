//! Cleans one string, or several that stand side by side, to a fixed point.

use std::ops::Range;

use crate::detect::{Hit, Look, detect, joins};
use crate::rules::RuleId;
use crate::strip;
use crate::trace::{Edit, Trace, With, apply};
use crate::{Kind, Pii, Settings, marker};

/// A cleaned string and what was found in it, at places of the original.
#[derive(Debug)]
pub(crate) struct Clean {
    pub(crate) text: String,
    pub(crate) found: Vec<(RuleId, Range<usize>)>,
}

/// Cleans strings that a reader sees one after the other: what crosses from one into the next is
/// found too.
pub(crate) fn clean(texts: Vec<String>, settings: &Settings) -> Vec<Clean> {
    let pii = settings.pii == Pii::Redact;
    let mut pieces: Vec<Piece> = texts.into_iter().map(Piece::new).collect();
    // A removal can complete what was broken before it, so every change asks for another look.
    for round in 0..MOST_ROUNDS {
        // The text of an order stays, so later rounds would only find it again.
        let orders = round == 0;
        if !pass(&mut pieces, Look { pii, orders }) {
            break;
        }
    }
    pieces.into_iter().map(Piece::finish).collect()
}

#[derive(Debug)]
struct Piece {
    text: String,
    traces: Vec<Trace>,
    found: Vec<(RuleId, Range<usize>)>,
    hits: Vec<Hit>,
}

impl Piece {
    fn new(text: String) -> Self {
        Self {
            text,
            traces: Vec::new(),
            found: Vec::new(),
            hits: Vec::new(),
        }
    }

    fn note(&mut self, rule: RuleId, span: &Range<usize>) {
        let origin = self
            .traces
            .iter()
            .rev()
            .fold(span.clone(), |span, trace| trace.origin(&span));
        self.found.push((rule, origin));
    }

    fn edit(&mut self, edits: Vec<Edit>) {
        let (text, trace) = apply(&self.text, edits);
        self.text = text;
        self.traces.push(trace);
    }

    fn strip(&mut self) -> bool {
        let Some(cuts) = strip::cuts(&self.text) else {
            return false;
        };
        for (rule, span) in merge_excess(cuts.found) {
            self.note(rule, &span);
        }
        self.edit(cuts.edits);
        true
    }

    fn redact(&mut self) -> bool {
        let hits = resolve(std::mem::take(&mut self.hits));
        let mut edits = Vec::with_capacity(hits.len());
        for (rule, span) in hits {
            self.note(rule, &span);
            edits.push(Edit {
                span,
                with: With::Marker(rule.id()),
            });
        }
        let changes = !edits.is_empty();
        if changes {
            self.edit(edits);
        }
        changes
    }

    fn finish(mut self) -> Clean {
        self.found
            .sort_by_key(|(rule, span)| (span.start, span.end, *rule));
        self.found.dedup();
        Clean {
            text: self.text,
            found: self.found,
        }
    }
}

/// One round: strip, look, remove. Tells whether anything changed.
fn pass(pieces: &mut [Piece], look: Look) -> bool {
    let mut changed = false;
    for piece in pieces.iter_mut() {
        changed |= piece.strip();
        piece.hits = detect(&piece.text, look);
    }
    if pieces.len() > 1 {
        for between in ["", " "] {
            join(pieces, between, look);
        }
    }
    for piece in pieces.iter_mut() {
        let is_order = |hit: &mut Hit| hit.rule.kind() == Kind::Injection;
        let orders: Vec<Hit> = piece.hits.extract_if(.., is_order).collect();
        for hit in orders {
            piece.note(hit.rule, &hit.span);
        }
        changed |= piece.redact();
    }
    changed
}

/// Looks at the strings as one text and adds the matches that cross from one into the next.
fn join(pieces: &mut [Piece], between: &str, look: Look) {
    let mut joined = String::with_capacity(pieces.iter().map(|piece| piece.text.len() + 1).sum());
    let mut spans: Vec<Range<usize>> = Vec::with_capacity(pieces.len());
    for piece in pieces.iter() {
        if !joined.is_empty() {
            joined.push_str(between);
        }
        let start = joined.len();
        joined.push_str(&piece.text);
        spans.push(start..joined.len());
    }
    for hit in detect(&joined, look) {
        let first = spans.partition_point(|span| span.end <= hit.from);
        let touched = |span: &&Range<usize>| span.start < hit.until;
        let mut parts: Vec<(usize, Range<usize>)> = spans
            .iter()
            .enumerate()
            .skip(first)
            .take_while(|(_, span)| touched(span))
            .map(|(i, span)| {
                let start = hit.span.start.clamp(span.start, span.end) - span.start;
                let end = hit.span.end.clamp(span.start, span.end) - span.start;
                (i, start..end)
            })
            .collect();
        if hit.rule == RuleId::PRIVATE_KEY
            && !joined
                .get(hit.span.clone())
                .unwrap_or_default()
                .ends_with('-')
        {
            // A key without an end goes on for as long as the strings look like its body.
            let body = parts
                .iter()
                .skip(1)
                .take_while(|(i, _)| pieces.get(*i).is_some_and(|piece| is_key_body(&piece.text)));
            let length = 1 + body.count();
            parts.truncate(length);
        }
        let known = || {
            parts.iter().any(|(i, part)| {
                pieces.get(*i).is_some_and(|piece| {
                    // What was removed already does not go on in the next string.
                    piece.text.get(part.clone()).is_some_and(marker::contains)
                        || piece.hits.iter().any(|known| {
                            known.rule.kind() == hit.rule.kind() && overlap(&known.span, part)
                        })
                })
            })
        };
        let goes_on = hit.rule == RuleId::PRIVATE_KEY;
        if parts.len() < 2 || !joins(&hit, &joined) || !goes_on && known() {
            continue;
        }
        for (i, span) in parts {
            if let Some(piece) = pieces.get_mut(i).filter(|_| !span.is_empty()) {
                piece.hits.push(Hit {
                    rule: hit.rule,
                    from: span.start,
                    until: span.end,
                    span,
                });
            }
        }
    }
}

/// Whether a string is lines of base64.
fn is_key_body(text: &str) -> bool {
    let base64 = |b: u8| b.is_ascii_alphanumeric() || b"+/=".contains(&b);
    let mut lines = text
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .peekable();
    lines.peek().is_some_and(|line| line.len() >= 16) && lines.all(|line| line.bytes().all(base64))
}

/// Joins overlapping matches; the rule that comes first in the list names the whole.
fn resolve(mut hits: Vec<Hit>) -> Vec<(RuleId, Range<usize>)> {
    hits.sort_by_key(|hit| (hit.span.start, hit.rule));
    let mut out: Vec<(RuleId, Range<usize>)> = Vec::with_capacity(hits.len());
    for hit in hits {
        match out.last_mut() {
            Some((rule, span)) if hit.span.start < span.end => {
                span.end = span.end.max(hit.span.end);
                *rule = (*rule).min(hit.rule);
            }
            _ => out.push((hit.rule, hit.span)),
        }
    }
    out
}

/// Bounds what a text full of invisible characters can make the filter report: past a number, the
/// last finding of a rule stands for all that follow.
fn merge_excess(found: Vec<(RuleId, Range<usize>)>) -> Vec<(RuleId, Range<usize>)> {
    if found.len() <= MOST_FOUND {
        return found;
    }
    let mut out: Vec<(RuleId, Range<usize>)> = Vec::with_capacity(MOST_FOUND + 8);
    let mut last: Vec<(RuleId, usize)> = Vec::new();
    for (rule, span) in found {
        if out.len() < MOST_FOUND {
            out.push((rule, span));
        } else if let Some(place) = last.iter().find(|(of, _)| *of == rule) {
            if let Some((_, whole)) = out.get_mut(place.1) {
                whole.end = span.end;
            }
        } else {
            last.push((rule, out.len()));
            out.push((rule, span));
        }
    }
    out
}

fn overlap(a: &Range<usize>, b: &Range<usize>) -> bool {
    a.start < b.end && b.start < a.end
}

const MOST_ROUNDS: usize = 8;
const MOST_FOUND: usize = 512;
