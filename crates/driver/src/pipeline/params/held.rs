//! Checks that tensors have the parameters that a file gives them.

use std::collections::BTreeMap;

use strait_compile::GivenGrid;
use strait_core::{
    ConfigId, Elem, Graph, Module, NodeId, Placement, Port, QuantConfig, QuantParams, Scheme, State, Use, ValueId,
};
use strait_quantize::{Settings, annotate::Exact};
use strait_requantize::IntType;
use strait_target::{
    TargetSpec,
    spec::{Activation, Integer},
};

use crate::{
    config::{GivenParams, Params, Says},
    diagnostic::{Diagnostic, Diagnostics},
    failure::codes,
    table,
};

use super::{Names, is_weights};

/// A remark lists at most this many names.
const MOST: usize = 3;

/// Tensors of the file that have other parameters than those given for a good reason, by the reason.
#[derive(Default)]
struct Others<'a> {
    gone: Vec<&'a str>,
    real: Vec<&'a str>,
    shared: Vec<&'a str>,
    ruled: Vec<&'a str>,
}

/// Checks that each tensor in the file has exactly the parameters that are given for it. Returns remarks on the tensors that
/// have no grid of their own.
///
/// # Errors
/// A tensor has other parameters: the target does not have the given ones. Each error has the line of the entry, and says
/// what would be right.
pub(in crate::pipeline) fn held(
    params: &Params,
    annotated: &Module,
    spec: &TargetSpec,
    (settings, weights): (&Settings, &[GivenGrid]),
) -> Result<Vec<Diagnostic>, Diagnostics> {
    let names = Names::of(annotated);
    let (mut findings, mut others) = (Vec::new(), Others::default());
    let by_port: BTreeMap<(NodeId, Port), &GivenGrid> =
        weights.iter().map(|grid| ((grid.node, grid.port), grid)).collect();
    for given in &params.tensors {
        let Says::Grid(elem, own) = &given.says else { continue };
        let Some((value, uses)) = names.place(annotated, given) else {
            others.gone.push(&given.name);
            continue;
        };
        let exact = Exact {
            elem: *elem,
            params: own.clone(),
        };
        let checked = Checked {
            module: annotated,
            graph: annotated.main(),
            spec,
            given,
            value,
            uses,
            exact,
        };
        match checked.state(settings, &by_port) {
            Held::Exact => {}
            Held::Real => others.real.push(&given.name),
            Held::Shared => others.shared.push(&given.name),
            Held::Ruled => others.ruled.push(&given.name),
            Held::Wrong { key, message, help } => {
                findings.push(params.error(codes::PARAMS, given, key, message).help(help));
            }
        }
    }
    Diagnostics(findings).or(others.remarks())
}

impl Others<'_> {
    fn remarks(self) -> Vec<Diagnostic> {
        let all = [
            (self.gone, "folded into others"),
            (self.real, "real numbers for this target"),
            (self.shared, "stored on the grid of a tensor with the same codes"),
            (self.ruled, "given other parameters by a rule, which wins"),
        ];
        let remark = |(names, what): (Vec<&str>, &str)| {
            let count = table::count(names.len(), "tensor");
            let verb = if names.len() == 1 { "is" } else { "are" };
            let shown: Vec<String> = names.iter().take(MOST).map(|name| format!("`{name}`")).collect();
            let more = match names.len().saturating_sub(MOST) {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            (!names.is_empty()).then(|| {
                let text = format!(
                    "{count} of the file of parameters {verb} {what}: {}{more}",
                    shown.join(", ")
                );
                Diagnostic::remark(codes::PARAMS, text)
            })
        };
        all.into_iter().filter_map(remark).collect()
    }
}

/// What has become of an entry.
enum Held {
    /// The tensor has the parameters.
    Exact,
    /// The tensor has no codes.
    Real,
    /// The tensor shares the grid of another tensor.
    Shared,
    /// A rule wins.
    Ruled,
    /// The target does not have the parameters.
    Wrong {
        key: &'static str,
        message: String,
        help: String,
    },
}

struct Checked<'a> {
    module: &'a Module,
    graph: &'a Graph,
    spec: &'a TargetSpec,
    given: &'a GivenParams,
    value: ValueId,
    uses: Vec<Use>,
    exact: Exact,
}

impl Checked<'_> {
    fn state(&self, settings: &Settings, weights: &BTreeMap<(NodeId, Port), &GivenGrid>) -> Held {
        let mut ports: Vec<(NodeId, Port)> = (self.uses.iter())
            .map(|at| (at.node, Port::Operand(at.operand.into())))
            .collect();
        if self.given.reader.is_none() {
            let left = self.graph.left(self.value).and_then(|id| self.graph.quant.config(id));
            ports.splice(0..0, left.map(|config| (config.node, config.port)));
        }
        let ruled = |own: Option<bool>| own.unwrap_or(false);
        if self.given.reader.is_none() && ruled(settings.values.get(&self.value).map(|own| own.range.is_some())) {
            return Held::Ruled;
        }
        let configs = ports.iter().filter_map(|&(node, port)| self.graph.quant.id(node, port));
        let found: Vec<(ConfigId, &QuantConfig)> = configs
            .filter_map(|id| Some((id, self.graph.quant.config(id)?)))
            .filter(|(id, config)| self.graph.quant.state(*id) != Some(State::Float) && !config.scheme.is_of_sums())
            .collect();
        if found.is_empty() {
            return self.on_host(&ports, weights);
        }
        let (mut shared, mut ruled) = (false, false);
        for (id, config) in found {
            let value = self.graph.value(self.value);
            let shape = value.map(|value| value.ty.shape.clone()).unwrap_or_default();
            let wanted = self.exact.on(config.scheme, &shape);
            let has = self.graph.quant.params(id);
            if wanted.is_ok() && has.as_deref().map(QuantParams::bare) == wanted.as_ref().ok().cloned() {
                return Held::Exact;
            }
            let root = self.graph.quant.root(id);
            let own = self.graph.quant.config(root);
            let of = own.and_then(|root| self.graph.value_at(root.node, root.port));
            let given_weights = weights.contains_key(&(config.node, config.port));
            if of != Some(self.value) || self.graph.quant.derivation(root).is_some() {
                shared = true;
                continue;
            }
            if config.port != Port::Result(0) && self.is_weights(config) && !given_weights {
                ruled = true;
                continue;
            }
            return self.wrong(config, wanted.err(), has.as_deref());
        }
        match (shared, ruled) {
            (_, true) => Held::Ruled,
            _ => Held::Shared,
        }
    }

    fn is_weights(&self, config: &QuantConfig) -> bool {
        let mut uses = self.uses.iter();
        uses.any(|&at| at.node == config.node && is_weights(self.module, self.value, at))
    }

    /// No port has codes. That is an error only if a node is on the host because of this entry.
    fn on_host(&self, ports: &[(NodeId, Port)], weights: &BTreeMap<(NodeId, Port), &GivenGrid>) -> Held {
        let refused = ports
            .iter()
            .filter(|place| weights.contains_key(place))
            .find_map(|(id, _)| {
                let node = self.graph.node(*id)?;
                match &node.place {
                    Placement::Host(why) if why.code == strait_core::ReasonCode::GivenGrid => {
                        Some((self.module.name(node.name).to_owned(), why.text.clone()))
                    }
                    _ => None,
                }
            });
        match refused {
            None => Held::Real,
            Some((layer, why)) => Held::Wrong {
                key: "name",
                message: format!(
                    "`{layer}` cannot have these parameters for `{}`: {why}",
                    self.given.name
                ),
                help: self.hint(&why),
            },
        }
    }

    fn hint(&self, why: &str) -> String {
        let id = &self.spec.id;
        match () {
            () if why.contains("zero point") => {
                format!("weights of `{id}` are symmetric here: set `zero_point = 0` and the scale to max |w| / q_max")
            }
            () => format!("leave the entry out, and `{id}` gets parameters that it has"),
        }
    }

    /// The error for parameters that the tensor does not have.
    fn wrong(&self, config: &QuantConfig, misfit: Option<String>, has: Option<&QuantParams>) -> Held {
        let (scheme, name, id) = (config.scheme, &self.given.name, &self.spec.id);
        let own = has.and_then(QuantParams::as_tensor);
        let instead = own.map_or_else(String::new, |(scale, zero)| {
            format!("from the samples it would be scale {scale} and zero point {zero}")
        });
        let Some(misfit) = misfit else {
            let message =
                format!("`{id}` cannot compute with these parameters of `{name}`, it would need coarser ones");
            return Held::Wrong {
                key: "scale",
                message,
                help: match own {
                    Some((scale, zero)) => format!("scale {scale} and zero point {zero} can be computed"),
                    None => "leave the entry out".to_owned(),
                },
            };
        };
        let bits = scheme.elem().map_or(0, Elem::bits);
        if scheme.elem().map(Elem::bits) != Some(self.exact.elem.bits()) {
            let wanted = self.exact.elem.bits();
            let message = match self.has_bits(config.node, wanted) {
                true => format!("`{name}` has codes of {bits} bits here, and {wanted} are given"),
                false => format!("the target `{id}` has no codes of {wanted} bits for `{name}`, it has {bits}"),
            };
            let help = match self.has_bits(config.node, wanted) {
                true => format!(
                    "a rule gives it the type: `tensors = [\"{name}\"]`, `activations = {{ type = \"int{wanted}\" }}`"
                ),
                false => format!("set `bits = {bits}` with a scale for {bits} bits; {instead}"),
            };
            return Held::Wrong {
                key: "bits",
                message,
                help,
            };
        }
        let (key, help) = match misfit.as_str() {
            text if text.contains("power of two") => {
                let scale = self.exact.params.scale.values().first().copied().unwrap_or(1.0);
                (
                    "scale",
                    format!("the next power of two is {}", scale.log2().ceil().exp2()),
                )
            }
            text if text.contains("zero point") => {
                let scale = symmetric(&self.exact, scheme);
                (
                    "zero_point",
                    format!("set `zero_point = 0`; the scale {scale} then covers the same numbers"),
                )
            }
            _ => ("scale", instead),
        };
        Held::Wrong {
            key,
            message: format!("the grid of `{name}` on `{id}` is {scheme}, and the given one {misfit}"),
            help,
        }
    }

    /// True if the target has a row with codes of this width for a node.
    fn has_bits(&self, id: NodeId, bits: u8) -> bool {
        let Some(node) = self.graph.node(id) else { return false };
        let types = Integer::ALL
            .iter()
            .filter(|&&ty| u32::from(IntType::from(ty).bits()) == u32::from(bits));
        let term = node.op.term();
        let mut types = types.copied();
        types.any(|ty| self.spec.row_for(term, Activation::from(ty)).is_some())
    }
}

/// The scale of a symmetric grid of this scheme that covers the numbers of the given one.
fn symmetric(exact: &Exact, scheme: Scheme) -> f32 {
    let (Some((scale, zero)), Some((least, most)), Some([_, last])) =
        (exact.params.as_tensor(), exact.elem.integers(), scheme.range())
    else {
        return 0.0;
    };
    let reach = |code: i64| (code - i64::from(zero)).unsigned_abs();
    scale * reach(least).max(reach(most)) as f32 / last as f32
}
