//! What can be said to a question: its own answers as commands, and what always helps.

use codeteam_core::Run;
use codeteam_core::frame::{Frame, Question, QuestionKind};
use codeteam_core::workflow::{Answer, StepKind, Target};
use codeteam_core::yaml::nearest;

/// Everything that can be said to a question.
pub(super) struct Asked {
    /// What is in front of the cursor.
    pub(super) prompt: String,
    /// The commands, in the order in which they are shown.
    pub(super) commands: Vec<Command>,
    /// What a text without a command means.
    pub(super) text: Text,
    /// Keys that count by themselves.
    pub(super) keys: Vec<char>,
}

/// A command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Command {
    /// Its name, without the `/`.
    pub(super) name: String,
    /// What may follow it.
    pub(super) takes: &'static str,
    /// What it does.
    pub(super) about: &'static str,
    pub(super) act: Act,
}

/// What a command does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Act {
    /// Answers, with what follows as a note.
    Answer(String),
    /// Answers, if there are words to it.
    Reject(String),
    /// Answers in words, beginning with the command itself.
    SavePlan,
    /// Gives the change into the person's hands.
    Edit(String),
    /// Opens the plan in the person's editor.
    EditPlan,
    Show,
    Diff,
    Report,
    Skip,
    Abort,
    Next,
    Help,
    Quit,
}

/// What a text without a command means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Text {
    /// It is the answer.
    Answer,
    /// It is the note of this answer.
    Note(String),
    /// It must be one of these.
    OneOf(Vec<String>),
}

/// What a line is taken for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Taken {
    /// A command, and what follows it.
    Command(Act, String),
    /// A text.
    Text(String),
    /// Nothing: this is what to say about it.
    Unclear(String),
}

impl Asked {
    pub(super) fn of(run: &Run, question: &Question, several: bool) -> Self {
        let frame = run.frames.get(&question.id.frame);
        let changed = frame.is_some_and(|frame| frame.change.is_some());
        let mut asked = Self {
            prompt: prompt(run, frame, question),
            commands: Vec::new(),
            text: Text::OneOf(question.answers.clone()),
            keys: Vec::new(),
        };
        if question.answers.is_empty() {
            asked.text = Text::Answer;
            asked.put(
                "save_plan",
                "[words]",
                "no more questions: write the plan",
                Act::SavePlan,
            );
            if !is_planner(run, question) {
                asked.commands.clear();
            }
        }
        for answer in &question.answers {
            asked.answer(run, question, answer, changed);
        }
        asked.common(run, frame, several);
        asked
    }

    fn put(&mut self, name: &str, takes: &'static str, about: &'static str, act: Act) {
        if self.commands.iter().any(|known| known.name == name) {
            return;
        }
        self.commands.push(Command {
            name: name.to_owned(),
            takes,
            about,
            act,
        });
    }

    fn answer(&mut self, run: &Run, question: &Question, answer: &str, changed: bool) {
        let act = Act::Answer(answer.to_owned());
        let written = written(run, question, answer);
        let rejects = written.is_some_and(|a| a.rejects);
        if written.is_some_and(|a| a.edits) {
            let act = Act::Edit(answer.to_owned());
            return self.put(
                answer,
                "[--shell]",
                "change it yourself, and have it checked",
                act,
            );
        }
        let judged = changed && question.kind == QuestionKind::Step;
        match answer {
            "accept" | "approve" if judged => {
                self.put("accept_changes", "[words]", "take it as it is", act);
            }
            "reject" if judged => {
                let act = Act::Reject(answer.to_owned());
                self.put("reject_changes", "<feedback>", "send it back", act);
            }
            "accept_plan" => self.put(answer, "", "take the plan as it is", act),
            "request_feedback_round" => {
                self.put(answer, "", "have the plan checked by another role", act);
            }
            "change" if rejects && !changed => {
                self.text = Text::Note(answer.to_owned());
                let act = Act::Reject(answer.to_owned());
                self.put(answer, "<words>", "tell the planner what to change", act);
            }
            _ => {
                let about = written.map_or_else(
                    || meaning(question.kind, answer),
                    |written| leads(run, &written.next),
                );
                self.put(answer, "[words]", about, act);
            }
        }
    }

    fn common(&mut self, run: &Run, frame: Option<&Frame>, several: bool) {
        let changed = frame.is_some_and(|frame| frame.change.is_some());
        if changed {
            self.put("diff", "", "the change", Act::Diff);
            self.put("report", "", "the whole report", Act::Report);
            self.keys = vec!['d', 'r', '?'];
        }
        if run.plan.is_some() {
            if !changed {
                self.put("edit", "", "open the plan in your editor", Act::EditPlan);
            }
            self.put("show", "", "the plan", Act::Show);
        }
        if frame.is_some_and(|frame| !frame.path.is_root()) {
            self.put("skip", "", "leave this task out", Act::Skip);
        }
        if several {
            self.put("next", "", "the next question that is open", Act::Next);
        }
        self.put("abort", "[why]", "end the run", Act::Abort);
        self.put("help", "", "this list", Act::Help);
        self.put("quit", "", "leave; it waits for you", Act::Quit);
        if self.text == Text::Answer || matches!(self.text, Text::Note(_)) {
            self.keys.clear();
        }
    }

    /// What Tab completes.
    pub(super) fn names(&self) -> Vec<String> {
        let names = self.commands.iter().map(|c| format!("/{}", c.name));
        names.collect()
    }

    /// What a line means.
    pub(super) fn take(&self, line: &str) -> Taken {
        let line = line.trim();
        if let Some(act) = self.key(line) {
            return Taken::Command(act, String::new());
        }
        let Some(rest) = line.strip_prefix('/') else {
            return self.text(line);
        };
        let (name, rest) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
        if let Some(command) = self.commands.iter().find(|c| c.name == name) {
            return Taken::Command(command.act.clone(), rest.trim().to_owned());
        }
        // An answer by its own name, whatever the command is called.
        let own = self.commands.iter().find(|command| {
            matches!(&command.act, Act::Answer(a) | Act::Reject(a) | Act::Edit(a) if a == name)
        });
        if let Some(command) = own {
            return Taken::Command(command.act.clone(), rest.trim().to_owned());
        }
        if let Some(why) = self.untimely(name) {
            return Taken::Unclear(why.to_owned());
        }
        let near = self.near(name);
        Taken::Unclear(if near.is_empty() {
            format!("there is no `/{name}`; `/help` lists what there is")
        } else {
            format!("there is no `/{name}`; did you mean {}?", named(&near))
        })
    }

    /// What a key does where it comes as a line: from a file or a pipe.
    fn key(&self, line: &str) -> Option<Act> {
        let key = self
            .keys
            .iter()
            .find(|key| line.len() == 1 && line.starts_with(**key))?;
        Some(match key {
            'd' => Act::Diff,
            'r' => Act::Report,
            _ => Act::Help,
        })
    }

    /// What to say of a command that is there at other times.
    fn untimely(&self, name: &str) -> Option<&'static str> {
        let planning = self.commands.iter().any(|c| c.act == Act::SavePlan);
        Some(match name {
            "accept_plan" | "request_feedback_round" | "show" | "edit" if planning => {
                "there is no plan yet; answer what is asked, or `/save_plan` has it written"
            }
            "accept_plan" | "request_feedback_round" => "there is no plan to decide on here",
            "save_plan" if matches!(self.text, Text::Note(_)) => {
                "the plan is written; `/accept_plan` takes it as it is, and what you write changes it"
            }
            "save_plan" => "nobody makes a plan here",
            "show" => "there is no plan yet",
            "edit" => "there is nothing to edit here",
            "accept_changes" => "there is no change to accept here",
            "reject_changes" => "there is no change to reject here",
            "diff" | "report" => "there is no change to look at yet",
            "next" => "no other question is open",
            "skip" => "only a task can be left out, and this is none",
            _ => return None,
        })
    }

    fn text(&self, line: &str) -> Taken {
        if line.is_empty() {
            return Taken::Unclear(String::new());
        }
        let Text::OneOf(answers) = &self.text else {
            // A bare yes or no would go to the planner as a change of the plan.
            if matches!(self.text, Text::Note(_)) && is_bare_answer(line) {
                return Taken::Unclear(
                    "`/accept_plan` takes the plan as it is; to change it, write what should be different"
                        .to_owned(),
                );
            }
            return Taken::Text(line.to_owned());
        };
        let names: Vec<&str> = answers.iter().map(String::as_str).collect();
        if names.contains(&line) {
            return self.take(&format!("/{line}"));
        }
        let all: Vec<String> = self
            .commands
            .iter()
            .map(|c| format!("`/{}`", c.name))
            .collect();
        let first = line.split_whitespace().next().unwrap_or_default();
        let near = match self.near(first).as_slice() {
            [] => String::new(),
            near => format!("did you mean {}? ", named(near)),
        };
        Taken::Unclear(format!("{near}say it with one of: {}", all.join(", ")))
    }

    /// The commands that may be meant: those that begin so, or the nearest by all of its name or
    /// its first word.
    fn near(&self, typed: &str) -> Vec<&str> {
        let typed = typed.to_lowercase();
        let names = || self.commands.iter().map(|c| c.name.as_str());
        let begun: Vec<&str> = names().filter(|name| name.starts_with(&typed)).collect();
        if !typed.is_empty() && !begun.is_empty() {
            return begun;
        }
        let near = nearest(&typed, names()).or_else(|| {
            let heads = names().map(|name| name.split('_').next().unwrap_or(name));
            let head = nearest(&typed, heads)?;
            names().find(|name| name.split('_').next() == Some(head))
        });
        near.into_iter().collect()
    }

    /// The commands, for `/help`.
    pub(super) fn help(&self) -> String {
        let head = |c: &Command| format!("/{} {}", c.name, c.takes);
        let widest = self.commands.iter().map(|c| head(c).trim_end().len()).max();
        let widest = widest.unwrap_or(0);
        let mut text: Vec<String> = self
            .commands
            .iter()
            .map(|c| format!("  {:<widest$}  {}", head(c).trim_end(), c.about))
            .collect();
        if !self.keys.is_empty() {
            text.push(
                "  d, r, ? where nothing is written: the diff, the report, this list".to_owned(),
            );
        }
        match &self.text {
            Text::Answer => text.push("  Anything else is your answer.".to_owned()),
            Text::Note(_) => {
                text.push("  Anything else goes to the planner, who changes the plan.".to_owned());
            }
            Text::OneOf(_) => {}
        }
        text.push(
            "  Several lines: Alt-Enter or Ctrl-J, a `\\` at the end of a line, or between two `\"\"\"`."
                .to_owned(),
        );
        text.join("\n")
    }
}

/// Whether somebody says yes or no and nothing else.
fn is_bare_answer(line: &str) -> bool {
    const WORDS: [&str; 9] = ["y", "yes", "ok", "okay", "yep", "sure", "n", "no", "nope"];
    let word = line.trim_end_matches(['.', '!']).to_lowercase();
    WORDS.contains(&word.as_str())
}

/// Commands as they are written, to choose from.
fn named(names: &[&str]) -> String {
    let names: Vec<String> = names.iter().map(|name| format!("`/{name}`")).collect();
    names.join(" or ")
}

/// An answer as the workflow has it.
fn written<'a>(run: &'a Run, question: &Question, answer: &str) -> Option<&'a Answer> {
    let by_step = matches!(question.kind, QuestionKind::Step | QuestionKind::Rebound);
    match &run.step(&question.id.step)?.kind {
        StepKind::Person { answers, .. } if by_step => answers.iter().find(|a| a.name == answer),
        _ => None,
    }
}

/// What an answer of the workflow does, by where it leads.
fn leads(run: &Run, next: &Target) -> &'static str {
    let Target::Step(step) = next else {
        return match next {
            Target::Fail => "give it up: it counts as failed",
            _ => "that is all",
        };
    };
    match run.step(step).map(|step| &step.kind) {
        Some(StepKind::Commit { .. }) => "commit it",
        Some(StepKind::Publish { .. }) => "publish it",
        _ => "answer so, and go on",
    }
}

/// What an answer to a question of codeteam's own does.
fn meaning(kind: QuestionKind, answer: &str) -> &'static str {
    match (kind, answer) {
        (QuestionKind::Exhausted, "continue") => "go on trying, with your words",
        (QuestionKind::Exhausted, "skip") => "leave this task out",
        (QuestionKind::Degraded, "accept") => "take it as it is",
        (QuestionKind::Interrupted, "done") => "it has happened: go on",
        (QuestionKind::Interrupted, "again") => "do it again",
        (_, "fail") => "give it up",
        _ => "answer so",
    }
}

/// Whether an answer takes a change as it is, whatever is held against it. It goes by what the
/// answer does; its name is the workflow's.
pub(super) fn accepts(run: &Run, question: &Question, answer: &str) -> bool {
    question.kind == QuestionKind::Step && written(run, question, answer).is_some_and(takes)
}

fn takes(answer: &Answer) -> bool {
    !(answer.rejects || answer.edits || answer.reverts) && answer.next != Target::Fail
}

/// Whether a planner asks, who owes a plan.
fn is_planner(run: &Run, question: &Question) -> bool {
    let Some(StepKind::Role(role)) = run.step(&question.id.step).map(|step| &step.kind) else {
        return false;
    };
    let mut roles = role.slots.iter().filter_map(|name| run.roles.get(name));
    roles.any(|role| role.kind == codeteam_core::role::Kind::Planner)
}

fn prompt(run: &Run, frame: Option<&Frame>, question: &Question) -> String {
    let place = question.id.frame.name();
    if frame.is_some_and(|frame| frame.change.is_some()) {
        return format!("judge {place}> ");
    }
    if frame.is_some_and(|frame| !frame.path.is_root()) {
        return format!("{place}> ");
    }
    let plan = run.plan.as_ref().map(|plan| plan.plan_id.as_str());
    let plan = plan.filter(|id| !id.is_empty()).unwrap_or(&run.plan_id);
    if plan.is_empty() {
        "answer> ".to_owned()
    } else {
        format!("plan {plan}> ")
    }
}

/// The answer to a question that comes with a change, if it has one.
pub(crate) fn editing(run: &Run, question: &Question) -> Option<String> {
    let edits = |answer: &&String| written(run, question, answer).is_some_and(|a| a.edits);
    question.answers.iter().find(edits).cloned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judging() -> Asked {
        let answers = ["accept", "reject"].map(str::to_owned).to_vec();
        let mut asked = Asked {
            prompt: "judge> ".to_owned(),
            commands: Vec::new(),
            text: Text::OneOf(answers),
            keys: Vec::new(),
        };
        asked.put(
            "accept_changes",
            "[words]",
            "",
            Act::Answer("accept".to_owned()),
        );
        asked.put(
            "reject_changes",
            "<feedback>",
            "",
            Act::Reject("reject".to_owned()),
        );
        asked.put("diff", "", "", Act::Diff);
        asked
    }

    #[test]
    fn a_bare_yes_is_no_change_of_the_plan() {
        let mut asked = judging();
        asked.text = Text::Note("change".to_owned());
        for word in ["y", "Yes", "ok!", "no"] {
            let Taken::Unclear(said) = asked.take(word) else {
                panic!("{word}");
            };
            assert!(said.contains("/accept_plan"), "{said}");
        }
        let text = "no tests, please";
        assert_eq!(asked.take(text), Taken::Text(text.to_owned()));
    }

    #[test]
    fn what_takes_a_change_is_known_by_what_it_does() {
        let answer = |name: &str, next, rejects| Answer {
            name: name.to_owned(),
            next,
            rejects,
            resets: false,
            edits: false,
            reverts: false,
        };
        assert!(takes(&answer("ship", Target::Done, false)));
        assert!(!takes(&answer("accept", Target::Fail, false)));
        assert!(!takes(&answer("approve", Target::Done, true)));
        let edits = Answer {
            edits: true,
            ..answer("ship", Target::Done, false)
        };
        assert!(!takes(&edits));
    }

    #[test]
    fn a_key_may_come_as_a_line() {
        let mut asked = judging();
        let other = asked.take("d");
        asked.keys = vec!['d', 'r', '?'];
        for (key, act) in [("d", Act::Diff), (" r ", Act::Report), ("?", Act::Help)] {
            assert_eq!(asked.take(key), Taken::Command(act, String::new()));
        }
        assert_eq!(judging().take("d"), other, "only where keys are offered");
    }

    #[test]
    fn a_command_comes_with_words() {
        let asked = judging();
        let accepted =
            |words: &str| Taken::Command(Act::Answer("accept".to_owned()), words.to_owned());
        assert_eq!(
            asked.take("/accept_changes  well done "),
            accepted("well done")
        );
        // By the answer's own name, and without the sign, too.
        assert_eq!(asked.take("/accept"), accepted(""));
        assert_eq!(asked.take("accept"), accepted(""));
        let rejected = Taken::Command(Act::Reject("reject".to_owned()), "a\nb".to_owned());
        assert_eq!(asked.take("/reject_changes\na\nb"), rejected);
    }

    #[test]
    fn what_is_not_understood_is_met_with_advice() {
        let asked = judging();
        for (said, advice) in [
            ("/acept_changes", "did you mean `/accept_changes`?"),
            ("/rejct louder", "did you mean `/reject_changes`?"),
            ("/dif", "did you mean `/diff`?"),
            ("/what", "`/help` lists what there is"),
            ("/acc", "did you mean `/accept_changes`?"),
            ("/D", "did you mean `/diff`?"),
            ("/", "`/help` lists what there is"),
            ("/accept_plan", "there is no plan to decide on here"),
            ("/save_plan", "nobody makes a plan here"),
            ("/edit", "there is nothing to edit here"),
            (
                "fine by me",
                "one of: `/accept_changes`, `/reject_changes`, `/diff`",
            ),
        ] {
            let Taken::Unclear(why) = asked.take(said) else {
                panic!("{said} was understood");
            };
            assert!(why.contains(advice), "{said}: {why}");
        }
        assert_eq!(asked.take("  "), Taken::Unclear(String::new()));
    }

    #[test]
    fn what_comes_later_says_what_to_do_now() {
        let mut asked = judging();
        asked.commands.clear();
        asked.put("save_plan", "[words]", "", Act::SavePlan);
        asked.put("skip", "", "", Act::Skip);
        asked.put("abort", "", "", Act::Abort);
        asked.text = Text::Answer;
        for (said, advice) in [
            (
                "/show",
                "there is no plan yet; answer what is asked, or `/save_plan`",
            ),
            ("/edit", "there is no plan yet"),
            ("/accept_plan", "there is no plan yet"),
            ("/s", "did you mean `/save_plan` or `/skip`?"),
            ("/diff", "no change to look at"),
        ] {
            let Taken::Unclear(why) = asked.take(said) else {
                panic!("{said} was understood");
            };
            assert!(why.contains(advice), "{said}: {why}");
        }
    }

    #[test]
    fn free_text_is_an_answer_where_one_is_asked_for() {
        let mut asked = judging();
        asked.text = Text::Answer;
        assert_eq!(asked.take(" Green "), Taken::Text("Green".to_owned()));
        asked.text = Text::Note("change".to_owned());
        assert_eq!(asked.take("smaller"), Taken::Text("smaller".to_owned()));
    }
}
