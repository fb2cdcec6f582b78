//! The change that a gate judges, read from git's objects and never from a worktree that commands
//! have run in. Expensive facts are computed lazily and cached.

use std::cell::OnceCell;
use std::path::PathBuf;

use codeteam_context::files::{FileContent, FileEntry, FileSet, FileStamp};
use codeteam_context::imports::{self, ImportGraph, SourceFile};
use codeteam_context::index::SourceIndex;
use codeteam_context::language::Language;
use codeteam_core::ids::Tree;

use crate::halt::Halt;
use crate::perform::{Error, Job, JobContext, oid};
use codeteam_host::git::{BlobReader, DiffEntry, Oid, TreeEdit};
use codeteam_host::workspace::Workspace;
use codeteam_verify::change::{LONGEST, MOST};
use codeteam_verify::honesty::{GateScript, find_gate_scripts};
use codeteam_verify::{ChangeSet, CheckFindings, FileVersion, cycles};

/// The modes of regular files, which are read; links are not.
const PLAIN: [u32; 2] = [0o100_644, 0o100_755];

/// A file's path and its text.
type FileText = (String, String);

/// The change that a gate judges.
pub(in crate::perform) struct JudgedChange<'a> {
    pub(super) job: &'a Job,
    pub(super) context: &'a JobContext<'a>,
    /// The gate's own workspace, which has the objects.
    pub(super) workspace: &'a Workspace,
    pub(super) tree: &'a Tree,
    files: OnceCell<Vec<DiffEntry>>,
    change: OnceCell<ChangeSet>,
}

impl<'a> JudgedChange<'a> {
    pub(in crate::perform) fn new(
        job: &'a Job,
        context: &'a JobContext<'a>,
        workspace: &'a Workspace,
        tree: &'a Tree,
    ) -> Self {
        Self {
            job,
            context,
            workspace,
            tree,
            files: OnceCell::new(),
            change: OnceCell::new(),
        }
    }

    /// Returns the files that differ between the frame's base and the tree.
    pub(super) fn files(&self) -> Result<&[DiffEntry], Error> {
        if let Some(files) = self.files.get() {
            return Ok(files);
        }
        let (base, tree) = self.base_and_tree()?;
        let files = self.workspace.differing_files(&base, &tree)?;
        Ok(self.files.get_or_init(|| files))
    }

    /// Returns the whole change with the texts of its files.
    pub(super) fn change(&self) -> Result<&ChangeSet, Error> {
        if let Some(change) = self.change.get() {
            return Ok(change);
        }
        let (base, tree) = self.base_and_tree()?;
        let is_doubted = self.job.in_session();
        let change = read(self.workspace, &base, &tree, self.files()?, is_doubted)?;
        Ok(self.change.get_or_init(|| change))
    }

    fn base_and_tree(&self) -> Result<(Oid, Oid), Error> {
        Ok((oid(&self.job.base.tree.0)?, oid(&self.tree.0)?))
    }

    /// Returns the readable texts of the tree's files that are wanted, by path, each read when the
    /// iterator reaches it; and the number of files left out because there is too much of them.
    pub(super) fn texts(
        &self,
        wanted: impl Fn(&str) -> bool,
    ) -> Result<(impl Iterator<Item = Result<FileText, Error>>, usize), Error> {
        let all = self.workspace.tree_files(&oid(&self.tree.0)?)?.into_iter();
        let all: Vec<_> = all
            .filter_map(|file| Some((file.path.to_str()?.to_owned(), file.id, file.bytes)))
            .filter(|(path, ..)| wanted(path))
            .collect();
        let lengths: Vec<[u64; 2]> = all.iter().map(|(.., bytes)| [*bytes, 0]).collect();
        let short = choose_files(&lengths);
        let left_out = short.iter().filter(|short| !**short).count();
        let files: Vec<(String, Oid)> = all
            .into_iter()
            .zip(short)
            .filter_map(|((path, id, _), short)| short.then_some((path, id)))
            .collect();
        let reader = self.workspace.blob_reader();
        let texts = files
            .into_iter()
            .filter_map(move |(path, id)| match reader.read(&id) {
                Ok(bytes) => match FileVersion::from_bytes(bytes.as_deref()) {
                    FileVersion::Text(text) | FileVersion::Bytes(text) => Some(Ok((path, text))),
                    FileVersion::Absent | FileVersion::Long | FileVersion::Other => None,
                },
                Err(error) => Some(Err(error.into())),
            });
        Ok((texts, left_out))
    }

    /// Returns the files of the base that the gate's commands lead to. Two processes for each hop.
    pub(super) fn gate_scripts(&self, commands: &[String]) -> Result<Vec<GateScript>, Error> {
        let repo = &self.context.engine.repo;
        let (base, _) = self.base_and_tree()?;
        find_gate_scripts(commands, &mut |paths| {
            let paths: Vec<PathBuf> = paths.iter().map(PathBuf::from).collect();
            let files = repo.tree_files(&base, &paths)?;
            let short = files.iter().filter(|file| file.bytes <= LONGEST as u64);
            let ids: Vec<&Oid> = short.clone().map(|file| &file.id).collect();
            let texts = repo.read_blobs(&ids)?;
            Ok(short
                .filter_map(|file| {
                    let text = String::from_utf8_lossy(texts.get(&file.id)?).into_owned();
                    Some((file.path.to_str()?.to_owned(), text))
                })
                .collect())
        })
    }

    /// Finds the import cycles that the change has introduced.
    pub(super) fn new_import_cycles(&self, max: u64) -> Result<CheckFindings, Error> {
        let change = self.change()?;
        let Some(turned) = cycles::import_changes(change) else {
            return Ok(CheckFindings::default());
        };
        let files = ImportSources::read_tree(self.workspace, &oid(&self.tree.0)?)?;
        let engine = self.context.engine;
        let cache = engine.env.context_cache(engine.repo.top_level());
        // Use a separate cache: the other one is keyed by modification times.
        let cache = cache.map(|folder| folder.join("judged"));
        // Only the imports are needed, so the rest of the index is dropped.
        let index = SourceIndex::build(&files, cache.as_deref(), &|_, _| {});
        let imports = |file: &FileEntry| index.file_number(&file.path).map(|at| index.imports(at));
        let imports: Vec<_> = files.files.iter().map(imports).collect();
        drop(index);
        let after: Vec<SourceFile<'_>> = files
            .files
            .iter()
            .zip(&imports)
            .map(|(file, imports)| SourceFile {
                path: &file.path,
                imports: imports.as_deref().unwrap_or_default(),
            })
            .collect();
        let unchanged = after
            .iter()
            .filter(|source| change.file(source.path).is_none());
        let earlier = turned.iter().filter_map(|file| {
            Some(SourceFile {
                path: &file.path,
                imports: file.before.as_ref()?,
            })
        });
        let before: Vec<SourceFile<'_>> = unchanged.copied().chain(earlier).collect();
        let now = imports::manifest_reader(&files);
        let then = |path: &str| match change.file(path) {
            Some(file) => file.before.text().map(str::to_owned),
            None => now(path),
        };
        let before = ImportGraph::from_sources(&before, &then);
        let after = ImportGraph::from_sources(&after, &now);
        Ok(cycles::check_cycles(&before, &after, max))
    }
}

/// Reads the texts on both sides of a diff, and the added and removed lines. Lengths are checked
/// before anything is read: a file that is too long, or exceeds what is examined in one change, is
/// skipped and reported as such. In a session, objects are verified against their names.
fn read(
    workspace: &Workspace,
    base: &Oid,
    tree: &Oid,
    changed: &[DiffEntry],
    is_doubted: bool,
) -> Result<ChangeSet, Error> {
    let all: Vec<&Oid> = changed.iter().flat_map(blob_ids).flatten().collect();
    let sizes = workspace.blob_sizes(&all)?;
    let length = |id: Option<&Oid>| id.and_then(|id| sizes.get(id)).copied().unwrap_or_default();
    let lengths: Vec<[u64; 2]> = changed
        .iter()
        .map(|file| blob_ids(file).map(length))
        .collect();
    let short = choose_files(&lengths);
    let read: Vec<&DiffEntry> = changed
        .iter()
        .zip(&short)
        .filter_map(|(file, short)| short.then_some(file))
        .collect();
    let wanted: Vec<&Oid> = read
        .iter()
        .flat_map(|file| blob_ids(file))
        .flatten()
        .collect();
    let texts = workspace.read_blobs(&wanted)?;
    if is_doubted && let Some(id) = workspace.first_altered_blob(&texts)? {
        let file = changed
            .iter()
            .find(|file| blob_ids(file).contains(&Some(&id)));
        let file = file.map(|file| file.path.display().to_string());
        let what = format!("`{}`", file.unwrap_or_default());
        return Err(Halt::FalseObject { what }.into());
    }
    let fits = |lengths: &[u64; 2]| lengths.iter().all(|length| *length <= LONGEST as u64);
    let lines = if lengths.iter().filter(|l| fits(l)).count() == read.len() {
        workspace.diff_lines(base, tree, LONGEST)?
    } else {
        // Diff only the files that are short enough, so that all of them have lines.
        let placed: Vec<TreeEdit> = read.iter().map(|file| placed(file)).collect();
        let less = workspace.tree_with(base, &placed)?;
        workspace.diff_lines(base, &less, LONGEST)?
    };
    let side = |id: &Option<Oid>, mode: u32, short: bool| match id {
        None => FileVersion::Absent,
        Some(_) if !PLAIN.contains(&mode) => FileVersion::Other,
        Some(_) if !short => FileVersion::Long,
        Some(id) => match texts.get(id) {
            Some(bytes) => FileVersion::from_bytes(Some(bytes)),
            None => FileVersion::Other,
        },
    };
    let files = changed.iter().zip(&short).map(|(file, short)| {
        let path = file.path.to_string_lossy().into_owned();
        let before = side(&file.old, file.old_mode, *short);
        (path, before, side(&file.new, file.new_mode, *short))
    });
    Ok(ChangeSet::new(files, &lines))
}

/// Chooses the files to read by their lengths before and after: shorter ones first, so that a few
/// long ones do not hide the others.
fn choose_files(lengths: &[[u64; 2]]) -> Vec<bool> {
    let mut found = vec![false; lengths.len()];
    let mut order: Vec<usize> = (0..lengths.len()).collect();
    order.sort_by_key(|at| lengths[*at].iter().sum::<u64>());
    let mut room = MOST as u64;
    for at in order {
        let sum: u64 = lengths[at].iter().sum();
        let fits = lengths[at].iter().all(|length| *length <= LONGEST as u64);
        if fits && sum <= room {
            room -= sum;
            found[at] = true;
        }
    }
    found
}

fn placed(file: &DiffEntry) -> TreeEdit {
    TreeEdit {
        path: file.path.clone(),
        content: file.new.clone().map(|id| (file.new_mode, id)),
    }
}

/// Returns the blobs of a file on both sides, where it is a regular file.
fn blob_ids(file: &DiffEntry) -> [Option<&Oid>; 2] {
    let plain = |id: &'_ Option<Oid>, mode: u32| PLAIN.contains(&mode) && id.is_some();
    [
        file.old
            .as_ref()
            .filter(|_| plain(&file.old, file.old_mode)),
        file.new
            .as_ref()
            .filter(|_| plain(&file.new, file.new_mode)),
    ]
}

/// The files of a tree. Only those can be read that import something or define where imports lead.
struct ImportSources {
    files: Vec<FileEntry>,
    ids: Vec<Oid>,
    texts: BlobReader,
}

impl ImportSources {
    fn read_tree(workspace: &Workspace, tree: &Oid) -> Result<Self, Error> {
        let all = workspace.tree_files(tree)?.into_iter();
        let mut all: Vec<(FileEntry, Oid)> = all
            .filter_map(|file| {
                let listed = FileEntry {
                    path: file.path.to_str()?.to_owned(),
                    bytes: file.bytes,
                    stamp: Some(FileStamp::Content(file.id.bytes())),
                };
                Some((listed, file.id))
            })
            .collect();
        all.sort_by(|(a, _), (b, _)| a.path.cmp(&b.path));
        let (files, ids) = all.into_iter().unzip();
        Ok(Self {
            files,
            ids,
            texts: workspace.blob_reader(),
        })
    }
}

fn is_read(file: &FileEntry) -> bool {
    const MANIFESTS: [&str; 9] = [
        ".json", ".toml", ".mod", ".work", ".cfg", ".ini", ".txt", ".xml", ".gradle",
    ];
    let path = &file.path;
    let is_manifest = MANIFESTS.iter().any(|end| path.ends_with(end)) && file.bytes < 1 << 18;
    is_manifest || (Language::from_path(path).is_some() && file.bytes < LONGEST as u64)
}

impl FileSet for ImportSources {
    fn list(&self) -> &[FileEntry] {
        &self.files
    }

    fn read(&self, at: usize) -> FileContent {
        let (Some(file), Some(id)) = (self.files.get(at), self.ids.get(at)) else {
            return FileContent::Gone;
        };
        if !is_read(file) {
            return FileContent::TooLarge;
        }
        // A file that cannot be read imports nothing.
        match self.texts.read(id) {
            Ok(Some(bytes)) => match FileVersion::from_bytes(Some(&bytes)) {
                FileVersion::Text(text) => FileContent::Text(text),
                _ => FileContent::Binary,
            },
            Ok(None) => FileContent::Gone,
            Err(error) => FileContent::Unreadable(std::io::Error::other(error)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_too_much_is_left_alone() {
        const MOST_LONG: u64 = LONGEST as u64;
        assert_eq!(
            choose_files(&[[1, 0], [MOST_LONG, 1], [MOST_LONG + 1, 0]]),
            [true, true, false]
        );
        let many = vec![[MOST_LONG, MOST_LONG]; 100];
        let found = choose_files(&many);
        let read = found.iter().filter(|short| **short).count();
        assert_eq!(read * 2 * LONGEST, MOST);
        // One that is short is looked at, whatever is before it.
        let mut many = many;
        many.push([10, 10]);
        assert_eq!(choose_files(&many).last(), Some(&true));
    }
}
