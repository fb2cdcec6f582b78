//! Measures what codeteam itself costs, compared with a floor measured in the same run on the same
//! disk.
//!
//! The machine may be noisy, so floor and codeteam take turns, medians are compared, and the goals
//! are ratios wherever there is something to divide by.

#![allow(
    clippy::print_stdout,
    clippy::cast_precision_loss,
    clippy::disallowed_methods,
    missing_docs,
    reason = "a benchmark prints figures, starts processes and needs no more precision"
)]

#[path = "kernel/long_log.rs"]
mod long_log;
#[path = "kernel/plans.rs"]
mod plans;
#[path = "kernel/runs.rs"]
mod runs;
#[path = "kernel/sizes.rs"]
mod sizes;

use std::error::Error;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

pub(crate) type Outcome<T> = Result<T, Box<dyn Error>>;

const CODETEAM: &str = env!("CARGO_BIN_EXE_codeteam");
const STEPS: usize = 20;
const ROUNDS: usize = 7;

fn main() -> Outcome<()> {
    // `cargo test --all-targets` also runs this; figures are for `cargo bench`.
    if !std::env::args().any(|arg| arg == "--bench") {
        return Ok(());
    }
    // `cargo bench -p codeteam --bench kernel -- steps [CLONE...]` measures steps alone.
    let args: Vec<String> = std::env::args().skip(1).collect();
    let clones: Vec<PathBuf> = args
        .iter()
        .map(PathBuf::from)
        .filter(|arg| arg.is_dir())
        .collect();
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("kernel-bench");
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder)?;
    if args.iter().any(|arg| arg == "steps") {
        step(&folder)?;
        sizes::measure(&folder, &clones)?;
        fs::remove_dir_all(&folder)?;
        return Ok(());
    }
    // `-- answers 10000` asks about such a run without carrying it out.
    if args.iter().any(|arg| arg == "answers") {
        let sizes: Vec<usize> = args.iter().filter_map(|arg| arg.parse().ok()).collect();
        long_log::measure(&folder, &sizes)?;
        fs::remove_dir_all(&folder)?;
        return Ok(());
    }
    // `-- plans 1000 10000` measures long plans instead, which takes minutes; `-- plans 1000 confined`
    // with sandboxes.
    if args.iter().any(|arg| arg == "plans") {
        let sizes: Vec<usize> = args.iter().filter_map(|arg| arg.parse().ok()).collect();
        let is_confined = args.iter().any(|arg| arg == "confined");
        let more: &[&str] = if is_confined { &[] } else { &["--no-sandbox"] };
        plans::measure(&folder, &sizes, more)?;
        fs::remove_dir_all(&folder)?;
        return Ok(());
    }
    // First, while nothing else has used memory.
    runs::open(&folder)?;
    step(&folder)?;
    sizes::measure(&folder, &clones)?;
    answers(&folder)?;
    load(&folder)?;
    fs::remove_dir_all(&folder)?;
    Ok(())
}

/// One whole step of a task against `benches/floor.sh`, which confines nothing; and once more confined.
fn step(folder: &Path) -> Outcome<()> {
    let floor_script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../benches/floor.sh");
    let (mut floors, mut ours, mut commits) = (Vec::new(), Vec::new(), Vec::new());
    let mut confined = Vec::new();
    let mut events = 0.0;
    for round in 0..ROUNDS {
        let place = folder.join(format!("step-{round}"));
        let repo = repository(&place.join("floor"))?;
        let start = Instant::now();
        let worktree = place.join("worktree");
        let count = STEPS.to_string();
        must(
            Command::new(&floor_script)
                .arg(&repo)
                .arg(&worktree)
                .arg(&count),
        )?;
        floors.push(start.elapsed().as_secs_f64() / STEPS as f64);

        let repo = repository(&place.join("ours"))?;
        let run = many_tasks(&place, &repo, STEPS, &["--no-sandbox"])?;
        ours.push(run.seconds / STEPS as f64);
        events = run.events / STEPS as f64;
        let repo = repository(&place.join("confined"))?;
        let run = many_tasks(&place, &repo, STEPS, &[])?;
        confined.push(run.seconds / STEPS as f64);
        commits.push(durable_commit(&place)?);
    }
    let (floor, ours, commit) = (median(floors), median(ours), median(commits));
    println!("one step, floor          {:>10.2} ms", floor * 1e3);
    println!(
        "one durable commit       {:>10.2} ms, {events:.1} events a step",
        commit * 1e3
    );
    let allowed = 1.3 * floor + events * commit;
    report("one step, codeteam", ours * 1e3, "ms", allowed / ours, 1.0);
    println!(
        "                         {:>10.2} times the floor",
        ours / floor
    );
    let confined = median(confined);
    report(
        "one step, confined",
        confined * 1e3,
        "ms",
        1.5 * ours / confined,
        1.0,
    );
    println!(
        "                         {:>10.2} times unconfined, {:.2} ms more for three sandboxes",
        confined / ours,
        (confined - ours) * 1e3
    );
    Ok(())
}

pub(crate) struct RunTiming {
    pub(crate) seconds: f64,
    events: f64,
}

/// A run of many tasks that each change one file, from the first event to the last.
pub(crate) fn many_tasks(
    place: &Path,
    repo: &Path,
    steps: usize,
    more: &[&str],
) -> Outcome<RunTiming> {
    let mut plan = String::from("description: Many small tasks\ntasks:\n");
    for n in 0..steps {
        let _ = writeln!(
            plan,
            "  - {{ id: t{n}, description: Task {n}, files: [file-{n}] }}"
        );
    }
    fs::write(place.join("plan.yml"), plan)?;
    let script = "version: 1\nplays:\n  - match: { kind: implementer }\n    do:\n      - write: { path: 'file-{{task.id}}', content: \"{{task.id}}\\n\" }\n      - submit: { summary: done }\n";
    fs::write(place.join("script.yml"), script)?;
    let workflow = "name: step\nstart: tasks\nroles:\n  maker: { kind: implementer }\nsteps:\n  tasks:\n    each: task\n    next: done\n    steps:\n      make: { role: maker, next: check }\n      check: { gate: [ { command: 'true' } ], next: commit }\n      commit: { commit: branch, next: done }\n";
    fs::write(place.join("flow.yml"), workflow)?;
    let arg = |name: &str| place.join(name).display().to_string();
    must(
        codeteam(place, repo)
            .args([
                "run",
                "--quiet",
                "--plan",
                &arg("plan.yml"),
                "--script",
                &arg("script.yml"),
                "--workflow",
                &arg("flow.yml"),
            ])
            .args(more),
    )?;
    let output = codeteam(place, repo).args(["log", "--json"]).output()?;
    let mut times = Vec::new();
    for line in String::from_utf8(output.stdout)?.lines() {
        let value: serde_json::Value = serde_json::from_str(line)?;
        let time: jiff::Timestamp = value["ts"].as_str().ok_or("no ts")?.parse()?;
        times.push(time.as_millisecond());
    }
    let (first, last) = (
        times.first().ok_or("no events")?,
        times.last().ok_or("no events")?,
    );
    let seconds = (last - first) as f64 / 1e3;
    Ok(RunTiming {
        seconds,
        events: times.len() as f64,
    })
}

/// Measures how long one row takes to be on the disk.
fn durable_commit(place: &Path) -> Outcome<f64> {
    let store = codeteam_host::store::Store::open(&place.join("commit.db"))?;
    let owner = codeteam_host::store::ProcessIdentity::this_process("bench");
    let mut times = Vec::new();
    for n in 0..50 {
        let start = Instant::now();
        store.take_lease(&format!("run-{n}"), &owner, 0, i64::MAX)?;
        times.push(start.elapsed().as_secs_f64());
    }
    Ok(median(times))
}

/// `--help` and `status` answer within 20 ms.
fn answers(folder: &Path) -> Outcome<()> {
    let place = folder.join("step-0");
    let repo = place.join("ours");
    for args in [
        &["--help"][..],
        &["status"],
        &["status", "--json"],
        &["show"],
    ] {
        let mut times = Vec::new();
        for _ in 0..31 {
            let start = Instant::now();
            must(codeteam(&place, &repo).args(args).stdout(Stdio::null()))?;
            times.push(start.elapsed().as_secs_f64());
        }
        let seconds = median(times);
        let name = format!("codeteam {}", args.join(" "));
        report(&name, seconds * 1e3, "ms", 0.02 / seconds, 1.0);
    }
    Ok(())
}

/// Loading a run of 100k events: read, parsed and applied.
fn load(folder: &Path) -> Outcome<()> {
    let place = folder.join("load");
    let repo = repository(&place)?;
    let engine = runs::engine(&place, &repo)?;
    let id = runs::long_log(&engine, 100_000)?;
    let mut times = Vec::new();
    for _ in 0..5 {
        let start = Instant::now();
        let run = engine.load_run(&id)?;
        if run.seq < 100_000 {
            return Err("too few events".into());
        }
        times.push(start.elapsed().as_secs_f64());
    }
    let seconds = median(times);
    report("load 100k events", seconds, "s", 0.5 / seconds, 1.0);
    Ok(())
}

pub(crate) fn repository(path: &Path) -> Outcome<PathBuf> {
    fs::create_dir_all(path)?;
    for n in 0..10 {
        fs::write(
            path.join(format!("source-{n}")),
            format!("{n}\n").repeat(50),
        )?;
    }
    let git = |args: &[&str]| must(Command::new("git").arg("-C").arg(path).args(args));
    git(&["init", "--quiet", "--initial-branch=main"])?;
    git(&["add", "-A"])?;
    git(&[
        "-c",
        "user.name=bench",
        "-c",
        "user.email=b@example.org",
        "commit",
        "--quiet",
        "-m",
        "first",
    ])?;
    Ok(path.to_owned())
}

fn codeteam(place: &Path, repo: &Path) -> Command {
    let mut command = Command::new(CODETEAM);
    command
        .arg("-C")
        .arg(repo)
        .env("XDG_STATE_HOME", place.join("state"));
    command
}

pub(crate) fn must(command: &mut Command) -> Outcome<()> {
    let output = command.stdin(Stdio::null()).output()?;
    if output.status.success() {
        return Ok(());
    }
    Err(format!("{command:?}: {}", String::from_utf8_lossy(&output.stderr)).into())
}

pub(crate) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Prints one figure; the ratio should be at least the goal.
pub(crate) fn report(name: &str, value: f64, unit: &str, ratio: f64, goal: f64) {
    let verdict = if ratio >= goal { "ok" } else { "MISSED" };
    println!("{name:<24} {value:>10.2} {unit:<4} ratio {ratio:>7.2}  goal {goal:>4.1}  {verdict}");
}

pub(crate) fn wait_until(what: &str, mut done: impl FnMut() -> Outcome<bool>) -> Outcome<()> {
    let start = Instant::now();
    while !done()? {
        if start.elapsed() > Duration::from_mins(1) {
            return Err(format!("waited too long for {what}").into());
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    Ok(())
}
