//! JSON-RPC and the two eras of the protocol.
//!
//! Bytes and headers come in, a decision or a finished reply comes out: nothing here does I/O, waits
//! or knows what a tool is. A host authenticates first ([`bearer`], [`unauthorised`]), checks where
//! a request says it was going ([`HostRules`]), then hands it to [`Face::decode`].
//!
//! - The *legacy* era (2024-11-05 to 2025-11-25) opens with `initialize`. It is served without a
//!   session.
//! - The *modern* era (2026-07-28) declares version and capabilities in each request.
//!
//! Each request names its era by itself, so both are served side by side.
//!
//! ```
//! use http::{HeaderMap, HeaderValue, Method};
//! use serde_json::json;
//! use toolgate_mcp::wire::{Decoded, Face, What};
//!
//! let face = Face::new("toolgate", "0.1.0").instructions("These tools are behind a gate.");
//! let mut headers = HeaderMap::new();
//! headers.insert("content-type", HeaderValue::from_static("application/json"));
//! let body = br#"{"jsonrpc":"2.0","id":7,"method":"tools/call",
//!                 "params":{"name":"flags_list","arguments":{}}}"#;
//!
//! let Decoded::Ask(ask) = face.decode(&Method::POST, &headers, body) else {
//!     unreachable!("a call is for the gate to answer");
//! };
//! assert!(matches!(&ask.what, What::CallTool { name, .. } if name == "flags_list"));
//! let reply = ask.result(json!({"content": [{"type": "text", "text": "none"}]}));
//! assert_eq!(
//!     reply.body,
//!     br#"{"jsonrpc":"2.0","id":7,"result":{"content":[{"type":"text","text":"none"}]}}"#,
//! );
//! ```

mod ask;
mod decode;
mod era;
mod headers;
mod host;
mod message;
mod mirror;
mod reply;

pub use ask::Ask;
pub use ask::Meta;
pub use ask::What;
pub use decode::Decoded;
pub use decode::Face;
pub use decode::MOST_BODY;
pub use era::Era;
pub use era::LegacyVersion;
pub use era::MODERN_VERSION;
pub use headers::bearer;
pub use host::HostRuleError;
pub use host::HostRules;
pub use reply::HttpReply;
pub use reply::unauthorised;
