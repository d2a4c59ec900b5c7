//! Files.

use std::sync::Arc;

use serde_json::json;
use toolgate_backends::FilePath;
use toolgate_backends::Files;
use toolgate_backends::memory::MemoryFiles;
use toolgate_backends::seed;

use super::host::call;

// spec: DB-03
#[tokio::test]
async fn files_are_listed_read_in_pages_and_written() {
    let store = Arc::new(MemoryFiles::default());
    seed::documents(store.as_ref()).await.unwrap();
    let files = Files::new(store).unwrap();
    let docs = call(&files, "files_list", json!({"prefix": "docs/"})).await;
    assert_eq!(
        docs["structuredContent"]["files"].as_array().unwrap().len(),
        2
    );
    let text = "é".repeat(40_000);
    let wrote = call(
        &files,
        "files_write",
        json!({"path": "docs/a", "content": text}),
    )
    .await;
    assert_eq!(wrote["structuredContent"]["size"], 80_000);
    let first = call(&files, "files_read", json!({"path": "docs/a"})).await;
    assert_eq!(first["structuredContent"]["truncated"], true);
    let got = first["structuredContent"]["content"]
        .as_str()
        .unwrap()
        .chars()
        .count();
    let rest = call(
        &files,
        "files_read",
        json!({"path": "docs/a", "offset": got}),
    )
    .await;
    assert_eq!(rest["structuredContent"]["truncated"], false);
    assert_eq!(
        got + rest["structuredContent"]["content"]
            .as_str()
            .unwrap()
            .chars()
            .count(),
        40_000
    );
    for path in [
        "docs/none",
        "../x",
        "/etc/passwd",
        "docs//a",
        "docs/./a",
        "docs\\a",
        "",
    ] {
        assert_eq!(
            call(&files, "files_read", json!({"path": path})).await["isError"],
            true
        );
    }
}

#[test]
fn paths_have_plain_segments_alone() {
    for good in [
        "a",
        "docs/handbook.md",
        "a b/c",
        "ü/é.txt",
        ".hidden",
        "a..b",
    ] {
        assert!(good.parse::<FilePath>().is_ok(), "{good}");
    }
    for bad in [
        "",
        "/",
        "/a",
        "a/",
        "a//b",
        ".",
        "..",
        "a/..",
        "../a",
        "a/./b",
        "a\\b",
        "c:a",
        "a\0",
        "a\n",
        "a\u{202e}",
        "dot./x",
        "space /x",
        "...",
    ] {
        assert!(bad.parse::<FilePath>().is_err(), "{bad}");
    }
    assert!("x".repeat(513).parse::<FilePath>().is_err());
}
