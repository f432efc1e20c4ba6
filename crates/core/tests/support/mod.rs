//! Random valid modules. They are made from a list of choices, so that proptest can shrink them.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a helper of tests, but not itself one")]
#![allow(dead_code, reason = "each test uses a part")]

mod indices;
mod lines;
mod sums;
mod windows;

use smallvec::smallvec;
use std::sync::Arc;
use strait_core::op::*;
use strait_core::{
    Attribute, Carrier, DataId, Elem, Fused, Graph, GraphId, Kind, Module, Names, Op, Placement, QuantParams, Reason,
    ReasonCode, Stage, TensorData, TensorType, Term, ValueId, WeightZero,
};
use strait_requantize::function::Definition;
use strait_requantize::{IntType, Narrowing, Per, Requantization, Rounding, form, quantize::ZeroPoint};

/// Random decisions, one after the other. When the list is exhausted, every further decision is 0.
pub(crate) struct Choices<'a> {
    words: &'a [u32],
}

impl<'a> Choices<'a> {
    pub(crate) fn new(words: &'a [u32]) -> Choices<'a> {
        Choices { words }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// A number below `bound`.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        let Some((first, rest)) = self.words.split_first() else {
            return 0;
        };
        self.words = rest;
        *first as usize % bound.max(1)
    }

    pub(crate) fn flip(&mut self) -> bool {
        self.below(2) == 1
    }

    pub(crate) fn pick<T: Clone>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())].clone()
    }

    fn float(&mut self) -> f32 {
        self.pick(&[0.0, -0.0, 1.0, 0.1, -2.5e-8, 3.4e38, f32::INFINITY, 1e-45])
    }

    /// A float that may be NaN, which only attributes of foreign ops may be.
    fn float_or_nan(&mut self) -> f32 {
        let float = self.float();
        self.pick(&[float, f32::from_bits(0x7fc0_0001)])
    }
}

const NAMES: [&str; 8] = [
    "x",
    "/model.22/a:0",
    "a \"quoted\" name",
    "",
    "0",
    "é\n",
    "_",
    "conv1.weight",
];

/// A module with one or two graphs.
pub(crate) fn module(choices: &[u32]) -> Module {
    let mut choices = Choices::new(choices);
    let mut names = Names::default();
    let stage = choices.pick(&[Stage::Export, Stage::Float]);
    let name = names.intern("callee");
    let callee = choices.flip().then(|| Graph::new(name, stage));
    let name = names.intern("main");
    let mut module = Module::new(Graph::new(name, stage), names);
    if let Some(callee) = callee {
        module.graphs.push(callee);
        grow(&mut module, 1, &mut choices, 4, false);
    }
    let calls = module.graphs.len() > 1;
    grow(&mut module, 0, &mut choices, 40, calls);
    module.main = GraphId::new(choices.below(module.graphs.len()));
    module
}

fn name(module: &mut Module, choices: &mut Choices<'_>) -> strait_core::Symbol {
    module.names.fresh(choices.pick(&NAMES))
}

fn form(choices: &mut Choices<'_>, channels: usize) -> Requantization {
    fn per<T>(choices: &mut Choices<'_>, channels: usize, one: impl Fn(usize) -> T) -> Per<T> {
        if choices.flip() {
            Per::Tensor(one(1))
        } else {
            (0..channels).map(one).collect()
        }
    }
    let narrowing = Narrowing {
        shift: per(choices, channels, |c| (c % 60) as u8),
        rounding: choices.pick(&Rounding::ALL),
        out: choices.pick(&IntType::ALL),
    };
    let sc = per(choices, channels, |c| i32::MAX - c as i32);
    let out = narrowing.out;
    match choices.below(15) {
        0 => Requantization::ArithFolded(form::ArithFolded { narrowing }),
        1 => Requantization::FractionalZero(form::FractionalZero {
            sc,
            zp: per(choices, channels, |c| (1 << 60) - c as i64),
            narrowing,
        }),
        2 => Requantization::TfLite(form::TfLite { sc, zp: -3, narrowing }),
        3 => Requantization::Gemmlowp(form::Gemmlowp {
            multiplier: sc,
            exponent: per(choices, channels, |c| -(c as i8) % 31),
            zp: 7,
            roundings: choices.pick(&[form::Roundings::One, form::Roundings::Two]),
            out,
        }),
        4 => Requantization::Float(form::Float {
            scale: per(choices, channels, |c| 0.1 / (c + 1) as f32),
            zp: 1,
            out,
        }),
        5 => Requantization::Fixed(form::Fixed {
            sc,
            add: per(choices, channels, |c| -(c as i64)),
            zp: 1,
            narrowing,
        }),
        6 => Requantization::SixteenByEight(form::SixteenByEight {
            multiplier: sc,
            exponent: per(choices, channels, |c| 7 - (c as i8) % 38),
            zp: 0,
            out,
        }),
        7 => Requantization::TosaRescale(form::TosaRescale {
            multiplier: per(choices, channels, |c| 0x7FFF - c as i32),
            shift: per(choices, channels, |c| 2 + (c % 60) as u8),
            scale32: choices.flip(),
            roundings: form::Roundings::One,
            input: choices.pick(&[form::TosaInput::I8, form::TosaInput::I16]),
            input_zp: 0,
            output_zp: 0,
            // TOSA has no output of 4 bits.
            out: if out.bits() == 4 { IntType::I8 } else { out },
        }),
        8 => Requantization::FloatZeroInside(form::FloatZeroInside {
            scale: per(choices, channels, |c| 0.1 / (c + 1) as f32),
            zp: 1,
            out,
        }),
        9 => Requantization::AscendRequant(form::AscendRequant {
            scale: per(choices, channels, |c| 0.1 / (c + 1) as f32),
            offset: -256,
            relu: choices.flip(),
            out,
        }),
        10 => Requantization::AscendDequantS16(form::AscendDequantS16 {
            shift: per(choices, channels, |c| 1 + (c % 16) as u8),
            relu: choices.flip(),
        }),
        11 => Requantization::AscendRequantS16(form::AscendRequantS16 {
            scale: per(choices, channels, |c| 0.1 / (c + 1) as f32),
            offset: -128,
        }),
        12 => Requantization::DequantQuant(form::DequantQuant {
            deq: per(choices, channels, |c| 0.1 / (c + 1) as f32),
            relu: choices.flip(),
            scale: 0.25,
            offset: 3,
            out,
        }),
        13 => Requantization::Float64(form::Float64 {
            multiplier: per(choices, channels, |c| (1 << 53) - 1 - c as i64),
            exponent: per(choices, channels, |c| 31 - (c as i8) % 100),
            zp: 3,
            out,
        }),
        _ => {
            let list: Arc<[i32]> = vec![-9, -9, 0, 70_000].into();
            let thresholds = if choices.flip() {
                vec![list]
            } else {
                vec![list; channels]
            };
            Requantization::Steps(form::Steps {
                thresholds: thresholds.into(),
                lowest: 2,
                out: IntType::U8,
            })
        }
    }
}

fn grid(choices: &mut Choices<'_>, ty: &TensorType) -> Option<Arc<QuantParams>> {
    ty.elem.int_type()?;
    let axis = choices.below(ty.shape.len().max(1));
    let extent = ty.shape.get(axis).and_then(|d| d.fixed()).unwrap_or(0);
    Some(Arc::new(match choices.below(4) {
        0 => return None,
        1 if extent > 0 => QuantParams::channel((0..extent).map(|c| 0.1 / (c + 1) as f32).collect(), axis as u8),
        _ => QuantParams::tensor(choices.pick(&[0.5, 1e-30, 0.1]), 3),
    }))
}

/// True if a float graph may have the op: it is not an integer op, does not convert to or from codes, and does not
/// change the element type.
fn is_float(name: &str) -> bool {
    // The families, which have several terms, are functions and reductions of floats.
    Term::parse(name).is_none_or(|term| {
        !term.is_lowered() && !matches!(term.kind(), Kind::Boundary | Kind::Converts | Kind::Elsewhere)
    })
}

/// Any op except `call`, whose results depend on the graph that it calls.
pub(crate) fn op(choices: &mut Choices<'_>, exported: bool) -> Op {
    let pool = |choices: &mut Choices<'_>| {
        (
            smallvec![2, 2],
            smallvec![1 + choices.below(2) as u32, 1],
            smallvec![1, 0, 0, 1],
            smallvec![1, 1],
        )
    };
    let names: Vec<&str> = Op::ALL
        .iter()
        .map(|(name, ..)| *name)
        .filter(|&name| !matches!(name, "call" | "if" | "loop") && (exported || is_float(name)))
        .collect();
    let name = choices.pick(&names);
    match name {
        "conv" => Conv {
            stride: smallvec![1, 2],
            pad: smallvec![1, 0, 1, 0],
            dilation: smallvec![1, 1],
            groups: 1,
            pad_value: 0,
            accumulator: choices.pick(&Carrier::ALL),
            weight_zero: WeightZero::default(),
        }
        .into(),
        "gemm" => Gemm {
            transpose_b: choices.flip(),
            ..Gemm::canonical()
        }
        .into(),
        "matmul" => MatMul {
            a_zero: 0,
            b_zero: 0,
            accumulator: choices.pick(&Carrier::ALL),
        }
        .into(),
        "add" => Add {}.into(),
        "sub" => Sub {}.into(),
        "mul" => Mul {
            a_zero: 0,
            b_zero: 0,
            accumulator: choices.pick(&Carrier::ALL),
        }
        .into(),
        "relu" => Relu {}.into(),
        "clip" => Clip {
            min: choices.float(),
            max: choices.float(),
        }
        .into(),
        "unary" => Unary {
            function: choices.pick(&Function::ALL),
        }
        .into(),
        "elu" => Elu { alpha: choices.float() }.into(),
        "max_pool" => {
            let (size, stride, pad, dilation) = pool(choices);
            MaxPool {
                size,
                stride,
                pad,
                dilation,
                ceil: choices.flip(),
            }
            .into()
        }
        "average_pool" => {
            let (size, stride, pad, dilation) = pool(choices);
            AveragePool {
                size,
                stride,
                pad,
                dilation,
                ceil: choices.flip(),
                count_include_pad: choices.flip(),
            }
            .into()
        }
        "global_average_pool" => GlobalAveragePool {}.into(),
        "reduce" => Reduce {
            reduction: choices.pick(&Reduction::ALL),
            axes: smallvec![-1],
            keep_dims: choices.flip(),
            accumulator: choices.pick(&Carrier::ALL),
        }
        .into(),
        "softmax" => Softmax { axis: -1 }.into(),
        "reshape" => Reshape {
            shape: smallvec![0, -1],
        }
        .into(),
        "flatten" => Flatten { axis: 1 }.into(),
        "unsqueeze" => Unsqueeze { axes: smallvec![0] }.into(),
        "squeeze" => Squeeze { axes: smallvec![] }.into(),
        "transpose" => Transpose {
            permutation: smallvec![1, 0],
        }
        .into(),
        "concat" => Concat { axis: 0 }.into(),
        "split" => Split {
            axis: -1,
            sizes: smallvec![1, 2],
        }
        .into(),
        "slice" => Slice {
            starts: smallvec![1],
            ends: smallvec![i64::MAX],
            axes: smallvec![-1],
            steps: smallvec![1],
        }
        .into(),
        "pad" => Pad {
            amounts: smallvec![0, 1, 1, 0],
            mode: PadMode::Edge,
            value: choices.float(),
        }
        .into(),
        name if indices::NAMES.contains(&name) => indices::op(name, choices),
        name @ ("resize" | "conv_transpose" | "deform_conv" | "col2im" | "grid_sample") => windows::op(name, choices),
        "identity" => Identity {}.into(),
        "quantize" => Quantize {
            to: Elem::I8,
            rounding: Rounding::HalfEven,
            reciprocal: choices.flip(),
            zero_point: choices.pick(&ZeroPoint::ALL),
        }
        .into(),
        "round_to" => {
            let format = strait_core::FloatFormat::new(4, 3).unwrap();
            let scheme =
                strait_core::Scheme::floats(format, strait_core::Granularity::Tensor, choices.pick(&Rounding::ALL));
            RoundTo { scheme }.into()
        }
        "dequantize" => Dequantize {}.into(),
        "requantize" => Requantize {
            form: form(choices, 3),
            axis: choices.below(3) as u32,
        }
        .into(),
        "shift_left" | "scaled_add" => sums::op(name, choices),
        "clamp" => Clamp { min: -4, max: 100 }.into(),
        "bit_cast" => BitCast { to: Elem::I32 }.into(),
        "cast" => Cast {
            to: choices.pick(&Elem::ALL),
        }
        .into(),
        "batch_normalization" => BatchNormalization {
            epsilon: choices.float(),
        }
        .into(),
        "layer_normalization" => LayerNormalization {
            axis: -1,
            epsilon: choices.float(),
        }
        .into(),
        "div" => Div {}.into(),
        "pow" => Pow {}.into(),
        "leaky_relu" => LeakyRelu { alpha: choices.float() }.into(),
        "hard_sigmoid" => HardSigmoid {
            alpha: choices.float(),
            beta: choices.float(),
        }
        .into(),
        "sum_pool" => {
            let (size, stride, pad, dilation) = pool(choices);
            SumPool {
                size,
                stride,
                pad,
                dilation,
                ceil: choices.flip(),
                pad_value: 0,
                accumulator: choices.pick(&Carrier::ALL),
            }
            .into()
        }
        "gather" => Gather { axis: -1 }.into(),
        "lookup" => Lookup {}.into(),
        "interpolate" | "integer_resize" => lines::op(choices),
        "integer_softmax" => IntegerSoftmax {
            axis: choices.pick(&[-1, 0, 7]),
            definition: choices.pick(&Definition::ALL),
            multiplier: choices.pick(&[0, 1 << 30, i32::MIN]),
            exponent: choices.pick(&[-31, 3, i32::MAX]),
        }
        .into(),
        "integer_layer_normalization" => IntegerLayerNormalization {
            axis: choices.pick(&[-1, 0, 7]),
            definition: choices.pick(&Definition::ALL),
            epsilon: choices.pick(&[0, i64::MIN, i64::MAX]),
            multiplier: choices.pick(&[0, 1 << 30, i32::MIN]),
            bias_multiplier: choices.pick(&[0, 1 << 52, i64::MAX]),
            shift: choices.pick(&[0, 40, u8::MAX]),
            zero: choices.pick(&[0, i32::MIN]),
            to: choices.pick(&Elem::ALL),
        }
        .into(),
        "foreign" => {
            let attributes = vec![
                (
                    "a b".into(),
                    Attribute::Floats(vec![choices.float_or_nan(); choices.below(3)]),
                ),
                ("".into(), Attribute::Text(choices.pick(&NAMES).into())),
                ("form".into(), Attribute::Form(Box::new(form(choices, 2)))),
                ("list".into(), Attribute::Ints(vec![i64::MIN; choices.below(3)])),
                ("one".into(), Attribute::Float(choices.float_or_nan())),
                ("table".into(), Attribute::Data(DataId::new(0))),
            ];
            let attributes = attributes.into_iter().take(choices.below(7)).collect();
            Foreign {
                domain: "vendor".into(),
                name: choices.pick(&NAMES).into(),
                attributes,
            }
            .into()
        }
        other => panic!("`{other}` has no arm: no random module would contain it"),
    }
}

/// Adds up to `nodes` nodes to a graph, together with inputs, constants and outputs.
fn grow(module: &mut Module, graph: usize, choices: &mut Choices<'_>, nodes: usize, calls: bool) {
    let exported = module.graphs[graph].stage() == Stage::Export;
    let mut values: Vec<ValueId> = Vec::new();
    let shapes: [&[u64]; 4] = [&[1, 3, 6, 6], &[2, 3], &[3, 3], &[4, 3, 2, 2]];
    for position in 0..6 {
        let elem = if exported {
            choices.pick(&[
                Elem::I8,
                Elem::F32,
                Elem::I32,
                Elem::I64,
                Elem::I16,
                Elem::U16,
                Elem::I4,
                Elem::U4,
            ])
        } else {
            Elem::F32
        };
        let mut ty = TensorType::fixed(elem, choices.pick(&shapes));
        if position == 0 && choices.flip() {
            ty.shape[0] = strait_core::Dim::Named(module.names.intern("N"));
        }
        let quant = if exported { grid(choices, &ty) } else { None };
        let symbol = name(module, choices);
        let id = if position > 2 && ty.dims().is_some() {
            let count = ty.dims().unwrap().iter().product::<u64>() as usize;
            // All constants differ, because IR bytes merge equal constants.
            let seed = module.pool().len();
            let bytes = if choices.flip() && !elem.is_packed() {
                vec![seed as u8; count * elem.size()]
            } else {
                strait_core::text::random::random(elem, count, seed as u64)
            };
            let data = module.add_data(TensorData::from_unpacked(elem, &ty.dims().unwrap(), bytes.into()).unwrap());
            module.graphs[graph].add_data(symbol, ty, quant, data)
        } else {
            module.graphs[graph].add_input(symbol, ty, quant)
        };
        values.push(id);
    }
    for _ in 0..nodes {
        if choices.is_empty() {
            break;
        }
        add_node(module, graph, choices, &mut values, exported, calls);
    }
    for _ in 0..choices.below(3) {
        let output = choices.pick(&values);
        module.graphs[graph].add_output(output);
    }
}

fn add_node(
    module: &mut Module,
    graph: usize,
    choices: &mut Choices<'_>,
    values: &mut Vec<ValueId>,
    exported: bool,
    calls: bool,
) {
    let call = calls && choices.below(10) == 9;
    let op: Op = if call {
        Call { graph: 1 }.into()
    } else {
        op(choices, exported)
    };
    let (least, most) = op.arity();
    let mut inputs: Vec<Option<ValueId>> = (0..most.min(3)).map(|_| Some(choices.pick(values))).collect();
    if most > least && choices.flip() {
        inputs.truncate(least.max(1));
    }
    if call {
        // The operands of a call must have the types of the called graph's inputs.
        let callee = &module.graphs[1];
        let wanted: Vec<TensorType> = callee
            .inputs()
            .iter()
            .map(|&v| callee.value(v).unwrap().ty.clone())
            .collect();
        let g = &module.graphs[graph];
        inputs = wanted
            .iter()
            .map(|ty| values.iter().copied().find(|&v| g.value(v).unwrap().ty == *ty))
            .collect();
        if inputs.contains(&None) {
            return;
        }
    }
    // The operand that selects channels has to be a constant that fits the form, which no value of the graph is.
    if let Some(position) = op.channel_operand() {
        inputs.truncate(position);
    }
    if most > least && most < 4 && inputs.len() == most && choices.flip() {
        inputs[most - 1] = None;
    }
    let g = &module.graphs[graph];
    let types: Vec<Option<TensorType>> = inputs
        .iter()
        .map(|i| i.map(|v| g.value(v).unwrap().ty.clone()))
        .collect();
    let operands: Vec<Option<&TensorType>> = types.iter().map(Option::as_ref).collect();
    let results = match &op {
        Op::Foreign(_) => vec![TensorType::fixed(Elem::U8, &[]); choices.below(3)].into(),
        op => match module.result_types(op, &operands, None) {
            Ok(types) => types,
            Err(_) => return,
        },
    };
    let channel_axis = if matches!(op, Op::Conv(_)) {
        1
    } else {
        results.first().map_or(0, |t| t.shape.len().saturating_sub(1))
    };
    let channels = results.first().and_then(|t| t.shape.get(channel_axis)?.fixed());
    let channels = channels.unwrap_or(0) as usize;
    let accumulates = matches!(op, Op::Conv(_) | Op::Gemm(_) | Op::MatMul(_));
    let fused =
        (exported && accumulates && results[0].elem == Elem::I32 && channels > 0 && choices.flip()).then(|| {
            let requant = form(choices, channels);
            let out = requant.out();
            Fused::new(requant, choices.flip().then(|| [out.min(), out.max() / 2]))
        });
    let mut results = results;
    if let Some(fused) = &fused {
        results[0].elem = fused.requant.out().into();
    }
    let results: Vec<_> = results
        .into_iter()
        .map(|ty| {
            let quant = if exported { grid(choices, &ty) } else { None };
            (name(module, choices), ty, quant)
        })
        .collect();
    let node_name = results.first().map(|r| r.0).filter(|_| choices.flip());
    let node_name = node_name.unwrap_or_else(|| name(module, choices));
    let sources = [node_name, name(module, choices)];
    let source_count = choices.below(3);
    let place = if choices.below(4) == 3 {
        Placement::Host(Arc::new(Reason::new(ReasonCode::from("why"), choices.pick(&NAMES))))
    } else {
        Placement::Accelerator
    };
    let g = &mut module.graphs[graph];
    let id = g.add_node(node_name, op, &inputs, results);
    g.set_sources(id, &sources[..source_count]);
    g.set_fused(id, fused, place);
    values.extend(g.node(id).unwrap().outputs.iter());
}
