//! Tamper-evident audit entries: canonical bytes, hash chains and their verification.
