//! Trees that mean harm to whoever collects, commits or clones them: attacks 6 to 8.

use serde_json::json;

use super::{attack, coder, coder_of, found, reviewer};
use crate::project::{CommandResult, Project};

/// A run whose first try does this and whose later ones do not.
fn first_try(commands: impl FnOnce(&Project) -> String) -> (Project, CommandResult) {
    first_try_in(Project::new(), commands)
}

fn first_try_in(
    project: Project,
    commands: impl FnOnce(&Project) -> String,
) -> (Project, CommandResult) {
    let first = json!({ "role": "coder", "attempt": 1 });
    let plays = [
        coder_of(&first, &commands(&project)),
        coder(""),
        reviewer(""),
    ];
    let before = project.checkout();
    let done = attack(&project, &plays, &[]).expect(0);
    assert_eq!(project.checkout(), before);
    project.git(&["fsck", "--strict"]);
    assert_eq!(project.committed_files(), ["made.txt"]);
    (project, done)
}

/// The worker is told of it and mends it; nothing of it is in the repository.
#[track_caller]
fn is_refused(commands: &str, why: &str) {
    let (_, done) = first_try(|_| commands.to_owned());
    done.says(&["coder failed: ", why, "try 2"])
        .lacks(&["try 3"]);
}

/// A first commit.
const COMMIT: &str =
    "echo x > x; git add .; git -c user.name=x -c user.email=x commit -q -m nested";

/// Makes a repository in which every setting that names a program names one that leaves a marker.
fn armed(project: &Project, git_dir: &str, history: &str) -> String {
    let marker = project.home().join("marker");
    let marker = marker.display();
    let elsewhere = if git_dir == ".git" {
        String::new()
    } else {
        format!("--separate-git-dir={git_dir}")
    };
    format!(
        r#"
        mkdir -p nested; cd nested; git init -q {elsewhere} .
        {history}
        cat > {git_dir}/trap <<'END'
#!/bin/sh
touch {marker} marker ../marker ../../marker ../collect/marker ../../collect/marker
END
        chmod +x {git_dir}/trap; trap=$PWD/{git_dir}/trap
        for hook in pre-commit post-checkout post-index-change reference-transaction; do
            cp {git_dir}/trap {git_dir}/hooks/$hook
        done
        echo '* filter=trap diff=trap' > .gitattributes
        cat >> {git_dir}/config <<END
[core]
	fsmonitor = $trap
	pager = $trap
[filter "trap"]
	clean = $trap
	smudge = $trap
	required = true
[diff]
	external = $trap
[diff "trap"]
	textconv = $trap
END
        cd ..
        "#
    )
}

#[test]
fn a_nested_repository_runs_nothing_and_is_refused() {
    for git_dir in [".git", "real.git"] {
        let (project, done) = first_try(|project| armed(project, git_dir, COMMIT));
        done.says(&["coder failed: ", "nested", "try 2"])
            .lacks(&["try 3"]);
        assert!(found(&project, "marker").is_empty());
    }
}

/// Git runs `git status` in a submodule that is at the commit it should be at.
#[test]
fn a_repository_in_a_submodules_place_runs_nothing_either() {
    let project = Project::new();
    let commit = project.git(&["rev-parse", "HEAD"]);
    let link = format!("160000,{commit},nested");
    project.git(&["update-index", "--add", "--cacheinfo", &link]);
    project.git(&["commit", "-q", "-m", "submodule"]);
    std::fs::create_dir(project.path("nested")).unwrap();
    let history = format!(
        "cp ../../git/objects/info/alternates .git/objects/info/; git reset -q --hard {commit}; echo more >> hello.txt"
    );
    let (project, done) = first_try_in(project, |project| armed(project, ".git", &history));
    assert!(found(&project, "marker").is_empty());
    done.says(&["coder failed: ", "nested", "try 2"]);
}

#[test]
fn names_that_others_take_for_git_are_refused() {
    for name in [".GIT", "git~1", ".git ", ".g\u{200c}it", "sub/.Git/x"] {
        let plant = format!("mkdir -p '{name}'; echo '[core]' > '{name}/config'");
        is_refused(&plant, "cannot record");
    }
}

#[test]
fn submodules_that_mean_harm_are_refused() {
    let modules = |name: &str, path: &str, url: &str| {
        format!(
            "cat > .gitmodules <<'END'\n[submodule \"{name}\"]\n\tpath = {path}\n\turl = {url}\nEND"
        )
    };
    let url = "https://example.org/x";
    is_refused(&modules("../../x", "x", url), "gitmodulesName");
    is_refused(&modules("x", "-x", url), "gitmodulesPath");
    is_refused(&modules("x", "x", "-u./x"), "gitmodulesUrl");
    is_refused("ln -s made.txt .gitmodules", "cannot record");
}

#[test]
fn what_only_a_workers_own_git_knows_is_not_collected() {
    let (_, done) = first_try(|_| {
        "
        git update-index --add --cacheinfo 160000,$(git rev-parse HEAD),link
        git update-index --add --cacheinfo 120000,$(echo ../x | git hash-object -w --stdin),up
        git -c user.name=x -c user.email=x commit -q -m x
        mkdir -p sub/.git/hooks; echo x > sub/.git/config
        "
        .to_owned()
    });
    done.lacks(&["try 2"]);
}

/// The user's own git would run these; a worker chooses for which files.
#[test]
fn attributes_run_no_program() {
    let project = Project::new();
    let trap = format!("touch {}; cat", project.home().join("marker").display());
    for key in [
        "filter.trap.clean",
        "filter.trap.smudge",
        "diff.trap.textconv",
    ] {
        project.git(&["config", key, &trap]);
    }
    project.git(&["config", "diff.external", &trap]);
    let plant = "
        echo '* filter=trap diff=trap merge=trap text eol=crlf ident' > .gitattributes
        git config filter.trap.clean 'tr m M'; git config filter.trap.required true
        git add -A; git commit -q -m x";
    let done = attack(&project, &[coder(plant), reviewer("")], &[]);
    done.expect(0).lacks(&["try 2"]);
    for args in [["diff"], ["show"], ["status"]] {
        project.run(&args).expect(0);
    }
    assert!(found(&project, "marker").is_empty());
    let branch = project.shown_run()["branch"].as_str().unwrap().to_owned();
    let made = format!("{branch}:made.txt");
    assert_eq!(project.git(&["cat-file", "blob", &made]), "made");
    // The trap was a good one.
    project.git(&["checkout", "-q", &branch]);
    assert!(!found(&project, "marker").is_empty());
}
