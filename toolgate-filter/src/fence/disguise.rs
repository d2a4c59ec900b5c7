//! Reads a text as a reader might who undoes escapes, overlooks what is invisible and takes one
//! letter for another.

use std::ops::Range;

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

use crate::strip::is_unseen;
use crate::trace::Edit;

/// One character as read, and the bytes that it was read from.
#[derive(Debug, Clone)]
pub(super) struct Unit {
    pub(super) read: char,
    pub(super) span: Range<usize>,
}

/// Reads a whole text, without the spans in `cuts`, which are sorted.
///
/// Each round undoes one layer of escapes, wherever it stands, until no escape is left.
pub(super) fn read(text: &str, cuts: &[Edit]) -> Vec<Unit> {
    let mut units = Vec::with_capacity(text.len());
    let mut cuts = cuts
        .iter()
        .filter(|cut| cut.with.is_empty())
        .map(|cut| &cut.span)
        .peekable();
    for (at, c) in text.char_indices() {
        while cuts.next_if(|cut| cut.end <= at).is_some() {}
        if cuts.peek().is_none_or(|cut| at < cut.start) {
            fold(c, at..at + c.len_utf8(), &mut units);
        }
    }
    for _ in 0..MOST_LAYERS {
        if !decode(&mut units) {
            break;
        }
    }
    units
}

/// `<` is one, whatever it was drawn as.
pub(super) fn is_bracket(c: char) -> bool {
    c == '<'
}

pub(super) fn is_line_end(c: char) -> bool {
    matches!(
        c,
        '\n' | '\r' | '\u{b}' | '\u{c}' | '\u{85}' | '\u{2028}' | '\u{2029}'
    )
}

/// Adds a character as it is read: lower case, without marks, in ASCII where it looks like that.
fn fold(c: char, span: Range<usize>, units: &mut Vec<Unit>) {
    if c.is_ascii() {
        units.push(Unit {
            read: c.to_ascii_lowercase(),
            span,
        });
        return;
    }
    if is_unseen(c) {
        return;
    }
    if let Some(twin) = twin(c) {
        units.push(Unit { read: twin, span });
        return;
    }
    for part in std::iter::once(c).nfkd() {
        if is_combining_mark(part) || is_unseen(part) {
            continue;
        }
        let lower = part.to_lowercase().next().unwrap_or(part);
        units.push(Unit {
            read: twin(lower).unwrap_or(lower),
            span: span.clone(),
        });
    }
}

/// Undoes one layer of escapes; tells whether there was any.
fn decode(units: &mut Vec<Unit>) -> bool {
    let opens = |unit: &Unit| matches!(unit.read, '&' | '%' | '\\');
    let Some(first) = units.iter().position(opens) else {
        return false;
    };
    let tail = units.split_off(first);
    let mut changed = false;
    let mut at = 0;
    while let Some(unit) = tail.get(at) {
        let rest = tail.get(at + 1..).unwrap_or_default();
        let found = match unit.read {
            '&' => entity(rest),
            '%' => percent(rest),
            '\\' => backslash(rest),
            _ => None,
        };
        if let Some((c, used)) = found {
            let end = tail
                .get(at + used)
                .map_or(unit.span.end, |last| last.span.end);
            if let Some(c) = c {
                fold(c, unit.span.start..end, units);
            }
            at += used;
            changed = true;
        } else {
            units.push(unit.clone());
        }
        at += 1;
    }
    changed
}

/// What follows a `&`: the character, or none for one that cannot be seen, and the units used.
fn entity(rest: &[Unit]) -> Option<(Option<char>, usize)> {
    let read = |i: usize| rest.get(i).map(|unit| unit.read);
    if read(0) == Some('#') {
        let hex = read(1) == Some('x');
        let from = 1 + usize::from(hex);
        let (c, used) = number(rest.get(from..)?, if hex { 16 } else { 10 }, 10)?;
        let close = usize::from(read(from + used) == Some(';'));
        return Some((Some(c), from + used + close));
    }
    let name: String = rest
        .iter()
        .take(16)
        .map(|u| u.read)
        .take_while(char::is_ascii_alphanumeric)
        .collect();
    let closed = read(name.len()) == Some(';');
    ENTITIES
        .iter()
        .filter(|(known, _)| {
            if closed {
                name == *known
            } else {
                name.starts_with(known)
            }
        })
        .max_by_key(|(known, _)| known.len())
        .map(|(known, c)| (*c, known.len() + usize::from(closed)))
}

/// What follows a `%`: two digits, or more where they make a character of UTF-8.
fn percent(rest: &[Unit]) -> Option<(Option<char>, usize)> {
    let pair = |from: usize| {
        let high = rest.get(from)?.read.to_digit(16)?;
        let low = rest.get(from + 1)?.read.to_digit(16)?;
        u8::try_from(high * 16 + low).ok()
    };
    let first = pair(0)?;
    let length = match first {
        0..=0x7f => return Some((Some(char::from(first)), 2)),
        0xc2..=0xdf => 2,
        0xe0..=0xef => 3,
        0xf0..=0xf4 => 4,
        _ => return None,
    };
    let mut bytes = vec![first];
    for i in 1..length {
        if rest.get(i * 3 - 1)?.read != '%' {
            return None;
        }
        bytes.push(pair(i * 3)?);
    }
    let c = std::str::from_utf8(&bytes).ok()?.chars().next()?;
    Some((Some(c), length * 3 - 1))
}

/// What follows a backslash: `u003c`, `u{3c}`, `U0000003c`, `x3c`, `074`, `n`, or another one.
fn backslash(rest: &[Unit]) -> Option<(Option<char>, usize)> {
    match rest.first()?.read {
        'u' if rest.get(1)?.read == '{' => {
            let (c, used) = number(rest.get(2..)?, 16, 8)?;
            (rest.get(2 + used)?.read == '}').then_some((Some(c), used + 3))
        }
        // Case was folded, so `\U0000003c` is read here too.
        'u' => {
            let long = rest.get(1..5)?.iter().all(|unit| unit.read == '0');
            let size = if long && rest.get(5..9).is_some_and(all_hex) {
                8
            } else {
                4
            };
            let (c, used) = number(rest.get(1..1 + size)?, 16, size)?;
            (used == size).then_some((Some(c), size + 1))
        }
        'x' => {
            let (c, used) = number(rest.get(1..3)?, 16, 2)?;
            (used == 2).then_some((Some(c), 3))
        }
        '0'..='3' => {
            let (c, used) = number(rest.get(..3)?, 8, 3)?;
            (used == 3).then_some((Some(c), 3))
        }
        'n' | 'r' => Some((Some('\n'), 1)),
        't' => Some((Some('\t'), 1)),
        '\\' => Some((Some('\\'), 1)),
        '/' => Some((Some('/'), 1)),
        '<' => Some((Some('<'), 1)),
        '_' => Some((Some('_'), 1)),
        _ => None,
    }
}

fn all_hex(units: &[Unit]) -> bool {
    units.iter().all(|unit| unit.read.is_ascii_hexdigit())
}

/// The character that digits name, and how many digits; leading zeros do not count.
fn number(digits: &[Unit], radix: u32, most: usize) -> Option<(char, usize)> {
    let zeros = digits.iter().take_while(|unit| unit.read == '0').count();
    let mut value = 0_u32;
    let mut used = zeros;
    for unit in digits.iter().skip(zeros).take(most) {
        let Some(digit) = unit.read.to_digit(radix) else {
            break;
        };
        value = value.checked_mul(radix)?.checked_add(digit)?;
        used += 1;
    }
    (used > 0).then_some(())?;
    Some((char::from_u32(value).filter(|c| *c != '\0')?, used))
}

/// The ASCII character that another one looks like.
fn twin(c: char) -> Option<char> {
    Some(match c {
        '‹' | '〈' | '⟨' | '❬' | '❮' | '❰' | '＜' | '﹤' | '˂' | 'ᐸ' | '⧼' | '⪡' | '≺' | '𝈶'
        | '«' | '《' | '⟪' | '≪' | '⋖' | '◁' | '◃' => '<',
        '⁄' | '∕' | '／' | '⧸' | '╱' | '⟋' | '〳' | '𝈺' | '᜵' => '/',
        'т' | 'τ' | 'Т' | 'Τ' | 'ţ' | 'ț' | 'ŧ' | 'ｔ' | 'ꓔ' | 'Ꭲ' | 'ᴛ' => 't',
        'о' | 'О' | 'ο' | 'Ο' | 'օ' | 'Օ' | 'ס' | 'ø' | 'ɵ' | 'ᴏ' | 'ꓳ' | 'ⲟ' | 'Ⲟ' | '०' | '০'
        | '٥' | 'ჿ' | 'ഠ' | 'ዐ' | '〇' => 'o',
        'ӏ' | 'Ӏ' | 'ı' | 'ⅼ' | 'ا' | '١' | 'ן' | 'ꓡ' | 'ł' | 'ʟ' | 'ⲓ' | 'ɩ' | 'ι' | '∣' | '│' => {
            'l'
        }
        'υ' | 'ս' | 'ц' | 'ʋ' | 'ᴜ' | 'ꓴ' | 'Ս' => 'u',
        'р' | 'Р' | 'ρ' | 'Ρ' | 'ⲣ' | 'ᴘ' | 'ꓑ' | 'ϱ' => 'p',
        'ѕ' | 'Ѕ' => 's',
        'а' | 'А' | 'α' | 'Α' | 'ɑ' => 'a',
        'е' | 'Е' | 'ε' | 'Ε' | 'ҽ' => 'e',
        'ɡ' | 'ց' => 'g',
        '＿' | '﹍' | '﹎' | '﹏' | '‿' | '⁀' | 'ˍ' => '_',
        '‐' | '‑' | '‒' | '–' | '—' | '−' => '-',
        '：' | '﹕' | '∶' | 'ː' | '˸' | '꞉' | '։' | '׃' | '፡' => ':',
        '\u{a0}' | '\u{1680}' | '\u{2000}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{3000}' => {
            ' '
        }
        _ => return None,
    })
}

/// Names that stand for a character of the tag; `None` for one that shows nothing.
const ENTITIES: &[(&str, Option<char>)] = &[
    ("lt", Some('<')),
    ("nvlt", Some('<')),
    ("lang", Some('<')),
    ("langle", Some('<')),
    ("gt", Some('>')),
    ("amp", Some('&')),
    ("quot", Some('"')),
    ("apos", Some('\'')),
    ("sol", Some('/')),
    ("bsol", Some('\\')),
    ("percnt", Some('%')),
    ("num", Some('#')),
    ("semi", Some(';')),
    ("lowbar", Some('_')),
    ("underbar", Some('_')),
    ("hyphen", Some('-')),
    ("dash", Some('-')),
    ("colon", Some(':')),
    ("nbsp", Some(' ')),
    ("ensp", Some(' ')),
    ("emsp", Some(' ')),
    ("thinsp", Some(' ')),
    ("tab", Some('\t')),
    ("newline", Some('\n')),
    ("shy", None),
    ("zwnj", None),
    ("zwj", None),
    ("lrm", None),
    ("rlm", None),
    ("zerowidthspace", None),
    ("nobreak", None),
];

const MOST_LAYERS: usize = 12;
