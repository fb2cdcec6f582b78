//! The sources of a person's answers: a terminal, a pipe, or a file of answers.

use std::collections::VecDeque;
use std::io::{self, IsTerminal as _};
use std::os::fd::AsFd as _;
use std::path::Path;
use std::sync::Arc;

use codeteam_engine::Engine;

use super::history::PromptHistory;
use super::line_editor::{self, LineEditor, OpenPrompt};
use super::screen::Screen;
use super::terminal_programs;
use super::{LinePrompt, PromptInput};
use crate::cli::read_named_file;
use codeteam_engine::problem::Problem;

/// A source of answers.
pub(crate) enum AnswerSource {
    /// A terminal.
    Terminal(Box<dyn PromptReader>),
    /// A pipe, read line by line.
    Pipe(StdinLines),
    /// A file of answers.
    Answers(VecDeque<String>),
}

/// Reads what a person types at a prompt.
pub(crate) trait PromptReader {
    fn read(&mut self, screen: &Screen, prompt: &LinePrompt<'_>) -> io::Result<PromptInput>;

    /// Prevents text typed before a question was shown from answering it.
    fn set_aside(&mut self) -> io::Result<()>;
}

impl PromptReader for LineEditor {
    fn read(&mut self, screen: &Screen, prompt: &LinePrompt<'_>) -> io::Result<PromptInput> {
        Self::read(self, screen, prompt)
    }

    fn set_aside(&mut self) -> io::Result<()> {
        Self::set_aside(self)
    }
}

/// Returns true if a person sits at a terminal.
pub(crate) fn is_terminal() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

impl AnswerSource {
    /// Creates a source for the terminal that codeteam was started from.
    pub(crate) fn terminal(engine: &Arc<Engine>) -> Self {
        if terminal_programs::is_dumb_terminal() {
            return Self::Terminal(Box::new(StdinLines::default()));
        }
        Self::Terminal(Box::new(LineEditor::new(PromptHistory::for_project(
            engine,
        ))))
    }

    /// Creates a source for standard input that is not a terminal.
    pub(crate) fn pipe() -> Self {
        Self::Pipe(StdinLines::default())
    }

    /// Creates a source for a file, or for standard input if the path is `-`.
    pub(crate) fn file(path: &Path) -> Result<Self, Problem> {
        if path.as_os_str() == "-" {
            return Ok(Self::pipe());
        }
        let text = read_named_file(path).map_err(|e| {
            Problem::user(format!("could not read the answers `{}`", path.display())).caused_by(&e)
        })?;
        Ok(Self::Answers(parse_answers(&text)))
    }

    /// Returns true if a person sees prompts.
    pub(crate) fn is_terminal(&self) -> bool {
        matches!(self, Self::Terminal(_))
    }

    /// Prevents text typed before a question was shown from answering it.
    pub(crate) fn set_aside(&mut self) -> Result<(), Problem> {
        match self {
            Self::Terminal(reader) => reader
                .set_aside()
                .map_err(|e| Problem::environment("could not read what you say").caused_by(&e)),
            Self::Pipe(_) | Self::Answers(_) => Ok(()),
        }
    }

    /// Returns the next input.
    pub(crate) fn next_input(
        &mut self,
        screen: &Screen,
        prompt: &LinePrompt<'_>,
    ) -> Result<PromptInput, Problem> {
        let said = match self {
            Self::Terminal(reader) => reader.read(screen, prompt),
            Self::Pipe(lines) => lines.next_script_answer(screen),
            Self::Answers(answers) => Ok(answers
                .pop_front()
                .map_or(PromptInput::Ended, PromptInput::Line)),
        };
        let said =
            said.map_err(|e| Problem::environment("could not read what you say").caused_by(&e))?;
        Ok(match said {
            PromptInput::Line(line) => PromptInput::Line(line_editor::unquote_input(&line)),
            said => said,
        })
    }
}

/// Reads standard input line by line.
#[derive(Default)]
pub(crate) struct StdinLines {
    bytes: Vec<u8>,
    ended: bool,
}

impl PromptReader for StdinLines {
    fn read(&mut self, screen: &Screen, prompt: &LinePrompt<'_>) -> io::Result<PromptInput> {
        screen.open_prompt(OpenPrompt::plain(prompt));
        let said = self.next_text(screen);
        let closed = screen.close_prompt();
        if let (Ok(PromptInput::Overtaken), Some(mut open)) = (&said, closed) {
            open.erase();
        }
        Ok(match said? {
            PromptInput::Ended => PromptInput::Quit,
            said => said,
        })
    }

    /// A dumb terminal cannot put typed text back on the line, so it is dropped.
    fn set_aside(&mut self) -> io::Result<()> {
        self.bytes.clear();
        line_editor::read_typed().map(drop)
    }
}

impl StdinLines {
    /// Returns the next text that is not a comment, for scripts.
    fn next_script_answer(&mut self, screen: &Screen) -> io::Result<PromptInput> {
        loop {
            match self.next_text(screen)? {
                PromptInput::Line(line) if is_blank_or_comment(&line) => {}
                said => return Ok(said),
            }
        }
    }

    fn next_text(&mut self, screen: &Screen) -> io::Result<PromptInput> {
        let mut text = String::new();
        loop {
            match self.next_line(screen)? {
                PromptInput::Line(line) => text.push_str(&line),
                PromptInput::Ended if !text.is_empty() => return Ok(PromptInput::Line(text)),
                said => return Ok(said),
            }
            if !line_editor::is_incomplete(&text) {
                return Ok(PromptInput::Line(text));
            }
            text.push('\n');
        }
    }

    /// Returns the next line, if there is one and the prompt is still open.
    fn next_line(&mut self, screen: &Screen) -> io::Result<PromptInput> {
        loop {
            if let Some(end) = self.bytes.iter().position(|b| *b == b'\n') {
                let line: Vec<u8> = self.bytes.drain(..=end).collect();
                let line = String::from_utf8_lossy(&line);
                return Ok(PromptInput::Line(
                    line.trim_end_matches(['\n', '\r']).to_owned(),
                ));
            }
            if self.ended {
                let rest = std::mem::take(&mut self.bytes);
                let rest = String::from_utf8_lossy(&rest).into_owned();
                return Ok(if rest.is_empty() {
                    PromptInput::Ended
                } else {
                    PromptInput::Line(rest)
                });
            }
            line_editor::wait_for_input(screen, None)?;
            line_editor::drain_wakeups(screen);
            if screen.is_cancelled() {
                return Ok(PromptInput::Overtaken);
            }
            if line_editor::has_input()? {
                let mut bytes = [0; 4096];
                let n = rustix::io::read(io::stdin().as_fd(), &mut bytes)?;
                self.ended = n == 0;
                self.bytes.extend_from_slice(&bytes[..n]);
            }
        }
    }
}

fn is_blank_or_comment(line: &str) -> bool {
    line.trim().is_empty() || line.starts_with('#')
}

/// Parses a file of answers: one per line, or blocks separated by lines of `---`.
fn parse_answers(text: &str) -> VecDeque<String> {
    let lines: Vec<&str> = text.lines().collect();
    if lines.iter().any(|line| line.trim_end() == "---") {
        let blocks = lines.split(|line| line.trim_end() == "---");
        let block = |lines: &[&str]| {
            let first = lines.iter().position(|line| !is_blank_or_comment(line));
            lines[first.unwrap_or(lines.len())..].join("\n")
        };
        let blocks = blocks.map(block);
        return blocks.filter(|block| !block.trim().is_empty()).collect();
    }
    let mut answers = VecDeque::new();
    let mut current = String::new();
    for line in lines {
        if current.is_empty() && is_blank_or_comment(line) {
            continue;
        }
        current.push_str(line);
        if line_editor::is_incomplete(&current) {
            current.push('\n');
        } else {
            answers.push_back(std::mem::take(&mut current));
        }
    }
    if !current.is_empty() {
        answers.push_back(current);
    }
    answers
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_has_an_answer_a_line() {
        let text = "# what to say\nGreen\n\n/save_plan small steps\nfirst\\\nsecond\n\"\"\"\na\n\n# b\n\"\"\"\n";
        let wanted = [
            "Green",
            "/save_plan small steps",
            "first\\\nsecond",
            "\"\"\"\na\n\n# b\n\"\"\"",
        ];
        assert_eq!(parse_answers(text), wanted);
    }

    #[test]
    fn or_an_answer_a_block() {
        let text = "# the first\nGreen,\n# not blue\nand small\n---\n/accept_plan\n---\n\n";
        assert_eq!(
            parse_answers(text),
            ["Green,\n# not blue\nand small", "/accept_plan"]
        );
        assert_eq!(parse_answers("# nothing\n"), [""; 0]);
    }
}
