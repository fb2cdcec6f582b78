//! Links for reading: what they show, to whom, and for how long.

use codeteam_e2e::Browser;

use crate::pages::{assert_no_errors, sign_in};
use crate::project::Project;
use crate::raw::RawRequest;
use crate::runs::waiting_project;
use crate::server::WebServer;

/// The tree without files that git knows in every repository.
const EMPTY_TREE: &str = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";

/// Makes a link for reading the only run, on the page of links, and returns its address.
fn make_link(browser: &Browser, server: &WebServer) -> String {
    browser.open(&server.url("/links")).unwrap();
    browser.click("button", "Make the link").unwrap();
    let shown = browser.find(".notice code.command").unwrap();
    shown.text().unwrap()
}

/// Returns the path of the only run's page.
fn run_path(browser: &Browser, server: &WebServer) -> String {
    browser.open(&server.url("/runs")).unwrap();
    let link = browser.find("a[data-run-link]").unwrap();
    link.attribute("href").unwrap().unwrap()
}

fn started() -> (Project, WebServer, Browser) {
    let project = waiting_project();
    let (server, browser) = (WebServer::start(&project), Browser::start().unwrap());
    sign_in(&browser, &server, &server.entry);
    (project, server, browser)
}

#[test]
fn whoever_opens_a_link_for_reading_stays_signed_in() {
    let (_project, server, browser) = started();
    let link = make_link(&browser, &server);
    let run = run_path(&browser, &server);
    browser.open(&link).unwrap();
    browser.wait_for_url(&run).unwrap();
    browser.wait_for_text("You are signed in").unwrap();
    browser.open(&server.url("/")).unwrap();
    browser.click("link", "Acceptable?").unwrap();
    browser.find_by_role("button", "Approve").unwrap();
    assert_no_errors(&browser, "the question after the link");
}

#[test]
fn a_link_shows_one_run_to_whoever_has_it_until_it_is_revoked() {
    let (_project, server, owner) = started();
    let link = make_link(&owner, &server);
    let run = run_path(&owner, &server);
    let reader = Browser::start().unwrap();
    reader.open(&link).unwrap();
    reader.wait_for_url(&run).unwrap();
    reader.wait_for_text("Greet people").unwrap();
    reader
        .open(&server.url(&format!("{run}/diff/task-001")))
        .unwrap();
    reader.wait_for_text("echo hello").unwrap();
    assert_no_errors(&reader, "the change");
    // Nothing there decides, and nothing else is there.
    let forms = reader.find_all("form[method=post]").unwrap();
    assert_eq!(forms.len(), 2, "the colours, and to sign out");
    for path in ["/", "/runs", "/links", &format!("{run}/attempt/1")] {
        reader.open(&server.url(path)).unwrap();
        reader
            .wait_for_text("This link lets you read one run")
            .unwrap();
    }
    owner.open(&server.url("/links")).unwrap();
    owner.click("button", "Revoke").unwrap();
    owner.wait_for_text("The link is revoked").unwrap();
    reader.open(&server.url(&run)).unwrap();
    reader.wait_for_text("Nobody is signed in here").unwrap();
    reader.open(&link).unwrap();
    reader
        .wait_for_text("This link for reading has ended")
        .unwrap();
}

#[test]
fn a_link_for_reading_shows_no_more_than_the_change_whatever_it_is_compared_with() {
    let (project, server, owner) = started();
    let link = make_link(&owner, &server);
    let run = run_path(&owner, &server);
    let reader = Browser::start().unwrap();
    reader.open(&link).unwrap();
    reader.wait_for_url(&run).unwrap();
    let known_tree = project.git(&["rev-parse", "HEAD:.codeteam"]);
    for since in [EMPTY_TREE, &known_tree] {
        let path = format!("{run}/diff/task-001?since={since}");
        reader.open(&server.url(&path)).unwrap();
        reader.wait_for_text("echo hello").unwrap();
        let files = reader.find_all("section[data-path]").unwrap();
        let paths = files.iter().map(|file| file.attribute("data-path"));
        let paths: Vec<String> = paths.map(|path| path.unwrap().unwrap()).collect();
        assert_eq!(paths, ["greet.sh"], "{path}");
    }
    assert_no_errors(&reader, "a change and another tree");
}

#[test]
fn a_link_that_another_site_leads_to_opens_nothing() {
    let (_project, server, browser) = started();
    let link = make_link(&browser, &server);
    let target = link.strip_prefix(&server.url("")).unwrap();
    let request = RawRequest::get(server.host(), target);
    let foreign = request.clone().with("Sec-Fetch-Site", "cross-site");
    let reply = foreign.send(server.port()).expect(403);
    assert!(reply.body.contains("open it in a new tab"), "{reply:?}");
    let own = request.with("Sec-Fetch-Site", "none");
    let reply = own.send(server.port()).expect(303);
    assert!(reply.header("set-cookie").is_some());
}
