//! The suites in their order, and the table at the end.

use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use crate::clients;
use crate::fuzz;
use crate::house;
use crate::metadata::Workspace;
use crate::shell::Shell;
use crate::shell::Stopwatch;
use crate::spec;

/// One profile for everything, so that dependencies, build scripts and macros are built once.
const PROFILE: &str = "--profile ci";

/// Crates without I/O: linted alone, so that no other crate's features reach them.
const PURE: [&str; 3] = ["toolgate-core", "toolgate-filter", "toolgate-audit"];

/// Crates that must build for Workers.
const SHARED: [&str; 6] = [
    "toolgate-core",
    "toolgate-filter",
    "toolgate-audit",
    "toolgate-mcp",
    "toolgate-http",
    "toolgate-backends",
];

const WASM: &str = "wasm32-unknown-unknown";

/// A named group of checks.
#[derive(Debug)]
pub(crate) struct Suite {
    name: &'static str,
    about: &'static str,
    tier: Tier,
    check: fn(&Shell) -> Result<(), String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Tier {
    Always,
    Full,
}

const ALL: [Suite; 15] = [
    Suite {
        name: "fmt",
        about: "formatting",
        tier: Tier::Always,
        check: fmt,
    },
    Suite {
        name: "house",
        about: "rules the compiler does not know",
        tier: Tier::Always,
        check: house::check,
    },
    Suite {
        name: "spec",
        about: "docs/spec against the tests",
        tier: Tier::Always,
        check: spec::check,
    },
    Suite {
        name: "clippy",
        about: "lints, warnings denied",
        tier: Tier::Always,
        check: clippy,
    },
    Suite {
        name: "tests",
        about: "unit, contract and integration tests",
        tier: Tier::Always,
        check: tests,
    },
    Suite {
        name: "doctests",
        about: "examples in the documentation",
        tier: Tier::Always,
        check: doctests,
    },
    Suite {
        name: "wasm",
        about: "shared crates for wasm32",
        tier: Tier::Always,
        check: wasm,
    },
    Suite {
        name: "docs",
        about: "rustdoc, warnings denied",
        tier: Tier::Always,
        check: docs,
    },
    Suite {
        name: "consumer",
        about: "a program outside the workspace against the crates",
        tier: Tier::Always,
        check: consumer,
    },
    Suite {
        name: "clients",
        about: "official MCP clients against the binary",
        tier: Tier::Always,
        check: clients::check,
    },
    Suite {
        name: "conformance",
        about: "the public conformance runner against the gate before its tools",
        tier: Tier::Always,
        check: clients::conformance::check,
    },
    Suite {
        name: "fuzz-replay",
        about: "committed inputs through the fuzz targets",
        tier: Tier::Always,
        check: fuzz::replay,
    },
    Suite {
        name: "features",
        about: "every feature alone",
        tier: Tier::Full,
        check: features,
    },
    Suite {
        name: "long",
        about: "tests with many more property cases",
        tier: Tier::Full,
        check: long,
    },
    Suite {
        name: "fuzz",
        about: "each fuzz target for FUZZ_SECONDS, 60 if that is not set",
        tier: Tier::Full,
        check: fuzz::run,
    },
];

/// The suites that a command line asks for.
pub(crate) fn chosen(args: &[&str]) -> Result<Vec<&'static Suite>, String> {
    let full = args.contains(&"--full");
    let names: Vec<&str> = args
        .iter()
        .copied()
        .filter(|arg| *arg != "--full")
        .collect();
    if let Some(unknown) = names
        .iter()
        .find(|name| ALL.iter().all(|suite| suite.name != **name))
    {
        let known: Vec<&str> = ALL.iter().map(|suite| suite.name).collect();
        return Err(format!(
            "unknown suite `{unknown}`; there are: {}",
            known.join(", ")
        ));
    }
    let wanted = |suite: &&Suite| match names.as_slice() {
        [] => full || suite.tier == Tier::Always,
        names => names.contains(&suite.name),
    };
    Ok(ALL.iter().filter(wanted).collect())
}

/// Runs every suite, whatever the others said, and prints what came of each.
pub(crate) fn run(shell: &Shell, suites: &[&Suite]) -> ExitCode {
    let whole = Stopwatch::start();
    let mut results: Vec<Outcome> = suites
        .iter()
        .map(|suite| Outcome::of(suite.name, suite.about, || (suite.check)(shell)))
        .collect();
    results.extend(shell.used_guard().map(|guard| {
        Outcome::of("guard", "what was reached beside this machine", || {
            guard.check()
        })
    }));
    println!("\n{}", table(&results, whole.elapsed()));
    if results.iter().all(|result| result.error.is_none()) {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

#[derive(Debug)]
struct Outcome {
    name: &'static str,
    took: Duration,
    error: Option<String>,
}

impl Outcome {
    fn of(name: &'static str, about: &str, check: impl FnOnce() -> Result<(), String>) -> Self {
        println!("\n=== {name}: {about}");
        let clock = Stopwatch::start();
        let error = check().err();
        if let Some(error) = &error {
            println!("{name}: failed: {error}");
        }
        Self {
            name,
            took: clock.elapsed(),
            error,
        }
    }
}

fn table(results: &[Outcome], whole: Duration) -> String {
    let mut text = format!("{:<11} {:>9}  result\n", "suite", "seconds");
    for result in results {
        let word = if result.error.is_none() {
            "passed"
        } else {
            "FAILED"
        };
        text.push_str(&format!(
            "{:<11} {:>9.1}  {word}\n",
            result.name,
            result.took.as_secs_f64()
        ));
    }
    text.push_str(&format!("{:<11} {:>9.1}", "all", whole.as_secs_f64()));
    text
}

fn fmt(shell: &Shell) -> Result<(), String> {
    shell.run("cargo fmt --all --check")
}

fn clippy(shell: &Shell) -> Result<(), String> {
    shell.run(&format!(
        "cargo clippy {PROFILE} --workspace --all-features --all-targets -- -D warnings"
    ))?;
    for package in PURE {
        shell.run(&format!(
            "cargo clippy {PROFILE} -p {package} --all-targets -- -D warnings"
        ))?;
    }
    Ok(())
}

fn tests(shell: &Shell) -> Result<(), String> {
    all_tests(shell, &[])
}

fn long(shell: &Shell) -> Result<(), String> {
    all_tests(shell, &[("PROPTEST_CASES", "2000")])
}

fn all_tests(shell: &Shell, env: &[(&str, &str)]) -> Result<(), String> {
    let line = if shell.has("cargo nextest --version") {
        "cargo nextest run --workspace --all-features --cargo-profile ci".to_owned()
    } else {
        println!("cargo-nextest is not installed; cargo test runs the same tests");
        format!("cargo test {PROFILE} --workspace --all-features --all-targets")
    };
    shell.run(&format!("{line} --no-run"))?;
    shell.run_kept(&format!("{line} --no-fail-fast --offline"), env)
}

fn doctests(shell: &Shell) -> Result<(), String> {
    let line = format!("cargo test {PROFILE} --workspace --all-features");
    shell.run(&format!("{line} --lib --no-run"))?;
    shell.run_kept(&format!("{line} --doc --offline"), &[])
}

fn wasm(shell: &Shell) -> Result<(), String> {
    ensure_wasm_target(shell)?;
    let packages: String = SHARED.iter().map(|name| format!(" -p {name}")).collect();
    shell.run(&format!("cargo check {PROFILE} --target {WASM}{packages}"))
}

/// Adds the target's standard library if the toolchain lacks it.
fn ensure_wasm_target(shell: &Shell) -> Result<(), String> {
    let folder = shell.read(&format!("rustc --print target-libdir --target {WASM}"))?;
    if Path::new(folder.trim()).is_dir() {
        return Ok(());
    }
    shell
        .run(&format!("rustup target add {WASM}"))
        .map_err(|error| format!("the standard library for {WASM} could not be had: {error}"))
}

fn docs(shell: &Shell) -> Result<(), String> {
    let line = format!("cargo doc {PROFILE} --workspace --no-deps --all-features");
    shell.run_with(&line, &[("RUSTDOCFLAGS", "-Dwarnings")])
}

/// Builds as an author of a server does: with a workspace and a lock file of its own.
fn consumer(shell: &Shell) -> Result<(), String> {
    let target = Workspace::read(shell)?.target.join("consumer");
    let target = target.to_string_lossy().into_owned();
    let line = "cargo check --locked --manifest-path tests/consumer/Cargo.toml";
    shell.run_with(line, &[("CARGO_TARGET_DIR", &target)])
}

fn features(shell: &Shell) -> Result<(), String> {
    let workspace = Workspace::read(shell)?;
    for package in workspace
        .packages
        .iter()
        .filter(|package| !package.features.is_empty())
    {
        let bare = format!(
            "cargo check {PROFILE} -p {} --no-default-features",
            package.name
        );
        shell.run(&bare)?;
        for feature in &package.features {
            shell.run(&format!("{bare} --features {feature}"))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(args: &[&str]) -> Vec<&'static str> {
        chosen(args)
            .unwrap()
            .iter()
            .map(|suite| suite.name)
            .collect()
    }

    #[test]
    fn the_long_tier_runs_only_when_asked_for() {
        assert!(names(&[]).contains(&"clients") && !names(&[]).contains(&"long"));
        assert!(names(&["--full"]).contains(&"long") && names(&["--full"]).contains(&"fmt"));
        assert_eq!(names(&["long"]), ["long"]);
        assert_eq!(names(&["spec", "fmt"]), ["fmt", "spec"]);
        assert!(chosen(&["nope"]).is_err_and(|error| error.contains("`nope`")));
    }

    // spec: IT-08
    #[test]
    fn a_program_outside_the_workspace_is_built_each_time() {
        assert!(names(&[]).contains(&"consumer"));
    }

    #[test]
    fn one_failure_hides_no_other_result() {
        let shell = Shell::at_workspace_root();
        let bad = Suite {
            name: "bad",
            about: "",
            tier: Tier::Always,
            check: |_| Err("no".to_owned()),
        };
        let good = Suite {
            name: "good",
            about: "",
            tier: Tier::Always,
            check: |_| Ok(()),
        };
        let results =
            [&bad, &good].map(|suite| Outcome::of(suite.name, "", || (suite.check)(&shell)));
        let text = table(&results, Duration::from_millis(1500));
        assert!(text.contains("FAILED") && text.contains("good") && text.ends_with("1.5"));
        assert_eq!(run(&shell, &[&bad, &good]), ExitCode::FAILURE);
        assert_eq!(run(&shell, &[&good]), ExitCode::SUCCESS);
    }
}
