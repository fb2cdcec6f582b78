//! Writes down which functions a session needs, for the linker to lay them beside each other.
//!
//! `cargo build --release -p codeteam && cargo run -p codeteam-e2e --example order`. The released
//! codeteam leads a session under valgrind, a little further each time, and every function goes with
//! the first part of a session that ran it. The result is `crates/codeteam/order.txt`, which
//! `crates/codeteam/build.rs` reads.

#![allow(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "it says what it did, and starts processes"
)]

#[allow(dead_code, reason = "a benchmark measures by it as well")]
#[path = "../../benches/mcp/client.rs"]
mod client;
mod names;

use std::collections::BTreeSet;
use std::error::Error;
use std::fs;
use std::path::Path;
use std::process::Command;

use self::client::Client;
use self::names::Program;

type Outcome<T> = Result<T, Box<dyn Error>>;

const HEAD: &str = "\
# The functions that run while a session is led, under the part of it that needs them first. After a
# name are the hashes of the functions that are meant; without any, all of that name are.
#
# Made by `cargo run -p codeteam-e2e --example order`; see docs/decisions/0031-functions-in-order.md.
";

/// A part of a session: its name, and what is asked in it, which are methods and tools.
type Part = (&'static str, &'static [(&'static str, &'static str)]);

const CHANGE: (&str, &str) = (
    "submit",
    r#"{"submission":{"summary":"Said it.","files_changed":["hello.txt"],"proof":"$ cat hello.txt"}}"#,
);
const NO: (&str, &str) = (
    "submit",
    r#"{"submission":{"approved":false,"reason":"not shown","issues":["no greeting"]}}"#,
);
const YES: (&str, &str) = (
    "submit",
    r#"{"submission":{"approved":true,"reason":"the check ran it"}}"#,
);

const PARTS: [Part; 4] = [
    ("to its first answer", &[]),
    (
        "asked what it can do, and how things stand",
        &[
            ("tools/list", "{}"),
            ("prompts/list", "{}"),
            ("resources/list", "{}"),
            ("get_status", "{}"),
        ],
    ),
    (
        "a task is started",
        &[
            ("start_task", r#"{"task":"say hello in hello.txt"}"#),
            ("get_status", "{}"),
        ],
    ),
    (
        "and completed",
        &[
            ("submit", r#"{"submission":{"questions":["To whom?"]}}"#),
            ("resume", r#"{"input":"To all."}"#),
            ("submit", r#"{"submission":{"design":"One file."}}"#),
            CHANGE,
            NO,
            CHANGE,
            YES,
            YES,
            ("get_history", "{}"),
        ],
    ),
];

fn main() -> Outcome<()> {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    let codeteam = own
        .join("../../target/release/codeteam")
        .canonicalize()
        .map_err(|_| "build codeteam first: cargo build --release -p codeteam")?;
    let place = tempfile::tempdir()?;
    let mut ran = BTreeSet::new();
    let mut parts = Vec::new();
    for (index, (name, _)) in PARTS.iter().enumerate() {
        let folder = place.path().join(index.to_string());
        let all = functions(&codeteam, &folder, &PARTS[..=index])?;
        let new: BTreeSet<String> = all.difference(&ran).cloned().collect();
        println!("{name}: {} functions", new.len());
        ran.extend(new.iter().cloned());
        parts.push((*name, new));
    }
    let program = Program::read(&codeteam)?;
    let order = own.join("../codeteam/order.txt");
    fs::write(&order, format!("{HEAD}{}", program.order(&parts, &ran)))?;
    println!("written: {}", order.canonicalize()?.display());
    Ok(())
}

/// The functions that run in a session of these parts.
fn functions(codeteam: &Path, folder: &Path, parts: &[Part]) -> Outcome<BTreeSet<String>> {
    let project = folder.join("project");
    repository(&project)?;
    let recorded = folder.join("recorded");
    let command = [
        "valgrind",
        "--tool=callgrind",
        "--demangle=no",
        "--compress-strings=no",
        &format!("--callgrind-out-file={}.%p", recorded.display()),
        &codeteam.display().to_string(),
        "mcp",
    ];
    let (mut client, _) = Client::start(&command.map(str::to_owned), &project)?;
    for said in parts.iter().flat_map(|(_, said)| *said) {
        if *said == CHANGE {
            let file = project.join("hello.txt");
            let before = fs::read_to_string(&file).unwrap_or_default();
            fs::write(file, before + "hello\n")?;
        }
        let (what, with) = said;
        if what.contains('/') {
            client.ask(what, with)?;
        } else {
            client.call(what, with)?;
        }
    }
    client.end()?;
    let mut found = BTreeSet::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_file() {
            found.extend(names::recorded(&fs::read_to_string(path)?));
        }
    }
    Ok(found)
}

/// A small project with a check and one commit.
fn repository(folder: &Path) -> Outcome<()> {
    fs::create_dir_all(folder.join(".codeteam"))?;
    fs::write(folder.join("README.md"), "# A project\n")?;
    fs::write(
        folder.join(".codeteam/config.yml"),
        "verification:\n  commands:\n    - { name: tests, command: grep -q hello hello.txt }\n",
    )?;
    for args in [
        &["init", "-q", "-b", "main"][..],
        &["config", "user.name", "Order"],
        &["config", "user.email", "order@example.com"],
        &["add", "-A"],
        &["commit", "-q", "-m", "start"],
    ] {
        let done = Command::new("git")
            .args(args)
            .current_dir(folder)
            .status()?;
        if !done.success() {
            return Err(format!("git {args:?} failed").into());
        }
    }
    Ok(())
}
