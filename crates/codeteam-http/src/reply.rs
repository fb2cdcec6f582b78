//! Answers that are given before the protocol is spoken.

use std::convert::Infallible;

use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Bytes;
use hyper::header::{ALLOW, CONTENT_TYPE, HeaderName, HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE};
use hyper::{Response, StatusCode};

/// The reply to a request.
pub type HttpReply = Response<BoxBody<Bytes, Infallible>>;

/// Why a request is not answered by the handler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnectionRefusal {
    /// It has more bytes than are read.
    TooLong,
    /// Its bytes did not come in time, or not at all.
    Broken,
    /// There are as many connections, or bytes on their way, as there may be.
    Busy,
}

/// Why a request is not passed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RequestRefusal {
    /// It does not say whom it is for, or says it twice.
    NoHost,
    /// It names another host.
    Host,
    /// It was sent by a web page from elsewhere.
    Origin,
    /// There is nothing at its path.
    Path,
    /// Its method is none of the protocol's.
    Method,
    /// It does not have the token.
    Token,
    /// It has more bytes than are read.
    TooLong,
    /// Its bytes did not come in time, or not at all.
    Broken,
    /// There are as many sessions as there may be.
    Full,
    /// There are as many connections, or bytes on their way, as there may be.
    Busy,
}

impl From<ConnectionRefusal> for RequestRefusal {
    fn from(why: ConnectionRefusal) -> Self {
        match why {
            ConnectionRefusal::TooLong => Self::TooLong,
            ConnectionRefusal::Broken => Self::Broken,
            ConnectionRefusal::Busy => Self::Busy,
        }
    }
}

impl RequestRefusal {
    fn status_and_text(self) -> (StatusCode, &'static str) {
        match self {
            Self::NoHost => (StatusCode::BAD_REQUEST, "one `Host` header is needed"),
            Self::Host => (
                StatusCode::FORBIDDEN,
                "this server does not answer to that `Host`",
            ),
            Self::Origin => (
                StatusCode::FORBIDDEN,
                "this server does not answer to that `Origin`",
            ),
            Self::Path => (StatusCode::NOT_FOUND, "there is only `/mcp`"),
            Self::Method => (StatusCode::METHOD_NOT_ALLOWED, "use POST, GET or DELETE"),
            Self::Token => (
                StatusCode::UNAUTHORIZED,
                "the header `Authorization: Bearer` with the server's token is needed",
            ),
            Self::TooLong => (StatusCode::PAYLOAD_TOO_LARGE, "the body is too long"),
            Self::Broken => (
                StatusCode::REQUEST_TIMEOUT,
                "the body did not come, or not in time",
            ),
            Self::Full => (
                StatusCode::SERVICE_UNAVAILABLE,
                "there are as many sessions as there may be; end one",
            ),
            Self::Busy => (
                StatusCode::SERVICE_UNAVAILABLE,
                "too much is under way; try again in a moment",
            ),
        }
    }

    fn header(self) -> Option<(HeaderName, &'static str)> {
        match self {
            Self::Token => Some((WWW_AUTHENTICATE, "Bearer")),
            Self::Method => Some((ALLOW, "POST, GET, DELETE")),
            Self::Full => Some((RETRY_AFTER, "60")),
            Self::Busy => Some((RETRY_AFTER, "1")),
            _ => None,
        }
    }

    /// As an answer.
    pub(crate) fn into_reply(self) -> HttpReply {
        let (status, words) = self.status_and_text();
        let mut reply = Response::new(Full::from(words).boxed());
        *reply.status_mut() = status;
        let headers = reply.headers_mut();
        headers.insert(
            CONTENT_TYPE,
            HeaderValue::from_static("text/plain; charset=utf-8"),
        );
        if let Some((name, value)) = self.header() {
            headers.insert(name, HeaderValue::from_static(value));
        }
        reply
    }
}
