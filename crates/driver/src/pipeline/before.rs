//! What is prepared once for all targets: statistics of the float model, its results for the metrics, and facts about the
//! model and the samples.

use std::{
    collections::BTreeMap,
    sync::{Arc, OnceLock},
};

use strait_container::{Digest, Sources, sha256};
use strait_evaluate::Note;
use strait_quantize::Observation;
use strait_samples::Samples;
use strait_target::TargetSpec;
use strait_verify::Ranges;

use crate::{
    config::{Loaded, types::Data},
    diagnostic::Diagnostic,
    evaluation::{Side, whole_of},
    failure::{self, codes},
    report::{DataReport, SeenInput},
    sanity::Reference,
    session::Session,
    stop::Stop,
    table,
};

use super::{
    accuracy::{Prepared, float_notes, prepare},
    inputs,
    keeping::Keeping,
    nan, observe, pictures,
    ready::Ready,
    settings::settings_digest,
};

/// Everything that is prepared once and then used for all targets.
pub(super) struct Before<'a> {
    pub(super) ready: &'a Ready,
    pub(super) evaluation: Option<Prepared>,
    pub(super) observation: Arc<Observation>,
    keeping: Keeping,
    pub(super) ranges: Ranges,
    /// The float model ready to run, if a metric compares with it.
    pub(super) float: Option<Side>,
    /// The float model's outputs for the first samples.
    pub(super) reference: Option<Reference<'a>>,
    /// The notes that metrics took of the float model.
    pub(super) float_notes: Option<Vec<Vec<Note>>>,
    /// Remarks on the model and the samples. The user has already seen them.
    pub(super) remarks: Vec<Diagnostic>,
    pub(super) sources: Sources,
    pub(super) data: BTreeMap<String, DataReport>,
    /// What the network sees at each input, once a report has asked for it.
    seen: OnceLock<Vec<SeenInput>>,
}

impl Before<'_> {
    /// What the network sees at each input. It is made once for all targets.
    ///
    /// # Errors
    /// If a sample cannot be read.
    pub(super) fn seen(&self, loaded: &Loaded) -> Result<&[SeenInput], Stop> {
        if let Some(seen) = self.seen.get() {
            return Ok(seen);
        }
        let seen = pictures::seen(loaded, &self.ready.specs, &self.ready.samples)?;
        Ok(self.seen.get_or_init(|| seen))
    }

    /// Waits until the statistics are stored, and returns `done`, the result of other work.
    ///
    /// # Errors
    /// If a file of the model was changed since it was read; that of `done`.
    pub(super) fn kept<T>(&mut self, done: Result<T, Stop>, session: &Session<'_>) -> Result<T, Stop> {
        let done = self.keeping.explained(done, session)?;
        self.keeping.finish(session)?;
        Ok(done)
    }

    /// What takes most memory of it.
    pub(super) fn into_observed(self) -> impl Send + 'static {
        (self.observation, self.float)
    }
}

/// Observes the float model, runs it for the metrics, and collects the facts about the model and the samples that the
/// reports and manifests of all targets contain.
///
/// Statistics that are new are still being stored when this returns: see [`Before::kept`].
///
/// If several processes share the work, they make sure first that all of them work on the same.
pub(super) fn before_targets<'a>(
    loaded: &Loaded,
    ready: &'a Ready,
    targets: &[&TargetSpec],
    session: &Session<'_>,
) -> Result<Before<'a>, Stop> {
    let config = &loaded.config;
    let (canonical, bodies, samples) = (&ready.canonical, &ready.bodies, &ready.samples);
    let whole = || whole_of(bodies, canonical);
    let evaluation = (config.evaluation.as_ref())
        .map(|evaluation| prepare(loaded, evaluation, ready, whole()?.as_ref(), session))
        .transpose()?;
    // The digest of the samples is computed here. It is an error if a sample changes after this point.
    let of_evaluation = evaluation.as_ref().map(|evaluation| &evaluation.samples);
    let evaluated =
        of_evaluation.map(|samples| session.phase("digest", None, |_| Ok(samples.digest().map_err(failure::data)?)));
    let evaluated = evaluated.transpose()?;
    session.agree("agree", &facts(loaded, ready, targets, evaluated)?)?;
    let observed = ready.of_canonical(loaded, session)?;
    let constant = observe::constant_inputs(canonical, bodies, &observed.observation);
    let constant = inputs::at(loaded, &["calibration", "data"], constant);
    constant.0.iter().for_each(|finding| session.remark(finding));
    let not_numbers = nan::found(loaded, canonical, &observed.observation)?;
    let is_run = evaluation.is_some() || samples.count() > 0;
    let run = || {
        let whole = whole()?;
        if evaluation.is_none() && ready.tail.is_none() {
            let known = Reference::of_known(whole.as_ref(), canonical, samples, &observed.outputs, session)?;
            if known.is_some() {
                return Ok((None, known, None));
            }
        }
        let side = Side::new(whole.as_ref(), &session.means().options, session)?;
        let side = side.followed_by(ready.tail.as_ref(), session)?;
        let reference = Reference::new(&side, canonical, samples, &observed.outputs, session)?;
        let notes = evaluation
            .as_ref()
            .map(|evaluation| float_notes(evaluation, &side, loaded, session));
        // The float model is kept only if a metric compares the integer model with it. The float model then runs again
        // beside each target's integer model.
        let compares = |evaluation: &Prepared| (evaluation.judges().iter()).any(|judge| judge.measure.meter.compares());
        let side = Some(side).filter(|_| evaluation.as_ref().is_some_and(compares));
        Ok::<_, Stop>((side, reference, notes.transpose()?))
    };
    let mut keeping = Keeping::start(&observed, &ready.model, session)?;
    let float = keeping.explained(is_run.then(run).transpose(), session)?;
    let (float, reference, float_notes) = float.unwrap_or_default();
    let is_random = config.calibration.data.as_ref().is_some_and(Data::is_random);
    let about_data: Vec<Diagnostic> = (is_random
        .then(|| Diagnostic::warning(codes::RANDOM, RANDOM))
        .into_iter())
    .chain(left_out("calibration", samples))
    .chain(of_evaluation.and_then(|samples| left_out("evaluation", samples)))
    .chain(not_numbers.0)
    .collect();
    about_data.iter().for_each(|warning| session.remark(warning));
    let mut sources = Sources {
        config: sha256(b""),
        data: BTreeMap::from([("calibration".to_owned(), ready.calibration)]),
        model: ready.model.digest(),
        not_for_deployment: is_random.then(|| RANDOM.to_owned()),
        readers: BTreeMap::new(),
    };
    let switched = ready.switches.1.map(|digest| ("switches".to_owned(), digest));
    sources.data.extend(switched);
    let params = ready.params.as_ref();
    let params = params.map(|params| ("params".to_owned(), sha256(params.text.as_bytes())));
    sources.data.extend(params);
    sources
        .data
        .extend(evaluated.map(|digest| ("evaluation".to_owned(), Digest(digest))));
    let mut data = BTreeMap::new();
    let read = of_evaluation.map(|samples| ("evaluation", samples));
    for (role, samples) in [("calibration", samples)].into_iter().chain(read) {
        if let Some(read) = images(samples) {
            sources.readers.insert(role.to_owned(), read.reader());
            data.insert(role.to_owned(), read);
        }
    }
    Ok(Before {
        ranges: inputs::ranges(&ready.specs, samples),
        remarks: ready.remarks.iter().cloned().chain(about_data).collect(),
        ready,
        evaluation,
        observation: observed.observation,
        keeping,
        float,
        reference,
        float_notes,
        sources,
        data,
        seen: OnceLock::new(),
    })
}

/// What processes that share the work have to have in common.
pub(super) fn facts(
    loaded: &Loaded,
    ready: &Ready,
    targets: &[&TargetSpec],
    evaluated: Option<[u8; 32]>,
) -> Result<Vec<(String, Digest)>, Stop> {
    let mut facts = vec![
        ("model".to_owned(), ready.model.digest()),
        ("set of calibration samples".to_owned(), ready.calibration),
    ];
    let params = ready.params.as_ref();
    facts.extend(params.map(|params| ("file of parameters".to_owned(), sha256(params.text.as_bytes()))));
    facts.extend(evaluated.map(|digest| ("set of evaluation samples".to_owned(), Digest(digest))));
    for spec in targets {
        let (id, table) = (&spec.id, Digest(spec.digest));
        facts.push((format!("configuration for {id}"), settings_digest(loaded, id)?));
        facts.push((format!("table of {id}"), table));
    }
    Ok(facts)
}

/// The remark on an artifact whose ranges come from random numbers.
const RANDOM: &str = "not for deployment: its ranges were measured on random numbers";

/// A remark names at most this many images.
const NAMED: usize = 3;

/// The warning that images were left out.
fn left_out(role: &str, samples: &Samples) -> Option<Diagnostic> {
    let names = samples.left_out();
    let named = names
        .iter()
        .take(NAMED)
        .map(String::as_str)
        .collect::<Vec<_>>()
        .join(", ");
    let more = match names.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let message = format!(
        "[{role}] goes without {} that cannot be decoded: {named}{more}",
        table::count(names.len(), "image")
    );
    (!names.is_empty()).then(|| Diagnostic::warning(codes::LEFT_OUT, message))
}

/// The part of the report on how images were read. `None` if the samples are not images.
fn images(samples: &Samples) -> Option<DataReport> {
    let reading = samples.reading()?;
    Some(DataReport {
        samples: samples.count(),
        decoder: reading.decoder,
        arithmetic: reading.arithmetic,
        left_out: samples.left_out().to_vec(),
    })
}
