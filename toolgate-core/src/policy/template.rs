//! Policies to start from.

use crate::catalog::Catalog;
use crate::id::UpstreamId;

use super::document::Allow;
use super::document::Approvers;
use super::document::OnInjection;
use super::document::Pii;
use super::document::PolicyDocument;
use super::document::UpstreamPolicy;

/// What a first policy is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Template {
    /// Everything is granted, writes wait for a person.
    AskForWrites,
    /// The same for a programmer's own agent: its owner decides, personal data stays.
    CodingAgent,
    /// Only reads.
    ReadOnly,
    /// For an agent that reads what customers write: writes wait for somebody else, results that
    /// read like instructions are withheld.
    Support,
}

impl std::str::FromStr for Template {
    type Err = TemplateError;

    fn from_str(word: &str) -> Result<Self, TemplateError> {
        match word {
            "ask-for-writes" => Ok(Self::AskForWrites),
            "coding-agent" => Ok(Self::CodingAgent),
            "read-only" => Ok(Self::ReadOnly),
            "support" => Ok(Self::Support),
            _ => Err(TemplateError),
        }
    }
}

/// There is no template of that name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct TemplateError;

impl std::fmt::Display for TemplateError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("not one of `ask-for-writes`, `coding-agent`, `read-only`, `support`")
    }
}

impl std::error::Error for TemplateError {}

/// A policy over these sources of a catalog.
///
/// Where only reads are granted, a tool that is a read by its own word under a name that says
/// otherwise is left out by name.
#[must_use]
pub fn template(kind: Template, upstreams: &[UpstreamId], catalog: &Catalog) -> PolicyDocument {
    let allow = match kind {
        Template::ReadOnly => Allow::Reads,
        Template::AskForWrites | Template::CodingAgent | Template::Support => Allow::All,
    };
    let mut document = PolicyDocument::default();
    for id in upstreams {
        let doubtful = catalog.iter().filter(|tool| {
            tool.upstream() == id && kind == Template::ReadOnly && tool.classified().suspicious
        });
        let except = doubtful.map(|tool| tool.wire().to_string()).collect();
        document
            .upstreams
            .insert(id.to_string(), UpstreamPolicy { allow, except });
    }
    match kind {
        Template::AskForWrites | Template::ReadOnly => {}
        Template::CodingAgent => {
            document.pii = Some(Pii::Allow);
            document.approvers = Some(Approvers::Owner);
        }
        Template::Support => {
            document.pii = Some(Pii::Redact);
            document.on_injection = Some(OnInjection::Block);
            document.approvers = Some(Approvers::Others);
        }
    }
    document
}
