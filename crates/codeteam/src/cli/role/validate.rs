//! `codeteam role validate`: reports what is wrong with roles.

use std::collections::{BTreeMap, BTreeSet};

use codeteam_engine::engine;
use codeteam_engine::library::Library;
use codeteam_workflow::roles::SourceLayer;
use codeteam_workflow::yaml::Diagnostic;

use crate::cli::CliContext;
use crate::cli::config::{LoadedConfig, report_problems, short_path, strategy_problems};
use crate::exit::Exit;
use crate::output::eprint_line;
use crate::progress::Verbosity;
use codeteam_engine::problem::Problem;

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
    let users = library.workflows_by_role(&said.config.surroundings());
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
    let faults = faults.flat_map(|name| library.role_faults(name, Some(&said.config)));
    let faults: Vec<Diagnostic> = faults.collect();
    let mut problems = library.sources.to_problems(faults).problems;
    let templates = said.ground.templates()?;
    for name in &all {
        problems.extend(library.prompt_problems(name, &templates));
    }
    problems.extend(strategy_problems(&said.ground)?);
    if scene.detail >= Verbosity::Normal && !scene.json {
        print_file_uses(scene, &library, &users, &all);
    }
    let good = match &all[..] {
        [one] => format!("nothing is wrong with `{one}`"),
        _ => format!("nothing is wrong with these {} roles", all.len()),
    };
    report_problems(scene, problems, &good)
}

/// Prints in which workflows each of the user's own files takes effect.
fn print_file_uses(
    scene: &CliContext,
    library: &Library,
    users: &BTreeMap<String, BTreeSet<String>>,
    names: &[&str],
) {
    for name in names {
        let files = library.files_of(name).iter();
        let own = files.filter(|(layer, _)| *layer > SourceLayer::BuiltIn);
        for (_, file) in own {
            let file = short_path(scene, file);
            eprint_line(&match users.get(*name) {
                Some(flows) => {
                    let flows: Vec<&str> = flows.iter().map(String::as_str).collect();
                    format!("{file}: in {}", flows.join(", "))
                }
                None => format!("{file}: no workflow calls `{name}`"),
            });
        }
    }
}
