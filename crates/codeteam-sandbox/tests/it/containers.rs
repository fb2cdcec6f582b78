//! Containers, where they start: an image made from this host's packages, and
//! what only concerns them.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::OnceLock;

use codeteam_sandbox::Backend;
use codeteam_sandbox::container::{self, Engine, Kind};

use crate::harness::{Host, command, shim};

/// What the attacks are made of.
const PACKAGES: &[&str] = &[
    "bash",
    "coreutils",
    "dash",
    "diffutils",
    "findutils",
    "git",
    "grep",
    "hostname",
    "libacl1",
    "libattr1",
    "libc-bin",
    "libc6",
    "libcap2",
    "libcap2-bin",
    "libcrypt1",
    "libgcc-s1",
    "libgmp10",
    "libpcre2-8-0",
    "libselinux1",
    "libtinfo6",
    "perl",
    "perl-base",
    "sed",
    "tar",
    "util-linux",
    "zlib1g",
];

/// The backend, or nothing where there is none and none is demanded.
#[expect(
    clippy::disallowed_methods,
    reason = "the engine is where the tests' own PATH says"
)]
pub(crate) fn backend() -> Option<&'static Backend> {
    static BACKEND: OnceLock<Option<Backend>> = OnceLock::new();
    let found = BACKEND.get_or_init(|| {
        let path = std::env::var_os("PATH").unwrap();
        let is_demanded = std::env::var_os("CODETEAM_TEST_CONTAINERS").is_some_and(|v| v == "1");
        match find(&path) {
            Ok(backend) => Some(backend),
            Err(reason) if is_demanded => panic!("no containers: {reason}"),
            Err(reason) => {
                println!("containers are not tested: {reason}");
                None
            }
        }
    });
    found.as_ref()
}

fn find(path: &OsStr) -> Result<Backend, String> {
    let podman = Engine::find(path)
        .into_iter()
        .find(|e| e.kind == Kind::Podman);
    let podman = podman.ok_or("podman is not installed")?;
    let podman = podman.with_runc().ok_or("runc is not installed")?;
    let scratch = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let lock = File::create(scratch.join("image.lock")).unwrap();
    lock.lock().unwrap();
    let image = image(&podman.program)?;
    container::probe(path, &shim(), &image, scratch).map_err(|missing| missing.to_string())
}

/// The containers, running or not, that see something of this host.
pub(crate) fn of(engine: &Engine, host: &Host) -> Vec<String> {
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

/// An image with the packages of this host: no registry is needed, and the C
/// library is the one the shim was built for. Made once for each state of them.
fn image(podman: &Path) -> Result<String, String> {
    let mut query = vec!["-W"];
    query.extend(PACKAGES);
    let versions = output(Path::new("dpkg-query"), &query, b"")?;
    let mut hasher = DefaultHasher::new();
    versions.hash(&mut hasher);
    let name = format!("localhost/codeteam-test:{:x}", hasher.finish());
    let listed = output(podman, &["images", "--quiet", &name], b"")?;
    if listed.is_empty() {
        import(podman, &name)?;
    }
    Ok(name)
}

fn import(podman: &Path, name: &str) -> Result<(), String> {
    let mut query = vec!["-L"];
    query.extend(PACKAGES);
    let listed = output(Path::new("dpkg-query"), &query, b"")?;
    let text = String::from_utf8(listed).unwrap();
    // Packages may still say `/bin` where that is a link to `/usr/bin`.
    let mut files: Vec<PathBuf> = text
        .lines()
        .filter(|line| line.starts_with('/') && !line.starts_with("/usr/share/"))
        .filter_map(|line| {
            let path = Path::new(line);
            let parent = path.parent()?.canonicalize().ok()?;
            Some(parent.join(path.file_name()?))
        })
        .filter(|path| path.is_symlink() || path.exists())
        .collect();
    let links = ["/bin", "/lib", "/lib64", "/sbin"].map(PathBuf::from);
    files.extend(links.into_iter().filter(|path| path.is_symlink()));
    files.extend(["/usr/share/perl", "/usr/share/perl5"].map(PathBuf::from));
    files.sort();
    files.dedup();
    let list: Vec<String> = files
        .iter()
        .map(|file| file.display().to_string())
        .collect();
    let args =
        "--create --directory=/ --no-recursion --absolute-names --numeric-owner --files-from=-";
    let args: Vec<&str> = args.split(' ').collect();
    let tar = output(Path::new("tar"), &args, list.join("\n").as_bytes())?;
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("image.tar");
    fs::write(&file, tar).unwrap();
    let imported = output(podman, &["import", file.to_str().unwrap(), name], b"")?;
    fs::remove_file(file).unwrap();
    if imported.is_empty() {
        return Err("podman could not import an image".to_owned());
    }
    Ok(())
}
