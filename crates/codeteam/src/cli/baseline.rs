//! Tries the project's set-up and checks before a run starts, and decides with the person how to
//! treat a check that already fails.

use std::io::BufRead as _;

use codeteam_core::event::{BaselineFailure, HostTraffic};
use codeteam_engine::config::BaselinePolicy;
use codeteam_engine::engine::{Engine, PreparedRun};
use codeteam_engine::perform::{BaselineReport, Error, FailingCheck, try_baseline};
use codeteam_host::error_chain::format_error_chain;
use codeteam_host::workspace::UnignoredProduct;

use crate::cli::{CliContext, drive, talk};
use crate::exit::Exit;
use crate::output::{self, TerminalStyle, eprint_line};
use crate::progress::Verbosity;
use codeteam_engine::problem::Problem;

/// The largest number of tests listed by name.
const NAMED: usize = 5;

/// What to do if a check fails before anything is changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum BaselineArg {
    /// Do not start.
    Stop,
    /// Refuse a change only if it makes a test fail that passed before.
    #[value(name = "new_failures", alias = "new-failures")]
    NewFailures,
    /// Start: making the check pass is the goal.
    #[value(name = "must_pass", alias = "must-pass")]
    MustPass,
}

impl BaselineArg {
    pub(crate) fn policy(self) -> BaselinePolicy {
        match self {
            Self::Stop => BaselinePolicy::Stop,
            Self::NewFailures => BaselinePolicy::NewFailures,
            Self::MustPass => BaselinePolicy::MustPass,
        }
    }
}

/// The baseline that a run starts with.
pub(crate) struct BaselineStart {
    /// The checks that failed, if only new failures count.
    pub(crate) failures: Vec<BaselineFailure>,
    /// Whether failing checks must pass in the end.
    pub(crate) must_pass: bool,
    /// The network traffic of the set-up.
    pub(crate) network: Vec<HostTraffic>,
}

/// The result of trying the baseline.
pub(crate) enum BaselineOutcome {
    /// The run may start.
    Start(BaselineStart),
    /// A person stopped it.
    Stopped(Exit),
}

/// Tries set-up and checks on the commit that the run would start from.
pub(crate) fn check_baseline(
    scene: &CliContext,
    engine: &Engine,
    prepared: &PreparedRun,
    said: Option<BaselinePolicy>,
) -> Result<BaselineOutcome, Problem> {
    let said = said.or(engine.config.verification.baseline);
    let policy = said.unwrap_or(BaselinePolicy::Stop);
    let interrupt = drive::driver_options(false)?.interrupt;
    let tried = drive::show_progress(scene, engine, |progress| {
        try_baseline(engine, prepared, policy, interrupt.clone(), progress)
    });
    let BaselineReport {
        failing: red,
        network,
        unignored,
    } = match tried {
        Ok(tried) => tried,
        Err(_) if interrupt.is_cancelled() => {
            return Ok(BaselineOutcome::Stopped(Exit::Interrupted));
        }
        Err(Error::Halt(halt)) => {
            return Err(
                Problem::before_start(halt).hint("nothing was started, and no model was asked")
            );
        }
        Err(error) => {
            let what = "the checks could not be tried on the commit that the run would start from";
            let problem = Problem::environment(format!("{what}: {}", format_error_chain(&error)));
            return Err(problem.hint("nothing was started, and no model was asked"));
        }
    };
    let start = |failures, must_pass| BaselineStart {
        failures,
        must_pass,
        network,
    };
    if scene.detail >= Verbosity::Normal {
        warn_of_unignored(&unignored);
    }
    if red.is_empty() {
        let must_pass = policy == BaselinePolicy::MustPass;
        return Ok(BaselineOutcome::Start(start(Vec::new(), must_pass)));
    }
    let policy = match said {
        None if talk::is_terminal() && !scene.json => ask_policy(&red)?,
        _ => policy,
    };
    match policy {
        BaselinePolicy::Stop => Err(failing_baseline(&red)),
        BaselinePolicy::MustPass => Ok(BaselineOutcome::Start(start(Vec::new(), true))),
        BaselinePolicy::NewFailures => {
            let failures = comparable_failures(scene, red)?;
            Ok(BaselineOutcome::Start(start(failures, false)))
        }
    }
}

/// Warns that the set-up leaves files that no `.gitignore` names, and says what to do about them.
fn warn_of_unignored(unignored: &[UnignoredProduct]) {
    if unignored.is_empty() {
        return;
    }
    let total: usize = unignored.iter().map(|left| left.files).sum();
    let total = match total {
        1 => "1 file".to_owned(),
        files => format!("{files} files"),
    };
    let (folders, files): (Vec<&str>, Vec<&str>) = unignored
        .iter()
        .take(NAMED)
        .map(|left| left.path.as_str())
        .partition(|path| path.ends_with('/'));
    let more = match unignored.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let quoted = |paths: &[&str], root: &str| {
        let paths = paths.iter().map(|path| format!("`{root}{path}`"));
        paths.collect::<Vec<_>>().join(", ")
    };
    let mut advice = Vec::new();
    if !folders.is_empty() {
        advice.push(format!("add {} to `.gitignore`", quoted(&folders, "/")));
    }
    if !files.is_empty() {
        advice.push(format!("commit or ignore {}", quoted(&files, "")));
    }
    output::eprint_wrapped(&format!(
        "{}: set-up leaves {total} that no `.gitignore` names ({}{more}); workers' changes do not \
         include them. What to do: {}",
        TerminalStyle::detect().yellow("note"),
        quoted(&[folders, files].concat(), ""),
        advice.join("; ")
    ));
}

/// Returns the failures that changes are compared with; fails for a check whose output names no
/// tests.
fn comparable_failures(
    scene: &CliContext,
    red: Vec<FailingCheck>,
) -> Result<Vec<BaselineFailure>, Problem> {
    if let Some(check) = red.iter().find(|check| check.tests.is_empty()) {
        let what = format!(
            "`{}` fails before anything is changed, and its output does not name every test that fails (it names \
             none, or stops at the first), so that new failures cannot be told from old ones",
            check.name
        );
        return Err(Problem::environment(with_check_output(&what, check))
            .hint("let it run all tests and name them: `cargo test --no-fail-fast`, `pytest` without `-x`")
            .hint("repair it first, or take it out of `verification.commands`")
            .hint("`--baseline must_pass` if making it pass is the goal"));
    }
    let style = TerminalStyle::detect();
    for check in red.iter().filter(|_| scene.detail >= Verbosity::Normal) {
        output::eprint_wrapped(&format!(
            "{}: `{}` fails before anything is changed ({}); only new failures count",
            style.yellow("note"),
            check.name,
            list_tests(&check.tests)
        ));
    }
    let failures = red.into_iter().map(|check| BaselineFailure {
        check: check.name,
        command: check.command,
        tests: check.tests,
    });
    Ok(failures.collect())
}

fn failing_baseline(red: &[FailingCheck]) -> Problem {
    let names: Vec<String> = red
        .iter()
        .map(|check| format!("`{}`", check.name))
        .collect();
    let verb = if red.len() == 1 { "fails" } else { "fail" };
    let what = format!(
        "{} {verb} before anything is changed, and would refuse every change",
        names.join(", ")
    );
    let first = red.first();
    let what = first.map_or(what.clone(), |check| with_check_output(&what, check));
    Problem::environment(what)
        .hint("nothing was started, and no model was asked: repair it first, or choose how to continue")
        .hint("`--baseline new_failures` refuses a change only if it makes a test fail that passed before")
        .hint("`--baseline must_pass` if making it pass is the goal")
        .hint("`verification.baseline` in `.codeteam/config.yml` says so for all runs")
}

/// Returns a sentence followed by the end of a check's output.
pub(crate) fn with_check_output(what: &str, check: &FailingCheck) -> String {
    const LINES: usize = 15;
    let lines: Vec<&str> = check.output.lines().collect();
    let tail = &lines[lines.len().saturating_sub(LINES)..];
    format!("{what}\n$ {}\n{}", check.command, tail.join("\n"))
}

fn list_tests(tests: &[String]) -> String {
    let names: Vec<&str> = tests.iter().take(NAMED).map(String::as_str).collect();
    match tests.len().saturating_sub(NAMED) {
        0 => names.join(", "),
        more => format!("{} and {more} more", names.join(", ")),
    }
}

/// Asks a person at a terminal how to treat the failures.
fn ask_policy(red: &[FailingCheck]) -> Result<BaselinePolicy, Problem> {
    for check in red {
        let what = format!("`{}` fails before anything is changed:", check.name);
        eprint_line(&with_check_output(&what, check));
    }
    loop {
        eprint_line("stop (s), count only new failures (n), or must it pass in the end (p)? [s]");
        let mut answer = String::new();
        let bytes = std::io::stdin().lock().read_line(&mut answer);
        let failed = |e| Problem::environment("could not read your answer").caused_by(&e);
        if bytes.map_err(failed)? == 0 {
            return Ok(BaselinePolicy::Stop);
        }
        match answer.trim().to_lowercase().as_str() {
            "" | "s" | "stop" => return Ok(BaselinePolicy::Stop),
            "n" | "new" | "new_failures" => return Ok(BaselinePolicy::NewFailures),
            "p" | "pass" | "must_pass" => return Ok(BaselinePolicy::MustPass),
            _ => {}
        }
    }
}
