//! Compares plans with the plain interpreter on nodes whose extents are only known at run time, and on nodes that run
//! graphs.

#![allow(clippy::unwrap_used, clippy::panic)]

use strait_core::text;
use strait_execute::{ExecuteError, Plan, PlanOptions, Tensor, Threads, Workspace, cost, reference};

/// The outputs of a module, after the plan and the interpreter gave the same.
fn run(module: &str, inputs: &[Tensor]) -> Result<Vec<Tensor>, ExecuteError> {
    let module = text::parse(module).unwrap_or_else(|error| panic!("{error}\n{module}"));
    strait_core::verifier::verify(&module).unwrap();
    let views: Vec<_> = inputs.iter().map(Tensor::view).collect();
    let plan = Plan::new(&module, module.main, &PlanOptions::default())?;
    let made = plan.run(&mut Workspace::new(&plan, &Threads::one()), &views);
    let plain = reference::run(&module, module.main, &views, &mut |_, _| {});
    match (&made, plain) {
        (Ok(made), Ok(plain)) => {
            for (a, b) in made.iter().zip(&plain) {
                assert_eq!((a.shape(), a.view().bytes()), (b.shape(), b.view().bytes()));
            }
        }
        (Err(_), Err(_)) => {}
        (made, plain) => panic!("{made:?} in a plan, {plain:?} in the interpreter"),
    }
    made
}

fn floats(shape: &[usize], values: &[f32]) -> Tensor {
    Tensor::from_values(shape, values).unwrap()
}

fn graph(nodes: &str) -> String {
    format!("strait 1 float\ngraph @main(%x: f32[2,3]) {{\n{nodes}\n}}\n")
}

#[test]
fn extents_follow_the_data_and_are_fixed_again_behind_a_sum() {
    let module = graph(
        "%at: i64[2,n] = non_zero(%x)
         %turned: i64[n,2] = transpose(%at) {permutation=[1,0]}
         %found: f32[n] = gather_nd(%x, %turned) {batch=0}
         %twice: f32[n] = add(%found, %found)
         %sum: f32[1] = reduce(%twice) {reduction=sum, axes=[0], keep_dims=1}
         return %at, %twice, %sum",
    );
    let made = run(&module, &[floats(&[2, 3], &[0.0, 1.0, 0.0, 2.0, 0.0, -4.0])]).unwrap();
    assert_eq!(made[0].shape(), [2, 3]);
    assert_eq!(made[0].values::<i64>().unwrap(), [0, 1, 1, 1, 0, 2]);
    assert_eq!(made[1].values::<f32>().unwrap(), [2.0, 4.0, -8.0]);
    assert_eq!(made[2].values::<f32>().unwrap(), [-2.0]);
    let none = run(&module, &[floats(&[2, 3], &[0.0; 6])]).unwrap();
    assert_eq!((none[0].shape(), none[1].shape()), (&[2, 0][..], &[0][..]));
    assert_eq!(none[2].values::<f32>().unwrap(), [0.0]);
}

#[test]
fn operands_stand_in_the_place_of_attributes() {
    let module = graph(
        "%at: i64[2,n] = non_zero(%x)
         %shape: i64[2] = shape_of(%at)
         %count: i64[1] = slice(%shape) {starts=[1], ends=[2], axes=[0], steps=[1]}
         %flat: f32[6] = reshape(%x) {shape=[6]}
         %best: f32[k], %where: i64[l] = top_k(%flat, %count) {k=-1, axis=0, largest=1}
         %first: f32[m] = slice(%flat, @zero, %count) {starts=[], ends=[], axes=[0], steps=[1]}
         return %best, %where, %first",
    ) + "data @zero: i64[1] = inline [0]\n";
    let made = run(&module, &[floats(&[2, 3], &[3.0, 1.0, 0.0, 2.0, 0.0, 0.0])]).unwrap();
    assert_eq!(made[0].values::<f32>().unwrap(), [3.0, 2.0, 1.0]);
    assert_eq!(made[1].values::<i64>().unwrap(), [0, 3, 1]);
    assert_eq!(made[2].values::<f32>().unwrap(), [3.0, 1.0, 0.0]);
}

#[test]
fn amounts_sizes_and_scales_stand_in_the_place_of_attributes() {
    let module = "strait 1 float
graph @main(%x: f32[2,3], %amounts: i64[4], %sizes: i64[2], %scales: f32[2]) {
  %padded: f32[a,b] = pad(%x, %amounts) {amounts=[-9223372036854775808,0,0,-9223372036854775808], mode=constant, value=9.0}
  %sized: f32[2,c] = resize(%x, %sizes) {mode=nearest, coordinate=asymmetric, nearest=floor, scales=[], sizes=[2,-1]}
  %scaled: f32[d,e] = resize(%x, %scales) {mode=linear, coordinate=asymmetric, nearest=floor, scales=[0.0,0.0], sizes=[]}
  return %padded, %sized, %scaled
}
";
    let list = |values: &[i64]| Tensor::from_values(&[values.len()], values).unwrap();
    let x = floats(&[2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    let made = run(
        module,
        &[
            x.clone(),
            list(&[1, 0, 0, -1]),
            list(&[2, 6]),
            floats(&[2], &[0.5, 2.0]),
        ],
    )
    .unwrap();
    assert_eq!(made[0].shape(), [3, 2]);
    assert_eq!(made[0].values::<f32>().unwrap(), [9.0, 9.0, 1.0, 2.0, 4.0, 5.0]);
    assert_eq!(made[1].shape(), [2, 6]);
    assert_eq!(made[1].values::<f32>().unwrap()[..6], [1.0, 1.0, 2.0, 2.0, 3.0, 3.0]);
    assert_eq!(made[2].shape(), [1, 6]);
    assert_eq!(made[2].values::<f32>().unwrap(), [1.0, 1.5, 2.0, 2.5, 3.0, 3.0]);
    // An axis cannot be resized to extent 0, and no more elements can be cropped than there are.
    let error = |amounts: &[i64], sizes: &[i64]| {
        let failed = run(
            module,
            &[x.clone(), list(amounts), list(sizes), floats(&[2], &[1.0, 1.0])],
        );
        failed.unwrap_err().to_string()
    };
    assert!(error(&[0, 0, 0, 0], &[2, 0]).contains("axis 1 would have extent 0"));
    assert!(error(&[-3, 0, 0, 0], &[2, 3]).contains("cannot be padded by -3 and 0"));
}

const CHOICE: &str = "strait 1 float main=@main
graph @then(%x: f32[2,3]) stage=float {
  %y: f32[2,3] = add(%x, %x)
  return %y
}
graph @else(%x: f32[2,3]) stage=float {
  %y: f32[2,3] = unary(%x) {function=neg}
  return %y
}
graph @main(%x: f32[2,3], %c: bool[]) {
  %y: f32[2,3] = if @then, @else(%c, %x)
  %z: f32[2,3] = relu(%y)
  return %y, %z
}
";

#[test]
fn a_condition_chooses_the_graph() {
    let x = floats(&[2, 3], &[1.0, -2.0, 0.0, 4.0, 5.0, 6.0]);
    let truth = |byte| Tensor::from_bytes(strait_core::Elem::Bool, &[], &[byte]).unwrap();
    let made = run(CHOICE, &[x.clone(), truth(1)]).unwrap();
    assert_eq!(made[0].values::<f32>().unwrap(), [2.0, -4.0, 0.0, 8.0, 10.0, 12.0]);
    assert_eq!(made[1].values::<f32>().unwrap(), [2.0, 0.0, 0.0, 8.0, 10.0, 12.0]);
    let made = run(CHOICE, &[x, truth(0)]).unwrap();
    assert_eq!(made[0].values::<f32>().unwrap(), [-1.0, 2.0, 0.0, -4.0, -5.0, -6.0]);
}

/// Halves what it carries and stacks each, until the largest is below the limit or there were `most` runs.
fn halving(most: &str, trips: i64, stack: &str) -> String {
    format!(
        "strait 1 float main=@main
graph @body(%i: i64[], %c: bool[], %v: f32[2,3], %limit: f32[]) stage=float {{
  %h: f32[2,3] = mul(%v, @half) {{a_zero=0, b_zero=0}}
  %top: f32[] = reduce(%h) {{reduction=max, axes=[0,1], keep_dims=0}}
  %on: bool[] = compare(%limit, %top) {{relation=less}}
  return %on, %h, %top
}}
graph @main(%x: f32[2,3], %limit: f32[]) {{
  %y: f32[2,3], %all: f32[{stack}] = loop @body({most}, _, %x, %limit) {{carried=1, trips={trips}}}
  return %y, %all
}}
data @half: f32[] = inline [0.5]
data @two: i64[] = inline [2]
"
    )
}

#[test]
fn a_loop_ends_by_its_condition_its_most_runs_or_its_trips() {
    let x = || floats(&[2, 3], &[8.0, 4.0, 0.0, 1.0, 2.0, 3.0]);
    let limit = |limit: f32| floats(&[], &[limit]);
    let ended = run(&halving("_", -1, "n"), &[x(), limit(1.5)]).unwrap();
    assert_eq!(ended[1].values::<f32>().unwrap(), [4.0, 2.0, 1.0]);
    assert_eq!(ended[0].values::<f32>().unwrap(), [1.0, 0.5, 0.0, 0.125, 0.25, 0.375]);
    let most = run(&halving("@two", -1, "n"), &[x(), limit(1.5)]).unwrap();
    assert_eq!(most[1].values::<f32>().unwrap(), [4.0, 2.0]);
    // A loop with a fixed number of runs has no condition.
    let fixed = run(&halving("_", 4, "4"), &[x(), limit(1.5)]).unwrap();
    assert_eq!(fixed[1].values::<f32>().unwrap(), [4.0, 2.0, 1.0, 0.5]);
    let none = run(&halving("_", 0, "0"), &[x(), limit(1.5)]).unwrap();
    assert_eq!(
        (none[0].view().bytes(), none[1].shape()),
        (x().view().bytes(), &[0][..])
    );
}

#[test]
fn what_a_run_carries_may_grow() {
    let module = "strait 1 float main=@main
graph @body(%i: i64[], %c: bool[], %v: f32[n]) stage=float {
  %w: f32[m] = concat(%v, %v) {axis=0}
  return %c, %w
}
graph @main(%x: f32[2,3]) {
  %flat: f32[6] = reshape(%x) {shape=[6]}
  %y: f32[k] = loop @body(_, _, %flat) {carried=1, trips=3}
  %s: f32[] = reduce(%y) {reduction=sum, axes=[0], keep_dims=0}
  return %y, %s
}
";
    let made = run(module, &[floats(&[2, 3], &[1.0; 6])]).unwrap();
    assert_eq!(
        (made[0].shape(), made[1].values::<f32>().unwrap()),
        (&[48][..], &[48.0][..])
    );
    // What it needs is known when it runs; what is known before that can be said of the body, too.
    let module = text::parse(module).unwrap();
    let graphs = (0..module.graphs.len()).map(strait_core::GraphId::new);
    assert!(graphs.into_iter().all(|graph| cost(&module, graph).is_ok()));
}

#[test]
fn boxes_that_overlap_a_better_one_are_left_out() {
    let module = "strait 1 float
graph @main(%boxes: f32[1,4,4], %scores: f32[1,1,4]) {
  %kept: i64[n,3] = non_max_suppression(%boxes, %scores, @most, @share, @least) {centers=0}
  return %kept
}
data @most: i64[1] = inline [3]
data @share: f32[1] = inline [0.5]
data @least: f32[1] = inline [0.1]
";
    let boxes = [
        0.0, 0.0, 1.0, 1.0, 0.0, 0.1, 1.0, 1.1, 0.0, 2.0, 1.0, 3.0, 5.0, 5.0, 6.0, 6.0,
    ];
    let scores = [0.7, 0.9, 0.7, 0.1];
    let made = run(module, &[floats(&[1, 4, 4], &boxes), floats(&[1, 1, 4], &scores)]).unwrap();
    assert_eq!(made[0].values::<i64>().unwrap(), [0, 0, 1, 0, 0, 2]);
}

#[test]
fn each_element_once_in_either_order() {
    let module = graph(
        "%flat: f32[6] = reshape(%x) {shape=[6]}
         %a: f32[n], %b: i64[m], %c: i64[6], %d: i64[k] = unique(%flat) {axis=0, sorted=1}
         %e: f32[o], %f: i64[p], %g: i64[6], %h: i64[q] = unique(%flat) {axis=0, sorted=0}
         return %a, %b, %c, %d, %e, %g",
    );
    let made = run(&module, &[floats(&[2, 3], &[2.0, 1.0, 1.0, 3.0, 4.0, 3.0])]).unwrap();
    assert_eq!(made[0].values::<f32>().unwrap(), [1.0, 2.0, 3.0, 4.0]);
    let ints = |index: usize| made[index].values::<i64>().unwrap().to_vec();
    assert_eq!(
        [ints(1), ints(2), ints(3)],
        [vec![1, 0, 3, 4], vec![1, 0, 0, 2, 3, 2], vec![2, 1, 2, 1]]
    );
    assert_eq!(made[4].values::<f32>().unwrap(), [2.0, 1.0, 3.0, 4.0]);
    assert_eq!(ints(5), [0, 1, 1, 2, 3, 2]);
}
