//! The passes that insert steps into a graph, one after the other.

use codeteam_core::ids::RoleName;
use codeteam_core::role::RoleKind;
use codeteam_core::spelling::suggest_word;
use codeteam_core::workflow::{CheckKind, CommitApproval, JoinRule, StepCondition};

use super::super::compile::{default_role, named_roles, role_checks};
use super::super::file::{FileAnswer, FileCheck, FileStep, OnFailure, WorkflowFile};
use super::editor::GraphEditor;
use super::{answer_to, answers, each_target, gate, is_on, rejecting_answer};
use crate::roles::OnGateFail;
use crate::yaml::{Diagnostic, OneOrMany, ScalarOr, SourcePosition, WithPosition};

/// The command that opens a pull request if the workflow does not define one, or updates the one that
/// the branch has. A run that was taken back needs the lease: nobody else's commits are overwritten.
const PULL_REQUEST: &str = "git push --force-with-lease --set-upstream origin \"$CODETEAM_BRANCH\" && \
    url=$(gh pr list --head \"$CODETEAM_BRANCH\" --state open --json url --jq '.[0].url // empty') && \
    if [ -n \"$url\" ]; then gh pr edit \"$url\" --body \"$PR_BODY\" > /dev/null && echo \"$url\"; \
    else gh pr create --draft --head \"$CODETEAM_BRANCH\" --title \"$PR_TITLE\" --body \"$PR_BODY\"; fi";
const CHANGELOGS: &[&str] = &[
    "CHANGELOG*",
    "CHANGES*",
    "**/CHANGELOG*",
    "changelog.d/**",
    ".changes/**",
    ".changeset/**",
];

impl GraphEditor<'_, '_> {
    /// Runs all passes, in an order in which each finds its place: of the steps that follow a step,
    /// the one next to it is inserted first; of those that precede a commit, the farthest from it
    /// is inserted first.
    pub(super) fn expand_graph(&mut self, file: &WorkflowFile, is_top: bool) {
        self.remove_switched_off();
        self.expand_reviewers();
        self.insert_approvals_after();
        self.insert_role_gates();
        self.insert_commit_gates();
        self.insert_hooks(file);
        self.insert_approvals_before();
        self.insert_questions();
        self.insert_retry_questions();
        if is_top && self.switches.pull_request {
            self.insert_pull_request();
        }
    }

    fn remove_switched_off(&mut self) {
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

    /// Makes reviewers judge one after the other, or doubles them, as the settings say.
    fn expand_reviewers(&mut self) {
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
                let on_reject = Some(self.redo_target(index));
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
        let redone = self.redo_target(index);
        let place = name.place;
        FileStep {
            person: Some(question),
            answers: answers(
                place,
                [
                    ("approve", answer_to("")),
                    ("reject", rejecting_answer(&redone)),
                ],
            ),
            ..FileStep::default()
        }
    }

    /// Changes where a person's approval, the first answer, leads.
    fn set_next(step: &mut FileStep, next: String) {
        if let Some((_, ScalarOr::Word(target))) = step.answers.0.first_mut() {
            *target = next;
        }
    }

    fn insert_approvals_after(&mut self) {
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
                Self::set_next(&mut approval, next.unwrap_or_else(|| "done".to_owned()));
                index = self.insert_after(index, "approval", approval);
            }
            index += 1;
        }
    }

    fn insert_approvals_before(&mut self) {
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
                Self::set_next(&mut approval, name);
                self.insert_before(index, "approval", approval);
                index += 1;
            }
            index += 1;
        }
    }

    /// Inserts a question before each commit if the project wants to be asked, so that a person
    /// sees what would be committed. A commit that is reached by a person's answer has been seen
    /// already.
    fn insert_questions(&mut self) {
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
                    // If the person's step is left out, nobody has seen the change.
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
            let redone = self.redo_target(at);
            let first = StepCondition::Committed(false);
            let asked = FileStep {
                person: Some(question.to_owned()),
                answers: answers(
                    place,
                    [
                        ("commit", answer_to(&commit.value)),
                        ("reject", rejecting_answer(&redone)),
                        ("leave", answer_to("fail")),
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

    /// Inserts the gates of a role after its step; they run when the role has submitted.
    fn insert_role_gates(&mut self) {
        let mut index = 0;
        while index < self.len() {
            let step = &self.graph.entries[index].1;
            if let Some(usual) = default_role(step).cloned() {
                for (role, checks) in self.compiler.checks_of_assignable_roles(&usual) {
                    self.insert_gates_of(index, &checks, Some(&role));
                }
                index += 1;
                continue;
            }
            let names: Vec<WithPosition<String>> = named_roles(step).cloned().collect();
            let mut checks: Vec<(OnGateFail, FileCheck)> = Vec::new();
            for role in names.iter().filter_map(|name| self.compiler.role(name)) {
                for gate in role_checks(&role) {
                    if !checks.contains(&gate) {
                        checks.push(gate);
                    }
                }
            }
            self.insert_gates_of(index, &checks, None);
            index += 1;
        }
    }

    /// Inserts checks of roles as gates after a step, for one role alone if the plan names the roles
    /// of the step.
    fn insert_gates_of(
        &mut self,
        index: usize,
        checks: &[(OnGateFail, FileCheck)],
        role: Option<&RoleName>,
    ) {
        let (on_fail, place) = {
            let step = &self.graph.entries[index].1;
            (step.on_fail.clone(), self.name(index).place)
        };
        for (meaning, suffix) in [(OnGateFail::Retry, "gates"), (OnGateFail::Block, "blocks")] {
            let own = checks.iter().filter(|(on_fail, _)| *on_fail == meaning);
            let checks: Vec<FileCheck> = own.map(|(_, check)| check.clone()).collect();
            if checks.is_empty() {
                continue;
            }
            let target = match meaning {
                // Whose turn it is has not finished it, whatever follows a failure of the step.
                OnGateFail::Retry if role.is_some() => Some(self.name(index).value),
                OnGateFail::Retry => Some(self.redo_target(index)),
                OnGateFail::Block => on_fail.clone(),
            };
            let suffix = match role {
                Some(role) => format!("{role}-{suffix}"),
                None => suffix.to_owned(),
            };
            let at = self.insert_after(index, &suffix, gate(place, checks, target));
            if let Some(role) = role {
                let when = &mut self.graph.entries[at].1.when;
                let own = StepCondition::Assigned(vec![role.clone()]);
                *when = Some(match when.take() {
                    Some(before) => StepCondition::All(vec![before, own]),
                    None => own,
                });
            }
        }
    }

    /// Inserts the checks that must hold before the work of an implementer is integrated.
    fn insert_commit_gates(&mut self) {
        let mut index = 0;
        while index < self.len() {
            let is_of_work = !self.commits_interfaces(index);
            if self.graph.entries[index].1.commit.is_none() || !is_of_work {
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
                let tests = self.compiler.surroundings.test_paths.clone();
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

    fn insert_hooks(&mut self, file: &WorkflowFile) {
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
                let fault = Diagnostic::at(hook.place, message)
                    .with_optional_hint(suggest_word(&hook.value, known));
                if !self.compiler.faults.contains(&fault) {
                    self.compiler.faults.push(fault);
                }
                continue;
            }
            if checks.is_empty() {
                continue;
            }
            for (name, check) in &checks {
                // The check keeps its name, so that the gate reuses the result of this run.
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

    /// Returns true if what a step commits are interfaces: those of a phase, or the one whose change a
    /// task has asked for.
    fn commits_interfaces(&mut self, index: usize) -> bool {
        let has_implementer = self.first_implementer().is_some();
        let entries = &self.graph.entries;
        let mut locks = entries.iter().filter(|(_, step)| step.lock.is_some());
        if !has_implementer {
            return locks.next().is_some();
        }
        let name = &entries[index].0.value;
        let find = |name: &String| entries.iter().find(|(known, _)| known.value == *name);
        // The first commit after a step that writes interfaces commits them.
        locks.any(|(_, lock)| {
            let mut next = lock.next.as_ref();
            for _ in 0..entries.len() {
                let Some((found, step)) = next.and_then(find) else {
                    return false;
                };
                if step.commit.is_some() {
                    return found.value == *name;
                }
                next = step.next.as_ref();
            }
            false
        })
    }

    /// Returns true if a step decides about changes of locked interfaces.
    fn decides_requests(&self, index: usize) -> bool {
        let name = Some(&self.graph.entries[index].0.value);
        let mut entries = self.graph.entries.iter();
        entries.any(|(_, step)| step.on_interface_change.as_ref() == name)
    }

    fn hook(&mut self, hook: &str, checks: &[String]) {
        let suffix = hook.replace('_', "-");
        let mut index = 0;
        while index < self.len() {
            let kind = self.kind(index);
            let (is_of_interfaces, decides) =
                (self.commits_interfaces(index), self.decides_requests(index));
            let step = &mut self.graph.entries[index].1;
            let mut leads_to_publish = false;
            let fits = match hook {
                // Nobody in the graph could put right what is wrong with an interface.
                "pre_commit" => step.commit.is_some() && !is_of_interfaces,
                "pre_review" => kind == Some(RoleKind::Gatekeeper) && !decides,
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

    /// Handles `on_failure: ask_human`: after the last attempt a person decides whether to try
    /// again.
    fn insert_retry_questions(&mut self) {
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
                answers: answers(place, [("again", again), ("give_up", answer_to("fail"))]),
                ..FileStep::default()
            };
            self.graph
                .entries
                .push((WithPosition { value: help, place }, asks));
        }
    }

    fn insert_pull_request(&mut self) {
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
                [
                    ("open", answer_to("pull_request")),
                    ("leave", answer_to("done")),
                ],
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
