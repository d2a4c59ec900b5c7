//! What a person reads before deciding: made from the stored bytes, with nothing of the agent's
//! or the server's able to pass for the gate's own words.

use std::fmt::Write as _;

use toolgate_core::approval::Approval;
use toolgate_core::digest::Digest;
use toolgate_core::id::PrincipalName;
use toolgate_core::id::is_deceptive;

/// A request as it is shown.
#[derive(Debug)]
pub(crate) struct Prompt {
    pub(crate) title: String,
    pub(crate) text: String,
    pub(crate) digest: Digest,
}

/// Shows a request. `args` are its arguments, in the clear while it is open.
pub(crate) fn prompt(principal: &PrincipalName, approval: &Approval, args: &str) -> Prompt {
    let title = format!("{principal} asks to call {}", approval.tool);
    let mut text = format!("# {title}\n\n");
    // Writing to a text cannot fail.
    let _ = writeln!(text, "- Agent: `{principal}`");
    let _ = writeln!(
        text,
        "- Tool: `{}` of `{}`",
        approval.tool, approval.upstream
    );
    let _ = writeln!(text, "- Definition: `{}`", approval.digest);
    let _ = writeln!(text, "- Asked: {}", approval.created_at);
    let _ = writeln!(text, "- Open until: {}", approval.expires_at);
    let _ = writeln!(text, "\nArguments, in the agent's words:\n");
    for line in pretty(args).lines() {
        let _ = writeln!(text, "    {}", visible(line));
    }
    let digest = Digest::of(text.as_bytes());
    Prompt {
        title,
        text,
        digest,
    }
}

fn pretty(args: &str) -> String {
    serde_json::from_str::<serde_json::Value>(args)
        .and_then(|value| serde_json::to_string_pretty(&value))
        .unwrap_or_else(|_| "(the arguments could not be displayed)".to_owned())
}

/// Characters that show nothing, or that turn or end a line, as escapes.
fn visible(line: &str) -> String {
    let mut shown = String::with_capacity(line.len());
    for c in line.chars() {
        if is_deceptive(c) || matches!(c, '\u{2028}' | '\u{2029}') {
            let _ = write!(shown, "\\u{{{:X}}}", u32::from(c));
        } else {
            shown.push(c);
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_that_deceive_are_shown_as_escapes() {
        assert_eq!(visible("a\u{202e}b\u{200b}c"), "a\\u{202E}b\\u{200B}c");
        assert_eq!(visible("plain é 😀"), "plain é 😀");
    }
}
