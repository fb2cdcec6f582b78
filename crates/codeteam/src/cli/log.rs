//! `codeteam log`: prints what happened in a run, and follows it.

use std::time::Duration;

use codeteam_core::ids::RunId;
use codeteam_engine::Engine;
use codeteam_report::artifacts::format_timestamp;
use codeteam_report::feed::{
    Feed, FeedCursor, FeedItem, FeedScope, FeedStart, TimelineEntry, each_timeline_entry,
};

use crate::cli::{CliContext, RunName, decide};
use crate::exit::Exit;
use crate::output::{self, TerminalStyle, eprint_line};
use crate::progress::{ProgressPrinter, Verbosity};
use codeteam_engine::problem::Problem;

/// How long a followed run is silent before it is looked up whether anybody drives it.
const FIRST_SILENCE: Duration = Duration::from_millis(50);
/// The same after somebody was found to drive it.
const LATER_SILENCE: Duration = Duration::from_secs(1);

/// Arguments of `log`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    run: RunName,
    /// Print new events as they happen, until the run ends.
    #[arg(short, long)]
    follow: bool,
}

pub(crate) fn main(args: &Args, scene: &CliContext) -> Result<Exit, Problem> {
    let engine = scene.engine_with_runs()?;
    let id = engine.find_run(args.run.run.as_deref())?;
    if !args.follow {
        return print_log(&engine, &id, scene);
    }
    let start = FeedStart::After(FeedCursor {
        runs: [(id.clone(), 0)].into(),
    });
    let mut feed = Feed::open(&engine.store, FeedScope::Run(id.clone()), start)?;
    let mut silence = Some(FIRST_SILENCE);
    loop {
        let items = feed.next_items(silence)?;
        let is_silent = items.is_empty();
        // In one piece: a long log has many thousand lines.
        let mut lines = String::new();
        for item in items {
            if let FeedItem::EventAppended(entry) = item {
                lines.extend(render_entry(scene, &entry)?);
            }
        }
        output::print_bytes(lines.as_bytes())?;
        if feed.is_ended(&id) {
            return Ok(Exit::Done);
        }
        if is_silent && silence.is_some() {
            silence = Some(LATER_SILENCE);
            if !decide::is_driven(&engine, &id)? {
                silence = None;
                eprint_line(&format!(
                    "nobody drives {id} now; `codeteam resume {id}` goes on"
                ));
            }
        }
    }
}

/// Prints what has happened so far, in pieces: a long log has many thousand lines, and the first of them
/// need not wait for the last.
fn print_log(engine: &Engine, id: &RunId, scene: &CliContext) -> Result<Exit, Problem> {
    const PIECE: usize = 16 << 10;
    let mut lines = String::new();
    let mut printed = Ok(());
    each_timeline_entry(&engine.store, id, |entry| {
        if printed.is_err() {
            return;
        }
        printed = render_entry(scene, &entry).and_then(|line| {
            lines.extend(line);
            if lines.len() < PIECE {
                return Ok(());
            }
            output::print_bytes(std::mem::take(&mut lines).as_bytes())
        });
    })?;
    printed?;
    output::print_bytes(lines.as_bytes())?;
    Ok(Exit::Done)
}

/// Returns the line of an event, as it is printed.
fn render_entry(scene: &CliContext, entry: &TimelineEntry) -> Result<Option<String>, Problem> {
    if scene.json {
        let line = serde_json::json!({
            "seq": entry.seq, "ts": format_timestamp(entry.at), "event": entry.event,
        });
        return output::json_line(&line).map(Some);
    }
    let line = ProgressPrinter::render_entry(TerminalStyle::detect(), entry);
    let line = match line {
        line if scene.detail < Verbosity::Verbose => line,
        // With their numbers, by which `rollback` and `fork` name a moment.
        Some(line) => Some(format!("{:>6}  {line}", entry.seq)),
        None => Some(format!("{:>6}  {}", entry.seq, entry.kind)),
    };
    Ok(line.map(|line| output::printable(&format!("{line}\n"))))
}
