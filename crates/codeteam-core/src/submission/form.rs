//! Answer forms: which ones exist, and an example of each.

use serde_json::{Value, json};

use crate::role::{Contract, EditMode, Role, RoleKind};

/// The form an answer must have: the role kind, the contract, and how files are changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AnswerForm {
    /// The kind of role, which determines the content.
    pub kind: RoleKind,
    /// The wire format.
    pub contract: Contract,
    /// The way the worker changes files.
    pub mode: EditMode,
    /// Whether a planner may ask a person first. An analyst always may.
    pub asks: bool,
    /// Whether an implementer may ask for a change of a locked interface.
    pub requests: bool,
}

/// Why a form does not exist.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MissingForm {
    /// The problem.
    pub message: String,
    /// A hint what to write instead.
    pub hint: String,
}

impl Role {
    /// Returns the form of the role's answers.
    pub fn answer_form(&self) -> AnswerForm {
        AnswerForm {
            kind: self.kind,
            contract: self.contract,
            mode: self.means.mode,
            asks: false,
            requests: false,
        }
    }
}

impl AnswerForm {
    /// Returns every form that exists.
    pub fn all() -> impl Iterator<Item = Self> {
        Contract::ALL.into_iter().flat_map(|contract| {
            RoleKind::ALL.into_iter().flat_map(move |kind| {
                let form = move |mode| Self {
                    kind,
                    contract,
                    mode,
                    asks: false,
                    requests: false,
                };
                let modes = [EditMode::Tools, EditMode::Edits].into_iter();
                modes.map(form).filter(|form| form.missing_form().is_none())
            })
        })
    }

    /// Returns why the contract has no such form, if it has none. An answer would then be read in
    /// the native form, which nobody asked for.
    pub fn missing_form(self) -> Option<MissingForm> {
        let word = self.contract.as_str();
        if !self.contract.supported_kinds().contains(&self.kind) {
            let kinds: Vec<&str> = self
                .contract
                .supported_kinds()
                .iter()
                .map(|k| k.as_str())
                .collect();
            return Some(MissingForm {
                message: format!("the contract `{word}` has no form for {}", a(self.kind)),
                hint: format!(
                    "it has one for {}; leave `contract` out for the native one",
                    kinds.join(", ")
                ),
            });
        }
        let (message, hint) = match (self.kind, self.contract, self.mode) {
            (RoleKind::Implementer, Contract::Strict, EditMode::Tools) => (
                "has whole files in an implementer's answer, and no tools",
                "add `mode: edits` to the role",
            ),
            (RoleKind::Implementer, Contract::Supervisor, EditMode::Edits) => (
                "has no place for whole files in an implementer's answer",
                "remove `mode: edits` from the role, or leave `contract` out for the native one",
            ),
            _ => return None,
        };
        Some(MissingForm {
            message: format!("the contract `{word}` {message}"),
            hint: hint.to_owned(),
        })
    }
}

fn a(kind: RoleKind) -> String {
    let article = match kind {
        RoleKind::Analyst | RoleKind::Implementer => "an",
        RoleKind::Designer | RoleKind::Planner | RoleKind::Gatekeeper | RoleKind::Scribe => "a",
    };
    format!("{article} {}", kind.as_str())
}

/// Returns an example of an answer, for feedback and prompts.
pub fn example(form: AnswerForm) -> Value {
    match form.contract {
        Contract::Strict => strict(form),
        Contract::Supervisor => supervisor(form),
        Contract::TeamMcp => team(form),
        Contract::Assembly => json!({"assignments": [{"task": "task-001", "roles": ["…"],
            "alternatives": ["…"], "reason": "…"}]}),
        Contract::Quality => json!({"overall_score": 64, "criteria_scores": [
            {"criterion": 1, "score": 90, "reason": "…"}, {"criterion": 2, "score": 40, "reason": "…"}],
            "issues": ["…"], "suggestions": ["…"]}),
        Contract::Intervention => json!({"intervention": "retry", "reason": "…"}),
        Contract::Native => native(form),
    }
}

fn native(form: AnswerForm) -> Value {
    match form.kind {
        RoleKind::Analyst => json!({"requirements": "…"}),
        RoleKind::Designer => json!({"design": "…", "patterns": ["…"], "warnings": []}),
        RoleKind::Planner => json!({"plan": {"description": "…", "tasks": [
            {"id": "task-001", "title": "…", "description": "…", "dependencies": [],
             "files": ["src/a.rs"], "acceptance": ["…"]}]}}),
        RoleKind::Implementer if form.mode == EditMode::Edits => {
            json!({"summary": "…", "concerns": [],
            "edits": [{"path": "src/a.rs", "content": "…"}, {"path": "src/b.rs", "delete": true}]})
        }
        RoleKind::Implementer => {
            json!({"summary": "…", "files": ["src/a.rs"], "proof": "…", "concerns": []})
        }
        RoleKind::Gatekeeper => json!({"verdict": "reject", "reason": "…",
            "findings": [{"severity": "major", "title": "…", "detail": "…", "file": "src/a.rs", "line": 1}],
            "resolved": [{"id": "F1", "state": "fixed"}]}),
        RoleKind::Scribe => json!({"message": "…"}),
    }
}

fn team(form: AnswerForm) -> Value {
    match (form.kind, form.mode) {
        (RoleKind::Analyst, _) => json!({"confirmed_requirements": "…"}),
        (RoleKind::Implementer, EditMode::Tools) => {
            json!({"summary": "…", "files_changed": ["src/a.rs"], "proof": "…"})
        }
        (RoleKind::Gatekeeper, _) => json!({"approved": false, "reason": "…", "issues": ["…"]}),
        _ => native(form),
    }
}

fn strict(form: AnswerForm) -> Value {
    match form.kind {
        RoleKind::Planner => json!({"plan_id": "plan_0001", "tasks": [
            {"id": "T1", "title": "…", "rationale": "…", "acceptance": "…",
             "artifacts": ["src/a.py", "tests/test_a.py"]},
            {"id": "T2", "title": "…", "rationale": "…", "acceptance": "…",
             "artifacts": ["README.md"]}]}),
        RoleKind::Implementer => json!({"edits": [{"path": "src/a.py", "content": "…"}]}),
        RoleKind::Gatekeeper => json!({"task_id": "T1", "passed": false, "report": "…"}),
        RoleKind::Analyst | RoleKind::Designer | RoleKind::Scribe => native(form),
    }
}

fn supervisor(form: AnswerForm) -> Value {
    let interface =
        || json!({"name": "LoginRequest", "type": "typescript_interface", "definition": "…"});
    match form.kind {
        RoleKind::Planner => json!({"status": "COMPLETE", "phases": [
            {"id": "backend", "title": "…", "sequence": 1, "components": [
                {"id": "user_model", "title": "…", "description": "…",
                 "files": ["models/user.py"], "depends_on": []},
                {"id": "login_endpoint", "title": "…", "description": "…",
                 "files": ["api/auth.py"], "depends_on": ["user_model"]}],
             "interfaces": [interface()]},
            {"id": "frontend", "title": "…", "sequence": 2, "components": [
                {"id": "login_form", "title": "…", "description": "…",
                 "files": ["components/Login.tsx"], "depends_on": ["backend.login_endpoint"]}]}],
            "dependencies": [{"component": "login_form", "depends_on": ["login_endpoint"]}],
            "estimated_components": 3, "risks": ["…"]}),
        RoleKind::Designer => json!({"components": [
            {"id": "user_model", "title": "…", "description": "…",
             "files": ["models/user.py"], "depends_on": []}],
            "interfaces": [interface()]}),
        RoleKind::Implementer => json!({"status": "SUCCESS", "files_created": ["api/auth.py"],
            "files_modified": ["api/routes.py"], "tests_written": ["tests/test_auth.py"],
            "blockers": []}),
        RoleKind::Gatekeeper => json!({"status": "CHANGES_REQUESTED", "issues": [
            {"severity": "major", "file": "api/auth.py", "line": 1, "title": "…",
             "description": "…", "suggestion": "…"}],
            "suggestions": ["…"], "security_concerns": []}),
        RoleKind::Analyst | RoleKind::Scribe => native(form),
    }
}
