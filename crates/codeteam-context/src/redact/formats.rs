//! Secrets that are known by their format.
//!
//! Lengths are those that providers are known to issue, open at the upper end where they have grown
//! before.

use std::ops::Range;
use std::sync::OnceLock;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use regex::Regex;

use crate::redact::line::{RuleRank, SecretSpan};
use crate::redact::surroundings::is_start;
use crate::redact::value;

/// One format. Where several begin alike, the first that fits names the secret.
struct SecretFormat {
    rule: &'static str,
    /// The beginnings of it, in lower case.
    starts: &'static [&'static str],
    /// The whole of it, or in its group what of it is secret.
    pattern: &'static str,
    check: fn(&str) -> bool,
    /// The pattern, compiled when it is first needed: most runs need few of them.
    regex: OnceLock<Option<Regex>>,
}

const fn format(
    rule: &'static str,
    starts: &'static [&'static str],
    pattern: &'static str,
    check: fn(&str) -> bool,
) -> SecretFormat {
    SecretFormat {
        rule,
        starts,
        pattern,
        check,
        regex: OnceLock::new(),
    }
}

/// Returns true if the text after a fixed start is not just filling.
fn any(secret: &str) -> bool {
    value::entropy(secret) >= 3.0 && !is_sample(secret)
}

/// The start is a short one that words have too.
fn random(secret: &str) -> bool {
    any(secret) && value::is_random(secret)
}

/// Returns true if the text after the start is random, and the start is not part of a word.
fn unlike_words(secret: &str) -> bool {
    any(secret) && !value::is_identifier(secret)
}

/// The documentation's own.
fn is_sample(secret: &str) -> bool {
    let lower = secret.to_ascii_lowercase();
    ["example", "xxxxx", "your_", "your-", "*****", "....."]
        .iter()
        .any(|part| lower.contains(part))
}

/// Three parts or five, the first of which is JSON that names an algorithm.
fn web_token(secret: &str) -> bool {
    let header = secret.split('.').next().unwrap_or_default();
    URL_SAFE_NO_PAD
        .decode(header)
        .ok()
        .and_then(|json| String::from_utf8(json).ok())
        .is_some_and(|json| json.starts_with('{') && json.contains("\"alg\""))
}

/// `SK` and a hexadecimal digit: `SK` alone is in too many words.
const TWILIO: [&str; 16] = [
    "sk0", "sk1", "sk2", "sk3", "sk4", "sk5", "sk6", "sk7", "sk8", "sk9", "ska", "skb", "skc",
    "skd", "ske", "skf",
];
const GITHUB: [&str; 5] = ["ghp_", "gho_", "ghu_", "ghs_", "ghr_"];
const GITLAB: [&str; 12] = [
    "glpat-", "gldt-", "glptt-", "glrt-", "glcbt-", "glft-", "glimt-", "glagent-", "gloas-",
    "glsoat-", "glffct-", "glrtr-",
];
const SLACK: [&str; 2] = ["xox", "xapp-"];
const STRIPE: [&str; 5] = ["sk_live_", "rk_live_", "sk_test_", "rk_test_", "whsec_"];
const SHOPIFY: [&str; 4] = ["shpat_", "shpca_", "shppa_", "shpss_"];
const SLACK_HOOK: [&str; 1] = ["hooks.slack.com"];
const DOPPLER: [&str; 6] = [
    "dp.pt.",
    "dp.st.",
    "dp.ct.",
    "dp.sa.",
    "dp.scim.",
    "dp.audit.",
];
const FLY: [&str; 5] = ["fo1_", "fm1_", "fm1a_", "fm1r_", "fm2_"];
const FIGMA: [&str; 6] = ["figd_", "figu_", "figo_", "figoh_", "figor_", "figorh_"];
const NEW_RELIC: [&str; 4] = ["nrak-", "nrjs-", "nrii-", "nriq-"];
const SQUARE: [&str; 3] = ["sq0atp-", "sq0csp-", "sq0idp-"];
const MAILGUN: [&str; 2] = ["key-", "pubkey-"];
const SENTRY: [&str; 2] = ["sntrys_", "sntryu_"];

static FORMATS: [SecretFormat; 55] = [
    format(
        "anthropic key",
        &["sk-"],
        r"sk-ant-[a-z]{2,12}[0-9]{2}-[A-Za-z0-9_-]{20,}",
        any,
    ),
    format(
        "openrouter key",
        &["sk-"],
        r"sk-or-v[0-9]-[a-f0-9]{40,}",
        any,
    ),
    format(
        "openai key",
        &["sk-"],
        r"sk-(?:proj|svcacct|admin|None)-[A-Za-z0-9_-]{32,}",
        any,
    ),
    format("openai key", &["sk-"], r"sk-[A-Za-z0-9_-]{20,}", random),
    format("google key", &["aiza"], r"AIza[A-Za-z0-9_-]{35,}", any),
    format(
        "google oauth token",
        &["ya29."],
        r"ya29\.[A-Za-z0-9_.-]{20,}",
        any,
    ),
    format(
        "google oauth secret",
        &["gocspx-"],
        r"GOCSPX-[A-Za-z0-9_-]{24,}",
        any,
    ),
    format("github token", &GITHUB, r"gh[pousr]_[A-Za-z0-9]{36,}", any),
    format(
        "github token",
        &["github_pat_"],
        r"github_pat_[A-Za-z0-9_]{36,}",
        any,
    ),
    format(
        "gitlab token",
        &GITLAB,
        r"gl[a-z]{2,5}-[A-Za-z0-9_.-]{20,}",
        any,
    ),
    format(
        "aws access key",
        &["akia", "asia"],
        r"(?:AKIA|ASIA)[A-Z2-7]{16}(?-u:\b)",
        any,
    ),
    format(
        "aws bedrock key",
        &["absk"],
        r"ABSK[A-Za-z0-9+/]{100,}={0,2}",
        any,
    ),
    format(
        "azure signature",
        &["sig="],
        r"(?i:sig)=([A-Za-z0-9%+/_-]{40,}(?:%3[Dd]|=)*)",
        any,
    ),
    format(
        "slack token",
        &SLACK,
        r"(?:xox[abeoprs](?:\.xox[bp])?|xapp)-[0-9]+-[A-Za-z0-9-]{10,}",
        any,
    ),
    format(
        "slack token",
        &SLACK,
        r"xox[abeoprs]-[A-Za-z0-9-]{24,}",
        random,
    ),
    format(
        "webhook",
        &SLACK_HOOK,
        r"hooks\.slack\.com\\*/services\\*/(T[A-Z0-9]{8,12}\\*/B[A-Z0-9]{8,12}\\*/[A-Za-z0-9]{20,})",
        any,
    ),
    format(
        "webhook",
        &SLACK_HOOK,
        r"hooks\.slack\.com\\?/(?:services|workflows|triggers)\\?/([A-Za-z0-9+_-]+(?:\\?/[A-Za-z0-9+_-]+){2,3})",
        random,
    ),
    format(
        "webhook",
        &["webhooks"],
        r"webhooks\\*/([0-9]{17,20}\\*/[A-Za-z0-9_-]{60,})",
        any,
    ),
    format(
        "stripe key",
        &STRIPE,
        r"(?:[sr]k_(?:live|test)|whsec)_[A-Za-z0-9+/=]{16,}",
        any,
    ),
    format("twilio key", &TWILIO, r"SK[0-9a-f]{32}(?-u:\b)", any),
    format(
        "sendgrid key",
        &["sg."],
        r"SG\.[A-Za-z0-9_-]{16,32}\.[A-Za-z0-9_-]{30,}",
        any,
    ),
    format("npm token", &["npm_"], r"npm_[A-Za-z0-9]{36}(?-u:\b)", any),
    format("pypi token", &["pypi-"], r"pypi-[A-Za-z0-9_-]{50,}", any),
    format(
        "cargo token",
        &["cio"],
        r"cio[A-Za-z0-9]{32}(?-u:\b)",
        unlike_words,
    ),
    format(
        "hugging face token",
        &["hf_", "api_org_"],
        r"(?:hf|api_org)_[A-Za-z0-9]{30,40}(?-u:\b)",
        any,
    ),
    format(
        "tavily key",
        &["tvly-"],
        r"tvly-(?:[a-z]+-)?[A-Za-z0-9_-]{24,}",
        any,
    ),
    format("groq key", &["gsk_"], r"gsk_[A-Za-z0-9]{40,}", any),
    format("xai key", &["xai-"], r"xai-[A-Za-z0-9]{60,}", any),
    format("perplexity key", &["pplx-"], r"pplx-[A-Za-z0-9]{40,}", any),
    format(
        "replicate token",
        &["r8_"],
        r"r8_[A-Za-z0-9]{36,40}(?-u:\b)",
        any,
    ),
    format(
        "digitalocean token",
        &["dop_v1_", "doo_v1_", "dor_v1_"],
        r"do[opr]_v1_[a-f0-9]{64}",
        any,
    ),
    format(
        "docker token",
        &["dckr_pat_", "dckr_oat_"],
        r"dckr_[po]at_[A-Za-z0-9_-]{24,}",
        any,
    ),
    format(
        "vault token",
        &["hvs.", "hvb."],
        r"hv[sb]\.[A-Za-z0-9_-]{24,}",
        any,
    ),
    format(
        "age key",
        &["age-secret-key-1"],
        r"AGE-SECRET-KEY-1[A-Z0-9]{58}",
        any,
    ),
    format(
        "databricks token",
        &["dapi"],
        r"dapi[a-f0-9]{32}(?:-[0-9])?(?-u:\b)",
        any,
    ),
    format("linear key", &["lin_api_"], r"lin_api_[A-Za-z0-9]{40}", any),
    format("notion token", &["ntn_"], r"ntn_[A-Za-z0-9]{40,}", any),
    format(
        "postman key",
        &["pmak-"],
        r"PMAK-[a-f0-9]{24}-[a-f0-9]{34}",
        any,
    ),
    format(
        "rubygems key",
        &["rubygems_"],
        r"rubygems_[a-f0-9]{48}",
        any,
    ),
    format(
        "shopify token",
        &SHOPIFY,
        r"shp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}",
        any,
    ),
    format(
        "sentry token",
        &SENTRY,
        r"sntry[su]_[A-Za-z0-9+/=_]{40,}",
        any,
    ),
    format(
        "grafana token",
        &["glsa_", "glc_"],
        r"gl(?:sa|c)_[A-Za-z0-9+/=_]{32,}",
        any,
    ),
    format("pulumi token", &["pul-"], r"pul-[a-f0-9]{40}(?-u:\b)", any),
    format(
        "doppler token",
        &DOPPLER,
        r"dp\.(?:pt|st|ct|sa|scim|audit)\.(?:[a-z0-9_-]{2,35}\.)?[A-Za-z0-9]{40,}",
        any,
    ),
    format(
        "fly token",
        &FLY,
        r"(?:fo1|fm1[ar]?|fm2)_[A-Za-z0-9+/=_-]{40,}",
        any,
    ),
    format(
        "figma token",
        &FIGMA,
        r"fig(?:[duo]|oh|orh?)_[A-Za-z0-9_-]{36,}",
        any,
    ),
    format(
        "new relic key",
        &NEW_RELIC,
        r"(?:NRAK-[A-Z0-9]{27}|NRJS-[a-f0-9]{19}|NRI[IQ]-[A-Za-z0-9_-]{32})(?-u:\b)",
        any,
    ),
    format(
        "mailgun key",
        &MAILGUN,
        r"(?:pub)?key-[a-f0-9]{32}(?-u:\b)",
        any,
    ),
    format(
        "square token",
        &SQUARE,
        r"sq0(?:atp|idp)-[A-Za-z0-9_-]{22}|sq0csp-[A-Za-z0-9_-]{43}",
        any,
    ),
    format(
        "square token",
        &["eaaa"],
        r"EAAA[A-Za-z0-9_-]{60}(?-u:\b)",
        random,
    ),
    format(
        "planetscale token",
        &["pscale_"],
        r"pscale_(?:tkn|oauth|pw)_[A-Za-z0-9=._-]{32,}",
        any,
    ),
    format(
        "atlassian token",
        &["atatt3"],
        r"ATATT3[A-Za-z0-9_=-]{100,}",
        any,
    ),
    format("heroku key", &["hrku-"], r"HRKU-[A-Za-z0-9_-]{40,}", any),
    format(
        "supabase token",
        &["sbp_"],
        r"sbp_[a-f0-9]{40}(?-u:\b)",
        any,
    ),
    format(
        "web token",
        &["eyj"],
        r"eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{2,}\.[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]+){0,2}",
        web_token,
    ),
];

fn compile(format: &SecretFormat) -> Option<Regex> {
    Regex::new(&format!(r"\A(?:{})", format.pattern)).ok()
}

/// Returns the possible beginnings of each format.
pub(super) fn format_starts() -> impl Iterator<Item = (usize, &'static str)> {
    let formats = FORMATS.iter().enumerate();
    formats.flat_map(|(i, format)| format.starts.iter().map(move |start| (i, *start)))
}

/// The names of all formats.
pub(super) fn rule_names() -> impl Iterator<Item = &'static str> {
    let formats = FORMATS.iter().map(|format| format.rule);
    formats.chain([BOT, TERRAFORM])
}

/// The secret that begins at `at`, if it has one of these formats.
pub(super) fn find(line: &str, at: usize, which: &[usize]) -> Option<SecretSpan> {
    if !is_start(line.as_bytes(), at) {
        return None;
    }
    which.iter().find_map(|&i| {
        let regex = FORMATS[i].regex.get_or_init(|| compile(&FORMATS[i]));
        let captures = regex.as_ref()?.captures(&line[at..])?;
        let secret = captures.get(1).or(captures.get(0))?;
        (FORMATS[i].check)(secret.as_str()).then(|| SecretSpan {
            start: at + secret.start(),
            end: at + secret.end(),
            rule: FORMATS[i].rule,
            rank: RuleRank::Format,
        })
    })
}

const BOT: &str = "telegram token";

/// The token of a Telegram bot, whose colon is at `at`: the bot's number before, 35 characters behind.
pub(super) fn telegram_bot_token(line: &str, at: usize) -> Option<SecretSpan> {
    const LENGTH: usize = 35;
    let bytes = line.as_bytes();
    let digits = bytes[..at]
        .iter()
        .rev()
        .take(17)
        .take_while(|b| b.is_ascii_digit());
    let start = at - digits.count();
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || b"_-".contains(byte);
    let length = bytes[at + 1..]
        .iter()
        .take(LENGTH + 1)
        .take_while(|b| is_part(b))
        .count();
    let end = at + 1 + length;
    // In the API's URLs `bot` stands before it.
    let begins = is_start(bytes, start) || bytes[..start].ends_with(b"/bot");
    let fits = (5..=16).contains(&(at - start)) && begins && length == LENGTH;
    (fits && bytes[at + 1..].starts_with(b"AA") && any(&line[at + 1..end])).then_some(SecretSpan {
        start,
        end,
        rule: BOT,
        rank: RuleRank::Format,
    })
}

const TERRAFORM: &str = "terraform token";

/// A token of Terraform Cloud, the middle of which is at `middle`: 14 characters before, 60 or more
/// behind.
pub(super) fn terraform_token(line: &str, middle: Range<usize>) -> Option<SecretSpan> {
    const LEAD: usize = 14;
    let bytes = line.as_bytes();
    let start = middle.start.checked_sub(LEAD)?;
    let is_part = |byte: &&u8| byte.is_ascii_alphanumeric() || b"_-".contains(byte);
    let length = bytes[middle.end..]
        .iter()
        .take(256)
        .take_while(is_part)
        .count();
    let end = middle.end + length;
    let fits = bytes[start..middle.start]
        .iter()
        .all(u8::is_ascii_alphanumeric)
        && is_start(bytes, start)
        && length >= 60;
    (fits && any(&line[start..end])).then_some(SecretSpan {
        start,
        end,
        rule: TERRAFORM,
        rank: RuleRank::Format,
    })
}

/// A licence key of New Relic, which ends at `end` with `NRAL`: 36 hexadecimal digits before, or
/// fewer behind the name of a region.
pub(super) fn new_relic_key(line: &str, end: usize) -> Option<SecretSpan> {
    const LENGTH: usize = 40;
    let bytes = line.as_bytes();
    let start = end.checked_sub(LENGTH)?;
    let key = line.get(start..end)?;
    let is_part = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let fits = key.ends_with("NRAL")
        && key.bytes().take(LENGTH - 4).all(is_part)
        && is_start(bytes, start)
        && !bytes.get(end).is_some_and(u8::is_ascii_alphanumeric);
    (fits && random(key)).then_some(SecretSpan {
        start,
        end,
        rule: "new relic key",
        rank: RuleRank::Format,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pattern_compiles() {
        for format in &FORMATS {
            assert!(compile(format).is_some(), "{}", format.rule);
        }
    }
}
