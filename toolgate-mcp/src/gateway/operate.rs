//! What operators do to principals: make them, give keys, set policies, switch off, try calls.

use std::fmt;
use std::pin::pin;
use std::time::Duration;

use futures_util::future::select;
use serde::Serialize;
use serde_json::Map;
use serde_json::Value;
use serde_json::json;
use toolgate_core::id::IdError;
use toolgate_core::id::KeyId;
use toolgate_core::id::OperatorName;
use toolgate_core::id::PolicyName;
use toolgate_core::id::PrincipalId;
use toolgate_core::id::PrincipalName;
use toolgate_core::judge::judge;
use toolgate_core::key::AgentKey;
use toolgate_core::key::OperatorToken;
use toolgate_core::limits::Shortfall;
use toolgate_core::policy;
use toolgate_core::policy::PolicyError;
use toolgate_core::time::Timestamp;
use toolgate_core::unit::Create;
use toolgate_core::unit::Event;
use toolgate_core::unit::Key;
use toolgate_core::unit::Outcome;
use toolgate_core::unit::SetPolicy;
use toolgate_core::verdict::Code;
use toolgate_core::verdict::Decision;
use toolgate_core::verdict::Reason;
use toolgate_core::verdict::Retry;
use toolgate_filter::Settings;

use super::Gate;
use crate::ports::EntropyError;
use crate::store::LedgerExt as _;
use crate::store::StoreError;

/// The policy of a principal that was made without one: nothing is allowed.
const NOTHING: &str = r#"{"tools":{}}"#;

/// Why an operator's wish was not done.
#[derive(Debug)]
#[expect(clippy::exhaustive_enums, reason = "each has its own status")]
pub enum OperateError {
    /// There is one of that name already, or another change came first.
    Conflict,
    /// The policy is not accepted, with every error of it.
    Invalid(Vec<PolicyError>),
    /// There is no such principal, key or policy.
    Missing,
    /// The store does not answer, or there is no entropy.
    Unavailable,
}

impl fmt::Display for OperateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Conflict => "there is one of that name, or another change came first",
            Self::Invalid(_) => "the policy is not accepted",
            Self::Missing => "there is no such thing",
            Self::Unavailable => "the store does not answer",
        })
    }
}

impl std::error::Error for OperateError {}

impl From<StoreError> for OperateError {
    fn from(error: StoreError) -> Self {
        tracing::error!(kind = ?error.kind(), "the store did not do what an operator asked");
        Self::Unavailable
    }
}

impl From<EntropyError> for OperateError {
    fn from(_: EntropyError) -> Self {
        Self::Unavailable
    }
}

impl From<IdError> for OperateError {
    fn from(_: IdError) -> Self {
        Self::Unavailable
    }
}

/// A principal that was made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[expect(clippy::exhaustive_structs, reason = "part of the wire contract")]
pub struct Created {
    /// Which.
    pub id: PrincipalId,
    /// What people call it.
    pub name: PrincipalName,
    /// The version of its policy.
    pub policy_version: u64,
}

/// A key that was made, with the key itself: this once.
#[derive(Debug, Clone)]
#[expect(clippy::exhaustive_structs, reason = "part of the wire contract")]
pub struct NewKey {
    /// Its name.
    pub id: KeyId,
    /// The key.
    pub key: AgentKey,
}

/// What a dry run came to.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[expect(clippy::exhaustive_structs, reason = "part of the wire contract")]
pub struct Checked {
    /// `run`, `auto_apply`, `queue`, `refuse`, `hidden` or `killed`.
    pub decision: &'static str,
    /// Why, in the order of the path of a call.
    pub reasons: Vec<Reason>,
}

/// How long a kill waits for what is on its way out.
const LEAVING: Duration = Duration::from_secs(2);

impl Gate {
    /// Makes a principal. Without a policy it may do nothing.
    ///
    /// # Errors
    /// `Conflict` if the name is taken, `Invalid` if the policy is not accepted.
    pub async fn create_principal(
        &self,
        name: &PrincipalName,
        policy: Option<&str>,
        policy_name: Option<PolicyName>,
        owner: Option<OperatorName>,
        by: &OperatorName,
    ) -> Result<Created, OperateError> {
        let text = policy.unwrap_or(NOTHING);
        policy::parse(text, &self.catalog())
            .map_err(|errors| OperateError::Invalid(errors.into_vec()))?;
        let mut id = PrincipalId::new(self.word::<10>("p_")?)?;
        if name.as_str() == PrincipalId::system().as_str() {
            return Err(OperateError::Conflict);
        }
        if !self.0.directory.claim_name(name, &id).await? {
            // A name whose unit was never made, by a process that died in between, is free.
            let holder = self.0.directory.principal_of_name(name).await?;
            let holder = holder.ok_or(OperateError::Conflict)?;
            if self.0.ledger.head(&holder).await?.is_some() {
                return Err(OperateError::Conflict);
            }
            id = holder;
        }
        let create = Create {
            name: name.clone(),
            owner,
            policy: text.to_owned(),
            policy_name,
            by: by.clone(),
        };
        match self.0.ledger.create(&id, create).await?.outcome {
            Outcome::Done => Ok(Created {
                id,
                name: name.clone(),
                policy_version: 1,
            }),
            _ => Err(OperateError::Conflict),
        }
    }

    /// Makes a key for a principal.
    ///
    /// # Errors
    /// `Missing` if there is no such principal.
    pub async fn create_key(
        &self,
        principal: &PrincipalId,
        expires_at: Option<Timestamp>,
        by: &OperatorName,
    ) -> Result<NewKey, OperateError> {
        let head = self
            .0
            .ledger
            .head(principal)
            .await?
            .ok_or(OperateError::Missing)?;
        let secret = AgentKey::from_entropy(self.entropy::<20>()?);
        let id = KeyId::new(self.word::<6>("k_")?)?;
        self.0
            .directory
            .remember_key(&secret.hash(), principal)
            .await?;
        let key = Key {
            id: id.clone(),
            hash: secret.hash(),
            created_at: self.0.ledger.now().max(head.at),
            last_used_at: None,
            expires_at,
            revoked_at: None,
        };
        match self
            .0
            .ledger
            .add_key(principal, key, by.clone())
            .await?
            .outcome
        {
            Outcome::Done => Ok(NewKey { id, key: secret }),
            _ => Err(OperateError::Missing),
        }
    }

    /// A new operator token, which nobody has yet.
    ///
    /// # Errors
    /// [`EntropyError`] if there is no entropy.
    pub fn new_operator_token(&self) -> Result<OperatorToken, EntropyError> {
        self.entropy::<20>().map(OperatorToken::from_entropy)
    }

    /// Revokes a key; doing it again changes nothing.
    ///
    /// # Errors
    /// `Missing` if this principal has no such key.
    pub async fn revoke_key(
        &self,
        principal: &PrincipalId,
        key: &KeyId,
        by: &OperatorName,
    ) -> Result<(), OperateError> {
        done(
            &self
                .0
                .ledger
                .revoke_key(principal, key.clone(), by.clone())
                .await?
                .outcome,
        )
    }

    /// Switches a principal off, before this answers; doing it again changes nothing.
    ///
    /// # Errors
    /// `Missing` if there is no such principal.
    pub async fn kill(
        &self,
        principal: &PrincipalId,
        by: &OperatorName,
        reason: Option<String>,
    ) -> Result<(), OperateError> {
        let reason = reason.map(|reason| said(&reason));
        let moved = self.0.ledger.kill(principal, by.clone(), reason).await?;
        done(&moved.outcome)?;
        // It is switched off; what is on its way out is only waited for.
        let left = self.0.leaving.back(principal);
        select(pin!(left), self.0.timer.sleep(LEAVING)).await;
        Ok(())
    }

    /// Switches a principal on again; doing it again changes nothing.
    ///
    /// # Errors
    /// `Missing` if there is no such principal.
    pub async fn revive(
        &self,
        principal: &PrincipalId,
        by: &OperatorName,
    ) -> Result<(), OperateError> {
        done(&self.0.ledger.revive(principal, by.clone()).await?.outcome)
    }

    /// Puts a policy in force, for the next request on. One that is not accepted leaves the old
    /// one in force.
    ///
    /// # Errors
    /// `Invalid` with every error, `Missing`, or `Conflict` if another change came first.
    pub async fn set_policy(
        &self,
        principal: &PrincipalId,
        text: &str,
        name: Option<PolicyName>,
        by: &OperatorName,
    ) -> Result<u64, OperateError> {
        policy::parse(text, &self.catalog())
            .map_err(|errors| OperateError::Invalid(errors.into_vec()))?;
        let (from, old) = self
            .0
            .ledger
            .policy(principal)
            .await?
            .ok_or(OperateError::Missing)?;
        let diff = diff(&old, text);
        let set = SetPolicy {
            from,
            text: text.to_owned(),
            name,
            diff,
            by: by.clone(),
        };
        match self.0.ledger.set_policy(principal, set).await?.outcome {
            Outcome::Done => Ok(from.saturating_add(1)),
            Outcome::Stale => Err(OperateError::Conflict),
            _ => Err(OperateError::Missing),
        }
    }

    /// What would become of a call: no token is taken, nothing runs, one entry says that it was
    /// asked.
    ///
    /// # Errors
    /// `Missing` if there is no such principal.
    pub async fn check(
        &self,
        principal: &PrincipalId,
        tool: &str,
        args: &Value,
        by: &OperatorName,
    ) -> Result<Checked, OperateError> {
        let head = self
            .0
            .ledger
            .head(principal)
            .await?
            .ok_or(OperateError::Missing)?;
        let in_force = self.policy_in_force(principal).await?;
        let (_, policy) = in_force.ok_or(OperateError::Missing)?;
        let catalog = self.catalog();
        let found = catalog.find(tool);
        let text = args.to_string();
        let judged = judge(
            &policy,
            found.map(AsRef::as_ref),
            &text,
            &toolgate_filter::marker::find,
        );
        let mut verdict = judged.verdict;
        let mut decision = verdict.decision.as_str();
        if verdict.decision < Decision::Refuse {
            let now = self.0.ledger.now().max(head.at);
            if let Some(tool) = found {
                let limits = policy.limits(tool.shown());
                let taken = head.meters.clone().take(&limits, tool.shown(), now);
                let over = taken.err().map(Shortfall::reason);
                let full = (verdict.decision != Decision::Run)
                    .then(|| head.queue_full())
                    .flatten();
                if let Some(reason) = over.or(full) {
                    verdict.contribute(Decision::Refuse, reason);
                    decision = Decision::Refuse.as_str();
                }
            }
        }
        let mut reasons = verdict.reasons;
        if head.killed.is_some() {
            decision = "killed";
            let reason = Reason::new(Code::Killed, "this agent is switched off", Retry::Never);
            reasons.insert(0, reason);
        }
        let known = found
            .filter(|tool| policy.grants(tool))
            .map(|tool| tool.shown().to_string());
        let mut event = Event::note("dry_run")
            .with("decision", decision)
            .with("by", by);
        event.tool = known;
        self.0.ledger.note(principal, event).await?;
        Ok(Checked { decision, reasons })
    }

    /// Closes what is overdue everywhere, and says how many rows that were.
    ///
    /// # Errors
    /// [`StoreError`] of the first unit that could not be swept; the others were.
    pub async fn sweep(&self) -> Result<u32, StoreError> {
        let mut closed = 0_u32;
        let mut failed = None;
        for id in self.0.ledger.overdue().await? {
            match self.0.ledger.sweep(&id).await {
                Ok(moved) => {
                    if let Outcome::Swept(rows) = moved.outcome {
                        closed = closed.saturating_add(rows);
                    }
                }
                Err(error) => {
                    tracing::error!(principal = id.as_str(), %error, "a unit was not swept");
                    failed = failed.or(Some(error));
                }
            }
        }
        failed.map_or(Ok(closed), Err)
    }
}

/// A person's words as they are kept and shown: an entry can never be cleaned afterwards.
pub(super) fn said(reason: &str) -> String {
    toolgate_filter::clean_text(reason, &Settings::strict()).value
}

fn done(outcome: &Outcome) -> Result<(), OperateError> {
    match outcome {
        Outcome::Done => Ok(()),
        _ => Err(OperateError::Missing),
    }
}

/// What changes from one policy text to another, as pointers with the old and the new value.
fn diff(old: &str, new: &str) -> Value {
    let read = |text: &str| serde_json::from_str(text).unwrap_or(Value::Null);
    let mut changes = Vec::new();
    compare("", &read(old), &read(new), &mut changes);
    Value::Array(changes)
}

fn compare(at: &str, old: &Value, new: &Value, changes: &mut Vec<Value>) {
    if old == new {
        return;
    }
    let (Some(before), Some(after)) = (old.as_object(), new.as_object()) else {
        changes.push(json!({"path": at, "from": old, "to": new}));
        return;
    };
    let place = |name: &str| format!("{at}/{}", toolgate_core::json::pointer_escape(name));
    for (name, value) in before {
        match after.get(name) {
            Some(other) => compare(&place(name), value, other, changes),
            None => changes.push(json!({"path": place(name), "from": value})),
        }
    }
    added(before, after, &place, changes);
}

fn added(
    before: &Map<String, Value>,
    after: &Map<String, Value>,
    place: &dyn Fn(&str) -> String,
    changes: &mut Vec<Value>,
) {
    for (name, value) in after {
        if !before.contains_key(name) {
            changes.push(json!({"path": place(name), "to": value}));
        }
    }
}
