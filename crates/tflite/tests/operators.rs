//! Tests of single operators: the numbers that they compute, and the messages about those that are not read.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may panic")]

use crate::common;
use strait_import::Decoded;

use bytes::Bytes;
use common::{Table, Value, file, graph, kind, model, operator, tensor};
use strait_execute::{Plan, PlanOptions, Tensor, Threads, Workspace};
use strait_tflite::{Model, ReadOptions};

const FLOAT: u64 = 0;
const INT: u64 = 2;

/// An operand: its element type, its shape, and the bits of its elements if it is a constant.
struct Operand(u64, &'static [i32], Option<Vec<f32>>);

fn input(shape: &'static [i32]) -> Operand {
    Operand(FLOAT, shape, None)
}

fn floats(shape: &'static [i32], elements: &[f32]) -> Operand {
    Operand(FLOAT, shape, Some(elements.to_vec()))
}

/// A constant of integers. Each integer is stored as the bits of a float.
fn ints(shape: &'static [i32], elements: &[i32]) -> Operand {
    let bits = elements.iter().map(|&element| f32::from_bits(element as u32));
    Operand(INT, shape, Some(bits.collect()))
}

/// A file with one operator, given by its number, with a result of this type.
fn one(number: u64, options: Option<(u64, Table)>, operands: &[Operand], result: (u64, &[i32])) -> Table {
    let (mut tensors, mut buffers, mut inputs) = (Vec::new(), Vec::new(), Vec::new());
    for (position, Operand(elem, shape, elements)) in operands.iter().enumerate() {
        let buffer = elements.as_ref().map_or(0, |elements| {
            buffers.push(elements.clone());
            buffers.len()
        });
        tensors.push(tensor(&format!("x{position}"), shape, buffer as u64).bits(1, *elem));
        if elements.is_none() {
            inputs.push(position as i32);
        }
    }
    tensors.push(tensor("y", result.1, 0).bits(1, result.0));
    let all: Vec<i32> = (0..operands.len() as i32).collect();
    let last = operands.len() as i32;
    let mut node = operator(0, &all, &[last]);
    if let Some((kind, options)) = options {
        node = node.bits(3, kind).with(4, Value::Table(options));
    }
    let buffers: Vec<&[f32]> = buffers.iter().map(Vec::as_slice).collect();
    model(
        vec![kind(number, 1)],
        graph(tensors, vec![node], &inputs, &[last]),
        &buffers,
    )
}

/// The result of a file whose only input has these elements.
fn run(root: &Table, shape: &[usize], x: &[f32]) -> Tensor {
    let module = Model::decode(Bytes::from(file(root))).unwrap();
    let module = module
        .read(&ReadOptions::default())
        .unwrap_or_else(|error| panic!("{error}"));
    strait_core::verifier::verify(&module).unwrap();
    let plan = Plan::new(&module, module.main, &PlanOptions::default()).unwrap();
    let threads = Threads::one();
    let x = Tensor::from_values(shape, x).unwrap();
    plan.run(&mut Workspace::new(&plan, &threads), &[x.view()])
        .unwrap()
        .remove(0)
}

fn numbers(root: &Table, shape: &[usize], x: &[f32]) -> Vec<f32> {
    run(root, shape, x).view().values::<f32>().unwrap().to_vec()
}

fn refused(root: &Table) -> String {
    let model = Model::decode(Bytes::from(file(root))).unwrap();
    model.read(&ReadOptions::default()).unwrap_err().to_string()
}

#[test]
fn updates_of_one_place_are_added() {
    let x = || input(&[2, 2]);
    let scatter = one(
        122,
        None,
        &[ints(&[2, 1], &[2, 2]), x(), ints(&[2], &[3, 2])],
        (FLOAT, &[3, 2]),
    );
    let found = numbers(&scatter, &[2, 2], &[1.0, 2.0, 30.0, 40.0]);
    assert_eq!(found, [0.0, 0.0, 0.0, 0.0, 31.0, 42.0]);
    let sums = one(125, None, &[x(), ints(&[2], &[0, 1])], (FLOAT, &[2, 2]));
    assert_eq!(numbers(&sums, &[2, 2], &[1.0, 2.0, 3.0, 4.0]), [1.0, 2.0, 3.0, 4.0]);
    let gap = one(125, None, &[x(), ints(&[2], &[0, 2])], (FLOAT, &[3, 2]));
    assert!(refused(&gap).contains("segment 2 does not follow"), "{}", refused(&gap));
}

#[test]
fn slices_without_a_segment_are_left_out() {
    let operands = [input(&[3, 1]), ints(&[3], &[1, -1, 1]), ints(&[], &[2])];
    let largest = one(154, None, &operands, (FLOAT, &[2, 1]));
    assert_eq!(numbers(&largest, &[3, 1], &[-5.0, 9.0, -4.0]), [f32::MIN, -4.0]);
    let product = one(153, None, &operands, (FLOAT, &[2, 1]));
    assert_eq!(numbers(&product, &[3, 1], &[-5.0, 9.0, -4.0]), [1.0, 20.0]);
}

#[test]
fn a_slice_that_begins_too_far_behind_is_moved() {
    let with = |start: &[i32]| {
        let operands = [floats(&[4], &[0.5; 4]), input(&[2]), ints(&[1], start)];
        numbers(&one(151, None, &operands, (FLOAT, &[4])), &[2], &[7.0, 8.0])
    };
    assert_eq!(with(&[1]), [0.5, 7.0, 8.0, 0.5]);
    assert_eq!(with(&[3]), [0.5, 0.5, 7.0, 8.0]);
    assert_eq!(with(&[-3]), [7.0, 8.0, 0.5, 0.5]);
    let operands = [floats(&[1], &[0.5]), input(&[2]), ints(&[1], &[0])];
    assert!(refused(&one(151, None, &operands, (FLOAT, &[1]))).contains("does not fit"));
}

#[test]
fn elements_beside_a_list_are_the_default() {
    let operands = [ints(&[2], &[3, 0]), ints(&[1], &[4]), input(&[2]), floats(&[], &[-1.0])];
    let dense = one(68, None, &operands, (FLOAT, &[4]));
    assert_eq!(numbers(&dense, &[2], &[7.0, 8.0]), [8.0, -1.0, -1.0, 7.0]);
}

#[test]
fn rows_and_diagonals_are_where_they_belong() {
    let rows = one(7, None, &[ints(&[2], &[1, 1]), input(&[2, 2])], (FLOAT, &[2, 2]));
    assert_eq!(numbers(&rows, &[2, 2], &[1.0, 2.0, 3.0, 4.0]), [3.0, 4.0, 3.0, 4.0]);
    let matrix = one(113, None, &[input(&[2])], (FLOAT, &[2, 2]));
    assert_eq!(numbers(&matrix, &[2], &[5.0, 6.0]), [5.0, 0.0, 0.0, 6.0]);
    let set = one(115, None, &[floats(&[2, 3], &[1.0; 6]), input(&[2])], (FLOAT, &[2, 3]));
    assert_eq!(numbers(&set, &[2], &[5.0, 6.0]), [5.0, 1.0, 1.0, 1.0, 6.0, 1.0]);
    let wrong = one(115, None, &[floats(&[2, 3], &[1.0; 6]), input(&[3])], (FLOAT, &[2, 3]));
    assert!(refused(&wrong).contains("a diagonal is not of shape [2]"));
}

#[test]
fn a_sequence_is_turned_round_up_to_its_length() {
    let options = Table::default().bits(0, 1).bits(1, 0);
    let operands = [input(&[2, 3]), ints(&[2], &[2, 3])];
    let reversed = one(112, Some((87, options)), &operands, (FLOAT, &[2, 3]));
    let found = numbers(&reversed, &[2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    assert_eq!(found, [2.0, 1.0, 3.0, 6.0, 5.0, 4.0]);
}

#[test]
fn boundaries_that_are_not_above_are_counted() {
    let with = |boundaries: &[f32]| {
        let options = Table::default().with(0, Value::Floats(boundaries.to_vec()));
        one(147, Some((115, options)), &[input(&[4])], (INT, &[4]))
    };
    let found = run(&with(&[0.0, 2.0]), &[4], &[-1.0, 0.0, 2.0, 9.0]);
    assert_eq!(*found.view().values::<i32>().unwrap(), [0, 1, 2, 2]);
    assert!(refused(&with(&[2.0, 0.0])).contains("do not ascend"));
}

#[test]
fn an_angle_has_the_quadrant_of_its_point() {
    use std::f32::consts::{FRAC_PI_2, FRAC_PI_4, PI};
    let operands = [input(&[6]), floats(&[6], &[1.0, -1.0, -1.0, 0.0, 0.0, -2.0])];
    let found = numbers(
        &one(156, None, &operands, (FLOAT, &[6])),
        &[6],
        &[1.0, 1.0, -1.0, -3.0, 0.0, 0.0],
    );
    let expected = [FRAC_PI_4, 3.0 * FRAC_PI_4, -3.0 * FRAC_PI_4, -FRAC_PI_2, 0.0, PI];
    assert!(
        found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-6),
        "{found:?}"
    );
}

#[test]
fn elements_are_moved_apart() {
    let operands = [input(&[2, 2]), ints(&[2], &[1, 3]), floats(&[], &[9.0])];
    let dilated = one(203, None, &operands, (FLOAT, &[2, 4]));
    let found = numbers(&dilated, &[2, 2], &[1.0, 2.0, 3.0, 4.0]);
    assert_eq!(found, [1.0, 9.0, 9.0, 2.0, 3.0, 9.0, 9.0, 4.0]);
}

#[test]
fn bits_of_another_width_are_refused() {
    let same = one(159, None, &[input(&[2])], (INT, &[2]));
    let found = run(&same, &[2], &[1.0, -0.0]);
    assert_eq!(*found.view().values::<i32>().unwrap(), [0x3f80_0000, i32::MIN]);
    let narrow = one(159, None, &[input(&[2])], (3, &[8]));
    assert!(refused(&narrow).contains("not of one width"));
}

#[test]
fn boxes_that_overlap_by_just_the_share_go() {
    let corners = [[0.0f32, 0.0, 1.0, 1.0], [0.0, 0.0, 1.0, 2.0], [3.0, 3.0, 4.0, 4.0]].concat();
    let limits = |overlap: f32| {
        let operands = [
            floats(&[3, 4], &corners),
            input(&[3]),
            ints(&[], &[3]),
            floats(&[], &[overlap]),
            floats(&[], &[0.0]),
        ];
        one(120, None, &operands, (INT, &[3]))
    };
    let chosen = |overlap: f32| {
        let found = run(&limits(overlap), &[3], &[0.5, 0.25, 0.75]);
        found.view().values::<i32>().unwrap().to_vec()
    };
    assert_eq!(chosen(0.5), [2, 0, 0]);
    assert_eq!(chosen(0.75), [2, 0, 1]);
    assert!(refused(&limits(1.5)).contains("no share"));
}

#[test]
fn blocks_around_a_convolution_become_a_dilated_one() {
    let bits = |all: &[i32]| -> Vec<f32> { all.iter().map(|&one| f32::from_bits(one as u32)).collect() };
    let (block, padding, crops) = (bits(&[2, 2]), bits(&[1, 2, 1, 2]), bits(&[0, 1, 0, 1]));
    let tensors = vec![
        tensor("x", &[1, 5, 5, 1], 0),
        tensor("block", &[2], 1).bits(1, INT),
        tensor("padding", &[2, 2], 2).bits(1, INT),
        tensor("crops", &[2, 2], 3).bits(1, INT),
        tensor("w", &[1, 2, 2, 1], 4),
        tensor("b", &[1], 5),
        tensor("batches", &[4, 4, 4, 1], 0),
        tensor("conv", &[4, 3, 3, 1], 0),
        tensor("y", &[1, 5, 5, 1], 0),
    ];
    let options = Table::default().bits(0, 1).bits(1, 1).bits(2, 1);
    let nodes = vec![
        operator(0, &[0, 1, 2], &[6]),
        operator(1, &[6, 4, 5], &[7]).bits(3, 1).with(4, Value::Table(options)),
        operator(2, &[7, 1, 3], &[8]),
    ];
    let kinds = vec![kind(38, 1), kind(3, 1), kind(37, 1)];
    let buffers: [&[f32]; 5] = [&block, &padding, &crops, &[1.0, 2.0, 3.0, 4.0], &[0.5]];
    let root = model(kinds, graph(tensors, nodes, &[0], &[8]), &buffers);
    let module = Model::decode(Bytes::from(file(&root))).unwrap();
    let mut module = module
        .read(&ReadOptions::default())
        .unwrap_or_else(|error| panic!("{error}"));
    let main = module.main;
    strait_rewrite::canonical().run(&mut module, main).unwrap();
    let text = strait_core::text::print(&module, &strait_core::text::PrintOptions::default());
    assert!(text.contains("dilation=[2,2]"), "{text}");
    assert!(!text.contains("slice") && !text.contains("pad("), "{text}");
}
