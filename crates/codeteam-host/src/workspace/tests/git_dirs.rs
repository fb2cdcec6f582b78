//! The private git directories of a kept work tree: nothing that was put into them stays.

use std::os::unix::fs::{MetadataExt as _, symlink};

use super::reuse::{PoolFixture, contents};
use super::*;

/// The paths and modes in both git directories of a workspace, and the contents that do not depend on
/// where the workspace is.
fn git_dirs(workspace: &Workspace) -> Vec<(PathBuf, u32, Vec<u8>)> {
    let mut found = Vec::new();
    for name in ["git", "collect"] {
        for (path, mode, bytes) in contents(&workspace.directory.join(name)) {
            let is_fixed = ["HEAD", "config", "refs/heads/work"].map(Path::new);
            let bytes = if is_fixed.contains(&path.as_path()) {
                bytes
            } else {
                Vec::new()
            };
            found.push((Path::new(name).join(path), mode, bytes));
        }
    }
    found
}

fn inode_of(workspace: &Workspace, path: &str) -> u64 {
    let path = workspace.directory.join(path);
    path.symlink_metadata().unwrap().ino()
}

#[test]
fn the_next_one_gets_the_same_files_with_nothing_else_in_them() {
    let bench = PoolFixture::new();
    let one = bench.prepare("one", &bench.first);
    let expected = git_dirs(&one);
    PoolFixture::let_time_pass(&one);
    let kept = ["collect/HEAD", "collect/objects/info", "collect/config"];
    let before = kept.map(|path| inode_of(&one, path));
    let git = one.git_dir();
    fs::write(git.join("config"), "[core]\n\tfsmonitor = touch x\n").unwrap();
    fs::create_dir_all(git.join("hooks")).unwrap();
    fs::write(git.join("hooks/post-checkout"), "#!/bin/sh\n").unwrap();
    fs::create_dir_all(git.join("objects/ab")).unwrap();
    fs::write(git.join("objects/ab/cd"), "x").unwrap();
    fs::write(git.join("refs/heads/other"), "x").unwrap();
    fs::create_dir_all(git.join("info")).unwrap();
    fs::write(git.join("info/exclude"), "*\n").unwrap();
    let collect = one.directory.join("collect");
    fs::create_dir_all(collect.join("objects/ab")).unwrap();
    fs::write(collect.join("objects/ab/cd"), "x").unwrap();
    one.release().unwrap();
    let two = bench.prepare("two", &bench.first);
    assert_eq!(kept.map(|path| inode_of(&two, path)), before);
    assert_eq!(git_dirs(&two), expected);
}

#[test]
fn what_is_in_the_place_of_a_file_is_not_written_through() {
    for stage in 0..6 {
        let bench = PoolFixture::new();
        let one = bench.prepare("one", &bench.first);
        let expected = git_dirs(&one);
        PoolFixture::let_time_pass(&one);
        let outside = bench.bench.fixture.path().join("outside");
        fs::create_dir(&outside).unwrap();
        fs::write(outside.join("HEAD"), "mine").unwrap();
        let collect = one.directory.join("collect");
        let replace = |name: &str| {
            let path = collect.join(name);
            remove_tree(&path).unwrap();
            path
        };
        match stage {
            0 => symlink(outside.join("HEAD"), replace("HEAD")).unwrap(),
            1 => fs::hard_link(outside.join("HEAD"), replace("HEAD")).unwrap(),
            2 => symlink(&outside, replace("objects/info")).unwrap(),
            3 => symlink(&outside, replace("refs")).unwrap(),
            4 => fs::create_dir(replace("index")).unwrap(),
            _ => {
                remove_tree(&collect).unwrap();
                symlink(&outside, &collect).unwrap();
            }
        }
        one.release().unwrap();
        let two = bench.prepare("two", &bench.first);
        assert_eq!(git_dirs(&two), expected, "stage {stage}");
        let names: Vec<_> = fs::read_dir(&outside).unwrap().collect();
        assert_eq!(names.len(), 1, "stage {stage}");
        let mine = fs::read_to_string(outside.join("HEAD")).unwrap();
        assert_eq!(mine, "mine", "stage {stage}");
    }
}
