//! A run in which everything that others can write is an attack on the page that shows it, on every
//! page there is: the goal, the plan, names of files and checks, what workers print, answer and find.

use codeteam_e2e::Browser;
use serde_json::json;

use crate::foreign::ForeignServer;
use crate::pages::{assert_no_errors, assert_visited, sign_in, visit_pages};
use crate::project::Project;
use crate::server::WebServer;

/// Breaks out of every place that a text can be put in, if it is not escaped for that place: an
/// element, an attribute, a script, a template, a link, a drawing, a line of a terminal, and the
/// direction of reading.
const ATTACK: &str = concat!(
    "Z'\"><script>window.owned=1</script><img src=x onerror=window.owned=1 data-owned>",
    "<svg/onload=window.owned=1></textarea></title></style></select>--><b data-owned>{{7777*7}}{%if 1%}",
    "[x](javascript:window.owned=1)&lt;i data-owned&gt;\u{1b}[2J\u{1b}]0;x\u{7}\u{202e}\u{2066}"
);

/// What of it every reader sees.
const SEEN: &str = "<script>window.owned=1</script>";

/// A name of a file with as much of it as a file system takes.
const FILE: &str = "Z'\"><img src=x onerror=window.owned=1 data-owned>\t{{7777*7}}.sh";

/// What none of it may do to a page.
const HARM: &str = r"
    const all = (css) => [...document.querySelectorAll(css)].map((found) => found.outerHTML);
    const isPage = document.contentType === 'text/html';
    const harm = {
        owned: typeof window.owned === 'undefined' ? [] : ['a script ran'],
        elements: all('[data-owned], base, iframe, object, embed, [onerror], [onload], [onclick]'),
        styles: isPage ? all('[style], style') : [],
        scripts: [...document.scripts].filter((script) => !script.src).map((script) => script.outerHTML),
        links: all('[href], [action], [src], [formaction]').filter((html) =>
            /(href|action|src)=.\s*(javascript|vbscript|data):/i.test(html.split('>')[0])),
        active: isPage && /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/
            .test(document.documentElement.textContent) ? ['a character that acts'] : [],
        rendered: document.body.innerText.includes('54439') ? ['a template ran'] : [],
    };
    return Object.entries(harm).filter(([, found]) => found.length > 0).map(([kind, found]) => kind + ': ' + found.join(' | '));
";

/// A run that waits for a person, in which everything is an attack.
fn hostile_project() -> Project {
    let project = Project::new();
    let check =
        json!({"name": "Z<b data-owned>\"'", "command": format!("echo {}", quoted(ATTACK))});
    project
        .config(&json!({"worker": "scripted", "verification": {"commands": [check]}}).to_string());
    project.commit("as hostile as it gets");
    let coder = json!([
        {"text": ATTACK},
        {"run": format!("echo {}; echo {} >&2", quoted(ATTACK), quoted(ATTACK))},
        {"write": {"path": FILE, "content": format!("{ATTACK}\n")}},
        {"submit": {"summary": ATTACK, "concerns": [ATTACK], "proof": ATTACK}},
    ]);
    let finding = |severity: &str| json!({"severity": severity, "title": ATTACK, "detail": ATTACK, "file": FILE, "line": 1});
    let rejects = json!([{"submit": {"verdict": "reject", "reason": ATTACK, "findings": [finding("major")]}}]);
    let approves = json!([{"submit": {"verdict": "approve", "reason": ATTACK, "resolved": [{"id": "F1", "state": "fixed"}], "findings": [finding("minor")]}}]);
    let script = json!({"version": 1, "plays": [
        {"match": {"role": "coder", "round": 1}, "do": coder},
        {"match": {"role": "coder"}, "do": [
            {"write": {"path": FILE, "content": format!("{ATTACK}\n{ATTACK}\n")}},
            {"submit": {"summary": ATTACK}},
        ]},
        {"match": {"role": "reviewer", "round": 1}, "do": rejects},
        {"match": {"role": "reviewer"}, "do": approves},
    ]});
    let flow = json!({"start": "work", "description": ATTACK,
    "roles": {"coder": {"kind": "implementer", "description": ATTACK}, "reviewer": {"kind": "gatekeeper"}},
    "steps": {"work": {"each": "task", "next": "done", "steps": {
        "code": {"role": "coder", "next": "verify"},
        "verify": {"gate": "project", "next": "review", "on_reject": "code"},
        "review": {"role": "reviewer", "next": "judge", "on_reject": "code"},
        "judge": {"person": ATTACK, "answers": {"accept": "commit", ATTACK: {"next": "code", "rejects": true}}},
        "commit": {"commit": "branch", "next": "done"},
    }}}});
    let task = json!({"id": "task-001", "title": ATTACK, "description": ATTACK, "files": [FILE], "acceptance": [ATTACK]});
    let plan = json!({"description": ATTACK, "tasks": [task]});
    let names = [
        project.script(&script.to_string()),
        project.workflow(&flow.to_string()),
        project.write_outside("plan.yml", &plan.to_string()),
    ];
    let args = [
        "run",
        ATTACK,
        "--script",
        &names[0],
        "--workflow",
        &names[1],
        "--plan",
        &names[2],
    ];
    project.run(&args).expect(3);
    project
}

/// Writes a text as one word of a shell.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// A page that shows the attack without escaping it, in a text and in an attribute.
#[test]
fn the_attack_succeeds_where_nothing_is_escaped() {
    let page = format!(
        "<!doctype html><title>Z</title><main><p title=\"{ATTACK}\">{ATTACK}</p><a href='javascript:1' style='color:red'>54439</a></main>"
    );
    let server = ForeignServer::start(&page);
    let browser = Browser::start().unwrap();
    browser
        .open(&format!("http://localhost:{}/", server.port))
        .unwrap();
    let harm = browser.run_script(HARM, &[]).unwrap().to_string();
    for kind in [
        "owned", "elements", "styles", "scripts", "links", "active", "rendered",
    ] {
        assert!(harm.contains(&format!("\"{kind}: ")), "{kind}: {harm}");
    }
}

#[test]
fn no_text_of_others_does_anything_on_any_page() {
    let project = hostile_project();
    let (server, browser) = (WebServer::start(&project), Browser::start().unwrap());
    sign_in(&browser, &server, &server.entry);
    let mut shown = Vec::new();
    let kinds = visit_pages(&browser, &server, |path| {
        let harm = browser.run_script(HARM, &[]).unwrap();
        assert_eq!(harm, json!([]), "{path}");
        assert_no_errors(&browser, path);
        if browser.text().unwrap().contains(SEEN) {
            shown.push(path.to_owned());
        }
    });
    assert_visited(&kinds);
    // It is shown for what it is, and was not just left out.
    for kind in [
        "/question/",
        "/diff/",
        "/task/",
        "/attempt/",
        "/plan",
        "/events",
        "/graph",
    ] {
        assert!(
            shown.iter().any(|path| path.contains(kind)),
            "{kind}: {shown:?}"
        );
    }
    assert!(shown.contains(&"/".to_owned()), "{shown:?}");
}
