//! Every path of the server, in one place: requests are read with it, and links are written with it.

use std::fmt;
use std::fmt::Write as _;

/// A place that a link can lead to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Route {
    /// What needs a person, in all projects.
    Inbox,
    /// All runs of all projects.
    Runs,
    /// The keys and what pages there are.
    Help,
    /// Links for reading, which expire.
    Links,
    /// Success, time and cost of a project's runs.
    Metrics {
        /// The key of the project.
        project: String,
    },
    /// Whether this machine has what codeteam needs.
    Doctor {
        /// The key of the project.
        project: String,
    },
    /// A page of a run.
    Run {
        /// The key of the project.
        project: String,
        /// The id of the run.
        run: String,
        /// Which of its pages.
        place: RunPlace,
    },
    /// Where a form about a run is sent.
    Action {
        /// The key of the project.
        project: String,
        /// The id of the run.
        run: String,
        /// What is done.
        action: RunAction,
    },
    /// A file of the program: a style sheet, a script, an icon.
    Asset {
        /// Its name.
        name: String,
    },
    /// The stream of what changes.
    Live,
    /// Where a code is exchanged for a session.
    SignIn,
    /// Where a session is ended.
    SignOut,
    /// A link for reading.
    ReadLink {
        /// Its secret.
        secret: String,
    },
    /// Where another process of the user gets a code.
    Mint,
    /// Where the colours are chosen.
    Theme,
    /// Where a link for reading is made or revoked.
    LinkAction(LinkAction),
    /// Where everything that is needed is looked at again.
    DoctorAction {
        /// The key of the project.
        project: String,
    },
    /// Where browsers report what the content policy has stopped.
    PolicyReport,
}

/// What a form about links for reading does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LinkAction {
    /// Makes one.
    Create,
    /// Revokes one.
    Revoke,
}

/// A page of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum RunPlace {
    /// The first page: summary, tasks, what happened last.
    Overview,
    /// The tasks by their state.
    Board,
    /// The workflow and the tasks as drawings.
    Graph,
    /// What happened, and a bar for each attempt.
    Timeline,
    /// The plan.
    Plan,
    /// What it has spent.
    Cost,
    /// The files that it changed.
    Files,
    /// The event log.
    Events,
    /// One event as it is stored.
    Event(u64),
    /// A task, or `run`.
    Task(String),
    /// The change of a task, or of the run.
    Diff(String),
    /// A question, named by its attempt's id.
    Question(String),
    /// An attempt, named by the number of its launch.
    Attempt(u64),
    /// The output of an attempt, as text.
    AttemptLog(u64),
    /// What the worker of an attempt was told, as text.
    AttemptPrompt(u64),
    /// What the worker of an attempt answered, as text.
    AttemptAnswer(u64),
    /// The output of a gate's check, as text: the attempt, and which check it is, from 0.
    CheckOutput(u64, usize),
}

macro_rules! run_actions {
    ($($(#[doc = $doc:literal])* $name:ident => $word:literal,)*) => {
        /// What a form about a run does.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum RunAction { $($(#[doc = $doc])* $name,)* }

        impl RunAction {
            /// Returns the word in the path.
            pub(crate) fn as_str(self) -> &'static str {
                match self { $(Self::$name => $word,)* }
            }

            fn parse(word: &str) -> Option<Self> {
                match word { $($word => Some(Self::$name),)* _ => None }
            }
        }
    };
}

run_actions! {
    /// Approves what a question is about.
    Approve => "approve",
    /// Sends a change back.
    Reject => "reject",
    /// Answers a question.
    Answer => "answer",
    /// Keeps a comment on lines until the change is rejected.
    Comment => "comment",
    /// Drops such a comment.
    Uncomment => "uncomment",
    /// Notes that a file of a change was looked at.
    Viewed => "viewed",
    /// Takes up what has failed.
    Retry => "retry",
    /// Leaves a task out.
    Skip => "skip",
    /// Ends the run.
    Abort => "abort",
    /// Goes on with a run that nobody drives.
    Resume => "resume",
    /// Raises a limit and goes on.
    Raise => "raise",
    /// Approves in spite of what is missing.
    Override => "override",
    /// Hands a vote to somebody else.
    Delegate => "delegate",
}

impl Route {
    /// Reads the path of a request; `None` if there is nothing.
    pub(crate) fn parse(path: &str) -> Option<Self> {
        let parts: Option<Vec<String>> = path.strip_prefix('/')?.split('/').map(decode).collect();
        let parts = parts?;
        let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
        Some(match parts[..] {
            [""] => Self::Inbox,
            ["runs"] => Self::Runs,
            ["help"] => Self::Help,
            ["links"] => Self::Links,
            ["live"] => Self::Live,
            ["in"] => Self::SignIn,
            ["out"] => Self::SignOut,
            ["mint"] => Self::Mint,
            ["theme"] => Self::Theme,
            ["csp"] => Self::PolicyReport,
            ["links", "do", "create"] => Self::LinkAction(LinkAction::Create),
            ["links", "do", "revoke"] => Self::LinkAction(LinkAction::Revoke),
            ["r", secret] => Self::ReadLink {
                secret: secret.to_owned(),
            },
            ["p", project, "doctor", "do"] => Self::DoctorAction {
                project: project.to_owned(),
            },
            ["assets", name] => Self::Asset {
                name: name.to_owned(),
            },
            ["p", project, "metrics"] => Self::Metrics {
                project: project.to_owned(),
            },
            ["p", project, "doctor"] => Self::Doctor {
                project: project.to_owned(),
            },
            ["p", project, "runs", run, "do", word] => Self::Action {
                project: project.to_owned(),
                run: run.to_owned(),
                action: RunAction::parse(word)?,
            },
            ["p", project, "runs", run, ref rest @ ..] => Self::Run {
                project: project.to_owned(),
                run: run.to_owned(),
                place: RunPlace::parse(rest)?,
            },
            _ => return None,
        })
    }

    /// Returns the path of a page of a run.
    pub(crate) fn run(project: &str, run: &str, place: RunPlace) -> Self {
        Self::Run {
            project: project.to_owned(),
            run: run.to_owned(),
            place,
        }
    }
}

impl RunPlace {
    fn parse(rest: &[&str]) -> Option<Self> {
        Some(match *rest {
            [] => Self::Overview,
            ["board"] => Self::Board,
            ["graph"] => Self::Graph,
            ["timeline"] => Self::Timeline,
            ["plan"] => Self::Plan,
            ["cost"] => Self::Cost,
            ["files"] => Self::Files,
            ["events"] => Self::Events,
            ["events", seq] => Self::Event(parse_number(seq)?),
            ["task", place] => Self::Task(place.to_owned()),
            ["diff", place] => Self::Diff(place.to_owned()),
            ["question", id] => Self::Question(id.to_owned()),
            ["attempt", fence] => Self::Attempt(parse_number(fence)?),
            ["attempt", fence, "log.txt"] => Self::AttemptLog(parse_number(fence)?),
            ["attempt", fence, "prompt.txt"] => Self::AttemptPrompt(parse_number(fence)?),
            ["attempt", fence, "answer.txt"] => Self::AttemptAnswer(parse_number(fence)?),
            ["attempt", fence, "check", check] => {
                let check = check.strip_suffix(".txt")?;
                let check = usize::try_from(parse_number(check)?).ok()?;
                Self::CheckOutput(parse_number(fence)?, check)
            }
            _ => return None,
        })
    }
}

/// Reads a number; `None` if it is written in another way than `Display` writes it.
fn parse_number(text: &str) -> Option<u64> {
    let number: u64 = text.parse().ok()?;
    (number.to_string() == text).then_some(number)
}

impl fmt::Display for Route {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Inbox => f.write_str("/"),
            Self::Runs => f.write_str("/runs"),
            Self::Help => f.write_str("/help"),
            Self::Links => f.write_str("/links"),
            Self::Live => f.write_str("/live"),
            Self::SignIn => f.write_str("/in"),
            Self::SignOut => f.write_str("/out"),
            Self::Mint => f.write_str("/mint"),
            Self::Theme => f.write_str("/theme"),
            Self::PolicyReport => f.write_str("/csp"),
            Self::LinkAction(LinkAction::Create) => f.write_str("/links/do/create"),
            Self::LinkAction(LinkAction::Revoke) => f.write_str("/links/do/revoke"),
            Self::ReadLink { secret } => write!(f, "/r/{}", encode(secret)),
            Self::DoctorAction { project } => write!(f, "/p/{}/doctor/do", encode(project)),
            Self::Asset { name } => write!(f, "/assets/{}", encode(name)),
            Self::Metrics { project } => write!(f, "/p/{}/metrics", encode(project)),
            Self::Doctor { project } => write!(f, "/p/{}/doctor", encode(project)),
            Self::Action {
                project,
                run,
                action,
            } => {
                let (project, run) = (encode(project), encode(run));
                write!(f, "/p/{project}/runs/{run}/do/{}", action.as_str())
            }
            Self::Run {
                project,
                run,
                place,
            } => write!(f, "/p/{}/runs/{}{place}", encode(project), encode(run)),
        }
    }
}

impl fmt::Display for RunPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Overview => Ok(()),
            Self::Board => f.write_str("/board"),
            Self::Graph => f.write_str("/graph"),
            Self::Timeline => f.write_str("/timeline"),
            Self::Plan => f.write_str("/plan"),
            Self::Cost => f.write_str("/cost"),
            Self::Files => f.write_str("/files"),
            Self::Events => f.write_str("/events"),
            Self::Event(seq) => write!(f, "/events/{seq}"),
            Self::Task(place) => write!(f, "/task/{}", encode(place)),
            Self::Diff(place) => write!(f, "/diff/{}", encode(place)),
            Self::Question(id) => write!(f, "/question/{}", encode(id)),
            Self::Attempt(fence) => write!(f, "/attempt/{fence}"),
            Self::AttemptLog(fence) => write!(f, "/attempt/{fence}/log.txt"),
            Self::AttemptPrompt(fence) => write!(f, "/attempt/{fence}/prompt.txt"),
            Self::AttemptAnswer(fence) => write!(f, "/attempt/{fence}/answer.txt"),
            Self::CheckOutput(fence, check) => write!(f, "/attempt/{fence}/check/{check}.txt"),
        }
    }
}

/// Writes a text as one part of a path or as a value of a query.
pub(crate) fn encode(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            let _ = write!(encoded, "%{byte:02X}");
        }
    }
    encoded
}

/// Reads one part of a path; `None` if it is no text.
pub(crate) fn decode(part: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(part.len());
    let mut rest = part.bytes();
    while let Some(byte) = rest.next() {
        if byte == b'%' {
            let pair = [rest.next()?, rest.next()?];
            if !pair.iter().all(u8::is_ascii_hexdigit) {
                return None;
            }
            let digits = std::str::from_utf8(&pair).ok()?;
            bytes.push(u8::from_str_radix(digits, 16).ok()?);
        } else {
            bytes.push(byte);
        }
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_as_the_same() {
        let run = |place| Route::run("demo-1f", "2026-11-18_add flag/ü", place);
        let strange = || "a/b#c?d=%e\u{202e}\u{0}".to_owned();
        let routes = [
            Route::Inbox,
            Route::Runs,
            Route::Help,
            Route::Links,
            Route::Live,
            Route::SignIn,
            Route::SignOut,
            Route::Mint,
            Route::Theme,
            Route::PolicyReport,
            Route::LinkAction(LinkAction::Create),
            Route::LinkAction(LinkAction::Revoke),
            Route::ReadLink { secret: strange() },
            Route::DoctorAction {
                project: "demo".to_owned(),
            },
            Route::Asset { name: strange() },
            Route::Metrics {
                project: "demo".to_owned(),
            },
            Route::Doctor {
                project: "demo".to_owned(),
            },
            Route::Action {
                project: "demo".to_owned(),
                run: strange(),
                action: RunAction::Approve,
            },
            run(RunPlace::Overview),
            run(RunPlace::Board),
            run(RunPlace::Graph),
            run(RunPlace::Timeline),
            run(RunPlace::Plan),
            run(RunPlace::Cost),
            run(RunPlace::Files),
            run(RunPlace::Events),
            run(RunPlace::Event(7)),
            run(RunPlace::Task(strange())),
            run(RunPlace::Diff(strange())),
            run(RunPlace::Question("run/task-001.review#3".to_owned())),
            run(RunPlace::Attempt(4)),
            run(RunPlace::AttemptLog(4)),
            run(RunPlace::AttemptPrompt(4)),
            run(RunPlace::AttemptAnswer(4)),
            run(RunPlace::CheckOutput(4, 0)),
        ];
        for route in routes {
            let path = route.to_string();
            assert!(path.is_ascii() && !path.contains(['?', '#', ' ']), "{path}");
            assert_eq!(Route::parse(&path), Some(route), "{path}");
        }
    }

    #[test]
    fn other_paths_lead_nowhere() {
        for path in [
            "",
            "runs",
            "//",
            "/p",
            "/p/x/runs",
            "/p/x/runs/y/do/explode",
            "/p/x/runs/y/attempt/../1",
            "/p/x/runs/y/attempt/-1",
            "/p/x/runs/y/attempt/+4",
            "/p/x/runs/y/attempt/004",
            "/p/x/runs/y/attempt/4/check/01.txt",
            "/p/x/runs/y/attempt/4/check/1",
            "/runs/%+f",
            "/assets/a/b",
            "/runs/%",
            "/runs%2",
            "/assets/%ff",
        ] {
            assert_eq!(Route::parse(path), None, "{path}");
        }
    }
}
