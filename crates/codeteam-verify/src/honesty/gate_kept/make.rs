//! Extracts the parts of a `Makefile` or `justfile` that the gate's commands use: the targets they
//! name with all their dependencies, the variables in those, the included files, and everything
//! that affects all targets.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::honesty::HonestySubject;

/// Variables that affect every recipe.
const ALWAYS: &[&str] = &[
    "SHELL",
    ".SHELLFLAGS",
    "MAKEFLAGS",
    "MAKEFILES",
    ".DEFAULT_GOAL",
    "VPATH",
    "PATH",
];

/// A parsed file.
#[derive(Default)]
struct ParsedMakefile {
    /// The targets in their order: name, dependencies, and full text.
    targets: Vec<(String, Vec<String>, String)>,
    /// The variables, each with all values that are assigned to it.
    variables: BTreeMap<String, String>,
    /// Everything that applies to the whole file: includes, exports, settings.
    all: String,
}

/// The item that the next line belongs to if it is a continuation.
enum ContinuedItem {
    Nothing,
    Targets(usize),
    Variable(String),
}

/// Extracts the parts of a file that the gate's commands use.
pub(super) fn parse_parts(text: &str, subject: &HonestySubject<'_>) -> Vec<(String, String)> {
    parse_parts_for(text, subject.commands)
}

/// Extracts the parts of a file that these commands use.
pub(super) fn parse_parts_for(text: &str, commands: &[String]) -> Vec<(String, String)> {
    let made = ParsedMakefile::parse(text);
    let wanted = made.wanted_targets(commands);
    let mut found: Vec<(String, String)> = Vec::new();
    let mut used = String::new();
    let mut bodies: BTreeMap<&str, String> = BTreeMap::new();
    for (name, _, body) in &made.targets {
        // A pattern rule builds every target without a rule of its own.
        if wanted.contains(name) || name.contains('%') {
            bodies.entry(name).or_default().push_str(body);
            used.push_str(body);
        }
    }
    let named = bodies.into_iter();
    found.extend(named.map(|(name, body)| (format!("target {name}"), body)));
    for (name, value) in made.variables_in(&used) {
        found.push((format!("variable {name}"), value));
    }
    if !made.all.is_empty() {
        found.push(("what holds for all targets".to_owned(), made.all));
    }
    found
}

impl ParsedMakefile {
    fn parse(text: &str) -> Self {
        let mut made = Self::default();
        let (mut last, mut goes_on) = (ContinuedItem::Nothing, false);
        for line in text.lines() {
            let is_body = goes_on || line.starts_with(['\t', ' ']);
            goes_on = line.ends_with('\\');
            if line.trim().is_empty() || (!is_body && line.starts_with('#')) {
                continue;
            }
            if is_body && !matches!(last, ContinuedItem::Nothing) {
                made.add_line(&last, line);
            } else {
                last = made.begin_item(line);
            }
        }
        made
    }

    fn add_line(&mut self, last: &ContinuedItem, line: &str) {
        let body = match last {
            ContinuedItem::Nothing => return,
            ContinuedItem::Variable(name) => self.variables.entry(name.clone()).or_default(),
            ContinuedItem::Targets(count) => {
                let from = self.targets.len().saturating_sub(*count);
                for (_, _, body) in &mut self.targets[from..] {
                    body.push_str(line);
                    body.push('\n');
                }
                return;
            }
        };
        body.push_str(line);
        body.push('\n');
    }

    /// Parses a line that begins an item.
    fn begin_item(&mut self, line: &str) -> ContinuedItem {
        let code = line.trim();
        let first = code.split_whitespace().next().unwrap_or_default();
        let holds = [
            "include", "-include", "sinclude", "export", "unexport", "override", "import", "mod",
            "set", "vpath", "load", "-load",
        ];
        if holds.contains(&first) {
            self.all.push_str(code);
            self.all.push('\n');
            return ContinuedItem::Nothing;
        }
        if let Some(name) = code.strip_prefix("define ") {
            let name = name.trim_end_matches(['=', ':', '?', '+', ' ']).to_owned();
            return ContinuedItem::Variable(name);
        }
        if let Some((name, _)) = parse_assignment(code) {
            let name = name.to_owned();
            self.add_line(&ContinuedItem::Variable(name.clone()), code);
            return ContinuedItem::Variable(name);
        }
        let Some((names, needs)) = code.split_once(':') else {
            return ContinuedItem::Nothing;
        };
        let needs: Vec<String> = needs.split_whitespace().map(str::to_owned).collect();
        // A justfile allows `@test arg:`.
        let names = names.split_whitespace();
        let names: Vec<&str> = names.map(|name| name.trim_start_matches('@')).collect();
        for name in &names {
            let target = ((*name).to_owned(), needs.clone(), format!("{code}\n"));
            self.targets.push(target);
        }
        ContinuedItem::Targets(names.len())
    }

    /// Returns the targets that the commands build, with all their dependencies.
    fn wanted_targets(&self, commands: &[String]) -> BTreeSet<String> {
        let mut needs: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for (name, all, _) in &self.targets {
            let all = all.iter().map(String::as_str);
            needs.entry(name.as_str()).or_default().extend(all);
        }
        let mut next: VecDeque<&str> = VecDeque::new();
        for command in commands {
            let is_word = |c: char| c.is_whitespace() || matches!(c, ';' | '&' | '|' | '(' | ')');
            let words: Vec<&str> = command.split(is_word).collect();
            let makes =
                |word: &&str| matches!(word.rsplit('/').next(), Some("make" | "gmake" | "just"));
            if !words.iter().any(makes) {
                continue;
            }
            let named: Vec<&str> = words
                .into_iter()
                .filter(|word| needs.contains_key(word))
                .collect();
            if named.is_empty() {
                // Without a named target, make builds the first one that does not begin with a dot.
                let first = self.targets.iter().map(|target| target.0.as_str());
                next.extend(first.into_iter().find(|name| !name.starts_with('.')));
            }
            next.extend(named);
        }
        // Scripts and other programs may build any of them.
        let mut found = BTreeSet::new();
        while let Some(name) = next.pop_front() {
            if found.insert(name.to_owned()) {
                next.extend(needs.get(name).into_iter().flatten());
            }
        }
        found.insert(".DEFAULT".to_owned());
        found.insert(".ONESHELL".to_owned());
        found.insert(".IGNORE".to_owned());
        found
    }

    /// Returns the variables that a text uses, including those in their values.
    fn variables_in(&self, text: &str) -> BTreeMap<String, String> {
        let mut next: Vec<String> = mentioned_variables(text);
        next.extend(ALWAYS.iter().map(|name| (*name).to_owned()));
        next.extend(mentioned_variables(&self.all));
        let mut found = BTreeMap::new();
        while let Some(name) = next.pop() {
            if found.contains_key(&name) {
                continue;
            }
            if let Some(value) = self.variables.get(&name) {
                next.extend(mentioned_variables(value));
                found.insert(name, value.clone());
            }
        }
        found
    }
}

/// Parses `NAME = value`, with any of the assignment operators.
fn parse_assignment(code: &str) -> Option<(&str, &str)> {
    let (left, value) = code.split_once('=')?;
    let name = left.trim_end_matches([':', '?', '+', '!']).trim();
    let is_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | '-');
    (!name.is_empty() && name.chars().all(is_name)).then_some((name, value))
}

/// Returns the names in `$(NAME)`, `${NAME}`, `{{NAME}}` and `$N`, and all words of a make
/// function.
fn mentioned_variables(text: &str) -> Vec<String> {
    let is_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | '-');
    let mut found = Vec::new();
    for (at, _) in text.match_indices(['$', '{']) {
        let rest = &text[at + 1..];
        let Some(first) = rest.chars().next() else {
            continue;
        };
        if matches!(first, '(' | '{') {
            // The words of `$(call run,$(X))` may be names too.
            let end = rest.find([')', '}']).unwrap_or(rest.len());
            let words = rest[1.min(end)..end].split(|c| !is_name(c));
            found.extend(words.filter(|word| !word.is_empty()).map(str::to_owned));
        } else if is_name(first) {
            found.push(first.to_string());
        }
    }
    found
}
