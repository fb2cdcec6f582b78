//! Changes, and the questions about them.

use codeteam_core::ids::RunId;
use codeteam_engine::patches::{patch_between, task_patch, versions_patch};
use codeteam_engine::problem::Problem;
use codeteam_host::git::Oid;
use codeteam_report::patch::PatchDocument;
use codeteam_report::view::{ChangeView, LoadedRun};

use super::run::{find_question, is_grave};
use super::{PageSources, draft_key};
use crate::drafts::KeptDraft;
use crate::form_data::FormData;
use crate::page::{DiffOptions, DiffPage, Page, QuestionPage, ReviewDraft};
use crate::projects::WatchedProject;

/// Larger files are shown as in the patch.
const LARGEST_CONTENT: usize = 4 << 20;

impl PageSources<'_> {
    /// Returns what was judged about a change, if anything was.
    pub(super) fn read_change(
        project: &WatchedProject,
        run: &LoadedRun,
        place: &str,
    ) -> Option<ChangeView> {
        let records = project.engine.records();
        let frame = run.frame_named(place).map(|frame| frame.path.clone());
        let current = frame.and_then(|frame| ChangeView::of_frame(records, run, &frame));
        current.or_else(|| {
            let history = project.engine.read_judgements(&run.id, Some(place)).ok()?;
            ChangeView::from_history(records, &history, Some(place))
        })
    }

    /// Returns the patch of a task, or of the run.
    fn read_patch(
        project: &WatchedProject,
        run: &LoadedRun,
        place: &str,
    ) -> Result<Vec<u8>, Problem> {
        let frame = run.frame_named(place);
        let has_own = frame.is_some_and(|frame| frame.diff.is_some());
        if place == "run" && !has_own {
            return Ok(patch_between(&project.engine, &run.base, &run.tip)?.text);
        }
        Ok(task_patch(&project.engine, run, place)?.text)
    }

    pub(super) fn load_diff(
        &self,
        project: &WatchedProject,
        run: &RunId,
        place: &str,
        query: &FormData,
    ) -> Result<Page, Problem> {
        let since = query.filled("since");
        let (loaded, was_version) = Self::history(project, run, |history| {
            let was_version = since.is_some_and(|since| history.has_version(place, since));
            (history.run(), was_version)
        })?;
        let change = Self::read_change(project, &loaded, place);
        let version = change_version(change.as_ref());
        let key = draft_key(project, run, place);
        let draft = self.drafts.read(&key);
        // Any other tree, such as git's empty one, would show more than this change.
        let since =
            since.filter(|since| was_version || draft.seen.iter().any(|seen| seen == since));
        let since = since.filter(|since| *since != version);
        let since = since.and_then(|since| Some((Oid::parse(since)?, Oid::parse(&version)?)));
        let patch = match &since {
            Some((from, to)) => versions_patch(&project.engine, &loaded, place, from, to)?,
            None => Self::read_patch(project, &loaded, place)?,
        };
        let last_seen = draft
            .seen
            .iter()
            .rev()
            .find(|seen| **seen != version)
            .cloned();
        // Bringing a page up to date is not a look at it.
        if !version.is_empty() && query.get("part").is_empty() {
            let kept = self.drafts.mark_seen(&key, &version);
            kept.map_err(|e| Problem::environment("could not keep what was seen").caused_by(&e))?;
        }
        let mut questions = loaded.questions.iter();
        let question = questions.find(|asked| asked.place() == place).cloned();
        let options = DiffOptions {
            is_split: query.get("split") == "1",
            ignores_blanks: query.get("w") == "1",
            file: query.filled("file").map(ToOwned::to_owned),
            since: since.map(|(from, _)| from.to_string()),
            more_lines: query.get("more").parse().unwrap_or(0),
        };
        Ok(Page::Diff(Box::new(DiffPage {
            head: Self::head(project, loaded)?,
            place: place.to_owned(),
            content: read_content(project, &patch, &options),
            patch,
            version,
            change,
            review: review_draft(draft, last_seen),
            question,
            options,
        })))
    }

    pub(super) fn load_question(
        &self,
        project: &WatchedProject,
        run: &RunId,
        id: &str,
    ) -> Result<Page, Problem> {
        let loaded = Self::history(project, run, super::super::run_history::RunHistory::run)?;
        let question = find_question(&loaded, id).cloned().ok_or_else(|| {
            Problem::user("this question was answered meanwhile, or was withdrawn")
                .hint("the inbox has what is open now")
        })?;
        let place = question.place().to_owned();
        let change = Self::read_change(project, &loaded, &place);
        let patch = if question.about_change {
            Self::read_patch(project, &loaded, &place)?
        } else {
            Vec::new()
        };
        let draft = self.drafts.read(&draft_key(project, run, &place));
        Ok(Page::Question(Box::new(QuestionPage {
            head: Self::head(project, loaded)?,
            is_grave: is_grave(&question),
            question,
            change,
            review: review_draft(draft, None),
            patch,
            people: project.engine.people_names(),
        })))
    }
}

/// Reads the file that is shown with more of its lines. What cannot be read is shown as in the patch.
fn read_content(project: &WatchedProject, patch: &[u8], options: &DiffOptions) -> Option<Vec<u8>> {
    let wanted = options.file.as_deref()?;
    if options.more_lines == 0 {
        return None;
    }
    let patch = PatchDocument::parse(patch);
    let file = patch.files.iter().find(|file| file.path == wanted)?;
    let blob = Oid::parse(file.old_blob.as_deref()?)?;
    let content = project.engine.repo.read_blob(&blob).ok()?;
    (content.len() <= LARGEST_CONTENT).then_some(content)
}

/// Names a version of a change: by the tree that was judged.
fn change_version(change: Option<&ChangeView>) -> String {
    change.map_or_else(String::new, |change| change.report.tree.to_string())
}

fn review_draft(draft: KeptDraft, last_seen: Option<String>) -> ReviewDraft {
    let comments = draft.comments.iter();
    ReviewDraft {
        comments: comments
            .map(|kept| (kept.id, kept.to_line_comment()))
            .collect(),
        viewed: draft.viewed,
        last_seen,
    }
}
