//! The command line: this file defines the raw arguments, and each command has a file of its own
//! below.

mod agent;
mod baseline;
mod choose_files;
mod compare;
mod completions;
mod config;
mod confirm;
mod decide;
mod delegate;
mod demo;
mod deps;
mod diff;
mod doctor;
mod drive;
mod edit;
mod find;
mod fork;
mod git_preview;
mod inbox;
mod init;
mod log;
mod map;
mod mcp;
mod merge;
mod notify;
mod own_program;
mod pack;
mod plan;
mod prune;
mod repin;
mod report;
mod restore;
mod resume;
mod risk;
mod role;
mod rollback;
mod run;
mod sandbox;
mod show;
mod status;
mod submit_server;
mod talk;
mod trace;
mod trust;
mod tui;
mod web;
mod worker;
mod workflow;

use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::{Parser, Subcommand};
use codeteam_engine::Engine;
use codeteam_engine::config::Config;
use codeteam_engine::diagnostic_log;
use codeteam_engine::engine::Project;
use codeteam_engine::env::{Env, log_directives};

use crate::exit::{self, Exit};
use crate::progress::Verbosity;
use codeteam_engine::problem::Problem;

/// Takes a goal to verified commits with a team of AI workers.
#[derive(Debug, Parser)]
#[command(name = "codeteam", version, about, after_help = exit::HELP, max_term_width = 100)]
pub(crate) struct Args {
    #[command(flatten)]
    everywhere: GlobalArgs,
    #[command(subcommand)]
    command: CliCommand,
}

/// The options that every command takes.
#[derive(Debug, clap::Args)]
struct GlobalArgs {
    /// Work as if started in this folder.
    #[arg(
        short = 'C',
        global = true,
        value_name = "DIR",
        help_heading = "Everywhere"
    )]
    folder: Option<PathBuf>,
    /// Print the result as JSON on standard output.
    #[arg(long, global = true, help_heading = "Everywhere")]
    json: bool,
    /// Print only problems.
    #[arg(
        short,
        long,
        global = true,
        conflicts_with = "verbose",
        help_heading = "Everywhere"
    )]
    quiet: bool,
    /// Show the output of workers and checks.
    #[arg(short, long, global = true, help_heading = "Everywhere")]
    verbose: bool,
    /// Append what codeteam does, line by line, to this file. The variable `CODETEAM_LOG` selects
    /// the lines; without it, all up to `debug`.
    #[arg(long, global = true, value_name = "FILE", help_heading = "Everywhere")]
    log_file: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
enum CliCommand {
    /// Inspect this repository and write a configuration that fits it.
    ///
    /// Proposes the checks, the set-up command and the roles that the repository's own files
    /// suggest, says why, shows every file it would write, and asks. Existing files are only added
    /// to, and only as shown.
    ///
    /// Without a terminal it writes nothing unless `--yes` is given, and exits with 3.
    Init(init::Args),
    /// Carry out a whole run on a small sample project, with scripted workers.
    Demo(demo::Args),
    /// Shape a plan in a conversation with the planner; nothing is built.
    ///
    /// The planner asks and you answer; `/save_plan` has the plan written,
    /// `/request_feedback_round` has another role check it, `/edit` opens it in your editor,
    /// `/accept_plan` ends the conversation, and `codeteam run` carries it out. `/quit` leaves;
    /// `codeteam plan` continues where you left off.
    ///
    /// Without a terminal, your answers are read from standard input or `--answers`; if they run
    /// out while a question is open, codeteam exits with 3.
    Plan(plan::Args),
    /// Take a goal to verified commits on a branch of its own.
    ///
    /// On a terminal you accept the plan and judge every change, unless you pass `--auto`. Without
    /// a goal it pursues the one in the configuration (`task`), or carries out the plan that was
    /// accepted last.
    Run(run::Args),
    /// Show the runs of this project, or one of them.
    Status(status::Args),
    /// Show runs on a terminal screen, and decide there.
    ///
    /// Shows what needs you, every run as a tree of tasks and attempts, diffs, outputs, findings and
    /// costs, as they change, whichever process drives the run. `?` lists the keys of each panel.
    ///
    /// Leaving the screen changes nothing. It needs a terminal; `status`, `show` and `log` do not.
    Tui(tui::Args),
    /// Show runs in a browser, and decide there
    ///
    /// Prints a link that signs a browser in, once, within two minutes. Only this machine can reach
    /// the server; from another one, forward the port with `ssh -L`. Decisions on a page are commands
    /// of codeteam, given by you. Ctrl-C ends the server; runs go on.
    Web(web::Args),
    /// Print what happened in a run.
    Log(log::Args),
    /// Show one run in full: tasks, findings, questions, cost.
    Show(show::Args),
    /// Show how a worker arrived at its answer: its prompt, what it did, and the results.
    ///
    /// Reads the transcript of the last attempt, or of the one that `--attempt` names, whichever
    /// worker made it, and lists the others. It also works while the worker is still working.
    Trace(trace::Args),
    /// Show what checks, verifiers and people say about a change.
    ///
    /// It is the change of the task that waits for a decision, or of the one that was judged last.
    /// On a terminal the report is short, with the problems below each line; elsewhere, and with
    /// `--markdown`, it is complete, as in `.codeteam/reports`.
    Report(report::Args),
    /// Print the diff of a run, or of one of its tasks.
    Diff(diff::Args),
    /// Say yes to the question that a run is waiting on.
    Approve(decide::ApproveArgs),
    /// Say no to the question that a run is waiting on, and why.
    Reject(decide::RejectArgs),
    /// Hand your vote on a change to somebody else.
    ///
    /// For this question only: they vote in your place, and you no longer do. Nobody hands on a vote
    /// that they were handed. `--to` with your own name takes it back, until they have voted.
    Delegate(delegate::Args),
    /// Answer the question that a run is waiting on.
    Answer(decide::AnswerArgs),
    /// List everything that needs you, the riskiest first.
    ///
    /// Open questions of all runs of this project, limits that were reached, and runs that no
    /// process drives, each with the commands that answer it.
    Inbox(inbox::Args),
    /// Explain the risk of the changes of a run.
    ///
    /// The risk is computed from the change: its files and lines, named sets of paths, public
    /// signatures that are gone or changed, open findings, and objections that were overruled. No
    /// model is asked. Each condition of the approval policy is shown with the facts that decided
    /// it.
    Risk(risk::Args),
    /// Try the channels by which codeteam notifies you.
    Notify(notify::Args),
    /// Edit a change that waits for your judgement, and hand it back.
    ///
    /// Opens the files of the change in your editor, in a worktree of their own. What you hand back
    /// is checked and judged again.
    Edit(edit::Args),
    /// Continue a run where it stopped.
    Resume(resume::Args),
    /// Retry failed tasks of a run.
    Retry(decide::RetryArgs),
    /// Take a run back to an earlier moment.
    ///
    /// The run's branch goes back to the commit that it had then, and every task that was not done at
    /// that moment begins again. What is taken back stays: its commits under a reference of their own,
    /// its events in the log. No branch of yours is touched.
    ///
    /// The consequences are shown first, and you are asked. Without a terminal nothing is done unless
    /// `--yes` is given.
    Rollback(rollback::Args),
    /// Take a changed workflow into a run under way.
    ///
    /// A run keeps the workflow, the roles and the prompts that it began with. This compiles them again,
    /// as a new run with the same choices would have them, shows what differs, and asks. It is refused
    /// if somebody is at a step that is gone. What is under way is finished as it was begun.
    Repin(repin::Args),
    /// Begin a new run from a moment of another one.
    ///
    /// The new run begins on the commit that the other one had at that moment, with its goal, its plan,
    /// its requirements and designs, and the tasks that were done by then. It is compiled from the
    /// configuration as it is now, with the choices that the other run was begun with unless you name
    /// others. The other run is not changed.
    Fork(Box<fork::Args>),
    /// Show what two runs did differently: trees, tasks, rounds, findings, workers and cost.
    Compare(compare::Args),
    /// Leave a task out; tasks that depend on it continue.
    Skip(decide::SkipArgs),
    /// End a run.
    Abort(decide::AbortArgs),
    /// Find out which tasks of a plan depend on which, by what their files import.
    ///
    /// Reads the files of each task in the checkout, and follows their imports to the files of
    /// other tasks, even to files that are not written yet. Shows each dependency with the import
    /// behind it, what the plan has already, what would make tasks wait for each other, and imports
    /// that could not be resolved; then asks.
    ///
    /// Without a terminal it changes nothing unless `--yes` is given.
    Deps(deps::Args),
    /// Merge the branch of a run into the branch you are on.
    Merge(merge::Args),
    /// Remove the worktrees of runs that have ended; unsaved work in them is kept.
    Prune(prune::Args),
    /// Bring a removed worktree back into a folder.
    Restore(restore::Args),
    /// Pack a repository, or any folder, into one text for a model.
    ///
    /// Takes the files that git would see, without their secrets, each in a block that nothing in it
    /// can end, and writes them to standard output. Counts their tokens (OpenAI's o200k; other models
    /// count differently).
    Pack(pack::Args),
    /// Show the most important definitions, file by file.
    ///
    /// Definitions are read from the source (Python, JavaScript, TypeScript, Rust, Go, Java). Those
    /// that are referred to most come first; with `--focus`, those that matter to what it names.
    Map(map::Args),
    /// Find the files that matter for a task, and say why.
    ///
    /// Ranks files by where the words occur in paths, definitions and contents, by imports, by past
    /// commits with these words, and by which files change together.
    Find(find::Args),
    /// Check that everything codeteam needs is in place.
    ///
    /// Checks git, the configuration, the log, the sandbox, and each worker: its program and
    /// version, its login or key, and whether its API can be reached from where workers run. No
    /// model is asked: `codeteam worker test` does that.
    ///
    /// Exits with 1 if something must be fixed before a run can start. A worker that cannot be used
    /// is only reported, unless a role of the project's workflow has no other.
    Doctor(doctor::Args),
    /// Show what this repository asks for beyond your own configuration, and decide about it.
    ///
    /// A repository's files may narrow what your own configuration allows, never widen it: no
    /// sandbox, other hosts, folders of yours, MCP servers and the like take effect only if you
    /// trust the repository with exactly that. Your decision is kept outside the repository, and
    /// you are asked again about whatever changes.
    ///
    /// Without a terminal it trusts nothing unless `--yes` is given, and exits with 3 if there is
    /// anything to decide.
    Trust(trust::Args),
    /// List the workers, and try one out.
    Worker(worker::Args),
    /// List the roles, and make your own.
    Role(role::Args),
    /// Show the configuration, and check it.
    Config(config::Args),
    /// List, draw, check and test workflows.
    Workflow(workflow::Args),
    /// Build the image that confines workers and gates in containers.
    Sandbox(sandbox::Args),
    /// Lead the session of an MCP client through a task, over standard input and output.
    ///
    /// A person works in Claude Code, Codex, Gemini or any other client; codeteam leads that one
    /// session through the roles of the workflow `adversarial`, or the project's own. The checkout is
    /// the workspace, the checks are codeteam's own.
    Mcp(mcp::Args),
    /// Print the completions for a shell.
    Completions(completions::Args),
    /// Carry out one assignment, as a worker that codeteam starts.
    #[command(hide = true)]
    Agent(agent::Args),
    /// Take one answer as an MCP server, for a worker that codeteam starts.
    #[command(hide = true)]
    SubmitServer(submit_server::Args),
    /// Choose the files that matter for an attempt, for the `mcp` that started this.
    #[command(hide = true)]
    ChooseFiles(choose_files::Args),
    /// Report what a confined command sees, for `doctor`.
    #[command(hide = true)]
    SandboxLook(sandbox::SandboxProbeArgs),
    /// Check from where workers run whether a worker's API is reachable, for `doctor`.
    #[command(hide = true)]
    ApiProbe(sandbox::ApiProbeArgs),
}

/// The surroundings of a command: where it runs, how it prints, and how the user would call it.
///
/// It is created once from the global arguments and passed to every command. It opens nothing by
/// itself. Commands choose the weakest method that does:
///
/// - [`find_project`](Self::find_project) reads the configuration and creates nothing.
/// - [`existing_engine`](Self::existing_engine) opens the log if there is one, for commands that
///   only look.
/// - [`engine_with_runs`](Self::engine_with_runs) fails without a log, for commands about a run.
/// - [`open_engine`](Self::open_engine) makes a project ready for runs.
pub(crate) struct CliContext {
    /// The folder from which the project is searched for.
    pub(crate) folder: PathBuf,
    /// The user's current folder.
    pub(crate) here: PathBuf,
    /// Whether to print the result as JSON.
    pub(crate) json: bool,
    /// How much to show.
    pub(crate) detail: Verbosity,
    /// The environment variables that codeteam reads.
    pub(crate) env: Env,
    /// The path of codeteam's own executable.
    pub(crate) codeteam: PathBuf,
    /// How the user would call codeteam and git on this project, so that printed commands work.
    pub(crate) calls: CommandPrefixes,
}

/// Commands as the user would type them.
pub(crate) struct CommandPrefixes {
    /// `codeteam`, or the same with a path and a folder.
    pub(crate) codeteam: String,
    /// `git`, or the same with a folder.
    pub(crate) git: String,
}

impl Default for CommandPrefixes {
    fn default() -> Self {
        Self {
            codeteam: "codeteam".to_owned(),
            git: "git".to_owned(),
        }
    }
}

/// Returns true if a driven run was interrupted by a signal.
pub(crate) fn was_interrupted() -> bool {
    drive::was_interrupted()
}

pub(crate) fn dispatch(args: Args) -> Result<Exit, Problem> {
    open_log(args.everywhere.log_file.as_deref())?;
    if let CliCommand::Agent(agent) = &args.command {
        // A worker needs neither project nor engine, and every millisecond counts.
        return agent::main(agent);
    }
    if let CliCommand::SubmitServer(server) = &args.command {
        return submit_server::main(server);
    }
    // Packing and the MCP server handle signals themselves.
    if !matches!(args.command, CliCommand::Pack(_) | CliCommand::Mcp(_)) {
        drive::listen_for_signals()?;
    }
    let scene = CliContext::new(&args.everywhere)?;
    if let CliCommand::Status(_)
    | CliCommand::Show(_)
    | CliCommand::Report(_)
    | CliCommand::Diff(_) = args.command
    {
        codeteam_report::view::keep_memory_until_exit();
    }
    match args.command {
        CliCommand::Sandbox(args) => sandbox::main(args, &scene),
        CliCommand::SandboxLook(args) => sandbox::probe_sandbox(args),
        CliCommand::ApiProbe(args) => sandbox::probe_api(args),
        CliCommand::Mcp(args) => mcp::main(&args, scene),
        CliCommand::ChooseFiles(args) => choose_files::main(&args, &scene),
        CliCommand::Find(args) => find::main(&args, &scene),
        CliCommand::Map(args) => map::main(&args, &scene),
        CliCommand::Trust(args) => trust::main(&args, &scene),
        CliCommand::Worker(args) => worker::main(&args, &scene),
        CliCommand::Role(args) => role::main(&args, &scene),
        CliCommand::Config(args) => config::main(&args, &scene),
        CliCommand::Workflow(args) => workflow::main(&args, &scene),
        CliCommand::Init(args) => init::main(&args, &scene),
        CliCommand::Demo(args) => demo::main(&args, scene),
        CliCommand::Plan(args) => plan::main(args, &scene),
        CliCommand::Run(args) => run::main(args, &scene),
        CliCommand::Status(args) => status::main(&args, &scene),
        CliCommand::Tui(args) => tui::main(&args, &scene),
        CliCommand::Web(args) => web::main(&args, &scene),
        CliCommand::Log(args) => log::main(&args, &scene),
        CliCommand::Show(args) => show::main(&args, &scene),
        CliCommand::Trace(args) => trace::main(&args, &scene),
        CliCommand::Report(args) => report::main(&args, &scene),
        CliCommand::Diff(args) => diff::main(&args, &scene),
        CliCommand::Approve(args) => decide::approve(&args, &scene),
        CliCommand::Delegate(args) => delegate::main(&args, &scene),
        CliCommand::Reject(args) => decide::reject(&args, &scene),
        CliCommand::Answer(args) => decide::answer(&args, &scene),
        CliCommand::Inbox(args) => inbox::main(&args, &scene),
        CliCommand::Risk(args) => risk::main(&args, &scene),
        CliCommand::Notify(args) => notify::main(&args, &scene),
        CliCommand::Edit(args) => edit::main(&args, &scene),
        CliCommand::Resume(args) => resume::main(&args, &scene),
        CliCommand::Retry(args) => decide::retry(&args, &scene),
        CliCommand::Rollback(args) => rollback::main(&args, &scene),
        CliCommand::Repin(args) => repin::main(&args, &scene),
        CliCommand::Fork(args) => fork::main(&args, &scene),
        CliCommand::Compare(args) => compare::main(&args, &scene),
        CliCommand::Skip(args) => decide::skip(&args, &scene),
        CliCommand::Abort(args) => decide::abort(&args, &scene),
        CliCommand::Deps(args) => deps::main(&args, &scene),
        CliCommand::Merge(args) => merge::main(&args, &scene),
        CliCommand::Prune(args) => prune::main(&args, &scene),
        CliCommand::Restore(args) => restore::main(&args, &scene),
        CliCommand::Pack(args) => pack::main(&args, &scene),
        CliCommand::Doctor(args) => doctor::main(&args, &scene),
        CliCommand::Completions(args) => completions::main(&args),
        CliCommand::Agent(_) | CliCommand::SubmitServer(_) => Ok(Exit::Done),
    }
}

/// Opens the diagnostic log if the user wants one.
fn open_log(file: Option<&Path>) -> Result<(), Problem> {
    let directives = log_directives();
    if file.is_none() && directives.is_none() {
        return Ok(());
    }
    diagnostic_log::open_log(&Env::read(), file, directives.as_deref())?;
    let words: Vec<_> = std::env::args_os().collect();
    tracing::info!(version = env!("CARGO_PKG_VERSION"), "started as {words:?}");
    Ok(())
}

impl CliContext {
    fn new(args: &GlobalArgs) -> Result<Self, Problem> {
        let here = std::env::current_dir()
            .map_err(|e| Problem::environment("the current folder is gone").caused_by(&e))?;
        let folder = args
            .folder
            .as_ref()
            .map_or(here.clone(), |folder| here.join(folder));
        if !folder.is_dir() {
            return Err(Problem::user(format!(
                "`{}` is not a folder",
                folder.display()
            )));
        }
        let codeteam = std::env::current_exe()
            .map_err(|e| Problem::environment("codeteam's own program is gone").caused_by(&e))?;
        let detail = match (args.quiet, args.verbose) {
            (true, _) => Verbosity::Quiet,
            (_, true) => Verbosity::Verbose,
            _ => Verbosity::Normal,
        };
        Ok(Self {
            folder,
            here,
            json: args.json,
            detail,
            env: Env::read(),
            codeteam,
            calls: CommandPrefixes::default(),
        })
    }

    /// Returns how much of a run is shown: as given on the command line, or else as configured.
    pub(crate) fn verbosity_for(&self, config: &Config) -> Verbosity {
        match (self.detail, config.output.verbose) {
            (Verbosity::Normal, Some(true)) => Verbosity::Verbose,
            (detail, _) => detail,
        }
    }

    /// Finds the project, which need not have had a run; nothing is created.
    pub(crate) fn find_project(&self) -> Result<Project, Problem> {
        Ok(Project::find(&self.folder, self.env.clone())?)
    }

    /// Finds the project, with some configuration values overridden.
    pub(crate) fn find_project_with(&self, set: &[String]) -> Result<Project, Problem> {
        Ok(Project::find_with_settings(
            &self.folder,
            self.env.clone(),
            set,
        )?)
    }

    /// Opens a project's engine, ready for runs.
    pub(crate) fn open_engine(&self, project: Project) -> Result<Arc<Engine>, Problem> {
        Ok(Arc::new(Engine::open(project, self.codeteam.clone())?))
    }

    /// Opens the project's engine if it has ever had a run; nothing is created.
    pub(crate) fn existing_engine(&self) -> Result<Option<Arc<Engine>>, Problem> {
        let engine = Engine::open_existing(&self.folder, self.env.clone(), self.codeteam.clone())?;
        Ok(engine.map(Arc::new))
    }

    /// Opens the project's engine, and fails if it never had a run.
    pub(crate) fn engine_with_runs(&self) -> Result<Arc<Engine>, Problem> {
        self.existing_engine()?
            .ok_or_else(|| Problem::from(codeteam_engine::engine::Error::NoRuns))
    }
}

/// Files that are named on the command line or in a configuration are small. Whoever names another
/// one by mistake, or clones a repository that does, gets an error instead of a full memory.
const MAX_NAMED_FILE: u64 = 16 << 20;

/// Reads a file that the user or the configuration names; a pipe will do, too.
pub(crate) fn read_named_file(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    let file = fs::File::open(path)?;
    let length = file.take(MAX_NAMED_FILE + 1).read_to_string(&mut text)?;
    if length as u64 > MAX_NAMED_FILE {
        let limit = format!("it is longer than {} MiB", MAX_NAMED_FILE >> 20);
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, limit));
    }
    Ok(text)
}

/// The name of a run on the command line.
#[derive(Debug, clap::Args)]
pub(crate) struct RunName {
    /// A run: its id or a part of it. The newest if left out.
    #[arg(value_name = "RUN")]
    pub(crate) run: Option<String>,
}
