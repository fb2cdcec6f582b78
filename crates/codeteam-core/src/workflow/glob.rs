//! Path patterns: `*` within a part, `**` across parts, `?` one character.

/// Whether `path` matches `pattern`.
pub fn matches(pattern: &str, path: &str) -> bool {
    let pattern: Vec<&str> = pattern.split('/').collect();
    let path: Vec<&str> = path.split('/').collect();
    parts(&pattern, &path)
}

fn parts(pattern: &[&str], path: &[&str]) -> bool {
    // Backtracks only to the last `**`, so the time is bounded by the product of the lengths.
    let (mut p, mut s, mut star) = (0, 0, None);
    while s < path.len() {
        if pattern.get(p) == Some(&"**") {
            star = Some((p, s));
            p += 1;
        } else if pattern
            .get(p)
            .is_some_and(|pat| part(pat.as_bytes(), path[s].as_bytes()))
        {
            p += 1;
            s += 1;
        } else if let Some((at, from)) = star {
            star = Some((at, from + 1));
            p = at + 1;
            s = from + 1;
        } else {
            return false;
        }
    }
    pattern[p..].iter().all(|rest| *rest == "**")
}

fn part(pattern: &[u8], text: &[u8]) -> bool {
    let (mut p, mut s, mut star) = (0, 0, None);
    while s < text.len() {
        match pattern.get(p) {
            Some(b'*') => {
                star = Some((p, s));
                p += 1;
            }
            Some(c) if *c == b'?' || *c == text[s] => {
                p += 1;
                s += 1;
            }
            _ => match star {
                Some((at, from)) => {
                    star = Some((at, from + 1));
                    p = at + 1;
                    s = from + 1;
                }
                None => return false,
            },
        }
    }
    pattern[p..].iter().all(|c| *c == b'*')
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn patterns_match_paths() {
        for (pattern, path) in [
            ("src/*.rs", "src/lib.rs"),
            ("src/**", "src/a/b/c.rs"),
            ("**/*auth*", "auth.py"),
            ("**/*auth*", "src/my_auth_x.py"),
            ("**/tests/**", "a/tests/b"),
            ("a?c", "abc"),
        ] {
            assert!(matches(pattern, path), "{pattern} {path}");
        }
        for (pattern, path) in [("src/*.rs", "src/a/lib.rs"), ("a", "a/b"), ("*.rs", "x.py")] {
            assert!(!matches(pattern, path), "{pattern} {path}");
        }
        assert!(!matches(&"*a".repeat(500), &"a".repeat(400)), "and it ends");
    }
}
