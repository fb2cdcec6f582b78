//! What a person can open: the run, its plan, what was said of its change, the assignment.

use std::sync::Arc;

use codeteam_core::Run;
use codeteam_core::ids::{FramePath, RunId};
use codeteam_core::plan;
use codeteam_engine::Engine;
use codeteam_engine::engine::Error;
use codeteam_engine::perform::with_causes;
use codeteam_engine::report;
use rmcp::ErrorData;
use rmcp::model::{ReadResourceResult, Resource, ResourceContents, ResourceTemplate};
use serde_json::Value;

use super::expected::{SessionView, design};
use super::history::TaskHistory;
use super::team::CheckoutTask;

const START: &str = "codeteam://run/";

/// The parts of a run, each with what it is and its media type.
const PARTS: [(&str, &str, &str); 4] = [
    ("", "How the run stands", "application/json"),
    ("plan", "What is to be built, and how", "text/markdown"),
    (
        "report",
        "What checks and reviewers say of the change",
        "text/markdown",
    ),
    ("assignment", "What is expected now", "text/markdown"),
];

/// The parts of the newest run.
pub(super) fn list(team: &CheckoutTask) -> Result<Vec<Resource>, ErrorData> {
    let Some((_, id)) = team.newest().map_err(|e| failed(&e))? else {
        return Ok(Vec::new());
    };
    let resource = |(part, words, mime): (&str, &str, &str)| {
        let name = if part.is_empty() { "run" } else { part };
        Resource::new(uri(&id, part), name)
            .with_description(words)
            .with_mime_type(mime)
    };
    Ok(PARTS.into_iter().map(resource).collect())
}

/// The parts of any run.
pub(super) fn templates() -> Vec<ResourceTemplate> {
    vec![
        ResourceTemplate::new("codeteam://run/{run}", "run")
            .with_description("How a run stands")
            .with_mime_type("application/json"),
        ResourceTemplate::new("codeteam://run/{run}/{part}", "part of a run")
            .with_description("`plan`, `report` or `assignment` of a run")
            .with_mime_type("text/markdown"),
    ]
}

fn uri(run: &RunId, part: &str) -> String {
    let gap = if part.is_empty() { "" } else { "/" };
    format!("{START}{run}{gap}{part}")
}

/// One part of a run.
pub(super) fn read(team: &CheckoutTask, address: &str) -> Result<ReadResourceResult, ErrorData> {
    let unknown = || {
        let address: String = address.chars().take(200).collect();
        ErrorData::resource_not_found(format!("there is no resource `{address}`"), None)
    };
    let rest = address.strip_prefix(START).ok_or_else(unknown)?;
    let (name, part) = rest.split_once('/').unwrap_or((rest, ""));
    let known = PARTS.iter().find(|(known, _, _)| *known == part);
    let (_, _, mime) = known.ok_or_else(unknown)?;
    let (engine, _) = team.newest().map_err(|e| failed(&e))?.ok_or_else(unknown)?;
    let id = RunId::from(name);
    let mut history = TaskHistory::default();
    history.catch_up(&engine, &id).map_err(|e| failed(&e))?;
    if !history.run.has_started() {
        return Err(unknown());
    }
    let text = match part {
        "" => status(&engine, &history, team.call()),
        "plan" => planned(&history.run),
        "report" => reported(&engine, &id).map_err(|e| failed(&e))?,
        _ => view(&engine, &history, team.call())
            .expected()
            .text()
            .to_owned(),
    };
    let contents = ResourceContents::text(text, address).with_mime_type(*mime);
    Ok(ReadResourceResult::new(vec![contents]))
}

fn view<'a>(engine: &'a Arc<Engine>, history: &'a TaskHistory, call: &'a str) -> SessionView<'a> {
    SessionView {
        engine,
        run: &history.run,
        history,
        progress: &[],
        busy: false,
        codeteam: call,
    }
}

fn status(engine: &Arc<Engine>, history: &TaskHistory, call: &str) -> String {
    let view = view(engine, history, call);
    let status = super::status::status(&view, &view.expected());
    let value = Value::Object(status.fields().clone());
    serde_json::to_string_pretty(&value).unwrap_or_default()
}

/// The plan as its file has it; or what an analyst and a designer have said, where there is none.
fn planned(run: &Run) -> String {
    if let Some(plan) = &run.plan {
        let runs = [run.id.0.clone()];
        return plan::to_yaml(plan, None, &runs, |task| run.task_status(task));
    }
    let root = run.frames.get(&FramePath::root());
    let requirements = root.map(|f| f.outputs.known_requirements());
    let whole = root.and_then(|f| f.outputs.whole_design());
    format!(
        "# {}\n\n## Requirements\n\n{}\n\n## Design\n\n{}\n",
        run.goal,
        requirements
            .filter(|text| !text.is_empty())
            .unwrap_or_else(|| "Not confirmed yet.".to_owned()),
        whole.map_or_else(|| "None yet.".to_owned(), |whole| design(&whole)),
    )
}

fn reported(engine: &Engine, id: &RunId) -> Result<String, Error> {
    let past = report::past(engine, id)?;
    let report = past.newest().and_then(|frame| past.report(engine, frame));
    Ok(report.map_or_else(
        || "Nothing was judged yet.\n".to_owned(),
        |report| report.markdown(),
    ))
}

fn failed(error: &Error) -> ErrorData {
    ErrorData::internal_error(with_causes(error), None)
}
