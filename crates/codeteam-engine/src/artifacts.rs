//! The files people read: the plan and what is said of it, reports, the story of a run, its log and
//! its summary.
//!
//! They are written from events, each atomically, and never read back except to rebuild where a
//! plan stands when the log itself is gone (see [`crate::rebuild`]) and to notice that a person
//! changed a plan.

mod chronicle;
mod criteria;
mod feedback;
mod reports;
mod story;
mod strict;
mod summary;

pub use self::strict::log as strict_log;

use std::fs::{self, File, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use codeteam_core::event::FrameOutcome;
use codeteam_core::ids::{AttemptId, EpochMillis, FramePath, RunId, StepId};
use codeteam_core::quoted::escape_json;
use codeteam_core::role::RoleKind;
use codeteam_core::workflow::StepKind;
use codeteam_core::{Event, Run, plan};

use self::chronicle::PendingArtifacts;
pub(crate) use self::reports::owner;
pub use self::reports::path as report_path;
use crate::engine::Engine;
use crate::git::Repo;
use crate::inside;

/// No plan, and no other file that is written here, is longer if it is to be read again.
pub(crate) const PLAN_BYTES: u64 = 4 << 20;

/// Why a file could not be written.
#[derive(Debug, thiserror::Error)]
#[error("could not {doing} `{}`", path.display())]
pub struct Error {
    doing: &'static str,
    path: PathBuf,
    source: std::io::Error,
}

/// The files of one run.
#[derive(Default)]
pub struct ArtifactWriter {
    log: Option<File>,
    /// The plan's file as it was last written, to tell a person's changes from our own.
    plan: Option<String>,
    chronicle: PendingArtifacts,
}

impl ArtifactWriter {
    /// Takes the files of a run up again: they are brought to where the events are.
    pub fn reopen(engine: &Engine, run: &Run) -> Result<Self, Error> {
        let mut lines = String::new();
        let mut artifacts = Self::default();
        let mut state = Run::default();
        let mut told = Ok(());
        let read = engine.each_event(&run.id, 0, |seq, at, event| {
            lines.push_str(&log_line(seq, at, &event));
            artifacts.before(&state, &event);
            codeteam_core::apply(&mut state, &event);
            artifacts.after(&state, &event);
            if told.is_ok() {
                told = story::write(engine, &state, std::slice::from_ref(&event));
            }
        });
        told?;
        if read.is_ok() {
            replace(&folder(engine, run).join("log.jsonl"), lines.as_bytes())?;
            artifacts.chronicle.write(engine, run)?;
        }
        strict::reopen(engine, run)?;
        if let Some(path) = plan_folder(engine, run).map(|f| f.join("plan.yml"))
            && !plan_was_edited(engine, run)
        {
            artifacts.plan = self::read(engine, &path).ok().flatten();
            artifacts.write_plan(engine, run)?;
        }
        if run.is_terminal() {
            summary::write(engine, run)?;
        }
        Ok(artifacts)
    }

    /// Takes note of an event that is about to be applied to a run.
    pub fn before(&mut self, run: &Run, event: &Event) {
        self.chronicle.before(run, event);
    }

    /// Takes note of an event that was just applied to a run.
    pub fn after(&mut self, run: &Run, event: &Event) {
        self.chronicle.after(run, event);
    }

    /// Brings the files up to date with events that are durable already, and noted.
    pub fn write(
        &mut self,
        engine: &Engine,
        run: &Run,
        at: EpochMillis,
        events: &[Event],
    ) -> Result<(), Error> {
        self.append_log(engine, run, at, events)?;
        story::write(engine, run, events)?;
        self.chronicle.write(engine, run)?;
        strict::write(engine, run, at, events)?;
        if is_audited(run) {
            write_audit(engine, run, events)?;
        }
        let plan_changed = events.iter().any(touches_plan);
        if plan_changed {
            self.write_plan(engine, run)?;
        }
        if events
            .iter()
            .any(|event| matches!(event, Event::RunEnded { .. }))
        {
            summary::write(engine, run)?;
        }
        Ok(())
    }

    /// Writes the plan's file, unless a person has changed it: that is never overwritten, and is
    /// read when the run is resumed.
    fn write_plan(&mut self, engine: &Engine, run: &Run) -> Result<(), Error> {
        let (Some(folder), Some(known)) = (plan_folder(engine, run), &run.plan) else {
            return Ok(());
        };
        let path = folder.join("plan.yml");
        // What cannot be read is a person's, whatever it is.
        let Ok(found) = read(engine, &path) else {
            return Ok(());
        };
        let loaded = found
            .as_ref()
            .map(|text| plan::from_yaml("plan.yml", text, run.max_tasks));
        let ours = match (&found, &loaded) {
            (None, _) => true,
            (Some(text), _) if self.plan.as_ref() == Some(text) => true,
            (_, Some(Ok(loaded))) => loaded.plan == **known,
            _ => false,
        };
        if !ours {
            return Ok(());
        }
        let loaded = loaded.and_then(Result::ok);
        // What was accepted once, by hand too, stays so.
        let accepted =
            is_accepted(run) || loaded.as_ref().is_some_and(|l| l.accepted == Some(true));
        let mut runs = loaded.map(|l| l.runs).unwrap_or_default();
        if !runs.contains(&run.id.0) {
            runs.push(run.id.0.clone());
        }
        let status = |task: &_| run.task_status(task);
        let text = plan::to_yaml(known, Some(accepted), &runs, status);
        replace(&path, text.as_bytes())?;
        self.plan = Some(text);
        self.chronicle.write_criteria(engine, &folder, known)
    }

    fn append_log(
        &mut self,
        engine: &Engine,
        run: &Run,
        at: EpochMillis,
        events: &[Event],
    ) -> Result<(), Error> {
        let path = folder(engine, run).join("log.jsonl");
        if self.log.is_none() {
            make(path.parent())?;
            let file = OpenOptions::new().create(true).append(true).open(&path);
            self.log = Some(file.map_err(io("open", &path))?);
        }
        let first = run.seq - events.len() as u64 + 1;
        let mut lines = String::new();
        for (seq, event) in (first..).zip(events) {
            lines.push_str(&log_line(seq, at, event));
        }
        match &mut self.log {
            Some(file) => file.write_all(lines.as_bytes()).map_err(io("write", &path)),
            None => Ok(()),
        }
    }
}

/// Whether an event may change what a plan's file says.
fn touches_plan(event: &Event) -> bool {
    match event {
        Event::RunStarted(_)
        | Event::PlanProposed { .. }
        | Event::PlanRevised { .. }
        | Event::FrameOpened { .. }
        | Event::FrameResumed { .. }
        | Event::FrameEnded { .. }
        | Event::TaskChanged { .. } => true,
        Event::StepEntered { frame, .. } => frame.is_root(),
        _ => false,
    }
}

/// Whether an attempt is an analyst's: what it asks is what is to be built.
fn is_analyst(run: &Run, id: &AttemptId) -> bool {
    let role = match run.step(&id.step).map(|step| &step.kind) {
        Some(StepKind::Role(step)) => step.slots.get(id.slot as usize),
        _ => None,
    };
    let role = role.and_then(|name| run.roles.get(name));
    role.is_some_and(|role| role.kind == RoleKind::Analyst)
}

/// The folder of a run's files.
pub fn folder(engine: &Engine, run: &Run) -> PathBuf {
    engine.runs_folder().join(run.id.as_str())
}

/// Whether the workflow wants what workers are told and say as files.
pub fn is_audited(run: &Run) -> bool {
    run.workflow
        .settings
        .get("audit_trail")
        .copied()
        .unwrap_or(false)
}

/// Keeps something of one attempt for those who want to see all of it.
pub fn audit(
    engine: &Engine,
    run: &RunId,
    id: &AttemptId,
    what: &str,
    bytes: &[u8],
) -> Result<(), Error> {
    let name = format!("{}.{}", id.to_string().replace(['/', ':', '#'], "-"), what);
    let folder = engine.runs_folder().join(run.as_str()).join("audit");
    replace(&folder.join(name), bytes)
}

fn write_audit(engine: &Engine, run: &Run, events: &[Event]) -> Result<(), Error> {
    for event in events {
        let (Event::SubmissionReceived { id, transcript, .. }
        | Event::AttemptFailed { id, transcript, .. }) = event
        else {
            continue;
        };
        let said = transcript
            .as_ref()
            .map(|body| engine.bodies.get(body.as_str()));
        if let Some(Ok(said)) = said {
            audit(engine, &run.id, id, "transcript.jsonl", &said)?;
        }
    }
    Ok(())
}

/// The folder of a run's plan: by the plan's own id, or else by the run's.
pub fn plan_folder(engine: &Engine, run: &Run) -> Option<PathBuf> {
    let plan = run.plan.as_ref()?;
    let own = codeteam_core::ids::is_plain(&plan.plan_id);
    let name = if own {
        plan.plan_id.as_str()
    } else {
        run.id.as_str()
    };
    Some(engine.folder.join("planning").join(name))
}

/// Whether a run's plan is more than a draft: it was given, or the run goes through its tasks, or it
/// was made for that and has come to its end.
pub fn is_accepted(run: &Run) -> bool {
    let is_each = |step: &StepId| {
        let kind = run.step(step).map(|step| &step.kind);
        matches!(kind, Some(StepKind::Each { .. }))
    };
    let root = run.frames.get(&FramePath::root());
    let reached = root.is_some_and(|root| root.visits.keys().any(is_each));
    let worked = root.is_some_and(|root| root.change.is_some() || !root.commits.is_empty());
    let completed = run.outcome == Some(FrameOutcome::Completed);
    run.plan_given || reached || worked || completed
}

/// Whether the plan's file is there and says something else than the run: a person's doing.
pub fn plan_was_edited(engine: &Engine, run: &Run) -> bool {
    let (Some(folder), Some(known)) = (plan_folder(engine, run), &run.plan) else {
        return false;
    };
    let path = folder.join("plan.yml");
    let text = match read(engine, &path) {
        Ok(Some(text)) => text,
        Ok(None) => return false,
        // As below.
        Err(_) => return true,
    };
    match plan::from_yaml(&path.display().to_string(), &text, run.max_tasks) {
        // A run's plan has no secrets in it; a person's file may have.
        Ok(loaded) => loaded.plan != **known && engine.filtered_plan(loaded.plan) != **known,
        // A file that cannot be read is a person's work in progress.
        Err(_) => true,
    }
}

fn log_line(seq: u64, at: EpochMillis, event: &Event) -> String {
    let mut value = serde_json::to_value(event).unwrap_or_default();
    if let Some(fields) = value.as_object_mut() {
        let mut line = serde_json::Map::new();
        line.insert("seq".to_owned(), seq.into());
        line.insert("ts".to_owned(), timestamp(at).into());
        line.append(fields);
        value = serde_json::Value::Object(line);
    }
    format!("{}\n", escape_json(value.to_string()))
}

/// A moment in time, as logs carry it.
pub fn timestamp(at: EpochMillis) -> String {
    let millis = i64::try_from(at.0).unwrap_or(0);
    jiff::Timestamp::from_millisecond(millis)
        .map(|t| t.to_string())
        .unwrap_or_default()
}

/// What a plan's file says, if there is one. One that lies elsewhere than in codeteam's folder was
/// named by the user, and may be a link.
pub(crate) fn read_plan(repo: &Repo, path: &Path) -> std::io::Result<Option<String>> {
    let top = repo.top_level();
    let root = path.starts_with(top.join(".codeteam")).then_some(top);
    inside::read(path, root, PLAN_BYTES)
}

/// What a file of codeteam's own folder says, if there is one: the repository may have brought it
/// along, as a link to elsewhere or without an end.
fn read(engine: &Engine, path: &Path) -> std::io::Result<Option<String>> {
    inside::read(path, Some(engine.repo.top_level()), PLAN_BYTES)
}

/// Writes a file so that it is there whole or not at all.
pub(crate) fn replace(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    make(path.parent())?;
    let name = path
        .file_name()
        .map(|n| n.to_string_lossy().into_owned())
        .unwrap_or_default();
    // Two runs may share a plan; each writes a file of its own first.
    let temporary = path.with_file_name(format!(".{name}.{}.new", std::process::id()));
    // One that is there is left over, or somebody's link to elsewhere: nothing is written through it.
    let _ = fs::remove_file(&temporary);
    let opened = OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(&temporary);
    opened
        .and_then(|mut file| file.write_all(bytes))
        .map_err(io("write", &temporary))?;
    fs::rename(&temporary, path).map_err(io("put in place", path))
}

fn make(folder: Option<&Path>) -> Result<(), Error> {
    let Some(folder) = folder else { return Ok(()) };
    fs::create_dir_all(folder).map_err(io("make the folder", folder))
}

fn io(doing: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> Error {
    let path = path.to_owned();
    move |source| Error {
        doing,
        path,
        source,
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::git::fixture::GitFixture;

    #[test]
    fn a_plan_that_came_with_the_repository_is_read_within_it_and_within_bounds() {
        let fixture = GitFixture::new();
        let (repo, _) = fixture.open();
        let own = repo.top_level().join(".codeteam/planning/a");
        fs::create_dir_all(&own).unwrap();
        fs::write(fixture.path().join("theirs.yml"), "plan_id: a\n").unwrap();
        let path = own.join("plan.yml");
        assert_eq!(read_plan(&repo, &path).unwrap(), None);
        for elsewhere in [fixture.path().join("theirs.yml"), "/dev/zero".into()] {
            symlink(elsewhere, &path).unwrap();
            let error = read_plan(&repo, &path).unwrap_err().to_string();
            assert!(error.contains("leads out"), "{error}");
            fs::remove_file(&path).unwrap();
        }
        let bytes = usize::try_from(PLAN_BYTES).unwrap() + 1;
        fs::write(&path, vec![b'#'; bytes]).unwrap();
        let error = read_plan(&repo, &path).unwrap_err().to_string();
        assert!(error.contains("longer than"), "{error}");
        // What the user names may lie anywhere.
        let named = repo.top_level().join("mine.yml");
        symlink(fixture.path().join("theirs.yml"), &named).unwrap();
        assert!(read_plan(&repo, &named).unwrap().is_some());
    }
}
