//! Rules of the configuration, held against what the target's table and the layers have.
//!
//! What `[quantize]` says holds as far as the table has it for an op; a rule is held to its word. Of several rules for one
//! layer, what they say together is looked at: that is what the layer gets.

use std::collections::BTreeSet;

use strait_core::{Module, Node, NodeId};
use strait_quantize::Settings;
use strait_requantize::IntType;
use strait_target::{
    TargetSpec,
    spec::{Activation, Codes, Integer, Observed, Observer, OpRow, Pair, WeightGrid, WeightPer},
};

use crate::{
    config::{
        KeyPath, Loaded,
        types::{Activations, Run, Weights},
    },
    diagnostic::{Diagnostic, Diagnostics},
    failure::codes,
};

use super::{
    blocks,
    selection::{Selection, weighs},
};

mod edges;
mod freedom;
mod unused;

/// Refuses rules for what the target does not have, or that nothing has any use for.
///
/// # Errors
/// Each of them, with what there is.
pub(super) fn check(
    module: &Module,
    loaded: &Loaded,
    selection: &Selection,
    spec: &TargetSpec,
    settings: &Settings,
) -> Result<(), Diagnostics> {
    let mut check = Check {
        module,
        loaded,
        selection,
        spec,
        settings,
        findings: Findings::default(),
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
    if check.findings.list.is_empty() {
        blocks::check(module, loaded, selection, spec, settings)?;
        check.unused();
    }
    match check.findings.list {
        none if none.is_empty() => Ok(()),
        findings => Err(Diagnostics(findings)),
    }
}

/// Findings, one for each key.
#[derive(Default)]
struct Findings {
    told: BTreeSet<KeyPath>,
    list: Vec<Diagnostic>,
}

impl Findings {
    fn tell(&mut self, path: KeyPath, finding: impl FnOnce(&KeyPath) -> Diagnostic) {
        if !self.told.contains(&path) {
            self.list.push(finding(&path));
            self.told.insert(path);
        }
    }
}

/// Material of the checks, and what they find.
struct Check<'a> {
    module: &'a Module,
    loaded: &'a Loaded,
    selection: &'a Selection,
    spec: &'a TargetSpec,
    settings: &'a Settings,
    findings: Findings,
}

/// One of the two tables of the configuration that ask for codes, in the order of a pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Activations,
    Weights,
}

impl Side {
    const BOTH: [Side; 2] = [Side::Activations, Side::Weights];

    /// The key of the table, which is also what people call it.
    fn name(self) -> &'static str {
        match self {
            Side::Activations => "activations",
            Side::Weights => "weights",
        }
    }

    /// The type in a pair; none for real numbers.
    fn of(self, pair: Pair) -> Option<Integer> {
        match self {
            Side::Activations => pair.codes(),
            Side::Weights => Some(pair.weight),
        }
    }
}

/// Codes of one layer, or of all, as rules say them.
struct Said<'a> {
    /// Of a layer: ` for` its name.
    of: String,
    /// The rules that ask; none of all layers.
    rules: &'a [usize],
    types: (Option<Activation>, Option<Integer>),
    activations: Activations,
    weights: Weights,
    /// The pairs that there are.
    pairs: Vec<Pair>,
    /// The pair that is computed on, and its row.
    pair: Option<Pair>,
    row: Option<&'a OpRow>,
}

impl Check<'_> {
    fn error(&self, path: &KeyPath, message: String) -> Diagnostic {
        self.loaded.error(codes::UNSUPPORTED, path, message, "")
    }

    /// Findings in `[quantize]`, which is for all layers.
    fn everywhere(&mut self) {
        let quantize = &self.loaded.config.quantize;
        let pairs = self.spec.types.pairs.clone();
        let types = (quantize.activations.ty, quantize.weights.codes);
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

    /// Findings in the rules for a layer, taken together.
    fn layer(&mut self, id: NodeId, node: &Node, rules: &[usize]) {
        let (quantize, spec, term) = (&self.loaded.config.quantize, self.spec, node.op.term());
        let types = self.settings.types(id);
        if types.is_plain {
            return;
        }
        let settings = quantize.settings(rules);
        let reals = types.own.0 == Some(Activation::Float32);
        let name = self.module.name(node.name);
        if settings.run == Some(Run::Integer) && types.activation() == Some(Activation::Float32) {
            let path = self.loaded.asks(rules, &["run"]);
            let loaded = self.loaded;
            self.findings.tell(path, |path| {
                let message = format!("`{name}` is to run in integers, and to compute on activations of float32");
                let finding = loaded.error(codes::UNSUPPORTED, path, message, "");
                finding.help("leave `run` out, or give its activations a type of codes")
            });
        }
        let runs = spec.op_row(term).is_some_and(|(_, row)| !row.is_host());
        let alone = reals && types.own.1.is_some();
        if !runs && !alone {
            return;
        }
        let mut pairs: Vec<Pair> = spec.pairs_of(term).collect();
        // The host computes these, whether a row takes them or not.
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
                symmetric: settings.weights.symmetric.or(symmetric),
                ..settings.weights
            },
            false => Weights::default(),
        };
        self.codes(&Said {
            of: format!(" for `{name}`"),
            rules,
            types: types.own,
            activations: settings.activations,
            weights,
            pairs,
            pair: own.or_else(|| types.pair_on_host(spec, term)),
            row: row.map(|(_, row)| row),
        });
    }

    /// Findings where types, zero points or scales are none that there are.
    fn codes(&mut self, said: &Said<'_>) {
        let (loaded, spec, of) = (self.loaded, self.spec, &said.of);
        let id = &spec.id;
        let path = |side: Side, key: &str| loaded.asks(said.rules, &[side.name(), key]);
        let names = [said.types.0.map(Activation::name), said.types.1.map(Integer::name)];
        let lacking = said.lacking();
        for &side in &lacking {
            let name = names[side as usize].unwrap_or_default();
            let message = format!("the target `{id}` has no {name} {}{of}", side.name());
            self.findings.tell(path(side, "type"), |path| {
                let finding = loaded.error(codes::UNSUPPORTED, path, message, "");
                finding.help(those(&said.pairs))
            });
        }
        if let (Some(activation), Some(weight)) = said.types
            && lacking.is_empty()
            && !said.pairs.contains(&Pair { activation, weight })
        {
            let [first, second] = Side::BOTH.map(|side| (path(side, "type"), side));
            let (later, (earlier, side)) = match first.0 > second.0 {
                true => (first.0, second),
                false => (second.0, first),
            };
            self.findings.tell(later, |path| {
                let message = format!("the target `{id}` has no {activation} activations with {weight} weights{of}");
                let finding = loaded.error(codes::UNSUPPORTED, path, message, "");
                let note = format!("the {} are those of `{earlier}`", side.name());
                finding.note(note).help(those(&said.pairs))
            });
        }
        let Some(pair) = said.pair else { return };
        if said.weights.symmetric == Some(true) && IntType::from(pair.weight).min() == 0 {
            self.findings.tell(path(Side::Weights, "symmetric"), |path| {
                let weight = pair.weight;
                let message = format!("weights of {weight} with the zero point 0 hold no negative numbers{of}");
                let finding = loaded.error(codes::UNSUPPORTED, path, message, "");
                finding.help("leave it out, or write false")
            });
        }
        for (freedom, side) in freedom::freedoms(&said.activations, &said.weights) {
            if let Some(t) = side.of(pair).filter(|&t| !freedom.is_left(spec, side, t)) {
                self.findings.tell(path(side, freedom.key()), |path| {
                    freedom.denied(loaded, path, spec, side, t, &said.pairs)
                });
            }
        }
        let having = spec.weight_granularities(said.row, pair.weight);
        // What is said of blocks depends on the layers' sizes, too.
        let per = said.weights.per.filter(|per| *per != WeightPer::Block);
        if let Some(per) = per.filter(|per| !having.contains(per)) {
            self.findings.tell(path(Side::Weights, "per"), |path| {
                let message = format!(
                    "the target `{id}` has no scales by {per} of {} weights{of}",
                    pair.weight
                );
                let having: Vec<String> = having.iter().map(|per| format!("{:?}", per.to_string())).collect();
                let finding = loaded.error(codes::UNSUPPORTED, path, message, "");
                finding.help(format!("it has {}", having.join(", ")))
            });
        }
    }

    /// Refuses observers that make no ranges of integers for weights, and all but the extremes where scales of weights follow
    /// from those of activations.
    fn weight_observers(&mut self) {
        let quantize = &self.loaded.config.quantize;
        let shifts = (self.spec.op.values()).any(|row| row.weight_grid.is_some_and(WeightGrid::leaves_a_shift));
        let rules = quantize.rule.iter().enumerate();
        let rules = rules.map(|(index, rule)| (Some(index), rule.weights.observer));
        for (rule, observer) in rules.chain([(None, quantize.weights.observer)]) {
            let Some(observer) = observer else { continue };
            let text = observer.refusal(Observed::Weights, Codes::Integers).or_else(|| {
                let text = "makes the scales of weights from those of activations: a shift holds every weight";
                (shifts && observer != Observer::MinMax).then(|| format!("the target `{}` {text}", self.spec.id))
            });
            let Some(text) = text else { continue };
            let path = self.loaded.asks(rule.as_slice(), &["weights", "observer"]);
            let finding = self.error(&path, text);
            self.findings.list.push(match shifts {
                true => finding.help("leave it out, or write \"minmax\""),
                false => finding,
            });
        }
    }
}

impl Said<'_> {
    /// The sides whose type none of the pairs has. A type of weights that are to be read by codes is that of a pair with
    /// codes, if there are any.
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

/// The pairs that there are, as a help.
fn those(pairs: &[Pair]) -> String {
    let pairs: Vec<String> = pairs.iter().map(Pair::to_string).collect();
    format!("activations with weights that it has: {}", pairs.join(", "))
}
