//! Small, total helpers over strings and bytes: nothing here can panic.

use std::ops::Range;

/// The part of `text` in `range`, or nothing where the range does not fit.
pub(crate) fn slice(text: &str, range: Range<usize>) -> &str {
    text.get(range).unwrap_or_default()
}

/// The byte at `at`, or zero past the end.
///
/// Stripped text holds no NUL, so zero is a safe sentinel there.
pub(crate) fn byte(text: &str, at: usize) -> u8 {
    text.as_bytes().get(at).copied().unwrap_or(0)
}

/// The byte before `at`, or zero at the start.
pub(crate) fn byte_before(text: &str, at: usize) -> u8 {
    at.checked_sub(1).map_or(0, |i| byte(text, i))
}

/// The character that starts at `at`.
pub(crate) fn char_at(text: &str, at: usize) -> Option<char> {
    text.get(at..).and_then(|rest| rest.chars().next())
}

/// How many bytes from `at` on satisfy `fits`, at most `max`.
pub(crate) fn run(text: &str, at: usize, max: usize, fits: impl Fn(u8) -> bool) -> usize {
    let bytes = text.as_bytes().get(at..).unwrap_or_default();
    bytes.iter().take(max).take_while(|b| fits(**b)).count()
}

/// How many bytes before `at` satisfy `fits`, at most `max`.
pub(crate) fn run_before(text: &str, at: usize, max: usize, fits: impl Fn(u8) -> bool) -> usize {
    let bytes = text.as_bytes().get(..at).unwrap_or_default();
    bytes
        .iter()
        .rev()
        .take(max)
        .take_while(|b| fits(**b))
        .count()
}

/// The largest character border of `text` that is not past `at`.
pub(crate) fn floor(text: &str, at: usize) -> usize {
    text.floor_char_boundary(at)
}

/// Whether a token may start at `at`: what precedes it is no letter or digit, or belongs to an
/// escape (`%3D`, `\n`) that stands for something else.
pub(crate) fn starts_word(text: &str, at: usize) -> bool {
    let before = byte_before(text, at);
    if !before.is_ascii_alphanumeric() {
        return true;
    }
    let two = at.checked_sub(2).map_or(0, |i| byte(text, i));
    if two == b'\\' && matches!(before, b'n' | b'r' | b't') {
        return true;
    }
    let three = at.checked_sub(3).map_or(0, |i| byte(text, i));
    three == b'%' && two.is_ascii_hexdigit() && before.is_ascii_hexdigit()
}
