//! Argument rules, one table for each.

use proptest::prelude::*;
use serde_json::Map;
use serde_json::Value;
use serde_json::json;
use toolgate_core::rules::AllowedHosts;
use toolgate_core::rules::ArgumentPath;
use toolgate_core::rules::ArgumentRules;
use toolgate_core::rules::HostError;
use toolgate_core::rules::PathError;
use toolgate_core::rules::Rule;
use toolgate_core::rules::RuleDocument;
use toolgate_core::rules::check_path;

fn rule(rule: Value) -> Rule {
    let document: RuleDocument = serde_json::from_value(rule).unwrap();
    Rule::new(&document).unwrap()
}

fn broken(document: Value) -> Vec<String> {
    let document: RuleDocument = serde_json::from_value(document).unwrap();
    Rule::new(&document)
        .unwrap_err()
        .into_iter()
        .map(|error| error.key)
        .collect()
}

fn check(document: Value, passes: &[Value], fails: &[Value]) {
    let key = document.as_object().unwrap().keys().next().unwrap().clone();
    let rule = rule(document);
    for value in passes {
        assert_eq!(rule.check(value), Ok(()), "{key}: {value}");
    }
    for value in fails {
        assert_eq!(rule.check(value), Err(key.as_str()), "{key}: {value}");
    }
}

// spec: AG-01
#[test]
fn one_of_compares_canonically() {
    check(
        json!({ "oneOf": [1, "a", null, { "x": 1, "y": [2.0] }] }),
        &[
            json!(1),
            json!(1.0),
            json!("a"),
            json!(null),
            json!({ "y": [2], "x": 1.0 }),
        ],
        &[
            json!("1"),
            json!(true),
            json!("A"),
            json!(1.5),
            json!([1]),
            json!({ "x": 1 }),
            json!(""),
        ],
    );
}

// spec: AG-02
#[test]
fn a_pattern_matches_the_whole_string() {
    check(
        json!({ "pattern": "^a+$" }),
        &[json!("aaaa")],
        &[
            json!("aaaa!"),
            json!(""),
            json!("aaaa\n"),
            json!("\naaaa"),
            json!(1),
            json!(["aaaa"]),
        ],
    );
    check(
        json!({ "pattern": "a|ab" }),
        &[json!("a"), json!("ab")],
        &[json!("abc"), json!("xab")],
    );
    check(
        json!({ "pattern": "(?m)^a$" }),
        &[json!("a")],
        &[json!("a\nb"), json!("b\na")],
    );
    check(
        json!({ "pattern": "(?s).*b" }),
        &[json!("a\nb")],
        &[json!("a\nbc")],
    );
    check(json!({ "pattern": "" }), &[json!("")], &[json!("a")]);
}

// spec: AG-02 F38
#[test]
fn a_pattern_is_linear_and_small() {
    let rule = rule(json!({ "pattern": "(a+)+$" }));
    assert!(rule.check(&json!("a".repeat(50_000))).is_ok());
    assert!(
        rule.check(&json!(format!("{}!", "a".repeat(50_000))))
            .is_err()
    );
    for pattern in [
        "a)|(?:b",
        "(?x)a # note",
        "(",
        "[z-a]",
        r"(a)\1",
        "(?=a)",
        "(?<!a)b",
        "((a{1000}){1000}){1000}",
        &"a".repeat(1_025),
        &"a".repeat(1_000_000),
    ] {
        assert_eq!(broken(json!({ "pattern": pattern })), ["pattern"]);
    }
}

// spec: AG-03
#[test]
fn a_prefix_keeps_paths_below_it() {
    check(
        json!({ "prefix": "docs/" }),
        &[
            json!("docs/a.md"),
            json!("docs/"),
            json!("docs/sub/a b.md"),
            json!("docs/.hidden"),
            json!("docs/..a"),
            json!("docs/a..b"),
            json!("docs/100%"),
            json!("docs/50%25"),
            json!("docs/b\u{fc}cher/\u{2764}\u{fe0f}.md"),
            json!("docs/cafe\u{301}.md"),
            json!("docs/sub/"),
        ],
        &[
            json!("docs/../secrets"),
            json!("docs/./x"),
            json!("docs/.."),
            json!("docs/."),
            json!("docs"),
            json!("doc"),
            json!("/docs/a"),
            json!("Docs/a"),
            json!("x/docs/a"),
            json!(" docs/a"),
            json!(""),
            json!(1),
            json!(["docs/a"]),
        ],
    );
}

// spec: AG-04
#[test]
fn no_spelling_of_a_dot_segment_gets_out() {
    for (path, error) in [
        ("docs/../secrets", PathError::DotSegment),
        ("docs/%2e%2e/x", PathError::DotSegment),
        ("docs/%2E%2e/x", PathError::DotSegment),
        ("docs/.%2e/x", PathError::DotSegment),
        ("docs/%252e%252e/x", PathError::DotSegment),
        ("docs/%25252e%25252e/x", PathError::DotSegment),
        ("docs/%2e%2e%2fx", PathError::DotSegment),
        ("docs/a%2f..%2f..%2fx", PathError::DotSegment),
        (r"docs\..\x", PathError::Backslash),
        (r"docs/..\x", PathError::Backslash),
        ("docs/..%5cx", PathError::Backslash),
        ("docs/a%5c..%5cx", PathError::Backslash),
        ("docs/a%255c..%255cx", PathError::Backslash),
        ("docs/．．/x", PathError::DotSegment),
        ("docs/%EF%BC%8E%EF%BC%8E/x", PathError::DotSegment),
        ("docs/…/x", PathError::DotSegment),
        ("docs/‥/x", PathError::DotSegment),
        ("docs/․․/x", PathError::DotSegment),
        ("docs/﹒﹒/x", PathError::DotSegment),
        ("docs/．%2e/x", PathError::DotSegment),
        ("docs/％2e％2e/x", PathError::DotSegment),
        ("docs／..／x", PathError::Backslash),
        ("docs/a／..／x", PathError::Backslash),
        ("docs/a∕..∕x", PathError::Backslash),
        ("docs/a＼..＼x", PathError::Backslash),
        ("docs/.\u{200b}./x", PathError::DotSegment),
        ("docs/.\u{2060}./x", PathError::DotSegment),
        ("docs/..\u{feff}/x", PathError::DotSegment),
        ("docs/.. /x", PathError::DotSegment),
        ("docs/ ../x", PathError::DotSegment),
        ("docs/. ./x", PathError::DotSegment),
        ("docs/.../x", PathError::DotSegment),
        ("docs/..;a=b/x", PathError::DotSegment),
        ("docs/..?/x", PathError::DotSegment),
        ("docs/..#/x", PathError::DotSegment),
        ("docs/%2e%2e%3b/x", PathError::DotSegment),
        ("docs/a./x", PathError::TrailingDot),
        ("docs/a /x", PathError::TrailingDot),
        ("docs/a.", PathError::TrailingDot),
        ("docs//x", PathError::EmptySegment),
        ("docs/a//x", PathError::EmptySegment),
        ("docs/%2fetc", PathError::EmptySegment),
        ("docs/\u{200b}/x", PathError::EmptySegment),
        ("docs//", PathError::EmptySegment),
        ("docs/a\0.md", PathError::Control),
        ("docs/a%00.md", PathError::Control),
        ("docs/a%2500.md", PathError::Control),
        ("docs/a\n.md", PathError::Control),
        ("docs/%c0%ae%c0%ae/x", PathError::Encoding),
        ("docs/%u002e%u002e/x", PathError::Encoding),
        ("docs/%25u002e/x", PathError::Encoding),
        ("%64ocs/a", PathError::Outside),
        ("docs%2fa", PathError::Outside),
        ("ｄocs/a", PathError::Outside),
    ] {
        assert_eq!(check_path("docs/", path), Err(error), "{path:?}");
    }
    let endless = format!("docs/%{}2e", "25".repeat(5_000));
    assert_eq!(check_path("docs/", &endless), Err(PathError::Encoding));
}

// spec: AG-04
#[test]
fn a_prefix_ends_between_segments() {
    for (prefix, path, passes) in [
        ("docs", "docs", true),
        ("docs", "docs/", true),
        ("docs", "docs/x", true),
        ("docs", "docs2/x", false),
        ("docs", "docs.md", false),
        ("docs", "docs%2f..", false),
        ("docs/re", "docs/re/x", true),
        ("docs/re", "docs/report", false),
        ("/srv/docs/", "/srv/docs/x", true),
        ("/srv/docs", "/srv/docs2", false),
        ("/srv/docs", "//srv/docs", false),
        ("/", "/etc", true),
        ("/", "/", true),
    ] {
        assert_eq!(check_path(prefix, path).is_ok(), passes, "{prefix} {path}");
    }
}

// spec: AG-05
#[test]
fn bounds_are_inclusive_and_lengths_count_characters() {
    check(
        json!({ "min": 0.5 }),
        &[json!(0.5), json!(1), json!(1e300)],
        &[json!(0.4), json!(-1), json!("1"), json!(null), json!([1])],
    );
    check(
        json!({ "max": 4 }),
        &[json!(4), json!(4.0), json!(-9)],
        &[json!(5), json!(4.000_001)],
    );
    check(
        json!({ "maxLength": 2 }),
        &[json!("👍👍"), json!("e\u{301}"), json!("")],
        &[json!("👍👍👍"), json!("abc"), json!("e\u{301}x"), json!(12)],
    );
    let both = rule(json!({ "min": 2, "max": 2 }));
    assert_eq!(both.check(&json!(2)), Ok(()));
    assert_eq!(both.check(&json!(3)), Err("max"));
}

#[test]
fn all_keys_of_a_rule_hold() {
    let both = rule(json!({ "prefix": "docs/", "pattern": ".*\\.md", "maxLength": 10 }));
    assert_eq!(both.check(&json!("docs/a.md")), Ok(()));
    assert_eq!(both.check(&json!("docs/a.txt")), Err("pattern"));
    assert_eq!(both.check(&json!("x/a.md")), Err("prefix"));
    assert_eq!(both.check(&json!("docs/aaaaaa.md")), Err("maxLength"));
}

#[test]
fn an_address_must_be_on_a_named_host() {
    let names = [
        "developers.cloudflare.com",
        "*.example.com",
        "b\u{fc}cher.example",
    ];
    let hosts = AllowedHosts::new(&names.map(str::to_owned)).unwrap();
    for address in [
        "https://developers.cloudflare.com/workers/?a=b#c",
        "HTTPS://Developers.CloudFlare.COM",
        "https://developers.cloudflare.com:443/",
        "https://developers.cloudflare.com./",
        "https://a.example.com/",
        "https://a.b.example.com/@x",
        "https://b\u{fc}cher.example/",
        "https://B\u{dc}CHER.example/",
        "https://xn--bcher-kva.example/",
    ] {
        assert!(hosts.allows(address).is_ok(), "{address}");
    }
    for (address, error) in [
        ("https://cloudflare.com/", HostError::Host),
        (
            "https://developers.cloudflare.com.evil.example/",
            HostError::Host,
        ),
        ("https://xdevelopers.cloudflare.com/", HostError::Host),
        ("https://example.com/", HostError::Host),
        ("https://.example.com/", HostError::Host),
        ("https://evilexample.com/", HostError::Host),
        ("https://evil.example/#.example.com", HostError::Host),
        ("https://evil.example/?.example.com", HostError::Host),
        ("https://127.0.0.1/", HostError::Host),
        ("https://[::1]/", HostError::Host),
        ("https://2130706433/", HostError::Host),
        ("http://a.example.com/", HostError::Scheme),
        ("ftp://a.example.com/", HostError::Scheme),
        ("javascript://a.example.com/", HostError::Scheme),
        ("https://a.example.com:8443/", HostError::Port),
        ("https://a.example.com:80/", HostError::Port),
        ("https://user@a.example.com/", HostError::UserInfo),
        ("https://user:pw@a.example.com/", HostError::UserInfo),
        ("https://@a.example.com/", HostError::UserInfo),
        ("https://a.example.com@evil.example/", HostError::UserInfo),
        ("https://a.example.com\\@evil.example/", HostError::Address),
        ("https:\\\\a.example.com/", HostError::Address),
        ("https:/a.example.com/", HostError::Address),
        ("https:a.example.com", HostError::Address),
        ("//a.example.com/", HostError::Address),
        ("a.example.com", HostError::Address),
        ("", HostError::Address),
        ("https://", HostError::Address),
        ("https:///a.example.com/", HostError::Address),
        (" https://a.example.com/", HostError::Address),
        ("https://a.example.com/ x", HostError::Address),
        ("https://a.exam\tple.com/", HostError::Address),
        ("https://a.example.com\n/", HostError::Address),
        ("https://a%2eexample.com/", HostError::Address),
        ("https://%61.example.com/", HostError::Address),
        ("https://ａ.example.com/", HostError::Address),
        ("https://a.example。com/", HostError::Address),
        (
            "https://a.example.com\u{ff0f}@evil.example/",
            HostError::UserInfo,
        ),
    ] {
        assert_eq!(hosts.allows(address), Err(error), "{address:?}");
    }
    let url = hosts.allows("https://A.example.com.:443/x/../y").unwrap();
    assert_eq!(url.as_str(), "https://a.example.com/y");
}

#[test]
fn only_host_names_are_hosts() {
    for host in [
        "https://example.com",
        "example.com/",
        "example.com:443",
        "*",
        "*.com",
        "a.*.com",
        "**.example.com",
        "user@example.com",
        "",
        ".",
        ".example.com",
        "example.com.",
        "ex ample.com",
        "*.1.2.3.4",
        "*.",
        "a..b",
    ] {
        assert_eq!(broken(json!({ "hosts": [host] })), ["hosts/0"], "{host}");
    }
    assert_eq!(broken(json!({ "hosts": [] })), ["hosts"]);
    assert_eq!(broken(json!({ "hosts": ["ok.example", "*"] })), ["hosts/1"]);
}

// spec: PL-04
#[test]
fn a_rule_that_can_match_nothing_is_refused() {
    for (document, keys) in [
        (json!({ "oneOf": [] }), vec!["oneOf"]),
        (json!({ "min": 2, "max": 1 }), vec!["min"]),
        (json!({ "prefix": "" }), vec!["prefix"]),
        (json!({ "prefix": "../x" }), vec!["prefix"]),
        (json!({ "prefix": "a//b" }), vec!["prefix"]),
        (json!({ "prefix": "%64ocs/" }), vec!["prefix"]),
        (json!({ "prefix": "ｄocs/" }), vec!["prefix"]),
        (json!({ "prefix": "docs/%ff" }), vec!["prefix"]),
        (
            json!({ "prefix": "docs/", "maxLength": 4 }),
            vec!["maxLength"],
        ),
        (json!({ "min": 1, "pattern": "a" }), vec!["min"]),
        (
            json!({ "oneOf": ["docs/a", "x/b"], "prefix": "docs/" }),
            vec!["oneOf/1"],
        ),
        (json!({ "oneOf": [1, 9], "max": 5 }), vec!["oneOf/1"]),
        (
            json!({ "pattern": "(", "min": 2, "max": 1, "hosts": [] }),
            vec!["pattern", "hosts", "min"],
        ),
    ] {
        assert_eq!(broken(document.clone()), keys, "{document}");
    }
}

/// Which rule refuses, and where.
fn refusals(rules: Value, is_closed: bool, args: Value) -> Vec<(String, &'static str)> {
    let compiled = rules
        .as_object()
        .unwrap()
        .iter()
        .map(|(at, document)| (ArgumentPath::parse(at).unwrap(), rule(document.clone())));
    let rules = ArgumentRules::new(compiled.collect(), is_closed);
    let found = rules.check(args.as_object().unwrap());
    found
        .into_iter()
        .map(|refusal| (refusal.path, refusal.rule))
        .collect()
}

fn at<'f>(found: &'f [(String, &'static str)]) -> Vec<(&'f str, &'static str)> {
    found
        .iter()
        .map(|(path, rule)| (path.as_str(), *rule))
        .collect()
}

// spec: AG-06
#[test]
fn what_is_not_there_passes_only_if_it_is_optional() {
    let strict = json!({ "/a/*/n": { "max": 5 } });
    for (args, place) in [
        (json!({}), "/a"),
        (json!({ "a": [] }), "/a/*"),
        (json!({ "a": {} }), "/a/*"),
        (json!({ "a": 1 }), "/a/*"),
        (json!({ "a": null }), "/a/*"),
        (json!({ "a": "x" }), "/a/*"),
        (json!({ "a": [{}] }), "/a/0/n"),
        (json!({ "a": [{ "n": 1 }, {}] }), "/a/1/n"),
        (json!({ "a": [{ "n": 1 }, 7] }), "/a/1/n"),
        (json!({ "a": { "k": [1] } }), "/a/k/n"),
    ] {
        let found = refusals(strict.clone(), false, args.clone());
        assert_eq!(at(&found), [(place, "optional")], "{args}");
        let optional = json!({ "/a/*/n": { "max": 5, "optional": true } });
        assert_eq!(refusals(optional, false, args.clone()), [], "{args}");
    }
    assert_eq!(
        at(&refusals(
            json!({ "path": { "prefix": "docs/" } }),
            false,
            json!({})
        )),
        [("/path", "optional")]
    );
    let optional = json!({ "path": { "prefix": "docs/", "optional": true } });
    assert_eq!(refusals(optional.clone(), false, json!({})), []);
    assert_eq!(
        at(&refusals(optional.clone(), false, json!({ "path": null }))),
        [("/path", "prefix")]
    );
    assert_eq!(
        at(&refusals(optional, false, json!({ "path": "x" }))),
        [("/path", "prefix")]
    );
    assert_eq!(
        at(&refusals(json!({ "a": {} }), false, json!({}))),
        [("/a", "optional")]
    );
    assert_eq!(
        refusals(json!({ "a": {} }), false, json!({ "a": null })),
        []
    );
}

#[test]
fn a_pointer_selects_every_element() {
    let labels = json!({ "/labels/*": { "pattern": "[a-z-]+" } });
    assert_eq!(
        refusals(labels.clone(), false, json!({ "labels": ["bug", "ui"] })),
        []
    );
    let found = refusals(labels.clone(), false, json!({ "labels": ["bug", "UI", 3] }));
    assert_eq!(
        at(&found),
        [("/labels/1", "pattern"), ("/labels/2", "pattern")]
    );
    let found = refusals(labels, false, json!({ "labels": { "a/b": "X" } }));
    assert_eq!(at(&found), [("/labels/a~1b", "pattern")]);
    let index = json!({ "/a/1": { "oneOf": ["x"] } });
    assert_eq!(
        refusals(index.clone(), false, json!({ "a": ["y", "x"] })),
        []
    );
    assert_eq!(
        at(&refusals(index.clone(), false, json!({ "a": ["y"] }))),
        [("/a/1", "optional")]
    );
    assert_eq!(refusals(index, false, json!({ "a": { "1": "x" } })), []);
    let leading = json!({ "/a/01": { "oneOf": ["x"] } });
    assert_eq!(
        at(&refusals(leading, false, json!({ "a": ["y", "x"] }))),
        [("/a/01", "optional")]
    );
    let escaped = json!({ "/a~1b/~0": { "max": 1 } });
    assert_eq!(
        at(&refusals(escaped, false, json!({ "a/b": { "~": 2 } }))),
        [("/a~1b/~0", "max")]
    );
    let every = json!({ "/*": { "maxLength": 2 } });
    assert_eq!(
        at(&refusals(
            every.clone(),
            false,
            json!({ "a": "xx", "b": "xxx" })
        )),
        [("/b", "maxLength")]
    );
    assert_eq!(at(&refusals(every, false, json!({}))), [("/*", "optional")]);
    for text in ["", "/a~", "/a~2", &"/x".repeat(65)] {
        assert!(ArgumentPath::parse(text).is_none(), "{text}");
    }
    assert_eq!(ArgumentPath::parse("/").unwrap().segments(), [""]);
}

#[test]
fn other_arguments_can_be_refused_to_the_leaf() {
    let rules =
        json!({ "/meta/name": {}, "/list/*/n": { "optional": true }, "top": { "optional": true } });
    let args = json!({
        "meta": { "name": "x", "extra": 1 },
        "list": [{ "n": 1 }, { "n": 1, "m": { "deep": 2 } }, 5],
        "top": { "any": ["thing"] },
        "other": null,
    });
    assert_eq!(
        at(&refusals(rules.clone(), true, args.clone())),
        [
            ("/meta/extra", "otherArgs"),
            ("/list/1/m", "otherArgs"),
            ("/list/2", "otherArgs"),
            ("/other", "otherArgs"),
        ]
    );
    assert_eq!(refusals(rules, false, args), []);
    assert_eq!(
        at(&refusals(json!({}), true, json!({ "a": 1 }))),
        [("/a", "otherArgs")]
    );
    let many: Map<_, _> = (0..100).map(|n| (n.to_string(), json!(n))).collect();
    assert_eq!(refusals(json!({}), true, Value::Object(many)).len(), 16);
}

/// Resolves a path as a careless tool might: decoded twice, trimmed, backslashes turned.
fn careless(path: &str) -> Vec<String> {
    let decode = |text: &str| {
        text.replace("%2e", ".")
            .replace("%2f", "/")
            .replace("%5c", "\\")
            .replace("%25", "%")
    };
    let text = decode(&decode(path)).replace('\\', "/").replace('．', ".");
    let mut stack: Vec<String> = Vec::new();
    for segment in text.split('/') {
        match segment.trim() {
            "" | "." => {}
            ".." => {
                stack.pop();
            }
            name => stack.push(name.to_owned()),
        }
    }
    stack
}

proptest! {
    #[test]
    fn no_accepted_path_leaves_the_prefix(tail in r"(\.|\.\.|/|\\|a|%2e|%252e|%2f|%5c|%25| |．){0,12}") {
        let path = format!("docs/{tail}");
        if check_path("docs/", &path).is_ok() {
            let reached = careless(&path);
            prop_assert_eq!(reached.first().map(String::as_str), Some("docs"));
        }
    }

    #[test]
    fn plain_paths_below_the_prefix_pass(tail in "[a-z0-9_-]{1,8}(/[a-z0-9_-]{1,8}(\\.[a-z]{1,3})?){0,4}") {
        let path = format!("docs/{}", tail);
        prop_assert_eq!(check_path("docs/", &path), Ok(()));
    }

    #[test]
    fn an_allowed_address_is_on_the_host(address in r"(https|http|HTTPS)?:?[/\\]{0,3}[a-z.@:%0-9\\#?/-]{0,12}ok\.example[a-z.@:%0-9\\#?/-]{0,8}") {
        let hosts = AllowedHosts::new(&["ok.example".to_owned()]).unwrap();
        if let Ok(url) = hosts.allows(&address) {
            prop_assert_eq!(url.host_str(), Some("ok.example"));
            prop_assert_eq!(url.scheme(), "https");
            prop_assert_eq!(url.port_or_known_default(), Some(443));
            prop_assert!(address.to_ascii_lowercase().starts_with("https://ok.example"));
        }
    }
}
