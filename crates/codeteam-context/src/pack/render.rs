//! Renders one file: from reading it to the text that is written.

use std::borrow::Cow;
use std::path::Path;

use super::PackOptions;
use super::count_cache::{ContentCounts, ContentHasher, CountCache};
use super::style::{PackEntry, PackStyle};
use crate::files::{FileContent, FileSet, SkipReason};
use crate::language::Language;
use crate::outline;
use crate::redact::Redactor;
use crate::tokens;

/// How much of a file is packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PackedForm {
    /// The whole file.
    Whole,
    /// Its signatures, if it has any.
    Signatures,
}

/// A file that is to be written.
#[derive(Clone, Copy, Debug)]
pub(super) struct PlannedFile {
    /// The file's index in the list.
    pub(super) at: usize,
    pub(super) form: PackedForm,
    /// The counts from an earlier read; the content must not have changed since.
    pub(super) found: Option<ContentCounts>,
}

/// A rendered file.
#[derive(Debug)]
pub(super) struct RenderedFile {
    pub(super) open: String,
    pub(super) text: String,
    pub(super) close: String,
    /// The size and tokens of its content in the chosen form, before the style escapes it.
    pub(super) bytes: u64,
    pub(super) tokens: usize,
    /// The tokens of everything written for the file.
    pub(super) written: usize,
    pub(super) redactions: usize,
    pub(super) form: PackedForm,
    pub(super) known: Option<ContentCounts>,
}

/// Renders files.
pub(super) struct FileRenderer<'m, F> {
    pub(super) files: &'m F,
    pub(super) options: &'m PackOptions,
    /// Whether tokens are counted.
    pub(super) counts: bool,
    redactor: &'m Redactor,
    hasher: ContentHasher,
    cache: Option<CountCache>,
}

impl<'m, F: FileSet> FileRenderer<'m, F> {
    pub(super) fn new(
        files: &'m F,
        options: &'m PackOptions,
        redactor: &'m Redactor,
        cache: Option<&Path>,
    ) -> Self {
        let counts = options.tokens || options.budget.is_some();
        Self {
            files,
            options,
            counts,
            redactor,
            hasher: ContentHasher::new(redactor),
            cache: cache.map(CountCache::load),
        }
    }

    /// Stores the counts. A failure only costs time.
    pub(super) fn save_counts(&self, asked: Vec<ContentCounts>) {
        if let Some(cache) = &self.cache {
            let _ = cache.save(asked);
        }
    }

    /// Renders a planned file.
    pub(super) fn render_planned(&self, planned: &PlannedFile) -> Result<RenderedFile, SkipReason> {
        let original = self.read_text(planned.at)?;
        let path = self.files.list()[planned.at].path.as_str();
        let sum = self.hasher.digest(&original);
        let known = match planned.found {
            Some(found) if found.sum != sum => return Err(SkipReason::Changed),
            Some(found) => Some(found),
            None => self.cache.as_ref().and_then(|cache| cache.get(&sum)),
        };
        // The same content was checked before and has no secrets.
        let (text, redactions) = if known.is_some_and(|known| known.hits == 0) {
            (original, 0)
        } else {
            let redacted = self.redactor.redact(&original);
            let hits = redacted.hits.values().sum();
            (owned(redacted.text, &original).unwrap_or(original), hits)
        };
        let known = known.unwrap_or_else(|| ContentCounts {
            sum,
            tokens: None,
            in_json: None,
            hits: small(redactions),
        });
        Ok(self.render(path, text, planned.form, redactions, Some(known)))
    }

    /// Brings a content into its form and style, and counts what is needed.
    fn render(
        &self,
        path: &str,
        whole: String,
        form: PackedForm,
        redactions: usize,
        mut known: Option<ContentCounts>,
    ) -> RenderedFile {
        let shorter = (form == PackedForm::Signatures)
            .then(|| signatures(path, &whole))
            .flatten();
        let (text, form) = match shorter {
            Some(shorter) => (shorter, PackedForm::Signatures),
            None => (whole, PackedForm::Whole),
        };
        let compressed = form == PackedForm::Signatures;
        let style = self.options.style;
        let piece = style.file_block(&PackEntry {
            path,
            text: &text,
            compressed,
        });
        let (open, close) = (piece.open, piece.close);
        let styled = match piece.body {
            Cow::Borrowed(_) => None,
            Cow::Owned(styled) => Some(styled),
        };
        let (mut own, mut written) = (0, 0);
        if self.counts {
            own = match &mut known {
                Some(known) if !compressed => {
                    let counted = || small(tokens::count(&text));
                    *known.tokens.get_or_insert_with(counted) as usize
                }
                _ => tokens::count(&text),
            };
            let body = match (&styled, &mut known) {
                (None, _) => own,
                (Some(styled), Some(known)) if style == PackStyle::Json && !compressed => {
                    let counted = || small(tokens::count(styled));
                    *known.in_json.get_or_insert_with(counted) as usize
                }
                (Some(styled), _) => tokens::count(styled),
            };
            written = tokens::count(&open) + body + tokens::count(&close);
        }
        RenderedFile {
            open,
            close,
            bytes: text.len() as u64,
            text: styled.unwrap_or(text),
            tokens: own,
            written,
            redactions,
            form,
            known,
        }
    }

    fn read_text(&self, at: usize) -> Result<String, SkipReason> {
        match self.files.read(at) {
            FileContent::Text(text) => Ok(text),
            FileContent::Binary => Err(SkipReason::Binary),
            FileContent::TooLarge => Err(SkipReason::TooLarge),
            FileContent::Other => Err(SkipReason::Special),
            FileContent::Gone => Err(SkipReason::Gone),
            FileContent::Unreadable(error) => Err(SkipReason::Unreadable(error.to_string())),
        }
    }
}

/// Returns a file's signatures, if its language is known and they are shorter than the whole.
fn signatures(path: &str, text: &str) -> Option<String> {
    let short = outline::signatures(text, Language::from_path(path)?)?;
    (short.len() < text.len()).then_some(short)
}

/// Returns the text if it differs from the original.
fn owned(text: Cow<'_, str>, original: &str) -> Option<String> {
    match text {
        Cow::Borrowed(text) => {
            debug_assert_eq!(text.len(), original.len(), "what is borrowed is all of it");
            None
        }
        Cow::Owned(text) => Some(text),
    }
}

fn small(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}
