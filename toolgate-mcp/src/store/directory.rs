//! The role that finds units, operators and stored policies. It routes, and permits nothing.

use std::fmt;

use async_trait::async_trait;
use serde::Deserialize;
use serde::Serialize;
use toolgate_core::approval::ApprovalId;
use toolgate_core::id::OperatorName;
use toolgate_core::id::PolicyName;
use toolgate_core::id::PrincipalId;
use toolgate_core::id::PrincipalName;
use toolgate_core::key::KeyHash;
use toolgate_core::time::Timestamp;

use super::StoreError;

/// What an operator may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(clippy::exhaustive_enums, reason = "a new role must break every match")]
pub enum Role {
    /// Sees everything, changes nothing.
    Viewer,
    /// May do everything.
    Owner,
}

impl Role {
    /// Whether the role may change anything, which includes answering requests and reading their
    /// arguments in the clear.
    #[must_use]
    pub const fn may_change(self) -> bool {
        match self {
            Self::Owner => true,
            Self::Viewer => false,
        }
    }
}

/// A person with a role; of the token only the hash is kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(clippy::exhaustive_structs, reason = "a row that stores keep whole")]
pub struct Operator {
    /// Who.
    pub name: OperatorName,
    /// What they may do.
    pub role: Role,
    /// What is stored of the token.
    pub token: KeyHash,
    /// When they were added.
    pub created_at: Timestamp,
}

/// A policy stored under a name, to be applied to principals.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(clippy::exhaustive_structs, reason = "a row that stores keep whole")]
pub struct NamedPolicy {
    /// Its name.
    pub name: PolicyName,
    /// Its text.
    pub text: String,
    /// Grows with every change.
    pub version: u64,
}

/// Finds units, operators and stored policies.
#[async_trait]
pub trait Directory: Send + Sync + fmt::Debug {
    /// The principal that a key belongs to or ever belonged to. A found answer never changes.
    async fn principal_of_key(&self, key: &KeyHash) -> Result<Option<PrincipalId>, StoreError>;

    /// Remembers which principal a key belongs to; before the key is handed out.
    async fn remember_key(&self, key: &KeyHash, id: &PrincipalId) -> Result<(), StoreError>;

    /// Takes a name for a principal; `false` if another one has it.
    async fn claim_name(&self, name: &PrincipalName, id: &PrincipalId) -> Result<bool, StoreError>;

    /// The principal of that name.
    async fn principal_of_name(
        &self,
        name: &PrincipalName,
    ) -> Result<Option<PrincipalId>, StoreError>;

    /// All principals, by name.
    async fn principals(&self) -> Result<Vec<(PrincipalName, PrincipalId)>, StoreError>;

    /// The principal that a request belongs to.
    async fn principal_of_approval(
        &self,
        approval: &ApprovalId,
    ) -> Result<Option<PrincipalId>, StoreError>;

    /// Remembers which principal a request belongs to; before its name is handed out.
    async fn remember_approval(
        &self,
        approval: &ApprovalId,
        id: &PrincipalId,
    ) -> Result<(), StoreError>;

    /// The operator of that token.
    async fn operator_of_token(&self, token: &KeyHash) -> Result<Option<Operator>, StoreError>;

    /// All operators, by name.
    async fn operators(&self) -> Result<Vec<Operator>, StoreError>;

    /// Adds an operator; `false` if the name is taken.
    async fn add_operator(&self, operator: Operator) -> Result<bool, StoreError>;

    /// Removes an operator; `false` if there is none of that name.
    async fn remove_operator(&self, name: &OperatorName) -> Result<bool, StoreError>;

    /// A stored policy.
    async fn named_policy(&self, name: &PolicyName) -> Result<Option<NamedPolicy>, StoreError>;

    /// All stored policies, by name.
    async fn named_policies(&self) -> Result<Vec<NamedPolicy>, StoreError>;

    /// Stores a policy under a name and answers with its new version.
    async fn store_policy(&self, name: &PolicyName, text: &str) -> Result<u64, StoreError>;
}
