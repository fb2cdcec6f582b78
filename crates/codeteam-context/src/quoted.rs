//! Decodes names as git quotes them.

/// Undoes git's C-style quoting of names with control characters, quotes or backslashes. Other
/// names are returned unchanged.
pub fn unquote(name: &[u8]) -> Vec<u8> {
    let quoted = name
        .strip_prefix(b"\"")
        .and_then(|rest| rest.strip_suffix(b"\""));
    let Some(quoted) = quoted else {
        return name.to_vec();
    };
    let mut plain = Vec::with_capacity(quoted.len());
    let mut bytes = quoted.iter().copied().peekable();
    while let Some(byte) = bytes.next() {
        if byte != b'\\' {
            plain.push(byte);
            continue;
        }
        plain.push(match bytes.next() {
            Some(b'a') => 0x07,
            Some(b'b') => 0x08,
            Some(b't') => b'\t',
            Some(b'n') => b'\n',
            Some(b'v') => 0x0b,
            Some(b'f') => 0x0c,
            Some(b'r') => b'\r',
            Some(digit @ b'0'..=b'7') => {
                let mut value = digit - b'0';
                while let Some(digit) = bytes.next_if(|byte| matches!(byte, b'0'..=b'7')) {
                    value = value.wrapping_mul(8).wrapping_add(digit - b'0');
                }
                value
            }
            Some(other) => other,
            None => b'\\',
        });
    }
    plain
}

/// Does the same for a string.
pub(crate) fn unquote_text(name: &str) -> String {
    String::from_utf8_lossy(&unquote(name.as_bytes())).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unquoted_as_git_quotes_them() {
        assert_eq!(unquote(b"plain \\n"), b"plain \\n");
        assert_eq!(unquote(br#""a\n\"b\"\\\001\tc""#), b"a\n\"b\"\\\x01\tc");
        assert_eq!(unquote(br#""\303\251""#), "é".as_bytes());
    }
}
