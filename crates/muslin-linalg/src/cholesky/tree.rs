//! What a factor will look like, found from the pattern alone: supernodes, which are runs of columns with the same rows,
//! and the tree in which their updates flow upwards.

use std::ops::Range;

/// Subtrees with fewer products than this, or than this share of all, are one task. Many tasks take much memory. Both are
/// fixed, so that results never depend on the thread count.
const TASK_PRODUCTS: f64 = 2e6;
const TASK_SHARE: f64 = 0.04;
/// Subtrees of a smaller factor than this, or than that share of all, are one task of a solve.
const TASK_NUMBERS: f64 = 50_000.0;

/// Columns that are eliminated together, and how they hang together with the rest.
pub(super) struct Supernode {
    /// Columns, in the order of elimination.
    pub(super) columns: Range<usize>,
    /// Rows below the columns, ascending; each is a column of an ancestor.
    pub(super) rows: Range<usize>,
    /// Where its numbers begin: (columns + rows) x columns, by columns.
    pub(super) panel: usize,
    /// Supernodes that update it. They and what lies below them come right before it.
    pub(super) children: Vec<u32>,
    /// First supernode of the subtree.
    pub(super) first: usize,
    /// Numbers of working memory for factorising the subtree; the update of this supernode is at its beginning.
    pub(super) memory: usize,
    /// Whether the children are worth a task each, when factorising and when solving.
    pub(super) parallel: bool,
    pub(super) parallel_solve: bool,
}

impl Supernode {
    pub(super) fn width(&self) -> usize {
        self.columns.len()
    }

    pub(super) fn height(&self) -> usize {
        self.columns.len() + self.rows.len()
    }

    /// Numbers of its panel, with `size` scalars a vertex.
    fn numbers(&self, size: usize) -> usize {
        size * size * self.width() * self.height()
    }

    /// Multiply-adds of its elimination.
    fn products(&self, size: usize) -> f64 {
        let (w, h) = (size * self.width(), size * self.height());
        (0..w).map(|k| ((h - k) * (h - k)) as f64 / 2.0).sum()
    }
}

/// The supernodes of a factor, children before parents.
#[derive(Default)]
pub(super) struct Tree {
    pub(super) nodes: Vec<Supernode>,
    pub(super) roots: Vec<u32>,
    /// Rows of all supernodes.
    pub(super) rows: Vec<u32>,
    /// Place of each of these rows in the front (columns, then rows) of the parent.
    pub(super) in_parent: Vec<u32>,
    /// Numbers of the factor and multiply-adds of a factorisation.
    pub(super) numbers: usize,
    pub(super) products: f64,
    /// Working memory for factorising all.
    pub(super) memory: usize,
}

/// A supernode while the tree is made.
struct Draft {
    columns: Vec<u32>,
    rows: Vec<u32>,
    children: Vec<u32>,
    /// Entries of columns that are stored though they are zero.
    zeros: usize,
}

impl Draft {
    /// Entries of its columns, both of the triangle and below.
    fn area(columns: usize, rows: usize) -> usize {
        columns * (columns + 1) / 2 + columns * rows
    }
}

impl Tree {
    /// Numbers of the factor in the subtree of a node.
    pub(super) fn panels_below(&self, node: usize) -> usize {
        let end = self.nodes.get(node + 1).map_or(self.numbers, |n| n.panel);
        end - self.nodes[self.nodes[node].first].panel
    }

    /// Decides which children are tasks of their own, and what memory subtrees need.
    fn share(&mut self, size: usize) {
        let task_products = TASK_PRODUCTS.max(TASK_SHARE * self.products);
        let task_numbers = TASK_NUMBERS.max(TASK_SHARE * self.numbers as f64);
        let mut costs: Vec<[f64; 2]> = Vec::with_capacity(self.nodes.len());
        for at in 0..self.nodes.len() {
            let node = &self.nodes[at];
            let below = |kind: usize| -> (f64, f64) {
                let each = node.children.iter().map(|c| costs[*c as usize][kind]);
                each.fold((0.0, 0.0), |(sum, most), c| (sum + c, f64::max(most, c)))
            };
            let ((products, most_products), (numbers, most_numbers)) = (below(0), below(1));
            costs.push([
                products + node.products(size),
                numbers + node.numbers(size) as f64,
            ]);
            let parallel = products - most_products > task_products;
            let update = (size * node.rows.len()).pow(2);
            let memory = update + memory(&self.nodes, &node.children, parallel, size);
            let node = &mut self.nodes[at];
            node.parallel = parallel;
            node.parallel_solve = numbers - most_numbers > task_numbers;
            node.memory = memory;
        }
    }

    /// Analyses a symmetric pattern whose vertex `order[k]` is eliminated at place k, with `size` scalars a vertex. The
    /// order is changed to an equivalent one in which subtrees lie together.
    pub(super) fn new<'a>(
        order: &mut Vec<u32>,
        row: impl Fn(usize) -> &'a [u32],
        size: usize,
    ) -> Self {
        let (mut drafts, roots) = fundamental(order, row);
        for k in 0..drafts.len() {
            amalgamate(&mut drafts, k);
        }
        arrange(drafts, &roots, order, size)
    }
}

/// Maximal runs of columns in which each has the rows of the one before it. Their columns and rows are places.
fn fundamental<'a>(order: &[u32], row: impl Fn(usize) -> &'a [u32]) -> (Vec<Draft>, Vec<u32>) {
    let n = order.len();
    let mut place = vec![0u32; n];
    for (k, &v) in order.iter().enumerate() {
        place[v as usize] = k as u32;
    }
    let mut drafts: Vec<Draft> = Vec::new();
    // Supernodes whose first row below is this column.
    let mut waiting: Vec<Vec<u32>> = vec![Vec::new(); n];
    let mut seen = vec![u32::MAX; n];
    let mut roots = Vec::new();
    for column in 0..n {
        let mark = column as u32;
        seen[column] = mark;
        let children = std::mem::take(&mut waiting[column]);
        let mut rows: Vec<u32> = Vec::new();
        let mut add = |rows: &mut Vec<u32>, from: &mut dyn Iterator<Item = u32>| {
            for r in from {
                if r > mark && std::mem::replace(&mut seen[r as usize], mark) != mark {
                    rows.push(r);
                }
            }
        };
        for &c in &children {
            add(&mut rows, &mut drafts[c as usize].rows.iter().copied());
        }
        let inherited = rows.len();
        let own = row(order[column] as usize);
        add(&mut rows, &mut own.iter().map(|v| place[*v as usize]));
        let only = if let &[c] = &children[..] {
            Some(c)
        } else {
            None
        };
        let node = match only {
            Some(c) if rows.len() == inherited => {
                let draft = &mut drafts[c as usize];
                draft.columns.push(mark);
                draft.rows.remove(0);
                c
            }
            _ => {
                rows.sort_unstable();
                drafts.push(Draft {
                    columns: vec![mark],
                    rows,
                    children,
                    zeros: 0,
                });
                drafts.len() as u32 - 1
            }
        };
        match drafts[node as usize].rows.first() {
            Some(next) => waiting[*next as usize].push(node),
            None => roots.push(node),
        }
    }
    (drafts, roots)
}

/// Joins children with their parent where that stores few zeros: long columns are quicker than exact ones.
fn amalgamate(drafts: &mut [Draft], parent: usize) {
    let children = std::mem::take(&mut drafts[parent].children);
    let mut kept = Vec::with_capacity(children.len());
    for child in children {
        let (c, p) = (&drafts[child as usize], &drafts[parent]);
        let width = c.columns.len() + p.columns.len();
        let joint = Draft::area(width, p.rows.len());
        let apart =
            Draft::area(c.columns.len(), c.rows.len()) + Draft::area(p.columns.len(), p.rows.len());
        let zeros = joint - apart + c.zeros + p.zeros;
        let allowed = match width {
            0..=4 => 0.8,
            5..=12 => 0.3,
            13..=32 => 0.1,
            _ => 0.03,
        };
        if zeros as f64 > allowed * joint as f64 {
            kept.push(child);
            continue;
        }
        let c = std::mem::take(&mut drafts[child as usize].columns);
        kept.append(&mut drafts[child as usize].children);
        let p = &mut drafts[parent];
        p.zeros = zeros;
        let own = std::mem::replace(&mut p.columns, c);
        p.columns.extend(own);
    }
    drafts[parent].children = kept;
}

/// Numbers the supernodes so that subtrees are runs, and writes everything in terms of the new order.
fn arrange(mut drafts: Vec<Draft>, roots: &[u32], order: &mut Vec<u32>, size: usize) -> Tree {
    let mut tree = Tree::default();
    let n = order.len();
    let mut new_place = vec![0u32; n];
    let mut new_order = Vec::with_capacity(n);
    let mut number = vec![0u32; drafts.len()];
    let mut first = vec![usize::MAX; drafts.len()];
    // Children before parents without recursion: a supernode is met twice.
    let mut todo: Vec<(u32, bool)> = roots.iter().rev().map(|r| (*r, false)).collect();
    let mut sequence = Vec::new();
    while let Some((d, entered)) = todo.pop() {
        if !entered {
            first[d as usize] = sequence.len();
            todo.push((d, true));
            let children = drafts[d as usize].children.iter().rev();
            todo.extend(children.map(|c| (*c, false)));
            continue;
        }
        number[d as usize] = sequence.len() as u32;
        for &column in &drafts[d as usize].columns {
            new_place[column as usize] = new_order.len() as u32;
            new_order.push(order[column as usize]);
        }
        sequence.push(d);
    }
    for &d in &sequence {
        let draft = &mut drafts[d as usize];
        for r in &mut draft.rows {
            *r = new_place[*r as usize];
        }
        draft.rows.sort_unstable();
        let start = draft.columns.first().map_or(0, |c| new_place[*c as usize]) as usize;
        let at = tree.rows.len();
        tree.rows.extend_from_slice(&draft.rows);
        let node = Supernode {
            columns: start..start + draft.columns.len(),
            rows: at..tree.rows.len(),
            panel: tree.numbers,
            children: draft.children.iter().map(|c| number[*c as usize]).collect(),
            first: first[d as usize],
            memory: 0,
            parallel: false,
            parallel_solve: false,
        };
        tree.numbers += node.numbers(size);
        tree.products += node.products(size);
        tree.nodes.push(node);
    }
    tree.share(size);
    tree.in_parent = vec![0; tree.rows.len()];
    for parent in &tree.nodes {
        for &child in &parent.children {
            for k in tree.nodes[child as usize].rows.clone() {
                let row = tree.rows[k] as usize;
                tree.in_parent[k] = if parent.columns.contains(&row) {
                    row - parent.columns.start
                } else {
                    let rows = &tree.rows[parent.rows.clone()];
                    parent.width() + rows.partition_point(|r| (*r as usize) < row)
                } as u32;
            }
        }
    }
    tree.roots = roots.iter().map(|r| number[*r as usize]).collect();
    tree.memory = memory(&tree.nodes, &tree.roots, true, size);
    *order = new_order;
    tree
}

/// Working memory that several subtrees need: each its own at once, or one after the other, of which only updates stay.
fn memory(nodes: &[Supernode], subtrees: &[u32], parallel: bool, size: usize) -> usize {
    let (mut most, mut held) = (0, 0);
    for &s in subtrees {
        let node = &nodes[s as usize];
        most = most.max(held + node.memory);
        held += if parallel {
            node.memory
        } else {
            (size * node.rows.len()).pow(2)
        };
    }
    most
}
