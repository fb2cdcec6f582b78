//! Extracts the parts of a file that configure checks, each as a name and a text to compare.

use crate::honesty::HonestySubject;

/// Python tools that check something.
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

/// Returns true if a new part changes what is checked.
pub(super) fn counts_if_new(name: &str) -> bool {
    let is_added_script =
        name.starts_with("scripts.") && !name.contains(".pre") && !name.contains(".post");
    !is_added_script
}

/// Extracts the tables of tools from a `pyproject.toml`.
pub(super) fn pyproject(text: &str, _: &HonestySubject<'_>) -> Vec<(String, String)> {
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

/// Extracts the sections of tools from a `setup.cfg` or `tox.ini`.
pub(super) fn ini(text: &str, _: &HonestySubject<'_>) -> Vec<(String, String)> {
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

/// Extracts the scripts and the settings of tools from a `package.json`.
pub(super) fn package(text: &str, _: &HonestySubject<'_>) -> Vec<(String, String)> {
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
        "nx",
        "wireit",
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

/// Extracts the lints, targets and test profiles from a `Cargo.toml`.
pub(super) fn cargo(text: &str, _: &HonestySubject<'_>) -> Vec<(String, String)> {
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
    take("lib.harness", inner("lib", "harness"));
    take("lib.doctest", inner("lib", "doctest"));
    take("profile.test", inner("profile", "test"));
    let tests = file.get("test").and_then(toml::Value::as_array);
    for test in tests.into_iter().flatten() {
        // An additional test is fine; one that is not run, or has its own harness, is not.
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

/// Extracts the build sections of a `pom.xml` and the properties that affect tests, but not its
/// dependencies.
pub(super) fn pom(text: &str, _: &HonestySubject<'_>) -> Vec<(String, String)> {
    let mut found: Vec<(String, String)> = Vec::new();
    for name in ["build", "profiles"] {
        let (open, close) = (format!("<{name}>"), format!("</{name}>"));
        let all: String = text
            .split(&open)
            .skip(1)
            .map(|rest| rest.split(&close).next().unwrap_or(rest))
            .collect();
        // A newer version of a plugin does what the older one did.
        let lines = all.lines().filter(|line| !line.contains("version>"));
        found.push((name.to_owned(), lines.map(spaced).collect()));
    }
    let says = |line: &&str| {
        let line = line.to_ascii_lowercase();
        let words = [
            "skip",
            "test",
            "surefire",
            "failsafe",
            "argline",
            "checkstyle",
        ];
        let is_version = line.contains("version>");
        line.contains('<') && !is_version && words.iter().any(|word| line.contains(word))
    };
    let properties = text.split("<properties>").skip(1);
    let properties = properties.map(|rest| rest.split("</properties>").next().unwrap_or(rest));
    let lines = properties.flat_map(str::lines).filter(says);
    found.push(("properties".to_owned(), lines.map(spaced).collect()));
    found.retain(|(_, text)| !text.is_empty());
    found
}

/// Extracts everything from a `build.gradle` except plain dependencies and versions.
pub(super) fn gradle(text: &str, _: &HonestySubject<'_>) -> Vec<(String, String)> {
    let is_plain = |line: &str| {
        let (word, rest) = match line.find(|c: char| !c.is_alphanumeric()) {
            Some(end) => line.split_at(end),
            None => (line, ""),
        };
        let word = word.to_ascii_lowercase();
        let depends = [
            "implementation",
            "api",
            "compileonly",
            "runtimeonly",
            "processor",
            "bom",
        ]
        .iter()
        .any(|end| word.ends_with(end));
        let is_value = !rest.contains(['{', '}', ';', '=']) || word == "version";
        let says = matches!(word.as_str(), "version" | "group" | "description");
        (depends || says) && is_value && !rest.contains([';', '{'])
    };
    let lines = text.lines().map(str::trim);
    let lines = lines.filter(|line| {
        let is_said = line.is_empty() || line.starts_with("//") || line.starts_with('*');
        !is_said && !is_plain(line) && !line.starts_with("dependencies {")
    });
    let all: Vec<String> = lines.map(without_versions).collect();
    vec![("what it does".to_owned(), all.join("\n"))]
}

/// Removes the versions from a line: a newer version of a plugin does what the older one did.
fn without_versions(line: &str) -> String {
    let pieces = line.split(['\'', '"']);
    let is_version = |piece: &&str| {
        let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '+');
        piece.starts_with(|c: char| c.is_ascii_digit())
            && piece.contains('.')
            && piece.chars().all(is_part)
    };
    let kept: Vec<&str> = pieces.filter(|piece| !is_version(piece)).collect();
    kept.join("'")
}

/// Extracts the tasks of a `deno.json`, and what it checks.
pub(super) fn deno(text: &str, _: &HonestySubject<'_>) -> Vec<(String, String)> {
    let Ok(file) = serde_json::from_str::<serde_json::Value>(text) else {
        return broken(text);
    };
    let keys = [
        "tasks",
        "test",
        "lint",
        "fmt",
        "exclude",
        "compilerOptions",
        "unstable",
    ];
    let parts = keys.iter().filter_map(|name| {
        let value = file.get(*name)?;
        Some(((*name).to_owned(), format!("{value:?}")))
    });
    parts.collect()
}

/// Collapses whitespace to single spaces.
fn spaced(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ")
}

/// Returns the whole text as one part, for a file that cannot be parsed.
fn broken(text: &str) -> Vec<(String, String)> {
    vec![("all of it".to_owned(), text.to_owned())]
}
