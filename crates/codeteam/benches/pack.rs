//! `codeteam pack` beside those who do the same, and beside a floor: walk, read, count, write.
//!
//! `cargo bench -p codeteam --bench pack -- [FOLDER…]`; without a folder, Django's source package. The
//! peers are installed into `target/peers`, at the versions below. What is packed is a copy that has
//! only texts and nothing hidden, so that all see the same files. Everybody takes turns, and medians
//! are compared.

#![allow(
    clippy::print_stdout,
    clippy::cast_precision_loss,
    clippy::disallowed_methods,
    clippy::unwrap_used,
    missing_docs,
    reason = "a benchmark prints figures, starts processes and needs no more precision"
)]

#[path = "pack/floor.rs"]
mod floor;
#[path = "pack/peers.rs"]
mod peers;

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use codeteam_context::files::{FileContent, FileSet as _};
use codeteam_context::redact::Redactor;
use codeteam_context::tree::{FileTree, TreeOptions};

type Outcome<T> = Result<T, Box<dyn Error>>;

const CODETEAM: &str = env!("CARGO_BIN_EXE_codeteam");
const ROUNDS: usize = 5;

fn main() -> Outcome<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if let [command, folder] = &args[..]
        && command == "--floor"
    {
        return floor::run(Path::new(folder));
    }
    // `cargo test --all-targets` also runs this; figures are for `cargo bench`.
    if !args.iter().any(|arg| arg == "--bench") {
        return Ok(());
    }
    // Not below a repository that ignores it: some take that for an answer.
    let place = std::env::temp_dir().join("codeteam-pack-bench");
    let _ = fs::remove_dir_all(&place);
    fs::create_dir_all(&place)?;
    let peers = peers::install()?;
    let mut folders: Vec<PathBuf> = args
        .iter()
        .filter(|arg| !arg.starts_with("--"))
        .map(PathBuf::from)
        .collect();
    if folders.is_empty() {
        folders.push(peers::django(&peers)?);
    }
    for (n, folder) in folders.iter().enumerate() {
        let corpus = place.join(format!("corpus-{n}"));
        let bytes = texts_of(folder, &corpus)?;
        println!("\n{}: {:.1} MB", folder.display(), bytes as f64 / 1e6);
        beside_peers(&place, &corpus, &peers)?;
        exact(&place, &corpus)?;
        growth(&place, &corpus)?;
    }
    Ok(fs::remove_dir_all(&place)?)
}

/// Copies the texts of a folder, without what is hidden.
fn texts_of(folder: &Path, to: &Path) -> Outcome<u64> {
    let options = TreeOptions {
        user_excludes: false,
        ..TreeOptions::default()
    };
    let tree = FileTree::walk(folder, &options, &|_| {})?;
    let mut bytes = 0;
    for (at, file) in tree.list().iter().enumerate() {
        let hidden = file.path.split('/').any(|part| part.starts_with('.'));
        let FileContent::Text(text) = tree.read(at) else {
            continue;
        };
        if hidden || text.is_empty() || file.path.contains('\\') {
            continue;
        }
        let path = to.join(&file.path);
        fs::create_dir_all(path.parent().unwrap_or(to))?;
        fs::write(path, &text)?;
        bytes += text.len() as u64;
    }
    Ok(bytes)
}

/// Somebody who packs.
struct BenchedPacker {
    name: &'static str,
    command: Vec<String>,
    /// Where the pack is, if not on standard output.
    output: Option<PathBuf>,
    /// What a line that begins a file has.
    file: &'static str,
    /// Whether what was kept is removed before each run.
    cold: bool,
}

#[derive(Clone, Copy, Default)]
struct ResourceUse {
    seconds: f64,
    processor: f64,
    megabytes: f64,
}

fn packers(place: &Path, corpus: &Path, peers: &Path) -> Outcome<Vec<BenchedPacker>> {
    let corpus = corpus.display().to_string();
    let command = |words: &[&str]| {
        words
            .iter()
            .map(|word| (*word).to_owned())
            .collect::<Vec<_>>()
    };
    let out = |name: &str| place.join(name);
    let (repomix, c2p) = (out("repomix.xml"), out("code2prompt.md"));
    let bin = |name: &str| peers.join(name).display().to_string();
    let own = std::env::current_exe()?.display().to_string();
    let file = "<file path=";
    let packer = |name, command, output, file, cold| BenchedPacker {
        name,
        command,
        output,
        file,
        cold,
    };
    let ours = |more: &[&str]| command(&[&[CODETEAM, "pack", "--quiet", &corpus], more].concat());
    Ok(vec![
        packer(
            "floor",
            command(&[&own, "--floor", &corpus]),
            None,
            ">>>> ",
            false,
        ),
        packer("codeteam, cold", ours(&[]), None, file, true),
        packer("codeteam, warm", ours(&[]), None, file, false),
        packer(
            "codeteam, no tokens",
            ours(&["--no-tokens"]),
            None,
            file,
            false,
        ),
        packer(
            "repomix",
            command(&[
                &bin("node_modules/.bin/repomix"),
                &corpus,
                "--quiet",
                "-o",
                &repomix.display().to_string(),
            ]),
            Some(repomix),
            file,
            false,
        ),
        packer(
            "code2prompt",
            command(&[
                &bin("bin/code2prompt"),
                &corpus,
                "-q",
                "-O",
                &c2p.display().to_string(),
            ]),
            Some(c2p),
            "`",
            false,
        ),
        packer(
            "yek, no tokens",
            command(&[&bin("bin/yek"), "--max-size", "4GB", &corpus]),
            None,
            ">>>> ",
            false,
        ),
    ])
}

/// Everybody by turns.
fn beside_peers(place: &Path, corpus: &Path, peers: &Path) -> Outcome<()> {
    let packers = packers(place, corpus, peers)?;
    let mut all = vec![Vec::new(); packers.len()];
    let mut files = vec![0; packers.len()];
    for round in 0..=ROUNDS {
        for (n, packer) in packers.iter().enumerate() {
            if packer.cold {
                let _ = fs::remove_dir_all(place.join("cache"));
            }
            let taken = run(place, &packer.command)?;
            if round == 0 {
                // The first warms the disk's cache, and says what is in it.
                let output = packer
                    .output
                    .clone()
                    .unwrap_or_else(|| place.join("stdout"));
                let text = String::from_utf8_lossy(&fs::read(output)?).into_owned();
                let begins = |line: &&str| {
                    line.starts_with(packer.file) && (packer.file != "`" || line.ends_with("`:"))
                };
                files[n] = text.lines().filter(begins).count();
            } else {
                all[n].push(taken);
            }
        }
    }
    let medians: Vec<ResourceUse> = all.iter().map(|all| medians(all)).collect();
    println!(
        "{:<22}{:>8}{:>10}{:>12}{:>10}{:>14}",
        "", "files", "seconds", "processor", "MB", "of the floor"
    );
    for ((packer, taken), files) in packers.iter().zip(&medians).zip(files) {
        println!(
            "{:<22}{files:>8}{:>10.3}{:>12.3}{:>10.0}{:>14.2}",
            packer.name,
            taken.seconds,
            taken.processor,
            taken.megabytes,
            taken.seconds / medians[0].seconds
        );
    }
    let [floor, cold, warm, bare, repomix, c2p, yek] = medians[..] else {
        return Ok(());
    };
    let goal = |what: &str, is: f64, most: f64| {
        println!(
            "{what:<52}{is:>8.3} (at most {most:.3}) {}",
            if is <= most { "ok" } else { "MISSED" }
        );
    };
    goal("cold, of the floor", cold.seconds / floor.seconds, 0.6);
    goal("cold, of Repomix", cold.seconds / repomix.seconds, 0.1);
    goal("cold, of code2prompt", cold.seconds / c2p.seconds, 0.2);
    goal("warm, of Repomix", warm.seconds / repomix.seconds, 0.02);
    goal("without tokens, of yek", bare.seconds / yek.seconds, 1.0);
    goal(
        "memory cold, of Repomix and code2prompt",
        cold.megabytes / repomix.megabytes.min(c2p.megabytes),
        1.0,
    );
    goal(
        "memory without tokens, of yek",
        bare.megabytes / yek.megabytes,
        1.0,
    );
    Ok(())
}

/// Runs a command, by `time` for what it takes; its standard output goes into a file.
fn run(place: &Path, command: &[String]) -> Outcome<ResourceUse> {
    let said = place.join("time");
    let mut time = Command::new("/usr/bin/time");
    time.args(["-f", "%U %S %M", "-o"]).arg(&said).args(command);
    time.env("XDG_CACHE_HOME", place.join("cache"));
    time.stdout(fs::File::create(place.join("stdout"))?)
        .stderr(Stdio::null())
        .stdin(Stdio::null());
    let start = Instant::now();
    let status = time
        .status()
        .map_err(|error| format!("`/usr/bin/time` (package `time`): {error}"))?;
    let seconds = start.elapsed().as_secs_f64();
    if !status.success() {
        return Err(format!("{command:?} failed: {status}").into());
    }
    let said = fs::read_to_string(said)?;
    let numbers: Vec<f64> = said
        .split_whitespace()
        .filter_map(|word| word.parse().ok())
        .collect();
    let [user, system, kilobytes] = numbers[..] else {
        return Err(said.into());
    };
    Ok(ResourceUse {
        seconds,
        processor: user + system,
        megabytes: kilobytes / 1e3,
    })
}

fn medians(all: &[ResourceUse]) -> ResourceUse {
    let of = |field: fn(&ResourceUse) -> f64| {
        let mut values: Vec<f64> = all.iter().map(field).collect();
        values.sort_by(f64::total_cmp);
        values[values.len() / 2]
    };
    ResourceUse {
        seconds: of(|taken| taken.seconds),
        processor: of(|taken| taken.processor),
        megabytes: of(|taken| taken.megabytes),
    }
}

/// Are our counts those of the reference, file by file?
fn exact(place: &Path, corpus: &Path) -> Outcome<()> {
    let command = [CODETEAM, "pack", "--quiet", "--json"].map(str::to_owned);
    run(
        place,
        &[&command[..], &[corpus.display().to_string()]].concat(),
    )?;
    let report: serde_json::Value = serde_json::from_slice(&fs::read(place.join("stdout"))?)?;
    let tree = FileTree::walk(corpus, &TreeOptions::default(), &|_| {})?;
    let (redactor, reference) = (Redactor::new([]), bpe_openai::o200k_base());
    let (mut differ, mut files) = (0, 0);
    for said in report["files"].as_array().into_iter().flatten() {
        let at = tree
            .list()
            .binary_search_by_key(&said["path"].as_str(), |file| Some(&file.path));
        let Ok(FileContent::Text(text)) = at.map(|at| tree.read(at)) else {
            continue;
        };
        let count = reference.count(&redactor.redact(&text).text);
        files += 1;
        differ += usize::from(said["tokens"].as_u64() != Some(count as u64));
    }
    let good = if differ == 0 && files > 0 {
        "ok"
    } else {
        "MISSED"
    };
    println!("counts that differ from bpe-openai's: {differ} of {files} files  {good}");
    Ok(())
}

/// Does a tree of four copies cost four times as much?
fn growth(place: &Path, corpus: &Path) -> Outcome<()> {
    let mut per_copy = Vec::new();
    for copies in [1, 2, 4] {
        let many = place.join(format!("many-{copies}"));
        for n in 0..copies {
            texts_of(corpus, &many.join(format!("copy-{n}")))?;
        }
        let command = [CODETEAM, "pack", "--quiet"].map(str::to_owned);
        let command = [&command[..], &[many.display().to_string()]].concat();
        let mut all = Vec::new();
        for _ in 0..ROUNDS {
            let _ = fs::remove_dir_all(place.join("cache"));
            all.push(run(place, &command)?);
        }
        let taken = medians(&all);
        println!(
            "{copies} copies: {:.3} s, {:.3} s of processor, {:.0} MB",
            taken.seconds, taken.processor, taken.megabytes
        );
        per_copy.push(taken.seconds / f64::from(copies));
        fs::remove_dir_all(many)?;
    }
    let grown = per_copy[2] / per_copy[0];
    let good = if grown <= 1.3 { "ok" } else { "MISSED" };
    println!("time per copy, of four against one: {grown:.2} (at most 1.3) {good}");
    Ok(())
}
