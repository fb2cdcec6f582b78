//! Records the requests, for tests to look at.

use serde::Serialize;
use serde_json::Value;

use crate::fault::FaultKind;
use crate::model_protocol::Protocol;
use crate::model_request::{AssignmentMarks, ModelRequest};

/// One request and what was made of it.
#[derive(Clone, Debug, Serialize)]
pub struct RecordedRequest {
    /// Its place in the order of arrival, from 1.
    pub order: u64,
    /// Milliseconds from the server's start to its arrival.
    pub at_ms: u64,
    /// The HTTP method.
    pub method: String,
    /// The path with its query; credentials are masked.
    pub path: String,
    /// The headers; credentials are masked.
    pub headers: Vec<(String, String)>,
    /// The protocol; `None` if the request is not a question to a model.
    pub protocol: Option<Protocol>,
    /// The facts about the assignment in codeteam's prompt.
    pub marks: AssignmentMarks,
    /// The play that answered.
    pub play: Option<String>,
    /// Its turn, from 0.
    pub turn: Option<usize>,
    /// The fault that the scenario injected.
    pub fault: Option<FaultKind>,
    /// A request that the scenario did not foresee.
    pub problem: Option<String>,
    /// The body, if it is JSON.
    pub body: Value,
    /// The question in no protocol's words.
    #[serde(skip)]
    pub asked: Option<ModelRequest>,
}

impl RecordedRequest {
    /// The system text, developer messages included.
    pub fn system_text(&self) -> &str {
        self.asked.as_ref().map_or("", |asked| &asked.system)
    }

    /// Returns everything the user said, without the results of tools.
    pub fn user_text(&self) -> String {
        self.asked
            .as_ref()
            .map(ModelRequest::user_text)
            .unwrap_or_default()
    }

    /// Returns the last message of the user or a tool.
    pub fn last_user_text(&self) -> String {
        self.asked
            .as_ref()
            .map(ModelRequest::last_user_text)
            .unwrap_or_default()
    }

    /// The names of the tools that are offered.
    pub fn tool_names(&self) -> Vec<String> {
        let tools = self.asked.iter().flat_map(|asked| &asked.tools);
        tools
            .map(crate::model_request::OfferedTool::full_name)
            .collect()
    }

    /// A header's value.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(header, _)| header.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.as_str())
    }

    /// One line for a person.
    pub fn summary_line(&self) -> String {
        let marks = &self.marks;
        let told = [
            ("role", marks.role.clone()),
            ("step", marks.step.clone()),
            ("task", marks.task.clone()),
            ("round", marks.round.map(|n| n.to_string())),
            ("attempt", marks.attempt.map(|n| n.to_string())),
            ("play", self.play.clone()),
            ("turn", self.turn.map(|n| (n + 1).to_string())),
            ("fault", self.fault.map(|fault| format!("{fault:?}"))),
        ];
        let told = told.into_iter();
        let told = told.filter_map(|(name, value)| Some(format!("{name}={}", value?)));
        let problem = self.problem.iter().map(|p| format!("PROBLEM: {p}"));
        let words = [
            self.order.to_string(),
            self.method.clone(),
            self.path.clone(),
        ];
        let words: Vec<String> = words.into_iter().chain(told).chain(problem).collect();
        words.join(" ")
    }
}

/// Requests, in the order of their arrival.
#[derive(Clone, Debug, Default)]
pub struct RecordedRequests(pub Vec<RecordedRequest>);

impl RecordedRequests {
    /// Those that are questions to a model.
    #[must_use]
    pub fn to_models(&self) -> Self {
        self.filtered(|request| request.asked.is_some())
    }

    /// Those of a role.
    #[must_use]
    pub fn of_role(&self, role: &str) -> Self {
        self.filtered(|request| request.marks.role.as_deref() == Some(role))
    }

    /// Those of a task.
    #[must_use]
    pub fn of_task(&self, task: &str) -> Self {
        self.filtered(|request| request.marks.task.as_deref() == Some(task))
    }

    /// Those in a protocol.
    #[must_use]
    pub fn of_protocol(&self, protocol: Protocol) -> Self {
        self.filtered(|request| request.protocol == Some(protocol))
    }

    /// Those of which `fits` is true.
    #[must_use]
    pub fn filtered(&self, fits: impl Fn(&RecordedRequest) -> bool) -> Self {
        Self(self.0.iter().filter(|r| fits(r)).cloned().collect())
    }

    /// Returns the number of requests.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns true if there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The last one.
    pub fn last(&self) -> Option<&RecordedRequest> {
        self.0.last()
    }

    /// One after the other.
    pub fn iter(&self) -> std::slice::Iter<'_, RecordedRequest> {
        self.0.iter()
    }
}

impl<'a> IntoIterator for &'a RecordedRequests {
    type Item = &'a RecordedRequest;
    type IntoIter = std::slice::Iter<'a, RecordedRequest>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

/// Masks a header for the record: of a credential, only its first characters and its length are
/// kept.
pub(crate) fn mask_header(name: &str, value: &str) -> String {
    const SECRET: &[&str] = &[
        "authorization",
        "x-api-key",
        "api-key",
        "x-goog-api-key",
        "cookie",
        "proxy-authorization",
    ];
    if !SECRET
        .iter()
        .any(|secret| name.eq_ignore_ascii_case(secret))
    {
        return value.to_owned();
    }
    match value.split_once(' ') {
        Some((scheme, secret)) => format!("{scheme} {}", mask_secret(secret)),
        None => mask_secret(value),
    }
}

/// Masks a path for the record, because Gemini's key may be in the query.
pub(crate) fn mask_target(target: &str) -> String {
    let Some((path, query)) = target.split_once('?') else {
        return target.to_owned();
    };
    let pairs: Vec<String> = query
        .split('&')
        .map(|pair| match pair.split_once('=') {
            Some(("key", secret)) => format!("key={}", mask_secret(secret)),
            _ => pair.to_owned(),
        })
        .collect();
    format!("{path}?{}", pairs.join("&"))
}

fn mask_secret(secret: &str) -> String {
    format!("<masked, {} characters>", secret.chars().count())
}
