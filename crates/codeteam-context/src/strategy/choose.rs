//! Chooses the files of a context.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    ALWAYS, DIFF, FileForm, FilePatterns, INCLUDED, InvalidPattern, MAP, SPECIAL, Strategy,
    StrategyPart, TARGET, TREE, is_diff, wanted,
};
use crate::files::{FileEntry, FileSet};
use crate::language::Language;

/// How many files a variable stands for at most, if the part does not say.
const LIMIT: usize = 50;
/// How many files stand in for those that a task does not name.
const STAND_INS: usize = 5;
/// Parts that come after what a role names itself.
const AFTER_INCLUDED: [&str; 3] = ["related", MAP, TREE];

/// What is known of a project. What costs something is asked for only if a part needs it.
pub trait ProjectFacts {
    /// Its files.
    fn files(&self) -> &dyn FileSet;

    /// The files that one imports.
    fn imports_of(&self, path: &str) -> Vec<String>;

    /// The files that import one, and those that import these, so many steps away.
    fn importers_of(&self, path: &str, steps: usize) -> Vec<String>;

    /// The files that the words of the task lead to, the best first.
    fn relevant(&self, limit: usize) -> Vec<String>;

    /// Whether a file defines little but types.
    fn is_interface(&self, path: &str) -> bool;
}

/// What the task is about.
#[derive(Clone, Copy, Debug, Default)]
pub struct TaskFacts<'a> {
    /// The files that the task names; `folder/` is all that is in it.
    pub targets: &'a [String],
    /// The files that the brief for this work names.
    pub mentioned: &'a [String],
    /// The files that what is shown keeps near to; all if there are none.
    pub scope: &'a [String],
    /// The files that the change touches.
    pub changed: &'a [String],
    /// Whether the worker sees nothing of the project but this.
    pub blind: bool,
}

/// What a role wants to see.
#[derive(Clone, Copy, Debug, Default)]
pub struct ContextRequest<'a> {
    /// How it is chosen.
    pub strategy: Option<&'a Strategy>,
    /// Files, as patterns and variables.
    pub include: &'a [String],
    /// Files that are not shown.
    pub exclude: &'a [String],
    /// Files that are there in any case.
    pub always_include: &'a [String],
    /// Files that it must not see at all.
    pub hidden: &'a [String],
    /// Whether what has changed so far is part of it.
    pub git_diff: bool,
}

/// A file of a part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PickedFile {
    /// Its place in the list of files; `None` if it is not there yet.
    pub at: Option<usize>,
    /// Its path.
    pub path: String,
    /// How it is shown.
    pub form: FileForm,
}

/// What a part is made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PartBody {
    /// Files.
    Files(Vec<PickedFile>),
    /// What its name says, one of [`SPECIAL`].
    Special,
}

/// A part as it is to be shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChosenPart {
    /// What it is called.
    pub name: String,
    /// What it is made of.
    pub body: PartBody,
}

/// What was chosen.
#[derive(Clone, Debug, Default)]
pub struct ContextSelection {
    /// The parts, the most important first.
    pub parts: Vec<ChosenPart>,
    hidden: FilePatterns,
    internals: BTreeSet<String>,
}

impl ContextSelection {
    /// Whether a change of a file may be shown: not of one that is hidden, or of which only what
    /// others can see is shown.
    pub fn shows_changes_of(&self, path: &str) -> bool {
        !self.hidden.matches(path) && !self.internals.contains(path)
    }
}

/// Chooses the parts of a context, the most important first. A file is in one part only.
pub fn choose(
    wishes: &ContextRequest<'_>,
    matter: &TaskFacts<'_>,
    project: &dyn ProjectFacts,
) -> Result<ContextSelection, InvalidPattern> {
    let chooser = FileChooser::new(wishes, matter, project)?;
    let mut taken = BTreeSet::new();
    let mut chosen = Vec::new();
    for part in parts(wishes, matter) {
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

/// The parts that a role wants, the most important first.
fn parts(wishes: &ContextRequest<'_>, matter: &TaskFacts<'_>) -> Vec<StrategyPart> {
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
        // Whoever writes a file anew must have it whole: no part before takes it, in another form.
        let own = parts.iter().position(|part| part.name == TARGET);
        let own = own.map(|at| parts.remove(at).include).unwrap_or_default();
        let mut target = named(TARGET, &["$TARGET"]);
        let others = own.into_iter().filter(|word| word != "$TARGET");
        target.include.extend(others);
        parts.insert(0, target);
    }
    parts
}

/// What is asked of a project again and again.
struct FileChooser<'a> {
    matter: &'a TaskFacts<'a>,
    project: &'a dyn ProjectFacts,
    files: &'a [FileEntry],
    by_path: BTreeMap<&'a str, usize>,
    excluded: FilePatterns,
    hidden: FilePatterns,
    /// Of these files only what others can see is shown.
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
            hidden: FilePatterns::hiding(wishes.hidden)?,
            internals: BTreeSet::new(),
        };
        let mut excluded: Vec<String> = patterns.into_iter().cloned().collect();
        for word in variables {
            let paths = chooser.variable(word, usize::MAX)?;
            let paths = paths.into_iter().map(|(path, _)| path);
            if word == "$IMPLEMENTATION_INTERNALS" {
                chooser.internals.extend(paths);
            } else {
                excluded.extend(paths.map(|path| globset::escape(&path)));
            }
        }
        chooser.excluded = FilePatterns::new(&excluded)?;
        Ok(chooser)
    }

    /// The files of a part that no part before it has taken.
    fn files_of(
        &self,
        part: &StrategyPart,
        taken: &mut BTreeSet<String>,
    ) -> Result<Vec<PickedFile>, InvalidPattern> {
        let mut picks = Vec::new();
        let limit = part.limit.unwrap_or(LIMIT);
        for word in &part.include {
            let found = if word.starts_with('$') {
                self.variable(word, limit)?
            } else {
                let form = FileForm::Whole;
                self.matching(FilePatterns::new([word])?)
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

    /// The files that a variable stands for, the most important first.
    fn variable(
        &self,
        word: &str,
        limit: usize,
    ) -> Result<Vec<(String, FileForm)>, InvalidPattern> {
        let whole = |paths: Vec<String>| paths.into_iter().map(|path| (path, FileForm::Whole));
        Ok(match word {
            "$TARGET" => whole(self.targets()).collect(),
            "$TARGET_IMPORTS" => {
                let near = self.near(self.targets(), |path| self.project.imports_of(path));
                whole(near).collect()
            }
            "$TARGET_IMPORTERS" => {
                let near = self.near(self.targets(), |path| self.project.importers_of(path, 1));
                whole(near).collect()
            }
            "$MENTIONED" => whole(self.matter.mentioned.to_vec())
                .filter(|(path, _)| self.by_path.contains_key(path.as_str()))
                .collect(),
            "$TARGET_TESTS" => whole(self.tests()).collect(),
            "$CHANGED" => whole(self.matter.changed.to_vec())
                .filter(|(path, _)| self.by_path.contains_key(path.as_str()))
                .collect(),
            "$BLAST_RADIUS" => {
                let changed = self.matter.changed.to_vec();
                let near = self.near(changed, |path| self.project.importers_of(path, 2));
                whole(near).collect()
            }
            "$RELATED" => {
                let related = self.project.relevant(limit);
                let near = related.into_iter().filter(|path| self.in_scope(path));
                whole(near.collect()).collect()
            }
            "$INTERFACE_DEFINITIONS" => whole(self.interfaces()?).collect(),
            "$COMPONENT_PUBLIC_API" => {
                let component = self.component().into_iter();
                component.map(|path| (path, FileForm::Public)).collect()
            }
            "$IMPLEMENTATION_INTERNALS" => whole(self.component()).collect(),
            "$DOCS" => whole(self.purpose(wanted::DOCS)?).collect(),
            // What the change itself brings is no standard that it could be judged by.
            "$STANDARDS" => whole(self.purpose(wanted::STANDARDS)?)
                .filter(|(path, _)| !self.matter.changed.contains(path))
                .collect(),
            "$SECURITY" => whole(self.purpose(wanted::SECURITY)?).collect(),
            _ => {
                return Err(InvalidPattern {
                    pattern: word.to_owned(),
                    why: "there is no such variable".to_owned(),
                });
            }
        })
    }

    fn matching(&self, patterns: FilePatterns) -> impl Iterator<Item = String> + use<'a> {
        let paths = self.files.iter().map(|file| file.path.clone());
        paths.filter(move |path| patterns.matches(path))
    }

    /// The files that have a purpose, by their names.
    fn purpose(&self, patterns: &[&str]) -> Result<Vec<String>, InvalidPattern> {
        let patterns = FilePatterns::in_any_case(patterns)?;
        Ok(self.matching(patterns).collect())
    }

    /// The files that the task names, also those that are not there yet.
    fn targets(&self) -> Vec<String> {
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
            return self.project.relevant(STAND_INS);
        }
        targets
    }

    /// The neighbours of files, without the files themselves.
    fn near(&self, from: Vec<String>, of: impl Fn(&str) -> Vec<String>) -> Vec<String> {
        let from: BTreeSet<String> = from.into_iter().collect();
        let mut seen = BTreeSet::new();
        let all = from.iter().flat_map(|path| of(path));
        all.filter(|path| !from.contains(path) && self.in_scope(path))
            .filter(|path| seen.insert(path.clone()))
            .collect()
    }

    /// The tests that are about the files of the task, those first whose names say that they are
    /// tests. A test is written in the language of what it tests: what lies beside tests is none.
    fn tests(&self) -> Vec<String> {
        let targets = self.targets();
        let subjects: BTreeSet<_> = targets.iter().map(|path| wanted::about(path)).collect();
        let paths = self.files.iter().map(|file| &file.path);
        let mut found: Vec<String> = paths
            .filter(|path| wanted::is_test(path) && subjects.contains(&wanted::about(path)))
            .cloned()
            .collect();
        found.sort_by_key(|path| !wanted::is_called_test(path));
        found
    }

    /// The source files in the folders of the task, without its tests.
    fn component(&self) -> Vec<String> {
        let targets = self.targets();
        let folders: BTreeSet<&str> = targets.iter().map(|path| folder(path)).collect();
        let paths = self.files.iter().map(|file| &file.path);
        paths
            .filter(|path| Language::of(path).is_some() && !wanted::is_test(path))
            .filter(|path| folders.contains(folder(path)))
            .cloned()
            .collect()
    }

    fn interfaces(&self) -> Result<Vec<String>, InvalidPattern> {
        let mut found = self.purpose(wanted::INTERFACES)?;
        let component = self.component().into_iter();
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

/// The folder of a file; of a folder, itself.
fn folder(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

#[cfg(test)]
mod tests;
