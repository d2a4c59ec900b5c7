//! The demo's data.

use std::sync::Arc;

use toolgate_backends::Desk;
use toolgate_backends::Fetch;
use toolgate_backends::Fetched;
use toolgate_backends::Files;
use toolgate_backends::Flags;
use toolgate_backends::RecordStore as _;
use toolgate_backends::Web;
use toolgate_backends::memory::MemoryFiles;
use toolgate_backends::memory::MemoryRecords;
use toolgate_backends::seed;
use toolgate_core::catalog::Catalog;
use toolgate_core::catalog::Tool;
use toolgate_core::policy;
use toolgate_mcp::upstream::Upstream;

#[derive(Debug)]
struct Nowhere;

#[async_trait::async_trait]
impl Fetch for Nowhere {
    async fn get(
        &self,
        _: &str,
        _: &toolgate_core::rules::HostRules,
        _: usize,
    ) -> Result<Fetched, toolgate_backends::BackendError> {
        Ok(Fetched::default())
    }
}

// spec: DB-05
#[tokio::test]
async fn the_seed_holds_known_example_values_and_is_written_once() {
    let records = MemoryRecords::default();
    seed::records(&records).await.unwrap();
    let all = format!("{:?}{:?}", seed::tickets(), seed::files());
    for value in [
        "AKIAIOSFODNN7EXAMPLE",
        "hunter2",
        "4242 4242 4242 4242",
        "+1 202-555-0143",
    ] {
        assert!(all.contains(value));
    }
    assert!(all.contains(&seed::INJECTION.replace('"', "\\\"")));
    records
        .put("flags", "dark_mode", &serde_json::json!(false))
        .await
        .unwrap();
    seed::records(&records).await.unwrap();
    assert_eq!(
        records.get("flags", "dark_mode").await.unwrap(),
        Some(serde_json::json!(false))
    );
}

#[tokio::test]
async fn the_agents_policies_are_accepted_and_grant_what_they_should() {
    let records = Arc::new(MemoryRecords::default());
    let sources: [Arc<dyn Upstream>; 4] = [
        Arc::new(Desk::new(records.clone()).unwrap()),
        Arc::new(Flags::new(records).unwrap()),
        Arc::new(Files::new(Arc::new(MemoryFiles::default())).unwrap()),
        Arc::new(Web::new(Arc::new(Nowhere)).unwrap()),
    ];
    let mut tools = Vec::new();
    for source in sources {
        for text in source.tools().await.unwrap().definitions {
            tools.push(Arc::new(Tool::new(&source.source(), &text).unwrap()));
        }
    }
    let catalog = Catalog::new(tools, false);
    assert_eq!(catalog.iter().count(), 11);
    let views: Vec<Vec<String>> = seed::agents()
        .into_iter()
        .map(|(_, document)| {
            let policy = policy::parse(&document.to_string(), &catalog).unwrap();
            policy
                .view(&catalog)
                .map(|tool| tool.shown().to_string())
                .collect()
        })
        .collect();
    assert_eq!(
        views[0],
        [
            "files_list",
            "files_read",
            "tickets_close",
            "tickets_comment",
            "tickets_get",
            "tickets_list",
        ]
    );
    assert_eq!(views[1].len(), 7);
}
