//! Agents' keys and operators' tokens: made once, kept only as hashes.

use std::fmt;

use serde::Deserialize;
use serde::Serialize;
use subtle::ConstantTimeEq as _;

use crate::digest::Digest;
use crate::digest::base32;

const KEY_PREFIX: &str = "tg_";
const TOKEN_PREFIX: &str = "tga_";
/// The shortest operator token that an operator may choose, in characters.
pub const LEAST_CHOSEN_TOKEN: usize = 24;

/// An agent's key: `tg_` and 32 characters of `[a-z2-7]`, 160 bits.
///
/// It does not print itself; [`AgentKey::reveal`] is for the one answer that hands it out.
///
/// ```
/// use toolgate_core::key::AgentKey;
///
/// let key = AgentKey::from_entropy([7; 20]);
/// assert!(key.reveal().starts_with("tg_"));
/// assert!(key.hash().matches(&AgentKey::parse(key.reveal()).unwrap().hash()));
/// assert_eq!(format!("{key:?}"), "AgentKey(…)");
/// ```
#[derive(Clone)]
pub struct AgentKey(String);

impl AgentKey {
    /// A key of 160 bits from the operating system's random source.
    #[must_use]
    pub fn from_entropy(entropy: [u8; 20]) -> Self {
        Self(format!("{KEY_PREFIX}{}", base32(&entropy)))
    }

    /// Reads a presented key; anything but the exact form is nothing, before any store is asked.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        parse(KEY_PREFIX, text).map(Self)
    }

    /// The key itself.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// What is stored of it.
    #[must_use]
    pub fn hash(&self) -> KeyHash {
        KeyHash(Digest::of(self.0.as_bytes()))
    }
}

impl fmt::Debug for AgentKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AgentKey(…)")
    }
}

/// An operator's token: `tga_` and 32 characters of `[a-z2-7]`, or one that an operator chose.
#[derive(Clone)]
pub struct OperatorToken(String);

impl OperatorToken {
    /// A token of 160 bits from the operating system's random source.
    #[must_use]
    pub fn from_entropy(entropy: [u8; 20]) -> Self {
        Self(format!("{TOKEN_PREFIX}{}", base32(&entropy)))
    }

    /// Takes a presented token as it is: 1 to 512 characters that a header may hold as a token
    /// (RFC 6750, section 2.1): letters, digits and `-._~+/=`.
    #[must_use]
    pub fn presented(text: &str) -> Option<Self> {
        let may = |b: u8| b.is_ascii_alphanumeric() || b"-._~+/=".contains(&b);
        let fits = !text.is_empty() && text.len() <= 512;
        (fits && text.bytes().all(may)).then(|| Self(text.to_owned()))
    }

    /// Takes a token that a person chose: one that can be presented, and is of
    /// [`LEAST_CHOSEN_TOKEN`] characters or more.
    #[must_use]
    pub fn chosen(text: &str) -> Option<Self> {
        Self::presented(text).filter(|token| token.0.len() >= LEAST_CHOSEN_TOKEN)
    }

    /// The token itself.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// What is stored of it.
    #[must_use]
    pub fn hash(&self) -> KeyHash {
        KeyHash(Digest::of(self.0.as_bytes()))
    }
}

impl fmt::Debug for OperatorToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OperatorToken(…)")
    }
}

/// The SHA-256 of a key or token, the only thing of it that is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct KeyHash(Digest);

impl KeyHash {
    /// Compares in constant time.
    #[must_use]
    pub fn matches(&self, other: &Self) -> bool {
        self.0.as_bytes().ct_eq(other.0.as_bytes()).into()
    }

    /// The hash as 64 hexadecimal digits, for a store's index.
    #[must_use]
    pub fn to_hex(&self) -> String {
        self.0.to_string()
    }
}

fn parse(prefix: &str, text: &str) -> Option<String> {
    let body = text.strip_prefix(prefix)?;
    let fits = body.len() == 32 && body.bytes().all(|b| matches!(b, b'a'..=b'z' | b'2'..=b'7'));
    fits.then(|| text.to_owned())
}
