//! The last step of every recipe with an accumulator: it turns the accumulators into codes of the result, or into real
//! numbers.

use super::NodeToLower;
use crate::lowering::{Grid, Lowering};
use std::sync::Arc;
use strait_core::op::{Add, Requantize, ShiftLeft};
use strait_core::{Carrier, Channels, Elem, Failure, QuantParams, Reason, ReasonCode, TensorData, ValueId, refused};
use strait_requantize::range::Terms;
use strait_requantize::{IntType, Per, Requantization};
use strait_target::TargetSpec;
use strait_target::spec::{Arithmetic, Built, FormRow, Nearness, Reciprocal, Rescale, Scales};

/// The numbers from which the scale of an accumulator is computed. A target's rules round the product of scales
/// differently in each case.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Product {
    /// A convolution: input scale and weight scales.
    Convolution(f32, Per<f32>),
    /// A fully connected layer: input scale and weight scales.
    FullyConnected(f32, Per<f32>),
    /// A matrix product of two activations: both scales.
    Matrices(f32, f32),
    /// An elementwise product of two activations: both scales.
    Activations(f32, f32),
    /// A sum of elements with one grid, which is divided by the number of elements to become a mean. The fields are the
    /// scale and the number of elements. If sums have different numbers of elements, there is one channel for each
    /// number.
    Mean(f32, Per<u32>),
    /// Codes that are requantized to the grid of a convolution's or Gemm's accumulators. The fields are the scale of
    /// the codes, then the input scale and the weight scales of the convolution or Gemm.
    Onto(f32, f32, Per<f32>),
    /// Codes or sums with a single scale, which is the field.
    Grid(f64),
}

impl Product {
    fn scales(&self, output: f32) -> Scales<'_> {
        match *self {
            Product::Convolution(input, ref weight) => Scales::Convolution { input, weight, output },
            Product::FullyConnected(input, ref weight) => Scales::FullyConnected { input, weight, output },
            Product::Matrices(a, b) => Scales::MatrixProduct { a, b, output },
            Product::Activations(a, b) => Scales::Product { a, b, output },
            Product::Mean(input, ref count) => Scales::Mean { input, count, output },
            Product::Onto(codes, input, ref weight) => Scales::Onto { codes, input, weight },
            Product::Grid(scale) => Scales::Ratio(scale / f64::from(output)),
        }
    }
}

/// An accumulator that is to be narrowed: requantized to fewer bits.
#[derive(Clone, Debug)]
pub(crate) struct Wide {
    /// The accumulators in i32 or i64, or codes that are requantized directly.
    pub(crate) acc: ValueId,
    /// The integer that stands for real zero, the same for every element.
    pub(crate) zero: i32,
    /// The numbers from which the scale is computed.
    pub(crate) product: Product,
    /// Says which channel of the requantization's parameters applies to each element.
    pub(super) channels: Channels,
}

impl Wide {
    /// Makes the accumulator for codes on one grid, or for sums of such codes.
    pub(super) fn on_grid(acc: ValueId, zero: i32, scale: impl Into<f64>) -> Wide {
        Wide {
            acc,
            zero,
            product: Product::Grid(scale.into()),
            channels: Channels::Axis(0),
        }
    }
}

/// The op that subtracts a zero point from codes, in 32 bits.
pub(super) fn centring(zero: i32) -> ShiftLeft {
    ShiftLeft {
        zero,
        bits: 0,
        accumulator: Carrier::I32,
    }
}

/// Removes the request for a coarser result grid from a failure, because a coarser grid would not help here. What
/// remains is the refusal of the node.
pub(super) fn not_coarser(failure: Failure) -> Failure {
    match failure {
        Failure::TooFine { reason, .. } => reason.into(),
        other => other,
    }
}

/// The grid to which accumulators or codes are requantized.
#[derive(Clone, Copy)]
pub(crate) struct Narrow {
    pub(super) scale: f32,
    pub(super) zero: i32,
    pub(super) out: IntType,
}

impl Narrow {
    fn grid(self) -> Arc<QuantParams> {
        Arc::new(QuantParams::tensor(self.scale, self.zero))
    }
}

impl From<&Grid> for Narrow {
    fn from(grid: &Grid) -> Narrow {
        Narrow {
            scale: grid.scale,
            zero: grid.zero,
            out: grid.ty,
        }
    }
}

/// Requantizes `wide` to the grid of the node's first result. If the result has no grid, it stays an accumulator:
/// readers that need codes requantize it themselves, and for readers that need real numbers it is dequantized.
pub(super) fn narrow(lowering: &mut Lowering<'_>, site: &NodeToLower<'_>, wide: Wide) -> Result<(), Failure> {
    let y = site.output()?;
    let Some(grid) = lowering.result_grid(site) else {
        let is_real = lowering.is_read_in_float(site)?;
        if let (true, Channels::Picked(_)) = (is_real, wide.channels) {
            let text = "its result is read as real numbers, and sums with different divisors have no scale in common";
            return refused(ReasonCode::NoGrid, text);
        }
        if is_real {
            lowering.dequantize_accumulator(site.node, y, wide.acc)?;
        }
        // If the target requantizes only by shifts, the scales of the weights were chosen for one grid of the result,
        // and no shift leads from the accumulator to any other grid. So the accumulator is not stored for readers.
        if !site.row.leaves_a_shift() {
            lowering.sums.insert(y, wide);
        }
        return Ok(());
    };
    let codes = requantize(lowering, site, wide, (&grid).into(), &site.row.requantize, "requantize")?;
    lowering.set_codes(site, 0, codes)
}

/// The largest n for which 2^n is a finite f32.
const MOST_DOUBLINGS: u32 = 127;

/// Appends a requantize node with the first of `forms` that fits. If no form supports the accumulator's zero point, the
/// zero point is subtracted first, which costs one more addition.
pub(super) fn requantize(
    lowering: &mut Lowering<'_>,
    site: &NodeToLower<'_>,
    mut wide: Wide,
    to: Narrow,
    forms: &[String],
    suffix: &str,
) -> Result<ValueId, Failure> {
    let spec = lowering.spec;
    let per_channel = wide.product.scales(to.scale).factor().channels().is_some();
    if wide.zero != 0 && !rows(spec, forms).any(|row| row.takes_input_zero(per_channel)) {
        wide.acc = centre(lowering, site, wide.acc, wide.zero)?;
        wide.zero = 0;
    }
    let accumulators = lowering.bounds(wide.acc);
    let built = |to| named_form(spec, forms, &wide.product, wide.zero, to, accumulators.as_ref());
    // Each doubling of the scale halves the factor that the form has to represent.
    let coarser = |doublings: &u32| {
        let scale = to.scale * 2f32.powi(*doublings as i32);
        scale.is_finite() && built(Narrow { scale, ..to }).is_ok()
    };
    let (row, built) = built(to).map_err(|reason| match (1..=MOST_DOUBLINGS).find(coarser) {
        Some(doublings) => Failure::TooFine { reason, doublings },
        None => reason.into(),
    })?;
    let nearness = match (built.nearness, spec.form.get(row), accumulators) {
        (Some(chosen), ..) => Some(HowNear::Chosen(chosen)),
        (None, Some(row), Some(accumulators)) => Some(HowNear::Derived(Box::new(Derived {
            row,
            form: built.form.clone(),
            product: wide.product.clone(),
            zero: wide.zero,
            to,
            accumulators,
        }))),
        (None, ..) => None,
    };
    let codes = emit(lowering, site, wide, to.grid(), built.form, suffix)?;
    if let Some(nearness) = nearness {
        lowering.nearness.insert(codes, nearness);
    }
    Ok(codes)
}

/// How near a requantization is to the ideal function.
pub(crate) enum HowNear<'a> {
    /// Known, since the integers were chosen for it.
    Chosen(Nearness),
    /// Still to be computed. This takes longer than lowering the node, and nothing in lowering depends on it.
    Derived(Box<Derived<'a>>),
}

/// What is needed to compute how near a requantization is to the ideal function.
pub(crate) struct Derived<'a> {
    row: &'a FormRow,
    form: Requantization,
    product: Product,
    zero: i32,
    to: Narrow,
    accumulators: Per<(i64, i64)>,
}

impl HowNear<'_> {
    /// Computes it; `None` if it is not known.
    pub(crate) fn computed(&self) -> Option<Nearness> {
        match self {
            HowNear::Chosen(nearness) => Some(*nearness),
            HowNear::Derived(of) => {
                let rescale = rescale(&of.product, (of.zero, true), of.to, Some(&of.accumulators));
                of.row.derived(&of.form, &rescale)
            }
        }
    }
}

/// Requantizes codes to the grid of a product's sums, in 32 bits, by the first of `forms` that fits.
pub(super) fn onto(
    lowering: &mut Lowering<'_>,
    site: &NodeToLower<'_>,
    mut codes: Wide,
    grid: Arc<QuantParams>,
    forms: &[String],
) -> Result<ValueId, Failure> {
    let spec = lowering.spec;
    // `product` contains the scales of both grids, so the scale here is 1.
    let to = Narrow {
        scale: 1.0,
        zero: 0,
        out: IntType::I32,
    };
    let per_channel = codes.product.scales(to.scale).factor().channels().is_some();
    if codes.zero != 0 && !rows(spec, forms).any(|row| row.takes_input_zero(per_channel)) {
        codes.acc = centre(lowering, site, codes.acc, codes.zero)?;
        codes.zero = 0;
    }
    let bounds = lowering.bounds(codes.acc);
    let built = form(spec, forms, &codes.product, codes.zero, to, bounds.as_ref())?;
    emit(lowering, site, codes, grid, built.form, "operand")
}

fn rows<'a>(spec: &'a TargetSpec, forms: &'a [String]) -> impl Iterator<Item = &'a FormRow> {
    forms.iter().filter_map(|name| spec.form.get(name.as_str()))
}

/// Builds the first of `forms` that can requantize codes with the zero point `zero` to the grid `to`. If no form
/// supports a zero point, the caller has to subtract `zero` first: the form is then built for codes without a zero
/// point.
pub(super) fn form(
    spec: &TargetSpec,
    forms: &[String],
    product: &Product,
    zero: i32,
    to: Narrow,
    accumulators: Option<&Per<(i64, i64)>>,
) -> Result<Built, Reason> {
    named_form(spec, forms, product, zero, to, accumulators).map(|(_, built)| built)
}

/// The same as [`form`], with the name of the form.
fn named_form<'a>(
    spec: &TargetSpec,
    forms: &'a [String],
    product: &Product,
    zero: i32,
    to: Narrow,
    accumulators: Option<&Per<(i64, i64)>>,
) -> Result<(&'a str, Built), Reason> {
    let per_channel = product.scales(to.scale).factor().channels().is_some();
    let takes_zero = rows(spec, forms).any(|row| row.takes_input_zero(per_channel));
    spec.build(forms, &rescale(product, (zero, takes_zero), to, accumulators))
}

/// The scales of a requantization. The zero point of the codes is left out if no form takes it.
fn rescale<'a>(
    product: &'a Product,
    (zero, takes_zero): (i32, bool),
    to: Narrow,
    accumulators: Option<&'a Per<(i64, i64)>>,
) -> Rescale<'a> {
    Rescale {
        scales: product.scales(to.scale),
        input_zero: if takes_zero { zero } else { 0 },
        output_zero: to.zero,
        out: to.out,
        accumulators,
    }
}

/// Appends a requantize node that shifts: it uses the row's form that shifts, which drops the lowest bits of `wide`.
pub(super) fn shift(
    lowering: &mut Lowering<'_>,
    site: &NodeToLower<'_>,
    wide: Wide,
    to: Narrow,
    bits: Per<u8>,
) -> Result<ValueId, Failure> {
    let row = rows(lowering.spec, &site.row.requantize).find(|row| matches!(row.kind, Arithmetic::Shift { .. }));
    let row = row.ok_or_else(|| Reason::new(ReasonCode::NoForm, "the row has no form that shifts"))?;
    let form = row.build_shift(bits, to.out)?;
    emit(lowering, site, wide, to.grid(), form, "requantize")
}

/// Appends a requantize node that turns sums into means. It has the first of the row's forms that multiply by the
/// reciprocals of counts. The zero point of the sums is already subtracted.
pub(super) fn reciprocal(
    lowering: &mut Lowering<'_>,
    site: &NodeToLower<'_>,
    wide: Wide,
    to: Narrow,
    counts: &Per<u32>,
    numbers: Reciprocal,
) -> Result<ValueId, Failure> {
    let acc = match wide.zero {
        0 => wide.acc,
        zero => centre(lowering, site, wide.acc, zero)?,
    };
    let accumulators = lowering.bounds(acc);
    let mut refused = Reason::new(ReasonCode::NoForm, "the row has no form that multiplies and shifts");
    for row in rows(lowering.spec, &site.row.requantize) {
        match row.build_reciprocal(counts, numbers, to.zero, to.out, accumulators.as_ref()) {
            Ok(form) => return emit(lowering, site, Wide { acc, ..wide }, to.grid(), form, "requantize"),
            Err(reason) => refused = reason,
        }
    }
    Err(refused.into())
}

/// Appends a requantize node with the form `form`.
fn emit(
    lowering: &mut Lowering<'_>,
    site: &NodeToLower<'_>,
    wide: Wide,
    grid: Arc<QuantParams>,
    form: Requantization,
    suffix: &str,
) -> Result<ValueId, Failure> {
    let (axis, operands) = match wide.channels {
        Channels::Axis(axis) => (axis as u32, vec![wide.acc]),
        Channels::Picked(picks) => (0, vec![wide.acc, picks]),
    };
    lowering.emit(site.node, Requantize { form, axis }, &operands, Some(grid), suffix)
}

/// Appends a node that computes acc − zero. For an accumulator, this is an addition. For codes that are requantized
/// directly, it is a left shift by 0 bits, which subtracts the zero point.
fn centre(lowering: &mut Lowering<'_>, site: &NodeToLower<'_>, acc: ValueId, zero: i32) -> Result<ValueId, Failure> {
    let (elem, scale) = lowering.made(acc)?;
    let grid = Some(Arc::new(QuantParams::tensor(scale, 0)));
    if !matches!(elem, Elem::I32 | Elem::I64) {
        return lowering.shift_left(site.node, centring(zero), acc, grid, "centre");
    }
    let negated = zero
        .checked_neg()
        .ok_or_else(|| Reason::new(ReasonCode::ZeroPoint, "its zero point cannot be taken away"))?;
    let first = lowering.term(acc)?;
    let sum = Terms {
        first,
        second: (negated.into(), negated.into()),
    };
    lowering.prove(site, &sum)?;
    // A single number. If the accumulator is a scalar, this number has no axes, so that the result stays a scalar.
    let shape: &[u64] = if lowering.dims(acc).is_empty() { &[] } else { &[1] };
    let offset = TensorData::from_integers(elem, shape, &[negated.into()])?;
    let offset = lowering.walk.data("offset", offset, None);
    lowering.emit(site.node, Add {}, &[acc, offset], grid, "centre")
}
