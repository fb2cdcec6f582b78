//! Whether somebody else could measure the criteria of a plan's tasks.
//!
//! Words cannot be understood here, so only what is certain is found: a task without criteria, and a
//! criterion that praises and names nothing that could be counted, looked up or tried.

use super::{Plan, Task};

/// The beginning of a criterion that nobody can measure, followed by the reason.
pub(crate) const UNMEASURABLE: &str = "not measurable:";

/// The most words that a criterion has which only praises.
const FEW_WORDS: usize = 8;
/// The most problems that are listed.
const LISTED: usize = 10;

/// Words that praise a result and measure nothing.
const PRAISE: &[&str] = &[
    "accurate",
    "adequate",
    "appropriate",
    "clean",
    "clear",
    "comprehensive",
    "convincing",
    "detailed",
    "efficient",
    "excellent",
    "good",
    "great",
    "helpful",
    "high",
    "insightful",
    "intuitive",
    "meaningful",
    "modern",
    "nice",
    "professional",
    "proper",
    "quality",
    "reasonable",
    "relevant",
    "robust",
    "solid",
    "sufficient",
    "thorough",
    "useful",
    "well",
];

/// Words that say how something can be checked.
const CHECKS: &[&str] = &[
    "add", "all", "answer", "cite", "compare", "compile", "contain", "count", "cover", "each",
    "every", "exist", "exit", "fail", "give", "has", "have", "include", "least", "link", "list",
    "match", "most", "name", "no", "none", "one", "only", "open", "pass", "print", "quote",
    "return", "run", "say", "show", "source", "state", "two", "three", "four", "five", "without",
];

/// Returns which tasks of a plan have criteria that nobody could measure, in words for the planner.
pub(crate) fn criteria_problems(plan: &Plan) -> Vec<String> {
    let problems = plan.tasks.iter().filter_map(task_problem);
    let mut lines: Vec<String> = problems.take(LISTED).collect();
    if !lines.is_empty() {
        lines.push(format!(
            "Say for each what somebody else can count, look up or try, or begin the criterion with \
             `{UNMEASURABLE}` and give the reason"
        ));
    }
    lines
}

fn task_problem(task: &Task) -> Option<String> {
    let id = &task.id;
    if task.acceptance.iter().all(|one| one.trim().is_empty()) {
        return Some(format!("task `{id}` has no criteria"));
    }
    let mut criteria = task.acceptance.iter();
    let vague = criteria.find(|one| only_praises(one))?;
    let vague = vague.trim();
    Some(format!("task `{id}`: \"{vague}\" measures nothing"))
}

/// Returns true if a criterion praises the result and names nothing that could be measured.
fn only_praises(criterion: &str) -> bool {
    let text = criterion.trim();
    let has_reason = text.to_lowercase().starts_with(UNMEASURABLE);
    let names_something =
        |c: char| c.is_ascii_digit() || matches!(c, '`' | '"' | '/' | '%' | '=' | '<' | '>' | '_');
    if has_reason || text.contains(names_something) {
        return false;
    }
    let words = text.split(|c: char| !c.is_alphanumeric());
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    // A name begins with a capital in the middle of a sentence.
    let has_name = |word: &&str| word.starts_with(char::is_uppercase);
    if words.len() > FEW_WORDS || words.iter().skip(1).any(has_name) {
        return false;
    }
    let lower: Vec<String> = words.iter().map(|word| word.to_lowercase()).collect();
    let checks = |word: &String| {
        let base = word.strip_suffix('s').unwrap_or(word);
        CHECKS.contains(&word.as_str()) || CHECKS.contains(&base)
    };
    let praises = |word: &String| {
        let base = word.strip_suffix("ly").unwrap_or(word);
        PRAISE.contains(&word.as_str()) || PRAISE.contains(&base)
    };
    lower.iter().any(praises) && !lower.iter().any(checks)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_praise_is_told_from_what_can_be_measured() {
        for vague in [
            "Thorough analysis",
            "The report is well-structured and clear",
            "good quality",
            "Professional, clean design",
            "It works well",
        ] {
            assert!(only_praises(vague), "{vague}");
        }
        for measurable in [
            "names the five largest providers with revenue, year and source",
            "a thorough list of 10 providers",
            "`make test` passes",
            "clear headings, at least one for each provider",
            "the tests pass",
            "it adds",
            "says hello to Ada",
            "good ratings on Trustpilot",
            "includes all research findings",
            "every figure has a good source",
            "not measurable: whether it is good is for the customer to say",
        ] {
            assert!(!only_praises(measurable), "{measurable}");
        }
    }

    #[test]
    fn each_task_is_named_once_and_the_planner_is_told_what_to_do() {
        let task = |id: &str, criteria: &[&str]| Task {
            id: id.into(),
            acceptance: criteria.iter().map(|&one| one.to_owned()).collect(),
            ..Task::default()
        };
        let plan = Plan {
            tasks: vec![
                task("one", &[]),
                task("two", &["names five", "good", "nice"]),
                task("three", &["names five"]),
            ],
            ..Plan::default()
        };
        assert_eq!(
            criteria_problems(&plan),
            [
                "task `one` has no criteria",
                "task `two`: \"good\" measures nothing",
                "Say for each what somebody else can count, look up or try, or begin the criterion with \
                 `not measurable:` and give the reason",
            ]
        );
    }
}
