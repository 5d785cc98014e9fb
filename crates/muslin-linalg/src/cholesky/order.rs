//! Nested dissection: the order of elimination that leaves little fill and independent halves for the threads.

use super::graph::Graph;
use super::separator::{BETWEEN, separate};
use faer::dyn_stack::{MemBuffer, MemStack};
use faer::sparse::linalg::amd;
use faer::sparse::{FaerError, SymbolicSparseColMatRef};

/// Vertices of a part that is ordered by minimum degree instead of being halved.
const LEAF: usize = 120;

/// Vertices from which on both halves are ordered at the same time.
const SHARED: usize = 2000;

/// The vertex eliminated at each place.
pub(super) fn nested_dissection<'a>(
    rows: impl Iterator<Item = &'a [u32]>,
) -> Result<Vec<u32>, FaerError> {
    dissect(&Graph::from_rows(rows))
}

fn dissect(graph: &Graph) -> Result<Vec<u32>, FaerError> {
    if graph.len() <= LEAF {
        return minimum_degree(graph);
    }
    let side = separate(graph);
    let of_side = |wanted: u8| -> Vec<u32> {
        let all = 0..graph.len() as u32;
        all.filter(|v| side[*v as usize] == wanted).collect()
    };
    let halves = [of_side(0), of_side(1)];
    if halves.iter().any(Vec::is_empty) {
        // Nothing to halve: nearly all are neighbours of all.
        return minimum_degree(graph);
    }
    let ordered = |half: &[u32]| -> Result<Vec<u32>, FaerError> {
        let local = dissect(&graph.part(half))?;
        Ok(local.iter().map(|v| half[*v as usize]).collect())
    };
    let (first, second) = if graph.len() < SHARED {
        (ordered(&halves[0]), ordered(&halves[1]))
    } else {
        rayon::join(|| ordered(&halves[0]), || ordered(&halves[1]))
    };
    let mut order = first?;
    order.extend(second?);
    order.extend(of_side(BETWEEN));
    Ok(order)
}

fn minimum_degree(graph: &Graph) -> Result<Vec<u32>, FaerError> {
    let n = graph.len();
    let pattern = SymbolicSparseColMatRef::new_checked(n, n, &graph.start, None, &graph.neighbours);
    let (mut order, mut inverse) = (vec![0u32; n], vec![0u32; n]);
    let mut scratch = MemBuffer::new(amd::order_maybe_unsorted_scratch::<u32>(
        n,
        graph.neighbours.len(),
    ));
    amd::order_maybe_unsorted(
        &mut order,
        &mut inverse,
        pattern,
        amd::Control::default(),
        MemStack::new(&mut scratch),
    )?;
    Ok(order)
}
