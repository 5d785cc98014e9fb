//! Weighted undirected graphs that are halved again and again, and made coarser to halve them well.

/// Vertices with weights, their neighbours and how strongly they are tied.
pub(super) struct Graph {
    pub(super) start: Vec<u32>,
    pub(super) neighbours: Vec<u32>,
    pub(super) ties: Vec<u32>,
    pub(super) weights: Vec<u32>,
}

impl Graph {
    /// A graph of equal vertices from its rows, of which the diagonal is left out.
    pub(super) fn from_rows<'a>(rows: impl Iterator<Item = &'a [u32]>) -> Self {
        let mut graph = Self::with_capacity(rows.size_hint().0, 0);
        for (row, columns) in rows.enumerate() {
            let others = columns.iter().filter(|c| **c as usize != row);
            graph.neighbours.extend(others);
            graph.close(1);
        }
        graph.ties.resize(graph.neighbours.len(), 1);
        graph
    }

    fn with_capacity(vertices: usize, edges: usize) -> Self {
        let mut start = Vec::with_capacity(vertices + 1);
        start.push(0);
        Self {
            start,
            neighbours: Vec::with_capacity(edges),
            ties: Vec::with_capacity(edges),
            weights: Vec::with_capacity(vertices),
        }
    }

    /// Ends the list of neighbours of the vertex that is being written.
    fn close(&mut self, weight: u32) {
        self.start.push(self.neighbours.len() as u32);
        self.weights.push(weight);
    }

    pub(super) fn len(&self) -> usize {
        self.weights.len()
    }

    pub(super) fn around(&self, v: usize) -> &[u32] {
        &self.neighbours[self.start[v] as usize..self.start[v + 1] as usize]
    }

    fn tied(&self, v: usize) -> impl Iterator<Item = (u32, u32)> + '_ {
        let range = self.start[v] as usize..self.start[v + 1] as usize;
        let neighbours = self.neighbours[range.clone()].iter().copied();
        neighbours.zip(self.ties[range].iter().copied())
    }

    pub(super) fn weight(&self) -> u32 {
        self.weights.iter().sum()
    }

    /// The part of the graph that `vertices` span, named by their places.
    pub(super) fn part(&self, vertices: &[u32]) -> Self {
        let mut place = vec![0u32; self.len()];
        for (new, &old) in vertices.iter().enumerate() {
            place[old as usize] = new as u32 + 1;
        }
        let mut part = Self::with_capacity(vertices.len(), self.neighbours.len() / 2);
        for &old in vertices {
            for (u, tie) in self.tied(old as usize) {
                if place[u as usize] > 0 {
                    part.neighbours.push(place[u as usize] - 1);
                    part.ties.push(tie);
                }
            }
            part.close(self.weights[old as usize]);
        }
        part
    }

    /// A graph of about half as many vertices, made by joining neighbours that are tied most strongly, and the new
    /// vertex of each old one.
    pub(super) fn coarser(&self) -> (Self, Vec<u32>) {
        const NONE: u32 = u32::MAX;
        let n = self.len();
        // No vertex may grow so heavy that the halves could not be balanced.
        let heaviest = 1 + self.weight() / 20;
        let mut new_of = vec![NONE; n];
        let mut pairs = Vec::with_capacity(n / 2 + 1);
        for v in 0..n {
            if new_of[v] != NONE {
                continue;
            }
            let free = self.tied(v).filter(|(u, _)| {
                new_of[*u as usize] == NONE
                    && self.weights[*u as usize] + self.weights[v] <= heaviest
            });
            // The lighter one where ties are equal keeps the weights even; the first where both are.
            let mate = free
                .map(|(u, tie)| {
                    (
                        tie,
                        std::cmp::Reverse(self.weights[u as usize]),
                        std::cmp::Reverse(u),
                    )
                })
                .max()
                .map_or(v as u32, |(_, _, u)| u.0);
            new_of[v] = pairs.len() as u32;
            new_of[mate as usize] = pairs.len() as u32;
            pairs.push([v as u32, mate]);
        }
        let mut coarse = Self::with_capacity(pairs.len(), self.neighbours.len() / 2);
        let mut seen_at = vec![NONE; pairs.len()];
        for (new, &[a, b]) in pairs.iter().enumerate() {
            let first = coarse.neighbours.len();
            let members = if a == b { &[a][..] } else { &[a, b][..] };
            for (u, tie) in members.iter().flat_map(|v| self.tied(*v as usize)) {
                let u = new_of[u as usize];
                let at = seen_at[u as usize];
                if u as usize == new {
                    continue;
                }
                // Places of former vertices lie before `first`.
                if at != NONE && at as usize >= first {
                    coarse.ties[at as usize] += tie;
                } else {
                    seen_at[u as usize] = coarse.neighbours.len() as u32;
                    coarse.neighbours.push(u);
                    coarse.ties.push(tie);
                }
            }
            coarse.close(members.iter().map(|v| self.weights[*v as usize]).sum());
        }
        (coarse, new_of)
    }
}
