//! Renders the files that `init` writes: `config.yml`, and a first document for workers.

use std::fmt::Write as _;

use codeteam_engine::context::PLACEHOLDERS;
use codeteam_survey::{RepoSurvey, RolePack, built_in_packs};
use codeteam_workflow::yaml;
use serde_json::Value;

use super::LayoutArg;
use super::render::single_line;
use codeteam_engine::problem::Problem;

/// The header: for editors, and for the person who opens the file.
const HEAD: &str = "\
# yaml-language-server: $schema=schema/config.json
# What codeteam knows of this project. Begun by `codeteam init`, yours to change.
";

/// A section of the configuration, under one top-level key.
struct ConfigSection {
    key: &'static str,
    text: String,
}

/// Renders a new configuration.
pub(super) fn new_config(survey: &RepoSurvey, layout: Option<LayoutArg>) -> String {
    let mut text = HEAD.to_owned();
    for section in sections(survey, layout) {
        text.push('\n');
        text.push_str(&section.text);
    }
    if survey.checks.is_empty() && layout.is_none() {
        text.push_str(
            "\n# What must hold before anything is committed. Nothing was found; for example:\n\
             # verification:\n#   commands:\n#     - { name: tests, command: make test }\n",
        );
    }
    text.push_str(
        "\n# What a run may use up; without a limit, as much as it takes.\n\
         # limits:\n#   max_cost_usd: 10\n#   max_minutes: 120\n",
    );
    text
}

/// Appends the missing sections to a configuration; everything else stays as it is.
pub(super) fn complete_config(
    path: &str,
    before: &str,
    survey: &RepoSurvey,
    layout: Option<LayoutArg>,
    notes: &mut Vec<String>,
) -> Result<String, Problem> {
    let parse = |text: &str| yaml::parse::<Option<serde_json::Map<String, Value>>>(path, text);
    let known = parse(before).map_err(|problems| {
        Problem::user(problems.to_string()).hint("fix it first; nothing was written")
    })?;
    let known = known.unwrap_or_default();
    let mut text = before.to_owned();
    let mut added = Vec::new();
    for section in sections(survey, layout) {
        if known.contains_key(section.key) {
            let proposed = parse(&section.text).ok().flatten().unwrap_or_default();
            // Without these settings, what was set up could not be reached or found.
            if section.key == "sandbox" && proposed.get("sandbox") != known.get("sandbox") {
                notes.push(format!(
                    "`{path}` has `sandbox` already; see that it has what is below\n{}",
                    section.text.trim_end()
                ));
            }
            continue;
        }
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        if !text.is_empty() {
            text.push('\n');
        }
        text.push_str(&section.text);
        added.push(section.key);
    }
    // A file in another form, such as one in braces, cannot be appended to.
    let now = parse(&text).ok().flatten();
    let is_right = now.is_some_and(|now| {
        let has_all = added.iter().all(|key| now.contains_key(*key));
        has_all && known.iter().all(|(key, value)| now.get(key) == Some(value))
    });
    if added.is_empty() || is_right {
        return Ok(text);
    }
    notes.push(format!(
        "`{path}` is in a form that cannot be added to; it lacks `{}`",
        added.join("`, `")
    ));
    Ok(before.to_owned())
}

fn sections(survey: &RepoSurvey, layout: Option<LayoutArg>) -> Vec<ConfigSection> {
    let section = |key, text: String| (!text.is_empty()).then_some(ConfigSection { key, text });
    let laid_out = layout.map(|LayoutArg::Strict| {
        "# `prompts/`, `config/` and `kb/` say the rest; the code is in `workspace/`, logs in `runs/`.\n\
         layout: strict\n"
            .to_owned()
    });
    [
        section("workflow", workflow(survey)),
        section("layout", laid_out.unwrap_or_default()),
        section("setup", setup(survey)),
        section("sandbox", sandbox(survey)),
        section("verification", verification(survey)),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn workflow(survey: &RepoSurvey) -> String {
    let name = &survey.template.name;
    let mut text = format!(
        "# How a run goes about it: {}.\n",
        single_line(&survey.template.why)
    );
    let steps = built_in_packs().steps.get(name);
    let used = if let (Some(steps), Some(cast)) = (steps, &survey.cast) {
        let _ = writeln!(
            text,
            "workflow:\n  extends: {}\n  overrides:",
            yaml_scalar(name)
        );
        let why = single_line(&cast.why);
        let _ = writeln!(text, "    # Roles of the pack `{}`: {why}.", cast.pack);
        let _ = writeln!(text, "    {}: {{ role: {} }}", steps.code, cast.implementer);
        if let (Some(step), Some(reviewer)) = (&steps.review, cast.reviewer) {
            let usual = steps.reviewers.join(", ");
            // Whoever sets `roles` also has them judge small changes, unless this says otherwise.
            let small = match steps.small_change.join(", ") {
                none if none.is_empty() => none,
                some => format!(", small_change: [{some}]"),
            };
            let _ = writeln!(
                text,
                "    {step}: {{ roles: [{usual}, {reviewer}]{small} }}"
            );
        }
        Some(cast.pack)
    } else {
        let _ = writeln!(text, "workflow: {}", yaml_scalar(name));
        None
    };
    let others = survey
        .packs
        .iter()
        .filter(|found| Some(found.name.as_str()) != used);
    let others: Vec<_> = others.collect();
    if !others.is_empty() {
        let more = if used.is_some() {
            "More roles"
        } else {
            "Roles"
        };
        let _ = writeln!(
            text,
            "# {more} that fit, for steps of a workflow of your own or `overrides`:"
        );
        for found in others {
            let roles = RolePack::find_pack(&found.name)
                .map(RolePack::roles)
                .unwrap_or_default();
            let _ = writeln!(
                text,
                "#   {} ({})",
                roles.join(", "),
                single_line(&found.why)
            );
        }
    }
    text
}

fn setup(survey: &RepoSurvey) -> String {
    let Some(setup) = &survey.setup else {
        return String::new();
    };
    let mut text = format!(
        "# Makes a fresh work tree ready: {}.\nsetup:\n  command: {}\n",
        single_line(&setup.why),
        yaml_scalar(&setup.command)
    );
    if !setup.inputs.is_empty() {
        let _ = writeln!(
            text,
            "  inputs: {}  # runs again when one of them changes",
            list(&setup.inputs)
        );
    }
    text
}

fn sandbox(survey: &RepoSurvey) -> String {
    let registries = survey.setup.as_ref().map(|setup| &setup.registries);
    let registries = registries.filter(|hosts| !hosts.is_empty());
    if registries.is_none() && survey.caches.is_empty() {
        return String::new();
    }
    let mut text =
        String::from("# What is let into the sandbox of workers and checks.\nsandbox:\n");
    if let Some(hosts) = registries {
        let _ = writeln!(text, "  registries: {}  # for `setup` alone", list(hosts));
    }
    if !survey.caches.is_empty() {
        text.push_str("  caches:\n");
        for cache in &survey.caches {
            let mode = if cache.copied { ", mode: copy" } else { "" };
            let _ = writeln!(text, "    # {}", single_line(&cache.why));
            let _ = writeln!(text, "    - {{ path: {}{mode} }}", yaml_scalar(&cache.path));
        }
    }
    text
}

fn verification(survey: &RepoSurvey) -> String {
    if survey.checks.is_empty() {
        return String::new();
    }
    let mut text = String::from(
        "# What must hold before anything is committed. Run without a network.\n\
         verification:\n  commands:\n",
    );
    for check in &survey.checks {
        let _ = writeln!(text, "    # {}", single_line(&check.why));
        let _ = writeln!(text, "    - name: {}", yaml_scalar(&check.name));
        let _ = writeln!(text, "      command: {}", yaml_scalar(&check.command));
    }
    text
}

/// Renders a first document that every role may see.
pub(super) fn context_document(survey: &RepoSurvey) -> String {
    let [purpose, conventions] = PLACEHOLDERS;
    let mut text = format!(
        "# This project\n\nEvery worker is told this, once somebody has filled it in. Say what nobody can\n\
         know from the code: what the project is for, what must never happen, how things are\n\
         done here.\n\n## What it is\n\n{purpose}\n",
    );
    let has_layout = [
        survey.languages.is_empty(),
        survey.frameworks.is_empty(),
        survey.packages.is_empty(),
    ];
    if has_layout.contains(&false) {
        text.push_str("\n## Layout\n\n");
    }
    let languages: Vec<&str> = survey.languages.iter().map(|l| l.name).collect();
    if !languages.is_empty() {
        let _ = writeln!(text, "- Languages: {}", languages.join(", "));
    }
    let frameworks: Vec<String> = survey
        .frameworks
        .iter()
        .map(|f| single_line(&f.name))
        .collect();
    if !frameworks.is_empty() {
        let _ = writeln!(text, "- Frameworks: {}", frameworks.join(", "));
    }
    for package in survey.packages.iter().take(30) {
        let _ = writeln!(
            text,
            "- `{}`: {}",
            single_line(&package.path),
            package.language
        );
    }
    if survey.setup.is_some() || !survey.checks.is_empty() {
        text.push_str("\n## Commands\n\n");
    }
    if let Some(setup) = &survey.setup {
        let _ = writeln!(text, "- set up: `{}`", single_line(&setup.command));
    }
    for check in &survey.checks {
        let _ = writeln!(
            text,
            "- {}: `{}`",
            single_line(&check.name),
            single_line(&check.command)
        );
    }
    let _ = write!(text, "\n## Conventions\n\n{conventions}\n");
    text
}

fn list(items: &[String]) -> String {
    let items: Vec<String> = items.iter().map(|item| yaml_scalar(item)).collect();
    format!("[{}]", items.join(", "))
}

/// Formats a string as YAML: plain where it is unambiguous, otherwise quoted.
fn yaml_scalar(text: &str) -> String {
    let is_tame = |c: char| c.is_ascii_alphanumeric() || " -_./=+".contains(c);
    let starts_well = text.starts_with(|c: char| c.is_ascii_alphabetic() || "./".contains(c));
    let words = [
        "true", "false", "null", "yes", "no", "on", "off", "y", "n", ".",
    ];
    let is_word = words.contains(&text.to_ascii_lowercase().as_str());
    let has_letter = text.contains(|c: char| c.is_ascii_alphabetic());
    // `.5` and `.inf` are numbers.
    let is_number = text.starts_with('.') && !text.contains('/');
    if text.chars().all(is_tame)
        && starts_well
        && has_letter
        && !is_word
        && !is_number
        && !text.ends_with(' ')
    {
        return text.to_owned();
    }
    let is_odd = |c: char| c.is_control() || matches!(c, '\u{2028}' | '\u{2029}' | '\u{feff}');
    if !text.contains(is_odd) {
        return format!("'{}'", text.replace('\'', "''"));
    }
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            c if is_odd(c) => {
                let _ = write!(quoted, "\\u{:04x}", u32::from(c));
            }
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_a_string_holds_it_is_read_back() {
        for text in [
            "npm test",
            "cargo clippy --all-targets -- -D warnings",
            "cd 'a b' && npm test",
            "it's",
            "no",
            ".5",
            "12",
            "1e3",
            "a: b",
            "a #b",
            "- x",
            "*.py",
            "~/.cargo/registry",
            "~",
            "",
            " x ",
            "{a}",
            "line\nline",
            "tab\t\u{1b}[1m\"\\",
            "\u{85}\u{2028}\u{feff}é",
        ] {
            let yaml = format!("key: {}\n", yaml_scalar(text));
            let read: Value = yaml::parse("test", &yaml).unwrap();
            assert_eq!(read["key"], text, "{yaml}");
            let yaml = format!("[{}]\n", yaml_scalar(text));
            let read: Value = yaml::parse("test", &yaml).unwrap();
            assert_eq!(read[0], text, "{yaml}");
        }
    }
}
