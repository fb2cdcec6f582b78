//! `codeteam worker test`: asks a worker for one word, as a run would ask it.

use std::time::Duration;

use codeteam_core::budget::Usage;
use codeteam_core::event::HostTraffic;
use codeteam_core::failure::FailureFacts;
use codeteam_engine::doctor::trial::{
    self, FailureAdvice, TIMEOUT, TrialOutcome, TrialReport, WORD, WorkerTrial,
};
use codeteam_engine::workers::Worker;
use codeteam_report::describe;
use serde_json::{Value, json};

use crate::cli::{CliContext, drive};
use crate::exit::Exit;
use crate::output::{self, TerminalStyle, eprint_line, print_line};
use crate::progress::Verbosity;
use codeteam_engine::problem::Problem;

/// Arguments of `worker test`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The worker: `claude`, `codex`, `gemini`, `builtin`, `scripted`, or one of the configuration.
    name: String,
    /// The model to ask, if not the one of the configuration.
    #[arg(long, value_name = "MODEL")]
    model: Option<String>,
    /// The most seconds it may take.
    #[arg(
        long,
        value_name = "SECONDS",
        default_value_t = TIMEOUT.as_secs(),
        value_parser = clap::value_parser!(u64).range(1..=86_400)
    )]
    timeout: u64,
}

pub(super) fn main(args: &Args, scene: &CliContext) -> Result<Exit, Problem> {
    let config = super::effective_config(scene)?;
    let worker = trial::find_worker(&config, &scene.env, &args.name)?;
    let interrupt = drive::driver_options(false)?.interrupt;
    if scene.detail >= Verbosity::Normal && !scene.json {
        let (name, seconds) = (&worker.name, args.timeout);
        eprint_line(&format!(
            "… waiting for `{name}` to answer (at most {seconds} s)"
        ));
    }
    let is_verbose = scene.detail >= Verbosity::Verbose;
    let tried = WorkerTrial {
        worker: &worker,
        model: args.model.clone(),
        timeout: Duration::from_secs(args.timeout),
        config: &config,
        env: &scene.env,
        codeteam: &scene.codeteam,
        cancel: &interrupt,
        lines: &|line| {
            if is_verbose {
                eprint_line(&format!("  {line}"));
            }
        },
    }
    .run()
    .map_err(trial_problem)?;
    let exit = match &tried.end {
        TrialOutcome::Answered(_) => Exit::Done,
        TrialOutcome::Failed(facts) if facts.quota.is_some() => Exit::Limited,
        TrialOutcome::Failed(_) => Exit::Failed,
        TrialOutcome::Interrupted => Exit::Interrupted,
    };
    if scene.json {
        output::print_json(&trial_to_json(&worker, &tried))?;
    } else {
        print_trial(&worker, &tried)?;
    }
    Ok(exit)
}

fn trial_problem(error: trial::Error) -> Problem {
    match error {
        trial::Error::Engine(error) => error.into(),
        trial::Error::Halt(halt) => Problem::environment(halt.to_string()),
        trial::Error::Panicked => Problem::internal(error.to_string()),
    }
}

/// Returns the stable form of `--json`.
fn trial_to_json(worker: &Worker, tried: &TrialReport) -> Value {
    let (answer, failure) = match &tried.end {
        TrialOutcome::Answered(answer) => (Some(answer), None),
        TrialOutcome::Failed(facts) => (None, Some(failure_to_json(worker, facts, tried))),
        TrialOutcome::Interrupted => (None, None),
    };
    let usage = tried.usage;
    json!({
        "worker": worker.name,
        "dialect": worker.dialect,
        "account": worker.account,
        "ok": answer.is_some(),
        "answer": answer,
        "as_asked": answer.is_some_and(|answer| is_expected_answer(answer)),
        "failure": failure,
        "model": tried.model,
        "usage": {
            "input_tokens": usage.input_tokens,
            "cached_input_tokens": usage.cached_input_tokens,
            "output_tokens": usage.output_tokens,
            "cost_microusd": usage.cost_microusd,
        },
        "seconds": tried.took.as_secs_f64(),
        "hosts": tried.hosts,
        "confinement": tried.confinement,
    })
}

fn failure_to_json(worker: &Worker, facts: &FailureFacts, tried: &TrialReport) -> Value {
    let failure = FailureAdvice::from_facts(worker, facts, &tried.hosts);
    json!({
        "category": failure.category,
        "trouble": facts.trouble,
        "message": failure.why,
        "remedy": failure.remedy,
        "http_status": facts.http_status,
    })
}

fn is_expected_answer(answer: &str) -> bool {
    let said = answer.trim_matches(|c: char| !c.is_alphanumeric());
    said.eq_ignore_ascii_case(WORD)
}

fn print_trial(worker: &Worker, tried: &TrialReport) -> Result<(), Problem> {
    let style = TerminalStyle::detect();
    let name = &worker.name;
    match &tried.end {
        TrialOutcome::Answered(answer) if is_expected_answer(answer) => {
            let word = style.green("ok  ");
            print_line(&format!("{word}  `{name}` answered `{WORD}`"))?;
        }
        TrialOutcome::Answered(answer) => {
            let word = style.yellow("note");
            print_line(&format!(
                "{word}  `{name}` answered, but not the word it was asked for (`{WORD}`)"
            ))?;
            print_fact("answer", describe::first_line(answer))?;
        }
        TrialOutcome::Failed(facts) => {
            let failure = FailureAdvice::from_facts(worker, facts, &tried.hosts);
            let category = json!(failure.category);
            let (bad, why) = (style.red("BAD "), failure.why.replace('\n', " "));
            print_line(&format!("{bad}  `{name}` did not answer: {why}"))?;
            let arrow = style.cyan("→");
            print_line(&format!("      {arrow} {}", failure.remedy))?;
            print_fact("category", category.as_str().unwrap_or_default())?;
        }
        TrialOutcome::Interrupted => {
            let word = style.yellow("note");
            return print_line(&format!("{word}  interrupted; nothing is left of it"));
        }
    }
    if let Some(model) = &tried.model {
        print_fact("model", model)?;
    }
    let usage = tried.usage;
    if usage != Usage::default() {
        print_fact(
            "tokens",
            &format!(
                "{} read ({} of them cached), {} written",
                usage.input_tokens, usage.cached_input_tokens, usage.output_tokens
            ),
        )?;
        let cost = usage.cost_microusd.map(describe::format_money);
        print_fact("cost", cost.as_deref().unwrap_or("unknown"))?;
    }
    print_fact("took", &format!("{:.1} s", tried.took.as_secs_f64()))?;
    let hosts: Vec<String> = tried.hosts.iter().map(describe_host).collect();
    let none = "nothing was asked for".to_owned();
    let hosts = if hosts.is_empty() { vec![none] } else { hosts };
    print_fact("network", &hosts.join(", "))?;
    print_fact("sandbox", &tried.confinement)
}

fn print_fact(name: &str, value: &str) -> Result<(), Problem> {
    print_line(&format!("      {name:<8} {value}"))
}

fn describe_host(reached: &HostTraffic) -> String {
    let HostTraffic {
        host,
        allowed,
        denied,
        failed,
        ..
    } = reached;
    match (allowed, denied, failed) {
        (_, 0, 0) => format!("{host} reached"),
        (_, 1.., _) => format!("{host} refused"),
        (_, 0, 1..) => format!("{host} not reached"),
    }
}
