//! Reads the facts about the risk of a change: which named sets of paths it touches, how large it
//! is, and which public definitions it removes or changes.
//!
//! Nothing here judges. Whatever cannot be read is listed in [`RiskFacts::unread`], so that it is
//! known to be unknown.

use std::collections::BTreeMap;

use codeteam_context::language::Language;
use codeteam_context::outline::{Definition, DefinitionKind, outline};
use codeteam_core::risk::{BreakingChange, PathSetMatch, RiskFacts};
use codeteam_patterns::FilePatterns;

use super::change::{ChangeSet, ChangedFile, FileVersion};
use super::proof::TestPatterns;
use super::source::{describes_interface, is_source};

/// The most files that a match of a set names.
const FILES: usize = 5;
/// The most definitions and files that are listed.
const ENTRIES: usize = 20;

/// Named sets of paths, such as `auth`.
#[derive(Clone, Debug)]
pub struct NamedPathSets(Vec<(String, FilePatterns)>);

impl NamedPathSets {
    /// Compiles the patterns of all sets. Case does not matter, because the same names are written
    /// `auth_controller`, `AuthController` and `AUTH.md`.
    pub fn new(sets: &BTreeMap<String, Vec<String>>) -> Self {
        let sets = sets.iter();
        let compiled = sets.map(|(name, patterns)| {
            let patterns = FilePatterns::lenient_case_insensitive(patterns);
            (name.clone(), patterns)
        });
        Self(compiled.collect())
    }

    fn find_matches(&self, change: &ChangeSet) -> Vec<PathSetMatch> {
        let found = self.0.iter().filter_map(|(set, patterns)| {
            let paths = change.files.iter().map(|file| &file.path);
            let touched: Vec<&String> = paths.filter(|path| patterns.matches(path)).collect();
            (!touched.is_empty()).then(|| PathSetMatch {
                set: set.clone(),
                more: count(touched.len().saturating_sub(FILES)),
                files: touched.into_iter().take(FILES).cloned().collect(),
            })
        });
        found.collect()
    }
}

/// Reads the facts about a change.
pub fn read_risk_facts(
    change: &ChangeSet,
    sets: &NamedPathSets,
    tests: &TestPatterns,
) -> RiskFacts {
    let mut facts = RiskFacts {
        files: count(change.files.len()),
        lines: count_lines(change),
        paths: sets.find_matches(change),
        ..RiskFacts::default()
    };
    for file in change.files.iter().filter(|f| !tests.is_test(&f.path)) {
        match compare_public_definitions(file) {
            Some(broken) => facts.breaking.extend(broken),
            None => facts.unread.push(file.path.clone()),
        }
    }
    facts.breaking.truncate(ENTRIES);
    facts.unread.truncate(ENTRIES);
    facts
}

fn count(of: usize) -> u32 {
    u32::try_from(of).unwrap_or(u32::MAX)
}

/// Returns the number of lines added and removed, if everything in the change is lines.
fn count_lines(change: &ChangeSet) -> Option<u32> {
    let is_text =
        |version: &FileVersion| matches!(version, FileVersion::Text(_) | FileVersion::Absent);
    let mut files = change.files.iter();
    let all = files.all(|file| is_text(&file.before) && is_text(&file.after));
    let lines = change.files.iter().map(|f| f.added.len() + f.removed.len());
    all.then(|| count(lines.sum()))
}

/// Returns the public definitions of a file that are gone or have another signature; `None` if that
/// cannot be found out.
fn compare_public_definitions(file: &ChangedFile) -> Option<Vec<BreakingChange>> {
    if !file.before.exists() {
        return Some(Vec::new());
    }
    if describes_interface(&file.path) {
        return None;
    }
    if !is_source(&file.path) {
        return Some(Vec::new());
    }
    let language = Language::from_path(&file.path)?;
    let before = public_signatures(file.before.text()?, language);
    let after = match &file.after {
        FileVersion::Absent => BTreeMap::new(),
        version => public_signatures(version.text()?, language),
    };
    let none = Vec::new();
    let mut broken = Vec::new();
    for (key, signatures) in &before {
        let now = after.get(key).unwrap_or(&none);
        let mut left: Vec<&String> = now.iter().filter(|s| !signatures.contains(s)).collect();
        left.reverse();
        // The value of a constant is not part of what others rely on to compile.
        let is_value = key.1 == DefinitionKind::Value;
        for signature in signatures.iter().filter(|s| !now.contains(s)) {
            if is_value && !now.is_empty() {
                continue;
            }
            broken.push(BreakingChange {
                file: file.path.clone(),
                before: signature.clone(),
                after: left.pop().cloned(),
            });
        }
    }
    Some(broken)
}

/// The full name of a definition, and its kind.
type DefinitionKey = (String, DefinitionKind);

/// Returns the signatures of all definitions that other files can see, by their full names.
fn public_signatures(text: &str, language: Language) -> BTreeMap<DefinitionKey, Vec<String>> {
    let outline = outline(text, language);
    let all = &outline.definitions;
    let mut found: BTreeMap<DefinitionKey, Vec<String>> = BTreeMap::new();
    for definition in all.iter().filter(|d| d.kind.has_own_name()) {
        if let Some(name) = public_name(all, definition) {
            let signatures = found.entry((name, definition.kind)).or_default();
            signatures.push(definition.signature.clone());
        }
    }
    found
}

/// Returns the full name of a definition, if it and everything it is in can be seen by other files.
fn public_name(all: &[Definition], definition: &Definition) -> Option<String> {
    let mut name = definition.name.clone();
    let mut here = definition;
    loop {
        if !here.public {
            return None;
        }
        let Some(outer) = here.inside.and_then(|at| all.get(at as usize)) else {
            return Some(name);
        };
        if matches!(
            outer.kind,
            DefinitionKind::Function | DefinitionKind::Method
        ) {
            return None;
        }
        name = format!("{}.{name}", outer.name);
        if outer.kind == DefinitionKind::Impl {
            // Whether the type can be seen is said where it is defined.
            return Some(name);
        }
        here = outer;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type TestFile<'a> = (&'a str, Option<&'a str>, Option<&'a str>);

    fn facts(files: &[TestFile<'_>]) -> RiskFacts {
        let sets = [
            ("auth", ["**/*auth*", "**/login/**"]),
            ("migrations", ["**/migrations/**", "**/*.sql"]),
        ];
        let sets =
            sets.map(|(name, patterns)| (name.to_owned(), patterns.map(str::to_owned).to_vec()));
        let tests = TestPatterns::new(&["**/tests/**".to_owned()]);
        let change = ChangeSet::between_texts(files);
        read_risk_facts(&change, &NamedPathSets::new(&sets.into()), &tests)
    }

    fn broken(path: &str, before: &str, after: Option<&str>) -> Vec<String> {
        let found = facts(&[(path, Some(before), after)]);
        assert_eq!(found.unread, [] as [String; 0]);
        found
            .breaking
            .iter()
            .map(BreakingChange::describe)
            .collect()
    }

    #[test]
    fn a_change_is_measured_and_its_paths_are_named() {
        let found = facts(&[
            ("api/auth.py", None, Some("def login(user):\n    pass\n")),
            ("db/migrations/1.sql", None, Some("SELECT 1;\n")),
            ("README.md", Some("old\n"), Some("new\n")),
        ]);
        assert_eq!((found.files, found.lines), (3, Some(5)));
        let named: Vec<(&str, &str)> = found
            .paths
            .iter()
            .map(|found| (found.set.as_str(), found.files[0].as_str()))
            .collect();
        assert_eq!(
            named,
            [
                ("auth", "api/auth.py"),
                ("migrations", "db/migrations/1.sql")
            ]
        );
        assert!(found.breaking.is_empty() && found.unread.is_empty());
    }

    #[test]
    fn public_signatures_that_are_gone_or_changed_are_found_in_every_language() {
        assert_eq!(
            broken(
                "src/lib.rs",
                "pub fn add(a: u32) -> u32 { a }\npub fn kept() {}\nfn own() {}\n",
                Some("pub fn add(a: u64) -> u64 { a }\npub fn kept() { own() }\n"),
            ),
            ["`pub fn add(a: u32) -> u32` is now `pub fn add(a: u64) -> u64` in `src/lib.rs`"]
        );
        assert_eq!(
            broken(
                "api.py",
                "def pay(amount):\n    return 1\n\ndef _own():\n    pass\n",
                Some("def _own(x):\n    pass\n")
            ),
            ["`def pay(amount)` is gone from `api.py`"]
        );
        let gone = broken("a.ts", "export function f(a: string): void {}\n", None);
        assert_eq!(gone.len(), 1, "{gone:?}");
        assert!(gone[0].contains("is gone from `a.ts`"), "{gone:?}");
    }

    #[test]
    fn what_only_adds_or_is_private_or_a_test_breaks_nothing() {
        let before = "def pay(amount):\n    return 1\n\nLIMIT = 3\n";
        let after = "LIMIT = 4\n\ndef pay(amount):\n    return 2\n\ndef more():\n    pass\n";
        assert_eq!(broken("api.py", before, Some(after)), [] as [String; 0]);
        assert_eq!(broken("tests/a.py", before, None), [] as [String; 0]);
        assert_eq!(broken("notes.md", "# Pay\n", None), [] as [String; 0]);
    }

    #[test]
    fn a_language_that_cannot_be_read_is_not_known_to_be_fine() {
        let found = facts(&[
            ("run.sh", Some("pay() { :; }\n"), Some("pay() { echo; }\n")),
            ("new.sh", None, Some("pay() { :; }\n")),
        ]);
        assert_eq!(found.unread, ["run.sh"]);
    }

    #[test]
    fn a_description_of_an_interface_is_not_known_to_be_fine() {
        for path in [
            "api/pay.proto",
            "schema.graphql",
            "OpenAPI.yaml",
            "index.d.ts",
        ] {
            let found = facts(&[(path, Some("a\n"), Some("b\n"))]);
            assert_eq!(found.unread, [path]);
            assert_eq!(
                facts(&[(path, None, Some("b\n"))]).unread,
                [] as [String; 0]
            );
        }
    }

    #[test]
    fn case_does_not_matter_in_paths() {
        for path in ["src/main/java/AuthController.java", "src/Login/form.ts"] {
            let found = facts(&[(path, None, Some("x\n"))]);
            assert_eq!(found.paths[0].set, "auth", "{path}");
        }
    }

    #[test]
    fn what_is_not_lines_is_not_counted() {
        let files = [(
            "logo.png".to_owned(),
            FileVersion::Absent,
            FileVersion::from_bytes(Some(b"\x89PNG\0")),
        )];
        let change = ChangeSet::new(files, b"");
        assert_eq!(count_lines(&change), None);
    }
}
