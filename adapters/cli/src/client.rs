//! Speaks to a running gate's admin API.

use std::time::Duration;

use clap::Args;
use reqwest::Method;
use serde_json::Value;
use url::Host;
use url::Url;

use crate::failure::Exit;
use crate::failure::Failure;

/// Which gate.
#[derive(Debug, Clone, Args)]
pub(crate) struct Connection {
    /// The gate's address: https, or http on this machine
    #[arg(
        long,
        env = "TOOLGATE_URL",
        default_value = "http://127.0.0.1:8787",
        global = true
    )]
    url: String,
}

/// A client of one gate.
#[derive(Debug)]
pub(crate) struct Client {
    http: reqwest::Client,
    base: Url,
    token: String,
}

impl Client {
    pub(crate) fn open(connection: &Connection) -> Result<Self, Failure> {
        let base = address(&connection.url)?;
        // Not an argument: those are seen by everybody on the machine.
        let token = std::env::var(TOKEN_VARIABLE).ok();
        let token = token.filter(|token| !token.is_empty()).ok_or_else(|| {
            let message = format!("the operator's token is missing: set `{TOKEN_VARIABLE}`");
            Failure::usage(message)
        })?;
        let mut builder = reqwest::Client::builder()
            .no_proxy()
            .redirect(reqwest::redirect::Policy::none())
            .connect_timeout(Duration::from_secs(5))
            .timeout(Duration::from_secs(100));
        if base.scheme() == "http" {
            // Plain HTTP needs no certificates, so a machine without any serves as well.
            builder = builder.tls_certs_only([]);
        }
        let http = builder
            .build()
            .map_err(|_| Failure::unreachable("the HTTP client cannot be set up"))?;
        Ok(Self { http, base, token })
    }

    /// The gate's address, without a slash at its end.
    pub(crate) fn address(&self) -> &str {
        self.base.as_str().trim_end_matches('/')
    }

    pub(crate) async fn fetch(
        &self,
        path: &[&str],
        query: &[(&str, &str)],
    ) -> Result<Value, Failure> {
        self.ask(Method::GET, path, query, None).await
    }

    pub(crate) async fn post(&self, path: &[&str], body: &Value) -> Result<Value, Failure> {
        self.ask(Method::POST, path, &[], Some(body)).await
    }

    pub(crate) async fn put(&self, path: &[&str], body: &Value) -> Result<Value, Failure> {
        self.ask(Method::PUT, path, &[], Some(body)).await
    }

    pub(crate) async fn delete(&self, path: &[&str]) -> Result<Value, Failure> {
        self.ask(Method::DELETE, path, &[], None).await
    }

    async fn ask(
        &self,
        method: Method,
        path: &[&str],
        query: &[(&str, &str)],
        body: Option<&Value>,
    ) -> Result<Value, Failure> {
        if path.iter().any(|part| matches!(*part, "" | "." | "..")) {
            return Err(Failure::usage(
                "a name cannot be empty or made of dots alone",
            ));
        }
        let mut url = self.base.clone();
        match url.path_segments_mut() {
            Ok(mut segments) => segments.pop_if_empty().push("api").extend(path),
            Err(()) => return Err(Failure::usage("the gate's address cannot have a path")),
        };
        if !query.is_empty() {
            url.query_pairs_mut().extend_pairs(query);
        }
        let mut request = self.http.request(method, url).bearer_auth(&self.token);
        if let Some(body) = body {
            request = request
                .header("content-type", "application/json")
                .body(body.to_string());
        }
        let response = request.send().await.map_err(|error| {
            let why = if error.is_timeout() {
                "does not answer in time"
            } else {
                "cannot be reached"
            };
            Failure::unreachable(format!("the gate at {} {why}", self.address()))
        })?;
        let status = response.status();
        let bytes = response
            .bytes()
            .await
            .map_err(|_| Failure::unreachable("the gate's answer broke off"))?;
        if status.is_success() {
            if bytes.is_empty() {
                return Ok(Value::Null);
            }
            return serde_json::from_slice(&bytes)
                .map_err(|_| Failure::unreachable("the answer is not that of a gate"));
        }
        let exit = if status.is_server_error() {
            Exit::Unreachable
        } else {
            Exit::Refused
        };
        Err(refusal(exit, status.as_u16(), &bytes))
    }
}

/// What the gate said of a refusal.
fn refusal(exit: Exit, status: u16, bytes: &[u8]) -> Failure {
    let document: Value = serde_json::from_slice(bytes).unwrap_or(Value::Null);
    let Some(message) = document.pointer("/error/message").and_then(Value::as_str) else {
        return Failure::new(exit, format!("the gate answered with status {status}"));
    };
    let mut failure = Failure::new(exit, message);
    if let Some(code) = document.pointer("/error/code").and_then(Value::as_str) {
        code.clone_into(&mut failure.code);
    }
    match document.pointer("/error/details") {
        Some(Value::Array(details)) => failure.with(details.iter().map(detail)),
        Some(Value::Null) | None => failure,
        Some(other) => failure.with([other.to_string()]),
    }
}

fn detail(value: &Value) -> String {
    let text = |name: &str| value.get(name).and_then(Value::as_str);
    match (text("path"), text("message")) {
        (Some(path), Some(message)) if !path.is_empty() => format!("{path}: {message}"),
        (_, Some(message)) => message.to_owned(),
        _ => value.to_string(),
    }
}

/// A token is sent in the clear to this machine only.
fn address(text: &str) -> Result<Url, Failure> {
    let wrong = |why: &str| Failure::usage(format!("the gate's address {why}"));
    let url = Url::parse(text).map_err(|_| wrong("is not a URL"))?;
    if !url.username().is_empty() || url.password().is_some() {
        return Err(wrong("must not hold a user name or a password"));
    }
    if url.query().is_some() || url.fragment().is_some() {
        return Err(wrong("must not hold a query or a fragment"));
    }
    let here = match url.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(ip)) => ip.is_loopback(),
        Some(Host::Ipv6(ip)) => ip.is_loopback(),
        None => false,
    };
    match url.scheme() {
        "https" => Ok(url),
        "http" if here => Ok(url),
        "http" => Err(wrong("must use https beyond this machine")),
        _ => Err(wrong("is neither http nor https")),
    }
}

const TOKEN_VARIABLE: &str = "TOOLGATE_TOKEN";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_travels_in_the_clear_on_this_machine_only() {
        for good in [
            "http://127.0.0.1:1",
            "http://[::1]:1/",
            "http://localhost",
            "https://g.example",
        ] {
            assert!(address(good).is_ok(), "{good}");
        }
        for bad in [
            "http://gate.example",
            "http://localhost.evil.example",
            "ftp://127.0.0.1",
            "https://u:p@gate.example",
            "https://gate.example/?a=b",
            "nonsense",
        ] {
            assert_eq!(address(bad).unwrap_err().exit, Exit::Usage, "{bad}");
        }
    }

    #[test]
    fn a_refusal_keeps_the_words_of_the_gate() {
        let body = br#"{"error":{"code":"invalid_policy","message":"the policy is not accepted",
            "details":[{"path":"/tools/x","message":"there is no such tool"}]}}"#;
        let failure = refusal(Exit::Refused, 422, body);
        assert_eq!(failure.code, "invalid_policy");
        assert_eq!(failure.details, ["/tools/x: there is no such tool"]);
        let bare = refusal(Exit::Unreachable, 502, b"<html>");
        assert_eq!(bare.message, "the gate answered with status 502");
    }
}
