//! The loop: think, act, look, until there is an answer.

use std::time::{Duration, Instant};

use codeteam_core::failure::Trouble;
use serde_json::Value;
use serde_json::value::RawValue;

use super::api::{Asked, Call, Client, Failure, Reply, Request, Spec, Stop};
use super::assignment::{Assignment, Mode};
use super::event::{Event, Quality, Sink, Trace};
use super::limits::{Progress, Repeats, Spending};
use super::mending::Mending;
use super::talk::{self, Turn, brief};
use super::tools::Registry;
use super::{Error, Options, answer, check, interrupt, plan, words};

/// How often a conversation that is too long for the model is made shorter, each time by half.
const MAX_SHORTENED: u32 = 4;

/// Works on an assignment; whether there is a submission.
pub(super) fn work(
    options: &Options,
    assignment: &Assignment,
    sink: &mut Sink<'_>,
) -> Result<bool, Error> {
    interrupt::listen().map_err(|source| Error::System {
        action: "listen for signals",
        source,
    })?;
    let patience = Some(assignment.stall_ms).filter(|ms| *ms > 0);
    let client = Client::new(options, patience.map(Duration::from_millis))?;
    let tools = Registry::new(options, assignment, sink)?;
    let limit = assignment
        .max_turns
        .unwrap_or(options.max_iterations)
        .max(1);
    let mut specs: Vec<Spec> = tools.specs().cloned().collect();
    let schema = assignment.schema();
    if assignment.mode == Mode::Tools {
        specs.push(Spec {
            name: words::SUBMIT.to_owned(),
            description: words::SUBMIT_DESCRIPTION.to_owned(),
            schema: schema.clone(),
        });
    }
    let mut work = Work {
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
        spending: Spending::new(options, assignment),
        repeats: Repeats::default(),
        stuck: None,
        mending: Mending::default(),
        quality: Quality::default(),
        sink,
    };
    work.run()
}

struct Work<'a, 'b> {
    options: &'a Options,
    assignment: &'a Assignment,
    client: Client<'a>,
    tools: Registry,
    system: String,
    specs: Vec<Spec>,
    schema: Value,
    turns: Vec<Turn>,
    /// After how many turns it ends. A turn that mends an answer is given again.
    limit: u32,
    context_tokens: usize,
    spending: Spending,
    repeats: Repeats,
    /// Why the work gets nowhere, if it does not.
    stuck: Option<String>,
    mending: Mending,
    quality: Quality,
    sink: &'a mut Sink<'b>,
}

/// What a turn came to.
enum After {
    GoOn,
    Submitted(Box<RawValue>),
    Failed,
}

impl Work<'_, '_> {
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
            if is_last && self.assignment.mode == Mode::Tools {
                self.turns.push(Turn::Said(words::LAST_TURN.to_owned()));
            }
            match self.turn()? {
                After::GoOn => {}
                After::Submitted(answer) => return self.submit(&answer),
                After::Failed => return self.end_without_answer(),
            }
        }
        let message = format!("the model did not submit within {} turns", self.limit);
        self.fail(&message, None, Some(Trouble::Turns))?;
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
        self.sink.tell(&Event::Trace(Trace::Planner {
            steps: &steps,
            duration_ms: milliseconds(started.elapsed()),
        }))?;
        Ok(Some(plan::with_plan(prompt, &steps)))
    }

    /// One turn of the model and what follows of it.
    fn turn(&mut self) -> Result<After, Error> {
        let started = Instant::now();
        let Some(reply) = self.ask()? else {
            return Ok(After::Failed);
        };
        let asked = started.elapsed();
        let text = reply.text.trim();
        if !text.is_empty() {
            self.sink.tell(&Event::Text { text })?;
        }
        if let Stop::Refused(why) = &reply.stop {
            let why = if why.trim().is_empty() {
                "it does not say why".to_owned()
            } else {
                brief(why)
            };
            let message = format!("the model refused to answer: {why}");
            self.fail(&message, None, Some(Trouble::Refusal))?;
            return Ok(After::Failed);
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
    fn ask(&mut self) -> Result<Option<Reply>, Error> {
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
            let request = Request {
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
                Err(failure @ Failure::TooLong { .. }) if shortened < MAX_SHORTENED => {
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
    fn ask_alone(&mut self, turns: &[Turn]) -> Asked {
        let request = Request {
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
    fn said_once(&mut self, reply: &Reply) -> Result<After, Error> {
        if let Some(answer) = answer::object(&reply.text) {
            return Ok(After::Submitted(answer));
        }
        let said: String = reply.text.trim().chars().take(80).collect();
        let said = said.replace('\n', " ");
        let why = match &reply.stop {
            Stop::Cut => "its answer was cut off because it reached the limit of tokens".to_owned(),
            Stop::Refused(why) => format!("the model refused: {why}"),
            Stop::Done | Stop::Malformed => {
                format!("its answer is not exactly one JSON object: `{said}`")
            }
        };
        self.fail(&why, None, None)?;
        Ok(After::Failed)
    }

    fn without_calls(&mut self, reply: &Reply) -> Result<After, Error> {
        if self.assignment.is_bare() {
            return self.said_once(reply);
        }
        if let Some(found) = answer::find(&reply.text) {
            return Ok(match self.judge(found) {
                Judged::Fits(answer) => After::Submitted(answer),
                Judged::Problem(problem) => {
                    self.turns.push(Turn::Said(words::problem(&problem)));
                    After::GoOn
                }
            });
        }
        if !self.mending.remind() {
            let why = answer::objection(&reply.text);
            let message = format!("the model ended without an answer: {why}");
            self.fail(&message, None, None)?;
            return Ok(After::Failed);
        }
        self.limit += 1;
        let text = match reply.stop {
            Stop::Cut => words::CUT.to_owned(),
            Stop::Malformed => words::MALFORMED.to_owned(),
            Stop::Done | Stop::Refused(_) => {
                words::reminder(self.assignment.mode, &answer::objection(&reply.text))
            }
        };
        self.turns.push(Turn::Said(text));
        Ok(After::GoOn)
    }

    /// Carries the calls of a reply out, the submission last.
    fn calls(&mut self, reply: &Reply) -> Result<After, Error> {
        let mut results = Vec::new();
        let mut submitted = Vec::new();
        let mut thought = reply.text.trim();
        let is_last_turn = self.quality.iterations == self.limit;
        for (call, left) in reply.calls.iter().zip((0..reply.calls.len()).rev()) {
            if reply.stop == Stop::Cut && left == 0 {
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
            [] => After::GoOn,
            [only] => self.submitted(only, &mut results)?,
            several => {
                let text = words::problem("it was handed in more than once at a time");
                results.extend(several.iter().map(|call| result(call, &text, false)));
                self.limit += u32::from(self.mending.mend());
                After::GoOn
            }
        };
        self.turns.push(Turn::Results(results));
        if let (After::GoOn, Some(why)) = (&after, self.stuck.take()) {
            self.fail(&why, None, Some(Trouble::Loop))?;
            return Ok(After::Failed);
        }
        Ok(after)
    }

    fn call(&mut self, call: &Call, thought: &str) -> Result<talk::Result, Error> {
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
            Progress::Made => {}
            Progress::Told(told) => text.push_str(&told),
            Progress::Stuck(why) => self.stuck = Some(why),
        }
        Ok(result(call, &text, called.ok))
    }

    fn submitted(&mut self, call: &Call, results: &mut Vec<talk::Result>) -> Result<After, Error> {
        self.trace("", Some((words::SUBMIT, true)), 0, Duration::ZERO)?;
        let judged = match answer::object(&call.input) {
            Some(found) => self.judge(found),
            None => self.unreadable(),
        };
        Ok(match judged {
            Judged::Fits(answer) => After::Submitted(answer),
            Judged::Problem(problem) => {
                results.push(result(call, &words::problem(&problem), false));
                After::GoOn
            }
        })
    }

    /// Whether an answer is handed in. One that does not fit is sent back as
    /// often as it may, and then handed in as it is: the orchestrator says best
    /// what is wrong with it.
    fn judge(&mut self, answer: Box<RawValue>) -> Judged {
        match answer::problem(&answer, &self.schema) {
            Some(problem) if self.mending.mend() => {
                self.limit += 1;
                Judged::Problem(problem)
            }
            _ => Judged::Fits(answer),
        }
    }

    fn unreadable(&mut self) -> Judged {
        self.limit += u32::from(self.mending.mend());
        Judged::Problem("it is not a JSON object".to_owned())
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
                self.sink.tell(&Event::Text { text: &text })
            }
        }
    }

    fn tell_quality(&mut self) -> Result<(), Error> {
        let mut quality = std::mem::take(&mut self.quality);
        quality.mended = self.mending.mends();
        self.sink.tell(&Event::Trace(Trace::Quality(quality)))
    }

    fn trace(
        &mut self,
        thought: &str,
        tool: Option<(&str, bool)>,
        result_bytes: usize,
        duration: Duration,
    ) -> Result<(), Error> {
        self.sink.tell(&Event::Trace(Trace::Executor {
            iteration: self.quality.iterations,
            thought: &brief(thought),
            tool: tool.map(|(name, _)| name),
            ok: tool.map(|(_, ok)| ok),
            result_bytes,
            duration_ms: milliseconds(duration),
        }))
    }

    fn spent(&mut self, reply: &Reply) -> Result<(), Error> {
        self.spending.add(reply.usage);
        self.sink.tell(&Event::Usage {
            input_tokens: reply.usage.input,
            output_tokens: reply.usage.output,
            cached_input_tokens: reply.usage.cached,
            model: &self.options.model,
        })
    }

    fn tell_failure(&mut self, failure: &Failure) -> Result<(), Error> {
        match failure {
            Failure::Limited {
                message,
                resets_in_ms,
            } => self.sink.tell(&Event::RateLimit {
                message,
                resets_in_ms: *resets_in_ms,
            }),
            Failure::Unpaid { status, message } => {
                self.fail(message, Some(*status), Some(Trouble::Billing))
            }
            Failure::TooLong { status, message } => {
                self.fail(message, Some(*status), Some(Trouble::Length))
            }
            Failure::NoTools { status, message } => {
                self.fail(message, Some(*status), Some(Trouble::Protocol))
            }
            Failure::NotAnApi { message } => self.fail(message, None, Some(Trouble::Protocol)),
            Failure::Later {
                status,
                message,
                wait,
            } => self.sink.tell(&Event::Error {
                message,
                status: *status,
                trouble: None,
                retry_after_ms: Some(milliseconds(*wait)),
            }),
            // Nobody answered, or nothing that could be read.
            Failure::Told {
                status: None,
                message,
            } => self.fail(message, None, Some(Trouble::Unreachable)),
            Failure::Told { status, message } => self.fail(message, *status, None),
        }
    }

    fn fail(
        &mut self,
        message: &str,
        status: Option<u16>,
        trouble: Option<Trouble>,
    ) -> Result<(), Error> {
        self.sink.tell(&Event::error(message, status, trouble))
    }
}

enum Judged {
    Fits(Box<RawValue>),
    Problem(String),
}

fn result(call: &Call, text: &str, ok: bool) -> talk::Result {
    talk::Result {
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
