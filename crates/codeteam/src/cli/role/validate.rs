//! `codeteam role validate`: what is wrong with roles.

use codeteam_core::yaml::Fault;
use codeteam_engine::engine;

use crate::cli::Scene;
use crate::cli::config::{Said, conclude, strategy_problems};
use crate::exit::Exit;
use crate::problem::Problem;

/// Arguments of `role validate`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The roles; all if none is named.
    #[arg(value_name = "NAME")]
    names: Vec<String>,
}

pub(super) fn main(args: &Args, scene: &Scene) -> Result<Exit, Problem> {
    let said = Said::read(scene, &[])?;
    let library = said.library();
    let known = library.role_names();
    for name in &args.names {
        if !known.contains(name.as_str()) {
            library.resolve(name).map_err(engine::Error::from)?;
        }
    }
    let all: Vec<&str> = if args.names.is_empty() {
        known.into_iter().collect()
    } else {
        args.names.iter().map(String::as_str).collect()
    };
    let faults = all.iter();
    let faults = faults.flat_map(|name| library.faults_of(name, Some(&said.config)));
    let faults: Vec<Fault> = faults.collect();
    let mut problems = library.sources.problems(faults).problems;
    let templates = said.ground.templates()?;
    for name in &all {
        problems.extend(library.prompt_problems(name, &templates));
    }
    problems.extend(strategy_problems(&said.ground)?);
    let good = match &all[..] {
        [one] => format!("nothing is wrong with `{one}`"),
        _ => format!("nothing is wrong with these {} roles", all.len()),
    };
    conclude(scene, problems, &good)
}
