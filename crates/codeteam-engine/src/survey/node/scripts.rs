//! From a package's scripts to checks.

use super::manager::{Manager, scripts};
use super::{Package, purpose};
use crate::survey::ci::{Ci, Run};
use crate::survey::place::Place;
use crate::survey::{Purpose, Sheet};

/// How many packages of a workspace get a check of their own.
const MAX_PACKAGES: usize = 6;

/// A script that serves as a check.
struct Chosen {
    purpose: Purpose,
    command: String,
    why: String,
}

/// Proposes checks: the root's scripts, and where it has none those of the workspace's packages.
pub(super) fn propose(
    place: &Place<'_>,
    root: &Package<'_>,
    members: &[Package<'_>],
    manager: &Manager,
    ci: &Ci,
    sheet: &mut Sheet,
) {
    let mut chosen = of_package(place, root, manager, ci);
    // A root's script that runs those of its packages is as good as they are.
    let own = scripts(root).into_iter().find(|(name, _)| *name == "test");
    let is_passed_on = own.is_some_and(|(_, body)| {
        [
            "--filter",
            "-r ",
            "--recursive",
            "workspace",
            "turbo",
            "nx ",
            "lerna",
        ]
        .iter()
        .any(|word| body.contains(word))
    });
    let in_browser = members.iter().find(|member| {
        let mut scripts = scripts(member).into_iter();
        scripts.any(|(name, body)| name == "test" && needs_browser(body))
    });
    if let (true, Some(member)) = (is_passed_on, in_browser) {
        chosen.retain(|one| one.purpose != Purpose::Tests);
        place.note(format!(
            "the tests of `{}` need a browser or a server, so they are no check here",
            member.unit.folder
        ));
    }
    for one in &chosen {
        sheet.check(root.unit, one.purpose, &one.command, one.why.clone());
    }
    for purpose in [
        Purpose::Format,
        Purpose::Lint,
        Purpose::Types,
        Purpose::Tests,
    ] {
        if chosen.iter().any(|one| one.purpose == purpose) {
            continue;
        }
        of_members(place, root, members, manager, ci, purpose, sheet);
    }
}

/// The checks of one package, by its own scripts.
fn of_package(place: &Place<'_>, package: &Package<'_>, manager: &Manager, ci: &Ci) -> Vec<Chosen> {
    let mut chosen: Vec<Chosen> = Vec::new();
    let scripts = scripts(package);
    let file = &package.unit.manifest;
    for (name, body) in &scripts {
        let Some(purpose) = purpose(name, body) else {
            continue;
        };
        // The first of several is enough, unless another is what CI runs.
        let run = run_of(ci, package, name);
        let known = chosen.iter().position(|one| one.purpose == purpose);
        let one = Chosen {
            purpose,
            command: manager.name.script(name),
            why: run.map_or_else(|| format!("`{file}` has the script `{name}`"), Run::why),
        };
        match known {
            None => chosen.push(one),
            Some(known) if run.is_some() => chosen[known] = one,
            Some(_) => {}
        }
    }
    let has_types = chosen.iter().any(|one| one.purpose == Purpose::Types);
    let build = scripts
        .iter()
        .find(|(name, body)| *name == "build" && checks_types(body));
    if let Some((name, _)) = build.filter(|_| !has_types) {
        chosen.push(Chosen {
            purpose: Purpose::Build,
            command: manager.name.script(name),
            why: format!("`{file}` checks types with its script `{name}`"),
        });
    }
    chosen.extend(tests(place, package, &scripts, manager, ci));
    chosen
}

/// Whether a build begins with the type checker.
fn checks_types(body: &str) -> bool {
    let first = body.split(['&', ';']).next().unwrap_or_default().trim();
    matches!(first.split(' ').next(), Some("tsc" | "vue-tsc"))
}

fn tests(
    place: &Place<'_>,
    package: &Package<'_>,
    scripts: &[(&str, &str)],
    manager: &Manager,
    ci: &Ci,
) -> Option<Chosen> {
    let file = &package.unit.manifest;
    let own = scripts.iter().find(|(name, _)| *name == "test");
    let is_run = |name: &str| run_of(ci, package, name);
    if let Some((name, body)) = own.filter(|(_, body)| !needs_browser(body)) {
        // CI may run another script, which then is the better one; but not if it runs this one too.
        let others = scripts.iter().filter(|(other, body)| {
            other.starts_with("test") && *other != "test" && !needs_browser(body)
        });
        let mut others = others.filter_map(|(other, body)| Some((*other, *body, is_run(other)?)));
        if is_run(name).is_none()
            && let Some((other, body, run)) = others.next()
        {
            return Some(Chosen {
                purpose: Purpose::Tests,
                command: once(manager, other, body),
                why: run.why(),
            });
        }
        return Some(Chosen {
            purpose: Purpose::Tests,
            command: once(manager, name, body),
            why: format!("`{file}` has the script `test`"),
        });
    }
    let unit = scripts.iter().find(|(name, body)| {
        matches!(
            *name,
            "test:unit" | "test-unit" | "unit" | "test:ci" | "test:run" | "tests"
        ) && !needs_browser(body)
    });
    if let Some((name, body)) = unit {
        return Some(Chosen {
            purpose: Purpose::Tests,
            command: once(manager, name, body),
            why: format!("`{file}` has the script `{name}`"),
        });
    }
    // A placeholder, or nothing: the runner itself, if there is something for it to run.
    let runners = [("vitest", "vitest run"), ("jest", "jest --ci")];
    let (runner, line) = runners.iter().find(|(runner, _)| package.names(runner))?;
    let mut files = place.below(&package.unit.folder);
    let test = files.find(|path| is_test(path))?;
    Some(Chosen {
        purpose: Purpose::Tests,
        command: manager.name.program(line),
        why: format!("`{file}` names `{runner}`, and there are tests, such as `{test}`"),
    })
}

/// The command of CI that runs a script of this package.
fn run_of<'c>(ci: &'c Ci, package: &'c Package<'_>, script: &str) -> Option<&'c Run> {
    ci.of(&package.unit.folder).find(|run| {
        let words = run.words();
        match words[..] {
            ["npm" | "pnpm" | "yarn" | "bun", "run", name, ..]
            | ["npm" | "pnpm" | "yarn", name, ..] => name == script,
            _ => false,
        }
    })
}

/// Runs a script so that it ends: not watching, not waiting for keys.
fn once(manager: &Manager, name: &str, body: &str) -> String {
    let mut words: Vec<&str> = body.split_whitespace().collect();
    let is_one = !body.contains(['&', '|', ';', '$', '"', '\'', '>', '<', '(', '`']);
    match words.first() {
        Some(&"vitest") if is_one => {
            let is_once = words.iter().any(|word| matches!(*word, "run" | "--run"));
            if is_once {
                return manager.name.script(name);
            }
            words.retain(|word| !matches!(*word, "--watch" | "-w" | "watch" | "dev" | "--ui"));
            words.insert(1, "run");
            manager.name.program(&words.join(" "))
        }
        Some(&"jest") if is_one => {
            words.retain(|word| !matches!(*word, "--watch" | "--watchAll"));
            if !words.contains(&"--ci") {
                words.push("--ci");
            }
            manager.name.program(&words.join(" "))
        }
        Some(&"react-scripts") => format!("CI=true {}", manager.name.script(name)),
        _ => manager.name.script(name),
    }
}

/// Whether a script drives a browser, which is not there.
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

/// Whether a file holds tests, by its name.
fn is_test(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    [".test.", ".spec."].iter().any(|mark| name.contains(mark)) && !path.contains("node_modules/")
        || path.contains("__tests__/")
}

/// The checks of a workspace's packages for one purpose.
fn of_members(
    place: &Place<'_>,
    root: &Package<'_>,
    members: &[Package<'_>],
    manager: &Manager,
    ci: &Ci,
    wanted: Purpose,
    sheet: &mut Sheet,
) {
    let mut found: Vec<(&Package<'_>, Chosen)> = Vec::new();
    for member in members {
        let chosen = of_package(place, member, manager, ci);
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
        Purpose::Tests => "test",
        Purpose::Lint => "lint",
        Purpose::Types => "typecheck",
        Purpose::Format | Purpose::Build => "",
    };
    let plain = manager.name.script(script);
    // A placeholder in one of them would fail in all.
    let has_placeholder = members.iter().any(|member| {
        let body = member.manifest.pointer(&format!("/scripts/{script}"));
        body.and_then(serde_json::Value::as_str)
            .is_some_and(|body| body.contains("no test specified"))
    });
    let is_same = found.iter().all(|(_, one)| one.command == plain) && !has_placeholder;
    if let Some(command) = manager
        .name
        .everywhere(script)
        .filter(|_| is_same && found.len() > 1)
    {
        let why = format!(
            "{} packages of the workspace have the script `{script}`",
            found.len()
        );
        sheet.check(root.unit, wanted, &command, why);
        return;
    }
    if found.len() > MAX_PACKAGES {
        place.note(format!(
            "{} packages have {} of their own; the first {MAX_PACKAGES} are proposed",
            found.len(),
            wanted.word()
        ));
    }
    for (member, one) in found.into_iter().take(MAX_PACKAGES) {
        sheet.check(member.unit, wanted, &one.command, one.why);
    }
}
