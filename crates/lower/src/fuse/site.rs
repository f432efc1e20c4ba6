//! Finds sites. A site is a producer together with the requantizations and clamps that follow it.

use super::added::Added;
use crate::interval::{Bounds, Interval, KnownBounds};
use std::cell::RefCell;
use strait_core::{
    Channels, Elem, Graph, GraphId, Module, Node, NodeId, Op, Reason, ReasonCode, TensorData, ValueId, refused,
};
use strait_requantize::{IntType, Narrowing, Per, Requantization, Rounding, Step, clamp_twice, form};
use strait_target::spec::{FusionRow, Verb, With};

/// The node or constant that makes the requantized value.
#[derive(Clone, Copy)]
pub(super) enum Producer<'a> {
    /// A node.
    Node(NodeId, &'a Node),
    /// A tensor of the pool.
    Constant(&'a TensorData),
}

/// A node of the chain that follows the producer.
#[derive(Clone, Copy)]
pub(super) struct Link<'a> {
    pub(super) node: NodeId,
    pub(super) what: What<'a>,
    /// The result of the node. Only the next link reads it.
    pub(super) result: ValueId,
}

/// The requantization or clamp that a link computes.
#[derive(Clone, Copy)]
pub(super) enum What<'a> {
    Requantize {
        form: &'a Requantization,
        channels: Channels,
    },
    Clamp([i32; 2]),
}

/// A producer and the chain that follows it. The chain ends at the first value that another node reads. The chain has
/// at least one requantization. Clamps of accumulators may come before the first requantization.
pub(super) struct RequantizationSite<'a> {
    pub(super) module: &'a Module,
    pub(super) graph: &'a Graph,
    pub(super) producer: Producer<'a>,
    /// The producer's result.
    pub(super) wide: ValueId,
    pub(super) links: Vec<Link<'a>>,
    /// The product and the added codes, if the producer adds codes to the sums of a product.
    pub(super) added: Option<Added<'a>>,
    /// Bounds of values. They are computed once, and used for all rows, numbers of links and forms that are tried.
    /// Bounds from earlier sites stay valid, because sites are visited in topological order, and a fusion that changes
    /// bounds makes new values.
    bounds: RefCell<Bounds<'a>>,
}

impl<'a> RequantizationSite<'a> {
    /// Returns the site whose first requantization is the node `at`. Returns `None` if the node comes later in the
    /// chain of another site, or if it requantizes an input of the graph.
    pub(super) fn at(
        module: &'a Module,
        graph: GraphId,
        at: NodeId,
        known: &mut KnownBounds,
    ) -> Option<RequantizationSite<'a>> {
        let graph = module.graph(graph)?;
        let mut links = vec![link(at, graph.node(at)?)?];
        let mut wide = graph.node(at)?.inputs.first().copied().flatten()?;
        while graph.only_use(wide).is_some()
            && let Some((id, node)) = graph.producer(wide)
            && let Some(before) = link(id, node)
        {
            if matches!(before.what, What::Requantize { .. }) {
                return None;
            }
            links.insert(0, before);
            wide = node.input(0)?;
        }
        while let Some(last) = links.last()
            && let Some(only) = graph.only_use(last.result)
            && let Some(behind) = graph.node(only.node).and_then(|node| link(only.node, node))
        {
            links.push(behind);
        }
        let producer = match graph.producer(wide) {
            Some((id, node)) => Producer::Node(id, node),
            None => Producer::Constant(module.constant(graph, wide)?),
        };
        let added = match producer {
            Producer::Node(_, node) => Added::of(graph, node),
            Producer::Constant(_) => None,
        };
        Some(RequantizationSite {
            added,
            module,
            graph,
            producer,
            wide,
            links,
            bounds: RefCell::new(Bounds::knowing(module, graph, std::mem::take(known))),
        })
    }

    /// The bounds that are known so far, to be used for the next site.
    pub(super) fn into_known(self) -> KnownBounds {
        self.bounds.into_inner().into_known()
    }

    /// The interval that contains every element of a value of the graph.
    pub(super) fn bounds(&self, value: ValueId) -> Option<Per<Interval>> {
        self.bounds.borrow_mut().of(value)
    }

    /// Returns the intervals of the accumulators that can occur. If a step is already fused into the producer, these
    /// are the accumulators before this step. There is one interval for each channel of the producer. If a
    /// requantization has its channels along another axis, there is only one interval for all elements.
    pub(super) fn accumulators(&self) -> Result<Per<Interval>, Reason> {
        let mut bounds = self.bounds.borrow_mut();
        let reach = match self.producer {
            // These are the bounds of the accumulators before the step that is already fused into the producer. If
            // nothing else is known, they are the range of the accumulator's type.
            Producer::Node(_, node) if node.fused.is_some() => bounds.accumulators(node),
            _ => bounds.reach(self.wide),
        };
        let mut forms = self.requantizations(self.links.len());
        let by_channel = forms.find(|(form, _)| form.channels().is_some());
        let interval = match by_channel {
            Some((_, Channels::Axis(axis))) => reach.and_then(|reach| reach.only_along(Some(axis))),
            Some((_, Channels::Picked(_))) => reach.and_then(|reach| reach.only_along(None)),
            None => reach,
        };
        let interval = interval.map(|reach| reach.bounds().clone());
        interval.ok_or_else(|| Reason::new(ReasonCode::NoInterval, "its accumulators have no known bounds"))
    }

    /// If an operand selects the channels, returns for each channel the interval of its accumulators, and the number of
    /// elements in the largest window that is summed for this channel.
    pub(super) fn by_channel(&self, links: usize) -> Option<Vec<(Interval, u64)>> {
        let (Producer::Node(_, node), Some(picks)) = (self.producer, self.picks(links)) else {
            return None;
        };
        let steps = self.steps(links);
        let channels = steps.iter().find_map(|step| step.form.channels())?;
        self.bounds.borrow_mut().by_channel(node, picks, channels)
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

    /// The producer's op, with the name that the table uses.
    pub(super) fn term(&self) -> &'static str {
        match self.producer {
            Producer::Node(_, node) => node.op.term().name(),
            Producer::Constant(_) => "constant",
        }
    }

    /// The requantizations among the first `links` links, and how each of them finds its channels.
    pub(super) fn requantizations(&self, links: usize) -> impl Iterator<Item = (&'a Requantization, Channels)> {
        self.links.iter().take(links).filter_map(|link| match link.what {
            What::Requantize { form, channels } => Some((form, channels)),
            What::Clamp(_) => None,
        })
    }

    /// The name of the first requantized value among the links in `links`.
    pub(super) fn requantized(&self, links: std::ops::Range<usize>) -> Option<String> {
        let mut links = self.links.get(links)?.iter();
        let first = links.find(|link| matches!(link.what, What::Requantize { .. }))?;
        Some(self.name_of(first.result))
    }

    /// Returns the constant that selects the channels of the producer's own parameters. If the producer has no such
    /// constant, returns the constant that selects the channels of the chain's parameters, if there is one.
    pub(super) fn picks(&self, links: usize) -> Option<ValueId> {
        let own = match self.producer {
            Producer::Node(_, node) => node.picked_channels(),
            Producer::Constant(_) => None,
        };
        let mut all = self.requantizations(links);
        own.or_else(|| {
            all.find_map(|(_, channels)| match channels {
                Channels::Picked(picks) => Some(picks),
                Channels::Axis(_) => None,
            })
        })
    }

    /// Returns the numbers of links that can be fused together, the largest number first. The last link that is fused
    /// is always a requantization, or a clamp of a requantization's codes.
    pub(super) fn prefixes(&self) -> impl Iterator<Item = usize> {
        let first = self
            .links
            .iter()
            .position(|link| matches!(link.what, What::Requantize { .. }));
        (first.map_or(self.links.len(), |first| first) + 1..=self.links.len()).rev()
    }

    /// The steps of the first `links` links, in the order in which they are applied. A clamp of codes belongs to the
    /// step before it. A clamp of accumulators becomes a step of its own, whose requantization is the identity. If a
    /// step is already fused into the producer, that step comes first.
    pub(super) fn steps(&self, links: usize) -> Vec<Step> {
        let own = match self.producer {
            Producer::Node(_, node) => node.fused.as_deref(),
            Producer::Constant(_) => None,
        };
        let mut steps: Vec<Step> = Vec::new();
        steps.extend(own.map(|fused| Step {
            form: fused.requant.clone(),
            clamp: fused.clamp,
        }));
        for link in self.links.iter().take(links) {
            match (link.what, steps.last_mut()) {
                (What::Requantize { form, .. }, _) => steps.push(form.clone().into()),
                (What::Clamp(ends), Some(last)) => last.clamp = clamp_twice(last.clamp, Some(ends)),
                (What::Clamp(ends), None) => steps.push(Step {
                    form: identity(),
                    clamp: Some(ends),
                }),
            }
        }
        steps
    }

    /// The nodes of the first `links` links, and the result of the last of these nodes.
    pub(super) fn taken(&self, links: usize) -> Option<(Vec<NodeId>, ValueId)> {
        let taken = self.links.get(..links)?;
        Some((taken.iter().map(|link| link.node).collect(), taken.last()?.result))
    }

    /// The tensor whose elements are requantized at compile time: a constant, or the table of a lookup.
    pub(super) fn entries(&self) -> Option<&'a TensorData> {
        match self.producer {
            Producer::Constant(tensor) => Some(tensor),
            Producer::Node(_, node) if matches!(node.op, Op::Lookup(_)) => {
                self.module.constant(self.graph, node.input(1)?)
            }
            Producer::Node(..) => None,
        }
    }

    /// Returns where the channels of the chain's parameters lie in a tensor of shape `shape`.
    pub(super) fn channels(&self, links: usize, shape: &[u64]) -> Result<Strided, Reason> {
        let mut common = None;
        for (form, channels) in self.requantizations(links) {
            let Some(count) = form.channels() else { continue };
            let Channels::Axis(axis) = channels else {
                let text = "an operand picks the channels of its parameters, which have no axis";
                return refused(ReasonCode::PickedChannels, text);
            };
            if *common.get_or_insert((count, axis)) != (count, axis) {
                let text = "its requantizations have parameters along different axes";
                return refused(ReasonCode::ChannelAxis, text);
            }
        }
        let axis = common.map_or(0, |(_, axis)| axis);
        Ok(Strided {
            inner: shape.iter().skip(axis + 1).product::<u64>().max(1),
            extent: common.map_or(1, |(count, _)| count.max(1)),
        })
    }

    /// The extents of the producer's first operand. All extents are fixed at this point.
    pub(super) fn extents(&self) -> Vec<u64> {
        let Producer::Node(_, node) = self.producer else {
            return Vec::new();
        };
        let operand = node.input(0);
        let operand = operand.and_then(|v| self.graph.value(v));
        operand
            .and_then(|v| v.ty.dims())
            .map(|dims| dims.to_vec())
            .unwrap_or_default()
    }

    /// The integer type of the producer's result.
    pub(super) fn wide_type(&self) -> Option<IntType> {
        self.graph.value(self.wide)?.ty.elem.int_type()
    }

    /// The element type after the first `links` links.
    pub(super) fn out(&self, links: usize) -> Option<Elem> {
        Some(self.graph.value(self.taken(links)?.1)?.ty.elem)
    }
}

/// How the channels along one axis of a tensor lie in memory.
#[derive(Clone, Copy)]
pub(super) struct Strided {
    /// The number of neighbouring elements that belong to the same channel.
    inner: u64,
    extent: usize,
}

impl Strided {
    /// The channel of the element at an index.
    pub(super) fn of(self, index: usize) -> usize {
        // The channel is less than the extent, so the cast is safe.
        (index as u64 / self.inner % self.extent as u64) as usize
    }
}

/// True if the row lists `verb` under `then`.
pub(super) fn does(row: &FusionRow, verb: &Verb) -> bool {
    row.then.iter().any(|v| v == verb)
}

/// The name of the target's code that decides in place of the row. `None` if the row decides by itself.
pub(super) fn decides(row: &FusionRow) -> Option<&str> {
    row.then.iter().find_map(|verb| match verb {
        Verb::Custom(name) => Some(name.as_str()),
        _ => None,
    })
}

/// The node as a link of a chain. `None` if it is neither a requantization nor a clamp.
fn link(id: NodeId, node: &Node) -> Option<Link<'_>> {
    let what = match &node.op {
        Op::Requantize(op) => What::Requantize {
            form: &op.form,
            channels: node.channels(0)?,
        },
        Op::Clamp(op) => What::Clamp([op.min, op.max]),
        _ => return None,
    };
    let result = *node.outputs.first()?;
    Some(Link { node: id, what, result })
}

/// A requantization that only saturates to 32 bits. It changes no accumulator of 32 bits.
fn identity() -> Requantization {
    form::ArithFolded {
        narrowing: Narrowing {
            shift: 0.into(),
            rounding: Rounding::Floor,
            out: IntType::I32,
        },
    }
    .into()
}

impl RequantizationSite<'_> {
    /// Checks that a row with a second op applies to the addition at this site.
    pub(super) fn matches_sum(&self, row: &FusionRow, with: &With) -> Result<(), Reason> {
        let refuse = |text: String| refused(ReasonCode::Producer, text);
        let (term, wide) = (self.term(), self.name_of(self.wide));
        if term != with.op {
            let text = format!(
                "it is for {} behind {}, and {wide} is made by {term}",
                with.op,
                row.ops.join(", ")
            );
            return refuse(text);
        }
        let Some(added) = &self.added else {
            return refuse(format!(
                "{wide} is no sum of a product with codes that come onto its grid for it alone"
            ));
        };
        let product = added.product.op.term().name();
        if !row.ops.iter().any(|op| op == product) {
            return refuse(format!(
                "it is for {}, and {wide} adds to {product}",
                row.ops.join(", ")
            ));
        }
        let codes = self.graph.value(added.codes).and_then(|codes| codes.ty.elem.int_type());
        match with.other {
            Some(other) if codes != Some(other.into()) => {
                let found = codes.map_or_else(String::new, |codes| codes.to_string());
                let text = format!("what is added is {found}, not {}", other.name());
                refused(ReasonCode::Type, text)
            }
            _ => Ok(()),
        }
    }

    /// The first result of a node.
    pub(super) fn result_of(&self, node: NodeId) -> Option<ValueId> {
        self.graph.node(node)?.outputs.first().copied()
    }

    /// Returns the node whose operands a row checks. If codes are added `inside` the accumulator of a convolution or
    /// Gemm, this node is the convolution or Gemm. Otherwise it is the producer.
    pub(super) fn reads(&self, inside: bool) -> Option<&Node> {
        match (&self.added, self.producer) {
            (Some(added), _) if inside => Some(added.product),
            (_, Producer::Node(_, node)) => Some(node),
            (_, Producer::Constant(_)) => None,
        }
    }
}
