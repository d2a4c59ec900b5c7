//! Finds what the rules describe in a text that was stripped already.
//!
//! One automaton over literals, built at first use, proposes places; a small matcher for each rule
//! then looks at a bounded window or at text that no other match will look at again, so that the
//! whole stays linear in the length of the text.

mod contact;
mod credential;
mod label;
mod number;
mod phrase;
mod view;
mod words;

use std::ops::Range;
use std::sync::OnceLock;

use aho_corasick::{AhoCorasick, AhoCorasickKind};

pub(crate) use view::seen;

use crate::Kind;
use crate::marker;
use crate::rules::{MARKUP, RuleId, TOKENS, Token};

/// A match.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Hit {
    pub(crate) rule: RuleId,
    /// What is to be removed, or what was read as an order.
    pub(crate) span: Range<usize>,
    /// Where the evidence for it begins: the label of a value, for instance.
    pub(crate) from: usize,
    /// Where the evidence for it ends: the `@` after a password, for instance.
    pub(crate) until: usize,
}

impl Hit {
    fn new(rule: RuleId, span: Range<usize>) -> Self {
        Self {
            rule,
            from: span.start,
            until: span.end,
            span,
        }
    }
}

/// What to look for besides secrets.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Look {
    pub(crate) pii: bool,
    /// Text that gives orders.
    pub(crate) orders: bool,
}

/// Every match in `text`, in no particular order.
pub(crate) fn detect(text: &str, look: Look) -> Vec<Hit> {
    let Some(view) = view::View::of(text) else {
        return matches(text, look);
    };
    let mut hits = view.origins(matches(&view.text, look));
    if view.has_borders() {
        let direct = matches(text, look).into_iter();
        hits.extend(direct.filter(|hit| view.misses(hit)));
    }
    hits
}

/// Every match in a text that is read character by character.
fn matches(text: &str, look: Look) -> Vec<Hit> {
    let mut hits = Vec::new();
    literals(text, look.orders, &mut hits);
    if look.pii {
        contact::emails(text, &mut hits);
        number::numbers(text, &mut hits);
    }
    hits
}

/// What a literal of the automaton announces.
enum Clue {
    Armour,
    Jwt,
    Label,
    Markup,
    Phrase(phrase::Begun),
    Scheme(RuleId),
    Token(&'static Token),
    UrlPassword,
}

struct Scanner {
    literals: AhoCorasick,
    clues: Vec<Clue>,
    grammar: phrase::Grammar,
}

fn literals(text: &str, orders: bool, hits: &mut Vec<Hit>) {
    let Some(scanner) = scanner() else { return };
    let mut phrases = scanner.grammar.reader(text);
    // Matches of these two rules have no bounded length: what one has read, no other reads again.
    let mut armour_until = 0;
    let mut label_until = 0;
    for found in scanner.literals.find_overlapping_iter(text) {
        let (start, end) = (found.start(), found.end());
        let hit = match scanner.clues.get(found.pattern().as_usize()) {
            Some(Clue::Token(token)) => credential::token(text, start, end, token),
            // The word of a marker labels nothing and orders nothing.
            Some(Clue::Label | Clue::Phrase(_)) if marker::is_word_of_one(text, start) => None,
            Some(Clue::Label) if start >= label_until => {
                let hit = label::value(text, start, end);
                if let Some(hit) = &hit {
                    label_until = hit.span.end;
                }
                hit
            }
            Some(Clue::Phrase(begun)) if orders => phrases.phrase(start, end, begun),
            Some(Clue::Jwt) => credential::jwt(text, start),
            Some(Clue::Armour) if start >= armour_until => {
                let hit = credential::armour(text, start, end);
                if let Some(hit) = &hit {
                    armour_until = hit.span.end;
                }
                hit
            }
            Some(Clue::UrlPassword) => credential::url_password(text, start, end),
            Some(Clue::Scheme(rule)) => credential::scheme(text, start, end, *rule),
            Some(Clue::Markup) if orders => Some(Hit::new(RuleId::CHAT_MARKUP, start..end)),
            Some(Clue::Armour | Clue::Label | Clue::Markup | Clue::Phrase(_)) | None => None,
        };
        hits.extend(hit);
    }
}

/// The automaton; `None` cannot happen with these patterns, and would find nothing.
fn scanner() -> Option<&'static Scanner> {
    static SCANNER: OnceLock<Option<Scanner>> = OnceLock::new();
    SCANNER.get_or_init(build).as_ref()
}

fn build() -> Option<Scanner> {
    let mut patterns: Vec<&str> = Vec::new();
    let mut clues = Vec::new();
    let mut add = |literal, clue| {
        patterns.push(literal);
        clues.push(clue);
    };
    for token in TOKENS {
        add(token.prefix, Clue::Token(token));
    }
    for word in label::TRIGGERS {
        add(word, Clue::Label);
    }
    let grammar = phrase::Grammar::new();
    for (word, begun) in grammar.firsts() {
        add(word, Clue::Phrase(begun));
    }
    for markup in MARKUP {
        add(markup, Clue::Markup);
    }
    add("eyj", Clue::Jwt);
    add("-----begin ", Clue::Armour);
    add("---- begin ", Clue::Armour);
    add("://", Clue::UrlPassword);
    add("bearer", Clue::Scheme(RuleId::BEARER_TOKEN));
    add("basic", Clue::Scheme(RuleId::BASIC_AUTH));
    let literals = AhoCorasick::builder()
        .ascii_case_insensitive(true)
        .kind(Some(AhoCorasickKind::DFA))
        .build(&patterns)
        .ok()?;
    Some(Scanner {
        literals,
        clues,
        grammar,
    })
}

/// Whether a match that crosses from one string into the next is to be believed, given what was
/// found in the strings themselves.
pub(crate) fn joins(hit: &Hit, joined: &str) -> bool {
    match hit.rule.kind() {
        Kind::Pii if hit.rule == RuleId::PHONE => joined
            .get(hit.span.start..)
            .is_some_and(|rest| rest.starts_with('+')),
        _ => true,
    }
}
