//! What was asked, kept for the test to look at.

use serde::Serialize;
use serde_json::Value;

use crate::asked::{AssignmentMarks, ModelRequest};
use crate::fault::FaultKind;
use crate::protocol::Protocol;

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
    /// The protocol; none for what is no question to a model.
    pub protocol: Option<Protocol>,
    /// What codeteam's prompt says of the assignment.
    pub marks: AssignmentMarks,
    /// The play that answered.
    pub play: Option<String>,
    /// Its turn, from 0.
    pub turn: Option<usize>,
    /// What went wrong on the way, as the scenario wanted.
    pub fault: Option<FaultKind>,
    /// What the scenario did not foresee.
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

    /// Everything the user said; tools' results are not of it.
    pub fn user_text(&self) -> String {
        self.asked
            .as_ref()
            .map(ModelRequest::user_text)
            .unwrap_or_default()
    }

    /// What was said last, by the user or a tool.
    pub fn last_said(&self) -> String {
        self.asked
            .as_ref()
            .map(ModelRequest::last_said)
            .unwrap_or_default()
    }

    /// The names of the tools that are offered.
    pub fn tool_names(&self) -> Vec<String> {
        let tools = self.asked.iter().flat_map(|asked| &asked.tools);
        tools.map(crate::asked::OfferedTool::full_name).collect()
    }

    /// A header's value.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(header, _)| header.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.as_str())
    }

    /// One line for a person.
    pub fn line(&self) -> String {
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
        self.only(|request| request.asked.is_some())
    }

    /// Those of a role.
    #[must_use]
    pub fn of_role(&self, role: &str) -> Self {
        self.only(|request| request.marks.role.as_deref() == Some(role))
    }

    /// Those of a task.
    #[must_use]
    pub fn of_task(&self, task: &str) -> Self {
        self.only(|request| request.marks.task.as_deref() == Some(task))
    }

    /// Those in a protocol.
    #[must_use]
    pub fn of_protocol(&self, protocol: Protocol) -> Self {
        self.only(|request| request.protocol == Some(protocol))
    }

    /// Those of which `fits` is true.
    #[must_use]
    pub fn only(&self, fits: impl Fn(&RecordedRequest) -> bool) -> Self {
        Self(self.0.iter().filter(|r| fits(r)).cloned().collect())
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is none.
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

/// A header as it may be kept: of a credential, only how it begins and how long it is.
pub(crate) fn masked(name: &str, value: &str) -> String {
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
        Some((scheme, secret)) => format!("{scheme} {}", mask(secret)),
        None => mask(value),
    }
}

/// A path as it may be kept: Gemini's key may stand in the query.
pub(crate) fn masked_target(target: &str) -> String {
    let Some((path, query)) = target.split_once('?') else {
        return target.to_owned();
    };
    let pairs: Vec<String> = query
        .split('&')
        .map(|pair| match pair.split_once('=') {
            Some(("key", secret)) => format!("key={}", mask(secret)),
            _ => pair.to_owned(),
        })
        .collect();
    format!("{path}?{}", pairs.join("&"))
}

fn mask(secret: &str) -> String {
    format!("<masked, {} characters>", secret.chars().count())
}
