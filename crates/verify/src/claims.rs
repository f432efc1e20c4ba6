//! Checks that the certificates hold.
//!
//! A certificate contains two chains of steps, the accumulators on which it compares the chains, and how far the chains
//! differ there. This module finds the chains in the graphs, takes this crate's own bounds of the accumulators in both
//! graphs, and compares the chains again. The certificate must not claim a smaller difference than this comparison
//! finds. The claim must also follow from the chains and the interval in the certificate itself.

use crate::chain::{Along, Base, Chain};
use crate::facts::picked_elements;
use crate::finding::{Fault, Finding};
use crate::functions::{Chains, compare_floats};
use crate::intervals::{Interval, Intervals, ValueRange, picks};
use crate::structure::{Constants, Correspondence, FusedSite, SiteKind};
use crate::{contradiction, facts, grounds};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use strait_core::CertificateRecord;
use strait_core::{Graph, Module, Node, Op, ValueId};
use strait_requantize::{Argument, FromFloat, Per, Step, Verdict, certificate::ordered};

/// What was verified about the fusions of an artifact.
#[derive(Debug, Default)]
pub(crate) struct Claims {
    pub(crate) fusions: Vec<VerifiedFusion>,
    /// How far a value of the main graph may differ from the value of the lowered graph that it stands for.
    pub(crate) allowed: BTreeMap<(ValueId, ValueId), Allowed>,
    pub(crate) findings: Vec<Finding>,
}

/// One fusion, and what was verified about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VerifiedFusion {
    /// The name of the fused node's result.
    pub value: String,
    /// The row of the target's table that the certificate names. `None` if there is no certificate.
    pub row: Option<String>,
    /// The name of the argument that the certificate uses. `None` if there is no certificate.
    pub argument: Option<&'static str>,
    /// The largest difference that can occur. 0 if the fusion is exact.
    pub max_lsb: u32,
}

/// How far the elements of a value in the fused graph may differ from the elements of the value in the lowered graph
/// for which it stands. The default is 0.
#[derive(Clone, Debug, Default)]
pub(crate) struct Allowed {
    /// The axis of the channels, if there is more than one bound.
    axis: usize,
    /// One bound for each channel, or one bound for all channels. An empty list means 0.
    max_lsb: Vec<u32>,
}

impl Allowed {
    pub(crate) fn new(verdict: &Per<Verdict>, axis: Option<usize>) -> Allowed {
        let bounds = verdict.values().iter().map(Verdict::max_lsb);
        let max_lsb = match axis {
            Some(_) => bounds.collect(),
            // Without an axis, the channel of an element is not known, so the largest bound is used for all elements.
            None => bounds.max().into_iter().collect(),
        };
        let axis = axis.unwrap_or(0);
        Allowed { axis, max_lsb }
    }

    /// The bound for the element at index `element` of a tensor with the shape `shape`.
    pub(crate) fn at(&self, shape: &[usize], element: usize) -> u32 {
        let inner: usize = shape.iter().skip(self.axis + 1).product();
        let channel = match &self.max_lsb[..] {
            [] | [_] => 0,
            all => element / inner.max(1) % all.len(),
        };
        self.max_lsb.get(channel).copied().unwrap_or(0)
    }
}

/// A fused graph, and the lowered graph that has to correspond to it, with the bounds of the values in both.
pub(crate) struct Pair<'a> {
    pub(crate) fused_graph: &'a Graph,
    pub(crate) lowered_graph: &'a Graph,
    pub(crate) fused_bounds: Intervals,
    pub(crate) lowered_bounds: Intervals,
    pub(crate) correspondence: Correspondence<'a>,
}

/// The certificates, by the names of their values. Values of different graphs may have the same name.
struct Records<'a> {
    all: &'a [CertificateRecord],
    by_value: BTreeMap<&'a str, Named>,
}

/// The positions of all certificates for one name.
#[derive(Default)]
struct Named {
    count: usize,
    /// Certificates that were not assigned to a fused site yet.
    open: VecDeque<usize>,
    /// The index of the last pair of graphs that had a site of this name. `own` has the certificates that were assigned
    /// to sites of this pair.
    pair: usize,
    own: Vec<usize>,
}

/// The largest number of certificates of one name that are tried for a site. Trying a certificate reads all weights of
/// the site. Few graphs use the same name, so a larger number is not needed.
const MOST_NAMESAKES: usize = 64;

impl<'a> Records<'a> {
    fn new(all: &'a [CertificateRecord]) -> Records<'a> {
        let mut by_value: BTreeMap<&str, Named> = BTreeMap::new();
        for (position, record) in all.iter().enumerate() {
            let named = by_value.entry(&record.node).or_default();
            named.open.push_back(position);
            named.count += 1;
        }
        Records { all, by_value }
    }

    /// Finds the certificate of a fused site among the certificates with the site's name. Certificates that were
    /// assigned to sites of other graphs are left out. Returns the first certificate that was derived from this site.
    /// If there is none, returns the first certificate that is left. A value of the fused graph may stand for several
    /// equal values of the lowered graph, so sites of the same graphs may share a certificate.
    fn take(
        &mut self,
        (pair, graphs): (usize, [&Graph; 2]),
        module: &Module,
        site: &FusedSite<'_>,
    ) -> Option<&'a CertificateRecord> {
        let all = self.all;
        let named = self.by_value.get_mut(site.value.as_str())?;
        if named.pair != pair {
            named.pair = pair;
            named.own.clear();
        }
        let mut candidates = named.own.iter().chain(&named.open).copied().take(MOST_NAMESAKES);
        let fits = |&at: &usize| {
            let certificate = &all[at].certificate;
            grounds::derived_from(module, graphs, site, certificate) == Some(certificate.derived_from)
        };
        let chosen = match named.count {
            1 => candidates.next()?,
            _ => candidates.clone().find(fits).or_else(|| candidates.next())?,
        };
        if let Some(position) = named.open.iter().take(MOST_NAMESAKES).position(|&at| at == chosen) {
            named.open.remove(position);
            named.own.push(chosen);
        }
        all.get(chosen)
    }

    /// The certificates that were not assigned to a site, in their original order.
    fn unused(&self) -> impl Iterator<Item = &'a CertificateRecord> {
        let open: BTreeSet<usize> = self.by_value.values().flat_map(|named| &named.open).copied().collect();
        let all = self.all;
        open.into_iter().filter_map(move |at| all.get(at))
    }
}

/// Checks every site against its certificate. Also checks that every certificate has a site. The first entry of `pairs`
/// has the two main graphs.
pub(crate) fn check(module: &Module, pairs: &[Pair<'_>], records: &[CertificateRecord]) -> Claims {
    let mut claims = Claims::default();
    let mut records = Records::new(records);
    for (position, pair) in pairs.iter().enumerate() {
        let graphs = [pair.lowered_graph, pair.fused_graph];
        for site in &pair.correspondence.sites {
            let record = records.take((position, graphs), module, site);
            if let Some(record) = record.filter(|_| position == 0) {
                // If a constant selects the channels, they do not lie along an axis, and the largest bound is used for
                // all elements.
                let axis = site.along().and_then(Along::axis);
                let allowed = Allowed::new(&record.certificate.verdict, axis);
                claims.allowed.insert(site.pair, allowed);
            }
            match record {
                Some(record) => {
                    claims.check_record(site, record);
                    let certificate = &record.certificate;
                    for fault in grounds::check(module, graphs, site, certificate) {
                        claims.fault(site, fault);
                    }
                    for fault in facts::check(pair.lowered_graph, site, &pair.fused_bounds, &certificate.because) {
                        claims.fault(site, fault);
                    }
                }
                None if site.is_trivial() => continue,
                None => claims.fault(site, Fault::NoCertificate),
            }
            match site.kind {
                SiteKind::Accumulators => claims.check_accumulators(pair, site, record),
                SiteKind::Constants(constants) => claims.check_constants(site, record, constants),
                SiteKind::Floats { lowered, fused } => claims.check_floats(site, record, (lowered, fused)),
            }
        }
    }
    for record in records.unused() {
        claims.no_fusion(record);
    }
    claims
}

impl<'a> FusedSite<'a> {
    /// How the steps of both graphs find the channel of each element.
    pub(crate) fn along(&self) -> Option<Along<'a>> {
        let both = [&self.fused.axis, &self.lowered.axis];
        both.into_iter()
            .find_map(|along| along.as_ref().ok().copied().flatten())
    }

    /// The number of channels for which the steps have parameters.
    pub(crate) fn channels(&self) -> Option<usize> {
        let all = self.fused.steps.iter().chain(&self.lowered.steps);
        all.filter_map(|step| step.form.channels()).next()
    }

    /// True if nothing was fused at this site: each step is a node of its own in the fused graph, too.
    fn is_trivial(&self) -> bool {
        let is_fused = match self.fused.base {
            Base::Node(_, node) => node.fused.is_some(),
            Base::Value(_) => false,
        };
        match self.kind {
            SiteKind::Accumulators => !is_fused && self.fused.steps == self.lowered.steps,
            SiteKind::Constants(constants) => constants.max_lsb == 0,
            SiteKind::Floats { .. } => false,
        }
    }
}

impl Claims {
    fn fault(&mut self, site: &FusedSite<'_>, fault: Fault) {
        let value = site.value.clone();
        self.findings.push(Finding { value, fault });
    }

    fn no_fusion(&mut self, record: &CertificateRecord) {
        let (value, row) = (record.node.clone(), record.row.clone());
        let fault = Fault::NoFusion { row };
        self.findings.push(Finding { value, fault });
    }

    /// Checks that a certificate follows from its own content, and that its steps are those of the site.
    fn check_record(&mut self, site: &FusedSite<'_>, record: &CertificateRecord) {
        if let Some(fault) = contradiction::of(&record.certificate) {
            self.fault(site, fault);
        }
        let other = |which| Fault::OtherSteps {
            row: record.row.clone(),
            which,
        };
        if record.certificate.before != site.lowered.steps {
            self.fault(site, other("before"));
        }
        // A constant is requantized at compile time, so the fused graph does not show which step did it.
        let shows = !matches!(site.kind, SiteKind::Constants(_));
        if shows && site.fused.steps != record.certificate.after.as_slice() {
            self.fault(site, other("after"));
        }
    }

    /// Checks that the interval of a certificate contains all accumulators that can occur, for each channel or for all
    /// channels together. The interval may be larger, because a claim that holds on a larger interval also holds on a
    /// smaller one.
    fn check_interval(&mut self, site: &FusedSite<'_>, record: &CertificateRecord, found: &[Interval]) {
        if let Some((channel, claimed, found)) = outside(&record.certificate.interval, found) {
            let fault = Fault::Interval {
                channel,
                claimed,
                found,
            };
            self.fault(site, fault);
        }
    }

    fn check_constants(&mut self, site: &FusedSite<'_>, record: Option<&CertificateRecord>, constants: Constants) {
        let max_lsb = constants.max_lsb;
        if let Some(record) = record {
            let claimed = match record.certificate.argument {
                Argument::EveryEntry { entries } => Some(entries),
                _ => None,
            };
            if claimed != Some(constants.entries) {
                let found = constants.entries;
                self.fault(site, Fault::Entries { claimed, found });
            }
            self.check_interval(site, record, constants.interval.as_slice());
            let claimed = record.certificate.worst().max_lsb();
            if claimed < max_lsb {
                let text = format!("an element differs by {max_lsb}, but the certificate claims {claimed}");
                self.fault(site, Fault::Structure(text));
            }
        }
        self.count(site, record, max_lsb);
    }

    /// Compares the two quantizations, each followed by its steps, for every float.
    fn check_floats(
        &mut self,
        site: &FusedSite<'_>,
        record: Option<&CertificateRecord>,
        (before, after): (FromFloat, FromFloat),
    ) {
        let interval = Interval::between(ordered(f32::NEG_INFINITY), ordered(f32::INFINITY));
        if site.fused.steps.len() > 1 {
            let text = "several steps stand behind a quantization";
            return self.fault(site, Fault::Structure(text.into()));
        }
        let derived = compare_floats((&before, &site.lowered.steps), (&after, &site.fused.steps), interval);
        let derived = match derived {
            Ok(derived) => derived,
            Err(error) => return self.fault(site, Fault::Undecided(error)),
        };
        let max_lsb = derived.max_lsb();
        if let Some(record) = record {
            if record.certificate.argument != (Argument::OrderedFloats { before, after }) {
                let row = record.row.clone();
                self.fault(site, Fault::OtherSteps { row, which: "argument" });
            }
            self.check_interval(site, record, &[interval]);
            if record.certificate.worst().max_lsb() < max_lsb {
                let fault = Fault::Claim {
                    channel: 0,
                    claimed: Some(record.certificate.worst().clone()),
                    derived,
                    interval,
                };
                self.fault(site, fault);
            }
        }
        self.count(site, record, max_lsb);
    }

    fn check_accumulators(&mut self, pair: &Pair<'_>, site: &FusedSite<'_>, record: Option<&CertificateRecord>) {
        let fused = range(&site.fused, &pair.fused_bounds);
        let lowered = range(&site.lowered, &pair.lowered_bounds);
        let [own, intervals] = picked(pair, site).unwrap_or_else(|| accumulators(site, [&fused, &lowered], record));
        if let Some(record) = record {
            // If an earlier fusion is not exact, the accumulators of the two graphs may differ a little. The
            // certificate's interval was derived in the fused graph, so it only has to cover the accumulators of that
            // graph. But the certificate's claim has to hold for the accumulators of both graphs.
            self.check_interval(site, record, &own);
        }
        let claimed = |channel: usize| {
            let verdict = &record?.certificate.verdict;
            match intervals.len() {
                // The only interval is for all channels together. So the strictest verdict of all channels has to hold
                // on this interval.
                1 => verdict.values().iter().min_by_key(|v| v.max_lsb()),
                _ => verdict.get(channel),
            }
        };
        let chains = Chains::new(&site.lowered.steps, &site.fused.steps);
        let mut largest = 0;
        for (channel, &interval) in intervals.iter().enumerate() {
            let derived = match chains.compare(channel, interval) {
                Ok(derived) => derived,
                Err(error) => return self.fault(site, Fault::Undecided(error)),
            };
            largest = largest.max(derived.max_lsb());
            if !keeps_empty_windows(pair.lowered_graph, site, channel, interval) {
                let fault = Fault::Argument {
                    claimed: Argument::Commutes.name(),
                    term: "max_pool",
                };
                return self.fault(site, fault);
            }
            let claimed = claimed(channel);
            // A certificate must have a claim for every channel.
            if record.is_some() && claimed.is_none_or(|c| c.max_lsb() < derived.max_lsb()) {
                let fault = Fault::Claim {
                    channel,
                    claimed: claimed.cloned(),
                    derived,
                    interval,
                };
                self.fault(site, fault);
            }
        }
        self.count(site, record, largest);
    }

    fn count(&mut self, site: &FusedSite<'_>, record: Option<&CertificateRecord>, max_lsb: u32) {
        self.fusions.push(VerifiedFusion {
            value: site.value.clone(),
            row: record.map(|record| record.row.clone()),
            argument: record.map(|record| record.certificate.argument.name()),
            max_lsb,
        });
    }
}

/// True if a step that is fused into a max pool gives the same result when it is applied before the pool. A window
/// without elements gives the smallest integer of the pooled type. If such windows can occur, the step must map this
/// integer to the smallest code.
fn keeps_empty_windows(graph: &Graph, site: &FusedSite<'_>, channel: usize, interval: Interval) -> bool {
    // Both graphs pool elements of the same type.
    let pooled = match site.lowered.base {
        Base::Node(_, node) => node.inputs.first().copied().flatten().and_then(|v| graph.value(v)),
        Base::Value(_) => None,
    };
    let lowest = pooled
        .and_then(|v| v.ty.elem.integers())
        .map_or(i64::MIN, |ends| ends.0);
    match site.fused.base {
        Base::Node(_, node) if matches!(node.op, Op::MaxPool(_)) && interval.low <= lowest => {
            let fused = node.fused.as_deref().map(|fused| Step {
                form: fused.requant.clone(),
                clamp: fused.clamp,
            });
            fused.is_none_or(|step| step.eval(channel, lowest) == Ok(step.out().min()))
        }
        _ => true,
    }
}

/// The bounds of the numbers to which the first step of a chain is applied.
fn range(chain: &Chain<'_>, intervals: &Intervals) -> ValueRange {
    let range = match (chain.start, chain.base) {
        (Some(value), _) => intervals.value(value),
        (None, Base::Node(id, _)) => intervals.accumulator(id),
        (None, Base::Value(_)) => None,
    };
    // If nothing is known about the numbers, they can be any integers. No form is defined for all integers, so this
    // leads to a finding.
    let any = Interval::between(i64::MIN, i64::MAX);
    range.cloned().unwrap_or_else(|| ValueRange::tensor(any))
}

/// Returns the accumulators that can occur, as two lists of intervals: one for the fused graph, and one for both graphs
/// together. A list has one interval for each channel of the steps. If the steps have no channels, the list has one
/// interval for each index along an axis for which both graphs have bounds.
fn accumulators(
    site: &FusedSite<'_>,
    [fused, lowered]: [&ValueRange; 2],
    record: Option<&CertificateRecord>,
) -> [Vec<Interval>; 2] {
    let of_steps = site.channels();
    let along = site.along();
    let whole = fused.hull();
    let either = |count: usize, own: &dyn Fn(usize) -> Interval, other: &dyn Fn(usize) -> Interval| {
        let own: Vec<Interval> = (0..count).map(own).collect();
        let either = own.iter().enumerate().map(|(at, own)| own.hull(other(at))).collect();
        [own, either]
    };
    let together = |count| either(count, &|_| whole, &|_| lowered.hull());
    let by_index = |axis: usize, count| either(count, &|at| fused.at(axis, at), &|at| lowered.at(axis, at));
    match (along, of_steps) {
        (Some(Along::Picked(_)), Some(count)) => together(count),
        (Some(Along::Axis(axis)), Some(count)) => by_index(axis, count),
        // Steps without channels treat all indices of every axis alike. The certificate does not say along which axis
        // its intervals lie. So the first axis is taken along which the certificate's intervals cover all accumulators
        // that can occur.
        _ => {
            let both = fused.axes().filter(|(axis, _)| lowered.by_index(*axis).is_some());
            let all: Vec<_> = both.map(|(axis, own)| by_index(axis, own.len())).collect();
            let spoken_of = |found: &[Vec<Interval>; 2]| {
                record.is_some_and(|record| outside(&record.certificate.interval, &found[0]).is_none())
            };
            let chosen = all.iter().position(spoken_of).unwrap_or(0);
            all.into_iter().nth(chosen).unwrap_or_else(|| together(1))
        }
    }
}

/// Finds the first channel in which a certificate does not cover all accumulators that can occur. Returns this channel,
/// the certificate's interval for the channel (`None` if it has none), and the interval that can occur. `claimed` has
/// the certificate's intervals, and `found` the intervals that can occur.
fn outside(claimed: &Per<(i64, i64)>, found: &[Interval]) -> Option<(usize, Option<Interval>, Interval)> {
    (0..found.len().max(claimed.values().len())).find_map(|channel| {
        let claimed = claimed.get(channel).map(|&(low, high)| Interval { low, high });
        let found = *found.get(channel).or(found.first().filter(|_| found.len() == 1))?;
        let speaks = claimed.is_some_and(|claimed| claimed.contains(found));
        (!speaks).then_some((channel, claimed, found))
    })
}

/// If a constant assigns a channel to each window of a pool, returns the interval of the sums of each channel. The
/// first list uses the operand's bounds in the fused graph. The second list uses its bounds in both graphs together.
fn picked(pair: &Pair<'_>, site: &FusedSite<'_>) -> Option<[Vec<Interval>; 2]> {
    let (Base::Node(_, fused), Base::Node(_, lowered)) = (site.fused.base, site.lowered.base) else {
        return None;
    };
    let Op::SumPool(op) = &lowered.op else { return None };
    let operand = |node: &Node| node.inputs.first().copied().flatten();
    let own = pair.fused_bounds.value(operand(fused)?)?.hull();
    let either = own.hull(pair.lowered_bounds.value(operand(lowered)?)?.hull());
    let found = picked_elements(pair.lowered_graph, site)?;
    Some([own, either].map(|x| picks::sums(op, x, &found)))
}
