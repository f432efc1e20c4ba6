//! Compares loops over images whose channels are last with a plain sum in i64 followed by the definition of the form, on
//! every instruction set.

#![allow(clippy::unwrap_used, reason = "tests")]

use crate::support;

use strait_kernels::{
    Context, Conv, Images, Isa, Pool, Window,
    integer::{
        Axis, Bias, Carrier, ChannelsLast, Order, Weights, accumulators, max_pool, max_pool_last, reorder, standard,
    },
};
use strait_requantize::{IntType, Requantization};
use support::{
    Numbers, code,
    convolutions::{case, cases, outputs},
    finish, forms, loops,
};

/// Moves the channels of images to the end, element by element. Positions are `stride` elements apart, and what is
/// between has an arbitrary value.
fn last(planes: &[u8], [batch, channels, positions]: [usize; 3], stride: usize) -> Vec<u8> {
    let mut out = vec![0xA5; batch * positions * stride];
    for (at, &x) in planes.iter().enumerate() {
        let (b, c, p) = (at / positions / channels, at / positions % channels, at % positions);
        out[(b * positions + p) * stride + c] = x;
    }
    out
}

/// The shapes of all tests, and some in which vectors of channels are full, blocks of positions have several sizes, and
/// kernels have more than four rows.
fn shapes() -> Vec<Conv> {
    let window = |kernel, pads, stride, dilation| Window {
        pads,
        stride,
        dilation,
        ..Window::new(kernel)
    };
    let mut shapes = cases();
    shapes.extend([
        case(20, [9, 13], 20, 20, window([5, 5], [2; 4], [2, 1], [1; 2])),
        case(96, [6, 40], 96, 96, window([3, 3], [1; 4], [1; 2], [1; 2])),
        case(130, [5, 70], 130, 130, window([9, 2], [4, 0, 4, 1], [1, 2], [1, 3])),
        case(32, [6, 40], 32, 32, window([3, 3], [1; 4], [1; 2], [1; 2])),
        case(16, [7, 37], 16, 16, window([4, 3], [2, 1, 1, 3], [2; 2], [1, 2])),
        case(16, [4, 5], 16, 16, window([3, 3], [5; 4], [1; 2], [1; 2])),
        case(12, [15, 17], 70, 1, window([3, 3], [1, 2, 1, 0], [2, 1], [1, 2])),
        case(3, [18, 18], 33, 1, window([7, 7], [3; 4], [2; 2], [1; 2])),
        case(64, [7, 7], 48, 1, Window::new([1, 1])),
        case(4, [3, 3], 4, 1, window([3, 3], [7; 4], [2, 3], [1; 2])),
        // Tiles of four to eight rows, and panels that are not full.
        case(20, [1, 9], 50, 1, Window::new([1, 1])),
        case(12, [1, 61], 24, 1, Window::new([1, 1])),
        case(6, [3, 4], 36, 1, Window::new([1, 1])),
        // So many elements for each output that blocks have fewer rows on some instruction sets.
        case(8000, [3, 11], 9, 1, Window::new([1, 1])),
        // Rows of the output in pairs, with an odd number of rows, and with kernels of several heights.
        case(33, [7, 35], 33, 33, window([2, 3], [0, 1, 1, 1], [1; 2], [1; 2])),
        case(48, [5, 9], 48, 48, window([5, 5], [2; 4], [1; 2], [1; 2])),
        case(70, [3, 70], 70, 70, window([7, 3], [3, 1, 3, 1], [1, 2], [1; 2])),
        // As many weights in a column of the kernel as others have in a row.
        case(24, [14, 6], 24, 24, window([9, 1], [4, 0, 4, 0], [1; 2], [1; 2])),
        case(24, [6, 6], 24, 24, window([3, 1], [1, 0, 1, 0], [1; 2], [1; 2])),
    ]);
    shapes
}

/// Two neighbouring weights in a column of a group, for groups whose products with 255 are at the border of 16 bits, for groups of
/// which two together are there, for groups that are beyond the border, and for those of which two are.
const BORDERS: [&[[i8; 2]]; 4] = [
    &[[127, 1], [-128, 0], [64, 64], [-64, -64], [-128, 127], [1, 127]],
    &[[64, 0], [32, 32], [-64, 0], [-1, -63], [64, -64], [0, 0]],
    &[[127, 2], [-128, -1], [65, 64], [-64, -65], [0, 0], [2, 127]],
    &[[65, 0], [-65, 0], [64, 0], [-64, 0], [33, 32], [-1, -64]],
];

#[test]
fn products_at_the_border_of_16_bits_are_exact() {
    let mut numbers = Numbers::new(13);
    // Channels, outputs, positions, and how often each kind of group occurs.
    for (i, (channels, outputs, width, kinds)) in [
        (512, 24, 19, [3, 12, 1, 1]),
        (512, 17, 9, [1, 12, 0, 0]),
        (258, 8, 8, [0, 1, 0, 0]),
        (512, 40, 1, [1, 6, 6, 1]),
        (64, 9, 23, [1, 1, 1, 1]),
    ]
    .into_iter()
    .enumerate()
    {
        let element = [IntType::U8, IntType::I8][i % 2];
        let c = case(channels, [1, width], outputs, 1, Window::new([1, 1]));
        let positions = c.input.batch * width;
        let kinds: Vec<_> = (BORDERS.iter().zip(kinds))
            .flat_map(|(kind, times)| vec![*kind; times])
            .collect();
        let mut weights = vec![0_i8; outputs * channels];
        for group in 0..channels.div_ceil(4) {
            let kind = kinds[numbers.between(0, kinds.len() as i32 - 1) as usize];
            for row in weights.chunks_exact_mut(channels) {
                let two = |numbers: &mut Numbers| kind[numbers.between(0, kind.len() as i32 - 1) as usize];
                let four = [two(&mut numbers), two(&mut numbers)];
                row[4 * group..]
                    .iter_mut()
                    .zip(four.as_flattened())
                    .for_each(|(to, &w)| *to = w);
            }
        }
        let packed = ChannelsLast::new(c, element, 0, Weights::I8(&weights), Bias::I32(None))
            .unwrap()
            .unwrap();
        let stride = packed.stride();
        let (low, high) = (element.min() as u8, element.max() as u8);
        let mut input = numbers.bytes(positions * stride);
        for (position, codes) in input.chunks_exact_mut(stride).enumerate() {
            match position % 4 {
                0 => codes.fill(high),
                1 => codes.fill(low),
                2 => codes
                    .iter_mut()
                    .for_each(|code| *code = if *code < 128 { low } else { high }),
                _ => {}
            }
        }
        let mut wanted = Vec::new();
        for codes in input.chunks_exact(stride) {
            for row in weights.chunks_exact(channels) {
                let products = row.iter().zip(codes).map(|(&w, &x)| i64::from(w) * code(element, x));
                wanted.push(i32::try_from(products.sum::<i64>()).unwrap());
            }
        }
        for isa in Isa::available() {
            let mut found = vec![0; 4 * wanted.len()];
            accumulators()
                .conv_last(&Context::with_isa(isa), &packed, c.input.batch, &input, &mut found)
                .unwrap();
            let found: Vec<i32> = found.as_chunks().0.iter().map(|&sum| i32::from_ne_bytes(sum)).collect();
            assert_eq!(found, wanted, "{isa:?} {c:?}");
        }
    }
}

#[test]
fn convolution_is_exact_for_every_form() {
    let mut numbers = Numbers::new(11);
    let mut taken = 0;
    for (i, c) in shapes().into_iter().enumerate() {
        let element = [IntType::I8, IntType::U8][i % 2];
        let pad_value = numbers.between(element.min(), element.max());
        let input = numbers.bytes(c.input.elements().unwrap());
        let mut weights = numbers.weights(c.out_channels * c.depth());
        weights[0] = i8::MIN;
        let bias: Vec<i32> = (0..c.out_channels).map(|_| numbers.between(-5000, 5000)).collect();
        let packed = ChannelsLast::new(c, element, pad_value, Weights::I8(&weights), Bias::I32(Some(&bias))).unwrap();
        let groups = c.groups == 1 || (c.groups == c.input.channels && c.groups == c.out_channels);
        assert_eq!(packed.is_some(), groups, "{c:?}");
        let Some(packed) = packed else { continue };
        taken += 1;
        let sums = outputs(&c, |channel, at| {
            let value = |tap| at(tap).map_or(i64::from(pad_value), |i| code(element, input[i]));
            let weights = &weights[channel * c.depth()..][..c.depth()];
            let products = weights.iter().enumerate().map(|(tap, &w)| i64::from(w) * value(tap));
            i64::from(bias[channel]) + products.sum::<i64>()
        });
        let positions = sums.len() / c.input.batch / c.out_channels;
        let size = sums.iter().map(|s| s.abs()).max().unwrap();
        let images = [c.input.batch, c.input.channels, c.input.size[0] * c.input.size[1]];
        let input = last(&input, images, packed.stride());
        for channels in [0, c.out_channels] {
            let forms = forms(channels, size, &mut numbers).into_iter().skip(i % 5).step_by(5);
            for (form, clamp) in forms.zip([None, Some([-3, 90])].into_iter().cycle()) {
                let wanted = finish(&form, clamp, &sums, |e| e / positions % c.out_channels);
                let width = usize::from(form.out().bits().div_ceil(8));
                for (loops, isa) in loops(&form, clamp)
                    .iter()
                    .flat_map(|l| Isa::available().map(move |isa| (l, isa)))
                {
                    let mut found = vec![0; wanted.len()];
                    let cx = Context::with_isa(isa);
                    loops
                        .conv_last(&cx, &packed, c.input.batch, &input, &mut found)
                        .unwrap();
                    let mut planes = vec![0; wanted.len()];
                    let extents = [c.input.batch, c.out_channels, positions];
                    let stride = c.out_channels;
                    reorder(
                        &cx,
                        extents,
                        width,
                        [Order::Last { stride }, Order::Planes],
                        &found,
                        &mut planes,
                    )
                    .unwrap();
                    assert!(planes == wanted, "{c:?} {} on {}", form.kind(), isa.name());
                }
            }
        }
    }
    assert!(taken > 15);
}

/// With a lower bound at the zero point, forms with two roundings are computed by another kernel.
#[test]
fn bounds_around_the_zero_point_are_those_of_the_definition() {
    let mut numbers = Numbers::new(14);
    let window = Window {
        pads: [1; 4],
        ..Window::new([3, 3])
    };
    let shapes = [
        case(8, [9, 11], 40, 1, Window::new([1, 1])),
        case(80, [9, 35], 80, 80, window),
        case(
            80,
            [4, 6],
            80,
            80,
            Window {
                stride: [2; 2],
                ..window
            },
        ),
    ];
    for (i, c) in shapes.into_iter().enumerate() {
        let input = numbers.bytes(c.input.elements().unwrap());
        let weights = numbers.weights(c.out_channels * c.depth());
        let packed = ChannelsLast::new(c, IntType::I8, 0, Weights::I8(&weights), Bias::I32(None))
            .unwrap()
            .unwrap();
        let sums = outputs(&c, |channel, at| {
            let weights = &weights[channel * c.depth()..][..c.depth()];
            let value = |tap| at(tap).map_or(0, |i| code(IntType::I8, input[i]));
            (0..)
                .zip(weights)
                .map(|(tap, &w)| i64::from(w) * value(tap))
                .sum::<i64>()
        });
        let positions = sums.len() / c.input.batch / c.out_channels;
        let size = sums.iter().map(|s| s.abs()).max().unwrap();
        let images = [c.input.batch, c.input.channels, c.input.size[0] * c.input.size[1]];
        let input = last(&input, images, packed.stride());
        for channels in [0, c.out_channels] {
            let two = |form: &Requantization| match form {
                Requantization::Gemmlowp(form) => Some(form.zp),
                _ => None,
            };
            for (form, zp) in forms(channels, size, &mut numbers)
                .into_iter()
                .filter_map(|form| two(&form).map(|zp| (form, zp)))
            {
                let (least, most) = (form.out().min(), form.out().max());
                for low in [zp - 1, zp, zp + 2].map(|low| low.clamp(least, most)) {
                    let clamp = Some([low, numbers.between(low, most)]);
                    let wanted = finish(&form, clamp, &sums, |e| e / positions % c.out_channels);
                    let width = usize::from(form.out().bits().div_ceil(8));
                    let extents = [c.input.batch, c.out_channels, positions];
                    let orders = [Order::Planes, Order::Last { stride: extents[1] }];
                    let mut expected = vec![0; wanted.len()];
                    reorder(&Context::detect(), extents, width, orders, &wanted, &mut expected).unwrap();
                    for isa in Isa::available() {
                        let mut found = vec![0; wanted.len()];
                        standard(&form, clamp)
                            .unwrap()
                            .conv_last(&Context::with_isa(isa), &packed, 2, &input, &mut found)
                            .unwrap();
                        assert!(found == expected, "{i} {form:?} {clamp:?} on {}", isa.name());
                    }
                }
            }
        }
    }
}

#[test]
fn extreme_sums_and_any_number_of_threads_give_the_same_accumulators() {
    for (channels, groups) in [(256, 1), (256, 256)] {
        let c = case(
            channels,
            [9, 9],
            256,
            groups,
            Window {
                pads: [1; 4],
                ..Window::new([3, 3])
            },
        );
        for (element, code, weight) in [
            (IntType::I8, 0x80, -128_i8),
            (IntType::U8, 0xFF, -128),
            (IntType::U8, 0xFF, 127),
        ] {
            let weights = vec![weight; c.out_channels * c.depth()];
            let pad = if element == IntType::I8 { -128 } else { 255 };
            let packed = ChannelsLast::new(c, element, pad, Weights::I8(&weights), Bias::I32(None))
                .unwrap()
                .unwrap();
            let input = vec![code; 2 * 81 * channels];
            let sum = i64::from(pad) * i64::from(weight) * c.depth() as i64;
            let wanted = (sum as i32).to_ne_bytes().repeat(2 * 81 * 256);
            for (isa, threads) in Isa::available().flat_map(|isa| [1, 3].map(|threads| (isa, threads))) {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
                let mut out = vec![0; wanted.len()];
                let cx = Context::with_isa(isa);
                pool.install(|| accumulators().conv_last(&cx, &packed, 2, &input, &mut out))
                    .unwrap();
                assert!(out == wanted, "{element} {weight} {isa:?} {threads}");
            }
        }
    }
}

#[test]
fn weights_and_codes_of_more_than_eight_bits_are_left_to_other_loops() {
    let c = case(4, [3, 3], 2, 1, Window::new([1, 1]));
    let wide = [300, 0, 0, 0, 0, 0, 0, -1];
    assert!(
        ChannelsLast::new(c, IntType::I8, 0, Weights::I32(&wide), Bias::I32(None))
            .unwrap()
            .is_none()
    );
    assert!(
        ChannelsLast::new(c, IntType::I16, 0, Weights::I8(&[1; 8]), Bias::I32(None))
            .unwrap()
            .is_none()
    );
    assert!(ChannelsLast::new(c, IntType::I8, 0, Weights::I8(&[1; 7]), Bias::I32(None)).is_err());
    let packed = ChannelsLast::new(c, IntType::I8, 0, Weights::I8(&[1; 8]), Bias::I32(None))
        .unwrap()
        .unwrap();
    let loops = accumulators();
    let run = |input: usize, out: usize| {
        loops
            .conv_last(&Context::detect(), &packed, 2, &vec![0; input], &mut vec![0; out])
            .is_ok()
    };
    assert!(run(72, 144) && !run(71, 144) && !run(72, 140));
}

#[test]
fn pools_are_those_of_planes() {
    let mut numbers = Numbers::new(12);
    for (kernel, pads, stride, dilation) in [
        ([3, 3], [1; 4], [2, 2], [1, 1]),
        ([5, 5], [2; 4], [1, 1], [1, 1]),
        ([2, 3], [0, 1, 3, 2], [1, 3], [2, 1]),
        ([7, 9], [0; 4], [1, 1], [1, 1]),
    ] {
        for (channels, element) in [(5, IntType::I8), (64, IntType::U8), (600, IntType::I8)] {
            let window = Window {
                pads,
                stride,
                dilation,
                ..Window::new(kernel)
            };
            let input = Images {
                batch: 2,
                channels,
                size: [7, 9],
            };
            let pool = Pool {
                window,
                input,
                output: window.output(input.size).unwrap(),
            };
            let planes = numbers.bytes(input.elements().unwrap());
            let made = pool.output[0] * pool.output[1];
            let image = last(&planes, [2, channels, 63], channels);
            let count = 2 * channels * made;
            let mut wanted = vec![0; count];
            max_pool(&Context::detect(), &pool, element, &planes, &mut wanted).unwrap();
            let wanted = last(&wanted, [2, channels, made], channels);
            let size = 63 * 128;
            for form in forms(channels, size, &mut numbers).into_iter().step_by(4) {
                let loops = standard(&form, None).unwrap();
                let width = usize::from(form.out().bits().div_ceil(8));
                let mut sums = vec![0; count * width];
                let cx = Context::detect();
                loops
                    .sum_pool(
                        &cx,
                        &pool,
                        Axis::Rows,
                        element,
                        -7 * i32::from(element.min() < 0),
                        Carrier::I32,
                        &planes,
                        &mut sums,
                    )
                    .unwrap();
                let mut expected = vec![0; sums.len()];
                let orders = [Order::Planes, Order::Last { stride: channels }];
                reorder(&cx, [2, channels, made], width, orders, &sums, &mut expected).unwrap();
                for isa in Isa::available() {
                    let cx = Context::with_isa(isa);
                    let mut found = vec![0; sums.len()];
                    let pad = -7 * i32::from(element.min() < 0);
                    loops
                        .sum_pool_last(&cx, &pool, element, pad, Carrier::I32, &image, &mut found)
                        .unwrap();
                    assert!(found == expected, "{pool:?} {isa:?} {}", form.kind());
                    let mut largest = vec![0; count];
                    max_pool_last(&cx, &pool, element, &image, &mut largest).unwrap();
                    assert!(largest == wanted, "{pool:?} {isa:?}");
                }
            }
        }
    }
}

#[test]
fn elements_of_every_width_are_moved_there_and_back() {
    let mut numbers = Numbers::new(13);
    for [batch, channels, positions, stride] in [
        [2, 3, 300, 4],
        [1, 17, 33, 17],
        [3, 1, 5, 1],
        [1, 40, 1, 48],
        [2, 0, 4, 0],
    ] {
        for width in [1, 2, 4, 8] {
            let planes = numbers.bytes(batch * channels * positions * width);
            let orders = [Order::Planes, Order::Last { stride }];
            for isa in Isa::available() {
                let cx = Context::with_isa(isa);
                let (mut there, mut back) = (vec![0; batch * positions * stride * width], vec![0; planes.len()]);
                reorder(&cx, [batch, channels, positions], width, orders, &planes, &mut there).unwrap();
                for (at, x) in planes.chunks_exact(width).enumerate() {
                    let (b, c, p) = (at / positions / channels, at / positions % channels, at % positions);
                    let to = ((b * positions + p) * stride + c) * width;
                    assert_eq!(&there[to..to + width], x);
                }
                let orders = [orders[1], orders[0]];
                reorder(&cx, [batch, channels, positions], width, orders, &there, &mut back).unwrap();
                assert_eq!(back, planes);
            }
        }
    }
    let orders = [Order::Planes, Order::Last { stride: 2 }];
    assert!(reorder(&Context::detect(), [1, 3, 1], 1, orders, &[0; 3], &mut [0; 2]).is_err());
    assert!(reorder(&Context::detect(), [1, 2, 1], 3, orders, &[0; 6], &mut [0; 6]).is_err());
}
