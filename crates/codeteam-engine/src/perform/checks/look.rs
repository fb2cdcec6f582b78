//! The change that a gate judges, read from git's objects: never from a work tree that commands
//! have run in. What costs something is found out when a check asks for it, and once.

use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::sync::OnceLock;

use codeteam_context::files::{Content, File, Files};
use codeteam_context::imports::{self, Graph, Source};
use codeteam_context::index::Index;
use codeteam_context::language::Language;
use codeteam_core::ids::Tree;

use crate::git::{Diff, Oid};
use crate::perform::{Context, Error, Job, oid};
use crate::verify::change::LONGEST;
use crate::verify::{Change, Found, Side, cycles};
use crate::workspace::Workspace;

/// A plain file that is read, not a link.
const PLAIN: [u32; 2] = [0o100_644, 0o100_755];

/// What a gate judges.
pub(super) struct Look<'a> {
    pub(super) job: &'a Job,
    pub(super) context: &'a Context<'a>,
    /// The gate's own, which has the objects.
    pub(super) workspace: &'a Workspace,
    pub(super) tree: &'a Tree,
    diff: OnceCell<Diff>,
    change: OnceCell<Change>,
}

impl<'a> Look<'a> {
    pub(super) fn new(
        job: &'a Job,
        context: &'a Context<'a>,
        workspace: &'a Workspace,
        tree: &'a Tree,
    ) -> Self {
        Self {
            job,
            context,
            workspace,
            tree,
            diff: OnceCell::new(),
            change: OnceCell::new(),
        }
    }

    /// What differs between the frame's base and the tree.
    pub(super) fn diff(&self) -> Result<&Diff, Error> {
        if let Some(diff) = self.diff.get() {
            return Ok(diff);
        }
        let (base, tree) = (oid(&self.job.base.tree.0)?, oid(&self.tree.0)?);
        let diff = self.workspace.diff(&base, &tree)?;
        Ok(self.diff.get_or_init(|| diff))
    }

    /// The same, with all texts.
    pub(super) fn change(&self) -> Result<&Change, Error> {
        if let Some(change) = self.change.get() {
            return Ok(change);
        }
        let diff = self.diff()?;
        let change = read(self.workspace, diff)?;
        Ok(self.change.get_or_init(|| change))
    }

    /// The texts of the tree's files of a kind, those that can be read, by their paths.
    pub(super) fn texts(
        &self,
        wanted: impl Fn(&str) -> bool,
    ) -> Result<Vec<(String, String)>, Error> {
        const LONGEST: u64 = 1 << 18;
        const MOST: usize = 2_000;
        let all = self.workspace.files_of(&oid(&self.tree.0)?)?.into_iter();
        let files: Vec<(String, Oid)> = all
            .filter(|file| file.bytes < LONGEST)
            .filter_map(|file| Some((file.path.to_str()?.to_owned(), file.id)))
            .filter(|(path, _)| wanted(path))
            .take(MOST)
            .collect();
        let ids: Vec<&Oid> = files.iter().map(|(_, id)| id).collect();
        let found = self.workspace.blobs(&ids)?;
        let texts = files.into_iter().filter_map(|(path, id)| {
            let text = Side::of(found.get(&id).map(Vec::as_slice));
            Some((path, text.text()?.to_owned()))
        });
        Ok(texts.collect())
    }

    /// The rings of imports that the change has made.
    pub(super) fn cycles(&self, max: u64) -> Result<Found, Error> {
        let change = self.change()?;
        let Some(turned) = cycles::turned(change) else {
            return Ok(Found::default());
        };
        let files = Sources::of(self.workspace, &oid(&self.tree.0)?)?;
        let engine = self.context.engine;
        let cache = engine.env.context_cache(engine.repo.top_level());
        // By itself: the other one goes by when files were touched.
        let cache = cache.map(|folder| folder.join("judged"));
        let index = Index::build(&files, cache.as_deref(), &|_, _| {});
        let imports_of = |path: &str| match index.file(path) {
            Some(at) => index.outline(at).imports.as_slice(),
            None => &[],
        };
        let after: Vec<Source<'_>> = files
            .files
            .iter()
            .map(|file| Source {
                path: &file.path,
                imports: imports_of(&file.path),
            })
            .collect();
        let unchanged = after
            .iter()
            .filter(|source| change.file(source.path).is_none());
        let earlier = turned.iter().filter_map(|file| {
            Some(Source {
                path: &file.path,
                imports: file.before.as_ref()?,
            })
        });
        let before: Vec<Source<'_>> = unchanged.copied().chain(earlier).collect();
        let now = imports::reader(&files);
        let then = |path: &str| match change.file(path) {
            Some(file) => file.before.text().map(str::to_owned),
            None => now(path),
        };
        let before = Graph::of(&before, &then);
        let after = Graph::of(&after, &now);
        Ok(cycles::cycles(&before, &after, max))
    }
}

/// The texts at both ends of a difference.
fn read(workspace: &Workspace, diff: &Diff) -> Result<Change, Error> {
    let plain = |id: &'_ Option<Oid>, mode: u32| id.clone().filter(|_| PLAIN.contains(&mode));
    let mut wanted = Vec::new();
    for file in &diff.files {
        wanted.extend(plain(&file.old, file.old_mode));
        wanted.extend(plain(&file.new, file.new_mode));
    }
    let asked: Vec<&Oid> = wanted.iter().collect();
    let texts = workspace.blobs(&asked)?;
    let side = |id: &Option<Oid>, mode: u32| match (id, plain(id, mode)) {
        (None, _) => Side::Absent,
        (Some(_), None) => Side::Other,
        (Some(_), Some(id)) => match texts.get(&id) {
            Some(bytes) => Side::of(Some(bytes)),
            None => Side::Other,
        },
    };
    let files = diff.files.iter().map(|file| {
        let path = file.path.to_string_lossy().into_owned();
        let before = side(&file.old, file.old_mode);
        (path, before, side(&file.new, file.new_mode))
    });
    Ok(Change::new(files, &diff.text))
}

/// The files of a tree, of which those can be read that import something or say where imports lead.
struct Sources<'a> {
    workspace: &'a Workspace,
    files: Vec<File>,
    ids: Vec<Oid>,
    texts: OnceLock<BTreeMap<Oid, Vec<u8>>>,
}

impl<'a> Sources<'a> {
    fn of(workspace: &'a Workspace, tree: &Oid) -> Result<Self, Error> {
        let all = workspace.files_of(tree)?.into_iter();
        let mut all: Vec<(File, Oid)> = all
            .filter_map(|file| {
                let listed = File {
                    path: file.path.to_str()?.to_owned(),
                    bytes: file.bytes,
                    stamp: None,
                };
                Some((listed, file.id))
            })
            .collect();
        all.sort_by(|(a, _), (b, _)| a.path.cmp(&b.path));
        let (files, ids) = all.into_iter().unzip();
        Ok(Self {
            workspace,
            files,
            ids,
            texts: OnceLock::new(),
        })
    }

    fn texts(&self) -> &BTreeMap<Oid, Vec<u8>> {
        self.texts.get_or_init(|| {
            let all = self.files.iter().zip(&self.ids);
            let wanted = all.filter(|(file, _)| is_read(file)).map(|(_, id)| id);
            let wanted: Vec<&Oid> = wanted.collect();
            // What cannot be read imports nothing.
            self.workspace.blobs(&wanted).unwrap_or_default()
        })
    }
}

fn is_read(file: &File) -> bool {
    const MANIFESTS: [&str; 9] = [
        ".json", ".toml", ".mod", ".work", ".cfg", ".ini", ".txt", ".xml", ".gradle",
    ];
    let path = &file.path;
    let is_manifest = MANIFESTS.iter().any(|end| path.ends_with(end)) && file.bytes < 1 << 18;
    is_manifest || (Language::of(path).is_some() && file.bytes < LONGEST as u64)
}

impl Files for Sources<'_> {
    fn list(&self) -> &[File] {
        &self.files
    }

    fn read(&self, at: usize) -> Content {
        let Some(id) = self.ids.get(at) else {
            return Content::Gone;
        };
        match self.texts().get(id).map(|bytes| Side::of(Some(bytes))) {
            Some(Side::Text(text)) => Content::Text(text),
            Some(_) => Content::Binary,
            None => Content::TooLarge,
        }
    }
}
