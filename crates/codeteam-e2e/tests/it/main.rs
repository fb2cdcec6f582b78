//! The scripted model server, asked over real sockets by a plain client.

mod anthropic;
mod binary;
mod capture;
mod chat;
mod client;
mod faults;
mod gemini;
mod responses;
mod roads;
mod scenarios;
mod tools;
