//! Surveys Makefiles and justfiles: proposes the targets that CI runs, and others where nothing
//! better was found.

use super::ci::CiCommands;
use super::surveyed_files::SurveyedFiles;
use super::units::{BuildUnit, Ecosystem};
use super::{CheckPurpose, DetectedFeature, ProposedCheck, SurveyDraft};

/// The targets that check something, in the order of preference.
const TARGETS: &[(&str, CheckPurpose)] = &[
    ("lint", CheckPurpose::Lint),
    ("typecheck", CheckPurpose::Types),
    ("test", CheckPurpose::Tests),
    ("tests", CheckPurpose::Tests),
    ("check", CheckPurpose::Tests),
];

/// Words of a recipe that needs a network or other systems.
const REACHING: &[&str] = &[
    "install", "curl ", "wget ", "docker", "podman", "npm ci", "sudo", "pip ", "brew ", "kubectl",
];

pub(super) fn survey_makefiles(
    place: &SurveyedFiles<'_>,
    ci: &CiCommands,
    sheet: &mut SurveyDraft,
) {
    for (names, program) in [
        (&["GNUmakefile", "makefile", "Makefile"][..], "make"),
        (&["justfile", "Justfile", ".justfile"][..], "just"),
    ] {
        let Some(file) = place.first_existing("", names) else {
            continue;
        };
        let Some(text) = place.read_text(&file) else {
            continue;
        };
        sheet
            .managers
            .push(DetectedFeature::new(program, format!("there is `{file}`")));
        propose_targets(&file, &text, program, ci, sheet);
    }
}

fn propose_targets(
    file: &str,
    text: &str,
    program: &str,
    ci: &CiCommands,
    sheet: &mut SurveyDraft,
) {
    for (target, purpose) in TARGETS {
        let Some(recipe) = recipe(text, target) else {
            continue;
        };
        if REACHING.iter().any(|word| recipe.contains(word)) {
            continue;
        }
        let command = format!("{program} {target}");
        let run = ci.commands_in("").find(|run| run.command == command);
        let same = |check: &ProposedCheck| check.purpose == *purpose;
        let why = match run {
            // A target that CI runs replaces a guess, but not another command that CI runs.
            Some(run) => {
                let others = sheet.checks.iter().filter(|check| same(check));
                if others.clone().any(|other| other.why.contains("runs it")) {
                    continue;
                }
                let is_one = others.count() <= 1;
                if is_one {
                    sheet.checks.retain(|check| !same(check));
                }
                run.reason()
            }
            None if sheet.checks.iter().any(same) => continue,
            // A linter that only the Makefile mentions may not be installed.
            None if *purpose != CheckPurpose::Tests && !sheet.checks.is_empty() => continue,
            None => format!("`{file}` has the target `{target}`"),
        };
        let root = BuildUnit {
            kind: Ecosystem::Node,
            folder: String::new(),
            manifest: file.to_owned(),
            member_of: None,
        };
        sheet.runners.extend(
            (*purpose == CheckPurpose::Tests).then(|| DetectedFeature::new(program, why.clone())),
        );
        sheet.propose_named_check(program, &root, *purpose, &command, why);
    }
}

/// Returns the lines of a target, if it exists.
fn recipe(text: &str, target: &str) -> Option<String> {
    let mut lines = text.lines();
    let is_head = |line: &str| {
        let Some(rest) = line.strip_prefix(target) else {
            return false;
        };
        let rest = rest.trim_start();
        // `test = x` and `test := x` are variables.
        rest.starts_with(':') && !rest.starts_with(":=") && !rest.starts_with("::=")
    };
    let head = lines.by_ref().find(|line| is_head(line))?;
    let body = lines.take_while(|line| line.is_empty() || line.starts_with([' ', '\t', '#']));
    Some(
        std::iter::once(head)
            .chain(body)
            .collect::<Vec<_>>()
            .join("\n"),
    )
}
