//! Values that a label in the text declares a secret: `password: …`, `"api_key": "…"`.

use std::ops::Range;

use super::Hit;
use super::credential::is_masked;
use crate::field::{Label, label};
use crate::marker;
use crate::text::{byte, byte_before, char_at, floor, run, run_before, slice};

/// The words that a label ends with, as they may be spelt.
pub(super) const TRIGGERS: &[&str] = &[
    "password",
    "passwd",
    "passphrase",
    "passcode",
    "pwd",
    "_pass",
    "passwort",
    "kennwort",
    "contraseña",
    "contrasena",
    "senha",
    "wachtwoord",
    "пароль",
    "Пароль",
    "密码",
    "密碼",
    "パスワード",
    "비밀번호",
    "private_key",
    "private-key",
    "private key",
    "privatekey",
    "signing_key",
    "signing-key",
    "signingkey",
    "encryption_key",
    "encryption-key",
    "encryptionkey",
    "access_key",
    "access-key",
    "access key",
    "accesskey",
    "account_key",
    "accountkey",
    "secret_key",
    "secret-key",
    "secret key",
    "secretkey",
    "master_key",
    "masterkey",
    "api_key",
    "api-key",
    "api key",
    "apikey",
    "auth_key",
    "authkey",
    "app_key",
    "appkey",
    "license_key",
    "subscription_key",
    "subscription-key",
    "credential",
    "credentials",
    "creds",
    "token",
    "secret",
];

/// How a value is joined to its label.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Joint {
    Colon,
    /// `=` with nothing round it.
    Tight,
    Equals,
    /// `--password VALUE`.
    Flag,
    /// `password is VALUE`.
    Is,
    /// `<password>VALUE</password>`.
    Element,
}

/// The value of the label whose last word is at `start..end`.
pub(super) fn value(text: &str, start: usize, end: usize) -> Option<Hit> {
    let name_start = floor(text, start - run_before(text, start, LONGEST_NAME, is_name));
    let name_end = end + run(text, end, 3, |b| b.is_ascii_digit());
    let next = byte(text, name_end);
    if next.is_ascii_alphanumeric() || next == b'_' {
        return None;
    }
    let label = label(slice(text, name_start..name_end))?;
    let (joint, at) = joint(text, name_start, name_end, label)?;
    let found = read(text, at, joint)?;
    let plausible = plausible(text, label, joint, &found);
    // An element is known by the marks round its name and after its value.
    let mark = usize::from(joint == Joint::Element);
    plausible.then_some(Hit {
        rule: label.rule,
        from: name_start - mark,
        until: found.span.end + mark,
        span: found.span,
    })
}

/// Finds the separator after a label: what it is, and where the value begins.
fn joint(text: &str, name_start: usize, name_end: usize, label: Label) -> Option<(Joint, usize)> {
    let blank = |b: u8| b == b' ' || b == b'\t';
    if byte(text, name_end) == b'>' && matches!(byte_before(text, name_start), b'<' | b':') {
        return Some((Joint::Element, name_end + 1));
    }
    let closed = name_end + run(text, name_end, 4, |b| b"\\\"'`*".contains(&b));
    let closed = closed + usize::from(closed > name_end && byte(text, closed) == b']');
    let at = closed + run(text, closed, 12, blank);
    let rest = text.get(at..)?;
    let after = |length: usize| at + length + run(text, at + length, 12, |b| blank(b) || b == b'*');
    let colon = if rest.starts_with(":=") || rest.starts_with("=>") {
        Some((Joint::Equals, after(2)))
    } else if rest.starts_with("==") || rest.starts_with("=~") || rest.starts_with("::") {
        return None;
    } else if rest.starts_with('：') {
        Some((Joint::Colon, after(3)))
    } else if rest.starts_with(':') {
        Some((Joint::Colon, after(1)))
    } else if rest.starts_with('=') {
        let tight = at == name_end && after(1) == at + 1;
        Some((if tight { Joint::Tight } else { Joint::Equals }, after(1)))
    } else {
        None
    };
    if let Some((joint, at)) = colon {
        return Some((
            joint,
            skip_type(text, next_line(text, at, joint, label), joint),
        ));
    }
    if at == closed || closed > name_end {
        return None;
    }
    if slice(text, name_start..name_start + 2) == "--" {
        return Some((Joint::Flag, at));
    }
    let is = ["is ", "was ", "ist ", "est ", "es "]
        .iter()
        .find(|word| rest.starts_with(**word))?;
    let at = at + is.len();
    let at = at
        + if slice(text, at..at + 2) == ": " {
            2
        } else {
            0
        };
    label.strong.then_some((Joint::Is, at))
}

/// A strong label may stand on a line of its own, before the line that holds the value.
fn next_line(text: &str, at: usize, joint: Joint, label: Label) -> usize {
    if joint != Joint::Colon || !label.strong {
        return at;
    }
    let line = run(text, at, 2, |b| b == b'\n' || b == b'\r');
    if line == 0 || slice(text, at..at + line) == "\n\n" {
        return at;
    }
    at + line + run(text, at + line, 12, |b| b == b' ' || b == b'\t')
}

/// Steps over a declared type: `password: str = "…"`.
fn skip_type(text: &str, at: usize, joint: Joint) -> usize {
    if joint != Joint::Colon {
        return at;
    }
    let name = run(text, at, 32, |b| {
        b.is_ascii_alphanumeric() || b"&'_<>[]?.".contains(&b)
    });
    let gap = run(text, at + name, 4, |b| b == b' ');
    let sign = at + name + gap;
    if name == 0 || gap == 0 || byte(text, sign) != b'=' || byte(text, sign + 1) == b'=' {
        return at;
    }
    sign + 1 + run(text, sign + 1, 4, |b| b == b' ')
}

struct Found {
    span: Range<usize>,
    quoted: bool,
}

/// Reads a value up to its closing quote, or to the end of the word.
fn read(text: &str, at: usize, joint: Joint) -> Option<Found> {
    if joint == Joint::Element {
        let length = run(text, at, LONGEST_VALUE, |b| b != b'<' && b != b'\n');
        let span = at..floor(text, at + length);
        return (byte(text, span.end) == b'<').then_some(Found { span, quoted: true });
    }
    // Prefixes of string literals: r"…", b'…', @"…".
    let prefix = run(text, at, 2, |b| b"rRbBuU@L".contains(&b));
    let at = if matches!(byte(text, at + prefix), b'"' | b'\'') {
        at + prefix
    } else {
        at
    };
    let escapes = run(text, at, 4, |b| b == b'\\');
    let quote = byte(text, at + escapes);
    if !matches!(quote, b'"' | b'\'' | b'`') {
        let end = at + word(text, at);
        return Some(Found {
            span: at..end,
            quoted: false,
        });
    }
    let triple = run(text, at + escapes, 3, |b| b == quote);
    if triple == 2 {
        return None;
    }
    let open = at + escapes + triple;
    let mut end = open;
    let bytes = text.as_bytes();
    while end < open + LONGEST_VALUE {
        match bytes.get(end).copied() {
            None | Some(b'\n') => break,
            Some(b'\\') => {
                let slashes = run(text, end, 8, |b| b == b'\\');
                if byte(text, end + slashes) == quote && slashes <= escapes {
                    break;
                }
                end += slashes + usize::from(slashes % 2 == 1 && escapes == 0);
            }
            Some(b) if b == quote => break,
            Some(_) => end += 1,
        }
    }
    let end = floor(text, end.min(text.len()));
    Some(Found {
        span: open..end,
        quoted: true,
    })
}

/// How long the unquoted word at `at` is.
fn word(text: &str, at: usize) -> usize {
    let start = at;
    let mut at = at;
    let mut open = 0_usize;
    while at < start + LONGEST_VALUE {
        let Some(c) = char_at(text, at) else { break };
        match c {
            '[' if marker::end(text, at).is_some() => {
                at = marker::end(text, at).unwrap_or(at + 1);
                continue;
            }
            c if c.is_whitespace() => {
                let scheme = ["bearer", "basic", "token"];
                if at > start
                    && scheme
                        .iter()
                        .any(|s| s.eq_ignore_ascii_case(slice(text, start..at)))
                {
                    at += 1;
                    continue;
                }
                break;
            }
            '"' | '`' | '<' | '>' | '，' | '。' | '；' => break,
            '\'' if ends(text, at + 1) => break,
            '\\' if matches!(byte(text, at + 1), b'n' | b'r' | b't' | b'"') => break,
            '(' | '[' | '{' => open += 1,
            ')' | ']' | '}' if open == 0 => break,
            ')' | ']' | '}' => open -= 1,
            ',' | ';' | '&' if ends(text, at + 1) => break,
            _ => {}
        }
        at += c.len_utf8();
    }
    let found = slice(text, start..at);
    found
        .trim_end_matches(['.', ',', ';', ':', '!', '?', '*', '|'])
        .len()
}

/// Whether what follows a separator is the end, a blank, a quote or the next `name=`.
fn ends(text: &str, at: usize) -> bool {
    let next = byte(text, at);
    if next == 0 || next.is_ascii_whitespace() || b"\"'`)}]\\,;".contains(&next) {
        return true;
    }
    let name = run(text, at, 40, is_name);
    name > 0 && matches!(byte(text, at + name), b'=' | b':')
}

/// Whether a value is a secret rather than prose, code or a placeholder.
fn plausible(text: &str, label: Label, joint: Joint, found: &Found) -> bool {
    let value = slice(text, found.span.clone());
    let trimmed = value.trim();
    let unmarked = marker::skip(trimmed).trim_matches(|c: char| c.is_ascii_punctuation());
    if unmarked.is_empty() || is_masked(trimmed) || is_placeholder(trimmed) {
        return false;
    }
    if matches!(trimmed.as_bytes(), [b'/' | b'~', ..]) && label.strong {
        // A path: PWD, or where a password is kept.
        return false;
    }
    let digit = trimmed.bytes().any(|b| b.is_ascii_digit());
    let upper = trimmed.bytes().any(|b| b.is_ascii_uppercase());
    let lower = trimmed.bytes().any(|b| b.is_ascii_lowercase());
    let symbol = trimmed
        .bytes()
        .any(|b| b.is_ascii_punctuation() && !b"_-.".contains(&b));
    let words = trimmed.split_whitespace().count();
    if found.quoted {
        if joint == Joint::Is {
            return true;
        }
        let capital = trimmed.chars().next().is_some_and(char::is_uppercase);
        return if label.strong {
            words == 1 || !(capital || words > 5 || has_prose(trimmed))
        } else {
            words == 1 && trimmed.len() >= 6 && (digit || upper && lower || trimmed.len() >= 20)
                || words == 1 && trimmed.len() >= 6 && symbol
        };
    }
    if is_code(text, found) {
        return false;
    }
    let after = slice(text, found.span.end..text.len());
    let after = after.trim_start_matches(['.', ',', ';', ':', '*', '|']);
    let alone = after.trim_start_matches([' ', '\t', '\r']);
    let alone = alone.is_empty() || alone.starts_with('\n');
    let listed = byte(text, found.span.end) == b',' || byte(text, found.span.end) == b';';
    let version = !label.strong && trimmed.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    if version && trimmed.contains('.') {
        return false;
    }
    let humps = upper && lower && !is_capitalised(trimmed);
    // In a list, letters alone are the name of a variable.
    let named = listed && !label.strong && trimmed.bytes().all(|b| b.is_ascii_alphabetic());
    let strange = digit || symbol || humps && !named;
    let long = trimmed.len() >= 20 && !named && !trimmed.contains(['_', '-', '.']);
    if byte(text, found.span.end) == b':' && joint == Joint::Colon && !strange {
        // The next key of a nested document.
        return false;
    }
    match joint {
        Joint::Tight | Joint::Flag | Joint::Element => {
            label.strong || strange || trimmed.len() >= 3 && !listed
        }
        Joint::Is => strange && trimmed.len() >= 4,
        Joint::Colon | Joint::Equals if label.strong => {
            strange || !listed && !has_prose(trimmed) && (alone || !is_prose_after(after))
        }
        Joint::Colon | Joint::Equals => {
            trimmed.len() >= 4
                && (digit && trimmed.len() >= 6 || strange && trimmed.len() >= 8 || long)
                || alone
                    && !listed
                    && trimmed.len() >= 4
                    && joint == Joint::Colon
                    && !is_capitalised(trimmed)
        }
    }
}

/// Calls, paths of names, variables and types.
fn is_code(text: &str, found: &Found) -> bool {
    let value = marker::skip(slice(text, found.span.clone()));
    let first = value.chars().next().unwrap_or(' ');
    let second = value.chars().nth(1).unwrap_or(' ');
    let names = |b: u8| b.is_ascii_alphanumeric() || b"_.:>-".contains(&b);
    let name = run(value, 0, value.len(), names);
    let called = name > 0 && matches!(byte(value, name), b'(' | b'[') && first.is_alphabetic();
    let dotted = value.contains('.')
        && value.split('.').all(|part| {
            let letters = part.bytes().all(|b| b.is_ascii_alphabetic() || b == b'_');
            letters && !part.is_empty()
        });
    let spread = value.starts_with("...") || value.starts_with("->");
    let variable = matches!(first, '$' | '&' | '@' | '%' | '{' | '|' | '(' | '[')
        && (second.is_alphabetic() || matches!(second, '{' | '(' | '_' | '$' | ' ' | '\'' | '"'));
    let scalar = matches!(value, "|" | ">" | "|-" | ">-" | "{" | "[" | "(");
    called || dotted || spread || variable || scalar
}

fn is_placeholder(value: &str) -> bool {
    let lower = value.to_ascii_lowercase();
    let lower = lower.as_str();
    NOTHING.contains(&lower)
        || ["${", "{{", "<", "%(", "$(", "#{", "@{", "__"]
            .iter()
            .any(|open| value.starts_with(open))
        || value.starts_with('$')
            && value
                .bytes()
                .skip(1)
                .all(|b| b.is_ascii_uppercase() || b == b'_')
        || value.len() > 2 && value.starts_with('%') && value.ends_with('%')
        || lower.starts_with("your") && lower.contains(['_', '-', ' '])
}

fn is_capitalised(value: &str) -> bool {
    let mut chars = value.chars();
    chars.next().is_some_and(char::is_uppercase) && chars.all(|c| c.is_lowercase() || c == '.')
}

fn has_prose(value: &str) -> bool {
    value.split_whitespace().any(|word| {
        let word = word
            .trim_matches(|c: char| !c.is_alphanumeric())
            .to_ascii_lowercase();
        PROSE.contains(&word.as_str())
    })
}

/// Whether text goes on with lower-case words, as a sentence does.
fn is_prose_after(after: &str) -> bool {
    let word = after.trim_start_matches([' ', '\t']);
    let word = word
        .split(|c: char| !c.is_alphabetic())
        .next()
        .unwrap_or_default();
    PROSE.contains(&word.to_ascii_lowercase().as_str()) && !matches!(word, "and" | "or" | "for")
}

fn is_name(b: u8) -> bool {
    b.is_ascii_alphanumeric() || b == b'_' || b == b'-' || b == b'.'
}

/// Values that stand for no value, and types.
const NOTHING: &[&str] = &[
    "true",
    "false",
    "null",
    "none",
    "nil",
    "undefined",
    "empty",
    "string",
    "str",
    "bool",
    "int",
    "number",
    "any",
    "object",
    "bytes",
    "optional",
    "required",
    "text",
    "password",
    "secret",
    "token",
    "key",
    "hidden",
    "yes",
    "no",
    "n/a",
    "removed",
    "redacted",
    "unset",
    "changeme",
    "function",
    "return",
    "await",
    "new",
    "self",
    "this",
    "const",
    "let",
    "var",
    "public",
    "private",
    "static",
    "void",
    "option",
    "char",
    "varchar",
    "type",
    "default",
    "invalid",
    "incorrect",
    "wrong",
    "missing",
    "expired",
    "ok",
    "failed",
    "unknown",
];

const PROSE: &[&str] = &[
    "a", "an", "the", "must", "is", "was", "are", "be", "should", "may", "can", "will", "your",
    "you", "to", "of", "for", "and", "or", "not", "in", "on", "if", "it", "this", "that", "with",
    "enter", "please", "from", "by", "used", "which", "when", "at", "as", "has", "have", "use",
    "see", "same",
];

const LONGEST_NAME: usize = 64;
const LONGEST_VALUE: usize = 16_384;
