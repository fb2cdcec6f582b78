//! The command line itself: its help, its completions, what it does with nonsense.

use std::time::Instant;

use expect_test::expect;

use crate::project::Project;

#[test]
fn help_names_every_command_and_exit_code() {
    let project = Project::empty();
    let help = project.run(&["--help"]).expect(0);
    assert_eq!(help.stderr, "");
    let help = help.stdout;
    expect![[r"
        Takes a goal to verified commits with a team of AI workers

        Usage: codeteam [OPTIONS] <COMMAND>

        Commands:
          init         Look at this repository, and write the configuration that fits it
          demo         Run the whole job on a small sample project, with scripted workers
          plan         Shape a plan in a conversation with the planner; nothing is built
          run          Take a goal to verified commits on a branch of its own
          status       Show the runs of this project, or one of them
          log          Print what happened in a run
          show         Show one run in full: tasks, findings, questions, cost
          report       Show what checks, verifiers and people say of a change
          diff         Print the diff of a run, or of one of its tasks
          approve      Say yes to the question a run waits with
          reject       Say no to the question a run waits with, and why
          answer       Answer the question a run waits with
          edit         Change what a run wants judged yourself, and hand it back
          resume       Take a run up where it stands
          retry        Take failed tasks of a run up again
          skip         Leave a task out; what depends on it goes on
          abort        End a run
          deps         Find out which tasks of a plan need which, by what their files import
          merge        Merge the branch of a run into the branch you are on
          prune        Remove the worktrees of runs that have ended; what they hold is kept
          restore      Bring a removed worktree back into a folder
          pack         Pack a repository, or any folder, into one text for a model
          map          Show the definitions that matter most, file by file
          find         Find the files that matter for a task, and say why
          doctor       Check that everything codeteam needs is here
          trust        Show what this repository asks for beyond your own configuration, and decide about it
          worker       Look at the workers there are, and try one out
          role         Look at the roles there are, and make your own
          config       Look at the configuration, and check it
          workflow     Look at the workflows there are, draw them and test them
          sandbox      Build what workers and gates are confined by
          mcp          Lead the session of an MCP client through a task, over standard input and output
          completions  Print the completions for a shell
          help         Print this message or the help of the given subcommand(s)

        Options:
          -h, --help     Print help
          -V, --version  Print version

        Everywhere:
          -C <DIR>       Work as if started in this folder
              --json     Print the result as JSON on standard output
          -q, --quiet    Say only what is wrong
          -v, --verbose  Show what workers and checks say

        Exit codes: 0 done, 1 failed, 2 usage, 3 waiting for a person, 4 limit reached, 130 interrupted
    "]].assert_eq(&help);
}

#[test]
fn every_command_explains_itself() {
    let project = Project::empty();
    let help = project.run(&["--help"]).expect(0).stdout;
    let commands = help
        .split_once("Commands:\n")
        .unwrap()
        .1
        .split_once("\n\n")
        .unwrap()
        .0;
    for command in commands
        .lines()
        .map(|l| l.split_whitespace().next().unwrap())
    {
        let help = project.run(&["help", command]).expect(0).stdout;
        assert!(help.contains("Usage: codeteam"), "{help}");
        if command != "help" {
            assert!(
                help.contains("--json") && help.contains("-C <DIR>"),
                "{help}"
            );
        }
    }
}

#[test]
fn help_is_there_at_once() {
    let project = Project::empty();
    let fastest = (0..5)
        .map(|_| {
            let started = Instant::now();
            project.run(&["--help"]).expect(0);
            started.elapsed()
        })
        .min()
        .unwrap();
    println!("--help: {fastest:?}");
    assert!(fastest.as_millis() < 500, "{fastest:?}");
}

#[test]
fn nonsense_is_a_usage_error_with_a_hint() {
    let project = Project::empty();
    project
        .run(&["resum"])
        .expect(2)
        .says(&["'resum'", "'resume'"]);
    project.run(&[]).expect(2).says(&["Usage: codeteam"]);
    project
        .run(&["run", "x", "--plam", "y"])
        .expect(2)
        .says(&["--plan"]);
    project.run(&["--quiet", "--verbose", "status"]).expect(2);
    project
        .run(&["restore", "--to", "x"])
        .expect(2)
        .says(&["--task"]);
    project
        .run(&["run", "x", "--max-attempts", "many"])
        .expect(2)
        .says(&["many"]);
    project
        .run(&["run", "x", "--max-cost=-1"])
        .expect(2)
        .says(&["-1"]);
}

#[test]
fn completions_for_the_common_shells() {
    let project = Project::empty();
    for (shell, marker) in [
        ("bash", "_codeteam()"),
        ("zsh", "#compdef codeteam"),
        ("fish", "complete -c codeteam"),
    ] {
        let done = project.run(&["completions", shell]).expect(0);
        assert!(done.stdout.contains(marker), "{shell}");
        assert!(done.stdout.contains("resume"), "{shell}");
        assert_eq!(done.stderr, "");
    }
    let script = project.run(&["completions", "bash"]).expect(0).stdout;
    std::fs::write(project.home().join("completions.bash"), script).unwrap();
    let path = project.home().join("completions.bash");
    let line = format!("bash -c '. {} && complete -p codeteam'", path.display());
    project.paste(&line).expect(0);
}
