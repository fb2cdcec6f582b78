//! `codeteam find`: finds the files that matter for a task, and says why.

use std::path::{Path, PathBuf};

use codeteam_context::find::{RankedFile, RankingOptions, RankingSignal};
use codeteam_context::redact::Redactor;
use codeteam_engine::engine::CommandLocation;
use codeteam_engine::find::{self, FileSearch, SearchResults};
use serde_json::{Value, json};

use crate::cli::CliContext;
use crate::exit::Exit;
use crate::output::{self, TerminalStyle, eprint_line, one_line, print_line, truncate};
use crate::progress::{ScanProgressLine, Verbosity};
use codeteam_engine::problem::Problem;

/// The length of the best file's bar.
const BAR: usize = 10;

/// Arguments of `find`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The task, or what to look for: a sentence, a few words, names of functions.
    #[arg(value_name = "TEXT", required = true)]
    text: Vec<String>,
    /// Only files below this folder.
    #[arg(long, value_name = "PATH")]
    path: Option<PathBuf>,
    /// The most files to list.
    #[arg(long, value_name = "N", default_value = "10", value_parser = output::some)]
    limit: usize,
    /// Ignore past commits.
    #[arg(long)]
    no_history: bool,
}

pub(crate) fn main(args: &Args, scene: &CliContext) -> Result<Exit, Problem> {
    let text = args.text.join(" ");
    if text.trim().is_empty() {
        return Err(Problem::user("there is nothing to look for")
            .hint("say what is to be done, as in `codeteam find \"retry failed uploads\"`"));
    }
    let ground = CommandLocation::find(&scene.folder, scene.env.clone())?;
    let here = scene.folder.canonicalize();
    let here =
        here.map_err(|e| Problem::environment("the current folder is gone").caused_by(&e))?;
    let root = ground.root.clone().unwrap_or(here);
    let below = args
        .path
        .as_deref()
        .map(|path| path_prefix(path, &root, scene));
    let below = below.transpose()?.unwrap_or_default();
    let history = if args.no_history {
        None
    } else {
        ground.head_commit()?
    };
    // An invalid configuration is no reason not to search; without it, only more is redacted.
    let config = ground.load_config(&[]).map(|(config, _)| config);
    let config = config.unwrap_or_default();
    let search = FileSearch {
        root: &root,
        below: &below,
        history: history.as_ref().map(|(repo, tip)| (repo, tip)),
        cache: scene.env.context_cache(&root),
    };
    let options = RankingOptions {
        limit: args.limit,
        ..RankingOptions::default()
    };
    let line = ScanProgressLine::new(scene.detail);
    let findings = find::find_files(&text, &search, &options, &|stage| {
        line.show_search(stage);
    });
    line.clear();
    let findings = findings?;
    let redactor = ground.redactor(&config)?;
    if scene.json {
        let mut found = findings_to_json(&text, &findings);
        // File names and commit messages are other people's text, just like files.
        output::redact(&mut found, &redactor);
        output::print_json(&found)?;
        return Ok(Exit::Done);
    }
    print(&findings, &redactor)?;
    for note in &findings.notes {
        eprint_line(&format!("note: {note}"));
    }
    if scene.detail >= Verbosity::Normal && findings.found.is_empty() {
        eprint_line(&format!(
            "no file has anything of it, among {}",
            findings.files
        ));
    }
    Ok(Exit::Done)
}

/// Returns the path prefix of files below a folder.
fn path_prefix(path: &Path, root: &Path, scene: &CliContext) -> Result<String, Problem> {
    let shown = path.display();
    let real = scene.folder.join(path).canonicalize().map_err(|error| {
        Problem::user(format!("`{shown}` cannot be looked into"))
            .caused_by(&error)
            .hint("name a folder or a file that is there")
    })?;
    let root = root.canonicalize().unwrap_or_else(|_| root.to_owned());
    match real.strip_prefix(&root) {
        Ok(rest) => Ok(rest.to_string_lossy().into_owned()),
        Err(_) => Err(
            Problem::user(format!("`{shown}` is not below `{}`", root.display()))
                .hint(format!("`codeteam -C {shown} find …` looks there")),
        ),
    }
}

fn print(findings: &SearchResults, redactor: &Redactor) -> Result<(), Problem> {
    let clean = |text: &str| one_line(&redactor.redact(text).text);
    let style = TerminalStyle::detect();
    let room = output::stdout_width();
    let best = findings.found.first().map_or(1.0, |found| found.score);
    for (number, found) in findings.found.iter().enumerate() {
        let bar = bar(found.score / best);
        let path = style.bold(&clean(&found.path));
        print_line(&format!(
            "{:>3}  {bar}  {:.2}  {path}",
            number + 1,
            found.score
        ))?;
        let why = found
            .reasons
            .iter()
            .map(|reason| clean(&reason.to_string()));
        let why = truncate(&why.collect::<Vec<_>>().join("; "), room.saturating_sub(5));
        print_line(&style.dim(&format!("     {why}")))?;
    }
    Ok(())
}

/// Draws a share of the best score as a bar.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "a few characters"
)]
fn bar(part: f64) -> String {
    let full = ((part.clamp(0.0, 1.0) * BAR as f64).round() as usize).max(1);
    format!("{}{}", "█".repeat(full), "░".repeat(BAR - full))
}

fn findings_to_json(text: &str, findings: &SearchResults) -> Value {
    let file = |found: &RankedFile| {
        let signals: serde_json::Map<String, Value> = RankingSignal::ALL
            .into_iter()
            .filter(|signal| found.signals[*signal as usize] > 0.0)
            .map(|signal| {
                (
                    signal.as_str().to_owned(),
                    json!(rounded(found.signals[signal as usize])),
                )
            })
            .collect();
        let why: Vec<Value> = found
            .reasons
            .iter()
            .map(|reason| {
                let mut value = json!(reason);
                value["text"] = json!(reason.to_string());
                value
            })
            .collect();
        json!({"path": found.path, "score": rounded(found.score), "signals": signals, "why": why})
    };
    json!({
        "text": text,
        "files": findings.files,
        "commits": findings.commits,
        "found": findings.found.iter().map(file).collect::<Vec<Value>>(),
        "notes": findings.notes,
    })
}

/// Rounds to four digits; more would be meaningless.
fn rounded(value: f64) -> f64 {
    (value * 1e4).round() / 1e4
}
