//! What lies behind the outputs at which a model is cut. It stays in float: a graph of its own, which runs behind the
//! integer model and reads the integer model's outputs as real numbers.
//!
//! ```text
//! image ─▶ integer model ─▶ dequantized outputs ─▶ tail ─▶ outputs of the whole model
//! ```

use std::collections::{BTreeMap, BTreeSet};

use strait_core::{Def, Graph, Module, NodeId, ValueId};
use strait_execute::{Plan, PlanOptions, cost};
use strait_import::{Decoded, ReadError, ReadOptions};

use crate::{
    config::KeyPath,
    diagnostic::{Diagnostic, Diagnostics},
    failure::codes,
    limits::Demand,
    session::Session,
    stop::Stop,
};

/// Name of the tail's file in an artifact.
pub(crate) const TAIL_FILE: &str = "tail.onnx";

/// A message lists at most this many names.
const MOST_NAMES: usize = 5;

/// The part of a model behind the outputs at which it is cut.
#[derive(Clone, Debug)]
pub(crate) struct Tail {
    /// The module. The names of its inputs are those of the outputs at which the model is cut.
    pub(crate) module: Module,
}

/// A tail that is ready to run.
pub(crate) struct Behind {
    pub(crate) plan: Plan,
    /// For each input of the tail, the position of the output that it reads.
    pub(crate) reads: Vec<usize>,
    pub(crate) demand: Demand,
}

/// Why there is no tail.
#[derive(Debug)]
pub(crate) enum NoTail {
    /// The model cannot be read.
    Read(ReadError),
    /// The tail cannot be made.
    Found(Diagnostics),
}

impl From<ReadError> for NoTail {
    fn from(error: ReadError) -> NoTail {
        NoTail::Read(error)
    }
}

impl Tail {
    /// Reads the part of `model` behind the outputs of `head`, which was read with the same options. `None` if the model
    /// ends at these outputs.
    ///
    /// # Errors
    /// The tail reads a value from before the cut that is no output of the head, or it cannot be written as ONNX.
    pub(crate) fn read(model: &dyn Decoded, options: &ReadOptions, head: &Module) -> Result<Option<Tail>, NoTail> {
        let (whole, _) = model.read_single(&ReadOptions {
            outputs: Vec::new(),
            ..options.clone()
        })?;
        let names = |module: &Module| -> Vec<String> {
            let graph = module.main();
            let values = graph.outputs().iter().filter_map(|&id| graph.value(id));
            values.map(|value| module.name(value.name).to_owned()).collect()
        };
        let cuts = names(head);
        let own: Vec<String> = names(&whole).into_iter().filter(|name| !cuts.contains(name)).collect();
        if own.is_empty() {
            return Ok(None);
        }
        let graph = whole.main();
        let by_name: BTreeMap<&str, ValueId> = graph.values().map(|(id, value)| (whole.name(value.name), id)).collect();
        let find = |name: &String| by_name.get(name.as_str()).copied();
        let behind = behind(
            graph,
            own.iter().filter_map(find),
            &cuts.iter().filter_map(find).collect(),
        );
        if !behind.missing.is_empty() {
            return Err(NoTail::Found(missing(&whole, &behind.missing)));
        }
        let is_read = |name: &&String| find(name).is_some_and(|id| behind.reads.contains(&id));
        let (module, _) = model.read_single(&ReadOptions {
            inputs: cuts.iter().filter(is_read).cloned().collect(),
            outputs: own,
            ..options.clone()
        })?;
        if let Some((node, why)) = strait_onnx::left_out(&module) {
            let message = format!("what lies behind the cut cannot be written as ONNX: in `{node}`, {why}");
            let finding = Diagnostic::error(codes::CUT, message).about(key());
            return Err(NoTail::Found(
                finding.help("say `tail = \"drop\"`, or cut behind this layer").into(),
            ));
        }
        Ok(Some(Tail { module }))
    }

    /// Reads a tail from the bytes of its file.
    ///
    /// # Errors
    /// The bytes are no such file.
    pub(crate) fn decode(bytes: bytes::Bytes) -> Result<Tail, ReadError> {
        let decoded = strait_import::decode(&[&strait_onnx::Onnx], bytes, None)?;
        let (module, _) = decoded.read_single(&ReadOptions::default())?;
        Ok(Tail { module })
    }

    /// Prepares the tail to run behind a model with these outputs.
    ///
    /// # Errors
    /// If the tail cannot be run, needs more than the limits allow, or reads something else than the outputs.
    pub(crate) fn behind(&self, outputs: &[String], session: &Session<'_>) -> Result<Behind, Stop> {
        let module = &self.module;
        let graph = module.main();
        let reads = graph.inputs().iter().map(|&id| {
            let name = module.name(graph.value(id)?.name);
            outputs.iter().position(|output| output == name)
        });
        let reads = reads.collect::<Option<Vec<usize>>>().ok_or_else(|| {
            let message = format!("{TAIL_FILE} reads other tensors than the outputs of the model in front of it");
            Stop::from(Diagnostic::error(codes::ARTIFACT, message))
        })?;
        let options = PlanOptions {
            join: true,
            ..session.means().options
        };
        let demand = Demand::new(cost(module, module.main)?);
        session.admit(&demand, 1)?;
        Ok(Behind {
            plan: Plan::new(module, module.main, &options)?,
            reads,
            demand,
        })
    }

    /// The names of the tail's inputs and outputs, and the number of its nodes.
    pub(crate) fn facts(&self) -> ([Vec<String>; 2], usize) {
        let graph = self.module.main();
        let names = [graph.inputs(), graph.outputs()].map(|ids| {
            let values = ids.iter().filter_map(|&id| graph.value(id));
            values.map(|value| self.module.name(value.name).to_owned()).collect()
        });
        (names, graph.nodes().count())
    }
}

/// What the outputs of a model are computed from, behind a cut.
struct Found {
    /// The values at the cut that are read.
    reads: BTreeSet<ValueId>,
    /// Values from before the cut that are read although the model is not cut there.
    missing: BTreeSet<ValueId>,
}

/// Goes from the outputs `from` back to the values in `cuts`.
fn behind(graph: &Graph, from: impl Iterator<Item = ValueId>, cuts: &BTreeSet<ValueId>) -> Found {
    let before = before(graph, cuts);
    let mut found = Found {
        reads: BTreeSet::new(),
        missing: BTreeSet::new(),
    };
    let (mut open, mut seen): (Vec<ValueId>, BTreeSet<ValueId>) = (from.collect(), BTreeSet::new());
    while let Some(value) = open.pop() {
        if !seen.insert(value) {
            continue;
        }
        if cuts.contains(&value) {
            found.reads.insert(value);
            continue;
        }
        match graph.producer(value) {
            Some((id, _)) if before.contains(&id) => {
                found.missing.insert(value);
            }
            Some((_, node)) => open.extend(node.inputs.iter().flatten()),
            None if graph
                .value(value)
                .is_some_and(|value| matches!(value.def, Def::Input(_))) =>
            {
                found.missing.insert(value);
            }
            None => {}
        }
    }
    found
}

/// The nodes that the values of a cut are computed by, without those that only compute with constants.
fn before(graph: &Graph, cuts: &BTreeSet<ValueId>) -> BTreeSet<NodeId> {
    let mut depends: BTreeSet<NodeId> = BTreeSet::new();
    for (id, node) in graph.nodes() {
        let varies = |&value: &ValueId| match graph.producer(value) {
            Some((producer, _)) => depends.contains(&producer),
            None => graph.data_of(value).is_none(),
        };
        if node.inputs.iter().flatten().any(varies) {
            depends.insert(id);
        }
    }
    let (mut open, mut seen): (Vec<ValueId>, BTreeSet<NodeId>) = (cuts.iter().copied().collect(), BTreeSet::new());
    while let Some(value) = open.pop() {
        if let Some((id, node)) = graph.producer(value).filter(|(id, _)| depends.contains(id))
            && seen.insert(id)
        {
            open.extend(node.inputs.iter().flatten());
        }
    }
    seen
}

fn key() -> KeyPath {
    KeyPath::of(&["model", "tail"])
}

/// The error for values from before the cut that are no outputs.
fn missing(module: &Module, values: &BTreeSet<ValueId>) -> Diagnostics {
    let graph = module.main();
    let named = |inputs: bool| -> Vec<&str> {
        let of = values.iter().filter_map(|&id| graph.value(id));
        let of = of.filter(|value| matches!(value.def, Def::Input(_)) == inputs);
        of.map(|value| module.name(value.name)).take(MOST_NAMES).collect()
    };
    let [tensors, inputs] = [named(false), named(true)];
    let all: Vec<&str> = tensors.iter().chain(&inputs).copied().collect();
    let message = format!(
        "what lies behind the cut also reads `{}` from before it, which is no output",
        all.join("`, `")
    );
    let finding = Diagnostic::error(codes::CUT, message).about(key());
    let help = match tensors.is_empty() {
        false => format!("add to `model.outputs`: \"{}\"", tensors.join("\", \"")),
        true => {
            "the tail cannot read an input of the model: cut behind the layer that reads it, or say `tail = \"drop\"`"
                .to_owned()
        }
    };
    finding.help(help).into()
}
