//! A number for each output of a layer, which is added to the layer's results.

use super::layers::Layer;
use crate::error::Error;
use crate::layer::geometry::Geometry;
use strait_execute::Tensor;

/// What is added to each output of a layer.
#[derive(Clone, Debug)]
pub(crate) struct Shift {
    numbers: Vec<f32>,
    axis: OutputAxis,
}

/// The axis along which the outputs of a layer lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OutputAxis {
    /// The second axis.
    Planes,
    /// The last axis.
    Rows,
}

impl OutputAxis {
    pub(crate) fn of(layer: &Layer) -> OutputAxis {
        match layer.geometry {
            Geometry::Window { .. } => OutputAxis::Planes,
            Geometry::Rows { .. } => OutputAxis::Rows,
        }
    }

    /// The number of elements of one output that lie next to each other.
    pub(crate) fn run(self, shape: &[usize]) -> usize {
        match self {
            OutputAxis::Planes => shape.get(2..).map_or(1, |shape| shape.iter().product()),
            OutputAxis::Rows => 1,
        }
    }
}

impl Shift {
    pub(crate) fn new(layer: &Layer, numbers: Vec<f32>) -> Shift {
        let axis = OutputAxis::of(layer);
        Shift { numbers, axis }
    }

    pub(crate) fn apply(&self, tensor: &Tensor) -> Result<Tensor, Error> {
        let mut elements = tensor.values::<f32>()?.to_vec();
        let run = self.axis.run(tensor.shape()).max(1);
        for elements in elements.chunks_mut((run * self.numbers.len()).max(1)) {
            for (elements, number) in elements.chunks_mut(run).zip(&self.numbers) {
                elements.iter_mut().for_each(|element| *element += number);
            }
        }
        Ok(Tensor::from_values(tensor.shape(), &elements)?)
    }
}
