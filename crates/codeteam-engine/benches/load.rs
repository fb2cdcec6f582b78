//! Measures what it costs to read everything: what ships with codeteam, and a project with 500
//! roles.
//!
//! Files are read and merged in layers, every role is resolved and every workflow compiled. The
//! floor reads the same files and parses them into trees, in the same run and in turns: the machine
//! may be noisy, and medians are compared.

#![allow(
    clippy::print_stdout,
    clippy::cast_precision_loss,
    reason = "a benchmark prints figures, and they need no more precision"
)]

use std::error::Error;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use codeteam_engine::built_in;
use codeteam_engine::config::{Config, ConfigOrigins};
use codeteam_engine::library::{Library, LibraryFolders};
use codeteam_workflow::yaml::{self, SourceFiles};

const ROLES: usize = 500;
const ROUNDS: usize = 41;
/// Milliseconds that all of it may take.
const GOAL: f64 = 50.0;

type LoadOutcome<T> = Result<T, Box<dyn Error>>;

fn main() -> LoadOutcome<()> {
    // `cargo test --all-targets` also runs this; figures are for `cargo bench`.
    if !std::env::args().any(|arg| arg == "--bench") {
        return Ok(());
    }
    let root = Path::new(env!("CARGO_TARGET_TMPDIR")).join("load-bench");
    let _ = fs::remove_dir_all(&root);
    let project = root.join(".codeteam");
    write(&project)?;
    let (mut floors, mut all, mut busy) = (Vec::new(), Vec::new(), Vec::new());
    let mut parts = [Vec::new(), Vec::new(), Vec::new()];
    for _ in 0..ROUNDS {
        let start = Instant::now();
        floor(&project)?;
        floors.push(ms(start));
        let (start, on_processor) = (Instant::now(), processor_ms());
        let (config, mut library) = read(&root)?;
        parts[0].push(ms(start));
        let resolving = Instant::now();
        resolve(&library)?;
        parts[1].push(ms(resolving));
        let building = Instant::now();
        build(&config, &mut library)?;
        parts[2].push(ms(building));
        all.push(ms(start));
        busy.push(processor_ms() - on_processor);
    }
    let (floor, all, busy) = (median(floors), median(all), median(busy));
    println!("{:<32} {floor:>8.2} ms", "the same files as trees only");
    let names = ["all read", "all roles resolved", "all workflows built"];
    for (name, times) in names.iter().zip(parts) {
        println!("{name:<32} {:>8.2} ms", median(times));
    }
    let verdict = if all <= GOAL { "ok" } else { "MISSED" };
    println!(
        "{:<32} {all:>8.2} ms  ratio {:>5.2}  goal {GOAL} ms  {verdict}  (processor {busy:.2} ms)",
        "all of it",
        all / floor,
    );
    fs::remove_dir_all(&root)?;
    Ok(())
}

/// A project with a configuration and chains of roles, each with a prompt of 1 to 2 KB.
fn write(project: &Path) -> LoadOutcome<()> {
    fs::create_dir_all(project.join("roles"))?;
    fs::write(
        project.join("config.yml"),
        "verification:\n  commands:\n    - { name: tests, command: make test }\nrules: [be exact]\n",
    )?;
    let bases = [
        "implementer",
        "reviewer",
        "planner",
        "coder",
        "test_engineer",
    ];
    for number in 0..ROLES {
        // Chains of five, each from a role that ships with codeteam.
        let parent = match number % 5 {
            0 => bases[number / 5 % bases.len()].to_owned(),
            _ => format!("role_{:03}", number - 1),
        };
        let mut text = format!(
            "description: The role of number {number}\nextends: {parent}\nworker: [claude, codex]\n\
             context:\n  include: [\"src/part_{number}/**\"]\n  exclude: [\"**/old_{number}/**\"]\n\
             allowed_tools: [read_file, edit_file]\nsystem_prompt_additions: |\n"
        );
        for line in 0..15 + number % 15 {
            writeln!(
                text,
                "  - Line {line} of what role {number} minds more than the others do."
            )?;
        }
        fs::write(project.join(format!("roles/role_{number:03}.yml")), text)?;
    }
    Ok(())
}

/// The same files, as trees.
fn floor(project: &Path) -> LoadOutcome<usize> {
    let mut read = 0;
    let mut parse = |text: &str| -> LoadOutcome<()> {
        let mut sources = SourceFiles::default();
        yaml::read(&mut sources, "file", text).map_err(|fault| fault.message)?;
        read += 1;
        Ok(())
    };
    parse(built_in::config())?;
    for folder in ["roles", "workflows"] {
        for (_, text) in built_in::folder(folder, ".yml") {
            parse(text)?;
        }
    }
    parse(&fs::read_to_string(project.join("config.yml"))?)?;
    let mut paths: Vec<PathBuf> = fs::read_dir(project.join("roles"))?
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<Result<_, _>>()?;
    paths.sort();
    for path in paths {
        parse(&fs::read_to_string(path)?)?;
    }
    Ok(read)
}

fn read(root: &Path) -> LoadOutcome<(Config, Library)> {
    let project = root.join(".codeteam");
    let origins = ConfigOrigins {
        project: Some(project.clone()),
        ..ConfigOrigins::default()
    };
    let (config, layers) = Config::load_with_layers(&origins)?;
    let places = LibraryFolders {
        user: None,
        project: Some((project, root.to_owned())),
    };
    let library = Library::read(places, layers.sources, config.roles.as_ref());
    Ok((config, library))
}

fn resolve(library: &Library) -> LoadOutcome<()> {
    let names = library.role_names();
    if names.len() < ROLES + 60 {
        return Err(format!("there are only {} roles", names.len()).into());
    }
    for name in names {
        library.resolve(name)?;
    }
    Ok(())
}

fn build(config: &Config, library: &mut Library) -> LoadOutcome<()> {
    for listed in library.workflows() {
        library.compile(&listed.name, config.surroundings())?;
    }
    Ok(())
}

fn ms(since: Instant) -> f64 {
    since.elapsed().as_secs_f64() * 1_000.0
}

/// Returns this thread's processor time: on a busy machine, less than has passed.
fn processor_ms() -> f64 {
    let said = fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanoseconds = said.split_whitespace().next();
    let nanoseconds = nanoseconds.and_then(|n| n.parse::<u64>().ok());
    nanoseconds.unwrap_or(0) as f64 / 1e6
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
