//! What the built-in workflows look like.

use std::path::Path;

use codeteam_core::workflow::graph::Graph;
use codeteam_engine::workflows;
use expect_test::expect_file;

#[test]
fn every_built_in_workflow_is_drawn_as_it_was() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/graphs");
    for (name, _) in workflows::BUILT_IN {
        let graph = Graph::of(&workflows::load(name, &[], &[]).unwrap());
        expect_file![folder.join(format!("{name}.txt"))].assert_eq(&graph.text());
        expect_file![folder.join(format!("{name}.mmd"))].assert_eq(&graph.mermaid());
    }
}
