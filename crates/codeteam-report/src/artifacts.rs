//! Writes the files that people read: the plan and the feedback on it, reports, the documents of a
//! run, its log and its summary.
//!
//! All of them are derived from events, and each is written atomically. They are read back in two
//! cases only: to rebuild the progress of a plan when the log itself is gone (see
//! [`crate::rebuild`]), and to notice that a person has edited a plan.

mod cost_file;
mod criteria;
mod documents;
mod feedback;
mod pending;
mod reports;
mod strict_log;
mod summary;
mod task_packs;
mod team_files;

pub use self::strict_log::log_path as strict_log;
pub use self::strict_log::{STRICT_RUNS, is_strict_role};
pub use self::team_files::has_team_files;

use std::fs::{self, File, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::Instant;

use codeteam_core::frame::FrameOutcome;
use codeteam_core::ids::{AttemptId, EpochMillis, FramePath, RunId, StepId};
use codeteam_core::role::RoleKind;
use codeteam_core::untrusted_text::escape_json;
use codeteam_core::workflow::StepKind;
use codeteam_core::{Event, Run};
use codeteam_workflow::plan_file;

use self::cost_file::CostFile;
use self::pending::PendingArtifacts;
pub(crate) use self::reports::report_path;
pub(crate) use self::reports::run_of_report;
pub use self::reports::shared_reports;
use self::task_packs::PackedTasks;
pub(crate) use self::task_packs::read_task_packs;
use self::team_files::TeamFiles;
use crate::records::ProjectRecords;
use crate::secret_filter::filter_plan;
use codeteam_host::git::Repo;
use codeteam_host::repo_files;

/// The size limit of a plan, and of every other file written here, when it is read back.
pub(crate) const PLAN_BYTES: u64 = 16 << 20;

/// A file could not be written.
#[derive(Debug, thiserror::Error)]
#[error("could not {doing} `{}`", path.display())]
pub struct Error {
    doing: &'static str,
    path: PathBuf,
    source: std::io::Error,
}

/// Writes the files of one run and keeps them in step with its events.
///
/// The default value has written nothing yet; [`reopen`](Self::reopen) replays the log of an
/// existing run and brings its files up to date. After that the order of calls is, for every batch
/// of events:
///
/// 1. Make the events durable in the log.
/// 2. For each event: [`observe_before`](Self::observe_before), then apply the event to the run,
///    then [`observe_after`](Self::observe_after). Some files describe state that the run drops
///    when the event is applied, a frame that ends for example.
/// 3. [`write`](Self::write), which brings the files up to date with the batch.
///
/// If the process dies between these steps, `reopen` restores the same files from the log. A
/// `plan.yml` or `ACCEPTANCE_CRITERIA.md` that a person has edited is never overwritten. Every file
/// is replaced atomically; only the logs are appended to.
#[derive(Default)]
pub struct ArtifactWriter {
    log: Option<File>,
    /// The plan file as last written, to tell a person's edits from our own.
    plan: Option<WrittenPlan>,
    /// Whether the plan file lacks something that has happened.
    plan_is_stale: bool,
    /// The earliest moment at which it is written again, if that takes long.
    next_plan: Option<Instant>,
    costs: CostFile,
    team: TeamFiles,
    chronicle: PendingArtifacts,
}

/// A plan file as this process has written it.
struct WrittenPlan {
    text: String,
    accepted: bool,
    runs: Vec<String>,
}

/// A plan with at most this many tasks is written at every change.
const SHORT_PLAN: usize = 200;

/// Writing the file of a longer plan takes at most one part in this many of a run's time: with ten
/// thousand tasks it is written every few seconds.
const PLAN_SHARE: u32 = 20;

impl ArtifactWriter {
    /// Reopens the files of a run and brings them up to date with its events.
    pub fn reopen(records: ProjectRecords<'_>, run: &Run) -> Result<Self, Error> {
        let mut lines = String::new();
        let mut artifacts = Self::default();
        let mut state = Run::default();
        let mut told = Ok(());
        let packed = PackedTasks::read(records, run);
        let read = records.each_event(&run.id, 0, |seq, at, event| {
            lines.push_str(&log_line(seq, at, &event));
            artifacts.observe_before(&state, &event);
            codeteam_core::apply(&mut state, &event);
            artifacts.observe_after(&state, &event);
            artifacts.team.note_time(at);
            if packed.covers(seq, &event) {
                artifacts.chronicle.forget(&event);
            } else if told.is_ok() {
                told = artifacts.write_documents(records, &state, std::slice::from_ref(&event));
            }
        });
        told?;
        artifacts.chronicle.files.skip_packs(&packed);
        if read.is_ok() {
            write_atomically(
                &run_folder(records, run).join("log.jsonl"),
                lines.as_bytes(),
            )?;
            artifacts.chronicle.write_pending(records, run)?;
            artifacts.write_totals(records, run)?;
        }
        strict_log::restore_log(records, run)?;
        if let Some(path) = plan_folder(records, run).map(|f| f.join("plan.yml"))
            && !plan_was_edited(records, run)
        {
            artifacts.plan = take_over_plan(records, &path, run);
            artifacts.write_plan(records, run)?;
        }
        if run.is_terminal() {
            summary::write_summary(records, run)?;
        }
        Ok(artifacts)
    }

    /// Records an event that is about to be applied to a run.
    pub fn observe_before(&mut self, run: &Run, event: &Event) {
        self.chronicle.observe_before(run, event);
    }

    /// Records an event that has just been applied to a run.
    pub fn observe_after(&mut self, run: &Run, event: &Event) {
        self.chronicle.observe_after(run, event);
        self.costs.observe(event);
        self.team.observe(run, event);
    }

    /// Brings the files up to date with events that are already durable and have been observed.
    pub fn write(
        &mut self,
        records: ProjectRecords<'_>,
        run: &Run,
        at: EpochMillis,
        events: &[Event],
    ) -> Result<(), Error> {
        self.append_log(records, run, at, events)?;
        self.write_documents(records, run, events)?;
        self.chronicle.write_pending(records, run)?;
        self.team.note_time(at);
        self.write_totals_if_due(records, run)?;
        strict_log::append_events(records, run, at, events)?;
        if is_audited(run) {
            write_audit(records, run, events)?;
        }
        self.plan_is_stale |= events.iter().any(changes_plan_file);
        if events.iter().any(changes_whole_plan) {
            self.flush_plan(records, run)?;
        } else {
            self.flush_plan_if_due(records, run)?;
        }
        if events
            .iter()
            .any(|event| matches!(event, Event::RunEnded { .. }))
        {
            self.write_totals(records, run)?;
            summary::write_summary(records, run)?;
            release_unused_plan_folder(records, run);
        }
        Ok(())
    }

    /// Writes what was put off because it takes long.
    pub fn flush(&mut self, records: ProjectRecords<'_>, run: &Run) -> Result<(), Error> {
        self.write_totals(records, run)?;
        self.flush_plan(records, run)
    }

    /// Writes the files that say how the run stands as a whole.
    fn write_totals(&mut self, records: ProjectRecords<'_>, run: &Run) -> Result<(), Error> {
        self.costs.write(records, run)?;
        self.team.write(records, run, self.costs.ledger())
    }

    /// Does the same for those that were not written a moment ago.
    fn write_totals_if_due(&mut self, records: ProjectRecords<'_>, run: &Run) -> Result<(), Error> {
        self.costs.write_if_due(records, run)?;
        self.team.write_if_due(records, run, self.costs.ledger())
    }

    fn flush_plan(&mut self, records: ProjectRecords<'_>, run: &Run) -> Result<(), Error> {
        if !self.plan_is_stale {
            return Ok(());
        }
        let begun = Instant::now();
        self.write_plan(records, run)?;
        self.plan_is_stale = false;
        let tasks = run.plan.as_ref().map_or(0, |plan| plan.tasks.len());
        self.next_plan = (tasks > SHORT_PLAN).then(|| begun + begun.elapsed() * PLAN_SHARE);
        Ok(())
    }

    /// Does the same if it was put off for long enough.
    pub fn flush_if_due(&mut self, records: ProjectRecords<'_>, run: &Run) -> Result<(), Error> {
        self.write_totals_if_due(records, run)?;
        self.flush_plan_if_due(records, run)
    }

    fn flush_plan_if_due(&mut self, records: ProjectRecords<'_>, run: &Run) -> Result<(), Error> {
        if self.next_plan.is_some_and(|next| Instant::now() < next) {
            return Ok(());
        }
        self.flush_plan(records, run)
    }

    /// Writes the plan file, unless a person has edited it: their version is never overwritten, and
    /// is read when the run is resumed.
    fn write_plan(&mut self, records: ProjectRecords<'_>, run: &Run) -> Result<(), Error> {
        let (Some(folder), Some(known)) = (plan_folder(records, run), &run.plan) else {
            return Ok(());
        };
        let path = folder.join("plan.yml");
        // A file that cannot be read is a person's, whatever it contains.
        let Ok(found) = read_own_file(records, &path) else {
            return Ok(());
        };
        let own = self.plan.take();
        let (accepted, mut runs) = match (found, own) {
            (None, _) => (false, Vec::new()),
            (Some(text), Some(own)) if own.text == text => (own.accepted, own.runs),
            (Some(text), _) => match plan_file::from_yaml("plan.yml", &text, run.max_tasks) {
                Ok(loaded) if loaded.plan == **known => {
                    (loaded.accepted == Some(true), loaded.runs)
                }
                _ => return Ok(()),
            },
        };
        // A plan that was accepted once, even by hand, stays accepted.
        let accepted = accepted || is_plan_accepted(run);
        if !runs.contains(&run.id.0) {
            runs.push(run.id.0.clone());
        }
        let status = |task: &_| run.task_status(task);
        let text = plan_file::to_yaml(known, Some(accepted), &runs, status);
        write_atomically(&path, text.as_bytes())?;
        self.plan = Some(WrittenPlan {
            text,
            accepted,
            runs,
        });
        self.chronicle.write_criteria(records, &folder, known)
    }

    fn write_documents(
        &mut self,
        records: ProjectRecords<'_>,
        run: &Run,
        events: &[Event],
    ) -> Result<(), Error> {
        documents::write_documents(records, run, events, &mut self.chronicle.files)
    }

    fn append_log(
        &mut self,
        records: ProjectRecords<'_>,
        run: &Run,
        at: EpochMillis,
        events: &[Event],
    ) -> Result<(), Error> {
        let path = run_folder(records, run).join("log.jsonl");
        if self.log.is_none() {
            create_folder(path.parent())?;
            let file = OpenOptions::new().create(true).append(true).open(&path);
            self.log = Some(file.map_err(io_error("open", &path))?);
        }
        let first = run.seq - events.len() as u64 + 1;
        let mut lines = String::new();
        for (seq, event) in (first..).zip(events) {
            lines.push_str(&log_line(seq, at, event));
        }
        match &mut self.log {
            Some(file) => file
                .write_all(lines.as_bytes())
                .map_err(io_error("write", &path)),
            None => Ok(()),
        }
    }
}

/// Returns true if an event may change the content of the plan file.
fn changes_plan_file(event: &Event) -> bool {
    match event {
        Event::RunStarted(_)
        | Event::PlanProposed { .. }
        | Event::PlanRevised { .. }
        | Event::PhasePlanned { .. }
        | Event::InterfaceChanged { .. }
        | Event::TeamAssembled { .. }
        | Event::FrameOpened { .. }
        | Event::FrameResumed { .. }
        | Event::FrameEnded { .. }
        | Event::RunRolledBack { .. }
        | Event::TaskChanged { .. } => true,
        Event::StepEntered { frame, .. } => frame.is_root(),
        Event::Intervened { refined, .. } => refined.is_some(),
        _ => false,
    }
}

/// Returns true if an event changes more of the plan file than the status of some tasks.
fn changes_whole_plan(event: &Event) -> bool {
    match event {
        Event::RunStarted(_)
        | Event::PlanProposed { .. }
        | Event::PlanRevised { .. }
        | Event::PhasePlanned { .. }
        | Event::InterfaceChanged { .. }
        | Event::TeamAssembled { .. }
        | Event::RunRolledBack { .. }
        | Event::RunEnded { .. } => true,
        Event::StepEntered { frame, .. } | Event::FrameEnded { frame, .. } => frame.is_root(),
        Event::Intervened { refined, .. } => refined.is_some(),
        _ => false,
    }
}

/// Returns the plan file as an earlier process has written it, if it can be read.
fn take_over_plan(records: ProjectRecords<'_>, path: &Path, run: &Run) -> Option<WrittenPlan> {
    let text = read_own_file(records, path).ok().flatten()?;
    let loaded = plan_file::from_yaml("plan.yml", &text, run.max_tasks).ok();
    let (accepted, runs) = loaded
        .map(|loaded| (loaded.accepted == Some(true), loaded.runs))
        .unwrap_or_default();
    Some(WrittenPlan {
        text,
        accepted,
        runs,
    })
}

/// Returns true if an attempt is an analyst's, whose questions are about what is to be built.
fn is_analyst(run: &Run, id: &AttemptId) -> bool {
    let role = run.role_of_attempt(id);
    let role = role.and_then(|name| run.roles.get(name));
    role.is_some_and(|role| role.kind == RoleKind::Analyst)
}

/// Returns the folder with a run's files.
pub fn run_folder(records: ProjectRecords<'_>, run: &Run) -> PathBuf {
    records.runs_folder().join(run.id.as_str())
}

/// Returns true if the workflow asks for the prompts and answers of workers to be kept as files.
pub fn is_audited(run: &Run) -> bool {
    run.workflow
        .settings
        .get("audit_trail")
        .copied()
        .unwrap_or(false)
}

/// Writes a file of one attempt into the audit trail of its run.
pub fn write_attempt_audit(
    records: ProjectRecords<'_>,
    run: &RunId,
    id: &AttemptId,
    what: &str,
    bytes: &[u8],
) -> Result<(), Error> {
    let name = format!("{}.{}", id.to_string().replace(['/', ':', '#'], "-"), what);
    let folder = records.runs_folder().join(run.as_str()).join("audit");
    write_atomically(&folder.join(name), bytes)
}

fn write_audit(records: ProjectRecords<'_>, run: &Run, events: &[Event]) -> Result<(), Error> {
    for event in events {
        let (Event::SubmissionReceived { id, transcript, .. }
        | Event::AttemptFailed { id, transcript, .. }) = event
        else {
            continue;
        };
        let said = transcript
            .as_ref()
            .map(|body| records.bodies.get(body.as_str()));
        if let Some(Ok(said)) = said {
            write_attempt_audit(records, &run.id, id, "transcript.jsonl", &said)?;
        }
    }
    Ok(())
}

/// Returns the folder of a run's plan, named after the plan's own id or else after the run.
pub fn plan_folder(records: ProjectRecords<'_>, run: &Run) -> Option<PathBuf> {
    let plan = run.plan.as_ref()?;
    let own = codeteam_core::ids::is_valid_name(&plan.plan_id);
    let name = if own {
        plan.plan_id.as_str()
    } else {
        run.id.as_str()
    };
    Some(records.folder.join("planning").join(name))
}

/// Removes the folder that was reserved for the plan of a run which was completed without one, so
/// that the next plan gets its number. What is in the folder stays, and so does the folder then.
fn release_unused_plan_folder(records: ProjectRecords<'_>, run: &Run) {
    let is_unused = run.outcome == Some(FrameOutcome::Completed) && run.plan.is_none();
    if is_unused && codeteam_core::ids::is_valid_name(&run.plan_id) {
        // It fails if there is something in it, or no such folder.
        let _ = fs::remove_dir(records.folder.join("planning").join(&run.plan_id));
    }
}

/// Returns true if a run's plan is more than a draft: it was given to the run, or the run has
/// reached its tasks or changed something, or the run has completed.
pub(crate) fn is_plan_accepted(run: &Run) -> bool {
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

/// Returns true if the plan file exists and differs from the run's plan, which means that a person
/// has edited it.
pub fn plan_was_edited(records: ProjectRecords<'_>, run: &Run) -> bool {
    let (Some(folder), Some(known)) = (plan_folder(records, run), &run.plan) else {
        return false;
    };
    let path = folder.join("plan.yml");
    let text = match read_own_file(records, &path) {
        Ok(Some(text)) => text,
        Ok(None) => return false,
        // An unreadable file counts as edited, for the reason given below.
        Err(_) => return true,
    };
    match plan_file::from_yaml(&path.display().to_string(), &text, run.max_tasks) {
        // A run's plan has its secrets removed; a person's file may still contain them.
        Ok(loaded) => {
            loaded.plan != **known && filter_plan(loaded.plan, records.redactor) != **known
        }
        // A file that cannot be parsed is a person's work in progress.
        Err(_) => true,
    }
}

fn log_line(seq: u64, at: EpochMillis, event: &Event) -> String {
    let mut value = serde_json::to_value(event).unwrap_or_default();
    if let Some(fields) = value.as_object_mut() {
        let mut line = serde_json::Map::new();
        line.insert("seq".to_owned(), seq.into());
        line.insert("ts".to_owned(), format_timestamp(at).into());
        line.append(fields);
        value = serde_json::Value::Object(line);
    }
    format!("{}\n", escape_json(value.to_string()))
}

/// Formats a moment in time as it appears in logs.
pub fn format_timestamp(at: EpochMillis) -> String {
    let millis = i64::try_from(at.0).unwrap_or(0);
    jiff::Timestamp::from_millisecond(millis)
        .map(|t| t.to_string())
        .unwrap_or_default()
}

/// Reads a plan file, if it exists. A file outside codeteam's folder was named by the user and may
/// be a symbolic link.
pub fn read_plan(repo: &Repo, path: &Path) -> std::io::Result<Option<String>> {
    let top = repo.top_level();
    let root = path.starts_with(top.join(".codeteam")).then_some(top);
    repo_files::read_text(path, root, PLAN_BYTES)
}

/// Reads a file of codeteam's own folder, if it exists. The file may have come with the repository,
/// so links that lead elsewhere are not followed and the length is limited.
fn read_own_file(records: ProjectRecords<'_>, path: &Path) -> std::io::Result<Option<String>> {
    repo_files::read_text(path, Some(records.repo.top_level()), PLAN_BYTES)
}

/// Writes a file atomically: it exists either whole or not at all.
pub fn write_atomically(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    let (temporary, _) = write_beside(path, bytes)?;
    fs::rename(&temporary, path).map_err(io_error("put in place", path))
}

/// Does the same, and the file is on the disk before it is in its place.
fn write_durably(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    let (temporary, file) = write_beside(path, bytes)?;
    file.sync_all().map_err(io_error("write", &temporary))?;
    fs::rename(&temporary, path).map_err(io_error("put in place", path))
}

/// Writes a temporary file beside the one that it is to become, and returns its path.
fn write_beside(path: &Path, bytes: &[u8]) -> Result<(PathBuf, File), Error> {
    create_folder(path.parent())?;
    let name = path
        .file_name()
        .map(|n| n.to_string_lossy().into_owned())
        .unwrap_or_default();
    // Two runs may share a plan, so each writes a temporary file of its own first.
    let temporary = path.with_file_name(format!(".{name}.{}.new", std::process::id()));
    // An existing file here is a leftover, or somebody's link to elsewhere: never write through it.
    let _ = fs::remove_file(&temporary);
    let opened = OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(&temporary);
    let written = opened.and_then(|mut file| file.write_all(bytes).map(|()| file));
    let file = written.map_err(io_error("write", &temporary))?;
    Ok((temporary, file))
}

fn create_folder(folder: Option<&Path>) -> Result<(), Error> {
    let Some(folder) = folder else { return Ok(()) };
    fs::create_dir_all(folder).map_err(io_error("make the folder", folder))
}

fn io_error(doing: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> Error {
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
    use crate::git_fixture::GitFixture;

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
