//! Register tiles of products of bytes on AVX2, with constant weights in panels.
//!
//! AVX2 multiplies bytes with `vpmaddubsw`, which adds two neighbouring products in 16 bits and saturates. The activations are
//! unsigned bytes, so two products fit in 16 bits for all activations if the positive weights of the two have a sum of at most
//! 128, and so have the negative ones: 255·128 ≤ 2^15 − 1. Most groups of four bytes of a panel have only such weights in all
//! columns of half a panel, and often even the sums of two groups fit together ([`groups`]). These are multiplied as bytes
//! ([`tile`]), and all others are widened to words ([`widened`](super::widened)). So all sums are exact. For the products of a
//! group with eight columns of a row, this takes:
//!
//! | group | multiplications | additions |
//! |---|---|---|
//! | one of two together | 1½ | 1 |
//! | alone | 2 | 1 |
//! | widened | 2 | 2 |

mod groups;
mod tile;

pub(crate) use groups::{Groups, Weights};
pub(crate) use tile::{Factors, ROWS};
