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
