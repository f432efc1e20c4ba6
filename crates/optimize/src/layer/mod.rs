//! Chooses the codes and the bias of one layer from what the layer reads and should make at some positions.

pub(crate) mod candidates;
pub(crate) mod geometry;
pub(crate) mod moments;
pub(crate) mod numbers;
pub(crate) mod positions;
