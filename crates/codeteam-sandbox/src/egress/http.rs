//! Parses heads and bodies of HTTP/1.1 strictly.

use std::io::{self, BufRead, ErrorKind, Write};

/// The longest head of a request or a response, in bytes.
pub(super) const HEAD: usize = 16 * 1024;

const FIELDS: usize = 128;

/// The longest line between the chunks of a body, in bytes.
const LINE: usize = 1024;

/// The reason a message was rejected.
#[derive(Debug, thiserror::Error)]
pub(super) enum ReadError {
    /// There is no message.
    #[error("the connection was closed before a request")]
    Nothing,
    #[error("the message has no end, or is not HTTP")]
    Truncated,
    #[error("it did not arrive in time")]
    Late,
    #[error("its head is longer than 16 KiB")]
    TooLong,
    #[error("it is not well-formed: {0}")]
    Malformed(&'static str),
}

/// Reads up to the empty line, and not a byte more.
pub(super) fn read_head(reader: &mut impl BufRead) -> Result<Vec<u8>, ReadError> {
    let mut head = Vec::new();
    loop {
        let available = match reader.fill_buf() {
            Ok(available) => available,
            Err(error) if error.kind() == ErrorKind::TimedOut => return Err(ReadError::Late),
            Err(_) => return Err(ReadError::Truncated),
        };
        if available.is_empty() {
            let is_start = head.is_empty();
            return Err(if is_start {
                ReadError::Nothing
            } else {
                ReadError::Truncated
            });
        }
        let mut used = 0;
        let mut ends = false;
        for &byte in available {
            head.push(byte);
            used += 1;
            ends = head.ends_with(b"\r\n\r\n");
            if ends || head.ends_with(b"\n\n") || head.len() > HEAD {
                break;
            }
        }
        reader.consume(used);
        if ends {
            return Ok(head);
        }
        if head.len() > HEAD {
            return Err(ReadError::TooLong);
        }
        if head.ends_with(b"\n\n") {
            return Err(ReadError::Malformed("lines end with CR LF"));
        }
    }
}

/// One header field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct HeaderField {
    pub(super) name: String,
    pub(super) value: Vec<u8>,
}

impl HeaderField {
    pub(super) fn has_name(&self, name: &str) -> bool {
        self.name.eq_ignore_ascii_case(name)
    }

    /// Returns true if `word` is one of the comma-separated items of the value.
    fn has_list_item(&self, word: &str) -> bool {
        let words = self.value.split(|&byte| byte == b',');
        words
            .map(<[u8]>::trim_ascii)
            .any(|one| one.eq_ignore_ascii_case(word.as_bytes()))
    }
}

#[derive(Debug)]
pub(super) struct RequestHead {
    pub(super) method: String,
    pub(super) target: String,
    pub(super) minor: u8,
    pub(super) fields: Vec<HeaderField>,
}

#[derive(Debug)]
pub(super) struct ResponseHead {
    pub(super) code: u16,
    pub(super) reason: String,
    pub(super) fields: Vec<HeaderField>,
}

impl RequestHead {
    pub(super) fn parse(head: &[u8]) -> Result<Self, ReadError> {
        let mut fields = [httparse::EMPTY_HEADER; FIELDS];
        let mut request = httparse::Request::new(&mut fields);
        let length = request.parse(head).map_err(malformed)?;
        let (Some(method), Some(target), Some(minor)) =
            (request.method, request.path, request.version)
        else {
            return Err(ReadError::Truncated);
        };
        let request = Self {
            method: method.to_owned(),
            target: target.to_owned(),
            minor,
            fields: to_fields(request.headers),
        };
        check_complete(length, head)?;
        if count(&request.fields, "host") > 1 {
            return Err(ReadError::Malformed("it has more than one Host"));
        }
        Ok(request)
    }

    /// Returns the framing of the body that follows the head.
    pub(super) fn body(&self) -> Result<BodyFraming, ReadError> {
        Ok(body_framing(&self.fields)?.unwrap_or(BodyFraming::Empty))
    }
}

impl ResponseHead {
    pub(super) fn parse(head: &[u8]) -> Result<Self, ReadError> {
        let mut fields = [httparse::EMPTY_HEADER; FIELDS];
        let mut response = httparse::Response::new(&mut fields);
        let length = response.parse(head).map_err(malformed)?;
        let code = response.code.ok_or(ReadError::Truncated)?;
        let reason = response.reason.unwrap_or_default().to_owned();
        let response = Self {
            code,
            reason,
            fields: to_fields(response.headers),
        };
        check_complete(length, head)?;
        Ok(response)
    }

    /// Returns the framing of the body that follows the head, in answer to a request with this
    /// method.
    pub(super) fn body(&self, method: &str) -> Result<BodyFraming, ReadError> {
        let framing = body_framing(&self.fields)?;
        if method == "HEAD" || matches!(self.code, 100..200 | 204 | 304) {
            return Ok(BodyFraming::Empty);
        }
        Ok(framing.unwrap_or(BodyFraming::UntilClosed))
    }
}

fn malformed(error: httparse::Error) -> ReadError {
    ReadError::Malformed(match error {
        httparse::Error::HeaderName => "the name of a header",
        httparse::Error::HeaderValue => "the value of a header",
        httparse::Error::NewLine => "the end of a line",
        httparse::Error::Status => "its status",
        httparse::Error::Token => "its first line",
        httparse::Error::TooManyHeaders => "it has too many headers",
        httparse::Error::Version => "its version is not HTTP/1",
    })
}

fn to_fields(fields: &[httparse::Header<'_>]) -> Vec<HeaderField> {
    let field = |field: &httparse::Header<'_>| HeaderField {
        name: field.name.to_owned(),
        value: field.value.to_owned(),
    };
    fields.iter().map(field).collect()
}

/// Refuses a head that a reader less strict about lines would consider complete earlier.
fn check_complete(length: httparse::Status<usize>, head: &[u8]) -> Result<(), ReadError> {
    let is_whole = length == httparse::Status::Complete(head.len());
    is_whole.then_some(()).ok_or(ReadError::Truncated)
}

fn count(fields: &[HeaderField], name: &str) -> usize {
    fields.iter().filter(|field| field.has_name(name)).count()
}

/// Fields that concern one connection and not the message, and fields that are written anew.
const OF_THE_CONNECTION: &[&str] = &[
    "connection",
    "content-length",
    "expect",
    "host",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// Returns true if a field is passed on.
pub(super) fn is_forwarded(field: &HeaderField, all: &[HeaderField]) -> bool {
    let is_listed =
        |other: &HeaderField| other.has_name("connection") && other.has_list_item(&field.name);
    !OF_THE_CONNECTION.iter().any(|name| field.has_name(name)) && !all.iter().any(is_listed)
}

/// How the length of a body is determined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BodyFraming {
    Empty,
    Length(u64),
    Chunked,
    UntilClosed,
}

/// Returns the framing that the fields declare, if they do. Refuses anything that two readers could
/// interpret differently.
fn body_framing(fields: &[HeaderField]) -> Result<Option<BodyFraming>, ReadError> {
    let mut lengths = fields
        .iter()
        .filter(|field| field.has_name("content-length"));
    let mut codings = fields
        .iter()
        .filter(|field| field.has_name("transfer-encoding"));
    match (lengths.next(), codings.next()) {
        (Some(_), Some(_)) => Err(ReadError::Malformed(
            "it has both a Content-Length and a Transfer-Encoding",
        )),
        _ if lengths.next().is_some() || codings.next().is_some() => Err(ReadError::Malformed(
            "it says more than once how long it is",
        )),
        (Some(length), None) => Ok(Some(BodyFraming::Length(read_length(&length.value)?))),
        (None, Some(coding)) if coding.value.eq_ignore_ascii_case(b"chunked") => {
            Ok(Some(BodyFraming::Chunked))
        }
        (None, Some(_)) => Err(ReadError::Malformed("its Transfer-Encoding")),
        (None, None) => Ok(None),
    }
}

fn read_length(value: &[u8]) -> Result<u64, ReadError> {
    let is_plain = !value.is_empty() && value.iter().all(u8::is_ascii_digit);
    let text = std::str::from_utf8(value).ok().filter(|_| is_plain);
    let length = text.and_then(|text| text.parse().ok());
    length.ok_or(ReadError::Malformed("its Content-Length"))
}

/// The side of a copy that failed.
#[derive(Debug)]
pub(super) enum CopyError {
    Source(io::Error),
    Sink,
}

/// Copies a body piece by piece as it arrives, and nothing after it.
pub(super) fn copy_body(
    body: BodyFraming,
    from: &mut impl BufRead,
    to: &mut impl Write,
) -> Result<(), CopyError> {
    match body {
        BodyFraming::Empty => Ok(()),
        BodyFraming::Length(length) => copy_exactly(length, from, |piece| to.write_all(piece)),
        BodyFraming::UntilClosed => loop {
            if copy_piece(u64::MAX, from, |piece| to.write_all(piece))? == 0 {
                return Ok(());
            }
        },
        BodyFraming::Chunked => copy_chunks(from, to),
    }?;
    to.flush().map_err(|_| CopyError::Sink)
}

fn copy_exactly(
    mut left: u64,
    from: &mut impl BufRead,
    mut write: impl FnMut(&[u8]) -> io::Result<()>,
) -> Result<(), CopyError> {
    while left > 0 {
        let count = copy_piece(left, from, &mut write)?;
        if count == 0 {
            return Err(CopyError::Source(ErrorKind::UnexpectedEof.into()));
        }
        left -= count;
    }
    Ok(())
}

/// Copies the bytes that are available, up to a limit. Returns 0 at the end.
fn copy_piece(
    most: u64,
    from: &mut impl BufRead,
    mut write: impl FnMut(&[u8]) -> io::Result<()>,
) -> Result<u64, CopyError> {
    let available = from.fill_buf().map_err(CopyError::Source)?;
    let most = usize::try_from(most).unwrap_or(usize::MAX);
    let piece = &available[..available.len().min(most)];
    let count = piece.len();
    if count > 0 {
        write(piece).map_err(|_| CopyError::Sink)?;
    }
    from.consume(count);
    Ok(count as u64)
}

/// Copies a chunked body. A new chunk is written for each piece that arrives; extensions and
/// trailers are dropped.
fn copy_chunks(from: &mut impl BufRead, to: &mut impl Write) -> Result<(), CopyError> {
    loop {
        let size = chunk_size(&read_line(from).map_err(CopyError::Source)?);
        let size = size.ok_or_else(|| CopyError::Source(ErrorKind::InvalidData.into()))?;
        if size == 0 {
            skip_trailers(from).map_err(CopyError::Source)?;
            return to.write_all(b"0\r\n\r\n").map_err(|_| CopyError::Sink);
        }
        copy_exactly(size, from, |piece| {
            let mut chunk = format!("{:x}\r\n", piece.len()).into_bytes();
            chunk.extend_from_slice(piece);
            chunk.extend_from_slice(b"\r\n");
            to.write_all(&chunk)?;
            to.flush()
        })?;
        if !read_line(from).map_err(CopyError::Source)?.is_empty() {
            return Err(CopyError::Source(ErrorKind::InvalidData.into()));
        }
    }
}

fn chunk_size(line: &[u8]) -> Option<u64> {
    const DIGITS: usize = 15;
    let digits = line.split(|&byte| byte == b';').next()?;
    let is_plain = digits.iter().all(u8::is_ascii_hexdigit) && digits.len() <= DIGITS;
    let digits = std::str::from_utf8(digits).ok().filter(|_| is_plain)?;
    u64::from_str_radix(digits, 16).ok()
}

fn skip_trailers(from: &mut impl BufRead) -> io::Result<()> {
    for _ in 0..FIELDS {
        if read_line(from)?.is_empty() {
            return Ok(());
        }
    }
    Err(ErrorKind::InvalidData.into())
}

/// Reads a line and removes its end, which is CR LF.
fn read_line(from: &mut impl BufRead) -> io::Result<Vec<u8>> {
    let mut line = Vec::new();
    while !line.ends_with(b"\r\n") {
        let Some(&byte) = from.fill_buf()?.first() else {
            return Err(ErrorKind::UnexpectedEof.into());
        };
        from.consume(1);
        line.push(byte);
        let is_bare = byte == b'\n' && !line.ends_with(b"\r\n");
        if is_bare || line.len() > LINE {
            return Err(ErrorKind::InvalidData.into());
        }
    }
    line.truncate(line.len() - 2);
    Ok(line)
}

/// Decodes each `%xx` to the byte it stands for.
pub(super) fn percent_decoded(text: &str) -> Vec<u8> {
    let bytes = text.as_bytes();
    let digit = |at: usize| {
        let digit = char::from(*bytes.get(at)?).to_digit(16)?;
        u8::try_from(digit).ok()
    };
    let mut decoded = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let pair = (bytes[at] == b'%')
            .then(|| digit(at + 1).zip(digit(at + 2)))
            .flatten();
        if let Some((high, low)) = pair {
            decoded.push(high << 4 | low);
            at += 3;
        } else {
            decoded.push(bytes[at]);
            at += 1;
        }
    }
    decoded
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(lines: &str) -> Result<RequestHead, ReadError> {
        let head = lines.replace('\n', "\r\n") + "\r\n\r\n";
        RequestHead::parse(&read_head(&mut head.as_bytes())?)
    }

    fn body(fields: &str) -> Option<BodyFraming> {
        request(&format!("POST / HTTP/1.1\n{fields}"))
            .unwrap()
            .body()
            .ok()
    }

    #[test]
    fn a_head_is_read_and_what_follows_left() {
        let mut bytes = &b"GET /a?b HTTP/1.1\r\nHost: x\r\n\r\nrest"[..];
        let head = read_head(&mut bytes).unwrap();
        assert_eq!(bytes, b"rest");
        let request = RequestHead::parse(&head).unwrap();
        assert_eq!(request.target, "/a?b");
        assert_eq!(request.fields[0].value, b"x");
    }

    #[test]
    fn odd_heads_are_refused() {
        let long = format!("GET / HTTP/1.1\r\nA: {}\r\n\r\n", "a".repeat(HEAD));
        for head in [
            "",
            "GET / HTTP/1.1\r\n",
            "GET / HTTP/1.1\n\nHost: x\r\n\r\n",
            "GET / HTTP/1.1\nHost: x\n\r\n\r\n",
            "GET / HTTP/2.0\r\n\r\n",
            "GET /\0 HTTP/1.1\r\n\r\n",
            "GET / HTTP/1.1\r\nA: \0\r\n\r\n",
            "GET / HTTP/1.1\r\nA : b\r\n\r\n",
            "GET / HTTP/1.1\r\nA: b\r\n c\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: a\r\nhost: b\r\n\r\n",
            "GET / HTTP/1.1\r\nnonsense\r\n\r\n",
            "\x16\x03\x01 hello\r\n\r\n",
            long.as_str(),
        ] {
            let read = read_head(&mut head.as_bytes()).and_then(|head| RequestHead::parse(&head));
            assert!(read.is_err(), "{head:?}");
        }
    }

    #[test]
    fn lengths_have_one_meaning() {
        assert_eq!(body("A: b"), Some(BodyFraming::Empty));
        assert_eq!(body("Content-Length: 12"), Some(BodyFraming::Length(12)));
        assert_eq!(
            body("transfer-encoding: Chunked"),
            Some(BodyFraming::Chunked)
        );
        for odd in [
            "Content-Length: 1\nTransfer-Encoding: chunked",
            "Content-Length: 1\nContent-Length: 1",
            "Content-Length: 1, 1",
            "Content-Length: +1",
            "Content-Length: -1",
            "Content-Length: 0x1",
            "Content-Length: ",
            "Content-Length: 99999999999999999999",
            "Transfer-Encoding: gzip, chunked",
            "Transfer-Encoding: chunked, identity",
            "Transfer-Encoding: chunked\nTransfer-Encoding: chunked",
            "Transfer-Encoding: xchunked",
        ] {
            assert_eq!(body(odd), None, "{odd}");
        }
    }

    fn copied(body: BodyFraming, bytes: &str) -> (Option<String>, String) {
        let mut from = bytes.as_bytes();
        let mut to = Vec::new();
        let result = copy_body(body, &mut from, &mut to);
        let copied = result.ok().map(|()| String::from_utf8(to).unwrap());
        (copied, String::from_utf8(from.to_vec()).unwrap())
    }

    #[test]
    fn only_the_declared_body_is_copied() {
        let some = |text: &str, rest: &str| (Some(text.to_owned()), rest.to_owned());
        assert_eq!(copied(BodyFraming::Empty, "GET"), some("", "GET"));
        assert_eq!(copied(BodyFraming::Length(2), "abGET"), some("ab", "GET"));
        assert_eq!(copied(BodyFraming::UntilClosed, "abc"), some("abc", ""));
        let chunks = "3;x=y\r\nabc\r\n0A\r\n0123456789\r\n0\r\nX: y\r\n\r\nGET";
        let wanted = "3\r\nabc\r\na\r\n0123456789\r\n0\r\n\r\n";
        assert_eq!(copied(BodyFraming::Chunked, chunks), some(wanted, "GET"));
    }

    #[test]
    fn broken_bodies_are_refused() {
        assert_eq!(copied(BodyFraming::Length(4), "abc").0, None);
        for chunks in [
            "",
            "3\r\nab",
            "3\r\nabcd\r\n0\r\n\r\n",
            "3\nabc\r\n0\r\n\r\n",
            "-3\r\nabc\r\n0\r\n\r\n",
            "+3\r\nabc\r\n0\r\n\r\n",
            " 3\r\nabc\r\n0\r\n\r\n",
            "\r\nabc\r\n0\r\n\r\n",
            "ffffffffffffffff\r\nabc",
            "3\r\nabc\r\n0\r\n",
        ] {
            assert_eq!(copied(BodyFraming::Chunked, chunks).0, None, "{chunks:?}");
        }
    }

    #[test]
    fn fields_of_the_connection_stay_behind() {
        let all =
            request("GET / HTTP/1.1\nConnection: close, X-Private\nTE: x\nx-private: 1\nA: b");
        let all = all.unwrap().fields;
        let kept: Vec<_> = all
            .iter()
            .filter(|field| is_forwarded(field, &all))
            .collect();
        assert_eq!(kept.len(), 1);
        assert_eq!(kept[0].name, "A");
    }

    #[test]
    fn percent_signs_are_read() {
        assert_eq!(percent_decoded("k%65y%2E%zz%4"), b"key.%zz%4");
    }
}
