//! `summary.md`: what became of a run, at a glance.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use codeteam_core::event::{DeliveryOutcome, FrameOutcome};
use codeteam_core::frame::{Frame, FrameChange};
use codeteam_core::hands::Operator;
use codeteam_core::ids::FramePath;
use codeteam_core::quoted::{one_line, visible};
use codeteam_core::submission::{Submission, Verdict, VerdictChoice};
use codeteam_core::{Event, Run};

use super::story::finding;
use super::{Error, folder, is_analyst, replace};
use crate::engine::Engine;
use crate::git::Oid;
use crate::report::{body, passage};
use crate::tell;

pub(super) fn write(engine: &Engine, run: &Run) -> Result<(), Error> {
    let text = visible(&text(engine, run));
    let text = engine.redactor.redact(&text).text;
    replace(&folder(engine, run).join("summary.md"), text.as_bytes())
}

fn text(engine: &Engine, run: &Run) -> String {
    let story = SummaryFacts::of(engine, run);
    let mut out = format!("# Run Summary\n\n## Task\n{}\n\n", passage(&run.goal));
    let reservations = story.accepted.iter().cloned().chain(tell::unrepaired(run));
    let reservations: Vec<String> = reservations.collect();
    let result = match &run.outcome {
        Some(FrameOutcome::Completed) if !reservations.is_empty() => {
            format!("⚠️ DONE — {}", reservations.join("; "))
        }
        Some(FrameOutcome::Completed) => "✅ SUCCESS".to_owned(),
        Some(FrameOutcome::Failed(why)) => format!("❌ FAILED — {}", tell::first_line(why)),
        Some(FrameOutcome::Aborted(why)) => format!("❌ ABORTED — {}", tell::first_line(why)),
        Some(FrameOutcome::Skipped | FrameOutcome::Cancelled) => "❌ CANCELLED".to_owned(),
        None => "UNDER WAY".to_owned(),
    };
    let _ = writeln!(out, "## Result: {result}\n");
    if !run.edited_config.is_empty() {
        let _ = writeln!(out, "{}\n", tell::edited_config(&run.edited_config));
    }
    let root = run.frames.get(&FramePath::root());
    if let Some((root, analyst)) = root.zip(story.analyst.as_deref()) {
        let known = root.outputs.known_requirements();
        if !known.is_empty() {
            let _ = writeln!(
                out,
                "## Requirements{}\n{}\n",
                from(Some(analyst)),
                body(&known)
            );
        }
    }
    if let Some(design) = root.and_then(|f| f.outputs.whole_design()) {
        let whose = from(story.designer.as_deref());
        let _ = writeln!(out, "## Design{whose}\n{}\n", body(&design.design));
    }
    tasks(&mut out, run);
    story.iterations(&mut out, run.plan.is_some());
    let files = story.files(engine, run.began_in);
    section(&mut out, "Files Changed", files.into_iter());
    section(
        &mut out,
        "Follow-ups",
        story.follow_ups.iter().map(|f| format!("- {f}")),
    );
    let cost = &run.budget;
    let _ = writeln!(out, "## Cost\n");
    let _ = writeln!(out, "- Attempts: {}", cost.attempts);
    let tokens = match run.began_in {
        Operator::Workers => cost.tokens.to_string(),
        Operator::Session => tell::tokens_spent(run),
    };
    let _ = writeln!(out, "- Tokens: {tokens}");
    let _ = writeln!(out, "- Money: {}", tell::money_spent(run));
    let _ = writeln!(out, "\n## Git\n\n- **Branch:** `{}`", run.branch);
    let _ = writeln!(out, "- **Commits:** {}", story.on_branch(engine, run));
    match &run.delivered {
        Some(DeliveryOutcome::Forward { from, .. }) => {
            let from = tell::short(from.as_str());
            let _ = writeln!(out, "- **Moved forward from:** `{from}`");
        }
        Some(DeliveryOutcome::Patch { file }) => {
            let _ = writeln!(out, "- **Patch:** `{file}`");
        }
        Some(DeliveryOutcome::Left { .. }) | None if story.commits > 0 => {
            let _ = writeln!(out, "- **Merge:** `codeteam merge {}`", run.id);
        }
        Some(DeliveryOutcome::Left { .. }) | None => {}
    }
    let _ = writeln!(out, "\n## Confinement\n\n{}", run.confinement);
    out
}

fn tasks(out: &mut String, run: &Run) {
    let Some(plan) = &run.plan else { return };
    out.push_str("## Tasks\n\n| Task | Status | Rounds |\n|---|---|---|\n");
    for task in &plan.tasks {
        let record = run.tasks.get(&task.id).cloned().unwrap_or_default();
        let why = record
            .why
            .as_deref()
            .map(|w| format!(" — {}", tell::first_line(w)));
        let _ = writeln!(
            out,
            "| {}: {} | {}{} | {} |",
            task.id,
            cell(task.headline()),
            record.status.as_str(),
            cell(&why.unwrap_or_default()),
            record.rounds
        );
    }
    out.push('\n');
}

/// What the events tell beyond the final state.
#[derive(Default)]
struct SummaryFacts {
    rows: Vec<SummaryRow>,
    /// The last change of each frame.
    changes: BTreeMap<FramePath, FrameChange>,
    /// The changes that were committed.
    committed: Vec<FrameChange>,
    follow_ups: Vec<String>,
    commits: usize,
    /// Who has taken a change over what was held against it, and over what.
    accepted: Vec<String>,
    /// Who has asked for the requirements or confirmed them, and who has designed last.
    analyst: Option<String>,
    designer: Option<String>,
    /// How many changes each role has submitted.
    submitted: BTreeMap<String, usize>,
}

/// Something that was handed in or judged.
struct SummaryRow {
    place: String,
    /// The round; none for what comes before there is a change.
    round: Option<u32>,
    who: String,
    outcome: String,
}

impl SummaryFacts {
    fn of(engine: &Engine, run: &Run) -> Self {
        let mut story = Self::default();
        let mut state = Run::default();
        let read = engine.each_event(&run.id, 0, |_, _, event| {
            codeteam_core::apply(&mut state, &event);
            story.add(&state, &event);
        });
        if read.is_err() {
            story.rows.push(SummaryRow {
                place: "-".to_owned(),
                round: None,
                who: "-".to_owned(),
                outcome: "the log could not be read".to_owned(),
            });
        }
        for frame in run.frames.values().chain(run.failed.values()) {
            story.follow_ups.extend(frame.findings.open().map(finding));
        }
        story
    }

    fn add(&mut self, run: &Run, event: &Event) {
        match event {
            Event::SubmissionReceived {
                id,
                submission,
                change,
                ..
            } => {
                if let Some((_, change)) = change {
                    self.changes.insert(id.frame.clone(), change.clone());
                }
                let who = tell::who(run, id);
                let (counts, outcome) = match submission {
                    Submission::Verdict(v) => (true, verdict(v)),
                    Submission::Change(_) => {
                        *self.submitted.entry(who.clone()).or_default() += 1;
                        (true, "Submitted".to_owned())
                    }
                    Submission::Questions(_) => {
                        if is_analyst(run, id) {
                            self.analyst = Some(who.clone());
                        }
                        (false, "Asked".to_owned())
                    }
                    Submission::Requirements(_) => {
                        self.analyst = Some(who.clone());
                        (false, "✅ Requirements confirmed".to_owned())
                    }
                    Submission::Design(_) => {
                        self.designer = Some(who.clone());
                        (false, "✅ Design submitted".to_owned())
                    }
                    Submission::Plan(_) => (false, "✅ Plan submitted".to_owned()),
                    Submission::Text(_) | Submission::Blocked(_) => return,
                };
                self.row(run, &id.frame, counts, who, outcome);
            }
            Event::GateJudged {
                id, step, passed, ..
            } => {
                let outcome = if *passed { "✅ Passed" } else { "❌ Failed" };
                self.row(run, &id.frame, true, step.to_string(), outcome.to_owned());
            }
            Event::Answered {
                frame,
                question,
                answer,
                note,
                by,
                rejects,
                ..
            } => {
                let round = run.frames.get(frame).map(Frame::iterations);
                self.rows.push(SummaryRow {
                    place: frame.name().to_owned(),
                    round: round.filter(|round| *round > 0 && !is_analyst(run, question)),
                    who: by.clone(),
                    outcome: decision(answer, note, *rejects),
                });
            }
            Event::Accepted {
                frame, by, note, ..
            } => {
                let round = run.frames.get(frame).map(Frame::iterations);
                self.rows.push(SummaryRow {
                    place: frame.name().to_owned(),
                    round,
                    who: by.clone(),
                    outcome: decision("accepted as it is", note, false),
                });
            }
            Event::FrameEnded { frame, .. } => {
                // Minor findings of what was integrated are left for later, and said so.
                if let Some(frame) = run.frames.get(frame) {
                    self.follow_ups.extend(frame.findings.open().map(finding));
                }
            }
            Event::Committed { id, .. } => {
                self.commits += 1;
                let frame = run.frames.get(&id.frame);
                self.committed.extend(frame.and_then(|f| f.change.clone()));
                self.accepted.extend(frame.and_then(accepted));
            }
            _ => {}
        }
    }

    fn row(&mut self, run: &Run, path: &FramePath, counts: bool, who: String, outcome: String) {
        // A change belongs to the round it was made in, and so does what is said of it.
        let round = run.frames.get(path).map(|frame| match &frame.change {
            Some(_) => frame.record.made,
            None => frame.round,
        });
        self.rows.push(SummaryRow {
            place: path.name().to_owned(),
            round: round.filter(|_| counts),
            who,
            outcome,
        });
    }

    /// Who handed in or judged what, in which round; where, if there are several tasks.
    fn iterations(&self, out: &mut String, has_tasks: bool) {
        if self.rows.is_empty() {
            return;
        }
        let (place, line) = if has_tasks {
            ("| Where ", "|---")
        } else {
            ("", "")
        };
        let _ = writeln!(
            out,
            "## Iterations\n\n{place}| # | Role | Outcome |\n{line}|---|---|---|"
        );
        for row in &self.rows {
            if has_tasks {
                let _ = write!(out, "| {} ", row.place);
            }
            let round = row.round.map_or("-".to_owned(), |round| round.to_string());
            let _ = writeln!(
                out,
                "| {round} | {} | {} |",
                cell(&row.who),
                cell(&row.outcome)
            );
        }
        out.push('\n');
        if !has_tasks {
            for (role, count) in &self.submitted {
                let _ = writeln!(out, "**{} iterations:** {count}\n", named(role));
            }
        }
    }

    /// How many commits are on the run's branch: a session's submissions are, too.
    fn on_branch(&self, engine: &Engine, run: &Run) -> usize {
        if run.began_in != Operator::Session {
            return self.commits;
        }
        let (base, tip) = (
            Oid::parse(&run.base.commit.0),
            Oid::parse(&run.tip.commit.0),
        );
        let counted = base.zip(tip).and_then(|(base, tip)| {
            let commits = engine.repo.commits_since(&base, &tip);
            commits.ok().map(|commits| commits.len())
        });
        counted.unwrap_or(self.commits)
    }

    /// The files that the changes on the run's branch touch, each with what became of it. Whatever a
    /// session submits is there; of workers only what was committed.
    fn files(&self, engine: &Engine, began_in: Operator) -> Vec<String> {
        let mut files: BTreeMap<&str, &str> = BTreeMap::new();
        let changes: Vec<&FrameChange> = match began_in {
            Operator::Session => self.changes.values().collect(),
            Operator::Workers => self.committed.iter().collect(),
        };
        for change in changes {
            let diff = engine.bodies.get(change.diff.as_str()).unwrap_or_default();
            let made = marked(&diff);
            for file in &change.files {
                let became = made.iter().find(|(path, _)| path == file);
                let became = became.map_or("modified", |(_, became)| became);
                // One task may make a file, and another change it.
                let known = files.entry(file).or_insert(became);
                if *known != "new" {
                    *known = became;
                }
            }
        }
        let told = files.iter();
        told.map(|(file, became)| format!("- {file} ({became})"))
            .collect()
    }
}

/// Who took a frame's change over what was held against it, and over what.
fn accepted(frame: &Frame) -> Option<String> {
    let by = frame.accepted_by.as_ref()?;
    let over = tell::names(&frame.overruled());
    let what = if frame.path.is_root() {
        String::new()
    } else {
        format!("{}: ", frame.path.name())
    };
    Some(format!(
        "{what}{by} accepted the change, though {over} rejected it"
    ))
}

/// A verdict in a few words.
fn verdict(verdict: &Verdict) -> String {
    match verdict.verdict {
        VerdictChoice::Approve => "✅ Approved".to_owned(),
        VerdictChoice::Reject => format!("❌ Rejected — {}", tell::first_line(&verdict.reason)),
    }
}

/// What a person decided, in a few words.
fn decision(answer: &str, note: &str, rejects: bool) -> String {
    let note = match tell::first_line(note) {
        "" => String::new(),
        note => format!(" — {note}"),
    };
    let mark = if rejects { "❌ Decided" } else { "Decided" };
    format!("{mark}: {}{note}", tell::first_line(answer))
}

/// The files that a diff makes or deletes.
fn marked(diff: &[u8]) -> Vec<(String, &'static str)> {
    let (mut found, mut path) = (Vec::new(), None);
    for line in diff.split(|byte| *byte == b'\n') {
        let line = String::from_utf8_lossy(line);
        if let Some(names) = line.strip_prefix("diff --git a/") {
            path = names.split_once(" b/").map(|(name, _)| name.to_owned());
            continue;
        }
        let became = if line.starts_with("new file mode") {
            "new"
        } else if line.starts_with("deleted file mode") {
            "deleted"
        } else {
            continue;
        };
        found.extend(path.take().map(|path| (path, became)));
    }
    found
}

/// Whose something is, for a heading.
fn from(role: Option<&str>) -> String {
    role.map(|role| format!(" (from {})", named(role)))
        .unwrap_or_default()
}

/// A role's name as a person would write it: `BA`, `Architect`.
fn named(role: &str) -> String {
    if role.len() < 3 {
        return role.to_uppercase();
    }
    let mut letters = role.chars();
    let first = letters.next().map(|first| first.to_uppercase().to_string());
    format!("{}{}", first.unwrap_or_default(), letters.as_str())
}

fn section(out: &mut String, title: &str, lines: impl Iterator<Item = String>) {
    let lines: Vec<String> = lines.collect();
    if !lines.is_empty() {
        let _ = writeln!(out, "## {title}\n{}\n", lines.join("\n"));
    }
}

/// A text that cannot break a table.
fn cell(text: &str) -> String {
    let text = if text.starts_with(' ') {
        format!(" {}", one_line(text))
    } else {
        one_line(text)
    };
    text.replace('|', "\\|")
}
