//! How much the gate takes from a source: of a result, and of a list of tools.
//!
//! What a source answers is measured where it stands, before anything of the gate copies it.

use std::fmt;
use std::io;

use serde::Serialize;
use serde_json::Value;
use serde_json::ser::Formatter;
use serde_json::ser::Serializer;

use super::Listing;
use super::UpstreamError;

/// The most that is taken of one answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Bounds {
    /// Bytes of JSON.
    bytes: usize,
    /// Values in arrays and objects: one byte of JSON can take a hundred in memory.
    values: usize,
    /// Arrays and objects within one another.
    levels: usize,
}

impl Bounds {
    /// Of the result of a call. Four times the largest request is more than any model reads; and
    /// every reader of JSON that a result may still pass, the stores' among them, stops at 128
    /// levels, of which a few go to what is put round it.
    pub(crate) const RESULT: Self = Self {
        bytes: 4 << 20,
        values: 1 << 18,
        levels: 96,
    };

    /// Of any other message of a server, such as a page of tools: half of what the pipe's reader
    /// drops without a word, so that what is too large for it is answered all the same.
    #[cfg(feature = "rmcp")]
    pub(crate) const MESSAGE: Self = Self {
        bytes: 8 << 20,
        values: 1 << 20,
        levels: 120,
    };

    /// Whether a value keeps within them.
    pub(crate) fn hold<T: Serialize>(self, value: &T) -> bool {
        let scale = Scale {
            values: self.values,
            levels: self.levels,
        };
        value
            .serialize(&mut Serializer::with_formatter(Room(self.bytes), scale))
            .is_ok()
    }
}

impl fmt::Display for Bounds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "at most {} bytes, {} values and {} levels",
            self.bytes, self.values, self.levels
        )
    }
}

/// The most pages of one list: a server may go on for ever with cursors that are all new.
pub(crate) const MOST_PAGES: usize = 50;
/// The most tools of one source. No agent chooses among more, and each is kept and compiled.
const MOST_TOOLS: usize = 5_000;
/// The most bytes of the definitions of one source: eight hundred for each of that many tools, and
/// sixty-four of the largest that are offered.
const MOST_LISTED: usize = 4 << 20;

impl Listing {
    /// Adds a definition, and says whether there was room for it; if not, the list is cut.
    pub fn add(&mut self, definition: String) -> bool {
        let listed: usize = self.definitions.iter().map(String::len).sum();
        self.add_to(listed, definition)
    }

    fn add_to(&mut self, listed: usize, definition: String) -> bool {
        let room = MOST_LISTED.saturating_sub(listed);
        if self.definitions.len() >= MOST_TOOLS || definition.len() > room {
            self.truncated = true;
            return false;
        }
        self.definitions.push(definition);
        true
    }

    /// The same list, cut to what the gate takes from one source.
    pub(crate) fn within_bounds(self) -> Self {
        let mut kept = Self {
            definitions: Vec::new(),
            truncated: self.truncated,
        };
        let mut listed = 0_usize;
        for definition in self.definitions {
            let size = definition.len();
            if !kept.add_to(listed, definition) {
                break;
            }
            listed = listed.saturating_add(size);
        }
        kept
    }
}

/// What a source answered, if the gate takes that much.
///
/// A call whose result is too large was made. For an action that is what is kept of it, so that it
/// is settled as applied; a read has no result, and none that calling again would bring.
pub(crate) fn within_bounds(
    answer: Result<Value, UpstreamError>,
    is_action: bool,
) -> Result<Value, UpstreamError> {
    let answer = match answer {
        Ok(value) if !Bounds::RESULT.hold(&value) => {
            take_apart(value);
            Err(UpstreamError::too_large())
        }
        other => other,
    };
    match answer {
        Err(error) if is_action && error.is_too_large() => {
            let text = format!("the call was made, but {error}. Do not call again for it.");
            let block = serde_json::json!({"type": "text", "text": text});
            Ok(serde_json::json!({"content": [block], "isError": true}))
        }
        other => other,
    }
}

/// Drops a value level by level: one that is nested deep enough would take the stack with it.
pub(crate) fn take_apart(value: Value) {
    let mut open = vec![value];
    while let Some(value) = open.pop() {
        match value {
            Value::Array(items) => open.extend(items),
            Value::Object(members) => open.extend(members.into_iter().map(|(_, value)| value)),
            _ => {}
        }
    }
}

/// Counts bytes down and keeps none.
struct Room(usize);

impl io::Write for Room {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 = self.0.checked_sub(bytes.len()).ok_or_else(full)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Counts values and levels down.
struct Scale {
    values: usize,
    levels: usize,
}

impl Scale {
    fn value(&mut self) -> io::Result<()> {
        self.values = self.values.checked_sub(1).ok_or_else(full)?;
        Ok(())
    }

    fn enter(&mut self) -> io::Result<()> {
        self.levels = self.levels.checked_sub(1).ok_or_else(full)?;
        Ok(())
    }
}

impl Formatter for Scale {
    fn begin_array<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.enter()?;
        writer.write_all(b"[")
    }

    fn end_array<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.levels += 1;
        writer.write_all(b"]")
    }

    fn begin_array_value<W: ?Sized + io::Write>(
        &mut self,
        writer: &mut W,
        first: bool,
    ) -> io::Result<()> {
        self.value()?;
        if first {
            Ok(())
        } else {
            writer.write_all(b",")
        }
    }

    fn begin_object<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.enter()?;
        writer.write_all(b"{")
    }

    fn end_object<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.levels += 1;
        writer.write_all(b"}")
    }

    fn begin_object_value<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.value()?;
        writer.write_all(b":")
    }
}

fn full() -> io::Error {
    io::Error::from(io::ErrorKind::FileTooLarge)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const SMALL: Bounds = Bounds {
        bytes: 40,
        values: 4,
        levels: 3,
    };

    #[test]
    fn bytes_values_and_levels_are_each_bounded() {
        let holds = |value: Value| SMALL.hold(&value);
        assert!(holds(json!({"a": [[1]], "b": "c"})));
        assert!(holds(json!("x".repeat(38))));
        assert!(!holds(json!("x".repeat(39))));
        assert!(!holds(json!("\n".repeat(20))));
        assert!(holds(json!([0, 0, 0, 0])));
        assert!(!holds(json!([0, 0, 0, 0, 0])));
        assert!(!holds(json!({"a": 1, "b": {"c": 1, "d": 2}, "e": 0})));
        assert!(holds(json!([[[]], [[]]])));
        assert!(!holds(json!([[[[]]]])));
    }

    #[test]
    fn the_deepest_value_is_neither_read_nor_dropped_by_recursion() {
        let mut deep = Value::Null;
        for _ in 0..2_000_000 {
            deep = Value::Array(vec![deep]);
        }
        let refused = within_bounds(Ok(deep), false).unwrap_err();
        assert!(refused.is_too_large());
    }

    #[test]
    fn a_list_is_cut_at_its_bounds() {
        let cut = |size: usize, count: usize| {
            let definitions = vec!["x".repeat(size); count];
            let listing = Listing {
                definitions,
                truncated: false,
            };
            let kept = listing.within_bounds();
            (kept.definitions.len(), kept.truncated)
        };
        assert_eq!(cut(10, MOST_TOOLS), (MOST_TOOLS, false));
        assert_eq!(cut(10, MOST_TOOLS + 1), (MOST_TOOLS, true));
        assert_eq!(cut(1 << 20, 4), (4, false));
        assert_eq!(cut(1 << 20, 5), (4, true));
    }
}
