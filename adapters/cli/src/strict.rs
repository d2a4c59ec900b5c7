//! JSON that people wrote, and where they went wrong.

use std::fmt;

use serde::de;
use serde::de::DeserializeSeed;
use serde::de::Error as _;
use serde_json::Value;
use toolgate_core::json;
use toolgate_core::json::JsonError;
use toolgate_core::json::JsonErrorKind;

/// What is wrong with a text, and where; never a value of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fault {
    /// Counted from 1.
    pub(crate) line: usize,
    /// Counted from 1, in characters.
    pub(crate) column: usize,
    pub(crate) message: String,
}

/// Reads strict JSON.
pub(crate) fn read(text: &str) -> Result<Value, Fault> {
    json::parse_strict(text).map_err(|error| fault(text, &error))
}

/// The strict reader says what is wrong; a second reading finds the place.
fn fault(text: &str, error: &JsonError) -> Fault {
    let mut reader = serde_json::Deserializer::from_str(text);
    let mut search = Search::new(error);
    let read = Place(&mut search).deserialize(&mut reader);
    let found = read.and_then(|()| reader.end()).err();
    let (line, column) = found
        .as_ref()
        .map(|found| (found.line(), found.column()))
        .filter(|(line, _)| *line > 0)
        .unwrap_or((1, 1));
    let message = match (error.kind, &found) {
        (JsonErrorKind::Syntax, Some(found)) => {
            let said = found.to_string();
            let bare = said.rsplit_once(" at line ").map(|(bare, _)| bare);
            bare.unwrap_or(&said).to_owned()
        }
        _ => error.to_string(),
    };
    Fault {
        line,
        column: characters(text, line, column),
        message,
    }
}

/// Whether a lenient reader refuses it as well.
const fn grammatical(kind: JsonErrorKind) -> bool {
    matches!(
        kind,
        JsonErrorKind::ByteOrderMark
            | JsonErrorKind::Number
            | JsonErrorKind::Surrogate
            | JsonErrorKind::Syntax
            | JsonErrorKind::Trailing
    )
}

/// The column in characters of one in bytes.
fn characters(text: &str, line: usize, column: usize) -> usize {
    let line = text.split('\n').nth(line.saturating_sub(1));
    let before = line.and_then(|line| line.get(..column));
    before
        .map_or(column, |before| before.chars().count())
        .max(1)
}

/// A walk to the place that an error names, or to where a lenient reader stops.
struct Search<'e> {
    place: Option<&'e str>,
    here: String,
    /// How often the place must still be passed.
    passes: u32,
}

impl<'e> Search<'e> {
    fn new(error: &'e JsonError) -> Self {
        Self {
            place: (!grammatical(error.kind)).then_some(error.path.as_str()),
            here: String::new(),
            passes: u32::from(error.kind == JsonErrorKind::DuplicateKey),
        }
    }

    fn arrived(&mut self) -> bool {
        if self.place != Some(self.here.as_str()) {
            return false;
        }
        let arrived = self.passes == 0;
        self.passes = self.passes.saturating_sub(1);
        arrived
    }

    /// Goes one step down; the answer is where to come back to.
    fn enter(&mut self, segment: &str) -> usize {
        let outer = self.here.len();
        self.here.push('/');
        self.here.push_str(&json::pointer_escape(segment));
        outer
    }
}

/// A value on the way.
struct Place<'s, 'e>(&'s mut Search<'e>);

impl<'de> DeserializeSeed<'de> for Place<'_, '_> {
    type Value = ();

    fn deserialize<D: de::Deserializer<'de>>(self, reader: D) -> Result<(), D::Error> {
        reader.deserialize_any(self)
    }
}

impl<'de> de::Visitor<'de> for Place<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_map<A: de::MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<String>()? {
            let outer = self.0.enter(&key);
            if self.0.arrived() {
                return Err(A::Error::custom("here"));
            }
            map.next_value_seed(Place(&mut *self.0))?;
            self.0.here.truncate(outer);
        }
        Ok(())
    }

    fn visit_seq<A: de::SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        let mut index = 0_usize;
        loop {
            let outer = self.0.enter(&index.to_string());
            if self.0.arrived() {
                return Err(A::Error::custom("here"));
            }
            if list.next_element_seed(Place(&mut *self.0))?.is_none() {
                return Ok(());
            }
            self.0.here.truncate(outer);
            index = index.saturating_add(1);
        }
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, line: usize, column: usize, says: &str) {
        let fault = read(text).unwrap_err();
        assert_eq!(
            (fault.line, fault.column),
            (line, column),
            "{text}: {fault:?}"
        );
        assert!(fault.message.contains(says), "{text}: {}", fault.message);
    }

    #[test]
    fn a_fault_is_told_with_its_place() {
        check("{\n  \"tools\": {},\n}", 3, 1, "trailing comma");
        check("{\"a\": [1, 2,]}", 1, 13, "trailing comma");
        check("{\n  // why\n}", 2, 3, "key must be a string");
        check("{\"tools\": {}", 1, 12, "EOF");
        check("", 1, 1, "EOF");
        check("{} {}", 1, 4, "followed by more text");
        check("\u{feff}{}", 1, 1, "byte order mark");
        check("{\"a\": \"\\ud800\"}", 1, 14, "surrogate");
        check(
            "{\n  \"tools\": {\n    \"é\": {}, \"é\": {}\n  }\n}",
            3,
            16,
            "`/tools/é` holds this key twice",
        );
        check("{\"a\": {\"b\": 1}, \"a\": {}}", 1, 19, "twice");
        check(
            "{\n\"perDay\": 9007199254740993}",
            2,
            8,
            "`/perDay` is an integer beyond",
        );
        check("[0,\n 9007199254740993]", 2, 1, "`/1` is an integer beyond");
        check("{\"a\": {\"\\u0000\": 1}}", 1, 15, "NUL");
        let deep = "[".repeat(80);
        check(&deep, 1, 64, "nested too deeply");
    }

    #[test]
    fn what_is_strict_is_read() {
        assert_eq!(
            read("{\"a\": [1, null]}"),
            Ok(serde_json::json!({"a": [1, null]}))
        );
    }
}
