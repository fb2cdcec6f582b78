//! Measures the cost of one task: a one-line fix in two real packages, by bare `claude -p` and by
//! codeteam's workflows around the same claude, with the same scripted model. It counts requests,
//! bytes sent to the model, wall time and set-ups.
//!
//! `cargo bench -p codeteam-e2e --bench cost -- [--codeteam PROGRAM] [--rounds N] [--thinking MS]`;
//! without a program, the codeteam that was built beside the benchmark. The contenders take turns,
//! and medians are compared. The model takes `--thinking` milliseconds for each answer. Without it,
//! the model answers at once, which no real one does: it shows what codeteam itself takes.

#![allow(
    clippy::print_stdout,
    clippy::cast_precision_loss,
    clippy::disallowed_methods,
    missing_docs,
    reason = "a benchmark prints figures, starts processes and needs no more precision"
)]

#[path = "cost/packages.rs"]
mod packages;

use std::error::Error;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use codeteam_e2e::{ModelServer, Scenario, ServerOptions};

use self::packages::{BrokenPackage, PACKAGES, count_set_ups, must};

type Outcome<T> = Result<T, Box<dyn Error>>;

/// The number of measurements of each, after a first one that fills caches.
const ROUNDS: usize = 5;

/// A contender that makes the fix, and the most that it may take of the bytes and the time of the
/// first one.
struct Contender {
    name: &'static str,
    workflow: Option<&'static str>,
    goal: Option<f64>,
}

const CONTENDERS: [Contender; 5] = [
    Contender {
        name: "bare claude",
        workflow: None,
        goal: None,
    },
    Contender {
        name: "solo",
        workflow: Some("solo"),
        goal: Some(1.5),
    },
    Contender {
        name: "lean",
        workflow: Some("lean"),
        goal: None,
    },
    Contender {
        name: "codeteam",
        workflow: Some("codeteam"),
        goal: Some(3.0),
    },
    Contender {
        name: "team",
        workflow: Some("team"),
        goal: None,
    },
];

const HEADER: &str =
    "               requests       KB  times  seconds  times  set-ups: first run, later";

/// The cost of one fix.
#[derive(Clone, Copy, Default)]
struct FixCost {
    requests: f64,
    bytes: f64,
    seconds: f64,
    set_ups: f64,
}

fn main() -> Outcome<()> {
    // `cargo test --all-targets` also runs this; figures are for `cargo bench`.
    let args: Vec<String> = std::env::args().skip(1).collect();
    if !args.iter().any(|arg| arg == "--bench") {
        return Ok(());
    }
    let said = |name: &str| {
        let at = args.iter().position(|arg| arg == name)?;
        args.get(at + 1).cloned()
    };
    let rounds = said("--rounds").map_or(Ok(ROUNDS), |n| n.parse())?;
    let thinking = said("--thinking").map_or(Ok(0), |ms| ms.parse())?;
    let mut bench = CostBench::new(said("--codeteam").map(PathBuf::from))?;
    bench.thinking_time = Duration::from_millis(thinking);
    for package in &PACKAGES {
        bench.compare(package, rounds)?;
    }
    Ok(())
}

/// The paths and programs of the benchmark.
struct CostBench {
    folder: tempfile::TempDir,
    peers: PathBuf,
    venv: PathBuf,
    codeteam: PathBuf,
    /// Says that making the failing test pass is the goal, to a codeteam that asks.
    baseline: Vec<&'static str>,
    clis: PathBuf,
    /// The time that the model takes for each answer.
    thinking_time: Duration,
}

impl CostBench {
    fn new(codeteam: Option<PathBuf>) -> Outcome<Self> {
        let own = std::env::current_exe()?;
        let built = own.parent().and_then(Path::parent).ok_or("no folder")?;
        let codeteam = codeteam.unwrap_or_else(|| built.join("codeteam"));
        let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent();
        let workspace = crates.and_then(Path::parent).ok_or("no workspace")?;
        let clis = workspace.join("target/clis/bin");
        if !codeteam.is_file() || !clis.is_dir() {
            return Err("first `cargo build --release -p codeteam` and `./clis`".into());
        }
        let peers = workspace.join("target/peers");
        fs::create_dir_all(&peers)?;
        let venv = packages::create_environment(&peers)?;
        let help = Command::new(&codeteam).args(["run", "--help"]).output()?;
        let asks = String::from_utf8_lossy(&help.stdout).contains("--baseline");
        let baseline = if asks {
            vec!["--baseline", "must_pass"]
        } else {
            Vec::new()
        };
        Ok(Self {
            baseline,
            thinking_time: Duration::ZERO,
            folder: tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR"))?,
            peers,
            venv,
            codeteam: codeteam.canonicalize()?,
            clis,
        })
    }

    /// Lets every contender fix a package in turn, and prints the costs.
    fn compare(&self, package: &BrokenPackage, rounds: usize) -> Outcome<()> {
        let homes: Vec<PathBuf> = CONTENDERS
            .iter()
            .map(|contender| self.home(package, contender))
            .collect::<Outcome<_>>()?;
        let mut costs: Vec<Vec<FixCost>> = vec![Vec::new(); CONTENDERS.len()];
        for _ in 0..=rounds {
            for ((contender, home), costs) in CONTENDERS.iter().zip(&homes).zip(&mut costs) {
                let scenario = package.scenario(&self.venv);
                costs.push(self.run_fix(package, contender, home, scenario)?);
            }
        }
        println!(
            "\n{}: one line fixed, {} ms for each answer, medians of {rounds}\n{HEADER}",
            package.name,
            self.thinking_time.as_millis()
        );
        let bare = median(&costs[0]);
        for (contender, costs) in CONTENDERS.iter().zip(&costs) {
            report(contender, bare, costs[0], median(costs));
        }
        Ok(())
    }

    /// A home with a repository of its own.
    fn home(&self, package: &BrokenPackage, contender: &Contender) -> Outcome<PathBuf> {
        let name = contender.workflow.unwrap_or("bare");
        let home = self.folder.path().join(format!("{}-{name}", package.name));
        let config = home.join(".config/codeteam");
        fs::create_dir_all(&config)?;
        fs::write(config.join("config.yml"), package.config(&self.venv))?;
        package.repository(&self.peers, &home.join("repo"))?;
        Ok(home)
    }

    /// Lets one of them fix the package, from the start of the program to its end.
    fn run_fix(
        &self,
        package: &BrokenPackage,
        contender: &Contender,
        home: &Path,
        scenario: Scenario,
    ) -> Outcome<FixCost> {
        let options = ServerOptions {
            thinking_time: self.thinking_time,
            ..ServerOptions::default()
        };
        let server = ModelServer::start_with(scenario, options)?;
        let repo = home.join("repo");
        must(git(&repo).args(["checkout", "--quiet", "--force", "main"]))?;
        let mut command = match contender.workflow {
            None => Command::new(self.clis.join("claude")),
            Some(_) => Command::new(&self.codeteam),
        };
        match contender.workflow {
            None => command
                .args(["--print", "--verbose", "--output-format", "stream-json"])
                .args(["--permission-mode", "bypassPermissions", package.goal])
                .envs([
                    ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
                    ("DISABLE_AUTOUPDATER", "1"),
                    ("IS_SANDBOX", "1"),
                ]),
            Some(workflow) => command
                .args(["run", package.goal, "--auto", "--verbose"])
                .args(["--worker", "claude", "--workflow", workflow])
                .args(&self.baseline),
        };
        self.set_environment(&mut command, home, &server)?;
        let start = Instant::now();
        let output = command.current_dir(&repo).output()?;
        let seconds = start.elapsed().as_secs_f64();
        let said = String::from_utf8_lossy(&output.stdout).into_owned()
            + &String::from_utf8_lossy(&output.stderr);
        if !output.status.success() {
            return Err(format!("{} did not fix it: {said}", contender.name).into());
        }
        let asked = server.requests().to_models();
        if let Some(problem) = asked.iter().find_map(|request| request.problem.clone()) {
            return Err(format!("{}: {problem}", contender.name).into());
        }
        let bytes = asked.iter().map(|request| request.body.to_string().len());
        Ok(FixCost {
            requests: asked.len() as f64,
            bytes: bytes.sum::<usize>() as f64,
            seconds,
            set_ups: count_set_ups(&said) as f64,
        })
    }

    /// The variables of a user with a key whose API is the server, and with no way to anywhere else.
    fn set_environment(
        &self,
        command: &mut Command,
        home: &Path,
        server: &ModelServer,
    ) -> Outcome<()> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let all = [self.clis.clone()].into_iter();
        let path: OsString = std::env::join_paths(all.chain(std::env::split_paths(&path)))?;
        command
            .env("PATH", path)
            .env("HOME", home)
            .env("USER", "bench")
            .env("ANTHROPIC_API_KEY", "sk-dummy")
            .env("ANTHROPIC_BASE_URL", server.base_url())
            .env("NO_PROXY", "localhost,127.0.0.1,::1")
            .stdin(Stdio::null());
        for name in [
            "XDG_CONFIG_HOME",
            "XDG_STATE_HOME",
            "XDG_CACHE_HOME",
            "CODETEAM_CONFIG",
        ] {
            command.env_remove(name);
        }
        for name in ["GIT_AUTHOR", "GIT_COMMITTER"] {
            command.env(format!("{name}_NAME"), "bench");
            command.env(format!("{name}_EMAIL"), "bench@localhost");
        }
        Ok(())
    }
}

/// Returns git without the configuration of the user or the machine.
fn git(at: &Path) -> Command {
    let mut git = Command::new("git");
    git.args(["-c", "user.name=bench", "-c", "user.email=bench@localhost"])
        .current_dir(at);
    git
}

fn report(contender: &Contender, bare: FixCost, first: FixCost, cost: FixCost) {
    let (bytes, time) = (cost.bytes / bare.bytes, cost.seconds / bare.seconds);
    let verdict = match contender.goal {
        None => String::new(),
        Some(goal) => {
            let met = |ratio: f64| if ratio <= goal { "ok" } else { "MISSED" };
            format!(
                "  goal {goal} times: bytes {}, time {}",
                met(bytes),
                met(time)
            )
        }
    };
    println!(
        "  {:<12} {:>8} {:>8.0} {bytes:>6.2} {:>8.2} {time:>6.2}  {}, {}{verdict}",
        contender.name,
        cost.requests,
        cost.bytes / 1e3,
        cost.seconds,
        first.set_ups,
        cost.set_ups
    );
}

/// The middle of every figure, the first round left out.
fn median(costs: &[FixCost]) -> FixCost {
    let later = if costs.len() > 1 { &costs[1..] } else { costs };
    let middle = |figure: fn(&FixCost) -> f64| {
        let mut figures: Vec<f64> = later.iter().map(figure).collect();
        figures.sort_by(f64::total_cmp);
        figures[figures.len() / 2]
    };
    FixCost {
        requests: middle(|cost| cost.requests),
        bytes: middle(|cost| cost.bytes),
        seconds: middle(|cost| cost.seconds),
        set_ups: middle(|cost| cost.set_ups),
    }
}
