//! The files that configure checks, and how much of each matters.

use super::{make, parts};
use crate::honesty::HonestySubject;

/// How much of a file configures checks.
pub(super) enum GateFileScope {
    /// The whole file.
    Whole,
    /// The parts that this function extracts; each is compared separately.
    Some(fn(&str, &HonestySubject<'_>) -> Vec<(String, String)>),
    /// Hooks that change what is run.
    Hooks,
    /// The whole file, for checks that run elsewhere.
    Elsewhere,
}

/// Patterns of file names, how much of each file counts, and the tools that read it; `*` is any
/// tool.
pub(super) const CONFIGURE: &[(&str, GateFileScope, &[&str])] = &[
    ("pytest.ini", GateFileScope::Whole, &["pytest", "py.test"]),
    (".pytest.ini", GateFileScope::Whole, &["pytest", "py.test"]),
    ("conftest.py", GateFileScope::Hooks, &["pytest", "py.test"]),
    ("tox.ini", GateFileScope::Some(parts::ini), &["*"]),
    ("setup.cfg", GateFileScope::Some(parts::ini), &["*"]),
    (
        "pyproject.toml",
        GateFileScope::Some(parts::pyproject),
        &["*"],
    ),
    ("noxfile.py", GateFileScope::Whole, &["nox"]),
    ("pytest.toml", GateFileScope::Whole, &["pytest", "py.test"]),
    (".pytest.toml", GateFileScope::Whole, &["pytest", "py.test"]),
    ("tox.toml", GateFileScope::Whole, &["tox"]),
    (".coveragerc", GateFileScope::Whole, &["pytest", "coverage"]),
    ("ruff.toml", GateFileScope::Whole, &["ruff"]),
    (".ruff.toml", GateFileScope::Whole, &["ruff"]),
    ("mypy.ini", GateFileScope::Whole, &["mypy"]),
    (".mypy.ini", GateFileScope::Whole, &["mypy"]),
    (".flake8", GateFileScope::Whole, &["flake8"]),
    (".pylintrc", GateFileScope::Whole, &["pylint"]),
    ("pylintrc", GateFileScope::Whole, &["pylint"]),
    ("pyrightconfig.json", GateFileScope::Whole, &["pyright"]),
    ("package.json", GateFileScope::Some(parts::package), &["*"]),
    ("jest.config.*", GateFileScope::Whole, &["jest"]),
    ("babel.config.*", GateFileScope::Whole, &["jest", "babel"]),
    (".babelrc*", GateFileScope::Whole, &["jest", "babel"]),
    ("vitest.config.*", GateFileScope::Whole, &["vitest"]),
    ("vitest.workspace.*", GateFileScope::Whole, &["vitest"]),
    ("vite.config.*", GateFileScope::Whole, &["vitest", "vite"]),
    ("ava.config.*", GateFileScope::Whole, &["ava"]),
    (".nycrc*", GateFileScope::Whole, &["nyc"]),
    (".c8rc*", GateFileScope::Whole, &["c8"]),
    (".npmrc", GateFileScope::Whole, &["npm", "npx", "pnpm"]),
    (".yarnrc*", GateFileScope::Whole, &["yarn"]),
    (".pnpmfile.*", GateFileScope::Whole, &["pnpm"]),
    ("pnpm-workspace.yaml", GateFileScope::Whole, &["pnpm"]),
    ("deno.json*", GateFileScope::Some(parts::deno), &["deno"]),
    ("nx.json", GateFileScope::Whole, &["nx"]),
    ("turbo.json*", GateFileScope::Whole, &["turbo"]),
    (".mocharc*", GateFileScope::Whole, &["mocha"]),
    ("karma.conf.*", GateFileScope::Whole, &["karma"]),
    ("playwright.config.*", GateFileScope::Whole, &["playwright"]),
    ("cypress.config.*", GateFileScope::Whole, &["cypress"]),
    (
        "tsconfig*.json",
        GateFileScope::Whole,
        &["tsc", "ts-node", "vue-tsc"],
    ),
    (".eslintrc*", GateFileScope::Whole, &["eslint"]),
    ("eslint.config.*", GateFileScope::Whole, &["eslint"]),
    (".eslintignore", GateFileScope::Whole, &["eslint"]),
    (".prettierrc*", GateFileScope::Whole, &["prettier"]),
    (".prettierignore", GateFileScope::Whole, &["prettier"]),
    ("biome.json*", GateFileScope::Whole, &["biome"]),
    ("Cargo.toml", GateFileScope::Some(parts::cargo), &["cargo"]),
    (".cargo/config*", GateFileScope::Whole, &["cargo"]),
    ("rust-toolchain*", GateFileScope::Whole, &["cargo"]),
    ("clippy.toml", GateFileScope::Whole, &["clippy"]),
    (".clippy.toml", GateFileScope::Whole, &["clippy"]),
    ("rustfmt.toml", GateFileScope::Whole, &["fmt", "rustfmt"]),
    (".rustfmt.toml", GateFileScope::Whole, &["fmt", "rustfmt"]),
    (".config/nextest.toml", GateFileScope::Whole, &["nextest"]),
    (".golangci.*", GateFileScope::Whole, &["golangci-lint"]),
    ("phpunit.xml*", GateFileScope::Whole, &["phpunit"]),
    (".rspec", GateFileScope::Whole, &["rspec"]),
    (
        "Makefile",
        GateFileScope::Some(make::parse_parts),
        &["make"],
    ),
    (
        "makefile",
        GateFileScope::Some(make::parse_parts),
        &["make"],
    ),
    (
        "GNUmakefile",
        GateFileScope::Some(make::parse_parts),
        &["make"],
    ),
    // Makefiles include these; which one includes which is not resolved.
    ("*.mk", GateFileScope::Whole, &["make", "gmake"]),
    (
        "justfile",
        GateFileScope::Some(make::parse_parts),
        &["just"],
    ),
    (
        "Justfile",
        GateFileScope::Some(make::parse_parts),
        &["just"],
    ),
    ("Taskfile.y*ml", GateFileScope::Whole, &["task"]),
    ("taskfile.y*ml", GateFileScope::Whole, &["task"]),
    ("Taskfile.dist.y*ml", GateFileScope::Whole, &["task"]),
    (
        "build.gradle*",
        GateFileScope::Some(parts::gradle),
        &["gradle", "gradlew"],
    ),
    (
        "settings.gradle*",
        GateFileScope::Some(parts::gradle),
        &["gradle", "gradlew"],
    ),
    (
        "gradle.properties",
        GateFileScope::Whole,
        &["gradle", "gradlew"],
    ),
    ("pom.xml", GateFileScope::Some(parts::pom), &["mvn", "mvnw"]),
    (".mvn/**", GateFileScope::Whole, &["mvn", "mvnw"]),
    (
        ".pre-commit-config.yaml",
        GateFileScope::Whole,
        &["pre-commit"],
    ),
    (
        ".github/workflows/**",
        GateFileScope::Elsewhere,
        &["GitHub"],
    ),
    (".gitlab-ci.yml", GateFileScope::Elsewhere, &["GitLab"]),
    (".codeteam/**", GateFileScope::Whole, &["*"]),
];
