//! Tries a worker out with one tiny assignment, on the same code path that a run uses.
//!
//! The worker is asked for one word, in a repository created for this purpose only. The kernel
//! creates the assignment, [`perform`] carries it out, confined and with the worker's own network
//! and login, and the kernel judges the answer. The worker is asked once, and nothing remains
//! afterwards. The built-in worker, which may use any model, has to read the word from a file with
//! a tool; the other workers get no tools.

mod failure;
mod trial_repository;

pub use self::failure::FailureAdvice;

use std::path::Path;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use codeteam_core::budget::Usage;
use codeteam_core::event::HostTraffic;
use codeteam_core::failure::{FailureCause, FailureFacts, FailureStage};
use codeteam_core::ids::{AttemptId, BodyId, RunId};
use codeteam_core::input::{Input, WorkerOutcome, WorkerReport};
use codeteam_core::submission::Submission;
use codeteam_core::{Effect, Event, Run, decide, due};

use self::trial_repository::{TrialRepository, WORD_FILE};
use crate::clock::now;
use crate::config::{Config, LimitsConfig, VerificationConfig};
use crate::dialect;
use crate::engine::{self, Engine, Project, RunRequest};
use crate::env::Env;
use crate::halt::Halt;
use crate::perform::{self, Job, JobContext};
use crate::workers::Worker;
use codeteam_host::process::{self, CancelToken};

/// The word that the worker is asked for.
pub const WORD: &str = "ready";

/// The default time limit of a trial.
pub const TIMEOUT: Duration = Duration::from_mins(2);

/// The maximum cost of one word: far more than it should cost.
const MAX_COST_MICROUSD: u64 = 1_000_000;

/// The interval at which renewed logins are passed on during a trial.
const SYNC: Duration = Duration::from_secs(1);

/// A worker to be tried, and how.
pub struct WorkerTrial<'a> {
    /// The worker to try.
    pub worker: &'a Worker,
    /// The model, if it is not the worker's own.
    pub model: Option<String>,
    /// The time limit.
    pub timeout: Duration,
    /// The configuration of the project, or only the user's.
    pub config: &'a Config,
    /// Everything codeteam reads from its own environment.
    pub env: &'a Env,
    /// The path of codeteam's own program.
    pub codeteam: &'a Path,
    /// Ends the trial early.
    pub cancel: &'a CancelToken,
    /// Receives the worker's output, and other messages.
    pub lines: &'a (dyn Fn(&str) + Sync),
}

/// The result of a trial.
#[derive(Clone, Debug)]
pub struct TrialReport {
    /// The answer, or why there is none.
    pub end: TrialOutcome,
    /// The model that did the work, as far as the worker reported it.
    pub model: Option<String>,
    /// The worker's usage.
    pub usage: Usage,
    /// The duration of the assignment.
    pub took: Duration,
    /// The hosts that the worker connected to.
    pub hosts: Vec<HostTraffic>,
    /// A description of the sandbox.
    pub confinement: String,
}

/// The outcome of a trial.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TrialOutcome {
    /// The worker gave a valid answer.
    Answered(String),
    /// The worker failed.
    Failed(FailureFacts),
    /// The trial was cancelled.
    Interrupted,
}

/// The reasons why a trial could not be carried out.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The temporary project could not be opened or the run not prepared.
    #[error(transparent)]
    Engine(#[from] engine::Error),
    /// Codeteam has to stop until a person resolves the cause.
    #[error(transparent)]
    Halt(#[from] Halt),
    /// A thread of codeteam's own panicked.
    #[error("a thread ended unexpectedly")]
    Panicked,
}

impl WorkerTrial<'_> {
    /// Runs the trial: asks the worker once.
    pub fn run(&self) -> Result<TrialReport, Error> {
        let scratch = TrialRepository::make(self.env, self.lines)?;
        let mut env = self.env.clone();
        // The user wants to know the state now, so limit the retries.
        env.claude_retries.get_or_insert_with(|| "2".into());
        let mut project = Project::find_anyway(&scratch.repository(), env)?;
        project.config = minimal_config(self.config);
        let prepared = project.prepare(&self.request(&scratch)?)?;
        let codeteam = self.codeteam.to_owned();
        let engine = Engine::open_with_workspaces(project, codeteam, scratch.workspaces())?;
        let started = engine.plan_run(prepared, now())?;
        let (id, confinement) = (started.run.clone(), started.confinement.clone());
        let first = Input::Began(Box::new(started));
        let run = decide(&Run::default(), &first).run;
        let effects = due(&run);
        let asking = effects
            .iter()
            .find(|effect| matches!(effect, Effect::StartWorker { .. }));
        let Some(job) = asking.and_then(|effect| perform::job_for_effect(&run, effect)) else {
            return Err(Error::Panicked);
        };
        let begun = Instant::now();
        let (input, hosts) = self.perform(&engine, &job)?;
        let took = begun.elapsed();
        process::kill_marked(&engine.process_mark(&id));
        self.give_back(&engine, &id);
        let mut tried = self.build_report(&run, &input, &engine);
        tried.took = took;
        tried.hosts = hosts;
        tried.confinement = confinement;
        Ok(tried)
    }

    /// Returns true if the worker has to call a tool: the built-in worker may have any model, and
    /// not every model can.
    fn uses_tool(&self) -> bool {
        self.worker.dialect == dialect::DialectName::Builtin
    }

    fn request(&self, scratch: &TrialRepository) -> Result<RunRequest, Error> {
        let is_scripted = self.worker.dialect == dialect::DialectName::Scripted;
        // This worker takes the script in place of a model.
        let model = if is_scripted {
            Some(scratch.script()?.display().to_string())
        } else {
            self.model.clone()
        };
        let uses_tool = self.uses_tool();
        let workflow = scratch.workflow(model.as_deref(), self.timeout, uses_tool)?;
        Ok(RunRequest {
            // Leave out what the repository is not trusted with.
            restricted: true,
            goal: if uses_tool {
                format!(
                    "Read the file `{WORD_FILE}` with the tool `read_file`, and answer with the one \
                     word in it as your `message`. There is nothing else to do."
                )
            } else {
                format!(
                    "Answer with the one word `{WORD}` as your `message`. There is nothing else to \
                     do."
                )
            },
            workflow: Some(workflow.display().to_string()),
            worker: Some(self.worker.name.0.clone()),
            ..RunRequest::default()
        })
    }

    /// Carries out the assignment as the driver would, and keeps logins in sync meanwhile.
    fn perform(&self, engine: &Engine, job: &Job) -> Result<(Input, Vec<HostTraffic>), Error> {
        let (sender, inputs) = channel();
        let mut hosts = Vec::new();
        let done = thread::scope(|scope| {
            let working = scope.spawn(move || {
                let lines = |_: &AttemptId, line: &str| (self.lines)(line);
                // Sending fails only if nobody needs the result any more.
                let report = |input: Input| drop(sender.send(input));
                let context = JobContext {
                    engine,
                    cancel: self.cancel.clone(),
                    lines: &lines,
                    report: &report,
                    busy: &|_, _| {},
                };
                perform::perform(job, &context)
            });
            loop {
                match inputs.recv_timeout(SYNC) {
                    Ok(Input::NetworkUsed { hosts: used, .. }) => hosts.extend(used),
                    Ok(_) => {}
                    // A login that cannot be passed on now is given back at the end.
                    Err(RecvTimeoutError::Timeout) => drop(engine.logins.sync()),
                    Err(RecvTimeoutError::Disconnected) => break,
                }
            }
            working.join()
        });
        let input = done.map_err(|_| Error::Panicked)??;
        Ok((input, hosts))
    }

    /// Gives back whatever the worker was lent and still has.
    fn give_back(&self, engine: &Engine, run: &RunId) {
        perform::clear_attempts(engine, run, &mut |warning| (self.lines)(warning));
    }

    fn build_report(&self, run: &Run, input: &Input, engine: &Engine) -> TrialReport {
        let mut tried = TrialReport {
            end: TrialOutcome::Interrupted,
            model: self.model.clone().or_else(|| self.worker.model.clone()),
            usage: Usage::default(),
            took: Duration::ZERO,
            hosts: Vec::new(),
            confinement: String::new(),
        };
        if let Input::WorkerExited { report, .. } = input {
            tried.usage = report.usage;
            let said = report.transcript.as_ref();
            let said = said.and_then(|body| model_in(body, engine));
            tried.model = said.or(tried.model);
        }
        if !self.cancel.is_cancelled() {
            tried.end = trial_outcome(run, input);
        }
        if let (TrialOutcome::Answered(_), true, Input::WorkerExited { report, .. }) =
            (&tried.end, self.uses_tool(), input)
            && !called_a_tool(report, engine)
        {
            tried.end = TrialOutcome::Failed(FailureFacts {
                trouble: Some(FailureCause::Protocol),
                message: "it answered without calling the tool that it was asked to call"
                    .to_owned(),
                ..FailureFacts::default()
            });
        }
        tried
    }
}

/// Lets the kernel judge the result.
fn trial_outcome(run: &Run, input: &Input) -> TrialOutcome {
    let failed = |stage, message: &str| {
        TrialOutcome::Failed(FailureFacts {
            stage,
            message: message.to_owned(),
            ..FailureFacts::default()
        })
    };
    if let Input::WorkerExited { report, .. } = input
        && let WorkerReport {
            end: WorkerOutcome::Failed(facts),
            ..
        } = &**report
    {
        return TrialOutcome::Failed(facts.clone());
    }
    if let Input::EffectFailed { message, .. } = input {
        return failed(FailureStage::Spawn, message);
    }
    let judged = decide(run, input)
        .events
        .into_iter()
        .find_map(|event| match event {
            Event::SubmissionReceived { submission, .. } => Some(match submission {
                Submission::Text(text) => TrialOutcome::Answered(text.message),
                Submission::Blocked(blocked) => failed(FailureStage::Blocked, &blocked.blocked),
                _ => failed(FailureStage::BadAnswer, "it answered something else"),
            }),
            Event::AttemptFailed { facts, .. } => Some(TrialOutcome::Failed(facts)),
            _ => None,
        });
    judged.unwrap_or_else(|| failed(FailureStage::NoAnswer, "nothing came of it"))
}

/// Returns true if the transcript of a worker contains a tool call.
fn called_a_tool(report: &WorkerReport, engine: &Engine) -> bool {
    let said = report.transcript.as_ref();
    let said = said.and_then(|body| engine.bodies.get(body.as_str()).ok());
    let said = said.unwrap_or_default();
    // A line of a transcript contains a line of the worker as a JSON text, so its quotes are
    // escaped.
    String::from_utf8_lossy(&said).contains(r#"{\"type\":\"tool\","#)
}

/// Returns the model that a worker named in its output.
fn model_in(transcript: &BodyId, engine: &Engine) -> Option<String> {
    let said = engine.bodies.get(transcript.as_str()).ok()?;
    let fold = perform::replayed(&String::from_utf8_lossy(&said))?;
    fold.model().map(str::to_owned)
}

/// Reduces a configuration to what matters for a worker that is asked for a word.
fn minimal_config(config: &Config) -> Config {
    let mut config = config.clone();
    config.flow = None;
    config.roles = None;
    config.worker = None;
    config.script = None;
    config.setup = None;
    config.verification = VerificationConfig::default();
    config.limits = LimitsConfig::default();
    config.git = crate::config::GitConfig::default();
    // Copying caches may take longer than everything else.
    config.sandbox.caches.clear();
    config
}

/// Finds a worker by its name, with its API if that can be determined.
pub fn find_worker(config: &Config, env: &Env, name: &str) -> Result<Worker, engine::Error> {
    let worker = Worker::find(config, &name.into())
        .ok_or_else(|| engine::Error::UnknownWorker(name.to_owned(), Worker::names(config)))?;
    Ok(worker
        .clone()
        .with_protocol(&env.keys, Some("any"))
        .unwrap_or(worker))
}
