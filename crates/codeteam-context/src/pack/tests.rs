//! Packs of made-up files.
