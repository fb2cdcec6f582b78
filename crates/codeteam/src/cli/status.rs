//! `codeteam status`: lists the runs of a project, or shows one of them.

use codeteam_core::ids::RunId;
use codeteam_core::rollup::RunStatus;
use codeteam_core::schedule::TaskStatus;
use codeteam_core::untrusted_text::one_line;
use codeteam_core::views::TeamState;
use codeteam_engine::clock::now;
use codeteam_engine::engine::{Engine, KeptDecision};
use codeteam_host::store::RunRow;
use codeteam_report::view::{IdleDeadline, LoadedRun, QuestionView, RunListItem, RunView};
use codeteam_report::{describe, rebuild};
use serde_json::json;

use crate::cli::{CliContext, RunName, decide, show};
use crate::exit::Exit;
use crate::output::{self, TerminalStyle, eprint_line, print_line};
use codeteam_engine::problem::Problem;

/// The status of a run that could continue but that nobody drives.
const STOPPED: &str = "stopped";

/// Arguments of `status`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    run: RunName,
}

pub(crate) fn main(args: &Args, scene: &CliContext) -> Result<Exit, Problem> {
    let Some(engine) = scene.existing_engine()? else {
        return print_rebuilt(scene);
    };
    if args.run.run.is_some() {
        let run = engine.load_run_view(&engine.find_run(args.run.run.as_deref())?)?;
        if scene.json {
            output::print_json(&show::shown_run(&engine, &run)?)?;
        } else {
            show::print_overview(&engine, &run, scene)?;
        }
        return Ok(Exit::Done);
    }
    let runs = engine.store.runs()?;
    let rows = runs
        .iter()
        .map(|row| RunStatusRow::from_row(&engine, row))
        .collect::<Result<Vec<_>, _>>()?;
    if scene.json {
        let rows: Vec<RunListItem> = rows.iter().map(RunStatusRow::item).collect();
        output::print_json(&rows)?;
        return Ok(Exit::Done);
    }
    if runs.is_empty() {
        eprint_line("no runs yet; `codeteam run \"what you want\"` starts one");
    }
    for row in &rows {
        row.print()?;
    }
    if rows.iter().all(|row| row.run.is_none()) {
        let newest = runs
            .first()
            .map(|row| engine.load_run_view(&RunId(row.id.clone())));
        let newest = newest.transpose()?;
        let kept = match &newest {
            Some(run) => show::kept_decisions_of(&engine, run.id_of_run())?,
            None => Vec::new(),
        };
        print_line(&describe_at_rest(newest.as_ref(), &kept))?;
    }
    Ok(Exit::Done)
}

/// Describes a project with nothing under way: the outcome of the newest run.
fn describe_at_rest(newest: Option<&LoadedRun>, kept: &[KeptDecision]) -> String {
    let state = newest.map_or(TeamState::Idle, LoadedRun::state_of_team);
    let what = match (state, newest) {
        (_, Some(run)) if !kept.is_empty() => {
            let kept: Vec<String> = kept.iter().map(decide::kept_line).collect();
            format!(
                "{} waits to be taken up; decided: {}; `{}` carries that out",
                run.id_of_run(),
                kept.join("; "),
                decide::continue_hint(run)
            )
        }
        (TeamState::HaltedForError, Some(run)) => {
            let id = run.id_of_run();
            format!("{id} failed; `codeteam retry {id}` takes it up again")
        }
        (TeamState::CodingAwaitingTaskSelection, Some(run)) => {
            let plan = &run.plan;
            format!(
                "{plan} is accepted and nothing of it is coded; `codeteam run {plan}` does that"
            )
        }
        (TeamState::PlanComplete, Some(run)) => {
            format!("{} is done; nothing is under way", run.id_of_run())
        }
        _ => "nothing is under way".to_owned(),
    };
    format!("{}  {what}", paint_status(state.as_str()))
}

/// Returns the word for a run's status. A run that could continue but that nobody drives is
/// stopped.
pub(crate) fn status_word(engine: &Engine, run: &RunView) -> Result<&'static str, Problem> {
    let status = run.status;
    let would = matches!(status, RunStatus::Running | RunStatus::Paused);
    if would && !decide::is_driven(engine, &run.id)? {
        return Ok(STOPPED);
    }
    Ok(status.as_str())
}

/// A run in the list.
struct RunStatusRow<'a> {
    known: &'a RunRow,
    /// The word for its status.
    status: &'a str,
    /// The run itself, if it has not ended.
    run: Option<LoadedRun>,
    /// Whether a process drives it.
    is_driven: bool,
    /// The decisions on it that wait for somebody to drive it.
    kept: Vec<KeptDecision>,
}

impl<'a> RunStatusRow<'a> {
    fn from_row(engine: &Engine, row: &'a RunRow) -> Result<Self, Problem> {
        let ended = matches!(row.status.as_str(), "completed" | "failed" | "aborted");
        let id = RunId(row.id.clone());
        let driven = !ended && decide::is_driven(engine, &id)?;
        let status = match (ended, driven, row.status.as_str()) {
            (false, false, "running" | "paused") => STOPPED,
            (_, _, status) => status,
        };
        let run = if ended {
            None
        } else {
            Some(engine.load_run_view(&id)?)
        };
        let kept = match &run {
            Some(run) => show::kept_decisions(engine, run)?,
            None => Vec::new(),
        };
        Ok(Self {
            kept,
            known: row,
            status,
            run,
            is_driven: driven,
        })
    }

    /// Returns the row as plain data.
    fn item(&self) -> RunListItem {
        RunListItem::new(self.known, self.run.as_deref())
    }

    /// Returns the deadline of a question that passes without effect, because nobody drives the run.
    fn idle_deadline(&self, run: &RunView, asked: &QuestionView) -> Option<IdleDeadline> {
        let approval = asked.approval.as_ref().filter(|_| !self.is_driven)?;
        IdleDeadline::of_approval(&run.id, approval, now())
    }

    fn print(&self) -> Result<(), Problem> {
        let (id, status) = (&self.known.id, paint_status(self.status));
        print_line(&format!("{status}  {id}  {}", self.known.headline))?;
        for frame in self.run.iter().flat_map(|run| &run.frames) {
            let (name, step, state) = (frame.path.name(), &frame.step, frame.state.as_str());
            print_line(&format!(
                "           {state}  {name} at {step}, round {}",
                frame.round
            ))?;
        }
        let Some(run) = &self.run else { return Ok(()) };
        for asked in &run.questions {
            let question = &asked.question;
            let offered = if question.answers.is_empty() {
                "any text".to_owned()
            } else {
                question.answers.join(", ")
            };
            let place = question.id.frame.name();
            let text = one_line(describe::first_line(&question.text));
            print_line(&format!("           asks ({place}): {text} [{offered}]"))?;
            for point in &question.points {
                print_line(&format!("             - {}", one_line(point)))?;
            }
            if let Some(deadline) = self.idle_deadline(run, asked) {
                print_line(&format!("             {}", one_line(&deadline.to_line())))?;
            }
            if self.kept.is_empty() {
                eprint_line(&format!(
                    "           answer: codeteam answer {id} {}",
                    answer_form(run, asked)
                ));
            }
        }
        for kept in &self.kept {
            print_line(&format!("           decided: {}", decide::kept_line(kept)))?;
        }
        if run.plans_only {
            let plan = &run.plan;
            eprint_line(&format!(
                "           {plan} is not accepted yet; go on: codeteam plan {plan}"
            ));
            return Ok(());
        }
        match (self.status, run.cost.reached_limit) {
            _ if !self.kept.is_empty() => eprint_line(&format!(
                "           `{}` carries out what was decided",
                decide::continue_hint(run)
            )),
            (STOPPED, _) => {
                eprint_line(&format!("           go on: {}", decide::continue_hint(run)));
            }
            ("limited", Some(limit)) => eprint_line(&format!(
                "           limit reached ({}); go on: codeteam resume {id}{}",
                describe::limit_name(limit),
                run.raise_limit_flag(limit)
            )),
            _ => {}
        }
        Ok(())
    }
}

/// Returns what follows `codeteam answer RUN` to answer a question.
fn answer_form(run: &RunView, asked: &QuestionView) -> String {
    let question = &asked.question;
    let words = if question.answers.is_empty() {
        "\"…\"".to_owned()
    } else {
        question.answers.join("|")
    };
    let which = match run.questions.len() {
        1 => String::new(),
        _ => format!(" --task {}", question.id.frame.name()),
    };
    format!("{words}{which}")
}

fn paint_status(status: &str) -> String {
    let style = TerminalStyle::detect();
    let padded = format!("{status:<9}");
    match status {
        "completed" => style.green(&padded),
        "failed" | "aborted" => style.red(&padded),
        "waiting" | "limited" | STOPPED => style.yellow(&padded),
        _ => style.cyan(&padded),
    }
}

/// Prints the progress found in the plan and the commits, because there is no log.
fn print_rebuilt(scene: &CliContext) -> Result<Exit, Problem> {
    let (repo, head) = Engine::discover(&scene.folder, &scene.env)?;
    print_plans(scene, &rebuild::find_plans(&repo, &head)?)
}

/// Does the same for one run or plan, or the newest, which must exist.
pub(crate) fn print_rebuilt_run(scene: &CliContext, name: Option<&str>) -> Result<Exit, Problem> {
    let (repo, head) = Engine::discover(&scene.folder, &scene.env)?;
    let mut plans = rebuild::find_plans(&repo, &head)?;
    if let Some(name) = name {
        let is = |run: &String| run.contains(name);
        plans.retain(|found| found.plan.plan_id == name || found.runs.iter().any(is));
    }
    plans.truncate(1);
    if plans.is_empty() {
        return Err(Problem::from(codeteam_engine::engine::Error::NoRuns));
    }
    print_plans(scene, &plans)
}

fn print_plans(scene: &CliContext, plans: &[rebuild::PlanOnDisk]) -> Result<Exit, Problem> {
    if scene.json {
        let found: Vec<serde_json::Value> = plans
            .iter()
            .map(|p| {
                json!({
                    "rebuilt": true, "plan": p.path, "description": p.plan.description,
                    "branch": p.branch.as_ref().map(|(name, _)| name), "tasks": p.statuses, "problem": p.problem,
                    "state": p.team_state().as_str(), "accepted": p.accepted, "runs": p.runs,
                    "claims": p.claims.iter().map(|claim| json!({
                        "task": claim.task.0, "commit": claim.commit.as_str(),
                    })).collect::<Vec<_>>(),
                    "reports": p.reports.iter().map(|(task, report)| (task.0.clone(), json!({
                        "result": report.result, "file": report.path,
                    }))).collect::<serde_json::Map<_, _>>(),
                })
            })
            .collect();
        output::print_json(&found)?;
        return Ok(Exit::Done);
    }
    if plans.is_empty() {
        eprint_line("no runs yet; `codeteam run \"what you want\"` starts one");
        print_line(&describe_at_rest(None, &[]))?;
        return Ok(Exit::Done);
    }
    eprint_line(
        "the log (`.codeteam/state.db`) is gone; this is rebuilt from the plans, the reports and commit trailers",
    );
    for found in plans {
        print_plan(found)?;
    }
    Ok(Exit::Done)
}

/// Prints a plan as found on disk.
fn print_plan(found: &rebuild::PlanOnDisk) -> Result<(), Problem> {
    let path = found.path.display();
    print_line(&format!("{}  {path}", found.describe_progress()))?;
    print_line(&format!("  state      {}", found.team_state().as_str()))?;
    if let Some(problem) = &found.problem {
        return print_line(&format!(
            "  cannot be read: {}",
            describe::first_line(problem)
        ));
    }
    for task in &found.plan.tasks {
        let status = found.statuses.get(&task.id).copied().unwrap_or_default();
        let judged = found
            .reports
            .get(&task.id)
            .filter(|_| status != TaskStatus::Completed);
        let judged = judged.map(|report| format!("  (last judged: {})", report.result));
        print_line(&format!(
            "  {:<10} {}  {}{}",
            status.as_str(),
            task.id,
            task.headline(),
            judged.unwrap_or_default()
        ))?;
    }
    if let Some((branch, _)) = &found.branch {
        print_line(&format!("  branch     {branch}"))?;
    }
    for claim in &found.claims {
        eprint_line(&format!(
            "  commit {} says that it completes `{}`, but no report of its run names it, so it does not count; \
             if you know it to be right, write `status: completed` into the plan",
            describe::short_id(claim.commit.as_str()),
            claim.task
        ));
    }
    if !found.is_finished() {
        let what = if found.accepted {
            "go on"
        } else {
            "accept and carry out"
        };
        eprint_line(&format!("  {what}: codeteam run --plan {path}"));
    }
    Ok(())
}
