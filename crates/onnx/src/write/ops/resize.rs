//! Writes resizing. ONNX takes either scales or sizes, and computes the other list. In the IR, the two lists do not
//! have to follow from each other. Even if they do not, ONNX may be able to express both lists as one scale for several
//! axes, whose extents ONNX then rounds.

use super::operator::{At, Emitter, Operator, WriteError};
use crate::write::attributes::{float, int, ints, text};
use strait_core::op::{Coordinate, Resize, ResizeMode};
use strait_core::{Dim, Graph, Node, TensorData};

/// The operand of ONNX's Resize that is written: scales or sizes. From either, ONNX has to compute the scales and the
/// sizes of the op.
#[derive(Debug, PartialEq)]
enum Lists {
    Scales(Vec<f32>),
    Sizes(Vec<i64>),
    /// One scale for all axes in `axes`: the smallest of the scales that the sizes of these axes require.
    Kept {
        axes: Vec<i64>,
        sizes: Vec<i64>,
    },
}

/// The list to write for a resize of an operand with this shape. `None` if ONNX cannot express the resize.
fn lists(resize: &Resize, shape: &[Dim]) -> Option<Lists> {
    if resize.sizes.is_empty() {
        return Some(Lists::Scales(resize.scales.clone()));
    }
    if resize.scales.is_empty() {
        return Some(Lists::Sizes(resize.sizes.to_vec()));
    }
    let extents: Vec<u64> = shape.iter().map(|dim| dim.fixed()).collect::<Option<_>>()?;
    let [scales, sizes] = [resize.scales.len(), resize.sizes.len()];
    if [scales, sizes] != [extents.len(); 2] {
        return None;
    }
    let axes = || extents.iter().zip(&resize.scales).zip(&resize.sizes);
    // Runtimes multiply an extent by its scale in f32, where the product may be rounded. In f64, the product is exact.
    // Both products have to give the size.
    let by_scale = |((&extent, &scale), &size): ((&u64, &f32), &i64)| {
        let products = [extent as f64 * f64::from(scale), f64::from(extent as f32 * scale)];
        products.iter().all(|product| product.floor() == size as f64)
    };
    if axes().all(by_scale) {
        return Some(Lists::Scales(resize.scales.clone()));
    }
    if axes().all(|((&extent, &scale), &size)| size as f32 / extent as f32 == scale) {
        return Some(Lists::Sizes(resize.sizes.to_vec()));
    }
    kept(resize, &extents)
}

/// Looks for one scale for all axes that are resized. It has to be exactly the scale that the size of one axis
/// requires, and has to give all other axes their sizes, too. Returns `None` if there is no such scale.
fn kept(resize: &Resize, extents: &[u64]) -> Option<Lists> {
    let resampled = |&axis: &usize| resize.scales[axis] != 1.0 || resize.sizes[axis] != extents[axis] as i64;
    let axes: Vec<usize> = (0..extents.len()).filter(resampled).collect();
    let quotient = |axis: usize| resize.sizes[axis] as f64 / extents[axis] as f64;
    let asks = |&axis: &usize| axes.iter().all(|&other| resize.scales[other] == quotient(axis) as f32);
    let scale = quotient(axes.iter().copied().find(asks)?);
    let rounds = |&axis: &usize| (scale * extents[axis] as f64 + 0.5).floor() == resize.sizes[axis] as f64;
    axes.iter().all(rounds).then(|| Lists::Kept {
        sizes: (axes.iter())
            .map(|&axis| resize.sizes[axis] + i64::from(quotient(axis) < scale))
            .collect(),
        axes: axes.iter().map(|&axis| axis as i64).collect(),
    })
}

/// Writes a resize. In ONNX, the first operands are the tensor and a region; after them come scales or sizes.
impl Operator for Resize {
    fn write(&self, emitter: &mut Emitter<'_>, at: At<'_>) -> Result<(), WriteError> {
        let shape = emitter
            .ty(at.node.inputs.first().copied().flatten())
            .map(|ty| &ty.shape[..]);
        let lists = lists(self, shape.unwrap_or_default()).ok_or_else(|| {
            at.unwritable("scales and sizes that do not follow from each other are not a Resize in ONNX")
        })?;
        let mut attributes = vec![
            text("mode", self.mode.name()),
            text("coordinate_transformation_mode", self.coordinate.name()),
            text("nearest_mode", self.nearest.name()),
        ];
        if self.mode == ResizeMode::Cubic {
            attributes.push(float("cubic_coeff_a", self.cubic));
        }
        if self.exclude_outside {
            attributes.push(int("exclude_outside", true));
        }
        if self.antialias {
            attributes.push(int("antialias", true));
        }
        let (mut inputs, outputs) = (at.inputs(emitter), at.outputs(emitter));
        let region = match self.region.split_last() {
            Some((&beside, region)) if self.coordinate == Coordinate::Crop => {
                attributes.push(float("extrapolation_value", beside));
                floats(emitter, at, "roi", region)?
            }
            _ => String::new(),
        };
        // If a list is computed at run time, it is an operand in the IR, too.
        let late = inputs.get(1).cloned();
        inputs.truncate(1);
        inputs.push(region);
        let sizes_name = format!("{}_sizes", at.name);
        match lists {
            Lists::Scales(scales) => inputs.push(match late {
                Some(list) => list,
                None => floats(emitter, at, "scales", &scales)?,
            }),
            Lists::Sizes(sizes) => {
                let list = late.unwrap_or_else(|| emitter.ints(&sizes_name, &sizes));
                inputs.extend([String::new(), list]);
            }
            Lists::Kept { axes, sizes } => {
                attributes.extend([ints("axes", &axes), text("keep_aspect_ratio_policy", "not_larger")]);
                inputs.extend([String::new(), emitter.ints(&sizes_name, &sizes)]);
            }
        }
        emitter.node("Resize", at.name, inputs, outputs, attributes);
        Ok(())
    }

    fn since(&self, graph: &Graph, node: &Node) -> i64 {
        let operand = node.inputs.first().copied().flatten().and_then(|id| graph.value(id));
        let keeps = |shape: &[Dim]| matches!(lists(self, shape), Some(Lists::Kept { .. }));
        let is_young = self.antialias
            || self.coordinate == Coordinate::HalfPixelSymmetric
            || operand.is_some_and(|operand| keeps(&operand.ty.shape));
        if is_young { 18 } else { 1 }
    }
}

/// Adds a list of floats as a constant.
fn floats(emitter: &mut Emitter<'_>, at: At<'_>, name: &str, values: &[f32]) -> Result<String, WriteError> {
    let list = TensorData::from_values(&[values.len() as u64], values);
    let list = list.map_err(|e| at.unwritable(e.to_string()))?;
    Ok(emitter.constant(&format!("{}_{name}", at.name), &list))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(extents: &[u64], scales: &[f32], sizes: &[i64]) -> Option<Lists> {
        let shape: Vec<Dim> = extents.iter().map(|&extent| Dim::Fixed(extent)).collect();
        let resize = Resize {
            scales: scales.to_vec(),
            ..Resize::to_sizes(ResizeMode::Linear, Coordinate::HalfPixel, sizes)
        };
        lists(&resize, &shape)
    }

    #[test]
    fn one_list_is_written_where_the_other_follows_from_it() {
        assert_eq!(
            told(&[7, 7], &[2.0, 2.0], &[14, 14]),
            Some(Lists::Scales(vec![2.0, 2.0]))
        );
        // f32(10/3) is below 10/3, and f32(10/7) above 10/7.
        assert_eq!(told(&[3], &[10.0 / 3.0], &[10]), Some(Lists::Sizes(vec![10])));
        assert_eq!(told(&[7], &[10.0 / 7.0], &[10]), Some(Lists::Scales(vec![10.0 / 7.0])));
        // 1.5 · 5 is cut off to 7, which only scales can express.
        assert_eq!(told(&[5], &[1.5], &[7]), Some(Lists::Scales(vec![1.5])));
    }

    #[test]
    fn a_scale_that_several_axes_share_is_asked_for_by_the_axis_that_has_it() {
        // 1.5 · 7 is rounded up to 11, and 11/7 is more than 1.5. So the first of the two axes decides.
        let kept = |sizes: &[i64]| {
            Some(Lists::Kept {
                axes: vec![1, 2],
                sizes: sizes.to_vec(),
            })
        };
        assert_eq!(told(&[3, 4, 7], &[1.0, 1.5, 1.5], &[3, 6, 11]), kept(&[6, 11]));
        // 1.4 · 6 is rounded down to 8, which would mean a scale below 1.4. 1.4 · 7 is rounded up to 10.
        let found = told(&[5, 6, 7], &[1.4; 3], &[7, 8, 10]);
        let sizes = vec![7, 9, 10];
        assert_eq!(
            found,
            Some(Lists::Kept {
                axes: vec![0, 1, 2],
                sizes
            })
        );
    }

    #[test]
    fn lists_that_have_nothing_to_do_with_each_other_are_not_written() {
        assert_eq!(told(&[4, 7], &[1.5, 1.25], &[6, 11]), None);
        assert_eq!(told(&[4], &[1.5], &[9]), None);
    }
}
