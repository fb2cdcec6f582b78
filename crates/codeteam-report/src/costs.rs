//! What a run has spent, taken apart: by model, role, worker and task.

mod ledger;

use codeteam_core::ids::RunId;
use serde::Serialize;

pub(crate) use self::ledger::CostLedger;
pub use self::ledger::CostSum;
use crate::describe;
use crate::records::{ProjectRecords, RecordsError};

/// The version of the form of breakdowns. It changes when a key is renamed or removed, or changes
/// its meaning; new keys do not change it.
const BREAKDOWN_VERSION: u32 = 1;

/// What a run has spent, taken apart in four ways that each add up to the total.
///
/// It is made from the run's events, and is the content of its `cost.json` too. Names that are
/// `null` stand for what nobody named: a model that its worker did not report, or the work that
/// belongs to no task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CostBreakdown {
    /// The run's id.
    pub run: RunId,
    /// The version of this form.
    pub version: u32,
    /// Everything together.
    pub total: CostLine,
    /// By the model that did the work.
    pub models: Vec<CostLine>,
    /// By the role that was played.
    pub roles: Vec<CostLine>,
    /// By the worker that played it.
    pub workers: Vec<CostLine>,
    /// By the task it was for.
    pub tasks: Vec<CostLine>,
}

/// What the attempts of one model, role, worker or task have spent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CostLine {
    /// Which one it is; `null` if nobody named it.
    pub name: Option<String>,
    /// The numbers.
    #[serde(flatten)]
    pub sum: CostSum,
    /// The money in words: what is known of it, and for how many attempts it is not.
    pub money: String,
}

impl CostLine {
    fn new(name: Option<String>, sum: CostSum) -> Self {
        let money = money_text(&sum);
        Self { name, sum, money }
    }
}

impl CostBreakdown {
    /// Reads what a run has spent from its log.
    pub fn load(records: ProjectRecords<'_>, run: &RunId) -> Result<Self, RecordsError> {
        let mut ledger = CostLedger::default();
        records.each_event(run, 0, |_, _, event| {
            ledger.observe(&event);
        })?;
        Ok(Self::new(run, &ledger))
    }

    pub(crate) fn new(run: &RunId, ledger: &CostLedger) -> Self {
        let costs = ledger.with_running();
        Self {
            run: run.clone(),
            version: BREAKDOWN_VERSION,
            total: CostLine::new(None, costs.total),
            models: sort_lines(costs.models),
            roles: sort_lines(
                costs
                    .roles
                    .into_iter()
                    .map(|(role, sum)| (Some(role.0), sum)),
            ),
            workers: sort_lines(unwrap_names(costs.workers, |worker| worker.0)),
            tasks: sort_lines(unwrap_names(costs.tasks, |task| task.0)),
        }
    }

    /// Returns the four sides with the words that stand above them.
    pub fn sides(&self) -> [(&'static str, &[CostLine]); 4] {
        [
            ("model", &self.models),
            ("role", &self.roles),
            ("worker", &self.workers),
            ("task", &self.tasks),
        ]
    }
}

fn unwrap_names<K>(
    sums: impl IntoIterator<Item = (Option<K>, CostSum)>,
    name: impl Fn(K) -> String,
) -> impl Iterator<Item = (Option<String>, CostSum)> {
    sums.into_iter()
        .map(move |(key, sum)| (key.map(&name), sum))
}

/// Puts the lines that cost most first: by money, then by tokens, then by name.
fn sort_lines(sums: impl IntoIterator<Item = (Option<String>, CostSum)>) -> Vec<CostLine> {
    let lines = sums.into_iter();
    let mut lines: Vec<CostLine> = lines.map(|(name, sum)| CostLine::new(name, sum)).collect();
    lines.sort_by(|one, other| {
        let tokens = |line: &CostLine| line.sum.input_tokens.saturating_add(line.sum.output_tokens);
        let key = |line: &CostLine| (line.sum.money_microusd, tokens(line));
        key(other)
            .cmp(&key(one))
            .then_with(|| one.name.cmp(&other.name))
    });
    lines
}

/// Returns the money in words. What nobody knows is unknown, not zero.
fn money_text(sum: &CostSum) -> String {
    let known = sum.money_microusd.map(describe::format_money);
    match (known, sum.unpriced_attempts) {
        (Some(known), 0) => known,
        (Some(known), unpriced) => format!("{known} and {unpriced} without a known price"),
        (None, 0) => "nothing known yet".to_owned(),
        (None, _) => "an unknown price".to_owned(),
    }
}
