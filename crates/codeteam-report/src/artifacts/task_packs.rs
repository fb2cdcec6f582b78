//! Moves the files of tasks that ended long ago into packs, so that a run of many tasks does not leave
//! thousands of files.
//!
//! A task has some five files. As long as no more than a few hundred tasks of a run have ended, all of
//! them stay where they are. Beyond that, the files of the hundred tasks that ended first move into
//! one file in the run's folder, `tasks-0001.md`, the next hundred into `tasks-0002.md`:
//!
//! ```text
//! # Tasks 1 to 100 of run `<run>`, in the order in which they ended
//!
//! - `t0`
//! - `t1`
//!
//! === iterations/t0_01_coder.md (214 bytes)
//! <these 214 bytes>
//! === reports/t0.md (1834 bytes)
//! ```
//!
//! Which tasks a pack holds follows from the log and from the number of the pack, so that a crash at
//! any point leaves either the files or the pack, and the next process continues from there. A task
//! that is resumed gets new files, which move into a later pack.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt::Write as _;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Component, Path, PathBuf};

use codeteam_core::ids::FramePath;
use codeteam_core::{Event, Run};
use codeteam_host::git::Repo;
use codeteam_host::repo_files;

use super::reports::REPORTS;
use super::{Error, read_own_file, run_folder, run_of_report, write_durably};
use crate::describe::event_frame;
use crate::records::ProjectRecords;
use crate::report::inline_code;

/// So many of the tasks that ended last keep their files as they are.
const KEPT_TASKS: usize = 200;
/// The number of tasks in a pack.
const TASKS_IN_PACK: usize = 100;
/// No run has so many packs.
const MOST_PACKS: usize = 100_000;
/// The size limit of a pack that is read back.
const PACK_BYTES: u64 = 256 << 20;
/// The beginning of the line before each file of a pack.
const FILE: &str = "=== ";

/// The files that the tasks of a run have, and the tasks whose files are to be packed.
#[derive(Default)]
pub(super) struct TaskFiles {
    /// The files of tasks that are in no pack, relative to the run's folder.
    files: BTreeMap<FramePath, BTreeSet<PathBuf>>,
    /// Tasks that have ended and are in no pack, the earliest first.
    ended: VecDeque<FramePath>,
    /// The number of packs that the tasks have filled so far.
    packs: usize,
    /// Packs that are full and have not been written.
    full: Vec<TaskPack>,
}

/// A pack and the tasks whose files it holds.
struct TaskPack {
    number: usize,
    tasks: Vec<FramePath>,
}

impl TaskFiles {
    /// Records that a file of a frame has been written. `file` is relative to the run's folder.
    pub(super) fn add(&mut self, frame: &FramePath, file: PathBuf) {
        if !frame.is_root() {
            self.files.entry(frame.clone()).or_default().insert(file);
        }
    }

    /// Records an event of the run.
    pub(super) fn observe(&mut self, event: &Event) {
        match event {
            Event::FrameOpened { frame, .. } | Event::FrameResumed { frame } => {
                self.ended.retain(|ended| ended != frame);
            }
            Event::FrameEnded { frame, .. } if !frame.is_root() => {
                self.ended.retain(|ended| ended != frame);
                self.ended.push_back(frame.clone());
            }
            _ => return,
        }
        if self.ended.len() >= KEPT_TASKS + TASKS_IN_PACK {
            self.packs += 1;
            self.full.push(TaskPack {
                number: self.packs,
                tasks: self.ended.drain(..TASKS_IN_PACK).collect(),
            });
        }
    }

    /// Forgets the packs that were written before.
    pub(super) fn skip_packs(&mut self, packed: &PackedTasks) {
        self.full.retain(|pack| pack.number > packed.packs);
    }

    /// Writes the packs that are full, and removes the files that are in them.
    pub(super) fn write_packs(
        &mut self,
        records: ProjectRecords<'_>,
        run: &Run,
    ) -> Result<(), Error> {
        let folder = run_folder(records, run);
        for pack in std::mem::take(&mut self.full) {
            let names = pack.tasks.iter().filter_map(|task| self.files.remove(task));
            // A file that cannot be read stays where it is.
            let read = |name: PathBuf| {
                let text = read_own_file(records, &folder.join(&name)).ok()??;
                Some((name, text))
            };
            let files: Vec<(PathBuf, String)> = names.flatten().filter_map(read).collect();
            let text = render_pack(run, &pack, &files);
            write_durably(&pack_path(&folder, pack.number), text.as_bytes())?;
            for (name, _) in &files {
                remove_packed_file(records, run, name);
            }
        }
        Ok(())
    }
}

/// The tasks whose files were packed before, as the log tells it.
#[derive(Default)]
pub(super) struct PackedTasks {
    packs: usize,
    /// The last event of which the files of each task tell.
    until: BTreeMap<FramePath, u64>,
}

impl PackedTasks {
    /// Finds out what the packs of a run hold. If codeteam was killed between writing a pack and
    /// removing the files in it, they are removed now.
    pub(super) fn read(records: ProjectRecords<'_>, run: &Run) -> Self {
        let folder = run_folder(records, run);
        let packs = packs_in(&folder).count();
        let mut packed = PackedTasks::default();
        if packs == 0 {
            return packed;
        }
        let mut tasks = TaskFiles::default();
        let read = records.each_event(&run.id, 0, |seq, _, event| {
            tasks.observe(&event);
            for pack in tasks.full.drain(..).filter(|pack| pack.number <= packs) {
                let tasks = pack.tasks.into_iter();
                packed.until.extend(tasks.map(|task| (task, seq)));
            }
        });
        if read.is_err() {
            return PackedTasks::default();
        }
        for name in read_pack(records.repo, &pack_path(&folder, packs)).keys() {
            remove_packed_file(records, run, Path::new(name));
        }
        PackedTasks { packs, ..packed }
    }

    /// Returns true if the files that tell of an event are in a pack.
    pub(super) fn covers(&self, seq: u64, event: &Event) -> bool {
        let until = event_frame(event).and_then(|frame| self.until.get(frame));
        until.is_some_and(|until| seq <= *until)
    }
}

/// Reads the packs of a run, wherever its folder is: the text of each file, by its name relative to
/// the folder.
pub(crate) fn read_task_packs(repo: &Repo, folder: &Path) -> BTreeMap<String, String> {
    packs_in(folder)
        .flat_map(|path| read_pack(repo, &path))
        .collect()
}

/// Returns the newest pack with the files of a task, if they are in one.
pub(super) fn find_pack(folder: &Path, task: &str) -> Option<PathBuf> {
    let paths: Vec<PathBuf> = packs_in(folder).collect();
    let wanted = task_line(task);
    let lists = |path: &PathBuf| {
        let Ok(file) = fs::File::open(path) else {
            return false;
        };
        let lines = BufReader::new(file).lines().map_while(Result::ok);
        let mut names = lines.take_while(|line| !line.starts_with(FILE));
        names.any(|line| line == wanted)
    };
    paths.into_iter().rev().find(lists)
}

/// Returns the packs in a run's folder, the oldest first.
fn packs_in(folder: &Path) -> impl Iterator<Item = PathBuf> {
    let paths = (1..MOST_PACKS).map(|number| pack_path(folder, number));
    paths.take_while(|path| path.is_file())
}

fn pack_path(folder: &Path, number: usize) -> PathBuf {
    folder.join(format!("tasks-{number:04}.md"))
}

fn render_pack(run: &Run, pack: &TaskPack, files: &[(PathBuf, String)]) -> String {
    let last = pack.number * TASKS_IN_PACK;
    let mut out = format!(
        "# Tasks {} to {last} of run {}, in the order in which they ended\n\n",
        last + 1 - TASKS_IN_PACK,
        inline_code(run.id.as_str())
    );
    for task in &pack.tasks {
        let _ = writeln!(out, "{}", task_line(task.name()));
    }
    out.push('\n');
    for (name, text) in files {
        let _ = writeln!(out, "{FILE}{} ({} bytes)", name.display(), text.len());
        out.push_str(text);
        if !text.ends_with('\n') {
            out.push('\n');
        }
    }
    out
}

/// Returns the line with which a pack lists a task.
fn task_line(task: &str) -> String {
    format!("- {}", inline_code(task))
}

/// Removes a file of a run's folder that is in a pack, and its copy in the folder that all runs
/// share. `name` may have been read from a file.
fn remove_packed_file(records: ProjectRecords<'_>, run: &Run, name: &Path) {
    let is_plain = |part: Component<'_>| matches!(part, Component::Normal(_));
    let path = run_folder(records, run).join(name);
    if !name.components().all(is_plain) || !matches!(read_own_file(records, &path), Ok(Some(_))) {
        return;
    }
    let _ = fs::remove_file(&path);
    if let Ok(report) = name.strip_prefix(REPORTS) {
        let shared = records.folder.join(REPORTS).join(report);
        let text = read_own_file(records, &shared).ok().flatten();
        let owner = text.as_deref().and_then(run_of_report);
        if owner == Some(run.id.as_str()) {
            let _ = fs::remove_file(shared);
        }
    } else if let Some(folder) = path.parent() {
        // The folder of a task is empty now; `iterations` is not.
        let _ = fs::remove_dir(folder);
    }
}

/// Reads a pack: the text of each file in it, by its name.
fn read_pack(repo: &Repo, path: &Path) -> BTreeMap<String, String> {
    let mut files = BTreeMap::new();
    let text = repo_files::read_text(path, Some(repo.top_level()), PACK_BYTES);
    let text = text.ok().flatten().unwrap_or_default();
    let Some(start) = text.find(&format!("\n{FILE}")) else {
        return files;
    };
    let mut rest = &text[start + 1..];
    while let Some((name, body, after)) = split_file(rest) {
        files.insert(name.to_owned(), body.to_owned());
        rest = after.strip_prefix('\n').unwrap_or(after);
    }
    files
}

/// Splits a pack behind its first file: the name of the file, its text, and what follows.
fn split_file(pack: &str) -> Option<(&str, &str, &str)> {
    let (line, rest) = pack.strip_prefix(FILE)?.split_once('\n')?;
    let (name, length) = line.strip_suffix(" bytes)")?.rsplit_once(" (")?;
    let (body, after) = rest.split_at_checked(length.parse().ok()?)?;
    Some((name, body, after))
}

#[cfg(test)]
mod tests;
