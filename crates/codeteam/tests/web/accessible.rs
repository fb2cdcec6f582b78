//! Every page for everybody: by the rules of axe-core, in light and in dark, with usual and with high
//! contrast, wide and on a phone, and without a script.

use codeteam_e2e::{Browser, ColourScheme};

use crate::pages::{assert_no_errors, assert_visited, sign_in, visit_pages};
use crate::runs::waiting_project;
use crate::server::WebServer;

/// Returns true if the page is wider than the window, so that a reader has to scroll to both sides.
const IS_TOO_WIDE: &str = "return document.documentElement.scrollWidth > innerWidth";

/// Returns true if a page is shown, and not a text.
fn is_page(browser: &Browser) -> bool {
    let kind = browser.run_script("return document.contentType", &[]);
    kind.unwrap() == "text/html"
}

#[track_caller]
fn assert_accessible(browser: &Browser, what: &str) {
    let violations = browser.accessibility_violations().unwrap();
    let words: Vec<_> = violations.iter().map(ToString::to_string).collect();
    assert!(words.is_empty(), "{what}:\n{}", words.join("\n"));
}

#[test]
fn every_page_is_for_everybody_and_makes_no_error() {
    let project = waiting_project();
    let (server, browser) = (WebServer::start(&project), Browser::start().unwrap());
    sign_in(&browser, &server, &server.entry);
    let kinds = visit_pages(&browser, &server, |path| {
        assert_no_errors(&browser, path);
        if !is_page(&browser) {
            return;
        }
        for (scheme, width) in [
            (ColourScheme::Light, 1000),
            (ColourScheme::Dark, 360),
            (ColourScheme::LightHighContrast, 360),
            (ColourScheme::DarkHighContrast, 1000),
        ] {
            browser.prefer_scheme(scheme).unwrap();
            browser.resize(width, 800).unwrap();
            assert_accessible(&browser, &format!("{path} in {scheme:?} at {width}"));
            let is_too_wide = browser.run_script(IS_TOO_WIDE, &[]).unwrap();
            assert_eq!(is_too_wide, false, "{path} at {width}");
        }
        assert_no_errors(&browser, path);
    });
    assert_visited(&kinds);
}

#[test]
fn pages_are_read_without_a_script() {
    let project = waiting_project();
    let (server, browser) = (WebServer::start(&project), Browser::start().unwrap());
    browser.allow_scripts(false).unwrap();
    sign_in(&browser, &server, &server.entry);
    let kinds = visit_pages(&browser, &server, |path| {
        // A text may be empty; a page has words, and a way to the others.
        if is_page(&browser) {
            let text = browser.find("main").unwrap().text().unwrap();
            assert!(!text.trim().is_empty(), "{path}");
            assert!(!browser.find_all("a[href]").unwrap().is_empty(), "{path}");
        }
    });
    assert_visited(&kinds);
}
