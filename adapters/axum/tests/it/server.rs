//! The server's limits and its end.

use std::sync::Arc;
use std::time::Duration;

use tempfile::TempDir;
use tokio::io::AsyncReadExt as _;
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use toolgate_axum::native::Native;
use toolgate_axum::native::Settings;
use toolgate_axum::server::Limits;
use toolgate_axum::server::MetricsAccess;
use toolgate_axum::server::Server;
use toolgate_axum::sqlite::Durability;
use toolgate_core::id::OperatorName;
use toolgate_core::key::OperatorToken;
use toolgate_core::time::Timestamp;
use toolgate_mcp::store::Operator;
use toolgate_mcp::store::Role;

const TOKEN: &str = "a-token-of-twenty-four-characters";
const SHORT: Duration = Duration::from_millis(150);
/// Nothing here takes that long unless it hangs.
const PATIENCE: Duration = Duration::from_secs(30);

struct Served {
    address: std::net::SocketAddr,
    stop: oneshot::Sender<()>,
    run: JoinHandle<bool>,
    native: Native,
    _folder: TempDir,
}

impl Served {
    async fn start(limits: Limits, access: MetricsAccess) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let native = Native::open(&folder.path().join("data"), Durability::Strict).unwrap();
        let mut settings = Settings::new(Operator {
            name: OperatorName::new("env").unwrap(),
            role: Role::Owner,
            token: OperatorToken::presented(TOKEN).unwrap().hash(),
            created_at: Timestamp::default(),
        });
        settings.access = access;
        let live = Arc::new(native.live(&settings).await.unwrap());
        let server = Server::bind("127.0.0.1:0".parse().unwrap(), limits)
            .await
            .unwrap();
        let address = server.address().unwrap();
        let (stop, stopped) = oneshot::channel();
        let run = tokio::spawn(server.run(live, async move {
            stopped.await.ok();
        }));
        Self {
            address,
            stop,
            run,
            native,
            _folder: folder,
        }
    }

    async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.address).await.unwrap()
    }

    async fn ask(&self, text: &str) -> String {
        let mut stream = self.connect().await;
        stream.write_all(text.as_bytes()).await.unwrap();
        read(stream).await
    }

    /// Asks it to stop; whether everything ended in time.
    async fn stop(self) -> bool {
        self.stop.send(()).unwrap();
        let drained = tokio::time::timeout(PATIENCE, self.run)
            .await
            .unwrap()
            .unwrap();
        self.native.close().await;
        drained
    }
}

async fn read(mut stream: TcpStream) -> String {
    let mut bytes = Vec::new();
    let read = tokio::time::timeout(PATIENCE, stream.read_to_end(&mut bytes)).await;
    assert!(read.is_ok(), "the connection is not cut");
    String::from_utf8(bytes).unwrap()
}

fn short() -> Limits {
    let mut limits = Limits::default();
    limits.header_time = SHORT;
    limits.body_time = SHORT;
    limits.drain = SHORT;
    limits
}

const HEALTH: &str = "GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
const METRICS: &str = "GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n";

// spec: F28
#[tokio::test]
async fn slow_headers_slow_bodies_and_idle_connections_are_cut() {
    let served = Served::start(short(), MetricsAccess::Loopback).await;
    let mut slow = served.connect().await;
    slow.write_all(b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nX-Slow: ")
        .await
        .unwrap();
    let slow = tokio::spawn(read(slow));

    let mut idle = served.connect().await;
    idle.write_all(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
        .await
        .unwrap();
    let idle = tokio::spawn(read(idle));

    let body = "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\n{";
    assert!(served.ask(body).await.starts_with("HTTP/1.1 408 "));
    assert!(!slow.await.unwrap().contains(" 200 "));
    assert!(idle.await.unwrap().starts_with("HTTP/1.1 200 "));
    assert!(served.ask(HEALTH).await.starts_with("HTTP/1.1 200 "));
    assert!(served.stop().await);
}

// spec: F28
#[tokio::test]
async fn who_holds_every_connection_keeps_nobody_out() {
    let mut limits = Limits::default();
    limits.connections = 4;
    let served = Served::start(limits, MetricsAccess::Loopback).await;
    let mut held = Vec::new();
    for _ in 0..8 {
        let mut open = served.connect().await;
        open.write_all(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
            .await
            .unwrap();
        let mut first = [0; 12];
        open.read_exact(&mut first).await.unwrap();
        held.push(open);
    }
    let asked = tokio::time::timeout(Duration::from_secs(2), served.ask(HEALTH));
    assert!(asked.await.unwrap().starts_with("HTTP/1.1 200 "));
    let oldest = tokio::time::timeout(Duration::from_secs(2), read(held.remove(0)));
    assert!(oldest.await.is_ok(), "the oldest connection was kept");
}

// spec: F28
#[tokio::test]
async fn a_body_that_is_too_large_is_refused_whether_it_says_so_or_not() {
    let mut limits = Limits::default();
    limits.body = 1_000;
    let served = Served::start(limits, MetricsAccess::Loopback).await;
    let padding = "x".repeat(1_001);
    let announced = format!(
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: {}\r\n\r\n{padding}",
        padding.len()
    );
    let chunked = format!(
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n\
         {:x}\r\n{padding}\r\n0\r\n\r\n",
        padding.len()
    );
    let vast = "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999999\r\n\r\n";
    for request in [announced.as_str(), chunked.as_str(), vast] {
        let answer = served.ask(request).await;
        assert!(answer.starts_with("HTTP/1.1 413 "), "{answer}");
    }
}

#[tokio::test]
async fn what_is_under_way_ends_and_what_hangs_is_cut() {
    let served = Served::start(Limits::default(), MetricsAccess::Loopback).await;
    let mut open = served.connect().await;
    open.write_all(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
        .await
        .unwrap();
    let mut first = [0; 12];
    open.read_exact(&mut first).await.unwrap();
    assert!(served.stop().await);
    assert!(read(open).await.contains("\r\n\r\n"));

    let mut limits = short();
    limits.body_time = PATIENCE;
    let served = Served::start(limits, MetricsAccess::Loopback).await;
    let mut hangs = served.connect().await;
    let body = "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\nExpect: 100-continue\r\n\r\n";
    hangs.write_all(body.as_bytes()).await.unwrap();
    let mut go_on = [0; 12];
    hangs.read_exact(&mut go_on).await.unwrap();
    assert!(!served.stop().await);
}

#[tokio::test]
async fn a_request_under_way_is_answered_after_the_stop() {
    let served = Served::start(Limits::default(), MetricsAccess::Loopback).await;
    let address = served.address;
    let mut open = served.connect().await;
    let head = "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\
                Expect: 100-continue\r\n\r\n";
    open.write_all(head.as_bytes()).await.unwrap();
    let mut go_on = [0; 25];
    open.read_exact(&mut go_on).await.unwrap();
    let stopped = tokio::spawn(served.stop());
    while TcpStream::connect(address).await.is_ok() {
        tokio::task::yield_now().await;
    }
    open.write_all(b"{}").await.unwrap();
    let answer = read(open).await;
    assert!(answer.starts_with("HTTP/1.1 401 "), "{answer}");
    assert!(stopped.await.unwrap());
}

#[tokio::test]
async fn figures_are_read_with_their_own_token_alone() {
    let access = MetricsAccess::token("another-token-for-figures").unwrap();
    let served = Served::start(Limits::default(), access).await;
    let bearer = |token: &str| format!("{METRICS}Authorization: Bearer {token}\r\n\r\n");
    let good = served.ask(&bearer("another-token-for-figures")).await;
    assert!(
        good.starts_with("HTTP/1.1 200 ") && good.contains("# EOF"),
        "{good}"
    );
    for refused in [format!("{METRICS}\r\n"), bearer(TOKEN)] {
        assert!(served.ask(&refused).await.starts_with("HTTP/1.1 401 "));
    }
    let foreign = METRICS.replace("localhost", "evil.example");
    assert!(
        served
            .ask(&format!("{foreign}\r\n"))
            .await
            .starts_with("HTTP/1.1 403 ")
    );

    let served = Served::start(Limits::default(), MetricsAccess::Nobody).await;
    assert!(
        served
            .ask(&format!("{METRICS}\r\n"))
            .await
            .starts_with("HTTP/1.1 404 ")
    );
}
