//! Checks templates before a run starts: finds syntax errors, unknown names, and errors that appear
//! only when a role's prompt is really rendered.

use std::error::Error as _;
use std::ops::Range;

use codeteam_context::redact::Redactor;
use codeteam_core::role::Role;
use codeteam_core::spelling::nearest;
use codeteam_workflow::yaml::{FileProblem, FileProblems};
use minijinja::ErrorKind;

use super::tags::{self, TagToken, TemplateTag, TokenKind};
use super::templates::environment;
use super::variables::{FILTERS, VARIABLES, variable};
use super::{Error, TemplateCatalog, render, sample};

impl TemplateCatalog {
    /// Checks all custom templates, and renders each role's prompt with everything and with nothing
    /// set.
    pub fn check<'a>(&self, roles: impl IntoIterator<Item = &'a Role>) -> Result<(), Error> {
        for name in self.own() {
            let text = self.text(name).unwrap_or("");
            self.examine(&self.file(name), text)?;
        }
        let redactor = Redactor::new(std::iter::empty());
        for role in roles {
            self.template_for_role(role.template.as_deref())?;
            self.examine(&role_prompt_name(role), &role.prompt)?;
            for (assignment, attached) in sample::sample_assignments(role) {
                render(&assignment, &attached, self, &redactor)?;
            }
        }
        Ok(())
    }

    /// Checks one template.
    fn examine(&self, file: &str, text: &str) -> Result<(), FileProblems> {
        let env = environment();
        let template = match env.template_from_named_str(file, text) {
            Ok(template) => template,
            Err(error) => return Err(problem(&error, self, file, text)),
        };
        let tags = tags::tags(text);
        let mut problems: Vec<FileProblem> = Vec::new();
        for tag in &tags {
            let refused = tag
                .find_refused()
                .map(|refused| at(text, &refused.at, refused.message).with_hint(refused.hint));
            problems.extend(refused);
            problems.extend(
                tag.filters()
                    .filter_map(|token| unknown_filter(text, &token)),
            );
            problems.extend(
                tag.includes()
                    .filter_map(|token| self.unknown_include(text, &token)),
            );
        }
        let names = template.undeclared_variables(true);
        problems.extend(
            names
                .iter()
                .filter_map(|name| unknown_variable(text, &tags, name)),
        );
        if problems.is_empty() {
            return Ok(());
        }
        problems.sort_by_key(|problem| (problem.line, problem.column));
        for problem in &mut problems {
            file.clone_into(&mut problem.file);
        }
        Err(FileProblems { problems })
    }

    fn unknown_include(&self, text: &str, token: &TagToken<'_>) -> Option<FileProblem> {
        let name = token.text.trim_matches(['"', '\'']);
        if self.text(name).is_some() {
            return None;
        }
        let problem = at(
            text,
            &token.range(),
            format!("there is no template `{name}`"),
        );
        Some(with_suggestion(problem, nearest(name, self.names())))
    }
}

/// Returns the name of a role's own prompt in messages.
pub(super) fn role_prompt_name(role: &Role) -> String {
    format!("the prompt of role `{}`", role.name)
}

fn unknown_filter(text: &str, token: &TagToken<'_>) -> Option<FileProblem> {
    let names = || FILTERS.iter().map(|filter| filter.name);
    if names().any(|name| name == token.text) {
        return None;
    }
    let problem = at(
        text,
        &token.range(),
        format!("there is no filter `{}`", token.text),
    );
    Some(with_suggestion(problem, nearest(token.text, names())))
}

/// Returns what is wrong with a name such as `task.title`, if anything is.
fn unknown_variable(text: &str, tags: &[TemplateTag<'_>], name: &str) -> Option<FileProblem> {
    let (first, rest) = name.split_once('.').unwrap_or((name, ""));
    let second = rest.split('.').next().filter(|second| !second.is_empty());
    let Some(known) = variable(first) else {
        let place = find(tags, first, None);
        let problem = at(text, &place, format!("there is no variable `{first}`"));
        let names = VARIABLES.iter().map(|variable| variable.name);
        return Some(with_suggestion(problem, nearest(first, names)));
    };
    let second = second?;
    if known.many || known.fields.is_empty() || known.fields.contains(&second) {
        return None;
    }
    let place = find(tags, first, Some(second));
    let problem = at(text, &place, format!("`{first}` has no `{second}`"));
    Some(with_suggestion(
        problem,
        nearest(second, known.fields.iter().copied()),
    ))
}

/// Finds the position of a name.
fn find(tags: &[TemplateTag<'_>], first: &str, second: Option<&str>) -> Range<usize> {
    let places = tags.iter().flat_map(|tag| {
        let tokens = &tag.tokens;
        tokens
            .iter()
            .enumerate()
            .filter(move |(i, token)| {
                let is_field = *i > 0 && tokens[i - 1].text == ".";
                token.kind == TokenKind::Word && token.text == first && !is_field
            })
            .map(move |(i, token)| (tokens.get(i + 2), token.range()))
    });
    let mut places = places.filter(|(field, _)| {
        second.is_none_or(|second| field.is_some_and(|field| field.text == second))
    });
    places.next().map_or(0..0, |(_, range)| range)
}

fn with_suggestion(problem: FileProblem, near: Option<&str>) -> FileProblem {
    match near {
        Some(near) => problem.with_hint(format!("did you mean `{near}`?")),
        None => problem.with_hint("`docs/reference.md` lists all of them under Prompts"),
    }
}

fn at(text: &str, place: &Range<usize>, message: impl Into<String>) -> FileProblem {
    let before = &text[..place.start.min(text.len())];
    let line = before.matches('\n').count() + 1;
    let column = before
        .rsplit('\n')
        .next()
        .map_or(0, |line| line.chars().count())
        + 1;
    FileProblem {
        line: u32::try_from(line).unwrap_or(u32::MAX),
        column: u32::try_from(column).unwrap_or(u32::MAX),
        text: text.lines().nth(line - 1).map(str::to_owned),
        ..FileProblem::for_file("", message)
    }
}

/// Converts an error of the template engine into a problem with its position. `file` is the name of
/// the text, if it is not a template of the catalog.
pub(super) fn problem(
    error: &minijinja::Error,
    templates: &TemplateCatalog,
    file: &str,
    text: &str,
) -> FileProblems {
    let mut error = error;
    while let Some(cause) = error.source().and_then(|cause| cause.downcast_ref()) {
        error = cause;
    }
    let name = error.name().unwrap_or(file);
    let (file, text) = match templates.text(name) {
        Some(text) => (templates.file(name), text),
        None => (file.to_owned(), text),
    };
    let place = error
        .range()
        .filter(|range| text.get(range.clone()).is_some());
    let offending = place.clone().map_or("", |range| text[range].trim());
    let mut problem = match place {
        Some(range) => at(text, &range, String::new()),
        None => FileProblem {
            line: u32::try_from(error.line().unwrap_or(0)).unwrap_or(0),
            column: 1,
            ..FileProblem::default()
        },
    };
    let said = error
        .detail()
        .map_or_else(|| error.kind().to_string(), str::to_owned);
    problem.message = match error.kind() {
        ErrorKind::UndefinedError if !offending.is_empty() => {
            format!("`{offending}` is not defined")
        }
        ErrorKind::OutOfFuel => "the template takes too many steps".to_owned(),
        ErrorKind::WriteFailure => "the prompt is too long".to_owned(),
        _ if offending.is_empty() => said,
        _ => format!("`{offending}`: {said}"),
    };
    problem.hint = hint(error.kind(), offending);
    problem.file = file;
    FileProblems::from_problem(problem)
}

fn hint(kind: ErrorKind, offending: &str) -> Option<String> {
    match kind {
        ErrorKind::SyntaxError => {
            Some("text with braces in it goes between `{% raw %}` and `{% endraw %}`".to_owned())
        }
        ErrorKind::UndefinedError => {
            let (first, field) = offending.split_once('.').unwrap_or((offending, ""));
            if first == "config" {
                return Some("give the role's `config` that key, or use `default`".to_owned());
            }
            let fields = VARIABLES.iter().flat_map(|variable| variable.fields);
            let near = nearest(field, fields.copied())?;
            Some(format!("did you mean `{first}.{near}`?"))
        }
        _ => None,
    }
}
