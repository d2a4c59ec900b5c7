//! E-mail addresses.

use super::Hit;
use crate::Kind;
use crate::rules::RuleId;
use crate::text::{byte, byte_before, run, run_before, slice};

/// Every e-mail address in `text`.
pub(super) fn emails(text: &str, hits: &mut Vec<Hit>) {
    // The host after a password in a URL is no domain of mail.
    let secrets = hits.iter().filter(|hit| hit.rule.kind() == Kind::Secret);
    let mut passwords: Vec<usize> = secrets.map(|hit| hit.span.end).collect();
    passwords.sort_unstable();
    let mut passwords = passwords.into_iter().peekable();
    let mut done = 0;
    for (at, sign) in text.match_indices('@') {
        while passwords.next_if(|end| *end < at).is_some() {}
        if passwords.peek() == Some(&at) {
            continue;
        }
        email(text, at, at + sign.len(), &mut done, hits);
    }
    for (at, sign) in text.match_indices("%40") {
        email(text, at, at + sign.len(), &mut done, hits);
    }
}

fn email(text: &str, at: usize, after: usize, done: &mut usize, hits: &mut Vec<Hit>) {
    let free = at.saturating_sub(*done);
    let floor = if *done <= at { free } else { at };
    let mut start = at - run_before(text, at, LONGEST_LOCAL.min(floor), is_local);
    // Half a letter at the border is no letter.
    while !text.is_char_boundary(start) {
        start += 1;
    }
    let skip = run(text, start, at - start, |b| {
        b == b'.' || b == b'-' || b == b'\'' || b == b'%'
    });
    start += skip;
    let local = slice(text, start..at);
    if local.is_empty() || local.ends_with('.') {
        return;
    }
    let mut end = after + run(text, after, LONGEST_DOMAIN, is_domain);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let domain = slice(text, after..end).trim_end_matches(['.', '-', '_']);
    let end = after + domain.len();
    let Some((host, top)) = domain.rsplit_once('.') else {
        return;
    };
    let top_is_name = (2..=24).contains(&top.len())
        && (top.bytes().all(|b| b.is_ascii_alphabetic())
            || top.starts_with("xn--")
            || !top.is_ascii());
    let is_file = |ending: &&str| top.eq_ignore_ascii_case(ending);
    if !top_is_name
        || host.is_empty()
        || host.starts_with(['.', '-'])
        || host.contains("..")
        || FILES.iter().any(is_file)
        // `git@host:path` is the address of a repository.
        || local == "git" && matches!(byte(text, end), b':' | b'/')
        || byte(text, end) == b'(' && byte_before(text, start) != b'<'
    {
        return;
    }
    *done = end;
    hits.push(Hit::new(RuleId::EMAIL, start..end));
}

/// Letters of ASCII and of Latin-1, Latin Extended-A and -B, whose first bytes are C3 to C9.
fn is_letter(b: u8) -> bool {
    b.is_ascii_alphanumeric() || (0x80..=0xc9).contains(&b)
}

fn is_local(b: u8) -> bool {
    is_letter(b) || b"._%+-'".contains(&b)
}

fn is_domain(b: u8) -> bool {
    is_letter(b) || b"._-".contains(&b)
}

/// Endings of file names, which are no top-level domains that mail is sent to.
const FILES: &[&str] = &[
    "class", "conf", "cpp", "css", "csv", "service", "gif", "html", "ico", "java", "jpeg", "jpg",
    "js", "json", "jsx", "log", "pdf", "png", "py", "rs", "scss", "so", "svg", "timer", "toml",
    "ts", "tsx", "txt", "webp", "xml", "yaml", "yml",
];

const LONGEST_LOCAL: usize = 128;
const LONGEST_DOMAIN: usize = 255;
