//! Runs commands of codeteam for the screen.

use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::thread;

use codeteam_engine::command_runner::CommandRunner;

use crate::message::Message;

/// Starts a command on a thread of its own.
pub(crate) fn start_command(
    runner: &Arc<dyn CommandRunner>,
    messages: &Sender<Message>,
    id: u64,
    words: Vec<String>,
) {
    let (runner, sender) = (Arc::clone(runner), messages.clone());
    let body = move || {
        let mut on_line = |line: String| {
            let _ = sender.send(Message::CommandPrinted { id, line });
        };
        let ended = runner.run(&words, &mut on_line);
        let code = ended.unwrap_or_else(|error| {
            on_line(format!("error: {error}"));
            None
        });
        let _ = sender.send(Message::CommandEnded { id, code });
    };
    let name = "screen-command".to_owned();
    if thread::Builder::new().name(name).spawn(body).is_err() {
        let _ = messages.send(Message::CommandEnded { id, code: None });
    }
}
