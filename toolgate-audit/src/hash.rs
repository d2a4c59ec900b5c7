//! The one hash of the crate: that of a row, which is also a Merkle leaf.

use std::fmt;
use std::str::FromStr;

use data_encoding::HEXLOWER;
use serde::Deserialize;
use serde::Deserializer;
use serde::Serialize;
use serde::Serializer;
use serde::de::Error as _;
use sha2::Digest;
use sha2::Sha256;

/// The SHA-256 hash of a row, shown and stored as 64 lower-case hex digits.
///
/// ```
/// use toolgate_audit::Hash;
///
/// let hash = Hash::leaf(b"");
/// let text = "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d";
/// assert_eq!(hash.to_string(), text);
/// assert_eq!(text.parse::<Hash>(), Ok(hash));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Hash([u8; 32]);

impl Hash {
    /// What the first row of a chain has for `prev`: 32 zero bytes.
    pub const ZERO: Self = Self([0; 32]);

    /// The hash of a row with these bytes, `SHA-256(0x00 ‖ bytes)`.
    ///
    /// RFC 6962, section 2.1, defines the hash of a leaf in the same way, so that a tree over the
    /// rows of a chain has the row hashes themselves as its leaves.
    #[must_use]
    pub fn leaf(bytes: &[u8]) -> Self {
        let mut sha = Sha256::new();
        sha.update([LEAF]);
        sha.update(bytes);
        Self(sha.finalize().into())
    }

    /// A hash that was stored as 32 bytes.
    #[must_use]
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The 32 bytes.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl Default for Hash {
    fn default() -> Self {
        Self::ZERO
    }
}

impl fmt::Display for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&HEXLOWER.encode(&self.0))
    }
}

impl fmt::Debug for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Hash({self})")
    }
}

impl FromStr for Hash {
    type Err = HashError;

    fn from_str(text: &str) -> Result<Self, HashError> {
        let bytes = HEXLOWER.decode(text.as_bytes()).map_err(|_| HashError)?;
        bytes.try_into().map(Self).map_err(|_| HashError)
    }
}

impl Serialize for Hash {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Hash {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(D::Error::custom)
    }
}

/// A text that is not a hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct HashError;

impl fmt::Display for HashError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a hash is 64 lower-case hex digits")
    }
}

impl std::error::Error for HashError {}

/// The prefix of a leaf, RFC 6962, section 2.1.
const LEAF: u8 = 0x00;
