//! What the screen shows: the panels that are open, where their cursors are, and what was typed.

mod diff_rows;
mod input;
mod layout;
mod lists;
mod overlay;
mod tree;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use codeteam_core::ids::{AttemptId, EpochMillis, RunId};
use codeteam_engine::attempt_log::{LogLine, LogLineKind};
use codeteam_report::review::LineComment;
use codeteam_report::view::{LoadedRun, QuestionView, RunView, TaskView};

pub(crate) use self::diff_rows::{DiffRow, list_diff_rows};
pub(crate) use self::input::TextInput;
pub(crate) use self::layout::{BodyLayout, SMALLEST, body_layout};
pub(crate) use self::lists::{
    finding_rows, log_rows, plan_tasks, run_ids, timeline_attempts, timeline_lines,
};
pub(crate) use self::overlay::{ConfirmBox, ConfirmedCommand, InputBox, InputPurpose, Overlay};
pub(crate) use self::tree::{TreeNode, TreeRow, list_tree_rows};

use crate::keys::PanelKind;
use crate::message::{LoadedPatch, LoadedReport};
use crate::model::{InboxItem, LogTarget, RunHistory, inbox_items};
use crate::verbs::CommandVerb;
use codeteam_engine::metrics::ProjectMetrics;
use codeteam_engine::watch::WatchedRun;
use codeteam_report::view::Standing;

/// The lines of a command that are kept.
pub(crate) const COMMAND_LINES: usize = 5_000;

/// The whole state of the screen.
#[derive(Debug)]
pub(crate) struct App {
    /// The time of the last message.
    pub(crate) now: EpochMillis,
    /// The size of the terminal, in columns and rows.
    pub(crate) size: (u16, u16),
    /// The runs of the project, by their ids.
    pub(crate) runs: BTreeMap<String, WatchedRun>,
    /// Whether the runs were told of at all.
    pub(crate) has_runs: bool,
    /// The run that panels about one run show.
    pub(crate) selected: Option<RunId>,
    /// That run, once it was read.
    pub(crate) history: Option<RunHistory>,
    /// The panels that are open. The last one is shown; `Back` closes it.
    pub(crate) panels: Vec<Panel>,
    /// What lies above the panel.
    pub(crate) overlay: Option<Overlay>,
    /// The line at the bottom.
    pub(crate) notice: Option<Notice>,
    /// What was said about the change that was asked for last.
    pub(crate) report: Option<LoadedReport>,
    /// The comments that were not sent yet, by run and place.
    pub(crate) comments: BTreeMap<(String, String), Vec<LineComment>>,
    /// The files that were marked as viewed, with the hash of what was viewed.
    pub(crate) viewed: BTreeMap<(String, String), BTreeMap<String, [u8; 32]>>,
    /// Notes that go with the next decision, by question.
    pub(crate) notes: BTreeMap<String, String>,
    /// The questions on which the next vote is signed.
    pub(crate) signed: BTreeSet<String>,
    /// The questions that are to be decided later.
    pub(crate) later: BTreeSet<String>,
    /// The last command, and those before it that still run.
    pub(crate) commands: VecDeque<CommandRecord>,
    /// How many commands were started.
    pub(crate) command_count: u64,
    /// The commands that can be typed after `:`.
    pub(crate) verbs: Vec<CommandVerb>,
    /// What was counted over all runs, once it was loaded.
    pub(crate) metrics: Option<Result<ProjectMetrics, String>>,
    /// What was typed after `:`, the newest last.
    pub(crate) typed_commands: Vec<String>,
    /// The run that this process drives, if it drives one.
    pub(crate) driven_here: Option<RunId>,
    /// Whether the mouse is captured.
    pub(crate) has_mouse: bool,
}

/// A line that says what has just happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Notice {
    /// The line.
    pub(crate) text: String,
    /// Whether something went wrong.
    pub(crate) is_problem: bool,
}

/// A command of codeteam that was started here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CommandRecord {
    /// Its number.
    pub(crate) id: u64,
    /// It, as a person would type it.
    pub(crate) line: String,
    /// What it has printed.
    pub(crate) output: VecDeque<String>,
    /// Whether it has ended, and how.
    pub(crate) ended: Option<CommandEnd>,
    /// The question that it decides, if it decides one.
    pub(crate) decides: Option<AttemptId>,
}

/// How a command has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CommandEnd {
    /// With this exit code.
    Exited(i32),
    /// By a signal, or it could not be started.
    Broken,
}

/// The cursor of a list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ListCursor {
    /// The selected row.
    pub(crate) selected: usize,
    /// The first row on the screen. Drawing moves it as little as possible.
    pub(crate) top: usize,
    /// Only rows with these words are listed.
    pub(crate) filter: String,
    /// The words that were searched for; empty if nothing was.
    pub(crate) search: String,
    /// The row of the last match, in panels without a selected row.
    pub(crate) found: Option<usize>,
}

/// A panel with its own state.
#[derive(Clone, Debug)]
pub(crate) enum Panel {
    /// What needs a person.
    Inbox(ListCursor),
    /// All runs.
    Runs(ListCursor),
    /// The run as a tree, with what was folded and unfolded by hand.
    Run {
        /// The selected row.
        cursor: ListCursor,
        /// What is open or closed other than by itself.
        folds: BTreeMap<TreeNode, bool>,
    },
    /// The tasks of the plan.
    Plan(ListCursor),
    /// What was spent.
    Cost(ListCursor),
    /// Success, time and cost over the runs of the project.
    Metrics(ListCursor),
    /// The workflow, with the steps at which the run is.
    Workflow(ListCursor),
    /// What happened.
    Timeline {
        /// The selected row.
        cursor: ListCursor,
        /// Whether attempts are drawn as bars, and not events as lines.
        has_bars: bool,
    },
    /// A question.
    Approval(ApprovalPanel),
    /// A patch.
    Diff(DiffPanel),
    /// The output of an attempt.
    Log(LogPanel),
    /// Findings of the run or of one task.
    Findings {
        /// The selected row.
        cursor: ListCursor,
        /// The task, if it is about one.
        place: Option<String>,
    },
    /// The report of a change.
    Report {
        /// The task, or `run`.
        place: String,
        /// The first line that is shown, and the filter.
        cursor: ListCursor,
    },
    /// What a command prints.
    Command {
        /// Which command.
        id: u64,
        /// The first line that is shown, and the filter.
        cursor: ListCursor,
        /// Whether it follows the output.
        is_followed: bool,
    },
}

/// A question with what there is to know about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ApprovalPanel {
    /// The run that asks.
    pub(crate) run: RunId,
    /// The question.
    pub(crate) question: AttemptId,
    /// The selected answer, or the selected point of a question with several.
    pub(crate) selected: usize,
    /// The first line of the facts that is shown.
    pub(crate) top: usize,
    /// What was typed for each point.
    pub(crate) replies: BTreeMap<usize, String>,
}

/// The columns that a screen needs for two versions side by side.
pub(crate) const SIDE_BY_SIDE_COLUMNS: u16 = 140;

/// A patch with its cursor.
#[derive(Clone, Debug)]
pub(crate) struct DiffPanel {
    /// The run.
    pub(crate) run: RunId,
    /// The task, or `run`.
    pub(crate) place: String,
    /// The patch, once it was loaded.
    pub(crate) loaded: Option<LoadedPatch>,
    /// The selected row.
    pub(crate) cursor: ListCursor,
    /// The files that were folded or unfolded by hand.
    pub(crate) folds: BTreeMap<String, bool>,
    /// Where a range of lines begins.
    pub(crate) range_start: Option<usize>,
    /// Whether long lines are wrapped.
    pub(crate) wraps: bool,
    /// Whether the versions before and after stand side by side, where there is room.
    pub(crate) is_side_by_side: bool,
}

/// A window of an output.
#[derive(Clone, Debug)]
pub(crate) struct LogPanel {
    /// The output.
    pub(crate) target: LogTarget,
    /// Who writes it.
    pub(crate) title: String,
    /// The lines that are loaded.
    pub(crate) lines: Vec<LogLine>,
    /// How many lines there are in all.
    pub(crate) total: usize,
    /// The row that is selected, among the rows of the loaded lines.
    pub(crate) cursor: ListCursor,
    /// Whether the end is shown as it grows.
    pub(crate) is_followed: bool,
    /// Only lines of this kind.
    pub(crate) only: Option<LogLineKind>,
    /// Whether long lines are wrapped.
    pub(crate) wraps: bool,
    /// Whether lines were asked for that have not come yet.
    pub(crate) is_loading: bool,
    /// The line that a search has found, and that is selected when it is loaded; none once other lines
    /// were asked for.
    pub(crate) found_line: Option<usize>,
    /// The text of a gate, whose checks keep their output elsewhere.
    pub(crate) fixed: Option<Arc<Vec<String>>>,
}

impl App {
    /// Creates the state. `run` is shown as soon as it is known.
    pub(crate) fn new(run: Option<RunId>, size: (u16, u16)) -> Self {
        let mut panels = vec![Panel::Inbox(ListCursor::default())];
        if run.is_some() {
            panels = vec![Panel::new_run()];
        }
        Self {
            now: EpochMillis(0),
            size,
            runs: BTreeMap::new(),
            has_runs: false,
            selected: run,
            history: None,
            panels,
            overlay: None,
            notice: None,
            report: None,
            comments: BTreeMap::new(),
            viewed: BTreeMap::new(),
            notes: BTreeMap::new(),
            signed: BTreeSet::new(),
            later: BTreeSet::new(),
            commands: VecDeque::new(),
            command_count: 0,
            verbs: Vec::new(),
            metrics: None,
            typed_commands: Vec::new(),
            driven_here: None,
            has_mouse: false,
        }
    }

    /// Returns the panel that is shown. There is always one.
    pub(crate) fn panel(&self) -> Option<&Panel> {
        self.panels.last()
    }

    /// Returns the panel that is shown, to change it.
    pub(crate) fn panel_mut(&mut self) -> Option<&mut Panel> {
        self.panels.last_mut()
    }

    /// Returns what needs a person; what is to be decided later comes last.
    pub(crate) fn inbox(&self) -> Vec<InboxItem> {
        let (mut now, later): (Vec<_>, Vec<_>) =
            inbox_items(&self.runs).into_iter().partition(|item| {
                !matches!(item, InboxItem::Question { question, .. }
                    if self.later.contains(&question.to_string()))
            });
        now.extend(later);
        now
    }

    /// Returns a run as it is known: the one that is shown, or one of the others.
    pub(crate) fn run_view(&self, id: &str) -> Option<&LoadedRun> {
        let shown = self.history.as_ref().map(|history| &history.run);
        let listed = self.runs.get(id).and_then(|run| run.loaded.as_ref());
        let shown = shown.filter(|run| run.id.as_str() == id);
        // The list may have heard of an event that the history has not read yet.
        match (shown, listed) {
            (Some(shown), Some(listed)) if listed.seq() > shown.seq() => Some(listed),
            (Some(shown), _) => Some(shown),
            (None, listed) => listed,
        }
    }

    /// Returns the view of the run that is shown.
    pub(crate) fn shown_run(&self) -> Option<&RunView> {
        let id = self.selected.as_ref()?;
        self.run_view(id.as_str()).map(LoadedRun::view)
    }

    /// Returns how the run that is shown stands.
    pub(crate) fn run_standing(&self) -> (Standing, String) {
        let listed = self
            .selected
            .as_ref()
            .and_then(|id| self.runs.get(id.as_str()));
        listed.map_or((Standing::Waiting, String::new()), WatchedRun::standing)
    }

    /// Returns an open question.
    pub(crate) fn question(&self, run: &str, id: &AttemptId) -> Option<&QuestionView> {
        let run = self.run_view(run)?;
        run.view().questions.iter().find(|q| q.question.id == *id)
    }

    /// Returns a task of the run that is shown.
    pub(crate) fn shown_task(&self, id: &str) -> Option<&TaskView> {
        self.shown_run()?.task(id)
    }

    /// Returns true if a living process drives a run.
    pub(crate) fn is_driven(&self, run: &str) -> bool {
        self.runs.get(run).is_some_and(|run| run.is_driven)
    }

    /// Returns true if times on the screen grow: somebody is at work.
    pub(crate) fn shows_growing_times(&self) -> bool {
        let history = self.history.as_ref();
        history.is_some_and(|history| {
            history.has_running_attempts() && self.is_driven(history.id().as_str())
        })
    }

    /// Says what has just happened.
    pub(crate) fn note(&mut self, text: impl Into<String>) {
        let text = text.into();
        self.notice = Some(Notice {
            text,
            is_problem: false,
        });
    }

    /// Says what went wrong.
    pub(crate) fn complain(&mut self, text: impl Into<String>) {
        let text = text.into();
        self.notice = Some(Notice {
            text,
            is_problem: true,
        });
    }

    /// Returns the command with this number.
    pub(crate) fn command(&self, id: u64) -> Option<&CommandRecord> {
        self.commands.iter().find(|command| command.id == id)
    }
}

impl Panel {
    /// Creates the panel with the tree of a run.
    pub(crate) fn new_run() -> Self {
        Self::Run {
            cursor: ListCursor::default(),
            folds: BTreeMap::new(),
        }
    }

    /// Returns what kind of panel it is.
    pub(crate) fn kind(&self) -> PanelKind {
        match self {
            Self::Inbox(_) => PanelKind::Inbox,
            Self::Runs(_) => PanelKind::Runs,
            Self::Run { .. } => PanelKind::Run,
            Self::Plan(_) => PanelKind::Plan,
            Self::Cost(_) => PanelKind::Cost,
            Self::Metrics(_) => PanelKind::Metrics,
            Self::Workflow(_) => PanelKind::Workflow,
            Self::Timeline { .. } => PanelKind::Timeline,
            Self::Approval(_) => PanelKind::Approval,
            Self::Diff(_) => PanelKind::Diff,
            Self::Log(_) => PanelKind::Log,
            Self::Findings { .. } => PanelKind::Findings,
            Self::Report { .. } | Self::Command { .. } => PanelKind::Text,
        }
    }

    /// Returns its cursor; the panel of a question has its own.
    pub(crate) fn cursor(&self) -> Option<&ListCursor> {
        match self {
            Self::Inbox(cursor)
            | Self::Runs(cursor)
            | Self::Plan(cursor)
            | Self::Cost(cursor)
            | Self::Metrics(cursor)
            | Self::Workflow(cursor)
            | Self::Run { cursor, .. }
            | Self::Timeline { cursor, .. }
            | Self::Findings { cursor, .. }
            | Self::Report { cursor, .. }
            | Self::Command { cursor, .. } => Some(cursor),
            Self::Diff(diff) => Some(&diff.cursor),
            Self::Log(log) => Some(&log.cursor),
            Self::Approval(_) => None,
        }
    }

    /// Returns its cursor, to move it.
    pub(crate) fn cursor_mut(&mut self) -> Option<&mut ListCursor> {
        match self {
            Self::Inbox(cursor)
            | Self::Runs(cursor)
            | Self::Plan(cursor)
            | Self::Cost(cursor)
            | Self::Metrics(cursor)
            | Self::Workflow(cursor)
            | Self::Run { cursor, .. }
            | Self::Timeline { cursor, .. }
            | Self::Findings { cursor, .. }
            | Self::Report { cursor, .. }
            | Self::Command { cursor, .. } => Some(cursor),
            Self::Diff(diff) => Some(&mut diff.cursor),
            Self::Log(log) => Some(&mut log.cursor),
            Self::Approval(_) => None,
        }
    }
}

impl DiffPanel {
    /// Creates the panel for a patch that is being loaded.
    pub(crate) fn new(run: RunId, place: String) -> Self {
        Self {
            run,
            place,
            loaded: None,
            cursor: ListCursor::default(),
            folds: BTreeMap::new(),
            range_start: None,
            wraps: false,
            is_side_by_side: false,
        }
    }

    /// Returns true if both versions stand side by side on a screen of this width.
    pub(crate) fn is_paired(&self, columns: u16) -> bool {
        self.is_side_by_side && columns >= SIDE_BY_SIDE_COLUMNS
    }

    /// Returns the key of what belongs to this patch: comments, viewed files.
    pub(crate) fn key(&self) -> (String, String) {
        (self.run.0.clone(), self.place.clone())
    }
}
