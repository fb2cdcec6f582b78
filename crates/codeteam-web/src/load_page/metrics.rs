//! Success, time and cost over the runs of a project.

use codeteam_engine::metrics::DEFAULT_DAYS;
use codeteam_engine::problem::Problem;

use super::PageSources;
use crate::form_data::FormData;
use crate::page::{MetricsPage, Page};

impl PageSources<'_> {
    pub(super) fn load_metrics(&self, key: &str, query: &FormData) -> Result<Page, Problem> {
        let project = self.project(key)?;
        let days = query.get("days").parse().unwrap_or(DEFAULT_DAYS);
        // The lock is not held while logs are read.
        let items: Vec<_> = {
            let runs = project.runs();
            runs.values().map(|run| run.item.clone()).collect()
        };
        let counted = self.metrics.count_runs(
            &project.key,
            &project.engine,
            items.into_iter(),
            days,
            self.now,
        )?;
        Ok(Page::Metrics(MetricsPage {
            project: project.key.clone(),
            days,
            runs: counted.runs,
            tables: counted.tables,
            rounds: counted.rounds,
        }))
    }
}
