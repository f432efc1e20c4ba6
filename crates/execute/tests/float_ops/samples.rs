//! Tests resizing, and samples at positions that an operand gives.

use super::close;
use super::common::float_op;
use smallvec::smallvec;
use strait_core::op::{self, Border, Coordinate, Nearest, Resize, ResizeMode, Sampling};

type Operand<'a> = (&'a [u64], &'a [f32]);

const LINE: [f32; 4] = [1.0, 2.0, 4.0, 8.0];

fn line(op: Resize) -> Vec<f32> {
    float_op(op, &[(&[4], &LINE)])
}

#[test]
fn cubic_resampling_weighs_four_neighbours() {
    let doubled = Resize {
        scales: vec![2.0],
        ..Resize::to_sizes(ResizeMode::Cubic, Coordinate::HalfPixel, &[])
    };
    let found = line(doubled.clone());
    // At 0.75 and 1.25, three quarters and a quarter behind an element: weights −9, 67, 225 and −27 of 256, and turned round.
    let weigh = |weights: [f32; 4], x: [f32; 4]| weights.iter().zip(x).map(|(w, x)| w * x / 256.0).sum::<f32>();
    let (late, early) = ([-9.0, 67.0, 225.0, -27.0], [-27.0, 225.0, 67.0, -9.0]);
    close(&found[2..4], &[weigh(late, [1.0, 1.0, 2.0, 4.0]), weigh(early, LINE)]);
    // Beside the operand its border goes on, or nothing is there.
    close(&found[..1], &[weigh(late, [1.0, 1.0, 1.0, 2.0])]);
    let without = Resize {
        exclude_outside: true,
        ..doubled.clone()
    };
    close(&line(without)[..1], &[(225.0 - 27.0 * 2.0) / (225.0 - 27.0)]);
    let softer = Resize { cubic: -0.5, ..doubled };
    // −½ at a half: (−1 9 9 −1)/16.
    let halves = Resize {
        scales: vec![0.5],
        ..softer
    };
    close(
        &line(halves),
        &[(-1.0 + 9.0 + 18.0 - 4.0) / 16.0, (-2.0 + 36.0 + 72.0 - 8.0) / 16.0],
    );
}

#[test]
fn antialiasing_takes_all_that_a_position_covers() {
    let halved = Resize {
        scales: vec![0.5],
        antialias: true,
        ..Resize::to_sizes(ResizeMode::Linear, Coordinate::HalfPixel, &[])
    };
    // Around ½ with a triangle of width 2: ¾ for both neighbours, ¼ for the next ones.
    let first = (0.25 * 1.0 + 0.75 * 1.0 + 0.75 * 2.0 + 0.25 * 4.0) / 2.0;
    let second = (0.25 * 2.0 + 0.75 * 4.0 + 0.75 * 8.0 + 0.25 * 8.0) / 2.0;
    close(&line(halved.clone()), &[first, second]);
    // Antialiasing changes nothing along an axis that becomes longer.
    let doubled = Resize {
        scales: vec![2.0],
        ..halved
    };
    let plain = Resize {
        antialias: false,
        ..doubled.clone()
    };
    close(&line(doubled), &line(plain));
}

#[test]
fn a_region_is_cropped_and_beside_it_is_another_number() {
    let crop = Resize {
        region: vec![0.0, 2.0, -5.0],
        ..Resize::to_sizes(ResizeMode::Linear, Coordinate::Crop, &[3])
    };
    // 0, 3 and 6 of the positions from 0 to 3.
    assert_eq!(line(crop.clone()), [1.0, 8.0, -5.0]);
    let nearest = Resize {
        mode: ResizeMode::Nearest,
        nearest: Nearest::Floor,
        region: vec![0.5, 1.0, -5.0],
        ..crop.clone()
    };
    // 1.5, 2.25 and 3.
    assert_eq!(line(nearest), [2.0, 4.0, 8.0]);
    let one = Resize {
        sizes: smallvec![1],
        region: vec![0.0, 1.0, 0.0],
        ..crop
    };
    assert_eq!(line(one), [3.0]);
}

#[test]
fn a_scale_that_makes_no_whole_number_says_where_positions_are() {
    let shrunk = |coordinate| Resize {
        scales: vec![0.6],
        ..Resize::to_sizes(ResizeMode::Linear, coordinate, &[])
    };
    // Two of 2.4 elements: at 0 and 3/1.4 of the corners.
    let at = 3.0f32 / 1.4;
    close(&line(shrunk(Coordinate::AlignCorners)), &[1.0, 4.0 + (at - 2.0) * 4.0]);
    // ½/0.6 − ½, and, from the centre, 2·(1 − 2/2.4) further on.
    let (plain, shift) = (0.5 / 0.6 - 0.5, 2.0 * (1.0 - 2.0 / 2.4));
    close(&line(shrunk(Coordinate::HalfPixel))[..1], &[1.0 + plain]);
    close(
        &line(shrunk(Coordinate::HalfPixelSymmetric))[..1],
        &[1.0 + plain + shift],
    );
    // A scale and a size beside it.
    let both = Resize {
        scales: vec![0.6],
        ..Resize::to_sizes(ResizeMode::Linear, Coordinate::Asymmetric, &[3])
    };
    close(&line(both), &[1.0, 2.0 + 4.0 / 3.0, 8.0]);
}

#[test]
fn samples_lie_where_the_grid_says() {
    let x: Operand<'_> = (&[1, 1, 2, 2], &[1.0, 2.0, 3.0, 4.0]);
    let op = |mode, border, align_corners| op::GridSample {
        mode,
        border,
        align_corners,
    };
    // Column and row: the centre, the upper right corner, and one column beyond the lower left.
    let grid: Operand<'_> = (&[1, 1, 3, 2], &[0.0, 0.0, 1.0, -1.0, -3.0, 1.0]);
    let of = |mode, border| float_op(op(mode, border, true), &[x, grid]);
    assert_eq!(of(Sampling::Linear, Border::Zeros), [2.5, 2.0, 0.0]);
    assert_eq!(of(Sampling::Linear, Border::Edge), [2.5, 2.0, 3.0]);
    assert_eq!(of(Sampling::Linear, Border::Reflection), [2.5, 2.0, 4.0]);
    // A tie is rounded to the even index.
    assert_eq!(of(Sampling::Nearest, Border::Zeros), [1.0, 2.0, 0.0]);
    // The corners are the outer edges of the corner elements, half an element beyond their centres.
    let outer = float_op(op(Sampling::Linear, Border::Zeros, false), &[x, grid]);
    assert_eq!(outer, [2.5, 0.5, 0.0]);
}

#[test]
fn samples_of_two_channels_and_cubic_ones_are_those_of_the_formula() {
    let x: Operand<'_> = (&[1, 2, 4], &[1.0, 2.0, 4.0, 8.0, 0.0, 10.0, 20.0, 30.0]);
    // A quarter behind position 1 of 3.
    let grid: Operand<'_> = (&[1, 1, 1], &[1.25 / 1.5 - 1.0]);
    let op = |mode| op::GridSample {
        mode,
        border: Border::Zeros,
        align_corners: true,
    };
    close(&float_op(op(Sampling::Linear), &[x, grid]), &[2.5, 12.5]);
    let cubic = |x: [f32; 4]| (-27.0 * x[0] + 225.0 * x[1] + 67.0 * x[2] - 9.0 * x[3]) / 256.0;
    close(
        &float_op(op(Sampling::Cubic), &[x, grid]),
        &[cubic(LINE), cubic([0.0, 10.0, 20.0, 30.0])],
    );
}

/// Of the four neighbours of −1/2, two are outside of the image and replaced by the first element. So the neighbours
/// are 0, 0, 0 and 1, with the weights −3/32, 19/32, 19/32 and −3/32. Beyond the end, the last element replaces all
/// four neighbours.
#[test]
fn each_element_of_a_cubic_sample_is_taken_from_the_border_by_itself() {
    let x: Operand<'_> = (&[1, 1, 5], &[0.0, 1.0, 2.0, 3.0, 4.0]);
    let op = op::GridSample {
        mode: Sampling::Cubic,
        border: Border::Edge,
        align_corners: true,
    };
    let grid: Operand<'_> = (&[1, 4, 1], &[-1.25, 4.0, f32::INFINITY, -1e30]);
    assert_eq!(float_op(op, &[x, grid]), [-3.0 / 32.0, 4.0, 4.0, 0.0]);
}

#[test]
fn moved_taps_are_interpolated_and_weighed() {
    let x: Operand<'_> = (&[1, 1, 2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    let weight: Operand<'_> = (&[1, 1, 1, 2], &[1.0, 10.0]);
    let op = op::DeformConv {
        stride: smallvec![1, 1],
        pad: smallvec![0; 4],
        dilation: smallvec![1, 1],
        groups: 1,
        offset_groups: 1,
    };
    let still = vec![0.0; 4 * 4];
    let plain = float_op(op.clone(), &[x, weight, (&[1, 4, 2, 2], &still)]);
    assert_eq!(plain, [21.0, 32.0, 54.0, 65.0]);
    // The second tap moves by half a row down and half a column back: at the last row half of it is outside.
    let mut moved = still;
    moved[8..12].fill(0.5);
    moved[12..].fill(-0.5);
    let bias: Operand<'_> = (&[1], &[100.0]);
    let mask: Operand<'_> = (&[1, 2, 2, 2], &[1.0, 1.0, 1.0, 0.0, 1.0, 1.0, 2.0, 1.0]);
    let found = float_op(op, &[x, weight, (&[1, 4, 2, 2], &moved), bias, mask]);
    // (1+2+4+5)/4 = 3, (2+3+5+6)/4 = 4, (4+5)/4 = 2.25, (5+6)/4 = 2.75.
    assert_eq!(
        found,
        [100.0 + 1.0 + 30.0, 100.0 + 2.0 + 40.0, 100.0 + 4.0 + 45.0, 100.0 + 27.5]
    );
}
