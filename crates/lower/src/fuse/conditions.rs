//! The conditions of a fusion row, which are checked at a site before the row's forms.

use super::site::{Producer, RequantizationSite};
use crate::interval::may_be_empty;
use strait_core::shape::axis_of;
use strait_core::{Channels, Elem, Kind, Node, Op, Reason, ReasonCode, Term, ValueId, refused};
use strait_requantize::{Argument, IntType, Step};
use strait_target::spec::{FusionRow, Integer, Options};

impl RequantizationSite<'_> {
    /// Checks that the row applies to the op of this site's producer.
    pub(super) fn matches_op(&self, row: &FusionRow) -> Result<(), Reason> {
        if let Some(with) = &row.with {
            return self.matches_sum(row, with);
        }
        let term = self.term();
        if row.ops.iter().any(|op| op == term) {
            return Ok(());
        }
        let wanted = row.ops.join(", ");
        let wide = self.name_of(self.wide);
        let text = format!("it is for {wanted}, and {wide} is made by {term}");
        refused(ReasonCode::Producer, text)
    }

    /// Checks all conditions of the row at this site. The conditions on the form are checked later.
    pub(super) fn conditions(&self, row: &FusionRow, options: &Options) -> Result<(), Reason> {
        let when = &row.when;
        for (key, wanted) in &when.option {
            if options.get(key) != Some(wanted) {
                return refused(ReasonCode::Option, format!("the option {key} has another value"));
            }
        }
        let elem = |value: ValueId| self.graph.value(value).map(|v| v.ty.elem);
        let is = |what: &str, wanted: Option<Integer>, found: Option<Elem>| match wanted {
            Some(wanted) if found != Some(IntType::from(wanted).into()) => {
                let found = found.filter(|elem| elem.is_integer()).map_or("no integer", Elem::name);
                refused(ReasonCode::Type, format!("{what} is {found}, not {}", wanted.name()))
            }
            _ => Ok(()),
        };
        if let Some(wanted) = when
            .output
            .filter(|wanted| !elem(self.wide).is_some_and(|found| wanted.is(found)))
        {
            let found = elem(self.wide)
                .filter(|elem| elem.is_integer())
                .map_or("no integer", Elem::name);
            let text = format!("the result of the producer is {found}, not {wanted}");
            return refused(ReasonCode::Type, text);
        }
        let to = self
            .requantizations(self.links.len())
            .next()
            .map(|(form, _)| form.out().into());
        is("the requantized value", when.to, to)?;
        self.concatenates(when.concat_multiple)?;
        let (Producer::Node(_, node), Some(reads)) = (self.producer, self.reads(row.with.is_some())) else {
            return Ok(());
        };
        let operand = reads.input(0);
        is("the producer's operand", when.input, operand.and_then(elem))?;
        // This check applies to every row: a fused node can compute only one requantization, so a node that already has
        // one would lose it.
        if let Some(fused) = node.fused.as_deref()
            && !(fused.requant.is_identity() && fused.requant.out() == IntType::I32)
        {
            let text = "the producer has a requantization of its own, which is not the identity";
            return refused(ReasonCode::AlreadyFused, text);
        }
        self.only_reader()
    }

    /// If a concatenation reads the result, checks that the result's extent along the axis of the concatenation is
    /// divisible by `multiple`.
    fn concatenates(&self, multiple: Option<u32>) -> Result<(), Reason> {
        let (Some(multiple), Some((_, result))) = (multiple, self.taken(self.links.len())) else {
            return Ok(());
        };
        let dims = self.graph.value(result).and_then(|v| v.ty.dims()).unwrap_or_default();
        let readers = self
            .graph
            .uses(result)
            .filter_map(|reader| self.graph.node(reader.node));
        for reader in readers {
            let Op::Concat(concat) = &reader.op else { continue };
            let extent = axis_of(concat.axis, dims.len()).map_or(0, |axis| dims[axis]);
            if !extent.is_multiple_of(multiple.max(1).into()) {
                let text = format!(
                    "{} reads it, and {extent} channels are no multiple of {multiple}",
                    self.module.name(reader.name)
                );
                return refused(ReasonCode::ConcatAlignment, text);
            }
        }
        Ok(())
    }

    /// Checks that no node outside of the chain reads the accumulator. If another node reads it, the producer still has
    /// to make the accumulator for that node, and the row cannot be applied.
    fn only_reader(&self) -> Result<(), Reason> {
        let mut nodes: Vec<_> = self.graph.uses(self.wide).map(|reader| reader.node).collect();
        nodes.sort_unstable();
        let describe = |node: &Node| format!("{} ({})", self.module.name(node.name), node.op.term());
        let readers = nodes.iter().filter_map(|&id| self.graph.node(id)).map(describe);
        let mut readers: Vec<String> = readers.collect();
        if self.graph.is_output(self.wide) {
            readers.push("the graph's output".into());
        }
        if readers.len() <= 1 {
            return Ok(());
        }
        let text = format!("the accumulator has {} readers: {}", readers.len(), readers.join(", "));
        refused(ReasonCode::Consumers, text)
    }

    /// Returns the reasoning by which the certificate only has to compare the steps after the accumulator. For most
    /// producers, it is that the producer computes the same accumulators whatever steps are fused into it. If no such
    /// reasoning applies, returns the reason why the row cannot be applied.
    pub(super) fn argument(&self) -> Result<Argument, Reason> {
        let Producer::Node(_, node) = self.producer else {
            return Ok(Argument::SameAccumulator);
        };
        let divides = "it divides and rounds itself, and rounding twice is not rounding once; a sum of windows would be \
                       requantized by a form for each divisor, which is exact";
        match node.op.term().kind() {
            Kind::Selects => Ok(Argument::Commutes),
            Kind::Divides => refused(ReasonCode::Divides, divides),
            Kind::Accumulates => Ok(Argument::SameAccumulator),
            _ if node.op.term() == Term::ShiftLeft => Ok(Argument::SameAccumulator),
            _ => refused(
                ReasonCode::Accumulator,
                format!("the result of {} is no accumulator", node.op.term()),
            ),
        }
    }

    /// Checks requantization parameters that differ by channel. Such parameters can be fused only if the producer and
    /// the chain determine the channel of an element in the same way: along the same axis, or by the same operand. If
    /// the producer's op allows such an operand and the producer has none yet, the producer can take over the operand
    /// of the chain.
    pub(super) fn channels_fit(&self, inside: bool, links: usize) -> Result<(), Reason> {
        let Some(node) = self.reads(inside) else {
            return Ok(());
        };
        let rank = self.graph.value(self.wide).map_or(0, |v| v.ty.shape.len());
        let is_free = node.op.channel_operand().is_some() && node.picked_channels().is_none();
        let own = match self.picks(links) {
            Some(picks) if is_free => Some(Channels::Picked(picks)),
            _ => node.channels(rank),
        };
        let fused = node.fused.as_deref().filter(|fused| fused.requant.channels().is_some());
        let fused = fused.map(|_| node.channels(rank));
        let links = self
            .requantizations(links)
            .filter(|(form, _)| form.channels().is_some());
        let mut all = fused.into_iter().chain(links.map(|(_, channels)| Some(channels)));
        match all.find(|channels| own.is_none() || *channels != own) {
            None => Ok(()),
            Some(Some(Channels::Picked(_))) => refused(
                ReasonCode::PickedChannels,
                format!(
                    "an operand picks the channels of its parameters by position, and a fused {} has no place for one",
                    node.op.term()
                ),
            ),
            Some(_) => refused(
                ReasonCode::ChannelAxis,
                "its parameters run along another axis than the producer's channels",
            ),
        }
    }

    /// Checks that the chain maps the accumulator's zero point to the zero point of the result.
    ///
    /// The chain may have parameters by channel, and the accumulator may have a zero point for each channel. The grid
    /// of the result has a single zero point. So the chain must map the zero points of all channels to the same code,
    /// with the same rounding as for every other accumulator.
    pub(super) fn zero_points_meet(&self, links: usize) -> Result<(), Reason> {
        let zeros = |value: ValueId| {
            let quant = self.graph.value(value).and_then(|v| v.quant.as_deref());
            quant.map(|quant| &quant.zero_point)
        };
        let Some(before) = zeros(self.wide) else {
            return Ok(());
        };
        let result = self.taken(links).map(|(_, result)| result);
        let after = result.and_then(zeros);
        let channels = self.requantizations(links).find_map(|(form, _)| form.channels());
        if before.channels().is_some() && self.picks(links).is_some() {
            let text = "the zero points of its accumulators run along an axis, and its parameters along none";
            return refused(ReasonCode::ZeroPoint, text);
        }
        let mut common = None;
        for channel in 0..channels.or(before.channels()).unwrap_or(1) {
            let Some(&zero) = before.get(channel) else { continue };
            let code = (self.requantizations(links)).try_fold(zero, |code, (form, _)| form.eval(channel, code.into()));
            let code = code.map_err(|error| Reason::new(ReasonCode::OutsideDomain, error.to_string()))?;
            let first = *common.get_or_insert(code);
            if first != code {
                let text = format!("zero becomes {first} in the first channel and {code} in channel {channel}");
                return refused(ReasonCode::ZeroPoint, text);
            }
            if let Some((&given, name)) = after
                .and_then(|zeros| zeros.get(channel))
                .zip(result.map(|v| self.name_of(v)))
                && given != code
            {
                let text = format!("zero, {zero}, becomes {code}, but {name} has it at {given}");
                return refused(ReasonCode::ZeroPoint, text);
            }
        }
        Ok(())
    }

    /// Checks that the requantization step gives the same codes before a max pool as after it. The step is monotonic,
    /// so it commutes with the maximum over the elements of a window. A window without elements gives the smallest
    /// integer of the pool's type. If the step comes before the pool, such a window gives the smallest integer of the
    /// result's type instead. So the step has to map the smallest accumulator to the smallest code.
    pub(super) fn commutes(&self, step: &Step) -> Result<(), Reason> {
        let Producer::Node(_, node) = self.producer else {
            return Ok(());
        };
        let wide = self.graph.value(self.wide).and_then(|v| v.ty.elem.integers());
        let Some((least, _)) = wide else { return Ok(()) };
        let Op::MaxPool(op) = &node.op else { return Ok(()) };
        if !may_be_empty(&op.size, &op.pad, &op.dilation, op.ceil) {
            return Ok(());
        }
        let lowest = step.out().min();
        for channel in 0..step.form.channels().unwrap_or(1) {
            let empty = step.eval(channel, least);
            let empty = empty.map_err(|error| Reason::new(ReasonCode::EmptyWindow, error.to_string()))?;
            if empty != lowest {
                let text =
                    format!("a window may be empty, which is {empty} behind the pool and {lowest} in front of it");
                return refused(ReasonCode::EmptyWindow, text);
            }
        }
        Ok(())
    }
}
