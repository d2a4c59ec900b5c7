//! A JSON Pointer (RFC 6901) that grows and shrinks during a walk.

use std::fmt;

#[derive(Debug, Default)]
pub(crate) struct Pointer(String);

impl Pointer {
    /// Runs `inside` with `token` appended.
    pub(crate) fn within<T>(&mut self, token: &str, inside: impl FnOnce(&mut Self) -> T) -> T {
        let length = self.0.len();
        self.push(token);
        let out = inside(self);
        self.0.truncate(length);
        out
    }

    /// The name of the key that leads here.
    pub(crate) fn of_key(&self) -> String {
        format!("{}#key", self.0)
    }

    /// Appends `token` and tells the length to go back to.
    pub(crate) fn push(&mut self, token: &str) -> usize {
        let length = self.0.len();
        self.0.push('/');
        for c in token.chars() {
            match c {
                '~' => self.0.push_str("~0"),
                '/' => self.0.push_str("~1"),
                other => self.0.push(other),
            }
        }
        length
    }

    /// Goes back to a length that `push` told.
    pub(crate) fn pop(&mut self, length: usize) {
        self.0.truncate(length);
    }
}

impl fmt::Display for Pointer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
