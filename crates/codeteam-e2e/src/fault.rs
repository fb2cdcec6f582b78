//! Faults on the way to an answer, in the form of each provider.

use serde::de::value::MapAccessDeserializer;
use serde::de::{IntoDeserializer, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Value, json};

use crate::model_protocol::Protocol;

/// Something that goes wrong, before a turn is played or instead of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The kind of fault.
    pub kind: FaultKind,
    /// The number of times before the turn is played; every time if left out.
    pub times: Option<u32>,
    /// The seconds a `retry-after` asks for.
    pub retry_after: Option<u64>,
    /// In how many seconds a usage limit resets.
    pub resets_in: u64,
    /// The gate that `hold` and `stall` wait at.
    pub gate: String,
}

/// A kind of fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FaultKind {
    /// 429, for a short while.
    RateLimit,
    /// 429, until the account's limit resets: hours.
    UsageLimit,
    /// The account has nothing left.
    Quota,
    /// 500.
    ServerError,
    /// 529, or what the provider answers when it is overloaded.
    Overloaded,
    /// 401.
    Unauthorized,
    /// 400 or 404: no such model.
    UnknownModel,
    /// The connection is cut before the answer.
    Cut,
    /// The connection is cut in the middle of the answer.
    CutStream,
    /// The answer stops in the middle until the test releases its gate.
    Hold,
    /// Nothing is answered until the test releases its gate or the client goes.
    Stall,
    /// A piece of the stream is not JSON.
    BadStream,
    /// The answer's text is JSON that breaks off.
    BadAnswer,
    /// The model refuses.
    Refusal,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FaultFile {
    kind: FaultKind,
    times: Option<u32>,
    retry_after: Option<u64>,
    resets_in: Option<u64>,
    gate: Option<String>,
}

impl Fault {
    /// A fault that stays.
    pub fn new(kind: FaultKind) -> Self {
        Self {
            kind,
            times: None,
            retry_after: None,
            resets_in: 3600,
            gate: "gate".to_owned(),
        }
    }

    /// Limits the number of times, after which the turn is played.
    #[must_use]
    pub fn times(mut self, times: u32) -> Self {
        self.times = Some(times);
        self
    }

    /// With a `retry-after`.
    #[must_use]
    pub fn retry_after(mut self, seconds: u64) -> Self {
        self.retry_after = Some(seconds);
        self
    }

    /// Makes it a limit that resets after this many seconds.
    #[must_use]
    pub fn resets_in(mut self, seconds: u64) -> Self {
        self.resets_in = seconds;
        self
    }

    /// Waiting at this gate.
    #[must_use]
    pub fn gate(mut self, gate: &str) -> Self {
        gate.clone_into(&mut self.gate);
        self
    }

    /// The error that is answered, if that is what goes wrong. `now` is the time in seconds since
    /// 1970.
    pub(crate) fn error_response(
        &self,
        protocol: Protocol,
        model: &str,
        now: u64,
    ) -> Option<ErrorResponse> {
        let mut refusal = match protocol {
            Protocol::Anthropic => self.anthropic_error(model, now)?,
            Protocol::Responses | Protocol::Chat => self.openai_error(model, now)?,
            Protocol::Gemini => self.gemini_error(model)?,
        };
        if let Some(seconds) = self.retry_after {
            refusal.headers.push(("retry-after", seconds.to_string()));
        }
        Some(refusal)
    }

    fn anthropic_error(&self, model: &str, now: u64) -> Option<ErrorResponse> {
        let error = |status, kind: &str, message: &str| {
            ErrorResponse::new(
                status,
                json!({"type": "error", "error": {"type": kind, "message": message},
                       "request_id": "req_scripted"}),
            )
        };
        Some(match self.kind {
            FaultKind::RateLimit => error(
                429,
                "rate_limit_error",
                "This request would exceed your organization's rate limit of 50 requests per minute.",
            ),
            FaultKind::UsageLimit => {
                let mut refusal = error(
                    429,
                    "rate_limit_error",
                    "This request would exceed your account's rate limit. Please try again later.",
                );
                let reset = (now + self.resets_in).to_string();
                let unified = [
                    ("anthropic-ratelimit-unified-status", "rejected"),
                    (
                        "anthropic-ratelimit-unified-representative-claim",
                        "five_hour",
                    ),
                    ("anthropic-ratelimit-unified-reset", &reset),
                    ("anthropic-ratelimit-unified-5h-status", "rejected"),
                    ("anthropic-ratelimit-unified-5h-reset", &reset),
                    ("anthropic-ratelimit-unified-5h-utilization", "1.0"),
                    ("anthropic-ratelimit-unified-fallback-percentage", "0.5"),
                    ("anthropic-ratelimit-unified-overage-status", "rejected"),
                    (
                        "anthropic-ratelimit-unified-overage-disabled-reason",
                        "org_level_disabled",
                    ),
                ];
                let unified = unified.map(|(name, value)| (name, value.to_owned()));
                refusal.headers.extend(unified);
                refusal
            }
            FaultKind::Quota => error(
                400,
                "invalid_request_error",
                "Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or purchase credits.",
            ),
            FaultKind::ServerError => error(500, "api_error", "Internal server error"),
            FaultKind::Overloaded => error(529, "overloaded_error", "Overloaded"),
            FaultKind::Unauthorized => error(401, "authentication_error", "invalid x-api-key"),
            FaultKind::UnknownModel => error(404, "not_found_error", &format!("model: {model}")),
            _ => return None,
        })
    }

    fn openai_error(&self, model: &str, now: u64) -> Option<ErrorResponse> {
        let error = |status, kind: &str, code: Option<&str>, message: &str| {
            ErrorResponse::new(
                status,
                json!({"error": {"message": message, "type": kind, "param": null, "code": code}}),
            )
        };
        Some(match self.kind {
            FaultKind::RateLimit => error(
                429,
                "requests",
                Some("rate_limit_exceeded"),
                &format!(
                    "Rate limit reached for {model} in organization org-scripted on requests per min (RPM): Limit 3, Used 3, Requested 1. Please try again in 1s."
                ),
            ),
            FaultKind::UsageLimit => ErrorResponse::new(
                429,
                json!({"error": {"type": "usage_limit_reached",
                                 "message": "The usage limit has been reached",
                                 "plan_type": "pro", "resets_at": now + self.resets_in,
                                 "resets_in_seconds": self.resets_in}}),
            ),
            FaultKind::Quota => error(
                429,
                "insufficient_quota",
                Some("insufficient_quota"),
                "You exceeded your current quota, please check your plan and billing details. For more information on this error, read the docs: https://platform.openai.com/docs/guides/error-codes/api-errors.",
            ),
            FaultKind::ServerError => error(
                500,
                "server_error",
                None,
                "The server had an error while processing your request. Sorry about that!",
            ),
            FaultKind::Overloaded => error(
                503,
                "server_error",
                Some("server_is_overloaded"),
                "Our servers are currently overloaded. Please try again later.",
            ),
            FaultKind::Unauthorized => error(
                401,
                "invalid_request_error",
                Some("invalid_api_key"),
                "Incorrect API key provided: sk-scripted. You can find your API key at https://platform.openai.com/account/api-keys.",
            ),
            FaultKind::UnknownModel => error(
                400,
                "invalid_request_error",
                Some("model_not_found"),
                &format!("The requested model '{model}' does not exist."),
            ),
            _ => return None,
        })
    }

    fn gemini_error(&self, model: &str) -> Option<ErrorResponse> {
        let error = |status: u16, name: &str, message: &str, details: Value| {
            let mut error = json!({"code": status, "message": message, "status": name});
            if !details.is_null() {
                error["details"] = details;
            }
            ErrorResponse::new(status, json!({"error": error}))
        };
        Some(match self.kind {
            FaultKind::RateLimit => error(
                429,
                "RESOURCE_EXHAUSTED",
                "Resource has been exhausted (e.g. check quota).",
                quota_details(
                    model,
                    "GenerateRequestsPerMinutePerProjectPerModel",
                    self.retry_after,
                ),
            ),
            FaultKind::UsageLimit | FaultKind::Quota => error(
                429,
                "RESOURCE_EXHAUSTED",
                "You exceeded your current quota, please check your plan and billing details. For more information on this error, head to: https://ai.google.dev/gemini-api/docs/rate-limits.",
                quota_details(
                    model,
                    "GenerateRequestsPerDayPerProjectPerModel-FreeTier",
                    Some(self.resets_in),
                ),
            ),
            FaultKind::ServerError => error(
                500,
                "INTERNAL",
                "An internal error has occurred. Please retry or report in https://developers.generativeai.google/guide/troubleshooting",
                Value::Null,
            ),
            FaultKind::Overloaded => error(
                503,
                "UNAVAILABLE",
                "The model is overloaded. Please try again later.",
                Value::Null,
            ),
            FaultKind::Unauthorized => error(
                400,
                "INVALID_ARGUMENT",
                "API key not valid. Please pass a valid API key.",
                json!([{"@type": "type.googleapis.com/google.rpc.ErrorInfo",
                        "reason": "API_KEY_INVALID", "domain": "googleapis.com",
                        "metadata": {"service": "generativelanguage.googleapis.com"}}]),
            ),
            FaultKind::UnknownModel => error(
                404,
                "NOT_FOUND",
                &format!(
                    "models/{model} is not found for API version v1beta, or is not supported for generateContent. Call ListModels to see the list of available models and their supported methods."
                ),
                Value::Null,
            ),
            _ => return None,
        })
    }
}

fn quota_details(model: &str, quota: &str, retry: Option<u64>) -> Value {
    let mut details = vec![json!({
        "@type": "type.googleapis.com/google.rpc.QuotaFailure",
        "violations": [{
            "quotaMetric": "generativelanguage.googleapis.com/generate_content_free_tier_requests",
            "quotaId": quota,
            "quotaDimensions": {"location": "global", "model": model},
            "quotaValue": "50",
        }],
    })];
    if let Some(seconds) = retry {
        details.push(json!({"@type": "type.googleapis.com/google.rpc.RetryInfo",
                            "retryDelay": format!("{seconds}s")}));
    }
    Value::Array(details)
}

/// An error that is answered.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ErrorResponse {
    /// The HTTP status.
    pub(crate) status: u16,
    /// Additional headers.
    pub(crate) headers: Vec<(&'static str, String)>,
    /// The body.
    pub(crate) body: Value,
}

impl ErrorResponse {
    fn new(status: u16, body: Value) -> Self {
        Self {
            status,
            headers: Vec::new(),
            body,
        }
    }
}

impl<'de> Deserialize<'de> for Fault {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(FaultVisitor)
    }
}

/// A fault is its kind alone, or a map that says more.
struct FaultVisitor;

impl<'de> Visitor<'de> for FaultVisitor {
    type Value = Fault;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a kind of fault, or a map with `kind`")
    }

    fn visit_str<E: serde::de::Error>(self, kind: &str) -> Result<Fault, E> {
        FaultKind::deserialize(kind.into_deserializer()).map(Fault::new)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Fault, A::Error> {
        let written = FaultFile::deserialize(MapAccessDeserializer::new(map))?;
        let fault = Fault::new(written.kind);
        Ok(Fault {
            times: written.times,
            retry_after: written.retry_after,
            resets_in: written.resets_in.unwrap_or(fault.resets_in),
            gate: written.gate.unwrap_or(fault.gate),
            kind: fault.kind,
        })
    }
}
