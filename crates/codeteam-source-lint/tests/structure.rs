//! Holds the line: names of types, and cycles between modules.

use codeteam_source_lint::{measure_workspace, workspace_root};

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
