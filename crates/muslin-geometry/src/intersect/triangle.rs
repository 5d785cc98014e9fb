//! Do two closed triangles have a point in common? Exact in every degenerate case.
//!
//! Triangles are convex hulls of three points, possibly segments or points. Two of them meet exactly when a side of one
//! meets the other (if one contains the other, its sides do), so everything reduces to a segment against a triangle.

use super::predicates::{
    Projection, between, collinear, order, orient3d, sorted, surely_on_one_side,
};
use muslin_linalg::Vec3;
use std::cmp::Ordering;

pub(super) type Triangle = [Vec3; 3];

/// Whether the closed triangles have a point in common.
pub(super) fn triangles_meet(s: &Triangle, t: &Triangle) -> bool {
    // All of one strictly on one side of the other's plane: the usual answer, and the cheapest.
    if surely_on_one_side(s[0], s[1], s[2], t) || surely_on_one_side(t[0], t[1], t[2], s) {
        return false;
    }
    let t_sides = t.map(|p| orient3d(s[0], s[1], s[2], p));
    if t_sides[0] != 0 && t_sides == [t_sides[0]; 3] {
        return false;
    }
    let s_sides = s.map(|p| orient3d(t[0], t[1], t[2], p));
    if s_sides[0] != 0 && s_sides == [s_sides[0]; 3] {
        return false;
    }
    if !s_sides.contains(&0) && !t_sides.contains(&0) {
        return straddling_triangles_meet(s, s_sides, t, t_sides);
    }
    sides(s).any(|[p, q]| segment_meets_triangle(p, q, t))
        || sides(t).any(|[p, q]| segment_meets_triangle(p, q, s))
}

/// The general case: each triangle has corners strictly on both sides of the other's plane, so each cuts an interval out of
/// the line in which the planes meet. Two more signs compare the intervals (Guigue and Devillers 2003).
fn straddling_triangles_meet(
    s: &Triangle,
    s_sides: [i8; 3],
    t: &Triangle,
    t_sides: [i8; 3],
) -> bool {
    let (mut s, s_positive) = lonely_first(s, s_sides);
    let (mut t, t_positive) = lonely_first(t, t_sides);
    // Turning a triangle over swaps the sides of its plane: both lonely corners shall be on the positive one.
    if !s_positive {
        t.swap(1, 2);
    }
    if !t_positive {
        s.swap(1, 2);
    }
    orient3d(s[0], s[1], t[0], t[1]) <= 0 && orient3d(s[0], s[2], t[2], t[0]) <= 0
}

/// The triangle turned such that the corner alone on its side comes first, and whether that side is the positive one.
fn lonely_first(t: &Triangle, sides: [i8; 3]) -> (Triangle, bool) {
    let [a, b, c] = *t;
    if sides[1] == sides[2] {
        ([a, b, c], sides[0] > 0)
    } else if sides[2] == sides[0] {
        ([b, c, a], sides[1] > 0)
    } else {
        ([c, a, b], sides[2] > 0)
    }
}

fn sides(t: &Triangle) -> impl Iterator<Item = [Vec3; 2]> {
    let [a, b, c] = *t;
    [[a, b], [b, c], [c, a]].into_iter()
}

/// Whether the closed segment `p q` meets the closed triangle.
pub(super) fn segment_meets_triangle(p: Vec3, q: Vec3, t: &Triangle) -> bool {
    let [a, b, c] = *t;
    let Some(plane) = Projection::of_plane(a, b, c) else {
        // On a line: the hull is the segment between the extreme points.
        let (lo, _) = sorted(sorted(a, b).0, c);
        let (_, hi) = sorted(sorted(a, b).1, c);
        return segments_meet(p, q, lo, hi);
    };
    match (orient3d(a, b, c, p), orient3d(a, b, c, q)) {
        (0, 0) => {
            point_in_flat_triangle(p, t, plane)
                || sides(t).any(|[a, b]| flat_segments_meet(p, q, a, b, plane))
        }
        (x, y) if x == y => false,
        _ => {
            // The line pierces the plane between p and q; inside the triangle when it passes all sides on the same hand.
            let turns = [
                orient3d(p, q, a, b),
                orient3d(p, q, b, c),
                orient3d(p, q, c, a),
            ];
            turns.iter().all(|&s| s >= 0) || turns.iter().all(|&s| s <= 0)
        }
    }
}

/// `p` in the plane of the triangle, `plane` one-to-one on it.
fn point_in_flat_triangle(p: Vec3, t: &Triangle, plane: Projection) -> bool {
    let [a, b, c] = *t;
    let turns = [
        plane.orient(a, b, p),
        plane.orient(b, c, p),
        plane.orient(c, a, p),
    ];
    turns.iter().all(|&s| s >= 0) || turns.iter().all(|&s| s <= 0)
}

/// Whether two closed segments in space meet.
pub(super) fn segments_meet(p: Vec3, q: Vec3, a: Vec3, b: Vec3) -> bool {
    if orient3d(p, q, a, b) != 0 {
        return false;
    }
    let plane = Projection::of_plane(p, q, a)
        .or_else(|| Projection::of_plane(p, q, b))
        .or_else(|| Projection::of_plane(a, b, p))
        .or_else(|| Projection::of_plane(a, b, q));
    if let Some(plane) = plane {
        return flat_segments_meet(p, q, a, b, plane);
    }
    // All on one line: two intervals.
    let ((p, q), (a, b)) = (sorted(p, q), sorted(a, b));
    order(p, b) != Ordering::Greater && order(a, q) != Ordering::Greater
}

/// Coplanar segments, `plane` one-to-one on their plane.
fn flat_segments_meet(p: Vec3, q: Vec3, a: Vec3, b: Vec3, plane: Projection) -> bool {
    let (pa, pb) = (plane.orient(p, q, a), plane.orient(p, q, b));
    let (ap, aq) = (plane.orient(a, b, p), plane.orient(a, b, q));
    if pa * pb < 0 && ap * aq < 0 {
        return true;
    }
    // Anything else that meets does so at an end point. A zero turn puts the point on the line, in space too; with a
    // zero-length segment there is no line, but then `between` asks for equality.
    (pa == 0 && between(a, p, q))
        || (pb == 0 && between(b, p, q))
        || (ap == 0 && between(p, a, b))
        || (aq == 0 && between(q, a, b))
}

/// Whether triangles that share corner `a` (and no other by name) meet anywhere but there.
pub(super) fn meet_beyond_corner(a: Vec3, [b, c]: [Vec3; 2], [d, e]: [Vec3; 2]) -> bool {
    // The usual answer: the rest of one lies strictly on one side of the other's plane.
    if surely_on_one_side(a, b, c, &[d, e]) || surely_on_one_side(a, d, e, &[b, c]) {
        return false;
    }
    for ([b, c], [d, e]) in [([b, c], [d, e]), ([d, e], [b, c])] {
        let side = orient3d(a, b, c, d);
        if side != 0 && side == orient3d(a, b, c, e) {
            return false;
        }
    }
    let pieces = |b: Vec3, c: Vec3| {
        // With `a` on the far side the triangle is two segments that start at `a`.
        if collinear(a, b, c) && between(a, b, c) {
            [Some([b, b]), Some([c, c])]
        } else {
            [Some([b, c]), None]
        }
    };
    // Seen from `a` each piece reaches out to a far side that does not contain `a`. A common point lies on a common ray, and
    // following the ray outwards one first arrives at one of the far sides, still inside the other piece.
    pieces(b, c).into_iter().flatten().any(|[b, c]| {
        pieces(d, e).into_iter().flatten().any(|[d, e]| {
            let trivial = |p: Vec3, q: Vec3| p == a && q == a;
            !trivial(b, c)
                && !trivial(d, e)
                && (segment_meets_triangle(b, c, &[a, d, e])
                    || segment_meets_triangle(d, e, &[a, b, c]))
        })
    })
}

/// Whether triangles that share the side `a b`, with third corners `c` and `d`, meet anywhere but there.
pub(super) fn meet_beyond_side(a: Vec3, b: Vec3, c: Vec3, d: Vec3) -> bool {
    // The usual answer: two different planes, and the side is all they have in common.
    if surely_on_one_side(a, b, c, &[d]) || orient3d(a, b, c, d) != 0 {
        return false;
    }
    if a == b {
        return meet_beyond_corner(a, [b, c], [b, d]);
    }
    match (Projection::of_plane(a, b, c), collinear(a, b, d)) {
        // Two proper triangles overlap when folded flat onto each other.
        (Some(plane), false) => plane.orient(a, b, c) == plane.orient(a, b, d),
        // All on one line: both must reach beyond the same end.
        (None, true) => {
            let (lo, hi) = sorted(a, b);
            let beyond = |x: Vec3| {
                if order(x, lo) == Ordering::Less {
                    -1
                } else {
                    i8::from(order(hi, x) == Ordering::Less)
                }
            };
            beyond(c) * beyond(d) > 0
        }
        // The proper one meets the line of the side in the side only.
        _ => false,
    }
}
