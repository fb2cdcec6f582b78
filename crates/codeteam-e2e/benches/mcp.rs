//! Measures how long a session waits for `get_status`, compared with an echo by the SDKs that
//! others build on.
//!
//! `cargo build --release -p codeteam && cargo bench -p codeteam-e2e --bench mcp`. The same client
//! writes a line to each server and reads one. Python's and TypeScript's SDK are installed below
//! `target/peers-mcp`, at the versions below; the bare `rmcp` is this program itself, with one
//! tool. The servers take turns, a few hundred calls at a time. Then each is called once a second,
//! as clients call.

#![allow(
    clippy::print_stdout,
    clippy::cast_precision_loss,
    clippy::disallowed_methods,
    clippy::unwrap_used,
    missing_docs,
    reason = "a benchmark prints figures, starts processes and needs no more precision"
)]

#[path = "mcp/client.rs"]
mod client;
#[path = "mcp/echo.rs"]
mod echo;
#[path = "mcp/peers.rs"]
mod peers;

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use self::client::StdioClient;

type Outcome<T> = Result<T, Box<dyn Error>>;

/// The number of starts of each server.
const STARTS: usize = 9;
/// The number of turns, and the number of calls in each.
const TURNS: usize = 10;
const CALLS: usize = 300;
/// The number of single calls after that, and the time between them.
const SINGLE: usize = 15;
const APART: Duration = Duration::from_millis(1_100);

/// A server, and what is asked of it.
struct BenchedServer {
    name: &'static str,
    command: Vec<String>,
    folder: PathBuf,
    tool: &'static str,
    /// Whether a task is open during the measurement.
    with_task: bool,
}

/// The figures of one server.
struct ServerFigures {
    start: Duration,
    p50: Duration,
    p99: Duration,
    /// The median of calls that come one by one.
    single: Duration,
    /// Megabytes of memory in which a page that several processes map counts as a part of each (PSS).
    shared: f64,
    /// Megabytes without what is only mapped from files: the program itself, and libraries.
    private: f64,
}

fn main() -> Outcome<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if let Some(how) = args.iter().find(|arg| arg.starts_with("--echo")) {
        return echo::serve(how == "--echo-pipes");
    }
    // `cargo test --all-targets` also runs this; figures are for `cargo bench`.
    if !args.iter().any(|arg| arg == "--bench") {
        return Ok(());
    }
    let place = std::env::temp_dir().join("codeteam-mcp-bench");
    let _ = fs::remove_dir_all(&place);
    for project in ["idle", "busy"] {
        repository(&place.join(project))?;
    }
    let servers = servers(&place)?;
    let mut measured = Vec::new();
    let mut clients = Vec::new();
    for server in &servers {
        let mut starts = Vec::new();
        for _ in 0..STARTS {
            let (client, took) = StdioClient::start(&server.command, &server.folder)?;
            starts.push(took);
            client.end()?;
        }
        let (mut client, took) = StdioClient::start(&server.command, &server.folder)?;
        starts.push(took);
        if server.with_task {
            client.call("start_task", r#"{"task":"say hello in hello.txt"}"#)?;
        }
        for _ in 0..CALLS {
            client.call(server.tool, "{}")?;
        }
        measured.push((median(&mut starts), Vec::new()));
        clients.push(client);
    }
    for _ in 0..TURNS {
        for ((server, client), (_, took)) in servers.iter().zip(&mut clients).zip(&mut measured) {
            for _ in 0..CALLS {
                took.push(client.call(server.tool, "{}")?);
            }
        }
    }
    let mut single = vec![Vec::new(); servers.len()];
    for _ in 0..SINGLE {
        std::thread::sleep(APART);
        for ((server, client), took) in servers.iter().zip(&mut clients).zip(&mut single) {
            took.push(client.call(server.tool, "{}")?);
        }
    }
    let mut figures = Vec::new();
    for (((start, mut took), mut single), client) in measured.into_iter().zip(single).zip(clients) {
        took.sort_unstable();
        let shared = client.megabytes("smaps_rollup", "Pss:")?;
        let private = client.megabytes("status", "RssAnon:")?;
        client.end()?;
        figures.push(ServerFigures {
            start,
            p50: took[took.len() / 2],
            p99: took[took.len() * 99 / 100],
            single: median(&mut single),
            shared,
            private,
        });
    }
    show(&servers, &figures);
    Ok(fs::remove_dir_all(&place)?)
}

/// A small project with one commit.
fn repository(folder: &Path) -> Outcome<()> {
    fs::create_dir_all(folder)?;
    fs::write(folder.join("README.md"), "# A project\n")?;
    for args in [
        &["init", "-q", "-b", "main"][..],
        &["config", "user.name", "Bench"],
        &["config", "user.email", "bench@example.com"],
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

fn servers(place: &Path) -> Outcome<Vec<BenchedServer>> {
    let codeteam = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/release/codeteam");
    let codeteam = codeteam
        .canonicalize()
        .map_err(|_| "build codeteam first: cargo build --release -p codeteam".to_owned())?;
    let codeteam = codeteam.display().to_string();
    let own = std::env::current_exe()?.display().to_string();
    let peers = peers::install()?;
    let server = |name, command: &[&str], tool, folder: PathBuf, with_task| BenchedServer {
        name,
        command: command.iter().map(|word| (*word).to_owned()).collect(),
        folder,
        tool,
        with_task,
    };
    let elsewhere = std::env::temp_dir;
    Ok(vec![
        server("bare rmcp", &[&own, "--echo"], "echo", elsewhere(), false),
        server(
            "bare rmcp, pipes",
            &[&own, "--echo-pipes"],
            "echo",
            elsewhere(),
            false,
        ),
        server(
            "codeteam, no task",
            &[&codeteam, "mcp"],
            "get_status",
            place.join("idle"),
            false,
        ),
        server(
            "codeteam, a task",
            &[&codeteam, "mcp"],
            "get_status",
            place.join("busy"),
            true,
        ),
        server(
            "Python SDK",
            &[&peers.python, &peers.echo_py],
            "echo",
            elsewhere(),
            false,
        ),
        server(
            "TypeScript SDK",
            &["node", &peers.echo_mjs],
            "echo",
            elsewhere(),
            false,
        ),
    ])
}

fn median(all: &mut [Duration]) -> Duration {
    all.sort_unstable();
    all[all.len() / 2]
}

fn show(servers: &[BenchedServer], figures: &[ServerFigures]) {
    let ms = |time: Duration| time.as_secs_f64() * 1e3;
    println!(
        "{:<20} {:>10} {:>9} {:>9} {:>9} {:>8} {:>10}",
        "", "start ms", "p50 ms", "p99 ms", "single ms", "PSS MB", "private MB"
    );
    for (server, f) in servers.iter().zip(figures) {
        println!(
            "{:<20} {:>10.1} {:>9.3} {:>9.3} {:>9.3} {:>8.1} {:>10.1}",
            server.name,
            ms(f.start),
            ms(f.p50),
            ms(f.p99),
            ms(f.single),
            f.shared,
            f.private
        );
    }
    let [bare, pipes, idle, task, python, typescript] = figures else {
        return;
    };
    let goal = |what: &str, ratio: f64, is_met: bool| {
        let word = if is_met { "ok" } else { "MISSED" };
        println!("{word:<7}{what}: {ratio:.2}");
    };
    let ratio = |a: Duration, b: Duration| a.as_secs_f64() / b.as_secs_f64();
    for (name, own) in [("no task", idle), ("a task", task)] {
        println!("\n{name}");
        let p50 = ratio(own.p50, bare.p50);
        goal("p50 against bare rmcp, at most 2", p50, p50 <= 2.0);
        let p50 = ratio(own.p50, pipes.p50);
        goal("p50 against bare rmcp on pipes, at most 2", p50, p50 <= 2.0);
        let single = ratio(own.single, bare.single);
        goal(
            "single calls against bare rmcp, at most 2",
            single,
            single <= 2.0,
        );
        let p50 = ratio(python.p50, own.p50);
        goal("p50, times faster than Python, at least 4", p50, p50 >= 4.0);
        let p99 = ratio(own.p99, typescript.p99);
        goal("p99 against TypeScript, below 1", p99, p99 < 1.0);
        for (name, peer) in [("Python", python), ("TypeScript", typescript)] {
            let start = ratio(peer.start, own.start);
            let what = format!("start, times faster than {name}, at least 20");
            goal(&what, start, start >= 20.0);
            let memory = own.shared / peer.shared;
            let what = format!("PSS against {name}, at most 0.2");
            goal(&what, memory, memory <= 0.2);
            let private = own.private / peer.private;
            let what = format!("private memory against {name}, at most 0.2");
            goal(&what, private, private <= 0.2);
        }
    }
}
