//! Scenes that come with Muslin, compiled into the program.

/// A scene that comes with Muslin.
#[derive(Clone, Copy, Debug)]
pub struct ShippedScene {
    /// Name for `muslin run`.
    pub name: &'static str,
    /// Folder under `scenes/`: the paper it is from, or what it checks.
    pub group: &'static str,
    /// Its text.
    pub text: &'static str,
}

macro_rules! scenes {
    ($($group:literal / $name:literal),* $(,)?) => {
        &[$(ShippedScene {
            name: $name,
            group: $group,
            text: include_str!(concat!("../../../../scenes/", $group, "/", $name, ".toml")),
        }),*]
    };
}

const SCENES: &[ShippedScene] = scenes![
    "basics" / "hanging_cloth",
    "basics" / "flag",
    "basics" / "carried",
    "basics" / "obstacles",
    "argus2018" / "belt",
    "argus2018" / "drag_circle",
    "argus2018" / "house_of_cards",
    "argus2018" / "two_cards",
    "bridson2002" / "curtain_and_ball",
    "bridson2002" / "rotating_sphere",
    "bridson2002" / "tablecloth_legs",
    "friction" / "pinch_and_lift",
    "friction" / "sphere_drape",
    "friction" / "tablecloth_pull",
    "stress" / "close_stack",
    "stress" / "crumple",
    "stress" / "fast_impact",
    "stress" / "funnel",
    "stress" / "knot",
    "stress" / "needles",
    "stress" / "twist",
    "zhu2024" / "analytical_box",
    "zhu2024" / "analytical_cloth",
    "zhu2024" / "anisotropic_roll",
    "zhu2024" / "ball_on_layers",
    "zhu2024" / "ball_on_torus",
    "zhu2024" / "curtain_on_figure",
    "zhu2024" / "donuts",
    "zhu2024" / "drape_on_sphere",
    "zhu2024" / "house_of_cards_coarse",
    "zhu2024" / "house_of_cards_fine",
    "zhu2024" / "layers",
    "zhu2024" / "masonry_arch",
    "zhu2024" / "multilayered",
    "zhu2024" / "rayleigh_cloth",
    "zhu2024" / "twisting_rods",
    "validation" / "cantilever",
    "validation" / "capstan",
    "validation" / "free_fall",
    "validation" / "incline",
    "validation" / "incline_threshold",
    "validation" / "spinning_sheet",
    "validation" / "uniaxial",
];

/// All scenes that come with Muslin.
pub fn shipped_scenes() -> impl Iterator<Item = &'static ShippedScene> {
    SCENES.iter()
}

/// A scene by name.
pub fn shipped_scene(name: &str) -> Option<&'static ShippedScene> {
    SCENES.iter().find(|s| s.name == name)
}

impl ShippedScene {
    /// What it shows, in a line.
    pub fn description(&self) -> String {
        self.text
            .parse::<toml::Table>()
            .ok()
            .and_then(|t| {
                t.get("description")
                    .and_then(|d| d.as_str().map(str::to_owned))
            })
            .unwrap_or_default()
    }
}
