//! Reads the files chosen for a context, removes their secrets, and returns parts ready to be
//! fitted into a budget.

use std::collections::{BTreeMap, BTreeSet};

use crate::budget::{ContextItem, ContextPart, PartRequirement, ShorteningMethod};
use crate::files::FileContent;
use crate::language::Language;
use crate::listing;
use crate::map;
use crate::outline::{self, Definition};
use crate::quoted;
use crate::redact::Redactor;
use crate::strategy::{
    self, ContextSelection, FileForm, PartBody, PickedFile, ProjectFacts, TARGET,
};

/// The depth to which folders are listed when there is no room for their files.
const DEPTH: usize = 3;
/// The size of a repository map, in tokens.
pub(crate) const MAP_TOKENS: usize = 2_048;

/// Inputs that cannot be read from files.
pub struct ContextInputs<'a> {
    /// The diff of the change.
    pub diff: Option<&'a str>,
    /// The diff since the change was last judged.
    pub changes: Option<&'a str>,
    /// Draws the map of the repository within the given number of tokens.
    pub map: &'a dyn Fn(usize) -> String,
    /// Whether the worker sees nothing of the project but this context.
    pub blind: bool,
    /// Whether the task itself names its files. If not, the files it is most likely about are used
    /// instead.
    pub names_targets: bool,
}

/// The parts of a context, read and redacted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AssembledContext {
    /// The parts, in order of priority.
    pub parts: Vec<ContextPart>,
    /// The number of secrets removed, by file.
    pub redacted: BTreeMap<String, u32>,
    /// Files that do not exist yet and are to be created.
    pub missing: Vec<String>,
    /// Files that are not text, are too long, or could not be read.
    pub unreadable: Vec<String>,
    /// Changed files whose diff is withheld because the role may not see them.
    pub withheld: BTreeSet<String>,
}

/// Reads the parts of a context.
pub fn assemble(
    choice: &ContextSelection,
    given: &ContextInputs<'_>,
    project: &dyn ProjectFacts,
    redactor: &Redactor,
) -> AssembledContext {
    let mut assembled = AssembledContext::default();
    for part in &choice.parts {
        let mut items: Vec<ContextItem> = match &part.body {
            PartBody::Files(picks) => {
                let read = picks
                    .iter()
                    .filter_map(|pick| assembled.read_item(pick, project, redactor));
                read.collect()
            }
            PartBody::Special => {
                assembled.special_items(&part.name, choice, given, project, redactor)
            }
        };
        let need = match part.name.as_str() {
            TARGET if given.blind && given.names_targets => PartRequirement::Whole,
            strategy::DIFF if given.blind => PartRequirement::Shortened,
            _ => PartRequirement::Wanted,
        };
        if given.blind && part.name == TARGET {
            // Whoever rewrites a file must have all of it, or none.
            for item in &mut items {
                item.shortening = ShorteningMethod::No;
            }
        }
        if !items.is_empty() {
            assembled.parts.push(ContextPart {
                name: part.name.clone(),
                need,
                items,
            });
        }
    }
    assembled
}

impl AssembledContext {
    /// Reads a file in the form in which it was picked.
    fn read_item(
        &mut self,
        pick: &PickedFile,
        project: &dyn ProjectFacts,
        redactor: &Redactor,
    ) -> Option<ContextItem> {
        let Some(at) = pick.at else {
            self.missing.push(pick.path.clone());
            return None;
        };
        let FileContent::Text(text) = project.files().read(at) else {
            self.unreadable.push(pick.path.clone());
            return None;
        };
        let text = self.redact(&pick.path, &text, redactor);
        let language = Language::from_path(&pick.path);
        let short = language.map_or(ShorteningMethod::Beginning, ShorteningMethod::Signatures);
        let whole = |text, short| ContextItem {
            name: pick.path.clone(),
            text,
            shortening: short,
            shortened: false,
        };
        let less = |text| ContextItem {
            shortened: true,
            ..whole(text, ShorteningMethod::No)
        };
        Some(match (pick.form, language) {
            // A file without a grammar has no internals that could be held back, so it is shown
            // whole, unless it is hidden altogether.
            (FileForm::Whole, _) | (_, None) => whole(text, short),
            (FileForm::Signatures, Some(language)) => match outline::signatures(&text, language) {
                Some(signatures) => less(signatures),
                None => whole(text, ShorteningMethod::Beginning),
            },
            (FileForm::Public, Some(language)) => less(public_declarations(&text, language)?),
        })
    }

    fn special_items(
        &mut self,
        name: &str,
        choice: &ContextSelection,
        given: &ContextInputs<'_>,
        project: &dyn ProjectFacts,
        redactor: &Redactor,
    ) -> Vec<ContextItem> {
        let one = |text: String, short: String| ContextItem {
            name: name.to_owned(),
            shortening: ShorteningMethod::By(short),
            text,
            shortened: false,
        };
        match name {
            strategy::DIFF => self.diff_items(given.diff, choice, redactor),
            strategy::CHANGES => self.diff_items(given.changes, choice, redactor),
            strategy::MAP => {
                let map = |tokens| map::redact_map_text(&(given.map)(tokens), redactor).0;
                vec![one(map(MAP_TOKENS), map(MAP_TOKENS / 4))]
            }
            strategy::TREE => {
                let paths = project.files().list().iter();
                let paths: Vec<&str> = paths.map(|file| file.path.as_str()).collect();
                vec![one(
                    listing::draw_tree(&paths),
                    listing::draw_folders(&paths, DEPTH),
                )]
            }
            _ => Vec::new(),
        }
        .into_iter()
        .filter(|item| !item.text.trim().is_empty())
        .collect()
    }

    /// Splits a diff by file: code before tests, and handwritten files before generated ones.
    fn diff_items(
        &mut self,
        diff: Option<&str>,
        choice: &ContextSelection,
        redactor: &Redactor,
    ) -> Vec<ContextItem> {
        let mut files: Vec<(u8, ContextItem)> = Vec::new();
        for (path, text) in split_diff_by_file(diff.unwrap_or_default()) {
            if !choice.shows_changes_of(&path) {
                self.withheld.insert(path);
                continue;
            }
            let text = self.redact(&path, text, redactor);
            let item = ContextItem {
                text,
                shortening: ShorteningMethod::Diff,
                shortened: false,
                name: path.clone(),
            };
            files.push((diff_order(&path), item));
        }
        files.sort_by_key(|(weight, _)| *weight);
        files.into_iter().map(|(_, item)| item).collect()
    }

    fn redact(&mut self, path: &str, text: &str, redactor: &Redactor) -> String {
        let redacted = redactor.redact(text);
        let count: usize = redacted.hits.values().sum();
        if count > 0 {
            let count = u32::try_from(count).unwrap_or(u32::MAX);
            // The same file may be shown both whole and in a diff, so its secrets are counted once.
            let before = self.redacted.entry(path.to_owned()).or_default();
            *before = (*before).max(count);
        }
        redacted.text.into_owned()
    }
}

/// Returns the rank of a file in a diff; higher ranks come later.
fn diff_order(path: &str) -> u8 {
    let name = path.rsplit('/').next().unwrap_or(path);
    let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending);
    let is_made = matches!(ending, "lock" | "snap" | "svg" | "sum")
        || name.contains("-lock.")
        || name.contains(".min.");
    match (is_made, Language::from_path(path)) {
        (true, _) => 2,
        (false, Some(_)) => 0,
        (false, None) => 1,
    }
}

/// Splits a diff into pieces, each with the file it is about.
fn split_diff_by_file(diff: &str) -> Vec<(String, &str)> {
    let mut starts: Vec<usize> = Vec::new();
    let mut at = 0;
    for line in diff.split_inclusive('\n') {
        if line.starts_with("diff --git ") {
            starts.push(at);
        }
        at += line.len();
    }
    if starts.first() != Some(&0) && !diff.trim().is_empty() {
        starts.insert(0, 0);
    }
    starts.push(diff.len());
    let pieces = starts.windows(2).map(|ends| &diff[ends[0]..ends[1]]);
    pieces.map(|piece| (diff_path(piece), piece)).collect()
}

/// Returns the file that a piece of a diff is about: the new name if there is one.
fn diff_path(piece: &str) -> String {
    let header = piece.lines().take_while(|line| !line.starts_with("@@"));
    let mut found = None;
    for line in header {
        let side = |mark: &str, side: &str| {
            let name = quoted::unquote_text(line.strip_prefix(mark)?.trim_end_matches('\t'));
            Some(name.strip_prefix(side)?.to_owned())
        };
        let moved = |mark: &str| line.strip_prefix(mark).map(quoted::unquote_text);
        let named = side("--- ", "a/")
            .or_else(|| side("+++ ", "b/"))
            .or_else(|| moved("rename to "))
            .or_else(|| moved("copy to "));
        found = named.or(found);
    }
    let first = piece.lines().next().unwrap_or_default();
    found
        .or_else(|| same_twice(first.strip_prefix("diff --git ")?))
        .unwrap_or_else(|| strategy::DIFF.to_owned())
}

/// Parses the name in `a/name b/name`. The name may contain ` b/`, so only its length tells where
/// the second copy starts.
fn same_twice(names: &str) -> Option<String> {
    let (one, other) = names.split_at_checked(names.len() / 2)?;
    let (one, other) = (
        quoted::unquote_text(one),
        quoted::unquote_text(other.strip_prefix(' ')?),
    );
    let name = other.strip_prefix("b/")?;
    (one.strip_prefix("a/")? == name).then(|| name.to_owned())
}

/// Returns the public declarations of a file.
fn public_declarations(text: &str, language: Language) -> Option<String> {
    let definitions = outline::outline(text, language).definitions;
    let is_public = |definition: &Definition| {
        let mut at = Some(definition);
        while let Some(one) = at {
            if !one.public {
                return false;
            }
            at = one.inside.and_then(|i| definitions.get(i as usize));
        }
        true
    };
    let depth = |definition: &Definition| {
        let mut depth = 0;
        let mut at = definition.inside;
        while let Some(outer) = at.and_then(|i| definitions.get(i as usize)) {
            depth += 1;
            at = outer.inside;
        }
        depth
    };
    let lines: Vec<String> = definitions
        .iter()
        .filter(|definition| is_public(definition))
        .map(|definition| {
            let indent = "    ".repeat(depth(definition));
            let lines = definition.signature.lines();
            let lines: Vec<String> = lines.map(|line| format!("{indent}{line}")).collect();
            lines.join("\n")
        })
        .collect();
    (!lines.is_empty()).then(|| lines.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_diff_is_taken_apart() {
        let diff = "diff --git a/Cargo.lock b/Cargo.lock\n--- a/Cargo.lock\n+++ b/Cargo.lock\n@@ -1 +1 @@\n-1\n+2\n\
                    diff --git a/docs/a b.md b/docs/a b.md\nnew file mode 100644\n--- /dev/null\n+++ b/docs/a b.md\t\n@@ -0,0 +1 @@\n+--- a/fooled\n\
                    diff --git a/old.py b/new.py\nsimilarity index 100%\nrename from old.py\nrename to new.py\n\
                    diff --git a/gone.rs b/gone.rs\n--- a/gone.rs\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n\
                    diff --git a/bin b/bin\nBinary files a/bin and b/bin differ\n";
        let pieces = split_diff_by_file(diff);
        let paths: Vec<&str> = pieces.iter().map(|(path, _)| path.as_str()).collect();
        assert_eq!(
            paths,
            ["Cargo.lock", "docs/a b.md", "new.py", "gone.rs", "bin"]
        );
        let whole: String = pieces.iter().map(|(_, piece)| *piece).collect();
        assert_eq!(whole, diff);
        let mut assembled = AssembledContext::default();
        let items =
            assembled.diff_items(Some(diff), &ContextSelection::default(), &Redactor::new([]));
        let order: Vec<&str> = items.iter().map(|item| item.name.as_str()).collect();
        assert_eq!(
            order,
            ["new.py", "gone.rs", "docs/a b.md", "bin", "Cargo.lock"]
        );
        assert_eq!(split_diff_by_file("").len(), 0);
        assert_eq!(split_diff_by_file("no diff at all")[0].0, "diff");
    }

    #[test]
    fn no_name_passes_a_change_off_as_another_files() {
        for (piece, path) in [
            (
                "diff --git a/x b/tests/y b/x b/tests/y\nold mode 100644\nnew mode 100755\n",
                "x b/tests/y",
            ),
            (
                "diff --git \"a/tests/\\\"y\" \"b/tests/\\\"y\"\nBinary files differ\n",
                "tests/\"y",
            ),
            (
                "diff --git \"a/tests/\\ty\" \"b/tests/\\ty\"\n--- \"a/tests/\\ty\"\n+++ \"b/tests/\\ty\"\n@@ -1 +1 @@\n-1\n+2\n",
                "tests/\ty",
            ),
            (
                "diff --git \"a/\\346\\227\" \"b/\\346\\227\"\nnew file mode 100644\n",
                "\u{fffd}",
            ),
        ] {
            assert_eq!(diff_path(piece), path, "{piece}");
        }
    }

    #[test]
    fn secrets_are_counted_by_file() {
        let key = "ghp_0123456789abcdefghijABCDEFGHIJ012345";
        let diff = format!(
            "diff --git a/a.env b/a.env\n--- a/a.env\n+++ b/a.env\n@@ -1 +1 @@\n-x\n+TOKEN={key}\n"
        );
        let mut assembled = AssembledContext::default();
        let items = assembled.diff_items(
            Some(&diff),
            &ContextSelection::default(),
            &Redactor::new([]),
        );
        assert!(!items[0].text.contains(key), "{}", items[0].text);
        assert_eq!(
            assembled.redacted,
            BTreeMap::from([("a.env".to_owned(), 1)])
        );
    }
}
