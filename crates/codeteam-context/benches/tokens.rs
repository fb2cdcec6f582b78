//! Measures how fast tokens are counted, compared with `bpe-openai`, which must count the same: the
//! files of a folder, this repository's unless another is named.
//!
//! `cargo bench -p codeteam-context --bench tokens [-- FOLDER]`

#![expect(
    clippy::print_stdout,
    clippy::cast_precision_loss,
    reason = "a benchmark prints figures and needs no more precision"
)]

use std::fs;
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Instant;

use codeteam_context::tokens::{self, TokenCounter};

const ROUNDS: usize = 5;

fn main() {
    // `cargo test --all-targets` also runs this; figures are for `cargo bench`.
    if !std::env::args().any(|arg| arg == "--bench") {
        return;
    }
    let named = std::env::args().skip(1).find(|arg| !arg.starts_with('-'));
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let folder = named.map_or(own, PathBuf::from);
    let texts: Vec<String> = ignore::Walk::new(folder)
        .flatten()
        .filter_map(|entry| fs::read_to_string(entry.path()).ok())
        .collect();
    let size: usize = texts.iter().map(String::len).sum();
    println!("{} files, {:.1} MB", texts.len(), size as f64 / 1e6);

    start_up();
    compare(&texts);
    let whole = texts.concat();
    println!(
        "{:<24}{:>12}{:>14}{:>8}",
        "MB/s", "ours", "bpe-openai", "ratio"
    );
    for threads in [1, 2] {
        let name = format!("files, {threads} at a time");
        measure(&name, &texts, threads);
    }
    measure("one text", &[whole], 1);
}

/// Measures the first count.
fn start_up() {
    let microseconds = |work: &dyn Fn() -> usize| {
        let start = Instant::now();
        black_box(work());
        start.elapsed().as_secs_f64() * 1e6
    };
    let text = black_box("fn main() {}\n");
    let ours = microseconds(&|| tokens::count(text));
    let theirs = microseconds(&|| bpe_openai::o200k_base().count(text));
    println!("first count: {ours:.0} µs; bpe-openai {theirs:.0} µs");
}

/// Counts each file both ways.
fn compare(texts: &[String]) {
    let differing = texts
        .iter()
        .filter(|text| tokens::count(text) != bpe_openai::o200k_base().count(text.as_str()))
        .count();
    let tokens: usize = texts.iter().map(|text| tokens::count(text)).sum();
    println!("{tokens} tokens; {differing} files counted differently");
}

/// The best of several turns. Ours begins each with a new counter.
fn measure(name: &str, texts: &[String], threads: usize) {
    let ours = speed(texts, threads, &|texts| {
        let mut counter = TokenCounter::new();
        texts.map(|text| counter.count(text)).sum()
    });
    let theirs = speed(texts, threads, &|texts| {
        texts
            .map(|text| bpe_openai::o200k_base().count(text.as_str()))
            .sum()
    });
    println!("{name:<24}{ours:>12.0}{theirs:>14.0}{:>8.1}", ours / theirs);
}

type Texts<'a> = dyn Iterator<Item = &'a String> + 'a;

fn speed(texts: &[String], threads: usize, count: &(dyn Fn(&mut Texts) -> usize + Sync)) -> f64 {
    let size: usize = texts.iter().map(String::len).sum();
    let mut best = f64::MAX;
    for _ in 0..ROUNDS {
        let start = Instant::now();
        thread::scope(|scope| {
            for first in 0..threads {
                scope.spawn(move || {
                    black_box(count(&mut texts.iter().skip(first).step_by(threads)))
                });
            }
        });
        best = best.min(start.elapsed().as_secs_f64());
    }
    size as f64 / 1e6 / best
}
