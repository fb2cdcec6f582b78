//! A change is read: without its blanks, with more of the file around it, a long one.

use codeteam_e2e::Browser;
use serde_json::{Value, json};

use crate::pages::{assert_no_errors, sign_in};
use crate::project::Project;
use crate::runs::waiting_project;
use crate::server::WebServer;

const FLOW: &str = r"
start: code
roles: { coder: { kind: implementer } }
steps:
  code: { role: coder, next: judge }
  judge:
    person: Acceptable?
    answers:
      accept: done
      reject: { next: code, rejects: true }
";

/// A run that waits for a person, whose worker has put this into these files.
fn changed_project(before: &[(&str, &str)], after: &[(&str, &str)]) -> Project {
    let project = Project::new();
    for (path, content) in before {
        project.write(path, content);
    }
    if !before.is_empty() {
        project.commit("before");
    }
    let writes = after.iter();
    let mut doing: Vec<Value> = writes
        .map(|(path, content)| json!({"write": {"path": path, "content": content}}))
        .collect();
    doing.push(json!({"submit": {"summary": "Wrote it"}}));
    let script = json!({"version": 1, "plays": [{"match": {"role": "coder"}, "do": doing}]});
    let (script, flow) = (project.script(&script.to_string()), project.workflow(FLOW));
    let args = ["run", "Change it", "--script", &script, "--workflow", &flow];
    project.run(&args).expect(3);
    project
}

/// Opens the change of the only run.
fn open_change(project: &Project) -> (WebServer, Browser) {
    let (server, browser) = (WebServer::start(project), Browser::start().unwrap());
    sign_in(&browser, &server, &server.entry);
    browser.click("link", "Acceptable?").unwrap();
    browser.click("link", "Show the change").unwrap();
    browser.wait_for_url("/diff/").unwrap();
    (server, browser)
}

/// Returns the text of the lines of the change, without their numbers.
fn shown_lines(browser: &Browser) -> Vec<String> {
    let script =
        "return [...document.querySelectorAll('.diff .code')].map((cell) => cell.textContent)";
    let found = browser.run_script(script, &[]).unwrap();
    serde_json::from_value(found).unwrap()
}

/// Waits for a text anywhere on the page. What is out of view is not laid out, so that it is no text that
/// a person sees now.
#[track_caller]
fn wait_for_content(browser: &Browser, text: &str) {
    let script = "return document.querySelector('main').textContent.includes(arguments[0])";
    browser.wait_until(script, &[json!(text)], text).unwrap();
}

fn numbered(numbers: std::ops::RangeInclusive<u32>) -> String {
    numbers.fold(String::new(), |text, n| text + &format!("line {n}\n"))
}

#[test]
fn changes_of_blanks_are_left_out_and_marks_stay() {
    let project = changed_project(
        &[("code.txt", "a\nb\nc\n"), ("blank.txt", "x y\n")],
        &[("code.txt", "a\nif d\n    b\nc\n"), ("blank.txt", "x  y\n")],
    );
    let (_server, browser) = open_change(&project);
    assert!(shown_lines(&browser).contains(&"x  y".to_owned()));
    let mark = "section[data-path='code.txt'] [data-viewed] button";
    browser.find(mark).unwrap().click().unwrap();
    let is_marked =
        "return document.querySelector(`section[data-path='code.txt'] [aria-pressed=true]`)";
    browser.wait_until(is_marked, &[], "mark").unwrap();
    browser.click("link", "Ignore blanks").unwrap();
    browser.wait_for_text("Only blanks have changed.").unwrap();
    // It is the same change, so what was viewed is still viewed.
    browser.wait_until(is_marked, &[], "mark").unwrap();
    let script = "document.querySelector(`section[data-path='code.txt'] [data-unfold]`).click()";
    browser.run_script(script, &[]).unwrap();
    wait_for_content(&browser, "if d");
    let kinds = "return [...document.querySelectorAll('.diff tr')].map((row) => row.className)";
    let kinds = browser.run_script(kinds, &[]).unwrap();
    assert_eq!(kinds, json!(["hunk", "same", "add", "same", "same"]));
    assert_no_errors(&browser, "the change without blanks");
}

#[test]
fn more_of_a_file_is_shown_around_a_change_and_can_be_commented_on() {
    let before = numbered(1..=100);
    let after = before.replace("line 50\n", "line fifty\n");
    let project = changed_project(&[("long.txt", &before)], &[("long.txt", &after)]);
    let (server, browser) = open_change(&project);
    assert_eq!(shown_lines(&browser).len(), 8);
    browser.click("link", "More lines").unwrap();
    wait_for_content(&browser, "line 30");
    assert_eq!(shown_lines(&browser).len(), 8 + 2 * 20);
    browser.click("link", "More lines").unwrap();
    wait_for_content(&browser, "line 100");
    assert_eq!(shown_lines(&browser).len(), 101);
    // A comment on a line that the patch does not have.
    browser
        .find("td.no[data-new='90']")
        .unwrap()
        .click()
        .unwrap();
    let field = browser.find("[data-comment][open] textarea").unwrap();
    field.type_text("And this one").unwrap();
    browser.click("button", "Keep the comment").unwrap();
    wait_for_content(&browser, "Your comment on long.txt:90");
    assert_eq!(shown_lines(&browser).len(), 101);
    // The bar at the top would be above it.
    browser.run_script("scrollTo(0, 0)", &[]).unwrap();
    browser.click("link", "Only the changes").unwrap();
    let is_short = "return document.querySelectorAll('.diff .code').length === 8";
    browser.wait_until(is_short, &[], "change alone").unwrap();
    // It is not lost when its line is not shown.
    wait_for_content(&browser, "Your comment on long.txt:90");
    // Without a script, the same links lead to pages.
    browser.allow_scripts(false).unwrap();
    let path = browser.url().unwrap();
    browser
        .open(&format!("{path}?file=long.txt&more=200"))
        .unwrap();
    wait_for_content(&browser, "line 1\n");
    browser.allow_scripts(true).unwrap();
    drop(server);
}

#[test]
fn a_long_change_unfolds_as_somebody_scrolls() {
    let content = numbered(1..=900);
    let names: Vec<String> = (10..30).map(|n| format!("file-{n}.txt")).collect();
    let files: Vec<(&str, &str)> = names
        .iter()
        .map(|name| (name.as_str(), content.as_str()))
        .collect();
    let project = changed_project(&[], &files);
    let (_server, browser) = open_change(&project);
    let lines = "return document.querySelectorAll('.diff .code').length";
    let first = browser.run_script(lines, &[]).unwrap();
    assert!(first.as_u64().unwrap() <= 11_000, "{first}");
    let last =
        "return document.querySelector(`section[data-path='file-29.txt'] td[data-new='900']`)";
    assert_eq!(browser.run_script(last, &[]).unwrap(), Value::Null);
    let scroll = "document.querySelector(`section[data-path='file-29.txt']`).scrollIntoView()";
    browser.run_script(scroll, &[]).unwrap();
    browser.wait_until(last, &[], "last line").unwrap();
    assert_no_errors(&browser, "a long change");
}

#[test]
fn what_is_new_since_the_last_look_is_shown_alone() {
    let project = waiting_project();
    let (server, browser) = (WebServer::start(&project), Browser::start().unwrap());
    sign_in(&browser, &server, &server.entry);
    browser.click("link", "Acceptable?").unwrap();
    browser.click("link", "Show the change").unwrap();
    wait_for_content(&browser, "echo round 1");
    // What was said about the change stands beside it.
    let report = browser.find("#diff-report").unwrap().text().unwrap();
    assert!(report.contains("What was said about it"), "{report}");
    project.run(&["reject", "-m", "Again"]).expect(0);
    project.run(&["resume"]).expect(3);
    browser.open(&server.url("/")).unwrap();
    browser.click("link", "Acceptable?").unwrap();
    browser.click("link", "Show the change").unwrap();
    wait_for_content(&browser, "echo round 2");
    browser
        .click("link", "What is new since your last look")
        .unwrap();
    browser.wait_for_url("since=").unwrap();
    wait_for_content(&browser, "echo round 2");
    let lines = shown_lines(&browser);
    assert_eq!(
        lines,
        ["echo hello", "echo round 1", "echo round 2", "echo bye"]
    );
    assert_no_errors(&browser, "what is new");
}
