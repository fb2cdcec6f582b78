//! Workers that leave something else than a renewed login.

use rustix::fs::{CWD, FileType, Mode, mknodat};

use super::*;

/// Lets a worker do `harm` to its copy: the user's file stays as it is, byte for byte.
fn refuses(harm: impl Fn(&Path)) -> &'static str {
    let bench = LoginFixture::new();
    let before = fs::read(bench.user(&CODEX)).unwrap();
    let loan = bench.lend(&CODEX, "w");
    harm(&loan.path());
    bench.logins.sync().unwrap();
    let outcome = loan.give_back().unwrap();
    assert_eq!(fs::read(bench.user(&CODEX)).unwrap(), before);
    match outcome {
        LoanOutcome::Refused { reason, .. } => reason,
        other => panic!("{other:?}"),
    }
}

fn writes(value: &Value) -> &'static str {
    refuses(|path| fs::write(path, value.to_string()).unwrap())
}

#[test]
fn what_is_not_a_regular_file_is_not_read() {
    let tempting = tempfile::NamedTempFile::new().unwrap();
    let renewed = login(&CODEX, "second", 2).to_string();
    fs::write(tempting.path(), renewed).unwrap();
    let link = refuses(|path| {
        fs::remove_file(path).unwrap();
        symlink(tempting.path(), path).unwrap();
    });
    assert_eq!(link, "it cannot be opened as a regular file");
    let directory = refuses(|path| {
        fs::remove_file(path).unwrap();
        fs::create_dir(path).unwrap();
    });
    assert_eq!(directory, "it is not a regular file");
    let pipe = refuses(|path| {
        fs::remove_file(path).unwrap();
        mknodat(CWD, path, FileType::Fifo, Mode::RWXU, 0).unwrap();
    });
    assert_eq!(pipe, "it is not a regular file");
    assert_eq!(refuses(|path| fs::remove_file(path).unwrap()), "it is gone");
}

#[test]
fn what_is_too_large_or_no_login_is_refused() {
    let large = format!("{}{}", login(&CODEX, "x", 2), " ".repeat(10_000_000));
    let reason = refuses(|path| fs::write(path, &large).unwrap());
    assert_eq!(reason, "it is too large");
    for text in ["", "{", "[]", "null", "{}", "\"text\"", "{\"tokens\": 1}"] {
        let reason = refuses(|path| fs::write(path, text).unwrap());
        assert_eq!(reason, "it does not have a login", "{text}");
    }
    let deep = "[".repeat(100_000);
    refuses(|path| fs::write(path, &deep).unwrap());
}

#[test]
fn tokens_must_be_tokens() {
    let hostile = [
        json!(""),
        json!("two\r\nlines"),
        json!("with space"),
        json!(null),
        json!(7),
        json!({"command": "x"}),
    ];
    for value in hostile {
        for place in CODEX.credentials.tokens {
            let mut copy = login(&CODEX, "second", 2);
            *copy.pointer_mut(place).unwrap() = value.clone();
            writes(&copy);
        }
        let mut copy = login(&CODEX, "second", 2);
        copy["last_refresh"] = value;
        writes(&copy);
    }
}

#[test]
fn another_account_is_refused() {
    let mut copy = login(&CODEX, "second", 2);
    copy["tokens"]["account_id"] = "the worker's".into();
    assert_eq!(writes(&copy), "it is another account's");
}

#[test]
fn only_tokens_are_taken_from_a_copy() {
    let bench = LoginFixture::new();
    let loan = bench.lend(&CLAUDE, "w");
    let mut copy = login(&CLAUDE, "second", 2);
    copy["apiKeyHelper"] = "a command".into();
    copy["mcpOAuth"] = json!({"evil": {}});
    copy["claudeAiOauth"]["scopes"] = json!(["everything"]);
    copy["claudeAiOauth"]["helper"] = "a command".into();
    fs::write(loan.path(), copy.to_string()).unwrap();
    assert_eq!(loan.give_back().unwrap(), LoanOutcome::Renewed);
    assert_eq!(read(&bench.user(&CLAUDE)), login(&CLAUDE, "second", 2));
}

#[test]
fn a_link_in_the_place_of_a_copy_is_replaced_and_not_followed() {
    let bench = LoginFixture::new();
    let loan = bench.lend(&CLAUDE, "w");
    let target = bench.base("target");
    fs::write(&target, "untouched").unwrap();
    fs::remove_file(loan.path()).unwrap();
    symlink(&target, loan.path()).unwrap();
    bench.write_user(&CLAUDE, &login(&CLAUDE, "second", 2));
    bench.logins.sync().unwrap();
    assert_eq!(fs::read(&target).unwrap(), b"untouched");
    let lent = read(&loan.path());
    assert_eq!(lent["claudeAiOauth"]["accessToken"], "access-second");
    assert!(!loan.path().is_symlink());
}

#[test]
fn a_worker_in_the_way_of_its_own_login_harms_nobody_else() {
    let bench = LoginFixture::new();
    let (hostile, other) = (bench.lend(&CLAUDE, "hostile"), bench.lend(&CLAUDE, "other"));
    fs::remove_file(hostile.path()).unwrap();
    fs::create_dir(hostile.path()).unwrap();
    bench.write_user(&CLAUDE, &login(&CLAUDE, "second", 2));
    bench.logins.sync().unwrap();
    let lent = read(&other.path());
    assert_eq!(lent["claudeAiOauth"]["accessToken"], "access-second");
    assert_eq!(names(&bench.base("hostile")), [".claude", "claude.loan"]);
}
