//! What the server refuses, as a client finds it that is no browser, or a page of somebody else.
//! Everything refused here is accepted when the one thing that is wrong about it is right.

use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, TcpStream};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixStream;

use codeteam_e2e::Browser;

use crate::foreign::ForeignServer;
use crate::project::Project;
use crate::raw::{RawReply, RawRequest};
use crate::runs::waiting_project;
use crate::server::{COOKIE, RawSession, WebServer};

/// A project with a run that waits for a person, its server, and somebody who has signed in.
struct SignedIn {
    project: Project,
    server: WebServer,
    session: RawSession,
}

impl SignedIn {
    fn new() -> Self {
        let project = waiting_project();
        let server = WebServer::start(&project);
        let session = server.sign_in(&server.entry);
        Self {
            project,
            server,
            session,
        }
    }

    /// The path of the page with the question.
    fn question(&self) -> String {
        let inbox = self.session.send(&self.session.get("/")).expect(200);
        let mut links = inbox.attributes().into_iter();
        links.find(|link| link.contains("/question/")).unwrap()
    }

    /// The form that approves, as the page has it.
    fn approval(&self, token: &str) -> RawRequest {
        let page = self
            .session
            .send(&self.session.get(&self.question()))
            .expect(200);
        let mut links = page.attributes().into_iter();
        let action = links.find(|link| link.ends_with("/do/approve"));
        let action = action.unwrap();
        let (question, back) = (page.hidden_field("question"), page.hidden_field("back"));
        let fields = [("token", token), ("question", &question), ("back", &back)];
        self.session.post(&action, &fields)
    }

    /// Fails if anybody has decided anything.
    #[track_caller]
    fn assert_undecided(&self) {
        assert_eq!(self.project.count("answered"), 0);
        let kept = &self.project.shown_run()["kept_decisions"];
        assert!(kept.as_array().is_none_or(Vec::is_empty), "{kept}");
    }
}

/// Fails unless a reply refuses, and says nothing about the project.
#[track_caller]
fn assert_refused(reply: &RawReply, what: &str) {
    assert!((400..500).contains(&reply.status), "{what}: {reply:?}");
    assert!(!reply.body.contains("Greet"), "{what}: {reply:?}");
    assert!(reply.header("set-cookie").is_none(), "{what}: {reply:?}");
}

#[test]
fn a_name_that_was_bound_to_this_machine_is_not_answered() {
    let here = SignedIn::new();
    let (host, port) = (here.server.host().to_owned(), here.server.port());
    let label = host.split(':').next().unwrap().to_owned();
    let page = here.session.get("/");
    here.session.send(&page).expect(200);
    for other in [
        format!("evil.example:{port}"),
        format!("localhost:{port}"),
        format!("127.0.0.1:{port}"),
        format!("[::1]:{port}"),
        format!("ct-aaaaaaaa.localhost:{port}"),
        format!("x.{host}"),
        format!("{label}.evil.example:{port}"),
        format!("{label}:{}", port ^ 1),
        label.clone(),
        String::new(),
    ] {
        let reply = here.session.send(&page.clone().with("Host", &other));
        assert_refused(&reply, &other);
    }
    let without = here.session.send(&page.clone().without("Host"));
    assert_refused(&without, "no host");
    let twice = here.session.send(&page.clone().and("Host", "evil.example"));
    assert_refused(&twice, "two hosts");
    let absolute = RawRequest::get(&host, "http://evil.example/");
    let absolute = absolute.with("Cookie", &here.session.cookie);
    assert_refused(&here.session.send(&absolute), "another authority");
    // Not even somebody with a code gets in by another name.
    let entry = here.server.mint(&here.project);
    let target = entry.strip_prefix(&here.server.url("")).unwrap();
    let rebound = RawRequest::get(&format!("evil.example:{port}"), target);
    assert_refused(&rebound.send(port), "a code at another host");
    here.server.sign_in(&entry);
}

#[test]
fn a_page_of_another_site_reads_nothing_and_decides_nothing() {
    let here = SignedIn::new();
    let (host, port) = (here.server.host().to_owned(), here.server.port());
    let page = here.session.get("/");
    for site in ["same-site", "cross-site", "nonsense", ""] {
        let reply = here
            .session
            .send(&page.clone().with("Sec-Fetch-Site", site));
        assert_refused(&reply, site);
    }
    let twice = page.clone().and("Sec-Fetch-Site", "none");
    assert_refused(&here.session.send(&twice), "two sites");
    let foreign = page.clone().and("Origin", "http://evil.example");
    assert_refused(&here.session.send(&foreign), "a foreign origin reads");

    let form = here.approval(&here.session.form_token());
    for origin in [
        "null",
        "http://evil.example",
        &format!("http://localhost:{port}"),
        &format!("http://127.0.0.1:{port}"),
        &format!("https://{host}"),
        &format!("http://{host}/"),
        &format!("http://{}", host.split(':').next().unwrap()),
    ] {
        let reply = here.session.send(&form.clone().with("Origin", origin));
        assert_refused(&reply, origin);
    }
    assert_refused(
        &here.session.send(&form.clone().without("Origin")),
        "no origin",
    );
    for site in ["same-site", "cross-site", "none", ""] {
        let reply = here
            .session
            .send(&form.clone().with("Sec-Fetch-Site", site));
        assert_refused(&reply, site);
    }
    let without = form.clone().without("Sec-Fetch-Site");
    assert_refused(&here.session.send(&without), "no site");
    let text = form.clone().with("Content-Type", "text/plain");
    assert_refused(&here.session.send(&text), "a form that no preflight is for");
    here.assert_undecided();
    // The same form with nothing wrong about it.
    here.session.send(&form).expect(303);
    let kept = &here.project.shown_run()["kept_decisions"][0]["decision"];
    assert_eq!(kept["answer"], "accept", "{kept}");
}

#[test]
fn only_the_session_that_got_a_form_can_send_it() {
    let here = SignedIn::new();
    let other = here.server.sign_in(&here.server.mint(&here.project));
    for token in ["", "0", &other.form_token(), &here.session.cookie] {
        assert_refused(&here.session.send(&here.approval(token)), token);
    }
    let own = here.approval(&here.session.form_token());
    let names = format!("{COOKIE}=");
    for cookie in [
        "",
        &names,
        &format!("{names}nonsense"),
        "codeteam=1",
        &other.cookie,
    ] {
        assert_refused(
            &here.session.send(&own.clone().with("Cookie", cookie)),
            cookie,
        );
    }
    assert_refused(&here.session.send(&own.clone().without("Cookie")), "nobody");
    here.assert_undecided();
    here.session.send(&own).expect(303);
}

#[test]
fn nothing_is_shown_to_whoever_has_not_signed_in() {
    let here = SignedIn::new();
    let page = here.session.send(&here.session.get("/")).expect(200);
    let mut assets = page.attributes();
    assets.retain(|link| link.starts_with("/assets/"));
    assert!(assets.len() >= 3, "{}", page.body);
    // The style sheet is the same for everybody, and says nothing.
    let (styles, assets): (Vec<_>, Vec<_>) = assets
        .into_iter()
        .partition(|link| link.split('.').next_back() == Some("css"));
    for style in &styles {
        let request = here.session.get(style).without("Cookie");
        here.session.send(&request).expect(200);
        let foreign = request.with("Sec-Fetch-Site", "cross-site");
        assert_refused(&here.session.send(&foreign), "styles for another site");
    }
    let question = here.question();
    for path in [
        "/", "/runs", "/help", "/live", "/links", "/nowhere", &question,
    ]
    .into_iter()
    .chain(assets.iter().map(String::as_str))
    {
        let reply = here.session.send(&here.session.get(path).without("Cookie"));
        assert_refused(&reply, path);
    }
    here.session.send(&here.session.get("/nowhere")).expect(404);
    // A session that was ended is none.
    let token = here.session.form_token();
    let out = here.session.post("/out", &[("token", &token)]);
    let out = here.session.send(&out);
    assert!(
        out.header("set-cookie").unwrap().contains("Max-Age=0"),
        "{out:?}"
    );
    assert_refused(&here.session.send(&here.session.get("/")), "signed out");
}

#[test]
fn a_code_is_good_for_one_use() {
    let project = waiting_project();
    let server = WebServer::start(&project);
    // A link that another page leads to does not use it up.
    let target = server
        .entry
        .strip_prefix(&server.url(""))
        .unwrap()
        .to_owned();
    let foreign = RawRequest::get(server.host(), &target).with("Sec-Fetch-Site", "cross-site");
    assert_refused(&foreign.send(server.port()), "a link of another site");
    server.sign_in(&server.entry);
    assert_refused(&server.enter(&server.entry), "the same code again");
    let wrong = format!("{}x", server.mint(&project));
    assert_refused(&server.enter(&wrong), "a wrong code");
    let empty = server.url("/in?code=");
    assert_refused(&server.enter(&empty), "no code");
    // Codes are made by whoever has the secret of the server's file.
    let mint = RawRequest::post(server.host(), "/mint", &[]);
    assert_refused(&mint.send(server.port()), "a code without the secret");
    let guess = mint
        .without("Origin")
        .without("Sec-Fetch-Site")
        .with("Authorization", "Bearer guess");
    assert_refused(&guess.send(server.port()), "a wrong secret");
}

#[test]
fn no_form_leads_away_from_the_server() {
    let here = SignedIn::new();
    let token = here.session.form_token();
    for back in [
        "https://evil.example/",
        "//evil.example/",
        "/\\evil.example/",
        "\\/evil.example",
        "/%2f/evil.example",
        "javascript:alert(1)",
        "/runs\r\nSet-Cookie: a=b",
        "runs",
        "/nowhere",
    ] {
        let form = here.session.post(
            "/theme",
            &[("token", &token), ("theme", "dark"), ("back", back)],
        );
        let reply = here.session.send(&form);
        assert!(
            reply.status == 303 || reply.status == 400,
            "{back}: {reply:?}"
        );
        let to = reply.header("location").unwrap_or("/");
        assert!(
            !to.contains("evil") && to.starts_with('/') && !to.starts_with("//"),
            "{back}: {to}"
        );
    }
    let form = here.session.post(
        "/theme",
        &[("token", &token), ("theme", "dark"), ("back", "/runs")],
    );
    assert_eq!(
        here.session.send(&form).expect(303).header("location"),
        Some("/runs")
    );
}

#[test]
fn large_and_slow_requests_are_ended() {
    let here = SignedIn::new();
    // A body that does not come is waited for while the rest goes on.
    let slow = here.session.post("/theme", &[("token", "x")]);
    let slow = slow.with("Content-Length", "1000");
    let slow = slow.open(here.server.port());
    // Nobody says how long this one is, and it is too long.
    let endless = here.session.post("/theme", &[]);
    let endless = endless
        .without("Content-Length")
        .with("Transfer-Encoding", "chunked");
    let mut endless = endless.open(here.server.port());
    let chunk = format!("10000\r\n{}\r\n", "x".repeat(0x10000));
    for _ in 0..17 {
        // The server may have closed it by then.
        let _ = endless.write_all(chunk.as_bytes());
    }
    let _ = endless.write_all(b"0\r\n\r\n");
    if let Ok(reply) = RawReply::read(endless) {
        reply.expect(413);
    }
    let large = here.session.post("/theme", &[]);
    let large = large.with("Content-Length", &(1 + (1 << 20)).to_string());
    here.session.send(&large.without_body()).expect(413);
    let head = here.session.get(&format!("/{}", "x".repeat(1 << 20)));
    assert!(RawReply::read(head.open(here.server.port())).map_or(431, |reply| reply.status) >= 400);
    // Many who send nothing keep nobody out, and are not waited for.
    let silent: Vec<_> = (0..100)
        .map(|_| TcpStream::connect((Ipv4Addr::LOCALHOST, here.server.port())).unwrap())
        .collect();
    here.session.send(&here.session.get("/")).expect(200);
    for mut stream in silent {
        let _ = stream.write_all(b"GET / HTTP/1.1\r\nHo");
        let mut rest = Vec::new();
        let _ = stream.read_to_end(&mut rest);
        assert!(!String::from_utf8_lossy(&rest).contains("200 OK"));
    }
    here.session.send(&here.session.get("/")).expect(200);
    RawReply::read(slow).unwrap().expect(408);
    // All that were refused are counted, for whoever looks at the health.
    let page = here.session.send(&here.session.get("/")).expect(200);
    let mut links = page.attributes().into_iter();
    let health = links.find(|link| link.ends_with("/doctor")).unwrap();
    let health = here.session.send(&here.session.get(&health)).expect(200);
    assert!(health.body.contains("too large, too slow or too many"));
}

#[test]
fn a_page_for_nobody_has_the_look_and_asks_for_nothing_else() {
    let project = waiting_project();
    let (server, browser) = (WebServer::start(&project), Browser::start().unwrap());
    browser.open(&server.url("/runs")).unwrap();
    browser.wait_for_text("codeteam web --url").unwrap();
    let font = "return getComputedStyle(document.body).fontFamily";
    let font = browser.run_script(font, &[]).unwrap().to_string();
    assert!(font.contains("system-ui"), "{font}");
    let console = browser.take_console().unwrap();
    // The page itself is the only thing that was refused.
    let refused = console.iter().filter(|line| line.level == "SEVERE");
    assert_eq!(refused.count(), 1, "{console:#?}");
    assert!(
        browser
            .find_all("script, form, details")
            .unwrap()
            .is_empty()
    );
    let violations = browser.accessibility_violations().unwrap();
    assert!(violations.is_empty(), "{violations:#?}");
}

#[test]
fn a_socket_is_for_its_user_alone_and_the_line_for_ssh_is_printed() {
    let project = waiting_project();
    let socket = project.home().join("pages.sock");
    let name = socket.display().to_string();
    let mut server = WebServer::start_with(&project, &["--socket", &name]);
    let line = server.printed_line("ssh -L");
    let forwarded = format!("ssh -L {}:{name} HOST", server.port());
    assert!(line.contains(&forwarded), "{line}");
    let mode = std::fs::metadata(&socket).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let target = server.entry.strip_prefix(&server.url("")).unwrap();
    let head = format!(
        "GET {target} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n",
        server.host()
    );
    let mut stream = UnixStream::connect(&socket).unwrap();
    stream.write_all(head.as_bytes()).unwrap();
    let mut reply = String::new();
    stream.read_to_string(&mut reply).unwrap();
    assert!(reply.starts_with("HTTP/1.1 303"), "{reply}");
    assert!(reply.contains(COOKIE), "{reply}");
    // Nothing listens at the network.
    TcpStream::connect((Ipv4Addr::LOCALHOST, server.port())).unwrap_err();
}

#[test]
fn every_reply_has_the_headers_that_confine_it() {
    let here = SignedIn::new();
    let page = here.session.send(&here.session.get("/")).expect(200);
    let mut links = page.attributes().into_iter();
    let asset = links.find(|link| link.starts_with("/assets/")).unwrap();
    let refused = here.session.send(&here.session.get("/").without("Cookie"));
    let missing = here.session.send(&here.session.get("/nowhere"));
    let asset = here.session.send(&here.session.get(&asset)).expect(200);
    for (what, reply) in [
        ("page", &page),
        ("refusal", &refused),
        ("missing", &missing),
        ("asset", &asset),
    ] {
        let policy = reply.header("content-security-policy").unwrap_or_default();
        for part in [
            "default-src 'none'",
            "base-uri 'none'",
            "frame-ancestors 'none'",
        ] {
            assert!(policy.contains(part), "{what}: {policy}");
        }
        assert!(!policy.contains("unsafe"), "{what}: {policy}");
        for (name, value) in [
            ("x-content-type-options", "nosniff"),
            ("referrer-policy", "same-origin"),
            ("cross-origin-opener-policy", "same-origin"),
            ("cross-origin-resource-policy", "same-origin"),
        ] {
            assert_eq!(reply.header(name), Some(value), "{what}: {name}");
        }
        assert!(
            reply.header("access-control-allow-origin").is_none(),
            "{what}"
        );
    }
    assert_eq!(page.header("cache-control"), Some("no-store"));
    // What a worker wrote is text, even if it is opened by itself.
    let run = here.project.shown_run()["run"].as_str().unwrap().to_owned();
    let question = here.question();
    let (before, _) = question.split_once(&run).unwrap();
    for name in ["log", "prompt", "answer"] {
        let path = format!("{before}{run}/attempt/1/{name}.txt");
        let reply = here.session.send(&here.session.get(&path)).expect(200);
        assert_eq!(
            reply.header("content-type"),
            Some("text/plain; charset=utf-8")
        );
        let policy = reply.header("content-security-policy").unwrap_or_default();
        assert!(policy.contains("sandbox"), "{name}: {policy}");
    }
}

/// A page of somebody else sends the form that signs out, with the cookies that the browser has.
const FOREIGN_FORM: &str = "<!doctype html><title>Other</title><form method=post action='HERE/out'>
    <input name=token value=guess></form><script>document.forms[0].submit()</script>";

#[test]
fn another_server_on_this_machine_gets_no_cookie_and_can_send_no_form() {
    let project = waiting_project();
    let server = WebServer::start(&project);
    let plain = ForeignServer::start("<!doctype html><title>Other</title>");
    let posting = ForeignServer::start(&FOREIGN_FORM.replace("HERE", &server.url("")));
    let browser = Browser::start().unwrap();
    crate::pages::sign_in(&browser, &server, &server.entry);
    for name in ["127.0.0.1", "localhost", "ct-aaaaaaaa.localhost"] {
        let host = format!("{name}:{}", plain.port);
        browser.open(&format!("http://{host}/")).unwrap();
        let head = plain.next_head().to_lowercase();
        assert!(head.contains(&format!("host: {host}")), "{head}");
        assert!(!head.contains("cookie"), "{name}: {head}");
        browser
            .open(&format!("http://{name}:{}/", posting.port))
            .unwrap();
        // The browser shows what the server said to the form.
        browser.wait_for_url(&server.url("/out")).unwrap();
    }
    // The browser itself is still signed in.
    browser.open(&server.url("/")).unwrap();
    browser.wait_for_text("Acceptable?").unwrap();
}
