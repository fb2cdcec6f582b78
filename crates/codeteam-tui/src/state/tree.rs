//! A run as a tree: phases, tasks, steps and attempts, each with what it waits for.

use std::collections::BTreeMap;

use codeteam_core::ids::{FramePath, PhaseId};
use codeteam_core::schedule::TaskStatus;
use codeteam_report::describe::first_line;
use codeteam_report::view::{AttemptView, RunView, TaskView};

use super::ListCursor;
use crate::model::RunHistory;
use crate::text::{clean, matches};
use codeteam_report::view::{
    Standing, attempt_standing, frame_standing, task_frame, task_standing,
};

/// A node of the tree.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum TreeNode {
    /// The run.
    Run,
    /// A phase of the plan.
    Phase(PhaseId),
    /// A task of the plan.
    Task(String),
    /// A visit of a step.
    Step {
        /// The frame.
        frame: FramePath,
        /// The step.
        step: String,
        /// Which visit.
        generation: u32,
    },
    /// An attempt, by its fence.
    Attempt(u64),
}

/// A row of the tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TreeRow {
    /// The node.
    pub(crate) node: TreeNode,
    /// How deep it is.
    pub(crate) depth: usize,
    /// Whether it is unfolded; `None` if it has nothing within it.
    pub(crate) is_open: Option<bool>,
    /// How it stands.
    pub(crate) standing: Standing,
    /// What it is.
    pub(crate) label: String,
    /// What it waits for, or what there is to know about how it stands.
    pub(crate) remark: String,
}

struct TreeBuilder<'a> {
    history: &'a RunHistory,
    folds: &'a BTreeMap<TreeNode, bool>,
    by_frame: BTreeMap<&'a FramePath, Vec<&'a AttemptView>>,
    rows: Vec<TreeRow>,
}

/// Lists the rows of a run's tree that are not folded away.
pub(crate) fn list_tree_rows(
    history: &RunHistory,
    run_standing: (Standing, String),
    folds: &BTreeMap<TreeNode, bool>,
    cursor: &ListCursor,
) -> Vec<TreeRow> {
    let mut by_frame: BTreeMap<&FramePath, Vec<&AttemptView>> = BTreeMap::new();
    for attempt in history.attempts.values() {
        by_frame.entry(&attempt.id.frame).or_default().push(attempt);
    }
    let mut builder = TreeBuilder {
        history,
        folds,
        by_frame,
        rows: Vec::new(),
    };
    builder.add_run(run_standing);
    let mut rows = builder.rows;
    if !cursor.filter.is_empty() {
        let words = |row: &TreeRow| format!("{} {} {}", row.standing.word(), row.label, row.remark);
        rows.retain(|row| row.node == TreeNode::Run || matches(&words(row), &cursor.filter));
    }
    rows
}

impl<'a> TreeBuilder<'a> {
    fn run(&self) -> &'a RunView {
        self.history.run.view()
    }

    fn is_open(&self, node: &TreeNode, unless_folded: bool) -> bool {
        self.folds.get(node).copied().unwrap_or(unless_folded)
    }

    fn add_run(&mut self, (standing, remark): (Standing, String)) {
        let run = self.run();
        let is_open = self.is_open(&TreeNode::Run, true);
        self.rows.push(TreeRow {
            node: TreeNode::Run,
            depth: 0,
            is_open: Some(is_open),
            standing,
            label: clean(&run.goal),
            remark: clean(&remark),
        });
        if !is_open {
            return;
        }
        let has_tasks = !run.tasks.is_empty();
        self.add_steps(&FramePath::root(), 1, !has_tasks);
        for phase in &run.phases {
            let node = TreeNode::Phase(phase.id.clone());
            let tasks = run.tasks.iter();
            let tasks: Vec<&TaskView> = tasks
                .filter(|task| task.phase.as_ref() == Some(&phase.id))
                .collect();
            let is_over = matches!(phase.status, TaskStatus::Completed | TaskStatus::Skipped);
            let is_open = self.is_open(&node, !is_over);
            let done = tasks.iter().filter(|t| t.status == TaskStatus::Completed);
            let remark = format!("{} of {} tasks", done.count(), tasks.len());
            self.rows.push(TreeRow {
                node,
                depth: 1,
                is_open: Some(is_open),
                standing: phase_standing(phase.status),
                label: clean(&format!("{} {}", phase.id, phase.title)),
                remark,
            });
            if is_open {
                let frame = FramePath::root().child(phase.id.as_str());
                self.add_steps(&frame, 2, false);
                for task in tasks {
                    self.add_task(task, 2);
                }
            }
        }
        let has_phase = |task: &TaskView| {
            let phase = task.phase.as_ref();
            phase.is_some_and(|id| run.phases.iter().any(|phase| phase.id == *id))
        };
        for task in run.tasks.iter().filter(|task| !has_phase(task)) {
            self.add_task(task, 1);
        }
    }

    fn add_task(&mut self, task: &TaskView, depth: usize) {
        let run = self.run();
        let node = TreeNode::Task(task.id.0.clone());
        let frame = task_frame(task);
        let has_steps = self.by_frame.contains_key(&frame);
        let is_under_way = task.status == TaskStatus::Running;
        let is_open = self.is_open(&node, is_under_way);
        let (standing, mut remark) = task_standing(run, task);
        if task.rounds > 1 && standing != Standing::Done {
            let rounds = format!("round {}", task.rounds);
            remark = if remark.is_empty() {
                rounds
            } else {
                format!("{remark}, {rounds}")
            };
        }
        self.rows.push(TreeRow {
            node,
            depth,
            is_open: has_steps.then_some(is_open),
            standing,
            label: clean(&format!("{} {}", task.id, task.title)),
            remark: clean(&remark),
        });
        if has_steps && is_open {
            self.add_steps(&frame, depth + 1, true);
        }
    }

    /// Adds the visits of steps of a frame, each with its attempts. The last one is unfolded.
    fn add_steps(&mut self, frame: &FramePath, depth: usize, opens_last: bool) {
        let attempts = self.by_frame.get(frame).cloned().unwrap_or_default();
        let mut visits: Vec<(String, u32, Vec<&AttemptView>)> = Vec::new();
        for attempt in attempts {
            let (step, generation) = (&attempt.id.step.0, attempt.id.generation);
            match visits.last_mut() {
                Some((last, visit, within)) if last == step && *visit == generation => {
                    within.push(attempt);
                }
                _ => visits.push((step.clone(), generation, vec![attempt])),
            }
        }
        let count = visits.len();
        for (at, (step, generation, within)) in visits.into_iter().enumerate() {
            let label = if generation > 1 {
                format!("{step}, visit {generation}")
            } else {
                step.clone()
            };
            let mut open = self.run().questions.iter();
            let asked = open.find(|asked| {
                let id = &asked.question.id;
                id.frame == *frame && id.step.0 == step && id.generation == generation
            });
            let (standing, remark) = match asked {
                Some(asked) => {
                    let text = first_line(&asked.question.text).to_owned();
                    (Standing::NeedsYou, text)
                }
                None => self.visit_standing(frame, &within),
            };
            let node = TreeNode::Step {
                frame: frame.clone(),
                step,
                generation,
            };
            let is_open = self.is_open(&node, opens_last && at + 1 == count);
            self.rows.push(TreeRow {
                node,
                depth,
                is_open: Some(is_open),
                standing,
                label: clean(&label),
                remark: clean(&remark),
            });
            if is_open {
                for attempt in within {
                    self.add_attempt(attempt, depth + 1);
                }
            }
        }
    }

    /// Returns how a visit of a step stands: as its attempts do together.
    fn visit_standing(&self, frame: &FramePath, within: &[&AttemptView]) -> (Standing, String) {
        let standings: Vec<_> = within.iter().map(|a| attempt_standing(a)).collect();
        let is_working = |(standing, _): &&(Standing, String)| *standing == Standing::Working;
        if standings.iter().any(|found| is_working(&found)) {
            let found = self.run().frames.iter().find(|f| f.path == *frame);
            return found.map_or((Standing::Working, String::new()), |frame| {
                frame_standing(self.run(), frame)
            });
        }
        let last = standings.last().cloned();
        last.unwrap_or((Standing::Waiting, String::new()))
    }

    fn add_attempt(&mut self, attempt: &AttemptView, depth: usize) {
        let (standing, remark) = attempt_standing(attempt);
        let mut label = attempt.who.clone();
        if let Some(worker) = &attempt.worker {
            label = format!("{label} ({worker})");
        }
        if attempt.id.attempt > 1 {
            label = format!("{label}, attempt {}", attempt.id.attempt);
        }
        self.rows.push(TreeRow {
            node: TreeNode::Attempt(attempt.id.fence),
            depth,
            is_open: None,
            standing,
            label: clean(&label),
            remark: clean(&remark),
        });
    }
}

fn phase_standing(status: TaskStatus) -> Standing {
    match status {
        TaskStatus::Completed => Standing::Done,
        TaskStatus::Failed => Standing::Failed,
        TaskStatus::Skipped => Standing::LeftOut,
        TaskStatus::Running => Standing::Working,
        TaskStatus::Pending | TaskStatus::Blocked => Standing::Waiting,
    }
}
