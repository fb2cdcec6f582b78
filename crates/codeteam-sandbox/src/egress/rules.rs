//! Decides which hosts may be reached: exact pairs of host and port, and no patterns of any kind.

use std::collections::BTreeMap;
use std::fmt;

/// A host and a port that may be connected to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AllowedHost {
    host: String,
    port: u16,
    private: bool,
}

/// The reason an entry cannot be allowed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{entry}` cannot be allowed: {why}")]
pub struct BadEntry {
    /// The entry as given.
    pub entry: String,
    /// A description of the problem.
    pub why: &'static str,
}

const HTTPS: u16 = 443;

impl AllowedHost {
    /// Parses `host` or `host:port`; the default port is 443.
    pub fn parse(entry: &str) -> Result<Self, BadEntry> {
        let bad = |why| BadEntry {
            entry: entry.escape_debug().to_string(),
            why,
        };
        let (host, port) = split_host_port(entry).map_err(bad)?;
        let host = host.to_ascii_lowercase();
        check_name(&host).map_err(bad)?;
        Ok(Self::new(host, port.unwrap_or(HTTPS)))
    }

    /// Returns this host with any address permitted: for hosts of the user's own network. Only the
    /// user's own configuration may say so.
    #[must_use]
    pub fn allow_private(self) -> Self {
        Self {
            private: true,
            ..self
        }
    }

    /// Creates a pair that does not come from a list of entries.
    pub(super) fn new(host: String, port: u16) -> Self {
        Self {
            host,
            port,
            private: false,
        }
    }

    /// Returns the name of the host, in lower case.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// Returns the port.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Returns true if the host's address need not be public.
    pub fn is_private(&self) -> bool {
        self.private
    }
}

impl fmt::Display for AllowedHost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.host, self.port)
    }
}

/// The pairs of host and port that may be connected to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EgressRules {
    allowed: BTreeMap<String, BTreeMap<u16, AllowedHost>>,
}

impl EgressRules {
    /// Returns the rule for exactly this spelling of a host and this port.
    pub fn find(&self, host: &str, port: u16) -> Option<&AllowedHost> {
        self.allowed.get(host)?.get(&port)
    }
}

/// If a pair is listed twice, it is private if either entry says so.
impl Extend<AllowedHost> for EgressRules {
    fn extend<T: IntoIterator<Item = AllowedHost>>(&mut self, pairs: T) {
        for pair in pairs {
            let ports = self.allowed.entry(pair.host.clone()).or_default();
            let known = ports.entry(pair.port).or_insert_with(|| pair.clone());
            known.private |= pair.private;
        }
    }
}

impl FromIterator<AllowedHost> for EgressRules {
    fn from_iter<T: IntoIterator<Item = AllowedHost>>(pairs: T) -> Self {
        let mut rules = Self::default();
        rules.extend(pairs);
        rules
    }
}

/// Splits off the port, if there is one.
pub(super) fn split_host_port(text: &str) -> Result<(&str, Option<u16>), &'static str> {
    match text.rsplit_once(':') {
        Some((host, port)) => Ok((host, Some(read_port(port)?))),
        None => Ok((text, None)),
    }
}

fn read_port(text: &str) -> Result<u16, &'static str> {
    let is_plain = text.bytes().all(|byte| byte.is_ascii_digit()) && !text.starts_with('0');
    let port = text.parse().ok().filter(|_| is_plain);
    port.ok_or("its port is not a number from 1 to 65535")
}

const NAME: usize = 253;
const LABEL: usize = 63;

/// Checks that the text is the name of a host and cannot be mistaken for an address.
pub(super) fn check_name(host: &str) -> Result<(), &'static str> {
    if host.contains("//") {
        return Err("it is an address of a page; name only the host");
    }
    if host.contains('*') {
        return Err("hosts are named one by one, without wildcards");
    }
    if host.contains('@') {
        return Err("it has a user in it; name only the host");
    }
    if host.contains([':', '[', ']']) {
        return Err("it is an IP address; name a host");
    }
    if host.ends_with('.') {
        return Err("it ends with a dot");
    }
    if host.len() > NAME {
        return Err("it is too long for the name of a host");
    }
    let mut last = "";
    for label in host.split('.') {
        check_label(label)?;
        last = label;
    }
    // Every notation of an address ends in a number, so this rejects all of them.
    if is_number(last) {
        return Err("it is an IP address; name a host");
    }
    Ok(())
}

fn check_label(label: &str) -> Result<(), &'static str> {
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    if label.is_empty() || label.len() > LABEL {
        return Err("each part of a host's name has 1 to 63 characters");
    }
    if !label.chars().all(is_plain) {
        return Err("the name of a host has only letters, digits, hyphens and dots");
    }
    if label.starts_with('-') || label.ends_with('-') {
        return Err("no part of a host's name starts or ends with a hyphen");
    }
    Ok(())
}

fn is_number(label: &str) -> bool {
    let is_hex = |digits: &str| digits.chars().all(|c| c.is_ascii_hexdigit());
    label.chars().all(|c| c.is_ascii_digit()) || label.strip_prefix("0x").is_some_and(is_hex)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn parsed(entry: &str) -> String {
        AllowedHost::parse(entry).unwrap().to_string()
    }

    #[test]
    fn pairs_are_read() {
        assert_eq!(parsed("api.example.com"), "api.example.com:443");
        assert_eq!(parsed("api.example.com:8443"), "api.example.com:8443");
        assert_eq!(parsed("API.Example.com:80"), "api.example.com:80");
        assert_eq!(parsed("localhost:1"), "localhost:1");
        assert_eq!(parsed("xn--bcher-kva.example"), "xn--bcher-kva.example:443");
        assert_eq!(parsed("3com.example:65535"), "3com.example:65535");
        let label = "a".repeat(63);
        let name = format!("{label}.{label}.{label}.{}", "a".repeat(61));
        assert_eq!(parsed(&name), format!("{name}:443"));
    }

    #[test]
    fn what_is_not_a_plain_name_is_refused() {
        let long = format!("{}.com", "a".repeat(64));
        let longer = "a.".repeat(126) + "aa";
        for entry in [
            "",
            ":443",
            "a..b",
            ".a",
            "a.",
            "a.:443",
            "a_b",
            "-a.b",
            "a-.b",
            "a b",
            " a",
            "a\n",
            "a\0.b",
            "bücher.example",
            "a/b",
            "a%2eb",
            "a\\b",
            "a#b",
            "a?b",
            long.as_str(),
            longer.as_str(),
        ] {
            AllowedHost::parse(entry).unwrap_err();
        }
    }

    #[track_caller]
    fn refused(entries: &[&str], why: &str) {
        for entry in entries {
            let error = AllowedHost::parse(entry).unwrap_err();
            let told = format!("`{entry}` cannot be allowed: ");
            assert!(error.to_string().starts_with(&told), "{error}");
            assert!(error.why.contains(why), "{error}");
        }
    }

    #[test]
    fn errors_say_what_is_wrong() {
        let addresses = [
            "127.0.0.1",
            "127.0.0.1:443",
            "127.1",
            "0177.0.0.1",
            "2130706433",
            "0x7f000001",
            "0x7f.1",
            "0x7F.0.0.0x1",
            "1.2.3.0x",
            "a.example.1",
            "[::1]:443",
            "::1",
            "[::ffff:127.0.0.1]",
        ];
        refused(&addresses[..10], "is an IP address");
        for address in &addresses[10..] {
            AllowedHost::parse(address).unwrap_err();
        }
        refused(&["*.example.com", "*"], "without wildcards");
        refused(&["user@example.com", "u:p@example.com:443"], "a user in it");
        refused(&["https://example.com:443", "//a"], "name only the host");
        let ports = ["a:0", "a:65536", "a:+443", "a:0443", "a:", "a:x", "a:443 "];
        refused(&ports, "port");
        refused(&["a.example."], "ends with a dot");
    }

    #[test]
    fn only_the_same_spelling_and_port_is_found() {
        let rules: EgressRules = ["api.example.com", "api.example.com:8443"]
            .map(|entry| AllowedHost::parse(entry).unwrap())
            .into_iter()
            .collect();
        assert!(rules.find("api.example.com", 443).is_some());
        assert!(rules.find("api.example.com", 8443).is_some());
        for (host, port) in [
            ("api.example.com", 80),
            ("API.example.com", 443),
            ("api.example.com.", 443),
            ("api.example.com.evil.example", 443),
            ("evil.api.example.com", 443),
            ("example.com", 443),
            ("api.example.com\0", 443),
            ("", 443),
        ] {
            assert_eq!(rules.find(host, port), None, "{host}:{port}");
        }
    }

    #[test]
    fn private_is_said_by_one_of_several() {
        let pair = AllowedHost::parse("registry.example").unwrap();
        let rules: EgressRules = [pair.clone().allow_private(), pair.clone()]
            .into_iter()
            .collect();
        assert!(rules.find("registry.example", 443).unwrap().is_private());
        let rules: EgressRules = [pair].into_iter().collect();
        assert!(!rules.find("registry.example", 443).unwrap().is_private());
    }
}
