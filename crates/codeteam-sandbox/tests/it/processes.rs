//! Other processes, what a command inherits, and how it is named.

use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::os::fd::OwnedFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::process::Stdio;

use codeteam_sandbox::{Lifeline, SandboxProfile};

use crate::harness::{SECRET, TestHost, command, end, everywhere, spawn, unconfined};

#[test]
fn environments_and_command_lines_of_the_host_are_not_seen() {
    let host = TestHost::new();
    let attack = "cat /proc/*/environ /proc/*/cmdline /proc/*/task/*/environ /proc/*/maps; env
                  ls -d /proc/[0-9]*; ls -l /proc/*/exe /proc/*/cwd";
    let own = unconfined(
        &host.tree(),
        "cat /proc/$PPID/environ /proc/self/environ; env",
    );
    assert!(own.said().contains(SECRET));
    for case in everywhere() {
        let said = host.sh(case, attack).said();
        assert!(!said.contains(SECRET), "{said}");
        for option in ["--args", "--ro-bind", "bwrap", "spec-"] {
            assert!(!said.contains(option), "{option}: {said}");
        }
        assert!(
            said.lines()
                .filter(|line| line.starts_with("/proc/"))
                .count()
                < 8
        );
    }
}

#[test]
fn the_environment_is_the_policys() {
    let host = TestHost::new();
    for case in everywhere() {
        let mut policy = host.policy(case);
        policy.set_env("GREETING", "hello world");
        let ended = host.run(case, policy, "env", &[]);
        let mut seen: Vec<_> = ended.stdout.lines().collect();
        seen.sort_unstable();
        // Podman's own, where an image has none.
        let more = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
        let path = match case.backend.container_backend() {
            None => "PATH=/usr/local/bin:/usr/bin:/bin",
            Some(_) => more,
        };
        assert_eq!(
            seen,
            [
                "GREETING=hello world",
                "HOME=/home/agent",
                "LANG=C.UTF-8",
                "LOGNAME=agent",
                path,
                &format!("PWD={}", host.tree().display()),
                "TMPDIR=/tmp",
                "USER=agent",
            ]
        );
    }
}

#[test]
fn what_a_command_is_given_is_on_no_command_line() {
    let host = TestHost::new();
    let mut policy = host.policy(SandboxProfile::Worker);
    policy.set_env("TOKEN", SECRET);
    let confined = host.confine(
        SandboxProfile::Worker,
        policy,
        "sh",
        &["-c", "echo $TOKEN; read line; sleep 1000"],
    );
    let (lifeline, mut child) = spawn(&confined);
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    stdout.read_line(&mut line).unwrap();
    assert_eq!(line.trim(), SECRET);
    // By now the shim is bubblewrap, under the same process id.
    let of_bwrap = |file: &str| std::fs::read(format!("/proc/{}/{file}", child.id())).unwrap();
    let command_line = String::from_utf8(of_bwrap("cmdline")).unwrap();
    assert!(command_line.contains("--args"), "{command_line}");
    assert!(!command_line.contains(SECRET), "{command_line}");
    assert_eq!(of_bwrap("environ"), b"");
    drop(lifeline);
    child.wait().unwrap();
}

#[test]
fn only_the_standard_streams_arrive() {
    let host = TestHost::new();
    let secret = host.write("secret", SECRET);
    for case in everywhere() {
        let script = "ls /proc/$$/fd; cat /proc/1/fd/9; cat /proc/$$/fd/9; cat <&9";
        let confined = host.confine(case, host.policy(case), "sh", &["-c", script]);
        // A careless ancestor of the orchestrator has left a file open.
        let careless = format!("exec 9< '{}'; exec \"$@\"", secret.display());
        let mut args = vec!["-c".into(), careless.into(), "sh".into()];
        args.push(confined.program.clone().into());
        args.extend(confined.args.iter().cloned());
        let (_lifeline, stdin) = Lifeline::new().unwrap();
        let mut child = command(Path::new("sh"), &args)
            .stdin(stdin)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let ended = end(&mut child);
        assert_eq!(ended.stdout, "0\n1\n2\n", "{ended:?}");
        assert!(!ended.said().contains(SECRET));
    }
}

#[test]
fn a_stream_that_could_be_opened_anew_is_refused() {
    let host = TestHost::new();
    for case in everywhere() {
        let log = host.write("log", "precious\n");
        let run = |stdin: Stdio, stdout: Stdio| {
            let script = "echo > /proc/self/fd/1; : > /proc/1/fd/1; echo started >&2";
            let confined = host.confine(case, host.policy(case), "sh", &["-c", script]);
            let child = command(&confined.program, &confined.args)
                .stdin(stdin)
                .stdout(stdout)
                .stderr(Stdio::piped())
                .spawn()
                .unwrap();
            let output = child.wait_with_output().unwrap();
            (
                output.status.code(),
                String::from_utf8_lossy(&output.stderr).into_owned(),
            )
        };
        let file = || File::options().append(true).open(&log).unwrap();

        let (lifeline, stdin) = Lifeline::new().unwrap();
        let (code, said) = run(stdin, file().into());
        assert_eq!(code, Some(125));
        assert!(said.contains("descriptor 1 of the sandbox shim must be a pipe"));
        drop(lifeline);

        // A socket that somebody listens at is no better.
        let place = host.path("listening");
        let listener = UnixListener::bind(&place).unwrap();
        let (lifeline, stdin) = Lifeline::new().unwrap();
        let named = OwnedFd::from(UnixStream::connect(&place).unwrap());
        let (code, said) = run(stdin, named.into());
        assert_eq!(code, Some(125));
        assert!(said.contains("one of a pair of sockets"), "{said}");
        drop((lifeline, listener));
        std::fs::remove_file(place).unwrap();

        for stdin in [Stdio::null(), file().into()] {
            let (code, said) = run(stdin, Stdio::null());
            assert_eq!(code, Some(125));
            assert!(said.contains("descriptor 0 of the sandbox shim must be a lifeline"));
        }
        assert_eq!(std::fs::read_to_string(&log).unwrap(), "precious\n");
    }
}

#[test]
fn the_kernels_settings_cannot_be_written() {
    let host = TestHost::new();
    // The same value again: were it to succeed, the host would not suffer.
    let attack = "for f in kernel/core_pattern kernel/hostname vm/drop_caches kernel/modprobe; do
                      cat /proc/sys/$f > /tmp/value 2>/dev/null
                      test -w /proc/sys/$f && echo $f is writable
                      cat /tmp/value > /proc/sys/$f && echo wrote $f
                  done 2>/dev/null
                  mount -o remount,rw /proc/sys && echo remounted
                  find /proc -path '/proc/[0-9]*' -prune -o -path /proc/self -prune \
                      -o -path /proc/thread-self -prune -o -type f -writable -print |
                      while read file; do [ ! -f $file ] || echo $file; done";
    for case in everywhere() {
        let ended = host.sh(case, attack);
        assert_eq!(ended.stdout, "", "{ended:?}");
    }
}

#[test]
fn processes_of_the_host_get_no_signals() {
    let host = TestHost::new();
    let (_lifeline, stdin) = Lifeline::new().unwrap();
    let mut bystander = command(Path::new("cat"), &[])
        .stdin(stdin)
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let attack = format!(
        "trap '' TERM; kill -KILL {pid}; kill -TERM 0; kill -KILL -{pid}; kill -0 {pid} && echo seen",
        pid = bystander.id()
    );
    for case in everywhere() {
        assert_eq!(host.sh(case, &attack).stdout, "");
        assert!(bystander.try_wait().unwrap().is_none());
    }
    bystander.kill().unwrap();
    bystander.wait().unwrap();
}

#[test]
fn the_first_process_cannot_be_stopped_killed_or_looked_into() {
    // Stopped, or robbed of its end of the lifeline, it could not watch it.
    let host = TestHost::new();
    let attack = "for s in KILL STOP TERM HUP INT SEGV BUS SEGV ABRT; do kill -$s 1; done
                  readlink /proc/1/fd/0 /proc/1/exe; cat /proc/1/environ /proc/1/maps
                  cat /proc/1/mem; cat /proc/1/fd/0; cat < /proc/1/fd/0; echo x > /proc/1/fd/0
                  echo -17 > /proc/1/oom_score_adj
                  (sleep 0 & wait); echo alive; exit 7";
    for case in everywhere() {
        let ended = host.sh(case, attack);
        let told = (ended.code, ended.stdout.as_str());
        assert_eq!(told, (Some(7), "alive\n"), "{ended:?}");
    }
}

#[test]
fn arguments_stay_arguments() {
    let host = TestHost::new();
    for case in everywhere() {
        let ended = host.run(
            case,
            host.policy(case),
            "printf",
            &["[%s]", "--bind", "/", "/", "--", "", "-c"],
        );
        assert_eq!(ended.stdout, "[--bind][/][/][--][][-c]");

        for program in ["--bind", "-x", "--"] {
            let ended = host.run(case, host.policy(case), program, &["/", "/", "id"]);
            assert_eq!(ended.code, Some(127), "{ended:?}");
            assert!(
                ended
                    .stderr
                    .contains(&format!("could not start `{program}`"))
            );
        }
    }
}

#[test]
fn the_exit_code_is_the_commands() {
    let host = TestHost::new();
    for case in everywhere() {
        for (script, code) in [
            ("exit 3", 3),
            ("kill -KILL $$", 137),
            ("kill -TERM $$", 143),
        ] {
            assert_eq!(host.sh(case, script).code, Some(code));
        }
        let missing = host.run(case, host.policy(case), "no-such-program", &[]);
        assert_eq!(missing.code, Some(127));
        let plain = host.tree().join("src/main.txt");
        let plain = plain.to_str().unwrap();
        assert_eq!(
            host.run(case, host.policy(case), plain, &[]).code,
            Some(126)
        );
    }
}

#[test]
fn what_the_shim_was_told_is_gone_from_the_disk() {
    let host = TestHost::new();
    for case in everywhere() {
        let confined = host.confine(case, host.policy(case), "true", &[]);
        let specs = || {
            let entries = std::fs::read_dir(host.path("")).unwrap();
            let names = entries.map(|entry| entry.unwrap().file_name());
            names
                .filter(|name| name.to_str().unwrap().starts_with("spec"))
                .count()
        };
        assert_eq!(specs(), 1);
        let (_lifeline, mut child) = spawn(&confined);
        assert_eq!(end(&mut child).code, Some(0));
        assert_eq!(specs(), 0);
    }
}
