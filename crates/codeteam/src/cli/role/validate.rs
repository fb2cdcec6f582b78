//! `codeteam role validate`: what is wrong with roles.

use std::collections::{BTreeMap, BTreeSet};

use codeteam_core::role::SourceLayer;
use codeteam_core::yaml::Diagnostic;
use codeteam_engine::engine;
use codeteam_engine::library::Library;

use crate::cli::CliContext;
use crate::cli::config::{LoadedConfig, conclude, near_name, strategy_problems};
use crate::exit::Exit;
use crate::output::say;
use crate::problem::Problem;
use crate::progress::Verbosity;

/// Arguments of `role validate`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The roles; all if none is named.
    #[arg(value_name = "NAME")]
    names: Vec<String>,
}

pub(super) fn main(args: &Args, scene: &CliContext) -> Result<Exit, Problem> {
    let said = LoadedConfig::read(scene, &[])?;
    let mut library = said.library();
    let users = library.users(&said.config.surroundings());
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
    let faults: Vec<Diagnostic> = faults.collect();
    let mut problems = library.sources.problems(faults).problems;
    let templates = said.ground.templates()?;
    for name in &all {
        problems.extend(library.prompt_problems(name, &templates));
    }
    problems.extend(strategy_problems(&said.ground)?);
    if scene.detail >= Verbosity::Normal && !scene.json {
        tell_files(scene, &library, &users, &all);
    }
    let good = match &all[..] {
        [one] => format!("nothing is wrong with `{one}`"),
        _ => format!("nothing is wrong with these {} roles", all.len()),
    };
    conclude(scene, problems, &good)
}

/// Tells of every file of one's own in which workflows it counts.
fn tell_files(
    scene: &CliContext,
    library: &Library,
    users: &BTreeMap<String, BTreeSet<String>>,
    names: &[&str],
) {
    for name in names {
        let files = library.files_of(name).iter();
        let own = files.filter(|(layer, _)| *layer > SourceLayer::BuiltIn);
        for (_, file) in own {
            let file = near_name(scene, file);
            say(&match users.get(*name) {
                Some(flows) => {
                    let flows: Vec<&str> = flows.iter().map(String::as_str).collect();
                    format!("{file}: in {}", flows.join(", "))
                }
                None => format!("{file}: no workflow calls `{name}`"),
            });
        }
    }
}
