//! The uniaxial test of every measured fabric: which force per width belongs to a stretch, worked out from the tables
//! alone, independently of the engine, and written as a validation scene.

use std::fmt::Write;
use std::path::Path;

/// Stretch at which the tests are made.
const STRETCH: f64 = 0.06;
const WIDTH: f64 = 0.05;
const LENGTH: f64 = 0.1;

type Rows = Vec<[f64; 4]>;

/// Stress (uu, vv, uv) of the tabled law at a Green strain (uu, vv, uv), N/m.
fn stress(rows: &Rows, e: [f64; 3]) -> [f64; 3] {
    // Largest principal strain and its direction.
    let root = (((e[0] - e[1]) / 2.0).powi(2) + e[2] * e[2]).sqrt();
    let largest = f64::midpoint(e[0], e[1]) + root;
    let degrees = (0.5 * (2.0 * e[2]).atan2(e[0] - e[1])).to_degrees().abs();
    let grown = (((1.0 + 2.0 * largest.max(0.0)).sqrt() - 1.0) * 6.0).min(1.0);
    let below = ((degrees / 22.5) as usize).min(3);
    let share = degrees / 22.5 - below as f64;
    let c: Vec<f64> = (0..4)
        .map(|k| {
            let at_angle = rows[1 + below][k] * (1.0 - share) + rows[2 + below][k] * share;
            2.0 * (rows[0][k] * (1.0 - grown) + at_angle * grown).max(0.0)
        })
        .collect();
    [
        c[0] * e[0] + c[1] * e[1],
        c[1] * e[0] + c[2] * e[1],
        c[3] * 2.0 * e[2],
    ]
}

/// A symmetric tensor (11, 22, 12) seen from axes turned by an angle.
fn turn(t: [f64; 3], angle: f64) -> [f64; 3] {
    let (s, c) = angle.sin_cos();
    let along = t[0] * c * c + t[1] * s * s + 2.0 * t[2] * s * c;
    let across = t[0] * s * s + t[1] * c * c - 2.0 * t[2] * s * c;
    [
        along,
        across,
        (t[1] - t[0]) * s * c + t[2] * (c * c - s * s),
    ]
}

/// Force per width that stretches a strip, cut at an angle to warp, by `1 + STRETCH`, its sides and its shear free.
fn force_per_width(rows: &Rows, degrees: f64) -> Result<f64, String> {
    let angle = f64::to_radians(degrees);
    // Strain and stress in the strip's own axes; warp lies at `angle` to them.
    let in_strip = |e: [f64; 3]| turn(stress(rows, turn(e, angle)), -angle);
    let (mut side, mut shear) = (0.0, 0.0);
    let steps = 300;
    let mut pull = 0.0;
    for i in 1..=steps {
        let stretch = 1.0 + STRETCH * f64::from(i) / f64::from(steps);
        let along = (stretch * stretch - 1.0) / 2.0;
        // Newton with differences, on from the last stretch: the branch that a real pull follows.
        for _ in 0..60 {
            let f = |side: f64, shear: f64| {
                let s = in_strip([along, side, shear]);
                [s[1], s[2]]
            };
            let h = 1e-8;
            let r = f(side, shear);
            let (a, b) = (f(side + h, shear), f(side, shear + h));
            let j = [
                [(a[0] - r[0]) / h, (b[0] - r[0]) / h],
                [(a[1] - r[1]) / h, (b[1] - r[1]) / h],
            ];
            let determinant = j[0][0] * j[1][1] - j[0][1] * j[1][0];
            if determinant == 0.0 {
                return Err(format!("the law has no answer at {degrees} degrees"));
            }
            let change = [
                (-r[0] * j[1][1] + r[1] * j[0][1]) / determinant,
                (-r[1] * j[0][0] + r[0] * j[1][0]) / determinant,
            ];
            // The table has kinks; half steps keep Newton from jumping over them for ever.
            side += 0.7 * change[0];
            shear += 0.7 * change[1];
            if change[0].abs().max(change[1].abs()) < 1e-13 {
                break;
            }
        }
        let s = in_strip([along, side, shear]);
        if s[1].abs().max(s[2].abs()) > 1e-6 * s[0].abs() {
            return Err(format!(
                "no balance at {degrees} degrees and stretch {stretch}: {s:?}"
            ));
        }
        pull = s[0] * stretch;
    }
    Ok(pull)
}

/// The validation scene for all measured fabrics in a folder.
pub fn scene(fabrics: &Path) -> Result<String, String> {
    let mut names: Vec<String> = std::fs::read_dir(fabrics)
        .map_err(|e| e.to_string())?
        .filter_map(|e| {
            e.ok()?
                .path()
                .file_stem()
                .map(|s| s.to_string_lossy().into_owned())
        })
        .collect();
    names.sort();
    let mut out = String::from(
        "# Made by `cargo xtask generate`; do not edit.\n\
         description = \"Strips of every measured fabric, pulled at 0, 45 and 90 degrees to warp: the tabled force gives the tabled stretch\"\n\n\
         gravity = [0, 0, 0]\n\n[output]\nframes = 40\nframe_rate = 10\n\n[solver]\ntime_step = 0.02\nimplicit = { scheme = \"newton\", tolerance = 1e-4 }\n",
    );
    let mut row = 0;
    for name in names {
        let text = std::fs::read_to_string(fabrics.join(format!("{name}.toml")))
            .map_err(|e| e.to_string())?;
        let table: toml::Table = text.parse().map_err(|e: toml::de::Error| e.to_string())?;
        let Some(rows) = table
            .get("stretch")
            .and_then(|s| s.get("measured"))
            .and_then(|m| m.as_array())
        else {
            continue;
        };
        let rows: Rows = rows
            .iter()
            .filter_map(|r| {
                let r: Vec<f64> = r
                    .as_array()?
                    .iter()
                    .filter_map(|v| v.as_float().or(v.as_integer().map(|i| i as f64)))
                    .collect();
                r.try_into().ok()
            })
            .collect();
        for (column, degrees) in [0.0, 45.0, 90.0].into_iter().enumerate() {
            let force =
                force_per_width(&rows, degrees).map_err(|e| format!("{name}: {e}"))? * WIDTH;
            write_strip(
                &mut out,
                &name,
                degrees,
                column as f64 * 0.2,
                f64::from(row) * 0.1,
                force,
            )
            .map_err(|e| e.to_string())?;
        }
        row += 1;
    }
    Ok(out)
}

fn write_strip(
    out: &mut String,
    fabric: &str,
    degrees: f64,
    x: f64,
    y: f64,
    force: f64,
) -> std::fmt::Result {
    let name = format!("{fabric}_{degrees}");
    let half = LENGTH / 2.0;
    let end = |side: f64| {
        let at = x + side * half;
        format!(
            "box = {{ min = [{:.6}, {:.4}, -1], max = [{:.6}, {:.4}, 1] }}",
            at - 1e-5,
            y - WIDTH,
            at + 1e-5,
            y + WIDTH
        )
    };
    writeln!(
        out,
        "\n[cloth.{name}]\nfabric = \"{fabric}\"\ngrain = {degrees}"
    )?;
    writeln!(
        out,
        "grid = {{ size = [{LENGTH}, {WIDTH}], cells = [8, 4] }}\ntranslate = [{x:.1}, {y:.1}, 0]"
    )?;
    writeln!(
        out,
        "[pin.{name}]\ncloth = \"{name}\"\nnearest = [[{x:.1}, {y:.1}, 0]]"
    )?;
    writeln!(
        out,
        "[force.{name}_right]\ncloth = \"{name}\"\n{}\nforce = [{force:.9}, 0, 0]",
        end(1.0)
    )?;
    writeln!(
        out,
        "[force.{name}_left]\ncloth = \"{name}\"\n{}\nforce = [-{force:.9}, 0, 0]",
        end(-1.0)
    )?;
    // Half a per cent of the strain: with a law that hardens, at most one per cent of the force.
    writeln!(
        out,
        "[[measure]]\nname = \"{name}\"\nkind = \"elongation\"\nof = \"{name}\"\npoints = [[{:.3}, {y:.1}, 0], [{:.3}, {y:.1}, 0]]\nexpect = {{ value = {}, tolerance = {} }}",
        x - half / 2.0,
        x + half / 2.0,
        1.0 + STRETCH,
        0.005 * STRETCH
    )
}
