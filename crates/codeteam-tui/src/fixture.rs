//! A run that was made with scripted workers: five tasks, of which one is done, one waits for a
//! person, two wait for that one, and one has failed.

use std::path::PathBuf;
use std::sync::Arc;

use codeteam_core::Event;
use codeteam_core::ids::{EpochMillis, FramePath, RunId};
use codeteam_report::report::build_report;
use codeteam_report::view::{
    AttemptTimeline, ChangeView, LoadedRun, RunListItem, RunReplay, TaskCounts,
};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use crate::draw::{Theme, draw};
use crate::message::{LoadRequest, LoadedPatch, LoadedReport, Message, ScreenAction};
use crate::model::{HistoryUpdate, TimelineLine};
use crate::state::{App, Panel};
use crate::update::update;
use codeteam_engine::watch::WatchedRun;
use codeteam_report::patch::PatchDocument;

const LOG: &str = include_str!("recorded/several-tasks.jsonl");

/// A patch like that of the task that waits.
pub(crate) const PATCH: &str = "diff --git a/src/format.py b/src/format.py
new file mode 100644
--- /dev/null
+++ b/src/format.py
@@ -0,0 +1 @@
+WIDTH = 80
diff --git a/src/report.py b/src/report.py
--- a/src/report.py
+++ b/src/report.py
@@ -1,4 +1,7 @@
 import json
+import sys
 
-# TODO: characters
-print(json.dumps({}))
+from count import count, count_characters
+
+text = open(sys.argv[1]).read()
+print(json.dumps({\"words\": count(text), \"characters\": count_characters(text)}))
";

/// Returns what the loader would send of the run: of all its events, or of the first so many.
pub(crate) fn history_update(events: usize) -> HistoryUpdate {
    read_log(LOG.lines().take(events))
}

/// Returns the run as it was when its plan was made, with so many tasks in it.
pub(crate) fn large_history(tasks: usize) -> HistoryUpdate {
    let tasks = (1..=tasks).map(|n| {
        let after = (n > 1).then(|| format!("task-{:04}", n - 1));
        let after: Vec<String> = after.into_iter().collect();
        serde_json::json!({
            "id": format!("task-{n:04}"), "title": format!("Do part {n}"),
            "description": "", "acceptance": [],
            "dependencies": after, "files": [format!("src/part{n}.py")],
        })
    });
    let tasks: Vec<_> = tasks.collect();
    let lines = LOG.lines().take(8).map(|line| {
        let mut value: serde_json::Value = serde_json::from_str(line).unwrap();
        if value["event"]["type"] == "plan_proposed" {
            value["event"]["plan"]["tasks"] = tasks.clone().into();
        }
        value.to_string()
    });
    let lines: Vec<String> = lines.collect();
    read_log(lines.iter().map(String::as_str))
}

/// Returns the run as it would be if its planner had asked these questions.
pub(crate) fn asking_history(points: &[&str]) -> HistoryUpdate {
    let id = serde_json::json!({
        "frame": "run", "step": "plan", "generation": 1, "slot": 0, "attempt": 1, "fence": 1,
    });
    let asked = serde_json::json!({ "seq": 5, "at": 1, "event": {
        "type": "asked", "frame": "run", "question": {
            "id": id, "kind": "analyst", "text": "You want a greeting.", "points": points,
        },
    } });
    let asked = asked.to_string();
    read_log(LOG.lines().take(4).chain([asked.as_str()]))
}

/// Returns the run with these answers to the question of the task that waits.
pub(crate) fn choosing_history(answers: &[&str]) -> HistoryUpdate {
    let lines = LOG.lines().map(|line| {
        let mut value: serde_json::Value = serde_json::from_str(line).unwrap();
        let event = &mut value["event"];
        if event["type"] == "asked" && event["frame"] == "run/task-002" {
            event["question"]["answers"] = serde_json::json!(answers);
        }
        value.to_string()
    });
    let lines: Vec<String> = lines.collect();
    read_log(lines.iter().map(String::as_str))
}

/// Returns the run with a policy that wants two people to approve the change of the task that waits,
/// of whom one has.
pub(crate) fn approving_history() -> HistoryUpdate {
    let lines = approving_lines();
    read_log(lines.iter().map(String::as_str))
}

/// The same, with a time for the approval that was over as soon as it was asked for.
pub(crate) fn overdue_history() -> HistoryUpdate {
    let lines = approving_lines().into_iter().map(|line| {
        let mut value: serde_json::Value = serde_json::from_str(&line).unwrap();
        if value["event"]["type"] == "approval_requested" {
            let required = &mut value["event"]["assessment"]["requirements"][0];
            required["timeout"] = serde_json::json!({ "after_ms": 1, "then": "remind" });
        }
        value.to_string()
    });
    let lines: Vec<String> = lines.collect();
    read_log(lines.iter().map(String::as_str))
}

fn approving_lines() -> Vec<String> {
    let lines = LOG.lines().flat_map(|line| {
        let mut value: serde_json::Value = serde_json::from_str(line).unwrap();
        let event = &mut value["event"];
        if event["type"] != "asked" || event["frame"] != "run/task-002" {
            return vec![line.to_owned()];
        }
        let asked = &mut event["question"];
        asked["kind"] = "approval".into();
        asked["text"] = "Approve this change? Its risk is high.".into();
        asked["answers"] = serde_json::json!(["approve", "reject", "override"]);
        let question = asked["id"].clone();
        let (seq, at) = (value["seq"].clone(), value["at"].clone());
        let entry = |event| serde_json::json!({ "seq": seq, "at": at, "event": event }).to_string();
        let requested = serde_json::json!({
            "type": "approval_requested", "frame": "run/task-002", "question": question,
            "tree": "t2", "at": at, "assessment": {
                "level": "high",
                "reasons": ["`src/auth.py` is in `auth`"],
                "requirements": [{
                    "name": "high_risk", "action": { "require_multi_approval": { "min_approvers": 2 } },
                    "approvers": ["anna", "ben", "cem"],
                }],
            },
        });
        let voted = serde_json::json!({
            "type": "voted", "frame": "run/task-002", "question": question, "tree": "t2",
            "by": { "person": "anna", "proof": { "uid": 1000 } }, "approves": true,
            "note": "Tried it",
        });
        vec![value.to_string(), entry(requested), entry(voted)]
    });
    lines.collect()
}

/// Returns the run with the policy and the votes, after a hand has added this to every text in it that
/// a person or a model wrote.
pub(crate) fn hostile_history(attack: &str) -> HistoryUpdate {
    let lines = approving_lines().into_iter().map(|line| {
        let mut value: serde_json::Value = serde_json::from_str(&line).unwrap();
        add_to_texts(&mut value["event"], attack);
        value.to_string()
    });
    let lines: Vec<String> = lines.collect();
    read_log(lines.iter().map(String::as_str))
}

fn add_to_texts(value: &mut serde_json::Value, attack: &str) {
    const TEXTS: [&str; 10] = [
        "goal",
        "title",
        "description",
        "text",
        "points",
        "reason",
        "reasons",
        "note",
        "summary",
        "detail",
    ];
    match value {
        serde_json::Value::Object(map) => {
            for (key, value) in map {
                match value {
                    serde_json::Value::String(text) if TEXTS.contains(&key.as_str()) => {
                        text.push_str(attack);
                    }
                    serde_json::Value::Array(list) if TEXTS.contains(&key.as_str()) => {
                        for text in list {
                            if let serde_json::Value::String(text) = text {
                                text.push_str(attack);
                            }
                        }
                    }
                    value => add_to_texts(value, attack),
                }
            }
        }
        serde_json::Value::Array(list) => {
            for value in list {
                add_to_texts(value, attack);
            }
        }
        _ => {}
    }
}

fn read_log<'a>(log: impl Iterator<Item = &'a str>) -> HistoryUpdate {
    let (mut replay, mut attempts) = (RunReplay::default(), AttemptTimeline::default());
    let mut lines = Vec::new();
    for line in log {
        let entry: Entry = Entry::parse(line);
        replay.apply_event(&entry.event);
        attempts.record_event(entry.at, &entry.event);
        if let Some(words) = replay.describe_event(&entry.event) {
            let frame = codeteam_report::describe::event_frame(&entry.event);
            lines.push(TimelineLine {
                seq: entry.seq,
                at: entry.at,
                place: frame.map_or("run", FramePath::name).to_owned(),
                words,
            });
        }
    }
    HistoryUpdate {
        run: replay.snapshot(),
        attempts: attempts.take_changed(),
        lines,
        is_whole: true,
    }
}

struct Entry {
    seq: u64,
    at: EpochMillis,
    event: Event,
}

impl Entry {
    fn parse(line: &str) -> Self {
        let value: serde_json::Value = serde_json::from_str(line).unwrap();
        let event = value["event"].to_string();
        Self {
            seq: value["seq"].as_u64().unwrap(),
            at: EpochMillis(value["at"].as_u64().unwrap()),
            event: Event::read(1, &event).unwrap(),
        }
    }
}

/// Returns a run of the list.
pub(crate) fn watched(run: &LoadedRun, is_driven: bool) -> WatchedRun {
    let started = i64::try_from(run.started_at.0).unwrap();
    WatchedRun {
        item: RunListItem {
            run: run.id.0.clone(),
            goal: run.goal.clone(),
            status: run.status.as_str().to_owned(),
            headline: run.headline.clone(),
            created_at: started,
            updated_at: started + 17_000,
            events: run.events,
            frames: run.frames.clone(),
            questions: run.questions.len(),
            task_counts: Some(TaskCounts::of_run(run)),
        },
        loaded: Some(run.clone()),
        is_driven,
    }
}

/// Returns a run of the list that has ended.
pub(crate) fn ended(id: &str, goal: &str, status: &str, created_at: i64) -> WatchedRun {
    WatchedRun {
        item: RunListItem {
            run: id.to_owned(),
            goal: goal.to_owned(),
            status: status.to_owned(),
            headline: format!("{status}: 3 of 3 tasks"),
            created_at,
            updated_at: created_at + 600_000,
            events: 40,
            frames: Vec::new(),
            questions: 0,
            task_counts: None,
        },
        loaded: None,
        is_driven: false,
    }
}

/// A screen without a terminal.
pub(crate) struct TestScreen {
    pub(crate) app: App,
    /// What the loop was asked for since it was last looked at.
    pub(crate) actions: Vec<ScreenAction>,
    now: EpochMillis,
}

impl TestScreen {
    /// A screen of this size, which knows the run and two others.
    pub(crate) fn new(columns: u16, rows: u16) -> Self {
        Self::at_event(columns, rows, usize::MAX)
    }

    /// The same, as it was after so many events of the run.
    pub(crate) fn at_event(columns: u16, rows: u16, events: usize) -> Self {
        Self::with_history(columns, rows, history_update(events))
    }

    /// A screen that knows a run with this history.
    pub(crate) fn with_history(columns: u16, rows: u16, update: HistoryUpdate) -> Self {
        let run = update.run.clone();
        let now = EpochMillis(run.started_at.0 + 80_000);
        let mut screen = Self {
            app: App::new(None, (columns, rows)),
            actions: Vec::new(),
            now,
        };
        let started = i64::try_from(run.started_at.0).unwrap();
        let runs = vec![
            watched(&run, true),
            ended(
                "2026-11-18_101500_add-a-flag",
                "Add a --json flag",
                "completed",
                started - 90_000_000,
            ),
            ended(
                "2026-11-17_090000_rename",
                "Rename the module",
                "failed",
                started - 190_000_000,
            ),
        ];
        screen.send(Message::RunsChanged(runs));
        screen.send(Message::HistoryRead(Box::new(update)));
        screen.answer_loads();
        screen.actions.clear();
        screen
    }

    /// Sends a message, as the loop would.
    pub(crate) fn send(&mut self, message: Message) {
        let actions = update(&mut self.app, self.now, message);
        self.actions.extend(actions);
    }

    /// Presses keys, by the names that the help uses, and loads what they ask for.
    pub(crate) fn press(&mut self, keys: &[&str]) -> &mut Self {
        for key in keys {
            self.send(Message::KeyPressed(key_event(key)));
            self.answer_loads();
        }
        self
    }

    /// Types a text.
    pub(crate) fn type_text(&mut self, text: &str) -> &mut Self {
        for c in text.chars() {
            let key = KeyEvent::new(KeyCode::Char(c), KeyModifiers::NONE);
            self.send(Message::KeyPressed(key));
        }
        self
    }

    /// Answers patches and reports as the loader would.
    fn answer_loads(&mut self) {
        let loads = std::mem::take(&mut self.actions);
        for action in loads {
            match action {
                ScreenAction::Load(LoadRequest::Patch { run, place }) => {
                    let run_view = self.app.run_view(run.as_str()).unwrap();
                    let frame = run_view.frame_named(&place);
                    let version = frame.and_then(|frame| frame.diff.clone());
                    let patch = Ok(Arc::new(PatchDocument::parse(PATCH.as_bytes())));
                    self.send(Message::PatchLoaded(LoadedPatch {
                        run,
                        place,
                        patch,
                        version: version.map(|body| body.0),
                    }));
                }
                ScreenAction::Load(LoadRequest::Report { run, place }) => {
                    let change = self.change(&run, &place);
                    let change = change.map(Box::new).ok_or_else(|| "nothing yet".to_owned());
                    self.send(Message::ReportLoaded(LoadedReport { run, place, change }));
                }
                action => self.actions.push(action),
            }
        }
    }

    /// Shows this patch in place of the one that the panel asked for.
    pub(crate) fn load_patch(&mut self, patch: &str) {
        let Some(Panel::Diff(diff)) = self.app.panel() else {
            panic!("no diff is open");
        };
        let (run, place) = diff.key();
        self.send(Message::PatchLoaded(LoadedPatch {
            run: RunId(run),
            place,
            patch: Ok(Arc::new(PatchDocument::parse(patch.as_bytes()))),
            version: None,
        }));
    }

    fn change(&self, run: &RunId, place: &str) -> Option<ChangeView> {
        let loaded = self.app.run_view(run.as_str())?;
        let frame = loaded.frame_named(place)?.path.clone();
        let report = build_report(loaded.as_run(), loaded.as_frame(&frame)?)?;
        Some(ChangeView {
            report: report.with_line_counts(PATCH.as_bytes()),
            version: 1,
            frame,
            added: 6,
            removed: 2,
            diff: None,
            rejected_by: Vec::new(),
            objections: Vec::new(),
            proposal: None,
            report_file: PathBuf::from(".codeteam/reports/task-002.md"),
        })
    }

    /// Returns the words of the command that was asked for last.
    #[track_caller]
    pub(crate) fn command(&self) -> String {
        let mut actions = self.actions.iter().rev();
        let found = actions.find_map(|action| match action {
            ScreenAction::RunCommand { words, .. } => Some(words.join(" ")),
            _ => None,
        });
        found.expect("no command was asked for")
    }

    /// Returns true if a command was asked for.
    pub(crate) fn has_command(&self) -> bool {
        let is_command = |action: &ScreenAction| matches!(action, ScreenAction::RunCommand { .. });
        self.actions.iter().any(is_command)
    }

    /// Returns what is on the screen, line by line.
    pub(crate) fn text(&self) -> String {
        let (columns, rows) = self.app.size;
        let mut terminal = Terminal::new(TestBackend::new(columns, rows)).unwrap();
        let theme = Theme { is_coloured: true };
        terminal
            .draw(|frame| draw(&self.app, theme, frame))
            .unwrap();
        let buffer = terminal.backend().buffer();
        let mut text = String::new();
        for y in 0..rows {
            let cells = (0..columns).map(|x| buffer[(x, y)].symbol());
            text.push_str(cells.collect::<String>().trim_end());
            text.push('\n');
        }
        text
    }
}

/// Returns the key of a name.
pub(crate) fn key_event(name: &str) -> KeyEvent {
    let plain = |code| KeyEvent::new(code, KeyModifiers::NONE);
    match name {
        "Enter" => plain(KeyCode::Enter),
        "Esc" => plain(KeyCode::Esc),
        "Up" => plain(KeyCode::Up),
        "Down" => plain(KeyCode::Down),
        "Left" => plain(KeyCode::Left),
        "Right" => plain(KeyCode::Right),
        "PgUp" => plain(KeyCode::PageUp),
        "PgDn" => plain(KeyCode::PageDown),
        "Backspace" => plain(KeyCode::Backspace),
        "Tab" => plain(KeyCode::Tab),
        "Space" => plain(KeyCode::Char(' ')),
        "Alt-Enter" => KeyEvent::new(KeyCode::Enter, KeyModifiers::ALT),
        name => match name.strip_prefix("Ctrl-") {
            Some(c) => {
                let c = c.chars().next().unwrap().to_ascii_lowercase();
                KeyEvent::new(KeyCode::Char(c), KeyModifiers::CONTROL)
            }
            None => plain(KeyCode::Char(name.chars().next().unwrap())),
        },
    }
}
