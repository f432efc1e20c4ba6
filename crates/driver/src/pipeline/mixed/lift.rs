//! What can be done with a unit, as a rule of a configuration.

use strait_compile::types::Unit;
use strait_core::{Module, NodeId, Placement};
use strait_requantize::IntType;
use strait_target::{TargetSpec, spec::Integer};

/// The width of activations that lose little.
const WIDE: u8 = 16;

/// A change of the layers of a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lift {
    /// Their activations have this type.
    Wide(Integer),
    /// They run in float on the host.
    Float,
}

impl Lift {
    /// Activations of 16 bits, if the target has them.
    pub(super) fn wide(spec: &TargetSpec) -> Option<Lift> {
        let mut codes = spec.types.pairs.iter().filter_map(|pair| pair.codes());
        let wide = codes.find(|&codes| IntType::from(codes).bits() == WIDE);
        wide.map(Lift::Wide)
    }

    /// True if a node can be changed.
    pub(super) fn fits(self, annotated: &Module, spec: &TargetSpec, id: NodeId) -> bool {
        let node = annotated.main().node(id);
        let node = node.filter(|node| node.place == Placement::Accelerator);
        node.is_some_and(|node| match self {
            Lift::Wide(wide) => spec.pairs_of(node.op.term()).any(|pair| pair.codes() == Some(wide)),
            Lift::Float => true,
        })
    }

    fn words(self) -> String {
        match self {
            Lift::Wide(wide) => format!("activations.type = \"{wide}\""),
            Lift::Float => "run = \"float\"".to_owned(),
        }
    }

    /// The rule for units.
    pub(super) fn rule(self, (module, spec): (&Module, &TargetSpec), units: &[&Unit], reason: &str) -> String {
        let graph = module.main();
        let mut layers: Vec<&str> = Vec::new();
        for &id in units.iter().flat_map(|unit| &unit.nodes) {
            if let Some(node) = graph.node(id).filter(|_| self.fits(module, spec, id)) {
                let name = module.name(node.sources.first().copied().unwrap_or(node.name));
                if !layers.contains(&name) {
                    layers.push(name);
                }
            }
        }
        let unread = units.iter().flat_map(|unit| &unit.unread);
        let tensors = unread.filter_map(|&value| Some(module.name(graph.value(value)?.name)));
        let tensors: Vec<&str> = match self {
            Lift::Wide(_) => tensors.collect(),
            Lift::Float => Vec::new(),
        };
        written(spec, (&layers, &tensors), reason, &self.words())
    }
}

/// The text of a rule for layers and tensors.
pub(super) fn written(spec: &TargetSpec, (layers, tensors): (&[&str], &[&str]), reason: &str, words: &str) -> String {
    let mut text = format!(
        "[[quantize.rule]]\nreason = {}\ntarget = [{}]\n",
        toml::Value::from(reason),
        toml::Value::from(spec.id.as_str())
    );
    for (key, names) in [("layers", layers), ("tensors", tensors)] {
        if !names.is_empty() {
            text += &format!("{key} = {}\n", list(names));
        }
    }
    text + words + "\n"
}

/// The longest line of a list.
const WIDTH: usize = 110;

/// A list of names, on several lines if it is long.
fn list(names: &[&str]) -> String {
    let names: Vec<String> = names.iter().map(|&name| toml::Value::from(name).to_string()).collect();
    let short = format!("[{}]", names.join(", "));
    if short.len() <= WIDTH {
        return short;
    }
    let mut lines = vec![String::new()];
    for name in names {
        match lines.last_mut() {
            Some(line) if line.is_empty() || line.len() + name.len() + 6 <= WIDTH => {
                *line += &format!(" {name},");
            }
            _ => lines.push(format!(" {name},")),
        }
    }
    format!("[\n {}\n]", lines.join("\n "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sanity::parsed;

    #[test]
    fn long_lists_have_several_lines_and_say_the_same() {
        let names: Vec<String> = (0..40).map(|at| format!("/a/\"{at}\"/Conv")).collect();
        for count in [1, 3, 40] {
            let names: Vec<&str> = names.iter().take(count).map(String::as_str).collect();
            let text = list(&names);
            assert!(text.lines().all(|line| line.len() <= WIDTH), "{text}");
            let rules = parsed(&format!("[[quantize.rule]]\nlayers = {text}\nrun = 'float'\n"));
            let layers: Vec<String> = rules.unwrap_or_default()[0]
                .layers
                .iter()
                .map(|name| name.as_str().to_owned())
                .collect();
            assert_eq!(layers, names);
        }
    }
}
