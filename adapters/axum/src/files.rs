//! Files in a folder: no path and no symbolic link leads out of it.

use std::io;
use std::io::Read as _;
use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use cap_std::ambient_authority;
use cap_std::fs::Dir;
use cap_std::fs::DirBuilder;
use cap_std::fs::OpenOptions;
use toolgate_backends::BackendError;
use toolgate_backends::FilePath;
use toolgate_backends::FileStore;

/// The largest file that is read, in bytes.
const MOST_BYTES: u64 = 8 << 20;
/// The most files below a prefix that are listed.
const MOST_LISTED: usize = 10_000;
/// The deepest folder that is listed.
const MOST_DEPTH: usize = 16;

/// The files below one folder. Links are neither listed nor followed, not even to a place within:
/// a rule about a path holds for what is at that path.
///
/// ```
/// use toolgate_axum::files::LocalFiles;
/// use toolgate_backends::FileStore as _;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let folder = tempfile::tempdir()?;
/// let files = LocalFiles::open(folder.path())?;
/// files.write(&"docs/a.md".parse()?, b"hello").await?;
/// assert_eq!(files.list("docs/").await?, [("docs/a.md".to_owned(), 5)]);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct LocalFiles(Arc<Dir>);

impl LocalFiles {
    /// Opens a folder, which is made if it is not there, for its owner alone.
    ///
    /// # Errors
    /// What the system says.
    pub fn open(root: &Path) -> io::Result<Self> {
        std::fs::create_dir_all(root)?;
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            std::fs::set_permissions(root, std::fs::Permissions::from_mode(0o700))?;
        }
        Dir::open_ambient_dir(root, ambient_authority()).map(|dir| Self(Arc::new(dir)))
    }

    async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Dir) -> Result<T, BackendError> + Send + 'static,
    ) -> Result<T, BackendError> {
        let dir = Arc::clone(&self.0);
        tokio::task::spawn_blocking(move || work(&dir))
            .await
            .map_err(BackendError::unavailable)?
    }
}

#[cfg(unix)]
fn is_link(error: &io::Error) -> bool {
    error.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error())
}

#[cfg(not(unix))]
fn is_link(_: &io::Error) -> bool {
    false
}

/// What cannot be reached is not there; what may not be reached is refused.
fn kind(error: io::Error) -> Result<(), BackendError> {
    match error.kind() {
        io::ErrorKind::InvalidFilename | io::ErrorKind::NotADirectory | io::ErrorKind::NotFound => {
            Ok(())
        }
        io::ErrorKind::AlreadyExists | io::ErrorKind::PermissionDenied => Err(
            BackendError::Refused("that path does not stay in its folder"),
        ),
        _ if is_link(&error) => Err(BackendError::Refused("that path leads through a link")),
        _ => Err(BackendError::unavailable(error)),
    }
}

#[async_trait]
impl FileStore for LocalFiles {
    async fn list(&self, prefix: &str) -> Result<Vec<(String, u64)>, BackendError> {
        let prefix = prefix.to_owned();
        self.blocking(move |dir| {
            let mut files = Vec::new();
            walk(dir, "", &prefix, 0, &mut files).map_err(BackendError::unavailable)?;
            files.sort();
            Ok(files)
        })
        .await
    }

    async fn read(&self, path: &FilePath) -> Result<Option<Vec<u8>>, BackendError> {
        let path = path.as_str().to_owned();
        self.blocking(move |dir| {
            if is_part(&path) {
                return Ok(None);
            }
            if let Err(error) = no_links(dir, &path) {
                return kind(error).map(|()| None);
            }
            // Asked before it is opened: opening a pipe would wait for its other end.
            let about = match dir.symlink_metadata(&path) {
                Ok(about) => about,
                Err(error) => return kind(error).map(|()| None),
            };
            if !about.is_file() {
                return Ok(None);
            }
            let file = match dir.open(&path) {
                Ok(file) => file,
                Err(error) => return kind(error).map(|()| None),
            };
            let mut bytes = Vec::new();
            let most = MOST_BYTES.saturating_add(1);
            file.take(most)
                .read_to_end(&mut bytes)
                .map_err(BackendError::unavailable)?;
            if bytes.len() as u64 > MOST_BYTES {
                return Err(BackendError::TooLarge);
            }
            Ok(Some(bytes))
        })
        .await
    }

    async fn write(&self, path: &FilePath, bytes: &[u8]) -> Result<(), BackendError> {
        let (path, bytes) = (path.as_str().to_owned(), bytes.to_vec());
        self.blocking(move |dir| {
            let written = write(dir, &path, &bytes);
            written.or_else(|error| {
                kind(error)?;
                Err(BackendError::Refused("that path cannot be written"))
            })
        })
        .await
    }
}

/// Fails where a link is on the way, or at its end; what is not there is no link.
fn no_links(dir: &Dir, path: &str) -> io::Result<()> {
    let ends = path.match_indices('/').map(|(end, _)| end);
    let ways = ends
        .filter_map(|end| path.get(..end))
        .chain(std::iter::once(path));
    for way in ways {
        match dir.symlink_metadata(way) {
            Ok(about) if about.is_symlink() => return Err(io::ErrorKind::PermissionDenied.into()),
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Writes beside the place, then moves it there: a reader sees the old file or the new one.
fn write(dir: &Dir, path: &str, bytes: &[u8]) -> io::Result<()> {
    if is_part(path) {
        return Err(io::ErrorKind::PermissionDenied.into());
    }
    no_links(dir, path)?;
    let (parent, name) = path.rsplit_once('/').unwrap_or(("", path));
    let held;
    let folder = if parent.is_empty() {
        dir
    } else {
        let mut private = DirBuilder::new();
        private.recursive(true);
        #[cfg(unix)]
        cap_std::fs::DirBuilderExt::mode(&mut private, 0o700);
        dir.create_dir_with(parent, &private)?;
        held = dir.open_dir(parent)?;
        &held
    };
    if folder
        .symlink_metadata(name)
        .is_ok_and(|about| !about.is_file())
    {
        return Err(io::ErrorKind::PermissionDenied.into());
    }
    let beside = format!(".{:032x}{PART}", rand_word()?);
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    cap_std::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = folder.open_with(&beside, &options)?;
    let done = file
        .write_all(bytes)
        .and_then(|()| file.sync_all())
        .and_then(|()| folder.rename(&beside, folder, name));
    if done.is_err() {
        let _ = folder.remove_file(&beside);
    }
    done.and_then(|()| sync(folder))
}

/// The new name outlasts a power cut, too.
fn sync(folder: &Dir) -> io::Result<()> {
    if cfg!(unix) {
        folder.open(".")?.sync_all()?;
    }
    Ok(())
}

/// Whether a path is that of a file that is being written, or was when the machine stopped.
fn is_part(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    name.strip_prefix('.')
        .and_then(|rest| rest.strip_suffix(PART))
        .is_some_and(|word| word.len() == 32 && word.bytes().all(|b| b.is_ascii_hexdigit()))
}

fn rand_word() -> io::Result<u128> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(io::Error::other)?;
    Ok(u128::from_be_bytes(bytes))
}

/// Regular files whose paths begin with `prefix`; links are not followed. What goes away in the
/// meantime is not there.
fn walk(
    dir: &Dir,
    at: &str,
    prefix: &str,
    depth: usize,
    files: &mut Vec<(String, u64)>,
) -> io::Result<()> {
    for entry in dir.entries()? {
        if files.len() >= MOST_LISTED {
            return Ok(());
        }
        let entry = entry?;
        let Ok(name) = entry.file_name().into_string() else {
            continue;
        };
        let path = if at.is_empty() {
            name
        } else {
            format!("{at}/{name}")
        };
        let Some(about) = found(entry.metadata())? else {
            continue;
        };
        if about.is_file() {
            let listed = path.starts_with(prefix) && !is_part(&path);
            if listed && path.parse::<FilePath>().is_ok() {
                files.push((path, about.len()));
            }
        } else if about.is_dir() && depth < MOST_DEPTH {
            let below = format!("{path}/");
            if !below.starts_with(prefix) && !prefix.starts_with(&below) {
                continue;
            }
            if let Some(folder) = found(entry.open_dir())? {
                walk(&folder, &path, prefix, depth + 1, files)?;
            }
        }
    }
    Ok(())
}

fn found<T>(asked: io::Result<T>) -> io::Result<Option<T>> {
    match asked {
        Ok(found) => Ok(Some(found)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// The end of the name of a file that is being written.
const PART: &str = ".part";
