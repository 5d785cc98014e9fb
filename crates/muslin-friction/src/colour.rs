//! Blocks of a Gauss-Seidel sweep in colours: two blocks of one colour share no node and no entry of the matrix, so a
//! colour can be relaxed in any order, by any number of threads, with the same result.

use crate::problem::FrictionProblem;

/// Colours told apart by a bit set; blocks beyond get a colour each.
const BITS: usize = 128;

/// The order of a sweep.
#[derive(Default)]
pub(crate) struct Colouring {
    /// Contacts, colour after colour.
    pub(crate) contacts: Vec<u32>,
    /// Nodes without contact, colour after colour.
    pub(crate) nodes: Vec<u32>,
    /// Where each colour ends in the two lists.
    pub(crate) ends: Vec<[usize; 2]>,
    used: Vec<u128>,
    touched: Vec<bool>,
    colour_of: Vec<u32>,
}

impl Colouring {
    /// Greedy colouring, contacts first.
    pub(crate) fn build(&mut self, problem: &FrictionProblem) {
        let rows = problem.pattern.rows();
        let count = problem.contacts.len();
        self.used.clear();
        self.used.resize(rows, 0);
        self.touched.clear();
        self.touched.resize(rows, false);
        self.colour_of.clear();
        self.ends.clear();
        let mut extra = BITS;
        for contact in problem.contacts {
            let mut taken = 0;
            for (n, _) in contact.arms() {
                self.touched[n] = true;
                taken |= self.around(problem, n);
            }
            let colour = first_free(taken, &mut extra);
            if colour < BITS {
                for (n, _) in contact.arms() {
                    self.used[n] |= 1 << colour;
                }
            }
            self.count(colour, 0);
        }
        for n in 0..rows {
            if self.touched[n] {
                continue;
            }
            let colour = first_free(self.around(problem, n), &mut extra);
            if colour < BITS {
                self.used[n] |= 1 << colour;
            }
            self.count(colour, 1);
        }
        self.sort(rows, count);
    }

    /// Number of colours, empty ones included.
    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    /// Ranges of a colour in the two lists.
    pub(crate) fn ranges(&self, colour: usize) -> [std::ops::Range<usize>; 2] {
        let start = match colour.checked_sub(1) {
            Some(before) => self.ends[before],
            None => [0, 0],
        };
        [0, 1].map(|k| start[k]..self.ends[colour][k])
    }

    fn around(&self, problem: &FrictionProblem, n: usize) -> u128 {
        problem
            .pattern
            .columns_of(n)
            .iter()
            .fold(self.used[n], |set, m| set | self.used[*m as usize])
    }

    fn count(&mut self, colour: usize, list: usize) {
        self.colour_of.push(colour as u32);
        if colour >= self.ends.len() {
            self.ends.resize(colour + 1, [0, 0]);
        }
        self.ends[colour][list] += 1;
    }

    /// Counting sort of both lists by colour.
    fn sort(&mut self, rows: usize, count: usize) {
        let mut at = [0, 0];
        for end in &mut self.ends {
            for k in 0..2 {
                at[k] += std::mem::replace(&mut end[k], at[k]);
            }
        }
        self.contacts.clear();
        self.contacts.resize(at[0], 0);
        self.nodes.clear();
        self.nodes.resize(at[1], 0);
        // Starts become ends as the lists fill.
        for c in 0..count {
            let slot = &mut self.ends[self.colour_of[c] as usize][0];
            self.contacts[*slot] = c as u32;
            *slot += 1;
        }
        let mut k = count;
        for n in 0..rows {
            if !self.touched[n] {
                let slot = &mut self.ends[self.colour_of[k] as usize][1];
                self.nodes[*slot] = n as u32;
                *slot += 1;
                k += 1;
            }
        }
    }
}

fn first_free(taken: u128, extra: &mut usize) -> usize {
    let colour = taken.trailing_ones() as usize;
    if colour < BITS {
        return colour;
    }
    *extra += 1;
    *extra - 1
}
