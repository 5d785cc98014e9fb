//! Loops over elements: energy, and assembly into the block matrix, in parallel and with the same bits for any number
//! of threads.
//!
//! The rows are cut into fixed chunks. A chunk's task walks all elements that touch its rows and adds only to those
//! rows, in element order. Elements across a cut are evaluated twice (a few per cent on a mesh whose numbering
//! follows its shape), and in exchange there are no locks, colours, atomics or scattered writes.

use super::{Element, StepContext, Tangent};
use muslin_linalg::{BlockPattern, Mat3, Vec3};
use rayon::prelude::*;

/// Rows a task; fixed, so that sums never depend on the number of threads.
const CHUNK: usize = 1024;

/// Elements of one kind with their places in the matrix.
pub struct ElementGroup<E, const N: usize> {
    elements: Vec<E>,
    /// Position of block (a, b) of an element within the row of its vertex a.
    places: Vec<[[u16; N]; N]>,
    /// Elements that touch each chunk of rows, ascending.
    chunk_start: Vec<u32>,
    chunk_elements: Vec<u32>,
}

impl<E: Element<N>, const N: usize> ElementGroup<E, N> {
    /// A group; [`Forces::new`] places it in the matrix.
    pub fn new(elements: Vec<E>) -> Self {
        Self {
            elements,
            places: Vec::new(),
            chunk_start: Vec::new(),
            chunk_elements: Vec::new(),
        }
    }

    fn gather(element: &E, x: &[Vec3]) -> [Vec3; N] {
        // A loop: mapping an array of twelve is not unrolled.
        let vertices = element.vertices();
        let mut gathered = [Vec3::ZERO; N];
        for (to, v) in gathered.iter_mut().zip(vertices) {
            *to = x[v as usize];
        }
        gathered
    }

    /// Adds what elements do to their vertices to the rows of a chunk.
    fn add_forces(&self, chunk: usize, rows: &mut [Vec3], forces: impl Fn(&E) -> [Vec3; N]) {
        let range = self.chunk_start[chunk] as usize..self.chunk_start[chunk + 1] as usize;
        for &i in &self.chunk_elements[range] {
            let element = &self.elements[i as usize];
            let forces = forces(element);
            for (v, force) in element.vertices().into_iter().zip(forces) {
                if v as usize / CHUNK == chunk {
                    rows[v as usize % CHUNK] += force;
                }
            }
        }
    }
}

/// The face a group shows to [`Forces`], whatever its elements are.
trait AnyGroup: Send + Sync {
    fn visit_vertices(&self, visit: &mut dyn FnMut(&[u32]));
    fn place(&mut self, pattern: &BlockPattern);
    fn begin_step(&mut self, x: &[Vec3], v: &[Vec3], step: &StepContext);
    fn energy(&self, x: &[Vec3], chunk: usize) -> f64;
    fn add_to(&self, x: &[Vec3], target: &mut ChunkTarget);
    fn add_gradient(&self, x: &[Vec3], chunk: usize, gradient: &mut [Vec3]);
    fn add_product(&self, x: &[Vec3], d: &[Vec3], chunk: usize, out: &mut [Vec3]);
    fn bytes(&self) -> usize;
    fn len(&self) -> usize;
}

/// The rows that one task owns.
struct ChunkTarget<'a> {
    pattern: &'a BlockPattern,
    chunk: usize,
    first_slot: usize,
    gradient: &'a mut [Vec3],
    blocks: &'a mut [Mat3],
    scale: f64,
}

impl<E: Element<N>, const N: usize> AnyGroup for ElementGroup<E, N> {
    fn visit_vertices(&self, visit: &mut dyn FnMut(&[u32])) {
        for element in &self.elements {
            visit(&element.vertices());
        }
    }

    fn place(&mut self, pattern: &BlockPattern) {
        let place_in = |row: u32, column: u32| {
            let columns = pattern.columns_of(row as usize);
            columns.binary_search(&column).unwrap_or(0) as u16
        };
        self.places = self
            .elements
            .par_iter()
            .map(|e| {
                let v = e.vertices();
                v.map(|row| v.map(|column| place_in(row, column)))
            })
            .collect();
        let chunks = pattern.rows().div_ceil(CHUNK);
        let mut lists = vec![Vec::new(); chunks];
        for (i, element) in self.elements.iter().enumerate() {
            for v in element.vertices() {
                let list = &mut lists[v as usize / CHUNK];
                if list.last() != Some(&(i as u32)) {
                    list.push(i as u32);
                }
            }
        }
        self.chunk_start = vec![0];
        self.chunk_elements.clear();
        for list in lists {
            self.chunk_elements.extend(list);
            self.chunk_start.push(self.chunk_elements.len() as u32);
        }
        self.chunk_elements.shrink_to_fit();
    }

    fn begin_step(&mut self, x: &[Vec3], v: &[Vec3], step: &StepContext) {
        self.elements
            .par_iter_mut()
            .with_min_len(512)
            .for_each(|e| {
                let (xs, vs) = (Self::gather(e, x), Self::gather(e, v));
                e.begin_step(&xs, &vs, step);
            });
    }

    fn energy(&self, x: &[Vec3], chunk: usize) -> f64 {
        let range = self.chunk_start[chunk] as usize..self.chunk_start[chunk + 1] as usize;
        let mut sum = 0.0;
        for &i in &self.chunk_elements[range] {
            let element = &self.elements[i as usize];
            // An element on a cut counts where its first vertex is.
            if element.vertices()[0] as usize / CHUNK == chunk {
                sum += element.energy(&Self::gather(element, x));
            }
        }
        sum
    }

    fn add_to(&self, x: &[Vec3], target: &mut ChunkTarget) {
        let chunk = target.chunk;
        let range = self.chunk_start[chunk] as usize..self.chunk_start[chunk + 1] as usize;
        let mut tangent = Tangent::<N>::default();
        for &i in &self.chunk_elements[range] {
            let element = &self.elements[i as usize];
            let vertices = element.vertices();
            element.linearise(&Self::gather(element, x), &mut tangent);
            let places = &self.places[i as usize];
            for a in 0..N {
                let row = vertices[a] as usize;
                if row / CHUNK != chunk {
                    continue;
                }
                target.gradient[row % CHUNK] += tangent.gradient[a];
                let blocks =
                    &mut target.blocks[target.pattern.row(row).start - target.first_slot..];
                for b in 0..N {
                    let block = &mut blocks[usize::from(places[a][b])];
                    if a <= b {
                        *block += tangent.hessian[a][b] * target.scale;
                    } else {
                        *block += tangent.hessian[b][a].transpose() * target.scale;
                    }
                }
            }
        }
    }

    fn add_gradient(&self, x: &[Vec3], chunk: usize, gradient: &mut [Vec3]) {
        self.add_forces(chunk, gradient, |e| e.gradient(&Self::gather(e, x)));
    }

    fn add_product(&self, x: &[Vec3], d: &[Vec3], chunk: usize, out: &mut [Vec3]) {
        self.add_forces(chunk, out, |e| {
            e.product(&Self::gather(e, x), &Self::gather(e, d))
        });
    }

    fn bytes(&self) -> usize {
        self.elements.len() * (std::mem::size_of::<E>() + 2 * N * N)
            + 4 * (self.chunk_elements.len() + self.chunk_start.len())
    }

    fn len(&self) -> usize {
        self.elements.len()
    }
}

/// All forces of a world that depend on positions, and the pattern of their stiffness.
pub struct Forces {
    groups: Vec<Box<dyn AnyGroup>>,
    pattern: BlockPattern,
    partial: Vec<f64>,
}

/// Collects groups before their places are known.
#[derive(Default)]
pub struct ForcesBuilder {
    groups: Vec<Box<dyn AnyGroup>>,
}

impl ForcesBuilder {
    /// Adds elements of one kind; an empty list is skipped.
    pub fn add<E: Element<N> + 'static, const N: usize>(&mut self, elements: Vec<E>) {
        if !elements.is_empty() {
            self.groups.push(Box::new(ElementGroup::new(elements)));
        }
    }
}

impl Forces {
    /// An empty collection to add elements to.
    pub fn builder() -> ForcesBuilder {
        ForcesBuilder::default()
    }

    /// No vertices, no elements.
    pub fn empty() -> Self {
        Self {
            groups: Vec::new(),
            pattern: BlockPattern::default(),
            partial: Vec::new(),
        }
    }

    /// Lays out the matrix for `vertices` vertices.
    pub fn new(
        vertices: usize,
        builder: ForcesBuilder,
    ) -> Result<Self, muslin_linalg::SpanTooLarge> {
        let mut groups = builder.groups;
        let pattern = BlockPattern::from_groups(vertices, |visit| {
            for group in &groups {
                group.visit_vertices(visit);
            }
        })?;
        if let Some(row) =
            (0..vertices).find(|r| pattern.columns_of(*r).len() > usize::from(u16::MAX))
        {
            return Err(muslin_linalg::SpanTooLarge(pattern.columns_of(row).len()));
        }
        for group in &mut groups {
            group.place(&pattern);
        }
        Ok(Self {
            groups,
            pattern,
            partial: Vec::new(),
        })
    }

    /// Which vertices are coupled.
    pub fn pattern(&self) -> &BlockPattern {
        &self.pattern
    }

    /// Tells all elements that a step begins.
    pub fn begin_step(&mut self, x: &[Vec3], v: &[Vec3], step: &StepContext) {
        for group in &mut self.groups {
            group.begin_step(x, v, step);
        }
    }

    /// Sum of all energies, J, in an order that does not depend on the threads.
    pub fn energy(&mut self, x: &[Vec3]) -> f64 {
        let chunks = self.pattern.rows().div_ceil(CHUNK);
        self.partial.clear();
        self.partial.resize(chunks, 0.0);
        let groups = &self.groups;
        self.partial
            .par_iter_mut()
            .enumerate()
            .for_each(|(chunk, sum)| *sum = groups.iter().map(|g| g.energy(x, chunk)).sum());
        self.partial.iter().sum()
    }

    /// Adds the gradient to `gradient`.
    pub fn gradient(&self, x: &[Vec3], gradient: &mut [Vec3]) {
        gradient
            .par_chunks_mut(CHUNK)
            .enumerate()
            .for_each(|(chunk, rows)| {
                for group in &self.groups {
                    group.add_gradient(x, chunk, rows);
                }
            });
    }

    /// Number of groups: elements of one kind each.
    pub fn groups(&self) -> usize {
        self.groups.len()
    }

    /// Writes the gradient of the groups that are chosen to `out`.
    pub fn gradient_of(&self, chosen: &[bool], x: &[Vec3], out: &mut [Vec3]) {
        self.rows_of(chosen, out, |group, chunk, rows| {
            group.add_gradient(x, chunk, rows);
        });
    }

    /// Writes the Hessian of the groups that are chosen, times `d`, to `out`.
    pub fn product_of(&self, chosen: &[bool], x: &[Vec3], d: &[Vec3], out: &mut [Vec3]) {
        self.rows_of(chosen, out, |group, chunk, rows| {
            group.add_product(x, d, chunk, rows);
        });
    }

    fn rows_of(
        &self,
        chosen: &[bool],
        out: &mut [Vec3],
        add: impl Fn(&dyn AnyGroup, usize, &mut [Vec3]) + Sync,
    ) {
        let rows = out.par_chunks_mut(CHUNK).enumerate();
        rows.for_each(|(chunk, rows)| {
            rows.fill(Vec3::ZERO);
            for (group, _) in self.groups.iter().zip(chosen).filter(|(_, c)| **c) {
                add(group.as_ref(), chunk, rows);
            }
        });
    }

    /// Adds the gradient to `gradient` and `scale` times the Hessian to `blocks`.
    pub fn linearise(&self, x: &[Vec3], gradient: &mut [Vec3], blocks: &mut [Mat3], scale: f64) {
        self.split(
            x,
            0,
            self.pattern.rows().div_ceil(CHUNK),
            gradient,
            blocks,
            scale,
        );
    }

    /// Halves the rows until one chunk is left: disjoint slices without a list of them.
    fn split(
        &self,
        x: &[Vec3],
        first: usize,
        last: usize,
        gradient: &mut [Vec3],
        blocks: &mut [Mat3],
        scale: f64,
    ) {
        if last <= first {
            return;
        }
        let first_slot = self.pattern.row(first * CHUNK).start;
        if last == first + 1 {
            let mut target = ChunkTarget {
                pattern: &self.pattern,
                chunk: first,
                first_slot,
                gradient,
                blocks,
                scale,
            };
            for group in &self.groups {
                group.add_to(x, &mut target);
            }
            return;
        }
        let middle = first.midpoint(last);
        let (gradient_low, gradient_high) = gradient.split_at_mut((middle - first) * CHUNK);
        let (low, high) = blocks.split_at_mut(self.pattern.row(middle * CHUNK).start - first_slot);
        rayon::join(
            || self.split(x, first, middle, gradient_low, low, scale),
            || self.split(x, middle, last, gradient_high, high, scale),
        );
    }

    /// Number of elements.
    pub fn elements(&self) -> usize {
        self.groups.iter().map(|g| g.len()).sum()
    }

    /// Bytes held by elements and pattern.
    pub fn bytes(&self) -> usize {
        self.pattern.bytes() + self.groups.iter().map(|g| g.bytes()).sum::<usize>()
    }
}
