//! What a build of Java depends on: the groups that Maven and Gradle name.

use std::collections::BTreeSet;

/// The beginnings of packages that the groups of a manifest's dependencies speak for: `org.junit` of
/// `org.junit.jupiter`.
pub(crate) fn java_groups(text: &str) -> BTreeSet<String> {
    let mut groups = BTreeSet::new();
    // A project names its own group, too.
    for start in ["<dependency>", "<parent>"] {
        for part in text.split(start).skip(1) {
            let group = part.split("<groupId>").nth(1).unwrap_or("");
            add(&mut groups, group.split('<').next().unwrap_or("").trim());
        }
    }
    // `"group:artifact:version"`, in Gradle's languages and in its lists of versions.
    for line in text.lines() {
        for quoted in line.split(['"', '\'']).skip(1).step_by(2) {
            if let Some((group, artifact)) = quoted.split_once(':') {
                add(&mut groups, group);
                // `info.picocli:picocli` brings the package `picocli`.
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
    // The groups `com.x.y` and `com.x` bring packages of `com.x`.
    let kept = parts.len().min(2);
    groups.insert(parts[..kept].join(".").replace('-', "_"));
}
