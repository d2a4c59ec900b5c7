//! The demo's folder, agents and data.

use std::fmt;
use std::fs::File;
use std::io::Write as _;
use std::path::Path;

use async_trait::async_trait;
use serde_json::Value;
use serde_json::json;
use toolgate_backends::BackendError;
use toolgate_backends::seed;
use toolgate_core::id::OperatorName;
use toolgate_core::id::PrincipalId;
use toolgate_core::id::PrincipalName;
use toolgate_http::Seed;
use toolgate_mcp::gateway::Gate;
use toolgate_mcp::gateway::OperateError;

use super::Native;
use super::sources::Sources;
use crate::sqlite;
use crate::sqlite::DATABASE;
use crate::sqlite::OpenError;

/// The file that marks the data folder of a demo.
const MARK: &str = "toolgate.demo";

/// Why a demo may not have a data folder.
#[derive(Debug)]
#[non_exhaustive]
pub enum DemoError {
    /// The folder cannot be used.
    Open(OpenError),
    /// A gate that is no demo keeps its data there.
    Used,
}

impl fmt::Display for DemoError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Open(error) => error.fmt(f),
            Self::Used => f.write_str("this is the data of a gate that is no demo"),
        }
    }
}

impl std::error::Error for DemoError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Open(error) => Some(error),
            Self::Used => None,
        }
    }
}

/// Whether a data folder is that of a demo, whose tokens are known to everybody.
#[must_use]
pub fn is_demo(folder: &Path) -> bool {
    folder.join(MARK).exists()
}

/// Marks a data folder as that of a demo; it is made if it is not there.
///
/// # Errors
/// [`DemoError::Used`] if a gate that is no demo keeps its data there.
pub fn mark_demo(folder: &Path) -> Result<(), DemoError> {
    let lock = sqlite::lock(folder).map_err(DemoError::Open)?;
    if is_demo(folder) {
        return Ok(());
    }
    if folder.join(DATABASE).exists() {
        return Err(DemoError::Used);
    }
    let mut options = File::options();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let marked = options
        .open(folder.join(MARK))
        .and_then(|mut mark| mark.write_all(b"this is the data of a demo\n"));
    drop(lock);
    marked.map_err(|error| DemoError::Open(OpenError::Folder(error)))
}

/// Makes the demo's agents and data where they are not there yet, and new keys each time.
///
/// Every earlier key of these agents is revoked, whoever made it: those that were handed out last
/// are the only ones that are good.
#[derive(Debug, Clone)]
pub struct DemoSeed(Sources);

impl DemoSeed {
    /// Seeds what the built-in sources of this gate hold.
    #[must_use]
    pub fn new(native: &Native) -> Self {
        Self(native.sources.clone())
    }
}

#[async_trait]
impl Seed for DemoSeed {
    async fn seed(&self, gate: &Gate, by: &OperatorName) -> Result<Value, OperateError> {
        seed::records(self.0.records.as_ref())
            .await
            .map_err(failed)?;
        seed::documents(self.0.files.as_ref())
            .await
            .map_err(failed)?;
        let mut principals = Vec::new();
        for (name, policy) in seed::agents() {
            let name = PrincipalName::new(name)?;
            let id = agent(gate, &name, &policy, by).await?;
            revoke_keys(gate, &id, by).await?;
            let key = gate.create_key(&id, None, by).await?;
            principals.push(json!({"id": id, "name": name, "key": key.key.reveal()}));
        }
        Ok(json!({"principals": principals}))
    }
}

async fn agent(
    gate: &Gate,
    name: &PrincipalName,
    policy: &Value,
    by: &OperatorName,
) -> Result<PrincipalId, OperateError> {
    if let Some(id) = gate.directory().principal_of_name(name).await? {
        return Ok(id);
    }
    let policy = policy.to_string();
    let made = gate
        .create_principal(name, Some(&policy), None, None, by)
        .await?;
    Ok(made.id)
}

async fn revoke_keys(gate: &Gate, id: &PrincipalId, by: &OperatorName) -> Result<(), OperateError> {
    let head = gate.ledger().head(id).await?.ok_or(OperateError::Missing)?;
    for key in head.keys.iter().filter(|key| key.revoked_at.is_none()) {
        gate.revoke_key(id, &key.id, by).await?;
    }
    Ok(())
}

#[expect(
    clippy::needless_pass_by_value,
    reason = "the shape that `map_err` wants"
)]
fn failed(error: BackendError) -> OperateError {
    tracing::error!(%error, "the demo's data cannot be written");
    OperateError::Unavailable
}
