//! Rules of the house that neither the compiler nor clippy knows.

use std::collections::BTreeMap;
use std::collections::BTreeSet;

use crate::metadata::Package;
use crate::metadata::Workspace;
use crate::shell::Shell;
use crate::spec;

/// Each crate and what the drawing of the house lets it build on.
///
/// A crate may also use whatever those build on.
const ARROWS: [(&str, &[&str]); 9] = [
    ("toolgate-core", &[]),
    ("toolgate-filter", &[]),
    ("toolgate-audit", &[]),
    (
        "toolgate-mcp",
        &["toolgate-core", "toolgate-filter", "toolgate-audit"],
    ),
    ("toolgate-http", &["toolgate-mcp"]),
    ("toolgate-backends", &["toolgate-mcp"]),
    ("toolgate-axum", &["toolgate-http", "toolgate-backends"]),
    ("toolgate-worker", &["toolgate-http", "toolgate-backends"]),
    ("toolgate", &["toolgate-axum"]),
];

/// Crates that take time, randomness and I/O as arguments or traits.
const NO_IO: [&str; 4] = [
    "toolgate-core",
    "toolgate-filter",
    "toolgate-audit",
    "toolgate-mcp",
];

/// What those crates may not say.
const IO_WORDS: [&str; 9] = [
    "SystemTime::now",
    "Instant::now",
    "std::env",
    "std::fs",
    "std::net",
    "std::process",
    "std::thread",
    "getrandom::",
    "rand::",
];

/// Crates that also run on Workers.
const NO_RUNTIME: [&str; 6] = [
    "toolgate-core",
    "toolgate-filter",
    "toolgate-audit",
    "toolgate-mcp",
    "toolgate-http",
    "toolgate-backends",
];

/// Runtimes, sockets and databases: no shared crate links one, not even through another crate.
const RUNTIMES: [&str; 10] = [
    "async-std",
    "axum",
    "hyper",
    "mio",
    "reqwest",
    "rusqlite",
    "smol",
    "socket2",
    "tokio",
    "wasm-bindgen-futures",
];

/// Annotations of a tool; only the classification reads them.
const HINTS: [&str; 4] = [
    "readOnlyHint",
    "destructiveHint",
    "idempotentHint",
    "openWorldHint",
];

/// Where annotations may otherwise have been read by mistake.
const NO_HINTS: [&str; 2] = ["toolgate-core", "toolgate-mcp"];

/// Crates of which two versions in one program do not fit together: a server of one is no server of
/// the other.
const SINGLE: [&str; 4] = ["rmcp", "rmcp-macros", "toolgate-core", "toolgate-mcp"];

/// The lock files of the workspace and of the programs beside it.
const LOCKS: [&str; 4] = [
    "Cargo.lock",
    "fuzz/Cargo.lock",
    "tests/consumer/Cargo.lock",
    "tests/rmcp-client/Cargo.lock",
];

/// How a caller is made without a request; of the tests, only the host that they share may.
const MINTS: [&str; 2] = ["Caller::", "vouched_by_host"];
const MINT_OF_TESTS: &str = "tests/it/host.rs";

/// Marks that no finished file bears.
const MARKS: [&str; 4] = ["#[ignore", "#[should_panic", "// TODO", "// FIXME"];

const MAX_LINES: usize = 700;

/// The suite: prints every breach.
pub(crate) fn check(shell: &Shell) -> Result<(), String> {
    let workspace = Workspace::read(shell)?;
    let mut breaches = directions(&workspace.packages);
    for name in NO_RUNTIME
        .into_iter()
        .filter(|name| workspace.package(name).is_some())
    {
        let line = format!(
            "cargo tree --package {name} --edges normal --prefix none --format {{p}} \
             --target wasm32-unknown-unknown"
        );
        breaches.extend(runtimes(name, &shell.read(&line)?));
    }
    let mut count = 0;
    for package in &workspace.packages {
        for path in spec::files(&package.folder, &["rs"])? {
            let inner = spec::shown(&package.folder, &path);
            let file = File {
                package: &package.name,
                inner: &inner,
                shown: spec::shown(shell.root(), &path),
                text: &spec::read(&path)?,
            };
            breaches.extend(file.breaches());
            count += 1;
        }
    }
    for lock in LOCKS {
        breaches.extend(doubles(lock, &spec::read(&shell.root().join(lock))?));
    }
    for breach in &breaches {
        println!("{breach}");
    }
    println!(
        "{} crates and {count} files looked at",
        workspace.packages.len()
    );
    if breaches.is_empty() {
        Ok(())
    } else {
        Err(format!("{} breaches", breaches.len()))
    }
}

/// Dependencies among our crates that the drawing does not allow.
fn directions(packages: &[Package]) -> Vec<String> {
    let arrows = BTreeMap::from(ARROWS);
    let ours: BTreeSet<&str> = packages
        .iter()
        .map(|package| package.name.as_str())
        .collect();
    let mut breaches = Vec::new();
    for package in packages
        .iter()
        .filter(|package| package.name.starts_with("toolgate"))
    {
        let Some(direct) = arrows.get(package.name.as_str()) else {
            breaches.push(format!(
                "{}: has no place in the drawing of the house",
                package.name
            ));
            continue;
        };
        let mut allowed: BTreeSet<&str> = BTreeSet::new();
        let mut open: Vec<&str> = direct.to_vec();
        while let Some(name) = open.pop() {
            if allowed.insert(name) {
                open.extend(arrows.get(name).copied().unwrap_or_default());
            }
        }
        let used = package.dependencies.iter().map(String::as_str);
        for name in used.filter(|name| ours.contains(name) && !allowed.contains(name)) {
            breaches.push(format!("{}: may not depend on {name}", package.name));
        }
    }
    breaches
}

/// Runtimes in the output of `cargo tree`.
fn runtimes(package: &str, tree: &str) -> Vec<String> {
    let linked: BTreeSet<&str> = tree
        .lines()
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    RUNTIMES
        .iter()
        .filter(|name| linked.contains(**name))
        .map(|name| format!("{package}: links {name}, so it knows a runtime"))
        .collect()
}

/// Crates that a lock file holds in two versions and must not.
fn doubles(lock: &str, text: &str) -> Vec<String> {
    SINGLE
        .iter()
        .filter(|name| {
            let line = format!("name = \"{name}\"");
            text.lines().filter(|found| *found == line).count() > 1
        })
        .map(|name| format!("{lock}: two versions of {name}"))
        .collect()
}

/// One Rust file of a crate.
#[derive(Debug)]
struct File<'a> {
    package: &'a str,
    inner: &'a str,
    shown: String,
    text: &'a str,
}

impl File<'_> {
    fn breaches(&self) -> Vec<String> {
        let mut breaches = Vec::new();
        let lines = self.text.lines().count();
        if self.is_source() && lines > MAX_LINES {
            breaches.push(format!(
                "{}: {lines} lines, split at {MAX_LINES}",
                self.shown
            ));
        }
        if self.is_source() && !self.is_test() {
            let no_hints = NO_HINTS.contains(&self.package) && !self.inner.contains("classify");
            for (number, line) in self.code() {
                let mut refuse = |words: &[&str], why: &str| {
                    for word in words.iter().filter(|word| line.contains(**word)) {
                        breaches.push(format!("{}:{number}: `{word}`: {why}", self.shown));
                    }
                };
                if NO_IO.contains(&self.package) {
                    refuse(&IO_WORDS, "time, randomness and I/O come in as arguments");
                }
                if no_hints {
                    refuse(&HINTS, "only the classification reads annotations");
                }
                if self.package == "toolgate-mcp" && self.inner.starts_with("src/gateway") {
                    refuse(
                        &["crate::wire", "super::wire"],
                        "the gateway does not know the wire",
                    );
                }
            }
        }
        if self.inner.starts_with("tests/") && self.inner != MINT_OF_TESTS {
            for (number, line) in self.code() {
                for mint in MINTS.iter().filter(|mint| line.contains(**mint)) {
                    breaches.push(format!(
                        "{}:{number}: `{mint}`: a test has its callers from {MINT_OF_TESTS}",
                        self.shown
                    ));
                }
            }
        }
        if self.package != env!("CARGO_PKG_NAME") {
            for (number, line) in self.text.lines().enumerate() {
                for mark in MARKS.iter().filter(|mark| line.trim().starts_with(**mark)) {
                    breaches.push(format!("{}:{}: `{mark}`", self.shown, number + 1));
                }
            }
        }
        breaches
    }

    fn is_source(&self) -> bool {
        self.inner.starts_with("src/")
    }

    fn is_test(&self) -> bool {
        self.inner.ends_with("tests.rs") || self.inner.contains("/tests/")
    }

    /// Numbered lines of code, without comments and without the test module at the bottom.
    fn code(&self) -> impl Iterator<Item = (usize, &str)> {
        let lines: Vec<&str> = self.text.lines().collect();
        let tests = lines.windows(2).position(|pair| match pair {
            [gate, module] => *gate == "#[cfg(test)]" && module.starts_with("mod "),
            _ => false,
        });
        let end = tests.unwrap_or(lines.len());
        let numbered = lines.into_iter().take(end).enumerate();
        numbered
            .map(|(number, line)| (number + 1, line))
            .filter(|(_, line)| !line.trim_start().starts_with("//"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn package(name: &str, dependencies: &[&str]) -> Package {
        Package {
            name: name.to_owned(),
            folder: std::path::PathBuf::new(),
            features: Vec::new(),
            dependencies: dependencies.iter().map(|name| (*name).to_owned()).collect(),
        }
    }

    fn file(package: &str, inner: &str, text: &str) -> Vec<String> {
        File {
            package,
            inner,
            shown: inner.to_owned(),
            text,
        }
        .breaches()
    }

    #[test]
    fn dependencies_point_one_way() {
        let fine = [
            package("toolgate-core", &["serde"]),
            package("toolgate-mcp", &["toolgate-core"]),
            package("toolgate-axum", &["toolgate-mcp", "toolgate-core", "tokio"]),
            package("xtask", &["serde"]),
        ];
        assert_eq!(directions(&fine), Vec::<String>::new());
        let wrong = [
            package("toolgate-core", &["toolgate-audit"]),
            package("toolgate-audit", &[]),
            package("toolgate-backends", &["toolgate-http"]),
            package("toolgate-http", &[]),
            package("toolgate-new", &[]),
        ];
        let breaches = directions(&wrong);
        assert_eq!(breaches.len(), 3, "{breaches:?}");
    }

    #[test]
    fn a_runtime_behind_another_crate_is_found() {
        let tree = "toolgate-core v0.1.0 (/w)\nserde v1.0.0\ntokio v1.4.0 (*)\ntokio-util v0.7.0\n";
        assert_eq!(runtimes("toolgate-core", tree).len(), 1);
    }

    // spec: IT-02
    #[test]
    fn two_versions_of_the_protocol_library_are_found() {
        let one = "[[package]]\nname = \"rmcp\"\nversion = \"3.0.0\"\n";
        assert_eq!(doubles("Cargo.lock", one).len(), 0);
        assert_eq!(doubles("Cargo.lock", &format!("{one}{one}")).len(), 1);
    }

    // spec: XA-03 IT-05
    #[test]
    fn a_clock_is_found_in_code_but_not_in_comments_or_tests() {
        let text = "let a = std::time::Instant::now();\n";
        assert_eq!(file("toolgate-core", "src/a.rs", text).len(), 1);
        assert_eq!(file("toolgate-axum", "src/a.rs", text).len(), 0);
        assert_eq!(file("toolgate-core", "tests/it/a.rs", text).len(), 0);
        assert_eq!(file("toolgate-core", "src/a/tests.rs", text).len(), 0);
        let below = format!("fn a() {{}}\n// {text}#[cfg(test)]\nmod tests {{\n{text}}}\n");
        assert_eq!(file("toolgate-core", "src/a.rs", &below).len(), 0);
    }

    // spec: FN-06
    #[test]
    fn only_the_classification_reads_annotations() {
        let text = "let a = \"readOnlyHint\";\n";
        assert_eq!(file("toolgate-mcp", "src/wire/list.rs", text).len(), 1);
        assert_eq!(file("toolgate-core", "src/classify.rs", text).len(), 0);
        assert_eq!(
            file("toolgate-core", "src/classify/published.rs", text).len(),
            0
        );
    }

    // spec: IT-03
    #[test]
    fn callers_of_tests_come_from_one_helper() {
        let text = "let caller = Caller::vouched_by_host(id);\n";
        assert_eq!(file("toolgate-mcp", "tests/it/gateway.rs", text).len(), 2);
        assert_eq!(file("toolgate-mcp", "tests/it/host.rs", text).len(), 0);
        assert_eq!(file("toolgate-axum", "src/embed/mod.rs", text).len(), 0);
        let used = "async fn pending(caller: &Caller) {}\n";
        assert_eq!(file("toolgate-mcp", "tests/it/gateway.rs", used).len(), 0);
    }

    #[test]
    fn the_gateway_does_not_know_the_wire() {
        let text = "use crate::wire::Era;\n";
        assert_eq!(file("toolgate-mcp", "src/gateway/drive.rs", text).len(), 1);
        assert_eq!(file("toolgate-mcp", "src/session.rs", text).len(), 0);
    }

    #[test]
    fn long_files_and_marks_are_found() {
        assert_eq!(
            file("toolgate-axum", "src/a.rs", &"\n".repeat(701)).len(),
            1
        );
        assert_eq!(
            file("toolgate-axum", "src/a.rs", &"\n".repeat(700)).len(),
            0
        );
        assert_eq!(
            file(
                "toolgate-axum",
                "tests/it/a.rs",
                "#[test]\n#[ignore]\nfn a() {}\n"
            )
            .len(),
            1
        );
    }
}
