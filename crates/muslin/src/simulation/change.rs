//! A simulation changed from outside between steps: parameters, state, places; and branched, so that two futures can be
//! compared.

use super::{Simulation, stepper, thread_pool};
use crate::contact::{CrossingJudge, Party};
use crate::failsafe::TangleWatch;
use crate::obstacle::Placement;
use crate::scene::{Override, SceneError, SceneSource};
use crate::world::SteerError;
use muslin_linalg::Vec3;
use std::collections::BTreeMap;

impl Simulation {
    /// A simulation of its own in the same state: what happens to one is not seen by the other. Both give the same bits
    /// if they are treated alike.
    pub fn branch(&self) -> Result<Self, SceneError> {
        let world = self.world.branch();
        Ok(Self {
            name: self.name.clone(),
            scene: self.scene.clone(),
            world: world.map_err(|e| SceneError::new(e.to_string(), "use larger triangles"))?,
            source: self.source.clone(),
            overrides: self.overrides.clone(),
            stepper: stepper(&self.scene),
            measures: self.measures.clone(),
            judge: CrossingJudge::default(),
            tangles: TangleWatch::default(),
            steps: self.steps,
            steps_per_frame: self.steps_per_frame,
            dt: self.dt,
            pool: thread_pool(self.threads())?,
        })
    }

    /// Changes values of the scene and goes on from the present state; nothing changes if that is not possible. Files
    /// that the scene names are read again.
    pub fn change(&mut self, changes: &[Override]) -> Result<(), SceneError> {
        let mut all = self.overrides.clone();
        for change in changes {
            // Only the last value of a path counts; a long run with many changes must not grow.
            all.retain(|o| o.path != change.path);
            all.push(change.clone());
        }
        let mut new = Self::new(&self.source, &all, self.threads())?;
        let refuse = |key: &str, problem: &str, remedy: &str| {
            let error = SceneError::at(key, problem, remedy);
            Err(self.source.locate(error, changes))
        };
        let same_steps = new.steps_per_frame == self.steps_per_frame;
        if self.steps > 0 && new.scene.output.frame_rate != self.scene.output.frame_rate {
            return refuse(
                "output.frame_rate",
                "the frame rate cannot change in the middle of a run",
                "set it before the first step",
            );
        }
        if !same_steps && !self.at_frame() {
            return refuse(
                "solver.time_step",
                "the time step can change only where a frame is complete",
                "run to the end of the frame first",
            );
        }
        if !new.continue_from(self) {
            let key = changes.first().map_or("cloth", |c| c.path.as_str());
            return refuse(
                key,
                "the change gives the cloth other vertices, so that its state does not fit any more",
                "make a new simulation of the changed scene",
            );
        }
        if same_steps {
            new.set_steps(self.steps);
        }
        new.world.reactions.clone_from(&self.world.reactions);
        new.world.wants_reactions |= self.world.wants_reactions;
        let hand = self.world.hand().cloned();
        let taken_over = new.world.steer(&self.world.steering());
        let taken_over = taken_over.and_then(|()| match hand {
            Some(hand) => new.world.grab(Some(hand)),
            None => Ok(()),
        });
        taken_over.map_err(|e| SceneError::new(e.to_string(), "use larger triangles"))?;
        *self = new;
        Ok(())
    }

    /// Starts its threads anew. In a process that was forked the old ones do not exist, and waiting for them has no end.
    pub fn restart_threads(&mut self) -> Result<(), SceneError> {
        let new = thread_pool(self.threads())?;
        // Letting go of threads that are not there could wait for them too.
        std::mem::forget(std::mem::replace(&mut self.pool, new));
        Ok(())
    }

    /// The scene as it was given, before changes.
    pub fn source(&self) -> &SceneSource {
        &self.source
    }

    /// Changes of the scene so far.
    pub fn overrides(&self) -> &[Override] {
        &self.overrides
    }

    /// Puts the vertices of a cloth elsewhere, m. What crosses there is left out of contact until it has parted.
    pub fn set_positions(&mut self, cloth: &str, positions: &[Vec3]) -> Result<(), SteerError> {
        let range = self.world.rows_of_cloth(cloth, "position", positions)?;
        self.world.state.x[range].copy_from_slice(positions);
        self.world.state.carried.stresses.clear();
        self.tangles = TangleWatch::default();
        Ok(())
    }

    /// Gives the vertices of a cloth other velocities, m/s.
    pub fn set_velocities(&mut self, cloth: &str, velocities: &[Vec3]) -> Result<(), SteerError> {
        let range = self.world.rows_of_cloth(cloth, "velocity", velocities)?;
        self.world.state.v[range].copy_from_slice(velocities);
        Ok(())
    }

    /// Drives an obstacle to a place within a duration (s), by default the next step; see [`crate::world::World::drive`].
    pub fn drive(
        &mut self,
        obstacle: &str,
        to: Placement,
        duration: Option<f64>,
    ) -> Result<(), SteerError> {
        let duration = duration.unwrap_or(self.dt);
        self.world.drive(obstacle, to, duration)?;
        if duration == 0.0 {
            // It may have jumped into cloth.
            self.tangles = TangleWatch::default();
        }
        Ok(())
    }

    /// Leads a pin to places (m) within a duration (s), by default the next step; see [`crate::world::World::lead`].
    pub fn lead(
        &mut self,
        pin: &str,
        places: &[Vec3],
        duration: Option<f64>,
    ) -> Result<(), SteerError> {
        self.world.lead(pin, places, duration.unwrap_or(self.dt))
    }

    /// Force (N) of all contacts on a cloth or obstacle, mean over the last step; none for a name that is not known.
    /// Contacts of a cloth with itself cancel.
    pub fn contact_force(&self, name: &str) -> Option<Vec3> {
        let cloth = self.world.bodies.iter().position(|b| b.name == name);
        let obstacle = || self.world.obstacles.iter().position(|o| o.name == name);
        let party = cloth
            .map(Party::Cloth)
            .or_else(|| obstacle().map(Party::Obstacle))?;
        let mut impulse = Vec3::ZERO;
        for touch in &self.world.touches {
            let sign = |k: usize| f64::from(touch.parties[k] == party);
            impulse += (sign(0) - sign(1)) * touch.impulse;
        }
        // No force is 0, not -0.
        Some(impulse / self.dt + Vec3::ZERO)
    }

    /// Values of the scene's measures now, by name.
    pub fn measure(&self) -> BTreeMap<String, f64> {
        self.measures.evaluate(&self.world)
    }
}
