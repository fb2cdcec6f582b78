//! The scripted model server, asked over real sockets by a plain client; and codeteam with the real
//! CLIs, which ask it.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod anthropic;
mod binary;
mod capture;
mod chat;
mod client;
mod faults;
mod gemini;
mod install;
mod responses;
mod roads;
mod runs;
mod scenarios;
mod tools;
