//! Removes what completed runs have left, oldest first, until a project takes no more than it may:
//! their bodies, and their files for people.
//!
//! The log and the commits stay, so `status`, `show`, `log` and `report` answer as before, without
//! what was in the bodies. Runs that have not completed keep everything: they
//! may go on, or be taken up again.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use codeteam_core::ids::RunId;
use codeteam_core::rollup::RunStatus;
use codeteam_report::artifacts;
use serde::Serialize;

use crate::engine::{Engine, Error};
use codeteam_host::store::ProcessIdentity;
use codeteam_host::walk::size_on_disk;

/// What was removed of completed runs, or would be.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct RemovedTexts {
    /// The runs whose texts were removed, the oldest first.
    pub runs: Vec<String>,
    /// The number of bytes freed.
    pub bytes: u64,
}

/// How much of the texts of a project is kept.
#[derive(Clone, Copy, Debug)]
pub struct TextBudget<'a> {
    /// The number of bytes that all texts may take.
    pub keep: u64,
    /// A run that keeps its texts however many there are.
    pub spared: Option<&'a RunId>,
    /// Whether nothing is to be removed, only to be counted.
    pub dry_run: bool,
}

/// Removes the texts of completed runs, oldest first, until all texts of the project fit into the
/// budget. While a run is driven nothing is removed: its driver may be about to name a text
/// that an old run has, too.
pub fn remove_old_texts(engine: &Engine, budget: TextBudget<'_>) -> Result<RemovedTexts, Error> {
    let TextBudget {
        keep,
        spared,
        dry_run,
    } = budget;
    let mut removed = RemovedTexts::default();
    let lengths = engine.bodies.lengths()?;
    let mut left: u64 = lengths.values().sum();
    let mut rows = engine.store.runs()?;
    rows.reverse();
    let folder = |id: &str| engine.records().runs_folder().join(id);
    let mut reports = artifacts::shared_reports(engine.records());
    let folders: BTreeMap<String, u64> = rows
        .iter()
        .map(|row| {
            let shared = reports.get(&row.id).into_iter().flatten();
            let shared: u64 = shared.map(|path| size_on_disk(path)).sum();
            (row.id.clone(), size_on_disk(&folder(&row.id)) + shared)
        })
        .collect();
    left += folders.values().sum::<u64>();
    let here = ProcessIdentity::this_process("");
    for row in &rows {
        let holder = engine.store.holder(&row.id)?;
        let is_driven = holder.is_some_and(|holder| !holder.owner.is_gone(&here));
        if left <= keep || is_driven {
            return Ok(removed);
        }
    }
    let mut users: BTreeMap<&str, u32> = BTreeMap::new();
    let mut named = Vec::new();
    for row in &rows {
        let ids = named_bodies(engine, &row.id.clone().into(), &lengths)?;
        for id in &ids {
            *users.entry(id).or_default() += 1;
        }
        let is_completed = row.status == RunStatus::Completed.as_str();
        let is_spared = spared.is_some_and(|spared| spared.as_str() == row.id);
        named.push((row.id.as_str(), ids, is_completed && !is_spared));
    }
    let mut gone = BTreeSet::new();
    for (run, ids, _) in named.into_iter().filter(|(_, _, may_go)| *may_go) {
        if left <= keep {
            break;
        }
        let before = left;
        left = left.saturating_sub(folders.get(run).copied().unwrap_or(0));
        for id in ids {
            let users = users.entry(id).or_default();
            *users = users.saturating_sub(1);
            if *users == 0 {
                left = left.saturating_sub(lengths.get(id).copied().unwrap_or(0));
                gone.insert(id.to_owned());
            }
        }
        if left < before {
            removed.runs.push(run.to_owned());
            removed.bytes += before - left;
        }
    }
    if dry_run || removed.runs.is_empty() {
        return Ok(removed);
    }
    if !engine.bodies.remove(&gone)? {
        return Ok(RemovedTexts::default());
    }
    for run in &removed.runs {
        // A folder that is gone already, or cannot be removed, is the same to everybody else.
        let _ = fs::remove_dir_all(folder(run));
        for report in reports.remove(run).into_iter().flatten() {
            let _ = fs::remove_file(report);
        }
        engine.snapshots.remove(&RunId(run.clone()));
    }
    Ok(removed)
}

/// Returns the bodies that a run's events name: whatever in them has the form of an id and is one.
fn named_bodies<'a>(
    engine: &Engine,
    run: &RunId,
    known: &'a BTreeMap<String, u64>,
) -> Result<BTreeSet<&'a str>, Error> {
    let mut named = BTreeSet::new();
    engine.store.for_each_event(run.as_str(), 0, |stored| {
        for word in stored.data.split('"').filter(|word| word.len() == 64) {
            named.extend(known.get_key_value(word).map(|(id, _)| id.as_str()));
        }
        Ok::<(), Error>(())
    })?;
    Ok(named)
}
