//! Decisions from any terminal: approve, reject, answer, retry, skip, abort.
//!
//! A decision is written to the run's inbox. Whoever drives the run takes it from there at once; if
//! nobody does, it is kept until `codeteam resume`, or this command drives the run itself where
//! that is what was asked for.

use codeteam_core::frame::{FrameOutcome, Question, QuestionKind};
use codeteam_core::ids::{FramePath, TaskId};
use codeteam_core::input::Decision;
use codeteam_core::operator::Operator;
use codeteam_core::untrusted_text::one_line;
use codeteam_engine::engine::Engine;
use codeteam_engine::{driver, session};
use codeteam_report::describe;
use codeteam_report::view::{FrameView, LoadedRun, QuestionView, RunView};
use std::path::PathBuf;
use std::sync::Arc;

use crate::cli::drive::AnswerSourceArgs;
use crate::cli::talk::DriveRequest;
use crate::cli::{CliContext, RunName, drive, resume};
use crate::exit::Exit;
use crate::output::{self, TerminalStyle, eprint_line};
use crate::progress::Verbosity;
use codeteam_engine::problem::Problem;

mod hand_in;

pub(crate) use self::hand_in::{
    continue_hint, hand_in, is_driven, kept_line, post_decision, redact_decision, report_posted,
};

use self::hand_in::{hand_in_signed, refused};

/// Arguments of `approve`.
#[derive(Debug, clap::Args)]
pub(crate) struct ApproveArgs {
    #[command(flatten)]
    run: RunName,
    /// A note that goes with it.
    #[arg(short, long, default_value = "")]
    message: String,
    /// The task whose question is meant, if several are open.
    #[arg(long)]
    task: Option<String>,
    /// The id of the question, as `tui` shows it; refused if another question is open by now.
    #[arg(long, value_name = "ID")]
    question: Option<String>,
    /// Accept the change against the approval policy, with `-m` as the reason. Only for people who
    /// may override it.
    #[arg(long = "override")]
    overrides: bool,
    #[command(flatten)]
    signing: SigningArgs,
}

/// How a vote on a change is signed.
#[derive(Debug, Default, clap::Args)]
pub(crate) struct SigningArgs {
    /// Sign the decision with your ssh key, so that it is known to be yours whoever runs codeteam.
    #[arg(long)]
    sign: bool,
    /// The key to sign with: the file of the private key, or of the public one if an agent has the
    /// private one. If left out, git's `user.signingKey`.
    #[arg(long, value_name = "FILE", requires = "sign")]
    key: Option<PathBuf>,
}

/// Arguments of `reject`.
#[derive(Debug, clap::Args)]
pub(crate) struct RejectArgs {
    #[command(flatten)]
    run: RunName,
    /// What is wrong; the next worker sees this.
    #[arg(short, long, default_value = "")]
    message: String,
    /// The task whose question is meant, if several are open.
    #[arg(long)]
    task: Option<String>,
    /// The id of the question, as `tui` shows it; refused if another question is open by now.
    #[arg(long, value_name = "ID")]
    question: Option<String>,
    #[command(flatten)]
    signing: SigningArgs,
}

/// Arguments of `answer`.
#[derive(Debug, clap::Args)]
#[command(allow_missing_positional = true)]
pub(crate) struct AnswerArgs {
    /// A run: its id or a part of it. The newest if left out.
    run: Option<String>,
    /// The answer: one of those offered, or any text where that is asked for.
    answer: String,
    /// A note that goes with it.
    #[arg(short, long, default_value = "")]
    message: String,
    /// The task whose question is meant, if several are open.
    #[arg(long)]
    task: Option<String>,
    /// The id of the question, as `tui` shows it; refused if another question is open by now.
    #[arg(long, value_name = "ID")]
    question: Option<String>,
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
#[command(allow_missing_positional = true)]
pub(crate) struct SkipArgs {
    /// A run: its id or a part of it. The newest if left out.
    run: Option<String>,
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

/// Words that mean yes, in the order in which they are looked for among a question's answers.
const YES: &[&str] = &[
    "approve", "accept", "commit", "yes", "continue", "done", "ok",
];
/// Words that mean no, in the same order.
const NO: &[&str] = &["reject", "change", "no", "fail", "again"];

/// The word for a vote against the policy.
const OVERRIDES: &[&str] = &["override"];

pub(crate) fn approve(args: &ApproveArgs, scene: &CliContext) -> Result<Exit, Problem> {
    let (words, verb) = if args.overrides {
        (OVERRIDES, "approve --override")
    } else {
        (YES, "approve")
    };
    answer_by_meaning(
        scene,
        args.run.run.as_deref(),
        (args.task.as_deref(), args.question.as_deref()),
        &args.message,
        (words, verb),
        &args.signing,
    )
}

pub(crate) fn reject(args: &RejectArgs, scene: &CliContext) -> Result<Exit, Problem> {
    answer_by_meaning(
        scene,
        args.run.run.as_deref(),
        (args.task.as_deref(), args.question.as_deref()),
        &args.message,
        (NO, "reject"),
        &args.signing,
    )
}

fn answer_by_meaning(
    scene: &CliContext,
    run: Option<&str>,
    (task, named): (Option<&str>, Option<&str>),
    message: &str,
    (words, verb): (&[&str], &str),
    signing: &SigningArgs,
) -> Result<Exit, Problem> {
    let engine = scene.engine_with_runs()?;
    let id = engine.find_run(run)?;
    let state = engine.load_run_view(&id)?;
    refuse_inside_session(&engine, &state)?;
    if words == YES
        && named.is_none()
        && let Some(decision) = overruling_decision(&state, task, message)
    {
        if scene.detail >= Verbosity::Normal {
            warn_about_decision(&state, &decision);
        }
        return post_decision(scene, &engine, &id, &decision);
    }
    let asked = find_named_question(&state, task, named)?;
    let question = &asked.question;
    let answer = words
        .iter()
        .find_map(|word| question.answers.iter().find(|answer| answer == word))
        .ok_or_else(|| {
            Problem::user(format!(
                "`{verb}` does not say enough here: {}",
                describe::first_line(&question.text)
            ))
            .hint(format!(
                "`codeteam answer {id} …` with one of: {}",
                list_answers(question)
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
            warn_about_question(asked);
        }
        let asked = question.text.lines().next().unwrap_or_default();
        eprint_line(&format!("`{answer}` is the answer to: {asked}"));
        // An answer may run a command on this machine.
        let about_it = format!("`{answer}` ");
        for point in &question.points {
            if point.starts_with(&about_it) {
                output::eprint_wrapped(&format!("  {}", one_line(point)));
            }
        }
        if words == YES && decides_no_change(&state, question) {
            eprint_line(&format!(
                "  that says how to go on, and accepts no change; `codeteam approve {id}` does, while an \
                 implementer is at work on it"
            ));
        }
    }
    if question.kind == QuestionKind::Approval {
        refuse_inside_any_session(&engine)?;
        return vote(scene, &engine, &state, decision, signing);
    }
    if signing.sign {
        return Err(Problem::user(
            "only a vote on a change that waits for an approval is signed",
        ));
    }
    post_decision(scene, &engine, &id, &decision)
}

/// Posts a vote on a change, or what somebody decides about their vote, signed if that is wanted.
pub(super) fn vote(
    scene: &CliContext,
    engine: &Arc<Engine>,
    run: &LoadedRun,
    mut decision: Decision,
    signing: &SigningArgs,
) -> Result<Exit, Problem> {
    // The signature covers the words as they are kept.
    redact_decision(scene, engine, &mut decision);
    let signature = if signing.sign {
        let key = match &signing.key {
            Some(key) => scene.here.join(key),
            None => engine.signing_key()?,
        };
        Some(engine.sign_decision(run.as_run(), &decision, &key)?)
    } else {
        None
    };
    let id = &run.id;
    if !is_driven(engine, id)?
        && let Some(why) = engine.foresee_refusal(run.as_run(), &decision, signature.as_deref())?
    {
        return Err(refused(&why));
    }
    let handed_in = hand_in_signed(scene, engine, id, &decision, signature)?;
    let go_on = (!handed_in.is_driven()).then(|| continue_hint(run));
    report_posted(scene, id, &decision, &handed_in, go_on.as_deref())
}

/// Refuses a vote from inside a session in this checkout, whatever that session does: a vote is a
/// person's own.
pub(crate) fn refuse_inside_any_session(engine: &Engine) -> Result<(), Problem> {
    match session::calling_session(engine.repo.top_level()) {
        None => Ok(()),
        Some(label) => Err(
            Problem::user(format!("this is called from inside `{label}`"))
                .hint("a person votes on a change, in a terminal of their own"),
        ),
    }
}

/// Returns true if a yes to a session's question only says how to go on, although steps object to
/// the change.
fn decides_no_change(run: &RunView, question: &Question) -> bool {
    let frame = run.frame(&question.id.frame);
    run.operator == Operator::Session
        && question.kind != QuestionKind::Step
        && frame.is_some_and(|frame| !frame.rejected_by.is_empty())
}

/// Refuses a decision made by a session in a person's name. A person decides outside the session,
/// whoever has the run by now.
pub(crate) fn refuse_inside_session(engine: &Engine, run: &RunView) -> Result<(), Problem> {
    let label = match run.started_by {
        Operator::Workers => None,
        Operator::Session => session::calling_session_of_run(engine, &run.id)?,
    };
    let Some(label) = label else {
        return Ok(());
    };
    Err(Problem::user(format!(
        "this is called from inside `{label}`, which codeteam leads through tasks here"
    ))
    .hint("a person decides this, in a terminal of their own"))
}

/// Returns the decision to accept a change as it is, where no question is open and there are
/// objections. The change may still be worked on, or may have been given up.
fn overruling_decision(run: &RunView, task: Option<&str>, message: &str) -> Option<Decision> {
    if !run.questions.is_empty() {
        return None;
    }
    let named = |frame: &&FrameView| task.is_none_or(|task| frame.path.name() == task);
    let mut held = run.refused_changes().filter(named);
    let frame = held.next().filter(|_| held.next().is_none())?;
    Some(Decision::Accept {
        frame: Some(frame.path.clone()),
        note: message.to_owned(),
    })
}

fn warn_about_decision(run: &RunView, decision: &Decision) {
    if let Decision::Accept {
        frame: Some(path), ..
    } = decision
        && let Some(frame) = run.frame(path).filter(|frame| frame.has_change())
    {
        warn_about_objections(&frame.objections);
    }
}

/// Warns about the objections that an approval overrules: they are recorded, and whoever approves
/// should know.
fn warn_about_question(asked: &QuestionView) {
    if asked.question.kind == QuestionKind::Step {
        warn_about_objections(&asked.objections);
    }
}

fn warn_about_objections(against: &[String]) {
    if !against.is_empty() {
        let style = TerminalStyle::detect();
        eprint_line(&format!(
            "{}: this overrules {}",
            style.yellow("note"),
            against.join(", ")
        ));
    }
}

pub(crate) fn answer(args: &AnswerArgs, scene: &CliContext) -> Result<Exit, Problem> {
    let engine = scene.engine_with_runs()?;
    let id = engine.find_run(args.run.as_deref())?;
    let state = engine.load_run_view(&id)?;
    refuse_inside_session(&engine, &state)?;
    let asked = find_named_question(&state, args.task.as_deref(), args.question.as_deref())?;
    let question = &asked.question;
    if !question.answers.is_empty() && !question.answers.contains(&args.answer) {
        return Err(Problem::user(format!(
            "`{}` is not an answer to: {}",
            args.answer,
            describe::first_line(&question.text)
        ))
        .hint(format!("one of: {}", list_answers(question))));
    }
    if asked.edit_answer() == Some(args.answer.as_str()) {
        return Err(
            Problem::user(format!("`{}` comes with a change", args.answer))
                .hint(format!("`codeteam edit {id}` opens it, and hands it back")),
        );
    }
    if question.kind == QuestionKind::Approval {
        refuse_inside_any_session(&engine)?;
    }
    let decision = Decision::Answer {
        question: question.id.clone(),
        answer: args.answer.clone(),
        note: args.message.clone(),
        change: None,
    };
    post_decision(scene, &engine, &id, &decision)
}

pub(crate) fn skip(args: &SkipArgs, scene: &CliContext) -> Result<Exit, Problem> {
    let engine = scene.engine_with_runs()?;
    let id = engine.find_run(args.run.as_deref())?;
    let run = engine.load_run_view(&id)?;
    refuse_inside_session(&engine, &run)?;
    let task = find_task(&run, &args.task)?;
    post_decision(scene, &engine, &id, &Decision::Skip { task })
}

pub(crate) fn abort(args: &AbortArgs, scene: &CliContext) -> Result<Exit, Problem> {
    let engine = scene.engine_with_runs()?;
    let id = engine.find_run(args.run.run.as_deref())?;
    if engine.load_run_view(&id)?.is_ended() {
        return Err(Problem::user(format!("{id} has ended already")));
    }
    let mut decision = Decision::Abort {
        reason: args.message.clone(),
    };
    redact_decision(scene, &engine, &mut decision);
    let handed_in = hand_in(scene, &engine, &id, &decision)?;
    if handed_in.is_driven() {
        return report_posted(scene, &id, &decision, &handed_in, None);
    }
    // Ending a run that nobody drives needs no worker, so it is done right here.
    let options = drive::driver_options(false)?;
    driver::resume(
        &engine,
        &id,
        Vec::new(),
        &options,
        &drive::observer(scene, &engine),
    )?;
    if scene.json {
        output::print_json(&engine.load_run_view(&id)?.view().clone().with_driver(false))?;
    }
    Ok(Exit::Done)
}

pub(crate) fn retry(args: &RetryArgs, scene: &CliContext) -> Result<Exit, Problem> {
    let engine = scene.engine_with_runs()?;
    let id = engine.find_run(args.run.run.as_deref())?;
    let run = engine.load_run_view(&id)?;
    refuse_inside_session(&engine, &run)?;
    let frame = match &args.task {
        None => None,
        Some(task) => {
            let task = find_task(&run, task)?;
            let mut stopped = run.stopped_frames.iter();
            let found = stopped.find(|frame| frame.path.name() == task.as_str());
            let found = found.map(|frame| frame.path.clone());
            Some(found.unwrap_or_else(|| FramePath::root().child(task.as_str())))
        }
    };
    let failed = !run.stopped_frames.iter().all(|frame| frame.path.is_root())
        || matches!(
            run.outcome,
            Some(FrameOutcome::Failed(_) | FrameOutcome::Aborted(_))
        );
    if !failed {
        return Err(Problem::user(format!("nothing of {id} has failed"))
            .hint(format!("`codeteam status {id}` shows where it stands")));
    }
    let mut decision = Decision::Retry {
        frame,
        note: args.message.clone(),
        plan: resume::hand_edited_plan(&engine, &run)?,
        checks: resume::changed_checks(&engine, &run),
    };
    redact_decision(scene, &engine, &mut decision);
    let handed_in = hand_in(scene, &engine, &id, &decision)?;
    if handed_in.is_driven() {
        return report_posted(scene, &id, &decision, &handed_in, None);
    }
    let task = DriveRequest::Resume(id, Vec::new());
    drive::drive_run(scene, &engine, task, &args.answering)
}

/// Returns the open question: the only one, or that of a task.
pub(crate) fn find_question<'a>(
    run: &'a RunView,
    task: Option<&str>,
) -> Result<&'a QuestionView, Problem> {
    let is_of = |asked: &&QuestionView| task.is_none_or(|task| asked.place() == task);
    let open: Vec<&QuestionView> = run.questions.iter().filter(is_of).collect();
    match open.as_slice() {
        [] => Err(no_question(run)),
        [one] => Ok(one),
        several => {
            let names: Vec<&str> = several.iter().map(|asked| asked.place()).collect();
            Err(Problem::user("several questions are open")
                .hint(format!("say which with `--task`: {}", names.join(", "))))
        }
    }
}

/// Returns the open question of this id, or the only one, or that of a task. Whoever names a question
/// has read it: no other one is taken for it.
pub(super) fn find_named_question<'a>(
    run: &'a RunView,
    task: Option<&str>,
    named: Option<&str>,
) -> Result<&'a QuestionView, Problem> {
    let Some(named) = named else {
        return find_question(run, task);
    };
    let mut open = run.questions.iter();
    let found = open.find(|asked| asked.question.id.to_string() == named);
    found.ok_or_else(|| {
        let id = &run.id;
        Problem::user(format!("the question `{named}` is no longer open"))
            .hint("it was answered meanwhile, or the run has moved on; nothing was decided")
            .hint(format!("`codeteam show {id}` shows what is asked now"))
    })
}

/// Explains why there is nothing to decide, and what can be done instead.
fn no_question(run: &RunView) -> Problem {
    let id = &run.id;
    let refused = run.refused_changes();
    let refused: Vec<&str> = refused.map(|frame| frame.path.name()).collect();
    let problem = Problem::user(format!("{id} is not waiting for a decision"));
    match refused.as_slice() {
        [] => problem.hint(format!("`codeteam status {id}` shows what it is doing")),
        [one] => problem.hint(format!(
            "`codeteam approve {id} --task {one}` accepts the refused change as it is"
        )),
        several => problem.hint(format!(
            "several changes were refused; `codeteam approve {id} --task …` takes one of them as it \
             is: {}",
            several.join(", ")
        )),
    }
}

fn find_task(run: &RunView, name: &str) -> Result<TaskId, Problem> {
    let id = TaskId::from(name);
    if run.task(name).is_some() {
        return Ok(id);
    }
    let names = run.tasks.iter().map(|task| task.id.as_str());
    let near = codeteam_core::spelling::nearest(name, names);
    let problem = Problem::user(format!("there is no task `{name}` in {}", run.id));
    Err(match near {
        Some(near) => problem.hint(format!("did you mean `{near}`?")),
        None => problem.hint(format!("`codeteam show {}` lists them", run.id)),
    })
}

fn list_answers(question: &Question) -> String {
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
