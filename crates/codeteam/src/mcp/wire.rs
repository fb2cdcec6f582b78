//! Messages between a client and the server, a line each.
//!
//! It takes what anybody may write: lines without end, bytes that are no text, text that is no
//! message, more requests than anybody could want answered. What cannot be read is answered with a
//! protocol error, no line is kept that is longer than [`MAX_LINE`], and nothing more is read while
//! as much as [`MAX_WEIGHT`] waits for its answer.

mod flight;

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

use self::flight::RequestsInFlight;

/// No message is longer, in bytes.
pub(super) const MAX_LINE: usize = 4 << 20;
/// What may wait for its answer: one for each request, and one more for every [`UNIT`] bytes of it.
pub(super) const MAX_WEIGHT: usize = 64;
/// The bytes that weigh as much as a request.
const UNIT: usize = 64 << 10;
/// As much of both ends of a line that is too long is kept: its id may be there.
const ENDS: usize = 120;

/// One client, over a pair of streams.
pub(super) struct LineTransport<R, W> {
    read: BufReader<R>,
    line: Vec<u8>,
    /// The line is too long: what is left of it.
    long: Option<LongLineEnds>,
    write: Arc<Mutex<Option<W>>>,
    flight: Arc<RequestsInFlight>,
    /// Whether the client has asked for anything yet.
    begun: bool,
    /// What is being said of a line that could not be read. It is awaited before another line is
    /// read, so that there is never more than one.
    told: Option<JoinHandle<()>>,
}

/// The ends of a line that is too long.
#[derive(Default)]
struct LongLineEnds {
    first: Vec<u8>,
    last: Vec<u8>,
}

/// What was read.
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

    /// Reads on to the end of a line. It may be dropped at any time and called again: what was read
    /// is kept, and between taking bytes and keeping them it does not wait.
    async fn next(&mut self) -> LineRead {
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

    /// Says what is wrong with a line, beside the reading of others.
    fn tell(&mut self, error: ErrorData, id: Option<RequestId>) {
        let message = ServerJsonRpcMessage::error(error, id);
        let write = Arc::clone(&self.write);
        self.told = Some(tokio::spawn(async move {
            // Nobody is there to hear why it failed.
            let _ = put(&write, &message).await;
        }));
    }

    /// A line as a message, if there is anything in it for the server.
    fn message(&mut self) -> Option<ClientJsonRpcMessage> {
        let weight = 1 + self.line.len() / UNIT;
        let line = std::mem::take(&mut self.line);
        let line = line.trim_ascii();
        if line.is_empty() {
            return None;
        }
        let message = match parse(line) {
            ParsedMessage::Message(message) => *message,
            ParsedMessage::Nothing => return None,
            ParsedMessage::Wrong(error, id) => {
                self.tell(error, id);
                return None;
            }
        };
        match &message {
            JsonRpcMessage::Request(request) => {
                self.begun = true;
                if !self.flight.start(&request.id, weight) {
                    let text = "a request with this id is not answered yet";
                    // Without its id: that is the other one's.
                    self.tell(ErrorData::invalid_request(text, None), None);
                    return None;
                }
            }
            JsonRpcMessage::Notification(notification) => {
                if let ClientNotification::CancelledNotification(cancelled) =
                    &notification.notification
                    && let Some(id) = &cancelled.params.request_id
                {
                    // It will have no answer.
                    self.flight.end(id);
                }
                if !self.begun {
                    return None;
                }
            }
            // The server asks clients for nothing.
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
            let sent = put(&write, &message).await;
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
            self.flight.room(MAX_WEIGHT).await;
            match self.next().await {
                LineRead::Line => {
                    if let Some(message) = self.message() {
                        return Some(message);
                    }
                }
                LineRead::TooLong(ends) => {
                    let text = format!("a message has at most {MAX_LINE} bytes");
                    self.tell(ErrorData::invalid_request(text, None), ends.id());
                }
                // Half a message is none.
                LineRead::End => return None,
            }
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        drop(self.write.lock().await.take());
        Ok(())
    }
}

/// Writes a message, whole.
async fn put<W: AsyncWrite + Unpin>(
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

/// What a line is.
enum ParsedMessage {
    Message(Box<ClientJsonRpcMessage>),
    /// Nothing that is of any concern here.
    Nothing,
    /// Nothing that can be read: what is wrong with it, and of which request that is said.
    Wrong(ErrorData, Option<RequestId>),
}

fn parse(line: &[u8]) -> ParsedMessage {
    let line = line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(line);
    let wrong = match serde_json::from_slice(line) {
        Ok(message) => return ParsedMessage::Message(Box::new(message)),
        Err(wrong) => wrong,
    };
    let value: Value = match serde_json::from_slice(line) {
        Ok(value) => value,
        Err(wrong) => {
            let text = format!("this is no JSON: {wrong}");
            return ParsedMessage::Wrong(ErrorData::parse_error(text, None), None);
        }
    };
    let id = value.get("id");
    if id.is_none() && value.get("method").is_some_and(Value::is_string) {
        // A notification of a kind that is not known: others speak other protocols.
        return ParsedMessage::Nothing;
    }
    let id = id.and_then(|id| serde_json::from_value(id.clone()).ok());
    let text = format!("this is no message of the protocol: {wrong}");
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

    /// The id, if it is where clients write it: right at the beginning, or as the last of all.
    /// Whoever asks must not wait for ever.
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

/// The first bytes as an id, if they are nothing else.
fn id(bytes: &[u8], length: usize) -> Option<model::RequestId> {
    serde_json::from_slice(bytes.get(..length)?).ok()
}

#[cfg(test)]
mod tests;
