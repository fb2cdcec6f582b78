//! Reads the file of a rehearsal. Unknown keys are errors, and every problem has a line.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::Value;

use super::{RehearsalCase, RehearsalSuite};
use crate::plan_file;
use crate::yaml::{
    self, Diagnostic, FileProblems, OrderedMap, SourceFiles, WithPosition, deserialize_node, read,
};

/// The largest number of tasks in the plan of a rehearsal.
pub(super) const MAX_TASKS: usize = 100;

/// The scripted answers for one step.
#[derive(Clone, Debug)]
pub(super) struct ScriptedAnswer {
    /// The position of the key.
    pub place: yaml::SourcePosition,
    /// The key as it was written.
    pub written: String,
    /// The id of the step.
    pub step: String,
    /// Whether it answers a question that codeteam itself asks at the step (`step?`).
    pub asked: bool,
    /// The only frame it applies to (`step@frame`).
    pub frame: Option<String>,
    /// The script of each visit.
    pub turns: Vec<Value>,
}

/// The expected course of a case.
#[derive(Clone, Debug)]
pub(super) struct ExpectedRun {
    /// The expected steps of all frames.
    pub path: Option<Vec<ExpectedStep>>,
    /// The expected steps of single frames.
    pub paths: Vec<(String, Vec<ExpectedStep>)>,
    /// The expected end.
    pub ends: ExpectedEnd,
    /// The step at which the run is expected to wait for a person.
    pub asks: Option<ExpectedStep>,
}

/// A step of an expected path.
#[derive(Clone, Debug)]
pub(super) struct ExpectedStep {
    pub at: yaml::SourcePosition,
    pub step: String,
    pub frame: Option<String>,
}

#[derive(serde::Deserialize, Clone, Copy, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub(super) enum ExpectedEnd {
    #[default]
    Completed,
    Failed,
    Aborted,
    Waiting,
}

impl ExpectedEnd {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Aborted => "aborted",
            Self::Waiting => "waiting",
        }
    }
}

pub(super) fn parse(file: &str, text: &str) -> Result<RehearsalSuite, FileProblems> {
    let mut sources = SourceFiles::default();
    let node = read(&mut sources, file, text).map_err(|fault| sources.to_problems([fault]))?;
    let raw: RehearsalFile =
        deserialize_node(&node).map_err(|faults| sources.to_problems(faults))?;
    let mut faults = Vec::new();
    if raw.cases.value.is_empty() {
        let fault = Diagnostic::at(raw.cases.place, "there is no case in it");
        faults.push(fault.with_hint("each has a `name`, `answers` and a `path`"));
    }
    let mut names = BTreeSet::new();
    let sources = Arc::new(sources);
    let mut cases = Vec::new();
    for raw in raw.cases.value {
        if !names.insert(raw.name.value.clone()) {
            let message = format!("two cases are called `{}`", raw.name.value);
            faults.push(Diagnostic::at(raw.name.place, message));
        }
        cases.push(case(raw, &sources, &mut faults));
    }
    if !faults.is_empty() {
        return Err(sources.to_problems(faults));
    }
    Ok(RehearsalSuite {
        file: file.to_owned(),
        workflow: raw.workflow,
        cases,
    })
}

fn case(raw: FileCase, sources: &Arc<SourceFiles>, faults: &mut Vec<Diagnostic>) -> RehearsalCase {
    let plan = raw.plan.and_then(|plan| {
        // JSON is valid YAML, so the plan goes through the one reader for plans.
        let read = plan_file::from_yaml("plan", &plan.value.to_string(), MAX_TASKS);
        let wrong = read.as_ref().err();
        for problem in wrong.iter().flat_map(|p| &p.problems) {
            let message = format!("in the plan: {}", problem.message);
            faults
                .push(Diagnostic::at(plan.place, message).with_optional_hint(problem.hint.clone()));
        }
        read.ok()
    });
    let ends = raw.ends.unwrap_or(match raw.asks {
        Some(_) => ExpectedEnd::Waiting,
        None => ExpectedEnd::Completed,
    });
    if let (Some(asks), true) = (&raw.asks, ends != ExpectedEnd::Waiting) {
        let message = format!("nobody is asked in the end if it ends `{}`", ends.as_str());
        faults.push(Diagnostic::at(asks.place, message).with_hint("`ends: waiting`"));
    }
    RehearsalCase {
        name: raw.name.value,
        line: raw.name.place.line,
        settings: raw.settings,
        goal: raw.goal,
        plan,
        answers: raw
            .answers
            .0
            .into_iter()
            .filter_map(|(key, value)| scripted(&key, value, faults))
            .collect(),
        expected: ExpectedRun {
            path: raw.path.map(places),
            paths: raw
                .paths
                .0
                .into_iter()
                .map(|(frame, steps)| (frame.value, places(steps)))
                .collect(),
            ends,
            asks: raw.asks.map(place),
        },
        sources: Arc::clone(sources),
    }
}

fn scripted(
    key: &WithPosition<String>,
    value: Value,
    faults: &mut Vec<Diagnostic>,
) -> Option<ScriptedAnswer> {
    let turns = match value {
        Value::Array(turns) => turns,
        turn => vec![turn],
    };
    if turns.is_empty() {
        let message = format!("`{}` has no answer in its list", key.value);
        faults.push(Diagnostic::at(key.place, message));
        return None;
    }
    let place = place(key.clone());
    let (step, asked) = match place.step.strip_suffix('?') {
        Some(step) => (step.to_owned(), true),
        None => (place.step.clone(), false),
    };
    Some(ScriptedAnswer {
        place: key.place,
        written: key.value.clone(),
        step,
        asked,
        frame: place.frame,
        turns,
    })
}

fn places(steps: Vec<WithPosition<String>>) -> Vec<ExpectedStep> {
    steps.into_iter().map(place).collect()
}

/// Parses `step` or `step@frame`.
fn place(text: WithPosition<String>) -> ExpectedStep {
    let (step, frame) = match text.value.split_once('@') {
        Some((step, frame)) => (step.to_owned(), Some(frame.to_owned())),
        None => (text.value, None),
    };
    ExpectedStep {
        at: text.place,
        step,
        frame,
    }
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct RehearsalFile {
    workflow: String,
    cases: WithPosition<Vec<FileCase>>,
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct FileCase {
    name: WithPosition<String>,
    #[serde(default = "goal")]
    goal: String,
    plan: Option<WithPosition<Value>>,
    #[serde(default)]
    settings: BTreeMap<String, Value>,
    #[serde(default)]
    answers: OrderedMap<Value>,
    path: Option<Vec<WithPosition<String>>>,
    #[serde(default)]
    paths: OrderedMap<Vec<WithPosition<String>>>,
    ends: Option<ExpectedEnd>,
    asks: Option<WithPosition<String>>,
}

fn goal() -> String {
    "Reach the goal".to_owned()
}
