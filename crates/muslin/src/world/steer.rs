//! What a caller changes between steps: pins, places of obstacles, forces. A robot's gripper is driven through here.

use super::{Held, World};
use crate::motion::Motion;
use crate::obstacle::{Drive, Placement};
use muslin_linalg::{SpanTooLarge, Vec3};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ops::Range;

/// A change that does not fit the world; nothing was changed.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum SteerError {
    /// Nothing has this name.
    #[error("there is no {kind} `{name}`; there {}", known(.names))]
    NoSuch {
        /// `cloth`, `obstacle` or `pin`.
        kind: &'static str,
        /// The name asked for.
        name: String,
        /// Those that exist.
        names: Vec<String>,
    },
    /// A pin of this name exists.
    #[error("there is a pin `{0}` already; release it first, or choose another name")]
    PinExists(String),
    /// A pin has to hold something.
    #[error("pin `{0}` would hold nothing; give at least one vertex and one axis")]
    HoldsNothing(String),
    /// A vertex that the cloth does not have.
    #[error(
        "cloth `{cloth}` has {vertices} vertices, numbered from 0; {vertex} is not one of them"
    )]
    NoSuchVertex {
        /// The cloth.
        cloth: String,
        /// The vertex asked for.
        vertex: u32,
        /// How many there are.
        vertices: usize,
    },
    /// A vertex can follow one pin only.
    #[error("pin `{other}` holds vertex {vertex} of cloth `{cloth}` already; release it first")]
    HeldTwice {
        /// The cloth.
        cloth: String,
        /// Its vertex.
        vertex: u32,
        /// Who holds it.
        other: String,
    },
    /// Another number of rows is needed.
    #[error("{what} has {found} rows, but `{name}` has {expected} vertices")]
    Length {
        /// Which array.
        what: &'static str,
        /// The cloth or pin.
        name: String,
        /// Rows needed.
        expected: usize,
        /// Rows given.
        found: usize,
    },
    /// NaN, infinity, or beyond all bounds.
    #[error("{what} {index} is not a usable number; they must be finite and below 1e6")]
    NotUsable {
        /// Which array.
        what: &'static str,
        /// Row in it.
        index: usize,
    },
    /// A placement that turns or scales to nothing.
    #[error("the {0} of a place must be finite and not zero")]
    Degenerate(&'static str),
    /// A duration below zero or without end.
    #[error("{0} s is not a duration; give 0 to jump, or a time in which to get there")]
    Duration(f64),
    /// The matrix became too large.
    #[error(transparent)]
    Span(#[from] SpanTooLarge),
}

fn known(names: &[String]) -> String {
    if names.is_empty() {
        return "are none".into();
    }
    let quoted: Vec<String> = names.iter().map(|n| format!("`{n}`")).collect();
    let verb = if names.len() == 1 { "is" } else { "are" };
    format!("{verb} {}", quoted.join(", "))
}

/// Largest coordinate, velocity or force that is accepted.
const LARGEST: f64 = 1e6;

/// Refuses what no stepper can treat.
pub(crate) fn usable(what: &'static str, rows: &[Vec3]) -> Result<(), SteerError> {
    let bad = |v: &Vec3| !v.is_finite() || v.abs().max_element() > LARGEST;
    match rows.iter().position(bad) {
        Some(index) => Err(SteerError::NotUsable { what, index }),
        None => Ok(()),
    }
}

/// The even way of held vertices from places to places; at rest before and after.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Lead {
    /// Time (s) and places (m) at which it begins.
    pub from: (f64, Vec<Vec3>),
    /// Time (s) and places (m) at which it ends; not earlier.
    pub to: (f64, Vec<Vec3>),
}

impl Lead {
    /// Where vertex `i` has to be at a time (s).
    pub fn at(&self, i: usize, time: f64) -> Vec3 {
        let length = self.to.0 - self.from.0;
        if time >= self.to.0 || length <= 0.0 {
            return self.to.1[i];
        }
        let done = ((time - self.from.0) / length).max(0.0);
        self.from.1[i].lerp(self.to.1[i], done)
    }
}

/// What has been changed from outside and is not in the scene.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Steered {
    /// Whether pins were set, led or released.
    pins: bool,
    /// Force on each vertex, N; empty for none.
    forces: Vec<Vec3>,
}

/// All that was changed from outside, so that it can be kept and brought into a world of the same scene.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Steering {
    drives: BTreeMap<String, Drive>,
    /// The pins there are, if any were changed.
    pins: Option<Vec<Pinned>>,
    forces: Vec<Vec3>,
}

/// A pin by name, and how it holds unless that is as in the scene.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Pinned {
    name: String,
    led: Option<(Vec<u32>, [bool; 3], Lead)>,
}

impl Steering {
    /// Whether nothing was changed.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

impl World {
    fn cloth_range(&self, name: &str) -> Result<Range<usize>, SteerError> {
        let found = self.body(name).map(|b| b.vertices.clone());
        found.ok_or_else(|| SteerError::NoSuch {
            kind: "cloth",
            name: name.into(),
            names: self.bodies.iter().map(|b| b.name.clone()).collect(),
        })
    }

    fn pin_place(&self, name: &str) -> Result<usize, SteerError> {
        let found = self.pins.iter().position(|p| p.name == name);
        found.ok_or_else(|| SteerError::NoSuch {
            kind: "pin",
            name: name.into(),
            names: self.pins.iter().map(|p| p.name.clone()).collect(),
        })
    }

    /// The vertices of a cloth in the state, once `rows` are known to be usable and as many.
    pub(crate) fn rows_of_cloth(
        &self,
        name: &str,
        what: &'static str,
        rows: &[Vec3],
    ) -> Result<Range<usize>, SteerError> {
        let range = self.cloth_range(name)?;
        same_length(what, name, range.len(), rows.len())?;
        usable(what, rows)?;
        Ok(range)
    }

    /// Holds vertices of a cloth where they are now, from now on.
    pub fn hold(
        &mut self,
        name: &str,
        cloth: &str,
        vertices: &[u32],
        axes: [bool; 3],
    ) -> Result<(), SteerError> {
        let range = self.cloth_range(cloth)?;
        if self.pins.iter().any(|p| p.name == name) {
            return Err(SteerError::PinExists(name.into()));
        }
        if vertices.is_empty() || axes == [false; 3] {
            return Err(SteerError::HoldsNothing(name.into()));
        }
        if let Some(vertex) = vertices.iter().find(|v| **v as usize >= range.len()) {
            return Err(SteerError::NoSuchVertex {
                cloth: cloth.into(),
                vertex: *vertex,
                vertices: range.len(),
            });
        }
        let mut held: Vec<u32> = vertices.iter().map(|v| v + range.start as u32).collect();
        held.sort_unstable();
        held.dedup();
        for pin in &self.pins {
            let same_axis = (0..3).any(|k| pin.axes[k] && axes[k]);
            let both = pin.vertices.iter().find(|v| held.binary_search(v).is_ok());
            if let Some(vertex) = both.filter(|_| same_axis) {
                return Err(SteerError::HeldTwice {
                    cloth: cloth.into(),
                    vertex: vertex - range.start as u32,
                    other: pin.name.clone(),
                });
            }
        }
        let places: Vec<Vec3> = held.iter().map(|v| self.state.x[*v as usize]).collect();
        let lead = Lead {
            from: (self.time, places.clone()),
            to: (self.time, places),
        };
        self.pins.push(led_pin(name.into(), held, axes, lead));
        self.steered.pins = true;
        Ok(self.rebuild_forces()?)
    }

    /// Lets go of a pin, whether it is of the scene or was set from outside.
    pub fn release(&mut self, name: &str) -> Result<(), SteerError> {
        let place = self.pin_place(name)?;
        self.pins.remove(place);
        self.steered.pins = true;
        Ok(self.rebuild_forces()?)
    }

    /// Leads the vertices of a pin, in ascending order, evenly to `places` (m), which they reach after a duration (s).
    pub fn lead(&mut self, name: &str, places: &[Vec3], duration: f64) -> Result<(), SteerError> {
        let at = self.pin_place(name)?;
        let time = self.time;
        let pin = &mut self.pins[at];
        same_length("places", name, pin.vertices.len(), places.len())?;
        usable("place", places)?;
        check_duration(duration)?;
        let now = (0..places.len()).map(|i| pin.target(i, time)).collect();
        pin.lead = Some(Lead {
            from: (time, now),
            to: (time + duration, places.to_vec()),
        });
        self.steered.pins = true;
        Ok(())
    }

    /// Where an obstacle stands now.
    pub fn place(&self, obstacle: &str) -> Result<Placement, SteerError> {
        let found = self.obstacle(obstacle).map(|o| o.shape.0.at(self.time));
        found.ok_or_else(|| self.no_such_obstacle(obstacle))
    }

    fn no_such_obstacle(&self, name: &str) -> SteerError {
        SteerError::NoSuch {
            kind: "obstacle",
            name: name.into(),
            names: self.obstacles.iter().map(|o| o.name.clone()).collect(),
        }
    }

    /// Drives an obstacle evenly to a place, which it reaches after a duration (s) and where it stays; its motion in the
    /// scene is forgotten. Cloth feels the velocity; with a duration of 0 the obstacle jumps and cloth does not.
    pub fn drive(
        &mut self,
        obstacle: &str,
        to: Placement,
        duration: f64,
    ) -> Result<(), SteerError> {
        let now = self.place(obstacle)?;
        usable("translation", &[to.translation])?;
        check_duration(duration)?;
        if !(to.scale > 1e-6 && to.scale < LARGEST) {
            return Err(SteerError::Degenerate("scale"));
        }
        let length = to.rotation.length();
        if !(length.is_finite() && length > 1e-6) {
            return Err(SteerError::Degenerate("rotation"));
        }
        let to = Placement {
            rotation: to.rotation.normalize(),
            ..to
        };
        let time = self.time;
        let drive = if duration == 0.0 {
            Drive::rest(time, to)
        } else {
            Drive {
                from: (time, now),
                to: (time + duration, to),
            }
        };
        for found in self.obstacles.iter_mut().filter(|o| o.name == obstacle) {
            found.shape.0.set_drive(drive);
        }
        Ok(())
    }

    /// Puts a force (N) on every vertex of a cloth, beside gravity and those of the scene, until it is changed.
    pub fn push(&mut self, cloth: &str, forces: &[Vec3]) -> Result<(), SteerError> {
        let range = self.rows_of_cloth(cloth, "force", forces)?;
        self.steered.forces.resize(self.state.x.len(), Vec3::ZERO);
        self.steered.forces[range].copy_from_slice(forces);
        Ok(())
    }

    /// Forces (N) put on each vertex from outside; empty for none.
    pub fn pushed(&self) -> &[Vec3] {
        &self.steered.forces
    }

    /// All that was changed from outside.
    pub fn steering(&self) -> Steering {
        let drives = self.obstacles.iter().filter_map(|o| {
            let drive = o.shape.0.drive()?;
            Some((o.name.clone(), *drive))
        });
        let pins = self.pins.iter().map(|p| Pinned {
            name: p.name.clone(),
            led: p
                .lead
                .as_ref()
                .map(|lead| (p.vertices.clone(), p.axes, lead.clone())),
        });
        Steering {
            drives: drives.collect(),
            pins: self.steered.pins.then(|| pins.collect()),
            forces: self.steered.forces.clone(),
        }
    }

    /// Brings changes from another world of the same bodies into this one. What the scene does not have any more is
    /// left out.
    pub fn steer(&mut self, steering: &Steering) -> Result<(), SpanTooLarge> {
        for obstacle in &mut self.obstacles {
            if let Some(drive) = steering.drives.get(&obstacle.name) {
                obstacle.shape.0.set_drive(*drive);
            }
        }
        let n = self.state.x.len();
        if steering.forces.len() == n {
            self.steered.forces.clone_from(&steering.forces);
        }
        let Some(pins) = &steering.pins else {
            return Ok(());
        };
        let mut own = std::mem::take(&mut self.pins);
        for pinned in pins {
            match &pinned.led {
                Some((vertices, axes, lead)) => {
                    let fits = vertices.iter().all(|v| (*v as usize) < n)
                        && lead.from.1.len() == vertices.len()
                        && lead.to.1.len() == vertices.len();
                    if fits {
                        let (name, vertices) = (pinned.name.clone(), vertices.clone());
                        self.pins.push(led_pin(name, vertices, *axes, lead.clone()));
                    }
                }
                None => {
                    if let Some(at) = own.iter().position(|p| p.name == pinned.name) {
                        self.pins.push(own.remove(at));
                    }
                }
            }
        }
        self.steered.pins = true;
        self.rebuild_forces()
    }

    /// A world of its own in the same state: what happens to one is not seen by the other.
    pub fn branch(&self) -> Result<Self, SpanTooLarge> {
        let mut world = Self {
            bodies: self.bodies.clone(),
            state: self.state.clone(),
            mass: self.mass.clone(),
            obstacles: self.obstacles.clone(),
            friction: self.friction.clone(),
            pins: self.pins.clone(),
            pushes: self.pushes.clone(),
            hand: self.hand.as_ref().map(crate::force::grip::Hand::branch),
            gravity: self.gravity,
            wind: self.wind.clone(),
            time: self.time,
            forces: crate::force::Forces::empty(),
            revision: self.revision,
            topology_revision: self.topology_revision,
            reactions: self.reactions.clone(),
            wants_reactions: self.wants_reactions,
            touches: self.touches.clone(),
            impulses: self.impulses.clone(),
            contact: self.contact.clone(),
            tangle: self.tangle.clone(),
            steered: self.steered.clone(),
        };
        world.rebuild_forces()?;
        Ok(world)
    }
}

fn led_pin(name: String, vertices: Vec<u32>, axes: [bool; 3], lead: Lead) -> Held {
    let start = lead.from.1.clone();
    let pivot = start.iter().sum::<Vec3>() / start.len().max(1) as f64;
    Held {
        name,
        vertices,
        axes,
        motion: Motion::Fixed,
        pivot,
        start,
        until: f64::INFINITY,
        lead: Some(lead),
    }
}

fn same_length(
    what: &'static str,
    name: &str,
    expected: usize,
    found: usize,
) -> Result<(), SteerError> {
    if expected == found {
        return Ok(());
    }
    Err(SteerError::Length {
        what,
        name: name.into(),
        expected,
        found,
    })
}

fn check_duration(duration: f64) -> Result<(), SteerError> {
    if (0.0..=LARGEST).contains(&duration) {
        return Ok(());
    }
    Err(SteerError::Duration(duration))
}
