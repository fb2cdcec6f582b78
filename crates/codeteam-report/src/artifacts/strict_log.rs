//! Writes the files of runs whose roles use the contract `strict`: a log of the messages between
//! the roles, and the plan as it was given.
//!
//! Both are derived from events. The log is append-only: what a crash leaves behind is always a
//! prefix of the complete log.

use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};

use codeteam_core::ids::{AttemptId, EpochMillis, StepId};
use codeteam_core::plan::Plan;
use codeteam_core::role::{Contract, Role, RoleKind};
use codeteam_core::submission::{Submission, VerdictChoice, strict};
use codeteam_core::untrusted_text::escape_json;
use codeteam_core::workflow::StepKind;
use codeteam_core::{Event, Run};
use serde_json::{Value, json};

use super::{Error, create_folder, io_error, run_folder, write_atomically};
use crate::records::ProjectRecords;
use codeteam_host::repo_files;

/// The folder that runs write to, in a project laid out for strict runs.
pub const STRICT_RUNS: &str = "runs";

/// The participant that the log names for everything no role did.
const ORCHESTRATOR: &str = "orchestrator";

/// Returns true if a run writes these files.
pub(super) fn has_strict_log(run: &Run) -> bool {
    run.roles.values().any(is_strict_role)
}

/// Returns the path of a run's log, if it has one.
pub fn log_path(records: ProjectRecords<'_>, run: &Run) -> Option<PathBuf> {
    has_strict_log(run).then(|| log_folder(records, run).join(log_file_name(run)))
}

/// Appends the log lines of new events.
pub(super) fn append_events(
    records: ProjectRecords<'_>,
    run: &Run,
    at: EpochMillis,
    events: &[Event],
) -> Result<(), Error> {
    if !has_strict_log(run) {
        return Ok(());
    }
    let lines: String = events
        .iter()
        .filter_map(|event| log_line(run, at, event))
        .collect();
    if !lines.is_empty() {
        let path = prepare_log(records, run)?;
        append(&path, &lines)?;
    }
    for plan in events.iter().filter_map(|event| given_plan(run, event)) {
        write_plan_copy(records, run, &plan)?;
    }
    Ok(())
}

/// Brings the files up to date with the events of the log.
pub(super) fn restore_log(records: ProjectRecords<'_>, run: &Run) -> Result<(), Error> {
    if !has_strict_log(run) {
        return Ok(());
    }
    let (mut lines, mut plan) = (String::new(), None);
    let read = records.each_event(&run.id, 0, |_, at, event| {
        lines.extend(log_line(run, at, &event));
        plan = plan.take().or_else(|| given_plan(run, &event));
    });
    if read.is_err() {
        return Ok(());
    }
    if let Some(plan) = plan {
        write_plan_copy(records, run, &plan)?;
    }
    let path = prepare_log(records, run)?;
    let there = match fs::read(&path) {
        Ok(there) => there,
        Err(error) if error.kind() == ErrorKind::NotFound => Vec::new(),
        Err(error) => return Err(io_error("read", &path)(error)),
    };
    match lines.as_bytes().strip_prefix(there.as_slice()) {
        Some([]) => Ok(()),
        Some(rest) => append(&path, &String::from_utf8_lossy(rest)),
        // Somebody else changed the file: the events are the truth.
        None => write_atomically(&path, lines.as_bytes()),
    }
}

/// Returns the folder of the log: the project's own folder for strict runs, or else the folder with
/// the run's other files.
fn log_folder(records: ProjectRecords<'_>, run: &Run) -> PathBuf {
    if records.has_strict_layout {
        records.repo.top_level().join(STRICT_RUNS)
    } else {
        run_folder(records, run)
    }
}

/// Returns `2025-10-02T110000.123Z.log.jsonl`, named after the time the run began.
fn log_file_name(run: &Run) -> String {
    let millis = i64::try_from(run.started.0).unwrap_or(0);
    let stamp = jiff::Timestamp::from_millisecond(millis).unwrap_or_default();
    format!("{}.log.jsonl", stamp.strftime("%Y-%m-%dT%H%M%S.%3fZ"))
}

/// Creates the log's folder, makes git ignore it, and returns the log's path.
fn prepare_log(records: ProjectRecords<'_>, run: &Run) -> Result<PathBuf, Error> {
    let folder = log_folder(records, run);
    let path = folder.join(log_file_name(run));
    check_own_path(records, &path)?;
    create_folder(Some(&folder))?;
    let ignore = folder.join(".gitignore");
    if records.has_strict_layout && ignore.symlink_metadata().is_err() {
        write_atomically(&ignore, b"*\n")?;
    }
    Ok(path)
}

/// Checks that no link lies on a path that codeteam writes: whoever made the repository may have
/// put one there.
fn check_own_path(records: ProjectRecords<'_>, path: &Path) -> Result<(), Error> {
    let top = records.repo.top_level();
    repo_files::ensure_no_links(top, path)
        .map_err(|(path, source)| io_error("write", &path)(source))
}

fn append(path: &Path, lines: &str) -> Result<(), Error> {
    let file = OpenOptions::new().create(true).append(true).open(path);
    let mut file = file.map_err(io_error("open", path))?;
    file.write_all(lines.as_bytes())
        .map_err(io_error("write", path))
}

/// Writes the plan as it was given, in a file named after the plan.
fn write_plan_copy(records: ProjectRecords<'_>, run: &Run, plan: &Plan) -> Result<(), Error> {
    let name = if codeteam_core::ids::is_valid_name(&plan.plan_id) {
        plan.plan_id.as_str()
    } else {
        "plan_0001"
    };
    let folder = prepare_log(records, run)?.with_file_name(format!("{name}.json"));
    check_own_path(records, &folder)?;
    let plan = strict::plan_for_worker(plan, role_root(run));
    let text = serde_json::to_string_pretty(&plan).unwrap_or_default();
    write_atomically(&folder, format!("{text}\n").as_bytes())
}

/// Returns the plan that an event brings, before anybody has changed it by hand.
fn given_plan(run: &Run, event: &Event) -> Option<Plan> {
    let plan = match event {
        Event::PlanProposed { plan } => Plan::clone(plan),
        Event::RunStarted(started) => started.plan.clone()?,
        _ => return None,
    };
    let plan_id = if plan.plan_id.is_empty() {
        run.plan_id.clone()
    } else {
        plan.plan_id.clone()
    };
    Some(Plan { plan_id, ..plan })
}

/// Returns the folder that paths are shown relative to.
fn role_root(run: &Run) -> Option<&str> {
    let mut roles = run.roles.values().filter(|role| is_strict_role(role));
    roles.find_map(|role| role.means.root.as_deref())
}

/// Formats an event as a line of the log, if the log records it.
fn log_line(run: &Run, at: EpochMillis, event: &Event) -> Option<String> {
    let (role, kind, data) = log_entry(run, event)?;
    let seconds = i64::try_from(at.0 / 1_000).unwrap_or(0);
    let ts = jiff::Timestamp::from_second(seconds).unwrap_or_default();
    let entry = json!({ "ts": ts.to_string(), "role": role, "type": kind, "data": data });
    Some(format!("{}\n", escape_json(entry.to_string())))
}

/// Returns the participant, the kind and the data of an event's log entry.
fn log_entry(run: &Run, event: &Event) -> Option<(&'static str, &'static str, Value)> {
    match event {
        Event::RunStarted(_) => {
            let plan = given_plan(run, event)?;
            let plan = strict::plan_for_worker(&plan, role_root(run));
            Some((ORCHESTRATOR, "plan", plan))
        }
        Event::PlanProposed { .. } => {
            let plan = given_plan(run, event)?;
            Some((
                "planner",
                "plan",
                strict::plan_for_worker(&plan, role_root(run)),
            ))
        }
        Event::PlanRevised { plan, .. } => Some((
            "person",
            "plan",
            strict::plan_for_worker(plan, role_root(run)),
        )),
        Event::SubmissionReceived {
            id,
            submission: Submission::Change(change),
            ..
        } => {
            let files = change.files.iter();
            let files: Vec<&str> = files
                .map(|file| strict::worker_path(role_root(run), file))
                .collect();
            let data = json!({ "task_id": id.frame.name(), "files": files });
            Some((participant(run, &id.step, id.slot), "patch", data))
        }
        Event::SubmissionReceived {
            id,
            submission: Submission::Verdict(verdict),
            ..
        } => {
            let passed = verdict.verdict == VerdictChoice::Approve;
            let data = json!({ "task_id": id.frame.name(), "passed": passed });
            Some((participant(run, &id.step, id.slot), "test_result", data))
        }
        // A tester's report is logged as such; only checks that nobody reports on are logged here.
        Event::GateJudged {
            id,
            step,
            passed: false,
            results,
            ..
        } if run.step(step).is_some_and(|step| step.on_fail.is_none()) => {
            let failed = results.iter().filter(|result| !result.passed);
            let failed: Vec<String> = failed.map(|r| format!("`{}`", r.name)).collect();
            let reason = format!("{} did not pass", failed.join(", "));
            Some((ORCHESTRATOR, "error", error(id, &reason)))
        }
        Event::AttemptFailed { id, facts, .. } => Some((
            participant(run, &id.step, id.slot),
            "error",
            error(id, &facts.message),
        )),
        _ => None,
    }
}

fn error(id: &AttemptId, reason: &str) -> Value {
    if id.frame.is_root() {
        json!({ "reason": reason })
    } else {
        json!({ "task_id": id.frame.name(), "reason": reason })
    }
}

/// Returns the log's name for the role that works at a step.
fn participant(run: &Run, step: &StepId, slot: u32) -> &'static str {
    let kind = run.step(step).and_then(|step| match &step.kind {
        StepKind::Role(role) => {
            let name = role.slots.get(usize::try_from(slot).ok()?)?;
            Some(run.roles.get(name)?.kind)
        }
        _ => None,
    });
    match kind {
        Some(RoleKind::Planner) => "planner",
        Some(RoleKind::Implementer) => "coder",
        Some(RoleKind::Gatekeeper) => "tester",
        Some(other) => other.as_str(),
        None => ORCHESTRATOR,
    }
}

/// Returns true if a role uses the contract `strict`.
pub fn is_strict_role(role: &Role) -> bool {
    role.contract == Contract::Strict
}
