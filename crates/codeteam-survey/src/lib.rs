//! Surveys a repository: its languages, frameworks, tests and packages, and what follows from them
//! for a team that will work on it. The survey is a pure function of the file names and the text of
//! a few files, and every conclusion comes with its reason.
//!
//! The survey proposes only what the repository itself gives evidence for: a wrong guess costs more
//! than a missing one. Checks run without a network, so no proposed check installs anything;
//! installation is the job of the set-up command.

mod ci;
mod disk;
mod go;
mod java;
mod make;
mod node;
mod packs;
mod python;
mod rust;
mod surroundings;
mod surveyed_files;
mod units;

#[cfg(test)]
mod tests;

pub use self::disk::read_below;
pub use self::packs::{PackSteps, PacksFile, ProposedRoles, RolePack, built_in_packs};
pub use self::surveyed_files::{FileReadOutcome, MAX_BYTES};

use serde::Serialize;

use self::ci::CiCommands;
use self::surveyed_files::SurveyedFiles;
use self::units::{BuildUnit, Ecosystem};

/// The largest number of proposed checks, because a gate should be quick.
const MAX_CHECKS: usize = 12;

/// Something that was detected, with the evidence for it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DetectedFeature {
    /// The name of the feature: `pytest`.
    pub name: String,
    /// The evidence: ``pyproject.toml names `pytest` ``.
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
    /// The name for people: `TypeScript`.
    pub name: &'static str,
    /// The number of files in this language.
    pub files: usize,
}

/// A part of a repository that is built separately.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RepoPackage {
    /// The folder, relative to the repository's root.
    pub path: String,
    /// The language of the manifest.
    pub language: &'static str,
    /// The reason why it counts as a package.
    pub why: String,
}

/// The purpose of a check. The order is the one in which checks run: quick ones first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum CheckPurpose {
    /// The formatting of the code.
    Format,
    /// The findings of a linter.
    Lint,
    /// The types.
    Types,
    /// Whether the project builds.
    Build,
    /// The tests.
    Tests,
}

impl CheckPurpose {
    /// Returns the word for the purpose in names of checks.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Format => "format",
            Self::Lint => "lint",
            Self::Types => "types",
            Self::Build => "build",
            Self::Tests => "tests",
        }
    }
}

/// A command that verifies the project.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ProposedCheck {
    /// The name of the check in reports.
    pub name: String,
    /// What the check verifies.
    pub purpose: CheckPurpose,
    /// The command, for `sh -c` at the root.
    pub command: String,
    /// The reason for the proposal.
    pub why: String,
}

/// A command that prepares a fresh work tree.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ProposedSetup {
    /// The command, for `sh -c` at the root.
    pub command: String,
    /// The files whose change makes the command run again.
    pub inputs: Vec<String>,
    /// The hosts that the command must reach.
    pub registries: Vec<String>,
    /// The reason for the proposal.
    pub why: String,
}

/// A cache of the user's that the checks need.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ProposedCache {
    /// The path: `~/.cargo/registry`.
    pub path: String,
    /// Whether the tool must write to the cache, so that it needs a copy.
    pub copied: bool,
    /// The reason for the proposal.
    pub why: String,
}

/// The result of a survey: what the repository is, and what codeteam proposes for it.
///
/// [`survey_repository`] creates it. The fields come in two groups. The first describes the
/// repository: languages, frameworks, tools, CI, services and packages. The second proposes a
/// configuration: role packs, roles, the set-up command, caches, checks and a workflow. Nothing is
/// applied here; the caller shows the proposals to a person or writes them to the configuration.
///
/// Every detected feature and every proposal says why it was made, so that a person can judge it.
/// What the survey could not read or had to leave out is in [`notes`](Self::notes).
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RepoSurvey {
    /// The languages, the most used first.
    pub languages: Vec<LanguageCount>,
    /// The frameworks that the code uses.
    pub frameworks: Vec<DetectedFeature>,
    /// The package managers and build tools.
    pub managers: Vec<DetectedFeature>,
    /// The test runners.
    pub runners: Vec<DetectedFeature>,
    /// The linters, formatters and type checkers that are configured.
    pub linters: Vec<DetectedFeature>,
    /// The continuous integration systems.
    pub ci: Vec<DetectedFeature>,
    /// The services that `docker compose` would start for the project.
    pub services: Vec<DetectedFeature>,
    /// The packages below the root; empty if everything is built at the root.
    pub packages: Vec<RepoPackage>,
    /// The role packs that fit.
    pub packs: Vec<DetectedFeature>,
    /// The roles for the steps of a workflow, if one pack clearly fits.
    pub cast: Option<ProposedRoles>,
    /// The command that prepares a work tree.
    pub setup: Option<ProposedSetup>,
    /// The user's caches that the checks need.
    pub caches: Vec<ProposedCache>,
    /// The checks, in the order in which they should run.
    pub checks: Vec<ProposedCheck>,
    /// The proposed workflow.
    pub template: DetectedFeature,
    /// Lines that are missing in `.gitignore`: what the set-up command installs must not be
    /// committed.
    pub unignored: Vec<String>,
    /// Notes for a person.
    pub notes: Vec<String>,
}

/// The survey under construction, which the parts for each language add to.
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

/// The note for a repository without any check.
pub const NO_CHECK: &str =
    "no check was found: without one, only reviewers stand between a worker and a commit";

/// Surveys a repository. `files` are the paths from its root, as git lists them; `read` reads one
/// of them; `templates` are the names of the available workflows.
pub fn survey_repository(
    files: &[String],
    read: &dyn Fn(&str) -> FileReadOutcome,
    templates: &[&str],
) -> RepoSurvey {
    let place = SurveyedFiles::new(files, read);
    let ci = CiCommands::read_workflows(&place);
    let all = units::find_units(&place);
    let mut sheet = SurveyDraft::default();
    for unit in all.iter().filter(|unit| unit.member_of.is_none()) {
        match unit.kind {
            Ecosystem::Node => node::survey_unit(&place, unit, &all, &ci, &mut sheet),
            Ecosystem::Python => python::survey_unit(&place, unit, &all, &ci, &mut sheet),
            Ecosystem::Rust => rust::survey_unit(&place, unit, &all, &ci, &mut sheet),
            Ecosystem::Go => go::survey_unit(&place, unit, &ci, &mut sheet),
            Ecosystem::Java => java::survey_unit(&place, unit, &ci, &mut sheet),
        }
    }
    make::survey_makefiles(&place, &ci, &mut sheet);
    let services = surroundings::compose_services(&place, &mut sheet);
    surroundings::propose_packs(&place, &mut sheet);
    let languages = surroundings::count_languages(&place);
    let packages = units::list_packages(&all);
    if packages.len() > 1 {
        sheet.managers.extend(units::monorepo_tools(&place));
    }
    packs::sort_packs(&mut sheet.packs);
    let cast = packs::propose_roles(&languages, &sheet.packs, &all);
    let template = packs::propose_workflow(&sheet.packs, templates);
    if sheet.checks.is_empty() {
        place.add_note(NO_CHECK);
    }
    let checks = sheet.ordered_checks(&place);
    RepoSurvey {
        ci: ci.found,
        languages,
        frameworks: dedup_by_name(sheet.frameworks),
        managers: dedup_by_name(sheet.managers),
        runners: dedup_by_name(sheet.runners),
        linters: dedup_by_name(sheet.linters),
        services,
        packages,
        packs: dedup_by_name(sheet.packs),
        cast,
        setup: join_setups(sheet.setups),
        caches: sheet.caches,
        checks,
        template,
        unignored: sheet.unignored,
        notes: place.into_notes(),
    }
}

impl SurveyDraft {
    /// Proposes a check for a unit.
    fn propose_check(
        &mut self,
        unit: &BuildUnit,
        purpose: CheckPurpose,
        command: &str,
        why: impl Into<String>,
    ) {
        self.propose_named_check(unit.kind.language(), unit, purpose, command, why.into());
    }

    /// Proposes a check for a unit; `by` distinguishes it from others with the same purpose.
    fn propose_named_check(
        &mut self,
        by: &str,
        unit: &BuildUnit,
        purpose: CheckPurpose,
        command: &str,
        why: String,
    ) {
        let command = unit.command_from_root(command);
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

    /// Returns a unique name for a check: the purpose, with the folder, and with `by` if necessary.
    fn name_for(&self, by: &str, unit: &BuildUnit, purpose: CheckPurpose) -> String {
        let short = match unit.folder.as_str() {
            "" => purpose.as_str().to_owned(),
            folder => format!("{folder}: {}", purpose.as_str()),
        };
        let long = format!("{short} ({by})");
        let is_free = |name: &String| self.checks.iter().all(|check| check.name != *name);
        let numbered = (2..).map(|n| format!("{long} {n}"));
        let mut names = [short, long.clone()].into_iter().chain(numbered);
        names.find(is_free).unwrap_or(long)
    }

    fn propose_cache(&mut self, path: &str, copied: bool, why: &str) {
        if self.caches.iter().all(|cache| cache.path != path) {
            self.caches.push(ProposedCache {
                path: path.to_owned(),
                copied,
                why: why.to_owned(),
            });
        }
    }

    /// Returns the checks in the order in which they should run, up to the limit.
    fn ordered_checks(&mut self, place: &SurveyedFiles<'_>) -> Vec<ProposedCheck> {
        let mut checks = std::mem::take(&mut self.checks);
        if checks.len() > MAX_CHECKS {
            let tests = checks
                .iter()
                .filter(|c| c.purpose == CheckPurpose::Tests)
                .count();
            place.add_note(format!(
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

/// Keeps the first feature of each name, because one reason is enough.
fn dedup_by_name(found: Vec<DetectedFeature>) -> Vec<DetectedFeature> {
    let mut kept: Vec<DetectedFeature> = Vec::new();
    for one in found {
        if kept.iter().all(|known| known.name != one.name) {
            kept.push(one);
        }
    }
    kept
}

/// Joins the set-up commands of all units into one.
fn join_setups(setups: Vec<(BuildUnit, ProposedSetup)>) -> Option<ProposedSetup> {
    let mut all = ProposedSetup::default();
    let is_one = setups.len() == 1;
    let mut commands = Vec::new();
    let mut reasons = Vec::new();
    for (unit, setup) in setups {
        let inside = unit.command_from_root(&setup.command);
        commands.push(if is_one || unit.folder.is_empty() {
            inside
        } else {
            format!("({inside})")
        });
        reasons.push(setup.why);
        let inputs = setup
            .inputs
            .iter()
            .map(|name| surveyed_files::join_path(&unit.folder, name));
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
