//! How fast commands answer beside a run of very many tasks, without carrying it out: its log is
//! written from the events of one task, and its branch by one `git fast-import`.
//!
//! `cargo bench -p codeteam --bench kernel -- answers 10000`

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use codeteam_host::store::{
    AppendRequest, NewEvent, ProcessIdentity, RunUpdate, Store, StoredEvent,
};
use serde_json::{Value, json};

use crate::{Outcome, codeteam, must, plans, repository};

pub(crate) fn measure(folder: &Path, sizes: &[usize]) -> Outcome<()> {
    for tasks in sizes {
        let place = folder.join(format!("answers-{tasks}"));
        let repo = repository(&place.join("repo"))?;
        plans::long_run(&place, &repo, 1, &["--no-sandbox"])?;
        let store = Store::open(&repo.join(".codeteam/state.db"))?;
        let events = write_log(&store, &repo, *tasks)?;
        println!("{tasks} tasks, {events} events, from the log of one");
        let start = Instant::now();
        must(codeteam(&place, &repo).arg("status").stdout(Stdio::null()))?;
        println!(
            "  {:<24} {:>8.1} ms",
            "the first answer",
            start.elapsed().as_secs_f64() * 1e3
        );
        plans::answers(&place, &repo, *tasks)?;
    }
    Ok(())
}

/// Writes the log of a run in which the one task of the project's only run is done many times.
/// Returns the number of its events.
fn write_log(store: &Store, repo: &Path, tasks: usize) -> Outcome<usize> {
    let recorded = store.runs()?.pop().ok_or("no run")?;
    let mut events: Vec<Value> = Vec::new();
    store.for_each_event(&recorded.id, 0, |stored: StoredEvent| {
        events.push(serde_json::from_str(&stored.data)?);
        Outcome::Ok(())
    })?;
    let is_of_task = |event: &&Value| {
        let frame = event["frame"].as_str().or(event["id"]["frame"].as_str());
        frame == Some("run/t0")
    };
    let task: Vec<Value> = events.iter().filter(is_of_task).cloned().collect();
    let begin: Vec<Value> = events
        .iter()
        .take_while(|e| !is_of_task(e))
        .cloned()
        .collect();
    let end: Vec<Value> = events
        .iter()
        .rev()
        .take_while(|e| !is_of_task(e))
        .cloned()
        .collect();

    let id = format!("{}-many", recorded.id);
    let mut all = begin;
    all[0]["run"] = json!(id);
    all[0]["max_tasks"] = json!(tasks);
    all[0]["plan"]["tasks"] = (0..tasks)
        .map(|n| json!({ "id": format!("t{n}"), "title": file_of(n), "files": [file_of(n)] }))
        .collect();
    for n in 0..tasks {
        for event in &task {
            let text = event.to_string().replace("run/t0", &format!("run/t{n}"));
            let text = text.replace("\"task\":\"t0\"", &format!("\"task\":\"t{n}\""));
            let mut event: Value = serde_json::from_str(&text)?;
            if let Some(fence) = event["id"]["fence"].as_u64() {
                event["id"]["fence"] = json!(fence + 10 * n as u64);
            }
            all.push(event);
        }
    }
    let (commit, tree) = write_commit(repo, tasks)?;
    if let Some(last) = all.iter_mut().rfind(|event| event["type"] == "committed") {
        last["commit"] = json!(commit);
        last["tree"] = json!(tree);
    }
    all.extend(end.into_iter().rev());
    append(store, &id, &all, recorded.created_at + 1)?;
    Ok(all.len())
}

fn append(store: &Store, id: &str, events: &[Value], created_at: i64) -> Outcome<()> {
    let owner = ProcessIdentity::this_process("bench");
    let lease = store.take_lease(id, &owner, 0, i64::MAX)?;
    let mut seq = 0;
    for chunk in events.chunks(1_000) {
        let encoded = chunk.iter().map(|event| NewEvent {
            kind: event["type"].as_str().unwrap_or_default().to_owned(),
            version: 1,
            data: event.to_string(),
        });
        seq = store.append(AppendRequest {
            run: id.to_owned(),
            expected_seq: seq,
            token: lease.token,
            at: created_at,
            events: encoded.collect(),
            consumed: Vec::new(),
            row: Some(RunUpdate {
                goal: "many tasks".to_owned(),
                created_at,
                status: "completed".to_owned(),
                headline: String::new(),
            }),
        })?;
    }
    store.release(&lease)?;
    Ok(())
}

fn file_of(task: usize) -> String {
    format!("part-{}/file-{task}", task / 100)
}

/// Writes one commit with the file of every task on top of the run's branch. Returns it and its tree.
fn write_commit(repo: &Path, tasks: usize) -> Outcome<(String, String)> {
    let mut stream = String::from(
        "commit refs/heads/many\ncommitter bench <b@example.org> 1700000000 +0000\ndata 4\nmany\nfrom refs/heads/main^0\n",
    );
    for n in 0..tasks {
        let text = format!("t{n}\n");
        let _ = write!(
            stream,
            "M 100644 inline {}\ndata {}\n{text}\n",
            file_of(n),
            text.len()
        );
    }
    let file: PathBuf = repo.join(".git/many.stream");
    std::fs::write(&file, stream)?;
    let git = |args: &[&str]| {
        let mut command = Command::new("git");
        command.arg("-C").arg(repo).args(args);
        command
    };
    let status = git(&["fast-import", "--quiet"])
        .stdin(std::fs::File::open(&file)?)
        .status()?;
    if !status.success() {
        return Err("git fast-import failed".into());
    }
    let resolve = |name: &str| {
        let output = git(&["rev-parse", name]).output()?;
        Outcome::Ok(String::from_utf8(output.stdout)?.trim().to_owned())
    };
    Ok((resolve("many")?, resolve("many^{tree}")?))
}
