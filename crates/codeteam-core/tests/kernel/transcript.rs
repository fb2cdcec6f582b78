//! How events and effects read in a transcript.

use std::fmt::Write as _;

use codeteam_core::effect::WaitReason;
use codeteam_core::findings::Finding;
use codeteam_core::frame::FrameOutcome;
use codeteam_core::ids::{Commit, FramePath, PersonName, RoleName, StepId, TaskId};
use codeteam_core::park::ParkReason;
use codeteam_core::{Effect, Event};
use serde_json::Value;

use crate::scenario::work_of;

/// A word for anything that serialises to one.
fn serialized_word(of: impl serde::Serialize) -> String {
    match serde_json::to_value(of).unwrap() {
        Value::String(text) => text,
        other => other.to_string(),
    }
}

fn outcome(outcome: &FrameOutcome) -> String {
    match outcome {
        FrameOutcome::Failed(why) => format!("failed: {why}"),
        FrameOutcome::Aborted(why) => format!("aborted: {why}"),
        other => serialized_word(other),
    }
}

fn finding(finding: &Finding) -> String {
    let severity = serialized_word(finding.report.severity);
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
pub(crate) fn describe_event(event: &Event) -> String {
    let text = match event {
        Event::RunStarted(started) => format!("run started: {}", started.workflow.name),
        Event::RunEnded { outcome: how, .. } => format!("the run ended: {}", outcome(how)),
        Event::WorkersReassigned { hands, by, change } => {
            let along = change.as_ref().map(|made| format!(", with {}", made.tree));
            format!(
                "{by} gave it to {}{}",
                serialized_word(hands),
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
            let because = append_facts(because);
            format!(
                "{frame} at {step}.{generation} ({}){because}",
                serialized_word(why)
            )
        }
        Event::StepSkipped {
            frame,
            step,
            because,
        } => {
            let because = append_facts(because);
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
                id.without_fence()
            )
        }
        Event::AttemptQueued { id } => format!("{} queued", id.without_fence()),
        Event::AttemptPaused { id, until, why } => {
            format!(
                "{} paused until {} ({})",
                id.without_fence(),
                until.0,
                serialized_word(why)
            )
        }
        Event::AttemptFailed {
            id,
            facts,
            category,
            action,
            ..
        } => format!(
            "{id} failed: {} → {}: {}",
            serialized_word(category),
            serialized_word(action),
            facts.message
        ),
        Event::AttemptLost { id, usage } => {
            format!("{id} lost, {} spent", serialized_word(usage.cost_microusd))
        }
        Event::AttemptSpent { id, usage } => {
            format!("{id} spent {}", serialized_word(usage.cost_microusd))
        }
        Event::SlotAbstained { id, reason } => format!("{} abstains: {reason}", id.without_fence()),
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
                .map(|r| format!("{} {}", r.id, serialized_word(r.state)));
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
        Event::QualityScored {
            id,
            score,
            threshold,
            passed,
        } => format!(
            "{} scored {} of {threshold}: {}",
            id.frame,
            score.overall_score,
            if *passed { "enough" } else { "too little" }
        ),
        Event::Intervened {
            id,
            intervention,
            reason,
            by_rule,
            refined,
            help,
            ends_run,
            ..
        } => {
            let by = if *by_rule { "by rule, " } else { "" };
            let mut line = format!("{}: {by}{}: {reason}", id.frame, intervention.as_str());
            if let Some(refined) = refined {
                let (old, new) = (&refined.old_description, &refined.description);
                let (before, after) = (&refined.old_acceptance, &refined.acceptance);
                let _ = write!(line, "; {old:?} {before:?} → {new:?} {after:?}");
            }
            if let Some(help) = help {
                let _ = write!(line, "; {} helps: {}", help.role, help.request);
            }
            if *ends_run {
                line.push_str("; the run ends");
            }
            line
        }
        Event::PhasePlanned {
            phase,
            tasks,
            interfaces,
            ..
        } => {
            let tasks: Vec<&str> = tasks.iter().map(|task| task.id.as_str()).collect();
            let interfaces = match interfaces.len() {
                0 => String::new(),
                n => format!(", {n} interfaces"),
            };
            format!("{phase} broken down: {}{interfaces}", tasks.join(", "))
        }
        Event::TeamAssembled { assignments, .. } => {
            let lines = assignments.iter().map(|one| {
                let roles: Vec<&str> = one.roles.iter().map(RoleName::as_str).collect();
                format!("{} by {}", one.task, roles.join(" and "))
            });
            format!("assembled: {}", lines.collect::<Vec<_>>().join(", "))
        }
        Event::LoopDetected { frame, round, .. } => format!("{frame} repeats round {round}"),
        Event::BreakerOpened { frame, step } => format!("{frame}: the breaker of {step} opened"),
        Event::LevelLowered { frame, level } => {
            format!("{frame} lowered to {}", serialized_word(level))
        }
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
        Event::WorkflowRepinned { rejudged, .. } => {
            let steps: Vec<&str> = rejudged.iter().map(StepId::as_str).collect();
            format!(
                "another workflow from now on; to judge again: {}",
                steps.join(", ")
            )
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
        Event::InterfacesLocked { id, files, .. } => {
            let files = files
                .iter()
                .map(|file| format!("{}={}", file.path, file.blob));
            format!(
                "{} locked {}",
                id.frame,
                files.collect::<Vec<_>>().join(", ")
            )
        }
        Event::InterfaceChangeRequested { id, request, .. } => format!(
            "{} asks for {}={}: {}",
            id.frame,
            request.before.path(),
            request.definition,
            request.reason
        ),
        Event::InterfaceChanged {
            phase, file, told, ..
        } => {
            let told: Vec<&str> = told.iter().map(FramePath::as_str).collect();
            let (path, blob) = (&file.path, &file.blob);
            format!(
                "{phase}: {path}={blob} from now on; told: {}",
                told.join(", ")
            )
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
        Event::Delivered { outcome, .. } => format!("delivered: {}", serialized_word(outcome)),
        Event::NothingToCommit { frame } => format!("{frame} has nothing to commit"),
        Event::RollbackRequested { request, .. } => format!(
            "to be taken back to {} (event {}); again: {}",
            request.plan.tip.commit,
            request.plan.moment,
            task_names(&request.plan.tasks)
        ),
        Event::RunRolledBack { request, found, .. } => format!(
            "taken back from {} to {}",
            found.as_ref().map_or("nothing", Commit::as_str),
            request.plan.tip.commit
        ),
        Event::RollbackAbandoned { why, .. } => format!("not taken back: {why}"),
        Event::BudgetWarned { what } => {
            format!("four fifths of {} are used up", serialized_word(what))
        }
        Event::DiskMeasured { bytes } => format!("{bytes} bytes on the disk"),
        Event::ContextPacked { packed, .. } => format!("{} tokens shown", packed.tokens),
        Event::NetworkUsed { hosts, .. } => format!("{} hosts asked for", hosts.len()),
        Event::LimitReached { what } => {
            format!("the limit of {} is reached", serialized_word(what))
        }
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
            serialized_word(usage.cost_microusd)
        ),
        Event::AccountFreed { account } => format!("{account} may be used again"),
        Event::RiskAssessed { id, tree, facts } => {
            format!("{id} read {tree}: {} files", facts.files)
        }
        Event::ApprovalRequested {
            frame,
            tree,
            assessment,
            ..
        } => format!("{frame}: {} risk of {tree}", assessment.level.as_str()),
        Event::ApprovalNotified {
            frame,
            channels,
            until,
            ..
        } => match until {
            Some(until) => format!(
                "{frame}: notified by {}, goes on at {}",
                channels.join(", "),
                until.0
            ),
            None => format!("{frame}: nobody was notified"),
        },
        Event::ApprovalNoticeRenewed { frame, .. } => format!("{frame}: to be notified again"),
        Event::Voted {
            frame,
            tree,
            by,
            approves,
            ..
        } => {
            let how = if *approves { "for" } else { "against" };
            format!("{frame}: {} votes {how} {tree}", by.person)
        }
        Event::ApprovalTimedOut {
            frame,
            outcome,
            next,
            ..
        } => {
            let what = serialized_word(outcome);
            format!("{frame}: not approved in time: {what}, next at {}", next.0)
        }
        Event::ApprovalDelegated {
            frame, from, to, ..
        } => format!("{frame}: {} hands the vote to {to}", from.person),
        Event::ApprovalVoided {
            frame, voters, why, ..
        } => {
            let voters: Vec<&str> = voters.iter().map(PersonName::as_str).collect();
            format!(
                "{frame}: the votes of [{}] are void: {why}",
                voters.join(", ")
            )
        }
        Event::ApprovalGranted { frame, basis, .. } => {
            format!("{frame}: approved by {}", serialized_word(basis))
        }
        Event::RunResumed { .. } | Event::RunReopened { .. } | Event::Published { .. } => {
            event.kind().replace('_', " ")
        }
    };
    format!("  {text}")
}

/// One line for what is due.
pub(crate) fn describe_effect(effect: &Effect) -> String {
    let text = match effect {
        Effect::StartWorker {
            id, role, worker, ..
        } => format!("{id}: {role} on {worker}"),
        Effect::RunGate { id, step, tree } => format!("{id}: checks of {step} on {tree}"),
        Effect::Rebase { id, onto, .. } => format!("{id}: rebase onto {}", onto.commit),
        Effect::Integrate { id, onto, .. } => format!("{id}: integrate onto {}", onto.commit),
        Effect::Publish { id, command } => format!("{id}: publish with {command}"),
        Effect::Deliver { id, tip, .. } => format!("{id}: deliver {}", tip.commit),
        Effect::WriteInterfaces { id, .. } => format!("{id}: write the interfaces"),
        Effect::MoveBranch { id, to } => format!("{id}: move the branch to {}", to.commit),
        Effect::AssessRisk { id, tree, .. } => format!("{id}: read the risk of {tree}"),
        Effect::Notify { id } => format!("{id}: notify people"),
        Effect::Ask(question) => format!("{}: ask", question.id),
        Effect::Wait { until, why } => {
            let why = match why {
                WaitReason::Backoff { id } => format!("to try {} again", id.without_fence()),
                WaitReason::Quota { accounts } => {
                    format!("for the quota of {}", serialized_word(accounts))
                }
                WaitReason::RateLimit { accounts } => {
                    format!(
                        "for the API of {}, which is busy",
                        serialized_word(accounts)
                    )
                }
                WaitReason::Outage {
                    accounts, gives_up, ..
                } => format!(
                    "for the API of {}, which is out, not after {}",
                    serialized_word(accounts),
                    gives_up.unwrap().0
                ),
                WaitReason::Limit { what } => {
                    format!("for a higher limit of {}", serialized_word(what))
                }
                WaitReason::Objection { question } => {
                    format!("for objections to {question}")
                }
                WaitReason::Release => "for cancelled work".to_owned(),
            };
            let until = until.map(|t| format!(" until {}", t.0)).unwrap_or_default();
            format!("wait{until} {why}")
        }
    };
    format!("  due: {text}")
}

fn task_names(tasks: &[TaskId]) -> String {
    let names: Vec<&str> = tasks.iter().map(TaskId::as_str).collect();
    if names.is_empty() {
        "nothing".to_owned()
    } else {
        names.join(", ")
    }
}

/// Facts after what they explain.
fn append_facts(because: &str) -> String {
    match because {
        "" => String::new(),
        facts => format!(": {facts}"),
    }
}
