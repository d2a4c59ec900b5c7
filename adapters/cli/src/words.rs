//! What the system says of a file, in words for people.

use std::fmt;
use std::io;
use std::path::Path;
use std::path::PathBuf;

use toolgate_axum::native::DemoError;
use toolgate_axum::sqlite::DATABASE;
use toolgate_axum::sqlite::OpenError;

use crate::failure::Failure;

/// Why a file, folder or address cannot be used.
pub(crate) fn why(error: &io::Error) -> String {
    let plainly = match error.kind() {
        io::ErrorKind::AddrInUse => "another program listens there",
        io::ErrorKind::AddrNotAvailable => "this machine has no such address",
        io::ErrorKind::AlreadyExists => "there is such a file already",
        io::ErrorKind::InvalidData => "it is not UTF-8 text",
        io::ErrorKind::InvalidFilename => "a file cannot have this name",
        io::ErrorKind::IsADirectory => "it is a folder, not a file",
        io::ErrorKind::NotADirectory => "a part of the path is not a folder",
        io::ErrorKind::NotFound => "there is no such file or folder",
        io::ErrorKind::PermissionDenied => "permission denied",
        io::ErrorKind::ReadOnlyFilesystem => "the file system is read-only",
        io::ErrorKind::StorageFull => "the disk is full",
        kind => return kind.to_string(),
    };
    plainly.to_owned()
}

/// A file or folder that cannot be used.
pub(crate) fn unusable(path: &Path, error: &io::Error) -> Failure {
    Failure::unreachable(format!("{}: {}", path.display(), why(error)))
}

/// The same path, whatever folder is the current one.
pub(crate) fn absolute(path: &Path) -> Result<PathBuf, Failure> {
    std::path::absolute(path).map_err(|error| unusable(path, &error))
}

/// A store that does not open, in the words of [`why`].
pub(crate) struct Opened<'a>(pub(crate) &'a OpenError);

impl fmt::Display for Opened<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            OpenError::Folder(error) => f.write_str(&why(error)),
            other => other.fmt(f),
        }
    }
}

/// A data folder whose store does not open.
pub(crate) fn unopened(data: &Path, error: &OpenError) -> Failure {
    let name = data.display();
    let missing = matches!(error, OpenError::Database(_)) && !data.join(DATABASE).exists();
    match (missing, data.exists()) {
        (true, false) => Failure::unreachable(format!("{name}: there is no such folder")),
        (true, true) => {
            Failure::unreachable(format!("{name}: no gate kept anything in this folder"))
        }
        (false, _) => Failure::unreachable(format!("{name}: {}", Opened(error))),
    }
}

/// A data folder that a demo may not have.
pub(crate) fn not_a_demo(data: &Path, error: &DemoError) -> Failure {
    match error {
        DemoError::Open(error) => unopened(data, error),
        other => Failure::usage(format!("{}: {other}", data.display())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_system_s_errors_are_said_plainly() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        std::fs::write(&file, [0xff]).unwrap();
        let read = |path: &Path| why(&std::fs::read_to_string(path).unwrap_err());
        assert_eq!(
            read(&folder.path().join("none")),
            "there is no such file or folder"
        );
        assert_eq!(read(folder.path()), "it is a folder, not a file");
        assert_eq!(
            read(&file.join("below")),
            "a part of the path is not a folder"
        );
        assert_eq!(read(&file), "it is not UTF-8 text");
        let made = std::fs::File::create_new(&file).unwrap_err();
        assert_eq!(why(&made), "there is such a file already");
    }

    #[test]
    fn a_folder_without_a_store_is_told_from_one_that_is_not_there() {
        let folder = tempfile::tempdir().unwrap();
        let open = |data: &Path| {
            let error = toolgate_axum::sqlite::ReadOnly::open(data).unwrap_err();
            unopened(data, &error).message
        };
        assert!(open(folder.path()).ends_with("no gate kept anything in this folder"));
        let none = folder.path().join("none");
        assert!(open(&none).ends_with("there is no such folder"));
    }
}
