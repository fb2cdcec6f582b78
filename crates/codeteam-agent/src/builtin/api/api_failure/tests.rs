//! Tests of the sorting, with messages that real APIs have sent.

use serde_json::json;
use ureq::http::{HeaderMap, HeaderName};

use super::*;

fn answer(status: u16, headers: &[(&'static str, &str)], body: &Value) -> HttpResponse {
    let mut all = HeaderMap::new();
    for (name, value) in headers {
        all.insert(HeaderName::from_static(name), value.parse().unwrap());
    }
    HttpResponse {
        status,
        headers: all,
        body: body.to_string(),
    }
}

fn sorted(status: u16, headers: &[(&'static str, &str)], body: &Value) -> ClassifiedFailure {
    let now = UNIX_EPOCH + Duration::from_secs(1000);
    classify_response_at(&answer(status, headers, body), now)
}

#[track_caller]
fn check_wait(headers: &[(&'static str, &str)], body: &Value, wanted: Option<u64>) {
    match sorted(429, headers, body) {
        ClassifiedFailure::Transient { wait, .. } => {
            assert_eq!(wait, wanted.map(Duration::from_millis));
        }
        other @ ClassifiedFailure::Final(_) => panic!("{other:?}"),
    }
}

#[track_caller]
fn check_limit(status: u16, headers: &[(&'static str, &str)], body: &Value, wanted: Option<u64>) {
    match sorted(status, headers, body) {
        ClassifiedFailure::Final(ApiFailure::Limited { resets_in_ms, .. }) => {
            assert_eq!(resets_in_ms, wanted);
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn an_api_says_how_long_to_wait_in_several_ways() {
    let plain = json!({"error": {"type": "rate_limit_error", "message": "slow down"}});
    check_wait(&[], &plain, None);
    check_wait(&[("retry-after", "7")], &plain, Some(7000));
    check_wait(&[("retry-after", "0.5")], &plain, Some(500));
    let both = [("retry-after", "7"), ("retry-after-ms", "20")];
    check_wait(&both, &plain, Some(20));
    check_wait(&[("retry-after", "-1")], &plain, None);
    check_wait(
        &[("retry-after", "Wed, 21 Oct 2026 07:28:00 GMT")],
        &plain,
        None,
    );
    let info = json!({"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "37.5s"});
    check_wait(&[], &json!({"error": {"details": [info]}}), Some(37_500));
}

#[test]
fn a_limit_by_the_minute_is_no_usage_limit() {
    let failure = json!({"@type": "type.googleapis.com/google.rpc.QuotaFailure", "violations": [
        {"quotaId": "GenerateRequestsPerMinutePerProjectPerModel"}]});
    check_wait(&[], &json!({"error": {"details": [failure]}}), None);
    let allowed = [("anthropic-ratelimit-unified-status", "allowed_warning")];
    check_wait(&allowed, &json!({}), None);
    let code = json!({"error": {"code": "rate_limit_exceeded", "type": "tokens"}});
    check_wait(&[], &code, None);
}

#[test]
fn usage_limits_say_when_they_reset_if_they_know() {
    let rejected = ("anthropic-ratelimit-unified-status", "rejected");
    let reset = ("anthropic-ratelimit-unified-reset", "1060");
    check_limit(429, &[rejected, reset], &json!({}), Some(60_000));
    check_limit(429, &[rejected], &json!({}), None);
    let past = ("anthropic-ratelimit-unified-reset", "900");
    check_limit(429, &[rejected, past], &json!({}), Some(0));
    let error = |error: Value| json!({"error": error});
    let at = error(json!({"type": "usage_limit_reached", "resets_at": 1002}));
    check_limit(429, &[], &at, Some(2000));
    let daily = json!([{"error": {"details": [
        {"@type": "x/google.rpc.QuotaFailure", "violations": [{"quotaId": "RequestsPerDay"}]}]}}]);
    check_limit(429, &[], &daily, None);
}

#[test]
fn who_has_to_pay_first_is_not_waited_for() {
    let quota = json!({"error": {"code": "insufficient_quota"}});
    let balance = json!({"error": {"message": "Insufficient Balance"}});
    for (status, body) in [(429, quota), (402, balance)] {
        let sorted = sorted(status, &[], &body);
        let is_unpaid = matches!(sorted, ClassifiedFailure::Final(ApiFailure::Unpaid { .. }));
        assert!(is_unpaid, "{sorted:?}");
    }
}

#[test]
fn what_does_not_pass_is_final() {
    for status in [301, 400, 401, 403, 404, 413, 422] {
        let sorted = sorted(status, &[], &json!({"error": {"message": "no"}}));
        let message = format!("the model API says {status}: no");
        let status = Some(status);
        assert_eq!(
            sorted,
            ClassifiedFailure::Final(ApiFailure::Other { status, message })
        );
    }
    for status in [408, 429, 500, 502, 503, 529] {
        let sorted = sorted(status, &[], &json!({}));
        assert!(
            matches!(sorted, ClassifiedFailure::Transient { .. }),
            "{status}"
        );
    }
    let long = json!({"error": {"code": "context_length_exceeded", "message": "x"}});
    let sorted = sorted(400, &[], &long);
    assert!(matches!(
        sorted,
        ClassifiedFailure::Final(ApiFailure::TooLong { .. })
    ));
}

#[test]
fn what_is_said_is_found_wherever_it_stands() {
    assert_eq!(
        error_excerpt(r#"{"error":{"message":"one\n two"}}"#),
        "one two"
    );
    assert_eq!(error_excerpt(r#"{"error":"one"}"#), "one");
    assert_eq!(error_excerpt(r#"{"message":"one"}"#), "one");
    assert_eq!(error_excerpt(r#"[{"error":{"message":"one"}}]"#), "one");
    assert_eq!(
        error_excerpt("<h1>Bad Gateway</h1>"),
        "<h1>Bad Gateway</h1>"
    );
    assert_eq!(error_excerpt(" "), "nothing");
    assert_eq!(error_excerpt(&"x".repeat(1000)).len(), 400);
}
