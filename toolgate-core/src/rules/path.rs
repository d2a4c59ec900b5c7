//! Paths under a prefix, with no way out of it in any spelling.

use std::fmt;

use percent_encoding::percent_decode_str;
use unicode_normalization::UnicodeNormalization as _;

use crate::id::is_deceptive;

/// How often a path is decoded before it is refused as endless.
const MOST_ROUNDS: usize = 8;

/// Why a path is not one under the prefix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum PathError {
    /// It holds a backslash, or a character that looks like a slash.
    Backslash,
    /// It holds a control character.
    Control,
    /// A segment is `.` or `..` in some spelling.
    DotSegment,
    /// A segment is empty.
    EmptySegment,
    /// It is encoded too often, or into bytes that are not text.
    Encoding,
    /// It does not lie under the prefix.
    Outside,
    /// A segment ends in a dot or a space, which some file systems drop.
    TrailingDot,
}

impl fmt::Display for PathError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Backslash => "holds a backslash or a character that looks like a slash",
            Self::Control => "holds a control character",
            Self::DotSegment => "holds a segment `.` or `..`",
            Self::EmptySegment => "holds an empty segment",
            Self::Encoding => "is percent-encoded too often or into bytes that are not text",
            Self::Outside => "does not lie under the prefix",
            Self::TrailingDot => "holds a segment that ends in a dot or a space",
        })
    }
}

impl std::error::Error for PathError {}

/// Checks that a path lies under a prefix, on a boundary between segments.
///
/// Both the path as it is written and what it decodes to must: a tool may decode or not.
///
/// ```
/// use toolgate_core::rules::{PathError, check_path};
///
/// assert_eq!(check_path("docs", "docs/a.md"), Ok(()));
/// assert_eq!(check_path("docs", "docs2/a.md"), Err(PathError::Outside));
/// assert_eq!(check_path("docs/", "docs/%252e%252e/x"), Err(PathError::DotSegment));
/// ```
///
/// # Errors
/// [`PathError`] says what is wrong.
pub fn check_path(prefix: &str, path: &str) -> Result<(), PathError> {
    let mut text = path.to_owned();
    for _ in 0..MOST_ROUNDS {
        segments(&text)?;
        if !under(prefix, &text) {
            return Err(PathError::Outside);
        }
        let decoded = percent_decode_str(&text)
            .decode_utf8()
            .map_err(|_| PathError::Encoding)?;
        let next: String = decoded.nfkc().collect();
        if next == text {
            return Ok(());
        }
        // What only its spelling hides is judged before it is composed into something else.
        segments(&decoded)?;
        text = next;
    }
    Err(PathError::Encoding)
}

/// Whether a prefix can be one.
pub(super) fn check_prefix(prefix: &str) -> Result<(), &'static str> {
    let decoded = percent_decode_str(prefix)
        .decode_utf8()
        .map_err(|_| ENCODED)?;
    if prefix.is_empty() {
        return Err("is empty, so it says nothing");
    }
    if decoded.nfkc().collect::<String>() != prefix {
        return Err(ENCODED);
    }
    segments(prefix).map_err(|_| "holds a segment that no path may hold, so nothing can match")
}

const ENCODED: &str =
    "is not written in its plain form (decoded, normalised), so nothing can match";

fn under(prefix: &str, path: &str) -> bool {
    path.strip_prefix(prefix)
        .is_some_and(|rest| prefix.ends_with('/') || rest.is_empty() || rest.starts_with('/'))
}

fn segments(path: &str) -> Result<(), PathError> {
    if path.chars().any(|c| SLASHES.contains(&c)) {
        return Err(PathError::Backslash);
    }
    if path.chars().any(char::is_control) {
        return Err(PathError::Control);
    }
    if path
        .split("%u")
        .skip(1)
        .chain(path.split("%U").skip(1))
        .any(is_unit)
    {
        return Err(PathError::Encoding);
    }
    let inner = path.strip_prefix('/').unwrap_or(path);
    let inner = inner.strip_suffix('/').unwrap_or(inner);
    if inner.is_empty() && path.len() > 1 {
        return Err(PathError::EmptySegment);
    }
    for segment in inner.split('/') {
        if segment.is_empty() && path.len() > 1 {
            return Err(PathError::EmptySegment);
        }
        let plain: String = segment.nfkc().filter(|c| !is_deceptive(*c)).collect();
        // Servers cut a segment at `;`, `?` or `#` before they resolve it.
        let before = plain.split([';', '?', '#']).next().unwrap_or_default();
        if !plain.is_empty() && is_dots(before) {
            return Err(PathError::DotSegment);
        }
        if plain.is_empty() && !segment.is_empty() {
            return Err(PathError::EmptySegment);
        }
        if plain.ends_with(['.', ' ']) {
            return Err(PathError::TrailingDot);
        }
    }
    Ok(())
}

/// Whether four hexadecimal digits follow, as in the `%u002e` that some servers decode.
fn is_unit(text: &str) -> bool {
    text.get(..4)
        .is_some_and(|digits| digits.bytes().all(|b| b.is_ascii_hexdigit()))
}

/// Dots, perhaps with white space: a dot segment once something trims it.
fn is_dots(text: &str) -> bool {
    text.contains('.') && text.chars().all(|c| c == '.' || c.is_whitespace())
}

/// The backslash, and what looks like a slash or becomes one when it is normalised.
const SLASHES: &[char] = &[
    '\\', '\u{2044}', '\u{2215}', '\u{2216}', '\u{29f5}', '\u{29f8}', '\u{29f9}', '\u{fe68}',
    '\u{ff0f}', '\u{ff3c}',
];
