//! Long plans and long lives: what a run of many tasks costs and leaves behind, and how fast
//! commands answer beside it.
//!
//! `cargo bench -p codeteam --bench kernel -- plans 1000 10000` makes a run of each size with
//! scripted workers, and a project with 200 runs. With `confined` as a further argument, the workers
//! and the checks have a sandbox.

use std::fmt::Write as _;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::{Outcome, codeteam, median, must, report, repository};

/// The number of runs of the project with many.
const RUNS: usize = 200;

/// The time within which a command is to answer.
const GOAL: f64 = 0.05;

const SCRIPT: &str = "version: 1\nplays:\n  - match: { kind: implementer }\n    do:\n      - write: { path: '{{task.title}}', content: \"{{task.id}}\\n\" }\n      - submit: { summary: done }\n";

const FLOW: &str = "name: step\nstart: tasks\nroles:\n  maker: { kind: implementer }\nsteps:\n  tasks:\n    each: task\n    next: done\n    steps:\n      make: { role: maker, next: check }\n      check: { gate: [ { command: 'true' } ], next: commit }\n      commit: { commit: branch, next: done }\n";

/// What a run of one size has cost.
pub(crate) struct LongRun {
    tasks: usize,
    seconds: f64,
    megabytes: f64,
}

/// Measures runs of these sizes, and then a project with many short ones.
pub(crate) fn measure(folder: &Path, sizes: &[usize], more: &[&str]) -> Outcome<()> {
    let mut first: Option<LongRun> = None;
    for tasks in sizes {
        let place = folder.join(format!("plan-{tasks}"));
        let repo = repository(&place.join("repo"))?;
        let run = long_run(&place, &repo, *tasks, more)?;
        println!("{tasks} tasks: {:.1} s", run.seconds);
        let each = run.seconds / run.tasks as f64;
        // Flat: a task of a longer plan costs no more, within the noise of the machine.
        let before = first
            .as_ref()
            .map_or(each, |first| first.seconds / first.tasks as f64);
        report("  time per task", each * 1e3, "ms", before / each, 0.8);
        deciles(&place, &repo)?;
        println!("  {:<24} {:>8.1} MB", "memory, at most", run.megabytes);
        left_behind(&repo, *tasks)?;
        answers(&place, &repo, *tasks)?;
        first.get_or_insert(run);
    }
    let place = folder.join("lives");
    let repo = repository(&place.join("repo"))?;
    for _ in 0..RUNS {
        long_run(&place, &repo, 1, more)?;
    }
    println!("{RUNS} runs");
    left_behind(&repo, 1)?;
    answers(&place, &repo, 1)
}

pub(crate) fn long_run(place: &Path, repo: &Path, tasks: usize, more: &[&str]) -> Outcome<LongRun> {
    let mut plan = String::from("description: Many small tasks\ntasks:\n");
    for n in 0..tasks {
        // In folders, as files are: git stores a folder again with every change in it.
        let file = format!("part-{}/file-{n}", n / 100);
        let _ = writeln!(plan, "  - {{ id: t{n}, title: {file}, files: [{file}] }}");
    }
    fs::write(place.join("plan.yml"), plan)?;
    fs::write(place.join("script.yml"), SCRIPT)?;
    fs::write(place.join("flow.yml"), FLOW)?;
    let arg = |name: &str| place.join(name).display().to_string();
    let mut command = codeteam(place, repo);
    command
        .args(["run", "--quiet"])
        .args(more)
        .args(["--set", &format!("limits.max_tasks={}", tasks.max(1_000))])
        .args(["--plan", &arg("plan.yml"), "--script", &arg("script.yml")])
        .args(["--workflow", &arg("flow.yml")])
        .stdin(Stdio::null())
        .stdout(Stdio::null());
    let start = Instant::now();
    let mut child = command.spawn()?;
    let status = PathBuf::from(format!("/proc/{}/status", child.id()));
    let mut most = 0;
    let ended = loop {
        // The figure is a maximum that the system keeps, so looking at it now and then is enough.
        most = most.max(peak_kb(&status).unwrap_or(0));
        if let Some(ended) = child.try_wait()? {
            break ended;
        }
        std::thread::sleep(Duration::from_millis(if tasks > 1 { 100 } else { 2 }));
    };
    if !ended.success() {
        return Err(format!("the run of {tasks} tasks ended with {ended}").into());
    }
    Ok(LongRun {
        tasks,
        seconds: start.elapsed().as_secs_f64(),
        megabytes: most as f64 / 1024.0,
    })
}

fn peak_kb(status: &Path) -> Option<u64> {
    let text = fs::read_to_string(status).ok()?;
    let line = text.lines().find(|line| line.starts_with("VmHWM:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

/// The time between commits in the first and in the last tenth of the run.
fn deciles(place: &Path, repo: &Path) -> Outcome<()> {
    let output = codeteam(place, repo).args(["log", "--json"]).output()?;
    let mut times = Vec::new();
    for line in String::from_utf8(output.stdout)?.lines() {
        if !line.contains("\"committed\"") {
            continue;
        }
        let value: serde_json::Value = serde_json::from_str(line)?;
        let time: jiff::Timestamp = value["ts"].as_str().ok_or("no ts")?.parse()?;
        times.push(time.as_millisecond());
    }
    let tenth = times.len() / 10;
    if tenth < 2 {
        return Ok(());
    }
    let each = |part: &[i64]| match part {
        [first, .., last] => (last - first) as f64 / (part.len() - 1) as f64,
        _ => 0.0,
    };
    let (first, last) = (each(&times[..tenth]), each(&times[times.len() - tenth..]));
    println!("  {:<24} {first:>8.2} ms", "a task, first tenth");
    report("  a task, last tenth", last, "ms", first / last, 0.8);
    Ok(())
}

/// Counts the files and bytes that a project has afterwards.
fn left_behind(repo: &Path, tasks: usize) -> Outcome<()> {
    let own = repo.join(".codeteam");
    let mut for_people = 0;
    for name in ["bodies", "reports", "runs", "planning"] {
        let (files, bytes) = count(&own.join(name))?;
        println!("  {name:<24} {files:>8} files {:>8.1} MB", mega(bytes));
        for_people += if name == "bodies" { 0 } else { files };
    }
    if tasks > 1 {
        // Five for each of the 300 tasks that are in no pack, however many there are.
        report(
            "  files for people",
            for_people as f64,
            "",
            1_700.0 / for_people.max(1) as f64,
            1.0,
        );
    }
    let log = fs::metadata(own.join("state.db"))?.len();
    println!("  {:<24} {:>17.1} MB", "log", mega(log));
    let (bodies, _) = count(&own.join("bodies"))?;
    // Bounded: not so many for each task.
    let most = 2_500.0_f64;
    report(
        "  files of bodies",
        bodies as f64,
        "",
        most / bodies.max(1) as f64,
        1.0,
    );
    let output = Command::new("git")
        .arg("-C")
        .arg(repo)
        .args(["count-objects", "-v"])
        .output()?;
    let text = String::from_utf8(output.stdout)?;
    let figure = |name: &str| -> f64 {
        let line = text.lines().find_map(|line| line.strip_prefix(name));
        line.and_then(|rest| rest.trim().parse().ok())
            .unwrap_or(0.0)
    };
    let (loose, packs) = (figure("count:"), figure("packs:"));
    let size = (figure("size:") + figure("size-pack:")) / 1024.0;
    report("  loose objects", loose, "", 2_000.0 / loose.max(1.0), 1.0);
    println!("  {:<24} {packs:>8.0}, {size:.1} MB of objects", "packs");
    Ok(())
}

fn mega(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}

fn count(folder: &Path) -> Outcome<(u64, u64)> {
    let (mut files, mut bytes) = (0, 0);
    let Ok(entries) = fs::read_dir(folder) else {
        return Ok((0, 0));
    };
    for entry in entries {
        let entry = entry?;
        let found = entry.metadata()?;
        if found.is_dir() {
            let (more, larger) = count(&entry.path())?;
            files += more;
            bytes += larger;
        } else {
            files += 1;
            bytes += found.len();
        }
    }
    Ok((files, bytes))
}

/// How long commands take.
pub(crate) fn answers(place: &Path, repo: &Path, tasks: usize) -> Outcome<()> {
    let last = format!("t{}", tasks / 2);
    for args in [
        &["status"][..],
        &["status", "--json"],
        &["show"],
        &["show", "--json"],
        &["report"],
        &["report", "--task", &last],
        &["diff", "--task", &last],
        &["diff", "--names"],
        &["diff"],
    ] {
        let mut times = Vec::new();
        for _ in 0..11 {
            let start = Instant::now();
            must(codeteam(place, repo).args(args).stdout(Stdio::null()))?;
            times.push(start.elapsed().as_secs_f64());
        }
        let seconds = median(times);
        let name = format!("  {}", args.join(" "));
        report(&name, seconds * 1e3, "ms", GOAL / seconds, 1.0);
    }
    let (mut firsts, mut wholes) = (Vec::new(), Vec::new());
    for _ in 0..5 {
        let start = Instant::now();
        let mut child = codeteam(place, repo)
            .arg("log")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()?;
        let mut lines = BufReader::new(child.stdout.take().ok_or("no output")?).lines();
        lines.next().ok_or("no line")??;
        firsts.push(start.elapsed().as_secs_f64());
        for line in lines {
            line?;
        }
        child.wait()?;
        wholes.push(start.elapsed().as_secs_f64());
    }
    let seconds = median(firsts);
    report(
        "  log, first line",
        seconds * 1e3,
        "ms",
        GOAL / seconds,
        1.0,
    );
    println!(
        "  {:<24} {:>8.1} ms",
        "log, to its end",
        median(wholes) * 1e3
    );
    Ok(())
}
