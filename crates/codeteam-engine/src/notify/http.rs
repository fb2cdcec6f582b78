//! Posts a message: the only place of the engine that knows the HTTP client.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use ureq::Agent;
use ureq::http::Uri;
use ureq::tls::{Certificate, RootCerts, TlsConfig};

/// How long a receiver may take to answer.
const PATIENCE: Duration = Duration::from_secs(5);
/// How often a message is posted, if the receiver is busy or fails.
const TRIES: u32 = 3;
/// The longest time to wait before the next try.
const MAX_WAIT: Duration = Duration::from_secs(2);

/// Posts a message until a receiver takes it. It is tried again if the receiver is busy, fails or
/// cannot be reached, and never sent to where an answer redirects.
pub(super) fn post(url: &str, headers: &[(&str, String)], body: &str) -> Result<(), String> {
    let agent = agent(url)?;
    let mut last = String::new();
    for attempt in 0..TRIES {
        let mut wait = Duration::from_millis(200 << attempt);
        let mut request = agent.post(url);
        for (name, value) in headers {
            request = request.header(*name, value);
        }
        match request.send(body) {
            Ok(response) => match response.status().as_u16() {
                200..=299 => return Ok(()),
                status @ (429 | 500..=599) => {
                    last = format!("the receiver answered {status}");
                    let after = response.headers().get("retry-after");
                    let after = after.and_then(|value| value.to_str().ok()?.parse().ok());
                    wait = after.map_or(wait, Duration::from_secs).min(MAX_WAIT);
                }
                status => return Err(format!("the receiver answered {status}")),
            },
            // The error may contain the URL, which may be a secret.
            Err(ureq::Error::Timeout(_)) => {
                return Err(format!("no answer within {} s", PATIENCE.as_secs()));
            }
            Err(_) => "the receiver cannot be reached".clone_into(&mut last),
        }
        if attempt + 1 < TRIES {
            std::thread::sleep(wait);
        }
    }
    Err(format!("{last}, {TRIES} times"))
}

fn agent(url: &str) -> Result<Agent, String> {
    let uri: Uri = url.parse().map_err(|_| "its URL is not valid".to_owned())?;
    let mut config = Agent::config_builder()
        .http_status_as_error(false)
        .max_redirects(0)
        .max_redirects_will_error(false)
        .max_idle_connections(0)
        .timeout_global(Some(PATIENCE))
        .user_agent(concat!("codeteam/", env!("CARGO_PKG_VERSION")));
    if is_local(uri.host().unwrap_or_default()) {
        config = config.proxy(None);
    }
    match uri.scheme_str() {
        Some("http") => {}
        Some("https") => config = config.tls_config(tls_config()),
        _ => return Err("its URL does not begin with `https://` or `http://`".to_owned()),
    }
    Ok(config.build().new_agent())
}

/// Returns true if the host is this machine, which no proxy is used for.
fn is_local(host: &str) -> bool {
    let bare = host.trim_matches(['[', ']']);
    host == "localhost" || bare.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

fn tls_config() -> TlsConfig {
    let trusted = rustls_native_certs::load_native_certs().certs;
    let trusted = trusted
        .iter()
        .map(|found| Certificate::from_der(found).to_owned());
    TlsConfig::builder()
        .root_certs(RootCerts::from(trusted.collect::<Vec<_>>()))
        .unversioned_rustls_crypto_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .build()
}
