//! `kill -9` of codeteam while a real CLI works.

use std::path::Path;
use std::time::Instant;

use codeteam_e2e::{Fault, FaultKind, ModelServer, Play, Scenario, Turn};

use super::project::Project;
use super::samples::{RIGHT, alone, written};

/// Processes whose environment or directory is of this project.
fn survivors(project: &Project) -> Vec<String> {
    let folder = project.home().parent().unwrap().to_owned();
    let is_ours = |process: &Path| {
        let place = folder.to_str().unwrap().as_bytes();
        let cwd = std::fs::read_link(process.join("cwd")).unwrap_or_default();
        let environ = std::fs::read(process.join("environ")).unwrap_or_default();
        let command = std::fs::read(process.join("cmdline")).unwrap_or_default();
        let names_it = |bytes: &[u8]| bytes.windows(place.len()).any(|window| window == place);
        cwd.starts_with(&folder) || names_it(&environ) || names_it(&command)
    };
    let processes = std::fs::read_dir("/proc").unwrap();
    let processes = processes.map(|entry| entry.unwrap().path());
    let processes = processes.filter(|path| path.join("cmdline").is_file() && is_ours(path));
    processes.map(|path| path.display().to_string()).collect()
}

#[track_caller]
fn is_killed_and_resumed(worker: &str) {
    let held = Fault::new(FaultKind::Hold).gate("work");
    let play = Play::new()
        .turn(Turn::new().write("add.sh", RIGHT))
        .turn(written().fault(held));
    let project = Project::new(Scenario::new().play(play));
    let workflow = project.workflow(&alone("", ""));
    let args = [
        "run",
        "Add a script that adds",
        "--workflow",
        &workflow,
        "--worker",
        worker,
    ];
    let mut running = project.start(&args);
    assert!(project.server.wait_held("work", 1), "it asks");
    assert!(survivors(&project).len() > 1, "codeteam and the CLI");
    running.0.kill().unwrap();
    running.0.wait().unwrap();
    // The CLI's connection ends with it.
    assert!(project.server.wait_held("work", 0), "it is gone");
    let deadline = Instant::now() + ModelServer::PATIENCE;
    while !survivors(&project).is_empty() {
        assert!(Instant::now() < deadline, "{:?}", survivors(&project));
        std::thread::yield_now();
    }

    project.server.release("work");
    project.run(&["resume"]).expect(0);
    assert_eq!(project.committed_file("add.sh"), RIGHT.trim_end());
    assert_eq!(project.commits(), 1);
    let lost = project.events("attempt_lost");
    assert_eq!(lost.len(), 1);
    let spent = |event: &serde_json::Value| {
        let of = |name: &str| event["usage"][name].as_u64().unwrap_or(0);
        of("input_tokens") + of("output_tokens")
    };
    let received = &project.events("submission_received")[0];
    assert_eq!(received["id"]["attempt"], 1, "it counts for no retry");
    let tokens = project.shown_run()["cost"]["tokens"].as_u64();
    assert_eq!(tokens, Some(spent(&lost[0]) + spent(received)));
    if worker == "claude" {
        assert!(
            spent(&lost[0]) > 0,
            "it had told what its first question cost"
        );
    }
}

#[test]
fn nothing_of_claude_survives_and_its_attempt_is_repeated() {
    is_killed_and_resumed("claude");
}

#[test]
fn nothing_of_codex_survives_and_its_attempt_is_repeated() {
    is_killed_and_resumed("codex");
}
