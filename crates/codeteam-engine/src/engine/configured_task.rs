//! The goal that the configuration states, and the workflow that follows from how it states it.

use crate::config::Config;
use crate::engine::Project;

/// What a run without a goal of its own is to do, as the configuration says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfiguredTask {
    /// The goal.
    pub goal: String,
    /// The key that states it, such as `task.goal`.
    pub key: &'static str,
    /// The workflow that goes with that key; `None` if the configuration names a workflow itself.
    pub workflow: Option<String>,
}

impl Project {
    /// Returns the goal that the configuration states, if it states one.
    pub fn configured_task(&self) -> Option<ConfiguredTask> {
        configured_task(&self.config)
    }
}

fn configured_task(config: &Config) -> Option<ConfiguredTask> {
    let task = &config.task;
    let said = |text: &Option<String>| {
        let text = text.as_deref().unwrap_or_default().trim();
        (!text.is_empty()).then(|| text.to_owned())
    };
    let (goal, key, workflow) = match (said(&task.goal), said(&task.initial_prompt)) {
        (None, None) => return None,
        (Some(goal), None) => (goal, "task.goal", &task.goal_workflow),
        (None, Some(prompt)) => (prompt, "task.initial_prompt", &task.prompt_workflow),
        // An initial prompt means one worker, whose goal it then explains.
        (Some(goal), Some(prompt)) => (
            format!("{goal}\n\n{prompt}"),
            "task.initial_prompt",
            &task.prompt_workflow,
        ),
    };
    Some(ConfiguredTask {
        goal,
        key,
        workflow: workflow.clone().filter(|_| !config.names_workflow),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::TaskConfig;

    fn config(goal: &str, prompt: &str) -> Config {
        let said = |text: &str| Some(text.to_owned());
        Config {
            task: TaskConfig {
                goal: said(goal),
                initial_prompt: said(prompt),
                goal_workflow: said("many"),
                prompt_workflow: said("one"),
            },
            ..Config::default()
        }
    }

    #[test]
    fn how_the_goal_is_stated_says_how_it_is_pursued() {
        let found = |goal, prompt| {
            let task = configured_task(&config(goal, prompt))?;
            Some((task.goal, task.key, task.workflow?))
        };
        let told = |goal: &str, key, workflow: &str| Some((goal.to_owned(), key, workflow.into()));
        assert_eq!(found("", " \n"), None);
        assert_eq!(found("Research", ""), told("Research", "task.goal", "many"));
        assert_eq!(
            found("", "Count words"),
            told("Count words", "task.initial_prompt", "one")
        );
        assert_eq!(
            found("Words", "Count them"),
            told("Words\n\nCount them", "task.initial_prompt", "one")
        );
    }

    #[test]
    fn a_workflow_that_is_named_stays() {
        let config = Config {
            names_workflow: true,
            ..config("Research", "")
        };
        assert_eq!(configured_task(&config).unwrap().workflow, None);
    }
}
