//! Pages about the runs of a user's projects, for browsers on this machine.
//!
//! [`WebServer::open`] takes the addresses and prepares everything, and [`WebServer::serve`] serves
//! until it is told to end. Every page is rendered from the views of codeteam-report, so it shows the
//! same as every other surface, also when another process drives a run. The server decides nothing by
//! itself: a decision is a command of codeteam, which the program that serves carries out
//! ([`CommandRunner`](codeteam_engine::command_runner::CommandRunner)).
//!
//! How it works: `gate` decides by the head of a request whether it is let in, `sessions` knows who is
//! signed in, `server` passes requests on. `load_page` fills a page with data and `page` makes HTML of
//! it; `page` reads no file and no clock. `actions` turns forms into commands. `live_hub` tells open
//! pages what has changed; they fetch the parts that show it. A page can be read, and forms can be
//! sent, without any script.

mod actions;
mod drafts;
#[cfg(test)]
mod fixture;
mod form_data;
mod gate;
mod listen;
mod live_hub;
mod load_page;
mod log_tail;
mod mint;
mod output_cache;
mod page;
mod projects;
mod replies;
mod routes;
mod run_history;
mod server;
mod sessions;
mod state_file;
mod web_server;

pub use self::mint::mint_url;
pub use self::projects::RunnerFactory;
pub use self::web_server::{WebAddress, WebError, WebOptions, WebServer};
