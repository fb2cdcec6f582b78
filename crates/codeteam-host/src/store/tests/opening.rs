//! Opening, creating, refusing and recovering databases.

use std::fs;

use super::*;

#[test]
fn opening_creates_the_directories_above() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a/b/state.db");
    Store::open(&path).unwrap();
    assert!(path.exists());
}

#[test]
fn opening_an_existing_database_creates_none() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a/state.db");
    assert!(Store::open_existing(&path).unwrap().is_none());
    assert!(!dir.path().join("a").exists());

    let empty = dir.path().join("empty.db");
    fs::write(&empty, "").unwrap();
    assert!(Store::open_existing(&empty).unwrap().is_none());
    assert_eq!(fs::metadata(&empty).unwrap().len(), 0);
}

#[test]
fn a_current_database_is_not_written_by_opening_it() {
    let f = fixture();
    f.started(1);
    let StoreFixture { dir, store } = f;
    drop(store);
    let path = dir.path().join("state.db");
    let before = fs::read(&path).unwrap();
    let store = Store::open(&path).unwrap();
    assert_eq!(store.runs().unwrap().len(), 1);
    assert_eq!(store.commits(), 0);
    let log = fs::metadata(dir.path().join("state.db-wal"));
    assert_eq!(log.map_or(0, |m| m.len()), 0);
    drop(store);
    assert_eq!(fs::read(&path).unwrap(), before);
}

#[test]
fn many_processes_may_create_the_database_at_once() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("state.db");
    let start = std::sync::Barrier::new(8);
    std::thread::scope(|scope| {
        for n in 0..8 {
            let (start, path) = (&start, &path);
            scope.spawn(move || {
                start.wait();
                let store = Store::open(path).unwrap();
                let lease = lease(&store, &format!("r{n}"));
                store.append(one(&lease, 0)).unwrap();
            });
        }
    });
    let store = Store::open_existing(&path).unwrap().unwrap();
    assert_eq!(store.runs().unwrap().len(), 8);
}

#[test]
fn the_writer_flushes_every_commit_and_enforces_references() {
    let f = fixture();
    let settings = |conn: &Connection| {
        let get = |name| conn.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
        Ok((get("synchronous")?, get("foreign_keys")?))
    };
    assert_eq!(f.store.write("ask", settings).unwrap(), (2, 1));
    let mode: String = f
        .raw()
        .pragma_query_value(None, "journal_mode", |row| row.get(0))
        .unwrap();
    assert_eq!(mode, "wal");
}

#[test]
fn a_newer_schema_is_refused_with_a_remedy() {
    let f = fixture();
    f.raw().pragma_update(None, "user_version", 99).unwrap();
    for message in [
        write_failure(Store::open(&f.path())),
        write_failure(Store::open_existing(&f.path())),
    ] {
        let expected = "has schema version 99, and this codeteam knows versions up to 1: \
                        use the newer codeteam that wrote it";
        assert!(message.contains(expected), "{message}");
    }
}

#[test]
fn a_file_that_is_no_database_is_refused_and_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("state.db");
    for content in ["notes", &"a longer text\n".repeat(1000)] {
        fs::write(&path, content).unwrap();
        for message in [
            write_failure(Store::open(&path)),
            write_failure(Store::open_existing(&path)),
        ] {
            let expected = "is not a codeteam database: it is not an SQLite file";
            assert!(message.contains(expected), "{message}");
        }
        assert_eq!(fs::read_to_string(&path).unwrap(), content);
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }
}

#[test]
fn the_database_of_another_program_is_refused_and_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("state.db");
    let raw = Connection::open(&path).unwrap();
    raw.execute_batch("CREATE TABLE theirs (x)").unwrap();
    drop(raw);
    let before = fs::read(&path).unwrap();
    let message = write_failure(Store::open(&path));
    assert!(message.contains("of another program"), "{message}");
    assert_eq!(fs::read(&path).unwrap(), before);
}

/// What a crash leaves: the database and its log as they are on the disk at
/// this moment, without anything a clean shutdown would do.
fn crashed_copy(
    f: &StoreFixture,
    damage: impl FnOnce(&mut Vec<u8>),
) -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("state.db");
    fs::copy(f.path(), &path).unwrap();
    let mut log = fs::read(f.dir.path().join("state.db-wal")).unwrap();
    damage(&mut log);
    fs::write(dir.path().join("state.db-wal"), log).unwrap();
    (dir, path)
}

#[test]
fn a_torn_write_at_the_end_of_the_log_loses_nothing_committed() {
    let f = fixture();
    let lease = f.started(20);
    let torn = |log: &mut Vec<u8>| log.extend([0xa5; 5000]);
    let (_dir, path) = crashed_copy(&f, torn);
    let store = Store::open_existing(&path).unwrap().unwrap();
    assert_eq!(store.events(RUN, 0).unwrap().len(), 20);
    assert_eq!(store.append(one(&lease, 20)).unwrap(), 21);
}

#[test]
fn a_commit_that_was_cut_off_is_wholly_absent() {
    let f = fixture();
    let lease = f.started(20);
    let cut = |log: &mut Vec<u8>| log.truncate(log.len() - 100);
    let garble = |log: &mut Vec<u8>| {
        let middle_of_last_page = log.len() - 2000;
        log[middle_of_last_page] ^= 0xff;
    };
    for damage in [&cut as &dyn Fn(&mut Vec<u8>), &garble] {
        let (_dir, path) = crashed_copy(&f, damage);
        let store = Store::open(&path).unwrap();
        assert_eq!(store.events(RUN, 0).unwrap().len(), 19);
        assert_eq!(store.run(RUN).unwrap().unwrap().seq, 19);
        assert_eq!(store.append(one(&lease, 19)).unwrap(), 20);
    }
}

#[test]
fn a_store_can_be_shared_between_threads() {
    fn shared<T: Clone + Send + Sync>() {}
    shared::<Store>();
}

#[test]
fn damage_is_called_damage_wherever_it_is() {
    let f = fixture();
    f.started(400);
    let other = lease(&f.store, "run-2");
    f.store.append(one(&other, 0)).unwrap();
    let StoreFixture { dir, store } = f;
    drop(store);
    let path = dir.path().join("state.db");
    let whole = fs::read(&path).unwrap();
    let mut told = 0;
    // What a page begins with says where everything in it is.
    let places = (1..whole.len() / 4096).flat_map(|page| [page * 4096, page * 4096 + 2_000]);
    for at in places {
        let mut bytes = whole.clone();
        let junk = (0..1_000_u32).map(|n| n.wrapping_mul(2_654_435_761).to_be_bytes()[1]);
        bytes.splice(at..at + 1_000, junk);
        fs::write(&path, &bytes).unwrap();
        let opened = Store::open(&path);
        let read = opened.and_then(|store| {
            for run in [RUN, "run-2"] {
                let events = store.events(run, 0)?;
                // What can be read is all there is.
                assert!(
                    !events.is_empty(),
                    "at {at}: `{run}` seems to have no events"
                );
            }
            store.verify()
        });
        match read {
            Ok(()) => {}
            Err(Error::Damaged { .. }) => told += 1,
            Err(other) => panic!("at {at}: {other:?}"),
        }
    }
    assert!(told > 5, "only {told} places");
}

#[test]
fn a_run_whose_id_names_another_folder_is_found() {
    let f = fixture();
    f.started(1);
    assert_eq!(f.store.misnamed_run().unwrap(), None);
    for id in ["../../precious", "/tmp/precious", "..", "a/b", "a b", ""] {
        let renamed = f.raw().execute("UPDATE runs SET id = ?1", [id]);
        assert_eq!(renamed.unwrap(), 1);
        assert_eq!(f.store.misnamed_run().unwrap().as_deref(), Some(id));
    }
}
