//! The command line: raw arguments here, one file per command below.

mod agent;
mod baseline;
mod choose_files;
mod completions;
mod config;
mod decide;
mod demo;
mod deps;
mod diff;
mod doctor;
mod drive;
mod edit;
mod find;
mod init;
mod log;
mod map;
mod mcp;
mod merge;
mod pack;
mod plan;
mod prune;
mod report;
mod restore;
mod resume;
mod role;
mod run;
mod sandbox;
mod show;
mod status;
mod submit_server;
mod talk;
mod trust;
mod worker;
mod workflow;

use std::path::PathBuf;
use std::sync::Arc;

use clap::{Parser, Subcommand};
use codeteam_engine::Engine;
use codeteam_engine::config::Config;
use codeteam_engine::engine::Project;
use codeteam_engine::env::Env;

use crate::exit::{self, Exit};
use crate::problem::Problem;
use crate::progress::Verbosity;

/// Takes a goal to verified commits with a team of AI workers.
#[derive(Debug, Parser)]
#[command(name = "codeteam", version, about, after_help = exit::HELP, max_term_width = 100)]
pub(crate) struct Args {
    #[command(flatten)]
    everywhere: GlobalArgs,
    #[command(subcommand)]
    command: CliCommand,
}

/// What every command takes.
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
    /// Say only what is wrong.
    #[arg(
        short,
        long,
        global = true,
        conflicts_with = "verbose",
        help_heading = "Everywhere"
    )]
    quiet: bool,
    /// Show what workers and checks say.
    #[arg(short, long, global = true, help_heading = "Everywhere")]
    verbose: bool,
}

#[derive(Debug, Subcommand)]
enum CliCommand {
    /// Look at this repository, and write the configuration that fits it.
    ///
    /// Proposes the checks, the set-up command and the roles that the repository's own files speak
    /// for, says why, shows every file it would write, and asks. What is there already is only
    /// added to, and only as shown.
    ///
    /// Without a terminal it writes nothing unless `--yes` is given, and exits with 3.
    Init(init::Args),
    /// Run the whole job on a small sample project, with scripted workers.
    Demo(demo::Args),
    /// Shape a plan in a conversation with the planner; nothing is built.
    ///
    /// The planner asks, you answer; `/save_plan` has the plan written, `/request_feedback_round`
    /// has it checked by another role, `/edit` opens it in your editor, `/accept_plan` ends the
    /// conversation, and `codeteam run` carries it out. `/quit` leaves; `codeteam plan` goes on
    /// where you left.
    ///
    /// Without a terminal, what you say is read from standard input or `--answers`; where it ends
    /// and something is asked, codeteam exits with 3.
    Plan(plan::Args),
    /// Take a goal to verified commits on a branch of its own.
    ///
    /// On a terminal you accept the plan and judge every change, unless you say `--auto`. Without a
    /// goal it carries out the plan that was accepted last.
    Run(run::Args),
    /// Show the runs of this project, or one of them.
    Status(status::Args),
    /// Print what happened in a run.
    Log(log::Args),
    /// Show one run in full: tasks, findings, questions, cost.
    Show(show::Args),
    /// Show what checks, verifiers and people say of a change.
    ///
    /// Of the task that waits for a decision, or the one that was judged last. On a terminal it is
    /// short, with what is wrong below each line; elsewhere, and with `--markdown`, it is the whole
    /// report, as `.codeteam/reports` has it.
    Report(report::Args),
    /// Print the diff of a run, or of one of its tasks.
    Diff(diff::Args),
    /// Say yes to the question a run waits with.
    Approve(decide::ApproveArgs),
    /// Say no to the question a run waits with, and why.
    Reject(decide::RejectArgs),
    /// Answer the question a run waits with.
    Answer(decide::AnswerArgs),
    /// Change what a run wants judged yourself, and hand it back.
    ///
    /// Opens the files of the change in your editor, in a worktree of their own. What you hand back
    /// is checked and judged again.
    Edit(edit::Args),
    /// Take a run up where it stands.
    Resume(resume::Args),
    /// Take failed tasks of a run up again.
    Retry(decide::RetryArgs),
    /// Leave a task out; what depends on it goes on.
    Skip(decide::SkipArgs),
    /// End a run.
    Abort(decide::AbortArgs),
    /// Find out which tasks of a plan need which, by what their files import.
    ///
    /// Looks at the files of each task as they are in the checkout, and follows their imports to the
    /// files of other tasks, also to those that are not written yet. Shows each dependency with the
    /// import that speaks for it, what the plan has already, what would make tasks wait for each
    /// other, and imports of which nothing is known; then asks.
    ///
    /// Without a terminal it changes nothing unless `--yes` is given.
    Deps(deps::Args),
    /// Merge the branch of a run into the branch you are on.
    Merge(merge::Args),
    /// Remove the worktrees of runs that have ended; what they hold is kept.
    Prune(prune::Args),
    /// Bring a removed worktree back into a folder.
    Restore(restore::Args),
    /// Pack a repository, or any folder, into one text for a model.
    ///
    /// Takes the files that git would see, without their secrets, each in a block that nothing in it
    /// can end, and writes them to standard output. Counts their tokens (OpenAI's o200k; other models
    /// count differently).
    Pack(pack::Args),
    /// Show the definitions that matter most, file by file.
    ///
    /// What is defined where is read from the source (Python, JavaScript, TypeScript, Rust, Go, Java).
    /// What others refer to most matters most; with `--focus`, what matters to that.
    Map(map::Args),
    /// Find the files that matter for a task, and say why.
    ///
    /// Ranks by words of the text in paths, names of definitions and texts, by what imports what, by
    /// past commits with such words, and by what is changed together.
    Find(find::Args),
    /// Check that everything codeteam needs is here.
    ///
    /// Looks at git, the configuration, the log, the sandbox, and each worker: its program and its
    /// version, its login or key, and whether its API is reached from where workers are. No model is
    /// asked: `codeteam worker test` does that.
    ///
    /// Exits with 1 if something must be mended before a run can start. A worker that cannot be used
    /// is only pointed out, unless a role of the project's workflow has no other.
    Doctor(doctor::Args),
    /// Show what this repository asks for beyond your own configuration, and decide about it.
    ///
    /// What a repository's files say may narrow what your own configuration allows, never widen it:
    /// no sandbox, other hosts, folders of yours, MCP servers and the like count only if you trust the
    /// repository with exactly that. It is kept outside the repository, and whatever changes asks
    /// again.
    ///
    /// Without a terminal it trusts nothing unless `--yes` is given, and exits with 3 if there is
    /// anything to decide.
    Trust(trust::Args),
    /// Look at the workers there are, and try one out.
    Worker(worker::Args),
    /// Look at the roles there are, and make your own.
    Role(role::Args),
    /// Look at the configuration, and check it.
    Config(config::Args),
    /// Look at the workflows there are, draw them and test them.
    Workflow(workflow::Args),
    /// Build what workers and gates are confined by.
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
    /// Look at what a confined command sees, for `doctor`.
    #[command(hide = true)]
    SandboxLook(sandbox::SandboxProbeArgs),
    /// Knock at a worker's API from where workers are, for `doctor`.
    #[command(hide = true)]
    SandboxKnock(sandbox::ApiProbeArgs),
}

/// What every command may look at.
pub(crate) struct CliContext {
    /// Where to look for the project.
    pub(crate) folder: PathBuf,
    /// Where the user is.
    pub(crate) here: PathBuf,
    /// Whether the result is to be JSON.
    pub(crate) json: bool,
    /// How much to show.
    pub(crate) detail: Verbosity,
    /// The environment.
    pub(crate) env: Env,
    /// codeteam's own program.
    pub(crate) codeteam: PathBuf,
    /// How the user would call codeteam, and git, on this project: what is printed must work.
    pub(crate) calls: CommandPrefixes,
}

/// Commands as the user would type them.
pub(crate) struct CommandPrefixes {
    /// `codeteam`, or with a path and a folder.
    pub(crate) codeteam: String,
    /// `git`, or with a folder.
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

pub(crate) fn dispatch(args: Args) -> Result<Exit, Problem> {
    if let CliCommand::Agent(agent) = &args.command {
        // A worker: no project, no engine, and every millisecond counts.
        return agent::main(agent);
    }
    if let CliCommand::SubmitServer(server) = &args.command {
        return submit_server::main(server);
    }
    let scene = CliContext::new(&args.everywhere)?;
    match args.command {
        CliCommand::Sandbox(args) => sandbox::main(args, &scene),
        CliCommand::SandboxLook(args) => sandbox::look(args),
        CliCommand::SandboxKnock(args) => sandbox::knock(args),
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
        CliCommand::Log(args) => log::main(&args, &scene),
        CliCommand::Show(args) => show::main(&args, &scene),
        CliCommand::Report(args) => report::main(&args, &scene),
        CliCommand::Diff(args) => diff::main(&args, &scene),
        CliCommand::Approve(args) => decide::approve(&args, &scene),
        CliCommand::Reject(args) => decide::reject(&args, &scene),
        CliCommand::Answer(args) => decide::answer(&args, &scene),
        CliCommand::Edit(args) => edit::main(&args, &scene),
        CliCommand::Resume(args) => resume::main(&args, &scene),
        CliCommand::Retry(args) => decide::retry(&args, &scene),
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
                "`{}` is no folder",
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

    /// How much of a run is shown: what the command line says, else what is configured.
    pub(crate) fn detail_of(&self, config: &Config) -> Verbosity {
        match (self.detail, config.output.verbose) {
            (Verbosity::Normal, Some(true)) => Verbosity::Verbose,
            (detail, _) => detail,
        }
    }

    /// The project, which need not have had a run; nothing is made.
    pub(crate) fn project(&self) -> Result<Project, Problem> {
        Ok(Project::find(&self.folder, self.env.clone())?)
    }

    /// The project, with some values of its configuration set.
    pub(crate) fn project_set(&self, set: &[String]) -> Result<Project, Problem> {
        Ok(Project::find_set(&self.folder, self.env.clone(), set)?)
    }

    /// A project made ready for runs.
    pub(crate) fn open(&self, project: Project) -> Result<Arc<Engine>, Problem> {
        Ok(Arc::new(Engine::open(project, self.codeteam.clone())?))
    }

    /// The project, if it has ever had a run; nothing is made.
    pub(crate) fn existing(&self) -> Result<Option<Arc<Engine>>, Problem> {
        let engine = Engine::look(&self.folder, self.env.clone(), self.codeteam.clone())?;
        Ok(engine.map(Arc::new))
    }

    /// The project, which must have had a run.
    pub(crate) fn with_runs(&self) -> Result<Arc<Engine>, Problem> {
        self.existing()?
            .ok_or_else(|| Problem::from(codeteam_engine::engine::Error::NoRuns))
    }
}

/// The name of a run on the command line.
#[derive(Debug, clap::Args)]
pub(crate) struct RunName {
    /// A run: its id or a part of it. The newest if left out.
    #[arg(value_name = "RUN")]
    pub(crate) run: Option<String>,
}
