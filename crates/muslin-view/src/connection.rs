//! One connection of a browser: requests in, answers out, with limits on both.

use crate::http::{Answer, Site};
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Longest head of a request, bytes.
const LONGEST_HEAD: usize = 16 * 1024;
/// Longest message that is read, bytes.
const LONGEST_BODY: usize = 16 * 1024;
const MOST_HEADERS: usize = 64;
/// What is read and thrown away before hanging up, bytes.
const LONGEST_REST: usize = 256 * 1024;
/// A request has to be there after this time; an idle connection is closed after the other.
const REQUEST_TIME: Duration = Duration::from_secs(10);
const IDLE_TIME: Duration = Duration::from_mins(1);
/// How often a waiting connection looks whether the viewer has ended.
const LOOK: Duration = Duration::from_millis(500);

/// A request as far as the viewer cares.
pub struct Request {
    pub method: String,
    pub url: String,
    headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Request {
    /// The value of a header. One that is there twice says nothing that can be relied on.
    pub fn header(&self, name: &str) -> Header<'_> {
        let mut found = self
            .headers
            .iter()
            .filter(|(n, _)| n.eq_ignore_ascii_case(name));
        match (found.next(), found.next()) {
            (None, _) => Header::None,
            (Some((_, value)), None) => Header::One(value),
            _ => Header::Several,
        }
    }
}

/// What a request says under a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Header<'a> {
    None,
    One(&'a str),
    Several,
}

/// Why no request came.
enum Trouble {
    /// The other side hung up, or nothing came for long.
    Gone,
    /// It is answered once, and the connection closed.
    Refused(u16, &'static str),
}

/// Serves a connection until one side has had enough. Errors on the way to the browser are the browser's loss.
pub fn serve(mut stream: &TcpStream, site: &Site, ended: &AtomicBool) {
    let prepared = stream
        .set_read_timeout(Some(LOOK))
        .and_then(|()| stream.set_write_timeout(Some(REQUEST_TIME)))
        .and_then(|()| stream.set_nodelay(true));
    if prepared.is_err() {
        return;
    }
    let mut buffer = Vec::new();
    loop {
        let (answer, close) = match receive(stream, &mut buffer, ended) {
            Ok(request) => {
                let close = request.header("Connection") == Header::One("close");
                (site.answer(&request), close)
            }
            Err(Trouble::Gone) => return,
            Err(Trouble::Refused(status, why)) => (Answer::refused(status, why), true),
        };
        let sent = stream
            .write_all(answer.head(close).as_bytes())
            .and_then(|()| stream.write_all(&answer.body));
        if sent.is_err() {
            return;
        }
        if close {
            return part(stream);
        }
    }
}

/// Hangs up so that the answer arrives: what the other side has sent beyond it is read first, up to a limit, or the
/// connection would be reset and the answer lost.
fn part(mut stream: &TcpStream) {
    if stream.shutdown(Shutdown::Write).is_err() {
        return;
    }
    let mut rest = [0; 4096];
    for _ in 0..LONGEST_REST / rest.len() {
        if !stream.read(&mut rest).is_ok_and(|n| n > 0) {
            return;
        }
    }
}

/// Reads until a whole request is there; what came beyond it stays in the buffer.
fn receive(
    mut stream: &TcpStream,
    buffer: &mut Vec<u8>,
    ended: &AtomicBool,
) -> Result<Request, Trouble> {
    let begun = Instant::now();
    let mut part = [0; 4096];
    loop {
        if let Some(request) = parse(buffer)? {
            return Ok(request);
        }
        let patience = if buffer.is_empty() {
            IDLE_TIME
        } else {
            REQUEST_TIME
        };
        if begun.elapsed() > patience || ended.load(Ordering::Relaxed) {
            return Err(Trouble::Gone);
        }
        match stream.read(&mut part) {
            Ok(0) => return Err(Trouble::Gone),
            Ok(n) => buffer.extend_from_slice(&part[..n]),
            Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
            Err(_) => return Err(Trouble::Gone),
        }
    }
}

/// A request from the front of the buffer, if it is whole.
fn parse(buffer: &mut Vec<u8>) -> Result<Option<Request>, Trouble> {
    let mut headers = [httparse::EMPTY_HEADER; MOST_HEADERS];
    let mut head = httparse::Request::new(&mut headers);
    let length = match head.parse(buffer) {
        Ok(httparse::Status::Complete(length)) if length <= LONGEST_HEAD => length,
        Ok(httparse::Status::Partial) if buffer.len() <= LONGEST_HEAD => return Ok(None),
        Ok(_) | Err(httparse::Error::TooManyHeaders) => {
            return Err(Trouble::Refused(431, "the request is too long"));
        }
        Err(_) => return Err(Trouble::Refused(400, "this is not a request")),
    };
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let mut request = Request {
        method: head.method.unwrap_or_default().to_string(),
        url: head.path.unwrap_or_default().to_string(),
        headers: head
            .headers
            .iter()
            .map(|h| (h.name.to_string(), text(h.value)))
            .collect(),
        body: Vec::new(),
    };
    if request.header("Transfer-Encoding") != Header::None {
        return Err(Trouble::Refused(411, "messages have to say their length"));
    }
    let body = match request.header("Content-Length") {
        Header::None => 0,
        Header::One(n) => n
            .parse::<usize>()
            .map_err(|_| Trouble::Refused(400, "the length is not a number"))?,
        Header::Several => return Err(Trouble::Refused(400, "two lengths")),
    };
    if body > LONGEST_BODY {
        return Err(Trouble::Refused(413, "the message is too long"));
    }
    if buffer.len() < length + body {
        return Ok(None);
    }
    request.body = buffer[length..length + body].to_vec();
    buffer.drain(..length + body);
    Ok(Some(request))
}
