//! What a session is told beside its assignment.

use codeteam_core::Run;
use codeteam_core::assignment::{Assignment, assignment};
use codeteam_core::ids::{AttemptId, RunId};

use crate::context::strategies::StrategyCatalog;
use crate::context::{
    self, DocumentSources, GitTreeFiles, LazyProject, PromptRequest, PromptSubject,
};
use crate::engine::{Engine, Error};
use crate::find;
use crate::git::{self, Oid};
use crate::process;
use crate::prompt::{self, TemplateCatalog};

/// No more files than this are named to a session.
const NAMES: usize = 30;

/// What a session is told beside its assignment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SessionBrief {
    /// Who it is asked to be.
    pub instructions: String,
    /// The files that matter, the most important first: it can read them itself.
    pub context: Vec<String>,
}

/// The command by which codeteam has itself choose files, with the run and the attempt.
pub const CHOOSE: &str = "choose-files";

/// What a session is told of an assignment beside what the assignment itself says. The files are
/// chosen in another process: it takes much memory for a moment, and who lives beside a session should
/// have little. What cannot be done there is done here.
pub fn brief(engine: &Engine, run: &Run, assignment: &Assignment) -> Result<SessionBrief, Error> {
    let templates = TemplateCatalog::pinned(&run.templates);
    Ok(SessionBrief {
        instructions: prompt::instructions(assignment, &templates, &engine.redactor)?,
        context: match apart(engine, run, &assignment.id) {
            Some(names) => names,
            None => choose(engine, run, assignment)?,
        },
    })
}

fn apart(engine: &Engine, run: &Run, id: &AttemptId) -> Option<Vec<String>> {
    let id = serde_json::to_string(id).ok()?;
    let args = [CHOOSE, run.id.as_str(), &id];
    let printed = process::own(&engine.codeteam, args, engine.repo.top_level());
    serde_json::from_slice(&printed.ok()??).ok()
}

/// The files that matter for an attempt that is due, the most important first; `None` if it is not.
pub fn chosen(engine: &Engine, run: &str, attempt: &str) -> Result<Option<Vec<String>>, Error> {
    let run = engine.load(&RunId(run.to_owned()))?;
    let id = serde_json::from_str(attempt).ok();
    let told = id.and_then(|id: AttemptId| assignment(&run, &id));
    told.map(|told| choose(engine, &run, &told)).transpose()
}

fn choose(engine: &Engine, run: &Run, assignment: &Assignment) -> Result<Vec<String>, Error> {
    let templates = TemplateCatalog::pinned(&run.templates);
    let redactor = &engine.redactor;
    let unknown = |rev: &str| git::Error::UnknownRevision {
        rev: rev.to_owned(),
    };
    let frame = run.frames.get(&assignment.id.frame);
    let base = frame.map_or(&run.base, |frame| &frame.base);
    let tree = Oid::parse(&assignment.tree.0).ok_or_else(|| unknown(&assignment.tree.0))?;
    let from = Oid::parse(&base.tree.0).ok_or_else(|| unknown(&base.tree.0))?;
    let commit = Oid::parse(&base.commit.0).ok_or_else(|| unknown(&base.commit.0))?;
    let files = GitTreeFiles::new(&engine.repo, &tree, &assignment.exclude)?;
    let cache = engine.env.context_cache(engine.repo.top_level());
    let history = || find::past(&engine.repo, &commit, cache.as_deref()).unwrap_or_default();
    let about = PromptSubject {
        words: context::words(assignment),
        targets: assignment.targets.clone(),
        cache: cache.clone(),
        model: None,
        history: &history,
    };
    let sight = LazyProject::new(&files, about);
    let asked = PromptRequest {
        assignment,
        templates: &templates,
        strategies: &StrategyCatalog::pinned(&run.strategies)?,
        place: DocumentSources {
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
        printed: Vec::new(),
        outputs: Vec::new(),
        budget: 0,
        schema_given: false,
    };
    Ok(context::named(&asked, NAMES)?)
}
