//! Identifiers, each a type of its own.

use std::borrow::Borrow;
use std::fmt;
use std::str::FromStr;

use serde::Deserialize;
use serde::Serialize;

/// Why a string is not the identifier it was read as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum IdError {
    /// It holds a character that this identifier may not hold.
    Character(&'static str),
    /// It is empty.
    Empty,
    /// It is longer than this identifier may be.
    Length,
}

impl fmt::Display for IdError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Character(form) => return write!(f, "must be {form}"),
            Self::Empty => "is empty",
            Self::Length => "is too long",
        })
    }
}

impl std::error::Error for IdError {}

fn check(
    text: &str,
    most: usize,
    form: &'static str,
    allowed: impl Fn(usize, char) -> bool,
) -> Result<(), IdError> {
    if text.is_empty() {
        return Err(IdError::Empty);
    }
    if text.len() > most {
        return Err(IdError::Length);
    }
    if text.chars().enumerate().all(|(at, c)| allowed(at, c)) {
        Ok(())
    } else {
        Err(IdError::Character(form))
    }
}

macro_rules! id {
    ($(#[$doc:meta])* $name:ident, $most:expr, $form:expr, $allowed:expr) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(String);

        impl $name {
            /// Reads the identifier.
            ///
            /// # Errors
            /// [`IdError`] says which rule the text breaks; it never quotes the text.
            pub fn new(text: impl Into<String>) -> Result<Self, IdError> {
                let text = text.into();
                check(&text, $most, $form, $allowed)?;
                Ok(Self(text))
            }

            /// The identifier as text.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl FromStr for $name {
            type Err = IdError;

            fn from_str(text: &str) -> Result<Self, IdError> {
                Self::new(text)
            }
        }

        impl TryFrom<String> for $name {
            type Error = IdError;

            fn try_from(text: String) -> Result<Self, IdError> {
                Self::new(text)
            }
        }

        impl From<$name> for String {
            fn from(id: $name) -> Self {
                id.0
            }
        }

        impl AsRef<str> for $name {
            fn as_ref(&self) -> &str {
                &self.0
            }
        }

        impl Borrow<str> for $name {
            fn borrow(&self) -> &str {
                &self.0
            }
        }
    };
}

const SLUG: &str = "of a-z, 0-9 and `-`, not with `-` first";
const TOKEN: &str = "of A-Z, a-z, 0-9, `_` and `-`";

fn slug(at: usize, c: char) -> bool {
    c.is_ascii_lowercase() || c.is_ascii_digit() || (at > 0 && c == '-')
}

fn token(_: usize, c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '-'
}

id! {
    /// Which principal: an opaque word that never changes, `[A-Za-z0-9_-]{1,64}`.
    PrincipalId, 64, TOKEN, token
}
id! {
    /// What people call a principal: `[a-z0-9][a-z0-9-]{0,63}`.
    PrincipalName, 64, SLUG, slug
}
id! {
    /// Which key of a principal; a name, never the key.
    KeyId, 64, TOKEN, token
}
id! {
    /// One call of one tool; moves are idempotent by it.
    CallId, 64, TOKEN, token
}
id! {
    /// A source of tools: `[a-z0-9-]{1,16}`.
    UpstreamId, 16, "of a-z, 0-9 and `-`", |_, c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-'
}
id! {
    /// The name that agents see and policies use: `[A-Za-z0-9_-]{1,64}`.
    ToolName, 64, TOKEN, token
}
id! {
    /// A tool's name as its own server spells it, at most 512 bytes.
    /// Control, bidirectional, zero-width and tag characters are refused.
    WireName, 512, "of characters that can be seen", |_, c: char| !is_deceptive(c)
}
id! {
    /// A person with a role: 1 to 64 characters of `[A-Za-z0-9._@-]`.
    OperatorName, 64, "of A-Z, a-z, 0-9 and `.` `_` `@` `-`", |_, c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '@' | '-')
}
id! {
    /// What people call a stored policy: `[a-z0-9][a-z0-9-]{0,63}`.
    PolicyName, 64, SLUG, slug
}

impl PrincipalId {
    /// The unit of what belongs to no agent: operators, stored policies, stops.
    #[must_use]
    pub fn system() -> Self {
        Self("system".to_owned())
    }
}

/// Whether a character can make a name look like another one.
#[must_use]
pub fn is_deceptive(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
            | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}'
            | '\u{ffa0}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_keep_their_alphabets() {
        assert!(PrincipalName::new("support-bot").is_ok());
        assert_eq!(PrincipalName::new("-bot"), Err(IdError::Character(SLUG)));
        assert_eq!(PrincipalName::new("Bot"), Err(IdError::Character(SLUG)));
        assert_eq!(PrincipalName::new(""), Err(IdError::Empty));
        assert_eq!(UpstreamId::new("a".repeat(17)), Err(IdError::Length));
        assert!(matches!(
            WireName::new("pay\u{202e}"),
            Err(IdError::Character(_))
        ));
        assert!(WireName::new("my tool").is_ok());
    }
}
