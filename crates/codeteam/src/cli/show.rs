//! `codeteam show`: one run in full.

use codeteam_core::frame::Stage;
use codeteam_core::{Run, due, rollup, views};
use codeteam_engine::engine::Engine;
use codeteam_engine::tell;

use crate::cli::{RunName, Scene, drive, status};
use crate::exit::Exit;
use crate::output::{self, Style, out_line};
use crate::problem::Problem;

/// Arguments of `show`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    run: RunName,
}

pub(crate) fn main(args: &Args, scene: &Scene) -> Result<Exit, Problem> {
    let Some(engine) = scene.existing()? else {
        return status::rebuilt_of(scene, args.run.run.as_deref());
    };
    let run = engine.load(&engine.find(args.run.run.as_deref())?)?;
    if scene.json {
        output::json(&drive::value(&run))?;
        return Ok(Exit::Done);
    }
    tasks(&engine, &run)?;
    for question in drive::open_questions(&run) {
        drive::propose(&engine, &run, question);
    }
    details(&run)?;
    let folder = codeteam_engine::artifacts::folder(&engine, &run);
    out_line(&format!("files     {}", folder.display()))?;
    Ok(Exit::Done)
}

/// Where a run stands: status, tasks, questions, waits.
pub(crate) fn tasks(engine: &Engine, run: &Run) -> Result<(), Problem> {
    out_line(&format!("run       {}", run.id))?;
    out_line(&format!("goal      {}", tell::first_line(&run.goal)))?;
    out_line(&format!(
        "status    {}: {}",
        status::word(engine, run)?,
        tell::headline(run)
    ))?;
    for (phase, status) in rollup::phases(run) {
        out_line(&format!("phase     {phase}: {}", status.as_str()))?;
    }
    for task in run.plan.iter().flat_map(|plan| &plan.tasks) {
        let record = run.tasks.get(&task.id).cloned().unwrap_or_default();
        let why = record
            .why
            .map(|w| format!(" ({})", tell::first_line(&w)))
            .unwrap_or_default();
        let line = format!(
            "  {:<10} {}  {}{why}",
            record.status.as_str(),
            task.id,
            task.headline()
        );
        out_line(&line)?;
    }
    for frame in run.frames.values().filter(|f| !f.is_ended()) {
        let state = views::twelve(run, frame).as_str();
        let at = format!(
            "{} at {}, round {} [{state}]",
            frame.path.name(),
            frame.step,
            frame.round
        );
        out_line(&format!("now       {at}"))?;
    }
    for effect in due(run) {
        if let Some(text) = tell::waiting(&effect) {
            out_line(&format!("          {text}"))?;
        }
    }
    for frame in run.frames.values() {
        if let Stage::Asking(question) = &frame.stage {
            drive::ask(Style::detect(), run, question);
        }
    }
    Ok(())
}

fn details(run: &Run) -> Result<(), Problem> {
    for frame in run.frames.values().chain(run.failed.values()) {
        for finding in frame.findings.iter() {
            let report = &finding.report;
            let place = report.file.as_deref().unwrap_or("-");
            let stands = format!("{:?} {:?}", report.severity, finding.state).to_lowercase();
            out_line(&format!(
                "finding   {} {} {stands} {place}: {}",
                frame.path.name(),
                finding.id,
                report.title
            ))?;
        }
        for feedback in &frame.feedback {
            out_line(&format!(
                "feedback  {} from {}: {}",
                frame.path.name(),
                feedback.from,
                tell::first_line(&feedback.text)
            ))?;
        }
    }
    let cost = &run.budget;
    out_line(&format!(
        "cost      {}, {} tokens, {}",
        tell::attempts(cost),
        cost.tokens,
        tell::spent(cost)
    ))?;
    out_line(&format!("workflow  {}", run.workflow.name))?;
    out_line(&format!(
        "branch    {} ({} from {})",
        run.branch,
        tell::short(run.tip.commit.as_str()),
        tell::short(run.base.commit.as_str())
    ))?;
    out_line(&format!("confined  {}", run.confinement))?;
    for grant in &run.access.granted {
        let granted = output::one_line(&format!("{}: {}", grant.key, grant.value));
        out_line(&format!("trusted   {granted}"))?;
    }
    Ok(())
}
