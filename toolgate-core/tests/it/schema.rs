//! Arguments against input schemas.

use serde_json::Value;
use serde_json::json;
use toolgate_core::schema::ArgumentSchema;
use toolgate_core::schema::Checker;
use toolgate_core::schema::Closing;

const DRAFT_7: &str = "http://json-schema.org/draft-07/schema#";

/// The places and keywords of the faults.
fn faults(schema: &Value, args: &Value, closing: Closing) -> Vec<(String, String)> {
    let schema = ArgumentSchema::new(schema);
    assert!(schema.usable(), "{schema:?}");
    let found = schema.check(args.as_object().unwrap(), closing);
    let found = found.err().unwrap_or_default();
    found
        .into_iter()
        .map(|fault| (fault.path, fault.keyword))
        .collect()
}

// spec: AG-07
#[test]
fn a_schema_is_closed_to_what_it_does_not_name() {
    let text = json!({ "type": "string" });
    let schemas = [
        json!({ "type": "object", "properties": { "a": text } }),
        json!({ "type": "object", "properties": { "a": { "$ref": "#/$defs/t" } }, "$defs": { "t": text } }),
        json!({ "$ref": "#/$defs/all", "$defs": { "all": { "type": "object", "properties": { "a": text } } } }),
        json!({ "$schema": DRAFT_7, "properties": { "a": { "$ref": "#/definitions/t" } }, "definitions": { "t": text } }),
        json!({ "$schema": DRAFT_7, "$ref": "#/definitions/all", "definitions": { "all": { "properties": { "a": text } } } }),
        json!({ "$schema": DRAFT_7, "$id": "#root", "properties": { "a": { "$ref": "#/definitions/t" } }, "definitions": { "t": text } }),
        json!({ "$id": "https://example.com/tool", "properties": { "a": { "$ref": "#/$defs/t" } }, "$defs": { "t": text } }),
        json!({ "$id": "tool.json", "properties": { "a": { "$ref": "#/$defs/t" } }, "$defs": { "t": text } }),
        json!({ "$schema": "https://example.com/dialect", "properties": { "a": text } }),
        json!({ "properties": { "a": { "$ref": "#text" } }, "$defs": { "t": { "$anchor": "text", "type": "string" } } }),
        json!({ "type": "object", "properties": { "a": text }, "additionalProperties": false }),
        json!({ "patternProperties": { "^a$": text } }),
        json!({ "anyOf": [{ "properties": { "a": text } }, { "properties": { "c": text }, "required": ["c"] }] }),
        json!({ "allOf": [{ "properties": { "a": text } }, { "properties": { "c": text } }] }),
        json!({ "if": { "properties": { "a": text } }, "then": { "properties": { "c": text } } }),
        json!({ "properties": { "a": text }, "unevaluatedProperties": false }),
    ];
    for schema in schemas {
        assert_eq!(
            faults(&schema, &json!({ "a": "x" }), Closing::Closed),
            [],
            "{schema}"
        );
        let unknown = faults(&schema, &json!({ "a": "x", "b~/": 1 }), Closing::Closed);
        assert_eq!(unknown.len(), 1, "{schema}");
        assert_eq!(unknown[0].0, "/b~0~1", "{schema}");
        let wrong = faults(&schema, &json!({ "a": 1 }), Closing::Closed);
        assert!(
            !wrong.is_empty() && wrong[0].0 != "/b",
            "{schema} {wrong:?}"
        );
    }
}

#[test]
fn a_schema_that_opens_itself_stays_open() {
    for schema in [
        json!({ "properties": { "a": {} }, "additionalProperties": true }),
        json!({ "properties": { "a": {} }, "additionalProperties": { "type": "integer" } }),
        json!({ "properties": { "a": {} }, "unevaluatedProperties": true }),
    ] {
        assert_eq!(
            faults(&schema, &json!({ "b": 1 }), Closing::Closed),
            [],
            "{schema}"
        );
    }
}

#[test]
fn a_reference_to_the_root_means_the_authors_schema() {
    let schema = json!({ "type": "object", "properties": { "child": { "$ref": "#" } } });
    let args = json!({ "child": { "child": { "other": 1 } } });
    assert_eq!(faults(&schema, &args, Closing::Closed), []);
    let args = json!({ "child": { "child": 1 } });
    let type_fault = ("/child/child".to_owned(), "type".to_owned());
    assert_eq!(faults(&schema, &args, Closing::Closed), [type_fault]);
}

#[test]
fn an_older_draft_keeps_its_meaning() {
    let schema = json!({
        "$schema": "http://json-schema.org/draft-04/schema#",
        "properties": { "n": { "minimum": 1, "exclusiveMinimum": true } },
    });
    assert_eq!(faults(&schema, &json!({ "n": 2 }), Closing::Closed), []);
    assert_eq!(
        faults(&schema, &json!({ "n": 1 }), Closing::Closed).len(),
        1
    );
    let tuple =
        json!({ "$schema": DRAFT_7, "properties": { "t": { "items": [{ "type": "string" }] } } });
    assert_eq!(
        faults(&tuple, &json!({ "t": ["x", 1] }), Closing::Closed),
        []
    );
    assert_eq!(
        faults(&tuple, &json!({ "t": [1] }), Closing::Closed).len(),
        1
    );
}

#[test]
fn a_schema_that_cannot_be_checked_alone_is_unusable() {
    for schema in [
        json!({ "$ref": "https://example.com/schema.json" }),
        json!({ "properties": { "a": { "$ref": "other.json" } } }),
        json!({ "properties": { "a": { "$ref": "#/$defs/missing" } } }),
        json!({ "properties": { "a": { "pattern": "(?=x)" } } }),
        json!({ "properties": { "a": { "pattern": "(" } } }),
        json!({ "type": "strong" }),
        json!({ "properties": 1 }),
    ] {
        let compiled = ArgumentSchema::new(&schema);
        assert!(!compiled.usable(), "{schema}");
        assert!(
            compiled
                .check(&serde_json::Map::new(), Closing::Open)
                .is_err()
        );
        assert!(Checker::new(&schema).is_none());
    }
}

// spec: F38
#[test]
fn a_pattern_of_a_schema_runs_in_linear_time() {
    let schema = ArgumentSchema::new(&json!({ "properties": { "a": { "pattern": "^(a+)+$" } } }));
    let args = json!({ "a": format!("{}!", "a".repeat(50_000)) });
    assert!(
        schema
            .check(args.as_object().unwrap(), Closing::Closed)
            .is_err()
    );
}

// spec: F38
#[test]
fn all_patterns_of_a_schema_together_are_small() {
    let schema = |count: usize, pattern: &str| {
        let one = |n: usize| json!({ "pattern": format!("{pattern}{n}") });
        let all: Vec<_> = (0..count).map(one).collect();
        ArgumentSchema::new(&json!({ "properties": { "a": { "anyOf": all } } })).usable()
    };
    assert!(schema(1, r"\p{L}{9}"));
    assert!(!schema(400, r"\p{L}{9}"));
    assert!(schema(400, "^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{12}$"));
}

#[test]
fn faults_name_place_and_keyword_and_never_a_value() {
    let schema = ArgumentSchema::new(&json!({
        "properties": {
            "kind": { "enum": ["a", "b"] },
            "list": { "items": { "type": "integer", "maximum": 5 } },
            "name": { "maxLength": 3 },
        },
        "required": ["kind"],
    }));
    let args = json!({ "list": [1, 9, "hunter2"], "name": "hunter2" });
    let faults = schema
        .check(args.as_object().unwrap(), Closing::Closed)
        .unwrap_err();
    assert!(!format!("{faults:?}").contains("hunter2"));
    let mut found: Vec<_> = faults
        .iter()
        .map(|f| (f.path.as_str(), f.keyword.as_str(), f.expected.clone()))
        .collect();
    found.sort_by(|a, b| a.0.cmp(b.0));
    assert_eq!(
        found,
        [
            ("/kind", "required", None),
            ("/list/1", "maximum", Some(json!({ "maximum": 5 }))),
            ("/list/2", "type", Some(json!({ "type": "integer" }))),
            ("/name", "maxLength", Some(json!({ "maxLength": 3 }))),
        ]
    );
    let args = json!({ "kind": "hunter2" });
    let faults = schema
        .check(args.as_object().unwrap(), Closing::Closed)
        .unwrap_err();
    assert_eq!(faults[0].expected, Some(json!({ "enum": ["a", "b"] })));
    let many: serde_json::Map<_, _> = (0..100).map(|n| (n.to_string(), json!(n))).collect();
    let schema = ArgumentSchema::new(&json!({ "properties": {} }));
    assert_eq!(schema.check(&many, Closing::Closed).unwrap_err().len(), 16);
}

#[test]
fn a_string_becomes_what_the_schema_wants_once() {
    let schema = ArgumentSchema::new(&json!({
        "properties": {
            "object": { "type": "object" },
            "list": { "$ref": "#/$defs/list" },
            "number": { "type": "number" },
            "integer": { "anyOf": [{ "type": "integer" }, { "type": "null" }] },
            "both": { "type": ["string", "object"] },
            "any": {},
            "flag": { "type": "boolean" },
        },
        "$defs": { "list": { "type": "array" } },
        "additionalProperties": true,
    }));
    let cases = [
        ("object", r#"{"a":1}"#, json!({ "a": 1 })),
        ("object", r#"{"a":1,"a":2}"#, json!(r#"{"a":1,"a":2}"#)),
        ("object", r#""{}""#, json!(r#""{}""#)),
        ("object", "[1]", json!("[1]")),
        ("list", "[1]", json!([1])),
        ("number", "1.5", json!(1.5)),
        ("number", "9007199254740993", json!("9007199254740993")),
        ("integer", "7", json!(7)),
        ("integer", "1.5", json!("1.5")),
        ("integer", "null", json!("null")),
        ("both", "{}", json!("{}")),
        ("any", "{}", json!("{}")),
        ("flag", "true", json!("true")),
        ("unnamed", "{}", json!("{}")),
    ];
    for (name, sent, expected) in cases {
        let mut args = serde_json::Map::new();
        args.insert(name.to_owned(), json!(sent));
        schema.coerce(&mut args);
        assert_eq!(args[name], expected, "{name} {sent}");
    }
}

#[test]
fn unnamed_arguments_can_be_dropped() {
    for schema in [
        json!({ "properties": { "a": { "type": "string" } } }),
        json!({ "properties": { "a": { "type": "string" } }, "additionalProperties": false }),
    ] {
        let schema = ArgumentSchema::new(&schema);
        let mut args = json!({ "x": 1, "a": "1", "y": 2 })
            .as_object()
            .unwrap()
            .clone();
        let mut dropped = schema.drop_unnamed(&mut args);
        dropped.sort();
        assert_eq!(dropped, ["x", "y"]);
        assert_eq!(Value::Object(args.clone()), json!({ "a": "1" }));
        assert!(schema.check(&args, Closing::Closed).is_ok());
    }
}

#[test]
fn only_a_schema_that_names_nothing_is_free() {
    for (schema, is_free) in [
        (json!({ "type": "object" }), true),
        (json!({}), true),
        (json!({ "type": "object", "maxProperties": 3 }), true),
        (json!({ "type": "object", "properties": {} }), false),
        (
            json!({ "type": "object", "additionalProperties": false }),
            false,
        ),
        (json!({ "$ref": "#/$defs/a", "$defs": { "a": {} } }), false),
    ] {
        assert_eq!(ArgumentSchema::new(&schema).is_free(), is_free, "{schema}");
    }
    let schema =
        json!({ "properties": { "b": {}, "a": {} }, "allOf": [{ "properties": { "c": {} } }] });
    assert_eq!(
        ArgumentSchema::new(&schema).argument_names(),
        ["b", "a", "c"]
    );
}

/// Definitions that each name the next one twice, in the same place.
fn doubling(levels: usize) -> Value {
    let mut defs: serde_json::Map<_, _> = (0..levels)
        .map(|level| {
            let next = json!({ "$ref": format!("#/$defs/d{}", level + 1) });
            (format!("d{level}"), json!({ "allOf": [next, next] }))
        })
        .collect();
    defs.insert(format!("d{levels}"), json!({ "type": "object" }));
    json!({ "$ref": "#/$defs/d0", "$defs": defs })
}

// spec: F38
#[test]
fn a_schema_cannot_make_a_check_take_for_ever() {
    let empty = serde_json::Map::new();
    assert!(
        ArgumentSchema::new(&doubling(8))
            .check(&empty, Closing::Open)
            .is_ok()
    );
    assert!(
        ArgumentSchema::new(&doubling(60))
            .check(&empty, Closing::Open)
            .is_err()
    );
    let mut hidden = doubling(60);
    hidden["properties"] = json!({ "a": { "$ref": "#/$defs/d1", "unevaluatedProperties": false } });
    hidden["$ref"] = json!("#/$defs/d60");
    assert!(!ArgumentSchema::new(&hidden).usable());
    let branching = json!({ "type": "object", "properties": { "n": { "$ref": "#/$defs/n" } }, "$defs": { "n": { "anyOf": [
        { "type": "array", "items": { "$ref": "#/$defs/n" } },
        { "type": "array", "minItems": 1, "items": { "$ref": "#/$defs/n" } },
        { "const": 1 },
    ] } } });
    let schema = ArgumentSchema::new(&branching);
    for (levels, passes) in [(3, true), (10, true), (60, false)] {
        let nested = (0..levels).fold(json!(1), |inner, _| json!([inner]));
        let args = json!({ "n": nested });
        let found = schema.check(args.as_object().unwrap(), Closing::Closed);
        assert_eq!(found.is_ok(), passes, "{levels}");
        let nested = (0..levels).fold(json!(2), |inner, _| json!([inner]));
        assert!(
            !Checker::new(&branching)
                .unwrap()
                .is_valid(&json!({ "n": nested }))
        );
    }
    let tree = json!({ "type": "object", "properties": { "left": { "$ref": "#" }, "right": { "$ref": "#" } } });
    let deep = (0..60).fold(json!({}), |inner, _| json!({ "left": inner }));
    assert_eq!(faults(&tree, &deep, Closing::Closed), []);
    for circular in [
        json!({ "$ref": "#" }),
        json!({ "allOf": [{ "$ref": "#" }] }),
        json!({ "anyOf": [{ "$ref": "#/$defs/a" }], "$defs": { "a": { "not": { "$ref": "#" } } } }),
        json!({ "properties": { "a": { "$id": "https://example.com/a", "$ref": "#/$defs/b" } } }),
    ] {
        assert!(!ArgumentSchema::new(&circular).usable(), "{circular}");
    }
    let chain: serde_json::Map<_, _> = (0..3_000)
        .map(|at| {
            (
                format!("d{at}"),
                json!({ "$ref": format!("#/$defs/d{}", at + 1) }),
            )
        })
        .chain([("d3000".to_owned(), json!({}))])
        .collect();
    let chain = json!({ "$ref": "#/$defs/d0", "$defs": chain });
    assert!(!ArgumentSchema::new(&chain).usable());
    let wide: Vec<Value> = (0..50).map(|_| json!({ "$ref": "#/$defs/a" })).collect();
    let wide = json!({ "properties": { "a": { "$ref": "#/$defs/a" } }, "$defs": { "a": { "items": { "anyOf": wide }, "anyOf": [{ "items": { "$ref": "#/$defs/a" } }] } } });
    let mut args = json!({ "a": "[[[[1]]]]" }).as_object().unwrap().clone();
    ArgumentSchema::new(&wide).coerce(&mut args);
    assert_eq!(args["a"], "[[[[1]]]]");
}
