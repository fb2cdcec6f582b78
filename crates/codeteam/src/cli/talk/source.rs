//! Where a person's words come from: a terminal, a pipe, or a file of answers.

use std::collections::VecDeque;
use std::io::{self, IsTerminal as _};
use std::os::fd::AsFd as _;
use std::path::Path;
use std::sync::Arc;

use codeteam_engine::Engine;

use super::history::PromptHistory;
use super::line::{self, LineEditor, OpenPrompt};
use super::program;
use super::screen::Screen;
use super::{LinePrompt, PromptInput};
use crate::problem::Problem;

/// Where words come from.
pub(crate) enum AnswerSource {
    /// A terminal.
    Terminal(Box<dyn PromptReader>),
    /// A pipe, line by line.
    Pipe(StdinLines),
    /// A file of answers.
    Answers(VecDeque<String>),
}

/// Something that reads what a person writes at a prompt.
pub(crate) trait PromptReader {
    fn read(&mut self, screen: &Screen, prompt: &LinePrompt<'_>) -> io::Result<PromptInput>;

    /// Keeps what was typed before a question was shown from answering it.
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

/// Whether a person sits at a terminal.
pub(crate) fn is_terminal() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

impl AnswerSource {
    /// The terminal that codeteam was started from.
    pub(crate) fn terminal(engine: &Arc<Engine>) -> Self {
        if program::is_dumb() {
            return Self::Terminal(Box::new(StdinLines::default()));
        }
        Self::Terminal(Box::new(LineEditor::new(PromptHistory::of(engine))))
    }

    /// Standard input, which is no terminal.
    pub(crate) fn pipe() -> Self {
        Self::Pipe(StdinLines::default())
    }

    /// A file, or standard input for `-`.
    pub(crate) fn file(path: &Path) -> Result<Self, Problem> {
        if path.as_os_str() == "-" {
            return Ok(Self::pipe());
        }
        let text = std::fs::read_to_string(path).map_err(|e| {
            Problem::user(format!("could not read the answers `{}`", path.display())).caused_by(&e)
        })?;
        Ok(Self::Answers(answers(&text)))
    }

    /// Whether a person sees prompts.
    pub(crate) fn is_terminal(&self) -> bool {
        matches!(self, Self::Terminal(_))
    }

    /// What was typed before a question was shown does not answer it.
    pub(crate) fn set_aside(&mut self) -> Result<(), Problem> {
        match self {
            Self::Terminal(reader) => reader
                .set_aside()
                .map_err(|e| Problem::environment("could not read what you say").caused_by(&e)),
            Self::Pipe(_) | Self::Answers(_) => Ok(()),
        }
    }

    /// What is said next.
    pub(crate) fn next(
        &mut self,
        screen: &Screen,
        prompt: &LinePrompt<'_>,
    ) -> Result<PromptInput, Problem> {
        let said = match self {
            Self::Terminal(reader) => reader.read(screen, prompt),
            Self::Pipe(lines) => lines.quietly(screen),
            Self::Answers(answers) => Ok(answers
                .pop_front()
                .map_or(PromptInput::Ended, PromptInput::Line)),
        };
        let said =
            said.map_err(|e| Problem::environment("could not read what you say").caused_by(&e))?;
        Ok(match said {
            PromptInput::Line(line) => PromptInput::Line(line::meant(&line)),
            said => said,
        })
    }
}

/// Lines of standard input, from what can only be read line by line.
#[derive(Default)]
pub(crate) struct StdinLines {
    bytes: Vec<u8>,
    ended: bool,
}

impl PromptReader for StdinLines {
    fn read(&mut self, screen: &Screen, prompt: &LinePrompt<'_>) -> io::Result<PromptInput> {
        screen.open(OpenPrompt::plain(prompt));
        let said = self.text(screen);
        let closed = screen.close();
        if let (Ok(PromptInput::Overtaken), Some(mut open)) = (&said, closed) {
            open.erase();
        }
        Ok(match said? {
            PromptInput::Ended => PromptInput::Quit,
            said => said,
        })
    }

    /// What such a terminal has taken in cannot be put on a line again: it is dropped.
    fn set_aside(&mut self) -> io::Result<()> {
        self.bytes.clear();
        line::typed().map(drop)
    }
}

impl StdinLines {
    /// The next text that is no comment, for scripts.
    fn quietly(&mut self, screen: &Screen) -> io::Result<PromptInput> {
        loop {
            match self.text(screen)? {
                PromptInput::Line(line) if is_nothing(&line) => {}
                said => return Ok(said),
            }
        }
    }

    fn text(&mut self, screen: &Screen) -> io::Result<PromptInput> {
        let mut text = String::new();
        loop {
            match self.line(screen)? {
                PromptInput::Line(line) => text.push_str(&line),
                PromptInput::Ended if !text.is_empty() => return Ok(PromptInput::Line(text)),
                said => return Ok(said),
            }
            if !line::goes_on(&text) {
                return Ok(PromptInput::Line(text));
            }
            text.push('\n');
        }
    }

    /// The next line, if there is one and somebody still wants it.
    fn line(&mut self, screen: &Screen) -> io::Result<PromptInput> {
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
            line::wait(screen, None)?;
            line::drain(screen);
            if screen.is_overtaken() {
                return Ok(PromptInput::Overtaken);
            }
            if line::ready()? {
                let mut bytes = [0; 4096];
                let n = rustix::io::read(io::stdin().as_fd(), &mut bytes)?;
                self.ended = n == 0;
                self.bytes.extend_from_slice(&bytes[..n]);
            }
        }
    }
}

fn is_nothing(line: &str) -> bool {
    line.trim().is_empty() || line.starts_with('#')
}

/// The answers of a file: one a line, or blocks with a line `---` between them.
fn answers(text: &str) -> VecDeque<String> {
    let lines: Vec<&str> = text.lines().collect();
    if lines.iter().any(|line| line.trim_end() == "---") {
        let blocks = lines.split(|line| line.trim_end() == "---");
        let block = |lines: &[&str]| {
            let first = lines.iter().position(|line| !is_nothing(line));
            lines[first.unwrap_or(lines.len())..].join("\n")
        };
        let blocks = blocks.map(block);
        return blocks.filter(|block| !block.trim().is_empty()).collect();
    }
    let mut answers = VecDeque::new();
    let mut current = String::new();
    for line in lines {
        if current.is_empty() && is_nothing(line) {
            continue;
        }
        current.push_str(line);
        if line::goes_on(&current) {
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
        assert_eq!(answers(text), wanted);
    }

    #[test]
    fn or_an_answer_a_block() {
        let text = "# the first\nGreen,\n# not blue\nand small\n---\n/accept_plan\n---\n\n";
        assert_eq!(
            answers(text),
            ["Green,\n# not blue\nand small", "/accept_plan"]
        );
        assert_eq!(answers("# nothing\n"), [""; 0]);
    }
}
