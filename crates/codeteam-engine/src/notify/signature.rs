//! Signatures of webhooks, by the rules of Standard Webhooks: HMAC-SHA256 over the id, the time and
//! the body.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ring::hmac;

/// Signs a message with a key as it is written, with or without `whsec_` in front. Returns the value
/// of the header.
pub(super) fn sign(secret: &str, id: &str, seconds: u64, body: &str) -> Result<String, String> {
    let encoded = secret.trim();
    let encoded = encoded.strip_prefix("whsec_").unwrap_or(encoded);
    let key = STANDARD
        .decode(encoded)
        .map_err(|_| "its secret is not a key of the form `whsec_…` in Base64".to_owned())?;
    if key.len() < 16 {
        return Err("its secret is shorter than 16 bytes".to_owned());
    }
    let key = hmac::Key::new(hmac::HMAC_SHA256, &key);
    let signed = hmac::sign(&key, format!("{id}.{seconds}.{body}").as_bytes());
    Ok(format!("v1,{}", STANDARD.encode(signed.as_ref())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_of_the_standard_is_signed_as_it_says() {
        // From the reference implementation of Standard Webhooks.
        let signed = sign(
            "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
            "msg_p5jXN8AQM9LWM0D4loKWxJek",
            1_614_265_330,
            r#"{"test": 2432232314}"#,
        );
        assert_eq!(
            signed.unwrap(),
            "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
        );
    }

    #[test]
    fn what_is_no_key_is_not_used() {
        assert!(sign("whsec_not a key", "a", 1, "").is_err());
        assert!(sign("whsec_AAAA", "a", 1, "").is_err());
    }
}
