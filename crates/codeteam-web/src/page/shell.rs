//! What is around every page: places to go to, what the last form did, the colours.

use minijinja::{Value, context};

use super::assets::asset_path;
use super::data::{Page, ProjectLink, RunHead, Shell, Theme};
use crate::routes::Route;

impl Theme {
    /// Returns the word in pages and forms.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Light => "light",
            Self::Dark => "dark",
            Self::Contrast => "contrast",
        }
    }
}

/// Returns what the templates `shell.html` and `parts/nav.html` read.
pub(super) fn shell_values(shell: &Shell, page: &Page, title: &str) -> Value {
    let themes = [
        (Theme::Auto, "As the system"),
        (Theme::Light, "Light"),
        (Theme::Dark, "Dark"),
        (Theme::Contrast, "High contrast"),
    ];
    let themes = themes.into_iter().map(|(theme, label)| {
        context! { value => theme.as_str(), label, is_chosen => theme == shell.theme }
    });
    let head = run_head(page);
    let icon = if shell.inbox_count > 0 {
        "icon-needs-you.svg"
    } else {
        "icon.svg"
    };
    context! {
        title,
        is_bare => shell.is_bare,
        person => shell.person.as_str(),
        token => shell.form_token.as_str(),
        here => shell.here.as_str(),
        read_only => shell.is_read_only,
        now => shell.now.0,
        theme => shell.theme.as_str(),
        themes => themes.collect::<Value>(),
        inbox_count => shell.inbox_count,
        nav => nav_values(shell, page),
        notice => notice_values(shell),
        live_project => head.map(|head| head.project.as_str()),
        live_run => head.map(|head| head.run.id_of_run().as_str()),
        stylesheet => asset_path("base.css"),
        script => asset_path("app.js"),
        icon => asset_path(icon),
        theme_action => Route::Theme.to_string(),
        out_action => Route::SignOut.to_string(),
        live => Route::Live.to_string(),
        runs_href => Route::Runs.to_string(),
    }
}

fn notice_values(shell: &Shell) -> Option<Value> {
    let notice = shell.notice.as_ref()?;
    Some(context! {
        is_ok => notice.is_ok,
        text => notice.text.as_str(),
        output => notice.output.clone(),
    })
}

fn nav_values(shell: &Shell, page: &Page) -> Value {
    let place = |label: &'static str, icon, route: Route, key, is_here| {
        context! { label, icon, href => route.to_string(), key, is_here }
    };
    if shell.is_one_run || shell.person.is_empty() {
        return context! { places => Vec::<Value>::new(), projects => Vec::<Value>::new() };
    }
    let is_runs = matches!(page, Page::Runs(_)) || run_head(page).is_some();
    let mut places = vec![
        place(
            "Inbox",
            "inbox",
            Route::Inbox,
            "i",
            matches!(page, Page::Inbox(_)),
        ),
        place("Runs", "runs", Route::Runs, "u", is_runs),
    ];
    let here = shell.project.as_ref().or(match shell.projects.as_slice() {
        [only] => Some(&only.key),
        _ => None,
    });
    if let Some(project) = here {
        let (metrics, doctor) = (project.clone(), project.clone());
        let metrics = Route::Metrics { project: metrics };
        let doctor = Route::Doctor { project: doctor };
        places.push(place(
            "Metrics",
            "chart",
            metrics,
            "m",
            matches!(page, Page::Metrics(_)),
        ));
        places.push(place(
            "Health",
            "health",
            doctor,
            "d",
            matches!(page, Page::Doctor(_)),
        ));
    }
    if !shell.is_read_only {
        places.push(place(
            "Links",
            "link",
            Route::Links,
            "l",
            matches!(page, Page::Links(_)),
        ));
    }
    places.push(place(
        "Help",
        "help",
        Route::Help,
        "h",
        matches!(page, Page::Help),
    ));
    let projects = shell
        .projects
        .iter()
        .map(|project| project_values(shell, project));
    context! { places, projects => projects.collect::<Value>() }
}

fn project_values(shell: &Shell, project: &ProjectLink) -> Value {
    let key = || project.key.clone();
    context! {
        name => project.name.as_str(),
        folder => project.folder.as_str(),
        problem => project.problem.as_deref(),
        is_here => shell.project.as_ref() == Some(&project.key),
        runs => format!("{}?q={}", Route::Runs, crate::routes::encode(&project.name)),
        metrics => Route::Metrics { project: key() }.to_string(),
        doctor => Route::Doctor { project: key() }.to_string(),
    }
}

/// Returns the run that a page is about.
pub(super) fn run_head(page: &Page) -> Option<&RunHead> {
    Some(match page {
        Page::Run(page) => &page.head,
        Page::Board(page) => &page.head,
        Page::Graph(page) => &page.head,
        Page::Files(page) => &page.head,
        Page::Timeline(page) => &page.head,
        Page::Plan(page) => &page.head,
        Page::Cost(page) => &page.head,
        Page::Events(page) => &page.head,
        Page::Event(page) => &page.head,
        Page::Task(page) => &page.head,
        Page::Diff(page) => &page.head,
        Page::Question(page) => &page.head,
        Page::Attempt(page) => &page.head,
        Page::Inbox(_)
        | Page::Runs(_)
        | Page::Metrics(_)
        | Page::Doctor(_)
        | Page::Links(_)
        | Page::Help
        | Page::Problem(_) => return None,
    })
}
