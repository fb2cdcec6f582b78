//! The history of a task in chronological order, read from the run's events and updated
//! incrementally.

use std::collections::BTreeMap;

use codeteam_core::Event;
use codeteam_core::checks::CheckResult;
use codeteam_core::ids::{AttemptId, FramePath, RunId};
use codeteam_core::role::RoleKind;
use codeteam_core::submission::{Submission, VerdictChoice, names_path};
use codeteam_engine::engine::{Engine, Error};
use codeteam_report::view::RunReplay;
use rmcp::model::JsonObject;
use serde_json::{Value, json};

use super::evidence::FileClaims;

/// The length limit of a text in brief listings.
const BRIEF: usize = 300;
/// The length limit of a text in full listings; the files of the run contain all of it.
const FULL: usize = 20_000;
/// The size limit of the entries returned at once, the newest first.
const MAX_BYTES: usize = 400_000;

/// The prefix of the answering person's name if a session passed the user's answer on; the
/// session's client follows it.
pub(super) const USER_THROUGH: &str = "the user, through ";

/// The history of a task.
#[derive(Default)]
pub(super) struct TaskHistory {
    /// The run as of the last event read.
    pub(super) run: RunReplay,
    /// The entries, the oldest first.
    entries: Vec<HistoryEntry>,
    /// Files of the checkout that differed from the judged change when that was last checked.
    edited: Vec<String>,
    /// The partial specification that came with the latest questions.
    partial: Option<String>,
    /// What implementers have claimed about files, by frame.
    claims: BTreeMap<FramePath, FileClaims>,
    /// Why the last submission was not accepted, if it was not.
    failed: Option<String>,
    in_full: bool,
}

struct HistoryEntry {
    role: String,
    iteration: u32,
    fields: JsonObject,
}

impl TaskHistory {
    /// Creates a history that keeps all texts in full.
    pub(super) fn in_full() -> Self {
        Self {
            in_full: true,
            ..Self::default()
        }
    }

    /// Reads the events since the last call.
    pub(super) fn catch_up(&mut self, engine: &Engine, run: &RunId) -> Result<(), Error> {
        engine.each_event(run, self.run.seq(), |_, _, event| self.record_event(&event))
    }

    /// Returns the files that were edited since the change was submitted.
    pub(super) fn edited(&self) -> &[String] {
        &self.edited
    }

    /// Returns why the last submission was not accepted, if it was not.
    pub(super) fn failed(&self) -> Option<&str> {
        self.failed.as_deref()
    }

    /// Returns the partial specification that came with the latest questions.
    pub(super) fn partial(&self) -> Option<&str> {
        self.partial.as_deref()
    }

    /// Returns what implementers have claimed about files in a frame so far.
    pub(super) fn claims(&self, frame: &FramePath) -> FileClaims {
        self.claims.get(frame).cloned().unwrap_or_default()
    }

    /// Returns the message for a query that matches no entry.
    pub(super) fn no_entry_message(&self) -> String {
        let mut roles: Vec<String> = Vec::new();
        for entry in &self.entries {
            let kind = entry.fields["type"].as_str().unwrap_or_default();
            let name = format!("`{}` ({kind})", entry.role);
            if !roles.contains(&name) {
                roles.push(name);
            }
        }
        let last = self.entries.iter().map(|entry| entry.iteration).max();
        match last {
            None => "Nothing was submitted yet.".to_owned(),
            Some(last) => format!(
                "There is no such entry. There are entries of: {}; iterations 1 to {last}.",
                roles.join(", ")
            ),
        }
    }

    /// Returns the entries, the oldest first, filtered by role (or kind of role) and iteration. The
    /// second value is the number of oldest entries that had to be left out.
    pub(super) fn filtered_entries(
        &self,
        role: Option<&str>,
        iteration: Option<u32>,
    ) -> (Vec<Value>, usize) {
        let is_of = |entry: &HistoryEntry, role: &str| {
            let kind = entry.fields["type"].as_str().unwrap_or_default();
            role.eq_ignore_ascii_case(&entry.role) || role.eq_ignore_ascii_case(kind)
        };
        let wanted = self.entries.iter().rev().filter(|entry| {
            role.is_none_or(|role| is_of(entry, role.trim()))
                && iteration.is_none_or(|iteration| entry.iteration == iteration)
        });
        let (mut told, mut left_out, mut bytes) = (Vec::new(), 0, 0);
        for entry in wanted {
            let value = Value::Object(entry.fields.clone());
            bytes += value.to_string().len();
            if bytes > MAX_BYTES && !told.is_empty() {
                left_out += 1;
            } else {
                told.push(value);
            }
        }
        told.reverse();
        (told, left_out)
    }

    fn record_event(&mut self, event: &Event) {
        let entry = self.entry_for_event(event);
        self.run.apply_event(event);
        self.entries.extend(entry);
    }

    fn entry_for_event(&mut self, event: &Event) -> Option<HistoryEntry> {
        match event {
            Event::SubmissionReceived {
                id,
                submission,
                vote,
                change,
                edited,
                ..
            } => {
                if change.is_some() || !edited.is_empty() {
                    self.edited.clone_from(edited);
                }
                if let Submission::Questions(questions) = submission {
                    self.partial.clone_from(&questions.partial_spec);
                }
                if let Submission::Change(said) = submission {
                    let claims = self.claims.entry(id.frame.clone()).or_default();
                    let files = change.iter().flat_map(|(_, change)| &change.files);
                    let files: Vec<String> = files.cloned().collect();
                    // A claim about a file that had not changed says nothing about it later.
                    let is_so =
                        |called: &&String| files.iter().any(|path| names_path(called, path));
                    claims
                        .named
                        .extend(said.files.iter().filter(is_so).cloned());
                    claims.changed.extend(files);
                }
                self.failed = None;
                let told = self.submission_details(submission, *vote);
                let told = told.with_files("edited_since", edited);
                self.attempt_entry(id, told)
            }
            Event::AttemptFailed { id, facts, .. } => {
                self.failed = Some(facts.message.clone());
                let told = json!({ "outcome": "refused", "reason": self.truncate(&facts.message) });
                self.attempt_entry(id, EntryDetails(told))
            }
            Event::GateJudged {
                id,
                step,
                passed,
                results,
                ..
            } => {
                let round = self.run.round_of(&id.frame)?;
                let told = self.gate_details(*passed, results);
                Some(new_entry(step.as_str(), "gate", round, told))
            }
            Event::Answered {
                frame,
                answer,
                by,
                note,
                ..
            } => {
                let round = self.run.round_of(frame)?;
                let mut told = json!({ "outcome": "answered", "answer": self.truncate(answer), "reason": self.truncate(note) });
                let role = match by.strip_prefix(USER_THROUGH) {
                    Some(client) => {
                        told["through"] = json!(client);
                        "user"
                    }
                    None => by.as_str(),
                };
                Some(new_entry(role, "person", round, EntryDetails(told)))
            }
            Event::Accepted {
                frame, by, note, ..
            } => {
                let round = self.run.round_of(frame)?;
                let told = json!({ "outcome": "accepted", "reason": self.truncate(note) });
                Some(new_entry(by, "person", round, EntryDetails(told)))
            }
            Event::WorkersReassigned { hands, by, .. } => {
                let outcome = format!("handed to {}", hands.as_str());
                Some(new_entry(
                    by,
                    "person",
                    1,
                    EntryDetails(json!({ "outcome": outcome })),
                ))
            }
            Event::Committed {
                id,
                commit,
                message,
                ..
            } => {
                let round = self.run.round_of(&id.frame)?;
                let told = json!({ "outcome": "committed", "summary": self.truncate(message), "commit": commit });
                Some(new_entry("codeteam", "commit", round, EntryDetails(told)))
            }
            _ => None,
        }
    }

    /// Creates the entry for an attempt, if a role made it.
    fn attempt_entry(&self, id: &AttemptId, told: EntryDetails) -> Option<HistoryEntry> {
        let round = self.run.round_of(&id.frame)?;
        let (name, kind) = self.run.attempt_role(id)?;
        let kind = kind.map_or("", RoleKind::as_str);
        Some(new_entry(name.as_str(), kind, round, told))
    }

    /// Describes an answer with the field names that sessions use.
    fn submission_details(&self, submission: &Submission, vote: Option<bool>) -> EntryDetails {
        let cut = |text: &str| self.truncate(text);
        let all =
            |texts: &[String]| -> Vec<String> { texts.iter().map(|t| self.truncate(t)).collect() };
        EntryDetails(match submission {
            Submission::Questions(q) => json!({
                "outcome": "asked", "questions": all(&q.questions), "context": cut(&q.context),
                "partial_spec": cut(q.partial_spec.as_deref().unwrap_or_default()),
            }),
            Submission::Requirements(r) => json!({
                "outcome": "confirmed", "confirmed_requirements": cut(&r.requirements),
            }),
            Submission::Design(d) => json!({
                "outcome": "designed", "design": cut(&d.design), "patterns": all(&d.patterns),
                "warnings": all(&d.warnings),
            }),
            Submission::Change(c) => json!({
                "outcome": "submitted", "summary": cut(&c.summary), "files_changed": all(&c.files),
                "proof": cut(&c.proof), "concerns": all(&c.concerns),
            }),
            Submission::Verdict(v) => {
                let approved = vote.unwrap_or(v.verdict == VerdictChoice::Approve);
                let issues: Vec<String> = v.findings.iter().map(|f| cut(&f.title)).collect();
                json!({
                    "outcome": if approved { "approved" } else { "rejected" },
                    "approved": approved, "reason": cut(&v.reason), "issues": issues,
                })
            }
            Submission::Quality(score) => json!({
                "outcome": "scored", "overall_score": score.overall_score,
                "issues": all(&score.issues), "suggestions": all(&score.suggestions),
            }),
            Submission::Intervention(decision) => json!({
                "outcome": decision.intervention.as_str(), "reason": cut(&decision.reason),
            }),
            Submission::Assembly(assembly) => json!({
                "outcome": "assembled",
                "assignments": assembly.assignments.iter().map(|one| json!({
                    "task": one.task, "roles": one.roles, "reason": cut(&one.reason),
                })).collect::<Vec<_>>(),
            }),
            Submission::Text(t) => json!({ "outcome": "written", "text": cut(&t.message) }),
            Submission::InterfaceChange(asked) => json!({
                "outcome": "asked", "interface": asked.interface_change.interface,
                "reason": cut(&asked.interface_change.reason),
            }),
            Submission::Blocked(b) => json!({ "outcome": "blocked", "reason": cut(&b.blocked) }),
            Submission::Plan(p) => json!({
                "outcome": "planned", "summary": cut(&p.plan.description),
                "tasks": p.plan.tasks.iter().map(|t| cut(t.headline())).collect::<Vec<_>>(),
            }),
        })
    }

    fn gate_details(&self, passed: bool, results: &[CheckResult]) -> EntryDetails {
        let failed = results.iter().filter(|r| !r.passed);
        let failed: Vec<&str> = failed.map(|r| r.name.as_str()).collect();
        let mut told = json!({
            "outcome": if passed { "approved" } else { "rejected" },
            "approved": passed, "issues": failed,
        });
        if self.in_full {
            let check = |r: &CheckResult| json!({ "name": r.name, "passed": r.passed, "summary": self.truncate(&r.summary) });
            told["checks"] = results.iter().map(check).collect();
        }
        EntryDetails(told)
    }

    fn truncate(&self, text: &str) -> String {
        let most = if self.in_full { FULL } else { BRIEF };
        match text.char_indices().nth(most) {
            Some((at, _)) => format!("{} …", &text[..at]),
            None => text.to_owned(),
        }
    }
}

/// The fields of a history entry.
struct EntryDetails(Value);

impl EntryDetails {
    fn with_files(mut self, name: &str, files: &[String]) -> Self {
        if !files.is_empty() {
            self.0[name] = json!(files);
        }
        self
    }
}

fn new_entry(role: &str, kind: &str, iteration: u32, told: EntryDetails) -> HistoryEntry {
    let mut fields = JsonObject::new();
    fields.insert("role".to_owned(), json!(role));
    fields.insert("type".to_owned(), json!(kind));
    fields.insert("iteration".to_owned(), json!(iteration));
    if let Value::Object(told) = told.0 {
        let said = told.into_iter().filter(|(_, value)| match value {
            Value::String(text) => !text.is_empty(),
            Value::Array(items) => !items.is_empty(),
            _ => true,
        });
        fields.extend(said);
    }
    HistoryEntry {
        role: role.to_owned(),
        iteration,
        fields,
    }
}
