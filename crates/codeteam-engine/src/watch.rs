//! Tells a surface of the runs of a project as they change, whichever process writes them.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use codeteam_core::ids::RunId;
use codeteam_host::store::WatchInterrupt;
use codeteam_report::feed::{Feed, FeedItem, FeedScope, FeedStart};
use codeteam_report::records::RecordsError;
use codeteam_report::view::{LoadedRun, RunListItem, Standing, run_standing};

use crate::engine::Engine;
use crate::session;

/// Whether a process drives a run is not an event. So often it is looked at while a run is open.
const DRIVER_CHECK: Duration = Duration::from_secs(2);

/// A run of the project, as the feed tells of it.
#[derive(Clone, Debug)]
pub struct WatchedRun {
    /// Its row in the list.
    pub item: RunListItem,
    /// The run itself, if it has not ended.
    pub loaded: Option<LoadedRun>,
    /// Whether a living process drives it.
    pub is_driven: bool,
}

impl WatchedRun {
    /// Returns how the run stands, and what there is to know about that.
    pub fn standing(&self) -> (Standing, String) {
        let run = self.loaded.as_ref().map(LoadedRun::view);
        run_standing(&self.item, run, self.is_driven)
    }
}

/// Watches the runs of a project.
pub struct RunWatcher<'a> {
    engine: &'a Engine,
    feed: Feed,
    /// The runs that have not ended, and whether a process drives each.
    open: BTreeMap<String, bool>,
    /// The last row of each run that was told of.
    rows: BTreeMap<String, RunListItem>,
}

impl<'a> RunWatcher<'a> {
    /// Begins to watch. Nothing that is written from now on is missed.
    pub fn open(engine: &'a Engine) -> Result<Self, RecordsError> {
        let feed = Feed::open(&engine.store, FeedScope::Project, FeedStart::Now)?;
        Ok(Self {
            engine,
            feed,
            open: BTreeMap::new(),
            rows: BTreeMap::new(),
        })
    }

    /// Returns a handle with which another thread wakes [`RunWatcher::watch`], so that it asks whether
    /// it is over.
    pub fn interrupter(&self) -> WatchInterrupt {
        self.feed.interrupter()
    }

    /// Tells of all runs first, then of those that have changed, until `tell` returns false or it is
    /// over.
    pub fn watch(
        &mut self,
        is_over: &dyn Fn() -> bool,
        tell: &mut dyn FnMut(Vec<WatchedRun>) -> bool,
    ) -> Result<(), RecordsError> {
        let mut items = self.feed.read_items()?;
        let mut is_first = true;
        while !is_over() {
            let mut changed = self.take_items(items);
            changed.extend(self.changed_drivers());
            let mut runs = Vec::new();
            for id in changed {
                runs.extend(self.describe_run(&id)?);
            }
            if (is_first || !runs.is_empty()) && !tell(runs) {
                return Ok(());
            }
            is_first = false;
            let wait = (!self.open.is_empty()).then_some(DRIVER_CHECK);
            items = self.feed.next_items(wait)?;
        }
        Ok(())
    }

    /// Returns the runs that items are about.
    fn take_items(&mut self, items: Vec<FeedItem>) -> BTreeSet<String> {
        let mut changed = BTreeSet::new();
        for item in items {
            match item {
                FeedItem::RunListed(row) | FeedItem::RunChanged(row) | FeedItem::RunEnded(row) => {
                    let has_ended =
                        matches!(row.status.as_str(), "completed" | "failed" | "aborted");
                    if has_ended {
                        self.open.remove(&row.run);
                    } else {
                        self.open.entry(row.run.clone()).or_default();
                    }
                    changed.insert(row.run.clone());
                    self.rows.insert(row.run.clone(), row);
                }
                FeedItem::EventAppended(entry) => {
                    if let Some(row) = self.rows.get_mut(entry.run.as_str()) {
                        row.events = entry.seq;
                        row.updated_at = i64::try_from(entry.at.0).unwrap_or(0);
                    }
                    changed.insert(entry.run.0);
                }
                FeedItem::TaskChanged { run, .. }
                | FeedItem::QuestionOpened { run, .. }
                | FeedItem::QuestionClosed { run, .. } => {
                    changed.insert(run.0);
                }
            }
        }
        changed
    }

    /// Returns the open runs that a process drives now and did not before, or the other way round.
    fn changed_drivers(&mut self) -> Vec<String> {
        let mut changed = Vec::new();
        for (id, known) in &mut self.open {
            let now = session::is_driven(self.engine, &RunId(id.clone())).unwrap_or(*known);
            if now != *known {
                *known = now;
                changed.push(id.clone());
            }
        }
        changed
    }

    fn describe_run(&mut self, id: &str) -> Result<Option<WatchedRun>, RecordsError> {
        let Some(item) = self.rows.get(id).cloned() else {
            return Ok(None);
        };
        let is_driven = self.open.get(id).copied();
        let loaded = match is_driven {
            Some(_) => self.feed.snapshot(&RunId(id.to_owned()))?,
            None => None,
        };
        // The view is made here, so that the surface does not wait for it.
        if let Some(loaded) = &loaded {
            loaded.view();
        }
        Ok(Some(WatchedRun {
            item,
            loaded,
            is_driven: is_driven.unwrap_or(false),
        }))
    }
}
