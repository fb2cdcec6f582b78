//! Builds the graph of which file imports which, by resolving imports to files.
//!
//! It works on a list of paths, the imports of each file as [`outline`](crate::outline) found them,
//! and a few manifests that are read by name. A path need not exist: files that a plan's tasks will
//! write are resolved as well, and a path that ends with `/` stands for whatever will be created
//! below it.
//!
//! An import resolves to files of the list, to a package that a manifest or the language itself
//! names, or to nothing known.

mod go;
mod java;
mod manifests;
mod paths;
mod python;
mod queries;
mod rust;
mod script;
mod standard_libraries;

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

/// A file with its imports; empty if they are unknown, or the file does not exist yet.
#[derive(Clone, Copy, Debug)]
pub struct SourceFile<'a> {
    /// The path from the top, with `/`. With a trailing `/`, whatever will be created below it.
    pub path: &'a str,
    /// The imports as they are written in the file.
    pub imports: &'a [Import],
}

/// Reads a manifest by its path; returns `None` if it cannot be read.
pub type ManifestReader<'a> = dyn Fn(&str) -> Option<String> + 'a;

/// Returns a reader for the manifests of some files.
pub fn manifest_reader<F: FileSet + ?Sized>(files: &F) -> impl Fn(&str) -> Option<String> + '_ {
    |path| {
        let list = files.list();
        let at = list.binary_search_by(|file| file.path.as_str().cmp(path));
        match files.read(at.ok()?) {
            FileContent::Text(text) => Some(text),
            _ => None,
        }
    }
}

/// The graph of which file imports which.
///
/// Nodes are files, numbered in the order of their paths, followed by groups of files that are
/// imported together. The same sources always give the same graph, in whatever order they are
/// passed in. Every edge remembers the statement that it comes from, so that a claim such as "A
/// needs B" can be shown with its line.
#[derive(Debug, Default)]
pub struct ImportGraph {
    /// The files, in the order of their paths.
    files: Vec<String>,
    /// Files that are imported together, as those of a folder are in Go. Groups are numbered after
    /// the files, so that importing many files takes a single edge.
    groups: Vec<Vec<u32>>,
    /// The groups that each file belongs to.
    groups_of_file: HashMap<u32, Vec<u32>>,
    /// The imports of each file.
    imports_of_file: Vec<Vec<ImportEdge>>,
    /// The files that import each node.
    importers_of_node: Vec<Vec<u32>>,
    /// For each file, the imports that resolve to no file.
    outside: HashMap<u32, Vec<ExternalEdge>>,
    statements: Vec<StatementSpan>,
    /// The texts of all statements, concatenated.
    text: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct ImportEdge {
    to: u32,
    statement: u32,
}

#[derive(Debug)]
struct StatementSpan {
    line: u32,
    form: ImportForm,
    statement: Range<usize>,
}

#[derive(Debug)]
struct ExternalEdge {
    statement: u32,
    module: String,
    package: Option<String>,
}

/// The statement behind an import.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ImportStatement<'g> {
    /// The line number, from 1.
    pub line: u32,
    /// The statement's text, on one line.
    pub statement: &'g str,
    /// The kind of statement.
    pub form: ImportForm,
}

/// An import that resolves to none of the files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExternalImport<'g> {
    /// The import statement.
    pub import: ImportStatement<'g>,
    /// The imported module, as it is written.
    pub module: &'g str,
    /// The package that it belongs to, if the language or a manifest names it; `None` if it is
    /// unknown.
    pub package: Option<&'g str>,
}

/// The result of resolving an import.
#[derive(Debug, PartialEq, Eq)]
enum ImportTarget {
    /// These nodes.
    To(Vec<u32>),
    /// The file itself, or a place of the repository that has no file.
    Here,
    /// A known package.
    Package(String),
    /// Unknown.
    Nowhere,
}

impl ImportTarget {
    /// Returns the target for a file, if there is one.
    fn from_file(found: Option<u32>) -> Option<Self> {
        found.map(|file| Self::To(vec![file]))
    }
}

impl ImportGraph {
    /// Resolves the imports of some files. The order of the files does not matter.
    pub fn from_sources(sources: &[SourceFile<'_>], read: &ManifestReader<'_>) -> Self {
        let mut sources: Vec<&SourceFile<'_>> = sources.iter().collect();
        // An existing file takes precedence over a plan to write it.
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
        graph
            .imports_of_file
            .resize_with(graph.files.len(), Vec::new);
        for (file, source) in (0..).zip(&sources) {
            let Some(language) = Language::from_path(source.path) else {
                continue;
            };
            let around = match language {
                Language::Java => JavaFileScope::from_imports(source.imports),
                _ => JavaFileScope::default(),
            };
            let resolve = |import: &Import| languages.resolve(language, file, import, &around);
            for import in source.imports {
                if import.form == ImportForm::Within {
                    continue;
                }
                let mut lead = resolve(import);
                if lead == ImportTarget::Nowhere && paths.has_planned_folders() {
                    paths.with_planned_files(|| lead = resolve(import));
                }
                graph.add_import(file, import, lead);
            }
        }
        graph.index_importers();
        graph
    }

    fn add_import(&mut self, file: u32, import: &Import, lead: ImportTarget) {
        let place = usize::try_from(file).unwrap_or(usize::MAX);
        let is_mention = import.form == ImportForm::Mention;
        match lead {
            ImportTarget::To(mut nodes) => {
                nodes.sort_unstable();
                nodes.dedup();
                let known = &self.imports_of_file[place];
                nodes.retain(|node| {
                    // A mention in the code adds nothing to an import that is already known.
                    let is_known = is_mention && known.iter().any(|edge| edge.to == *node);
                    *node != file && !is_known
                });
                if nodes.is_empty() {
                    return;
                }
                let shown = self.add_statement(import);
                let edges = nodes.into_iter().map(|to| ImportEdge {
                    to,
                    statement: shown,
                });
                self.imports_of_file[place].extend(edges);
            }
            ImportTarget::Package(_) | ImportTarget::Nowhere if is_mention => {}
            ImportTarget::Package(package) => self.add_external_import(file, import, Some(package)),
            ImportTarget::Nowhere => self.add_external_import(file, import, None),
            ImportTarget::Here => {}
        }
    }

    fn add_external_import(&mut self, file: u32, import: &Import, package: Option<String>) {
        let away = ExternalEdge {
            statement: self.add_statement(import),
            module: import.module.clone(),
            package,
        };
        self.outside.entry(file).or_default().push(away);
    }

    fn add_statement(&mut self, import: &Import) -> u32 {
        let start = self.text.len();
        self.text.push_str(&import.statement);
        self.statements.push(StatementSpan {
            line: import.line,
            form: import.form,
            statement: start..self.text.len(),
        });
        u32::try_from(self.statements.len() - 1).unwrap_or(u32::MAX)
    }

    /// Derives the importers of each node from the imports of each file.
    fn index_importers(&mut self) {
        let nodes = self.files.len() + self.groups.len();
        self.importers_of_node.resize_with(nodes, Vec::new);
        for (file, edges) in (0..).zip(&self.imports_of_file) {
            let to: BTreeSet<u32> = edges.iter().map(|edge| edge.to).collect();
            for node in to {
                self.importers_of_node[node_index(node)].push(file);
            }
        }
        let first = u32::try_from(self.files.len()).unwrap_or(u32::MAX);
        for (group, members) in (first..).zip(&self.groups) {
            for member in members {
                self.groups_of_file.entry(*member).or_default().push(group);
            }
        }
    }
}

/// Returns a node's number as an index.
fn node_index(node: u32) -> usize {
    usize::try_from(node).unwrap_or(usize::MAX)
}

/// The resolver of each language.
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
