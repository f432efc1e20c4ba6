//! From a configuration to a model and samples that can be observed.

use std::sync::Arc;

use strait_container::{Digest, artifact_around, sha256};
use strait_core::{Bodies, Module, Rewritten, Switches};
use strait_import::FreeDimension;
use strait_quantize::Requests;
use strait_samples::{InputSpec, Samples};

use crate::{
    config::{KeyPath, Loaded},
    diagnostic::{Diagnostic, SourceText},
    failure::{self, codes},
    session::Session,
    stop::Stop,
};

use super::{
    compile::read, folded::Layers, inputs, model_grids, outputs::Outputs, record, requests::requests, select::select,
    selection::Selection, switches::switches,
};

/// A model and samples, ready to be observed.
pub(super) struct Ready {
    pub(super) canonical: Module,
    /// The bodies of control flow, which lie open in its main graph.
    pub(super) bodies: Bodies,
    pub(super) rewritten: Rewritten,
    /// The rules that are off, and the digest of the file that switches them.
    pub(super) switches: (Switches, Option<Digest>),
    /// Digest of the model's file.
    pub(super) model: Digest,
    /// The dimensions that are the batch, and that nobody has bound.
    pub(super) batch: Vec<FreeDimension>,
    /// Remarks on the model, told already.
    pub(super) remarks: Vec<Diagnostic>,
    pub(super) selection: Selection,
    pub(super) specs: Vec<InputSpec>,
    pub(super) samples: Samples,
    /// The record that stands in the place of samples.
    pub(super) record: Option<Arc<SourceText>>,
    /// Digest of the samples, or of the record.
    pub(super) calibration: Digest,
    pub(super) requests: Requests,
    /// The outputs of the model's layers, as it has them.
    pub(super) outputs: Outputs,
}

/// Reads the model, applies the rules that know no target, and opens the samples.
///
/// # Errors
/// Whatever is wrong with the configuration, the model or the data.
pub(super) fn ready(loaded: &Loaded, session: &Session<'_>) -> Result<Ready, Stop> {
    let calibration = &loaded.config.calibration;
    if let Some(artifact) = artifact_around(calibration.cache.as_ref()) {
        let path = KeyPath::of(&["calibration", "cache"]);
        let message = format!("statistics are not kept in the artifact {}", artifact.display());
        return Err(loaded.error(codes::OUTPUT, &path, message, "").into());
    }
    let mut float = session.phase("read", None, |_| read(loaded))?;
    let remarks: Vec<Diagnostic> = (failure::batch(&float.assumed.batch).into_iter())
        .chain(failure::other_shapes(&float.assumed.misstated))
        .chain(failure::dropped(&float.assumed.dropped))
        .collect();
    remarks.iter().for_each(|remark| session.remark(remark));
    let main = float.module.main;
    let bodies = float.module.lay_open(main);
    let (layers, outputs) = (Layers::of(&float.module), Outputs::of(&float.module));
    let switches = switches(loaded, &float.module)?;
    let (canonical, rewritten) = session.phase("canonicalise", None, |_| {
        Ok(strait_compile::canonicalise(float.module, &switches.0)?)
    })?;
    if loaded.config.quantize.given.is_some() && !model_grids::has_some(&canonical) {
        let path = KeyPath::of(&["quantize", "given"]);
        let finding = loaded.error(codes::RULE, &path, "the model has no grids of its own", "");
        return Err(finding.help("leave it out").into());
    }
    if calibration.data.is_none() && calibration.record.is_none() && !model_grids::has_some(&canonical) {
        let path = KeyPath::of(&["calibration"]);
        let finding = loaded.error(
            codes::RULE,
            &path,
            "there is nothing to make grids of: the model has none of its own",
            "",
        );
        let help = "`calibration.data` has samples to measure ranges on, `calibration.record` has the grids already";
        return Err(finding.help(help).into());
    }
    let selection = select(&canonical, &layers, loaded)?;
    let requests = requests(&canonical, loaded, &selection)?;
    let specs = inputs::specs(&canonical, &bodies, loaded)?;
    let record = calibration
        .record
        .as_ref()
        .map(|path| record::text(loaded, path.as_ref()));
    let record = record.transpose()?;
    let samples = inputs::calibration(loaded, calibration.samples, &specs)?;
    let samples = samples.unwrap_or_else(Samples::none);
    let calibration = match &record {
        Some(record) => sha256(record.text.as_bytes()),
        None => Digest(samples.digest().map_err(failure::data)?),
    };
    Ok(Ready {
        canonical,
        bodies,
        rewritten,
        switches,
        model: float.digest,
        batch: float.assumed.batch,
        remarks,
        selection,
        specs,
        samples,
        record,
        calibration,
        requests,
        outputs,
    })
}
