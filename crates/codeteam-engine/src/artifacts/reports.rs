//! Reports as files: one a frame with everything, one a verifier, in the run's own folder and in
//! `.codeteam/reports`, where the newest run has its say.

use std::path::{Path, PathBuf};

use codeteam_core::Run;
use codeteam_core::frame::{Frame, FrameItem};
use codeteam_core::ids::RoleName;
use codeteam_core::role::RoleKind;

use super::{Error, folder, read, replace};
use crate::engine::Engine;
use crate::report::{self, ReportSubject, short};

/// How a file says which run it is of.
const OWNER: &str = "- **Run:** `";

/// Writes the reports of a frame, as far as it was judged.
pub(super) fn write(engine: &Engine, run: &Run, frame: &Frame) -> Result<(), Error> {
    let Some(report) = report::full(engine, run, frame) else {
        return Ok(());
    };
    if matches!(report.subject, ReportSubject::Plan(_)) {
        // `FEEDBACK.md` says it.
        return Ok(());
    }
    for verifier in &report.verifiers {
        if verifier.ballots.is_empty() {
            continue;
        }
        let name = name_of(run, frame, &verifier.role);
        put(engine, run, &name, &report.markdown_of(verifier))?;
    }
    put(engine, run, &aggregate(run, frame), &report.markdown())
}

fn put(engine: &Engine, run: &Run, name: &str, text: &str) -> Result<(), Error> {
    let own = folder(engine, run).join("reports").join(name);
    let shared = engine.folder.join("reports").join(name);
    publish(engine, run, &own, &shared, text)
}

/// Writes a file of the run, and the one that all runs share if it is this one's to write.
pub(super) fn publish(
    engine: &Engine,
    run: &Run,
    own: &Path,
    shared: &Path,
    text: &str,
) -> Result<(), Error> {
    update(engine, own, text)?;
    if is_ours(engine, run, shared) {
        update(engine, shared, text)?;
    }
    Ok(())
}

/// Writes a file unless it says that already. Names of files are recorded as they are, and may have a
/// secret in them; what people read has none.
pub(super) fn update(engine: &Engine, path: &Path, text: &str) -> Result<(), Error> {
    let text = &*engine.redactor.redact(text).text;
    let same = read(engine, path).is_ok_and(|found| found.as_deref() == Some(text));
    if same {
        return Ok(());
    }
    replace(path, text.as_bytes())
}

/// Whether a file that runs share may be written by this one: it is not there, or its own, or of an
/// older run, or of one that has ended. What codeteam did not write is left.
fn is_ours(engine: &Engine, run: &Run, path: &Path) -> bool {
    let text = match read(engine, path) {
        Ok(Some(text)) => text,
        Ok(None) => return true,
        Err(_) => return false,
    };
    let Some(owner) = owner(&text) else {
        return false;
    };
    if owner <= run.id.as_str() {
        return true;
    }
    let known = engine.store.run(owner).ok().flatten();
    let over =
        known.is_none_or(|row| matches!(row.status.as_str(), "completed" | "failed" | "aborted"));
    over && !run.is_terminal()
}

/// The run that a file says it is of.
pub(crate) fn owner(text: &str) -> Option<&str> {
    let line = text.lines().find_map(|line| line.strip_prefix(OWNER))?;
    line.strip_suffix('`')
}

/// Where the whole report of a frame is, for people: the file that all runs share, if it is this
/// run's.
pub fn path(engine: &Engine, run: &Run, frame: &Frame) -> PathBuf {
    let name = aggregate(run, frame);
    let shared = engine.folder.join("reports").join(&name);
    let text = read(engine, &shared).ok().flatten().unwrap_or_default();
    if owner(&text) == Some(run.id.as_str()) {
        shared
    } else {
        folder(engine, run).join("reports").join(name)
    }
}

/// `task-002.md`; the run's and the plan's own reports are named for the run and the plan.
fn aggregate(run: &Run, frame: &Frame) -> String {
    format!("{}.md", stem(run, frame))
}

fn stem<'a>(run: &'a Run, frame: &'a Frame) -> &'a str {
    match &frame.item {
        FrameItem::Run => run.id.as_str(),
        FrameItem::Phase(_) | FrameItem::Task(_) => frame.path.name(),
    }
}

/// `task-002-architecture.md`. Where another file could have that name, the parts are told apart by
/// what no id has in it.
fn name_of(run: &Run, frame: &Frame, role: &RoleName) -> String {
    let gatekeepers = || {
        let roles = run.roles.values();
        roles
            .filter(|r| r.kind == RoleKind::Gatekeeper)
            .map(|r| &r.name)
    };
    let alike = gatekeepers().filter(|r| short(r) == short(role)).count() > 1;
    let verifier = if alike {
        role.as_str().replace('/', "@")
    } else {
        short(role).to_owned()
    };
    let stem = stem(run, frame);
    let name = format!("{stem}-{verifier}");
    let tasks = run.plan.iter().flat_map(|plan| &plan.tasks);
    let phases = run.plan.iter().flat_map(|plan| &plan.phases);
    let mut ids = tasks
        .map(|t| t.id.as_str())
        .chain(phases.map(|p| p.id.as_str()));
    let taken = ids.any(|id| {
        let rest = name.strip_prefix(id).filter(|_| id != stem);
        rest.is_some_and(|rest| {
            let other = rest.strip_prefix('-');
            rest.is_empty() || other.is_some_and(|o| gatekeepers().any(|r| short(r) == o))
        })
    });
    let between = if taken { "@" } else { "-" };
    format!("{stem}{between}{verifier}.md")
}

/// Writes `CODER_LOG.md`: what was done in a frame and what came of it, as the next worker reads it.
pub(super) fn write_log(engine: &Engine, run: &Run, frame: &Frame) -> Result<(), Error> {
    // A verdict on a plan is no coder's matter.
    if frame.log.is_empty() || frame.outputs.change.is_none() {
        return Ok(());
    }
    let folder = frame_folder(engine, run, frame.path.name(), frame.path.is_root());
    let text = format!("# Coder Log: {}\n\n{}", frame.path.name(), frame.log.text());
    update(engine, &folder.join("CODER_LOG.md"), &text)
}

/// The folder of a frame's own files in a run's: the run's folder itself, or one by the task's name.
/// What codeteam writes there itself keeps its name.
pub(super) fn frame_folder(engine: &Engine, run: &Run, name: &str, is_root: bool) -> PathBuf {
    let folder = folder(engine, run);
    if is_root {
        return folder;
    }
    let kept = ["iterations", "audit", "reports"].contains(&name)
        || Path::new(name)
            .extension()
            .is_some_and(|e| e == "md" || e == "jsonl");
    if kept {
        folder.join(format!("@{name}"))
    } else {
        folder.join(name)
    }
}
