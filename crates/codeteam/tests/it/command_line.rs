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
          init         Inspect this repository and write a configuration that fits it
          demo         Carry out a whole run on a small sample project, with scripted workers
          plan         Shape a plan in a conversation with the planner; nothing is built
          run          Take a goal to verified commits on a branch of its own
          status       Show the runs of this project, or one of them
          tui          Show runs on a terminal screen, and decide there
          web          Show runs in a browser, and decide there
          log          Print what happened in a run
          show         Show one run in full: tasks, findings, questions, cost
          trace        Show how a worker arrived at its answer: its prompt, what it did, and the results
          report       Show what checks, verifiers and people say about a change
          diff         Print the diff of a run, or of one of its tasks
          approve      Say yes to the question that a run is waiting on
          reject       Say no to the question that a run is waiting on, and why
          delegate     Hand your vote on a change to somebody else
          answer       Answer the question that a run is waiting on
          inbox        List everything that needs you, the riskiest first
          risk         Explain the risk of the changes of a run
          notify       Try the channels by which codeteam notifies you
          edit         Edit a change that waits for your judgement, and hand it back
          resume       Continue a run where it stopped
          retry        Retry failed tasks of a run
          rollback     Take a run back to an earlier moment
          repin        Take a changed workflow into a run under way
          fork         Begin a new run from a moment of another one
          compare      Show what two runs did differently: trees, tasks, rounds, findings, workers and cost
          skip         Leave a task out; tasks that depend on it continue
          abort        End a run
          deps         Find out which tasks of a plan depend on which, by what their files import
          merge        Merge the branch of a run into the branch you are on
          prune        Remove the worktrees of runs that have ended; unsaved work in them is kept
          restore      Bring a removed worktree back into a folder
          pack         Pack a repository, or any folder, into one text for a model
          map          Show the most important definitions, file by file
          find         Find the files that matter for a task, and say why
          doctor       Check that everything codeteam needs is in place
          trust        Show what this repository asks for beyond your own configuration, and decide about it
          worker       List the workers, and try one out
          role         List the roles, and make your own
          config       Show the configuration, and check it
          workflow     List, draw, check and test workflows
          sandbox      Build the image that confines workers and gates in containers
          mcp          Lead the session of an MCP client through a task, over standard input and output
          completions  Print the completions for a shell
          help         Print this message or the help of the given subcommand(s)

        Options:
          -h, --help     Print help
          -V, --version  Print version

        Everywhere:
          -C <DIR>               Work as if started in this folder
              --json             Print the result as JSON on standard output
          -q, --quiet            Print only problems
          -v, --verbose          Show the output of workers and checks
              --log-file <FILE>  Append what codeteam does, line by line, to this file. The variable
                                 `CODETEAM_LOG` selects the lines; without it, all up to `debug`

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
