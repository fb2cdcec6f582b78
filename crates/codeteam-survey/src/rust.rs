//! Surveys Rust crates and proposes cargo's checks.

use serde_json::Value;

use super::ci::{CiCommand, CiCommands};
use super::surveyed_files::{SurveyedFiles, strings_at, value_at};
use super::units::{BuildUnit, Ecosystem};
use super::{CheckPurpose, DetectedFeature, SurveyDraft};

/// Crates, the framework each one is, and the pack that it suggests.
const CRATES: &[(&str, &str, &str)] = &[
    ("axum", "axum", "api"),
    ("actix-web", "actix", "api"),
    ("rocket", "rocket", "api"),
    ("warp", "warp", "api"),
    ("poem", "poem", "api"),
    ("tonic", "tonic", "api"),
    ("clap", "clap", "cli"),
    ("argh", "argh", "cli"),
    ("lexopt", "lexopt", "cli"),
    ("bpaf", "bpaf", "cli"),
    ("yew", "yew", "web"),
    ("leptos", "leptos", "web"),
    ("dioxus", "dioxus", "web"),
    ("anchor-lang", "anchor", "contracts"),
    ("ink", "ink!", "contracts"),
];

pub(super) fn survey_unit(
    place: &SurveyedFiles<'_>,
    unit: &BuildUnit,
    all: &[BuildUnit],
    ci: &CiCommands,
    sheet: &mut SurveyDraft,
) {
    let manifest = place.read_toml(&unit.manifest).unwrap_or_default();
    let name = &unit.manifest;
    sheet
        .managers
        .push(DetectedFeature::new("cargo", format!("there is `{name}`")));
    sheet
        .packs
        .push(DetectedFeature::new("rust", format!("there is `{name}`")));
    let members = all.iter().filter(|other| {
        other.kind == Ecosystem::Rust && other.member_of.as_deref() == Some(&unit.folder)
    });
    let mut has_dependencies = false;
    for member in std::iter::once(unit).chain(members) {
        let Some(manifest) = place.read_toml(&member.manifest) else {
            continue;
        };
        let tables = ["dependencies", "dev-dependencies", "build-dependencies"];
        has_dependencies |= tables
            .iter()
            .any(|table| is_from_elsewhere(&manifest, table));
        let has_binary =
            manifest.get("bin").is_some() || place.has_file(&member.path_from_root("src/main.rs"));
        for (crate_name, framework, pack) in CRATES {
            // A crate of the repository itself is made here, not used.
            let named = value_at(&manifest, &["dependencies", crate_name]);
            let is_named = named.is_some_and(|one| one.get("path").is_none());
            if is_named && (*pack != "cli" || has_binary) {
                let why = format!("`{}` names `{crate_name}`", member.manifest);
                if *pack != "cli" {
                    sheet
                        .frameworks
                        .push(DetectedFeature::new(*framework, why.clone()));
                }
                sheet.packs.push(DetectedFeature::new(*pack, why));
            }
        }
    }
    let is_workspace = manifest.get("workspace").is_some();
    propose_style(place, unit, ci, is_workspace, sheet);
    propose_tests(unit, ci, is_workspace, sheet);
    if has_dependencies {
        sheet.propose_cache(
            "~/.cargo/registry",
            false,
            "cargo finds crates there without a network",
        );
        let lock = unit.path_from_root("Cargo.lock");
        if !place.has_file(&lock) {
            place.add_note(format!(
                "`{lock}` is not tracked: without a network cargo may find no versions to build with; \
                 commit it, or name it in `.worktreeinclude`"
            ));
        }
    }
}

/// Returns true if a table names a crate that is not part of the repository itself.
fn is_from_elsewhere(manifest: &Value, table: &str) -> bool {
    let Some(table) = manifest.get(table).and_then(Value::as_object) else {
        return false;
    };
    table.values().any(|one| one.get("path").is_none())
}

fn propose_style(
    place: &SurveyedFiles<'_>,
    unit: &BuildUnit,
    ci: &CiCommands,
    is_workspace: bool,
    sheet: &mut SurveyDraft,
) {
    let all = if is_workspace { " --all" } else { "" };
    let toolchain = place.first_existing(&unit.folder, &["rust-toolchain.toml", "rust-toolchain"]);
    let components = toolchain.as_ref().and_then(|file| place.read_toml(file));
    let has = |component: &str| {
        let components = components.as_ref();
        let named = components.map(|t| strings_at(t, &["toolchain", "components"]));
        named.is_some_and(|named| named.contains(&component))
    };
    let said = |component: &str| {
        let file = toolchain.as_deref().unwrap_or_default();
        format!("`{file}` names `{component}`")
    };
    let run = plainest_command(ci, unit, &["cargo", "fmt"], |run| {
        run.words()
            .iter()
            .any(|word| *word == "--check" || *word == "-check")
    });
    let file = place.first_existing(&unit.folder, &["rustfmt.toml", ".rustfmt.toml"]);
    let why = run
        .map(CiCommand::reason)
        .or_else(|| file.map(|file| format!("there is `{file}`")))
        .or_else(|| ci.reason_for_use("cargo fmt"))
        .or_else(|| has("rustfmt").then(|| said("rustfmt")));
    if let Some(why) = why {
        sheet
            .linters
            .push(DetectedFeature::new("rustfmt", why.clone()));
        let guess = format!("cargo fmt{all} --check");
        let command = run.map_or(guess, |run| run.command.clone());
        sheet.propose_check(unit, CheckPurpose::Format, &command, why);
    }
    let run = plainest_command(ci, unit, &["cargo", "clippy"], |_| true);
    let file = place.first_existing(&unit.folder, &["clippy.toml", ".clippy.toml"]);
    let manifest = place.read_toml(&unit.manifest).unwrap_or_default();
    let lints = [&["lints", "clippy"][..], &["workspace", "lints", "clippy"]];
    let has_lints = lints.iter().any(|path| value_at(&manifest, path).is_some());
    let why = run
        .map(CiCommand::reason)
        .or_else(|| file.map(|file| format!("there is `{file}`")))
        .or_else(|| has_lints.then(|| format!("`{}` has lints for it", unit.manifest)))
        .or_else(|| ci.reason_for_use("cargo clippy"))
        .or_else(|| has("clippy").then(|| said("clippy")));
    if let Some(why) = why {
        sheet
            .linters
            .push(DetectedFeature::new("clippy", why.clone()));
        // The project decides whether warnings are errors; do not guess.
        let workspace = if is_workspace { " --workspace" } else { "" };
        let guess = format!("cargo clippy{workspace} --all-targets");
        let command = run.map_or(guess, |run| run.command.clone());
        sheet.propose_check(unit, CheckPurpose::Lint, &command, why);
    }
}

fn propose_tests(unit: &BuildUnit, ci: &CiCommands, is_workspace: bool, sheet: &mut SurveyDraft) {
    let is_whole = |run: &CiCommand| {
        let words = run.words();
        let has = |options: &[&str]| words.iter().any(|word| options.contains(word));
        let is_part = has(&[
            "--doc",
            "--no-run",
            "-p",
            "--package",
            "--manifest-path",
            "--ignored",
        ]);
        // In a workspace with a package at its root, `cargo test` tests only that package.
        !is_part && (!is_workspace || has(&["--workspace", "--all"]))
    };
    let run = plainest_command(ci, unit, &["cargo", "test"], is_whole);
    let (command, why) = match run {
        Some(run) => (run.command.clone(), run.reason()),
        None if is_workspace => (
            "cargo test --workspace".to_owned(),
            format!("`{}` is a cargo workspace", unit.manifest),
        ),
        None => (
            "cargo test".to_owned(),
            format!("there is `{}`", unit.manifest),
        ),
    };
    sheet
        .runners
        .push(DetectedFeature::new("cargo test", why.clone()));
    sheet.propose_check(unit, CheckPurpose::Tests, &command, why);
}

/// Returns the plainest CI command that begins like this: without another target, and without
/// selected features if there is such a one.
fn plainest_command<'c>(
    ci: &'c CiCommands,
    unit: &'c BuildUnit,
    start: &[&str],
    fits: impl Fn(&CiCommand) -> bool,
) -> Option<&'c CiCommand> {
    let is_plain = |run: &&CiCommand| {
        let words = run.words();
        !words.iter().any(|word| {
            word.starts_with("--target")
                || word.starts_with("--manifest-path")
                || word.starts_with('+')
                || word.starts_with("-Z")
        })
    };
    let narrow = |run: &&CiCommand| {
        let words = run.words();
        let is_narrow = |word: &&&str| {
            matches!(
                **word,
                "--no-default-features" | "--features" | "--release" | "--lib"
            )
        };
        words.iter().filter(is_narrow).count()
    };
    ci.commands_in(&unit.folder)
        .filter(|run| run.starts_with(start) && fits(run))
        .filter(is_plain)
        .min_by_key(narrow)
}
