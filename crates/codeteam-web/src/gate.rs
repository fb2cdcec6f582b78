//! Decides which requests are let in, by their heads alone.
//!
//! A page of somebody else can make a browser send requests here, and a name that somebody else's
//! server gives out can lead here (DNS rebinding). So the host and the origin are compared in full, and
//! what browsers say about where a request comes from counts. Cookies are not separated by ports, so
//! the server has a host name of its own, which no other local server has.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use codeteam_core::ids::EpochMillis;
use codeteam_http::single_value;
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, COOKIE, HOST, HeaderMap, HeaderName, ORIGIN};
use hyper::http::request::Parts;
use hyper::{Method, StatusCode};

use crate::page::assets::is_style_sheet;
use crate::routes::{Route, RunPlace};
use crate::sessions::{Access, BrowserSession, SessionRegistry};

/// The name of the cookie. Browsers accept it from this host alone, for all of its paths.
pub(crate) const COOKIE_NAME: &str = "__Host-codeteam";

/// Why a request is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum GateRefusal {
    /// It names another host, or none, or two.
    Host,
    /// It was sent by a page from elsewhere.
    Origin,
    /// The browser says that it comes from elsewhere.
    FetchSite,
    /// There is no such page.
    Path,
    /// Its method is not the one of the path.
    Method,
    /// Nobody is signed in.
    SignedOut,
    /// It needs the secret of the user's other processes.
    Mint,
    /// A link for reading does not lead there.
    Reader,
    /// What it sends is not a form.
    ContentType,
    /// Its form does not carry the token of the session.
    FormToken,
    /// The code was used, has ended, or never was one.
    Code,
    /// The link has ended, or never was one.
    Link,
    /// It is too large, too slow, or one too many.
    Limits,
    /// The content policy of a page has stopped something.
    Policy,
}

impl GateRefusal {
    /// Returns the status, what the matter is, and what can be done.
    pub(crate) fn describe(self) -> (StatusCode, &'static str, &'static str) {
        const OPEN: &str =
            "open the link that `codeteam web` prints; `codeteam web --url` prints a new one";
        const RELOAD: &str = "load the page again and repeat what you did";
        match self {
            Self::Host => (
                StatusCode::MISDIRECTED_REQUEST,
                "this server does not answer to that host",
                OPEN,
            ),
            Self::Origin => (
                StatusCode::FORBIDDEN,
                "the request comes from another page",
                OPEN,
            ),
            Self::FetchSite => (
                StatusCode::FORBIDDEN,
                "the request comes from another site",
                "copy the address, and open it in a new tab",
            ),
            Self::Path => (
                StatusCode::NOT_FOUND,
                "there is no such page",
                "go back to the inbox",
            ),
            Self::Method => (
                StatusCode::METHOD_NOT_ALLOWED,
                "the page is not asked for like that",
                RELOAD,
            ),
            Self::SignedOut => (StatusCode::UNAUTHORIZED, "nobody is signed in here", OPEN),
            Self::Mint => (
                StatusCode::UNAUTHORIZED,
                "the secret of the server is needed",
                OPEN,
            ),
            Self::Reader => (
                StatusCode::FORBIDDEN,
                "this link lets you read one run, and decide nothing",
                "ask whoever gave you the link",
            ),
            Self::ContentType => (
                StatusCode::UNSUPPORTED_MEDIA_TYPE,
                "only forms are accepted",
                RELOAD,
            ),
            Self::FormToken => (
                StatusCode::FORBIDDEN,
                "the form does not belong to this session",
                RELOAD,
            ),
            Self::Code => (
                StatusCode::FORBIDDEN,
                "this link was used already, or is too old",
                OPEN,
            ),
            Self::Link => (
                StatusCode::NOT_FOUND,
                "this link for reading has ended or was revoked",
                "ask whoever gave you the link for another one",
            ),
            Self::Limits => (
                StatusCode::SERVICE_UNAVAILABLE,
                "too much at once",
                "try again in a moment",
            ),
            Self::Policy => (
                StatusCode::NO_CONTENT,
                "the content policy has stopped something",
                "",
            ),
        }
    }

    /// Returns a name for counts and logs.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Host => "another host",
            Self::Origin => "another origin",
            Self::FetchSite => "another site",
            Self::Path => "no such page",
            Self::Method => "another method",
            Self::SignedOut => "not signed in",
            Self::Mint => "no secret for a link",
            Self::Reader => "outside of a link for reading",
            Self::ContentType => "not a form",
            Self::FormToken => "form of another session",
            Self::Code => "code used or too old",
            Self::Link => "link for reading ended",
            Self::Limits => "too large, too slow or too many",
            Self::Policy => "stopped by the content policy",
        }
    }
}

/// How often requests were refused, by reason.
#[derive(Debug, Default)]
pub(crate) struct RefusalCounts {
    counts: Mutex<BTreeMap<GateRefusal, u64>>,
}

impl RefusalCounts {
    /// Counts one.
    pub(crate) fn count(&self, why: GateRefusal) {
        tracing::warn!(reason = why.name(), "request refused");
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        *counts.entry(why).or_default() += 1;
    }

    /// Returns the counts, with words for the reasons.
    pub(crate) fn list(&self) -> Vec<(String, u64)> {
        let counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        let counts = counts.iter();
        counts.map(|(why, n)| (why.name().to_owned(), *n)).collect()
    }
}

/// A request that is let in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Admission {
    /// Somebody is signed in.
    Session(Box<BrowserSession>, Route),
    /// The style sheet, which pages for those who have not signed in need too. It says nothing of runs.
    StyleSheet(String),
    /// A code is to be exchanged.
    SignIn,
    /// A link for reading is opened.
    Link(String),
    /// Another process of the user wants a code.
    Mint,
    /// A browser reports what the content policy has stopped.
    PolicyReport,
}

/// What requests must be like.
#[derive(Debug)]
pub(crate) struct RequestGate {
    host: String,
    origin: String,
}

impl RequestGate {
    /// For a server that answers to this host and no other.
    pub(crate) fn new(host: String) -> Self {
        let origin = format!("http://{host}");
        Self { host, origin }
    }

    /// Returns the origin of the server's pages.
    pub(crate) fn origin(&self) -> &str {
        &self.origin
    }

    /// Checks whether a request is let in.
    pub(crate) fn check(
        &self,
        head: &Parts,
        sessions: &SessionRegistry,
        now: EpochMillis,
    ) -> Result<Admission, GateRefusal> {
        self.check_source(head)?;
        let route = Route::parse(head.uri.path()).ok_or(GateRefusal::Path)?;
        let is_read = matches!(head.method, Method::GET | Method::HEAD);
        if is_read == is_posted(&route) {
            return Err(GateRefusal::Method);
        }
        match route {
            Route::Mint => {
                let secret = single_value(&head.headers, &AUTHORIZATION, GateRefusal::Mint)?;
                let secret = secret.and_then(|value| value.to_str().ok());
                let secret = secret.and_then(|value| value.strip_prefix("Bearer "));
                let may = secret.is_some_and(|secret| sessions.may_mint(secret));
                return if may {
                    Ok(Admission::Mint)
                } else {
                    Err(GateRefusal::Mint)
                };
            }
            Route::SignIn => return Ok(Admission::SignIn),
            Route::ReadLink { secret } => return Ok(Admission::Link(secret)),
            Route::Asset { name } if is_style_sheet(&name) => {
                return Ok(Admission::StyleSheet(name));
            }
            _ => {}
        }
        let session = session_of(&head.headers, sessions, now).ok_or(GateRefusal::SignedOut)?;
        if route == Route::PolicyReport {
            return Ok(Admission::PolicyReport);
        }
        if !is_read && !is_form(&head.headers) {
            return Err(GateRefusal::ContentType);
        }
        if !may_visit(&session.access, &route) {
            return Err(GateRefusal::Reader);
        }
        Ok(Admission::Session(Box::new(session), route))
    }

    /// Checks where a request comes from, and whom it is for.
    fn check_source(&self, head: &Parts) -> Result<(), GateRefusal> {
        let headers = &head.headers;
        let is_own = |host: &[u8]| host.eq_ignore_ascii_case(self.host.as_bytes());
        let host = single_value(headers, &HOST, GateRefusal::Host)?.ok_or(GateRefusal::Host)?;
        let target = head.uri.authority();
        let names_other = target.is_some_and(|target| !is_own(target.as_str().as_bytes()));
        if !is_own(host.as_bytes()) || names_other {
            return Err(GateRefusal::Host);
        }
        let origin = single_value(headers, &ORIGIN, GateRefusal::Origin)?;
        if origin.is_some_and(|origin| origin.as_bytes() != self.origin.as_bytes()) {
            return Err(GateRefusal::Origin);
        }
        let site = HeaderName::from_static("sec-fetch-site");
        let site = single_value(headers, &site, GateRefusal::FetchSite)?;
        let site = site.map(hyper::http::HeaderValue::as_bytes);
        let is_read = matches!(head.method, Method::GET | Method::HEAD);
        // What is no browser shows the secret of the server instead.
        let has_secret = headers.contains_key(AUTHORIZATION);
        match (is_read, site) {
            (true, None | Some(b"same-origin" | b"none")) | (false, Some(b"same-origin")) => {}
            (false, None) if has_secret => {}
            _ => return Err(GateRefusal::FetchSite),
        }
        let is_report = head.uri.path() == Route::PolicyReport.to_string();
        if !is_read && origin.is_none() && !has_secret && !is_report {
            return Err(GateRefusal::Origin);
        }
        Ok(())
    }
}

/// Returns true for paths that something is sent to.
fn is_posted(route: &Route) -> bool {
    matches!(
        route,
        Route::Action { .. }
            | Route::SignOut
            | Route::Mint
            | Route::Theme
            | Route::LinkAction(_)
            | Route::DoctorAction { .. }
            | Route::PolicyReport
    )
}

/// Returns true if a session may see what is there.
fn may_visit(access: &Access, route: &Route) -> bool {
    let Access::Reader {
        project,
        run,
        with_transcripts,
        ..
    } = access
    else {
        return true;
    };
    match route {
        Route::Asset { .. } | Route::Live | Route::Help | Route::SignOut | Route::Theme => true,
        Route::Run {
            project: of,
            run: id,
            place,
        } => {
            let is_told = matches!(
                place,
                RunPlace::Attempt(_)
                    | RunPlace::AttemptLog(_)
                    | RunPlace::AttemptPrompt(_)
                    | RunPlace::AttemptAnswer(_)
                    | RunPlace::CheckOutput(..)
                    | RunPlace::Event(_)
            );
            of == project && id == run && (*with_transcripts || !is_told)
        }
        _ => false,
    }
}

fn is_form(headers: &HeaderMap) -> bool {
    let kind = headers
        .get(CONTENT_TYPE)
        .and_then(|kind| kind.to_str().ok());
    let kind = kind.and_then(|kind| kind.split(';').next());
    kind.is_some_and(|kind| {
        kind.trim()
            .eq_ignore_ascii_case("application/x-www-form-urlencoded")
    })
}

/// Returns the session that a request belongs to, if it is one.
pub(crate) fn session_of(
    headers: &HeaderMap,
    sessions: &SessionRegistry,
    now: EpochMillis,
) -> Option<BrowserSession> {
    sessions.session(cookie(headers)?, now)
}

/// Returns the cookie of the session. Two of them are none.
fn cookie(headers: &HeaderMap) -> Option<&str> {
    let lines = headers.get_all(COOKIE).iter();
    let lines = lines.filter_map(|line| line.to_str().ok());
    let pairs = lines.flat_map(|line| line.split(';'));
    let mut own = pairs.filter_map(|pair| {
        let (name, value) = pair.trim().split_once('=')?;
        (name == COOKIE_NAME).then_some(value)
    });
    let first = own.next()?;
    own.next().is_none().then_some(first)
}

#[cfg(test)]
mod tests {
    use hyper::Request;

    use super::*;
    use crate::state_file::StateFolder;

    const NOW: EpochMillis = EpochMillis(5_000);
    const HOST_NAME: &str = "ct-abcdefgh.localhost:4711";

    struct Fixture {
        _home: tempfile::TempDir,
        sessions: SessionRegistry,
        gate: RequestGate,
        cookie: String,
    }

    impl Fixture {
        fn new() -> Self {
            let home = tempfile::tempdir().unwrap();
            let folder = StateFolder::take(home.path()).unwrap().unwrap();
            let sessions = SessionRegistry::open(folder).unwrap();
            let code = sessions.mint_code(NOW).unwrap();
            let cookie = sessions.sign_in(&code, NOW).unwrap().unwrap();
            Self {
                _home: home,
                sessions,
                gate: RequestGate::new(HOST_NAME.to_owned()),
                cookie,
            }
        }

        /// Returns the verdict on a request that is right but for these headers; an empty value
        /// removes one.
        fn verdict(
            &self,
            method: Method,
            path: &str,
            changed: &[(&str, &str)],
        ) -> Result<Admission, GateRefusal> {
            let cookie = format!("{COOKIE_NAME}={}", self.cookie);
            let origin = format!("http://{HOST_NAME}");
            let mut right = vec![
                ("host", HOST_NAME),
                ("cookie", &cookie),
                ("sec-fetch-site", "same-origin"),
            ];
            if method == Method::POST {
                right.push(("origin", &origin));
                right.push(("content-type", "application/x-www-form-urlencoded"));
            }
            let is_changed = |name: &str| changed.iter().any(|(other, _)| *other == name);
            let kept = right.iter().filter(|(name, _)| !is_changed(name));
            let mut request = Request::builder().method(method).uri(path);
            for (name, value) in kept.chain(changed).filter(|(_, value)| !value.is_empty()) {
                request = request.header(*name, *value);
            }
            let head = request.body(()).unwrap().into_parts().0;
            self.gate.check(&head, &self.sessions, NOW)
        }

        fn read(&self, changed: &[(&str, &str)]) -> Result<Admission, GateRefusal> {
            self.verdict(Method::GET, "/", changed)
        }

        fn post(&self, changed: &[(&str, &str)]) -> Result<Admission, GateRefusal> {
            self.verdict(Method::POST, "/p/x/runs/y/do/approve", changed)
        }
    }

    #[test]
    fn whoever_is_signed_in_sees_pages_and_sends_forms() {
        let fixture = Fixture::new();
        assert!(fixture.read(&[]).is_ok());
        assert!(fixture.read(&[("sec-fetch-site", "none")]).is_ok());
        assert!(fixture.post(&[]).is_ok());
        for cookie in ["", "x=1", "__Host-codeteam=other", "__Host-codeteam="] {
            let refused = fixture.read(&[("cookie", cookie)]);
            assert_eq!(refused, Err(GateRefusal::SignedOut), "{cookie}");
        }
        let twice = format!("{COOKIE_NAME}={0}; {COOKIE_NAME}={0}", fixture.cookie);
        let refused = fixture.read(&[("cookie", &twice)]);
        assert_eq!(refused, Err(GateRefusal::SignedOut));
    }

    #[test]
    fn another_host_is_refused_whoever_says_it() {
        let fixture = Fixture::new();
        for host in [
            "",
            "127.0.0.1:4711",
            "localhost:4711",
            "ct-abcdefgh.localhost",
            "ct-abcdefgh.localhost:4712",
            "ct-other.localhost:4711",
            "evil.example:4711",
            "ct-abcdefgh.localhost:4711.evil.example",
            "ct-abcdefgh.localhost:4711@evil.example",
        ] {
            let refused = fixture.read(&[("host", host)]);
            assert_eq!(refused, Err(GateRefusal::Host), "{host}");
        }
        let refused = fixture.verdict(Method::GET, "http://evil.example/", &[]);
        assert_eq!(refused, Err(GateRefusal::Host));
        let twice = [("host", HOST_NAME), ("host", HOST_NAME)];
        assert_eq!(fixture.read(&twice), Err(GateRefusal::Host));
    }

    #[test]
    fn other_pages_send_nothing_and_read_nothing() {
        let fixture = Fixture::new();
        for origin in [
            "null",
            "http://localhost:4711",
            "http://127.0.0.1:4711",
            "http://ct-abcdefgh.localhost:4712",
            "https://ct-abcdefgh.localhost:4711",
            "http://evil.example",
        ] {
            let refused = fixture.post(&[("origin", origin)]);
            assert_eq!(refused, Err(GateRefusal::Origin), "{origin}");
            let refused = fixture.read(&[("origin", origin)]);
            assert_eq!(refused, Err(GateRefusal::Origin), "{origin}");
        }
        assert_eq!(fixture.post(&[("origin", "")]), Err(GateRefusal::Origin));
        for site in ["cross-site", "same-site", "nonsense"] {
            let site = [("sec-fetch-site", site)];
            assert_eq!(fixture.post(&site), Err(GateRefusal::FetchSite));
            assert_eq!(fixture.read(&site), Err(GateRefusal::FetchSite));
        }
        for site in ["none", ""] {
            let refused = fixture.post(&[("sec-fetch-site", site)]);
            assert_eq!(refused, Err(GateRefusal::FetchSite), "{site}");
        }
        for kind in ["text/plain", "multipart/form-data", "application/json", ""] {
            let refused = fixture.post(&[("content-type", kind)]);
            assert_eq!(refused, Err(GateRefusal::ContentType), "{kind}");
        }
    }

    #[test]
    fn what_is_sent_is_not_read_and_the_other_way_round() {
        let fixture = Fixture::new();
        let refused = fixture.verdict(Method::GET, "/p/x/runs/y/do/approve", &[]);
        assert_eq!(refused, Err(GateRefusal::Method));
        let refused = fixture.verdict(Method::POST, "/runs", &[]);
        assert_eq!(refused, Err(GateRefusal::Method));
        let refused = fixture.verdict(Method::GET, "/nowhere", &[]);
        assert_eq!(refused, Err(GateRefusal::Path));
    }

    #[test]
    fn a_code_is_made_for_whoever_has_the_secret() {
        let fixture = Fixture::new();
        let mint = |secret: &str| {
            let bearer = format!("Bearer {secret}");
            let bare = [
                ("cookie", ""),
                ("origin", ""),
                ("sec-fetch-site", ""),
                ("content-type", ""),
                ("authorization", bearer.as_str()),
            ];
            fixture.verdict(Method::POST, "/mint", &bare)
        };
        assert_eq!(mint("guess"), Err(GateRefusal::Mint));
        let refused = fixture.verdict(Method::POST, "/mint", &[]);
        assert_eq!(refused, Err(GateRefusal::Mint));
        // The secret is for a code, and for nothing else.
        let bare = [("cookie", ""), ("authorization", "Bearer guess")];
        assert_eq!(fixture.post(&bare), Err(GateRefusal::SignedOut));
    }

    #[test]
    fn a_link_for_reading_leads_to_its_run_and_nowhere_else() {
        let mut fixture = Fixture::new();
        let until = EpochMillis(NOW.0 + 1_000);
        let secret = fixture
            .sessions
            .create_link("x", "y", until, false)
            .unwrap();
        fixture.cookie = fixture.sessions.open_link(&secret, NOW).unwrap().unwrap();
        let get = |path: &str| fixture.verdict(Method::GET, path, &[]);
        for path in ["/p/x/runs/y", "/p/x/runs/y/diff/run", "/live", "/help"] {
            assert!(get(path).is_ok(), "{path}");
        }
        for path in [
            "/",
            "/runs",
            "/links",
            "/p/x/runs/z",
            "/p/z/runs/y",
            "/p/x/doctor",
            "/p/x/metrics",
            "/p/x/runs/y/attempt/1",
            "/p/x/runs/y/attempt/1/prompt.txt",
            "/p/x/runs/y/events/1",
        ] {
            assert_eq!(get(path), Err(GateRefusal::Reader), "{path}");
        }
        assert_eq!(fixture.post(&[]), Err(GateRefusal::Reader));
    }
}
