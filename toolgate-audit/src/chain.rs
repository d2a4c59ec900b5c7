//! Chains: which one a row belongs to, where it ends, and how a row is put at its end.

use std::fmt;
use std::str::FromStr;

use serde::Deserialize;
use serde::Deserializer;
use serde::Serialize;
use serde::de::Error as _;

use crate::Body;
use crate::EncodeError;
use crate::Hash;
use crate::entry;
use crate::json;

/// The name of a chain: `system`, or the id of the principal whose chain it is.
///
/// ```
/// use toolgate_audit::ChainId;
///
/// assert_eq!(ChainId::system().as_str(), "system");
/// assert!(ChainId::new("support-bot").is_ok());
/// assert!(ChainId::new("a/b").is_err());
/// assert!(ChainId::of_principal("system").is_err());
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct ChainId(String);

impl ChainId {
    /// The chain of what concerns no single principal.
    #[must_use]
    pub fn system() -> Self {
        Self(SYSTEM.to_owned())
    }

    /// A chain by its name, 1 to 64 of `A–Z a–z 0–9 _ -`.
    ///
    /// # Errors
    /// If the name is not one.
    pub fn new(name: &str) -> Result<Self, ChainIdError> {
        let fits = (1..=64).contains(&name.len());
        let allowed = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
        if fits && name.bytes().all(allowed) {
            Ok(Self(name.to_owned()))
        } else {
            Err(ChainIdError)
        }
    }

    /// The chain of a principal, which cannot be the one of the system.
    ///
    /// # Errors
    /// If the id is not the name of a chain, or is `system`.
    pub fn of_principal(id: &str) -> Result<Self, ChainIdError> {
        if id == SYSTEM {
            return Err(ChainIdError);
        }
        Self::new(id)
    }

    /// The name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ChainId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for ChainId {
    type Err = ChainIdError;

    fn from_str(name: &str) -> Result<Self, ChainIdError> {
        Self::new(name)
    }
}

impl<'de> Deserialize<'de> for ChainId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        Self::new(&name).map_err(D::Error::custom)
    }
}

/// A text that cannot name a chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ChainIdError;

impl fmt::Display for ChainIdError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a chain is named by 1 to 64 of A-Z, a-z, 0-9, `_` and `-`")
    }
}

impl std::error::Error for ChainIdError {}

/// Where a chain ends: what its writer keeps, and holds a copy of the chain against.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[expect(
    clippy::exhaustive_structs,
    reason = "a pair of plain data that stores build and match"
)]
pub struct Head {
    /// How many rows the chain has, which is also the `seq` of the last.
    pub size: u64,
    /// The hash of the last row, [`Hash::ZERO`] if there is none.
    pub hash: Hash,
}

/// One row as it is to be stored.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(
    clippy::exhaustive_structs,
    reason = "plain data that stores take apart"
)]
pub struct Row {
    /// The chain it belongs to.
    pub chain: ChainId,
    /// Its number, from 1; with the chain it is the key of the row.
    pub seq: u64,
    /// The bytes, to be stored as they are: they are what was hashed.
    pub bytes: Vec<u8>,
    /// `SHA-256(0x00 ‖ bytes)`.
    pub hash: Hash,
}

/// Makes the next row of a chain, and the head that the chain has with it.
///
/// ```
/// use toolgate_audit::{append, Body, ChainId, EntryKind, Head};
///
/// let chain = ChainId::new("ops-bot")?;
/// let body = Body::new(1_767_225_600_000, EntryKind::CALL).tool("flags_list");
/// let (first, head) = append(&Head::default(), &chain, &body)?;
/// let (second, head) = append(&head, &chain, &body)?;
/// assert_eq!((first.seq, second.seq, head.size), (1, 2, 2));
/// assert_eq!(toolgate_audit::decode(&second.bytes)?.prev, first.hash);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// If the body cannot be written exactly; nothing is appended then.
pub fn append(head: &Head, chain: &ChainId, body: &Body) -> Result<(Row, Head), EncodeError> {
    if head.size >= json::MAX_INTEGER {
        return Err(EncodeError::Full);
    }
    let seq = head.size + 1;
    let bytes = entry::encode(chain, seq, head.hash, body)?;
    let hash = Hash::leaf(&bytes);
    let row = Row {
        chain: chain.clone(),
        seq,
        bytes,
        hash,
    };
    Ok((row, Head { size: seq, hash }))
}

const SYSTEM: &str = "system";
