//! How well files are found for a task, on the history of real repositories.
//!
//! A task's text is the message of a commit, cleaned of what gives the files away; the truth are the
//! files that the commit changed. What is looked at is the tree before the commit and the commits it
//! comes after, nothing younger. Recall at 10 is compared with BM25 over the same words of the same
//! files in the same run.
//!
//! `cargo bench -p codeteam-engine --bench find -- [--commits N] [--dump FILE] CLONE...`

#![allow(
    clippy::print_stdout,
    clippy::cast_precision_loss,
    clippy::disallowed_methods,
    missing_docs,
    reason = "a benchmark prints figures, starts processes and needs no more precision"
)]

#[path = "find/bm25.rs"]
mod bm25;
#[path = "find/past.rs"]
mod past;
#[path = "find/tasks.rs"]
mod tasks;

use std::collections::HashSet;
use std::error::Error;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use codeteam_context::find::{CommitHistory, RankedFile, RankingOptions, SearchCorpus, rank_files};
use codeteam_context::language::Language;

use self::past::ClonedRepo;
use self::tasks::CommitTask;

type BenchOutcome<T> = Result<T, Box<dyn Error>>;

/// How many files may be named.
const AT: usize = 10;

/// What was measured on one repository: means of recall at 10.
#[derive(Default)]
struct RecallRow {
    name: String,
    tasks: usize,
    /// Of the baseline, of ours, and of ours without history, over all files of the truth.
    all: [f64; 3],
    /// The same, over its source files only: no change logs, no documents.
    sources: [f64; 3],
}

fn main() -> BenchOutcome<()> {
    // `cargo test --all-targets` also runs this; figures are for `cargo bench`.
    let mut args: Vec<String> = std::env::args().skip(1).collect();
    if !args.iter().any(|arg| arg == "--bench") {
        return Ok(());
    }
    args.retain(|arg| arg != "--bench");
    let mut option = |name: &str| {
        let at = args.iter().position(|arg| arg == name)?;
        let value = args.get(at + 1).cloned();
        args.drain(at..(at + 2).min(args.len()));
        value
    };
    let most = option("--commits").map_or(Ok(200), |n| n.parse())?;
    let mut dump = option("--dump")
        .map(|path| File::create(path).map(BufWriter::new))
        .transpose()?;
    let mut rows = Vec::new();
    println!(
        "{:<18}{:>7}{:>45}{:>45}",
        "", "", "all files", "source files"
    );
    let columns = format!(
        "{:>9}{:>9}{:>7}{:>12}{:>8}",
        "BM25", "ours", "ratio", "no history", "ratio"
    );
    println!("{:<18}{:>7}{columns}{columns}", "", "tasks");
    for path in &args {
        let row = measure(Path::new(path), most, dump.as_mut())?;
        show(&row);
        rows.push(row);
    }
    if rows.len() > 1 {
        summary(&rows);
    }
    Ok(())
}

fn show(row: &RecallRow) {
    let columns = |[bm25, ours, without]: [f64; 3]| {
        let (ratio, less) = (ours / bm25, without / bm25);
        format!("{bm25:>9.3}{ours:>9.3}{ratio:>7.2}{without:>12.3}{less:>8.2}")
    };
    println!(
        "{:<18}{:>7}{}{}",
        row.name,
        row.tasks,
        columns(row.all),
        columns(row.sources)
    );
}

fn summary(rows: &[RecallRow]) {
    let mut mean = RecallRow {
        name: "mean".to_owned(),
        ..RecallRow::default()
    };
    for row in rows {
        mean.tasks += row.tasks;
        for at in 0..3 {
            mean.all[at] += row.all[at] / rows.len() as f64;
            mean.sources[at] += row.sources[at] / rows.len() as f64;
        }
    }
    show(&mean);
    let ratios: Vec<f64> = rows.iter().map(|row| row.all[1] / row.all[0]).collect();
    let ratio = ratios.iter().sum::<f64>() / ratios.len() as f64;
    let least = ratios.iter().copied().fold(f64::MAX, f64::min);
    let ok = |met: bool| if met { "ok" } else { "MISSED" };
    println!(
        "mean of the ratios {ratio:.3}, goal 1.15: {}",
        ok(ratio >= 1.15)
    );
    println!("least ratio {least:.3}, goal 1: {}", ok(least >= 1.0));
}

fn measure(
    path: &Path,
    most: usize,
    mut dump: Option<&mut BufWriter<File>>,
) -> BenchOutcome<RecallRow> {
    let mut clone = ClonedRepo::open(path)?;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let mut row = RecallRow {
        name: name.into_owned(),
        ..RecallRow::default()
    };
    let limit = if dump.is_some() { usize::MAX } else { AT };
    let options = RankingOptions {
        limit,
        reasons: false,
        ..RankingOptions::default()
    };
    let mut with_sources = 0;
    for task in tasks::choose(&clone, most)? {
        let tree = clone.tree(&task.parent)?;
        let there = task
            .files
            .iter()
            .map(String::as_str)
            .filter(|path| tree.has(path));
        let truth: HashSet<&str> = there.collect();
        if truth.is_empty() {
            continue;
        }
        let history = CommitHistory::new(clone.before(&task.parent), tree.paths());
        let mut corpus = SearchCorpus {
            files: tree.candidates(),
            lookup: Some(&tree),
            history: Some(&history),
        };
        let ours = rank_files(&task.text, &corpus, &options);
        if let Some(out) = &mut dump {
            write(out, &row.name, &task, &ours, &truth)?;
        }
        corpus.history = None;
        let without = rank_files(&task.text, &corpus, &options);
        let baseline = bm25::rank(&task.text, &corpus.files, AT);
        let answers = [baseline, paths(&ours), paths(&without)];
        let sources: HashSet<&str> = truth
            .iter()
            .copied()
            .filter(|path| Language::from_path(path).is_some())
            .collect();
        row.tasks += 1;
        with_sources += usize::from(!sources.is_empty());
        for (at, answer) in answers.iter().enumerate() {
            row.all[at] += recall(answer, &truth);
            row.sources[at] += recall(answer, &sources);
        }
    }
    row.all = row.all.map(|sum| sum / row.tasks.max(1) as f64);
    row.sources = row.sources.map(|sum| sum / with_sources.max(1) as f64);
    Ok(row)
}

fn paths(found: &[RankedFile]) -> Vec<&str> {
    found.iter().map(|found| found.path.as_str()).collect()
}

/// Which part of the truth is among the first; none if there is no truth.
fn recall(answer: &[&str], truth: &HashSet<&str>) -> f64 {
    let met = answer
        .iter()
        .take(AT)
        .filter(|path| truth.contains(*path))
        .count();
    met as f64 / truth.len().max(1) as f64
}

/// Writes the signals of the first files and of the true ones, for fitting weights: the repository, the
/// commit, how many files are true, whether this one is, its path, its signals.
fn write(
    out: &mut impl Write,
    name: &str,
    task: &CommitTask,
    found: &[RankedFile],
    truth: &HashSet<&str>,
) -> BenchOutcome<()> {
    for (at, file) in found.iter().enumerate() {
        let is = truth.contains(file.path.as_str());
        if at < 300 || is {
            let (commit, files, path) = (&task.id, truth.len(), &file.path);
            write!(out, "{name}\t{commit}\t{files}\t{}\t{path}", u8::from(is))?;
            for signal in file.signals {
                write!(out, "\t{signal:.4}")?;
            }
            writeln!(out)?;
        }
    }
    Ok(())
}
