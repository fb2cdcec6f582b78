//! Counts the missed secrets of each kind: 1,000 random ones for each, always the same ones.

use codeteam_context::redact::Redactor;

const ALPHANUMERIC: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
const LOWER: &str = "abcdefghijklmnopqrstuvwxyz0123456789";
const HEX: &str = "0123456789abcdef";
const UPPER: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
const SAMPLES: usize = 1_000;

/// Draws characters; the same seed draws the same ones.
struct Lot(u64);

impl Lot {
    fn draw(&mut self, from: &str, count: usize) -> String {
        let from = from.as_bytes();
        let mut pick = || {
            self.0 ^= self.0 << 13;
            self.0 ^= self.0 >> 7;
            self.0 ^= self.0 << 17;
            char::from(from[usize::try_from(self.0 >> 11).unwrap() % from.len()])
        };
        (0..count).map(|_| pick()).collect()
    }
}

/// The text before a secret and after it, its beginning, and the characters of the rest.
type Kind = (
    &'static str,
    &'static str,
    &'static str,
    &'static str,
    usize,
);

const KINDS: [Kind; 20] = [
    ("", "", "npm_", ALPHANUMERIC, 36),
    ("token = \"", "\"", "cio", ALPHANUMERIC, 32),
    ("Authorization: Bearer ", "", "", ALPHANUMERIC, 32),
    ("-H 'Authorization: Bearer ", "'", "", LOWER, 24),
    ("password=", "", "", ALPHANUMERIC, 16),
    ("DB_PASSWORD=", "", "", ALPHANUMERIC, 16),
    ("password: \"", "\"", "", ALPHANUMERIC, 16),
    ("password = '", "'", "", LOWER, 16),
    (
        "https://hooks.slack.com/services/TQWERTYUI/BASDFGHJK/",
        "",
        "",
        ALPHANUMERIC,
        24,
    ),
    (
        "machine api.acme.dev login ada password ",
        "",
        "",
        ALPHANUMERIC,
        16,
    ),
    ("db.acme.dev:5432:app:ada:", "", "", ALPHANUMERIC, 16),
    ("curl -u ada:", " https://acme.dev", "", ALPHANUMERIC, 16),
    ("x ", "", "NRAK-", UPPER, 27),
    ("x ", "", "figd_", ALPHANUMERIC, 40),
    ("x ", "", "key-", HEX, 32),
    ("x ", "", "dp.st.", ALPHANUMERIC, 43),
    ("x ", "", "fo1_", ALPHANUMERIC, 43),
    ("x ", "", "sq0atp-", ALPHANUMERIC, 22),
    (
        "https://discordapp.com/api/webhooks/418266965836347228/",
        "",
        "",
        ALPHANUMERIC,
        68,
    ),
    ("client_secret: \"", "\"", "", ALPHANUMERIC, 32),
];

#[test]
fn hardly_any_secret_of_a_known_kind_is_missed() {
    let redactor = Redactor::new([]);
    let mut lot = Lot(0x2545_F491_4F6C_DD1D);
    let mut missed = Vec::new();
    for (before, after, start, from, length) in KINDS {
        let samples = (0..SAMPLES).map(|_| format!("{start}{}", lot.draw(from, length)));
        let left: Vec<String> = samples
            .map(|secret| format!("{before}{secret}{after}"))
            .filter(|line| redactor.redact(line).text == line.as_str())
            .collect();
        // One in a hundred may look like a word, or like a name in a program.
        if left.len() * 100 > SAMPLES {
            missed.push((left.len(), left[0].clone()));
        }
    }
    assert!(missed.is_empty(), "of {SAMPLES} were missed: {missed:#?}");
}
