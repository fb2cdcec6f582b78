//! Shows how far the reading of many files has come, if it takes noticeably long: on the last line of
//! a terminal, or as a plain line from time to time.
//!
//! A thread draws, so that work which reports nothing for a while (git reading the past, a ranking)
//! is shown too.

use std::io::{self, IsTerminal as _, Write as _};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use codeteam_context::tree::FileProgress;
use codeteam_engine::find::SearchStage;

use super::Verbosity;
use crate::output::{eprint_line, format_bytes as size, group_digits};

/// How often what is shown.
#[derive(Clone, Copy)]
struct DrawInterval {
    /// Work that ends sooner is not shown.
    soon: Duration,
    /// The interval between redraws.
    again: Duration,
}

/// On a terminal, where each line replaces the one before.
const LIVE: DrawInterval = DrawInterval {
    soon: Duration::from_millis(500),
    again: Duration::from_millis(100),
};
/// Where every line stays, such as in the log of a CI job.
const PLAIN: DrawInterval = DrawInterval {
    soon: Duration::from_secs(5),
    again: Duration::from_mins(1),
};

/// The progress of the work, shown while it lasts.
pub(crate) struct ScanProgressLine {
    /// The state and the thread that shows it; `None` if nothing is to be shown.
    shown: Option<ShownProgress>,
}

struct ShownProgress {
    text: Arc<Mutex<String>>,
    /// Dropping it ends the thread.
    end: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl ScanProgressLine {
    /// Starts to watch, unless the user wants to see nothing.
    pub(crate) fn new(detail: Verbosity) -> Self {
        if detail < Verbosity::Normal {
            return Self { shown: None };
        }
        if io::stderr().is_terminal() {
            let draw = |text: &str| {
                let _ = write!(io::stderr(), "\r\u{1b}[K{text}");
            };
            Self::with_sink(LIVE, draw, || {
                let _ = write!(io::stderr(), "\r\u{1b}[K");
            })
        } else {
            Self::with_sink(PLAIN, eprint_line, || {})
        }
    }

    /// Shows the text by `draw`, and calls `erase` at the end if anything was drawn.
    fn with_sink(
        interval: DrawInterval,
        draw: impl Fn(&str) + Send + 'static,
        erase: impl Fn() + Send + 'static,
    ) -> Self {
        let text = Arc::new(Mutex::new(String::new()));
        let (end, ended) = channel::<()>();
        let state = Arc::clone(&text);
        let watch = move || {
            let mut next = interval.soon;
            let mut drawn = String::new();
            while ended.recv_timeout(next) == Err(RecvTimeoutError::Timeout) {
                next = interval.again;
                let now = state.lock().unwrap_or_else(PoisonError::into_inner).clone();
                if !now.is_empty() && now != drawn {
                    draw(&now);
                    drawn = now;
                }
            }
            if !drawn.is_empty() {
                erase();
            }
        };
        // Without a thread nothing is shown.
        let thread = std::thread::Builder::new()
            .name("progress".to_owned())
            .spawn(watch);
        Self {
            shown: thread.ok().map(|thread| ShownProgress {
                text,
                end: Some(end),
                thread: Some(thread),
            }),
        }
    }

    /// Shows the progress of walking and reading.
    pub(crate) fn show(&self, progress: FileProgress) {
        match progress {
            FileProgress::Walked { files } => {
                self.show_work(&format!("{} files found", group_digits(files)));
            }
            FileProgress::Read { files, of, bytes } => {
                let (files, of, read) = (group_digits(files), group_digits(of), size(bytes));
                self.show_work(&format!("{files} of {of} files read, {read}"));
            }
        }
    }

    /// Shows how many files have been read, out of how many.
    pub(crate) fn show_files_read(&self, files: usize, of: usize) {
        let (files, of) = (group_digits(files), group_digits(of));
        self.show_work(&format!("{files} of {of} files read"));
    }

    /// Shows the stage of a search.
    pub(crate) fn show_search(&self, stage: SearchStage) {
        match stage {
            SearchStage::Listing(progress) => self.show(progress),
            SearchStage::Reading { files, of } => self.show_files_read(files, of),
            SearchStage::History => self.show_work("reading past commits"),
            SearchStage::Ranking => self.show_work("ranking the files"),
        }
    }

    /// Shows what is being done.
    pub(crate) fn show_work(&self, work: &str) {
        let Some(shown) = &self.shown else {
            return;
        };
        work.clone_into(&mut shown.text.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// Removes the line.
    pub(crate) fn clear(self) {
        drop(self);
    }
}

impl Drop for ShownProgress {
    fn drop(&mut self) {
        drop(self.end.take());
        // It must not draw over what is printed next.
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_takes_long_is_shown_and_erased() {
        let (draw, drawn) = channel();
        let erase = draw.clone();
        let interval = DrawInterval {
            soon: Duration::ZERO,
            again: Duration::from_millis(1),
        };
        let line = ScanProgressLine::with_sink(
            interval,
            move |text| drop(draw.send(text.to_owned())),
            move || drop(erase.send("erased".to_owned())),
        );
        line.show_files_read(1_200, 30_000);
        assert_eq!(drawn.recv().unwrap(), "1,200 of 30,000 files read");
        // What reports nothing itself is named once.
        line.show_search(SearchStage::History);
        assert_eq!(drawn.recv().unwrap(), "reading past commits");
        line.clear();
        assert_eq!(drawn.recv().unwrap(), "erased");
        assert!(drawn.recv().is_err());
    }

    #[test]
    fn what_ends_soon_is_not_shown() {
        let (draw, drawn) = channel();
        let erase = draw.clone();
        let interval = DrawInterval {
            soon: Duration::from_hours(1),
            again: Duration::ZERO,
        };
        let line = ScanProgressLine::with_sink(
            interval,
            move |text| drop(draw.send(text.to_owned())),
            move || drop(erase.send("erased".to_owned())),
        );
        line.show(FileProgress::Walked { files: 3 });
        line.clear();
        assert!(drawn.recv().is_err());
    }
}
