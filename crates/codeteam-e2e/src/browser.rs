//! A real browser for tests of pages: Debian's Chromium, driven by chromedriver over the `WebDriver`
//! protocol.
//!
//! Nothing here sleeps, and no test has to: whatever waits does so inside the page, which tells when
//! the condition holds. A condition that does not come to hold is an error that shows the page.
//!
//! ```no_run
//! use codeteam_e2e::{Browser, KeyboardKey};
//!
//! let browser = Browser::start()?;
//! browser.open("http://127.0.0.1:4711/")?;
//! browser.click("link", "Inbox")?;
//! browser.press(&[KeyboardKey::Tab])?;
//! browser.wait_for_text("Nothing needs you")?;
//! # Ok::<(), codeteam_e2e::BrowserError>(())
//! ```

mod accessibility;
mod driver;
mod element;
mod keyboard;
mod session;

use std::time::{Duration, Instant};

use serde_json::{Value, json};

pub use self::accessibility::AccessibilityViolation;
pub use self::driver::BrowserPrograms;
pub use self::element::PageElement;
pub use self::keyboard::KeyboardKey;
pub use self::session::BrowserError;

use self::driver::DriverProcess;
use self::session::{DriverSession, elements_of};

/// A running browser of its own: its cookies and its storage are no other's. It ends, with everything
/// that it started and wrote, when this is dropped, and also when the test's process is killed.
#[derive(Debug)]
pub struct Browser {
    session: DriverSession,
    /// Dropped after the session.
    driver: DriverProcess,
}

/// A window, or a tab, of a browser.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct BrowserWindow(String);

/// The look that the user has asked the system for.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum ColourScheme {
    /// Dark text on a light ground.
    Light,
    /// The other way round.
    Dark,
    /// Dark text on a light ground, with more contrast than usual.
    LightHighContrast,
    /// Light text on a dark ground, with more contrast than usual.
    DarkHighContrast,
}

/// A line of the console.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ConsoleMessage {
    /// `SEVERE` for an error, then `WARNING`, `INFO`, `DEBUG`.
    pub level: String,
    /// Such as `javascript`, `network`, `security` (the page's policy forbade something).
    pub source: String,
    /// The text, which begins with the address of the script or the page.
    pub text: String,
}

/// A function that finds elements as assistive technology does. `computedRole` and `computedName` are
/// there because the driver starts the browser with them.
const ELEMENTS_BY_ROLE: &str = r"function (role, name) {
    const tidy = (text) => (text ?? '').replace(/\s+/g, ' ').trim();
    return [...document.querySelectorAll('*')].filter((element) =>
        element.computedRole === role && (name === null || tidy(element.computedName) === name));
}";

impl Browser {
    /// The longest wait for a condition: a test that waits longer has failed.
    pub const PATIENCE: Duration = Duration::from_secs(30);

    /// Starts a browser without a window on the screen.
    pub fn start() -> Result<Self, BrowserError> {
        Self::start_with(&BrowserPrograms::default())
    }

    /// The same with other programs.
    pub fn start_with(programs: &BrowserPrograms) -> Result<Self, BrowserError> {
        let driver = DriverProcess::start(programs)?;
        let session = DriverSession::start(driver.port(), &programs.browser)?;
        let browser = Self { session, driver };
        browser.resize(1000, 800)?;
        Ok(browser)
    }

    /// Returns the process below which all of it runs.
    pub fn pid(&self) -> u32 {
        self.driver.pid()
    }

    /// Opens a page and waits until it is loaded.
    pub fn open(&self, url: &str) -> Result<(), BrowserError> {
        self.session.post("url", &json!({"url": url})).map(drop)
    }

    /// Loads the page again.
    pub fn reload(&self) -> Result<(), BrowserError> {
        self.session.post("refresh", &json!({})).map(drop)
    }

    /// Goes back to the page before.
    pub fn go_back(&self) -> Result<(), BrowserError> {
        self.session.post("back", &json!({})).map(drop)
    }

    /// Returns the address of the page.
    pub fn url(&self) -> Result<String, BrowserError> {
        self.session.get_text("url")
    }

    /// Returns the title of the page.
    pub fn title(&self) -> Result<String, BrowserError> {
        self.session.get_text("title")
    }

    /// Returns the text of the page as a person sees it.
    pub fn text(&self) -> Result<String, BrowserError> {
        let text = self.run_script("return document.body?.innerText ?? ''", &[])?;
        Ok(text.as_str().unwrap_or_default().to_owned())
    }

    /// Waits for an element and returns the first one that this CSS selector finds.
    pub fn find(&self, css: &str) -> Result<PageElement<'_>, BrowserError> {
        let found = self.wait_until(
            "return document.querySelector(arguments[0])",
            &[json!(css)],
            &format!("`{css}`"),
        )?;
        self.first_element(&found)
    }

    /// Returns all elements that this CSS selector finds now.
    pub fn find_all(&self, css: &str) -> Result<Vec<PageElement<'_>>, BrowserError> {
        let script = "return [...document.querySelectorAll(arguments[0])]";
        let found = self.run_script(script, &[json!(css)])?;
        Ok(self.elements(&found))
    }

    /// Waits for the one element that assistive technology announces with this role and this name. It is
    /// an error if there are several.
    pub fn find_by_role(&self, role: &str, name: &str) -> Result<PageElement<'_>, BrowserError> {
        let script = format!(
            "const found = ({ELEMENTS_BY_ROLE})(...arguments); return found.length > 0 && found"
        );
        let what = format!("a {role} called `{name}`");
        let found = self.wait_until(&script, &[json!(role), json!(name)], &what)?;
        let found = self.elements(&found);
        if found.len() > 1 {
            return Err(BrowserError::new(format!(
                "there are {} of {what}\n{}",
                found.len(),
                self.describe_page()
            )));
        }
        found
            .into_iter()
            .next()
            .ok_or_else(|| BrowserError::new(format!("there is no {what}")))
    }

    /// Waits for the one element of this role and name and clicks it, again if the page has replaced it
    /// in between.
    pub fn click(&self, role: &str, name: &str) -> Result<(), BrowserError> {
        let deadline = Instant::now() + Self::PATIENCE;
        loop {
            match self.find_by_role(role, name)?.click() {
                Err(error) if error.is_of_a_page_that_left() && Instant::now() < deadline => {}
                ended => return ended,
            }
        }
    }

    /// Returns the elements of this role now, whatever they are called.
    pub fn find_all_by_role(&self, role: &str) -> Result<Vec<PageElement<'_>>, BrowserError> {
        let script = format!("return ({ELEMENTS_BY_ROLE})(...arguments)");
        let found = self.run_script(&script, &[json!(role), Value::Null])?;
        Ok(self.elements(&found))
    }

    /// Returns the element that has the focus.
    pub fn focused(&self) -> Result<PageElement<'_>, BrowserError> {
        let found = self.session.get("element/active")?;
        self.first_element(&found)
    }

    /// Waits until the page shows this text.
    pub fn wait_for_text(&self, text: &str) -> Result<(), BrowserError> {
        let script = "return (document.body?.innerText ?? '').includes(arguments[0])";
        let what = format!("the text `{text}`");
        self.wait_until(script, &[json!(text)], &what).map(drop)
    }

    /// Waits until the page no longer shows this text.
    pub fn wait_for_no_text(&self, text: &str) -> Result<(), BrowserError> {
        let script =
            "return document.body !== null && !document.body.innerText.includes(arguments[0])";
        let what = format!("the end of the text `{text}`");
        self.wait_until(script, &[json!(text)], &what).map(drop)
    }

    /// Waits until the page has this title.
    pub fn wait_for_title(&self, title: &str) -> Result<(), BrowserError> {
        let what = format!("the title `{title}`");
        self.wait_until(
            "return document.title === arguments[0]",
            &[json!(title)],
            &what,
        )
        .map(drop)
    }

    /// Waits until the address of the page contains this.
    pub fn wait_for_url(&self, part: &str) -> Result<(), BrowserError> {
        let what = format!("an address with `{part}`");
        self.wait_until(
            "return location.href.includes(arguments[0])",
            &[json!(part)],
            &what,
        )
        .map(drop)
    }

    /// Waits until the body of a function returns a value that JavaScript takes for true, on this page
    /// or on the one that it leads to, and returns the value. `what` is for the message.
    pub fn wait_until(
        &self,
        condition: &str,
        arguments: &[Value],
        what: &str,
    ) -> Result<Value, BrowserError> {
        let deadline = Instant::now() + Self::PATIENCE;
        loop {
            match self.session.wait_in_page(condition, arguments) {
                Ok(Value::Null) => {}
                Ok(found) => return Ok(found),
                // The page went away in between: the next one may have it.
                Err(error) if error.is_of_a_page_that_left() => {}
                Err(error) => return Err(error),
            }
            if Instant::now() > deadline {
                let page = self.describe_page();
                return Err(BrowserError::new(format!("there is no {what}\n{page}")));
            }
        }
    }

    /// Runs the body of a function in the page and returns its value.
    pub fn run_script(&self, script: &str, arguments: &[Value]) -> Result<Value, BrowserError> {
        self.session.run_script(script, arguments)
    }

    /// Presses keys at once, as for a shortcut, and releases them.
    pub fn press(&self, keys: &[KeyboardKey]) -> Result<(), BrowserError> {
        self.session
            .post("actions", &keyboard::chord(keys))
            .map(drop)
    }

    /// Types a text into whatever has the focus.
    pub fn type_text(&self, text: &str) -> Result<(), BrowserError> {
        self.session
            .post("actions", &keyboard::typed(text))
            .map(drop)
    }

    /// Presses the tabulator until an element of this role and name has the focus, as a person without
    /// a mouse does. It is an error if that does not come.
    pub fn tab_to(&self, role: &str, name: &str) -> Result<(), BrowserError> {
        /// Longer than the way through any page.
        const MOST: usize = 500;
        let mut passed = Vec::new();
        // After the last element comes the page itself, and then the first one again.
        let mut rounds = 0;
        while rounds < 2 && passed.len() < MOST {
            self.press(&[KeyboardKey::Tab])?;
            let found = self.announce_focus()?;
            if found.0 == role && found.1 == name {
                return Ok(());
            }
            rounds += usize::from(found.0 == "none");
            passed.push(format!("{} `{}`", found.0, found.1));
        }
        let passed = passed.join(", ");
        Err(BrowserError::new(format!(
            "the tabulator leads to no {role} called `{name}`: {passed}\n{}",
            self.describe_page()
        )))
    }

    /// Returns the role and the name of what has the focus.
    fn announce_focus(&self) -> Result<(String, String), BrowserError> {
        let deadline = Instant::now() + Self::PATIENCE;
        loop {
            let focused = self.focused()?;
            let found = focused.role().and_then(|role| Ok((role, focused.name()?)));
            match found {
                // The page has replaced it in between.
                Err(error) if error.is_of_a_page_that_left() && Instant::now() < deadline => {}
                found => return found,
            }
        }
    }

    /// Returns the lines of the console since the last call, of all windows.
    pub fn take_console(&self) -> Result<Vec<ConsoleMessage>, BrowserError> {
        let found = self.session.post("se/log", &json!({"type": "browser"}))?;
        let text = |entry: &Value, key: &str| entry[key].as_str().unwrap_or_default().to_owned();
        let entries = found.as_array().cloned().unwrap_or_default();
        let message = |entry: &Value| ConsoleMessage {
            level: text(entry, "level"),
            source: text(entry, "source"),
            text: text(entry, "message"),
        };
        Ok(entries.iter().map(message).collect())
    }

    /// Makes what the page has to fill so large.
    pub fn resize(&self, width: u32, height: u32) -> Result<(), BrowserError> {
        let size =
            json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false});
        self.session
            .devtools("Emulation.setDeviceMetricsOverride", &size)
            .map(drop)
    }

    /// Asks for a light or a dark look, as the settings of a system do, in this window.
    pub fn prefer_scheme(&self, scheme: ColourScheme) -> Result<(), BrowserError> {
        let (scheme, contrast) = match scheme {
            ColourScheme::Light => ("light", "no-preference"),
            ColourScheme::Dark => ("dark", "no-preference"),
            ColourScheme::LightHighContrast => ("light", "more"),
            ColourScheme::DarkHighContrast => ("dark", "more"),
        };
        let features = json!([
            {"name": "prefers-color-scheme", "value": scheme},
            {"name": "prefers-contrast", "value": contrast},
        ]);
        let media = json!({"media": "", "features": features});
        self.session
            .devtools("Emulation.setEmulatedMedia", &media)
            .map(drop)
    }

    /// Lets pages have scripts or not, from the next one that is opened in this window.
    pub fn allow_scripts(&self, allowed: bool) -> Result<(), BrowserError> {
        self.session
            .devtools(
                "Emulation.setScriptExecutionDisabled",
                &json!({"value": !allowed}),
            )
            .map(drop)
    }

    /// Returns a picture of the whole page, as PNG in base64.
    pub fn screenshot(&self) -> Result<String, BrowserError> {
        let whole = json!({"format": "png", "captureBeyondViewport": true});
        let found = self.session.devtools("Page.captureScreenshot", &whole)?;
        Ok(found["data"].as_str().unwrap_or_default().to_owned())
    }

    /// Returns the cookies that the page's server would get, each with its attributes.
    pub fn cookies(&self) -> Result<Vec<Value>, BrowserError> {
        let found = self.session.get("cookie")?;
        Ok(found.as_array().cloned().unwrap_or_default())
    }

    /// Returns the window that all calls are about.
    pub fn window(&self) -> Result<BrowserWindow, BrowserError> {
        self.session.get_text("window").map(BrowserWindow)
    }

    /// Returns all windows.
    pub fn windows(&self) -> Result<Vec<BrowserWindow>, BrowserError> {
        let found = self.session.get("window/handles")?;
        let handles = found.as_array().cloned().unwrap_or_default();
        let text = |handle: &Value| BrowserWindow(handle.as_str().unwrap_or_default().to_owned());
        Ok(handles.iter().map(text).collect())
    }

    /// Opens another tab, in which the same user is at work, and turns to it.
    pub fn open_tab(&self) -> Result<BrowserWindow, BrowserError> {
        let found = self.session.post("window/new", &json!({"type": "tab"}))?;
        let window = BrowserWindow(found["handle"].as_str().unwrap_or_default().to_owned());
        self.switch_to(&window)?;
        Ok(window)
    }

    /// Makes all calls from now on about this window.
    pub fn switch_to(&self, window: &BrowserWindow) -> Result<(), BrowserError> {
        self.session
            .post("window", &json!({"handle": window.0}))
            .map(drop)
    }

    /// Looks for what keeps people out of the page, by the rules of axe-core.
    pub fn accessibility_violations(&self) -> Result<Vec<AccessibilityViolation>, BrowserError> {
        accessibility::find_violations(&self.session)
    }

    fn first_element(&self, found: &Value) -> Result<PageElement<'_>, BrowserError> {
        self.elements(found)
            .into_iter()
            .next()
            .ok_or_else(|| BrowserError::new(format!("chromedriver sent no element: {found}")))
    }

    fn elements(&self, found: &Value) -> Vec<PageElement<'_>> {
        elements_of(found)
            .into_iter()
            .map(|id| PageElement::new(&self.session, id))
            .collect()
    }

    /// Describes the page for the message of a test that failed.
    fn describe_page(&self) -> String {
        let part = |found: Result<String, BrowserError>| found.unwrap_or_else(|e| e.to_string());
        let console = self.take_console().unwrap_or_default();
        let console: Vec<_> = console.iter().map(|line| line.text.clone()).collect();
        format!(
            "at {}: {}\n{}\nconsole:\n{}",
            part(self.url()),
            part(self.title()),
            part(self.text()),
            console.join("\n")
        )
    }
}
