//! Past commits.

use codeteam_context::find::Commit;

use super::*;

fn touched(commit: &Commit) -> Vec<(&str, Option<&str>, bool)> {
    commit
        .files
        .iter()
        .map(|it| (it.path.as_str(), it.before.as_deref(), it.added))
        .collect()
}

#[test]
fn past_commits_have_their_messages_and_files() {
    let fixture = GitFixture::new();
    fixture.write("a b\nc", "x\n");
    fixture.write("other", "y\n");
    fixture.commit_all("Second\n\nWith a body (#12)\nand more\n\nSigned-off-by: A <a@b.c>");
    fixture.git(&fixture.main(), &["mv", "file", "moved"]);
    fixture.write("other", "z\n");
    fixture.commit_all("Third");
    fixture.commit_all("M");
    let (repo, head) = fixture.open();
    let commits = repo.history(&head.commit, None, 100).unwrap();
    let subjects: Vec<&str> = commits.iter().map(|it| it.subject.as_str()).collect();
    assert_eq!(subjects, ["M", "Third", "Second", "first"]);
    assert_eq!(touched(&commits[0]), []);
    assert_eq!(
        touched(&commits[1]),
        [("moved", Some("file"), false), ("other", None, false)]
    );
    assert_eq!(
        touched(&commits[2]),
        [("a b\nc", None, true), ("other", None, true)]
    );
    assert_eq!(touched(&commits[3]), [("file", None, true)]);
    assert_eq!(commits[0].id, head.commit.as_str());
    assert_eq!(commits[0].parents, [commits[1].id.clone()]);
    assert!(commits.iter().all(|it| it.time > 0));
    let body = codeteam_context::find::words::WordBag::from_text("Second with a body and more");
    assert_eq!(commits[2].words, body);

    assert_eq!(repo.history(&head.commit, None, 2).unwrap(), commits[..2]);
    let third = Oid::parse(&commits[1].id).unwrap();
    let newer = repo.history(&head.commit, Some(&third), 100).unwrap();
    assert_eq!(newer, commits[..1]);
    assert!(repo.is_ancestor(&third, &head.commit).unwrap());
    assert!(!repo.is_ancestor(&head.commit, &third).unwrap());
    let gone = Oid::parse(&"1".repeat(40)).unwrap();
    assert!(!repo.is_ancestor(&gone, &head.commit).unwrap());
}
