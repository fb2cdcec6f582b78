//! Properties of every text.

use std::fmt::Write as _;

use codeteam_context::redact::Redactor;
use proptest::prelude::*;
use serde_json::Value;

/// Pieces that the rules look for, whole secrets, and what stands round them: a text of these meets
/// every branch sooner than one of random letters would.
const PIECES: &[&str] = &[
    "password",
    "PASSWORD",
    "token",
    "secret",
    "api_key",
    "x-api-key",
    "Authorization",
    "Bearer ",
    "Basic ",
    "=",
    ":",
    ": ",
    " = ",
    ":=",
    "=>",
    "==",
    "\"",
    "'",
    "`",
    "\\",
    "\\\"",
    "\\n",
    "\\u0022",
    "{",
    "}",
    "[",
    "]",
    "(",
    ")",
    "<",
    ">",
    ",",
    ";",
    "&",
    "?",
    "@",
    "/",
    "://",
    ":\\/\\/",
    " ",
    "\t",
    "\n",
    "\r\n",
    "\r",
    "--",
    "-",
    "_",
    ".",
    "$",
    "${",
    "%",
    "%3D",
    "#",
    "é",
    "密",
    "😀",
    "\u{1b}[31m",
    "user",
    "hunter2x",
    "kV9wq2Lr7x",
    "kV9#wq2Lr7",
    "Zx81LmQp02Rt77Wv",
    "9f86d081884c7d659a2feaa0c55ad015",
    "12345678",
    "123456789",
    "1234567812345678",
    "true",
    "null",
    "redacted",
    "[redacted: ",
    "[redacted: password]",
    "[redacted: known secret]",
    "known secret",
    "-----BEGIN ",
    "-----BEGIN PRIVATE KEY-----",
    "-----END PRIVATE KEY-----",
    "-----BEGIN RSA PRIVATE KEY-----",
    "-----",
    "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj",
    "sk-",
    "sk-ant-",
    "ghp_",
    "0a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R",
    "AKIA",
    "ABCDEFGH2345WXYZ",
    "npm_",
    "eyJ",
    "eyJhbGciOiJIUzI1NiJ9",
    ".eyJzdWIiOiIxIn0.",
    "xoxb-",
    "SG.",
    "1234567:AA",
    "sig=",
    "machine a login b password ",
    "password\t",
    "h:5432:d:u:",
    "*:*:*:u:",
    "\"auth\": \"",
    "\\\"auth\\\": \\\"",
    "_auth=",
    "Y2k6a1Y5d3EyTHI3eA==",
    "curl -u ada:",
    "curl --user \"ada:",
    ".atlasv1.",
    "NRAL",
    "key-",
    "webhooks/",
];

/// Exact secrets, among them some that are hard on JSON and on redacting twice.
const KNOWN: &[&str] = &[
    "12345678",
    "redacted",
    "known secret",
    "npm_0a1B2c3D",
    "0022kV9wq",
    "tab\tand \\ back",
    "über-geheim",
    "user:pass/word+1",
    "[redacted: ",
    "é密😀é密😀é密",
    "abcdefgh",
    "efghijkl",
];

fn text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        8 => prop::sample::select(PIECES).prop_map(str::to_owned),
        1 => prop::sample::select(KNOWN).prop_map(str::to_owned),
        1 => "[ -~]{0,12}",
    ];
    prop::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
}

fn json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        prop_oneof![any::<u64>(), Just(12_345_678), Just(3_123_456_789)].prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        text().prop_map(Value::from),
        text().prop_map(|inner| Value::from(Value::from(inner).to_string())),
    ];
    leaf.prop_recursive(3, 24, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::vec((text(), inner), 0..6)
                .prop_map(|items| Value::Object(items.into_iter().collect())),
        ]
    })
}

fn redactors() -> [Redactor; 2] {
    let known = KNOWN.iter().map(|known| (*known).to_owned());
    [Redactor::new([]), Redactor::new(known)]
}

/// Returns the structure of a JSON text, without strings: every bracket, comma, colon, number and
/// word in order. A parsed value would not do, as an object forgets a key that is there twice.
fn structure(json: &str) -> String {
    let mut out = String::new();
    let mut chars = json.chars();
    while let Some(c) = chars.next() {
        match c {
            '"' => {
                while let Some(c) = chars.next().filter(|c| *c != '"') {
                    if c == '\\' {
                        chars.next();
                    }
                }
                out.push('s');
            }
            c if c.is_whitespace() => {}
            c => out.push(c),
        }
    }
    out
}

fn check_json(before: &str) -> Result<(), TestCaseError> {
    let [plain, known] = redactors();
    let after = plain.redact(before).text;
    prop_assert!(
        serde_json::from_str::<Value>(&after).is_ok(),
        "{before}\n{after}"
    );
    prop_assert_eq!(
        structure(before),
        structure(&after),
        "{}\n{}",
        before,
        after
    );
    // A number that is a known secret becomes a string.
    let after = known.redact(before).text;
    prop_assert!(
        serde_json::from_str::<Value>(&after).is_ok(),
        "{before}\n{after}"
    );
    let numbers = |structure: String| {
        let is_number = |c: char| c.is_ascii_digit() || "+-.eE".contains(c);
        structure.replace(is_number, "").replace(['s'], "")
    };
    prop_assert_eq!(
        numbers(structure(before)),
        numbers(structure(&after)),
        "{}\n{}",
        before,
        after
    );
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn redacting_again_changes_nothing(text in text()) {
        for redactor in redactors() {
            let once = redactor.redact(&text).text.into_owned();
            let twice = redactor.redact(&once);
            prop_assert_eq!(twice.text.as_ref(), once.as_str());
            prop_assert!(twice.hits.is_empty());
        }
    }

    #[test]
    fn lines_are_redacted_as_the_whole_is(text in text()) {
        for redactor in redactors() {
            let whole = redactor.redact(&text);
            let mut lines = redactor.line_redactor();
            let (mut by_line, mut hits) = (String::new(), 0);
            for line in text.split_inclusive('\n') {
                let redacted = lines.redact_line(line);
                hits += redacted.hits.values().sum::<usize>();
                by_line.push_str(&redacted.text);
            }
            prop_assert_eq!(&by_line, whole.text.as_ref());
            prop_assert_eq!(hits, whole.hits.values().sum::<usize>());
        }
    }

    #[test]
    fn json_stays_json(json in json()) {
        check_json(&json.to_string())?;
        check_json(&serde_json::to_string_pretty(&json).unwrap())?;
    }

    #[test]
    fn known_secrets_go_in_every_form(
        secret in "[!-~]{8,24}",
        before in "[a-z ]{0,5}",
        after in "[a-z ]{0,5}",
    ) {
        use base64::Engine as _;
        // One that is within what takes its place would be there afterwards.
        prop_assume!(!"[redacted: known secret]".contains(&secret));
        let redactor = Redactor::new([secret.clone()]);
        let gone = |text: &str| redactor.redact(text).text.into_owned();
        let around = format!("{before}{secret}{after}");
        prop_assert!(!gone(&around).contains(&secret));
        let json = Value::from(around.clone()).to_string();
        let left: String = serde_json::from_str(&gone(&json)).unwrap();
        prop_assert!(!left.contains(&secret));
        let nested: String = serde_json::from_str(&gone(&Value::from(json).to_string())).unwrap();
        prop_assert!(!nested.contains(&secret));
        let mut percent = String::new();
        for byte in secret.bytes() {
            if byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) {
                percent.push(char::from(byte));
            } else {
                write!(percent, "%{byte:02X}").unwrap();
            }
        }
        let left = gone(&format!("?q={percent}&a=b"));
        prop_assert!(!left.contains(&percent));
        for engine in [
            &base64::engine::general_purpose::STANDARD,
            &base64::engine::general_purpose::URL_SAFE,
        ] {
            let encoded = engine.encode(&around);
            let left = gone(&encoded);
            prop_assert!(left.contains("[redacted: known secret]"), "{encoded} {left}");
            prop_assert!(left.len() < encoded.len() + 30 - secret.len());
        }
    }

    #[test]
    fn arbitrary_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        let text = String::from_utf8_lossy(&bytes);
        for redactor in redactors() {
            let _ = redactor.redact(&text);
            let mut lines = redactor.line_redactor();
            for chunk in bytes.chunks(7) {
                let _ = lines.redact_line(&String::from_utf8_lossy(chunk));
            }
        }
    }
}
