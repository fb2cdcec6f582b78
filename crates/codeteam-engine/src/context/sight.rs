//! What is known of a project while a prompt is made. What costs something is found out when a part
//! asks for it, and once.

use std::cell::OnceCell;
use std::path::PathBuf;

use codeteam_context::files::Files;
use codeteam_context::find::meaning::Model;
use codeteam_context::find::{self, Commit, Corpus, History, Sketches};
use codeteam_context::graph::{self, Focus, Ranks};
use codeteam_context::imports::{self, Graph, Source, Way};
use codeteam_context::index::Index;
use codeteam_context::map;
use codeteam_context::outline::Kind;
use codeteam_context::strategy::Project;

/// How many files are ranked: no part shows more.
const RANKED: usize = 60;

/// What a prompt is about.
pub(crate) struct About<'a> {
    /// What is to be done, in words.
    pub(crate) words: String,
    /// The files that it touches.
    pub(crate) targets: Vec<String>,
    /// Where what was worked out is kept.
    pub(crate) cache: Option<PathBuf>,
    /// The folder of an embedding model.
    pub(crate) model: Option<PathBuf>,
    /// Past commits, newest first.
    pub(crate) history: &'a dyn Fn() -> Vec<Commit>,
}

/// A project, seen for one task.
pub(crate) struct Sight<'a> {
    files: &'a dyn Files,
    about: About<'a>,
    index: OnceCell<Index>,
    graph: OnceCell<Graph>,
    ranks: OnceCell<Ranks>,
    found: OnceCell<Vec<String>>,
}

impl<'a> Sight<'a> {
    /// Sees a project by its files.
    pub(crate) fn new(files: &'a dyn Files, about: About<'a>) -> Self {
        Self {
            files,
            about,
            index: OnceCell::new(),
            graph: OnceCell::new(),
            ranks: OnceCell::new(),
            found: OnceCell::new(),
        }
    }

    /// The map of the repository within so many tokens, without the files of the task: they are
    /// shown anyway.
    pub(crate) fn map(&self, budget: usize) -> String {
        let ranks = self.ranks.get_or_init(|| {
            let focus = Focus {
                files: self.about.targets.clone(),
                names: Vec::new(),
            };
            graph::rank(self.index(), &focus, &[])
        });
        let options = map::Options {
            touched: map::Touched::LeftOut,
            ..map::Options::new(budget)
        };
        map::map(self.index(), ranks, &options).text
    }

    fn index(&self) -> &Index {
        self.index
            .get_or_init(|| Index::build(self.files, self.about.cache.as_deref(), &|_, _| {}))
    }

    fn graph(&self) -> &Graph {
        self.graph.get_or_init(|| {
            let index = self.index();
            let imports: Vec<_> = (0..index.len()).map(|at| index.imports(at)).collect();
            // All of them: manifests say what is a package.
            let files = self.files.list().iter();
            let sources = files.map(|file| Source {
                path: &file.path,
                imports: index.file(&file.path).map_or(&[], |at| &imports[at]),
            });
            let sources: Vec<Source<'_>> = sources.collect();
            Graph::of(&sources, &imports::reader(self.files))
        })
    }

    fn found(&self) -> &[String] {
        self.found.get_or_init(|| {
            let sketches = Sketches::take(self.files, self.about.cache.as_deref());
            let files: Vec<_> = sketches.candidates().collect();
            let commits = (self.about.history)();
            let history = History::new(&commits, files.iter().map(|file| file.path));
            // A run does not start without its model; one that is gone since is done without.
            let model = self
                .about
                .model
                .as_deref()
                .and_then(|model| Model::load(model).ok());
            let (words, cache) = (&self.about.words, self.about.cache.as_deref());
            let meaning = model.map(|model| model.nearness(words, &files, self.files, cache));
            let corpus = Corpus {
                files,
                look: Some(&sketches),
                history: Some(&history),
                meaning,
            };
            let options = find::Options {
                limit: RANKED,
                reasons: false,
                ..find::Options::default()
            };
            let found = find::rank(&self.about.words, &corpus, &options);
            // What cannot be kept is worked out again.
            let _ = sketches.save();
            found.into_iter().map(|found| found.path).collect()
        })
    }
}

impl Project for Sight<'_> {
    fn files(&self) -> &dyn Files {
        self.files
    }

    fn imports_of(&self, path: &str) -> Vec<String> {
        let found = self.graph().imports_of(path).into_iter();
        found.map(str::to_owned).collect()
    }

    fn importers_of(&self, path: &str, steps: usize) -> Vec<String> {
        let steps = u32::try_from(steps).unwrap_or(u32::MAX);
        let found = self.graph().reach(&[path], Way::Importers, steps);
        found
            .into_iter()
            .map(|reached| reached.path.to_owned())
            .collect()
    }

    fn relevant(&self, limit: usize) -> Vec<String> {
        self.found().iter().take(limit).cloned().collect()
    }

    fn is_interface(&self, path: &str) -> bool {
        let index = self.index();
        let Some(at) = index.file(path) else {
            return false;
        };
        let definitions = &index.outline(at).definitions;
        let top = definitions.iter().filter(|one| one.inside.is_none());
        let (mut types, mut others) = (0, 0);
        for definition in top {
            match definition.kind {
                Kind::Interface | Kind::Alias | Kind::Type => types += 1,
                Kind::Function | Kind::Method | Kind::Macro => others += 1,
                Kind::Value | Kind::Module | Kind::Impl => {}
            }
        }
        let methods = definitions.iter().filter(|one| {
            let outer = one.inside.and_then(|outer| definitions.get(outer as usize));
            one.kind == Kind::Method && outer.is_some_and(|outer| outer.kind == Kind::Type)
        });
        types > 0 && others + methods.count() <= types / 2
    }
}
