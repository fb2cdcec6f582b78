//! What the built-in workflows look like.

use std::path::Path;

use codeteam_core::workflow::Surroundings;
use codeteam_core::workflow::graph::Graph;
use codeteam_core::yaml::Sources;
use codeteam_engine::config::{Config, Origins};
use codeteam_engine::library::{Library, Places};
use expect_test::expect_file;

/// What workflows are compiled with if nothing is configured.
pub(crate) fn usual() -> Surroundings {
    let config = Config::load(&Origins::default());
    config.unwrap().surroundings()
}

#[test]
fn every_built_in_workflow_is_drawn_as_it_was() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/graphs");
    let mut library = Library::read(Places::default(), Sources::default(), None);
    for listed in library.workflows() {
        let name = listed.name;
        let compiled = library.compile(&name, usual());
        let graph = Graph::of(&compiled.unwrap());
        expect_file![folder.join(format!("{name}.txt"))].assert_eq(&graph.text());
        expect_file![folder.join(format!("{name}.mmd"))].assert_eq(&graph.mermaid());
    }
}
