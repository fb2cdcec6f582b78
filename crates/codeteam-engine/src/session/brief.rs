//! Writes what a session is told in addition to its assignment.

use codeteam_core::Run;
use codeteam_core::assignment::{Assignment, build_assignment};
use codeteam_core::ids::{AttemptId, RunId};

use crate::context::strategies::StrategyCatalog;
use crate::context::{
    self, DocumentSources, GitTreeFiles, LazyProject, PromptRequest, PromptSubject,
};
use crate::engine::{Engine, Error};
use crate::find;
use crate::prompt::{self, TemplateCatalog};
use codeteam_host::git::{self, Oid};
use codeteam_host::process;

/// The maximum number of files that are named to a session.
const NAMES: usize = 30;

/// The brief that a session gets in addition to its assignment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SessionBrief {
    /// The role's instructions.
    pub instructions: String,
    /// The files that matter, most important first; the session can read them itself.
    pub context: Vec<String>,
}

/// The subcommand with which codeteam starts itself to choose files; the run and the attempt
/// follow.
pub(crate) const CHOOSE: &str = "choose-files";

/// Builds the brief of an assignment. The files are chosen in another process, because that takes
/// much memory for a moment, and a process that runs alongside a session should need little. If the
/// other process fails, they are chosen here.
pub fn brief(engine: &Engine, run: &Run, assignment: &Assignment) -> Result<SessionBrief, Error> {
    let templates = TemplateCatalog::from_pinned(&run.templates);
    Ok(SessionBrief {
        instructions: prompt::render_instructions(assignment, &templates, &engine.redactor)?,
        context: match choose_in_subprocess(engine, run, &assignment.id) {
            Some(names) => names,
            None => choose(engine, run, assignment)?,
        },
    })
}

fn choose_in_subprocess(engine: &Engine, run: &Run, id: &AttemptId) -> Option<Vec<String>> {
    let id = serde_json::to_string(id).ok()?;
    let args = [CHOOSE, run.id.as_str(), &id];
    let printed = process::run_codeteam(&engine.codeteam, args, engine.repo.top_level());
    serde_json::from_slice(&printed.ok()??).ok()
}

/// Returns the files that matter for an attempt that is due, most important first; `None` if it is
/// not due.
pub fn files_for_attempt(
    engine: &Engine,
    run: &str,
    attempt: &str,
) -> Result<Option<Vec<String>>, Error> {
    let run = engine.load_run(&RunId(run.to_owned()))?;
    let id = serde_json::from_str(attempt).ok();
    let told = id.and_then(|id: AttemptId| build_assignment(&run, &id));
    told.map(|told| choose(engine, &run, &told)).transpose()
}

fn choose(engine: &Engine, run: &Run, assignment: &Assignment) -> Result<Vec<String>, Error> {
    let templates = TemplateCatalog::from_pinned(&run.templates);
    let redactor = &engine.redactor;
    let unknown = |rev: &str| git::Error::UnknownRevision {
        rev: rev.to_owned(),
    };
    let frame = run.frames.get(&assignment.id.frame);
    let base = frame.map_or(&run.base, |frame| &frame.base);
    let tree = Oid::parse(&assignment.tree.0).ok_or_else(|| unknown(&assignment.tree.0))?;
    let from = Oid::parse(&base.tree.0).ok_or_else(|| unknown(&base.tree.0))?;
    let commit = Oid::parse(&base.commit.0).ok_or_else(|| unknown(&base.commit.0))?;
    let files = GitTreeFiles::new(&engine.repo, &tree, &assignment.shown.exclude)?;
    let cache = engine.env.context_cache(engine.repo.top_level());
    let history =
        || find::load_history(&engine.repo, &commit, cache.as_deref()).unwrap_or_default();
    let about = PromptSubject {
        words: context::describe_assignment(assignment),
        targets: assignment.shown.targets.clone(),
        cache: cache.clone(),
        history: &history,
    };
    let sight = LazyProject::new(&files, about);
    let asked = PromptRequest {
        assignment,
        templates: &templates,
        strategies: &StrategyCatalog::from_pinned(&run.strategies)?,
        documents: DocumentSources {
            repo: &engine.repo,
            base: &from,
            folder: &engine.folder,
            user_folder: engine.env.user_folder(),
            notes: None,
        },
        project: &sight,
        map: &|tokens| sight.map(tokens),
        redactor,
        diff: None,
        changes: None,
        feedback_output: Vec::new(),
        outputs: Vec::new(),
        budget: 0,
        schema_given: false,
        plans_first: false,
    };
    Ok(context::list_context_files(&asked, NAMES)?)
}
