//! What a phase was broken down into, for a person who is asked whether to build it like that.

use codeteam_core::Run;
use codeteam_core::frame::{FrameItem, Question, QuestionKind};
use codeteam_core::ids::{PhaseId, TaskId};
use codeteam_core::locks::InterfaceLock;
use codeteam_core::plan::Phase;
use codeteam_core::schedule::TaskStatus;
use codeteam_core::untrusted_text::{hang_indented, one_line};
use serde::Serialize;

/// The tasks and interfaces of a phase that nobody has begun to build.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct BreakdownView {
    /// The phase.
    pub phase: PhaseId,
    /// Its tasks.
    pub tasks: Vec<PlannedTaskView>,
    /// Its interfaces, with their definitions.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub interfaces: Vec<InterfaceView>,
}

/// A task that was planned.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PlannedTaskView {
    /// Its id.
    pub id: TaskId,
    /// What it is about, in one line.
    pub title: String,
    /// The files that it may change.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
    /// The tasks that it waits for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub dependencies: Vec<TaskId>,
}

/// An interface of a phase.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct InterfaceView {
    /// Its name.
    pub name: String,
    /// What it is written in.
    #[serde(rename = "type", skip_serializing_if = "String::is_empty")]
    pub notation: String,
    /// The file that it belongs into.
    pub file: String,
    /// All of it.
    pub definition: String,
    /// Whether the file is there and locked.
    pub locked: bool,
}

impl InterfaceView {
    /// Makes the views of a phase's interfaces.
    pub(super) fn all_of(locks: &[InterfaceLock], phase: &Phase) -> Vec<Self> {
        let interfaces = phase.interfaces.iter();
        interfaces
            .map(|interface| {
                let file = interface.path();
                let is_it = |path: &str| path == file;
                Self {
                    name: interface.name.clone(),
                    notation: interface.notation.clone(),
                    definition: interface.definition.clone(),
                    locked: locks.iter().any(|lock| is_it(&lock.file.path)),
                    file,
                }
            })
            .collect()
    }

    /// Returns its name, what it is written in and its file, in one line.
    pub fn headline(&self) -> String {
        let notation = match self.notation.as_str() {
            "" => String::new(),
            notation => format!(" ({notation})"),
        };
        one_line(&format!("{}{notation} in {}", self.name, self.file))
    }
}

impl BreakdownView {
    /// Makes the view for a question of the workflow in the frame of a phase; `None` if the question
    /// is about something else, or a task of the phase has begun.
    pub(super) fn of_question(run: &Run, question: &Question) -> Option<Self> {
        let frame = run.frames.get(&question.id.frame)?;
        let FrameItem::Phase(id) = &frame.item else {
            return None;
        };
        let plan = run.plan.as_ref()?;
        let tasks = plan.tasks.iter();
        let mut tasks = tasks.filter(|task| task.phase.as_ref() == Some(id));
        let is_new = |task: &TaskId| run.task_status(task) == TaskStatus::Pending;
        if question.kind != QuestionKind::Step || !tasks.clone().all(|task| is_new(&task.id)) {
            return None;
        }
        tasks.clone().next()?;
        Some(Self {
            phase: id.clone(),
            interfaces: InterfaceView::all_of(&run.interface_locks(), plan.phase(id)?),
            tasks: tasks
                .by_ref()
                .map(|task| PlannedTaskView {
                    id: task.id.clone(),
                    title: task.headline().to_owned(),
                    files: task.files.clone(),
                    dependencies: task.dependencies.clone(),
                })
                .collect(),
        })
    }

    /// Describes it in lines that nothing in it can break out of.
    pub fn to_lines(&self) -> Vec<String> {
        let mut lines = vec![format!(
            "the tasks of phase {}:",
            one_line(self.phase.as_str())
        )];
        for task in &self.tasks {
            lines.push(format!(
                "  {}  {}",
                one_line(task.id.as_str()),
                one_line(&task.title)
            ));
            let after: Vec<&str> = task.dependencies.iter().map(TaskId::as_str).collect();
            for (word, list) in [
                ("after", after.join(", ")),
                ("files", task.files.join(", ")),
            ] {
                if !list.is_empty() {
                    lines.push(format!("    {word:<7} {}", one_line(&list)));
                }
            }
        }
        if !self.interfaces.is_empty() {
            lines.push("its interfaces:".to_owned());
        }
        for interface in &self.interfaces {
            lines.push(format!("  {}", interface.headline()));
            let definition = hang_indented(interface.definition.trim_end(), 4);
            lines.extend(format!("    {definition}").lines().map(str::to_owned));
        }
        lines
    }
}
