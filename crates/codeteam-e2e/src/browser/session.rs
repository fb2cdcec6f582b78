//! A session of chromedriver: commands over HTTP, and their errors.

use std::fmt;
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};
use ureq::Agent;

/// What a browser was asked for and did not do. `Debug` says the same, for `unwrap`.
#[derive(Clone)]
pub struct BrowserError {
    /// `WebDriver`'s name of the error, if it is the driver's.
    code: String,
    message: String,
}

impl BrowserError {
    pub(super) fn new(message: String) -> Self {
        Self {
            code: String::new(),
            message,
        }
    }

    /// Returns true if what was asked for was lost because the page has changed to another one.
    pub(super) fn is_of_a_page_that_left(&self) -> bool {
        let is_code = [
            "stale element reference",
            "no such execution context",
            "detached shadow root",
            // A script that waits answers before; one whose page has left never does.
            "script timeout",
        ]
        .contains(&self.code.as_str());
        let is_text = [
            "document unloaded",
            "aborted by navigation",
            "Execution context was destroyed",
            "Cannot find context",
            "uniqueContextId not found",
        ];
        is_code || is_text.iter().any(|text| self.message.contains(text))
    }
}

impl fmt::Display for BrowserError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl fmt::Debug for BrowserError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for BrowserError {}

/// The key under which `WebDriver` names an element.
const ELEMENT: &str = "element-6066-11e4-a52e-4f735466cecf";

/// Returns the ids of one element or a list of them.
pub(super) fn elements_of(found: &Value) -> Vec<String> {
    let one = |value: &Value| value[ELEMENT].as_str().map(str::to_owned);
    match found {
        Value::Array(values) => values.iter().filter_map(one).collect(),
        value => one(value).into_iter().collect(),
    }
}

/// Returns how an element is written in the arguments of a script.
pub(super) fn element_argument(id: &str) -> Value {
    json!({ELEMENT: id})
}

/// An open session.
#[derive(Debug)]
pub(super) struct DriverSession {
    agent: Agent,
    /// With the id of the session.
    base: String,
}

impl DriverSession {
    /// How long a script in the page may wait before it is started again.
    const TURN: Duration = Duration::from_secs(2);

    /// Asks the driver on this port for a browser.
    pub(super) fn start(port: u16, browser: &Path) -> Result<Self, BrowserError> {
        let agent = Agent::config_builder()
            .http_status_as_error(false)
            .proxy(None)
            .timeout_global(Some(Duration::from_mins(2)))
            .build()
            .new_agent();
        let mut session = Self {
            agent,
            base: format!("http://127.0.0.1:{port}/session"),
        };
        let found = session.post("", &capabilities(browser))?;
        let Some(id) = found["sessionId"].as_str() else {
            return Err(BrowserError::new(format!("no session: {found}")));
        };
        session.base = format!("{}/{id}", session.base);
        Ok(session)
    }

    pub(super) fn get(&self, path: &str) -> Result<Value, BrowserError> {
        let sent = self.agent.get(self.url_of(path)).call();
        read_reply(path, sent)
    }

    pub(super) fn get_text(&self, path: &str) -> Result<String, BrowserError> {
        let found = self.get(path)?;
        Ok(found.as_str().unwrap_or_default().to_owned())
    }

    pub(super) fn post(&self, path: &str, body: &Value) -> Result<Value, BrowserError> {
        let request = self.agent.post(self.url_of(path));
        let sent = request
            .content_type("application/json")
            .send(body.to_string());
        read_reply(path, sent)
    }

    /// Sends a command of the browser's developer tools.
    pub(super) fn devtools(&self, command: &str, params: &Value) -> Result<Value, BrowserError> {
        self.post(
            "goog/cdp/execute",
            &json!({"cmd": command, "params": params}),
        )
    }

    pub(super) fn run_script(&self, script: &str, args: &[Value]) -> Result<Value, BrowserError> {
        self.post("execute/sync", &json!({"script": script, "args": args}))
    }

    /// Runs a script that calls its last argument with its result.
    pub(super) fn run_async_script(
        &self,
        script: &str,
        args: &[Value],
    ) -> Result<Value, BrowserError> {
        self.post("execute/async", &json!({"script": script, "args": args}))
    }

    /// Waits inside the page until a condition returns something, or for a turn: then it is `Null`.
    pub(super) fn wait_in_page(
        &self,
        condition: &str,
        args: &[Value],
    ) -> Result<Value, BrowserError> {
        let turn = Self::TURN.as_millis();
        let script = format!(
            "const given = [...arguments];
             const done = given.pop();
             const holds = function () {{ {condition} }};
             const until = performance.now() + {turn};
             let timer, watcher;
             const end = (value) => {{ clearInterval(timer); watcher?.disconnect(); done(value); }};
             const look = () => {{
                 let found;
                 try {{ found = holds.apply(null, given); }} catch (error) {{
                     return end({{failed: String(error)}});
                 }}
                 if (found) end({{found}});
                 else if (performance.now() > until) end(null);
             }};
             timer = setInterval(look, 20);
             watcher = new MutationObserver(look);
             watcher.observe(document, {{subtree: true, childList: true, characterData: true, attributes: true}});
             look();"
        );
        let ended = self.run_async_script(&script, args)?;
        if let Some(failed) = ended["failed"].as_str() {
            return Err(BrowserError::new(format!("{failed} in `{condition}`")));
        }
        Ok(ended["found"].clone())
    }

    fn url_of(&self, path: &str) -> String {
        if path.is_empty() {
            self.base.clone()
        } else {
            format!("{}/{path}", self.base)
        }
    }
}

fn read_reply(
    command: &str,
    sent: Result<ureq::http::Response<ureq::Body>, ureq::Error>,
) -> Result<Value, BrowserError> {
    let failed = |error: &dyn fmt::Display| {
        BrowserError::new(format!("chromedriver did not answer `{command}`: {error}"))
    };
    let mut reply = sent.map_err(|error| failed(&error))?;
    let body = reply.body_mut().with_config().limit(64 << 20);
    let text = body.read_to_string().map_err(|error| failed(&error))?;
    let mut answer: Value = serde_json::from_str(&text).map_err(|error| failed(&error))?;
    let value = answer["value"].take();
    if reply.status().is_success() {
        return Ok(value);
    }
    let part = |key: &str| value[key].as_str().unwrap_or_default().to_owned();
    Err(BrowserError {
        code: part("error"),
        message: format!("{}: {}", part("error"), part("message")),
    })
}

/// The browser that is asked for: without a window on the screen, and without a way to any machine but
/// this one, so that a page that asks another host for something gets an error.
fn capabilities(browser: &Path) -> Value {
    let arguments = [
        "--headless=new",
        // Chromium refuses its own sandbox to root; all of it is in one of its own here.
        "--no-sandbox",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--no-proxy-server",
        "--no-first-run",
        "--disable-background-networking",
        "--disable-component-update",
        // Tabs that are not in front work on as they do beside each other.
        "--disable-background-timer-throttling",
        "--disable-backgrounding-occluded-windows",
        "--disable-renderer-backgrounding",
        "--force-prefers-reduced-motion",
        "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE localhost, EXCLUDE *.localhost, EXCLUDE 127.0.0.1, EXCLUDE [::1]",
        "--enable-blink-features=ComputedAccessibilityInfo",
    ];
    json!({"capabilities": {"alwaysMatch": {
        "browserName": "chrome",
        "unhandledPromptBehavior": "ignore",
        "timeouts": {"script": 10_000, "pageLoad": 30_000},
        "goog:loggingPrefs": {"browser": "ALL"},
        "goog:chromeOptions": {"binary": browser, "args": arguments},
    }}})
}
