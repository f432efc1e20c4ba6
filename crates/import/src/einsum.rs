//! Reads einsum as a composition of matrix products.

use std::collections::BTreeMap;

use strait_core::ReasonCode;
use strait_core::op::{Identity, Reduction, Squeeze, Transpose};

use crate::compose::{reduction_over, slice_along};
use crate::layer::{Arg, Layer};
use crate::refusal::Refusal;

/// The label of an axis. An axis has a letter or, if an ellipsis covers it, its position among the covered axes,
/// counted from the last one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Label {
    Ellipsis(usize),
    Letter(char),
}

/// A value with a label for each axis. No label appears twice.
struct Labelled {
    value: Arg,
    labels: Vec<Label>,
}

/// Reads the node as an einsum of its operands. The equation is written as in ONNX and TensorFlow.
///
/// # Errors
/// The equation does not fit the operands.
pub fn einsum(site: &mut Layer<'_, '_>, equation: &str) -> Result<(), Refusal> {
    let equation: String = equation.chars().filter(|c| *c != ' ').collect();
    let (left, right) = match equation.split_once("->") {
        Some((left, right)) => (left, Some(right)),
        None => (equation.as_str(), None),
    };
    let terms: Vec<&str> = left.split(',').collect();
    if terms.len() != site.operand_count() {
        return Err(invalid(format!(
            "`{equation}` has {} terms for {} operands",
            terms.len(),
            site.operand_count()
        )));
    }
    let mut extents: BTreeMap<Label, i64> = BTreeMap::new();
    let mut operands = Vec::new();
    let mut counts: BTreeMap<Label, usize> = BTreeMap::new();
    for (position, term) in terms.iter().enumerate() {
        let value = Arg::Operand(position);
        let shape = site.extents(&value)?;
        let labels = labels(term, shape.len())?;
        if labels.len() != shape.len() {
            return Err(invalid(format!(
                "`{term}` does not name the axes of an operand of rank {}",
                shape.len()
            )));
        }
        for (&label, &extent) in labels.iter().zip(&shape) {
            *counts.entry(label).or_default() += 1;
            let known = extents.entry(label).or_insert(extent);
            match *known == extent || extent == 1 {
                true => {}
                false if *known == 1 => *known = extent,
                false => {
                    return Err(invalid(format!(
                        "`{equation}`: an axis has the extents {known} and {extent}"
                    )));
                }
            }
        }
        operands.push(without_repetition(site, Labelled { value, labels })?);
    }
    let is_ellipsis = |label: &&Label| matches!(label, Label::Ellipsis(_));
    let output: Vec<Label> = match right {
        // An ellipsis in the output stands for all axes that the ellipses of the operands cover.
        Some(right) => labels_with(right, extents.keys().filter(is_ellipsis).count())?,
        // If the equation does not state the output, the result has first the axes that ellipses cover, and then the
        // axes of those letters that appear only once, in alphabetical order.
        None => {
            let letters = extents
                .keys()
                .filter(|label| !is_ellipsis(label) && counts.get(label) == Some(&1));
            extents
                .keys()
                .rev()
                .filter(is_ellipsis)
                .chain(letters)
                .copied()
                .collect()
        }
    };
    let repeated = output
        .iter()
        .enumerate()
        .any(|(index, label)| output[..index].contains(label));
    if repeated || output.iter().any(|label| !extents.contains_key(label)) {
        return Err(invalid(format!(
            "`{equation}`: the result has an axis that no operand has, or one twice"
        )));
    }
    for operand in &mut operands {
        drop_ones(site, operand, &extents)?;
    }
    let mut rest = operands.into_iter();
    let mut sum = rest.next().ok_or_else(|| invalid("it has no operands".into()))?;
    let mut later: Vec<Labelled> = rest.collect();
    sum_alone(site, &mut sum, &output, &later)?;
    while !later.is_empty() {
        let mut next = later.remove(0);
        let mut others = output.clone();
        others.extend(&sum.labels);
        sum_alone(site, &mut next, &others, &later)?;
        let kept: Vec<Label> = output
            .iter()
            .chain(later.iter().flat_map(|l| &l.labels))
            .copied()
            .collect();
        sum = multiply(site, sum, next, &kept, &extents)?;
    }
    finish(site, sum, &output)
}

/// Brings the axes of the result into the order of the output. The product has every axis of the output: an axis of
/// extent 1 is only dropped from an operand if another operand has a larger extent for the same label.
fn finish(site: &mut Layer<'_, '_>, sum: Labelled, output: &[Label]) -> Result<(), Refusal> {
    if sum.labels == output {
        return site.finish(Identity {}, &[sum.value]);
    }
    let permutation = permutation(&sum.labels, output)?;
    let permutation = permutation.as_slice().into();
    site.finish(Transpose { permutation }, &[sum.value])
}

fn invalid(text: String) -> Refusal {
    Refusal::invalid(ReasonCode::Axes, text)
}

/// The labels of one term of the equation, whose operand has this rank.
fn labels(term: &str, rank: usize) -> Result<Vec<Label>, Refusal> {
    let letters = term.chars().filter(|c| *c != '.').count();
    labels_with(term, rank.saturating_sub(letters))
}

/// The labels of a term whose ellipsis covers `ellipsis` axes.
fn labels_with(term: &str, ellipsis: usize) -> Result<Vec<Label>, Refusal> {
    let letters = |part: &str| -> Result<Vec<Label>, Refusal> {
        let label = |c: char| match c.is_ascii_alphabetic() {
            true => Ok(Label::Letter(c)),
            false => Err(invalid(format!("`{c}` is no label of an axis"))),
        };
        part.chars().map(label).collect()
    };
    match term.split_once("...") {
        None => letters(term),
        Some((before, behind)) => {
            let mut labels = letters(before)?;
            labels.extend((0..ellipsis).rev().map(Label::Ellipsis));
            labels.extend(letters(behind)?);
            Ok(labels)
        }
    }
}

/// If two axes of an operand have the same label, takes the diagonal of these axes. To do this, the two axes of extent
/// n are joined into one axis of extent n², and every (n + 1)-th element of the joined axis is taken.
fn without_repetition(site: &mut Layer<'_, '_>, mut x: Labelled) -> Result<Labelled, Refusal> {
    loop {
        let twice = (0..x.labels.len()).find_map(|second| {
            let first = x.labels[..second].iter().position(|label| *label == x.labels[second])?;
            Some((first, second))
        });
        let Some((first, second)) = twice else {
            return Ok(x);
        };
        let others = (0..x.labels.len()).filter(|axis| ![first, second].contains(axis));
        let order: Vec<usize> = others.chain([first, second]).collect();
        let permutation: Vec<u32> = order.iter().map(|&axis| axis as u32).collect();
        let moved = site.transposed(&x.value, &permutation)?;
        let mut shape = site.extents(&moved)?;
        let (n, m) = (shape.pop().unwrap_or(0), shape.pop().unwrap_or(0));
        if n != m {
            return Err(invalid(format!("a diagonal of {m} by {n} elements")));
        }
        let axis = shape.len() as i64;
        let square = n.checked_mul(n).ok_or_else(|| invalid("an axis is too long".into()))?;
        shape.push(square);
        let joined = site.reshaped(&moved, &shape)?;
        let value = site.push(slice_along([(axis, [0, square, n + 1])]), &[joined])?;
        let label = x.labels[first];
        let mut labels: Vec<Label> = order[..order.len() - 2].iter().map(|&axis| x.labels[axis]).collect();
        labels.push(label);
        x = Labelled { value, labels };
    }
}

/// Drops an axis of extent 1 from an operand if another operand has a larger extent for the same label. The product
/// broadcasts along this axis.
fn drop_ones(site: &mut Layer<'_, '_>, x: &mut Labelled, extents: &BTreeMap<Label, i64>) -> Result<(), Refusal> {
    let shape = site.extents(&x.value)?;
    let is_short = |index: usize| shape[index] == 1 && extents.get(&x.labels[index]).is_some_and(|&extent| extent != 1);
    let axes: Vec<usize> = (0..shape.len()).filter(|&index| is_short(index)).collect();
    if axes.is_empty() {
        return Ok(());
    }
    let squeeze = Squeeze {
        axes: axes.iter().map(|&axis| axis as i64).collect(),
    };
    x.value = site.push(squeeze, std::slice::from_ref(&x.value))?;
    let mut index = 0;
    x.labels.retain(|_| {
        index += 1;
        !axes.contains(&(index - 1))
    });
    Ok(())
}

/// Sums an operand over those axes that neither the result nor any other operand has.
fn sum_alone(site: &mut Layer<'_, '_>, x: &mut Labelled, kept: &[Label], later: &[Labelled]) -> Result<(), Refusal> {
    let needed = |label: &Label| kept.contains(label) || later.iter().any(|other| other.labels.contains(label));
    let alone: Vec<i64> = (0..x.labels.len())
        .filter(|&axis| !needed(&x.labels[axis]))
        .map(|axis| axis as i64)
        .collect();
    if !alone.is_empty() {
        let sum = reduction_over(Reduction::Sum, &alone, false);
        x.value = site.push(sum, std::slice::from_ref(&x.value))?;
        x.labels.retain(|label| needed(label));
    }
    Ok(())
}

/// The permutation that brings the axes of `from` into the order of `to`.
fn permutation(from: &[Label], to: &[Label]) -> Result<Vec<u32>, Refusal> {
    let place = |label: &Label| from.iter().position(|other| other == label).map(|axis| axis as u32);
    let permutation: Option<Vec<u32>> = to.iter().map(place).collect();
    let permutation = permutation.filter(|permutation| permutation.len() == from.len());
    permutation.ok_or_else(|| invalid("the axes of the result are not those of the operands".into()))
}

/// Permutes the axes of a value into the order of the groups, and joins the axes of each group, except the first, into
/// one axis.
fn grouped(
    site: &mut Layer<'_, '_>,
    x: &Labelled,
    groups: [&[Label]; 3],
    extents: &BTreeMap<Label, i64>,
) -> Result<Arg, Refusal> {
    let order: Vec<Label> = groups.concat();
    let permutation = permutation(&x.labels, &order)?;
    let mut value = x.value.clone();
    if !permutation.is_sorted() {
        value = site.transposed(&value, &permutation)?;
    }
    let [batch, second, third] = groups.map(|group| {
        let extent = |label: &Label| extents.get(label).copied().unwrap_or(1);
        group.iter().map(extent).collect::<Vec<i64>>()
    });
    if second.len() == 1 && third.len() == 1 {
        return Ok(value);
    }
    let joined = |extents: Vec<i64>| extents.iter().try_fold(1i64, |n, &extent| n.checked_mul(extent));
    let (second, third) = (joined(second), joined(third));
    let shape: Option<Vec<i64>> = batch.into_iter().map(Some).chain([second, third]).collect();
    let shape = shape.ok_or_else(|| invalid("the extents are too large".into()))?;
    site.reshaped(&value, &shape)
}

/// The product of two values, summed over the axes that both values have and that the result does not keep.
fn multiply(
    site: &mut Layer<'_, '_>,
    a: Labelled,
    b: Labelled,
    kept: &[Label],
    extents: &BTreeMap<Label, i64>,
) -> Result<Labelled, Refusal> {
    let of = |x: &Labelled, takes: &dyn Fn(&Label) -> bool| -> Vec<Label> {
        x.labels.iter().copied().filter(|label| takes(label)).collect()
    };
    let batch = of(&a, &|label| b.labels.contains(label) && kept.contains(label));
    let inner = of(&a, &|label| b.labels.contains(label) && !kept.contains(label));
    let left = of(&a, &|label| !b.labels.contains(label));
    let right = of(&b, &|label| !a.labels.contains(label));
    let rows = grouped(site, &a, [&batch, &left, &inner], extents)?;
    let columns = grouped(site, &b, [&batch, &inner, &right], extents)?;
    let product = match inner.is_empty() {
        // If no axis is summed, the product of a column and a row is enough.
        true => site.times(&rows, &columns)?,
        false => site.product(&rows, &columns)?,
    };
    let labels: Vec<Label> = [batch, left.clone(), right.clone()].concat();
    if left.len() == 1 && right.len() == 1 {
        return Ok(Labelled { value: product, labels });
    }
    let shape: Vec<i64> = labels
        .iter()
        .map(|label| extents.get(label).copied().unwrap_or(1))
        .collect();
    let value = site.reshaped(&product, &shape)?;
    Ok(Labelled { value, labels })
}
