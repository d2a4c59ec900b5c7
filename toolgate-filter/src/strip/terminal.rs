//! Terminal control sequences (ECMA-48, and the ones that terminals added).

use crate::text::{byte, char_at};

/// The end of the control sequence that starts with `c` at `at`, and what stands for it.
///
/// A sequence that does not end is cut after its introducer: the rest is text to a reader.
pub(super) fn sequence(text: &str, at: usize, c: char) -> Option<(usize, &'static str)> {
    let next = at + c.len_utf8();
    match c {
        '\t' | '\n' => None,
        // A lone carriage return lets what follows overwrite what stands before it.
        '\r' if byte(text, next) == b'\n' => None,
        '\r' | '\u{85}' => Some((next, "\n")),
        '\u{1b}' => Some((escape(text, next), "")),
        '\u{9b}' => Some((control(text, next), "")),
        '\u{90}' | '\u{98}' | '\u{9d}'..='\u{9f}' => Some((string(text, next), "")),
        '\0'..='\u{1f}' | '\u{7f}'..='\u{9f}' => Some((next, "")),
        _ => None,
    }
}

fn escape(text: &str, at: usize) -> usize {
    match byte(text, at) {
        b'[' => control(text, at + 1),
        b']' | b'P' | b'X' | b'^' | b'_' => string(text, at + 1),
        _ => {
            let end = at + crate::text::run(text, at, LONGEST, |b| (b' '..=b'/').contains(&b));
            if (b'0'..=b'~').contains(&byte(text, end)) {
                end + 1
            } else {
                at
            }
        }
    }
}

/// Parameters, intermediates and a final byte.
fn control(text: &str, at: usize) -> usize {
    let params = at + crate::text::run(text, at, LONGEST, |b| (b'0'..=b'?').contains(&b));
    let end = params + crate::text::run(text, params, LONGEST, |b| (b' '..=b'/').contains(&b));
    if (b'@'..=b'~').contains(&byte(text, end)) {
        end + 1
    } else {
        params
    }
}

/// A string up to BEL or ST. Any other control character means that it never ended.
fn string(text: &str, at: usize) -> usize {
    let mut end = at;
    while let Some(c) = char_at(text, end) {
        match c {
            '\u{7}' | '\u{9c}' => return end + c.len_utf8(),
            '\u{1b}' if byte(text, end + 1) == b'\\' => return end + 2,
            '\0'..='\u{1f}' | '\u{7f}'..='\u{9f}' => return at,
            _ => end += c.len_utf8(),
        }
    }
    at
}

/// No real sequence has more parameter bytes than this.
const LONGEST: usize = 256;
