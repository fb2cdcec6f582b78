//! `codeteam log`: what happened in a run, and what happens now.

use codeteam_core::ids::{EpochMillis, RunId};
use codeteam_core::{Event, Run, apply};
use codeteam_engine::artifacts::timestamp;
use codeteam_engine::engine::Engine;

use crate::cli::{CliContext, RunName, decide};
use crate::exit::Exit;
use crate::output::{self, TerminalStyle, out_line, say};
use crate::problem::Problem;
use crate::progress::{ProgressPrinter, Verbosity};

/// How often a followed log is looked at.
const POLL: std::time::Duration = std::time::Duration::from_millis(50);

/// Arguments of `log`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    run: RunName,
    /// Go on as the run goes on, until it ends.
    #[arg(short, long)]
    follow: bool,
}

pub(crate) fn main(args: &Args, scene: &CliContext) -> Result<Exit, Problem> {
    let engine = scene.with_runs()?;
    let id = engine.find(args.run.run.as_deref())?;
    let mut printer = EventPrinter {
        scene,
        run: Run::default(),
    };
    printer.catch_up(&engine, &id)?;
    let mut version = -1;
    let mut told = false;
    while args.follow && !printer.run.is_terminal() {
        let now = engine.store.data_version().map_err(Problem::from)?;
        if now == version {
            if !told && !decide::driven(&engine, &id)? {
                told = true;
                say(&format!(
                    "nobody drives {id} now; `codeteam resume {id}` goes on"
                ));
            }
            std::thread::sleep(POLL);
            continue;
        }
        version = now;
        printer.catch_up(&engine, &id)?;
    }
    Ok(Exit::Done)
}

struct EventPrinter<'a> {
    scene: &'a CliContext,
    run: Run,
}

impl EventPrinter<'_> {
    fn catch_up(&mut self, engine: &Engine, id: &RunId) -> Result<(), Problem> {
        let mut events = Vec::new();
        engine.each_event(id, self.run.seq, |seq, at, event| {
            events.push((seq, at, event));
        })?;
        for (seq, at, event) in events {
            apply(&mut self.run, &event);
            self.print(seq, at, &event)?;
        }
        Ok(())
    }

    fn print(&self, seq: u64, at: EpochMillis, event: &Event) -> Result<(), Problem> {
        if self.scene.json {
            let line = serde_json::json!({ "seq": seq, "ts": timestamp(at), "event": event });
            return output::json(&line);
        }
        match ProgressPrinter::render(TerminalStyle::detect(), &self.run, at, event) {
            Some(line) => out_line(&line),
            None if self.scene.detail == Verbosity::Verbose => {
                out_line(&format!("{seq:>17}  {}", event.kind()))
            }
            None => Ok(()),
        }
    }
}
