//! The boundary to a vendor's code. A panic, an error or a result that differs from the table is reported as the
//! vendor's fault, and the error names the target and the form.
//!
//! Prepared loops are compared with the definition of their form on a few accumulators: zero, the ends of the domain,
//! and some at which the code changes. This is not a proof that the loops are right. The conformance kit compares more
//! accumulators, and `strait compile` compares each layer with the lowered graph.

use crate::candidate::Candidate;
use crate::emitted::Emitted;
use crate::spec::TargetSpec;
use crate::target::{Decision, Emission, FusionSite, Recorded, Sink, Target, TargetError};
use std::any::Any;
use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use strait_core::{Elem, Module};
use strait_kernels::integer::{Codes, Loops, OutputTile, Sums};
use strait_kernels::{Context, KernelError};
use strait_requantize::{IntType, Requantization};

/// Wraps a target with code of a vendor, so that the rest of the compiler is protected from panics and wrong results.
pub(crate) struct Guarded {
    inner: Arc<dyn Target>,
    vendor: Vendor,
}

/// Which of a target's loops are the vendor's code.
pub(crate) enum Vendor {
    /// The vendor's code has the loops of these forms. The host's kernels compute the other forms.
    Forms(BTreeSet<String>),
    /// All loops may be the vendor's, since the vendor's code decides which forms it computes.
    All,
}

impl Guarded {
    pub(crate) fn new(inner: Arc<dyn Target>, vendor: Vendor) -> Guarded {
        Guarded { inner, vendor }
    }

    fn target(&self) -> String {
        self.spec().id.to_string()
    }

    /// Calls the vendor's code and returns its result. A panic becomes an error.
    fn call<T>(&self, what: &str, call: impl FnOnce() -> Result<T, TargetError>) -> Result<T, TargetError> {
        caught(call).unwrap_or_else(|message| {
            Err(TargetError::Panicked {
                target: self.target(),
                what: what.to_owned(),
                message,
            })
        })
    }
}

impl Target for Guarded {
    fn spec(&self) -> &TargetSpec {
        self.inner.spec()
    }

    fn loops(&self, form: &Requantization, clamp: Option<[i32; 2]>) -> Result<Box<dyn Loops>, TargetError> {
        let mut forms = self.spec().form.iter();
        let name = forms.find(|(_, row)| row.accepts(form, clamp).is_ok());
        let name = name.map_or("", |(name, _)| name.as_str());
        match &self.vendor {
            Vendor::Forms(forms) if !forms.contains(name) => return self.inner.loops(form, clamp),
            Vendor::Forms(_) | Vendor::All => {}
        }
        let loops = self.call(&format!("the kernel of form `{name}`"), || {
            let inner = self.inner.loops(form, clamp)?;
            Ok(GuardedLoops {
                out: inner.out(),
                channels: inner.channels(),
                piece: inner.piece(),
                inner,
                name: format!("form `{name}` of target `{}`", self.target()),
            })
        })?;
        match probe(&loops, form, clamp) {
            Ok(None) => Ok(Box::new(loops)),
            Ok(Some((channel, accumulator, expected, found))) => Err(TargetError::Wrong {
                target: self.target(),
                form: name.to_owned(),
                channel,
                accumulator,
                expected,
                found,
            }),
            Err(error) => Err(TargetError::Kernel {
                target: self.target(),
                form: name.to_owned(),
                error,
            }),
        }
    }

    fn own_loops(&self, form: &Requantization, clamp: Option<[i32; 2]>) -> Result<Option<Box<dyn Loops>>, TargetError> {
        self.call("its model of its arithmetic", || self.inner.own_loops(form, clamp))
    }

    fn models(&self, form: &Requantization, clamp: Option<[i32; 2]>, wide: bool) -> Result<Option<bool>, TargetError> {
        self.call("its model of its arithmetic", || self.inner.models(form, clamp, wide))
    }

    fn admits(&self, node: &Candidate<'_>) -> Result<(), TargetError> {
        self.call(&format!("its answer about the node `{}`", node.name()), || {
            self.inner.admits(node)
        })
    }

    fn custom(&self, verb: &str, site: &FusionSite<'_>) -> Result<Decision, TargetError> {
        self.call(&format!("the fusion verb `{verb}`"), || self.inner.custom(verb, site))
    }

    fn emit(&self, module: &Module, sink: &mut dyn Sink) -> Result<(), TargetError> {
        let id = self.target();
        let mut files = Emitted::new(sink, &id);
        self.call("the writer of its package", || self.inner.emit(module, &mut files))?;
        files.finish()
    }

    fn emit_all(&self, emission: &Emission<'_>, sink: &mut dyn Sink) -> Result<(), TargetError> {
        let id = self.target();
        let mut files = Emitted::new(sink, &id);
        self.call("the writer of its package", || {
            self.inner.emit_all(emission, &mut files)
        })?;
        files.finish()
    }

    fn counts_outputs(&self) -> bool {
        // A panic is not reported here. It is reported by calls that can return an error.
        caught(|| self.inner.counts_outputs()).unwrap_or(false)
    }

    fn recorded(&self, text: &str) -> Result<Vec<Recorded>, TargetError> {
        self.call("the reader of its records", || self.inner.recorded(text))
    }
}

/// Makes a call and returns its result, or the message of its panic. After a panic, the state of the called code is not
/// used again.
pub(crate) fn caught<T>(call: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(call)).map_err(|payload| said(&*payload))
}

fn said(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| payload.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "without a message".to_owned())
}

/// Wraps the loops of a vendor so that a panic in a call becomes an error. The properties of the loops are stored in
/// the fields, so that the vendor's code is asked for them only once.
struct GuardedLoops {
    inner: Box<dyn Loops>,
    out: IntType,
    channels: Option<usize>,
    piece: usize,
    /// The names of the form and the target, for errors.
    name: String,
}

impl Loops for GuardedLoops {
    fn out(&self) -> IntType {
        self.out
    }

    fn keeps(&self) -> bool {
        self.inner.keeps()
    }

    fn channels(&self) -> Option<usize> {
        self.channels
    }

    fn piece(&self) -> usize {
        self.piece
    }

    // Only Strait's own kernels can requantize in registers or in whole vectors, so a vendor's code is not called by them.
    fn codes(&self) -> Option<Codes<'_>> {
        self.inner.codes()
    }

    fn has_vectors(&self) -> bool {
        self.inner.has_vectors()
    }

    fn finish(&self, cx: Context, sums: Sums<'_>, stride: usize, place: &OutputTile<'_>) -> Result<(), KernelError> {
        match caught(|| self.inner.finish(cx, sums, stride, place)) {
            Ok(Err(KernelError::Tile(text))) => Err(KernelError::Tile(format!("{}: {text}", self.name))),
            Ok(answer) => answer,
            Err(message) => Err(KernelError::Tile(format!("{} panicked: {message}", self.name))),
        }
    }
}

/// Describes an accumulator for which a kernel computes another code than the form's definition. The fields are the
/// channel, the accumulator, the expected code, and the code that the kernel computed.
type Wrong = (usize, i64, i32, i32);

/// In each channel, the codes of the loops are compared with the codes of the form at this many accumulators.
const PROBES: usize = 12;

/// Compares the codes of the loops with the codes of the form on a few accumulators. Returns the first accumulator for
/// which the codes differ; `None` if there is none. The accumulators have 32 bits. For a form that is defined on more
/// than 32 bits, some have 64 bits.
fn probe(loops: &dyn Loops, form: &Requantization, clamp: Option<[i32; 2]>) -> Result<Option<Wrong>, KernelError> {
    let out = form.out();
    if loops.out() != out {
        let text = format!("its results are {}, not {}", loops.out().name(), out.name());
        return Err(KernelError::Tile(text));
    }
    let narrow = (i64::from(i32::MIN), i64::from(i32::MAX));
    let (Some(some), Some(all)) = (probes(form, narrow), probes(form, (i64::MIN, i64::MAX))) else {
        return Ok(None);
    };
    let (cx, extents) = (Context::detect(), [1, form.channels().unwrap_or(1), PROBES]);
    let mut codes = vec![0u8; some.len() * Elem::from(out).size()];
    // Each of these accumulators fits 32 bits.
    let input: Vec<u8> = some.iter().flat_map(|&x| (x as i32).to_ne_bytes()).collect();
    loops.requantize(&cx, extents, IntType::I32, &input, &mut codes)?;
    let wrong = wrong(form, clamp, &some, &codes);
    if wrong.is_some() || some == all {
        return Ok(wrong);
    }
    loops.requantize_wide(&cx, extents, &all, &mut codes)?;
    Ok(self::wrong(form, clamp, &all, &codes))
}

/// The channels in which the codes of the loops are checked: the first and the last one.
fn looked_at(form: &Requantization) -> BTreeSet<usize> {
    BTreeSet::from([0, form.channels().unwrap_or(1).saturating_sub(1)])
}

/// Chooses the accumulators between `ends` at which the codes of the loops are checked, equally many for each channel.
/// Returns `None` if the form is not legal.
fn probes(form: &Requantization, ends: (i64, i64)) -> Option<Vec<i64>> {
    let channels = form.channels().unwrap_or(1);
    let looked_at = looked_at(form);
    let mut accumulators = vec![0; channels * PROBES];
    for channel in 0..channels {
        let scalars = form.channel(channel).ok()?;
        let (low, high) = scalars.domain().into_inner();
        let inside = |x: i64| x.max(low).min(high).clamp(ends.0, ends.1);
        let row = &mut accumulators[channel * PROBES..(channel + 1) * PROBES];
        row.fill(inside(0));
        if looked_at.contains(&channel) {
            let [least, most] = form.range().map(i64::from);
            let codes = [least + 1, (least + most) / 2, (least + most) / 2 + 1, most];
            let steps = codes.into_iter().flat_map(|code| {
                let step = scalars.least_reaching(code);
                [step.saturating_sub(1), step]
            });
            let ends = [low, high, -1];
            row.iter_mut()
                .zip(ends.into_iter().chain(steps))
                .for_each(|(to, x)| *to = inside(x));
        }
    }
    Some(accumulators)
}

/// The first of these accumulators for which the computed code differs from the form's code.
fn wrong(form: &Requantization, clamp: Option<[i32; 2]>, accumulators: &[i64], codes: &[u8]) -> Option<Wrong> {
    let [low, high] = clamp.unwrap_or([i32::MIN, i32::MAX]);
    let width = Elem::from(form.out()).size();
    for channel in looked_at(form) {
        for at in channel * PROBES..(channel + 1) * PROBES {
            let accumulator = accumulators[at];
            let Ok(expected) = form.eval(channel, accumulator) else {
                continue;
            };
            let expected = expected.min(high).max(low);
            let found = form
                .out()
                .decode(&codes[at * width..(at + 1) * width])
                .unwrap_or(i32::MAX);
            if found != expected {
                return Some((channel, accumulator, expected, found));
            }
        }
    }
    None
}
