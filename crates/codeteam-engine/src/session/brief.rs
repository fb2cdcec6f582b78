//! What a session is told beside its assignment.

use codeteam_core::Run;
use codeteam_core::assignment::Assignment;

use crate::context::strategies::Strategies;
use crate::context::{self, About, Asked, Objects, Place, Sight};
use crate::engine::{Engine, Error};
use crate::find;
use crate::git::{self, Oid};
use crate::prompt::{self, Templates};

/// No more files than this are named to a session.
const NAMES: usize = 30;

/// What a session is told beside its assignment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Brief {
    /// Who it is asked to be.
    pub instructions: String,
    /// The files that matter, the most important first: it can read them itself.
    pub context: Vec<String>,
}

/// What a session is told of an assignment beside what the assignment itself says.
pub fn brief(engine: &Engine, run: &Run, assignment: &Assignment) -> Result<Brief, Error> {
    let templates = Templates::pinned(&run.templates);
    let redactor = &engine.redactor;
    let unknown = |rev: &str| git::Error::UnknownRevision {
        rev: rev.to_owned(),
    };
    let frame = run.frames.get(&assignment.id.frame);
    let base = frame.map_or(&run.base, |frame| &frame.base);
    let tree = Oid::parse(&assignment.tree.0).ok_or_else(|| unknown(&assignment.tree.0))?;
    let from = Oid::parse(&base.tree.0).ok_or_else(|| unknown(&base.tree.0))?;
    let commit = Oid::parse(&base.commit.0).ok_or_else(|| unknown(&base.commit.0))?;
    let files = Objects::new(&engine.repo, &tree, &assignment.exclude)?;
    let cache = engine.env.context_cache(engine.repo.top_level());
    let history = || find::past(&engine.repo, &commit, cache.as_deref()).unwrap_or_default();
    let targets = assignment.task.as_ref().map(|task| task.files.clone());
    let about = About {
        words: context::words(assignment),
        targets: targets.unwrap_or_default(),
        cache: cache.clone(),
        model: None,
        history: &history,
    };
    let sight = Sight::new(&files, about);
    let asked = Asked {
        assignment,
        templates: &templates,
        strategies: &Strategies::pinned(&run.strategies)?,
        place: Place {
            repo: &engine.repo,
            base: &from,
            folder: &engine.folder,
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
    };
    Ok(Brief {
        instructions: prompt::instructions(assignment, &templates, redactor)?,
        context: context::named(&asked, NAMES)?,
    })
}
