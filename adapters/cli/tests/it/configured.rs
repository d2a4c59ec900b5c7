//! Gates that a file configures, and the file read again.

use std::fs;
use std::path::Path;
use std::process::Output;

use serde_json::json;

use crate::gate::ADMIN;
use crate::gate::Gate;
use crate::gate::document;
use crate::gate::folder;
use crate::gate::toolgate;

const START: &str = "listen = \"127.0.0.1:0\"\ndata = \"kept\"\n";

/// Runs the binary from that folder.
fn from(folder: &Path, args: &[&str]) -> Output {
    toolgate().args(args).current_dir(folder).output().unwrap()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn a_relative_data_folder_is_found_from_the_configuration() {
    let folder = folder();
    let (home, elsewhere) = (folder.path().join("home"), folder.path().join("elsewhere"));
    fs::create_dir_all(&home).unwrap();
    fs::create_dir_all(&elsewhere).unwrap();
    fs::write(home.join("toolgate.toml"), START).unwrap();
    let home = home.canonicalize().unwrap();
    let gate = Gate::serve(elsewhere.join("log"), &["-c", "../home/toolgate.toml"]);
    let kept = home.join("kept");
    assert_eq!(gate.announced["data"], json!(kept));
    assert!(kept.join("toolgate.sqlite3").exists());
    assert!(!elsewhere.join("kept").exists());
    let found = document(&from(&home, &["doctor", "-c", "toolgate.toml", "--json"])).to_string();
    assert!(found.contains("process "), "{found}");
    assert!(gate.end().success());

    let args = ["-c", "../home/toolgate.toml", "--data", "mine"];
    let gate = Gate::serve(elsewhere.join("log"), &args);
    let mine = elsewhere.canonicalize().unwrap().join("mine");
    assert_eq!(gate.announced["data"], json!(mine));
    assert!(mine.join("toolgate.sqlite3").exists());
}

#[test]
fn people_are_told_where_the_data_is() {
    let folder = folder();
    let file = folder.path().join("toolgate.toml");
    fs::write(&file, START).unwrap();
    let mut command = toolgate();
    command
        .args(["serve", "-c", "toolgate.toml"])
        .current_dir(folder.path())
        .env("TOOLGATE_ADMIN_TOKEN", ADMIN)
        .env("TOOLGATE_LOG", "error")
        .stdout(std::process::Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut lines = std::io::BufRead::lines(std::io::BufReader::new(child.stdout.take().unwrap()));
    let (first, second) = (
        lines.next().unwrap().unwrap(),
        lines.next().unwrap().unwrap(),
    );
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(
        first.starts_with("toolgate serves on http://127.0.0.1:"),
        "{first}"
    );
    let kept = folder.path().canonicalize().unwrap().join("kept");
    assert_eq!(second, format!("what it keeps is in {}", kept.display()));
}

#[cfg(unix)]
#[test]
fn a_reload_is_applied_whole_or_not_at_all() {
    let folder = folder();
    let file = folder.path().join("toolgate.toml");
    let write = |connectors: &str, more: &str| {
        fs::write(&file, format!("{START}connectors = {connectors}\n{more}")).unwrap();
    };
    write("[\"desk\"]", "");
    let gate = Gate::serve(folder.path().join("log"), &["-c", "toolgate.toml"]);
    let tools = || {
        let bearer = format!("Bearer {ADMIN}");
        let headers = [("Authorization", bearer.as_str())];
        let reply = crate::http::send(gate.address, "GET", "/api/catalog", &headers, b"");
        assert_eq!(reply.status, 200, "{}", reply.body);
        (
            reply.body.contains("tickets_list"),
            reply.body.contains("flags_set"),
        )
    };
    assert_eq!(tools(), (true, false));
    let reload = || {
        let output = toolgate()
            .args(["reload", "-c"])
            .arg(&file)
            .output()
            .unwrap();
        (output.status.code(), said(&output))
    };

    write("[\"desk\", \"flags\"]", "");
    assert_eq!(reload().0, Some(0));
    assert_eq!(tools(), (true, true));
    write("[\"flags\"]", "publicUrl = \"nowhere\"\n");
    let (code, said) = reload();
    assert_eq!(code, Some(64));
    assert!(said.contains("toolgate.toml:4:"), "{said}");
    assert_eq!(tools(), (true, true));
    write("[\"flags\"]", "durability = \"relaxed\"\n");
    let (code, said) = reload();
    assert_eq!(code, Some(1));
    assert!(
        said.contains("`durability`") && said.contains("restart"),
        "{said}"
    );
    assert_eq!(tools(), (true, true));
}

#[cfg(unix)]
#[test]
fn a_reload_names_the_file_that_the_gate_serves_by_and_takes_no_other() {
    let folder = folder();
    let here = folder.path().canonicalize().unwrap();
    fs::write(here.join("toolgate.toml"), START).unwrap();
    fs::write(
        here.join("other.toml"),
        format!("{START}connectors = [\"desk\"]\n"),
    )
    .unwrap();
    let _gate = Gate::serve(here.join("log"), &["-c", "toolgate.toml"]);
    let used = here.join("toolgate.toml");
    let other = from(&here, &["reload", "-c", "other.toml"]);
    assert_eq!(other.status.code(), Some(64));
    assert!(
        said(&other).contains(used.to_str().unwrap()),
        "{}",
        said(&other)
    );

    std::os::unix::fs::symlink("toolgate.toml", here.join("link.toml")).unwrap();
    for name in ["toolgate.toml", "link.toml", used.to_str().unwrap()] {
        let applied = from(&here, &["reload", "-c", name]);
        assert_eq!(applied.status.code(), Some(0), "{}", said(&applied));
        let printed = String::from_utf8(applied.stdout).unwrap();
        assert_eq!(printed, format!("{} is applied\n", used.display()));
    }
    let document = document(&from(&here, &["reload", "-c", "toolgate.toml", "--json"]));
    assert_eq!(document, json!({"applied": true, "file": used}));
}

#[cfg(unix)]
#[test]
fn a_demo_has_no_file_to_read_again() {
    let folder = folder();
    let _gate = Gate::demo(folder.path());
    fs::write(folder.path().join("toolgate.toml"), "data = \"data\"\n").unwrap();
    let output = from(folder.path(), &["reload", "-c", "toolgate.toml"]);
    assert_eq!(output.status.code(), Some(64));
    assert!(said(&output).contains("demo"), "{}", said(&output));
}

#[cfg(unix)]
#[test]
fn every_fault_that_the_gate_finds_has_a_line_of_its_own() {
    let folder = folder();
    let file = folder.path().join("toolgate.toml");
    fs::write(&file, START).unwrap();
    let gate = Gate::serve(folder.path().join("log"), &["-c", "toolgate.toml"]);
    // Whoever asks for the reload has other variables than the gate.
    fs::write(&file, format!("{START}metricsToken = \"$METRICS\"\n")).unwrap();
    let reload = |more: &[&str]| {
        toolgate()
            .args(["reload", "-c", "toolgate.toml"])
            .args(more)
            .current_dir(folder.path())
            .env("METRICS", "0123456789abcdef01234567")
            .output()
            .unwrap()
    };
    let output = reload(&[]);
    assert_eq!(output.status.code(), Some(1));
    let said = said(&output);
    assert!(!said.contains("\\u{a}"), "{said}");
    let lines: Vec<_> = said.lines().collect();
    assert_eq!(lines.len(), 2, "{said}");
    assert!(lines[1].contains("toolgate.toml:3:"), "{said}");
    assert!(
        lines[1].contains("environment of the gate's process"),
        "{said}"
    );
    let details = document(&reload(&["--json"]))["error"]["details"].clone();
    assert_eq!(details.as_array().unwrap().len(), 1, "{details}");
    let log = gate.log();
    assert!(log.contains("environment of the gate's process"), "{log}");
}
