//! Decisions from any terminal: approve, reject, answer, retry, skip, abort.
//!
//! A decision is written to the run's inbox. Whoever drives the run takes it from there at once;
//! if nobody does, it keeps until `codeteam resume`, or this command drives the run itself where
//! that is what was asked for.

use codeteam_core::Run;
use codeteam_core::frame::{Frame, FrameStage, Question, QuestionKind};
use codeteam_core::hands::Operator;
use codeteam_core::ids::{FramePath, RunId, StepId, TaskId};
use codeteam_core::input::Decision;
use codeteam_core::quoted::one_line;
use codeteam_engine::engine::{Engine, KeptDecision};
use codeteam_engine::{driver, session, tell};
use std::sync::Arc;

use crate::cli::drive::AnswerSourceArgs;
use crate::cli::talk::DriveRequest;
use crate::cli::{CliContext, RunName, drive, resume, talk};
use crate::exit::Exit;
use crate::output::{self, TerminalStyle, say};
use crate::problem::Problem;
use crate::progress::Verbosity;

/// Arguments of `approve`.
#[derive(Debug, clap::Args)]
pub(crate) struct ApproveArgs {
    #[command(flatten)]
    run: RunName,
    /// What else to say.
    #[arg(short, long, default_value = "")]
    message: String,
    /// Which task's question, if several are open.
    #[arg(long)]
    task: Option<String>,
}

/// Arguments of `reject`.
#[derive(Debug, clap::Args)]
pub(crate) struct RejectArgs {
    #[command(flatten)]
    run: RunName,
    /// What is wrong; the next worker is told.
    #[arg(short, long, default_value = "")]
    message: String,
    /// Which task's question, if several are open.
    #[arg(long)]
    task: Option<String>,
}

/// Arguments of `answer`.
#[derive(Debug, clap::Args)]
pub(crate) struct AnswerArgs {
    /// A run: its id or a part of it.
    run: String,
    /// The answer: one of those offered, or any text where that is asked for.
    answer: String,
    /// What else to say.
    #[arg(short, long, default_value = "")]
    message: String,
    /// Which task's question, if several are open.
    #[arg(long)]
    task: Option<String>,
}

/// Arguments of `retry`.
#[derive(Debug, clap::Args)]
pub(crate) struct RetryArgs {
    #[command(flatten)]
    run: RunName,
    /// Only this task.
    #[arg(long)]
    task: Option<String>,
    /// What the next worker should know.
    #[arg(short, long, default_value = "")]
    message: String,
    #[command(flatten)]
    answering: AnswerSourceArgs,
}

/// Arguments of `skip`.
#[derive(Debug, clap::Args)]
pub(crate) struct SkipArgs {
    /// A run: its id or a part of it.
    run: String,
    /// The task to leave out.
    task: String,
}

/// Arguments of `abort`.
#[derive(Debug, clap::Args)]
pub(crate) struct AbortArgs {
    #[command(flatten)]
    run: RunName,
    /// Why.
    #[arg(short, long, default_value = "")]
    message: String,
}

/// Words that mean yes, in the order they are looked for among a question's answers.
const YES: &[&str] = &[
    "approve", "accept", "commit", "yes", "continue", "done", "ok",
];
/// Words that mean no.
const NO: &[&str] = &["reject", "change", "no", "fail", "again"];

pub(crate) fn approve(args: &ApproveArgs, scene: &CliContext) -> Result<Exit, Problem> {
    by_meaning(
        scene,
        args.run.run.as_deref(),
        args.task.as_deref(),
        &args.message,
        YES,
        "approve",
    )
}

pub(crate) fn reject(args: &RejectArgs, scene: &CliContext) -> Result<Exit, Problem> {
    by_meaning(
        scene,
        args.run.run.as_deref(),
        args.task.as_deref(),
        &args.message,
        NO,
        "reject",
    )
}

fn by_meaning(
    scene: &CliContext,
    run: Option<&str>,
    task: Option<&str>,
    message: &str,
    words: &[&str],
    verb: &str,
) -> Result<Exit, Problem> {
    let engine = scene.with_runs()?;
    let id = engine.find(run)?;
    let state = engine.load(&id)?;
    outside(&engine, &state)?;
    if words == YES
        && let Some(decision) = overruling(&state, task, message)
    {
        if scene.detail >= Verbosity::Normal {
            warn_against(&state, &decision);
        }
        return post(scene, &engine, &id, &decision);
    }
    let question = question(&state, task)?;
    let answer = words
        .iter()
        .find_map(|word| question.answers.iter().find(|answer| answer == word))
        .ok_or_else(|| {
            Problem::user(format!(
                "`{verb}` does not say enough here: {}",
                tell::first_line(&question.text)
            ))
            .hint(format!(
                "`codeteam answer {id} …` with one of: {}",
                offered(question)
            ))
        })?;
    let decision = Decision::Answer {
        question: question.id.clone(),
        answer: answer.clone(),
        note: message.to_owned(),
        change: None,
    };
    if scene.detail >= Verbosity::Normal {
        if words == YES {
            warn_of(&state, question);
        }
        let asked = question.text.lines().next().unwrap_or_default();
        say(&format!("`{answer}` is the answer to: {asked}"));
        if words == YES && judges_nothing(&state, question) {
            say(&format!(
                "  that says how to go on, and accepts no change; `codeteam approve {id}` does, while an \
                 implementer is at work on it"
            ));
        }
    }
    post(scene, &engine, &id, &decision)
}

/// Whether a yes to a question of a session says only how to go on, though there is a change that steps
/// are against.
fn judges_nothing(run: &Run, question: &Question) -> bool {
    let frame = run.frames.get(&question.id.frame);
    run.hands == Operator::Session
        && question.kind != QuestionKind::Step
        && frame.is_some_and(|frame| !frame.held_against().is_empty())
}

/// Refuses what a session says in a person's name: a decision is made outside of it, whoever has the
/// run by now.
pub(crate) fn outside(engine: &Engine, run: &Run) -> Result<(), Problem> {
    let label = match run.began_in {
        Operator::Workers => None,
        Operator::Session => session::inside(engine, &run.id)?,
    };
    let Some(label) = label else {
        return Ok(());
    };
    Err(Problem::user(format!(
        "this is called from inside `{label}`, which codeteam leads through tasks here"
    ))
    .hint("a person decides this, in a terminal of their own"))
}

/// The decision to take a change as it is, where nothing is asked and something is held against it:
/// one that is being worked on, or one that was given up.
fn overruling(run: &Run, task: Option<&str>, message: &str) -> Option<Decision> {
    let asked = |frame: &Frame| matches!(frame.stage, FrameStage::Asking(_));
    if run.frames.values().any(asked) {
        return None;
    }
    let named = |frame: &&Frame| task.is_none_or(|task| frame.path.name() == task);
    let held = run.frames.values().chain(run.failed.values()).filter(named);
    let mut held = held.filter(|frame| !frame.held_against().is_empty());
    let frame = held.next().filter(|_| held.next().is_none())?;
    Some(Decision::Accept {
        frame: Some(frame.path.clone()),
        note: message.to_owned(),
    })
}

fn warn_against(run: &Run, decision: &Decision) {
    if let Decision::Accept {
        frame: Some(path), ..
    } = decision
    {
        let frame = run.frames.get(path).or_else(|| run.failed.get(path));
        if let Some(frame) = frame {
            warn_of_frame(frame);
        }
    }
}

/// Says what an approval goes over: it is recorded, and whoever gives it should know.
fn warn_of(run: &Run, question: &Question) {
    if question.kind == QuestionKind::Step
        && let Some(frame) = run.frames.get(&question.id.frame)
    {
        warn_of_frame(frame);
    }
}

fn warn_of_frame(frame: &Frame) {
    let patch = frame.change.as_ref().map(|change| &change.patch);
    let approved = |step: &StepId| frame.verdicts.get(step).is_some_and(|v| v.approved);
    let against = frame.record.against(patch, approved);
    if patch.is_some() && !against.is_empty() {
        let style = TerminalStyle::detect();
        say(&format!(
            "{}: this goes over {}",
            style.yellow("note"),
            against.join(", ")
        ));
    }
}

pub(crate) fn answer(args: &AnswerArgs, scene: &CliContext) -> Result<Exit, Problem> {
    let engine = scene.with_runs()?;
    let id = engine.find(Some(&args.run))?;
    let state = engine.load(&id)?;
    outside(&engine, &state)?;
    let question = question(&state, args.task.as_deref())?;
    if !question.answers.is_empty() && !question.answers.contains(&args.answer) {
        return Err(Problem::user(format!(
            "`{}` is not an answer to: {}",
            args.answer,
            tell::first_line(&question.text)
        ))
        .hint(format!("one of: {}", offered(question))));
    }
    if talk::editing(&state, question).as_ref() == Some(&args.answer) {
        return Err(
            Problem::user(format!("`{}` comes with a change", args.answer))
                .hint(format!("`codeteam edit {id}` opens it, and hands it back")),
        );
    }
    let decision = Decision::Answer {
        question: question.id.clone(),
        answer: args.answer.clone(),
        note: args.message.clone(),
        change: None,
    };
    post(scene, &engine, &id, &decision)
}

pub(crate) fn skip(args: &SkipArgs, scene: &CliContext) -> Result<Exit, Problem> {
    let engine = scene.with_runs()?;
    let id = engine.find(Some(&args.run))?;
    let run = engine.load(&id)?;
    outside(&engine, &run)?;
    let task = known_task(&run, &args.task)?;
    post(scene, &engine, &id, &Decision::Skip { task })
}

pub(crate) fn abort(args: &AbortArgs, scene: &CliContext) -> Result<Exit, Problem> {
    let engine = scene.with_runs()?;
    let id = engine.find(args.run.run.as_deref())?;
    if engine.load(&id)?.is_terminal() {
        return Err(Problem::user(format!("{id} has ended already")));
    }
    let mut decision = Decision::Abort {
        reason: args.message.clone(),
    };
    filter(scene, &engine, &mut decision);
    if hand_in(scene, &engine, &id, &decision)? {
        return told(scene, &id, &decision, None);
    }
    // Ending a run that nobody drives takes no worker: do it here and now.
    let options = drive::options(false)?;
    driver::resume(
        &engine,
        &id,
        Vec::new(),
        &options,
        &drive::observer(scene, &engine),
    )?;
    if scene.json {
        output::json(&drive::value(&engine.load(&id)?))?;
    }
    Ok(Exit::Done)
}

pub(crate) fn retry(args: &RetryArgs, scene: &CliContext) -> Result<Exit, Problem> {
    let engine = scene.with_runs()?;
    let id = engine.find(args.run.run.as_deref())?;
    let run = engine.load(&id)?;
    outside(&engine, &run)?;
    let frame = match &args.task {
        None => None,
        Some(task) => {
            let task = known_task(&run, task)?;
            let found = run
                .failed
                .keys()
                .find(|path| path.name() == task.as_str())
                .cloned();
            Some(found.unwrap_or_else(|| FramePath::root().child(task.as_str())))
        }
    };
    let failed = run.failed.iter().next().is_some()
        || matches!(
            run.outcome,
            Some(
                codeteam_core::event::FrameOutcome::Failed(_)
                    | codeteam_core::event::FrameOutcome::Aborted(_)
            )
        );
    if !failed {
        return Err(Problem::user(format!("nothing of {id} has failed"))
            .hint(format!("`codeteam status {id}` shows where it stands")));
    }
    let mut decision = Decision::Retry {
        frame,
        note: args.message.clone(),
        plan: resume::plan_by_hand(&engine, &run)?,
        checks: resume::checks_by_hand(&engine, &run),
    };
    filter(scene, &engine, &mut decision);
    if hand_in(scene, &engine, &id, &decision)? {
        return told(scene, &id, &decision, None);
    }
    let task = DriveRequest::Resume(id, Vec::new());
    drive::drive(scene, &engine, task, &args.answering)
}

/// The open question: the only one, or the one of a task.
pub(crate) fn question<'a>(run: &'a Run, task: Option<&str>) -> Result<&'a Question, Problem> {
    let open: Vec<&Question> = drive::open_questions(run)
        .into_iter()
        .filter(|q| task.is_none_or(|task| q.id.frame.name() == task))
        .collect();
    match open.as_slice() {
        [] => Err(no_question(run)),
        [one] => Ok(one),
        several => {
            let names: Vec<&str> = several.iter().map(|q| q.id.frame.name()).collect();
            Err(Problem::user("several questions are open")
                .hint(format!("say which with `--task`: {}", names.join(", "))))
        }
    }
}

/// Why there is nothing to decide, and what can be done instead.
fn no_question(run: &Run) -> Problem {
    let id = &run.id;
    let refused: Vec<&str> = run
        .frames
        .values()
        .chain(run.failed.values())
        .filter(|frame| !frame.held_against().is_empty())
        .map(|frame| frame.path.name())
        .collect();
    let problem = Problem::user(format!("{id} waits for no decision"));
    match refused.as_slice() {
        [] => problem.hint(format!("`codeteam status {id}` shows what it is doing")),
        [one] => problem.hint(format!(
            "`codeteam approve {id} --task {one}` takes the change that was refused as it is"
        )),
        several => problem.hint(format!(
            "several changes were refused; `codeteam approve {id} --task …` takes one of them as it \
             is: {}",
            several.join(", ")
        )),
    }
}

pub(crate) fn post(
    scene: &CliContext,
    engine: &Arc<Engine>,
    id: &RunId,
    decision: &Decision,
) -> Result<Exit, Problem> {
    let mut decision = decision.clone();
    filter(scene, engine, &mut decision);
    if hand_in(scene, engine, id, &decision)? {
        return told(scene, id, &decision, None);
    }
    let go_on = go_on(&engine.load(id)?);
    told(scene, id, &decision, Some(&go_on))
}

/// Writes a decision down, and returns whether somebody drives the run and takes it. If nobody does, it is
/// kept for whoever takes the run up next, and earlier ones that it replaces are named.
fn hand_in(
    scene: &CliContext,
    engine: &Engine,
    id: &RunId,
    decision: &Decision,
) -> Result<bool, Problem> {
    if driven(engine, id)? {
        engine.post(id, decision, &scene.env.user)?;
        // It may have stopped meanwhile, and not have seen it.
        return driven(engine, id);
    }
    let replaced = engine.keep(id, decision, &scene.env.user)?;
    for earlier in replaced
        .iter()
        .filter(|_| scene.detail >= Verbosity::Normal)
    {
        output::tell(&format!(
            "{}: this replaces what was decided before and not carried out yet: {}",
            TerminalStyle::detect().yellow("note"),
            in_words(&earlier.decision)
        ));
    }
    driven(engine, id)
}

/// A decision that is kept, as status shows it.
pub(crate) fn kept_line(kept: &KeptDecision) -> String {
    one_line(&format!("{} (by {})", in_words(&kept.decision), kept.by))
}

/// A decision in a few words.
fn in_words(decision: &Decision) -> String {
    let with_note = |what: String, note: &str| match tell::first_line(note) {
        "" => what,
        note => format!("{what}: \"{note}\""),
    };
    let place = |frame: &FramePath| {
        if frame.is_root() {
            "the run".to_owned()
        } else {
            format!("`{}`", frame.name())
        }
    };
    match decision {
        Decision::Answer {
            question,
            answer,
            note,
            ..
        } => {
            let answer = tell::first_line(answer);
            with_note(
                format!("`{answer}` as the answer for {}", place(&question.frame)),
                note,
            )
        }
        Decision::Accept { frame, note } => {
            let of = frame.as_ref().map(|f| format!(" of {}", place(f)));
            let what = format!("accept the change{} as it is", of.unwrap_or_default());
            with_note(what, note)
        }
        Decision::Retry { frame, note, .. } => {
            let what = frame.as_ref().map(|f| format!(" {}", place(f)));
            with_note(format!("retry{}", what.unwrap_or_default()), note)
        }
        Decision::Skip { task } => format!("skip `{task}`"),
        Decision::Abort { reason } => with_note("abort the run".to_owned(), reason),
        Decision::Revise { .. } => "change the plan".to_owned(),
        Decision::Repin { .. } => "change the checks".to_owned(),
        Decision::Reassign { .. } => "give the run into other hands".to_owned(),
        Decision::RaiseLimits { .. } => "raise limits".to_owned(),
    }
}

/// Takes secrets out of a decision, and says so.
fn filter(scene: &CliContext, engine: &Engine, decision: &mut Decision) {
    let removed = engine.filter_decision(decision);
    if scene.detail >= Verbosity::Normal {
        output::note_removed(&removed);
    }
}

/// What became of a decision that was written down, and how to go on if nobody drives the run.
fn told(
    scene: &CliContext,
    id: &RunId,
    decision: &Decision,
    go_on: Option<&str>,
) -> Result<Exit, Problem> {
    let driven = go_on.is_none();
    if scene.json {
        output::json(&serde_json::json!({ "run": id, "posted": decision, "driven": driven }))?;
    } else if let Some(go_on) = go_on {
        say("kept: no codeteam is working on the run now, so nothing happens yet");
        say(&format!("  go on   {go_on}"));
    } else {
        say(&format!("told the codeteam that drives {id}"));
    }
    Ok(Exit::Done)
}

/// How a run that nobody drives is gone on with.
pub(crate) fn go_on(run: &Run) -> String {
    let id = &run.id;
    match run.hands {
        Operator::Workers => format!("codeteam resume {id}"),
        Operator::Session => {
            format!("in your client: `get_status`; or with workers: codeteam run --continue {id}")
        }
    }
}

/// Whether a living process drives the run.
pub(crate) fn driven(engine: &Engine, id: &RunId) -> Result<bool, Problem> {
    Ok(session::is_driven(engine, id)?)
}

fn known_task(run: &Run, name: &str) -> Result<TaskId, Problem> {
    let id = TaskId::from(name);
    if run.task(&id).is_some() {
        return Ok(id);
    }
    let names = run
        .plan
        .iter()
        .flat_map(|plan| &plan.tasks)
        .map(|t| t.id.as_str());
    let near = codeteam_core::yaml::nearest(name, names);
    let problem = Problem::user(format!("there is no task `{name}` in {}", run.id));
    Err(match near {
        Some(near) => problem.hint(format!("did you mean `{near}`?")),
        None => problem.hint(format!("`codeteam show {}` lists them", run.id)),
    })
}

fn offered(question: &Question) -> String {
    if question.answers.is_empty() {
        return "any text".to_owned();
    }
    question
        .answers
        .iter()
        .map(|a| format!("`{a}`"))
        .collect::<Vec<_>>()
        .join(", ")
}
