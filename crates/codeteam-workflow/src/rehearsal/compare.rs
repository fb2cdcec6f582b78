//! Compares a rehearsal with its expectation and finds the first point where it deviates.

use std::fmt;

use codeteam_core::ids::StepId;
use codeteam_core::spelling::suggest_word;
use codeteam_core::workflow::{StepKind, Workflow};
use serde::Serialize;

use super::file::{ExpectedEnd, ExpectedRun, ExpectedStep};
use super::{RehearsalEnd, StepVisit};
use crate::yaml::Diagnostic;

/// Longer paths are not compared step by step.
const MAX_COMPARED: usize = 400;
/// The number of matching steps that a diff shows before the first deviation and after the last.
const CONTEXT: usize = 2;

/// A deviation from the expectation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "differs", rename_all = "snake_case")]
pub enum RehearsalDifference {
    /// The run took another path.
    Path {
        /// The frame whose path was compared; `None` for the path of all frames.
        frame: Option<String>,
        /// The number of steps that matched.
        same: usize,
        /// The steps that were expected.
        expected: Vec<String>,
        /// The steps that were entered.
        found: Vec<String>,
        /// The last matching step.
        before: Option<StepVisit>,
    },
    /// The run ended differently.
    Ending {
        /// The expected end.
        expected: String,
        /// The actual end.
        found: String,
    },
    /// The run waits for a person at another step.
    Asked {
        /// The step where a question was expected.
        expected: String,
        /// The step where the question is.
        found: String,
        /// The question.
        question: String,
    },
}

/// Returns a diagnostic for every expected step that the workflow does not have.
pub(super) fn check(expected: &ExpectedRun, workflow: &Workflow) -> Vec<Diagnostic> {
    let all = expected.path.iter().flatten();
    let framed = expected.paths.iter().flat_map(|(_, places)| places);
    let places = all.chain(framed).chain(&expected.asks);
    let known = |place: &&ExpectedStep| workflow.steps.contains_key(&StepId(place.step.clone()));
    let unknown = places.filter(|place| !known(place)).map(|place| {
        let message = format!("the workflow has no step `{}`", place.step);
        let fault = Diagnostic::at(place.at, message);
        let known = workflow.steps.keys().map(StepId::as_str);
        fault.with_optional_hint(suggest_word(&place.step, known))
    });
    unknown.collect()
}

/// Returns all deviations from the expectation.
pub(super) fn differences(
    expected: &ExpectedRun,
    workflow: &Workflow,
    path: &[StepVisit],
    ended: &RehearsalEnd,
) -> Vec<RehearsalDifference> {
    let mut found = Vec::new();
    let whole = expected.path.iter().map(|places| (None, places));
    let framed = expected.paths.iter();
    let framed = framed.map(|(frame, places)| (Some(frame.as_str()), places));
    for (frame, places) in whole.chain(framed) {
        let taken = steps_to_compare(path, workflow, frame, places);
        found.extend(compared(frame, places, &taken));
    }
    found.extend(ending(expected, ended));
    found
}

/// Returns the steps to compare. `each` steps count only if the expectation names one of them,
/// because the steps inside them tell as much.
fn steps_to_compare<'a>(
    path: &'a [StepVisit],
    workflow: &Workflow,
    frame: Option<&str>,
    places: &[ExpectedStep],
) -> Vec<&'a StepVisit> {
    let is_each = |step: &str| {
        let step = workflow.steps.get(&StepId(step.to_owned()));
        step.is_some_and(|s| matches!(s.kind, StepKind::Each { .. }))
    };
    let named = places.iter().any(|place| is_each(&place.step));
    path.iter()
        .filter(|visit| frame.is_none_or(|frame| visit.frame == frame))
        .filter(|visit| named || !is_each(&visit.step))
        .collect()
}

fn compared(
    frame: Option<&str>,
    places: &[ExpectedStep],
    taken: &[&StepVisit],
) -> Option<RehearsalDifference> {
    let fits = |(place, visit): &(&ExpectedStep, &&StepVisit)| {
        let frame = place.frame.as_deref();
        place.step == visit.step && frame.is_none_or(|frame| frame == visit.frame)
    };
    let same = places.iter().zip(taken).take_while(fits).count();
    if same == places.len() && same == taken.len() {
        return None;
    }
    // Both sides are written in the same style, so that only real differences show.
    let framed = frame.is_none() && places.iter().any(|place| place.frame.is_some());
    let written = |place: &ExpectedStep| match &place.frame {
        Some(frame) if framed => format!("{}@{frame}", place.step),
        _ => place.step.clone(),
    };
    let entered = |visit: &&StepVisit| {
        if framed {
            visit.name()
        } else {
            visit.step.clone()
        }
    };
    let mut expected: Vec<String> = places.iter().map(written).collect();
    let found: Vec<String> = taken.iter().map(entered).collect();
    expected[..same].clone_from_slice(&found[..same]);
    Some(RehearsalDifference::Path {
        frame: frame.map(str::to_owned),
        same,
        expected,
        found,
        before: same.checked_sub(1).map(|last| taken[last].clone()),
    })
}

fn ending(expected: &ExpectedRun, ended: &RehearsalEnd) -> Option<RehearsalDifference> {
    let as_expected = matches!(
        (expected.ends, ended),
        (ExpectedEnd::Completed, RehearsalEnd::Completed)
            | (ExpectedEnd::Failed, RehearsalEnd::Failed { .. })
            | (ExpectedEnd::Aborted, RehearsalEnd::Aborted { .. })
            | (ExpectedEnd::Waiting, RehearsalEnd::Waiting { .. })
    );
    if !as_expected {
        return Some(RehearsalDifference::Ending {
            expected: expected.ends.as_str().to_owned(),
            found: ended.to_string(),
        });
    }
    let (Some(asks), RehearsalEnd::Waiting { at, question, .. }) = (&expected.asks, ended) else {
        return None;
    };
    let frame = asks.frame.as_deref();
    if asks.step == at.step && frame.is_none_or(|frame| frame == at.frame) {
        return None;
    }
    Some(RehearsalDifference::Asked {
        expected: match frame {
            Some(frame) => format!("{}@{frame}", asks.step),
            None => asks.step.clone(),
        },
        found: at.name(),
        question: question.clone(),
    })
}

impl fmt::Display for RehearsalEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Completed => f.write_str("completed"),
            Self::Failed { why } => write!(f, "failed: {why}"),
            Self::Aborted { why } => write!(f, "aborted: {why}"),
            Self::Waiting {
                at,
                question,
                answers,
            } => {
                write!(f, "waiting at `{}`: {question}", at.name())?;
                if !answers.is_empty() {
                    write!(f, " ({})", answers.join(" | "))?;
                }
                Ok(())
            }
            Self::Refused { why } => f.write_str(why),
            Self::Endless => write!(
                f,
                "no end after {} inputs: the workflow may go on for ever",
                super::MAX_INPUTS
            ),
            Self::NotPlayed => f.write_str("not played"),
        }
    }
}

impl fmt::Display for RehearsalDifference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Path {
                frame,
                same,
                expected,
                found,
                before,
            } => {
                let of = frame.as_ref().map(|f| format!(" of `{f}`"));
                write!(f, "the path{} diverges ", of.unwrap_or_default())?;
                match before {
                    Some(visit) => write!(f, "after `{}` (step {same})", found[same - 1])
                        .and_then(|()| write_visit(f, visit))?,
                    None => f.write_str("at the first step")?,
                }
                for (mark, step) in changed(*same, expected, found) {
                    write!(f, "\n  {mark} {step}")?;
                }
                Ok(())
            }
            Self::Ending { expected, found } => {
                write!(f, "it should have ended `{expected}`\n  but is {found}")
            }
            Self::Asked {
                expected,
                found,
                question,
            } => write!(
                f,
                "`{expected}` should have asked\n  but `{found}` does: {question}"
            ),
        }
    }
}

fn write_visit(f: &mut fmt::Formatter<'_>, visit: &StepVisit) -> fmt::Result {
    if visit.said.is_empty() {
        return Ok(());
    }
    write!(f, ", where the answer was: {}", visit.said.join("; "))
}

/// Returns the lines of a small diff: `-` was expected, `+` was entered.
fn changed(same: usize, expected: &[String], found: &[String]) -> Vec<(char, String)> {
    let start = same.saturating_sub(CONTEXT);
    let mut lines: Vec<(char, String)> = Vec::new();
    if start > 0 {
        lines.push((' ', "…".to_owned()));
    }
    lines.extend(found[start..same].iter().map(|step| (' ', step.clone())));
    let (old, new) = (&expected[same..], &found[same..]);
    let rest = if old.len() <= MAX_COMPARED && new.len() <= MAX_COMPARED {
        longest_common(old, new)
    } else {
        let removed = old.iter().map(|step| ('-', step.clone()));
        removed
            .chain(new.iter().map(|step| ('+', step.clone())))
            .collect()
    };
    // Matching steps at the end are not worth showing.
    let last = rest.iter().rposition(|(mark, _)| *mark != ' ');
    let end = last.map_or(0, |last| (last + 1 + CONTEXT).min(rest.len()));
    let more = end < rest.len();
    lines.extend(rest.into_iter().take(end));
    if more {
        lines.push((' ', "…".to_owned()));
    }
    lines
}

fn longest_common(old: &[String], new: &[String]) -> Vec<(char, String)> {
    let width = new.len() + 1;
    let mut length = vec![0_usize; (old.len() + 1) * width];
    for i in (0..old.len()).rev() {
        for j in (0..new.len()).rev() {
            length[i * width + j] = if old[i] == new[j] {
                length[(i + 1) * width + j + 1] + 1
            } else {
                length[(i + 1) * width + j].max(length[i * width + j + 1])
            };
        }
    }
    let (mut i, mut j, mut lines) = (0, 0, Vec::new());
    while i < old.len() || j < new.len() {
        if i < old.len() && j < new.len() && old[i] == new[j] {
            lines.push((' ', new[j].clone()));
            (i, j) = (i + 1, j + 1);
        } else if j == new.len()
            || (i < old.len() && length[(i + 1) * width + j] >= length[i * width + j + 1])
        {
            lines.push(('-', old[i].clone()));
            i += 1;
        } else {
            lines.push(('+', new[j].clone()));
            j += 1;
        }
    }
    lines
}
