//! Writes verification reports as files: one per frame with everything, and one per verifier. Each
//! is written to the run's own folder and to `.codeteam/reports`, where the newest run wins.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use codeteam_core::Run;
use codeteam_core::frame::{Frame, FrameItem};
use codeteam_core::ids::RoleName;
use codeteam_core::role::RoleKind;

use super::task_packs::{TaskFiles, find_pack};
use super::{Error, read_own_file, run_folder, write_atomically};
use crate::records::ProjectRecords;
use crate::report::{self, ReportSubject, short_role_name};

/// The prefix of the line in which a file names the run it belongs to.
const OWNER: &str = "- **Run:** `";
/// The folder of reports, in that of a run and in `.codeteam`.
pub(super) const REPORTS: &str = "reports";

/// Writes the reports of a frame, as far as it has been judged.
pub(super) fn write_reports(
    records: ProjectRecords<'_>,
    run: &Run,
    frame: &Frame,
    files: &mut TaskFiles,
) -> Result<(), Error> {
    let Some(report) = report::report_with_lines(records, run, frame) else {
        return Ok(());
    };
    if matches!(report.subject, ReportSubject::Plan(_)) {
        // `FEEDBACK.md` reports verdicts on a plan.
        return Ok(());
    }
    for verifier in &report.verifiers {
        if verifier.ballots.is_empty() {
            continue;
        }
        let name = verifier_report_name(run, frame, &verifier.role);
        write_report(records, run, &name, &report.verifier_markdown(verifier))?;
        files.add(&frame.path, Path::new(REPORTS).join(name));
    }
    let name = aggregate_name(run, frame);
    write_report(records, run, &name, &report.to_markdown())?;
    files.add(&frame.path, Path::new(REPORTS).join(name));
    Ok(())
}

fn write_report(
    records: ProjectRecords<'_>,
    run: &Run,
    name: &str,
    text: &str,
) -> Result<(), Error> {
    let own = run_folder(records, run).join(REPORTS).join(name);
    let shared = records.folder.join(REPORTS).join(name);
    publish_report(records, run, &own, &shared, text)
}

/// Writes a file of the run, and its copy in the folder that all runs share if this run may write
/// it.
pub(super) fn publish_report(
    records: ProjectRecords<'_>,
    run: &Run,
    own: &Path,
    shared: &Path,
    text: &str,
) -> Result<(), Error> {
    write_if_changed(records, own, text)?;
    if may_write_shared(records, run, shared) {
        write_if_changed(records, shared, text)?;
    }
    Ok(())
}

/// Writes a file unless its content is unchanged. Secrets are removed here because file names are
/// recorded as they are and may contain one, while people's files must not.
pub(super) fn write_if_changed(
    records: ProjectRecords<'_>,
    path: &Path,
    text: &str,
) -> Result<(), Error> {
    let text = &*records.redactor.redact(text).text;
    let same = read_own_file(records, path).is_ok_and(|found| found.as_deref() == Some(text));
    if same {
        return Ok(());
    }
    write_atomically(path, text.as_bytes())
}

/// Returns true if this run may write a shared file: it does not exist, or it belongs to this run,
/// to an older one, or to one that has ended. A file that codeteam did not write is left alone.
fn may_write_shared(records: ProjectRecords<'_>, run: &Run, path: &Path) -> bool {
    let text = match read_own_file(records, path) {
        Ok(Some(text)) => text,
        Ok(None) => return true,
        Err(_) => return false,
    };
    let Some(owner) = run_of_report(&text) else {
        return false;
    };
    if owner <= run.id.as_str() {
        return true;
    }
    let known = records.store.run(owner).ok().flatten();
    let over =
        known.is_none_or(|row| matches!(row.status.as_str(), "completed" | "failed" | "aborted"));
    over && !run.is_terminal()
}

/// Returns the id of the run that a report file says it belongs to.
pub(crate) fn run_of_report(text: &str) -> Option<&str> {
    let line = text.lines().find_map(|line| line.strip_prefix(OWNER))?;
    line.strip_suffix('`')
}

/// Returns the reports in the folder that all runs share, by the run that wrote each.
pub fn shared_reports(records: ProjectRecords<'_>) -> BTreeMap<String, Vec<PathBuf>> {
    let entries = std::fs::read_dir(records.folder.join(REPORTS));
    let mut reports: BTreeMap<String, Vec<PathBuf>> = BTreeMap::new();
    for path in entries.into_iter().flatten().flatten().map(|e| e.path()) {
        let text = read_own_file(records, &path).ok().flatten();
        if let Some(owner) = text.as_deref().and_then(run_of_report) {
            reports.entry(owner.to_owned()).or_default().push(path);
        }
    }
    reports
}

/// Returns the path of a frame's whole report, for people: the shared file if it belongs to this
/// run, or else the one in the run's own folder, or the pack that it was moved to.
pub(crate) fn report_path(records: ProjectRecords<'_>, run: &Run, frame: &Frame) -> PathBuf {
    let name = aggregate_name(run, frame);
    let shared = records.folder.join(REPORTS).join(&name);
    let text = read_own_file(records, &shared)
        .ok()
        .flatten()
        .unwrap_or_default();
    if run_of_report(&text) == Some(run.id.as_str()) {
        return shared;
    }
    let folder = run_folder(records, run);
    let own = folder.join(REPORTS).join(name);
    if own.exists() {
        return own;
    }
    find_pack(&folder, frame.path.name()).unwrap_or(own)
}

/// Returns `task-002.md`; reports of the run and of the plan are named after the run and the plan.
fn aggregate_name(run: &Run, frame: &Frame) -> String {
    format!("{}.md", stem(run, frame))
}

fn stem<'a>(run: &'a Run, frame: &'a Frame) -> &'a str {
    match &frame.item {
        FrameItem::Run => run.id.as_str(),
        FrameItem::Phase(_) | FrameItem::Task(_) => frame.path.name(),
    }
}

/// Returns `task-002-architecture.md`. Where another file could have that name, the parts are
/// separated by a character that no id contains.
fn verifier_report_name(run: &Run, frame: &Frame, role: &RoleName) -> String {
    let gatekeepers = || {
        let roles = run.roles.values();
        roles
            .filter(|r| r.kind == RoleKind::Gatekeeper)
            .map(|r| &r.name)
    };
    let alike = gatekeepers()
        .filter(|r| short_role_name(r) == short_role_name(role))
        .count()
        > 1;
    let verifier = if alike {
        role.as_str().replace('/', "@")
    } else {
        short_role_name(role).to_owned()
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
            rest.is_empty() || other.is_some_and(|o| gatekeepers().any(|r| short_role_name(r) == o))
        })
    });
    let between = if taken { "@" } else { "-" };
    format!("{stem}{between}{verifier}.md")
}

/// Writes `CODER_LOG.md`: the work done in a frame and its results, in the form that the next
/// worker reads.
pub(super) fn write_log(
    records: ProjectRecords<'_>,
    run: &Run,
    frame: &Frame,
    files: &mut TaskFiles,
) -> Result<(), Error> {
    // A verdict on a plan does not concern the coder.
    if frame.work_log.is_empty() || frame.outputs.change.is_none() {
        return Ok(());
    }
    let folder = frame_folder(records, run, frame.path.name(), frame.path.is_root());
    let text = format!(
        "# Coder Log: {}\n\n{}",
        frame.path.name(),
        frame.work_log.text()
    );
    let path = folder.join("CODER_LOG.md");
    write_if_changed(records, &path, &text)?;
    let name = path.strip_prefix(run_folder(records, run));
    files.add(&frame.path, name.unwrap_or(&path).to_owned());
    Ok(())
}

/// Returns the folder of a frame's own files inside the run's folder: the run's folder itself, or
/// one named after the task. Names that codeteam itself uses there are avoided.
pub(super) fn frame_folder(
    records: ProjectRecords<'_>,
    run: &Run,
    name: &str,
    is_root: bool,
) -> PathBuf {
    let folder = run_folder(records, run);
    if is_root {
        return folder;
    }
    let kept = ["iterations", "audit", REPORTS].contains(&name)
        || Path::new(name)
            .extension()
            .is_some_and(|e| e == "md" || e == "jsonl");
    if kept {
        folder.join(format!("@{name}"))
    } else {
        folder.join(name)
    }
}
