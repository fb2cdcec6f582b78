//! `codeteam init`: surveys a repository, proposes a configuration, shows it and writes it.

mod config;
mod files;
mod layout;
mod render;
mod schema;

use std::io::{self, BufRead as _, IsTerminal as _};
use std::path::Path;

use codeteam_engine::config::{Config, ConfigOrigins};
use codeteam_engine::engine::{Engine, Error as EngineError};
use codeteam_engine::library::{Library, LibraryFolders};
use codeteam_engine::maintenance;
use codeteam_host::git::Repo;
use codeteam_survey::RepoSurvey;
use codeteam_workflow::yaml::SourceFiles;
use serde::Serialize;

use self::files::ProposedFile;
pub(super) use self::render::unified_diff;
use crate::cli::{CliContext, trust};
use crate::exit::Exit;
use crate::output::{self, eprint_line, print_text};
use crate::progress::Verbosity;
use codeteam_engine::problem::Problem;

/// The largest number of files inspected in a repository.
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
    /// The workflow to propose, instead of the one that seems to fit.
    #[arg(long, value_name = "NAME")]
    template: Option<String>,
    /// Lay out the repository for a workflow: `strict` has folders for its agents' prompts, their
    /// configuration, notes, the code and the logs.
    #[arg(long, value_name = "NAME", conflicts_with = "template")]
    layout: Option<LayoutArg>,
}

/// A layout of a repository.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum LayoutArg {
    /// For the workflow of the same name.
    Strict,
}

/// The output of `--json`.
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
        require_workflow(name, &folder, scene)?;
    }
    let mut survey = survey_repository(&repo, args.template.as_deref())?;
    if args.layout.is_some() {
        layout::apply_layout(&mut survey);
    }
    // The project already has checks of its own.
    let known = Config::load(&ConfigOrigins::for_project(&scene.env, &folder));
    if known.is_ok_and(|known| !known.verification.commands.is_empty()) {
        survey
            .notes
            .retain(|note| note != codeteam_survey::NO_CHECK);
    }
    let mut notes = Vec::new();
    if root.join(".team").is_dir() {
        notes.push(
            "`.team/` is not read: copy its `config.yaml` to `.codeteam/config.yml` and its `agents/` to \
             `.codeteam/agents/`; `codeteam config validate` then says what to change"
                .to_owned(),
        );
    }
    let mut proposed = files::propose_files(
        &root,
        &survey,
        args.layout,
        schema::schema_files(),
        &mut notes,
    )?;
    if args.layout.is_some() {
        layout::propose_layout_files(&root, &survey, &mut proposed)?;
    }
    notes.extend(maintenance::foreign_layout(&root));
    let is_asked = !args.yes && !args.dry_run && !proposed.is_empty();
    if !scene.json {
        let is_shown = scene.detail >= Verbosity::Normal || is_asked || args.dry_run;
        if is_shown {
            print_text(&render::format_survey(&survey))?;
            print_text(&render::format_files(&proposed))?;
            print_text(&render::format_notes(&survey))?;
        }
        for note in &notes {
            eprint_line(&format!("note: {note}"));
        }
    }
    let agreed = match (args.yes, is_asked && !scene.json) {
        (true, _) => true,
        (false, true) => confirm("Write these? [Y/n]")?,
        (false, false) => false,
    };
    if agreed {
        let before = trust::requested_grants(scene, &root);
        files::write_files(&root, &proposed)?;
        trust::trust_init_files(scene, &root, &before)?;
    }
    if scene.json {
        output::print_json(&InitReport {
            survey: &survey,
            files: &proposed,
            written: agreed && !proposed.is_empty(),
            notes: &notes,
        })?;
    }
    Ok(report_outcome(args, scene, &proposed, agreed))
}

/// Reports the outcome.
fn report_outcome(
    args: &Args,
    scene: &CliContext,
    proposed: &[ProposedFile],
    agreed: bool,
) -> Exit {
    let is_told = scene.detail >= Verbosity::Normal && !scene.json;
    if proposed.is_empty() {
        if is_told {
            eprint_line("nothing to write: everything that init proposes is there already");
        }
        return Exit::Done;
    }
    if agreed {
        if is_told {
            let codeteam = &scene.calls.codeteam;
            eprint_line(&format!(
                "wrote {} files; review and commit them",
                proposed.len()
            ));
            eprint_line(&format!("  check   {codeteam} doctor"));
            eprint_line(&format!("  see     {codeteam} workflow graph"));
            eprint_line(&format!("  start   {codeteam} run \"what you want\""));
            eprint_line(&format!(
                "  or      {codeteam} mcp install claude  # a session of yours does it; or codex, gemini"
            ));
        }
        return Exit::Done;
    }
    if args.dry_run {
        return Exit::Done;
    }
    if is_terminal() && !scene.json {
        eprint_line("nothing was written");
        return Exit::Done;
    }
    eprint_line(
        "nothing was written: there is no terminal to ask on; `codeteam init --yes` writes it",
    );
    Exit::Waiting
}

/// Surveys the repository.
fn survey_repository(repo: &Repo, template: Option<&str>) -> Result<RepoSurvey, Problem> {
    let (files, has_more) = repo.checkout_files(MAX_FILES)?;
    let root = repo.top_level();
    let library = Library::read(LibraryFolders::default(), SourceFiles::default(), None);
    let known = library.workflows();
    let templates: Vec<&str> = known.iter().map(|listed| listed.name.as_str()).collect();
    let read = |path: &str| codeteam_survey::read_below(root, path);
    let mut survey = codeteam_survey::survey_repository(&files, &read, &templates);
    if has_more {
        let note = format!("only the first {MAX_FILES} files were looked at");
        survey.notes.push(note);
    }
    if let Some(name) = template {
        survey.template = codeteam_survey::DetectedFeature {
            name: name.to_owned(),
            why: "`--template` names it".to_owned(),
        };
    }
    Ok(survey)
}

/// Fails if a workflow does not exist.
fn require_workflow(name: &str, folder: &Path, scene: &CliContext) -> Result<(), Problem> {
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

/// Asks for confirmation; without a terminal the answer is no.
pub(super) fn confirm(question: &str) -> Result<bool, Problem> {
    if !is_terminal() {
        return Ok(false);
    }
    loop {
        eprint_line(question);
        let mut line = String::new();
        let read = io::stdin().lock().read_line(&mut line);
        let read =
            read.map_err(|e| Problem::environment("could not read the answer").caused_by(&e))?;
        match line.trim().to_ascii_lowercase().as_str() {
            // The end of the input is not an answer.
            "" if read == 0 => return Ok(false),
            "" | "y" | "yes" => return Ok(true),
            "n" | "no" => return Ok(false),
            _ => {}
        }
    }
}
