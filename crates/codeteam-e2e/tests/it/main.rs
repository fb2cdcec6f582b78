//! The scripted model server, asked over real sockets by a plain client; codeteam with the real CLIs,
//! which ask it; and codeteam's pages in a real browser.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod anthropic;
mod binary;
mod browser;
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
