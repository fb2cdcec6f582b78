//! Who people are on this machine: user names and user ids, and signatures over decisions.
//!
//! **Invariant:** no name is taken from the environment. A user id is the one that the kernel
//! reports for a process, and a signature is checked by `ssh-keygen`.

use std::fs;

use codeteam_core::ids::PersonName;

/// The machine's list of users.
const PASSWD: &str = "/etc/passwd";
/// The machine's list of groups.
const GROUP: &str = "/etc/group";

/// Returns the real user id of this process.
pub(crate) fn own_uid() -> u32 {
    rustix::process::getuid().as_raw()
}

/// Returns the user id of a user of this machine.
pub(crate) fn uid_of_user(user: &str) -> Option<u32> {
    let text = fs::read_to_string(PASSWD).ok()?;
    passwd_entries(&text).find_map(|(name, uid)| (name == user).then_some(uid))
}

/// Returns the name of a user of this machine.
pub(crate) fn user_of_uid(uid: u32) -> Option<String> {
    let text = fs::read_to_string(PASSWD).ok()?;
    let mut entries = passwd_entries(&text);
    entries.find_map(|(name, known)| (known == uid).then(|| name.to_owned()))
}

fn passwd_entries(text: &str) -> impl Iterator<Item = (&str, u32)> {
    text.lines().filter_map(|line| {
        let mut fields = line.split(':');
        let (name, _, uid) = (fields.next()?, fields.next()?, fields.next()?);
        Some((name, uid.parse().ok()?))
    })
}

/// Returns true if a group has no member but this user: on many systems every user has such a
/// group, and what it may write, only they may.
pub(crate) fn is_group_of_one(gid: u32, uid: u32) -> bool {
    let text = |path| fs::read_to_string(path).unwrap_or_default();
    is_only_member(&text(PASSWD), &text(GROUP), gid, uid)
}

fn is_only_member(passwd: &str, groups: &str, gid: u32, uid: u32) -> bool {
    let field = |line: &str, at: usize| line.split(':').nth(at).map(str::to_owned);
    let number = |line: &str, at| field(line, at).and_then(|text| text.parse::<u32>().ok());
    let mut primary = passwd.lines().filter(|line| number(line, 3) == Some(gid));
    let user = passwd.lines().find(|line| number(line, 2) == Some(uid));
    let user = user.and_then(|line| field(line, 0));
    let Some(group) = groups.lines().find(|line| number(line, 2) == Some(gid)) else {
        return false;
    };
    let members = field(group, 3).unwrap_or_default();
    let mut members = members.split(',').filter(|name| !name.is_empty());
    primary.all(|line| number(line, 2) == Some(uid))
        && members.all(|name| Some(name) == user.as_deref())
}

/// Returns the part of a public key that makes it this key: without the comment behind it.
pub(crate) fn key_material(key: &str) -> &str {
    let key = key.trim();
    let mut spaces = key.match_indices(' ');
    match spaces.nth(1) {
        Some((end, _)) => &key[..end],
        None => key,
    }
}

/// Returns the line that lets a person sign with a key, and with nothing else.
pub(crate) fn allowed_signer(person: &PersonName, key: &str) -> String {
    // A line break in a key would be a line of its own.
    let key: Vec<&str> = key.split_whitespace().collect();
    format!(
        "{} namespaces=\"{NAMESPACE}\" {}\n",
        encode_principal(person),
        key.join(" ")
    )
}

/// The namespace of signatures over decisions: a signature that was made for anything else, such as
/// a commit, is none.
pub(crate) const NAMESPACE: &str = "codeteam-decision";

/// Returns a name as it stands in a list of signers, where spaces and commas have a meaning.
pub(crate) fn encode_principal(name: &PersonName) -> String {
    let bytes = name.as_str().bytes();
    let encoded = bytes.map(|byte| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'_' | b'-' => char::from(byte).to_string(),
        _ => format!("%{byte:02x}"),
    });
    encoded.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_are_read_from_the_list_of_the_machine() {
        let text = "root:x:0:0:root:/root:/bin/sh\nanna:x:1001:1001::/home/anna:/bin/sh\nbroken\n";
        let entries: Vec<(&str, u32)> = passwd_entries(text).collect();
        assert_eq!(entries, [("root", 0), ("anna", 1001)]);
        assert_eq!(uid_of_user("root"), Some(0));
        assert_eq!(user_of_uid(0).as_deref(), Some("root"));
    }

    #[test]
    fn a_group_of_one_has_no_other_member() {
        let passwd = "anna:x:1001:1001::/:/bin/sh\nben:x:1002:1002::/:/bin/sh\n";
        let groups = "anna:x:1001:\nben:x:1002:anna\nteam:x:2000:anna,ben\n";
        assert!(is_only_member(passwd, groups, 1001, 1001));
        assert!(!is_only_member(passwd, groups, 1002, 1002));
        assert!(!is_only_member(passwd, groups, 2000, 1001));
        assert!(!is_only_member(passwd, groups, 3000, 1001));
    }

    #[test]
    fn a_key_is_the_same_whatever_its_comment_says() {
        assert_eq!(
            key_material("ssh-ed25519 AAAA anna@home"),
            "ssh-ed25519 AAAA"
        );
        assert_eq!(key_material(" ssh-ed25519 AAAA "), "ssh-ed25519 AAAA");
    }

    #[test]
    fn a_name_stays_one_principal() {
        assert_eq!(encode_principal(&"anna b,*".into()), "anna%20b%2c%2a");
    }
}
