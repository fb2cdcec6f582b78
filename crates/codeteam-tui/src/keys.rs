//! The keys of every panel, in one table: what they do, and what the help says about them.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

/// A kind of panel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PanelKind {
    /// What needs a person.
    Inbox,
    /// All runs.
    Runs,
    /// One run as a tree.
    Run,
    /// The tasks of a plan.
    Plan,
    /// What was spent.
    Cost,
    /// Success, time and cost over the runs of the project.
    Metrics,
    /// The workflow, with the steps at which the run is.
    Workflow,
    /// What happened, with a bar for each attempt.
    Timeline,
    /// A question.
    Approval,
    /// A patch.
    Diff,
    /// The output of an attempt.
    Log,
    /// What reviewers and checks hold against changes.
    Findings,
    /// The report of a change, or what a command printed.
    Text,
}

/// What a key does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KeyAction {
    Up,
    Down,
    PageUp,
    PageDown,
    HalfPageUp,
    HalfPageDown,
    Top,
    Bottom,
    Left,
    Right,
    Open,
    Back,
    Quit,
    NextPanel,
    ShowInbox,
    ShowRuns,
    ShowRun,
    ShowPlan,
    ShowCost,
    ShowHealth,
    ShowMetrics,
    ShowTimeline,
    ShowWorkflow,
    Help,
    EditFilter,
    EditLineFilter,
    NextMatch,
    PreviousMatch,
    EditCommand,
    ShowCommands,
    Approve,
    Reject,
    Answer,
    WriteNote,
    ToggleSigning,
    DecideLater,
    ShowDiff,
    ShowLog,
    ShowFindings,
    ShowReport,
    Retry,
    SkipTask,
    Abort,
    GoOn,
    ToggleFollow,
    ToggleWrap,
    ToggleSideBySide,
    ShowProblems,
    ShowTools,
    WriteComment,
    MarkRange,
    DropComment,
    ToggleViewed,
    NextHunk,
    PreviousHunk,
    NextFile,
    PreviousFile,
    Reload,
    ToggleMouse,
    Copy,
    Suspend,
}

/// A row of the table.
pub(crate) struct KeyBinding {
    /// The keys, as they are written in the help.
    pub(crate) keys: &'static [&'static str],
    /// What they do.
    pub(crate) action: KeyAction,
    /// The same in words.
    pub(crate) about: &'static str,
    /// A short word for the bottom line; empty if it is not shown there.
    pub(crate) hint: &'static str,
}

const fn key(
    keys: &'static [&'static str],
    action: KeyAction,
    about: &'static str,
    hint: &'static str,
) -> KeyBinding {
    KeyBinding {
        keys,
        action,
        about,
        hint,
    }
}

/// The keys that every panel has.
pub(crate) const COMMON_KEYS: &[KeyBinding] = &[
    key(&["k", "Up"], KeyAction::Up, "up", ""),
    key(&["j", "Down"], KeyAction::Down, "down", ""),
    key(&["PgUp", "Ctrl-B"], KeyAction::PageUp, "a page up", ""),
    key(&["PgDn", "Ctrl-F"], KeyAction::PageDown, "a page down", ""),
    key(&["Ctrl-U"], KeyAction::HalfPageUp, "half a page up", ""),
    key(&["Ctrl-D"], KeyAction::HalfPageDown, "half a page down", ""),
    key(&["g", "Home"], KeyAction::Top, "to the top", ""),
    key(&["G", "End"], KeyAction::Bottom, "to the end", ""),
    key(&["Enter"], KeyAction::Open, "open", ""),
    key(&["Esc", "Backspace"], KeyAction::Back, "back", ""),
    key(&["Tab"], KeyAction::NextPanel, "the next panel", ""),
    key(&["1"], KeyAction::ShowInbox, "inbox: what needs you", ""),
    key(&["2"], KeyAction::ShowRuns, "all runs", ""),
    key(&["3"], KeyAction::ShowRun, "the run as a tree", ""),
    key(&["4"], KeyAction::ShowPlan, "its plan", ""),
    key(&["5"], KeyAction::ShowCost, "its cost", ""),
    key(
        &["6"],
        KeyAction::ShowHealth,
        "health: what `doctor` says",
        "",
    ),
    key(&["7"], KeyAction::ShowTimeline, "its timeline", ""),
    key(
        &["8"],
        KeyAction::ShowWorkflow,
        "its workflow, with the steps it is at",
        "",
    ),
    key(
        &["9"],
        KeyAction::ShowMetrics,
        "metrics: success, time and cost of all runs",
        "",
    ),
    key(
        &["/"],
        KeyAction::EditFilter,
        "filter a list, or search a text",
        "",
    ),
    key(
        &[":"],
        KeyAction::EditCommand,
        "run a command; `%`: this run; Tab completes",
        "",
    ),
    key(
        &["!"],
        KeyAction::ShowCommands,
        "what the last command printed",
        "",
    ),
    key(
        &["m"],
        KeyAction::ToggleMouse,
        "take the mouse, or give it back",
        "",
    ),
    key(
        &["y"],
        KeyAction::Copy,
        "copy the line to the clipboard",
        "",
    ),
    key(
        &["Ctrl-Z"],
        KeyAction::Suspend,
        "to the shell; `fg` comes back",
        "",
    ),
    key(&["?"], KeyAction::Help, "the keys of this panel", "keys"),
    key(&["q", "Ctrl-C"], KeyAction::Quit, "leave", "leave"),
];

const INBOX_KEYS: &[KeyBinding] = &[
    key(&["d"], KeyAction::ShowDiff, "the diff it is about", "diff"),
    key(
        &["v"],
        KeyAction::ShowReport,
        "what checks and reviewers say",
        "report",
    ),
    key(
        &["u"],
        KeyAction::GoOn,
        "go on with a run that has stopped",
        "go on",
    ),
];

const RUNS_KEYS: &[KeyBinding] = &[
    key(
        &["u"],
        KeyAction::GoOn,
        "go on with a run that nobody drives",
        "go on",
    ),
    key(
        &["R"],
        KeyAction::Retry,
        "retry what has failed, with a note",
        "retry",
    ),
    key(&["X"], KeyAction::Abort, "end the run", "end it"),
    key(
        &["d"],
        KeyAction::ShowDiff,
        "all changes of the run",
        "diff",
    ),
];

const RUN_KEYS: &[KeyBinding] = &[
    key(&["l", "Right"], KeyAction::Right, "unfold", ""),
    key(
        &["h", "Left"],
        KeyAction::Left,
        "fold, or to the parent",
        "",
    ),
    key(&["d"], KeyAction::ShowDiff, "the diff of the task", "diff"),
    key(
        &["L"],
        KeyAction::ShowLog,
        "the output of the attempt",
        "log",
    ),
    key(&["F"], KeyAction::ShowFindings, "the findings", "findings"),
    key(
        &["v"],
        KeyAction::ShowReport,
        "what checks and reviewers say",
        "report",
    ),
    key(
        &["R"],
        KeyAction::Retry,
        "retry what has failed, with a note",
        "retry",
    ),
    key(
        &["K"],
        KeyAction::SkipTask,
        "leave the task out",
        "leave out",
    ),
    key(&["X"], KeyAction::Abort, "end the run", "end"),
    key(
        &["u"],
        KeyAction::GoOn,
        "go on with a run that nobody drives",
        "go on",
    ),
];

const APPROVAL_KEYS: &[KeyBinding] = &[
    key(&["a", "A"], KeyAction::Approve, "approve", ""),
    key(
        &["r", "R"],
        KeyAction::Reject,
        "reject, with your words",
        "",
    ),
    key(&["d", "D"], KeyAction::ShowDiff, "the diff", ""),
    key(
        &["c", "C"],
        KeyAction::WriteComment,
        "comment on lines of the diff",
        "",
    ),
    key(
        &["s", "S"],
        KeyAction::DecideLater,
        "decide later, and go to the next",
        "",
    ),
    key(
        &["n", "N"],
        KeyAction::WriteNote,
        "a note that goes with your decision",
        "note",
    ),
    key(
        &["Ctrl-S"],
        KeyAction::ToggleSigning,
        "sign your vote with your ssh key, or not",
        "",
    ),
    key(
        &["u"],
        KeyAction::GoOn,
        "go on with a run that nobody drives",
        "",
    ),
    key(
        &["e", "i"],
        KeyAction::Answer,
        "answer in your own words",
        "",
    ),
    key(
        &["v", "V"],
        KeyAction::ShowReport,
        "the whole report",
        "report",
    ),
    key(&["F"], KeyAction::ShowFindings, "the findings", ""),
    key(&["X"], KeyAction::Abort, "end the run", ""),
];

const DIFF_KEYS: &[KeyBinding] = &[
    key(
        &["c"],
        KeyAction::WriteComment,
        "comment on the line, or the range",
        "comment",
    ),
    key(
        &["r", "R"],
        KeyAction::Reject,
        "reject with all comments",
        "reject",
    ),
    key(&["a", "A"], KeyAction::Approve, "approve", "approve"),
    key(
        &["Space"],
        KeyAction::ToggleViewed,
        "mark the file as viewed, and fold it",
        "viewed",
    ),
    key(&["]"], KeyAction::NextHunk, "the next hunk", "hunk"),
    key(&["["], KeyAction::PreviousHunk, "the hunk before", ""),
    key(&["}"], KeyAction::NextFile, "the next file", "file"),
    key(&["{"], KeyAction::PreviousFile, "the file before", ""),
    key(
        &["n"],
        KeyAction::NextMatch,
        "the next match, or the next changed line",
        "",
    ),
    key(
        &["N"],
        KeyAction::PreviousMatch,
        "the match or changed line before",
        "",
    ),
    key(
        &["&"],
        KeyAction::EditLineFilter,
        "show only files with these words",
        "",
    ),
    key(
        &["v"],
        KeyAction::MarkRange,
        "begin or end a range",
        "range",
    ),
    key(&["x"], KeyAction::DropComment, "take the comment back", ""),
    key(&["l", "Right"], KeyAction::Right, "unfold the file", ""),
    key(&["h", "Left"], KeyAction::Left, "fold the file", ""),
    key(
        &["u"],
        KeyAction::Reload,
        "load the change as it is now",
        "",
    ),
    key(&["w"], KeyAction::ToggleWrap, "wrap long lines", ""),
    key(
        &["s"],
        KeyAction::ToggleSideBySide,
        "both versions side by side (140 columns)",
        "",
    ),
];

const LOG_KEYS: &[KeyBinding] = &[
    key(
        &["f"],
        KeyAction::ToggleFollow,
        "follow what is written",
        "follow",
    ),
    key(&["e"], KeyAction::ShowProblems, "only problems", "problems"),
    key(
        &["t"],
        KeyAction::ShowTools,
        "only the use of tools",
        "tools",
    ),
    key(&["w"], KeyAction::ToggleWrap, "wrap long lines", "wrap"),
    NEXT_MATCH_KEY,
    PREVIOUS_MATCH_KEY,
    LINE_FILTER_KEY,
];

const NEXT_MATCH_KEY: KeyBinding = key(&["n"], KeyAction::NextMatch, "the next match", "");
const PREVIOUS_MATCH_KEY: KeyBinding =
    key(&["N"], KeyAction::PreviousMatch, "the match before", "");
const LINE_FILTER_KEY: KeyBinding = key(
    &["&"],
    KeyAction::EditLineFilter,
    "show only lines with these words",
    "",
);

const FINDING_KEYS: &[KeyBinding] = &[key(&["d"], KeyAction::ShowDiff, "the diff", "diff")];

const TEXT_KEYS: &[KeyBinding] = &[
    key(&["d"], KeyAction::ShowDiff, "the diff", "diff"),
    NEXT_MATCH_KEY,
    PREVIOUS_MATCH_KEY,
    LINE_FILTER_KEY,
];

const PLAN_KEYS: &[KeyBinding] = &[
    key(&["d"], KeyAction::ShowDiff, "the diff of the task", "diff"),
    key(
        &["v"],
        KeyAction::ShowReport,
        "what checks and reviewers say",
        "report",
    ),
    key(
        &["K"],
        KeyAction::SkipTask,
        "leave the task out",
        "leave out",
    ),
    key(
        &["R"],
        KeyAction::Retry,
        "retry the task, with a note",
        "retry",
    ),
];

const TIMELINE_KEYS: &[KeyBinding] = &[
    key(
        &["t"],
        KeyAction::ShowTools,
        "attempts as bars, or events as lines",
        "bars/events",
    ),
    key(
        &["L"],
        KeyAction::ShowLog,
        "the output of the attempt",
        "log",
    ),
];

/// Returns true if `/` searches a panel; in all others it filters the rows.
pub(crate) fn is_searched(panel: PanelKind) -> bool {
    matches!(panel, PanelKind::Diff | PanelKind::Log | PanelKind::Text)
}

/// Returns the keys of a panel, without those that every panel has.
pub(crate) fn panel_keys(panel: PanelKind) -> &'static [KeyBinding] {
    match panel {
        PanelKind::Inbox => INBOX_KEYS,
        PanelKind::Runs => RUNS_KEYS,
        PanelKind::Run => RUN_KEYS,
        PanelKind::Plan => PLAN_KEYS,
        PanelKind::Cost | PanelKind::Metrics | PanelKind::Workflow => &[],
        PanelKind::Timeline => TIMELINE_KEYS,
        PanelKind::Approval => APPROVAL_KEYS,
        PanelKind::Diff => DIFF_KEYS,
        PanelKind::Log => LOG_KEYS,
        PanelKind::Findings => FINDING_KEYS,
        PanelKind::Text => TEXT_KEYS,
    }
}

/// Returns what a key does in a panel.
pub(crate) fn find_action(panel: PanelKind, pressed: KeyEvent) -> Option<KeyAction> {
    let name = key_name(pressed)?;
    let tables = [panel_keys(panel), COMMON_KEYS];
    let mut bindings = tables.into_iter().flatten();
    let found = bindings.find(|binding| binding.keys.contains(&name.as_str()))?;
    Some(found.action)
}

/// Returns how a key is written.
pub(crate) fn key_name(pressed: KeyEvent) -> Option<String> {
    let control = pressed.modifiers.contains(KeyModifiers::CONTROL);
    let name = match pressed.code {
        KeyCode::Char(c) if control => return Some(format!("Ctrl-{}", c.to_ascii_uppercase())),
        KeyCode::Char(' ') => "Space".to_owned(),
        KeyCode::Char(c) => c.to_string(),
        KeyCode::Up => "Up".to_owned(),
        KeyCode::Down => "Down".to_owned(),
        KeyCode::Left => "Left".to_owned(),
        KeyCode::Right => "Right".to_owned(),
        KeyCode::PageUp => "PgUp".to_owned(),
        KeyCode::PageDown => "PgDn".to_owned(),
        KeyCode::Home => "Home".to_owned(),
        KeyCode::End => "End".to_owned(),
        KeyCode::Enter => "Enter".to_owned(),
        KeyCode::Esc => "Esc".to_owned(),
        KeyCode::Backspace => "Backspace".to_owned(),
        KeyCode::Tab => "Tab".to_owned(),
        _ => return None,
    };
    Some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PANELS: [PanelKind; 13] = [
        PanelKind::Inbox,
        PanelKind::Runs,
        PanelKind::Run,
        PanelKind::Plan,
        PanelKind::Cost,
        PanelKind::Metrics,
        PanelKind::Workflow,
        PanelKind::Timeline,
        PanelKind::Approval,
        PanelKind::Diff,
        PanelKind::Log,
        PanelKind::Findings,
        PanelKind::Text,
    ];

    #[test]
    fn no_key_does_two_things_in_a_panel() {
        for panel in PANELS {
            let tables = [panel_keys(panel), COMMON_KEYS];
            let all = tables.into_iter().flatten().flat_map(|b| b.keys);
            let mut all: Vec<&str> = all.copied().collect();
            let count = all.len();
            all.sort_unstable();
            all.dedup();
            assert_eq!(all.len(), count, "{panel:?}");
        }
    }

    #[test]
    fn keys_are_found_by_their_names() {
        let press = |code, modifiers| KeyEvent::new(code, modifiers);
        let down = press(KeyCode::Char('d'), KeyModifiers::CONTROL);
        assert_eq!(
            find_action(PanelKind::Diff, down),
            Some(KeyAction::HalfPageDown)
        );
        let diff = press(KeyCode::Char('D'), KeyModifiers::SHIFT);
        assert_eq!(
            find_action(PanelKind::Approval, diff),
            Some(KeyAction::ShowDiff)
        );
        assert_eq!(find_action(PanelKind::Cost, diff), None);
        let space = press(KeyCode::Char(' '), KeyModifiers::NONE);
        assert_eq!(
            find_action(PanelKind::Diff, space),
            Some(KeyAction::ToggleViewed)
        );
    }
}
