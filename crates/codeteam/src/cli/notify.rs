//! `codeteam notify test`: sends a notification by every channel.

use clap::Subcommand;
use codeteam_engine::clock::now;
use codeteam_engine::config::{Config, ConfigOrigins};
use codeteam_engine::notify::{Notification, NotificationKind, deliver};
use codeteam_engine::problem::Problem;

use crate::cli::CliContext;
use crate::exit::Exit;
use crate::output::{self, eprint_line, print_line};

/// Arguments of `notify`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: NotifyCommand,
}

#[derive(Debug, Subcommand)]
enum NotifyCommand {
    /// Send a test notification through every channel, or one of them, and report the result.
    Test {
        /// The name of a channel in `notify.channels`.
        channel: Option<String>,
    },
}

pub(crate) fn main(args: &Args, scene: &CliContext) -> Result<Exit, Problem> {
    let NotifyCommand::Test { channel } = &args.command;
    let origins = ConfigOrigins::for_project(&scene.env, &scene.folder.join(".codeteam"));
    // Only the user's own configuration has channels, so it works anywhere.
    let config =
        Config::load(&origins.without_project()).map_err(codeteam_engine::engine::Error::Config)?;
    let channels = config.notify.channels.iter();
    let wanted = channels.filter(|(name, _)| channel.as_ref().is_none_or(|only| only == *name));
    let at = now();
    let notification = Notification {
        id: format!("test.{}", at.0),
        kind: NotificationKind::NeedsYou,
        at: at.0,
        project: String::new(),
        run: "test".to_owned(),
        goal: String::new(),
        title: "A test of codeteam's notifications".to_owned(),
        text: "Nothing needs you.".to_owned(),
        risk: None,
        command: "codeteam inbox".to_owned(),
        answers: Vec::new(),
    };
    let reports = deliver(&scene.env, wanted, &notification);
    if reports.is_empty() {
        let problem = match channel {
            Some(name) => Problem::user(format!("there is no channel `{name}`")),
            None => Problem::user("there are no channels"),
        };
        return Err(problem.hint(
            "add one to your own `~/.config/codeteam/config.yml`, such as \
             `notify: { channels: { desk: { kind: desktop } } }`",
        ));
    }
    if scene.json {
        output::print_json(&reports)?;
    }
    for report in reports.iter().filter(|_| !scene.json) {
        match &report.problem {
            None => print_line(&format!("{}: delivered", report.channel))?,
            Some(problem) => print_line(&format!("{}: {problem}", report.channel))?,
        }
    }
    let failed = reports.iter().any(|report| report.problem.is_some());
    if failed && !scene.json {
        eprint_line("a run goes on whatever becomes of its notifications");
    }
    Ok(if failed { Exit::Failed } else { Exit::Done })
}
