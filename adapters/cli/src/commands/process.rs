//! How a command finds the process that has a data folder, and hears from it.

use std::fs::File;
use std::fs::OpenOptions;
use std::fs::TryLockError;
use std::io::Read as _;
use std::io::Write as _;
use std::path::Path;
use std::path::PathBuf;

use serde_json::Value;
use serde_json::json;

use crate::failure::Failure;
use crate::words;

/// The file that holds the number of the process and, on a line of its own, the file that it
/// serves by; it is locked while the process lives.
const NUMBER: &str = "toolgate.pid";
/// The file that holds what became of the last reload.
const ANSWER: &str = "toolgate.reload.json";

/// This process, as others find it.
#[derive(Debug)]
pub(crate) struct Here {
    folder: PathBuf,
    config: Option<String>,
    number: File,
}

impl Here {
    /// Says that this process has the folder, and which file it serves by, if by any.
    pub(crate) fn write(folder: &Path, config: Option<&Path>) -> Result<Self, Failure> {
        let failed = |error: std::io::Error| words::unusable(folder, &error);
        let mut number = private(&folder.join(NUMBER)).map_err(failed)?;
        match number.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(Failure::unreachable(
                    "another process has this data folder open",
                ));
            }
            Err(TryLockError::Error(error)) => return Err(failed(error)),
        }
        let config = config.map(|config| config.to_string_lossy().into_owned());
        let text = format!(
            "{}\n{}\n",
            std::process::id(),
            config.as_deref().unwrap_or_default()
        );
        number
            .set_len(0)
            .and_then(|()| number.write_all(text.as_bytes()))
            .map_err(failed)?;
        Ok(Self {
            folder: folder.to_owned(),
            config,
            number,
        })
    }

    /// Tells who asked for a reload what became of it.
    pub(crate) fn tell(&self, outcome: &Result<(), Failure>) {
        let document = match outcome {
            Ok(()) => json!({"applied": true, "file": self.config}),
            Err(why) => json!({
                "applied": false, "file": self.config, "why": why.message, "details": why.details,
            }),
        };
        let path = self.folder.join(ANSWER);
        let fresh = self.folder.join(format!("{ANSWER}.new"));
        let written = private(&fresh).and_then(|mut file| {
            file.set_len(0)?;
            file.write_all(document.to_string().as_bytes())?;
            std::fs::rename(&fresh, &path)
        });
        if written.is_err() {
            tracing::warn!("what became of a reload cannot be written down");
        }
    }
}

impl Drop for Here {
    fn drop(&mut self) {
        // An empty file names nobody, and the lock goes with the handle.
        self.number.set_len(0).ok();
    }
}

/// A process that has a data folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Process {
    pub(crate) number: u32,
    /// The file that it serves by; a demo has none.
    pub(crate) config: Option<PathBuf>,
}

impl Process {
    /// Whether it serves by that file, on whatever way the file is named.
    pub(crate) fn serves_by(&self, file: &Path) -> bool {
        let Some(config) = &self.config else {
            return false;
        };
        match (config.canonicalize(), file.canonicalize()) {
            (Ok(config), Ok(file)) => config == file,
            _ => false,
        }
    }
}

/// The process that has the folder, if one has.
pub(crate) fn find(folder: &Path) -> Option<Process> {
    let mut file = File::open(folder.join(NUMBER)).ok()?;
    match file.try_lock_shared() {
        Err(TryLockError::WouldBlock) => {}
        Ok(()) | Err(TryLockError::Error(_)) => return None,
    }
    let mut text = String::new();
    file.read_to_string(&mut text).ok()?;
    let (number, config) = text.strip_suffix('\n')?.split_once('\n')?;
    Some(Process {
        number: number.parse().ok()?,
        config: Some(PathBuf::from(config)).filter(|config| !config.as_os_str().is_empty()),
    })
}

/// Forgets what became of an earlier reload.
pub(crate) fn forget_answer(folder: &Path) {
    std::fs::remove_file(folder.join(ANSWER)).ok();
}

/// What became of a reload, once it is there.
pub(crate) fn answer(folder: &Path) -> Option<Value> {
    let text = std::fs::read_to_string(folder.join(ANSWER)).ok()?;
    serde_json::from_str(&text).ok()
}

/// Opens a file that nobody else can read.
fn private(path: &Path) -> std::io::Result<File> {
    let mut options = OpenOptions::new();
    options.create(true).truncate(false).write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}
