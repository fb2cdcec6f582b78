//! How well files are found for a task, on the history of real repositories.
//!
//! A task's text is the message of a commit, cleaned of what gives the files away; the truth are the
//! files that the commit changed. What is looked at is the tree before the commit and the commits it
//! comes after, nothing younger. Recall at 10 is compared with BM25 over the same words of the same
//! files in the same run.
//!
//! `cargo bench -p codeteam-engine --bench find -- [--commits N] CLONE...`

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
use std::io::BufWriter;
use std::path::Path;
use std::time::Instant;

use codeteam_context::find::{Candidate, Corpus, Found, History, Options, rank};
use codeteam_context::imports::{Graph, Source};

use self::past::Clone;
use self::tasks::Task;

type Outcome<T> = Result<T, Box<dyn Error>>;

/// How many files may be named.
const AT: usize = 10;

/// What was measured on one repository.
struct Row {
    name: String,
    tasks: usize,
    bm25: f64,
    ours: f64,
    without_history: f64,
}

fn main() -> Outcome<()> {
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
        "{:<24}{:>7}{:>9}{:>9}{:>8}{:>22}",
        "", "tasks", "BM25", "ours", "ratio", "ours, no history"
    );
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

fn show(row: &Row) {
    println!(
        "{:<24}{:>7}{:>9.3}{:>9.3}{:>8.2}{:>14.3}{:>8.2}",
        row.name,
        row.tasks,
        row.bm25,
        row.ours,
        row.ours / row.bm25,
        row.without_history,
        row.without_history / row.bm25
    );
}

fn summary(rows: &[Row]) {
    let mean = |value: fn(&Row) -> f64| rows.iter().map(value).sum::<f64>() / rows.len() as f64;
    let row = Row {
        name: "mean".to_owned(),
        tasks: rows.iter().map(|row| row.tasks).sum(),
        bm25: mean(|row| row.bm25),
        ours: mean(|row| row.ours),
        without_history: mean(|row| row.without_history),
    };
    show(&row);
    let ratio = mean(|row| row.ours / row.bm25);
    let least = rows
        .iter()
        .map(|row| row.ours / row.bm25)
        .fold(f64::MAX, f64::min);
    let ok = |met: bool| if met { "ok" } else { "MISSED" };
    println!(
        "mean of the ratios {ratio:.3}, goal 1.15: {}",
        ok(ratio >= 1.15)
    );
    println!("least ratio {least:.3}, goal 1: {}", ok(least >= 1.0));
}

fn measure(path: &Path, most: usize, mut dump: Option<&mut BufWriter<File>>) -> Outcome<Row> {
    let start = Instant::now();
    let mut clone = Clone::open(path)?;
    let tasks = tasks::choose(&clone, most)?;
    let mut sums = [0.0; 3];
    let mut spent = std::time::Duration::ZERO;
    let mut counted = 0;
    for task in &tasks {
        let tree = clone.tree(&task.parent)?;
        let paths: Vec<&str> = tree.iter().map(|(path, _)| path.as_str()).collect();
        let truth: HashSet<&str> = task
            .files
            .iter()
            .map(String::as_str)
            .filter(|file| paths.binary_search(file).is_ok())
            .collect();
        if truth.is_empty() {
            continue;
        }
        counted += 1;
        let sources: Vec<Source<'_>> = tree
            .iter()
            .map(|(path, blob)| Source {
                path,
                imports: &blob.imports,
            })
            .collect();
        let graph = Graph::of(&sources, &|path| {
            let at = tree
                .binary_search_by(|(known, _)| known.as_str().cmp(path))
                .ok()?;
            tree[at].1.manifest.clone()
        });
        let files: Vec<Candidate<'_>> = tree
            .iter()
            .map(|(path, blob)| Candidate {
                path,
                sketch: &blob.sketch,
            })
            .collect();
        let started = Instant::now();
        let history = History::new(clone.before(&task.parent), paths.iter().copied());
        let mut corpus = Corpus {
            files,
            history: Some(&history),
            imports: Some(&graph),
            ..Corpus::default()
        };
        let limit = if dump.is_some() { usize::MAX } else { AT };
        let options = Options {
            limit,
            reasons: false,
            ..Options::default()
        };
        let ours = rank(&task.text, &corpus, &options);
        spent += started.elapsed();
        if let Some(out) = &mut dump {
            write(out, path, task, &ours, &truth)?;
        }
        corpus.history = None;
        let plain = rank(&task.text, &corpus, &options);
        let baseline = bm25::rank(&task.text, &corpus.files, AT);
        let recall = |found: &mut dyn Iterator<Item = &str>| {
            found.take(AT).filter(|path| truth.contains(path)).count() as f64 / truth.len() as f64
        };
        sums[0] += recall(&mut baseline.into_iter());
        sums[1] += recall(&mut ours.iter().map(|found| found.path.as_str()));
        sums[2] += recall(&mut plain.iter().map(|found| found.path.as_str()));
    }
    let mean = |sum: f64| sum / counted as f64;
    eprintln!(
        "{}: {:.1} s, {:.1} ms a task",
        path.display(),
        start.elapsed().as_secs_f64(),
        spent.as_secs_f64() * 1e3 / f64::from(counted.max(1))
    );
    Ok(Row {
        name: path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned(),
        tasks: counted as usize,
        bm25: mean(sums[0]),
        ours: mean(sums[1]),
        without_history: mean(sums[2]),
    })
}

/// Writes the signals of the first files and of the true ones, for fitting weights.
fn write(
    out: &mut impl std::io::Write,
    path: &Path,
    task: &Task,
    found: &[Found],
    truth: &HashSet<&str>,
) -> Outcome<()> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    for (at, file) in found.iter().enumerate() {
        let is = truth.contains(file.path.as_str());
        if at < 300 || is {
            let signals: Vec<String> = file.signals.iter().map(|s| format!("{s:.4}")).collect();
            writeln!(
                out,
                "{name}\t{}\t{}\t{}\t{}\t{}",
                task.id,
                truth.len(),
                u8::from(is),
                file.path,
                signals.join("\t")
            )?;
        }
    }
    Ok(())
}
