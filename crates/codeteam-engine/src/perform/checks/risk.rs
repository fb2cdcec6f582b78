//! Reads the facts about the risk of a change that is about to be committed.

use std::collections::BTreeMap;

use codeteam_core::ids::Tree;
use codeteam_core::input::Input;
use codeteam_verify::proof::TestPatterns;
use codeteam_verify::risk::{NamedPathSets, read_risk_facts};

use super::JudgedChange;
use crate::clock::now;
use crate::config::Config;
use crate::perform::{Error, Job, JobContext};

/// Reads the facts from git's objects, with the named sets of paths that the run has pinned.
pub(in crate::perform) fn assess_risk(
    job: &Job,
    tree: &Tree,
    paths: &BTreeMap<String, Vec<String>>,
    context: &JobContext<'_>,
) -> Result<Input, Error> {
    let workspace = job.prepare_gate(context.engine, tree)?;
    let change = JudgedChange::new(job, context, &workspace, tree);
    let tests = TestPatterns::new(&Config::built_in_test_paths());
    let facts = read_risk_facts(change.change()?, &NamedPathSets::new(paths), &tests);
    Ok(Input::RiskRead {
        at: now(),
        id: job.id.clone(),
        tree: tree.clone(),
        facts: Box::new(facts),
    })
}
