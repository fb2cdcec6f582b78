//! A login of the user's in the hands of workers.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::mpsc::channel;

use codeteam_core::event::SandboxKind;
use codeteam_core::frame::Tip;
use codeteam_core::ids::{AttemptId, Commit, FramePath, Tree};
use codeteam_core::input::Input;
use codeteam_core::workflow::{Check, CheckKind};
use codeteam_engine::perform::{self, Job, JobContext, JobKind};
use codeteam_engine::worker_clis::{CLAUDE, CODEX, GEMINI, WorkerCli};
use codeteam_host::process::CancelToken;
use rustix::fs::{CWD, FileType, Mode};

use crate::bench::{EngineFixture, SECRET};

/// Renews a login as claude does: another file takes the place of the old one.
const BY_RENAME: &str = r"
    cd ~/.claude
    sed 's/-first/-second/g; s/1790000000001/1790000000002/' .credentials.json > new
    mv new .credentials.json
";

/// As codex does: the same file is written again.
const IN_PLACE: &str = r#"
    cd ~/.codex
    renewed=$(sed 's/-first/-second/g; s/03:04:01/03:04:02/' auth.json)
    printf %s "$renewed" > auth.json
"#;

fn text(path: &Path) -> String {
    fs::read_to_string(path).unwrap()
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o7777
}

#[test]
fn a_worker_sees_its_own_login_and_nothing_else_of_the_users() {
    let bench = EngineFixture::new();
    let home = bench.path("home");
    for (cli, file) in [
        (&CLAUDE, ".claude/.credentials.json"),
        (&CODEX, ".codex/auth.json"),
        (&GEMINI, ".gemini/oauth_creds.json"),
    ] {
        let reach = bench.reach(cli.name, cli.name);
        let script = format!(
            r#"cd && find . -mindepth 1 ! -type d; cat {file}; echo
            ls -d '{}' 2>&1 | grep -c 'No such file'
            grep -rl "$(echo {SECRET} | tr a-z A-Z | tr A-Z a-z)" /home /tmp /run /etc 2>/dev/null
            true"#,
            home.display()
        );
        let said = bench.work(&reach, &script).said();
        let lines: Vec<&str> = said.lines().collect();
        assert_eq!(lines.len(), 3, "{said}");
        assert_eq!((lines[0], lines[2]), (&*format!("./{file}"), "1"), "{said}");
        assert!(lines[1].contains("access-first"), "{said}");
        assert!(!said.contains(SECRET), "{said}");
        assert_eq!(reach.release(), None);
        assert!(!bench.path(cli.name).exists());
    }
}

#[test]
fn a_renewed_login_is_the_users_afterwards() {
    let renewals: [(&WorkerCli, &str); 2] = [(&CLAUDE, BY_RENAME), (&CODEX, IN_PLACE)];
    for (cli, renew) in renewals {
        let bench = EngineFixture::new();
        let before = text(&bench.user(cli));
        let reach = bench.reach(cli.name, "w");
        assert_eq!(bench.work(&reach, renew).said(), "");
        let told = reach.release().unwrap();
        assert_eq!(told, format!("the login of `{}` was renewed", cli.name));
        let after = before.replace("-first", "-second");
        let after = after.replace("1790000000001", "1790000000002");
        let after = after.replace("03:04:01", "03:04:02");
        assert_eq!(text(&bench.user(cli)), after);
        assert_eq!(mode(&bench.user(cli)), 0o640);
        assert!(!bench.path("w").exists());
    }
}

#[test]
fn what_cannot_be_given_back_stays_and_is_told() {
    let bench = EngineFixture::new();
    let reach = bench.reach("claude", "w");
    bench.work(&reach, BY_RENAME).said();
    fs::set_permissions(bench.user(&CLAUDE), fs::Permissions::from_mode(0o440)).unwrap();
    let told = reach.release().unwrap();
    let kept = bench.path("w");
    assert!(told.contains("could not be given back"), "{told}");
    assert!(told.contains(kept.to_str().unwrap()), "{told}");
    assert!(!told.contains("-second"), "{told}");
    let copy = kept.join(".claude/.credentials.json");
    assert!(text(&copy).contains("access-second"));
    assert!(text(&bench.user(&CLAUDE)).contains("access-first"));
}

#[test]
fn two_workers_have_one_login_and_a_renewal_reaches_the_other() {
    let bench = EngineFixture::new();
    fs::create_dir_all(bench.path("tree")).unwrap();
    let gate = bench.path("tree/gate");
    let mode = Mode::RUSR | Mode::WUSR;
    rustix::fs::mknodat(CWD, &gate, FileType::Fifo, mode, 0).unwrap();
    // For both, so that opening it waits for nobody.
    let mut gate = fs::File::options()
        .read(true)
        .write(true)
        .open(gate)
        .unwrap();
    let (one, other) = (bench.reach("claude", "one"), bench.reach("claude", "other"));
    let (renewed, renewal) = channel();
    let wait = r"read go < gate; grep -o 'access-[a-z]*' ~/.claude/.credentials.json";
    let (first, second) = std::thread::scope(|scope| {
        let renewing = format!("here=$PWD; {BY_RENAME} cd \"$here\"; echo renewed; {wait}");
        let bench = &bench;
        let (one, other) = (&one, &other);
        let first = scope.spawn(move || {
            let mut tell = |line: &str| renewed.send(line == "renewed").unwrap();
            bench.work_telling(one, &renewing, &mut tell).said()
        });
        let second = scope.spawn(move || bench.work(other, wait).said());
        assert!(renewal.recv().unwrap());
        bench.engine.logins.sync().unwrap();
        gate.write_all(b"g\ng\n").unwrap();
        (first.join().unwrap(), second.join().unwrap())
    });
    assert_eq!(first, "renewed\naccess-second\n");
    assert_eq!(second, "access-second\n");
    assert!(text(&bench.user(&CLAUDE)).contains("access-second"));
    assert_eq!((one.release(), other.release()), (None, None));
}

#[test]
fn a_login_leads_to_its_own_hosts_and_to_no_others() {
    let bench = EngineFixture::new();
    let reach = bench.reach("claude", "w");
    let rules = &reach.network.rules;
    for host in ["api.anthropic.com", "platform.claude.com"] {
        assert!(rules.find(host, 443).is_some(), "{host}");
    }
    let others = CODEX.egress().chain(GEMINI.egress());
    for (host, _) in others.map(|host| host.split_once(':').unwrap()) {
        assert!(rules.find(host, 443).is_none(), "{host}");
    }
    let ask = r#"perl -MIO::Socket::INET -e '
        my $socket = IO::Socket::INET->new($ENV{HTTPS_PROXY} =~ s{^http://}{}r) or die $@;
        print $socket "CONNECT chatgpt.com:443 HTTP/1.1\r\nhost: chatgpt.com:443\r\n\r\n";
        print substr(<$socket>, 0, 12), "\n";
    '"#;
    assert_eq!(bench.work(&reach, ask).said(), "HTTP/1.1 403\n");
    let hosts = reach.network.ledger.reached_hosts();
    assert_eq!(hosts.len(), 1, "{hosts:?}");
    assert_eq!((&*hosts[0].host, hosts[0].denied), ("chatgpt.com:443", 1));
    // Without a login there is nothing to be asked there.
    fs::remove_file(bench.user(&GEMINI)).unwrap();
    let without = bench.try_reach("gemini", "x").map(drop).unwrap_err();
    assert!(
        without.to_string().contains("is not logged in"),
        "{without}"
    );
}

#[test]
fn a_gate_sees_no_login_while_a_worker_has_it() {
    let bench = EngineFixture::new();
    let reach = bench.reach("claude", "w");
    let look = "find ~ -mindepth 1; ls -d /home/agent/.claude 2>/dev/null;
        env | grep -i -e anthropic -e proxy; find / -xdev -name .credentials.json 2>/dev/null";
    let command = format!("test -z \"$({look})\"");
    let results = gate(&bench, &command);
    assert!(results.contains("passed: true"), "{results}");
    // The same is found where it is.
    let found = bench.work(&reach, &format!("{command} && exit 3; echo seen"));
    assert_eq!(found.said(), "seen\n");
    assert_eq!(reach.release(), None);
}

/// Runs a check as the gate of a run, and says what came of it.
fn gate(bench: &EngineFixture, command: &str) -> String {
    let head = &bench.engine.head;
    let tip = Tip {
        commit: Commit(head.commit.as_str().to_owned()),
        tree: Tree(head.tree.as_str().to_owned()),
    };
    let id = AttemptId {
        frame: FramePath::root(),
        step: "gate".into(),
        generation: 1,
        slot: 0,
        attempt: 1,
        fence: 1,
    };
    let check = Check {
        name: "look".to_owned(),
        what: CheckKind::Command(command.to_owned()),
        timeout_ms: 60_000,
    };
    let job = Job {
        side_slot: None,
        gate_settings: None,
        baseline: std::sync::Arc::default(),
        old_failures: codeteam_engine::perform::OldFailures::Configured,
        strategies: std::sync::Arc::default(),
        id,
        run: "run".into(),
        branch: "codeteam/run".to_owned(),
        started_from: tip.clone(),
        base: tip.clone(),
        task: "run".to_owned(),
        change: None,
        tree: codeteam_core::ids::Tree(String::new()),
        changed: Vec::new(),
        audit: false,
        started_by: codeteam_core::operator::Operator::Workers,
        operator: codeteam_core::operator::Operator::Workers,
        templates: std::sync::Arc::default(),
        sandbox: SandboxKind::Bubblewrap,
        kind: JobKind::RunGate {
            tree: tip.tree,
            checks: vec![check],
            about: Box::default(),
        },
    };
    let context = JobContext {
        engine: &bench.engine,
        cancel: CancelToken::new(),
        lines: &|_, _| {},
        report: &|_| {},
        busy: &|_, _| {},
    };
    match perform::perform(&job, &context).unwrap() {
        Input::GateFinished { results, .. } => format!("{results:?}"),
        other => panic!("{other:?}"),
    }
}
