//! Reads what a caller sends: strict JSON of known members, and known query parameters.
//!
//! Errors name the place, never a value.

use http::HeaderMap;
use http::StatusCode;
use http::header;
use serde_json::Map;
use serde_json::Value;
use toolgate_core::id::OperatorName;
use toolgate_core::json::parse_strict;

use crate::answer::Problem;

/// The longest text that an operator may give as a reason, in characters.
const MOST_REASON: usize = 1_000;

/// The members of a body, taken one by one; what is left over is an error.
#[derive(Debug)]
pub(crate) struct Fields(Map<String, Value>);

impl Fields {
    /// Reads a body; an empty one has no members.
    pub(crate) fn read(headers: &HeaderMap, body: &[u8]) -> Result<Self, Problem> {
        if body.is_empty() {
            return Ok(Self(Map::new()));
        }
        let kind = headers
            .get(header::CONTENT_TYPE)
            .and_then(|kind| kind.to_str().ok());
        let essence = kind.and_then(|kind| kind.split(';').next()).map(str::trim);
        if !essence.is_some_and(|kind| kind.eq_ignore_ascii_case("application/json")) {
            return Err(Problem::new(
                StatusCode::UNSUPPORTED_MEDIA_TYPE,
                "unsupported_media_type",
                "the body is not application/json",
            ));
        }
        let malformed = |path: &str| {
            Problem::new(
                StatusCode::BAD_REQUEST,
                "malformed",
                "the body is not strict JSON",
            )
            .details(serde_json::json!([{"path": path, "message": "is not strict JSON"}]))
        };
        let text = std::str::from_utf8(body).map_err(|_| malformed(""))?;
        let value = parse_strict(text).map_err(|error| malformed(&error.path))?;
        match value {
            Value::Object(members) => Ok(Self(members)),
            _ => Err(Problem::invalid("", "the body is not an object")),
        }
    }

    /// A member that must be there.
    pub(crate) fn need(&mut self, name: &str) -> Result<Value, Problem> {
        self.take(name)
            .ok_or_else(|| Problem::invalid(&format!("/{name}"), format!("`{name}` is missing")))
    }

    /// A member that may be absent; `null` counts as absent.
    pub(crate) fn take(&mut self, name: &str) -> Option<Value> {
        self.0.remove(name).filter(|value| !value.is_null())
    }

    /// A text that may be absent.
    pub(crate) fn text(&mut self, name: &str) -> Result<Option<String>, Problem> {
        match self.take(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => Err(shape(name, "a text")),
        }
    }

    /// A text that must be there.
    pub(crate) fn needed_text(&mut self, name: &str) -> Result<String, Problem> {
        match self.need(name)? {
            Value::String(text) => Ok(text),
            _ => Err(shape(name, "a text")),
        }
    }

    /// A name of some kind that may be absent.
    pub(crate) fn parsed<T: std::str::FromStr>(&mut self, name: &str) -> Result<Option<T>, Problem>
    where
        T::Err: std::fmt::Display,
    {
        let text = self.text(name)?;
        text.map(|text| read(name, &text)).transpose()
    }

    /// A name of some kind that must be there.
    pub(crate) fn needed<T: std::str::FromStr>(&mut self, name: &str) -> Result<T, Problem>
    where
        T::Err: std::fmt::Display,
    {
        read(name, &self.needed_text(name)?)
    }

    /// The reason of an operator, if there is one.
    pub(crate) fn reason(&mut self) -> Result<Option<String>, Problem> {
        let reason = self
            .text("reason")?
            .filter(|reason| !reason.trim().is_empty());
        if reason
            .as_ref()
            .is_some_and(|reason| reason.chars().count() > MOST_REASON)
        {
            return Err(shape("reason", "at most 1000 characters long"));
        }
        Ok(reason)
    }

    /// Ends the reading. Who acts is the authenticated operator: a `by` that names somebody else
    /// is refused, and so is every member that was not asked for.
    pub(crate) fn end(mut self, operator: &OperatorName) -> Result<(), Problem> {
        if let Some(by) = self.take("by")
            && by.as_str() != Some(operator.as_str())
        {
            let message = "`by` names somebody else than the operator whose token this is";
            return Err(Problem::invalid("/by", message));
        }
        match self.0.keys().next() {
            None => Ok(()),
            Some(name) => {
                let name: String = name.chars().filter(|c| !c.is_control()).take(64).collect();
                let path = format!("/{}", toolgate_core::json::pointer_escape(&name));
                Err(Problem::invalid(
                    &path,
                    "the body has a member that this route does not take",
                ))
            }
        }
    }
}

/// Reads a name of some kind; its own rule says what is wrong with it.
fn read<T: std::str::FromStr>(name: &str, text: &str) -> Result<T, Problem>
where
    T::Err: std::fmt::Display,
{
    text.parse()
        .map_err(|rule: T::Err| Problem::invalid(&format!("/{name}"), format!("`{name}` {rule}")))
}

fn shape(name: &str, expected: &str) -> Problem {
    Problem::invalid(&format!("/{name}"), format!("`{name}` is not {expected}"))
}

/// The parameters of a query, each at most once and all of them known.
pub(crate) struct Query(Vec<(String, String)>);

impl Query {
    pub(crate) fn read(query: Option<&str>, known: &[&str]) -> Result<Self, Problem> {
        let mut read: Vec<(String, String)> = Vec::new();
        let pairs = url::form_urlencoded::parse(query.unwrap_or_default().as_bytes());
        for (name, value) in pairs {
            let twice = read.iter().any(|(other, _)| *other == name);
            if twice || !known.contains(&name.as_ref()) {
                let message = match (twice, known) {
                    (true, _) => "a query parameter is there twice".to_owned(),
                    (false, []) => "there are no query parameters here".to_owned(),
                    (false, known) => format!(
                        "a query parameter is unknown; known are {}",
                        known.join(", ")
                    ),
                };
                return Err(Problem::invalid("", message));
            }
            read.push((name.into_owned(), value.into_owned()));
        }
        Ok(Self(read))
    }

    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        self.0
            .iter()
            .find(|(other, _)| other == name)
            .map(|(_, value)| value.as_str())
    }

    /// A whole number from 1 to `most`.
    pub(crate) fn number(&self, name: &str, most: u64) -> Result<Option<u64>, Problem> {
        let Some(text) = self.text(name) else {
            return Ok(None);
        };
        let number = text
            .parse::<u64>()
            .ok()
            .filter(|number| (1..=most).contains(number));
        number.map(Some).ok_or_else(|| {
            Problem::invalid(
                "",
                format!("`{name}` is not a whole number from 1 to {most}"),
            )
        })
    }
}
