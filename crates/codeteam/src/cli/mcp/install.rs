//! `codeteam mcp install` and `uninstall`: register codeteam with an MCP client.

use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use codeteam_engine::engine::Engine;
use codeteam_host::process;
use serde::Serialize;

use super::entry::{ExistingEntry, InstallScope, McpClient, NAME, ServerEntry, shell_line};
use super::{codex, opencode};

use crate::cli::{CliContext, init};
use crate::exit::Exit;
use crate::output::{self, eprint_line, print_text};
use crate::progress::Verbosity;
use codeteam_engine::problem::Problem;

/// Arguments of both.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The client.
    client: McpClient,
    /// Who can use it.
    #[arg(long, value_name = "SCOPE", default_value = "user")]
    scope: InstallScope,
    /// Do it without asking.
    #[arg(long)]
    yes: bool,
}

/// The change to make.
enum RegistrationChange {
    /// Nothing needs to change.
    None,
    /// Commands of the client's own.
    Commands(Vec<Vec<String>>),
    /// A file is written, or removed if the new text is empty.
    File { before: String, after: String },
}

/// The output of `--json`.
#[derive(Serialize)]
struct InstallReport {
    client: &'static str,
    scope: &'static str,
    file: PathBuf,
    /// The commands to run, as shell lines.
    commands: Vec<String>,
    /// The diff of the file, if it is edited here.
    difference: Option<String>,
    /// Whether the change was made.
    done: bool,
    /// Whether codeteam is registered now.
    registered: bool,
}

/// The registration with one client.
struct ClientRegistration<'a> {
    args: &'a Args,
    scene: &'a CliContext,
    /// The top of the project, or the folder if it is in none.
    top: PathBuf,
    file: PathBuf,
    /// The wanted entry; `None` to remove it.
    wanted: Option<ServerEntry>,
}

pub(super) fn install(args: &Args, scene: &CliContext) -> Result<Exit, Problem> {
    let entry = own_entry(args.scope, scene);
    ClientRegistration::new(args, scene, Some(entry))?.run()
}

pub(super) fn uninstall(args: &Args, scene: &CliContext) -> Result<Exit, Problem> {
    ClientRegistration::new(args, scene, None)?.run()
}

/// Returns how a client starts codeteam: by its name where that finds this program, and always in
/// files that are shared with others.
fn own_entry(scope: InstallScope, scene: &CliContext) -> ServerEntry {
    let named = codeteam_host::process::find_program(Path::new(NAME), &scene.env.path);
    let same = |path: PathBuf| {
        let (one, other) = (path.canonicalize(), scene.codeteam.canonicalize());
        one.is_ok_and(|one| other.is_ok_and(|other| one == other))
    };
    let is_named = named.is_some_and(same);
    if scope == InstallScope::Project && !is_named {
        eprint_line("note: `codeteam` is not on your `PATH`, where this entry looks for it");
    }
    let command = if is_named || scope == InstallScope::Project {
        NAME.to_owned()
    } else {
        scene.codeteam.display().to_string()
    };
    ServerEntry {
        command,
        args: vec!["mcp".to_owned()],
    }
}

impl<'a> ClientRegistration<'a> {
    fn new(
        args: &'a Args,
        scene: &'a CliContext,
        wanted: Option<ServerEntry>,
    ) -> Result<Self, Problem> {
        let top = match (args.scope, Engine::repository(&scene.folder, &scene.env)) {
            (_, Ok(repo)) => repo.top_level().to_owned(),
            (InstallScope::User, Err(_)) => scene.folder.clone(),
            (InstallScope::Project, Err(error)) => return Err(error.into()),
        };
        let file = args.client.config_file(args.scope, &scene.env, &top);
        let file = file.ok_or_else(|| Problem::environment("`HOME` is not set"))?;
        Ok(Self {
            args,
            scene,
            top,
            file,
            wanted,
        })
    }

    fn run(&self) -> Result<Exit, Problem> {
        let change = self.plan_change()?;
        let is_told = !self.scene.json && self.scene.detail >= Verbosity::Normal;
        if matches!(change, RegistrationChange::None) {
            if is_told {
                eprint_line(&self.describe_no_change());
            }
            self.report(&change, false)?;
            return Ok(Exit::Done);
        }
        if !self.scene.json && (is_told || !self.args.yes) {
            print_text(&self.describe_change(&change))?;
        }
        let agreed = self.args.yes || (!self.scene.json && init::confirm("Do it? [Y/n]")?);
        if agreed {
            self.apply_change(&change)?;
            if is_told {
                eprint_line(&self.describe_done());
            }
        }
        self.report(&change, agreed)?;
        if agreed || (init::is_terminal() && !self.scene.json) {
            return Ok(Exit::Done);
        }
        eprint_line("nothing was done: there is no terminal to ask on; `--yes` does it");
        Ok(Exit::Waiting)
    }

    /// Returns true if the existing entry is the wanted one.
    fn is_as_wanted(&self, found: &ExistingEntry) -> bool {
        match (&self.wanted, found) {
            (Some(wanted), ExistingEntry::Entry(Some(entry))) => entry == wanted,
            (None, ExistingEntry::Nothing) => true,
            _ => false,
        }
    }

    fn plan_change(&self) -> Result<RegistrationChange, Problem> {
        let Args { client, scope, .. } = *self.args;
        let found = client.find_entry(&self.file);
        if self.is_as_wanted(&found) {
            return Ok(RegistrationChange::None);
        }
        if client.is_edited_directly(scope) {
            return self.edit_file();
        }
        let mut commands = Vec::new();
        if matches!(found, ExistingEntry::Entry(_)) || self.wanted.is_none() {
            commands.push(client.remove_command(scope));
        }
        if let Some(entry) = &self.wanted {
            commands.push(client.add_command(scope, entry));
        }
        Ok(RegistrationChange::Commands(commands))
    }

    /// Edits the file of a client that has no command for it.
    fn edit_file(&self) -> Result<RegistrationChange, Problem> {
        let before = match fs::read_to_string(&self.file) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
            Err(error) => {
                let what = format!("could not read `{}`", self.file.display());
                return Err(Problem::environment(what).caused_by(&error));
            }
        };
        let after = match (&self.wanted, self.args.client) {
            (Some(entry), McpClient::Opencode) => opencode::with_entry(&before, entry),
            (None, McpClient::Opencode) => opencode::without_entry(&before),
            (Some(entry), _) => codex::with_entry(&before, entry),
            (None, _) => codex::without_entry(&before),
        };
        let after = after.ok_or_else(|| {
            let what = format!(
                "`{}` is written in a way that cannot be changed here",
                self.file.display()
            );
            let place = match self.args.client {
                McpClient::Opencode => "entry `mcp",
                _ => "table `mcp_servers",
            };
            Problem::user(what).hint(format!("change its {place}.{NAME}` in an editor"))
        })?;
        Ok(RegistrationChange::File { before, after })
    }

    fn commands(&self, change: &RegistrationChange) -> Vec<String> {
        let RegistrationChange::Commands(commands) = change else {
            return Vec::new();
        };
        let program = self.args.client.program();
        let whole = |args: &Vec<String>| {
            shell_line(std::iter::once(program).chain(args.iter().map(String::as_str)))
        };
        commands.iter().map(whole).collect()
    }

    fn difference(&self, change: &RegistrationChange) -> Option<String> {
        let RegistrationChange::File { before, after } = change else {
            return None;
        };
        let inside = self.file.strip_prefix(&self.top).unwrap_or(&self.file);
        Some(init::unified_diff(
            &inside.display().to_string(),
            before,
            after,
        ))
    }

    /// Describes the change that is about to be made.
    fn describe_change(&self, change: &RegistrationChange) -> String {
        if let Some(difference) = self.difference(change) {
            return difference;
        }
        let mut text = format!("changes {}\n", self.file.display());
        if let ExistingEntry::Entry(entry) = self.args.client.find_entry(&self.file) {
            let now = entry.map(|entry| format!("`{}`", entry.shell_line()));
            let now = now.unwrap_or_else(|| "a server that is not a command".to_owned());
            let _ = writeln!(text, "  it has {now} now");
        }
        for command in self.commands(change) {
            let _ = writeln!(text, "  {command}");
        }
        text
    }

    fn describe_no_change(&self) -> String {
        let (client, file) = (self.args.client.program(), self.file.display());
        match &self.wanted {
            Some(_) => format!("nothing to do: {client} has it already, in {file}"),
            None => format!("nothing to do: {client} does not have it in {file}"),
        }
    }

    fn describe_done(&self) -> String {
        let client = self.args.client.program();
        match (&self.wanted, self.args.client, self.args.scope) {
            (None, ..) => format!("{client} no longer has it"),
            (_, McpClient::Codex, InstallScope::Project) => {
                format!("{client} has it in the next session, if it trusts this project")
            }
            (_, McpClient::Gemini, _) => format!(
                "{client} has it in the next session, in folders that it trusts; `/mcp` shows it there"
            ),
            _ => format!("{client} has it in the next session; `/mcp` shows it there"),
        }
    }

    fn apply_change(&self, change: &RegistrationChange) -> Result<(), Problem> {
        match change {
            RegistrationChange::None => {}
            RegistrationChange::Commands(commands) => {
                for command in commands {
                    self.run_client(command)?;
                }
            }
            RegistrationChange::File { after, .. } => self.write(after).map_err(|error| {
                let what = format!("could not write `{}`", self.file.display());
                Problem::environment(what).caused_by(&error)
            })?,
        }
        // Check the result instead of trusting the client.
        let found = self.args.client.find_entry(&self.file);
        if self.is_as_wanted(&found) || found == ExistingEntry::Unknown {
            return Ok(());
        }
        let client = self.args.client.program();
        let what = format!("`{client}` ran, but its file is not as expected");
        let mut problem = Problem::environment(what);
        if self.args.client == McpClient::Gemini && self.args.scope == InstallScope::Project {
            problem =
                problem.hint("Gemini looks at a project's file only in folders that it trusts");
        }
        let file = self.file.display();
        Err(problem.hint(match &self.wanted {
            Some(_) => format!("look at `{file}`"),
            None => format!("take `{NAME}` out of `{file}` in an editor"),
        }))
    }

    fn write(&self, text: &str) -> io::Result<()> {
        if text.is_empty() {
            return fs::remove_file(&self.file);
        }
        if let Some(folder) = self.file.parent() {
            fs::create_dir_all(folder)?;
        }
        fs::write(&self.file, text)
    }

    /// Runs the client to change its own file.
    fn run_client(&self, args: &[String]) -> Result<(), Problem> {
        let program = self.args.client.program();
        let asked = process::run_program(&self.scene.env.path, program, args, &self.top);
        let command = shell_line(std::iter::once(program).chain(args.iter().map(String::as_str)));
        match asked {
            Ok(Some(asked)) if asked.succeeded => Ok(()),
            Ok(Some(asked)) => Err(Problem::environment(format!("`{command}` has failed"))
                .caused_by(&io::Error::other(asked.output))),
            Ok(None) => Err(Problem::user(format!("`{program}` was not found"))
                .hint(format!("install it, then run `{command}`"))),
            Err(error) => Err(
                Problem::environment(format!("`{program}` could not be started")).caused_by(&error),
            ),
        }
    }

    fn report(&self, change: &RegistrationChange, done: bool) -> Result<(), Problem> {
        if !self.scene.json {
            return Ok(());
        }
        let found = self.args.client.find_entry(&self.file);
        output::print_json(&InstallReport {
            client: self.args.client.program(),
            scope: self.args.scope.as_str(),
            file: self.file.clone(),
            commands: self.commands(change),
            difference: self.difference(change),
            done,
            registered: matches!(found, ExistingEntry::Entry(_)),
        })
    }
}
