//! Holds the line: names of types, and cycles between modules.

use std::fs;
use std::path::Path;

use codeteam_source_lint::{
    DeclarationIndex, find_policy_and_prose, find_run_readers, index_declarations,
    measure_workspace, workspace_root,
};

/// At most so many of a crate's types share their name with another one of it.
const MOST_SHARED_PERCENT: usize = 20;
/// At most so many have a name of one word.
const MOST_ONE_WORD_PERCENT: usize = 35;

#[test]
fn types_have_names_of_their_own() {
    for report in measure_workspace(&workspace_root()).unwrap() {
        let (name, types) = (&report.name, &report.types);
        assert!(
            types.shared_percent() <= MOST_SHARED_PERCENT,
            "{name}: {} % of type names are shared: {:?}",
            types.shared_percent(),
            types.shared()
        );
        assert!(
            types.one_word_percent() <= MOST_ONE_WORD_PERCENT,
            "{name}: {} % of type names are one word",
            types.one_word_percent()
        );
    }
}

#[test]
fn modules_depend_on_each_other_in_one_direction() {
    for report in measure_workspace(&workspace_root()).unwrap() {
        let name = &report.name;
        assert!(report.cycles.is_empty(), "{name}: {:?}", report.cycles);
    }
}

/// What is decided, and what is said, is in the events: replay must not depend on today's rules.
#[test]
fn events_are_applied_without_policy_and_prose() {
    let core = workspace_root().join("crates/codeteam-core/src/lib.rs");
    let found = find_policy_and_prose(&core, &["run", "fold"]).unwrap();
    assert_eq!(found, [""; 0]);
}

/// Every surface shows the same, because all of them read the views of codeteam-report.
#[test]
fn surfaces_read_views_and_not_the_run() {
    // They implement the driver's `RunObserver`, which is called with the run, and pass it on.
    const OBSERVERS: [&str; 2] = ["progress", "cli::talk::question_queue"];
    let surfaces = [
        ("codeteam", "main.rs"),
        ("codeteam-mcp", "lib.rs"),
        ("codeteam-tui", "lib.rs"),
        ("codeteam-web", "lib.rs"),
    ];
    for (surface, root) in surfaces {
        let folder = workspace_root().join("crates").join(surface);
        let found = find_run_readers(&folder.join("src").join(root), &OBSERVERS);
        assert_eq!(found.unwrap(), [""; 0], "{surface}");
    }
}

#[test]
fn nothing_is_public_that_nobody_outside_needs() {
    for report in measure_workspace(&workspace_root()).unwrap() {
        let name = &report.name;
        assert_eq!(report.unused_public, [""; 0], "in {name}");
    }
}

/// Words of the workflow language, which stand in backticks and are no names of the source.
const WORKFLOW_WORDS: [&str; 3] = ["when", "each", "commit"];

/// The page says that one search for a name of this section finds it, or that its file is given.
#[test]
fn every_name_in_the_walk_of_one_run_is_declared_once() {
    let text = fs::read_to_string(workspace_root().join("ARCHITECTURE.md")).unwrap();
    let (_, after) = text.split_once("\n## One run, from").unwrap();
    let (section, _) = after.split_once("\n## ").unwrap();
    let index = index_declarations(&workspace_root()).unwrap();
    let names = named_in(section);
    let wrong: Vec<String> = names
        .iter()
        .filter_map(|(name, file)| declaration_problem(&index, name, *file))
        .collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(names.len() > 50, "{names:?}");
}

/// What is wrong with how a name is declared, if it is not declared once: everywhere, or in the file
/// that is given for it.
fn declaration_problem(index: &DeclarationIndex, name: &str, file: Option<&str>) -> Option<String> {
    let last = name.rsplit("::").next().unwrap_or(name);
    let known = index.get(name).or_else(|| index.get(last));
    let files = known.map(Vec::as_slice).unwrap_or_default();
    let given = files
        .iter()
        .filter(|path| file.is_some_and(|file| path.ends_with(file)));
    let is_found = files.len() == 1 || given.count() == 1;
    (!is_found).then(|| format!("`{name}` is declared in {files:?}"))
}

/// The names in backticks, each with the file that is named with it, if there is one: no further
/// away than the end of its clause.
fn named_in(section: &str) -> Vec<(&str, Option<&str>)> {
    let parts: Vec<&str> = section.split('`').collect();
    let is_name = |text: &str| {
        !text.is_empty()
            && text
                .chars()
                .all(|c| c.is_alphanumeric() || "_:".contains(c))
    };
    let mut found = Vec::new();
    for (at, name) in parts.iter().enumerate().skip(1).step_by(2) {
        let after = [parts.get(at + 1), parts.get(at + 2)];
        let file = match after {
            [Some(between), Some(file)] if Path::new(file).extension() == Some("rs".as_ref()) => {
                (between.len() < 10).then_some(*file)
            }
            _ => None,
        };
        if is_name(name) && !WORKFLOW_WORDS.contains(name) {
            found.push((*name, file));
        }
    }
    found
}

#[test]
fn names_in_backticks_are_found_with_their_files() {
    let text = "`a_b` and `C::Dee` in `x/y.rs`, `words of` `git.mode` `dispatch` \
                is somewhere else than in `z.rs`";
    let expected = [
        ("a_b", None),
        ("C::Dee", Some("x/y.rs")),
        ("dispatch", None),
    ];
    assert_eq!(named_in(text), expected);
    let index = DeclarationIndex::from([
        ("a_b".to_owned(), vec!["x.rs".into()]),
        ("Dee".to_owned(), vec!["x/y.rs".into(), "x.rs".into()]),
    ]);
    let problem = |name, file| declaration_problem(&index, name, file).is_some();
    assert!(!problem("a_b", None) && !problem("C::Dee", Some("x/y.rs")));
    assert!(problem("C::Dee", None) && problem("dispatch", None));
}
