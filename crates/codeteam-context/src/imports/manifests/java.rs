//! Reads the dependencies of a Java build: the groups that Maven and Gradle name.

use std::collections::BTreeSet;

/// Returns the package prefixes that the groups of a manifest's dependencies imply: `org.junit` for
/// `org.junit.jupiter`.
pub(crate) fn java_groups(text: &str) -> BTreeSet<String> {
    let mut groups = BTreeSet::new();
    // Only dependencies count, because a project also names its own group.
    for start in ["<dependency>", "<parent>"] {
        for part in text.split(start).skip(1) {
            let group = part.split("<groupId>").nth(1).unwrap_or("");
            add(&mut groups, group.split('<').next().unwrap_or("").trim());
        }
    }
    // `"group:artifact:version"`, as in Gradle's scripts and version catalogs.
    for line in text.lines() {
        for quoted in line.split(['"', '\'']).skip(1).step_by(2) {
            if let Some((group, artifact)) = quoted.split_once(':') {
                add(&mut groups, group);
                // `info.picocli:picocli` provides the package `picocli`.
                add(&mut groups, artifact.split(':').next().unwrap_or(""));
            } else if line.contains("group") && line.contains("name") {
                add(&mut groups, quoted);
            }
        }
    }
    groups
}

fn add(groups: &mut BTreeSet<String>, group: &str) {
    let is_name = |part: &str| {
        !part.is_empty()
            && part
                .chars()
                .all(|c| c.is_alphanumeric() || matches!(c, '_' | '-'))
    };
    let parts: Vec<&str> = group.split('.').collect();
    if !parts.iter().all(|part| is_name(part)) {
        return;
    }
    // The groups `com.x.y` and `com.x` provide packages of `com.x`.
    let kept = parts.len().min(2);
    groups.insert(parts[..kept].join(".").replace('-', "_"));
}
