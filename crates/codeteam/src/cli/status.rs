//! `codeteam status`: the runs of a project, or one of them.

use codeteam_core::Run;
use codeteam_core::frame::Frame;
use codeteam_core::ids::RunId;
use codeteam_core::quoted::one_line;
use codeteam_core::rollup::{self, RunStatus};
use codeteam_core::schedule::TaskStatus;
use codeteam_core::views::{self, TeamState};
use codeteam_engine::engine::{Engine, KeptDecision};
use codeteam_engine::store::RunRow;
use codeteam_engine::{rebuild, tell};
use serde_json::json;

use crate::cli::{CliContext, RunName, decide, drive, show};
use crate::exit::Exit;
use crate::output::{self, TerminalStyle, out_line, say};
use crate::problem::Problem;

/// The word for a run that would go on, and that nobody is at.
const STOPPED: &str = "stopped";

/// Arguments of `status`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    run: RunName,
}

pub(crate) fn main(args: &Args, scene: &CliContext) -> Result<Exit, Problem> {
    let Some(engine) = scene.existing()? else {
        return rebuilt(scene);
    };
    if args.run.run.is_some() {
        let run = engine.load(&engine.find(args.run.run.as_deref())?)?;
        if scene.json {
            output::json(&show::value(&engine, &run)?)?;
        } else {
            show::tasks(&engine, &run)?;
        }
        return Ok(Exit::Done);
    }
    let runs = engine.store.runs()?;
    let rows = runs
        .iter()
        .map(|row| RunStatusRow::of(&engine, row))
        .collect::<Result<Vec<_>, _>>()?;
    if scene.json {
        let rows: Vec<serde_json::Value> = rows.iter().map(RunStatusRow::value).collect();
        output::json(&rows)?;
        return Ok(Exit::Done);
    }
    if runs.is_empty() {
        say("no runs yet; `codeteam run \"what you want\"` starts one");
    }
    for row in &rows {
        row.print()?;
    }
    if rows.iter().all(|row| row.run.is_none()) {
        let newest = runs.first().map(|row| engine.load(&RunId(row.id.clone())));
        let newest = newest.transpose()?;
        let kept = match &newest {
            Some(run) => show::kept_decisions(&engine, run)?,
            None => Vec::new(),
        };
        out_line(&at_rest(newest.as_ref(), &kept))?;
    }
    Ok(Exit::Done)
}

/// Where a project stands in which nothing is under way: what became of the newest run.
fn at_rest(newest: Option<&Run>, kept: &[KeptDecision]) -> String {
    let state = newest.map_or(TeamState::Idle, views::team_state);
    let what = match (state, newest) {
        (_, Some(run)) if !kept.is_empty() => {
            let kept: Vec<String> = kept.iter().map(decide::kept_line).collect();
            format!(
                "{} waits to be taken up; decided: {}; `{}` carries that out",
                run.id,
                kept.join("; "),
                decide::go_on(run)
            )
        }
        (TeamState::HaltedForError, Some(run)) => {
            format!(
                "{} failed; `codeteam retry {}` takes it up again",
                run.id, run.id
            )
        }
        (TeamState::CodingAwaitingTaskSelection, Some(run)) => {
            let plan = run.plan.as_ref().map_or("", |plan| plan.plan_id.as_str());
            format!(
                "{plan} is accepted and nothing of it is coded; `codeteam run {plan}` does that"
            )
        }
        (TeamState::PlanComplete, Some(run)) => format!("{} is done; nothing is under way", run.id),
        _ => "nothing is under way".to_owned(),
    };
    format!("{}  {what}", paint(state.as_str()))
}

/// The word for where a run stands: what would go on, and nobody is at it, is stopped.
pub(crate) fn word(engine: &Engine, run: &Run) -> Result<&'static str, Problem> {
    let status = rollup::status(run);
    let would = matches!(status, RunStatus::Running | RunStatus::Paused);
    if would && !decide::driven(engine, &run.id)? {
        return Ok(STOPPED);
    }
    Ok(status.as_str())
}

/// A run in the list.
struct RunStatusRow<'a> {
    known: &'a RunRow,
    /// The word for where it stands.
    status: &'a str,
    /// The run itself, if it has not ended.
    run: Option<Run>,
    /// The decisions on it that wait for somebody to drive it.
    kept: Vec<KeptDecision>,
}

impl<'a> RunStatusRow<'a> {
    fn of(engine: &Engine, row: &'a RunRow) -> Result<Self, Problem> {
        let ended = matches!(row.status.as_str(), "completed" | "failed" | "aborted");
        let id = RunId(row.id.clone());
        let driven = !ended && decide::driven(engine, &id)?;
        let status = match (ended, driven, row.status.as_str()) {
            (false, false, "running" | "paused") => STOPPED,
            (_, _, status) => status,
        };
        let run = if ended { None } else { Some(engine.load(&id)?) };
        let kept = match &run {
            Some(run) => show::kept_decisions(engine, run)?,
            None => Vec::new(),
        };
        Ok(Self {
            kept,
            known: row,
            status,
            run,
        })
    }

    /// The frames that are at something, each with its state.
    fn frames(&self) -> impl Iterator<Item = (&Frame, &'static str)> {
        let run = self.run.iter();
        run.flat_map(|run| {
            let frames = run.frames.values().filter(|f| !f.is_ended());
            frames.map(|f| (f, views::twelve(run, f).as_str()))
        })
    }

    fn value(&self) -> serde_json::Value {
        let row = self.known;
        let frames = self
            .frames()
            .map(|(frame, state)| json!({ "frame": frame.path, "step": frame.step, "state": state, "round": frame.round }));
        json!({
            "run": row.id, "goal": row.goal, "status": row.status, "headline": row.headline,
            "created_at": row.created_at, "updated_at": row.updated_at, "events": row.seq,
            "frames": frames.collect::<Vec<_>>(),
        })
    }

    fn print(&self) -> Result<(), Problem> {
        let (id, status) = (&self.known.id, paint(self.status));
        out_line(&format!("{status}  {id}  {}", self.known.headline))?;
        for (frame, state) in self.frames() {
            let (name, step) = (frame.path.name(), &frame.step);
            out_line(&format!(
                "           {state}  {name} at {step}, round {}",
                frame.round
            ))?;
        }
        let Some(run) = &self.run else { return Ok(()) };
        for question in drive::open_questions(run) {
            let offered = if question.answers.is_empty() {
                "any text".to_owned()
            } else {
                question.answers.join(", ")
            };
            let place = question.id.frame.name();
            let text = one_line(tell::first_line(&question.text));
            out_line(&format!("           asks ({place}): {text} [{offered}]"))?;
            for point in &question.points {
                out_line(&format!("             - {}", one_line(point)))?;
            }
        }
        for kept in &self.kept {
            out_line(&format!("           decided: {}", decide::kept_line(kept)))?;
        }
        match (self.status, run.limit) {
            _ if !self.kept.is_empty() => say(&format!(
                "           `{}` carries out what was decided",
                decide::go_on(run)
            )),
            (STOPPED, _) => say(&format!("           go on: {}", decide::go_on(run))),
            ("limited", Some(limit)) => say(&format!(
                "           limit reached ({}); go on: codeteam resume {id}{}",
                tell::limit(limit),
                drive::raised(run, limit)
            )),
            _ => {}
        }
        Ok(())
    }
}

fn paint(status: &str) -> String {
    let style = TerminalStyle::detect();
    let padded = format!("{status:<9}");
    match status {
        "completed" => style.green(&padded),
        "failed" | "aborted" => style.red(&padded),
        "waiting" | "limited" | STOPPED => style.yellow(&padded),
        _ => style.cyan(&padded),
    }
}

/// Without a log: what the plan and the commits tell.
fn rebuilt(scene: &CliContext) -> Result<Exit, Problem> {
    let (repo, head) = Engine::discover(&scene.folder, &scene.env)?;
    tell_of(scene, &rebuild::plans(&repo, &head)?)
}

/// The same of one run or plan, or the newest, which must be there.
pub(crate) fn rebuilt_of(scene: &CliContext, name: Option<&str>) -> Result<Exit, Problem> {
    let (repo, head) = Engine::discover(&scene.folder, &scene.env)?;
    let mut plans = rebuild::plans(&repo, &head)?;
    if let Some(name) = name {
        let is = |run: &String| run.contains(name);
        plans.retain(|found| found.plan.plan_id == name || found.runs.iter().any(is));
    }
    plans.truncate(1);
    if plans.is_empty() {
        return Err(Problem::from(codeteam_engine::engine::Error::NoRuns));
    }
    tell_of(scene, &plans)
}

fn tell_of(scene: &CliContext, plans: &[rebuild::PlanOnDisk]) -> Result<Exit, Problem> {
    if scene.json {
        let found: Vec<serde_json::Value> = plans
            .iter()
            .map(|p| {
                json!({
                    "rebuilt": true, "plan": p.path, "description": p.plan.description,
                    "branch": p.branch.as_ref().map(|(name, _)| name), "tasks": p.statuses, "problem": p.problem,
                    "state": p.state().as_str(), "accepted": p.accepted, "runs": p.runs,
                    "claims": p.claims.iter().map(|claim| json!({
                        "task": claim.task.0, "commit": claim.commit.as_str(),
                    })).collect::<Vec<_>>(),
                    "reports": p.reports.iter().map(|(task, report)| (task.0.clone(), json!({
                        "result": report.result, "file": report.path,
                    }))).collect::<serde_json::Map<_, _>>(),
                })
            })
            .collect();
        output::json(&found)?;
        return Ok(Exit::Done);
    }
    if plans.is_empty() {
        say("no runs yet; `codeteam run \"what you want\"` starts one");
        out_line(&at_rest(None, &[]))?;
        return Ok(Exit::Done);
    }
    say(
        "the log (`.codeteam/state.db`) is gone; this is rebuilt from the plans, the reports and commit trailers",
    );
    for found in plans {
        plan(found)?;
    }
    Ok(Exit::Done)
}

/// A plan as files tell it.
fn plan(found: &rebuild::PlanOnDisk) -> Result<(), Problem> {
    let path = found.path.display();
    out_line(&format!("{}  {path}", found.counts()))?;
    out_line(&format!("  state      {}", found.state().as_str()))?;
    if let Some(problem) = &found.problem {
        return out_line(&format!("  cannot be read: {}", tell::first_line(problem)));
    }
    for task in &found.plan.tasks {
        let status = found.statuses.get(&task.id).copied().unwrap_or_default();
        let judged = found
            .reports
            .get(&task.id)
            .filter(|_| status != TaskStatus::Completed);
        let judged = judged.map(|report| format!("  (last judged: {})", report.result));
        out_line(&format!(
            "  {:<10} {}  {}{}",
            status.as_str(),
            task.id,
            task.headline(),
            judged.unwrap_or_default()
        ))?;
    }
    if let Some((branch, _)) = &found.branch {
        out_line(&format!("  branch     {branch}"))?;
    }
    for claim in &found.claims {
        say(&format!(
            "  commit {} says that it completes `{}`, but no report of its run names it, so it does not count; \
             if you know it to be right, write `status: completed` into the plan",
            tell::short(claim.commit.as_str()),
            claim.task
        ));
    }
    if !found.is_finished() {
        let what = if found.accepted {
            "go on"
        } else {
            "accept and carry out"
        };
        say(&format!("  {what}: codeteam run --plan {path}"));
    }
    Ok(())
}
