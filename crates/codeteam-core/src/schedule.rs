//! Which task starts next: dependencies, phases, files held, a cap, and nothing else.
//!
//! A task starts when its dependencies and all tasks of earlier phases are complete, no running
//! task holds any of its files, and fewer tasks run than the cap allows. There is no batch
//! barrier. A task without files runs alone.
//!
//! Every operation costs what it touches: over a whole plan, time is linear in tasks and
//! dependencies. The mutable part is made of persistent structures, so that `decide` can try out
//! consequences on a clone without copying the plan.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use rpds::{QueueSync, RedBlackTreeMapSync, RedBlackTreeSetSync, VectorSync};
use serde::{Deserialize, Serialize};

use crate::plan::Plan;

/// Where a task stands.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum TaskStatus {
    /// Not started.
    #[default]
    Pending,
    /// Under way.
    Running,
    /// Done, verified and integrated.
    Completed,
    /// Given up.
    Failed,
    /// Waits for one that failed.
    Blocked,
    /// A person said to leave it out; its dependents go on.
    Skipped,
}

impl TaskStatus {
    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Running => "running",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Blocked => "blocked",
            Self::Skipped => "skipped",
        }
    }

    /// Whether tasks that depend on this one may start.
    pub fn satisfies(self) -> bool {
        matches!(self, Self::Completed | Self::Skipped)
    }
}

/// The part of a plan that never changes while it is carried out.
#[derive(Debug, Default, PartialEq, Eq)]
struct DependencyGraph {
    /// For each task, where its dependents start in `dependents`; one more at the end.
    starts: Vec<u32>,
    dependents: Vec<u32>,
    ranks: Vec<u32>,
    /// The tasks of each rank.
    by_rank: Vec<Vec<u32>>,
    files: Vec<Vec<String>>,
    /// Tasks without files, which run alone.
    alone: Vec<bool>,
}

/// The state of a plan under way.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Schedule {
    graph: Arc<DependencyGraph>,
    cap: usize,
    status: VectorSync<TaskStatus>,
    /// How many dependencies of a task are not yet satisfied.
    waiting_for: VectorSync<u32>,
    /// Unsatisfied tasks of each rank.
    left_in_rank: Vec<u32>,
    /// Tasks of later ranks wait.
    open_rank: u32,
    /// May start as far as dependencies and phases go, and have not been found to wait for a file.
    ready: RedBlackTreeSetSync<u32>,
    /// Who holds a file, for running tasks.
    held: BTreeMap<String, u32>,
    /// Who waits for a held file, in order.
    queues: RedBlackTreeMapSync<String, QueueSync<u32>>,
    running: Vec<u32>,
    /// Tasks in each status but pending.
    counts: BTreeMap<TaskStatus, usize>,
    /// How many tasks of each rank have failed, where any has.
    failed_in_rank: BTreeMap<u32, usize>,
}

impl Schedule {
    /// A schedule for a checked plan. Statuses of an earlier run count.
    pub fn new(plan: &Plan, cap: usize, earlier: &BTreeMap<usize, TaskStatus>) -> Self {
        let graph = Arc::new(DependencyGraph::new(plan));
        let n = plan.tasks.len();
        let mut schedule = Self {
            cap: cap.max(1),
            status: (0..n).map(|_| TaskStatus::Pending).collect(),
            waiting_for: plan
                .tasks
                .iter()
                .map(|t| u32::try_from(t.dependencies.len()).unwrap_or(u32::MAX))
                .collect(),
            left_in_rank: graph
                .by_rank
                .iter()
                .map(|tasks| u32::try_from(tasks.len()).unwrap_or(u32::MAX))
                .collect(),
            graph,
            ..Self::default()
        };
        schedule.ready_rank();
        schedule.open_ranks();
        // What is done counts before what failed: nothing waits behind a task that is done.
        for (task, status) in earlier.iter().filter(|(_, s)| s.satisfies()) {
            schedule.end(*task, *status);
        }
        for (task, status) in earlier.iter().filter(|(_, s)| **s == TaskStatus::Failed) {
            schedule.end(*task, *status);
        }
        schedule
    }

    /// The next task to start, if one may. Tasks are preferred in plan order; one that must run
    /// alone is not overtaken by later ones, so it cannot starve.
    pub fn next(&self) -> Option<usize> {
        if self.running.len() >= self.cap {
            return None;
        }
        if self
            .running
            .first()
            .is_some_and(|t| self.graph.alone[*t as usize])
        {
            return None;
        }
        let task = *self.ready.first()? as usize;
        (!self.graph.alone[task] || self.running.is_empty()).then_some(task)
    }

    /// The tasks that may start now, in plan order.
    pub fn candidates(&self) -> impl Iterator<Item = usize> + '_ {
        let ready = self.ready.iter().map(|task| *task as usize);
        ready.filter(|task| self.may_start(*task))
    }

    /// Whether a task may start now.
    pub fn may_start(&self, task: usize) -> bool {
        let id = index(task);
        let runs_alone = |task: u32| self.graph.alone.get(task as usize) == Some(&true);
        self.running.len() < self.cap
            && !self.running.first().is_some_and(|first| runs_alone(*first))
            && self.ready.contains(&id)
            && (self.running.is_empty() || !runs_alone(id))
            && self.contended(id).is_none()
    }

    /// Marks a task as started.
    pub fn start(&mut self, task: usize) {
        let id = index(task);
        self.ready.remove_mut(&id);
        self.set(task, TaskStatus::Running);
        self.running.push(id);
        for file in &self.graph.files[task] {
            self.held.insert(file.clone(), id);
        }
        self.queue_contended();
    }

    /// Marks a task as ended; returns the tasks this blocks. One that ends as pending was stopped
    /// before its end and may start again.
    pub fn end(&mut self, task: usize, status: TaskStatus) -> Vec<usize> {
        let before = self.status(task);
        if before.satisfies() || before == status {
            return Vec::new();
        }
        let id = index(task);
        self.ready.remove_mut(&id);
        if before == TaskStatus::Running {
            // What waits for its files may go on even if nothing else changes.
            self.running.retain(|t| *t != id);
            self.release_files(task);
        }
        self.set(task, status);
        if before == TaskStatus::Pending {
            // It may have been the one its files' queues were waiting for.
            self.wake_unheld(task);
        }
        let mut blocked = Vec::new();
        match status {
            TaskStatus::Completed | TaskStatus::Skipped => {
                self.satisfy(task);
            }
            TaskStatus::Failed => blocked = self.block_behind(task),
            TaskStatus::Pending => self.make_ready(task),
            TaskStatus::Running | TaskStatus::Blocked => {}
        }
        self.queue_contended();
        blocked
    }

    /// Leaves out a task that has not started; returns the tasks that are not blocked any more.
    pub fn skip(&mut self, task: usize) -> Vec<usize> {
        let mut freed = self.reopen(task);
        let was_blocked = self.status(task) == TaskStatus::Blocked;
        self.end(task, TaskStatus::Skipped);
        if was_blocked {
            freed = self.unblock_behind(task);
            self.queue_contended();
        }
        freed
    }

    /// Takes a failed task up again: it and what it blocked are pending once more. Returns the
    /// tasks that are not blocked any more.
    pub fn reopen(&mut self, task: usize) -> Vec<usize> {
        if self.status(task) != TaskStatus::Failed {
            return Vec::new();
        }
        self.set(task, TaskStatus::Pending);
        self.make_ready(task);
        let freed = self.unblock_behind(task);
        self.queue_contended();
        freed
    }

    /// The status of a task.
    pub fn status(&self, task: usize) -> TaskStatus {
        self.status.get(task).copied().unwrap_or_default()
    }

    /// How many tasks there are.
    pub fn len(&self) -> usize {
        self.status.len()
    }

    /// Whether there is no task.
    pub fn is_empty(&self) -> bool {
        self.status.is_empty()
    }

    /// How many tasks are in a status.
    pub fn count(&self, status: TaskStatus) -> usize {
        match status {
            TaskStatus::Pending => self.len() - self.counts.values().sum::<usize>(),
            other => self.counts.get(&other).copied().unwrap_or(0),
        }
    }

    /// The running tasks, in the order they started.
    pub fn running(&self) -> impl Iterator<Item = usize> + '_ {
        self.running.iter().map(|t| *t as usize)
    }

    /// Whether nothing runs and nothing can start any more.
    pub fn is_finished(&self) -> bool {
        self.running.is_empty() && self.count(TaskStatus::Pending) == 0
    }

    /// Moves tasks that wait for a file from the front of the ready set to that file's queue, so
    /// that the front, if there is one, could start. Part of every change, not of `next`: replay
    /// runs only the changes and must come to the same state.
    fn queue_contended(&mut self) {
        while let Some(&task) = self.ready.first() {
            if self.graph.alone[task as usize] {
                return;
            }
            let Some(file) = self.contended(task) else {
                return;
            };
            self.ready.remove_mut(&task);
            self.queue(file, task);
        }
    }

    fn queue(&mut self, file: String, task: u32) {
        let queue = self
            .queues
            .get(&file)
            .cloned()
            .unwrap_or_else(QueueSync::new_sync);
        self.queues.insert_mut(file, queue.enqueue(task));
    }

    fn dequeue(&mut self, file: &str) -> Option<u32> {
        let queue = self.queues.get(file)?;
        let first = queue.peek().copied()?;
        match queue.dequeue() {
            Some(rest) if !rest.is_empty() => self.queues.insert_mut(file.to_owned(), rest),
            _ => {
                self.queues.remove_mut(file);
            }
        }
        Some(first)
    }

    fn set(&mut self, task: usize, status: TaskStatus) {
        let before = self.status(task);
        if before != TaskStatus::Pending
            && let Some(count) = self.counts.get_mut(&before)
        {
            *count -= 1;
        }
        if status != TaskStatus::Pending {
            *self.counts.entry(status).or_default() += 1;
        }
        let rank = self.graph.ranks[task];
        if status == TaskStatus::Failed {
            *self.failed_in_rank.entry(rank).or_default() += 1;
        }
        if before == TaskStatus::Failed
            && let Some(count) = self.failed_in_rank.get_mut(&rank)
        {
            *count -= 1;
            if *count == 0 {
                self.failed_in_rank.remove(&rank);
            }
        }
        self.status.set_mut(task, status);
    }

    fn satisfy(&mut self, task: usize) {
        let graph = Arc::clone(&self.graph);
        for dependent in graph.dependents(task) {
            let left = self.waiting_for[dependent].saturating_sub(1);
            self.waiting_for.set_mut(dependent, left);
            if left == 0
                && self.status(dependent) == TaskStatus::Pending
                && graph.ranks[dependent] <= self.open_rank
            {
                self.ready.insert_mut(index(dependent));
            }
        }
        let rank = graph.ranks[task] as usize;
        self.left_in_rank[rank] = self.left_in_rank[rank].saturating_sub(1);
        self.open_ranks();
    }

    /// Opens ranks as long as everything in the open one is satisfied.
    fn open_ranks(&mut self) {
        while self.left_in_rank.get(self.open_rank as usize) == Some(&0)
            && (self.open_rank as usize) + 1 < self.left_in_rank.len()
        {
            self.open_rank += 1;
            self.ready_rank();
        }
    }

    /// Makes the tasks of the open rank that wait for nothing else ready.
    fn ready_rank(&mut self) {
        let graph = Arc::clone(&self.graph);
        for &task in graph
            .by_rank
            .get(self.open_rank as usize)
            .into_iter()
            .flatten()
        {
            let i = task as usize;
            if self.waiting_for[i] == 0 && self.status(i) == TaskStatus::Pending {
                self.ready.insert_mut(task);
            }
        }
    }

    /// Frees a task's files and lets the first in each queue try again.
    fn release_files(&mut self, task: usize) {
        let id = index(task);
        let graph = Arc::clone(&self.graph);
        for file in &graph.files[task] {
            if self.held.get(file) == Some(&id) {
                self.held.remove(file);
            }
        }
        for file in &graph.files[task] {
            self.wake(file);
        }
    }

    /// Lets those who wait for files of a task that will not take them try again.
    fn wake_unheld(&mut self, task: usize) {
        let graph = Arc::clone(&self.graph);
        for file in &graph.files[task] {
            if !self.held.contains_key(file) {
                self.wake(file);
            }
        }
    }

    /// Lets those who wait for `file` try again until one that will hold it again could start:
    /// waking more would only be to queue them once more.
    fn wake(&mut self, file: &str) {
        while let Some(next) = self.dequeue(file) {
            if self.status(next as usize) != TaskStatus::Pending {
                continue;
            }
            match self.contended(next) {
                None => {
                    self.ready.insert_mut(next);
                    if self.graph.files[next as usize].iter().any(|f| f == file) {
                        break;
                    }
                }
                Some(other) => self.queue(other, next),
            }
        }
    }

    /// A held file that stands in the way of a task.
    fn contended(&self, task: u32) -> Option<String> {
        self.graph.files[task as usize]
            .iter()
            .find_map(|file| self.holder_of(file))
    }

    /// A held path equal to `file`, above it, or below it.
    fn holder_of(&self, file: &str) -> Option<String> {
        if self.held.is_empty() {
            return None;
        }
        if self.held.contains_key(file) {
            return Some(file.to_owned());
        }
        let above = file.match_indices('/').map(|(i, _)| &file[..=i]);
        if let Some(folder) = above
            .filter(|f| *f != file)
            .find(|f| self.held.contains_key(*f))
        {
            return Some(folder.to_owned());
        }
        if file.ends_with('/') {
            let (path, _) = self.held.range(file.to_owned()..).next()?;
            return path.starts_with(file).then(|| path.clone());
        }
        None
    }

    /// A task whose dependencies and phase allow it to start.
    fn make_ready(&mut self, task: usize) {
        // Ended dependencies have been counted whatever its status was.
        if self.waiting_for[task] == 0 && self.graph.ranks[task] <= self.open_rank {
            self.ready.insert_mut(index(task));
        }
    }

    /// Does not go on behind what is blocked already: whatever is there is blocked too.
    fn block_behind(&mut self, task: usize) -> Vec<usize> {
        let graph = Arc::clone(&self.graph);
        let mut blocked = Vec::new();
        let mut stack: Vec<usize> = graph.dependents(task).collect();
        let rank = graph.ranks[task];
        let earlier: usize = self.failed_in_rank.range(..=rank).map(|(_, n)| n).sum();
        if earlier == 1 {
            // The first failure at or before this rank: nothing has blocked the later ones yet.
            let later = graph.by_rank.iter().skip(rank as usize + 1);
            stack.extend(later.flatten().map(|t| *t as usize));
        }
        while let Some(behind) = stack.pop() {
            if self.status(behind) == TaskStatus::Pending {
                self.ready.remove_mut(&index(behind));
                self.set(behind, TaskStatus::Blocked);
                blocked.push(behind);
                stack.extend(graph.dependents(behind));
            }
        }
        blocked.sort_unstable();
        blocked
    }

    /// What `task` alone has blocked is pending once more.
    fn unblock_behind(&mut self, task: usize) -> Vec<usize> {
        let failed = (0..self.len()).filter(|t| self.status(*t) == TaskStatus::Failed);
        let still = if self.count(TaskStatus::Failed) == 0 {
            BTreeSet::new()
        } else {
            self.behind(failed)
        };
        let mut freed = Vec::new();
        for behind in self.behind([task]) {
            if self.status(behind) == TaskStatus::Blocked && !still.contains(&behind) {
                self.set(behind, TaskStatus::Pending);
                self.make_ready(behind);
                freed.push(behind);
            }
        }
        freed
    }

    /// Every task that cannot start before these are satisfied: their dependents, theirs, and all
    /// tasks of later phases. Nothing waits behind what is satisfied.
    fn behind(&self, tasks: impl IntoIterator<Item = usize>) -> BTreeSet<usize> {
        let mut seen = BTreeSet::new();
        let mut lowest: Option<u32> = None;
        let mut stack = Vec::new();
        for task in tasks {
            let rank = self.graph.ranks[task];
            lowest = Some(lowest.map_or(rank, |l| l.min(rank)));
            stack.push(task);
        }
        while let Some(node) = stack.pop() {
            for dependent in self.graph.dependents(node) {
                if !self.status(dependent).satisfies() && seen.insert(dependent) {
                    stack.push(dependent);
                }
            }
        }
        if let Some(rank) = lowest {
            let later = self.graph.by_rank.iter().skip(rank as usize + 1);
            seen.extend(later.flatten().map(|t| *t as usize));
        }
        seen
    }
}

impl DependencyGraph {
    fn new(plan: &Plan) -> Self {
        let position = plan.index();
        let n = plan.tasks.len();
        let mut starts = vec![0_u32; n + 1];
        let edges = || {
            plan.tasks.iter().enumerate().flat_map(|(i, task)| {
                task.dependencies
                    .iter()
                    .filter_map(|on| position.get(on))
                    .map(move |on| (*on, i))
            })
        };
        for (on, _) in edges() {
            starts[on + 1] += 1;
        }
        for i in 0..n {
            starts[i + 1] += starts[i];
        }
        let mut next = starts.clone();
        let mut dependents = vec![0_u32; starts[n] as usize];
        for (on, task) in edges() {
            dependents[next[on] as usize] = index(task);
            next[on] += 1;
        }
        let ranks = plan.ranks();
        let mut by_rank = vec![Vec::new(); ranks.iter().max().map_or(1, |r| *r as usize + 1)];
        for (task, rank) in ranks.iter().enumerate() {
            by_rank[*rank as usize].push(index(task));
        }
        Self {
            starts,
            dependents,
            ranks,
            by_rank,
            alone: plan.tasks.iter().map(|t| t.files.is_empty()).collect(),
            files: plan.tasks.iter().map(|t| t.files.clone()).collect(),
        }
    }

    fn dependents(&self, task: usize) -> impl Iterator<Item = usize> + '_ {
        let range = self.starts[task] as usize..self.starts[task + 1] as usize;
        self.dependents[range].iter().map(|t| *t as usize)
    }
}

fn index(task: usize) -> u32 {
    u32::try_from(task).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests;
