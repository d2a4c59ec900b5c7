//! The one way out of the process: HTTPS to public addresses, checked where it connects.
//!
//! A name is resolved here, every address of it is checked, and only checked ones are handed to
//! the connection, so that a second answer of the resolver changes nothing.

use std::fmt;
use std::net::IpAddr;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use reqwest::Client;
use reqwest::dns::Addrs;
use reqwest::dns::Name;
use reqwest::dns::Resolve;
use reqwest::dns::Resolving;
use reqwest::header;
use reqwest::redirect::Policy;
use toolgate_backends::BackendError;
use toolgate_backends::Fetch;
use toolgate_backends::Fetched;
use toolgate_core::endpoint::address_is_public;
use toolgate_core::endpoint::check_host;
use toolgate_core::rules::AllowedHosts;
use url::Host;
use url::Url;

/// The longest that a connection may take to be made, and a fetch in all.
const TIMES: (Duration, Duration) = (Duration::from_secs(5), Duration::from_secs(20));

/// Why there is no way out.
#[derive(Debug)]
#[non_exhaustive]
pub struct FetchError(reqwest::Error);

impl fmt::Display for FetchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the HTTP client cannot be made")
    }
}

impl std::error::Error for FetchError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.0)
    }
}

/// Fetches from public addresses. Proxy variables are ignored, no redirect is followed.
///
/// ```
/// use toolgate_axum::fetch::GuardedFetch;
/// use toolgate_backends::Fetch as _;
/// use toolgate_core::rules::AllowedHosts;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let fetch = GuardedFetch::new(false)?;
/// let hosts = AllowedHosts::new(&["169.254.169.254".to_owned()]).map_err(|_| "not a host")?;
/// let answer = fetch.get("https://169.254.169.254/", &hosts, 1024).await;
/// assert!(answer.is_err());
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct GuardedFetch {
    client: Client,
    allow_loopback: bool,
}

impl GuardedFetch {
    /// A way out. With `allow_loopback` this machine's own loopback addresses can be reached too,
    /// for development; no other private address ever is.
    ///
    /// # Errors
    /// [`FetchError`] if the client cannot be made, for example without any root certificates.
    pub fn new(allow_loopback: bool) -> Result<Self, FetchError> {
        Self::resolving(allow_loopback, Arc::new(System), TIMES)
    }

    fn resolving(
        allow_loopback: bool,
        names: Arc<dyn Names>,
        (connect, whole): (Duration, Duration),
    ) -> Result<Self, FetchError> {
        // The first maker of a client decides for the process; they all ask for the same one.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = Client::builder()
            .no_proxy()
            .redirect(Policy::none())
            .referer(false)
            .user_agent(concat!("toolgate/", env!("CARGO_PKG_VERSION")))
            .connect_timeout(connect)
            .timeout(whole)
            .pool_max_idle_per_host(0)
            .dns_resolver(Arc::new(Checked {
                names,
                allow_loopback,
            }))
            .build()
            .map_err(FetchError)?;
        Ok(Self {
            client,
            allow_loopback,
        })
    }

    /// Fetches an address that the caller may fetch.
    async fn read(&self, url: &Url, most: usize) -> Result<Fetched, BackendError> {
        let refused = BackendError::Refused("that address is not a public one");
        let Some(host) = url.host() else {
            return Err(refused);
        };
        let literal = match host {
            Host::Ipv4(address) => Some(IpAddr::V4(address)),
            Host::Ipv6(address) => Some(IpAddr::V6(address)),
            Host::Domain(_) => None,
        };
        let here = match literal {
            Some(address) => address.is_loopback(),
            None => host == Host::Domain("localhost"),
        };
        let local = self.allow_loopback && here;
        if !local && check_host(&host).is_err() {
            return Err(refused);
        }
        let asked = self
            .client
            .get(url.clone())
            .header(header::ACCEPT_ENCODING, "identity");
        let mut answer = asked.send().await.map_err(|error| failed(&error))?;
        let text = |name: header::HeaderName| {
            answer
                .headers()
                .get(name)
                .and_then(|value| value.to_str().ok())
                .map(str::to_owned)
        };
        let (content_type, location) = (text(header::CONTENT_TYPE), text(header::LOCATION));
        let encoded = text(header::CONTENT_ENCODING);
        if encoded.is_some_and(|encoding| !encoding.eq_ignore_ascii_case("identity")) {
            return Err(BackendError::Refused(
                "the answer is compressed, which was not asked for",
            ));
        }
        let status = answer.status().as_u16();
        let mut body = Vec::new();
        let mut truncated = false;
        while let Some(chunk) = answer.chunk().await.map_err(|error| failed(&error))? {
            let room = most.saturating_sub(body.len());
            truncated = chunk.len() > room;
            body.extend(chunk.iter().take(room));
            if truncated {
                break;
            }
        }
        Ok(Fetched {
            status,
            content_type,
            location,
            body,
            truncated,
        })
    }
}

/// A failure without the address, which may hold what is nobody's business.
fn failed(error: &reqwest::Error) -> BackendError {
    let mut source: Option<&(dyn std::error::Error + 'static)> = Some(error);
    while let Some(cause) = source {
        if cause.is::<NotPublic>() {
            return BackendError::Refused("that address is not a public one");
        }
        source = cause.source();
    }
    BackendError::unavailable(if error.is_timeout() {
        "the server did not answer in time"
    } else {
        "the server could not be reached"
    })
}

#[async_trait]
impl Fetch for GuardedFetch {
    async fn get(
        &self,
        url: &str,
        hosts: &AllowedHosts,
        most: usize,
    ) -> Result<Fetched, BackendError> {
        let not_listed = BackendError::Refused("the policy does not list that host");
        let url = hosts.allows(url).map_err(|_| not_listed)?;
        self.read(&url, most).await
    }
}

/// Looks names up.
trait Names: Send + Sync + fmt::Debug {
    fn look_up(&self, name: &str) -> std::io::Result<Vec<IpAddr>>;
}

/// The system's own way.
#[derive(Debug)]
struct System;

impl Names for System {
    fn look_up(&self, name: &str) -> std::io::Result<Vec<IpAddr>> {
        let found = std::net::ToSocketAddrs::to_socket_addrs(&(name, 0))?;
        Ok(found.map(|address| address.ip()).collect())
    }
}

/// An answer of the resolver holds an address that is not public.
#[derive(Debug)]
struct NotPublic;

impl fmt::Display for NotPublic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the name has an address that is not a public one")
    }
}

impl std::error::Error for NotPublic {}

/// Hands only checked addresses to the connection: all of a name's are public, or none is used.
#[derive(Debug)]
struct Checked {
    names: Arc<dyn Names>,
    allow_loopback: bool,
}

impl Resolve for Checked {
    fn resolve(&self, name: Name) -> Resolving {
        let (names, allow_loopback) = (Arc::clone(&self.names), self.allow_loopback);
        Box::pin(async move {
            let name = name.as_str().to_owned();
            let found = tokio::task::spawn_blocking(move || names.look_up(&name)).await??;
            let fine = |address: &IpAddr| {
                address_is_public(*address) || (allow_loopback && address.is_loopback())
            };
            if found.is_empty() || !found.iter().all(fine) {
                return Err(NotPublic.into());
            }
            let addresses = found.into_iter().map(|address| SocketAddr::new(address, 0));
            Ok(Box::new(addresses) as Addrs)
        })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;
    use std::sync::atomic::Ordering;

    use tokio::io::AsyncReadExt as _;
    use tokio::io::AsyncWriteExt as _;
    use tokio::net::TcpListener;

    use super::*;

    #[derive(Debug)]
    struct Double(Vec<IpAddr>, AtomicUsize);

    impl Names for Double {
        fn look_up(&self, _: &str) -> std::io::Result<Vec<IpAddr>> {
            self.1.fetch_add(1, Ordering::SeqCst);
            Ok(self.0.clone())
        }
    }

    async fn server(answer: String) -> (Url, Arc<AtomicUsize>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/", listener.local_addr().unwrap())
            .parse()
            .unwrap();
        let served = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&served);
        tokio::spawn(async move {
            while let Ok((mut socket, _)) = listener.accept().await {
                count.fetch_add(1, Ordering::SeqCst);
                let mut asked = [0; 4096];
                let _ = socket.read(&mut asked).await;
                let _ = socket.write_all(answer.as_bytes()).await;
            }
        });
        (url, served)
    }

    fn page(body: &str) -> String {
        let length = body.len();
        format!(
            "HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}"
        )
    }

    #[tokio::test]
    async fn loopback_is_reached_only_by_choice() {
        let (url, served) = server(page("hello")).await;
        let refused = GuardedFetch::new(false).unwrap().read(&url, 100).await;
        assert!(matches!(refused, Err(BackendError::Refused(_))));
        assert_eq!(served.load(Ordering::SeqCst), 0);
        let got = GuardedFetch::new(true)
            .unwrap()
            .read(&url, 100)
            .await
            .unwrap();
        assert_eq!(
            (got.status, got.body.as_slice()),
            (200, b"hello".as_slice())
        );
    }

    #[tokio::test]
    async fn a_name_with_one_private_address_is_not_connected() {
        let (url, served) = server(page("hello")).await;
        let url: Url = format!("http://evil.example:{}/", url.port().unwrap())
            .parse()
            .unwrap();
        for private in [
            "127.0.0.1",
            "10.0.0.1",
            "169.254.169.254",
            "::ffff:127.0.0.1",
        ] {
            let public = "93.184.216.34".parse().unwrap();
            let names = Double(vec![public, private.parse().unwrap()], AtomicUsize::new(0));
            let fetch = GuardedFetch::resolving(false, Arc::new(names), TIMES).unwrap();
            let refused = fetch.read(&url, 100).await;
            assert!(
                matches!(refused, Err(BackendError::Refused(_))),
                "{refused:?}"
            );
        }
        assert_eq!(served.load(Ordering::SeqCst), 0);
    }

    #[tokio::test]
    async fn what_is_resolved_once_is_what_is_connected() {
        let (url, served) = server(page("hello")).await;
        let url: Url = format!("http://good.example:{}/", url.port().unwrap())
            .parse()
            .unwrap();
        let names = Arc::new(Double(
            vec!["127.0.0.1".parse().unwrap()],
            AtomicUsize::new(0),
        ));
        let fetch = GuardedFetch::resolving(true, Arc::clone(&names) as _, TIMES).unwrap();
        assert_eq!(fetch.read(&url, 100).await.unwrap().body, b"hello");
        assert_eq!(served.load(Ordering::SeqCst), 1);
        assert_eq!(names.1.load(Ordering::SeqCst), 1);
    }

    #[tokio::test]
    async fn redirects_are_shown_and_bodies_are_cut() {
        let answer = "HTTP/1.1 302 Found\r\nlocation: http://10.0.0.1/\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
        let (url, served) = server(answer.to_owned()).await;
        let fetch = GuardedFetch::new(true).unwrap();
        let moved = fetch.read(&url, 100).await.unwrap();
        assert_eq!(
            (moved.status, moved.location.as_deref()),
            (302, Some("http://10.0.0.1/"))
        );
        assert_eq!(served.load(Ordering::SeqCst), 1);
        let (url, _) = server(page(&"x".repeat(1_000))).await;
        let cut = fetch.read(&url, 100).await.unwrap();
        assert_eq!((cut.body.len(), cut.truncated), (100, true));
    }

    #[tokio::test]
    async fn a_host_that_is_not_listed_is_not_even_looked_up() {
        let names = Arc::new(Double(
            vec!["127.0.0.1".parse().unwrap()],
            AtomicUsize::new(0),
        ));
        let fetch = GuardedFetch::resolving(true, Arc::clone(&names) as _, TIMES).unwrap();
        let hosts = AllowedHosts::new(&["docs.example.com".to_owned()]).unwrap();
        for url in [
            "https://evil.example/",
            "http://docs.example.com/",
            "https://docs.example.com:8443/",
        ] {
            let refused = fetch.get(url, &hosts, 100).await;
            assert!(matches!(refused, Err(BackendError::Refused(_))), "{url}");
        }
        for (listed, url) in [
            ("10.0.0.1", "https://10.0.0.1/"),
            ("router.local", "https://router.local/"),
        ] {
            let hosts = AllowedHosts::new(&[listed.to_owned()]).unwrap();
            let refused = fetch.get(url, &hosts, 100).await;
            assert!(matches!(refused, Err(BackendError::Refused(_))), "{url}");
        }
        assert_eq!(names.1.load(Ordering::SeqCst), 0);
    }

    #[tokio::test]
    async fn a_server_that_does_not_finish_is_left() {
        let short = (Duration::from_millis(200), Duration::from_millis(200));
        let fetch = GuardedFetch::resolving(true, Arc::new(System), short).unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/", listener.local_addr().unwrap());
        let url: Url = url.parse().unwrap();
        for begun in ["", "HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf"] {
            let hang = async {
                let (mut socket, _) = listener.accept().await.unwrap();
                let mut asked = [0; 4096];
                let _ = socket.read(&mut asked).await;
                socket.write_all(begun.as_bytes()).await.unwrap();
                std::future::pending::<()>().await;
            };
            let left = tokio::select! {
                left = tokio::time::timeout(TIMES.0, fetch.read(&url, 100)) => left.unwrap(),
                () = hang => continue,
            };
            let why = std::error::Error::source(&left.unwrap_err()).map(ToString::to_string);
            assert_eq!(why.as_deref(), Some("the server did not answer in time"));
        }
    }

    #[tokio::test]
    async fn a_body_without_a_length_is_cut_too() {
        let chunk = format!("{:x}\r\n{}\r\n", 60, "x".repeat(60)).repeat(3);
        let head = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\nconnection: close\r\n\r\n";
        let (url, _) = server(format!("{head}{chunk}0\r\n\r\n")).await;
        let fetch = GuardedFetch::new(true).unwrap();
        let cut = fetch.read(&url, 100).await.unwrap();
        assert_eq!((cut.body.len(), cut.truncated), (100, true));
        let whole = fetch.read(&url, 180).await.unwrap();
        assert_eq!((whole.body.len(), whole.truncated), (180, false));
    }

    #[tokio::test]
    async fn what_comes_compressed_is_not_read() {
        let answer = "HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: 1\r\nconnection: close\r\n\r\nx";
        let (url, _) = server(answer.to_owned()).await;
        let refused = GuardedFetch::new(true).unwrap().read(&url, 100).await;
        assert!(matches!(refused, Err(BackendError::Refused(_))));
    }
}
