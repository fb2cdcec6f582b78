//! The short ways of saying things, said in full: approvals, hooks, settings, gates of roles,
//! sequences. What comes out uses only what the kernel has: role, gate, person, each, commit and
//! publish steps.

use std::collections::BTreeSet;

use super::compile::Compiler;
use super::file::{
    Commit, Entries, FileAnswer, FileCheck, FileStep, OnFailure, SequenceEntry, WorkflowFile,
};
use super::{Condition, Join, Rebound};
use crate::ids::StepId;
use crate::role::{Kind, OnGateFail};
use crate::yaml::{Either, Fault, OneOrMany, Place, Placed, meant};

/// A switch of a workflow.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// Its name.
    pub name: &'static str,
    /// What it changes.
    pub changes: &'static str,
}

/// The settings that mean something in every workflow. One that a workflow asks for by `when`
/// means what the workflow says, and nothing else.
pub const SETTINGS: &[Setting] = &[
    Setting {
        name: "parallel_reviews",
        changes: "`false`: the roles of a step judge one after the other, not side by side; the \
                  first rejection goes back at once.",
    },
    Setting {
        name: "require_tests",
        changes: "`true`: before each commit it is checked that the change touches a test file \
                  (`verification.test_paths`).",
    },
    Setting {
        name: "human_approval",
        changes: "`false`: no step's `human_approval` is asked for. `true`: where no step asks a \
                  person, each commit does.",
    },
    Setting {
        name: "security_review",
        changes: "`true`: before each commit the role that `security_role` names judges the \
                  change, unless there is a step `security_review`. `false`: that step is left out.",
    },
    Setting {
        name: "auto_pr",
        changes: "`true`: at the end a person is asked whether to open a draft pull request, unless \
                  there is a `publish` step. `false`: `publish` steps are left out.",
    },
    Setting {
        name: "require_changelog",
        changes: "`true`: before each commit it is checked that the change touches a changelog.",
    },
    Setting {
        name: "dual_review",
        changes: "`true`: every gatekeeper that judges alone judges twice, independently; both \
                  must approve.",
    },
    Setting {
        name: "audit_trail",
        changes: "`true`: what every worker was told and said is kept as files in the run's \
                  folder, `audit/`.",
    },
];

/// What opens a pull request, if the workflow does not say.
const PULL_REQUEST: &str = "git push --set-upstream origin \"$CODETEAM_BRANCH\" && gh pr create \
    --draft --head \"$CODETEAM_BRANCH\" --title \"$PR_TITLE\" --body \"$PR_BODY\"";
const CHANGELOGS: &[&str] = &[
    "CHANGELOG*",
    "CHANGES*",
    "**/CHANGELOG*",
    "changelog.d/**",
    ".changes/**",
    ".changeset/**",
];

/// Steps that lead to each other.
pub(super) struct Graph {
    pub(super) start: Option<Placed<String>>,
    pub(super) entries: Vec<(Placed<String>, FileStep)>,
}

/// Says everything in full.
pub(super) fn all(compiler: &mut Compiler<'_>, file: &WorkflowFile, graph: &mut Graph) {
    each_graph(graph, true, &mut |graph, _| {
        for (name, step) in &mut graph.entries {
            plainly(compiler, name, step);
        }
        in_order(graph);
    });
    let mut asked = BTreeSet::new();
    let mut names = BTreeSet::new();
    let (mut asks_person, mut publishes) = (false, false);
    each_graph(graph, true, &mut |graph, _| {
        for (name, step) in &graph.entries {
            names.insert(name.value.clone());
            asks_person |= step.person.is_some() || step.human_approval.as_ref().is_some_and(is_on);
            publishes |= step.publish.is_some();
            step.when
                .iter()
                .for_each(|when| settings_of(when, &mut asked));
        }
    });
    for (name, on) in &file.settings {
        let known = SETTINGS.iter().map(|setting| setting.name);
        if !asked.contains(name) && !known.clone().any(|known| known == name) {
            let hint = meant(name, known.chain(asked.iter().map(String::as_str)));
            let message = format!("nothing asks for the setting `{name}`");
            compiler
                .faults
                .push(Fault::at(on.place, message).maybe(hint));
        }
    }
    let setting = |name: &str| {
        let own = file.settings.get(name).map(|on| on.value);
        own.filter(|_| !asked.contains(name))
    };
    let switches = Switches {
        serial: setting("parallel_reviews") == Some(false),
        dual: setting("dual_review") == Some(true),
        tests: setting("require_tests") == Some(true),
        changelog: setting("require_changelog") == Some(true),
        security: setting("security_review").map(|on| on && !names.contains("security_review")),
        no_security: setting("security_review") == Some(false),
        approvals: setting("human_approval") != Some(false),
        commits_ask: setting("human_approval") == Some(true) && !asks_person,
        pull_request: setting("auto_pr") == Some(true) && !publishes,
        no_publish: setting("auto_pr") == Some(false),
    };
    each_graph(graph, true, &mut |graph, top| {
        let mut writer = Writer {
            compiler,
            graph,
            switches: &switches,
        };
        writer.leave_out();
        writer.reviewers();
        writer.approvals_after();
        writer.gates_of_roles();
        writer.before_commits();
        writer.hooks(file);
        writer.approvals_before();
        writer.help();
        if top && switches.pull_request {
            writer.pull_request();
        }
    });
}

#[expect(clippy::struct_excessive_bools, reason = "they are switches")]
struct Switches {
    serial: bool,
    dual: bool,
    tests: bool,
    changelog: bool,
    security: Option<bool>,
    no_security: bool,
    approvals: bool,
    commits_ask: bool,
    pull_request: bool,
    no_publish: bool,
}

/// Every graph, inner ones first.
fn each_graph(graph: &mut Graph, top: bool, f: &mut dyn FnMut(&mut Graph, bool)) {
    for (name, step) in &mut graph.entries {
        if step.steps.0.is_empty() {
            continue;
        }
        let place = name.place;
        let mut inner = Graph {
            start: step.start.take().map(|value| Placed { value, place }),
            entries: std::mem::take(&mut step.steps.0),
        };
        each_graph(&mut inner, false, f);
        step.start = inner.start.map(|start| start.value);
        step.steps = Entries(inner.entries);
    }
    f(graph, top);
}

fn settings_of(condition: &Condition, asked: &mut BTreeSet<String>) {
    match condition {
        Condition::Setting(name) => {
            asked.insert(name.clone());
        }
        Condition::Not(inner) => settings_of(inner, asked),
        Condition::All(all) | Condition::Any(all) => {
            for inner in all {
                settings_of(inner, asked);
            }
        }
        Condition::Plan(_) | Condition::Changed(_) | Condition::Answered(_) => {}
    }
}

fn is_on(said: &Either<()>) -> bool {
    !matches!(said, Either::Word(word) if word == "false")
}

/// Steps that say nowhere where to go are gone through in their order.
fn in_order(graph: &mut Graph) {
    let says = |step: &FileStep| step.next.is_some() || !step.answers.0.is_empty();
    if graph.entries.iter().any(|(_, step)| says(step)) {
        return;
    }
    let names: Vec<String> = graph
        .entries
        .iter()
        .map(|(name, _)| name.value.clone())
        .collect();
    for (index, (_, step)) in graph.entries.iter_mut().enumerate() {
        let next = names.get(index + 1).cloned();
        step.next = Some(next.unwrap_or_else(|| "done".to_owned()));
    }
}

/// Other words for what a step does, in codeteam's own.
fn plainly(compiler: &mut Compiler<'_>, name: &Placed<String>, step: &mut FileStep) {
    if step.terminal && step.next.is_none() {
        step.next = Some("done".to_owned());
    }
    let plays = step.role.is_some() || !step.roles.is_empty();
    if let (true, Some(gate)) = (plays, &step.gate)
        && let Either::Word(word) = &gate.value
    {
        let (word, place) = (word.clone(), gate.place);
        verdicts(compiler, &name.value, &word, place, step);
        step.gate = None;
    }
    if !plays && let Some(retries) = step.max_retries.take() {
        step.max_rounds.get_or_insert(retries);
    }
    if step.context_scope.is_some() {
        let message = "`context_scope` is not yet in force";
        compiler.notes.push(format!("`{}`: {message}", name.value));
    }
    let does = step.does.take();
    match does.as_ref().map(|does| does.value.as_str()) {
        Some("human_gate" | "human") => return human_gate(name, step),
        Some("orchestrator_gate" | "orchestrator" | "gate") | None => {}
        Some(other) => {
            let place = does.as_ref().map_or(name.place, |does| does.place);
            let fault = Fault::at(place, format!("`{other}` is no type of step"));
            let hint = meant(other, ["orchestrator_gate", "human_gate"]);
            compiler.faults.push(fault.maybe(hint));
        }
    }
    if does.is_some() && step.command.is_none() && step.gate.is_none() && step.commit.is_none() {
        let fault = Fault::at(
            name.place,
            format!("the gate `{}` has no `command`", name.value),
        );
        compiler
            .faults
            .push(fault.hint("`gate: project` runs the project's own checks"));
        step.gate = Some(Placed {
            value: Either::Full(Vec::new()),
            place: name.place,
        });
    }
    if let Some(command) = step.command.take() {
        command_of(compiler, name, step, &command);
    }
}

/// What is a gate's command elsewhere is a step of its own kind here.
fn command_of(
    compiler: &mut Compiler<'_>,
    name: &Placed<String>,
    step: &mut FileStep,
    command: &Placed<String>,
) {
    let words: Vec<&str> = command.value.split_whitespace().take(3).collect();
    match words.as_slice() {
        ["git", "commit", ..] => {
            compiler.notes.push(format!(
                "`{}`: `git commit` is a `commit` step: codeteam commits what was judged",
                name.value
            ));
            step.commit = Some(Commit::Branch);
        }
        ["git", "push", ..] | ["gh" | "glab", ..] => {
            let message = format!(
                "`{}` leaves this machine, and gates are confined",
                words.join(" ")
            );
            let hint = "make it a `publish` step, and let a `person` step lead to it";
            compiler
                .faults
                .push(Fault::at(command.place, message).hint(hint));
            step.commit = Some(Commit::Branch);
        }
        _ => {
            let check = FileCheck {
                name: Some(name.value.clone()),
                command: Some(command.value.clone()),
                timeout_seconds: step.timeout_seconds,
                ..FileCheck::default()
            };
            step.gate = Some(Placed {
                value: Either::Full(vec![Either::Full(check)]),
                place: command.place,
            });
        }
    }
}

fn human_gate(name: &Placed<String>, step: &mut FileStep) {
    let asks = step.description.take();
    step.person = Some(asks.unwrap_or_else(|| format!("`{}`: go on?", name.value)));
    if step.answers.0.is_empty() {
        let next = step.next.take().unwrap_or_else(|| "done".to_owned());
        step.answers = answers(
            name.place,
            [("continue", word(&next)), ("stop", word("fail"))],
        );
    }
}

/// Words that a reviewer is to print count for nothing; what it submits does.
fn verdicts(
    compiler: &mut Compiler<'_>,
    name: &str,
    word: &str,
    place: Place,
    step: &mut FileStep,
) {
    let is_magic = word == "structured_json_only"
        || word
            .chars()
            .all(|c| c.is_ascii_uppercase() || matches!(c, '_' | ':' | ' '));
    if !is_magic {
        let fault = Fault::at(
            place,
            format!("the step `{name}` has a role and the gate `{word}`"),
        );
        let hint = "make the gate a step of its own; a role's verdict needs none";
        compiler.faults.push(fault.hint(hint));
        return;
    }
    let join = if word.starts_with("ANY") {
        Join::Any
    } else if word.starts_with("MAJORITY") {
        Join::Majority
    } else {
        Join::All
    };
    let how = match join {
        Join::Any => "one of them must approve",
        Join::Majority => "more than half of them must approve",
        _ => "each of them must approve",
    };
    step.join.get_or_insert(join);
    compiler.notes.push(format!(
        "`{name}`: `gate: {word}` is read as the verdicts that reviewers submit by schema; {how}"
    ));
}

fn word(text: &str) -> Either<FileAnswer> {
    Either::Word(text.to_owned())
}

fn back(next: &str) -> Either<FileAnswer> {
    Either::Full(FileAnswer {
        next: next.to_owned(),
        rejects: true,
        resets: false,
    })
}

fn answers<const N: usize>(
    place: Place,
    list: [(&str, Either<FileAnswer>); N],
) -> Entries<Either<FileAnswer>> {
    let placed = |(name, answer): (&str, _)| {
        let value = name.to_owned();
        (Placed { value, place }, answer)
    };
    Entries(list.into_iter().map(placed).collect())
}

fn gate(place: Place, checks: Vec<FileCheck>, on_fail: Option<String>) -> FileStep {
    FileStep {
        gate: Some(Placed {
            value: Either::Full(checks.into_iter().map(Either::Full).collect()),
            place,
        }),
        on_fail,
        ..FileStep::default()
    }
}

/// Every place a step names another.
fn each_target(step: &mut FileStep, f: &mut dyn FnMut(&mut String)) {
    let own = [
        &mut step.next,
        &mut step.on_fail,
        &mut step.on_reject,
        &mut step.on_conflict,
    ];
    own.into_iter().flatten().for_each(&mut *f);
    if let Some(rebound) = &mut step.rebound {
        f(&mut rebound.to.0);
    }
    for (_, answer) in &mut step.answers.0 {
        match answer {
            Either::Word(next) => f(next),
            Either::Full(full) => f(&mut full.next),
        }
    }
}

struct Writer<'a, 'b> {
    compiler: &'a mut Compiler<'b>,
    graph: &'a mut Graph,
    switches: &'a Switches,
}

impl Writer<'_, '_> {
    fn len(&self) -> usize {
        self.graph.entries.len()
    }

    fn name(&self, index: usize) -> Placed<String> {
        self.graph.entries[index].0.clone()
    }

    fn kind(&mut self, index: usize) -> Option<Kind> {
        self.compiler.kind_of(&self.graph.entries[index].1)
    }

    /// The nearest implementer before a step, or any.
    fn implementer(&mut self, index: usize) -> Option<String> {
        let before = (0..index).rev();
        let others = index..self.len();
        before
            .chain(others)
            .find(|i| self.kind(*i) == Some(Kind::Implementer))
            .map(|i| self.name(i).value)
    }

    /// The one who does the work of this graph.
    fn first_implementer(&mut self) -> Option<String> {
        let found = (0..self.len()).find(|i| self.kind(*i) == Some(Kind::Implementer));
        found.map(|i| self.name(i).value)
    }

    /// Where the work of a step goes back to.
    fn redone_by(&mut self, index: usize) -> String {
        let step = &self.graph.entries[index].1;
        if let Some(said) = step.on_reject.clone().or(step.on_fail.clone()) {
            return said;
        }
        match self.kind(index) {
            Some(Kind::Gatekeeper) | None => {
                let commits = self.graph.entries[index].1.commit.is_some();
                let implementer = if commits {
                    self.first_implementer()
                } else {
                    self.implementer(index)
                };
                let earlier = |writer: &mut Self| {
                    let makes = [Kind::Planner, Kind::Designer, Kind::Analyst];
                    let found = (0..index)
                        .rev()
                        .find(|i| writer.kind(*i).is_some_and(|kind| makes.contains(&kind)));
                    found.map(|i| writer.name(i).value)
                };
                implementer
                    .or_else(|| earlier(self))
                    .unwrap_or_else(|| "fail".to_owned())
            }
            Some(_) => self.name(index).value,
        }
    }

    fn insert_after(&mut self, index: usize, suffix: &str, mut step: FileStep) -> usize {
        let own = self.name(index);
        let name = format!("{}-{suffix}", own.value);
        let before = &mut self.graph.entries[index].1;
        step.next = before.next.replace(name.clone());
        step.when.clone_from(&before.when);
        let name = Placed {
            value: name,
            place: own.place,
        };
        self.graph.entries.insert(index + 1, (name, step));
        index + 1
    }

    fn insert_before(&mut self, index: usize, suffix: &str, mut step: FileStep) {
        let own = self.name(index);
        let name = format!("{}-{suffix}", own.value);
        for (_, other) in &mut self.graph.entries {
            each_target(other, &mut |target| {
                if *target == own.value {
                    target.clone_from(&name);
                }
            });
        }
        if let Some(start) = self
            .graph
            .start
            .as_mut()
            .filter(|start| start.value == own.value)
        {
            start.value.clone_from(&name);
        }
        step.when.clone_from(&self.graph.entries[index].1.when);
        step.next.get_or_insert_with(|| own.value.clone());
        let name = Placed {
            value: name,
            place: own.place,
        };
        self.graph.entries.insert(index, (name, step));
    }

    fn remove(&mut self, index: usize) {
        let (name, step) = self.graph.entries.remove(index);
        let follows = step.next.unwrap_or_else(|| "done".to_owned());
        for (_, other) in &mut self.graph.entries {
            each_target(other, &mut |target| {
                if *target == name.value {
                    target.clone_from(&follows);
                }
            });
        }
        if let Some(start) = self
            .graph
            .start
            .as_mut()
            .filter(|start| start.value == name.value)
        {
            start.value = follows;
        }
    }

    fn leave_out(&mut self) {
        let mut index = 0;
        while index < self.len() {
            let (name, step) = &self.graph.entries[index];
            let off = (self.switches.no_security && name.value == "security_review")
                || (self.switches.no_publish && step.publish.is_some());
            if off {
                self.remove(index);
            } else {
                index += 1;
            }
        }
    }

    /// One after the other, or each twice.
    fn reviewers(&mut self) {
        let mut index = 0;
        while index < self.len() {
            if self.kind(index) != Some(Kind::Gatekeeper) {
                index += 1;
                continue;
            }
            let step = &mut self.graph.entries[index].1;
            let alone = step.roles.len() + usize::from(step.role.is_some()) == 1;
            if self.switches.dual && alone && step.instances.is_none() {
                step.instances = Some(2);
            }
            let in_turn = step.parallel == Some(false) || self.switches.serial;
            let all = step.join.unwrap_or_default() == Join::All;
            if in_turn && all && step.roles.len() > 1 {
                let rest = step.roles.split_off(1);
                let on_reject = Some(self.redone_by(index));
                let shared = &self.graph.entries[index].1;
                let (rounds, instances) = (shared.max_rounds, shared.instances);
                for role in rest.into_iter().rev() {
                    let next = FileStep {
                        on_reject: on_reject.clone(),
                        max_rounds: rounds,
                        instances,
                        role: Some(role.clone()),
                        ..FileStep::default()
                    };
                    self.insert_after(index, &role.value.replace('/', "-"), next);
                }
            }
            index += 1;
        }
    }

    fn approval(&mut self, index: usize, said: &Either<()>) -> FileStep {
        let name = self.name(index);
        let done = self.graph.entries[index].1.commit.is_none()
            && self.graph.entries[index].1.publish.is_none();
        let question = match said {
            Either::Word(text) if text != "true" => text.clone(),
            _ if done => format!("`{}` is done. Go on with it?", name.value),
            _ => format!("`{}` comes next. Go on?", name.value),
        };
        let redone = self.redone_by(index);
        let place = name.place;
        FileStep {
            person: Some(question),
            answers: answers(place, [("approve", word("")), ("reject", back(&redone))]),
            ..FileStep::default()
        }
    }

    /// What a person says yes to leads on.
    fn lead_on(step: &mut FileStep, next: String) {
        if let Some((_, Either::Word(target))) = step.answers.0.first_mut() {
            *target = next;
        }
    }

    fn approvals_after(&mut self) {
        let mut index = 0;
        while index < self.len() {
            let step = &mut self.graph.entries[index].1;
            let before = step.commit.is_some() || step.publish.is_some() || step.person.is_some();
            if before {
                index += 1;
                continue;
            }
            let said = step.human_approval.take().filter(is_on);
            if let Some(said) = said.filter(|_| self.switches.approvals) {
                let mut approval = self.approval(index, &said);
                let next = self.graph.entries[index].1.next.clone();
                Self::lead_on(&mut approval, next.unwrap_or_else(|| "done".to_owned()));
                index = self.insert_after(index, "approval", approval);
            }
            index += 1;
        }
    }

    fn approvals_before(&mut self) {
        let mut index = 0;
        while index < self.len() {
            let name = self.name(index).value;
            let step = &mut self.graph.entries[index].1;
            let before = step.commit.is_some() || step.publish.is_some();
            let said = step.human_approval.take().filter(is_on);
            let asks = (step.commit.is_some() && self.switches.commits_ask)
                .then(|| Either::Word("true".to_owned()));
            let said = said.filter(|_| self.switches.approvals).or(asks);
            if let Some(said) = said.filter(|_| before) {
                let mut approval = self.approval(index, &said);
                Self::lead_on(&mut approval, name);
                self.insert_before(index, "approval", approval);
                index += 1;
            }
            index += 1;
        }
    }

    /// A role's own gates run when it has submitted.
    fn gates_of_roles(&mut self) {
        let mut index = 0;
        while index < self.len() {
            let step = &self.graph.entries[index].1;
            let names: Vec<Placed<String>> = step.role.iter().chain(&step.roles).cloned().collect();
            let (on_fail, place) = (step.on_fail.clone(), self.name(index).place);
            let mut gates = Vec::new();
            for name in &names {
                let role = self.compiler.role(name);
                for gate in role.into_iter().flat_map(|role| role.gates) {
                    if !gates.contains(&gate) {
                        gates.push(gate);
                    }
                }
            }
            for (meaning, suffix) in [(OnGateFail::Retry, "gates"), (OnGateFail::Block, "blocks")] {
                let own = gates.iter().filter(|gate| gate.on_fail == meaning);
                let checks: Vec<FileCheck> = own
                    .map(|gate| FileCheck {
                        name: Some(gate.name.clone()),
                        command: Some(gate.command.clone()),
                        timeout_seconds: gate.timeout_seconds,
                        ..FileCheck::default()
                    })
                    .collect();
                if checks.is_empty() {
                    continue;
                }
                let target = match meaning {
                    OnGateFail::Retry => Some(self.redone_by(index)),
                    OnGateFail::Block => on_fail.clone(),
                };
                self.insert_after(index, suffix, gate(place, checks, target));
            }
            index += 1;
        }
    }

    /// What must hold before anything is integrated.
    fn before_commits(&mut self) {
        let mut index = 0;
        while index < self.len() {
            if self.graph.entries[index].1.commit.is_none() {
                index += 1;
                continue;
            }
            let place = self.name(index).place;
            let implementer = self.implementer(index);
            let security = self.compiler.surroundings.security_role.clone();
            if let Some(value) = security.filter(|_| self.switches.security == Some(true)) {
                let review = FileStep {
                    role: Some(Placed { value, place }),
                    on_reject: self.first_implementer(),
                    ..FileStep::default()
                };
                self.insert_before(index, "security-review", review);
                index += 1;
            }
            let changed = |name: &str, paths: Vec<String>| FileCheck {
                name: Some(name.to_owned()),
                changed: OneOrMany(paths),
                ..FileCheck::default()
            };
            let mut checks = Vec::new();
            if self.switches.tests {
                let tests = self.compiler.surroundings.tests.clone();
                checks.push(changed("tests are part of the change", tests));
            }
            if self.switches.changelog {
                let logs = CHANGELOGS.iter().map(|path| (*path).to_owned()).collect();
                checks.push(changed("the changelog is part of the change", logs));
            }
            if !checks.is_empty() {
                self.insert_before(index, "requirements", gate(place, checks, implementer));
                index += 1;
            }
            index += 1;
        }
    }

    fn hooks(&mut self, file: &WorkflowFile) {
        for (hook, names) in &file.hooks.0 {
            let (mut checks, mut lacking) = (Vec::new(), Vec::new());
            for name in names {
                match self.compiler.named_check(&name.value) {
                    Some(check) => checks.push((name.value.clone(), check)),
                    None => lacking.push(format!("`{}`", name.value)),
                }
            }
            if !lacking.is_empty() {
                let left_out = match lacking.len() {
                    1 => "so it is left out",
                    _ => "so they are left out",
                };
                self.compiler.notes.push(format!(
                    "`hooks.{}`: no check {} is configured, {left_out}",
                    hook.value,
                    lacking.join(" or ")
                ));
            }
            let known = ["pre_commit", "pre_review", "post_implement", "pre_publish"];
            if !known.contains(&hook.value.as_str()) {
                let message = format!("there is no hook `{}`", hook.value);
                let fault = Fault::at(hook.place, message).maybe(meant(&hook.value, known));
                if !self.compiler.faults.contains(&fault) {
                    self.compiler.faults.push(fault);
                }
                continue;
            }
            if checks.is_empty() {
                continue;
            }
            for (name, check) in &checks {
                // By its name, so that the gate finds what was found here.
                let timeout_seconds = Some(check.timeout_ms / 1_000);
                let full = match &check.what {
                    super::CheckKind::Command(command) => FileCheck {
                        name: Some(check.name.clone()),
                        command: Some(command.clone()),
                        timeout_seconds,
                        ..FileCheck::default()
                    },
                    _ => continue,
                };
                self.compiler
                    .checks
                    .insert(name.clone(), Either::Full(full));
            }
            self.hook(
                &hook.value,
                &checks.into_iter().map(|(name, _)| name).collect::<Vec<_>>(),
            );
        }
    }

    fn hook(&mut self, hook: &str, checks: &[String]) {
        let suffix = hook.replace('_', "-");
        let mut index = 0;
        while index < self.len() {
            let kind = self.kind(index);
            let step = &mut self.graph.entries[index].1;
            let mut leads_to_publish = false;
            let fits = match hook {
                "pre_commit" => step.commit.is_some(),
                "pre_review" => kind == Some(Kind::Gatekeeper),
                "post_implement" => kind == Some(Kind::Implementer),
                _ => {
                    let asks = step.person.is_some();
                    let mut targets = Vec::new();
                    each_target(step, &mut |target| targets.push(target.clone()));
                    let published = self
                        .graph
                        .entries
                        .iter()
                        .filter(|(_, s)| s.publish.is_some());
                    for (name, _) in published {
                        leads_to_publish |= targets.contains(&name.value);
                    }
                    asks && leads_to_publish
                }
            };
            if fits {
                let place = self.name(index).place;
                let list = checks.iter().map(|name| Either::Word(name.clone()));
                let target = if hook == "post_implement" {
                    Some(self.name(index).value)
                } else {
                    self.first_implementer()
                };
                let gate = FileStep {
                    gate: Some(Placed {
                        value: Either::Full(list.collect()),
                        place,
                    }),
                    on_fail: target,
                    ..FileStep::default()
                };
                if hook == "post_implement" {
                    self.insert_after(index, &suffix, gate);
                } else {
                    self.insert_before(index, &suffix, gate);
                }
                index += 1;
            }
            index += 1;
        }
    }

    /// `on_failure: ask_human`: after the last try a person says whether to try again.
    fn help(&mut self) {
        for index in 0..self.len() {
            let name = self.name(index);
            let step = &mut self.graph.entries[index].1;
            let asks = step.retry.as_ref().is_some_and(|retry| {
                matches!(&retry.value, Either::Full(policy)
                    if policy.on_failure == Some(OnFailure::AskHuman))
            });
            if !asks || step.on_fail.is_some() {
                continue;
            }
            let help = format!("{}-help", name.value);
            step.on_fail = Some(help.clone());
            let again = Either::Full(FileAnswer {
                next: name.value.clone(),
                rejects: false,
                resets: true,
            });
            let place = name.place;
            let asks = FileStep {
                person: Some(format!(
                    "`{}` failed again and again. Try once more?",
                    name.value
                )),
                answers: answers(place, [("again", again), ("give_up", word("fail"))]),
                ..FileStep::default()
            };
            self.graph
                .entries
                .push((Placed { value: help, place }, asks));
        }
    }

    fn pull_request(&mut self) {
        let asks = "pull_request-approval";
        let mut place = Place::NONE;
        for (name, step) in &mut self.graph.entries {
            let ends = step.next.as_deref() == Some("done")
                || (step.next.is_none() && step.commit.is_some());
            if ends {
                step.next = Some(asks.to_owned());
                place = name.place;
            }
        }
        let placed = |value: &str| Placed {
            value: value.to_owned(),
            place,
        };
        let person = FileStep {
            person: Some("The work is done. Open a draft pull request for it?".to_owned()),
            answers: answers(
                place,
                [("open", word("pull_request")), ("leave", word("done"))],
            ),
            ..FileStep::default()
        };
        let publish = FileStep {
            publish: Some(PULL_REQUEST.to_owned()),
            next: Some("done".to_owned()),
            ..FileStep::default()
        };
        self.graph.entries.push((placed(asks), person));
        self.graph.entries.push((placed("pull_request"), publish));
    }
}

impl Compiler<'_> {
    /// Roles in their order become steps: checks after every implementer, rejections to the
    /// nearest implementer before, a commit at the end.
    pub(super) fn sequence(&mut self, file: &mut WorkflowFile, graph: &mut Graph, place: Place) {
        if !graph.entries.is_empty() {
            let fault = Fault::at(place, "a workflow has `steps` or a `sequence`, not both");
            self.faults.push(fault);
            return;
        }
        file.max_iterations.get_or_insert(5);
        let mut members: Vec<(Placed<String>, Kind, Placed<String>)> = Vec::new();
        for entry in std::mem::take(&mut file.sequence) {
            let place = entry.place;
            let (role, said) = match entry.value {
                Either::Word(role) => (role, None),
                Either::Full(SequenceEntry { role, kind }) => (role, kind),
            };
            let role = Placed { value: role, place };
            let Some(resolved) = self.role(&role) else {
                continue;
            };
            let kind = resolved.role.kind;
            if let Some(said) = said.filter(|said| *said != kind) {
                let message = format!(
                    "the role `{}` is {}, not {}",
                    role.value,
                    kind.with_article(),
                    said.with_article()
                );
                self.fault(place, message);
            }
            let twice = members
                .iter()
                .filter(|(_, _, known)| known.value == role.value)
                .count();
            let plain = role.value.replace('/', "-");
            let value = if twice == 0 {
                plain
            } else {
                format!("{plain}-{}", twice + 1)
            };
            members.push((Placed { value, place }, kind, role));
        }
        let entries = self.members(file, &members);
        graph.entries = entries;
    }

    fn members(
        &mut self,
        file: &WorkflowFile,
        members: &[(Placed<String>, Kind, Placed<String>)],
    ) -> Vec<(Placed<String>, FileStep)> {
        let mut entries: Vec<(Placed<String>, FileStep)> = Vec::new();
        let after = file.rebound.map(|rebound| rebound.after_failures);
        let (mut implementer, mut designer): (Option<String>, Option<String>) = (None, None);
        let mut offers = false;
        for (name, kind, role) in members {
            let mut step = FileStep {
                role: Some(role.clone()),
                ..FileStep::default()
            };
            if *kind == Kind::Gatekeeper {
                let Some(implementer) = &implementer else {
                    let message = format!("`{}` has nobody before it to go back to", name.value);
                    let fault = Fault::at(name.place, message);
                    self.faults
                        .push(fault.hint("put an implementer before every gatekeeper"));
                    continue;
                };
                step.on_reject = Some(implementer.clone());
                step.rebound = rebound(after, designer.as_ref(), &mut offers);
            }
            if *kind == Kind::Designer && implementer.is_none() {
                designer = Some(name.value.clone());
            }
            entries.push((name.clone(), step));
            if *kind == Kind::Implementer {
                implementer = Some(name.value.clone());
                let verify = FileStep {
                    gate: Some(Placed {
                        value: Either::Word("project".to_owned()),
                        place: name.place,
                    }),
                    on_fail: implementer.clone(),
                    rebound: rebound(after, designer.as_ref(), &mut offers),
                    ..FileStep::default()
                };
                let value = format!("{}-checks", name.value);
                let place = name.place;
                entries.push((Placed { value, place }, verify));
            }
        }
        let place = members.last().map_or(Place::NONE, |(name, ..)| name.place);
        let placed = |value: &str| Placed {
            value: value.to_owned(),
            place,
        };
        if implementer.is_some() {
            let commit = FileStep {
                commit: Some(Commit::Branch),
                ..FileStep::default()
            };
            entries.push((placed("commit"), commit));
        }
        let names: Vec<String> = entries.iter().map(|(name, _)| name.value.clone()).collect();
        for (index, (_, step)) in entries.iter_mut().enumerate() {
            let next = names.get(index + 1).cloned();
            step.next = Some(next.unwrap_or_else(|| "done".to_owned()));
        }
        if let (true, Some(designer), Some(implementer)) = (offers, designer, implementer) {
            let again = Either::Full(FileAnswer {
                next: designer.clone(),
                rejects: false,
                resets: true,
            });
            let question = format!(
                "This was rejected several times. Should `{designer}` look at the approach again?"
            );
            let asks = FileStep {
                person: Some(question),
                answers: answers(place, [("yes", again), ("no", word(&implementer))]),
                ..FileStep::default()
            };
            entries.push((placed("rebound"), asks));
        }
        entries
    }
}

fn rebound(after: Option<u32>, designer: Option<&String>, offers: &mut bool) -> Option<Rebound> {
    designer?;
    let after = after?;
    *offers = true;
    Some(Rebound {
        after,
        to: StepId::from("rebound"),
    })
}

#[cfg(test)]
mod tests;
