//! The parts of a file that checks go by, each with its name and as a text to be compared.

use crate::verify::honest::Subject;

/// Tools of Python that check.
pub(super) const TOOLS: &[&str] = &[
    "pytest",
    "coverage",
    "ruff",
    "mypy",
    "black",
    "isort",
    "pylint",
    "flake8",
    "pyright",
    "tox",
    "nox",
    "bandit",
    "pyre",
    "pytype",
    "ty",
    "basedpyright",
];

/// Whether a part that was not there before changes what is checked.
pub(super) fn counts_if_new(name: &str) -> bool {
    let is_added_script =
        name.starts_with("scripts.") && !name.contains(".pre") && !name.contains(".post");
    !is_added_script
}

/// The tables of tools in a `pyproject.toml`.
pub(super) fn pyproject(text: &str, _: &Subject<'_>) -> Vec<(String, String)> {
    let Ok(toml::Value::Table(file)) = text.parse::<toml::Table>().map(toml::Value::Table) else {
        return broken(text);
    };
    let tools = file.get("tool").and_then(toml::Value::as_table);
    tools
        .into_iter()
        .flatten()
        .filter(|(name, _)| TOOLS.contains(&name.as_str()))
        .map(|(name, value)| (format!("tool.{name}"), format!("{value:?}")))
        .collect()
}

/// The sections of tools in a `setup.cfg` or `tox.ini`.
pub(super) fn ini(text: &str, _: &Subject<'_>) -> Vec<(String, String)> {
    let mut found: Vec<(String, String)> = Vec::new();
    for line in text.lines() {
        let line = line.trim_end();
        if let Some(name) = line
            .strip_prefix('[')
            .and_then(|rest| rest.strip_suffix(']'))
        {
            found.push((name.to_owned(), String::new()));
        } else if let Some((_, body)) = found.last_mut()
            && !line.trim().is_empty()
            && !line.trim_start().starts_with(['#', ';'])
        {
            body.push_str(line);
            body.push('\n');
        }
    }
    found.retain(|(name, _)| {
        let plain = name.trim_start_matches("tool:");
        let first = plain.split([':', '-', '.']).next().unwrap_or(plain);
        TOOLS.contains(&first) || first == "testenv"
    });
    found
}

/// Scripts and settings of tools in a `package.json`.
pub(super) fn package(text: &str, _: &Subject<'_>) -> Vec<(String, String)> {
    const SETTINGS: &[&str] = &[
        "jest",
        "mocha",
        "ava",
        "nyc",
        "c8",
        "vitest",
        "eslintConfig",
        "eslintIgnore",
        "prettier",
        "babel",
        "tap",
        "karma",
    ];
    let Ok(file) = serde_json::from_str::<serde_json::Value>(text) else {
        return broken(text);
    };
    let scripts = file["scripts"].as_object().into_iter().flatten();
    let scripts = scripts.map(|(name, value)| (format!("scripts.{name}"), format!("{value:?}")));
    let settings = SETTINGS.iter().filter_map(|name| {
        let value = file.get(*name)?;
        Some(((*name).to_owned(), format!("{value:?}")))
    });
    scripts.chain(settings).collect()
}

/// Lints, targets and profiles of tests in a `Cargo.toml`.
pub(super) fn cargo(text: &str, _: &Subject<'_>) -> Vec<(String, String)> {
    let Ok(file) = text.parse::<toml::Table>() else {
        return broken(text);
    };
    let mut found = Vec::new();
    let mut take = |name: &str, value: Option<&toml::Value>| {
        if let Some(value) = value {
            found.push((name.to_owned(), format!("{value:?}")));
        }
    };
    take("lints", file.get("lints"));
    let inner = |table: &str, key: &str| file.get(table).and_then(|table| table.get(key));
    take("workspace.lints", inner("workspace", "lints"));
    take("workspace.exclude", inner("workspace", "exclude"));
    take("package.autotests", inner("package", "autotests"));
    take("lib.test", inner("lib", "test"));
    take("lib.doctest", inner("lib", "doctest"));
    take("profile.test", inner("profile", "test"));
    let tests = file.get("test").and_then(toml::Value::as_array);
    for test in tests.into_iter().flatten() {
        // A test more is fine; one that is not run, or runs as it likes, is not.
        for key in ["test", "harness", "required-features"] {
            if let Some(value) = test.get(key) {
                let name = test
                    .get("name")
                    .and_then(toml::Value::as_str)
                    .unwrap_or_default();
                found.push((format!("test.{name}.{key}"), format!("{value:?}")));
            }
        }
    }
    found
}

/// The targets of a `Makefile` or `justfile` that commands name, with those that they need.
pub(super) fn targets(text: &str, subject: &Subject<'_>) -> Vec<(String, String)> {
    let mut blocks: Vec<(String, Vec<String>, String)> = Vec::new();
    for line in text.lines() {
        let is_body = line.starts_with(['\t', ' ']) || line.trim().is_empty();
        let head = line
            .split_once(':')
            .filter(|(_, rest)| !rest.starts_with('='));
        match (is_body, head) {
            (false, Some((names, needs))) if !line.starts_with('#') => {
                let needs: Vec<String> = needs.split_whitespace().map(str::to_owned).collect();
                let first = names
                    .split_whitespace()
                    .next()
                    .unwrap_or_default()
                    .to_owned();
                blocks.push((first, needs, format!("{line}\n")));
            }
            _ => {
                if let Some((_, _, body)) = blocks.last_mut()
                    && is_body
                    && !line.trim().is_empty()
                {
                    body.push_str(line);
                    body.push('\n');
                }
            }
        }
    }
    let mut wanted: Vec<String> = subject
        .commands
        .iter()
        .filter(|command| ["make", "just"].iter().any(|tool| command.contains(tool)))
        .flat_map(|command| {
            command
                .split_whitespace()
                .map(str::to_owned)
                .collect::<Vec<_>>()
        })
        .collect();
    let bare = |command: &String| matches!(command.trim(), "make" | "just");
    if subject.commands.iter().any(bare) {
        // The first one, if none is named.
        wanted.extend(blocks.first().map(|block| block.0.clone()));
    }
    let mut at = 0;
    while at < wanted.len() {
        let needs = blocks.iter().find(|block| block.0 == wanted[at]);
        for need in needs.map(|block| block.1.clone()).unwrap_or_default() {
            if !wanted.contains(&need) {
                wanted.push(need);
            }
        }
        at += 1;
    }
    blocks
        .into_iter()
        .filter(|(name, ..)| wanted.contains(name))
        .map(|(name, _, body)| (format!("target {name}"), body))
        .collect()
}

/// A file that cannot be read is compared as a whole.
fn broken(text: &str) -> Vec<(String, String)> {
    vec![("all of it".to_owned(), text.to_owned())]
}
