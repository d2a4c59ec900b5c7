//! Runs toolgate's suites and checks: `cargo xtask help` lists them.
//!
//! People and CI run the same commands, so that a green run here is a green run there.

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a command-line tool talks to its user"
)]

mod clients;
mod fuzz;
mod guard;
mod house;
mod metadata;
mod shell;
mod spec;
mod suites;

use std::process::ExitCode;

use crate::shell::Shell;

const HELP: &str = "\
usage: cargo xtask <command>

commands:
  test [--full] [SUITE…]  run the suites in order, or only those named
  spec                    compare docs/spec with the tests that it names
  house                   check the rules that the compiler does not know
  clients                 drive the built binary with the official MCP clients
  bench [--quick]         measure the gate beside a proxy that enforces nothing
  help                    this text

`test --full` adds the long tier: every feature alone, many more property cases, and each fuzz target
for FUZZ_SECONDS (60 if that is not set).
The exit code is 0 if every suite passed, 1 if one failed, 2 for a wrong command line.";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let shell = Shell::at_workspace_root();
    let chosen = match args.as_slice() {
        ["test", rest @ ..] => suites::chosen(rest),
        [name @ ("spec" | "house" | "clients")] => suites::chosen(&[name]),
        ["bench", rest @ ..] => {
            let line = format!("cargo run --release --package bench -- {}", rest.join(" "));
            return match shell.run(line.trim_end_matches([' ', '-'])) {
                Ok(()) => ExitCode::SUCCESS,
                Err(error) => {
                    println!("bench: {error}");
                    ExitCode::FAILURE
                }
            };
        }
        ["help" | "--help" | "-h"] | [] => {
            println!("{HELP}");
            return ExitCode::SUCCESS;
        }
        [other, ..] => return usage(&format!("unknown command or arguments: `{other}`")),
    };
    match chosen {
        Ok(suites) => suites::run(&shell, &suites),
        Err(error) => usage(&error),
    }
}

fn usage(error: &str) -> ExitCode {
    eprintln!("xtask: {error}\n\n{HELP}");
    ExitCode::from(2)
}
