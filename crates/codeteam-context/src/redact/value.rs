//! Classifies a value: a secret, a placeholder for one, or the name of a place where one is.

use std::ops::ControlFlow;
use std::sync::LazyLock;

use crate::redact::literals::{CaseSensitivity, LiteralMatcher};

/// Bits per byte, by how often each byte occurs.
pub(super) fn entropy(value: &str) -> f64 {
    let mut counts = [0_u32; 256];
    let mut total = 0_u32;
    for byte in value.bytes() {
        counts[usize::from(byte)] += 1;
        total += 1;
    }
    let total = f64::from(total);
    let bits = |count: &u32| {
        let share = f64::from(*count) / total;
        -share * share.log2()
    };
    counts.iter().filter(|count| **count > 0).map(bits).sum()
}

/// Returns true if a value looks random: letters and digits well mixed, or upper and lower case.
pub(super) fn is_random(value: &str) -> bool {
    let bytes = value.as_bytes();
    let mixed = |pair: &&[u8]| {
        pair[0].is_ascii_alphanumeric()
            && pair[1].is_ascii_alphanumeric()
            && pair[0].is_ascii_digit() != pair[1].is_ascii_digit()
    };
    let changes = bytes.windows(2).filter(mixed).count();
    let has = |class: fn(&u8) -> bool| bytes.iter().any(class);
    let cased = has(u8::is_ascii_lowercase) && has(u8::is_ascii_uppercase);
    (changes >= 3 && changes * 10 >= bytes.len())
        || (cased && has(u8::is_ascii_digit) && longest_word(bytes) <= 4)
        || (cased && bytes.len() >= 24 && longest_word(bytes) <= 4)
}

/// Returns true if letters of both cases are in an order that no words have, which is random, with
/// or without a digit among them. Names in programs have few capitals, and vowels between their
/// consonants.
pub(super) fn is_scrambled(value: &str) -> bool {
    const SHORTEST: usize = 12;
    let bytes = value.as_bytes();
    let has_case = |pair: &[u8]| pair.iter().all(u8::is_ascii_alphabetic);
    let turns = |pair: &&[u8]| {
        has_case(pair) && pair[0].is_ascii_uppercase() != pair[1].is_ascii_uppercase()
    };
    let turns = bytes.windows(2).filter(turns).count();
    let humps = bytes
        .iter()
        .filter(|byte| byte.is_ascii_uppercase())
        .count();
    let is_consonant =
        |byte: &u8| byte.is_ascii_alphabetic() && !b"aeiouy".contains(&byte.to_ascii_lowercase());
    let consonants = bytes.chunk_by(|a, b| is_consonant(a) && is_consonant(b));
    let hard = consonants.map(<[u8]>::len).max().unwrap_or(0) >= 5;
    let many = humps * 3 > bytes.len() + 2;
    bytes.len() >= SHORTEST
        && longest_word(bytes) <= 8
        && (many && turns * 4 >= bytes.len() || hard && humps >= 3 && turns * 3 >= bytes.len())
}

/// The longest run of letters of one case.
fn longest_word(bytes: &[u8]) -> usize {
    let same = |a: &u8, b: &u8| {
        a.is_ascii_lowercase() && b.is_ascii_lowercase()
            || a.is_ascii_uppercase() && b.is_ascii_uppercase()
    };
    bytes.chunk_by(same).map(<[u8]>::len).max().unwrap_or(0)
}

/// Words that stand-ins are made of, longer ones first where one begins with another.
const WORDS: [&str; 66] = [
    "passwords",
    "password",
    "passphrase",
    "passwort",
    "passwd",
    "secrets",
    "secret",
    "tokens",
    "token",
    "credentials",
    "credential",
    "apikey",
    "changeme",
    "changeit",
    "change",
    "replace",
    "insert",
    "placeholder",
    "examples",
    "example",
    "sample",
    "dummy",
    "testing",
    "tests",
    "test",
    "fake",
    "mock",
    "foobar",
    "foo",
    "bar",
    "baz",
    "qux",
    "admin",
    "administrator",
    "root",
    "users",
    "user",
    "username",
    "guest",
    "demo",
    "default",
    "invalid",
    "incorrect",
    "correct",
    "wrong",
    "letmein",
    "qwerty",
    "redacted",
    "hidden",
    "removed",
    "masked",
    "supersecret",
    "super",
    "very",
    "strong",
    "postgres",
    "mysql",
    "redis",
    "rabbitmq",
    "mongo",
    "minio",
    "local",
    "develop",
    "dev",
    "abcdef",
    "abc",
];
/// The same, but so short that they count only as whole parts.
const SHORT_WORDS: [&str; 22] = [
    "pass", "pwd", "pw", "key", "api", "my", "your", "the", "a", "an", "is", "not", "real", "me",
    "here", "value", "some", "new", "old", "this", "for", "of",
];

/// Returns true if a value stands for one that is somewhere else, or is nobody's.
pub(super) fn is_placeholder(value: &str) -> bool {
    is_template(value) || is_filler(value) || consists_of_words(value)
}

/// Returns true if another program fills it in.
fn is_template(value: &str) -> bool {
    const PARTS: [&str; 15] = [
        "${",
        "{{",
        "#{",
        "$(",
        "%(",
        "<%",
        "}}",
        "process.env",
        "os.environ",
        "getenv",
        "env.",
        "secrets.",
        "ENV[",
        "[redacted",
        "vault:",
    ];
    let bytes = value.as_bytes();
    let wrapped = |open: u8, close: u8| {
        bytes.len() > 1 && bytes.first() == Some(&open) && bytes.last() == Some(&close)
    };
    PARTS.iter().any(|part| value.contains(part))
        || wrapped(b'<', b'>')
        || wrapped(b'{', b'}')
        || wrapped(b'%', b'%')
        || wrapped(b'[', b']')
        || wrapped(b'_', b'_')
        || bytes.first() == Some(&b'$')
            && bytes
                .get(1)
                .is_some_and(|b| b.is_ascii_alphabetic() || *b == b'_')
            && bytes[1..]
                .iter()
                .all(|b| b.is_ascii_alphanumeric() || *b == b'_')
        || value.starts_with('%') && bytes.len() <= 4
}

/// Returns true if it only fills a place: `xxxx`, `****`, `...`, `12345678`.
fn is_filler(value: &str) -> bool {
    const RUN: usize = 5;
    let bytes = value.as_bytes();
    let repeated = bytes.chunk_by(u8::eq).any(|run| run.len() >= RUN);
    let counted = bytes
        .chunk_by(|a, b| a.is_ascii_alphanumeric() && *b == a.wrapping_add(1))
        .map(<[u8]>::len)
        .filter(|length| *length >= 4)
        .sum::<usize>();
    let same = bytes.chunk_by(u8::eq).count() == 1;
    repeated || same || counted * 2 > bytes.len() || value.contains("...") || value.contains('…')
}

/// Returns true if it consists of words: `your-api-key`, `P@ssw0rd!`, `test_token_123`.
fn consists_of_words(value: &str) -> bool {
    let lower = value.to_ascii_lowercase();
    if ["example", "your_", "your-", "changeme", "placeholder"]
        .iter()
        .any(|word| lower.contains(word))
    {
        return true;
    }
    has_little_else(&lower) || has_little_else(&undo_substitutions(&lower))
}

static FINDER: LazyLock<LiteralMatcher<()>> = LazyLock::new(|| {
    LiteralMatcher::new(WORDS.map(|word| (word.to_owned(), CaseSensitivity::Exact, ())))
});

/// Returns true if a value has words of placeholders in it, and next to nothing besides.
fn has_little_else(value: &str) -> bool {
    let mut left = value.as_bytes().to_vec();
    let _ = FINDER.scan(value, 0, |found| {
        left[found.range].fill(b' ');
        ControlFlow::Continue(())
    });
    let is_short = |part: &&[u8]| SHORT_WORDS.iter().any(|word| word.as_bytes() == *part);
    let parts = || left.split(|byte| !byte.is_ascii_alphabetic() && byte.is_ascii());
    let letters: usize = parts()
        .filter(|part| !is_short(part))
        .map(<[u8]>::len)
        .sum();
    let digits = left.iter().filter(|byte| byte.is_ascii_digit()).count();
    letters < 4 && digits < 6 && (left != value.as_bytes() || parts().any(|part| is_short(&part)))
}

/// `p@ssw0rd` is `password`.
fn undo_substitutions(value: &str) -> String {
    let letter = |c| match c {
        '0' => 'o',
        '1' | '!' => 'i',
        '3' => 'e',
        '4' | '@' => 'a',
        '5' | '$' => 's',
        '7' => 't',
        c => c,
    };
    value.chars().map(letter).collect()
}

/// Returns true if a value says where something is rather than what: a path, a URL, a hash, a
/// message's id.
pub(super) fn is_reference(value: &str) -> bool {
    const STARTS: [&str; 14] = [
        "/",
        "./",
        "../",
        "~/",
        "arn:",
        "projects/",
        "sha1-",
        "sha1:",
        "sha256-",
        "sha256:",
        "sha384-",
        "sha512-",
        "sha512:",
        "md5:",
    ];
    STARTS.iter().any(|start| value.starts_with(start))
        || value.contains("://")
        || value.contains("::")
        || value.contains("->")
        || value.contains("()")
        || value.contains("](")
        || is_password_hash(value)
        || is_slug(value)
}

/// `$2b$12$…`, `$argon2id$v=19$…`.
fn is_password_hash(value: &str) -> bool {
    value.starts_with('$') && value.matches('$').count() >= 3
}

/// Words with hyphens, dots or slashes between them: `auth/wrong-password`, `prod-db-2`.
fn is_slug(value: &str) -> bool {
    let parts = value.split(['-', '_', '.', '/', ':']);
    let is_part = |part: &str| {
        let letters = part.trim_end_matches(|c: char| c.is_ascii_digit());
        part.len() <= 14
            && part.len() - letters.len() <= 4
            && letters.bytes().all(|b| b.is_ascii_alphabetic())
            && is_cased_like_a_word(letters)
    };
    parts.clone().count() > 1 && parts.clone().all(is_part)
}

/// `word`, `Word`, `WORD`, `someWord`.
fn is_cased_like_a_word(letters: &str) -> bool {
    let humps = letters.bytes().filter(u8::is_ascii_uppercase).count();
    humps == letters.len() || humps * 3 <= letters.len() + 2
}

/// Returns true if a value is a name in a program: words with humps, underscores or dots, and few
/// numbers.
pub(super) fn is_identifier(value: &str) -> bool {
    let runs = |part: &'_ str| -> Vec<String> {
        let same = |a: &u8, b: &u8| a.is_ascii_digit() == b.is_ascii_digit();
        let runs = part.as_bytes().chunk_by(same);
        runs.map(|run| String::from_utf8_lossy(run).into_owned())
            .collect()
    };
    let is_part = |part: &str| {
        let runs = runs(part);
        let is_number = |run: &&String| run.starts_with(|c: char| c.is_ascii_digit());
        let few = runs.iter().filter(is_number).count() <= 1;
        few && runs.iter().all(|run| {
            let number = run.len() <= 5 && is_number(&run);
            number || run.bytes().all(|b| b.is_ascii_alphabetic()) && is_cased_like_a_word(run)
        })
    };
    value.split(['_', '.', '$']).all(is_part)
}

/// Returns true if a value is a UUID.
pub(super) fn is_uuid(value: &str) -> bool {
    value.len() == 36
        && value.bytes().enumerate().all(|(i, byte)| match i {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
}
