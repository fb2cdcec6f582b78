//! Puts an assignment into words, with as much of the project as there is room for.

use std::collections::{BTreeMap, BTreeSet};

use codeteam_context::assemble::{AssembledContext, ContextInputs, assemble};
use codeteam_context::budget::{
    self, ContextItem, ContextPart, ContextTooLarge, FittedContext, PartRequirement,
    ShorteningMethod,
};
use codeteam_context::redact::Redactor;
use codeteam_context::strategy::{self, ContextRequest, ProjectFacts, TaskFacts, choose};
use codeteam_context::{listing, tokens};
use codeteam_core::assignment::Assignment;
use codeteam_core::context::{PackedContext, PackedPart};
use codeteam_core::role::{EditMode, RoleKind};

use super::strategies::StrategyCatalog;
use super::{DocumentSources, documents, exact, mentions};
use crate::git;
use crate::prompt::{
    self, ProjectDocument, Prompt, PromptAttachments, ShownFile, ShownPart, TemplateCatalog,
    variables,
};

/// The part with what the project says about itself.
const DOCUMENTS: &str = "documents";
/// The part with what was printed when it was wrong.
const PRINTED: &str = "printed";
/// What is changed and must not be seen, as the prompt and the log call it.
const WITHHELD: &str = "changed, but not for you to see";
/// The parts that come before documents.
const FIRST: [&str; 4] = [
    strategy::ALWAYS,
    strategy::TARGET,
    strategy::CHANGES,
    strategy::DIFF,
];
/// How much of a prompt may be the files that its template puts in by name.
const RELEVANT_SHARE: usize = 2;

/// What a prompt is made of.
pub(crate) struct PromptRequest<'a> {
    /// The assignment.
    pub(crate) assignment: &'a Assignment,
    /// The templates.
    pub(crate) templates: &'a TemplateCatalog,
    /// The strategies.
    pub(crate) strategies: &'a StrategyCatalog,
    /// Where documents are.
    pub(crate) place: DocumentSources<'a>,
    /// What is known of the project.
    pub(crate) project: &'a dyn ProjectFacts,
    /// Draws the map of the repository within so many tokens.
    pub(crate) map: &'a dyn Fn(usize) -> String,
    /// Takes secrets out.
    pub(crate) redactor: &'a Redactor,
    /// The change.
    pub(crate) diff: Option<String>,
    /// What has changed since it was judged before.
    pub(crate) changes: Option<String>,
    /// What was printed when it was wrong.
    pub(crate) printed: Vec<String>,
    /// What the checks printed, one by one, for those who are told to the letter.
    pub(crate) outputs: Vec<Option<String>>,
    /// How many tokens it may be.
    pub(crate) budget: u64,
    /// Whether the worker gets the schema of its answer besides the prompt.
    pub(crate) schema_given: bool,
}

/// What a worker is told, and how it was put together.
#[derive(Debug)]
pub(crate) struct RenderedPrompt {
    pub(crate) prompt: Prompt,
    pub(crate) packed: PackedContext,
}

/// Why nothing can be told.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A template is wrong.
    #[error(transparent)]
    Prompt(#[from] prompt::Error),
    /// Git failed.
    #[error(transparent)]
    Git(#[from] git::Error),
    /// A pattern means nothing.
    #[error(transparent)]
    Pattern(#[from] strategy::InvalidPattern),
    /// What is needed is too long.
    #[error(transparent)]
    CannotFit(#[from] ContextTooLarge),
    /// A file that must be shown whole cannot be.
    #[error("`{path}` cannot be shown: {why}")]
    Unshowable {
        /// The file.
        path: String,
        /// Why not.
        why: &'static str,
    },
}

/// Puts an assignment into words.
pub(crate) fn told(asked: &PromptRequest<'_>) -> Result<RenderedPrompt, Error> {
    let needs = asked.templates.needs(asked.assignment);
    let budget = usize::try_from(asked.budget).unwrap_or(usize::MAX);
    let mut fixed = PromptAttachments {
        schema_given: asked.schema_given,
        ..PromptAttachments::default()
    };
    named_variables(asked, &needs, budget, &mut fixed)?;
    if prompt::is_exact(asked.assignment) {
        fixed.input = Some(exact::input(asked)?);
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
    // A text is a little longer in its place than by itself: it gets a heading, and what is left out is
    // named. Each time that makes it too long, less room is given, by twice as much as the time before.
    let mut room = budget;
    let mut spare = 0;
    loop {
        // What is needed in any case cannot be had for less; nothing else is shown then.
        let (fitted, is_least) = match budget::fit(parts.clone(), &sizes, room) {
            Ok(fitted) => (fitted, room == 0),
            Err(error) if spare == 0 => return Err(error.into()),
            Err(_) => (budget::least(parts.clone(), &sizes), true),
        };
        let attached = attached(asked, &fixed, &fitted, &assembled, &lengths);
        let prompt = render(&attached)?;
        let size = prompt.tokens();
        let over = size.saturating_sub(budget);
        if over == 0 {
            let packed = packed(asked, &fitted, &assembled, size);
            return Ok(RenderedPrompt { prompt, packed });
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

/// What templates may ask for by name: the tree, and the files of the task.
fn named_variables(
    asked: &PromptRequest<'_>,
    needs: &BTreeSet<String>,
    budget: usize,
    attached: &mut PromptAttachments,
) -> Result<(), Error> {
    let files = asked.project.files();
    let hidden = strategy::FilePatterns::hiding(&asked.assignment.exclude)?;
    if needs.contains(variables::REPO_MAP) {
        let paths = files.list().iter().map(|file| file.path.as_str());
        let paths: Vec<&str> = paths.filter(|path| !hidden.matches(path)).collect();
        attached.repo_map = listing::of(&paths);
        if tokens::count(&attached.repo_map) > budget / RELEVANT_SHARE {
            attached.repo_map = listing::folders(&paths, usize::MAX);
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
        let wishes = ContextRequest {
            strategy: Some(&target),
            hidden: &asked.assignment.exclude,
            ..ContextRequest::default()
        };
        let mentioned = mentioned(asked);
        let chosen = choose(&wishes, &matter(asked, &mentioned), asked.project)?;
        let assembled = assemble(&chosen, &given(asked), asked.project, asked.redactor);
        let mut parts = assembled.parts;
        for part in &mut parts {
            part.need = PartRequirement::Wanted;
        }
        let fitted = budget::fit(parts, &[], budget / RELEVANT_SHARE)?;
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

/// The files that the brief for this work names.
fn mentioned(asked: &PromptRequest<'_>) -> Vec<String> {
    let brief = asked.assignment.brief.as_deref().unwrap_or_default();
    mentions::find(brief, asked.project.files().list())
}

fn matter<'a>(asked: &'a PromptRequest<'_>, mentioned: &'a [String]) -> TaskFacts<'a> {
    let assignment = asked.assignment;
    TaskFacts {
        targets: &assignment.targets,
        mentioned,
        scope: &assignment.scope,
        changed: assignment
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
        names_targets: !asked.assignment.targets.is_empty(),
    }
}

/// How long each document is, by its path.
type DocumentLengths = BTreeMap<String, usize>;

/// Everything that may be shown, in the order of its importance.
fn parts(
    asked: &PromptRequest<'_>,
    needs: &BTreeSet<String>,
) -> Result<(AssembledContext, DocumentLengths), Error> {
    let assignment = asked.assignment;
    let continues = assignment.session.is_some();
    // An earlier try of this very visit was told the same.
    let repeats = continues && assignment.attempt > 1;
    let mut assembled = AssembledContext::default();
    if !repeats {
        let mut chosen = chosen(asked)?;
        chosen.parts.retain(|part| match part.name.as_str() {
            strategy::DIFF => needs.contains("diff"),
            strategy::CHANGES => needs.contains("changes"),
            // It has seen the files, or can look.
            _ => needs.contains("context") && !continues,
        });
        assembled = assemble(&chosen, &given(asked), asked.project, asked.redactor);
    }
    let after = assembled.parts.iter();
    let after = after.take_while(|part| FIRST.contains(&part.name.as_str()));
    let mut at = after.count();
    if needs.contains("printed") {
        let printed = (1..).zip(&asked.printed).map(|(i, text)| ContextItem {
            name: format!("{PRINTED} {i}"),
            text: asked.redactor.redact(text).text.into_owned(),
            short: ShorteningMethod::Ends,
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

/// The parts that the role's strategy and its own wishes come to.
fn chosen(asked: &PromptRequest<'_>) -> Result<strategy::ContextSelection, Error> {
    let assignment = asked.assignment;
    let context = &assignment.context;
    let strategy = context.strategy.as_deref();
    let judges = matches!(assignment.kind, RoleKind::Gatekeeper | RoleKind::Scribe);
    let wishes = ContextRequest {
        strategy: strategy.and_then(|name| asked.strategies.get(name)),
        include: &context.include,
        exclude: &context.exclude,
        always_include: &context.always_include,
        hidden: &assignment.exclude,
        git_diff: context.git_diff,
    };
    let mentioned = mentioned(asked);
    let mut chosen = choose(&wishes, &matter(asked, &mentioned), asked.project)?;
    if judges && chosen.parts.iter().all(|part| part.name != strategy::DIFF) {
        let diff = strategy::ChosenPart {
            name: strategy::DIFF.to_owned(),
            body: strategy::PartBody::Special,
        };
        chosen.parts.insert(0, diff);
    }
    Ok(chosen)
}

/// The names of what a role would be shown, the most important first: for whoever can read the files
/// where they are.
pub(crate) fn named(asked: &PromptRequest<'_>, most: usize) -> Result<Vec<String>, Error> {
    let mut read = PromptAttachments::default();
    documents::read(asked.assignment, &asked.place, &mut read)?;
    let documents = read.documents.into_iter().map(|document| document.path);
    let mut names: Vec<String> = documents.collect();
    for part in chosen(asked)?.parts {
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

/// The documents of the project, as a part.
fn documents(
    asked: &PromptRequest<'_>,
    assembled: &mut AssembledContext,
    lengths: &mut DocumentLengths,
) -> Result<Vec<ContextItem>, Error> {
    let mut read = PromptAttachments::default();
    documents::read(asked.assignment, &asked.place, &mut read)?;
    assembled.unreadable.extend(read.unshown);
    let items = read.documents.into_iter().map(|document| {
        let text = asked.redactor.redact(&document.text).text.into_owned();
        lengths.insert(document.path.clone(), text.len() + document.left_out);
        ContextItem {
            text,
            short: ShorteningMethod::Beginning,
            shortened: document.left_out > 0,
            name: document.path,
        }
    });
    Ok(items.collect())
}

/// What was made to fit, where templates look for it.
fn attached(
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
    // A change that changes nothing is shown as such.
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

/// What the log says of it.
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
