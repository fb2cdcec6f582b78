//! The templates of a run: the built-in ones, and those with which the user and the project
//! override them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use codeteam_core::assignment::Assignment;
use codeteam_core::spelling::nearest;
use minijinja::syntax::SyntaxConfig;
use minijinja::{AutoEscape, Environment, UndefinedBehavior};

use super::{Error, filters, has_exact_input, tags};
use codeteam_host::repo_files;

/// The template of every worker's system prompt.
pub(super) const SYSTEM: &str = "system.md.j2";
/// The template of the user message, unless the role names another.
pub(super) const ASSIGNMENT: &str = "assignment.md.j2";
/// The template of the system prompt for roles with an exactly prescribed input.
pub(super) const EXACT: &str = "exact.md.j2";
/// The template for feedback on earlier attempts.
pub(super) const FEEDBACK: &str = "feedback.md.j2";

macro_rules! built_in {
    ($($name:literal),* $(,)?) => {
        &[$(($name, include_str!(concat!("../../data/prompts/", $name)))),*]
    };
}

/// The templates that ship with codeteam, by name.
pub(crate) const BUILT_IN: &[(&str, &str)] = built_in![
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

/// The maximum number of steps of a template: many times what the built-in ones need.
const FUEL: u64 = 200_000;
/// The maximum nesting depth of templates: a loop counts once, an include ten times.
const DEPTH: usize = 100;
/// The maximum length of a template.
pub(super) const MAX_BYTES: u64 = 64 << 10;
/// The maximum number of template files in one folder.
const MAX_FILES: usize = 100;

/// The templates of a project or a run, by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TemplateCatalog {
    /// The templates that are not built in, with the file of each.
    own: BTreeMap<String, CustomTemplate>,
}

/// A template that is not built in.
#[derive(Clone, Debug, PartialEq, Eq)]
struct CustomTemplate {
    text: String,
    file: String,
}

impl TemplateCatalog {
    /// Loads the templates in the folders; an earlier folder overrides a later one. A folder of a
    /// repository comes with it, so its templates must not lead out of the repository.
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
                let text = repo_files::read_text(&path, *root, MAX_BYTES).map_err(read)?;
                let Some(text) = text else { continue };
                let file = path.display().to_string();
                own.insert(name, CustomTemplate { text, file });
            }
        }
        // A copy of a built-in template is not a change.
        own.retain(|name, own| built_in(name) != Some(own.text.as_str()));
        Ok(Self { own })
    }

    /// Returns the templates that a run has pinned.
    pub fn from_pinned(templates: &BTreeMap<String, String>) -> Self {
        let own = templates.iter().map(|(name, text)| {
            let own = CustomTemplate {
                text: text.clone(),
                file: name.clone(),
            };
            (name.clone(), own)
        });
        Self { own: own.collect() }
    }

    /// Returns the texts that a run pins: those that are not built in.
    pub fn custom_texts(&self) -> BTreeMap<String, String> {
        let own = self.own.iter();
        own.map(|(name, own)| (name.clone(), own.text.clone()))
            .collect()
    }

    /// Returns all names.
    pub fn names(&self) -> BTreeSet<&str> {
        let own = self.own.keys().map(String::as_str);
        own.chain(BUILT_IN.iter().map(|(name, _)| *name)).collect()
    }

    /// Returns the text of a template.
    pub(super) fn text(&self, name: &str) -> Option<&str> {
        let own = self.own.get(name).map(|own| own.text.as_str());
        own.or_else(|| built_in(name))
    }

    /// Returns the file of a template, for messages.
    pub(super) fn file(&self, name: &str) -> String {
        match self.own.get(name) {
            Some(own) => own.file.clone(),
            None => format!("built-in template `{name}`"),
        }
    }

    /// Returns the names of the templates that are not built in.
    pub(super) fn own(&self) -> impl Iterator<Item = &str> {
        self.own.keys().map(String::as_str)
    }

    /// Returns the template for a role's assignments. `review` also matches `review.md.j2` and
    /// `review.j2`.
    pub(super) fn template_for_role(&self, template: Option<&str>) -> Result<&str, Error> {
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

    /// Returns the templates that an assignment uses, apart from its role's own prompt.
    fn used(&self, assignment: &Assignment) -> BTreeSet<String> {
        let role = self.template_for_role(assignment.instructions.template.as_deref());
        let mut waiting = if has_exact_input(assignment) {
            vec![EXACT.to_owned()]
        } else {
            vec![SYSTEM.to_owned(), role.unwrap_or(ASSIGNMENT).to_owned()]
        };
        waiting.extend(included(&assignment.instructions.prompt));
        let mut used = BTreeSet::new();
        while let Some(name) = waiting.pop() {
            if let Some(text) = self.text(&name).filter(|_| !used.contains(&name)) {
                waiting.extend(included(text));
                used.insert(name);
            }
        }
        used
    }

    /// Returns the variables that an assignment's templates refer to.
    pub fn needed_variables(&self, assignment: &Assignment) -> BTreeSet<String> {
        let env = environment();
        let used = self.used(assignment);
        let texts = used.iter().filter_map(|name| self.text(name));
        texts
            .chain([assignment.instructions.prompt.as_str()])
            .filter_map(|text| env.template_from_str(text).ok())
            .flat_map(|template| template.undeclared_variables(false))
            .collect()
    }

    /// Returns an environment with all templates.
    pub(super) fn environment(&self) -> Result<Environment<'_>, minijinja::Error> {
        let mut env = environment();
        for name in self.names() {
            env.add_template_owned(name.to_owned(), self.text(name).unwrap_or("").to_owned())?;
        }
        Ok(env)
    }
}

/// Creates the environment in which every template is rendered: undefined values are errors,
/// nothing is escaped, and steps and depth are limited.
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

/// Returns the templates that a template includes.
fn included(text: &str) -> Vec<String> {
    let tags = tags::tags(text);
    let names = tags.iter().flat_map(tags::TemplateTag::includes);
    names
        .map(|name| name.text.trim_matches(['"', '\'']).to_owned())
        .collect()
}

/// Returns the templates of a folder, by name.
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
