//! The pages of `codeteam web` in a real browser, and its server as other clients find it. The server
//! is the real one, and so are the runs; only the thinking is scripted.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod accessible;
mod decisions;
mod followed;
mod foreign;
mod hostile;
mod keys;
mod links;
#[expect(dead_code, reason = "not all that it can is needed here")]
#[path = "../it/live.rs"]
mod live;
mod pages;
#[expect(dead_code, reason = "not all that it can is needed here")]
#[path = "../it/project.rs"]
mod project;
#[expect(dead_code, reason = "not all that it can is needed here")]
#[path = "../it/pty.rs"]
mod pty;
mod raw;
mod refusals;
mod reviews;
mod runs;
mod server;
