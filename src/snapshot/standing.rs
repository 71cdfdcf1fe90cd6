//! Which snapshots' effects still stand, when rollbacks are counted in.

use std::collections::BTreeMap;

use super::{Kind, Phase, Snapshot};

/// Those whose effect still stands, oldest first, of a list in that order.
///
/// A rollback leads to what stood before the snapshot that it names: one that takes back an earlier
/// rollback makes the applies stand again that the earlier one took back. A rollback to a copy of
/// fstab, and one that was cut off, stand for themselves.
pub fn standing(snapshots: &[Snapshot]) -> Vec<&Snapshot> {
    /// What stands at a point: a snapshot, and what stood when it came.
    type Chain = Option<usize>;
    let mut below: Vec<Chain> = Vec::with_capacity(snapshots.len());
    let mut before: BTreeMap<u32, Chain> = BTreeMap::new();
    let mut top: Chain = None;
    for (at, snapshot) in snapshots.iter().enumerate() {
        before.insert(snapshot.number, top);
        below.push(top);
        match (snapshot.kind, snapshot.phase) {
            (_, Phase::Undone) => {}
            (Kind::Rollback { to: Some(to) }, Phase::Applied) => match before.get(&to) {
                Some(chain) if to < snapshot.number => top = *chain,
                // It was pruned: what is older stands.
                _ => {
                    while let Some(last) = top
                        && snapshots[last].number >= to
                    {
                        top = below[last];
                    }
                }
            },
            _ => top = Some(at),
        }
    }
    let mut standing = Vec::new();
    while let Some(at) = top {
        standing.push(&snapshots[at]);
        top = below[at];
    }
    standing.reverse();
    standing
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Plan;

    fn numbers(list: &[(u32, Option<u32>, Phase)]) -> Vec<u32> {
        let at = "2026-11-30T12:03:07Z".parse().unwrap();
        let snapshots: Vec<_> = list
            .iter()
            .map(|&(number, to, phase)| {
                let kind = match to {
                    None => Kind::Apply,
                    // A copy of fstab.
                    Some(0) => Kind::Rollback { to: None },
                    to => Kind::Rollback { to },
                };
                let mut snapshot = Snapshot::new(number, at, kind, Plan::default());
                snapshot.phase = phase;
                snapshot
            })
            .collect();
        standing(&snapshots).iter().map(|s| s.number).collect()
    }

    #[test]
    fn an_apply_stands_until_it_is_taken_back() {
        use Phase::{Applied, Committing, Live, Undone};
        let apply = |number| (number, None, Applied);
        let back = |number, to| (number, Some(to), Applied);
        assert_eq!(numbers(&[apply(1), apply(2), back(3, 2)]), [1]);
        assert_eq!(numbers(&[apply(1), apply(2), back(3, 1), apply(4)]), [4]);
        assert_eq!(numbers(&[apply(1), (2, None, Undone)]), [1]);
        assert_eq!(numbers(&[apply(1), (2, None, Live)]), [1, 2]);
        assert_eq!(
            numbers(&[apply(1), (2, Some(1), Committing)]),
            [1, 2],
            "half a rollback stands for itself"
        );
        assert_eq!(numbers(&[apply(1), back(2, 0)]), [1, 2], "a copy of fstab");
    }

    #[test]
    fn a_rollback_of_a_rollback_makes_what_it_took_back_stand_again() {
        use Phase::Applied;
        let apply = |number| (number, None, Applied);
        let back = |number, to| (number, Some(to), Applied);
        let twice = [apply(1), apply(2), back(3, 1), back(4, 3)];
        assert_eq!(numbers(&twice), [1, 2]);
        let thrice = [&twice[..], &[back(5, 4)]].concat();
        assert_eq!(numbers(&thrice), Vec::<u32>::new());
        let pruned = [apply(1), apply(5), back(6, 3)];
        assert_eq!(numbers(&pruned), [1]);
        assert_eq!(
            numbers(&[back(3, 3), back(4, 9)]),
            Vec::<u32>::new(),
            "junk"
        );
    }
}
