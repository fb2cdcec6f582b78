//! What pages show. The server fills it in from views; the templates read it.

use codeteam_core::context::PackedContext;
use codeteam_core::ids::EpochMillis;
use codeteam_engine::attempt_log::{LogLine, LogLineKind};
use codeteam_engine::metrics::{MetricsTable, RunMetrics};
use codeteam_report::costs::CostBreakdown;
use codeteam_report::feed::TimelineEntry;
use codeteam_report::review::LineComment;
use codeteam_report::view::{
    AttemptTrace, AttemptView, ChangeView, InboxItem, LoadedRun, NextStep, QuestionView,
    RunListItem,
};

/// What is around every page.
#[derive(Clone, Debug)]
pub(crate) struct Shell {
    /// Whether nobody is signed in, so that the page loads its style sheet and nothing else.
    pub(crate) is_bare: bool,
    /// Whom the session decides for; empty where nobody has signed in.
    pub(crate) person: String,
    /// What every form has to send along, in the field `token`.
    pub(crate) form_token: String,
    /// Whether nothing can be decided in this session. A page shows no form then.
    pub(crate) is_read_only: bool,
    /// Whether the session may read one run only, so that there are no other places to go to.
    pub(crate) is_one_run: bool,
    /// How many things need a person.
    pub(crate) inbox_count: usize,
    /// The projects of the user.
    pub(crate) projects: Vec<ProjectLink>,
    /// The key of the project that the page is about, if it is about one.
    pub(crate) project: Option<String>,
    /// What the last form did.
    pub(crate) notice: Option<Notice>,
    /// When the page was made.
    pub(crate) now: EpochMillis,
    /// The path and query of this page, for the field `back` of forms.
    pub(crate) here: String,
    /// The colours that the person chose.
    pub(crate) theme: Theme,
}

/// The colours of pages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Theme {
    /// As the browser prefers.
    #[default]
    Auto,
    /// Dark on light.
    Light,
    /// Light on dark.
    Dark,
    /// High contrast.
    Contrast,
}

/// A project as pages name it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ProjectLink {
    /// Its key in paths.
    pub(crate) key: String,
    /// The name of its folder.
    pub(crate) name: String,
    /// Its folder.
    pub(crate) folder: String,
    /// Why it cannot be read, if it cannot.
    pub(crate) problem: Option<String>,
}

/// What a form did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Notice {
    /// Whether it did what was wanted.
    pub(crate) is_ok: bool,
    /// What it did, or why not, in one line.
    pub(crate) text: String,
    /// Everything that the command printed.
    pub(crate) output: Vec<String>,
}

/// A page with its data.
#[derive(Clone, Debug)]
pub(crate) enum Page {
    /// What needs a person.
    Inbox(InboxPage),
    /// All runs.
    Runs(RunsPage),
    /// A run: summary, tasks, what happened last.
    Run(Box<RunPage>),
    /// The tasks of a run by their state.
    Board(Box<BoardPage>),
    /// The workflow of a run, and its tasks with what they depend on.
    Graph(Box<GraphPage>),
    /// The files that a run has changed.
    Files(Box<FilesPage>),
    /// What happened in a run, and a bar for each attempt.
    Timeline(Box<TimelinePage>),
    /// The plan of a run.
    Plan(Box<PlanPage>),
    /// What a run has spent.
    Cost(Box<CostPage>),
    /// The event log of a run.
    Events(Box<EventsPage>),
    /// One event as it is stored.
    Event(Box<EventPage>),
    /// A task, or a run as a whole.
    Task(Box<TaskPage>),
    /// A change.
    Diff(Box<DiffPage>),
    /// A question or an approval.
    Question(Box<QuestionPage>),
    /// An attempt: what was told, what was answered, what was printed.
    Attempt(Box<AttemptPage>),
    /// Success, time and cost.
    Metrics(MetricsPage),
    /// Whether everything that is needed is there.
    Doctor(DoctorPage),
    /// Links for reading.
    Links(LinksPage),
    /// The keys and what pages there are.
    Help,
    /// Why there is no such page, or why it is not shown.
    Problem(ProblemPage),
}

/// What needs a person.
#[derive(Clone, Debug)]
pub(crate) struct InboxPage {
    /// The riskiest first.
    pub(crate) items: Vec<InboxEntry>,
    /// Runs that have not ended, that ask nothing and that nobody drives, the newest first.
    pub(crate) stopped: Vec<RunRow>,
}

/// Something that needs a person.
#[derive(Clone, Debug)]
pub(crate) struct InboxEntry {
    /// The key of the project.
    pub(crate) project: String,
    /// What it is.
    pub(crate) item: InboxItem,
    /// The id of its question, if one is asked. Otherwise the run itself is where to decide.
    pub(crate) question: Option<String>,
}

/// All runs.
#[derive(Clone, Debug)]
pub(crate) struct RunsPage {
    /// The newest first.
    pub(crate) runs: Vec<RunRow>,
    /// Only those that contain this text.
    pub(crate) query: String,
    /// Only those of this state: `needs-you`, `working`, `waiting`, `failed` or `done`; all of them if it is empty.
    pub(crate) state: String,
    /// How many further runs are not listed.
    pub(crate) left_out: usize,
}

/// A run in a list.
#[derive(Clone, Debug)]
pub(crate) struct RunRow {
    /// The key of the project.
    pub(crate) project: String,
    /// The run.
    pub(crate) item: RunListItem,
    /// Whether a living process drives it.
    pub(crate) is_driven: bool,
    /// The run itself, if it has not ended.
    pub(crate) loaded: Option<LoadedRun>,
}

/// A run and where it is.
#[derive(Clone, Debug)]
pub(crate) struct RunHead {
    /// The key of the project.
    pub(crate) project: String,
    /// The run.
    pub(crate) run: LoadedRun,
    /// Whether a living process drives it.
    pub(crate) is_driven: bool,
    /// What a person can do now: those of `RunView::with_driver`.
    pub(crate) next_steps: Vec<NextStep>,
    /// Decisions that were given and that nobody has carried out yet, one line each.
    pub(crate) kept: Vec<String>,
}

/// A run.
#[derive(Clone, Debug)]
pub(crate) struct RunPage {
    /// The run.
    pub(crate) head: RunHead,
    /// Its attempts, the oldest first.
    pub(crate) attempts: Vec<AttemptView>,
    /// The last things that happened, the newest last.
    pub(crate) recent: Vec<TimelineEntry>,
}

/// The tasks of a run by their state.
#[derive(Clone, Debug)]
pub(crate) struct BoardPage {
    /// The run.
    pub(crate) head: RunHead,
    /// Only tasks that contain this.
    pub(crate) query: String,
    /// Only tasks of this phase.
    pub(crate) phase: String,
}

/// The workflow of a run, and its tasks with what they depend on.
#[derive(Clone, Debug)]
pub(crate) struct GraphPage {
    /// The run.
    pub(crate) head: RunHead,
    /// Its attempts, the oldest first.
    pub(crate) attempts: Vec<AttemptView>,
    /// Whether all tasks are drawn, however many there are.
    pub(crate) draws_all: bool,
}

/// The files that a run has changed.
#[derive(Clone, Debug)]
pub(crate) struct FilesPage {
    /// The run.
    pub(crate) head: RunHead,
    /// The patch of the run so far, empty if nothing is committed.
    pub(crate) patch: Vec<u8>,
}

/// What happened in a run.
#[derive(Clone, Debug)]
pub(crate) struct TimelinePage {
    /// The run.
    pub(crate) head: RunHead,
    /// Its attempts, the oldest first.
    pub(crate) attempts: Vec<AttemptView>,
    /// What happened, the newest last.
    pub(crate) entries: Vec<TimelineEntry>,
    /// How many older entries are not shown.
    pub(crate) left_out: usize,
}

/// The plan of a run.
#[derive(Clone, Debug)]
pub(crate) struct PlanPage {
    /// The run; `run.full_plan()` has the plan.
    pub(crate) head: RunHead,
    /// The question about the plan, if one is open.
    pub(crate) question: Option<QuestionView>,
    /// The plan's versions, the oldest first; the last one is the plan as it is.
    pub(crate) revisions: Vec<PlanRevision>,
}

/// A version of a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PlanRevision {
    /// The event that made it.
    pub(crate) seq: u64,
    /// When it was made.
    pub(crate) at: EpochMillis,
    /// What happened, in words.
    pub(crate) words: String,
    /// The plan as a file has it.
    pub(crate) yaml: String,
}

/// What a run has spent.
#[derive(Clone, Debug)]
pub(crate) struct CostPage {
    /// The run.
    pub(crate) head: RunHead,
    /// By model, role, worker and task.
    pub(crate) costs: CostBreakdown,
    /// Its attempts, the oldest first.
    pub(crate) attempts: Vec<AttemptView>,
}

/// The event log of a run.
#[derive(Clone, Debug)]
pub(crate) struct EventsPage {
    /// The run.
    pub(crate) head: RunHead,
    /// The events of this page, the oldest first.
    pub(crate) entries: Vec<TimelineEntry>,
    /// The number of the event before the first one.
    pub(crate) after: u64,
    /// The number to go on after, if there are more.
    pub(crate) next: Option<u64>,
    /// Only events of this kind.
    pub(crate) kind: String,
    /// Only events whose words contain this.
    pub(crate) query: String,
    /// The kinds of events that the run has, for the filter.
    pub(crate) kinds: Vec<String>,
}

/// One event as it is stored.
#[derive(Clone, Debug)]
pub(crate) struct EventPage {
    /// The run.
    pub(crate) head: RunHead,
    /// The event.
    pub(crate) entry: TimelineEntry,
    /// The event as JSON, with a line for each key.
    pub(crate) raw: String,
}

/// A task, or a run as a whole.
#[derive(Clone, Debug)]
pub(crate) struct TaskPage {
    /// The run.
    pub(crate) head: RunHead,
    /// The name of the task, or `run`.
    pub(crate) place: String,
    /// Its attempts, the oldest first.
    pub(crate) attempts: Vec<AttemptView>,
    /// What was judged about its change.
    pub(crate) change: Option<ChangeView>,
    /// The question that is open about it.
    pub(crate) question: Option<QuestionView>,
}

/// A change.
#[derive(Clone, Debug)]
pub(crate) struct DiffPage {
    /// The run.
    pub(crate) head: RunHead,
    /// The name of the task, or `run`.
    pub(crate) place: String,
    /// The patch as git prints it.
    pub(crate) patch: Vec<u8>,
    /// Names this version of the change; empty if it has none.
    pub(crate) version: String,
    /// What was judged about it: findings, checks, verdicts.
    pub(crate) change: Option<ChangeView>,
    /// Comments and marks that were not sent yet.
    pub(crate) review: ReviewDraft,
    /// The question that is open about it.
    pub(crate) question: Option<QuestionView>,
    /// How it is shown.
    pub(crate) options: DiffOptions,
    /// The content before the change of the file that the options name, if more of it is to be shown.
    pub(crate) content: Option<Vec<u8>>,
}

/// How a change is shown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct DiffOptions {
    /// Whether old and new stand side by side.
    pub(crate) is_split: bool,
    /// Whether changes of blanks are left out.
    pub(crate) ignores_blanks: bool,
    /// Only this file.
    pub(crate) file: Option<String>,
    /// Only what has changed since this version; the patch is made accordingly.
    pub(crate) since: Option<String>,
    /// So many more lines than in the patch stand around the changes of that file.
    pub(crate) more_lines: u32,
}

/// What a person has noted about a change and not sent yet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ReviewDraft {
    /// Comments, each with its id.
    pub(crate) comments: Vec<(u64, LineComment)>,
    /// Files that were looked at, each with the digest that its part of the patch had then, in
    /// hexadecimal digits.
    pub(crate) viewed: Vec<(String, String)>,
    /// The version that was looked at last, if it is another one.
    pub(crate) last_seen: Option<String>,
}

/// A question or an approval.
#[derive(Clone, Debug)]
pub(crate) struct QuestionPage {
    /// The run.
    pub(crate) head: RunHead,
    /// The question.
    pub(crate) question: QuestionView,
    /// What was judged about the change that it is about.
    pub(crate) change: Option<ChangeView>,
    /// Comments and marks that were not sent yet.
    pub(crate) review: ReviewDraft,
    /// The patch of the change, empty if there is none.
    pub(crate) patch: Vec<u8>,
    /// Whether approving needs the name of the task typed, in the field `typed`.
    pub(crate) is_grave: bool,
    /// The people who a vote can be handed to.
    pub(crate) people: Vec<String>,
}

/// An attempt.
#[derive(Clone, Debug)]
pub(crate) struct AttemptPage {
    /// The run.
    pub(crate) head: RunHead,
    /// The attempt.
    pub(crate) attempt: AttemptView,
    /// What its worker was told, did and answered, if a worker made it.
    pub(crate) trace: Option<AttemptTrace>,
    /// Whether its output is so long that what it did is not read from it.
    pub(crate) is_untraced: bool,
    /// What it was shown and what was left out, if that was chosen for it.
    pub(crate) context: Option<PackedContext>,
    /// Some lines of its output.
    pub(crate) log: LogWindow,
}

/// Some lines of an output.
#[derive(Clone, Debug, Default)]
pub(crate) struct LogWindow {
    /// The lines.
    pub(crate) lines: Vec<LogLine>,
    /// How many lines there are in all.
    pub(crate) total: usize,
    /// Whether they are the last ones, so that new lines go below them.
    pub(crate) is_end: bool,
    /// Only lines of this kind.
    pub(crate) only: Option<LogLineKind>,
    /// Only lines that contain this.
    pub(crate) query: String,
    /// Why it cannot be read, if it cannot.
    pub(crate) problem: Option<String>,
}

/// Success, time and cost.
#[derive(Clone, Debug)]
pub(crate) struct MetricsPage {
    /// The key of the project.
    pub(crate) project: String,
    /// Only runs that began within so many days; all of them if it is 0.
    pub(crate) days: u32,
    /// The runs, the oldest first.
    pub(crate) runs: Vec<RunMetrics>,
    /// Tables, each with its rows: by role, by worker, by kind of task, by step.
    pub(crate) tables: Vec<MetricsTable>,
    /// How many tasks took how many rounds.
    pub(crate) rounds: Vec<(u32, u64)>,
}

/// Whether everything that is needed is there.
#[derive(Clone, Debug)]
pub(crate) struct DoctorPage {
    /// The key of the project.
    pub(crate) project: String,
    /// What `codeteam --json doctor` prints: an object for each check, with `name`, `ok`, `note`,
    /// `found` and `remedy`.
    pub(crate) checks: Vec<serde_json::Value>,
    /// When it was looked at; `None` if it was not yet.
    pub(crate) checked_at: Option<EpochMillis>,
    /// Why there is no answer, if there is none.
    pub(crate) problem: Option<String>,
    /// The requests that this server has refused, by reason.
    pub(crate) refused: Vec<(String, u64)>,
}

/// Links for reading.
#[derive(Clone, Debug)]
pub(crate) struct LinksPage {
    /// The links that have not expired.
    pub(crate) links: Vec<ReadLink>,
    /// A link that was just made; it is shown once.
    pub(crate) created: Option<String>,
    /// Runs that a link can be made for: the project, the id and the goal.
    pub(crate) runs: Vec<(String, String, String)>,
}

/// A link for reading.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ReadLink {
    /// Its id, to revoke it.
    pub(crate) id: String,
    /// The key of the project.
    pub(crate) project: String,
    /// The run.
    pub(crate) run: String,
    /// When it ends.
    pub(crate) until: EpochMillis,
    /// How often it was opened.
    pub(crate) opened: u64,
    /// Whether prompts, answers and outputs of attempts can be read with it.
    pub(crate) with_transcripts: bool,
}

/// Why there is no such page, or why it is not shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ProblemPage {
    /// What is the matter.
    pub(crate) text: String,
    /// What can be done.
    pub(crate) hints: Vec<String>,
}
