//! Measures how fast text is redacted, compared with copying it and with searching for its line
//! ends: ordinary text, which is this repository's own, with few secrets in it.

#![expect(
    clippy::print_stdout,
    clippy::cast_precision_loss,
    reason = "a benchmark prints figures and needs no more precision"
)]

use std::fs;
use std::hint::black_box;
use std::path::Path;
use std::time::Instant;

use codeteam_context::redact::Redactor;

const SIZE: usize = 32 << 20;
const ROUNDS: usize = 7;
/// Megabytes a second.
const GOAL: f64 = 300.0;

fn main() {
    // `cargo test --all-targets` also runs this; figures are for `cargo bench`.
    if !std::env::args().any(|arg| arg == "--bench") {
        return;
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut own = fs::read_to_string(root.join("Cargo.lock")).unwrap_or_default();
    for folder in ["crates", "docs"] {
        collect(&root.join(folder), &mut own);
    }
    // A secret on every hundredth line or so is more than workers print.
    let few = with_secrets(&own, 2000);
    let many = with_secrets(&own, 100);
    let json = own.lines().fold(String::new(), |mut json, line| {
        json.push_str("{\"type\":\"text\",\"text\":\"");
        json.extend(line.escape_default());
        json.push_str("\"}\n");
        json
    });
    let none = Redactor::new([]);
    let known = Redactor::new((0..8).map(|i| format!("an-exact-secret-{i}-{}", i * 7919)));
    println!(
        "{:<34}{:>10}{:>14}{:>14}",
        "", "MB/s", "of copying", "of line ends"
    );
    measure("few secrets, whole", &few, |text| {
        none.redact(text).text.len()
    });
    measure("few secrets, by line", &few, |text| by_line(&none, text));
    measure("few secrets, 8 known, by line", &few, |text| {
        by_line(&known, text)
    });
    measure("JSON lines, by line", &json, |text| by_line(&none, text));
    measure("many secrets, by line", &many, |text| by_line(&none, text));
}

/// Appends the sources and documents below a folder.
fn collect(folder: &Path, out: &mut String) {
    let Ok(entries) = fs::read_dir(folder) else {
        return;
    };
    for path in entries.flatten().map(|entry| entry.path()) {
        let kind = path.extension().and_then(|kind| kind.to_str());
        if path.is_dir() && !path.ends_with("corpus") {
            collect(&path, out);
        } else if matches!(kind, Some("rs" | "md" | "yml" | "sh" | "json")) {
            out.push_str(&fs::read_to_string(path).unwrap_or_default());
        }
    }
}

fn with_secrets(text: &str, every: usize) -> String {
    let mut out = String::new();
    for (i, line) in text.lines().enumerate() {
        out.push_str(line);
        if i % every == every - 1 {
            out.push_str(" DB_PASSWORD=kV9wq2Lr7x");
        }
        out.push('\n');
    }
    out
}

fn by_line(redactor: &Redactor, text: &str) -> usize {
    let mut lines = redactor.line_redactor();
    text.split_inclusive('\n')
        .map(|line| lines.redact_line(line).text.len())
        .sum()
}

/// The best of several turns, each beside its floors.
fn measure(name: &str, text: &str, ours: impl Fn(&str) -> usize) {
    let text = text.repeat(SIZE / text.len() + 1);
    let seconds = |work: &dyn Fn(&str) -> usize| {
        let start = Instant::now();
        black_box(work(black_box(&text)));
        start.elapsed().as_secs_f64()
    };
    let (mut best, mut copy, mut ends) = (f64::MAX, f64::MAX, f64::MAX);
    for _ in 0..ROUNDS {
        copy = copy.min(seconds(&|text| black_box(text.to_owned()).len()));
        ends = ends.min(seconds(&|text| {
            memchr::memchr_iter(b'\n', text.as_bytes()).count()
        }));
        best = best.min(seconds(&ours));
    }
    let speed = text.len() as f64 / 1e6 / best;
    let goal = if speed >= GOAL {
        ""
    } else {
        "  below the goal"
    };
    println!(
        "{name:<34}{speed:>10.0}{:>14.3}{:>14.3}{goal}",
        copy / best,
        ends / best
    );
}
