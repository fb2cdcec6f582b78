//! `codeteam demo`: does the whole job on a small sample project, with scripted workers.
//!
//! Everything is real except the thinking: worktrees, checks, a failing test, a review that
//! rejects, and commits to inspect. It all stays in one folder, which the next demo replaces.

use std::fs;
use std::path::{Path, PathBuf};

use codeteam_agent::scripted::{DEMO_FILES, DEMO_GOAL};
use codeteam_core::shell::shell_word;
use codeteam_engine::clock::now;
use codeteam_engine::driver;
use codeteam_engine::engine::{self, Engine, RunRequest};
use codeteam_engine::trust::LogRecords;
use codeteam_host::git::{self, CommitSignature, GitIdentity, GitProgram};

use crate::cli::{CliContext, CommandPrefixes, drive};
use crate::exit::Exit;
use crate::output::{TerminalStyle, eprint_line};
use crate::progress::Verbosity;
use codeteam_engine::problem::Problem;

/// Marks a folder that a demo may replace.
const MARKER: &str = ".made-by-codeteam-demo";

/// Arguments of `demo`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Where to create the sample project; the folder of the last demo is replaced.
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

pub(crate) fn main(args: &Args, mut scene: CliContext) -> Result<Exit, Problem> {
    let folder = match &args.dir {
        Some(dir) => scene.folder.join(dir),
        None => std::env::temp_dir().join(format!("codeteam-demo-{}", scene.env.user)),
    };
    let sample = folder.join("sample");
    remove_last_demo(&folder, &scene)?;
    create_sample(&folder, &sample, &scene)?;
    let own_logs = LogRecords::for_user(&scene.env);
    // Worktrees are next to the sample, so that removing one folder removes everything.
    scene.env.state_home = Some(folder.join("state"));
    scene.folder.clone_from(&sample);
    let program = shell_word(&scene.codeteam.to_string_lossy());
    let place = shell_word(&sample.to_string_lossy());
    scene.calls = CommandPrefixes {
        codeteam: format!("{program} -C {place}"),
        git: format!("git -C {place}"),
    };
    let style = TerminalStyle::detect();
    if scene.detail >= Verbosity::Normal {
        eprint_line(&format!("{} {DEMO_GOAL}", style.bold("goal:")));
        eprint_line(&format!(
            "A sample project is in {}; the workers are scripted, everything else is real.",
            sample.display()
        ));
        eprint_line("");
    }
    let mut project = scene.find_project()?;
    if project.env.author.is_none() && project.repo.identity()?.is_none() {
        // The demo must work without a git identity.
        project.env.author = Some(GitIdentity::default());
    }
    let prepared = project.prepare(&RunRequest {
        goal: DEMO_GOAL.to_owned(),
        // The script requires this workflow, whatever the user has configured for their own
        // projects.
        workflow: Some("codeteam".to_owned()),
        worker: Some("scripted".to_owned()),
        ..RunRequest::default()
    })?;
    let engine = scene.open_engine(project)?;
    if let Some(logs) = own_logs {
        // The commands that the demo suggests access this log as the user.
        logs.record(&sample.join(".codeteam/state.db"))
            .map_err(engine::Error::from)?;
    }
    let started = engine.plan_run(prepared, now())?;
    let (id, stop) = driver::start(
        &engine,
        started,
        &drive::driver_options(false)?,
        &drive::observer(&scene, &engine),
    )?;
    let exit = drive::report_stop(&scene, &engine, &id, &stop)?;
    if exit == Exit::Done && !scene.json && scene.detail >= Verbosity::Normal {
        let CommandPrefixes { codeteam, .. } = &scene.calls;
        eprint_line(&format!("  story   {codeteam} log"));
        eprint_line(&format!(
            "  summary {}/.codeteam/runs/{id}/summary.md",
            sample.display()
        ));
    }
    Ok(exit)
}

/// Removes the last demo; refuses to touch anything else.
fn remove_last_demo(folder: &Path, scene: &CliContext) -> Result<(), Problem> {
    if !folder.exists() {
        return Ok(());
    }
    let empty = fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_none());
    if empty {
        return Ok(());
    }
    if !folder.join(MARKER).is_file() {
        return Err(
            Problem::user(format!("`{}` was not made by a demo", folder.display()))
                .hint("name a folder that does not exist yet with `--dir`"),
        );
    }
    if has_own_files(folder, scene) {
        return Err(Problem::user(format!(
            "`{}` has files or changes that the last demo did not make, and would lose them",
            folder.display()
        ))
        .hint("move them elsewhere, or name a folder that does not exist yet with `--dir`"));
    }
    fs::remove_dir_all(folder).map_err(|e| {
        Problem::environment(format!(
            "could not remove the last demo in `{}`",
            folder.display()
        ))
        .caused_by(&e)
    })
}

/// Returns true if the folder of the last demo contains something that the demo did not create.
fn has_own_files(folder: &Path, scene: &CliContext) -> bool {
    const MADE: [&str; 3] = [MARKER, "sample", "state"];
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names = entries.map(|entry| entry.file_name());
    if names.any(|name| MADE.iter().all(|made| name != *made)) {
        return true;
    }
    let sample = folder.join("sample");
    if !sample.join(".git").exists() {
        // The last demo did not finish.
        return false;
    }
    let sample = Engine::repository(&sample, &scene.env);
    sample.is_ok_and(|repo| repo.is_dirty().unwrap_or(true))
}

fn create_sample(folder: &Path, sample: &Path, scene: &CliContext) -> Result<(), Problem> {
    let problem = |path: &Path| {
        let what = format!("could not write `{}`", path.display());
        move |e: std::io::Error| Problem::environment(what).caused_by(&e)
    };
    fs::create_dir_all(sample).map_err(problem(sample))?;
    fs::write(folder.join(MARKER), "").map_err(problem(folder))?;
    for (path, text) in DEMO_FILES {
        let path = sample.join(path);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).map_err(problem(parent))?;
        }
        fs::write(&path, text).map_err(problem(&path))?;
    }
    let config = sample.join(".codeteam/config.yml");
    if !config.exists() {
        let text = "verification:\n  commands:\n    - { name: tests, command: sh tests/run.sh }\n";
        fs::create_dir_all(sample.join(".codeteam")).map_err(problem(&config))?;
        fs::write(&config, text).map_err(problem(&config))?;
    }
    let git = GitProgram::new(git::GitEnvironment {
        path: scene.env.path.clone(),
        home: scene.env.home.clone().map(Into::into),
        xdg_config_home: scene.env.config_home.clone().map(Into::into),
        codeteam: None,
    })?;
    let signature = CommitSignature {
        identity: GitIdentity::default(),
        seconds: i64::try_from(now().0 / 1_000).unwrap_or(0),
    };
    git.init(sample, "A small project to begin with", &signature)?;
    Ok(())
}
