//! What hangs together: every member names a leader, and those with the same leader at the end are one.

/// The number that stands for all that were joined to this one.
pub fn find(leader: &mut [u32], mut part: u32) -> u32 {
    while leader[part as usize] != part {
        leader[part as usize] = leader[leader[part as usize] as usize];
        part = leader[part as usize];
    }
    part
}

/// Joins all of `members`.
pub fn join(leader: &mut [u32], members: impl Iterator<Item = u32>) {
    let mut first = None;
    for member in members {
        let own = find(leader, member);
        let other = *first.get_or_insert(own);
        leader[own.max(other) as usize] = own.min(other);
        first = Some(own.min(other));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_joined_has_one_leader() {
        let mut leader: Vec<u32> = (0..7).collect();
        for group in [vec![6, 4], vec![1, 2, 3], vec![4, 3], vec![5]] {
            join(&mut leader, group.into_iter());
        }
        let leaders: Vec<u32> = (0..7).map(|k| find(&mut leader, k)).collect();
        assert_eq!(leaders, [0, 1, 1, 1, 1, 5, 1]);
    }
}
