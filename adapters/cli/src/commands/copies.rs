//! `toolgate backup` and `toolgate restore`.

use std::path::PathBuf;

use serde_json::json;
use toolgate_axum::native;
use toolgate_axum::native::CopyError;
use toolgate_axum::native::RestoreError;

use super::audit;
use crate::failure::Failure;
use crate::out::Out;
use crate::words;
use crate::words::Opened;

#[derive(Debug, Clone, clap::Args)]
#[command(after_help = "Example:
  toolgate backup monday.sqlite3 --data toolgate-data

A gate may be running over the folder. The copy holds what the gate keeps, but no file of the
files connector.")]
pub(crate) struct Backup {
    /// The copy; it must not exist
    file: PathBuf,
    /// The gate's data folder
    #[arg(long, value_name = "DIR", default_value = "toolgate-data")]
    data: PathBuf,
}

#[derive(Debug, Clone, clap::Args)]
#[command(after_help = "Example:
  toolgate restore monday.sqlite3 --data toolgate-data

No gate may be running over the folder. What was there is kept beside the restored database.")]
pub(crate) struct Restore {
    /// The copy
    file: PathBuf,
    /// The gate's data folder
    #[arg(long, value_name = "DIR")]
    data: PathBuf,
    /// Restore a copy that is older than what is there: later entries of the audit are lost, and
    /// kills, revoked keys, policies and decisions made since are undone
    #[arg(long)]
    accept_rollback: bool,
}

pub(crate) fn backup(args: &Backup, out: &mut Out) -> Result<(), Failure> {
    drop(audit::open(&args.data)?);
    let file = args.file.display().to_string();
    native::backup(&args.data, &args.file)
        .map_err(|error| Failure::unreachable(format!("{file}: {}", Opened(&error))))?;
    out.answer(&json!({"file": file}), || {
        vec![format!("{file} is written")]
    })
}

pub(crate) async fn restore(args: &Restore, out: &mut Out) -> Result<(), Failure> {
    let data = args.data.display().to_string();
    let restored = native::restore(&args.file, &args.data, args.accept_rollback).await;
    let restored = restored.map_err(|error| failed(args, &error))?;
    let kept = restored.kept.map(|path| path.display().to_string());
    let document = json!({"data": data, "kept": kept, "rollback": restored.rollback});
    out.answer(&document, || {
        let mut lines = vec![format!("{data} is restored")];
        lines.extend(kept.map(|kept| format!("what was there is in {kept}")));
        if restored.rollback {
            lines.push(UNDONE.to_owned());
        }
        lines
    })
}

/// Names what is at fault: the copy or the data folder.
fn failed(args: &Restore, error: &RestoreError) -> Failure {
    let copy = args.file.display();
    match error {
        RestoreError::Copy(CopyError::Unreadable(error)) => words::unusable(&args.file, error),
        RestoreError::Copy(CopyError::Foreign) => Failure::usage(format!(
            "{copy}: this is no copy of what a gate keeps, or a damaged one"
        )),
        RestoreError::Copy(error) => Failure::unreachable(format!("{copy}: {error}")),
        RestoreError::Folder(error) => words::unusable(&args.data, error),
        RestoreError::Open(error) => words::unopened(&args.data, error),
        RestoreError::Rollback => Failure::refused(format!(
            "{copy}: {error}; `--accept-rollback` restores it all the same"
        )),
        other => Failure::unreachable(format!("{}: {other}", args.data.display())),
    }
}

/// What goes with the entries that are lost.
const UNDONE: &str = "\
kills, revoked keys, policies and decisions made since the copy are undone;
`toolgate agent list` shows how things stand";
