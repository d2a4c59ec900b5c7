//! Nothing that the suites run reaches the internet.
//!
//! What is tested runs with a library before the C library that lets names and addresses of this
//! machine through, refuses all others, and writes down which. It is looked at once, after the last
//! suite, so that nothing that runs beside a test passes for its doing. Installing and building are
//! not kept from the registries.

use std::fs;
use std::path::Path;
use std::path::PathBuf;

use crate::metadata::Workspace;
use crate::shell::Shell;

const SOURCE: &str = include_str!("guard/guard.c");

/// Where a guarded process finds the library, and where it writes what it wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Guard {
    library: PathBuf,
    log: PathBuf,
}

impl Guard {
    /// Builds the library, with nothing written down yet. On other systems than Linux there is none.
    pub(crate) fn start(shell: &Shell) -> Result<Option<Self>, String> {
        if !cfg!(target_os = "linux") {
            println!("what the suites reach is watched on Linux only");
            return Ok(None);
        }
        let folder = Workspace::read(shell)?.target.join("guard");
        Self::build(shell, &folder).map(Some)
    }

    fn build(shell: &Shell, folder: &Path) -> Result<Self, String> {
        let wrong = |error| format!("{}: {error}", folder.display());
        fs::create_dir_all(folder).map_err(wrong)?;
        let guard = Self {
            library: folder.join("guard.so"),
            log: folder.join("reached"),
        };
        fs::write(&guard.log, "").map_err(wrong)?;
        let source = folder.join("guard.c");
        // A library that is in use is replaced, never written over.
        let new = folder.join(format!("guard.{}.so", std::process::id()));
        fs::write(&source, SOURCE).map_err(wrong)?;
        let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".to_owned());
        let mut command = shell.command(&compiler);
        command.args([
            "-shared", "-fPIC", "-O1", "-Wall", "-Wextra", "-Werror", "-o",
        ]);
        command.arg(&new).arg(&source).arg("-ldl");
        crate::shell::run(&mut command, "the C compiler")?;
        fs::rename(&new, &guard.library).map_err(wrong)?;
        Ok(guard)
    }

    /// The variables that put a process, and those that it starts, under guard.
    pub(crate) fn env(&self) -> [(&'static str, &std::ffi::OsStr); 2] {
        [
            ("LD_PRELOAD", self.library.as_os_str()),
            ("TOOLGATE_GUARD", self.log.as_os_str()),
        ]
    }

    /// Whether nothing was wanted from other machines.
    ///
    /// # Errors
    /// What was, each once.
    pub(crate) fn check(&self) -> Result<(), String> {
        let text = fs::read_to_string(&self.log)
            .map_err(|error| format!("{}: {error}", self.log.display()))?;
        let mut reached: Vec<&str> = text.lines().collect();
        reached.sort_unstable();
        reached.dedup();
        if reached.is_empty() {
            Ok(())
        } else {
            Err(format!(
                "reached for other machines:\n  {}",
                reached.join("\n  ")
            ))
        }
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use std::net::TcpListener;
    use std::process::Child;
    use std::process::Command;
    use std::process::Stdio;

    fn connecting(guard: &Guard, host: &str, port: u16) -> std::io::Result<Child> {
        let mut command = Command::new("bash");
        command.arg("-c");
        command.arg(format!("exec 3<>/dev/tcp/{host}/{port}"));
        command.envs(guard.env());
        command.stderr(Stdio::null()).spawn()
    }

    // spec: IT-01
    #[test]
    fn one_of_two_that_run_side_by_side_is_named_for_what_it_reached() {
        let shell = Shell::at_workspace_root();
        let name = format!("guard-test-{}", std::process::id());
        let folder = Workspace::read(&shell).unwrap().target.join(name);
        let guard = Guard::build(&shell, &folder).unwrap();
        assert_eq!(guard.check(), Ok(()));

        let here = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = here.local_addr().unwrap().port();
        let mut stays = connecting(&guard, "127.0.0.1", port).unwrap();
        let mut leaves = connecting(&guard, "escaped.invalid", 80).unwrap();
        assert!(stays.wait().unwrap().success());
        assert!(!leaves.wait().unwrap().success());
        let mut numbered = connecting(&guard, "192.0.2.1", 443).unwrap();
        assert!(!numbered.wait().unwrap().success());

        let error = guard.check().unwrap_err();
        assert!(error.contains("escaped.invalid:80, by bash"), "{error}");
        assert!(error.contains("192.0.2.1:443"), "{error}");
        assert!(!error.contains("127.0.0.1"), "{error}");
        fs::remove_dir_all(folder).unwrap();
    }
}
