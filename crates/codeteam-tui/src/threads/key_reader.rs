//! Reads keys from the terminal.

use std::io;
use std::sync::mpsc::Sender;

use ratatui::crossterm::event::{self, Event, KeyEventKind};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;

use crate::message::Message;

/// Reads keys until nobody wants them any more, or the terminal is gone.
pub(crate) fn read_keys(messages: &Sender<Message>) {
    loop {
        let message = match event::read() {
            Ok(Event::Key(key)) if key.kind != KeyEventKind::Release => Message::KeyPressed(key),
            Ok(Event::Paste(text)) => Message::Pasted(text),
            Ok(Event::Resize(..)) => Message::Resized,
            Ok(Event::Mouse(used)) => Message::MouseUsed(used),
            Ok(_) => continue,
            Err(error) => {
                tracing::info!("the terminal cannot be read any more: {error}");
                let _ = messages.send(Message::Closed);
                return;
            }
        };
        if messages.send(message).is_err() {
            return;
        }
    }
}

/// Waits until the terminal is gone. Reading keys does not notice that: crossterm reads the end of
/// the input again and again. Whoever has a controlling terminal gets a signal, but that may be
/// ignored (`nohup`), and not every terminal is one.
pub(crate) fn watch_for_hangup(messages: &Sender<Message>) {
    let terminal = io::stdin();
    loop {
        // Without wanted events, only a hang-up or an error ends the wait.
        let mut watched = [PollFd::new(&terminal, PollFlags::empty())];
        match poll(&mut watched, None) {
            Ok(0) | Err(Errno::INTR) => {}
            ended => {
                tracing::info!("the terminal is gone: {ended:?}");
                let _ = messages.send(Message::Closed);
                return;
            }
        }
    }
}
