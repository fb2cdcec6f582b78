//! What a worker was shown of the project, for the log.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// No more names than this are told of one kind; of the rest, how many they are.
pub const MAX_NAMES: usize = 100;

/// What a worker is shown.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PackedContext {
    /// How it was chosen; empty if the role names no strategy.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub strategy: String,
    /// How many tokens the prompt may have.
    pub budget: u64,
    /// How many it has.
    pub tokens: u64,
    /// Its parts, in the order of their priority.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<PackedPart>,
    /// How many secrets were taken out, by file.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub redacted: BTreeMap<String, u32>,
}

/// A part of a context.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PackedPart {
    /// What it is: `target`, `imports`, `diff`, …
    pub name: String,
    /// How many tokens of it are shown.
    pub tokens: u64,
    /// How many files of it are shown.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub files: u64,
    /// What is shown shortened: files by their signatures, and the like.
    #[serde(default, skip_serializing_if = "NameList::is_empty")]
    pub compressed: NameList,
    /// What is not shown.
    #[serde(default, skip_serializing_if = "NameList::is_empty")]
    pub dropped: NameList,
}

/// Names, as many as anybody reads.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NameList {
    /// The first of them.
    pub names: Vec<String>,
    /// How many more there are.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub more: u64,
}

impl NameList {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty() && self.more == 0
    }

    /// How many there are.
    pub fn count(&self) -> u64 {
        self.names.len() as u64 + self.more
    }
}

impl FromIterator<String> for NameList {
    fn from_iter<I: IntoIterator<Item = String>>(names: I) -> Self {
        let mut all = Self::default();
        for name in names {
            if all.names.len() < MAX_NAMES {
                all.names.push(name);
            } else {
                all.more += 1;
            }
        }
        all
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for it")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl PackedContext {
    /// What people want to hear of it: nothing if all that was wanted is there.
    pub fn words(&self) -> Option<String> {
        let mut said = Vec::new();
        let named = |of: fn(&PackedPart) -> &NameList| -> Vec<String> {
            let parts = self.parts.iter().filter(|part| !of(part).is_empty());
            parts
                .map(|part| format!("{} of {}", of(part).count(), part.name))
                .collect()
        };
        for (words, parts) in [
            ("shortened", named(|part| &part.compressed)),
            ("left out", named(|part| &part.dropped)),
        ] {
            if !parts.is_empty() {
                said.push(format!("{words}: {}", parts.join(", ")));
            }
        }
        let secrets: u32 = self.redacted.values().sum();
        if secrets > 0 {
            let files: Vec<&str> = self.redacted.keys().take(3).map(String::as_str).collect();
            let more = self.redacted.len().saturating_sub(3);
            let more = if more > 0 {
                format!(" and {more} more")
            } else {
                String::new()
            };
            said.push(format!(
                "secrets taken out: {secrets}, in {}{more}",
                files.join(", ")
            ));
        }
        let size = format!("context of {} tokens (limit {})", self.tokens, self.budget);
        (!said.is_empty()).then(|| format!("{size}; {}", said.join("; ")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_said() {
        let mut packed = PackedContext {
            budget: 100,
            tokens: 90,
            ..PackedContext::default()
        };
        assert_eq!(packed.words(), None);
        let files = |count: usize| (0..count).map(|i| format!("f{i}")).collect::<NameList>();
        packed.parts = vec![
            PackedPart {
                name: "imports".to_owned(),
                compressed: files(2),
                ..PackedPart::default()
            },
            PackedPart {
                name: "related".to_owned(),
                compressed: files(1),
                dropped: files(1_000),
                ..PackedPart::default()
            },
        ];
        packed.redacted = (0..5).map(|i| (format!("{i}.env"), 2)).collect();
        assert_eq!(packed.parts[1].dropped.names.len(), MAX_NAMES);
        assert_eq!(
            packed.words().unwrap(),
            "context of 90 tokens (limit 100); shortened: 2 of imports, 1 of related; left out: 1000 of \
             related; secrets taken out: 10, in 0.env, 1.env, 2.env and 2 more"
        );
    }
}
