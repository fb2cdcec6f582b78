//! The loop: think, act, look, until there is an answer.

use std::time::{Duration, Instant};

use codeteam_core::failure::FailureCause;
use serde_json::Value;
use serde_json::value::RawValue;

use super::api::{
    ApiFailure, ModelClient, ModelReply, ModelRequest, ModelResult, StopReason, ToolCall, ToolSpec,
};
use super::assignment::{BuiltinAssignment, EditMode};
use super::event::{BuiltinEvent, EventSink, QualityReport, TraceEvent};
use super::limits::{RepeatDetector, RepeatVerdict, UsageBudget};
use super::mending::CorrectionBudget;
use super::talk::{self, Turn, brief};
use super::tools::ToolRegistry;
use super::{AgentOptions, Error, answer, check, interrupt, plan, words};

/// How often a conversation that is too long for the model is made shorter, each time by half.
const MAX_SHORTENED: u32 = 4;

/// Works on an assignment; whether there is a submission.
pub(super) fn work(
    options: &AgentOptions,
    assignment: &BuiltinAssignment,
    sink: &mut EventSink<'_>,
) -> Result<bool, Error> {
    interrupt::listen().map_err(|source| Error::System {
        action: "listen for signals",
        source,
    })?;
    let patience = Some(assignment.stall_ms).filter(|ms| *ms > 0);
    let client = ModelClient::new(options, patience.map(Duration::from_millis))?;
    let tools = ToolRegistry::new(options, assignment, sink)?;
    let limit = assignment
        .max_turns
        .unwrap_or(options.max_iterations)
        .max(1);
    let mut specs: Vec<ToolSpec> = tools.specs().cloned().collect();
    let schema = assignment.schema();
    if assignment.mode == EditMode::Tools {
        specs.push(ToolSpec {
            name: words::SUBMIT.to_owned(),
            description: words::SUBMIT_DESCRIPTION.to_owned(),
            schema: schema.clone(),
        });
    }
    let mut work = AgentLoop {
        options,
        assignment,
        client,
        tools,
        system: words::system(assignment, limit),
        specs,
        schema,
        turns: Vec::new(),
        limit,
        context_tokens: options.context_tokens,
        spending: UsageBudget::new(options, assignment),
        repeats: RepeatDetector::default(),
        stuck: None,
        mending: CorrectionBudget::default(),
        quality: QualityReport::default(),
        sink,
    };
    work.run()
}

struct AgentLoop<'a, 'b> {
    options: &'a AgentOptions,
    assignment: &'a BuiltinAssignment,
    client: ModelClient<'a>,
    tools: ToolRegistry,
    system: String,
    specs: Vec<ToolSpec>,
    schema: Value,
    turns: Vec<Turn>,
    /// After how many turns it ends. A turn that mends an answer is given again.
    limit: u32,
    context_tokens: usize,
    spending: UsageBudget,
    repeats: RepeatDetector,
    /// Why the work gets nowhere, if it does not.
    stuck: Option<String>,
    mending: CorrectionBudget,
    quality: QualityReport,
    sink: &'a mut EventSink<'b>,
}

/// What a turn came to.
enum TurnOutcome {
    GoOn,
    Submitted(Box<RawValue>),
    Failed,
}

impl AgentLoop<'_, '_> {
    fn run(&mut self) -> Result<bool, Error> {
        let prompt = &self.assignment.instructions.prompt;
        let prompt = if self.options.plan {
            match self.plan(prompt)? {
                Some(prompt) => prompt,
                None => return Ok(false),
            }
        } else {
            prompt.clone()
        };
        self.turns.push(Turn::Said(prompt));
        while self.quality.iterations < self.limit {
            self.quality.iterations += 1;
            let is_last = self.quality.iterations == self.limit;
            if is_last && self.assignment.mode == EditMode::Tools {
                self.turns.push(Turn::Said(words::LAST_TURN.to_owned()));
            }
            match self.turn()? {
                TurnOutcome::GoOn => {}
                TurnOutcome::Submitted(answer) => return self.submit(&answer),
                TurnOutcome::Failed => return self.end_without_answer(),
            }
        }
        let message = format!("the model did not submit within {} turns", self.limit);
        self.fail(&message, None, Some(FailureCause::Turns))?;
        self.end_without_answer()
    }

    /// The prompt with a plan in it; nothing if the API failed.
    fn plan(&mut self, prompt: &str) -> Result<Option<String>, Error> {
        let about = self.specs.iter();
        let about = about.map(|spec| (spec.name.as_str(), spec.description.as_str()));
        let question = [Turn::Said(plan::question(prompt, about))];
        let started = Instant::now();
        let reply = match self.ask_alone(&question)? {
            Ok(reply) => reply,
            Err(failure) => {
                self.tell_failure(&failure)?;
                return Ok(None);
            }
        };
        let steps = plan::read(&reply.text);
        self.sink.tell(&BuiltinEvent::Trace(TraceEvent::Planner {
            steps: &steps,
            duration_ms: milliseconds(started.elapsed()),
        }))?;
        Ok(Some(plan::with_plan(prompt, &steps)))
    }

    /// One turn of the model and what follows of it.
    fn turn(&mut self) -> Result<TurnOutcome, Error> {
        let started = Instant::now();
        let Some(reply) = self.ask()? else {
            return Ok(TurnOutcome::Failed);
        };
        let asked = started.elapsed();
        let text = reply.text.trim();
        if !text.is_empty() {
            self.sink.tell(&BuiltinEvent::Text { text })?;
        }
        if let StopReason::Refused(why) = &reply.stop {
            let why = if why.trim().is_empty() {
                "it does not say why".to_owned()
            } else {
                brief(why)
            };
            let message = format!("the model refused to answer: {why}");
            self.fail(&message, None, Some(FailureCause::Refusal))?;
            return Ok(TurnOutcome::Failed);
        }
        if let Some(echo) = &reply.echo {
            self.turns.push(Turn::Replied(echo.clone()));
        }
        if reply.calls.is_empty() {
            self.trace(text, None, 0, asked)?;
            return self.without_calls(&reply);
        }
        self.mending.forgive();
        self.calls(&reply)
    }

    /// Asks the model; nothing if that failed, which is told.
    fn ask(&mut self) -> Result<Option<ModelReply>, Error> {
        if let Some((trouble, why)) = self.spending.exhausted() {
            self.fail(&why, None, Some(trouble))?;
            return Ok(None);
        }
        let mut shortened = 0;
        loop {
            let fixed = self.system.len()
                + self
                    .specs
                    .iter()
                    .map(|spec| spec.description.len() + spec.schema.to_string().len())
                    .sum::<usize>();
            talk::make_room(&mut self.turns, fixed, self.context_tokens);
            let request = ModelRequest {
                system: &self.system,
                turns: &self.turns,
                tools: &self.specs,
                schema: Some(&self.schema).filter(|_| self.specs.is_empty()),
            };
            match self.client.ask(&request, self.sink)? {
                Ok(reply) => {
                    self.spent(&reply)?;
                    return Ok(Some(reply));
                }
                // The estimate was wrong, or the model is a small one.
                Err(failure @ ApiFailure::TooLong { .. }) if shortened < MAX_SHORTENED => {
                    shortened += 1;
                    let size = fixed + talk::size(&self.turns);
                    self.context_tokens = self.context_tokens.min(talk::tokens(size) / 2);
                    if talk::make_room(&mut self.turns, fixed, self.context_tokens) == 0 {
                        self.tell_failure(&failure)?;
                        return Ok(None);
                    }
                }
                Err(failure) => {
                    self.tell_failure(&failure)?;
                    return Ok(None);
                }
            }
        }
    }

    /// Asks something beside the conversation, without tools.
    fn ask_alone(&mut self, turns: &[Turn]) -> ModelResult {
        let request = ModelRequest {
            system: &self.assignment.instructions.system,
            turns,
            tools: &[],
            schema: None,
        };
        let asked = self.client.ask(&request, self.sink)?;
        if let Ok(reply) = &asked {
            self.spent(reply)?;
        }
        Ok(asked)
    }

    /// What is said is the answer, to the letter, or there is none: nobody is asked twice.
    fn said_once(&mut self, reply: &ModelReply) -> Result<TurnOutcome, Error> {
        if let Some(answer) = answer::object(&reply.text) {
            return Ok(TurnOutcome::Submitted(answer));
        }
        let said: String = reply.text.trim().chars().take(80).collect();
        let said = said.replace('\n', " ");
        let why = match &reply.stop {
            StopReason::Cut => {
                "its answer was cut off because it reached the limit of tokens".to_owned()
            }
            StopReason::Refused(why) => format!("the model refused: {why}"),
            StopReason::Done | StopReason::Malformed => {
                format!("its answer is not exactly one JSON object: `{said}`")
            }
        };
        self.fail(&why, None, None)?;
        Ok(TurnOutcome::Failed)
    }

    fn without_calls(&mut self, reply: &ModelReply) -> Result<TurnOutcome, Error> {
        if self.assignment.is_bare() {
            return self.said_once(reply);
        }
        if let Some(found) = answer::find(&reply.text) {
            return Ok(match self.judge(found) {
                AnswerVerdict::Fits(answer) => TurnOutcome::Submitted(answer),
                AnswerVerdict::Problem(problem) => {
                    self.turns.push(Turn::Said(words::problem(&problem)));
                    TurnOutcome::GoOn
                }
            });
        }
        if !self.mending.remind() {
            let why = answer::objection(&reply.text);
            let message = format!("the model ended without an answer: {why}");
            self.fail(&message, None, None)?;
            return Ok(TurnOutcome::Failed);
        }
        self.limit += 1;
        let text = match reply.stop {
            StopReason::Cut => words::CUT.to_owned(),
            StopReason::Malformed => words::MALFORMED.to_owned(),
            StopReason::Done | StopReason::Refused(_) => {
                words::reminder(self.assignment.mode, &answer::objection(&reply.text))
            }
        };
        self.turns.push(Turn::Said(text));
        Ok(TurnOutcome::GoOn)
    }

    /// Carries the calls of a reply out, the submission last.
    fn calls(&mut self, reply: &ModelReply) -> Result<TurnOutcome, Error> {
        let mut results = Vec::new();
        let mut submitted = Vec::new();
        let mut thought = reply.text.trim();
        let is_last_turn = self.quality.iterations == self.limit;
        for (call, left) in reply.calls.iter().zip((0..reply.calls.len()).rev()) {
            if reply.stop == StopReason::Cut && left == 0 {
                results.push(result(call, words::NOT_CARRIED_OUT, false));
            } else if call.name == words::SUBMIT {
                submitted.push(call);
            } else if is_last_turn {
                results.push(result(call, words::TOO_LATE, false));
            } else {
                results.push(self.call(call, thought)?);
            }
            thought = "";
        }
        let after = match submitted.as_slice() {
            [] => TurnOutcome::GoOn,
            [only] => self.submitted(only, &mut results)?,
            several => {
                let text = words::problem("it was handed in more than once at a time");
                results.extend(several.iter().map(|call| result(call, &text, false)));
                self.limit += u32::from(self.mending.mend());
                TurnOutcome::GoOn
            }
        };
        self.turns.push(Turn::Results(results));
        if let (TurnOutcome::GoOn, Some(why)) = (&after, self.stuck.take()) {
            self.fail(&why, None, Some(FailureCause::Loop))?;
            return Ok(TurnOutcome::Failed);
        }
        Ok(after)
    }

    fn call(&mut self, call: &ToolCall, thought: &str) -> Result<talk::ToolResult, Error> {
        let started = Instant::now();
        let called = self.tools.call(&call.name, &call.input, self.sink)?;
        self.quality.tool_calls += 1;
        self.quality.tool_errors += u32::from(!called.ok);
        let tool = Some((call.name.as_str(), called.ok));
        self.trace(thought, tool, called.text.len(), started.elapsed())?;
        let mut text = talk::cut(&called.text, talk::result_chars(self.context_tokens));
        let progress = self
            .repeats
            .note(&call.name, &call.input, &called.text, called.exists);
        match progress {
            RepeatVerdict::Made => {}
            RepeatVerdict::Told(told) => text.push_str(&told),
            RepeatVerdict::Stuck(why) => self.stuck = Some(why),
        }
        Ok(result(call, &text, called.ok))
    }

    fn submitted(
        &mut self,
        call: &ToolCall,
        results: &mut Vec<talk::ToolResult>,
    ) -> Result<TurnOutcome, Error> {
        self.trace("", Some((words::SUBMIT, true)), 0, Duration::ZERO)?;
        let judged = match answer::object(&call.input) {
            Some(found) => self.judge(found),
            None => self.unreadable(),
        };
        Ok(match judged {
            AnswerVerdict::Fits(answer) => TurnOutcome::Submitted(answer),
            AnswerVerdict::Problem(problem) => {
                results.push(result(call, &words::problem(&problem), false));
                TurnOutcome::GoOn
            }
        })
    }

    /// Whether an answer is handed in. One that does not fit is sent back as
    /// often as it may, and then handed in as it is: the orchestrator says best
    /// what is wrong with it.
    fn judge(&mut self, answer: Box<RawValue>) -> AnswerVerdict {
        match answer::problem(&answer, &self.schema) {
            Some(problem) if self.mending.mend() => {
                self.limit += 1;
                AnswerVerdict::Problem(problem)
            }
            _ => AnswerVerdict::Fits(answer),
        }
    }

    fn unreadable(&mut self) -> AnswerVerdict {
        self.limit += u32::from(self.mending.mend());
        AnswerVerdict::Problem("it is not a JSON object".to_owned())
    }

    fn submit(&mut self, answer: &RawValue) -> Result<bool, Error> {
        if self.options.self_check {
            self.check(answer)?;
        }
        self.tell_quality()?;
        self.sink.submit(answer)?;
        Ok(true)
    }

    fn end_without_answer(&mut self) -> Result<bool, Error> {
        self.tell_quality()?;
        Ok(false)
    }

    /// Asks the model what it thinks of its work. If that fails, the work is no
    /// worse for it: it is told in words, and not as what ended the work.
    fn check(&mut self, answer: &RawValue) -> Result<(), Error> {
        let prompt = &self.assignment.instructions.prompt;
        let question = [Turn::Said(check::question(prompt, answer.get()))];
        match self.ask_alone(&question)? {
            Ok(reply) => {
                if let Some(judged) = check::read(&reply.text) {
                    self.quality.score = Some(judged.score);
                    self.quality.issues = judged.issues;
                }
                Ok(())
            }
            Err(failure) => {
                let text = format!("(there is no self-check: {})", failure.message());
                self.sink.tell(&BuiltinEvent::Text { text: &text })
            }
        }
    }

    fn tell_quality(&mut self) -> Result<(), Error> {
        let mut quality = std::mem::take(&mut self.quality);
        quality.mended = self.mending.mends();
        self.sink
            .tell(&BuiltinEvent::Trace(TraceEvent::Quality(quality)))
    }

    fn trace(
        &mut self,
        thought: &str,
        tool: Option<(&str, bool)>,
        result_bytes: usize,
        duration: Duration,
    ) -> Result<(), Error> {
        self.sink.tell(&BuiltinEvent::Trace(TraceEvent::Executor {
            iteration: self.quality.iterations,
            thought: &brief(thought),
            tool: tool.map(|(name, _)| name),
            ok: tool.map(|(_, ok)| ok),
            result_bytes,
            duration_ms: milliseconds(duration),
        }))
    }

    fn spent(&mut self, reply: &ModelReply) -> Result<(), Error> {
        self.spending.add(reply.usage);
        self.sink.tell(&BuiltinEvent::Usage {
            input_tokens: reply.usage.input,
            output_tokens: reply.usage.output,
            cached_input_tokens: reply.usage.cached,
            model: &self.options.model,
        })
    }

    fn tell_failure(&mut self, failure: &ApiFailure) -> Result<(), Error> {
        match failure {
            ApiFailure::Limited {
                message,
                resets_in_ms,
            } => self.sink.tell(&BuiltinEvent::RateLimit {
                message,
                resets_in_ms: *resets_in_ms,
            }),
            ApiFailure::Unpaid { status, message } => {
                self.fail(message, Some(*status), Some(FailureCause::Billing))
            }
            ApiFailure::TooLong { status, message } => {
                self.fail(message, Some(*status), Some(FailureCause::Length))
            }
            ApiFailure::NoTools { status, message } => {
                self.fail(message, Some(*status), Some(FailureCause::Protocol))
            }
            ApiFailure::NotAnApi { message } => {
                self.fail(message, None, Some(FailureCause::Protocol))
            }
            ApiFailure::Later {
                status,
                message,
                wait,
            } => self.sink.tell(&BuiltinEvent::Error {
                message,
                status: *status,
                trouble: None,
                retry_after_ms: Some(milliseconds(*wait)),
            }),
            // Nobody answered, or nothing that could be read.
            ApiFailure::Told {
                status: None,
                message,
            } => self.fail(message, None, Some(FailureCause::Unreachable)),
            ApiFailure::Told { status, message } => self.fail(message, *status, None),
        }
    }

    fn fail(
        &mut self,
        message: &str,
        status: Option<u16>,
        trouble: Option<FailureCause>,
    ) -> Result<(), Error> {
        self.sink
            .tell(&BuiltinEvent::error(message, status, trouble))
    }
}

enum AnswerVerdict {
    Fits(Box<RawValue>),
    Problem(String),
}

fn result(call: &ToolCall, text: &str, ok: bool) -> talk::ToolResult {
    talk::ToolResult {
        id: call.id.clone(),
        name: call.name.clone(),
        text: text.to_owned(),
        ok,
        dropped: false,
    }
}

fn milliseconds(took: Duration) -> u64 {
    u64::try_from(took.as_millis()).unwrap_or(u64::MAX)
}
