//! Packing what a run has committed, in a repository with everything that can be in the way.

use std::path::PathBuf;

use super::*;

struct PackingFixture {
    git: GitFixture,
    base: Oid,
}

impl PackingFixture {
    fn new() -> Self {
        let git = GitFixture::new();
        let base = git.commit_all("base");
        Self { git, base }
    }

    /// Makes commits, each with a file of its own, and returns the last.
    fn commits(&self, from: u32, to: u32) -> Oid {
        let mut tip = self.base.clone();
        for n in from..to {
            self.git.write(&format!("files/{n}"), &format!("{n}\n"));
            tip = self.git.commit_all(&format!("commit {n}"));
        }
        tip
    }

    fn loose(&self) -> u32 {
        let counted = self.git.git(&self.git.main(), &["count-objects"]);
        counted.split(' ').next().unwrap().parse().unwrap()
    }

    fn packs(&self) -> Vec<PathBuf> {
        let folder = self.git.main().join(".git/objects/pack");
        let files = std::fs::read_dir(folder).unwrap();
        let files = files.map(|file| file.unwrap().path());
        let mut packs: Vec<PathBuf> = files
            .filter(|path| path.extension().is_some_and(|e| e == "pack"))
            .collect();
        packs.sort();
        packs
    }

    fn is_whole(&self) {
        let main = self.git.main();
        self.git.git(&main, &["fsck", "--full", "--strict"]);
        assert_eq!(self.git.git(&main, &["status", "--porcelain"]), "");
    }
}

#[test]
fn what_a_run_committed_is_packed_and_the_rest_is_left() {
    let fixture = PackingFixture::new();
    let (repo, _) = fixture.git.open();
    let before = fixture.loose();
    let tip = fixture.commits(0, 20);
    // An object of the user's that nothing refers to.
    fixture.git.write("mine", "not committed\n");
    let mine = fixture
        .git
        .git(&fixture.git.main(), &["hash-object", "-w", "mine"]);
    assert!(fixture.loose() > before + 60);

    let made = repo.pack_commits(&tip, &fixture.base).unwrap();
    assert_eq!((made.len(), fixture.packs().len()), (1, 1));
    assert_eq!(fixture.loose(), before + 1, "the base, and the user's");
    fixture
        .git
        .git(&fixture.git.main(), &["cat-file", "-e", &mine]);
    std::fs::remove_file(fixture.git.main().join("mine")).unwrap();
    fixture.is_whole();
    assert!(repo.pack_commits(&tip, &fixture.base).unwrap().is_empty());
}

#[test]
fn packs_of_a_run_become_one() {
    let fixture = PackingFixture::new();
    let (repo, _) = fixture.git.open();
    let (mut packs, mut since) = (Vec::new(), fixture.base.clone());
    for round in 0..4 {
        let tip = fixture.commits(round * 5, round * 5 + 5);
        packs.extend(repo.pack_commits(&tip, &since).unwrap());
        since = tip;
    }
    assert_eq!((packs.len(), fixture.packs().len()), (4, 4));
    let merged = repo.merge_packs(&packs).unwrap();
    assert_eq!((merged.len(), fixture.packs().len()), (1, 1));
    fixture.is_whole();
    assert_eq!(repo.merge_packs(&merged).unwrap(), merged);
}

#[test]
fn packs_that_the_user_keeps_or_has_collected_are_left_alone() {
    let fixture = PackingFixture::new();
    let (repo, _) = fixture.git.open();
    let first = fixture.commits(0, 3);
    let mut packs = repo.pack_commits(&first, &fixture.base).unwrap();
    let second = fixture.commits(3, 6);
    packs.extend(repo.pack_commits(&second, &first).unwrap());

    let keep = fixture.packs()[0].with_extension("keep");
    std::fs::write(&keep, "").unwrap();
    assert_eq!(repo.merge_packs(&packs).unwrap(), packs);
    std::fs::remove_file(keep).unwrap();

    let collecting = fixture.git.main().join(".git/gc.pid");
    std::fs::write(&collecting, "1 host").unwrap();
    let third = fixture.commits(6, 9);
    assert!(repo.pack_commits(&third, &second).unwrap().is_empty());
    assert_eq!(repo.merge_packs(&packs).unwrap(), packs);
    std::fs::remove_file(collecting).unwrap();

    // The user's own `git gc` takes them over; then there is nothing left to merge.
    fixture.git.git(&fixture.git.main(), &["gc", "--quiet"]);
    assert!(repo.merge_packs(&packs).is_err());
    assert!(repo.pack_commits(&third, &second).unwrap().is_empty());
    fixture.is_whole();
}

#[test]
fn a_pack_that_was_begun_and_not_finished_is_in_nobodys_way() {
    let fixture = PackingFixture::new();
    let (repo, _) = fixture.git.open();
    let tip = fixture.commits(0, 5);
    let folder = fixture.git.main().join(".git/objects/pack");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("tmp_pack_abcdef"), "PACK").unwrap();
    let loose = fixture.loose();
    let made = repo.pack_commits(&tip, &fixture.base).unwrap();
    assert_eq!(made.len(), 1);
    assert!(fixture.loose() < loose);
    fixture.is_whole();
}

#[test]
fn a_reader_that_has_opened_a_pack_finds_its_objects_after_it_was_merged() {
    let fixture = PackingFixture::new();
    let (repo, _) = fixture.git.open();
    let first = fixture.commits(0, 5);
    let mut packs = repo.pack_commits(&first, &fixture.base).unwrap();
    let second = fixture.commits(5, 10);
    packs.extend(repo.pack_commits(&second, &first).unwrap());
    let reader = repo.blob_reader();
    let blobs: Vec<Oid> = (0..10)
        .map(|n| {
            let name = format!("{second}:files/{n}");
            let id = fixture.git.git(&fixture.git.main(), &["rev-parse", &name]);
            Oid::parse(&id).unwrap()
        })
        .collect();
    let read = |id: &Oid| reader.read(id).unwrap().unwrap();
    assert_eq!(read(&blobs[0]), b"0\n");
    assert_eq!(repo.merge_packs(&packs).unwrap().len(), 1);
    for (n, blob) in blobs.iter().enumerate() {
        assert_eq!(read(blob), format!("{n}\n").into_bytes());
    }
}
