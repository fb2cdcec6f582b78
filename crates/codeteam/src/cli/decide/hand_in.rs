//! Hands decisions in: to the process that drives the run, whose answer is reported, or to be kept
//! until there is one.

use codeteam_core::Event;
use codeteam_core::ids::RunId;
use codeteam_core::input::Decision;
use codeteam_core::operator::Operator;
use codeteam_core::untrusted_text::one_line;
use codeteam_engine::engine::{DecisionOutcome, Engine, KeptDecision};
use codeteam_engine::problem::Problem;
use codeteam_engine::session;
use codeteam_report::describe;
use codeteam_report::view::RunView;
use std::sync::Arc;
use std::time::Duration;

use crate::cli::CliContext;
use crate::exit::Exit;
use crate::output::{self, TerminalStyle, eprint_line};
use crate::progress::Verbosity;

/// How long a command waits until whoever drives the run has handled a decision.
const HANDLING_TIME: Duration = Duration::from_secs(3);

/// The error of somebody whose decision was refused.
pub(super) fn refused(why: &str) -> Problem {
    Problem::user(format!("your decision was refused: {why}")).hint("nothing was decided by it")
}

pub(crate) fn post_decision(
    scene: &CliContext,
    engine: &Arc<Engine>,
    id: &RunId,
    decision: &Decision,
) -> Result<Exit, Problem> {
    let mut decision = decision.clone();
    redact_decision(scene, engine, &mut decision);
    let handed_in = hand_in(scene, engine, id, &decision)?;
    let go_on = if handed_in.is_driven() {
        None
    } else {
        let run = engine.load_run_view(id)?;
        Some(continue_hint(&run))
    };
    report_posted(scene, id, &decision, &handed_in, go_on.as_deref())
}

/// What became of a decision that was handed in and not refused.
pub(crate) enum HandedIn {
    /// Whoever drives the run has handled it, with these consequences.
    Handled(Vec<Event>),
    /// Whoever drives the run has not handled it yet.
    Posted,
    /// Nobody drives the run, so it is kept.
    Kept,
}

impl HandedIn {
    /// Returns true if somebody drives the run.
    pub(crate) fn is_driven(&self) -> bool {
        !matches!(self, Self::Kept)
    }
}

/// Posts a decision. If somebody drives the run, this waits a moment until the decision is handled,
/// and fails if it is refused. Otherwise the decision is kept for whoever takes the run up next, and
/// earlier ones that it replaces are listed.
pub(crate) fn hand_in(
    scene: &CliContext,
    engine: &Engine,
    id: &RunId,
    decision: &Decision,
) -> Result<HandedIn, Problem> {
    hand_in_signed(scene, engine, id, decision, None)
}

/// The same for a decision that may be signed.
pub(super) fn hand_in_signed(
    scene: &CliContext,
    engine: &Engine,
    id: &RunId,
    decision: &Decision,
    signature: Option<String>,
) -> Result<HandedIn, Problem> {
    if is_driven(engine, id)? {
        let is_driven = || session::is_driven(engine, id);
        let outcome = engine.post_and_wait(id, decision, signature, HANDLING_TIME, is_driven)?;
        return Ok(match outcome {
            DecisionOutcome::Handled(events) => HandedIn::Handled(events),
            DecisionOutcome::Refused(why) => return Err(refused(&why)),
            // The driver may have stopped meanwhile without seeing it.
            DecisionOutcome::Waiting if !is_driven()? => HandedIn::Kept,
            DecisionOutcome::Waiting => HandedIn::Posted,
        });
    }
    let replaced = engine.keep(id, decision, signature)?;
    for earlier in replaced
        .iter()
        .filter(|_| scene.detail >= Verbosity::Normal)
    {
        output::eprint_wrapped(&format!(
            "{}: this replaces what was decided before and not carried out yet: {}",
            TerminalStyle::detect().yellow("note"),
            describe::describe_decision(&earlier.decision)
        ));
    }
    Ok(if is_driven(engine, id)? {
        HandedIn::Posted
    } else {
        HandedIn::Kept
    })
}

/// Formats a kept decision for `status`.
pub(crate) fn kept_line(kept: &KeptDecision) -> String {
    one_line(&format!(
        "{} (by {})",
        describe::describe_decision(&kept.decision),
        kept.by
    ))
}

/// Removes secrets from a decision, and reports that.
pub(crate) fn redact_decision(scene: &CliContext, engine: &Engine, decision: &mut Decision) {
    let removed = engine.filter_decision(decision);
    if scene.detail >= Verbosity::Normal {
        output::report_removed_secrets(&removed);
    }
}

/// Reports what happened to a posted decision, and how to go on if nobody drives the run.
pub(crate) fn report_posted(
    scene: &CliContext,
    id: &RunId,
    decision: &Decision,
    handed_in: &HandedIn,
    go_on: Option<&str>,
) -> Result<Exit, Problem> {
    if scene.json {
        let is_handled = matches!(handed_in, HandedIn::Handled(_));
        let report = serde_json::json!({
            "run": id, "posted": decision, "driven": handed_in.is_driven(), "handled": is_handled,
        });
        output::print_json(&report)?;
    } else if let Some(go_on) = go_on {
        eprint_line("kept: no codeteam is working on the run now, so nothing happens yet");
        eprint_line(&format!("  go on   {go_on}"));
    } else {
        eprint_line(&match handed_in {
            HandedIn::Handled(events) => match vote_consequence(events) {
                Some(what) => format!("{what}; the codeteam that drives {id} goes on"),
                None => format!("taken by the codeteam that drives {id}"),
            },
            HandedIn::Posted | HandedIn::Kept => format!("notified the codeteam that drives {id}"),
        });
    }
    Ok(Exit::Done)
}

/// Returns what a vote has led to.
fn vote_consequence(events: &[Event]) -> Option<&'static str> {
    let has = |is: fn(&Event) -> bool| events.iter().any(is);
    if has(|event| matches!(event, Event::ApprovalGranted { .. })) {
        Some("the change is approved")
    } else if has(|event| matches!(event, Event::Voted { approves: true, .. })) {
        Some("your approval counts, and others are still needed")
    } else if has(|event| matches!(event, Event::Voted { .. })) {
        Some("the change is rejected")
    } else if has(|event| matches!(event, Event::ApprovalDelegated { .. })) {
        Some("your vote was handed over")
    } else {
        None
    }
}

/// Returns how to continue a run that nobody drives.
pub(crate) fn continue_hint(run: &RunView) -> String {
    let id = &run.id;
    match run.operator {
        Operator::Workers => format!("codeteam resume {id}"),
        Operator::Session => {
            format!("in your client: `get_status`; or with workers: codeteam run --continue {id}")
        }
    }
}

/// Returns true if a living process drives the run.
pub(crate) fn is_driven(engine: &Engine, id: &RunId) -> Result<bool, Problem> {
    Ok(session::is_driven(engine, id)?)
}
