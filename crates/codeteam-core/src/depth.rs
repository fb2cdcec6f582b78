//! How much work a task is worth, by facts alone: what its text names, how large its change is,
//! which files that touches and what the checks found. No model is asked, and what is found goes
//! into the events in words, so that a person can see why somebody was not asked.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::frame::Frame;
use crate::ids::StepId;
use crate::plan::Task;
use crate::run::Run;
use crate::workflow::{RoleStep, glob_matches};

/// What a change may be at most to count as small.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SmallChangeLimits {
    /// How many lines it may add and remove, all together; with 0 no change is small.
    pub max_lines: u32,
    /// How many files it may touch.
    pub max_files: u32,
    /// Files of these patterns are never part of a small change.
    pub risky_paths: Vec<String>,
}

/// A description with fewer characters does not tell a stranger what to do.
const ENOUGH_CHARACTERS: usize = 60;
/// A goal that names more files is not about one place.
const FEW_FILES: usize = 3;
/// A goal that is longer asks for more than one thing.
const SHORT_GOAL_CHARACTERS: usize = 600;

/// Whether a frame's change is small and carries little risk: the facts that make it so, or the
/// first that speaks against it.
pub(crate) fn assess_change(run: &Run, frame: &Frame) -> Result<String, String> {
    let limits = run.workflow.small_change.as_ref();
    let Some(limits) = limits.filter(|limits| limits.max_lines > 0) else {
        return Err("no change counts as small here".to_owned());
    };
    let Some(change) = &frame.change else {
        return Err("there is no change".to_owned());
    };
    let files = count(change.files.len(), "file");
    if change.files.len() > limits.max_files as usize {
        return Err(files);
    }
    let Some(changed) = change.lines else {
        return Err("its lines cannot be counted".to_owned());
    };
    let lines = count(changed as usize, "line");
    if changed > limits.max_lines {
        return Err(format!("{files}, {lines}"));
    }
    if let Some(file) = change.files.iter().find(|file| is_risky(limits, file)) {
        return Err(format!("`{file}` is a risky path"));
    }
    let mut gates = frame.verdicts.values().filter(|v| v.by_checks);
    let is_checked = gates.clone().any(|v| v.tree == frame.tree)
        && gates.all(|v| v.approved && v.tree == frame.tree);
    if !is_checked || frame.outputs.checks.is_empty() {
        return Err("no check has passed it".to_owned());
    }
    let mut checks = frame.outputs.checks.iter();
    if let Some(check) = checks.find(|check| !check.passed || check.remark.is_some()) {
        return Err(format!("the check `{}` has something to say", check.name));
    }
    Ok(format!("{files}, {lines}, no risky path, checks passed"))
}

fn is_risky(limits: &SmallChangeLimits, file: &str) -> bool {
    let lower = file.to_lowercase();
    let mut patterns = limits.risky_paths.iter();
    patterns.any(|pattern| glob_matches(pattern, file) || glob_matches(pattern, &lower))
}

/// The slots of a step that are to judge a frame's change, and the facts by which it is these. All of
/// them, without a reason, if the step does not tell changes apart.
pub(crate) fn choose_slots(
    run: &Run,
    frame: &Frame,
    id: &StepId,
    step: &RoleStep,
) -> (Vec<u32>, String) {
    let Some(usual) = step.small_from else {
        return (Vec::new(), String::new());
    };
    let all = u32::try_from(step.slots.len()).unwrap_or(u32::MAX);
    let mut earlier = frame.record.ballots.get(id).into_iter().flatten();
    let assessed = match assess_change(run, frame) {
        // Who was asked once answers for what they said.
        Ok(_) if earlier.any(|ballot| ballot.slot < usual) => {
            Err("they have judged it before".to_owned())
        }
        assessed => assessed,
    };
    let (mut slots, facts): (Vec<u32>, String) = match assessed {
        Ok(facts) => ((usual..all).collect(), facts),
        Err(why) => ((0..usual).collect(), why),
    };
    // A finding is closed by whoever opened it.
    for finding in frame.findings.open().filter(|f| f.step == *id) {
        if !slots.contains(&finding.slot) && finding.slot < all {
            slots.push(finding.slot);
        }
    }
    let says_why = run.workflow.small_change.is_some();
    (slots, if says_why { facts } else { String::new() })
}

/// Whether a task says enough for a stranger to start from: what it names, or what it lacks.
pub(crate) fn assess_task(task: Option<&Task>) -> Result<String, String> {
    let Some(task) = task else {
        return Err("there is no task".to_owned());
    };
    let said = task.title.trim().chars().count() + task.description.trim().chars().count();
    if task.files.is_empty() {
        return Err("it names no file".to_owned());
    }
    if task.acceptance.is_empty() {
        return Err("it does not say when it is done".to_owned());
    }
    if said < ENOUGH_CHARACTERS {
        return Err(format!("it says only {}", count(said, "character")));
    }
    let files = count(task.files.len(), "file");
    let criteria = match task.acceptance.len() {
        1 => "1 criterion".to_owned(),
        n => format!("{n} criteria"),
    };
    Ok(format!("the task names {files} and {criteria}"))
}

/// Whether the goal is about one place of the project: the files it names, or why it is not.
pub(crate) fn assess_goal(run: &Run) -> Result<String, String> {
    let files = run.goal_files.len();
    if files == 0 {
        return Err("the goal names no file of the project".to_owned());
    }
    if files > FEW_FILES {
        return Err(format!("the goal names {}", count(files, "file")));
    }
    let length = run.goal.trim().chars().count();
    if length > SHORT_GOAL_CHARACTERS {
        return Err(format!("the goal has {}", count(length, "character")));
    }
    let names: Vec<String> = run.goal_files.iter().map(|f| format!("`{f}`")).collect();
    Ok(format!("the goal names {}", names.join(", ")))
}

fn count(number: usize, noun: &str) -> String {
    match number {
        1 => format!("1 {noun}"),
        n => format!("{n} {noun}s"),
    }
}
