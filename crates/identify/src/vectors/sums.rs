//! The accumulators of a layer: either recorded ones, or sums of products of recorded integers.

use super::{
    AccumulatorSource, ChannelAxis, InputZero, VectorsError,
    fields::Fields,
    layout::{FIRST, LAST, Layout, back, extents, ordered},
};
use strait_samples::Array;

/// The maximum number of products that are computed for the accumulators of a layer. More would take longer than a few
/// seconds.
const MOST_PRODUCTS: usize = 1 << 32;

/// The accumulators of a layer, for one possible layout of the arrays in the file.
pub(super) struct Sums {
    /// One accumulator for each output, in the order of the file.
    pub(super) accumulators: Vec<i64>,
    pub(super) axis: ChannelAxis,
    pub(super) source: AccumulatorSource,
    pub(super) input_zero: Option<InputZero>,
}

/// Returns the accumulators of a layer. If the shapes of a convolution fit several layouts, there is an entry for each
/// layout. The layout with the channels after the batch comes first.
pub(super) fn accumulators(fields: &Fields<'_>, outputs: &[usize]) -> Result<Vec<Sums>, VectorsError> {
    if let Some(array) = fields.get("accumulator") {
        if array.shape() != outputs {
            let wrong = format!("its shape is {:?}", array.shape());
            return Err(fields.error("accumulator", wrong, format!("that of the outputs, {outputs:?}")));
        }
        let accumulators = fields.integers("accumulator", array)?;
        return Ok(vec![Sums {
            accumulators,
            axis: ChannelAxis::Second,
            source: AccumulatorSource::Accumulators,
            input_zero: None,
        }]);
    }
    let why = "record `accumulator`, or `input` and `weight` (and `bias`) of which the accumulators are sums";
    let input = fields.need("input", why)?;
    let weight = fields.need("weight", why)?;
    let windows = match (input.shape(), weight.shape()) {
        (&[rows, k], &[channels, depth]) if k == depth => {
            let window = Window::dense(rows, k, channels);
            let result = window.result();
            if !matches!(outputs, [rows, channels] if result == [*rows, *channels, 1, 1]) {
                return Err(misfit(fields, outputs, result));
            }
            vec![(window, None)]
        }
        (&[a, b, c, d], &[e, f, g, h]) => {
            let windows = convolutions(fields, [a, b, c, d], [e, f, g, h], outputs)?;
            windows
                .into_iter()
                .map(|(window, layout)| (window, Some(layout)))
                .collect()
        }
        (x, w) => {
            let wrong = format!("its shape is {w:?} where that of the input is {x:?}");
            let right = "[outputs, k] for an input of [rows, k], or [outputs, inputs / groups, height, width] for an input \
                         of [batch, inputs, height, width]";
            return Err(fields.error("weight", wrong, right.into()));
        }
    };
    let sums = |(window, layout): (Window, Option<Layout>)| {
        let terms = window.k.iter().product::<usize>();
        let products = outputs.iter().try_fold(terms, |all, extent| all.checked_mul(*extent));
        if products.is_none_or(|products| products > MOST_PRODUCTS) {
            let wrong = "the accumulators are too many products".to_owned();
            let right = format!("at most {MOST_PRODUCTS} of them; record the accumulators, or fewer rows");
            return Err(fields.error("output", wrong, right));
        }
        sum(fields, &window, terms, layout, (input, weight))
    };
    windows.into_iter().map(sums).collect()
}

/// Finds every order of the axes with which the arrays can be read as a convolution that computes outputs of the shape
/// `outputs`. The order with the channels after the batch comes first. Those with the channels last follow.
fn convolutions(
    fields: &Fields<'_>,
    input: [usize; 4],
    weight: [usize; 4],
    outputs: &[usize],
) -> Result<Vec<(Window, Layout)>, VectorsError> {
    let read = |layout: Layout| {
        let window = Window::conv(fields, extents(input, layout.image), extents(weight, layout.weight))?;
        let result = extents(window.result(), back(layout.image));
        if outputs == result {
            Ok((window, layout))
        } else {
            Err(misfit(fields, outputs, result))
        }
    };
    let first = read(FIRST);
    let last: Vec<_> = LAST.into_iter().filter_map(|layout| read(layout).ok()).collect();
    match first {
        Err(error) if last.is_empty() => Err(error),
        first => Ok(first.into_iter().chain(last).collect()),
    }
}

fn misfit(fields: &Fields<'_>, outputs: &[usize], result: [usize; 4]) -> VectorsError {
    let wrong = format!("its shape is {outputs:?}");
    fields.error("output", wrong, format!("{result:?}, what input and weight make"))
}

/// A convolution. A dense layer is handled as a convolution with one pixel.
struct Window {
    /// Batch, channels, height and width of the input.
    input: [usize; 4],
    /// Number of output channels.
    outputs: usize,
    /// Number of input channels in a group, and height and width of the window.
    k: [usize; 3],
    stride: [usize; 2],
    dilation: [usize; 2],
    /// Padding above and to the left.
    padding: [usize; 2],
    size: [usize; 2],
    groups: usize,
}

impl Window {
    fn dense(rows: usize, k: usize, outputs: usize) -> Window {
        Window {
            input: [rows, k, 1, 1],
            outputs,
            k: [k, 1, 1],
            stride: [1; 2],
            dilation: [1; 2],
            padding: [0; 2],
            size: [1; 2],
            groups: 1,
        }
    }

    fn conv(fields: &Fields<'_>, input: [usize; 4], weight: [usize; 4]) -> Result<Window, VectorsError> {
        let [_, channels, height, width] = input;
        let [outputs, depth, kh, kw] = weight;
        let small = |field: &str, value: i64, least: i64| match usize::try_from(value) {
            Ok(number) if (least..=1 << 16).contains(&value) => Ok(number),
            _ => Err(fields.error(field, format!("it has {value}"), format!("numbers of {least} to 65536"))),
        };
        let [sy, sx] = fields.numbers("stride", [1; 2])?;
        let [dy, dx] = fields.numbers("dilation", [1; 2])?;
        let [top, left, bottom, right] = fields.numbers("padding", [0; 4])?;
        let [groups] = fields.numbers("groups", [1])?;
        let groups = small("groups", groups, 1)?;
        let stride = [small("stride", sy, 1)?, small("stride", sx, 1)?];
        let dilation = [small("dilation", dy, 1)?, small("dilation", dx, 1)?];
        let pads = [top, left, bottom, right].map(|pad| small("padding", pad, 0));
        let [top, left, bottom, right] = pads;
        let (top, left, bottom, right) = (top?, left?, bottom?, right?);
        if depth.checked_mul(groups) != Some(channels) || outputs % groups != 0 {
            let wrong = format!("its shape is {weight:?} in {groups} groups, where the input has {channels} channels");
            return Err(fields.error("weight", wrong, "[outputs, inputs / groups, height, width]".into()));
        }
        let extent = |size: usize, pad: usize, window: usize, stride: usize, dilation: usize| {
            let reach = window.checked_sub(1)?.checked_mul(dilation)?.checked_add(1)?;
            Some(size.checked_add(pad)?.checked_sub(reach)? / stride + 1)
        };
        let rows = extent(height, top + bottom, kh, stride[0], dilation[0]);
        let columns = extent(width, left + right, kw, stride[1], dilation[1]);
        let (Some(rows), Some(columns)) = (rows, columns) else {
            let wrong = format!("its window of {kh} × {kw} does not fit the padded input of {height} × {width}");
            return Err(fields.error("weight", wrong, "a window inside of the padded input".into()));
        };
        Ok(Window {
            input,
            outputs,
            k: [depth, kh, kw],
            stride,
            dilation,
            padding: [top, left],
            size: [rows, columns],
            groups,
        })
    }

    fn result(&self) -> [usize; 4] {
        [self.input[0], self.outputs, self.size[0], self.size[1]]
    }

    /// Lists, by their indices, the pairs of an input element and a weight whose products are summed for one
    /// accumulator. Elements of the padding are left out, since they stand for zero.
    fn terms(&self, at: [usize; 4]) -> impl Iterator<Item = (usize, usize)> + '_ {
        let [image, output, y, x] = at;
        let [_, channels, height, width] = self.input;
        let [depth, kh, kw] = self.k;
        let first = output / (self.outputs / self.groups) * depth;
        let place = move |position: usize, axis: usize, tap: usize, size: usize| {
            let padded = position * self.stride[axis] + tap * self.dilation[axis];
            padded.checked_sub(self.padding[axis]).filter(|&at| at < size)
        };
        (0..depth * kh * kw).filter_map(move |tap| {
            let (channel, ky, kx) = (tap / (kh * kw), tap / kw % kh, tap % kw);
            let (row, column) = (place(y, 0, ky, height)?, place(x, 1, kx, width)?);
            let from = ((image * channels + first + channel) * height + row) * width + column;
            Some((from, output * depth * kh * kw + tap))
        })
    }
}

fn sum(
    fields: &Fields<'_>,
    window: &Window,
    terms: usize,
    layout: Option<Layout>,
    (input, weight): (&Array, &Array),
) -> Result<Sums, VectorsError> {
    let [stated] = fields.numbers("input_zero_point", [0])?;
    let codes = |field: &str, array: &Array, zero: i64| {
        let too_wide = || fields.error(field, "it has a number of more than 32 bits".into(), "codes".into());
        let less = |code: i64| code.checked_sub(zero).filter(|code| code.unsigned_abs() < 1 << 32);
        let numbers = fields.integers(field, array)?;
        numbers
            .into_iter()
            .map(|code| less(code).ok_or_else(too_wide))
            .collect::<Result<Vec<_>, _>>()
    };
    let (mut x, mut w) = (codes("input", input, stated)?, codes("weight", weight, 0)?);
    if let (Some(layout), &[a, b, c, d], &[e, f, g, h]) = (layout, input.shape(), weight.shape()) {
        x = ordered(x, [a, b, c, d], layout.image);
        w = ordered(w, [e, f, g, h], layout.weight);
    }
    let bias = match fields.get("bias") {
        Some(array) if array.shape() == [window.outputs] => fields.integers("bias", array)?,
        Some(array) => {
            let wrong = format!("its shape is {:?}", array.shape());
            let right = format!("[{}], one for each output channel", window.outputs);
            return Err(fields.error("bias", wrong, right));
        }
        None => vec![0; window.outputs],
    };
    let largest = |codes: &[i64]| {
        let sizes = codes.iter().map(|code| i128::from(code.unsigned_abs()));
        sizes.max().unwrap_or(0)
    };
    if largest(&x) * largest(&w) * terms as i128 + largest(&bias) >= 1 << 62 {
        let wrong = "sums of such numbers may leave 62 bits".to_owned();
        return Err(fields.error("weight", wrong, "codes of which the sums fit".into()));
    }
    let [images, outputs, rows, columns] = window.result();
    let count = images * outputs * rows * columns;
    let (mut accumulators, mut weights) = (Vec::with_capacity(count), Vec::with_capacity(count));
    for image in 0..images {
        for (output, bias) in bias.iter().enumerate() {
            for y in 0..rows {
                for column in 0..columns {
                    let terms = window.terms([image, output, y, column]);
                    let (product, weight) = terms.fold((0, 0), |(product, weight), (from, tap)| {
                        (product + x[from] * w[tap], weight + w[tap])
                    });
                    accumulators.push(bias + product);
                    weights.push(weight);
                }
            }
        }
    }
    let axis = match layout {
        Some(layout) if layout != FIRST => {
            let [in_order, weights_in_order] =
                [accumulators, weights].map(|numbers| ordered(numbers, window.result(), back(layout.image)));
            (accumulators, weights) = (in_order, weights_in_order);
            ChannelAxis::Last
        }
        _ => ChannelAxis::Second,
    };
    Ok(Sums {
        accumulators,
        axis,
        source: layout.map_or(AccumulatorSource::Dense, |_| AccumulatorSource::Convolution),
        input_zero: Some(InputZero {
            stated,
            weights: weights.into(),
        }),
    })
}
