//! A change: its files, their lines, what was found in them, and what a person notes about them.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use codeteam_core::findings::{Finding, FindingState};
use codeteam_report::describe::first_line;
use codeteam_report::patch::{PatchDocument, PatchFile, PatchRowKind};
use codeteam_report::review::LineComment;
use minijinja::{Value, context};

use super::PageContent;
use super::data::{DiffPage, Shell};
use super::diff_rows::{FileLines, LineNotes, LineNumber, write_tables};
use super::diff_tree::file_tree;
use super::html::{escaped, push_escaped};
use super::run_head::{RunLinks, RunTab, head_values};
use super::task::{change_values, finding_value, severity_word};
use crate::routes::{RunAction, RunPlace, encode};

/// The most lines that are written at once. Files after them are folded until somebody scrolls there.
const MOST_LINES: usize = 10_000;
/// How many more lines stand around changes, step by step. The last step is the whole file.
const MORE_LINES: [u32; 3] = [20, 200, 1_000_000];

pub(super) fn diff_content(shell: &Shell, page: &DiffPage, part: Option<&str>) -> PageContent {
    let patch = read_patch(page);
    let numbered = part.and_then(|part| part.strip_prefix("file-"));
    if let Some(number) = numbered.and_then(|number| number.parse().ok()) {
        return file_content(shell, page, &patch, number);
    }
    let (head, run) = (&page.head, &page.head.run);
    let links = RunLinks::of_head(head);
    let here = links.page(RunPlace::Diff(page.place.clone()));
    let (added, removed) = patch.totals();
    let wanted = page.options.file.as_deref();
    let mut room = MOST_LINES;
    let mut files = Vec::new();
    for (number, file) in patch.files.iter().enumerate() {
        let is_named = wanted == Some(file.path.as_str());
        if wanted.is_some() && !is_named {
            continue;
        }
        let length = patch.rows(file).len();
        let is_open = is_named || (!file.is_bulky && !is_viewed(page, file) && length <= room);
        if is_open {
            room = room.saturating_sub(length);
        }
        files.push(file_values(shell, page, &patch, number, is_open));
    }
    let task = run.task(&page.place);
    let values = context! {
        head => head_values(shell, head, RunTab::Other),
        place => page.place.as_str(),
        place_href => links.task(&page.place),
        title => task.map(|task| task.title.as_str()),
        version => page.version.as_str(),
        short_version => codeteam_report::describe::short_id(&page.version),
        files,
        tree => tree_values(page, &patch, &here),
        file_count => patch.files.len(),
        viewed_count => patch.files.iter().filter(|file| is_viewed(page, file)).count(),
        added, removed,
        is_cut => patch.is_cut,
        options => option_values(page, &here),
        elsewhere => elsewhere_values(page, &patch, &here),
        comments => super::question::comment_values(links, &page.review),
        question => page.question.as_ref().map(|asked| context! {
            href => links.question(asked), text => first_line(&asked.question.text),
        }),
        change => page.change.as_ref().map(|change| change_values(links, &page.place, change)),
        last_seen => page.review.last_seen.as_ref().filter(|seen| **seen != page.version).map(|seen| {
            format!("{here}?since={}", encode(seen))
        }),
        is_since => page.options.since.is_some(),
        whole => here,
    };
    let title = format!("Diff of {} · {}", page.place, first_line(&run.goal));
    PageContent::new(
        "diff.html",
        title,
        &["run-head", "diff-tree", "diff-review"],
        values,
    )
}

/// Reads the patch as it is to be shown. Files keep their numbers and digests whatever is shown of them.
fn read_patch(page: &DiffPage) -> PatchDocument {
    let mut patch = PatchDocument::parse(&page.patch);
    let mut files = patch.files.iter();
    let named = files.position(|file| Some(file.path.as_str()) == page.options.file.as_deref());
    if let (Some(number), Some(content)) = (named, &page.content) {
        patch.add_context(number, content, page.options.more_lines);
    }
    if page.options.ignores_blanks {
        patch.ignore_blanks();
    }
    patch
}

/// Returns one file, for a page that asks for it alone.
fn file_content(
    shell: &Shell,
    page: &DiffPage,
    patch: &PatchDocument,
    number: usize,
) -> PageContent {
    let is_known = number < patch.files.len();
    let values = if is_known {
        context! { file => file_values(shell, page, patch, number, true) }
    } else {
        context! {}
    };
    let mut content = PageContent::new("diff.html", "", &[], values);
    content.own_part = is_known.then_some("parts/diff-file.html");
    content
}

fn file_values(
    shell: &Shell,
    page: &DiffPage,
    patch: &PatchDocument,
    number: usize,
    is_open: bool,
) -> Value {
    let Some(file) = patch.files.get(number) else {
        return Value::from(());
    };
    let links = RunLinks::of_head(&page.head);
    let here = links.page(RunPlace::Diff(page.place.clone()));
    let findings = findings_of(page, &file.path);
    let comments: Vec<&(u64, LineComment)> = page
        .review
        .comments
        .iter()
        .filter(|(_, comment)| comment.path == file.path)
        .collect();
    let notes = line_notes(shell, links, page, &findings, &comments);
    let rows = is_open.then(|| {
        write_tables(FileLines {
            patch,
            file,
            number,
            is_split: page.options.is_split,
            notes: &notes,
        })
    });
    // What is about a line that is not shown stands above the lines.
    let shown = shown_lines(patch, file);
    let own = findings.iter().filter(|finding| {
        let line = finding.report.line;
        line.is_none_or(|line| is_open && !shown.contains(&(false, line)))
    });
    let general = comments.iter().filter(|(_, comment)| {
        let line = comment.last.or(comment.line);
        line.is_none_or(|line| is_open && !shown.contains(&(comment.is_old, line)))
    });
    let general = general.map(|(id, comment)| {
        context! {
            id => *id, text => comment.text.as_str(), action => links.action(RunAction::Uncomment),
            place => comment.place(),
        }
    });
    context! {
        number,
        path => file.path.as_str(),
        added => file.added,
        removed => file.removed,
        lines => patch.rows(file).len(),
        is_bulky => file.is_bulky,
        is_split => page.options.is_split,
        is_viewed => is_viewed(page, file),
        has_changed => has_changed_since(page, file),
        digest => digest_text(file),
        rows => rows.map(Value::from_safe_string),
        open => format!("{here}?{}file={}", query_of(page), encode(&file.path)),
        only_blanks => page.options.ignores_blanks && is_open && patch.rows(file).is_empty(),
        context => context_values(page, file, is_open, &here),
        viewed => links.action(RunAction::Viewed),
        comment => links.action(RunAction::Comment),
        place => page.place.as_str(),
        version => page.version.as_str(),
        findings => own.map(|finding| finding_value(&here, finding)).collect::<Value>(),
        comments => general.collect::<Value>(),
        finding_count => findings.len(),
        comment_count => comments.len(),
    }
}

/// Returns how much of a file is shown around its changes, and where to see more or less of it.
fn context_values(page: &DiffPage, file: &PatchFile, is_open: bool, here: &str) -> Value {
    let is_named = page.options.file.as_deref() == Some(file.path.as_str());
    let now = if is_named { page.options.more_lines } else { 0 };
    let link = |more: u32| {
        let more = if more > 0 {
            format!("&more={more}")
        } else {
            String::new()
        };
        format!("{here}?{}file={}{more}", query_of(page), encode(&file.path))
    };
    let next = MORE_LINES.iter().find(|more| **more > now);
    // A new file is shown whole by its patch. What lies between two versions that are not committed
    // begins with files that are kept elsewhere.
    let may_grow = is_open
        && file.old_blob.is_some()
        && page.options.since.is_none()
        && file.removed + file.added > 0;
    let last = MORE_LINES.last();
    context! {
        lines => now,
        more => next.filter(|_| may_grow).map(|more| link(*more)),
        is_last => next == last,
        less => (now > 0).then(|| link(0)),
    }
}

/// Returns the lines of a file that a patch shows.
fn shown_lines(patch: &PatchDocument, file: &PatchFile) -> BTreeSet<LineNumber> {
    let rows = patch.rows(file).iter();
    rows.filter_map(|row| match row.kind {
        PatchRowKind::Removed => row.old.map(|line| (true, line)),
        _ => row.new.map(|line| (false, line)),
    })
    .collect()
}

fn findings_of<'a>(page: &'a DiffPage, path: &str) -> Vec<&'a Finding> {
    let all = page
        .change
        .as_ref()
        .map(|change| change.report.findings.as_slice());
    let all = all.or_else(|| {
        let frame = page.head.run.frame_named(&page.place)?;
        Some(frame.findings.as_slice())
    });
    let of_file = |finding: &&Finding| finding.report.file.as_deref() == Some(path);
    all.unwrap_or_default().iter().filter(of_file).collect()
}

/// Returns the findings and the comments as they stand below their lines.
fn line_notes(
    shell: &Shell,
    links: RunLinks<'_>,
    page: &DiffPage,
    findings: &[&Finding],
    comments: &[&(u64, LineComment)],
) -> LineNotes {
    let mut notes = LineNotes::new();
    for finding in findings {
        if let Some(line) = finding.report.line {
            let html = notes.entry((false, line)).or_default();
            push_finding(html, finding);
        }
    }
    for (id, comment) in comments {
        if let Some(last) = comment.last.or(comment.line) {
            let html = notes.entry((comment.is_old, last)).or_default();
            push_comment(html, shell, links, page, *id, comment);
        }
    }
    notes
}

fn push_finding(out: &mut String, finding: &Finding) {
    let report = &finding.report;
    let (class, state) = match finding.state {
        FindingState::Open => ("open", "open"),
        FindingState::Fixed => ("closed", "fixed"),
        FindingState::Withdrawn => ("closed", "withdrawn"),
    };
    let severity = severity_word(report.severity);
    out.push_str("<article class=\"note finding ");
    out.push_str(class);
    out.push_str("\"><p class=\"note-head\"><span class=\"tag tag-");
    out.push_str(severity);
    out.push_str("\">");
    out.push_str(severity);
    out.push_str("</span> ");
    push_escaped(out, finding.id.as_str());
    out.push_str(" by ");
    push_escaped(out, finding.step.as_str());
    out.push_str(", ");
    out.push_str(state);
    out.push_str("</p><p><strong>");
    push_escaped(out, &report.title);
    out.push_str("</strong></p>");
    if !report.detail.is_empty() {
        out.push_str("<p class=\"prose\">");
        push_escaped(out, &report.detail);
        out.push_str("</p>");
    }
    out.push_str("</article>");
}

fn push_comment(
    out: &mut String,
    shell: &Shell,
    links: RunLinks<'_>,
    page: &DiffPage,
    id: u64,
    comment: &LineComment,
) {
    out.push_str("<article class=\"note comment\"><p class=\"note-head\">Your comment on ");
    push_escaped(out, &comment.place());
    out.push_str(", not sent yet</p><p class=\"prose\">");
    push_escaped(out, &comment.text);
    out.push_str("</p>");
    if !shell.is_read_only {
        let _ = write!(
            out,
            "<form method=\"post\" action=\"{}\">{}<input type=\"hidden\" name=\"place\" value=\"{}\">\
             <input type=\"hidden\" name=\"comment\" value=\"{id}\">\
             <button class=\"quiet\">Drop this comment</button></form>",
            escaped(&links.action(RunAction::Uncomment)),
            form_fields(shell),
            escaped(&page.place),
        );
    }
    out.push_str("</article>");
}

/// Returns the fields that every form has.
fn form_fields(shell: &Shell) -> String {
    format!(
        "<input type=\"hidden\" name=\"token\" value=\"{}\">\
         <input type=\"hidden\" name=\"back\" value=\"{}\">",
        escaped(&shell.form_token),
        escaped(&shell.here),
    )
}

fn tree_values(page: &DiffPage, patch: &PatchDocument, here: &str) -> Vec<Value> {
    let lines = file_tree(patch).into_iter();
    lines
        .map(|line| {
            let file = line.file.and_then(|number| patch.files.get(number));
            // The style sheet has classes for so many steps.
            let depth = line.depth.min(6);
            let place = file.map(|file| file.path.as_str());
            context! {
                depth, name => line.name, number => line.file, path => place,
                added => file.map(|file| file.added),
                removed => file.map(|file| file.removed),
                is_viewed => file.is_some_and(|file| is_viewed(page, file)),
                notes => place.map_or(0, |path| note_count(page, path)),
                href => file.map(|file| match page.options.file {
                    Some(_) => format!("{here}?{}file={}", query_of(page), encode(&file.path)),
                    None => format!("#file-{}", line.file.unwrap_or(0)),
                }),
                is_here => place.is_some() && place == page.options.file.as_deref(),
            }
        })
        .collect()
}

fn note_count(page: &DiffPage, path: &str) -> usize {
    let comments = page.review.comments.iter();
    let comments = comments.filter(|(_, comment)| comment.path == path).count();
    let findings = findings_of(page, path).into_iter();
    let open = findings.filter(|finding| finding.state == FindingState::Open);
    comments + open.count()
}

/// Returns the findings that are about no file of the patch.
fn elsewhere_values(page: &DiffPage, patch: &PatchDocument, here: &str) -> Vec<Value> {
    let Some(change) = &page.change else {
        return Vec::new();
    };
    let files = patch.files.iter();
    let known: BTreeSet<&str> = files.map(|file| file.path.as_str()).collect();
    let findings = change.report.findings.iter().filter(|finding| {
        let file = finding.report.file.as_deref();
        finding.state == FindingState::Open && file.is_none_or(|file| !known.contains(file))
    });
    findings
        .map(|finding| finding_value(here, finding))
        .collect()
}

fn option_values(page: &DiffPage, here: &str) -> Value {
    let options = &page.options;
    let with = |is_split: bool, ignores_blanks: bool| {
        let mut query = Vec::new();
        if is_split {
            query.push("split=1".to_owned());
        }
        if ignores_blanks {
            query.push("w=1".to_owned());
        }
        if let Some(file) = &options.file {
            query.push(format!("file={}", encode(file)));
        }
        if let Some(since) = &options.since {
            query.push(format!("since={}", encode(since)));
        }
        match query.as_slice() {
            [] => here.to_owned(),
            query => format!("{here}?{}", query.join("&")),
        }
    };
    context! {
        is_split => options.is_split,
        ignores_blanks => options.ignores_blanks,
        unified => with(false, options.ignores_blanks),
        split => with(true, options.ignores_blanks),
        blanks => with(options.is_split, !options.ignores_blanks),
        file => options.file.as_deref(),
        all_files => options.file.is_some().then(|| here.to_owned()),
    }
}

/// Returns the part of the query that keeps how a change is shown, with a `&` at its end.
fn query_of(page: &DiffPage) -> String {
    let options = &page.options;
    let mut query = String::new();
    if options.is_split {
        query.push_str("split=1&");
    }
    if options.ignores_blanks {
        query.push_str("w=1&");
    }
    if let Some(since) = &options.since {
        let _ = write!(query, "since={}&", encode(since));
    }
    query
}

fn viewed_digest<'a>(page: &'a DiffPage, file: &PatchFile) -> Option<&'a str> {
    let viewed = page.review.viewed.iter();
    let mut viewed = viewed.filter(|(path, _)| *path == file.path);
    viewed.next().map(|(_, digest)| digest.as_str())
}

/// Returns true if a file was looked at as it is now.
fn is_viewed(page: &DiffPage, file: &PatchFile) -> bool {
    viewed_digest(page, file) == Some(digest_text(file).as_str())
}

/// Returns true if a file was looked at and has changed since.
fn has_changed_since(page: &DiffPage, file: &PatchFile) -> bool {
    viewed_digest(page, file).is_some_and(|digest| digest != digest_text(file))
}

/// Returns the digest of a file's part of the patch, as forms send it.
fn digest_text(file: &PatchFile) -> String {
    use std::fmt::Write as _;
    let mut text = String::new();
    for byte in file.digest {
        let _ = write!(text, "{byte:02x}");
    }
    text
}
