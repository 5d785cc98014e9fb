//! Leaves out contacts that say nearly the same as another one about the same vertices.
//!
//! Two vertices that meet, for instance, are found twice: each above a face of the other. Both contacts push the same
//! vertices the same way, so how they share the load is left open, and solvers spend their time on that.

use super::Party;
use muslin_friction::Contact;
use muslin_linalg::Vec3;

/// Cosine between the ways in which two contacts push from which on one is enough: they are the same but for a few hundredths
/// of an edge. With 0.95 neighbours took turns, and the cards of a house shook at a millimetre a second because of it.
const ALIKE: f64 = 0.999;
/// End of a list.
const END: u32 = u32::MAX;

/// Working memory.
#[derive(Default)]
pub(super) struct Redundancy {
    order: Vec<u32>,
    /// First entry of each vertex in `entries`.
    head: Vec<u32>,
    /// Contact and next entry.
    entries: Vec<(u32, u32)>,
    /// What stays.
    pub keep: Vec<bool>,
}

impl Redundancy {
    /// Decides among contacts of which parties are which; the tightest of those that say the same stays, and gets the
    /// impulses of the others to start from.
    pub fn judge(
        &mut self,
        vertices: usize,
        contacts: &[Contact],
        parties: &[[Party; 2]],
        impulses: &mut [Vec3],
    ) {
        self.keep.clear();
        self.keep.resize(contacts.len(), true);
        self.order.clear();
        self.order.extend(0..contacts.len() as u32);
        let tightness = |c: &u32| contacts[*c as usize].offset.x;
        self.order
            .sort_by(|a, b| tightness(a).total_cmp(&tightness(b)).then(a.cmp(b)));
        self.head.clear();
        self.head.resize(vertices, END);
        self.entries.clear();
        for i in 0..self.order.len() {
            let c = self.order[i] as usize;
            if let Some((other, sign)) = self.said_by(contacts, parties, c) {
                self.keep[c] = false;
                let world = contacts[c].frame.transpose() * impulses[c];
                impulses[other] += contacts[other].frame * (world * sign);
                continue;
            }
            for (n, _) in contacts[c].arms() {
                self.entries.push((c as u32, self.head[n]));
                self.head[n] = self.entries.len() as u32 - 1;
            }
        }
    }

    /// A contact that stays and says the same as `c`, and whether their parties are in the same order.
    fn said_by(
        &self,
        contacts: &[Contact],
        parties: &[[Party; 2]],
        c: usize,
    ) -> Option<(usize, f64)> {
        let this = &contacts[c];
        for (n, _) in this.arms() {
            let mut entry = self.head[n];
            while entry != END {
                let (other, next) = self.entries[entry as usize];
                entry = next;
                let other = other as usize;
                let [a, b] = parties[other];
                if parties[c] != [a, b] && parties[c] != [b, a] {
                    continue;
                }
                let shared = shared(this, &contacts[other]);
                let normals = this.frame.row(0).dot(contacts[other].frame.row(0));
                if shared * normals > ALIKE {
                    return Some((other, shared.signum()));
                }
            }
        }
        None
    }
}

/// Cosine between the weights of two contacts.
fn shared(a: &Contact, b: &Contact) -> f64 {
    let mut sum = 0.0;
    for (n, w) in a.arms() {
        for (m, x) in b.arms() {
            if n == m {
                sum += w * x;
            }
        }
    }
    let length = |c: &Contact| c.arms().map(|(_, w)| w * w).sum::<f64>().sqrt();
    sum / (length(a) * length(b))
}
