//! Puts an assignment into words, by templates. Pure: what lies in files and bodies is handed in.
//!
//! **What others wrote is a value, never a template**: it is put in once, and what comes out is not
//! looked at again. Every value goes through the redactor before it is put in, and the whole prompt
//! once more for what templates say themselves.

mod check;
mod filters;
mod sample;
mod tags;
mod templates;
mod values;
pub mod variables;

pub use self::sample::{AssignmentRequest, first};
pub use self::templates::{BUILT_IN, TemplateCatalog};
pub(crate) use self::values::redact;

use std::io::{self, Write};
use std::path::PathBuf;

use codeteam_context::redact::Redactor;
use codeteam_context::tokens;
use codeteam_core::assignment::Assignment;
use codeteam_core::role::Contract;
use codeteam_core::yaml::FileProblems;
use minijinja::value::Serde;
use minijinja::{Environment, Value};
use serde_json::Map;

/// No part of a prompt is longer.
const MAX_PROMPT: usize = 16 << 20;

/// What a worker is told.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Prompt {
    /// Who it is, for every turn.
    pub system: String,
    /// What it is to do now.
    pub user: String,
}

impl Prompt {
    /// About how many tokens it is.
    pub fn tokens(&self) -> usize {
        tokens::count(&self.system) + tokens::count(&self.user)
    }
}

/// What an assignment refers to.
#[derive(Clone, Debug, Default)]
pub struct PromptAttachments {
    /// The diff that is to be judged.
    pub diff: Option<String>,
    /// What belongs to the feedback.
    pub feedback: Vec<String>,
    /// What has changed since it was judged before.
    pub changes: Option<String>,
    /// What is shown of the project, the most important first.
    pub context: Vec<ShownPart>,
    /// What of it is shown shortened for want of room, by part.
    pub squeezed: Vec<(String, Vec<String>)>,
    /// What is not shown for want of room, by part.
    pub left_out: Vec<(String, Vec<String>)>,
    /// What the project says about itself.
    pub documents: Vec<ProjectDocument>,
    /// The documents there was no room for.
    pub unshown: Vec<String>,
    /// All files as a tree, where a template asks for it.
    pub repo_map: String,
    /// The files that the task names, where a template asks for them.
    pub relevant: Vec<(String, Option<String>)>,
    /// All that is said of the matter itself, where the role's contract says what that is.
    pub input: Option<String>,
    /// Whether the worker gets the schema of its answer besides the prompt.
    pub schema_given: bool,
}

/// A part of what is shown of a project.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ShownPart {
    /// What it is called.
    pub name: String,
    /// What it says, if it is not made of files.
    pub text: String,
    /// Its files.
    pub files: Vec<ShownFile>,
}

/// A file that is shown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ShownFile {
    /// Where it is.
    pub path: String,
    /// What is shown of it; `None` if it is not there yet.
    pub content: Option<String>,
    /// Whether that is less than the whole.
    pub shortened: bool,
}

/// What a project says about itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProjectDocument {
    /// Where it stands.
    pub path: String,
    /// What it says, from its beginning.
    pub text: String,
    /// How many bytes at its end are left out.
    pub left_out: usize,
}

/// Why there is no prompt.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A template is wrong.
    #[error(transparent)]
    Invalid(#[from] FileProblems),
    /// A role names a template that is not there.
    #[error("there is no template `{name}`")]
    Unknown {
        /// What was named.
        name: String,
        /// What may have been meant.
        near: Option<String>,
    },
    /// A template cannot be read.
    #[error("could not read `{}`", path.display())]
    Read {
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A template is longer than any may be.
    #[error("the template `{}` is longer than {} KiB", .0.display(), templates::MAX_BYTES >> 10)]
    TooLong(PathBuf),
    /// There are more templates than any project needs.
    #[error("there are too many templates in `{}`", .0.display())]
    TooMany(PathBuf),
}

/// Renders an assignment.
pub fn render(
    assignment: &Assignment,
    attached: &PromptAttachments,
    templates: &TemplateCatalog,
    redactor: &Redactor,
) -> Result<Prompt, Error> {
    let role = format!("the prompt of role `{}`", assignment.role);
    let wrong =
        |error: &minijinja::Error| check::problem(error, templates, &role, &assignment.prompt);
    let told = |env: &Environment<'_>| -> Result<Prompt, minijinja::Error> {
        let mut values = values::of(assignment, attached, redactor);
        let feedback = by(&built_in_feedback()?, templates::FEEDBACK, &values)?;
        put(
            &mut values,
            variables::VERIFICATION_FEEDBACK,
            feedback.trim(),
        );
        let prompt = env.template_from_named_str(&role, &assignment.prompt)?;
        let prompt = rendered(&prompt, &values)?;
        put(
            &mut values,
            "prompt",
            redactor.redact(prompt.trim()).text.as_ref(),
        );
        if is_exact(assignment) {
            // Without secrets already, and not a letter of it is ours to change.
            let user = attached.input.clone().unwrap_or_default();
            let system = by(env, templates::EXACT, &values)?;
            let system = redactor.redact(system.trim()).text.into_owned();
            return Ok(Prompt { system, user });
        }
        let system = by(env, templates::SYSTEM, &values)?;
        put(&mut values, "prompt", "");
        let name = templates.of_role(assignment.template.as_deref());
        let user = by(env, name.unwrap_or(templates::ASSIGNMENT), &values)?;
        Ok(Prompt {
            system: redactor.redact(system.trim()).text.into_owned(),
            user: redactor.redact(&user).text.into_owned(),
        })
    };
    templates.of_role(assignment.template.as_deref())?;
    let env = templates.environment().map_err(|error| wrong(&error))?;
    Ok(told(&env).map_err(|error| wrong(&error))?)
}

/// Who the worker is asked to be, without the rest of its assignment: the role's own prompt, and its
/// stance.
pub(crate) fn instructions(
    assignment: &Assignment,
    templates: &TemplateCatalog,
    redactor: &Redactor,
) -> Result<String, Error> {
    let role = format!("the prompt of role `{}`", assignment.role);
    let told = |env: &Environment<'_>| -> Result<String, minijinja::Error> {
        let values = values::of(assignment, &PromptAttachments::default(), redactor);
        let prompt = env.template_from_named_str(&role, &assignment.prompt)?;
        let mut text = rendered(&prompt, &values)?.trim().to_owned();
        if text.is_empty() {
            text = format!("You play the role `{}`.", assignment.role);
        }
        if !assignment.stance.is_empty() {
            text.push_str("\n\nYour stance: ");
            text.push_str(&assignment.stance);
        }
        Ok(redactor.redact(&text).text.into_owned())
    };
    let env = templates.environment();
    let done = env.and_then(|env| told(&env));
    Ok(done.map_err(|error| check::problem(&error, templates, &role, &assignment.prompt))?)
}

/// Whether the role's contract says to the letter what its worker is given: then that is all of the
/// message, and what else there is to say is said before. A template of the role's own is used as any.
pub(crate) fn is_exact(assignment: &Assignment) -> bool {
    assignment.contract == Contract::Strict && assignment.template.is_none()
}

/// What is wrong is told in the same words wherever a template puts it, and cannot refer to itself.
fn built_in_feedback() -> Result<Environment<'static>, minijinja::Error> {
    let mut env = templates::environment();
    let known = BUILT_IN
        .iter()
        .find(|(name, _)| *name == templates::FEEDBACK);
    let text = known.map_or("", |(_, text)| text);
    env.add_template(templates::FEEDBACK, text)?;
    Ok(env)
}

fn put(values: &mut Map<String, serde_json::Value>, name: &str, text: &str) {
    values.insert(name.to_owned(), text.into());
}

fn by(
    env: &Environment<'_>,
    name: &str,
    values: &Map<String, serde_json::Value>,
) -> Result<String, minijinja::Error> {
    rendered(&env.get_template(name)?, values)
}

fn rendered(
    template: &minijinja::Template<'_, '_>,
    values: &Map<String, serde_json::Value>,
) -> Result<String, minijinja::Error> {
    let mut output = BoundedWriter(Vec::new());
    template.render_captured_to(Value::from(Serde(values)), &mut output)?;
    Ok(String::from_utf8_lossy(&output.0).into_owned())
}

/// Takes no more than a prompt may be.
struct BoundedWriter(Vec<u8>);

impl Write for BoundedWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.0.len() + bytes.len() > MAX_PROMPT {
            return Err(io::Error::other("the prompt is too long"));
        }
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests;
