//! The short version of the collision fuzz; the example `ccd_fuzz` runs as many queries as one likes.

#[path = "support/fuzz.rs"]
mod fuzz;
mod support;

use fuzz::{Count, check, query};
use muslin_geometry::ccd::inclusion::{self, InclusionParams};
use support::Random;

#[test]
fn random_and_adversarial_queries() {
    let mut random = Random(11);
    let mut count = Count::default();
    for _ in 0..200_000 {
        check(&query(&mut random), &mut count);
    }
    println!("{count:?}");
    assert_eq!(
        (count.missed, count.late, count.unfounded),
        (0, 0, 0),
        "{count:?}"
    );
    assert!(count.hits > 80_000, "{count:?}");
}

/// The twin never misses a contact either, and agrees on when: at the time it reports, features really are near.
#[test]
fn agrees_with_interval_inclusion() {
    let mut random = Random(12);
    let params = InclusionParams {
        tolerance: 1e-7,
        max_boxes: 5000,
        ..Default::default()
    };
    let (mut contacts, mut both) = (0, 0);
    for _ in 0..5000 {
        let q = query(&mut random);
        let found = check(&q, &mut Count::default());
        // End points are rounded, so a contact built on purpose may be off by that much; a separation covers it.
        let params = InclusionParams {
            separation: 1e-9,
            ..params
        };
        let twin = if q.vertex_face {
            inclusion::vertex_face(q.x0, q.x1, &params)
        } else {
            inclusion::edge_edge(q.x0, q.x1, &params)
        };
        if let Some(contact) = q.contact {
            contacts += 1;
            let t = twin.expect("the twin never misses");
            assert!(t <= contact, "{t} is later than {contact}");
        }
        both += u32::from(twin.is_some() && found.is_some());
    }
    assert!(both > contacts && contacts > 2000, "{both} of {contacts}");
}
