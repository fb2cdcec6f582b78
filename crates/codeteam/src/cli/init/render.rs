//! Formats what `init` found and would write.

use std::fmt::Write as _;

use codeteam_survey::{DetectedFeature, RepoSurvey, RolePack};

use super::files::ProposedFile;

/// Formats text from the repository as one line, so that nothing in it moves the cursor or starts a
/// new line.
pub(super) fn single_line(text: &str) -> String {
    let is_hidden = |c: char| {
        c.is_control()
            || matches!(c, '\u{2028}' | '\u{2029}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    text.chars()
        .map(|c| if is_hidden(c) { '\u{fffd}' } else { c })
        .collect()
}

/// Formats the findings, with their reasons.
pub(super) fn format_survey(survey: &RepoSurvey) -> String {
    let mut text = String::new();
    let languages: Vec<String> = survey
        .languages
        .iter()
        .map(|language| {
            let files = if language.files == 1 { "file" } else { "files" };
            format!("{} ({} {files})", language.name, language.files)
        })
        .collect();
    let languages = match languages.join(", ") {
        none if none.is_empty() => "none that codeteam knows".to_owned(),
        some => some,
    };
    let _ = writeln!(text, "Languages: {languages}");
    list(&mut text, "Frameworks", &survey.frameworks);
    list(&mut text, "Built with", &survey.managers);
    list(&mut text, "Tests", &survey.runners);
    list(&mut text, "Linters", &survey.linters);
    list(&mut text, "CI", &survey.ci);
    list(&mut text, "Services", &survey.services);
    if !survey.packages.is_empty() {
        let _ = writeln!(text, "Packages:");
        for package in survey.packages.iter().take(30) {
            let line = format!("{} ({}): {}", package.path, package.language, package.why);
            let _ = writeln!(text, "  {}", single_line(&line));
        }
        let more = survey.packages.len().saturating_sub(30);
        if more > 0 {
            let _ = writeln!(text, "  and {more} more");
        }
    }
    if !survey.packs.is_empty() {
        let _ = writeln!(text, "Roles that fit:");
        for found in &survey.packs {
            let roles = RolePack::find_pack(&found.name)
                .map(RolePack::roles)
                .unwrap_or_default();
            let line = format!("{} ({}): {}", found.name, roles.join(", "), found.why);
            let _ = writeln!(text, "  {}", single_line(&line));
        }
    }
    let template = &survey.template;
    let _ = writeln!(
        text,
        "Workflow: {}\n  {}",
        single_line(&template.name),
        single_line(&template.why)
    );
    if let Some(setup) = &survey.setup {
        let _ = writeln!(
            text,
            "Set-up: {}\n  {}",
            single_line(&setup.command),
            single_line(&setup.why)
        );
    }
    if !survey.checks.is_empty() {
        let _ = writeln!(text, "Checks:");
        for check in &survey.checks {
            let line = format!("{}: {}", check.name, check.command);
            let _ = writeln!(
                text,
                "  {}\n    {}",
                single_line(&line),
                single_line(&check.why)
            );
        }
    }
    text
}

/// Formats the notes that a person should read before agreeing.
pub(super) fn format_notes(survey: &RepoSurvey) -> String {
    let mut text = String::new();
    for note in &survey.notes {
        let _ = writeln!(text, "Note: {}", single_line(note));
    }
    text
}

fn list(text: &mut String, title: &str, found: &[DetectedFeature]) {
    if found.is_empty() {
        return;
    }
    let _ = writeln!(text, "{title}:");
    for one in found {
        let _ = writeln!(
            text,
            "  {}: {}",
            single_line(&one.name),
            single_line(&one.why)
        );
    }
}

/// Formats the files: new ones in full, changed ones as a diff. The most important file comes last,
/// closest to the question.
pub(super) fn format_files(files: &[ProposedFile]) -> String {
    let mut text = String::new();
    let mut long = String::new();
    let is_config = |file: &&ProposedFile| file.path.starts_with(".codeteam/config.");
    let others = files.iter().filter(|file| !is_config(file));
    for file in others.chain(files.iter().filter(is_config)) {
        match &file.before {
            // Schemas are generated, and only programs read them.
            None if file.path.contains("/schema/") => {
                let _ = writeln!(text, "{} (new, for editors)", file.path);
            }
            None if file.path.ends_with("/.gitignore") => {
                let path = &file.path;
                let _ = writeln!(
                    text,
                    "{path} (new, keeps what codeteam writes out of commits)"
                );
            }
            None => {
                let _ = writeln!(long, "\n{} (new)", file.path);
                for line in file.text.lines() {
                    let line = format!("  | {}", single_line(line));
                    let _ = writeln!(long, "{}", line.trim_end());
                }
            }
            Some(before) => {
                let _ = writeln!(long, "\n{} (changed)", file.path);
                long.push_str(&unified_diff(&file.path, before, &file.text));
            }
        }
    }
    match (files.is_empty(), text.is_empty()) {
        (true, _) => String::new(),
        (false, true) => format!("{long}\n"),
        (false, false) => format!("\n{text}{long}\n"),
    }
}

/// Formats a unified diff with one hunk, from the first line that differs to the last.
pub(in crate::cli) fn unified_diff(path: &str, before: &str, after: &str) -> String {
    const AROUND: usize = 3;
    let (old, new): (Vec<&str>, Vec<&str>) = (
        before.split_inclusive('\n').collect(),
        after.split_inclusive('\n').collect(),
    );
    let same = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
    let rest = old.len().min(new.len()) - same;
    let tail = old.iter().rev().zip(new.iter().rev());
    let tail = tail.take(rest).take_while(|(a, b)| a == b).count();
    let from = same.saturating_sub(AROUND);
    let (old_end, new_end) = (old.len() - tail, new.len() - tail);
    let after_end = tail.min(AROUND);
    let head = |start: usize, lines: usize| match lines {
        0 => format!("{start},0"),
        _ => format!("{},{lines}", start + 1),
    };
    let path = path.trim_start_matches('/');
    let mut text = format!("--- a/{path}\n+++ b/{path}\n");
    let _ = writeln!(
        text,
        "@@ -{} +{} @@",
        head(from, old_end + after_end - from),
        head(from, new_end + after_end - from)
    );
    let mut add = |mark: char, lines: &[&str]| {
        for line in lines {
            let _ = writeln!(text, "{mark}{}", single_line(line.trim_end_matches('\n')));
            if !line.ends_with('\n') {
                text.push_str("\\ No newline at end of file\n");
            }
        }
    };
    add(' ', &old[from..same]);
    add('-', &old[same..old_end]);
    add('+', &new[same..new_end]);
    add(' ', &old[old_end..old_end + after_end]);
    text
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    #[test]
    fn a_difference_reads_like_one_of_git() {
        let text = unified_diff("f", "a\nb\nc\nd\ne\n", "a\nb\nc\nd\ne\nf\n");
        expect![[r"
            --- a/f
            +++ b/f
            @@ -3,3 +3,4 @@
             c
             d
             e
            +f
        "]]
        .assert_eq(&text);
        let text = unified_diff("f", "a\nb", "a\nx\nb\n");
        expect![[r"
            --- a/f
            +++ b/f
            @@ -1,2 +1,3 @@
             a
            -b
            \ No newline at end of file
            +x
            +b
        "]]
        .assert_eq(&text);
        assert!(unified_diff("f", "", "a\n").contains("@@ -0,0 +1,1 @@"));
    }

    #[test]
    fn nothing_of_the_repository_reaches_the_terminal_raw() {
        assert_eq!(
            single_line("a\u{1b}[2Jb\nc\u{202e}d"),
            "a\u{fffd}[2Jb\u{fffd}c\u{fffd}d"
        );
    }
}
