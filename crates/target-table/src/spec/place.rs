//! Decides where the target runs an op, from the op's row and the limits in the row.

use super::check::{factors_of, position};
use super::{Activation, Integer, Limit, OpRow, TargetSpec};
use std::collections::BTreeMap;
use strait_core::op::AveragePool;
use strait_core::{Attribute, Op, Reason, ReasonCode, TensorType};
use strait_document::Scalar;

/// The properties of an operand that limits may depend on.
#[derive(Clone, Copy, Debug)]
pub struct Operand<'a> {
    /// Element type and shape of the operand.
    pub ty: &'a TensorType,
    /// True if the operand is a constant tensor of the model.
    pub constant: bool,
}

/// The name of the quantity that depends on the codes of the weights.
pub(super) const WEIGHT_SUM: &str = "weight_sum";

/// An op with its operands and its result. Optional operands that are absent are `None`.
#[derive(Clone, Copy, Debug)]
pub struct OpSite<'a> {
    /// The op.
    pub op: &'a Op,
    /// The operands of the op.
    pub operands: &'a [Option<Operand<'a>>],
    /// The type of the op's first result.
    pub result: &'a TensorType,
    /// Σ |code − zero point| over the weights of one output, for the output where this sum is largest. `None` as long
    /// as the weights have no codes; a limit of the sum then counts as satisfied.
    pub weight_sum: Option<u64>,
}

impl TargetSpec {
    /// Why the ops of a row run on the host. If an option of the target is the cause, the text names the option, so that
    /// a report shows what the option costs.
    pub fn why_host(&self, name: &str, row: &OpRow) -> String {
        let why = row.why.clone().unwrap_or_default();
        match self.option_of(name) {
            Some((option, value)) => format!("{why} (`{option} = {value}`)"),
            None => why,
        }
    }

    /// Finds the first row that supports these types of activations and weights and whose limits the op satisfies. This
    /// row computes the op on the accelerator. Returns the row and its name. If there is no such row, the op stays on
    /// the host, and each row that was tried gives a reason why.
    pub fn place(
        &self,
        site: &OpSite<'_>,
        activation: Activation,
        weight: Option<Integer>,
    ) -> Result<(&str, &OpRow), Reason> {
        let term = site.op.term();
        let mut refusals: Vec<(&str, Reason)> = Vec::new();
        for (name, row) in self.rows_for(term, activation) {
            if row.is_host() {
                return Err(Reason::new(ReasonCode::TargetHost, self.why_host(name, row)));
            }
            match row.admits(site, weight) {
                Ok(()) => return Ok((name, row)),
                Err(reason) => refusals.push((name, reason)),
            }
        }
        Err(match refusals.as_slice() {
            [] => {
                let text = format!("`{term}` is not in the table of {}", self.id);
                Reason::new(ReasonCode::TargetNoRow, text)
            }
            [(_, one)] => one.clone(),
            [(_, first), ..] => {
                let texts: Vec<String> = refusals
                    .iter()
                    .map(|(name, reason)| format!("op.{name}: {}", reason.text))
                    .collect();
                Reason::new(first.code.clone(), texts.join("; "))
            }
        })
    }
}

impl OpRow {
    /// True if a limit of the row depends on the codes of the weights.
    pub fn limits_codes(&self) -> bool {
        let of_types = self.limit_of.values().flat_map(BTreeMap::keys);
        let mut limited = self.limit.keys().chain(of_types);
        limited.any(|limited| factors_of(limited).any(|factor| factor == WEIGHT_SUM))
    }

    /// Checks that the op is within every limit of the row, if the weights have the given type. The reason names the
    /// first limit that does not hold, and the value that the op has.
    fn admits(&self, site: &OpSite<'_>, weight: Option<Integer>) -> Result<(), Reason> {
        let own = weight.and_then(|weight| Some((weight, self.limit_of.get(&weight)?)));
        let own = own.into_iter().flat_map(|(weight, limits)| {
            let limits = limits.iter();
            limits.map(move |(limited, limit)| (limited, limit, format!(" with weights of {weight}")))
        });
        let all = self
            .limit
            .iter()
            .map(|(limited, limit)| (limited, limit, String::new()));
        for (limited, limit, with) in all.chain(own) {
            for value in limited_values(site, limited)? {
                if let Some(allowed) = limit.refuses(&value) {
                    let term = site.op.term();
                    let text = format!("{limited} of `{term}` is {value}; the target takes {allowed}{with}");
                    let (quantity, _) = position(factors_of(limited).next().unwrap_or(limited));
                    return Err(Reason::new(ReasonCode::TargetLimit(quantity.to_owned().into()), text));
                }
            }
        }
        Ok(())
    }
}

/// Returns the values that a limit is checked against: all values of a quantity, the value at one position, or products
/// of several quantities. The list is empty if the op does not have the quantity.
fn limited_values(site: &OpSite<'_>, limited: &str) -> Result<Vec<Scalar>, Reason> {
    let of = |factor: &str| -> Result<Vec<Scalar>, Reason> {
        let (quantity, position) = position(factor);
        let (skipped, taken) = position.map_or((0, usize::MAX), |position| (position, 1));
        Ok(values(site, quantity)?.into_iter().skip(skipped).take(taken).collect())
    };
    let mut factors = factors_of(limited);
    let first = of(factors.next().unwrap_or(limited))?;
    let (mut numbers, mut several) = (first.clone(), false);
    for factor in factors {
        several = true;
        let more = of(factor)?;
        if more.is_empty() {
            return Ok(Vec::new());
        }
        numbers.extend(more);
    }
    if !several || first.is_empty() {
        return Ok(first);
    }
    // A product beyond i64 exceeds every limit. A product with a factor that is not a whole number has no value.
    let product = numbers.iter().try_fold(1i64, |product, number| match number {
        Scalar::Integer(number) => Some(product.saturating_mul(*number)),
        _ => None,
    });
    Ok(vec![product.map_or_else(
        || Scalar::String("no whole number".into()),
        Scalar::Integer,
    )])
}

impl Limit {
    /// Returns a text that says which values are allowed, if the limit does not allow `value`. Otherwise returns
    /// `None`.
    pub(super) fn refuses(&self, value: &Scalar) -> Option<String> {
        if let Some(known) = &self.one_of
            && !known.iter().any(|known| same(known, value))
        {
            let known: Vec<String> = known.iter().map(Scalar::to_string).collect();
            return Some(known.join(", "));
        }
        let Scalar::Integer(number) = value else {
            let numbers = self.min.is_some() || self.max.is_some() || self.multiples_of.is_some();
            return numbers.then(|| "a whole number".to_owned());
        };
        if let Some(step) = self.multiples_of
            && number % i64::from(step.get()) != 0
        {
            return Some(format!("multiples of {step}"));
        }
        match (self.min, self.max) {
            (Some(min), _) if *number < min => Some(format!("{min} and above")),
            (_, Some(max)) if *number > max => Some(format!("{max} and below")),
            _ => None,
        }
    }
}

/// Converts a real number. A whole number becomes an integer, and any other number becomes a string, which no limit
/// allows.
fn of_real(number: f32) -> Scalar {
    // The conversion is exact if the number is whole and below 2^24.
    match number as i64 {
        whole if whole.unsigned_abs() < 1 << 24 && whole as f32 == number => Scalar::Integer(whole),
        _ => Scalar::String(number.to_string()),
    }
}

/// True if two values are equal. In this comparison, `false` equals 0 and `true` equals 1.
fn same(known: &Scalar, value: &Scalar) -> bool {
    match known {
        Scalar::Bool(flag) => *value == Scalar::Integer((*flag).into()),
        known => known == value,
    }
}

/// The values of a quantity of the op. Empty if the op does not have the quantity.
fn values(site: &OpSite<'_>, quantity: &str) -> Result<Vec<Scalar>, Reason> {
    if matches!(quantity, "axis" | "axis_from_end") {
        return axes(site, quantity == "axis_from_end");
    }
    if site.op.term().attribute_keys().contains(&quantity) {
        return Ok(match site.op.attribute(quantity) {
            Some(Attribute::Int(number)) => vec![Scalar::Integer(number)],
            Some(Attribute::Ints(numbers)) => numbers.into_iter().map(Scalar::Integer).collect(),
            Some(Attribute::Float(number)) => vec![of_real(number)],
            Some(Attribute::Floats(numbers)) => numbers.into_iter().map(of_real).collect(),
            Some(Attribute::Text(word)) => vec![Scalar::String(word)],
            _ => Vec::new(),
        });
    }
    if quantity == "factor" {
        return factors(site);
    }
    let positions = |constant: bool| {
        let operands = site.operands.iter().enumerate();
        let wanted = operands.filter(|(_, o)| o.is_some_and(|o| o.constant == constant));
        wanted.map(|(position, _)| position as u64).collect()
    };
    let word = |word: Option<&str>| word.map(|word| Scalar::String(word.into())).into_iter().collect();
    let numbers: Vec<u64> = match quantity {
        "rank" => operand(site, 0).map(|x| x.shape.len() as u64).into_iter().collect(),
        "batch" => dims_of(site, 0)?.into_iter().take(1).collect(),
        "channels" => dims_of(site, 0)?.into_iter().skip(1).take(1).collect(),
        "elements" => vec![product(&dims(site.result)?)?],
        "shape" => dims_of(site, 0)?,
        "result_shape" => dims(site.result)?,
        "kernel" => kernel(site)?,
        "depth_dilation" => match site.op {
            Op::Conv(conv) if conv.dilation.len() == 3 => conv.dilation.iter().take(1).map(|&by| by.into()).collect(),
            _ => Vec::new(),
        },
        "window" => vec![product(&kernel(site)?)?],
        "k" => summands(site)?.into_iter().collect(),
        "uncounted_pad" => match site.op {
            // In ceil mode, a window that reaches past the end of the input also counts fewer elements.
            Op::AveragePool(pool) => vec![u64::from(is_padded(pool) && !pool.count_include_pad || pool.ceil)],
            _ => Vec::new(),
        },
        "counted_pad" => match site.op {
            Op::AveragePool(pool) => vec![u64::from(is_padded(pool) && pool.count_include_pad)],
            _ => Vec::new(),
        },
        "constant_operands" => positions(true),
        "variable_operands" => positions(false),
        WEIGHT_SUM => site.weight_sum.into_iter().collect(),
        "grouping" => return grouping(site).map(word),
        "broadcast" => return broadcast(site).map(word),
        _ => Vec::new(),
    };
    // A number that does not fit i64 exceeds every limit.
    Ok(numbers
        .into_iter()
        .map(|n| Scalar::Integer(i64::try_from(n).unwrap_or(i64::MAX)))
        .collect())
}

fn operand<'a>(site: &OpSite<'a>, position: usize) -> Option<&'a TensorType> {
    site.operands.get(position).copied().flatten().map(|o| o.ty)
}

/// The extents of an operand; empty if the operand is absent.
fn dims_of(site: &OpSite<'_>, position: usize) -> Result<Vec<u64>, Reason> {
    operand(site, position).map_or(Ok(Vec::new()), dims)
}

fn dims(ty: &TensorType) -> Result<Vec<u64>, Reason> {
    let symbolic = "a limit concerns a dimension that is not a number yet";
    let dims = ty
        .dims()
        .ok_or_else(|| Reason::new(ReasonCode::TargetSymbolic, symbolic))?;
    Ok(dims.to_vec())
}

fn product(extents: &[u64]) -> Result<u64, Reason> {
    let product = extents
        .iter()
        .try_fold(1u64, |product, &extent| product.checked_mul(extent));
    let text = || format!("the product of {extents:?} is too large");
    product.ok_or_else(|| Reason::new(ReasonCode::TargetOverflow, text()))
}

/// The extents of the window from which one result is computed.
fn kernel(site: &OpSite<'_>) -> Result<Vec<u64>, Reason> {
    let size = |size: &[u32]| size.iter().map(|&s| s.into()).collect();
    Ok(match site.op {
        Op::Conv(_) => dims_of(site, 1)?.into_iter().skip(2).collect(),
        Op::MaxPool(pool) => size(&pool.size),
        Op::AveragePool(pool) => size(&pool.size),
        Op::SumPool(pool) => size(&pool.size),
        Op::GlobalAveragePool(_) => dims_of(site, 0)?.into_iter().skip(2).collect(),
        Op::Reduce(reduce) => {
            let x = dims_of(site, 0)?;
            reduce
                .reduced(x.len())?
                .into_iter()
                .filter_map(|axis| x.get(axis).copied())
                .collect()
        }
        _ => Vec::new(),
    })
}

/// The number of products, or of elements, that are added up for one result.
fn summands(site: &OpSite<'_>) -> Result<Option<u64>, Reason> {
    Ok(match site.op {
        Op::Conv(_) => Some(product(dims_of(site, 1)?.get(1..).unwrap_or_default())?),
        Op::Gemm(gemm) => dims_of(site, 1)?.get(usize::from(gemm.transpose_b)).copied(),
        Op::MatMul(_) => dims_of(site, 0)?.last().copied(),
        Op::AveragePool(_) | Op::SumPool(_) | Op::GlobalAveragePool(_) | Op::Reduce(_) => {
            Some(product(&kernel(site)?)?)
        }
        _ => None,
    })
}

/// The factors of a resize, one for each axis. The op states the factors, or they follow from the extents of the
/// result.
fn factors(site: &OpSite<'_>) -> Result<Vec<Scalar>, Reason> {
    let Op::Resize(resize) = site.op else {
        return Ok(Vec::new());
    };
    if !resize.scales.is_empty() {
        return Ok(resize.scales.iter().copied().map(of_real).collect());
    }
    let from = dims_of(site, 0)?;
    let to = dims(site.result)?;
    let factor = |(to, from): (&u64, &u64)| of_real(*to as f32 / *from as f32);
    Ok(to.iter().zip(&from).map(factor).collect())
}

fn is_padded(pool: &AveragePool) -> bool {
    pool.pad.iter().any(|&p| p != 0)
}

fn grouping(site: &OpSite<'_>) -> Result<Option<&'static str>, Reason> {
    let Op::Conv(conv) = site.op else { return Ok(None) };
    let weight = dims_of(site, 1)?;
    Ok(Some(match conv.groups {
        1 => "none",
        _ if conv.is_depthwise(&weight) => "depthwise",
        _ => "grouped",
    }))
}

/// How two operands are broadcast to the shape of the result, as a word of the table. A channel is the second axis.
fn broadcast(site: &OpSite<'_>) -> Result<Option<&'static str>, Reason> {
    let (Some(a), Some(b)) = (operand(site, 0), operand(site, 1)) else {
        return Ok(None);
    };
    let (a, b, result) = (dims(a)?, dims(b)?, dims(site.result)?);
    let smaller = match (a == result, b == result) {
        (true, _) => b,
        (_, true) => a,
        _ => return Ok(Some("general")),
    };
    // As in NumPy, the last axes of both shapes correspond to each other.
    let offset = result.len() - smaller.len().min(result.len());
    let filled: Vec<usize> = (0..smaller.len())
        .filter(|&axis| smaller[axis] != 1)
        .map(|axis| axis + offset)
        .collect();
    Ok(Some(if smaller == result {
        "none"
    } else if filled.is_empty() {
        "scalar"
    } else if filled == [1] {
        "channel"
    } else {
        "general"
    }))
}

fn axes(site: &OpSite<'_>, from_end: bool) -> Result<Vec<Scalar>, Reason> {
    let Some(x) = operand(site, 0) else {
        return Ok(Vec::new());
    };
    let rank = x.shape.len() as i64;
    let axes = match (site.op.attribute("axis"), site.op.attribute("axes"), site.op) {
        (_, _, Op::Reduce(reduce)) => reduce
            .reduced(x.shape.len())?
            .into_iter()
            .map(|axis| axis as i64)
            .collect(),
        (Some(Attribute::Int(axis)), ..) => vec![axis],
        (_, Some(Attribute::Ints(axes)), _) => axes,
        _ => Vec::new(),
    };
    let normal = |axis: i64| if axis < 0 { axis.saturating_add(rank) } else { axis };
    Ok(axes
        .into_iter()
        .map(|axis| Scalar::Integer(normal(axis) - if from_end { rank } else { 0 }))
        .collect())
}
