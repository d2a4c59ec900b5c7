//! What the gate costs, as ratios of what is measured beside it in the same run.
//!
//! Run with `cargo xtask bench`. Servers run in processes of their own, on the first core; the load
//! comes from the second.

mod disk;
mod filter;
mod load;
mod process;
mod report;
mod servers;
mod tool;

use std::error::Error;
use std::process::ExitCode;

use report::Report;

type Outcome<T> = Result<T, Box<dyn Error>>;

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let done = match args.as_slice() {
        ["serve", kind, address, folder] => servers::serve(kind, address, folder).await,
        rest => measure(rest.contains(&"--quick")).await,
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            report::fail(error.as_ref());
            ExitCode::FAILURE
        }
    }
}

async fn measure(quick: bool) -> Outcome<()> {
    process::pin(1);
    let mut report = Report::new(quick);
    report.filter(&filter::measure());
    report.disk(&disk::measure(report.time()).await?);
    for kind in servers::KINDS {
        let server = process::Server::start(kind).await?;
        report.started(kind, &server);
        for connections in [1, 16, 64] {
            let closed = load::closed(&server, connections, report.time()).await?;
            report.closed(kind, connections, closed);
        }
        let steady = load::steady(&server, 1_000, report.time()).await?;
        report.steady(kind, steady);
        report.ended(kind, &server);
    }
    report.print()
}
