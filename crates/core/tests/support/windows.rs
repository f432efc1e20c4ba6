//! Ops that resample, sample, or compute several results from one window, with valid and invalid attributes.

use super::Choices;
use smallvec::smallvec;
use strait_core::Op;
use strait_core::op::{
    Border, Col2Im, ConvTranspose, Coordinate, DeformConv, GridSample, Nearest, Resize, ResizeMode, Sampling,
};

/// The op called `name`.
pub(super) fn op(name: &str, choices: &mut Choices<'_>) -> Op {
    match name {
        "resize" => Resize {
            mode: choices.pick(&ResizeMode::ALL),
            coordinate: choices.pick(&Coordinate::ALL),
            nearest: Nearest::Floor,
            scales: vec![2.0, 1.0],
            sizes: choices.pick(&[smallvec![], smallvec![4, 3]]),
            antialias: choices.flip(),
            exclude_outside: choices.flip(),
            cubic: choices.pick(&[-0.75, -0.5, f32::INFINITY]),
            region: choices.pick(&[vec![], vec![0.0, -1.0, 1.0, f32::INFINITY, 1e-45]]),
        }
        .into(),
        "conv_transpose" => ConvTranspose {
            stride: smallvec![1, 2],
            pad: smallvec![choices.below(2) as u32; 4],
            dilation: smallvec![1, 1],
            output_padding: smallvec![0, choices.below(2) as u32],
            groups: 1,
        }
        .into(),
        "deform_conv" => DeformConv {
            stride: smallvec![1, 1],
            pad: smallvec![0; 4],
            dilation: smallvec![1, 1],
            groups: 1,
            offset_groups: choices.pick(&[0, 1, 3]),
        }
        .into(),
        "col2im" => Col2Im {
            image: smallvec![3],
            block: smallvec![choices.below(3) as u32],
            stride: smallvec![1],
            pad: smallvec![0, 1],
            dilation: smallvec![1],
        }
        .into(),
        "grid_sample" => GridSample {
            mode: choices.pick(&Sampling::ALL),
            border: choices.pick(&Border::ALL),
            align_corners: choices.flip(),
        }
        .into(),
        other => panic!("`{other}` is no op of these"),
    }
}
