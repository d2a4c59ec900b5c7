//! What must hold for each parser of untrusted bytes, as one function for each of them.
//!
//! A function takes any bytes and panics if a property does not hold. The libFuzzer targets call
//! it, and so does the replay of the corpora, which runs on any toolchain.

mod arguments;
mod decode;
mod definition;
mod entry;
mod fence;
mod filter;
mod headers;
mod hosts;
mod path;
mod plain;
mod policy;
mod support;

pub use arguments::arguments;
pub use decode::decode;
pub use definition::definition;
pub use entry::entry;
pub use fence::fence;
pub use filter::filter;
pub use headers::headers;
pub use hosts::hosts;
pub use path::path;
pub use policy::policy;
