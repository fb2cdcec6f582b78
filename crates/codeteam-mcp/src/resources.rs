//! The resources that a person can open: the run, its plan, the report on its change, and the
//! assignment.

use std::sync::Arc;

use codeteam_core::ids::{FramePath, RunId};
use codeteam_engine::Engine;
use codeteam_engine::engine::Error;
use codeteam_host::error_chain::format_error_chain;
use codeteam_report::view::LoadedRun;
use rmcp::ErrorData;
use rmcp::model::{ReadResourceResult, Resource, ResourceContents, ResourceTemplate};
use serde_json::Value;

use super::checkout_task::CheckoutTask;
use super::next_expected::{SessionView, format_design};
use super::task_history::TaskHistory;

const START: &str = "codeteam://run/";

/// The parts of a run, each with its description and media type.
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

/// Lists the parts of the newest run.
pub(super) fn list_resources(team: &CheckoutTask) -> Result<Vec<Resource>, ErrorData> {
    let Some((_, id)) = team.newest_session_run().map_err(|e| internal_error(&e))? else {
        return Ok(Vec::new());
    };
    let resource = |(part, words, mime): (&str, &str, &str)| {
        let name = if part.is_empty() { "run" } else { part };
        Resource::new(resource_uri(&id, part), name)
            .with_description(words)
            .with_mime_type(mime)
    };
    Ok(PARTS.into_iter().map(resource).collect())
}

/// Returns the templates for the parts of any run.
pub(super) fn resource_templates() -> Vec<ResourceTemplate> {
    vec![
        ResourceTemplate::new("codeteam://run/{run}", "run")
            .with_description("How a run stands")
            .with_mime_type("application/json"),
        ResourceTemplate::new("codeteam://run/{run}/{part}", "part of a run")
            .with_description("`plan`, `report` or `assignment` of a run")
            .with_mime_type("text/markdown"),
    ]
}

fn resource_uri(run: &RunId, part: &str) -> String {
    let gap = if part.is_empty() { "" } else { "/" };
    format!("{START}{run}{gap}{part}")
}

/// Reads one part of a run.
pub(super) fn read_resource(
    team: &CheckoutTask,
    address: &str,
) -> Result<ReadResourceResult, ErrorData> {
    let unknown = || {
        let address: String = address.chars().take(200).collect();
        ErrorData::resource_not_found(format!("there is no resource `{address}`"), None)
    };
    let rest = address.strip_prefix(START).ok_or_else(unknown)?;
    let (name, part) = rest.split_once('/').unwrap_or((rest, ""));
    let known = PARTS.iter().find(|(known, _, _)| *known == part);
    let (_, _, mime) = known.ok_or_else(unknown)?;
    let (engine, _) = team
        .newest_session_run()
        .map_err(|e| internal_error(&e))?
        .ok_or_else(unknown)?;
    let id = RunId::from(name);
    let mut history = TaskHistory::default();
    history
        .catch_up(&engine, &id)
        .map_err(|e| internal_error(&e))?;
    if !history.run.has_started() {
        return Err(unknown());
    }
    let run = history.run.snapshot();
    let text = match part {
        "" => status_text(&engine, &run, &history, team.codeteam_command()),
        "plan" => plan_text(&run),
        "report" => report_text(&engine, &id).map_err(|e| internal_error(&e))?,
        _ => session_view(&engine, &run, &history, team.codeteam_command())
            .next_answer()
            .text()
            .to_owned(),
    };
    let contents = ResourceContents::text(text, address).with_mime_type(*mime);
    Ok(ReadResourceResult::new(vec![contents]))
}

fn session_view<'a>(
    engine: &'a Arc<Engine>,
    run: &'a LoadedRun,
    history: &'a TaskHistory,
    call: &'a str,
) -> SessionView<'a> {
    SessionView {
        engine,
        run,
        history,
        progress: &[],
        busy: false,
        codeteam: call,
    }
}

fn status_text(engine: &Arc<Engine>, run: &LoadedRun, history: &TaskHistory, call: &str) -> String {
    let view = session_view(engine, run, history, call);
    let status = super::status::status_answer(&view, &view.next_answer());
    let value = Value::Object(status.fields().clone());
    serde_json::to_string_pretty(&value).unwrap_or_default()
}

/// Returns the plan as in its file, or the analyst's and designer's output if there is no plan.
fn plan_text(run: &LoadedRun) -> String {
    if let Some(plan) = run.full_plan() {
        let runs = [run.id.0.clone()];
        return codeteam_workflow::plan_file::to_yaml(plan, None, &runs, |task| {
            let task = run.task(task.as_str());
            task.map(|task| task.status).unwrap_or_default()
        });
    }
    let root = run.session_frame(&FramePath::root());
    let requirements = root.as_ref().map(|root| root.requirements.clone());
    let whole = root.and_then(|root| root.design);
    format!(
        "# {}\n\n## Requirements\n\n{}\n\n## Design\n\n{}\n",
        run.goal,
        requirements
            .filter(|text| !text.is_empty())
            .unwrap_or_else(|| "Not confirmed yet.".to_owned()),
        whole.map_or_else(|| "None yet.".to_owned(), |whole| format_design(&whole)),
    )
}

fn report_text(engine: &Engine, id: &RunId) -> Result<String, Error> {
    let past = engine.read_judgements(id, None)?;
    let report = past
        .default_frame()
        .and_then(|frame| past.report(engine.records(), frame));
    Ok(report.map_or_else(
        || "Nothing was judged yet.\n".to_owned(),
        |report| report.to_markdown(),
    ))
}

fn internal_error(error: &Error) -> ErrorData {
    ErrorData::internal_error(format_error_chain(error), None)
}
