//! codeteam.
fn main() {}
