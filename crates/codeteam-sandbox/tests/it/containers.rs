//! Containers, where they start: an image made from this host's packages, and
//! what only concerns them.

use std::ffi::OsStr;
use std::fs;
use std::io::{BufRead as _, BufReader, Write as _, stderr};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::Path;
use std::process::Stdio;
use std::sync::OnceLock;

use codeteam_sandbox::container::image::{self, ImageRecipe};
use codeteam_sandbox::container::{ContainerEngine, ContainerEngineKind};
use codeteam_sandbox::probe::{self, ContainersUnavailable};
use codeteam_sandbox::{MountAccess, SandboxBackend, SandboxProfile};

use crate::harness::{SECRET, SandboxCase, TestHost, command, shim, spawn, unconfined};

/// The backend, or nothing where there is none and none is demanded.
#[expect(
    clippy::disallowed_methods,
    reason = "the engine is where the tests' own PATH says"
)]
pub(crate) fn backend() -> Option<&'static SandboxBackend> {
    static BACKEND: OnceLock<Option<SandboxBackend>> = OnceLock::new();
    let found = BACKEND.get_or_init(|| {
        let path = std::env::var_os("PATH").unwrap();
        let is_demanded = std::env::var_os("CODETEAM_TEST_CONTAINERS").is_some_and(|v| v == "1");
        match find(&path) {
            Ok(backend) => Some(backend),
            Err(reason) if is_demanded => panic!("no containers: {reason}"),
            Err(reason) => {
                // Past the harness, which shows what passing tests print to nobody.
                let _ = writeln!(stderr(), "containers are not tested: {reason}");
                None
            }
        }
    });
    found.as_ref()
}

fn find(path: &OsStr) -> Result<SandboxBackend, String> {
    let podman = ContainerEngine::find(path)
        .into_iter()
        .find(|e| e.kind == ContainerEngineKind::Podman);
    let podman = podman.ok_or("podman is not installed")?;
    podman.with_runc().ok_or("runc is not installed")?;
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/image.sh");
    let image = output(Path::new(script), &[], b"")?;
    let image = String::from_utf8(image).unwrap();
    let scratch = Path::new(env!("CARGO_TARGET_TMPDIR"));
    probe::probe_containers(path, &shim(), image.trim(), scratch)
        .map_err(|missing| missing.to_string())
}

/// The containers, running or not, that see something of this host.
pub(crate) fn of(engine: &ContainerEngine, host: &TestHost) -> Vec<String> {
    let format = "{{.ID}} {{.Names}} {{.State}} {{.Mounts}}";
    let listed = output(&engine.program, &["ps", "--all", "--format", format], b"").unwrap();
    let listed = String::from_utf8(listed).unwrap();
    let tree = host.tree().display().to_string();
    let lines = listed.lines().filter(|line| line.contains(&tree));
    lines.map(str::to_owned).collect()
}

/// Runs a program with something to read and returns what it prints.
fn output(program: &Path, args: &[&str], input: &[u8]) -> Result<Vec<u8>, String> {
    let args: Vec<_> = args.iter().map(Into::into).collect();
    let mut child = command(program, &args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| format!("{}: {error}", program.display()))?;
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_owned();
    let writer = std::thread::spawn(move || stdin.write_all(&input));
    let output = child.wait_with_output().unwrap();
    // It may have stopped reading.
    let _ = writer.join().unwrap();
    Ok(output.stdout)
}

/// A case to loop over, so that a test without containers does nothing.
fn contained() -> Option<SandboxCase> {
    let backend = backend()?;
    let profile = SandboxProfile::Worker;
    Some(SandboxCase { backend, profile })
}

#[test]
fn what_a_command_is_given_is_nowhere_to_be_read() {
    let Some(case) = contained() else { return };
    let host = TestHost::new();
    let mut policy = host.policy(case);
    policy.set_env("TOKEN", SECRET);
    let script = "echo $TOKEN $1; ls -A /run/codeteam/door /sys; sleep 1000";
    let confined = host.confine(case, policy, "sh", &["-c", script, "sh", "argument"]);
    let (lifeline, mut child) = spawn(&confined);
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let line = lines.next().unwrap().unwrap();
    assert_eq!(line, format!("{SECRET} argument"));

    let engine = &case.backend.container_backend().unwrap().engine;
    let names = of(engine, &host);
    assert_eq!(names.len(), 1, "{names:?}");
    let name = names[0].split(' ').next().unwrap();
    let inspected = output(&engine.program, &["inspect", name], b"").unwrap();
    let inspected = String::from_utf8(inspected).unwrap();
    assert!(inspected.contains("codeteam.owner"), "{inspected}");
    assert!(!inspected.contains(SECRET) && !inspected.contains("argument"));
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let line = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        assert!(!String::from_utf8_lossy(&line).contains(SECRET));
    }
    // The door is closed behind the shim, and nothing lies about.
    let found = unconfined(
        &host.path(""),
        &format!("grep -rl {SECRET} .; find . -type s"),
    );
    assert_eq!(found.stdout, "");
    drop(lifeline);
    child.wait().unwrap();
    let rest: Vec<String> = lines.map(Result::unwrap).collect();
    assert_eq!(rest, ["/run/codeteam/door:", "", "/sys:"]);
}

#[test]
fn what_is_written_belongs_to_the_caller_and_nothing_else_of_the_host_is_there() {
    let Some(case) = contained() else { return };
    let host = TestHost::new();
    let home = std::env::home_dir().unwrap();
    let script = format!(
        "touch file; mkdir directory; mkfifo pipe
         ls -A {home}/.bashrc {home}/.profile {home}/.ssh {spec} {room} /run/podman /run/docker.sock /var/lib/containers 2>/dev/null; id -un
         grep -c . /proc/self/uid_map; grep -E '^(Cap|NoNewPrivs)' /proc/self/status",
        home = home.display(),
        spec = host.path("spec-0").display(),
        room = host.path("spec-0.room").display(),
    );
    let ended = host.sh(case, &script);
    let nothing = "0000000000000000";
    let wanted = ["Inh", "Prm", "Eff", "Bnd", "Amb"]
        .map(|set| format!("Cap{set}:\t{nothing}\n"))
        .concat();
    let told: Vec<_> = ended.stdout.splitn(3, '\n').collect();
    assert_eq!(told[0], "agent", "{ended:?}");
    assert_eq!(told[2], format!("{wanted}NoNewPrivs:\t1\n"), "{ended:?}");
    for name in ["file", "directory", "pipe"] {
        let made = fs::symlink_metadata(host.tree().join(name)).unwrap();
        assert_eq!(made.uid(), rustix::process::geteuid().as_raw());
        assert_eq!(made.gid(), rustix::process::getegid().as_raw());
    }
}

#[test]
fn names_that_would_be_options_of_a_mount_are_refused() {
    let Some(case) = contained() else { return };
    let host = TestHost::new();
    host.write("sibling,ro=false/file", SECRET);
    let mut policy = host.policy(case);
    policy.show(&host.path("sibling,ro=false"), MountAccess::ReadOnly);
    let ended = host.run(case, policy, "sh", &["-c", "echo started"]);
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(125), ""));
    assert!(ended.stderr.contains("rename it"), "{ended:?}");
}

#[test]
fn what_a_crash_has_left_is_swept_and_nothing_else() {
    let Some(case) = contained() else { return };
    let host = TestHost::new();
    let container = case.backend.container_backend().unwrap();
    let confined = host.confine(
        case,
        host.policy(case),
        "sh",
        &["-c", "echo up; sleep 1000"],
    );
    let (lifeline, mut child) = spawn(&confined);
    let mut line = String::new();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    stdout.read_line(&mut line).unwrap();

    let namespace = fs::read_link("/proc/self/ns/pid").unwrap();
    let tree = host.tree();
    // No process can have this id.
    let label = format!("codeteam.owner={}/4194305/1", namespace.display());
    let mount = format!("type=bind,src={0},dst={0}", tree.display());
    let create = ["create", "--label", &label, "--mount", &mount];
    let create = [&create[..], &[&container.image, "true"]].concat();
    output(&container.engine.program, &create, b"").unwrap();
    assert_eq!(of(&container.engine, &host).len(), 2);
    assert!(case.backend.remove_stale().unwrap() >= 1);
    let left = of(&container.engine, &host);
    assert_eq!(left.len(), 1, "{left:?}");
    assert!(left[0].contains(&format!("codeteam-{}-", child.id())));

    drop(lifeline);
    child.wait().unwrap();
}

#[test]
fn an_image_that_another_process_removes_meanwhile_makes_no_difference() {
    let Some(case) = contained() else { return };
    let host = TestHost::new();
    let container = case.backend.container_backend().unwrap();
    let script = format!(
        "#!/bin/sh\nif [ \"$1\" = image ] && [ ! -e '{seen}' ]; then
            : >'{seen}'; echo 'Error: locating item named \"manifest\" for image' >&2; exit 125
         fi\nPATH={path} exec {podman} --runtime runc \"$@\"\n",
        seen = host.path("seen").display(),
        path = container.engine.path.display(),
        podman = container.engine.program.display(),
    );
    let fake = host.write("bin/podman", &script);
    fs::set_permissions(&fake, fs::Permissions::from_mode(0o755)).unwrap();
    let path = fake.parent().unwrap().as_os_str();
    probe::probe_containers(path, &shim(), &container.image, &host.path("")).unwrap();
    assert!(host.path("seen").exists());
}

#[test]
fn an_engine_that_hangs_does_not_outlive_the_orchestrator() {
    let Some(case) = contained() else { return };
    let host = TestHost::new();
    let container = case.backend.container_backend().unwrap();
    let script = format!(
        "#!/bin/sh\ncase \"$1 $4\" in
            *run*) [ ! -e '{hang}' ] || exec sleep 1000 '{hang}';; rm*) exit 0;;
         esac\nPATH={path} exec {podman} --runtime runc \"$@\"\n",
        hang = host.path("hang").display(),
        path = container.engine.path.display(),
        podman = container.engine.program.display(),
    );
    let fake = host.write("bin/podman", &script);
    fs::set_permissions(&fake, fs::Permissions::from_mode(0o755)).unwrap();
    let path = fake.parent().unwrap().as_os_str();
    let backend = probe::probe_containers(path, &shim(), &container.image, &host.path("")).unwrap();
    let hang = host.write("hang", "");
    let confined = host.confine_with(&backend, host.policy(case), "true", &[]);
    let (lifeline, mut child) = spawn(&confined);
    drop(lifeline);
    child.wait().unwrap();
    let hang = hang.display().to_string();
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let line = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        assert!(!String::from_utf8_lossy(&line).contains(&hang));
    }
}

#[test]
fn an_image_is_built_from_the_containerfile_and_used() {
    let Some(case) = contained() else { return };
    let host = TestHost::new();
    let container = case.backend.container_backend().unwrap();
    let name = format!("localhost/codeteam-built:{}", std::process::id());
    let recipe = ImageRecipe {
        name: &name,
        args: vec![("BASE", &container.image), ("PACKAGES", "")],
        ..ImageRecipe::default()
    };
    let mut lines = Vec::new();
    let path = &container.engine.path;
    let built = image::build_image(path, &recipe, |line| lines.push(line.to_owned()));
    // An ordinary user's containers need a helper for the network while an image is built, and not
    // every machine lets it work (a container without `/dev/net/tun` does not).
    if built.is_err() && lines.iter().any(|line| line.contains("slirp4netns")) {
        return;
    }
    assert!(
        matches!(built, Ok(ContainerEngineKind::Podman)),
        "{lines:?}"
    );
    assert!(lines.iter().any(|line| line.contains("STEP")), "{lines:?}");

    let backend = probe::probe_containers(path, &shim(), &name, &host.path("")).unwrap();
    assert_eq!(backend.container_backend().unwrap().image, name);
    output(&container.engine.program, &["rmi", "--force", &name], b"").unwrap();

    let missing = probe::probe_containers(path, &shim(), &name, &host.path("")).unwrap_err();
    let told = missing.to_string();
    assert!(
        told.contains(&format!("podman has no image `{name}`")),
        "{told}"
    );
    assert!(
        told.contains("`codeteam sandbox image` makes one"),
        "{told}"
    );
}

#[test]
fn a_build_that_fails_says_why() {
    let Some(case) = contained() else { return };
    let container = case.backend.container_backend().unwrap();
    let recipe = ImageRecipe {
        containerfile: &format!("FROM {}\nRUN echo no luck today; exit 3\n", container.image),
        name: "localhost/codeteam-never",
        args: Vec::new(),
    };
    let mut lines = String::new();
    let failed = image::build_image(&container.engine.path, &recipe, |line| lines += line);
    let told = failed.unwrap_err().to_string();
    assert_eq!(
        told,
        "podman could not build the image `localhost/codeteam-never`"
    );
    assert!(lines.contains("no luck today"), "{lines}");
}

#[test]
fn an_image_with_another_c_library_is_explained() {
    let Some(case) = contained() else { return };
    let host = TestHost::new();
    let container = case.backend.container_backend().unwrap();
    let name = format!("localhost/codeteam-empty:{}", std::process::id());
    let packed = unconfined(&host.path(""), "mkdir etc; tar cf image.tar etc");
    assert_eq!(packed.code, Some(0), "{packed:?}");
    let file = host.path("image.tar");
    let import = ["import", file.to_str().unwrap(), &name];
    output(&container.engine.program, &import, b"").unwrap();
    let path = &container.engine.path;
    let missing = probe::probe_containers(path, &shim(), &name, &host.path("")).unwrap_err();
    output(&container.engine.program, &["rmi", "--force", &name], b"").unwrap();
    assert!(
        matches!(missing, ContainersUnavailable::Library { .. }),
        "{missing}"
    );
}

/// The complaint about a `podman` that is this script, the only engine there.
fn complaint(script: &str) -> String {
    let host = TestHost::new();
    let fake = host.write("bin/podman", &format!("#!/bin/sh\n{script}\n"));
    fs::set_permissions(&fake, fs::Permissions::from_mode(0o755)).unwrap();
    let path = fake.parent().unwrap().as_os_str();
    let missing = probe::probe_containers(path, &shim(), "image", &host.path(""));
    missing.unwrap_err().to_string()
}

#[test]
fn missing_packages_are_named() {
    let missing = probe::probe_containers(
        OsStr::new("/nowhere"),
        &shim(),
        "image",
        Path::new("/nowhere"),
    );
    let told = missing.unwrap_err().to_string();
    assert!(
        told.contains("install the packages `podman` and `runc`"),
        "{told}"
    );

    let told = complaint("case $1 in image) exit 0;; *) echo 'no luck today' >&2; exit 125;; esac");
    let wanted = "podman could not start a container: no luck today; \
                  installing the package `runc` may help";
    assert_eq!(told, wanted);

    let told = complaint("echo 'cannot connect to the daemon' >&2; exit 125");
    assert_eq!(
        told,
        "podman could not start a container: cannot connect to the daemon"
    );
}
