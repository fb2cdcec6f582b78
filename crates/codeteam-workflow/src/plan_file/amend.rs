//! Adds dependencies to a plan file. Only the necessary text is changed, so that comments and
//! layout stay as a person wrote them.

use std::collections::BTreeMap;

use codeteam_core::ids::TaskId;

use super::yaml::{LoadedPlan, from_yaml};
use crate::yaml::{SourceFiles, SourcePosition, YamlKey, YamlNode, YamlScalar, read};

/// The reason why a plan file cannot be changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AmendError {
    /// The file is written in a form that this module cannot add to.
    #[error("the file is written in a way that does not allow adding anything to task `{0}`")]
    Unusual(TaskId),
    /// The result would not be a valid plan.
    #[error("with these dependencies the plan would be invalid: {0}")]
    Invalid(String),
}

/// Returns the text of a plan file with additional dependencies. The result is parsed again to make
/// sure that it says the same as before, apart from them.
pub fn add_dependencies(
    file: &str,
    text: &str,
    more: &BTreeMap<TaskId, Vec<TaskId>>,
    max_tasks: usize,
) -> Result<String, AmendError> {
    let load = |text: &str| from_yaml(file, text, max_tasks);
    let mut wanted = load(text).map_err(|error| AmendError::Invalid(error.to_string()))?;
    for task in &mut wanted.plan.tasks {
        let more = more.get(&task.id).into_iter().flatten();
        task.dependencies.extend(more.cloned());
    }
    let mut changed = text.to_owned();
    for (task, on) in more {
        let unusual = || AmendError::Unusual(task.clone());
        changed = add(&changed, task, on).ok_or_else(unusual)?;
    }
    let found = load(&changed).map_err(|error| AmendError::Invalid(error.to_string()))?;
    if sorted(found) == sorted(wanted) {
        Ok(changed)
    } else {
        let first = more.keys().next().cloned();
        Err(AmendError::Unusual(first.unwrap_or_default()))
    }
}

/// Sorts dependencies for the comparison, because their order means nothing.
fn sorted(mut loaded: LoadedPlan) -> LoadedPlan {
    for task in &mut loaded.plan.tasks {
        task.dependencies.sort();
    }
    loaded
}

/// Adds dependencies to one task. Returns `None` if the task is not found or its dependencies are
/// not written as a list.
fn add(text: &str, task: &TaskId, on: &[TaskId]) -> Option<String> {
    let root = read(&mut SourceFiles::default(), "plan", text).ok()?;
    let node = find(&root, task)?;
    let entries = node.as_map()?;
    let listed = entries
        .iter()
        .find(|(key, _)| matches!(key.name.as_str(), "dependencies" | "depends_on"));
    let edit = match listed {
        Some((_, list)) if list.as_list().is_some() => to_list(text, list, on),
        Some((key, nothing)) if nothing.is_null() => to_nothing(text, key, on),
        Some(_) => None,
        None => to_task(text, node, on),
    };
    edit.map(|edit| edit.apply(text))
}

/// Finds the node of a task.
fn find<'n>(root: &'n YamlNode, task: &TaskId) -> Option<&'n YamlNode> {
    let top = root.get("feature").unwrap_or(root);
    let mut lists = Vec::new();
    for key in ["tasks", "missions"] {
        lists.extend([top.get(key), root.get(key)]);
    }
    for phase in top.get("phases").and_then(YamlNode::as_list).unwrap_or(&[]) {
        lists.extend([phase.get("tasks"), phase.get("components")]);
    }
    let tasks = lists.into_iter().flatten().filter_map(YamlNode::as_list);
    let id = |node: &'n YamlNode| node.get("id").or_else(|| node.get("mission_id"));
    let mut found = tasks
        .flatten()
        .filter(|node| id(node).and_then(YamlNode::as_text) == Some(task.as_str()));
    found.next()
}

/// A replacement of a range of the text.
struct TextEdit {
    from: usize,
    to: usize,
    text: String,
}

impl TextEdit {
    fn insert(at: usize, text: String) -> Self {
        Self {
            from: at,
            to: at,
            text,
        }
    }

    fn apply(&self, text: &str) -> String {
        let (before, after) = (&text[..self.from], &text[self.to..]);
        format!("{before}{}{after}", self.text)
    }
}

/// Adds to an existing list.
fn to_list(text: &str, list: &YamlNode, on: &[TaskId]) -> Option<TextEdit> {
    let items = list.as_list()?;
    let quoted = items.last().and_then(|last| offset(text, last.place));
    let quote = quoted.and_then(|at| text[at..].chars().next());
    let quote = quote.filter(|c| matches!(c, '"' | '\''));
    let names = || on.iter().map(|task| written(task, quote));
    let start = offset(text, list.place)?;
    if text[start..].starts_with('[') {
        let names: Vec<String> = names().collect();
        let names = names.join(", ");
        let Some(first) = items.first() else {
            return Some(TextEdit::insert(start + 1, names));
        };
        return Some(match flow_end(&text[start..]) {
            Some(end) => TextEdit::insert(start + end, format!(", {names}")),
            // The list spans several lines or has comments; only its beginning is safe to edit.
            None => TextEdit::insert(offset(text, first.place)?, format!("{names}, ")),
        });
    }
    let (from, end) = line_of(text, items.last()?.place)?;
    let line = &text[from..end];
    let indent = line.find('-').filter(|at| line[..*at].trim().is_empty())?;
    let mut lines = String::new();
    for name in names() {
        lines.push_str(line_break(text));
        lines.push_str(&line[..indent]);
        lines.push_str("- ");
        lines.push_str(&name);
    }
    Some(TextEdit::insert(end, lines))
}

/// Adds to a key without a value.
fn to_nothing(text: &str, key: &YamlKey, on: &[TaskId]) -> Option<TextEdit> {
    let at = offset(text, key.place)?;
    let (_, end) = line_of(text, key.place)?;
    let colon = at + text[at..end].find(':')?;
    let rest = &text[colon + 1..end];
    let said = rest.split('#').next().unwrap_or("").trim_end();
    let edit = TextEdit {
        from: colon + 1,
        to: colon + 1 + said.len(),
        text: format!(" {}", flow(on)),
    };
    let is_nothing = matches!(said.trim(), "" | "~" | "null" | "Null" | "NULL");
    is_nothing.then_some(edit)
}

/// Adds a list to a task that has none.
fn to_task(text: &str, task: &YamlNode, on: &[TaskId]) -> Option<TextEdit> {
    let start = offset(text, task.place)?;
    if text[start..].starts_with('{') {
        let list = format!(" dependencies: {},", flow(on));
        return Some(TextEdit::insert(start + 1, list));
    }
    let (key, id) = task
        .as_map()?
        .iter()
        .find(|(key, _)| matches!(key.name.as_str(), "id" | "mission_id"))?;
    if key.place.line != id.place.line {
        return None;
    }
    let (from, end) = line_of(text, key.place)?;
    // The keys of a task are aligned, and the first one may follow the dash of a list.
    let column = text[from..offset(text, key.place)?].chars().count();
    let list = format!(
        "{}{:column$}dependencies: {}",
        line_break(text),
        "",
        flow(on)
    );
    Some(TextEdit::insert(end, list))
}

fn flow(on: &[TaskId]) -> String {
    let names: Vec<String> = on.iter().map(|task| written(task, None)).collect();
    format!("[{}]", names.join(", "))
}

/// Writes a task's name in the style of the others, or in quotes where YAML would not read it as
/// text.
fn written(task: &TaskId, quote: Option<char>) -> String {
    let scalar = YamlScalar::plain(task.as_str());
    let is_text = !scalar.is_null()
        && scalar.as_bool().is_none()
        && scalar.as_integer().is_none()
        && scalar.as_number().is_none()
        && task.as_str().starts_with(|c: char| c.is_alphanumeric());
    match quote {
        Some(quote) => format!("{quote}{task}{quote}"),
        None if is_text => task.to_string(),
        None => format!("\"{task}\""),
    }
}

/// Returns the end of a list that begins with `[`, if it ends on the same line and has no comment.
fn flow_end(text: &str) -> Option<usize> {
    let mut quote = None;
    let mut depth = 0_usize;
    let mut last = 0;
    for (at, c) in text.char_indices() {
        match (c, quote) {
            ('\n' | '#', None) | ('\n' | '\\', Some(_)) => return None,
            (c, Some(open)) if c == open => quote = None,
            ('"' | '\'', None) => quote = Some(c),
            ('[', None) => depth += 1,
            // After a trailing comma, another one would be an error.
            (']', None) if depth == 1 => {
                return (!text[..last].ends_with(',')).then_some(last);
            }
            (']', None) => depth -= 1,
            _ => {}
        }
        if !c.is_whitespace() {
            last = at + c.len_utf8();
        }
    }
    None
}

/// Converts a position to a byte offset.
fn offset(text: &str, place: SourcePosition) -> Option<usize> {
    let (from, end) = line_of(text, place)?;
    let column = usize::try_from(place.column).ok()?.checked_sub(1)?;
    let line = text.get(from..end)?;
    let mut ends = line.char_indices().map(|(at, _)| at).chain([line.len()]);
    ends.nth(column).map(|at| from + at)
}

/// Returns the start of the line of a position, and its end without the line break.
fn line_of(text: &str, place: SourcePosition) -> Option<(usize, usize)> {
    let number = usize::try_from(place.line).ok()?.checked_sub(1)?;
    let mut from = text.len() - text.trim_start_matches('\u{feff}').len();
    for _ in 0..number {
        from += text[from..].find('\n')? + 1;
    }
    let end = text[from..].find('\n').map_or(text.len(), |end| from + end);
    let line = text[from..end].trim_end_matches('\r');
    Some((from, from + line.len()))
}

/// Returns the line break that a text uses.
fn line_break(text: &str) -> &'static str {
    if text.contains("\r\n") { "\r\n" } else { "\n" }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn more(task: &str, on: &[&str]) -> BTreeMap<TaskId, Vec<TaskId>> {
        let on = on.iter().map(|id| TaskId::from(*id)).collect();
        BTreeMap::from([(TaskId::from(task), on)])
    }

    #[track_caller]
    fn check(text: &str, on: &[&str], expected: &str) {
        let found = add_dependencies("plan.yml", text, &more("c", on), 100);
        assert_eq!(found.as_deref(), Ok(expected));
    }

    /// Two tasks to depend on, before what a test says.
    const HEAD: &str = "# Mine\ntasks:\n  - id: a\n  - id: b # second\n";

    #[test]
    fn a_list_grows_as_it_is_written() {
        for (before, after) in [
            (
                "dependencies: [] # none yet",
                "dependencies: [b] # none yet",
            ),
            ("dependencies: [a]  # one", "dependencies: [a, b]  # one"),
            ("dependencies: [ \"a\" ]", "dependencies: [ \"a\", \"b\" ]"),
            ("depends_on: ['a']", "depends_on: ['a', 'b']"),
            ("depends_on: [a,]", "depends_on: [b, a,]"),
            (
                "dependencies: [\n      a, # first\n    ]",
                "dependencies: [\n      b, a, # first\n    ]",
            ),
            ("dependencies:", "dependencies: [b]"),
            ("dependencies: ~ # none", "dependencies: [b] # none"),
            (
                "dependencies:\n      - a # first",
                "dependencies:\n      - a # first\n      - b",
            ),
            (
                "dependencies:\n    - \"a\"",
                "dependencies:\n    - \"a\"\n    - \"b\"",
            ),
        ] {
            let text =
                |list: &str| format!("{HEAD}  - id: c\n    {list}\n    # After.\n    files: [x]\n");
            check(&text(before), &["b"], &text(after));
            // At the end of a file, too.
            let text = |list: &str| format!("{HEAD}  - id: c\n    {list}");
            check(&text(before), &["b"], &text(after));
        }
    }

    #[test]
    fn a_task_without_a_list_is_given_one() {
        check(
            &format!("{HEAD}  -   id: c # third\n      files: [x]\n"),
            &["a", "b"],
            &format!("{HEAD}  -   id: c # third\n      dependencies: [a, b]\n      files: [x]\n"),
        );
        check(
            &format!("{HEAD}  - files: [é, x]\n    id: c"),
            &["a"],
            &format!("{HEAD}  - files: [é, x]\n    id: c\n    dependencies: [a]"),
        );
        check(
            &format!("{HEAD}  - {{ id: c, files: [x] }}\n"),
            &["a"],
            &format!("{HEAD}  - {{ dependencies: [a], id: c, files: [x] }}\n"),
        );
        let crlf = HEAD.replace('\n', "\r\n");
        check(
            &format!("{crlf}  - id: c\r\n    files: [x]\r\n"),
            &["a"],
            &format!("{crlf}  - id: c\r\n    dependencies: [a]\r\n    files: [x]\r\n"),
        );
    }

    #[test]
    fn phases_and_features_hold_tasks_too() {
        check(
            "feature:\n  phases:\n    - id: one\n      components:\n        - { id: a }\n        - id: c\n",
            &["a"],
            "feature:\n  phases:\n    - id: one\n      components:\n        - { id: a }\n        - id: c\n          dependencies: [a]\n",
        );
    }

    #[test]
    fn names_that_mean_something_else_are_quoted() {
        let text = "tasks:\n  - id: '12'\n  - id: 'true'\n  - id: c\n";
        check(
            text,
            &["12", "true"],
            "tasks:\n  - id: '12'\n  - id: 'true'\n  - id: c\n    dependencies: [\"12\", \"true\"]\n",
        );
    }

    #[test]
    fn what_cannot_be_changed_for_sure_is_left() {
        // The list belongs to another task as well.
        let shared = "tasks:\n  - id: a\n  - id: b\n    dependencies: &x [a]\n  - id: d\n  - id: c\n    dependencies: *x\n";
        let found = add_dependencies("plan.yml", shared, &more("c", &["d"]), 100);
        assert_eq!(found, Err(AmendError::Unusual("c".into())));
        // A circle is no plan.
        let circle = "tasks:\n  - id: a\n    dependencies: [c]\n  - id: c\n";
        let found = add_dependencies("plan.yml", circle, &more("c", &["a"]), 100);
        assert!(matches!(found, Err(AmendError::Invalid(_))), "{found:?}");
        let found = add_dependencies("plan.yml", "tasks:\n  - id: a\n", &more("c", &["a"]), 100);
        assert_eq!(found, Err(AmendError::Unusual("c".into())));
    }
}
