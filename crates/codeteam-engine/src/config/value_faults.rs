//! Finds values of the right form that could not be used and would otherwise fail in the middle of
//! a run.

use codeteam_context::redact::Redactor;
use codeteam_core::spelling::suggest_word;
use codeteam_patterns::FilePatterns;
use codeteam_workflow::yaml::{Diagnostic, SourcePosition, YamlNode};

use super::Config;

/// The placeholders in a branch's name that codeteam fills in.
const BRANCH_PARTS: [&str; 6] = ["run", "stamp", "task_id", "date", "slug", "description"];

/// A sample run id, for trying a pattern.
const SAMPLE_RUN: &str = "2025-01-08_153042_add-a-flag";

/// Returns all faults in a configuration.
pub(super) fn find_faults(config: &Config, node: &YamlNode) -> Vec<Diagnostic> {
    let mut faults = FaultCollector {
        node,
        found: Vec::new(),
    };
    branch(config, &mut faults);
    commands(config, &mut faults);
    patterns(config, &mut faults);
    servers(config, &mut faults);
    numbers(config, &mut faults);
    faults.found
}

/// Collects faults with their positions in the tree.
struct FaultCollector<'n> {
    node: &'n YamlNode,
    found: Vec<Diagnostic>,
}

impl FaultCollector<'_> {
    fn add(&mut self, path: &[&str], message: String) {
        self.found.push(Diagnostic::at(self.place(path), message));
    }

    fn hint(&mut self, path: &[&str], message: String, hint: impl Into<String>) {
        self.found
            .push(Diagnostic::at(self.place(path), message).with_hint(hint));
    }

    /// Returns the position of a value, or of the innermost node on its path that exists. A number
    /// is an index of a list.
    fn place(&self, path: &[&str]) -> SourcePosition {
        let mut here = self.node;
        for part in path {
            let item = part.parse::<usize>().ok();
            let item = item.and_then(|index| here.as_list()?.get(index));
            match item.or_else(|| here.get(part)) {
                Some(inner) => here = inner,
                None => break,
            }
        }
        here.place
    }
}

fn branch(config: &Config, faults: &mut FaultCollector<'_>) {
    let git = &config.git;
    let (key, said) = match &git.branch_prefix {
        Some(prefix) => ("branch_prefix", prefix),
        None => ("branch_pattern", &git.branch_pattern),
    };
    let path = ["git", key];
    if said.starts_with("refs/") {
        let message = format!("`git.{key}` is `{said}`, which cannot be the name of a branch");
        return faults.hint(&path, message, "leave `refs/heads/` out");
    }
    if git.branch_prefix.is_none() {
        let unknown = braced(said).find(|part| !BRANCH_PARTS.contains(part));
        if let Some(part) = unknown {
            let message = format!("`git.{key}` has `{{{part}}}`, which is not a placeholder");
            let near = suggest_word(part, BRANCH_PARTS);
            let known = format!("it can have {{{}}}", BRANCH_PARTS.join("}, {"));
            return faults.hint(&path, message, near.unwrap_or(known));
        }
        let differs = ["{run}", "{stamp}", "{task_id}"];
        if !differs.iter().any(|part| said.contains(part)) {
            let message = format!("`git.{key}` is `{said}`, the same branch for every run");
            let hint = "put `{run}` into it, such as `codeteam/{run}`";
            return faults.hint(&path, message, hint);
        }
    }
    let name = git.branch(SAMPLE_RUN);
    if let Some(why) = bad_reference(&name) {
        let message =
            format!("`git.{key}` makes branches such as `{name}`, which git refuses: {why}");
        faults.hint(&path, message, "for example `codeteam/{run}`");
    }
}

/// Returns the texts between braces.
fn braced(text: &str) -> impl Iterator<Item = &str> {
    let parts = text.split('{').skip(1);
    parts.filter_map(|part| part.split_once('}').map(|(inside, _)| inside))
}

/// Returns why git would refuse a name for a branch, by the rules of `git check-ref-format`.
fn bad_reference(name: &str) -> Option<&'static str> {
    let parts: Vec<&str> = name.split('/').collect();
    let is_odd = |c: char| c.is_ascii_control() || " ~^:?*[\\".contains(c);
    let rules = [
        (
            parts.contains(&""),
            "it begins or ends with `/`, or has two in a row",
        ),
        (name.contains(".."), "it has `..` in it"),
        (
            parts.iter().any(|part| part.starts_with('.')),
            "a part of it begins with `.`",
        ),
        (
            parts
                .iter()
                .any(|part| part.strip_suffix(".lock").is_some()),
            "a part of it ends with `.lock`",
        ),
        (name.ends_with('.'), "it ends with `.`"),
        (name.contains("@{"), "it has `@{` in it"),
        (name.starts_with('-'), "it begins with `-`"),
        (
            name.contains(is_odd),
            "it contains a space or one of `~^:?*[\\`",
        ),
    ];
    rules.into_iter().find(|(is, _)| *is).map(|(_, why)| why)
}

fn commands(config: &Config, faults: &mut FaultCollector<'_>) {
    const AT_ONCE: &str = "is 0, which would end it at once";
    for (index, command) in config.verification.commands.iter().enumerate() {
        let index = index.to_string();
        let path = ["verification", "commands", &index];
        let is_comment = |line: &str| line.trim().is_empty() || line.trim().starts_with('#');
        if command.command.lines().all(is_comment) {
            let message = "a check has an empty `command`, which would pass whatever a change does";
            faults.add(&path, message.to_owned());
        }
        if command.timeout_seconds == Some(0) {
            faults.add(&path, format!("`timeout_seconds` of a check {AT_ONCE}"));
        }
    }
    for (index, command) in config.verification.proof.commands.iter().enumerate() {
        if command.trim().is_empty() {
            let path = ["verification", "proof", "commands", &index.to_string()];
            faults.add(&path, "an empty command runs no tests".to_owned());
        }
    }
    if let Some(setup) = &config.setup {
        if setup.command.trim().is_empty() {
            let message = "`setup.command` is empty".to_owned();
            faults.hint(
                &["setup", "command"],
                message,
                "leave `setup` out if there is nothing to do",
            );
        }
        if setup.timeout_seconds == Some(0) {
            faults.add(
                &["setup", "timeout_seconds"],
                format!("`setup.timeout_seconds` {AT_ONCE}"),
            );
        }
    }
    if config.limits.step_timeout_seconds == Some(0) {
        let message = format!("`limits.step_timeout_seconds` {AT_ONCE}");
        faults.add(&["limits", "step_timeout_seconds"], message);
    }
}

fn patterns(config: &Config, faults: &mut FaultCollector<'_>) {
    for (index, pattern) in config.redaction.allow.iter().enumerate() {
        if let Err(error) = Redactor::new([]).allow([pattern]) {
            let why = std::error::Error::source(&error).map(ToString::to_string);
            // The last line of the message is the reason; the lines before show the position.
            let why = why
                .as_deref()
                .and_then(|why| why.lines().last())
                .unwrap_or_default();
            let why = why.trim_start_matches("error: ");
            let path = ["redaction", "allow", &index.to_string()];
            let message =
                format!("`redaction.allow`: `{pattern}` is not a regular expression: {why}");
            faults.hint(
                &path,
                message,
                "put a `\\` before characters that are meant literally",
            );
        }
    }
    for (key, patterns) in &config.context {
        for (index, pattern) in patterns.iter().enumerate() {
            let is_outside =
                pattern.starts_with('/') || pattern.split('/').any(|part| part == "..");
            if is_outside {
                let path = ["context", key, &index.to_string()];
                let message = format!(
                    "`context.{key}`: `{pattern}` lies outside the repository, whose files alone are shown"
                );
                faults.hint(
                    &path,
                    message,
                    "name files relative to the top of the repository",
                );
            } else if FilePatterns::new([pattern]).is_err() {
                let path = ["context", key, &index.to_string()];
                faults.add(
                    &path,
                    format!("`context.{key}`: `{pattern}` is not a pattern of files"),
                );
            }
        }
    }
}

fn servers(config: &Config, faults: &mut FaultCollector<'_>) {
    for (name, server) in &config.mcp_servers {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-".contains(&byte);
        if name.is_empty() || !name.bytes().all(is_plain) {
            let message =
                format!("the MCP server `{name}` has a name that not every worker can take");
            faults.hint(
                &["mcp_servers", name],
                message,
                "use letters, digits, `_` and `-`",
            );
        }
        if server.command.trim().is_empty() {
            let message = format!("the MCP server `{name}` has an empty `command`");
            faults.add(&["mcp_servers", name, "command"], message);
        }
    }
}

fn numbers(config: &Config, faults: &mut FaultCollector<'_>) {
    let limits = &config.limits;
    let amounts = [
        ("max_cost_usd", limits.max_cost_usd),
        ("max_task_cost_usd", limits.max_task_cost_usd),
        ("retry_base_delay_seconds", limits.retry_base_delay_seconds),
        ("retry_max_delay_seconds", limits.retry_max_delay_seconds),
        ("retry_exponential_base", limits.retry_exponential_base),
    ];
    for (key, amount) in amounts {
        if let Some(amount) = amount.filter(|amount| !is_amount(*amount)) {
            let message = format!("`limits.{key}` is {amount}, which is negative");
            faults.add(&["limits", key], message);
        }
    }
    let counts = [
        ("max_tokens", limits.max_tokens),
        ("max_attempts", limits.max_attempts),
        ("max_minutes", limits.max_minutes),
        ("max_disk_mb", limits.max_disk_mb),
        ("max_task_tokens", limits.max_task_tokens),
        ("max_tasks", limits.max_tasks.map(|most| most as u64)),
        (
            "max_parallel_tasks",
            limits.max_parallel_tasks.map(|most| most as u64),
        ),
        ("max_turns", limits.max_turns.map(u64::from)),
        (
            "workflow_max_steps",
            limits.workflow_max_steps.map(u64::from),
        ),
    ];
    for (key, _) in counts.into_iter().filter(|(_, count)| *count == Some(0)) {
        let message = format!("`limits.{key}` is 0, which would stop every run at once");
        faults.hint(&["limits", key], message, "leave it out for no limit");
    }
    for (model, price) in &config.prices {
        let all = [price.input, price.output, price.cached_input.unwrap_or(0.0)];
        if !all.into_iter().all(is_amount) {
            let message = format!("a price of `{model}` is negative");
            faults.add(&["prices", model], message);
        }
    }
    let surviving = config.verification.mutants.max_surviving_percent;
    if let Some(percent) = surviving.filter(|percent| *percent > 100) {
        let message =
            format!("`verification.mutants.max_surviving_percent` is {percent}, more than all");
        let path = ["verification", "mutants", "max_surviving_percent"];
        faults.hint(&path, message, "choose a share from 0 to 100");
    }
    let sandbox = &config.sandbox.limits;
    let room = [
        ("memory_mb", sandbox.memory_mb),
        ("processes", sandbox.processes),
        ("file_size_mb", sandbox.file_size_mb),
        ("scratch_mb", sandbox.scratch_mb),
        ("disk_mb", sandbox.disk_mb),
    ];
    for (key, _) in room.into_iter().filter(|(_, room)| *room == Some(0)) {
        let message = format!("`sandbox.limits.{key}` is 0, with which no command could run");
        faults.add(&["sandbox", "limits", key], message);
    }
}

fn is_amount(number: f64) -> bool {
    number.is_finite() && number >= 0.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn branches_that_git_refuses_are_named() {
        for name in [
            "../../x/r",
            "a//b",
            "/a",
            "a/",
            "a b",
            "a..b",
            ".a/b",
            "a/.b",
            "a.lock/b",
            "a.",
            "-a",
            "a@{b",
            "a~b",
            "a:b",
            "a\\b",
        ] {
            assert!(bad_reference(name).is_some(), "{name}");
        }
        for name in [
            "codeteam/2025-01-08_153042_add",
            "ai/x-y",
            "{a}",
            "@x",
            "ü/é",
        ] {
            assert_eq!(bad_reference(name), None, "{name}");
        }
    }
}
