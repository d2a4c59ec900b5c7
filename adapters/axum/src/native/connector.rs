//! The sources of tools that are built in.

/// A built-in source of tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(
    clippy::exhaustive_enums,
    reason = "a new source must be wired everywhere"
)]
pub enum Connector {
    /// A support desk.
    Desk,
    /// Files in a folder.
    Files,
    /// Feature flags.
    Flags,
    /// Pages of the web.
    Web,
}

impl Connector {
    /// All of them, by name.
    pub const ALL: [Self; 4] = [Self::Desk, Self::Files, Self::Flags, Self::Web];

    /// Its name, which is also the id of its upstream.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Desk => "desk",
            Self::Files => "files",
            Self::Flags => "flags",
            Self::Web => "web",
        }
    }
}
