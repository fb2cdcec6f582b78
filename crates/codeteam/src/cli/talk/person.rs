//! The person: is asked, says something, and it is done.

use std::sync::Arc;

use codeteam_core::Run;
use codeteam_core::frame::{FrameItem, Question};
use codeteam_core::ids::{AttemptId, RunId};
use codeteam_core::input::Decision;
use codeteam_core::plan::Plan;
use codeteam_engine::proposal::{self, CommitProposal};
use codeteam_engine::{Engine, artifacts};

use super::ask::{CommandAction, ParsedLine, PlainTextMeaning, QuestionMenu, accepts};
use super::desk::{NextQuestion, QuestionQueue};
use super::screen::Screen;
use super::source::AnswerSource;
use super::{LinePrompt, PromptInput, hand, program, shown};
use crate::cli::CliContext;
use crate::output::TerminalStyle;
use crate::problem::Problem;
use crate::progress::ProgressPrinter;

/// A person at a run.
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

/// What comes after a question.
enum QuestionOutcome {
    /// Whatever is next.
    On,
    /// Another question first.
    Next,
    /// The person leaves.
    Quit,
    /// The person has nothing more to say.
    Ended,
}

/// What comes after one thing that was said.
enum InputOutcome {
    /// The question is still there.
    Again,
    /// It is not, or it is not this one's turn.
    Over(QuestionOutcome),
}

impl PersonDialog<'_> {
    /// Answers what is asked, until nothing is.
    pub(super) fn attend(mut self) -> Result<(), Problem> {
        let mut last: Option<AttemptId> = None;
        let mut seen: Option<AttemptId> = None;
        loop {
            let NextQuestion::Question(run, question, open) = self.desk.next(last.as_ref()) else {
                return Ok(());
            };
            self.progress.hide(true);
            let is_new = seen.as_ref() != Some(&question.id);
            let after = self.question(&run, &question, open, is_new);
            self.progress.hide(false);
            self.desk.turn_away();
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

    fn question(
        &mut self,
        run: &Arc<Run>,
        question: &Question,
        open: usize,
        is_new: bool,
    ) -> Result<QuestionOutcome, Problem> {
        if is_new {
            self.source.set_aside()?;
            self.show(run, question, open);
        }
        loop {
            let run = self.desk.run().unwrap_or_else(|| Arc::clone(run));
            let asked = QuestionMenu::of(&run, question, self.desk.open() > 1);
            let commands = asked.names();
            let prompt = LinePrompt {
                text: &asked.prompt,
                style: self.style,
                commands: &commands,
                keys: &asked.keys,
            };
            let said = self.source.next(self.screen, &prompt)?;
            let then = match said {
                PromptInput::Overtaken => return Ok(self.overtaken(question)),
                PromptInput::Quit => return Ok(QuestionOutcome::Quit),
                PromptInput::Ended => return Ok(QuestionOutcome::Ended),
                PromptInput::Key('d') => self.act(&run, question, &asked, &CommandAction::Diff, ""),
                PromptInput::Key('r') => {
                    self.act(&run, question, &asked, &CommandAction::Report, "")
                }
                PromptInput::Key(_) => self.act(&run, question, &asked, &CommandAction::Help, ""),
                PromptInput::Line(line) => {
                    // Others may have asked meanwhile.
                    let asked = QuestionMenu::of(&run, question, self.desk.open() > 1);
                    self.line(&run, question, &asked, &line)
                }
            };
            match then {
                Ok(InputOutcome::Again) => {}
                Ok(InputOutcome::Over(after)) => return Ok(after),
                // What a person tried and cannot be done is no reason to leave the run.
                Err(problem) => problem.print(self.style),
            }
        }
    }

    fn overtaken(&self, question: &Question) -> QuestionOutcome {
        if let Some(words) = self.desk.answered(&question.id) {
            let place = question.id.frame.name();
            self.screen
                .say(&format!("{place} was answered elsewhere ({words})"));
        } else if let Some(run) = self.desk.run()
            && run
                .frames
                .get(&question.id.frame)
                .is_some_and(|f| !f.is_ended())
        {
            let place = question.id.frame.name();
            self.screen
                .say(&format!("{place} need not be asked about any more"));
        }
        QuestionOutcome::On
    }

    /// Shows what is asked, with all that one must know to answer.
    fn show(&self, run: &Arc<Run>, question: &Question, open: usize) {
        let asked = QuestionMenu::of(run, question, open > 1);
        let frame = run.frames.get(&question.id.frame);
        self.screen.say("");
        if let Some(feedback) = self
            .desk
            .feedback()
            .filter(|_| matches!(asked.text, PlainTextMeaning::Note(_)))
        {
            self.screen.say(&feedback);
            if let Some(file) = self.plan_file(run, "FEEDBACK.md") {
                self.screen.say(&self.style.dim(&format!("  ({file})")));
            }
            self.screen.say("");
        }
        if let (PlainTextMeaning::Note(_), Some(plan)) = (&asked.text, &run.plan) {
            self.screen.say(&shown::outline(self.style, plan));
            if let Some(file) = self.plan_file(run, "plan.yml") {
                self.screen.say(&self.style.dim(&format!("  ({file})")));
            }
        } else if let Some(frame) = frame.filter(|frame| frame.change.is_some()) {
            let report = shown::report(self.scene, self.engine, run, frame);
            self.screen.say(report.trim_end());
            self.screen.say("");
            let proposal = proposal::of(self.engine, run, question);
            for line in proposal.iter().flat_map(CommitProposal::lines) {
                self.screen.say(format!("  {line}").trim_end());
            }
        }
        if open > 1 {
            let others = open - 1;
            let wait = if others == 1 {
                "1 other question waits".to_owned()
            } else {
                format!("{others} other questions wait")
            };
            self.screen.say(&self.style.dim(&wait));
        }
        self.screen
            .say(&shown::question(self.style, run, question, &asked));
    }

    /// A file of the plan, as the person would name it, if it is there.
    fn plan_file(&self, run: &Run, name: &str) -> Option<String> {
        let path = artifacts::plan_folder(self.engine, run)?.join(name);
        let top = self.engine.repo.top_level();
        let shown = path
            .strip_prefix(top)
            .unwrap_or(&path)
            .display()
            .to_string();
        path.is_file().then_some(shown)
    }

    fn line(
        &mut self,
        run: &Arc<Run>,
        question: &Question,
        asked: &QuestionMenu,
        line: &str,
    ) -> Result<InputOutcome, Problem> {
        if !self.source.is_terminal() {
            let first = line.replace('\n', "\n  ");
            self.screen.say(&self.style.dim(&format!("> {first}")));
        }
        match asked.take(line) {
            ParsedLine::Unclear(why) => {
                if !why.is_empty() {
                    self.screen.say(&why);
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
                self.act(run, question, asked, &act, &rest)
            }
        }
    }

    fn act(
        &mut self,
        run: &Arc<Run>,
        question: &Question,
        asked: &QuestionMenu,
        act: &CommandAction,
        rest: &str,
    ) -> Result<InputOutcome, Problem> {
        match act {
            CommandAction::Answer(answer) => {
                if !self.is_sure(run, question, answer)? {
                    return Ok(InputOutcome::Again);
                }
                self.answer(question, answer, rest)
            }
            CommandAction::Reject(answer) => {
                if rest.is_empty() {
                    self.screen
                        .say("say what is wrong: what you write goes to whoever mends it");
                    return Ok(InputOutcome::Again);
                }
                self.answer(question, answer, rest)
            }
            CommandAction::SavePlan => {
                self.answer(question, format!("/save_plan {rest}").trim(), "")
            }
            CommandAction::Edit(answer) => {
                let shell = rest.split_whitespace().any(|word| word == "--shell");
                let edited = hand::change(self.engine, self.screen, run, question, answer, shell)?;
                match edited {
                    None => Ok(InputOutcome::Again),
                    Some(decision) => self.decide(question, &decision),
                }
            }
            CommandAction::EditPlan => self.edit_plan(run).map(|()| InputOutcome::Again),
            CommandAction::Skip => self.skip(run, question),
            CommandAction::Abort => {
                if !self.confirm("end the run? y/N ")? {
                    return Ok(InputOutcome::Again);
                }
                let reason = rest.to_owned();
                self.decide(question, &Decision::Abort { reason })
            }
            CommandAction::Next => Ok(InputOutcome::Over(QuestionOutcome::Next)),
            CommandAction::Quit => Ok(InputOutcome::Over(QuestionOutcome::Quit)),
            CommandAction::Help
            | CommandAction::Show
            | CommandAction::Diff
            | CommandAction::Report => self
                .look(run, question, asked, act)
                .map(|()| InputOutcome::Again),
        }
    }

    fn look(
        &mut self,
        run: &Arc<Run>,
        question: &Question,
        asked: &QuestionMenu,
        act: &CommandAction,
    ) -> Result<(), Problem> {
        let frame = run.frames.get(&question.id.frame);
        match (act, frame) {
            (CommandAction::Show, _) => {
                let run = self.desk.run().unwrap_or_else(|| Arc::clone(run));
                if let Some(plan) = &run.plan {
                    self.screen.say(&shown::plan(self.style, plan));
                }
            }
            (CommandAction::Diff, Some(frame)) => {
                if let Some(change) = &frame.change {
                    let patch = self.engine.bodies.get(change.diff.as_str()).map_err(|e| {
                        Problem::environment("the diff cannot be read").caused_by(&e)
                    })?;
                    self.page(&shown::diff(self.style, &patch))?;
                }
            }
            (CommandAction::Report, Some(frame)) => {
                self.page(&shown::whole_report(self.engine, run, frame))?;
            }
            _ => self.screen.say(&asked.help()),
        }
        Ok(())
    }

    /// Shows what may be long.
    fn page(&self, text: &str) -> Result<(), Problem> {
        if self.source.is_terminal() && !program::is_dumb() {
            return program::page(self.screen, text);
        }
        self.screen.say(text.trim_end());
        Ok(())
    }

    /// Whether the person means it, where something is held against what they accept.
    fn is_sure(&mut self, run: &Run, question: &Question, answer: &str) -> Result<bool, Problem> {
        let frame = run.frames.get(&question.id.frame);
        let failing = frame.map_or(0, shown::failing);
        if failing == 0 || !accepts(run, question, answer) {
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
        self.ask(text)
            .map(|said| said.is_some_and(|said| is_yes(&said)))
    }

    /// What the person says to something small.
    fn ask(&mut self, text: &str) -> Result<Option<String>, Problem> {
        if !self.source.is_terminal() {
            self.screen.say(text.trim_end());
        }
        let prompt = LinePrompt {
            text,
            style: self.style,
            commands: &[],
            keys: &[],
        };
        Ok(match self.source.next(self.screen, &prompt)? {
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
        self.decide(question, &decision)
    }

    fn skip(&mut self, run: &Run, question: &Question) -> Result<InputOutcome, Problem> {
        let frame = run.frames.get(&question.id.frame);
        let Some(FrameItem::Task(task)) = frame.map(|frame| &frame.item) else {
            self.screen.say("only a task can be left out");
            return Ok(InputOutcome::Again);
        };
        let task = task.clone();
        self.decide(question, &Decision::Skip { task })
    }

    /// Posts a decision and waits until it is followed.
    fn decide(
        &mut self,
        question: &Question,
        decision: &Decision,
    ) -> Result<InputOutcome, Problem> {
        let refusals = self.desk.refusals();
        self.post(decision)?;
        if self.desk.taken(&question.id, refusals) {
            return Ok(InputOutcome::Again);
        }
        Ok(InputOutcome::Over(QuestionOutcome::On))
    }

    fn post(&self, decision: &Decision) -> Result<(), Problem> {
        let by = &self.scene.env.user;
        let mut decision = decision.clone();
        if let Some(notice) = self.engine.filter_decision(&mut decision).notice() {
            let note = self.style.yellow("note");
            self.screen.say(&format!("{note}: {notice}"));
        }
        self.engine.post(&self.run, &decision, by)?;
        Ok(())
    }

    /// Opens the plan in the person's editor, as often as it takes.
    fn edit_plan(&mut self, run: &Arc<Run>) -> Result<(), Problem> {
        let Some(folder) = artifacts::plan_folder(self.engine, run) else {
            self.screen.say("there is no plan yet");
            return Ok(());
        };
        if let Some(criteria) = self.plan_file(run, "ACCEPTANCE_CRITERIA.md") {
            self.screen.say(&format!(
                "{criteria} is written from the plan: change what must hold in plan.yml"
            ));
        }
        loop {
            program::edit(self.screen, &folder, &["plan.yml".to_owned()])?;
            match self.engine.read_plan(&folder.join("plan.yml")) {
                Ok(loaded) => {
                    if !self.revise(run, loaded.plan)? {
                        self.screen.say("nothing was changed");
                    }
                    return Ok(());
                }
                Err(error) => Problem::from(error).print(self.style),
            }
            let again = self.ask("edit it again? Y/n ")?;
            if again.is_none_or(|said| !said.is_empty() && !is_yes(&said)) {
                self.screen.say(
                    "the file stays as it is, and the run with the plan it had; `/edit` opens it again",
                );
                return Ok(());
            }
        }
    }

    /// Puts another plan in place of the run's; says whether it is another one.
    fn revise(&self, run: &Arc<Run>, plan: Plan) -> Result<bool, Problem> {
        if run.plan.as_deref() == Some(&plan) {
            return Ok(false);
        }
        let (refusals, plan) = (self.desk.refusals(), Box::new(plan));
        self.post(&Decision::Revise { plan })?;
        self.desk.moved(run.seq, refusals);
        if let (true, Some(plan)) = (
            self.desk.refusals() == refusals,
            self.desk.run().and_then(|run| run.plan.clone()),
        ) {
            self.screen.say(&shown::outline(self.style, &plan));
        }
        Ok(true)
    }

    /// Takes in a plan that was changed by hand meanwhile. One that cannot be read is left alone,
    /// and nothing is decided over it.
    fn read_plan_again(&self, run: &Arc<Run>) -> Result<(), Problem> {
        if run.is_terminal() || !artifacts::plan_was_edited(self.engine, run) {
            return Ok(());
        }
        let Some(folder) = artifacts::plan_folder(self.engine, run) else {
            return Ok(());
        };
        let loaded = self.engine.read_plan(&folder.join("plan.yml"))?;
        self.screen.say("the plan was changed by hand:");
        self.revise(run, loaded.plan).map(drop)
    }
}

fn is_yes(said: &str) -> bool {
    matches!(said, "y" | "yes")
}
