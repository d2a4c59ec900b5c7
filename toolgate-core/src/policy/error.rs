//! What is wrong with a policy.

use std::fmt;

use serde::Serialize;

use crate::json::place;

/// One thing wrong with a policy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct PolicyError {
    /// JSON Pointer of the place; empty for the whole policy.
    pub path: String,
    /// What is wrong there; it quotes names and the policy's own keys, never a value.
    pub message: String,
}

impl PolicyError {
    pub(super) fn new(path: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            path: path.into(),
            message: message.into(),
        }
    }
}

impl fmt::Display for PolicyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.path.is_empty() {
            write!(f, "the policy {}", self.message)
        } else {
            write!(f, "`{}` {}", place(&self.path), self.message)
        }
    }
}

impl std::error::Error for PolicyError {}

/// Everything wrong with a policy, at least one thing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicyErrors(Vec<PolicyError>);

impl PolicyErrors {
    pub(super) const fn new(errors: Vec<PolicyError>) -> Self {
        Self(errors)
    }

    /// The errors, in the order of the policy.
    #[must_use]
    pub fn as_slice(&self) -> &[PolicyError] {
        &self.0
    }

    /// The errors, to keep.
    #[must_use]
    pub fn into_vec(self) -> Vec<PolicyError> {
        self.0
    }
}

impl fmt::Display for PolicyErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, error) in self.0.iter().enumerate() {
            if at > 0 {
                f.write_str("; ")?;
            }
            fmt::Display::fmt(error, f)?;
        }
        Ok(())
    }
}

impl std::error::Error for PolicyErrors {}

/// How many errors of one policy come with a suggestion.
const MOST_SUGGESTIONS: usize = 100;

/// `text`, with the nearest of these names if one is near and not too many errors came before.
pub(super) fn with_nearest<'n>(
    text: &str,
    name: &str,
    names: impl IntoIterator<Item = &'n str>,
    before: usize,
) -> String {
    let name: String = name.chars().take(64).collect();
    let nearest = names
        .into_iter()
        .take(if before < MOST_SUGGESTIONS {
            usize::MAX
        } else {
            0
        })
        .map(|other| (strsim::normalized_damerau_levenshtein(&name, other), other))
        .filter(|(likeness, _)| *likeness >= 0.5)
        .max_by(|(a, _), (b, _)| a.total_cmp(b));
    match nearest {
        Some((_, nearest)) => format!("{text}, did you mean `{}`", place(nearest)),
        None => text.to_owned(),
    }
}
