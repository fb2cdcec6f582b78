//! `codeteam web` of a project, as a process of its own.

use std::io::{BufRead as _, BufReader, PipeReader};
use std::process::Child;

use crate::project::Project;
use crate::raw::{RawReply, RawRequest};

/// The cookie by which a browser is known.
pub(crate) const COOKIE: &str = "__Host-codeteam";

/// A server. Killed when the test lets go of it.
pub(crate) struct WebServer {
    child: Child,
    /// The address with the code that it printed.
    pub(crate) entry: String,
    /// What it prints later goes here, as long as it runs.
    output: BufReader<PipeReader>,
}

/// A session of a client that is no browser.
#[derive(Clone)]
pub(crate) struct RawSession {
    pub(crate) host: String,
    pub(crate) port: u16,
    /// With its name.
    pub(crate) cookie: String,
}

impl WebServer {
    /// Starts a server for a project, on its port of the last time or a free one.
    pub(crate) fn start(project: &Project) -> Self {
        Self::start_with(project, &[])
    }

    /// The same with more arguments.
    pub(crate) fn start_with(project: &Project, args: &[&str]) -> Self {
        let (reader, writer) = std::io::pipe().unwrap();
        let mut command = project.codeteam(&[&["web"], args].concat());
        command.stdout(writer.try_clone().unwrap()).stderr(writer);
        let child = command.spawn().unwrap();
        // Its own ends of the pipe go with it.
        drop(command);
        let mut output = BufReader::new(reader);
        let entry = entry_of(&mut output);
        Self {
            child,
            entry,
            output,
        }
    }

    /// Reads what it prints up to a line with this text, and returns the line.
    #[track_caller]
    pub(crate) fn printed_line(&mut self, text: &str) -> String {
        let mut line = String::new();
        while !line.contains(text) {
            line.clear();
            let read = self.output.read_line(&mut line).unwrap();
            assert!(read > 0, "it has not printed `{text}`");
        }
        line
    }

    /// Starts it again after it was killed, at the same address.
    pub(crate) fn restart(&mut self, project: &Project) {
        let host = self.host().to_owned();
        *self = Self::start(project);
        assert_eq!(self.host(), host);
    }

    /// Kills it as a power cut would.
    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Returns the host that it answers for, with its port.
    pub(crate) fn host(&self) -> &str {
        let rest = self.entry.strip_prefix("http://").unwrap();
        rest.split('/').next().unwrap()
    }

    /// Returns its port.
    pub(crate) fn port(&self) -> u16 {
        self.host().rsplit_once(':').unwrap().1.parse().unwrap()
    }

    /// Returns the address of one of its pages.
    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.host())
    }

    /// Makes another address with a code, as a person does in another terminal.
    pub(crate) fn mint(&self, project: &Project) -> String {
        let done = project.run(&["web", "--url"]).expect(0);
        let found = done.stdout.split_whitespace();
        let mut found = found.filter(|word| word.starts_with("http://"));
        let entry = found.next().unwrap().to_owned();
        assert!(entry.starts_with(&self.url("/in?code=")), "{entry}");
        entry
    }

    /// Signs in with an address that has a code.
    pub(crate) fn sign_in(&self, entry: &str) -> RawSession {
        let reply = self.enter(entry).expect(303);
        assert_eq!(reply.header("location"), Some("/"));
        let cookie = reply.header("set-cookie").unwrap();
        assert!(cookie.starts_with(&format!("{COOKIE}=")), "{cookie}");
        for attribute in ["Path=/", "Secure", "HttpOnly", "SameSite=Strict"] {
            assert!(cookie.contains(attribute), "{cookie}");
        }
        RawSession {
            host: self.host().to_owned(),
            port: self.port(),
            cookie: cookie.split(';').next().unwrap().to_owned(),
        }
    }

    /// Opens an address with a code, as a click in a terminal does.
    pub(crate) fn enter(&self, entry: &str) -> RawReply {
        let target = entry.strip_prefix(&self.url("")).unwrap();
        let request = RawRequest::get(self.host(), target).with("Sec-Fetch-Site", "none");
        request.send(self.port())
    }
}

impl Drop for WebServer {
    fn drop(&mut self) {
        // A test that failed must not leave anything behind.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Reads the address with the code.
#[track_caller]
fn entry_of(output: &mut BufReader<PipeReader>) -> String {
    let mut said = String::new();
    loop {
        let from = said.len();
        let read = output.read_line(&mut said).unwrap();
        assert!(read > 0, "no address:\n{said}");
        let mut words = said[from..].split_whitespace();
        if let Some(found) = words.find(|w| w.starts_with("http://") && w.contains("/in?code=")) {
            return found.to_owned();
        }
    }
}

impl RawSession {
    /// A link that is followed in this session.
    pub(crate) fn get(&self, target: &str) -> RawRequest {
        RawRequest::get(&self.host, target).with("Cookie", &self.cookie)
    }

    /// A form that is sent in this session, without its token.
    pub(crate) fn post(&self, target: &str, fields: &[(&str, &str)]) -> RawRequest {
        RawRequest::post(&self.host, target, fields).with("Cookie", &self.cookie)
    }

    /// Sends what was made of one of these.
    #[track_caller]
    pub(crate) fn send(&self, request: &RawRequest) -> RawReply {
        request.send(self.port)
    }

    /// Reads the token that every form of this session needs.
    #[track_caller]
    pub(crate) fn form_token(&self) -> String {
        self.send(&self.get("/")).expect(200).hidden_field("token")
    }
}
