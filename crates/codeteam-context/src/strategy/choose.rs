//! Chooses the files of a context.

use std::collections::{BTreeMap, BTreeSet};

use codeteam_patterns::{FilePatterns, InvalidPattern};

use super::{
    ALWAYS, DIFF, FileForm, INCLUDED, INTERNALS, MAP, SPECIAL, Strategy, StrategyPart, TARGET,
    TREE, file_purposes, is_diff,
};
use crate::files::{FileEntry, FileSet};
use crate::language::Language;

/// The largest number of files that a variable stands for, unless the part sets a limit.
const LIMIT: usize = 50;
/// The number of files that stand in for those that a task does not name.
const STAND_INS: usize = 5;
/// Parts that come after the files that a role names itself.
const AFTER_INCLUDED: [&str; 3] = ["related", MAP, TREE];

/// Facts about a project. Expensive ones are requested only if a part needs them.
pub trait ProjectFacts {
    /// Returns the project's files.
    fn files(&self) -> &dyn FileSet;

    /// Returns the files that a file imports.
    fn imports_of(&self, path: &str) -> Vec<String>;

    /// Returns the files that import a file, directly or within the given number of steps.
    fn importers_of(&self, path: &str, steps: usize) -> Vec<String>;

    /// Returns the files that the words of the task lead to, the best first.
    fn relevant_files(&self, limit: usize) -> Vec<String>;

    /// Returns true if a file defines little but types.
    fn is_interface(&self, path: &str) -> bool;
}

/// Facts about the task.
#[derive(Clone, Copy, Debug, Default)]
pub struct TaskFacts<'a> {
    /// The files that the task names; `folder/` means everything in it.
    pub targets: &'a [String],
    /// The files that the brief for this work names.
    pub mentioned: &'a [String],
    /// The files that the context stays close to; unrestricted if empty.
    pub scope: &'a [String],
    /// The files that the change touches.
    pub changed: &'a [String],
    /// Whether the worker sees nothing of the project but this context.
    pub blind: bool,
}

/// What a role wants to see.
#[derive(Clone, Copy, Debug, Default)]
pub struct ContextRequest<'a> {
    /// The strategy, if the role has one.
    pub strategy: Option<&'a Strategy>,
    /// Files to include, as patterns and variables.
    pub include: &'a [String],
    /// Files that are not shown.
    pub exclude: &'a [String],
    /// Files that are always included.
    pub always_include: &'a [String],
    /// Files that the role must not see at all.
    pub hidden: &'a [String],
    /// Whether the diff of the work so far is included.
    pub git_diff: bool,
}

/// A file chosen for a part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PickedFile {
    /// The index in the list of files; `None` if the file does not exist yet.
    pub at: Option<usize>,
    /// The path from the top of the repository.
    pub path: String,
    /// The form in which it is shown.
    pub form: FileForm,
}

/// The content of a part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PartBody {
    /// A list of files.
    Files(Vec<PickedFile>),
    /// Content given by the part's name, one of [`SPECIAL`].
    Special,
}

/// A part with its chosen content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChosenPart {
    /// The part's name.
    pub name: String,
    /// What the part consists of.
    pub body: PartBody,
}

/// The chosen parts of a context.
#[derive(Clone, Debug, Default)]
pub struct ContextSelection {
    /// The parts, the most important first.
    pub parts: Vec<ChosenPart>,
    hidden: FilePatterns,
    internals: BTreeSet<String>,
}

impl ContextSelection {
    /// Returns the files that are shown as what other code can see of them, at most.
    pub fn internals(&self) -> impl Iterator<Item = &str> {
        self.internals.iter().map(String::as_str)
    }

    /// Returns true if the diff of a file may be shown: the file is not hidden, and not restricted
    /// to its public declarations.
    pub fn shows_changes_of(&self, path: &str) -> bool {
        !self.hidden.matches(path) && !self.internals.contains(path)
    }
}

/// Chooses the parts of a context, the most important first. A file is in one part only.
pub fn select_context(
    wishes: &ContextRequest<'_>,
    matter: &TaskFacts<'_>,
    project: &dyn ProjectFacts,
) -> Result<ContextSelection, InvalidPattern> {
    let chooser = FileChooser::new(wishes, matter, project)?;
    let mut taken = BTreeSet::new();
    let mut chosen = Vec::new();
    for part in requested_parts(wishes, matter) {
        let body = if SPECIAL.contains(&part.name.as_str()) {
            PartBody::Special
        } else {
            PartBody::Files(chooser.files_of(&part, &mut taken)?)
        };
        chosen.push(ChosenPart {
            name: part.name,
            body,
        });
    }
    chosen.retain(|part| part.body != PartBody::Files(Vec::new()));
    Ok(ContextSelection {
        parts: chosen,
        hidden: chooser.hidden,
        internals: chooser.internals,
    })
}

/// Returns the parts that a role wants, the most important first.
fn requested_parts(wishes: &ContextRequest<'_>, matter: &TaskFacts<'_>) -> Vec<StrategyPart> {
    let named = |name: &str, include: &[&str]| StrategyPart {
        name: name.to_owned(),
        include: include.iter().map(|word| (*word).to_owned()).collect(),
        ..StrategyPart::default()
    };
    let mut parts: Vec<StrategyPart> = wishes
        .strategy
        .map(|strategy| strategy.parts.clone())
        .unwrap_or_default();
    let has = |parts: &[StrategyPart], name: &str| parts.iter().any(|part| part.name == name);
    let (diffs, files): (Vec<String>, Vec<String>) = wishes
        .include
        .iter()
        .cloned()
        .partition(|word| is_diff(word));
    let at = parts
        .iter()
        .position(|part| AFTER_INCLUDED.contains(&part.name.as_str()))
        .unwrap_or(parts.len());
    if !files.is_empty() {
        let part = StrategyPart {
            include: files,
            ..named(INCLUDED, &[])
        };
        parts.insert(at, part);
    }
    if (wishes.git_diff || !diffs.is_empty()) && !has(&parts, DIFF) {
        parts.insert(at, named(DIFF, &[]));
    }
    if matter.blind && !has(&parts, TREE) {
        parts.push(named(TREE, &[]));
    }
    if !wishes.always_include.is_empty() {
        let part = StrategyPart {
            include: wishes.always_include.to_vec(),
            ..named(ALWAYS, &[])
        };
        parts.insert(0, part);
    }
    if matter.blind {
        // Whoever rewrites a file must have all of it, so no earlier part may take it in another
        // form.
        let own = parts.iter().position(|part| part.name == TARGET);
        let own = own.map(|at| parts.remove(at).include).unwrap_or_default();
        let mut target = named(TARGET, &["$TARGET"]);
        let others = own.into_iter().filter(|word| word != "$TARGET");
        target.include.extend(others);
        parts.insert(0, target);
    }
    parts
}

/// Chooses files, with precomputed lookups.
struct FileChooser<'a> {
    matter: &'a TaskFacts<'a>,
    project: &'a dyn ProjectFacts,
    files: &'a [FileEntry],
    by_path: BTreeMap<&'a str, usize>,
    excluded: FilePatterns,
    hidden: FilePatterns,
    /// Files restricted to their public declarations.
    internals: BTreeSet<String>,
}

impl<'a> FileChooser<'a> {
    fn new(
        wishes: &ContextRequest<'_>,
        matter: &'a TaskFacts<'a>,
        project: &'a dyn ProjectFacts,
    ) -> Result<Self, InvalidPattern> {
        let files = project.files().list();
        let (variables, patterns): (Vec<&String>, Vec<&String>) = wishes
            .exclude
            .iter()
            .partition(|word| word.starts_with('$'));
        let mut chooser = Self {
            matter,
            project,
            files,
            by_path: files
                .iter()
                .enumerate()
                .map(|(at, file)| (file.path.as_str(), at))
                .collect(),
            excluded: FilePatterns::new(&patterns)?,
            hidden: FilePatterns::for_hidden_files(wishes.hidden),
            internals: BTreeSet::new(),
        };
        let mut excluded: Vec<String> = patterns.into_iter().cloned().collect();
        for word in variables {
            let paths = chooser.files_of_variable(word, usize::MAX)?;
            let paths = paths.into_iter().map(|(path, _)| path);
            if word == INTERNALS {
                chooser.internals.extend(paths);
            } else {
                excluded.extend(paths.map(|path| codeteam_patterns::escape(&path)));
            }
        }
        chooser.excluded = FilePatterns::new(&excluded)?;
        Ok(chooser)
    }

    /// Returns the files of a part that no earlier part has taken.
    fn files_of(
        &self,
        part: &StrategyPart,
        taken: &mut BTreeSet<String>,
    ) -> Result<Vec<PickedFile>, InvalidPattern> {
        let mut picks = Vec::new();
        let limit = part.limit.unwrap_or(LIMIT);
        for word in &part.include {
            let found = if word.starts_with('$') {
                self.files_of_variable(word, limit)?
            } else {
                let form = FileForm::Whole;
                self.files_matching(FilePatterns::new([word])?)
                    .map(|path| (path, form))
                    .collect()
            };
            for (path, form) in found {
                if picks.len() >= limit && word != "$TARGET" {
                    break;
                }
                if self.excluded.matches(&path) || self.hidden.matches(&path) {
                    continue;
                }
                if !taken.insert(path.clone()) {
                    continue;
                }
                let least = if self.internals.contains(&path) {
                    FileForm::Public
                } else {
                    FileForm::Whole
                };
                picks.push(PickedFile {
                    at: self.by_path.get(path.as_str()).copied(),
                    path,
                    form: form.max(part.form).max(least),
                });
            }
        }
        Ok(picks)
    }

    /// Returns the files that a variable stands for, the most important first.
    fn files_of_variable(
        &self,
        word: &str,
        limit: usize,
    ) -> Result<Vec<(String, FileForm)>, InvalidPattern> {
        let whole = |paths: Vec<String>| paths.into_iter().map(|path| (path, FileForm::Whole));
        Ok(match word {
            "$TARGET" => whole(self.target_files()).collect(),
            "$TARGET_IMPORTS" => {
                let near =
                    self.neighbour_files(self.target_files(), |path| self.project.imports_of(path));
                whole(near).collect()
            }
            "$TARGET_IMPORTERS" => {
                let near = self.neighbour_files(self.target_files(), |path| {
                    self.project.importers_of(path, 1)
                });
                whole(near).collect()
            }
            "$MENTIONED" => whole(self.matter.mentioned.to_vec())
                .filter(|(path, _)| self.by_path.contains_key(path.as_str()))
                .collect(),
            "$TARGET_TESTS" => whole(self.test_files()).collect(),
            "$CHANGED" => whole(self.matter.changed.to_vec())
                .filter(|(path, _)| self.by_path.contains_key(path.as_str()))
                .collect(),
            "$BLAST_RADIUS" => {
                let changed = self.matter.changed.to_vec();
                let near = self.neighbour_files(changed, |path| self.project.importers_of(path, 2));
                whole(near).collect()
            }
            "$RELATED" => {
                let related = self.project.relevant_files(limit);
                let near = related.into_iter().filter(|path| self.in_scope(path));
                whole(near.collect()).collect()
            }
            "$INTERFACE_DEFINITIONS" => whole(self.interface_files()?).collect(),
            "$COMPONENT_PUBLIC_API" => {
                let component = self.component_files().into_iter();
                component.map(|path| (path, FileForm::Public)).collect()
            }
            INTERNALS => whole(self.component_files()).collect(),
            "$DOCS" => whole(self.files_for_purpose(file_purposes::DOCS)?).collect(),
            // A file that the change itself adds or edits cannot be a standard to judge it by.
            "$STANDARDS" => whole(self.files_for_purpose(file_purposes::STANDARDS)?)
                .filter(|(path, _)| !self.matter.changed.contains(path))
                .collect(),
            "$SECURITY" => whole(self.files_for_purpose(file_purposes::SECURITY)?).collect(),
            _ => {
                return Err(InvalidPattern {
                    pattern: word.to_owned(),
                    why: "there is no such variable".to_owned(),
                });
            }
        })
    }

    fn files_matching(&self, patterns: FilePatterns) -> impl Iterator<Item = String> + use<'a> {
        let paths = self.files.iter().map(|file| file.path.clone());
        paths.filter(move |path| patterns.matches(path))
    }

    /// Returns the files whose names match a purpose.
    fn files_for_purpose(&self, patterns: &[&str]) -> Result<Vec<String>, InvalidPattern> {
        let patterns = FilePatterns::case_insensitive(patterns)?;
        Ok(self.files_matching(patterns).collect())
    }

    /// Returns the files that the task names, including those that do not exist yet.
    fn target_files(&self) -> Vec<String> {
        let mut targets = Vec::new();
        for name in self.matter.targets {
            let folder = name.trim_end_matches('/');
            let below = format!("{folder}/");
            let inside = self.files.iter().map(|file| &file.path);
            let inside: Vec<String> = inside
                .filter(|path| path.starts_with(&below))
                .cloned()
                .collect();
            if !name.ends_with('/') && (inside.is_empty() || self.by_path.contains_key(folder)) {
                targets.push(name.clone());
            } else {
                targets.extend(inside);
            }
        }
        if self.matter.targets.is_empty() {
            return self.project.relevant_files(STAND_INS);
        }
        targets
    }

    /// Returns the neighbours of files, without the files themselves.
    fn neighbour_files(&self, from: Vec<String>, of: impl Fn(&str) -> Vec<String>) -> Vec<String> {
        let from: BTreeSet<String> = from.into_iter().collect();
        let mut seen = BTreeSet::new();
        let all = from.iter().flat_map(|path| of(path));
        all.filter(|path| !from.contains(path) && self.in_scope(path))
            .filter(|path| seen.insert(path.clone()))
            .collect()
    }

    /// Returns the tests of the task's files, those with test names first. A test is in the same
    /// language as what it tests; other files next to tests do not count.
    fn test_files(&self) -> Vec<String> {
        let targets = self.target_files();
        let subjects: BTreeSet<_> = targets
            .iter()
            .map(|path| file_purposes::test_subject(path))
            .collect();
        let paths = self.files.iter().map(|file| &file.path);
        let mut found: Vec<String> = paths
            .filter(|path| {
                file_purposes::is_test(path)
                    && subjects.contains(&file_purposes::test_subject(path))
            })
            .cloned()
            .collect();
        found.sort_by_key(|path| !file_purposes::is_test_by_name(path));
        found
    }

    /// Returns the source files in the folders of the task, without tests.
    fn component_files(&self) -> Vec<String> {
        let targets = self.target_files();
        let folders: BTreeSet<&str> = targets.iter().map(|path| folder(path)).collect();
        let paths = self.files.iter().map(|file| &file.path);
        paths
            .filter(|path| Language::from_path(path).is_some() && !file_purposes::is_test(path))
            .filter(|path| folders.contains(folder(path)))
            .cloned()
            .collect()
    }

    fn interface_files(&self) -> Result<Vec<String>, InvalidPattern> {
        let mut found = self.files_for_purpose(file_purposes::INTERFACES)?;
        let component = self.component_files().into_iter();
        found.extend(component.filter(|path| self.project.is_interface(path)));
        found.retain(|path| self.in_scope(path));
        Ok(found)
    }

    fn in_scope(&self, path: &str) -> bool {
        let scope = self.matter.scope;
        scope.is_empty()
            || scope.iter().any(|name| {
                let near = folder(name);
                near.is_empty() || path.starts_with(near) && path[near.len()..].starts_with('/')
            })
    }
}

/// Returns the folder of a file; a folder's path, which ends with `/`, gives the folder itself.
fn folder(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

#[cfg(test)]
mod tests;
