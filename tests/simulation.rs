//! Tests that the simulation of each op gives the same codes as the integer op, when both read what the integer
//! executor computed. They may differ by one step, and by what the form or function itself differs from the ideal.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may panic")]

use std::collections::{BTreeMap, BTreeSet};
use strait_core::op::{Conv, Gemm};
use strait_core::text::parse;
use strait_core::{
    Def, Derivation, Graph, Grid, Module, Move, Names, Node, NodeId, Op, Placement, Port, Stage, TensorData, ValueId,
};
use strait_execute::{Tensor, TensorView, reference};
use strait_kernels::Isa;
use strait_lower::{
    Baked, FusionPolicy, LowerError, Lowered, Parameters, Signs, bake, lower, simulate, simulate_unlimited,
    with_exact_tables,
};
use strait_target::TargetSpec;
use strait_target::spec::{Activation, Integer as Type, Nearness, Recipe};
use strait_tests::integer::{InMemory, Integer, integer_of};
use strait_tests::numeric::{inputs, run, signal_to_noise};
use strait_tests::passes::target;
use strait_tests::random_graph::random_graph;
use strait_tests::row_graph::{RowGraph, tables};

const FUNCTIONS: &str = include_str!("../docs/functions.md");

/// Every value of the annotated graph by name, in real numbers. It comes from the lowered graph, or from the simulation
/// if the lowered graph does not have it.
fn reals(integer: &Integer, spec: &TargetSpec, inputs: &[Tensor]) -> BTreeMap<String, Tensor> {
    let views: Vec<TensorView<'_>> = inputs.iter().map(Tensor::view).collect();
    let mut found = BTreeMap::new();
    let simulated = simulate(&integer.annotated, Some(spec), Parameters::Reals).unwrap();
    let mut observe = |id: ValueId, tensor: TensorView<'_>| {
        let value = simulated.main().value(id).unwrap();
        found.insert(simulated.name(value.name).to_owned(), tensor.to_tensor());
    };
    reference::run(&simulated, simulated.main, &views, &mut observe).unwrap();
    let (module, graph) = (&integer.module, integer.module.graph(integer.lowered).unwrap());
    let mut observe = |id: ValueId, tensor: TensorView<'_>| {
        let value = graph.value(id).unwrap();
        let tensor = tensor.to_tensor();
        let real = match value.quant.as_deref().and_then(strait_core::QuantParams::as_tensor) {
            Some((scale, zero)) if value.is_quantized() => {
                let codes = tensor.to_data().unwrap().to_i64().unwrap();
                let real = codes.iter().map(|&code| scale * (code - i64::from(zero)) as f32);
                Tensor::from_values(tensor.view().shape(), &real.collect::<Vec<f32>>()).unwrap()
            }
            _ => tensor,
        };
        found.insert(module.name(value.name).to_owned(), real);
    };
    reference::run(module, integer.lowered, &views, &mut observe).unwrap();
    for (&id, input) in graph.inputs().iter().zip(inputs) {
        let name = module.name(graph.value(id).unwrap().name);
        found.insert(name.to_owned(), input.clone());
    }
    found
}

/// A module with a single node of an annotated graph and the same configs. Also returns the node's operands that are
/// not constants.
fn alone(annotated: &Module, id: NodeId, node: &Node) -> (Module, Vec<ValueId>) {
    let (graph, table) = (annotated.main(), &annotated.main().quant);
    let mut names = Names::default();
    let main = Graph::new(names.intern("main"), Stage::Annotated);
    let mut module = Module::new(main, names);
    let mut fed = Vec::new();
    let mut made: BTreeMap<ValueId, ValueId> = BTreeMap::new();
    for value in node.inputs.iter().flatten() {
        let source = graph.value(*value).unwrap();
        let name = module.names.intern(annotated.name(source.name));
        made.entry(*value).or_insert_with(|| match source.def {
            Def::Data(data) => {
                let data = module.add_data(annotated.data(data).unwrap().clone());
                module.main_mut().add_data(name, source.ty.clone(), None, data)
            }
            _ => {
                fed.push(*value);
                module.main_mut().add_input(name, source.ty.clone(), None)
            }
        });
    }
    let operands: Vec<Option<ValueId>> = node
        .inputs
        .iter()
        .map(|value| value.map(|value| made[&value]))
        .collect();
    let results = node.outputs.iter().map(|&value| graph.value(value).unwrap());
    let results: Vec<_> = results.collect();
    let results = results
        .into_iter()
        .map(|value| (module.names.intern(annotated.name(value.name)), value.ty.clone(), None))
        .collect();
    let name = module.names.intern(annotated.name(node.name));
    let copy = module.main_mut().add_node(name, node.op.clone(), &operands, results);
    for output in module.main().node(copy).unwrap().outputs.clone() {
        module.main_mut().add_output(output);
    }
    let ports = (0..node.inputs.len()).map(Port::Operand);
    for port in ports.chain((0..node.outputs.len()).map(Port::Result)) {
        let Some(config) = table.id(id, port).and_then(|id| table.config(id)) else {
            continue;
        };
        let quant = &mut module.main_mut().quant;
        let new = quant.add(copy, port, config.scheme);
        let own = |at| quant.id(copy, Port::Operand(at)).unwrap();
        let request = match table.derivation(table.id(id, port).unwrap()) {
            Some(Derivation::Product(..)) => Move::MasteredBy(Derivation::Product(own(0), own(1))),
            _ => match table.grid(table.id(id, port).unwrap()) {
                Some(grid) => Move::Activate(Grid::new(grid.params, grid.origin)),
                None => continue,
            },
        };
        quant.transition(new, request).unwrap();
    }
    (module, fed)
}

/// Σ w·x + b in f64 for each result, from operands in real numbers; `None` for other ops.
fn in_f64(op: &Op, operands: &[Option<&TensorData>]) -> Option<Vec<f64>> {
    let real = |index: usize| -> Option<Vec<f64>> {
        let tensor = (*operands.get(index)?)?;
        Some(tensor.to_f32().unwrap().iter().map(|&x| f64::from(x)).collect())
    };
    let shape = |index: usize| {
        operands[index]
            .unwrap()
            .shape()
            .iter()
            .map(|&d| d as usize)
            .collect::<Vec<_>>()
    };
    let (x, w, bias) = (real(0)?, real(1)?, real(2));
    match op {
        Op::Gemm(gemm) if **gemm == Gemm::canonical() => {
            let [rows, inner] = shape(0)[..] else { return None };
            let outputs = shape(1)[0];
            let sum = |(row, out): (usize, usize)| {
                let products = (0..inner).map(|k| x[row * inner + k] * w[out * inner + k]);
                products.sum::<f64>() + bias.as_ref().map_or(0.0, |bias| bias[out])
            };
            let places = (0..rows).flat_map(|row| (0..outputs).map(move |out| (row, out)));
            Some(places.map(sum).collect())
        }
        Op::Conv(conv) => convolved(conv, (&x, &shape(0)), (&w, &shape(1)), bias.as_deref()),
        _ => None,
    }
}

/// A convolution over one to three axes of one image.
fn convolved(
    conv: &Conv,
    (x, xs): (&[f64], &[usize]),
    (w, ws): (&[f64], &[usize]),
    bias: Option<&[f64]>,
) -> Option<Vec<f64>> {
    let (&[1, _, ref image @ ..], &[outs, each, ref kernel @ ..]) = (xs, ws) else {
        return None;
    };
    // Extends to three axes; missing ones come first.
    let three = |list: &[usize], missing: usize| -> [usize; 3] {
        let mut all = [missing; 3];
        all[3 - list.len()..].copy_from_slice(list);
        all
    };
    let wide = |list: &[u32]| list.iter().map(|&n| n as usize).collect::<Vec<_>>();
    let (begins, ends) = conv.pad.split_at(image.len());
    let (begin, end) = (three(&wide(begins), 0), three(&wide(ends), 0));
    let (stride, dilation) = (three(&wide(&conv.stride), 1), three(&wide(&conv.dilation), 1));
    let (image, kernel) = (three(image, 1), three(kernel, 1));
    let made = [0, 1, 2].map(|a| {
        let reach = (kernel[a] - 1) * dilation[a] + 1;
        (image[a] + begin[a] + end[a] - reach) / stride[a] + 1
    });
    let places = |extents: [usize; 3]| {
        let count = extents.iter().product();
        (0..count).map(move |at| {
            let [_, rows, columns] = extents;
            [at / (rows * columns), at / columns % rows, at % columns]
        })
    };
    let per_group = outs / conv.groups as usize;
    let mut found = Vec::new();
    for (out, position) in (0..outs).flat_map(|out| places(made).map(move |position| (out, position))) {
        let mut sum = bias.map_or(0.0, |bias| bias[out]);
        for c in 0..each {
            for (tap, of) in places(kernel).enumerate() {
                let at = [0, 1, 2].map(|a| (position[a] * stride[a] + of[a] * dilation[a]).checked_sub(begin[a]));
                let [Some(z), Some(y), Some(column)] = at else { continue };
                if z < image[0] && y < image[1] && column < image[2] {
                    let channel = out / per_group * each + c;
                    let element = ((channel * image[0] + z) * image[1] + y) * image[2] + column;
                    sum += x[element] * w[(out * each + c) * kernel.iter().product::<usize>() + tap];
                }
            }
        }
        found.push(sum);
    }
    Some(found)
}

/// A bound for the error of a sum of K products in f32: K·2⁻²⁴ times the sum of their magnitudes.
fn f32_error(operands: &[Option<&TensorData>]) -> f64 {
    let most = |index: usize| {
        let values = operands[index].unwrap().to_f32().unwrap();
        values.iter().fold(0.0, |most: f64, &x| most.max(f64::from(x).abs()))
    };
    let taps: u64 = operands[1].unwrap().shape()[1..].iter().product();
    (taps * taps) as f64 * most(0) * most(1) / f64::from(1 << 24)
}

/// The operands, as they are read, of the node in a simulation that has this name.
fn operands(simulated: &Module, name: &str, fed: &[Tensor]) -> Vec<Option<TensorData>> {
    let graph = simulated.main();
    let mut seen: BTreeMap<ValueId, TensorData> = BTreeMap::new();
    let mut observe = |id: ValueId, tensor: TensorView<'_>| {
        seen.insert(id, tensor.to_tensor().to_data().unwrap());
    };
    let views: Vec<TensorView<'_>> = fed.iter().map(Tensor::view).collect();
    reference::run(simulated, simulated.main, &views, &mut observe).unwrap();
    let mut nodes = graph.nodes();
    let (_, node) = nodes.find(|(_, node)| simulated.name(node.name) == name).unwrap();
    let operand = |value: &Option<ValueId>| {
        let constant = |value| simulated.constant(graph, value).cloned();
        value.map(|value| seen.get(&value).cloned().or_else(|| constant(value)).unwrap())
    };
    node.inputs.iter().map(operand).collect()
}

/// The largest distance of the node's requantization from the ideal, in steps of the result.
fn deviation(lowered: &Lowered) -> f64 {
    let narrows = lowered.nearness.iter().filter(|(name, _)| !name.contains(":operand"));
    let most = narrows
        .filter_map(|(_, nearness)| nearness.nearness())
        .map(|nearness| match nearness {
            Nearness::Chosen { distance, .. } => distance.map_or(0, |distance| distance.max_lsb),
            Nearness::Derived { runtime, .. } => runtime.max_lsb,
            Nearness::Unknown => 0,
        });
    f64::from(most.max().unwrap_or(0))
}

/// The largest distance of the integer function in a node's row from the real function, in steps of the result, as
/// `docs/functions.md` states it. A node without a function rounds, which is half a step. For straight lines, both ends
/// and the interpolation are rounded, and the tested functions are at most a quarter of a step away from the lines.
fn of_function(module: &Module, node: &Node, spec: &TargetSpec) -> f64 {
    let scheme = module.main().quant.scheme_of(NodeId::new(0), Port::Operand(0));
    let codes = scheme.and_then(|scheme| scheme.elem()?.int_type()).map(Type::from);
    let row = codes.and_then(|codes| spec.row_for(node.op.term(), codes.into()));
    let recipe = row.and_then(|(_, row)| row.recipe);
    if matches!(
        recipe,
        Some(Recipe::Lookup {
            interpolate: Some(_),
            ..
        })
    ) {
        return 1.25;
    }
    // Where entries have more bits than codes they are computed in f32.
    let Some(definition) = recipe.and_then(Recipe::definition) else {
        return 0.5;
    };
    let (_, section) = FUNCTIONS.split_once("## Distance from the real functions").unwrap();
    let name = format!("`{}`", definition.name());
    let mut rows = section
        .lines()
        .filter_map(|line| line.strip_prefix("| ")?.split_once(" | "));
    let (_, row) = rows.find(|(found, _)| *found == name).unwrap();
    row.split(" | ").next().unwrap().parse().unwrap()
}

/// What one comparison has counted.
#[derive(Default, Debug)]
struct Seen {
    ops: usize,
    elements: usize,
    /// Number of elements that differ by a step.
    apart: usize,
    in_f64: usize,
    refused: usize,
    /// The ops that were compared with their simulation, as `OP on TYPE` with the type of the first operand.
    kinds: BTreeSet<String>,
    /// The same for ops that were refused.
    alone: BTreeSet<String>,
}

/// Compares each node on the accelerator with its simulation.
fn each_op(integer: &Integer, spec: &TargetSpec, fed: &[Tensor], seen: &mut Seen, case: &str) {
    let annotated = &integer.annotated;
    let reals = reals(integer, spec, fed);
    for (id, node) in annotated.main().nodes() {
        if node.place != Placement::Accelerator {
            continue;
        }
        // A sum that stays inside an accumulator cannot be tested alone. `residual.rs` covers such sums.
        let table = &annotated.main().quant;
        let codes = (0..node.inputs.len()).all(|at| table.id(id, Port::Operand(at)).is_some());
        if matches!(node.op, Op::Add(_)) && !codes {
            continue;
        }
        let name = annotated.name(node.name);
        let case = format!("{name} ({}) of {case}", node.op.term());
        let (mut module, from) = alone(annotated, id, node);
        // The condition comes before the values that it selects from.
        let first = usize::from(matches!(node.op, Op::Select(_)));
        let scheme = module.main().quant.scheme_of(NodeId::new(0), Port::Operand(first));
        let kind = match scheme.and_then(|scheme| scheme.elem()?.int_type()) {
            Some(codes) => format!("{} on {}", node.op.term(), Type::from(codes)),
            None => node.op.term().to_string(),
        };
        let value = |id: &ValueId| annotated.name(annotated.main().value(*id).unwrap().name);
        let fed: Vec<Tensor> = from.iter().map(|id| reals[value(id)].clone()).collect();
        bake(&mut module, spec, &mut Baked::default()).unwrap();
        let lowered = match lower(&module, spec) {
            Ok(lowered) => lowered,
            // Alone, a node's operands may be any codes, so its sums may be larger.
            Err(LowerError::Nodes(_)) => {
                seen.refused += 1;
                seen.alone.insert(kind);
                continue;
            }
            Err(error) => panic!("{case}: {error}"),
        };
        let simulated = simulate(&module, Some(spec), Parameters::Codes(Signs::Own)).unwrap();
        let integers = run(&lowered.module, lowered.module.main, &fed, Isa::detect(), 1);
        let simulated_results = run(&simulated, simulated.main, &fed, Isa::detect(), 1);
        if let Op::Compare(_) = node.op {
            // Truth values have no step. Numbers that are rounded with the same scale compare like their codes.
            assert!(integers == simulated_results, "{case}");
            seen.ops += 1;
            seen.elements += integers[0].shape().iter().product::<usize>();
            seen.kinds.insert(kind);
            continue;
        }
        let mut floats: Vec<Vec<f64>> = simulated_results
            .iter()
            .map(|tensor| tensor.values::<f32>().unwrap().iter().map(|&x| f64::from(x)).collect())
            .collect();
        seen.ops += 1;
        seen.kinds.insert(kind);
        for (position, integers) in integers.iter().enumerate() {
            let integers: &[f32] = integers.values().unwrap();
            let grid = module.main().quant.params_of(NodeId::new(0), Port::Result(position));
            let grid = grid.and_then(|grid| grid.as_tensor());
            let scheme = module.main().quant.scheme_of(NodeId::new(0), Port::Result(position));
            if let Some((scale, zero)) = grid {
                let read = operands(&simulated, name, &fed);
                let read: Vec<Option<&TensorData>> = read.iter().map(Option::as_ref).collect();
                let product = matches!(node.op, Op::Conv(_) | Op::Gemm(_));
                if product && f32_error(&read) >= f64::from(scale) / 2.0 {
                    let exact = in_f64(&node.op, &read).unwrap();
                    let [low, high] = scheme.unwrap().range().unwrap().map(|end| end as f64);
                    let code = |y: f64| (y / f64::from(scale)).round_ties_even() + f64::from(zero);
                    let real = |y: f64| f64::from(scale) * (code(y).clamp(low, high) - f64::from(zero));
                    floats[position] = exact.into_iter().map(real).collect();
                    seen.in_f64 += 1;
                }
            }
            let most = integers.iter().fold(0.0, |most: f64, &x| most.max(f64::from(x).abs()));
            let (step, bound) = match grid {
                Some((scale, _)) => (
                    f64::from(scale),
                    0.5 + deviation(&lowered) + of_function(&module, node, spec),
                ),
                // Float results: an accumulator has no step to lose.
                None => (most.max(1e-6), 1e-5),
            };
            for (at, (&integer, &float)) in integers.iter().zip(&floats[position]).enumerate() {
                let steps = (f64::from(integer) - float).abs() / step;
                assert!(
                    steps <= bound + 1e-3,
                    "{case}: element {at} is {integer}, simulated {float}: {steps} steps"
                );
                seen.elements += 1;
                seen.apart += usize::from(grid.is_some() && steps > 0.5);
            }
        }
    }
}

#[test]
fn each_op_is_a_step_from_its_simulation_at_most() {
    let types = |t: Option<Type>| (t.map(Into::into), None);
    let cases = [
        ("generic-int8", types(None)),
        ("generic-int8", types(Some(Type::Int16))),
        ("sima", types(None)),
        ("sima,correction_folding=afterwards", types(None)),
        ("sima,requantization_mode=tflite", types(None)),
        ("ascend", types(None)),
    ];
    for (name, types) in cases {
        let target = target(name).unwrap();
        let mut seen = Seen::default();
        let mut end_to_end = f64::INFINITY;
        for seed in 0..16 {
            let text = random_graph(seed, 9);
            let float = parse(&text).unwrap();
            let samples = InMemory((0..4).map(|i| inputs(&float, 1000 * seed + i, 1.0)).collect());
            let case = format!("seed {seed} for {name} {:?}\n{text}", types.0);
            let integer = integer_of(types, FusionPolicy::Exact, &float, name, &samples);
            let integer = integer.unwrap_or_else(|error| panic!("{case}: {error}"));
            each_op(&integer, target.spec(), &samples.0[0], &mut seen, &case);
            let simulated = simulate(&integer.annotated, Some(target.spec()), Parameters::Reals).unwrap();
            let whole = run(&simulated, simulated.main, &samples.0[0], Isa::detect(), 1);
            let lowered = run(&integer.module, integer.lowered, &samples.0[0], Isa::detect(), 1);
            for (one, other) in whole.iter().zip(&lowered) {
                let ratio = signal_to_noise(one.values().unwrap(), other.values().unwrap());
                end_to_end = end_to_end.min(ratio);
            }
        }
        // Differences add up from op to op, so this is printed and not asserted.
        println!("{name} {:?}: {seen:?}, end to end {end_to_end:.1} dB at least", types.0);
        assert!(seen.ops > 60 && seen.refused * 10 < seen.ops, "{name}: {seen:?}");
    }
}

/// Rows that compute no node of the annotated graph by itself. They leave it to the host, requantize between two nodes,
/// or dequantize weights, which is exact. An addition of sums reads the accumulators of two layers, so it is no node by
/// itself either; `sums_of_16_bits.rs` tests these.
const NO_NODES: [&str; 4] = ["on the host", "requantize on", "on float32", "ascend: add on int16"];

#[test]
fn each_op_of_every_row_is_a_step_from_its_simulation_at_most() {
    let mut missing = Vec::new();
    for (id, table) in tables() {
        let (mut seen, mut wanted) = (Seen::default(), BTreeSet::new());
        for graph in RowGraph::of_target(&id) {
            let name = match &*graph.options {
                "" => table.clone(),
                options => format!("{table},{options}"),
            };
            let case = format!("{} for {name}", graph.path.display());
            let made = graph.make(&name).unwrap_or_else(|error| panic!("{case}: {error}"));
            let target = target(&name).unwrap();
            each_op(&made.integer, target.spec(), &made.samples.0[0], &mut seen, &case);
            // A line `op ROW: OP on TYPE[, TYPE]`.
            let ops = graph.rows().filter_map(|row| row.strip_prefix("op ")?.split_once(": "));
            wanted.extend(ops.map(|(_, op)| op.split(',').next().unwrap().to_owned()));
        }
        println!("{id}: {seen:?}");
        let left = wanted.difference(&seen.kinds).map(|op| format!("{id}: {op}"));
        missing.extend(left.filter(|op| !NO_NODES.iter().any(|none| op.contains(none))));
    }
    assert!(missing.is_empty(), "{}", missing.join("\n"));
}

/// The results of `add(%x, 0)` for these numbers, with this config for its first operand.
fn rounded(config: &str, x: &[f32]) -> Vec<f32> {
    let count = x.len();
    let text = format!(
        "strait 1 annotated
        graph @main(%x: f32[2,{half}]) {{
          %y: f32[2,{half}] = add(%x, @zero)
          return %y
        }}
        quant @main {{
          y operand 0: {config}
          y operand 1: i8[-128,127] symmetric half_even initial
        }}
        data @zero: f32[1] = inline [0.0]",
        half = count / 2
    );
    let module = parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let simulated = simulate(&module, None, Parameters::Reals).unwrap();
    let x = [Tensor::from_values(&[2, count / 2], x).unwrap()];
    let planned = run(&simulated, simulated.main, &x, Isa::detect(), 1);
    let views: Vec<TensorView<'_>> = x.iter().map(Tensor::view).collect();
    let interpreted = reference::run(&simulated, simulated.main, &views, &mut |_, _| {}).unwrap();
    assert_eq!(planned[0].view().bytes(), interpreted[0].view().bytes());
    planned[0].values().unwrap().to_vec()
}

#[test]
fn small_floats_are_those_of_a_table() {
    // The e4m3 number for a code. There are 8 · 16 codes; the last is not a number.
    let code = |code: i32| match code / 8 {
        0 => f64::from(code % 8) / 512.0,
        field => f64::from(8 + code % 8) * 2f64.powi(field - 10),
    };
    let table: Vec<f64> = (0..127).map(code).collect();
    assert_eq!(table.last(), Some(&448.0));
    let points: Vec<f32> = (0..2000u16)
        .map(|n| (f32::from(n) - 1000.0) / 1000.0)
        .map(|x| x * x * x * 1000.0)
        .collect();
    for scale in [1.0, 0.25, 8.0f64] {
        let found = rounded(
            &format!("e4m3 half_even activated scale={scale:?} zero=0 observed"),
            &points,
        );
        for (&x, found) in points.iter().zip(found) {
            let size = f64::from(x).abs() / scale;
            let distance = |at: &usize| (table[*at] - size).abs();
            // Ties go to the even code, which has the even mantissa.
            let nearest = (0..127).min_by(|a, b| distance(a).total_cmp(&distance(b)).then((a % 2).cmp(&(b % 2))));
            let expected = (table[nearest.unwrap()] * scale).copysign(x.into()) as f32;
            assert_eq!(found, expected, "{x} by {scale}");
        }
    }
}

#[test]
fn a_dynamic_range_is_that_of_each_run() {
    let asymmetric = "u8[0,255] asymmetric dynamic half_even initial";
    // [−1, 3] in 255 steps. Real zero is 63.75 steps above the lowest code, so its code is 64 above.
    let found = rounded(asymmetric, &[-1.0, 0.0, 1.5, 3.0]);
    let step = 4.0f32 / 255.0;
    assert_eq!(found, [-64.0 * step, 0.0, 96.0 * step, 191.0 * step]);
    // With a ten times larger range the step is ten times as large: the second run does not depend on the first.
    let ten = rounded(asymmetric, &[-10.0, 0.0, 15.0, 30.0]);
    for (one, ten) in found.iter().zip(ten) {
        assert!((10.0 * one - ten).abs() < 1e-4);
    }
    // For each row: powers of two that hold 127·2^−6 = 1.98 and 127·2^−3 = 15.9.
    let rows = "i8[-127,127] symmetric power_of_two dynamic channel=0 half_even initial";
    assert_eq!(
        rounded(rows, &[1.3, -1.9, 0.3, 12.0]),
        [1.296_875, -1.906_25, 0.25, 12.0]
    );
    // Blocks of two along the last axis.
    let blocks = "i4[-8,7] symmetric dynamic axis=1 block=2 half_even initial";
    let found = rounded(blocks, &[7.0, 3.4, 0.7, 0.12, -8.0, 2.6, 0.0, 0.0]);
    let fine = (f64::from(0.7f32) / 7.0) as f32;
    assert_eq!(found, [7.0, 3.0, fine * 7.0, fine, -8.0, 3.0, 0.0, 0.0]);
}

#[test]
fn exact_tables_have_the_numbers_of_the_simulation() {
    let float =
        parse("strait 1 float graph @main(%x: f32[1,97]) { %y: f32[1,97] = unary(%x) {function=sigmoid} return %y }")
            .unwrap();
    let numbers: Vec<f32> = (0..97).map(|index| (index as f32 - 48.0) / 8.0).collect();
    let sample = vec![Tensor::from_values(&[1, 97], &numbers).unwrap()];
    let samples = InMemory(vec![sample.clone()]);
    // On 16 bits, this target interpolates between the entries of a table.
    let types = (Some(Activation::Codes(Type::Int16)), None);
    let integer = integer_of(types, FusionPolicy::Exact, &float, "generic-int8", &samples).unwrap();
    let mut lowered = integer.module.clone();
    lowered.main = integer.lowered;
    let exact = with_exact_tables(&lowered, &integer.annotated).unwrap().unwrap();
    assert!(strait_core::verifier::verify(&exact).is_ok());
    let simulated = simulate(
        &integer.annotated,
        Some(&target("generic-int8").unwrap().spec().clone()),
        Parameters::Reals,
    )
    .unwrap();
    let views: Vec<TensorView<'_>> = sample.iter().map(Tensor::view).collect();
    let outputs = |module: &Module| {
        let made = reference::run(module, module.main, &views, &mut |_, _| ()).unwrap();
        made[0].view().values::<f32>().unwrap().to_vec()
    };
    assert_eq!(outputs(&exact), outputs(&simulated));
    assert_ne!(outputs(&exact), outputs(&lowered));
    // With exact tables, nothing is left to replace.
    assert!(with_exact_tables(&exact, &integer.annotated).unwrap().is_none());
}

#[test]
fn codes_without_limits_round_and_do_not_saturate() {
    let float = parse(
        "strait 1 float graph @main(%x: f32[1,3]) {
           %y: f32[1,3] = gemm(%x, @w) {transpose_a=0, transpose_b=1, alpha=1.0, beta=1.0}
           return %y
         }
         data @w: f32[3,3] = inline [1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0]",
    )
    .unwrap();
    let sample = |numbers: &[f32; 3]| vec![Tensor::from_values(&[1, 3], numbers).unwrap()];
    let samples = InMemory(vec![sample(&[-1.0, 0.5, 1.0])]);
    let integer = integer_of((None, None), FusionPolicy::Exact, &float, "generic-int8", &samples).unwrap();
    let spec = target("generic-int8").unwrap().spec().clone();
    let outside = sample(&[-3.0, 0.5, 3.0]);
    let views: Vec<TensorView<'_>> = outside.iter().map(Tensor::view).collect();
    let last = |module: Module| {
        let made = reference::run(&module, module.main, &views, &mut |_, _| ()).unwrap();
        made[0].view().values::<f32>().unwrap()[2]
    };
    let limited = last(simulate(&integer.annotated, Some(&spec), Parameters::Reals).unwrap());
    let unlimited = last(simulate_unlimited(&integer.annotated, Some(&spec)).unwrap());
    assert!(
        (limited - 1.0).abs() < 0.01 && (unlimited - 3.0).abs() < 0.05,
        "{limited} {unlimited}"
    );
}
