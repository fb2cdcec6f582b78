//! Context strategies, as files: those that ship with codeteam, the user's, the project's.
//!
//! A file `strategies/NAME.yml` stands in place of the one of the same name below it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use codeteam_context::strategy::{self, SPECIAL, Strategy, StrategyPart, VARIABLES};
use codeteam_core::misplaced::DocumentKind;
use codeteam_core::role::Role;
use codeteam_core::yaml::{
    self, Diagnostic, FileProblems, OneOrMany, ScalarOr, SourceFiles, WithPosition, meant,
    typed_by_key,
};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::built_in;
use crate::inside;

/// No file is longer.
const MAX_BYTES: u64 = 64 << 10;
/// No strategy has more parts.
const MAX_PARTS: usize = 50;
/// What others call parts.
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
    /// What it is for.
    description: String,
    /// How many tokens a prompt may be, if the role does not say.
    #[serde(alias = "token_budget")]
    budget: Option<u64>,
    /// What is shown, the most important first: `diff`, `changes`, `map`, `tree`, or files.
    parts: Vec<WithPosition<ScalarOr<PartFile>>>,
    /// Another order of importance, by the names of parts; those not named come last.
    priority_order: Vec<WithPosition<String>>,
}

/// Files that are shown.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct PartFile {
    /// What the part is called.
    name: String,
    /// The files, as patterns and variables.
    include: Option<OneOrMany<String>>,
    /// How they are shown.
    form: PartForm,
    /// How many files at most.
    limit: Option<usize>,
}

/// How a file is shown.
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

/// All strategies there are.
#[derive(Clone, Debug, Default)]
pub struct StrategyCatalog {
    known: BTreeMap<String, Strategy>,
    /// The texts of those that are not the built-in ones.
    own: BTreeMap<String, String>,
}

/// Why strategies cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file is wrong.
    #[error(transparent)]
    Invalid(#[from] FileProblems),
    /// A file cannot be read.
    #[error("could not read `{}`", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A role names one that is not there.
    #[error("role `{role}`: there is no context strategy `{name}`")]
    Unknown {
        /// The role.
        role: String,
        /// What it names.
        name: String,
        /// What may have been meant.
        near: Option<String>,
    },
    /// A role's own patterns mean nothing.
    #[error("role `{role}`: {why}")]
    Pattern {
        /// The role.
        role: String,
        /// What is wrong.
        why: strategy::InvalidPattern,
    },
}

impl StrategyCatalog {
    /// The built-in ones, and over them those of folders, the last of which counts most. A folder
    /// that belongs to a repository comes with it, and must not lead out of there.
    pub fn load(folders: &[(PathBuf, Option<&Path>)]) -> Result<Self, Error> {
        let mut own = BTreeMap::new();
        for (folder, root) in folders {
            for (name, path) in files(&folder.join("strategies")) {
                let read = inside::read(&path, *root, MAX_BYTES);
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
            Err(sources.problems(faults).into())
        }
    }

    /// Those of a run: the built-in ones, and what it has pinned.
    pub fn pinned(own: &BTreeMap<String, String>) -> Result<Self, Error> {
        let mut strategies = Self::built_in()?;
        let mut sources = SourceFiles::default();
        for (name, text) in own {
            let strategy = read(&mut sources, name, name, text);
            let strategy = strategy.map_err(|faults| sources.problems(faults))?;
            strategies.known.insert(name.clone(), strategy);
        }
        strategies.own.clone_from(own);
        Ok(strategies)
    }

    /// What a run pins: the texts that are not the built-in ones.
    pub fn to_pin(&self) -> BTreeMap<String, String> {
        self.own.clone()
    }

    fn built_in() -> Result<Self, FileProblems> {
        let mut strategies = Self::default();
        let mut sources = SourceFiles::default();
        for (name, text) in built_in::folder("strategies", ".yml") {
            let file = format!("built-in strategy `{name}`");
            let strategy = read(&mut sources, &file, name, text);
            let strategy = strategy.map_err(|faults| sources.problems(faults))?;
            strategies.known.insert(name.to_owned(), strategy);
        }
        Ok(strategies)
    }

    /// The names of those that there are in folders, beside the built-in ones, whatever is in them.
    pub fn names_in<'a>(folders: impl IntoIterator<Item = &'a Path>) -> BTreeSet<String> {
        let built_in = built_in::folder("strategies", ".yml").map(|(name, _)| name.to_owned());
        let own = folders
            .into_iter()
            .flat_map(|folder| files(&folder.join("strategies")));
        built_in.chain(own.map(|(name, _)| name)).collect()
    }

    /// One by its name.
    pub fn get(&self, name: &str) -> Option<&Strategy> {
        self.known.get(name)
    }

    /// Checks what a role says of its context.
    pub fn check(&self, role: &Role) -> Result<(), Error> {
        let context = &role.context;
        if let Some(name) = &context.strategy
            && !self.known.contains_key(name)
        {
            return Err(Error::Unknown {
                role: role.name.0.clone(),
                name: name.clone(),
                near: meant(name, self.known.keys().map(String::as_str)),
            });
        }
        let lists = [&context.include, &context.exclude, &context.always_include];
        for word in lists.into_iter().flatten() {
            word_of(word).map_err(|why| Error::Pattern {
                role: role.name.0.clone(),
                why,
            })?;
        }
        Ok(())
    }

    /// How many tokens a role's prompt may be: what it says, else its strategy, else `default`; never
    /// more than `most`.
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

/// The strategies of a folder, by their names.
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

/// Reads a strategy.
fn read(
    sources: &mut SourceFiles,
    file: &str,
    name: &str,
    text: &str,
) -> Result<Strategy, Vec<Diagnostic>> {
    let node = yaml::read(sources, file, text).map_err(|fault| vec![fault])?;
    let misplaced = DocumentKind::Strategy.misplaced(&node);
    if !misplaced.is_empty() {
        return Err(misplaced);
    }
    let said: StrategyFile = typed_by_key(&node)?;
    let mut faults = Vec::new();
    if let Some(own) = &said.name
        && own.value != name
    {
        let message = format!("the file is called `{name}`, the strategy `{}`", own.value);
        faults
            .push(Diagnostic::at(own.place, message).hint("leave `name` out, or rename the file"));
    }
    let mut strategy = Strategy {
        name: name.to_owned(),
        budget: said.budget,
        parts: Vec::new(),
    };
    if said.parts.is_empty() {
        let fault = Diagnostic::at(node.place, "a strategy has `parts`");
        faults.push(fault.hint("for example `parts: [{name: target, include: [$TARGET]}, diff]`"));
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
        return Err(Diagnostic::at(place, message).hint("leave it out of `parts`"));
    }
    if is_special && !include.is_empty() {
        let fault = Diagnostic::at(place, format!("the part `{name}` is not made of files"));
        return Err(fault.hint("leave `include` out, or give the part another name"));
    }
    if !is_special && include.is_empty() {
        let fault = Diagnostic::at(place, format!("the part `{name}` has no `include`"));
        let hint = meant(&name, SPECIAL)
            .unwrap_or_else(|| format!("say which files, or name one of {}", SPECIAL.join(", ")));
        return Err(fault.hint(hint));
    }
    for word in &include {
        word_of(word).map_err(|error| {
            let names = VARIABLES.iter().map(|variable| variable.name);
            let names = names.filter(|_| word.starts_with('$'));
            Diagnostic::at(place, error.to_string()).maybe(meant(word, names))
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
fn word_of(word: &str) -> Result<(), strategy::InvalidPattern> {
    if strategy::is_diff(word) {
        return Ok(());
    }
    if word.starts_with('$') {
        if VARIABLES.iter().any(|variable| variable.name == word) {
            return Ok(());
        }
        return Err(strategy::InvalidPattern {
            pattern: word.to_owned(),
            why: "there is no such variable".to_owned(),
        });
    }
    strategy::FilePatterns::new([word]).map(drop)
}

fn canonical(name: &str) -> &str {
    let alias = ALIASES.iter().find(|(alias, _)| *alias == name);
    alias.map_or(name, |(_, name)| name)
}

/// Puts the parts that are named first, in that order.
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
            faults.push(Diagnostic::at(said.place, message).maybe(meant(name, known)));
        }
    }
    let place = |part: &StrategyPart| names.iter().position(|name| *name == part.name);
    parts.sort_by_key(|part| place(part).unwrap_or(usize::MAX));
}

#[cfg(test)]
mod tests;
