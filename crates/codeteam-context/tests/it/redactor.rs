//! Cases beyond the corpus: known secrets, the allowlist, streams.

use std::error::Error as _;
use std::time::{Duration, Instant};

use codeteam_context::redact::{RedactionCounts, Redactor};

fn redact(text: &str) -> String {
    Redactor::new([]).redact(text).text.into_owned()
}

/// The lines that come out of a stream.
fn stream(lines: &[&str]) -> Vec<String> {
    let mut redactor = Redactor::new([]).line_redactor();
    lines
        .iter()
        .map(|line| redactor.redact_line(line).text.into_owned())
        .collect()
}

const BEGIN: &str = "-----BEGIN RSA PRIVATE KEY-----";
const END: &str = "-----END RSA PRIVATE KEY-----";
const BODY: &str = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj";
const GONE: &str = "[redacted: private key]";

#[test]
fn a_redactor_can_be_shared() {
    fn shared<T: Clone + Send + Sync + 'static>(_: &T) {}
    shared(&Redactor::new([]));
    shared(&Redactor::new([]).line_redactor());
}

#[test]
fn hits_are_counted_by_rule() {
    let text =
        "DB_PASSWORD=kV9wq2Lr7x API_PASSWORD=p3Lw8Qm1zz\nnothing\nurl https://a:t0psxcq@h/\n";
    let redacted = Redactor::new([]).redact(text);
    assert_eq!(
        redacted.hits,
        RedactionCounts::from([("password", 2), ("url password", 1)])
    );
}

#[test]
fn text_without_secrets_is_not_copied() {
    let text = "let token = lexer.next();\n".repeat(3);
    let redacted = Redactor::new([]).redact(&text);
    assert!(matches!(redacted.text, std::borrow::Cow::Borrowed(_)));
}

#[test]
fn known_secrets_go_wherever_they_are() {
    let redactor = Redactor::new(["pa\"ss w/rd".into(), "plain-one".into()]);
    let gone = |text: &str| redactor.redact(text).text.into_owned();
    assert_eq!(gone("xplain-onex"), "x[redacted: known secret]x");
    assert_eq!(
        gone(r#"{"a":"pa\"ss w/rd"}"#),
        r#"{"a":"[redacted: known secret]"}"#
    );
    assert_eq!(
        gone(r#"{"a":"pa\"ss w\/rd"}"#),
        r#"{"a":"[redacted: known secret]"}"#
    );
    assert_eq!(
        gone(r#""{\"a\":\"pa\\\"ss w/rd\"}""#),
        r#""{\"a\":\"[redacted: known secret]\"}""#
    );
    assert_eq!(
        gone("?a=pa%22ss%20w%2Frd&b"),
        "?a=[redacted: known secret]&b"
    );
    assert_eq!(gone("?a=pa%22ss+w%2frd&b"), "?a=[redacted: known secret]&b");
}

#[test]
fn no_bit_of_a_known_secret_is_left_in_base64() {
    use base64::Engine as _;
    let redactor = Redactor::new(["plain-one".into()]);
    for (before, left) in [("", ""), ("u", "d"), ("us", "dX"), ("user:", "dXNlcj")] {
        let encoded =
            base64::engine::general_purpose::STANDARD.encode(format!("{before}plain-one\u{ff}"));
        let redacted = redactor.redact(&encoded).text.into_owned();
        let marker = "[redacted: known secret]";
        assert!(
            redacted.starts_with(&format!("{left}{marker}")),
            "{before}: {redacted}"
        );
        let rest = redacted.split_once(marker).unwrap().1;
        assert!(rest.len() <= 5, "{before}: {redacted}");
    }
}

#[test]
fn short_known_secrets_are_ignored() {
    let redactor = Redactor::new([
        "seven77".into(),
        "   \n".into(),
        String::new(),
        "eight888".into(),
    ]);
    assert_eq!(
        redactor.redact("seven77 eight888").text,
        "seven77 [redacted: known secret]"
    );
}

#[test]
fn a_known_secret_of_several_lines_goes_line_by_line() {
    let key = format!("{BODY}\n{}\n", BODY.to_lowercase());
    let redactor = Redactor::new([format!("{{\n  \"type\": \"service_account\",\n{key}}}")]);
    let text = format!(
        "a\n  {BODY}\n  \"type\": \"service_account\",\n{}",
        BODY.to_lowercase()
    );
    assert_eq!(
        redactor.redact(&text).text,
        "a\n  [redacted: known secret]\n  \"type\": \"service_account\",\n[redacted: known secret]"
    );
}

#[test]
fn overlapping_known_secrets_both_go() {
    let redactor = Redactor::new(["abcdefgh".into(), "efghijkl".into()]);
    assert_eq!(
        redactor.redact("-abcdefghijkl-").text,
        "-[redacted: known secret]-"
    );
}

#[test]
fn a_known_number_leaves_json_behind() {
    let redactor = Redactor::new(["12345678".into()]);
    let gone = |text: &str| redactor.redact(text).text.into_owned();
    assert_eq!(
        gone(r#"{"a":12345678}"#),
        r#"{"a":"[redacted: known secret]"}"#
    );
    assert_eq!(
        gone(r#"{"a": -9123456780.5, "b": 1}"#),
        r#"{"a": "[redacted: known secret]", "b": 1}"#
    );
    assert_eq!(
        gone(r#"{"a":"[12345678]"}"#),
        r#"{"a":"[[redacted: known secret]]"}"#
    );
}

#[test]
fn what_is_allowed_stays_unless_it_is_known() {
    let text = "DB_PASSWORD=kV9wq2Lr7x CI_PASSWORD=kV9wq2Lr7xy";
    let redactor = Redactor::new([])
        .allow(["kV9[a-z0-9]+L?r7x", "unused"])
        .unwrap();
    assert_eq!(
        redactor.redact(text).text,
        "DB_PASSWORD=kV9wq2Lr7x CI_PASSWORD=[redacted: password]"
    );
    let redactor = Redactor::new(["kV9wq2Lr7x".into()])
        .allow(["kV9.*"])
        .unwrap();
    assert!(!redactor.redact(text).text.contains("kV9wq2Lr7x"));
}

#[test]
fn an_allowlist_says_which_pattern_is_wrong() {
    for pattern in ["a(", "a)|(b"] {
        let error = Redactor::new([]).allow(["fine", pattern]).unwrap_err();
        let said = format!("`{pattern}` is not a regular expression that can be used");
        assert_eq!(error.to_string(), said);
        assert!(error.source().is_some());
    }
}

#[test]
fn a_private_key_goes_from_its_first_line_to_its_last() {
    assert_eq!(
        stream(&["a", BEGIN, BODY, "", BODY, END, "b"]),
        ["a", GONE, GONE, "", GONE, GONE, "b"]
    );
    let after = format!("{END} DB_PASSWORD=kV9wq2Lr7x");
    let expected = format!("{GONE} DB_PASSWORD=[redacted: password]");
    assert_eq!(
        stream(&[BEGIN, BODY, &after, BODY])[2..],
        [expected.as_str(), BODY]
    );
}

#[test]
fn other_programs_may_speak_between_its_lines() {
    let lines = stream(&[BEGIN, BODY, "server: listening now", BODY, END, "b"]);
    assert_eq!(lines, [GONE, GONE, GONE, GONE, GONE, "b"]);
    let numbered = format!("  12\t{BODY}");
    let gone = format!("  {GONE}");
    assert_eq!(stream(&[BEGIN, &numbered, END]), [GONE, &gone, GONE]);
}

#[test]
fn a_lone_beginning_does_not_swallow_the_rest() {
    let said = "and then we went on with something else";
    let mut lines = vec!["it begins with", BEGIN];
    lines.extend([said; 20]);
    let redacted = stream(&lines);
    assert_eq!(redacted.iter().filter(|line| *line == said).count(), 17);
    // JSON is never part of a key.
    let json = r#"{"type":"text","text":"and on"}"#;
    assert_eq!(stream(&[BEGIN, json, json])[1..], [json, json]);
    // And what looks like a key for ever is none either.
    let mut lines = vec![BEGIN];
    lines.extend(std::iter::repeat_n(BODY, 1200));
    let redacted = stream(&lines);
    assert_eq!(redacted.iter().filter(|line| *line == BODY).count(), 200);
}

#[test]
fn a_key_in_a_list_of_strings_leaves_the_list() {
    let text = format!("[\n  \"{BEGIN}\",\n  \"{BODY}\",\n  12345678,\n  \"{END}\"\n]\n");
    let redacted = redact(&text);
    let value: serde_json::Value = serde_json::from_str(&redacted).unwrap();
    assert_eq!(value, serde_json::json!([GONE, GONE, 12_345_678, END]));
}

#[test]
fn escapes_are_not_cut() {
    // The `n` belongs to the backslash.
    let token = "pm_0a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R";
    let json = format!(r#"{{"a":"x\n{token}"}}"#);
    assert_eq!(redact(&json), r#"{"a":"x\n[redacted: npm token]"}"#);
}

/// Lines that would take the time of their length squared if something were read again and again.
#[test]
fn long_lines_take_their_length() {
    let pieces = [
        "sk-",
        "token=",
        "token:\"",
        "token='",
        "password",
        "eyJ.",
        "://a:",
        "-----BEGIN PRIVATE KEY-----",
        "-----BEGIN PRIVATE KEY-----\\n",
        "\\",
        "Bearer ",
        "authorization: ",
        "[redacted: token]",
        "kV9wq2Lr7x",
        "DB_PASSWORD=kV9wq2Lr7x ",
        "xox",
        ":AA",
        "1:AA",
        "12345678 ",
        "12345678",
    ];
    let redactor = Redactor::new(["12345678".into()]);
    for piece in pieces {
        let line = piece.repeat(500_000 / piece.len());
        let start = Instant::now();
        let _ = redactor.redact(&line);
        let took = start.elapsed();
        // Squared it would be minutes.
        assert!(took < Duration::from_secs(20), "`{piece}` took {took:?}");
    }
}

/// No secret begins where a string ends right after a name, or a name is followed by a number.
#[test]
fn json_between_strings_stays() {
    for json in [
        r#"["DB_PASSWORD=",83029157e-5,""]"#,
        "{\n  \"password\": 83029157e77\n}",
        r#"{"password":8302e91,"token":12345678901234567890}"#,
    ] {
        assert_eq!(redact(json), json);
    }
}
