//! One case through every loader, and what must hold of whatever loads.

use std::fs;
use std::path::PathBuf;

use codeteam_core::ids::StepId;
use codeteam_core::submission::{self, AnswerForm};
use codeteam_core::workflow::{self, EachItem, ExitTarget, StepKind};
use codeteam_engine::built_in;
use codeteam_engine::config::{Config, ConfigOrigins};
use codeteam_engine::library::{Library, LibraryFolders};
use codeteam_workflow::language::{self, CompileInputs, CompiledWorkflow};
use codeteam_workflow::plan_file;
use codeteam_workflow::roles::{RoleCatalog, SourceLayer};
use codeteam_workflow::yaml::{
    Diagnostic, OriginComments as Written, SourceFiles, YamlNode, read, write,
};

use super::corpus::NAMES;

/// The number of files that loaded, by kind.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LoadTally {
    pub(crate) cases: u64,
    pub(crate) trees: u64,
    pub(crate) configs: u64,
    pub(crate) roles: u64,
    pub(crate) workflows: u64,
    pub(crate) plans: u64,
    pub(crate) submissions: u64,
    /// The processor time of the slowest case, in milliseconds.
    pub(crate) slowest: u128,
}

pub(crate) struct FuzzLoaders {
    book: RoleCatalog,
    folder: tempfile::TempDir,
    pub(crate) tally: LoadTally,
}

impl FuzzLoaders {
    pub(crate) fn new() -> Self {
        let library = Library::read(LibraryFolders::default(), SourceFiles::default(), None);
        Self {
            book: library.role_catalog,
            folder: tempfile::tempdir().unwrap(),
            tally: LoadTally::default(),
        }
    }

    /// Panics where something does not hold.
    pub(crate) fn all(&mut self, texts: &[String]) {
        self.tally.cases += 1;
        let mut trees = Vec::new();
        for text in texts {
            let mut sources = SourceFiles::default();
            let node = match read(&mut sources, "case.yml", text) {
                Ok(node) => Some(node),
                Err(fault) => {
                    told(&sources, vec![fault]);
                    None
                }
            };
            node.iter().for_each(survives);
            trees.push(node);
            if let Ok(loaded) = plan_file::from_yaml("plan.yml", text, 1_000) {
                self.tally.plans += 1;
                let pending = |_: &_| codeteam_core::schedule::TaskStatus::Pending;
                let again =
                    plan_file::to_yaml(&loaded.plan, loaded.accepted, &loaded.runs, pending);
                let again = plan_file::from_yaml("plan.yml", &again, 1_000);
                assert_eq!(again.map(|again| again.plan), Ok(loaded.plan));
            }
            for form in AnswerForm::all() {
                self.tally.submissions += u64::from(submission::parse(form, text).is_ok());
            }
        }
        self.tally.trees += u64::try_from(trees.iter().flatten().count()).unwrap_or(0);
        self.roles(&trees);
        self.workflows(&trees);
        self.config(&texts[0]);
    }

    fn roles(&mut self, trees: &[Option<YamlNode>]) {
        let mut book = self.book.clone();
        for (name, node) in NAMES.iter().zip(trees) {
            if let Some(node) = node {
                book.add(SourceLayer::Project, name, node.clone());
                book.add(SourceLayer::User, "implementer", node.clone());
            }
        }
        for name in NAMES.iter().chain(&["implementer", "coder", "trader"]) {
            match book.resolve(name) {
                Ok(resolved) => {
                    self.tally.roles += 1;
                    assert_eq!(resolved.role.name.as_str(), *name);
                    survives(&resolved.node);
                }
                Err(faults) => told(&SourceFiles::default(), faults),
            }
        }
    }

    fn workflows(&mut self, trees: &[Option<YamlNode>]) {
        let mut sources = SourceFiles::default();
        let mut find = |name: &str, below: usize| -> Result<Option<YamlNode>, Vec<Diagnostic>> {
            let own = NAMES.iter().position(|known| *known == name);
            if let Some(own) = own.and_then(|own| trees.get(own)) {
                return Ok(own.clone().filter(|_| below == 0));
            }
            let text = built_in::text(&format!("workflows/{name}.yml")).filter(|_| below == 0);
            let node = text.map(|text| read(&mut sources, name, text));
            node.transpose().map_err(|fault| vec![fault])
        };
        for (name, node) in NAMES.iter().zip(trees) {
            let Some(node) = node else { continue };
            let mut surroundings = CompileInputs {
                roles: self.book.clone(),
                security_role: Some("security_auditor".to_owned()),
                ..CompileInputs::default()
            };
            match language::compile_workflow(name, node.clone(), &mut surroundings, &mut find) {
                Ok(compiled) => {
                    self.tally.workflows += 1;
                    holds(&compiled);
                }
                Err(faults) => told(&SourceFiles::default(), faults),
            }
        }
    }

    fn config(&mut self, text: &str) {
        let project: PathBuf = self.folder.path().join(".codeteam");
        fs::create_dir_all(&project).unwrap();
        fs::write(project.join("config.yml"), text).unwrap();
        let origins = ConfigOrigins {
            project: Some(project),
            ..ConfigOrigins::default()
        };
        let Ok((config, layers)) = Config::load_with_layers(&origins) else {
            return;
        };
        self.tally.configs += 1;
        survives(&layers.node);
        let mut library = Library::read(
            LibraryFolders::default(),
            layers.sources,
            config.roles.as_ref(),
        );
        let _ = config.git.branch("2025-01-08_153042_x");
        let _ = config.limits.budget();
        if let Ok(compiled) =
            library.compile_configured(config.flow.as_ref(), config.surroundings())
        {
            holds(&compiled);
            for role in compiled.roles.values() {
                config.apply_role_defaults(&mut role.clone());
            }
        }
    }
}

/// At least one thing is wrong, and it can be told.
fn told(sources: &SourceFiles, faults: Vec<Diagnostic>) {
    assert!(!faults.is_empty(), "refused without a reason");
    let problems = sources.to_problems(faults);
    let text = problems.to_string();
    assert!(!text.trim().is_empty());
}

/// A tree that is written reads back, and reads the same.
fn survives(node: &YamlNode) {
    let text = write(node, Written::Omitted);
    let back = read(&mut SourceFiles::default(), "written.yml", &text);
    let back =
        back.unwrap_or_else(|fault| panic!("what was written does not read: {fault:?}\n{text}"));
    assert_eq!(
        write(&back, Written::Omitted),
        text,
        "it reads as something else"
    );
}

/// Checks what the kernel relies on.
fn holds(compiled: &CompiledWorkflow) {
    let workflow = &compiled.workflow;
    let step = |id: &StepId| workflow.steps.get(id);
    assert!(
        step(&workflow.start).is_some_and(|step| step.scope.is_none()),
        "the start is no step: {:?}",
        workflow.start
    );
    for (id, from) in &workflow.steps {
        assert_eq!(*id, from.id);
        for (key, target) in from.exits() {
            let ExitTarget::Step(to) = target else {
                continue;
            };
            let Some(to) = step(&to) else {
                panic!("`{key}` of `{id}` leads nowhere");
            };
            assert_eq!(to.scope, from.scope, "`{key}` of `{id}` leaves its graph");
            if matches!(to.kind, StepKind::Publish { .. }) {
                let decided = matches!(from.kind, StepKind::Person { .. }) && key == "answers";
                assert!(decided, "`{key}` of `{id}` publishes without a decision");
            }
        }
        match &from.kind {
            StepKind::Role(played) => {
                assert!(!played.slots.is_empty(), "nobody works at `{id}`");
                for slot in &played.slots {
                    assert!(
                        compiled.roles.contains_key(slot),
                        "no role `{slot}` at `{id}`"
                    );
                }
            }
            StepKind::Each { start, cap, .. } => {
                let first = step(start).unwrap_or_else(|| panic!("`{id}` starts nowhere"));
                assert_eq!(first.scope.as_ref(), Some(id), "`{id}` starts elsewhere");
                assert!(
                    !matches!(first.kind, StepKind::Publish { .. }),
                    "`{id}` publishes at once"
                );
                assert!(*cap > 0);
            }
            StepKind::Person { answers, .. } => assert!(!answers.is_empty()),
            StepKind::Publish { .. } => assert_ne!(*id, workflow.start),
            StepKind::Deliver { .. } => panic!("no file says it"),
            StepKind::Lock => {
                let over = from.scope.as_ref().and_then(step).map(|step| &step.kind);
                let Some(StepKind::Each { over, .. }) = over else {
                    panic!("`{id}` locks the interfaces of no phase");
                };
                // Among the steps of a task, it writes what one of them asks for.
                let mut steps = workflow.steps.values();
                let is_asked_for = steps.any(|step| match &step.kind {
                    StepKind::Role(role) => {
                        step.scope == from.scope && role.on_interface_change.is_some()
                    }
                    _ => false,
                });
                assert!(
                    *over == EachItem::Phase || is_asked_for,
                    "`{id}` locks what nobody has asked for"
                );
            }
            StepKind::Gate { .. } | StepKind::Commit { .. } => {}
        }
    }
    // A run keeps its workflow as JSON.
    let kept = serde_json::to_string(workflow).unwrap();
    let back: workflow::Workflow = serde_json::from_str(&kept).unwrap();
    assert_eq!(back, *workflow);
}
