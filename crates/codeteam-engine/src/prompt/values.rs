//! The values of templates' variables: what an assignment says, as data.

use std::borrow::Cow;
use std::fmt::Write as _;

use codeteam_context::redact::Redactor;
use codeteam_core::assignment::Assignment;
use codeteam_core::findings::Finding;
use codeteam_core::plan::{Plan, Task};
use codeteam_core::role::RoleKind;
use serde_json::{Map, Value, json};

use super::{PromptAttachments, filters, variables};

/// How many names are told of what is not shown.
const MAX_NAMES: usize = 50;

/// What is codeteam's own and must stay as it is.
const OWN: &[&str] = &["schema", "example", "kind", "contract", "mode", "owed"];

/// What was made to fit already, and says what was left out of it. Cutting more out of its middle would
/// hide a change from whoever judges it, and a file's code from whoever writes it anew.
const FITTED: &[&str] = &["diff", "changes", "context", "documents", "log"];

/// Everything templates may refer to but what is itself rendered, without secrets.
pub(super) fn of(
    assignment: &Assignment,
    attached: &PromptAttachments,
    redactor: &Redactor,
) -> Map<String, Value> {
    let mut values = Map::new();
    let mut put = |name: &str, value: Value| drop(values.insert(name.to_owned(), value));
    place(assignment, &mut put);
    matter(assignment, &mut put);
    shown(attached, &mut put);
    for name in [variables::VERIFICATION_FEEDBACK, "prompt"] {
        put(name, json!(""));
    }
    for (name, value) in &mut values {
        if !OWN.contains(&name.as_str()) {
            redact(value, redactor);
            if !FITTED.contains(&name.as_str()) {
                shorten(value);
            }
        }
    }
    // Made of quotations, each of them redacted by itself.
    let relevant = json!(relevant(attached, redactor));
    values.insert(variables::RELEVANT_FILES_CONTENT.to_owned(), relevant);
    values
}

/// Takes secrets out of every text of a value.
pub(crate) fn redact(value: &mut Value, redactor: &Redactor) {
    match value {
        Value::String(text) => {
            if let Cow::Owned(redacted) = redactor.redact(text).text {
                *text = redacted;
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| redact(item, redactor)),
        Value::Object(fields) => {
            fields
                .values_mut()
                .for_each(|field| redact(field, redactor));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Leaves out the middle of every text that is too long, where it is one text.
fn shorten(value: &mut Value) {
    match value {
        Value::String(text) => {
            if let Cow::Owned(short) = filters::shortened(text) {
                *text = short;
            }
        }
        Value::Array(items) => items.iter_mut().for_each(shorten),
        Value::Object(fields) => fields.values_mut().for_each(shorten),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Who is asked, where and when.
fn place(assignment: &Assignment, put: &mut impl FnMut(&str, Value)) {
    let task = assignment.task.clone().unwrap_or_default();
    let continues = assignment.session.is_some();
    put("PLAN_ID", json!(assignment.plan_id));
    put("TASK_ID", json!(task.id));
    put("TASK_DESCRIPTION", json!(task.description.trim()));
    put("task", told_task(&task));
    put("goal", json!(assignment.goal.trim()));
    put("run", json!(assignment.run));
    put("role", json!(assignment.role));
    put("kind", json!(assignment.kind));
    put("owed", json!(owed(assignment.kind)));
    put("stance", json!(assignment.stance.trim()));
    put("outputs", json!(assignment.outputs));
    put("config", json!(assignment.config));
    put("contract", json!(assignment.contract));
    put("mode", json!(assignment.means.mode));
    put("step", json!(assignment.step));
    put("round", json!(assignment.round));
    put("attempt", json!(assignment.attempt));
    put("level", json!(assignment.level));
    put("continues", json!(continues));
    put("repeats", json!(continues && assignment.attempt > 1));
}

/// What is to be done, and what others have said of it.
fn matter(assignment: &Assignment, put: &mut impl FnMut(&str, Value)) {
    let trimmed = |text: &Option<String>| json!(text.as_deref().unwrap_or("").trim());
    let answers = assignment
        .answers
        .iter()
        .map(|(questions, answer)| json!({ "questions": questions, "answer": answer.trim() }));
    let design = assignment.design.clone().unwrap_or_default();
    let interfaces: Vec<String> = design.interfaces.iter().map(ToString::to_string).collect();
    let claimed = assignment.claimed.as_ref().map(|claimed| {
        let mut said = claimed.summary.clone();
        for concern in &claimed.concerns {
            let _ = write!(said, "\n- unsure of: {concern}");
        }
        said
    });
    put("plan", told_plan(assignment.plan.as_ref()));
    put("requirements", trimmed(&assignment.requirements));
    put("answers", answers.collect());
    let analysis = assignment.analysis.clone().unwrap_or_default();
    put(
        "analysis",
        json!({ "context": analysis.context.trim(), "partial_spec": analysis.partial_spec.trim() }),
    );
    put(
        "design",
        json!({
            "design": design.design.trim(), "patterns": design.patterns,
            "warnings": design.warnings, "interfaces": interfaces,
        }),
    );
    put("text", trimmed(&assignment.text));
    put("brief", trimmed(&assignment.brief));
    put("log", json!(assignment.log.trim()));
    put("candidates", json!(assignment.candidates));
    put("may_ask", json!(assignment.asks));
    put("claimed", json!(claimed.unwrap_or_default()));
    let checks = assignment.checks.iter();
    put(
        "checks",
        checks
            .map(|check| json!({ "name": check.name, "passed": check.passed }))
            .collect(),
    );
    put("feedback", json!(assignment.feedback));
    put(
        "findings",
        assignment.findings.iter().map(finding).collect(),
    );
    put("rules", json!(assignment.rules));
    let schema = serde_json::to_string(&assignment.schema).unwrap_or_default();
    let example = serde_json::to_string_pretty(&assignment.example).unwrap_or_default();
    put("schema", json!(schema));
    put("example", json!(example));
}

/// What lies in bodies and files.
fn shown(attached: &PromptAttachments, put: &mut impl FnMut(&str, Value)) {
    // A change that changes nothing is shown as such.
    let diff = attached
        .diff
        .as_deref()
        .map(|diff| if diff.is_empty() { "\n" } else { diff });
    let printed = attached
        .feedback
        .iter()
        .filter(|text| !text.trim().is_empty());
    let context = attached.context.iter().map(|part| {
        let files = part.files.iter().map(|file| {
            let content = file.content.as_deref().unwrap_or("");
            json!({
                "path": file.path, "content": content, "shortened": file.shortened,
                "missing": file.content.is_none(),
            })
        });
        json!({
            "name": part.name, "title": title(&part.name), "text": part.text,
            "files": files.collect::<Value>(),
        })
    });
    let documents = attached.documents.iter().map(|document| {
        json!({ "path": document.path, "text": document.text, "left_out": document.left_out })
    });
    put("diff", json!(diff.unwrap_or("")));
    put("printed", printed.map(String::as_str).collect());
    put("changes", json!(attached.changes.as_deref().unwrap_or("")));
    put("context", context.collect());
    put("squeezed", attached.squeezed.iter().map(named).collect());
    put("left_out", attached.left_out.iter().map(named).collect());
    put("documents", documents.collect());
    put("unshown", json!(attached.unshown));
    put(variables::REPO_MAP, json!(attached.repo_map));
    put("schema_given", json!(attached.schema_given));
}

/// The names of a part's items, as many as anybody reads.
fn named((part, names): &(String, Vec<String>)) -> Value {
    let told = &names[..names.len().min(MAX_NAMES)];
    json!({
        "name": part, "title": title(part), "names": told, "more": names.len() - told.len(),
    })
}

/// A part's name in words.
fn title(part: &str) -> String {
    let known = match part {
        "target" => "Files that the task is about",
        "brief" => "Files that the brief names",
        "imports" => "What they import",
        "importers" => "What imports them",
        "tests" => "Tests that go with them",
        "changed" => "The changed files",
        "blast_radius" => "What the change reaches",
        "related" => "What may have to do with it",
        "included" => "For this role",
        "always" => "For every role",
        "docs" => "What the project says about itself",
        "standards" => "How the project wants its code",
        "security" => "What matters for its security",
        "documents" => "Documents of the project",
        "printed" => "What was printed",
        "diff" => "The change",
        "changes" => "What has changed since",
        "map" => "A map of the project: its most important definitions",
        "tree" => "All files",
        own => return own.replace(['_', '-'], " "),
    };
    known.to_owned()
}

fn told_task(task: &Task) -> Value {
    json!({
        "id": task.id, "title": task.title.trim(), "description": task.description.trim(),
        "files": task.files, "acceptance": task.acceptance, "dependencies": task.dependencies,
        "phase": task.phase.as_ref().map_or("", |phase| phase.0.as_str()),
    })
}

fn told_plan(plan: Option<&Plan>) -> Value {
    let json = plan.map(|plan| serde_json::to_string_pretty(plan).unwrap_or_default());
    let plan = plan.cloned().unwrap_or_default();
    let phases = plan
        .phases
        .iter()
        .map(|phase| json!({ "id": phase.id, "title": phase.title, "sequence": phase.sequence }));
    json!({
        "plan_id": plan.plan_id, "description": plan.description,
        "phases": phases.collect::<Value>(),
        "tasks": plan.tasks.iter().map(told_task).collect::<Value>(),
        "json": json.unwrap_or_default(),
    })
}

fn finding(finding: &Finding) -> Value {
    let report = &finding.report;
    let severity = format!("{:?}", report.severity).to_lowercase();
    let detail = report.detail.trim();
    let mut words = format!("{} ({severity}): {}", finding.id, report.title);
    if let Some(file) = &report.file {
        let _ = write!(words, " in {file}");
        if let Some(at) = report.line {
            let _ = write!(words, ":{at}");
        }
    }
    if !detail.is_empty() {
        let _ = write!(words, "\n{detail}");
    }
    json!({
        "id": finding.id, "severity": severity, "title": report.title, "detail": detail,
        "file": report.file.as_deref().unwrap_or(""), "line": report.line.unwrap_or(0),
        "words": words,
    })
}

/// The files that the task names, each under its path.
fn relevant(attached: &PromptAttachments, redactor: &Redactor) -> String {
    let files = attached.relevant.iter().map(|(path, content)| {
        let path = filters::name(path);
        let content = match content {
            Some(content) => filters::fenced("", &redactor.redact(content).text),
            None => "It is not there yet.".to_owned(),
        };
        format!("### FILE: {path}\n\n{content}")
    });
    files.collect::<Vec<_>>().join("\n\n")
}

fn owed(kind: RoleKind) -> &'static str {
    match kind {
        RoleKind::Analyst => "you find out what is wanted, and ask or confirm it",
        RoleKind::Designer => "you say how it is to be built",
        RoleKind::Planner => "you break the goal into tasks",
        RoleKind::Implementer => "you make the change",
        RoleKind::Gatekeeper => "you judge the change",
        RoleKind::Scribe => "you write what is asked for",
    }
}
