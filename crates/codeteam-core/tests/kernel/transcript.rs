//! How events and effects read in a transcript.

use codeteam_core::effect::WaitReason;
use codeteam_core::event::FrameOutcome;
use codeteam_core::findings::Finding;
use codeteam_core::ids::{FramePath, StepId};
use codeteam_core::park::ParkReason;
use codeteam_core::{Effect, Event};
use serde_json::Value;

use crate::scenario::work_of;

/// A word for anything that serialises to one.
fn word(of: impl serde::Serialize) -> String {
    match serde_json::to_value(of).unwrap() {
        Value::String(text) => text,
        other => other.to_string(),
    }
}

fn outcome(outcome: &FrameOutcome) -> String {
    match outcome {
        FrameOutcome::Failed(why) => format!("failed: {why}"),
        FrameOutcome::Aborted(why) => format!("aborted: {why}"),
        other => word(other),
    }
}

fn finding(finding: &Finding) -> String {
    let severity = word(finding.report.severity);
    format!(
        "{} opened ({severity}): {}",
        finding.id, finding.report.title
    )
}

/// One line for an event.
#[expect(
    clippy::too_many_lines,
    reason = "one arm per event, each a line or two"
)]
pub(crate) fn tell(event: &Event) -> String {
    let text = match event {
        Event::RunStarted(started) => format!("run started: {}", started.workflow.name),
        Event::RunEnded { outcome: how, .. } => format!("the run ended: {}", outcome(how)),
        Event::WorkersReassigned { hands, by, change } => {
            let along = change.as_ref().map(|made| format!(", with {}", made.tree));
            format!(
                "{by} gave it to {}{}",
                word(hands),
                along.unwrap_or_default()
            )
        }
        Event::Accepted {
            frame, by, over, ..
        } => {
            let over: Vec<&str> = over.iter().map(StepId::as_str).collect();
            format!("{frame}: {by} accepted it over {}", over.join(", "))
        }
        Event::FrameOpened { frame, base, .. } => format!("{frame} opened on {}", base.commit),
        Event::FrameResumed { frame } => format!("{frame} resumed"),
        Event::FrameEnded {
            frame,
            outcome: how,
        } => format!("{frame} ended: {}", outcome(how)),
        Event::StepEntered {
            frame,
            step,
            generation,
            why,
            because,
            ..
        } => {
            let because = noted(because);
            format!("{frame} at {step}.{generation} ({}){because}", word(why))
        }
        Event::StepSkipped {
            frame,
            step,
            because,
        } => {
            let because = noted(because);
            format!("{frame} leaves out {step}{because}")
        }
        Event::AttemptStarted {
            id, work, worker, ..
        } => {
            let on = worker
                .as_ref()
                .map(|w| format!(" on {w}"))
                .unwrap_or_default();
            format!("{id} started: {}{on}", work_of(work))
        }
        Event::WorkerReplaced { id, worker, why } => {
            format!(
                "{} is for another worker than {worker}: {why}",
                id.lasting()
            )
        }
        Event::AttemptQueued { id } => format!("{} queued", id.lasting()),
        Event::AttemptPaused { id, until, why } => {
            format!("{} paused until {} ({})", id.lasting(), until.0, word(why))
        }
        Event::AttemptFailed {
            id,
            facts,
            category,
            action,
            ..
        } => format!(
            "{id} failed: {} → {}: {}",
            word(category),
            word(action),
            facts.message
        ),
        Event::AttemptLost { id, usage } => {
            format!("{id} lost, {} spent", word(usage.cost_microusd))
        }
        Event::AttemptSpent { id, usage } => format!("{id} spent {}", word(usage.cost_microusd)),
        Event::SlotAbstained { id, reason } => format!("{} abstains: {reason}", id.lasting()),
        Event::SubmissionReceived {
            id, change, vote, ..
        } => {
            let change = change.as_ref().map(|(tree, _)| format!(", tree {tree}"));
            let vote = vote.map(|v| if v { ", for it" } else { ", against it" });
            format!(
                "{id} answered{}{}",
                change.unwrap_or_default(),
                vote.unwrap_or_default()
            )
        }
        Event::FindingsChanged {
            opened, resolved, ..
        } => {
            let resolved = resolved
                .iter()
                .map(|r| format!("{} {}", r.id, word(r.state)));
            let lines: Vec<String> = opened.iter().map(finding).chain(resolved).collect();
            lines.join(", ")
        }
        Event::GateJudged {
            step, tree, passed, ..
        } => format!(
            "`{step}` {} on {tree}",
            if *passed { "passed" } else { "failed" }
        ),
        Event::StepJudged {
            frame,
            step,
            approved,
            feedback,
            ..
        } => {
            let said: Vec<String> = feedback
                .iter()
                .map(|f| f.text.replace('\n', " / "))
                .collect();
            let verdict = if *approved { "approved" } else { "rejected: " };
            format!("{frame}: {step} {verdict}{}", said.join("; "))
        }
        Event::LoopDetected { frame, round, .. } => format!("{frame} repeats round {round}"),
        Event::BreakerOpened { frame, step } => format!("{frame}: the breaker of {step} opened"),
        Event::LevelLowered { frame, level } => format!("{frame} lowered to {}", word(level)),
        Event::PlanProposed { plan } => format!("plan proposed: {} tasks", plan.tasks.len()),
        Event::PlanRevised { plan, rejudged } => {
            let tasks = plan.tasks.len();
            let frames: Vec<&str> = rejudged.iter().map(FramePath::as_str).collect();
            match frames.join(", ") {
                none if none.is_empty() => format!("plan revised: {tasks} tasks"),
                frames => format!("plan revised: {tasks} tasks; to be judged again: {frames}"),
            }
        }
        Event::ChecksRepinned { checks, .. } => {
            let steps: Vec<String> = checks.keys().map(|step| format!("`{step}`")).collect();
            format!("other checks from now on: {}", steps.join(", "))
        }
        Event::TaskChanged { task, status, .. } => format!("{task} is {}", status.as_str()),
        Event::Asked { question, .. } => {
            let points = question.points.join(" ");
            let text = format!("{} {points}", question.text);
            format!(
                "{} asks: {} [{}]",
                question.id,
                text.trim(),
                question.answers.join(", ")
            )
        }
        Event::Answered {
            question,
            answer,
            change,
            over,
            reverts,
            ..
        } => {
            let tree = change
                .as_ref()
                .map_or(String::new(), |c| format!(", tree {}", c.0));
            let undone = if *reverts { ", undone" } else { "" };
            let over: Vec<&str> = over.iter().map(StepId::as_str).collect();
            let over = match over.as_slice() {
                [] => String::new(),
                over => format!(", over {}", over.join(", ")),
            };
            format!("{question} answered: {answer}{tree}{undone}{over}")
        }
        Event::ChoiceOpened { id, role } => format!("{id} may choose: {role}"),
        Event::TaskChosen { task, why, .. } if why.is_empty() => format!("{task} is first"),
        Event::TaskChosen { task, why, .. } => {
            format!("{task} is first: {}", why.replace('\n', " / "))
        }
        Event::NoteGiven { frame, text, .. } => format!("{frame} is told: {text}"),
        Event::DecisionRefused { why, .. } => format!("refused: {why}"),
        Event::FrameRebased { base, tree, .. } => format!("rebased on {}: {tree}", base.commit),
        Event::RebaseConflicted { base, files, .. } => {
            format!("conflicts with {} in {}", base.commit, files.join(", "))
        }
        Event::TipMoved { tip, .. } => format!("the tip moved to {}", tip.commit),
        Event::Committed {
            commit,
            tree,
            message,
            still_failing,
            ..
        } => {
            let failing = still_failing.iter().map(|failure| {
                let tests = match failure.tests.as_slice() {
                    [] => "nothing".to_owned(),
                    tests => tests.join(" "),
                };
                format!("; `{}` may fail for {tests}", failure.check)
            });
            let failing: String = failing.collect();
            format!("{commit} committed: {tree}: {message}{failing}")
        }
        Event::Delivered { outcome, .. } => format!("delivered: {}", word(outcome)),
        Event::NothingToCommit { frame } => format!("{frame} has nothing to commit"),
        Event::BudgetWarned { what } => format!("four fifths of {} are used up", word(what)),
        Event::DiskMeasured { bytes } => format!("{bytes} bytes on the disk"),
        Event::ContextPacked { packed, .. } => format!("{} tokens shown", packed.tokens),
        Event::NetworkUsed { hosts, .. } => format!("{} hosts asked for", hosts.len()),
        Event::LimitReached { what } => format!("the limit of {} is reached", word(what)),
        Event::LimitsRaised { .. } => "limits raised".to_owned(),
        Event::AccountParked {
            account,
            until,
            why,
        } => {
            let why = match why {
                ParkReason::Quota => "",
                ParkReason::RateLimit => " (rate limit)",
                ParkReason::Outage => " (outage)",
            };
            format!("{account} rests until {}{why}", until.0)
        }
        Event::OutagesCleared => "outages are forgotten".to_owned(),
        Event::UsageMeasured { id, usage } => format!(
            "{id} has used {} tokens and {} so far",
            usage.tokens(),
            word(usage.cost_microusd)
        ),
        Event::AccountFreed { account } => format!("{account} may be used again"),
        Event::RunResumed { .. } | Event::RunReopened { .. } | Event::Published { .. } => {
            event.kind().replace('_', " ")
        }
    };
    format!("  {text}")
}

/// One line for what is due.
pub(crate) fn tell_due(effect: &Effect) -> String {
    let text = match effect {
        Effect::StartWorker {
            id, role, worker, ..
        } => format!("{id}: {role} on {worker}"),
        Effect::RunGate { id, step, tree } => format!("{id}: checks of {step} on {tree}"),
        Effect::Rebase { id, onto, .. } => format!("{id}: rebase onto {}", onto.commit),
        Effect::Integrate { id, onto, .. } => format!("{id}: integrate onto {}", onto.commit),
        Effect::Publish { id, command } => format!("{id}: publish with {command}"),
        Effect::Deliver { id, tip, .. } => format!("{id}: deliver {}", tip.commit),
        Effect::Ask(question) => format!("{}: ask", question.id),
        Effect::Wait { until, why } => {
            let why = match why {
                WaitReason::Backoff { id } => format!("to try {} again", id.lasting()),
                WaitReason::Quota { accounts } => format!("for the quota of {}", word(accounts)),
                WaitReason::RateLimit { accounts } => {
                    format!("for the API of {}, which is busy", word(accounts))
                }
                WaitReason::Outage {
                    accounts, gives_up, ..
                } => format!(
                    "for the API of {}, which is out, not after {}",
                    word(accounts),
                    gives_up.unwrap().0
                ),
                WaitReason::Limit { what } => format!("for a higher limit of {}", word(what)),
                WaitReason::Release => "for cancelled work".to_owned(),
            };
            let until = until.map(|t| format!(" until {}", t.0)).unwrap_or_default();
            format!("wait{until} {why}")
        }
    };
    format!("  due: {text}")
}

/// Facts after what they explain.
fn noted(because: &str) -> String {
    match because {
        "" => String::new(),
        facts => format!(": {facts}"),
    }
}
