//! Prompts as they would be, for a person to read: nothing runs, and nothing is written.

use std::path::PathBuf;

use codeteam_core::ids::{StepId, TaskId, Tree};
use codeteam_core::plan::Plan;
use codeteam_core::role::Role;

use super::{Error, Project, redactor};
use crate::gather::{Place, gather};
use crate::prompt::{self, Asked, Prompt, Templates};

/// What a prompt is wanted for.
#[derive(Clone, Debug, Default)]
pub struct Preview {
    /// What the user wants.
    pub goal: String,
    /// The step that the role is asked at; its own name if none is given.
    pub step: Option<StepId>,
    /// The plan, if there is one.
    pub plan: Option<Plan>,
    /// The task of the plan, if the role is asked for one.
    pub task: Option<TaskId>,
    /// What every role is told to keep to.
    pub rules: Vec<String>,
}

impl Project {
    /// The user's and the project's templates over the built-in ones.
    pub fn templates(&self) -> Result<Templates, Error> {
        let mut folders = vec![self.folder.join("prompts")];
        if let Some(config) = &self.env.config_home {
            folders.push(config.join("codeteam/prompts"));
        }
        Ok(Templates::load(&folders)?)
    }

    /// Exactly what a role's worker would be told at its first attempt, if it started from where
    /// the checkout stands. Nothing runs.
    pub fn preview(&self, role: &Role, preview: Preview) -> Result<Prompt, Error> {
        let task = match &preview.task {
            None => None,
            Some(id) => {
                let mut tasks = preview.plan.iter().flat_map(|plan| &plan.tasks);
                let found = tasks.find(|task| task.id == *id).cloned();
                Some(found.ok_or_else(|| Error::NoTask(id.0.clone()))?)
            }
        };
        let tree = &self.head.tree;
        let asked = Asked {
            goal: preview.goal,
            step: preview.step.unwrap_or_else(|| StepId(role.name.0.clone())),
            task,
            plan: preview.plan,
            rules: preview.rules,
            tree: Tree(tree.as_str().to_owned()),
        };
        let assignment = prompt::first(role, asked);
        let templates = self.templates()?;
        let place = Place {
            repo: &self.repo,
            base: tree,
            folder: &self.folder,
        };
        let names = || Ok::<_, Error>(self.repo.ls_tree_paths(tree)?);
        let read = |path: &str, room: usize| self.text_of(path, room);
        let needs = templates.needs(&assignment);
        let attached = gather(&assignment, &needs, &place, names, read)?;
        let redactor = redactor(&self.env, &self.config)?;
        Ok(prompt::render(
            &assignment,
            &attached,
            &templates,
            &redactor,
        )?)
    }

    /// A plain file of the checkout's commit, if it is a text that fits.
    fn text_of(&self, path: &str, room: usize) -> Option<String> {
        let paths = [PathBuf::from(path)];
        let found = self.repo.files_of(&self.head.tree, &paths).ok()?;
        let file = found.first()?;
        let fits = usize::try_from(file.bytes).is_ok_and(|length| length <= room);
        let bytes = fits.then(|| self.repo.blob(&file.id).ok()).flatten()?;
        String::from_utf8(bytes).ok()
    }
}
