//! `codeteam deps`: finds out which tasks of a plan depend on which, by the imports of their files.
//!
//! The result is a proposal. Nothing is written that a person, or `--yes`, has not agreed to.

mod choose;
mod files;
mod render;
mod suggest;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use codeteam_core::ids::TaskId;
use codeteam_engine::engine::{MAX_TASKS, Project};
use codeteam_host::store::ProcessIdentity;
use codeteam_report::rebuild;
use codeteam_workflow::plan_file::{self, AmendError, LoadedPlan};
use serde::Serialize;
use serde_json::json;

use self::suggest::{DependencyFindings, DependencyStatus, SuggestedDependency, UnconfirmedImport};
use crate::cli::CliContext;
use crate::exit::Exit;
use crate::output::{self, eprint_line, print_text};
use crate::progress::Verbosity;
use codeteam_engine::problem::Problem;

/// Arguments of `deps`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The plan's file. The newest below `.codeteam/planning` if left out.
    plan: Option<PathBuf>,
    /// Add the dependencies to the plan without asking.
    #[arg(long)]
    yes: bool,
}

/// The output of `--json`.
#[derive(Serialize)]
struct DepsReport<'a> {
    plan: String,
    dependencies: &'a [SuggestedDependency],
    unconfirmed: &'a [UnconfirmedImport],
    added: &'a [AddedDependency],
    notes: &'a [String],
}

/// A dependency that was written into the plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct AddedDependency {
    task: TaskId,
    on: TaskId,
}

pub(crate) fn main(args: &Args, scene: &CliContext) -> Result<Exit, Problem> {
    let project = scene.find_project()?;
    let path = match &args.plan {
        Some(path) => scene.folder.join(path),
        None => newest_plan(&project)?,
    };
    files::refuse_outside_repo(&path, project.repo.top_level())?;
    let loaded = project.read_plan(&path)?;
    let text = files::read_plan(&path)?;
    let mut notes = Vec::new();
    let known = rebuild::read_plan(&project.repo, &project.head, &path)?;
    let graph = files::import_graph(&project.repo, &loaded.plan, &mut notes)?;
    let found = suggest::suggest_dependencies(&loaded.plan, &known.statuses, &graph);
    let shown = display_path(&path, &project);
    let redactor = project.redactor()?;
    if !scene.json && (scene.detail >= Verbosity::Normal || !args.yes) {
        print_text(&redactor.redact(&render::format_findings(&found)).text)?;
        for note in &notes {
            eprint_line(&redactor.redact(&format!("note: {note}")).text);
        }
    }
    let mut wanted: Vec<AddedDependency> = new_dependencies(&found).collect();
    if !args.yes {
        wanted = if choose::is_terminal() && !scene.json {
            choose::choose_dependencies(&loaded.plan, &found, wanted)?
        } else {
            Vec::new()
        };
    }
    if !wanted.is_empty() {
        write_dependencies(&path, &text, &wanted, &loaded, scene)?;
    }
    if scene.json {
        let mut report = json!(DepsReport {
            plan: shown,
            dependencies: &found.dependencies,
            unconfirmed: &found.unconfirmed,
            added: &wanted,
            notes: &notes,
        });
        output::redact(&mut report, &redactor);
        output::print_json(&report)?;
    } else if scene.detail >= Verbosity::Normal {
        report_outcome(args, scene, &found, &wanted, &shown);
    }
    Ok(Exit::Done)
}

/// Returns the dependencies that could be added.
fn new_dependencies(found: &DependencyFindings) -> impl Iterator<Item = AddedDependency> {
    let new = found.dependencies.iter();
    new.filter(|found| found.standing == DependencyStatus::New)
        .map(|found| AddedDependency {
            task: found.task.clone(),
            on: found.on.clone(),
        })
}

/// Reports the outcome.
fn report_outcome(
    args: &Args,
    scene: &CliContext,
    found: &DependencyFindings,
    added: &[AddedDependency],
    shown: &str,
) {
    if !added.is_empty() {
        let many = match added.len() {
            1 => "1 dependency".to_owned(),
            many => format!("{many} dependencies"),
        };
        eprint_line(&format!("added {many} to {shown}"));
    } else if new_dependencies(found).next().is_some() && !args.yes {
        if choose::is_terminal() {
            eprint_line("nothing was added");
        } else {
            let codeteam = &scene.calls.codeteam;
            eprint_line(&format!(
                "nothing was added; `{codeteam} deps {shown} --yes` adds what is new"
            ));
        }
    }
}

/// Returns the newest plan of the project.
fn newest_plan(project: &Project) -> Result<PathBuf, Problem> {
    let plans = rebuild::find_plans(&project.repo, &project.head)?;
    let newest = plans.into_iter().next().map(|found| found.path);
    newest.ok_or_else(|| {
        Problem::user("there is no plan below `.codeteam/planning`")
            .hint("name a file: `codeteam deps plan.yml`")
            .hint("a run makes a plan first: `codeteam run \"what you want\"`")
    })
}

/// Returns a path relative to the top of the repository, if it is inside.
fn display_path(path: &Path, project: &Project) -> String {
    let path = path.strip_prefix(project.repo.top_level()).unwrap_or(path);
    path.display().to_string()
}

/// Writes dependencies into the plan file.
fn write_dependencies(
    path: &Path,
    text: &str,
    wanted: &[AddedDependency],
    loaded: &LoadedPlan,
    scene: &CliContext,
) -> Result<(), Problem> {
    refuse_driven(loaded, scene)?;
    let mut more: BTreeMap<TaskId, Vec<TaskId>> = BTreeMap::new();
    for added in wanted {
        let on = more.entry(added.task.clone()).or_default();
        on.push(added.on.clone());
    }
    let file = path.display().to_string();
    let amended = plan_file::add_dependencies(&file, text, &more, MAX_TASKS * 100);
    let amended = amended.map_err(|error| match &error {
        AmendError::Unusual(task) => Problem::user(error.to_string()).hint(format!(
            "add to the `dependencies` of `{task}` by hand; nothing was written"
        )),
        AmendError::Invalid(_) => Problem::user(error.to_string()).hint("nothing was written"),
    })?;
    files::replace_plan(path, text, &amended)
}

/// Refuses to change a plan that is being carried out.
fn refuse_driven(loaded: &LoadedPlan, scene: &CliContext) -> Result<(), Problem> {
    let Some(engine) = scene.existing_engine()? else {
        return Ok(());
    };
    let own = ProcessIdentity::this_process("");
    for run in &loaded.runs {
        let holder = engine.store.holder(run)?;
        if holder.is_some_and(|holder| !holder.owner.is_gone(&own)) {
            return Err(
                Problem::user(format!("{run} is under way and carries this plan out"))
                    .hint("stop it (Ctrl-C), then `codeteam deps` again; `codeteam resume` continues with the new plan"),
            );
        }
    }
    Ok(())
}
