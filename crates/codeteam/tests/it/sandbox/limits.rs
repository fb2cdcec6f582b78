//! The limits of a command, and the user's tools and caches that it is shown: attack 24.

use serde_json::{Value, json};

use super::{attack, by, coder, coder_of, found, play, reviewer, test_that_runs};
use crate::project::Project;

#[test]
fn limits_have_effect() {
    // Starts more than it may, and says how many there were.
    let fork = "perl -e '
        for (1..60) { my $pid = fork; last unless defined $pid; if (!$pid) { sleep 100; exit } push @all, $pid }
        print scalar(@all) < 60 ? \"stopped\\n\" : \"unlimited\\n\"; kill 9, @all'";
    let take = format!(
        "
        head -c 3000000 /dev/zero > big; stat -c 'file %s' big; rm big
        head -c 9000000 /dev/zero > /tmp/big; stat -c 'scratch %s' /tmp/big; rm /tmp/big
        {fork}; true"
    );
    let said = |limits: &str| {
        let project = Project::new();
        project.user_config(limits);
        let plays = [
            coder(&format!(
                "{}\n{}",
                by("coder", &take),
                test_that_runs(&by("gate", &take))
            )),
            reviewer(""),
        ];
        let done = attack(&project, &plays, &[]).expect(0);
        let keep = |line: &&str| !line.contains("head:") && !line.contains("File size");
        let said = |whose| {
            let said = done.said(whose).into_iter().filter(keep);
            said.map(str::to_owned).collect::<Vec<String>>()
        };
        (said("coder"), said("gate"))
    };
    let (coder, gate) =
        said("sandbox: { limits: { file_size_mb: 2, scratch_mb: 1, processes: 40 } }\n");
    assert_eq!(coder, ["file 2097152", "scratch 1048576", "stopped"]);
    assert_eq!(gate, coder);
    let (coder, _) = said("sandbox: {}\n");
    assert_eq!(coder, ["file 3000000", "scratch 9000000", "unlimited"]);
}

/// Two tasks at once: one takes all it can get until the other has done its work.
#[test]
fn a_greedy_task_does_not_hurt_another() {
    let project = Project::new();
    project.user_config(
        "sandbox: { caches: [ { path: ~/meet, mode: copy } ], limits: { processes: 60, scratch_mb: 4, memory_mb: 512 } }\n",
    );
    let greed = "
        cat /dev/zero > /tmp/full; cat /dev/zero > /dev/shm/full; cat /dev/zero > ~/full
        perl -e 'setpgrp; open my $here, q(>), q(/home/agent/meet/greedy);
            until (-e q(/home/agent/meet/modest)) { my $pid = fork; if (defined $pid && !$pid) { sleep 1 while 1 } }
            kill 9, -getpgrp'";
    let modest = "
        until test -e ~/meet/greedy; do sleep 0.01; done
        for n in 1 2 3 4 5 6 7 8 9 10; do (head -c 300000 /dev/zero > /tmp/$n) & done; wait
        stat -c %s /tmp/10 > size.txt; touch ~/meet/modest";
    let of = |role: &str, task: &str| json!({ "role": role, "task": task });
    let answer = json!({ "message": "Do it" });
    let plays = [
        coder_of(
            &of("coder", "greedy"),
            &format!("({greed}) 2>/dev/null; echo x > greedy.txt"),
        ),
        play(
            &of("coder", "modest"),
            modest,
            &json!({ "summary": "Made it" }),
        ),
        reviewer(""),
        play(&json!({ "role": "committer" }), "", &answer),
    ];
    let script = project.script(&json!({ "version": 1, "plays": plays }).to_string());
    let plan = "description: d\ntasks: [ { id: greedy, files: [greedy.txt, made.txt] }, { id: modest, files: [size.txt] } ]\n";
    let plan = project.write_outside("plan.yml", plan);
    let args = ["-v", "run", "x", "--script", &script, "--plan", &plan];
    project.run(&args).expect(0);
    assert_eq!(project.committed_file("size.txt"), "300000");
    assert_eq!(project.survivors(), Vec::<String>::new());
}

#[test]
fn toolchains_and_caches_are_shown_as_they_are_configured() {
    let project = Project::new();
    let home = project.home();
    let put = |path: &str, text: &str| {
        let path = home.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    put("tools/bin/hammer", "#!/bin/sh\necho bang\n");
    put("cache/ro/item", "cached\n");
    put("cache/own/item", "cached\n");
    put("cache/other", "not shown\n");
    let chmod = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(home.join("tools/bin/hammer"), chmod).unwrap();
    project.user_config(
        "sandbox:
  toolchains: [ ~/tools ]
  caches: [ { path: ~/cache/ro }, { path: ~/cache/own, mode: copy }, { path: ~/cache/none } ]
",
    );
    let tools = home.join("tools");
    let tools = tools.display();
    let use_all = format!(
        "
        hammer; echo x > {tools}/planted
        cat ~/cache/ro/item; echo x > ~/cache/ro/planted
        cat ~/cache/own/item ~/cache/own/new; echo more > ~/cache/own/new; rm ~/cache/own/item
        ls ~/cache/other"
    );
    let plays: [Value; 2] = [
        coder(&format!(
            "{}\n{}",
            by("coder", &use_all),
            test_that_runs(&by("gate", &use_all))
        )),
        reviewer(&by("reviewer", "cat ~/cache/own/new; ls ~/cache/own")),
    ];
    let done = attack(&project, &plays, &[]).expect(0);
    for whose in ["coder", "gate"] {
        let said: Vec<&str> = done
            .said(whose)
            .into_iter()
            .filter(|line| !line.contains(": "))
            .collect();
        // A gate's copy is not the one that a worker has written.
        assert_eq!(said, ["bang", "cached", "cached"], "{whose}");
        let all = done.said(whose).join("\n");
        assert_eq!(all.matches("Read-only file system").count(), 2, "{all}");
    }
    assert_eq!(done.said("reviewer"), ["more", "new"]);
    assert!(found(&project, "planted").is_empty());
    assert_eq!(found(&project, "new"), Vec::<std::path::PathBuf>::new());
    assert!(home.join("cache/own/item").exists());
}
