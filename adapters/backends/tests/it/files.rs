//! Files.

use std::sync::Arc;

use serde_json::json;
use toolgate_backends::FilePath;
use toolgate_backends::FileStore as _;
use toolgate_backends::Files;
use toolgate_backends::memory::MemoryFiles;
use toolgate_backends::seed;
use toolgate_core::rules::check_path;

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

// spec: DB-03
#[tokio::test]
async fn a_prefix_lists_what_a_rule_about_it_lets_through_and_no_more() {
    let store = Arc::new(MemoryFiles::default());
    let files = Files::new(store).unwrap();
    let paths = [
        "docs", "docs/a", "docs/a/b", "docs/ab", "docs2/a", "docs.md",
    ];
    for path in paths {
        call(&files, "files_write", json!({"path": path, "content": "x"})).await;
    }
    for prefix in ["", "docs", "docs/", "docs/a", "docs/a/", "doc", "nothing"] {
        let listed = call(&files, "files_list", json!({ "prefix": prefix })).await;
        let listed: Vec<&str> = listed["structuredContent"]["files"]
            .as_array()
            .unwrap()
            .iter()
            .map(|file| file["path"].as_str().unwrap())
            .collect();
        let mut below = paths.to_vec();
        below.retain(|path| prefix.is_empty() || check_path(prefix, path).is_ok());
        below.sort_unstable();
        assert_eq!(listed, below, "{prefix}");
    }
}

#[tokio::test]
async fn what_is_not_text_is_not_read() {
    let store = Arc::new(MemoryFiles::default());
    store
        .write(&"a.bin".parse().unwrap(), &[0xff, 0xfe])
        .await
        .unwrap();
    let files = Files::new(store).unwrap();
    let read = call(&files, "files_read", json!({"path": "a.bin"})).await;
    assert_eq!(read["isError"], true);
    let beyond = json!({"path": "b", "content": "short"});
    call(&files, "files_write", beyond).await;
    let beyond = json!({"path": "b", "offset": 6});
    let beyond = call(&files, "files_read", beyond).await;
    assert_eq!(beyond["structuredContent"]["content"], "");
    assert_eq!(beyond["structuredContent"]["truncated"], false);
}

#[tokio::test]
async fn no_path_out_is_written() {
    let store = Arc::new(MemoryFiles::default());
    let files = Files::new(store.clone()).unwrap();
    for path in ["../x", "/etc/x", "docs/../x", "docs\\x", "c:x", ""] {
        let wrote = json!({"path": path, "content": "x"});
        let wrote = call(&files, "files_write", wrote).await;
        assert_eq!(wrote["isError"], true, "{path}");
    }
    assert!(store.list("").await.unwrap().is_empty());
}

// spec: FI-01
#[tokio::test]
async fn no_page_holds_a_part_of_a_secret() {
    let files = Files::new(Arc::new(MemoryFiles::default())).unwrap();
    let secret = "AKIAQX7ZP2MWB4TKVN3R";
    let padding = "word ".repeat(6_552);
    let content = format!("{padding}{secret} end");
    call(
        &files,
        "files_write",
        json!({"path": "a", "content": content}),
    )
    .await;
    for offset in [0, 32_760, 32_765, 32_768, 32_775] {
        let page = call(&files, "files_read", json!({"path": "a", "offset": offset})).await;
        let shown = page["structuredContent"]["content"].as_str().unwrap();
        assert!(
            !shown.contains("QX7") && !shown.contains("VN3R"),
            "{offset}: {shown}"
        );
    }
}
