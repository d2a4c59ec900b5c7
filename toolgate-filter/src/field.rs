//! Names of fields that hold a secret.

use crate::detect::seen;
use crate::rules::{RuleId, find};

/// What the name of a field says about its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Label {
    pub(crate) rule: RuleId,
    /// The value is a secret whatever it looks like; otherwise prose and code are told apart.
    pub(crate) strong: bool,
}

/// The label that a name carries as its last words: `password`, `DB_PASSWORD`, `clientSecret`.
pub(crate) fn label(name: &str) -> Option<Label> {
    if name.len() > LONGEST {
        return None;
    }
    let mut words: Vec<String> = Vec::new();
    let mut previous = ' ';
    for c in seen(name).chars() {
        if c.is_alphabetic() {
            let starts = !previous.is_alphabetic() || previous.is_lowercase() && c.is_uppercase();
            if starts {
                words.push(String::new());
            }
            if let Some(word) = words.last_mut() {
                word.extend(c.to_lowercase());
            }
        }
        previous = c;
    }
    let last = words.last()?.as_str();
    let before = words
        .len()
        .checked_sub(2)
        .and_then(|i| words.get(i))
        .map_or("", String::as_str);
    let found = NAMES.iter().find(|entry| {
        entry.names.iter().any(|name| match name.split_once(' ') {
            Some((first, second)) => {
                last == second && before == first
                    || last
                        .strip_suffix(second)
                        .is_some_and(|rest| rest.ends_with(first))
            }
            None if entry.strong && name.len() > 4 => last.ends_with(name),
            None => last == *name,
        })
    })?;
    let paging = words.iter().any(|word| NO_SECRET.contains(&word.as_str()));
    // An environment's `PWD` is a folder; `pass` alone counts tests.
    let bare = last == "pass" && words.len() < 2;
    (!paging && !bare).then_some(Label {
        rule: found.rule,
        strong: found.strong,
    })
}

struct Entry {
    rule: RuleId,
    names: &'static [&'static str],
    strong: bool,
}

const fn entry(id: &str, names: &'static [&'static str], strong: bool) -> Entry {
    Entry {
        rule: find(id),
        names,
        strong,
    }
}

static NAMES: &[Entry] = &[
    entry(
        "password",
        &[
            "password",
            "passwd",
            "passphrase",
            "passcode",
            "pwd",
            "pass",
            "passwort",
            "kennwort",
            "contraseña",
            "contrasena",
            "senha",
            "wachtwoord",
            "пароль",
            "密码",
            "密碼",
            "パスワード",
            "비밀번호",
        ],
        true,
    ),
    entry(
        "private-key",
        &["private key", "signing key", "encryption key", "ssh key"],
        false,
    ),
    entry(
        "access-key",
        &["access key", "account key", "secret key", "master key"],
        false,
    ),
    entry(
        "api-key",
        &[
            "api key",
            "auth key",
            "app key",
            "license key",
            "subscription key",
        ],
        false,
    ),
    entry("credential", &["credential", "credentials", "creds"], false),
    entry("token", &["token", "jwt"], false),
    entry("secret", &["secret"], false),
];

/// Words that make a token something to go on reading with, or a count.
const NO_SECRET: &[&str] = &[
    "page",
    "next",
    "previous",
    "prev",
    "continuation",
    "continue",
    "pagination",
    "cursor",
    "sync",
    "max",
    "min",
    "num",
    "eos",
    "bos",
    "pad",
    "unk",
    "mask",
    "stop",
    "cls",
    "sep",
    "start",
    "end",
    "special",
    "tokenizer",
    "has",
    "no",
    "is",
    "public",
];

const LONGEST: usize = 96;
