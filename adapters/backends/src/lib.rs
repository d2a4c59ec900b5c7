//! Built-in sources of tools: a support desk, feature flags, files and web fetch.
//!
//! Each is an [`Upstream`](toolgate_mcp::upstream::Upstream) over a small store trait. A backend
//! gets that handle and nothing else: no unit, no key and no kill switch can be reached through
//! it, whatever name a caller makes up.

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
