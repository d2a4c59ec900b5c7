//! What the filter does, seen from outside.
