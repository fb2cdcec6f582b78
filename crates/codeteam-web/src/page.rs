//! Turns data into HTML. Nothing here reads a file, a clock or the network.
//!
//! [`render`] makes a page, or one element of it. A page is a template of the same name with the
//! values that its module in `page` takes from the data; an element that can be had alone is a
//! template in `parts`, whose outermost element has the name of the template as its id. `assets` has
//! the style sheet and the scripts, which are parts of the program, with the paths that pages name
//! them by.
//!
//! # Forms
//!
//! Every form is sent as `application/x-www-form-urlencoded` with `token` ([`Shell::form_token`]) and
//! `back` ([`Shell::here`]). Fields in brackets may be absent or empty.
//!
//! | where | fields |
//! |---|---|
//! | `do/approve` | `question`, \[`message`\], \[`typed`\] |
//! | `do/override` | `question`, `message` |
//! | `do/reject` | `question`, \[`message`\]; the comments of the draft go with it |
//! | `do/answer` | `question`, \[`message`\], and `answer` or, for a question with several points, `reply-0`, `reply-1` and so on |
//! | `do/delegate` | `question`, `to`, \[`message`\] |
//! | `do/retry` | \[`task`\], \[`message`\] |
//! | `do/skip` | `task` |
//! | `do/abort` | \[`message`\] |
//! | `do/resume` | – |
//! | `do/raise` | `amount` |
//! | `do/comment` | `place`, `path`, `text`, \[`line`\], \[`last`\], \[`old`=`1`\], \[`quoted`\], `version` |
//! | `do/uncomment` | `place`, `comment` |
//! | `do/viewed` | `place`, `path`, `digest`; without `digest` the mark is taken away |
//! | `/theme` | `theme`: `auto`, `light`, `dark` or `contrast` |
//! | `/links/do/create` | `of` as `PROJECT/RUN`, `hours`, \[`transcripts`=`1`\] |
//! | `/links/do/revoke` | `link` |
//! | `/p/KEY/doctor/do`, `/out` | – |
//!
//! # Live pages
//!
//! `GET /live` is a stream of events: `change` with `{project, run, seq}`, `log` with
//! `{project, run, fence, lines}`, and `reload`. A page then asks for its own address with
//! `?part=ID` for each of its elements with `data-live`.

pub(crate) mod assets;
mod attempt;
mod cost;
mod data;
mod diff;
mod diff_rows;
mod diff_tree;
pub(crate) mod environment;
mod format;
mod graph_svg;
mod html;
mod lists;
mod marks;
mod metrics;
mod plan;
mod plots;
mod question;
mod run;
mod run_head;
mod settings;
mod shell;
mod task;
mod time_bars;
mod timeline;
mod word_changes;

use minijinja::{Environment, Value, context};

pub(crate) use self::data::*;

/// Renders a page, or one element of it: the one with the id `part`, for a page that brings itself up
/// to date.
pub(crate) fn render(
    shell: &Shell,
    page: &Page,
    part: Option<&str>,
) -> Result<String, RenderError> {
    match &*environment::BUILT_IN {
        Ok(env) => render_with(env, shell, page, part),
        Err(error) => Err(RenderError::Broken(error)),
    }
}

/// Renders a page with other templates.
pub(crate) fn render_with(
    env: &Environment<'_>,
    shell: &Shell,
    page: &Page,
    part: Option<&str>,
) -> Result<String, RenderError> {
    let content = page_content(shell, page, part);
    let template = match part {
        None => content.template.to_owned(),
        Some("nav") => "parts/nav.html".to_owned(),
        Some(part) if content.parts.contains(&part) => format!("parts/{part}.html"),
        Some(part) => match content.own_part {
            Some(template) => template.to_owned(),
            None => return Err(RenderError::MissingPart(part.to_owned())),
        },
    };
    let values = context! {
        shell => shell::shell_values(shell, page, &content.title),
        ..content.values
    };
    Ok(env.get_template(&template)?.render(values)?)
}

/// What a page consists of.
struct PageContent {
    /// Its template.
    template: &'static str,
    /// Its title.
    title: String,
    /// What the template reads.
    values: Value,
    /// The elements that can be had alone.
    parts: &'static [&'static str],
    /// The template of the element that was asked for, if it is one of those that are numbered.
    own_part: Option<&'static str>,
}

impl PageContent {
    fn new(
        template: &'static str,
        title: impl Into<String>,
        parts: &'static [&'static str],
        values: Value,
    ) -> Self {
        Self {
            template,
            title: title.into(),
            values,
            parts,
            own_part: None,
        }
    }
}

fn page_content(shell: &Shell, page: &Page, part: Option<&str>) -> PageContent {
    match page {
        Page::Inbox(page) => lists::inbox_content(shell, page),
        Page::Runs(page) => lists::runs_content(shell, page),
        Page::Run(page) => run::run_content(shell, page),
        Page::Board(page) => run::board_content(shell, page),
        Page::Graph(page) => run::graph_content(shell, page),
        Page::Files(page) => run::files_content(shell, page),
        Page::Timeline(page) => timeline::timeline_content(shell, page),
        Page::Plan(page) => plan::plan_content(shell, page),
        Page::Cost(page) => cost::cost_content(shell, page),
        Page::Events(page) => timeline::events_content(shell, page),
        Page::Event(page) => timeline::event_content(shell, page),
        Page::Task(page) => task::task_content(shell, page),
        Page::Diff(page) => diff::diff_content(shell, page, part),
        Page::Question(page) => question::question_content(shell, page),
        Page::Attempt(page) => attempt::attempt_content(shell, page),
        Page::Metrics(page) => metrics::metrics_content(shell, page),
        Page::Doctor(page) => settings::doctor_content(page),
        Page::Links(page) => settings::links_content(page),
        Page::Help => PageContent::new("help.html", "Help", &[], settings::help_values()),
        Page::Problem(page) => settings::problem_content(page),
    }
}

/// Why a page could not be made.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RenderError {
    /// A template does not fit its data.
    #[error("a page could not be made")]
    Template(#[from] minijinja::Error),
    /// A template is no template.
    #[error("the templates cannot be read")]
    Broken(#[source] &'static minijinja::Error),
    /// The page has no such element.
    #[error("there is no element `{0}` in this page")]
    MissingPart(String),
}

#[cfg(test)]
mod tests;
