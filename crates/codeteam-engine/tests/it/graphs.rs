//! The drawings of the built-in workflows.

use std::path::Path;

use codeteam_engine::config::{Config, ConfigOrigins};
use codeteam_engine::library::{Library, LibraryFolders};
use codeteam_workflow::graph::WorkflowGraph;
use codeteam_workflow::language::CompileInputs;
use codeteam_workflow::yaml::SourceFiles;
use expect_test::expect_file;

/// Returns the inputs of the compiler if nothing is configured.
pub(crate) fn usual() -> CompileInputs {
    let config = Config::load(&ConfigOrigins::default());
    config.unwrap().surroundings()
}

#[test]
fn every_built_in_workflow_is_drawn_as_it_was() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/graphs");
    let mut library = Library::read(LibraryFolders::default(), SourceFiles::default(), None);
    for listed in library.workflows() {
        let name = listed.name;
        let compiled = library.compile(&name, usual());
        let graph = WorkflowGraph::from_compiled(&compiled.unwrap());
        expect_file![folder.join(format!("{name}.txt"))].assert_eq(&graph.text());
        expect_file![folder.join(format!("{name}.mmd"))].assert_eq(&graph.mermaid());
    }
}
