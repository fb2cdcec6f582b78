//! `codeteam show`: shows one run in full.

mod cost;
mod layers;

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::sync::Arc;

use codeteam_core::feedback::Feedback;
use codeteam_core::findings::Finding;
use codeteam_core::ids::{RoleName, RunId};
use codeteam_core::input::Decision;
use codeteam_core::untrusted_text::one_line;
use codeteam_engine::engine::{Engine, KeptDecision};
use codeteam_report::describe;
use codeteam_report::run_snapshot::RunSnapshot;
use codeteam_report::view::{LoadedRun, RunView, TaskView};

use crate::cli::{CliContext, RunName, decide, drive, status};
use crate::exit::Exit;
use crate::output::{self, TerminalStyle, print_line};
use crate::progress::Verbosity;
use codeteam_engine::problem::Problem;

/// Arguments of `show`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    run: RunName,
    /// Only what it has spent: by model, role, worker and task.
    #[arg(long, conflicts_with = "layers")]
    cost: bool,
    /// Only its tasks, in layers; the tasks of a layer can run in parallel.
    #[arg(long)]
    layers: bool,
}

pub(crate) fn main(args: &Args, scene: &CliContext) -> Result<Exit, Problem> {
    let Some(engine) = scene.existing_engine()? else {
        return status::print_rebuilt_run(scene, args.run.run.as_deref());
    };
    let snapshot = engine.load_snapshot(&engine.find_run(args.run.run.as_deref())?)?;
    let run = LoadedRun::new(Arc::clone(&snapshot.run));
    if args.cost {
        cost::print_costs(&engine, &run, scene)?;
        return Ok(Exit::Done);
    }
    if args.layers {
        layers::print_layers(&run, scene)?;
        return Ok(Exit::Done);
    }
    if scene.json {
        output::print_json(&shown_run(&engine, &run)?)?;
        return Ok(Exit::Done);
    }
    print_overview(&engine, &run, scene)?;
    for asked in &run.questions {
        drive::print_proposal(&engine, &run, &asked.question);
    }
    print_depth_decisions(&snapshot)?;
    print_details(&run)?;
    let folder = codeteam_report::artifacts::run_folder(engine.records(), run.as_run());
    print_line(&format!("files     {}", folder.display()))?;
    Ok(Exit::Done)
}

/// Prints the state of a run: status, tasks, questions, waits.
pub(crate) fn print_overview(
    engine: &Engine,
    run: &RunView,
    scene: &CliContext,
) -> Result<(), Problem> {
    print_line(&format!("run       {}", run.id))?;
    print_line(&format!("goal      {}", one_line(&run.goal)))?;
    print_line(&format!(
        "status    {}: {}",
        status::status_word(engine, run)?,
        run.headline
    ))?;
    if let Some(failing) = run.still_failing_text().filter(|_| !run.is_ended()) {
        print_line(&format!("note      {}", one_line(&failing)))?;
    }
    if !run.edited_config.is_empty() {
        print_line(&format!(
            "note      {}",
            describe::edited_config_warning(&run.edited_config)
        ))?;
    }
    if run.is_ended() {
        print_line(&format!("state     {}", run.team_state.as_str()))?;
    }
    print_tasks(run, scene)?;
    for frame in &run.frames {
        let at = format!(
            "{} at {}, round {} [{}]",
            frame.path.name(),
            frame.step,
            frame.round,
            frame.state.as_str()
        );
        print_line(&format!("now       {at}"))?;
    }
    for wait in &run.waiting_on {
        print_line(&format!("          {wait}"))?;
    }
    for asked in &run.questions {
        drive::print_question(TerminalStyle::detect(), run, &asked.question);
    }
    for kept in kept_decisions(engine, run)? {
        print_line(&format!(
            "decided   {}; `{}` carries it out",
            decide::kept_line(&kept),
            decide::continue_hint(run)
        ))?;
    }
    Ok(())
}

/// Prints the tasks. A plan of many is folded by phase, unless everything is wanted.
fn print_tasks(run: &RunView, scene: &CliContext) -> Result<(), Problem> {
    // In one go: a plan may have thousands.
    let mut text = String::new();
    if run.has_long_plan() && scene.detail < Verbosity::Verbose {
        for folded in run.tasks_by_phase() {
            let counts = folded.counts.to_text();
            let _ = match folded.phase {
                Some(phase) => {
                    let (id, status) = (&phase.id, phase.status.as_str());
                    writeln!(text, "phase     {id}: {status}, {counts}")
                }
                None => writeln!(text, "tasks     {counts}"),
            };
            for task in folded.notable {
                push_task(&mut text, task);
            }
        }
        let (codeteam, all) = (&scene.calls.codeteam, run.tasks.len());
        let _ = writeln!(text, "          `{codeteam} show -v` lists all {all} tasks");
        return output::print_text(&text);
    }
    for phase in &run.phases {
        let (id, status) = (&phase.id, phase.status.as_str());
        let _ = writeln!(text, "phase     {id}: {status}");
        for interface in phase.interfaces.iter().filter(|interface| interface.locked) {
            let _ = writeln!(text, "  locked     {}", interface.headline());
        }
    }
    for task in &run.tasks {
        push_task(&mut text, task);
    }
    output::print_text(&text)
}

fn push_task(text: &mut String, task: &TaskView) {
    let why = task.why.as_deref().map(describe::first_line);
    let why = why.map(|why| format!(" ({})", one_line(why)));
    let _ = writeln!(
        text,
        "  {:<10} {}  {}{}{}",
        task.status.as_str(),
        task.id,
        one_line(&task.title),
        by_roles(&task.roles),
        why.unwrap_or_default()
    );
    if let Some(quality) = &task.quality {
        let _ = writeln!(text, "             {}", quality.to_text());
    }
    for led in &task.interventions {
        let (what, round) = (led.intervention.as_str(), led.round);
        let by = if led.by_rule { ", by rule" } else { "" };
        let reason = one_line(describe::first_line(&led.reason));
        let _ = writeln!(text, "             {what} in round {round}{by}: {reason}");
    }
}

/// Says who carries out a task, if the plan does.
fn by_roles(roles: &[RoleName]) -> String {
    let roles: Vec<&str> = roles.iter().map(RoleName::as_str).collect();
    match roles.as_slice() {
        [] => String::new(),
        roles => format!(", by {}", one_line(&roles.join(", then "))),
    }
}

/// Returns the decisions that wait for somebody to drive the run.
pub(crate) fn kept_decisions(engine: &Engine, run: &RunView) -> Result<Vec<KeptDecision>, Problem> {
    kept_decisions_of(engine, &run.id)
}

/// Does the same for the run of an id.
pub(crate) fn kept_decisions_of(engine: &Engine, id: &RunId) -> Result<Vec<KeptDecision>, Problem> {
    if decide::is_driven(engine, id)? {
        return Ok(Vec::new());
    }
    Ok(engine.kept_decisions(id)?)
}

/// A run as `--json` prints it.
#[derive(serde::Serialize)]
pub(crate) struct ShownRun {
    #[serde(flatten)]
    view: RunView,
    /// The decisions that wait for somebody to drive it.
    kept_decisions: Vec<ShownDecision>,
}

#[derive(serde::Serialize)]
struct ShownDecision {
    by: String,
    decision: Decision,
}

/// Returns a run as `--json` prints it.
pub(crate) fn shown_run(engine: &Engine, run: &LoadedRun) -> Result<ShownRun, Problem> {
    let view = RunView::new(run.as_run());
    let kept = kept_decisions(engine, &view)?.into_iter();
    Ok(ShownRun {
        kept_decisions: kept
            .map(|kept| ShownDecision {
                by: kept.by,
                decision: kept.decision,
            })
            .collect(),
        view: view.with_driver(decide::is_driven(engine, &run.id)?),
    })
}

/// Formats a finding as one line.
fn finding_line(place: &str, finding: &Finding) -> String {
    let report = &finding.report;
    let file = report.file.as_deref().map_or("-".to_owned(), one_line);
    let stands = format!("{:?} {:?}", report.severity, finding.state).to_lowercase();
    let id = &finding.id;
    format!(
        "finding   {place} {id} {stands} {file}: {}",
        one_line(&report.title)
    )
}

/// Prints why not every step or reviewer of the workflow was used: for each step, the latest
/// decision.
fn print_depth_decisions(snapshot: &RunSnapshot) -> Result<(), Problem> {
    for (frame, decision) in snapshot.review_depths() {
        let place = frame.name();
        print_line(&format!("depth     {place}: {}", one_line(decision)))?;
    }
    Ok(())
}

/// Returns the lines of a feedback after the first, as far as they are worth showing here: a check
/// names the files and lines it is about.
fn feedback_details(feedback: &str) -> Vec<String> {
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

/// Returns true if a feedback only hands on a finding, which has a line of its own.
fn repeats_finding(feedback: &Feedback, finding: &Finding) -> bool {
    let title = format!("{}: {}", finding.id, finding.report.title);
    feedback.from == finding.step && feedback.text.starts_with(&title)
}

fn print_details(run: &RunView) -> Result<(), Problem> {
    let mut shown: BTreeSet<(&str, &str)> = BTreeSet::new();
    for frame in run.all_frames() {
        let place = frame.path.name();
        for finding in &frame.findings {
            shown.insert((place, finding.id.as_str()));
            print_line(&finding_line(place, finding))?;
            let is_told = |feedback: &&Feedback| repeats_finding(feedback, finding);
            if let Some(feedback) = frame.feedback.iter().find(is_told) {
                for detail in feedback_details(&feedback.text) {
                    print_line(&format!("            {detail}"))?;
                }
            }
        }
        for feedback in &frame.feedback {
            if frame
                .findings
                .iter()
                .any(|it| repeats_finding(feedback, it))
            {
                continue;
            }
            print_line(&format!(
                "feedback  {place} from {}: {}",
                feedback.from,
                one_line(describe::first_line(&feedback.text))
            ))?;
            for detail in feedback_details(&feedback.text) {
                print_line(&format!("            {detail}"))?;
            }
        }
    }
    for task in &run.tasks {
        let place = task.id.as_str();
        let is_new = |it: &&Finding| !shown.contains(&(place, it.id.as_str()));
        for finding in task.findings.iter().filter(is_new) {
            print_line(&finding_line(place, finding))?;
        }
    }
    let spent = &run.cost.words;
    print_line(&format!(
        "cost      {}, {}, {}",
        spent.attempts, spent.tokens, spent.money
    ))?;
    print_line(&format!("workflow  {}", run.workflow))?;
    print_line(&format!(
        "branch    {} ({} from {})",
        run.branch,
        describe::short_id(run.tip.as_str()),
        describe::short_id(run.base.as_str())
    ))?;
    if let Some(url) = &run.published_url {
        print_line(&format!("published {}", one_line(url)))?;
    }
    if let Some(origin) = &run.forked_from {
        print_line(&format!(
            "fork of   {} at event {}",
            origin.run, origin.event
        ))?;
    }
    let confinement = &run.confinement;
    let confined = confinement.strip_prefix("confined ").unwrap_or(confinement);
    print_line(&format!("confined  {confined}"))?;
    for grant in &run.trusted {
        let granted = output::one_line(&format!("{}: {}", grant.key, grant.value));
        print_line(&format!("trusted   {granted}"))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use codeteam_core::findings::{FindingState, ReportedFinding};

    use super::*;

    #[test]
    fn a_feedback_that_hands_on_a_finding_is_not_shown_again() {
        let finding = Finding {
            id: "F1".into(),
            report: ReportedFinding {
                title: "Wrong place".to_owned(),
                ..ReportedFinding::default()
            },
            step: "review".into(),
            slot: 0,
            round: 1,
            state: FindingState::Open,
        };
        let feedback = |from: &str, text: &str| Feedback {
            from: from.into(),
            text: text.to_owned(),
            body: None,
        };
        let told = "F1: Wrong place (one.txt:1)\nIt belongs elsewhere.";
        assert!(repeats_finding(&feedback("review", told), &finding));
        assert!(!repeats_finding(&feedback("verify", told), &finding));
        assert!(!repeats_finding(&feedback("review", "Too long"), &finding));
    }
}
