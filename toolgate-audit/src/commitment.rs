//! A commitment to the arguments of a call, for an entry that shows them redacted.
//!
//! The redacted arguments in an entry do not prove what was sent. A commitment does, for whoever
//! holds the salt; once the salt is deleted nobody can test guesses against it any more. A bare
//! hash would stay open to guessing for ever, and so has no place in an entry.
//!
//! ```
//! use toolgate_audit::commitment::{self, Salt};
//!
//! let salt = Salt::from_bytes([7; 32]); // from the random source of the adapter
//! let text = commitment::commit(&salt, br#"{"phone":"555-0100"}"#);
//! assert!(commitment::opens(&salt, br#"{"phone":"555-0100"}"#, &text));
//! assert!(!commitment::opens(&salt, br#"{"phone":"555-0101"}"#, &text));
//! ```

use std::fmt;

use data_encoding::HEXLOWER;
use hmac::Hmac;
use hmac::KeyInit;
use hmac::Mac;
use sha2::Sha256;

/// 32 random bytes, kept apart from the audit chain.
#[derive(Clone, PartialEq, Eq)]
pub struct Salt([u8; 32]);

impl Salt {
    /// A salt from a random source, or from where it was kept.
    #[must_use]
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The bytes, to be kept.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    fn mac(&self, bytes: &[u8]) -> Hmac<Sha256> {
        // A key as long as a block is used as it stands, RFC 2104, section 2; ours is padded to it.
        let mut key = [0; 64];
        for (padded, byte) in key.iter_mut().zip(self.0) {
            *padded = byte;
        }
        let mut mac = Hmac::<Sha256>::new(&key.into());
        mac.update(bytes);
        mac
    }
}

impl fmt::Debug for Salt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Salt(..)")
    }
}

/// The commitment to these canonical bytes: HMAC-SHA256 under the salt, as 64 lower-case hex digits.
#[must_use]
pub fn commit(salt: &Salt, canonical_args: &[u8]) -> String {
    HEXLOWER.encode(&salt.mac(canonical_args).finalize().into_bytes())
}

/// Whether `commitment` was made of these bytes with this salt; takes the same time for any answer.
#[must_use]
pub fn opens(salt: &Salt, canonical_args: &[u8], commitment: &str) -> bool {
    HEXLOWER
        .decode(commitment.as_bytes())
        .is_ok_and(|expected| salt.mac(canonical_args).verify_slice(&expected).is_ok())
}
