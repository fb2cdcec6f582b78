//! What happened in a run: bars of attempts, the events in words, and each event as it is stored.

use codeteam_report::describe::first_line;
use codeteam_report::view::{AttemptView, attempt_standing};
use minijinja::{Value, context};

use super::PageContent;
use super::data::{EventPage, EventsPage, Shell, TimelinePage};
use super::format::format_spent;
use super::run::{entry_values, last_time};
use super::run_head::{RunLinks, RunTab, head_values};
use super::time_bars::draw_bars;
use crate::routes::RunPlace;

pub(super) fn timeline_content(shell: &Shell, page: &TimelinePage) -> PageContent {
    let (head, run) = (&page.head, &page.head.run);
    let links = RunLinks::of_head(head);
    let now = if run.is_ended() {
        last_time(&page.attempts, shell.now)
    } else {
        shell.now
    };
    let bars = draw_bars(links, &page.attempts, now, run.is_ended());
    let entries = page.entries.iter().rev();
    let attempts = page.attempts.iter().rev();
    let values = context! {
        head => head_values(shell, head, RunTab::Timeline),
        bars => Value::from_safe_string(bars),
        entries => entries.filter_map(|entry| entry_values(links, entry)).collect::<Value>(),
        left_out => page.left_out,
        events => links.page(RunPlace::Events),
        attempts => attempts.take(200).map(|attempt| attempt_row(links, attempt, shell)).collect::<Value>(),
        attempt_count => page.attempts.len(),
    };
    let title = format!("Timeline · {}", first_line(&run.goal));
    PageContent::new(
        "timeline.html",
        title,
        &["run-head", "timeline-bars", "timeline-list"],
        values,
    )
}

/// Returns an attempt for a table.
pub(super) fn attempt_row(links: RunLinks<'_>, attempt: &AttemptView, shell: &Shell) -> Value {
    let (standing, words) = attempt_standing(attempt);
    let is_against = words.starts_with("rejects");
    context! {
        href => links.page(RunPlace::Attempt(attempt.id.fence)),
        fence => attempt.id.fence,
        who => attempt.who.as_str(),
        step => attempt.id.step.as_str(),
        place => attempt.id.frame.name(),
        worker => attempt.worker.as_ref().map(|worker| worker.0.as_str()),
        state => if is_against { "failed" } else { standing.word() },
        word => if words.is_empty() || matches!(standing.word(), "failed" | "left out") { standing.word().to_owned() } else { words.clone() },
        words => if matches!(standing.word(), "failed" | "left out") { words } else { String::new() },
        started => attempt.started_at.0,
        duration => attempt.duration(shell.now),
        tokens => attempt.usage.tokens(),
        money => attempt.by_worker.then(|| format_spent(attempt.usage.cost_microusd)),
        is_running => attempt.is_running(),
    }
}

pub(super) fn events_content(shell: &Shell, page: &EventsPage) -> PageContent {
    let (head, run) = (&page.head, &page.head.run);
    let links = RunLinks::of_head(head);
    let entries = page.entries.iter().map(|entry| {
        context! {
            seq => entry.seq,
            href => links.page(RunPlace::Event(entry.seq)),
            at => entry.at.0,
            place => entry.place(),
            place_href => links.task(entry.place()),
            kind => entry.kind,
            words => entry.words.as_deref(),
        }
    });
    let action = links.page(RunPlace::Events);
    let filter = format!(
        "kind={}&q={}",
        crate::routes::encode(&page.kind),
        crate::routes::encode(&page.query)
    );
    let kinds = page.kinds.iter().map(|kind| {
        context! { kind, is_chosen => *kind == page.kind }
    });
    let values = context! {
        head => head_values(shell, head, RunTab::Events),
        entries => entries.collect::<Value>(),
        kinds => kinds.collect::<Value>(),
        query => page.query.as_str(),
        first => (page.after > 0).then(|| format!("{action}?{filter}")),
        next => page.next.map(|next| format!("{action}?{filter}&after={next}")),
        action,
    };
    let title = format!("Events · {}", first_line(&run.goal));
    PageContent::new("events.html", title, &["run-head", "event-list"], values)
}

pub(super) fn event_content(shell: &Shell, page: &EventPage) -> PageContent {
    let (head, entry) = (&page.head, &page.entry);
    let links = RunLinks::of_head(head);
    let seq = entry.seq;
    let values = context! {
        head => head_values(shell, head, RunTab::Events),
        seq,
        at => entry.at.0,
        kind => entry.kind,
        place => entry.place(),
        place_href => links.task(entry.place()),
        words => entry.words.as_deref(),
        raw => page.raw.as_str(),
        events => links.page(RunPlace::Events),
        previous => (seq > 1).then(|| links.page(RunPlace::Event(seq - 1))),
        next => (seq < head.run.seq()).then(|| links.page(RunPlace::Event(seq + 1))),
    };
    PageContent::new("event.html", format!("Event {seq}"), &["run-head"], values)
}
