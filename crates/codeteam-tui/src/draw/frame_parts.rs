//! The first lines of the screen and the last ones.

use codeteam_engine::attempt_log::LogLineKind;
use codeteam_report::report::{ScreenLine, TextTone};
use ratatui::Frame;
use ratatui::layout::Rect;

use super::{Theme, put_line};
use crate::content::{span, standing_tone};
use crate::keys::{COMMON_KEYS, PanelKind, is_searched, panel_keys};
use crate::state::{App, DiffPanel, Panel};
use crate::text::{clean, count, fit, width};

/// The main panels, with the keys that open them.
const TABS: [(&str, &str, PanelKind); 8] = [
    ("1", "inbox", PanelKind::Inbox),
    ("2", "runs", PanelKind::Runs),
    ("3", "run", PanelKind::Run),
    ("4", "plan", PanelKind::Plan),
    ("5", "cost", PanelKind::Cost),
    ("7", "timeline", PanelKind::Timeline),
    ("8", "workflow", PanelKind::Workflow),
    ("9", "metrics", PanelKind::Metrics),
];

/// Draws the line with the main panels, and the line that says what is shown.
pub(super) fn draw_header(app: &App, theme: Theme, frame: &mut Frame<'_>) {
    let columns = frame.area().width;
    let first = app.panels.first().map(Panel::kind);
    let waiting = app.inbox().len();
    let mut tabs: ScreenLine = vec![span(TextTone::Strong, "codeteam ")];
    for (key, name, kind) in TABS {
        let tone = if first == Some(kind) {
            TextTone::Strong
        } else {
            TextTone::Faint
        };
        let name = match kind {
            PanelKind::Inbox if waiting > 0 => format!("{name}({waiting})"),
            _ => name.to_owned(),
        };
        let text = if first == Some(kind) {
            format!("[{key} {name}]")
        } else {
            format!(" {key} {name} ")
        };
        // Half a word is worse than none: `?` names every panel.
        if line_width(&tabs) + width(&text) > usize::from(columns) {
            break;
        }
        let tone = if kind == PanelKind::Inbox && waiting > 0 {
            TextTone::Warn
        } else {
            tone
        };
        tabs.push(span(tone, text));
    }
    put_line(theme, frame, Rect::new(0, 0, columns, 1), &tabs);
    let title = title_line(app, usize::from(columns));
    put_line(theme, frame, Rect::new(0, 1, columns, 1), &title);
}

fn line_width(line: &ScreenLine) -> usize {
    line.iter().map(|span| width(&span.text)).sum()
}

/// Returns the line that says what is shown, and who drives it.
fn title_line(app: &App, columns: usize) -> ScreenLine {
    let about_all = [PanelKind::Inbox, PanelKind::Runs, PanelKind::Metrics];
    let first = app.panels.first().map(Panel::kind);
    let about_run = !first.is_some_and(|kind| about_all.contains(&kind)) || app.panels.len() > 1;
    let mut line = Vec::new();
    // What matters most comes first: a narrow terminal cuts the end off.
    let run = app.selected.as_ref().filter(|_| about_run);
    if let Some(run) = run {
        let (standing, _) = app.run_standing();
        line.push(span(standing_tone(standing), standing.word()));
        let is_open = app.shown_run().is_some_and(|run| !run.is_ended());
        if is_open && !app.is_driven(run.as_str()) {
            line.push(span(TextTone::Warn, ", nobody drives it"));
        }
    } else if !app.has_runs {
        line.push(span(TextTone::Faint, "reading the runs …"));
    }
    line.push(span(TextTone::Plain, trail_text(app)));
    if let Some(cursor) = app.panel().and_then(Panel::cursor)
        && !cursor.filter.is_empty()
    {
        let text = format!("  /{} (Esc shows all)", clean(&cursor.filter));
        line.push(span(TextTone::Warn, text));
    }
    if let Some(cursor) = app.panel().and_then(Panel::cursor)
        && !cursor.search.is_empty()
    {
        let text = format!("  searched: {} (n, N; Esc ends it)", clean(&cursor.search));
        line.push(span(TextTone::Warn, text));
    }
    if let Some(run) = run {
        line.push(span(TextTone::Faint, format!("  {run}")));
    }
    let used: usize = line.iter().map(|span| width(&span.text)).sum();
    if used > columns {
        let text: String = line.iter().map(|span| span.text.as_str()).collect();
        return vec![span(TextTone::Plain, fit(&text, columns))];
    }
    line
}

/// Returns the panels that were opened from the main one.
fn trail_text(app: &App) -> String {
    let panels = app.panels.iter().skip(1);
    let names = panels.map(|panel| format!(" > {}", panel_name(app, panel)));
    names.collect()
}

fn panel_name(app: &App, panel: &Panel) -> String {
    match panel {
        Panel::Approval(panel) => format!("question of {}", panel.question.frame.name()),
        Panel::Diff(diff) => diff_name(app, diff),
        Panel::Log(log) => {
            let follows = if log.is_followed { ", followed" } else { "" };
            let only = match log.only {
                Some(LogLineKind::Problem) => ", only problems",
                Some(_) => ", only tools",
                None => "",
            };
            format!(
                "output of {}, {} lines{only}{follows}",
                log.title, log.total
            )
        }
        Panel::Findings { place, .. } => match place {
            Some(place) => format!("findings of {place}"),
            None => "findings".to_owned(),
        },
        Panel::Report { place, .. } => format!("report on {place}"),
        Panel::Command { .. } => "command".to_owned(),
        Panel::Inbox(_) => "inbox".to_owned(),
        Panel::Runs(_) => "runs".to_owned(),
        Panel::Run { .. } => "run".to_owned(),
        Panel::Plan(_) => "plan".to_owned(),
        Panel::Cost(_) => "cost".to_owned(),
        Panel::Metrics(_) => "metrics".to_owned(),
        Panel::Workflow(_) => "workflow".to_owned(),
        Panel::Timeline { .. } => "timeline".to_owned(),
    }
}

/// Returns how much a patch changes, and whether there is a newer one: what is read is never swapped
/// under the reader.
fn diff_name(app: &App, diff: &DiffPanel) -> String {
    let name = format!("diff of {}", diff.place);
    let Some(loaded) = &diff.loaded else {
        return name;
    };
    let Ok(patch) = &loaded.patch else {
        return name;
    };
    let (added, removed) = patch.totals();
    let files = count(patch.files.len(), "file");
    let cut = if patch.is_cut { ", cut off" } else { "" };
    let run = app.run_view(diff.run.as_str());
    let frame = run.and_then(|run| run.frame_named(&diff.place));
    let now = frame.and_then(|frame| frame.diff.as_ref());
    let is_old = now.is_some_and(|now| loaded.version.as_ref() != Some(&now.0));
    let newer = if is_old { "; it has changed: `u`" } else { "" };
    format!("{name}, {files} +{added} -{removed}{cut}{newer}")
}

/// Draws the line that says what has just happened, and the line with the most useful keys.
pub(super) fn draw_footer(app: &App, theme: Theme, frame: &mut Frame<'_>) {
    let area = frame.area();
    let notice = match &app.notice {
        Some(notice) => {
            let tone = if notice.is_problem {
                TextTone::Bad
            } else {
                TextTone::Plain
            };
            let sign = if notice.is_problem { "! " } else { "" };
            let text = format!("{sign}{}", clean(&notice.text));
            vec![span(tone, fit(&text, usize::from(area.width)))]
        }
        None => running_commands(app),
    };
    let row = Rect::new(0, area.height - 2, area.width, 1);
    put_line(theme, frame, row, &notice);
    let row = Rect::new(0, area.height - 1, area.width, 1);
    put_line(theme, frame, row, &key_hints(app, usize::from(area.width)));
}

fn running_commands(app: &App) -> ScreenLine {
    let running = app.commands.iter().filter(|c| c.ended.is_none());
    let running: Vec<&str> = running.map(|c| c.line.as_str()).collect();
    match running.as_slice() {
        [] => Vec::new(),
        [one] => vec![span(TextTone::Faint, format!("… {}", clean(one)))],
        several => vec![span(
            TextTone::Faint,
            format!("… {} commands are running", several.len()),
        )],
    }
}

/// Returns the keys of the panel that have a short word, as far as there is room.
fn key_hints(app: &App, columns: usize) -> ScreenLine {
    let Some(kind) = app.panel().map(Panel::kind) else {
        return Vec::new();
    };
    let opens = match kind {
        PanelKind::Cost
        | PanelKind::Metrics
        | PanelKind::Workflow
        | PanelKind::Text
        | PanelKind::Log => None,
        PanelKind::Approval => Some("choose"),
        _ => Some("open"),
    };
    let open = opens.map(|word| ("Enter", word));
    let own = panel_keys(kind).iter().filter(|b| !b.hint.is_empty());
    let own = own.map(|b| (b.keys[0], b.hint));
    let slash = if is_searched(kind) {
        "search"
    } else {
        "filter"
    };
    let others = [("Esc", "back"), ("/", slash), (":", "command")];
    let common = COMMON_KEYS.iter().filter(|b| !b.hint.is_empty());
    let common: Vec<_> = common.map(|b| (b.keys[0], b.hint)).collect();
    let long = |(key, word): &(&str, &str)| key.len() + word.len() + 3;
    // Whoever knows how to get help and how to leave finds everything else.
    let reserved: usize = common.iter().map(long).sum();
    let mut line = Vec::new();
    let mut push = |(key, word): (&'static str, &'static str)| {
        line.push(span(TextTone::Strong, key));
        line.push(span(TextTone::Faint, format!(" {word}  ")));
    };
    let mut left = (columns + 2).saturating_sub(reserved);
    for hint in open.into_iter().chain(own).chain(others) {
        if let Some(rest) = left.checked_sub(long(&hint)) {
            left = rest;
            push(hint);
        }
    }
    common.into_iter().for_each(push);
    line
}
