//! Exchanges messages between a client and the server, one per line.
//!
//! The input is untrusted: it may contain endless lines, bytes that are not text, text that is not
//! a message, and more requests than anybody could want answered. Unreadable input is answered with
//! a protocol error, no line longer than [`MAX_LINE`] is kept, and nothing more is read while
//! requests weighing [`MAX_WEIGHT`] wait for their answers.

mod in_flight;

use std::io;
use std::sync::Arc;

use rmcp::model::{
    ClientJsonRpcMessage, ClientNotification, ErrorData, JsonRpcMessage, RequestId,
    ServerJsonRpcMessage,
};
use rmcp::transport::Transport;
use rmcp::{RoleServer, model};
use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncWrite, AsyncWriteExt as _, BufReader};
use tokio::sync::Mutex;
use tokio::task::JoinHandle;

use self::in_flight::RequestsInFlight;

/// The length limit of a message, in bytes.
pub(super) const MAX_LINE: usize = 4 << 20;
/// The total weight of unanswered requests: one per request, plus one for every [`UNIT`] bytes of
/// it.
pub(super) const MAX_WEIGHT: usize = 64;
/// The number of bytes that weigh as much as a request.
const UNIT: usize = 64 << 10;
/// How much of both ends of an overlong line is kept, because its id may be there.
const ENDS: usize = 120;

/// The transport to one client over a pair of streams.
pub(super) struct LineTransport<R, W> {
    read: BufReader<R>,
    line: Vec<u8>,
    /// The ends of the current line, if it is too long.
    long: Option<LongLineEnds>,
    write: Arc<Mutex<Option<W>>>,
    flight: Arc<RequestsInFlight>,
    /// Whether the client has sent a request yet.
    begun: bool,
    /// The error message being written about an unreadable line. It is awaited before another line
    /// is read, so there is never more than one.
    told: Option<JoinHandle<()>>,
}

/// The first and last bytes of a line that is too long.
#[derive(Default)]
struct LongLineEnds {
    first: Vec<u8>,
    last: Vec<u8>,
}

/// The result of reading a line.
enum LineRead {
    Line,
    TooLong(LongLineEnds),
    End,
}

impl<R, W> LineTransport<R, W>
where
    R: AsyncRead + Unpin + Send,
    W: AsyncWrite + Unpin + Send + 'static,
{
    pub(super) fn new(read: R, write: W) -> Self {
        Self {
            read: BufReader::with_capacity(UNIT, read),
            line: Vec::new(),
            long: None,
            write: Arc::new(Mutex::new(Some(write))),
            flight: Arc::default(),
            begun: false,
            told: None,
        }
    }

    /// Reads to the end of a line. The future may be dropped at any time and the method called
    /// again: bytes already read are kept, and it never awaits between taking bytes and storing
    /// them.
    async fn read_line(&mut self) -> LineRead {
        loop {
            let Ok(bytes) = self.read.fill_buf().await else {
                return LineRead::End;
            };
            if bytes.is_empty() {
                return LineRead::End;
            }
            let end = bytes.iter().position(|b| *b == b'\n');
            let part = &bytes[..end.unwrap_or(bytes.len())];
            if self.long.is_none() && self.line.len() + part.len() > MAX_LINE {
                let mut ends = LongLineEnds::default();
                ends.take(&self.line);
                self.line = Vec::new();
                self.long = Some(ends);
            }
            match &mut self.long {
                Some(ends) => ends.take(part),
                None => self.line.extend_from_slice(part),
            }
            let used = part.len() + usize::from(end.is_some());
            self.read.consume(used);
            if end.is_some() {
                return match self.long.take() {
                    Some(ends) => LineRead::TooLong(ends),
                    None => LineRead::Line,
                };
            }
        }
    }

    /// Sends an error about a line, in a task that is awaited before the next line is read.
    fn send_error(&mut self, error: ErrorData, id: Option<RequestId>) {
        let message = ServerJsonRpcMessage::error(error, id);
        let write = Arc::clone(&self.write);
        self.told = Some(tokio::spawn(async move {
            // If writing fails, nobody is there to hear about it.
            let _ = write_message(&write, &message).await;
        }));
    }

    /// Parses the current line, and returns it if it contains a message for the server.
    fn parse_line(&mut self) -> Option<ClientJsonRpcMessage> {
        let weight = 1 + self.line.len() / UNIT;
        let line = std::mem::take(&mut self.line);
        let line = line.trim_ascii();
        if line.is_empty() {
            return None;
        }
        let message = match parse_message(line) {
            ParsedMessage::Message(message) => *message,
            ParsedMessage::Nothing => return None,
            ParsedMessage::Wrong(error, id) => {
                self.send_error(error, id);
                return None;
            }
        };
        match &message {
            JsonRpcMessage::Request(request) => {
                self.begun = true;
                if !self.flight.start(&request.id, weight) {
                    let text = "a request with this id is not answered yet";
                    // The error carries no id, because that id belongs to the other request.
                    self.send_error(ErrorData::invalid_request(text, None), None);
                    return None;
                }
            }
            JsonRpcMessage::Notification(notification) => {
                if let ClientNotification::CancelledNotification(cancelled) =
                    &notification.notification
                    && let Some(id) = &cancelled.params.request_id
                {
                    // A cancelled request gets no answer.
                    self.flight.end(id);
                }
                if !self.begun {
                    return None;
                }
            }
            // The server never sends requests to clients.
            JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_) => return None,
        }
        Some(message)
    }
}

impl<R, W> Transport<RoleServer> for LineTransport<R, W>
where
    R: AsyncRead + Unpin + Send,
    W: AsyncWrite + Unpin + Send + 'static,
{
    type Error = io::Error;

    fn send(
        &mut self,
        message: ServerJsonRpcMessage,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let (write, flight) = (Arc::clone(&self.write), Arc::clone(&self.flight));
        async move {
            let sent = write_message(&write, &message).await;
            let answered = match &message {
                JsonRpcMessage::Response(response) => Some(&response.id),
                JsonRpcMessage::Error(error) => error.id.as_ref(),
                _ => None,
            };
            if let Some(id) = answered {
                flight.end(id);
            }
            sent
        }
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        loop {
            if let Some(told) = &mut self.told {
                let _ = told.await;
                self.told = None;
            }
            self.flight.wait_for_room(MAX_WEIGHT).await;
            match self.read_line().await {
                LineRead::Line => {
                    if let Some(message) = self.parse_line() {
                        return Some(message);
                    }
                }
                LineRead::TooLong(ends) => {
                    let text = format!("a message has at most {MAX_LINE} bytes");
                    self.send_error(ErrorData::invalid_request(text, None), ends.id());
                }
                // An incomplete message at the end of the stream is dropped.
                LineRead::End => return None,
            }
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        drop(self.write.lock().await.take());
        Ok(())
    }
}

/// Writes a whole message.
async fn write_message<W: AsyncWrite + Unpin>(
    write: &Mutex<Option<W>>,
    message: &ServerJsonRpcMessage,
) -> io::Result<()> {
    let mut bytes = serde_json::to_vec(message)?;
    bytes.push(b'\n');
    let mut write = write.lock().await;
    let Some(write) = write.as_mut() else {
        return Err(io::ErrorKind::NotConnected.into());
    };
    write.write_all(&bytes).await?;
    write.flush().await
}

/// The result of parsing a line.
enum ParsedMessage {
    Message(Box<ClientJsonRpcMessage>),
    /// A message that does not concern this server.
    Nothing,
    /// Unreadable input: the error, and the request it is about.
    Wrong(ErrorData, Option<RequestId>),
}

fn parse_message(line: &[u8]) -> ParsedMessage {
    let line = line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(line);
    let wrong = match serde_json::from_slice(line) {
        Ok(message) => return ParsedMessage::Message(Box::new(message)),
        Err(wrong) => wrong,
    };
    let value: Value = match serde_json::from_slice(line) {
        Ok(value) => value,
        Err(wrong) => {
            let text = format!("invalid JSON: {wrong}");
            return ParsedMessage::Wrong(ErrorData::parse_error(text, None), None);
        }
    };
    let id = value.get("id");
    if id.is_none() && value.get("method").is_some_and(Value::is_string) {
        // An unknown notification is ignored: other clients may speak extensions of the protocol.
        return ParsedMessage::Nothing;
    }
    let id = id.and_then(|id| serde_json::from_value(id.clone()).ok());
    let text = format!("this is not a message of the protocol: {wrong}");
    ParsedMessage::Wrong(ErrorData::invalid_request(text, None), id)
}

impl LongLineEnds {
    fn take(&mut self, part: &[u8]) {
        let room = ENDS.saturating_sub(self.first.len()).min(part.len());
        self.first.extend_from_slice(&part[..room]);
        let from = part.len().saturating_sub(ENDS);
        self.last.extend_from_slice(&part[from..]);
        let over = self.last.len().saturating_sub(ENDS);
        self.last.drain(..over);
    }

    /// Returns the request's id, if it is where clients write it: right at the beginning, or as the
    /// very last field. Without it the client would wait for ever.
    fn id(&self) -> Option<RequestId> {
        let last = self.last.trim_ascii_end().strip_suffix(b"}")?;
        let at = last.windows(5).rposition(|w| w == b"\"id\":");
        let at_end = at.and_then(|at| id(&last[at + 5..], last.len() - at - 5));
        at_end.or_else(|| {
            let first = self.first.trim_ascii_start().strip_prefix(b"{")?;
            let first = first
                .strip_prefix(b"\"jsonrpc\":\"2.0\",".as_slice())
                .unwrap_or(first);
            let rest = first.strip_prefix(b"\"id\":".as_slice())?;
            id(rest, rest.iter().position(|b| *b == b',')?)
        })
    }
}

/// Parses the first `length` bytes as an id, if they are nothing else.
fn id(bytes: &[u8], length: usize) -> Option<model::RequestId> {
    serde_json::from_slice(bytes.get(..length)?).ok()
}

#[cfg(test)]
mod tests;
