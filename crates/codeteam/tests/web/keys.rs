//! The keys, the palette, the colours, and all projects of a user in one list.

use codeteam_e2e::{Browser, KeyboardKey};
use serde_json::json;

use crate::pages::{assert_no_errors, sign_in};
use crate::runs::waiting_project;
use crate::server::WebServer;

#[test]
fn the_palette_and_the_keys_lead_everywhere() {
    let project = waiting_project();
    let (server, browser) = (WebServer::start(&project), Browser::start().unwrap());
    sign_in(&browser, &server, &server.entry);
    browser
        .press(&[KeyboardKey::Control, KeyboardKey::Character('k')])
        .unwrap();
    browser.find("dialog[open] input").unwrap();
    browser.type_text("greet").unwrap();
    let is_found = "return document.querySelector('dialog [aria-selected=true]')
        ?.textContent.includes('Greet people')";
    browser
        .wait_until(is_found, &[], "run in the palette")
        .unwrap();
    browser.press(&[KeyboardKey::Enter]).unwrap();
    browser.wait_for_url("/runs/").unwrap();
    browser.wait_for_text("What happened last").unwrap();
    // The help has the keys of this page, and closes without doing anything.
    browser.type_text("?").unwrap();
    browser.find("dialog[open]").unwrap();
    browser.press(&[KeyboardKey::Escape]).unwrap();
    let is_closed = "return document.querySelector('dialog[open]') === null";
    browser
        .wait_until(is_closed, &[], "end of the help")
        .unwrap();
    browser.type_text("gu").unwrap();
    browser.wait_for_title("(1) Runs · codeteam").unwrap();
    // The cursor goes to the first run of the list, and Enter opens it.
    browser.type_text("j").unwrap();
    browser.press(&[KeyboardKey::Enter]).unwrap();
    browser.wait_for_text("What happened last").unwrap();
    assert_no_errors(&browser, "the palette and the keys");
}

#[test]
fn chosen_colours_stay() {
    let project = waiting_project();
    let (server, browser) = (WebServer::start(&project), Browser::start().unwrap());
    sign_in(&browser, &server, &server.entry);
    browser.find("#menu summary").unwrap().click().unwrap();
    browser.click("radio", "High contrast").unwrap();
    browser.click("button", "Use these colours").unwrap();
    let theme = "return document.documentElement.dataset.theme === arguments[0]";
    browser
        .wait_until(theme, &[json!("contrast")], "high contrast")
        .unwrap();
    browser.open(&server.url("/runs")).unwrap();
    let chosen = browser.run_script(theme, &[json!("contrast")]).unwrap();
    assert_eq!(chosen, json!(true));
}

#[test]
fn the_runs_of_all_projects_are_in_one_list() {
    let project = waiting_project();
    // A second repository of the same person.
    let other = project.home().join("second");
    std::fs::create_dir(&other).unwrap();
    for args in [
        &["init", "--quiet", "--initial-branch=main"][..],
        &["commit", "--quiet", "--allow-empty", "-m", "first"],
    ] {
        let mut git = project.tool("git", args);
        assert!(git.current_dir(&other).status().unwrap().success());
    }
    let script = project.write_outside(
        "other.yml",
        "version: 1\nplays:\n  - match: { role: coder }\n    do:\n      - write: { path: x.txt, content: x }\n      - submit: { summary: x }\n  - match: { kind: scribe }\n    do: [ { submit: { message: Write x. } } ]\n",
    );
    let flow = project.write_outside(
        "other-flow.yml",
        "start: code\nroles: { coder: { kind: implementer } }\nsteps:\n  code: { role: coder, next: commit }\n  commit: { commit: branch, next: done }\n",
    );
    let args = [
        "run",
        "Write another thing",
        "--worker",
        "scripted",
        "--script",
        &script,
        "--workflow",
        &flow,
    ];
    let mut run = project.codeteam(&args);
    let done = run.current_dir(&other).output().unwrap();
    assert!(
        done.status.success(),
        "{}",
        String::from_utf8_lossy(&done.stderr)
    );
    let (server, browser) = (WebServer::start(&project), Browser::start().unwrap());
    sign_in(&browser, &server, &server.entry);
    browser.open(&server.url("/runs")).unwrap();
    browser.wait_for_text("Write another thing").unwrap();
    browser.wait_for_text("Greet people").unwrap();
    browser.find("#menu summary").unwrap().click().unwrap();
    let menu = browser.find("#menu").unwrap().text().unwrap();
    assert!(
        menu.contains("second") && menu.contains("project"),
        "{menu}"
    );
    browser.open(&server.url("/runs?q=another")).unwrap();
    browser.wait_for_no_text("Greet people").unwrap();
    browser.click("link", "Write another thing").unwrap();
    browser.wait_for_text("the run has ended").unwrap();
}
