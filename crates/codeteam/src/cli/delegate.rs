//! `codeteam delegate`: hands a vote on a change to somebody else.

use codeteam_core::frame::QuestionKind;
use codeteam_core::ids::PersonName;
use codeteam_core::input::Decision;
use codeteam_engine::problem::Problem;
use codeteam_report::describe;

use crate::cli::decide::{self, SigningArgs};
use crate::cli::{CliContext, RunName};
use crate::exit::Exit;

/// Arguments of `delegate`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    run: RunName,
    /// Who votes in your place: a name from `people`. Your own name takes the vote back.
    #[arg(long, value_name = "PERSON")]
    to: String,
    /// Why.
    #[arg(short, long, default_value = "")]
    message: String,
    /// The task whose question is meant, if several are open.
    #[arg(long)]
    task: Option<String>,
    /// The question that is meant, as `tui` names it: if another one is open by now, that is refused.
    #[arg(long, value_name = "ID")]
    question: Option<String>,
    #[command(flatten)]
    signing: SigningArgs,
}

pub(crate) fn main(args: &Args, scene: &CliContext) -> Result<Exit, Problem> {
    let engine = scene.engine_with_runs()?;
    let id = engine.find_run(args.run.run.as_deref())?;
    let state = engine.load_run_view(&id)?;
    decide::refuse_inside_session(&engine, &state)?;
    decide::refuse_inside_any_session(&engine)?;
    let asked =
        decide::find_named_question(&state, args.task.as_deref(), args.question.as_deref())?;
    if asked.question.kind != QuestionKind::Approval {
        let asked = describe::first_line(&asked.question.text);
        return Err(
            Problem::user(format!("nobody votes on this question: {asked}"))
                .hint("only the vote on a change that waits for an approval can be handed over"),
        );
    }
    let decision = Decision::Delegate {
        question: asked.question.id.clone(),
        to: PersonName(args.to.clone()),
        note: args.message.clone(),
    };
    decide::vote(scene, &engine, &state, decision, &args.signing)
}
