//! `codeteam workflow test`: workflows tested like code.

use std::path::{Path, PathBuf};

use codeteam_core::rehearse::{Case, File, Outcome};
use codeteam_core::workflow::Compiled;
use serde_json::{Value, json};

use super::load::{self, Library};
use crate::cli::Scene;
use crate::exit::Exit;
use crate::output::{self, Style, out_line};
use crate::problem::Problem;
use crate::progress::Detail;

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

/// A file of cases, and where it is.
struct Found {
    file: String,
    folder: PathBuf,
    text: String,
}

pub(super) fn main(args: &Args, scene: &Scene) -> Result<Exit, Problem> {
    let library = Library::open(scene)?;
    let found = find(args, scene, &library)?;
    let mut tester = Tester {
        scene,
        rows: Vec::new(),
        passed: 0,
        failed: 0,
    };
    // Everything is read before anything is played: a file that makes no sense is no failing test.
    let mut files = Vec::new();
    for found in found {
        let file = File::parse(&found.file, &found.text);
        let file = file.map_err(|problems| Problem::user(problems.to_string()))?;
        let name = load::seen_from(&found.folder, &file.workflow);
        let compile = |case: &Case| {
            let compiled = library.compile(&name, &case.settings);
            let place = format!("{}:{}", file.file, case.line);
            compiled.map_err(|p| p.hint(format!("for the case `{}` ({place})", case.name)))
        };
        let compiled = file.cases.iter().map(compile);
        let compiled = compiled.collect::<Result<Vec<Compiled>, Problem>>()?;
        files.push((file, compiled));
    }
    for (file, compiled) in &files {
        tester.file(file, compiled)?;
    }
    tester.finish()
}

fn find(args: &Args, scene: &Scene, library: &Library) -> Result<Vec<Found>, Problem> {
    if args.built_in {
        let text = |(name, text): (&str, &str)| Found {
            file: format!("tests of the built-in workflow `{name}`"),
            folder: scene.folder.clone(),
            text: text.to_owned(),
        };
        return Ok(load::built_in_tests().map(text).collect());
    }
    let files = if args.files.is_empty() {
        library.tests()
    } else {
        let said = args.files.iter();
        said.map(|file| scene.folder.join(file)).collect()
    };
    if files.is_empty() {
        let folder = library.folder.join("workflows/tests");
        return Err(
            Problem::user(format!("there are no tests in `{}`", folder.display()))
                .hint("`docs/guide.md` shows how one is written")
                .hint(format!(
                    "`{} workflow test --built-in` tests those that ship with codeteam",
                    scene.calls.codeteam
                )),
        );
    }
    let text = |path: PathBuf| {
        Ok(Found {
            file: shown(&path, &scene.folder),
            folder: path.parent().map(Path::to_owned).unwrap_or_default(),
            text: load::read(&path)?,
        })
    };
    files.into_iter().map(text).collect()
}

/// A path as the user would write it.
fn shown(path: &Path, folder: &Path) -> String {
    path.strip_prefix(folder)
        .unwrap_or(path)
        .display()
        .to_string()
}

struct Tester<'a> {
    scene: &'a Scene,
    rows: Vec<Value>,
    passed: usize,
    failed: usize,
}

impl Tester<'_> {
    /// Plays the cases of a file, each on its own workflow.
    fn file(&mut self, file: &File, compiled: &[Compiled]) -> Result<(), Problem> {
        let told = self.scene.detail > Detail::Quiet && !self.scene.json;
        if told {
            out_line(&format!("{} ({})", file.workflow, file.file))?;
        }
        for (case, compiled) in file.cases.iter().zip(compiled) {
            let outcome = case.run(compiled);
            if outcome.passed() {
                self.passed += 1;
            } else {
                self.failed += 1;
            }
            if self.scene.json {
                self.rows.push(value(file, case, &outcome));
            } else {
                tell(file, case, &outcome, told)?;
            }
        }
        Ok(())
    }

    fn finish(self) -> Result<Exit, Problem> {
        let (passed, failed) = (self.passed, self.failed);
        if self.scene.json {
            let all = json!({"passed": passed, "failed": failed, "cases": self.rows});
            output::json(&all)?;
        } else if self.scene.detail > Detail::Quiet || failed > 0 {
            out_line(&match failed {
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

fn tell(file: &File, case: &Case, outcome: &Outcome, all: bool) -> Result<(), Problem> {
    let style = Style::detect();
    if outcome.passed() {
        if all {
            out_line(&format!("  {} {}", style.green("✓"), case.name))?;
        }
    } else {
        let place = format!("{}:{}", file.file, case.line);
        out_line(&format!("  {} {} ({place})", style.red("✗"), case.name))?;
        for text in words(outcome) {
            for line in text.lines() {
                out_line(&format!("      {line}"))?;
            }
        }
    }
    if all && !outcome.unreached.is_empty() {
        let unreached: Vec<String> = outcome.unreached.iter().map(|k| format!("`{k}`")).collect();
        out_line(&format!("      never reached: {}", unreached.join(", ")))?;
    }
    Ok(())
}

/// What is not as expected.
fn words(outcome: &Outcome) -> Vec<String> {
    let mut words: Vec<String> = outcome
        .differences
        .iter()
        .map(ToString::to_string)
        .collect();
    words.extend(outcome.problems.iter().map(ToString::to_string));
    words
}

fn value(file: &File, case: &Case, outcome: &Outcome) -> Value {
    json!({
        "file": file.file, "workflow": file.workflow, "case": case.name, "line": case.line,
        "passed": outcome.passed(), "ended": outcome.ended, "path": outcome.path,
        "differences": outcome.differences, "said": words(outcome),
        "unreached": outcome.unreached,
    })
}
