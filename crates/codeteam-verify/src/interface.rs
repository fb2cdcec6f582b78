//! Compares the functions that a change defines with those of an interface, by their names and
//! parameters. This is weaker than a compiler: it knows no types, and finds an implementation only
//! under the names that the interface uses.

use codeteam_context::language::Language;
use codeteam_context::outline::{Definition, Outline, outline};

use super::change::{ChangeSet, ChangedFile};

/// Returns where a change defines a function of an interface with other parameters, one line each. Files
/// in another language than the interface's are not compared, and neither is the interface's own.
pub fn find_deviations(change: &ChangeSet, path: &str, definition: &str) -> Vec<String> {
    let Some(language) = Language::from_path(path) else {
        return Vec::new();
    };
    let wanted = outline(definition, language);
    let is_comparable = |file: &&ChangedFile| {
        file.path != path && Language::from_path(&file.path) == Some(language)
    };
    let mut deviations = Vec::new();
    for file in change.files.iter().filter(is_comparable) {
        let Some(text) = file.after.text() else {
            continue;
        };
        let made = outline(text, language);
        for function in wanted.functions() {
            let name = full_name(&wanted, function);
            let (own, others) = (parameters(&function.signature), same_name(&made, &name));
            if others.is_empty() || others.iter().any(|d| parameters(&d.signature) == own) {
                continue;
            }
            deviations.extend(others.first().map(|found| {
                format!(
                    "{}:{}: `{}` is `{}` in the interface `{path}`",
                    file.path, found.line, found.signature, function.signature
                )
            }));
        }
    }
    deviations
}

fn same_name<'a>(outline: &'a Outline, name: &str) -> Vec<&'a Definition> {
    let functions = outline.functions();
    functions
        .filter(|function| full_name(outline, function) == name)
        .collect()
}

/// Returns the name of a definition with those of what contains it.
fn full_name(outline: &Outline, definition: &Definition) -> String {
    let mut name = definition.name.clone();
    let mut inside = definition.inside;
    while let Some(outer) = inside.and_then(|at| outline.definitions.get(at as usize)) {
        name = format!("{}.{name}", outer.name);
        inside = outer.inside;
    }
    name
}

/// Returns the names of the parameters in a signature: what is between the outermost parentheses, without
/// types, defaults and the receiver.
fn parameters(signature: &str) -> Vec<String> {
    let Some(open) = signature.find('(') else {
        return Vec::new();
    };
    let (mut depth, mut current, mut all) = (0_i32, String::new(), Vec::new());
    for c in signature[open + 1..].chars() {
        match c {
            ')' if depth == 0 => break,
            ',' if depth == 0 => all.push(std::mem::take(&mut current)),
            _ => {
                match c {
                    '(' | '[' | '{' | '<' => depth += 1,
                    ')' | ']' | '}' | '>' => depth -= 1,
                    _ => {}
                }
                current.push(c);
            }
        }
    }
    all.push(current);
    let named = all.iter().map(|one| {
        let name = one.split([':', '=']).next().unwrap_or_default();
        let words = name.split(|c: char| !(c.is_alphanumeric() || c == '_' || c == '*'));
        // `mut x` in Rust, `x int` in Go, `String x` in Java: the words are compared together.
        let words: Vec<&str> = words.filter(|w| !w.is_empty() && *w != "mut").collect();
        words.join(" ")
    });
    named
        .filter(|name| !name.is_empty() && name != "self" && name != "this")
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::change::FileVersion;

    fn change(path: &str, text: &str) -> ChangeSet {
        ChangeSet {
            files: vec![ChangedFile {
                path: path.to_owned(),
                before: FileVersion::Absent,
                after: FileVersion::Text(text.to_owned()),
                added: Vec::new(),
                removed: Vec::new(),
            }],
        }
    }

    const STORE: &str = "class Store:\n    def find(self, key: str, limit: int = 10) -> list: ...\n\ndef connect(url: str) -> Store: ...\n";

    #[test]
    fn a_function_with_other_parameters_is_found() {
        let made = change(
            "store.py",
            "class Store:\n    def find(self, key):\n        return []\n\n\ndef connect(url):\n    return Store()\n",
        );
        let found = find_deviations(&made, "api/store.pyi", STORE);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(
            found[0].starts_with("store.py:2: `def find(self, key)`"),
            "{found:?}"
        );
    }

    #[test]
    fn types_and_defaults_are_not_compared_and_other_names_are_not_found() {
        let made = change(
            "store.py",
            "class Store:\n    def find(self, key, limit=5):\n        return []\n\n\nclass Other:\n    def find(self):\n        return None\n",
        );
        assert_eq!(find_deviations(&made, "api/store.pyi", STORE), [""; 0]);
    }

    #[test]
    fn another_language_is_not_compared() {
        let made = change("store.ts", "export function connect() {}\n");
        assert_eq!(find_deviations(&made, "api/store.pyi", STORE), [""; 0]);
        let typed = "export declare function connect(url: string): void;\n";
        let found = find_deviations(&made, "types/store.d.ts", typed);
        assert_eq!(found.len(), 1, "{found:?}");
    }
}
