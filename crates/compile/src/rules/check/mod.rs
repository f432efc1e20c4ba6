//! Checks rules against what the target's table and the layers support.
//!
//! A setting in `[quantize]` applies to each op for which the table supports it, and is ignored for other ops. A rule,
//! in contrast, is an error unless the target supports it for everything that the rule names. If several rules apply to
//! a layer, the settings that result from all of them are checked, because the layer gets these settings.

use strait_core::{Module, Node, NodeId};
use strait_quantize::Settings;
use strait_requantize::IntType;
use strait_target::{
    TargetSpec,
    spec::{Activation, CodeKind, Integer, Observed, Observer, OpRow, Pair, WeightPer},
};

use super::{
    Activations, Quantize, RuleError, RuleErrors, Rules, Run, Selection, Weights, keys::place, selection::weighs,
};

mod blocks;
mod edges;
mod freedom;
mod unused;

/// Refuses rules that the target does not support, and rules that have no effect.
///
/// # Errors
/// An error for each such rule. The error says what the target supports instead.
pub(super) fn check(
    module: &Module,
    rules: &Rules,
    selection: &Selection,
    spec: &TargetSpec,
    settings: &Settings,
) -> Result<(), RuleErrors> {
    let mut check = Check {
        module,
        rules,
        quantize: &rules.quantize,
        selection,
        spec,
        settings,
        found: RuleErrors::default(),
    };
    check.everywhere();
    check.reals();
    for (id, rules) in selection.computing(module.main(), spec) {
        if let Some(node) = module.main().node(id) {
            check.layer(id, node, &rules);
        }
    }
    check.operands();
    check.results();
    check.weight_observers();
    if check.found.0.is_empty() {
        check.blocks();
    }
    if check.found.0.is_empty() {
        check.unused();
    }
    check.found.or(())
}

/// The rules, everything that they are checked against, and the errors that the checks have found. There is at most one
/// error for each key.
struct Check<'a> {
    module: &'a Module,
    rules: &'a Rules,
    quantize: &'a Quantize,
    selection: &'a Selection,
    spec: &'a TargetSpec,
    settings: &'a Settings,
    found: RuleErrors,
}

/// One side of a pair (type of activations, type of weights). The names of the sides are also the names of the tables
/// in which a rule sets these types. The variants are in the order of the pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Activations,
    Weights,
}

impl Side {
    const BOTH: [Side; 2] = [Side::Activations, Side::Weights];

    /// The key of the table. Messages also use it as the name of the table.
    fn name(self) -> &'static str {
        match self {
            Side::Activations => "activations",
            Side::Weights => "weights",
        }
    }

    /// The type that a pair has on this side. `None` if it is real numbers.
    fn of(self, pair: Pair) -> Option<Integer> {
        match self {
            Side::Activations => pair.codes(),
            Side::Weights => Some(pair.weight),
        }
    }
}

/// What rules set for the codes of one layer, or of all layers.
struct Said<'a> {
    /// The words that say in messages which layer the settings are for. Empty for the settings of all layers.
    of: String,
    /// The indices of the rules that set something for the layer. Empty for the settings of all layers.
    rules: &'a [usize],
    types: (Option<Activation>, Option<Integer>),
    activations: Activations,
    weights: Weights,
    /// The pairs of types that the target has for the layer's op, or for any op.
    pairs: Vec<Pair>,
    /// The pair on which the layer computes, and its row in the table.
    pair: Option<Pair>,
    row: Option<&'a OpRow>,
}

impl Check<'_> {
    /// Finds errors in the settings of `[quantize]` for all layers.
    fn everywhere(&mut self) {
        let quantize = self.quantize;
        let pairs = self.spec.types.pairs.clone();
        let types = (quantize.activations.ty, quantize.weights.ty);
        let fits = |pair: &&Pair| {
            let reals = !pair.is_weight_only() || types.0 == Some(Activation::Float32);
            reals && types.0.is_none_or(|t| t == pair.activation) && types.1.is_none_or(|t| t == pair.weight)
        };
        let said = Said {
            of: String::new(),
            rules: &[],
            types,
            activations: quantize.activations.clone(),
            weights: quantize.weights.clone(),
            pair: pairs.iter().find(fits).copied(),
            pairs,
            row: None,
        };
        self.codes(&said);
    }

    /// Finds errors in the combination of the rules that apply to a layer.
    fn layer(&mut self, id: NodeId, node: &Node, rules: &[usize]) {
        let (quantize, spec, term) = (self.quantize, self.spec, node.op.term());
        let types = self.settings.types(id);
        if types.is_plain {
            return;
        }
        let said = quantize.together(rules);
        let reals = types.own.0 == Some(Activation::Float32);
        let name = self.module.name(node.name);
        if said.run == Some(Run::Integer) && types.activation() == Some(Activation::Float32) {
            let message = format!("`{name}` is to run in integers, and to compute on activations of float32");
            let error = RuleError::unsupported(quantize.asks(rules, "run"), message);
            self.found
                .tell(error.help("leave `run` out, or give its activations a type of codes"));
        }
        let runs = spec.op_row(term).is_some_and(|(_, row)| !row.is_host());
        let alone = reals && types.own.1.is_some();
        if !runs && !alone {
            return;
        }
        let mut pairs: Vec<Pair> = spec.pairs_of(term).collect();
        // The host computes weight-only layers, even if the table has no row for them.
        let on_host = spec.weight_only_pairs(term).filter(|pair| !pairs.contains(pair));
        pairs.extend(on_host.collect::<Vec<Pair>>());
        let own = types.pair(spec, term);
        let row = own.and_then(|pair| match pair.codes() {
            Some(codes) => spec.row_for(term, codes.into()),
            None => spec.weight_only_row(term),
        });
        let symmetric = quantize.weights.symmetric.filter(|&symmetric| symmetric);
        let weights = match weighs(node) {
            true => Weights {
                symmetric: said.weights.symmetric.or(symmetric),
                ..said.weights
            },
            false => Weights::default(),
        };
        self.codes(&Said {
            of: format!(" for `{name}`"),
            rules,
            types: types.own,
            activations: said.activations,
            weights,
            pairs,
            pair: own.or_else(|| types.pair_on_host(spec, term)),
            row: row.map(|(_, row)| row),
        });
    }

    /// Refuses types, zero points, scales and granularities that the target does not support.
    fn codes(&mut self, said: &Said<'_>) {
        self.types(said);
        let (quantize, spec, of) = (self.quantize, self.spec, &said.of);
        let key = |side: Side, name: &str| quantize.asks(said.rules, &format!("{}.{name}", side.name()));
        let Some(pair) = said.pair else { return };
        let weight = pair.weight;
        if said.weights.symmetric == Some(true) && IntType::from(weight).min() == 0 {
            let message = format!("weights of {weight} with the zero point 0 hold no negative numbers{of}");
            let error = RuleError::unsupported(key(Side::Weights, "symmetric"), message);
            self.found.tell(error.help("leave it out, or write false"));
        }
        for (freedom, side) in freedom::freedoms(&said.activations, &said.weights) {
            if let Some(t) = side.of(pair).filter(|&t| !freedom.is_left(spec, side, t)) {
                let key = key(side, freedom.key());
                self.found.tell(freedom.denied(key, spec, (side, t), &said.pairs));
            }
        }
        let having = spec.weight_granularities(said.row, weight);
        // Blocks are checked in another place, because they also depend on the sizes of the layers.
        let per = said.weights.per.filter(|per| *per != WeightPer::Block);
        if let Some(per) = per.filter(|per| !having.contains(per)) {
            let message = format!(
                "the target `{}` has no scales by {per} of {weight} weights{of}",
                spec.id
            );
            let having: Vec<String> = having.iter().map(|per| format!("{:?}", per.to_string())).collect();
            let error = RuleError::unsupported(key(Side::Weights, "per"), message);
            self.found.tell(error.help(format!("it has {}", having.join(", "))));
        }
    }

    /// Refuses a type that is in none of the pairs, and a combination of types that is not a pair.
    fn types(&mut self, said: &Said<'_>) {
        let (quantize, id, of) = (self.quantize, &self.spec.id, &said.of);
        let key = |side: Side| quantize.asks(said.rules, &format!("{}.type", side.name()));
        let names = [said.types.0.map(Activation::name), said.types.1.map(Integer::name)];
        let lacking = said.lacking();
        for &side in &lacking {
            let name = names[side as usize].unwrap_or_default();
            let message = format!("the target `{id}` has no {name} {}{of}", side.name());
            let error = RuleError::unsupported(key(side), message);
            self.found.tell(error.help(those(&said.pairs)));
        }
        if let (Some(activation), Some(weight)) = said.types
            && lacking.is_empty()
            && !said.pairs.contains(&Pair { activation, weight })
        {
            let [first, second] = Side::BOTH.map(|side| (key(side), side));
            let (later, (earlier, side)) = match first.0 > second.0 {
                true => (first.0, second),
                false => (second.0, first),
            };
            let message = format!("the target `{id}` has no {activation} activations with {weight} weights{of}");
            let note = format!("the {} are those of `{earlier}`", side.name());
            let error = RuleError::unsupported(later, message);
            self.found.tell(error.note(note).help(those(&said.pairs)));
        }
    }

    /// Refuses observers that cannot make integer ranges for weights. If scales of weights are derived from scales of
    /// activations, refuses all observers except the minimum and maximum.
    fn weight_observers(&mut self) {
        let quantize = self.quantize;
        let shifts = self.spec.op.values().any(OpRow::leaves_a_shift);
        let rules = quantize.rule.iter().enumerate();
        let rules = rules.map(|(index, rule)| (Some(index), rule.weights.observer));
        for (rule, observer) in rules.chain([(None, quantize.weights.observer)]) {
            let Some(observer) = observer else { continue };
            let text = observer.refusal(Observed::Weights, CodeKind::Integers).or_else(|| {
                let text = "makes the scales of weights from those of activations: a shift holds every weight";
                (shifts && observer != Observer::MinMax).then(|| format!("the target `{}` {text}", self.spec.id))
            });
            let Some(text) = text else { continue };
            let error = RuleError::unsupported(place(rule, "weights.observer"), text);
            self.found.0.push(match shifts {
                true => error.help("leave it out, or write \"minmax\""),
                false => error,
            });
        }
    }
}

impl Said<'_> {
    /// Returns the sides whose chosen type is in none of the target's pairs (type of activations, type of weights). If
    /// the layer is computed in integers, weight-only pairs do not count, unless all pairs are weight-only.
    fn lacking(&self) -> Vec<Side> {
        let ((activation, weight), pairs) = (self.types, &self.pairs);
        let reals = activation == Some(Activation::Float32) || pairs.iter().all(Pair::is_weight_only);
        let has = |side: &Side| match side {
            Side::Activations => activation.is_none_or(|t| pairs.iter().any(|pair| pair.activation == t)),
            Side::Weights => weight.is_none_or(|t| {
                let mut having = pairs.iter().filter(|pair| pair.weight == t);
                having.any(|pair| reals || !pair.is_weight_only())
            }),
        };
        Side::BOTH.into_iter().filter(|side| !has(side)).collect()
    }
}

/// A help text that lists the given pairs.
fn those(pairs: &[Pair]) -> String {
    let pairs: Vec<String> = pairs.iter().map(Pair::to_string).collect();
    format!("activations with weights that it has: {}", pairs.join(", "))
}
