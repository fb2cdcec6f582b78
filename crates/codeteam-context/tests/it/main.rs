//! Tests from outside of a repository that is read, redacted and packed.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod corpus;
mod hostile;
mod imports;
mod map;
mod misses;
mod properties;
mod redactor;
mod tokens;
