//! `codeteam workflow graph`: draws a workflow, or the one that a run follows.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::ValueEnum;
use codeteam_report::view::{LoadedRun, workflow_graph};
use codeteam_workflow::graph::WorkflowGraph;
use serde_json::json;

use super::load::WorkflowLibrary;
use crate::cli::CliContext;
use crate::exit::Exit;
use crate::output::{self, eprint_line};
use crate::progress::Verbosity;
use codeteam_engine::problem::Problem;

/// Arguments of `workflow graph`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// A workflow: its name or its file. The project's own if left out.
    #[arg(value_name = "NAME|FILE")]
    workflow: Option<String>,
    /// The workflow that this run follows, with the roles that its plan assigns.
    #[arg(long, value_name = "RUN", conflicts_with = "workflow")]
    run: Option<String>,
    /// The format. If left out, the extension of the output file decides, or else it is text.
    #[arg(long)]
    format: Option<GraphFormat>,
    /// Write to this file instead of standard output.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum GraphFormat {
    /// Text for a terminal.
    Text,
    /// A Mermaid flowchart, as Markdown pages show it.
    Mermaid,
    /// A self-contained picture.
    Svg,
}

impl GraphFormat {
    fn from_path(file: Option<&Path>) -> Result<Self, Problem> {
        let ending = file.and_then(|file| file.extension()?.to_str());
        match ending.map(str::to_lowercase).as_deref() {
            Some("svg") => Ok(Self::Svg),
            Some("mmd" | "mermaid") => Ok(Self::Mermaid),
            Some("txt") | None => Ok(Self::Text),
            Some(other) => Err(
                Problem::user(format!("a workflow cannot be drawn as `.{other}`"))
                    .hint("`.svg` is a picture, `.mmd` a Mermaid flowchart, `.txt` text")
                    .hint("or say which of them by `--format`"),
            ),
        }
    }

    fn as_str(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Mermaid => "mermaid",
            Self::Svg => "svg",
        }
    }
}

pub(super) fn main(args: &Args, scene: &CliContext) -> Result<Exit, Problem> {
    let format = match args.format {
        Some(format) => format,
        None => GraphFormat::from_path(args.output.as_deref())?,
    };
    let (name, graph) = load_graph(args, scene)?;
    let drawn = match format {
        GraphFormat::Text => graph.text(),
        GraphFormat::Mermaid => graph.mermaid(),
        GraphFormat::Svg => graph.svg().ok_or_else(|| {
            Problem::user(format!("`{name}` is too large for a picture"))
                .hint("`--format text` and `--format mermaid` draw workflows of any size")
        })?,
    };
    if let Some(file) = &args.output {
        let file = scene.folder.join(file);
        fs::write(&file, &drawn).map_err(|error| {
            Problem::environment(format!("could not write `{}`", file.display())).caused_by(&error)
        })?;
        if scene.json {
            output::print_json(
                &json!({"workflow": name, "format": format.as_str(), "file": file}),
            )?;
        } else if scene.detail > Verbosity::Quiet {
            eprint_line(&format!("drawn to `{}`", file.display()));
        }
        return Ok(Exit::Done);
    }
    if scene.json {
        output::print_json(&json!({"workflow": name, "format": format.as_str(), "graph": drawn}))?;
    } else {
        output::print_text(&drawn)?;
    }
    Ok(Exit::Done)
}

/// Returns the graph of the workflow or the run that is named, and the name of the workflow.
fn load_graph(args: &Args, scene: &CliContext) -> Result<(String, WorkflowGraph), Problem> {
    if let Some(name) = &args.run {
        let engine = scene.engine_with_runs()?;
        let snapshot = engine.load_snapshot(&engine.find_run(Some(name))?)?;
        let run = LoadedRun::new(Arc::clone(&snapshot.run));
        return Ok((run.workflow.clone(), workflow_graph(&run)));
    }
    let library = WorkflowLibrary::open(scene)?;
    let compiled = library.find_workflow(args.workflow.as_deref(), &scene.folder)?;
    let graph = WorkflowGraph::from_compiled(&compiled);
    Ok((compiled.workflow.name, graph))
}
