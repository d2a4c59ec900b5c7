//! The support desk.

use std::sync::Arc;

use serde_json::json;
use toolgate_backends::Desk;
use toolgate_backends::RecordStore as _;
use toolgate_backends::memory::MemoryRecords;
use toolgate_backends::seed;

use super::host::call;
use super::stores::Slow;

// spec: DB-01
#[tokio::test]
async fn tickets_are_listed_read_commented_and_closed() {
    let records = Arc::new(MemoryRecords::default());
    seed::records(records.as_ref()).await.unwrap();
    let desk = Desk::new(records).unwrap();
    let all = call(&desk, "tickets_list", json!({})).await;
    assert_eq!(
        all["structuredContent"]["tickets"]
            .as_array()
            .unwrap()
            .len(),
        4
    );
    let one = call(&desk, "tickets_get", json!({"id": "T-1"})).await;
    assert_eq!(one["structuredContent"]["comments"], json!([]));
    let said = call(
        &desk,
        "tickets_comment",
        json!({"id": "T-1", "body": "On its way."}),
    )
    .await;
    assert_eq!(
        said["structuredContent"]["comments"][0]["body"],
        "On its way."
    );
    for _ in 0..2 {
        let closed = json!({"id": "T-1", "reason": "done"});
        let closed = call(&desk, "tickets_close", closed).await;
        assert_eq!(closed["structuredContent"]["status"], "closed");
        assert_eq!(
            closed["structuredContent"]["comments"]
                .as_array()
                .unwrap()
                .len(),
            2
        );
    }
    let open = call(&desk, "tickets_list", json!({"status": "open"})).await;
    assert_eq!(
        open["structuredContent"]["tickets"]
            .as_array()
            .unwrap()
            .len(),
        3
    );
    let missing = call(&desk, "tickets_get", json!({"id": "T-99"})).await;
    assert_eq!(missing["isError"], true);
}

#[tokio::test]
async fn a_ticket_that_is_not_there_is_not_made() {
    let records = Arc::new(MemoryRecords::default());
    let desk = Desk::new(records.clone()).unwrap();
    let calls = [
        ("tickets_comment", json!({"id": "T-9", "body": "hello"})),
        ("tickets_close", json!({"id": "T-9"})),
        ("tickets_get", json!({"id": ""})),
    ];
    for (tool, arguments) in calls {
        assert_eq!(call(&desk, tool, arguments).await["isError"], true);
    }
    assert!(records.list("tickets", "").await.unwrap().is_empty());
}

#[tokio::test]
async fn comments_that_come_at_once_are_all_kept() {
    let records = Arc::new(Slow::default());
    seed::records(records.as_ref()).await.unwrap();
    let desk = Desk::new(records).unwrap();
    let say = |body: &str| {
        let comment = json!({"id": "T-1", "body": body});
        call(&desk, "tickets_comment", comment)
    };
    tokio::join!(say("one"), say("two"), say("three"));
    let ticket = call(&desk, "tickets_get", json!({"id": "T-1"})).await;
    let comments = ticket["structuredContent"]["comments"].as_array().unwrap();
    assert_eq!(comments.len(), 3);
}

#[tokio::test]
async fn a_thread_of_comments_has_an_end() {
    let records = Arc::new(MemoryRecords::default());
    seed::records(records.as_ref()).await.unwrap();
    let desk = Desk::new(records).unwrap();
    for _ in 0..500 {
        let comment = json!({"id": "T-1", "body": "x"});
        assert!(
            call(&desk, "tickets_comment", comment)
                .await
                .get("isError")
                .is_none()
        );
    }
    let comment = json!({"id": "T-1", "body": "x"});
    assert_eq!(
        call(&desk, "tickets_comment", comment).await["isError"],
        true
    );
}
