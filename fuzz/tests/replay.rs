//! Runs every input of the corpora and every input that once failed through its target.

use std::fs;
use std::path::Path;
use std::path::PathBuf;

/// The files of a folder, in the order of their names; none if there is no such folder.
fn files(folder: &str, target: &str) -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let Ok(entries) = fs::read_dir(root.join(folder).join(target)) else {
        return Vec::new();
    };
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

fn replay(target: &str, check: fn(&[u8])) {
    let corpus = files("corpus", target);
    assert!(!corpus.is_empty(), "{target} has no corpus");
    for path in corpus.iter().chain(&files("regressions", target)) {
        let bytes = fs::read(path).unwrap();
        let outcome = std::panic::catch_unwind(|| check(&bytes));
        assert!(outcome.is_ok(), "{} fails", path.display());
    }
    check(b"");
}

macro_rules! targets {
    ($($name:ident)+) => {$(
        #[test]
        fn $name() {
            replay(stringify!($name), toolgate_fuzz::$name);
        }
    )+};
}

targets!(arguments decode definition entry fence filter headers hosts path policy);
