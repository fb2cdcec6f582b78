//! Which file imports which: imports are followed to the files they lead to.
//!
//! Works on a list of paths, what each file imports as [`outline`](crate::outline) found it, and a
//! few manifests that are asked for by name. A path need not exist: what a plan's tasks will write
//! is found as well, and a path with a `/` at its end stands for whatever will lie below it.
//!
//! An import leads to files of the list, or to a package that a manifest or the language itself
//! names, or to nothing that is known.

mod go;
mod java;
mod known;
mod manifests;
mod paths;
mod python;
mod queries;
mod rust;
mod script;

use std::collections::{BTreeSet, HashMap};
use std::ops::Range;

use self::go::GoResolver;
use self::java::{JavaFileScope, JavaResolver};
use self::paths::PathTable;
use self::python::PythonResolver;
pub use self::queries::{ImportDirection, ReachedFile};
use self::rust::RustResolver;
use self::script::ScriptResolver;
use crate::files::{FileContent, FileSet};
use crate::language::Language;
use crate::outline::{Import, ImportForm};

/// A file, and what it imports; nothing if that is not known, or not yet.
#[derive(Clone, Copy, Debug)]
pub struct SourceFile<'a> {
    /// Its path from the top, with `/`. With one at its end, whatever will lie below it.
    pub path: &'a str,
    /// What it imports.
    pub imports: &'a [Import],
}

/// Reads a manifest by its path; none if it cannot be read.
pub type ManifestReader<'a> = dyn Fn(&str) -> Option<String> + 'a;

/// Reads manifests of some files.
pub fn reader<F: FileSet + ?Sized>(files: &F) -> impl Fn(&str) -> Option<String> + '_ {
    |path| {
        let list = files.list();
        let at = list.binary_search_by(|file| file.path.as_str().cmp(path));
        match files.read(at.ok()?) {
            FileContent::Text(text) => Some(text),
            _ => None,
        }
    }
}

/// Which file imports which.
#[derive(Debug, Default)]
pub struct ImportGraph {
    /// The files, in the order of their paths.
    files: Vec<String>,
    /// Files that are imported together, as those of a folder are in Go. They follow the files in
    /// the numbers of nodes, so that an import of many files is one edge.
    groups: Vec<Vec<u32>>,
    /// The groups that a file is in.
    within: HashMap<u32, Vec<u32>>,
    /// What each file imports.
    out: Vec<Vec<ImportEdge>>,
    /// Which files import a node.
    back: Vec<Vec<u32>>,
    /// Imports that lead to no file, by file.
    outside: HashMap<u32, Vec<ExternalEdge>>,
    shown: Vec<StatementSpan>,
    /// All statements, one after the other.
    text: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct ImportEdge {
    to: u32,
    shown: u32,
}

#[derive(Debug)]
struct StatementSpan {
    line: u32,
    form: ImportForm,
    statement: Range<usize>,
}

#[derive(Debug)]
struct ExternalEdge {
    shown: u32,
    module: String,
    package: Option<String>,
}

/// The statement that shows an import.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ImportStatement<'g> {
    /// Its line, from 1.
    pub line: u32,
    /// What it says, on one line.
    pub statement: &'g str,
    /// What kind of statement it is.
    pub form: ImportForm,
}

/// An import that leads to none of the files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExternalImport<'g> {
    /// The statement.
    pub shown: ImportStatement<'g>,
    /// What is imported from, as it is written.
    pub module: &'g str,
    /// The package it belongs to, if the language or a manifest names it. None is not known.
    pub package: Option<&'g str>,
}

/// Where an import leads.
#[derive(Debug, PartialEq, Eq)]
enum ImportTarget {
    /// To these nodes.
    To(Vec<u32>),
    /// To the file itself, or to a place of the repository that has no file.
    Here,
    /// To a package that is known.
    Package(String),
    /// Nobody knows.
    Nowhere,
}

impl ImportTarget {
    /// To a file, if there is one.
    fn file(found: Option<u32>) -> Option<Self> {
        found.map(|file| Self::To(vec![file]))
    }
}

impl ImportGraph {
    /// Follows the imports of some files. The same files in another order give the same graph.
    pub fn of(sources: &[SourceFile<'_>], read: &ManifestReader<'_>) -> Self {
        let mut sources: Vec<&SourceFile<'_>> = sources.iter().collect();
        // What is known of a file goes before the plan to write it.
        sources.sort_by_key(|source| (source.path, source.imports.is_empty()));
        sources.dedup_by_key(|source| source.path);
        let paths = PathTable::new(sources.iter().map(|source| source.path).collect());
        let go = GoResolver::new(&paths, read);
        let languages = LanguageResolvers {
            python: PythonResolver::new(&paths, read),
            script: ScriptResolver::new(&paths, read),
            rust: RustResolver::new(&paths, &sources, read),
            java: JavaResolver::new(&paths, &sources, read),
            go,
        };
        let mut graph = Self {
            files: paths.all.iter().map(|path| (*path).to_owned()).collect(),
            groups: languages.go.groups.clone(),
            ..Self::default()
        };
        graph.out.resize_with(graph.files.len(), Vec::new);
        for (file, source) in (0..).zip(&sources) {
            let Some(language) = Language::of(source.path) else {
                continue;
            };
            let around = match language {
                Language::Java => JavaFileScope::of(source.imports),
                _ => JavaFileScope::default(),
            };
            let resolve = |import: &Import| languages.resolve(language, file, import, &around);
            for import in source.imports {
                if import.form == ImportForm::Within {
                    continue;
                }
                let mut lead = resolve(import);
                if lead == ImportTarget::Nowhere && paths.has_folders() {
                    paths.loosen(|| lead = resolve(import));
                }
                graph.add(file, import, lead);
            }
        }
        graph.turn();
        graph
    }

    fn add(&mut self, file: u32, import: &Import, lead: ImportTarget) {
        let place = usize::try_from(file).unwrap_or(usize::MAX);
        let is_mention = import.form == ImportForm::Mention;
        match lead {
            ImportTarget::To(mut nodes) => {
                nodes.sort_unstable();
                nodes.dedup();
                let known = &self.out[place];
                nodes.retain(|node| {
                    // A name in the code shows nothing that an import does not show already.
                    let is_known = is_mention && known.iter().any(|edge| edge.to == *node);
                    *node != file && !is_known
                });
                if nodes.is_empty() {
                    return;
                }
                let shown = self.show(import);
                let edges = nodes.into_iter().map(|to| ImportEdge { to, shown });
                self.out[place].extend(edges);
            }
            ImportTarget::Package(_) | ImportTarget::Nowhere if is_mention => {}
            ImportTarget::Package(package) => self.lose(file, import, Some(package)),
            ImportTarget::Nowhere => self.lose(file, import, None),
            ImportTarget::Here => {}
        }
    }

    fn lose(&mut self, file: u32, import: &Import, package: Option<String>) {
        let away = ExternalEdge {
            shown: self.show(import),
            module: import.module.clone(),
            package,
        };
        self.outside.entry(file).or_default().push(away);
    }

    fn show(&mut self, import: &Import) -> u32 {
        let start = self.text.len();
        self.text.push_str(&import.statement);
        self.shown.push(StatementSpan {
            line: import.line,
            form: import.form,
            statement: start..self.text.len(),
        });
        u32::try_from(self.shown.len() - 1).unwrap_or(u32::MAX)
    }

    /// Works out who imports a node, from what each file imports.
    fn turn(&mut self) {
        let nodes = self.files.len() + self.groups.len();
        self.back.resize_with(nodes, Vec::new);
        for (file, edges) in (0..).zip(&self.out) {
            let to: BTreeSet<u32> = edges.iter().map(|edge| edge.to).collect();
            for node in to {
                self.back[at(node)].push(file);
            }
        }
        let first = u32::try_from(self.files.len()).unwrap_or(u32::MAX);
        for (group, members) in (first..).zip(&self.groups) {
            for member in members {
                self.within.entry(*member).or_default().push(group);
            }
        }
    }
}

/// The number of a node, to look it up by.
fn at(node: u32) -> usize {
    usize::try_from(node).unwrap_or(usize::MAX)
}

/// What is known of each language.
struct LanguageResolvers<'a> {
    python: PythonResolver<'a>,
    script: ScriptResolver<'a>,
    rust: RustResolver<'a>,
    go: GoResolver<'a>,
    java: JavaResolver<'a>,
}

impl LanguageResolvers<'_> {
    fn resolve(
        &self,
        language: Language,
        file: u32,
        import: &Import,
        around: &JavaFileScope<'_>,
    ) -> ImportTarget {
        match language {
            Language::Python => self.python.resolve(file, import),
            Language::JavaScript | Language::TypeScript | Language::Tsx => {
                self.script.resolve(file, import)
            }
            Language::Rust => self.rust.resolve(file, import),
            Language::Go => self.go.resolve(file, import),
            Language::Java => self.java.resolve(file, import, around),
        }
    }
}
