//! Demo backends for toolgate: support desk, feature flags, files and web fetch.
