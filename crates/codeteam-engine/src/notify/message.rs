//! The words of a notification: every one of them names the project, the goal and the task, and has
//! commands that work wherever they are called.

use std::path::Path;

use codeteam_context::redact::Redactor;
use codeteam_core::Run;
use codeteam_core::ids::{EpochMillis, FramePath};
use codeteam_core::shell::shell_word;
use codeteam_report::describe;
use codeteam_report::view::command_in_project;

use super::{Notification, NotificationKind};

/// What a notification says of a run.
pub(crate) struct NotificationWords {
    /// What it is about.
    pub(crate) kind: NotificationKind,
    /// The frame it is about.
    pub(crate) frame: FramePath,
    /// What happened or is asked, in one line.
    pub(crate) title: String,
    /// What there is to say besides.
    pub(crate) lines: Vec<String>,
    /// The level of risk, where it is about a change.
    pub(crate) risk: Option<&'static str>,
    /// The commands that answer it.
    pub(crate) answers: Vec<String>,
}

impl NotificationWords {
    /// Makes words that have a title only.
    pub(crate) fn new(kind: NotificationKind, frame: FramePath, title: String) -> Self {
        Self {
            kind,
            frame,
            title,
            lines: Vec::new(),
            risk: None,
            answers: Vec::new(),
        }
    }

    /// Makes the notification. It belongs to no project yet: see [`Notification::in_project`].
    pub(crate) fn notify(self, run: &Run, id: String, at: EpochMillis) -> Notification {
        let goal = describe::first_line(&run.goal).to_owned();
        let task = run.frames.get(&self.frame);
        let task = task.and_then(|frame| run.frame_task(frame));
        let mut lines = vec![format!("goal: {goal}")];
        if let Some(task) = task {
            let title = describe::first_line(&task.title);
            lines.push(format!("task: {title} (`{}`)", task.id));
        }
        lines.extend(self.lines);
        Notification {
            id,
            kind: self.kind,
            at: at.0,
            project: String::new(),
            run: run.id.0.clone(),
            goal,
            title: self.title,
            text: lines.join("\n"),
            risk: self.risk,
            command: format!("codeteam show {}", run.id),
            answers: self.answers,
        }
    }
}

/// Returns the commands that decide about an approval: the likelier one first.
pub(crate) fn approval_commands(run: &Run, frame: &FramePath) -> Vec<String> {
    let which = format!("{} --task {}", run.id, shell_word(frame.name()));
    vec![
        format!("codeteam approve {which}"),
        format!("codeteam reject {which} -m \"…\""),
    ]
}

impl Notification {
    /// Makes the notification one of a project: its title begins with the project's name, and its
    /// commands can be called from anywhere.
    pub(crate) fn in_project(mut self, project: &Path) -> Self {
        let path = project.display().to_string();
        if let Some(name) = project.file_name() {
            self.title = format!("{}: {}", name.to_string_lossy(), self.title);
        }
        let commands = self.answers.iter_mut().chain([&mut self.command]);
        for command in commands {
            *command = command_in_project(command, &path);
        }
        self.project = path;
        self
    }

    /// Removes secrets.
    pub(crate) fn redact(&mut self, redactor: &Redactor) {
        let texts = [
            &mut self.title,
            &mut self.text,
            &mut self.goal,
            &mut self.command,
        ];
        for text in texts.into_iter().chain(&mut self.answers) {
            *text = redactor.redact(text).text.into_owned();
        }
    }

    /// Returns all commands: those that answer it, and the one that shows it.
    pub(super) fn commands(&self) -> String {
        let answers = self.answers.iter().chain([&self.command]);
        let all: Vec<&str> = answers.map(String::as_str).collect();
        all.join("\n")
    }
}
