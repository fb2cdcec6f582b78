//! The browser itself, on small pages of a server that answers every request with one of them.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Instant;

use codeteam_e2e::{Browser, BrowserPrograms, ColourScheme, KeyboardKey};
use serde_json::json;

/// A page with what the tests of codeteam's pages meet.
const PAGE: &str = r#"<!doctype html><html lang="en"><head><title>Garden</title><style>
    body { color: black; background: white } @media (prefers-color-scheme: dark) { body { color: white; background: black } }
    </style></head><body><main><h1>Garden</h1>
    <a href="/shed">To the   shed</a> <button id="later">Plant</button> <button disabled>Never</button>
    <form action="/sown"><label>Seeds <input name="seeds"></label><button>Sow</button></form>
    <p id="state">bare</p></main><script>
    const state = document.getElementById('state');
    later.onclick = () => setTimeout(() => { state.textContent = 'grown'; document.title = 'Green' }, 100);
    document.onkeydown = (event) => { if (event.ctrlKey && event.key === 'k') state.textContent = 'weeded' };
    </script></body></html>"#;

/// A page that breaks two rules, and a policy that lets it do nothing.
const BROKEN: &str = r#"<!doctype html><html lang="en"><head><title>Broken</title></head><body><main><h1>Broken</h1>
    <img src="data:image/gif;base64,R0lGODlhAQABAAAAACw="><script>console.log("never")</script></main></body></html>"#;

const STRICT: &str = "content-security-policy: default-src 'none'; img-src data:\r\n";

/// A server for a few pages; it ends when it is dropped.
struct PageServer {
    port: u16,
    over: Arc<AtomicBool>,
    serving: Option<JoinHandle<()>>,
}

impl PageServer {
    fn start() -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let over = Arc::new(AtomicBool::new(false));
        let is_over = Arc::clone(&over);
        let serving = std::thread::spawn(move || {
            // A browser opens connections in advance, so none may keep the others waiting.
            std::thread::scope(|scope| {
                while !is_over.load(Ordering::Relaxed) {
                    let (stream, _) = listener.accept().unwrap();
                    scope.spawn(move || answer(&stream));
                }
            });
        });
        Self {
            port,
            over,
            serving: Some(serving),
        }
    }

    fn url(&self, path: &str) -> String {
        format!("http://page.localhost:{}/{path}", self.port)
    }
}

impl Drop for PageServer {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        // Wakes it up. What browsers have left open ends with them.
        let _ = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port));
        let _ = self.serving.take().unwrap().join();
    }
}

/// Answers one request, if there is one.
fn answer(mut stream: &TcpStream) {
    let mut lines = BufReader::new(stream).lines().map_while(Result::ok);
    let first = lines.next().unwrap_or_default();
    let path = first.split(' ').nth(1).unwrap_or_default().to_owned();
    lines.take_while(|line| !line.is_empty()).for_each(drop);
    let (headers, page) = match path.split('?').next().unwrap_or_default() {
        "/broken" => (STRICT, BROKEN.to_owned()),
        "/garden" => ("set-cookie: bee=busy; HttpOnly\r\n", PAGE.to_owned()),
        "/abroad" => (
            "",
            "<title>Abroad</title><img src='http://example.org/x.png'>".to_owned(),
        ),
        _ => ("", format!("<title>Other</title><p>You are at {path}</p>")),
    };
    let length = page.len();
    let head = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: text/html; charset=utf-8\r\n{headers}content-length: {length}\r\nconnection: close\r\n\r\n"
    );
    let _ = stream.write_all(format!("{head}{page}").as_bytes());
}

#[test]
fn a_page_is_read_and_worked_as_a_person_does() {
    let server = PageServer::start();
    let browser = Browser::start().unwrap();
    browser.open(&server.url("garden")).unwrap();
    assert_eq!(browser.title().unwrap(), "Garden");
    browser.click("button", "Plant").unwrap();
    // Both come later, and nobody sleeps.
    browser.wait_for_text("grown").unwrap();
    browser.wait_for_title("Green").unwrap();
    browser.wait_for_no_text("bare").unwrap();
    let heading = browser.find("h1").unwrap();
    assert_eq!(heading.text().unwrap(), "Garden");
    assert_eq!(heading.role().unwrap(), "heading");
    assert_eq!(browser.find_all("button").unwrap().len(), 3);
    assert_eq!(browser.find_all_by_role("button").unwrap().len(), 3);
    let link = browser.find_by_role("link", "To the shed").unwrap();
    assert_eq!(link.attribute("href").unwrap().unwrap(), "/shed");
    link.click().unwrap();
    browser.wait_for_text("You are at /shed").unwrap();
    assert!(browser.url().unwrap().ends_with("/shed"));
    browser.go_back().unwrap();
    browser.wait_for_url("/garden").unwrap();
    let cookies = browser.cookies().unwrap();
    assert_eq!(cookies[0]["name"], "bee");
    assert_eq!(cookies[0]["httpOnly"], true);
    assert_eq!(browser.take_console().unwrap(), []);
}

#[test]
fn a_form_is_filled_without_a_mouse() {
    let server = PageServer::start();
    let browser = Browser::start().unwrap();
    browser.open(&server.url("garden")).unwrap();
    browser
        .press(&[KeyboardKey::Control, KeyboardKey::Character('k')])
        .unwrap();
    browser.wait_for_text("weeded").unwrap();
    browser.tab_to("textbox", "Seeds").unwrap();
    browser.type_text("poppy").unwrap();
    let field = browser.focused().unwrap();
    assert_eq!(field.property("value").unwrap(), "poppy");
    browser.press(&[KeyboardKey::Enter]).unwrap();
    browser
        .wait_for_text("You are at /sown?seeds=poppy")
        .unwrap();
    // A button that cannot be pressed is passed.
    browser.go_back().unwrap();
    let problem = browser.tab_to("button", "Never").unwrap_err().to_string();
    assert!(
        problem.contains("leads to no button called `Never`"),
        "{problem}"
    );
}

#[test]
fn sizes_and_colours_are_those_asked_for() {
    let server = PageServer::start();
    let browser = Browser::start().unwrap();
    browser.open(&server.url("garden")).unwrap();
    for width in [360, 1600] {
        browser.resize(width, 800).unwrap();
        let found = browser.run_script("return innerWidth", &[]).unwrap();
        assert_eq!(found, width);
    }
    for (scheme, colour) in [
        (ColourScheme::Dark, "rgba(255, 255, 255, 1)"),
        (ColourScheme::Light, "rgba(0, 0, 0, 1)"),
    ] {
        browser.prefer_scheme(scheme).unwrap();
        let body = browser.find("body").unwrap();
        assert_eq!(body.style("color").unwrap(), colour, "{scheme:?}");
    }
    // The beginning of a PNG.
    let picture = browser.screenshot().unwrap();
    assert!(picture.starts_with("iVBORw0KGgo"), "{picture:.20}");
    browser.allow_scripts(false).unwrap();
    browser.reload().unwrap();
    browser.find("#later").unwrap().click().unwrap();
    browser
        .press(&[KeyboardKey::Control, KeyboardKey::Character('k')])
        .unwrap();
    assert_eq!(browser.find("#state").unwrap().text().unwrap(), "bare");
}

#[test]
fn what_a_page_does_wrong_is_found() {
    let server = PageServer::start();
    let browser = Browser::start().unwrap();
    browser.open(&server.url("broken")).unwrap();
    let console = browser.take_console().unwrap();
    assert_eq!(console.len(), 1, "{console:?}");
    assert_eq!(
        (&*console[0].level, &*console[0].source),
        ("SEVERE", "security")
    );
    assert!(
        console[0].text.contains("Content Security Policy"),
        "{console:?}"
    );
    // axe works under a policy that forbids all scripts.
    let violations = browser.accessibility_violations().unwrap();
    let rules: Vec<_> = violations.iter().map(|found| &*found.rule).collect();
    assert_eq!(rules, ["image-alt"], "{violations:?}");
    assert!(violations[0].to_string().contains("data:image/gif"));
    browser.open(&server.url("garden")).unwrap();
    assert_eq!(browser.accessibility_violations().unwrap(), []);
    // Another machine is not reached, and that is an error in the console.
    browser.take_console().unwrap();
    browser.open(&server.url("abroad")).unwrap();
    let console = browser.take_console().unwrap();
    assert!(
        console[0].text.contains("ERR_NAME_NOT_RESOLVED"),
        "{console:?}"
    );
}

#[test]
fn tabs_are_of_one_user_and_browsers_are_not() {
    let server = PageServer::start();
    let browser = Browser::start().unwrap();
    let other = Browser::start().unwrap();
    browser.open(&server.url("garden")).unwrap();
    let first = browser.window().unwrap();
    let second = browser.open_tab().unwrap();
    assert_ne!(first, second);
    assert_eq!(browser.windows().unwrap().len(), 2);
    browser.open(&server.url("shed")).unwrap();
    assert_eq!(browser.cookies().unwrap().len(), 1);
    browser.switch_to(&first).unwrap();
    assert_eq!(browser.title().unwrap(), "Garden");
    other.open(&server.url("shed")).unwrap();
    assert_eq!(other.cookies().unwrap(), [json!(null); 0]);
}

#[test]
fn nothing_is_left_of_a_browser() {
    for panics in [false, true] {
        let browser = Browser::start().unwrap();
        let pid = browser.pid();
        let children = descendants(pid);
        assert!(children.len() > 8, "{children:?}");
        let ended = std::thread::spawn(move || {
            let _browser = browser;
            assert!(!panics, "this test is meant to fail");
        });
        assert_eq!(ended.join().is_err(), panics);
        // The kernel ends all of them; the last one may still be at it.
        let deadline = Instant::now() + Browser::PATIENCE;
        let mut left = children;
        while !left.is_empty() {
            left.retain(|pid| is_alive(*pid));
            assert!(Instant::now() < deadline, "{left:?}");
            std::thread::yield_now();
        }
    }
}

#[test]
fn a_missing_browser_is_an_error_that_says_what_to_do() {
    for missing_driver in [false, true] {
        let mut programs = BrowserPrograms::default();
        let missing = PathBuf::from("/nowhere/program");
        if missing_driver {
            programs.driver = missing;
        } else {
            programs.browser = missing;
        }
        let problem = Browser::start_with(&programs).unwrap_err().to_string();
        assert!(
            problem.contains("`/nowhere/program` is missing"),
            "{problem}"
        );
        assert!(problem.contains("./tools"), "{problem}");
    }
}

/// The processes below this one.
fn descendants(pid: u32) -> Vec<u32> {
    // Each thread has children of its own.
    let children = |pid: u32| -> Vec<u32> {
        let threads = std::fs::read_dir(format!("/proc/{pid}/task")).into_iter();
        let threads = threads.flatten().flatten();
        let lists = threads
            .filter_map(|thread| std::fs::read_to_string(thread.path().join("children")).ok());
        let lists: Vec<String> = lists.collect();
        let pids = lists.iter().flat_map(|list| list.split_whitespace());
        pids.map(|pid| pid.parse().unwrap()).collect()
    };
    let mut found = vec![pid];
    let mut next = 0;
    while next < found.len() {
        found.extend(children(found[next]));
        next += 1;
    }
    found
}

/// Returns true if a process runs: one that has ended and was not yet taken note of does not.
fn is_alive(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let state = stat.rsplit_once(") ").map(|(_, rest)| rest.chars().next());
    !matches!(state, None | Some(Some('Z' | 'X')))
}
