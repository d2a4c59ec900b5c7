//! Everything that is printed goes through here.

use std::io;
use std::io::Write;

use serde_json::Value;
use serde_json::json;

use crate::failure::Exit;
use crate::failure::Failure;

/// Standard output and standard error, for people or for programs.
pub(crate) struct Out {
    out: Box<dyn Write>,
    err: Box<dyn Write>,
    json: bool,
}

impl Out {
    pub(crate) fn new(json: bool) -> Self {
        Self {
            out: Box::new(io::stdout().lock()),
            err: Box::new(io::stderr()),
            json,
        }
    }

    /// Whether programs read the output.
    pub(crate) const fn is_json(&self) -> bool {
        self.json
    }

    /// Prints a line of the gate's own words, or of [`plain`] ones.
    pub(crate) fn line(&mut self, text: impl AsRef<str>) -> Result<(), Failure> {
        let text = text.as_ref();
        writeln!(self.out, "{text}")
            .and_then(|()| self.out.flush())
            .map_err(|error| broken(&error))
    }

    /// Prints bytes as they are.
    pub(crate) fn raw(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        self.out.write_all(bytes).map_err(|error| broken(&error))
    }

    /// Writes out what was printed.
    pub(crate) fn flush(&mut self) -> Result<(), Failure> {
        self.out.flush().map_err(|error| broken(&error))
    }

    /// Prints the one document of a command for programs, or `lines` for people.
    pub(crate) fn answer(
        &mut self,
        document: &Value,
        lines: impl FnOnce() -> Vec<String>,
    ) -> Result<(), Failure> {
        if self.json {
            return self.line(document.to_string());
        }
        lines().into_iter().try_for_each(|line| self.line(line))
    }

    /// Tells people something beside the output.
    pub(crate) fn note(&mut self, text: impl AsRef<str>) {
        let text = text.as_ref();
        // Who closed standard error does not want to know.
        writeln!(self.err, "{text}").ok();
    }

    /// Tells why a command failed.
    pub(crate) fn failure(&mut self, failure: &Failure) {
        if self.json {
            let document = json!({"error": {
                "code": failure.code,
                "message": failure.message,
                "details": failure.details,
            }});
            self.line(document.to_string()).ok();
        }
        let mut text = format!("toolgate: {}", plain(&failure.message));
        for detail in &failure.details {
            text.push_str("\n  ");
            text.push_str(&plain(detail));
        }
        self.note(text);
    }
}

/// A closed pipe is the reader's wish, not a failure.
fn broken(error: &io::Error) -> Failure {
    if error.kind() == io::ErrorKind::BrokenPipe {
        Failure::new(Exit::Ok, "the reader has gone")
    } else {
        Failure::unreachable("standard output cannot be written to")
    }
}

/// Text that others wrote, fit for a terminal: what steers it, or shows nothing, is spelt out.
pub(crate) fn plain(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        if toolgate_core::id::is_deceptive(c) {
            shown.extend(c.escape_unicode());
        } else {
            shown.push(c);
        }
    }
    shown
}

/// Rows under a head, in columns as wide as their widest cell.
pub(crate) fn table<const N: usize>(head: [&str; N], rows: &[[String; N]]) -> Vec<String> {
    let rows: Vec<[String; N]> = rows
        .iter()
        .map(|row| row.clone().map(|cell| short(&plain(&cell))))
        .collect();
    let mut widths = head.map(|cell| cell.chars().count());
    for row in &rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let line = |cells: &mut dyn Iterator<Item = &str>| {
        let mut text = String::new();
        for (cell, width) in cells.zip(widths) {
            text.push_str(cell);
            let gap = width.saturating_sub(cell.chars().count()).saturating_add(2);
            text.extend(std::iter::repeat_n(' ', gap));
        }
        text.trim_end().to_owned()
    };
    let mut lines = vec![line(&mut head.iter().copied())];
    for row in &rows {
        lines.push(line(&mut row.iter().map(String::as_str)));
    }
    lines
}

fn short(cell: &str) -> String {
    if cell.chars().count() <= MOST_CELL {
        return cell.to_owned();
    }
    let kept: String = cell.chars().take(MOST_CELL - 1).collect();
    format!("{kept}…")
}

/// The text at a pointer of a document; what is not text is shown as JSON.
pub(crate) fn at(document: &Value, pointer: &str) -> String {
    match document.pointer(pointer) {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    }
}

/// The elements of the array at a pointer.
pub(crate) fn items<'a>(document: &'a Value, pointer: &str) -> &'a [Value] {
    let found = document.pointer(pointer).and_then(Value::as_array);
    found.map_or(&[], Vec::as_slice)
}

const MOST_CELL: usize = 72;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_steers_a_terminal_is_spelt_out() {
        assert_eq!(plain("a\u{1b}[31mb"), "a\\u{1b}[31mb");
        assert_eq!(plain("safe\rEVIL"), "safe\\u{d}EVIL");
        assert_eq!(plain("pay\u{202e}exe"), "pay\\u{202e}exe");
        assert_eq!(plain("Größe 日本"), "Größe 日本");
    }

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let rows = [
            ["a".to_owned(), "1".to_owned()],
            ["longer".to_owned(), "2".to_owned()],
        ];
        assert_eq!(
            table(["name", "n"], &rows),
            ["name    n", "a       1", "longer  2"]
        );
    }
}
