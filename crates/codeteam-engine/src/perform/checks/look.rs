//! The change that a gate judges, read from git's objects: never from a work tree that commands
//! have run in. What costs something is found out when a check asks for it, and once.

use std::cell::OnceCell;

use codeteam_context::files::{FileContent, FileEntry, FileSet, FileStamp};
use codeteam_context::imports::{self, ImportGraph, SourceFile};
use codeteam_context::index::SourceIndex;
use codeteam_context::language::Language;
use codeteam_core::ids::Tree;

use crate::git::{BlobReader, DiffEntry, Oid, TreeEdit};
use crate::perform::{Error, Halt, Job, JobContext, oid};
use crate::verify::change::{LONGEST, MOST};
use crate::verify::{ChangeSet, CheckFindings, FileVersion, cycles};
use crate::workspace::Workspace;

/// A plain file that is read, not a link.
const PLAIN: [u32; 2] = [0o100_644, 0o100_755];

/// A file's path, and its text.
type FileText = (String, String);

/// What a gate judges.
pub(in crate::perform) struct JudgedChange<'a> {
    pub(super) job: &'a Job,
    pub(super) context: &'a JobContext<'a>,
    /// The gate's own, which has the objects.
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

    /// The files that differ between the frame's base and the tree.
    pub(super) fn files(&self) -> Result<&[DiffEntry], Error> {
        if let Some(files) = self.files.get() {
            return Ok(files);
        }
        let (base, tree) = self.ends()?;
        let files = self.workspace.differing(&base, &tree)?;
        Ok(self.files.get_or_init(|| files))
    }

    /// The same, with all texts.
    pub(super) fn change(&self) -> Result<&ChangeSet, Error> {
        if let Some(change) = self.change.get() {
            return Ok(change);
        }
        let (base, tree) = self.ends()?;
        let is_doubted = self.job.in_session;
        let change = read(self.workspace, &base, &tree, self.files()?, is_doubted)?;
        Ok(self.change.get_or_init(|| change))
    }

    fn ends(&self) -> Result<(Oid, Oid), Error> {
        Ok((oid(&self.job.base.tree.0)?, oid(&self.tree.0)?))
    }

    /// The texts of the tree's files of a kind, those that can be read, by their paths: each is read
    /// when it is asked for. And how many are left out, because there is too much of them.
    pub(super) fn texts(
        &self,
        wanted: impl Fn(&str) -> bool,
    ) -> Result<(impl Iterator<Item = Result<FileText, Error>>, usize), Error> {
        let all = self.workspace.files_of(&oid(&self.tree.0)?)?.into_iter();
        let all: Vec<_> = all
            .filter_map(|file| Some((file.path.to_str()?.to_owned(), file.id, file.bytes)))
            .filter(|(path, ..)| wanted(path))
            .collect();
        let lengths: Vec<[u64; 2]> = all.iter().map(|(.., bytes)| [*bytes, 0]).collect();
        let short = short(&lengths);
        let left_out = short.iter().filter(|short| !**short).count();
        let files: Vec<(String, Oid)> = all
            .into_iter()
            .zip(short)
            .filter_map(|((path, id, _), short)| short.then_some((path, id)))
            .collect();
        let reader = self.workspace.reader();
        let texts = files
            .into_iter()
            .filter_map(move |(path, id)| match reader.read(&id) {
                Ok(bytes) => match FileVersion::of(bytes.as_deref()) {
                    FileVersion::Text(text) | FileVersion::Bytes(text) => Some(Ok((path, text))),
                    FileVersion::Absent | FileVersion::Long | FileVersion::Other => None,
                },
                Err(error) => Some(Err(error.into())),
            });
        Ok((texts, left_out))
    }

    /// The rings of imports that the change has made.
    pub(super) fn cycles(&self, max: u64) -> Result<CheckFindings, Error> {
        let change = self.change()?;
        let Some(turned) = cycles::turned(change) else {
            return Ok(CheckFindings::default());
        };
        let files = ImportSources::of(self.workspace, &oid(&self.tree.0)?)?;
        let engine = self.context.engine;
        let cache = engine.env.context_cache(engine.repo.top_level());
        // By itself: the other one goes by when files were touched.
        let cache = cache.map(|folder| folder.join("judged"));
        // Nothing else of their outlines is held.
        let index = SourceIndex::build(&files, cache.as_deref(), &|_, _| {});
        let imports = |file: &FileEntry| index.file(&file.path).map(|at| index.imports(at));
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
        let now = imports::reader(&files);
        let then = |path: &str| match change.file(path) {
            Some(file) => file.before.text().map(str::to_owned),
            None => now(path),
        };
        let before = ImportGraph::of(&before, &then);
        let after = ImportGraph::of(&after, &now);
        Ok(cycles::cycles(&before, &after, max))
    }
}

/// The texts at both ends of a difference, and the lines that came and went. Nothing is read before it
/// is known how long it is: what is too long, or more than is looked at in one change, is left alone and
/// is said to be so. In a session no object is believed to be what its name says.
fn read(
    workspace: &Workspace,
    base: &Oid,
    tree: &Oid,
    changed: &[DiffEntry],
    is_doubted: bool,
) -> Result<ChangeSet, Error> {
    let all: Vec<&Oid> = changed.iter().flat_map(ends).flatten().collect();
    let sizes = workspace.sizes(&all)?;
    let length = |id: Option<&Oid>| id.and_then(|id| sizes.get(id)).copied().unwrap_or_default();
    let lengths: Vec<[u64; 2]> = changed.iter().map(|file| ends(file).map(length)).collect();
    let short = short(&lengths);
    let read: Vec<&DiffEntry> = changed
        .iter()
        .zip(&short)
        .filter_map(|(file, short)| short.then_some(file))
        .collect();
    let wanted: Vec<&Oid> = read.iter().flat_map(|file| ends(file)).flatten().collect();
    let texts = workspace.blobs(&wanted)?;
    if is_doubted && let Some(id) = workspace.untrue_blob(&texts)? {
        let file = changed.iter().find(|file| ends(file).contains(&Some(&id)));
        let file = file.map(|file| file.path.display().to_string());
        let what = format!("`{}`", file.unwrap_or_default());
        return Err(Halt::FalseObject { what }.into());
    }
    let fits = |lengths: &[u64; 2]| lengths.iter().all(|length| *length <= LONGEST as u64);
    let lines = if lengths.iter().filter(|l| fits(l)).count() == read.len() {
        workspace.lines(base, tree, LONGEST)?
    } else {
        // It has no lines of what is too long, but of all the rest.
        let placed: Vec<TreeEdit> = read.iter().map(|file| placed(file)).collect();
        let less = workspace.tree_with(base, &placed)?;
        workspace.lines(base, &less, LONGEST)?
    };
    let side = |id: &Option<Oid>, mode: u32, short: bool| match id {
        None => FileVersion::Absent,
        Some(_) if !PLAIN.contains(&mode) => FileVersion::Other,
        Some(_) if !short => FileVersion::Long,
        Some(id) => match texts.get(id) {
            Some(bytes) => FileVersion::of(Some(bytes)),
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

/// Which files are looked into, by their lengths before and after: the shorter ones first, so that a few
/// long ones do not hide the others.
fn short(lengths: &[[u64; 2]]) -> Vec<bool> {
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

/// The contents of a file at both ends, where it is a plain one.
fn ends(file: &DiffEntry) -> [Option<&Oid>; 2] {
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

/// The files of a tree, of which those can be read that import something or say where imports lead.
struct ImportSources {
    files: Vec<FileEntry>,
    ids: Vec<Oid>,
    texts: BlobReader,
}

impl ImportSources {
    fn of(workspace: &Workspace, tree: &Oid) -> Result<Self, Error> {
        let all = workspace.files_of(tree)?.into_iter();
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
            texts: workspace.reader(),
        })
    }
}

fn is_read(file: &FileEntry) -> bool {
    const MANIFESTS: [&str; 9] = [
        ".json", ".toml", ".mod", ".work", ".cfg", ".ini", ".txt", ".xml", ".gradle",
    ];
    let path = &file.path;
    let is_manifest = MANIFESTS.iter().any(|end| path.ends_with(end)) && file.bytes < 1 << 18;
    is_manifest || (Language::of(path).is_some() && file.bytes < LONGEST as u64)
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
        // What cannot be read imports nothing.
        match self.texts.read(id) {
            Ok(Some(bytes)) => match FileVersion::of(Some(&bytes)) {
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
            short(&[[1, 0], [MOST_LONG, 1], [MOST_LONG + 1, 0]]),
            [true, true, false]
        );
        let many = vec![[MOST_LONG, MOST_LONG]; 100];
        let found = short(&many);
        let read = found.iter().filter(|short| **short).count();
        assert_eq!(read * 2 * LONGEST, MOST);
        // One that is short is looked at, whatever is before it.
        let mut many = many;
        many.push([10, 10]);
        assert_eq!(short(&many).last(), Some(&true));
    }
}
