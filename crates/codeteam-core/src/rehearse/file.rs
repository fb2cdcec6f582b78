//! The file of a rehearsal: strict keys, and every problem with its line.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::Value;

use super::{Case, File};
use crate::plan;
use crate::yaml::{self, Entries, Fault, Placed, Problems, Sources, read, typed};

/// As many tasks as a plan of a rehearsal may have.
pub(super) const MAX_TASKS: usize = 100;

/// What the file scripts for one step.
#[derive(Clone, Debug)]
pub(super) struct Scripted {
    /// Where its key stands.
    pub place: yaml::Place,
    /// The key as it was written.
    pub written: String,
    /// The step.
    pub step: String,
    /// Whether it answers what codeteam itself asks at the step (`step?`).
    pub asked: bool,
    /// The only frame it is for (`step@frame`).
    pub frame: Option<String>,
    /// What happens each time.
    pub turns: Vec<Value>,
}

/// How a case must go.
#[derive(Clone, Debug)]
pub(super) struct Expected {
    /// The steps of all frames.
    pub path: Option<Vec<Place>>,
    /// The steps of one frame each.
    pub paths: Vec<(String, Vec<Place>)>,
    /// How it ends.
    pub ends: Ends,
    /// Where it waits for a person.
    pub asks: Option<Place>,
}

/// A step of an expected path.
#[derive(Clone, Debug)]
pub(super) struct Place {
    pub at: yaml::Place,
    pub step: String,
    pub frame: Option<String>,
}

#[derive(serde::Deserialize, Clone, Copy, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub(super) enum Ends {
    #[default]
    Completed,
    Failed,
    Aborted,
    Waiting,
}

impl Ends {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Aborted => "aborted",
            Self::Waiting => "waiting",
        }
    }
}

pub(super) fn parse(file: &str, text: &str) -> Result<File, Problems> {
    let mut sources = Sources::default();
    let node = read(&mut sources, file, text).map_err(|fault| sources.problems([fault]))?;
    let raw: RawFile = typed(&node).map_err(|faults| sources.problems(faults))?;
    let mut faults = Vec::new();
    if raw.cases.value.is_empty() {
        let fault = Fault::at(raw.cases.place, "there is no case in it");
        faults.push(fault.hint("each has a `name`, `answers` and a `path`"));
    }
    let mut names = BTreeSet::new();
    let sources = Arc::new(sources);
    let mut cases = Vec::new();
    for raw in raw.cases.value {
        if !names.insert(raw.name.value.clone()) {
            let message = format!("two cases are called `{}`", raw.name.value);
            faults.push(Fault::at(raw.name.place, message));
        }
        cases.push(case(raw, &sources, &mut faults));
    }
    if !faults.is_empty() {
        return Err(sources.problems(faults));
    }
    Ok(File {
        file: file.to_owned(),
        workflow: raw.workflow,
        cases,
    })
}

fn case(raw: RawCase, sources: &Arc<Sources>, faults: &mut Vec<Fault>) -> Case {
    let plan = raw.plan.and_then(|plan| {
        // JSON is YAML, and a plan is read in one place only.
        let read = plan::from_yaml("plan", &plan.value.to_string(), MAX_TASKS);
        let wrong = read.as_ref().err();
        for problem in wrong.iter().flat_map(|p| &p.problems) {
            let message = format!("in the plan: {}", problem.message);
            faults.push(Fault::at(plan.place, message).maybe(problem.hint.clone()));
        }
        read.ok()
    });
    let ends = raw.ends.unwrap_or(match raw.asks {
        Some(_) => Ends::Waiting,
        None => Ends::Completed,
    });
    if let (Some(asks), true) = (&raw.asks, ends != Ends::Waiting) {
        let message = format!("nobody is asked in the end if it ends `{}`", ends.as_str());
        faults.push(Fault::at(asks.place, message).hint("`ends: waiting`"));
    }
    Case {
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
        expected: Expected {
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

fn scripted(key: &Placed<String>, value: Value, faults: &mut Vec<Fault>) -> Option<Scripted> {
    let turns = match value {
        Value::Array(turns) => turns,
        turn => vec![turn],
    };
    if turns.is_empty() {
        let message = format!("`{}` has no answer in its list", key.value);
        faults.push(Fault::at(key.place, message));
        return None;
    }
    let place = place(key.clone());
    let (step, asked) = match place.step.strip_suffix('?') {
        Some(step) => (step.to_owned(), true),
        None => (place.step.clone(), false),
    };
    Some(Scripted {
        place: key.place,
        written: key.value.clone(),
        step,
        asked,
        frame: place.frame,
        turns,
    })
}

fn places(steps: Vec<Placed<String>>) -> Vec<Place> {
    steps.into_iter().map(place).collect()
}

/// `step`, or `step@frame`.
fn place(text: Placed<String>) -> Place {
    let (step, frame) = match text.value.split_once('@') {
        Some((step, frame)) => (step.to_owned(), Some(frame.to_owned())),
        None => (text.value, None),
    };
    Place {
        at: text.place,
        step,
        frame,
    }
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct RawFile {
    workflow: String,
    cases: Placed<Vec<RawCase>>,
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct RawCase {
    name: Placed<String>,
    #[serde(default = "goal")]
    goal: String,
    plan: Option<Placed<Value>>,
    #[serde(default)]
    settings: BTreeMap<String, Value>,
    #[serde(default)]
    answers: Entries<Value>,
    path: Option<Vec<Placed<String>>>,
    #[serde(default)]
    paths: Entries<Vec<Placed<String>>>,
    ends: Option<Ends>,
    asks: Option<Placed<String>>,
}

fn goal() -> String {
    "Reach the goal".to_owned()
}
