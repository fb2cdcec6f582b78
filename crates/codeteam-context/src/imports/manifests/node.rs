//! Reads `package.json` and `tsconfig.json`.

use serde_json::{Map, Value};

use super::jsonc;

/// The largest number of entry points kept per package.
const MAX_ENTRIES: usize = 2_000;

/// The largest number of targets tried per entry point.
const MAX_TARGETS: usize = 16;

/// The relevant contents of a `package.json`.
#[derive(Debug, Default)]
pub(crate) struct PackageJson {
    /// The package's name.
    pub(crate) name: Option<String>,
    /// Files that stand for the package as a whole, the best first.
    pub(crate) main: Vec<String>,
    /// `exports`: `.`, `./x`, `./x/*`, with the files each may resolve to.
    pub(crate) exports: Vec<(String, Vec<String>)>,
    /// `imports`: `#x`, with the files each may resolve to.
    pub(crate) imports: Vec<(String, Vec<String>)>,
    /// The names of its dependencies.
    pub(crate) needs: Vec<String>,
}

/// Parses a `package.json`.
pub(crate) fn parse_package_json(text: &str) -> Option<PackageJson> {
    let value = jsonc::parse(text)?;
    let text = |key: &str| value.get(key).and_then(Value::as_str).map(str::to_owned);
    let mut package = PackageJson {
        name: text("name").filter(|name| !name.is_empty()),
        ..PackageJson::default()
    };
    for key in ["source", "types", "typings", "module", "main", "browser"] {
        package.main.extend(text(key));
    }
    match value.get("exports") {
        Some(Value::Object(map)) if map.keys().any(|key| key.starts_with('.')) => {
            package.exports = entries(map);
        }
        Some(whole) => package.exports = vec![(".".to_owned(), targets(whole))],
        None => {}
    }
    if let Some(Value::Object(map)) = value.get("imports") {
        package.imports = entries(map);
    }
    for key in [
        "dependencies",
        "devDependencies",
        "peerDependencies",
        "optionalDependencies",
    ] {
        let needs = value.get(key).and_then(Value::as_object);
        let needs = needs.into_iter().flat_map(Map::keys);
        package.needs.extend(needs.cloned());
    }
    Some(package)
}

fn entries(map: &Map<String, Value>) -> Vec<(String, Vec<String>)> {
    let entries = map.iter().take(MAX_ENTRIES);
    entries
        .map(|(key, value)| (key.clone(), targets(value)))
        .collect()
}

/// Returns the files that a value may resolve to under any condition.
fn targets(value: &Value) -> Vec<String> {
    let mut found = Vec::new();
    let mut open = vec![value];
    while let Some(value) = open.pop() {
        match value {
            Value::String(path) => found.push(path.clone()),
            Value::Array(list) => open.extend(list.iter().rev()),
            Value::Object(map) => open.extend(map.values().rev()),
            _ => {}
        }
        if found.len() >= MAX_TARGETS {
            break;
        }
    }
    found
}

/// The relevant contents of a single `tsconfig.json`.
#[derive(Debug, Default)]
pub(crate) struct TsConfig {
    /// The configurations it extends; the last one takes precedence.
    pub(crate) extends: Vec<String>,
    /// `compilerOptions.baseUrl`.
    pub(crate) base: Option<String>,
    /// `compilerOptions.paths`.
    pub(crate) paths: Option<Vec<(String, Vec<String>)>>,
    /// The projects it references.
    pub(crate) references: Vec<String>,
}

/// Parses a `tsconfig.json`.
pub(crate) fn parse_ts_config(text: &str) -> Option<TsConfig> {
    let value = jsonc::parse(text)?;
    let list = |value: Option<&Value>| match value {
        Some(Value::String(one)) => vec![one.clone()],
        Some(Value::Array(many)) => {
            let many = many.iter().take(MAX_TARGETS);
            many.filter_map(|one| one.as_str().or_else(|| one.get("path")?.as_str()))
                .map(str::to_owned)
                .collect()
        }
        _ => Vec::new(),
    };
    let options = value.get("compilerOptions");
    let option = |key: &str| options.and_then(|options| options.get(key));
    let paths = option("paths").and_then(Value::as_object).map(|map| {
        let entries = map.iter().take(MAX_ENTRIES);
        entries
            .map(|(pattern, to)| (pattern.clone(), list(Some(to))))
            .collect()
    });
    Some(TsConfig {
        extends: list(value.get("extends")),
        base: option("baseUrl").and_then(Value::as_str).map(str::to_owned),
        paths,
        references: list(value.get("references")),
    })
}
