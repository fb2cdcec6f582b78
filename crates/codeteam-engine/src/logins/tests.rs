//! Logins made up in temporary directories, and what becomes of them.

mod hostile;
mod sharing;

use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown, symlink};
use std::{fs, io};

use codeteam_sandbox::egress::ApiUpstream;
use serde_json::{Value, json};

use super::*;
use crate::api_keys::{ApiKeys, EndpointSettings, EndpointSource, find_endpoint};
use crate::worker_clis::{ALL, BaseUrlSetting, CLAUDE, CODEX, GEMINI};

/// A user who has logged in to everything, and keeps much else beside it.
struct LoginFixture {
    root: tempfile::TempDir,
    logins: Logins,
}

impl LoginFixture {
    fn new() -> LoginFixture {
        let root = tempfile::tempdir().unwrap();
        let logins = Logins::new(
            Some(&root.path().join("user")),
            &root.path().join("state"),
            |_| None,
        );
        let bench = LoginFixture { root, logins };
        for cli in ALL {
            fs::create_dir_all(bench.user(cli).parent().unwrap()).unwrap();
            bench.write_user(cli, &login(cli, "first", 1));
            for other in ["settings.json", "history.jsonl", "config.toml"] {
                let path = bench.user(cli).with_file_name(other);
                fs::write(path, "the user's own").unwrap();
            }
        }
        bench
    }

    fn user(&self, cli: &WorkerCli) -> PathBuf {
        let directory = self.root.path().join("user").join(cli.directory);
        directory.join(cli.credentials.file)
    }

    fn write_user(&self, cli: &WorkerCli, value: &Value) {
        fs::write(self.user(cli), format!("{value:#}\n")).unwrap();
        let mode = fs::Permissions::from_mode(0o640);
        fs::set_permissions(self.user(cli), mode).unwrap();
    }

    fn base(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    fn lend(&self, cli: &'static WorkerCli, name: &str) -> LoginLoan {
        self.logins
            .lend(cli, None, &self.base(name))
            .unwrap()
            .unwrap()
    }
}

impl LoginLoan {
    fn path(&self) -> PathBuf {
        self.directory.join(self.cli.credentials.file)
    }

    /// Does what the CLI does when it renews its login.
    fn renew(&self, token: &str, time: i64) {
        let mut value = read(&self.path());
        let renewed = login(self.cli, token, time);
        for place in places(self.cli) {
            *value.pointer_mut(place).unwrap() = renewed.pointer(place).unwrap().clone();
        }
        fs::write(self.path(), value.to_string()).unwrap();
    }
}

/// A whole credential file, of which `members` is only a part.
fn login(cli: &WorkerCli, token: &str, time: i64) -> Value {
    let milliseconds = 1_790_000_000_000_i64 + time;
    let text = |kind: &str| format!("{kind}-{token}");
    match cli.name {
        "claude" => json!({
            "mcpOAuth": {"server": {"accessToken": "not for workers"}},
            "claudeAiOauth": {
                "accessToken": text("access"), "refreshToken": text("refresh"),
                "expiresAt": milliseconds, "scopes": ["user:inference"], "subscriptionType": "max",
            },
        }),
        "codex" => json!({
            "auth_mode": "chatgpt",
            "OPENAI_API_KEY": "not for workers",
            "tokens": {
                "id_token": text("id"), "access_token": text("access"),
                "refresh_token": text("refresh"), "account_id": "an account",
            },
            "last_refresh": format!("2026-01-02T03:04:{time:02}.5Z"),
        }),
        _ => json!({
            "access_token": text("access"), "refresh_token": text("refresh"),
            "id_token": "id", "token_type": "Bearer", "scope": "a b",
            "expiry_date": milliseconds, "other": "not for workers",
        }),
    }
}

fn places(cli: &WorkerCli) -> Vec<&'static str> {
    let (worker_clis::CredentialTime::Milliseconds(time) | worker_clis::CredentialTime::Text(time)) =
        cli.credentials.time;
    let tokens = cli.credentials.tokens.iter().copied();
    tokens.chain([time]).collect()
}

fn read(path: &Path) -> Value {
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

fn mode(path: &Path) -> u32 {
    fs::symlink_metadata(path).unwrap().permissions().mode() & 0o7777
}

fn names(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).unwrap();
    let name = |entry: io::Result<fs::DirEntry>| entry.unwrap().file_name().into_string().unwrap();
    let mut names: Vec<_> = entries.map(name).collect();
    names.sort();
    names
}

#[test]
fn each_cli_gets_its_login_and_nothing_else() {
    let bench = LoginFixture::new();
    for cli in ALL {
        let loan = bench.lend(cli, cli.name);
        let home = bench.base(cli.name);
        let bound = (home.join(cli.directory), PathBuf::from(cli.directory));
        assert_eq!(loan.binds(), [bound]);
        assert_eq!(loan.env(), cli.env);
        assert_eq!(names(&loan.directory), [cli.credentials.file]);
        let record = format!("{}.loan", cli.name);
        assert_eq!(names(&home), [cli.directory, &record]);
        assert_eq!(mode(&loan.path()), 0o600);
        assert_eq!(mode(&loan.directory), 0o700);
        let lent = fs::read_to_string(loan.path()).unwrap();
        assert!(!lent.contains("not for workers"), "{lent}");
        for place in places(cli) {
            let user = login(cli, "first", 1);
            assert_eq!(read(&loan.path()).pointer(place), user.pointer(place));
        }
        let record = fs::read_to_string(home.join(record)).unwrap();
        assert!(!record.contains("first"));
    }
}

#[test]
fn a_user_without_a_login_lends_none() {
    let bench = LoginFixture::new();
    let lend = || bench.logins.lend(&CODEX, None, &bench.base("w"));
    bench.write_user(&CODEX, &json!({"OPENAI_API_KEY": "a key", "tokens": null}));
    assert!(lend().unwrap().is_none());
    fs::remove_file(bench.user(&CODEX)).unwrap();
    assert!(lend().unwrap().is_none());
    let mut empty = login(&CLAUDE, "x", 1);
    empty["claudeAiOauth"]["accessToken"] = "".into();
    bench.write_user(&CLAUDE, &empty);
    let none = bench.logins.lend(&CLAUDE, None, &bench.base("w")).unwrap();
    assert!(none.is_none());
    assert!(!bench.base("w").join(CLAUDE.directory).exists());
}

#[test]
fn a_file_that_cannot_be_a_login_is_an_error_that_names_it() {
    let bench = LoginFixture::new();
    let user = bench.user(&GEMINI);
    for (bytes, reason) in [
        (b"{ secret".to_vec(), "it is not JSON"),
        (vec![b' '; 1024 * 1024 + 1], "it is too large"),
    ] {
        fs::write(&user, bytes).unwrap();
        let error = bench
            .logins
            .lend(&GEMINI, None, &bench.base("w"))
            .unwrap_err();
        let text = format!(
            "`{}` is not a credential file of `gemini`: {reason}",
            user.display()
        );
        assert_eq!(error.to_string(), text);
    }
}

#[test]
fn the_users_variables_say_where_logins_are() {
    let bench = LoginFixture::new();
    let elsewhere = bench.base("elsewhere");
    fs::rename(bench.base("user"), &elsewhere).unwrap();
    let logins = Logins::new(
        Some(&bench.base("user")),
        &bench.base("state"),
        |name| match name {
            "CLAUDE_CONFIG_DIR" => Some(elsewhere.join(".claude").into()),
            "CODEX_HOME" => Some("relative".into()),
            "GEMINI_CLI_HOME" => Some(elsewhere.clone().into()),
            _ => None,
        },
    );
    let is_lent = |cli| logins.lend(cli, None, &bench.base("w")).unwrap().is_some();
    assert_eq!(ALL.map(is_lent), [true, false, true]);
}

#[test]
fn a_renewed_login_comes_back_and_nothing_else_changes() {
    let bench = LoginFixture::new();
    for cli in ALL {
        let loan = bench.lend(cli, "w");
        let directory = loan.directory.clone();
        let before = fs::read_to_string(bench.user(cli)).unwrap();
        loan.renew("second", 2);
        assert_eq!(loan.give_back().unwrap(), LoanOutcome::Renewed);
        let after = fs::read_to_string(bench.user(cli)).unwrap();
        let mut expected = before.replace("-first", "-second");
        expected = expected.replace("1790000000001", "1790000000002");
        expected = expected.replace(":01.5Z", ":02.5Z");
        assert_eq!(after, expected);
        assert_eq!(mode(&bench.user(cli)), 0o640);
        assert_eq!(names(bench.user(cli).parent().unwrap()).len(), 4);
        assert!(names(&directory).is_empty());
    }
    let left = names(&bench.base("w"));
    assert_eq!(left, [".claude", ".codex", ".gemini"]);
}

#[test]
fn a_renewed_login_keeps_its_owner() {
    let bench = LoginFixture::new();
    let user = bench.user(&CLAUDE);
    // Only root may; everybody else keeps the file they own.
    let _ = chown(&user, Some(1234), Some(1234));
    let owner = |metadata: &fs::Metadata| (metadata.uid(), metadata.gid());
    let before = fs::metadata(&user).unwrap();
    let loan = bench.lend(&CLAUDE, "w");
    loan.renew("second", 2);
    assert_eq!(loan.give_back().unwrap(), LoanOutcome::Renewed);
    let after = fs::metadata(&user).unwrap();
    assert_eq!(owner(&after), owner(&before));
    assert_ne!(
        after.ino(),
        before.ino(),
        "it is replaced, never written to"
    );
}

#[test]
fn a_file_that_was_written_since_it_was_read_is_not_replaced() {
    let bench = LoginFixture::new();
    let path = bench.user(&CLAUDE);
    let Ok(Some(file)) = files::UserCredentialFile::read(&path) else {
        panic!("it is there");
    };
    bench.write_user(&CLAUDE, &login(&CLAUDE, "meanwhile", 2));
    let replaced = file.replace(b"{}").unwrap();
    assert_eq!(replaced, files::ReplaceOutcome::Overtaken);
    assert_eq!(read(&path), login(&CLAUDE, "meanwhile", 2));
    assert_eq!(names(path.parent().unwrap()).len(), 4);
}

#[test]
fn an_unchanged_login_is_not_written_again() {
    let bench = LoginFixture::new();
    let before = fs::metadata(bench.user(&CLAUDE)).unwrap();
    let loan = bench.lend(&CLAUDE, "w");
    bench.logins.sync().unwrap();
    assert_eq!(loan.give_back().unwrap(), LoanOutcome::Unchanged);
    let after = fs::metadata(bench.user(&CLAUDE)).unwrap();
    assert_eq!(
        files::FileStamp::from(&before),
        files::FileStamp::from(&after)
    );
}

#[test]
fn the_file_behind_the_users_link_is_lent_and_renewed() {
    let bench = LoginFixture::new();
    let real = bench.base("dotfiles");
    fs::rename(bench.user(&CLAUDE), &real).unwrap();
    symlink(&real, bench.user(&CLAUDE)).unwrap();
    let loan = bench.lend(&CLAUDE, "w");
    assert!(!loan.path().is_symlink());
    loan.renew("second", 2);
    assert_eq!(loan.give_back().unwrap(), LoanOutcome::Renewed);
    assert!(bench.user(&CLAUDE).is_symlink());
    assert_eq!(read(&real), login(&CLAUDE, "second", 2));
}

#[test]
fn when_both_have_changed_the_newer_one_stays() {
    for cli in ALL {
        for (worker, expected) in [(3, "worker"), (2, "user"), (1, "user")] {
            let bench = LoginFixture::new();
            let loan = bench.lend(cli, "w");
            loan.renew("worker", worker);
            bench.write_user(cli, &login(cli, "user", 2));
            let outcome = loan.give_back().unwrap();
            assert_eq!(outcome == LoanOutcome::Renewed, expected == "worker");
            let time = worker.max(2);
            assert_eq!(read(&bench.user(cli)), login(cli, expected, time));
        }
    }
}

#[test]
fn a_user_who_has_logged_out_stays_logged_out() {
    let bench = LoginFixture::new();
    let loan = bench.lend(&CLAUDE, "w");
    loan.renew("second", 2);
    fs::remove_file(bench.user(&CLAUDE)).unwrap();
    bench.logins.sync().unwrap();
    assert_eq!(loan.give_back().unwrap(), LoanOutcome::Kept);
    assert!(!bench.user(&CLAUDE).exists());
}

#[test]
fn a_login_that_the_users_cli_found_spent_is_renewed() {
    let bench = LoginFixture::new();
    let loan = bench.lend(&CLAUDE, "w");
    loan.renew("second", 2);
    let mut spent = login(&CLAUDE, "first", 1);
    spent["claudeAiOauth"]["accessToken"] = "".into();
    spent["claudeAiOauth"]["refreshToken"] = "".into();
    spent["claudeAiOauth"]["expiresAt"] = 0.into();
    bench.write_user(&CLAUDE, &spent);
    assert_eq!(loan.give_back().unwrap(), LoanOutcome::Renewed);
    assert_eq!(read(&bench.user(&CLAUDE)), login(&CLAUDE, "second", 2));
}

#[test]
fn what_the_user_has_made_read_only_is_not_replaced_and_nothing_is_lost() {
    let bench = LoginFixture::new();
    let user = bench.user(&CODEX);
    let directory = user.parent().unwrap().to_owned();
    for (locked, unlocked) in [(&user, 0o640), (&directory, 0o755)] {
        bench.write_user(&CODEX, &login(&CODEX, "first", 1));
        let loan = bench.lend(&CODEX, "w");
        loan.renew("second", 2);
        fs::set_permissions(locked, fs::Permissions::from_mode(0o500 & unlocked)).unwrap();
        assert!(bench.logins.sync().is_err());
        let error = loan.give_back().unwrap_err();
        assert!(
            matches!(&error, Error::ReadOnly { what, .. } if what == locked),
            "{error:?}"
        );
        assert!(!format!("{error} {error:?}").contains("second"));
        assert_eq!(read(&user), login(&CODEX, "first", 1));
        assert_eq!(names(&directory).len(), 4);
        fs::set_permissions(locked, fs::Permissions::from_mode(unlocked)).unwrap();
        let recovered = bench.logins.recover(&bench.base("w")).unwrap();
        assert_eq!(recovered, [(&CODEX, LoanOutcome::Renewed)]);
        assert_eq!(read(&user), login(&CODEX, "second", 2));
    }
}

#[test]
fn a_login_that_a_killed_codeteam_had_lent_comes_back() {
    let bench = LoginFixture::new();
    let base = bench.base("w");
    let loan = bench.lend(&GEMINI, "w");
    loan.renew("second", 2);
    let copy = loan.path();
    // Nothing is given back by dropping, as nothing is by a kill.
    drop(loan);
    bench.logins.sync().unwrap();
    assert_eq!(read(&bench.user(&GEMINI)), login(&GEMINI, "first", 1));
    let next = Logins::new(None, &bench.base("state"), |_| None);
    assert_eq!(
        next.recover(&base).unwrap(),
        [(&GEMINI, LoanOutcome::Renewed)]
    );
    assert_eq!(read(&bench.user(&GEMINI)), login(&GEMINI, "second", 2));
    assert!(!copy.exists());
    assert_eq!(names(&base), [".gemini"]);
    assert_eq!(next.recover(&base).unwrap(), []);
    assert_eq!(next.recover(Path::new("/nowhere")).unwrap(), []);
}

#[test]
fn a_killed_codeteam_may_have_recorded_a_loan_it_did_not_make() {
    let bench = LoginFixture::new();
    let loan = bench.lend(&CODEX, "w");
    fs::remove_file(loan.path()).unwrap();
    drop(loan);
    let recovered = bench.logins.recover(&bench.base("w")).unwrap();
    assert!(matches!(&recovered[..], [(_, LoanOutcome::Refused { .. })]));
    assert_eq!(read(&bench.user(&CODEX)), login(&CODEX, "first", 1));
    assert_eq!(names(&bench.base("w")), [".codex"]);
}

#[test]
fn what_was_left_in_a_directory_comes_back_before_the_next_loan() {
    let bench = LoginFixture::new();
    let loan = bench.lend(&CODEX, "w");
    loan.renew("second", 2);
    drop(loan);
    let loan = bench.lend(&CODEX, "w");
    assert_eq!(
        read(&loan.path())["tokens"]["access_token"],
        "access-second"
    );
    assert_eq!(loan.give_back().unwrap(), LoanOutcome::Unchanged);
}

#[test]
fn a_worker_reaches_its_own_servers() {
    let hosts = |cli: &WorkerCli| cli.egress().collect::<Vec<_>>();
    assert_eq!(
        hosts(&CLAUDE),
        ["api.anthropic.com:443", "platform.claude.com:443"]
    );
    assert_eq!(hosts(&CODEX), ["chatgpt.com:443", "auth.openai.com:443"]);
    let google = [
        "cloudcode-pa.googleapis.com:443",
        "oauth2.googleapis.com:443",
    ];
    assert_eq!(hosts(&GEMINI), google);
    assert_eq!(ALL.map(|cli| WorkerCli::find(cli.name)), ALL.map(Some));
}

#[test]
fn a_key_becomes_a_header_of_an_endpoint_and_is_not_printed() {
    let keys = |found: &'static [(&str, &str)]| {
        ApiKeys::from_env(
            found
                .iter()
                .map(|(name, value)| (name.into(), value.into())),
        )
    };
    let all = keys(&[
        ("ANTHROPIC_API_KEY", "k1"),
        ("OPENAI_API_KEY", "k2"),
        ("GEMINI_API_KEY", "k3"),
    ]);
    let codex = find_endpoint(&CODEX, &all, EndpointSettings::default())
        .unwrap()
        .unwrap();
    assert_eq!(codex.base_url, BaseUrlSetting::Option("openai_base_url"));
    assert_eq!(codex.placeholder, "CODEX_API_KEY");
    let headers = ALL.map(|cli| {
        let endpoint = find_endpoint(cli, &all, EndpointSettings::default())
            .unwrap()
            .unwrap();
        let (name, value) = endpoint.header.unwrap();
        format!("{name}: {}", value.reveal())
    });
    assert_eq!(
        headers,
        [
            "x-api-key: k1",
            "authorization: Bearer k2",
            "x-goog-api-key: k3"
        ]
    );
    let printed = format!("{all:?} {codex:?}");
    assert!(
        !printed.contains("k1") && !printed.contains("k2"),
        "{printed}"
    );
    let none = keys(&[("OPENAI_API_KEY", ""), ("CODEX_API_KEY", "two\r\nlines")]);
    assert_eq!(
        ALL.map(|cli| find_endpoint(cli, &none, EndpointSettings::default())),
        [const { Ok(None) }; 3]
    );
}

#[test]
fn the_users_server_takes_the_place_of_the_clis_own() {
    let keys = |url: &'static str| {
        ApiKeys::from_env([
            ("GEMINI_API_KEY".into(), "key".into()),
            ("ANTHROPIC_API_KEY".into(), "key".into()),
            ("ANTHROPIC_BASE_URL".into(), url.into()),
        ])
    };
    let gateway = keys("http://gateway.example:8080/claude");
    let claude = find_endpoint(&CLAUDE, &gateway, EndpointSettings::default())
        .unwrap()
        .unwrap();
    assert_eq!(claude.source, EndpointSource::User);
    assert_eq!(
        claude.upstream,
        ApiUpstream::parse("http://gateway.example:8080/claude").unwrap()
    );
    let gemini = find_endpoint(&GEMINI, &gateway, EndpointSettings::default())
        .unwrap()
        .unwrap();
    assert_eq!(gemini.source, EndpointSource::Cli);
    assert_eq!(
        gemini.upstream,
        ApiUpstream::parse(GEMINI.keys.upstream).unwrap()
    );
    let bad = find_endpoint(
        &CLAUDE,
        &keys("https://me:hush@gateway.example"),
        EndpointSettings::default(),
    )
    .unwrap_err();
    let printed = format!(
        "{bad} {bad:?} {:?}",
        keys("https://me:hush@gateway.example")
    );
    assert!(printed.contains("ANTHROPIC_BASE_URL"), "{printed}");
    assert!(!printed.contains("hush"), "{printed}");
}

#[test]
fn the_users_configuration_names_another_key_and_server() {
    let keys = ApiKeys::from_env([
        ("ANTHROPIC_API_KEY".into(), "first".into()),
        ("WORK_KEY".into(), "second".into()),
        ("PASSWORD".into(), "never taken".into()),
    ]);
    let said = |key, base_url| {
        let said = EndpointSettings {
            key,
            base_url,
            keyless: false,
        };
        find_endpoint(&CLAUDE, &keys, said)
    };
    let work = said(Some("WORK_KEY"), None).unwrap().unwrap();
    assert_eq!(work.header.unwrap().1.reveal(), "second");
    let missing = said(Some("PASSWORD"), None).unwrap_err().to_string();
    assert!(missing.contains("`PASSWORD`") && !missing.contains("never taken"));
    let near = said(None, Some("http://127.0.0.1:11434")).unwrap().unwrap();
    assert_eq!(
        (near.source, near.url.as_str()),
        (EndpointSource::User, "http://127.0.0.1:11434")
    );
    // A server of the user's own may need no key.
    let local = EndpointSettings {
        key: None,
        base_url: Some("http://127.0.0.1:11434/v1"),
        keyless: false,
    };
    let local = find_endpoint(&CODEX, &keys, local).unwrap().unwrap();
    assert_eq!(local.header, None);
    assert!(
        find_endpoint(&CODEX, &keys, EndpointSettings::default())
            .unwrap()
            .is_none()
    );
    // Who has no login asks it even if only a variable names it.
    let keys = ApiKeys::from_env([("OPENAI_BASE_URL".into(), "http://127.0.0.1:1/v1".into())]);
    assert!(
        find_endpoint(&CODEX, &keys, EndpointSettings::default())
            .unwrap()
            .is_none()
    );
    let keyless = EndpointSettings {
        keyless: true,
        ..EndpointSettings::default()
    };
    let local = find_endpoint(&CODEX, &keys, keyless).unwrap().unwrap();
    assert_eq!(
        (local.header, local.url.as_str()),
        (None, "http://127.0.0.1:1/v1")
    );
}
