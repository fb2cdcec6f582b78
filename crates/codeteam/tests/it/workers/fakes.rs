//! CLIs that say what they are told to say, and an API that does.

use std::ffi::OsString;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use crate::project::Project;

/// The options that codeteam wants of claude, as its help would name them.
const FLAGS: &str = "--print --output-format --json-schema --permission-mode --tools \
    --strict-mcp-config --setting-sources --session-id --resume --no-session-persistence";

/// A claude that says nothing.
pub(super) const CLAUDE: &str = "case \"$1\" in --version) echo 2.1.197;; esac\n";

/// Returns the folder of the made-up programs.
pub(super) fn bin(project: &Project) -> PathBuf {
    project.home().join("bin")
}

/// The machine's programs, and before them the made-up ones.
pub(super) fn path(project: &Project) -> OsString {
    let command = project.codeteam(&[]);
    let path = command
        .get_envs()
        .find_map(|(name, value)| (name == "PATH").then_some(value?.to_owned()));
    let mut folders = vec![bin(project)];
    folders.extend(std::env::split_paths(&path.unwrap()));
    std::env::join_paths(folders).unwrap()
}

/// Written by another process: what a thread of this one has open for writing while another forks
/// cannot be executed.
pub(super) fn install(project: &Project, name: &str, script: &str) {
    std::fs::create_dir_all(bin(project)).unwrap();
    let written = Project::program(Path::new("/bin/sh"))
        .args(["-c", r#"printf '%s' "$1" > "$0" && chmod 755 "$0""#])
        .arg(bin(project).join(name))
        .arg(script)
        .status();
    assert!(written.unwrap().success());
}

/// A claude of a version, and what it does when it is given work.
pub(super) fn claude(project: &Project, version: &str, body: &str) {
    let script = format!(
        "#!/bin/sh\ncase \"$1\" in\n--version) echo '{version}'; exit;;\n--help) echo '{FLAGS}'; exit;;\nesac\n\
         for arg; do case $arg in --model=*) model=${{arg#--model=}} ;; esac; done\n\
         model=${{model:-claude-made-up}}\ncat > /dev/null\n{body}"
    );
    install(project, "claude", &script);
}

/// Lines of a script that say these events.
pub(super) fn say(events: &[Value]) -> String {
    let lines: Vec<String> = events
        .iter()
        .map(|event| format!("cat <<EOF\n{event}\nEOF"))
        .collect();
    lines.join("\n")
}

/// Returns claude's first output, with a word that tests wait for.
pub(super) fn hello() -> String {
    let content = json!([{ "type": "text", "text": "here I am" }]);
    say(&[
        json!({ "type": "system", "subtype": "init", "model": "$model", "session_id": "1" }),
        json!({ "type": "assistant", "message": { "id": "1", "content": content } }),
    ])
}

/// A claude that answers with this word.
pub(super) fn answering(word: &str) -> String {
    let result = say(&[json!({
        "type": "result", "subtype": "success", "is_error": false, "result": "",
        "structured_output": { "message": word }, "total_cost_usd": 0.0042,
        "usage": { "input_tokens": 100, "cache_read_input_tokens": 20, "output_tokens": 5 },
    })]);
    format!("{}\n{result}\n", hello())
}

/// A login of claude that is good until this time; returns its file.
pub(super) fn login(project: &Project, until: i64) -> PathBuf {
    let file = project.home().join(".claude/.credentials.json");
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    let login = json!({ "claudeAiOauth":
        { "accessToken": "a", "refreshToken": "r", "expiresAt": until } });
    std::fs::write(&file, login.to_string()).unwrap();
    file
}

/// A server on this machine that gives everybody the same answer, and remembers what it was asked.
pub(super) struct FakeApi {
    pub(super) url: String,
    asked: Arc<Mutex<Vec<String>>>,
}

impl FakeApi {
    pub(super) fn start(answer: String) -> Self {
        Self::answering(move |_| answer.clone())
    }

    /// One whose answer depends on what it is asked.
    pub(super) fn answering(answer: impl Fn(&str) -> String + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let asked = Arc::<Mutex<Vec<String>>>::default();
        let heard = Arc::clone(&asked);
        // It ends with the test's process.
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let stream = stream.unwrap();
                let request = read(&stream);
                let is_head = request.starts_with("HEAD ");
                let answer = if is_head {
                    String::new()
                } else {
                    answer(&request)
                };
                heard.lock().unwrap().push(request);
                write(stream, &answer);
            }
        });
        Self { url, asked }
    }

    pub(super) fn host(&self) -> String {
        self.url.trim_start_matches("http://").to_owned()
    }

    pub(super) fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

fn read(stream: &TcpStream) -> String {
    let mut reader = BufReader::new(stream);
    let (mut request, mut length) = (String::new(), 0);
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        let lower = line.to_lowercase();
        if let Some(value) = lower.strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
        request.push_str(&line);
        if line.trim_end().is_empty() {
            break;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    request + &String::from_utf8(body).unwrap()
}

fn write(mut stream: TcpStream, answer: &str) {
    let head = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\
         Connection: close\r\n\r\n",
        answer.len()
    );
    // Whoever asked may have gone.
    let _ = stream.write_all(format!("{head}{answer}").as_bytes());
}
