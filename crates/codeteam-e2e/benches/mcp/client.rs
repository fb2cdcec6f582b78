//! A client that knows lines and no more.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use super::Outcome;

const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}"#;
const INITIALIZED: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;

/// A server that was started, and the way to it.
pub(crate) struct StdioClient {
    server: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
    line: String,
    id: u64,
}

impl StdioClient {
    /// Starts a server; how long it took until it had answered `initialize`.
    pub(crate) fn start(command: &[String], folder: &Path) -> Outcome<(Self, Duration)> {
        let begun = Instant::now();
        let mut server = Command::new(&command[0])
            .args(&command[1..])
            .current_dir(folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let to = server.stdin.take().ok_or("no input")?;
        let from = BufReader::new(server.stdout.take().ok_or("no output")?);
        let mut client = Self {
            server,
            to,
            from,
            line: String::new(),
            id: 0,
        };
        client.write(INITIALIZE)?;
        client.answer()?;
        let took = begun.elapsed();
        client.check()?;
        client.write(INITIALIZED)?;
        Ok((client, took))
    }

    /// Calls a tool; how long it took.
    pub(crate) fn call(&mut self, tool: &str, arguments: &str) -> Outcome<Duration> {
        let params = format!(r#"{{"name":"{tool}","arguments":{arguments}}}"#);
        self.ask("tools/call", &params)
    }

    /// Asks for something; how long it took.
    pub(crate) fn ask(&mut self, method: &str, params: &str) -> Outcome<Duration> {
        self.id += 1;
        let request = format!(
            r#"{{"jsonrpc":"2.0","id":{},"method":"{method}","params":{params}}}"#,
            self.id
        );
        let begun = Instant::now();
        self.write(&request)?;
        self.answer()?;
        let elapsed = begun.elapsed();
        self.check()?;
        Ok(elapsed)
    }

    fn write(&mut self, line: &str) -> Outcome<()> {
        let line = format!("{line}\n");
        Ok(self.to.write_all(line.as_bytes())?)
    }

    /// Reads the answer to the last request: a line, which must be it.
    fn answer(&mut self) -> Outcome<()> {
        self.line.clear();
        if self.from.read_line(&mut self.line)? == 0 {
            return Err("the server has gone".into());
        }
        Ok(())
    }

    /// Makes sure that the line is the answer it is taken for.
    fn check(&self) -> Outcome<()> {
        let said: serde_json::Value = serde_json::from_str(&self.line)?;
        let is_good = said["id"] == self.id && said["result"].is_object();
        if !is_good || said["result"]["isError"] == true {
            return Err(self.line.clone().into());
        }
        Ok(())
    }

    /// The memory it has now, of one kind, by a file of its folder in `/proc`.
    pub(crate) fn megabytes(&self, file: &str, kind: &str) -> Outcome<f64> {
        let text = std::fs::read_to_string(format!("/proc/{}/{file}", self.server.id()))?;
        let line = text.lines().find(|line| line.starts_with(kind));
        let kib = line.and_then(|line| line.split_whitespace().nth(1));
        Ok(kib.ok_or_else(|| format!("no {kind}"))?.parse::<f64>()? / 1024.0)
    }

    /// Ends it, as clients do: by closing its input.
    pub(crate) fn end(self) -> Outcome<()> {
        let Self {
            mut server,
            to,
            from,
            ..
        } = self;
        drop(to);
        drop(from);
        server.wait()?;
        Ok(())
    }
}
