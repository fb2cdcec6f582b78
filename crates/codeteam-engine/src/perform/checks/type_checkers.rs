//! Lets the type checkers that a project has tell whether a change keeps to locked interfaces.

use std::collections::BTreeSet;
use std::path::Path;

use codeteam_context::language::Language;
use codeteam_core::checks::{CheckRemark, CheckResult};
use codeteam_core::workflow::{Check, CheckKind};

use super::{GateChecks, run_gate_command};
use crate::perform::{Error, oid};

/// The exit code by which the commands below say that the tool is not there.
const NO_TOOL: i32 = 78;

/// A tool that knows whether code fits the declarations that it uses.
struct TypeChecker {
    /// Its name.
    name: &'static str,
    /// The file at the top of the project without which it cannot run.
    needs: Option<&'static str>,
    /// The words of a project's own command that runs it, or more than it.
    covered_by: &'static [&'static str],
    /// The command; it ends with [`NO_TOOL`] if the tool is not there.
    command: &'static str,
}

const TSC: TypeChecker = TypeChecker {
    name: "tsc",
    needs: Some("tsconfig.json"),
    covered_by: &["tsc"],
    command: "if [ -x node_modules/.bin/tsc ]; then node_modules/.bin/tsc --noEmit; elif command -v tsc > \
              /dev/null; then tsc --noEmit; else exit 78; fi",
};
const MYPY: TypeChecker = TypeChecker {
    name: "mypy or pyright",
    needs: None,
    covered_by: &["mypy", "pyright"],
    command: "if command -v mypy > /dev/null; then mypy --ignore-missing-imports --cache-dir=/dev/null .; \
              elif command -v pyright > /dev/null; then pyright; else exit 78; fi",
};
const CARGO: TypeChecker = TypeChecker {
    name: "cargo check",
    needs: Some("Cargo.toml"),
    covered_by: &["cargo"],
    command: "if command -v cargo > /dev/null; then cargo check --offline --all-targets; else exit 78; fi",
};
const GO_VET: TypeChecker = TypeChecker {
    name: "go vet",
    needs: Some("go.mod"),
    covered_by: &["go"],
    command: "if command -v go > /dev/null; then go vet ./...; else exit 78; fi",
};

impl TypeChecker {
    fn for_language(language: Language) -> Option<&'static Self> {
        match language {
            Language::TypeScript => Some(&TSC),
            Language::Python => Some(&MYPY),
            Language::Rust => Some(&CARGO),
            Language::Go => Some(&GO_VET),
            _ => None,
        }
    }

    /// Returns true if a command of the project runs it already.
    fn is_covered(&self, command: &str) -> bool {
        let is_letter = |c: char| c.is_alphanumeric() || c == '_';
        let mut words = command.split(|c: char| !is_letter(c));
        words.any(|word| self.covered_by.contains(&word))
    }
}

impl GateChecks<'_> {
    /// Runs the type checkers for the languages of the locked interfaces, unless the project's own
    /// commands do. A type checker that failed before the run as well says nothing about the change.
    pub(super) fn run_type_checkers(&self, check: &Check) -> Result<CheckResult, Error> {
        let locks = self.about.locked.iter();
        let languages: BTreeSet<Language> = locks
            .filter_map(|lock| Language::from_path(&lock.file.path))
            .collect();
        let (mut failures, mut weaker) = (Vec::new(), Vec::new());
        for language in languages {
            let Some(checker) = TypeChecker::for_language(language) else {
                weaker.push("there is no type checker for one of their languages".to_owned());
                continue;
            };
            if self
                .own_commands()
                .any(|command| checker.is_covered(command))
            {
                continue;
            }
            match self.run_type_checker(check, checker, language)? {
                TypeCheckOutcome::Passed => {}
                TypeCheckOutcome::Failed(said) => failures.push(said),
                TypeCheckOutcome::SaysNothing(why) => weaker.push(why),
            }
        }
        let (passed, summary) = if failures.is_empty() {
            let why = weaker.join("; ");
            let note = format!("compared by names and parameters only: {why}");
            (
                true,
                if weaker.is_empty() {
                    String::new()
                } else {
                    note
                },
            )
        } else {
            (false, failures.join("\n"))
        };
        Ok(CheckResult {
            name: check.name.clone(),
            class: check.what.class(),
            passed,
            remark: (passed && !summary.is_empty()).then_some(CheckRemark::Noted),
            summary,
            ..CheckResult::default()
        })
    }

    fn own_commands(&self) -> impl Iterator<Item = &str> {
        self.checks.iter().filter_map(|check| match &check.what {
            CheckKind::Command(command) => Some(command.as_str()),
            _ => None,
        })
    }

    fn run_type_checker(
        &self,
        check: &Check,
        checker: &TypeChecker,
        language: Language,
    ) -> Result<TypeCheckOutcome, Error> {
        let workspace = self.look.workspace;
        let name = checker.name;
        let is_missing = |file: &str| !workspace.tree_dir().join(file).is_file();
        if let Some(file) = checker.needs.filter(|file| is_missing(file)) {
            let why = format!("there is no `{file}` for `{name}`");
            return Ok(TypeCheckOutcome::SaysNothing(why));
        }
        let ended = run_gate_command(self.look, workspace, checker.command, check.timeout_ms)?;
        if ended.passed {
            return Ok(TypeCheckOutcome::Passed);
        }
        if ended.exit == NO_TOOL || ended.unclear.is_some() {
            let why = format!("`{name}` was not found, or did not end");
            return Ok(TypeCheckOutcome::SaysNothing(why));
        }
        if self.had_language(checker, language)?
            && self.failed_on_base(check, checker.command)?.is_some()
        {
            let why = format!("`{name}` fails on the commit that the run started from");
            return Ok(TypeCheckOutcome::SaysNothing(why));
        }
        Ok(TypeCheckOutcome::Failed(format!(
            "`{name}` says that the change does not fit:\n{}",
            ended.summary
        )))
    }

    /// Returns true if the commit that the run started from had something for a type checker to check.
    fn had_language(&self, checker: &TypeChecker, language: Language) -> Result<bool, Error> {
        let base = oid(&self.look.job.started_from.tree.0)?;
        let files = self.look.workspace.tree_files(&base)?;
        let has_file = |file: &str| files.iter().any(|known| known.path == Path::new(file));
        let mut paths = files.iter().filter_map(|file| file.path.to_str());
        Ok(checker.needs.is_none_or(has_file)
            && paths.any(|path| Language::from_path(path) == Some(language)))
    }
}

/// What a type checker says about a change.
enum TypeCheckOutcome {
    Passed,
    Failed(String),
    /// Nothing, for this reason.
    SaysNothing(String),
}
