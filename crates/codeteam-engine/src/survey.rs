//! What a repository is: its languages, frameworks, tests and packages, and what follows for a
//! team that is to work on it. A pure function over names of files and the text of a few of them;
//! every conclusion says why it was drawn.
//!
//! It proposes only what the repository itself speaks for: a guess that is wrong costs more than
//! one that was not made. Checks run without a network, so nothing here proposes a check that
//! installs; what has to be installed is the set-up command's matter.

mod ci;
mod disk;
mod go;
mod java;
mod make;
mod node;
mod packs;
mod place;
mod python;
mod rust;
mod surroundings;
mod units;

#[cfg(test)]
mod tests;

pub use self::disk::read_below;
pub use self::packs::{PackSteps, PacksFile, ProposedRoles, RolePack, packs};
pub use self::place::{FileReadOutcome, MAX_BYTES};

use serde::Serialize;

use self::ci::CiCommands;
use self::place::SurveyedFiles;
use self::units::{BuildUnit, Ecosystem};

/// How many checks are proposed at most; a gate is to be quick.
const MAX_CHECKS: usize = 12;

/// Something that was found, and by what.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DetectedFeature {
    /// What: `pytest`.
    pub name: String,
    /// By what: ``pyproject.toml names `pytest` ``.
    pub why: String,
}

impl DetectedFeature {
    fn new(name: impl Into<String>, why: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            why: why.into(),
        }
    }
}

/// A language of the repository.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LanguageCount {
    /// Its name.
    pub name: &'static str,
    /// How many files are written in it.
    pub files: usize,
}

/// A part of a repository that is built by itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RepoPackage {
    /// Its folder, from the repository's root.
    pub path: String,
    /// The language of its manifest.
    pub language: &'static str,
    /// Why it counts.
    pub why: String,
}

/// What a check looks at. The order is the one in which checks are run: quick ones first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum CheckPurpose {
    /// The form of the text.
    Format,
    /// What a linter has to say.
    Lint,
    /// Types.
    Types,
    /// Whether it builds.
    Build,
    /// Tests.
    Tests,
}

impl CheckPurpose {
    /// Its word in names of checks.
    pub fn word(self) -> &'static str {
        match self {
            Self::Format => "format",
            Self::Lint => "lint",
            Self::Types => "types",
            Self::Build => "build",
            Self::Tests => "tests",
        }
    }
}

/// A command that shows whether the project is as it should be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ProposedCheck {
    /// Its name in reports.
    pub name: String,
    /// What it looks at.
    pub purpose: CheckPurpose,
    /// The command, for `sh -c` at the root.
    pub command: String,
    /// Why it is proposed.
    pub why: String,
}

/// A command that makes a fresh work tree ready.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ProposedSetup {
    /// The command, for `sh -c` at the root.
    pub command: String,
    /// The files whose change makes it run again.
    pub inputs: Vec<String>,
    /// The hosts it has to reach.
    pub registries: Vec<String>,
    /// Why it is proposed.
    pub why: String,
}

/// A cache of the user's without which checks find nothing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ProposedCache {
    /// Where it is: `~/.cargo/registry`.
    pub path: String,
    /// Whether the tool has to write there, so that it needs a copy.
    pub copied: bool,
    /// Why it is proposed.
    pub why: String,
}

/// What a repository is, and what follows from that.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RepoSurvey {
    /// Languages, the most used first.
    pub languages: Vec<LanguageCount>,
    /// Frameworks.
    pub frameworks: Vec<DetectedFeature>,
    /// Package managers and build tools.
    pub managers: Vec<DetectedFeature>,
    /// What runs tests.
    pub runners: Vec<DetectedFeature>,
    /// Linters, formatters and type checkers that are configured.
    pub linters: Vec<DetectedFeature>,
    /// Continuous integration.
    pub ci: Vec<DetectedFeature>,
    /// What `docker compose` would start beside it.
    pub services: Vec<DetectedFeature>,
    /// The packages of a monorepo; none if there is one thing in it only.
    pub packages: Vec<RepoPackage>,
    /// Role packs that fit.
    pub packs: Vec<DetectedFeature>,
    /// Roles for the steps of a workflow, where one pack clearly fits.
    pub cast: Option<ProposedRoles>,
    /// What makes a work tree ready.
    pub setup: Option<ProposedSetup>,
    /// The user's caches that checks need.
    pub caches: Vec<ProposedCache>,
    /// What is to be verified.
    pub checks: Vec<ProposedCheck>,
    /// The workflow.
    pub template: DetectedFeature,
    /// Lines that `.gitignore` lacks: what the set-up command installs is not for commits.
    pub unignored: Vec<String>,
    /// What a person should know.
    pub notes: Vec<String>,
}

/// What the parts of a survey add to.
#[derive(Default)]
struct SurveyDraft {
    frameworks: Vec<DetectedFeature>,
    managers: Vec<DetectedFeature>,
    runners: Vec<DetectedFeature>,
    linters: Vec<DetectedFeature>,
    packs: Vec<DetectedFeature>,
    setups: Vec<(BuildUnit, ProposedSetup)>,
    caches: Vec<ProposedCache>,
    checks: Vec<ProposedCheck>,
    unignored: Vec<String>,
}

/// What is noted where no check was found.
pub const NO_CHECK: &str =
    "no check was found: without one, only reviewers stand between a worker and a commit";

/// Looks at a repository: its files (paths from its root, as git knows them), and a way to read one.
/// `templates` are the workflows there are.
pub fn survey(
    files: &[String],
    read: &dyn Fn(&str) -> FileReadOutcome,
    templates: &[&str],
) -> RepoSurvey {
    let place = SurveyedFiles::new(files, read);
    let ci = CiCommands::read(&place);
    let all = units::find(&place);
    let mut sheet = SurveyDraft::default();
    for unit in all.iter().filter(|unit| unit.member_of.is_none()) {
        match unit.kind {
            Ecosystem::Node => node::look(&place, unit, &all, &ci, &mut sheet),
            Ecosystem::Python => python::look(&place, unit, &all, &ci, &mut sheet),
            Ecosystem::Rust => rust::look(&place, unit, &all, &ci, &mut sheet),
            Ecosystem::Go => go::look(&place, unit, &ci, &mut sheet),
            Ecosystem::Java => java::look(&place, unit, &ci, &mut sheet),
        }
    }
    make::look(&place, &ci, &mut sheet);
    let services = surroundings::services(&place, &mut sheet);
    surroundings::packs(&place, &mut sheet);
    let languages = surroundings::languages(&place);
    let packages = units::packages(&all);
    if packages.len() > 1 {
        sheet.managers.extend(units::tools(&place));
    }
    packs::order(&mut sheet.packs);
    let cast = packs::cast(&languages, &sheet.packs, &all);
    let template = packs::template(&sheet.packs, templates);
    if sheet.checks.is_empty() {
        place.note(NO_CHECK);
    }
    let checks = sheet.ordered_checks(&place);
    RepoSurvey {
        ci: ci.found,
        languages,
        frameworks: unique(sheet.frameworks),
        managers: unique(sheet.managers),
        runners: unique(sheet.runners),
        linters: unique(sheet.linters),
        services,
        packages,
        packs: unique(sheet.packs),
        cast,
        setup: joined(sheet.setups),
        caches: sheet.caches,
        checks,
        template,
        unignored: sheet.unignored,
        notes: place.into_notes(),
    }
}

impl SurveyDraft {
    /// Proposes a check of a unit.
    fn check(
        &mut self,
        unit: &BuildUnit,
        purpose: CheckPurpose,
        command: &str,
        why: impl Into<String>,
    ) {
        self.check_by(unit.kind.language(), unit, purpose, command, why.into());
    }

    /// The same; `by` tells it from others of its purpose.
    fn check_by(
        &mut self,
        by: &str,
        unit: &BuildUnit,
        purpose: CheckPurpose,
        command: &str,
        why: String,
    ) {
        let command = unit.inside(command);
        if self.checks.iter().any(|check| check.command == command) {
            return;
        }
        let name = self.name_for(by, unit, purpose);
        self.checks.push(ProposedCheck {
            name,
            purpose,
            command,
            why,
        });
    }

    /// A name no other check has: the purpose, with the folder, and with the language if need be.
    fn name_for(&self, by: &str, unit: &BuildUnit, purpose: CheckPurpose) -> String {
        let short = match unit.folder.as_str() {
            "" => purpose.word().to_owned(),
            folder => format!("{folder}: {}", purpose.word()),
        };
        let long = format!("{short} ({by})");
        let is_free = |name: &String| self.checks.iter().all(|check| check.name != *name);
        let numbered = (2..).map(|n| format!("{long} {n}"));
        let mut names = [short, long.clone()].into_iter().chain(numbered);
        names.find(is_free).unwrap_or(long)
    }

    fn cache(&mut self, path: &str, copied: bool, why: &str) {
        if self.caches.iter().all(|cache| cache.path != path) {
            self.caches.push(ProposedCache {
                path: path.to_owned(),
                copied,
                why: why.to_owned(),
            });
        }
    }

    /// The checks in the order they are to run, not too many.
    fn ordered_checks(&mut self, place: &SurveyedFiles<'_>) -> Vec<ProposedCheck> {
        let mut checks = std::mem::take(&mut self.checks);
        if checks.len() > MAX_CHECKS {
            let tests = checks
                .iter()
                .filter(|c| c.purpose == CheckPurpose::Tests)
                .count();
            place.note(format!(
                "{} checks would fit; the first {MAX_CHECKS} are proposed, tests before all else",
                checks.len()
            ));
            let mut others = MAX_CHECKS.saturating_sub(tests);
            checks.retain(|check| {
                let is_kept = check.purpose == CheckPurpose::Tests || others > 0;
                others = others.saturating_sub(usize::from(check.purpose != CheckPurpose::Tests));
                is_kept
            });
            checks.truncate(MAX_CHECKS);
        }
        checks.sort_by_key(|check| check.purpose);
        checks
    }
}

/// One of each name: the first reason is enough.
fn unique(found: Vec<DetectedFeature>) -> Vec<DetectedFeature> {
    let mut kept: Vec<DetectedFeature> = Vec::new();
    for one in found {
        if kept.iter().all(|known| known.name != one.name) {
            kept.push(one);
        }
    }
    kept
}

/// One set-up command for all parts.
fn joined(setups: Vec<(BuildUnit, ProposedSetup)>) -> Option<ProposedSetup> {
    let mut all = ProposedSetup::default();
    let is_one = setups.len() == 1;
    let mut commands = Vec::new();
    let mut reasons = Vec::new();
    for (unit, setup) in setups {
        let inside = unit.inside(&setup.command);
        commands.push(if is_one || unit.folder.is_empty() {
            inside
        } else {
            format!("({inside})")
        });
        reasons.push(setup.why);
        let inputs = setup
            .inputs
            .iter()
            .map(|name| place::join(&unit.folder, name));
        all.inputs.extend(inputs);
        for host in setup.registries {
            if !all.registries.contains(&host) {
                all.registries.push(host);
            }
        }
    }
    all.command = commands.join(" && ");
    all.why = reasons.join("; ");
    (!all.command.is_empty()).then_some(all)
}
