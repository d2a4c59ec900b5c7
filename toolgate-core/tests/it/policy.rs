//! Policies: what is accepted, what is refused and how, what is granted.

use serde_json::Value;
use serde_json::json;
use toolgate_core::catalog::Catalog;
use toolgate_core::catalog::Trust;
use toolgate_core::id::ToolName;
use toolgate_core::id::UpstreamId;
use toolgate_core::policy;
use toolgate_core::policy::Approvers;
use toolgate_core::policy::Limits;
use toolgate_core::policy::Policy;
use toolgate_core::policy::PolicyDocument;
use toolgate_core::policy::Template;
use toolgate_core::policy::template;

use super::support::accept;
use super::support::call;
use super::support::catalog;
use super::support::foreign;
use super::support::outcome;

/// The example of the design, but for `scope`.
fn example() -> Value {
    json!({
        "tools": {
            "tickets_list": {},
            "files_read": { "args": { "path": { "prefix": "docs/" } } },
            "flags_set": { "args": { "name": { "oneOf": ["beta_banner"] } }, "perMinute": 5, "approval": "always" },
            "web_fetch": { "args": { "url": { "hosts": ["developers.cloudflare.com"] } } },
            "gh__create_issue": { "args": { "/labels/*": { "pattern": "[a-z-]+" } }, "otherArgs": "refuse", "replay": 120 },
        },
        "upstreams": { "gh": { "allow": "reads", "except": ["list_secrets"] } },
        "perMinute": 60, "perDay": 2000, "pii": "redact", "onInjection": "flag", "fence": "on",
    })
}

fn name(shown: &str) -> ToolName {
    shown.parse().unwrap()
}

fn granted(policy: &Policy) -> Vec<String> {
    policy
        .view(&catalog())
        .map(|tool| tool.shown().to_string())
        .collect()
}

/// Places of the errors, and their messages.
fn errors(document: &Value) -> Vec<(String, String)> {
    let errors = policy::parse(&document.to_string(), &catalog()).unwrap_err();
    errors
        .into_vec()
        .into_iter()
        .map(|error| (error.path, error.message))
        .collect()
}

// spec: PL-01
#[test]
fn the_example_round_trips_and_is_kept() {
    let policy = accept(example());
    assert_eq!(serde_json::to_value(policy.document()).unwrap(), example());
    let read: PolicyDocument = serde_json::from_value(example()).unwrap();
    assert_eq!(&read, policy.document());
    assert_eq!(
        policy::parse_value(&example(), &catalog())
            .unwrap()
            .document(),
        &read
    );
    let limits = Limits {
        per_minute: 60,
        per_day: 2000,
        tool_per_minute: Some(5),
    };
    assert_eq!(policy.limits(&name("flags_set")), limits);
    assert_eq!(policy.replay_ms(&name("gh__create_issue")), 120_000);
    assert_eq!(policy.replay_ms(&name("tickets_list")), 600_000);
    assert!(
        policy
            .hosts(&name("web_fetch"))
            .unwrap()
            .allows("https://developers.cloudflare.com/")
            .is_ok()
    );
    assert!(policy.hosts(&name("files_read")).is_none());
    assert_eq!(
        granted(&policy),
        [
            "files_read",
            "flags_set",
            "gh__create_issue",
            "gh__delete_issue",
            "gh__list_issues",
            "tickets_list",
            "web_fetch"
        ]
    );
}

// spec: FN-02
#[test]
fn an_empty_policy_grants_nothing_and_has_defaults() {
    for policy in [accept(json!({})), Policy::deny_all()] {
        assert_eq!(granted(&policy), Vec::<String>::new());
        assert_eq!(
            policy.limits(&name("x")),
            Limits {
                per_minute: 60,
                per_day: 2000,
                tool_per_minute: None
            }
        );
        assert_eq!(
            serde_json::to_value((policy.pii(), policy.on_injection(), policy.fence())).unwrap(),
            json!(["redact", "flag", "on"])
        );
        assert_eq!(policy.approvers(), Approvers::Others);
    }
    let none = accept(
        json!({ "perMinute": 0, "perDay": 0, "tools": { "flags_list": { "perMinute": 0 } } }),
    );
    assert_eq!(
        none.limits(&name("flags_list")),
        Limits {
            per_minute: 0,
            per_day: 0,
            tool_per_minute: Some(0)
        }
    );
}

// spec: PL-02 FN-01
#[test]
fn every_error_is_reported_at_once_with_its_place_and_the_nearest_name() {
    let found = errors(&json!({
        "tools": {
            "tickets_lst": {},
            "files_read": { "args": { "pth": { "prefix": "docs/" }, "offset": { "mim": 1 } }, "aproval": "auto" },
            "flags_set": { "perMinute": -1, "approval": "sometimes", "replay": 1.5 },
            "web_fetch": 7,
        },
        "upstreams": { "ghh": { "allow": "reads" }, "gh": { "allow": "writes", "except": ["list_secret"] }, "desk": {}, "files": { "allow": "all", "scope": "#x" } },
        "perDy": 5,
        "pii": true,
    }));
    let expected = [
        (
            "/perDy",
            "is not a key of a policy here, did you mean `perDay`",
        ),
        (
            "/tools/files_read/aproval",
            "is not a key of a policy here, did you mean `approval`",
        ),
        (
            "/tools/files_read/args/offset/mim",
            "is not a key of a policy here, did you mean `min`",
        ),
        (
            "/tools/flags_set/perMinute",
            "is not a whole number from 0 to 4294967295",
        ),
        (
            "/tools/flags_set/approval",
            "is not one of `always`, `auto`, `never`",
        ),
        (
            "/tools/flags_set/replay",
            "is not a whole number from 0 to 604800",
        ),
        ("/tools/web_fetch", "is not an object"),
        (
            "/upstreams/gh/allow",
            "is not one of `all`, `none`, `reads`",
        ),
        (
            "/upstreams/desk/allow",
            "is missing: one of `all`, `none`, `reads`",
        ),
        (
            "/upstreams/files/scope",
            "is not supported yet by this version",
        ),
        ("/pii", "is not one of `allow`, `redact`"),
        (
            "/tools/tickets_lst",
            "is not a known tool, did you mean `tickets_list`",
        ),
        (
            "/tools/files_read/args/pth",
            "is not an argument of this tool, did you mean `path`",
        ),
        (
            "/upstreams/ghh",
            "is not a known upstream, did you mean `gh`",
        ),
    ];
    for (path, message) in expected {
        let expected = (path.to_owned(), message.to_owned());
        assert!(found.contains(&expected), "{expected:?} in {found:#?}");
    }
    assert_eq!(found.len(), expected.len(), "{found:#?}");
    let found =
        errors(&json!({ "upstreams": { "gh": { "allow": "all", "except": ["list_secret"] } } }));
    let message = "is not a tool of this upstream, did you mean `list_secrets`";
    assert_eq!(
        found,
        [("/upstreams/gh/except/0".to_owned(), message.to_owned())]
    );
}

// spec: PL-02
#[test]
fn what_is_not_strict_json_is_refused_with_its_place() {
    for (text, path) in [
        (
            r#"{"tools":{"flags_list":{},"flags_list":{}}}"#,
            "/tools/flags_list",
        ),
        (r#"{"perDay":9007199254740993}"#, "/perDay"),
        ("[]", ""),
        ("", ""),
        ("{", ""),
        ("null", ""),
    ] {
        let errors = policy::parse(text, &catalog()).unwrap_err();
        assert_eq!(errors.as_slice().len(), 1, "{text}");
        assert_eq!(errors.as_slice()[0].path, path, "{text}");
    }
    let large = format!("{{}}{}", " ".repeat(256 * 1024));
    assert!(policy::parse(&large, &catalog()).is_err());
    let tools: serde_json::Map<_, _> = (0..2_001).map(|n| (format!("t{n}"), json!({}))).collect();
    assert_eq!(errors(&json!({ "tools": tools })).len(), 1);
}

#[test]
fn an_error_quotes_no_value() {
    let secret = "hunter2";
    let documents = [
        json!({ "pii": secret, "perDay": secret }),
        json!({ "tools": { "files_read": { "args": { "path": { "pattern": format!("({secret}"), "prefix": format!("../{secret}"), "hosts": [format!("{secret}/")] } } } } }),
        json!({ "tools": { "files_read": { "args": { "offset": { "oneOf": [secret] } } } } }),
        json!({ "tools": { "flags_set": { "approval": secret, "args": secret } } }),
    ];
    for document in documents {
        let errors = policy::parse(&document.to_string(), &catalog()).unwrap_err();
        assert!(!format!("{errors} {errors:?}").contains(secret), "{errors}");
    }
}

// spec: PL-04
#[test]
fn a_rule_that_contradicts_the_tools_schema_is_refused() {
    for (tool, argument, rule, key) in [
        ("files_read", "path", json!({ "min": 1 }), "/min"),
        ("files_read", "path", json!({ "max": 1 }), "/max"),
        ("files_read", "offset", json!({ "prefix": "a/" }), "/prefix"),
        (
            "files_read",
            "offset",
            json!({ "pattern": "1" }),
            "/pattern",
        ),
        (
            "files_read",
            "offset",
            json!({ "maxLength": 1 }),
            "/maxLength",
        ),
        (
            "files_read",
            "offset",
            json!({ "hosts": ["a.example"] }),
            "/hosts",
        ),
        (
            "files_read",
            "offset",
            json!({ "oneOf": [1, "2"] }),
            "/oneOf/1",
        ),
        (
            "files_read",
            "offset",
            json!({ "oneOf": [1.5] }),
            "/oneOf/0",
        ),
        ("files_read", "path", json!({ "oneOf": [] }), "/oneOf"),
        (
            "files_read",
            "offset",
            json!({ "min": 2, "max": 1 }),
            "/min",
        ),
        ("files_read", "path", json!({ "pattern": "(" }), "/pattern"),
        ("web_fetch", "url", json!({ "hosts": [] }), "/hosts"),
        (
            "gh__create_issue",
            "labels",
            json!({ "pattern": "a" }),
            "/pattern",
        ),
        (
            "gh__create_issue",
            "state",
            json!({ "oneOf": ["open", "merged"] }),
            "/oneOf/1",
        ),
        ("gh__create_issue", "/labels/*", json!({ "min": 1 }), "/min"),
        (
            "gh__create_issue",
            "/assignees/*/id",
            json!({ "pattern": "a" }),
            "/pattern",
        ),
        ("gh__create_issue", "/assignees/*/nam", json!({}), ""),
        ("gh__create_issue", "/assignees/name", json!({}), ""),
        ("gh__create_issue", "/title/x", json!({}), ""),
        ("gh__create_issue", "/labls/*", json!({}), ""),
        ("gh__create_issue", "/labels/*/x", json!({}), ""),
        ("gh__create_issue", "/a~2", json!({}), ""),
        ("flags_list", "name", json!({}), ""),
    ] {
        let escaped = argument.replace('~', "~0").replace('/', "~1");
        let document = json!({ "tools": { tool: { "args": { argument: rule } } } });
        let found = errors(&document);
        let places: Vec<&str> = found.iter().map(|(path, _)| path.as_str()).collect();
        assert_eq!(
            places,
            [format!("/tools/{tool}/args/{escaped}{key}")],
            "{found:?}"
        );
    }
    for (tool, argument, rule) in [
        ("gh__create_issue", "count", json!({ "max": 3 })),
        (
            "gh__create_issue",
            "count",
            json!({ "oneOf": [null, 1, 2.0] }),
        ),
        ("gh__create_issue", "/meta/anything/*", json!({ "max": 3 })),
        (
            "gh__create_issue",
            "/assignees/*/name",
            json!({ "pattern": "a" }),
        ),
        ("gh__create_issue", "/assignees/0/id", json!({ "max": 3 })),
        ("gh__create_issue", "/labels/*", json!({ "oneOf": ["a"] })),
        ("gh__list_issues", "repo", json!({ "oneOf": ["a", 1] })),
    ] {
        accept(json!({ "tools": { tool: { "args": { argument: rule } } } }));
    }
}

// spec: F38
#[test]
fn a_hostile_policy_is_refused_when_it_is_saved() {
    let args = |rule: Value| json!({ "tools": { "files_read": { "args": { "path": rule } } } });
    for document in [
        args(json!({ "pattern": "a".repeat(200_000) })),
        args(json!({ "pattern": "((a{1000}){1000}){1000}" })),
        args(json!({ "pattern": r"(a+)+\1" })),
        json!({ "tools": { "files_red": {} } }),
        json!({ "tools": { "files_read": { "args": { "paths": {} } } } }),
    ] {
        assert_eq!(errors(&document).len(), 1);
    }
    let long = json!({ "tools": { "x".repeat(10_000): {} } });
    assert!(errors(&long)[0].0.len() < 1_000);
}

#[test]
fn nobody_is_asked_only_where_somebody_vouches() {
    let never = json!({ "approval": "never" });
    let found = errors(&json!({ "tools": { "gh__create_issue": never } }));
    assert_eq!(found[0].0, "/tools/gh__create_issue/approval");
    let policy = accept(json!({ "tools": { "flags_set": never, "crm__add_note": never } }));
    let catalog = catalog();
    assert!(!policy.may_ask(catalog.find("flags_set").unwrap()));
    assert!(!policy.may_ask(catalog.find("crm__add_note").unwrap()));
    // The operator stops vouching: the stored policy asks again.
    let note = json!({ "name": "add_note", "inputSchema": { "type": "object" } });
    let byo = Catalog::new([foreign("crm", Trust::Byo, &note)], false);
    let stored =
        policy::compile_stored(r#"{"tools":{"crm__add_note":{"approval":"never"}}}"#, &byo);
    assert!(stored.may_ask(byo.find("crm__add_note").unwrap()));
}

// spec: PL-05
#[test]
fn a_stored_policy_keeps_what_is_gone_and_allows_nothing_by_it() {
    let text = json!({
        "tools": {
            "gone_tool": {},
            "files_read": { "args": { "file": { "prefix": "docs/" } } },
            "flags_list": {},
            "gh__list_issues": { "args": { "path": { "pattern": "(" } } },
        },
        "upstreams": { "gone": { "allow": "all" }, "gh": { "allow": "all", "except": ["was_here"] }, "files": { "allow": "all" } },
    });
    let policy = policy::compile_stored(&text.to_string(), &catalog());
    let places: Vec<&str> = policy
        .stale()
        .iter()
        .map(|error| error.path.as_str())
        .collect();
    assert_eq!(
        places,
        [
            "/tools/files_read/args/file",
            "/tools/gh__list_issues/args/path/pattern",
            "/tools/gone_tool",
            "/upstreams/gh/except/0",
            "/upstreams/gone",
        ]
    );
    assert_eq!(serde_json::to_value(policy.document()).unwrap(), text);
    // An exact entry wins over the upstream's, even when it allows nothing.
    assert_eq!(
        granted(&policy),
        [
            "files_list",
            "files_write",
            "flags_list",
            "gh__create_issue",
            "gh__delete_issue",
            "gh__list_secrets"
        ]
    );
    for name in ["gone_tool", "files_read", "gh__list_issues"] {
        assert_eq!(
            outcome(&call(&policy, name, "")),
            ("hidden", "hidden", None),
            "{name}"
        );
    }
    for text in ["", "[]", r#"{"tools":{"flags_list":{"scope":1}}}"#] {
        let policy = policy::compile_stored(text, &catalog());
        assert_eq!(granted(&policy), Vec::<String>::new());
        assert_eq!(policy.stale().len(), 1);
    }
}

// spec: FN-07
#[test]
fn an_upstream_grants_by_mode_and_exact_entries_win() {
    let view = |upstreams: Value| granted(&accept(json!({ "upstreams": upstreams })));
    assert_eq!(
        view(json!({ "desk": { "allow": "reads" } })),
        ["tickets_get", "tickets_list"]
    );
    assert_eq!(
        view(json!({ "desk": { "allow": "none" } })),
        Vec::<String>::new()
    );
    assert_eq!(
        view(json!({ "desk": { "allow": "all", "except": ["tickets_close"] } })),
        ["tickets_comment", "tickets_get", "tickets_list"]
    );
    assert_eq!(
        view(json!({ "gh": { "allow": "reads", "except": ["gh__list_issues"] } })),
        ["gh__delete_issue", "gh__list_secrets"]
    );
    let both = accept(json!({
        "tools": { "tickets_close": {} },
        "upstreams": { "desk": { "allow": "none", "except": ["tickets_close"] } },
    }));
    assert_eq!(granted(&both), ["tickets_close"]);
}

#[test]
fn the_schema_of_a_policy_accepts_what_is_accepted() {
    let schema = policy::schema();
    let checker = toolgate_core::schema::Checker::new(&schema).unwrap();
    assert!(checker.is_valid(&example()));
    for wrong in [
        json!({ "perHour": 1 }),
        json!({ "tools": { "a": { "approval": "sometimes" } } }),
        json!({ "upstreams": { "gh": {} } }),
        json!({ "tools": { "a": { "args": { "b": { "mim": 1 } } } } }),
    ] {
        assert!(!checker.is_valid(&wrong), "{wrong}");
    }
}

#[test]
fn templates_are_accepted_as_they_are() {
    let catalog = catalog();
    let ids: Vec<UpstreamId> = ["gh", "desk"]
        .iter()
        .map(|id| id.parse().unwrap())
        .collect();
    let made = |kind: Template| {
        let document = template(kind, &ids, &catalog);
        policy::parse(&serde_json::to_string(&document).unwrap(), &catalog).unwrap()
    };
    let reads = made(Template::ReadOnly);
    assert_eq!(
        granted(&reads),
        [
            "gh__list_issues",
            "gh__list_secrets",
            "tickets_get",
            "tickets_list"
        ]
    );
    let asks = made(Template::AskForWrites);
    assert_eq!(granted(&asks).len(), 8);
    assert_eq!(
        outcome(&call(&asks, "tickets_close", r#"{"id":1}"#)).0,
        "queue"
    );
    let coding = made("coding-agent".parse().unwrap());
    assert_eq!(
        serde_json::to_value((coding.pii(), coding.approvers())).unwrap(),
        json!(["allow", "owner"])
    );
    let support = made(Template::Support);
    assert_eq!(
        serde_json::to_value(support.on_injection()).unwrap(),
        json!("block")
    );
    assert!("other".parse::<Template>().is_err());
}
