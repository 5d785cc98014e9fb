//! Contacts in a frame: what touched in its last step, as arrays of one row a contact.

use super::arrays::{ArrayFile, ArrayWriter, RecordError};
use crate::contact::{Party, Touch};
use muslin_friction::State;
use muslin_linalg::Vec3;
use std::path::Path;

/// How the parties of a contact are written: cloth counts from 0, obstacles from -1 downward.
pub fn party_code(party: Party) -> i32 {
    match party {
        Party::Cloth(i) => i as i32,
        Party::Obstacle(j) => -1 - j as i32,
    }
}

fn party(code: i32, cloths: usize, obstacles: usize) -> Option<Party> {
    if let Ok(i) = usize::try_from(code) {
        return (i < cloths).then_some(Party::Cloth(i));
    }
    let j = usize::try_from(-(code + 1)).ok()?;
    (j < obstacles).then_some(Party::Obstacle(j))
}

/// How the state of a contact is written: 0 came apart, 1 sticks, 2 slides.
pub fn state_code(state: State) -> u8 {
    match state {
        State::Separate => 0,
        State::Stick => 1,
        State::Slide => 2,
    }
}

pub(super) fn write(file: &mut ArrayWriter, touches: &[Touch]) -> Result<(), RecordError> {
    let n = touches.len();
    let vectors = |of: fn(&Touch) -> Vec3| -> Vec<f64> {
        touches.iter().flat_map(|t| of(t).to_array()).collect()
    };
    file.array("contacts/position", &[n, 3], &vectors(|t| t.position))?;
    file.array("contacts/normal", &[n, 3], &vectors(|t| t.normal))?;
    file.array("contacts/impulse", &[n, 3], &vectors(|t| t.impulse))?;
    let states: Vec<u8> = touches.iter().map(|t| state_code(t.state)).collect();
    file.array("contacts/state", &[n], &states)?;
    let parties: Vec<i32> = touches
        .iter()
        .flat_map(|t| t.parties.map(party_code))
        .collect();
    file.array("contacts/parties", &[n, 2], &parties)
}

/// Contacts of a frame with so many cloths and obstacles; none if it was recorded before there were any.
pub(super) fn read(
    file: &mut ArrayFile,
    place: &Path,
    cloths: usize,
    obstacles: usize,
) -> Result<Vec<Touch>, RecordError> {
    if !file.names().any(|n| n == "contacts/state.npy") {
        return Ok(Vec::new());
    }
    let (_, states) = file.array::<u8>("contacts/state")?;
    let mut vectors = |name: &str| -> Result<Vec<Vec3>, RecordError> {
        let (_, flat) = file.array::<f64>(name)?;
        if flat.len() != 3 * states.len() {
            return Err(RecordError::damaged(
                place,
                format!("`{name}` has another length"),
            ));
        }
        Ok(flat.chunks_exact(3).map(Vec3::from_slice).collect())
    };
    let positions = vectors("contacts/position")?;
    let normals = vectors("contacts/normal")?;
    let impulses = vectors("contacts/impulse")?;
    let (_, codes) = file.array::<i32>("contacts/parties")?;
    if codes.len() != 2 * states.len() {
        return Err(RecordError::damaged(
            place,
            "`contacts/parties` has another length",
        ));
    }
    let mut touches = Vec::with_capacity(states.len());
    for i in 0..states.len() {
        let who = |k: usize| {
            party(codes[2 * i + k], cloths, obstacles)
                .ok_or_else(|| RecordError::damaged(place, "a contact of an unknown object"))
        };
        touches.push(Touch {
            parties: [who(0)?, who(1)?],
            position: positions[i],
            normal: normals[i],
            impulse: impulses[i],
            state: match states[i] {
                0 => State::Separate,
                1 => State::Stick,
                2 => State::Slide,
                _ => return Err(RecordError::damaged(place, "a contact of an unknown state")),
            },
        });
    }
    Ok(touches)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{FrameReader, MeasureSet, RunFolder};
    use crate::scene::SceneSource;
    use crate::simulation::Simulation;

    const SCENE: &str = r#"
[output]
frame_rate = 100
[solver]
time_step = 0.01
[cloth.a]
grid = { size = [1, 1], cells = [1, 1] }
fabric = "paper"
[cloth.b]
grid = { size = [1, 1], cells = [1, 1] }
translate = [0, 0, 1]
fabric = "paper"
[obstacle.ball]
sphere = { radius = 0.1 }
translate = [0, 0, 5]
[obstacle.floor]
plane = { point = [0, 0, -1] }
[[measure]]
name = "all"
kind = "contacts"
[[measure]]
name = "stuck on the floor"
kind = "sticking"
of = "floor"
[[measure]]
name = "sliding"
kind = "sliding"
of = "b"
[[measure]]
name = "lift"
kind = "contact_force"
of = "a"
direction = [0, 0, 2]
[[measure]]
name = "load"
kind = "contact_force"
of = "floor"
direction = [0, 0, 1]
[[measure]]
name = "depth"
kind = "penetration"
[[measure]]
name = "depth of b"
kind = "penetration"
of = "b"
"#;

    fn touch(parties: [Party; 2], state: State, impulse: f64) -> Touch {
        Touch {
            parties,
            position: Vec3::new(0.1, 0.2, -0.3),
            normal: Vec3::Z,
            impulse: Vec3::new(0.5, -0.25, impulse),
            state,
        }
    }

    fn simulation() -> Simulation {
        let source = SceneSource::from_text("contacts", SCENE);
        let mut simulation = Simulation::new(&source, &[], 1).unwrap();
        let (a, b) = (Party::Cloth(0), Party::Cloth(1));
        simulation.world.touches = vec![
            touch([a, Party::Obstacle(1)], State::Stick, 0.02),
            touch([b, a], State::Slide, 0.005),
            touch([a, a], State::Slide, 7.0),
            touch([b, Party::Obstacle(0)], State::Separate, 0.0),
        ];
        simulation
    }

    #[test]
    fn contacts_come_back_from_a_frame() {
        let folder = std::env::temp_dir().join(format!("muslin-contacts-{}", std::process::id()));
        let simulation = simulation();
        RunFolder::create(&folder, &simulation).unwrap();
        let frame = FrameReader::open(&folder).unwrap().read(0).unwrap();
        assert_eq!(frame.contacts, simulation.world.touches);
        // Recordings from before there were contacts have none.
        let old = folder.join("old.npz");
        let mut file = ArrayWriter::create(&old).unwrap();
        file.array("time", &[1], &[0.0]).unwrap();
        file.finish().unwrap();
        let mut file = ArrayFile::open(&old).unwrap();
        assert_eq!(read(&mut file, &old, 2, 2).unwrap(), []);
        // A contact of somebody who is not there is damage.
        let mut file = ArrayWriter::create(&old).unwrap();
        write(&mut file, &simulation.world.touches).unwrap();
        file.finish().unwrap();
        let mut file = ArrayFile::open(&old).unwrap();
        assert!(read(&mut file, &old, 2, 1).is_err());
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn contacts_are_measured() {
        let mut simulation = simulation();
        simulation.world.state.x[0].z = -1.25;
        let set = MeasureSet::new(&simulation.scene, &simulation.world);
        let values = set.evaluate(&simulation.world);
        let near = |name: &str, value: f64| {
            assert!(
                (values[name] - value).abs() < 1e-12,
                "{name}: {}",
                values[name]
            );
        };
        near("all", 4.0);
        near("stuck on the floor", 1.0);
        near("sliding", 1.0);
        // Impulse over a step of 10 ms; what a does to itself cancels.
        near("lift", (0.02 - 0.005) / 0.01);
        near("load", -0.02 / 0.01);
        near("depth", 0.25);
        near("depth of b", 0.0);
    }
}
