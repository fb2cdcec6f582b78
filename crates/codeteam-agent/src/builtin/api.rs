//! The model API: one request and what comes back, whatever the protocol.
//!
//! Each protocol is two functions in a file of its own, one that writes a
//! request and one that reads a reply. Everything else is here and the same for
//! all: sending, waiting, trying again.

mod anthropic;
mod api_failure;
mod gemini;
mod http;
mod openai;
mod shown_text;
mod stream;

use std::sync::mpsc::RecvTimeoutError;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;
use serde_json::value::RawValue;

use super::conversation::Turn;
use super::event::{BuiltinEvent, EventSink};
use super::{AgentOptions, Error, Protocol};

pub(super) use api_failure::ApiFailure;
pub(super) use http::HttpClient;

use api_failure::ClassifiedFailure;
use http::{HttpResponse, PATIENCE, ResponsePart, TransportFailure};
use shown_text::ShownText;
use stream::StreamedReply;

/// The interval at which a request without an answer, or with one that cannot be shown, is reported.
const REPORT_INTERVAL: Duration = Duration::from_secs(30);

/// The most times that a request is repeated.
const RETRIES: u32 = 4;

/// The longest wait before a request is repeated.
const LONGEST_WAIT: Duration = Duration::from_mins(1);

/// A tool, as it is described to the model.
#[derive(Debug, Clone)]
pub(super) struct ToolSpec {
    pub(super) name: String,
    pub(super) description: String,
    /// The JSON Schema of its input.
    pub(super) schema: Value,
}

/// A request to the model.
pub(super) struct ModelRequest<'a> {
    pub(super) system: &'a str,
    pub(super) turns: &'a [Turn],
    pub(super) tools: &'a [ToolSpec],
    /// The schema of the reply, if it has to be nothing but JSON.
    pub(super) schema: Option<&'a Value>,
    /// Whether the model's message is shown while it arrives.
    pub(super) is_shown: bool,
}

/// A reply of the model.
#[derive(Debug)]
pub(super) struct ModelReply {
    pub(super) text: String,
    pub(super) calls: Vec<ToolCall>,
    pub(super) stop: StopReason,
    pub(super) usage: TokenUsage,
    /// The reply as the API wants to see it again; nothing if it was empty.
    pub(super) echo: Option<Box<RawValue>>,
    /// Whether its text was shown while it arrived.
    pub(super) was_shown: bool,
}

/// A tool the model wants called.
#[derive(Debug)]
pub(super) struct ToolCall {
    /// Empty if the API does not name calls.
    pub(super) id: String,
    pub(super) name: String,
    /// Its input, verbatim; not always JSON.
    pub(super) input: String,
}

/// The reason why the model stopped.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum StopReason {
    /// The model was finished.
    Done,
    /// It reached the token limit.
    Cut,
    /// It tried to call a tool, but the call was malformed.
    Malformed,
    /// The model, or a filter before it, refuses to answer.
    Refused(String),
}

/// The tokens of one request.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct TokenUsage {
    /// Everything that was read, including what came from the cache.
    pub(super) input: u64,
    pub(super) output: u64,
    pub(super) cached: u64,
}

/// The optional settings of requests. One that an API refuses is dropped.
struct SamplingOptions {
    max_tokens: Option<u32>,
    temperature: Option<f64>,
    /// Whether the limit is sent as `max_tokens`, as OpenAI's API once called it and some servers
    /// still do.
    is_old_limit: bool,
    /// Whether the API accepts a schema for the answer.
    takes_schema: bool,
    /// Whether the answer is asked for in pieces.
    streams: bool,
}

/// A model API.
pub(super) struct ModelClient<'a> {
    options: &'a AgentOptions,
    http: HttpClient,
    url: String,
    /// How long the model may be silent.
    patience: Duration,
    sampling: SamplingOptions,
}

/// A reply or the reason why there is none; `Err` means that the worker cannot go on.
pub(super) type ModelResult = Result<Result<ModelReply, ApiFailure>, Error>;

impl<'a> ModelClient<'a> {
    /// Creates a client that waits at most this long for the next piece of an answer.
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
            http: HttpClient::new(&url).map_err(|reason| bad("base_url", &reason))?,
            url,
            patience: patience.unwrap_or(PATIENCE),
            sampling: SamplingOptions {
                max_tokens: options.max_tokens,
                temperature: options.temperature,
                is_old_limit: false,
                takes_schema: true,
                streams: true,
            },
        })
    }

    /// Asks until there is a reply, or until retrying is pointless.
    pub(super) fn ask(
        &mut self,
        request: &ModelRequest<'_>,
        sink: &mut EventSink<'_>,
    ) -> ModelResult {
        let mut retries = 0;
        loop {
            let started = Instant::now();
            let sent = self.send_once(request, sink)?;
            let ms = started.elapsed().as_millis();
            let trouble = match sent {
                Ok(reply) => {
                    tracing::debug!(ms, model = self.options.model, "the model answered");
                    return Ok(Ok(reply));
                }
                Err(trouble) => trouble,
            };
            tracing::debug!(ms, retries, "the model did not answer: {trouble:?}");
            let (failure, wait) = match trouble {
                ClassifiedFailure::Final(failure) => {
                    if self.adapt_to_refusal(&failure) {
                        continue;
                    }
                    return Ok(Err(failure));
                }
                ClassifiedFailure::Transient { failure, wait } => (failure, wait),
            };
            // Who is asked to wait for long is waited for elsewhere.
            if let Some(wait) = wait.filter(|wait| retries == RETRIES || *wait > LONGEST_WAIT) {
                return Ok(Err(failure.with_retry_delay(wait)));
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
            sink.emit(&BuiltinEvent::Text { text: &text })?;
            thread::sleep(wait);
        }
    }

    fn send_once(
        &self,
        request: &ModelRequest<'_>,
        sink: &mut EventSink<'_>,
    ) -> Result<Result<ModelReply, ClassifiedFailure>, Error> {
        let body = match self.write_request(request) {
            Ok(body) => body,
            Err(trouble) => return Ok(Err(trouble)),
        };
        let mut shown = ShownText::new(request.is_shown);
        let answered = self.post(body, &mut shown, sink)?;
        Ok(answered
            .map_err(|why| ClassifiedFailure::from_transport(&why))
            .and_then(|answer| self.read_reply(&answer))
            .map(|mut reply| {
                reply.was_shown = shown.has_text();
                reply
            }))
    }

    /// Sends a request and receives the answer, showing what arrives of its text. Reports at
    /// intervals that nothing arrives, and gives up when that lasts for too long.
    fn post(
        &self,
        body: String,
        shown: &mut ShownText,
        sink: &mut EventSink<'_>,
    ) -> Result<Result<HttpResponse, TransportFailure>, Error> {
        let parts = self
            .http
            .start_post(self.request_url(), self.headers(), body);
        let mut reply = StreamedReply::new(self.options.protocol);
        let mut heard = Instant::now();
        loop {
            let left = self.patience.saturating_sub(heard.elapsed());
            match parts.recv_timeout(left.min(REPORT_INTERVAL)) {
                Ok(ResponsePart::Event(data)) => {
                    heard = Instant::now();
                    match reply.add(&data) {
                        Ok(text) => shown.add(&text, data.len(), sink)?,
                        Err(error) => return Ok(Err(broken_stream(&error.to_string()))),
                    }
                }
                Ok(ResponsePart::End(end)) => {
                    shown.finish(sink)?;
                    let Some(body) = reply.finish() else {
                        return Ok(Err(broken_stream("it ended before the reply did")));
                    };
                    return Ok(Ok(HttpResponse {
                        status: end.status,
                        headers: end.headers,
                        body,
                    }));
                }
                Ok(ResponsePart::Whole(answer)) => return Ok(Ok(answer)),
                Ok(ResponsePart::Failed(failure)) => return Ok(Err(failure)),
                Err(RecvTimeoutError::Timeout) => {
                    let seconds = heard.elapsed().as_secs();
                    if heard.elapsed() >= self.patience {
                        let message = format!("the model has sent nothing for {seconds} s");
                        // Who has waited that long does not begin anew: whoever started the
                        // worker decides.
                        let may_pass = false;
                        return Ok(Err(TransportFailure { message, may_pass }));
                    }
                    shown.report_silence(seconds, sink)?;
                }
                Err(RecvTimeoutError::Disconnected) => {
                    let message = "the thread that asked it is gone".to_owned();
                    let may_pass = false;
                    return Ok(Err(TransportFailure { message, may_pass }));
                }
            }
        }
    }

    /// Returns the URL to ask, which for some APIs says whether the answer comes in pieces.
    fn request_url(&self) -> String {
        match self.options.protocol {
            Protocol::Gemini if self.sampling.streams => gemini::stream_url(&self.url),
            _ => self.url.clone(),
        }
    }

    fn write_request(&self, request: &ModelRequest<'_>) -> Result<String, ClassifiedFailure> {
        let model = &self.options.model;
        let body = match self.options.protocol {
            Protocol::Anthropic => anthropic::write_request(model, request, &self.sampling),
            Protocol::Openai => openai::write_request(model, request, &self.sampling),
            Protocol::Gemini => gemini::write_request(request, &self.sampling),
        };
        body.map_err(|error| ClassifiedFailure::unwritable_request(&error.to_string()))
    }

    fn read_reply(&self, answer: &HttpResponse) -> Result<ModelReply, ClassifiedFailure> {
        if answer.status != 200 {
            return Err(api_failure::classify_response(answer));
        }
        let reply = match self.options.protocol {
            Protocol::Anthropic => anthropic::read_reply(&answer.body),
            Protocol::Openai => openai::read_reply(&answer.body),
            Protocol::Gemini => gemini::read_reply(&answer.body),
        };
        // Some servers put their errors into an answer that claims to be fine.
        reply.map_err(|error| api_failure::classify_unreadable(answer, &error))
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

    /// Drops an option that the API says it does not accept. Each is dropped once.
    fn adapt_to_refusal(&mut self, failure: &ApiFailure) -> bool {
        let ApiFailure::Other {
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
        if message.contains("stream") {
            return std::mem::take(&mut sampling.streams);
        }
        false
    }
}

/// A stream that cannot be read to its end. Asking again may help.
fn broken_stream(why: &str) -> TransportFailure {
    TransportFailure {
        message: format!("the answer broke off: {why}"),
        may_pass: true,
    }
}
