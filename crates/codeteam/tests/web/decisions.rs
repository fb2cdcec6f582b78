//! What a person decides on a page reaches the run as if it were said in a terminal.

use codeteam_e2e::{Browser, KeyboardKey, PageElement};

use crate::pages::{assert_no_errors, sign_in};
use crate::project::Project;
use crate::pty::Terminal;
use crate::runs::{driven_run, waiting_project};
use crate::server::WebServer;

/// Presses the tabulator until something has the focus, and Enter.
#[track_caller]
fn go_by_keys(browser: &Browser, role: &str, name: &str) {
    browser.tab_to(role, name).unwrap();
    browser.press(&[KeyboardKey::Enter]).unwrap();
}

#[test]
fn from_the_inbox_to_approved_without_a_mouse() {
    let project = waiting_project();
    let (server, browser) = (WebServer::start(&project), Browser::start().unwrap());
    sign_in(&browser, &server, &server.entry);
    assert!(browser.title().unwrap().starts_with("(1)"));
    go_by_keys(&browser, "link", "Acceptable?");
    browser.wait_for_url("/question/").unwrap();
    go_by_keys(&browser, "button", "Approve");
    // Nobody drives the run, and the page says so as the command does.
    browser.wait_for_text("kept until the run goes on").unwrap();
    go_by_keys(&browser, "button", "Go on with the run");
    browser.wait_for_text("the run has ended").unwrap();
    assert_eq!(project.count("answered"), 1);
    assert_eq!(project.count("committed"), 1);
    let answered = project.events().into_iter();
    let mut answered = answered.filter(|event| event["event"]["type"] == "answered");
    assert_eq!(answered.next().unwrap()["event"]["answer"], "accept");
    assert_no_errors(&browser, "from the inbox to approved");
}

/// Sends the form of a button, and waits for the page that answers it: a form about a run is answered
/// when its command has done something, which takes longer than the click.
#[track_caller]
fn send_form(browser: &Browser, button: &str) {
    browser.run_script("window.isOld = true", &[]).unwrap();
    browser.click("button", button).unwrap();
    let is_new = "return !window.isOld && document.readyState === 'complete'";
    browser.wait_until(is_new, &[], "next page").unwrap();
}

/// Opens the change from its question, comments on the second line of its file, and goes back.
pub(crate) fn comment_on_second_line(browser: &Browser, text: &str) {
    browser.click("link", "Show the change").unwrap();
    browser
        .find("td.no[data-new='2']")
        .unwrap()
        .click()
        .unwrap();
    let field = browser.find("[data-comment][open] textarea").unwrap();
    field.type_text(text).unwrap();
    browser.click("button", "Keep the comment").unwrap();
    browser.click("link", "Reject with these comments").unwrap();
    browser.wait_for_url("/question/").unwrap();
}

/// The field for what is wrong with a change.
pub(crate) fn rejection_field(browser: &Browser) -> PageElement<'_> {
    browser.find("form[action$='/do/reject'] textarea").unwrap()
}

#[test]
fn a_comment_on_a_line_is_in_the_next_assignment() {
    let project = waiting_project();
    let (server, browser) = (WebServer::start(&project), Browser::start().unwrap());
    sign_in(&browser, &server, &server.entry);
    browser.click("link", "Acceptable?").unwrap();
    comment_on_second_line(&browser, "Greet by name");
    rejection_field(&browser).type_text("Too short").unwrap();
    send_form(&browser, "Reject");
    browser.wait_for_text("kept until the run goes on").unwrap();
    send_form(&browser, "Go on with the run");
    browser.open(&server.url("/runs")).unwrap();
    browser.find("a[data-run-link]").unwrap().click().unwrap();
    browser.wait_for_text("Wrote round 2").unwrap();
    let traces = project.json(&["trace", "--all", "--full", "--json"]);
    let all = traces.to_string();
    for part in ["Too short", "Greet by name", "greet.sh:2", "echo round 1"] {
        assert!(all.contains(part), "{part}: {traces:#}");
    }
}

#[test]
fn two_browsers_that_decide_at_once_decide_once() {
    let project = Project::new();
    let mut driver: Terminal = driven_run(&project);
    driver.sees("Acceptable?");
    let server = WebServer::start(&project);
    let browsers = [Browser::start().unwrap(), Browser::start().unwrap()];
    let entries = [server.entry.clone(), server.mint(&project)];
    for (browser, entry) in browsers.iter().zip(&entries) {
        sign_in(browser, &server, entry);
        browser.click("link", "Acceptable?").unwrap();
        browser.wait_for_url("/question/").unwrap();
    }
    std::thread::scope(|scope| {
        for browser in &browsers {
            scope.spawn(|| send_form(browser, "Approve"));
        }
    });
    driver.sees("the run is done");
    for browser in &browsers {
        browser.open(&server.url("/")).unwrap();
        browser.wait_for_text("Nothing needs you").unwrap();
    }
    driver.keys("q");
    driver.end(0);
    assert_eq!(project.count("answered"), 1);
    assert_eq!(project.count("committed"), 1);
}
