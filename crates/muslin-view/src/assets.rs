//! The page, inside the program: it works offline and cannot be out of step with the server.

/// A file of the page.
pub struct Asset {
    pub path: &'static str,
    pub kind: &'static str,
    pub bytes: &'static [u8],
}

macro_rules! assets {
    ($($path:literal, $file:literal, $kind:literal;)*) => {
        &[$(Asset {
            path: $path,
            kind: $kind,
            bytes: include_bytes!(concat!("../../../viewer/", $file)),
        }),*]
    };
}

/// All files, by the exact path they are asked for.
pub const ASSETS: &[Asset] = assets![
    "/", "index.html", "text/html; charset=utf-8";
    "/style.css", "style.css", "text/css; charset=utf-8";
    "/main.js", "main.js", "text/javascript; charset=utf-8";
    "/run.js", "run.js", "text/javascript; charset=utf-8";
    "/packet.js", "packet.js", "text/javascript; charset=utf-8";
    "/stage.js", "stage.js", "text/javascript; charset=utf-8";
    "/colours.js", "colours.js", "text/javascript; charset=utf-8";
    "/charts.js", "charts.js", "text/javascript; charset=utf-8";
    "/controls.js", "controls.js", "text/javascript; charset=utf-8";
    "/live.js", "live.js", "text/javascript; charset=utf-8";
    "/three.js", "vendor/three/three.min.js", "text/javascript; charset=utf-8";
    "/three.LICENSE", "vendor/three/LICENSE", "text/plain; charset=utf-8";
];
