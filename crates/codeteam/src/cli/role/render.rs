//! `codeteam role render`: prints the prompt that a role's worker would get.

use std::path::PathBuf;

use codeteam_core::ids::{RoleName, StepId, TaskId};
use codeteam_core::role::Role;
use codeteam_core::workflow::StepKind;
use codeteam_engine::engine::{self, PreviewRequest, Project, RunRequest};
use codeteam_engine::library::is_file;
use codeteam_workflow::language::CompiledWorkflow;
use serde_json::json;

use crate::cli::CliContext;
use crate::exit::Exit;
use crate::output::{self, eprint_line, print_line};
use crate::progress::Verbosity;
use codeteam_engine::problem::Problem;

/// Arguments of `role render`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The role, by its name in the workflow; or any other role.
    role: String,
    /// The task to render the prompt for.
    #[arg(long, value_name = "ID", requires = "plan")]
    task: Option<String>,
    /// The plan that contains the task.
    #[arg(long, value_name = "FILE")]
    plan: Option<PathBuf>,
    /// What you want; the plan's description if left out.
    #[arg(long, value_name = "TEXT")]
    goal: Option<String>,
    /// The workflow whose role it is, if not the configured one.
    #[arg(long, value_name = "NAME")]
    workflow: Option<String>,
}

pub(super) fn main(args: &Args, scene: &CliContext) -> Result<Exit, Problem> {
    let project = scene.find_project()?;
    let seen = |name: &String| {
        if is_file(name) {
            scene.folder.join(name).display().to_string()
        } else {
            name.clone()
        }
    };
    let compiled = project.workflow(&RunRequest {
        workflow: args.workflow.as_ref().map(seen),
        ..RunRequest::default()
    })?;
    let (role, step) = find_role(&project, &compiled, &args.role)?;
    let plan = match &args.plan {
        None => None,
        Some(path) => Some(project.read_plan(&scene.folder.join(path))?.plan),
    };
    let described = plan.as_ref().map(|plan| plan.description.clone());
    let described = described.filter(|text| !text.trim().is_empty());
    let goal = args.goal.clone().or(described);
    let prompt = project.preview(
        &role,
        PreviewRequest {
            goal: goal.unwrap_or_else(|| "(what you want: say it with `--goal`)".to_owned()),
            step,
            task: args.task.clone().map(TaskId),
            plan,
            rules: project.config.rules_for_workflow(&compiled),
        },
    )?;
    if scene.json {
        output::print_json(&json!({
            "role": args.role,
            "system": prompt.system,
            "user": prompt.user,
            "tokens": prompt.tokens(),
        }))?;
        return Ok(Exit::Done);
    }
    print_line("--- system prompt")?;
    print_line(prompt.system.trim_end())?;
    print_line("--- user prompt")?;
    print_line(prompt.user.trim_end())?;
    if scene.detail >= Verbosity::Normal {
        eprint_line(&format!("{} tokens", prompt.tokens()));
    }
    Ok(Exit::Done)
}

/// Finds a role of the workflow and the first step that uses it, or else any role.
fn find_role(
    project: &Project,
    compiled: &CompiledWorkflow,
    name: &str,
) -> Result<(Role, Option<StepId>), Problem> {
    let called = RoleName(name.to_owned());
    if let Some(role) = compiled.roles.get(&called) {
        let asks = |kind: &StepKind| match kind {
            StepKind::Role(step) => step.slots.contains(&called),
            _ => false,
        };
        let mut steps = compiled.workflow.steps.values();
        let step = steps.find(|step| asks(&step.kind));
        return Ok((role.clone(), step.map(|step| step.id.clone())));
    }
    let resolved = project.library().resolve(name);
    Ok((resolved.map_err(engine::Error::from)?.role, None))
}
