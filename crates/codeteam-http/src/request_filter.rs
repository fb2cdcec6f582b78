//! Decides which requests are let in, before a byte of a body is read.
//!
//! A name that somebody else's server gives out may lead here, and a browser then sends what a page
//! of theirs says (DNS rebinding). Such a request names another host, or a page's origin: both are
//! compared in full. The token keeps out other users of this machine.

use std::net::SocketAddr;

use hyper::Method;
use hyper::header::{AUTHORIZATION, HOST, HeaderMap, HeaderName, HeaderValue, ORIGIN};
use hyper::http::request::Parts;

use crate::reply::RequestRefusal;
use crate::{BearerToken, PATH};

/// The requirements for a request.
#[derive(Clone, Debug)]
pub(crate) struct RequestFilter {
    hosts: Vec<String>,
    origins: Vec<String>,
    token: BearerToken,
}

impl RequestFilter {
    /// For a server at this address.
    pub(crate) fn new(address: SocketAddr, token: BearerToken) -> Self {
        let port = address.port();
        let mut hosts = vec![address.to_string(), format!("localhost:{port}")];
        if port == 80 {
            // Nobody writes the port that is meant anyway.
            let bare = hosts.iter().filter_map(|host| host.strip_suffix(":80"));
            hosts = bare.map(str::to_owned).collect();
        }
        let origins = hosts.iter().map(|host| format!("http://{host}")).collect();
        Self {
            hosts,
            origins,
            token,
        }
    }

    /// Checks whether a request is let in.
    pub(crate) fn check(&self, request: &Parts) -> Result<(), RequestRefusal> {
        let headers = &request.headers;
        let host =
            single_value(headers, &HOST, RequestRefusal::NoHost)?.ok_or(RequestRefusal::NoHost)?;
        if !is_one_of(host, &self.hosts) {
            return Err(RequestRefusal::Host);
        }
        // A target with a host of its own goes before the header, for whoever reads it by the book.
        let target = request.uri.authority();
        if target.is_some_and(|target| !matches_known(target.as_str().as_bytes(), &self.hosts)) {
            return Err(RequestRefusal::Host);
        }
        if let Some(origin) = single_value(headers, &ORIGIN, RequestRefusal::Origin)?
            && !is_one_of(origin, &self.origins)
        {
            return Err(RequestRefusal::Origin);
        }
        if request.uri.path() != PATH {
            return Err(RequestRefusal::Path);
        }
        if ![Method::POST, Method::GET, Method::DELETE].contains(&request.method) {
            return Err(RequestRefusal::Method);
        }
        let said = single_value(headers, &AUTHORIZATION, RequestRefusal::Token)?;
        let said = said.and_then(bearer_value).ok_or(RequestRefusal::Token)?;
        if !self.token.matches(said) {
            return Err(RequestRefusal::Token);
        }
        Ok(())
    }
}

/// Returns the only value of a header. Several values are refused, because another program could
/// choose a different one of them.
pub fn single_value<'a, E>(
    headers: &'a HeaderMap,
    name: &HeaderName,
    several: E,
) -> Result<Option<&'a HeaderValue>, E> {
    let mut values = headers.get_all(name).iter();
    let first = values.next();
    match values.next() {
        Some(_) => Err(several),
        None => Ok(first),
    }
}

fn is_one_of(value: &HeaderValue, known: &[String]) -> bool {
    matches_known(value.as_bytes(), known)
}

fn matches_known(value: &[u8], known: &[String]) -> bool {
    let is = |name: &String| value.eq_ignore_ascii_case(name.as_bytes());
    known.iter().any(is)
}

/// Returns the text after `Bearer`, whose case does not matter.
fn bearer_value(value: &HeaderValue) -> Option<&[u8]> {
    let (scheme, rest) = value.as_bytes().split_at_checked(7)?;
    scheme
        .eq_ignore_ascii_case(b"bearer ")
        .then(|| rest.trim_ascii())
}

#[cfg(test)]
mod tests {
    use hyper::Request;

    use super::*;

    const TOKEN: &str = "0123456789abcdef";

    fn gate(address: &str) -> RequestFilter {
        RequestFilter::new(
            address.parse().unwrap(),
            BearerToken::from_secret(TOKEN).unwrap(),
        )
    }

    /// Returns the verdict on a request that is valid but for these headers; an empty value removes
    /// a header.
    fn said(
        gate: &RequestFilter,
        path: &str,
        changed: &[(&str, &str)],
    ) -> Result<(), RequestRefusal> {
        let bearer = format!("Bearer {TOKEN}");
        let right = [("host", "127.0.0.1:4000"), ("authorization", &bearer)];
        let is_changed = |name: &str| changed.iter().any(|(other, _)| *other == name);
        let kept = right.iter().filter(|(name, _)| !is_changed(name));
        let mut request = Request::post(path);
        for (name, value) in kept.chain(changed).filter(|(_, value)| !value.is_empty()) {
            request = request.header(*name, *value);
        }
        gate.check(&request.body(()).unwrap().into_parts().0)
    }

    #[test]
    fn the_host_is_this_server_and_nothing_like_it() {
        let gate = gate("127.0.0.1:4000");
        for host in ["127.0.0.1:4000", "localhost:4000", "LOCALHOST:4000"] {
            assert_eq!(said(&gate, PATH, &[("host", host)]), Ok(()), "{host}");
        }
        for host in [
            "127.0.0.1",
            "localhost",
            "127.0.0.1:4001",
            "127.0.0.1:40000",
            "evil.example:4000",
            "localhost.evil.example:4000",
            "evil.localhost:4000",
            "127.0.0.1:4000@evil.example",
            "[::1]:4000",
            "0.0.0.0:4000",
        ] {
            let refused = said(&gate, PATH, &[("host", host)]);
            assert_eq!(refused, Err(RequestRefusal::Host), "{host}");
        }
        assert_eq!(
            said(&gate, PATH, &[("host", "")]),
            Err(RequestRefusal::NoHost)
        );
        let own = format!("http://LOCALHOST:4000{PATH}");
        assert_eq!(said(&gate, &own, &[]), Ok(()));
        let other = format!("http://evil.example{PATH}");
        assert_eq!(said(&gate, &other, &[]), Err(RequestRefusal::Host));
        let twice = [("host", "127.0.0.1:4000"), ("host", "localhost:4000")];
        assert_eq!(said(&gate, PATH, &twice), Err(RequestRefusal::NoHost));
    }

    #[test]
    fn an_address_of_the_other_kind_has_its_own_names() {
        let gate = gate("[::1]:80");
        for host in ["[::1]", "localhost"] {
            assert_eq!(said(&gate, PATH, &[("host", host)]), Ok(()), "{host}");
        }
        let other = said(&gate, PATH, &[("host", "127.0.0.1:80")]);
        assert_eq!(other, Err(RequestRefusal::Host));
    }

    #[test]
    fn a_page_must_be_this_server_s_own() {
        let gate = gate("127.0.0.1:4000");
        for origin in ["http://127.0.0.1:4000", "http://localhost:4000"] {
            assert_eq!(said(&gate, PATH, &[("origin", origin)]), Ok(()), "{origin}");
        }
        for origin in [
            "null",
            "https://127.0.0.1:4000",
            "http://127.0.0.1",
            "http://127.0.0.1:4001",
            "http://evil.example",
            "http://localhost:4000.evil.example",
            "http://localhost:4000/",
        ] {
            let refused = said(&gate, PATH, &[("origin", origin)]);
            assert_eq!(refused, Err(RequestRefusal::Origin), "{origin}");
        }
        let own = "http://127.0.0.1:4000";
        let twice = [("origin", own), ("origin", "http://evil.example")];
        assert_eq!(said(&gate, PATH, &twice), Err(RequestRefusal::Origin));
    }

    #[test]
    fn the_token_is_needed_and_nothing_else_will_do() {
        let gate = gate("127.0.0.1:4000");
        let small = format!("bearer  {TOKEN}");
        assert_eq!(said(&gate, PATH, &[("authorization", &small)]), Ok(()));
        let basic = format!("Basic {TOKEN}");
        let near = format!("Bearer {TOKEN}0");
        for value in ["", "Bearer", "Bearer ", TOKEN, &basic, &near] {
            let refused = said(&gate, PATH, &[("authorization", value)]);
            assert_eq!(refused, Err(RequestRefusal::Token), "{value}");
        }
        let in_the_path = format!("{PATH}?token={TOKEN}");
        let refused = said(&gate, &in_the_path, &[("authorization", "")]);
        assert_eq!(refused, Err(RequestRefusal::Token));
    }

    #[test]
    fn whoever_asks_for_another_path_learns_only_that_it_is_not_there() {
        let gate = gate("127.0.0.1:4000");
        for path in ["/", "/mcp/", "/.well-known/oauth-protected-resource"] {
            let refused = said(&gate, path, &[("authorization", "")]);
            assert_eq!(refused, Err(RequestRefusal::Path), "{path}");
        }
    }
}
