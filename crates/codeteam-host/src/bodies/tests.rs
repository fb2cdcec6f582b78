//! Bodies against a real directory.

use super::*;

struct BodyStoreFixture {
    bodies: BodyStore,
    dir: tempfile::TempDir,
}

fn fixture() -> BodyStoreFixture {
    let dir = tempfile::tempdir().unwrap();
    let bodies = BodyStore::open(dir.path().join("bodies")).unwrap();
    BodyStoreFixture { bodies, dir }
}

impl BodyStoreFixture {
    /// Every file in the store, staging included.
    fn files(&self) -> usize {
        let shards = fs::read_dir(self.dir.path().join("bodies")).unwrap();
        shards
            .map(|shard| fs::read_dir(shard.unwrap().path()).unwrap().count())
            .sum()
    }
}

#[test]
fn what_is_put_can_be_read_back_by_its_hash() {
    let f = fixture();
    let id = f.bodies.put(b"a prompt").unwrap();
    assert_eq!(id, blake3::hash(b"a prompt").to_hex().as_str());
    assert_eq!(f.bodies.get(&id).unwrap(), b"a prompt");
    let path = f.bodies.path(&id).unwrap();
    assert!(path.ends_with(Path::new(&id[..2]).join(&id[2..])));
}

#[test]
fn the_empty_body_is_a_body() {
    let f = fixture();
    let id = f.bodies.put(b"").unwrap();
    assert_eq!(f.bodies.get(&id).unwrap(), b"");
}

#[test]
fn putting_twice_keeps_one_file() {
    let f = fixture();
    assert_eq!(f.bodies.put(b"x").unwrap(), f.bodies.put(b"x").unwrap());
    assert_eq!(f.files(), 1);
}

#[test]
fn the_same_content_may_be_put_concurrently() {
    let f = fixture();
    let content = vec![7_u8; 100_000];
    let start = std::sync::Barrier::new(8);
    let ids: Vec<String> = std::thread::scope(|scope| {
        let put = || {
            start.wait();
            f.bodies.put(&content).unwrap()
        };
        let threads: Vec<_> = (0..8).map(|_| scope.spawn(put)).collect();
        threads.into_iter().map(|t| t.join().unwrap()).collect()
    });
    assert!(ids.iter().all(|id| *id == ids[0]));
    assert_eq!(f.bodies.get(&ids[0]).unwrap(), content);
    assert_eq!(f.files(), 1, "nothing is left in staging");
}

#[test]
fn two_handles_on_one_directory_do_not_collide() {
    let f = fixture();
    let other = BodyStore::open(f.dir.path().join("bodies")).unwrap();
    // A leftover of a process that died, under the name the next one would use.
    let leftover = format!("bodies/{STAGING}/{}-0", std::process::id());
    fs::write(f.dir.path().join(leftover), "half").unwrap();
    let (a, b) = (f.bodies.put(b"a").unwrap(), other.put(b"b").unwrap());
    assert_eq!(other.get(&a).unwrap(), b"a");
    assert_eq!(f.bodies.get(&b).unwrap(), b"b");
}

#[test]
fn changed_content_is_reported_as_corrupt() {
    let f = fixture();
    let id = f.bodies.put(b"approved").unwrap();
    fs::write(f.bodies.path(&id).unwrap(), b"rejected").unwrap();
    let error = f.bodies.get(&id).unwrap_err();
    assert!(matches!(error, Error::Corrupt { .. }), "{error}");
}

#[test]
fn a_truncated_body_is_replaced_by_the_next_put() {
    let f = fixture();
    let id = f.bodies.put(b"whole").unwrap();
    fs::write(f.bodies.path(&id).unwrap(), b"wh").unwrap();
    f.bodies.put(b"whole").unwrap();
    assert_eq!(f.bodies.get(&id).unwrap(), b"whole");
}

#[test]
fn an_id_that_is_not_a_hash_names_no_file() {
    let f = fixture();
    let upper = "A".repeat(64);
    let climbing = format!("../{}", "a".repeat(61));
    for id in ["", "ab", "../../etc/passwd", &upper, &climbing, "é"] {
        let error = f.bodies.get(id).unwrap_err();
        assert!(matches!(error, Error::InvalidId { .. }), "{error}");
        assert!(f.bodies.path(id).is_err());
        assert!(f.bodies.get_prefix(id, 1).is_err());
    }
}

#[test]
fn an_absent_body_is_missing() {
    let f = fixture();
    let error = f.bodies.get(&"0".repeat(64)).unwrap_err();
    assert!(matches!(error, Error::Missing { .. }), "{error}");
}

#[test]
fn a_prefix_is_no_longer_than_asked_for() {
    let f = fixture();
    let id = f.bodies.put(b"0123456789").unwrap();
    assert_eq!(f.bodies.get_prefix(&id, 4).unwrap(), b"0123");
    assert_eq!(f.bodies.get_prefix(&id, 40).unwrap(), b"0123456789");
}

#[test]
fn an_adopted_file_moves_into_the_store() {
    let f = fixture();
    let source = f.dir.path().join("transcript");
    fs::write(&source, "lines").unwrap();
    let id = f.bodies.adopt(&source).unwrap();
    assert_eq!(f.bodies.get(&id).unwrap(), b"lines");
    assert!(!source.exists());

    fs::write(&source, "lines").unwrap();
    assert_eq!(f.bodies.adopt(&source).unwrap(), id);
    assert!(!source.exists(), "a duplicate is consumed too");
}

#[test]
fn only_a_regular_file_is_adopted() {
    let f = fixture();
    let error = f.bodies.adopt(f.dir.path()).unwrap_err();
    assert!(matches!(error, Error::NotAFile { .. }), "{error}");
}

impl BodyStoreFixture {
    /// Puts bodies and returns their ids.
    fn put_many(&self, texts: std::ops::Range<u32>) -> Vec<String> {
        let put = |n: u32| self.bodies.put(format!("body {n}\n").as_bytes()).unwrap();
        texts.map(put).collect()
    }

    fn packs(&self, extension: &str) -> Vec<PathBuf> {
        let folder = self.dir.path().join("bodies/packs");
        let files = fs::read_dir(folder).into_iter().flatten();
        let files = files.map(|file| file.unwrap().path());
        let mut files: Vec<PathBuf> = files
            .filter(|path| path.extension().is_some_and(|e| e == extension))
            .collect();
        files.sort();
        files
    }
}

#[test]
fn packed_bodies_are_read_like_any_other() {
    let f = fixture();
    let ids = f.put_many(0..50);
    let empty = f.bodies.put(b"").unwrap();
    assert_eq!(f.bodies.pack_if_more_than(51).unwrap(), 0);
    assert_eq!(f.bodies.pack().unwrap(), 51);
    assert_eq!(f.files(), 2, "a pack and its index");
    for (n, id) in ids.iter().enumerate() {
        assert_eq!(f.bodies.get(id).unwrap(), format!("body {n}\n").as_bytes());
    }
    assert_eq!(f.bodies.get(&empty).unwrap(), b"");
    assert_eq!(f.bodies.get_prefix(&ids[7], 4).unwrap(), b"body");
    let error = f.bodies.get(&"0".repeat(64)).unwrap_err();
    assert!(matches!(error, Error::Missing { .. }), "{error}");

    // The same text again is a file again, until it is packed again.
    assert_eq!(f.put_many(3..4)[0], ids[3]);
    assert_eq!(f.files(), 3);
    assert_eq!(f.bodies.pack().unwrap(), 1);
    assert_eq!(f.bodies.get(&ids[3]).unwrap(), b"body 3\n");
}

#[test]
fn a_packed_body_can_be_taken_out_by_its_index() {
    let f = fixture();
    let ids = f.put_many(0..9);
    f.bodies.pack().unwrap();
    let pack = fs::read_to_string(&f.packs("pack")[0]).unwrap();
    let index = fs::read_to_string(&f.packs("idx")[0]).unwrap();
    let line = index
        .lines()
        .find(|line| line.starts_with(&ids[5]))
        .unwrap();
    let numbers: Vec<usize> = line
        .split_ascii_whitespace()
        .skip(1)
        .map(|word| word.parse().unwrap())
        .collect();
    assert_eq!(&pack[numbers[0]..numbers[0] + numbers[1]], "body 5\n");
    assert!(pack.contains(&format!("{} 7\nbody 5\n", ids[5])));
}

#[test]
fn many_packs_become_few() {
    let f = fixture();
    let mut ids = Vec::new();
    for round in 0..30 {
        ids.extend(f.put_many(round * 4..round * 4 + 4));
        f.bodies.pack().unwrap();
    }
    assert!(f.packs("pack").len() <= 9, "{}", f.packs("pack").len());
    assert_eq!(f.packs("pack").len(), f.packs("idx").len());
    for (n, id) in ids.iter().enumerate() {
        assert_eq!(f.bodies.get(id).unwrap(), format!("body {n}\n").as_bytes());
    }
}

#[test]
fn readers_find_every_body_while_others_pack() {
    let f = fixture();
    let ids = f.put_many(0..200);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let other = BodyStore::open(f.dir.path().join("bodies")).unwrap();
                for round in 0..20 {
                    f.put_many(1_000 + round * 10..1_010 + round * 10);
                    other.pack().unwrap();
                }
            });
        }
        scope.spawn(|| {
            for id in ids.iter().cycle().take(2_000) {
                assert!(f.bodies.get(id).unwrap().starts_with(b"body "));
            }
        });
    });
}

#[test]
fn what_a_killed_packer_leaves_is_cleared_up() {
    let f = fixture();
    let ids = f.put_many(0..3);
    let folder = f.dir.path().join("bodies/packs");
    fs::create_dir(&folder).unwrap();
    // Killed between the pack and its index.
    fs::write(folder.join("abc.pack"), "half").unwrap();
    f.bodies.pack().unwrap();
    assert_eq!(f.packs("pack").len(), 1);
    assert_eq!(f.bodies.get(&ids[1]).unwrap(), b"body 1\n");

    // Killed before the files of their own were removed: everything is there twice.
    f.put_many(0..3);
    f.bodies.pack().unwrap();
    assert_eq!(f.packs("pack").len(), 1, "the same pack again");
    assert_eq!(f.bodies.get(&ids[2]).unwrap(), b"body 2\n");
}

#[test]
fn damage_in_a_pack_is_reported_and_not_packed_again() {
    let f = fixture();
    let ids = f.put_many(0..3);
    f.bodies.pack().unwrap();
    let pack = f.packs("pack").remove(0);
    let damaged = fs::read_to_string(&pack)
        .unwrap()
        .replace("body 1", "BODY 1");
    fs::write(&pack, damaged).unwrap();
    let error = f.bodies.get(&ids[1]).unwrap_err();
    assert!(error.to_string().contains(".pack"), "{error}");
    assert!(matches!(error, Error::Corrupt { .. }), "{error}");
    assert_eq!(f.bodies.get(&ids[2]).unwrap(), b"body 2\n");
    for round in 1..20 {
        f.put_many(round * 4..round * 4 + 4);
        f.bodies.pack().unwrap();
    }
    let error = f.bodies.get(&ids[1]).unwrap_err();
    assert!(
        matches!(error, Error::Corrupt { .. }),
        "still there: {error}"
    );
}

#[test]
fn a_damaged_body_is_not_packed() {
    let f = fixture();
    let id = f.bodies.put(b"approved").unwrap();
    fs::write(f.bodies.path(&id).unwrap(), b"rejected").unwrap();
    assert_eq!(f.bodies.pack().unwrap(), 0);
    let error = f.bodies.get(&id).unwrap_err();
    assert!(matches!(error, Error::Corrupt { .. }), "{error}");
}

#[test]
fn bodies_are_removed_from_packs_and_files_and_the_rest_is_kept() {
    let f = fixture();
    let packed = f.put_many(0..10);
    f.bodies.pack().unwrap();
    let whole = f.put_many(10..20);
    f.bodies.pack().unwrap();
    let loose = f.put_many(20..30);
    let all = f.bodies.lengths().unwrap();
    assert_eq!((all.len(), all[&packed[3]]), (30, 7));
    let gone: std::collections::BTreeSet<String> = packed[..5]
        .iter()
        .chain(&whole)
        .chain(&loose[5..])
        .cloned()
        .collect();
    assert!(f.bodies.remove(&gone).unwrap());
    assert_eq!(f.packs("pack").len(), 1, "one is rewritten, one is gone");
    assert_eq!(f.packs("idx").len(), 1);
    for id in packed.iter().chain(&whole).chain(&loose) {
        let found = f.bodies.get(id);
        assert_eq!(found.is_err(), gone.contains(id), "{found:?}");
    }
    let left: Vec<String> = f.bodies.lengths().unwrap().into_keys().collect();
    assert!(left.len() == 10 && left.iter().all(|id| !gone.contains(id)));
}
