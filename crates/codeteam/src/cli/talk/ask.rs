//! What can be said to a question: its own answers as commands, and what always helps.

use codeteam_core::Run;
use codeteam_core::frame::{Frame, Question, QuestionKind};
use codeteam_core::workflow::{ExitTarget, PersonAnswer, StepKind};
use codeteam_core::yaml::nearest;

/// Everything that can be said to a question.
pub(super) struct QuestionMenu {
    /// What is in front of the cursor.
    pub(super) prompt: String,
    /// The commands, in the order in which they are shown.
    pub(super) commands: Vec<SlashCommand>,
    /// What a text without a command means.
    pub(super) text: PlainTextMeaning,
    /// Keys that count by themselves.
    pub(super) keys: Vec<char>,
}

/// A command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SlashCommand {
    /// Its name, without the `/`.
    pub(super) name: String,
    /// What may follow it.
    pub(super) takes: &'static str,
    /// What it does.
    pub(super) about: &'static str,
    pub(super) act: CommandAction,
}

/// What a command does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum CommandAction {
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
pub(super) enum PlainTextMeaning {
    /// It is the answer.
    Answer,
    /// It is the note of this answer.
    Note(String),
    /// It must be one of these.
    OneOf(Vec<String>),
}

/// What a line is taken for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ParsedLine {
    /// A command, and what follows it.
    Command(CommandAction, String),
    /// A text.
    Text(String),
    /// Nothing: this is what to say about it.
    Unclear(String),
}

impl QuestionMenu {
    pub(super) fn of(run: &Run, question: &Question, several: bool) -> Self {
        let frame = run.frames.get(&question.id.frame);
        let changed = frame.is_some_and(|frame| frame.change.is_some());
        let mut asked = Self {
            prompt: prompt(run, frame, question),
            commands: Vec::new(),
            text: PlainTextMeaning::OneOf(question.answers.clone()),
            keys: Vec::new(),
        };
        if question.answers.is_empty() {
            asked.text = PlainTextMeaning::Answer;
            asked.put(
                "save_plan",
                "[words]",
                "no more questions: write the plan",
                CommandAction::SavePlan,
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

    fn put(&mut self, name: &str, takes: &'static str, about: &'static str, act: CommandAction) {
        if self.commands.iter().any(|known| known.name == name) {
            return;
        }
        self.commands.push(SlashCommand {
            name: name.to_owned(),
            takes,
            about,
            act,
        });
    }

    fn answer(&mut self, run: &Run, question: &Question, answer: &str, changed: bool) {
        let act = CommandAction::Answer(answer.to_owned());
        let written = written(run, question, answer);
        let rejects = written.is_some_and(|a| a.rejects);
        if written.is_some_and(|a| a.edits) {
            let act = CommandAction::Edit(answer.to_owned());
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
                let act = CommandAction::Reject(answer.to_owned());
                self.put("reject_changes", "<feedback>", "send it back", act);
            }
            "accept_plan" => self.put(answer, "", "take the plan as it is", act),
            "request_feedback_round" => {
                self.put(answer, "", "have the plan checked by another role", act);
            }
            "change" if rejects && !changed => {
                self.text = PlainTextMeaning::Note(answer.to_owned());
                let act = CommandAction::Reject(answer.to_owned());
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
            self.put("diff", "", "the change", CommandAction::Diff);
            self.put("report", "", "the whole report", CommandAction::Report);
            self.keys = vec!['d', 'r', '?'];
        }
        if run.plan.is_some() {
            if !changed {
                self.put(
                    "edit",
                    "",
                    "open the plan in your editor",
                    CommandAction::EditPlan,
                );
            }
            self.put("show", "", "the plan", CommandAction::Show);
        }
        if frame.is_some_and(|frame| !frame.path.is_root()) {
            self.put("skip", "", "leave this task out", CommandAction::Skip);
        }
        if several {
            self.put(
                "next",
                "",
                "the next question that is open",
                CommandAction::Next,
            );
        }
        self.put("abort", "[why]", "end the run", CommandAction::Abort);
        self.put("help", "", "this list", CommandAction::Help);
        self.put("quit", "", "leave; it waits for you", CommandAction::Quit);
        if self.text == PlainTextMeaning::Answer || matches!(self.text, PlainTextMeaning::Note(_)) {
            self.keys.clear();
        }
    }

    /// What Tab completes.
    pub(super) fn names(&self) -> Vec<String> {
        let names = self.commands.iter().map(|c| format!("/{}", c.name));
        names.collect()
    }

    /// What a line means.
    pub(super) fn take(&self, line: &str) -> ParsedLine {
        let line = line.trim();
        if let Some(act) = self.key(line) {
            return ParsedLine::Command(act, String::new());
        }
        let Some(rest) = line.strip_prefix('/') else {
            return self.text(line);
        };
        let (name, rest) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
        if let Some(command) = self.commands.iter().find(|c| c.name == name) {
            return ParsedLine::Command(command.act.clone(), rest.trim().to_owned());
        }
        // An answer by its own name, whatever the command is called.
        let own = self.commands.iter().find(|command| {
            matches!(&command.act, CommandAction::Answer(a) | CommandAction::Reject(a) | CommandAction::Edit(a) if a == name)
        });
        if let Some(command) = own {
            return ParsedLine::Command(command.act.clone(), rest.trim().to_owned());
        }
        if let Some(why) = self.untimely(name) {
            return ParsedLine::Unclear(why.to_owned());
        }
        let near = self.near(name);
        ParsedLine::Unclear(if near.is_empty() {
            format!("there is no `/{name}`; `/help` lists what there is")
        } else {
            format!("there is no `/{name}`; did you mean {}?", named(&near))
        })
    }

    /// What a key does where it comes as a line: from a file or a pipe.
    fn key(&self, line: &str) -> Option<CommandAction> {
        let key = self
            .keys
            .iter()
            .find(|key| line.len() == 1 && line.starts_with(**key))?;
        Some(match key {
            'd' => CommandAction::Diff,
            'r' => CommandAction::Report,
            _ => CommandAction::Help,
        })
    }

    /// What to say of a command that is there at other times.
    fn untimely(&self, name: &str) -> Option<&'static str> {
        let planning = self
            .commands
            .iter()
            .any(|c| c.act == CommandAction::SavePlan);
        Some(match name {
            "accept_plan" | "request_feedback_round" | "show" | "edit" if planning => {
                "there is no plan yet; answer what is asked, or `/save_plan` has it written"
            }
            "accept_plan" | "request_feedback_round" => "there is no plan to decide on here",
            "save_plan" if matches!(self.text, PlainTextMeaning::Note(_)) => {
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

    fn text(&self, line: &str) -> ParsedLine {
        if line.is_empty() {
            return ParsedLine::Unclear(String::new());
        }
        let PlainTextMeaning::OneOf(answers) = &self.text else {
            // A bare yes or no would go to the planner as a change of the plan.
            if matches!(self.text, PlainTextMeaning::Note(_)) && is_bare_answer(line) {
                return ParsedLine::Unclear(
                    "`/accept_plan` takes the plan as it is; to change it, write what should be different"
                        .to_owned(),
                );
            }
            return ParsedLine::Text(line.to_owned());
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
        ParsedLine::Unclear(format!("{near}say it with one of: {}", all.join(", ")))
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
        let head = |c: &SlashCommand| format!("/{} {}", c.name, c.takes);
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
            PlainTextMeaning::Answer => text.push("  Anything else is your answer.".to_owned()),
            PlainTextMeaning::Note(_) => {
                text.push("  Anything else goes to the planner, who changes the plan.".to_owned());
            }
            PlainTextMeaning::OneOf(_) => {}
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
fn written<'a>(run: &'a Run, question: &Question, answer: &str) -> Option<&'a PersonAnswer> {
    let by_step = matches!(question.kind, QuestionKind::Step | QuestionKind::Rebound);
    match &run.step(&question.id.step)?.kind {
        StepKind::Person { answers, .. } if by_step => answers.iter().find(|a| a.name == answer),
        _ => None,
    }
}

/// What an answer of the workflow does, by where it leads.
fn leads(run: &Run, next: &ExitTarget) -> &'static str {
    let ExitTarget::Step(step) = next else {
        return match next {
            ExitTarget::Fail => "give it up: it counts as failed",
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

fn takes(answer: &PersonAnswer) -> bool {
    !(answer.rejects || answer.edits || answer.reverts) && answer.next != ExitTarget::Fail
}

/// Whether a planner asks, who owes a plan.
fn is_planner(run: &Run, question: &Question) -> bool {
    let Some(StepKind::Role(role)) = run.step(&question.id.step).map(|step| &step.kind) else {
        return false;
    };
    let mut roles = role.slots.iter().filter_map(|name| run.roles.get(name));
    roles.any(|role| role.kind == codeteam_core::role::RoleKind::Planner)
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

    fn judging() -> QuestionMenu {
        let answers = ["accept", "reject"].map(str::to_owned).to_vec();
        let mut asked = QuestionMenu {
            prompt: "judge> ".to_owned(),
            commands: Vec::new(),
            text: PlainTextMeaning::OneOf(answers),
            keys: Vec::new(),
        };
        asked.put(
            "accept_changes",
            "[words]",
            "",
            CommandAction::Answer("accept".to_owned()),
        );
        asked.put(
            "reject_changes",
            "<feedback>",
            "",
            CommandAction::Reject("reject".to_owned()),
        );
        asked.put("diff", "", "", CommandAction::Diff);
        asked
    }

    #[test]
    fn a_bare_yes_is_no_change_of_the_plan() {
        let mut asked = judging();
        asked.text = PlainTextMeaning::Note("change".to_owned());
        for word in ["y", "Yes", "ok!", "no"] {
            let ParsedLine::Unclear(said) = asked.take(word) else {
                panic!("{word}");
            };
            assert!(said.contains("/accept_plan"), "{said}");
        }
        let text = "no tests, please";
        assert_eq!(asked.take(text), ParsedLine::Text(text.to_owned()));
    }

    #[test]
    fn what_takes_a_change_is_known_by_what_it_does() {
        let answer = |name: &str, next, rejects| PersonAnswer {
            name: name.to_owned(),
            next,
            rejects,
            resets: false,
            edits: false,
            reverts: false,
        };
        assert!(takes(&answer("ship", ExitTarget::Done, false)));
        assert!(!takes(&answer("accept", ExitTarget::Fail, false)));
        assert!(!takes(&answer("approve", ExitTarget::Done, true)));
        let edits = PersonAnswer {
            edits: true,
            ..answer("ship", ExitTarget::Done, false)
        };
        assert!(!takes(&edits));
    }

    #[test]
    fn a_key_may_come_as_a_line() {
        let mut asked = judging();
        let other = asked.take("d");
        asked.keys = vec!['d', 'r', '?'];
        for (key, act) in [
            ("d", CommandAction::Diff),
            (" r ", CommandAction::Report),
            ("?", CommandAction::Help),
        ] {
            assert_eq!(asked.take(key), ParsedLine::Command(act, String::new()));
        }
        assert_eq!(judging().take("d"), other, "only where keys are offered");
    }

    #[test]
    fn a_command_comes_with_words() {
        let asked = judging();
        let accepted = |words: &str| {
            ParsedLine::Command(CommandAction::Answer("accept".to_owned()), words.to_owned())
        };
        assert_eq!(
            asked.take("/accept_changes  well done "),
            accepted("well done")
        );
        // By the answer's own name, and without the sign, too.
        assert_eq!(asked.take("/accept"), accepted(""));
        assert_eq!(asked.take("accept"), accepted(""));
        let rejected = ParsedLine::Command(
            CommandAction::Reject("reject".to_owned()),
            "a\nb".to_owned(),
        );
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
            let ParsedLine::Unclear(why) = asked.take(said) else {
                panic!("{said} was understood");
            };
            assert!(why.contains(advice), "{said}: {why}");
        }
        assert_eq!(asked.take("  "), ParsedLine::Unclear(String::new()));
    }

    #[test]
    fn what_comes_later_says_what_to_do_now() {
        let mut asked = judging();
        asked.commands.clear();
        asked.put("save_plan", "[words]", "", CommandAction::SavePlan);
        asked.put("skip", "", "", CommandAction::Skip);
        asked.put("abort", "", "", CommandAction::Abort);
        asked.text = PlainTextMeaning::Answer;
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
            let ParsedLine::Unclear(why) = asked.take(said) else {
                panic!("{said} was understood");
            };
            assert!(why.contains(advice), "{said}: {why}");
        }
    }

    #[test]
    fn free_text_is_an_answer_where_one_is_asked_for() {
        let mut asked = judging();
        asked.text = PlainTextMeaning::Answer;
        assert_eq!(asked.take(" Green "), ParsedLine::Text("Green".to_owned()));
        asked.text = PlainTextMeaning::Note("change".to_owned());
        assert_eq!(
            asked.take("smaller"),
            ParsedLine::Text("smaller".to_owned())
        );
    }
}
