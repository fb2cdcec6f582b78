//! `codeteam workflow test`: tests workflows like code.

use std::path::{Path, PathBuf};

use codeteam_workflow::language::CompiledWorkflow;
use codeteam_workflow::rehearsal::{RehearsalCase, RehearsalOutcome, RehearsalSuite};
use serde_json::{Value, json};

use super::load::{self, WorkflowLibrary};
use crate::cli::CliContext;
use crate::exit::Exit;
use crate::output::{self, TerminalStyle, print_line};
use crate::progress::Verbosity;
use codeteam_engine::problem::Problem;

/// Arguments of `workflow test`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Files of cases. All of `.codeteam/workflows/tests` if left out.
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Test the built-in workflows with the cases that ship with codeteam.
    #[arg(long, conflicts_with = "files")]
    built_in: bool,
}

/// A file of test cases, and where it is.
struct CaseSource {
    file: String,
    folder: PathBuf,
    text: String,
}

pub(super) fn main(args: &Args, scene: &CliContext) -> Result<Exit, Problem> {
    let library = WorkflowLibrary::open(scene)?;
    let found = find_cases(args, scene, &library)?;
    let mut tester = CaseRunner {
        scene,
        rows: Vec::new(),
        passed: 0,
        failed: 0,
    };
    // Everything is parsed before anything is run: an invalid file is not a failing test.
    let mut files = Vec::new();
    for found in found {
        let file = RehearsalSuite::parse(&found.file, &found.text);
        let file = file.map_err(|problems| Problem::user(problems.to_string()))?;
        let name = load::resolve_from(&found.folder, &file.workflow);
        let compile = |case: &RehearsalCase| {
            let compiled = library.compile(&name, &case.settings);
            let place = format!("{}:{}", file.file, case.line);
            compiled.map_err(|p| p.hint(format!("for the case `{}` ({place})", case.name)))
        };
        let compiled = file.cases.iter().map(compile);
        let compiled = compiled.collect::<Result<Vec<CompiledWorkflow>, Problem>>()?;
        files.push((file, compiled));
    }
    for (file, compiled) in &files {
        tester.run_file(file, compiled)?;
    }
    tester.finish()
}

fn find_cases(
    args: &Args,
    scene: &CliContext,
    library: &WorkflowLibrary,
) -> Result<Vec<CaseSource>, Problem> {
    if args.built_in {
        let text = |(name, text): (&str, &str)| CaseSource {
            file: format!("tests of the built-in workflow `{name}`"),
            folder: scene.folder.clone(),
            text: text.to_owned(),
        };
        return Ok(load::built_in_tests().map(text).collect());
    }
    let files = if args.files.is_empty() {
        library.test_files()
    } else {
        let said = args.files.iter();
        said.map(|file| scene.folder.join(file)).collect()
    };
    if files.is_empty() {
        let folder = library.folder.join("workflows/tests");
        return Err(
            Problem::user(format!("there are no tests in `{}`", folder.display()))
                .hint("the guide shows how one is written (\"Test a workflow like code\")")
                .hint(format!(
                    "`{} workflow test --built-in` tests those that ship with codeteam",
                    scene.calls.codeteam
                )),
        );
    }
    let text = |path: PathBuf| {
        Ok(CaseSource {
            file: display_path(&path, &scene.folder),
            folder: path.parent().map(Path::to_owned).unwrap_or_default(),
            text: load::read_file(&path)?,
        })
    };
    files.into_iter().map(text).collect()
}

/// Returns a path as the user would write it.
fn display_path(path: &Path, folder: &Path) -> String {
    path.strip_prefix(folder)
        .unwrap_or(path)
        .display()
        .to_string()
}

struct CaseRunner<'a> {
    scene: &'a CliContext,
    rows: Vec<Value>,
    passed: usize,
    failed: usize,
}

impl CaseRunner<'_> {
    /// Runs the cases of a file, each on its own workflow.
    fn run_file(
        &mut self,
        file: &RehearsalSuite,
        compiled: &[CompiledWorkflow],
    ) -> Result<(), Problem> {
        let told = self.scene.detail > Verbosity::Quiet && !self.scene.json;
        if told {
            print_line(&format!("{} ({})", file.workflow, file.file))?;
        }
        for (case, compiled) in file.cases.iter().zip(compiled) {
            let outcome = case.run(compiled);
            if outcome.passed() {
                self.passed += 1;
            } else {
                self.failed += 1;
            }
            if self.scene.json {
                self.rows.push(outcome_to_json(file, case, &outcome));
            } else {
                print_outcome(file, case, &outcome, told)?;
            }
        }
        Ok(())
    }

    fn finish(self) -> Result<Exit, Problem> {
        let (passed, failed) = (self.passed, self.failed);
        if self.scene.json {
            let all = json!({"passed": passed, "failed": failed, "cases": self.rows});
            output::print_json(&all)?;
        } else if self.scene.detail > Verbosity::Quiet || failed > 0 {
            print_line(&match failed {
                0 => format!("{passed} passed"),
                _ => format!("{passed} passed, {failed} failed"),
            })?;
        }
        Ok(if failed == 0 {
            Exit::Done
        } else {
            Exit::Failed
        })
    }
}

fn print_outcome(
    file: &RehearsalSuite,
    case: &RehearsalCase,
    outcome: &RehearsalOutcome,
    all: bool,
) -> Result<(), Problem> {
    let style = TerminalStyle::detect();
    if outcome.passed() {
        if all {
            print_line(&format!("  {} {}", style.green("✓"), case.name))?;
        }
    } else {
        let place = format!("{}:{}", file.file, case.line);
        print_line(&format!("  {} {} ({place})", style.red("✗"), case.name))?;
        for text in describe_failures(outcome) {
            for line in text.lines() {
                print_line(&format!("      {line}"))?;
            }
        }
    }
    if all && !outcome.unreached.is_empty() {
        let unreached: Vec<String> = outcome.unreached.iter().map(|k| format!("`{k}`")).collect();
        print_line(&format!("      never reached: {}", unreached.join(", ")))?;
    }
    Ok(())
}

/// Describes the differences from what was expected.
fn describe_failures(outcome: &RehearsalOutcome) -> Vec<String> {
    let mut words: Vec<String> = outcome
        .differences
        .iter()
        .map(ToString::to_string)
        .collect();
    words.extend(outcome.problems.iter().map(ToString::to_string));
    words
}

fn outcome_to_json(
    file: &RehearsalSuite,
    case: &RehearsalCase,
    outcome: &RehearsalOutcome,
) -> Value {
    json!({
        "file": file.file, "workflow": file.workflow, "case": case.name, "line": case.line,
        "passed": outcome.passed(), "ended": outcome.ended, "path": outcome.path,
        "differences": outcome.differences, "said": describe_failures(outcome),
        "unreached": outcome.unreached,
    })
}
