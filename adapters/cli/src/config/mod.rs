//! `toolgate.toml`: what the gate is told at its start.

mod read;
mod schema;

use std::net::SocketAddr;
use std::path::PathBuf;

use toolgate_axum::native::Connector;
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
pub(crate) fn load(path: &std::path::Path) -> Result<Config, Failure> {
    let text = std::fs::read_to_string(path).map_err(|error| words::unusable(path, &error))?;
    read(&text, &|name| std::env::var(name).ok()).map_err(|faults| {
        let lines = faults
            .into_iter()
            .map(|fault| format!("{}:{}: {}", path.display(), fault.line, fault.message));
        Failure::usage("the configuration is not accepted").with(lines)
    })
}
