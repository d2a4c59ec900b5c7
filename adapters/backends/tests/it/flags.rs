//! Feature flags.

use std::sync::Arc;

use serde_json::json;
use toolgate_backends::Flags;
use toolgate_backends::RecordStore;
use toolgate_backends::memory::MemoryRecords;

use super::host::call;

// spec: DB-02
#[tokio::test]
async fn flags_are_listed_read_and_set() {
    let flags = Flags::new(Arc::new(MemoryRecords::default())).unwrap();
    assert_eq!(
        call(&flags, "flags_list", json!({})).await["structuredContent"]["flags"],
        json!([])
    );
    assert_eq!(
        call(&flags, "flags_get", json!({"name": "a"})).await["isError"],
        true
    );
    for value in [json!(true), json!("on"), json!(2.5)] {
        call(&flags, "flags_set", json!({"name": "a", "value": value})).await;
        let read = call(&flags, "flags_get", json!({"name": "a"})).await;
        assert_eq!(
            read["structuredContent"],
            json!({"name": "a", "value": value})
        );
    }
}

// spec: KS-02
#[tokio::test]
async fn no_name_reaches_anything_but_a_flag() {
    let records = Arc::new(MemoryRecords::default());
    records.put("control", "kill", &json!(false)).await.unwrap();
    let flags = Flags::new(records.clone()).unwrap();
    for name in [
        "../control/kill",
        "control/kill",
        "kill",
        "..\\control\\kill",
        "%2e%2e/control",
    ] {
        call(&flags, "flags_set", json!({"name": name, "value": true})).await;
        assert_eq!(records.get("flags", name).await.unwrap(), Some(json!(true)));
    }
    assert_eq!(
        records.get("control", "kill").await.unwrap(),
        Some(json!(false))
    );
    assert_eq!(records.list("control", "").await.unwrap().len(), 1);
}

#[tokio::test]
async fn there_is_an_end_to_flags_but_not_to_setting_them() {
    let records = Arc::new(MemoryRecords::default());
    for number in 0..10_000 {
        let name = format!("f{number}");
        records.put("flags", &name, &json!(1)).await.unwrap();
    }
    let flags = Flags::new(records).unwrap();
    let new = call(&flags, "flags_set", json!({"name": "new", "value": 1})).await;
    assert_eq!(new["isError"], true);
    let old = call(&flags, "flags_set", json!({"name": "f1", "value": 2})).await;
    assert_eq!(old["structuredContent"]["value"], 2);
}
