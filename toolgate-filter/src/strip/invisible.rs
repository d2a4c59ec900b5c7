//! Characters that show nothing, and the few places where they belong to what is shown.

use crate::rules::RuleId;
use crate::text::{char_at, slice};

/// What to do with a character.
pub(super) enum Verdict {
    /// Keep the text up to this byte.
    Keep(usize),
    Cut(RuleId),
}

/// The last characters that were kept, newest first.
#[derive(Debug, Default)]
pub(super) struct Kept {
    last: Option<char>,
    before: Option<char>,
}

impl Kept {
    pub(super) fn push(&mut self, c: char) {
        self.before = self.last;
        self.last = Some(c);
    }
}

/// Judges the character `c` at `at`.
///
/// What is kept depends on kept characters before it and on visible ones after it, so that a
/// second run over the result finds nothing more to remove.
pub(super) fn judge(text: &str, at: usize, c: char, kept: &Kept) -> Verdict {
    let next = at + c.len_utf8();
    let Some(rule) = class(c) else {
        if c == '\u{1f3f4}' {
            let flag = FLAGS
                .iter()
                .find(|tags| slice(text, next..text.len()).starts_with(**tags));
            return Verdict::Keep(flag.map_or(next, |tags| next + tags.len()));
        }
        return Verdict::Keep(next);
    };
    let after = char_at(text, next).filter(|c| class(*c).is_none() && !c.is_control());
    let keep = match c {
        '\u{200d}' => joins_emoji(kept, after) || joins_letters(kept.last, after),
        '\u{200c}' => joins_letters(kept.last, after),
        '\u{fe0e}' | '\u{fe0f}' => takes_presentation(kept.last, after),
        '\u{fe00}'..='\u{fe02}' => kept.last.is_some_and(takes_variation),
        '\u{e0100}'..='\u{e011f}' => kept.last.is_some_and(is_ideograph),
        '\u{180b}'..='\u{180d}' | '\u{180f}' => kept.last.is_some_and(is_mongolian),
        '\u{180e}' => kept.last.is_some_and(is_mongolian) && after.is_some_and(is_mongolian),
        _ => false,
    };
    if keep {
        Verdict::Keep(next)
    } else {
        Verdict::Cut(rule)
    }
}

/// The rule under which a character is removed; `None` for one that shows.
fn class(c: char) -> Option<RuleId> {
    if c < '\u{ad}' {
        return None;
    }
    Some(match c {
        '\u{ad}' | '\u{34f}' | '\u{200b}'..='\u{200d}' | '\u{2060}'..='\u{2064}' | '\u{feff}' => {
            RuleId::ZERO_WIDTH
        }
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2065}'..='\u{206f}' => {
            RuleId::BIDI_CONTROL
        }
        '\u{fe00}'..='\u{fe0f}' | '\u{e0100}'..='\u{e01ef}' | '\u{180b}'..='\u{180f}' => {
            RuleId::VARIATION_SELECTOR
        }
        '\u{115f}'
        | '\u{1160}'
        | '\u{17b4}'
        | '\u{17b5}'
        | '\u{2800}'
        | '\u{3164}'
        | '\u{ffa0}'
        | '\u{fff0}'..='\u{fffb}'
        | '\u{1d159}'
        | '\u{1d173}'..='\u{1d17a}'
        | '\u{1bca0}'..='\u{1bca3}' => RuleId::BLANK,
        '\u{e0000}'..='\u{e0fff}' => RuleId::TAG_CHARACTER,
        '\u{e000}'..='\u{f8ff}' | '\u{f0000}'..='\u{ffffd}' | '\u{100000}'..='\u{10fffd}' => {
            RuleId::PRIVATE_USE
        }
        '\u{fdd0}'..='\u{fdef}' => RuleId::NONCHARACTER,
        c if u32::from(c) & 0xfffe == 0xfffe => RuleId::NONCHARACTER,
        _ => return None,
    })
}

/// Whether a character shows nothing wherever it stands.
pub(crate) fn is_unseen(c: char) -> bool {
    class(c).is_some()
        || (c.is_control() && !matches!(c, '\t' | '\n' | '\r' | '\u{b}' | '\u{c}' | '\u{85}'))
}

fn joins_emoji(kept: &Kept, after: Option<char>) -> bool {
    let left = match kept.last {
        Some('\u{fe0f}' | '\u{1f3fb}'..='\u{1f3ff}') => kept.before,
        other => other,
    };
    left.is_some_and(is_emoji) && after.is_some_and(is_emoji)
}

/// Joiners shape letters of the cursive and Indic scripts. After a letter or mark of these
/// scripts one stays, before another such letter or at the end of the word.
fn joins_letters(before: Option<char>, after: Option<char>) -> bool {
    before.is_some_and(is_joining)
        && after.is_none_or(|c| is_joining(c) || !c.is_alphanumeric() && !is_emoji(c))
}

fn is_joining(c: char) -> bool {
    matches!(c,
        '\u{600}'..='\u{8ff}'
        | '\u{900}'..='\u{dff}'
        | '\u{1000}'..='\u{109f}'
        | '\u{1780}'..='\u{17d3}'
        | '\u{1800}'..='\u{18aa}'
        | '\u{1b00}'..='\u{1b7f}'
        | '\u{a8e0}'..='\u{a8ff}'
        | '\u{a980}'..='\u{a9df}'
        | '\u{fb50}'..='\u{fdcf}'
        | '\u{fdf0}'..='\u{fdff}'
        | '\u{fe70}'..='\u{fefc}'
        | '\u{10d00}'..='\u{10d3f}'
        | '\u{11000}'..='\u{1167f}'
        | '\u{1e900}'..='\u{1e95f}')
}

fn is_emoji(c: char) -> bool {
    matches!(c,
        '\u{a9}' | '\u{ae}' | '\u{203c}' | '\u{2049}' | '\u{2122}' | '\u{2139}'
        | '\u{2190}'..='\u{21ff}'
        | '\u{2300}'..='\u{23ff}'
        | '\u{2460}'..='\u{24ff}'
        | '\u{25a0}'..='\u{27bf}'
        | '\u{2900}'..='\u{297f}'
        | '\u{2b00}'..='\u{2bff}'
        | '\u{3030}' | '\u{303d}' | '\u{3297}' | '\u{3299}'
        | '\u{1f000}'..='\u{1faff}')
}

/// Emoji have two forms. A digit has none of its own, only within a keycap.
fn takes_presentation(before: Option<char>, after: Option<char>) -> bool {
    before.is_some_and(|c| {
        is_emoji(c) || after == Some('\u{20e3}') && matches!(c, '0'..='9' | '#' | '*')
    })
}

fn takes_variation(c: char) -> bool {
    is_ideograph(c)
        || matches!(c,
            '\u{1000}'..='\u{109f}'
            | '\u{2200}'..='\u{22ff}'
            | '\u{2a00}'..='\u{2aff}'
            | '\u{3000}'..='\u{303f}'
            | '\u{a840}'..='\u{a877}'
            | '\u{aa60}'..='\u{aa7f}'
            | '\u{ff01}' | '\u{ff0c}' | '\u{ff0e}' | '\u{ff1a}' | '\u{ff1b}' | '\u{ff1f}')
}

fn is_ideograph(c: char) -> bool {
    matches!(c, '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}'
        | '\u{20000}'..='\u{3ffff}')
}

fn is_mongolian(c: char) -> bool {
    matches!(c, '\u{1820}'..='\u{18aa}')
}

/// The tags that follow a black flag for England, Scotland and Wales.
const FLAGS: [&str; 3] = [
    "\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f}",
    "\u{e0067}\u{e0062}\u{e0073}\u{e0063}\u{e0074}\u{e007f}",
    "\u{e0067}\u{e0062}\u{e0077}\u{e006c}\u{e0073}\u{e007f}",
];
