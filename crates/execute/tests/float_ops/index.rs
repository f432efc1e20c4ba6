//! Tests ops that find positions of elements, gather or scatter elements at positions, or work along an axis.

use super::common::{Builder, float_op, run};
use super::{SIX, close};
use strait_core::op::{
    ArgReduce, Combination, Cumulative, Det, Dft, Extreme, GatherElements, GatherNd, RoiAlign, RoiMode, Running,
    Scatter, ScatterBy, TopK, Transform,
};
use strait_core::tensor::Element;
use strait_core::{Elem, Op, Stage};
use strait_execute::Tensor;

/// All results of an op on an operand, which constant operands follow.
fn results<T: Element>(
    op: impl Into<Op>,
    x: (&[u64], &[T]),
    indices: Option<(&[u64], &[i64])>,
    more: Option<(&[u64], &[T])>,
) -> Vec<Tensor> {
    let mut builder = Builder::new(Stage::Float);
    let mut operands = vec![builder.input(T::ELEM, x.0)];
    operands.extend(indices.map(|(dims, values)| builder.constant(dims, values)));
    operands.extend(more.map(|(dims, values)| builder.constant(dims, values)));
    let results = builder.results(op, &operands, None);
    let shape: Vec<usize> = x.0.iter().map(|&d| d as usize).collect();
    run(&builder.output(&results), &[Tensor::from_values(&shape, x.1).unwrap()])
}

fn floats(tensor: &Tensor) -> Vec<f32> {
    tensor.values::<f32>().unwrap().to_vec()
}

fn integers(tensor: &Tensor) -> Vec<i64> {
    tensor.values::<i64>().unwrap().to_vec()
}

#[test]
fn an_index_picks_an_element_or_a_slice() {
    let op = GatherElements { axis: -1 };
    let found = results(op, (&[2, 3], &SIX), Some((&[2, 2], &[2, 0, -1, 1])), None);
    assert_eq!(floats(&found[0]), [3.0, 1.0, -6.0, 5.0]);
    let op = GatherElements { axis: 0 };
    let found = results(op, (&[2, 3], &SIX), Some((&[1, 3], &[1, 0, 1])), None);
    assert_eq!(floats(&found[0]), [-4.0, -2.0, -6.0]);
    let one = |batch| GatherNd { batch };
    let found = results(one(0), (&[2, 3], &SIX), Some((&[3, 2], &[0, 1, -1, -1, 1, 0])), None);
    assert_eq!(floats(&found[0]), [-2.0, -6.0, -4.0]);
    let found = results(one(0), (&[2, 3], &SIX), Some((&[2, 1], &[1, 0])), None);
    assert_eq!(floats(&found[0]), [-4.0, 5.0, -6.0, 1.0, -2.0, 3.0]);
    let found = results(one(1), (&[2, 3], &SIX), Some((&[2, 1], &[2, 0])), None);
    assert_eq!(floats(&found[0]), [3.0, -4.0]);
    // Booleans can be moved, too.
    let mut builder = Builder::new(Stage::Float);
    let x = builder.input(Elem::I64, &[3]);
    let indices = builder.constant(&[2], &[2i64, 0]);
    let picked = builder.op(GatherElements { axis: 0 }, &[x, indices]);
    let x = Tensor::from_values(&[3], &[7i64, 8, 9]).unwrap();
    assert_eq!(integers(&run(&builder.output(&[picked]), &[x])[0]), [9, 7]);
}

fn scatter(by: ScatterBy, axis: i64, combine: Combination) -> Scatter {
    Scatter { by, axis, combine }
}

#[test]
fn elements_are_put_where_indices_say() {
    let elements = |combine| {
        let op = scatter(ScatterBy::Element, 1, combine);
        // Two updates go to the last column of the first row.
        let indices: (&[u64], &[i64]) = (&[2, 2], &[2, -1, 0, 1]);
        floats(
            &results(
                op,
                (&[2, 3], &SIX),
                Some(indices),
                Some((&[2, 2], &[10.0, 20.0, 30.0, -40.0])),
            )[0],
        )
    };
    assert_eq!(elements(Combination::Replace), [1.0, -2.0, 20.0, 30.0, -40.0, -6.0]);
    assert_eq!(elements(Combination::Add), [1.0, -2.0, 33.0, 26.0, -35.0, -6.0]);
    assert_eq!(
        elements(Combination::Multiply),
        [1.0, -2.0, 600.0, -120.0, -200.0, -6.0]
    );
    assert_eq!(elements(Combination::Maximum), [1.0, -2.0, 20.0, 30.0, 5.0, -6.0]);
    assert_eq!(elements(Combination::Minimum), [1.0, -2.0, 3.0, -4.0, -40.0, -6.0]);
    let slices = |combine, indices: (&[u64], &[i64]), updates: (&[u64], &[f32])| {
        floats(
            &results(
                scatter(ScatterBy::Slice, 0, combine),
                (&[2, 3], &SIX),
                Some(indices),
                Some(updates),
            )[0],
        )
    };
    let rows = slices(Combination::Replace, (&[1, 1], &[-1]), (&[1, 3], &[7.0, 8.0, 9.0]));
    assert_eq!(rows, [1.0, -2.0, 3.0, 7.0, 8.0, 9.0]);
    let points = slices(
        Combination::Add,
        (&[3, 2], &[0, 0, 1, 2, 0, 0]),
        (&[3], &[1.0, 2.0, 4.0]),
    );
    assert_eq!(points, [6.0, -2.0, 3.0, -4.0, 5.0, -4.0]);
    let wrapped = results(
        scatter(ScatterBy::Element, 0, Combination::Add),
        (&[1], &[i64::MAX]),
        Some((&[1], &[0])),
        Some((&[1], &[1i64])),
    );
    assert_eq!(integers(&wrapped[0]), [i64::MIN]);
}

#[test]
fn an_index_outside_is_an_error_of_the_model() {
    let mut builder = Builder::new(Stage::Float);
    let x = builder.input(Elem::F32, &[3]);
    let indices = builder.constant(&[1], &[3i64]);
    let picked = builder.op(GatherElements { axis: 0 }, &[x, indices]);
    let module = builder.output(&[picked]);
    let x = Tensor::from_values(&[3], &[0.0f32; 3]).unwrap();
    let options = strait_execute::PlanOptions::default();
    let error = super::common::run_with(&module, &[x], &options, 1).unwrap_err();
    assert!(
        error.to_string().contains("index 3 is outside an axis of 3 positions"),
        "{error}"
    );
}

#[test]
fn the_place_of_an_extreme_is_that_of_the_first_or_the_last() {
    let of = |extreme, last, x: &[f32]| {
        let op = ArgReduce {
            extreme,
            axis: 0,
            keep_dims: true,
            last,
        };
        integers(&results(op, (&[x.len() as u64], x), None, None)[0])[0]
    };
    let x = [2.0, 5.0, -1.0, 5.0, -1.0];
    assert_eq!(
        [of(Extreme::Maximum, false, &x), of(Extreme::Maximum, true, &x)],
        [1, 3]
    );
    assert_eq!(
        [of(Extreme::Minimum, false, &x), of(Extreme::Minimum, true, &x)],
        [2, 4]
    );
    let nan = [2.0, f32::NAN, 9.0, f32::NAN];
    assert_eq!(
        [of(Extreme::Maximum, false, &nan), of(Extreme::Minimum, true, &nan)],
        [1, 3]
    );
    let columns = ArgReduce {
        extreme: Extreme::Minimum,
        axis: -2,
        keep_dims: false,
        last: false,
    };
    let found = results(columns, (&[2, 3], &[3i64, 1, 2, 0, 4, 2]), None, None);
    assert_eq!(integers(&found[0]), [1, 0, 0]);
}

#[test]
fn running_sums_and_products_leave_out_what_they_are_told() {
    let of = |of, exclusive, reverse, axis| Cumulative {
        of,
        axis,
        exclusive,
        reverse,
    };
    let on = |op| float_op(op, &[(&[2, 3], &SIX)]);
    assert_eq!(on(of(Running::Sum, false, false, 1)), [1.0, -1.0, 2.0, -4.0, 1.0, -5.0]);
    assert_eq!(on(of(Running::Sum, true, false, 1)), [0.0, 1.0, -1.0, 0.0, -4.0, 1.0]);
    assert_eq!(on(of(Running::Sum, false, true, 0)), [-3.0, 3.0, -3.0, -4.0, 5.0, -6.0]);
    assert_eq!(
        on(of(Running::Product, true, true, 1)),
        [-6.0, 3.0, 1.0, -30.0, -6.0, 1.0]
    );
    let whole = results(of(Running::Product, false, false, 0), (&[3], &[2i64, 3, 4]), None, None);
    assert_eq!(integers(&whole[0]), [2, 6, 24]);
}

#[test]
fn the_largest_come_first_and_of_equal_ones_the_earlier() {
    let of = |largest, k, x: &[f32]| {
        let found = results(TopK { k, axis: -1, largest }, (&[x.len() as u64], x), None, None);
        (floats(&found[0]), integers(&found[1]))
    };
    let x = [3.0, 1.0, 3.0, 2.0, 1.0];
    assert_eq!(of(true, 3, &x), (vec![3.0, 3.0, 2.0], vec![0, 2, 3]));
    assert_eq!(of(false, 3, &x), (vec![1.0, 1.0, 2.0], vec![1, 4, 3]));
    assert_eq!(of(true, 5, &x).1, [0, 2, 3, 1, 4]);
    assert_eq!(of(true, 1, &[1.0, f32::NAN, 9.0]).1, [1]);
    assert_eq!(of(false, 2, &[1.0, f32::NAN, 9.0]).1, [0, 2]);
    let columns = results(
        TopK {
            k: 1,
            axis: 0,
            largest: true,
        },
        (&[2, 3], &[3i64, 1, 2, 0, 4, 2]),
        None,
        None,
    );
    assert_eq!([integers(&columns[0]), integers(&columns[1])], [[3, 4, 2], [0, 1, 0]]);
}

#[test]
fn determinants_are_those_of_the_rule() {
    let matrices = [
        2.0, 0.0, 1.0, 1.0, 3.0, 2.0, 1.0, 1.0, 4.0, 0.0, 1.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0,
    ];
    assert_eq!(float_op(Det {}, &[(&[2, 3, 3], &matrices)]), [18.0, -1.0]);
    assert_eq!(float_op(Det {}, &[(&[2, 2], &[1.0, 2.0, 2.0, 4.0])]), [0.0]);
}

#[test]
fn transforms_are_those_of_the_definition() {
    let of = |transform, length| Dft {
        transform,
        axis: 0,
        length,
    };
    let x: (&[u64], &[f32]) = (&[4, 1], &[1.0, 2.0, 3.0, 4.0]);
    let all = [10.0, 0.0, -2.0, 2.0, -2.0, 0.0, -2.0, -2.0];
    close(&float_op(of(Transform::Forward, 4), &[x]), &all);
    close(&float_op(of(Transform::ForwardHalf, 4), &[x]), &all[..6]);
    let back = [1.0, 0.0, 2.0, 0.0, 3.0, 0.0, 4.0, 0.0];
    close(&float_op(of(Transform::Inverse, 4), &[(&[4, 2], &all)]), &back);
    close(&float_op(of(Transform::InverseHalf, 4), &[(&[3, 2], &all[..6])]), x.1);
    // The length 3 is no power of two, and the last element is cut off.
    let root = 3.0f32.sqrt();
    let cut: (&[u64], &[f32]) = (&[4, 1], &[1.0, 2.0, 4.0, 9.0]);
    close(
        &float_op(of(Transform::Forward, 3), &[cut]),
        &[7.0, 0.0, -2.0, root, -2.0, -root],
    );
    // Each of two columns is extended by a zero.
    let two = Dft {
        axis: -3,
        ..of(Transform::ForwardHalf, 2)
    };
    assert_eq!(
        float_op(two, &[(&[1, 2, 1], &[3.0, 5.0])]),
        [3.0, 0.0, 5.0, 0.0, 3.0, 0.0, 5.0, 0.0]
    );
}

#[test]
fn regions_are_pooled_by_samples_or_by_whole_elements() {
    let x: (&[u64], &[f32]) = (&[1, 1, 2, 2], &[1.0, 2.0, 3.0, 4.0]);
    let of = |mode, sampling, half_pixel, width, corners: &[f32]| {
        let op = RoiAlign {
            mode,
            height: 1,
            width,
            sampling,
            scale: 1.0,
            half_pixel,
        };
        let mut builder = Builder::new(Stage::Float);
        let operands = [builder.input(Elem::F32, x.0), builder.input(Elem::F32, &[1, 4])];
        let images = builder.constant(&[1], &[0i64]);
        let pooled = builder.op(op, &[operands[0], operands[1], images]);
        let inputs = [
            Tensor::from_values(&[1, 1, 2, 2], x.1).unwrap(),
            Tensor::from_values(&[1, 4], corners).unwrap(),
        ];
        floats(&run(&builder.output(&[pooled]), &inputs)[0])
    };
    let whole = [0.0, 0.0, 2.0, 2.0];
    // With two samples along each axis, the samples are the four elements. With one, the sample is in the middle of
    // them, so each element has the weight ¼.
    assert_eq!(of(RoiMode::Average, 2, true, 1, &whole), [2.5]);
    assert_eq!(of(RoiMode::Average, 0, true, 1, &whole), [2.5]);
    assert_eq!(of(RoiMode::Maximum, 2, true, 1, &whole), [4.0]);
    assert_eq!(of(RoiMode::Average, 1, true, 1, &whole), [2.5]);
    assert_eq!(of(RoiMode::Maximum, 1, true, 1, &whole), [1.0]);
    // Without the shift by half a pixel, the middle is the last element.
    assert_eq!(of(RoiMode::Average, 1, false, 1, &whole), [4.0]);
    assert_eq!(of(RoiMode::Elements, 0, false, 2, &[0.0, 0.0, 1.0, 1.0]), [3.0, 4.0]);
    assert_eq!(of(RoiMode::Elements, 0, false, 1, &[5.0, 5.0, 6.0, 6.0]), [0.0]);
}
