//! What a repository is made of: manifests, and which of them belong together.

use serde_json::Value;

use codeteam_core::workflow::glob_matches;

use super::place::{SurveyedFiles, at, ending, is_sample, join, split, strings};
use super::python::is_test;
use super::{DetectedFeature, RepoPackage};

/// How many parts are looked at.
const MAX_UNITS: usize = 200;

/// How deep a manifest may lie.
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

/// A part of a repository with a manifest of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct BuildUnit {
    pub(super) kind: Ecosystem,
    /// Where it is; empty for the root.
    pub(super) folder: String,
    /// Its manifest.
    pub(super) manifest: String,
    /// The folder of the workspace it belongs to.
    pub(super) member_of: Option<String>,
}

impl BuildUnit {
    /// A command as it is typed at the root.
    pub(super) fn inside(&self, command: &str) -> String {
        if self.folder.is_empty() {
            command.to_owned()
        } else {
            format!("cd {} && {command}", quoted(&self.folder))
        }
    }

    /// A file of it, as a path from the root.
    pub(super) fn path(&self, name: &str) -> String {
        join(&self.folder, name)
    }
}

/// A word for the shell.
pub(super) fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./@+,:=".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) && !word.starts_with('-') {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

/// All parts, those of the root first.
pub(super) fn find(place: &SurveyedFiles<'_>) -> Vec<BuildUnit> {
    let mut units: Vec<BuildUnit> = Vec::new();
    for path in place.files() {
        let (folder, name) = split(path);
        let depth = folder.split('/').filter(|part| !part.is_empty()).count();
        let Some(kind) = kind_of(name) else { continue };
        if depth > MAX_DEPTH || (is_sample(path)) || folder.contains('\n') {
            continue;
        }
        if units.iter().any(|u| u.kind == kind && u.folder == folder) {
            continue;
        }
        if kind == Ecosystem::Python && !place.below(folder).any(is_python) {
            continue;
        }
        units.push(BuildUnit {
            kind,
            folder: folder.to_owned(),
            manifest: path.to_owned(),
            member_of: None,
        });
    }
    // A few scripts and their tests need no manifest to be a project.
    let is_near = |path: &&str| path.matches('/').count() <= 1;
    let mut tests = place.files().filter(|path| is_test(path)).filter(is_near);
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
        place.note(format!(
            "there are {} manifests; the first {MAX_UNITS} were looked at",
            units.len()
        ));
        units.truncate(MAX_UNITS);
    }
    belong(place, units)
}

fn is_python(path: &str) -> bool {
    ending(path) == "py" && !is_sample(path)
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

/// Says of each part where it belongs, and leaves out what is no part of the project.
fn belong(place: &SurveyedFiles<'_>, units: Vec<BuildUnit>) -> Vec<BuildUnit> {
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

/// What a manifest below another one of its kind is to it.
enum UnitRelation {
    /// A member of its workspace.
    Member,
    /// A project of its own.
    Apart,
    /// Something inside of it that is not built by itself.
    Nothing,
}

fn relation(place: &SurveyedFiles<'_>, above: &BuildUnit, unit: &BuildUnit) -> UnitRelation {
    let rest = unit.folder[above.folder.len()..].trim_start_matches('/');
    match unit.kind {
        // Both build everything below themselves.
        Ecosystem::Java => UnitRelation::Member,
        Ecosystem::Rust => {
            let own = place.toml(&unit.path("Cargo.toml"));
            let root = place.toml(&above.path("Cargo.toml"));
            let is_root = |manifest: &Option<Value>| {
                let manifest = manifest.as_ref();
                manifest.is_some_and(|m| m.get("workspace").is_some())
            };
            let excluded = root
                .as_ref()
                .map(|root| strings(root, &["workspace", "exclude"]));
            let is_excluded = excluded
                .into_iter()
                .flatten()
                .any(|glob| matches(glob, rest));
            if is_root(&own) || is_excluded {
                UnitRelation::Apart
            } else if is_root(&root) {
                UnitRelation::Member
            } else {
                UnitRelation::Nothing
            }
        }
        Ecosystem::Go => {
            let work = place.text(&above.path("go.work"));
            let used = work.as_deref().map(go_uses).unwrap_or_default();
            let only_pins_tools = matches!(split(rest).1, "tools" | "_tools" | "tool" | "hack");
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
            } else if place.first(&unit.folder, NODE_LOCKS).is_some() {
                UnitRelation::Apart
            } else {
                UnitRelation::Nothing
            }
        }
        Ecosystem::Python => {
            let root = place
                .toml(&above.path("pyproject.toml"))
                .unwrap_or_default();
            let workspace = ["tool", "uv", "workspace"];
            let globs = at(&root, &workspace).map(|w| strings(w, &["members"]));
            let globs: Vec<String> = owned(globs.unwrap_or_default());
            if is_among(&globs, rest) {
                UnitRelation::Member
            } else if place.first(&unit.folder, PYTHON_LOCKS).is_some() {
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

/// The folders that `go.work` uses.
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

/// The patterns of a Node workspace's members.
pub(super) fn node_workspaces(place: &SurveyedFiles<'_>, unit: &BuildUnit) -> Vec<String> {
    if let Some(pnpm) = place.yaml(&unit.path("pnpm-workspace.yaml")) {
        return owned(strings(&pnpm, &["packages"]));
    }
    let manifest = place.json(&unit.path("package.json")).unwrap_or_default();
    let mut globs = strings(&manifest, &["workspaces"]);
    if globs.is_empty() {
        globs = strings(&manifest, &["workspaces", "packages"]);
    }
    if !globs.is_empty() {
        return owned(globs);
    }
    let lerna = place.json(&unit.path("lerna.json")).unwrap_or_default();
    owned(strings(&lerna, &["packages"]))
}

fn owned(list: Vec<&str>) -> Vec<String> {
    list.into_iter().map(str::to_owned).collect()
}

/// Whether a folder is among those that patterns name, and none of `!` takes it out again.
fn is_among(globs: &[String], folder: &str) -> bool {
    let (out, of): (Vec<_>, Vec<_>) = globs.iter().partition(|glob| glob.starts_with('!'));
    of.iter().any(|glob| matches(glob, folder))
        && !out.iter().any(|glob| matches(&glob[1..], folder))
}

fn matches(glob: &str, folder: &str) -> bool {
    let glob = glob.trim_start_matches("./").trim_end_matches('/');
    glob == folder || glob_matches(glob, folder)
}

/// The packages there are, if there is more than one thing.
pub(super) fn packages(units: &[BuildUnit]) -> Vec<RepoPackage> {
    let below = units.iter().filter(|unit| !unit.folder.is_empty());
    let why = |unit: &BuildUnit| match &unit.member_of {
        Some(root) if root.is_empty() => "a member of the root's workspace".to_owned(),
        Some(root) => format!("a member of the workspace in `{root}`"),
        None => format!("has a `{}`", split(&unit.manifest).1),
    };
    below
        .map(|unit| RepoPackage {
            path: unit.folder.clone(),
            language: unit.kind.language(),
            why: why(unit),
        })
        .collect()
}

/// What builds a monorepo.
pub(super) fn tools(place: &SurveyedFiles<'_>) -> Vec<DetectedFeature> {
    let tools = [
        ("turbo.json", "turborepo"),
        ("nx.json", "nx"),
        ("lerna.json", "lerna"),
    ];
    let found = tools.iter().filter(|(file, _)| place.has(file));
    found
        .map(|(file, name)| DetectedFeature::new(*name, format!("there is a `{file}`")))
        .collect()
}
