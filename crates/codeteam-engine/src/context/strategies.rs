//! Loads context strategies from files: those that ship with codeteam, the user's, the project's.
//!
//! A file `strategies/NAME.yml` overrides the one of the same name in the layer below.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use codeteam_context::strategy::{self, INTERNALS, SPECIAL, Strategy, StrategyPart, VARIABLES};
use codeteam_core::role::Role;
use codeteam_core::spelling::suggest_word;
use codeteam_workflow::misplaced_file::DocumentKind;
use codeteam_workflow::yaml::{
    self, Diagnostic, FileProblems, OneOrMany, ScalarOr, SourceFiles, WithPosition,
    deserialize_by_key,
};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::built_in;
use codeteam_host::repo_files;
use codeteam_patterns::{FilePatterns, InvalidPattern};

/// The maximum length of a strategy file.
const MAX_BYTES: u64 = 64 << 10;
/// The maximum number of parts of a strategy.
const MAX_PARTS: usize = 50;
/// Other tools' names for parts.
const ALIASES: &[(&str, &str)] = &[
    ("system_prompt", "system"),
    ("task_description", "task"),
    ("target_file", "target"),
    ("git_diff", "diff"),
];

/// A context strategy as it is written.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct StrategyFile {
    /// Its name; that of the file if left out.
    name: Option<WithPosition<String>>,
    /// Its purpose.
    description: String,
    /// The token budget of a prompt, if the role sets none.
    #[serde(alias = "token_budget")]
    budget: Option<u64>,
    /// The parts that are shown, the most important first: `diff`, `changes`, `map`, `tree`, or
    /// files.
    parts: Vec<WithPosition<ScalarOr<PartFile>>>,
    /// Another order of importance, by the names of parts; those not named come last.
    priority_order: Vec<WithPosition<String>>,
}

/// Files that are shown.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct PartFile {
    /// The name of the part.
    name: String,
    /// The files, as patterns and variables.
    include: Option<OneOrMany<String>>,
    /// The form in which they are shown.
    form: PartForm,
    /// The most files.
    limit: Option<usize>,
}

/// The form in which a file is shown.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum PartForm {
    /// All of it.
    #[default]
    Whole,
    /// Without the bodies of its functions.
    Signatures,
    /// Only what other files can see of it.
    Public,
}

/// All available strategies.
#[derive(Clone, Debug, Default)]
pub struct StrategyCatalog {
    known: BTreeMap<String, Strategy>,
    /// The texts of those that are not built in.
    own: BTreeMap<String, String>,
}

/// The reasons why strategies cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file is invalid.
    #[error(transparent)]
    Invalid(#[from] FileProblems),
    /// A file cannot be read.
    #[error("could not read `{}`", path.display())]
    Read {
        /// The path of the file.
        path: PathBuf,
        /// The error of the operating system.
        source: std::io::Error,
    },
    /// A role names a strategy that does not exist.
    #[error("role `{role}`: there is no context strategy `{name}`")]
    Unknown {
        /// The role's name.
        role: String,
        /// The name of the strategy.
        name: String,
        /// A suggestion of what may have been meant.
        near: Option<String>,
    },
    /// A pattern in a role is invalid.
    #[error("role `{role}`: {why}")]
    Pattern {
        /// The role's name.
        role: String,
        /// What is wrong with the pattern.
        why: InvalidPattern,
    },
}

impl StrategyCatalog {
    /// Loads the built-in strategies and those of folders, where later folders override earlier
    /// ones. A folder of a repository comes with it, so its files must not lead out of the
    /// repository.
    pub fn load(folders: &[(PathBuf, Option<&Path>)]) -> Result<Self, Error> {
        let mut own = BTreeMap::new();
        for (folder, root) in folders {
            for (name, path) in files(&folder.join("strategies")) {
                let read = repo_files::read_text(&path, *root, MAX_BYTES);
                let text = read.map_err(|source| Error::Read {
                    path: path.clone(),
                    source,
                })?;
                if let Some(text) = text {
                    own.insert(name, (path.display().to_string(), text));
                }
            }
        }
        let mut strategies = Self::built_in()?;
        let mut sources = SourceFiles::default();
        let mut faults = Vec::new();
        for (name, (file, text)) in own {
            match read(&mut sources, &file, &name, &text) {
                Ok(strategy) => drop(strategies.known.insert(name.clone(), strategy)),
                Err(found) => faults.extend(found),
            }
            strategies.own.insert(name, text);
        }
        if faults.is_empty() {
            Ok(strategies)
        } else {
            Err(sources.to_problems(faults).into())
        }
    }

    /// Returns the strategies of a run: the built-in ones, and those it has pinned.
    pub fn from_pinned(own: &BTreeMap<String, String>) -> Result<Self, Error> {
        let mut strategies = Self::built_in()?;
        let mut sources = SourceFiles::default();
        for (name, text) in own {
            let strategy = read(&mut sources, name, name, text);
            let strategy = strategy.map_err(|faults| sources.to_problems(faults))?;
            strategies.known.insert(name.clone(), strategy);
        }
        strategies.own.clone_from(own);
        Ok(strategies)
    }

    /// Returns the texts that a run pins: those that are not built in.
    pub fn custom_texts(&self) -> BTreeMap<String, String> {
        self.own.clone()
    }

    fn built_in() -> Result<Self, FileProblems> {
        let mut strategies = Self::default();
        let mut sources = SourceFiles::default();
        for (name, text) in built_in::folder("strategies", ".yml") {
            let file = format!("built-in strategy `{name}`");
            let strategy = read(&mut sources, &file, name, text);
            let strategy = strategy.map_err(|faults| sources.to_problems(faults))?;
            strategies.known.insert(name.to_owned(), strategy);
        }
        Ok(strategies)
    }

    /// Returns the names of the built-in strategies and those in folders, whatever their content.
    pub fn names_in<'a>(folders: impl IntoIterator<Item = &'a Path>) -> BTreeSet<String> {
        let built_in = built_in::folder("strategies", ".yml").map(|(name, _)| name.to_owned());
        let own = folders
            .into_iter()
            .flat_map(|folder| files(&folder.join("strategies")));
        built_in.chain(own.map(|(name, _)| name)).collect()
    }

    /// Returns a strategy by its name.
    pub fn get(&self, name: &str) -> Option<&Strategy> {
        self.known.get(name)
    }

    /// Checks the context settings of a role.
    pub fn check(&self, role: &Role) -> Result<(), Error> {
        let context = &role.context;
        if let Some(name) = &context.strategy
            && !self.known.contains_key(name)
        {
            return Err(Error::Unknown {
                role: role.name.0.clone(),
                name: name.clone(),
                near: suggest_word(name, self.known.keys().map(String::as_str)),
            });
        }
        let lists = [&context.include, &context.exclude, &context.always_include];
        for word in lists.into_iter().flatten() {
            word_of(word).map_err(|why| Error::Pattern {
                role: role.name.0.clone(),
                why,
            })?;
        }
        // What is hidden has to be known before anything is selected.
        let mut variables = role.exclude.iter().filter(|word| word.starts_with('$'));
        if let Some(word) = variables.find(|word| *word != INTERNALS) {
            return Err(Error::Pattern {
                role: role.name.0.clone(),
                why: InvalidPattern {
                    pattern: word.clone(),
                    why: format!("`exclude` takes patterns, and `{INTERNALS}` of the variables"),
                },
            });
        }
        Ok(())
    }

    /// Returns the token budget of a role's prompt: the role's own, else its strategy's, else
    /// `default`; never more than `most`.
    pub fn budget(&self, role: &Role, default: u64, most: u64) -> u64 {
        let strategy = role.context.strategy.as_deref();
        let strategy = strategy.and_then(|name| self.get(name)?.budget);
        role.context
            .budget
            .or(strategy)
            .unwrap_or(default)
            .min(most)
    }
}

/// Returns the strategy files of a folder, by their names.
fn files(folder: &Path) -> Vec<(String, PathBuf)> {
    let entries = fs::read_dir(folder).into_iter().flatten();
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let mut found: Vec<(String, PathBuf)> = paths
        .filter(|path| {
            path.extension()
                .is_some_and(|end| end == "yml" || end == "yaml")
        })
        .filter_map(|path| Some((path.file_stem()?.to_str()?.to_owned(), path)))
        .collect();
    found.sort();
    found
}

/// Parses a strategy.
fn read(
    sources: &mut SourceFiles,
    file: &str,
    name: &str,
    text: &str,
) -> Result<Strategy, Vec<Diagnostic>> {
    let node = yaml::read(sources, file, text).map_err(|fault| vec![fault])?;
    let misplaced = DocumentKind::Strategy.find_misplaced(&node);
    if !misplaced.is_empty() {
        return Err(misplaced);
    }
    let said: StrategyFile = deserialize_by_key(&node)?;
    let mut faults = Vec::new();
    if let Some(own) = &said.name
        && own.value != name
    {
        let message = format!("the file is called `{name}`, the strategy `{}`", own.value);
        faults.push(
            Diagnostic::at(own.place, message).with_hint("leave `name` out, or rename the file"),
        );
    }
    let mut strategy = Strategy {
        name: name.to_owned(),
        budget: said.budget,
        parts: Vec::new(),
    };
    if said.parts.is_empty() {
        let fault = Diagnostic::at(node.place, "a strategy has `parts`");
        faults.push(
            fault.with_hint("for example `parts: [{name: target, include: [$TARGET]}, diff]`"),
        );
    }
    if said.parts.len() > MAX_PARTS {
        let message = format!("a strategy has at most {MAX_PARTS} parts");
        faults.push(Diagnostic::at(node.place, message));
    }
    for part in said.parts {
        let place = part.place;
        match part_of(part, &strategy.parts) {
            Ok(part) => strategy.parts.push(part),
            Err(fault) => faults.push(if fault.place == yaml::SourcePosition::NONE {
                Diagnostic { place, ..fault }
            } else {
                fault
            }),
        }
    }
    reorder(&mut strategy.parts, &said.priority_order, &mut faults);
    if faults.is_empty() {
        Ok(strategy)
    } else {
        Err(faults)
    }
}

fn part_of(
    part: WithPosition<ScalarOr<PartFile>>,
    before: &[StrategyPart],
) -> Result<StrategyPart, Diagnostic> {
    let place = part.place;
    let file = match part.value {
        ScalarOr::Word(name) => PartFile {
            name,
            ..PartFile::default()
        },
        ScalarOr::Full(file) => file,
    };
    let name = canonical(&file.name).to_owned();
    let is_special = SPECIAL.contains(&name.as_str());
    let include = file.include.map(|many| many.0).unwrap_or_default();
    if name.is_empty() {
        return Err(Diagnostic::at(place, "a part has a `name`"));
    }
    if before.iter().any(|part| part.name == name) {
        return Err(Diagnostic::at(
            place,
            format!("there are two parts `{name}`"),
        ));
    }
    if matches!(name.as_str(), "system" | "task") {
        let message = format!("`{name}` is always there, and comes first");
        return Err(Diagnostic::at(place, message).with_hint("leave it out of `parts`"));
    }
    if is_special && !include.is_empty() {
        let fault = Diagnostic::at(place, format!("the part `{name}` is not made of files"));
        return Err(fault.with_hint("leave `include` out, or give the part another name"));
    }
    if !is_special && include.is_empty() {
        let fault = Diagnostic::at(place, format!("the part `{name}` has no `include`"));
        let hint = suggest_word(&name, SPECIAL)
            .unwrap_or_else(|| format!("say which files, or name one of {}", SPECIAL.join(", ")));
        return Err(fault.with_hint(hint));
    }
    for word in &include {
        word_of(word).map_err(|error| {
            let names = VARIABLES.iter().map(|variable| variable.name);
            let names = names.filter(|_| word.starts_with('$'));
            Diagnostic::at(place, error.to_string()).with_optional_hint(suggest_word(word, names))
        })?;
    }
    Ok(StrategyPart {
        name,
        include,
        form: match file.form {
            PartForm::Whole => strategy::FileForm::Whole,
            PartForm::Signatures => strategy::FileForm::Signatures,
            PartForm::Public => strategy::FileForm::Public,
        },
        limit: file.limit,
    })
}

/// Checks a pattern or a variable.
fn word_of(word: &str) -> Result<(), InvalidPattern> {
    if strategy::is_diff(word) {
        return Ok(());
    }
    if word.starts_with('$') {
        if VARIABLES.iter().any(|variable| variable.name == word) {
            return Ok(());
        }
        return Err(InvalidPattern {
            pattern: word.to_owned(),
            why: "there is no such variable".to_owned(),
        });
    }
    FilePatterns::new([word]).map(drop)
}

fn canonical(name: &str) -> &str {
    let alias = ALIASES.iter().find(|(alias, _)| *alias == name);
    alias.map_or(name, |(_, name)| name)
}

/// Moves the named parts to the front, in that order.
fn reorder(
    parts: &mut [StrategyPart],
    order: &[WithPosition<String>],
    faults: &mut Vec<Diagnostic>,
) {
    let names: Vec<&str> = order.iter().map(|name| canonical(&name.value)).collect();
    for (name, said) in names.iter().zip(order) {
        let known = parts.iter().map(|part| part.name.as_str());
        if !matches!(*name, "system" | "task") && !known.clone().any(|known| known == *name) {
            let message = format!("there is no part `{}`", said.value);
            faults.push(
                Diagnostic::at(said.place, message).with_optional_hint(suggest_word(name, known)),
            );
        }
    }
    let place = |part: &StrategyPart| names.iter().position(|name| *name == part.name);
    parts.sort_by_key(|part| place(part).unwrap_or(usize::MAX));
}

#[cfg(test)]
mod tests;
