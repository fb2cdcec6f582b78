//! What templates may refer to. The check, the values and the documentation are all made from
//! these tables.

use std::fmt::Write as _;

/// A variable of templates.
#[derive(Clone, Copy, Debug)]
pub struct TemplateVariable {
    /// Its name.
    pub name: &'static str,
    /// What it is made of, if it is no plain text or number: its fields, or those of its items.
    pub fields: &'static [&'static str],
    /// Whether `fields` are those of each of its items.
    pub many: bool,
    /// What it says.
    pub meaning: &'static str,
}

const fn plain(name: &'static str, meaning: &'static str) -> TemplateVariable {
    TemplateVariable {
        name,
        fields: &[],
        many: false,
        meaning,
    }
}

const fn list(name: &'static str, meaning: &'static str) -> TemplateVariable {
    TemplateVariable {
        name,
        fields: &[],
        many: true,
        meaning,
    }
}

const fn one(
    name: &'static str,
    fields: &'static [&'static str],
    meaning: &'static str,
) -> TemplateVariable {
    TemplateVariable {
        name,
        fields,
        many: false,
        meaning,
    }
}

const fn many(
    name: &'static str,
    fields: &'static [&'static str],
    meaning: &'static str,
) -> TemplateVariable {
    TemplateVariable {
        name,
        fields,
        many: true,
        meaning,
    }
}

/// Every variable. All of them are always there: what there is nothing of is empty.
pub const VARIABLES: &[TemplateVariable] = &[
    plain("PLAN_ID", "the plan, e.g. `feature-0021`"),
    plain("TASK_ID", "the task, e.g. `task-003`"),
    plain("TASK_DESCRIPTION", "its description"),
    plain(
        REPO_MAP,
        "all tracked files as a tree, at most 2,000 lines; read only where a template names it",
    ),
    plain(
        RELEVANT_FILES_CONTENT,
        "the files that the task names, each under `### FILE: path`; read only where a template \
         names it",
    ),
    plain(
        VERIFICATION_FEEDBACK,
        "what was wrong before, what was printed and the open findings, as Markdown",
    ),
    plain("goal", "what the user asked for"),
    plain("run", "the run's id"),
    plain("role", "the role's name"),
    plain(
        "kind",
        "`analyst`, `designer`, `planner`, `implementer`, `gatekeeper` or `scribe`",
    ),
    plain("owed", "what its kind owes, in words"),
    plain("stance", "the attitude the role is to take"),
    plain(
        "prompt",
        "what the role's own prompt says; only in `system.md.j2`",
    ),
    plain("config", "the role's own `config`, by key"),
    plain("contract", "the wire form of the answer: `native`, …"),
    plain("mode", "`tools`, or `edits` for whole files in the answer"),
    plain("step", "the step of the workflow"),
    plain("round", "the round, from 1"),
    plain("attempt", "the try, from 1"),
    plain(
        "level",
        "how much is asked: `primary`, `simplified` or `minimal`",
    ),
    plain(
        "continues",
        "whether the worker goes on in the session of an earlier try",
    ),
    plain(
        "repeats",
        "whether an earlier try of this very visit was told the same in that session",
    ),
    one("task", TASK, "the task"),
    one(
        "plan",
        &["plan_id", "description", "phases", "tasks", "json"],
        "the plan, for those who work on all of it",
    ),
    plain("requirements", "what is to be built"),
    many(
        "answers",
        &["questions", "answer"],
        "questions that were asked, and what was answered",
    ),
    one(
        "analysis",
        &["context", "partial_spec"],
        "what was known when those questions were asked: what was understood, and the requirements that \
         were clear already",
    ),
    one(
        "design",
        &["design", "patterns", "warnings", "interfaces"],
        "how it is to be built",
    ),
    plain("text", "what a scribe wrote before"),
    plain(
        "brief",
        "what a scribe wrote for whoever implements the task",
    ),
    plain("log", "what was done for the task so far, round by round"),
    list("candidates", "the tasks of which one is to be chosen"),
    plain("may_ask", "whether a planner may ask a person first"),
    plain("claimed", "what its author says of the change"),
    plain(
        "diff",
        "the change that is to be judged, or has been made so far",
    ),
    plain("changes", "what has changed since it was judged before"),
    many(
        "checks",
        &["name", "passed"],
        "what the orchestrator's own checks found",
    ),
    many(
        "context",
        &["name", "title", "text", "files"],
        "what is shown of the project; `files` have `path`, `content`, `shortened`, `missing`",
    ),
    many(
        "squeezed",
        &["name", "title", "names", "more"],
        "what of it is shown shortened for want of room",
    ),
    many(
        "left_out",
        &["name", "title", "names", "more"],
        "what of it is not shown for want of room",
    ),
    list("feedback", "what was wrong before"),
    list("printed", "what was printed then"),
    many(
        "findings",
        &["id", "severity", "title", "file", "line", "detail", "words"],
        "findings that are open; `words` is all of one in a few lines",
    ),
    list("rules", "the configuration's rules for every role"),
    list("outputs", "what the step is to bring forth"),
    many(
        "documents",
        &["path", "text", "left_out"],
        "the nearest `AGENTS.md` and `.codeteam/context/*.md`; `left_out` counts bytes",
    ),
    list("unshown", "the documents there was no room for"),
    plain("schema", "the JSON Schema of the answer"),
    plain(
        "schema_given",
        "whether the worker gets that schema besides the prompt, as `claude` and `codex` do",
    ),
    plain("example", "an example of the answer"),
];

/// The fields of a task.
pub(super) const TASK: &[&str] = &[
    "id",
    "title",
    "description",
    "files",
    "acceptance",
    "dependencies",
    "phase",
];

/// Costs a look at all files.
pub const REPO_MAP: &str = "REPO_MAP";
/// Costs reading files.
pub const RELEVANT_FILES_CONTENT: &str = "RELEVANT_FILES_CONTENT";
/// Costs rendering.
pub const VERIFICATION_FEEDBACK: &str = "VERIFICATION_FEEDBACK";

/// A filter of templates.
#[derive(Clone, Copy, Debug)]
pub struct TemplateFilter {
    /// Its name.
    pub name: &'static str,
    /// What it does.
    pub meaning: &'static str,
}

/// Every filter.
pub const FILTERS: &[TemplateFilter] = &[
    TemplateFilter {
        name: "fenced",
        meaning: "quotes a text so that nothing in it can end the quotation; `fenced(\"diff\")` \
                  names its language",
    },
    TemplateFilter {
        name: "item",
        meaning: "indents the further lines of a list's item",
    },
    TemplateFilter {
        name: "name",
        meaning: "keeps the name of a file in one line",
    },
    TemplateFilter {
        name: "trim",
        meaning: "without blanks at the ends",
    },
    TemplateFilter {
        name: "lower",
        meaning: "in small letters",
    },
    TemplateFilter {
        name: "upper",
        meaning: "in capitals",
    },
    TemplateFilter {
        name: "length",
        meaning: "how many",
    },
    TemplateFilter {
        name: "first",
        meaning: "the first of a list",
    },
    TemplateFilter {
        name: "last",
        meaning: "the last of a list",
    },
    TemplateFilter {
        name: "default",
        meaning: "`config.x | default(\"…\")`: what to say where there is nothing",
    },
    TemplateFilter {
        name: "join",
        meaning: "a list in one line: `join(\", \")`",
    },
    TemplateFilter {
        name: "tojson",
        meaning: "as JSON",
    },
];

/// A variable by name.
pub fn variable(name: &str) -> Option<&'static TemplateVariable> {
    VARIABLES.iter().find(|variable| variable.name == name)
}

/// The tables as the reference has them.
pub fn reference() -> String {
    let mut text = String::from("\n| variable | what |\n|---|---|\n");
    for variable in VARIABLES {
        let TemplateVariable {
            name,
            fields,
            many,
            meaning,
        } = variable;
        let fields: Vec<String> = fields.iter().map(|field| format!("`{field}`")).collect();
        let made_of = match (many, fields.is_empty()) {
            (false, true) => String::new(),
            (true, true) => "; a list".to_owned(),
            (false, false) => format!("; it has {}", fields.join(", ")),
            (true, false) => format!("; a list, each with {}", fields.join(", ")),
        };
        let _ = writeln!(text, "| `{name}` | {meaning}{made_of} |");
    }
    text.push_str("\n| filter | what |\n|---|---|\n");
    for TemplateFilter { name, meaning } in FILTERS {
        let _ = writeln!(text, "| `{name}` | {meaning} |");
    }
    text.push('\n');
    text
}
