//! Sends a request and gets the answer: the only place that knows the HTTP client.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use ureq::Agent;
use ureq::http::{HeaderMap, Uri};
use ureq::tls::{Certificate, RootCerts, TlsConfig};

/// How long an answer may take if nobody says: models think for minutes before they say the first word.
const PATIENCE: Duration = Duration::from_mins(15);

const CONNECT_PATIENCE: Duration = Duration::from_secs(30);

/// No answer of any use is bigger.
const MAX_BYTES: u64 = 64 * 1024 * 1024;

/// An HTTP client for one host.
pub(in super::super) struct HttpClient {
    agent: Agent,
}

/// What came back.
pub(in super::super) struct HttpResponse {
    pub(in super::super) status: u16,
    pub(super) headers: HeaderMap,
    pub(in super::super) body: String,
}

/// Why there is no answer.
pub(in super::super) struct TransportFailure {
    pub(in super::super) message: String,
    /// Whether asking again may help.
    pub(super) may_pass: bool,
}

impl From<ureq::Error> for TransportFailure {
    fn from(error: ureq::Error) -> Self {
        Self {
            message: super::super::chain(&error),
            // Who has waited that long does not begin anew: whoever started the worker decides.
            may_pass: !is_distrust(&error) && !is_slow(&error),
        }
    }
}

/// Whether an answer took longer than it may.
fn is_slow(error: &ureq::Error) -> bool {
    matches!(error, ureq::Error::Timeout(ureq::Timeout::Global))
}

/// Whether the other side is not who it should be.
fn is_distrust(error: &ureq::Error) -> bool {
    let inner = match error {
        ureq::Error::Rustls(inner) => Some(inner),
        ureq::Error::Io(error) => error.get_ref().and_then(|inner| inner.downcast_ref()),
        _ => None,
    };
    matches!(inner, Some(rustls::Error::InvalidCertificate(_)))
}

impl HttpClient {
    /// For the host of this URL. The error says what is wrong with it.
    pub(in super::super) fn new(url: &str) -> Result<Self, String> {
        Self::patient(url, None)
    }

    /// The same, with how long an answer may take.
    pub(super) fn patient(url: &str, patience: Option<Duration>) -> Result<Self, String> {
        let uri: Uri = url.parse().map_err(|_| format!("`{url}` is not a URL"))?;
        let host = uri.host().unwrap_or_default();
        let mut config = Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .max_redirects_will_error(false)
            // Between two requests tools run, and connections do not last that long.
            .max_idle_connections(0)
            .timeout_connect(Some(CONNECT_PATIENCE))
            .timeout_global(Some(patience.unwrap_or(PATIENCE)))
            .user_agent(concat!("codeteam/", env!("CARGO_PKG_VERSION")));
        if is_local(host) {
            config = config.proxy(None);
        }
        match uri.scheme_str() {
            Some("http") => {}
            Some("https") => config = config.tls_config(tls()),
            _ => {
                return Err(format!(
                    "`{url}` does not start with `http://` or `https://`"
                ));
            }
        }
        Ok(Self {
            agent: config.build().new_agent(),
        })
    }

    /// Posts JSON.
    pub(in super::super) fn post(
        &self,
        url: &str,
        headers: &[(&'static str, String)],
        body: String,
    ) -> Result<HttpResponse, TransportFailure> {
        let mut request = self
            .agent
            .post(url)
            .header("content-type", "application/json");
        for (name, value) in headers {
            request = request.header(*name, value);
        }
        let (parts, mut body) = request.send(body)?.into_parts();
        let body = body
            .with_config()
            .limit(MAX_BYTES)
            .lossy_utf8(true)
            .read_to_string()?;
        Ok(HttpResponse {
            status: parts.status.as_u16(),
            headers: parts.headers,
            body,
        })
    }
}

/// Whether a host is this one, where no proxy leads.
fn is_local(host: &str) -> bool {
    let bare = host.trim_matches(['[', ']']);
    host == "localhost" || bare.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

/// What this host trusts, by the same cryptography as the rest of codeteam.
fn tls() -> TlsConfig {
    let trusted = rustls_native_certs::load_native_certs().certs;
    let trusted = trusted
        .iter()
        .map(|found| Certificate::from_der(found).to_owned());
    TlsConfig::builder()
        .root_certs(RootCerts::from(trusted.collect::<Vec<_>>()))
        .unversioned_rustls_crypto_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .build()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_http_urls_are_taken() {
        for url in ["", "api.example", "ftp://api.example", "http://"] {
            assert!(HttpClient::new(url).is_err(), "{url}");
        }
        for url in ["http://127.0.0.1:8080/v1", "https://api.example"] {
            assert!(HttpClient::new(url).is_ok(), "{url}");
        }
    }

    #[test]
    fn no_proxy_leads_to_this_host() {
        for host in ["localhost", "127.0.0.1", "[::1]"] {
            assert!(is_local(host), "{host}");
        }
        assert!(!is_local("api.example"));
        assert!(!is_local("10.0.0.1"));
    }
}
