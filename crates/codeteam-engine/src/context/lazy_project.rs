//! Facts about a project while a prompt is rendered. Expensive facts are computed lazily and
//! cached.

use std::cell::OnceCell;
use std::path::PathBuf;

use codeteam_context::files::FileSet;
use codeteam_context::find::{self, Commit, CommitHistory, SearchCorpus, SketchIndex};
use codeteam_context::graph::{self, ImportanceRanks, TaskFocus};
use codeteam_context::imports::{self, ImportDirection, ImportGraph, SourceFile};
use codeteam_context::index::SourceIndex;
use codeteam_context::map;
use codeteam_context::outline::DefinitionKind;
use codeteam_context::strategy::ProjectFacts;

/// The number of files that are ranked: no part shows more.
const RANKED: usize = 60;

/// The subject of a prompt.
pub(crate) struct PromptSubject<'a> {
    /// A description of the task, in words.
    pub(crate) words: String,
    /// The files that it touches.
    pub(crate) targets: Vec<String>,
    /// The folder in which computed facts are cached.
    pub(crate) cache: Option<PathBuf>,
    /// Loads past commits, newest first.
    pub(crate) history: &'a dyn Fn() -> Vec<Commit>,
}

/// Facts about a project for one prompt. Each is computed when it is first needed.
pub(crate) struct LazyProject<'a> {
    files: &'a dyn FileSet,
    about: PromptSubject<'a>,
    index: OnceCell<SourceIndex>,
    graph: OnceCell<ImportGraph>,
    ranks: OnceCell<ImportanceRanks>,
    found: OnceCell<Vec<String>>,
}

impl<'a> LazyProject<'a> {
    /// Wraps the files of a project; nothing is computed yet.
    pub(crate) fn new(files: &'a dyn FileSet, about: PromptSubject<'a>) -> Self {
        Self {
            files,
            about,
            index: OnceCell::new(),
            graph: OnceCell::new(),
            ranks: OnceCell::new(),
            found: OnceCell::new(),
        }
    }

    /// Draws the map of the repository within a token budget, without the files of the task, which
    /// are shown anyway.
    pub(crate) fn map(&self, budget: usize) -> String {
        let ranks = self.ranks.get_or_init(|| {
            let focus = TaskFocus {
                files: self.about.targets.clone(),
                names: Vec::new(),
            };
            graph::rank_by_references(self.index(), &focus, &[])
        });
        let options = map::MapOptions {
            touched: map::FocusDisplay::LeftOut,
            ..map::MapOptions::new(budget)
        };
        map::draw_map(self.index(), ranks, &options).text
    }

    fn index(&self) -> &SourceIndex {
        self.index
            .get_or_init(|| SourceIndex::build(self.files, self.about.cache.as_deref(), &|_, _| {}))
    }

    fn graph(&self) -> &ImportGraph {
        self.graph.get_or_init(|| {
            let index = self.index();
            let imports: Vec<_> = (0..index.len()).map(|at| index.imports(at)).collect();
            // Pass all files, because manifests determine what is a package.
            let files = self.files.list().iter();
            let sources = files.map(|file| SourceFile {
                path: &file.path,
                imports: index.file_number(&file.path).map_or(&[], |at| &imports[at]),
            });
            let sources: Vec<SourceFile<'_>> = sources.collect();
            ImportGraph::from_sources(&sources, &imports::manifest_reader(self.files))
        })
    }

    fn relevant_files(&self) -> &[String] {
        self.found.get_or_init(|| {
            let sketches = SketchIndex::build(self.files, self.about.cache.as_deref());
            let files: Vec<_> = sketches.candidates().collect();
            let commits = (self.about.history)();
            let history = CommitHistory::new(&commits, files.iter().map(|file| file.path));
            let corpus = SearchCorpus {
                files,
                lookup: Some(&sketches),
                history: Some(&history),
            };
            let options = find::RankingOptions {
                limit: RANKED,
                reasons: false,
                ..find::RankingOptions::default()
            };
            let found = find::rank_files(&self.about.words, &corpus, &options);
            // If the sketches cannot be saved, they are computed again.
            let _ = sketches.save();
            found.into_iter().map(|found| found.path).collect()
        })
    }
}

impl ProjectFacts for LazyProject<'_> {
    fn files(&self) -> &dyn FileSet {
        self.files
    }

    fn imports_of(&self, path: &str) -> Vec<String> {
        let found = self.graph().imports_of(path).into_iter();
        found.map(str::to_owned).collect()
    }

    fn importers_of(&self, path: &str, steps: usize) -> Vec<String> {
        let steps = u32::try_from(steps).unwrap_or(u32::MAX);
        let found = self
            .graph()
            .reachable_files(&[path], ImportDirection::Importers, steps);
        found
            .into_iter()
            .map(|reached| reached.path.to_owned())
            .collect()
    }

    fn relevant_files(&self, limit: usize) -> Vec<String> {
        self.relevant_files().iter().take(limit).cloned().collect()
    }

    fn is_interface(&self, path: &str) -> bool {
        let index = self.index();
        let Some(at) = index.file_number(path) else {
            return false;
        };
        let definitions = &index.outline(at).definitions;
        let top = definitions.iter().filter(|one| one.inside.is_none());
        let (mut types, mut others) = (0, 0);
        for definition in top {
            match definition.kind {
                DefinitionKind::Interface | DefinitionKind::Alias | DefinitionKind::Type => {
                    types += 1;
                }
                DefinitionKind::Function | DefinitionKind::Method | DefinitionKind::Macro => {
                    others += 1;
                }
                DefinitionKind::Value | DefinitionKind::Module | DefinitionKind::Impl => {}
            }
        }
        let methods = definitions.iter().filter(|one| {
            let outer = one.inside.and_then(|outer| definitions.get(outer as usize));
            one.kind == DefinitionKind::Method
                && outer.is_some_and(|outer| outer.kind == DefinitionKind::Type)
        });
        types > 0 && others + methods.count() <= types / 2
    }
}
