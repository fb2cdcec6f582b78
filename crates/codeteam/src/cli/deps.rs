//! `codeteam deps`: which tasks of a plan need which, by what their files import.
//!
//! What is found is a proposal. Nothing is written that a person, or `--yes`, has not agreed to.

mod ask;
mod files;
mod suggest;
mod told;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use codeteam_core::ids::TaskId;
use codeteam_core::plan::{self, AmendError, LoadedPlan};
use codeteam_engine::engine::{MAX_TASKS, Project};
use codeteam_engine::rebuild;
use codeteam_engine::store::ProcessIdentity;
use serde::Serialize;
use serde_json::json;

use self::suggest::{DependencyFindings, DependencyStatus, SuggestedDependency, UnconfirmedImport};
use crate::cli::CliContext;
use crate::exit::Exit;
use crate::output::{self, out, say};
use crate::problem::Problem;
use crate::progress::Verbosity;

/// Arguments of `deps`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The plan's file. The newest below `.codeteam/planning` if left out.
    plan: Option<PathBuf>,
    /// Add what is found to the plan without asking.
    #[arg(long)]
    yes: bool,
}

/// What `--json` prints.
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
    let project = scene.project()?;
    let path = match &args.plan {
        Some(path) => scene.folder.join(path),
        None => newest(&project)?,
    };
    files::stays(&path, project.repo.top_level())?;
    let loaded = project.read_plan(&path)?;
    let text = files::read(&path)?;
    let mut notes = Vec::new();
    let known = rebuild::plan(&project.repo, &project.head, &path)?;
    let graph = files::graph(&project.repo, &loaded.plan, &mut notes)?;
    let found = suggest::suggest(&loaded.plan, &known.statuses, &graph);
    let shown = shown(&path, &project);
    let redactor = project.redactor()?;
    if !scene.json && (scene.detail >= Verbosity::Normal || !args.yes) {
        out(&redactor.redact(&told::found(&found)).text)?;
        for note in &notes {
            say(&redactor.redact(&format!("note: {note}")).text);
        }
    }
    let mut wanted: Vec<AddedDependency> = new(&found).collect();
    if !args.yes {
        wanted = if ask::is_terminal() && !scene.json {
            ask::choose(&loaded.plan, &found, wanted)?
        } else {
            Vec::new()
        };
    }
    if !wanted.is_empty() {
        write(&path, &text, &wanted, &loaded, scene)?;
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
        output::json(&report)?;
    } else if scene.detail >= Verbosity::Normal {
        end(args, scene, &found, &wanted, &shown);
    }
    Ok(Exit::Done)
}

/// What could be added.
fn new(found: &DependencyFindings) -> impl Iterator<Item = AddedDependency> {
    let new = found.dependencies.iter();
    new.filter(|found| found.standing == DependencyStatus::New)
        .map(|found| AddedDependency {
            task: found.task.clone(),
            on: found.on.clone(),
        })
}

/// Says what came of it.
fn end(
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
        say(&format!("added {many} to {shown}"));
    } else if new(found).next().is_some() && !args.yes {
        if ask::is_terminal() {
            say("nothing was added");
        } else {
            let codeteam = &scene.calls.codeteam;
            say(&format!(
                "nothing was added; `{codeteam} deps {shown} --yes` adds what is new"
            ));
        }
    }
}

/// The newest plan of the project.
fn newest(project: &Project) -> Result<PathBuf, Problem> {
    let plans = rebuild::plans(&project.repo, &project.head)?;
    let newest = plans.into_iter().next().map(|found| found.path);
    newest.ok_or_else(|| {
        Problem::user("there is no plan below `.codeteam/planning`")
            .hint("name a file: `codeteam deps plan.yml`")
            .hint("a run makes a plan first: `codeteam run \"what you want\"`")
    })
}

/// A path as seen from the top of the repository, if it is in it.
fn shown(path: &Path, project: &Project) -> String {
    let path = path.strip_prefix(project.repo.top_level()).unwrap_or(path);
    path.display().to_string()
}

/// Writes dependencies into the plan's file.
fn write(
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
    let amended = plan::amend(&file, text, &more, MAX_TASKS * 100);
    let amended = amended.map_err(|error| match &error {
        AmendError::Unusual(task) => Problem::user(error.to_string()).hint(format!(
            "add to the `dependencies` of `{task}` by hand; nothing was written"
        )),
        AmendError::Invalid(_) => Problem::user(error.to_string()).hint("nothing was written"),
    })?;
    files::replace(path, text, &amended)
}

/// A plan is changed while nobody carries it out.
fn refuse_driven(loaded: &LoadedPlan, scene: &CliContext) -> Result<(), Problem> {
    let Some(engine) = scene.existing()? else {
        return Ok(());
    };
    let own = ProcessIdentity::this_process("");
    for run in &loaded.runs {
        let holder = engine.store.holder(run)?;
        if holder.is_some_and(|holder| !holder.owner.is_gone(&own)) {
            return Err(
                Problem::user(format!("{run} is under way and carries this plan out"))
                    .hint("stop it (Ctrl-C), then `codeteam deps` again; `codeteam resume` goes on with the new plan"),
            );
        }
    }
    Ok(())
}
