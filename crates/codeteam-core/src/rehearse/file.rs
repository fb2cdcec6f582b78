//! The file of a rehearsal: strict keys, and every problem with its line.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::marker::PhantomData;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::Value;
use serde_saphyr::{Location, Spanned};

use super::{Case, File};
use crate::plan;
use crate::yaml::{Problem, Problems};

/// As many tasks as a plan of a rehearsal may have.
pub(super) const MAX_TASKS: usize = 100;

/// What the file scripts for one step.
#[derive(Clone, Debug)]
pub(super) struct Scripted {
    /// Where its key stands.
    pub place: Location,
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
    pub at: Location,
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
    let raw: RawFile = crate::yaml::parse(file, text)?;
    let mut problems = Vec::new();
    if raw.cases.value.is_empty() {
        let problem = Problem::at(raw.cases.referenced, "there is no case in it");
        problems.push(problem.hint("each has a `name`, `answers` and a `path`"));
    }
    let mut names = BTreeSet::new();
    let cases = raw.cases.value.into_iter();
    let cases = cases
        .map(|raw| {
            if !names.insert(raw.name.value.clone()) {
                let message = format!("two cases are called `{}`", raw.name.value);
                problems.push(Problem::at(raw.name.referenced, message));
            }
            case(raw, &mut problems)
        })
        .collect();
    if problems.is_empty() {
        return Ok(File {
            file: file.to_owned(),
            workflow: raw.workflow,
            cases,
        });
    }
    problems.sort_by_key(|p| (p.line, p.column));
    Err(Problems {
        file: file.to_owned(),
        problems,
    })
}

fn case(raw: RawCase, problems: &mut Vec<Problem>) -> Case {
    let plan = raw.plan.and_then(|plan| {
        // JSON is YAML, and a plan is read in one place only.
        let read = plan::from_yaml("plan", &plan.value.to_string(), MAX_TASKS);
        let wrong = read.as_ref().err();
        for problem in wrong.iter().flat_map(|p| &p.problems) {
            let message = format!("in the plan: {}", problem.message);
            problems.push(Problem::at(plan.referenced, message));
        }
        read.ok()
    });
    let ends = raw.ends.unwrap_or(match raw.asks {
        Some(_) => Ends::Waiting,
        None => Ends::Completed,
    });
    if let (Some(asks), true) = (&raw.asks, ends != Ends::Waiting) {
        let message = format!("nobody is asked in the end if it ends `{}`", ends.as_str());
        problems.push(Problem::at(asks.referenced, message).hint("`ends: waiting`"));
    }
    Case {
        name: raw.name.value,
        line: raw.name.referenced.line(),
        settings: raw.settings,
        goal: raw.goal,
        plan,
        answers: raw
            .answers
            .0
            .into_iter()
            .filter_map(|(key, value)| scripted(&key, value, problems))
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
    }
}

fn scripted(key: &Spanned<String>, value: Value, problems: &mut Vec<Problem>) -> Option<Scripted> {
    let turns = match value {
        Value::Array(turns) => turns,
        turn => vec![turn],
    };
    if turns.is_empty() {
        let message = format!("`{}` has no answer in its list", key.value);
        problems.push(Problem::at(key.referenced, message));
        return None;
    }
    let place = place(key.clone());
    let (step, asked) = match place.step.strip_suffix('?') {
        Some(step) => (step.to_owned(), true),
        None => (place.step.clone(), false),
    };
    Some(Scripted {
        place: key.referenced,
        written: key.value.clone(),
        step,
        asked,
        frame: place.frame,
        turns,
    })
}

fn places(steps: Vec<Spanned<String>>) -> Vec<Place> {
    steps.into_iter().map(place).collect()
}

/// `step`, or `step@frame`.
fn place(text: Spanned<String>) -> Place {
    let (step, frame) = match text.value.split_once('@') {
        Some((step, frame)) => (step.to_owned(), Some(frame.to_owned())),
        None => (text.value, None),
    };
    Place {
        at: text.referenced,
        step,
        frame,
    }
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct RawFile {
    workflow: String,
    cases: Spanned<Vec<RawCase>>,
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct RawCase {
    name: Spanned<String>,
    #[serde(default = "goal")]
    goal: String,
    plan: Option<Spanned<Value>>,
    #[serde(default)]
    settings: BTreeMap<String, Value>,
    #[serde(default)]
    answers: Entries<Value>,
    path: Option<Vec<Spanned<String>>>,
    #[serde(default)]
    paths: Entries<Vec<Spanned<String>>>,
    ends: Option<Ends>,
    asks: Option<Spanned<String>>,
}

fn goal() -> String {
    "Reach the goal".to_owned()
}

/// A YAML mapping whose order and places matter.
struct Entries<T>(Vec<(Spanned<String>, T)>);

impl<T> Default for Entries<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Entries<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct EntriesVisitor<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for EntriesVisitor<T> {
            type Value = Entries<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a mapping")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Entries<T>, A::Error> {
                let mut entries = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    entries.push(entry);
                }
                Ok(Entries(entries))
            }
        }
        deserializer.deserialize_map(EntriesVisitor(PhantomData))
    }
}
