//! Measures how often the rules of honesty fire on honest work: over the newest commits of real
//! repositories, each as if it were the change of a task that names no files.
//!
//! `cargo bench -p codeteam-engine --bench honesty -- REPOSITORY…` prints, by rule, how many
//! commits would fail and how many would only be reported. `--show RULE` prints the findings.

#![expect(clippy::print_stdout, reason = "a program for people")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use codeteam_context::redact::Redactor;
use codeteam_core::workflow::HonestyRule;
use codeteam_engine::config::{Config, ConfigOrigins};
use codeteam_host::git::{GitEnvironment, GitProgram, Oid, Repo, TreeDiff};
use codeteam_verify::honesty::{HardCodedAnswers, HonestySubject, check_hard_coded, check_rule};
use codeteam_verify::proof::TestPatterns;
use codeteam_verify::{ChangeSet, CheckFindings, FileVersion};

/// The number of commits of each repository.
const COMMITS: usize = 200;
/// The rules that need nothing but a change.
const RULES: [HonestyRule; 5] = [
    HonestyRule::TestsKept,
    HonestyRule::GateKept,
    HonestyRule::Secrets,
    HonestyRule::Stubs,
    HonestyRule::HardCoded,
];

type BenchFailure = Box<dyn std::error::Error>;

fn main() -> Result<(), BenchFailure> {
    let mut arguments = std::env::args().skip(1).filter(|word| word != "--bench");
    let (mut repositories, mut shown) = (Vec::new(), None);
    while let Some(word) = arguments.next() {
        if word == "--show" {
            shown = arguments.next();
        } else {
            repositories.push(PathBuf::from(word));
        }
    }
    let tests = Config::load(&ConfigOrigins::default())?;
    let tests = TestPatterns::new(&tests.verification.test_paths);
    for repository in repositories {
        measure(&repository, &tests, shown.as_deref())?;
    }
    Ok(())
}

fn measure(path: &Path, tests: &TestPatterns, shown: Option<&str>) -> Result<(), BenchFailure> {
    let environment = GitEnvironment {
        path: "/usr/local/bin:/usr/bin:/bin".into(),
        home: None,
        xdg_config_home: None,
        codeteam: None,
    };
    let repo = Repo::find(&GitProgram::new(environment)?, path)?;
    let tip = repo.resolve("HEAD")?;
    let redactor = Redactor::new([]);
    let commands = commands(path);
    let mut counts: BTreeMap<HonestyRule, (usize, usize)> = BTreeMap::new();
    let mut judged = 0;
    for commit in repo.history(&tip, None, COMMITS)? {
        let [parent] = &commit.parents[..] else {
            continue;
        };
        let (Some(from), Some(to)) = (Oid::parse(parent), Oid::parse(&commit.id)) else {
            continue;
        };
        let change = change(&repo, &repo.diff(&from, &to)?)?;
        judged += 1;
        let subject = HonestySubject {
            held_files: &[],
            forbidden: &[],
            change: &change,
            tests,
            files: &[],
            commands: &commands,
            scripts: &[],
            runs_old_tests: true,
            redactor: &redactor,
            has_time: &|| true,
        };
        for rule in RULES {
            let found = match rule {
                HonestyRule::HardCoded => answers(&repo, &to, &subject)?,
                rule => check_rule(rule, &subject),
            };
            let count = counts.entry(rule).or_default();
            count.0 += usize::from(!found.failures.is_empty());
            count.1 += usize::from(found.failures.is_empty() && !found.notes.is_empty());
            if shown == Some(rule.as_str()) {
                for line in found.failures.iter().chain(&found.notes) {
                    println!("  {} {}: {line}", &commit.id[..9], commit.subject);
                }
            }
        }
    }
    println!("{} ({judged} commits)", path.display());
    for (rule, (wrong, told)) in counts {
        println!("  {:<12} fails {wrong:>3}  told {told:>3}", rule.as_str());
    }
    Ok(())
}

/// Returns the gate's commands for a project of this kind.
fn commands(path: &Path) -> Vec<String> {
    let is_there = |name: &str| path.join(name).exists();
    let mut commands: Vec<&str> = Vec::new();
    if is_there("pyproject.toml") || is_there("setup.py") {
        commands.extend(["pytest", "ruff check ."]);
    }
    if is_there("Cargo.toml") {
        commands.extend(["cargo test", "cargo clippy"]);
    }
    if is_there("package.json") {
        commands.extend(["npm test", "npm run lint"]);
    }
    if is_there("pom.xml") {
        commands.push("./mvnw test");
    }
    if is_there("build.gradle") {
        commands.push("./gradlew test");
    }
    if is_there("go.mod") {
        commands.extend(["go test ./...", "go vet ./..."]);
    }
    commands.into_iter().map(str::to_owned).collect()
}

fn answers(
    repo: &Repo,
    tree: &Oid,
    subject: &HonestySubject<'_>,
) -> Result<CheckFindings, BenchFailure> {
    let pairs = HardCodedAnswers::collect(subject);
    if pairs.is_empty() {
        return Ok(CheckFindings::default());
    }
    let files: Vec<(String, Oid)> = repo
        .all_tree_files(tree)?
        .into_iter()
        .filter_map(|file| Some((file.path.to_str()?.to_owned(), file.id)))
        .filter(|(path, _)| subject.tests.is_test(path))
        .collect();
    let ids: Vec<&Oid> = files.iter().map(|(_, id)| id).collect();
    let blobs = repo.read_blobs(&ids)?;
    let texts: Vec<(String, String)> = files
        .into_iter()
        .filter_map(|(path, id)| {
            let text = FileVersion::from_bytes(blobs.get(&id).map(Vec::as_slice));
            Some((path, text.text()?.to_owned()))
        })
        .collect();
    let texts = texts
        .iter()
        .map(|(path, text)| (path.as_str(), text.as_str()));
    Ok(check_hard_coded(&pairs, texts, &|| true))
}

fn change(repo: &Repo, diff: &TreeDiff) -> Result<ChangeSet, BenchFailure> {
    let ends = |file: &codeteam_host::git::DiffEntry| [file.old.clone(), file.new.clone()];
    let ids: Vec<Oid> = diff.files.iter().flat_map(ends).flatten().collect();
    let asked: Vec<&Oid> = ids.iter().collect();
    let blobs = repo.read_blobs(&asked)?;
    let side = |id: &Option<Oid>| match id {
        None => FileVersion::Absent,
        Some(id) => match blobs.get(id) {
            Some(bytes) => FileVersion::from_bytes(Some(bytes)),
            None => FileVersion::Other,
        },
    };
    let files = diff.files.iter().map(|file| {
        let path = file.path.to_string_lossy().into_owned();
        (path, side(&file.old), side(&file.new))
    });
    Ok(ChangeSet::new(files, &diff.text))
}
