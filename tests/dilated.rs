//! Tests that convolutions on blocks of an image, by which TensorFlow and Keras write dilated ones, give the same
//! numbers as one convolution.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may panic")]

use strait_core::{Elem, Module, Op, text};
use strait_execute::{Plan, PlanOptions, TensorView, Threads, Workspace};

/// An image [batch, rows, columns, 3], its block sizes, its padding (rows and columns, before and after), what is
/// cropped from the result (in the same form), and the padding of the convolution itself.
struct Case {
    image: [i64; 3],
    blocks: [i64; 2],
    padded: [[i64; 2]; 2],
    cropped: [[i64; 2]; 2],
    own: i64,
    /// True if a slice stays after the convolution.
    stays_cropped: bool,
}

/// SpaceToBatchND, a convolution of 2 by 3 with a ReLU, and BatchToSpaceND, as the readers represent them.
fn model(case: &Case) -> Module {
    let [n, rows, columns] = case.image;
    let [[top, bottom], [left, right]] = case.padded;
    let [[crop_top, crop_bottom], [crop_left, crop_right]] = case.cropped;
    let [p, q] = case.blocks;
    let (rows, columns) = (rows + top + bottom, columns + left + right);
    let (h, w, own) = (rows / p, columns / q, case.own);
    let (made_h, made_w) = (h + 2 * own - 1, w + 2 * own - 2);
    let batch = n * p * q;
    let (whole_h, whole_w) = (made_h * p, made_w * q);
    let (end_h, end_w) = (whole_h - crop_bottom, whole_w - crop_right);
    let (y_h, y_w) = (end_h - crop_top, end_w - crop_left);
    let weights: Vec<String> = (0..5 * 3 * 2 * 3)
        .map(|i| format!("{:?}", f64::from(i * 37 % 101 - 50) / 64.0))
        .collect();
    text::parse(&format!(
        "strait 1 float
        graph @main(%x: f32[{n},{},{},3]) {{
          %pad: f32[{n},{rows},{columns},3] = pad(%x) {{amounts=[0,{top},{left},0,0,{bottom},{right},0], mode=constant, value=0.0}}
          %split: f32[{n},{h},{p},{w},{q},3] = reshape(%pad) {{shape=[0,{h},{p},{w},{q},3]}}
          %turn: f32[{p},{q},{n},{h},{w},3] = transpose(%split) {{permutation=[2,4,0,1,3,5]}}
          %blocks: f32[{batch},{h},{w},3] = reshape(%turn) {{shape=[-1,{h},{w},3]}}
          %first: f32[{batch},3,{h},{w}] = transpose(%blocks) {{permutation=[0,3,1,2]}}
          %conv: f32[{batch},5,{made_h},{made_w}] = conv(%first, @w, @b) {{stride=[1,1], pad=[{own},{own},{own},{own}], dilation=[1,1], groups=1, pad_value=0}}
          %relu: f32[{batch},5,{made_h},{made_w}] = relu(%conv)
          %last: f32[{batch},{made_h},{made_w},5] = transpose(%relu) {{permutation=[0,2,3,1]}}
          %apart: f32[{p},{q},{n},{made_h},{made_w},5] = reshape(%last) {{shape=[{p},{q},-1,{made_h},{made_w},5]}}
          %back: f32[{n},{made_h},{p},{made_w},{q},5] = transpose(%apart) {{permutation=[2,3,0,4,1,5]}}
          %whole: f32[{n},{whole_h},{whole_w},5] = reshape(%back) {{shape=[0,{whole_h},{whole_w},5]}}
          %y: f32[{n},{y_h},{y_w},5] = slice(%whole) {{starts=[{crop_top},{crop_left}], ends=[{end_h},{end_w}], axes=[1,2], steps=[1,1]}}
          return %y
        }}
        data @w: f32[5,3,2,3] = inline [{}]
        data @b: f32[5] = inline [0.5,-1.0,0.25,0.0,1.5]",
        case.image[1],
        case.image[2],
        weights.join(",")
    ))
    .unwrap_or_else(|error| panic!("{error}"))
}

fn run(module: &Module, shape: &[usize]) -> Vec<u8> {
    let count = shape.iter().product::<usize>();
    let image: Vec<u8> = (0..count)
        .flat_map(|i| ((i as f32 * 0.7).sin() * 3.0).to_le_bytes())
        .collect();
    let plan = Plan::new(module, module.main, &PlanOptions::default()).unwrap();
    let view = TensorView::new(Elem::F32, shape, &image).unwrap();
    let outputs = plan.run(&mut Workspace::new(&plan, &Threads::one()), &[view]);
    outputs.unwrap()[0].view().bytes().to_vec()
}

#[test]
fn a_convolution_of_blocks_is_a_dilated_one_with_the_same_numbers() {
    let plain = Case {
        image: [1, 8, 9],
        blocks: [2, 3],
        padded: [[0, 0]; 2],
        cropped: [[0, 0]; 2],
        own: 0,
        stays_cropped: false,
    };
    let cases = [
        Case {
            image: [2, 7, 10],
            padded: [[1, 2], [3, 2]],
            cropped: [[0, 2], [1, 2]],
            ..plain
        },
        Case {
            blocks: [4, 1],
            ..plain
        },
        Case {
            blocks: [1, 3],
            image: [3, 5, 9],
            ..plain
        },
        Case {
            own: 1,
            cropped: [[1, 1], [3, 0]],
            ..plain
        },
        Case {
            image: [2, 8, 12],
            cropped: [[1, 0], [0, 2]],
            stays_cropped: true,
            ..plain
        },
        Case {
            image: [2, 7, 12],
            padded: [[1, 0], [0, 0]],
            cropped: [[0, 1], [0, 0]],
            stays_cropped: true,
            ..plain
        },
        plain,
    ];
    for case in cases {
        let mut module = model(&case);
        let shape = [case.image[0], case.image[1], case.image[2], 3].map(|extent| extent as usize);
        let expected = run(&module, &shape);
        let main = module.main;
        strait_rewrite::canonical().run(&mut module, main).unwrap();
        let text = text::print(&module, &text::PrintOptions::default());
        let graph = module.main();
        let conv = graph.nodes().find_map(|(_, node)| match &node.op {
            Op::Conv(conv) => Some(conv.clone()),
            _ => None,
        });
        assert_eq!(
            conv.unwrap().dilation.to_vec(),
            case.blocks.map(|side| side as u32),
            "{text}"
        );
        let is_slice = |op: &Op| matches!(op, Op::Slice(_));
        assert_eq!(
            graph.nodes().any(|(_, node)| is_slice(&node.op)),
            case.stays_cropped,
            "{text}"
        );
        // Besides the convolution and the crop there are the transpositions of the channels.
        assert!(graph.nodes().count() <= 4 + usize::from(case.stays_cropped), "{text}");
        assert!(run(&module, &shape) == expected, "{text}");
    }
}
