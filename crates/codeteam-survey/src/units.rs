//! Finds the build units of a repository: its manifests, and which of them belong together.

use serde_json::Value;

use codeteam_core::shell::shell_word;
use codeteam_patterns::path_matches;

use super::surveyed_files::{
    SurveyedFiles, extension, is_sample, is_third_party, join_path, split_path, strings_at,
    value_at,
};
use super::{DetectedFeature, RepoPackage};

/// The largest number of units that are surveyed.
const MAX_UNITS: usize = 200;

/// The deepest folder in which a manifest counts.
const MAX_DEPTH: usize = 6;

/// The family of tools that a manifest is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Ecosystem {
    Rust,
    Go,
    Python,
    Node,
    Java,
}

impl Ecosystem {
    pub(super) fn language(self) -> &'static str {
        match self {
            Self::Node => "JavaScript",
            Self::Python => "Python",
            Self::Rust => "Rust",
            Self::Go => "Go",
            Self::Java => "Java",
        }
    }
}

/// A part of a repository with its own manifest.
///
/// [`find_units`] returns the units from the root downwards. A unit is either independent or the
/// member of a workspace. Only independent units are surveyed by themselves; each workspace root
/// also takes care of its members, which it finds by [`member_of`](Self::member_of).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct BuildUnit {
    pub(super) kind: Ecosystem,
    /// The folder of the unit; empty for the root.
    pub(super) folder: String,
    /// The path of the manifest.
    pub(super) manifest: String,
    /// The folder of the workspace that the unit belongs to.
    pub(super) member_of: Option<String>,
}

impl BuildUnit {
    /// Returns a command for this unit, as it is typed at the root.
    pub(super) fn command_from_root(&self, command: &str) -> String {
        if self.folder.is_empty() {
            command.to_owned()
        } else {
            format!("cd {} && {command}", shell_word(&self.folder))
        }
    }

    /// Returns a file of this unit as a path from the root.
    pub(super) fn path_from_root(&self, name: &str) -> String {
        join_path(&self.folder, name)
    }
}

/// Finds all units, those of the root first.
pub(super) fn find_units(place: &SurveyedFiles<'_>) -> Vec<BuildUnit> {
    let mut units: Vec<BuildUnit> = Vec::new();
    for path in place.files() {
        let (folder, name) = split_path(path);
        let depth = folder.split('/').filter(|part| !part.is_empty()).count();
        let Some(kind) = kind_of(name) else { continue };
        if depth > MAX_DEPTH || (is_sample(path)) || folder.contains('\n') {
            continue;
        }
        if units.iter().any(|u| u.kind == kind && u.folder == folder) {
            continue;
        }
        if kind == Ecosystem::Python && !place.files_below(folder).any(is_python) {
            continue;
        }
        units.push(BuildUnit {
            kind,
            folder: folder.to_owned(),
            manifest: path.to_owned(),
            member_of: None,
        });
    }
    // A few scripts and their tests are a project even without a manifest.
    let is_near = |path: &&str| path.matches('/').count() <= 1;
    let mut tests = place
        .files()
        .filter(|path| is_python_test(path))
        .filter(is_near);
    if let (true, Some(test)) = (units.is_empty(), tests.next()) {
        units.push(BuildUnit {
            kind: Ecosystem::Python,
            folder: String::new(),
            manifest: test.to_owned(),
            member_of: None,
        });
    }
    units.sort_by_key(|unit| {
        (
            unit.folder.matches('/').count() + usize::from(!unit.folder.is_empty()),
            unit.folder.clone(),
            unit.kind,
        )
    });
    if units.len() > MAX_UNITS {
        place.add_note(format!(
            "there are {} manifests; the first {MAX_UNITS} were looked at",
            units.len()
        ));
        units.truncate(MAX_UNITS);
    }
    assign_workspaces(place, units)
}

fn is_python(path: &str) -> bool {
    extension(path) == "py" && !is_sample(path)
}

fn kind_of(name: &str) -> Option<Ecosystem> {
    Some(match name {
        "package.json" => Ecosystem::Node,
        "pyproject.toml" | "setup.py" | "setup.cfg" | "requirements.txt" | "Pipfile" => {
            Ecosystem::Python
        }
        "Cargo.toml" => Ecosystem::Rust,
        "go.mod" | "go.work" => Ecosystem::Go,
        "pom.xml"
        | "build.gradle"
        | "build.gradle.kts"
        | "settings.gradle"
        | "settings.gradle.kts" => Ecosystem::Java,
        _ => return None,
    })
}

/// Assigns each unit to its workspace, and removes what is not part of the project.
fn assign_workspaces(place: &SurveyedFiles<'_>, units: Vec<BuildUnit>) -> Vec<BuildUnit> {
    let mut kept: Vec<BuildUnit> = Vec::new();
    for mut unit in units {
        let above = kept
            .iter()
            .filter(|other| other.kind == unit.kind && other.member_of.is_none())
            .filter(|other| is_below(&unit.folder, &other.folder))
            .max_by_key(|other| other.folder.len());
        let Some(above) = above else {
            kept.push(unit);
            continue;
        };
        match relation(place, above, &unit) {
            UnitRelation::Member => {
                unit.member_of = Some(above.folder.clone());
                kept.push(unit);
            }
            UnitRelation::Apart => kept.push(unit),
            UnitRelation::Nothing => {}
        }
    }
    kept
}

fn is_below(folder: &str, above: &str) -> bool {
    let rest = folder.strip_prefix(above);
    above.is_empty() || rest.is_some_and(|rest| rest.starts_with('/'))
}

/// How a manifest relates to one of its kind in a folder above.
enum UnitRelation {
    /// It is a member of the upper one's workspace.
    Member,
    /// It is a project of its own.
    Apart,
    /// It is something inside the upper one that is not built separately.
    Nothing,
}

fn relation(place: &SurveyedFiles<'_>, above: &BuildUnit, unit: &BuildUnit) -> UnitRelation {
    let rest = unit.folder[above.folder.len()..].trim_start_matches('/');
    match unit.kind {
        // Maven and Gradle build everything below their root.
        Ecosystem::Java => UnitRelation::Member,
        Ecosystem::Rust => {
            let own = place.read_toml(&unit.path_from_root("Cargo.toml"));
            let root = place.read_toml(&above.path_from_root("Cargo.toml"));
            let is_root = |manifest: &Option<Value>| {
                let manifest = manifest.as_ref();
                manifest.is_some_and(|m| m.get("workspace").is_some())
            };
            let excluded = root
                .as_ref()
                .map(|root| strings_at(root, &["workspace", "exclude"]));
            let is_excluded = excluded
                .into_iter()
                .flatten()
                .any(|glob| path_matches(glob, rest));
            if is_root(&own) || is_excluded {
                UnitRelation::Apart
            } else if is_root(&root) {
                UnitRelation::Member
            } else {
                UnitRelation::Nothing
            }
        }
        Ecosystem::Go => {
            let work = place.read_text(&above.path_from_root("go.work"));
            let used = work.as_deref().map(go_uses).unwrap_or_default();
            let only_pins_tools =
                matches!(split_path(rest).1, "tools" | "_tools" | "tool" | "hack");
            if used.iter().any(|used| used == rest) {
                UnitRelation::Member
            } else if only_pins_tools {
                UnitRelation::Nothing
            } else {
                UnitRelation::Apart
            }
        }
        Ecosystem::Node => {
            if is_among(&node_workspaces(place, above), rest) {
                UnitRelation::Member
            } else if place.first_existing(&unit.folder, NODE_LOCKS).is_some() {
                UnitRelation::Apart
            } else {
                UnitRelation::Nothing
            }
        }
        Ecosystem::Python => {
            let root = place
                .read_toml(&above.path_from_root("pyproject.toml"))
                .unwrap_or_default();
            let workspace = ["tool", "uv", "workspace"];
            let globs = value_at(&root, &workspace).map(|w| strings_at(w, &["members"]));
            let globs: Vec<String> = owned(globs.unwrap_or_default());
            if is_among(&globs, rest) {
                UnitRelation::Member
            } else if place.first_existing(&unit.folder, PYTHON_LOCKS).is_some() {
                UnitRelation::Apart
            } else {
                UnitRelation::Nothing
            }
        }
    }
}

/// Lock files of Node's package managers.
pub(super) const NODE_LOCKS: &[&str] = &[
    "pnpm-lock.yaml",
    "yarn.lock",
    "bun.lock",
    "bun.lockb",
    "package-lock.json",
    "npm-shrinkwrap.json",
];

/// Lock files of Python's package managers.
const PYTHON_LOCKS: &[&str] = &["uv.lock", "poetry.lock", "pdm.lock", "Pipfile.lock"];

/// Returns the folders that `go.work` uses.
pub(super) fn go_uses(text: &str) -> Vec<String> {
    let mut inside = false;
    let mut used = Vec::new();
    for line in text.lines() {
        let line = line.split("//").next().unwrap_or_default().trim();
        let one = line.strip_prefix("use ").map(str::trim);
        match (inside, one) {
            (_, Some("(")) => inside = true,
            (false, Some(one)) => used.push(one),
            (true, _) if line == ")" => inside = false,
            (true, _) if !line.is_empty() => used.push(line),
            _ => {}
        }
    }
    let clean = |folder: &str| {
        folder
            .trim_matches('"')
            .trim_start_matches("./")
            .trim_end_matches('/')
            .to_owned()
    };
    used.into_iter()
        .map(clean)
        .filter(|used| used != ".")
        .collect()
}

/// Returns the patterns for the members of a Node workspace.
pub(super) fn node_workspaces(place: &SurveyedFiles<'_>, unit: &BuildUnit) -> Vec<String> {
    if let Some(pnpm) = place.read_yaml(&unit.path_from_root("pnpm-workspace.yaml")) {
        return owned(strings_at(&pnpm, &["packages"]));
    }
    let manifest = place
        .read_json(&unit.path_from_root("package.json"))
        .unwrap_or_default();
    let mut globs = strings_at(&manifest, &["workspaces"]);
    if globs.is_empty() {
        globs = strings_at(&manifest, &["workspaces", "packages"]);
    }
    if !globs.is_empty() {
        return owned(globs);
    }
    let lerna = place
        .read_json(&unit.path_from_root("lerna.json"))
        .unwrap_or_default();
    owned(strings_at(&lerna, &["packages"]))
}

fn owned(list: Vec<&str>) -> Vec<String> {
    list.into_iter().map(str::to_owned).collect()
}

/// Returns true if a folder matches one of the patterns and no `!` pattern excludes it.
fn is_among(globs: &[String], folder: &str) -> bool {
    let (out, of): (Vec<_>, Vec<_>) = globs.iter().partition(|glob| glob.starts_with('!'));
    of.iter().any(|glob| path_matches(glob, folder))
        && !out.iter().any(|glob| path_matches(&glob[1..], folder))
}

/// Lists the packages below the root.
pub(super) fn list_packages(units: &[BuildUnit]) -> Vec<RepoPackage> {
    let below = units.iter().filter(|unit| !unit.folder.is_empty());
    let why = |unit: &BuildUnit| match &unit.member_of {
        Some(root) if root.is_empty() => "a member of the root's workspace".to_owned(),
        Some(root) => format!("a member of the workspace in `{root}`"),
        None => format!("has a `{}`", split_path(&unit.manifest).1),
    };
    below
        .map(|unit| RepoPackage {
            path: unit.folder.clone(),
            language: unit.kind.language(),
            why: why(unit),
        })
        .collect()
}

/// Detects the tools that build a monorepo.
pub(super) fn monorepo_tools(place: &SurveyedFiles<'_>) -> Vec<DetectedFeature> {
    let tools = [
        ("turbo.json", "turborepo"),
        ("nx.json", "nx"),
        ("lerna.json", "lerna"),
    ];
    let found = tools.iter().filter(|(file, _)| place.has_file(file));
    found
        .map(|(file, name)| DetectedFeature::new(*name, format!("there is a `{file}`")))
        .collect()
}

/// Returns true if a Python file contains tests, by its name.
pub(super) fn is_python_test(path: &str) -> bool {
    let (_, name) = split_path(path);
    let is_named = name.starts_with("test_") || name.ends_with("_test.py") || name == "tests.py";
    is_named && extension(name) == "py" && !is_third_party(path)
}
