//! `codeteam worker list`: lists all workers.

use std::collections::BTreeSet;

use codeteam_core::event::SandboxKind;
use codeteam_engine::config::Config;
use codeteam_engine::doctor::inspection::{NetworkCheck, WorkerDiagnosis, WorkerInspector};
use codeteam_host::process::CommandLauncher;

use super::SandboxSpecDir;
use crate::cli::CliContext;
use crate::exit::Exit;
use crate::output::{self, eprint_line, print_line};
use crate::progress::Verbosity;
use codeteam_engine::problem::Problem;

/// Arguments of `worker list`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {}

pub(super) fn main(_: &Args, scene: &CliContext) -> Result<Exit, Problem> {
    let config = super::effective_config(scene)?;
    let mut looked = diagnose_workers(scene, &config, None);
    // Only a program that is new has to be asked, and only for that is anything started.
    let is_new =
        |worker: &WorkerDiagnosis| worker.program.installed && worker.program.version.is_none();
    if looked.iter().any(is_new) {
        let specs = SandboxSpecDir::new();
        let backend = config.sandbox.backend.unwrap_or(SandboxKind::Bubblewrap);
        if backend == SandboxKind::None {
            let launcher = scene.env.unconfined_launcher();
            looked = diagnose_workers(scene, &config, Some(&launcher));
        } else {
            match specs.confinement(scene, backend, &config.sandbox) {
                Ok(confinement) => looked = diagnose_workers(scene, &config, Some(&confinement)),
                Err(why) => eprint_line(&format!("note: versions were not checked: {why}")),
            }
        }
    }
    if scene.json {
        output::print_json(&looked)?;
    } else {
        print_table(&looked)?;
    }
    Ok(Exit::Done)
}

fn diagnose_workers(
    scene: &CliContext,
    config: &Config,
    launcher: Option<&dyn CommandLauncher>,
) -> Vec<WorkerDiagnosis> {
    let is_told = scene.detail >= Verbosity::Normal && !scene.json;
    let look = WorkerInspector {
        config,
        env: &scene.env,
        codeteam: &scene.codeteam,
        sandbox: config.sandbox.backend.unwrap_or(SandboxKind::Bubblewrap),
        launcher,
        with_model: BTreeSet::new(),
        network: NetworkCheck::No,
        waits: &|what| {
            if is_told {
                eprint_line(&format!("… {what}"));
            }
        },
    };
    look.inspect_all()
}

fn print_table(looked: &[WorkerDiagnosis]) -> Result<(), Problem> {
    let head = ["NAME", "DIALECT", "MODEL", "ACCOUNT", "PROGRAM", "LOGIN"];
    let mut rows = vec![head.map(str::to_owned)];
    rows.extend(looked.iter().map(row));
    let widths: Vec<usize> = (0..head.len())
        .map(|column| {
            let cells = rows.iter().map(|row| row[column].chars().count());
            cells.max().unwrap_or(0)
        })
        .collect();
    for row in &rows {
        let cells = row.iter().zip(&widths);
        let cells = cells.map(|(cell, &width)| format!("{cell:<width$}"));
        let line = cells.collect::<Vec<_>>().join("  ");
        print_line(line.trim_end())?;
    }
    Ok(())
}

fn row(worker: &WorkerDiagnosis) -> [String; 6] {
    let program = match (&worker.program.version, worker.program.installed) {
        (Some(version), _) if worker.program.drivable == Some(false) => {
            format!("{version} (cannot be driven)")
        }
        (Some(version), _) => version.clone(),
        (None, true) => "installed".to_owned(),
        (None, false) => "not installed".to_owned(),
    };
    [
        worker.name.0.clone(),
        worker.dialect.as_str().to_owned(),
        worker.model.clone().unwrap_or_else(|| "-".to_owned()),
        worker.account.0.clone(),
        program,
        worker.describe_login(),
    ]
}
