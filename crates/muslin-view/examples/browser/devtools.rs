//! A browser driven over the protocol of its developer tools.

use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};
use tungstenite::{Message, WebSocket};

/// Whatever goes wrong ends the check; the text says where.
pub type Outcome<T> = Result<T, String>;

fn said(what: &str) -> impl Fn(&dyn std::fmt::Display) -> String + '_ {
    move |e| format!("{what}: {e}")
}

/// How long an answer of the browser is waited for.
const PATIENCE: Duration = Duration::from_mins(1);

/// A browser without a window.
pub struct Browser {
    child: Child,
    port: u16,
    profile: PathBuf,
}

impl Browser {
    pub fn start(program: &Path) -> Outcome<Self> {
        let profile = std::env::temp_dir().join(format!("muslin-browser-{}", std::process::id()));
        let mut child = Command::new(program)
            .args([
                "--headless",
                "--no-sandbox",
                "--no-zygote",
                "--no-proxy-server",
            ])
            .args([
                "--use-gl=angle",
                "--use-angle=swiftshader",
                "--enable-unsafe-swiftshader",
            ])
            .args([
                "--ignore-gpu-blocklist",
                "--remote-debugging-port=0",
                "--window-size=1100,700",
            ])
            .arg(format!("--user-data-dir={}", profile.display()))
            .arg("about:blank")
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|e| format!("{}: {e}", program.display()))?;
        let stderr = child.stderr.take().ok_or("no messages from the browser")?;
        let (send, receive) = mpsc::channel();
        std::thread::spawn(move || listen(BufReader::new(stderr), &send));
        let found = receive.recv_timeout(PATIENCE);
        let browser = |port| Self {
            child,
            port,
            profile,
        };
        match found {
            Ok(Ok(port)) => Ok(browser(port)),
            Ok(Err(last)) => {
                drop(browser(0));
                Err(format!("{} ended: {last}", program.display()))
            }
            Err(_) => {
                drop(browser(0));
                Err(format!("{} says nothing", program.display()))
            }
        }
    }

    /// A new page at an address.
    pub fn open(&self, url: &str) -> Outcome<Page> {
        let mut stream =
            TcpStream::connect(("127.0.0.1", self.port)).map_err(|e| said("browser")(&e))?;
        let request = format!(
            "PUT /json/new?about:blank HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nConnection: close\r\n\r\n",
            self.port
        );
        stream
            .write_all(request.as_bytes())
            .map_err(|e| e.to_string())?;
        stream
            .set_read_timeout(Some(PATIENCE))
            .map_err(|e| e.to_string())?;
        let body = answer(&mut BufReader::new(stream)).map_err(|e| e.to_string())?;
        let target: Value = serde_json::from_slice(&body).map_err(|e| e.to_string())?;
        let address = target["webSocketDebuggerUrl"].as_str().ok_or("no page")?;
        let stream = TcpStream::connect(("127.0.0.1", self.port)).map_err(|e| e.to_string())?;
        stream
            .set_read_timeout(Some(PATIENCE))
            .map_err(|e| e.to_string())?;
        let (socket, _) = tungstenite::client(address, stream).map_err(|e| e.to_string())?;
        let mut page = Page {
            socket,
            next: 1,
            errors: Vec::new(),
        };
        for domain in ["Runtime.enable", "Log.enable", "Page.enable"] {
            page.call(domain, &json!({}))?;
        }
        page.call("Page.navigate", &json!({ "url": url }))?;
        Ok(page)
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = std::fs::remove_dir_all(&self.profile);
    }
}

/// Hands on the port that the browser tells, or its last words. Reads on to the end: a full pipe would hold the browser up.
fn listen(messages: impl BufRead, found: &mpsc::Sender<Result<u16, String>>) {
    let mut last = String::from("without a word");
    for line in messages.lines().map_while(Result::ok) {
        if let Some((_, rest)) = line.split_once("DevTools listening on ws://127.0.0.1:") {
            let port = rest.split('/').next().and_then(|p| p.parse().ok());
            // Nobody listens any more if it came too late.
            let _ = found.send(port.ok_or_else(|| "no port".into()));
        }
        last = line;
    }
    let _ = found.send(Err(last));
}

/// The body of an answer; the browser does not hang up by itself.
fn answer(reader: &mut impl BufRead) -> std::io::Result<Vec<u8>> {
    let mut length = 0;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        if let Some((name, value)) = line.split_once(':')
            && name.eq_ignore_ascii_case("content-length")
        {
            length = value.trim().parse().unwrap_or(0);
        }
        if line.trim().is_empty() {
            break;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    Ok(body)
}

/// A page.
pub struct Page {
    socket: WebSocket<TcpStream>,
    next: u64,
    /// What it complained about.
    pub errors: Vec<String>,
}

impl Page {
    pub fn call(&mut self, method: &str, parameters: &Value) -> Outcome<Value> {
        let id = self.next;
        self.next += 1;
        let text = json!({ "id": id, "method": method, "params": parameters }).to_string();
        self.socket
            .send(Message::text(text))
            .map_err(|e| said(method)(&e))?;
        loop {
            let message = self.socket.read().map_err(|e| said(method)(&e))?;
            let Ok(text) = message.to_text() else {
                continue;
            };
            let Ok(value) = serde_json::from_str::<Value>(text) else {
                continue;
            };
            self.notice(&value);
            if value["id"] == id {
                if let Some(error) = value.get("error") {
                    return Err(format!("{method}: {error}"));
                }
                return Ok(value["result"].clone());
            }
        }
    }

    fn notice(&mut self, event: &Value) {
        let p = &event["params"];
        let error = match event["method"].as_str() {
            Some("Runtime.exceptionThrown") => Some(p["exceptionDetails"].to_string()),
            Some("Runtime.consoleAPICalled") if p["type"] == "error" => Some(p["args"].to_string()),
            Some("Log.entryAdded") if p["entry"]["level"] == "error" => {
                Some(p["entry"].to_string())
            }
            _ => None,
        };
        self.errors.extend(error);
    }

    /// The value of an expression; promises are waited for.
    pub fn eval(&mut self, expression: &str) -> Outcome<Value> {
        let result = self.call(
            "Runtime.evaluate",
            &json!({ "expression": expression, "awaitPromise": true, "returnByValue": true }),
        )?;
        match result.get("exceptionDetails") {
            Some(details) => Err(format!("{expression}: {details}")),
            None => Ok(result["result"]["value"].clone()),
        }
    }

    /// Waits until an expression is true.
    pub fn until(&mut self, expression: &str) -> Outcome<()> {
        let begun = Instant::now();
        while self.eval(expression)? != Value::Bool(true) {
            if begun.elapsed() > Duration::from_mins(1) {
                return Err(format!(
                    "waited in vain for {expression}; the page complained: {:?}",
                    self.errors
                ));
            }
            std::thread::sleep(Duration::from_millis(30));
        }
        Ok(())
    }

    /// Closes the page as a user does.
    pub fn close(mut self) -> Outcome<()> {
        self.call("Page.close", &json!({}))?;
        Ok(())
    }

    /// Makes it the page that is looked at: browsers do not draw the others.
    pub fn bring_to_front(&mut self) -> Outcome<()> {
        self.call("Page.bringToFront", &json!({}))?;
        Ok(())
    }

    /// A mouse event at a place of the page, in pixels.
    pub fn mouse(&mut self, kind: &str, at: [f64; 2]) -> Outcome<()> {
        let buttons = u8::from(kind != "mouseReleased");
        self.call(
            "Input.dispatchMouseEvent",
            &json!({ "type": kind, "x": at[0], "y": at[1], "button": "left", "buttons": buttons, "clickCount": 1 }),
        )?;
        Ok(())
    }

    /// Types a key.
    pub fn key(&mut self, key: &str) -> Outcome<()> {
        for kind in ["keyDown", "keyUp"] {
            self.call(
                "Input.dispatchKeyEvent",
                &json!({ "type": kind, "key": key }),
            )?;
        }
        Ok(())
    }

    /// Saves what the page shows; the file is PNG in base64, as the browser hands it over.
    pub fn screenshot(&mut self, path: &Path) -> Outcome<()> {
        let shot = self.call("Page.captureScreenshot", &json!({ "format": "png" }))?;
        let data = shot["data"].as_str().ok_or("no picture")?;
        std::fs::write(path, decode(data)).map_err(|e| format!("{}: {e}", path.display()))
    }
}

/// Bytes from base64.
fn decode(text: &str) -> Vec<u8> {
    let value = |c: u8| match c {
        b'A'..=b'Z' => c - b'A',
        b'a'..=b'z' => c - b'a' + 26,
        b'0'..=b'9' => c - b'0' + 52,
        b'+' => 62,
        _ => 63,
    };
    let mut bytes = Vec::new();
    for group in text.trim_end_matches('=').as_bytes().chunks(4) {
        let bits = group
            .iter()
            .fold(0u32, |all, c| (all << 6) | u32::from(value(*c)));
        let bits = bits << (6 * (4 - group.len()));
        let whole = [(bits >> 16) as u8, (bits >> 8) as u8, bits as u8];
        bytes.extend_from_slice(&whole[..group.len() - 1]);
    }
    bytes
}
