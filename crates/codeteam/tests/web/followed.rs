//! Pages that are open while a run goes on: they show what happens, whoever drives the run, and live
//! through the end of their server.

use codeteam_e2e::Browser;
use serde_json::json;

use crate::decisions::comment_on_second_line;
use crate::pages::{assert_no_errors, sign_in};
use crate::project::Project;
use crate::runs::{let_worker_go_on, started_run, waiting_project};
use crate::server::WebServer;

/// Puts a mark into the page that is gone when the page is loaded again.
fn mark_page(browser: &Browser) {
    browser.run_script("window.isSamePage = true", &[]).unwrap();
}

/// Fails if the page was loaded again since it was marked.
#[track_caller]
fn assert_same_page(browser: &Browser) {
    let is_same = browser.run_script("return window.isSamePage", &[]).unwrap();
    assert_eq!(is_same, json!(true), "the page was loaded again");
}

/// Opens the page of the only run.
fn open_run(browser: &Browser, server: &WebServer) {
    browser.open(&server.url("/runs")).unwrap();
    let link = browser.find("a[data-run-link]").unwrap();
    let path = link.attribute("href").unwrap().unwrap();
    browser.open(&server.url(&path)).unwrap();
}

/// Opens the page of the newest attempt, from the page of the run.
fn open_attempt(browser: &Browser, server: &WebServer) {
    browser.click("link", "Timeline").unwrap();
    let link = browser.find("main a[href*='/attempt/']").unwrap();
    let path = link.attribute("href").unwrap().unwrap();
    browser.open(&server.url(&path)).unwrap();
}

#[test]
fn a_run_of_another_process_is_followed_live() {
    let project = Project::new();
    let mut run = started_run(&project);
    run.until("coder at work");
    let (server, browser) = (WebServer::start(&project), Browser::start().unwrap());
    sign_in(&browser, &server, &server.entry);
    open_run(&browser, &server);
    let overview = browser.window().unwrap();
    mark_page(&browser);
    browser.open_tab().unwrap();
    open_run(&browser, &server);
    open_attempt(&browser, &server);
    browser
        .wait_for_text("The first line of the worker")
        .unwrap();
    mark_page(&browser);
    assert!(!browser.text().unwrap().contains("The second line"));
    let_worker_go_on(&project, 1);
    browser
        .wait_for_text("The second line of the worker")
        .unwrap();
    assert_same_page(&browser);
    let_worker_go_on(&project, 2);
    run.end().expect(0);
    browser.switch_to(&overview).unwrap();
    browser.wait_for_text("the run has ended").unwrap();
    assert_same_page(&browser);
    assert_no_errors(&browser, "the pages of the run");
}

/// Whether the page says that it has no connection.
const IS_CUT_OFF: &str = "return !document.getElementById('connection').hidden";

#[test]
fn a_page_lives_through_the_end_of_its_server_and_nothing_is_lost() {
    let project = waiting_project();
    let (mut server, browser) = (WebServer::start(&project), Browser::start().unwrap());
    sign_in(&browser, &server, &server.entry);
    browser.click("link", "Acceptable?").unwrap();
    comment_on_second_line(&browser, "Greet by name");
    browser.open_tab().unwrap();
    open_run(&browser, &server);
    mark_page(&browser);
    browser.take_console().unwrap();
    server.kill();
    let words = "words about the lost connection";
    browser.wait_until(IS_CUT_OFF, &[], words).unwrap();
    server.restart(&project);
    // What happens from now on comes to the page, which is the same and still signed in.
    project.run(&["reject", "-m", "Greet"]).expect(0);
    project.run(&["resume"]).expect(3);
    browser.wait_for_text("Wrote round 2").unwrap();
    assert_same_page(&browser);
    // The comment was kept, and goes with the next decision.
    browser.open(&server.url("/")).unwrap();
    browser.click("link", "Acceptable?").unwrap();
    browser.wait_for_text("Greet by name").unwrap();
}

#[test]
fn seven_tabs_follow_a_run_at_once() {
    let project = Project::new();
    let mut run = started_run(&project);
    run.until("coder at work");
    let (server, browser) = (WebServer::start(&project), Browser::start().unwrap());
    sign_in(&browser, &server, &server.entry);
    let mut tabs = vec![browser.window().unwrap()];
    open_run(&browser, &server);
    mark_page(&browser);
    // A browser has six connections to a server: a stream for each tab would leave none for pages.
    for _ in 1..7 {
        tabs.push(browser.open_tab().unwrap());
        open_run(&browser, &server);
        mark_page(&browser);
    }
    let_worker_go_on(&project, 1);
    let_worker_go_on(&project, 2);
    run.end().expect(0);
    for tab in &tabs {
        browser.switch_to(tab).unwrap();
        browser.wait_for_text("the run has ended").unwrap();
        assert_same_page(&browser);
    }
    assert_no_errors(&browser, "seven tabs");
}
