//! The tests of the workflows that ship with codeteam.

/// The files, by the name of the workflow they test.
pub const BUILT_IN: &[(&str, &str)] = &[
    (
        "codeteam",
        include_str!("../data/workflows/tests/codeteam.yml"),
    ),
    (
        "adversarial",
        include_str!("../data/workflows/tests/adversarial.yml"),
    ),
    ("strict", include_str!("../data/workflows/tests/strict.yml")),
];

#[cfg(test)]
mod tests {
    use codeteam_core::rehearse::File;

    use super::*;
    use crate::workflows;

    #[test]
    fn every_built_in_workflow_is_tested_and_passes() {
        let mut wrong = Vec::new();
        for (name, _) in workflows::BUILT_IN {
            let (_, text) = BUILT_IN.iter().find(|(tested, _)| tested == name).unwrap();
            let file = File::parse(name, text).unwrap_or_else(|e| panic!("{e}"));
            assert_eq!(file.workflow, *name);
            for case in &file.cases {
                let compiled = workflows::load(name, &[], &[]).unwrap();
                let outcome = case.run(&compiled);
                let unreached = outcome.unreached.iter();
                let unreached = unreached.map(|key| format!("`{key}` is never reached"));
                let problems = outcome.problems.iter().map(|p| p.message.clone());
                let differences = outcome.differences.iter().map(ToString::to_string);
                let said: Vec<String> = problems.chain(differences).chain(unreached).collect();
                if !said.is_empty() {
                    wrong.push(format!("{name}: {}\n{}", case.name, said.join("\n")));
                }
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
    }
}
