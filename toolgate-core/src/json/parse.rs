//! A reader of JSON text that keeps number tokens and knows where it is.

use std::collections::BTreeSet;

use super::JsonError;
use super::JsonErrorKind;
use super::pointer_escape;

/// What is refused beyond the grammar.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    /// The most arrays and objects within one another.
    pub(super) depth: usize,
    /// Whether numbers and keys must survive every other reader.
    pub(super) strict: bool,
}

/// A value whose numbers are still spelt as they were sent.
#[derive(Debug)]
pub(super) enum Node<'t> {
    Null,
    Bool(bool),
    Number(&'t str),
    String(String),
    Array(Vec<Self>),
    Object(Vec<(String, Self)>),
}

/// Reads one value and nothing after it.
pub(super) fn parse(text: &str, limits: Limits) -> Result<Node<'_>, JsonError> {
    let mut parser = Parser {
        rest: text,
        limits,
        path: String::new(),
        depth: 0,
    };
    if text.starts_with('\u{feff}') {
        return Err(parser.error(JsonErrorKind::ByteOrderMark));
    }
    let node = parser.value()?;
    parser.white();
    if parser.rest.is_empty() {
        Ok(node)
    } else {
        Err(parser.error(JsonErrorKind::Trailing))
    }
}

struct Parser<'t> {
    rest: &'t str,
    limits: Limits,
    path: String,
    depth: usize,
}

impl<'t> Parser<'t> {
    fn error(&self, kind: JsonErrorKind) -> JsonError {
        JsonError {
            kind,
            path: self.path.clone(),
        }
    }

    fn syntax<T>(&self) -> Result<T, JsonError> {
        Err(self.error(JsonErrorKind::Syntax))
    }

    fn white(&mut self) {
        self.rest = self.rest.trim_start_matches([' ', '\t', '\n', '\r']);
    }

    fn eat(&mut self, word: &str) -> bool {
        let rest = self.rest.strip_prefix(word);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn value(&mut self) -> Result<Node<'t>, JsonError> {
        self.white();
        match self.rest.as_bytes().first() {
            Some(b'{') => self.nested(Self::object),
            Some(b'[') => self.nested(Self::array),
            Some(b'"') => self.string().map(Node::String),
            Some(b'-' | b'0'..=b'9') => self.number(),
            _ if self.eat("null") => Ok(Node::Null),
            _ if self.eat("true") => Ok(Node::Bool(true)),
            _ if self.eat("false") => Ok(Node::Bool(false)),
            _ => self.syntax(),
        }
    }

    fn nested(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<Node<'t>, JsonError>,
    ) -> Result<Node<'t>, JsonError> {
        self.depth += 1;
        if self.depth > self.limits.depth {
            return Err(self.error(JsonErrorKind::Depth));
        }
        let node = read(self)?;
        self.depth -= 1;
        Ok(node)
    }

    fn object(&mut self) -> Result<Node<'t>, JsonError> {
        self.eat("{");
        let mut members = Vec::new();
        let mut seen = BTreeSet::new();
        self.white();
        if self.eat("}") {
            return Ok(Node::Object(members));
        }
        loop {
            self.white();
            let key = self.string()?;
            let outer = self.path.len();
            self.path.push('/');
            self.path.push_str(&pointer_escape(&key));
            if self.limits.strict && key.contains('\0') {
                return Err(self.error(JsonErrorKind::NulInKey));
            }
            if key.starts_with(RESERVED) {
                return Err(self.error(JsonErrorKind::ReservedKey));
            }
            if !seen.insert(key.clone()) {
                return Err(self.error(JsonErrorKind::DuplicateKey));
            }
            self.white();
            if !self.eat(":") {
                return self.syntax();
            }
            let value = self.value()?;
            self.path.truncate(outer);
            members.push((key, value));
            self.white();
            if self.eat("}") {
                return Ok(Node::Object(members));
            }
            if !self.eat(",") {
                return self.syntax();
            }
        }
    }

    fn array(&mut self) -> Result<Node<'t>, JsonError> {
        self.eat("[");
        let mut items = Vec::new();
        self.white();
        if self.eat("]") {
            return Ok(Node::Array(items));
        }
        loop {
            let outer = self.path.len();
            self.path.push('/');
            self.path.push_str(&items.len().to_string());
            items.push(self.value()?);
            self.path.truncate(outer);
            self.white();
            if self.eat("]") {
                return Ok(Node::Array(items));
            }
            if !self.eat(",") {
                return self.syntax();
            }
        }
    }

    fn string(&mut self) -> Result<String, JsonError> {
        if !self.eat("\"") {
            return self.syntax();
        }
        let mut text = String::new();
        loop {
            let plain = self.rest.find(|c: char| matches!(c, '"' | '\\') || c < ' ');
            let Some((before, rest)) = plain.and_then(|at| self.rest.split_at_checked(at)) else {
                return self.syntax();
            };
            text.push_str(before);
            self.rest = rest;
            if self.eat("\"") {
                return Ok(text);
            }
            if !self.eat("\\") {
                return self.syntax();
            }
            text.push(self.escape()?);
        }
    }

    fn escape(&mut self) -> Result<char, JsonError> {
        for (word, meaning) in ESCAPES {
            if self.eat(word) {
                return Ok(*meaning);
            }
        }
        if !self.eat("u") {
            return self.syntax();
        }
        let first = self.unit()?;
        if let Some(c) = char::from_u32(first) {
            return Ok(c);
        }
        if !(0xd800..0xdc00).contains(&first) || !self.eat("\\u") {
            return Err(self.error(JsonErrorKind::Surrogate));
        }
        let second = self.unit()?;
        if !(0xdc00..0xe000).contains(&second) {
            return Err(self.error(JsonErrorKind::Surrogate));
        }
        let joined = 0x1_0000 + ((first - 0xd800) << 10) + (second - 0xdc00);
        char::from_u32(joined).ok_or_else(|| self.error(JsonErrorKind::Surrogate))
    }

    fn unit(&mut self) -> Result<u32, JsonError> {
        let Some((digits, rest)) = self.rest.split_at_checked(4) else {
            return self.syntax();
        };
        if !digits.bytes().all(|b| b.is_ascii_hexdigit()) {
            return self.syntax();
        }
        self.rest = rest;
        u32::from_str_radix(digits, 16).or_else(|_| self.syntax())
    }

    fn number(&mut self) -> Result<Node<'t>, JsonError> {
        let whole = self.rest;
        self.eat("-");
        if !self.eat("0") && self.digits() == 0 {
            return self.syntax();
        }
        let mut is_integer = true;
        if self.eat(".") {
            is_integer = false;
            if self.digits() == 0 {
                return self.syntax();
            }
        }
        if self.eat("e") || self.eat("E") {
            is_integer = false;
            if !self.eat("+") {
                self.eat("-");
            }
            if self.digits() == 0 {
                return self.syntax();
            }
        }
        let length = whole.len() - self.rest.len();
        let Some((token, _)) = whole.split_at_checked(length) else {
            return self.syntax();
        };
        if self.limits.strict {
            let double = token.parse::<f64>().unwrap_or(f64::INFINITY);
            if is_integer {
                let exact = token
                    .parse::<i64>()
                    .is_ok_and(|n| n.unsigned_abs() <= MOST_INTEGER);
                if !exact {
                    return Err(self.error(JsonErrorKind::Integer));
                }
            } else if !double.is_finite() {
                return Err(self.error(JsonErrorKind::Number));
            } else if (BEYOND_INTEGERS..SPELT_WITH_EXPONENT).contains(&double.abs()) {
                // Its canonical form is an integer that no reader may be given.
                return Err(self.error(JsonErrorKind::Integer));
            }
        }
        Ok(Node::Number(token))
    }

    fn digits(&mut self) -> usize {
        let rest = self.rest.trim_start_matches(|c: char| c.is_ascii_digit());
        let count = self.rest.len() - rest.len();
        self.rest = rest;
        count
    }
}

/// 2^53 − 1: beyond it, readers that hold numbers as doubles see another integer.
const MOST_INTEGER: u64 = 9_007_199_254_740_991;

/// How keys begin to which `serde_json` gives a meaning: it would read another value later.
const RESERVED: &str = "$serde_json::private::";

/// 2^53: from here on every double is an integer.
const BEYOND_INTEGERS: f64 = 9_007_199_254_740_992.0;
/// From here on RFC 8785 writes a number with an exponent.
const SPELT_WITH_EXPONENT: f64 = 1e21;

const ESCAPES: &[(&str, char)] = &[
    ("\"", '"'),
    ("\\", '\\'),
    ("/", '/'),
    ("b", '\u{8}'),
    ("f", '\u{c}'),
    ("n", '\n'),
    ("r", '\r'),
    ("t", '\t'),
];
