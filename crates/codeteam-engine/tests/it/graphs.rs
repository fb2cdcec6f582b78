//! What the built-in workflows look like.

use std::path::Path;

use codeteam_core::workflow::graph::Graph;
use codeteam_core::yaml::Sources;
use codeteam_engine::config::Config;
use codeteam_engine::library::{Library, Places};
use expect_test::expect_file;

#[test]
fn every_built_in_workflow_is_drawn_as_it_was() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/graphs");
    let mut library = Library::read(Places::default(), Sources::default(), None);
    for listed in library.workflows() {
        let name = listed.name;
        let compiled = library.compile(&name, Config::default().surroundings());
        let graph = Graph::of(&compiled.unwrap());
        expect_file![folder.join(format!("{name}.txt"))].assert_eq(&graph.text());
        expect_file![folder.join(format!("{name}.mmd"))].assert_eq(&graph.mermaid());
    }
}
