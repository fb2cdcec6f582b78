//! Renders an assignment as a prompt, from templates. It is pure: the content of files and bodies
//! is passed in.
//!
//! **Text that others wrote is a value, never a template**: it is inserted once, and the output is
//! not parsed again. Every value goes through the redactor before it is inserted, and the whole
//! prompt once more, to cover the text of the templates themselves.

mod check;
mod filters;
mod sample;
mod tags;
mod team;
mod templates;
mod values;
pub mod variables;

pub(crate) use self::sample::{AssignmentRequest, first_assignment};
pub(crate) use self::templates::BUILT_IN;
pub use self::templates::TemplateCatalog;

use std::io::{self, Write};
use std::path::PathBuf;

use codeteam_context::redact::Redactor;
use codeteam_context::tokens;
use codeteam_core::assignment::Assignment;
use codeteam_core::role::Contract;
use codeteam_workflow::yaml::FileProblems;
use minijinja::value::Serde;
use minijinja::{Environment, Value};
use serde_json::Map;

/// The maximum length of each part of a prompt.
const MAX_PROMPT: usize = 16 << 20;

/// The text that a worker is given.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Prompt {
    /// The system prompt: the worker's role, for every turn.
    pub system: String,
    /// The user message: what it is to do now.
    pub user: String,
}

impl Prompt {
    /// Estimates the number of tokens.
    pub fn tokens(&self) -> usize {
        tokens::count(&self.system) + tokens::count(&self.user)
    }
}

/// Content that an assignment refers to but does not contain: diffs, files and documents.
#[derive(Clone, Debug, Default)]
pub struct PromptAttachments {
    /// The diff that is to be judged.
    pub diff: Option<String>,
    /// The output that belongs to the feedback.
    pub feedback: Vec<String>,
    /// The changes since the last judgement.
    pub changes: Option<String>,
    /// The parts of the project that are shown, most important first.
    pub context: Vec<ShownPart>,
    /// The files that are shown shortened for lack of room, by part.
    pub squeezed: Vec<(String, Vec<String>)>,
    /// The files that are not shown for lack of room, by part.
    pub left_out: Vec<(String, Vec<String>)>,
    /// The project's documents about itself.
    pub documents: Vec<ProjectDocument>,
    /// The documents for which there was no room.
    pub unshown: Vec<String>,
    /// All files as a tree, if a template asks for it.
    pub repo_map: String,
    /// The files that the task names, if a template asks for them.
    pub relevant: Vec<(String, Option<String>)>,
    /// The whole input, if the role's contract prescribes it exactly.
    pub input: Option<String>,
    /// Whether the worker gets the schema of its answer separately from the prompt.
    pub schema_given: bool,
    /// Whether the worker is asked to write a plan before it uses a tool.
    pub plans_first: bool,
}

/// A part of the project that is shown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ShownPart {
    /// The part's name in the strategy.
    pub name: String,
    /// Its text, if it does not consist of files.
    pub text: String,
    /// Its files, most important first.
    pub files: Vec<ShownFile>,
}

/// A file that is shown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ShownFile {
    /// Its path in the repository.
    pub path: String,
    /// The text that is shown; `None` if the file does not exist yet.
    pub content: Option<String>,
    /// Whether the text is less than the whole file.
    pub shortened: bool,
}

/// A document that the project has about itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProjectDocument {
    /// Its path.
    pub path: String,
    /// The beginning of its text.
    pub text: String,
    /// The number of bytes at its end that are left out.
    pub left_out: usize,
}

/// The reasons why a prompt cannot be rendered.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A template is invalid.
    #[error(transparent)]
    Invalid(#[from] FileProblems),
    /// A role names a template that does not exist.
    #[error("there is no template `{name}`")]
    Unknown {
        /// The name of the template.
        name: String,
        /// A suggestion of what may have been meant.
        near: Option<String>,
    },
    /// A template cannot be read.
    #[error("could not read `{}`", path.display())]
    Read {
        /// The file or folder.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// A template is too long.
    #[error("the template `{}` is longer than {} KiB", .0.display(), templates::MAX_BYTES >> 10)]
    TooLong(PathBuf),
    /// A folder contains too many templates.
    #[error("there are too many templates in `{}`", .0.display())]
    TooMany(PathBuf),
}

/// Renders an assignment as a prompt.
pub fn render(
    assignment: &Assignment,
    attached: &PromptAttachments,
    templates: &TemplateCatalog,
    redactor: &Redactor,
) -> Result<Prompt, Error> {
    let role = format!("the prompt of role `{}`", assignment.role);
    let wrong = |error: &minijinja::Error| {
        check::problem(error, templates, &role, &assignment.instructions.prompt)
    };
    let told = |env: &Environment<'_>| -> Result<Prompt, minijinja::Error> {
        let mut values = values::template_values(assignment, attached, redactor);
        let feedback = render_named(&built_in_feedback()?, templates::FEEDBACK, &values)?;
        put(
            &mut values,
            variables::VERIFICATION_FEEDBACK,
            feedback.trim(),
        );
        let prompt = env.template_from_named_str(&role, &assignment.instructions.prompt)?;
        let prompt = render_template(&prompt, &values)?;
        put(
            &mut values,
            "prompt",
            redactor.redact(prompt.trim()).text.as_ref(),
        );
        if has_exact_input(assignment) {
            // The input is redacted already, and must not be changed otherwise.
            let user = attached.input.clone().unwrap_or_default();
            let system = render_named(env, templates::EXACT, &values)?;
            let system = redactor.redact(system.trim()).text.into_owned();
            return Ok(Prompt { system, user });
        }
        let system = render_named(env, templates::SYSTEM, &values)?;
        put(&mut values, "prompt", "");
        let name = templates.template_for_role(assignment.instructions.template.as_deref());
        let user = render_named(env, name.unwrap_or(templates::ASSIGNMENT), &values)?;
        Ok(Prompt {
            system: redactor.redact(system.trim()).text.into_owned(),
            user: redactor.redact(&user).text.into_owned(),
        })
    };
    templates.template_for_role(assignment.instructions.template.as_deref())?;
    let env = templates.environment().map_err(|error| wrong(&error))?;
    Ok(told(&env).map_err(|error| wrong(&error))?)
}

/// Renders the role's own prompt and its stance, without the rest of the assignment.
pub(crate) fn render_instructions(
    assignment: &Assignment,
    templates: &TemplateCatalog,
    redactor: &Redactor,
) -> Result<String, Error> {
    let role = format!("the prompt of role `{}`", assignment.role);
    let told = |env: &Environment<'_>| -> Result<String, minijinja::Error> {
        let values = values::template_values(assignment, &PromptAttachments::default(), redactor);
        let prompt = env.template_from_named_str(&role, &assignment.instructions.prompt)?;
        let mut text = render_template(&prompt, &values)?.trim().to_owned();
        if text.is_empty() {
            text = format!("You play the role `{}`.", assignment.role);
        }
        if !assignment.instructions.stance.is_empty() {
            text.push_str("\n\nYour stance: ");
            text.push_str(&assignment.instructions.stance);
        }
        Ok(redactor.redact(&text).text.into_owned())
    };
    let env = templates.environment();
    let done = env.and_then(|env| told(&env));
    Ok(done.map_err(|error| {
        check::problem(&error, templates, &role, &assignment.instructions.prompt)
    })?)
}

/// Returns true if the role's contract prescribes exactly what its worker is given. Then the input
/// is the whole message, and everything else is in the system prompt. If the role has a template of
/// its own, that is used as usual.
pub(crate) fn has_exact_input(assignment: &Assignment) -> bool {
    assignment.expected.contract == Contract::Strict && assignment.instructions.template.is_none()
}

/// Returns an environment with the built-in feedback template only: the feedback has the same
/// wording wherever a template inserts it, and cannot refer to itself.
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

fn render_named(
    env: &Environment<'_>,
    name: &str,
    values: &Map<String, serde_json::Value>,
) -> Result<String, minijinja::Error> {
    render_template(&env.get_template(name)?, values)
}

fn render_template(
    template: &minijinja::Template<'_, '_>,
    values: &Map<String, serde_json::Value>,
) -> Result<String, minijinja::Error> {
    let mut output = BoundedWriter(Vec::new());
    template.render_captured_to(Value::from(Serde(values)), &mut output)?;
    Ok(String::from_utf8_lossy(&output.0).into_owned())
}

/// A writer that accepts no more than the maximum length of a prompt.
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
