//! The prompts that a person can choose from their client's menu.

use rmcp::ErrorData;
use rmcp::model::{GetPromptResult, JsonObject, Prompt, PromptArgument, PromptMessage, Role};
use serde_json::Value;

const TEAM: &str = "team";
const STATUS: &str = "team-status";

pub(super) fn list() -> Vec<Prompt> {
    let task = PromptArgument::new("task")
        .with_description("What to accomplish.")
        .with_required(true);
    vec![
        Prompt::new(
            TEAM,
            Some("Take a task through analyst, architect, coder, QA and reviewer."),
            Some(vec![task]),
        ),
        Prompt::new(
            STATUS,
            Some("Show where the task stands and continue it."),
            None,
        ),
    ]
}

pub(super) fn get(
    name: &str,
    arguments: Option<&JsonObject>,
) -> Result<GetPromptResult, ErrorData> {
    let text = match name {
        TEAM => {
            let task = arguments
                .and_then(|a| a.get("task"))
                .and_then(Value::as_str);
            let Some(task) = task.map(str::trim).filter(|task| !task.is_empty()) else {
                return Err(ErrorData::invalid_params("`task` is missing", None));
            };
            format!(
                "Take this task through the team: call codeteam's `start_task` with it, in my words. \
                 Then follow what each tool answers: play only the role it assigns, hand in your work \
                 with `submit`, and continue until it says `task_complete`. When it has a question for \
                 me, ask me and pass my words on with `resume`. Do not answer or approve in my place, \
                 and do not argue with a gate: fix what it objects to.\n\nThe task:\n{task}"
            )
        }
        STATUS => {
            "Call codeteam's `get_status`, tell me in a few sentences where the task stands and \
             what it waits for, and continue it if it is your turn."
                .to_owned()
        }
        other => {
            let other: String = other.chars().take(80).collect();
            let text = format!("there is no prompt `{other}`");
            return Err(ErrorData::invalid_params(text, None));
        }
    };
    Ok(GetPromptResult::new(vec![PromptMessage::new_text(
        Role::User,
        text,
    )]))
}
