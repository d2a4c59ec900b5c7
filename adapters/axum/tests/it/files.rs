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
async fn nobody_else_can_read_the_files() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("files");
    let files = LocalFiles::open(&root).unwrap();
    files.write(&path("a"), b"x").await.unwrap();
    let mode = |path: &std::path::Path| std::fs::metadata(path).unwrap().permissions().mode();
    assert_eq!(mode(&root) & 0o777, 0o700);
    assert_eq!(mode(&root.join("a")) & 0o777, 0o600);
}
