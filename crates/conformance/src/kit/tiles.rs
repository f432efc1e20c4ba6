//! Tests a library's own model of its arithmetic: which codes the model computes, and how its code behaves.
//!
//! Each requantization is called with its channels along rows and along columns, and with accumulators of 32 and of 64
//! bits. Some calls have all channels, and some begin at a channel in the middle. Each of these calls is repeated in
//! several ways: with other bytes in and around the memory for the codes, with buffers between guard pages, on several
//! threads at once, and in other processes.

use super::{
    ExaminationProgress, class,
    fault::{Fault, Subject},
    interest::{accumulators, ends},
    interface::Interface,
    judge::judge,
    left_behind::left_behind,
    lines::Line,
    outcome::{self, Counts, Said},
    part::{Part, Registered, few, parts, small, whole},
    processes::Processes,
};
use crate::{
    numbers::Numbers,
    placed::decoded,
    samples::{self, FEW},
};
use strait_kernels::integer::Axis;
use strait_plugin_host::{Library, Misdeed, PluginError, RegisteredForm, Trial};
use strait_requantize::Requantization;
use strait_target::{Options, Target};

/// The lines of the report about what the library computes and how its code behaves. They include the faults that were
/// found before.
pub(super) fn lines(
    target: &dyn Target,
    library: &Library,
    interface: Interface,
    others: &Processes,
    progress: &dyn ExaminationProgress,
) -> Vec<Line> {
    let mut faults = interface.faults;
    let mut subject = Subjected {
        library,
        options: &target.spec().chosen,
        others,
        before: None,
        has_traces: false,
        faults: Vec::new(),
        counts: Counts::default(),
    };
    subject.counts.calls(interface.garbage, &[Subject::Garbage]);
    let rows = target.spec().form.iter();
    let all: Vec<_> = rows
        .map(|(name, row)| (name, row, samples::samples(row, &mut Numbers::new(name))))
        .collect();
    progress.begin("requantizations", all.iter().map(|(.., samples)| samples.len()).sum());
    let mut done = 0;
    for (name, row, samples) in all {
        let mut its = Vec::new();
        for (form, clamp) in samples {
            done += 1;
            progress.advance(done);
            // The host applies the clamp, so the library need not be asked.
            if clamp.is_some() {
                continue;
            }
            if let Err(reason) = row.accepts(&form, None) {
                its.push(Fault::new(Subject::Rows, reason.text).on(name, &form, None));
                continue;
            }
            subject.counts.requantizations += 1;
            let mut numbers = Numbers::new(&format!("{name} {}", subject.counts.requantizations));
            match subject.requantization(name, &form, &mut numbers) {
                Ok(true) => {}
                Ok(false) => subject.counts.left += 1,
                Err(fault) => subject.faults.push(fault),
            }
            let found = std::mem::take(&mut subject.faults);
            let hangs = found.iter().any(|fault| fault.subject == Subject::Hangs);
            its.extend(found.into_iter().map(|fault| fault.on(name, &form, None)));
            if hangs {
                break;
            }
        }
        faults.extend(outcome::explained(its));
        if faults.iter().any(|fault| fault.subject == Subject::Hangs) {
            return outcome::of_one_that_hangs(&faults);
        }
    }
    let counts = subject.counts;
    let none = counts.requantizations == counts.left;
    let never = |subject: Subject| match subject {
        _ if none => Some("the library computes none of its forms"),
        Subject::Garbage if library.description().emits.is_none() => {
            Some("the library has no function that reads a model")
        }
        Subject::Processes if others.is_empty() => Some("no other process could be started"),
        _ => None,
    };
    let said = Said {
        spec: target.spec(),
        sets: 0,
        never: &never,
    };
    outcome::lines(&faults, &counts, &said)
}

/// The library under test, in its first process and in additional ones.
struct Subjected<'a> {
    library: &'a Library,
    options: &'a Options,
    others: &'a Processes,
    /// The form that was tested last, with one of its tiles.
    before: Option<(RegisteredForm, Requantization, Part)>,
    has_traces: bool,
    /// The faults of the requantization that is being tested.
    faults: Vec<Fault>,
    counts: Counts,
}

impl Subjected<'_> {
    /// Runs all tests of one requantization. Returns false if the library does not compute this requantization.
    fn requantization(&mut self, name: &str, form: &Requantization, numbers: &mut Numbers) -> Result<bool, Fault> {
        let registered = RegisteredForm::new(name, form).map_err(|text| Fault::new(Subject::Rows, text))?;
        let of = Registered {
            registered: &registered,
            form,
        };
        let mut any = false;
        for wide in [false, true] {
            if !self.computes(of, wide)? {
                continue;
            }
            any = true;
            let channels = accumulators(form, wide, numbers);
            for axis in [Axis::Rows, Axis::Columns] {
                self.of_axis(of, (axis, wide), &channels)?;
            }
        }
        if any {
            let several = form.channels().filter(|&channels| channels > 1);
            self.counts.count(Subject::Channels, several.unwrap_or(0));
            let part = small(Axis::Rows, false, &accumulators(form, false, numbers));
            self.before = Some((registered, form.clone(), part));
        }
        Ok(any)
    }

    /// Asks the library for a tile with one accumulator of each channel, to see whether the library computes the form.
    /// A host also begins with such a call.
    fn computes(&mut self, of: Registered<'_>, wide: bool) -> Result<bool, Fault> {
        let form = of.form;
        let (low, high) = ends(wide);
        let nearest = |channel| {
            let domain = form.domain(channel);
            vec![0i64.max(*domain.start()).min(*domain.end()).clamp(low, high)]
        };
        let channels: Vec<Vec<i64>> = (0..form.channels().unwrap_or(1)).map(nearest).collect();
        let part = Part::new(Axis::Rows, wide, 0, &channels);
        self.counts.calls(ALONE, &[]);
        match self.library.attempt(self.options, &[part.asked(of)], Trial::Alone) {
            Ok(tried) => {
                judge(form, &part, &tried, &mut self.faults);
                Ok(true)
            }
            Err(PluginError::Failed { status, call, .. }) if status == UNSUPPORTED && call == "requantize" => Ok(false),
            Err(error) => Err(Fault::said(
                "a tile of one accumulator each",
                &error.to_string(),
                Subject::Rows,
            )),
        }
    }

    fn of_axis(&mut self, of: Registered<'_>, (axis, wide): (Axis, bool), channels: &[Vec<i64>]) -> Result<(), Fault> {
        let whole = whole(of.form, axis, wide, channels);
        let codes = self.alone(of, &whole)?;
        for part in parts(of.form, axis, wide, channels) {
            self.alone(of, &part)?;
        }
        let small = small(axis, wide, channels);
        self.fenced(of, &small)?;
        let fault = self.together(of, (axis, wide), channels)?;
        self.faults.extend(fault);
        let fault = self.elsewhere(of, &whole, &codes)?;
        self.faults.extend(fault);
        if !self.has_traces {
            self.has_traces = true;
            let faults = self.traces(of, &small)?;
            self.faults.extend(faults);
        }
        Ok(())
    }

    /// Calls the library for one part at a time, with a time limit, and compares the returned codes with the codes that
    /// the form gives.
    fn alone(&mut self, of: Registered<'_>, part: &Part) -> Result<Vec<u8>, Fault> {
        let (form, lines) = (of.form, [Subject::Determinism, Subject::Writes, Subject::Unwritten]);
        self.counts.calls(ALONE, &lines);
        self.counts.count(Subject::Loops, part.accumulators.len());
        let tried = self.library.attempt(self.options, &[part.asked(of)], Trial::Alone);
        let tried = tried.map_err(|error| said(part, &error, Subject::Rows))?;
        let scalars: Vec<_> = (0..form.channels().unwrap_or(1))
            .map(|at| form.channel(at).ok())
            .collect();
        self.counts.classes((0..part.accumulators.len()).filter_map(|at| {
            let (channel, accumulator) = part.place(scalars.len(), at);
            Some(class::of(scalars.get(channel)?.as_ref()?, accumulator))
        }));
        judge(form, part, &tried, &mut self.faults);
        Ok(tried.codes)
    }

    fn fenced(&mut self, of: Registered<'_>, part: &Part) -> Result<(), Fault> {
        self.counts.calls(2, &[Subject::Reads]);
        match self.library.attempt(self.options, &[part.asked(of)], Trial::Fenced) {
            Ok(_) => Ok(()),
            Err(error) => {
                let between = format!("{}, between memory that nobody may touch", part.name());
                Err(ended(&between, &error, Subject::Reads))
            }
        }
    }

    /// Makes calls on several threads at once: with a tile, with the same tile in another order, and with another form.
    fn together(
        &mut self,
        of: Registered<'_>,
        (axis, wide): (Axis, bool),
        channels: &[Vec<i64>],
    ) -> Result<Option<Fault>, Fault> {
        // For each type, there is only one requantization with many channels, so it is called more often than others.
        let rounds = if channels.len() > FEW { 4 * ROUNDS } else { ROUNDS };
        let each = (AT_ONCE / channels.len().max(1)).max(4);
        let part = Part::new(axis, wide, 0, &few(each, channels));
        let turned = part.turned();
        let mut tiles = vec![part.asked(of), turned.asked(of)];
        match &self.before {
            Some((registered, form, part)) => tiles.push(part.asked(Registered { registered, form })),
            None => tiles.push(part.asked(of)),
        }
        self.counts
            .calls(tiles.len() * rounds as usize, &[Subject::Concurrency]);
        let at_once = format!("{}, called by {} threads at once", part.name(), tiles.len());
        match self.library.attempt(self.options, &tiles, Trial::Together { rounds }) {
            Ok(tried) => Ok(tried.misdeeds.first().map(|misdeed| {
                let what = match misdeed {
                    Misdeed::Together {
                        codes: [one, other], ..
                    } => format!("{one} becomes {other}"),
                    other => format!("{other:?}"),
                };
                Fault::new(Subject::Concurrency, format!("{at_once}: {what}"))
            })),
            Err(error) => Err(ended(&at_once, &error, Subject::Concurrency)),
        }
    }

    /// Asks the library in other processes for the same tile.
    fn elsewhere(&mut self, of: Registered<'_>, part: &Part, codes: &[u8]) -> Result<Option<Fault>, Fault> {
        let form = of.form;
        for other in self.others.iter() {
            self.counts.calls(1, &[Subject::Processes]);
            let tried = other.attempt(self.options, &[part.asked(of)], Trial::Once);
            let tried = tried.map_err(|error| ended(part.name(), &error, Subject::Processes))?;
            if tried.codes != codes {
                let [here, there] = [codes, &tried.codes].map(|codes| decoded(form.out(), codes));
                let at = here.iter().zip(&there).position(|(a, b)| a != b).unwrap_or_default();
                let (channel, accumulator) = part.place(form.channels().unwrap_or(1), at);
                let text = format!(
                    "{}: the accumulator {accumulator} of channel {channel} gives {} in one process and {} in another",
                    part.name(),
                    here.get(at).copied().unwrap_or_default(),
                    there.get(at).copied().unwrap_or_default()
                );
                return Ok(Some(Fault::new(Subject::Processes, text)));
            }
        }
        Ok(None)
    }

    /// Makes some thousand calls and checks which changes they leave behind in the library's process.
    fn traces(&mut self, of: Registered<'_>, part: &Part) -> Result<Vec<Fault>, Fault> {
        let asked = [part.asked(of)];
        let mut now = Vec::new();
        for _ in 0..3 {
            self.counts.calls(1, &[Subject::Traces]);
            let often = self.library.attempt(self.options, &asked, Trial::Often);
            often.map_err(|error| said(part, &error, Subject::Rows))?;
            let traces = self.library.traces(self.options);
            now.push(traces.map_err(|error| said(part, &error, Subject::Rows))?);
        }
        let [[before, _], [_, early], [_, late]] = &now[..] else {
            return Ok(Vec::new());
        };
        Ok(left_behind(before, early, late))
    }
}

/// How many calls are made one at a time, without other calls at the same time.
const ALONE: usize = 4;

/// How many calls each thread makes while other threads make calls, too.
const ROUNDS: u32 = 32;

/// Number of accumulators in a tile that several threads compute at once.
const AT_ONCE: usize = 16 << 10;

/// The status that a library returns to leave a form to the host.
const UNSUPPORTED: i32 = 1;

/// The fault for a call that failed.
fn said(part: &Part, error: &PluginError, otherwise: Subject) -> Fault {
    match error {
        PluginError::Failed { status, .. } if *status == UNSUPPORTED => {
            let text = "STRAIT_UNSUPPORTED, after STRAIT_OK of a tile with an accumulator of each channel";
            Fault::new(otherwise, format!("{}: {text}", part.name()))
        }
        error => Fault::said(part.name(), &error.to_string(), otherwise),
    }
}

/// The fault for a call that failed although other calls with the same tile succeeded.
fn ended(call: &str, error: &PluginError, subject: Subject) -> Fault {
    let text = error.to_string();
    let subject = if Fault::is_hang(&text) { Subject::Hangs } else { subject };
    Fault::new(subject, format!("{call}: {text}"))
}
