//! The dialog with a person: shows questions, reads input, and carries out what it says.

use std::sync::Arc;

use codeteam_core::frame::{Question, QuestionKind};
use codeteam_core::ids::{AttemptId, RunId};
use codeteam_core::input::Decision;
use codeteam_core::plan::Plan;
use codeteam_engine::Engine;
use codeteam_report::artifacts;
use codeteam_report::proposal::{self, CommitProposal};
use codeteam_report::view::{BreakdownView, LoadedRun, QuestionView};

use super::answer_source::AnswerSource;
use super::question_menu::{CommandAction, ParsedLine, PlainTextMeaning, QuestionMenu};
use super::question_queue::{NextQuestion, QuestionQueue};
use super::screen::Screen;
use super::{LinePrompt, PromptInput, manual_edit, render, terminal_programs};
use crate::cli::{CliContext, decide};
use crate::output::{TerminalStyle, print_problem};
use crate::progress::ProgressPrinter;
use codeteam_engine::problem::Problem;

/// The dialog with a person who is attached to a run.
///
/// [`answer_questions`](Self::answer_questions) loops until the driver stops or the person leaves:
/// it waits for an open question, shows it, reads lines and commands, and posts decisions. It never
/// changes the run itself; only the driver does, after reading the decision from the inbox.
pub(super) struct PersonDialog<'a> {
    pub(super) scene: &'a CliContext,
    pub(super) engine: &'a Arc<Engine>,
    pub(super) run: RunId,
    pub(super) desk: &'a QuestionQueue,
    pub(super) screen: &'a Screen,
    pub(super) progress: &'a ProgressPrinter,
    pub(super) style: TerminalStyle,
    pub(super) source: &'a mut AnswerSource,
}

/// What happens after a question.
enum QuestionOutcome {
    /// Continue with whatever is next.
    On,
    /// Turn to another question first.
    Next,
    /// The person leaves.
    Quit,
    /// The input has ended.
    Ended,
}

/// What happens after one input.
enum InputOutcome {
    /// The question is still open.
    Again,
    /// The question is closed, or it is another one's turn.
    Over(QuestionOutcome),
}

impl PersonDialog<'_> {
    /// Answers questions until there are no more.
    pub(super) fn answer_questions(mut self) -> Result<(), Problem> {
        let mut last: Option<AttemptId> = None;
        let mut seen: Option<AttemptId> = None;
        loop {
            let NextQuestion::Question(run, question, open) =
                self.desk.wait_for_question(last.as_ref())
            else {
                return Ok(());
            };
            self.progress.hide(true);
            let is_new = seen.as_ref() != Some(&question.id);
            let after = self.ask_question(&run, &question, open, is_new);
            self.progress.hide(false);
            self.desk.leave_question();
            (last, seen) = (None, Some(question.id.clone()));
            match after? {
                QuestionOutcome::On => {}
                QuestionOutcome::Next => {
                    last = Some(question.id.clone());
                    seen = None;
                }
                QuestionOutcome::Quit => {
                    self.desk.leave();
                    return Ok(());
                }
                QuestionOutcome::Ended => self.desk.leave_when_idle(),
            }
        }
    }

    fn ask_question(
        &mut self,
        run: &LoadedRun,
        question: &Question,
        open: usize,
        is_new: bool,
    ) -> Result<QuestionOutcome, Problem> {
        if is_new {
            self.source.set_aside()?;
            self.show_question(run, question, open);
        }
        loop {
            let run = self.desk.run().unwrap_or_else(|| run.clone());
            let asked = question_menu(&run, question, self.desk.open_count() > 1);
            let commands = asked.command_names();
            let prompt = LinePrompt {
                text: &asked.prompt,
                style: self.style,
                commands: &commands,
                keys: &asked.keys,
            };
            let said = self.source.next_input(self.screen, &prompt)?;
            let then = match said {
                PromptInput::Overtaken => return Ok(self.handle_overtaken(question)),
                PromptInput::Quit => return Ok(QuestionOutcome::Quit),
                PromptInput::Ended => return Ok(QuestionOutcome::Ended),
                PromptInput::Key('d') => {
                    self.run_action(&run, question, &asked, &CommandAction::Diff, "")
                }
                PromptInput::Key('r') => {
                    self.run_action(&run, question, &asked, &CommandAction::Report, "")
                }
                PromptInput::Key(_) => {
                    self.run_action(&run, question, &asked, &CommandAction::Help, "")
                }
                PromptInput::Line(line) => {
                    // More questions may have opened meanwhile.
                    let asked = question_menu(&run, question, self.desk.open_count() > 1);
                    self.handle_line(&run, question, &asked, &line)
                }
            };
            match then {
                Ok(InputOutcome::Again) => {}
                Ok(InputOutcome::Over(after)) => return Ok(after),
                // A failed command is no reason to leave the run.
                Err(problem) => print_problem(&problem, self.style),
            }
        }
    }

    fn handle_overtaken(&self, question: &Question) -> QuestionOutcome {
        if let Some(words) = self.desk.answered(&question.id) {
            let place = question.id.frame.name();
            self.screen
                .print(&format!("{place} was answered elsewhere ({words})"));
        } else if let Some(run) = self.desk.run()
            && run
                .frame(&question.id.frame)
                .is_some_and(|frame| frame.ended.is_none())
        {
            let place = question.id.frame.name();
            self.screen
                .print(&format!("{place} need not be asked about any more"));
        }
        QuestionOutcome::On
    }

    /// Shows a question with everything needed to answer it.
    fn show_question(&self, run: &LoadedRun, question: &Question, open: usize) {
        let asked = question_menu(run, question, open > 1);
        let frame = run.frame(&question.id.frame);
        self.screen.print("");
        if let Some(feedback) = self
            .desk
            .take_feedback()
            .filter(|_| matches!(asked.text, PlainTextMeaning::Note(_)))
        {
            self.screen.print(&feedback);
            if let Some(file) = self.plan_file(run, "FEEDBACK.md") {
                self.screen.print(&self.style.dim(&format!("  ({file})")));
            }
            self.screen.print("");
        }
        if let (PlainTextMeaning::Note(_), Some(plan)) = (&asked.text, run.full_plan()) {
            self.screen
                .print(&render::format_plan_outline(self.style, plan));
            if let Some(file) = self.plan_file(run, "plan.yml") {
                self.screen.print(&self.style.dim(&format!("  ({file})")));
            }
        } else if let Some(frame) = frame.filter(|frame| frame.has_change()) {
            let report = render::format_report(self.scene, self.engine, run, &frame.path);
            self.screen.print(report.trim_end());
            self.screen.print("");
            let proposal = proposal::propose_commit(self.engine.records(), run.as_run(), question);
            for line in proposal.iter().flat_map(CommitProposal::to_lines) {
                self.screen.print(format!("  {line}").trim_end());
            }
        }
        if open > 1 {
            let others = open - 1;
            let wait = if others == 1 {
                "1 other question waits".to_owned()
            } else {
                format!("{others} other questions wait")
            };
            self.screen.print(&self.style.dim(&wait));
        }
        let view = question_view(run, question);
        for line in view.breakdown.iter().flat_map(BreakdownView::to_lines) {
            self.screen.print(&line);
        }
        self.screen
            .print(&render::format_question(self.style, &view, &asked));
    }

    /// Returns the path of a plan file as the person would write it, if it exists.
    fn plan_file(&self, run: &LoadedRun, name: &str) -> Option<String> {
        let path = artifacts::plan_folder(self.engine.records(), run.as_run())?.join(name);
        let top = self.engine.repo.top_level();
        let shown = path
            .strip_prefix(top)
            .unwrap_or(&path)
            .display()
            .to_string();
        path.is_file().then_some(shown)
    }

    fn handle_line(
        &mut self,
        run: &LoadedRun,
        question: &Question,
        asked: &QuestionMenu,
        line: &str,
    ) -> Result<InputOutcome, Problem> {
        if !self.source.is_terminal() {
            let first = line.replace('\n', "\n  ");
            self.screen.print(&self.style.dim(&format!("> {first}")));
        }
        match asked.parse_line(line) {
            ParsedLine::Unclear(why) => {
                if !why.is_empty() {
                    self.screen.print(&why);
                }
                Ok(InputOutcome::Again)
            }
            ParsedLine::Text(text) => match &asked.text {
                PlainTextMeaning::Note(answer) => self.answer(question, answer, &text),
                _ => self.answer(question, &text, ""),
            },
            ParsedLine::Command(act, rest) => {
                if matches!(
                    act,
                    CommandAction::Answer(_) | CommandAction::Edit(_) | CommandAction::Show
                ) {
                    self.read_plan_again(run)?;
                }
                self.run_action(run, question, asked, &act, &rest)
            }
        }
    }

    fn run_action(
        &mut self,
        run: &LoadedRun,
        question: &Question,
        asked: &QuestionMenu,
        act: &CommandAction,
        rest: &str,
    ) -> Result<InputOutcome, Problem> {
        match act {
            CommandAction::Answer(answer) => {
                if !self.confirm_acceptance(run, question, answer)? {
                    return Ok(InputOutcome::Again);
                }
                self.answer(question, answer, rest)
            }
            CommandAction::Reject(answer) => {
                if rest.is_empty() {
                    self.screen
                        .print("say what is wrong: what you write goes to whoever mends it");
                    return Ok(InputOutcome::Again);
                }
                self.answer(question, answer, rest)
            }
            CommandAction::SavePlan => {
                self.answer(question, format!("/save_plan {rest}").trim(), "")
            }
            CommandAction::Edit(answer) => {
                let shell = rest.split_whitespace().any(|word| word == "--shell");
                let edited = manual_edit::edit_change(
                    self.engine,
                    self.screen,
                    run,
                    question,
                    answer,
                    shell,
                )?;
                match edited {
                    None => Ok(InputOutcome::Again),
                    Some(decision) => self.post_and_wait(question, &decision),
                }
            }
            CommandAction::EditPlan => self.edit_plan(run).map(|()| InputOutcome::Again),
            CommandAction::Skip => self.skip(run, question),
            CommandAction::Abort => {
                if !self.confirm("end the run? y/N ")? {
                    return Ok(InputOutcome::Again);
                }
                let reason = rest.to_owned();
                self.post_and_wait(question, &Decision::Abort { reason })
            }
            CommandAction::Next => Ok(InputOutcome::Over(QuestionOutcome::Next)),
            CommandAction::Quit => Ok(InputOutcome::Over(QuestionOutcome::Quit)),
            CommandAction::Help
            | CommandAction::Show
            | CommandAction::Diff
            | CommandAction::Report => self
                .show_details(run, question, asked, act)
                .map(|()| InputOutcome::Again),
        }
    }

    fn show_details(
        &mut self,
        run: &LoadedRun,
        question: &Question,
        asked: &QuestionMenu,
        act: &CommandAction,
    ) -> Result<(), Problem> {
        let frame = run.frame(&question.id.frame);
        match (act, frame) {
            (CommandAction::Show, _) => {
                let run = self.desk.run().unwrap_or_else(|| run.clone());
                if let Some(plan) = run.full_plan() {
                    self.screen.print(&render::format_plan(self.style, plan));
                }
            }
            (CommandAction::Diff, Some(frame)) => {
                if let Some(diff) = &frame.diff {
                    let patch = self.engine.bodies.get(diff.as_str()).map_err(|e| {
                        Problem::environment("the diff cannot be read").caused_by(&e)
                    })?;
                    self.page(&render::colour_diff(self.style, &patch))?;
                }
            }
            (CommandAction::Report, Some(frame)) => {
                self.page(&render::format_full_report(self.engine, run, &frame.path))?;
            }
            _ => self.screen.print(&asked.help()),
        }
        Ok(())
    }

    /// Shows a text that may be long.
    fn page(&self, text: &str) -> Result<(), Problem> {
        if self.source.is_terminal() && !terminal_programs::is_dumb_terminal() {
            return terminal_programs::open_pager(self.screen, text);
        }
        self.screen.print(text.trim_end());
        Ok(())
    }

    /// Asks the person to confirm, if there are objections to what they accept.
    fn confirm_acceptance(
        &mut self,
        run: &LoadedRun,
        question: &Question,
        answer: &str,
    ) -> Result<bool, Problem> {
        let asked = question_view(run, question);
        let failing = asked.objection_count;
        if failing == 0 || !asked.choice(answer).is_some_and(|choice| choice.accepts) {
            return Ok(true);
        }
        let what = if failing == 1 {
            "1 check fails".to_owned()
        } else {
            format!("{failing} checks fail")
        };
        self.confirm(&format!("{what}: accept all the same? y/N "))
    }

    fn confirm(&mut self, text: &str) -> Result<bool, Problem> {
        self.ask_text(text)
            .map(|said| said.is_some_and(|said| is_yes(&said)))
    }

    /// Asks for a short answer.
    fn ask_text(&mut self, text: &str) -> Result<Option<String>, Problem> {
        if !self.source.is_terminal() {
            self.screen.print(text.trim_end());
        }
        let prompt = LinePrompt {
            text,
            style: self.style,
            commands: &[],
            keys: &[],
        };
        Ok(match self.source.next_input(self.screen, &prompt)? {
            PromptInput::Line(line) => Some(line.trim().to_lowercase()),
            _ => None,
        })
    }

    fn answer(
        &mut self,
        question: &Question,
        answer: &str,
        note: &str,
    ) -> Result<InputOutcome, Problem> {
        let decision = Decision::Answer {
            question: question.id.clone(),
            answer: answer.to_owned(),
            note: note.to_owned(),
            change: None,
        };
        self.post_and_wait(question, &decision)
    }

    fn skip(&mut self, run: &LoadedRun, question: &Question) -> Result<InputOutcome, Problem> {
        let frame = run.frame(&question.id.frame);
        let Some(task) = frame.and_then(|frame| frame.task.clone()) else {
            self.screen.print("only a task can be left out");
            return Ok(InputOutcome::Again);
        };
        self.post_and_wait(question, &Decision::Skip { task })
    }

    /// Posts a decision and waits until it is carried out.
    fn post_and_wait(
        &mut self,
        question: &Question,
        decision: &Decision,
    ) -> Result<InputOutcome, Problem> {
        if question.kind == QuestionKind::Approval {
            decide::refuse_inside_any_session(self.engine)?;
        }
        let refusals = self.desk.refusals();
        self.post(decision)?;
        if self.desk.wait_until_taken(&question.id, refusals) {
            return Ok(InputOutcome::Again);
        }
        Ok(InputOutcome::Over(QuestionOutcome::On))
    }

    fn post(&self, decision: &Decision) -> Result<(), Problem> {
        let mut decision = decision.clone();
        if let Some(notice) = self.engine.filter_decision(&mut decision).notice() {
            let note = self.style.yellow("note");
            self.screen.print(&format!("{note}: {notice}"));
        }
        self.engine.post_decision(&self.run, &decision)?;
        Ok(())
    }

    /// Opens the plan in the person's editor, as often as necessary.
    fn edit_plan(&mut self, run: &LoadedRun) -> Result<(), Problem> {
        let Some(folder) = artifacts::plan_folder(self.engine.records(), run.as_run()) else {
            self.screen.print("there is no plan yet");
            return Ok(());
        };
        if let Some(criteria) = self.plan_file(run, "ACCEPTANCE_CRITERIA.md") {
            self.screen.print(&format!(
                "{criteria} is written from the plan: change what must hold in plan.yml"
            ));
        }
        loop {
            terminal_programs::open_editor(self.screen, &folder, &["plan.yml".to_owned()])?;
            match self.engine.read_plan(&folder.join("plan.yml")) {
                Ok(loaded) => {
                    if !self.revise_plan(run, loaded.plan)? {
                        self.screen.print("nothing was changed");
                    }
                    return Ok(());
                }
                Err(error) => print_problem(&Problem::from(error), self.style),
            }
            let again = self.ask_text("edit it again? Y/n ")?;
            if again.is_none_or(|said| !said.is_empty() && !is_yes(&said)) {
                self.screen.print(
                    "the file stays as it is, and the run with the plan it had; `/edit` opens it again",
                );
                return Ok(());
            }
        }
    }

    /// Replaces the run's plan, and returns true if it differs.
    fn revise_plan(&self, run: &LoadedRun, plan: Plan) -> Result<bool, Problem> {
        if run.full_plan() == Some(&plan) {
            return Ok(false);
        }
        let (refusals, plan) = (self.desk.refusals(), Box::new(plan));
        self.post(&Decision::Revise { plan })?;
        self.desk.wait_until_moved(run.seq(), refusals);
        if let Some(run) = self.desk.run()
            && self.desk.refusals() == refusals
            && let Some(plan) = run.full_plan()
        {
            self.screen
                .print(&render::format_plan_outline(self.style, plan));
        }
        Ok(true)
    }

    /// Reads a plan that was edited by hand meanwhile. One that cannot be parsed is left alone, and
    /// nothing is decided over it.
    fn read_plan_again(&self, run: &LoadedRun) -> Result<(), Problem> {
        if run.is_ended() || !artifacts::plan_was_edited(self.engine.records(), run.as_run()) {
            return Ok(());
        }
        let Some(folder) = artifacts::plan_folder(self.engine.records(), run.as_run()) else {
            return Ok(());
        };
        let loaded = self.engine.read_plan(&folder.join("plan.yml"))?;
        self.screen.print("the plan was changed by hand:");
        self.revise_plan(run, loaded.plan).map(drop)
    }
}

/// Returns what can be entered at a question.
fn question_menu(run: &LoadedRun, question: &Question, several: bool) -> QuestionMenu {
    QuestionMenu::for_question(run, &question_view(run, question), several)
}

/// Returns the view of a question, which may have been answered meanwhile.
fn question_view(run: &LoadedRun, question: &Question) -> QuestionView {
    QuestionView::new(run.as_run(), question)
}

fn is_yes(said: &str) -> bool {
    matches!(said, "y" | "yes")
}
