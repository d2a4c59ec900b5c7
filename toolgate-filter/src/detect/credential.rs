//! Credentials that can be told by their own look.

use data_encoding::{BASE64_NOPAD, BASE64URL_NOPAD};
use serde_json::Value;

use super::Hit;
use crate::marker;
use crate::rules::{RuleId, Set, Token};
use crate::text::{byte, byte_before, run, slice, starts_word};

/// A token whose prefix is at `start..end`.
pub(super) fn token(text: &str, start: usize, end: usize, token: &Token) -> Option<Hit> {
    if slice(text, start..end) != token.prefix || !starts_word(text, start) {
        return None;
    }
    let length = run(text, end, token.max + 1, |b| token.set.has(b));
    let mut close = end + length.min(token.max + 1);
    // A full stop or a pad sign after a token belongs to the sentence.
    if matches!(token.set, Set::Dotted) {
        while close > end && matches!(byte_before(text, close), b'.' | b'=' | b'~' | b'-') {
            close -= 1;
        }
    }
    let body = slice(text, end..close);
    if !(token.min..=token.max).contains(&body.len()) || byte(text, close).is_ascii_alphanumeric() {
        return None;
    }
    // Words joined by dashes are a name.
    let wordy = matches!(token.set, Set::Dashed | Set::Dotted | Set::Path | Set::Url);
    if wordy && !body.bytes().any(|b| b.is_ascii_digit()) {
        return None;
    }
    Some(Hit::new(token.rule, start..close))
}

/// A JSON Web Token: three parts in base64url, of which the first is a JSON object.
pub(super) fn jwt(text: &str, start: usize) -> Option<Hit> {
    let url = |b| Set::Url.has(b);
    if slice(text, start..start + 3) != "eyJ"
        || url(byte_before(text, start)) && !starts_word(text, start)
    {
        return None;
    }
    let header_end = start + run(text, start, LONGEST_HEADER, url);
    if byte(text, header_end) != b'.' {
        return None;
    }
    let header = BASE64URL_NOPAD
        .decode(slice(text, start..header_end).as_bytes())
        .ok()?;
    let header: Value = serde_json::from_slice(&header).ok()?;
    let members = header.as_object()?;
    let encrypted = members.contains_key("enc");
    let payload_end = header_end + 1 + run(text, header_end + 1, usize::MAX, url);
    if payload_end == header_end + 1 && !encrypted || byte(text, payload_end) != b'.' {
        return None;
    }
    let mut end = payload_end + 1 + run(text, payload_end + 1, usize::MAX, url);
    // Without a signature, the payload must show that it is one.
    if end == payload_end + 1 && !slice(text, header_end + 1..payload_end).starts_with("eyJ") {
        return None;
    }
    if encrypted {
        for _ in 0..2 {
            let more = if byte(text, end) == b'.' {
                run(text, end + 1, usize::MAX, url)
            } else {
                0
            };
            end += if more > 0 { more + 1 } else { 0 };
        }
    }
    Some(Hit::new(RuleId::JWT, start..end))
}

/// A private key in PEM or its relatives, to its end line or, without one, to the end of the text.
pub(super) fn armour(text: &str, start: usize, end: usize) -> Option<Hit> {
    let name = run(text, end, LONGEST_NAME, |b| {
        b.is_ascii_alphanumeric() || b == b' '
    });
    let label = slice(text, end..end + name).to_ascii_uppercase();
    if !label.contains("PRIVATE KEY") || !slice(text, end + name..text.len()).starts_with("----") {
        return None;
    }
    let mut from = end + name;
    while let Some(at) = text.get(from..).and_then(find_end) {
        let close = from + at;
        let name = run(text, close, LONGEST_NAME, |b| {
            b.is_ascii_alphanumeric() || b == b' '
        });
        let dashes = run(text, close + name, 5, |b| b == b'-');
        if slice(text, close..close + name)
            .to_ascii_uppercase()
            .contains("PRIVATE KEY")
            && dashes >= 4
        {
            return Some(Hit::new(RuleId::PRIVATE_KEY, start..close + name + dashes));
        }
        from = close;
    }
    Some(Hit::new(RuleId::PRIVATE_KEY, start..text.len()))
}

/// The place after the next `-----END ` or `---- END `.
fn find_end(rest: &str) -> Option<usize> {
    rest.match_indices("END ").find_map(|(at, word)| {
        let before = slice(rest, 0..at);
        (before.ends_with("-----") || before.ends_with("---- ")).then_some(at + word.len())
    })
}

/// The password in `scheme://user:password@host`.
pub(super) fn url_password(text: &str, start: usize, end: usize) -> Option<Hit> {
    if !byte_before(text, start).is_ascii_alphanumeric() {
        return None;
    }
    let part = |b: u8| {
        IN_AUTHORITY
            .get(usize::from(b))
            .is_some_and(|within| *within)
    };
    let authority = slice(text, end..end + run(text, end, LONGEST_AUTHORITY, part));
    let at = authority.rfind('@')?;
    let colon = slice(authority, 0..at).find(':')?;
    let (from, to) = (end + colon + 1, end + at);
    let password = text.get(from..to)?;
    let variable = password.starts_with(['$', '{', '[', '%'])
        && !password.starts_with("[redacted:")
        && password.ends_with(['}', ']', '%'])
        || password.starts_with("$");
    if password.is_empty() || marker::is_marker(password) || variable || is_masked(password) {
        return None;
    }
    Some(Hit {
        rule: RuleId::PASSWORD,
        span: from..to,
        from: start - 1,
        until: to + 1,
    })
}

/// The credentials after `Bearer` or `Basic`.
pub(super) fn scheme(text: &str, start: usize, end: usize, rule: RuleId) -> Option<Hit> {
    if !starts_word(text, start) || !matches!(byte(text, end), b' ' | b'+') {
        return None;
    }
    let from = end + run(text, end, 4, |b| b == b' ' || b == b'+');
    let part = |b: u8| b.is_ascii_alphanumeric() || b"-._~+/=".contains(&b);
    let to = from + run(text, from, LONGEST_SCHEME, part);
    let value = text.get(from..to)?.trim_end_matches('.');
    let secret = if rule == RuleId::BASIC_AUTH {
        // `user:password` in base64: padded to a multiple of four, and hardly ever lower case.
        let base64 = |b: u8| b.is_ascii_alphanumeric() || b"+/=".contains(&b);
        let mixed = value.bytes().skip(1).any(|b| !b.is_ascii_lowercase());
        let decoded = BASE64_NOPAD.decode(value.as_bytes());
        value.len() >= 8
            && mixed
            && (value.len().is_multiple_of(4) && value.bytes().all(base64)
                || decoded.is_ok_and(|bytes| bytes.contains(&b':')))
    } else {
        value.len() >= 16 && value.bytes().any(|b| b.is_ascii_digit())
    };
    secret.then(|| Hit {
        rule,
        span: from..from + value.len(),
        from: start,
        until: from + value.len(),
    })
}

/// Whether a value is stars, dots or the like.
pub(super) fn is_masked(value: &str) -> bool {
    let mut chars = value.chars();
    chars
        .next()
        .is_some_and(|first| "*xX.-_•#?…".contains(first) && chars.all(|c| c == first))
}

/// Which bytes the part of a URL between `//` and its path may have.
#[expect(
    clippy::indexing_slicing,
    reason = "a byte is an index into 256, and the compiler works it out"
)]
static IN_AUTHORITY: [bool; 256] = {
    let mut table = [true; 256];
    let mut ends: &[u8] = b" \t\n\r\x0c/?#\"'<>`";
    while let [end, rest @ ..] = ends {
        table[*end as usize] = false;
        ends = rest;
    }
    table
};
const LONGEST_AUTHORITY: usize = 1024;
const LONGEST_HEADER: usize = 8192;
const LONGEST_NAME: usize = 48;
const LONGEST_SCHEME: usize = 8192;
