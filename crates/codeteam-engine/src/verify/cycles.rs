//! Files that import each other since a change.

use std::collections::BTreeSet;

use codeteam_context::imports::ImportGraph;
use codeteam_context::language::Language;
use codeteam_context::outline::{Import, outline};
use codeteam_core::event::CheckMeasure;

use super::CheckFindings;
use super::change::{ChangeSet, ChangedFile, FileVersion};

/// What a file of a change imported, and imports.
pub struct ImportChange {
    /// Its path.
    pub path: String,
    /// Before; none if it was not there.
    pub before: Option<Vec<Import>>,
    /// After; none if it is gone.
    pub after: Option<Vec<Import>>,
}

/// The files of a change, with what they imported and import. Nothing if no ring can have come of
/// it: then the rest of the tree need not be looked at.
pub fn turned(change: &ChangeSet) -> Option<Vec<ImportChange>> {
    let imports = |side: &FileVersion, file: &ChangedFile| -> Option<Vec<Import>> {
        if !side.is_there() {
            return None;
        }
        let parsed = side.text().zip(Language::of(&file.path));
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
    // Lines move; what is imported is what counts. A file that came may be what others meant.
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

/// Whether a file says where imports lead.
fn is_manifest(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    matches!(
        name,
        "package.json" | "tsconfig.json" | "Cargo.toml" | "go.mod" | "pyproject.toml"
    )
}

/// Compares the rings of two trees: more than `max` are wrong, if one has come.
pub fn cycles(before: &ImportGraph, after: &ImportGraph, max: u64) -> CheckFindings {
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
        let line = told(ring, before, after);
        if fails {
            found.wrong.push(line);
        } else {
            found.told.push(line);
        }
    }
    if new.is_empty() && count > max {
        let more = if count == 1 { "" } else { "s" };
        found.told.push(format!(
            "{count} ring{more} of imports, above the limit of {max} as before"
        ));
    }
    found
}

/// A ring in words, with the import that closed it.
fn told(ring: &[&str], before: &ImportGraph, after: &ImportGraph) -> String {
    let mut closing = None;
    for from in ring {
        let earlier = before.imports_of(from);
        for to in after.imports_of(from) {
            if ring.contains(&to) && !earlier.contains(&to) {
                let shown = after.why(from, to).into_iter().next();
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
        ImportGraph::of(&sources, &|_| None)
    }

    #[test]
    fn a_new_ring_is_named_with_the_import_that_closes_it() {
        let before = graph(&[("p/a.py", "import p.b\n"), ("p/b.py", "")]);
        let after = graph(&[
            ("p/a.py", "import p.b\n"),
            ("p/b.py", "x = 1\nimport p.a\n"),
        ]);
        let found = cycles(&before, &after, 0);
        assert_eq!(
            found.wrong,
            [
                "p/b.py:2: `import p.a` closes a ring of imports (p/a.py, p/b.py); take it out, or \
                 move what both need into a file of its own"
            ]
        );
        assert_eq!(found.measures[0].found, "1/0 cycles");
        assert!(cycles(&before, &after, 1).wrong.is_empty());
        let old = cycles(&after, &after, 0);
        assert_eq!((old.wrong.len(), old.told.len()), (0, 1));
        let gone = cycles(&after, &before, 0);
        assert_eq!((gone.wrong.len(), gone.told.len()), (0, 0));
    }

    #[test]
    fn a_change_that_imports_nothing_more_makes_no_ring() {
        let same = ChangeSet::between(&[
            ("a.py", Some("import b\n"), Some("x = 1\nimport b\n")),
            ("c.py", Some("import d\n"), None),
            ("n.md", None, Some("import e\n")),
        ]);
        assert!(turned(&same).is_none());
        let more =
            ChangeSet::between(&[("a.py", Some("import b\n"), Some("import b\nimport c\n"))]);
        assert_eq!(turned(&more).unwrap().len(), 1);
    }
}
