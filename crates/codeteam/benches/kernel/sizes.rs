//! One step in repositories of different sizes, against a floor that keeps its work tree.
//!
//! Each repository is used before anything is measured, so that work trees are there to be kept, as
//! in the second run of a day. What the first step costs is printed too.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use crate::{Outcome, many_tasks, median, must, report};

const ROUNDS: usize = 3;
const STEPS: usize = 8;

/// The generated repositories: ten files, as many as django has, and a large one.
const SIZES: [usize; 3] = [10, 7_000, 30_000];

/// The seconds that a confined step took in Django before work trees were kept. A tenth of it is the
/// goal for a repository of that size.
const BEFORE_TREES_WERE_KEPT: f64 = 6.8;

/// The seconds of one step.
struct StepTimes {
    /// The floor that keeps its work tree.
    floor: f64,
    bare: f64,
    confined: f64,
}

/// Measures the generated repositories, or the clones instead of all but the smallest.
pub(crate) fn measure(folder: &Path, clones: &[PathBuf]) -> Outcome<()> {
    let mut all: Vec<(String, StepTimes)> = Vec::new();
    for (at, size) in SIZES.into_iter().enumerate() {
        let place = folder.join(format!("size-{at}"));
        fs::create_dir_all(&place)?;
        let origin = place.join("origin");
        let clone = at.checked_sub(1).and_then(|at| clones.get(at));
        let name = if let Some(clone) = clone {
            let copy = ["clone", "--quiet", "--no-local"];
            must(Command::new("git").args(copy).arg(clone).arg(&origin))?;
            clone.display().to_string()
        } else {
            generate(&origin, size)?;
            format!("{size} files")
        };
        let times = steps(&place, &origin, &name)?;
        println!(
            "{name}: floor that keeps its tree {:.1} ms, bare {:.1} ms, confined {:.1} ms",
            times.floor * 1e3,
            times.bare * 1e3,
            times.confined * 1e3,
        );
        // In ten files, what a step costs apart from its files decides: `kernel` has goals for that.
        if at > 0 {
            let against = times.confined / times.floor;
            report("  confined, floors", against, "x", 1.2 / against, 1.0);
        }
        if at == 1 {
            let tenth = BEFORE_TREES_WERE_KEPT / 10.0;
            let ratio = tenth / times.confined;
            report("  a tenth of 6.8 s", times.confined * 1e3, "ms", ratio, 1.0);
        }
        fs::remove_dir_all(&place)?;
        all.push((name, times));
    }
    let (Some((_, small)), Some((name, large))) = (all.first(), all.last()) else {
        return Ok(());
    };
    for (kind, small, large) in [
        ("bare", small.bare, large.bare),
        ("confined", small.confined, large.confined),
    ] {
        let label = format!("{kind}, {name} : 10 files");
        report(&label, large / small, "x", 2.0 * small / large, 1.0);
    }
    Ok(())
}

fn steps(place: &Path, origin: &Path, name: &str) -> Outcome<StepTimes> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../benches/floor.sh");
    let floor = |count: usize| {
        let start = Instant::now();
        must(
            Command::new(&script)
                .arg(origin)
                .arg(place.join("worktree"))
                .arg(count.to_string())
                .arg("keep"),
        )?;
        Outcome::Ok(start.elapsed().as_secs_f64() / count as f64)
    };
    let ours = |kind: &str, count: usize, more: &[&str]| {
        let place = place.join(kind);
        let repo = place.join("repository");
        if !repo.exists() {
            fs::create_dir_all(&place)?;
            let clone = ["clone", "--quiet", "--no-local"];
            must(Command::new("git").args(clone).arg(origin).arg(&repo))?;
            let git = |args: &[&str]| must(Command::new("git").arg("-C").arg(&repo).args(args));
            git(&["config", "user.name", "bench"])?;
            git(&["config", "user.email", "b@example.org"])?;
        }
        let run = many_tasks(&place, &repo, count, more)?;
        Outcome::Ok(run.seconds / count as f64)
    };
    let first = [
        floor(1)?,
        ours("bare", 2, &["--no-sandbox"])?,
        ours("confined", 2, &[])?,
    ];
    println!(
        "{name}: the first steps, floor {:.1} ms, bare {:.1} ms, confined {:.1} ms",
        first[0] * 1e3,
        first[1] * 1e3,
        first[2] * 1e3
    );
    let (mut floors, mut bare, mut confined) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        floors.push(floor(STEPS)?);
        bare.push(ours("bare", STEPS, &["--no-sandbox"])?);
        confined.push(ours("confined", STEPS, &[])?);
    }
    Ok(StepTimes {
        floor: median(floors),
        bare: median(bare),
        confined: median(confined),
    })
}

/// Makes a repository of so many files, seven in a folder and some 4 KB each, in one pack.
fn generate(repo: &Path, files: usize) -> Outcome<()> {
    for n in 0..files {
        let folder = repo.join(format!("part{}/module{}", n / 280, n / 7));
        if n % 7 == 0 {
            fs::create_dir_all(&folder)?;
        }
        let line = |at: usize| format!("def function_{n}_{at}(argument):\n    return {}\n", n * at);
        let text: String = (0..85).map(line).collect();
        fs::write(folder.join(format!("file{n}.py")), text)?;
    }
    let git = |args: &[&str]| must(Command::new("git").arg("-C").arg(repo).args(args));
    git(&["init", "--quiet", "--initial-branch=main"])?;
    git(&["config", "user.name", "bench"])?;
    git(&["config", "user.email", "b@example.org"])?;
    git(&["add", "-A"])?;
    git(&["commit", "--quiet", "-m", "first"])?;
    git(&["repack", "-adq", "--window=0"])?;
    git(&["prune-packed", "--quiet"])
}
