//! The token that a client must have to be served.

use std::fmt;
use std::io;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use crate::Error;

/// The bytes of a token that is made here.
const BYTES: usize = 32;
/// The fewest characters of a chosen token.
const SHORTEST: usize = 16;

/// A bearer token.
#[derive(Clone)]
pub struct BearerToken {
    secret: String,
    hash: blake3::Hash,
}

impl BearerToken {
    /// Creates a token that nobody can guess.
    pub fn generate() -> Result<Self, Error> {
        let mut bytes = [0; BYTES];
        let flags = rustix::rand::GetRandomFlags::empty();
        // That many come at once, or none.
        let got = rustix::rand::getrandom(&mut bytes[..], flags)
            .map_err(|errno| Error::Random(errno.into()))?;
        if got != BYTES {
            return Err(Error::Random(io::ErrorKind::UnexpectedEof.into()));
        }
        Ok(Self::new(URL_SAFE_NO_PAD.encode(bytes)))
    }

    /// Uses a chosen token, without blanks around it.
    pub fn from_secret(secret: &str) -> Result<Self, Error> {
        let secret = secret.trim();
        if secret.len() < SHORTEST {
            return Err(Error::Token("it has less than 16 characters"));
        }
        if !secret.bytes().all(|b| b.is_ascii_graphic()) {
            return Err(Error::Token(
                "it has characters other than letters, digits and signs",
            ));
        }
        Ok(Self::new(secret.to_owned()))
    }

    fn new(secret: String) -> Self {
        let hash = blake3::hash(secret.as_bytes());
        Self { secret, hash }
    }

    /// The token itself, for the one who is to use it.
    pub fn secret(&self) -> &str {
        &self.secret
    }

    /// Returns true if this is the token. The time it takes does not show how similar they are:
    /// hashes are compared, and in constant time.
    pub(crate) fn matches(&self, said: &[u8]) -> bool {
        blake3::hash(said) == self.hash
    }
}

impl fmt::Debug for BearerToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_one_is_long_and_never_the_same() {
        let (one, other) = (
            BearerToken::generate().unwrap(),
            BearerToken::generate().unwrap(),
        );
        assert_eq!(one.secret().len(), 43);
        assert_ne!(one.secret(), other.secret());
        assert!(one.matches(one.secret().as_bytes()));
        assert!(!one.matches(other.secret().as_bytes()));
    }

    #[test]
    fn only_the_whole_token_is_it() {
        let token = BearerToken::from_secret(" 0123456789abcdef\n").unwrap();
        assert!(token.matches(b"0123456789abcdef"));
        for near in [
            "",
            "0123456789abcde",
            "0123456789abcdeff",
            "0123456789abcdeF",
        ] {
            assert!(!token.matches(near.as_bytes()), "{near}");
        }
    }

    #[test]
    fn one_that_is_short_or_does_not_fit_a_header_is_refused() {
        assert!(BearerToken::from_secret("0123456789abcde").is_err());
        assert!(BearerToken::from_secret("0123456789 abcdef").is_err());
        assert!(BearerToken::from_secret("0123456789abcdefé").is_err());
    }

    #[test]
    fn it_is_not_printed_by_accident() {
        let token = BearerToken::from_secret("0123456789abcdef").unwrap();
        assert!(!format!("{token:?}").contains("0123"));
    }
}
