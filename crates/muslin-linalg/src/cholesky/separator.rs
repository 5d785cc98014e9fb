//! Few vertices whose removal falls a graph apart into halves: found on a coarse copy, made better on each finer one.

use super::graph::Graph;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The side of a vertex that belongs to neither half.
pub(super) const BETWEEN: u8 = 2;

/// Vertices of the coarsest graph.
const COARSEST: usize = 120;
/// Beginnings tried on the coarsest graph.
const SEEDS: usize = 4;
/// Times that a separator is gone through at most.
const PASSES: usize = 3;
/// Moves that do not pay after which a pass ends.
const VAIN_MOVES: usize = 60;
/// Largest share of the weight in one half.
const LARGEST_HALF: f64 = 0.55;

/// Sides of the vertices: 0, 1 or [`BETWEEN`]; no edge joins 0 and 1.
pub(super) fn separate(graph: &Graph) -> Vec<u8> {
    if graph.len() > COARSEST {
        let (coarse, new_of) = graph.coarser();
        // Graphs that do not shrink (a hub with many leaves) are halved as they are.
        if coarse.len() * 10 < graph.len() * 9 {
            let sides = separate(&coarse);
            let fine = new_of.iter().map(|v| sides[*v as usize]).collect();
            let mut cut = Cut::new(graph, fine);
            cut.refine();
            return cut.side;
        }
    }
    let mut best: Option<Cut> = None;
    for seed in 0..SEEDS {
        let from = seed * graph.len() / SEEDS;
        let mut cut = Cut::grown(graph, farthest(graph, from));
        cut.refine();
        if best.as_ref().is_none_or(|b| cut.cost() < b.cost()) {
            best = Some(cut);
        }
    }
    best.map_or_else(Vec::new, |cut| cut.side)
}

/// The last vertex that a search from `from` reaches.
fn farthest(graph: &Graph, from: usize) -> usize {
    let mut seen = vec![false; graph.len()];
    let mut queue = vec![from as u32];
    seen[from] = true;
    let mut at = 0;
    while at < queue.len() {
        for &u in graph.around(queue[at] as usize) {
            if !std::mem::replace(&mut seen[u as usize], true) {
                queue.push(u);
            }
        }
        at += 1;
    }
    queue[queue.len() - 1] as usize
}

struct Cut<'a> {
    graph: &'a Graph,
    side: Vec<u8>,
    /// Weight of both halves and of what lies between.
    weight: [i64; 3],
    largest: i64,
}

impl<'a> Cut<'a> {
    fn new(graph: &'a Graph, side: Vec<u8>) -> Self {
        let mut weight = [0; 3];
        for (s, w) in side.iter().zip(&graph.weights) {
            weight[*s as usize] += i64::from(*w);
        }
        let total: i64 = weight.iter().sum();
        Self {
            graph,
            side,
            weight,
            largest: (total as f64 * LARGEST_HALF) as i64,
        }
    }

    /// The half that grows from a seed, parted from the rest by the rim of the rest.
    fn grown(graph: &'a Graph, seed: usize) -> Self {
        let half = graph.weight() / 2;
        let mut side = vec![1u8; graph.len()];
        let (mut queue, mut at, mut grown, mut next) = (vec![seed as u32], 0, 0, 0);
        let mut queued = vec![false; graph.len()];
        queued[seed] = true;
        while grown < half {
            // Pieces that hang together with nothing are taken one after the other.
            if at == queue.len() {
                while queued[next] {
                    next += 1;
                }
                queued[next] = true;
                queue.push(next as u32);
            }
            let v = queue[at] as usize;
            at += 1;
            side[v] = 0;
            grown += graph.weights[v];
            for &u in graph.around(v) {
                if !std::mem::replace(&mut queued[u as usize], true) {
                    queue.push(u);
                }
            }
        }
        for v in 0..graph.len() {
            if side[v] == 1 && graph.around(v).iter().any(|u| side[*u as usize] == 0) {
                side[v] = BETWEEN;
            }
        }
        Self::new(graph, side)
    }

    /// What is to be small: too much in one half first, then what lies between, then what the halves differ by.
    fn cost(&self) -> (i64, i64, i64) {
        let [a, b, between] = self.weight;
        ((a.max(b) - self.largest).max(0), between, (a - b).abs())
    }

    /// Weight that the space between loses if `v` moves from there to a half.
    fn gain(&self, v: usize, to: u8) -> i64 {
        let drawn_in = self.graph.around(v).iter();
        let drawn_in = drawn_in.filter(|u| self.side[**u as usize] == 1 - to);
        let drawn: i64 = drawn_in
            .map(|u| i64::from(self.graph.weights[*u as usize]))
            .sum();
        i64::from(self.graph.weights[v]) - drawn
    }

    fn put(&mut self, v: usize, side: u8) {
        let weight = i64::from(self.graph.weights[v]);
        self.weight[self.side[v] as usize] -= weight;
        self.weight[side as usize] += weight;
        self.side[v] = side;
    }

    /// Fiduccia and Mattheyses: the best move is made even if it does not pay, each vertex once; the best state stays.
    fn refine(&mut self) {
        let mut moved = vec![false; self.graph.len()];
        let mut log: Vec<(u32, u8)> = Vec::new();
        let mut heap = BinaryHeap::new();
        for _ in 0..PASSES {
            moved.fill(false);
            log.clear();
            heap.clear();
            for v in 0..self.graph.len() {
                if self.side[v] == BETWEEN {
                    self.offer(v, &mut heap);
                }
            }
            let begun = self.cost();
            let (mut best, mut keep, mut vain) = (begun, 0, 0);
            while let Some((gain, Reverse(v), to)) = heap.pop() {
                let v = v as usize;
                if self.side[v] != BETWEEN || moved[v] {
                    continue;
                }
                let now = self.gain(v, to);
                if now != gain {
                    // It got worse since it was offered; what got better was offered again.
                    if now < gain {
                        heap.push((now, Reverse(v as u32), to));
                    }
                    continue;
                }
                let after = self.weight[to as usize] + i64::from(self.graph.weights[v]);
                if after > self.largest.max(self.weight[1 - to as usize]) {
                    continue;
                }
                moved[v] = true;
                log.push((v as u32, BETWEEN));
                self.put(v, to);
                let graph = self.graph;
                for &u in graph.around(v) {
                    if self.side[u as usize] == 1 - to {
                        log.push((u, 1 - to));
                        self.put(u as usize, BETWEEN);
                        self.offer(u as usize, &mut heap);
                        for &t in graph.around(u as usize) {
                            if self.side[t as usize] == BETWEEN && !moved[t as usize] {
                                heap.push((self.gain(t as usize, to), Reverse(t), to));
                            }
                        }
                    }
                }
                if self.cost() < best {
                    (best, keep, vain) = (self.cost(), log.len(), 0);
                } else {
                    vain += 1;
                    if vain > VAIN_MOVES {
                        break;
                    }
                }
            }
            for (v, side) in log.drain(keep..).rev() {
                self.put(v as usize, side);
            }
            if best >= begun {
                break;
            }
        }
    }

    fn offer(&self, v: usize, heap: &mut BinaryHeap<(i64, Reverse<u32>, u8)>) {
        for to in [0, 1] {
            heap.push((self.gain(v, to), Reverse(v as u32), to));
        }
    }
}
