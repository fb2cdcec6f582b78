//! Answers requests: lets them in, and passes them on to pages, forms and the live stream.

use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::{Arc, Mutex, PoisonError};

use codeteam_core::ids::{EpochMillis, RunId};
use codeteam_engine::clock;
use codeteam_engine::metrics::MetricsCache;
use codeteam_engine::problem::Problem;
use codeteam_host::error_chain::format_error_chain;
use codeteam_http::{ConnectionRefusal, HttpReply, RequestHandler};
use http_body_util::{BodyExt as _, Full, StreamBody};
use hyper::body::{Bytes, Frame};
use hyper::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderValue, IF_NONE_MATCH};
use hyper::http::request::Parts;
use hyper::{Method, Request, Response, StatusCode};
use tokio_stream::StreamExt as _;
use tokio_stream::wrappers::ReceiverStream;

use crate::actions::ActionRequest;
use crate::drafts::DraftStore;
use crate::form_data::FormData;
use crate::gate::{Admission, GateRefusal, RefusalCounts, RequestGate, session_of};
use crate::live_hub::{LiveHub, LiveScope};
use crate::load_page::{AttemptText, PageSources, problem_page, read_attempt_text};
use crate::log_tail::LogTail;
use crate::output_cache::OutputCache;
use crate::page::{
    DoctorPage, LinksPage, Notice, Page, ProblemPage, ReadLink, Shell, Theme, assets, render,
};
use crate::projects::ProjectRegistry;
use crate::replies;
use crate::routes::{LinkAction, Route, RunPlace};
use crate::sessions::{Access, BrowserSession, SessionRegistry};

/// How long a link for reading lasts unless somebody says otherwise, and at most.
const LINK_HOURS: u64 = 24;
const MOST_LINK_HOURS: u64 = 24 * 90;
/// The most runs that a link can be made for from the page of links.
const LINKED_RUNS: usize = 50;

/// The server behind the connections.
pub(crate) struct PageServer {
    pub(crate) gate: RequestGate,
    pub(crate) sessions: SessionRegistry,
    pub(crate) refusals: RefusalCounts,
    pub(crate) projects: ProjectRegistry,
    pub(crate) hub: Arc<LiveHub>,
    pub(crate) tail: Arc<LogTail>,
    pub(crate) drafts: DraftStore,
    pub(crate) metrics: MetricsCache,
    pub(crate) outputs: OutputCache,
    pub(crate) memory: PageMemory,
}

/// What is remembered between a form and the page after it.
#[derive(Default)]
pub(crate) struct PageMemory {
    notices: Mutex<HashMap<String, Notice>>,
    created_links: Mutex<HashMap<String, String>>,
    checks: Mutex<HashMap<String, CheckedHealth>>,
}

/// What the doctor has found.
#[derive(Clone)]
struct CheckedHealth {
    at: EpochMillis,
    checks: Vec<serde_json::Value>,
    problem: Option<String>,
}

/// A request that was let in, as pages need it.
struct PageRequest {
    session: BrowserSession,
    route: Route,
    /// Its path and query.
    here: String,
    query: FormData,
    known_tag: Option<String>,
    body: Bytes,
    is_read: bool,
    now: EpochMillis,
}

/// The server, shared by connections and the threads that make pages.
pub(crate) struct SharedServer(pub(crate) Arc<PageServer>);

impl RequestHandler for SharedServer {
    fn admit(&self, head: &Parts) -> Result<(), Box<HttpReply>> {
        let server = &self.0;
        let checked = server.gate.check(head, &server.sessions, clock::now());
        checked
            .map(drop)
            .map_err(|why| Box::new(server.refuse_request(why)))
    }

    fn refuse(&self, why: ConnectionRefusal) -> HttpReply {
        self.0.refusals.count(GateRefusal::Limits);
        let status = match why {
            ConnectionRefusal::TooLong => StatusCode::PAYLOAD_TOO_LARGE,
            ConnectionRefusal::Broken => StatusCode::REQUEST_TIMEOUT,
            ConnectionRefusal::Busy => StatusCode::SERVICE_UNAVAILABLE,
        };
        replies::words(status, GateRefusal::Limits.describe().1)
    }

    async fn answer(&self, request: Request<Full<Bytes>>) -> HttpReply {
        let (head, body) = request.into_parts();
        let body = match body.collect().await {
            Ok(body) => body.to_bytes(),
            Err(never) => match never {},
        };
        let server = Arc::clone(&self.0);
        let now = clock::now();
        let admission = match server.gate.check(&head, &server.sessions, now) {
            Ok(admission) => admission,
            Err(why) => return server.refuse_request(why),
        };
        if let Admission::Session(session, Route::Live) = &admission {
            return server.open_stream(session, &head);
        }
        let answered = tokio::task::spawn_blocking(move || {
            server
                .answer_admitted(admission, &head, body, now)
                .unwrap_or_else(|error| {
                    tracing::warn!(%error, "a request failed");
                    let words = format!("the server could not keep its state: {error}");
                    replies::words(StatusCode::INTERNAL_SERVER_ERROR, &words)
                })
        });
        answered.await.unwrap_or_else(|_| {
            let words = "the page could not be made; this is a defect of codeteam";
            replies::words(StatusCode::INTERNAL_SERVER_ERROR, words)
        })
    }
}

impl PageServer {
    fn refuse_request(&self, why: GateRefusal) -> HttpReply {
        self.refusals.count(why);
        let (status, text, hint) = why.describe();
        let page = Page::Problem(ProblemPage {
            text: text.to_owned(),
            hints: vec![hint.to_owned()],
        });
        let shell = Shell {
            is_bare: true,
            person: String::new(),
            form_token: String::new(),
            is_read_only: true,
            is_one_run: true,
            inbox_count: 0,
            projects: Vec::new(),
            project: None,
            notice: None,
            now: clock::now(),
            here: String::new(),
            theme: Theme::Auto,
        };
        match render(&shell, &page, None) {
            Ok(html) => replies::html(status, html),
            Err(_) => replies::words(status, text),
        }
    }

    /// Opens the stream of what changes.
    fn open_stream(&self, session: &BrowserSession, head: &Parts) -> HttpReply {
        let scope = match &session.access {
            Access::Person => LiveScope::All,
            Access::Reader { project, run, .. } => LiveScope::Run {
                project: project.clone(),
                run: run.clone(),
            },
        };
        let last = head.headers.get("last-event-id");
        let last = last.and_then(|last| last.to_str().ok());
        let Some(events) = self.hub.open(scope, last) else {
            self.refusals.count(GateRefusal::Limits);
            let (status, words, _) = GateRefusal::Limits.describe();
            return replies::words(status, words);
        };
        let frames =
            ReceiverStream::new(events).map(|bytes| Ok::<_, Infallible>(Frame::data(bytes)));
        let mut reply = Response::new(StreamBody::new(frames).boxed());
        let headers = reply.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        replies::secure(&mut reply);
        reply
    }

    fn answer_admitted(
        &self,
        admission: Admission,
        head: &Parts,
        body: Bytes,
        now: EpochMillis,
    ) -> std::io::Result<HttpReply> {
        let query = FormData::parse(head.uri.query().unwrap_or_default()).unwrap_or_default();
        let (session, route) = match admission {
            Admission::Session(session, route) => (*session, route),
            Admission::SignIn => return self.sign_in(head, &query, now),
            Admission::StyleSheet(name) => return Ok(self.serve_asset(&name)),
            Admission::Link(secret) => return self.open_link(head, &secret, now),
            Admission::Mint => {
                let url = self.sign_in_url(now)?;
                return Ok(replies::words(StatusCode::OK, &url));
            }
            Admission::PolicyReport => {
                tracing::warn!(report = %String::from_utf8_lossy(&body), "content policy");
                self.refusals.count(GateRefusal::Policy);
                return Ok(replies::words(StatusCode::NO_CONTENT, ""));
            }
        };
        let known_tag = head.headers.get(IF_NONE_MATCH);
        let known_tag = known_tag.and_then(|tag| tag.to_str().ok());
        let request = PageRequest {
            session,
            route,
            here: head
                .uri
                .path_and_query()
                .map_or_else(String::new, ToString::to_string),
            query,
            known_tag: known_tag.map(ToOwned::to_owned),
            body,
            is_read: matches!(head.method, Method::GET | Method::HEAD),
            now,
        };
        if request.is_read {
            Ok(self.show(&request))
        } else {
            self.take_form(&request)
        }
    }

    /// Returns the address with which a browser signs in, once.
    pub(crate) fn sign_in_url(&self, now: EpochMillis) -> std::io::Result<String> {
        let code = self.sessions.mint_code(now)?;
        Ok(format!(
            "{}{}?code={code}",
            self.gate.origin(),
            Route::SignIn
        ))
    }

    fn sign_in(
        &self,
        head: &Parts,
        query: &FormData,
        now: EpochMillis,
    ) -> std::io::Result<HttpReply> {
        if head.method != Method::GET {
            // Whoever only asks whether the page is there does not use the code.
            return Ok(replies::words(StatusCode::NO_CONTENT, ""));
        }
        let Some(cookie) = self.sessions.sign_in(query.get("code"), now)? else {
            return Ok(self.refuse_request(GateRefusal::Code));
        };
        let mut reply = replies::redirect(&Route::Inbox.to_string());
        replies::set_cookie(&mut reply, Some(&cookie));
        Ok(reply)
    }

    fn serve_asset(&self, name: &str) -> HttpReply {
        match assets::find_asset(name) {
            Some(asset) => replies::asset(asset.media_type, &asset.content),
            None => self.refuse_request(GateRefusal::Path),
        }
    }

    /// Opens a link for reading. Whoever is signed in stays so, and sees the run as usual.
    fn open_link(
        &self,
        head: &Parts,
        secret: &str,
        now: EpochMillis,
    ) -> std::io::Result<HttpReply> {
        let session = session_of(&head.headers, &self.sessions, now);
        let person = session.filter(|session| session.access == Access::Person);
        if let (Some(person), Some(link)) = (person, self.sessions.find_link(secret, now)) {
            let notice = Notice {
                is_ok: true,
                text: "You are signed in, so this is your own view, and not that of the link."
                    .to_owned(),
                output: Vec::new(),
            };
            lock(&self.memory.notices).insert(person.key, notice);
            let to = Route::run(&link.project, &link.run, RunPlace::Overview);
            return Ok(replies::redirect(&to.to_string()));
        }
        let Some(cookie) = self.sessions.open_link(secret, now)? else {
            return Ok(self.refuse_request(GateRefusal::Link));
        };
        let session = self.sessions.session(&cookie, now);
        let Some(Access::Reader { project, run, .. }) = session.map(|session| session.access)
        else {
            return Ok(self.refuse_request(GateRefusal::Link));
        };
        let to = Route::run(&project, &run, RunPlace::Overview);
        let mut reply = replies::redirect(&to.to_string());
        replies::set_cookie(&mut reply, Some(&cookie));
        Ok(reply)
    }

    fn sources(&self, now: EpochMillis) -> PageSources<'_> {
        PageSources {
            projects: &self.projects,
            drafts: &self.drafts,
            metrics: &self.metrics,
            outputs: &self.outputs,
            now,
        }
    }

    /// Answers a request for a page.
    fn show(&self, request: &PageRequest) -> HttpReply {
        if let Route::Asset { name } = &request.route {
            return self.serve_asset(name);
        }
        if let Some((run, fence, text)) = attempt_text(&request.route) {
            let read = self
                .sources(request.now)
                .project(run.0)
                .and_then(|project| {
                    read_attempt_text(&project, &RunId(run.1.to_owned()), fence, text)
                });
            return match read {
                Ok(text) => replies::text(&text),
                Err(problem) => {
                    self.render(request, StatusCode::NOT_FOUND, &problem_page(&problem))
                }
            };
        }
        let page = match &request.route {
            Route::Doctor { project } => Ok(self.doctor_page(project)),
            Route::Links => Ok(self.links_page(request)),
            route => self.sources(request.now).load(route, &request.query),
        };
        match page {
            Ok(page) => {
                self.watch_output(request, &page);
                self.render(request, StatusCode::OK, &page)
            }
            Err(problem) => self.render(request, StatusCode::NOT_FOUND, &problem_page(&problem)),
        }
    }

    /// Watches the output of an attempt that somebody reads.
    fn watch_output(&self, request: &PageRequest, page: &Page) {
        let (Page::Attempt(page), Route::Run { project, run, .. }) = (page, &request.route) else {
            return;
        };
        let attempt = &page.attempt;
        if attempt.transcript.is_some() {
            // It does not grow any more.
            return;
        }
        let Some(project) = self.projects.find(project) else {
            return;
        };
        let (run, fence) = (RunId(run.clone()), attempt.id.fence);
        if let Ok(output) = self.outputs.open(&project, &run, fence, None) {
            self.tail
                .watch(&project, &run, fence, output, page.log.total);
        }
    }

    fn render(&self, request: &PageRequest, status: StatusCode, page: &Page) -> HttpReply {
        let part = request.query.filled("part");
        if part.is_some() && status != StatusCode::OK {
            // A question that was answered meanwhile, for example. The page says that it is old.
            return replies::words(StatusCode::NO_CONTENT, "");
        }
        let shell = self.shell(request, part.is_some());
        let rendered = match render(&shell, page, part) {
            Ok(html) => html,
            Err(error) => {
                let words = format_error_chain(&error);
                tracing::warn!(error = words, "a page could not be made");
                return replies::words(StatusCode::INTERNAL_SERVER_ERROR, &words);
            }
        };
        match part {
            Some(_) if status == StatusCode::OK => {
                replies::part(rendered, request.known_tag.as_deref())
            }
            _ => replies::html(status, rendered),
        }
    }

    /// Returns what is around a page. A page that brings itself up to date keeps what the last form
    /// did for the next one.
    fn shell(&self, request: &PageRequest, is_part: bool) -> Shell {
        let session = &request.session;
        let is_reader = session.access != Access::Person;
        let project = match &request.route {
            Route::Run { project, .. } | Route::Metrics { project } | Route::Doctor { project } => {
                Some(project.clone())
            }
            _ => None,
        };
        let notice = if is_part {
            None
        } else {
            lock(&self.memory.notices).remove(&session.key)
        };
        let (person, projects, inbox_count) = if is_reader {
            (String::new(), Vec::new(), 0)
        } else {
            let all = self.projects.all();
            let person = all
                .first()
                .map(|first| first.engine.own_identity().to_string());
            let count = self.sources(request.now).count_inbox();
            (person.unwrap_or_default(), self.projects.links(), count)
        };
        Shell {
            is_bare: false,
            person,
            form_token: session.form_token.clone(),
            is_read_only: is_reader,
            is_one_run: is_reader,
            inbox_count,
            projects,
            project,
            notice,
            now: request.now,
            here: request.here.clone(),
            theme: match session.theme.as_str() {
                "light" => Theme::Light,
                "dark" => Theme::Dark,
                "contrast" => Theme::Contrast,
                _ => Theme::Auto,
            },
        }
    }

    /// Takes what a form sends.
    fn take_form(&self, request: &PageRequest) -> std::io::Result<HttpReply> {
        let form = std::str::from_utf8(&request.body)
            .ok()
            .and_then(FormData::parse);
        let Some(form) = form else {
            return Ok(self.refuse_request(GateRefusal::ContentType));
        };
        if form.get("token") != request.session.form_token {
            return Ok(self.refuse_request(GateRefusal::FormToken));
        }
        let session = &request.session;
        let back = allowed_back(form.get("back"));
        match &request.route {
            Route::SignOut => {
                self.sessions.sign_out(&session.key)?;
                let mut reply = self.refuse_request(GateRefusal::SignedOut);
                replies::set_cookie(&mut reply, None);
                return Ok(reply);
            }
            Route::Theme => self.sessions.set_theme(&session.key, form.get("theme"))?,
            Route::LinkAction(action) => self.change_link(request, *action, &form)?,
            Route::DoctorAction { project } => self.run_doctor(project, request.now),
            Route::Action {
                project,
                run,
                action,
            } => {
                let notice = match self.sources(request.now).project(project) {
                    Ok(project) => ActionRequest {
                        project: &project,
                        run: RunId(run.clone()),
                        action: *action,
                        form: &form,
                    }
                    .carry_out(&self.drafts),
                    Err(problem) => problem_notice(&problem),
                };
                lock(&self.memory.notices).insert(session.key.clone(), notice);
                let to = back
                    .unwrap_or_else(|| Route::run(project, run, RunPlace::Overview).to_string());
                return Ok(replies::redirect(&self.settle_target(&to, request.now)));
            }
            _ => return Ok(self.refuse_request(GateRefusal::Method)),
        }
        let to = back.unwrap_or_else(|| Route::Inbox.to_string());
        Ok(replies::redirect(&to))
    }

    /// Returns where a form leads to: the page of a question that is no longer open leads to its run.
    fn settle_target(&self, to: &str, now: EpochMillis) -> String {
        let path = to.split('?').next().unwrap_or(to);
        let route = Route::parse(path);
        let Some(Route::Run {
            project,
            run,
            place: RunPlace::Question(_),
        }) = &route
        else {
            return to.to_owned();
        };
        let is_open = route
            .as_ref()
            .is_some_and(|route| self.sources(now).load(route, &FormData::default()).is_ok());
        if is_open {
            to.to_owned()
        } else {
            Route::run(project, run, RunPlace::Overview).to_string()
        }
    }

    fn links_page(&self, request: &PageRequest) -> Page {
        let links = self.sessions.links(request.now);
        let mut runs = Vec::new();
        for project in self.projects.all() {
            let items = project.runs();
            let items = items.values().map(|run| {
                let key = project.key.clone();
                (
                    run.item.created_at,
                    key,
                    run.item.run.clone(),
                    run.item.goal.clone(),
                )
            });
            runs.extend(items);
        }
        runs.sort_by_key(|(at, ..)| std::cmp::Reverse(*at));
        runs.truncate(LINKED_RUNS);
        Page::Links(LinksPage {
            links: links
                .into_iter()
                .map(|link| ReadLink {
                    id: link.id,
                    project: link.project,
                    run: link.run,
                    until: link.until,
                    opened: link.opened,
                    with_transcripts: link.with_transcripts,
                })
                .collect(),
            created: lock(&self.memory.created_links).remove(&request.session.key),
            runs: runs
                .into_iter()
                .map(|(_, key, run, goal)| (key, run, goal))
                .collect(),
        })
    }

    fn change_link(
        &self,
        request: &PageRequest,
        action: LinkAction,
        form: &FormData,
    ) -> std::io::Result<()> {
        let key = request.session.key.clone();
        let text = match action {
            LinkAction::Revoke => {
                let has_gone = self.sessions.revoke_link(form.get("link"))?;
                if has_gone {
                    "The link is revoked."
                } else {
                    "There is no such link any more."
                }
            }
            LinkAction::Create => {
                let (project, run) = match form.get("of").split_once('/') {
                    Some(of) => of,
                    None => (form.get("project"), form.get("run")),
                };
                let id = RunId(run.to_owned());
                let is_there = self
                    .projects
                    .find(project)
                    .is_some_and(|p| p.run(&id).is_some());
                if is_there {
                    let hours = form.get("hours").parse().unwrap_or(LINK_HOURS);
                    let hours = hours.clamp(1, MOST_LINK_HOURS);
                    let until = EpochMillis(request.now.0 + hours * 60 * 60 * 1000);
                    let with = form.get("transcripts") == "1";
                    let secret = self.sessions.create_link(project, run, until, with)?;
                    let path = Route::ReadLink { secret };
                    let url = format!("{}{path}", self.gate.origin());
                    lock(&self.memory.created_links).insert(key.clone(), url);
                    "The link is made. It is shown once."
                } else {
                    "There is no such run."
                }
            }
        };
        let notice = Notice {
            is_ok: true,
            text: text.to_owned(),
            output: Vec::new(),
        };
        lock(&self.memory.notices).insert(key, notice);
        Ok(())
    }

    fn doctor_page(&self, project: &str) -> Page {
        let found = lock(&self.memory.checks).get(project).cloned();
        let (checked_at, checks, problem) = match found {
            Some(found) => (Some(found.at), found.checks, found.problem),
            None => (None, Vec::new(), None),
        };
        Page::Doctor(DoctorPage {
            project: project.to_owned(),
            checks,
            checked_at,
            problem,
            refused: self.refusals.list(),
        })
    }

    /// Asks `codeteam doctor`, and keeps what it says.
    fn run_doctor(&self, key: &str, now: EpochMillis) {
        let Some(project) = self.projects.find(key) else {
            return;
        };
        let mut output = String::new();
        let words = ["--json".to_owned(), "doctor".to_owned()];
        let ended = project.commands.run(&words, &mut |line| {
            output.push_str(&line);
            output.push('\n');
        });
        let checks: Result<Vec<serde_json::Value>, _> = serde_json::from_str(&output);
        let problem = match (&ended, &checks) {
            (Err(error), _) => Some(format!("`codeteam doctor` could not be started: {error}")),
            (Ok(_), Err(_)) => Some(format!("`codeteam doctor` has failed: {}", output.trim())),
            (Ok(_), Ok(_)) => None,
        };
        let health = CheckedHealth {
            at: now,
            checks: checks.unwrap_or_default(),
            problem,
        };
        lock(&self.memory.checks).insert(key.to_owned(), health);
    }
}

/// Returns the text of an attempt that a path leads to, with its project and run.
fn attempt_text(route: &Route) -> Option<((&str, &str), u64, AttemptText)> {
    let Route::Run {
        project,
        run,
        place,
    } = route
    else {
        return None;
    };
    let (fence, text) = match place {
        RunPlace::AttemptLog(fence) => (*fence, AttemptText::Log),
        RunPlace::AttemptPrompt(fence) => (*fence, AttemptText::Prompt),
        RunPlace::AttemptAnswer(fence) => (*fence, AttemptText::Answer),
        RunPlace::CheckOutput(fence, check) => (*fence, AttemptText::Check(*check)),
        _ => return None,
    };
    Some(((project, run), fence, text))
}

/// Returns where a form leads back to, if that is a page of this server.
fn allowed_back(back: &str) -> Option<String> {
    let path = back.split(['?', '#']).next().unwrap_or_default();
    let is_page = !matches!(
        Route::parse(path)?,
        Route::Action { .. }
            | Route::SignIn
            | Route::SignOut
            | Route::ReadLink { .. }
            | Route::Mint
            | Route::Theme
            | Route::LinkAction(_)
            | Route::DoctorAction { .. }
            | Route::PolicyReport
            | Route::Live
            | Route::Asset { .. }
    );
    let is_plain = back.bytes().all(|byte| byte.is_ascii_graphic());
    // Two slashes would begin the name of another host.
    (is_page && is_plain && !back.starts_with("//")).then(|| back.to_owned())
}

fn problem_notice(problem: &Problem) -> Notice {
    Notice {
        is_ok: false,
        text: problem.what().to_owned(),
        output: problem.hints().iter().map(ToString::to_string).collect(),
    }
}

fn lock<T>(of: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_form_leads_back_to_a_page_of_the_server_and_nowhere_else() {
        for back in ["/", "/runs?q=a", "/p/x/runs/y/diff/task-001?split=1#file"] {
            assert_eq!(allowed_back(back).as_deref(), Some(back));
        }
        for back in [
            "",
            "//evil.example",
            "/\\evil.example",
            "http://evil.example/",
            "javascript:alert(1)",
            "/nowhere",
            "/out",
            "/p/x/runs/y/do/abort",
            "/runs\r\nset-cookie: a=b",
        ] {
            assert_eq!(allowed_back(back), None, "{back}");
        }
    }
}
