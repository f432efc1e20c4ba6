//! The canonical graph does not depend on the order in which nodes are visited.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use crate::common;

use common::{Random, shuffle, ulps};
use std::collections::BTreeMap;
use std::fmt::Write;
use strait_core::{Attribute, Module, NodeId, ValueId};
use strait_rewrite::canonical;

/// A graph without its names. Nodes are numbered in the order in which they are met on the way from the outputs up, and
/// constants have the same order.
#[derive(Default)]
struct Plain {
    text: String,
    constants: Vec<Vec<f32>>,
    numbers: BTreeMap<NodeId, usize>,
}

impl Plain {
    fn of(module: &Module) -> Plain {
        let mut plain = Plain::default();
        for &output in module.main().outputs() {
            let line = plain.value(module, output);
            writeln!(plain.text, "return {line}").unwrap();
        }
        plain
    }

    fn value(&mut self, module: &Module, value: ValueId) -> String {
        let graph = module.main();
        if let Some(data) = graph.data_of(value) {
            let tensor = module.data(data).unwrap();
            self.constants.push(tensor.to_f32().unwrap().into_owned());
            return format!("constant{:?}", tensor.shape());
        }
        let Some((id, node)) = graph.producer(value) else {
            return "input".into();
        };
        if let Some(number) = self.numbers.get(&id) {
            return format!("{number}");
        }
        let operands: Vec<String> = (node.inputs.iter().flatten())
            .map(|&operand| self.value(module, operand))
            .collect();
        let mut attributes = String::new();
        node.op
            .attributes(&mut |key, value: Attribute| attributes += &format!(" {key}={value:?}"));
        let number = self.numbers.len();
        self.numbers.insert(id, number);
        let ty = &graph.value(value).unwrap().ty.shape;
        writeln!(
            self.text,
            "{number}: {:?} = {}({}){attributes}",
            ty,
            node.op.term(),
            operands.join(", ")
        )
        .unwrap();
        format!("{number}")
    }
}

fn canonicalised(mut module: Module, order: Option<Vec<NodeId>>) -> Plain {
    let main = module.main;
    match order {
        Some(order) => canonical().run_in(&mut module, main, order),
        None => canonical().run(&mut module, main),
    }
    .unwrap();
    Plain::of(&module)
}

#[test]
fn any_order_of_visits_leads_to_one_graph() {
    for seed in 0..100 {
        let module = common::module(&mut Random(seed), 30);
        let expected = canonicalised(module.clone(), None);
        for round in 0..4 {
            let mut order: Vec<NodeId> = module.main().nodes().map(|(id, _)| id).collect();
            shuffle(&mut Random(1000 * seed + round), &mut order);
            let found = canonicalised(module.clone(), Some(order));
            assert_eq!(expected.text, found.text, "seed {seed}, round {round}");
            let pairs = expected
                .constants
                .iter()
                .flatten()
                .zip(found.constants.iter().flatten());
            let worst = pairs.map(|(&a, &b)| ulps(a, b)).max().unwrap_or(0);
            assert!(
                worst <= 1,
                "seed {seed}, round {round}: {worst} units in the last place"
            );
        }
    }
}
