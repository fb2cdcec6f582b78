//! `codeteam sandbox`: shows what confines workers and gates.

use std::fs;
use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Subcommand;
use codeteam_engine::doctor::reachability::ApiProbe;
use codeteam_host::confine::{SandboxProbe, image};
use serde_json::json;

use crate::cli::CliContext;
use crate::exit::Exit;
use crate::output::{self, eprint_line};
use crate::progress::Verbosity;
use codeteam_engine::problem::Problem;

/// Arguments of `sandbox`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: SandboxCommand,
}

#[derive(Debug, Subcommand)]
enum SandboxCommand {
    /// Build the image of the container backend.
    Image(ImageArgs),
}

/// Arguments of `sandbox image`.
#[derive(Debug, clap::Args)]
struct ImageArgs {
    /// Your own Containerfile. The image needs a C library that codeteam runs with, and git where
    /// there is no bubblewrap.
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
    /// The name of the image; with another one, put it into `sandbox.image`.
    #[arg(long, value_name = "NAME", default_value = image::NAME)]
    name: String,
    /// The base image of codeteam's own Containerfile: Debian or something similar.
    #[arg(long, value_name = "IMAGE", conflicts_with = "file")]
    base: Option<String>,
}

pub(crate) fn main(args: Args, scene: &CliContext) -> Result<Exit, Problem> {
    match args.command {
        SandboxCommand::Image(args) => build_image(&args, scene),
    }
}

fn build_image(args: &ImageArgs, scene: &CliContext) -> Result<Exit, Problem> {
    let own = match &args.file {
        None => None,
        Some(file) => {
            let path = scene.folder.join(file);
            let text = fs::read_to_string(&path).map_err(|e| {
                Problem::user(format!("could not read `{}`", path.display())).caused_by(&e)
            })?;
            Some(text)
        }
    };
    let recipe = image::ImageRecipe {
        containerfile: own.as_deref().unwrap_or(image::CONTAINERFILE),
        name: &args.name,
        args: args
            .base
            .iter()
            .map(|base| ("BASE", base.as_str()))
            .collect(),
    };
    let mut last = Vec::new();
    let engine = image::build_image(&scene.env.path, &recipe, |line| {
        if scene.detail >= Verbosity::Normal {
            eprint_line(line);
        } else {
            last.push(line.to_owned());
        }
    })
    .map_err(|error| {
        let shown = last.iter().rev().take(20).rev();
        shown.for_each(|line| eprint_line(line));
        let problem = Problem::environment(error.to_string()).caused_by(&error);
        match error {
            image::Error::NotInstalled => problem,
            _ => problem.hint("what went wrong is above; nothing was changed"),
        }
    })?;
    if scene.json {
        output::print_json(&json!({ "image": args.name, "engine": engine.name() }))?;
    } else if scene.detail >= Verbosity::Normal {
        eprint_line(&format!("{engine} has the image `{}` now", args.name));
        if args.name == image::NAME {
            eprint_line("`sandbox: container` in `.codeteam/config.yml` uses it");
        } else {
            eprint_line(&format!(
                "`sandbox: {{ backend: container, image: {} }}` in `.codeteam/config.yml` uses it",
                args.name
            ));
        }
    }
    Ok(Exit::Done)
}

/// Arguments of `sandbox-look`, which `doctor` runs confined.
#[derive(Debug, clap::Args)]
pub(crate) struct SandboxProbeArgs {
    #[arg(long)]
    door: SocketAddr,
    paths: Vec<PathBuf>,
}

pub(crate) fn probe_sandbox(args: SandboxProbeArgs) -> Result<Exit, Problem> {
    let look = SandboxProbe {
        paths: args.paths,
        door: args.door,
    };
    output::print_json(&look.perform())?;
    Ok(Exit::Done)
}

/// Arguments of `api-probe`, which `doctor` runs confined.
#[derive(Debug, clap::Args)]
pub(crate) struct ApiProbeArgs {
    #[arg(long)]
    at: SocketAddr,
    #[arg(long)]
    to: Option<String>,
}

pub(crate) fn probe_api(args: ApiProbeArgs) -> Result<Exit, Problem> {
    let probe = ApiProbe {
        at: args.at,
        to: args.to,
    };
    output::print_json(&probe.perform())?;
    Ok(Exit::Done)
}
