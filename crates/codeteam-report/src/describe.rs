//! Describes events and states in words. Progress lines, logs and reports all use the same words
//! from here.

mod decision;
mod history;
mod notice;
mod phases;
mod team;

use std::fmt::Write as _;

use codeteam_core::approval::{ApprovalBasis, TimeoutOutcome};
use codeteam_core::checks::{CheckRemark, CheckResult};
use codeteam_core::effect::{Effect, WaitReason};
use codeteam_core::event::{DeliveryOutcome, EntryReason};
use codeteam_core::failure::{self, FailureCause, FailureFacts};
use codeteam_core::frame::FrameOutcome;
use codeteam_core::frame::{FrameStage, PauseReason, SlotState, SlotWork};
use codeteam_core::ids::{Account, AttemptId, EpochMillis, FramePath, PersonName, StepId};
use codeteam_core::operator::Operator;
use codeteam_core::park::ParkReason;
use codeteam_core::role::RoleKind;
use codeteam_core::schedule::TaskStatus;
use codeteam_core::submission::{Submission, VerdictChoice};
use codeteam_core::untrusted_text::{hang_indented, one_line};
use codeteam_core::workflow::{CheckClass, PlanPresence, StepCondition, StepKind};
use codeteam_core::{Event, Run, budget, rollup};

pub use self::decision::describe_decision;
pub use self::history::rollback_point;
use self::notice::approval_notice;
use crate::published::published_url;

/// Returns a hint on how to log a worker in. A CLI's own message about its login only makes sense
/// inside that CLI.
fn login_remedy(facts: &FailureFacts) -> &'static str {
    match (facts.stage, facts.trouble) {
        (failure::FailureStage::Worker, Some(FailureCause::Login)) => {
            " (`codeteam doctor` says how to log it in)"
        }
        _ => "",
    }
}

/// Returns the warning shown when a session began a task with a configuration that differs from the
/// committed one.
pub fn edited_config_warning(files: &[String]) -> String {
    format!(
        "The project's configuration is not as it is committed ({}), and the checks of this task are those \
         that it names now.",
        files.join(", ")
    )
}

/// Describes an event in a line, without the frame it happened in; returns `None` for events that
/// only the machine needs to know. `run` is the run with the event already applied. Where the event
/// carries somebody else's text of several lines, the later lines are indented, so that none of
/// them looks like an event.
pub fn event_line(run: &Run, event: &Event) -> Option<String> {
    Some(hang_indented(&event_text(run, event)?, HANG))
}

/// The indentation of all lines after the first.
const HANG: usize = 4;

#[expect(clippy::too_many_lines, reason = "a table: one arm per event")]
fn event_text(run: &Run, event: &Event) -> Option<String> {
    Some(match event {
        Event::RunStarted(started) => {
            let (branch, from) = (&started.branch, short_id(&started.base.commit.0));
            let resting = started.resting.iter();
            let resting = resting
                .map(|(a, until)| format!("; {a} rests until {}", format_future_time(*until)));
            let resting: String = resting.collect();
            let place = if branch.starts_with("refs/") {
                "without a branch".to_owned()
            } else {
                format!("on branch {branch}")
            };
            let edited = match &started.edited_config[..] {
                [] => String::new(),
                edited => format!("; {}", edited_config_warning(edited).trim_end_matches('.')),
            };
            format!("started {place} from {from}{resting}{edited}")
        }
        // A run that has ended is resumed only to record what its workers had spent.
        Event::RunResumed { .. } if run.is_terminal() => return None,
        Event::RunResumed { .. } => "taken up again where it stood".to_owned(),
        Event::RunEnded { outcome, .. } => format!("the run {}", outcome_text(outcome)),
        Event::RunReopened { .. } => "reopened".to_owned(),
        Event::WorkersReassigned { hands, by, .. } => match hands {
            Operator::Workers => format!("{by} gave it to workers"),
            Operator::Session => format!("{by} took it into a session"),
        },
        Event::Accepted { by, note, over, .. } => {
            let note = match note.as_str() {
                "" => String::new(),
                note => format!(" ({note})"),
            };
            let over: Vec<&str> = over.iter().map(StepId::as_str).collect();
            let over = over.join(" and ");
            format!("{by} accepted it as it is{note}, over the rejection of {over}")
        }
        Event::FrameOpened { frame, .. } => {
            let task = run.frames.get(frame).and_then(|f| run.frame_task(f));
            task.map_or_else(
                || "begun".to_owned(),
                |task| format!("begun: {}", task.headline()),
            )
        }
        Event::FrameResumed { .. } => "taken up again".to_owned(),
        Event::FrameEnded { frame, .. } if frame.is_root() => return None,
        Event::FrameEnded { outcome, .. } => outcome_text(outcome),
        Event::StepEntered { step, why, .. } => match why {
            EntryReason::Rejected => format!("back to {step}"),
            EntryReason::Stale => format!("{step} must judge again, the change is another one now"),
            _ => return review_depth(event).map(|(.., decision)| decision),
        },
        Event::StepSkipped { because, .. } if !because.is_empty() => {
            return review_depth(event).map(|(.., decision)| decision);
        }
        Event::StepSkipped { step, .. } if is_expected_skip(run, step) => return None,
        Event::StepSkipped { step, .. } => format!("{step} is skipped"),
        Event::AttemptStarted {
            id, work, worker, ..
        } => started_line(run, id, work, worker.as_ref()?.as_str()),
        Event::AttemptPaused { until, why, .. } => {
            let why = match why {
                PauseReason::Backoff => "tries again",
                PauseReason::Quota => "waits for its quota",
                // The event that parks the account has just been described.
                PauseReason::RateLimit | PauseReason::Outage => return None,
            };
            format!("{why}, not before {}", format_time_of_day(*until))
        }
        Event::AttemptFailed { id, facts, .. } => {
            let why = first_line(&facts.message);
            let failed = match facts.stage {
                failure::FailureStage::Blocked => "is blocked",
                _ => "failed",
            };
            format!(
                "{} {failed}: {why}{}",
                attempt_name(run, id),
                login_remedy(facts)
            )
        }
        Event::AttemptLost { id, .. } => {
            format!(
                "{} was under way when codeteam stopped, and is started again",
                attempt_name(run, id)
            )
        }
        Event::WorkerReplaced { id, worker, why } => format!(
            "{} is given to another worker than {worker}: {why}",
            attempt_name(run, id)
        ),
        Event::SlotAbstained { id, reason } => {
            format!("{} gave up: {reason}", attempt_name(run, id))
        }
        Event::SubmissionReceived {
            id,
            submission,
            change,
            vote,
            ..
        } => {
            let files = change.as_ref().map(|(_, change)| change.files.len());
            let mut line = submitted_line(&attempt_name(run, id), submission, files);
            if let (Submission::Verdict(verdict), Some(false)) = (submission, vote)
                && verdict.verdict == VerdictChoice::Approve
            {
                line.push_str(&overruled_approval(run, id));
            }
            line
        }
        Event::GateJudged {
            step,
            passed,
            results,
            ..
        } => checks_line(run, *passed, results, &not_run(run, step, results)),
        Event::FindingsChanged {
            opened, resolved, ..
        } => findings_text(opened.len(), resolved.len()),
        Event::QualityScored { .. } | Event::Intervened { .. } | Event::TeamAssembled { .. } => {
            team::team_text(event)?
        }
        Event::LoopDetected { round, .. } => format!("the same change as in round {round} again"),
        Event::BreakerOpened { step, .. } => format!("{step} fails too often"),
        Event::LevelLowered { level, .. } => format!("less is asked for now: {level:?}"),
        Event::PlanRevised { plan, .. } => {
            format!("the plan was changed, {} tasks now", plan.tasks.len())
        }
        Event::PhasePlanned {
            phase,
            tasks,
            interfaces,
            ..
        } => phases::phase_line(phase, tasks, interfaces),
        Event::ChecksRepinned { by, checks } => {
            let steps: Vec<&str> = checks.keys().map(StepId::as_str).collect();
            format!(
                "{by} changed the checks of {}; they hold from now on",
                steps.join(", ")
            )
        }
        Event::WorkflowRepinned { by, .. } => {
            format!("{by} took the changed workflow in; it holds from now on")
        }
        Event::TaskChanged { task, status, .. } => format!("{task} is {} now", status.as_str()),
        Event::Asked { question, .. } => {
            let mut line = format!("a person must decide: {}", question.text);
            for point in &question.points {
                let _ = write!(line, "\n- {}", point.trim());
            }
            line
        }
        Event::Answered {
            answer,
            note,
            by,
            over,
            ..
        } => {
            let note = match note.as_str() {
                "" => String::new(),
                note => format!(" ({note})"),
            };
            let over: Vec<&str> = over.iter().map(StepId::as_str).collect();
            let over = match over.as_slice() {
                [] => String::new(),
                over => format!(", over the rejection of {}", over.join(" and ")),
            };
            format!("{by} answered: {answer}{note}{over}")
        }
        Event::TaskChosen { task, .. } => format!("{task} comes first"),
        Event::NoteGiven { by, text, .. } => format!("{by} says: {text}"),
        Event::DecisionRefused { by, why } => format!("{by}'s decision cannot be followed: {why}"),
        Event::FrameRebased { .. } => "replayed on what was integrated meanwhile".to_owned(),
        Event::RebaseConflicted { files, .. } => {
            format!(
                "conflicts with what was integrated meanwhile: {}",
                files.join(", ")
            )
        }
        Event::InterfacesLocked { id, files, .. } => phases::locked_line(&id.frame, files),
        Event::InterfaceChangeRequested { request, .. } => phases::request_line(request),
        Event::InterfaceChanged {
            phase,
            interface,
            told,
            ..
        } => phases::changed_line(phase, interface, told),
        Event::TipMoved { tip, .. } => format!("the branch is at {} now", short_id(&tip.commit.0)),
        Event::Committed {
            commit, message, ..
        } => {
            format!("committed {}: {}", short_id(&commit.0), first_line(message))
        }
        Event::NothingToCommit { .. } => "nothing to commit".to_owned(),
        Event::Delivered { outcome, .. } => delivery_line(outcome, short_id(&run.tip.commit.0)),
        Event::Published { output, .. } => {
            let url = published_url(run);
            format!("published: {}", url.unwrap_or_else(|| first_line(output)))
        }
        Event::RollbackRequested { request, .. } => history::rollback_line(request),
        Event::RunRolledBack { request, .. } => history::rolled_back_line(request),
        Event::RollbackAbandoned { why, .. } => {
            format!("not taken back, and goes on as it was: {}", first_line(why))
        }
        Event::BudgetWarned { what } => {
            format!(
                "four fifths of the limit are used up: {}",
                limit_name(*what)
            )
        }
        Event::NetworkUsed { id, hosts } => {
            let refused: Vec<&str> = hosts
                .iter()
                .filter(|reached| reached.denied > 0)
                .map(|reached| reached.host.as_str())
                .collect();
            if refused.is_empty() {
                return None;
            }
            format!(
                "the sandbox refused a connection to {} (for {} or its set-up)",
                refused.join(", "),
                attempt_name(run, id)
            )
        }
        Event::ContextPacked { id, packed } => {
            format!(
                "{}: {}",
                attempt_name(run, id),
                packed.describe_omissions()?
            )
        }
        Event::LimitReached { what } => format!("limit reached: {}", limit_name(*what)),
        Event::LimitsRaised { .. } => "limits raised".to_owned(),
        Event::AccountParked {
            account,
            until,
            why,
        } => parked_line(run, account, *until, *why),
        Event::OutagesCleared => "what did not answer is asked again".to_owned(),
        // The account is only being tried again; nobody knows yet whether its API answers.
        Event::AccountFreed { account } if run.outages.contains_key(account) => return None,
        Event::AccountFreed { account } => format!("{account} may be used again"),
        Event::ApprovalNotified {
            channels,
            until,
            retry_at,
            ..
        } => approval_notice(channels, *until, *retry_at),
        Event::ApprovalNoticeRenewed { .. } => {
            "people are notified again before it goes on".to_owned()
        }
        Event::Voted {
            by, approves, note, ..
        } => {
            let how = if *approves { "approves" } else { "rejects" };
            let note = match note.as_str() {
                "" => String::new(),
                note => format!(" ({note})"),
            };
            format!("{by} {how} it{note}")
        }
        Event::ApprovalTimedOut { outcome, .. } => match outcome {
            TimeoutOutcome::Reminded => {
                "it still waits for approval; people are reminded".to_owned()
            }
            TimeoutOutcome::Escalated(to) => {
                let names: Vec<&str> = to.iter().map(PersonName::as_str).collect();
                let names = names.join(", ");
                format!("nobody has approved it in time, so {names} may approve it too")
            }
            TimeoutOutcome::Rejected => {
                "nobody has approved it in time, so it counts as rejected".to_owned()
            }
        },
        Event::ApprovalDelegated { from, to, note, .. } => {
            let note = match note.as_str() {
                "" => String::new(),
                note => format!(" ({note})"),
            };
            if from.person == *to {
                format!("{from} takes their vote back{note}")
            } else {
                format!("{from} hands their vote to {to}{note}")
            }
        }
        Event::ApprovalVoided { voters, why, .. } => {
            let voters: Vec<&str> = voters.iter().map(PersonName::as_str).collect();
            match voters.as_slice() {
                [] => format!("the question is withdrawn: {why}"),
                voters => format!("the votes of {} no longer count: {why}", voters.join(", ")),
            }
        }
        Event::ApprovalGranted {
            basis, assessment, ..
        } => approval_line(basis, assessment.level.as_str()),
        Event::AttemptQueued { .. }
        | Event::RiskAssessed { .. }
        | Event::ApprovalRequested { .. }
        | Event::AttemptSpent { .. }
        | Event::StepJudged { .. }
        | Event::PlanProposed { .. }
        | Event::ChoiceOpened { .. }
        | Event::UsageMeasured { .. }
        | Event::DiskMeasured { .. } => {
            return None;
        }
    })
}

/// Describes why an account is parked, and until when.
fn parked_line(run: &Run, account: &Account, until_time: EpochMillis, why: ParkReason) -> String {
    let until = format_future_time(until_time);
    let outage = run.outages.get(account);
    let message = outage.map(|outage| first_line(&outage.message));
    let message = message.filter(|message| !message.is_empty());
    let message = message.map(|m| format!(" ({m})")).unwrap_or_default();
    match why {
        ParkReason::Quota => format!("{account} rests until {until}"),
        ParkReason::RateLimit => {
            format!("the API of {account} is busy{message}; it is asked again at {until}")
        }
        ParkReason::Outage => {
            let gives_up = outage.map(|o| o.since.plus(run.budget.outage_ms()));
            let again = match gives_up {
                Some(at) if at <= until_time => String::new(),
                Some(at) => format!(
                    "; it is asked again at {until}, until {} at most",
                    format_future_time(at)
                ),
                None => format!("; it is asked again at {until}"),
            };
            format!("the API of {account} does not answer{message}{again}")
        }
    }
}

/// Returns true if a skipped step surprises nobody: a setting turned it off, or it is rarely
/// needed.
fn is_expected_skip(run: &Run, step: &StepId) -> bool {
    fn expected(condition: &StepCondition) -> bool {
        match condition {
            StepCondition::Setting(_)
            | StepCondition::Log(_)
            | StepCondition::Result(_)
            | StepCondition::Score(_)
            | StepCondition::Committed(_)
            | StepCondition::Assigned(_)
            | StepCondition::Plan(PlanPresence::Unassigned) => true,
            StepCondition::Not(inner) => expected(inner),
            StepCondition::All(all) | StepCondition::Any(all) => all.iter().any(expected),
            StepCondition::Plan(_)
            | StepCondition::Changed(_)
            | StepCondition::Change(_)
            | StepCondition::Task(_)
            | StepCondition::Goal(_)
            | StepCondition::Message(_)
            | StepCondition::Answered(_) => false,
        }
    }
    let when = run.step(step).and_then(|step| step.when.as_ref());
    when.is_some_and(expected)
}

/// Describes what an approval rests on.
fn approval_line(basis: &ApprovalBasis, level: &str) -> String {
    match basis {
        ApprovalBasis::Policy => format!("goes on by the approval policy: its risk is {level}"),
        ApprovalBasis::Votes(people) => {
            let people: Vec<&str> = people.iter().map(PersonName::as_str).collect();
            format!("approved by {}", people.join(", "))
        }
        ApprovalBasis::NoObjection { within_ms } => {
            format!("nobody objected within {} min", within_ms.div_ceil(60_000))
        }
        ApprovalBasis::Override { by, reason } => {
            format!("{by} takes it against the approval policy ({reason})")
        }
    }
}

/// Describes how a run's commits were delivered at its end.
fn delivery_line(outcome: &DeliveryOutcome, tip: &str) -> String {
    match outcome {
        DeliveryOutcome::Forward { branch, .. } => format!("{branch} was moved forward to {tip}"),
        DeliveryOutcome::Patch { file } => format!("the changes are in {file}"),
        DeliveryOutcome::Left { why } => format!("the commits stay where they are: {why}"),
    }
}

/// Returns the frame that an event happened in.
pub fn event_frame(event: &Event) -> Option<&FramePath> {
    match event {
        Event::FrameOpened { frame, .. }
        | Event::FrameResumed { frame }
        | Event::FrameEnded { frame, .. }
        | Event::StepEntered { frame, .. }
        | Event::StepSkipped { frame, .. }
        | Event::FindingsChanged { frame, .. }
        | Event::StepJudged { frame, .. }
        | Event::LoopDetected { frame, .. }
        | Event::BreakerOpened { frame, .. }
        | Event::LevelLowered { frame, .. }
        | Event::TaskChanged { frame, .. }
        | Event::Asked { frame, .. }
        | Event::Answered { frame, .. }
        | Event::Accepted { frame, .. }
        | Event::NoteGiven { frame, .. }
        | Event::ApprovalRequested { frame, .. }
        | Event::ApprovalNotified { frame, .. }
        | Event::ApprovalNoticeRenewed { frame, .. }
        | Event::ApprovalTimedOut { frame, .. }
        | Event::ApprovalDelegated { frame, .. }
        | Event::Voted { frame, .. }
        | Event::ApprovalVoided { frame, .. }
        | Event::ApprovalGranted { frame, .. }
        | Event::NothingToCommit { frame } => Some(frame),
        Event::AttemptStarted { id, .. }
        | Event::AttemptQueued { id }
        | Event::ChoiceOpened { id, .. }
        | Event::TaskChosen { id, .. }
        | Event::AttemptPaused { id, .. }
        | Event::AttemptFailed { id, .. }
        | Event::AttemptLost { id, .. }
        | Event::WorkerReplaced { id, .. }
        | Event::AttemptSpent { id, .. }
        | Event::SlotAbstained { id, .. }
        | Event::SubmissionReceived { id, .. }
        | Event::GateJudged { id, .. }
        | Event::QualityScored { id, .. }
        | Event::Intervened { id, .. }
        | Event::TeamAssembled { id, .. }
        | Event::PhasePlanned { id, .. }
        | Event::FrameRebased { id, .. }
        | Event::RebaseConflicted { id, .. }
        | Event::TipMoved { id, .. }
        | Event::InterfacesLocked { id, .. }
        | Event::InterfaceChangeRequested { id, .. }
        | Event::InterfaceChanged { id, .. }
        | Event::Committed { id, .. }
        | Event::RiskAssessed { id, .. }
        | Event::Published { id, .. }
        | Event::RunRolledBack { id, .. }
        | Event::RollbackAbandoned { id, .. }
        | Event::Delivered { id, .. } => Some(&id.frame),
        _ => None,
    }
}

/// Describes what a run is doing, in one line.
pub fn headline(run: &Run) -> String {
    one_line(&summarize(run))
}

fn summarize(run: &Run) -> String {
    if let Some(outcome) = &run.outcome {
        return match outcome {
            FrameOutcome::Failed(why) | FrameOutcome::Aborted(why) => first_line(why).to_owned(),
            FrameOutcome::Completed if is_conversation(run) => {
                let plan = run.plan.as_ref().map_or("", |plan| plan.plan_id.as_str());
                let tasks = task_progress(run).unwrap_or_default();
                format!("{plan} is accepted: {tasks}")
                    .trim_start()
                    .to_owned()
            }
            _ => {
                let tasks = task_progress(run).unwrap_or_else(|| "done".to_owned());
                match unrepaired(run) {
                    Some(failing) => format!("{tasks}; {failing}"),
                    None => tasks,
                }
            }
        };
    }
    let asked = run.frames.values().find_map(|f| match &f.stage {
        FrameStage::Asking(question) => Some(question.text.clone()),
        _ => None,
    });
    if rollup::run_status(run) == rollup::RunStatus::Waiting
        && let Some(question) = asked
    {
        return first_line(&question).to_owned();
    }
    if rollup::run_status(run) == rollup::RunStatus::Paused
        && let Some((until, what)) = next_account_return(run)
    {
        return format!("waiting on: {what}, until {}", format_future_time(until));
    }
    let busy: Vec<String> = run
        .frames
        .values()
        .filter(|f| !matches!(f.stage, FrameStage::Each | FrameStage::Ended(_)))
        .take(3)
        .map(|f| format!("{} at {}", f.path.name(), f.step))
        .collect();
    match task_progress(run) {
        Some(tasks) if busy.is_empty() => tasks,
        Some(tasks) => format!("{tasks}; {}", busy.join(", ")),
        None => busy.join(", "),
    }
}

/// Returns the earliest time at which a slot that waits for an account may continue, and what it
/// waits for.
fn next_account_return(run: &Run) -> Option<(EpochMillis, &'static str)> {
    let slots = run.frames.values().flat_map(|frame| &frame.slots);
    let waits = slots.filter_map(|slot| match &slot.state {
        SlotState::Paused { until, why } => Some(match why {
            PauseReason::Backoff => return None,
            PauseReason::Quota => (*until, "quota"),
            PauseReason::RateLimit => (*until, "an API that is busy"),
            PauseReason::Outage => (*until, "an API that does not answer"),
        }),
        _ => None,
    });
    waits.min_by_key(|(until, _)| *until)
}

/// Returns true if a run has a plan but no role that implements it.
fn is_conversation(run: &Run) -> bool {
    let mut roles = run.roles.values();
    run.plan.is_some() && !roles.any(|role| role.kind == RoleKind::Implementer)
}

/// Describes how many tasks are done, if there is a plan, or how many it has if the run implements
/// none.
pub(crate) fn task_progress(run: &Run) -> Option<String> {
    let plan = run.plan.as_ref()?;
    if is_conversation(run) {
        let tasks = plural(plan.tasks.len(), "1 task", "", "tasks");
        return Some(format!("a plan of {}", tasks.trim()));
    }
    let statuses = run.tasks.values().map(|task| task.status);
    Some(task_counts(plan.tasks.len(), statuses))
}

/// Describes how many of `all` tasks are done, and how many failed, are blocked or were skipped.
pub(crate) fn task_counts(all: usize, statuses: impl Iterator<Item = TaskStatus>) -> String {
    let statuses: Vec<TaskStatus> = statuses.collect();
    let count = |status| statuses.iter().filter(|s| **s == status).count();
    let tasks = if all == 1 { "task" } else { "tasks" };
    let mut text = format!("{} of {all} {tasks} done", count(TaskStatus::Completed));
    for (status, word) in [
        (TaskStatus::Failed, "failed"),
        (TaskStatus::Blocked, "blocked"),
        (TaskStatus::Skipped, "skipped"),
    ] {
        if count(status) > 0 {
            let _ = write!(text, ", {} {word}", count(status));
        }
    }
    text
}

/// Describes what a wait is for, and what a person can do about it.
pub fn wait_text(effect: &Effect) -> Option<String> {
    Some(match effect {
        Effect::Wait { until, why } => {
            let until = until
                .map(|u| format!(", until {}", format_future_time(u)))
                .unwrap_or_default();
            match why {
                WaitReason::Backoff { id } => {
                    format!("waiting on: the next try of {}{until}", id.step)
                }
                WaitReason::Quota { accounts } => {
                    let names: Vec<&str> = accounts.iter().map(Account::as_str).collect();
                    format!("waiting on: quota of {}{until}", names.join(", "))
                }
                WaitReason::RateLimit { accounts } => {
                    let names: Vec<&str> = accounts.iter().map(Account::as_str).collect();
                    let names = names.join(", ");
                    format!("waiting on: the API of {names}, which is busy{until}")
                }
                WaitReason::Outage {
                    accounts,
                    gives_up,
                    message,
                } => {
                    let names: Vec<&str> = accounts.iter().map(Account::as_str).collect();
                    let names = names.join(", ");
                    let gives_up =
                        gives_up.map(|at| format!(", giving up at {}", format_future_time(at)));
                    format!(
                        "waiting on: the API of {names}, which does not answer ({}){until}{}",
                        first_line(message),
                        gives_up.unwrap_or_default()
                    )
                }
                WaitReason::Limit {
                    what: budget::LimitKind::Outage,
                } => "waiting on: somebody to resume the run once its API answers".to_owned(),
                WaitReason::Limit { what } => {
                    format!("waiting on: a higher limit ({})", limit_name(*what))
                }
                WaitReason::Objection { question } => format!(
                    "waiting on: whether somebody rejects the change of {}{until}",
                    question.frame.name()
                ),
                WaitReason::Release => "waiting on: cancelled work to end".to_owned(),
            }
        }
        Effect::Ask(question) => format!("waiting on: a person ({})", question.id.frame.name()),
        _ => return None,
    })
}

/// Returns the word for a limit.
pub fn limit_name(kind: budget::LimitKind) -> &'static str {
    match kind {
        budget::LimitKind::Money => "money",
        budget::LimitKind::Tokens => "tokens",
        budget::LimitKind::Attempts => "attempts",
        budget::LimitKind::Time => "time",
        budget::LimitKind::Disk => "disk",
        budget::LimitKind::Outage => "a model API has not answered for too long",
    }
}

/// Formats the number of attempts.
pub(crate) fn attempt_count(budget: &budget::Budget) -> String {
    match budget.attempts {
        1 => "1 attempt".to_owned(),
        many => format!("{many} attempts"),
    }
}

/// Formats the money spent. A price that no worker reported is shown as unknown, not as zero.
pub(crate) fn spent_text(spent: &budget::Budget) -> String {
    let known = format_money(spent.money_microusd);
    match spent.unpriced {
        0 => known,
        n if n == spent.attempts => "at an unknown price".to_owned(),
        n => format!("{known} and {n} without a known price"),
    }
}

/// Formats the cost of a run. A session's client does not report what it spends, so that part is
/// shown as unknown.
pub(crate) fn money_spent(run: &Run) -> String {
    let known = spent_text(&run.budget);
    match (run.started_by, run.budget.money_microusd) {
        (Operator::Workers, _) => known,
        (Operator::Session, 0) => {
            "at an unknown price (a session does not tell what it spends)".to_owned()
        }
        (Operator::Session, _) => {
            format!("{known} for workers, and for the session an unknown price")
        }
    }
}

/// Formats the number of tokens that a run has used, as far as it was reported.
pub(crate) fn tokens_spent(run: &Run) -> String {
    match (run.started_by, run.budget.tokens) {
        (Operator::Workers, tokens) => format!("{tokens} tokens"),
        (Operator::Session, 0) => "an unknown number of tokens".to_owned(),
        (Operator::Session, tokens) => {
            format!("{tokens} tokens for workers, and for the session an unknown number")
        }
    }
}

/// Formats millionths of a dollar for people.
pub fn format_money(microusd: u64) -> String {
    format!(
        "${}.{:04}",
        microusd / 1_000_000,
        microusd % 1_000_000 / 100
    )
}

/// Formats a time of day in the user's time zone.
pub fn format_time_of_day(at: EpochMillis) -> String {
    let millis = i64::try_from(at.0).unwrap_or(0);
    jiff::Timestamp::from_millisecond(millis)
        .map(|t| {
            t.to_zoned(jiff::tz::TimeZone::system())
                .strftime("%H:%M:%S")
                .to_string()
        })
        .unwrap_or_default()
}

/// Formats the day of a time, as it is in UTC.
pub fn format_day(at: EpochMillis) -> String {
    let millis = i64::try_from(at.0).unwrap_or(0);
    jiff::Timestamp::from_millisecond(millis)
        .map(|t| t.strftime("%b %-d").to_string())
        .unwrap_or_default()
}

/// Formats a future time, with its date if that is not today.
pub fn format_future_time(at: EpochMillis) -> String {
    let here = jiff::tz::TimeZone::system();
    let millis = i64::try_from(at.0).unwrap_or(0);
    let Ok(then) = jiff::Timestamp::from_millisecond(millis) else {
        return format_time_of_day(at);
    };
    let then = then.to_zoned(here.clone());
    if then.date() == jiff::Timestamp::now().to_zoned(here).date() {
        return format_time_of_day(at);
    }
    then.strftime("%b %-d, %H:%M").to_string()
}

/// Returns the first non-empty line of a text.
pub fn first_line(text: &str) -> &str {
    text.lines()
        .find(|line| !line.trim().is_empty())
        .unwrap_or("")
        .trim()
}

/// Says what undoing a session's change leaves in place.
pub const KEPT: &str =
    "keeps the commit `team(start)`: what you had not committed when the task began";
/// Says how to make those changes uncommitted again.
pub const UNCOMMITTED: &str = "`git reset HEAD~1` after it makes that uncommitted again";

/// Lists the names of the checks and roles that object to a change.
pub fn objection_names(against: &[String]) -> String {
    if against.is_empty() {
        return "what is held against it".to_owned();
    }
    let quoted: Vec<String> = against.iter().map(|name| format!("`{name}`")).collect();
    quoted.join(", ")
}

/// Returns the first ten characters of an object id.
pub fn short_id(id: &str) -> &str {
    id.get(..10).unwrap_or(id)
}

/// Returns the name of an attempt: its role, or else its step. The name is taken from the workflow,
/// because the frame has already moved on when the history of an attempt is written.
pub(crate) fn attempt_name(run: &Run, id: &AttemptId) -> String {
    let role = run.role_of_attempt(id);
    role.map_or_else(|| id.step.0.clone(), |role| role.0.clone())
}

fn started_line(run: &Run, id: &AttemptId, work: &SlotWork, worker: &str) -> String {
    let SlotWork::Role(role) = work else {
        return id.step.0.clone();
    };
    let round = run.frames.get(&id.frame).map_or(1, |f| f.round);
    let mut text = format!("{role} at work ({worker})");
    if round > 1 {
        let _ = write!(text, ", round {round}");
    }
    if id.attempt > 1 {
        let _ = write!(text, ", try {}", id.attempt);
    }
    text
}

fn submitted_line(who: &str, submission: &Submission, files: Option<usize>) -> String {
    match submission {
        Submission::Questions(q) => plural(
            q.questions.len(),
            &format!("{who} has 1 question"),
            &format!("{who} has"),
            "questions",
        ),
        Submission::Requirements(_) => format!("{who} confirmed the requirements"),
        Submission::Design(_) => format!("{who} submitted a design"),
        Submission::Plan(p) if p.plan.tasks.is_empty() => plural(
            p.plan.phases.len(),
            &format!("{who} planned 1 phase"),
            &format!("{who} planned"),
            "phases",
        ),
        Submission::Plan(p) => plural(
            p.plan.tasks.len(),
            &format!("{who} planned 1 task"),
            &format!("{who} planned"),
            "tasks",
        ),
        Submission::Change(c) => {
            let files = plural(files.unwrap_or(0), "1 file", "", "files");
            format!("{who} changed {}: {}", files.trim(), first_line(&c.summary))
        }
        Submission::Verdict(v) => {
            let verdict = match v.verdict {
                VerdictChoice::Approve => "approves",
                VerdictChoice::Reject => "rejects",
            };
            format!("{who} {verdict}: {}", first_line(&v.reason))
        }
        Submission::Quality(score) => {
            let about = score.issues.first().map(|issue| first_line(issue));
            let about = about.map(|issue| format!(": {issue}")).unwrap_or_default();
            format!("{who} scored it {} of 100{about}", score.overall_score)
        }
        Submission::Intervention(decision) => format!(
            "{who} decides to {}: {}",
            decision.intervention.as_str(),
            first_line(&decision.reason)
        ),
        Submission::Assembly(assembly) => plural(
            assembly.assignments.len(),
            &format!("{who} assigned roles to 1 task"),
            &format!("{who} assigned roles to"),
            "tasks",
        ),
        Submission::Text(t) => format!("{who} wrote: {}", first_line(&t.message)),
        Submission::InterfaceChange(asked) => {
            let name = &asked.interface_change.interface;
            format!("{who} asks for a change of the interface {name}")
        }
        Submission::Blocked(b) => format!("{who} is blocked: {}", first_line(&b.blocked)),
    }
}

/// Explains why an approval counts as a rejection.
fn overruled_approval(run: &Run, id: &AttemptId) -> String {
    let floor = run.workflow.severity_floor;
    let findings = run.frames.get(&id.frame).map(|frame| &frame.findings);
    let left: Vec<String> = findings
        .into_iter()
        .flat_map(|findings| findings.blocking(&id.step, floor))
        .filter(|finding| finding.slot == id.slot)
        .map(|finding| format!("{} ({})", finding.id, first_line(&finding.report.title)))
        .collect();
    let why = match left.len() {
        0 => "it reports something that must be repaired first".to_owned(),
        1 => format!("{} is still open for it", left[0]),
        _ => format!("{} are still open for it", left.join(", ")),
    };
    format!("; that counts as a rejection: {why}")
}

fn outcome_text(outcome: &FrameOutcome) -> String {
    match outcome {
        FrameOutcome::Completed => "is done".to_owned(),
        FrameOutcome::Failed(why) => format!("failed: {}", first_line(why)),
        FrameOutcome::Skipped => "was skipped".to_owned(),
        FrameOutcome::Cancelled => "was cancelled".to_owned(),
        FrameOutcome::Aborted(why) => format!("was aborted: {}", first_line(why)),
    }
}

/// Explains why a step was skipped, or who judges a change, where facts about the change decided
/// that.
pub(crate) fn review_depth(event: &Event) -> Option<(&FramePath, &StepId, String)> {
    match event {
        Event::StepEntered {
            frame,
            step,
            slots,
            because,
            ..
        } if !slots.is_empty() => {
            let who = match slots.len() {
                1 => "one reviewer".to_owned(),
                many => format!("{many} reviewers"),
            };
            Some((frame, step, format!("{step} by {who}: {because}")))
        }
        Event::StepSkipped {
            frame,
            step,
            because,
        } if !because.is_empty() => Some((frame, step, format!("{step} is skipped: {because}"))),
        _ => None,
    }
}

/// Returns the checks of a gate that were not run because others had already failed.
fn not_run<'a>(run: &'a Run, step: &StepId, results: &[CheckResult]) -> Vec<&'a str> {
    let Some(StepKind::Gate { checks }) = run.step(step).map(|step| &step.kind) else {
        return Vec::new();
    };
    let is_missing = |name: &str| !results.iter().any(|result| result.name == name);
    // What tests are worth is only asked once everything else has passed.
    let usual = checks
        .iter()
        .filter(|check| check.what.class() != CheckClass::Evidence);
    let names = usual.map(|check| check.name.as_str());
    names.filter(|name| is_missing(name)).collect()
}

/// Returns the most telling line of a failed check's summary: the last one that its command
/// printed, or how the command ended if it did not end with an exit code of its own.
fn failure_line(summary: &str) -> Option<String> {
    const SHOWN: usize = 100;
    let mut lines = summary.lines().map(str::trim).filter(|l| !l.is_empty());
    let last = lines.next_back()?;
    let ended = last.strip_prefix('(').and_then(|l| l.strip_suffix(')'));
    let line = match ended {
        Some(ended) if ended.starts_with("exit code ") => lines.next_back().unwrap_or(ended),
        Some(ended) => ended,
        // This check has no command; its summary starts with the problem.
        None => lines.next().unwrap_or(last),
    };
    Some(match line.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.to_owned(),
    })
}

/// Summarises the results of checks: the user's own by name or number, and whatever else deserves
/// attention.
fn checks_line(run: &Run, passed: bool, results: &[CheckResult], not_run: &[&str]) -> String {
    let named = |wanted: &dyn Fn(&&CheckResult) -> bool| -> Vec<&str> {
        let found = results.iter().filter(wanted);
        found.map(|result| result.name.as_str()).collect()
    };
    if !passed {
        let failed = named(&|r| !r.passed);
        let mut result = results.iter().filter(|r| !r.passed);
        let why = result.next().filter(|_| failed.len() == 1);
        let why = why.and_then(|result| failure_line(&result.summary));
        let spared = (!not_run.is_empty()).then(|| format!("not run: {}", not_run.join(", ")));
        let more: Vec<String> = why.into_iter().chain(spared).collect();
        let failed = failed.join(", ");
        return match more.as_slice() {
            [] => format!("check failed: {failed}"),
            more => format!("check failed: {failed} ({})", more.join("; ")),
        };
    }
    let said = match &named(&|r| !is_own(r.class))[..] {
        [] if results.is_empty() => "there was nothing to check".to_owned(),
        [] => {
            let rules = plural(results.len(), "1 rule", "all", "rules");
            let none = if has_project_checks(run) {
                ""
            } else {
                "; no checks are configured"
            };
            format!("{rules} of codeteam's own passed{none}")
        }
        [one] => format!("check passed: {one}"),
        [_, _] => "both checks passed".to_owned(),
        all => format!("all {} checks passed", all.len()),
    };
    let marked = |remark: CheckRemark, word: &str| {
        let found = named(&|r| r.remark == Some(remark) && r.still_failing.is_empty());
        (!found.is_empty()).then(|| format!("{word}: {}", found.join(", ")))
    };
    let left = results.iter().map(|result| result.still_failing.len());
    let marks = [
        still_failing(left.sum()),
        marked(CheckRemark::Noted, "noted"),
        marked(CheckRemark::Unproved, "unproved"),
    ];
    let marks: Vec<String> = marks.into_iter().flatten().collect();
    if marks.is_empty() {
        return said;
    }
    format!("{said} ({})", marks.join("; "))
}

fn is_own(class: CheckClass) -> bool {
    matches!(
        class,
        CheckClass::Honesty | CheckClass::Proof | CheckClass::Evidence
    )
}

/// Returns true if any gate of the workflow has a check that is not codeteam's own.
fn has_project_checks(run: &Run) -> bool {
    let mut steps = run.workflow.steps.values();
    steps.any(|step| match &step.kind {
        StepKind::Gate { checks } => checks.iter().any(|check| !is_own(check.what.class())),
        _ => false,
    })
}

/// Describes how many tests failed before a run and still fail; `None` if none does.
fn still_failing(count: usize) -> Option<String> {
    match count {
        0 => None,
        1 => Some("1 test that failed before the run still fails".to_owned()),
        n => Some(format!("{n} tests that failed before the run still fail")),
    }
}

/// Describes how many tests failed before a run and were not repaired by it; `None` if there are
/// none.
pub(crate) fn unrepaired(run: &Run) -> Option<String> {
    let failing: Vec<&str> = run.unrepaired_tests().collect();
    still_failing_text(&failing)
}

/// Says the same of the given tests.
pub fn still_failing_text<T: AsRef<str>>(tests: &[T]) -> Option<String> {
    const NAMED: usize = 5;
    let said = still_failing(tests.len())?;
    let names: Vec<&str> = tests.iter().take(NAMED).map(AsRef::as_ref).collect();
    let more = match tests.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    Some(format!("{said}: {}{more}", names.join(", ")))
}

fn findings_text(opened: usize, resolved: usize) -> String {
    match (opened, resolved) {
        (n, 0) => plural(n, "1 finding opened", "", "findings opened")
            .trim()
            .to_owned(),
        (0, n) => plural(n, "1 finding answered", "", "findings answered")
            .trim()
            .to_owned(),
        (n, m) => format!("{n} findings opened, {m} answered"),
    }
}

fn plural(n: usize, one: &str, before: &str, after: &str) -> String {
    if n == 1 {
        one.to_owned()
    } else {
        format!("{before} {n} {after}")
    }
}
