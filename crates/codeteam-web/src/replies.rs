//! Answers over HTTP, with the headers that every answer has.

use codeteam_http::HttpReply;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Bytes;
use hyper::header::{
    CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG, HeaderName,
    HeaderValue, LOCATION, REFERRER_POLICY, SET_COOKIE, X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use hyper::{Response, StatusCode};

use crate::gate::COOKIE_NAME;

/// What pages may load and do: nothing from elsewhere, no script and no style in the page itself.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; \
    connect-src 'self'; worker-src 'self'; form-action 'self'; base-uri 'none'; \
    frame-ancestors 'none'; report-uri /csp";
/// What workers and repositories wrote, shown for itself: it may do nothing at all.
const TEXT_POLICY: &str = "default-src 'none'; sandbox; frame-ancestors 'none'";

/// Returns a page.
pub(crate) fn html(status: StatusCode, text: String) -> HttpReply {
    let mut reply = reply(status, "text/html; charset=utf-8", text.into());
    set(&mut reply, CACHE_CONTROL, "no-store");
    reply
}

/// Returns an element of a page, or nothing if the browser has it as it is.
pub(crate) fn part(text: String, known: Option<&str>) -> HttpReply {
    let hash = blake3::hash(text.as_bytes()).to_hex();
    let tag = format!("\"{}\"", &hash[..32]);
    let mut reply = if known == Some(tag.as_str()) {
        reply(
            StatusCode::NOT_MODIFIED,
            "text/html; charset=utf-8",
            Bytes::new(),
        )
    } else {
        html(StatusCode::OK, text)
    };
    if let Ok(tag) = HeaderValue::from_str(&tag) {
        reply.headers_mut().insert(ETAG, tag);
    }
    set(&mut reply, CACHE_CONTROL, "no-cache, private");
    reply
}

/// Returns a text that others wrote, which a browser shows as text whatever is in it.
pub(crate) fn text(bytes: &[u8]) -> HttpReply {
    let text = String::from_utf8_lossy(bytes).into_owned();
    let mut reply = reply(StatusCode::OK, "text/plain; charset=utf-8", text.into());
    set(&mut reply, CONTENT_SECURITY_POLICY, TEXT_POLICY);
    set(
        &mut reply,
        CONTENT_DISPOSITION,
        "inline; filename=\"codeteam.txt\"",
    );
    set(&mut reply, CACHE_CONTROL, "no-store");
    reply
}

/// Returns a file of the program. Its name has a hash of its content.
pub(crate) fn asset(media_type: &'static str, content: &'static str) -> HttpReply {
    let mut reply = reply(
        StatusCode::OK,
        media_type,
        Bytes::from_static(content.as_bytes()),
    );
    set(
        &mut reply,
        CACHE_CONTROL,
        "private, max-age=31536000, immutable",
    );
    reply
}

/// Returns a few words for what is no browser.
pub(crate) fn words(status: StatusCode, words: &str) -> HttpReply {
    let text = Bytes::from(format!("{words}\n"));
    let mut reply = reply(status, "text/plain; charset=utf-8", text);
    set(&mut reply, CACHE_CONTROL, "no-store");
    reply
}

/// Sends the browser to another page.
pub(crate) fn redirect(to: &str) -> HttpReply {
    let mut reply = words(StatusCode::SEE_OTHER, "see the other page");
    if let Ok(to) = HeaderValue::from_str(to) {
        reply.headers_mut().insert(LOCATION, to);
    }
    reply
}

/// Gives the browser its cookie, or takes it away.
pub(crate) fn set_cookie(reply: &mut HttpReply, cookie: Option<&str>) {
    let age = if cookie.is_some() { "" } else { "; Max-Age=0" };
    let value = cookie.unwrap_or_default();
    let line = format!("{COOKIE_NAME}={value}; Path=/; Secure; HttpOnly; SameSite=Strict{age}");
    if let Ok(line) = HeaderValue::from_str(&line) {
        reply.headers_mut().insert(SET_COOKIE, line);
    }
}

/// Adds the headers that every answer has.
pub(crate) fn secure(reply: &mut HttpReply) {
    let headers = reply.headers_mut();
    headers
        .entry(CONTENT_SECURITY_POLICY)
        .or_insert(HeaderValue::from_static(POLICY));
    for (name, value) in [
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        // With `no-referrer`, browsers say that forms come from nowhere: `Origin: null`.
        (REFERRER_POLICY, "same-origin"),
        (X_FRAME_OPTIONS, "DENY"),
        (
            HeaderName::from_static("cross-origin-opener-policy"),
            "same-origin",
        ),
        (
            HeaderName::from_static("cross-origin-resource-policy"),
            "same-origin",
        ),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
}

fn reply(status: StatusCode, media_type: &'static str, body: Bytes) -> HttpReply {
    let mut reply = Response::new(Full::new(body).boxed());
    *reply.status_mut() = status;
    set(&mut reply, CONTENT_TYPE, media_type);
    secure(&mut reply);
    reply
}

fn set(reply: &mut HttpReply, name: HeaderName, value: &'static str) {
    let value = HeaderValue::from_static(value);
    reply.headers_mut().insert(name, value);
}
