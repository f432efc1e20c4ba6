//! Finds out which values of a float graph can be divided by a factor for each channel, and which constants take up these
//! factors.
//!
//! Every value gets a label, which says for each of its channels to which class it belongs. All channels of a class have the
//! same factor. A layer with constant weights takes up the factors of what it reads in its weights, and its result has classes
//! of its own. A homogeneous function, f(x/s) = f(x)/s for s > 0, passes its operand's classes on. Any other node needs its
//! operands as they are, so their factors are 1.

use super::classes::Classes;
use super::label::Label;
use std::collections::{BTreeMap, BTreeSet};
use strait_core::{DataId, Def, Elem, Graph, Module, Node, NodeId, Op, Term, ValueId, op::MatMul, shape::axis_of};

/// A constant that takes up factors.
#[derive(Clone, Debug)]
pub(crate) struct Effect {
    pub(crate) node: NodeId,
    pub(crate) operand: usize,
    pub(crate) data: DataId,
    /// The classes of the constant's elements.
    pub(crate) label: Label,
    /// True if elements are divided by the factors, because the node makes a value that is divided by them. False if they
    /// are multiplied, because the node reads such a value.
    pub(crate) divides: bool,
}

/// Where a node is put into the graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cut {
    /// Between a value and the layers that read it: a multiplication divides by the factors.
    Before(ValueId),
    /// Beside the normalization that makes a value: a second normalization with a scale and a bias of its own makes what the
    /// layers read, divided by the factors. All other readers read the value itself.
    Beside(ValueId),
    /// Between a layer and all readers of its result: a multiplication gives the result its own size again.
    Behind(ValueId),
}

impl Cut {
    /// The value at which the node is put in.
    pub fn value(self) -> ValueId {
        match self {
            Cut::Before(value) | Cut::Beside(value) | Cut::Behind(value) => value,
        }
    }
}

/// What is known about the factors of a graph.
#[derive(Clone, Debug, Default)]
pub(crate) struct Walk {
    pub(crate) classes: Classes,
    pub(crate) effects: Vec<Effect>,
    /// The labels of values that can be divided by factors.
    pub(crate) labels: BTreeMap<ValueId, Label>,
    /// The labels of the multiplications that are put in.
    pub(crate) cuts: BTreeMap<Cut, Label>,
    /// The layers with constant weights that can take up factors, and what each of them reads.
    pub(crate) layers: BTreeMap<NodeId, ValueId>,
    /// The other layers with weights, each with the reason.
    pub(crate) left: BTreeMap<NodeId, &'static str>,
}

/// How often each constant is read, in all graphs.
type Shared = BTreeMap<DataId, usize>;

struct Walker<'a> {
    module: &'a Module,
    graph: &'a Graph,
    shared: Shared,
    wanted: &'a BTreeSet<Cut>,
    found: Walk,
}

impl Walk {
    /// Walks over the main graph, in which multiplications would be put in at the `cuts`.
    pub(crate) fn new(module: &Module, cuts: &BTreeSet<Cut>) -> Walk {
        let graph = module.main();
        let mut shared = Shared::new();
        for graph in &module.graphs {
            for (id, value) in graph.values() {
                if let Def::Data(data) = value.def {
                    let outputs = usize::from(graph.is_output(id));
                    *shared.entry(data).or_default() += graph.uses(id).count() + outputs;
                }
            }
        }
        let mut walker = Walker {
            module,
            graph,
            shared,
            wanted: cuts,
            found: Walk::default(),
        };
        for id in graph.topological_order().unwrap_or_default() {
            if let Some(node) = graph.node(id) {
                walker.node(id, node);
            }
        }
        for &output in graph.outputs() {
            walker.pin(Some(output), "it is an output of the model");
        }
        walker.found
    }
}

impl Walker<'_> {
    fn node(&mut self, id: NodeId, node: &Node) {
        let operand = |index: usize| node.input(index);
        match &node.op {
            Op::Conv(_) | Op::Gemm(_) => self.layer(id, node),
            Op::LayerNormalization(_) | Op::RmsNormalization(_) => self.normalization(id, node),
            Op::Relu(_) | Op::LeakyRelu(_) | Op::Identity(_) => self.pass(node, operand(0)),
            Op::MaxPool(_) | Op::AveragePool(_) | Op::GlobalAveragePool(_) => self.pool(node),
            Op::Clip(clip) => {
                let is_homogeneous = |bound: f32| bound == 0.0 || bound.is_infinite();
                match is_homogeneous(clip.min) && is_homogeneous(clip.max) {
                    true => self.pass(node, operand(0)),
                    false => self.pin_operands(node, &|name| {
                        format!("`{name}` clips it at a bound other than 0, which would need a bound for each channel")
                    }),
                }
            }
            Op::Add(_) | Op::Sub(_) => self.sum(id, node),
            Op::Mul(_) => self.product(id, node),
            Op::MatMul(matmul) => self.matmul(node, matmul),
            Op::Transpose(_) | Op::Reshape(_) | Op::Flatten(_) | Op::Squeeze(_) | Op::Unsqueeze(_) => self.moved(node),
            Op::Concat(concat) => self.concat(node, concat.axis),
            _ => self.pin_operands(node, &needs),
        }
    }

    // ---- labels ----

    fn shape(&self, value: ValueId) -> Option<Vec<usize>> {
        let value = self.graph.value(value).filter(|value| value.ty.elem == Elem::F32)?;
        Some(value.ty.dims()?.iter().map(|&extent| extent as usize).collect())
    }

    fn label(&self, value: Option<ValueId>) -> Option<&Label> {
        self.found.labels.get(&value?)
    }

    fn pin(&mut self, value: Option<ValueId>, why: &str) {
        if let Some(label) = value.and_then(|value| self.found.labels.get(&value)) {
            for &class in &label.classes {
                self.found.classes.pin(class, why);
            }
        }
    }

    fn pin_operands(&mut self, node: &Node, why: &dyn Fn(&str) -> String) {
        let why = why(self.module.name(node.name));
        for &operand in node.inputs.iter() {
            self.pin(operand, &why);
        }
    }

    /// Gives the result of a node classes of its own along an axis. Returns its label for constants of the node.
    fn fresh(&mut self, node: &Node, axis: usize) -> Option<Label> {
        let result = node.result()?;
        let extent = *self.shape(result)?.get(axis)?;
        let label = Label::along(axis, self.found.classes.fresh(extent));
        let cut = Cut::Behind(result);
        match self.wanted.contains(&cut) {
            true => _ = self.found.cuts.insert(cut, label.clone()),
            false => _ = self.found.labels.insert(result, label.clone()),
        }
        Some(label)
    }

    /// Gives the result of a node a label that its operands have.
    fn give(&mut self, node: &Node, label: Option<Label>) {
        if let (Some(result), Some(label)) = (node.result(), label) {
            self.found.labels.insert(result, label);
        }
    }

    /// The result has the label of the operand.
    fn pass(&mut self, node: &Node, operand: Option<ValueId>) {
        let label = self.label(operand).cloned();
        self.give(node, label);
    }

    /// A constant operand that only this node reads.
    fn own(&self, node: &Node, operand: usize) -> Option<DataId> {
        let data = self.graph.data_of(node.input(operand)?)?;
        let is_float = self.module.data(data).is_some_and(|tensor| tensor.elem() == Elem::F32);
        (is_float && self.shared.get(&data) == Some(&1)).then_some(data)
    }

    fn dims(&self, data: DataId) -> Vec<usize> {
        let shape = self.module.data(data).map_or(&[][..], |tensor| tensor.shape());
        shape.iter().map(|&extent| extent as usize).collect()
    }

    fn effect(&mut self, (node, operand): (NodeId, usize), data: DataId, label: Label, divides: bool) {
        self.found.effects.push(Effect {
            node,
            operand,
            data,
            label,
            divides,
        });
    }

    // ---- ops ----

    /// The layers with weights: y = W·x + b, with W'[o, i] = W[o, i]·s[i]/t[o] and b'[o] = b[o]/t[o].
    fn layer(&mut self, id: NodeId, node: &Node) {
        if let Err(why) = self.try_layer(id, node) {
            self.found.left.insert(id, why);
            self.pin_operands(node, &|name| format!("`{name}` reads it, and {why}"));
        }
    }

    fn try_layer(&mut self, id: NodeId, node: &Node) -> Result<(), &'static str> {
        const MISSING: &str = "an operand of it is missing";
        let (x, y) = (node.input(0).ok_or(MISSING)?, node.result().ok_or(MISSING)?);
        let weights = self.own(node, 1).ok_or("its weights are no constant of its own")?;
        let shape = self.shape(x).ok_or("an extent of its activations is not known")?;
        let result = self.shape(y).ok_or("an extent of its result is not known")?;
        let dims = self.dims(weights);
        // The axis of the channels of operand and result, and the axis of the outputs of the weights.
        let (axes, of_outputs) = match &node.op {
            Op::Gemm(gemm) if gemm.transpose_a => return Err("its activations are transposed"),
            Op::Gemm(gemm) => ([shape.len() - 1, result.len() - 1], usize::from(!gemm.transpose_b)),
            _ => ([1, 1], 0),
        };
        let outputs = result.get(axes[1]).copied().ok_or(MISSING)?;
        let bias = match node.input(2) {
            None => None,
            Some(_) => {
                let data = self.own(node, 2).ok_or("its bias is no constant of its own")?;
                let dims = self.dims(data);
                let varies = dims.iter().rev().skip(1).all(|&extent| extent == 1);
                let fits = varies && dims.last() == Some(&outputs);
                Some((data, dims.len() - 1))
                    .filter(|_| fits)
                    .map(Some)
                    .ok_or("its bias has not one element for each output")?
            }
        };
        self.reads(id, node, (x, axes[0]), (weights, &dims, of_outputs))?;
        self.found.layers.insert(id, x);
        if let Some(label) = self.fresh(node, axes[1]) {
            let along = |axis| Label::along(axis, label.classes.clone());
            self.effect((id, 1), weights, along(of_outputs), true);
            if let Some((bias, axis)) = bias {
                self.effect((id, 2), bias, along(axis), true);
            }
        }
        Ok(())
    }

    /// A layer multiplies its weights by the factors of what it reads.
    fn reads(
        &mut self,
        id: NodeId,
        node: &Node,
        (x, axis): (ValueId, usize),
        (weights, dims, of_outputs): (DataId, &[usize], usize),
    ) -> Result<(), &'static str> {
        let cut = match self.wanted.contains(&Cut::Beside(x)) {
            true => Cut::Beside(x),
            false => Cut::Before(x),
        };
        let extent = self.shape(x).and_then(|shape| shape.get(axis).copied()).unwrap_or(0);
        let label = match (self.wanted.contains(&cut), self.found.cuts.get(&cut)) {
            (true, Some(label)) => Some(label.clone()),
            (true, None) => {
                let label = Label::along(axis, self.found.classes.fresh(extent));
                self.found.cuts.insert(cut, label.clone());
                Some(label)
            }
            (false, _) => self.label(Some(x)).cloned(),
        };
        let Some(label) = label else { return Ok(()) };
        if label.axes != [axis] {
            return Err("the channels that it reads are not along the axis of its products");
        }
        let label = match &node.op {
            Op::Conv(conv) if conv.groups > 1 => {
                // Output o of group g reads the channels of this group.
                let (outputs, inputs) = (dims[0], dims[1]);
                let each = (outputs / conv.groups as usize).max(1);
                let channel = |at: usize| (at / inputs / each) * inputs + at % inputs;
                let classes = (0..outputs * inputs).map(|at| label.classes.get(channel(at)).copied());
                Label {
                    axes: vec![0, 1],
                    classes: classes.collect::<Option<_>>().ok_or("its weights have another shape")?,
                }
            }
            _ => Label::along(1 - of_outputs, label.classes),
        };
        self.effect((id, 1), weights, label, false);
        Ok(())
    }

    /// y = n(x)·g + b, with g' = g/t and b' = b/t.
    fn normalization(&mut self, id: NodeId, node: &Node) {
        self.pin_operands(node, &needs);
        let Some(shape) = node.result().and_then(|result| self.shape(result)) else {
            return;
        };
        let last = shape.len() - 1;
        let fits =
            |dims: &[usize]| dims.last() == Some(&shape[last]) && dims.iter().rev().skip(1).all(|&extent| extent == 1);
        let mut own = Vec::new();
        for operand in 1..node.inputs.len() {
            if node.input(operand).is_some() {
                let Some(data) = self.own(node, operand).filter(|&data| fits(&self.dims(data))) else {
                    return;
                };
                own.push((operand, data));
            }
        }
        if let Some(label) = self.fresh(node, last) {
            for (operand, data) in own {
                let axis = self.dims(data).len() - 1;
                self.effect((id, operand), data, Label::along(axis, label.classes.clone()), true);
            }
        }
    }

    fn pool(&mut self, node: &Node) {
        match self.label(node.input(0)) {
            Some(label) if label.axes != [1] => self.pin_operands(node, &needs),
            _ => self.pass(node, node.input(0)),
        }
    }

    /// Both operands of a sum have the same factors. A constant takes them up.
    fn sum(&mut self, id: NodeId, node: &Node) {
        let [one, other] = [0, 1].map(|index| node.input(index));
        let constant = [1, 0]
            .into_iter()
            .find(|&at| node.input(at).is_some_and(|value| self.graph.data_of(value).is_some()));
        if let Some(at) = constant {
            let label = self.label(node.input(1 - at)).cloned();
            let Some(label) = label else { return };
            let own = self
                .own(node, at)
                .and_then(|data| self.within(node.input(1 - at), data, &label).map(|own| (data, own)));
            match own {
                Some((data, own)) => {
                    self.effect((id, at), data, own, true);
                    self.give(node, Some(label));
                }
                None => self.pin_operands(node, &|name| {
                    format!("`{name}` adds a constant that cannot take up factors")
                }),
            }
            return;
        }
        let shapes = [one, other].map(|value| value.and_then(|value| self.shape(value)));
        let ranks = shapes.each_ref().map(|shape| shape.as_ref().map(Vec::len));
        match (self.label(one).cloned(), self.label(other).cloned()) {
            (Some(one), Some(other))
                if one.axes == other.axes && one.classes.len() == other.classes.len() && ranks[0] == ranks[1] =>
            {
                for (&one, &other) in one.classes.iter().zip(&other.classes) {
                    self.found.classes.unite(one, other);
                }
                self.give(node, Some(one));
            }
            _ => self.pin_operands(node, &|name| format!("`{name}` adds it to a value without factors")),
        }
    }

    /// The label of a constant that is combined with a value with this label. `None` if the constant does not have all
    /// axes of the label.
    fn within(&self, value: Option<ValueId>, data: DataId, label: &Label) -> Option<Label> {
        let (shape, dims) = (self.shape(value?)?, self.dims(data));
        let before = shape.len().checked_sub(dims.len())?;
        let axes: Option<Vec<usize>> = label.axes.iter().map(|axis| axis.checked_sub(before)).collect();
        let axes = axes?;
        axes.iter()
            .all(|&axis| dims.get(axis) == shape.get(axis + before))
            .then(|| Label {
                axes,
                classes: label.classes.clone(),
            })
    }

    /// A product has the factors of one of its operands; the other operand has none. A constant with one number for each
    /// channel separates the classes of operand and result.
    fn product(&mut self, id: NodeId, node: &Node) {
        let is_constant = |at: &usize| node.input(*at).is_some_and(|value| self.graph.data_of(value).is_some());
        if let Some(at) = [1, 0].into_iter().find(is_constant) {
            let x = node.input(1 - at);
            let Some(shape) = x.and_then(|x| self.shape(x)) else {
                return;
            };
            let is_same = node.result().and_then(|y| self.shape(y)).as_ref() == Some(&shape);
            let own = self.own(node, at).filter(|_| is_same);
            let wide = own.and_then(|data| {
                let dims = self.dims(data);
                let before = shape.len().checked_sub(dims.len())?;
                let mut axes = (0..dims.len()).filter(|&axis| dims[axis] > 1);
                let axis = axes.next().filter(|_| axes.next().is_none())?;
                (dims[axis] == shape[axis + before]).then_some((data, axis, axis + before))
            });
            let of_x = self.label(x).cloned();
            match (wide, of_x) {
                (Some((data, axis, along)), of_x) if of_x.as_ref().is_none_or(|label| label.axes == [along]) => {
                    if let Some(of_x) = of_x {
                        self.effect((id, at), data, Label::along(axis, of_x.classes), false);
                    }
                    if let Some(label) = self.fresh(node, along) {
                        self.effect((id, at), data, Label::along(axis, label.classes), true);
                    }
                }
                (_, of_x) if is_same => self.give(node, of_x),
                _ => self.pin_operands(node, &needs),
            }
            return;
        }
        let free = |value: &Option<ValueId>| {
            let label = self.label(*value)?;
            let is_whole =
                value.and_then(|value| self.shape(value)) == node.result().and_then(|result| self.shape(result));
            let is_free = label
                .classes
                .iter()
                .any(|&class| self.found.classes.pinned(class).is_none());
            (is_whole && is_free).then(|| label.clone())
        };
        let passed = [0, 1].into_iter().find_map(|at| Some((at, free(&node.input(at))?)));
        let why = needs(self.module.name(node.name));
        match passed {
            // A square has the squares of the factors.
            Some((at, label)) if node.input(0) != node.input(1) => {
                self.pin(node.input(1 - at), &why);
                self.give(node, Some(label));
            }
            _ => self.pin_operands(node, &needs),
        }
    }

    /// A·B has the factors of the columns of B.
    fn matmul(&mut self, node: &Node, _: &MatMul) {
        let why = needs(self.module.name(node.name));
        self.pin(node.input(0), &why);
        let shapes = [0, 1].map(|at| node.input(at).and_then(|value| self.shape(value)));
        let label = self.label(node.input(1)).cloned();
        let (Some(label), [Some(a), Some(b)]) = (label, shapes) else {
            return self.pin(node.input(1), &why);
        };
        let (rank, batches) = (b.len(), b.len().saturating_sub(2));
        let passes = a.len() == rank && rank >= 2 && a[..batches] == b[..batches] && !label.axes.contains(&batches);
        match passes {
            true => self.give(node, Some(label)),
            false => self.pin(node.input(1), &why),
        }
    }

    /// An op that only moves elements.
    fn moved(&mut self, node: &Node) {
        let (Some(x), Some(result)) = (node.input(0), node.result()) else {
            return;
        };
        let Some(label) = self.label(Some(x)).cloned() else {
            return;
        };
        let moved = || {
            let (shape, new) = (self.shape(x)?, self.shape(result)?);
            match &node.op {
                Op::Transpose(transpose) => {
                    let permutation: Vec<usize> = transpose.permutation.iter().map(|&axis| axis as usize).collect();
                    label.transposed(&shape, &permutation)
                }
                _ => label.reshaped(&shape, &new),
            }
        };
        match moved() {
            Some(label) => self.give(node, Some(label)),
            None => self.pin_operands(node, &needs),
        }
    }

    /// Operands along the axis of their channels have their own factors.
    fn concat(&mut self, node: &Node, axis: i64) {
        let joined = || {
            let mut classes = Vec::new();
            let mut along = None;
            for &operand in node.inputs.iter() {
                let shape = self.shape(operand?)?;
                let axis = axis_of(axis, shape.len())?;
                let label = self.label(operand).filter(|label| label.axes == [axis])?;
                classes.extend(&label.classes);
                along = Some(axis);
            }
            Some(Label::along(along?, classes))
        };
        match joined() {
            Some(label) => self.give(node, Some(label)),
            None => self.pin_operands(node, &|name| format!("`{name}` joins it with values without factors")),
        }
    }
}

/// The reason of a node that needs its operands as they are.
fn needs(name: &str) -> String {
    format!("`{name}` needs it as it is")
}

impl Walk {
    /// The label of what layers read: of a node that is put in for them, or of the value.
    pub(crate) fn read(&self, value: ValueId) -> Option<&Label> {
        let cuts = [Cut::Before(value), Cut::Beside(value)];
        let cut = cuts.iter().find_map(|cut| self.cuts.get(cut));
        cut.or_else(|| self.labels.get(&value))
    }

    /// The label of what a layer makes, before a multiplication behind it.
    pub(crate) fn made(&self, value: ValueId) -> Option<&Label> {
        self.cuts.get(&Cut::Behind(value)).or_else(|| self.labels.get(&value))
    }
}

/// True if a node is a layer whose weights can take up factors.
pub(crate) fn is_layer(node: &Node) -> bool {
    matches!(node.op.term(), Term::Conv | Term::Gemm)
}
