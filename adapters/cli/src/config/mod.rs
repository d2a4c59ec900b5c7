//! `toolgate.toml`: what the gate is told at its start.

mod read;
mod schema;

use std::net::SocketAddr;
use std::path::Path;
use std::path::PathBuf;

use toolgate_axum::native::Connector;
use toolgate_core::key::LEAST_CHOSEN_TOKEN;
use url::Url;

pub(crate) use read::read;
pub(crate) use schema::schema;
pub(crate) use schema::template;

use crate::failure::Failure;
use crate::words;

/// What a file may say, read and checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Config {
    pub(crate) listen: SocketAddr,
    /// As the file says, or found from the file's folder once the file was loaded.
    pub(crate) data: PathBuf,
    pub(crate) connectors: Vec<Connector>,
    pub(crate) relaxed: bool,
    pub(crate) public_url: Option<Url>,
    pub(crate) metrics_token: Option<String>,
}

/// Something that is wrong with a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fault {
    /// Counted from 1.
    pub(crate) line: usize,
    pub(crate) message: String,
}

/// Reads the file at that path; everything that is wrong with it at once.
pub(crate) fn load(path: &Path) -> Result<Config, Failure> {
    load_by(path, &|name| std::env::var(name).ok())
}

/// Reads a file that another process serves by: the variables that it names are that process's.
pub(crate) fn check(path: &Path) -> Result<Config, Failure> {
    load_by(path, &|_| Some("x".repeat(LEAST_CHOSEN_TOKEN)))
}

/// Where a file is, whatever folder is the current one. Its name stays as it is: it may be a link
/// that is turned to another file later.
pub(crate) fn place(path: &Path) -> Result<PathBuf, Failure> {
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or_else(|| Path::new("."));
    let folder = folder.canonicalize();
    let folder = folder.map_err(|error| words::unusable(path, &error))?;
    Ok(match path.file_name() {
        Some(name) => folder.join(name),
        None => folder,
    })
}

fn load_by(path: &Path, variable: &dyn Fn(&str) -> Option<String>) -> Result<Config, Failure> {
    let text = std::fs::read_to_string(path).map_err(|error| words::unusable(path, &error))?;
    let mut config = read(&text, variable).map_err(|faults| {
        let lines = faults
            .into_iter()
            .map(|fault| format!("{}:{}: {}", path.display(), fault.line, fault.message));
        Failure::usage("the configuration is not accepted").with(lines)
    })?;
    if let Some(folder) = place(path)?.parent() {
        config.data = folder.join(&config.data);
    }
    Ok(config)
}
