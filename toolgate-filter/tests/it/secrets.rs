//! Credentials, by their look and by their label.

use toolgate_filter::{Kind, Settings, clean_text};

use crate::{check, cleaned, keeps, rules};

/// `length` characters of base32, so that no real credential stands in this file.
fn body(length: usize) -> String {
    "abcdefghijklmnopqrstuvwxyz234567"
        .chars()
        .cycle()
        .take(length)
        .collect()
}

// spec: FI-02
#[test]
fn private_keys_go_as_a_block() {
    for name in ["RSA ", "EC ", "OPENSSH ", "ENCRYPTED ", "DSA ", ""] {
        let key =
            format!("-----BEGIN {name}PRIVATE KEY-----\nMIIEow==\n-----END {name}PRIVATE KEY-----");
        check(
            &format!("before\n{key}\nafter"),
            "before\n[redacted:private-key]\nafter",
        );
        // In one line, with line ends spelt out, as JSON carries it.
        let escaped = key.replace('\n', "\\n");
        check(
            &format!("k={escaped} after"),
            "k=[redacted:private-key] after",
        );
    }
    check(
        "-----BEGIN PGP PRIVATE KEY BLOCK-----\nx\n-----END PGP PRIVATE KEY BLOCK-----!",
        "[redacted:private-key]!",
    );
}

// spec: FI-02
#[test]
fn a_private_key_without_an_end_goes_to_the_end_of_the_text() {
    check(
        "a -----BEGIN RSA PRIVATE KEY-----\nMIIE\nand more",
        "a [redacted:private-key]",
    );
    check(
        "-----BEGIN EC PRIVATE KEY-----\nx\n-----END CERTIFICATE-----\ny",
        "[redacted:private-key]",
    );
    keeps("-----BEGIN CERTIFICATE-----\nMIIE\n-----END CERTIFICATE-----");
    keeps("-----BEGIN PUBLIC KEY-----\nMIIE\n-----END PUBLIC KEY-----");
}

// spec: FI-03
#[test]
fn known_formats_go_and_near_misses_stay() {
    let upper = "IOSFODNN7EXAMPLE";
    let cases = [
        (
            format!("AKIA{upper}"),
            format!("AKIA{}", &upper[1..]),
            "aws-key-id",
        ),
        (
            format!("ASIA{upper}"),
            format!("ASIA{upper}Q"),
            "aws-key-id",
        ),
        (
            format!("ghp_{}", body(36)),
            format!("ghp_{}", body(35)),
            "github-token",
        ),
        (
            format!("gho_{}", body(36)),
            format!("gho_{}", body(35)),
            "github-token",
        ),
        (
            format!("ghu_{}", body(36)),
            format!("ghu_{}", body(35)),
            "github-token",
        ),
        (
            format!("ghs_{}", body(36)),
            format!("ghs_{}", body(35)),
            "github-token",
        ),
        (
            format!("ghr_{}", body(36)),
            format!("ghr_{}", body(35)),
            "github-token",
        ),
        (
            format!("github_pat_{}", body(82)),
            format!("github_pat_{}", body(20)),
            "github-token",
        ),
        (
            format!("xoxb-1234-{}", body(12)),
            "xoxb-your-token-here".to_owned(),
            "slack-token",
        ),
        (
            format!("xoxa-2-{}", body(12)),
            "xoxa-2".to_owned(),
            "slack-token",
        ),
        (
            format!("xoxp-1-{}", body(12)),
            "xoxp-1".to_owned(),
            "slack-token",
        ),
        (
            format!("xoxo-1-{}", body(12)),
            "xoxo-1".to_owned(),
            "slack-token",
        ),
        (
            format!("xoxs-1-{}", body(12)),
            "xoxs-1".to_owned(),
            "slack-token",
        ),
        (
            format!("xoxr-1-{}", body(12)),
            "xoxr-1".to_owned(),
            "slack-token",
        ),
        (
            format!("xapp-1-{}", body(12)),
            "xapp-ui".to_owned(),
            "slack-token",
        ),
        (
            format!("sk_live_{}", body(24)),
            format!("sk_live_{}", body(6)),
            "stripe-key",
        ),
        (
            format!("rk_test_{}", body(24)),
            format!("risk_test_{}", body(24)),
            "stripe-key",
        ),
        (
            format!("npm_{}", body(36)),
            format!("npm_{}", body(37)),
            "npm-token",
        ),
        (
            format!("AIza{}", body(35)),
            format!("AIza{}", body(34)),
            "google-key",
        ),
        (
            format!("glpat-{}2", body(20)),
            format!("glpat-{}", body(10)),
            "gitlab-token",
        ),
    ];
    for (hit, miss, word) in cases {
        for (before, after) in [
            ("", ""),
            ("key ", "."),
            ("\"", "\""),
            ("说", "好"),
            ("?a=", "&b=1"),
            ("%3D", ""),
        ] {
            let expected = format!("{before}[redacted:{word}]{after}");
            check(&format!("{before}{hit}{after}"), &expected);
        }
        keeps(&format!("see {miss} there"));
    }
}

// spec: FI-03
#[test]
fn a_web_token_needs_three_parts_and_a_json_header() {
    let token = "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJl";
    check(&format!("t {token}."), "t [redacted:jwt].");
    check(
        &format!("https://x.test/?t={token}&u=1"),
        "https://x.test/?t=[redacted:jwt]&u=1",
    );
    check(&format!("日本{token}日本"), "日本[redacted:jwt]日本");
    keeps("eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxMjM0In0");
    keeps("eyJub3QganNvbg.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJl");
}

// spec: FI-04 KY-06
#[test]
fn keys_of_the_gate_need_their_exact_length() {
    for (prefix, word) in [
        ("tg_", "toolgate-key"),
        ("tga_", "operator-token"),
        ("ths_", "session-handle"),
    ] {
        check(
            &format!("Key: {prefix}{}", body(32)),
            &format!("Key: [redacted:{word}]"),
        );
        check(
            &format!("{{\"k\":\"{prefix}{}\"}}", body(32)),
            &format!("{{\"k\":\"[redacted:{word}]\"}}"),
        );
        keeps(&format!("{prefix}{}", body(31)));
        keeps(&format!("{prefix}{}", body(33)));
        keeps(&format!("{prefix}{}1", body(31)));
        keeps(&format!("a{prefix}{}", body(32)));
    }
}

// spec: FI-05
#[test]
fn the_value_of_a_label_goes_and_the_label_stays() {
    let cases = [
        ("password: hunter2", "password: [redacted:password]"),
        ("Password = hunter2", "Password = [redacted:password]"),
        ("PASSWD=hunter2\n", "PASSWD=[redacted:password]\n"),
        ("pwd:'hunter 2'", "pwd:'[redacted:password]'"),
        (
            "passphrase: \"correct horse battery staple\"",
            "passphrase: \"[redacted:password]\"",
        ),
        (
            "my password is hunter2.",
            "my password is [redacted:password].",
        ),
        ("**Password:** hunter2", "**Password:** [redacted:password]"),
        (
            "Password:\n  swordfish\n",
            "Password:\n  [redacted:password]\n",
        ),
        (
            "{\"password\": \"hunter2\"}",
            "{\"password\": \"[redacted:password]\"}",
        ),
        (
            "{\\\"password\\\":\\\"hunter2\\\"}",
            "{\\\"password\\\":\\\"[redacted:password]\\\"}",
        ),
        (
            "{'password': 'hun\\'ter2'}",
            "{'password': '[redacted:password]'}",
        ),
        (
            "<password>hunter2</password>",
            "<password>[redacted:password]</password>",
        ),
        (
            "login --password hunter2 -v",
            "login --password [redacted:password] -v",
        ),
        ("secret: hunter2", "secret: [redacted:secret]"),
        (
            "client_secret=abc123def&x=1",
            "client_secret=[redacted:secret]&x=1",
        ),
        ("token: 9f8e7d6c", "token: [redacted:token]"),
        (
            "https://x.test/?access_token=abc123def",
            "https://x.test/?access_token=[redacted:token]",
        ),
        ("api_key: \"abc123def\"", "api_key: \"[redacted:api-key]\""),
        ("API-Key: abc123def", "API-Key: [redacted:api-key]"),
        ("apiKey = 'abc123def'", "apiKey = '[redacted:api-key]'"),
        ("access_key=abc123def", "access_key=[redacted:access-key]"),
        (
            "aws_secret_access_key = wJalrXUtnFEMI/K7MDENG",
            "aws_secret_access_key = [redacted:access-key]",
        ),
        ("DB_PASS=hunter2", "DB_PASS=[redacted:password]"),
        ("密码：hunter2", "密码：[redacted:password]"),
        (
            "user=a password=b1 host=c",
            "user=a password=[redacted:password] host=c",
        ),
        (
            "postgres://app:hunter2@db.test/x",
            "postgres://app:[redacted:password]@db.test/x",
        ),
        (
            "Authorization: Bearer 0123456789abcdef",
            "Authorization: Bearer [redacted:bearer-token]",
        ),
        (
            "Authorization: Basic dXNlcjpwYXNz",
            "Authorization: Basic [redacted:basic-auth]",
        ),
    ];
    for (text, expected) in cases {
        check(text, expected);
    }
}

// spec: FI-05
#[test]
fn prose_code_and_placeholders_are_no_values() {
    for text in [
        "Password: must be at least 8 characters",
        "the password is required",
        "password = os.environ[\"DB_PASSWORD\"]",
        "password: String,",
        "let token = next_token(input);",
        "token: &str",
        "password: ${DB_PASSWORD}",
        "password=$DB_PASSWORD",
        "password: <your password>",
        "password: ********",
        "\"password\": \"\"",
        "password: null",
        "nextPageToken: abc123def456",
        "max_tokens: 4096000",
        "password_file: /run/secrets/db1",
        "PWD=/home/ana",
        "if password == stored1 {",
        "secret_name: db-credentials-1",
        "if token != expected1 {",
        "Token: the next one to read",
        "tests pass: 12 fail: 3",
        "'@scope/auth-token': 6.0.0",
        "IssuerPrivateKey: exampleIssuerPrivateKey,",
        "Basic Authentication is off",
        "postgres://app:${PASSWORD}@db.test/x",
    ] {
        keeps(text);
    }
}

// spec: FI-03 FI-05
#[test]
fn findings_tell_rule_and_place_in_the_original() {
    let text = "é password: hunter2 and AKIAIOSFODNN7EXAMPLE";
    let findings = clean_text(text, &Settings::strict()).findings;
    let places: Vec<(&str, &str)> = findings
        .iter()
        .map(|f| (f.rule.as_ref(), &text[f.span.clone()]))
        .collect();
    assert_eq!(
        places,
        [
            ("password", "hunter2"),
            ("aws-key-id", "AKIAIOSFODNN7EXAMPLE")
        ]
    );
    let json = serde_json::to_string(&findings).unwrap();
    assert!(!json.contains("hunter2") && !json.contains("AKIA"));
}

// spec: FI-11
#[test]
fn a_marker_is_never_removed_again() {
    for text in [
        "password: [redacted:password]",
        "password: [redacted:password], next",
        "\"token\": \"[redacted:token]\"",
        "mysql://u:[redacted:password]@db",
        "[redacted:password]: 1",
        "Bearer [redacted:bearer-token]",
    ] {
        keeps(text);
    }
    // A marker in front does not protect what follows it.
    check(
        "password: [redacted:x]hunter2",
        "password: [redacted:password]",
    );
    let key = format!("[redacted:tg_{}]", body(32));
    assert_eq!(rules(&key, Kind::Secret), ["toolgate-key"]);
    assert!(!cleaned(&key).contains(&body(32)));
}

#[test]
fn half_a_marker_shields_no_secret() {
    for text in [
        "[redacted:password: hunter2",
        "[redacted:password = hunter2 ]",
    ] {
        let cleaned = clean_text(text, &Settings::strict()).value;
        assert!(!cleaned.contains("hunter2"), "{cleaned}");
    }
}
