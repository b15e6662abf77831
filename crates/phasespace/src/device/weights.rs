//! Weights of channels.

use super::Tables;
use crate::Weights;
use crate::weights::scale;

const EXCHANGED: u32 = 1 << 31;
const SAME_SQUARE: u32 = 1 << 30;

impl Tables {
    /// Adds weights of channels; returns their offset, and their number of rows.
    pub fn weights(&mut self, weights: &Weights) -> (u32, u32) {
        let Weights {
            legs: _,
            squared: _,
            squares,
            propagators,
            products,
        } = weights;
        // Propagators with the same squared momentum are adjacent.
        let mut order: Vec<usize> = (0..propagators.len()).collect();
        order.sort_by_key(|&one| propagators[one].0);
        let mut rows = vec![0; propagators.len()];
        let begin = self.next();
        self.words.extend([order.len() as u32, 0, 0]);
        let mut before = None;
        for (row, &one) in (0..).zip(&order) {
            rows[one] = row;
            let (square, mass, width) = propagators[one];
            let (legs, exchanged) = squares[square];
            let numbers = self.numbers(&[mass, width, scale(width)]);
            let exchanged = if exchanged { EXCHANGED } else { 0 };
            let same = if before == Some(square) {
                SAME_SQUARE
            } else {
                0
            };
            self.words.extend([legs | exchanged | same, numbers]);
            before = Some(square);
        }
        let first = self.next();
        for (factor, product) in products {
            let factor = self.numbers(&[*factor]);
            self.words.extend([product.len() as u32, factor]);
            self.words.extend(product.iter().map(|&one| rows[one]));
        }
        let end = self.next();
        self.words[begin as usize + 1..][..2].copy_from_slice(&[first, end]);
        (begin, order.len() as u32)
    }
}
