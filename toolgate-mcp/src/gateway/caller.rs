//! Who calls. There is no caller without a key, and no default one.

use std::fmt;

use toolgate_core::id::KeyId;
use toolgate_core::id::PrincipalId;
use toolgate_core::key::AgentKey;

use super::Gate;
use crate::store::StoreError;

/// A principal whose call this is. Made by [`Gate::authenticate`], or by a host that vouches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    principal: PrincipalId,
    key: Option<KeyId>,
}

impl Caller {
    /// The host knows who calls: an embedded gate whose only client is in the same process.
    #[must_use]
    pub const fn vouched_by_host(principal: PrincipalId) -> Self {
        Self {
            principal,
            key: None,
        }
    }

    /// The principal.
    #[must_use]
    pub const fn principal(&self) -> &PrincipalId {
        &self.principal
    }

    /// The key that it presented; none if the host vouches.
    #[must_use]
    pub const fn key(&self) -> Option<&KeyId> {
        self.key.as_ref()
    }
}

/// The caller cannot be told.
#[derive(Debug)]
#[expect(clippy::exhaustive_enums, reason = "the two answers differ")]
pub enum Unauthenticated {
    /// The key is malformed, unknown, expired or revoked: which of them is not said.
    Key,
    /// The store does not answer.
    Store(StoreError),
}

impl fmt::Display for Unauthenticated {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Key => f.write_str("the key is not good"),
            Self::Store(_) => f.write_str("the key cannot be checked right now"),
        }
    }
}

impl std::error::Error for Unauthenticated {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Key => None,
            Self::Store(source) => Some(source),
        }
    }
}

impl Gate {
    /// Who presents this key. A malformed key is refused before the store is asked; whether a key
    /// is still good is asked again inside the unit, with every call.
    ///
    /// # Errors
    /// [`Unauthenticated`] tells a bad key from a store that does not answer.
    pub async fn authenticate(&self, presented: &str) -> Result<Caller, Unauthenticated> {
        let key = AgentKey::parse(presented).ok_or(Unauthenticated::Key)?;
        let hash = key.hash();
        let directory = &self.0.directory;
        let principal = directory
            .principal_of_key(&hash)
            .await
            .map_err(Unauthenticated::Store)?
            .ok_or(Unauthenticated::Key)?;
        let head = self
            .0
            .ledger
            .head(&principal)
            .await
            .map_err(Unauthenticated::Store)?;
        let id = head
            .as_ref()
            .and_then(|head| head.key_by_hash(&hash, self.0.ledger.now().max(head.at)))
            .map(|key| key.id.clone())
            .ok_or(Unauthenticated::Key)?;
        Ok(Caller {
            principal,
            key: Some(id),
        })
    }
}
