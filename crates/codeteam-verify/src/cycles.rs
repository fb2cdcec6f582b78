//! Finds import cycles that a change introduces.

use std::collections::BTreeSet;

use codeteam_context::imports::ImportGraph;
use codeteam_context::language::Language;
use codeteam_context::outline::{Import, outline};
use codeteam_core::checks::CheckMeasure;

use super::CheckFindings;
use super::change::{ChangeSet, ChangedFile, FileVersion};

/// The imports of a changed file, before and after.
pub struct ImportChange {
    /// The path of the file.
    pub path: String,
    /// The imports before; `None` if the file did not exist.
    pub before: Option<Vec<Import>>,
    /// The imports after; `None` if the file was deleted.
    pub after: Option<Vec<Import>>,
}

/// Returns the changed files with their imports before and after. Returns `None` if the change
/// cannot have created a cycle; the rest of the tree then need not be read.
pub fn import_changes(change: &ChangeSet) -> Option<Vec<ImportChange>> {
    let imports = |side: &FileVersion, file: &ChangedFile| -> Option<Vec<Import>> {
        if !side.exists() {
            return None;
        }
        let parsed = side.text().zip(Language::from_path(&file.path));
        Some(
            parsed
                .map(|(text, language)| outline(text, language).imports)
                .unwrap_or_default(),
        )
    };
    let turned: Vec<ImportChange> = change
        .files
        .iter()
        .map(|file| ImportChange {
            path: file.path.clone(),
            before: imports(&file.before, file),
            after: imports(&file.after, file),
        })
        .collect();
    // Only the imported statements count, because lines move. A new file may be the target of an
    // import that existed before.
    let said = |imports: Option<&Vec<Import>>| -> BTreeSet<String> {
        let imports = imports.into_iter().flatten();
        imports.map(|import| import.statement.clone()).collect()
    };
    let matters = turned.iter().any(|file| {
        let (before, after) = (said(file.before.as_ref()), said(file.after.as_ref()));
        file.after.is_some() && (!after.is_subset(&before) || is_manifest(&file.path))
    });
    matters.then_some(turned)
}

/// Returns true if a file configures where imports lead.
fn is_manifest(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    matches!(
        name,
        "package.json" | "tsconfig.json" | "Cargo.toml" | "go.mod" | "pyproject.toml"
    )
}

/// Compares the import cycles of two trees. The check fails if there are more than `max` and at
/// least one is new.
pub fn check_cycles(before: &ImportGraph, after: &ImportGraph, max: u64) -> CheckFindings {
    let known: Vec<BTreeSet<&str>> = before
        .cycles()
        .into_iter()
        .map(|ring| ring.into_iter().collect())
        .collect();
    let now = after.cycles();
    let is_new = |ring: &Vec<&str>| {
        let ring: BTreeSet<&str> = ring.iter().copied().collect();
        !known.iter().any(|known| ring.is_subset(known))
    };
    let new: Vec<&Vec<&str>> = now.iter().filter(|ring| is_new(ring)).collect();
    let count = now.len() as u64;
    let fails = count > max && !new.is_empty();
    let mut found = CheckFindings {
        measures: vec![CheckMeasure {
            of: "Import Cycles".to_owned(),
            passed: !fails,
            found: format!("{count}/{max} cycles"),
        }],
        ..CheckFindings::default()
    };
    for ring in &new {
        let line = describe_cycle(ring, before, after);
        if fails {
            found.failures.push(line);
        } else {
            found.notes.push(line);
        }
    }
    if new.is_empty() && count > max {
        let more = if count == 1 { "" } else { "s" };
        found.notes.push(format!(
            "{count} ring{more} of imports, above the limit of {max} as before"
        ));
    }
    found
}

/// Describes a cycle, with the import that closed it.
fn describe_cycle(ring: &[&str], before: &ImportGraph, after: &ImportGraph) -> String {
    let mut closing = None;
    for from in ring {
        let earlier = before.imports_of(from);
        for to in after.imports_of(from) {
            if ring.contains(&to) && !earlier.contains(&to) {
                let shown = after.import_statements(from, to).into_iter().next();
                closing = closing.or(shown.map(|shown| (*from, shown)));
            }
        }
    }
    let mut names: Vec<&str> = ring.iter().copied().take(6).collect();
    let more = ring.len() - names.len();
    let rest = format!("{more} more");
    if more > 0 {
        names.push(&rest);
    }
    let names = names.join(", ");
    match closing {
        Some((file, shown)) => format!(
            "{file}:{}: `{}` closes a ring of imports ({names}); take it out, or move what both \
             need into a file of its own",
            shown.line, shown.statement
        ),
        None => format!("these files import each other now: {names}; take one of the imports out"),
    }
}

#[cfg(test)]
mod tests {
    use codeteam_context::imports::SourceFile;

    use super::*;

    fn graph(files: &[(&str, &str)]) -> ImportGraph {
        let parsed: Vec<(&str, Vec<Import>)> = files
            .iter()
            .map(|(path, text)| (*path, outline(text, Language::Python).imports))
            .collect();
        let sources: Vec<SourceFile<'_>> = parsed
            .iter()
            .map(|(path, imports)| SourceFile { path, imports })
            .collect();
        ImportGraph::from_sources(&sources, &|_| None)
    }

    #[test]
    fn a_new_ring_is_named_with_the_import_that_closes_it() {
        let before = graph(&[("p/a.py", "import p.b\n"), ("p/b.py", "")]);
        let after = graph(&[
            ("p/a.py", "import p.b\n"),
            ("p/b.py", "x = 1\nimport p.a\n"),
        ]);
        let found = check_cycles(&before, &after, 0);
        assert_eq!(
            found.failures,
            [
                "p/b.py:2: `import p.a` closes a ring of imports (p/a.py, p/b.py); take it out, or \
                 move what both need into a file of its own"
            ]
        );
        assert_eq!(found.measures[0].found, "1/0 cycles");
        assert!(check_cycles(&before, &after, 1).failures.is_empty());
        let old = check_cycles(&after, &after, 0);
        assert_eq!((old.failures.len(), old.notes.len()), (0, 1));
        let gone = check_cycles(&after, &before, 0);
        assert_eq!((gone.failures.len(), gone.notes.len()), (0, 0));
    }

    #[test]
    fn a_change_that_imports_nothing_more_makes_no_ring() {
        let same = ChangeSet::between_texts(&[
            ("a.py", Some("import b\n"), Some("x = 1\nimport b\n")),
            ("c.py", Some("import d\n"), None),
            ("n.md", None, Some("import e\n")),
        ]);
        assert!(import_changes(&same).is_none());
        let more =
            ChangeSet::between_texts(&[("a.py", Some("import b\n"), Some("import b\nimport c\n"))]);
        assert_eq!(import_changes(&more).unwrap().len(), 1);
    }
}
