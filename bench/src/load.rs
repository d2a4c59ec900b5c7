//! Clients over kept connections, in HTTP/1.1 by hand.

use std::time::Duration;

use tokio::io::AsyncReadExt as _;
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;
use tokio::task::JoinHandle;
use tokio::task::LocalSet;
use tokio::time::Instant;

use crate::Outcome;
use crate::process::Server;
use crate::tool::MESSAGE;

/// How long each call took.
#[derive(Debug, Default)]
pub(crate) struct Times {
    took: Vec<Duration>,
    /// From the first call to the last.
    pub(crate) whole: Duration,
}

impl Times {
    fn of(mut took: Vec<Duration>, whole: Duration) -> Self {
        took.sort_unstable();
        Self { took, whole }
    }

    pub(crate) fn per_second(&self) -> f64 {
        count(self.took.len()) / self.whole.as_secs_f64()
    }

    /// The time within which that share of the calls ended, in milliseconds.
    pub(crate) fn quantile(&self, share: f64) -> f64 {
        let last = count(self.took.len().saturating_sub(1));
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a share of a length is an index"
        )]
        let at = (last * share) as usize;
        self.took
            .get(at)
            .map_or(0.0, |took| took.as_secs_f64() * 1e3)
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
pub(crate) fn count(number: usize) -> f64 {
    number as f64
}

/// Calls one after the other on each connection, for that long.
pub(crate) async fn closed(server: &Server, connections: usize, time: Duration) -> Outcome<Times> {
    let clients = Client::many(server, connections).await?;
    let warm = time / 5;
    let local = LocalSet::new();
    let began = Instant::now();
    let handles: Vec<_> = clients
        .into_iter()
        .map(|mut client| {
            local.spawn_local(async move {
                let mut took = Vec::new();
                while began.elapsed() < warm + time {
                    let sent = Instant::now();
                    client.call().await?;
                    if sent.duration_since(began) >= warm {
                        took.push(sent.elapsed());
                    }
                }
                Outcome::Ok(took)
            })
        })
        .collect();
    ended(local, handles, time).await
}

/// Calls at a steady rate over 16 connections. A call's time counts from when it was due, so that a
/// server that falls behind cannot hide it.
pub(crate) async fn steady(server: &Server, rate: u32, time: Duration) -> Outcome<Times> {
    const CONNECTIONS: u16 = 16;
    let clients = Client::many(server, CONNECTIONS.into()).await?;
    let local = LocalSet::new();
    let began = Instant::now();
    let gap = Duration::from_secs(1) / rate;
    let handles: Vec<_> = (0_u32..)
        .zip(clients)
        .map(|(nth, mut client)| {
            local.spawn_local(async move {
                let mut took = Vec::new();
                let mut due = began + gap * nth;
                while due.duration_since(began) < time {
                    sleep_until(due).await;
                    client.call().await?;
                    took.push(due.elapsed());
                    due += gap * u32::from(CONNECTIONS);
                }
                Outcome::Ok(took)
            })
        })
        .collect();
    ended(local, handles, time).await
}

/// The times of all clients, once they have ended.
async fn ended(
    local: LocalSet,
    handles: Vec<JoinHandle<Outcome<Vec<Duration>>>>,
    time: Duration,
) -> Outcome<Times> {
    local.await;
    let mut all = Vec::new();
    for handle in handles {
        all.extend(handle.await??);
    }
    Ok(Times::of(all, time))
}

/// The timer wakes to the millisecond; the rest is waited out by letting others go first.
async fn sleep_until(due: Instant) {
    if let Some(early) = due.checked_sub(Duration::from_millis(2)) {
        tokio::time::sleep_until(early).await;
    }
    while Instant::now() < due {
        tokio::task::yield_now().await;
    }
}

struct Client {
    stream: TcpStream,
    request: Vec<u8>,
    answer: Vec<u8>,
}

impl Client {
    async fn many(server: &Server, connections: usize) -> Outcome<Vec<Self>> {
        let mut clients = Vec::new();
        for _ in 0..connections {
            clients.push(Self::connect(server).await?);
        }
        Ok(clients)
    }

    async fn connect(server: &Server) -> Outcome<Self> {
        let stream = TcpStream::connect(server.address).await?;
        stream.set_nodelay(true)?;
        let request = format!(
            "POST /mcp HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\n\
             Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n\
             Content-Length: {}\r\n\r\n{MESSAGE}",
            server.address,
            server.key,
            MESSAGE.len(),
        );
        Ok(Self {
            stream,
            request: request.into_bytes(),
            answer: Vec::with_capacity(8 * 1024),
        })
    }

    async fn call(&mut self) -> Outcome<()> {
        self.stream.write_all(&self.request).await?;
        self.answer.clear();
        loop {
            if self.stream.read_buf(&mut self.answer).await? == 0 {
                return Err("the server closed the connection".into());
            }
            if let Some(end) = end_of_answer(&self.answer)?
                && self.answer.len() >= end
            {
                break;
            }
        }
        let text = String::from_utf8_lossy(&self.answer);
        if text.starts_with("HTTP/1.1 200") && text.contains("release by one week") {
            Ok(())
        } else {
            Err("a call was not answered with its result".into())
        }
    }
}

/// Where the answer ends, once its head is there.
fn end_of_answer(read: &[u8]) -> Outcome<Option<usize>> {
    let Some(head) = read.windows(4).position(|bytes| bytes == b"\r\n\r\n") else {
        return Ok(None);
    };
    let text = std::str::from_utf8(read.get(..head).unwrap_or_default())?;
    let length = text.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length")
            .then(|| value.trim().parse::<usize>().ok())?
    });
    let length = length.ok_or("the answer does not say its length")?;
    Ok(Some(head + 4 + length))
}
