//! `toolgate`: a gate between AI agents and the tools they call.

mod cli;
mod client;
mod commands;
mod config;
mod failure;
mod out;
mod strict;
mod words;

use std::process::ExitCode;

use clap::Parser as _;

use crate::cli::Cli;
use crate::failure::Exit;
use crate::out::Out;

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            // Who closed the stream does not want to know.
            error.print().ok();
            let exit = if error.use_stderr() {
                Exit::Usage
            } else {
                Exit::Ok
            };
            return exit.into();
        }
    };
    // A second provider cannot be there: nothing ran before.
    rustls::crypto::ring::default_provider()
        .install_default()
        .ok();
    let mut out = Out::new(cli.json);
    match cli.run(&mut out) {
        Ok(exit) => exit.into(),
        Err(failure) if failure.exit == Exit::Ok => ExitCode::SUCCESS,
        Err(failure) => {
            out.failure(&failure);
            failure.exit.into()
        }
    }
}
