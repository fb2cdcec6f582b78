//! What real CLIs have printed, folded: the recordings of each version are in `recorded/`, and
//! beside them, in one `.folded` a version, what codeteam makes of them.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use codeteam_core::budget::Usage;
use codeteam_core::failure::classify;
use codeteam_core::input::WorkerEnd;
use expect_test::expect_file;
use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::{Clock, Listening, Name, Told};
use crate::process::{Exit, Line, Status, Stream};

fn recorded() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src/dialect/recorded")
}

fn listening() -> Listening {
    Listening {
        account: "mine".into(),
        model: None,
        before: Usage::default(),
        clock: Clock {
            now: "2026-11-15T10:00:00Z".parse().unwrap(),
            zone: TimeZone::UTC,
        },
    }
}

/// One case, in a few lines.
fn folded(name: Name, folder: &Path, case: &str) -> String {
    let read = |ending: &str| fs::read_to_string(folder.join(format!("{case}.{ending}")));
    let (stdout, stderr) = (read("jsonl").unwrap(), read("stderr").unwrap_or_default());
    let code = read("exit").unwrap().trim().parse().unwrap();
    let mut fold = name.dialect().fold(&listening());
    let mut told = Vec::new();
    for (stream, text) in [(Stream::Stderr, &stderr), (Stream::Stdout, &stdout)] {
        for line in text.lines() {
            told.extend(fold.line(&Line {
                stream,
                raw: line.as_bytes(),
                text: Cow::Borrowed(line),
                truncated: false,
            }));
        }
    }
    let exit = Exit {
        status: Status::Exited(code),
        stdout_bytes: 0,
        stderr_bytes: 0,
        dropped_bytes: 0,
        wall: Duration::from_secs(1),
    };
    let mut out = format!("{case}: exit {code}\n");
    match fold.finish(&exit) {
        WorkerEnd::Answered(answer) => writeln!(out, "  answered {answer}").unwrap(),
        WorkerEnd::Failed(facts) => {
            let (category, action) = classify(&facts);
            let message = facts.message.lines().next().unwrap_or_default();
            writeln!(out, "  {category:?} -> {action:?}: {message}").unwrap();
            let known = (
                facts.stage,
                facts.http_status,
                facts.trouble,
                facts.retry_after_ms,
            );
            writeln!(out, "  {known:?}").unwrap();
            if let Some(quota) = facts.quota {
                let resets = quota
                    .resets_at
                    .map(|at| Timestamp::from_millisecond(i64::try_from(at.0).unwrap()).unwrap());
                let known = (quota.account.0, resets, quota.resets_in_ms);
                writeln!(out, "  quota {known:?}").unwrap();
            }
        }
    }
    let usage = fold.usage();
    let tokens = (
        usage.input_tokens,
        usage.cached_input_tokens,
        usage.output_tokens,
    );
    writeln!(
        out,
        "  {tokens:?} {:?} of {:?} in {:?}",
        usage.cost_microusd,
        fold.model(),
        fold.session()
            .map(|id| id.trim_start_matches("00000000-0000-4000-8000-0000000000"))
    )
    .unwrap();
    let shown = told
        .iter()
        .filter(|told| !matches!(told, Told::Noise { .. }));
    for shown in shown.filter_map(Told::shown) {
        let line = shown.lines().next().unwrap_or_default();
        writeln!(out, "  | {}", line.chars().take(100).collect::<String>()).unwrap();
    }
    out
}

/// All cases of a CLI's version.
fn all(name: Name, version: &str) {
    let folder = recorded().join(version);
    let mut cases: Vec<String> = fs::read_dir(&folder)
        .unwrap()
        .filter_map(|entry| {
            let name = entry.unwrap().file_name().into_string().unwrap();
            name.strip_suffix(".exit").map(str::to_owned)
        })
        .collect();
    cases.sort();
    assert!(cases.len() > 20, "{cases:?}");
    let text: Vec<String> = cases
        .iter()
        .map(|case| folded(name, &folder, case))
        .collect();
    let file = recorded().join(format!("{version}.folded"));
    expect_file![file].assert_eq(&text.join("\n"));
}

#[test]
fn claude() {
    all(Name::Claude, "claude-2.1.197");
}

#[test]
fn codex() {
    all(Name::Codex, "codex-0.166.0");
}

#[test]
fn gemini() {
    all(Name::Gemini, "gemini-0.61.0");
}
