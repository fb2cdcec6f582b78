//! Every page of a server: all that links lead to, a few of each kind.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use codeteam_e2e::{Browser, ConsoleMessage};
use serde_json::Value;

use crate::server::WebServer;

/// No more pages of one kind are opened than this.
const MOST_OF_A_KIND: usize = 2;

/// Links of the page, wherever they are in it: also those in drawings.
const LINKS: &str = "return [...document.querySelectorAll('a')]
    .map((link) => link.getAttribute('href') ?? link.getAttribute('xlink:href'))
    .filter((href) => href !== null)
    .map((href) => new URL(href, location).href)";

/// Signs a browser in.
pub(crate) fn sign_in(browser: &Browser, server: &WebServer, entry: &str) {
    browser.open(entry).unwrap();
    browser.wait_for_url(&server.url("/")).unwrap();
    browser.find("main").unwrap();
}

/// Opens all pages that links lead to, from the inbox on, and calls `look` for each with its path.
/// Returns their kinds.
pub(crate) fn visit_pages(
    browser: &Browser,
    server: &WebServer,
    mut look: impl FnMut(&str),
) -> BTreeSet<String> {
    let base = server.url("");
    let mut waiting = VecDeque::from(["/".to_owned()]);
    let mut known: BTreeSet<String> = waiting.iter().cloned().collect();
    let mut kinds: BTreeMap<String, usize> = BTreeMap::new();
    while let Some(path) = waiting.pop_front() {
        let count = kinds.entry(kind_of(&path)).or_default();
        *count += 1;
        if *count > MOST_OF_A_KIND {
            continue;
        }
        browser.open(&server.url(&path)).unwrap();
        look(&path);
        let links = browser.run_script(LINKS, &[]).unwrap();
        let links = links.as_array().cloned().unwrap_or_default();
        for link in links.iter().filter_map(Value::as_str) {
            let Some(path) = link.strip_prefix(&base) else {
                panic!("{path} links to {link}")
            };
            let path = path.split('#').next().unwrap().to_owned();
            if known.insert(path.clone()) {
                waiting.push_back(path);
            }
        }
    }
    kinds.into_keys().collect()
}

/// Returns the kind of page that a path leads to: without what distinguishes projects, runs, tasks,
/// and with the names of its options.
fn kind_of(path: &str) -> String {
    let (path, query) = path.split_once('?').unwrap_or((path, ""));
    let mut parts: Vec<&str> = path.split('/').collect();
    for at in 1..parts.len() {
        let is_name = matches!(
            parts[at - 1],
            "p" | "runs" | "task" | "diff" | "question" | "attempt" | "check" | "events"
        );
        if is_name {
            parts[at] = "*";
        }
    }
    let options = query.split('&').filter_map(|part| part.split('=').next());
    let options: Vec<_> = options.filter(|name| !name.is_empty()).collect();
    let path = parts.join("/");
    if options.is_empty() {
        path
    } else {
        format!("{path}?{}", options.join("&"))
    }
}

/// The kinds of pages that a run with tasks, attempts and a question has at least.
pub(crate) const ALL_KINDS: [&str; 21] = [
    "/",
    "/help",
    "/links",
    "/runs",
    "/p/*/doctor",
    "/p/*/metrics",
    "/p/*/runs/*",
    "/p/*/runs/*/attempt/*",
    "/p/*/runs/*/attempt/*/log.txt",
    "/p/*/runs/*/attempt/*/prompt.txt",
    "/p/*/runs/*/board",
    "/p/*/runs/*/cost",
    "/p/*/runs/*/diff/*",
    "/p/*/runs/*/events",
    "/p/*/runs/*/events/*",
    "/p/*/runs/*/files",
    "/p/*/runs/*/graph",
    "/p/*/runs/*/plan",
    "/p/*/runs/*/question/*",
    "/p/*/runs/*/task/*",
    "/p/*/runs/*/timeline",
];

/// Fails if one of these pages was not among those that were opened.
#[track_caller]
pub(crate) fn assert_visited(kinds: &BTreeSet<String>) {
    let missing: Vec<_> = ALL_KINDS
        .iter()
        .filter(|kind| !kinds.contains(**kind))
        .collect();
    assert!(
        missing.is_empty(),
        "no link leads to {missing:?}: {kinds:#?}"
    );
}

/// Fails if a page made an error, or tried something that its policy forbids.
#[track_caller]
pub(crate) fn assert_no_errors(browser: &Browser, path: &str) {
    let console = browser.take_console().unwrap();
    let errors: Vec<_> = console.iter().filter(|line| is_error(line)).collect();
    assert!(errors.is_empty(), "{path}: {errors:#?}");
}

/// Returns true if a line of the console is about something wrong.
fn is_error(line: &ConsoleMessage) -> bool {
    line.level == "SEVERE" || line.source == "security" || line.source == "violation"
}
