//! What a command sees and changes of the host's files.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use codeteam_sandbox::toolchains::Toolchains;
use codeteam_sandbox::{MountAccess, PathKind};

use crate::harness::{BOTH, SECRET, TestHost, everywhere, unconfined};

/// Every file below a directory with what it says.
fn files(directory: &Path) -> BTreeMap<PathBuf, String> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let kind = path.symlink_metadata().unwrap();
        if kind.is_dir() {
            found.extend(files(&path));
        } else if kind.is_symlink() {
            let to = fs::read_link(&path).unwrap();
            found.insert(path, format!("-> {}", to.display()));
        } else {
            let text = String::from_utf8_lossy(&fs::read(&path).unwrap()).into_owned();
            found.insert(path, text);
        }
    }
    found
}

#[test]
fn secrets_cannot_be_read() {
    let host = TestHost::new();
    let all = ["home/.ssh/id_ed25519", "repo/.codeteam/state.db", "shadow"];
    for secret in all.map(|name| host.write(name, SECRET)) {
        let shown = secret.display();
        let name = secret.strip_prefix(host.path("")).unwrap().display();
        let attack = format!(
            "cat {shown}; cat ../{name}; ln -s {shown} link; cat link; rm -f link
             cat /proc/self/root{shown}; cat /proc/1/root{shown}; cat /proc/self/cwd/../{name}"
        );
        assert!(unconfined(&host.tree(), &attack).said().contains(SECRET));
        // Inside there is so little that it can be searched as a whole.
        let base = host.path("");
        let search = format!(
            "{attack}; grep -rs {SECRET} {} /home /root /etc /var /run",
            base.display()
        );
        for case in everywhere() {
            let ended = host.sh(case, &search);
            assert!(!ended.said().contains(SECRET), "{case:?}: {ended:?}");
        }
    }
}

#[test]
fn the_hosts_own_secrets_are_not_there() {
    let host = TestHost::new();
    let home = std::env::home_dir().unwrap();
    // A home that the work tree lies in exists inside, because the work tree has the path it has on
    // the host, but nothing is in it except the way there. So look for what every home holds.
    let attack = format!(
        "for path in /etc/shadow /etc/gshadow /etc/ssl/private /etc/sudoers /var/lib /sys \
         /run/docker.sock /run/dbus /boot '{spec}'; do ls -d \"$path\" 2>/dev/null; done
         for home in /root '{home}'; do
             for name in .ssh .profile .bashrc .cargo .config .cache .local; do ls -d \"$home/$name\" 2>/dev/null; done
             ls -A \"$home\" 2>/dev/null | head -n 2 | tail -n +2
         done; true",
        home = home.display(),
        spec = host.path("spec").display(),
    );
    for profile in BOTH {
        let ended = host.sh(profile, &attack);
        assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), ""));
    }
}

#[test]
fn only_the_work_tree_can_be_written() {
    let host = TestHost::new();
    let sibling = host.write("sibling/README", "untouched");
    let before = files(&host.path(""));
    let usr = fs::metadata("/usr/bin").unwrap().ctime();
    let attack = format!(
        "echo x > {sibling}; ln -s {parent} link; echo x > link/README; rm -f link
         echo x > ../sibling/README; echo x > ../new; mkdir ../../new
         for d in / /usr /usr/bin /etc /dev /run /run/codeteam /var /proc /proc/sys/kernel; do
             touch $d/pwned && echo wrote $d
         done
         for f in /etc/passwd /etc/ld.so.cache; do
             echo x >> $f && echo wrote $f
             chmod 0777 $f && echo changed $f
         done
         rm -f /etc/passwd /etc/ld.so.cache /run/codeteam/shim && echo removed
         chmod 0777 /usr /usr/bin && echo changed",
        sibling = sibling.display(),
        parent = sibling.parent().unwrap().display(),
    );
    for case in everywhere() {
        let ended = host.sh(case, &attack);
        assert_eq!(ended.stdout, "", "{ended:?}");
        assert_eq!(files(&host.path("")), before);
        assert_eq!(fs::metadata("/usr/bin").unwrap().ctime(), usr);

        host.sh(case, "echo changed > src/main.txt");
        let changed = fs::read_to_string(host.tree().join("src/main.txt")).unwrap();
        assert_eq!(changed, "changed\n");
        fs::write(host.tree().join("src/main.txt"), "hello\n").unwrap();
    }
}

#[test]
fn a_read_only_work_tree_cannot_be_written() {
    let host = TestHost::new();
    let before = files(&host.path(""));
    for case in everywhere() {
        let mut policy = host.policy(case);
        policy.entries.truncate(policy.entries.len() - 2);
        policy.show(&host.tree(), MountAccess::ReadOnly);
        let attack = "cat src/main.txt; echo x > src/main.txt; rm -rf src; touch new; chmod 0 src";
        let ended = host.run(case, policy, "sh", &["-c", attack]);
        assert_eq!(ended.stdout, "hello\n");
        assert_eq!(files(&host.path("")), before);
    }
}

#[test]
fn the_pointer_to_the_git_directory_stays() {
    let host = TestHost::new();
    let before = files(&host.tree());
    let attack = "echo gitdir: /evil > .git; mv .git git; rm -f .git; ln -sfn /evil .git
                  rm -rf .git; mkdir .git; mv src .git; unlink .git";
    for case in everywhere() {
        host.sh(case, attack);
        assert_eq!(files(&host.tree()), before);
    }
}

#[test]
fn the_repository_behind_cannot_be_changed() {
    let host = TestHost::new();
    for name in ["hooks/pre-commit", "config", "info/attributes", "commondir"] {
        host.write(&format!("repo/.git/{name}"), "original");
    }
    host.write("repo/.git/objects/aa/bb", "object");
    let before = files(&host.path("repo"));
    let git = host.path("repo/.git");
    let git = format!("'{}'", git.display());
    let attack = format!(
        "cat {git}/objects/aa/bb
         rm -rf {git}/objects/aa; echo x > {git}/objects/aa/bb; touch {git}/objects/cc
         for f in hooks/pre-commit config info/attributes commondir; do
             cat {git}/$f; mkdir -p {git}/hooks {git}/info; echo evil > {git}/$f
         done"
    );
    for case in everywhere() {
        let mut policy = host.policy(case);
        policy.show(&host.path("repo/.git/objects"), MountAccess::ReadOnly);
        let ended = host.run(case, policy, "sh", &["-c", &attack]);
        assert_eq!(ended.stdout, "object");
        assert_eq!(files(&host.path("repo")), before);
    }
}

#[test]
fn hidden_files_are_not_seen() {
    let host = TestHost::new();
    host.write("tree/.env", SECRET);
    host.write("tree/internal/key", SECRET);
    let before = files(&host.tree());
    let attack = "cat .env internal/key; grep -r secret .; rm -rf .env internal; mv internal x
                  echo x > .env; touch internal/new; mv .env y; ls internal";
    assert!(unconfined(&host.tree(), "cat .env").said().contains(SECRET));
    for case in everywhere() {
        let mut policy = host.policy(case);
        policy.hide(&host.tree().join(".env"), PathKind::File);
        policy.hide(&host.tree().join("internal"), PathKind::Directory);
        let ended = host.run(case, policy, "sh", &["-c", attack]);
        assert!(!ended.said().contains(SECRET), "{ended:?}");
        assert_eq!(files(&host.tree()), before);
    }
}

#[test]
fn a_link_left_in_the_tree_redirects_no_mount() {
    // What a first attempt leaves behind, the second must not follow.
    let host = TestHost::new();
    host.write("sibling/private/key", SECRET);
    symlink(host.path("sibling"), host.tree().join("link")).unwrap();
    let before = files(&host.path(""));
    for case in everywhere() {
        for (path, access) in [
            ("tree/link", MountAccess::Writable),
            ("tree/link/private", MountAccess::ReadOnly),
            ("tree/missing", MountAccess::ReadOnly),
        ] {
            let mut policy = host.policy(case);
            policy.show(&host.path(path), access);
            let ended = host.run(case, policy, "sh", &["-c", "echo started"]);
            assert_eq!((ended.code, ended.stdout.as_str()), (Some(125), ""));
            assert!(ended.stderr.contains(path), "{ended:?}");
        }
        let mut policy = host.policy(case);
        policy.hide(&host.path("tree/link/private"), PathKind::Directory);
        let ended = host.run(case, policy, "sh", &["-c", "echo started"]);
        assert_eq!((ended.code, ended.stdout.as_str()), (Some(125), ""));
        assert_eq!(files(&host.path("")), before);
    }
}

#[test]
fn paths_must_be_plain() {
    let host = TestHost::new();
    for case in everywhere() {
        for path in [host.path("tree/../sibling"), "relative".into()] {
            let mut policy = host.policy(case);
            policy.show(&path, MountAccess::ReadOnly);
            let ended = host.run(case, policy, "sh", &["-c", "echo started"]);
            assert_eq!((ended.code, ended.stdout.as_str()), (Some(125), ""));
            assert!(
                ended.stderr.contains("not a plain absolute path"),
                "{ended:?}"
            );
        }
    }
}

#[test]
fn no_privileged_file_can_be_made() {
    let host = TestHost::new();
    let attack = r#"
        cp /bin/sh shell
        chmod u+s shell; chmod g+s shell; chmod 6755 shell; install -m 4755 /bin/sh installed
        perl -e 'umask 0; use Fcntl; sysopen(F, "opened", O_CREAT|O_WRONLY, 04755);
                 sysopen(F, "tmpfile", O_CREAT|O_WRONLY|O_EXCL, 02755);
                 open(G, ">", "file"); chmod(04755, *G)'
        perl -e 'chmod 04755, "shell"; mkdir "directory", 02777; chmod 02777, "directory"'
        mknod device c 1 3; mknod block b 8 0
        setfacl -m u:0:rwx shell; setcap cap_sys_admin+ep shell
    "#;
    unconfined(&host.tree(), "cp /bin/sh control; chmod u+s control");
    let mode = |path: PathBuf| path.symlink_metadata().unwrap().permissions().mode();
    assert_eq!(mode(host.tree().join("control")) & 0o4000, 0o4000);
    fs::remove_file(host.tree().join("control")).unwrap();
    for case in everywhere() {
        host.sh(case, attack);
        assert!(host.tree().join("shell").exists());
        for entry in fs::read_dir(host.tree()).unwrap() {
            let path = entry.unwrap().path();
            let mode = mode(path.clone());
            assert_eq!(mode & 0o6000, 0, "{} {mode:o}", path.display());
            assert!(!matches!(mode & 0o170_000, 0o020_000 | 0o060_000));
        }
    }
}

#[test]
fn the_hosts_devices_keep_their_modes() {
    let host = TestHost::new();
    let devices = ["null", "zero", "full", "random", "urandom", "tty"];
    let changed = || devices.map(|name| fs::metadata(format!("/dev/{name}")).unwrap().ctime_nsec());
    let before = changed();
    for case in everywhere() {
        // The same mode again: were it to succeed, the host would not suffer.
        let attack = "for d in null zero full random urandom tty; do
                          chmod 0666 /dev/$d && echo changed $d
                      done
                      echo works > /dev/null && head -c 1 /dev/urandom > /dev/null && echo fine";
        assert_eq!(host.sh(case, attack).stdout, "fine\n");
        assert_eq!(changed(), before);
    }
}

#[test]
fn a_build_has_what_it_needs() {
    let host = TestHost::new();
    let script = "set -e; touch ~/file /tmp/file /dev/shm/file /var/tmp/other; cd; pwd
                  test -s /etc/passwd; test \"$(id -un)\" = agent; test \"$(hostname)\" = sandbox
                  mkfifo /tmp/pipe; ln -s a /tmp/b; chmod 755 /tmp/file; mkdir -p /tmp/x/y";
    for case in everywhere() {
        let ended = host.sh(case, script);
        let told = (ended.code, ended.stdout.as_str(), ended.stderr.as_str());
        assert_eq!(told, (Some(0), "/home/agent\n", ""));
    }
}

#[test]
fn a_toolchain_in_the_users_home_runs_and_the_home_stays_hidden() {
    let host = TestHost::new();
    let tool = host.write(
        "home/.nvm/v22/bin/node",
        "#!/bin/sh\ncat \"${0%/*}/../lib/version\"\n",
    );
    fs::set_permissions(&tool, fs::Permissions::from_mode(0o755)).unwrap();
    host.write("home/.nvm/v22/lib/version", "v22\n");
    host.write("home/.npmrc", SECRET);
    let home = host.path("home");
    let found = Toolchains::find(tool.parent().unwrap().as_os_str(), &home, &[]);
    for case in everywhere() {
        let mut policy = host.policy(case);
        found.apply_to_policy(&mut policy);
        let attack = format!(
            "node; cat '{home}/.npmrc'; echo x > '{home}/.nvm/v22/lib/version'; rm '{tool}'",
            home = home.display(),
            tool = tool.display()
        );
        let ended = host.run(case, policy, "sh", &["-c", &attack]);
        assert_eq!(ended.stdout, "v22\n", "{ended:?}");
        assert!(!ended.said().contains(SECRET) && tool.exists());
    }
}

#[test]
fn git_works_on_borrowed_objects() {
    let host = TestHost::new();
    let prepare = format!(
        "set -e; cd '{base}'; export GIT_CONFIG_NOSYSTEM=1 HOME='{base}'
         git init -q repo && cd repo && echo hello > file && git add file
         git -c user.name=x -c user.email=x@localhost commit -qm first && cd ..
         rm -r tree && mkdir tree && git init -q --separate-git-dir git tree
         echo '{base}/repo/.git/objects' > git/objects/info/alternates
         git -C tree reset -q --hard $(git -C repo rev-parse HEAD)",
        base = host.path("").display()
    );
    let prepared = unconfined(&host.path(""), &prepare);
    assert_eq!(prepared.code, Some(0), "{prepared:?}");
    let before = files(&host.path("repo"));
    for case in everywhere() {
        let mut policy = host.policy(case);
        policy.show(&host.path("git"), MountAccess::Writable);
        policy.show(&host.path("repo/.git/objects"), MountAccess::ReadOnly);
        let work = "set -e; git status --porcelain; echo more >> file; git diff --stat | tail -n 1
                    git -c user.name=x -c user.email=x@localhost commit -qam second
                    git log --format=%s -n 1; git gc -q --prune=now; git fsck --no-progress";
        let ended = host.run(case, policy, "sh", &["-c", work]);
        let told = (ended.code, ended.stdout.as_str());
        let wanted = " 1 file changed, 1 insertion(+)\nsecond\n";
        assert_eq!(told, (Some(0), wanted), "{ended:?}");
        assert_eq!(files(&host.path("repo")), before);
    }
}
