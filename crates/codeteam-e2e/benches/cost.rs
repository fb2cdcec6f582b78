//! What one task costs: a one-line fix in two real packages, by bare `claude -p` and by codeteam's
//! workflows round the same claude, with the same scripted model. Requests, bytes that are sent to
//! the model, wall time and set-ups.
//!
//! `cargo bench -p codeteam-e2e --bench cost -- [--codeteam PROGRAM] [--rounds N]`; without a program,
//! the codeteam that was built beside the benchmark. Everybody takes turns, and medians are compared.
//! The model answers at once: with a real one, the ratios of times are smaller.

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
use std::time::Instant;

use codeteam_e2e::{ModelServer, Scenario};

use self::packages::{BrokenPackage, PACKAGES, count_set_ups, must};

type Outcome<T> = Result<T, Box<dyn Error>>;

/// How many times each is measured, after a first time that fills caches.
const ROUNDS: usize = 5;

/// Whoever is asked for the fix, and how many times the bytes and the time of the first it may take.
struct Contender {
    name: &'static str,
    workflow: Option<&'static str>,
    goal: Option<f64>,
}

const CONTENDERS: [Contender; 4] = [
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
];

const HEADER: &str =
    "               requests       KB  times  seconds  times  set-ups: first run, later";

/// What one fix has cost.
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
    let bench = CostBench::new(said("--codeteam").map(PathBuf::from))?;
    for package in &PACKAGES {
        bench.compare(package, rounds)?;
    }
    Ok(())
}

/// Where everything is.
struct CostBench {
    folder: tempfile::TempDir,
    peers: PathBuf,
    venv: PathBuf,
    codeteam: PathBuf,
    /// Says that making the failing test pass is the goal, to a codeteam that asks.
    baseline: Vec<&'static str>,
    clis: PathBuf,
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
        let venv = packages::environment(&peers)?;
        let help = Command::new(&codeteam).args(["run", "--help"]).output()?;
        let asks = String::from_utf8_lossy(&help.stdout).contains("--baseline");
        let baseline = if asks {
            vec!["--baseline", "must_pass"]
        } else {
            Vec::new()
        };
        Ok(Self {
            baseline,
            folder: tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR"))?,
            peers,
            venv,
            codeteam: codeteam.canonicalize()?,
            clis,
        })
    }

    /// Has everybody mend a package by turns, and prints what it cost.
    fn compare(&self, package: &BrokenPackage, rounds: usize) -> Outcome<()> {
        let homes: Vec<PathBuf> = CONTENDERS
            .iter()
            .map(|contender| self.home(package, contender))
            .collect::<Outcome<_>>()?;
        let mut costs: Vec<Vec<FixCost>> = vec![Vec::new(); CONTENDERS.len()];
        for _ in 0..=rounds {
            for ((contender, home), costs) in CONTENDERS.iter().zip(&homes).zip(&mut costs) {
                let scenario = package.scenario(&self.venv);
                costs.push(self.mend(package, contender, home, scenario)?);
            }
        }
        println!(
            "\n{}: one line mended, medians of {rounds}\n{HEADER}",
            package.name
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

    /// Has one of them mend the package, from the start of the program to its end.
    fn mend(
        &self,
        package: &BrokenPackage,
        contender: &Contender,
        home: &Path,
        scenario: Scenario,
    ) -> Outcome<FixCost> {
        let server = ModelServer::start(scenario)?;
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
        self.surround(&mut command, home, &server)?;
        let start = Instant::now();
        let output = command.current_dir(&repo).output()?;
        let seconds = start.elapsed().as_secs_f64();
        let said = String::from_utf8_lossy(&output.stdout).into_owned()
            + &String::from_utf8_lossy(&output.stderr);
        if !output.status.success() {
            return Err(format!("{} did not mend it: {said}", contender.name).into());
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
    fn surround(&self, command: &mut Command, home: &Path, server: &ModelServer) -> Outcome<()> {
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

/// Git as somebody whom nobody's configuration concerns.
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
