//! The model API: one request and what comes back, whatever the protocol.
//!
//! Each protocol is two functions in a file of its own, one that writes a
//! request and one that reads a reply. Everything else is here and the same for
//! all: sending, waiting, trying again.

mod anthropic;
mod gemini;
mod http;
mod openai;
mod trouble;

use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;
use serde_json::value::RawValue;

use super::event::{BuiltinEvent, EventSink};
use super::talk::Turn;
use super::{AgentOptions, Error, Protocol};

pub(super) use http::HttpClient;
pub(super) use trouble::ApiFailure;

use http::{HttpResponse, TransportFailure};
use trouble::ClassifiedFailure;

/// How often it is told that there is no answer yet.
const TOLD_EVERY: Duration = Duration::from_secs(30);

/// How often a request is repeated.
const RETRIES: u32 = 4;

/// The longest wait before a request is repeated.
const LONGEST_WAIT: Duration = Duration::from_mins(1);

/// A tool, as the model is told of it.
#[derive(Debug, Clone)]
pub(super) struct ToolSpec {
    pub(super) name: String,
    pub(super) description: String,
    /// The JSON Schema of its input.
    pub(super) schema: Value,
}

/// What the model is asked.
pub(super) struct ModelRequest<'a> {
    pub(super) system: &'a str,
    pub(super) turns: &'a [Turn],
    pub(super) tools: &'a [ToolSpec],
    /// What the reply must look like, if it is to be nothing but JSON.
    pub(super) schema: Option<&'a Value>,
}

/// What the model replied.
#[derive(Debug)]
pub(super) struct ModelReply {
    pub(super) text: String,
    pub(super) calls: Vec<ToolCall>,
    pub(super) stop: StopReason,
    pub(super) usage: TokenUsage,
    /// The reply as the API wants to see it again; nothing if it was empty.
    pub(super) echo: Option<Box<RawValue>>,
}

/// A tool the model wants called.
#[derive(Debug)]
pub(super) struct ToolCall {
    /// Empty if the API does not name calls.
    pub(super) id: String,
    pub(super) name: String,
    /// Its input to the letter; not always JSON.
    pub(super) input: String,
}

/// Why the model stopped.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum StopReason {
    /// It had said what it wanted to say.
    Done,
    /// It reached the limit of tokens.
    Cut,
    /// It tried to call a tool and did not manage to.
    Malformed,
    /// It, or something before it, will not answer this.
    Refused(String),
}

/// The tokens of one request.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct TokenUsage {
    /// All that was read, from the cache too.
    pub(super) input: u64,
    pub(super) output: u64,
    pub(super) cached: u64,
}

/// How answers are asked for; what an API refuses is changed.
struct SamplingOptions {
    max_tokens: Option<u32>,
    temperature: Option<f64>,
    /// `max_tokens` as OpenAI's API once called it, and some servers still do.
    is_old_limit: bool,
    /// Whether the API takes the form of an answer.
    takes_schema: bool,
}

/// A model API.
pub(super) struct ModelClient<'a> {
    options: &'a AgentOptions,
    http: HttpClient,
    url: String,
    sampling: SamplingOptions,
}

/// What asking comes to.
pub(super) type ModelResult = Result<Result<ModelReply, ApiFailure>, Error>;

impl<'a> ModelClient<'a> {
    /// One that waits so long for an answer.
    pub(super) fn new(
        options: &'a AgentOptions,
        patience: Option<Duration>,
    ) -> Result<Self, Error> {
        let bad = |option, reason: &str| Error::Option {
            option,
            reason: reason.to_owned(),
        };
        if options.model.is_empty() {
            return Err(bad("model", "it is empty"));
        }
        let base = options.base_url.trim_end_matches('/');
        let url = match options.protocol {
            Protocol::Anthropic => anthropic::url(base),
            Protocol::Openai => openai::url(base),
            Protocol::Gemini => gemini::url(base, &options.model),
        };
        Ok(Self {
            options,
            http: HttpClient::patient(&url, patience).map_err(|reason| bad("base_url", &reason))?,
            url,
            sampling: SamplingOptions {
                max_tokens: options.max_tokens,
                temperature: options.temperature,
                is_old_limit: false,
                takes_schema: true,
            },
        })
    }

    /// Asks until there is a reply or no hope of one.
    pub(super) fn ask(
        &mut self,
        request: &ModelRequest<'_>,
        sink: &mut EventSink<'_>,
    ) -> ModelResult {
        let mut retries = 0;
        loop {
            let trouble = match self.once(request, sink)? {
                Ok(reply) => return Ok(Ok(reply)),
                Err(trouble) => trouble,
            };
            let (failure, wait) = match trouble {
                ClassifiedFailure::Final(failure) => {
                    if self.adapt(&failure) {
                        continue;
                    }
                    return Ok(Err(failure));
                }
                ClassifiedFailure::Passing { failure, wait } => (failure, wait),
            };
            // Who is asked to wait for long is waited for elsewhere.
            if let Some(wait) = wait.filter(|wait| retries == RETRIES || *wait > LONGEST_WAIT) {
                return Ok(Err(failure.after(wait)));
            }
            if retries == RETRIES {
                return Ok(Err(failure));
            }
            let wait = wait
                .unwrap_or_else(|| self.options.backoff.saturating_mul(1 << retries))
                .min(LONGEST_WAIT);
            retries += 1;
            let text = format!(
                "(asking again in {:.1} s, {retries} of {RETRIES}: {})",
                wait.as_secs_f64(),
                failure.message()
            );
            sink.tell(&BuiltinEvent::Text { text: &text })?;
            thread::sleep(wait);
        }
    }

    fn once(
        &self,
        request: &ModelRequest<'_>,
        sink: &mut EventSink<'_>,
    ) -> Result<Result<ModelReply, ClassifiedFailure>, Error> {
        let body = match self.body(request) {
            Ok(body) => body,
            Err(trouble) => return Ok(Err(trouble)),
        };
        let answered = self.post(body, sink)?;
        Ok(answered
            .map_err(|why| ClassifiedFailure::unanswered(&why))
            .and_then(|answer| self.read(&answer)))
    }

    /// Sends a request, and tells every now and then that there is no answer yet.
    fn post(
        &self,
        body: String,
        sink: &mut EventSink<'_>,
    ) -> Result<Result<HttpResponse, TransportFailure>, Error> {
        let started = Instant::now();
        thread::scope(|scope| {
            let (sender, answers) = channel();
            let headers = self.headers();
            scope.spawn(move || drop(sender.send(self.http.post(&self.url, &headers, body))));
            loop {
                match answers.recv_timeout(TOLD_EVERY) {
                    Ok(answer) => return Ok(answer),
                    Err(RecvTimeoutError::Timeout) => {
                        let seconds = started.elapsed().as_secs();
                        let text = format!("(no answer of the model for {seconds} s)");
                        sink.tell(&BuiltinEvent::Text { text: &text })?;
                    }
                    Err(RecvTimeoutError::Disconnected) => {
                        let message = "the thread that asked it is gone".to_owned();
                        let may_pass = false;
                        return Ok(Err(TransportFailure { message, may_pass }));
                    }
                }
            }
        })
    }

    fn body(&self, request: &ModelRequest<'_>) -> Result<String, ClassifiedFailure> {
        let model = &self.options.model;
        let body = match self.options.protocol {
            Protocol::Anthropic => anthropic::request(model, request, &self.sampling),
            Protocol::Openai => openai::request(model, request, &self.sampling),
            Protocol::Gemini => gemini::request(request, &self.sampling),
        };
        body.map_err(|error| ClassifiedFailure::broken(&error.to_string()))
    }

    fn read(&self, answer: &HttpResponse) -> Result<ModelReply, ClassifiedFailure> {
        if answer.status != 200 {
            return Err(trouble::sort(answer));
        }
        let reply = match self.options.protocol {
            Protocol::Anthropic => anthropic::reply(&answer.body),
            Protocol::Openai => openai::reply(&answer.body),
            Protocol::Gemini => gemini::reply(&answer.body),
        };
        // Some servers put their errors into an answer that claims to be fine.
        reply.map_err(|error| trouble::in_disguise(answer, &error))
    }

    fn headers(&self) -> Vec<(&'static str, String)> {
        let key = &self.options.key;
        let mut headers = match self.options.protocol {
            _ if key.is_empty() => Vec::new(),
            Protocol::Anthropic => vec![("x-api-key", key.clone())],
            Protocol::Openai => vec![("authorization", format!("Bearer {key}"))],
            Protocol::Gemini => vec![("x-goog-api-key", key.clone())],
        };
        if self.options.protocol == Protocol::Anthropic {
            headers.push(("anthropic-version", anthropic::VERSION.to_owned()));
        }
        headers
    }

    /// Changes what the API says it does not take. Each change is made once.
    fn adapt(&mut self, failure: &ApiFailure) -> bool {
        let ApiFailure::Told {
            status: Some(400 | 422),
            message,
        } = failure
        else {
            return false;
        };
        let sampling = &mut self.sampling;
        let is_openai = self.options.protocol == Protocol::Openai;
        if is_openai
            && sampling.max_tokens.is_some()
            && !sampling.is_old_limit
            && message.contains("max_completion_tokens")
        {
            sampling.is_old_limit = true;
            return true;
        }
        let names_schema = ["response_format", "json_schema", "responseJsonSchema"];
        if names_schema.iter().any(|name| message.contains(name)) {
            return std::mem::take(&mut sampling.takes_schema);
        }
        if message.contains("temperature") {
            return sampling.temperature.take().is_some();
        }
        false
    }
}
