//! `codeteam doctor`: is everything here that codeteam needs?

use codeteam_engine::engine::Engine;
use codeteam_engine::maintenance::{self, Check};

use crate::cli::Scene;
use crate::exit::Exit;
use crate::output::{self, Style, out_line};
use crate::problem::Problem;

/// Arguments of `doctor`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {}

pub(crate) fn main(_: &Args, scene: &Scene) -> Result<Exit, Problem> {
    let mut checks = Vec::new();
    match Engine::discover(&scene.folder, &scene.env) {
        Err(error) => checks.push(Check::bad(
            "git",
            error.to_string(),
            "codeteam works inside a git repository with a commit",
        )),
        Ok((repo, head)) => {
            let at = codeteam_engine::tell::short(head.commit.as_str()).to_owned();
            checks.push(Check::good(
                "git",
                format!("{} at {at}", repo.top_level().display()),
            ));
            checks.extend(maintenance::examine(&repo, &scene.env));
        }
    }
    checks.push(Check::good(
        "workers",
        format!("scripted (version {})", env!("CARGO_PKG_VERSION")),
    ));
    let healthy = checks.iter().all(|c| c.ok);
    if scene.json {
        output::json(&checks)?;
    } else {
        let style = Style::detect();
        for check in &checks {
            let word = match (check.ok, check.note) {
                (true, false) => style.green("ok  "),
                (true, true) => style.yellow("note"),
                (false, _) => style.red("BAD "),
            };
            out_line(&format!("{word}  {:<10} {}", check.name, check.found))?;
            if let Some(remedy) = &check.remedy {
                out_line(&format!("                  {} {remedy}", style.cyan("→")))?;
            }
        }
    }
    Ok(if healthy { Exit::Done } else { Exit::Failed })
}
