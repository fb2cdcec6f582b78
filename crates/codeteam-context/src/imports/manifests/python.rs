//! Reads the dependencies of a Python project from any of its manifests.

use std::collections::BTreeSet;

use toml::{Table, Value};

use super::super::paths::{folder_of, name_of};
use super::super::standard_libraries::module_of_package;

/// Returns true if a path is that of a manifest that names Python packages.
pub(crate) fn is_python_manifest(path: &str) -> bool {
    let name = name_of(path);
    let is_list = |name: &str| {
        let ends = [".txt", ".in", ".pip"]
            .iter()
            .any(|end| name.ends_with(end));
        ends && (name.contains("requirements") || name_of(folder_of(path)) == "requirements")
    };
    matches!(
        name,
        "pyproject.toml"
            | "setup.py"
            | "setup.cfg"
            | "Pipfile"
            | "poetry.lock"
            | "uv.lock"
            | "environment.yml"
            | "environment.yaml"
            | "tox.ini"
    ) || is_list(name)
}

/// Adds the modules that a manifest's packages provide, in lower case.
pub(crate) fn python_packages(path: &str, text: &str, found: &mut BTreeSet<String>) {
    let mut add = |requirement: &str| add(requirement, found);
    match name_of(path) {
        "pyproject.toml" => {
            let table: Table = text.parse().unwrap_or_default();
            collect_requirements(&Value::Table(table), &mut add);
        }
        "Pipfile" => {
            let table: Table = text.parse().unwrap_or_default();
            for kind in ["packages", "dev-packages"] {
                keys(table.get(kind), &mut add);
            }
        }
        "poetry.lock" | "uv.lock" => {
            let names = text
                .lines()
                .filter_map(|line| line.strip_prefix("name = \""));
            names.for_each(|name| add(name.trim_end_matches('"')));
        }
        "setup.py" => {
            for quoted in text.split(['"', '\'']).skip(1).step_by(2) {
                // A requirement is a string of its own without line breaks.
                if !quoted.contains('\n') && quoted.len() < 200 {
                    add(quoted);
                }
            }
        }
        "environment.yml" | "environment.yaml" => {
            let items = text
                .lines()
                .filter_map(|line| line.trim().strip_prefix("- "));
            items.for_each(add);
        }
        "setup.cfg" | "tox.ini" => {
            let inner = text.lines().filter(|line| line.starts_with([' ', '\t']));
            inner.for_each(|line| add(line.trim()));
        }
        _ => text.lines().for_each(|line| add(line.trim())),
    }
}

/// Calls `add` for the requirements anywhere in a `pyproject.toml`.
fn collect_requirements(value: &Value, add: &mut impl FnMut(&str)) {
    const LISTS: [&str; 4] = [
        "dependencies",
        "requires",
        "dev-dependencies",
        "requirements",
    ];
    const TABLES: [&str; 3] = ["optional-dependencies", "dependency-groups", "extras"];
    let Some(table) = value.as_table() else {
        return;
    };
    for (key, value) in table {
        match value {
            Value::Array(_) if LISTS.contains(&key.as_str()) => texts(value, add),
            Value::Table(_) if LISTS.contains(&key.as_str()) => keys(Some(value), add),
            Value::Table(lists) if TABLES.contains(&key.as_str()) => {
                lists.values().for_each(|list| texts(list, add));
            }
            Value::Table(_) => collect_requirements(value, add),
            _ => {}
        }
    }
}

fn texts(list: &Value, add: &mut impl FnMut(&str)) {
    let list = list.as_array().into_iter().flatten();
    list.filter_map(Value::as_str).for_each(add);
}

fn keys(table: Option<&Value>, add: &mut impl FnMut(&str)) {
    let table = table.and_then(Value::as_table);
    table
        .into_iter()
        .flat_map(Table::keys)
        .for_each(|key| add(key));
}

/// Adds the package named by a requirement such as `Foo-Bar[extra] >= 1.0`.
fn add(requirement: &str, found: &mut BTreeSet<String>) {
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let end = requirement
        .find(|c| !is_part(c))
        .unwrap_or(requirement.len());
    let (name, rest) = requirement.split_at(end);
    let is_version = rest.trim_start().is_empty()
        || rest
            .trim_start()
            .starts_with(['[', '<', '>', '=', '!', '~', ';', '#', '@', '(']);
    if !name.starts_with(|c: char| c.is_ascii_alphabetic()) || !is_version {
        return;
    }
    let name = normalize_package_name(name);
    if let Some(module) = module_of_package(&name) {
        found.insert(normalize_package_name(module));
    }
    for beginning in ["python_", "py"] {
        found.extend(name.strip_prefix(beginning).map(str::to_owned));
    }
    found.extend(name.strip_suffix("_python").map(str::to_owned));
    // `google-cloud-storage` provides a part of `google`.
    found.extend(name.split_once('_').map(|(first, _)| first.to_owned()));
    found.insert(name);
}

/// Normalises a package name: `-`, `_` and `.` are equal, and case does not matter.
pub(crate) fn normalize_package_name(name: &str) -> String {
    name.to_ascii_lowercase().replace(['-', '.'], "_")
}
