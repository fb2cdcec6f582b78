//! Decides which task starts next, from dependencies, phases, held files and a cap, and nothing
//! else.
//!
//! A task starts when its dependencies and all tasks of earlier phases are complete, no running
//! task holds any of its files, and fewer tasks run than the cap allows. There is no batch barrier.
//! A task without files runs alone. Of those that may start, the more urgent one is first, and with
//! equal priority the one that comes first in the plan.
//!
//! Every operation costs only what it touches: over a whole plan, time is linear in tasks and
//! dependencies. The mutable part consists of persistent structures, so that `decide` can try out
//! consequences on a clone without copying the plan.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use rpds::{RedBlackTreeMapSync, RedBlackTreeSetSync, VectorSync};
use serde::{Deserialize, Serialize};

use crate::plan::{Plan, TaskPriority};

/// The status of a task.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum TaskStatus {
    /// It has not started.
    #[default]
    Pending,
    /// It is under way.
    Running,
    /// It is done, verified and integrated.
    Completed,
    /// It was given up.
    Failed,
    /// It waits for a task that failed.
    Blocked,
    /// A person chose to skip it; its dependents continue.
    Skipped,
}

impl TaskStatus {
    /// Returns the status as a word.
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

    /// Returns true if tasks that depend on this one may start.
    pub fn satisfies(self) -> bool {
        matches!(self, Self::Completed | Self::Skipped)
    }
}

/// The part of a plan that never changes while it is carried out.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct DependencyGraph {
    /// For each task, the index in `dependents` where its dependents start; one more at the end.
    starts: Vec<u32>,
    dependents: Vec<u32>,
    ranks: Vec<u32>,
    /// The tasks of each rank.
    by_rank: Vec<Vec<u32>>,
    files: Vec<Vec<String>>,
    /// Tasks without files, which run alone.
    alone: Vec<bool>,
    priorities: Vec<TaskPriority>,
}

/// A task by the order in which tasks are preferred: by priority first, then by place in the plan.
type Preference = (TaskPriority, u32);

/// The state of a plan under way: which tasks run, which may start and what the others wait for.
///
/// Tasks are numbered by their position in the plan. The rank of a task is the position of its
/// phase; only tasks up to `open_rank` may start. Call [`Schedule::next`] or
/// [`Schedule::candidates`] to find a task, [`Schedule::start`] when its frame opens and
/// [`Schedule::end`] when the frame ends.
///
/// A task that is ready as far as dependencies and phases go is in `ready`, unless it has been
/// found to need a file that a running task holds; then it is in that file's queue. Every change
/// keeps the front of `ready` startable, so `next` only looks there.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Schedule {
    graph: Arc<DependencyGraph>,
    cap: usize,
    status: VectorSync<TaskStatus>,
    /// The number of a task's dependencies that are not yet satisfied.
    waiting_for: VectorSync<u32>,
    /// The number of unsatisfied tasks of each rank.
    left_in_rank: Vec<u32>,
    /// The highest rank that may start; tasks of later ranks wait.
    open_rank: u32,
    /// Tasks that may start as far as dependencies and phases go, and are not known to wait for a
    /// file.
    ready: RedBlackTreeSetSync<Preference>,
    /// The running task that holds each file.
    held: BTreeMap<String, u32>,
    /// The tasks that wait for each held file, the preferred one first.
    queues: RedBlackTreeMapSync<String, RedBlackTreeSetSync<Preference>>,
    running: Vec<u32>,
    /// The number of tasks in each status but pending.
    counts: BTreeMap<TaskStatus, usize>,
    /// The number of failed tasks of each rank that has any.
    failed_in_rank: BTreeMap<u32, usize>,
}

impl Schedule {
    /// Creates a schedule for a checked plan. Statuses from an earlier run are taken over.
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
        // Apply what is done before what failed: nothing waits behind a task that is done.
        for (task, status) in earlier.iter().filter(|(_, s)| s.satisfies()) {
            schedule.end(*task, *status);
        }
        for (task, status) in earlier.iter().filter(|(_, s)| **s == TaskStatus::Failed) {
            schedule.end(*task, *status);
        }
        schedule
    }

    /// Returns the next task to start, if one may. Tasks are preferred by priority and then in plan
    /// order; one that must run alone is not overtaken by those after it, so it cannot starve.
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
        let task = self.ready.first()?.1 as usize;
        (!self.graph.alone[task] || self.running.is_empty()).then_some(task)
    }

    /// Returns the tasks that may start now, in the order in which they are preferred.
    pub fn candidates(&self) -> impl Iterator<Item = usize> + '_ {
        let ready = self.ready.iter().map(|(_, task)| *task as usize);
        ready.filter(|task| self.may_start(*task))
    }

    /// Returns true if a task may start now.
    pub fn may_start(&self, task: usize) -> bool {
        let id = index(task);
        let runs_alone = |task: u32| self.graph.alone.get(task as usize) == Some(&true);
        self.running.len() < self.cap
            && !self.running.first().is_some_and(|first| runs_alone(*first))
            && self.ready.contains(&self.graph.preference(id))
            && (self.running.is_empty() || !runs_alone(id))
            && self.contended(id).is_none()
    }

    /// Returns true if a task could start now, if those that it waits for, by dependency or by phase,
    /// were complete.
    pub fn may_start_early(&self, task: usize) -> bool {
        let id = index(task);
        let runs_alone = |task: u32| self.graph.alone.get(task as usize) == Some(&true);
        self.status(task) == TaskStatus::Pending
            && self.running.len() < self.cap
            && !self.running.first().is_some_and(|first| runs_alone(*first))
            && !runs_alone(id)
            && self.contended(id).is_none()
    }

    /// Marks a task as started.
    pub fn start(&mut self, task: usize) {
        let id = index(task);
        self.ready.remove_mut(&self.graph.preference(id));
        self.set_status(task, TaskStatus::Running);
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
        self.ready.remove_mut(&self.graph.preference(id));
        if before == TaskStatus::Running {
            // Tasks that wait for its files may continue even if nothing else changes.
            self.running.retain(|t| *t != id);
            self.release_files(task);
        }
        self.set_status(task, status);
        if before == TaskStatus::Pending {
            // The queues of its files may have been waiting for this task.
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

    /// Skips a task that has not started; returns the tasks that are no longer blocked.
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

    /// Reopens a failed task: it and what it blocked become pending again; it is blocked itself if it
    /// waits for another one that failed. Returns the tasks that are no longer blocked.
    pub fn reopen(&mut self, task: usize) -> Vec<usize> {
        if self.status(task) != TaskStatus::Failed {
            return Vec::new();
        }
        self.set_status(task, TaskStatus::Pending);
        let failed = (0..self.len()).filter(|t| self.status(*t) == TaskStatus::Failed);
        let is_held_up =
            self.count(TaskStatus::Failed) > 0 && self.tasks_behind(failed).contains(&task);
        if is_held_up {
            // It started early, before what it waits for failed.
            self.set_status(task, TaskStatus::Blocked);
            return Vec::new();
        }
        self.make_ready(task);
        let freed = self.unblock_behind(task);
        self.queue_contended();
        freed
    }

    /// Returns the status of a task.
    pub fn status(&self, task: usize) -> TaskStatus {
        self.status.get(task).copied().unwrap_or_default()
    }

    /// Returns the number of tasks.
    pub fn len(&self) -> usize {
        self.status.len()
    }

    /// Returns true if there are no tasks.
    pub fn is_empty(&self) -> bool {
        self.status.is_empty()
    }

    /// Returns the number of tasks in a status.
    pub fn count(&self, status: TaskStatus) -> usize {
        match status {
            TaskStatus::Pending => self.len() - self.counts.values().sum::<usize>(),
            other => self.counts.get(&other).copied().unwrap_or(0),
        }
    }

    /// Returns the running tasks, in the order they started.
    pub fn running(&self) -> impl Iterator<Item = usize> + '_ {
        self.running.iter().map(|t| *t as usize)
    }

    /// Returns true if nothing runs and nothing can start any more.
    pub fn is_finished(&self) -> bool {
        self.running.is_empty() && self.count(TaskStatus::Pending) == 0
    }

    /// Moves tasks that wait for a file from the front of the ready set to that file's queue, so
    /// that the front, if there is one, can start. It is part of every change rather than of
    /// `next`, because replay executes only the changes and must arrive at the same state.
    fn queue_contended(&mut self) {
        while let Some(&(_, task)) = self.ready.first() {
            if self.graph.alone[task as usize] {
                return;
            }
            let Some(file) = self.contended(task) else {
                return;
            };
            self.ready.remove_mut(&self.graph.preference(task));
            self.queue(file, task);
        }
    }

    fn queue(&mut self, file: String, task: u32) {
        let queue = self.queues.get(&file).cloned();
        let mut queue = queue.unwrap_or_else(RedBlackTreeSetSync::new_sync);
        queue.insert_mut(self.graph.preference(task));
        self.queues.insert_mut(file, queue);
    }

    fn dequeue(&mut self, file: &str) -> Option<u32> {
        let mut rest = self.queues.get(file)?.clone();
        let first = *rest.first()?;
        rest.remove_mut(&first);
        if rest.is_empty() {
            self.queues.remove_mut(file);
        } else {
            self.queues.insert_mut(file.to_owned(), rest);
        }
        Some(first.1)
    }

    fn set_status(&mut self, task: usize, status: TaskStatus) {
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
                self.ready.insert_mut(graph.preference(index(dependent)));
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

    /// Marks the tasks of the open rank that wait for nothing else as ready.
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
                self.ready.insert_mut(graph.preference(task));
            }
        }
    }

    /// Releases a task's files and lets the first task in each queue try again.
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

    /// Wakes the tasks that wait for files of a task which will not take them.
    fn wake_unheld(&mut self, task: usize) {
        let graph = Arc::clone(&self.graph);
        for file in &graph.files[task] {
            if !self.held.contains_key(file) {
                self.wake(file);
            }
        }
    }

    /// Wakes the tasks that wait for `file` until one that will hold it again could start: waking
    /// more would only queue them again.
    fn wake(&mut self, file: &str) {
        while let Some(next) = self.dequeue(file) {
            if self.status(next as usize) != TaskStatus::Pending {
                continue;
            }
            match self.contended(next) {
                None => {
                    self.ready.insert_mut(self.graph.preference(next));
                    if self.graph.files[next as usize].iter().any(|f| f == file) {
                        break;
                    }
                }
                Some(other) => {
                    let is_held = other == file;
                    self.queue(other, next);
                    // Somebody else holds it: whoever releases it wakes the rest.
                    if is_held {
                        break;
                    }
                }
            }
        }
    }

    /// Returns a held file that keeps a task from starting.
    fn contended(&self, task: u32) -> Option<String> {
        self.graph.files[task as usize]
            .iter()
            .find_map(|file| self.holder_of(file))
    }

    /// Returns a held path that equals `file`, contains it or lies below it.
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

    /// Marks a task as ready if its dependencies and phase allow it to start.
    fn make_ready(&mut self, task: usize) {
        // Ended dependencies have been counted whatever its status was.
        if self.waiting_for[task] == 0 && self.graph.ranks[task] <= self.open_rank {
            self.ready.insert_mut(self.graph.preference(index(task)));
        }
    }

    /// Blocks everything behind a task. It does not continue behind tasks that are blocked already,
    /// because everything there is blocked too.
    fn block_behind(&mut self, task: usize) -> Vec<usize> {
        let graph = Arc::clone(&self.graph);
        let mut blocked = Vec::new();
        let mut stack: Vec<usize> = graph.dependents(task).collect();
        let rank = graph.ranks[task];
        let earlier: usize = self.failed_in_rank.range(..=rank).map(|(_, n)| n).sum();
        if earlier == 1 {
            // This is the first failure at or before this rank: nothing has blocked the later ones
            // yet.
            let later = graph.by_rank.iter().skip(rank as usize + 1);
            stack.extend(later.flatten().map(|t| *t as usize));
        }
        while let Some(behind) = stack.pop() {
            if self.status(behind) == TaskStatus::Pending {
                self.ready.remove_mut(&graph.preference(index(behind)));
                self.set_status(behind, TaskStatus::Blocked);
                blocked.push(behind);
                stack.extend(graph.dependents(behind));
            }
        }
        blocked.sort_unstable();
        blocked
    }

    /// Makes pending again what only `task` had blocked.
    fn unblock_behind(&mut self, task: usize) -> Vec<usize> {
        let failed = (0..self.len()).filter(|t| self.status(*t) == TaskStatus::Failed);
        let still = if self.count(TaskStatus::Failed) == 0 {
            BTreeSet::new()
        } else {
            self.tasks_behind(failed)
        };
        let mut freed = Vec::new();
        for behind in self.tasks_behind([task]) {
            if self.status(behind) == TaskStatus::Blocked && !still.contains(&behind) {
                self.set_status(behind, TaskStatus::Pending);
                self.make_ready(behind);
                freed.push(behind);
            }
        }
        freed
    }

    /// Returns every task that cannot start before these are satisfied: their direct and indirect
    /// dependents, and all tasks of later phases. Nothing waits behind a satisfied task.
    fn tasks_behind(&self, tasks: impl IntoIterator<Item = usize>) -> BTreeSet<usize> {
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
        let position = plan.task_positions();
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
        let ranks = plan.phase_ranks();
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
            priorities: plan.tasks.iter().map(|t| t.priority).collect(),
        }
    }

    fn preference(&self, task: u32) -> Preference {
        let priority = self.priorities.get(task as usize).copied();
        (priority.unwrap_or_default(), task)
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
