//! Squared coupling orders: the selection of terms of the squared amplitude (`QCD^2==2`).

use super::request::{SquaredBound, SquaredOrder};
use super::trees::CouplingOrders;

/// The selected products of diagrams.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SquaredSelection {
    /// The group of each diagram; `None` for diagrams in no product. Diagrams of a group have the same split orders.
    pub groups: Vec<Option<usize>>,
    /// Number of groups.
    pub count: usize,
    /// The pairs of groups whose products are selected, in both orders.
    pub pairs: Vec<(usize, usize)>,
}

impl SquaredSelection {
    /// Whether no group is multiplied by its own conjugate.
    pub fn is_interference(&self) -> bool {
        self.pairs.iter().all(|(a, b)| a != b)
    }

    /// The selection by these bounds from diagrams with these orders; `None` if everything is selected. As in MG5aMC,
    /// diagrams in no product are removed repeatedly, until every remaining one is in a product. A negative bound is
    /// replaced by the value that it stands for, which then, also in MG5aMC, applies to the other processes of a label.
    pub fn new(
        orders: &[CouplingOrders],
        squared: &mut [SquaredOrder],
    ) -> Option<SquaredSelection> {
        if squared.is_empty() {
            return None;
        }
        let split = |orders: &CouplingOrders| -> Vec<i64> {
            squared.iter().map(|s| orders[s.order].into()).collect()
        };
        let mut kinds: Vec<Vec<i64>> = Vec::new();
        let kind_of: Vec<usize> = orders
            .iter()
            .map(|orders| {
                let kind = split(orders);
                let at = kinds.iter().position(|k| *k == kind);
                at.unwrap_or_else(|| {
                    kinds.push(kind);
                    kinds.len() - 1
                })
            })
            .collect();
        let mut bounds: Vec<(usize, SquaredBound, i64)> = squared
            .iter()
            .enumerate()
            .map(|(i, s)| (i, s.bound, s.value))
            .collect();
        let passes = |a: &[i64], b: &[i64], bounds: &[(usize, SquaredBound, i64)]| {
            bounds
                .iter()
                .filter(|bound| bound.2 >= 0)
                .all(|&(i, bound, value)| {
                    let sum = a[i] + b[i];
                    match bound {
                        SquaredBound::Equal => sum == value,
                        SquaredBound::AtMost => sum <= value,
                        SquaredBound::Above => sum > value,
                    }
                })
        };
        let mut kept: Vec<usize> = (0..kinds.len()).collect();
        loop {
            let before = kept.clone();
            kept.retain(|&a| {
                before
                    .iter()
                    .any(|&b| passes(&kinds[a], &kinds[b], &bounds))
            });
            if kept.len() == before.len() {
                break;
            }
        }
        // A negative bound counts from the lowest value that occurs.
        if let Some(at) = bounds.iter().position(|bound| bound.2 < 0)
            && let Some(lowest) = kept.iter().map(|&k| kinds[k][bounds[at].0]).min()
        {
            bounds[at].2 = 2 * lowest + 2 * (-bounds[at].2 - 1);
            squared[at].value = bounds[at].2;
            let before = kept.clone();
            let own = &bounds[at..=at];
            kept.retain(|&a| before.iter().any(|&b| passes(&kinds[a], &kinds[b], own)));
        }
        let all = (0..kept.len()).flat_map(|a| (0..kept.len()).map(move |b| (a, b)));
        let pairs: Vec<(usize, usize)> = all
            .filter(|&(a, b)| passes(&kinds[kept[a]], &kinds[kept[b]], &bounds))
            .collect();
        if kept.len() == kinds.len() && pairs.len() == kept.len() * kept.len() {
            return None;
        }
        let group = |kind: &usize| kept.iter().position(|k| k == kind);
        Some(SquaredSelection {
            groups: kind_of.iter().map(group).collect(),
            count: kept.len(),
            pairs,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn selection(squared: &[(usize, SquaredBound, i64)]) -> Option<SquaredSelection> {
        // QCD and QED of two diagrams by gluons, one by a photon and one by both.
        let orders = [[2, 0], [2, 0], [0, 2], [1, 1]].map(Vec::from);
        let mut squared: Vec<_> = squared
            .iter()
            .map(|&(order, bound, value)| SquaredOrder {
                order,
                bound,
                value,
            })
            .collect();
        SquaredSelection::new(&orders, &mut squared)
    }

    #[test]
    fn products_are_selected() {
        use SquaredBound::*;
        assert_eq!(selection(&[]), None);
        assert_eq!(selection(&[(0, AtMost, 4)]), None);
        let one = selection(&[(0, Equal, 4)]).unwrap();
        assert_eq!(
            (one.groups, one.pairs),
            (vec![Some(0), Some(0), None, None], vec![(0, 0)])
        );
        let interference = selection(&[(0, Equal, 2)]).unwrap();
        assert_eq!(interference.groups, [Some(0), Some(0), Some(1), Some(2)]);
        assert_eq!(interference.pairs, [(0, 1), (1, 0), (2, 2)]);
        let above = selection(&[(1, Above, 2)]).unwrap();
        assert_eq!(above.groups, [None, None, Some(0), Some(1)]);
        assert_eq!(above.pairs, [(0, 0), (0, 1), (1, 0)]);
        // The second lowest power of QED.
        let negative = selection(&[(1, Equal, -2)]).unwrap();
        assert_eq!(negative.pairs, interference.pairs);
        // Its value applies to other processes.
        let mut squared = [SquaredOrder {
            order: 1,
            bound: Equal,
            value: -2,
        }];
        assert_eq!(SquaredSelection::new(&[], &mut squared), None);
        assert_eq!(squared[0].value, -2);
        SquaredSelection::new(&[vec![2, 1], vec![0, 3]], &mut squared);
        assert_eq!(squared[0].value, 4);
        let empty = selection(&[(1, Equal, 9)]).unwrap();
        assert_eq!((empty.count, empty.groups[0]), (0, None));
    }
}
