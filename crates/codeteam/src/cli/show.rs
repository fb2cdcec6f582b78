//! `codeteam show`: one run in full.

use std::collections::BTreeMap;

use codeteam_core::findings::Finding;
use codeteam_core::frame::FrameStage;
use codeteam_core::quoted::one_line;
use codeteam_core::{Run, due, rollup, views};
use codeteam_engine::engine::{Engine, KeptDecision};
use codeteam_engine::tell;

use crate::cli::{CliContext, RunName, decide, drive, status};
use crate::exit::Exit;
use crate::output::{self, TerminalStyle, out_line};
use crate::problem::Problem;

/// Arguments of `show`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    run: RunName,
}

pub(crate) fn main(args: &Args, scene: &CliContext) -> Result<Exit, Problem> {
    let Some(engine) = scene.existing()? else {
        return status::rebuilt_of(scene, args.run.run.as_deref());
    };
    let run = engine.load(&engine.find(args.run.run.as_deref())?)?;
    if scene.json {
        output::json(&value(&engine, &run)?)?;
        return Ok(Exit::Done);
    }
    tasks(&engine, &run)?;
    for question in drive::open_questions(&run) {
        drive::propose(&engine, &run, question);
    }
    depth(&engine, &run)?;
    details(&run)?;
    let folder = codeteam_engine::artifacts::folder(&engine, &run);
    out_line(&format!("files     {}", folder.display()))?;
    Ok(Exit::Done)
}

/// Where a run stands: status, tasks, questions, waits.
pub(crate) fn tasks(engine: &Engine, run: &Run) -> Result<(), Problem> {
    out_line(&format!("run       {}", run.id))?;
    out_line(&format!("goal      {}", one_line(&run.goal)))?;
    out_line(&format!(
        "status    {}: {}",
        status::word(engine, run)?,
        tell::headline(run)
    ))?;
    if let Some(failing) = tell::unrepaired(run).filter(|_| !run.is_terminal()) {
        out_line(&format!("note      {}", one_line(&failing)))?;
    }
    if !run.edited_config.is_empty() {
        out_line(&format!(
            "note      {}",
            tell::edited_config(&run.edited_config)
        ))?;
    }
    if run.is_terminal() {
        out_line(&format!("state     {}", views::team_state(run).as_str()))?;
    }
    for (phase, status) in rollup::phases(run) {
        out_line(&format!("phase     {phase}: {}", status.as_str()))?;
    }
    for task in run.plan.iter().flat_map(|plan| &plan.tasks) {
        let record = run.tasks.get(&task.id).cloned().unwrap_or_default();
        let why = record
            .why
            .map(|w| format!(" ({})", one_line(tell::first_line(&w))))
            .unwrap_or_default();
        let line = format!(
            "  {:<10} {}  {}{why}",
            record.status.as_str(),
            task.id,
            one_line(task.headline())
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
        if let FrameStage::Asking(question) = &frame.stage {
            drive::ask(TerminalStyle::detect(), run, question);
        }
    }
    for kept in kept_decisions(engine, run)? {
        out_line(&format!(
            "decided   {}; `{}` carries it out",
            decide::kept_line(&kept),
            decide::go_on(run)
        ))?;
    }
    Ok(())
}

/// The decisions that wait for somebody to drive the run.
pub(crate) fn kept_decisions(engine: &Engine, run: &Run) -> Result<Vec<KeptDecision>, Problem> {
    if decide::driven(engine, &run.id)? {
        return Ok(Vec::new());
    }
    Ok(engine.kept_decisions(&run.id)?)
}

/// A run as JSON, with the decisions that wait for somebody to drive it.
pub(crate) fn value(engine: &Engine, run: &Run) -> Result<serde_json::Value, Problem> {
    let mut value = drive::value(run);
    let kept = kept_decisions(engine, run)?;
    let kept = kept
        .iter()
        .map(|kept| serde_json::json!({ "by": kept.by, "decision": kept.decision }));
    if let Some(fields) = value.as_object_mut() {
        fields.insert("kept_decisions".to_owned(), kept.collect());
    }
    Ok(value)
}

/// One finding in a line.
fn found(place: &str, finding: &Finding) -> String {
    let report = &finding.report;
    let file = report.file.as_deref().map_or("-".to_owned(), one_line);
    let stands = format!("{:?} {:?}", report.severity, finding.state).to_lowercase();
    let id = &finding.id;
    format!(
        "finding   {place} {id} {stands} {file}: {}",
        one_line(&report.title)
    )
}

/// Why not every step or reviewer of the workflow was asked: for each step, the latest decision.
fn depth(engine: &Engine, run: &Run) -> Result<(), Problem> {
    let mut decisions = BTreeMap::new();
    engine.each_event(&run.id, 0, |_, _, event| {
        if let Some((frame, step, decision)) = tell::depth(&event) {
            decisions.insert((frame.clone(), step.clone()), decision);
        }
    })?;
    for ((frame, _), decision) in decisions {
        let place = frame.name();
        out_line(&format!("depth     {place}: {}", one_line(&decision)))?;
    }
    Ok(())
}

/// What a feedback says beyond its first line, as far as it is worth a look here: a check names the
/// files and the lines it is about.
fn details_of(feedback: &str) -> Vec<String> {
    const SHOWN: usize = 4;
    let lines = feedback
        .lines()
        .map(one_line)
        .filter(|line| !line.is_empty());
    let lines: Vec<String> = lines.skip(1).collect();
    let mut shown: Vec<String> = lines.iter().take(SHOWN).cloned().collect();
    if lines.len() > SHOWN {
        shown.push(format!(
            "and {} more lines (`codeteam report`)",
            lines.len() - SHOWN
        ));
    }
    shown
}

fn details(run: &Run) -> Result<(), Problem> {
    for (task, record) in &run.tasks {
        for finding in &record.findings {
            out_line(&found(task.as_str(), finding))?;
        }
    }
    for frame in run.frames.values().chain(run.failed.values()) {
        for finding in frame.findings.iter() {
            out_line(&found(frame.path.name(), finding))?;
        }
        for feedback in &frame.feedback {
            out_line(&format!(
                "feedback  {} from {}: {}",
                frame.path.name(),
                feedback.from,
                one_line(tell::first_line(&feedback.text))
            ))?;
            for detail in details_of(&feedback.text) {
                out_line(&format!("            {detail}"))?;
            }
        }
    }
    let cost = &run.budget;
    out_line(&format!(
        "cost      {}, {}, {}",
        tell::attempts(cost),
        tell::tokens_spent(run),
        tell::money_spent(run)
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
