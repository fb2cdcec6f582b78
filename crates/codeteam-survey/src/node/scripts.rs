//! Turns the scripts of a package into checks.

use super::manager::{NodePackageManager, package_scripts};
use super::{NodePackage, modifies_files, script_purpose};
use crate::ci::{CiCommand, CiCommands};
use crate::surveyed_files::{SurveyedFiles, extension, is_third_party};
use crate::{CheckPurpose, SurveyDraft};

/// The largest number of packages of a workspace that get their own check.
const MAX_PACKAGES: usize = 6;

/// Names of scripts that run all tests without a browser.
const WHOLE: &[&str] = &[
    "test:unit",
    "test-unit",
    "unit",
    "test:ci",
    "test-ci",
    "test:run",
    "test:spec",
    "test:app",
    "test:jest",
    "test:vitest",
    "tests",
    "test:coverage",
    "test-coverage",
];

/// A script that was chosen as a check.
struct ChosenScript {
    script: String,
    purpose: CheckPurpose,
    command: String,
    why: String,
}

/// Proposes checks: the root's scripts, and for purposes where it has none, those of the
/// workspace's packages.
pub(super) fn propose_checks(
    place: &SurveyedFiles<'_>,
    root: &NodePackage<'_>,
    members: &[NodePackage<'_>],
    manager: &NodePackageManager,
    ci: &CiCommands,
    sheet: &mut SurveyDraft,
) {
    let mut chosen = choose_package_scripts(place, root, manager, ci);
    chosen.retain(|one| {
        let unfit = forwarded_script(root, members, one);
        if let Some((member, why)) = unfit {
            let script = &one.script;
            place.add_note(format!(
                "the script `{script}` of `{member}` {why}, so it is not proposed as a check"
            ));
        }
        unfit.is_none()
    });
    for one in &chosen {
        sheet.propose_check(root.unit, one.purpose, &one.command, one.why.clone());
    }
    for purpose in [
        CheckPurpose::Format,
        CheckPurpose::Lint,
        CheckPurpose::Types,
        CheckPurpose::Build,
        CheckPurpose::Tests,
    ] {
        if chosen.iter().any(|one| one.purpose == purpose) {
            continue;
        }
        propose_member_checks(place, root, members, manager, ci, purpose, sheet);
    }
}

/// Returns the package whose script makes the root's script of the same name unsuitable, and the
/// reason. The root's script often only runs those of its packages.
fn forwarded_script<'m>(
    root: &NodePackage<'_>,
    members: &'m [NodePackage<'_>],
    one: &ChosenScript,
) -> Option<(&'m str, &'static str)> {
    let words = [
        "--filter",
        " -r",
        "--recursive",
        "workspace",
        "turbo",
        "nx ",
        "lerna",
    ];
    let own = package_scripts(root)
        .into_iter()
        .find(|(name, _)| *name == one.script);
    let (_, body) = own?;
    if !words.iter().any(|word| body.contains(word)) {
        return None;
    }
    members.iter().find_map(|member| {
        let mut scripts = package_scripts(member).into_iter();
        let (_, body) = scripts.find(|(name, _)| *name == one.script)?;
        let folder = member.unit.folder.as_str();
        match one.purpose {
            CheckPurpose::Tests if needs_browser(body) => {
                Some((folder, "needs a browser or a server"))
            }
            CheckPurpose::Tests => None,
            _ => modifies_files(body).then_some((folder, "changes what it looks at")),
        }
    })
}

/// Chooses the checks of one package from its own scripts.
fn choose_package_scripts(
    place: &SurveyedFiles<'_>,
    package: &NodePackage<'_>,
    manager: &NodePackageManager,
    ci: &CiCommands,
) -> Vec<ChosenScript> {
    let mut chosen: Vec<ChosenScript> = Vec::new();
    let scripts = package_scripts(package);
    let file = &package.unit.manifest;
    for (name, body) in &scripts {
        let Some(purpose) = script_purpose(name, body) else {
            continue;
        };
        // The first of several is enough, unless CI runs another one.
        let run = ci_command_for(ci, package, name);
        let known = chosen.iter().position(|one| one.purpose == purpose);
        let one = ChosenScript {
            script: (*name).to_owned(),
            purpose,
            command: manager.name.script_command(name),
            why: run.map_or_else(
                || format!("`{file}` has the script `{name}`"),
                CiCommand::reason,
            ),
        };
        match known {
            None => chosen.push(one),
            Some(known) if run.is_some() || is_plainer(name, &chosen[known].script) => {
                chosen[known] = one;
            }
            Some(_) => {}
        }
    }
    let has_types = chosen.iter().any(|one| one.purpose == CheckPurpose::Types);
    let build = scripts
        .iter()
        .find(|(name, body)| *name == "build" && checks_types(body));
    if let Some((name, _)) = build.filter(|_| !has_types) {
        chosen.push(ChosenScript {
            script: (*name).to_owned(),
            purpose: CheckPurpose::Build,
            command: manager.name.script_command(name),
            why: format!("`{file}` checks types with its script `{name}`"),
        });
    }
    chosen.extend(choose_test_script(place, package, &scripts, manager, ci));
    chosen
}

/// Returns true if a script is the usual one for its purpose and the other one is about tests.
fn is_plainer(name: &str, other: &str) -> bool {
    other.starts_with("test") && !name.starts_with("test")
}

/// Returns true if a build starts with the type checker.
fn checks_types(body: &str) -> bool {
    let first = body.split(['&', ';']).next().unwrap_or_default().trim();
    matches!(first.split(' ').next(), Some("tsc" | "vue-tsc"))
}

fn choose_test_script(
    place: &SurveyedFiles<'_>,
    package: &NodePackage<'_>,
    scripts: &[(&str, &str)],
    manager: &NodePackageManager,
    ci: &CiCommands,
) -> Option<ChosenScript> {
    let file = &package.unit.manifest;
    let fits = |name: &str| {
        let found = scripts.iter().find(|(known, _)| *known == name);
        found.filter(|(_, body)| !needs_browser(body))
    };
    let chosen = |(name, body): &(&str, &str), why: String| ChosenScript {
        script: (*name).to_owned(),
        purpose: CheckPurpose::Tests,
        command: run_once_command(manager, name, body),
        why,
    };
    let own = fits("test");
    if let Some(own) = own
        && let Some(run) = ci_command_for(ci, package, "test")
    {
        return Some(chosen(own, run.reason()));
    }
    // If CI runs another script for all tests, that one is better.
    let others = WHOLE.iter().filter_map(|name| fits(name));
    let mut run = others
        .clone()
        .filter_map(|other| Some((other, ci_command_for(ci, package, other.0)?)));
    if let Some((other, run)) = run.next() {
        return Some(chosen(other, run.reason()));
    }
    if let Some(one) = own.or_else(|| others.clone().next()) {
        return Some(chosen(one, format!("`{file}` has the script `{}`", one.0)));
    }
    // There is a placeholder or nothing: use the runner itself, if there are tests to run.
    let runners = [("vitest", "vitest run"), ("jest", "jest --ci")];
    let (runner, line) = runners
        .iter()
        .find(|(runner, _)| package.depends_on(runner))?;
    let mut files = place.files_below(&package.unit.folder);
    let test = files.find(|path| is_test(path))?;
    Some(ChosenScript {
        script: String::new(),
        purpose: CheckPurpose::Tests,
        command: manager.name.program_command(line),
        why: format!("`{file}` names `{runner}`, and there are tests, such as `{test}`"),
    })
}

/// Returns the CI command that runs a script of this package.
fn ci_command_for<'c>(
    ci: &'c CiCommands,
    package: &'c NodePackage<'_>,
    script: &str,
) -> Option<&'c CiCommand> {
    ci.commands_in(&package.unit.folder).find(|run| {
        let words = run.words();
        match words[..] {
            ["npm" | "pnpm" | "yarn" | "bun", "run", name, ..]
            | ["npm" | "pnpm" | "yarn", name, ..] => name == script,
            _ => false,
        }
    })
}

/// Returns a command that runs a script once: without watching files or waiting for keys.
fn run_once_command(manager: &NodePackageManager, name: &str, body: &str) -> String {
    let mut words: Vec<&str> = body.split_whitespace().collect();
    let is_one = !body.contains(['&', '|', ';', '$', '"', '\'', '>', '<', '(', '`']);
    match words.first() {
        Some(&"vitest") if is_one => {
            let ends = words.iter().any(|word| matches!(*word, "run" | "--run"));
            if ends {
                return manager.name.script_command(name);
            }
            words.retain(|word| !matches!(*word, "--watch" | "-w" | "watch" | "dev" | "--ui"));
            words.insert(1, "run");
            manager.name.program_command(&words.join(" "))
        }
        Some(&"jest") if is_one => {
            words.retain(|word| !matches!(*word, "--watch" | "--watchAll"));
            if !words.contains(&"--ci") {
                words.push("--ci");
            }
            manager.name.program_command(&words.join(" "))
        }
        Some(&"react-scripts") => format!("CI=true {}", manager.name.script_command(name)),
        _ => manager.name.script_command(name),
    }
}

/// Returns true if a script drives a browser, which is not available.
fn needs_browser(body: &str) -> bool {
    let words = [
        "playwright",
        "cypress",
        "wdio",
        "e2e",
        "testcafe",
        "puppeteer",
    ];
    words.iter().any(|word| body.contains(word))
}

/// Returns true if a file contains tests, by its name.
fn is_test(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let endings = ["js", "jsx", "ts", "tsx", "mjs", "mts", "cjs", "cts"];
    let is_named = [".test.", ".spec."].iter().any(|mark| name.contains(mark));
    let is_there = path.contains("__tests__/");
    endings.contains(&extension(name)) && (is_named || is_there) && !is_third_party(path)
}

/// Proposes the checks of a workspace's packages for one purpose.
fn propose_member_checks(
    place: &SurveyedFiles<'_>,
    root: &NodePackage<'_>,
    members: &[NodePackage<'_>],
    manager: &NodePackageManager,
    ci: &CiCommands,
    wanted: CheckPurpose,
    sheet: &mut SurveyDraft,
) {
    let mut found: Vec<(&NodePackage<'_>, ChosenScript)> = Vec::new();
    for member in members {
        let chosen = choose_package_scripts(place, member, manager, ci);
        found.extend(
            chosen
                .into_iter()
                .find(|one| one.purpose == wanted)
                .map(|one| (member, one)),
        );
    }
    if found.is_empty() {
        return;
    }
    let script = match wanted {
        CheckPurpose::Tests => "test",
        CheckPurpose::Lint => "lint",
        CheckPurpose::Types => "typecheck",
        CheckPurpose::Format | CheckPurpose::Build => "",
    };
    let plain = manager.name.script_command(script);
    // A placeholder in one package would make the command fail for all.
    let has_placeholder = members.iter().any(|member| {
        let body = member.manifest.pointer(&format!("/scripts/{script}"));
        body.and_then(serde_json::Value::as_str)
            .is_some_and(|body| body.contains("no test specified"))
    });
    let is_same = found.iter().all(|(_, one)| one.command == plain) && !has_placeholder;
    if let Some(command) = manager
        .name
        .workspace_command(script)
        .filter(|_| is_same && found.len() > 1)
    {
        let why = format!(
            "{} packages of the workspace have the script `{script}`",
            found.len()
        );
        sheet.propose_check(root.unit, wanted, &command, why);
        return;
    }
    if found.len() > MAX_PACKAGES {
        place.add_note(format!(
            "{} packages have {} of their own; the first {MAX_PACKAGES} are proposed",
            found.len(),
            wanted.as_str()
        ));
    }
    for (member, one) in found.into_iter().take(MAX_PACKAGES) {
        sheet.propose_check(member.unit, wanted, &one.command, one.why);
    }
}
