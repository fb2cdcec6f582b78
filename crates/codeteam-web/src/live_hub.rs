//! Tells open pages what has changed: one stream for each browser, whose tabs share it.
//!
//! An event on the stream says what changed, not how: the page fetches the parts that show it. A
//! browser that comes back names the last event that it has had, and gets what came after it. If that
//! is no longer known, or belongs to an earlier server, it is told to fetch everything again.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use hyper::body::Bytes;
use serde::Serialize;
use tokio::sync::mpsc::{Receiver, Sender, channel};

/// How many events are kept for browsers that come back.
const KEPT: usize = 1_000;
/// How many events may wait for a browser. One that takes none is cut off, and comes back.
const WAITING: usize = 256;
/// The most streams.
const MOST_STREAMS: usize = 64;

/// What an event is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum LiveEvent {
    /// Something has happened in a run.
    RunChanged {
        /// The key of the project.
        project: String,
        /// The run.
        run: String,
        /// The number of its last event.
        seq: u64,
    },
    /// An output that is being read has grown.
    LogGrew {
        /// The key of the project.
        project: String,
        /// The run.
        run: String,
        /// The launch.
        fence: u64,
        /// How many lines there are now.
        lines: usize,
    },
}

/// Which events a stream has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum LiveScope {
    /// All.
    All,
    /// Those of one run.
    Run {
        /// The key of the project.
        project: String,
        /// The run.
        run: String,
    },
}

#[derive(Serialize)]
struct ChangeData<'a> {
    project: &'a str,
    run: &'a str,
    seq: u64,
}

#[derive(Serialize)]
struct LogData<'a> {
    project: &'a str,
    run: &'a str,
    fence: u64,
    lines: usize,
}

impl LiveEvent {
    fn is_in(&self, scope: &LiveScope) -> bool {
        let (Self::RunChanged { project, run, .. } | Self::LogGrew { project, run, .. }) = self;
        match scope {
            LiveScope::All => true,
            LiveScope::Run {
                project: of,
                run: id,
            } => of == project && id == run,
        }
    }

    fn frame(&self, boot: &str, number: u64) -> Bytes {
        let (name, data) = match self {
            Self::RunChanged { project, run, seq } => {
                let seq = *seq;
                let data = ChangeData { project, run, seq };
                ("change", serde_json::to_string(&data))
            }
            Self::LogGrew {
                project,
                run,
                fence,
                lines,
            } => {
                let (fence, lines) = (*fence, *lines);
                let data = LogData {
                    project,
                    run,
                    fence,
                    lines,
                };
                ("log", serde_json::to_string(&data))
            }
        };
        let data = data.unwrap_or_default();
        Bytes::from(format!(
            "id: {boot}-{number}\nevent: {name}\ndata: {data}\n\n"
        ))
    }
}

/// Passes events on to all streams.
#[derive(Debug)]
pub(crate) struct LiveHub {
    /// Names this server, so that numbers of an earlier one are not taken for its own.
    boot: String,
    inner: Mutex<HubState>,
}

#[derive(Debug, Default)]
struct HubState {
    last: u64,
    kept: VecDeque<(u64, LiveEvent)>,
    streams: Vec<LiveStream>,
}

#[derive(Debug)]
struct LiveStream {
    scope: LiveScope,
    sender: Sender<Bytes>,
}

impl LiveHub {
    /// Makes a hub without streams.
    pub(crate) fn new(boot: String) -> Self {
        let inner = Mutex::default();
        Self { boot, inner }
    }

    /// Opens a stream. `last_id` is the last event that the browser has had. `None` if there are as
    /// many streams as there may be.
    pub(crate) fn open(&self, scope: LiveScope, last_id: Option<&str>) -> Option<Receiver<Bytes>> {
        let mut inner = self.lock();
        inner.streams.retain(|stream| !stream.sender.is_closed());
        if inner.streams.len() >= MOST_STREAMS {
            return None;
        }
        let (sender, receiver) = channel(WAITING);
        let boot = &self.boot;
        let hello = format!("retry: 1000\nid: {boot}-{}\n", inner.last);
        let missed = last_id.map(|id| {
            self.missed_since(&inner, id)
                .map(Iterator::collect::<Vec<_>>)
        });
        match missed {
            None => {
                let _ =
                    sender.try_send(Bytes::from(format!("{hello}event: hello\ndata: {{}}\n\n")));
            }
            Some(Some(missed)) => {
                for (number, event) in missed.into_iter().filter(|(_, event)| event.is_in(&scope)) {
                    let _ = sender.try_send(event.frame(boot, *number));
                }
            }
            Some(None) => {
                let again = format!("{hello}event: reload\ndata: {{}}\n\n");
                let _ = sender.try_send(Bytes::from(again));
            }
        }
        inner.streams.push(LiveStream { scope, sender });
        Some(receiver)
    }

    /// Returns what has happened since an event; `None` if that is not known.
    fn missed_since<'a>(
        &self,
        inner: &'a HubState,
        id: &str,
    ) -> Option<impl Iterator<Item = &'a (u64, LiveEvent)> + use<'a>> {
        let (boot, number) = id.rsplit_once('-')?;
        let number: u64 = number.parse().ok()?;
        if boot != self.boot || number > inner.last {
            return None;
        }
        let first = inner
            .kept
            .front()
            .map_or(inner.last + 1, |(first, _)| *first);
        let waiting = inner.last - number;
        if number + 1 < first || usize::try_from(waiting).map_or(true, |n| n >= WAITING) {
            return None;
        }
        Some(inner.kept.iter().filter(move |(at, _)| *at > number))
    }

    /// Tells all streams of an event.
    pub(crate) fn tell(&self, event: LiveEvent) {
        let mut inner = self.lock();
        inner.last += 1;
        let number = inner.last;
        let frame = event.frame(&self.boot, number);
        inner.streams.retain(|stream| {
            // One that is full is cut off: the browser comes back and says what it has had.
            !event.is_in(&stream.scope) || stream.sender.try_send(frame.clone()).is_ok()
        });
        inner.kept.push_back((number, event));
        if inner.kept.len() > KEPT {
            inner.kept.pop_front();
        }
    }

    /// Sends something that means nothing, so that streams to nobody are noticed.
    pub(crate) fn keep_alive(&self) {
        let mut inner = self.lock();
        let comment = Bytes::from_static(b": still here\n\n");
        inner
            .streams
            .retain(|stream| stream.sender.try_send(comment.clone()).is_ok());
    }

    /// Ends all streams.
    pub(crate) fn close(&self) {
        self.lock().streams.clear();
    }

    fn lock(&self) -> MutexGuard<'_, HubState> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(run: &str, seq: u64) -> LiveEvent {
        LiveEvent::RunChanged {
            project: "p".to_owned(),
            run: run.to_owned(),
            seq,
        }
    }

    fn received(stream: &mut Receiver<Bytes>) -> Vec<String> {
        let mut all = Vec::new();
        while let Ok(frame) = stream.try_recv() {
            all.push(String::from_utf8(frame.to_vec()).unwrap());
        }
        all
    }

    #[test]
    fn a_browser_that_comes_back_misses_nothing() {
        let hub = LiveHub::new("boot".to_owned());
        let mut stream = hub.open(LiveScope::All, None).unwrap();
        hub.tell(change("a", 1));
        hub.tell(change("b", 7));
        let told = received(&mut stream);
        assert_eq!(told.len(), 3);
        assert!(told[0].contains("event: hello"), "{told:?}");
        assert_eq!(
            told[2],
            "id: boot-2\nevent: change\ndata: {\"project\":\"p\",\"run\":\"b\",\"seq\":7}\n\n"
        );
        drop(stream);
        hub.tell(change("a", 2));
        let mut again = hub.open(LiveScope::All, Some("boot-2")).unwrap();
        let told = received(&mut again);
        assert_eq!(told.len(), 1);
        assert!(told[0].starts_with("id: boot-3\n"));
        let mut up_to_date = hub.open(LiveScope::All, Some("boot-3")).unwrap();
        assert!(received(&mut up_to_date).is_empty());
    }

    #[test]
    fn what_is_no_longer_known_is_fetched_again() {
        let hub = LiveHub::new("boot".to_owned());
        for seq in 0..1_500 {
            hub.tell(change("a", seq));
        }
        for id in ["boot-3", "other-1500", "boot-9999", "nonsense", ""] {
            let mut stream = hub.open(LiveScope::All, Some(id)).unwrap();
            let told = received(&mut stream);
            assert!(told[0].contains("event: reload"), "{id}: {told:?}");
            assert!(told[0].contains("id: boot-1500"), "{id}: {told:?}");
        }
    }

    #[test]
    fn a_reader_of_one_run_hears_of_no_other() {
        let hub = LiveHub::new("boot".to_owned());
        let scope = LiveScope::Run {
            project: "p".to_owned(),
            run: "a".to_owned(),
        };
        let mut stream = hub.open(scope, None).unwrap();
        hub.tell(change("b", 1));
        hub.tell(change("a", 2));
        let told = received(&mut stream);
        assert_eq!(told.len(), 2);
        assert!(told[1].contains("\"run\":\"a\""));
    }

    #[test]
    fn whoever_takes_nothing_is_cut_off_and_others_are_not() {
        let hub = LiveHub::new("boot".to_owned());
        let mut silent = hub.open(LiveScope::All, None).unwrap();
        for seq in 0..u64::try_from(WAITING).unwrap() + 10 {
            hub.tell(change("a", seq));
        }
        assert_eq!(received(&mut silent).len(), WAITING);
        assert!(silent.is_closed());
        let streams: Vec<_> = (0..MOST_STREAMS)
            .map(|_| hub.open(LiveScope::All, None).unwrap())
            .collect();
        assert!(hub.open(LiveScope::All, None).is_none());
        drop(streams);
        assert!(hub.open(LiveScope::All, None).is_some());
    }
}
