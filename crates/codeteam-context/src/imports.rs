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

use self::go::Go;
use self::java::{Around, Java};
use self::paths::Paths;
use self::python::Python;
pub use self::queries::{Reached, Way};
use self::rust::Rust;
use self::script::Script;
use crate::files::{Content, Files};
use crate::language::Language;
use crate::outline::{Form, Import};

/// A file, and what it imports; nothing if that is not known, or not yet.
#[derive(Clone, Copy, Debug)]
pub struct Source<'a> {
    /// Its path from the top, with `/`. With one at its end, whatever will lie below it.
    pub path: &'a str,
    /// What it imports.
    pub imports: &'a [Import],
}

/// Reads a manifest by its path; none if it cannot be read.
pub type Read<'a> = dyn Fn(&str) -> Option<String> + 'a;

/// Reads manifests of some files.
pub fn reader<F: Files + ?Sized>(files: &F) -> impl Fn(&str) -> Option<String> + '_ {
    |path| {
        let list = files.list();
        let at = list.binary_search_by(|file| file.path.as_str().cmp(path));
        match files.read(at.ok()?) {
            Content::Text(text) => Some(text),
            _ => None,
        }
    }
}

/// Which file imports which.
#[derive(Debug, Default)]
pub struct Graph {
    /// The files, in the order of their paths.
    files: Vec<String>,
    /// Files that are imported together, as those of a folder are in Go. They follow the files in
    /// the numbers of nodes, so that an import of many files is one edge.
    groups: Vec<Vec<u32>>,
    /// The groups that a file is in.
    within: HashMap<u32, Vec<u32>>,
    /// What each file imports.
    out: Vec<Vec<Edge>>,
    /// Which files import a node.
    back: Vec<Vec<u32>>,
    /// Imports that lead to no file, by file.
    outside: HashMap<u32, Vec<Away>>,
    shown: Vec<Seen>,
    /// All statements, one after the other.
    text: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Edge {
    to: u32,
    shown: u32,
}

#[derive(Debug)]
struct Seen {
    line: u32,
    form: Form,
    statement: Range<usize>,
}

#[derive(Debug)]
struct Away {
    shown: u32,
    module: String,
    package: Option<String>,
}

/// The statement that shows an import.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shown<'g> {
    /// Its line, from 1.
    pub line: u32,
    /// What it says, on one line.
    pub statement: &'g str,
    /// What kind of statement it is.
    pub form: Form,
}

/// An import that leads to none of the files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outside<'g> {
    /// The statement.
    pub shown: Shown<'g>,
    /// What is imported from, as it is written.
    pub module: &'g str,
    /// The package it belongs to, if the language or a manifest names it. None is not known.
    pub package: Option<&'g str>,
}

/// Where an import leads.
#[derive(Debug, PartialEq, Eq)]
enum Lead {
    /// To these nodes.
    To(Vec<u32>),
    /// To the file itself, or to a place of the repository that has no file.
    Here,
    /// To a package that is known.
    Package(String),
    /// Nobody knows.
    Nowhere,
}

impl Lead {
    /// To a file, if there is one.
    fn file(found: Option<u32>) -> Option<Self> {
        found.map(|file| Self::To(vec![file]))
    }
}

impl Graph {
    /// Follows the imports of some files. The same files in another order give the same graph.
    pub fn of(sources: &[Source<'_>], read: &Read<'_>) -> Self {
        let mut sources: Vec<&Source<'_>> = sources.iter().collect();
        // What is known of a file goes before the plan to write it.
        sources.sort_by_key(|source| (source.path, source.imports.is_empty()));
        sources.dedup_by_key(|source| source.path);
        let paths = Paths::new(sources.iter().map(|source| source.path).collect());
        let go = Go::new(&paths, read);
        let languages = Languages {
            python: Python::new(&paths, read),
            script: Script::new(&paths, read),
            rust: Rust::new(&paths, &sources, read),
            java: Java::new(&paths, &sources, read),
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
                Language::Java => Around::of(source.imports),
                _ => Around::default(),
            };
            let resolve = |import: &Import| languages.resolve(language, file, import, &around);
            for import in source.imports {
                if import.form == Form::Within {
                    continue;
                }
                let mut lead = resolve(import);
                if lead == Lead::Nowhere && paths.has_folders() {
                    paths.loosen(|| lead = resolve(import));
                }
                graph.add(file, import, lead);
            }
        }
        graph.turn();
        graph
    }

    fn add(&mut self, file: u32, import: &Import, lead: Lead) {
        let place = usize::try_from(file).unwrap_or(usize::MAX);
        let is_mention = import.form == Form::Mention;
        match lead {
            Lead::To(mut nodes) => {
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
                let edges = nodes.into_iter().map(|to| Edge { to, shown });
                self.out[place].extend(edges);
            }
            Lead::Package(_) | Lead::Nowhere if is_mention => {}
            Lead::Package(package) => self.lose(file, import, Some(package)),
            Lead::Nowhere => self.lose(file, import, None),
            Lead::Here => {}
        }
    }

    fn lose(&mut self, file: u32, import: &Import, package: Option<String>) {
        let away = Away {
            shown: self.show(import),
            module: import.module.clone(),
            package,
        };
        self.outside.entry(file).or_default().push(away);
    }

    fn show(&mut self, import: &Import) -> u32 {
        let start = self.text.len();
        self.text.push_str(&import.statement);
        self.shown.push(Seen {
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
struct Languages<'a> {
    python: Python<'a>,
    script: Script<'a>,
    rust: Rust<'a>,
    go: Go<'a>,
    java: Java<'a>,
}

impl Languages<'_> {
    fn resolve(&self, language: Language, file: u32, import: &Import, around: &Around<'_>) -> Lead {
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
