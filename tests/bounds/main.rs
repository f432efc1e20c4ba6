//! Tests the verifier's and the compiler's bounds on random graphs of integer primitives. No value may lie outside of
//! either. The verifier's bounds must never be wider than the compiler's, since it compares the compiler's certificates
//! with its own.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may panic")]

#[path = "../../crates/execute/tests/common/mod.rs"]
mod common;
mod compiled;
mod images;

use common::random::Maker;
use strait_core::text::random::SplitMix64;
use strait_core::text::{PrintOptions, parse};
use strait_core::verifier::verify;
use strait_core::{Elem, GraphId, Module, Op, ValueId, text};
use strait_execute::{Tensor, TensorView, reference};
use strait_lower::interval::Bounds;
use strait_requantize::Per;
use strait_verify::{Interval, Intervals, ValueRange, intervals};

/// For every element of a tensor, its index along an axis.
fn indices(shape: &[usize], axis: usize) -> impl Iterator<Item = usize> + use<> {
    let inner: usize = shape[axis + 1..].iter().product();
    let (extent, count) = (shape[axis], shape.iter().product());
    (0..count).map(move |element| element / inner % extent)
}

/// The bounds that both analyses find for the values of a graph.
struct Both<'a> {
    module: &'a Module,
    graph: GraphId,
    own: Intervals,
    theirs: Bounds<'a>,
    /// For each value, the verifier's bounds along its first axis whose ends have not all occurred yet.
    left: Vec<Option<Vec<Interval>>>,
    case: &'a str,
}

impl<'a> Both<'a> {
    fn new(module: &'a Module, graph: GraphId, case: &'a str) -> Both<'a> {
        let values = module.graph(graph).unwrap().value_bound();
        Both {
            module,
            graph,
            own: intervals(module, graph).unwrap(),
            theirs: Bounds::new(module, module.graph(graph).unwrap()),
            left: vec![None; values],
            case,
        }
    }

    fn name(&self, value: ValueId) -> String {
        let value = self.module.graph(self.graph).unwrap().value(value).unwrap();
        self.module.name(value.name).into()
    }

    /// Checks every element of a value against its bounds.
    fn hold(&mut self, value: ValueId, tensor: TensorView<'_>) {
        let Some(range) = self.own.value(value) else { return };
        let (name, shape) = (self.name(value), tensor.shape());
        let codes = tensor.to_tensor().to_data().unwrap().to_i64().unwrap();
        let inside = |bounds: Interval, code: i64, whose: &str, at: usize| {
            let inside = bounds.contains(Interval::point(code));
            assert!(
                inside,
                "{name}[{at}]: {code} in {bounds:?} of the {whose}: {}",
                self.case
            );
        };
        for (axis, bounds) in range.axes() {
            assert_eq!(bounds.len(), shape[axis], "{name}: {}", self.case);
            for (&code, at) in codes.iter().zip(indices(shape, axis)) {
                inside(bounds[at], code, "verifier", at);
            }
        }
        codes.iter().for_each(|&code| inside(range.hull(), code, "verifier", 0));
        let (theirs, axis) = (self.theirs.of(value).unwrap(), self.theirs.axis(value));
        assert_eq!(theirs.channels(), axis.map(|axis| shape[axis]), "{name}: {}", self.case);
        let along: Vec<usize> = axis.map_or(vec![0; codes.len()], |axis| indices(shape, axis).collect());
        for (&code, at) in codes.iter().zip(along) {
            let &(low, high) = theirs.get(at).unwrap();
            inside(Interval { low, high }, code, "compiler", at);
        }
        let (all, along) = match range.axes().next() {
            Some((axis, all)) => (all.to_vec(), indices(shape, axis).collect()),
            None => (vec![range.hull()], vec![0; codes.len()]),
        };
        let left = self.left[value.index()].get_or_insert_with(|| all.clone());
        for (&code, at) in codes.iter().zip(along) {
            left[at].low += i64::from(left[at].low == code && code == all[at].low);
            left[at].high -= i64::from(left[at].high == code && code == all[at].high);
        }
    }

    /// Runs the graph and checks each of its values. Returns the operands of the graphs that it calls. If the run
    /// fails, a sum left its type or a form left its domain; the verifier knows that this can happen.
    fn run(&mut self, inputs: &[Tensor]) -> Vec<(GraphId, Vec<Tensor>)> {
        let views: Vec<TensorView<'_>> = inputs.iter().map(Tensor::view).collect();
        let (module, graph) = (self.module, self.graph);
        let mut seen: Vec<Option<Tensor>> = vec![None; self.left.len()];
        let run = reference::run(module, graph, &views, &mut |value, tensor| {
            self.hold(value, tensor);
            seen[value.index()] = Some(tensor.to_tensor());
        });
        if let Err(error) = run {
            assert_ne!(self.own.findings(), [], "{error}: {}", self.case);
            return Vec::new();
        }
        let operands = |inputs: &[Option<ValueId>]| {
            let each = inputs
                .iter()
                .flatten()
                .map(|value| seen[value.index()].clone().unwrap());
            each.collect()
        };
        let nodes = module.graph(graph).unwrap().nodes();
        nodes
            .filter_map(|(_, node)| match &node.op {
                Op::Call(op) => Some((GraphId::new(op.graph as usize), operands(&node.inputs))),
                _ => None,
            })
            .collect()
    }

    /// Compares the verifier's bounds with the compiler's.
    fn compare(&mut self) -> Tally {
        let mut found = Tally::default();
        let graph = self.module.graph(self.graph).unwrap();
        for &value in graph.nodes().flat_map(|(_, node)| &node.outputs) {
            let (Some(own), name) = (self.own.value(value), self.name(value)) else {
                continue;
            };
            let (theirs, axis) = (self.theirs.of(value).unwrap(), self.theirs.axis(value));
            let narrower = is_narrower(own, &theirs, axis).unwrap_or_else(|| {
                panic!(
                    "{name}: {own:?}, and {theirs:?} along {axis:?} of the compiler: {}",
                    self.case
                );
            });
            found.values += 1;
            found.narrower += usize::from(narrower);
            found.along += usize::from(own.axes().next().is_some());
            found.crossed += usize::from(own.axes().count() > 1);
            let all = own.axes().next().map_or(vec![own.hull()], |(_, all)| all.to_vec());
            let left = self.left[value.index()].as_ref();
            found.attained +=
                usize::from(left.is_some_and(|left| left.iter().zip(&all).all(|(left, all)| left != all)));
        }
        found
    }
}

/// True if the verifier's bounds of a value are narrower than the compiler's anywhere; `None` if they are wider
/// anywhere.
fn is_narrower(own: &ValueRange, theirs: &Per<(i64, i64)>, axis: Option<usize>) -> Option<bool> {
    let each: Vec<Interval> = theirs
        .values()
        .iter()
        .map(|&(low, high)| Interval { low, high })
        .collect();
    let at = |index: usize| axis.map_or(own.hull(), |axis| own.at(axis, index));
    let within = |(index, theirs): (usize, &Interval)| theirs.contains(at(index));
    each.iter().enumerate().all(within).then(|| {
        let hull = each.iter().copied().reduce(Interval::hull);
        let finer = |intervals: &[Interval]| intervals.iter().any(|&i| Some(i) != hull);
        each.iter().enumerate().any(|(index, theirs)| *theirs != at(index))
            || axis.is_none() && own.axes().any(|(_, intervals)| finer(intervals))
    })
}

/// Counts of values.
#[derive(Default)]
struct Tally {
    values: usize,
    /// Values whose bounds are narrower in the verifier.
    narrower: usize,
    /// Values of whose bounds all ends occur.
    attained: usize,
    /// Values with bounds along an axis, and along several axes.
    along: usize,
    crossed: usize,
}

impl Tally {
    fn add(&mut self, other: &Tally) {
        self.values += other.values;
        self.narrower += other.narrower;
        self.attained += other.attained;
        self.along += other.along;
        self.crossed += other.crossed;
    }
}

/// Inputs of all kinds: the same code everywhere, random ends of the range, and random codes.
fn codes(seed: u64) -> Vec<Tensor> {
    let mut random = SplitMix64::new(seed);
    let [c, h, w] = images::INPUT.map(|extent| extent as usize);
    let count = c * h * w;
    let ends = |bits: u64| if bits & 1 == 0 { i8::MIN } else { i8::MAX };
    let mut all = vec![vec![i8::MIN; count], vec![i8::MAX; count]];
    for _ in 0..3 {
        all.push((0..count).map(|_| ends(random.next_u64() >> 20)).collect());
        all.push((0..count).map(|_| (random.next_u64() >> 20) as i8).collect());
    }
    let tensor = |codes: Vec<i8>| Tensor::from_values(&[1, c, h, w], &codes).unwrap();
    all.into_iter().map(tensor).collect()
}

#[test]
fn nothing_occurs_outside_of_the_bounds_of_windows_and_they_are_within_those_of_the_compiler() {
    let mut found = Tally::default();
    for seed in 0..400 {
        let text = images::graph(seed);
        let module = parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        verify(&module).unwrap_or_else(|error| panic!("{error}\n{text}"));
        let case = format!("seed {seed}\n{text}");
        let mut both = Both::new(&module, module.main, &case);
        assert_eq!(both.own.findings(), [], "{case}");
        for input in codes(seed) {
            both.run(&[input]);
        }
        found.add(&both.compare());
    }
    let Tally {
        values,
        narrower,
        attained,
        ..
    } = found;
    assert!(values > 6000, "{values} values");
    // The bounds are not trivial: for many values the ends of every channel occur, and the verifier's bounds are not
    // always the compiler's.
    assert!(
        attained * 4 > values && narrower > 100,
        "{values} values, {attained} attained, {narrower} narrower"
    );
}

/// Inputs of all kinds for the same graph: far below and far above every range, randomly either, and random numbers.
fn reals(seed: u64, inputs: &[Tensor]) -> Vec<Vec<Tensor>> {
    let mut random = SplitMix64::new(seed);
    let mut far = |kind: u64| match kind {
        0 => -1e9,
        1 => 1e9,
        _ if random.next_u64() >> 20 & 1 == 0 => -1e9,
        _ => 1e9,
    };
    let mut all = vec![inputs.to_vec()];
    for kind in 0..4 {
        let mut made = Vec::new();
        for input in inputs {
            assert_eq!(input.elem(), Elem::F32);
            let values: Vec<f32> = input.values::<f32>().unwrap().iter().map(|_| far(kind)).collect();
            made.push(Tensor::from_values(input.shape(), &values).unwrap());
        }
        all.push(made);
    }
    all
}

/// Tests windows and products between ops that move elements, values that broadcast along different axes, and graphs
/// that are called.
#[test]
fn nothing_occurs_outside_of_the_bounds_of_what_moves_and_broadcasts() {
    let (mut found, mut called) = (Tally::default(), 0);
    for seed in 0..400 {
        let (module, inputs) = Maker::new(seed).graph(4 + seed as usize % 16);
        let case = format!("seed {seed}\n{}", text::print(&module, &PrintOptions::default()));
        let mut all: Vec<Both<'_>> = (0..module.graphs.len())
            .map(|graph| Both::new(&module, GraphId::new(graph), &case))
            .collect();
        for inputs in reals(seed, &inputs) {
            let mut runs = vec![(module.main, inputs)];
            while let Some((graph, inputs)) = runs.pop() {
                called += usize::from(graph != module.main);
                runs.extend(all[graph.index()].run(&inputs));
            }
        }
        all.iter_mut().for_each(|both| found.add(&both.compare()));
    }
    let Tally {
        values, along, crossed, ..
    } = found;
    assert!(
        values > 6000 && called > 100,
        "{values} values, {called} runs of what is called"
    );
    assert!(
        along * 4 > values && crossed > 30,
        "{values} values, {along} along an axis, {crossed} along several"
    );
}
