//! Tests that everything that ships with codeteam is consistent, and that layers override as they
//! should.

use std::fs;

use codeteam_core::role::{Contract, EditMode, RoleKind};
use codeteam_core::workflow::StepKind;
use codeteam_survey::built_in_packs;
use codeteam_workflow::yaml::{OriginComments, write};
use expect_test::{Expect, expect, expect_file};

use super::*;
use crate::config::{self, Config};

fn surroundings() -> CompileInputs {
    Config::load(&config::ConfigOrigins::default())
        .unwrap()
        .surroundings()
}

fn built_in_library() -> Library {
    Library::read(LibraryFolders::default(), SourceFiles::default(), None)
}

#[test]
fn every_built_in_workflow_compiles() {
    let mut library = built_in_library();
    let names: Vec<String> = library.workflows().into_iter().map(|w| w.name).collect();
    for wanted in [
        "codeteam",
        "strict",
        "solo",
        "team",
        "adversarial",
        "mvp",
        "standard",
        "feature",
        "enterprise",
        "open_source",
        "security_critical",
    ] {
        assert!(
            names.iter().any(|name| name == wanted),
            "{wanted} is missing"
        );
    }
    for name in names {
        let compiled = library.compile(&name, surroundings());
        let compiled = compiled.unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(compiled.workflow.name, name);
        assert!(!compiled.description.is_empty(), "{name}");
    }
}

#[test]
fn every_built_in_role_is_whole() {
    let library = built_in_library();
    let names = library.role_names();
    assert!(names.len() >= 60, "{}", names.len());
    for name in names {
        let resolved = library
            .resolve(name)
            .unwrap_or_else(|error| panic!("{error}"));
        assert!(!resolved.role.prompt.is_empty() && !resolved.role.description.is_empty());
        assert!(resolved.role.prompt.len() > 400, "{name} says too little");
    }
}

/// The resolved form of every role; `UPDATE_EXPECT=1` writes it again.
#[test]
fn resolved_roles_are_what_they_were() {
    let library = built_in_library();
    for name in library.role_names() {
        let resolved = library.resolve(name).unwrap();
        let told = write(&resolved.node, OriginComments::Omitted);
        let file = format!("snapshots/{}.yml", name.replace('/', "."));
        expect_file![file].assert_eq(&told);
    }
}

struct LibraryFixture(tempfile::TempDir);

impl LibraryFixture {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn file(self, path: &str, text: &str) -> Self {
        let path = self.0.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        self
    }

    fn library(&self) -> Library {
        let root = self.0.path().join("repo");
        fs::create_dir_all(root.join(".codeteam")).unwrap();
        let places = LibraryFolders {
            user: Some(self.0.path().join("user")),
            project: Some((root.join(".codeteam"), root)),
        };
        Library::read(places, SourceFiles::default(), None)
    }

    fn refused(&self, role: &str, expected: &Expect) {
        let error = self.library().resolve(role).unwrap_err().to_string();
        expected.assert_eq(&error.replace(&format!("{}/", self.0.path().display()), ""));
    }
}

#[test]
fn a_few_lines_change_a_built_in_role() {
    let project = LibraryFixture::new()
        .file(
            "user/roles/reviewer.yml",
            "model: users\nsystem_prompt_additions: The user's word.\n",
        )
        .file(
            "repo/.codeteam/roles/reviewer.yml",
            "worker: codex\nsystem_prompt_additions: The project's word.\n",
        );
    let role = project.library().resolve("reviewer").unwrap().role;
    assert_eq!(
        (role.kind, role.model.as_deref()),
        (RoleKind::Gatekeeper, Some("users"))
    );
    assert_eq!(role.workers[0].as_str(), "codex");
    assert!(
        role.prompt
            .ends_with("The user's word.\n\nThe project's word."),
        "{}",
        role.prompt
    );
    assert!(role.prompt.len() > 500);
}

#[test]
fn extending_adds_and_a_prompt_file_replaces() {
    let project = LibraryFixture::new()
        .file("repo/.codeteam/roles/trader.yml", "extends: implementer\nprompt: Mind the risk.\nallowed_tools: [a]\ncontext: { always_include: [risk.py], exclude: [old/**] }\n")
        .file("repo/.codeteam/roles/quant.yml", "extends: trader\nallowed_tools: [b]\ncontext: { exclude: [new/**] }\n")
        .file("repo/.codeteam/agents/coder/prompt.md", "<!-- mine -->\n\nYou are CODER.\n")
        .file("repo/.codeteam/agents/security/prompt.md", "You are SECURITY.\n")
        .file("repo/.codeteam/agents/security/agent.yaml", "type: gatekeeper\nstance: paranoid\ncontext:\n  - src/auth/**\n");
    let library = project.library();
    let quant = library.resolve("quant").unwrap();
    assert!(
        quant.role.prompt.starts_with("You carry out one task"),
        "{}",
        quant.role.prompt
    );
    assert!(quant.role.prompt.ends_with("Mind the risk."));
    assert_eq!(
        quant.role.means.allowed_tools,
        ["b"],
        "a restriction replaces"
    );
    assert_eq!(
        quant.role.context.exclude,
        ["old/**", "new/**"],
        "lists append"
    );
    assert_eq!(quant.role.context.include[0], "$TARGET");
    let chain: Vec<&str> = quant.chain.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(chain, ["trader", "implementer"]);
    let coder = library.resolve("coder").unwrap().role;
    assert_eq!(
        (coder.prompt.as_str(), coder.kind),
        ("You are CODER.", RoleKind::Implementer)
    );
    let security = library.resolve("security").unwrap().role;
    assert_eq!(security.kind, RoleKind::Gatekeeper);
    assert_eq!(
        security.context.include,
        ["src/auth/**"],
        "a role with a kind stands alone"
    );
}

/// The prompt of a role as a workflow has it.
fn prompt_in(library: &mut Library, workflow: &str, role: &str) -> String {
    let compiled = library.compile(workflow, surroundings());
    let compiled = compiled.unwrap_or_else(|error| panic!("{workflow}: {error}"));
    compiled.roles[&codeteam_core::ids::RoleName::from(role)]
        .prompt
        .clone()
}

#[test]
fn a_prompt_file_counts_in_every_workflow_that_has_the_role() {
    let played = [
        ("adversarial", "coder"),
        ("strict", "coder"),
        ("codeteam", "coder"),
        ("lean", "coder"),
        ("solo", "executor"),
        ("team", "developer"),
    ];
    for whose in ["user", "repo/.codeteam"] {
        for form in ["agents/NAME/prompt.md", "roles/NAME.yml"] {
            for (workflow, role) in played {
                let text = match form {
                    "roles/NAME.yml" => "prompt: Mine.\n",
                    _ => "Mine.\n",
                };
                let path = format!("{whose}/{}", form.replace("NAME", role));
                let project = LibraryFixture::new().file(&path, text);
                let mut library = project.library();
                assert_eq!(
                    prompt_in(&mut library, workflow, role),
                    "Mine.",
                    "{path} in {workflow}"
                );
            }
        }
    }
}

#[test]
fn a_role_of_one_workflow_counts_there_alone() {
    for path in [
        "agents/adversarial/coder/prompt.md",
        "roles/adversarial/coder.yml",
    ] {
        let text = if path.ends_with("md") {
            "Here.\n"
        } else {
            "prompt: Here.\n"
        };
        let project = LibraryFixture::new().file(&format!("repo/.codeteam/{path}"), text);
        let mut library = project.library();
        assert_eq!(
            prompt_in(&mut library, "adversarial", "coder"),
            "Here.",
            "{path}"
        );
        assert!(
            prompt_in(&mut library, "lean", "coder").len() > 500,
            "{path}"
        );
    }
    let project = LibraryFixture::new().file(
        "repo/.codeteam/roles/adversarial/coder.yml",
        "extends: coder\nprompt: And more.\n",
    );
    let prompt = prompt_in(&mut project.library(), "adversarial", "coder");
    assert!(
        prompt.starts_with("You build what the requirements and the design say."),
        "{prompt}"
    );
    assert!(prompt.ends_with("And more."));
}

#[test]
fn the_form_of_the_answer_stays_that_of_the_workflow() {
    let text = "kind: implementer\nprompt: Mine.\n";
    let project = LibraryFixture::new().file("repo/.codeteam/roles/coder.yml", text);
    let mut library = project.library();
    for (workflow, contract, mode) in [
        ("strict", Contract::Strict, EditMode::Edits),
        ("adversarial", Contract::TeamMcp, EditMode::Tools),
        ("lean", Contract::Native, EditMode::Tools),
    ] {
        let compiled = library.compile(workflow, surroundings()).unwrap();
        let role = &compiled.roles[&codeteam_core::ids::RoleName::from("coder")];
        assert_eq!(
            (role.contract, role.means.mode),
            (contract, mode),
            "{workflow}"
        );
    }
}

#[test]
fn a_role_file_that_cannot_be_read_is_not_passed_over() {
    let project = LibraryFixture::new().file("repo/.codeteam/roles/executor.yml", "kind: [\n");
    let mut library = project.library();
    let error = library
        .compile("solo", surroundings())
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("roles/executor.yml:1:7: invalid YAML"),
        "{error}"
    );
    assert!(library.compile("lean", surroundings()).is_ok());
    let config = Config::load(&config::ConfigOrigins::default()).unwrap();
    let broken = library.broken_roles(&config);
    assert_eq!(broken.len(), 1, "{broken:?}");
    assert!(
        broken[0].1.contains("roles/executor.yml:1: invalid YAML"),
        "{broken:?}"
    );
}

#[test]
fn it_is_known_which_workflows_use_a_role() {
    let project = LibraryFixture::new()
        .file("repo/.codeteam/roles/coder.yml", "model: m\n")
        .file("repo/.codeteam/roles/nobody.yml", "kind: scribe\n");
    let users = project.library().workflows_by_role(&surroundings());
    let named = |role: &str, flow: &str| users.get(role).is_some_and(|flows| flows.contains(flow));
    for flow in ["adversarial", "strict", "codeteam", "lean"] {
        assert!(named("coder", flow), "{flow}");
    }
    assert!(named("adversarial/coder", "adversarial") && !named("coder", "solo"));
    assert!(!users.contains_key("nobody"));
}

#[test]
fn a_prompt_alone_is_an_agent_where_a_sequence_says_what_it_is() {
    let project = LibraryFixture::new()
        .file(
            "repo/.codeteam/agents/lawyer/prompt.md",
            "You are LAWYER.\n",
        )
        .file(
            "repo/.codeteam/workflows/legal.yml",
            "description: x\nsequence: [coder, { role: lawyer, type: gatekeeper }]\n",
        );
    let mut library = project.library();
    assert!(library.resolve("lawyer").is_err());
    library.infer_kinds(None);
    assert_eq!(
        library.resolve("lawyer").unwrap().role.kind,
        RoleKind::Gatekeeper
    );
    let compiled = library.compile("legal", surroundings()).unwrap();
    assert!(compiled.workflow.steps.contains_key(&"lawyer".into()));
}

/// Compiles the workflow that leads a session where a project configures it like this.
fn session_of(flow: &str) -> Result<CompiledWorkflow, String> {
    let mut library = built_in_library();
    let node = yaml::read(&mut library.sources, "config.yml", flow).unwrap();
    let compiled =
        library.compile_for_session(Some(&node), crate::engine::SESSION_WORKFLOW, surroundings());
    compiled.map_err(|error| error.to_string())
}

#[test]
fn values_alone_change_the_workflow_of_sessions_and_put_no_other_in_its_place() {
    let usual = session_of("lean").unwrap();
    assert_eq!(
        (usual.workflow.name.as_str(), usual.workflow.max_rounds),
        ("adversarial", Some(5))
    );
    assert_eq!(
        usual.workflow.max_stagnant_rounds, None,
        "five rounds are five rounds"
    );
    assert_eq!(usual.rules.len(), 5);
    let changed = session_of(
        "max_iterations: 2\non_max_iterations: fail\nrebound: { after_failures: 1 }\nrules: [mine]\n\
         settings: { talk: true, audit_trail: true }\noverrides: { review: { roles: [reviewer] } }\n",
    );
    let changed = changed.unwrap_or_else(|error| panic!("{error}"));
    let workflow = &changed.workflow;
    assert_eq!(workflow.start.as_str(), "ba");
    assert_eq!(workflow.max_rounds, Some(2));
    assert_eq!(
        workflow.on_exhausted,
        codeteam_core::workflow::ExhaustionPolicy::Fail
    );
    assert_eq!(
        workflow.steps[&"qa".into()].rebound.as_ref().unwrap().after,
        1
    );
    assert_eq!(changed.rules.len(), 6);
    assert_eq!(workflow.settings.get("audit_trail"), Some(&true));
    let other = session_of("extends: lean\nmax_iterations: 2\n").unwrap();
    assert_eq!(other.workflow.start.as_str(), "plan");
    let own = session_of("sequence: [coder, qa]\n").unwrap();
    assert_eq!(own.workflow.start.as_str(), "coder");
}

#[test]
fn values_alone_change_the_workflow_of_runs() {
    let mut library = built_in_library();
    let text = "max_iterations: 2\nrebound: { after_failures: 1 }\n";
    let node = yaml::read(&mut library.sources, "config.yml", text).unwrap();
    let compiled = library.compile_configured(Some(&node), surroundings());
    let compiled = compiled.unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(compiled.workflow.max_rounds, Some(2));
    assert_eq!(compiled.workflow.start.as_str(), "plan");
    assert_eq!(compiled.notes.len(), 1, "{:?}", compiled.notes);
}

#[test]
fn a_sequence_has_the_rules_of_the_built_in_session() {
    let session = session_of("{}").unwrap();
    let sequence = session_of("sequence: [coder, qa]\n").unwrap();
    assert_eq!(session.rules, sequence.rules);
    let limits = |compiled: &CompiledWorkflow| {
        let workflow = &compiled.workflow;
        (
            workflow.max_rounds,
            workflow.max_stagnant_rounds,
            workflow.on_exhausted,
        )
    };
    assert_eq!(limits(&session), limits(&sequence));
}

#[test]
fn mistakes_in_roles_name_their_place() {
    let project = LibraryFixture::new()
        .file("repo/.codeteam/roles/a.yml", "extends: b\n")
        .file("repo/.codeteam/roles/b.yml", "extends: a\n")
        .file("repo/.codeteam/roles/c.yml", "extends: implementr\n")
        .file("repo/.codeteam/roles/d.yml", "prompt: x\n")
        .file("repo/.codeteam/roles/e.yml", "extends: e\n")
        .file("repo/.codeteam/roles/f.yml", "extends: implementer\nalowed_tools: []\ngates:\n  - { name: x, command: y, on_fail: blok }\n")
        .file("repo/.codeteam/roles/g.yml", "kind: [\n")
        .file("repo/.codeteam/roles/h.yml", "extends: reviewer\nflags: [-p]\n");
    project.refused(
        "a",
        &expect![[r"
        repo/.codeteam/roles/b.yml:1:10: the roles extend each other in a circle: `a` → `b` → `a`
            | extends: a
            |          ^"]],
    );
    project.refused(
        "c",
        &expect![[r"
        repo/.codeteam/roles/c.yml:1:10: there is no role `implementr` (did you mean `implementer`?)
            | extends: implementr
            |          ^"]],
    );
    project.refused("d", &expect![[r"
        repo/.codeteam/roles/d.yml:1:1: the role `d` has no `kind` (give it a `kind`, or a role that it `extends`)
            | prompt: x
            | ^"]]);
    project.refused(
        "e",
        &expect![[r"
        repo/.codeteam/roles/e.yml:1:10: `e` extends itself (no layer below has a role of this name)
            | extends: e
            |          ^"]],
    );
    project.refused(
        "f",
        &expect![[r"
        repo/.codeteam/roles/f.yml:2:1: unknown key `alowed_tools` (did you mean `allowed_tools`?)
            | alowed_tools: []
            | ^
        repo/.codeteam/roles/f.yml:4:37: unknown word `blok` (did you mean `block`?)
            |   - { name: x, command: y, on_fail: blok }
            |                                     ^"]],
    );
    project.refused(
        "g",
        &expect![[r"
        repo/.codeteam/roles/g.yml:1:7: invalid YAML: unclosed bracket '['
            | kind: [
            |       ^"]],
    );
    project.refused("h", &expect![[r"
        repo/.codeteam/roles/h.yml:2:1: a role has no `flags` (leave them out: codeteam knows how to call each CLI)
            | flags: [-p]
            | ^"]]);
    project.refused("implementr", &expect!["there is no role `implementr`"]);
    assert!(
        project.library().resolve("implementer").is_ok(),
        "others are not harmed"
    );
}

#[test]
fn a_long_chain_of_roles_is_refused() {
    let mut project = LibraryFixture::new().file("repo/.codeteam/roles/r0.yml", "kind: scribe\n");
    for n in 1..40 {
        let text = format!("extends: r{}\n", n - 1);
        project = project.file(&format!("repo/.codeteam/roles/r{n}.yml"), &text);
    }
    assert!(project.library().resolve("r15").is_ok());
    let error = project.library().resolve("r39").unwrap_err().to_string();
    assert!(error.contains("more than 16 roles"), "{error}");
}

#[test]
fn no_role_is_read_from_outside_the_repository() {
    let project = LibraryFixture::new().file("secret", "AWS_SECRET_ACCESS_KEY=x\n");
    let folder = project.0.path().join("repo/.codeteam/agents/spy");
    fs::create_dir_all(&folder).unwrap();
    std::os::unix::fs::symlink("../../../../secret", folder.join("prompt.md")).unwrap();
    let error = project.library().resolve("spy").unwrap_err().to_string();
    assert!(error.contains("leads out of the repository"), "{error}");
    assert!(!error.contains("AWS"));
}

#[test]
fn a_project_changes_steps_of_a_template() {
    let project = LibraryFixture::new().file(
        "repo/.codeteam/workflows/ours.yml",
        "extends: enterprise\noverrides:\n  implement: { role: quant_dev, config: { coverage: 95 } }\n  \
         risk_validation: { position: after integration_test_gate, role: risk_manager, next: security_review, on_reject: implement }\n\
         disable: [security_review]\n",
    );
    let mut library = project.library();
    let compiled = library
        .compile("ours", surroundings())
        .unwrap_or_else(|e| panic!("{e}"));
    let steps = &compiled.workflow.steps;
    let step = |name: &str| &steps[&name.into()];
    assert_eq!(
        step("integration_test_gate").next.to_string(),
        "risk_validation"
    );
    assert_eq!(
        step("risk_validation").next.to_string(),
        "code_review",
        "what is left out is passed over"
    );
    assert!(!steps.contains_key(&"security_review".into()));
    let StepKind::Role(implement) = &step("implement").kind else {
        panic!()
    };
    assert_eq!(implement.slots[0].as_str(), "quant_dev");
    assert_eq!(implement.config["coverage"], 95);
    assert_eq!(implement.config["tdd"], true);
}

#[test]
fn a_workflow_that_extends_its_own_name_changes_the_one_below() {
    let project = LibraryFixture::new()
        .file(
            "user/workflows/solo.yml",
            "extends: solo\nlimits: { max_rounds: 7 }\n",
        )
        .file(
            "repo/.codeteam/workflows/solo.yml",
            "extends: solo\non_exhausted: ask\n",
        )
        .file("repo/.codeteam/workflows/x.yml", "extends: y\n")
        .file("repo/.codeteam/workflows/y.yml", "extends: x\n");
    let mut library = project.library();
    let compiled = library.compile("solo", surroundings()).unwrap();
    assert_eq!(compiled.workflow.max_rounds, Some(7));
    assert_eq!(
        compiled.workflow.on_exhausted,
        codeteam_core::workflow::ExhaustionPolicy::Ask
    );
    let error = library
        .compile("x", surroundings())
        .unwrap_err()
        .to_string();
    assert!(error.contains("in a circle"), "{error}");
}

#[test]
fn every_role_and_step_of_the_packs_is_there() {
    let library = built_in_library();
    let names = library.role_names();
    assert!(built_in_packs().packs.len() >= 10);
    for pack in &built_in_packs().packs {
        for role in pack.roles() {
            assert!(names.contains(role), "{}: {role}", pack.name);
        }
    }
    for (workflow, steps) in &built_in_packs().steps {
        let (_, text) = library.workflow_text(workflow, 0).unwrap().unwrap();
        assert!(!text.is_empty() && !steps.code.is_empty());
    }
}

/// `init` adds a pack's reviewer to those of a workflow; it must not take any of them away.
#[test]
fn who_usually_reviews_is_who_reviews_in_the_workflow() {
    let mut library = built_in_library();
    for (workflow, steps) in &built_in_packs().steps {
        let Some(review) = &steps.review else {
            continue;
        };
        let compiled = library.compile(workflow, surroundings());
        let compiled = compiled.unwrap();
        let step = &compiled.workflow.steps[&review.as_str().into()];
        let StepKind::Role(step) = &step.kind else {
            panic!("{workflow}: {review} is no step of roles");
        };
        let slots: Vec<&str> = step
            .roles_for(None)
            .iter()
            .map(codeteam_core::ids::RoleName::as_str)
            .collect();
        assert_eq!(slots, steps.reviewers, "{workflow}");
    }
}
