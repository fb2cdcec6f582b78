//! Renders `summary.md`: the outcome of a run, at a glance.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use codeteam_core::event::DeliveryOutcome;
use codeteam_core::frame::FrameOutcome;
use codeteam_core::frame::{Frame, FrameChange};
use codeteam_core::ids::FramePath;
use codeteam_core::operator::Operator;
use codeteam_core::plan::Task;
use codeteam_core::schedule::TaskStatus;
use codeteam_core::submission::{Submission, Verdict, VerdictChoice};
use codeteam_core::untrusted_text::{one_line, strip_active};
use codeteam_core::{Event, Run};

use super::documents::finding_line;
use super::{Error, is_analyst, run_folder, write_atomically};
use crate::describe;
use crate::published::published_url;
use crate::records::ProjectRecords;
use crate::report::{quoted_passage, section_body};
use codeteam_host::git::Oid;

pub(super) fn write_summary(records: ProjectRecords<'_>, run: &Run) -> Result<(), Error> {
    let text = strip_active(&render_summary(records, run));
    let text = records.redactor.redact(&text).text;
    write_atomically(
        &run_folder(records, run).join("summary.md"),
        text.as_bytes(),
    )
}

fn render_summary(records: ProjectRecords<'_>, run: &Run) -> String {
    let story = SummaryFacts::read_events(records, run);
    let mut out = format!(
        "# Run Summary\n\n## Task\n{}\n\n",
        quoted_passage(&run.goal)
    );
    let reservations = story
        .accepted
        .iter()
        .cloned()
        .chain(describe::unrepaired(run));
    let reservations: Vec<String> = reservations.collect();
    let result = match &run.outcome {
        Some(FrameOutcome::Completed) if !reservations.is_empty() => {
            format!("⚠️ DONE — {}", reservations.join("; "))
        }
        Some(FrameOutcome::Completed) => "✅ SUCCESS".to_owned(),
        Some(FrameOutcome::Failed(why)) => format!("❌ FAILED — {}", describe::first_line(why)),
        Some(FrameOutcome::Aborted(why)) => format!("❌ ABORTED — {}", describe::first_line(why)),
        Some(FrameOutcome::Skipped | FrameOutcome::Cancelled) => "❌ CANCELLED".to_owned(),
        None => "UNDER WAY".to_owned(),
    };
    let _ = writeln!(out, "## Result: {result}\n");
    if !run.edited_config.is_empty() {
        let _ = writeln!(
            out,
            "{}\n",
            describe::edited_config_warning(&run.edited_config)
        );
    }
    let root = run.frames.get(&FramePath::root());
    if let Some((root, analyst)) = root.zip(story.analyst.as_deref()) {
        let known = root.outputs.known_requirements();
        if !known.is_empty() {
            let _ = writeln!(
                out,
                "## Requirements{}\n{}\n",
                attribution(Some(analyst)),
                section_body(&known)
            );
        }
    }
    if let Some(design) = root.and_then(|f| f.outputs.merged_design()) {
        let whose = attribution(story.designer.as_deref());
        let _ = writeln!(out, "## Design{whose}\n{}\n", section_body(&design.design));
    }
    push_tasks(&mut out, run);
    story.push_iterations(&mut out, run.plan.is_some());
    let files = story.files(records, run.started_by);
    section(&mut out, "Files Changed", files.into_iter());
    section(
        &mut out,
        "Follow-ups",
        story.follow_ups.iter().map(|f| format!("- {f}")),
    );
    let cost = &run.budget;
    let _ = writeln!(out, "## Cost\n");
    let _ = writeln!(out, "- Attempts: {}", cost.attempts);
    let tokens = match run.started_by {
        Operator::Workers => cost.tokens.to_string(),
        Operator::Session => describe::tokens_spent(run),
    };
    let _ = writeln!(out, "- Tokens: {tokens}");
    let _ = writeln!(out, "- Money: {}", describe::money_spent(run));
    let _ = writeln!(out, "\n## Git\n\n- **Branch:** `{}`", run.branch);
    let _ = writeln!(
        out,
        "- **Commits:** {}",
        story.count_branch_commits(records, run)
    );
    if let Some(url) = published_url(run) {
        let _ = writeln!(out, "- **Published:** {}", one_line(url));
    }
    match &run.delivery_outcome {
        Some(DeliveryOutcome::Forward { from, .. }) => {
            let from = describe::short_id(from.as_str());
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

/// The number of tasks up to which the summary lists all of them.
const LISTED_TASKS: usize = 200;

/// Lists the tasks. Of a long plan, those that were completed at once are counted by phase.
fn push_tasks(out: &mut String, run: &Run) {
    let Some(plan) = &run.plan else { return };
    out.push_str("## Tasks\n\n");
    let is_long = plan.tasks.len() > LISTED_TASKS;
    let is_plain = |task: &Task| {
        let record = run.tasks.get(&task.id);
        record.is_some_and(|r| r.status == TaskStatus::Completed && r.rounds <= 1)
    };
    if is_long {
        let mut phases: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
        for task in &plan.tasks {
            let phase = task
                .phase
                .as_ref()
                .map_or("(no phase)", |phase| phase.as_str());
            let counts = phases.entry(phase).or_default();
            counts.0 += usize::from(run.task_status(&task.id).satisfies());
            counts.1 += 1;
        }
        out.push_str("| Phase | Done |\n|---|---|\n");
        for (phase, (done, all)) in phases {
            let _ = writeln!(out, "| {} | {done} of {all} |", cell(phase));
        }
        out.push_str("\nTasks that are not done, or took more than one round:\n\n");
    }
    out.push_str("| Task | Status | Rounds |\n|---|---|---|\n");
    for task in plan.tasks.iter().filter(|task| !is_long || !is_plain(task)) {
        let record = run.tasks.get(&task.id).cloned().unwrap_or_default();
        let why = record
            .why
            .as_deref()
            .map(|w| format!(" — {}", describe::first_line(w)));
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

/// Facts that the events contain but the final state of the run does not.
#[derive(Default)]
struct SummaryFacts {
    rows: Vec<SummaryRow>,
    /// The last change of each frame.
    changes: BTreeMap<FramePath, FrameChange>,
    /// The changes that were committed.
    committed: Vec<FrameChange>,
    follow_ups: Vec<String>,
    commits: usize,
    /// Who accepted a change despite objections, and which objections those were.
    accepted: Vec<String>,
    /// The role that asked for the requirements or confirmed them; `designer` is the role that
    /// designed last.
    analyst: Option<String>,
    designer: Option<String>,
    /// The number of changes that each role has submitted.
    submitted: BTreeMap<String, usize>,
}

/// One submission or verdict.
struct SummaryRow {
    place: String,
    /// The round; `None` for anything that precedes the first change.
    round: Option<u32>,
    who: String,
    outcome: String,
}

impl SummaryFacts {
    fn read_events(records: ProjectRecords<'_>, run: &Run) -> Self {
        let mut story = Self::default();
        let mut state = Run::default();
        let read = records.each_event(&run.id, 0, |_, _, event| {
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
        for frame in run.frames.values().chain(run.failed_frames.values()) {
            story
                .follow_ups
                .extend(frame.findings.open().map(finding_line));
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
                let who = describe::attempt_name(run, id);
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
                    Submission::Quality(score) => (true, format!("Scored {}", score.overall_score)),
                    Submission::Intervention(decision) => {
                        (true, format!("Decided: {}", decision.intervention.as_str()))
                    }
                    Submission::Assembly(_) => (false, "✅ Team assembled".to_owned()),
                    Submission::InterfaceChange(asked) => {
                        let name = &asked.interface_change.interface;
                        (false, format!("Asked for a change of `{}`", one_line(name)))
                    }
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
                // Minor findings of an integrated change are left for later, and the summary says
                // so.
                if let Some(frame) = run.frames.get(frame) {
                    self.follow_ups
                        .extend(frame.findings.open().map(finding_line));
                }
            }
            Event::Committed { id, .. } => {
                self.commits += 1;
                let frame = run.frames.get(&id.frame);
                self.committed.extend(frame.and_then(|f| f.change.clone()));
                self.accepted.extend(frame.and_then(accepted_over));
            }
            _ => {}
        }
    }

    fn row(&mut self, run: &Run, path: &FramePath, counts: bool, who: String, outcome: String) {
        // A change belongs to the round it was made in, and so do the verdicts on it.
        let round = run.frames.get(path).map(|frame| match &frame.change {
            Some(_) => frame.judgements.change_round,
            None => frame.round,
        });
        self.rows.push(SummaryRow {
            place: path.name().to_owned(),
            round: round.filter(|_| counts),
            who,
            outcome,
        });
    }

    /// Appends the table of submissions and verdicts per round, with the task if there are several.
    fn push_iterations(&self, out: &mut String, has_tasks: bool) {
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
                let _ = writeln!(out, "**{} iterations:** {count}\n", role_title(role));
            }
        }
    }

    /// Counts the commits on the run's branch, where a session's submissions are commits too.
    fn count_branch_commits(&self, records: ProjectRecords<'_>, run: &Run) -> usize {
        if run.started_by != Operator::Session {
            return self.commits;
        }
        let (base, tip) = (
            Oid::parse(&run.base.commit.0),
            Oid::parse(&run.tip.commit.0),
        );
        let counted = base.zip(tip).and_then(|(base, tip)| {
            let commits = records.repo.commits_since(&base, &tip);
            commits.ok().map(|commits| commits.len())
        });
        counted.unwrap_or(self.commits)
    }

    /// Lists the files that the changes on the run's branch touch, each with what happened to it.
    /// Everything that a session submits is on the branch; of a worker's changes only the committed
    /// ones.
    fn files(&self, records: ProjectRecords<'_>, began_in: Operator) -> Vec<String> {
        let mut files: BTreeMap<&str, &str> = BTreeMap::new();
        let changes: Vec<&FrameChange> = match began_in {
            Operator::Session => self.changes.values().collect(),
            Operator::Workers => self.committed.iter().collect(),
        };
        for change in changes {
            let diff = records.bodies.get(change.diff.as_str()).unwrap_or_default();
            let made = created_or_deleted_files(&diff);
            for file in &change.files {
                let became = made.iter().find(|(path, _)| path == file);
                let became = became.map_or("modified", |(_, became)| became);
                // One task may create a file that another one changes.
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

/// Describes who accepted a frame's change despite objections, and which objections those were.
fn accepted_over(frame: &Frame) -> Option<String> {
    let by = frame.acceptance.by.as_ref()?;
    let over = describe::objection_names(&frame.overruled_names());
    let what = if frame.path.is_root() {
        String::new()
    } else {
        format!("{}: ", frame.path.name())
    };
    Some(format!(
        "{what}{by} accepted the change, though {over} rejected it"
    ))
}

/// Describes a verdict in a few words.
fn verdict(verdict: &Verdict) -> String {
    match verdict.verdict {
        VerdictChoice::Approve => "✅ Approved".to_owned(),
        VerdictChoice::Reject => format!("❌ Rejected — {}", describe::first_line(&verdict.reason)),
    }
}

/// Describes a person's decision in a few words.
fn decision(answer: &str, note: &str, rejects: bool) -> String {
    let note = match describe::first_line(note) {
        "" => String::new(),
        note => format!(" — {note}"),
    };
    let mark = if rejects { "❌ Decided" } else { "Decided" };
    format!("{mark}: {}{note}", describe::first_line(answer))
}

/// Returns the files that a diff creates or deletes.
fn created_or_deleted_files(diff: &[u8]) -> Vec<(String, &'static str)> {
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

/// Names the role that a section comes from, for its heading.
fn attribution(role: Option<&str>) -> String {
    role.map(|role| format!(" (from {})", role_title(role)))
        .unwrap_or_default()
}

/// Formats a role's name as a person would write it: `BA`, `Architect`.
fn role_title(role: &str) -> String {
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

/// Escapes a text so that it cannot break a table.
fn cell(text: &str) -> String {
    let text = if text.starts_with(' ') {
        format!(" {}", one_line(text))
    } else {
        one_line(text)
    };
    text.replace('|', "\\|")
}
