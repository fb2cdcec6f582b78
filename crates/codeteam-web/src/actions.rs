//! Carries out what forms ask for. A decision is a command of codeteam, as the screen and a person at
//! a terminal would give it, with the question it is about named in it.

use std::sync::Arc;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use codeteam_core::ids::RunId;
use codeteam_engine::problem::Problem;
use codeteam_report::review::compose_rejection;
use codeteam_report::view::{LoadedRun, NextAction, QuestionView};

use crate::drafts::{DraftKey, DraftStore, KeptComment};
use crate::form_data::FormData;
use crate::load_page::{find_question, is_grave};
use crate::page::Notice;
use crate::projects::WatchedProject;
use crate::routes::RunAction;

/// How long a decision is waited for.
const DECISION_WAIT: Duration = Duration::from_secs(10);
/// How long a command that drives a run is waited for. It goes on afterwards.
const DRIVE_WAIT: Duration = Duration::from_secs(2);
/// The most lines of a command's output that are shown.
const MOST_LINES: usize = 200;
/// The longest text of a person, in bytes: more does not fit into one argument of a command.
const LONGEST_TEXT: usize = 100_000;

/// A form about a run.
pub(crate) struct ActionRequest<'a> {
    /// The project.
    pub(crate) project: &'a Arc<WatchedProject>,
    /// The run.
    pub(crate) run: RunId,
    /// What is done.
    pub(crate) action: RunAction,
    /// What was filled in.
    pub(crate) form: &'a FormData,
}

/// What is to be done, once the form was understood.
#[derive(Debug, PartialEq, Eq)]
enum ActionPlan {
    /// A command that ends by itself.
    Decide(Vec<String>),
    /// A command that drives the run, which may take hours.
    Drive(Vec<String>),
}

impl ActionRequest<'_> {
    /// Carries it out.
    pub(crate) fn carry_out(&self, drafts: &DraftStore) -> Notice {
        let done = match self.action {
            RunAction::Comment | RunAction::Uncomment | RunAction::Viewed => self.keep(drafts),
            _ => self.command(drafts),
        };
        done.unwrap_or_else(|problem| Notice {
            is_ok: false,
            text: problem.what().to_owned(),
            output: problem.hints().iter().map(ToString::to_string).collect(),
        })
    }

    fn key(&self, place: &str) -> DraftKey {
        DraftKey {
            project: self.project.key.clone(),
            run: self.run.0.clone(),
            place: place.to_owned(),
        }
    }

    /// Keeps a comment or a mark.
    fn keep(&self, drafts: &DraftStore) -> Result<Notice, Problem> {
        let form = self.form;
        let key = self.key(form.get("place"));
        let path = form.get("path").to_owned();
        let (kept, text) = match self.action {
            RunAction::Comment => {
                let text = form.filled("text").ok_or_else(|| {
                    Problem::user("the comment is empty").hint("say what should be different")
                })?;
                let number = |name: &str| form.filled(name).and_then(|n| n.parse().ok());
                let line = number("line");
                let comment = KeptComment {
                    id: 0,
                    path,
                    line,
                    last: number("last").or(line),
                    is_old: form.get("old") == "1",
                    quoted: form.get("quoted").to_owned(),
                    text: text.to_owned(),
                };
                let kept = drafts.add_comment(&key, comment);
                (kept, "The comment is kept; it goes with your rejection.")
            }
            RunAction::Uncomment => {
                let id = form.get("comment").parse().unwrap_or(0);
                (drafts.drop_comment(&key, id), "The comment is dropped.")
            }
            _ => {
                let digest = form.filled("digest").filter(|_| form.get("viewed") != "0");
                let text = match digest {
                    Some(_) => "The file is marked as viewed.",
                    None => "The file is no longer marked as viewed.",
                };
                (drafts.mark_viewed(&key, &path, digest), text)
            }
        };
        kept.map_err(|e| Problem::environment("it could not be kept").caused_by(&e))?;
        Ok(Notice {
            is_ok: true,
            text: text.to_owned(),
            output: Vec::new(),
        })
    }

    /// Starts a command.
    fn command(&self, drafts: &DraftStore) -> Result<Notice, Problem> {
        let run = self.project.engine.load_run_view(&self.run)?;
        let asked = self.form.filled("question");
        let asked = asked.map(|id| find_question(&run, id).ok_or_else(answered_meanwhile));
        let asked = asked.transpose()?;
        let key = asked.map(|asked| self.key(asked.place()));
        let draft = key.as_ref().map(|key| drafts.read(key)).unwrap_or_default();
        let comments: Vec<_> = draft
            .comments
            .iter()
            .map(KeptComment::to_line_comment)
            .collect();
        let plan = match asked {
            Some(asked) => {
                self.plan_decision(&run, asked, |words| compose_rejection(words, &comments))?
            }
            None => self.plan_without_question(&run)?,
        };
        let (notice, has_ended_well) = match plan {
            ActionPlan::Decide(words) => run_command(self.project, words, DECISION_WAIT),
            ActionPlan::Drive(words) => run_command(self.project, words, DRIVE_WAIT),
        };
        if let (Some(key), true, RunAction::Reject) = (&key, has_ended_well, self.action) {
            let dropped = drafts.drop_comments(key);
            dropped.map_err(|e| Problem::environment("comments stay").caused_by(&e))?;
        }
        Ok(notice)
    }

    /// Plans a decision on a question.
    fn plan_decision(
        &self,
        run: &LoadedRun,
        asked: &QuestionView,
        compose: impl Fn(&str) -> String,
    ) -> Result<ActionPlan, Problem> {
        let (form, message) = (self.form, self.form.get("message").trim());
        let is_vote = asked.approval.is_some();
        let takes = |wanted: fn(&codeteam_report::view::AnswerChoice) -> bool| {
            let mut choices = asked.choices.iter();
            choices.find(|choice| wanted(choice) && !is_vote)
        };
        let question = asked.question.id.to_string();
        let words = |verb: &str, message: &str, answer: Option<&str>| {
            let mut words = vec![verb.to_owned(), format!("--question={question}")];
            if !message.is_empty() {
                words.push(format!("--message={message}"));
            }
            words.push(run.id.0.clone());
            words.extend(
                answer
                    .iter()
                    .flat_map(|a| ["--".to_owned(), (*a).to_owned()]),
            );
            words
        };
        let words = match self.action {
            RunAction::Approve => {
                require_confirmation(asked, form)?;
                match takes(|choice| choice.accepts) {
                    Some(choice) => words("answer", message, Some(&choice.answer)),
                    None => words("approve", message, None),
                }
            }
            RunAction::Reject => {
                let message = compose(message);
                if message.is_empty() {
                    return Err(Problem::user("a rejection needs a reason")
                        .hint("say what is wrong, or comment on lines: the next worker reads it"));
                }
                match takes(|choice| choice.rejects) {
                    Some(choice) => words("answer", &message, Some(&choice.answer)),
                    None => words("reject", &message, None),
                }
            }
            RunAction::Answer => {
                let answer = answer_text(form, asked)?;
                let accepts = asked.choice(&answer).is_some_and(|choice| choice.accepts);
                if accepts {
                    require_confirmation(asked, form)?;
                }
                words("answer", message, Some(&answer))
            }
            RunAction::Override => {
                if message.is_empty() {
                    return Err(
                        Problem::user("taking a change against the policy needs a reason")
                            .hint("the commit says who has done it and why"),
                    );
                }
                let mut words = words("approve", message, None);
                words.insert(1, "--override".to_owned());
                words
            }
            RunAction::Delegate => {
                let to = form
                    .filled("to")
                    .ok_or_else(|| Problem::user("nobody is named who the vote is handed to"))?;
                let mut words = words("delegate", message, None);
                words.insert(1, format!("--to={to}"));
                words
            }
            _ => return self.plan_without_question(run),
        };
        if words.iter().any(|word| word.len() > LONGEST_TEXT) {
            return Err(Problem::user("the text is too long to be passed on")
                .hint("shorten it, or send comments in two rejections"));
        }
        Ok(ActionPlan::Decide(words))
    }

    /// Plans what is not about a question.
    fn plan_without_question(&self, run: &LoadedRun) -> Result<ActionPlan, Problem> {
        let (form, id) = (self.form, run.id.0.clone());
        let message = form.filled("message");
        let message = message.map(|message| format!("--message={message}"));
        let task = form.filled("task");
        Ok(match self.action {
            RunAction::Retry => {
                let mut words = vec!["retry".to_owned(), "--wait".to_owned()];
                words.extend(task.map(|task| format!("--task={task}")));
                words.extend(message);
                words.push(id);
                ActionPlan::Drive(words)
            }
            RunAction::Skip => {
                let task = task.ok_or_else(|| Problem::user("no task is named"))?;
                ActionPlan::Decide(vec!["skip".to_owned(), id, task.to_owned()])
            }
            RunAction::Abort => {
                let mut words = vec!["abort".to_owned()];
                words.extend(message);
                words.push(id);
                ActionPlan::Decide(words)
            }
            RunAction::Resume | RunAction::Raise => ActionPlan::Drive(self.resume_words(run)?),
            _ => return Err(answered_meanwhile()),
        })
    }

    /// Returns the command that goes on with the run.
    fn resume_words(&self, run: &LoadedRun) -> Result<Vec<String>, Problem> {
        let mut words = vec!["resume".to_owned(), "--wait".to_owned()];
        let steps = run.view().clone().with_driver(false).next_steps;
        let limit = steps.iter().find_map(|step| match &step.action {
            NextAction::Resume { raise } => *raise,
            _ => None,
        });
        if let Some(limit) = limit {
            let amount = self.form.filled("amount").ok_or_else(|| {
                Problem::user("the run has reached a limit").hint("say how far it may go now")
            })?;
            let flag = run.raise_limit_flag(limit);
            let option = flag.split_whitespace().next().unwrap_or_default();
            let is_number = amount
                .parse::<f64>()
                .is_ok_and(|n| n.is_finite() && n > 0.0);
            if !is_number {
                return Err(Problem::user(format!("`{amount}` is not a number above 0")));
            }
            words.push(format!("{option}={amount}"));
        }
        words.push(run.id.0.clone());
        Ok(words)
    }
}

fn answered_meanwhile() -> Problem {
    Problem::user("this question was answered meanwhile, or was withdrawn")
        .hint("nothing was decided; the inbox has what is open now")
}

/// Fails if a decision is grave and the person has not typed what it is about.
fn require_confirmation(asked: &QuestionView, form: &FormData) -> Result<(), Problem> {
    let place = asked.place();
    if is_grave(asked) && form.get("typed").trim() != place {
        return Err(Problem::user(format!("to approve this, type `{place}`"))
            .hint("it is risky, overrules an objection, or publishes something"));
    }
    Ok(())
}

/// Returns the answer to a question: one of those offered, or the person's own words, for each point
/// if it has several.
fn answer_text(form: &FormData, asked: &QuestionView) -> Result<String, Problem> {
    let missing = || Problem::user("the answer is empty");
    if !asked.question.answers.is_empty() || asked.question.points.len() < 2 {
        return form
            .filled("answer")
            .map(ToOwned::to_owned)
            .ok_or_else(missing);
    }
    let replies: Vec<String> = (0..asked.question.points.len())
        .filter_map(|at| Some((at, form.filled(&format!("reply-{at}"))?)))
        .map(|(at, reply)| format!("{}. {reply}", at + 1))
        .collect();
    if replies.is_empty() {
        return form
            .filled("answer")
            .map(ToOwned::to_owned)
            .ok_or_else(missing);
    }
    Ok(replies.join("\n"))
}

/// Runs a command and returns what it printed. One that takes longer than `wait` goes on.
fn run_command(
    project: &Arc<WatchedProject>,
    words: Vec<String>,
    wait: Duration,
) -> (Notice, bool) {
    let (sender, printed) = mpsc::channel::<CommandNews>();
    let commands = Arc::clone(&project.commands);
    let verb = words.first().cloned().unwrap_or_default();
    let body = move || {
        let lines = sender.clone();
        let ended = commands.run(&words, &mut |line| {
            let _ = lines.send(CommandNews::Printed(line));
        });
        let _ = sender.send(match ended {
            Ok(code) => CommandNews::Ended(code),
            Err(error) => CommandNews::Broken(error.to_string()),
        });
    };
    let started = thread::Builder::new()
        .name("web-command".to_owned())
        .spawn(body);
    if let Err(error) = started {
        return (
            failed(format!("the command could not be started: {error}")),
            false,
        );
    }
    let deadline = Instant::now() + wait;
    let mut output = Vec::new();
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        match printed.recv_timeout(left) {
            Ok(CommandNews::Printed(line)) if output.len() < MOST_LINES => output.push(line),
            Ok(CommandNews::Printed(_)) => {}
            Ok(CommandNews::Ended(code)) => {
                return (ended_notice(&verb, code, output), code == Some(0));
            }
            Ok(CommandNews::Broken(error)) => return (failed(error), false),
            Err(_) => {
                let text = format!("`codeteam {verb}` has started, and goes on.");
                let notice = Notice {
                    is_ok: true,
                    text,
                    output,
                };
                return (notice, false);
            }
        }
    }
}

/// What a command tells.
enum CommandNews {
    Printed(String),
    Ended(Option<i32>),
    Broken(String),
}

fn failed(text: String) -> Notice {
    Notice {
        is_ok: false,
        text,
        output: Vec::new(),
    }
}

fn ended_notice(verb: &str, code: Option<i32>, output: Vec<String>) -> Notice {
    let said = output.iter().find(|line| !line.trim().is_empty()).cloned();
    let otherwise = match code {
        Some(0) => format!("`codeteam {verb}` is done."),
        Some(code) => format!("`codeteam {verb}` has failed with the exit code {code}."),
        None => format!("`codeteam {verb}` was killed."),
    };
    Notice {
        is_ok: code == Some(0),
        text: said.unwrap_or(otherwise),
        output,
    }
}
