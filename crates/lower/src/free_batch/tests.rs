//! Compares the graph for several samples with running the original graph for each sample.

use std::collections::BTreeMap;

use super::free_batch;
use strait_core::text::{PrintOptions, parse, print};
use strait_core::{Elem, Module, verifier};
use strait_execute::{Tensor, reference};

/// The number of samples in one run.
const COUNT: usize = 3;

fn module(input: &str, output: &str, body: &str, data: &str) -> Module {
    let text = format!("strait 1 float\ngraph @main(%x: {input}) {{\n{body}\n  return %y\n}}\n{data}\n");
    let module = parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    verifier::verify(&module).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let y = module.main().value(module.main().outputs()[0]).unwrap();
    assert_eq!(y.ty.to_string().replace(' ', ""), output, "{text}");
    module
}

fn run(module: &Module, shape: &[usize], values: &[f32]) -> (Vec<usize>, Vec<f32>) {
    let input = Tensor::from_values(shape, values).unwrap();
    let mut made = reference::run(module, module.main, &[input.view()], &mut |_, _| {}).unwrap();
    let made = made.remove(0);
    let values = match made.elem() {
        Elem::I64 => made.values::<i64>().unwrap().iter().map(|&v| v as f32).collect(),
        _ => made.values::<f32>().unwrap().to_vec(),
    };
    (made.shape().to_vec(), values)
}

/// Replaces the name of the batch's extent by a number.
fn bound(module: &Module) -> Module {
    let mut text = print(module, &PrintOptions::whole());
    for each in (2..=64).rev() {
        text = text.replace(&format!("\"{each}*images\""), &(each * COUNT).to_string());
    }
    parse(&text.replace("images", &COUNT.to_string())).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// Compares the graph for several samples with the graph for one sample. `axis` is the axis of the samples in the
/// result.
fn holds(input: &str, output: &str, axis: usize, body: &str, data: &str) {
    let one = module(input, output, body, data);
    let many = free_batch(&one, "images", &BTreeMap::new()).unwrap_or_else(|found| panic!("{found:?}: {body}"));
    let three = many.of(COUNT as u64);
    let many = many.module;
    verifier::verify(&many).unwrap_or_else(|error| panic!("{error}: {}", print(&many, &PrintOptions::whole())));
    let mut shape: Vec<usize> = one
        .main()
        .value(one.main().inputs()[0])
        .unwrap()
        .ty
        .dims()
        .unwrap()
        .iter()
        .map(|&d| d as usize)
        .collect();
    let size: usize = shape.iter().product();
    let values: Vec<f32> = (0..size * COUNT)
        .map(|k| ((k * 37 + 11) % 101) as f32 / 50.0 - 1.0)
        .collect();
    let singles: Vec<_> = values.chunks(size).map(|sample| run(&one, &shape, sample)).collect();
    shape[0] = COUNT;
    let (found_shape, found) = run(&bound(&many), &shape, &values);
    assert_eq!(
        run(&three, &shape, &values),
        (found_shape.clone(), found.clone()),
        "{body}"
    );
    // The expected result is put together here: the results for the single samples, one after the other along the axis.
    let single = &singles[0].0;
    let [before, each]: [usize; 2] = [single[..axis].iter().product(), single[axis..].iter().product()];
    let mut expected = Vec::new();
    for row in 0..before {
        singles
            .iter()
            .for_each(|(_, made)| expected.extend(&made[row * each..(row + 1) * each]));
    }
    let mut expected_shape = single.clone();
    expected_shape[axis] *= COUNT;
    assert_eq!((found_shape, found), (expected_shape, expected), "{body}");
}

#[test]
fn reshapes_with_numbers_take_any_batch() {
    holds(
        "f32[1,2,4]",
        "f32[1,8]",
        0,
        "  %y: f32[1,8] = reshape(%x) {shape=[1,8]}",
        "",
    );
    holds(
        "f32[1,2,4]",
        "f32[1,8]",
        0,
        "  %y: f32[1,8] = reshape(%x) {shape=[1,-1]}",
        "",
    );
    holds("f32[1,2,4]", "f32[1,8]", 0, "  %y: f32[1,8] = flatten(%x) {axis=1}", "");
    holds(
        "f32[1,2,4]",
        "f32[4,2]",
        0,
        "  %y: f32[4,2] = reshape(%x) {shape=[4,2]}",
        "",
    );
    // The result has another axis in front of the samples' axis.
    let turned =
        "  %t: f32[4,1,6] = transpose(%x) {permutation=[1,0,2]}\n  %y: f32[4,2,3] = reshape(%t) {shape=[4,2,3]}";
    holds("f32[1,4,6]", "f32[4,2,3]", 1, turned, "");
}

#[test]
fn heads_of_attention_lie_beside_the_batch_and_come_back() {
    let body = "  %h: f32[1,4,2,3] = reshape(%x) {shape=[1,4,2,3]}
  %t: f32[1,2,4,3] = transpose(%h) {permutation=[0,2,1,3]}
  %a: f32[2,4,3] = reshape(%t) {shape=[2,4,3]}
  %b: f32[2,3,4] = transpose(%a) {permutation=[0,2,1]}
  %s: f32[2,4,4] = matmul(%a, %b) {a_zero=0, b_zero=0}
  %p: f32[2,4,4] = softmax(%s) {axis=-1}
  %o: f32[2,4,3] = matmul(%p, %a) {a_zero=0, b_zero=0}
  %n: f32[1,2,4,3] = reshape(%o) {shape=[1,2,4,3]}
  %m: f32[1,4,2,3] = transpose(%n) {permutation=[0,2,1,3]}
  %y: f32[1,4,6] = reshape(%m) {shape=[1,4,6]}";
    holds("f32[1,4,6]", "f32[1,4,6]", 0, body, "");
}

#[test]
fn a_reshape_that_moves_the_axis_of_one_sample_is_a_transpose_for_several() {
    // A reshape moves the steps of a sequence in front of the batch, and a later one moves the batch back to the front.
    let body = "  %t: f32[4,1,3] = reshape(%x) {shape=[4,1,3]}
  %s: f32[4,1,3] = softmax(%t) {axis=0}
  %u: f32[4,1,1,3] = unsqueeze(%s) {axes=[1]}
  %y: f32[1,4,3] = reshape(%u) {shape=[1,4,3]}";
    holds("f32[1,4,3]", "f32[1,4,3]", 0, body, "");
    // A recurrent layer whose first state is a constant.
    let layer = "  %t: f32[3,1,8] = reshape(%x) {shape=[3,1,8]}
  %s: f32[3,1,1,2], %h: f32[1,1,2], %c: f32[1,1,2] = recurrent(%t, @r, _, @first) {cell=lstm, direction=forward, activations=\"sigmoid tanh tanh\", alpha=[0.0,0.0,0.0], beta=[0.0,0.0,0.0], clip=inf, coupled=0}
  %y: f32[1,3,2] = reshape(%s) {shape=[1,3,2]}";
    let data = "data @r: f32[1,8,2] = random 7\ndata @first: f32[1,1,2] = inline [0.5,-0.25]";
    holds("f32[1,3,8]", "f32[1,3,2]", 0, layer, data);
}

#[test]
fn a_batch_that_no_axis_is_left_for_gets_one() {
    // The result of the reshape has axes for steps, heads and numbers, but none for the batch. This result is then
    // transposed.
    let body = "  %h: f32[4,2,3] = reshape(%x) {shape=[4,2,3]}
  %k: f32[2,3,4] = transpose(%h) {permutation=[1,2,0]}
  %b: f32[1,2,3,4] = reshape(%k) {shape=[1,2,3,4]}
  %v: f32[1,4,2,3] = reshape(%x) {shape=[1,4,2,3]}
  %a: f32[1,2,4,3] = transpose(%v) {permutation=[0,2,1,3]}
  %y: f32[1,2,4,4] = matmul(%a, %b) {a_zero=0, b_zero=0}";
    holds("f32[1,4,6]", "f32[1,2,4,4]", 0, body, "");
    // Further ops compute on the value with the extra axis: a slice, an addition, a softmax and a reduction.
    let parts = "  %p: f32[4,3,2] = reshape(%x) {shape=[4,3,2]}
  %s: f32[4,1,2] = slice(%p) {starts=[1], ends=[2], axes=[1], steps=[1]}
  %q: f32[4,2] = squeeze(%s) {axes=[1]}
  %a: f32[4,2] = add(%q, @c)
  %m: f32[4,2] = softmax(%a) {axis=0}
  %r: f32[2] = reduce(%m) {reduction=max, axes=[0], keep_dims=0}
  %y: f32[1,2] = reshape(%r) {shape=[1,2]}";
    holds("f32[1,4,6]", "f32[1,2]", 0, parts, "data @c: f32[4,2] = random 3");
}

#[test]
fn a_constant_in_a_concat_is_repeated_for_each_sample() {
    let body = "  %y: f32[1,3,2] = concat(@token, %x) {axis=1}";
    holds(
        "f32[1,2,2]",
        "f32[1,3,2]",
        0,
        body,
        "data @token: f32[1,1,2] = inline [5,6]",
    );
}

#[test]
fn layers_and_grids_take_any_batch() {
    let body = "  %q: i8[1,2,4,4] scale=0.0625 zero=-3 = quantize(%x) {to=i8, rounding=half_even, reciprocal=0}
  %d: f32[1,2,4,4] = dequantize(%q)
  %c: f32[1,3,4,4] = conv(%d, @w, @b) {stride=[1,1], pad=[0,0,0,0], dilation=[1,1], groups=1, pad_value=0}
  %r: f32[1,3,8,8] = resize(%c) {mode=nearest, coordinate=asymmetric, nearest=floor, scales=f32[], sizes=[1,3,8,8]}
  %a: f32[1,3,8,8] = add(%r, @shift)
  %m: f32[1,3] = reduce(%a) {reduction=max, axes=[2,3], keep_dims=0}
  %g: f32[1,4] = gemm(%m, @v) {transpose_a=0, transpose_b=0, alpha=1.0, beta=1.0}
  %n: f32[1,4] = layer_normalization(%g, @s) {axis=1, epsilon=0.01}
  %u: f32[1,1,4] = unsqueeze(%n) {axes=[1]}
  %e: f32[1,2,4] = expand(%u) {shape=[1,2,4]}
  %k: f32[1,4] = gather(%e, @i) {axis=1}
  %z: f32[1,1,4] = unsqueeze(%k) {axes=[0]}
  %y: f32[1,4] = squeeze(%z) {axes=[0]}";
    let data = "data @w: f32[3,2,1,1] = random 1\ndata @b: f32[3] = random 2\ndata @shift: f32[3,1,1] = random 3
data @v: f32[3,4] = random 4\ndata @s: f32[4] = random 5\ndata @i: i64[] = inline [1]";
    holds("f32[1,2,4,4]", "f32[1,4]", 0, body, data);
}

#[test]
fn what_computes_along_the_batch_keeps_one_sample() {
    let refused = |input: &str, output: &str, body: &str, data: &str| {
        let found = free_batch(&module(input, output, body, data), "images", &BTreeMap::new()).unwrap_err();
        format!("{}: {}", found.node, found.why)
    };
    let along = "it computes along the batch";
    let softmax = refused("f32[1,4]", "f32[1,4]", "  %y: f32[1,4] = softmax(%x) {axis=0}", "");
    assert_eq!(softmax, format!("y: {along}"));
    let reduced = refused(
        "f32[1,4]",
        "f32[]",
        "  %y: f32[] = reduce(%x) {reduction=sum, axes=[], keep_dims=0}",
        "",
    );
    assert_eq!(reduced, format!("y: {along}"));
    let concat = refused("f32[1,4]", "f32[2,4]", "  %y: f32[2,4] = concat(%x, %x) {axis=0}", "");
    assert_eq!(concat, format!("y: {along}"));
    let outer =
        "  %t: f32[4,1] = transpose(%x) {permutation=[1,0]}\n  %y: f32[4,4] = matmul(%t, %x) {a_zero=0, b_zero=0}";
    assert_eq!(refused("f32[1,4]", "f32[4,4]", outer, ""), format!("y: {along}"));
    // The reshape puts two parts of one sample along the batch axis, and the constant has another number for each part.
    let parts = "  %p: f32[2,2] = reshape(%x) {shape=[2,2]}\n  %y: f32[2,2] = add(%p, @c)";
    let parts = refused("f32[1,4]", "f32[2,2]", parts, "data @c: f32[2,1] = inline [1,2]");
    assert_eq!(parts, "y: a constant has elements of its own for parts of the batch");
    let fixed = refused("f32[2,4]", "f32[2,4]", "  %y: f32[2,4] = relu(%x)", "");
    assert_eq!(fixed, "x: its first extent is not 1");
}

#[test]
fn the_batch_is_where_the_caller_says() {
    let text = "strait 1 float
        graph @main(%x: f32[4,1,3], %anchors: f32[4,1,3]) { %y: f32[4,1,3] = add(%x, %anchors) return %y }";
    let module = parse(text).unwrap();
    let axes = |of: &[(&str, Option<usize>)]| of.iter().map(|&(name, axis)| (name.to_owned(), axis)).collect();
    let input = |module: &Module, position: usize| {
        let value = module.main().value(module.main().inputs()[position]).unwrap();
        value.ty.to_string()
    };
    let free = free_batch(&module, "images", &axes(&[("x", Some(1)), ("anchors", None)]))
        .unwrap()
        .of(3);
    verifier::verify(&free).unwrap();
    assert_eq!([input(&free, 0), input(&free, 1)], ["f32[4, 3, 3]", "f32[4, 1, 3]"]);
    let told = free_batch(&module, "images", &axes(&[("x", Some(0))])).unwrap_err();
    assert_eq!(
        (told.node.as_str(), told.why.as_str()),
        ("x", "its first extent is not 1")
    );
    let told = free_batch(&module, "images", &axes(&[("x", Some(2))])).unwrap_err();
    assert_eq!(told.why, "its extent along axis 2 is not 1");
}
