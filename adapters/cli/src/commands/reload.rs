//! `toolgate reload`: has the running gate read its file again.

use std::path::Path;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::Value;
use serde_json::json;

use super::process;
use crate::config;
use crate::failure::Failure;
use crate::out::Out;
use crate::out::at;
use crate::out::items;
use crate::out::plain;

/// How long a gate may take to apply its file.
const PATIENCE: Duration = Duration::from_secs(30);
const PAUSE: Duration = Duration::from_millis(20);

#[derive(Debug, Clone, clap::Args)]
#[command(after_help = "Example:
  toolgate reload -c toolgate.toml

The file is applied whole or not at all. `connectors`, `publicUrl` and `metricsToken` can change;
`listen`, `data` and `durability` need a restart.")]
pub(crate) struct Args {
    /// The file that the gate was started with; it is checked first
    #[arg(short, long, value_name = "FILE")]
    config: PathBuf,
    /// The data folder, if the gate was started with `--data`
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
}

pub(crate) async fn run(args: &Args, out: &mut Out) -> Result<(), Failure> {
    let config = config::check(&args.config)?;
    let data = args.data.as_deref().unwrap_or(&config.data);
    let process = process::find(data)
        .ok_or_else(|| Failure::unreachable(format!("no gate runs over {}", data.display())))?;
    if !process.serves_by(&args.config) {
        let message = match &process.config {
            Some(config) => format!("the gate serves by {}, not by this file", config.display()),
            None => "the gate is a demo, which serves by no file".to_owned(),
        };
        return Err(Failure::usage(message));
    }
    process::forget_answer(data);
    hang_up(process.number)?;
    let answer = tokio::time::timeout(PATIENCE, answer(data)).await;
    let answer = answer.map_err(|_| Failure::unreachable("the gate does not answer in time"))?;
    if answer.get("applied") == Some(&Value::Bool(true)) {
        let file = at(&answer, "/file");
        out.answer(&json!({"applied": true, "file": file}), || {
            vec![format!("{} is applied", plain(&file))]
        })
    } else {
        let details = items(&answer, "/details").iter().map(|one| at(one, ""));
        Err(Failure::refused(at(&answer, "/why")).with(details))
    }
}

async fn answer(data: &Path) -> Value {
    loop {
        if let Some(answer) = process::answer(data) {
            return answer;
        }
        tokio::time::sleep(PAUSE).await;
    }
}

#[cfg(unix)]
fn hang_up(process: u32) -> Result<(), Failure> {
    let failed = || Failure::unreachable("the gate's process cannot be signalled");
    let number = i32::try_from(process).ok();
    let pid = number
        .and_then(rustix::process::Pid::from_raw)
        .ok_or_else(failed)?;
    rustix::process::kill_process(pid, rustix::process::Signal::HUP).map_err(|_| failed())
}

#[cfg(not(unix))]
fn hang_up(_: u32) -> Result<(), Failure> {
    Err(Failure::unreachable(
        "a gate can be reloaded on Unix only; restart it",
    ))
}
