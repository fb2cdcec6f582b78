//! The conditions of approval levels: how they are written, and what they ask.

use serde::{Deserialize, Serialize};

use super::{ConditionOutcome, PathSetMatch, RiskProfile};
use crate::spelling::suggest_word;

/// The sets of paths that `no_security_sensitive_files` is about.
const SENSITIVE_SETS: [&str; 5] = ["auth", "payment", "encryption", "keys", "production_config"];

/// A condition on a change, such as `file_count < 3` or `changes_auth_code`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum RiskCondition {
    /// A number is compared.
    Count {
        /// The number.
        of: RiskCount,
        /// How it is compared.
        comparison: Comparison,
        /// What it is compared with.
        with: u32,
    },
    /// Something is so, or is not.
    Flag {
        /// What is asked.
        flag: RiskFlag,
        /// Whether it is to be so.
        wanted: bool,
    },
}

/// A number that a condition compares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RiskCount {
    /// The files that the change touches.
    Files,
    /// The lines that it adds and removes.
    Lines,
    /// How many percent of the changed lines the tests run.
    Coverage,
    /// The findings that are still open.
    Findings,
}

/// A way to compare two numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// `<`
    Less,
    /// `<=`
    AtMost,
    /// `>`
    More,
    /// `>=`
    AtLeast,
    /// `==`
    Equal,
}

/// Something that is so or is not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RiskFlag {
    /// The change touches a file of a named set.
    Touches(String),
    /// It touches a file of any of the security-sensitive sets.
    TouchesSensitive,
    /// A public definition is gone or has another signature.
    BreaksPublicInterface,
    /// A person has overruled a check or a role.
    OverrulesChecks,
    /// Less was done than was asked for.
    IsDegraded,
    /// The workflow publishes what is committed.
    Publishes,
}

const COUNTS: [(&str, RiskCount); 5] = [
    ("file_count", RiskCount::Files),
    ("line_count", RiskCount::Lines),
    ("test_coverage", RiskCount::Coverage),
    ("coverage", RiskCount::Coverage),
    ("findings_left", RiskCount::Findings),
];

const COMPARISONS: [(&str, Comparison); 5] = [
    ("<=", Comparison::AtMost),
    (">=", Comparison::AtLeast),
    ("==", Comparison::Equal),
    ("<", Comparison::Less),
    (">", Comparison::More),
];

/// Conditions with names of their own, and the set that each is about.
const SETS_BY_NAME: [(&str, &str); 5] = [
    ("changes_auth_code", "auth"),
    ("changes_payment_code", "payment"),
    ("changes_key_management", "keys"),
    ("production_config_changes", "production_config"),
    ("changes_dependencies", "dependencies"),
];

impl RiskCondition {
    /// Reads a condition; returns what is wrong with it and what could be meant. Sets of paths are
    /// not known here: see [`RiskCondition::set`].
    pub fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim();
        for (sign, comparison) in COMPARISONS {
            if let Some((name, number)) = text.split_once(sign) {
                return Self::parse_count(name.trim(), comparison, number.trim());
            }
        }
        let (rest, wanted) = match text.strip_prefix("no_") {
            Some(rest) => (rest, false),
            None => (text, true),
        };
        let flag = Self::parse_flag(rest).ok_or_else(|| unknown_condition(text))?;
        Ok(Self::Flag { flag, wanted })
    }

    fn parse_count(name: &str, comparison: Comparison, number: &str) -> Result<Self, String> {
        let known = COUNTS.iter().find(|(known, _)| *known == name);
        let Some((_, of)) = known else {
            return Err(unknown_condition(name));
        };
        let with = number.trim_end_matches('%').trim().parse();
        let with = with.map_err(|_| format!("`{number}` is not a whole number"))?;
        Ok(Self::Count {
            of: *of,
            comparison,
            with,
        })
    }

    fn parse_flag(text: &str) -> Option<RiskFlag> {
        if let Some((_, set)) = SETS_BY_NAME.iter().find(|(name, _)| *name == text) {
            return Some(RiskFlag::Touches((*set).to_owned()));
        }
        Some(match text {
            "security_sensitive_files" => RiskFlag::TouchesSensitive,
            "breaking_changes" | "breaking_api_changes" => RiskFlag::BreaksPublicInterface,
            "checks_overruled" => RiskFlag::OverrulesChecks,
            "degraded" => RiskFlag::IsDegraded,
            "publishes" => RiskFlag::Publishes,
            _ => {
                let set = text
                    .strip_prefix("changes_")
                    .or_else(|| text.strip_suffix("_changes"))?;
                RiskFlag::Touches(set.to_owned())
            }
        })
    }

    /// Returns the set of paths that the condition is about, if it is about one.
    pub fn set(&self) -> Option<&str> {
        match self {
            Self::Flag {
                flag: RiskFlag::Touches(set),
                ..
            } => Some(set),
            Self::Flag { .. } | Self::Count { .. } => None,
        }
    }

    /// Returns the sets of paths that a change has to touch for the condition to hold, or, if
    /// `touched` is false, that it must not touch.
    pub fn sets_that_matter(&self, touched: bool) -> Vec<String> {
        match self {
            Self::Flag { flag, wanted } if *wanted == touched => match flag {
                RiskFlag::Touches(set) => vec![set.clone()],
                RiskFlag::TouchesSensitive => SENSITIVE_SETS.map(str::to_owned).to_vec(),
                _ => Vec::new(),
            },
            Self::Flag { .. } | Self::Count { .. } => Vec::new(),
        }
    }

    /// Evaluates the condition on a change.
    pub fn evaluate(&self, profile: &RiskProfile) -> ConditionOutcome {
        match self {
            Self::Count {
                of,
                comparison,
                with,
            } => evaluate_count(*of, *comparison, *with, profile),
            Self::Flag { flag, wanted } => {
                let (is_so, because) = evaluate_flag(flag, profile);
                ConditionOutcome {
                    holds: is_so.map(|is_so| is_so == *wanted),
                    because,
                }
            }
        }
    }
}

fn unknown_condition(text: &str) -> String {
    let names = COUNTS.iter().map(|(name, _)| *name);
    let names = names
        .chain(SETS_BY_NAME.iter().map(|(name, _)| *name))
        .chain([
            "changes_encryption",
            "no_security_sensitive_files",
            "no_breaking_changes",
            "breaking_api_changes",
            "checks_overruled",
            "degraded",
            "publishes",
        ]);
    let name = text.split_whitespace().next().unwrap_or(text);
    let advice = suggest_word(name, names).unwrap_or_default();
    format!("codeteam does not know the condition `{text}`; {advice}")
        .trim_end_matches("; ")
        .to_owned()
}

fn evaluate_count(
    of: RiskCount,
    comparison: Comparison,
    with: u32,
    profile: &RiskProfile,
) -> ConditionOutcome {
    let facts = &profile.facts;
    // Coverage is kept in hundredths of a percent.
    let (value, with, because) = match of {
        RiskCount::Files => (Some(facts.files), with, plural(facts.files, "file")),
        RiskCount::Findings => {
            let open = plural(profile.findings, "open finding");
            (Some(profile.findings), with, open)
        }
        RiskCount::Lines => {
            let because = match facts.lines {
                Some(lines) => plural(lines, "line"),
                None => "not everything in the change is lines, so they are not counted".to_owned(),
            };
            (facts.lines, with, because)
        }
        RiskCount::Coverage => {
            let because = match facts.coverage {
                Some(found) => format!(
                    "the tests run {}.{:02} % of the changed lines",
                    found / 100,
                    found % 100
                ),
                None => "nothing has measured what the tests cover".to_owned(),
            };
            (facts.coverage, with.saturating_mul(100), because)
        }
    };
    let holds = value.map(|value| match comparison {
        Comparison::Less => value < with,
        Comparison::AtMost => value <= with,
        Comparison::More => value > with,
        Comparison::AtLeast => value >= with,
        Comparison::Equal => value == with,
    });
    ConditionOutcome { holds, because }
}

fn plural(count: u32, what: &str) -> String {
    let s = if count == 1 { "" } else { "s" };
    format!("{count} {what}{s}")
}

fn evaluate_flag(flag: &RiskFlag, profile: &RiskProfile) -> (Option<bool>, String) {
    let facts = &profile.facts;
    match flag {
        RiskFlag::Touches(set) => match facts.paths.iter().find(|found| found.set == *set) {
            Some(found) => (Some(true), describe_match(found)),
            None => (Some(false), format!("no file of `{set}`")),
        },
        RiskFlag::TouchesSensitive => {
            let mut found = facts.paths.iter();
            match found.find(|found| SENSITIVE_SETS.contains(&found.set.as_str())) {
                Some(found) => (Some(true), describe_match(found)),
                None => (Some(false), "no security-sensitive file".to_owned()),
            }
        }
        RiskFlag::BreaksPublicInterface => match (facts.breaking.first(), facts.unread.first()) {
            (Some(first), _) => {
                let more = match facts.breaking.len() {
                    1 => String::new(),
                    count => format!(", and {} more", count - 1),
                };
                (Some(true), format!("{}{more}", first.describe()))
            }
            (None, Some(file)) => {
                let because = format!(
                    "the public signatures of `{file}` could not be compared, so it is not known \
                     whether they still fit"
                );
                (None, because)
            }
            (None, None) => (
                Some(false),
                "no public signature is gone or changed".to_owned(),
            ),
        },
        RiskFlag::OverrulesChecks => match profile.overruled.as_slice() {
            [] => (Some(false), "nothing was overruled".to_owned()),
            names => (Some(true), format!("overruled: {}", names.join(", "))),
        },
        RiskFlag::IsDegraded if profile.degraded => {
            let because = "less was done than was asked for";
            (Some(true), because.to_owned())
        }
        RiskFlag::IsDegraded => (Some(false), "all was done that was asked for".to_owned()),
        RiskFlag::Publishes if profile.publishes => {
            (Some(true), "the workflow publishes it".to_owned())
        }
        RiskFlag::Publishes => (Some(false), "the workflow does not publish it".to_owned()),
    }
}

fn describe_match(found: &PathSetMatch) -> String {
    let first = found.files.first().map_or("", String::as_str);
    let more = found.files.len().saturating_sub(1) + found.more as usize;
    let more = match more {
        0 => String::new(),
        more => format!(" (and {more} more)"),
    };
    format!("`{first}`{more} is in `{}`", found.set)
}

impl std::fmt::Display for RiskCondition {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Count {
                of,
                comparison,
                with,
            } => {
                let name = COUNTS.iter().find(|(_, known)| known == of);
                let sign = COMPARISONS.iter().find(|(_, known)| known == comparison);
                let (name, sign) = (name.map_or("", |n| n.0), sign.map_or("", |s| s.0));
                write!(f, "{name} {sign} {with}")
            }
            Self::Flag { flag, wanted } => {
                let no = if *wanted { "" } else { "no_" };
                match flag {
                    RiskFlag::Touches(set) => {
                        match SETS_BY_NAME.iter().find(|(_, known)| known == set) {
                            Some((name, _)) => write!(f, "{no}{name}"),
                            None => write!(f, "{no}changes_{set}"),
                        }
                    }
                    RiskFlag::TouchesSensitive => write!(f, "{no}security_sensitive_files"),
                    RiskFlag::BreaksPublicInterface => write!(f, "{no}breaking_changes"),
                    RiskFlag::OverrulesChecks => write!(f, "{no}checks_overruled"),
                    RiskFlag::IsDegraded => write!(f, "{no}degraded"),
                    RiskFlag::Publishes => write!(f, "{no}publishes"),
                }
            }
        }
    }
}

impl TryFrom<String> for RiskCondition {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        Self::parse(&text)
    }
}

impl From<RiskCondition> for String {
    fn from(condition: RiskCondition) -> Self {
        condition.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::risk::{BreakingChange, RiskFacts};

    fn profile(facts: RiskFacts) -> RiskProfile {
        RiskProfile {
            facts,
            ..RiskProfile::default()
        }
    }

    fn holds(text: &str, profile: &RiskProfile) -> Option<bool> {
        RiskCondition::parse(text).unwrap().evaluate(profile).holds
    }

    #[test]
    fn every_condition_of_the_seed_is_read_and_written_the_same() {
        for text in [
            "file_count < 3",
            "no_security_sensitive_files",
            "test_coverage > 80",
            "file_count < 10",
            "no_breaking_changes",
            "changes_auth_code",
            "changes_payment_code",
            "changes_encryption",
            "changes_key_management",
            "production_config_changes",
            "findings_left >= 1",
            "checks_overruled",
            "no_publishes",
        ] {
            let condition = RiskCondition::parse(text).unwrap();
            assert_eq!(condition.to_string(), text);
            let json = serde_json::to_string(&condition).unwrap();
            assert_eq!(json, format!("\"{text}\""));
            assert_eq!(
                serde_json::from_str::<RiskCondition>(&json).unwrap(),
                condition
            );
        }
        let breaking = RiskCondition::parse("breaking_api_changes").unwrap();
        assert_eq!(breaking.to_string(), "breaking_changes");
    }

    #[test]
    fn an_unknown_condition_is_an_error_with_advice() {
        let wrong = RiskCondition::parse("file_cuont < 3").unwrap_err();
        assert!(wrong.contains("did you mean `file_count`?"), "{wrong}");
        assert!(RiskCondition::parse("nobody_looks").is_err());
        assert!(RiskCondition::parse("file_count < many").is_err());
        assert_eq!(
            RiskCondition::parse("changes_trading").unwrap().set(),
            Some("trading")
        );
    }

    #[test]
    fn what_is_not_known_is_neither_so_nor_not() {
        let nothing = profile(RiskFacts::default());
        assert_eq!(holds("test_coverage > 80", &nothing), None);
        assert_eq!(holds("line_count < 10", &nothing), None);
        let unread = profile(RiskFacts {
            unread: vec!["run.sh".to_owned()],
            ..RiskFacts::default()
        });
        assert_eq!(holds("no_breaking_changes", &unread), None);
        assert_eq!(holds("breaking_changes", &unread), None);
        let measured = profile(RiskFacts {
            coverage: Some(8_001),
            ..RiskFacts::default()
        });
        assert_eq!(holds("test_coverage > 80", &measured), Some(true));
        assert_eq!(holds("test_coverage > 81", &measured), Some(false));
    }

    #[test]
    fn sets_matter_in_one_direction() {
        let sets = |text: &str, touched| {
            RiskCondition::parse(text)
                .unwrap()
                .sets_that_matter(touched)
        };
        assert_eq!(sets("docs_changes", true), ["docs"]);
        assert_eq!(sets("docs_changes", false), [""; 0]);
        assert_eq!(sets("no_changes_tests", false), ["tests"]);
        assert_eq!(sets("no_changes_tests", true), [""; 0]);
        assert!(sets("no_security_sensitive_files", false).contains(&"auth".to_owned()));
        assert_eq!(sets("file_count < 3", true), [""; 0]);
    }

    #[test]
    fn a_match_says_which_file_it_is() {
        let touched = profile(RiskFacts {
            files: 2,
            paths: vec![PathSetMatch {
                set: "auth".to_owned(),
                files: vec!["api/auth.py".to_owned(), "api/login.py".to_owned()],
                more: 0,
            }],
            breaking: vec![BreakingChange {
                file: "api/auth.py".to_owned(),
                before: "def login(user)".to_owned(),
                after: Some("def login(user, code)".to_owned()),
            }],
            ..RiskFacts::default()
        });
        let auth = RiskCondition::parse("changes_auth_code").unwrap();
        let found = auth.evaluate(&touched);
        assert_eq!(found.holds, Some(true));
        assert_eq!(found.because, "`api/auth.py` (and 1 more) is in `auth`");
        assert_eq!(holds("no_security_sensitive_files", &touched), Some(false));
        assert_eq!(holds("breaking_api_changes", &touched), Some(true));
    }
}
