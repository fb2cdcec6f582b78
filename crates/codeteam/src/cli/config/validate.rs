//! `codeteam config validate`: reports everything that is wrong with the files that people wrote,
//! at once.

use std::collections::BTreeSet;

use codeteam_engine::config::{self, Config};
use codeteam_engine::context::strategies;
use codeteam_engine::engine::{self, CommandLocation};
use codeteam_engine::library;
use codeteam_workflow::roles::SourceLayer;
use codeteam_workflow::yaml::{self, Diagnostic, FileProblems, SourceFiles};
use serde_json::{Value, json};

use super::short_path;
use crate::cli::CliContext;
use crate::exit::Exit;
use crate::output::{self, eprint_line, print_line};
use crate::progress::Verbosity;
use codeteam_engine::problem::Problem;

/// Arguments of `config validate`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {}

pub(super) fn main(_: &Args, scene: &CliContext) -> Result<Exit, Problem> {
    let ground = CommandLocation::find(&scene.folder, scene.env.clone())?;
    let mut found = Vec::new();
    // What is wrong with the configuration must not hide what is wrong with the rest.
    let (config, sources, node) = match ground.load_config(&[]) {
        Ok((config, layers)) => (Some(config), layers.sources, Some(layers.node)),
        Err(config::Error::Invalid(problems)) => {
            found.extend(problems.problems);
            (None, SourceFiles::default(), None)
        }
        Err(error) => return Err(engine::Error::from(error).into()),
    };
    let usual = Config::default();
    let said = config.as_ref().unwrap_or(&usual);
    let mut library = ground.library(said, sources);
    let names: BTreeSet<String> = library
        .role_names()
        .into_iter()
        .map(str::to_owned)
        .collect();
    let faults = names.iter();
    let faults = faults.flat_map(|name| library.role_faults(name, config.as_ref()));
    let faults: Vec<_> = faults.collect();
    found.extend(library.sources.to_problems(faults).problems);
    match ground.templates() {
        Ok(templates) => {
            let prompts = names.iter();
            found.extend(prompts.flat_map(|name| library.prompt_problems(name, &templates)));
        }
        Err(error) => found.push(yaml::FileProblem::for_file("", error.to_string())),
    }
    found.extend(strategy_problems(&ground)?);
    // Workflows have roles of their own, too.
    let mut played = names.clone();
    let mut flows = 0;
    for flow in library.workflows() {
        if flow.layer != SourceLayer::BuiltIn {
            flows += 1;
            match library.compile(&flow.name, said.surroundings()) {
                Ok(compiled) => played.extend(compiled.roles.into_keys().map(|role| role.0)),
                Err(error) => found.extend(library_problems(error)),
            }
        }
    }
    if let (Some(config), Some(node)) = (&config, &node) {
        match ground.workflow(config, &mut library) {
            Ok(compiled) => played.extend(compiled.roles.into_keys().map(|role| role.0)),
            Err(engine::Error::Library(library::Error::Unknown { name, near, .. })) => {
                let place = node.get("workflow").map_or(node.place, |said| said.place);
                let fault = Diagnostic::at(place, format!("there is no workflow `{name}`"));
                let fault = fault.with_hint(match near {
                    Some(near) => format!("did you mean `{near}`?"),
                    None => "`codeteam workflow list` lists all of them".to_owned(),
                });
                found.extend(library.sources.to_problems([fault]).problems);
            }
            Err(engine::Error::Library(error)) => found.extend(library_problems(error)),
            Err(error) => found.push(yaml::FileProblem::for_file("", error.to_string())),
        }
        let faults = library::unknown_names(node, config, &played);
        found.extend(library.sources.to_problems(faults).problems);
    }
    let own = |name: &&String| library.layers_of(name).first() > Some(&SourceLayer::BuiltIn);
    let roles = names.iter().filter(own).count();
    if config.is_some() && scene.detail >= Verbosity::Normal && !scene.json {
        for note in &said.notes {
            eprint_line(&format!("note: {}", super::shorten_paths(scene, note)));
        }
    }
    let redactor = ground.redactor(said).or_else(|_| ground.redactor(&usual))?;
    for problem in &mut found {
        // The lines that are shown may hold what should not be.
        for text in problem.text.iter_mut().chain([&mut problem.message]) {
            *text = redactor.redact(text).text.into_owned();
        }
    }
    let mut judged = vec!["the configuration".to_owned()];
    judged.extend(count_of(roles, "role"));
    judged.extend(count_of(flows, "workflow"));
    let last = judged.pop().unwrap_or_default();
    let all = match judged.join(", ") {
        first if first.is_empty() => last,
        first => format!("{first} and {last}"),
    };
    report_problems(scene, found, &format!("nothing is wrong with {all}"))
}

fn count_of(n: usize, what: &str) -> Option<String> {
    match n {
        0 => None,
        1 => Some(format!("1 {what}")),
        n => Some(format!("{n} {what}s")),
    }
}

/// Returns the problems in a library's error.
pub(crate) fn library_problems(error: library::Error) -> Vec<yaml::FileProblem> {
    match error {
        library::Error::Invalid(problems) => problems.problems,
        library::Error::Unknown { .. } => vec![yaml::FileProblem::for_file("", error.to_string())],
    }
}

/// Returns the problems of context strategies.
pub(crate) fn strategy_problems(
    ground: &CommandLocation,
) -> Result<Vec<yaml::FileProblem>, Problem> {
    match ground.strategies() {
        Ok(_) => Ok(Vec::new()),
        Err(engine::Error::Strategy(strategies::Error::Invalid(problems))) => Ok(problems.problems),
        Err(error) => Err(error.into()),
    }
}

/// Reports the problems found, each once, or that there are none.
pub(crate) fn report_problems(
    scene: &CliContext,
    found: Vec<yaml::FileProblem>,
    good: &str,
) -> Result<Exit, Problem> {
    let mut once: Vec<yaml::FileProblem> = Vec::new();
    for mut problem in found {
        // Shared files are read more than once, under one name.
        if !scene.json {
            problem.file = short_path(scene, &problem.file);
        }
        if !once.contains(&problem) {
            once.push(problem);
        }
    }
    if scene.json {
        let is_good = once.is_empty();
        output::print_json(&json!({ "valid": is_good, "problems": problems_json(&once) }))?;
        return Ok(if is_good { Exit::Done } else { Exit::Usage });
    }
    if once.is_empty() {
        if scene.detail >= Verbosity::Normal {
            print_line(good)?;
        }
        return Ok(Exit::Done);
    }
    let number = once.len();
    let problem = Problem::user(FileProblems { problems: once }.to_string());
    Err(match number {
        1 => problem,
        n => problem.hint(format!("these are {n} problems; nothing was changed")),
    })
}

/// Returns the problems as JSON.
pub(crate) fn problems_json(problems: &[yaml::FileProblem]) -> Vec<Value> {
    let one = |problem: &yaml::FileProblem| {
        let line = Some(problem.line).filter(|line| *line > 0);
        json!({
            "file": problem.file,
            "line": line,
            "column": line.map(|_| problem.column),
            "message": problem.message,
            "hint": problem.hint,
        })
    };
    problems.iter().map(one).collect()
}
