//! The policy as people write it.

#![expect(
    clippy::exhaustive_structs,
    clippy::exhaustive_enums,
    reason = "the words of a policy are matched whole"
)]

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;

use crate::rules::RuleDocument;

/// A policy: which tools, with which arguments, how often, and which calls wait for a person.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PolicyDocument {
    /// Single tools by the name that agents see; what is said here wins over `upstreams`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    pub tools: BTreeMap<String, ToolPolicy>,
    /// Whole sources of tools, by id.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    pub upstreams: BTreeMap<String, UpstreamPolicy>,
    /// Calls a minute, of all tools together (60 if absent; 0 is none).
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub per_minute: Option<u32>,
    /// Calls a UTC day, of all tools together (2000 if absent; 0 is none).
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub per_day: Option<u32>,
    /// What happens to personal data in results (`redact` if absent).
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub pii: Option<Pii>,
    /// What happens to a result that reads like instructions (`flag` if absent).
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub on_injection: Option<OnInjection>,
    /// Whether text goes out fenced (`on` if absent).
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub fence: Option<Fence>,
    /// Who may decide requests (`others` if absent).
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub approvers: Option<Approvers>,
    /// What happens to arguments that a tool's schema does not name (`refuse` if absent).
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub unknown_args: Option<UnknownArgs>,
}

/// What a policy says of one tool; naming it grants it.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ToolPolicy {
    /// Rules about arguments, by top-level name or by JSON Pointer with `*` for every element.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    pub args: BTreeMap<String, RuleDocument>,
    /// What happens to arguments that `args` does not name (`allow` if absent).
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub other_args: Option<OtherArgs>,
    /// What happens to arguments that the tool's schema does not name.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub unknown_args: Option<UnknownArgs>,
    /// Calls a minute of this tool (0 is none).
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub per_minute: Option<u32>,
    /// When a person is asked (`auto` if absent).
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub approval: Option<AskWhen>,
    /// For how many seconds a stored result is replayed once it was handed over (600 if absent).
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub replay: Option<u32>,
}

/// What a policy says of one source of tools.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct UpstreamPolicy {
    /// Which of its accepted tools are granted, new ones too.
    pub allow: Allow,
    /// Tools that are left out, by the name that their server or agents use.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub except: Vec<String>,
}

macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($(#[$variant_doc:meta])* $variant:ident = $word:literal,)* }) => {
        $(#[$doc])*
        #[derive(
            Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema,
        )]
        pub enum $name {
            $($(#[$variant_doc])* #[serde(rename = $word)] $variant,)*
        }

        impl $name {
            /// Its words in a policy.
            pub(super) const WORDS: &'static [(&'static str, Self)] =
                &[$(($word, Self::$variant),)*];
        }
    };
}

words! {
    /// Which tools of a source are granted.
    Allow {
        /// All of them.
        All = "all",
        /// None of them.
        #[default]
        None = "none",
        /// Those that only read.
        Reads = "reads",
    }
}

words! {
    /// When a person is asked about a tool.
    AskWhen {
        /// Before every call.
        Always = "always",
        /// Before calls that change something.
        #[default]
        Auto = "auto",
        /// Never; only for tools whose author is vouched for.
        Never = "never",
    }
}

words! {
    /// Who may decide a principal's requests, among those with the role.
    Approvers {
        /// Anybody.
        Any = "any",
        /// Anybody but the principal's owner.
        #[default]
        Others = "others",
        /// The principal's owner.
        Owner = "owner",
    }
}

words! {
    /// Whether text goes out fenced.
    Fence {
        /// As it is, for agents whose client fences.
        Off = "off",
        /// Fenced.
        #[default]
        On = "on",
    }
}

words! {
    /// What happens to a result that reads like instructions.
    OnInjection {
        /// It is withheld.
        Block = "block",
        /// It is handed over with a note.
        #[default]
        Flag = "flag",
    }
}

words! {
    /// What happens to arguments that the rules of a tool do not name.
    OtherArgs {
        /// They pass, if the schema lets them.
        #[default]
        Allow = "allow",
        /// They are refused.
        Refuse = "refuse",
    }
}

words! {
    /// What happens to personal data in results.
    Pii {
        /// It is handed over.
        Allow = "allow",
        /// It is replaced by markers.
        #[default]
        Redact = "redact",
    }
}

words! {
    /// What happens to arguments that a tool's schema does not name.
    UnknownArgs {
        /// They are left out of the call.
        Drop = "drop",
        /// They pass, if the schema lets them.
        Pass = "pass",
        /// They are refused.
        #[default]
        Refuse = "refuse",
    }
}
