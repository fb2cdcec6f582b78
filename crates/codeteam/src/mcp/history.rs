//! What has happened in a task so far, in the order it did: read from the run's events, and brought
//! up to date by the newest of them.

use std::collections::BTreeMap;

use codeteam_core::event::CheckResult;
use codeteam_core::frame::{Frame, SlotWork};
use codeteam_core::ids::{AttemptId, FramePath, RunId};
use codeteam_core::submission::{Submission, VerdictChoice, means};
use codeteam_core::{Event, Run, apply};
use codeteam_engine::engine::{Engine, Error};
use rmcp::model::JsonObject;
use serde_json::{Value, json};

use super::evidence::FileClaims;

/// As much of a text as is told where everything is told briefly.
const BRIEF: usize = 300;
/// As much of a text as is told anywhere; the files of the run have all of it.
const FULL: usize = 20_000;
/// So many bytes of entries are told at once, the newest first.
const MAX_BYTES: usize = 400_000;

/// How the name of who answered begins, if a session has passed the user's answer on; what follows is the
/// session's client.
pub(super) const USER_THROUGH: &str = "the user, through ";

/// What has happened.
#[derive(Default)]
pub(super) struct TaskHistory {
    /// The run as its events say.
    pub(super) run: Run,
    /// What happened, the oldest first.
    entries: Vec<HistoryEntry>,
    /// Files of the checkout that were no longer what is judged, when that was last looked at.
    edited: Vec<String>,
    /// What was clear when questions were asked last.
    partial: Option<String>,
    /// What was said of files, by frame.
    claims: BTreeMap<FramePath, FileClaims>,
    /// Why the last thing that was handed in was not taken, if it was not.
    failed: Option<String>,
    in_full: bool,
}

struct HistoryEntry {
    role: String,
    iteration: u32,
    fields: JsonObject,
}

impl TaskHistory {
    /// One that tells everything in full.
    pub(super) fn in_full() -> Self {
        Self {
            in_full: true,
            ..Self::default()
        }
    }

    /// Reads what is new.
    pub(super) fn catch_up(&mut self, engine: &Engine, run: &RunId) -> Result<(), Error> {
        engine.each_event(run, self.run.seq, |_, _, event| self.take(&event))
    }

    /// The files that were edited since the change was submitted.
    pub(super) fn edited(&self) -> &[String] {
        &self.edited
    }

    /// Why the last thing that was handed in was not taken, if it was not.
    pub(super) fn failed(&self) -> Option<&str> {
        self.failed.as_deref()
    }

    /// What was clear when questions were asked last.
    pub(super) fn partial(&self) -> Option<&str> {
        self.partial.as_deref()
    }

    /// What was said of files in a frame so far.
    pub(super) fn claims(&self, frame: &FramePath) -> FileClaims {
        self.claims.get(frame).cloned().unwrap_or_default()
    }

    /// What is said where nothing that happened is what was asked for.
    pub(super) fn none_found(&self) -> String {
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

    /// What happened, the oldest first; only of a role (or a kind of roles) or an iteration, if one is
    /// named. The second says how many of the oldest had to be left out.
    pub(super) fn told(&self, role: Option<&str>, iteration: Option<u32>) -> (Vec<Value>, usize) {
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

    fn take(&mut self, event: &Event) {
        let entry = self.entry(event);
        apply(&mut self.run, event);
        self.entries.extend(entry);
    }

    fn entry(&mut self, event: &Event) -> Option<HistoryEntry> {
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
                    // What was said of a file that had not changed says nothing of it later.
                    let is_so = |called: &&String| files.iter().any(|path| means(called, path));
                    claims
                        .named
                        .extend(said.files.iter().filter(is_so).cloned());
                    claims.changed.extend(files);
                }
                self.failed = None;
                let told = self.submitted(submission, *vote);
                let told = told.chain_files("edited_since", edited);
                self.of_attempt(id, told)
            }
            Event::AttemptFailed { id, facts, .. } => {
                self.failed = Some(facts.message.clone());
                let told = json!({ "outcome": "refused", "reason": self.cut(&facts.message) });
                self.of_attempt(id, EntryDetails(told))
            }
            Event::GateJudged {
                id,
                step,
                passed,
                results,
                ..
            } => {
                let frame = self.run.frames.get(&id.frame)?;
                let told = self.judged(*passed, results);
                Some(entry(step.as_str(), "gate", frame.round, told))
            }
            Event::Answered {
                frame,
                answer,
                by,
                note,
                ..
            } => {
                let frame = self.run.frames.get(frame)?;
                let mut told = json!({ "outcome": "answered", "answer": self.cut(answer), "reason": self.cut(note) });
                let role = match by.strip_prefix(USER_THROUGH) {
                    Some(client) => {
                        told["through"] = json!(client);
                        "user"
                    }
                    None => by.as_str(),
                };
                Some(entry(role, "person", frame.round, EntryDetails(told)))
            }
            Event::Accepted {
                frame, by, note, ..
            } => {
                let frame = self.run.frames.get(frame)?;
                let told = json!({ "outcome": "accepted", "reason": self.cut(note) });
                Some(entry(by, "person", frame.round, EntryDetails(told)))
            }
            Event::WorkersReassigned { hands, by, .. } => {
                let outcome = format!("handed to {}", hands.as_str());
                Some(entry(
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
                let frame = self.run.frames.get(&id.frame)?;
                let told = json!({ "outcome": "committed", "summary": self.cut(message), "commit": commit });
                Some(entry("codeteam", "commit", frame.round, EntryDetails(told)))
            }
            _ => None,
        }
    }

    /// What became of an attempt, if a role made it.
    fn of_attempt(&self, id: &AttemptId, told: EntryDetails) -> Option<HistoryEntry> {
        let frame = self.run.frames.get(&id.frame)?;
        let name = role_of(frame, id)?;
        let kind = self
            .run
            .roles
            .get(&name.into())
            .map_or("", |r| r.kind.as_str());
        Some(entry(name, kind, frame.round, told))
    }

    /// An answer in the words of the contract that sessions have.
    fn submitted(&self, submission: &Submission, vote: Option<bool>) -> EntryDetails {
        let cut = |text: &str| self.cut(text);
        let all = |texts: &[String]| -> Vec<String> { texts.iter().map(|t| self.cut(t)).collect() };
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
            Submission::Text(t) => json!({ "outcome": "written", "text": cut(&t.message) }),
            Submission::Blocked(b) => json!({ "outcome": "blocked", "reason": cut(&b.blocked) }),
            Submission::Plan(p) => json!({
                "outcome": "planned", "summary": cut(&p.plan.description),
                "tasks": p.plan.tasks.iter().map(|t| cut(t.headline())).collect::<Vec<_>>(),
            }),
        })
    }

    fn judged(&self, passed: bool, results: &[CheckResult]) -> EntryDetails {
        let failed = results.iter().filter(|r| !r.passed);
        let failed: Vec<&str> = failed.map(|r| r.name.as_str()).collect();
        let mut told = json!({
            "outcome": if passed { "approved" } else { "rejected" },
            "approved": passed, "issues": failed,
        });
        if self.in_full {
            let check = |r: &CheckResult| json!({ "name": r.name, "passed": r.passed, "summary": self.cut(&r.summary) });
            told["checks"] = results.iter().map(check).collect();
        }
        EntryDetails(told)
    }

    fn cut(&self, text: &str) -> String {
        let most = if self.in_full { FULL } else { BRIEF };
        match text.char_indices().nth(most) {
            Some((at, _)) => format!("{} …", &text[..at]),
            None => text.to_owned(),
        }
    }
}

/// What is told of something that happened.
struct EntryDetails(Value);

impl EntryDetails {
    fn chain_files(mut self, name: &str, files: &[String]) -> Self {
        if !files.is_empty() {
            self.0[name] = json!(files);
        }
        self
    }
}

fn entry(role: &str, kind: &str, iteration: u32, told: EntryDetails) -> HistoryEntry {
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

/// The role that makes an attempt.
pub(super) fn role_of<'a>(frame: &'a Frame, id: &AttemptId) -> Option<&'a str> {
    match &frame.slot(id)?.work {
        SlotWork::Role(name) => Some(name.as_str()),
        _ => None,
    }
}
