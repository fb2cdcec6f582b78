//! Hosts that are not behind the user's proxy, as `NO_PROXY` names them.

/// The parsed value of `NO_PROXY`.
#[derive(Clone, Debug, Default)]
pub struct ProxyExceptions(Vec<String>);

impl ProxyExceptions {
    /// Parses names, each of which includes its subdomains; `*` means everything.
    pub fn parse(text: &str) -> Self {
        let names = text.split([',', ' ']).map(name).filter(|n| !n.is_empty());
        Self(names.collect())
    }

    /// Returns true if a host is among the exceptions.
    pub fn covers(&self, host: &str) -> bool {
        let host = name(host);
        let is_below = |name: &String| {
            host.strip_suffix(name.as_str())
                .is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
        };
        self.0.iter().any(|name| name == "*" || is_below(name))
    }
}

fn name(text: &str) -> String {
    let text = text.trim();
    let text = text
        .strip_prefix('*')
        .filter(|t| !t.is_empty())
        .unwrap_or(text);
    text.trim_matches('.').to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_stands_for_what_is_below_it() {
        let direct = ProxyExceptions::parse("localhost, .Corp.example,*.lab,10.0.0.1");
        for host in [
            "localhost",
            "corp.example",
            "a.b.corp.example",
            "x.lab",
            "10.0.0.1",
        ] {
            assert!(direct.covers(host), "{host}");
        }
        for host in ["notcorp.example", "example", "10.0.0.10", ""] {
            assert!(!direct.covers(host), "{host}");
        }
        assert!(ProxyExceptions::parse("*").covers("anything.example"));
        assert!(!ProxyExceptions::parse("").covers("anything.example"));
    }
}
