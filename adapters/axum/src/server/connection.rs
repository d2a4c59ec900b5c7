//! One connection: requests are read whole and within limits, answered, and written back.

use std::convert::Infallible;
use std::future::Future;

use bytes::Bytes;
use bytes::BytesMut;
use http::HeaderValue;
use http::Request;
use http::Response;
use http::StatusCode;
use http::header;
use http_body_util::BodyExt as _;
use http_body_util::Full;
use hyper::body::Body;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use hyper_util::rt::TokioTimer;
use tokio::net::TcpStream;
use tokio::sync::watch;
use toolgate_http::Known;

use super::Limits;
use super::places::Place;

/// An oversized body is read this many times its limit before it is refused, so that a client
/// which writes before it reads gets to see the refusal.
const PATIENCE: usize = 8;

/// Serves a connection to its end, until its place is taken, or until the request under way is
/// answered once `stopped` says so.
pub(super) async fn serve<F, A>(
    stream: TcpStream,
    limits: Limits,
    answer: F,
    place: Place,
    mut stopped: watch::Receiver<bool>,
) where
    F: Fn(Request<Bytes>) -> A + Clone,
    A: Future<Output = Response<Bytes>> + Send + 'static,
{
    let place = &place;
    let service = service_fn(move |request: Request<hyper::body::Incoming>| {
        let answer = answer.clone();
        async move {
            let answer = move |request| {
                place.answering();
                answer(request)
            };
            let response = whole(request, limits, answer).await;
            place.answered(response.extensions().get::<Known>().is_some());
            Ok::<_, Infallible>(response.map(Full::new))
        }
    });
    let mut builder = http1::Builder::new();
    builder
        .timer(TokioTimer::new())
        .header_read_timeout(limits.header_time)
        .max_headers(limits.header_count)
        .max_buf_size(limits.header_bytes)
        .half_close(false);
    let mut connection = std::pin::pin!(builder.serve_connection(TokioIo::new(stream), service));
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        () = place.cut() => return,
        () = ended(&mut stopped) => {
            connection.as_mut().graceful_shutdown();
            tokio::select! {
                ended = connection.as_mut() => ended,
                () = place.cut() => return,
            }
        }
    };
    if ended.is_err() {
        tracing::debug!("a connection ended early");
    }
}

async fn ended(stopped: &mut watch::Receiver<bool>) {
    // Without a sender the server is gone, which is an end as well.
    stopped.wait_for(|stop| *stop).await.ok();
}

/// Reads a request's body, within limits, and has the whole answered.
pub(super) async fn whole<B, A>(
    request: Request<B>,
    limits: Limits,
    answer: impl FnOnce(Request<Bytes>) -> A,
) -> Response<Bytes>
where
    B: Body<Data = Bytes> + Unpin,
    A: Future<Output = Response<Bytes>> + Send + 'static,
{
    let (parts, body) = request.into_parts();
    let body = match tokio::time::timeout(limits.body_time, read(body, limits.body)).await {
        Ok(Ok(body)) => body,
        Ok(Err(refused)) => return refuse(refused),
        Err(_) => return refuse(StatusCode::REQUEST_TIMEOUT),
    };
    // On a task of its own: whoever hangs up leaves nothing half done.
    let answered = tokio::spawn(answer(Request::from_parts(parts, body)));
    match tokio::time::timeout(limits.request_time, answered).await {
        Ok(Ok(response)) => response,
        Ok(Err(_)) | Err(_) => refuse(StatusCode::SERVICE_UNAVAILABLE),
    }
}

async fn read<B>(mut body: B, most: usize) -> Result<Bytes, StatusCode>
where
    B: Body<Data = Bytes> + Unpin,
{
    let announced = body.size_hint().lower();
    let patience = most.saturating_mul(PATIENCE);
    if usize::try_from(announced).map_or(true, |announced| announced > patience) {
        return Err(StatusCode::PAYLOAD_TOO_LARGE);
    }
    let mut whole = BytesMut::new();
    let mut size = 0_usize;
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|_| StatusCode::BAD_REQUEST)?;
        let Ok(data) = frame.into_data() else {
            continue;
        };
        size = size.saturating_add(data.len());
        if size > patience {
            return Err(StatusCode::PAYLOAD_TOO_LARGE);
        }
        if size > most {
            whole = BytesMut::new();
        } else {
            whole.extend_from_slice(&data);
        }
    }
    if size > most {
        Err(StatusCode::PAYLOAD_TOO_LARGE)
    } else {
        Ok(whole.freeze())
    }
}

/// A refusal before any route is known; the connection is closed with it.
fn refuse(status: StatusCode) -> Response<Bytes> {
    let (code, message) = match status {
        StatusCode::PAYLOAD_TOO_LARGE => ("too_large", "the body is too large"),
        StatusCode::REQUEST_TIMEOUT => ("too_slow", "the body did not arrive in time"),
        StatusCode::SERVICE_UNAVAILABLE => {
            ("unavailable", "the answer took too long; ask again later")
        }
        _ => ("bad_request", "the body could not be read"),
    };
    let body = format!(r#"{{"error":{{"code":"{code}","message":"{message}"}}}}"#);
    let mut response = Response::new(Bytes::from(body));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    for (name, value) in [
        (header::CACHE_CONTROL, "no-store"),
        (header::CONNECTION, "close"),
        (header::CONTENT_TYPE, "application/json"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}
