//! The keys of the file, once: for its reader, its JSON Schema and its template.

use serde_json::Map;
use serde_json::Value;
use serde_json::json;
use toolgate_axum::native::Connector;

/// One key of the file.
pub(super) struct Key {
    pub(super) name: &'static str,
    /// What it says, in a sentence.
    about: &'static str,
    /// Its default, or an example, in TOML.
    example: &'static str,
    /// Whether the template leaves it commented out.
    optional: bool,
}

pub(super) const KEYS: [Key; 6] = [
    Key {
        name: "listen",
        about: "The address and the port that the gate listens on.",
        example: "\"127.0.0.1:8787\"",
        optional: false,
    },
    Key {
        name: "data",
        about: "The folder that holds everything the gate keeps; a relative one is found from \
                the folder of this file.",
        example: "\"toolgate-data\"",
        optional: false,
    },
    Key {
        name: "connectors",
        about: "Built-in sources of tools; all are off unless named.",
        example: "[]",
        optional: false,
    },
    Key {
        name: "durability",
        about: "`strict` survives a power cut; `relaxed` answers reads sooner and survives a crash.",
        example: "\"strict\"",
        optional: false,
    },
    Key {
        name: "publicUrl",
        about: "The address that agents and people use, if a proxy stands before the gate.",
        example: "\"https://gate.example.com\"",
        optional: true,
    },
    Key {
        name: "metricsToken",
        about: "The bearer token of `/metrics`; without it, only programs on this machine read them.",
        example: "\"$TOOLGATE_METRICS_TOKEN\"",
        optional: true,
    },
];

/// The JSON Schema of the file.
pub(crate) fn schema() -> Value {
    let words: Vec<_> = Connector::ALL.iter().map(|c| c.as_str()).collect();
    let mut properties = Map::new();
    for key in &KEYS {
        let mut property = match key.name {
            "connectors" => json!({
                "type": "array", "items": {"enum": words}, "uniqueItems": true, "default": [],
            }),
            "durability" => json!({"enum": ["strict", "relaxed"], "default": "strict"}),
            "publicUrl" => json!({"type": "string", "format": "uri"}),
            "listen" => json!({"type": "string", "default": "127.0.0.1:8787"}),
            "data" => json!({"type": "string", "default": "toolgate-data"}),
            _ => json!({"type": "string"}),
        };
        if let Some(members) = property.as_object_mut() {
            members.insert("description".to_owned(), json!(key.about));
        }
        properties.insert(key.name.to_owned(), property);
    }
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "toolgate.toml",
        "type": "object",
        "properties": properties,
        "additionalProperties": false,
    })
}

/// A commented file to start from.
pub(crate) fn template() -> String {
    let words: Vec<_> = Connector::ALL
        .iter()
        .map(|connector| format!("\"{}\"", connector.as_str()))
        .collect();
    let mut text = String::new();
    for key in &KEYS {
        if !text.is_empty() {
            text.push('\n');
        }
        text.push_str("# ");
        text.push_str(key.about);
        if key.name == "connectors" {
            text.push_str("\n# There are ");
            text.push_str(&words.join(", "));
            text.push('.');
        }
        text.push('\n');
        if key.optional {
            text.push_str("# ");
        }
        text.push_str(key.name);
        text.push_str(" = ");
        text.push_str(key.example);
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::super::Config;
    use super::super::read;
    use super::*;

    #[test]
    fn the_template_is_the_default_and_every_key_of_it_is_known() {
        assert_eq!(read(&template(), &|_| None), Ok(Config::default()));
        let all = template().replace("# publicUrl", "publicUrl");
        let all = all.replace("# metricsToken", "metricsToken");
        let set = |_: &str| Some("0123456789abcdef01234567".to_owned());
        assert!(read(&all, &set).is_ok());
    }
}
