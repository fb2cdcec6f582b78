//! The threads that make messages: keys, the feed, what is loaded, commands.

mod commands;
mod key_reader;
mod loader;

pub(crate) use self::commands::start_command;
pub(crate) use self::key_reader::{read_keys, watch_for_hangup};
pub(crate) use self::loader::load_requests;
