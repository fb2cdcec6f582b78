//! Tests of inheritance between roles, whatever their files contain.

use codeteam_core::role::{Contract, EditMode};
use proptest::prelude::*;

use super::*;
use crate::yaml::SourceFiles;

const LAYERS: [SourceLayer; 4] = [
    SourceLayer::BuiltIn,
    SourceLayer::User,
    SourceLayer::Project,
    SourceLayer::Workflow,
];

/// One file's part of a role.
#[derive(Clone, Debug)]
struct RoleFixture {
    prompt: Option<String>,
    additions: Option<String>,
    model: Option<String>,
    tools: Option<Vec<String>>,
    exclude: Vec<String>,
}

impl RoleFixture {
    fn node(&self, first: &str) -> YamlNode {
        let list = |list: &[String]| YamlValue::List(list.iter().map(YamlNode::text).collect());
        let mut node = crate::yaml::read(&mut SourceFiles::default(), "role.yml", first).unwrap();
        for (key, text) in [
            ("prompt", &self.prompt),
            ("system_prompt_additions", &self.additions),
            ("model", &self.model),
        ] {
            if let Some(text) = text {
                node.set(key, YamlNode::text(text));
            }
        }
        if let Some(tools) = &self.tools {
            node.set(
                "allowed_tools",
                YamlNode::at(SourcePosition::NONE, list(tools)),
            );
        }
        if !self.exclude.is_empty() {
            node.set(
                "exclude",
                YamlNode::at(SourcePosition::NONE, list(&self.exclude)),
            );
        }
        node
    }
}

fn said() -> impl Strategy<Value = RoleFixture> {
    let text = || prop::option::of("[a-z]{1,8}");
    let words = || prop::collection::vec("[a-z]{1,4}", 1..4);
    let lists = (
        prop::option::of(words()),
        prop::collection::vec("[a-z]{1,4}", 0..3),
    );
    (text(), text(), text(), lists).prop_map(|(prompt, additions, model, (tools, exclude))| {
        RoleFixture {
            prompt,
            additions,
            model,
            tools,
            exclude,
        }
    })
}

/// Checks the result: scalars and restrictions of the last file that has them, lists of all.
fn expect(role: &Role, all: &[&RoleFixture], prompt: &[&String]) -> Result<(), TestCaseError> {
    let last = |of: fn(&RoleFixture) -> Option<String>| all.iter().rev().find_map(|said| of(said));
    prop_assert_eq!(&role.model, &last(|said| said.model.clone()));
    let tools = all.iter().rev().find_map(|said| said.tools.clone());
    prop_assert_eq!(&role.means.allowed_tools, &tools.unwrap_or_default());
    let exclude: Vec<String> = all.iter().flat_map(|said| said.exclude.clone()).collect();
    prop_assert_eq!(&role.exclude, &exclude);
    let prompt: Vec<&str> = prompt.iter().map(|part| part.as_str()).collect();
    prop_assert_eq!(&role.prompt, &prompt.join("\n\n"));
    Ok(())
}

proptest! {
    #[test]
    fn prompts_are_put_one_after_the_other_on_extends(
        chain in prop::collection::vec(said(), 1..8),
        own_file in prop::option::of((0_usize..8, "[a-z]{1,8}")),
    ) {
        let mut book = RoleCatalog::default();
        for (number, said) in chain.iter().enumerate() {
            let first = match number {
                0 => "kind: scribe\n".to_owned(),
                _ => format!("extends: r{}\n", number - 1),
            };
            book.add(SourceLayer::Project, &format!("r{number}"), said.node(&first));
        }
        let own_file = own_file.filter(|(number, _)| *number < chain.len());
        if let Some((number, prompt)) = &own_file {
            book.add_prompt(SourceLayer::Project, &format!("r{number}"), SourcePosition::NONE, prompt);
        }
        let mut prompt: Vec<&String> = Vec::new();
        for (number, said) in chain.iter().enumerate() {
            match &own_file {
                // A file of its own stands in place of all it would build on.
                Some((own, text)) if *own == number => prompt = vec![text],
                _ => prompt.extend(&said.prompt),
            }
            prompt.extend(&said.additions);
        }
        let resolved = book.resolve(&format!("r{}", chain.len() - 1)).unwrap();
        let all: Vec<&RoleFixture> = chain.iter().collect();
        expect(&resolved.role, &all, &prompt)?;
        prop_assert_eq!(resolved.chain.len(), chain.len() - 1);
    }

    #[test]
    fn a_layer_counts_more_than_those_below(layers in prop::collection::vec(prop::option::of(said()), 4)) {
        let present: Vec<(SourceLayer, &RoleFixture)> = LAYERS
            .into_iter()
            .zip(&layers)
            .filter_map(|(layer, said)| Some((layer, said.as_ref()?)))
            .collect();
        prop_assume!(!present.is_empty());
        let mut book = RoleCatalog::default();
        for (index, (layer, said)) in present.iter().enumerate() {
            let first = if index == 0 { "kind: scribe\n" } else { "description: x\n" };
            book.add(*layer, "it", said.node(first));
        }
        // Of the same name, a prompt replaces; what is added is added.
        let mut prompt: Vec<&String> = Vec::new();
        for (_, said) in &present {
            if let Some(own) = &said.prompt {
                prompt = vec![own];
            }
            prompt.extend(&said.additions);
        }
        let resolved = book.resolve("it").unwrap();
        let all: Vec<&RoleFixture> = present.iter().map(|(_, said)| *said).collect();
        expect(&resolved.role, &all, &prompt)?;
    }

    #[test]
    fn a_role_with_a_kind_builds_on_nothing_below(low in said(), high in said()) {
        let mut book = RoleCatalog::default();
        book.add(SourceLayer::BuiltIn, "it", low.node("kind: planner\n"));
        book.add(SourceLayer::Project, "it", high.node("kind: scribe\n"));
        let resolved = book.resolve("it").unwrap();
        prop_assert_eq!(resolved.role.kind, RoleKind::Scribe);
        let prompt: Vec<&String> = high.prompt.iter().chain(&high.additions).collect();
        expect(&resolved.role, &[&high], &prompt)?;
    }
}

fn said_of(book: &mut RoleCatalog, layer: SourceLayer, name: &str, text: &str) {
    let node = crate::yaml::read(&mut SourceFiles::default(), name, text).unwrap();
    book.add(layer, name, node);
}

/// A shared coder and one of a workflow, as they are built in.
fn two_coders() -> RoleCatalog {
    let mut book = RoleCatalog::default();
    let shared = "kind: implementer\nprompt: Shared.\n";
    let own = "kind: implementer\ncontract: strict\nmode: edits\nprompt: Own.\nmodel: m\n";
    said_of(&mut book, SourceLayer::BuiltIn, "coder", shared);
    said_of(&mut book, SourceLayer::BuiltIn, "flow/coder", own);
    book
}

fn called(book: &RoleCatalog, scopes: &[&str]) -> Role {
    let scopes: Vec<String> = scopes.iter().map(|scope| (*scope).to_owned()).collect();
    book.resolve_in(&scopes, "coder").unwrap().unwrap().role
}

#[test]
fn a_shared_role_of_a_project_is_that_of_every_workflow() {
    for layer in [
        SourceLayer::User,
        SourceLayer::Project,
        SourceLayer::Workflow,
    ] {
        let mut book = two_coders();
        assert_eq!(called(&book, &["flow"]).prompt, "Own.");
        assert_eq!(called(&book, &["other"]).prompt, "Shared.");
        book.add_prompt(layer, "coder", SourcePosition::NONE, "Mine.");
        let role = called(&book, &["flow"]);
        assert_eq!(
            (role.prompt.as_str(), role.model.as_deref()),
            ("Mine.", Some("m"))
        );
        assert_eq!(role.contract, Contract::Strict);
        assert_eq!(called(&book, &["other"]).prompt, "Mine.");
        assert_eq!(called(&book, &["other"]).contract, Contract::Native);
        assert_eq!(book.resolve("flow/coder").unwrap().role.prompt, "Mine.");
    }
}

#[test]
fn the_layer_counts_before_the_folder_and_the_folder_within_a_layer() {
    let mut book = two_coders();
    said_of(
        &mut book,
        SourceLayer::User,
        "flow/coder",
        "prompt: The user's own.\n",
    );
    assert_eq!(called(&book, &["flow"]).prompt, "The user's own.");
    said_of(
        &mut book,
        SourceLayer::Project,
        "coder",
        "prompt: The project's.\n",
    );
    assert_eq!(called(&book, &["flow"]).prompt, "The project's.");
    said_of(
        &mut book,
        SourceLayer::Project,
        "flow/coder",
        "extends: coder\nprompt: And here.\n",
    );
    assert_eq!(
        called(&book, &["flow"]).prompt,
        "The project's.\n\nAnd here."
    );
    assert_eq!(called(&book, &["other"]).prompt, "The project's.");
}

#[test]
fn a_role_that_stands_alone_answers_in_the_form_of_its_workflow() {
    let mut book = two_coders();
    said_of(
        &mut book,
        SourceLayer::Project,
        "coder",
        "kind: implementer\nprompt: Mine.\n",
    );
    let role = called(&book, &["flow"]);
    assert_eq!(
        (role.contract, role.means.mode),
        (Contract::Strict, EditMode::Edits)
    );
    assert_eq!(role.model, None, "the rest is its own");
    said_of(
        &mut book,
        SourceLayer::Project,
        "coder",
        "contract: native\nmode: tools\n",
    );
    let role = called(&book, &["flow"]);
    assert_eq!(
        (role.contract, role.means.mode),
        (Contract::Native, EditMode::Tools)
    );
}

#[test]
fn a_file_that_cannot_be_read_is_not_passed_over() {
    let mut book = two_coders();
    book.add_broken(
        SourceLayer::Project,
        "coder",
        Diagnostic::at(SourcePosition::NONE, "no YAML"),
    );
    let refused = book.resolve_in(&["flow".to_owned()], "coder").unwrap();
    assert_eq!(refused.unwrap_err()[0].message, "no YAML");
}
