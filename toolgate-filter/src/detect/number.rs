//! Card and phone numbers: groups of digits, read by their grouping, prefix and check digit.

use std::ops::Range;

use super::Hit;
use crate::rules::RuleId;
use crate::text::{byte, byte_before, run, run_before, slice};

/// Every card and phone number in `text`.
pub(super) fn numbers(text: &str, hits: &mut Vec<Hit>) {
    let bytes = text.as_bytes();
    let mut at = 0;
    while let Some(ahead) = bytes
        .get(at..)
        .and_then(|rest| rest.iter().position(u8::is_ascii_digit))
    {
        let start = at + ahead;
        let groups = groups(text, start);
        // Too few digits for anything: the common case.
        let digits: usize = groups.iter().map(Range::len).sum();
        at = groups.last().map_or(start + 1, |last| last.end);
        if digits < FEWEST {
            continue;
        }
        let mut first = 0;
        while let Some(rest) = groups.get(first..).filter(|rest| !rest.is_empty()) {
            let whole = first == 0 && groups.len() <= MOST_GROUPS;
            let found = card(text, rest, whole)
                .map(|(n, span)| (n, RuleId::CARD, span))
                .or_else(|| phone(text, rest).map(|(n, span)| (n, RuleId::PHONE, span)));
            first += if let Some((n, rule, span)) = found {
                hits.push(Hit::new(rule, span));
                n
            } else {
                1
            };
        }
    }
}

/// The groups of digits from `start` on that stand as one line: at most two separators apart.
fn groups(text: &str, start: usize) -> Vec<Range<usize>> {
    let mut groups = Vec::new();
    let mut at = start;
    loop {
        let end = at + run(text, at, usize::MAX, |b| b.is_ascii_digit());
        groups.push(at..end);
        let gap = run(text, end, 4, |b| SEPARATORS.contains(&b));
        let gap = if gap == 0 && slice(text, end..end + 2) == "\u{a0}" {
            2
        } else {
            gap
        };
        if !(1..=3).contains(&gap) || !byte(text, end + gap).is_ascii_digit() {
            return groups;
        }
        at = end + gap;
    }
}

/// A card number at the first group: how many groups it takes, and where it stands.
fn card(text: &str, groups: &[Range<usize>], whole: bool) -> Option<(usize, Range<usize>)> {
    let first = groups.first()?;
    // Small groups make a card only if nothing else stands in the line.
    if !card_may_start(text, first.start) || first.len() < 4 && !whole {
        return None;
    }
    let mut digits = [0_u8; 20];
    let mut count = 0;
    for (taken, group) in groups.iter().enumerate() {
        let previous = taken.checked_sub(1).and_then(|i| groups.get(i));
        if let Some(previous) = previous {
            let gap = slice(text, previous.end..group.start);
            if !matches!(gap, " " | "-" | "\u{a0}" | ".") {
                return None;
            }
        }
        for b in text.get(group.clone())?.bytes() {
            *digits.get_mut(count)? = b - b'0';
            count += 1;
        }
        let taken = taken + 1;
        let used = groups.get(..taken)?;
        if count >= 13
            && regular(used)
            && (first.len() >= 4 || whole && taken == groups.len())
            && card_may_end(text, group.end, groups.get(taken))
            && is_card(digits.get(..count)?)
        {
            return Some((taken, first.start..group.end));
        }
    }
    None
}

fn card_may_start(text: &str, at: usize) -> bool {
    let before = byte_before(text, at);
    if before.is_ascii_alphanumeric() || before == b'_' || before == b'.' {
        return false;
    }
    // A dash joins it to a longer name, such as a UUID.
    before != b'-'
        || !at
            .checked_sub(2)
            .is_some_and(|i| byte(text, i).is_ascii_alphanumeric())
}

fn card_may_end(text: &str, at: usize, next: Option<&Range<usize>>) -> bool {
    let after = byte(text, at);
    let joined = next.is_some_and(|next| matches!(slice(text, at..next.start), "-" | "."));
    !(after.is_ascii_alphanumeric() || after == b'_' || joined)
}

/// Equal groups but for a shorter last one, or the groupings of 15 and 14 digits.
fn regular(groups: &[Range<usize>]) -> bool {
    let sizes = || groups.iter().map(Range::len);
    let Some(first) = sizes().next() else {
        return false;
    };
    let rest = groups.len().saturating_sub(1);
    let equal = sizes().take(rest).all(|n| n == first);
    let last = sizes().next_back().is_some_and(|n| n <= first);
    equal && last || sizes().eq([4, 6, 5]) || sizes().eq([4, 6, 4])
}

/// Luhn's check, and a prefix that an issuer uses with this length.
fn is_card(digits: &[u8]) -> bool {
    let sum: u32 = digits
        .iter()
        .rev()
        .enumerate()
        .map(|(i, d)| {
            let d = u32::from(*d);
            if i % 2 == 0 {
                d
            } else {
                d * 2 / 10 + d * 2 % 10
            }
        })
        .sum();
    let prefix = digits
        .iter()
        .take(4)
        .fold(0_u16, |n, d| n * 10 + u16::from(*d));
    sum.is_multiple_of(10)
        && ISSUERS.iter().any(|(prefixes, lengths)| {
            prefixes.contains(&prefix) && lengths.contains(&digits.len())
        })
}

/// A phone number at the first group: how many groups it takes, and where it stands.
fn phone(text: &str, groups: &[Range<usize>]) -> Option<(usize, Range<usize>)> {
    let first = groups.first()?;
    let open = usize::from(byte_before(text, first.start) == b'(');
    let start = first.start - open;
    if byte_before(text, first.start) == b'+' {
        let plus = first.start - 1;
        let before = byte_before(text, plus);
        if before.is_ascii_alphanumeric() || before == b'+' {
            return None;
        }
        return international(text, groups).map(|(n, end)| (n, plus..end));
    }
    if slice(text, first.start..first.start + 2) == "00"
        && byte_before(text, start) != b'.'
        && !byte_before(text, start).is_ascii_alphanumeric()
        && groups.len() > 2
    {
        return international(text, groups).map(|(n, end)| (n, start..end));
    }
    let before = byte_before(text, start);
    let glued = before.is_ascii_alphanumeric() || b"_-./+#".contains(&before);
    if glued && !announced(text, start) {
        return None;
    }
    let (taken, end) = north_american(text, groups)
        .or_else(|| national(text, groups))
        .or_else(|| announced(text, start).then(|| bare(text, groups)).flatten())?;
    let after = byte(text, end);
    if after.is_ascii_alphanumeric() || after == b'_' {
        return None;
    }
    Some((taken, start..end))
}

/// `+` or `00`, a country code, then 8 to 15 digits in all.
fn international(text: &str, groups: &[Range<usize>]) -> Option<(usize, usize)> {
    let first = text.get(groups.first()?.clone())?;
    let number = first.strip_prefix("00").unwrap_or(first);
    let dialled = first.len() - number.len();
    let code = COUNTRIES.iter().find(|code| number.starts_with(**code))?;
    let longest = if *code == "1" { 11 } else { 15 };
    let shortest = if *code == "1" { 11 } else { 8 };
    let mut best = None;
    let mut count = 0;
    for (taken, group) in groups.iter().enumerate().take(7) {
        if taken > 0 && group.len() == 1 && taken > 1 {
            break;
        }
        count += group.len() - if taken == 0 { dialled } else { 0 };
        if count > longest {
            break;
        }
        // Without separators, only a full number is told from a sum or an offset.
        if count >= if taken == 0 { 10 } else { shortest } {
            let after = byte(text, group.end);
            if !(after.is_ascii_alphanumeric() || after == b'_') {
                best = Some((taken + 1, group.end));
            }
        }
    }
    best
}

/// `(415) 555-0132`, `415-555-0132`, `1-415-555-0132`.
fn north_american(text: &str, groups: &[Range<usize>]) -> Option<(usize, usize)> {
    let lead =
        usize::from(groups.first()?.len() == 1 && slice(text, groups.first()?.clone()) == "1");
    let [area, exchange, line] = groups.get(lead..lead + 3)? else {
        return None;
    };
    let sizes = area.len() == 3 && exchange.len() == 3 && line.len() == 4;
    let starts = |group: &Range<usize>| (b'2'..=b'9').contains(&byte(text, group.start));
    let gap = slice(text, exchange.end..line.start);
    let even = matches!(gap, "-" | "." | " " | "\u{a0}");
    let before = slice(text, area.end..exchange.start);
    let even = even && (before == gap || before.starts_with(')'));
    // Two dots and three groups could be a version, but none has these lengths.
    let joined = groups
        .get(lead + 3)
        .is_some_and(|next| matches!(slice(text, line.end..next.start), "-" | "." | "/"));
    (sizes && starts(area) && starts(exchange) && even && !joined).then_some((lead + 3, line.end))
}

/// A trunk prefix `0` and two to five groups, of which none is long enough for an id.
fn national(text: &str, groups: &[Range<usize>]) -> Option<(usize, usize)> {
    let first = groups.first()?;
    if byte(text, first.start) != b'0' || byte(text, first.start + 1) == b'0' || first.len() > 5 {
        return None;
    }
    let mut count = 0;
    let mut best = None;
    for (taken, group) in groups.iter().enumerate().take(5) {
        if taken > 0 {
            let previous = groups.get(taken - 1)?;
            let gap = slice(text, previous.end..group.start);
            let short = group.len() < 2 || group.len() > 8;
            let usual = matches!(gap, " " | "\u{a0}" | "/" | ") ")
                || taken == 1 && gap == "-" && first.len() < 5;
            if short || !usual {
                break;
            }
        }
        count += group.len();
        if taken > 0 && (9..=12).contains(&count) && first.len() >= 2 {
            best = Some((taken + 1, group.end));
        }
    }
    best.filter(|(taken, _)| *taken == groups.len() || *taken > 1)
}

/// Any 7 to 15 digits, where a word in front says what they are.
fn bare(text: &str, groups: &[Range<usize>]) -> Option<(usize, usize)> {
    let mut count = 0;
    let mut best = None;
    for (taken, group) in groups.iter().enumerate().take(6) {
        let previous = taken.checked_sub(1).and_then(|i| groups.get(i));
        if previous.is_some_and(|p| slice(text, p.end..group.start).len() > 2) {
            break;
        }
        count += group.len();
        if (7..=15).contains(&count) {
            best = Some((taken + 1, group.end));
        }
    }
    best
}

/// Whether a word such as `phone:` stands before `at`.
fn announced(text: &str, at: usize) -> bool {
    let gap = run_before(text, at, 6, |b| b" :=\"'.#(>\t".contains(&b));
    if gap == 0 {
        return false;
    }
    let end = at - gap;
    let word = slice(
        text,
        end - run_before(text, end, 16, |b| b.is_ascii_alphabetic())..end,
    );
    let word = word.to_ascii_lowercase();
    [
        "phone",
        "tel",
        "telephone",
        "mobile",
        "cell",
        "fax",
        "whatsapp",
        "telefon",
        "handy",
    ]
    .iter()
    .any(|name| word == *name || word.ends_with("phone"))
}

const SEPARATORS: &[u8] = b" -.()/";
const FEWEST: usize = 7;
const MOST_GROUPS: usize = 20;

/// First four digits and lengths.
const ISSUERS: &[(std::ops::RangeInclusive<u16>, &[usize])] = &[
    (4000..=4999, &[13, 16, 19]),
    (5100..=5599, &[16]),
    (2221..=2720, &[16]),
    (3400..=3499, &[15]),
    (3700..=3799, &[15]),
    (3000..=3059, &[14]),
    (3095..=3095, &[14]),
    (3600..=3699, &[14]),
    (3800..=3999, &[14]),
    (6011..=6011, &[16, 19]),
    (6440..=6599, &[16, 19]),
    (3528..=3589, &[16, 19]),
    (6200..=6299, &[16, 17, 18, 19]),
    (8100..=8199, &[16, 17, 18, 19]),
    (5018..=5018, &[13, 14, 15, 16, 17, 18, 19]),
    (5020..=5020, &[13, 14, 15, 16, 17, 18, 19]),
    (5038..=5038, &[13, 14, 15, 16, 17, 18, 19]),
    (5893..=5893, &[13, 14, 15, 16, 17, 18, 19]),
    (6304..=6304, &[13, 14, 15, 16, 17, 18, 19]),
    (6759..=6763, &[13, 14, 15, 16, 17, 18, 19]),
    (1800..=1800, &[15]),
    (2131..=2131, &[15]),
    (2200..=2204, &[16]),
    (6060..=6099, &[16]),
];

/// Country calling codes of ITU-T E.164.
const COUNTRIES: &[&str] = &[
    "1", "20", "211", "212", "213", "216", "218", "22", "23", "24", "25", "26", "27", "290", "291",
    "297", "298", "299", "30", "31", "32", "33", "34", "35", "36", "370", "371", "372", "373",
    "374", "375", "376", "377", "378", "380", "381", "382", "383", "385", "386", "387", "389",
    "39", "40", "41", "420", "421", "423", "43", "44", "45", "46", "47", "48", "49", "50", "51",
    "52", "53", "54", "55", "56", "57", "58", "59", "60", "61", "62", "63", "64", "65", "66",
    "670", "672", "673", "674", "675", "676", "677", "678", "679", "68", "690", "691", "692", "7",
    "800", "808", "81", "82", "84", "850", "852", "853", "855", "856", "86", "870", "878", "88",
    "90", "91", "92", "93", "94", "95", "960", "961", "962", "963", "964", "965", "966", "967",
    "968", "970", "971", "972", "973", "974", "975", "976", "977", "979", "98", "992", "993",
    "994", "995", "996", "998",
];
