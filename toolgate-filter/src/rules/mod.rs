//! What the filter looks for, as data. A rule's id is also the word in its marker.

mod phrases;
mod tokens;

use crate::Kind;

pub(crate) use phrases::{MARKUP, PHRASES, Phrase, Step};
pub(crate) use tokens::{Set, TOKENS, Token};

/// A rule: its name, what it finds, and who issues what it finds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Rule {
    /// The id, which is also the word in the marker of a removal.
    pub id: &'static str,
    /// What a match is.
    pub kind: Kind,
    /// Who issues what the rule finds, where that is one party.
    pub provider: Option<&'static str>,
}

/// Every rule, in the order of precedence: where matches overlap, the first one names the removal.
#[must_use]
pub fn rules() -> &'static [Rule] {
    RULES
}

/// A rule's place in the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct RuleId(u8);

impl RuleId {
    pub(crate) const PRIVATE_KEY: Self = find("private-key");
    pub(crate) const JWT: Self = find("jwt");
    pub(crate) const BEARER_TOKEN: Self = find("bearer-token");
    pub(crate) const BASIC_AUTH: Self = find("basic-auth");
    pub(crate) const PASSWORD: Self = find("password");
    pub(crate) const UNREADABLE: Self = find("unreadable");
    pub(crate) const EMAIL: Self = find("email");
    pub(crate) const CARD: Self = find("card");
    pub(crate) const PHONE: Self = find("phone");
    pub(crate) const CHAT_MARKUP: Self = find("chat-markup");
    pub(crate) const BIDI_CONTROL: Self = find("bidi-control");
    pub(crate) const BLANK: Self = find("blank");
    pub(crate) const NONCHARACTER: Self = find("noncharacter");
    pub(crate) const PRIVATE_USE: Self = find("private-use");
    pub(crate) const TAG_CHARACTER: Self = find("tag-character");
    pub(crate) const TERMINAL_ESCAPE: Self = find("terminal-escape");
    pub(crate) const VARIATION_SELECTOR: Self = find("variation-selector");
    pub(crate) const ZERO_WIDTH: Self = find("zero-width");

    pub(crate) fn rule(self) -> Rule {
        RULES.get(usize::from(self.0)).copied().unwrap_or(FALLBACK)
    }

    pub(crate) fn id(self) -> &'static str {
        self.rule().id
    }

    pub(crate) fn kind(self) -> Kind {
        self.rule().kind
    }
}

/// The place of a rule, worked out when compiling: an unknown id does not compile.
#[expect(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::cast_possible_truncation,
    reason = "evaluated by the compiler only, where a panic is a compile error"
)]
pub(crate) const fn find(id: &str) -> RuleId {
    let mut at = 0;
    while at < RULES.len() {
        if same(RULES[at].id.as_bytes(), id.as_bytes()) {
            return RuleId(at as u8);
        }
        at += 1;
    }
    panic!("no rule has this id")
}

#[expect(
    clippy::indexing_slicing,
    reason = "the bound is checked, and const code has no iterators"
)]
const fn same(a: &[u8], b: &[u8]) -> bool {
    if a.len() != b.len() {
        return false;
    }
    let mut at = 0;
    while at < a.len() {
        if a[at] != b[at] {
            return false;
        }
        at += 1;
    }
    true
}

const fn secret(id: &'static str, provider: &'static str) -> Rule {
    Rule {
        id,
        kind: Kind::Secret,
        provider: Some(provider),
    }
}

const fn any(id: &'static str, kind: Kind) -> Rule {
    Rule {
        id,
        kind,
        provider: None,
    }
}

const FALLBACK: Rule = any("secret", Kind::Secret);

const RULES: &[Rule] = &[
    any("private-key", Kind::Secret),
    secret("toolgate-key", "toolgate"),
    secret("operator-token", "toolgate"),
    secret("session-handle", "toolgate"),
    any("jwt", Kind::Secret),
    secret("adafruit-key", "Adafruit"),
    secret("age-key", "age"),
    secret("anthropic-key", "Anthropic"),
    secret("atlassian-token", "Atlassian"),
    secret("aws-key-id", "AWS"),
    secret("brevo-key", "Brevo"),
    secret("contentful-token", "Contentful"),
    secret("databricks-token", "Databricks"),
    secret("digitalocean-token", "DigitalOcean"),
    secret("docker-token", "Docker"),
    secret("doppler-token", "Doppler"),
    secret("dynatrace-token", "Dynatrace"),
    secret("figma-token", "Figma"),
    secret("flutterwave-key", "Flutterwave"),
    secret("fly-token", "Fly.io"),
    secret("github-token", "GitHub"),
    secret("gitlab-token", "GitLab"),
    secret("google-key", "Google"),
    secret("grafana-token", "Grafana"),
    secret("groq-key", "Groq"),
    secret("heroku-key", "Heroku"),
    secret("hugging-face-token", "Hugging Face"),
    secret("langsmith-key", "LangSmith"),
    secret("linear-key", "Linear"),
    secret("mailgun-key", "Mailgun"),
    secret("netlify-token", "Netlify"),
    secret("new-relic-key", "New Relic"),
    secret("notion-token", "Notion"),
    secret("npm-token", "npm"),
    secret("openai-key", "OpenAI"),
    secret("openshift-token", "OpenShift"),
    secret("perplexity-key", "Perplexity"),
    secret("planetscale-token", "PlanetScale"),
    secret("posthog-key", "PostHog"),
    secret("postman-key", "Postman"),
    secret("prefect-key", "Prefect"),
    secret("pulumi-token", "Pulumi"),
    secret("pypi-token", "PyPI"),
    secret("readme-key", "ReadMe"),
    secret("replicate-token", "Replicate"),
    secret("rubygems-key", "RubyGems"),
    secret("sendgrid-key", "SendGrid"),
    secret("sentry-token", "Sentry"),
    secret("shippo-token", "Shippo"),
    secret("shopify-token", "Shopify"),
    secret("slack-token", "Slack"),
    secret("slack-webhook", "Slack"),
    secret("sonar-token", "SonarQube"),
    secret("square-token", "Square"),
    secret("stripe-key", "Stripe"),
    secret("supabase-token", "Supabase"),
    secret("tailscale-key", "Tailscale"),
    secret("twilio-key", "Twilio"),
    secret("typeform-token", "Typeform"),
    secret("vault-token", "HashiCorp"),
    secret("xai-key", "xAI"),
    any("bearer-token", Kind::Secret),
    any("basic-auth", Kind::Secret),
    any("password", Kind::Secret),
    any("access-key", Kind::Secret),
    any("api-key", Kind::Secret),
    any("credential", Kind::Secret),
    any("token", Kind::Secret),
    any("secret", Kind::Secret),
    any("unreadable", Kind::Secret),
    any("card", Kind::Pii),
    any("email", Kind::Pii),
    any("phone", Kind::Pii),
    any("override-instructions", Kind::Injection),
    any("role-change", Kind::Injection),
    any("chat-markup", Kind::Injection),
    any("call-a-tool", Kind::Injection),
    any("send-data", Kind::Injection),
    any("bidi-control", Kind::Invisible),
    any("blank", Kind::Invisible),
    any("noncharacter", Kind::Invisible),
    any("private-use", Kind::Invisible),
    any("tag-character", Kind::Invisible),
    any("terminal-escape", Kind::Invisible),
    any("variation-selector", Kind::Invisible),
    any("zero-width", Kind::Invisible),
];
