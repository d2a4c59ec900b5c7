//! `toolgate init`: a configuration to start from.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::PathBuf;

use serde_json::json;

use crate::config;
use crate::failure::Failure;
use crate::out::Out;
use crate::words;

#[derive(Debug, Clone, clap::Args)]
#[command(after_help = "Examples:
  toolgate init
  toolgate init --schema > toolgate.schema.json")]
pub(crate) struct Args {
    /// Print the JSON Schema of the file instead
    #[arg(long)]
    schema: bool,
    /// The file to write; an existing one is left alone
    #[arg(default_value = "toolgate.toml")]
    file: PathBuf,
}

pub(crate) fn run(args: &Args, out: &mut Out) -> Result<(), Failure> {
    if args.schema {
        return out.line(format!("{:#}", config::schema()));
    }
    let written = OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(&args.file)
        .and_then(|mut file| file.write_all(config::template().as_bytes()));
    let file = args.file.display();
    written.map_err(|error| words::unusable(&args.file, &error))?;
    out.answer(&json!({"file": file.to_string()}), || {
        vec![
            format!("{file} is written; no connector is on until it names one. To start the gate:"),
            "  export TOOLGATE_ADMIN_TOKEN=\"$(openssl rand -hex 24)\"".to_owned(),
            format!("  toolgate serve -c {file}"),
        ]
    })
}
