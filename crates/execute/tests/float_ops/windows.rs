//! Tests windows over one to three axes, and transposed convolutions.

use super::common::float_op;
use smallvec::smallvec;
use strait_core::op;

type Operand<'a> = (&'a [u64], &'a [f32]);

fn transposed(stride: &[u32], pad: &[u32], dilation: &[u32], more: &[u32], groups: u32) -> op::ConvTranspose {
    op::ConvTranspose {
        stride: stride.into(),
        pad: pad.into(),
        dilation: dilation.into(),
        output_padding: more.into(),
        groups,
    }
}

#[test]
fn a_transposed_convolution_adds_a_kernel_for_each_element() {
    let x: Operand<'_> = (&[1, 1, 2], &[1.0, 10.0]);
    let kernel: Operand<'_> = (&[1, 1, 3], &[1.0, 2.0, 3.0]);
    // 1·(1 2 3) is added at position 0 and 10·(1 2 3) at position 2. Both overlap at position 2.
    let plain = float_op(transposed(&[2], &[0, 0], &[1], &[0], 1), &[x, kernel]);
    assert_eq!(plain, [1.0, 2.0, 13.0, 20.0, 30.0]);
    let bias: Operand<'_> = (&[1], &[0.5]);
    let cut = float_op(transposed(&[2], &[1, 1], &[1], &[1], 1), &[x, kernel, bias]);
    assert_eq!(cut, [2.5, 13.5, 20.5, 30.5]);
    let dilated = float_op(transposed(&[1], &[0, 0], &[2], &[0], 1), &[x, kernel]);
    assert_eq!(dilated, [1.0, 10.0, 2.0, 20.0, 3.0, 30.0]);
}

#[test]
fn groups_of_a_transposed_convolution_have_channels_of_their_own() {
    let x: Operand<'_> = (&[1, 2, 1, 1], &[2.0, 3.0]);
    // Each group has two output channels.
    let kernel: Operand<'_> = (&[2, 2, 1, 2], &[1.0, 10.0, 100.0, 1000.0, 1.0, 2.0, 3.0, 4.0]);
    let op = transposed(&[1, 1], &[0; 4], &[1, 1], &[0, 0], 2);
    let found = float_op(op, &[x, kernel]);
    assert_eq!(found, [2.0, 20.0, 200.0, 2000.0, 3.0, 6.0, 9.0, 12.0]);
}

#[test]
fn a_transposed_convolution_sums_over_its_channels_in_three_axes() {
    let x: Operand<'_> = (&[1, 2, 1, 1, 1], &[2.0, 3.0]);
    let kernel: Vec<f32> = (0..16).map(|i| i as f32).collect();
    let op = transposed(&[1, 1, 1], &[0; 6], &[1; 3], &[0; 3], 1);
    // 2·k + 3·(k + 8).
    let expected: Vec<f32> = (0..8).map(|k| (5 * k + 24) as f32).collect();
    assert_eq!(float_op(op, &[x, (&[2, 1, 2, 2, 2], &kernel)]), expected);
}

#[test]
fn blocks_go_back_to_their_places() {
    let op = op::Col2Im {
        image: smallvec![2, 3],
        block: smallvec![1, 2],
        stride: smallvec![1, 1],
        pad: smallvec![0; 4],
        dilation: smallvec![1, 1],
    };
    // The operand has first the left taps of the four blocks, then the right taps.
    let x: Operand<'_> = (&[1, 2, 4], &[1.0, 2.0, 3.0, 4.0, 10.0, 20.0, 30.0, 40.0]);
    assert_eq!(float_op(op, &[x]), [1.0, 12.0, 20.0, 3.0, 34.0, 40.0]);
}

/// Computes a convolution over three axes by its definition, in f64.
fn by_definition(op: &op::Conv, x: Operand<'_>, weight: Operand<'_>, made: [u64; 3]) -> Vec<f32> {
    let ([_, channels, depth, height, width], [outputs, inputs, a, b, c]) = (x.0, weight.0) else {
        panic!("five axes");
    };
    let [channels, depth, height, width] = [*channels, *depth, *height, *width];
    let [outputs, inputs, a, b, c] = [*outputs, *inputs, *a, *b, *c];
    let mut out = Vec::new();
    for o in 0..outputs {
        let group = o / (outputs / u64::from(op.groups));
        for index in 0..made.iter().product::<u64>() {
            let at = [index / (made[1] * made[2]), index / made[2] % made[1], index % made[2]];
            let mut sum = 0.0f64;
            for (tap, factor) in (0u64..)
                .zip(&weight.1[(o * inputs * a * b * c) as usize..])
                .take((inputs * a * b * c) as usize)
            {
                let channel = group * inputs + tap / (a * b * c);
                let tap = [tap / (b * c) % a, tap / c % b, tap % c];
                let place = [0, 1, 2].map(|axis| {
                    (at[axis] * u64::from(op.stride[axis]) + tap[axis] * u64::from(op.dilation[axis])) as i64
                        - i64::from(op.pad[axis])
                });
                let inside = place
                    .iter()
                    .zip([depth, height, width])
                    .all(|(&p, extent)| (0..extent as i64).contains(&p));
                if inside {
                    let element =
                        ((channel * depth + place[0] as u64) * height + place[1] as u64) * width + place[2] as u64;
                    sum += f64::from(*factor) * f64::from(x.1[element as usize]);
                }
            }
            out.push(sum as f32);
        }
    }
    assert_eq!(channels, inputs * u64::from(op.groups));
    out
}

#[test]
fn a_convolution_over_three_axes_is_its_definition() {
    let numbers = |count: u64, step: u64| -> Vec<f32> { (0..count).map(|i| (i * step % 17) as f32 - 8.0).collect() };
    let (x, weight) = (numbers(4 * 5 * 4 * 6, 7), numbers(6 * 2 * 2 * 3 * 2, 5));
    let (x, weight): (Operand<'_>, Operand<'_>) = ((&[1, 4, 5, 4, 6], &x), (&[6, 2, 2, 3, 2], &weight));
    let op = op::Conv {
        stride: smallvec![2, 1, 3],
        pad: smallvec![1, 1, 0, 0, 1, 2],
        dilation: smallvec![2, 1, 1],
        groups: 2,
        ..op::Conv::plain(3)
    };
    assert_eq!(
        float_op(op.clone(), &[x, weight]),
        by_definition(&op, x, weight, [2, 4, 3])
    );
    // The convolution has one filter for each channel, and a bias.
    let weight = numbers(4 * 8, 3);
    let weight: Operand<'_> = (&[4, 1, 2, 2, 2], &weight);
    let each = op::Conv {
        groups: 4,
        ..op::Conv::plain(3)
    };
    let without = by_definition(&each, x, weight, [4, 3, 5]);
    let expected: Vec<f32> = without.iter().enumerate().map(|(i, v)| v + (i / 60) as f32).collect();
    assert_eq!(float_op(each, &[x, weight, (&[4], &[0.0, 1.0, 2.0, 3.0])]), expected);
}

#[test]
fn pools_over_three_axes_count_what_lies_inside() {
    let x: Vec<f32> = (0..8).map(|v| v as f32).collect();
    let x: Operand<'_> = (&[1, 1, 2, 2, 2], &x);
    let max = op::MaxPool {
        size: smallvec![2, 1, 2],
        stride: smallvec![1; 3],
        pad: smallvec![0, 0, 1, 0, 0, 0],
        dilation: smallvec![1; 3],
        ceil: false,
    };
    assert_eq!(float_op(max, &[x]), [4.0, 5.0, 6.0, 7.0]);
    let mut average = op::AveragePool {
        size: smallvec![2; 3],
        stride: smallvec![2; 3],
        pad: smallvec![1, 0, 0, 1, 0, 0],
        dilation: smallvec![1; 3],
        ceil: false,
        count_include_pad: false,
    };
    assert_eq!(float_op(average.clone(), &[x]), [1.5, 5.5]);
    average.count_include_pad = true;
    assert_eq!(float_op(average, &[x]), [0.75, 2.75]);
}
