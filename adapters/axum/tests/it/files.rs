//! Files in a folder.

use toolgate_axum::files::LocalFiles;
use toolgate_backends::BackendError;
use toolgate_backends::FilePath;
use toolgate_backends::FileStore as _;

fn path(text: &str) -> FilePath {
    text.parse().unwrap()
}

#[tokio::test]
async fn files_are_written_whole_and_listed_by_path() {
    let folder = tempfile::tempdir().unwrap();
    let files = LocalFiles::open(&folder.path().join("files")).unwrap();
    files.write(&path("docs/a.md"), b"one").await.unwrap();
    files.write(&path("docs/a.md"), b"two").await.unwrap();
    files.write(&path("b.md"), b"").await.unwrap();
    assert_eq!(
        files.read(&path("docs/a.md")).await.unwrap(),
        Some(b"two".to_vec())
    );
    assert_eq!(files.read(&path("docs/none")).await.unwrap(), None);
    assert_eq!(files.read(&path("docs")).await.unwrap(), None);
    assert_eq!(files.read(&path("b.md/x")).await.unwrap(), None);
    let all = files.list("").await.unwrap();
    assert_eq!(all, [("b.md".to_owned(), 0), ("docs/a.md".to_owned(), 3)]);
    assert_eq!(files.list("docs/").await.unwrap().len(), 1);
}

#[cfg(unix)]
#[tokio::test]
async fn no_link_leads_out_of_the_folder() {
    use std::os::unix::fs::symlink;
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("files");
    let files = LocalFiles::open(&root).unwrap();
    std::fs::write(folder.path().join("secret"), b"secret").unwrap();
    std::fs::create_dir(folder.path().join("outside")).unwrap();
    std::fs::write(folder.path().join("outside/x"), b"secret").unwrap();
    symlink(folder.path().join("secret"), root.join("absolute")).unwrap();
    symlink("../secret", root.join("relative")).unwrap();
    symlink("../outside", root.join("folder")).unwrap();
    for name in ["absolute", "relative", "folder/x"] {
        let read = files.read(&path(name)).await;
        assert!(!matches!(read, Ok(Some(_))), "{name}");
        let written = files.write(&path(name), b"overwritten").await;
        assert!(
            matches!(written, Err(BackendError::Refused(_))),
            "{name}: {written:?}"
        );
    }
    assert_eq!(
        std::fs::read(folder.path().join("secret")).unwrap(),
        b"secret"
    );
    assert_eq!(
        std::fs::read(folder.path().join("outside/x")).unwrap(),
        b"secret"
    );
    assert_eq!(files.list("").await.unwrap(), []);
}

#[cfg(unix)]
#[tokio::test]
async fn no_link_leads_from_one_place_to_another() {
    use std::os::unix::fs::symlink;
    let folder = tempfile::tempdir().unwrap();
    let files = LocalFiles::open(folder.path()).unwrap();
    files.write(&path("secrets/a"), b"secret").await.unwrap();
    files.write(&path("docs/a"), b"open").await.unwrap();
    symlink("../secrets/a", folder.path().join("docs/file")).unwrap();
    symlink("../secrets", folder.path().join("docs/folder")).unwrap();
    for name in ["docs/file", "docs/folder/a", "docs/folder/new"] {
        let read = files.read(&path(name)).await;
        assert!(matches!(read, Err(BackendError::Refused(_))), "{name}");
        let written = files.write(&path(name), b"overwritten").await;
        assert!(matches!(written, Err(BackendError::Refused(_))), "{name}");
    }
    assert_eq!(files.list("docs/").await.unwrap().len(), 1);
    assert_eq!(files.list("secrets/").await.unwrap().len(), 1);
    let secret = files.read(&path("secrets/a")).await.unwrap();
    assert_eq!(secret, Some(b"secret".to_vec()));
}

#[cfg(unix)]
#[tokio::test]
async fn only_regular_files_are_files() {
    let folder = tempfile::tempdir().unwrap();
    let files = LocalFiles::open(folder.path()).unwrap();
    let pipe = folder.path().join("pipe");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    assert!(made.unwrap().success());
    assert_eq!(files.list("").await.unwrap(), []);
    assert_eq!(files.read(&path("pipe")).await.unwrap(), None);
    let written = files.write(&path("pipe"), b"x").await;
    assert!(matches!(written, Err(BackendError::Refused(_))));
    let onto_a_folder = {
        files.write(&path("docs/a"), b"x").await.unwrap();
        files.write(&path("docs"), b"x").await
    };
    assert!(matches!(onto_a_folder, Err(BackendError::Refused(_))));
    let below_a_file = files.write(&path("docs/a/b"), b"x").await;
    assert!(matches!(below_a_file, Err(BackendError::Refused(_))));
}

#[tokio::test]
async fn a_file_that_is_too_large_is_not_read() {
    let folder = tempfile::tempdir().unwrap();
    let files = LocalFiles::open(folder.path()).unwrap();
    let file = std::fs::File::create(folder.path().join("large")).unwrap();
    file.set_len(8 << 20).unwrap();
    let read = files.read(&path("large")).await.unwrap();
    assert_eq!(read.map(|bytes| bytes.len()), Some(8 << 20));
    file.set_len((8 << 20) + 1).unwrap();
    let read = files.read(&path("large")).await;
    assert!(matches!(read, Err(BackendError::TooLarge)));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_that_is_being_written_is_not_listed_and_disturbs_no_list() {
    let folder = tempfile::tempdir().unwrap();
    let files = std::sync::Arc::new(LocalFiles::open(folder.path()).unwrap());
    files.write(&path("docs/a"), b"").await.unwrap();
    let writer = std::sync::Arc::clone(&files);
    let written = tokio::spawn(async move {
        for _ in 0..500 {
            writer.write(&path("docs/a"), b"").await.unwrap();
        }
    });
    while !written.is_finished() {
        let all = files.list("").await.unwrap();
        assert!(all.iter().all(|(path, _)| path == "docs/a"), "{all:?}");
    }
    written.await.unwrap();
}

#[tokio::test]
async fn what_a_stop_left_half_written_is_no_file() {
    let folder = tempfile::tempdir().unwrap();
    let files = LocalFiles::open(folder.path()).unwrap();
    let left = ".0123456789abcdef0123456789abcdef.part";
    std::fs::write(folder.path().join(left), b"half").unwrap();
    files.write(&path(".other.part"), b"x").await.unwrap();
    let all = files.list("").await.unwrap();
    assert_eq!(all, [(".other.part".to_owned(), 1)]);
    assert_eq!(files.read(&path(left)).await.unwrap(), None);
    let written = files.write(&path(left), b"x").await;
    assert!(matches!(written, Err(BackendError::Refused(_))));
}

#[tokio::test]
async fn a_folder_that_is_full_hides_no_other() {
    let folder = tempfile::tempdir().unwrap();
    let files = LocalFiles::open(folder.path()).unwrap();
    for name in ["docs/a/b", "docs-old", "full/x"] {
        files.write(&path(name), b"").await.unwrap();
    }
    for at in 0..10_001 {
        std::fs::File::create(folder.path().join(format!("full/{at}"))).unwrap();
    }
    for (prefix, expect) in [
        ("docs/", vec!["docs/a/b"]),
        ("docs/a/b", vec!["docs/a/b"]),
        ("docs", vec!["docs-old", "docs/a/b"]),
        ("docs/b", vec![]),
        ("full/x", vec!["full/x"]),
    ] {
        let all = files.list(prefix).await.unwrap();
        let paths: Vec<_> = all.iter().map(|(path, _)| path.as_str()).collect();
        assert_eq!(paths, expect, "{prefix}");
    }
    assert_eq!(files.list("").await.unwrap().len(), 10_000);
}

#[tokio::test]
async fn a_name_that_is_too_long_is_the_callers_fault() {
    let folder = tempfile::tempdir().unwrap();
    let files = LocalFiles::open(folder.path()).unwrap();
    for name in ["n".repeat(300), format!("docs/{}/a", "n".repeat(300))] {
        assert_eq!(files.read(&path(&name)).await.unwrap(), None);
        let written = files.write(&path(&name), b"x").await;
        assert!(
            matches!(written, Err(BackendError::Refused(_))),
            "{written:?}"
        );
    }
}

#[cfg(unix)]
#[tokio::test]
async fn nobody_else_can_read_the_files() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("files");
    let files = LocalFiles::open(&root).unwrap();
    files.write(&path("a"), b"x").await.unwrap();
    files.write(&path("b/c/d"), b"x").await.unwrap();
    let mode = |path: &std::path::Path| std::fs::metadata(path).unwrap().permissions().mode();
    for folder in ["", "b", "b/c"] {
        assert_eq!(mode(&root.join(folder)) & 0o777, 0o700, "{folder}");
    }
    for file in ["a", "b/c/d"] {
        assert_eq!(mode(&root.join(file)) & 0o777, 0o600, "{file}");
    }
}
