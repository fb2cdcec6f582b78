//! The requirements as one text: as an analyst has confirmed them, or else as they stood when the
//! analyst asked, with the user's answers. Requirements are numbered, so that every later role can
//! refer to each of them.

use serde::{Deserialize, Serialize};

/// The knowledge of an analyst at the time it asked the user.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartialAnalysis {
    /// Its understanding of the task and the project.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub context: String,
    /// The requirements that were clear already.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub partial_spec: String,
}

/// Combines everything known about the requirements. If an analyst has confirmed them, that text is
/// final; otherwise nothing that it found out before it asked is lost.
pub fn known_requirements(
    confirmed: Option<&str>,
    analysis: Option<&PartialAnalysis>,
    answers: &[(Vec<String>, String)],
) -> String {
    if let Some(confirmed) = confirmed {
        return numbered(confirmed);
    }
    let (spec, context) = analysis.map_or(("", ""), |analysis| {
        (analysis.partial_spec.trim(), analysis.context.trim())
    });
    let spec = numbered(spec);
    let mut parts = Vec::new();
    if !spec.is_empty() {
        parts.push(format!("Clear before the user was asked:\n{spec}"));
    }
    let mut number = last_number(&spec);
    let said: Vec<String> = answers
        .iter()
        .map(|(asked, answer)| {
            number += 1;
            let asked: Vec<String> = asked.iter().map(|question| indented(question)).collect();
            let answer = indented(answer);
            format!(
                "{number}. Asked: {}\n   The user said: {answer}",
                asked.join("\n   and: ")
            )
        })
        .collect();
    if !said.is_empty() {
        parts.push(format!("Answered by the user:\n{}", said.join("\n")));
    }
    if !context.is_empty() {
        parts.push(format!("What the analyst understood of it:\n{context}"));
    }
    parts.join("\n\n")
}

/// Indents a text below the first line of a numbered item.
fn indented(text: &str) -> String {
    text.trim().replace('\n', "\n   ")
}

/// Numbers a list of requirements. A text that contains numbers already is left as it is, and so is
/// one that is not a list: only its author knows what counts as one requirement.
fn numbered(text: &str) -> String {
    let text = text.trim();
    if text.is_empty() || text.lines().any(|line| number(line).is_some()) {
        return text.to_owned();
    }
    let bullet = |line: &str| -> Option<String> {
        let rest = line.strip_prefix("- ").or_else(|| line.strip_prefix("* "));
        rest.map(str::to_owned)
    };
    let continues = |line: &str| line.is_empty() || line.starts_with(' ');
    let mut lines = text.lines();
    if !text.contains('\n') {
        let only = bullet(text);
        return format!("1. {}", only.as_deref().unwrap_or(text));
    }
    if !lines.all(|line| bullet(line).is_some() || continues(line)) {
        return text.to_owned();
    }
    let mut count = 0;
    let lines = text.lines().map(|line| match bullet(line) {
        Some(rest) => {
            count += 1;
            format!("{count}. {rest}")
        }
        None => line.to_owned(),
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Returns the number that a line begins with: `3. …` or `3) …`.
fn number(line: &str) -> Option<u32> {
    let line = line.trim_start();
    let end = line.find(|c: char| !c.is_ascii_digit())?;
    let (digits, rest) = line.split_at(end);
    let is_mark = rest.starts_with(". ") || rest.starts_with(") ");
    digits.parse().ok().filter(|_| is_mark)
}

/// Returns the highest number of a list.
fn last_number(text: &str) -> u32 {
    text.lines().filter_map(number).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(questions: &[&str], answer: &str) -> (Vec<String>, String) {
        let questions = questions.iter().map(|q| (*q).to_owned()).collect();
        (questions, answer.to_owned())
    }

    #[test]
    fn what_was_clear_is_kept_beside_what_was_answered() {
        let analysis = PartialAnalysis {
            context: "slug.py has one function".to_owned(),
            partial_spec: "1. words are joined by one dash\n2. no dash at the end".to_owned(),
        };
        let answers = [asked(&["Keep digits?", "Keep case?"], "yes\nno")];
        let known = known_requirements(None, Some(&analysis), &answers);
        expect_test::expect![[r"
            Clear before the user was asked:
            1. words are joined by one dash
            2. no dash at the end

            Answered by the user:
            3. Asked: Keep digits?
               and: Keep case?
               The user said: yes
               no

            What the analyst understood of it:
            slug.py has one function"]]
        .assert_eq(&known);
        // What was confirmed afterwards says all of it.
        let known = known_requirements(Some("1. a"), Some(&analysis), &answers);
        assert_eq!(known, "1. a");
        assert_eq!(known_requirements(None, None, &[]), "");
    }

    #[test]
    fn a_list_without_numbers_gets_them_and_nothing_else_is_touched() {
        for (text, told) in [
            ("It resets by mail", "1. It resets by mail"),
            ("- a\n  more of a\n- b", "1. a\n  more of a\n2. b"),
            ("4) a\n- b", "4) a\n- b"),
            ("# Scope\n\nOnly mail.", "# Scope\n\nOnly mail."),
            ("2026 is the year", "1. 2026 is the year"),
        ] {
            assert_eq!(numbered(text), told);
        }
    }
}
