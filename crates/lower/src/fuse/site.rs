//! Finding a site, and the conditions of a row at it.

use strait_core::{Elem, Graph, GraphId, Module, Node, NodeId, Op, Reason, TensorData, ValueId};
use strait_requantize::{Argument, IntType, Requantization};
use strait_target::spec::{FusionRow, Integer, Options};

/// What produces the value that is requantized.
#[derive(Clone, Copy)]
pub(super) enum Producer<'a> {
    /// A node.
    Node(NodeId, &'a Node),
    /// A tensor of the pool.
    Constant(&'a TensorData),
}

/// A requantize node and what stands around it.
pub(super) struct Found<'a> {
    pub(super) module: &'a Module,
    pub(super) graph: &'a Graph,
    pub(super) producer: Producer<'a>,
    /// The producer's result.
    pub(super) wide: ValueId,
    /// A clamp of accumulators between producer and requantization.
    pub(super) clamp_before: Option<(NodeId, [i32; 2])>,
    /// The requantize node.
    pub(super) requantize: NodeId,
    pub(super) form: &'a Requantization,
    pub(super) axis: u32,
    /// The requantized value.
    pub(super) narrow: ValueId,
    /// A clamp of codes behind it, which alone reads it, with its result.
    pub(super) clamp_behind: Option<(NodeId, [i32; 2], ValueId)>,
}

/// Where channels lie in a tensor.
#[derive(Clone, Copy)]
pub(super) struct Channels {
    inner: u64,
    extent: u64,
}

impl Channels {
    /// The channel of the element at an index.
    pub(super) fn of(self, index: usize) -> usize {
        (index as u64 / self.inner % self.extent) as usize
    }
}

impl<'a> Found<'a> {
    /// The site of a requantize node; `None` for a value that nothing produces (an input of the graph).
    pub(super) fn at(module: &'a Module, graph: GraphId, at: NodeId) -> Option<Found<'a>> {
        let graph = module.graph(graph)?;
        let node = graph.node(at)?;
        let Op::Requantize(op) = &node.op else { return None };
        let (mut wide, narrow) = (node.inputs.first().copied().flatten()?, *node.outputs.first()?);
        let clamp_of = |value: ValueId| match graph.producer(value)? {
            (
                id,
                Node {
                    op: Op::Clamp(clamp),
                    inputs,
                    ..
                },
            ) => Some((id, [clamp.min, clamp.max], (*inputs.first()?)?)),
            _ => None,
        };
        let mut clamp_before = None;
        if let Some((id, ends, source)) = clamp_of(wide)
            && graph.only_use(wide).is_some()
        {
            (clamp_before, wide) = (Some((id, ends)), source);
        }
        let producer = match graph.producer(wide) {
            Some((id, node)) => Producer::Node(id, node),
            None => Producer::Constant(module.constant(graph, wide)?),
        };
        let clamp_behind = graph.only_use(narrow).and_then(|u| {
            let next = graph.node(u.node)?;
            let Op::Clamp(clamp) = &next.op else { return None };
            Some((u.node, [clamp.min, clamp.max], *next.outputs.first()?))
        });
        let (form, axis) = (&op.form, op.axis);
        Some(Found {
            module,
            graph,
            producer,
            wide,
            clamp_before,
            requantize: at,
            form,
            axis,
            narrow,
            clamp_behind,
        })
    }

    /// The producer's name.
    pub(super) fn name(&self) -> String {
        match self.producer {
            Producer::Node(_, node) => self.module.name(node.name).to_string(),
            Producer::Constant(_) => self.name_of(self.wide),
        }
    }

    /// The name of a value of the graph.
    pub(super) fn name_of(&self, value: ValueId) -> String {
        let value = self.graph.value(value);
        value.map(|v| self.module.name(v.name).to_string()).unwrap_or_default()
    }

    /// The producer's term, as rows spell it.
    pub(super) fn term(&self) -> &'static str {
        match self.producer {
            Producer::Node(_, node) => node.op.term(),
            Producer::Constant(_) => "constant",
        }
    }

    /// Whether the row is for producers like this one.
    pub(super) fn matches_op(&self, row: &FusionRow) -> Result<(), Reason> {
        if row.ops.iter().any(|op| op.as_str() == self.term()) {
            return Ok(());
        }
        let ops = row.ops.iter().map(|op| op.as_str()).collect::<Vec<_>>().join(", ");
        let text = format!(
            "it is for {ops}, and {} is made by {}",
            self.name_of(self.wide),
            self.term()
        );
        Err(Reason::new("producer", text))
    }

    /// Whether everything that the row asks of the site holds, but for the form.
    pub(super) fn conditions(&self, row: &FusionRow, options: &Options) -> Result<(), Reason> {
        if let Some(with) = &row.with {
            return Err(Reason::new(
                "two-inputs",
                format!(
                    "a {} between producer and requantization has a second operand",
                    with.op.as_str()
                ),
            ));
        }
        let when = &row.when;
        for (key, wanted) in &when.option {
            if options.get(key) != Some(&**wanted) {
                return Err(Reason::new("option", format!("the option {key} has another value")));
            }
        }
        let elem = |value: ValueId| self.graph.value(value).and_then(|v| v.ty.elem.int_type());
        let is = |what: &str, wanted: Option<Integer>, found: Option<IntType>| match wanted {
            Some(wanted) if found != Some(wanted.into()) => {
                let found = found.map_or("no integer", IntType::name);
                Err(Reason::new("type", format!("{what} is {found}, not {}", wanted.name())))
            }
            _ => Ok(()),
        };
        is("the result of the producer", when.output, elem(self.wide))?;
        is("the requantized value", when.to, Some(self.form.out()))?;
        let Producer::Node(_, node) = self.producer else {
            return Ok(());
        };
        is(
            "the producer's operand",
            when.input,
            node.inputs.first().copied().flatten().and_then(elem),
        )?;
        // Whatever the row says: it would compute the second requantization alone.
        if node.fused.is_some() {
            return Err(Reason::new(
                "already-fused",
                "the producer has a requantization of its own",
            ));
        }
        let readers = self.graph.uses(self.wide).count() + usize::from(self.graph.is_output(self.wide));
        // Whatever the row says, a producer with other readers must leave its accumulator to them.
        let allowed = when.consumers.map_or(1, |n| n as usize).min(1);
        if readers != allowed {
            return Err(Reason::new(
                "consumers",
                format!("the accumulator has {readers} readers"),
            ));
        }
        Ok(())
    }

    /// The tensor whose elements are requantized ahead of time: a constant, or the table of a lookup.
    pub(super) fn entries(&self) -> Option<&'a TensorData> {
        match self.producer {
            Producer::Constant(tensor) => Some(tensor),
            Producer::Node(_, node) if matches!(node.op, Op::Lookup(_)) => {
                self.module.constant(self.graph, node.inputs.get(1).copied().flatten()?)
            }
            Producer::Node(..) => None,
        }
    }

    /// Why it is enough to compare what stands behind the producer.
    pub(super) fn argument(&self) -> Argument {
        match self.producer {
            Producer::Node(_, node) if matches!(node.op, Op::MaxPool(_)) => Argument::Commutes,
            _ => Argument::SameAccumulator,
        }
    }

    /// The channel of each element of a tensor of this shape, along the axis of the form.
    pub(super) fn channels_of(&self, shape: &[u64]) -> Channels {
        let axis = self.axis as usize;
        Channels {
            inner: shape.iter().skip(axis + 1).product::<u64>().max(1),
            extent: match self.form.channels() {
                Some(_) => shape.get(axis).copied().unwrap_or(1).max(1),
                None => 1,
            },
        }
    }

    /// The axis that channels of the producer's fused parameters run along: that of a convolution's or a pool's channels,
    /// or the last.
    pub(super) fn channel_axis(&self) -> Option<u32> {
        let rank = self.graph.value(self.wide)?.ty.shape.len() as u32;
        match self.producer {
            Producer::Node(_, node) => match &node.op {
                Op::Conv(_) | Op::SumPool(_) | Op::MaxPool(_) | Op::AveragePool(_) | Op::GlobalAveragePool(_) => {
                    Some(1)
                }
                _ => rank.checked_sub(1),
            },
            Producer::Constant(_) => Some(self.axis),
        }
    }

    /// Parameters per channel can only be fused where they run along the producer's channels.
    pub(super) fn channels_fit(&self) -> Result<(), Reason> {
        if self.form.channels().is_some() && self.channel_axis() != Some(self.axis) {
            return Err(Reason::new(
                "channel-axis",
                "its parameters run along another axis than the producer's channels",
            ));
        }
        Ok(())
    }

    /// The extents of the producer's first operand; all are fixed by now.
    pub(super) fn extents(&self) -> Vec<u64> {
        let Producer::Node(_, node) = self.producer else {
            return Vec::new();
        };
        let operand = node.inputs.first().copied().flatten().and_then(|v| self.graph.value(v));
        operand
            .and_then(|v| v.ty.dims())
            .map(|dims| dims.to_vec())
            .unwrap_or_default()
    }

    /// The integer type of the producer's result.
    pub(super) fn wide_type(&self) -> Option<IntType> {
        self.graph.value(self.wide)?.ty.elem.int_type()
    }

    /// The element type of the requantized value.
    pub(super) fn out(&self) -> Elem {
        self.form.out().into()
    }
}
