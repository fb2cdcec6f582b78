//! The tests of the workflows that ship with codeteam.

use std::collections::BTreeMap;

use codeteam_engine::built_in;
use codeteam_engine::library::{Library, LibraryFolders};
use codeteam_workflow::language::CompiledWorkflow;
use codeteam_workflow::rehearsal::{RehearsalCase, RehearsalSuite};
use codeteam_workflow::yaml::{
    SourceFiles, SourcePosition, YamlKey, YamlNode, YamlScalar, YamlValue,
};

use crate::graphs::usual;

/// Compiles a workflow with the settings of a case.
fn compiled(library: &mut Library, name: &str, case: &RehearsalCase) -> CompiledWorkflow {
    let place = SourcePosition::NONE;
    let settings = case.settings.iter().map(|(name, value)| {
        let value = YamlValue::Scalar(YamlScalar::plain(value.to_string()));
        let name = name.clone();
        (YamlKey { name, place }, YamlNode::at(place, value))
    });
    let mut node = YamlNode::empty(place);
    node.set("extends", YamlNode::text(name));
    node.set(
        "settings",
        YamlNode::at(place, YamlValue::Map(settings.collect())),
    );
    let built = library.compile_node("a case", node, usual());
    built.unwrap_or_else(|e| panic!("{name}, {}: {e}", case.name))
}

#[test]
fn every_built_in_workflow_is_tested_and_passes() {
    let tests: BTreeMap<&str, &str> = built_in::folder("workflows/tests", ".yml").collect();
    let mut library = Library::read(LibraryFolders::default(), SourceFiles::default(), None);
    let mut wrong = Vec::new();
    for listed in library.workflows() {
        let name = listed.name;
        let text = tests
            .get(name.as_str())
            .unwrap_or_else(|| panic!("`{name}` has no tests"));
        let file = RehearsalSuite::parse(&name, text).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(file.workflow, name);
        for case in &file.cases {
            let outcome = case.run(&compiled(&mut library, &name, case));
            let unreached = outcome.unreached.iter();
            let unreached = unreached.map(|key| format!("`{key}` is never reached"));
            let problems = outcome.problems.iter().map(ToString::to_string);
            let differences = outcome.differences.iter().map(ToString::to_string);
            let said: Vec<String> = problems.chain(differences).chain(unreached).collect();
            if !said.is_empty() {
                wrong.push(format!("{name}: {}\n{}", case.name, said.join("\n")));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}
