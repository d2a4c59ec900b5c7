//! The fuzz targets: a replay of what they are known to read, and a run with coverage.
//!
//! Both work on the stable toolchain: the passes that libFuzzer wants are asked for by stable flags,
//! and no sanitizer is needed where `unsafe` is forbidden.

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::process::Stdio;

use crate::metadata::Workspace;
use crate::shell::Shell;
use crate::spec;

const MANIFEST: &str = "fuzz/Cargo.toml";

/// How long each target runs unless `FUZZ_SECONDS` says otherwise.
const SECONDS: u32 = 60;

/// Coverage as libFuzzer wants it (`SanitizerCoverage` of LLVM); `cargo fuzz` passes the same.
const FLAGS: &str = "-Cpasses=sancov-module \
    -Cllvm-args=-sanitizer-coverage-level=4 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters \
    -Cllvm-args=-sanitizer-coverage-pc-table \
    -Cllvm-args=-sanitizer-coverage-trace-compares \
    --cfg fuzzing";

/// The suite that runs each committed input through its target.
pub(crate) fn replay(shell: &Shell) -> Result<(), String> {
    let target = folder(shell)?.to_string_lossy().into_owned();
    let place = [("CARGO_TARGET_DIR", target.as_str())];
    shell.run(&format!("cargo fmt --check --manifest-path {MANIFEST}"))?;
    let line = format!("cargo test --locked --manifest-path {MANIFEST} --test replay");
    shell.run_with(&format!("{line} --no-run"), &place)?;
    shell.run_kept(&format!("{line} --offline"), &place)
}

/// The suite that looks for new inputs, one target after the other.
pub(crate) fn run(shell: &Shell) -> Result<(), String> {
    let seconds = match std::env::var("FUZZ_SECONDS") {
        Ok(text) => text
            .parse()
            .map_err(|_| format!("FUZZ_SECONDS is not a number: `{text}`"))?,
        Err(_) => SECONDS,
    };
    let target = folder(shell)?;
    let host = host(shell)?;
    let place = target.to_string_lossy();
    let lints =
        format!("cargo clippy --locked --manifest-path {MANIFEST} --lib --tests -- -D warnings");
    shell.run_with(&lints, &[("CARGO_TARGET_DIR", &*place)])?;
    // With a target named, build scripts and macros are built without these flags.
    let line = format!(
        "cargo build --locked --manifest-path {MANIFEST} --release --target {host} \
         --features libfuzzer --bins"
    );
    let env = [("CARGO_TARGET_DIR", &*place), ("RUSTFLAGS", FLAGS)];
    shell.run_with(&line, &env)?;
    let built = target.join(host).join("release");
    let mut failed = Vec::new();
    for name in targets(shell)? {
        let job = Job {
            seconds,
            work: target.join("found").join(&name),
            binary: built.join(format!("{name}{}", std::env::consts::EXE_SUFFIX)),
            name,
        };
        match job.run(shell) {
            Ok(executions) => println!("{}: {executions} executions in {seconds} s", job.name),
            Err(error) => {
                println!("{}: {error}", job.name);
                failed.push(job.name);
            }
        }
    }
    if failed.is_empty() {
        Ok(())
    } else {
        Err(format!("not satisfied: {}", failed.join(", ")))
    }
}

/// One target and its own folder, which keeps what it found for the next run.
struct Job {
    name: String,
    binary: PathBuf,
    work: PathBuf,
    seconds: u32,
}

impl Job {
    fn run(&self, shell: &Shell) -> Result<u64, String> {
        let grown = self.work.join("corpus");
        let crashes = self.work.join("crashes");
        for folder in [&grown, &crashes] {
            fs::create_dir_all(folder)
                .map_err(|error| format!("{} cannot be made: {error}", folder.display()))?;
        }
        let fuzz = shell.root().join("fuzz");
        let mut command = Command::new(&self.binary);
        command
            .current_dir(shell.root())
            .stdin(Stdio::null())
            .arg(format!("-max_total_time={}", self.seconds))
            .arg(format!("-artifact_prefix={}/", crashes.display()))
            .args(["-timeout=10", "-rss_limit_mb=2048", "-print_final_stats=1"])
            .arg(&grown);
        let seeds = ["corpus", "regressions"].map(|kind| fuzz.join(kind).join(&self.name));
        command.args(seeds.iter().filter(|folder| folder.is_dir()));
        let words = fuzz.join("words").join(&self.name);
        if words.is_file() {
            command.arg(format!("-dict={}", words.display()));
        }
        let output = command
            .stderr(Stdio::piped())
            .output()
            .map_err(|error| format!("it could not start: {error}"))?;
        let log = String::from_utf8_lossy(&output.stderr);
        if output.status.success() {
            return executions(&log).ok_or_else(|| "it counted no executions".to_owned());
        }
        let lines: Vec<&str> = log.lines().collect();
        let from = lines.len().saturating_sub(TAIL);
        println!(
            "{}",
            lines
                .iter()
                .skip(from)
                .copied()
                .collect::<Vec<_>>()
                .join("\n")
        );
        let file = artifact(&log).unwrap_or("no file was written");
        Err(format!("failed ({}): {file}", output.status))
    }
}

/// The number that libFuzzer prints at its end.
fn executions(log: &str) -> Option<u64> {
    let count = log
        .lines()
        .find_map(|line| line.strip_prefix("stat::number_of_executed_units:"))?;
    count.trim().parse().ok()
}

/// Where libFuzzer wrote the input that failed.
fn artifact(log: &str) -> Option<&str> {
    let (_, file) = log.rsplit_once("Test unit written to ")?;
    file.lines().next()
}

/// Each target, by its file.
fn targets(shell: &Shell) -> Result<Vec<String>, String> {
    let files = spec::files(&shell.root().join("fuzz/fuzz_targets"), &["rs"])?;
    let mut names: Vec<String> = files
        .iter()
        .filter_map(|file| Some(file.file_stem()?.to_str()?.to_owned()))
        .collect();
    names.sort();
    Ok(names)
}

/// What is built for fuzzing stays apart from what is built for the workspace.
fn folder(shell: &Shell) -> Result<PathBuf, String> {
    Ok(Workspace::read(shell)?.target.join("fuzz"))
}

fn host(shell: &Shell) -> Result<String, String> {
    Ok(shell.read("rustc --print host-tuple")?.trim().to_owned())
}

/// How much of a failed run's log is shown.
const TAIL: usize = 40;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_log_of_a_run_is_read() {
        let log = "Done 12 runs\nstat::number_of_executed_units: 12\nstat::x: 1\n";
        assert_eq!(executions(log), Some(12));
        assert_eq!(executions("stat::x: 1"), None);
        let log = "artifact_prefix='/t/'; Test unit written to /t/crash-1\nBase64: eA==\n";
        assert_eq!(artifact(log), Some("/t/crash-1"));
        assert_eq!(artifact("fine"), None);
    }

    #[test]
    fn every_target_is_replayed() {
        let shell = Shell::at_workspace_root();
        let replay = fs::read_to_string(shell.root().join("fuzz/tests/replay.rs")).unwrap();
        let names = targets(&shell).unwrap();
        assert!(names.len() >= 10);
        for name in names {
            let is_listed = replay.split([' ', '(', ')', '\n']).any(|word| word == name);
            assert!(is_listed, "{name}");
            assert!(
                shell.root().join("fuzz/corpus").join(&name).is_dir(),
                "{name}"
            );
        }
    }
}
