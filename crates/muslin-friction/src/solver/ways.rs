//! Which stage follows which.

use super::stages::left;
use super::{SOME_CONTACTS, Solver, Unknowns};
use crate::admm::Passes;
use crate::problem::{Contact, FrictionProblem};
use crate::report::{SolveParams, SolveReport};
use crate::residual::{impulses, measure};

/// Sweeps that splitting takes the time of.
const WORTHWHILE_SWEEPS: f64 = 200.0;
/// Sweeps when all else has failed, at least and at most, and visits of nodes they may make in between.
const LAST_SWEEPS: usize = 400;
const MOST_SWEEPS: usize = 20_000;
const LAST_VISITS: usize = 8_000_000;
/// Nodes up to which methods that factor the matrix with its contacts are worth a try from anywhere.
const MANY_NODES: usize = 5000;
/// The same from near an answer with a fine tolerance, m/s: the last digits are splitting's slowest.
const MANY_NODES_NEAR: usize = 20_000;
const FINE: f64 = 1e-7;
/// Errors over the tolerance from which Newton steps are likely to arrive, and the error (m/s) from which they are with
/// more than [`MANY_NODES`], whatever the tolerance: by then most contacts know whether they slide.
const NEAR: f64 = 100.0;
const NEAR_SPEED: f64 = 1e-5;
/// Inertia over diagonal above which sweeps are tried first.
const SOFT: f64 = 2e-5;
/// Part of the friction by which it is raised at first, and the least: a step that finds no answer is tried again with a
/// quarter of it.
const RAISE: f64 = 0.2;
const LEAST_RAISE: f64 = RAISE / 64.0;
/// Steps in which it is raised at most: with few contacts, few nodes, and else.
const MOST_RAISES: [usize; 3] = [100, 26, 6];
/// Of these, steps that may find no answer before the whole friction is tried: each takes all the patience there is.
const MOST_LOSSES: [usize; 3] = [100, 3, 1];

/// Whether the error is so small that Newton steps are worth a try with so many nodes.
fn near(params: &SolveParams, report: &SolveReport, nodes: usize) -> bool {
    let least = if nodes > MANY_NODES { NEAR_SPEED } else { 0.0 };
    report.merit() < (NEAR * params.tolerance).max(least)
}

/// Whether slow motions of whole bodies are wrong by what shows at such a tolerance.
fn drifts(params: &SolveParams, report: &SolveReport) -> bool {
    !params.coarse() && report.strict() > params.tolerance
}

/// What a coarse tolerance is worth: sweeps still to come, splitting iterations, factorisations of cautious steps. Splitting
/// gets there in about 30 iterations, for which 200 sweeps would be twice the price.
const COARSE_SWEEPS: f64 = 50.0;
const COARSE_ITERATIONS: usize = 250;
const COARSE_FACTORISATIONS: usize = 30;
/// Errors over a coarse tolerance up to which a few dozen sweeps arrive even with many contacts. Cloth that has just come to
/// rest is below 200, but folds that lie on each other crawl from there.
const SWEPT_FROM: f64 = 30.0;

impl Solver {
    /// What solves all but hard problems.
    pub(super) fn usual_ways(
        &mut self,
        problem: &FrictionProblem,
        params: &SolveParams,
        x: &mut Unknowns,
        report: &mut SolveReport,
    ) {
        let before = report.admm_iterations;
        self.quick_ways(problem, params, x, report);
        if !report.converged {
            self.patient_ways(problem, params, x, report);
        }
        if report.admm_iterations > before {
            self.stop_drift(problem, params, x, report);
        }
    }

    /// Sweeps where the system is soft enough for them; full Newton steps where it is not or contacts are few, for what
    /// rests then rests to the last bit; then splitting.
    pub(super) fn quick_ways(
        &mut self,
        problem: &FrictionProblem,
        params: &SolveParams,
        x: &mut Unknowns,
        report: &mut SolveReport,
    ) {
        if self.done_already(problem, params.tolerance, x, report) {
            return;
        }
        self.start.keep(x.v, x.r);
        let soft = !problem.contacts.is_empty() && self.softness() > SOFT;
        let few = x.r.len() <= SOME_CONTACTS;
        let near = params.nearly_solved || report.merit() < SWEPT_FROM * params.tolerance;
        // Sweeps would be a third to a half of a solve that ends in splitting after all.
        let crawl = params.coarse() && !few && !near;
        if soft && !crawl {
            let worthwhile = if params.coarse() {
                COARSE_SWEEPS
            } else {
                WORTHWHILE_SWEEPS
            };
            self.sweep_within(problem, params, worthwhile, x, report);
        }
        if (!report.converged && !soft) || (few && drifts(params, report)) {
            self.full_steps(problem, params, x, report);
        }
        if report.converged {
            return;
        }
        // What was given is the better start: sweeps have spoilt its slow motions.
        self.start.restore(x.v, x.r);
        self.alternate(problem, params, Passes::First, x, report);
    }

    /// Splitting has the contacts nearly right when it stalls, so that cautious steps can finish; or more of it.
    pub(super) fn patient_ways(
        &mut self,
        problem: &FrictionProblem,
        params: &SolveParams,
        x: &mut Unknowns,
        report: &mut SolveReport,
    ) {
        if params.coarse() {
            self.coarse_ways(problem, params, x, report);
            return;
        }
        let most_nodes = if params.tolerance < FINE {
            MANY_NODES_NEAR
        } else {
            MANY_NODES
        };
        if near(params, report, x.v.len()) && x.v.len() <= most_nodes {
            self.finish(problem, params, x, report);
        }
        if !report.converged {
            self.alternate(problem, params, Passes::Further, x, report);
        }
        if !report.converged && near(params, report, x.v.len()) {
            self.finish(problem, params, x, report);
        }
    }

    /// The same for a coarse tolerance: a pass of splitting costs as much as two or three factorisations with contacts, and
    /// most problems are a pass or two away.
    fn coarse_ways(
        &mut self,
        problem: &FrictionProblem,
        params: &SolveParams,
        x: &mut Unknowns,
        report: &mut SolveReport,
    ) {
        let params = SolveParams {
            max_admm_iterations: params.max_admm_iterations.min(COARSE_ITERATIONS),
            max_factorisations: params.max_factorisations.min(COARSE_FACTORISATIONS),
            ..*params
        };
        self.alternate(problem, &params, Passes::Further, x, report);
        if !report.converged && near(&params, report, x.v.len()) {
            self.finish(problem, &params, x, report);
        }
    }

    /// Where contacts are few and splitting got them right, full steps lead on to where nothing drifts; or else it is not an
    /// answer yet.
    pub(super) fn stop_drift(
        &mut self,
        problem: &FrictionProblem,
        params: &SolveParams,
        x: &mut Unknowns,
        report: &mut SolveReport,
    ) {
        let few = x.r.len() <= SOME_CONTACTS;
        if report.converged && few && drifts(params, report) {
            self.full_steps(problem, params, x, report);
        }
    }

    /// Friction is raised bit by bit where contacts are few or nearly right, with the patience that a problem's size
    /// allows; few contacts are then condensed, of many cautious steps are tried from anywhere.
    pub(super) fn rare_ways(
        &mut self,
        problem: &FrictionProblem,
        params: &SolveParams,
        x: &mut Unknowns,
        report: &mut SolveReport,
    ) {
        self.reached.keep(x.v, x.r);
        let before = report.clone();
        let few = x.r.len() <= SOME_CONTACTS;
        let small = x.v.len() <= MANY_NODES;
        if params.coarse() && (!few || left(params, report) == 0) {
            return;
        }
        if few || near(params, &before, x.v.len()) {
            let size = match (few, small) {
                _ if params.coarse() => 2,
                (true, _) => 0,
                (false, true) => 1,
                (false, false) => 2,
            };
            self.raise_friction(problem, params, size, x, report);
        }
        if !report.converged && few && !params.coarse() {
            self.condensed(problem, params, x, report);
        }
        if !report.converged && before.merit() < report.merit() {
            self.reached.restore(x.v, x.r);
            report.go_back_to(&before);
        }
        if !report.converged && !few && small {
            self.finish(problem, params, x, report);
        }
    }

    /// The problem without friction, then with more and more of it, each from the answer of the one before. Bodies that
    /// wedge each other often have several states close to an answer, and this leads past the wrong ones. Where an answer is
    /// lost on the way, smaller steps are tried; if none is small enough, it goes on from where it got. `size`: with few
    /// contacts, few nodes, and else.
    fn raise_friction(
        &mut self,
        problem: &FrictionProblem,
        params: &SolveParams,
        size: usize,
        x: &mut Unknowns,
        report: &mut SolveReport,
    ) {
        let mut losses = 0;
        let mut eased = std::mem::take(&mut self.eased);
        let (mut share, mut raise): (f64, f64) = (0.0, 0.0);
        for left in (0..MOST_RAISES[size]).rev() {
            // What is left of the steps has to reach the whole friction.
            let last = left == 0 || losses == MOST_LOSSES[size];
            let whole = last || raise >= 1.0 - share;
            raise = raise.min(1.0 - share);
            let next = if whole { 1.0 } else { share + raise };
            eased.clear();
            eased.extend(problem.contacts.iter().map(|contact| Contact {
                friction: contact.friction.map(|f| next * f),
                ..*contact
            }));
            let problem = FrictionProblem {
                contacts: &eased,
                ..*problem
            };
            self.make_ready(&problem, true);
            self.usual_ways(&problem, params, x, report);
            let patient = RAISE * left as f64 >= 1.0 - share;
            if !report.converged && !last && raise > LEAST_RAISE && patient {
                losses += 1;
                self.answered.restore(x.v, x.r);
                raise *= 0.25;
                continue;
            }
            if whole {
                break;
            }
            self.answered.keep(x.v, x.r);
            share = next;
            raise = if raise == 0.0 {
                RAISE
            } else {
                (2.0 * raise).min(RAISE)
            };
        }
        self.eased = eased;
    }

    /// Sweeps to the end of their budget; if they are in vain the best point so far is the answer.
    pub(super) fn last_resort(
        &mut self,
        problem: &FrictionProblem,
        params: &SolveParams,
        x: &mut Unknowns,
        report: &mut SolveReport,
    ) {
        let before = report.clone();
        self.reached.keep(x.v, x.r);
        let most = if params.coarse() {
            LAST_SWEEPS
        } else {
            MOST_SWEEPS
        };
        let sweeps = (LAST_VISITS / x.v.len().max(1)).clamp(LAST_SWEEPS, most);
        let sweeps = sweeps.min(left(params, report));
        self.sweep(problem, params.tolerance, sweeps, x, report, |_, _| false);
        // Among contacts that cannot be obeyed errors tell nothing; sweeps are right about all the others.
        let tells = report.yielding.is_empty();
        if !report.converged && tells && before.strict() < report.strict() {
            self.reached.restore(x.v, x.r);
            report.go_back_to(&before);
        }
    }

    /// Whether the start is an answer: things at rest stay there.
    fn done_already(
        &mut self,
        problem: &FrictionProblem,
        tolerance: f64,
        x: &mut Unknowns,
        report: &mut SolveReport,
    ) -> bool {
        impulses(problem, x.r, &mut self.force);
        let found = measure(&self.ready.given(problem), x.v, x.r, &self.force);
        let converged = found.strict() < tolerance;
        report.record(&found, converged);
        converged
    }

    /// Inertia over diagonal of the whole.
    fn softness(&self) -> f64 {
        let free = self.ready.nodes.iter().filter(|n| n.diagonal.is_finite());
        let (inertia, diagonal) =
            free.fold((0.0, 0.0), |(m, d), n| (m + n.inertia, d + n.diagonal));
        inertia / diagonal
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::families::{self, Family};
    use crate::residual::residual;
    use muslin_linalg::Vec3;

    const TOLERANCE: f64 = 1e-6;

    type Way = fn(&mut Solver, &FrictionProblem, &SolveParams, &mut Unknowns, &mut SolveReport);

    /// A way that is usually taken last, taken first: from twenty sweeps it arrives at the answer that the others find.
    /// Both may be wrong by a hundred tolerances in slow motions.
    fn arrives(family: &Family, way: Way) {
        let problem = family.problem();
        let params = SolveParams {
            tolerance: TOLERANCE,
            ..SolveParams::default()
        };
        let mut solver = Solver::default();
        let (mut v, mut r) = (
            vec![Vec3::ZERO; family.b.len()],
            vec![Vec3::ZERO; family.contacts.len()],
        );
        let (mut expected, mut r_expected) = (v.clone(), r.clone());
        let found = solver.solve(&problem, &params, &mut expected, &mut r_expected);
        assert!(found.is_ok_and(|report| report.converged));
        solver.make_ready(&problem, true);
        let mut x = Unknowns {
            v: &mut v,
            r: &mut r,
        };
        let mut report = SolveReport::default();
        solver.sweep(&problem, TOLERANCE, 20, &mut x, &mut report, |_, _| false);
        way(&mut solver, &problem, &params, &mut x, &mut report);
        assert!(report.converged, "{}: {report:?}", family.name);
        assert!(residual(&problem, &v, &r).merit() < TOLERANCE);
        let apart = v.iter().zip(&expected).map(|(a, b)| a.distance(*b));
        let apart = apart.fold(0.0, f64::max);
        assert!(
            apart < 200.0 * TOLERANCE,
            "{}: {apart:e} m/s apart",
            family.name
        );
    }

    #[test]
    fn cautious_steps_arrive() {
        for family in [
            families::sheet(20, 600.0, 0.3, 0.6, true),
            families::layers(12, 3, 200.0, 0.4, true),
            families::plate(5, 8, 1e6, 0.2),
        ] {
            arrives(&family, Solver::finish);
        }
    }

    #[test]
    fn raised_friction_arrives() {
        for family in [
            families::sheet(12, 600.0, 0.3, 0.6, true),
            families::plate(5, 8, 1e6, 0.2),
        ] {
            arrives(&family, |solver, problem, params, x, report| {
                solver.raise_friction(problem, params, 0, x, report);
            });
        }
    }

    /// A coarse tolerance is met by splitting where contacts are many, without a sweep before it or a Newton step after it; and by
    /// sweeps alone where one contact has changed since the answer.
    #[test]
    fn coarse_tolerances_take_few_ways() {
        for mut family in [
            families::layers(20, 3, 200.0, 0.4, true),
            families::layers(16, 4, 600.0, 0.4, true),
        ] {
            assert!(family.contacts.len() > SOME_CONTACTS);
            family.b.iter_mut().for_each(|b| *b *= 100.0);
            let mut params = SolveParams {
                tolerance: 1e-3,
                ..SolveParams::default()
            };
            let (mut v, mut r) = (
                vec![Vec3::ZERO; family.b.len()],
                vec![Vec3::ZERO; family.contacts.len()],
            );
            let mut solver = Solver::default();
            let mut solve = |family: &Family, params: &SolveParams| {
                let problem = family.problem();
                let found = solver.solve(&problem, params, &mut v, &mut r);
                assert!(residual(&problem, &v, &r).merit() < params.tolerance);
                found
            };
            let found = solve(&family, &params);
            assert!(
                found
                    .as_ref()
                    .is_ok_and(|f| f.converged && f.sweeps <= 1 && f.newton_iterations == 0),
                "{}: {found:?}",
                family.name
            );
            family.contacts[0].offset.x -= 0.1;
            params.nearly_solved = true;
            let found = solve(&family, &params);
            assert!(
                found
                    .as_ref()
                    .is_ok_and(|f| f.converged && f.factorisations == 0),
                "{}: {found:?}",
                family.name
            );
        }
    }

    /// Without any work left a pass of splitting is made, and what it reached is reported as it is.
    #[test]
    fn work_is_bounded() {
        let family = families::layers(20, 3, 6000.0, 0.4, true);
        let problem = family.problem();
        let params = SolveParams {
            tolerance: 1e-4,
            max_work: 0,
            ..SolveParams::default()
        };
        let (mut v, mut r) = (
            vec![Vec3::ZERO; family.b.len()],
            vec![Vec3::ZERO; family.contacts.len()],
        );
        let found = Solver::default().solve(&problem, &params, &mut v, &mut r);
        let met = residual(&problem, &v, &r).merit() < params.tolerance;
        assert!(
            found
                .as_ref()
                .is_ok_and(|f| f.work() <= 300 && f.converged == met),
            "{found:?}"
        );
    }
}
