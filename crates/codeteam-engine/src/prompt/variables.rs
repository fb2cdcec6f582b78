//! The variables that templates may use. The check, the values and the documentation are all
//! generated from these tables.

use std::fmt::Write as _;

/// A variable of templates.
#[derive(Clone, Copy, Debug)]
pub struct TemplateVariable {
    /// The name by which templates refer to it.
    pub name: &'static str,
    /// Its fields, or those of its items, if it is not a plain text or number.
    pub fields: &'static [&'static str],
    /// Whether it is a list, and `fields` are those of each item.
    pub many: bool,
    /// Its description in the reference.
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

/// All variables. All of them are always defined: one without content is empty.
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
    plain("owed", "what its kind has to deliver, in words"),
    plain("stance", "the attitude that the role takes"),
    plain("prompt", "the role's own prompt; only in `system.md.j2`"),
    plain("config", "the role's own `config`, by key"),
    plain("contract", "the wire form of the answer: `native`, …"),
    plain("mode", "`tools`, or `edits` for whole files in the answer"),
    plain(
        "max_turns",
        "how often the worker may ask its model, if that is limited",
    ),
    plain("step", "the step of the workflow"),
    plain("round", "the round, from 1"),
    plain("attempt", "the attempt, from 1"),
    plain(
        "level",
        "the scope of the work: `primary`, `simplified` or `minimal`",
    ),
    plain(
        "continues",
        "whether the worker continues the session of an earlier attempt",
    ),
    plain(
        "repeats",
        "whether an earlier attempt of the same visit got the same text in that session",
    ),
    one("task", TASK, "the task"),
    one(
        "plan",
        &["plan_id", "description", "phases", "tasks", "json"],
        "the plan, for roles that work on all of it",
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
        "what was known before those questions: what the analyst had understood, and the \
         requirements that were clear already",
    ),
    one(
        "design",
        &["design", "patterns", "warnings", "interfaces"],
        "how it is to be built",
    ),
    one(
        "phase",
        &[
            "id",
            "title",
            "description",
            "place",
            "of",
            "tasks",
            "done",
            "interfaces",
        ],
        "the phase, for those who work on it as a whole; it is number `place` of `of`; `tasks` are those \
         that are not done, `done` the others, `interfaces` what was last proposed",
    ),
    many(
        "interfaces",
        &["phase", "name", "type", "file", "definition", "locked"],
        "the settled interfaces that the work has to keep to: those of the task's phase and of the phases \
         before it; of one that is `locked`, the file is there and must not be changed",
    ),
    one(
        "interface_request",
        &[
            "phase",
            "name",
            "type",
            "file",
            "definition",
            "before",
            "reason",
        ],
        "the change of a locked interface that the task asks for, for those who decide about it: what it \
         would be, what it was `before`, and the `reason`; without a request, its name is empty",
    ),
    plain(
        "may_request",
        "whether an implementer may ask for a change of a locked interface",
    ),
    plain("text", "what a scribe wrote before"),
    plain(
        "brief",
        "what a scribe wrote for the implementer of the task",
    ),
    many(
        "upstream",
        &[
            "task",
            "title",
            "roles",
            "summary",
            "shortened",
            "notes",
            "files",
            "full_text_file",
        ],
        "the results of the tasks that this one depends on",
    ),
    many(
        "contributions",
        &["role", "summary", "notes", "files"],
        "what others contributed to the task, for the role that continues or summarises it",
    ),
    plain("log", "what was done for the task so far, round by round"),
    list("candidates", "the tasks of which one is to be chosen"),
    many(
        "roles",
        &[
            "name",
            "description",
            "kind",
            "tools",
            "strengths",
            "workers",
            "model",
            "cost",
            "price",
        ],
        "the roles of which some are to be chosen; `cost` is the most that one attempt may cost, in US \
         dollars; `price` is that of a million tokens of the model, in words",
    ),
    list("unassigned", "the tasks that need a role"),
    list("next_roles", "the roles that continue the task afterwards"),
    one(
        "quality",
        &[
            "overall_score",
            "threshold",
            "criteria",
            "issues",
            "suggestions",
        ],
        "the last score of the result, for a leader; `criteria` has a line for each criterion",
    ),
    plain("failure", "why the work failed, for a leader"),
    list("interventions", "what the leader has decided so far"),
    list(
        "interventions_left",
        "how often each intervention may still happen",
    ),
    plain(
        "unscored",
        "why the result has no score, for a leader, if whoever had to score it gave up",
    ),
    list(
        "dropped_criteria",
        "the criteria that the leader has dropped, for whoever scores or leads",
    ),
    many(
        "waiting",
        &["task", "title"],
        "the tasks that wait for this one, for a leader",
    ),
    plain(
        "spent",
        "what the task and the run have cost so far, for a leader",
    ),
    plain("may_ask", "whether a planner may ask a person first"),
    plain("claimed", "what the author says about the change"),
    plain(
        "diff",
        "the change to be judged, or what has been changed so far",
    ),
    plain("changes", "what has changed since it was last judged"),
    many(
        "checks",
        &["name", "passed", "says"],
        "what the orchestrator's own checks found; `says` is additional information, such as \
         what a check could not determine",
    ),
    many(
        "context",
        &["name", "title", "text", "files"],
        "what is shown of the project; `files` have `path`, `content`, `shortened`, `missing`",
    ),
    many(
        "squeezed",
        &["name", "title", "names", "more"],
        "what is shortened for lack of room",
    ),
    many(
        "left_out",
        &["name", "title", "names", "more"],
        "what is left out for lack of room",
    ),
    list("feedback", "what was wrong before"),
    list("printed", "what was printed then"),
    many(
        "findings",
        &["id", "severity", "title", "file", "line", "detail", "words"],
        "findings that are open; `words` is all of one in a few lines",
    ),
    list("rules", "the configuration's rules for every role"),
    list("outputs", "what the step must produce"),
    many(
        "documents",
        &["path", "text", "left_out"],
        "the nearest `AGENTS.md` and `.codeteam/context/*.md`; `left_out` counts bytes",
    ),
    list("unshown", "the documents for which there was no room"),
    plain("schema", "the JSON Schema of the answer"),
    plain(
        "schema_given",
        "whether the worker gets that schema in addition to the prompt, as `claude` and `codex` do",
    ),
    plain("example", "an example of the answer"),
    plain(
        "plans_first",
        "whether the worker has to write a plan before it uses a tool: its role has `use_planner`, and \
         it does not make one by itself, as `builtin` does",
    ),
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

/// The name of the variable that requires listing all files.
pub(crate) const REPO_MAP: &str = "REPO_MAP";
/// The name of the variable that requires reading files.
pub(crate) const RELEVANT_FILES_CONTENT: &str = "RELEVANT_FILES_CONTENT";
/// The name of the variable that requires rendering another template.
pub(crate) const VERIFICATION_FEEDBACK: &str = "VERIFICATION_FEEDBACK";

/// A filter of templates.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TemplateFilter {
    /// The name by which templates use it.
    pub name: &'static str,
    /// Its description in the reference.
    pub meaning: &'static str,
}

/// All filters.
pub(crate) const FILTERS: &[TemplateFilter] = &[
    TemplateFilter {
        name: "fenced",
        meaning: "quotes a text so that nothing in it can end the quotation; `fenced(\"diff\")` \
                  names its language",
    },
    TemplateFilter {
        name: "item",
        meaning: "indents the further lines of a list item",
    },
    TemplateFilter {
        name: "name",
        meaning: "keeps the name of a file on one line",
    },
    TemplateFilter {
        name: "trim",
        meaning: "removes whitespace at both ends",
    },
    TemplateFilter {
        name: "lower",
        meaning: "in lower case",
    },
    TemplateFilter {
        name: "upper",
        meaning: "in upper case",
    },
    TemplateFilter {
        name: "length",
        meaning: "the number of elements",
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
        meaning: "`config.x | default(\"…\")`: the value to use if there is none",
    },
    TemplateFilter {
        name: "join",
        meaning: "a list on one line: `join(\", \")`",
    },
    TemplateFilter {
        name: "tojson",
        meaning: "as JSON",
    },
];

/// Returns a variable by its name.
pub fn variable(name: &str) -> Option<&'static TemplateVariable> {
    VARIABLES.iter().find(|variable| variable.name == name)
}

/// Returns the tables for the reference documentation.
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
