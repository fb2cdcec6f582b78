//! Everything that reaches the screen, and everything that it asks for.

use std::sync::Arc;

use codeteam_core::ids::RunId;
use codeteam_engine::attempt_log::{LogLine, LogQuery, LogSearch};
use codeteam_engine::metrics::ProjectMetrics;
use codeteam_report::view::ChangeView;
use ratatui::crossterm::event::{KeyEvent, MouseEvent};

use crate::model::{HistoryUpdate, LogTarget};
use codeteam_engine::watch::WatchedRun;
use codeteam_report::patch::PatchDocument;

/// A reason for the screen to change.
#[derive(Debug)]
pub(crate) enum Message {
    /// A key was pressed.
    KeyPressed(KeyEvent),
    /// A text was pasted.
    Pasted(String),
    /// The mouse was used. It arrives only if the person wants it to.
    MouseUsed(MouseEvent),
    /// The terminal has another size, or belongs to the screen again.
    Resized,
    /// Runs have changed, or are told of for the first time.
    RunsChanged(Vec<WatchedRun>),
    /// More has happened in the run that is shown.
    HistoryRead(Box<HistoryUpdate>),
    /// A patch was loaded.
    PatchLoaded(LoadedPatch),
    /// What was said about a change was loaded.
    ReportLoaded(LoadedReport),
    /// Lines of an output were loaded.
    LogLoaded(LoadedLog),
    /// An output was searched.
    LogSearched(FoundLine),
    /// Success, time and cost over all runs were counted, or why they were not.
    MetricsLoaded(Box<Result<ProjectMetrics, String>>),
    /// The output that is followed has grown.
    LogGrew {
        /// The launch.
        fence: u64,
        /// How many lines there are now.
        lines: usize,
    },
    /// A command has printed a line.
    CommandPrinted {
        /// Which command.
        id: u64,
        /// The line.
        line: String,
    },
    /// A command has ended.
    CommandEnded {
        /// Which command.
        id: u64,
        /// Its exit code; `None` if it could not be started or was killed.
        code: Option<i32>,
    },
    /// Whoever drives the run in this process has something to say.
    Noted(String),
    /// The run that was driven in this process is no longer driven.
    DriverEnded(String),
    /// Something could not be read.
    ReadFailed(String),
    /// Time has passed while somebody is at work.
    TimePassed,
    /// The screen must close.
    Closed,
}

/// The patch of a task or a run.
#[derive(Clone, Debug)]
pub(crate) struct LoadedPatch {
    /// The run.
    pub(crate) run: RunId,
    /// The name of the task, or of the run itself.
    pub(crate) place: String,
    /// The patch, or why there is none.
    pub(crate) patch: Result<Arc<PatchDocument>, String>,
    /// The body of the change it was read from.
    pub(crate) version: Option<String>,
}

/// What was said about the change of a task or a run.
#[derive(Clone, Debug)]
pub(crate) struct LoadedReport {
    /// The run.
    pub(crate) run: RunId,
    /// The name of the task, or of the run itself.
    pub(crate) place: String,
    /// It, or why there is none.
    pub(crate) change: Result<Box<ChangeView>, String>,
}

/// Lines of the output of an attempt.
#[derive(Clone, Debug)]
pub(crate) struct LoadedLog {
    /// The launch.
    pub(crate) fence: u64,
    /// What was asked for.
    pub(crate) query: LogQuery,
    /// How many lines there are in all.
    pub(crate) total: usize,
    /// The lines.
    pub(crate) lines: Vec<LogLine>,
}

/// What a search in an output has found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FoundLine {
    /// The launch.
    pub(crate) fence: u64,
    /// What was searched for.
    pub(crate) text: String,
    /// The number of the line, if there is one.
    pub(crate) line: Option<usize>,
    /// Whether the search went on from the other end.
    pub(crate) is_wrapped: bool,
}

/// Something that the loop does for the screen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ScreenAction {
    /// Loads something.
    Load(LoadRequest),
    /// Runs a command of codeteam.
    RunCommand {
        /// A number for what it prints.
        id: u64,
        /// Its words, without the program.
        words: Vec<String>,
    },
    /// Gives the terminal back to the shell until it is wanted again.
    Suspend,
    /// Leaves.
    Quit,
    /// Takes the mouse, or gives it back.
    CaptureMouse(bool),
    /// Hands a text to the terminal's clipboard.
    Copy(String),
    /// Draws every cell again.
    Repaint,
}

/// Something that takes time to read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum LoadRequest {
    /// What has happened in a run since the last time.
    History(RunId),
    /// The patch of a task, or of the run.
    Patch {
        /// The run.
        run: RunId,
        /// The task, or `run`.
        place: String,
    },
    /// What was said about a change.
    Report {
        /// The run.
        run: RunId,
        /// The task, or `run`.
        place: String,
    },
    /// Lines of an output.
    Log {
        /// The output.
        target: LogTarget,
        /// Which lines.
        query: LogQuery,
        /// Whether to tell when there are more.
        is_followed: bool,
    },
    /// The next line of an output with a text.
    FindInLog {
        /// The output.
        target: LogTarget,
        /// The text, and where to begin.
        search: LogSearch,
    },
    /// Success, time and cost over all runs.
    Metrics,
    /// The output is no longer shown.
    CloseLog,
}
