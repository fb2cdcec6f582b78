//! Renders the prompt of an assignment, with as much of the project as fits.

use std::collections::{BTreeMap, BTreeSet};

use codeteam_context::assemble::{AssembledContext, ContextInputs, assemble};
use codeteam_context::budget::{
    self, ContextItem, ContextPart, ContextTooLarge, FittedContext, PartRequirement,
    ShorteningMethod,
};
use codeteam_context::redact::Redactor;
use codeteam_context::strategy::{self, ContextRequest, ProjectFacts, TaskFacts, select_context};
use codeteam_context::{listing, tokens};
use codeteam_core::assignment::Assignment;
use codeteam_core::context::{PackedContext, PackedPart};
use codeteam_core::role::{EditMode, RoleKind};

use super::strategies::StrategyCatalog;
use super::{DocumentSources, documents, exact, mentions};
use crate::prompt::{
    self, ProjectDocument, Prompt, PromptAttachments, ShownFile, ShownPart, TemplateCatalog,
    variables,
};
use codeteam_host::git;
use codeteam_patterns::{FilePatterns, InvalidPattern};

/// The part with the project's documents about itself.
const DOCUMENTS: &str = "documents";
/// The part with the output of failed checks.
const PRINTED: &str = "printed";
/// The heading, in the prompt and the log, for changed files that the role must not see.
const WITHHELD: &str = "changed, but not for you to see";
/// The parts that come before documents.
const FIRST: [&str; 4] = [
    strategy::ALWAYS,
    strategy::TARGET,
    strategy::CHANGES,
    strategy::DIFF,
];
/// The files that a template inserts by name may take up `1 / RELEVANT_SHARE` of the budget.
const RELEVANT_SHARE: usize = 2;

/// Everything from which a prompt is rendered.
pub(crate) struct PromptRequest<'a> {
    /// The assignment to render.
    pub(crate) assignment: &'a Assignment,
    /// The templates of the run.
    pub(crate) templates: &'a TemplateCatalog,
    /// The context strategies of the run.
    pub(crate) strategies: &'a StrategyCatalog,
    /// The places where documents are found.
    pub(crate) documents: DocumentSources<'a>,
    /// Facts about the project.
    pub(crate) project: &'a dyn ProjectFacts,
    /// Draws the map of the repository within a token budget.
    pub(crate) map: &'a dyn Fn(usize) -> String,
    /// Removes secrets.
    pub(crate) redactor: &'a Redactor,
    /// The patch of the change that is to be judged or continued.
    pub(crate) diff: Option<String>,
    /// The patch of what has changed since the last judgement.
    pub(crate) changes: Option<String>,
    /// The output of the checks that failed.
    pub(crate) feedback_output: Vec<String>,
    /// The output of each check, for roles with an exactly prescribed input.
    pub(crate) outputs: Vec<Option<String>>,
    /// The maximum number of tokens of the prompt.
    pub(crate) budget: u64,
    /// Whether the worker gets the schema of its answer separately from the prompt.
    pub(crate) schema_given: bool,
    /// Whether the worker is asked to write a plan before it uses a tool.
    pub(crate) plans_first: bool,
}

/// A rendered prompt, and a record of how its context was packed.
#[derive(Debug)]
pub(crate) struct RenderedPrompt {
    pub(crate) prompt: Prompt,
    pub(crate) packed: PackedContext,
    /// The files of the implementation that the role is not to see: of these, the prompt has what other
    /// code can see, and its sandbox has empty files.
    pub(crate) internals: Vec<String>,
}

/// The reasons why a prompt cannot be rendered.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A template is invalid.
    #[error(transparent)]
    Prompt(#[from] prompt::Error),
    /// A git command failed.
    #[error(transparent)]
    Git(#[from] git::Error),
    /// A file pattern is invalid.
    #[error(transparent)]
    Pattern(#[from] InvalidPattern),
    /// The indispensable parts do not fit the budget.
    #[error(transparent)]
    CannotFit(#[from] ContextTooLarge),
    /// A file that must be shown completely cannot be shown.
    #[error("`{path}` cannot be shown: {why}")]
    Unshowable {
        /// The path of the file.
        path: String,
        /// The reason, in words.
        why: &'static str,
    },
}

/// Renders an assignment, with as much context as fits the budget.
pub(crate) fn render_prompt(asked: &PromptRequest<'_>) -> Result<RenderedPrompt, Error> {
    let needs = asked.templates.needed_variables(asked.assignment);
    let budget = usize::try_from(asked.budget).unwrap_or(usize::MAX);
    let mut fixed = PromptAttachments {
        schema_given: asked.schema_given,
        plans_first: asked.plans_first,
        ..PromptAttachments::default()
    };
    named_variables(asked, &needs, budget, &mut fixed)?;
    if prompt::has_exact_input(asked.assignment) {
        fixed.input = Some(exact::render_input(asked)?);
    }
    let (mut assembled, lengths) = parts(asked, &needs)?;
    let render = |attached: &PromptAttachments| -> Result<Prompt, Error> {
        let (assignment, templates) = (asked.assignment, asked.templates);
        Ok(prompt::render(
            assignment,
            attached,
            templates,
            asked.redactor,
        )?)
    };
    let bare = render(&fixed)?;
    let sizes = [
        ("system", tokens::count(&bare.system)),
        ("task", tokens::count(&bare.user)),
    ];
    let parts = std::mem::take(&mut assembled.parts);
    // A text is a little longer in its place than by itself: it gets a heading, and what is left
    // out is listed. Each time this makes the prompt too long, the room is reduced, by at least
    // twice as much as the time before.
    let mut room = budget;
    let mut spare = 0;
    loop {
        // The indispensable parts cannot be shortened further; then nothing else is shown.
        let (fitted, is_least) = match budget::fit_context(parts.clone(), &sizes, room) {
            Ok(fitted) => (fitted, room == 0),
            Err(error) if spare == 0 => return Err(error.into()),
            Err(_) => (budget::minimal_context(parts.clone(), &sizes), true),
        };
        let attached = build_attachments(asked, &fixed, &fitted, &assembled, &lengths);
        let prompt = render(&attached)?;
        let size = prompt.tokens();
        let over = size.saturating_sub(budget);
        if over == 0 {
            let packed = packed(asked, &fitted, &assembled, size);
            let internals = find_internals(asked)?;
            return Ok(RenderedPrompt {
                prompt,
                packed,
                internals,
            });
        }
        if is_least {
            let [(system, of_system), (task, of_task)] = sizes;
            let rest = size.saturating_sub(of_system + of_task);
            let parts = [(system, of_system), (task, of_task), ("the rest", rest)];
            let parts = parts.map(|(name, size)| (name.to_owned(), size, size));
            return Err(ContextTooLarge {
                budget,
                parts: parts.into(),
            }
            .into());
        }
        spare = over.max(spare * 2);
        room = room.saturating_sub(spare);
    }
}

/// Fills the variables that templates can ask for by name: the tree, and the files of the task.
fn named_variables(
    asked: &PromptRequest<'_>,
    needs: &BTreeSet<String>,
    budget: usize,
    attached: &mut PromptAttachments,
) -> Result<(), Error> {
    let files = asked.project.files();
    let hidden = FilePatterns::for_hidden_files(&asked.assignment.shown.exclude);
    if needs.contains(variables::REPO_MAP) {
        let paths = files.list().iter().map(|file| file.path.as_str());
        let paths: Vec<&str> = paths.filter(|path| !hidden.matches(path)).collect();
        attached.repo_map = listing::draw_tree(&paths);
        if tokens::count(&attached.repo_map) > budget / RELEVANT_SHARE {
            attached.repo_map = listing::draw_folders(&paths, usize::MAX);
        }
    }
    if needs.contains(variables::RELEVANT_FILES_CONTENT) {
        let target = strategy::Strategy {
            parts: vec![strategy::StrategyPart {
                name: strategy::TARGET.to_owned(),
                include: vec!["$TARGET".to_owned(), "$MENTIONED".to_owned()],
                ..strategy::StrategyPart::default()
            }],
            ..strategy::Strategy::default()
        };
        let exclude = excluded_words(asked);
        let wishes = ContextRequest {
            strategy: Some(&target),
            exclude: &exclude,
            hidden: &asked.assignment.shown.exclude,
            ..ContextRequest::default()
        };
        let mentioned = mentioned_files(asked);
        let chosen = select_context(&wishes, &matter(asked, &mentioned), asked.project)?;
        let assembled = assemble(&chosen, &given(asked), asked.project, asked.redactor);
        let mut parts = assembled.parts;
        for part in &mut parts {
            part.need = PartRequirement::Wanted;
        }
        let fitted = budget::fit_context(parts, &[], budget / RELEVANT_SHARE)?;
        for part in fitted.parts {
            let items = part.items.into_iter();
            let shown = items.map(|item| (item.name, Some(item.text)));
            attached.relevant.extend(shown);
        }
        let missing = assembled.missing.into_iter();
        attached.relevant.extend(missing.map(|path| (path, None)));
    }
    Ok(())
}

/// Returns the files that the brief for this work names.
fn mentioned_files(asked: &PromptRequest<'_>) -> Vec<String> {
    let brief = asked
        .assignment
        .earlier
        .brief
        .as_deref()
        .unwrap_or_default();
    mentions::find_mentioned_files(brief, asked.project.files().list())
}

fn matter<'a>(asked: &'a PromptRequest<'_>, mentioned: &'a [String]) -> TaskFacts<'a> {
    let assignment = asked.assignment;
    TaskFacts {
        targets: &assignment.shown.targets,
        mentioned,
        scope: &assignment.shown.scope,
        changed: assignment
            .judged
            .change
            .as_ref()
            .map(|change| change.files.as_slice())
            .unwrap_or_default(),
        blind: assignment.means.mode == EditMode::Edits,
    }
}

fn given<'a>(asked: &'a PromptRequest<'_>) -> ContextInputs<'a> {
    ContextInputs {
        diff: asked.diff.as_deref(),
        changes: asked.changes.as_deref(),
        map: asked.map,
        blind: asked.assignment.means.mode == EditMode::Edits,
        names_targets: !asked.assignment.shown.targets.is_empty(),
    }
}

/// The length of each document, by its path.
type DocumentLengths = BTreeMap<String, usize>;

/// Collects everything that may be shown, in order of importance.
fn parts(
    asked: &PromptRequest<'_>,
    needs: &BTreeSet<String>,
) -> Result<(AssembledContext, DocumentLengths), Error> {
    let assignment = asked.assignment;
    let continues = assignment.session.is_some();
    // An earlier attempt of this very visit was shown the same in the conversation.
    let repeats = continues && assignment.place.attempt > 1;
    let mut assembled = AssembledContext::default();
    if !repeats {
        let mut chosen = choose_parts(asked)?;
        chosen.parts.retain(|part| match part.name.as_str() {
            strategy::DIFF => needs.contains("diff"),
            strategy::CHANGES => needs.contains("changes"),
            // In a continued conversation the worker has seen the files, or can read them.
            _ => needs.contains("context") && !continues,
        });
        assembled = assemble(&chosen, &given(asked), asked.project, asked.redactor);
    }
    let after = assembled.parts.iter();
    let after = after.take_while(|part| FIRST.contains(&part.name.as_str()));
    let mut at = after.count();
    if needs.contains("printed") {
        let printed = (1..)
            .zip(&asked.feedback_output)
            .map(|(i, text)| ContextItem {
                name: format!("{PRINTED} {i}"),
                text: asked.redactor.redact(text).text.into_owned(),
                shortening: ShorteningMethod::Ends,
                shortened: false,
            });
        insert(&mut assembled, &mut at, PRINTED, printed.collect());
    }
    let mut lengths = DocumentLengths::new();
    if needs.contains("documents") && !continues {
        let documents = documents(asked, &mut assembled, &mut lengths)?;
        insert(&mut assembled, &mut at, DOCUMENTS, documents);
    }
    Ok((assembled, lengths))
}

fn insert(assembled: &mut AssembledContext, at: &mut usize, name: &str, items: Vec<ContextItem>) {
    if !items.is_empty() {
        let part = ContextPart {
            name: name.to_owned(),
            need: PartRequirement::Wanted,
            items,
        };
        assembled.parts.insert(*at, part);
        *at += 1;
    }
}

/// Returns what the role's context leaves out. Where the implementation is hidden from the role, its
/// prompt has no more of it than other code can see.
fn excluded_words(asked: &PromptRequest<'_>) -> Vec<String> {
    let shown = &asked.assignment.shown;
    let mut words = shown.context.exclude.clone();
    if hides_internals(asked) && !words.iter().any(|word| word == strategy::INTERNALS) {
        words.push(strategy::INTERNALS.to_owned());
    }
    words
}

fn hides_internals(asked: &PromptRequest<'_>) -> bool {
    let hidden = &asked.assignment.shown.exclude;
    hidden.iter().any(|word| word == strategy::INTERNALS)
}

/// Returns the files that a role is not to see because they are the implementation.
fn find_internals(asked: &PromptRequest<'_>) -> Result<Vec<String>, Error> {
    if !hides_internals(asked) {
        return Ok(Vec::new());
    }
    let exclude = [strategy::INTERNALS.to_owned()];
    let wishes = ContextRequest {
        exclude: &exclude,
        ..ContextRequest::default()
    };
    let mentioned = mentioned_files(asked);
    let chosen = select_context(&wishes, &matter(asked, &mentioned), asked.project)?;
    Ok(chosen.internals().map(str::to_owned).collect())
}

/// Chooses the parts according to the role's strategy and its own settings.
fn choose_parts(asked: &PromptRequest<'_>) -> Result<strategy::ContextSelection, Error> {
    let assignment = asked.assignment;
    let context = &assignment.shown.context;
    let strategy = context.strategy.as_deref();
    let judges = matches!(assignment.kind, RoleKind::Gatekeeper | RoleKind::Scribe);
    let exclude = excluded_words(asked);
    let wishes = ContextRequest {
        strategy: strategy.and_then(|name| asked.strategies.get(name)),
        include: &context.include,
        exclude: &exclude,
        always_include: &context.always_include,
        hidden: &assignment.shown.exclude,
        git_diff: context.git_diff,
    };
    let mentioned = mentioned_files(asked);
    let mut chosen = select_context(&wishes, &matter(asked, &mentioned), asked.project)?;
    if judges && chosen.parts.iter().all(|part| part.name != strategy::DIFF) {
        let diff = strategy::ChosenPart {
            name: strategy::DIFF.to_owned(),
            body: strategy::PartBody::Special,
        };
        chosen.parts.insert(0, diff);
    }
    Ok(chosen)
}

/// Returns the names of the files that a role would be shown, most important first, for a session
/// that can read them itself.
pub(crate) fn list_context_files(
    asked: &PromptRequest<'_>,
    most: usize,
) -> Result<Vec<String>, Error> {
    let mut read = PromptAttachments::default();
    documents::read(asked.assignment, &asked.documents, &mut read)?;
    let documents = read.documents.into_iter().map(|document| document.path);
    let mut names: Vec<String> = documents.collect();
    for part in choose_parts(asked)?.parts {
        if let strategy::PartBody::Files(files) = part.body {
            let there = files.into_iter().filter(|file| file.at.is_some());
            names.extend(there.map(|file| file.path));
        }
    }
    let mut seen = BTreeSet::new();
    names.retain(|name| seen.insert(name.clone()));
    names.truncate(most);
    Ok(names)
}

/// Reads the documents of the project as items of a part.
fn documents(
    asked: &PromptRequest<'_>,
    assembled: &mut AssembledContext,
    lengths: &mut DocumentLengths,
) -> Result<Vec<ContextItem>, Error> {
    let mut read = PromptAttachments::default();
    documents::read(asked.assignment, &asked.documents, &mut read)?;
    assembled.unreadable.extend(read.unshown);
    let items = read.documents.into_iter().map(|document| {
        let text = asked.redactor.redact(&document.text).text.into_owned();
        lengths.insert(document.path.clone(), text.len() + document.left_out);
        ContextItem {
            text,
            shortening: ShorteningMethod::Beginning,
            shortened: document.left_out > 0,
            name: document.path,
        }
    });
    Ok(items.collect())
}

/// Distributes the fitted context to the fields where templates look for it.
fn build_attachments(
    asked: &PromptRequest<'_>,
    fixed: &PromptAttachments,
    fitted: &FittedContext,
    assembled: &AssembledContext,
    lengths: &DocumentLengths,
) -> PromptAttachments {
    let mut attached = fixed.clone();
    let mut missing = assembled.missing.clone();
    for part in &fitted.parts {
        let name = part.name.as_str();
        let squeezed = part.items.iter().filter(|item| item.squeezed);
        let squeezed: Vec<String> = squeezed.map(|item| item.name.clone()).collect();
        let texts = part.items.iter().map(|item| item.text.as_str());
        match name {
            strategy::DIFF => attached.diff = Some(texts.collect::<Vec<_>>().join("")),
            strategy::CHANGES => attached.changes = Some(texts.collect::<Vec<_>>().join("")),
            PRINTED => attached.feedback = texts.map(str::to_owned).collect(),
            DOCUMENTS => {
                let shown = part.items.iter().map(|item| {
                    let whole = lengths.get(&item.name).copied().unwrap_or_default();
                    let left_out = whole.saturating_sub(item.text.len());
                    ProjectDocument {
                        path: item.name.clone(),
                        text: item.text.clone(),
                        left_out: if item.shortened { left_out.max(1) } else { 0 },
                    }
                });
                attached.documents = shown.collect();
            }
            strategy::MAP | strategy::TREE => {
                let text: String = texts.collect();
                if !text.is_empty() {
                    attached.context.push(ShownPart {
                        name: part.name.clone(),
                        text,
                        files: Vec::new(),
                    });
                }
            }
            _ => {
                let files = part.items.iter().map(|item| ShownFile {
                    path: item.name.clone(),
                    content: Some(item.text.clone()),
                    shortened: item.shortened,
                });
                let mut files: Vec<ShownFile> = files.collect();
                if name == strategy::TARGET {
                    files.extend(missing.drain(..).map(not_there));
                }
                if !files.is_empty() {
                    attached.context.push(ShownPart {
                        name: part.name.clone(),
                        text: String::new(),
                        files,
                    });
                }
            }
        }
        if !squeezed.is_empty() {
            attached.squeezed.push((part.name.clone(), squeezed));
        }
        if !part.dropped.is_empty() {
            attached
                .left_out
                .push((part.name.clone(), part.dropped.clone()));
        }
    }
    if !missing.is_empty() {
        let files = missing.into_iter().map(not_there).collect();
        let target = ShownPart {
            name: strategy::TARGET.to_owned(),
            text: String::new(),
            files,
        };
        attached.context.insert(0, target);
    }
    // An empty change is shown as such.
    if attached.diff.is_none() && asked.diff.as_deref() == Some("") {
        attached.diff = Some(String::new());
    }
    if !assembled.unreadable.is_empty() {
        let names = assembled.unreadable.clone();
        attached
            .left_out
            .push(("no text, or too long".to_owned(), names));
    }
    if !assembled.withheld.is_empty() {
        let names = assembled.withheld.iter().cloned().collect();
        attached.left_out.push((WITHHELD.to_owned(), names));
    }
    attached
}

fn not_there(path: String) -> ShownFile {
    ShownFile {
        path,
        ..ShownFile::default()
    }
}

/// Builds the record of the packed context for the log.
fn packed(
    asked: &PromptRequest<'_>,
    fitted: &FittedContext,
    assembled: &AssembledContext,
    tokens: usize,
) -> PackedContext {
    let parts = fitted.parts.iter().map(|part| {
        let squeezed = part.items.iter().filter(|item| item.squeezed);
        PackedPart {
            name: part.name.clone(),
            tokens: part.tokens as u64,
            files: if matches!(part.name.as_str(), strategy::MAP | strategy::TREE) {
                0
            } else {
                part.items.len() as u64
            },
            compressed: squeezed.map(|item| item.name.clone()).collect(),
            dropped: part.dropped.iter().cloned().collect(),
        }
    });
    let withheld = (!assembled.withheld.is_empty()).then(|| PackedPart {
        name: WITHHELD.to_owned(),
        dropped: assembled.withheld.iter().cloned().collect(),
        ..PackedPart::default()
    });
    let redacted: BTreeMap<String, u32> = assembled.redacted.clone();
    PackedContext {
        strategy: asked
            .assignment
            .shown
            .context
            .strategy
            .clone()
            .unwrap_or_default(),
        budget: asked.budget,
        tokens: tokens as u64,
        parts: parts.chain(withheld).collect(),
        redacted,
    }
}
