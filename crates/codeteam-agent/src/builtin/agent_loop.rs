//! The loop: think, act, look, until there is an answer.

use std::time::{Duration, Instant};

use codeteam_core::failure::FailureCause;
use serde_json::Value;
use serde_json::value::RawValue;

use super::api::{
    ApiFailure, ModelClient, ModelReply, ModelRequest, ModelResult, StopReason, ToolCall, ToolSpec,
};
use super::assignment::{BuiltinAssignment, EditMode};
use super::conversation::{self, Turn, short_first_line};
use super::corrections::CorrectionBudget;
use super::event::{BuiltinEvent, EventSink, QualityReport, TraceEvent};
use super::limits::{RepeatDetector, RepeatVerdict, UsageBudget};
use super::tools::ToolRegistry;
use super::{AgentOptions, Error, answer, interrupt, plan, prompts, self_check};

/// The most times that a conversation too long for the model is shortened, each time by half.
const MAX_SHORTENED: u32 = 4;

/// Works on an assignment, and returns whether there is a submission.
pub(super) fn run_agent_loop(
    options: &AgentOptions,
    assignment: &BuiltinAssignment,
    sink: &mut EventSink<'_>,
) -> Result<bool, Error> {
    interrupt::listen_for_signals().map_err(|source| Error::System {
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
    let schema = assignment.answer_schema();
    if assignment.mode == EditMode::Tools {
        specs.push(ToolSpec {
            name: prompts::SUBMIT.to_owned(),
            description: prompts::SUBMIT_DESCRIPTION.to_owned(),
            schema: schema.clone(),
        });
    }
    let mut work = AgentLoop {
        options,
        assignment,
        client,
        tools,
        system: prompts::system_prompt(assignment, limit),
        specs,
        schema,
        turns: Vec::new(),
        limit,
        context_tokens: options.context_tokens,
        spending: UsageBudget::new(options, assignment),
        repeats: RepeatDetector::default(),
        stuck: None,
        corrections: CorrectionBudget::default(),
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
    /// The number of turns after which it ends. A turn that corrects an answer does not count.
    limit: u32,
    context_tokens: usize,
    spending: UsageBudget,
    repeats: RepeatDetector,
    /// The reason why the work makes no progress, if it makes none.
    stuck: Option<String>,
    corrections: CorrectionBudget,
    quality: QualityReport,
    sink: &'a mut EventSink<'b>,
}

/// The outcome of a turn.
enum TurnOutcome {
    Continue,
    Submitted(Box<RawValue>),
    Failed,
}

impl AgentLoop<'_, '_> {
    fn run(&mut self) -> Result<bool, Error> {
        let prompt = &self.assignment.instructions.prompt;
        let prompt = if self.options.plan {
            match self.make_plan(prompt)? {
                Some(prompt) => prompt,
                None => return Ok(false),
            }
        } else {
            prompt.clone()
        };
        self.turns.push(Turn::Prompt(prompt));
        while self.quality.iterations < self.limit {
            self.quality.iterations += 1;
            tracing::debug!(limit = self.limit, "turn {}", self.quality.iterations);
            let is_last = self.quality.iterations == self.limit;
            if is_last && self.assignment.mode == EditMode::Tools {
                self.turns.push(Turn::Prompt(prompts::LAST_TURN.to_owned()));
            }
            match self.run_turn()? {
                TurnOutcome::Continue => {}
                TurnOutcome::Submitted(answer) => return self.submit(&answer),
                TurnOutcome::Failed => return self.end_without_answer(),
            }
        }
        let message = format!("the model did not submit within {} turns", self.limit);
        self.emit_error(&message, None, Some(FailureCause::Turns))?;
        self.end_without_answer()
    }

    /// The prompt with a plan in it; nothing if the API failed.
    fn make_plan(&mut self, prompt: &str) -> Result<Option<String>, Error> {
        let about = self.specs.iter();
        let about = about.map(|spec| (spec.name.as_str(), spec.description.as_str()));
        let question = [Turn::Prompt(plan::planner_prompt(prompt, about))];
        let started = Instant::now();
        let reply = match self.ask_separately(&question)? {
            Ok(reply) => reply,
            Err(failure) => {
                self.emit_failure(&failure)?;
                return Ok(None);
            }
        };
        let steps = plan::parse_plan(&reply.text);
        self.sink.emit(&BuiltinEvent::Trace(TraceEvent::Planner {
            steps: &steps,
            duration_ms: milliseconds(started.elapsed()),
        }))?;
        Ok(Some(plan::prompt_with_plan(prompt, &steps)))
    }

    /// Performs one turn of the model, with its tool calls.
    fn run_turn(&mut self) -> Result<TurnOutcome, Error> {
        let started = Instant::now();
        let Some(reply) = self.ask_model()? else {
            return Ok(TurnOutcome::Failed);
        };
        let asked = started.elapsed();
        let text = reply.text.trim();
        if !text.is_empty() && !reply.was_shown {
            self.sink.emit(&BuiltinEvent::Text { text })?;
        }
        if let StopReason::Refused(why) = &reply.stop {
            let why = if why.trim().is_empty() {
                "it does not say why".to_owned()
            } else {
                short_first_line(why)
            };
            let message = format!("the model refused to answer: {why}");
            self.emit_error(&message, None, Some(FailureCause::Refusal))?;
            return Ok(TurnOutcome::Failed);
        }
        if let Some(echo) = &reply.echo {
            self.turns.push(Turn::Reply(echo.clone()));
        }
        if reply.calls.is_empty() {
            self.emit_trace(text, None, 0, asked)?;
            return self.handle_text_reply(&reply);
        }
        self.corrections.reset_reminders();
        self.run_tool_calls(&reply)
    }

    /// Asks the model. Returns `None` if that failed, which has then been reported.
    fn ask_model(&mut self) -> Result<Option<ModelReply>, Error> {
        if let Some((trouble, why)) = self.spending.exhausted_limit() {
            self.emit_error(&why, None, Some(trouble))?;
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
            conversation::shrink_conversation(&mut self.turns, fixed, self.context_tokens);
            let request = ModelRequest {
                system: &self.system,
                turns: &self.turns,
                tools: &self.specs,
                schema: Some(&self.schema).filter(|_| self.specs.is_empty()),
                is_shown: true,
            };
            match self.client.ask(&request, self.sink)? {
                Ok(reply) => {
                    self.record_usage(&reply)?;
                    return Ok(Some(reply));
                }
                // The estimate was wrong, or the model is a small one.
                Err(failure @ ApiFailure::TooLong { .. }) if shortened < MAX_SHORTENED => {
                    shortened += 1;
                    let size = fixed + conversation::conversation_chars(&self.turns);
                    self.context_tokens = self
                        .context_tokens
                        .min(conversation::estimate_tokens(size) / 2);
                    if conversation::shrink_conversation(
                        &mut self.turns,
                        fixed,
                        self.context_tokens,
                    ) == 0
                    {
                        self.emit_failure(&failure)?;
                        return Ok(None);
                    }
                }
                Err(failure) => {
                    self.emit_failure(&failure)?;
                    return Ok(None);
                }
            }
        }
    }

    /// Asks something outside the conversation, without tools.
    fn ask_separately(&mut self, turns: &[Turn]) -> ModelResult {
        let request = ModelRequest {
            system: &self.assignment.instructions.system,
            turns,
            tools: &[],
            schema: None,
            is_shown: false,
        };
        let asked = self.client.ask(&request, self.sink)?;
        if let Ok(reply) = &asked {
            self.record_usage(reply)?;
        }
        Ok(asked)
    }

    /// Takes the model's whole message as its answer, verbatim. It is never asked twice.
    fn take_bare_answer(&mut self, reply: &ModelReply) -> Result<TurnOutcome, Error> {
        if let Some(answer) = answer::parse_object(&reply.text) {
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
        self.emit_error(&why, None, None)?;
        Ok(TurnOutcome::Failed)
    }

    fn handle_text_reply(&mut self, reply: &ModelReply) -> Result<TurnOutcome, Error> {
        if self.assignment.wants_bare_answer() {
            return self.take_bare_answer(reply);
        }
        if let Some(found) = answer::extract_answer(&reply.text) {
            return Ok(match self.judge_answer(found) {
                AnswerVerdict::Fits(answer) => TurnOutcome::Submitted(answer),
                AnswerVerdict::Problem(problem) => {
                    self.turns
                        .push(Turn::Prompt(prompts::problem_prompt(&problem)));
                    TurnOutcome::Continue
                }
            });
        }
        if !self.corrections.allow_reminder() {
            let why = answer::explain_missing_answer(&reply.text);
            let message = format!("the model ended without an answer: {why}");
            self.emit_error(&message, None, None)?;
            return Ok(TurnOutcome::Failed);
        }
        self.limit += 1;
        let text = match reply.stop {
            StopReason::Cut => prompts::CUT.to_owned(),
            StopReason::Malformed => prompts::MALFORMED.to_owned(),
            StopReason::Done | StopReason::Refused(_) => prompts::reminder_prompt(
                self.assignment.mode,
                &answer::explain_missing_answer(&reply.text),
            ),
        };
        self.turns.push(Turn::Prompt(text));
        Ok(TurnOutcome::Continue)
    }

    /// Carries out the tool calls of a reply, the submission last.
    fn run_tool_calls(&mut self, reply: &ModelReply) -> Result<TurnOutcome, Error> {
        let mut results = Vec::new();
        let mut submitted = Vec::new();
        let mut thought = reply.text.trim();
        let is_last_turn = self.quality.iterations == self.limit;
        for (call, left) in reply.calls.iter().zip((0..reply.calls.len()).rev()) {
            if reply.stop == StopReason::Cut && left == 0 {
                results.push(tool_result(call, prompts::NOT_CARRIED_OUT, false));
            } else if call.name == prompts::SUBMIT {
                submitted.push(call);
            } else if is_last_turn {
                results.push(tool_result(call, prompts::TOO_LATE, false));
            } else {
                results.push(self.run_tool_call(call, thought)?);
            }
            thought = "";
        }
        let after = match submitted.as_slice() {
            [] => TurnOutcome::Continue,
            [only] => self.handle_submit_call(only, &mut results)?,
            several => {
                let text = prompts::problem_prompt("it was submitted more than once at a time");
                results.extend(several.iter().map(|call| tool_result(call, &text, false)));
                self.limit += u32::from(self.corrections.allow_correction());
                TurnOutcome::Continue
            }
        };
        self.turns.push(Turn::Results(results));
        if let (TurnOutcome::Continue, Some(why)) = (&after, self.stuck.take()) {
            self.emit_error(&why, None, Some(FailureCause::Loop))?;
            return Ok(TurnOutcome::Failed);
        }
        Ok(after)
    }

    fn run_tool_call(
        &mut self,
        call: &ToolCall,
        thought: &str,
    ) -> Result<conversation::ToolResult, Error> {
        let started = Instant::now();
        let called = self.tools.call(&call.name, &call.input, self.sink)?;
        self.quality.tool_calls += 1;
        self.quality.tool_errors += u32::from(!called.ok);
        tracing::debug!(
            ms = started.elapsed().as_millis(),
            ok = called.ok,
            bytes = called.text.len(),
            "called the tool `{}`",
            call.name
        );
        let tool = Some((call.name.as_str(), called.ok));
        self.emit_trace(thought, tool, called.text.len(), started.elapsed())?;
        let mut text = conversation::truncate_middle(
            &called.text,
            conversation::max_result_chars(self.context_tokens),
        );
        let progress =
            self.repeats
                .record_call(&call.name, &call.input, &called.text, called.exists);
        match progress {
            RepeatVerdict::New => {}
            RepeatVerdict::Warn(told) => text.push_str(&told),
            RepeatVerdict::Stuck(why) => self.stuck = Some(why),
        }
        Ok(tool_result(call, &text, called.ok))
    }

    fn handle_submit_call(
        &mut self,
        call: &ToolCall,
        results: &mut Vec<conversation::ToolResult>,
    ) -> Result<TurnOutcome, Error> {
        self.emit_trace("", Some((prompts::SUBMIT, true)), 0, Duration::ZERO)?;
        let judged = match answer::parse_object(&call.input) {
            Some(found) => self.judge_answer(found),
            None => self.reject_unreadable(),
        };
        Ok(match judged {
            AnswerVerdict::Fits(answer) => TurnOutcome::Submitted(answer),
            AnswerVerdict::Problem(problem) => {
                results.push(tool_result(call, &prompts::problem_prompt(&problem), false));
                TurnOutcome::Continue
            }
        })
    }

    /// Checks a submitted answer. One that is not valid is sent back as often as the budget allows,
    /// and then submitted as it is: the orchestrator explains best what is wrong with it.
    fn judge_answer(&mut self, answer: Box<RawValue>) -> AnswerVerdict {
        match answer::schema_problem(&answer, &self.schema) {
            Some(problem) if self.corrections.allow_correction() => {
                self.limit += 1;
                AnswerVerdict::Problem(problem)
            }
            _ => AnswerVerdict::Fits(answer),
        }
    }

    fn reject_unreadable(&mut self) -> AnswerVerdict {
        self.limit += u32::from(self.corrections.allow_correction());
        AnswerVerdict::Problem("it is not a JSON object".to_owned())
    }

    fn submit(&mut self, answer: &RawValue) -> Result<bool, Error> {
        if self.options.self_check {
            self.run_self_check(answer)?;
        }
        self.emit_quality()?;
        self.sink.emit_submission(answer)?;
        Ok(true)
    }

    fn end_without_answer(&mut self) -> Result<bool, Error> {
        self.emit_quality()?;
        Ok(false)
    }

    /// Asks the model to score its work. A failure here does not harm the work: it is reported as
    /// text, not as the reason why the work ended.
    fn run_self_check(&mut self, answer: &RawValue) -> Result<(), Error> {
        let prompt = &self.assignment.instructions.prompt;
        let question = [Turn::Prompt(self_check::self_check_prompt(
            prompt,
            answer.get(),
        ))];
        match self.ask_separately(&question)? {
            Ok(reply) => {
                if let Some(judged) = self_check::parse_self_check(&reply.text) {
                    self.quality.score = Some(judged.score);
                    self.quality.issues = judged.issues;
                }
                Ok(())
            }
            Err(failure) => {
                let text = format!("(there is no self-check: {})", failure.message());
                self.sink.emit(&BuiltinEvent::Text { text: &text })
            }
        }
    }

    fn emit_quality(&mut self) -> Result<(), Error> {
        let mut quality = std::mem::take(&mut self.quality);
        quality.mended = self.corrections.corrections_used();
        self.sink
            .emit(&BuiltinEvent::Trace(TraceEvent::Quality(quality)))
    }

    fn emit_trace(
        &mut self,
        thought: &str,
        tool: Option<(&str, bool)>,
        result_bytes: usize,
        duration: Duration,
    ) -> Result<(), Error> {
        self.sink.emit(&BuiltinEvent::Trace(TraceEvent::Executor {
            iteration: self.quality.iterations,
            thought: &short_first_line(thought),
            tool: tool.map(|(name, _)| name),
            ok: tool.map(|(_, ok)| ok),
            result_bytes,
            duration_ms: milliseconds(duration),
        }))
    }

    fn record_usage(&mut self, reply: &ModelReply) -> Result<(), Error> {
        self.spending.record_usage(reply.usage);
        self.sink.emit(&BuiltinEvent::Usage {
            input_tokens: reply.usage.input,
            output_tokens: reply.usage.output,
            cached_input_tokens: reply.usage.cached,
            model: &self.options.model,
        })
    }

    fn emit_failure(&mut self, failure: &ApiFailure) -> Result<(), Error> {
        match failure {
            ApiFailure::Limited {
                message,
                resets_in_ms,
            } => self.sink.emit(&BuiltinEvent::RateLimit {
                message,
                resets_in_ms: *resets_in_ms,
            }),
            ApiFailure::Unpaid { status, message } => {
                self.emit_error(message, Some(*status), Some(FailureCause::Billing))
            }
            ApiFailure::TooLong { status, message } => {
                self.emit_error(message, Some(*status), Some(FailureCause::Length))
            }
            ApiFailure::NoTools { status, message } => {
                self.emit_error(message, Some(*status), Some(FailureCause::Protocol))
            }
            ApiFailure::NotAnApi { message } => {
                self.emit_error(message, None, Some(FailureCause::Protocol))
            }
            ApiFailure::Later {
                status,
                message,
                wait,
            } => self.sink.emit(&BuiltinEvent::Error {
                message,
                status: *status,
                trouble: None,
                retry_after_ms: Some(milliseconds(*wait)),
            }),
            // Nobody answered, or nothing that could be read.
            ApiFailure::Other {
                status: None,
                message,
            } => self.emit_error(message, None, Some(FailureCause::Unreachable)),
            ApiFailure::Other { status, message } => self.emit_error(message, *status, None),
        }
    }

    fn emit_error(
        &mut self,
        message: &str,
        status: Option<u16>,
        trouble: Option<FailureCause>,
    ) -> Result<(), Error> {
        self.sink
            .emit(&BuiltinEvent::error(message, status, trouble))
    }
}

enum AnswerVerdict {
    Fits(Box<RawValue>),
    Problem(String),
}

fn tool_result(call: &ToolCall, text: &str, ok: bool) -> conversation::ToolResult {
    conversation::ToolResult {
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
