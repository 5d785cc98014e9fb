//! Requests: who may ask, and for what.

use crate::assets::ASSETS;
use crate::connection::{Header, Request};
use crate::packet::{Field, Wish, pack};
use crate::shape::Shapes;
use crate::source::{Source, SourceError};
use std::collections::VecDeque;
use std::fmt::Write;
use std::sync::{Arc, Mutex, PoisonError};

/// Longest address that is looked at.
const LONGEST_URL: usize = 1024;

/// Sent with every answer: nothing is kept, guessed, embedded or handed to others.
const HEADERS: &str = "Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n\
    Cross-Origin-Resource-Policy: same-origin\r\nReferrer-Policy: no-referrer\r\n\
    Content-Security-Policy: default-src 'self'; img-src 'self' data: blob:; frame-ancestors 'none'; base-uri 'none'; \
    form-action 'none'\r\n";

/// Packets kept for other viewers of the same run, who mostly want the same newest frame.
const KEPT_PACKETS: usize = 6;

/// Run, its generation, frame and what was wished for.
type PacketKey = (usize, u64, usize, Wish);

/// Packets that were made last.
type Packets = VecDeque<(PacketKey, Arc<Vec<u8>>)>;

/// What is served, and under which names.
pub struct Site {
    sources: Vec<Arc<dyn Source>>,
    hosts: [String; 2],
    packets: Mutex<Packets>,
    /// Held while a packet is made: ten viewers that want the newest frame have it made once.
    shapes: Mutex<Shapes>,
}

/// An answer before it is sent.
pub struct Answer {
    status: u16,
    kind: &'static str,
    pub body: Arc<Vec<u8>>,
}

impl Answer {
    fn new(kind: &'static str, body: Vec<u8>) -> Self {
        Self {
            status: 200,
            kind,
            body: Arc::new(body),
        }
    }

    fn json(value: &serde_json::Value) -> Self {
        Self::new("application/json", value.to_string().into_bytes())
    }

    /// Says why something is not given.
    pub fn refused(status: u16, why: &str) -> Self {
        let mut answer = Self::json(&serde_json::json!({ "error": why }));
        answer.status = status;
        answer
    }

    /// What comes before the body.
    pub fn head(&self, close: bool) -> String {
        let reason = if self.status == 200 { "OK" } else { "Refused" };
        let mut head = format!("HTTP/1.1 {} {reason}\r\n{HEADERS}", self.status);
        // Writing to a string cannot fail.
        let _ = write!(
            head,
            "Content-Type: {}\r\nContent-Length: {}\r\nConnection: {}\r\n\r\n",
            self.kind,
            self.body.len(),
            if close { "close" } else { "keep-alive" }
        );
        head
    }
}

impl Site {
    pub fn new(sources: Vec<Arc<dyn Source>>, port: u16) -> Self {
        Self {
            sources,
            hosts: [format!("127.0.0.1:{port}"), format!("localhost:{port}")],
            packets: Mutex::default(),
            shapes: Mutex::default(),
        }
    }

    /// Decides about a request.
    pub fn answer(&self, request: &Request) -> Answer {
        if request.url.len() > LONGEST_URL {
            return Answer::refused(414, "the address is too long");
        }
        if let Some(refused) = self.stranger(request) {
            return refused;
        }
        let (path, query) = request.url.split_once('?').unwrap_or((&request.url, ""));
        match request.method.as_str() {
            "GET" => self.get(path, query),
            "POST" => self.post(path, request),
            _ => Answer::refused(405, "only GET and POST are answered"),
        }
    }

    /// Pages of other sites may not look in, and names that merely lead here may not be used: both are how a web page
    /// reaches for servers on the machine of its reader.
    fn stranger(&self, request: &Request) -> Option<Answer> {
        let own_host = |h: &str| self.hosts.iter().any(|own| own == h);
        if !matches!(request.header("Host"), Header::One(h) if own_host(h)) {
            return Some(Answer::refused(403, "this host name is not served"));
        }
        let own_origin = |o: &str| o.strip_prefix("http://").is_some_and(own_host);
        match request.header("Origin") {
            Header::None => {}
            Header::One(o) if own_origin(o) => {}
            _ => return Some(Answer::refused(403, "other origins are not served")),
        }
        // A link from elsewhere may lead here; nothing here may be embedded elsewhere.
        let foreign = matches!(
            request.header("Sec-Fetch-Site"),
            Header::One("cross-site" | "same-site") | Header::Several
        );
        if foreign && request.header("Sec-Fetch-Mode") != Header::One("navigate") {
            return Some(Answer::refused(403, "other sites are not served"));
        }
        None
    }

    fn get(&self, path: &str, query: &str) -> Answer {
        if let Some(asset) = ASSETS.iter().find(|a| a.path == path) {
            return Answer::new(asset.kind, asset.bytes.to_vec());
        }
        let parts: Vec<&str> = path.split('/').collect();
        match parts[..] {
            ["", "api", "runs"] => {
                let all: Vec<_> = self.sources.iter().map(|s| s.describe()).collect();
                Answer::json(
                    &serde_json::json!({ "version": env!("CARGO_PKG_VERSION"), "runs": all }),
                )
            }
            ["", "api", "run", run, "state"] => self.with(run, |source| {
                Answer::json(
                    &serde_json::json!({ "state": source.state(), "run": source.describe() }),
                )
            }),
            ["", "api", "run", run, "frame", number] => match (run.parse(), number.parse()) {
                (Ok(run), Ok(number)) => self.frame(run, number, query),
                _ => Answer::refused(404, "runs and frames are numbers"),
            },
            ["", "api", "run", run, "extent"] => self.with(run, |source| match source.extent() {
                Some(extent) => Answer::json(&serde_json::json!(extent)),
                None => Answer::json(&serde_json::Value::Null),
            }),
            ["", "api", "run", run, "steps"] => self.with(run, |source| {
                let from = parameter(query, "from").and_then(|f| f.parse().ok());
                let (lines, next) = source.steps(from.unwrap_or(0));
                let body = format!("{{\"next\":{next},\"steps\":[{}]}}", lines.join(","));
                Answer::new("application/json", body.into_bytes())
            }),
            _ => Answer::refused(404, "there is nothing here"),
        }
    }

    fn frame(&self, run: usize, number: usize, query: &str) -> Answer {
        let Some(source) = self.sources.get(run) else {
            return Answer::refused(404, "there is no such run");
        };
        let wish = Wish {
            has_faces: parameter(query, "faces").and_then(|f| f.parse().ok()),
            field: parameter(query, "field").and_then(Field::named),
        };
        let key = (run, source.generation(), number, wish);
        let found = self.kept(&key).map_or_else(|| self.make(source, key), Ok);
        match found {
            Ok(body) => Answer {
                status: 200,
                kind: "application/octet-stream",
                body,
            },
            Err(e) => Answer::refused(422, &e.to_string()),
        }
    }

    fn kept(&self, key: &PacketKey) -> Option<Arc<Vec<u8>>> {
        let packets = self.packets.lock().unwrap_or_else(PoisonError::into_inner);
        let found = packets.iter().find(|(k, _)| k == key);
        found.map(|(_, packet)| packet.clone())
    }

    /// Makes a packet, unless somebody else has just done so.
    fn make(&self, source: &Arc<dyn Source>, key: PacketKey) -> Result<Arc<Vec<u8>>, SourceError> {
        let (run, generation, number, wish) = key;
        let mut shapes = self.shapes.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(packet) = self.kept(&key) {
            return Ok(packet);
        }
        let frame = source.frame(number)?;
        let shape = shapes.of((run, generation), &frame);
        let packet = Arc::new(pack(&frame, &shape, source.time_step(), wish));
        let mut packets = self.packets.lock().unwrap_or_else(PoisonError::into_inner);
        packets.push_back((key, packet.clone()));
        if packets.len() > KEPT_PACKETS {
            packets.pop_front();
        }
        Ok(packet)
    }

    fn post(&self, path: &str, request: &Request) -> Answer {
        let parts: Vec<&str> = path.split('/').collect();
        let ["", "api", "run", run, "command"] = parts[..] else {
            return Answer::refused(404, "there is nothing here");
        };
        // Forms of other sites cannot send this type without asking first.
        if request.header("Content-Type") != Header::One("application/json") {
            return Answer::refused(415, "messages are application/json");
        }
        let Ok(text) = std::str::from_utf8(&request.body) else {
            return Answer::refused(400, "the message is not text");
        };
        self.with(run, |source| match source.command(text) {
            Ok(()) => Answer::json(&serde_json::json!({})),
            Err(e) => Answer::refused(400, &e.to_string()),
        })
    }

    fn with(&self, run: &str, then: impl FnOnce(&dyn Source) -> Answer) -> Answer {
        let found = run.parse::<usize>().ok();
        match found.and_then(|i| self.sources.get(i)) {
            Some(source) => then(source.as_ref()),
            None => Answer::refused(404, "there is no such run"),
        }
    }
}

fn parameter<'a>(query: &'a str, name: &str) -> Option<&'a str> {
    query
        .split('&')
        .filter_map(|pair| pair.split_once('='))
        .find(|(key, _)| *key == name)
        .map(|(_, value)| value)
}
