//! Shows a reply while it arrives: its text line by line, and how much of the rest there is.

use std::time::Instant;

use super::REPORT_INTERVAL;
use crate::builtin::Error;
use crate::builtin::event::{BuiltinEvent, EventSink};

/// A line that is longer than this is shown in pieces, at the ends of words.
const LONG_LINE: usize = 400;

/// The text of one reply as far as it was shown.
pub(super) struct ShownText {
    is_wanted: bool,
    has_text: bool,
    /// What has arrived and was not shown yet.
    rest: String,
    /// How much of the reply has arrived, with everything around it.
    bytes: usize,
    last: Instant,
}

impl ShownText {
    /// Begins a reply. If its text is not wanted, only its size is shown.
    pub(super) fn new(is_wanted: bool) -> Self {
        Self {
            is_wanted,
            has_text: false,
            rest: String::new(),
            bytes: 0,
            last: Instant::now(),
        }
    }

    /// Returns true if text was shown.
    pub(super) fn has_text(&self) -> bool {
        self.has_text
    }

    /// Shows what has arrived: some text, as part of an event of this many bytes.
    pub(super) fn add(
        &mut self,
        text: &str,
        bytes: usize,
        sink: &mut EventSink<'_>,
    ) -> Result<(), Error> {
        self.bytes += bytes;
        if self.is_wanted {
            self.rest.push_str(text);
        }
        let end = match self.rest.rfind('\n') {
            None if self.rest.len() > LONG_LINE => self.rest.rfind(' '),
            end => end,
        };
        if let Some(end) = end {
            let rest = self.rest.split_off(end + 1);
            let lines = std::mem::replace(&mut self.rest, rest);
            return self.show(&lines, sink);
        }
        if self.last.elapsed() >= REPORT_INTERVAL {
            let text = format!("(the model is answering: {} KB so far)", self.bytes >> 10);
            return self.emit(&text, sink);
        }
        Ok(())
    }

    /// Shows what is left.
    pub(super) fn finish(&mut self, sink: &mut EventSink<'_>) -> Result<(), Error> {
        let rest = std::mem::take(&mut self.rest);
        self.show(&rest, sink)
    }

    /// Reports that nothing arrives.
    pub(super) fn report_silence(
        &mut self,
        seconds: u64,
        sink: &mut EventSink<'_>,
    ) -> Result<(), Error> {
        let text = if self.bytes == 0 {
            format!("(no answer of the model for {seconds} s)")
        } else {
            format!("(nothing more of the model's answer for {seconds} s)")
        };
        self.emit(&text, sink)
    }

    fn show(&mut self, text: &str, sink: &mut EventSink<'_>) -> Result<(), Error> {
        let text = text.trim();
        if text.is_empty() {
            return Ok(());
        }
        self.has_text = true;
        self.emit(text, sink)
    }

    fn emit(&mut self, text: &str, sink: &mut EventSink<'_>) -> Result<(), Error> {
        self.last = Instant::now();
        sink.emit(&BuiltinEvent::Text { text })
    }
}
