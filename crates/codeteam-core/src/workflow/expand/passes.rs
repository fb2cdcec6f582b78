//! What is put into a graph, one thing after the other.

use super::super::file::{FileAnswer, FileCheck, FileStep, OnFailure, WorkflowFile};
use super::super::{CheckKind, CommitApproval, JoinRule, StepCondition};
use super::writer::GraphEditor;
use super::{answers, back, each_target, gate, is_on, word};
use crate::role::{OnGateFail, RoleKind};
use crate::yaml::{Diagnostic, OneOrMany, ScalarOr, SourcePosition, WithPosition, meant};

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

impl GraphEditor<'_, '_> {
    /// Everything, in an order in which each finds its place: what comes after a step next to it
    /// first, what comes before a commit farthest from it first.
    pub(super) fn write(&mut self, file: &WorkflowFile, is_top: bool) {
        self.leave_out();
        self.reviewers();
        self.approvals_after();
        self.gates_of_roles();
        self.before_commits();
        self.hooks(file);
        self.approvals_before();
        self.questions_before();
        self.help();
        if is_top && self.switches.pull_request {
            self.pull_request();
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
            if self.kind(index) != Some(RoleKind::Gatekeeper) {
                index += 1;
                continue;
            }
            let step = &mut self.graph.entries[index].1;
            let alone = step.roles.len() + usize::from(step.role.is_some()) == 1;
            if self.switches.dual && alone && step.instances.is_none() {
                step.instances = Some(2);
            }
            let in_turn = step.parallel == Some(false) || self.switches.serial;
            let all = step.join.unwrap_or_default() == JoinRule::All;
            if in_turn && all && step.roles.len() > 1 {
                if !std::mem::take(&mut step.small_change).is_empty() {
                    let name = self.name(index).value;
                    self.compiler.notes.push(format!(
                        "`{name}`: `small_change` is left out, because its roles judge one after \
                         the other"
                    ));
                }
                let step = &mut self.graph.entries[index].1;
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

    fn approval(&mut self, index: usize, said: &ScalarOr<()>) -> FileStep {
        let name = self.name(index);
        let done = self.graph.entries[index].1.commit.is_none()
            && self.graph.entries[index].1.publish.is_none();
        let question = match said {
            ScalarOr::Word(text) if text != "true" => text.clone(),
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
        if let Some((_, ScalarOr::Word(target))) = step.answers.0.first_mut() {
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
                .then(|| ScalarOr::Word("true".to_owned()));
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

    /// Where the project wants to be asked, a person sees what would be committed. What leads to a
    /// commit by a person's answer has been seen already.
    fn questions_before(&mut self) {
        let asks = self.compiler.surroundings.asks_before;
        let question = match asks {
            CommitApproval::Nothing => return,
            CommitApproval::First => {
                "This would be committed. Commit it? Later commits are made without asking."
            }
            CommitApproval::Each => "This would be committed. Commit it?",
        };
        let commits = self.graph.entries.iter();
        let commits: Vec<WithPosition<String>> = commits
            .filter(|(_, step)| step.commit.is_some())
            .map(|(name, _)| name.clone())
            .collect();
        for commit in commits {
            let name = format!("{}-preview", commit.value);
            let mut leads = false;
            for (_, other) in &mut self.graph.entries {
                if other.person.is_some() {
                    // Where it is left out, nobody has seen anything.
                    let skips = other.when.is_some() && other.next.as_ref() == Some(&commit.value);
                    if skips {
                        other.next = Some(name.clone());
                        leads = true;
                    }
                    continue;
                }
                each_target(other, &mut |target| {
                    if *target == commit.value {
                        target.clone_from(&name);
                        leads = true;
                    }
                });
            }
            if let Some(start) = &mut self.graph.start
                && start.value == commit.value
            {
                start.value.clone_from(&name);
                leads = true;
            }
            let place = commit.place;
            let at = self.graph.entries.iter();
            let at = at
                .take_while(|(name, _)| name.value != commit.value)
                .count();
            if !leads || at == self.len() {
                continue;
            }
            let redone = self.redone_by(at);
            let first = StepCondition::Committed(false);
            let asked = FileStep {
                person: Some(question.to_owned()),
                answers: answers(
                    place,
                    [
                        ("commit", word(&commit.value)),
                        ("reject", back(&redone)),
                        ("leave", word("fail")),
                    ],
                ),
                when: (asks == CommitApproval::First).then_some(first),
                next: Some(commit.value.clone()),
                ..FileStep::default()
            };
            self.graph
                .entries
                .insert(at, (WithPosition { value: name, place }, asked));
        }
    }

    /// A role's own gates run when it has submitted.
    fn gates_of_roles(&mut self) {
        let mut index = 0;
        while index < self.len() {
            let step = &self.graph.entries[index].1;
            let names: Vec<WithPosition<String>> =
                step.role.iter().chain(&step.roles).cloned().collect();
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
                    role: Some(WithPosition { value, place }),
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
                let fault = Diagnostic::at(hook.place, message).maybe(meant(&hook.value, known));
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
                    CheckKind::Command(command) => FileCheck {
                        name: Some(check.name.clone()),
                        command: Some(command.clone()),
                        timeout_seconds,
                        ..FileCheck::default()
                    },
                    _ => continue,
                };
                self.compiler
                    .checks
                    .insert(name.clone(), ScalarOr::Full(full));
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
                "pre_review" => kind == Some(RoleKind::Gatekeeper),
                "post_implement" => kind == Some(RoleKind::Implementer),
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
                let list = checks.iter().map(|name| ScalarOr::Word(name.clone()));
                let target = if hook == "post_implement" {
                    Some(self.name(index).value)
                } else {
                    self.first_implementer()
                };
                let gate = FileStep {
                    gate: Some(WithPosition {
                        value: ScalarOr::Full(list.collect()),
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
                matches!(&retry.value, ScalarOr::Full(policy)
                    if policy.on_failure == Some(OnFailure::AskHuman))
            });
            if !asks || step.on_fail.is_some() {
                continue;
            }
            let help = format!("{}-help", name.value);
            step.on_fail = Some(help.clone());
            let again = ScalarOr::Full(FileAnswer {
                next: name.value.clone(),
                rejects: false,
                resets: true,
                edits: false,
                reverts: false,
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
                .push((WithPosition { value: help, place }, asks));
        }
    }

    fn pull_request(&mut self) {
        let asks = "pull_request-approval";
        let mut place = SourcePosition::NONE;
        for (name, step) in &mut self.graph.entries {
            let ends = step.next.as_deref() == Some("done")
                || (step.next.is_none() && step.commit.is_some());
            if ends {
                step.next = Some(asks.to_owned());
                place = name.place;
            }
        }
        let placed = |value: &str| WithPosition {
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
