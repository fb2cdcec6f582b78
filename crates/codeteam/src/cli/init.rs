//! `codeteam init`: look at a repository, propose a configuration, show it, write it.

mod config;
mod files;
mod layout;
mod schema;
mod told;

use std::io::{self, BufRead as _, IsTerminal as _};
use std::path::Path;

use codeteam_core::yaml::SourceFiles;
use codeteam_engine::config::{Config, ConfigOrigins};
use codeteam_engine::engine::{Engine, Error as EngineError};
use codeteam_engine::git::Repo;
use codeteam_engine::library::{Library, LibraryFolders};
use codeteam_engine::maintenance;
use codeteam_engine::survey::{self, RepoSurvey};
use serde::Serialize;

use self::files::ProposedFile;
pub(super) use self::told::difference;
use crate::cli::{CliContext, trust};
use crate::exit::Exit;
use crate::output::{self, out, say};
use crate::problem::Problem;
use crate::progress::Verbosity;

/// How many files of a repository are looked at.
const MAX_FILES: usize = 200_000;

/// Arguments of `init`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Write without asking.
    #[arg(long, conflicts_with = "dry_run")]
    yes: bool,
    /// Show what would be written, and write nothing.
    #[arg(long)]
    dry_run: bool,
    /// The workflow to propose, in place of the one that seems to fit.
    #[arg(long, value_name = "NAME")]
    template: Option<String>,
    /// Lay the repository out for a workflow: `strict` has folders for its agents' prompts, their
    /// configuration, notes, the code and the logs.
    #[arg(long, value_name = "NAME", conflicts_with = "template")]
    layout: Option<LayoutArg>,
}

/// How a repository can be laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum LayoutArg {
    /// For the workflow of the same name.
    Strict,
}

/// What `--json` prints.
#[derive(Serialize)]
struct InitReport<'a> {
    survey: &'a RepoSurvey,
    files: &'a [ProposedFile],
    written: bool,
    notes: &'a [String],
}

pub(crate) fn main(args: &Args, scene: &CliContext) -> Result<Exit, Problem> {
    let repo = Engine::repository(&scene.folder, &scene.env)?;
    let root = repo.top_level().to_owned();
    let folder = root.join(".codeteam");
    if let Some(name) = &args.template {
        known(name, &folder, scene)?;
    }
    let mut survey = look(&repo, args.template.as_deref())?;
    if args.layout.is_some() {
        layout::fit(&mut survey);
    }
    // The project has its own already.
    let known = Config::load(&ConfigOrigins::of(&scene.env, &folder));
    if known.is_ok_and(|known| !known.verification.commands.is_empty()) {
        survey.notes.retain(|note| note != survey::NO_CHECK);
    }
    let mut notes = Vec::new();
    if root.join(".team").is_dir() {
        notes.push(
            "`.team/` is not read: copy its `config.yaml` to `.codeteam/config.yml` and its `agents/` to \
             `.codeteam/agents/`; `codeteam config validate` then says what to change"
                .to_owned(),
        );
    }
    let mut proposed = files::propose(&root, &survey, args.layout, schema::files(), &mut notes)?;
    if args.layout.is_some() {
        layout::propose(&root, &survey, &mut proposed)?;
    }
    notes.extend(maintenance::foreign_layout(&root));
    let is_asked = !args.yes && !args.dry_run && !proposed.is_empty();
    if !scene.json {
        let is_shown = scene.detail >= Verbosity::Normal || is_asked || args.dry_run;
        if is_shown {
            out(&told::found(&survey))?;
            out(&told::proposed(&proposed))?;
            out(&told::notes(&survey))?;
        }
        for note in &notes {
            say(&format!("note: {note}"));
        }
    }
    let agreed = match (args.yes, is_asked && !scene.json) {
        (true, _) => true,
        (false, true) => ask("Write these? [Y/n]")?,
        (false, false) => false,
    };
    if agreed {
        let before = trust::asked_for(scene, &root);
        files::write(&root, &proposed)?;
        trust::trust_written(scene, &root, &before)?;
    }
    if scene.json {
        output::json(&InitReport {
            survey: &survey,
            files: &proposed,
            written: agreed && !proposed.is_empty(),
            notes: &notes,
        })?;
    }
    Ok(end(args, scene, &proposed, agreed))
}

/// Says what came of it.
fn end(args: &Args, scene: &CliContext, proposed: &[ProposedFile], agreed: bool) -> Exit {
    let is_told = scene.detail >= Verbosity::Normal && !scene.json;
    if proposed.is_empty() {
        if is_told {
            say("nothing to write: everything that init proposes is there already");
        }
        return Exit::Done;
    }
    if agreed {
        if is_told {
            let codeteam = &scene.calls.codeteam;
            say(&format!(
                "wrote {} files; look them over and commit them",
                proposed.len()
            ));
            say(&format!("  check   {codeteam} doctor"));
            say(&format!("  see     {codeteam} workflow graph"));
            say(&format!("  start   {codeteam} run \"what you want\""));
            say(&format!(
                "  or      {codeteam} mcp install claude  # a session of yours does it; or codex, gemini"
            ));
        }
        return Exit::Done;
    }
    if args.dry_run {
        return Exit::Done;
    }
    if is_terminal() && !scene.json {
        say("nothing was written");
        return Exit::Done;
    }
    say("nothing was written: there is no terminal to ask on; `codeteam init --yes` writes it");
    Exit::Waiting
}

/// Looks at the repository.
fn look(repo: &Repo, template: Option<&str>) -> Result<RepoSurvey, Problem> {
    let (files, has_more) = repo.files(MAX_FILES)?;
    let root = repo.top_level();
    let library = Library::read(LibraryFolders::default(), SourceFiles::default(), None);
    let known = library.workflows();
    let templates: Vec<&str> = known.iter().map(|listed| listed.name.as_str()).collect();
    let read = |path: &str| survey::read_below(root, path);
    let mut survey = survey::survey(&files, &read, &templates);
    if has_more {
        let note = format!("only the first {MAX_FILES} files were looked at");
        survey.notes.push(note);
    }
    if let Some(name) = template {
        survey.template = survey::DetectedFeature {
            name: name.to_owned(),
            why: "`--template` names it".to_owned(),
        };
    }
    Ok(survey)
}

/// Refuses a workflow that is not there.
fn known(name: &str, folder: &Path, scene: &CliContext) -> Result<(), Problem> {
    let places = LibraryFolders {
        user: scene
            .env
            .config_home
            .as_ref()
            .map(|home| home.join("codeteam")),
        project: Some((folder.to_owned(), folder.to_owned())),
    };
    let mut library = Library::read(places, SourceFiles::default(), None);
    let surroundings = Config::load(&ConfigOrigins::default())
        .map_err(EngineError::from)?
        .surroundings();
    match library.compile(name, surroundings) {
        Ok(_) => Ok(()),
        Err(error) => Err(EngineError::from(error).into()),
    }
}

pub(super) fn is_terminal() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// Asks whether to do something; nobody there is a no.
pub(super) fn ask(question: &str) -> Result<bool, Problem> {
    if !is_terminal() {
        return Ok(false);
    }
    loop {
        say(question);
        let mut line = String::new();
        let read = io::stdin().lock().read_line(&mut line);
        let read =
            read.map_err(|e| Problem::environment("could not read the answer").caused_by(&e))?;
        match line.trim().to_ascii_lowercase().as_str() {
            // The end of the input is no answer.
            "" if read == 0 => return Ok(false),
            "" | "y" | "yes" => return Ok(true),
            "n" | "no" => return Ok(false),
            _ => {}
        }
    }
}
