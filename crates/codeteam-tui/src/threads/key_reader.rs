//! Reads keys from the terminal.

use std::sync::mpsc::Sender;

use ratatui::crossterm::event::{self, Event, KeyEventKind};

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
