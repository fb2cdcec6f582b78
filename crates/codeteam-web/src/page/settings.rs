//! Pages about this machine and this server: health, links for reading, help, and why there is no page.

use minijinja::{Value, context};

use super::PageContent;
use super::data::{DoctorPage, LinksPage, ProblemPage};
use super::run_head::RunLinks;
use crate::routes::{LinkAction, Route, RunPlace};

pub(super) fn doctor_content(page: &DoctorPage) -> PageContent {
    let checks = page.checks.iter().map(|check| {
        let text = |key: &str| check.get(key).and_then(serde_json::Value::as_str).map(str::to_owned);
        let is = |key: &str| check.get(key).and_then(serde_json::Value::as_bool).unwrap_or(false);
        let (state, word) = match (is("ok"), is("note")) {
            (false, _) => ("failed", "problem"),
            (true, true) => ("needs you", "note"),
            (true, false) => ("done", "fine"),
        };
        context! { name => text("name"), state, word, found => text("found"), remedy => text("remedy") }
    });
    let refused = page.refused.iter().map(|(reason, count)| {
        context! { reason => reason.as_str(), count => *count }
    });
    let problems = page
        .checks
        .iter()
        .filter(|check| check.get("ok").and_then(serde_json::Value::as_bool) == Some(false));
    let values = context! {
        checks => checks.collect::<Value>(),
        problems => problems.count(),
        checked_at => page.checked_at.map(|at| at.0),
        problem => page.problem.as_deref(),
        refused => refused.collect::<Value>(),
        action => Route::DoctorAction { project: page.project.clone() }.to_string(),
    };
    PageContent::new("doctor.html", "Health", &["doctor-checks"], values)
}

pub(super) fn links_content(page: &LinksPage) -> PageContent {
    let links = page.links.iter().map(|link| {
        context! {
            id => link.id.as_str(),
            run => link.run.as_str(),
            href => RunLinks::new(&link.project, &link.run).page(RunPlace::Overview),
            until => link.until.0,
            opened => link.opened,
            with_transcripts => link.with_transcripts,
        }
    });
    let runs = page.runs.iter().map(|(project, run, goal)| {
        context! { value => format!("{project}/{run}"), run => run.as_str(), goal => goal.as_str() }
    });
    let values = context! {
        links => links.collect::<Value>(),
        runs => runs.collect::<Value>(),
        created => page.created.as_deref(),
        create => Route::LinkAction(LinkAction::Create).to_string(),
        revoke => Route::LinkAction(LinkAction::Revoke).to_string(),
    };
    PageContent::new("links.html", "Links for reading", &[], values)
}

pub(super) fn problem_content(page: &ProblemPage) -> PageContent {
    let values = context! { text => page.text.as_str(), hints => page.hints.clone() };
    PageContent::new("problem.html", "Nothing to show", &[], values)
}

/// A key, with what it does.
type KeyLine = (&'static str, &'static str);

/// The keys, by where they work. `keys.js` carries them out; a test compares the two.
pub(super) const KEYS: [(&str, &[KeyLine]); 4] = [
    (
        "Everywhere",
        &[
            ("g i", "go to the inbox"),
            ("g u", "go to all runs"),
            ("g m", "go to the metrics"),
            ("g d", "go to the health of this machine"),
            ("Ctrl-K", "find a page or a run by its name"),
            ("/", "filter the list"),
            ("?", "show the keys"),
            ("Esc", "close what is open; nothing happens"),
        ],
    ),
    (
        "In lists",
        &[
            ("j", "next line"),
            ("k", "line before"),
            ("Enter", "open the line"),
        ],
    ),
    (
        "In a change",
        &[
            ("j", "next line"),
            ("k", "line before"),
            ("]", "next hunk"),
            ("[", "hunk before"),
            ("}", "next file"),
            ("{", "file before"),
            ("c", "comment on the line"),
            ("v", "mark the file as viewed"),
        ],
    ),
    (
        "With a question",
        &[
            ("a", "go to the button that approves"),
            ("r", "write why it is rejected"),
            ("d", "show the change"),
        ],
    ),
];

pub(super) fn help_values() -> Value {
    let groups = KEYS.map(|(place, keys)| {
        let keys = keys.iter().map(|(key, what)| {
            let parts = key.split(' ').map(str::to_owned);
            context! { parts => parts.collect::<Value>(), what => *what }
        });
        context! { place, keys => keys.collect::<Value>() }
    });
    let states = [
        "needs you",
        "working",
        "waiting",
        "failed",
        "done",
        "left out",
    ];
    context! { groups => groups.to_vec(), states => states.map(str::to_owned).to_vec() }
}
