//! Reads the few facts about imports that manifests contain. A manifest that cannot be parsed is
//! treated as missing.

mod java;
mod jsonc;
mod node;
mod python;

use serde::Deserialize;
use toml::{Table, Value};

pub(super) use self::java::java_groups;
pub(super) use self::node::{PackageJson, TsConfig, parse_package_json, parse_ts_config};
pub(super) use self::python::{is_python_manifest, normalize_package_name, python_packages};

/// The relevant contents of a `go.mod`.
pub(super) struct GoMod {
    /// The module path.
    pub(super) name: String,
    /// The required modules.
    pub(super) required: Vec<String>,
    /// Modules replaced by a folder, relative to the manifest's.
    pub(super) replaced: Vec<(String, String)>,
}

/// Parses a `go.mod`.
pub(super) fn parse_go_mod(text: &str) -> GoMod {
    let mut module = GoMod {
        name: String::new(),
        required: Vec::new(),
        replaced: Vec::new(),
    };
    let mut block = String::new();
    for line in text.lines() {
        let line = line.split("//").next().unwrap_or("");
        let mut words: Vec<&str> = line.split_whitespace().collect();
        if words == [")"] {
            block.clear();
            continue;
        }
        if words.last() == Some(&"(") {
            words.remove(0).clone_into(&mut block);
            continue;
        }
        let word = if block.is_empty() && !words.is_empty() {
            words.remove(0)
        } else {
            block.as_str()
        };
        let plain = |word: &str| word.trim_matches(['"', '`']).to_owned();
        match (word, words.as_slice()) {
            ("module", [name, ..]) => module.name = plain(name),
            ("require", [name, ..]) => module.required.push(plain(name)),
            ("replace", [name, .., "=>", to] | [name, .., "=>", to, _])
                if plain(to).starts_with('.') =>
            {
                module.replaced.push((plain(name), plain(to)));
            }
            _ => {}
        }
    }
    module
}

/// The relevant contents of a `Cargo.toml`.
#[derive(Debug, Default)]
pub(super) struct CargoToml {
    /// The package's name, as code writes it.
    pub(super) name: Option<String>,
    /// The library's name, if it differs.
    pub(super) library: Option<String>,
    /// The library's file, if it is not the default.
    pub(super) library_path: Option<String>,
    /// The files of its programs, tests, examples and benches, where they are given.
    pub(super) roots: Vec<String>,
    /// The dependencies: the name in code, and the package's name.
    pub(super) needs: Vec<(String, String)>,
}

#[derive(Deserialize)]
struct CargoTarget {
    name: Option<String>,
    path: Option<String>,
}

/// Parses a `Cargo.toml`.
pub(super) fn parse_cargo_toml(text: &str) -> Option<CargoToml> {
    let table: Table = text.parse().ok()?;
    let mut found = CargoToml::default();
    let name = table.get("package").and_then(|package| package.get("name"));
    found.name = name.and_then(Value::as_str).map(crate_identifier);
    let target = |value: &Value| value.clone().try_into::<CargoTarget>().ok();
    if let Some(library) = table.get("lib").and_then(target) {
        found.library = library.name.as_deref().map(crate_identifier);
        found.library_path = library.path;
    }
    for kind in ["bin", "test", "example", "bench"] {
        let targets = table.get(kind).and_then(Value::as_array);
        let targets = targets.into_iter().flatten().filter_map(target);
        found.roots.extend(targets.filter_map(|target| target.path));
    }
    let mut tables = vec![&table];
    tables.extend(table.get("workspace").and_then(Value::as_table));
    let systems = table.get("target").and_then(Value::as_table);
    tables.extend(
        systems
            .into_iter()
            .flat_map(Table::values)
            .filter_map(Value::as_table),
    );
    for table in tables {
        for kind in ["dependencies", "dev-dependencies", "build-dependencies"] {
            let needs = table.get(kind).and_then(Value::as_table);
            for (name, said) in needs.into_iter().flatten() {
                let package = said.get("package").and_then(Value::as_str);
                let package = crate_identifier(package.unwrap_or(name));
                found.needs.push((crate_identifier(name), package));
            }
        }
    }
    Some(found)
}

fn crate_identifier(name: &str) -> String {
    name.replace('-', "_")
}

#[cfg(test)]
mod tests;
