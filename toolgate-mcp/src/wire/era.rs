//! The two eras and their versions.

use std::fmt;

/// The version of the modern era that is served.
pub const MODERN_VERSION: &str = "2026-07-28";

/// `_meta`: the version of a modern request.
pub(super) const PROTOCOL_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
/// `_meta`: the capabilities of the client for a modern request.
pub(super) const CLIENT_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
/// `_meta`: name and version of the client.
pub(super) const CLIENT_INFO: &str = "io.modelcontextprotocol/clientInfo";
/// `_meta`: name and version of the server.
pub(super) const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";

/// How a request wants to be answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(
    clippy::exhaustive_enums,
    reason = "a third era must break every match"
)]
pub enum Era {
    /// With an `initialize` handshake.
    Legacy(LegacyVersion),
    /// With version and capabilities in each request.
    Modern,
}

impl fmt::Display for Era {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Legacy(version) => version.as_str(),
            Self::Modern => MODERN_VERSION,
        })
    }
}

/// A version of the legacy era.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[expect(clippy::exhaustive_enums, reason = "the era is closed")]
pub enum LegacyVersion {
    /// 2024-11-05.
    V2024_11_05,
    /// 2025-03-26.
    V2025_03_26,
    /// 2025-06-18.
    V2025_06_18,
    /// 2025-11-25.
    V2025_11_25,
}

impl LegacyVersion {
    /// The version that a client may choose when it names none that is known.
    pub const NEWEST: Self = Self::V2025_11_25;
    /// What a request without a version header speaks: the header is younger than this version.
    pub const UNSAID: Self = Self::V2025_03_26;

    /// The version of that name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Some(match name {
            "2024-11-05" => Self::V2024_11_05,
            "2025-03-26" => Self::V2025_03_26,
            "2025-06-18" => Self::V2025_06_18,
            "2025-11-25" => Self::V2025_11_25,
            _ => return None,
        })
    }

    /// Its name.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::V2024_11_05 => "2024-11-05",
            Self::V2025_03_26 => "2025-03-26",
            Self::V2025_06_18 => "2025-06-18",
            Self::V2025_11_25 => "2025-11-25",
        }
    }
}
