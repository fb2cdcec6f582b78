//! What the first look at a large repository costs: `find`, `map` and `pack` with nothing in the cache, and
//! again.
//!
//! `cargo bench -p codeteam --bench first_look -- [--binary FILE] [CLONE…]`; without a clone, in a
//! repository made for it: 30,000 source files in five languages and 12,000 commits, in the temporary
//! folder. Memory is that of the whole process tree: the sum of what each process had at its peak, whether
//! or not at the same time. `--binary` measures another build of codeteam.

#![allow(
    clippy::print_stdout,
    clippy::cast_precision_loss,
    clippy::disallowed_methods,
    clippy::unwrap_used,
    missing_docs,
    reason = "a benchmark prints figures, starts processes and needs no more precision"
)]

#[allow(dead_code, reason = "another benchmark needs the rest")]
#[path = "../../codeteam-context/benches/map/made.rs"]
mod made;

use std::collections::BTreeMap;
use std::error::Error;
use std::fs::{self, File};
use std::io::BufWriter;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

type Outcome<T> = Result<T, Box<dyn Error>>;

const FILES: usize = 30_000;
const COMMITS: usize = 12_000;
/// The memory that the whole process tree may have.
const MOST_MEGABYTES: f64 = 200.0;
/// The share of the cores that must be used, of what would be ideal.
const LEAST_USE: f64 = 0.75;
/// How often packing is repeated.
const ROUNDS: usize = 7;

fn main() -> Outcome<()> {
    let mut args: Vec<String> = std::env::args().skip(1).collect();
    // `cargo test --all-targets` also runs this; figures are for `cargo bench`.
    if !args.iter().any(|arg| arg == "--bench") {
        return Ok(());
    }
    args.retain(|arg| arg != "--bench");
    let mut binary = PathBuf::from(env!("CARGO_BIN_EXE_codeteam"));
    if let Some(at) = args.iter().position(|arg| arg == "--binary") {
        binary = args
            .drain(at..at + 2)
            .nth(1)
            .ok_or("`--binary` needs a file")?
            .into();
    }
    let place = std::env::temp_dir().join("codeteam-first-look");
    let _ = fs::remove_dir_all(&place);
    fs::create_dir_all(&place)?;
    let mut clones: Vec<PathBuf> = args.iter().map(PathBuf::from).collect();
    if clones.is_empty() {
        let made = place.join("made");
        make_repository(&made)?;
        clones.push(made);
    }
    for clone in &clones {
        FirstLook {
            binary: &binary,
            clone,
            place: &place,
        }
        .measure()?;
    }
    Ok(fs::remove_dir_all(&place)?)
}

/// Makes a repository of many files and commits.
fn make_repository(to: &Path) -> Outcome<()> {
    fs::create_dir_all(to)?;
    git(to, &["init", "-q", "-b", "main"])?;
    let mut import = Command::new("git")
        .arg("-C")
        .arg(to)
        .args(["fast-import", "--quiet", "--done"])
        .stdin(Stdio::piped())
        .spawn()?;
    let stream = import.stdin.take().ok_or("no pipe")?;
    made::write_history(&mut BufWriter::new(stream), FILES, COMMITS)?;
    if !import.wait()?.success() {
        return Err("git fast-import failed".into());
    }
    // As a server would send it.
    git(to, &["repack", "-adfq", "--window=10", "--depth=50"])?;
    git(to, &["reset", "-q", "--hard"])
}

fn git(folder: &Path, args: &[&str]) -> Outcome<()> {
    let status = Command::new("git")
        .arg("-C")
        .arg(folder)
        .args(args)
        .status()?;
    if status.success() {
        Ok(())
    } else {
        Err(format!("git {} failed", args.join(" ")).into())
    }
}

/// What a command took.
#[derive(Clone, Copy, Debug)]
struct CommandCost {
    seconds: f64,
    megabytes: f64,
}

struct FirstLook<'a> {
    binary: &'a Path,
    clone: &'a Path,
    place: &'a Path,
}

impl FirstLook<'_> {
    fn measure(&self) -> Outcome<()> {
        println!("\n{}", self.clone.display());
        println!("{:<28}{:>9}{:>9}", "", "seconds", "MB");
        // Once for the disk's cache.
        self.run(&["map"], Cores::All)?;
        for command in [
            &["find", "retry the failed packet of a session"][..],
            &["map"],
        ] {
            let name = command[0];
            let first = self.first(command, Cores::All)?;
            let shown = self.output()?;
            let later = self.run(command, Cores::All)?;
            let same_later = self.output()? == shown;
            let alone = self.first(command, Cores::One)?;
            let same_alone = self.output()? == shown;
            row(&format!("{name}, first"), first);
            row(&format!("{name}, later"), later);
            row(&format!("{name}, first, on one core"), alone);
            let most = first.megabytes.max(later.megabytes).max(alone.megabytes);
            goal(
                &format!("{name}: MB of the process tree"),
                most,
                most <= MOST_MEGABYTES,
                &format!("at most {MOST_MEGABYTES}"),
            );
            let cores = thread::available_parallelism()?.get() as f64;
            let used = alone.seconds / first.seconds / cores;
            goal(
                &format!("{name}: share of {cores} cores in use"),
                used,
                used >= LEAST_USE,
                &format!("at least {LEAST_USE}"),
            );
            goal(
                &format!("{name}: outputs that differ"),
                f64::from(u8::from(!same_later) + u8::from(!same_alone)),
                same_later && same_alone,
                "none, on one core and from the cache",
            );
        }
        self.measure_pack()
    }

    /// Packing without tokens does less than packing with them.
    fn measure_pack(&self) -> Outcome<()> {
        let commands = [&["pack", "-q"][..], &["pack", "-q", "--no-tokens"]];
        let first = [
            self.first(commands[0], Cores::All)?,
            self.first(commands[1], Cores::All)?,
        ];
        let mut later: [Vec<CommandCost>; 2] = [Vec::new(), Vec::new()];
        self.first(commands[0], Cores::All)?;
        for _ in 0..ROUNDS {
            for (command, costs) in commands.iter().zip(&mut later) {
                costs.push(self.run(command, Cores::All)?);
            }
        }
        let later = later.map(|mut costs| {
            costs.sort_by(|a, b| a.seconds.total_cmp(&b.seconds));
            costs[costs.len() / 2]
        });
        row("pack, first", first[0]);
        row("pack, first, no tokens", first[1]);
        row("pack, later", later[0]);
        row("pack, later, no tokens", later[1]);
        for (when, [with, without]) in [("first", first), ("later", later)] {
            let ratio = without.seconds / with.seconds;
            // A few per cent are noise.
            goal(
                &format!("pack, {when}: no tokens, of with them"),
                ratio,
                ratio <= 1.05,
                "at most 1.05",
            );
        }
        Ok(())
    }

    /// Runs a command with nothing in the cache.
    fn first(&self, command: &[&str], cores: Cores) -> Outcome<CommandCost> {
        let _ = fs::remove_dir_all(self.place.join("cache"));
        self.run(command, cores)
    }

    fn run(&self, command: &[&str], cores: Cores) -> Outcome<CommandCost> {
        let mut started = match cores {
            Cores::All => Command::new(self.binary),
            Cores::One => {
                let mut taskset = Command::new("taskset");
                taskset.args(["-c", "0"]).arg(self.binary);
                taskset
            }
        };
        started
            .args(command)
            .current_dir(self.clone)
            .env("XDG_CACHE_HOME", self.place.join("cache"))
            .stdin(Stdio::null())
            .stdout(File::create(self.place.join("stdout"))?)
            .stderr(Stdio::null());
        let start = Instant::now();
        let mut child = started.spawn()?;
        let mut peaks = BTreeMap::new();
        let status = loop {
            record_peaks(child.id(), &mut peaks);
            if let Some(status) = child.try_wait()? {
                break status;
            }
            thread::sleep(Duration::from_millis(2));
        };
        if !status.success() {
            return Err(format!("{command:?} failed: {status}").into());
        }
        Ok(CommandCost {
            seconds: start.elapsed().as_secs_f64(),
            megabytes: peaks.values().sum::<f64>() / 1024.0,
        })
    }

    fn output(&self) -> Outcome<Vec<u8>> {
        Ok(fs::read(self.place.join("stdout"))?)
    }
}

#[derive(Clone, Copy)]
enum Cores {
    All,
    One,
}

/// Records what a process and those below it have had in memory at most, in KiB.
fn record_peaks(process: u32, peaks: &mut BTreeMap<u32, f64>) {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let peak = peak.and_then(|peak| peak.trim().strip_suffix("kB")?.trim().parse().ok());
    if let Some(peak) = peak {
        peaks.insert(process, peak);
    }
    let threads = fs::read_dir(format!("/proc/{process}/task"));
    for thread in threads.into_iter().flatten().flatten() {
        let children = fs::read_to_string(thread.path().join("children")).unwrap_or_default();
        for child in children.split_whitespace().filter_map(|id| id.parse().ok()) {
            record_peaks(child, peaks);
        }
    }
}

fn row(name: &str, cost: CommandCost) {
    println!("{name:<28}{:>9.2}{:>9.0}", cost.seconds, cost.megabytes);
}

fn goal(what: &str, is: f64, met: bool, wanted: &str) {
    let verdict = if met { "ok" } else { "MISSED" };
    println!("  {what:<44}{is:>8.2} ({wanted}) {verdict}");
}
