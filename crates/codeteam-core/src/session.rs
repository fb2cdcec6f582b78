//! A run in the hands of a session: whose turn it is there, what it may say, and what its failures
//! have in common. All of it is read off the run; nothing here changes one.

use std::collections::{BTreeMap, BTreeSet};

use crate::assignment::{self, passed};
use crate::effect::Effect;
use crate::findings::Severity;
use crate::frame::{Frame, Question, QuestionKind, SlotState, SlotWork};
use crate::hands::{Operator, is_session};
use crate::ids::{AttemptId, RoleName, StepId};
use crate::role::Role;
use crate::run::Run;
use crate::submission::{self, Submission, SubmissionConstraints, VerdictChoice};
use crate::workflow::{ExitTarget, StepKind};

/// What a session is to do next.
#[derive(Clone, Debug, PartialEq)]
pub enum SessionTurn {
    /// Carry this attempt out.
    Work(AttemptId),
    /// Wait for what a person says.
    Ask(Box<Question>),
    /// Wait for codeteam's own work: checks, commits.
    Wait(Vec<Effect>),
    /// Nothing: the run is in the hands of workers.
    Elsewhere,
    /// Nothing: the run has ended.
    Over,
}

/// Whose turn it is. A session has one assignment at a time, though several slots may be open: what
/// codeteam does itself comes first, then assignments in their order, then people.
pub fn turn(run: &Run) -> SessionTurn {
    if run.is_terminal() {
        return SessionTurn::Over;
    }
    if run.hands != Operator::Session {
        return SessionTurn::Elsewhere;
    }
    let due = crate::due(run);
    let (mut work, mut ask, mut own) = (None, None, Vec::new());
    for effect in due {
        match effect {
            Effect::StartWorker { id, worker, .. } if is_session(&worker) => {
                work.get_or_insert(id);
            }
            Effect::Ask(question) => {
                ask.get_or_insert(question);
            }
            other => own.push(other),
        }
    }
    match (work, ask) {
        _ if !own.is_empty() => SessionTurn::Wait(own),
        (Some(id), _) => SessionTurn::Work(id),
        (None, Some(question)) => SessionTurn::Ask(question),
        (None, None) => SessionTurn::Wait(own),
    }
}

/// What is wrong with an answer to an assignment, before anything else is done with it; or the
/// answer.
pub fn examine(run: &Run, id: &AttemptId, text: &str) -> Result<Submission, String> {
    let frame = run.frames.get(&id.frame).ok_or(OVER)?;
    let slot = frame.slot(id).filter(|s| s.state == SlotState::Running);
    let Some(SlotWork::Role(name)) = slot.map(|slot| &slot.work) else {
        return Err(OVER.to_owned());
    };
    let role = run.roles.get(name).ok_or(OVER)?;
    let form = assignment::form(run, frame, role);
    let submission = submission::parse_about(form, text, &about(run, frame, role))?;
    match two_minds(&submission).or_else(|| unproved(run, frame, &submission)) {
        Some(why) => Err(why),
        None => Ok(submission),
    }
}

/// Why an approval cannot be meant: it names what must be mended first. It would count as a rejection,
/// and whoever gave it would wonder why.
fn two_minds(submission: &Submission) -> Option<String> {
    let Submission::Verdict(verdict) = submission else {
        return None;
    };
    let mut found = verdict.findings.iter();
    let stops = found.any(|finding| finding.severity >= Severity::Major);
    (stops && verdict.verdict == VerdictChoice::Approve).then(|| {
        "it approves, and names issues that must be mended first. To approve, name none, and put \
         remarks into the reason; or else reject it"
            .to_owned()
    })
}

const OVER: &str = "this assignment is over";

/// What an answer is about.
pub(crate) fn about<'a>(
    run: &'a Run,
    frame: &'a Frame,
    role: &'a Role,
) -> SubmissionConstraints<'a> {
    let task = run.task_of(frame);
    let plan = run.plan.as_ref().map(|plan| plan.plan_id.as_str());
    SubmissionConstraints {
        task: task.map(|t| &t.id),
        plan: plan
            .filter(|id| !id.is_empty())
            .or(Some(run.plan_id.as_str())),
        files: task.map(|t| t.files.as_slice()),
        passed: passed(&frame.outputs.checks),
        root: role.means.root.as_deref(),
        max_chars: role.means.max_chars,
    }
}

/// Why an approval cannot be taken: the orchestrator's own checks are against what it approves, and
/// no person has said that it will do.
pub(crate) fn unproved(run: &Run, frame: &Frame, submission: &Submission) -> Option<String> {
    let Submission::Verdict(verdict) = submission else {
        return None;
    };
    if run.hands != Operator::Session || verdict.verdict != VerdictChoice::Approve {
        return None;
    }
    let patch = frame.change.as_ref()?.patch.clone();
    if frame.accepted.as_ref() == Some(&patch) {
        return None;
    }
    let failing = frame
        .verdicts
        .iter()
        .filter(|(_, v)| v.by_checks && !v.approved && v.tree == frame.tree);
    let gates: Vec<&StepId> = failing.map(|(step, _)| step).collect();
    if gates.is_empty() {
        return None;
    }
    let results = gates.iter().filter_map(|step| frame.record.gates.get(step));
    let failed = results.flat_map(|gate| &gate.results).filter(|r| !r.passed);
    let names: Vec<String> = failed.map(|r| format!("`{}`", r.name)).collect();
    Some(format!(
        "it cannot be approved: {} failed on exactly this change. Reject it, or let a person accept it \
         outside this session",
        names.join(", ")
    ))
}

/// What a session's words mean as an answer to a question, if it may answer it at all. Where a
/// person is to judge the change, or to take less than was asked for, the session's word does not
/// count.
pub fn reply(question: &Question, said: &str) -> Result<String, String> {
    let said = said.trim();
    let allowed: Vec<&str> = match question.kind {
        QuestionKind::Analyst if said.is_empty() => {
            return Err("an answer must not be empty".to_owned());
        }
        QuestionKind::Analyst => return Ok(said.to_owned()),
        QuestionKind::Rebound => question.answers.iter().map(String::as_str).collect(),
        QuestionKind::Exhausted => vec!["continue", "fail"],
        QuestionKind::Step
        | QuestionKind::Degraded
        | QuestionKind::Interrupted
        | QuestionKind::Message => {
            return Err("only a person can decide this, and not in this session".to_owned());
        }
    };
    let word: String = said
        .chars()
        .take_while(|c| c.is_alphanumeric() || matches!(c, '_' | '-'))
        .collect::<String>()
        .to_lowercase();
    let exact = allowed.iter().find(|a| a.to_lowercase() == word);
    let short = || {
        let mut fits = allowed
            .iter()
            .filter(|a| !word.is_empty() && a.to_lowercase().starts_with(&word));
        fits.next().filter(|_| fits.next().is_none())
    };
    if let Some(answer) = exact.or_else(short) {
        return Ok((*answer).to_owned());
    }
    let known: Vec<String> = allowed.iter().map(|a| format!("`{a}`")).collect();
    Err(format!("the answer must begin with {}", known.join(" or ")))
}

/// How many rejections in a row there were: up to now, or when another way was offered.
pub fn failures(frame: &Frame) -> u32 {
    match frame.since_rebound {
        0 => frame.rebounded,
        count => count,
    }
}

/// The files that the words of a session's task say are to change: the task itself, its requirements, its
/// design. Such a task has no list of files as one of a plan has. They are patterns, and only files are
/// named by them: a sentence that names a folder opens nothing.
pub fn files_to_change(run: &Run, frame: &Frame) -> Vec<String> {
    if run.began_in != Operator::Session || run.task_of(frame).is_some() {
        return Vec::new();
    }
    let design = frame.outputs.whole_design();
    let design = design.map(|design| [vec![design.design], design.patterns].concat().join("\n"));
    let texts = [
        run.goal.clone(),
        frame.outputs.known_requirements(),
        design.unwrap_or_default(),
    ];
    let mut found: Vec<String> = Vec::new();
    for name in texts.iter().flat_map(|text| named_to_change(text)) {
        let anywhere = (!name.contains('/')).then(|| format!("**/{name}"));
        for pattern in [Some(name), anywhere].into_iter().flatten() {
            if !found.contains(&pattern) {
                found.push(pattern);
            }
        }
    }
    found
}

/// The files that a text says are to change: named in a sentence that says so. One that only has to pass,
/// or must stay as it is, is not among them.
fn named_to_change(text: &str) -> Vec<String> {
    const CHANGES: &[&str] = &[
        "update", "change", "adapt", "adjust", "rewrite", "edit", "rename", "remove", "delete",
        "extend", "replace", "modify", "correct",
    ];
    const KEEPS: &[&str] = &[
        "not",
        "never",
        "unchanged",
        "without",
        "keep",
        "keeps",
        "stay",
        "stays",
    ];
    let mut found = Vec::new();
    let text = text.replace(". ", "\n");
    for sentence in text.split(['\n', ';', '!', '?']) {
        let words: Vec<String> = sentence
            .split(|c: char| !c.is_alphabetic() && c != '\'')
            .map(str::to_lowercase)
            .collect();
        let changes = words
            .iter()
            .any(|word| CHANGES.iter().any(|verb| word.starts_with(verb)));
        let keeps = words
            .iter()
            .any(|word| KEEPS.contains(&word.as_str()) || word.ends_with("n't"));
        if !changes || keeps {
            continue;
        }
        let parts = sentence.split(|c: char| c.is_whitespace() || "`'\"()[]{}<>,".contains(c));
        let names = parts.map(|part| part.trim_matches([':', '.', '*']));
        found.extend(names.filter(|name| is_file_name(name)).map(str::to_owned));
    }
    found
}

/// Whether a word is the name of a file: something with an ending, in folders or not.
fn is_file_name(word: &str) -> bool {
    let last = word.rsplit('/').next().unwrap_or_default();
    let Some((stem, end)) = last.rsplit_once('.') else {
        return false;
    };
    let is_end = (1..=5).contains(&end.len()) && end.chars().all(|c| c.is_ascii_alphanumeric());
    let is_number = stem.chars().all(|c| c.is_ascii_digit() || c == '.');
    !stem.is_empty() && is_end && !is_number && !word.contains("..") && !word.contains("://")
}

/// What the last rejections of a frame have in common, in a sentence; `None` if nothing stands out.
pub fn pattern(frame: &Frame) -> Option<String> {
    let rejections = &frame.record.rejections;
    let count = (failures(frame) as usize).clamp(2, rejections.len().max(2));
    if rejections.len() < 2 {
        return None;
    }
    let recent = &rejections[rejections.len().saturating_sub(count)..];
    let rounds = recent.len();
    let mut said: BTreeMap<&str, usize> = BTreeMap::new();
    for rejection in recent {
        let lines: BTreeSet<&str> = rejection.why.iter().map(String::as_str).collect();
        for line in lines {
            *said.entry(line).or_default() += 1;
        }
    }
    let same = said
        .iter()
        .filter(|(_, n)| **n > 1)
        .max_by_key(|(line, n)| (**n, std::cmp::Reverse(**line)));
    if let Some((line, n)) = same {
        return Some(format!("{n} of the last {rounds} rejections say: {line}"));
    }
    let by: BTreeSet<&StepId> = recent.iter().map(|r| &r.step).collect();
    let who = match by.first() {
        Some(step) if by.len() == 1 => format!("`{step}` rejected it {rounds} times"),
        _ => format!("it was rejected {rounds} times"),
    };
    let common = common_words(recent.iter().map(|r| r.why.join(" ")));
    match (by.len(), common.is_empty()) {
        (_, false) => Some(format!("{who}, each time about: {}", common.join(", "))),
        (1, true) => Some(format!("{who}, each time for another reason")),
        (_, true) => None,
    }
}

/// Words of some weight that are in all of these texts, a few of them.
fn common_words(texts: impl Iterator<Item = String>) -> Vec<String> {
    let words = |text: String| -> BTreeSet<String> {
        text.split(|c: char| !c.is_alphanumeric() && c != '_')
            .filter(|word| word.chars().count() > 3)
            .map(str::to_lowercase)
            .filter(|word| !COMMON.contains(&word.as_str()))
            .collect()
    };
    let common = texts.map(words).reduce(|a, b| &a & &b);
    common.unwrap_or_default().into_iter().take(5).collect()
}

/// Words that say nothing of what is wrong.
const COMMON: &[&str] = &[
    "again", "also", "because", "been", "cannot", "code", "does", "each", "from", "have", "into",
    "more", "must", "only", "should", "still", "that", "their", "there", "these", "they", "this",
    "what", "when", "which", "will", "with", "without", "would", "your", "check", "failed",
];

/// The roles that have judged a frame's change as it is, in the order of the workflow, each with
/// whether it approved.
pub fn judges(run: &Run, frame: &Frame) -> Vec<(String, bool)> {
    let patch = frame.change.as_ref().map(|change| &change.patch);
    let mut found: Vec<(String, bool)> = Vec::new();
    for step in in_order(run) {
        let verdict = frame.verdicts.get(&step);
        let current = verdict.filter(|v| !v.by_checks && v.patch.is_some());
        let Some(verdict) = current.filter(|v| v.patch.as_ref() == patch) else {
            continue;
        };
        let Some(StepKind::Role(role)) = run.step(&step).map(|s| &s.kind) else {
            continue;
        };
        let asked = frame.record.ballots.get(&step).into_iter().flatten();
        let mut asked: Vec<&RoleName> = asked.map(|ballot| &ballot.role).collect();
        if asked.is_empty() {
            asked.extend(role.roles_for(None));
        }
        for name in asked {
            if !found.iter().any(|(known, _)| *known == name.0) {
                found.push((name.0.clone(), verdict.approved));
            }
        }
    }
    found
}

/// The steps of a workflow as they follow each other when all is well, then all others.
fn in_order(run: &Run) -> Vec<StepId> {
    let mut order = Vec::new();
    let mut at = Some(run.workflow.start.clone());
    while let Some(step) = at {
        if order.contains(&step) {
            break;
        }
        at = match run.step(&step).map(|s| &s.next) {
            Some(ExitTarget::Step(next)) => Some(next.clone()),
            _ => None,
        };
        order.push(step);
    }
    let others = run.workflow.steps.keys().filter(|s| !order.contains(s));
    let others: Vec<StepId> = others.cloned().collect();
    order.extend(others);
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_files_that_are_said_to_change_are_named() {
        for (text, names) in [
            (
                "Join with an underscore; update tests/test_slug.py and `test_url.py`.",
                &["tests/test_slug.py", "test_url.py"][..],
            ),
            ("Make tests/test_slug.py pass", &[]),
            ("Do not change tests/test_slug.py", &[]),
            (
                "Change slug.py, tests/test_slug.py must not be touched",
                &[],
            ),
            ("tests/test_slug.py stays unchanged", &[]),
            ("Update all of tests/ to version 1.2", &[]),
            ("- tests/a.py: changed. tests/b.py fails", &["tests/a.py"]),
            ("Update it as https://example.org/x.py says", &[]),
        ] {
            assert_eq!(named_to_change(text), names, "{text}");
        }
    }
}
