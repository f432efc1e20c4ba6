//! A chain of affine maps per channel behind a product becomes one, which is rounded once: whichever rule takes which link first.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use crate::common;

use common::{Random, Text, shuffle, ulps};
use strait_core::text::parse;
use strait_core::{Module, NodeId, Rule, RuleSet, Term};
use strait_rewrite::{canonical, rules};

const CHANNELS: usize = 4;
const IMAGE: &str = "1,4,3,3";
const LAST: &str = "1,3,3,4";
const BLOCKS: &str = "1,4,1,3,3";

/// The rules that fold a link of the chain, or combine several links.
fn folds() -> Vec<Box<dyn Rule>> {
    vec![
        Box::<rules::fold_constants::FoldConstants>::default(),
        Box::new(rules::dead_node::RULE),
        Box::new(rules::merge_transposes::RULE),
        Box::new(rules::merge_reshapes::RULE),
        Box::new(rules::batch_normalization_spelled_out::RULE),
        Box::new(rules::batch_normalization_into_producer::RULE),
        Box::new(rules::constants_into_batch_normalization::RULE),
        Box::new(rules::scalar_into_producer::RULE),
        Box::new(rules::factors_into_producer::RULE),
        Box::new(rules::bias_into_producer::RULE),
        Box::new(rules::batch_normalization_into_reader::RULE),
    ]
}

/// A chain of affine maps after a convolution, and for each channel the factor and the summand of the whole chain.
struct Chain {
    module: Module,
    affine: Vec<(f64, f64)>,
}

impl Chain {
    /// Makes two to five links after a convolution. Nodes that move elements are between some of them.
    fn new(random: &mut Random) -> Chain {
        let mut text = Text::default();
        let mut affine = vec![(1.0, 0.0); CHANNELS];
        let mut x = text.conv(random, "%x");
        let mut shape = IMAGE;
        for _ in 0..2 + random.below(4) {
            if random.below(3) == 0 {
                (shape, x) = match (shape, random.below(2)) {
                    (IMAGE, 0) => (LAST, text.node(LAST, "transpose", &[&x], "permutation=[0,2,3,1]")),
                    (IMAGE, _) => (BLOCKS, text.node(BLOCKS, "reshape", &[&x], "shape=[1,4,1,3,3]")),
                    (LAST, _) => (IMAGE, text.node(IMAGE, "transpose", &[&x], "permutation=[0,3,1,2]")),
                    _ => (IMAGE, text.node(IMAGE, "reshape", &[&x], "shape=[1,4,3,3]")),
                };
            }
            let behind = match shape {
                IMAGE => 2,
                BLOCKS => 3,
                _ => 0,
            };
            let own: Vec<usize> = [CHANNELS].into_iter().chain(vec![1; behind]).collect();
            // All channels share one number, or each has a number of its own.
            let list = |random: &mut Random| if random.below(3) == 0 { vec![] } else { own.clone() };
            x = match random.below(3) {
                0 if shape != LAST => {
                    let (names, [scale, bias, mean, variance]) = parameters(&mut text, random);
                    let operands: Vec<&str> = [&x].into_iter().chain(&names).map(String::as_str).collect();
                    let root = |channel: usize| (variance[channel] + f64::from(0.001_f32)).sqrt();
                    let map = |channel: usize, (factor, summand): (f64, f64)| {
                        let by = scale[channel] / root(channel);
                        (factor * by, (summand - mean[channel]) * by + bias[channel])
                    };
                    affine = affine.into_iter().enumerate().map(|(c, own)| map(c, own)).collect();
                    text.node(shape, "batch_normalization", &operands, "epsilon=0.001")
                }
                1 => {
                    let own = list(random);
                    let (name, numbers) = text.numbers(random, &own);
                    let own = affine.into_iter().zip(numbers.iter().cycle());
                    affine = own.map(|((factor, summand), &m)| (factor * m, summand * m)).collect();
                    text.mul(shape, &x, &name)
                }
                _ => {
                    let own = list(random);
                    let (name, numbers) = text.numbers(random, &own);
                    let own = affine.into_iter().zip(numbers.iter().cycle());
                    affine = own.map(|((factor, summand), &a)| (factor, summand + a)).collect();
                    text.add(shape, &name, &x)
                }
            };
        }
        let Text { body, data, .. } = text;
        let text = format!("strait 1 float\ngraph @main(%x: f32[{IMAGE}]) {{\n{body}  return {x}\n}}\n{data}");
        let module = parse(&text).unwrap();
        Chain { module, affine }
    }

    /// The weights and the bias of the convolution after the whole chain is folded into it.
    fn expected(&self) -> Vec<f32> {
        let [weight, bias] = operands(&self.module);
        let each = weight.len() / CHANNELS;
        let scaled = |(place, &w): (usize, &f32)| (f64::from(w) * self.affine[place / each].0) as f32;
        let bias = bias.into_iter().chain([0.0; CHANNELS]).zip(&self.affine);
        let moved = bias.map(|(b, &(factor, summand))| (f64::from(b) * factor + summand) as f32);
        weight.iter().enumerate().map(scaled).chain(moved).collect()
    }

    fn found(&self, set: &RuleSet, order: Option<Vec<NodeId>>) -> Vec<f32> {
        let mut module = self.module.clone();
        let main = module.main;
        match order {
            Some(order) => set.run_in(&mut module, main, order).unwrap(),
            None => set.run(&mut module, main).unwrap(),
        };
        let is_link = |term| matches!(term, Term::BatchNormalization | Term::Mul | Term::Add);
        assert!(!module.main().nodes().any(|(_, node)| is_link(node.op.term())));
        let [weight, bias] = operands(&module);
        let zeros = vec![0.0; CHANNELS];
        weight
            .into_iter()
            .chain(if bias.is_empty() { zeros } else { bias })
            .collect()
    }
}

/// Adds the parameters of a batch normalization. Returns their names and their numbers.
fn parameters(text: &mut Text, random: &mut Random) -> (Vec<String>, [Vec<f64>; 4]) {
    let mut lists: [Vec<f64>; 4] = Default::default();
    let mut names = Vec::new();
    for (place, list) in lists.iter_mut().enumerate() {
        let (name, numbers) = match place {
            // The variance must be positive.
            3 => text.positive(random, &[CHANNELS]),
            _ => text.numbers(random, &[CHANNELS]),
        };
        names.push(name);
        *list = numbers;
    }
    (names, lists)
}

/// Weights and bias of the only convolution.
fn operands(module: &Module) -> [Vec<f32>; 2] {
    let graph = module.main();
    let mut convs = graph.nodes().filter(|(_, node)| node.op.term() == Term::Conv);
    let (_, conv) = convs.next().unwrap();
    [1, 2].map(|place| {
        let operand = conv.inputs.get(place).copied().flatten();
        let tensor = operand.map(|operand| module.constant(graph, operand).unwrap());
        tensor.map_or_else(Vec::new, |tensor| tensor.to_f32().unwrap().into_owned())
    })
}

#[test]
fn a_chain_is_rounded_once_in_whatever_order_it_is_folded() {
    for seed in 0..300 {
        let chain = Chain::new(&mut Random(seed));
        let expected = chain.expected();
        let near = |found: &[f32], with: &str| {
            assert_eq!(expected.len(), found.len(), "seed {seed}, {with}");
            let worst = expected.iter().zip(found).map(|(&a, &b)| ulps(a, b)).max();
            assert!(
                worst <= Some(1),
                "seed {seed}, {with}: {worst:?} units in the last place"
            );
        };
        near(&chain.found(&canonical(), None), "canonical");
        for round in 0..4 {
            let mut random = Random(1000 * seed + round);
            let mut order: Vec<NodeId> = chain.module.main().nodes().map(|(id, _)| id).collect();
            shuffle(&mut random, &mut order);
            near(&chain.found(&canonical(), Some(order.clone())), "other nodes first");
            let mut folds = folds();
            shuffle(&mut random, &mut folds);
            near(&chain.found(&RuleSet::new(folds), Some(order)), "other rules first");
        }
    }
}

#[test]
fn nothing_is_remembered_behind_a_run() {
    let mut module = Chain::new(&mut Random(0)).module;
    let main = module.main;
    canonical().run(&mut module, main).unwrap();
    let ids = module.main().values().filter_map(|(id, _)| module.main().data_of(id));
    let ids: Vec<_> = ids.collect();
    assert!(!ids.is_empty() && ids.into_iter().all(|id| module.unrounded(id).is_none()));
}
