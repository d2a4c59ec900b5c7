//! Arguments that a modern client mirrors in headers, so that what stands between may route by them.

use http::HeaderMap;
use http::HeaderName;
use serde_json::Value;
use toolgate_core::json::parse_strict;

use super::headers::Once;
use super::headers::mirrored;
use super::headers::once;

/// Whether every header that the schema asks for says what the arguments say, and no other is there.
///
/// Arguments that cannot be read agree: the gate refuses them with better reasons.
pub(super) fn agrees(schema: &Value, headers: &HeaderMap, arguments: &str) -> bool {
    let mut wanted = Vec::new();
    annotated(schema, &mut Vec::new(), &mut wanted);
    if wanted.is_empty() {
        return true;
    }
    let arguments = if arguments.is_empty() {
        Value::Null
    } else {
        match parse_strict(arguments) {
            Ok(arguments) => arguments,
            Err(_) => return true,
        }
    };
    wanted.iter().all(|(name, path)| {
        let value = path
            .iter()
            .try_fold(&arguments, |value, step| value.get(step));
        let header = HeaderName::try_from(format!("mcp-param-{name}"));
        header.is_ok_and(|header| says(once(headers, &header), value.unwrap_or(&Value::Null)))
    })
}

fn says(header: Once<'_>, value: &Value) -> bool {
    let said = match header {
        Once::Malformed => return false,
        // An object or array cannot be mirrored, and is nothing that such a schema admits.
        Once::Absent => return value.is_null() || value.is_object() || value.is_array(),
        Once::Is(said) => said,
    };
    match (mirrored(said), value) {
        (Some(said), Value::String(text)) => said == *text,
        (Some(said), Value::Bool(is)) => said == if *is { "true" } else { "false" },
        (Some(said), Value::Number(number)) => said
            .parse::<f64>()
            .is_ok_and(|said| Some(said) == number.as_f64()),
        _ => false,
    }
}

/// Collects each annotated property that only a chain of `properties` leads to.
fn annotated<'s>(
    schema: &'s Value,
    path: &mut Vec<&'s str>,
    found: &mut Vec<(&'s str, Vec<&'s str>)>,
) {
    if path.len() >= MOST_STEPS {
        return;
    }
    let properties = schema.get("properties").and_then(Value::as_object);
    for (name, property) in properties.into_iter().flatten() {
        path.push(name);
        if let Some(header) = property.get("x-mcp-header").and_then(Value::as_str) {
            found.push((header, path.clone()));
        }
        annotated(property, path, found);
        path.pop();
    }
}

/// The longest chain that is followed: arguments are not nested deeper.
const MOST_STEPS: usize = 64;
