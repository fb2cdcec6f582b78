//! Converts an assignment into the values of template variables.

use std::borrow::Cow;
use std::fmt::Write as _;

use codeteam_context::redact::Redactor;
use codeteam_core::assignment::Assignment;
use codeteam_core::checks::{CheckRemark, CheckResult};
use codeteam_core::findings::Finding;
use codeteam_core::ids::{PhaseId, TaskId};
use codeteam_core::plan::{Interface, Plan, Task};
use codeteam_core::role::RoleKind;
use codeteam_core::workflow::CheckClass;
use serde_json::{Map, Value, json};

use super::{PromptAttachments, filters, team, variables};
use codeteam_report::secret_filter::redact_json;

/// The maximum number of names listed for what is not shown.
const MAX_NAMES: usize = 50;

/// Variables with codeteam's own content, which must not be redacted or shortened.
const OWN: &[&str] = &["schema", "example", "kind", "contract", "mode", "owed"];

/// Variables whose content was fitted already, with a note of what was left out. Cutting more out
/// of the middle would hide a change from its judge, and a file's code from whoever rewrites it.
const FITTED: &[&str] = &["diff", "changes", "context", "documents", "log"];

/// Returns the values of all variables, without secrets, except for those that are rendered from
/// templates themselves.
pub(super) fn template_values(
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
            redact_json(value, redactor);
            if !FITTED.contains(&name.as_str()) {
                shorten(value);
            }
        }
    }
    // This value consists of quotations, each of which is redacted by itself.
    let relevant = json!(relevant(attached, redactor));
    values.insert(variables::RELEVANT_FILES_CONTENT.to_owned(), relevant);
    values
}

/// Cuts the middle out of every text that is too long.
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

/// Sets the variables about who is asked, where and when.
fn place(assignment: &Assignment, put: &mut impl FnMut(&str, Value)) {
    let task = assignment.task.clone().unwrap_or_default();
    let continues = assignment.session.is_some();
    put("PLAN_ID", json!(assignment.plan_id));
    put("TASK_ID", json!(task.id));
    put("TASK_DESCRIPTION", json!(task.description.trim()));
    put("task", task_value(&task));
    put("goal", json!(assignment.goal.trim()));
    put("run", json!(assignment.run));
    put("role", json!(assignment.role));
    put("kind", json!(assignment.kind));
    put("owed", json!(owed(assignment.kind)));
    put("stance", json!(assignment.instructions.stance.trim()));
    put("outputs", json!(assignment.expected.outputs));
    put("config", json!(assignment.instructions.config));
    put("contract", json!(assignment.expected.contract));
    put("mode", json!(assignment.means.mode));
    put("max_turns", json!(assignment.means.max_turns));
    put("step", json!(assignment.place.step));
    put("round", json!(assignment.place.round));
    put("attempt", json!(assignment.place.attempt));
    put("level", json!(assignment.place.level));
    put("continues", json!(continues));
    put("repeats", json!(continues && assignment.place.attempt > 1));
}

/// Sets the variables about what is to be done, and what others have said about it.
fn matter(assignment: &Assignment, put: &mut impl FnMut(&str, Value)) {
    let trimmed = |text: &Option<String>| json!(text.as_deref().unwrap_or("").trim());
    let answers = assignment
        .earlier
        .answers
        .iter()
        .map(|(questions, answer)| json!({ "questions": questions, "answer": answer.trim() }));
    let design = assignment.earlier.design.clone().unwrap_or_default();
    let interfaces: Vec<String> = design.interfaces.iter().map(ToString::to_string).collect();
    let claimed = assignment.judged.claimed.as_ref().map(|claimed| {
        let mut said = claimed.summary.clone();
        for concern in &claimed.concerns {
            let _ = write!(said, "\n- unsure of: {concern}");
        }
        said
    });
    put("plan", plan_value(assignment.earlier.plan.as_ref()));
    put("requirements", trimmed(&assignment.earlier.requirements));
    put("answers", answers.collect());
    let analysis = assignment.earlier.analysis.clone().unwrap_or_default();
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
    put("phase", phase_value(assignment));
    let settled = assignment.earlier.interfaces.iter();
    let settled = settled.map(|told| {
        let mut value = interface_value(&told.phase, &told.interface);
        value["locked"] = json!(told.locked);
        value
    });
    put("interfaces", settled.collect());
    put("interface_request", request_value(assignment));
    put("may_request", json!(assignment.expected.requests));
    put("text", trimmed(&assignment.earlier.text));
    put("brief", trimmed(&assignment.earlier.brief));
    put("log", json!(assignment.earlier.log.trim()));
    put("candidates", json!(assignment.expected.candidates));
    put("may_ask", json!(assignment.expected.asks));
    team::put_team(assignment, put);
    put("claimed", json!(claimed.unwrap_or_default()));
    let checks = assignment.judged.checks.iter();
    put(
        "checks",
        checks
            .map(|check| {
                json!({ "name": check.name, "passed": check.passed, "says": own_words(check) })
            })
            .collect(),
    );
    put("feedback", json!(assignment.feedback.messages));
    put(
        "findings",
        assignment.feedback.findings.iter().map(finding).collect(),
    );
    put("rules", json!(assignment.instructions.rules));
    let schema = serde_json::to_string(&assignment.expected.schema).unwrap_or_default();
    let example = serde_json::to_string_pretty(&assignment.expected.example).unwrap_or_default();
    put("schema", json!(schema));
    put("example", json!(example));
}

/// Returns what codeteam has to say about a check that passed, to whoever judges the change. What a
/// command has printed is not part of it.
fn own_words(check: &CheckResult) -> String {
    let is_own = check.class != CheckClass::Static || check.remark.is_some();
    let measured = check.measures.iter().map(|measure| measure.found.as_str());
    let measured = measured.filter(|_| check.class == CheckClass::Evidence);
    let remark = match check.remark {
        Some(CheckRemark::Unproved) => Some("could not be decided"),
        Some(CheckRemark::Noted) | None => None,
    };
    let summary =
        Some(check.summary.trim()).filter(|summary| is_own && check.passed && !summary.is_empty());
    let coverage = check.coverage.as_ref();
    let coverage = coverage.map(|coverage| format!("changed lines that the tests ran: {coverage}"));
    let parts = remark.into_iter().chain(measured).chain(summary);
    let parts = parts.chain(coverage.as_deref());
    parts.collect::<Vec<_>>().join("\n")
}

/// Sets the variables with the content of bodies and files.
fn shown(attached: &PromptAttachments, put: &mut impl FnMut(&str, Value)) {
    // An empty change is shown as such.
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
    put("plans_first", json!(attached.plans_first));
}

/// Lists the names of a part's items, limited to as many as anybody reads.
fn named((part, names): &(String, Vec<String>)) -> Value {
    let told = &names[..names.len().min(MAX_NAMES)];
    json!({
        "name": part, "title": title(part), "names": told, "more": names.len() - told.len(),
    })
}

/// Returns a heading for a part.
fn title(part: &str) -> String {
    let known = match part {
        "target" => "Files that the task is about",
        "brief" => "Files that the brief names",
        "imports" => "What they import",
        "importers" => "What imports them",
        "tests" => "Tests that go with them",
        "changed" => "The changed files",
        "blast_radius" => "What the change affects",
        "related" => "What may be related",
        "included" => "For this role",
        "always" => "For every role",
        "docs" => "What the project says about itself",
        "standards" => "The project's standards for code",
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

fn task_value(task: &Task) -> Value {
    json!({
        "id": task.id, "title": task.title.trim(), "description": task.description.trim(),
        "files": task.files, "acceptance": task.acceptance, "dependencies": task.dependencies,
        "phase": task.phase.as_ref().map_or("", |phase| phase.0.as_str()),
    })
}

fn interface_value(phase: &PhaseId, interface: &Interface) -> Value {
    json!({
        "phase": phase, "name": interface.name, "type": interface.notation,
        "file": interface.path(), "definition": interface.definition.trim_end(),
    })
}

fn request_value(assignment: &Assignment) -> Value {
    let Some(request) = &assignment.earlier.requested else {
        return json!({
            "phase": "", "name": "", "type": "", "file": "", "definition": "", "before": "",
            "reason": "",
        });
    };
    let mut value = interface_value(&request.phase, &request.after());
    value["before"] = json!(request.before.definition.trim_end());
    value["reason"] = json!(request.reason);
    value
}

fn phase_value(assignment: &Assignment) -> Value {
    let about = assignment.earlier.phase.clone().unwrap_or_default();
    let interfaces = about.phase.interfaces.iter();
    let interfaces = interfaces.map(|interface| interface_value(&about.phase.id, interface));
    let is_done = |task: &TaskId| about.done.contains(task);
    let open = about.tasks.iter().filter(|task| !is_done(&task.id));
    let done = about.tasks.iter().filter(|task| is_done(&task.id));
    json!({
        "id": about.phase.id, "title": about.phase.title.trim(),
        "description": about.phase.description.trim(), "place": about.place, "of": about.of,
        "tasks": open.map(task_value).collect::<Value>(),
        "done": done.map(task_value).collect::<Value>(),
        "interfaces": interfaces.collect::<Value>(),
    })
}

fn plan_value(plan: Option<&Plan>) -> Value {
    let json = plan.map(|plan| serde_json::to_string_pretty(plan).unwrap_or_default());
    let plan = plan.cloned().unwrap_or_default();
    let phases = plan
        .phases
        .iter()
        .map(|phase| json!({ "id": phase.id, "title": phase.title, "sequence": phase.sequence }));
    json!({
        "plan_id": plan.plan_id, "description": plan.description,
        "phases": phases.collect::<Value>(),
        "tasks": plan.tasks.iter().map(task_value).collect::<Value>(),
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

/// Returns the files that the task names, each under its path.
fn relevant(attached: &PromptAttachments, redactor: &Redactor) -> String {
    let files = attached.relevant.iter().map(|(path, content)| {
        let path = filters::name(path);
        let content = match content {
            Some(content) => filters::fence_text("", &redactor.redact(content).text),
            None => "This file does not exist yet.".to_owned(),
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
