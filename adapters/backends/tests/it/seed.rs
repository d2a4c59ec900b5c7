//! The demo's data.

use std::sync::Arc;

use toolgate_backends::FileStore as _;
use toolgate_backends::RecordStore as _;
use toolgate_backends::memory::MemoryFiles;
use toolgate_backends::memory::MemoryRecords;
use toolgate_backends::seed;
use toolgate_core::catalog::Catalog;
use toolgate_core::catalog::Tool;
use toolgate_core::policy;
use toolgate_core::rules::Rule;

use super::host::sources;

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
    let mut tools = Vec::new();
    for source in sources() {
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

/// The first rule of an agent about an argument of a tool.
fn rule(agent: usize, tool: &str, argument: &str) -> Rule {
    let (_, document) = seed::agents().swap_remove(agent);
    let rule = document["tools"][tool]["args"][argument].clone();
    Rule::new(&serde_json::from_value(rule).unwrap()).unwrap()
}

#[test]
fn the_agents_rules_keep_to_documents_two_flags_and_one_host() {
    let cases = [
        (0, "files_list", "prefix", "docs/", "secrets/"),
        (
            0,
            "files_read",
            "path",
            "docs/handbook.md",
            "secrets/deploy.env",
        ),
        (1, "flags_set", "name", "beta_banner", "max_upload_mb"),
        (1, "flags_set", "name", "dark_mode", "../control/kill"),
        (
            1,
            "web_fetch",
            "url",
            "https://developers.cloudflare.com/workers/",
            "https://collector.example/upload",
        ),
    ];
    for (agent, tool, argument, good, bad) in cases {
        let rule = rule(agent, tool, argument);
        assert!(rule.check(&good.into()).is_ok(), "{tool} {good}");
        assert!(rule.check(&bad.into()).is_err(), "{tool} {bad}");
    }
    assert_eq!(seed::agents()[0].1["perMinute"], 60);
}

#[tokio::test]
async fn a_file_that_is_there_is_left_as_it_is() {
    let files = MemoryFiles::default();
    let path = "docs/handbook.md".parse().unwrap();
    files.write(&path, b"mine").await.unwrap();
    seed::documents(&files).await.unwrap();
    assert_eq!(files.read(&path).await.unwrap(), Some(b"mine".to_vec()));
    assert_eq!(files.list("").await.unwrap().len(), 3);
}
