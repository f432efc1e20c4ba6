//! Checks whether LiteRT has kernels for the grids of a quantized operator. An operator is refused if LiteRT refuses
//! it, and also if LiteRT ignores the operator's grids and computes with other grids.

use crate::graph::{Graph, Tensor};
use strait_core::{Elem, QuantParams};

/// Operators, and the code types for which LiteRT has no kernel.
const WITHOUT: &[(&str, &[Elem])] = &[
    ("BATCH_MATMUL", &[Elem::U8]),
    ("DEPTH_TO_SPACE", &[Elem::I16]),
    ("HARD_SWISH", &[Elem::I16]),
    ("L2_NORMALIZATION", &[Elem::I16]),
    ("LOG_SOFTMAX", &[Elem::I16]),
    ("PRELU", &[Elem::I16]),
    ("SPACE_TO_DEPTH", &[Elem::I16]),
    ("SQUARED_DIFFERENCE", &[Elem::I16, Elem::U8]),
];

/// The operators for which LiteRT's kernels assume a fixed grid of the result. For each operator, there are the scale
/// and the zero point of this grid for int8, uint8 and int16.
const RESULTS: &[(&str, [Option<(f32, i32)>; 3])] = &[
    (
        "L2_NORMALIZATION",
        [Some((1.0 / 128.0, 0)), Some((1.0 / 128.0, 128)), None],
    ),
    ("LOGISTIC", [Some((HALF, -128)), Some((HALF, 0)), Some((HALF_OF_16, 0))]),
    ("LOG_SOFTMAX", [Some((1.0 / 16.0, 127)), Some((1.0 / 16.0, 255)), None]),
    ("SOFTMAX", [Some((HALF, -128)), Some((HALF, 0)), Some((HALF_OF_16, 0))]),
    ("TANH", [None, None, Some((HALF_OF_16, 0))]),
];

/// The scale with which 8-bit codes cover the range from 0 to 1.
const HALF: f32 = 1.0 / 256.0;
/// The scale with which 15 bits cover the range from 0 to 1.
const HALF_OF_16: f32 = 1.0 / 32768.0;

/// The largest accepted |s_x·s_w − s_b| / s_y, where s_b is the scale that the file gives for a bias, and s_x, s_w and
/// s_y are the scales of image, weights and result.
const MOST_OFF: f64 = 0.02;

/// If the operator sums products, returns the positions of image, weights and bias among its operands, and the axis of
/// the weights along which the output channels run. Otherwise returns `None`.
fn sum(name: &str) -> Option<([usize; 3], u8)> {
    match name {
        "CONV_2D" | "FULLY_CONNECTED" => Some(([0, 1, 2], 0)),
        "DEPTHWISE_CONV_2D" => Some(([0, 1, 2], 3)),
        "TRANSPOSE_CONV" => Some(([2, 1, 3], 0)),
        _ => None,
    }
}

fn grid(tensor: Option<&Tensor>) -> Option<&QuantParams> {
    tensor?.grid.as_ref()
}

/// Refuses an operator unless LiteRT has a kernel for its grids. If `keeps_grid` is true, the kernel needs the same grid
/// for operands and result.
pub(super) fn check(graph: &Graph<'_>, position: usize, keeps_grid: bool) -> Result<(), String> {
    let (node, name) = (&graph.nodes[position], graph.code(position).name());
    let tensor = |index: &Option<usize>| index.and_then(|index| graph.tensors.get(index));
    let operands: Vec<Option<&Tensor>> = node.inputs.iter().map(tensor).collect();
    let results: Vec<Option<&Tensor>> = node.outputs.iter().map(tensor).collect();
    let all = || operands.iter().chain(&results).copied().flatten();
    let Some(codes) = all().find_map(|tensor| tensor.grid.as_ref()?.codes) else {
        return Ok(());
    };
    if let Some((_, without)) = WITHOUT.iter().find(|(other, _)| *other == name)
        && without.contains(&codes)
    {
        return Err(format!("LiteRT has no kernel of it for codes of {codes}"));
    }
    let is_off = |tensor: &&Tensor| {
        let grid = tensor.grid.as_ref();
        grid.is_some_and(|grid| grid.codes == Some(Elem::I16) && grid.zero_point.values().iter().any(|&zero| zero != 0))
    };
    if let Some(tensor) = all()
        .find(is_off)
        .filter(|_| !matches!(name.as_str(), "QUANTIZE" | "DEQUANTIZE"))
    {
        return Err(format!("`{}` has codes of 16 bits with a zero point", tensor.name));
    }
    if name == "QUANTIZE"
        && codes == Elem::I16
        && all().any(|tensor| tensor.grid.as_ref().is_some_and(|grid| grid.codes == Some(Elem::U8)))
    {
        return Err("LiteRT has no kernel of it from 16 bits to codes without a sign".into());
    }
    let made = grid(results.first().copied().flatten());
    if let Some((_, [i8s, u8s, i16s])) = RESULTS.iter().find(|(other, _)| *other == name)
        && let Some(made) = made
    {
        let wanted = match made.codes {
            Some(Elem::I8) => *i8s,
            Some(Elem::U8) => *u8s,
            Some(Elem::I16) => *i16s,
            _ => None,
        };
        if let Some((scale, zero)) = wanted.filter(|&wanted| !is_near(made, wanted)) {
            return Err(format!(
                "its kernel has a result of scale {scale} and zero point {zero}"
            ));
        }
    }
    let rescales = name == "CONCATENATION" && codes == Elem::U8;
    if keeps_grid && !rescales {
        let mut grids = all().filter_map(|tensor| Some((tensor, tensor.grid.as_ref()?)));
        if let Some((_, first)) = grids.next()
            && let Some((other, _)) = grids.find(|(_, grid)| *grid != first)
        {
            let text = format!(
                "its kernel takes codes as they are, and `{}` has another grid",
                other.name
            );
            return Err(text);
        }
    }
    match sum(&name) {
        Some((places, axis)) => products(places.map(|at| operands.get(at).copied().flatten()), made, axis),
        None => Ok(()),
    }
}

fn is_near(grid: &QuantParams, (scale, zero): (f32, i32)) -> bool {
    grid.as_tensor()
        .is_some_and(|(own, point)| point == zero && (own - scale).abs() <= 1e-6 * scale)
}

/// Refuses a sum of products unless LiteRT has a kernel for its grids. Layers whose weights are codes and whose
/// activations are floats are checked elsewhere.
fn products([image, weight, bias]: [Option<&Tensor>; 3], result: Option<&QuantParams>, axis: u8) -> Result<(), String> {
    let (Some(x), Some(y)) = (grid(image), result) else {
        return match (grid(image), result) {
            (None, None) => Ok(()),
            _ => Err("codes and real numbers meet in it".into()),
        };
    };
    let Some(w) = grid(weight) else {
        return Err("its weights are real numbers, and its activations codes".into());
    };
    let types = [x.codes, w.codes].map(|codes| codes.unwrap_or(Elem::F32));
    let [of_x, of_w] = types;
    if !matches!(
        types,
        [Elem::I8, Elem::I8 | Elem::I4] | [Elem::U8, Elem::U8] | [Elem::I16, Elem::I8]
    ) {
        return Err(format!("it has weights of {of_w} beside activations of {of_x}"));
    }
    if of_w != Elem::U8 && w.zero_point.values().iter().any(|&zero| zero != 0) {
        return Err("its weights have a zero point".into());
    }
    if w.axis.is_some_and(|own| own != axis) {
        return Err(format!("its weights have scales along another axis than {axis}"));
    }
    let (Some((sx, _)), Some((sy, _))) = (x.as_tensor(), y.as_tensor()) else {
        return Err("its activations have several scales".into());
    };
    let Some(own) = bias.filter(|bias| crate::names::elem(bias.elem) != Ok(Elem::F32)) else {
        return match bias {
            None => Ok(()),
            Some(bias) => Err(format!("`{}` has real numbers beside codes", bias.name)),
        };
    };
    let Some(b) = own.grid.as_ref() else {
        return Err(format!("`{}` has no grid", own.name));
    };
    if x.product(w, Some(0)).map(|product| product.scale) != Some(b.scale.clone()) {
        return Err(format!("`{}` is added to products on several grids", own.name));
    }
    if let (Some((sw, _)), Some(said)) = (w.as_tensor(), own.said) {
        let off = (f64::from(sx) * f64::from(sw) - f64::from(said)).abs() / f64::from(sy);
        if off > MOST_OFF {
            return Err(format!("`{}` is on another grid than the products are", own.name));
        }
    }
    Ok(())
}
