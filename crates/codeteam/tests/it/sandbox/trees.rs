//! Trees that mean harm to whoever collects, commits or clones them: attacks 6 to 8.

use serde_json::json;

use super::{attack, by, coder, coder_of, found, reviewer};
use crate::project::{Done, Project};

/// The first try does this, later ones do not.
fn first_try(commands: impl FnOnce(&Project) -> String) -> (Project, Done) {
    let project = Project::new();
    let first = json!({ "role": "coder", "attempt": 1 });
    let plays = [
        coder_of(&first, &commands(&project)),
        coder(""),
        reviewer(""),
    ];
    let before = project.checkout();
    let done = attack(&project, &plays, &[]);
    assert_eq!(project.checkout(), before);
    project.git(&["fsck", "--strict"]);
    (project, done)
}

/// Makes a repository in which every setting that names a program names one that leaves a marker.
fn armed(project: &Project, git_dir: &str) -> String {
    let marker = project.home().join("marker");
    let marker = marker.display();
    let init = if git_dir == ".git" {
        String::new()
    } else {
        format!("--separate-git-dir={git_dir}")
    };
    format!(
        r#"
        mkdir nested; cd nested; git init -q {init} .
        echo content > file.txt; git add .; git commit -q -m nested || git -c user.name=x -c user.email=x commit -q -m nested
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
        "#
    )
}

#[test]
fn a_nested_repository_runs_nothing_and_is_refused() {
    for git_dir in [".git", "real.git"] {
        let (project, done) = first_try(|project| armed(project, git_dir));
        done.expect(0)
            .says(&["coder failed", "nested", "try 2"])
            .lacks(&["try 3"]);
        assert!(found(&project, "marker").is_empty());
        assert_eq!(project.made_files(), ["made.txt"]);
    }
}

#[test]
fn odd_names() {
    for name in [".g\u{200c}it", ".git::$INDEX_ALLOCATION", "sub/.git"] {
        let (project, done) = first_try(|_| format!(
            "mkdir -p '{name}/hooks'; echo '[core]' > '{name}/config'; echo ref: refs/heads/main > '{name}/HEAD'; ls -la"
        ));
        eprintln!("==== {name:?} {:?}\n{}\n{:?}", done.code, done.stderr, project.worktrees());
    }
    for text in ["[submodule \"../../evil\"]\n\tpath = evil\n\turl = https://example.org/x\n", "[submodule \"x\"]\n\tpath = x\n\turl = -u./payload\n", "[submodule \"x\"]\n\tpath = -x\n\turl = https://example.org/x\n\tupdate = !touch marker\n"] {
        let (project, done) = first_try(|_| format!("printf '%s' '{text}' > .gitmodules"));
        eprintln!("==== {text:?} {:?}\n{}\n{:?}", done.code, done.stderr, project.worktrees());
    }
    let _ = by("", "");
    panic!();
}
