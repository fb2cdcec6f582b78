//! The files of a run of many tasks. Its log is made of the events of one task of a recorded log.

use codeteam_context::redact::Redactor;
use codeteam_core::apply;
use codeteam_core::ids::{EpochMillis, RunId};
use codeteam_host::bodies::BodyStore;
use codeteam_host::store::{AppendRequest, NewEvent, ProcessIdentity, RunUpdate, Store};
use serde_json::{Value, json};

use super::*;
use crate::artifacts::ArtifactWriter;
use crate::git_fixture::GitFixture;

/// More than two packs hold.
const MANY: usize = KEPT_TASKS + 2 * TASKS_IN_PACK + 30;

/// A project and the log of a run of many tasks that all complete.
struct LongRunFixture {
    _git: GitFixture,
    repo: Repo,
    store: Store,
    token: u64,
    bodies: BodyStore,
    folder: PathBuf,
    redactor: Redactor,
    events: Vec<Value>,
}

impl LongRunFixture {
    fn new() -> Self {
        let git = GitFixture::new();
        let (repo, _) = git.open();
        let folder = repo.top_level().join(".codeteam");
        fs::create_dir(&folder).unwrap();
        let store = Store::open(&folder.join("state.db")).unwrap();
        let events = long_log();
        let owner = ProcessIdentity::this_process("test");
        let id = events[0]["run"].as_str().unwrap();
        let token = store.take_lease(id, &owner, 0, i64::MAX).unwrap().token;
        Self {
            bodies: BodyStore::open(folder.join("bodies")).unwrap(),
            redactor: Redactor::new([]),
            _git: git,
            repo,
            store,
            token,
            folder,
            events,
        }
    }

    fn records(&self) -> ProjectRecords<'_> {
        ProjectRecords {
            repo: &self.repo,
            store: &self.store,
            bodies: &self.bodies,
            folder: &self.folder,
            runs_dir: None,
            has_strict_layout: false,
            redactor: &self.redactor,
        }
    }

    /// Appends events to the log and writes the files after each, as a driver does.
    fn carry_on(&self, writer: &mut ArtifactWriter, run: &mut Run, until: usize) {
        let from = usize::try_from(run.seq).unwrap();
        let events = &self.events[from..until];
        let append = AppendRequest {
            run: self.events[0]["run"].as_str().unwrap().to_owned(),
            expected_seq: run.seq,
            token: self.token,
            at: 0,
            events: events
                .iter()
                .map(|event| NewEvent {
                    kind: "event".to_owned(),
                    version: 1,
                    data: event.to_string(),
                })
                .collect(),
            consumed: Vec::new(),
            row: Some(RunUpdate {
                goal: String::new(),
                created_at: 0,
                status: "running".to_owned(),
                headline: String::new(),
            }),
        };
        self.store.append(append).unwrap();
        for event in events {
            let event = Event::read(1, &event.to_string()).unwrap();
            writer.observe_before(run, &event);
            apply(run, &event);
            writer.observe_after(run, &event);
            writer
                .write(self.records(), run, EpochMillis(0), &[event])
                .unwrap();
        }
        // As a driver does that stops.
        writer.flush(self.records(), run).unwrap();
    }

    /// What a process finds that continues the run.
    fn reopen(&self, events: usize) -> (ArtifactWriter, Run) {
        let mut run = Run::default();
        for event in &self.events[..events] {
            apply(&mut run, &Event::read(1, &event.to_string()).unwrap());
        }
        let writer = ArtifactWriter::reopen(self.records(), &run).unwrap();
        (writer, run)
    }

    /// All files for people, with their content.
    fn files(&self) -> BTreeMap<PathBuf, String> {
        let mut found = BTreeMap::new();
        let mut folders = vec![self.folder.join("runs"), self.folder.join("reports")];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).into_iter().flatten() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                } else {
                    let text = fs::read_to_string(&path).unwrap();
                    let name = path.strip_prefix(&self.folder).unwrap();
                    found.insert(name.to_owned(), text);
                }
            }
        }
        found
    }

    fn run_folder(&self) -> PathBuf {
        self.folder
            .join("runs")
            .join(self.events[0]["run"].as_str().unwrap())
    }

    fn packs(&self) -> usize {
        let folder = self.run_folder();
        (1..=100)
            .take_while(|n| pack_path(&folder, *n).exists())
            .count()
    }
}

/// The events of a run in which task `two` of the recorded one is done many times, one after the
/// other.
fn long_log() -> Vec<Value> {
    let recorded =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../codeteam-core/tests/golden/v1-tasks.jsonl");
    let recorded = fs::read_to_string(recorded).unwrap();
    let lines: Vec<&str> = recorded.lines().collect();
    let is_root = |line: &&&str| line.contains("\"frame\":\"run\"");
    let begin = lines.iter().take(5).skip(1).filter(is_root);
    let is_about_two =
        |line: &&&str| line.contains("\"run/two\"") && !line.contains("attempt_failed");
    let is_of_first_try = |line: &&&str| {
        let first_tries = ["\"fence\":0", "\"fence\":2}", "\"fence\":4}"];
        !first_tries.iter().any(|fence| line.contains(fence))
    };
    let task: Vec<&&str> = lines
        .iter()
        .filter(is_about_two)
        .filter(is_of_first_try)
        .collect();
    let mut started: Value = serde_json::from_str(lines[0]).unwrap();
    let tasks = (0..MANY).map(|n| json!({ "id": format!("t{n}"), "description": "Do it" }));
    started["plan"]["tasks"] = tasks.collect();
    started["max_tasks"] = json!(MANY);
    let mut events = vec![started];
    events.extend(begin.map(|line| serde_json::from_str(line).unwrap()));
    for n in 0..MANY {
        for line in &task {
            let line = line
                .replace("run/two", &format!("run/t{n}"))
                .replace("\"task\":\"two\"", &format!("\"task\":\"t{n}\""));
            let mut event: Value = serde_json::from_str(&line).unwrap();
            if let Some(fence) = event["id"]["fence"].as_u64() {
                event["id"]["fence"] = json!(fence + 100 * n as u64);
            }
            events.push(event);
        }
    }
    events
}

#[test]
fn the_files_of_a_long_run_are_bounded_and_say_what_they_said() {
    let long = LongRunFixture::new();
    let (mut writer, mut run) = (ArtifactWriter::default(), Run::default());
    let of_task = |n: usize| {
        let event = format!("run/t{n}");
        long.events
            .iter()
            .rposition(|e| e["frame"] == event)
            .unwrap()
            + 1
    };
    long.carry_on(
        &mut writer,
        &mut run,
        of_task(KEPT_TASKS + TASKS_IN_PACK - 2),
    );
    assert_eq!(long.packs(), 0);
    let before = long.files();
    let kept = |n: usize| {
        [
            format!("runs/{}/iterations/t{n}_01_coder.md", run.id),
            format!("runs/{}/iterations/t{n}_01_test.md", run.id),
            format!("runs/{}/t{n}/CODER_LOG.md", run.id),
            format!("runs/{}/reports/t{n}.md", run.id),
            format!("reports/t{n}.md"),
        ]
    };
    for name in kept(0) {
        assert!(before.contains_key(Path::new(&name)), "{name}");
    }
    let id = run.id.clone();
    long.carry_on(&mut writer, &mut run, long.events.len());
    assert_eq!(long.packs(), 2);
    let after = long.files();
    assert!(after.len() < before.len(), "{}", after.len());
    let packed = read_task_packs(&long.repo, &long.run_folder());
    let kept = |n: usize| {
        let own = format!("runs/{id}/");
        let names = before.keys().map(|name| name.display().to_string());
        let own = names.filter_map(move |name| name.strip_prefix(&own).map(str::to_owned));
        let of_task = [
            format!("iterations/t{n}_"),
            format!("t{n}/"),
            format!("reports/t{n}"),
        ];
        own.filter(move |name| of_task.iter().any(|start| name.starts_with(start)))
            .collect::<Vec<_>>()
    };
    for n in [0, 7, 99] {
        assert!(kept(n).len() >= 4, "{:?}", kept(n));
        for name in kept(n) {
            let whole = format!("runs/{id}/{name}");
            let whole = Path::new(&whole);
            assert_eq!(packed[&name], before[whole]);
            assert!(!after.contains_key(whole), "{name}");
        }
        assert!(!after.contains_key(Path::new(&format!("reports/t{n}.md"))));
        assert!(!long.run_folder().join(format!("t{n}")).exists());
    }
    // Those that ended last have theirs.
    for n in [2 * TASKS_IN_PACK, MANY - 1] {
        assert!(after.contains_key(Path::new(&format!("reports/t{n}.md"))));
        assert!(!packed.contains_key(&format!("reports/t{n}.md")));
    }
    let pack = |task: &str| find_pack(&long.run_folder(), task);
    assert_eq!(pack("t100"), Some(pack_path(&long.run_folder(), 2)));
    assert_eq!(pack("t300"), None);
}

#[test]
fn a_process_that_continues_a_long_run_leaves_what_is_packed_and_packs_the_rest() {
    let long = LongRunFixture::new();
    let (mut writer, mut run) = (ArtifactWriter::default(), Run::default());
    let half = long.events.len() * 3 / 4;
    long.carry_on(&mut writer, &mut run, half);
    assert_eq!(long.packs(), 1);
    let expected = long.files();
    drop(writer);

    long.reopen(half);
    assert_eq!(long.files(), expected);
    // Killed before the files in the pack were removed.
    let folder = long.run_folder();
    let packed = read_task_packs(&long.repo, &folder);
    for (name, text) in &packed {
        let path = folder.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    assert!(long.files().len() > expected.len());
    long.reopen(half);
    assert_eq!(long.files(), expected);
    // Killed before the pack was there; and once more, with nothing there at all.
    fs::remove_file(pack_path(&folder, 1)).unwrap();
    long.reopen(half);
    assert_eq!(long.files(), expected);
    fs::remove_dir_all(long.folder.join("reports")).unwrap();
    fs::remove_dir_all(&folder).unwrap();
    let (mut writer, mut run) = long.reopen(half);
    assert_eq!(long.files(), expected);

    long.carry_on(&mut writer, &mut run, long.events.len());
    assert_eq!(long.packs(), 2);
    let packed = read_task_packs(&long.repo, &folder);
    let reports = packed.keys().filter(|name| name.starts_with("reports/t"));
    assert!(reports.count() >= 2 * TASKS_IN_PACK);
}

#[test]
fn a_task_that_is_resumed_gets_files_of_its_own_again() {
    let long = LongRunFixture::new();
    let mut files = TaskFiles::default();
    let ended = |n: usize| Event::FrameEnded {
        frame: FramePath::root().child(&format!("t{n}")),
        outcome: codeteam_core::frame::FrameOutcome::Skipped,
    };
    for n in 0..KEPT_TASKS + TASKS_IN_PACK - 1 {
        files.observe(&ended(n));
    }
    let resumed = FramePath::root().child("t0");
    files.observe(&Event::FrameResumed { frame: resumed });
    files.observe(&ended(1_000));
    assert!(files.full.is_empty(), "one of them has not ended");
    files.observe(&ended(0));
    let [pack] = &files.full[..] else {
        panic!("one pack is full");
    };
    assert_eq!(pack.tasks.len(), TASKS_IN_PACK);
    assert_eq!(pack.tasks[0].name(), "t1");
    drop(long);
}

#[test]
fn a_text_that_looks_like_a_pack_stays_a_text() {
    let long = LongRunFixture::new();
    let text = "# t0\n=== reports/t1.md (5 bytes)\nPASS\n\n=== x";
    let pack = TaskPack {
        number: 1,
        tasks: vec![FramePath::root().child("t0")],
    };
    let run = Run {
        id: RunId("r".to_owned()),
        ..Run::default()
    };
    let files = [
        (PathBuf::from("reports/t0.md"), text.to_owned()),
        (PathBuf::from("t0/CODER_LOG.md"), "log\n".to_owned()),
    ];
    let path = pack_path(&long.folder, 1);
    fs::write(&path, render_pack(&run, &pack, &files)).unwrap();
    let read = read_pack(&long.repo, &path);
    assert_eq!(read.len(), 2);
    assert_eq!(read["reports/t0.md"], text);
    assert_eq!(read["t0/CODER_LOG.md"], "log\n");
    // Cut off, it gives what is whole.
    let bytes = fs::read(&path).unwrap();
    fs::write(&path, &bytes[..bytes.len() - 2]).unwrap();
    assert_eq!(read_pack(&long.repo, &path).len(), 1);
}
