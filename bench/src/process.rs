//! A server in a process of its own.

use std::net::SocketAddr;
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use tokio::net::TcpStream;
use tokio::process::Child;
use tokio::process::Command;
use tokio::time::Instant;

use crate::Outcome;
use crate::servers::KEY;

/// How long a server may take to listen.
const PATIENCE: Duration = Duration::from_secs(10);

/// Keeps this process to one core, where the system can.
pub(crate) fn pin(core: usize) {
    #[cfg(target_os = "linux")]
    {
        let mut cores = rustix::thread::CpuSet::new();
        cores.set(core);
        // On a machine of one core everything shares it.
        rustix::thread::sched_setaffinity(None, &cores).ok();
    }
    #[cfg(not(target_os = "linux"))]
    let _ = core;
}

/// A running server; it ends with this value.
#[derive(Debug)]
pub(crate) struct Server {
    child: Child,
    folder: tempfile::TempDir,
    pub(crate) address: SocketAddr,
    pub(crate) key: String,
    /// From the start of the process to the first connection.
    pub(crate) start: Duration,
}

impl Server {
    pub(crate) async fn start(kind: &str) -> Outcome<Self> {
        let folder = tempfile::tempdir_in(scratch()?)?;
        let free = TcpListener::bind("127.0.0.1:0")?;
        let address = free.local_addr()?;
        drop(free);
        let began = Instant::now();
        let mut command = Command::new(std::env::current_exe()?);
        command
            .args(["serve", kind, &address.to_string()])
            .arg(folder.path())
            .stdin(Stdio::null())
            .kill_on_drop(true);
        let child = command.spawn()?;
        while TcpStream::connect(address).await.is_err() {
            if began.elapsed() > PATIENCE {
                return Err(format!("the server `{kind}` does not listen").into());
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        let start = began.elapsed();
        let key = std::fs::read_to_string(folder.path().join(KEY)).unwrap_or_default();
        Ok(Self {
            child,
            folder,
            address,
            key,
            start,
        })
    }

    /// The memory that the process holds, in bytes; nothing where the system does not say.
    pub(crate) fn memory(&self) -> Option<u64> {
        let path = format!("/proc/{}/status", self.child.id()?);
        let status = std::fs::read_to_string(path).ok()?;
        let line = status.lines().find(|line| line.starts_with("VmRSS:"))?;
        let kib: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
        Some(kib * 1024)
    }

    /// What lies in its folder, in bytes.
    pub(crate) fn disk(&self) -> u64 {
        let files = std::fs::read_dir(self.folder.path());
        let sizes = files.into_iter().flatten().flatten();
        sizes
            .filter_map(|file| file.metadata().ok())
            .map(|file| file.len())
            .sum()
    }
}

/// A folder on a disk: the system's temporary one may be in memory.
pub(crate) fn scratch() -> Outcome<PathBuf> {
    let beside = std::env::current_exe()?;
    Ok(beside
        .parent()
        .ok_or("the program has no folder")?
        .to_owned())
}
