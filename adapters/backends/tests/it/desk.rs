//! The support desk.

use std::sync::Arc;

use serde_json::json;
use toolgate_backends::Desk;
use toolgate_backends::memory::MemoryRecords;
use toolgate_backends::seed;

use super::host::call;

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
