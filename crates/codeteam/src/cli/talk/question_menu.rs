//! The possible inputs at a question: its own answers as commands, and the general commands.

use codeteam_core::frame::QuestionKind;
use codeteam_core::spelling::nearest;
use codeteam_report::view::{AnswerChoice, QuestionView, RunView};

/// Everything that can be entered at a question.
pub(super) struct QuestionMenu {
    /// The text in front of the cursor.
    pub(super) prompt: String,
    /// The commands, in the order in which they are shown.
    pub(super) commands: Vec<SlashCommand>,
    /// The meaning of text without a command.
    pub(super) text: PlainTextMeaning,
    /// Keys that act at once.
    pub(super) keys: Vec<char>,
}

/// A slash command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SlashCommand {
    /// The name, without the `/`.
    pub(super) name: String,
    /// The argument, for the help text.
    pub(super) takes: &'static str,
    /// A description for the help text.
    pub(super) about: &'static str,
    pub(super) act: CommandAction,
}

/// The effect of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum CommandAction {
    /// Answers, with what follows as a note.
    Answer(String),
    /// Answers, but requires a note.
    Reject(String),
    /// Answers in words that begin with the command itself.
    SavePlan,
    /// Lets the person edit the change.
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

/// The meaning of text without a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum PlainTextMeaning {
    /// It is the answer.
    Answer,
    /// It is the note of this answer.
    Note(String),
    /// It must be one of these.
    OneOf(Vec<String>),
}

/// The meaning of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ParsedLine {
    /// A command, and what follows it.
    Command(CommandAction, String),
    /// A plain text.
    Text(String),
    /// Not understood; the text is the message to show.
    Unclear(String),
}

impl QuestionMenu {
    pub(super) fn for_question(run: &RunView, asked: &QuestionView, several: bool) -> Self {
        let question = &asked.question;
        let mut menu = Self {
            prompt: prompt_text(run, asked),
            commands: Vec::new(),
            text: PlainTextMeaning::OneOf(question.answers.clone()),
            keys: Vec::new(),
        };
        if question.answers.is_empty() {
            menu.text = PlainTextMeaning::Answer;
            menu.add_command(
                "save_plan",
                "[words]",
                "no more questions: write the plan",
                CommandAction::SavePlan,
            );
            if !asked.from_planner {
                menu.commands.clear();
            }
        }
        for choice in &asked.choices {
            menu.add_answer(asked, choice);
        }
        menu.add_common_commands(run, asked, several);
        menu
    }

    fn add_command(
        &mut self,
        name: &str,
        takes: &'static str,
        about: &'static str,
        act: CommandAction,
    ) {
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

    fn add_answer(&mut self, asked: &QuestionView, choice: &AnswerChoice) {
        let answer = choice.answer.as_str();
        let act = CommandAction::Answer(answer.to_owned());
        if choice.edits {
            let act = CommandAction::Edit(answer.to_owned());
            return self.add_command(answer, "[--shell]", choice.about, act);
        }
        let changed = asked.about_change;
        let kinds = [QuestionKind::Step, QuestionKind::Approval];
        let judged = changed && kinds.contains(&asked.question.kind);
        match answer {
            "accept" | "approve" if judged => {
                self.add_command("accept_changes", "[words]", "take it as it is", act);
            }
            "reject" if judged => {
                let act = CommandAction::Reject(answer.to_owned());
                self.add_command("reject_changes", "<feedback>", "send it back", act);
            }
            "accept_plan" => self.add_command(answer, "", "take the plan as it is", act),
            "request_feedback_round" => {
                self.add_command(answer, "", "have the plan checked by another role", act);
            }
            "change" if choice.rejects && !changed => {
                self.text = PlainTextMeaning::Note(answer.to_owned());
                let act = CommandAction::Reject(answer.to_owned());
                self.add_command(answer, "<words>", "tell the planner what to change", act);
            }
            _ => self.add_command(answer, "[words]", choice.about, act),
        }
    }

    fn add_common_commands(&mut self, run: &RunView, asked: &QuestionView, several: bool) {
        let changed = asked.about_change;
        if changed {
            self.add_command("diff", "", "the change", CommandAction::Diff);
            self.add_command("report", "", "the whole report", CommandAction::Report);
            self.keys = vec!['d', 'r', '?'];
        }
        if run.has_plan {
            if !changed {
                self.add_command(
                    "edit",
                    "",
                    "open the plan in your editor",
                    CommandAction::EditPlan,
                );
            }
            self.add_command("show", "", "the plan", CommandAction::Show);
        }
        if !asked.question.id.frame.is_root() {
            self.add_command("skip", "", "leave this task out", CommandAction::Skip);
        }
        if several {
            self.add_command(
                "next",
                "",
                "the next question that is open",
                CommandAction::Next,
            );
        }
        self.add_command("abort", "[why]", "end the run", CommandAction::Abort);
        self.add_command("help", "", "this list", CommandAction::Help);
        self.add_command("quit", "", "leave; it waits for you", CommandAction::Quit);
        if self.text == PlainTextMeaning::Answer || matches!(self.text, PlainTextMeaning::Note(_)) {
            self.keys.clear();
        }
    }

    /// Returns the commands that Tab completes.
    pub(super) fn command_names(&self) -> Vec<String> {
        let names = self.commands.iter().map(|c| format!("/{}", c.name));
        names.collect()
    }

    /// Parses a line.
    pub(super) fn parse_line(&self, line: &str) -> ParsedLine {
        let line = line.trim();
        if let Some(act) = self.key_action(line) {
            return ParsedLine::Command(act, String::new());
        }
        let Some(rest) = line.strip_prefix('/') else {
            return self.parse_text(line);
        };
        let (name, rest) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
        if let Some(command) = self.commands.iter().find(|c| c.name == name) {
            return ParsedLine::Command(command.act.clone(), rest.trim().to_owned());
        }
        // Answers are also recognised by their own names, whatever the command is called.
        let own = self.commands.iter().find(|command| {
            matches!(&command.act, CommandAction::Answer(a) | CommandAction::Reject(a) | CommandAction::Edit(a) if a == name)
        });
        if let Some(command) = own {
            return ParsedLine::Command(command.act.clone(), rest.trim().to_owned());
        }
        if let Some(why) = self.unavailable_reason(name) {
            return ParsedLine::Unclear(why.to_owned());
        }
        let near = self.similar_commands(name);
        ParsedLine::Unclear(if near.is_empty() {
            format!("there is no `/{name}`; `/help` lists what there is")
        } else {
            format!(
                "there is no `/{name}`; did you mean {}?",
                list_commands(&near)
            )
        })
    }

    /// Returns the effect of a key that arrives as a line, from a file or a pipe.
    fn key_action(&self, line: &str) -> Option<CommandAction> {
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

    /// Explains why a command that exists at other times is not available.
    fn unavailable_reason(&self, name: &str) -> Option<&'static str> {
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

    fn parse_text(&self, line: &str) -> ParsedLine {
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
            return self.parse_line(&format!("/{line}"));
        }
        let all: Vec<String> = self
            .commands
            .iter()
            .map(|c| format!("`/{}`", c.name))
            .collect();
        let first = line.split_whitespace().next().unwrap_or_default();
        let near = match self.similar_commands(first).as_slice() {
            [] => String::new(),
            near => format!("did you mean {}? ", list_commands(near)),
        };
        ParsedLine::Unclear(format!("{near}say it with one of: {}", all.join(", ")))
    }

    /// Returns the commands that may be meant: those with this prefix, or the closest by the whole
    /// name or by its first word.
    fn similar_commands(&self, typed: &str) -> Vec<&str> {
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

    /// Renders the commands for `/help`.
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

/// Returns true for a yes or no and nothing else.
fn is_bare_answer(line: &str) -> bool {
    const WORDS: [&str; 9] = ["y", "yes", "ok", "okay", "yep", "sure", "n", "no", "nope"];
    let word = line.trim_end_matches(['.', '!']).to_lowercase();
    WORDS.contains(&word.as_str())
}

/// Formats commands to choose from.
fn list_commands(names: &[&str]) -> String {
    let names: Vec<String> = names.iter().map(|name| format!("`/{name}`")).collect();
    names.join(" or ")
}

fn prompt_text(run: &RunView, asked: &QuestionView) -> String {
    let place = asked.place();
    if asked.about_change {
        return format!("judge {place}> ");
    }
    if !asked.question.id.frame.is_root() {
        return format!("{place}> ");
    }
    if run.plan.is_empty() {
        "answer> ".to_owned()
    } else {
        format!("plan {}> ", run.plan)
    }
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
        asked.add_command(
            "accept_changes",
            "[words]",
            "",
            CommandAction::Answer("accept".to_owned()),
        );
        asked.add_command(
            "reject_changes",
            "<feedback>",
            "",
            CommandAction::Reject("reject".to_owned()),
        );
        asked.add_command("diff", "", "", CommandAction::Diff);
        asked
    }

    #[test]
    fn a_bare_yes_is_no_change_of_the_plan() {
        let mut asked = judging();
        asked.text = PlainTextMeaning::Note("change".to_owned());
        for word in ["y", "Yes", "ok!", "no"] {
            let ParsedLine::Unclear(said) = asked.parse_line(word) else {
                panic!("{word}");
            };
            assert!(said.contains("/accept_plan"), "{said}");
        }
        let text = "no tests, please";
        assert_eq!(asked.parse_line(text), ParsedLine::Text(text.to_owned()));
    }

    #[test]
    fn a_key_may_come_as_a_line() {
        let mut asked = judging();
        let other = asked.parse_line("d");
        asked.keys = vec!['d', 'r', '?'];
        for (key, act) in [
            ("d", CommandAction::Diff),
            (" r ", CommandAction::Report),
            ("?", CommandAction::Help),
        ] {
            assert_eq!(
                asked.parse_line(key),
                ParsedLine::Command(act, String::new())
            );
        }
        assert_eq!(
            judging().parse_line("d"),
            other,
            "only where keys are offered"
        );
    }

    #[test]
    fn a_command_comes_with_words() {
        let asked = judging();
        let accepted = |words: &str| {
            ParsedLine::Command(CommandAction::Answer("accept".to_owned()), words.to_owned())
        };
        assert_eq!(
            asked.parse_line("/accept_changes  well done "),
            accepted("well done")
        );
        // By the answer's own name, and without the sign, too.
        assert_eq!(asked.parse_line("/accept"), accepted(""));
        assert_eq!(asked.parse_line("accept"), accepted(""));
        let rejected = ParsedLine::Command(
            CommandAction::Reject("reject".to_owned()),
            "a\nb".to_owned(),
        );
        assert_eq!(asked.parse_line("/reject_changes\na\nb"), rejected);
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
            let ParsedLine::Unclear(why) = asked.parse_line(said) else {
                panic!("{said} was understood");
            };
            assert!(why.contains(advice), "{said}: {why}");
        }
        assert_eq!(asked.parse_line("  "), ParsedLine::Unclear(String::new()));
    }

    #[test]
    fn what_comes_later_says_what_to_do_now() {
        let mut asked = judging();
        asked.commands.clear();
        asked.add_command("save_plan", "[words]", "", CommandAction::SavePlan);
        asked.add_command("skip", "", "", CommandAction::Skip);
        asked.add_command("abort", "", "", CommandAction::Abort);
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
            let ParsedLine::Unclear(why) = asked.parse_line(said) else {
                panic!("{said} was understood");
            };
            assert!(why.contains(advice), "{said}: {why}");
        }
    }

    #[test]
    fn free_text_is_an_answer_where_one_is_asked_for() {
        let mut asked = judging();
        asked.text = PlainTextMeaning::Answer;
        assert_eq!(
            asked.parse_line(" Green "),
            ParsedLine::Text("Green".to_owned())
        );
        asked.text = PlainTextMeaning::Note("change".to_owned());
        assert_eq!(
            asked.parse_line("smaller"),
            ParsedLine::Text("smaller".to_owned())
        );
    }
}
