//! What it costs to read everything: what ships with codeteam, and a project with 500 roles.
//!
//! Files are read, put together in layers, every role is resolved and every workflow compiled. The
//! floor reads the same files and makes trees of them, in the same run and by turns: the machine
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

use codeteam_core::yaml::{self, Sources};
use codeteam_engine::built_in;
use codeteam_engine::config::{Config, Origins};
use codeteam_engine::library::{Library, Places};

const ROLES: usize = 500;
const ROUNDS: usize = 41;
/// Milliseconds that all of it may take.
const GOAL: f64 = 50.0;

type Outcome<T> = Result<T, Box<dyn Error>>;

fn main() -> Outcome<()> {
    // `cargo test --all-targets` also runs this; figures are for `cargo bench`.
    if !std::env::args().any(|arg| arg == "--bench") {
        return Ok(());
    }
    let root = Path::new(env!("CARGO_TARGET_TMPDIR")).join("load-bench");
    let _ = fs::remove_dir_all(&root);
    let project = root.join(".codeteam");
    write(&project)?;
    let (mut floors, mut ours, mut reads) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        floors.push(timed(|| floor(&project))?);
        reads.push(timed(|| {
            read(&root).map(|(_, library)| library.role_names().len())
        })?);
        ours.push(timed(|| all(&root))?);
    }
    let (floor, read, ours) = (median(floors), median(reads), median(ours));
    println!("{:<38} {floor:>8.2} ms", "the same files as trees only");
    println!("{:<38} {read:>8.2} ms", "configuration and roles read");
    let verdict = if ours <= GOAL { "ok" } else { "MISSED" };
    println!(
        "{:<38} {ours:>8.2} ms  ratio {:>5.2}  goal {GOAL} ms  {verdict}",
        "all roles resolved, all workflows built",
        ours / floor,
    );
    fs::remove_dir_all(&root)?;
    Ok(())
}

/// A project with a configuration and chains of roles, each with a prompt of 1 to 2 KB.
fn write(project: &Path) -> Outcome<()> {
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
fn floor(project: &Path) -> Outcome<usize> {
    let mut read = 0;
    let mut parse = |text: &str| -> Outcome<()> {
        let mut sources = Sources::default();
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

fn read(root: &Path) -> Outcome<(Config, Library)> {
    let project = root.join(".codeteam");
    let origins = Origins {
        project: Some(project.clone()),
        ..Origins::default()
    };
    let (config, layers) = Config::layers(&origins)?;
    let places = Places {
        user: None,
        project: Some((project, root.to_owned())),
    };
    let library = Library::read(places, layers.sources, config.roles.as_ref());
    Ok((config, library))
}

/// Everything there is, as it would be used.
fn all(root: &Path) -> Outcome<usize> {
    let (config, mut library) = read(root)?;
    let mut made = 0;
    for name in library.role_names() {
        library.resolve(name)?;
        made += 1;
    }
    for listed in library.workflows() {
        library.compile(&listed.name, config.surroundings())?;
        made += 1;
    }
    if made < ROLES + 70 {
        return Err(format!("only {made} things were made").into());
    }
    Ok(made)
}

fn timed<T>(work: impl FnOnce() -> Outcome<T>) -> Outcome<f64> {
    let start = Instant::now();
    let made = work()?;
    let took = start.elapsed().as_secs_f64() * 1_000.0;
    drop(made);
    Ok(took)
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
