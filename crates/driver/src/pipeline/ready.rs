//! Prepares the model and the samples of a configuration, so that the model can be observed.

use std::{path::Path, sync::Arc};

use strait_compile::{
    OfTarget,
    rules::{self, Layers, RuleErrors, Rules, Selection},
};
use strait_container::{Digest, ModelFiles, artifact_around, sha256};
use strait_core::{Bodies, Module, Rewritten, Switches};
use strait_import::FreeDimension;
use strait_quantize::{Observation, Requests, statistics::Coverage};
use strait_samples::{InputSpec, Samples};
use strait_target::{TargetSpec, spec::Activation};

use crate::{
    config::{KeyPath, Loaded, Params, types},
    diagnostic::{Diagnostic, Diagnostics, SourceText},
    evaluation::Tail,
    failure::{self, codes},
    session::{Session, Steps},
    stop::Stop,
};

use super::{
    cache, inputs, model_grids,
    observe::{self, Needed, Observed},
    outputs::Outputs,
    params,
    read::read,
    switches::switches,
};

/// A record of a vendor's tool may have at most this many bytes. Larger files are not read.
const MOST_BYTES: u64 = 64 << 20;

/// A model that is ready to be observed, with its samples.
pub(super) struct Ready {
    pub(super) canonical: Module,
    /// The bodies of control flow that are inlined in the main graph.
    pub(super) bodies: Bodies,
    pub(super) rewritten: Rewritten,
    /// Which rules are switched off, and the digest of the switch file if there is one.
    pub(super) switches: (Switches, Option<Digest>),
    /// The model's files.
    pub(super) model: ModelFiles,
    /// The batch dimensions for which the configuration sets no size.
    pub(super) batch: Vec<FreeDimension>,
    /// Remarks on the model. The user has already seen them.
    pub(super) remarks: Vec<Diagnostic>,
    pub(super) rules: Rules,
    pub(super) selection: Selection,
    /// The layers of the model before anything was rewritten in it.
    layers: Layers,
    pub(super) specs: Vec<InputSpec>,
    pub(super) samples: Samples,
    /// The record of a vendor's tool that contains the scales, if the configuration names a record instead of samples.
    pub(super) record: Option<Arc<SourceText>>,
    /// The file that gives scale and zero point to single tensors, if the configuration names one.
    pub(super) params: Option<Params>,
    /// Digest of the samples, or of the record if there is one.
    pub(super) calibration: Digest,
    /// Digest of the canonical graph and its weights, on which its statistics depend.
    graph: [u8; 32],
    pub(super) requests: Requests,
    /// How many outputs each convolution of the model has, before rules rewrite it.
    pub(super) outputs: Outputs,
    /// What lies behind the outputs at which the model is cut.
    pub(super) tail: Option<Tail>,
}

impl Ready {
    /// Returns the statistics of the values of the canonical graph on the calibration samples.
    ///
    /// # Errors
    /// As for [`Ready::statistics`].
    pub(super) fn of_canonical(&self, loaded: &Loaded, session: &Session<'_>) -> Result<Observed, Stop> {
        observe::statistics(&self.needed_of_canonical()?, cache_of(loaded), session)
    }

    /// What the statistics of the canonical graph are measured on.
    ///
    /// # Errors
    /// If samples cannot be read.
    pub(super) fn needed_of_canonical(&self) -> Result<Needed<'_>, Stop> {
        self.needed(&self.canonical, &self.requests, self.graph)
    }

    /// What the statistics of a graph are measured on. `graph` is its digest.
    ///
    /// # Errors
    /// If samples cannot be read.
    fn needed<'a>(&'a self, module: &'a Module, requests: &'a Requests, graph: [u8; 32]) -> Result<Needed<'a>, Stop> {
        Ok(Needed {
            module,
            bodies: &self.bodies,
            requests,
            samples: &self.samples,
            covered: Coverage::all(self.samples.count() as u64),
            key: observe::key(graph, &self.samples)?,
            model: &self.model,
        })
    }

    /// Returns the requested statistics of the values of `module` on the calibration samples.
    ///
    /// # Errors
    /// If the samples or the graph cannot be used, or the user interrupts.
    pub(super) fn statistics(
        &self,
        module: &Module,
        requests: &Requests,
        loaded: &Loaded,
        session: &Session<'_>,
    ) -> Result<Observation, Stop> {
        let needed = self.needed(module, requests, observe::of_graph(module)?)?;
        observe::statistics(&needed, cache_of(loaded), session)?.kept(&self.model, session)
    }

    /// The rules of another configuration of the same model, and what they select.
    ///
    /// # Errors
    /// All errors in the rules.
    pub(super) fn ruled(&self, loaded: &Loaded) -> Result<(Rules, Selection), Diagnostics> {
        let rules = loaded.config.rules();
        let selection = selected(&self.canonical, &self.layers, loaded, &rules)?;
        Ok((rules, selection))
    }

    /// Applies the rewrite rules of a target to the model. Returns the rewritten model, and what the configuration's
    /// rules choose in it.
    ///
    /// # Errors
    /// If a rule fails, or statistics that only the rewritten model needs cannot be measured.
    pub(super) fn of_target<'a>(
        &'a self,
        observation: &'a Observation,
        target: &TargetSpec,
        loaded: &Loaded,
        session: &Session<'_>,
    ) -> Result<(OfTarget<'a>, Selection), Stop> {
        let selection = self.selection.of_target(&self.rules.quantize, &target.id);
        let steps = Steps {
            session,
            target: &target.id,
        };
        let rules = (target, &self.switches.0);
        let mut own = OfTarget::new((&self.canonical, observation), rules, &steps, |module, unmet| {
            self.statistics(module, unmet, loaded, session)
        })?;
        cache::give_grids(&mut own, loaded, &target.id)?;
        let selection = selection.carried(&self.canonical, &own.module);
        Ok((own, selection))
    }
}

/// Reads the model, applies the rules that are the same for all targets, and opens the samples.
///
/// # Errors
/// If anything is wrong with the configuration, the model or the samples.
pub(super) fn make_ready(loaded: &Loaded, session: &Session<'_>) -> Result<Ready, Stop> {
    let calibration = &loaded.config.calibration;
    if let Some(artifact) = artifact_around(calibration.cache.as_ref()) {
        let path = KeyPath::of(&["calibration", "cache"]);
        let message = format!("statistics are not kept in the artifact {}", artifact.display());
        return Err(loaded.error(codes::OUTPUT, &path, message, "").into());
    }
    let mut float = session.phase("read", None, |_| read(loaded, session.threads))?;
    let tail = float.tail.take();
    let asked = loaded.config.model.tail == types::Tail::Onnx;
    let no_tail = (asked && tail.is_none()).then(|| {
        let text = "nothing lies behind `model.outputs`, so that the artifact has no tail.onnx";
        Diagnostic::remark(codes::CUT, text)
    });
    let remarks: Vec<Diagnostic> = (failure::batch(&float.assumed.batch).into_iter())
        .chain(failure::other_shapes(&float.assumed.misstated))
        .chain(failure::dropped(&float.assumed.dropped))
        .chain(no_tail)
        .collect();
    remarks.iter().for_each(|remark| session.remark(remark));
    let main = float.module.main;
    let bodies = float.module.lay_open(main);
    let (layers, outputs) = (Layers::of(&float.module), Outputs::of(&float.module));
    let params = params::read(loaded)?;
    let switches = switches(loaded, &float.module)?;
    let (canonical, rewritten) = session.phase("canonicalise", None, |_| {
        Ok(strait_compile::canonicalise(float.module, &switches.0)?)
    })?;
    if loaded.config.quantize.given.is_some() && !model_grids::has_some(&canonical) {
        let path = KeyPath::of(&["quantize", "given"]);
        let finding = loaded.error(codes::RULE, &path, "the model has no grids of its own", "");
        return Err(finding.help("leave it out").into());
    }
    let is_measured = calibration.data.is_some() || calibration.record.is_some();
    // The grids of weights come from the weights.
    let only_weights = loaded.config.quantize.activations.ty == Some(Activation::Float32);
    if !is_measured && !only_weights && !model_grids::has_some(&canonical) {
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
    let rules = loaded.config.rules();
    let selection = selected(&canonical, &layers, loaded, &rules)?;
    let requests = rules::requests(&canonical, &rules, &selection).map_err(|found| loaded.told(found))?;
    let specs = inputs::specs(&canonical, &bodies, loaded)?;
    let record = calibration
        .record
        .as_ref()
        .map(|path| record_text(loaded, path.as_ref()));
    let record = record.transpose()?;
    let samples = session.phase("samples", None, |_| {
        Ok(inputs::calibration(loaded, calibration.samples, &specs)?)
    })?;
    let samples = samples.unwrap_or_else(Samples::none);
    let (calibration, graph) = session.phase("digest", None, |_| {
        strait_execute::both(
            session.threads,
            || {
                Ok::<_, Stop>(match &record {
                    Some(record) => sha256(record.text.as_bytes()),
                    None => Digest(samples.digest().map_err(failure::data)?),
                })
            },
            // Without samples, nothing is observed.
            || match samples.count() {
                0 => Ok([0; 32]),
                _ => observe::of_graph(&canonical),
            },
        )
    })?;
    Ok(Ready {
        canonical,
        bodies,
        rewritten,
        switches,
        model: float.files,
        batch: float.assumed.batch,
        remarks,
        rules,
        selection,
        layers,
        specs,
        samples,
        record,
        params,
        calibration,
        graph,
        requests,
        outputs,
        tail,
    })
}

/// The folder that statistics are kept in.
fn cache_of(loaded: &Loaded) -> &Path {
    loaded.config.calibration.cache.as_ref()
}

/// Reads the text of a record of a vendor's tool.
fn record_text(loaded: &Loaded, path: &Path) -> Result<Arc<SourceText>, Diagnostics> {
    let text = strait_mapped::read(path, MOST_BYTES).map_err(|error| error.to_string());
    let text = text.and_then(|bytes| strait_document::utf8("the record", bytes));
    let text = text.map_err(|error| {
        let message = format!("the record {} cannot be read: {error}", path.display());
        loaded.error(codes::RULE, &KeyPath::of(&["calibration", "record"]), message, "")
    })?;
    let name = path.display().to_string();
    Ok(Arc::new(SourceText { name, text }))
}

/// Finds the layers, operands and tensors that rules apply to, and the layers that may run on the host.
fn selected(module: &Module, layers: &Layers, loaded: &Loaded, rules: &Rules) -> Result<Selection, Diagnostics> {
    let hosts = loaded.config.gate.host_layers.as_deref().unwrap_or_default();
    let key = KeyPath::of(&["gate", "host_layers"]);
    let unknown = rules::unmatched_layers(module, &key, hosts, "layer that is left is called");
    let found = match rules::select(module, layers, &rules.quantize, &loaded.config.target.ids) {
        Ok(selection) if unknown.is_empty() => return Ok(selection),
        Ok(_) => RuleErrors(unknown),
        Err(found) => RuleErrors(found.0.into_iter().chain(unknown).collect()),
    };
    Err(loaded.told(found))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config;

    #[test]
    fn layers_that_may_run_on_the_host_are_layers_of_the_model() {
        let text = "
            strait 1 float
            graph @main(%x: f32[1,4]) {
              %a_out: f32[1,4] = relu(%x) name=\"/m/a\" sources=[\"/m/a\"]
              %b_out: f32[1,4] = relu(%a_out) name=\"/m/b\" sources=[\"/m/b\", \"/m/folded\"]
              %c_out: f32[1,4] = relu(%a_out) name=\"/n/c\" sources=[\"/n/c\"]
              return %b_out, %c_out
            }";
        let module = strait_core::text::parse(text).unwrap();
        let chosen = |pattern: &str| {
            let text = format!(
                "schema = 1\nmodel.file = \"m.onnx\"\ntarget.use = [\"t\"]\ncalibration.data = \"x.npy\"\noutput.dir = \"out\"\n\
                 [[quantize.rule]]\noptional = true\nlayers = [\"x\"]\nrun = \"float\"\n\
                 [gate]\nhost_layers = [\"/m/a\", \"{pattern}\"]"
            );
            let loaded = config::parse("deploy.toml", text, Path::new(""), &[]).unwrap();
            selected(&module, &Layers::of(&module), &loaded, &loaded.config.rules())
        };
        for pattern in ["/m/folded", "/n/*"] {
            assert!(chosen(pattern).is_ok(), "{pattern}");
        }
        let message = chosen("/m/bb").unwrap_err().to_string();
        for part in ["`/m/bb` matches nothing", "near it are `/m/b`", "host_layers = "] {
            assert!(message.contains(part), "{message}");
        }
        assert!(!message.contains("optional"), "{message}");
    }
}
