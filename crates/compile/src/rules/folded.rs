//! Finds layers of the model that were folded into other layers, so that they no longer have a result or an operand of
//! their own.

use std::collections::{BTreeMap, BTreeSet};

use strait_core::{Graph, Kind, Module, Node, NodeId, Port, Symbol};

use strait_document::Glob;

use super::{Pattern, Rule, RuleError, keys::rule_place};

/// The layers of a model before rewriting, by their source names. For each layer, this type stores the layers whose
/// results it reads, and its position in the order of the graph.
#[derive(Clone, Debug, Default)]
pub struct Layers(BTreeMap<Symbol, Layer>);

#[derive(Clone, Debug, Default)]
struct Layer {
    /// The position of the layer's last node in topological order.
    rank: usize,
    /// The layers that make the operands of this layer, in any order. `None` stands for an input of the graph.
    reads: Vec<Option<Symbol>>,
}

/// A part of a layer that may be lost when the layer is folded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    Operands,
    Results,
}

impl Layers {
    /// The layers of a module before anything is rewritten in it.
    pub fn of(module: &Module) -> Layers {
        let graph = module.main();
        let mut layers: BTreeMap<Symbol, Layer> = BTreeMap::new();
        let order = graph.topological_order().unwrap_or_default();
        for (rank, id) in order.into_iter().enumerate() {
            let Some(node) = graph.node(id) else { continue };
            let variable = node.inputs.iter().flatten().filter(|&&x| graph.data_of(x).is_none());
            let makers: Vec<Option<Symbol>> = variable
                .map(|&x| {
                    graph
                        .producer(x)
                        .map(|(_, maker)| maker.sources.first().copied().unwrap_or(maker.name))
                })
                .filter(|maker| maker.is_none_or(|maker| !node.sources.contains(&maker)))
                .collect();
            for &source in &node.sources {
                let layer = layers.entry(source).or_default();
                layer.rank = rank;
                layer.reads.extend_from_slice(&makers);
            }
        }
        Layers(layers)
    }

    /// The last layer of the model that a node stands for. The node's result is the result of that layer.
    fn last(&self, node: &Node) -> Option<Symbol> {
        let rank = |source: &Symbol| self.0.get(source).map(|layer| layer.rank);
        node.sources.iter().copied().max_by_key(rank)
    }

    /// True if `part` of the layer `source` (its operands or its result) is also that part of `node`. A layer may have
    /// become several nodes, for example a node between two transposes. In this case, only the first node reads the
    /// layer's operand, and only the last node makes its result.
    fn has(&self, part: Part, graph: &Graph, node: &Node, source: Symbol) -> bool {
        match part {
            Part::Results => {
                let made = before_moves(graph, node, source);
                self.last(made) == Some(source) && leaves(graph, made, source)
            }
            Part::Operands => {
                let is_left = self.0.get(&source).is_none_or(|layer| {
                    let within = |maker: &Option<Symbol>| maker.is_some_and(|maker| node.sources.contains(&maker));
                    layer.reads.is_empty() || !layer.reads.iter().all(within)
                });
                is_left && enters(graph, node, source)
            }
        }
    }

    /// Filters the nodes that a rule chooses: keeps a node if it still has the given part of a layer that the rule
    /// names. If the rule names no layers, keeps all nodes. If no node has this part of some named layer, also returns
    /// an error.
    pub(super) fn left(
        &self,
        part: Part,
        module: &Module,
        (index, rule): (usize, &Rule),
        nodes: &BTreeSet<NodeId>,
    ) -> (BTreeSet<NodeId>, Option<RuleError>) {
        if rule.layers.is_empty() {
            return (nodes.clone(), None);
        }
        let graph = module.main();
        let patterns: Vec<Glob> = rule.layers.iter().map(Pattern::glob).collect();
        let named = |source: Symbol| patterns.iter().position(|pattern| pattern.matches(module.name(source)));
        let (mut left, mut had, mut gone) = (BTreeSet::new(), BTreeSet::new(), BTreeMap::new());
        for (id, node) in nodes.iter().filter_map(|&id| Some((id, graph.node(id)?))) {
            let layers = node.sources.iter().copied();
            let layers: Vec<(Symbol, usize)> = layers.filter_map(|source| Some((source, named(source)?))).collect();
            let having = layers.iter().filter(|(source, _)| self.has(part, graph, node, *source));
            let having: Vec<Symbol> = having.map(|&(source, _)| source).collect();
            if having.is_empty() {
                gone.extend(layers.into_iter().map(|(source, at)| (source, (at, node))));
            } else {
                left.insert(id);
                had.extend(having);
            }
        }
        gone.retain(|source, _| !had.contains(source));
        let first = gone.iter().min_by_key(|(_, (at, _))| *at);
        let error = first.map(|(&source, &(at, node))| {
            let (what, name) = (part.name(), module.name(source));
            let others = match gone.len() - 1 {
                0 => String::new(),
                1 => ", and so does one more".to_owned(),
                others => format!(", and so do {others} more"),
            };
            let into = module.name(self.last(node).unwrap_or(node.name));
            let message =
                format!("the {what} of `{name}` is not in the graph any more: it has gone into `{into}`{others}");
            let error = RuleError::wrong(rule_place(index).key("layers").index(at), message);
            help(part, module, node, error)
        });
        (left, error)
    }
}

impl Part {
    fn name(self) -> &'static str {
        match self {
            Part::Operands => "operand",
            Part::Results => "result",
        }
    }
}

fn help(part: Part, module: &Module, node: &Node, error: RuleError) -> RuleError {
    let graph = module.main();
    let name = |value| graph.value(value).map(|value| module.name(value.name));
    let first = match part {
        Part::Results => node.outputs.first().copied(),
        Part::Operands => node.inputs.first().copied().flatten(),
    };
    let error = match (first.and_then(name), part) {
        (Some(name), Part::Results) => {
            error.help(format!("the result that is left is `{name}`: `tensors = [\"{name}\"]`"))
        }
        (Some(name), Part::Operands) => error.help(format!(
            "the {} that is left is `{name}`: name a layer of the model that reads it",
            Port::Operand(0)
        )),
        (None, _) => error,
    };
    error.help("`optional = true` leaves such layers out")
}

/// Walks back from `node` through nodes of the same layer that only move data. Returns the node that computes the
/// result of the layer.
fn before_moves<'a>(graph: &'a Graph, mut node: &'a Node, source: Symbol) -> &'a Node {
    while node.op.term().kind() == Kind::Rearranges
        && let Some(&Some(x)) = node.inputs.first()
        && let Some((_, maker)) = graph.producer(x).filter(|(_, maker)| maker.sources.contains(&source))
    {
        node = maker;
    }
    node
}

/// True if the result of a node is used outside of the layer, directly or after nodes of the layer that only move data.
fn leaves(graph: &Graph, node: &Node, source: Symbol) -> bool {
    let mut open = node.outputs.to_vec();
    let mut stays = false;
    while let Some(value) = open.pop() {
        let mut readers = graph.uses(value).filter_map(|at| graph.node(at.node));
        if graph.is_output(value) || readers.any(|reader| !reader.sources.contains(&source)) {
            return true;
        }
        for reader in graph.uses(value).filter_map(|at| graph.node(at.node)) {
            stays = true;
            if reader.op.term().kind() == Kind::Rearranges {
                open.extend(&reader.outputs);
            }
        }
    }
    !stays
}

/// True if the node reads a value that is made outside of the layer.
fn enters(graph: &Graph, node: &Node, source: Symbol) -> bool {
    let mut variable = node
        .inputs
        .iter()
        .flatten()
        .filter(|&&x| graph.data_of(x).is_none())
        .peekable();
    let is_inside = |x| {
        graph
            .producer(x)
            .is_some_and(|(_, maker)| maker.sources.contains(&source))
    };
    variable.peek().is_none() || !variable.all(|&x| is_inside(x))
}

#[cfg(test)]
mod tests {
    use super::{
        super::{Quantize, Selection, select},
        *,
    };

    /// Applies a rule to a model with a convolution and its normalization, between two identities, and then a SiLU.
    /// If `elsewhere` is set, another node also reads the sigmoid of the SiLU.
    fn chosen(rule: &str, elsewhere: bool) -> Result<(Module, Selection), String> {
        let text = "
            strait 1 float
            graph @main(%x: f32[1,1,2,2]) {
              %same: f32[1,1,2,2] = identity(%x)
              %conv: f32[1,2,2,2] = conv(%same, @w) {stride=[1,1], pad=[0,0,0,0], dilation=[1,1], groups=1, pad_value=0}
              %bn: f32[1,2,2,2] = batch_normalization(%conv, @ones, @ones, @ones, @ones) {epsilon=0.0}
              %drop: f32[1,2,2,2] = identity(%bn)
              %sig: f32[1,2,2,2] = unary(%drop) {function=sigmoid}
              %silu: f32[1,2,2,2] = mul(%drop, %sig) {a_zero=0, b_zero=0}
              %out: f32[1,2,2,2] = relu(%OUT)
              return %silu, %out
            }
            data @w: f32[2,1,1,1] = inline [1.0,10.0]
            data @ones: f32[2] = inline [1.0,1.0]";
        let float = strait_core::text::parse(&text.replace("OUT", if elsewhere { "sig" } else { "silu" })).unwrap();
        let quantize = Quantize {
            rule: vec![toml::from_str(rule).unwrap()],
            ..Quantize::default()
        };
        let layers = Layers::of(&float);
        let (module, _) = crate::canonicalise(float, &strait_core::Switches::default()).unwrap();
        let selection = select(&module, &layers, &quantize, &["t"]).map_err(|errors| format!("{errors:?}"))?;
        Ok((module, selection))
    }

    fn names(rule: &str, elsewhere: bool) -> (Vec<String>, Vec<String>) {
        let (module, selection) = chosen(rule, elsewhere).unwrap_or_else(|error| panic!("{rule}: {error}"));
        let graph = module.main();
        let node = |id: &NodeId| module.name(graph.node(*id).unwrap().name).to_owned();
        let nodes = selection.nodes.keys().map(node).collect();
        let value = |id| module.name(graph.value(id).unwrap().name).to_owned();
        (nodes, selection.values.keys().map(|&id| value(id)).collect())
    }

    #[test]
    fn a_range_for_a_result_that_has_gone_is_refused() {
        for (rule, expected) in [
            (
                "layers = ['sig']\nrange = [0, 1]",
                "`sig` is not in the graph any more: it has gone into `silu`",
            ),
            (
                "layers = ['sig']\nobserver = 'mse'",
                "the result that is left is `silu`",
            ),
            (
                "layers = ['sig']\nresults = [0]\nactivations.type = 'int16'",
                "the result of `sig`",
            ),
            (
                "layers = ['silu', 'conv']\nrange = [0, 1]",
                "`conv` is not in the graph any more: it has gone into `bn`",
            ),
            ("layers = ['sig', 'c*']\nrange = [0, 1]", "and so does one more"),
            (
                "layers = ['bn']\noperands = [0]\nrange = [0, 1]",
                "the operand of `bn` is not in the graph any more",
            ),
        ] {
            let told = chosen(rule, false).map(|_| ()).unwrap_err();
            assert!(told.contains(expected) && told.contains("Q001"), "{rule}: {told}");
        }
    }

    #[test]
    fn a_range_is_for_the_result_that_is_left() {
        for (rule, expected) in [
            ("layers = ['silu']\nrange = [0, 1]", &["silu"][..]),
            // An identity after a layer does not make another result. A pattern that also matches the last layer means the
            // result of the last layer.
            ("layers = ['bn']\nrange = [0, 1]", &["drop"]),
            ("layers = ['s*']\nrange = [0, 1]", &["silu"]),
            ("op = ['conv']\nrange = [0, 1]", &["drop"]),
            ("layers = ['sig', 'bn']\nrange = [0, 1]\noptional = true", &["drop"]),
        ] {
            assert_eq!(names(rule, false).1, expected, "{rule}");
        }
        // Another node reads the sigmoid, so its result still exists.
        assert_eq!(names("layers = ['sig']\nrange = [0, 1]", true).1, ["sig"]);
        let operand = chosen("layers = ['conv']\noperands = [0]\nrange = [0, 1]", false);
        assert_eq!(operand.unwrap().1.operands.len(), 1);
    }

    #[test]
    fn a_type_is_for_what_a_layer_has_become() {
        for rule in [
            "layers = ['sig']\nactivations.type = 'int16'",
            "layers = ['sig']\nrun = 'float'",
        ] {
            assert_eq!(
                names(rule, false),
                (vec!["silu".to_owned()], vec!["silu".to_owned()]),
                "{rule}"
            );
        }
    }
}
