//! Writes operators that read images at given positions. Their attributes have other names in ONNX.

use super::operator::{At, Emitter, Operator, WriteError};
use crate::write::attributes::{float, int, ints, text};
use strait_core::op::{Col2Im, GridSample, RoiAlign, RoiMode, Sampling};
use strait_core::{Graph, Node};

/// Writes a grid sample. Up to operator set 19, the modes have other names and only images are supported.
impl Operator for GridSample {
    fn write(&self, emitter: &mut Emitter<'_>, at: At<'_>) -> Result<(), WriteError> {
        let (older, newer) = match self.mode {
            Sampling::Nearest => ("nearest", "nearest"),
            Sampling::Linear => ("bilinear", "linear"),
            Sampling::Cubic => ("bicubic", "cubic"),
        };
        let attributes = vec![
            text("mode", if emitter.opset < 20 { older } else { newer }),
            text("padding_mode", self.border.name()),
            int("align_corners", self.align_corners),
        ];
        at.plain(emitter, "GridSample", attributes)
    }

    fn since(&self, graph: &Graph, node: &Node) -> i64 {
        // True if the grid sample reads volumes instead of images.
        let grid = node.inputs.get(1).copied().flatten().and_then(|id| graph.value(id));
        if grid.is_some_and(|grid| grid.ty.shape.len() != 4) {
            20
        } else {
            1
        }
    }
}

/// Writes RoiAlign. The corners of regions and the indices of their images are separate operands.
impl Operator for RoiAlign {
    fn write(&self, emitter: &mut Emitter<'_>, at: At<'_>) -> Result<(), WriteError> {
        let mode = match self.mode {
            RoiMode::Average => "avg",
            RoiMode::Maximum => "max",
            RoiMode::Elements => return Err(at.unwritable("MaxRoiPool has the image of a region beside its corners")),
        };
        let corners = if self.half_pixel {
            "half_pixel"
        } else {
            "output_half_pixel"
        };
        let attributes = vec![
            text("mode", mode),
            text("coordinate_transformation_mode", corners),
            int("output_height", self.height),
            int("output_width", self.width),
            int("sampling_ratio", self.sampling),
            float("spatial_scale", self.scale),
        ];
        at.plain(emitter, "RoiAlign", attributes)
    }
}

impl Operator for Col2Im {
    fn write(&self, emitter: &mut Emitter<'_>, at: At<'_>) -> Result<(), WriteError> {
        let attributes = vec![
            ints("strides", &self.stride),
            ints("pads", &self.pad),
            ints("dilations", &self.dilation),
        ];
        let [image, block] =
            [&self.image, &self.block].map(|list| list.iter().map(|&n| n.into()).collect::<Vec<i64>>());
        at.with_lists(emitter, "Col2Im", attributes, &[("image", &image), ("block", &block)])
    }

    fn since(&self, _: &Graph, _: &Node) -> i64 {
        18
    }
}
