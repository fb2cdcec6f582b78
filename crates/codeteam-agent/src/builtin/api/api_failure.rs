//! Sorts the errors of model APIs by what to do about them.
//!
//! A usage limit and a request that came too soon have the same status. The first parks an account
//! for hours and the second passes in seconds, so only an explicit message counts as a usage limit.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::Value;

use super::http::{HttpResponse, TransportFailure};

/// The reason why there is no reply.
#[derive(Debug, PartialEq, Eq)]
pub(in super::super) enum ApiFailure {
    /// The account has used what it may use.
    Limited {
        message: String,
        resets_in_ms: Option<u64>,
    },
    /// The account is not paid for; waiting does not help.
    Unpaid { status: u16, message: String },
    /// The conversation is longer than the model takes.
    TooLong { status: u16, message: String },
    /// The model, or what serves it, takes no tools.
    NoTools { status: u16, message: String },
    /// The server that answers is not a model API.
    NotAnApi { message: String },
    /// Nothing will change before this time has passed.
    Later {
        status: Option<u16>,
        message: String,
        wait: Duration,
    },
    /// Any other failure.
    Other {
        status: Option<u16>,
        message: String,
    },
}

impl ApiFailure {
    /// The same with how long the API asks to be left alone.
    pub(super) fn with_retry_delay(self, wait: Duration) -> Self {
        match self {
            Self::Other { status, message } => Self::Later {
                status,
                message,
                wait,
            },
            other => other,
        }
    }

    pub(in super::super) fn message(&self) -> &str {
        match self {
            Self::Limited { message, .. }
            | Self::Unpaid { message, .. }
            | Self::TooLong { message, .. }
            | Self::NoTools { message, .. }
            | Self::NotAnApi { message }
            | Self::Later { message, .. }
            | Self::Other { message, .. } => message,
        }
    }
}

/// A failure, and whether it may pass.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ClassifiedFailure {
    Transient {
        failure: ApiFailure,
        /// The time that the API asks to wait.
        wait: Option<Duration>,
    },
    Final(ApiFailure),
}

impl ClassifiedFailure {
    pub(super) fn from_transport(why: &TransportFailure) -> Self {
        let failure = ApiFailure::Other {
            status: None,
            message: format!("the connection to the model API failed: {}", why.message),
        };
        if why.may_pass {
            let wait = None;
            return Self::Transient { failure, wait };
        }
        Self::Final(failure)
    }

    pub(super) fn unwritable_request(message: &str) -> Self {
        Self::Final(ApiFailure::Other {
            status: None,
            message: format!("the request could not be written: {message}"),
        })
    }
}

/// Sorts an answer that is not a reply.
pub(super) fn classify_response(answer: &HttpResponse) -> ClassifiedFailure {
    classify_response_at(answer, SystemTime::now())
}

/// An answer that claims to be fine and cannot be read.
pub(super) fn classify_unreadable(
    answer: &HttpResponse,
    error: &serde_json::Error,
) -> ClassifiedFailure {
    let told: Value = serde_json::from_str(&answer.body).unwrap_or_default();
    let code = told["error"]["code"].as_u64();
    let status = code.and_then(|code| u16::try_from(code).ok());
    if told["error"].is_object() {
        let status = status.filter(|status| (400..600).contains(status));
        return classify_response(&HttpResponse {
            status: status.unwrap_or(500),
            headers: answer.headers.clone(),
            body: answer.body.clone(),
        });
    }
    let said = error_excerpt(&answer.body);
    let message = format!("the model API's answer is not a reply: {error}: {said}");
    // What was cut off begins well; a page of a website, or a stream that nobody asked for, does not.
    let failure = if answer.body.trim_start().starts_with('{') {
        let status = None;
        ApiFailure::Other { status, message }
    } else {
        ApiFailure::NotAnApi { message }
    };
    ClassifiedFailure::Transient {
        failure,
        wait: None,
    }
}

fn classify_response_at(answer: &HttpResponse, now: SystemTime) -> ClassifiedFailure {
    let status = answer.status;
    let told: Value = serde_json::from_str(&answer.body).unwrap_or_default();
    // Gemini's API in OpenAI's form wraps its errors in a list.
    let told = told.get(0).unwrap_or(&told);
    let message = format!(
        "the model API says {status}: {}",
        error_excerpt(&answer.body)
    );
    if is_unpaid(status, told) {
        return ClassifiedFailure::Final(ApiFailure::Unpaid { status, message });
    }
    if let Some(UsageLimit { resets_in_ms }) = usage_limit(answer, told, now) {
        return ClassifiedFailure::Final(ApiFailure::Limited {
            message,
            resets_in_ms,
        });
    }
    if matches!(status, 400 | 413) && is_too_long(told) {
        return ClassifiedFailure::Final(ApiFailure::TooLong { status, message });
    }
    if matches!(status, 400 | 404 | 422 | 500 | 501) && takes_no_tools(&message) {
        return ClassifiedFailure::Final(ApiFailure::NoTools { status, message });
    }
    let failure = ApiFailure::Other {
        status: Some(status),
        message,
    };
    match status {
        408 | 429 | 500..=599 => ClassifiedFailure::Transient {
            failure,
            wait: requested_wait(answer, told),
        },
        _ => ClassifiedFailure::Final(failure),
    }
}

/// Returns true if a server says that its model cannot call tools.
fn takes_no_tools(message: &str) -> bool {
    let lower = message.to_lowercase();
    let words = [
        "does not support tools",
        "not support tool",
        "tools are not supported",
        "tool calling is not supported",
        "tools param requires",
        "no endpoints found that support tool use",
    ];
    words.iter().any(|words| lower.contains(words))
}

/// Returns true if the account has to be paid for first, so that no limit resets with time.
fn is_unpaid(status: u16, told: &Value) -> bool {
    let names = ["insufficient_quota", "billing_hard_limit_reached"];
    status == 402 || status == 429 && has_error_name(told, &names)
}

/// Returns true if an error has one of these names.
fn has_error_name(told: &Value, names: &[&str]) -> bool {
    let said = [&told["error"]["code"], &told["error"]["type"]];
    let mut said = said.into_iter().filter_map(Value::as_str);
    said.any(|name| names.contains(&name))
}

/// A usage limit that is reached.
struct UsageLimit {
    resets_in_ms: Option<u64>,
}

/// Returns the usage limit that an answer reports, if it does.
fn usage_limit(answer: &HttpResponse, told: &Value, now: SystemTime) -> Option<UsageLimit> {
    let unknown = UsageLimit { resets_in_ms: None };
    let header = |name: &str| answer.headers.get(name)?.to_str().ok();
    let until = |seconds: u64| {
        let at = UNIX_EPOCH.checked_add(Duration::from_secs(seconds))?;
        let left = at.duration_since(now).unwrap_or_default();
        u64::try_from(left.as_millis()).ok()
    };
    if answer.status != 429 {
        return None;
    }
    // Anthropic, for subscriptions.
    if header("anthropic-ratelimit-unified-status").is_some_and(|status| status == "rejected") {
        let reset = header("anthropic-ratelimit-unified-reset");
        let reset = reset.and_then(|reset| reset.trim().parse().ok());
        return Some(UsageLimit {
            resets_in_ms: reset.and_then(until),
        });
    }
    // OpenAI, for subscriptions.
    let error = &told["error"];
    if has_error_name(told, &["usage_limit_reached"]) {
        let left = error["resets_in_seconds"].as_u64();
        let at = error["resets_at"].as_u64();
        let left = left.map(|seconds| seconds.saturating_mul(1000));
        return Some(UsageLimit {
            resets_in_ms: left.or_else(|| at.and_then(until)),
        });
    }
    // Gemini, whose limits by the minute and by the day differ only in a name.
    let is_daily = |violation: &Value| {
        let name = violation["quotaId"].as_str();
        name.is_some_and(|name| name.contains("PerDay"))
    };
    google_error_details(told, "QuotaFailure")
        .filter_map(|detail| detail["violations"].as_array())
        .flatten()
        .any(is_daily)
        .then_some(unknown)
}

/// Returns the time that the API asks to wait.
fn requested_wait(answer: &HttpResponse, told: &Value) -> Option<Duration> {
    let header = |name: &str| answer.headers.get(name)?.to_str().ok()?.trim().parse().ok();
    let seconds = |seconds: f64| Duration::try_from_secs_f64(seconds).ok();
    if let Some(milliseconds) = header("retry-after-ms") {
        let milliseconds: f64 = milliseconds;
        return seconds(milliseconds / 1000.0);
    }
    if let Some(wait) = header("retry-after") {
        return seconds(wait);
    }
    let delay =
        google_error_details(told, "RetryInfo").find_map(|detail| detail["retryDelay"].as_str())?;
    seconds(delay.strip_suffix('s')?.parse().ok()?)
}

/// The details of a Google error that are of one type.
fn google_error_details<'a>(told: &'a Value, name: &'a str) -> impl Iterator<Item = &'a Value> {
    let all = told["error"]["details"].as_array().into_iter().flatten();
    all.filter(move |detail| {
        let found = detail["@type"].as_str();
        found.is_some_and(|found| found.ends_with(name))
    })
}

fn is_too_long(told: &Value) -> bool {
    let error = &told["error"];
    if error["code"] == "context_length_exceeded" {
        return true;
    }
    let message = error["message"].as_str().unwrap_or_default().to_lowercase();
    [
        "prompt is too long",
        "maximum context length",
        "context size",
        "context window",
        "exceeds the maximum number of tokens",
    ]
    .iter()
    .any(|words| message.contains(words))
}

/// Returns an excerpt of the body.
fn error_excerpt(body: &str) -> String {
    const CHARS: usize = 400;
    let told: Value = serde_json::from_str(body).unwrap_or_default();
    let told = told.get(0).unwrap_or(&told);
    let places = [&told["error"]["message"], &told["error"], &told["message"]];
    let message = places.into_iter().find_map(Value::as_str).unwrap_or(body);
    let message = message.split_whitespace().collect::<Vec<_>>().join(" ");
    if message.is_empty() {
        return "nothing".to_owned();
    }
    message.chars().take(CHARS).collect()
}

#[cfg(test)]
mod tests;
