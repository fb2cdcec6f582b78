//! The style sheet, the templates and the scripts themselves: contrast, and nothing that the content
//! policy of the pages would stop.

use std::collections::BTreeMap;

use super::super::assets::FILES;
use super::super::environment::TEMPLATES;
use super::super::settings::KEYS;

fn asset(name: &str) -> &'static str {
    let found = FILES.iter().find(|(own, _)| *own == name);
    found.map(|(_, content)| *content).unwrap()
}

/// A colour for light and one for dark pages.
type ColourPair = [String; 2];

/// Reads the colours that a rule defines.
fn colours(css: &str, selector: &str) -> BTreeMap<String, ColourPair> {
    let (_, rest) = css.split_once(selector).unwrap();
    let (body, _) = rest.split_once('}').unwrap();
    let lines = body.lines().filter_map(|line| {
        let (name, value) = line.trim().split_once(": light-dark(")?;
        let (light, dark) = value.trim_end_matches(");").split_once(", ")?;
        Some((name.to_owned(), [light.to_owned(), dark.to_owned()]))
    });
    lines.collect()
}

/// Returns the relative luminance of a colour such as `#0a52b0`, as WCAG 2 defines it.
fn luminance(colour: &str) -> f64 {
    let channel = |at: usize| {
        let value = f64::from(u8::from_str_radix(&colour[at..at + 2], 16).unwrap()) / 255.0;
        if value <= 0.040_45 {
            value / 12.92
        } else {
            ((value + 0.055) / 1.055).powf(2.4)
        }
    };
    0.2126 * channel(1) + 0.7152 * channel(3) + 0.0722 * channel(5)
}

fn contrast(one: &str, other: &str) -> f64 {
    let (one, other) = (luminance(one), luminance(other));
    (one.max(other) + 0.05) / (one.min(other) + 0.05)
}

/// Returns the colours of each theme.
fn themes() -> Vec<(&'static str, BTreeMap<String, ColourPair>)> {
    let css = asset("base.css");
    let usual = colours(css, ":root {");
    let mut high = usual.clone();
    high.extend(colours(css, ":root[data-theme=\"contrast\"] {"));
    vec![("usual", usual), ("high contrast", high)]
}

#[test]
fn every_text_can_be_read_on_every_surface() {
    for (theme, colours) in themes() {
        let named = |start: &str| -> Vec<(&String, &ColourPair)> {
            colours
                .iter()
                .filter(|(name, _)| name.starts_with(start))
                .collect()
        };
        let (inks, papers) = (named("--ink"), named("--paper"));
        assert!(inks.len() >= 7 && papers.len() >= 9, "{theme}");
        let mut pairs: Vec<(&String, &ColourPair, &String, &ColourPair, f64)> = Vec::new();
        for (ink, own) in &inks {
            pairs.extend(
                papers
                    .iter()
                    .map(|(paper, behind)| (*ink, *own, *paper, *behind, 4.5)),
            );
        }
        for (on, own) in named("--on-") {
            let fill = colours
                .get_key_value(&on.replace("--on-", "--fill-"))
                .unwrap();
            pairs.push((on, own, fill.0, fill.1, 4.5));
        }
        let ink = colours.get_key_value("--ink").unwrap();
        pairs.extend(
            named("--word-")
                .into_iter()
                .map(|(word, behind)| (ink.0, ink.1, word, behind, 4.5)),
        );
        // Outlines of fields, the focus and drawings need less.
        let paper = colours.get_key_value("--paper").unwrap();
        let lines =
            ["--line-strong", "--line-focus"].map(|name| colours.get_key_value(name).unwrap());
        let lines = lines.into_iter().chain(named("--series-"));
        pairs.extend(lines.map(|(line, own)| (line, own, paper.0, paper.1, 3.0)));
        for (name, own, behind_name, behind, least) in pairs {
            for at in 0..2 {
                let found = contrast(&own[at], &behind[at]);
                assert!(
                    found >= least,
                    "{theme}: {name} on {behind_name} has {found:.2} in {}",
                    ["light", "dark"][at]
                );
            }
        }
    }
}

#[test]
fn texts_and_surfaces_have_colours_of_their_kind() {
    let (_, rules) = asset("base.css")
        .split_once("/* Texts and places */")
        .unwrap();
    for declaration in rules.split([';', '{', '}']) {
        let Some((property, value)) = declaration.trim().split_once(':') else {
            continue;
        };
        let value = value.trim();
        let starts: &[&str] = match property.trim() {
            "color" => &["var(--ink", "var(--on-", "currentColor"],
            "background" => &[
                "var(--paper",
                "var(--fill-",
                "var(--word-",
                "var(--series-",
                "transparent",
                "rgb(0 0 0 / ",
            ],
            _ => continue,
        };
        assert!(
            starts.iter().any(|start| value.starts_with(start)),
            "{property}: {value}"
        );
    }
}

#[test]
fn high_contrast_is_the_same_whoever_asks_for_it() {
    let css = asset("base.css");
    let chosen = colours(css, ":root[data-theme=\"contrast\"] {");
    let (_, preferred) = css.split_once("@media (prefers-contrast: more) {").unwrap();
    assert_eq!(chosen, colours(preferred, ":root[data-theme=\"auto\"] {"));
}

#[test]
fn nothing_is_loaded_from_elsewhere_and_nothing_is_written_into_elements() {
    for (name, text) in TEMPLATES {
        for forbidden in [
            "http:",
            "https:",
            "//",
            " style=",
            "<style",
            "javascript:",
            "srcdoc",
            "<iframe",
            "|safe",
            "| safe",
        ] {
            assert!(!text.contains(forbidden), "{name} has {forbidden}");
        }
        let has_handler = text
            .split(|c: char| c.is_whitespace() || c == '<')
            .any(|word| {
                word.starts_with("on")
                    && word
                        .split_once('=')
                        .is_some_and(|(name, _)| name.chars().all(char::is_alphabetic))
            });
        assert!(!has_handler, "{name} has a handler");
        let scripts = text.matches("<script").count();
        assert_eq!(
            scripts,
            text.matches("<script type=\"module\" src=\"{{ shell.script }}\"></script>")
                .count(),
            "{name}"
        );
    }
    for (name, text) in FILES {
        for forbidden in [
            "https:",
            "eval(",
            "innerHTML",
            "outerHTML",
            "insertAdjacentHTML",
            "new Function",
            "document.write",
            "@import",
            ".style.",
        ] {
            assert!(!text.contains(forbidden), "{name} has {forbidden}");
        }
        let urls = text.matches("http:").count();
        assert_eq!(
            urls,
            text.matches("http://www.w3.org/2000/svg").count(),
            "{name}"
        );
        assert!(
            !text.contains("url(")
                || name.split('.').next_back() == Some("css")
                    && text.matches("url(").count() == text.matches("url(\"#").count(),
            "{name}"
        );
    }
}

#[test]
fn the_help_lists_the_keys_that_the_script_has() {
    let script = asset("keys.js");
    for (place, keys) in KEYS {
        let (_, rest) = script.split_once(&format!("\"{place}\": {{")).unwrap();
        let (body, _) = rest.split_once("\n  },").unwrap();
        let known: Vec<&str> = body
            .lines()
            .filter_map(|line| line.trim().strip_prefix('"')?.split('"').next())
            .collect();
        // These work while something is typed, too.
        let listed = keys
            .iter()
            .map(|(key, _)| *key)
            .filter(|key| !["Ctrl-K", "Esc"].contains(key));
        assert_eq!(known, listed.collect::<Vec<_>>(), "{place}");
    }
}
