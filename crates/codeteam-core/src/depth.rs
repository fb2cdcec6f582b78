//! Decides how much effort a task deserves, by facts alone: what its text names, how large its
//! change is, which files that touches and what the checks found. No model is asked. The facts are
//! recorded in the events in words, so that a person can see why a role was left out.

use codeteam_patterns::FilePatterns;

use crate::frame::Frame;
use crate::ids::StepId;
use crate::plan::{Plan, Task};
use crate::run::Run;
use crate::wanted_changes::{changing_files, places_of_change};
use crate::workflow::RoleStep;

/// A description with fewer characters does not tell a stranger what to do.
const ENOUGH_CHARACTERS: usize = 60;
/// A goal that names more files is not about one place.
const FEW_FILES: usize = 3;
/// A longer goal asks for more than one thing.
const SHORT_GOAL_CHARACTERS: usize = 600;
/// The length of a title that a list of tasks and a commit's first line have room for.
const TITLE_CHARACTERS: usize = 72;

/// Assesses whether a frame's change is small and carries little risk. Returns the facts that make
/// it so, or the first one against it.
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
    let risky = FilePatterns::remembered(&limits.risky_paths);
    let is_risky = |file: &&String| risky.matches(file) || risky.matches(&file.to_lowercase());
    if let Some(file) = change.files.iter().find(is_risky) {
        return Err(format!("`{file}` is a risky path"));
    }
    let mut gates = frame.judged_steps().filter(|j| j.verdict.by_checks);
    let is_checked = frame
        .judged_steps()
        .any(|j| j.verdict.by_checks && j.is_current())
        && gates.all(|j| j.verdict.approved && j.is_current());
    if !is_checked || frame.outputs.checks.is_empty() {
        return Err("no check has passed it".to_owned());
    }
    let mut checks = frame.outputs.checks.iter();
    if let Some(check) = checks.find(|check| !check.passed || check.remark.is_some()) {
        return Err(format!("the check `{}` has something to say", check.name));
    }
    Ok(format!("{files}, {lines}, no risky path, checks passed"))
}

/// Returns the slots of a step that judge a frame's change, and the facts behind that choice. The
/// list is empty, which means all slots, and without a reason if the step does not distinguish
/// changes.
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
    let mut earlier = frame.judgements.ballots.get(id).into_iter().flatten();
    let assessed = match assess_change(run, frame) {
        // Reviewers who were asked once answer for what they said.
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

/// Assesses whether a task says enough for a stranger to start from. Returns what it names, or what
/// it lacks.
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

/// Assesses whether the goal is about one place of the project. Returns the files it names, or why
/// it is not.
pub(crate) fn assess_goal(run: &Run) -> Result<String, String> {
    let files = run.goal_files.len();
    if files == 0 {
        return Err("the goal names no file of the project".to_owned());
    }
    if files > FEW_FILES {
        return Err(format!("the goal names {}", count(files, "file")));
    }
    if places_of_goal(run).is_empty() {
        return Err("the goal names no file that is to change".to_owned());
    }
    let length = run.goal.trim().chars().count();
    if length > SHORT_GOAL_CHARACTERS {
        return Err(format!("the goal has {}", count(length, "character")));
    }
    let names: Vec<String> = run.goal_files.iter().map(|f| format!("`{f}`")).collect();
    Ok(format!("the goal names {}", names.join(", ")))
}

/// Makes the plan of a goal that is about one place of the project: one task, which says what the
/// goal says. Returns nothing if the goal is about more.
pub(crate) fn plan_of_goal(run: &Run, plan_id: &str) -> Option<Plan> {
    assess_goal(run).ok()?;
    let goal = run.goal.trim();
    let title = shorten_title(goal);
    let description = if title == goal { "" } else { goal };
    Some(Plan {
        plan_id: plan_id.to_owned(),
        description: title.clone(),
        tasks: vec![Task {
            id: "task-001".into(),
            description: description.to_owned(),
            title,
            files: places_of_goal(run),
            acceptance: vec!["The change does what the goal says, and nothing else.".to_owned()],
            ..Task::default()
        }],
        ..Plan::default()
    })
}

/// Returns the files that the goal is about: those it names, but for the ones by which it is only
/// measured ("so that check.sh passes"). A test is among them only if the goal says that it changes.
fn places_of_goal(run: &Run) -> Vec<String> {
    let places = FilePatterns::lenient(places_of_change(&run.goal));
    let changing = FilePatterns::lenient(changing_files(&run.goal));
    let is_place = |file: &&String| {
        let is_test = run.goal_tests.contains(file);
        places.matches(file) && (!is_test || changing.matches(file))
    };
    run.goal_files.iter().filter(is_place).cloned().collect()
}

/// Returns the first line of a goal, cut at the end of a word if it is too long for a title.
fn shorten_title(goal: &str) -> String {
    let line = goal.lines().next().unwrap_or_default().trim();
    let Some((end, _)) = line.char_indices().nth(TITLE_CHARACTERS) else {
        return line.to_owned();
    };
    let cut = &line[..end];
    let cut = cut
        .rsplit_once(char::is_whitespace)
        .map_or(cut, |(words, _)| words);
    format!("{}…", cut.trim_end())
}

fn count(number: usize, noun: &str) -> String {
    match number {
        1 => format!("1 {noun}"),
        n => format!("{n} {noun}s"),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    fn run(goal: &str, files: &[&str]) -> Run {
        Run {
            goal: goal.to_owned(),
            goal_files: Arc::new(files.iter().map(|&file| file.to_owned()).collect()),
            goal_tests: Arc::new(vec!["tests/test_slug.py".to_owned()]),
            ..Run::default()
        }
    }

    #[test]
    fn the_plan_of_a_goal_says_what_the_goal_says() {
        let short = "Join with an underscore in slug.py, not with a dash";
        let short_run = run(short, &["src/slug.py"]);
        let plan = plan_of_goal(&short_run, "feature-0001").unwrap();
        assert_eq!(plan.check(1), []);
        assert_eq!(plan.plan_id, "feature-0001");
        let [task] = &plan.tasks[..] else {
            panic!("{plan:?}");
        };
        let said = (task.title.as_str(), task.description.as_str());
        assert_eq!(said, (short, ""));
        assert_eq!(task.files, ["src/slug.py"]);
        let vague = "it says only 51 characters";
        assert_eq!(assess_task(Some(task)), Err(vague.to_owned()));

        let long = "In slug.py, words are joined with dashes. Join them with underscores instead, also in URLs.";
        let plan = plan_of_goal(&run(long, &["slug.py"]), "").unwrap();
        let task = &plan.tasks[0];
        let title = "In slug.py, words are joined with dashes. Join them with underscores…";
        let said = (task.title.as_str(), task.description.as_str());
        assert_eq!(said, (title, long));
        let says = "the task names 1 file and 1 criterion";
        assert_eq!(assess_task(Some(task)), Ok(says.to_owned()));
    }

    #[test]
    fn what_a_goal_is_measured_by_is_not_what_it_changes() {
        let files = |goal: &str, files: &[&str]| {
            let plan = plan_of_goal(&run(goal, files), "");
            plan.map(|plan| plan.tasks[0].files.clone())
        };
        let (code, test) = ("slug.py", "tests/test_slug.py");
        for goal in [
            "Mend slug.py so that tests/test_slug.py passes",
            "Mend slug.py: tests/test_slug.py fails",
            "Mend slug.py, see tests/test_slug.py",
            "Mend slug.py and look at tests/test_slug.py",
            // A test has to be said to change.
            "Mend slug.py and tests/test_slug.py",
            "Mend slug.py, do not change tests/test_slug.py",
        ] {
            let found = files(goal, &[code, test]);
            assert_eq!(found, Some(vec![code.to_owned()]), "{goal}");
        }
        let both = files("Mend slug.py and update tests/test_slug.py", &[code, test]);
        assert_eq!(both, Some(vec![code.to_owned(), test.to_owned()]));
        // Whoever names nothing but the measure wants a plan.
        for goal in ["Make check.sh pass", "Until check.sh passes, go on"] {
            assert_eq!(files(goal, &["check.sh"]), None, "{goal}");
        }
    }

    #[test]
    fn a_goal_about_more_than_one_place_is_no_plan() {
        let many = ["a.rs", "b.rs", "c.rs", "d.rs"];
        for files in [&[][..], &many] {
            let goal = "Mend a.rs, b.rs, c.rs, d.rs";
            assert_eq!(plan_of_goal(&run(goal, files), ""), None, "{files:?}");
        }
        let long = run(&"Mend a.rs. ".repeat(60), &["a.rs"]);
        assert_eq!(plan_of_goal(&long, ""), None);
    }
}
