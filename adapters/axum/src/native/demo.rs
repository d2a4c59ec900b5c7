//! The demo's agents and data.

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

/// Makes the demo's agents and data where they are not there yet, and new keys each time.
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

#[expect(
    clippy::needless_pass_by_value,
    reason = "the shape that `map_err` wants"
)]
fn failed(error: BackendError) -> OperateError {
    tracing::error!(%error, "the demo's data cannot be written");
    OperateError::Unavailable
}
