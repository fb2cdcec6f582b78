//! Tries a worker out: one tiny assignment, by the very path that a run's go.
//!
//! The worker is asked for one word, in a repository made for it alone. The kernel makes the
//! assignment, [`perform`] carries it out, confined and with the worker's own network and login, and
//! the kernel judges the answer. It is asked once, and nothing is left of it. The built-in worker, whose
//! model may be any, has to read the word from a file with a tool; the others have no tools.

mod failure;
mod scratch;

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
use codeteam_core::{Effect, Event, Run, apply, decide, due};

use self::scratch::{TrialRepository, WORD_FILE};
use super::Worker;
use crate::config::{Config, LimitsConfig, VerificationConfig};
use crate::dialect;
use crate::engine::{self, Engine, Project, RunRequest};
use crate::env::Env;
use crate::perform::{self, Halt, Job, JobContext, now};
use crate::process::{self, CancelToken};

/// The word that is asked for.
pub const WORD: &str = "ready";

/// How long a worker may take if nobody says otherwise.
pub const TIMEOUT: Duration = Duration::from_mins(2);

/// What one word may cost at most: far more than it should.
const MAX_COST_MICROUSD: u64 = 1_000_000;

/// How often renewed logins are passed on meanwhile.
const SYNC: Duration = Duration::from_secs(1);

/// What is to be tried, and how.
pub struct WorkerTrial<'a> {
    /// The worker.
    pub worker: &'a Worker,
    /// The model, if not the worker's own.
    pub model: Option<String>,
    /// How long it may take.
    pub timeout: Duration,
    /// The configuration of the project, or of the user alone.
    pub config: &'a Config,
    /// The environment.
    pub env: &'a Env,
    /// codeteam's own program.
    pub codeteam: &'a Path,
    /// Ends it early.
    pub cancel: &'a CancelToken,
    /// Takes what the worker says, and what is worth knowing.
    pub lines: &'a (dyn Fn(&str) + Sync),
}

/// What came of it.
#[derive(Clone, Debug)]
pub struct TrialReport {
    /// The answer, or why there is none.
    pub end: TrialOutcome,
    /// The model that did the work, as far as the worker told.
    pub model: Option<String>,
    /// What it spent.
    pub usage: Usage,
    /// How long it took.
    pub took: Duration,
    /// What it asked of the network.
    pub hosts: Vec<HostTraffic>,
    /// What confined it.
    pub confinement: String,
}

/// How a trial ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TrialOutcome {
    /// It answered, as an answer must be.
    Answered(String),
    /// It did not.
    Failed(FailureFacts),
    /// Nobody wanted to know any more.
    Interrupted,
}

/// Why nothing could be tried.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The engine.
    #[error(transparent)]
    Engine(#[from] engine::Error),
    /// Only a person can see to it.
    #[error(transparent)]
    Halt(#[from] Halt),
    /// A thread of codeteam's own panicked.
    #[error("a thread ended unexpectedly")]
    Panicked,
}

impl WorkerTrial<'_> {
    /// Asks the worker once.
    pub fn run(&self) -> Result<TrialReport, Error> {
        let scratch = TrialRepository::make(self.env, self.lines)?;
        let mut env = self.env.clone();
        // Whoever tries a worker out wants to know how it stands now.
        env.claude_retries.get_or_insert_with(|| "2".into());
        let mut project = Project::find_anyway(&scratch.repository(), env)?;
        project.config = lean(self.config);
        let prepared = project.prepare(&self.request(&scratch)?)?;
        let codeteam = self.codeteam.to_owned();
        let engine = Engine::open_beside(project, codeteam, scratch.workspaces())?;
        let started = engine.plan_run(prepared, now())?;
        let (id, confinement) = (started.run.clone(), started.confinement.clone());
        let mut run = Run::default();
        for event in decide(&run, &Input::Began(Box::new(started))) {
            apply(&mut run, &event);
        }
        let effects = due(&run);
        let asking = effects
            .iter()
            .find(|effect| matches!(effect, Effect::StartWorker { .. }));
        let Some(job) = asking.and_then(|effect| perform::job(&run, effect)) else {
            return Err(Error::Panicked);
        };
        let begun = Instant::now();
        let (input, hosts) = self.perform(&engine, &job)?;
        let took = begun.elapsed();
        process::sweep(&engine.mark_of(&id));
        self.give_back(&engine, &id);
        let mut tried = self.judged(&run, &input, &engine);
        tried.took = took;
        tried.hosts = hosts;
        tried.confinement = confinement;
        Ok(tried)
    }

    /// Whether the worker is to call a tool: any model may be behind the built-in one, and not every
    /// model can.
    fn uses_tool(&self) -> bool {
        self.worker.dialect == dialect::DialectName::Builtin
    }

    fn request(&self, scratch: &TrialRepository) -> Result<RunRequest, Error> {
        let is_scripted = self.worker.dialect == dialect::DialectName::Scripted;
        // What a model is to others, the script is to this one.
        let model = if is_scripted {
            Some(scratch.script()?.display().to_string())
        } else {
            self.model.clone()
        };
        let uses_tool = self.uses_tool();
        let workflow = scratch.workflow(model.as_deref(), self.timeout, uses_tool)?;
        Ok(RunRequest {
            // What the repository is not trusted with is left out.
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

    /// Carries the assignment out as the driver would, and keeps logins in step meanwhile.
    fn perform(&self, engine: &Engine, job: &Job) -> Result<(Input, Vec<HostTraffic>), Error> {
        let (sender, inputs) = channel();
        let mut hosts = Vec::new();
        let done = thread::scope(|scope| {
            let working = scope.spawn(move || {
                let lines = |_: &AttemptId, line: &str| (self.lines)(line);
                // Nobody listens any more only if nobody wants to know.
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
                    // What cannot be passed on now is given back at the end.
                    Err(RecvTimeoutError::Timeout) => drop(engine.logins.sync()),
                    Err(RecvTimeoutError::Disconnected) => break,
                }
            }
            working.join()
        });
        let input = done.map_err(|_| Error::Panicked)??;
        Ok((input, hosts))
    }

    /// Whatever the worker was lent and still has.
    fn give_back(&self, engine: &Engine, run: &RunId) {
        perform::clear_attempts(engine, run, &mut |warning| (self.lines)(warning));
    }

    fn judged(&self, run: &Run, input: &Input, engine: &Engine) -> TrialReport {
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
            tried.end = ending(run, input);
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

/// What the kernel makes of it.
fn ending(run: &Run, input: &Input) -> TrialOutcome {
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

/// Whether the transcript of a worker has a call of a tool in it.
fn called_a_tool(report: &WorkerReport, engine: &Engine) -> bool {
    let said = report.transcript.as_ref();
    let said = said.and_then(|body| engine.bodies.get(body.as_str()).ok());
    let said = said.unwrap_or_default();
    // The lines of a transcript hold the worker's own, which are JSON too.
    String::from_utf8_lossy(&said).contains(r#"{\"type\":\"tool\","#)
}

/// The model that a worker named in what it said.
fn model_in(transcript: &BodyId, engine: &Engine) -> Option<String> {
    let said = engine.bodies.get(transcript.as_str()).ok()?;
    let fold = perform::replayed(&String::from_utf8_lossy(&said))?;
    fold.model().map(str::to_owned)
}

/// What of a configuration matters to a worker that is asked for a word.
fn lean(config: &Config) -> Config {
    let mut config = config.clone();
    config.flow = None;
    config.roles = None;
    config.worker = None;
    config.script = None;
    config.setup = None;
    config.verification = VerificationConfig::default();
    config.limits = LimitsConfig::default();
    config.git = crate::config::GitConfig::default();
    // Copying them may take longer than all the rest.
    config.sandbox.caches.clear();
    config
}

/// The worker of a name, with an API to speak if that can be told.
pub fn find(config: &Config, env: &Env, name: &str) -> Result<Worker, engine::Error> {
    let worker = Worker::find(config, &name.into())
        .ok_or_else(|| engine::Error::UnknownWorker(name.to_owned(), Worker::names(config)))?;
    Ok(worker
        .clone()
        .speaking(&env.keys, Some("any"))
        .unwrap_or(worker))
}
