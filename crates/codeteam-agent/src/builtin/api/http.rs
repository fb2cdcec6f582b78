//! Sends a request and gets the answer: the only place that knows the HTTP client.

use std::io::{BufReader, Read as _};
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;

use ureq::Agent;
use ureq::http::{HeaderMap, Uri};
use ureq::tls::{Certificate, RootCerts, TlsConfig};

use super::stream::read_events;

/// The default time limit of an answer, or of the silence between two pieces of one: models think
/// for minutes before the first word.
pub(super) const PATIENCE: Duration = Duration::from_mins(15);

const CONNECT_PATIENCE: Duration = Duration::from_secs(30);

/// The largest answer that is read.
const MAX_BYTES: u64 = 64 * 1024 * 1024;

/// An HTTP client for one host.
pub(in super::super) struct HttpClient {
    agent: Agent,
}

/// A response.
pub(in super::super) struct HttpResponse {
    pub(in super::super) status: u16,
    pub(super) headers: HeaderMap,
    pub(in super::super) body: String,
}

/// What arrives of a response, one after the other.
pub(super) enum ResponsePart {
    /// One event of a stream.
    Event(String),
    /// The stream is over.
    End(StreamEnd),
    /// All of a response that is not a stream.
    Whole(HttpResponse),
    /// There is no response, or it broke off.
    Failed(TransportFailure),
}

/// What a stream said of itself before it began.
pub(super) struct StreamEnd {
    pub(super) status: u16,
    pub(super) headers: HeaderMap,
}

/// The reason why there is no response.
pub(in super::super) struct TransportFailure {
    pub(in super::super) message: String,
    /// Whether a retry may help.
    pub(super) may_pass: bool,
}

impl From<ureq::Error> for TransportFailure {
    fn from(error: ureq::Error) -> Self {
        Self {
            message: super::super::error_chain(&error),
            // Who has waited that long does not begin anew: whoever started the worker decides.
            may_pass: !is_tls_failure(&error) && !is_timeout(&error),
        }
    }
}

/// Returns true if an answer took longer than allowed.
fn is_timeout(error: &ureq::Error) -> bool {
    matches!(error, ureq::Error::Timeout(ureq::Timeout::Global))
}

/// Returns true if the server's certificate is not valid.
fn is_tls_failure(error: &ureq::Error) -> bool {
    let inner = match error {
        ureq::Error::Rustls(inner) => Some(inner),
        ureq::Error::Io(error) => error.get_ref().and_then(|inner| inner.downcast_ref()),
        _ => None,
    };
    matches!(inner, Some(rustls::Error::InvalidCertificate(_)))
}

impl HttpClient {
    /// Creates a client for the host of this URL. The error says what is wrong with the URL.
    pub(in super::super) fn new(url: &str) -> Result<Self, String> {
        let uri: Uri = url.parse().map_err(|_| format!("`{url}` is not a URL"))?;
        let host = uri.host().unwrap_or_default();
        let mut config = Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .max_redirects_will_error(false)
            // Between two requests tools run, and connections do not last that long.
            .max_idle_connections(0)
            .timeout_connect(Some(CONNECT_PATIENCE))
            .timeout_global(Some(PATIENCE))
            .user_agent(concat!("codeteam/", env!("CARGO_PKG_VERSION")));
        if is_local(host) {
            config = config.proxy(None);
        }
        match uri.scheme_str() {
            Some("http") => {}
            Some("https") => config = config.tls_config(tls_config()),
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

    /// Posts JSON, and returns what arrives. The request goes on in a thread of its own, which ends
    /// when nobody waits for its answer any more, at the next piece of it.
    pub(super) fn start_post(
        &self,
        url: String,
        headers: Vec<(&'static str, String)>,
        body: String,
    ) -> Receiver<ResponsePart> {
        let (sender, parts) = channel();
        // The silence is timed by whoever receives the pieces.
        let client = Self {
            agent: self.agent.clone(),
        };
        thread::spawn(move || client.receive(&url, &headers, body, &sender));
        parts
    }

    fn receive(
        &self,
        url: &str,
        headers: &[(&'static str, String)],
        body: String,
        parts: &Sender<ResponsePart>,
    ) {
        let last = match self.receive_pieces(url, headers, body, parts) {
            Ok(last) => last,
            Err(failure) => ResponsePart::Failed(failure),
        };
        drop(parts.send(last));
    }

    /// Sends the pieces of a streamed response, and returns what comes last.
    fn receive_pieces(
        &self,
        url: &str,
        headers: &[(&'static str, String)],
        body: String,
        parts: &Sender<ResponsePart>,
    ) -> Result<ResponsePart, TransportFailure> {
        let mut request = self
            .agent
            .post(url)
            .config()
            .timeout_global(None)
            .build()
            .header("content-type", "application/json");
        for (name, value) in headers {
            request = request.header(*name, value);
        }
        let (head, mut body) = request.send(body)?.into_parts();
        let status = head.status.as_u16();
        let kind = head.headers.get("content-type");
        let kind = kind.and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        if status != 200 || !kind.starts_with("text/event-stream") {
            let body = body
                .with_config()
                .limit(MAX_BYTES)
                .lossy_utf8(true)
                .read_to_string()?;
            return Ok(ResponsePart::Whole(HttpResponse {
                status,
                headers: head.headers,
                body,
            }));
        }
        let reader = BufReader::new(body.as_reader().take(MAX_BYTES));
        read_events(reader, |data| parts.send(ResponsePart::Event(data)).is_ok()).map_err(
            |error| TransportFailure {
                message: super::super::error_chain(&error),
                may_pass: true,
            },
        )?;
        Ok(ResponsePart::End(StreamEnd {
            status,
            headers: head.headers,
        }))
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

/// Returns true if the host is this machine, which no proxy is used for.
fn is_local(host: &str) -> bool {
    let bare = host.trim_matches(['[', ']']);
    host == "localhost" || bare.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

/// Returns the TLS configuration: this host's trusted certificates, and the same cryptography as
/// the rest of codeteam.
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
