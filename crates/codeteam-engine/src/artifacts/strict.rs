//! What runs with roles of the contract `strict` leave behind: a log of what passed between them, and
//! the plan as it was given.
//!
//! Both are written from events. The log is only ever added to: what a crash has cut off is the
//! beginning of what belongs there.

use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};

use codeteam_core::ids::{AttemptId, EpochMillis, StepId};
use codeteam_core::plan::Plan;
use codeteam_core::quoted::escape_json;
use codeteam_core::role::RoleKind;
use codeteam_core::submission::{Submission, VerdictChoice, strict};
use codeteam_core::workflow::StepKind;
use codeteam_core::{Event, Run};
use serde_json::{Value, json};

use super::{Error, folder, io, make, replace};
use crate::engine::Engine;
use crate::{inside, layout};

/// Who did what nobody else did.
const ORCHESTRATOR: &str = "orchestrator";

/// Whether a run leaves such files.
pub(super) fn is_logged(run: &Run) -> bool {
    run.roles.values().any(layout::is_strict)
}

/// The log of a run, if it has one.
pub fn log(engine: &Engine, run: &Run) -> Option<PathBuf> {
    is_logged(run).then(|| place(engine, run).join(name(run)))
}

/// Adds what has happened.
pub(super) fn write(
    engine: &Engine,
    run: &Run,
    at: EpochMillis,
    events: &[Event],
) -> Result<(), Error> {
    if !is_logged(run) {
        return Ok(());
    }
    let lines: String = events
        .iter()
        .filter_map(|event| line(run, at, event))
        .collect();
    if !lines.is_empty() {
        let path = ready(engine, run)?;
        append(&path, &lines)?;
    }
    for plan in events.iter().filter_map(|event| given(run, event)) {
        snapshot(engine, run, &plan)?;
    }
    Ok(())
}

/// Brings the files to where the events are.
pub(super) fn reopen(engine: &Engine, run: &Run) -> Result<(), Error> {
    if !is_logged(run) {
        return Ok(());
    }
    let (mut lines, mut plan) = (String::new(), None);
    let read = engine.each_event(&run.id, 0, |_, at, event| {
        lines.extend(line(run, at, &event));
        plan = plan.take().or_else(|| given(run, &event));
    });
    if read.is_err() {
        return Ok(());
    }
    if let Some(plan) = plan {
        snapshot(engine, run, &plan)?;
    }
    let path = ready(engine, run)?;
    let there = match fs::read(&path) {
        Ok(there) => there,
        Err(error) if error.kind() == ErrorKind::NotFound => Vec::new(),
        Err(error) => return Err(io("read", &path)(error)),
    };
    match lines.as_bytes().strip_prefix(there.as_slice()) {
        Some([]) => Ok(()),
        Some(rest) => append(&path, &String::from_utf8_lossy(rest)),
        // Somebody else's doing: the events are the truth.
        None => replace(&path, lines.as_bytes()),
    }
}

/// Where they are: in the project's own folder for them, or with the run's other files.
fn place(engine: &Engine, run: &Run) -> PathBuf {
    if engine.config.layout.is_some() {
        engine.repo.top_level().join(layout::RUNS)
    } else {
        folder(engine, run)
    }
}

/// `2025-10-02T110000.123Z.log.jsonl`, by when the run began.
fn name(run: &Run) -> String {
    let millis = i64::try_from(run.started.0).unwrap_or(0);
    let stamp = jiff::Timestamp::from_millisecond(millis).unwrap_or_default();
    format!("{}.log.jsonl", stamp.strftime("%Y-%m-%dT%H%M%S.%3fZ"))
}

/// The log's path, in a folder that is there and that git does not look at.
fn ready(engine: &Engine, run: &Run) -> Result<PathBuf, Error> {
    let folder = place(engine, run);
    let path = folder.join(name(run));
    own(engine, &path)?;
    make(Some(&folder))?;
    let ignore = folder.join(".gitignore");
    if engine.config.layout.is_some() && ignore.symlink_metadata().is_err() {
        replace(&ignore, b"*\n")?;
    }
    Ok(path)
}

/// Whoever made the repository may have put links where codeteam writes.
fn own(engine: &Engine, path: &Path) -> Result<(), Error> {
    let top = engine.repo.top_level();
    inside::no_links(top, path).map_err(|(path, source)| io("write", &path)(source))
}

fn append(path: &Path, lines: &str) -> Result<(), Error> {
    let file = OpenOptions::new().create(true).append(true).open(path);
    let mut file = file.map_err(io("open", path))?;
    file.write_all(lines.as_bytes()).map_err(io("write", path))
}

/// The plan as it was given, under its own name.
fn snapshot(engine: &Engine, run: &Run, plan: &Plan) -> Result<(), Error> {
    let name = if codeteam_core::ids::is_plain(&plan.plan_id) {
        plan.plan_id.as_str()
    } else {
        "plan_0001"
    };
    let folder = ready(engine, run)?.with_file_name(format!("{name}.json"));
    own(engine, &folder)?;
    let plan = strict::plan_as_told(plan, root(run));
    let text = serde_json::to_string_pretty(&plan).unwrap_or_default();
    replace(&folder, format!("{text}\n").as_bytes())
}

/// The plan that an event brings, and that nobody has changed by hand.
fn given(run: &Run, event: &Event) -> Option<Plan> {
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

/// The folder that paths are told without.
fn root(run: &Run) -> Option<&str> {
    let mut roles = run.roles.values().filter(|role| layout::is_strict(role));
    roles.find_map(|role| role.means.root.as_deref())
}

/// What the log says of an event.
fn line(run: &Run, at: EpochMillis, event: &Event) -> Option<String> {
    let (role, kind, data) = entry(run, event)?;
    let seconds = i64::try_from(at.0 / 1_000).unwrap_or(0);
    let ts = jiff::Timestamp::from_second(seconds).unwrap_or_default();
    let entry = json!({ "ts": ts.to_string(), "role": role, "type": kind, "data": data });
    Some(format!("{}\n", escape_json(entry.to_string())))
}

/// Who did what.
fn entry(run: &Run, event: &Event) -> Option<(&'static str, &'static str, Value)> {
    match event {
        Event::RunStarted(_) => {
            let plan = given(run, event)?;
            let plan = strict::plan_as_told(&plan, root(run));
            Some((ORCHESTRATOR, "plan", plan))
        }
        Event::PlanProposed { .. } => {
            let plan = given(run, event)?;
            Some(("planner", "plan", strict::plan_as_told(&plan, root(run))))
        }
        Event::PlanRevised { plan, .. } => {
            Some(("person", "plan", strict::plan_as_told(plan, root(run))))
        }
        Event::SubmissionReceived {
            id,
            submission: Submission::Change(change),
            ..
        } => {
            let files = change.files.iter();
            let files: Vec<&str> = files.map(|file| strict::told(root(run), file)).collect();
            let data = json!({ "task_id": id.frame.name(), "files": files });
            Some((who(run, &id.step, id.slot), "patch", data))
        }
        Event::SubmissionReceived {
            id,
            submission: Submission::Verdict(verdict),
            ..
        } => {
            let passed = verdict.verdict == VerdictChoice::Approve;
            let data = json!({ "task_id": id.frame.name(), "passed": passed });
            Some((who(run, &id.step, id.slot), "test_result", data))
        }
        // What a tester reports is in the log by its report; nobody reports the rest.
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
            who(run, &id.step, id.slot),
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

/// What the log calls whoever is at work at a step.
fn who(run: &Run, step: &StepId, slot: u32) -> &'static str {
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
