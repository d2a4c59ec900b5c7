//! Built-in sources of tools: a support desk, feature flags, files and web fetch.
//!
//! Each is an [`Upstream`](toolgate_mcp::upstream::Upstream) over a small store trait. A backend
//! gets that handle and nothing else: no unit, no key and no kill switch can be reached through
//! it, whatever name a caller makes up.
//!
//! ```
//! use std::sync::Arc;
//!
//! use serde_json::json;
//! use toolgate_backends::Flags;
//! use toolgate_backends::memory::MemoryRecords;
//! use toolgate_backends::seed;
//! use toolgate_mcp::upstream::ToolCall;
//! use toolgate_mcp::upstream::Upstream as _;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let records = Arc::new(MemoryRecords::default());
//! seed::records(records.as_ref()).await?;
//! let flags = Flags::new(records)?;
//!
//! let arguments = json!({"name": "beta_banner"});
//! let arguments = arguments.as_object().cloned().unwrap_or_default();
//! let call = ToolCall::new("c1".parse()?, "p1".parse()?, "flags_get".parse()?, arguments);
//! let result = flags.call(call).await?;
//! assert_eq!(
//!     result["structuredContent"],
//!     json!({"name": "beta_banner", "value": "off"})
//! );
//! # Ok(())
//! # }
//! ```

mod desk;
mod error;
mod files;
mod flags;
pub mod memory;
pub mod seed;
mod store;
mod tool;
mod web;

pub use desk::Desk;
pub use error::BackendError;
pub use files::FilePath;
pub use files::FilePathError;
pub use files::Files;
pub use flags::Flags;
pub use store::Fetch;
pub use store::Fetched;
pub use store::FileStore;
pub use store::RecordStore;
pub use web::Web;
