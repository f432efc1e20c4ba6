//! Reads convolutions. Images have channels last. The order of the weights' axes differs between operators; the
//! function for an operator states it.

use super::Row;
use super::window::{paddings, positive};
use crate::read::operator_reader::{Arg, OperatorReader, Refusal, field, options};
use crate::schema::{Activation, Padding};
use smallvec::{SmallVec, smallvec};
use strait_core::ReasonCode;
use strait_core::op::ConvTranspose;

pub(super) const ROWS: &[Row] = &[
    Row::new("CONV_2D", 8, conv),
    Row::new("DEPTHWISE_CONV_2D", 7, depthwise),
    Row::new("CONV_3D", 1, conv_3d),
    Row::new("TRANSPOSE_CONV", 5, transpose_conv),
    Row::new("CONV_3D_TRANSPOSE", 1, conv_3d_transpose),
];

/// The options that all convolutions have.
struct Window {
    padding: Padding,
    stride: SmallVec<[u32; 2]>,
    dilation: SmallVec<[u32; 2]>,
    activation: Activation,
}

/// Makes a window from an operator's options, which must be present. The macro takes the names of the option fields for
/// strides and for dilations.
macro_rules! window {
    ($reader:expr, $table:ident, [$($stride:ident),*], [$($dilation:ident),*]) => {{
        let Some(options) = options!($reader, $table) else {
            return Err(Refusal::invalid(ReasonCode::ConvAttributes, "it has no options"));
        };
        Window {
            padding: field(options.padding())?,
            stride: smallvec![$(positive(field(options.$stride())?, "stride")?),*],
            dilation: smallvec![$(positive(field(options.$dilation())?, "dilation")?),*],
            activation: field(options.fused_activation_function())?,
        }
    }};
}

/// Reads a convolution. `permutation` brings the axes of the weights into the order [O, I, spatial…].
fn convolution(
    reader: &mut OperatorReader<'_, '_>,
    window: Window,
    permutation: &[u32],
    groups: impl FnOnce(u64, &[u64]) -> Option<u64>,
) -> Result<(), Refusal> {
    let rank = permutation.len();
    reader.not_hybrid(0, 1)?;
    reader.of_rank(0, rank)?;
    reader.of_rank(1, rank)?;
    let weight = reader.transposed(&Arg::Operand(1), permutation)?;
    let extents = reader.extents(&weight)?;
    let extents: Vec<u64> = extents.iter().map(|&extent| extent.unsigned_abs()).collect();
    let size: Result<SmallVec<[u32; 2]>, _> = extents[2..].iter().map(|&extent| u32::try_from(extent)).collect();
    let size = size.map_err(|_| Refusal::invalid(ReasonCode::Window, "its kernel is too large"))?;
    let channels = reader.ty(0)?.shape.last().and_then(|dim| dim.fixed());
    let channels = channels.ok_or_else(|| Refusal::invalid(ReasonCode::SymbolicAxis, "its channels are not known"))?;
    let groups = groups(channels, &extents).and_then(|groups| u32::try_from(groups).ok());
    let groups = groups.ok_or_else(|| {
        let text = format!("weights of {} channels do not fit an image of {channels}", extents[1]);
        Refusal::invalid(ReasonCode::ConvChannels, text)
    })?;
    let pad = paddings(reader, 0, window.padding, [&size, &window.stride, &window.dilation])?;
    let moves = strait_import::Window {
        stride: window.stride,
        dilation: window.dilation,
        pad,
    };
    let image = reader.image(&Arg::Operand(0))?;
    let result = reader.push(moves.convolution(groups), &[image, weight, Arg::Operand(2)])?;
    reader.finish_image(result, window.activation)
}

/// Returns the number of groups. The file does not state this number, so it is computed from the number of channels of
/// the image and the number of channels of a kernel.
fn grouped(channels: u64, weight: &[u64]) -> Option<u64> {
    let own = weight.get(1).copied().filter(|&own| own > 0)?;
    channels.is_multiple_of(own).then_some(channels / own)
}

fn conv(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    let window = window!(
        reader,
        Conv2DOptions,
        [stride_h, stride_w],
        [dilation_h_factor, dilation_w_factor]
    );
    convolution(reader, window, &[0, 3, 1, 2], grouped)
}

/// Reads a depthwise convolution. The weights are [1, height, width, channels · multiplier].
fn depthwise(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    let window = window!(
        reader,
        DepthwiseConv2DOptions,
        [stride_h, stride_w],
        [dilation_h_factor, dilation_w_factor]
    );
    convolution(reader, window, &[3, 0, 1, 2], |channels, weight| {
        let fits = weight[1] == 1 && channels > 0 && weight[0].is_multiple_of(channels);
        fits.then_some(channels)
    })
}

/// Reads a 3-D convolution. The weights are [depth, height, width, I, O].
fn conv_3d(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    let window = window!(
        reader,
        Conv3DOptions,
        [stride_d, stride_h, stride_w],
        [dilation_d_factor, dilation_h_factor, dilation_w_factor]
    );
    convolution(reader, window, &[4, 3, 0, 1, 2], grouped)
}

/// Reads a transposed convolution. The weights are [O, height, width, I].
fn transpose_conv(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    let window = window!(reader, TransposeConvOptions, [stride_h, stride_w], []);
    transposed(reader, window, &[3, 0, 1, 2])
}

/// Reads a transposed 3-D convolution. The weights are [depth, height, width, O, I].
fn conv_3d_transpose(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    let window = window!(
        reader,
        Conv3DOptions,
        [stride_d, stride_h, stride_w],
        [dilation_d_factor, dilation_h_factor, dilation_w_factor]
    );
    transposed(reader, window, &[4, 3, 0, 1, 2])
}

/// Reads a transposed convolution. Operands: the shape of the result, the weights (`permutation` brings their axes into
/// the order [I, O, spatial…]), the image, and the bias. The padding is that of the forward convolution. If the stated
/// shape is larger than the shape that follows from the other operands, elements are added at the end.
fn transposed(reader: &mut OperatorReader<'_, '_>, window: Window, permutation: &[u32]) -> Result<(), Refusal> {
    if window.dilation.iter().any(|&dilation| dilation != 1) {
        return Err(Refusal::unsupported("its weights are dilated"));
    }
    let rank = permutation.len();
    reader.of_rank(1, rank)?;
    reader.of_rank(2, rank)?;
    reader.not_hybrid(2, 1)?;
    let wanted = reader.known_ints(0, "shape")?.unwrap_or_default();
    let weight = reader.transposed(&Arg::Operand(1), permutation)?;
    let (kernel, image) = (reader.extents(&weight)?, reader.extents(&Arg::Operand(2))?);
    let misfit = || Refusal::invalid(ReasonCode::Window, format!("its result cannot be of shape {wanted:?}"));
    let (mut begins, mut ends, mut more) = (Vec::new(), Vec::new(), SmallVec::new());
    for axis in 0..rank - 2 {
        let out = i128::from(*wanted.get(axis + 1).ok_or_else(misfit)?);
        let (step, size) = (i128::from(window.stride[axis]), i128::from(kernel[axis + 2]));
        let windows = match window.padding {
            Padding::Same => (out + step - 1) / step,
            Padding::Valid => (out + step - size) / step,
        };
        let begin = ((windows - 1) * step + size - out).max(0) / 2;
        let whole = (i128::from(image[axis + 1]) - 1) * step + size;
        let end = whole - begin - out;
        let narrow = |number: i128| u32::try_from(number).map_err(|_| misfit());
        begins.push(narrow(begin)?);
        ends.push(narrow(end.max(0))?);
        more.push(narrow((-end).max(0))?);
    }
    let op = ConvTranspose {
        stride: window.stride,
        pad: begins.into_iter().chain(ends).collect(),
        dilation: SmallVec::from_elem(1, rank - 2),
        output_padding: more,
        groups: 1,
    };
    let image = reader.image(&Arg::Operand(2))?;
    let result = reader.push(op, &[image, weight, Arg::Operand(3)])?;
    reader.finish_image(result, window.activation)
}
