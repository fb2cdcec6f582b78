//! Chooses the plan that a command works on: which plans a project has, which one is unfinished,
//! and why a plan cannot be carried out.
//!
//! It judges by the files of the project; the log, where there is one, only tells what is under way.
//! Every surface that starts runs asks here, so that all of them choose and refuse alike.

use std::path::PathBuf;

use codeteam_core::Run;
use codeteam_core::ids::{RunId, is_valid_name};
use codeteam_core::views::plans_only;
use codeteam_report::rebuild::{self, PlanOnDisk};

use crate::engine::{Engine, Project};
use crate::problem::Problem;

/// Returns true if a word names a plan of the project.
pub fn names_plan(project: &Project, word: &str) -> bool {
    is_valid_name(word) && plan_path(project, word).is_file()
}

/// Returns true if a plan of this id was begun. One that is still being discussed has a folder with
/// nothing in it.
pub fn has_plan_folder(project: &Project, id: &str) -> bool {
    is_valid_name(id) && project.folder.join("planning").join(id).is_dir()
}

/// Returns the path of the file of a plan.
pub fn plan_path(project: &Project, id: &str) -> PathBuf {
    project.folder.join("planning").join(id).join("plan.yml")
}

/// Returns the id of the plan that a run makes.
fn plan_id(run: &Run) -> &str {
    let own = run.plan.as_ref().map(|plan| plan.plan_id.as_str());
    own.filter(|id| !id.is_empty()).unwrap_or(&run.plan_id)
}

/// Returns the plan that an open conversation has not finished yet, if there is one.
fn open_conversation(engine: Option<&Engine>) -> Result<Option<String>, Problem> {
    let Some(engine) = engine else {
        return Ok(None);
    };
    for row in engine.store.runs()? {
        if matches!(row.status.as_str(), "completed" | "failed" | "aborted") {
            continue;
        }
        let run = engine.load_run(&RunId(row.id))?;
        if plans_only(&run) {
            return Ok(Some(plan_id(&run).to_owned()));
        }
    }
    Ok(None)
}

/// Returns the newest plan that is accepted and not finished, judging by files alone; no log is
/// needed.
///
/// `engine` is the project's engine, if the project has had a run: with it, work that is under way
/// is not started a second time, and a conversation about a plan is found.
pub fn unfinished_plan(project: &Project, engine: Option<&Engine>) -> Result<PlanOnDisk, Problem> {
    let plans = rebuild::find_plans(&project.repo, &project.head)?;
    let Some(found) = plans.iter().find(|found| found.is_open()) else {
        let is_draft = |p: &&PlanOnDisk| p.problem.is_none() && !p.accepted && !p.is_finished();
        return match plans.iter().find(is_draft) {
            Some(draft) => Err(Problem::user("there is no goal, and no plan is accepted")
                .hint(format!(
                    "`codeteam plan {}` shows the draft and asks",
                    draft.plan.plan_id
                ))
                .hint(format!(
                    "`codeteam run --plan {}` carries the draft out",
                    draft.path.display()
                ))),
            None => match open_conversation(engine)? {
                Some(plan) => Err(
                    Problem::user("there is no goal, and no plan is accepted").hint(format!(
                        "`codeteam plan {plan}` continues the one that was begun"
                    )),
                ),
                None => Err(nothing_to_do(&plans)),
            },
        };
    };
    let modified = |found: &PlanOnDisk| {
        let metadata = std::fs::metadata(&found.path);
        metadata.and_then(|metadata| metadata.modified()).ok()
    };
    let open = plans.iter().filter(|found| found.is_open());
    let newest: Vec<&str> = open
        .filter(|other| modified(other) == modified(found))
        .map(|other| other.plan.plan_id.as_str())
        .collect();
    if newest.len() > 1 {
        let names = newest.join(", ");
        return Err(
            Problem::user(format!("several plans are equally new: {names}"))
                .hint(format!("say which: `codeteam run {}`", newest[0])),
        );
    }
    if let Some(engine) = engine {
        // Work under way is resumed, not started a second time.
        for id in found.runs.iter().rev() {
            let row = engine.store.run(id)?;
            let open = row.is_some_and(|row| {
                !matches!(row.status.as_str(), "completed" | "failed" | "aborted")
            });
            if open {
                let plan = &found.plan.plan_id;
                return Err(
                    Problem::user(format!("{id} has not ended; it works on {plan}"))
                        .hint(format!("`codeteam resume {id}` continues it")),
                );
            }
        }
    }
    Ok(found.clone())
}

/// Explains why there is nothing to carry out, and what to do.
fn nothing_to_do(plans: &[PlanOnDisk]) -> Problem {
    let wants = "say what you want: `codeteam run \"add a --json flag\"`";
    if let Some(broken) = plans.iter().find(|found| found.problem.is_some()) {
        let path = broken.path.display();
        return Problem::user("there is no goal, and no plan that can be carried out")
            .hint(format!(
                "`codeteam run --plan {path}` says what is wrong with that plan"
            ))
            .hint(wants);
    }
    match plans.first() {
        None => Problem::user("there is no goal, and no plan to carry out")
            .hint(wants)
            .hint("or shape a plan first: `codeteam plan \"add a --json flag\"`"),
        Some(newest) => {
            let plan = &newest.plan.plan_id;
            let what = match plans.len() {
                1 => format!("the plan {plan} is done, and there is no goal"),
                2 => "both plans are done, and there is no goal".to_owned(),
                all => format!("all {all} plans are done, and there is no goal"),
            };
            Problem::user(what)
                .hint(wants)
                .hint("`codeteam status` shows what was done; `codeteam merge` merges it")
        }
    }
}

/// Refuses a goal that is the id of a plan that does not exist: nobody wants that built.
pub fn refuse_missing_plan(project: &Project, goal: &str) -> Result<(), Problem> {
    if has_plan_folder(project, goal) {
        return Err(Problem::user(format!(
            "the plan `{goal}` has not been made and accepted yet"
        ))
        .hint(format!("`codeteam plan {goal}` continues it")));
    }
    let number = goal.strip_prefix("feature-");
    let is_id = |n: &str| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit());
    if number.is_some_and(is_id) {
        return Err(Problem::user(format!("there is no plan `{goal}`"))
            .hint("`codeteam status` lists the plans"));
    }
    Ok(())
}

/// Refuses a plan that nobody has accepted, or that is done. Naming its file carries it out all the
/// same.
pub fn require_accepted(project: &Project, plan: &str) -> Result<(), Problem> {
    let path = plan_path(project, plan);
    let loaded = project.read_plan(&path)?;
    let file = path.display();
    if loaded.accepted == Some(false) {
        return Err(
            Problem::user(format!("nobody has accepted the plan `{plan}`"))
                .hint(format!("`codeteam plan {plan}` shows it and asks"))
                .hint(format!(
                    "`codeteam run --plan {file}` carries it out as it is"
                )),
        );
    }
    let found = rebuild::read_plan(&project.repo, &project.head, &path)?;
    if found.is_finished() {
        return Err(Problem::user(format!("the plan `{plan}` is done"))
            .hint("`codeteam plan \"what you want\"` makes another one"));
    }
    Ok(())
}
