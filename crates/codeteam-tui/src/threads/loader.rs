//! Reads what panels show: the history of a run, patches, reports, outputs. The output that is shown
//! is looked at again and again while it is written.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::Duration;

use codeteam_core::ids::{FramePath, RunId};
use codeteam_engine::Engine;
use codeteam_engine::attempt_log::{AttemptLog, LogQuery, LogSearch};
use codeteam_engine::clock::now;
use codeteam_engine::metrics::{DEFAULT_DAYS, MetricsCache, ProjectMetrics};
use codeteam_engine::patches::{PatchWithFiles, patch_between, task_patch};
use codeteam_engine::problem::Problem;
use codeteam_report::view::{AttemptTimeline, ChangeView, LoadedRun, RunListItem, RunReplay};

use crate::message::{FoundLine, LoadRequest, LoadedLog, LoadedPatch, LoadedReport, Message};
use crate::model::{HistoryUpdate, LogTarget, TIMELINE_LINES, TimelineLine};
use crate::text::fit;
use codeteam_report::patch::PatchDocument;

/// How often an output that is written and shown is looked at.
const TAIL_INTERVAL: Duration = Duration::from_millis(200);
/// The longest line of a timeline that is kept.
const LONGEST_LINE: usize = 300;

/// Answers requests until nobody asks any more.
pub(crate) fn load_requests(
    engine: &Engine,
    requests: &Receiver<LoadRequest>,
    messages: &Sender<Message>,
) {
    let mut loader = Loader {
        engine,
        messages,
        replay: None,
        log: None,
        metrics: MetricsCache::default(),
    };
    loop {
        let is_tailing = loader.log.as_ref().is_some_and(|log| log.is_followed);
        let request = if is_tailing {
            requests.recv_timeout(TAIL_INTERVAL)
        } else {
            requests.recv().map_err(|_| RecvTimeoutError::Disconnected)
        };
        let is_heard = match request {
            Ok(request) => loader.load(request),
            Err(RecvTimeoutError::Timeout) => loader.tail(),
            Err(RecvTimeoutError::Disconnected) => return,
        };
        if !is_heard {
            return;
        }
    }
}

struct Loader<'a> {
    engine: &'a Engine,
    messages: &'a Sender<Message>,
    /// The run that is shown, as far as it was read.
    replay: Option<FollowedHistory>,
    log: Option<OpenLog>,
    metrics: MetricsCache,
}

struct FollowedHistory {
    run: RunId,
    replay: RunReplay,
    attempts: AttemptTimeline,
}

struct OpenLog {
    target: LogTarget,
    log: AttemptLog,
    is_followed: bool,
}

impl Loader<'_> {
    /// Answers a request; returns false if nobody listens.
    fn load(&mut self, request: LoadRequest) -> bool {
        let message = match request {
            LoadRequest::History(run) => match self.read_history(&run) {
                Ok(Some(update)) => Message::HistoryRead(Box::new(update)),
                Ok(None) => return true,
                Err(problem) => Message::ReadFailed(problem_line(&problem)),
            },
            LoadRequest::Patch { run, place } => {
                let (patch, version) = match self.read_patch(&run, &place) {
                    Ok((patch, version)) => (Ok(Arc::new(patch)), version),
                    Err(problem) => (Err(problem_line(&problem)), None),
                };
                Message::PatchLoaded(LoadedPatch {
                    run,
                    place,
                    patch,
                    version,
                })
            }
            LoadRequest::Report { run, place } => {
                let change = self.read_report(&run, &place);
                let change = change.map(Box::new).map_err(|p| problem_line(&p));
                Message::ReportLoaded(LoadedReport { run, place, change })
            }
            LoadRequest::Log {
                target,
                query,
                is_followed,
            } => match self.read_log(&target, &query, is_followed) {
                Ok(loaded) => Message::LogLoaded(loaded),
                Err(problem) => Message::ReadFailed(problem_line(&problem)),
            },
            LoadRequest::FindInLog { target, search } => match self.find_in_log(&target, &search) {
                Ok(found) => Message::LogSearched(found),
                Err(problem) => Message::ReadFailed(problem_line(&problem)),
            },
            LoadRequest::Metrics => {
                let counted = self.count_metrics();
                Message::MetricsLoaded(Box::new(counted.map_err(|p| problem_line(&p))))
            }
            LoadRequest::CloseLog => {
                self.log = None;
                return true;
            }
        };
        self.messages.send(message).is_ok()
    }

    /// Reads what has happened in a run since the last time.
    fn read_history(&mut self, run: &RunId) -> Result<Option<HistoryUpdate>, Problem> {
        let is_whole = self.replay.as_ref().is_none_or(|known| known.run != *run);
        let mut known = match self.replay.take() {
            Some(known) if !is_whole => known,
            _ => FollowedHistory {
                run: run.clone(),
                replay: RunReplay::default(),
                attempts: AttemptTimeline::default(),
            },
        };
        let mut lines = Vec::new();
        let after = known.replay.seq();
        let read = self.engine.each_event(run, after, |seq, at, event| {
            known.replay.apply_event(&event);
            known.attempts.record_event(at, &event);
            if let Some(words) = known.replay.describe_event(&event) {
                let frame = codeteam_report::describe::event_frame(&event);
                lines.push(TimelineLine {
                    seq,
                    at,
                    place: frame.map_or("run", FramePath::name).to_owned(),
                    words: fit(&words, LONGEST_LINE),
                });
                if lines.len() > 2 * TIMELINE_LINES {
                    lines.drain(..TIMELINE_LINES);
                }
            }
        });
        let has_news = known.replay.seq() > after;
        let update = has_news.then(|| HistoryUpdate {
            run: known.replay.snapshot(),
            attempts: known.attempts.take_changed(),
            lines,
            is_whole,
        });
        self.replay = Some(known);
        read?;
        if let Some(update) = &update {
            update.run.view();
        }
        Ok(update)
    }

    /// Returns a run as it is now. The one that is shown need not be read again.
    fn current_run(&mut self, run: &RunId) -> Result<LoadedRun, Problem> {
        match &self.replay {
            Some(known) if known.run == *run => Ok(known.replay.snapshot()),
            _ => Ok(self.engine.load_run_view(run)?),
        }
    }

    fn read_patch(
        &mut self,
        run: &RunId,
        place: &str,
    ) -> Result<(PatchDocument, Option<String>), Problem> {
        let view = self.current_run(run)?;
        let frame = view.frame_named(place);
        let version = frame.and_then(|frame| frame.diff.as_ref());
        let version = version.map(|body| body.0.clone());
        let is_whole_run = place == "run" && version.is_none();
        let PatchWithFiles { text, .. } = if is_whole_run {
            patch_between(self.engine, &view.base, &view.tip)?
        } else {
            task_patch(self.engine, &view, place)?
        };
        Ok((PatchDocument::parse(&text), version))
    }

    fn read_report(&mut self, run: &RunId, place: &str) -> Result<ChangeView, Problem> {
        let view = self.current_run(run)?;
        let records = self.engine.records();
        let frame = view.frame_named(place).map(|frame| frame.path.clone());
        let change = frame.and_then(|frame| ChangeView::of_frame(records, &view, &frame));
        if let Some(change) = change {
            return Ok(change);
        }
        let name = Some(place);
        let history = self.engine.read_judgements(run, name)?;
        ChangeView::from_history(records, &history, name)
            .ok_or_else(|| Problem::user(format!("nothing of `{place}` was judged yet")))
    }

    fn read_log(
        &mut self,
        target: &LogTarget,
        query: &LogQuery,
        is_followed: bool,
    ) -> Result<LoadedLog, Problem> {
        let is_open = self.log.as_ref().is_some_and(|open| open.target == *target);
        if !is_open {
            let transcript = target.transcript.as_ref();
            let log = AttemptLog::open(self.engine, &target.run, target.fence, transcript)?;
            self.log = Some(OpenLog {
                target: target.clone(),
                log,
                is_followed,
            });
        }
        let unreadable = |e| Problem::environment("the output cannot be read").caused_by(&e);
        let Some(open) = &mut self.log else {
            return Err(Problem::internal("the output is not open"));
        };
        open.is_followed = is_followed;
        if is_open {
            open.log.refresh().map_err(unreadable)?;
        }
        Ok(LoadedLog {
            fence: target.fence,
            query: query.clone(),
            total: open.log.line_count(),
            lines: open.log.read(query).map_err(unreadable)?,
        })
    }

    /// Searches the output that is shown.
    fn find_in_log(
        &mut self,
        target: &LogTarget,
        search: &LogSearch,
    ) -> Result<FoundLine, Problem> {
        let unreadable = |e| Problem::environment("the output cannot be read").caused_by(&e);
        let open = self.log.as_ref().filter(|open| open.target == *target);
        let Some(open) = open else {
            return Err(Problem::internal("the output is not open"));
        };
        let found = open.log.find(search).map_err(unreadable)?;
        Ok(FoundLine {
            fence: target.fence,
            text: search.text.clone(),
            line: found.map(|(line, _)| line),
            is_wrapped: found.is_some_and(|(_, is_wrapped)| is_wrapped),
        })
    }

    /// Counts success, time and cost over the runs of the last days.
    fn count_metrics(&self) -> Result<ProjectMetrics, Problem> {
        let rows = self.engine.store.runs()?;
        let items = rows.iter().map(|row| RunListItem::new(row, None));
        self.metrics
            .count_runs("", self.engine, items, DEFAULT_DAYS, now())
    }

    /// Looks whether the output that is shown has grown.
    fn tail(&mut self) -> bool {
        let Some(open) = &mut self.log else {
            return true;
        };
        match open.log.refresh() {
            Ok(false) => true,
            Ok(true) => {
                let (fence, lines) = (open.target.fence, open.log.line_count());
                self.messages
                    .send(Message::LogGrew { fence, lines })
                    .is_ok()
            }
            Err(error) => {
                open.is_followed = false;
                let text = format!("the output cannot be read: {error}");
                self.messages.send(Message::ReadFailed(text)).is_ok()
            }
        }
    }
}

/// Returns a problem on one line, with what can be done about it.
fn problem_line(problem: &Problem) -> String {
    let mut line = problem.what().to_owned();
    for cause in problem.causes() {
        line = format!("{line}: {cause}");
    }
    if let Some(hint) = problem.hints().first() {
        line = format!("{line} ({hint})");
    }
    line
}
