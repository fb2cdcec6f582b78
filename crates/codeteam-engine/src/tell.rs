//! Says in words what has happened, the same words everywhere: progress, log, reports.

use std::fmt::Write as _;

use codeteam_core::effect::{Effect, WaitReason};
use codeteam_core::event::{CheckRemark, CheckResult, DeliveryOutcome, EntryReason, FrameOutcome};
use codeteam_core::failure::{self, FailureCause, FailureFacts};
use codeteam_core::frame::{FrameStage, PauseReason, SlotState, SlotWork};
use codeteam_core::hands::Operator;
use codeteam_core::ids::{Account, AttemptId, EpochMillis, FramePath, StepId};
use codeteam_core::park::ParkReason;
use codeteam_core::quoted::{hanging, one_line};
use codeteam_core::role::RoleKind;
use codeteam_core::schedule::TaskStatus;
use codeteam_core::submission::{Submission, VerdictChoice};
use codeteam_core::workflow::{CheckClass, StepCondition, StepKind};
use codeteam_core::{Event, Run, budget, rollup};

/// What to do about a login: a CLI says it in words that mean something only inside of it.
fn remedy(facts: &FailureFacts) -> &'static str {
    match (facts.stage, facts.trouble) {
        (failure::FailureStage::Worker, Some(FailureCause::Login)) => {
            " (`codeteam doctor` says how to log it in)"
        }
        _ => "",
    }
}

/// What a person should know where a session began a task with another configuration than the one that is
/// committed.
pub fn edited_config(files: &[String]) -> String {
    format!(
        "The project's configuration is not as it is committed ({}), and the checks of this task are those \
         that it names now.",
        files.join(", ")
    )
}

/// A line about an event, without the place it happened in; `None` for what only the machine
/// needs to know. `run` is the run with the event applied. Where others have said more than a line, the
/// rest of it is indented: nothing they say looks like an event.
pub fn event(run: &Run, event: &Event) -> Option<String> {
    Some(hanging(&describe(run, event)?, HANG))
}

/// How far what follows the first line is indented.
const HANG: usize = 4;

#[expect(clippy::too_many_lines, reason = "a table: one arm per event")]
fn describe(run: &Run, event: &Event) -> Option<String> {
    Some(match event {
        Event::RunStarted(started) => {
            let (branch, from) = (&started.branch, short(&started.base.commit.0));
            let resting = started.resting.iter();
            let resting = resting.map(|(a, until)| format!("; {a} rests until {}", moment(*until)));
            let resting: String = resting.collect();
            let place = if branch.starts_with("refs/") {
                "without a branch".to_owned()
            } else {
                format!("on branch {branch}")
            };
            let edited = match &started.edited_config[..] {
                [] => String::new(),
                edited => format!("; {}", edited_config(edited).trim_end_matches('.')),
            };
            format!("started {place} from {from}{resting}{edited}")
        }
        // Only what its workers had spent is still to be noted.
        Event::RunResumed { .. } if run.is_terminal() => return None,
        Event::RunResumed { .. } => "taken up again where it stood".to_owned(),
        Event::RunEnded { outcome, .. } => format!("the run {}", ended(outcome)),
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
            let task = run.frames.get(frame).and_then(|f| run.task_of(f));
            task.map_or_else(
                || "begun".to_owned(),
                |task| format!("begun: {}", task.headline()),
            )
        }
        Event::FrameResumed { .. } => "taken up again".to_owned(),
        Event::FrameEnded { frame, .. } if frame.is_root() => return None,
        Event::FrameEnded { outcome, .. } => ended(outcome),
        Event::StepEntered { step, why, .. } => match why {
            EntryReason::Rejected => format!("back to {step}"),
            EntryReason::Stale => format!("{step} must judge again, the change is another one now"),
            _ => return depth(event).map(|(.., decision)| decision),
        },
        Event::StepSkipped { because, .. } if !because.is_empty() => {
            return depth(event).map(|(.., decision)| decision);
        }
        Event::StepSkipped { step, .. } if is_no_news(run, step) => return None,
        Event::StepSkipped { step, .. } => format!("{step} is skipped"),
        Event::AttemptStarted {
            id, work, worker, ..
        } => started(run, id, work, worker.as_ref()?.as_str()),
        Event::AttemptPaused { until, why, .. } => {
            let why = match why {
                PauseReason::Backoff => "tries again",
                PauseReason::Quota => "waits for its quota",
                // That its account rests has just been said.
                PauseReason::RateLimit | PauseReason::Outage => return None,
            };
            format!("{why}, not before {}", clock(*until))
        }
        Event::AttemptFailed { id, facts, .. } => {
            let why = first_line(&facts.message);
            format!("{} failed: {why}{}", who(run, id), remedy(facts))
        }
        Event::AttemptLost { id, .. } => {
            format!(
                "{} was under way when codeteam stopped, and is started again",
                who(run, id)
            )
        }
        Event::WorkerReplaced { id, worker, why } => format!(
            "{} is given to another worker than {worker}: {why}",
            who(run, id)
        ),
        Event::SlotAbstained { id, reason } => format!("{} gave up: {reason}", who(run, id)),
        Event::SubmissionReceived {
            id,
            submission,
            change,
            ..
        } => {
            let files = change.as_ref().map(|(_, change)| change.files.len());
            submitted(&who(run, id), submission, files)
        }
        Event::GateJudged {
            step,
            passed,
            results,
            ..
        } => judged(*passed, results, &not_run(run, step, results)),
        Event::FindingsChanged {
            opened, resolved, ..
        } => findings(opened.len(), resolved.len()),
        Event::LoopDetected { round, .. } => format!("the same change as in round {round} again"),
        Event::BreakerOpened { step, .. } => format!("{step} fails too often"),
        Event::LevelLowered { level, .. } => format!("less is asked for now: {level:?}"),
        Event::PlanRevised { plan, .. } => {
            format!("the plan was changed, {} tasks now", plan.tasks.len())
        }
        Event::ChecksRepinned { by, checks } => {
            let steps: Vec<&str> = checks.keys().map(StepId::as_str).collect();
            format!(
                "{by} changed the checks of {}; they hold from now on",
                steps.join(", ")
            )
        }
        Event::TaskChanged { task, status, .. } => format!("{task} is {} now", status.as_str()),
        Event::Asked { question, .. } => format!("a person must decide: {}", question.text),
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
        Event::TipMoved { tip, .. } => format!("the branch is at {} now", short(&tip.commit.0)),
        Event::Committed {
            commit, message, ..
        } => {
            format!("committed {}: {}", short(&commit.0), first_line(message))
        }
        Event::NothingToCommit { .. } => "nothing to commit".to_owned(),
        Event::Delivered { outcome, .. } => delivered(outcome, short(&run.tip.commit.0)),
        Event::Published { output, .. } => format!("published: {}", first_line(output)),
        Event::BudgetWarned { what } => {
            format!("four fifths of the limit are used up: {}", limit(*what))
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
                who(run, id)
            )
        }
        Event::ContextPacked { id, packed } => {
            format!("{}: {}", who(run, id), packed.words()?)
        }
        Event::LimitReached { what } => format!("limit reached: {}", limit(*what)),
        Event::LimitsRaised { .. } => "limits raised".to_owned(),
        Event::AccountParked {
            account,
            until,
            why,
        } => parked(run, account, *until, *why),
        Event::OutagesCleared => "what did not answer is asked again".to_owned(),
        // It is tried again, and nobody knows yet whether it answers.
        Event::AccountFreed { account } if run.outages.contains_key(account) => return None,
        Event::AccountFreed { account } => format!("{account} may be used again"),
        Event::AttemptQueued { .. }
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

/// Why an account rests, and until when.
fn parked(run: &Run, account: &Account, until_time: EpochMillis, why: ParkReason) -> String {
    let until = moment(until_time);
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
                    moment(at)
                ),
                None => format!("; it is asked again at {until}"),
            };
            format!("the API of {account} does not answer{message}{again}")
        }
    }
}

/// Whether nobody wonders why a step is left out: somebody has said so, or it is rarely needed.
fn is_no_news(run: &Run, step: &StepId) -> bool {
    fn expected(condition: &StepCondition) -> bool {
        match condition {
            StepCondition::Setting(_) | StepCondition::Log(_) | StepCondition::Committed(_) => true,
            StepCondition::Not(inner) => expected(inner),
            StepCondition::All(all) | StepCondition::Any(all) => all.iter().any(expected),
            StepCondition::Plan(_)
            | StepCondition::Changed(_)
            | StepCondition::Change(_)
            | StepCondition::Task(_)
            | StepCondition::Goal(_)
            | StepCondition::Answered(_) => false,
        }
    }
    let when = run.step(step).and_then(|step| step.when.as_ref());
    when.is_some_and(expected)
}

/// What became of a run's commits at its end.
fn delivered(outcome: &DeliveryOutcome, tip: &str) -> String {
    match outcome {
        DeliveryOutcome::Forward { branch, .. } => format!("{branch} was moved forward to {tip}"),
        DeliveryOutcome::Patch { file } => format!("the changes are in {file}"),
        DeliveryOutcome::Left { why } => format!("the commits stay where they are: {why}"),
    }
}

/// The frame an event happened in.
pub fn place(event: &Event) -> Option<&FramePath> {
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
        | Event::FrameRebased { id, .. }
        | Event::RebaseConflicted { id, .. }
        | Event::TipMoved { id, .. }
        | Event::Committed { id, .. }
        | Event::Published { id, .. }
        | Event::Delivered { id, .. } => Some(&id.frame),
        _ => None,
    }
}

/// What a run is doing, in one line.
pub fn headline(run: &Run) -> String {
    one_line(&summarize(run))
}

fn summarize(run: &Run) -> String {
    if let Some(outcome) = &run.outcome {
        return match outcome {
            FrameOutcome::Failed(why) | FrameOutcome::Aborted(why) => first_line(why).to_owned(),
            FrameOutcome::Completed if is_conversation(run) => {
                let plan = run.plan.as_ref().map_or("", |plan| plan.plan_id.as_str());
                let tasks = tasks(run).unwrap_or_default();
                format!("{plan} is accepted: {tasks}")
                    .trim_start()
                    .to_owned()
            }
            _ => {
                let tasks = tasks(run).unwrap_or_else(|| "done".to_owned());
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
    if rollup::status(run) == rollup::RunStatus::Waiting
        && let Some(question) = asked
    {
        return first_line(&question).to_owned();
    }
    if rollup::status(run) == rollup::RunStatus::Paused
        && let Some((until, what)) = awaited(run)
    {
        return format!("waiting on: {what}, until {}", moment(until));
    }
    let busy: Vec<String> = run
        .frames
        .values()
        .filter(|f| !matches!(f.stage, FrameStage::Each | FrameStage::Ended(_)))
        .take(3)
        .map(|f| format!("{} at {}", f.path.name(), f.step))
        .collect();
    match tasks(run) {
        Some(tasks) if busy.is_empty() => tasks,
        Some(tasks) => format!("{tasks}; {}", busy.join(", ")),
        None => busy.join(", "),
    }
}

/// When the first of the slots that wait for an account may go on, if one does, and what it waits for.
fn awaited(run: &Run) -> Option<(EpochMillis, &'static str)> {
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

/// Whether a run has made a plan and carries none out.
fn is_conversation(run: &Run) -> bool {
    let mut roles = run.roles.values();
    run.plan.is_some() && !roles.any(|role| role.kind == RoleKind::Implementer)
}

/// How many tasks are done, if there is a plan; how many there are, if the run carries none out.
pub fn tasks(run: &Run) -> Option<String> {
    let plan = run.plan.as_ref()?;
    if is_conversation(run) {
        let tasks = plural(plan.tasks.len(), "1 task", "", "tasks");
        return Some(format!("a plan of {}", tasks.trim()));
    }
    let statuses = run.tasks.values().map(|task| task.status);
    Some(counts(plan.tasks.len(), statuses))
}

/// How many of some tasks are done, and what became of those that are not.
pub fn counts(all: usize, statuses: impl Iterator<Item = TaskStatus>) -> String {
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

/// What a wait is for, and what can be done about it.
pub fn waiting(effect: &Effect) -> Option<String> {
    Some(match effect {
        Effect::Wait { until, why } => {
            let until = until
                .map(|u| format!(", until {}", moment(u)))
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
                    let gives_up = gives_up.map(|at| format!(", giving up at {}", moment(at)));
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
                    format!("waiting on: a higher limit ({})", limit(*what))
                }
                WaitReason::Release => "waiting on: cancelled work to end".to_owned(),
            }
        }
        Effect::Ask(question) => format!("waiting on: a person ({})", question.id.frame.name()),
        _ => return None,
    })
}

/// The word for a limit.
pub fn limit(kind: budget::LimitKind) -> &'static str {
    match kind {
        budget::LimitKind::Money => "money",
        budget::LimitKind::Tokens => "tokens",
        budget::LimitKind::Attempts => "attempts",
        budget::LimitKind::Time => "time",
        budget::LimitKind::Disk => "disk",
        budget::LimitKind::Outage => "a model API has not answered for too long",
    }
}

/// How many attempts were made.
pub fn attempts(budget: &budget::Budget) -> String {
    match budget.attempts {
        1 => "1 attempt".to_owned(),
        many => format!("{many} attempts"),
    }
}

/// What was spent; a price nobody told is unknown, not nothing.
pub fn spent(spent: &budget::Budget) -> String {
    let known = money(spent.money_microusd);
    match spent.unpriced {
        0 => known,
        n if n == spent.attempts => "at an unknown price".to_owned(),
        n => format!("{known} and {n} without a known price"),
    }
}

/// What a run has cost. A session's client does not say what it spends, so that is unknown.
pub fn money_spent(run: &Run) -> String {
    let known = spent(&run.budget);
    match (run.began_in, run.budget.money_microusd) {
        (Operator::Workers, _) => known,
        (Operator::Session, 0) => {
            "at an unknown price (a session does not tell what it spends)".to_owned()
        }
        (Operator::Session, _) => {
            format!("{known} for workers, and for the session an unknown price")
        }
    }
}

/// How many tokens a run has used, as far as anybody told.
pub fn tokens_spent(run: &Run) -> String {
    match (run.began_in, run.budget.tokens) {
        (Operator::Workers, tokens) => format!("{tokens} tokens"),
        (Operator::Session, 0) => "an unknown number of tokens".to_owned(),
        (Operator::Session, tokens) => {
            format!("{tokens} tokens for workers, and for the session an unknown number")
        }
    }
}

/// Millionths of a dollar for people.
pub fn money(microusd: u64) -> String {
    format!(
        "${}.{:04}",
        microusd / 1_000_000,
        microusd % 1_000_000 / 100
    )
}

/// A time of day, in the user's time zone.
pub fn clock(at: EpochMillis) -> String {
    let millis = i64::try_from(at.0).unwrap_or(0);
    jiff::Timestamp::from_millisecond(millis)
        .map(|t| {
            t.to_zoned(jiff::tz::TimeZone::system())
                .strftime("%H:%M:%S")
                .to_string()
        })
        .unwrap_or_default()
}

/// A time to come, with its day if that is not today.
pub fn moment(at: EpochMillis) -> String {
    let here = jiff::tz::TimeZone::system();
    let millis = i64::try_from(at.0).unwrap_or(0);
    let Ok(then) = jiff::Timestamp::from_millisecond(millis) else {
        return clock(at);
    };
    let then = then.to_zoned(here.clone());
    if then.date() == jiff::Timestamp::now().to_zoned(here).date() {
        return clock(at);
    }
    then.strftime("%b %-d, %H:%M").to_string()
}

/// The first line of a text.
pub fn first_line(text: &str) -> &str {
    text.lines()
        .find(|line| !line.trim().is_empty())
        .unwrap_or("")
        .trim()
}

/// What the way back from a session's change keeps.
pub const KEPT: &str =
    "keeps the commit `team(start)`: what you had not committed when the task began";
/// How that is as it was then.
pub const UNCOMMITTED: &str = "`git reset HEAD~1` after it makes that uncommitted again";

/// The names of checks and roles that are against a change.
pub fn names(against: &[String]) -> String {
    if against.is_empty() {
        return "what is held against it".to_owned();
    }
    let quoted: Vec<String> = against.iter().map(|name| format!("`{name}`")).collect();
    quoted.join(", ")
}

/// The beginning of an object id.
pub fn short(id: &str) -> &str {
    id.get(..10).unwrap_or(id)
}

/// Who an attempt is, by its role or by what it does. The workflow tells, not the frame: that has
/// moved on when the story of an attempt is written.
pub fn who(run: &Run, id: &AttemptId) -> String {
    let role = match run.step(&id.step).map(|step| &step.kind) {
        Some(StepKind::Role(step)) => step.slots.get(id.slot as usize),
        _ => None,
    };
    role.map_or_else(|| id.step.0.clone(), |role| role.0.clone())
}

fn started(run: &Run, id: &AttemptId, work: &SlotWork, worker: &str) -> String {
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

fn submitted(who: &str, submission: &Submission, files: Option<usize>) -> String {
    match submission {
        Submission::Questions(q) => plural(
            q.questions.len(),
            &format!("{who} has 1 question"),
            &format!("{who} has"),
            "questions",
        ),
        Submission::Requirements(_) => format!("{who} confirmed the requirements"),
        Submission::Design(_) => format!("{who} submitted a design"),
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
        Submission::Text(t) => format!("{who} wrote: {}", first_line(&t.message)),
        Submission::Blocked(b) => format!("{who} is blocked: {}", first_line(&b.blocked)),
    }
}

fn ended(outcome: &FrameOutcome) -> String {
    match outcome {
        FrameOutcome::Completed => "is done".to_owned(),
        FrameOutcome::Failed(why) => format!("failed: {}", first_line(why)),
        FrameOutcome::Skipped => "was skipped".to_owned(),
        FrameOutcome::Cancelled => "was cancelled".to_owned(),
        FrameOutcome::Aborted(why) => format!("was aborted: {}", first_line(why)),
    }
}

/// Why a step was left out, or by whom a change is judged, where facts about it decided that.
pub fn depth(event: &Event) -> Option<(&FramePath, &StepId, String)> {
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

/// The checks of a gate that were spared, because others had failed already.
fn not_run<'a>(run: &'a Run, step: &StepId, results: &[CheckResult]) -> Vec<&'a str> {
    let Some(StepKind::Gate { checks }) = run.step(step).map(|step| &step.kind) else {
        return Vec::new();
    };
    let is_missing = |name: &str| !results.iter().any(|result| result.name == name);
    let names = checks.iter().map(|check| check.name.as_str());
    names.filter(|name| is_missing(name)).collect()
}

/// What checks found: those of the user by name or number, and what else is worth a look.
fn judged(passed: bool, results: &[CheckResult], not_run: &[&str]) -> String {
    let named = |wanted: &dyn Fn(&&CheckResult) -> bool| -> Vec<&str> {
        let found = results.iter().filter(wanted);
        found.map(|result| result.name.as_str()).collect()
    };
    if !passed {
        let failed = named(&|r| !r.passed).join(", ");
        return match not_run {
            [] => format!("check failed: {failed}"),
            spared => format!("check failed: {failed} (not run: {})", spared.join(", ")),
        };
    }
    let is_own = |class: CheckClass| matches!(class, CheckClass::Honesty | CheckClass::Proof);
    let said = match &named(&|r| !is_own(r.class))[..] {
        [] if results.is_empty() => "there was nothing to check".to_owned(),
        [] => {
            let rules = plural(results.len(), "1 rule", "all", "rules");
            format!("{rules} of codeteam's own passed; no checks are configured")
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

/// How many tests failed before a run and fail still; `None` if none does.
fn still_failing(count: usize) -> Option<String> {
    match count {
        0 => None,
        1 => Some("1 test that failed before the run still fails".to_owned()),
        n => Some(format!("{n} tests that failed before the run still fail")),
    }
}

/// How many tests failed before a run and were not repaired by it; `None` if there are none.
pub fn unrepaired(run: &Run) -> Option<String> {
    const NAMED: usize = 5;
    let count = run.unrepaired_tests().count();
    let said = still_failing(count)?;
    let names: Vec<&str> = run.unrepaired_tests().take(NAMED).collect();
    let more = match count.saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    Some(format!("{said}: {}{more}", names.join(", ")))
}

fn findings(opened: usize, resolved: usize) -> String {
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
