//! The templates of a run: the built-in ones, and what the user and the project put in their place.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use codeteam_core::assignment::Assignment;
use codeteam_core::yaml::nearest;
use minijinja::syntax::SyntaxConfig;
use minijinja::{AutoEscape, Environment, UndefinedBehavior};

use super::{Error, filters, is_exact, tags};
use crate::inside;

/// What every worker is told it is.
pub(super) const SYSTEM: &str = "system.md.j2";
/// What it is to do, unless its role names another template.
pub(super) const ASSIGNMENT: &str = "assignment.md.j2";
/// What those are told before whose contract says what they are given.
pub(super) const EXACT: &str = "exact.md.j2";
/// What was wrong before.
pub(super) const FEEDBACK: &str = "feedback.md.j2";

macro_rules! built_in {
    ($($name:literal),* $(,)?) => {
        &[$(($name, include_str!(concat!("../../data/prompts/", $name)))),*]
    };
}

/// The templates that ship with codeteam, by name.
pub const BUILT_IN: &[(&str, &str)] = built_in![
    "system.md.j2",
    "assignment.md.j2",
    "exact.md.j2",
    "head.md.j2",
    "task.md.j2",
    "documents.md.j2",
    "matter.md.j2",
    "shown.md.j2",
    "context.md.j2",
    "feedback.md.j2",
    "rules.md.j2",
    "answer.md.j2",
];

/// How many steps a template may take: many times what the built-in ones need.
const FUEL: u64 = 200_000;
/// How deep templates may be in each other: a loop counts once, an include ten times.
const DEPTH: usize = 100;
/// How long a template may be.
pub(super) const MAX_BYTES: u64 = 64 << 10;
/// How many files of templates one folder may have.
const MAX_FILES: usize = 100;

/// Templates by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TemplateCatalog {
    /// Those that are not the built-in ones, and the file each is from.
    own: BTreeMap<String, CustomTemplate>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct CustomTemplate {
    text: String,
    file: String,
}

impl TemplateCatalog {
    /// Those in the folders; what an earlier one has counts. A folder that belongs to a repository
    /// comes with it: its templates must not lead out of there.
    pub fn load(folders: &[(PathBuf, Option<&Path>)]) -> Result<Self, Error> {
        let mut own = BTreeMap::new();
        for (folder, root) in folders {
            for (name, path) in files(folder)? {
                let read = |source| Error::Read {
                    path: path.clone(),
                    source,
                };
                if own.contains_key(&name) {
                    continue;
                }
                let is_long = fs::metadata(&path).map_err(read)?.len() > MAX_BYTES;
                if is_long {
                    return Err(Error::TooLong(path));
                }
                let text = inside::read(&path, *root, MAX_BYTES).map_err(read)?;
                let Some(text) = text else { continue };
                let file = path.display().to_string();
                own.insert(name, CustomTemplate { text, file });
            }
        }
        // A copy of a built-in one is no change.
        own.retain(|name, own| built_in(name) != Some(own.text.as_str()));
        Ok(Self { own })
    }

    /// Those that a run has pinned.
    pub fn pinned(templates: &BTreeMap<String, String>) -> Self {
        let own = templates.iter().map(|(name, text)| {
            let own = CustomTemplate {
                text: text.clone(),
                file: name.clone(),
            };
            (name.clone(), own)
        });
        Self { own: own.collect() }
    }

    /// What a run pins: the texts that are not the built-in ones.
    pub fn to_pin(&self) -> BTreeMap<String, String> {
        let own = self.own.iter();
        own.map(|(name, own)| (name.clone(), own.text.clone()))
            .collect()
    }

    /// All names.
    pub fn names(&self) -> BTreeSet<&str> {
        let own = self.own.keys().map(String::as_str);
        own.chain(BUILT_IN.iter().map(|(name, _)| *name)).collect()
    }

    /// The text of a template.
    pub(super) fn text(&self, name: &str) -> Option<&str> {
        let own = self.own.get(name).map(|own| own.text.as_str());
        own.or_else(|| built_in(name))
    }

    /// The file a template is from, for people.
    pub(super) fn file(&self, name: &str) -> String {
        match self.own.get(name) {
            Some(own) => own.file.clone(),
            None => format!("built-in template `{name}`"),
        }
    }

    /// Those that are not the built-in ones.
    pub(super) fn own(&self) -> impl Iterator<Item = &str> {
        self.own.keys().map(String::as_str)
    }

    /// The template a role's assignments are put into words by. `review` is also `review.md.j2`
    /// and `review.j2`.
    pub(super) fn of_role(&self, template: Option<&str>) -> Result<&str, Error> {
        let Some(wanted) = template else {
            return Ok(ASSIGNMENT);
        };
        let names = self.names();
        let forms = [
            wanted.to_owned(),
            format!("{wanted}.md.j2"),
            format!("{wanted}.j2"),
        ];
        let found = forms.iter().find_map(|form| names.get(form.as_str()));
        found.copied().ok_or_else(|| Error::Unknown {
            name: wanted.to_owned(),
            near: nearest(wanted, names).map(str::to_owned),
        })
    }

    /// The templates that an assignment is put into words by, its role's own prompt aside.
    fn used(&self, assignment: &Assignment) -> BTreeSet<String> {
        let role = self.of_role(assignment.template.as_deref());
        let mut waiting = if is_exact(assignment) {
            vec![EXACT.to_owned()]
        } else {
            vec![SYSTEM.to_owned(), role.unwrap_or(ASSIGNMENT).to_owned()]
        };
        waiting.extend(included(&assignment.prompt));
        let mut used = BTreeSet::new();
        while let Some(name) = waiting.pop() {
            if let Some(text) = self.text(&name).filter(|_| !used.contains(&name)) {
                waiting.extend(included(text));
                used.insert(name);
            }
        }
        used
    }

    /// The variables that an assignment's templates refer to.
    pub fn needs(&self, assignment: &Assignment) -> BTreeSet<String> {
        let env = environment();
        let used = self.used(assignment);
        let texts = used.iter().filter_map(|name| self.text(name));
        texts
            .chain([assignment.prompt.as_str()])
            .filter_map(|text| env.template_from_str(text).ok())
            .flat_map(|template| template.undeclared_variables(false))
            .collect()
    }

    /// All of them, ready to be rendered.
    pub(super) fn environment(&self) -> Result<Environment<'_>, minijinja::Error> {
        let mut env = environment();
        for name in self.names() {
            env.add_template_owned(name.to_owned(), self.text(name).unwrap_or("").to_owned())?;
        }
        Ok(env)
    }
}

/// What every template is rendered in: nothing undefined, nothing escaped, nothing without end.
pub(super) fn environment<'a>() -> Environment<'a> {
    let mut env = Environment::empty();
    let mut syntax = SyntaxConfig::builder();
    let syntax = syntax
        .trim_blocks(true)
        .lstrip_blocks(true)
        .keep_trailing_newline(true);
    if let Ok(syntax) = syntax.build() {
        env.set_syntax(syntax);
    }
    env.set_undefined_behavior(UndefinedBehavior::Strict);
    env.set_auto_escape_callback(|_| AutoEscape::None);
    env.set_fuel(Some(FUEL));
    env.set_recursion_limit(DEPTH);
    env.set_debug(true);
    filters::add(&mut env);
    env
}

fn built_in(name: &str) -> Option<&'static str> {
    let known = BUILT_IN.iter().find(|(known, _)| *known == name)?;
    Some(known.1)
}

/// What a template includes.
fn included(text: &str) -> Vec<String> {
    let tags = tags::tags(text);
    let names = tags.iter().flat_map(tags::TemplateTag::includes);
    names
        .map(|name| name.text.trim_matches(['"', '\'']).to_owned())
        .collect()
}

/// The templates of a folder, by name.
fn files(folder: &Path) -> Result<BTreeMap<String, PathBuf>, Error> {
    let failed = |source| Error::Read {
        path: folder.to_owned(),
        source,
    };
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            return Ok(BTreeMap::new());
        }
        Err(error) => return Err(failed(error)),
    };
    let mut found = BTreeMap::new();
    for entry in entries {
        let path = entry.map_err(failed)?.path();
        let name = path.file_name().and_then(|name| name.to_str());
        if let Some(name) = name.filter(|_| is_template(&path)) {
            found.insert(name.to_owned(), path.clone());
        }
        if found.len() > MAX_FILES {
            return Err(Error::TooMany(folder.to_owned()));
        }
    }
    Ok(found)
}

fn is_template(path: &Path) -> bool {
    path.extension().is_some_and(|end| end == "j2") && path.is_file()
}
