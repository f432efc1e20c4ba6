//! Compiles a model to an artifact, using samples.

use crate::observed::{Compiled, Observed};
use std::{num::NonZeroUsize, path::Path, sync::Arc};

use serde::{Serialize, de::IgnoredAny};

use strait_artifact::{
    CommonParts, DEPLOYMENT_SCHEMA, DeployedInput, Deployment, RunSamples, Verification, verify_built, verify_files,
    write,
};
use strait_compile::{Built, Silent, Watch};
use strait_container::{ArtifactWriter, Digest, ModelChanged, ModelFiles, Sources, sha256};
use strait_core::{Module, Switches, codes};
use strait_report::Report;
use strait_target::Registry;

use crate::{
    Artifact, Error, Fault, Model, Outputs, Rules, Samples, SessionOptions, Target, Tensor,
    artifact::{Content, Origin},
};

/// The advice in errors of calls that only work on an artifact that this program has compiled.
const AGAIN: &str = "an artifact in a folder has no float model and no statistics: compile it again";

/// Number of random inputs for a verification.
const RANDOM: usize = 3;

/// Observes a model on samples, compiles it for a target, and verifies the result. The [crate]'s documentation has an
/// example.
///
/// This function uses one thread and as much memory as it needs. For models that you do not trust, set
/// [`Limits::memory`](crate::Limits) in the options of [`Model::observe`].
///
/// # Errors
/// As for [`Model::observe`] and [`Observed::compile`].
pub fn compile(model: &Model, target: &Target, samples: &Samples, rules: &Rules) -> Result<Artifact, Error> {
    model
        .observe(samples, &SessionOptions::default())?
        .compile(target, rules)
}

impl Model {
    /// Runs the model on all samples and keeps statistics of its values.
    ///
    /// # Errors
    /// If samples cannot be used, or if the model cannot be run, needs more than the limits allow, or its file was
    /// changed in the meantime.
    pub fn observe(&self, samples: &Samples, options: &SessionOptions) -> Result<Observed, Error> {
        self.observe_watched(samples, options, &Silent)
    }

    /// Runs the model on all samples and keeps statistics of its values. `watch` sees the progress and may stop the
    /// work.
    ///
    /// # Errors
    /// As for [`Model::observe`], and if the work is stopped.
    pub fn observe_watched(
        &self,
        samples: &Samples,
        options: &SessionOptions,
        watch: &dyn Watch,
    ) -> Result<Observed, Error> {
        let model = strait_compile::Model::new(self.module.clone(), &Switches::default())?;
        let observed = model.observe(samples.0.clone(), options.means(), watch)?;
        unchanged(self.files.as_ref())?;
        Ok(Observed {
            observed: Arc::new(observed),
            model: self.digest,
            files: self.files.clone(),
            reading: self.reading.clone(),
        })
    }
}

/// Checks that no program has written to the model's files since the model was read. The model's tensors are read from
/// these files when they are used.
fn unchanged(files: Option<&ModelFiles>) -> Result<(), Error> {
    let changed = files.map_or(Ok(()), ModelFiles::unchanged);
    changed.map_err(|error| Error::new(Fault::System, codes::MODEL, error).help(ModelChanged::HELP))
}

impl Observed {
    /// Returns a sentence for each value that contained NaN when the model ran on the samples. NaN is left out of a
    /// value's range.
    pub fn notes(&self) -> Vec<String> {
        let module = &self.observed.model.module;
        let names = module.main().values().map(|(_, value)| module.name(value.name));
        let note = |name: &str| {
            let seen = self.observed.observation.elements(name)?;
            let nan = seen.nan();
            (nan > 0).then(|| format!("`{name}` has {nan} NaN in runs on the samples; they are left out of its range"))
        };
        names.filter_map(note).collect()
    }

    /// Compiles for one target and verifies the result.
    ///
    /// # Errors
    /// If rules match nothing or ask for something impossible; if code of the target fails or does not compute what its
    /// table says; or if Strait has a bug.
    pub fn compile(&self, target: &Target, rules: &Rules) -> Result<Artifact, Error> {
        self.compile_watched(target, rules, &Silent)
    }

    /// Compiles for one target and verifies the result. `watch` sees the progress and may stop the work.
    ///
    /// # Errors
    /// As for [`Observed::compile`], and if the work is stopped.
    pub fn compile_watched(&self, target: &Target, rules: &Rules, watch: &dyn Watch) -> Result<Artifact, Error> {
        let settings = |module: &Module| rules.resolved(&self.observed.model, module, target.target.spec());
        let built = self.observed.compile(&target.target, settings, watch)?;
        Ok(Compiled::artifact(built, self, target, rules))
    }
}

impl Compiled {
    fn artifact(built: Built, observed: &Observed, target: &Target, rules: &Rules) -> Artifact {
        let content = Content {
            target: target.id().to_owned(),
            origin: Origin::Compiled(Box::new(Compiled {
                built,
                observed: observed.clone(),
                target: target.clone(),
                rules: rules.clone(),
            })),
        };
        Artifact {
            content: Arc::new(content),
        }
    }
}

/// The entry for the preprocessing in an artifact. It is empty, because a program gives samples in the form that the
/// model takes.
#[derive(Serialize)]
struct AsTheyAre {}

impl Observed {
    fn deployment(&self, target: &Target) -> Deployment<AsTheyAre> {
        let inputs = crate::model::ports(&self.observed.model.module, self.observed.model.module.main().inputs());
        let input = |port: crate::Port| DeployedInput {
            range: self.observed.ranges.0.get(&port.name).copied(),
            name: port.name,
            preprocess: AsTheyAre {},
            layout: None,
            color: None,
            device: None,
        };
        Deployment {
            schema: DEPLOYMENT_SCHEMA,
            reading: self.reading.clone(),
            inputs: inputs.into_iter().map(input).collect(),
            options: target.options.clone(),
            tail: None,
        }
    }
}

impl Artifact {
    /// Returns the model, the statistics and the settings that the artifact was made from. Returns an error with the
    /// advice `help` if this program has not compiled the artifact.
    fn compiled(&self, what: &str, help: &str) -> Result<&Compiled, Error> {
        match &self.content.origin {
            Origin::Compiled(compiled) => Ok(compiled),
            Origin::Folder(folder, ..) => {
                let message = format!("the artifact in {} was opened, and cannot be {what}", folder.display());
                Err(Error::new(Fault::Call, codes::ARTIFACT, message).help(help))
            }
        }
    }

    /// Returns the report of the compilation: layers, fusions, evidence and findings.
    ///
    /// # Errors
    /// If the artifact was opened from a folder. Its report is in `report.json`.
    pub fn report(&self) -> Result<Report, Error> {
        let Compiled {
            built,
            observed,
            target,
            ..
        } = self.compiled("reported", "its report is the file `report.json` in the folder")?;
        let model = &observed.observed.model;
        let (spec, rewrites) = (target.target.spec(), model.rewritten.counts());
        Ok(strait_report::of_built(spec, &model.module, built, &rewrites))
    }

    /// Compiles again with other rules. Layers that these rules do not affect are taken from this artifact and not
    /// computed again. The result is the same as that of [`Observed::compile`].
    ///
    /// # Errors
    /// As for [`Observed::compile`], and if the artifact was opened from a folder.
    pub fn revise(&self, rules: &Rules) -> Result<Artifact, Error> {
        let Compiled {
            built,
            observed,
            target,
            ..
        } = self.compiled("revised", AGAIN)?;
        let settings = |module: &Module| rules.resolved(&observed.observed.model, module, target.target.spec());
        let built = observed.observed.revise(built, settings, &Silent)?;
        Ok(Compiled::artifact(built, observed, target, rules))
    }

    /// For each sample, computes the outputs of a simulation: the float model runs and rounds wherever this artifact
    /// has codes. After [`Artifact::revise`], only the layers that the rules affect are run again for the same samples.
    ///
    /// # Errors
    /// If samples cannot be used, the model needs more than the limits allow, or the artifact was opened from a folder.
    pub fn simulate(&self, samples: &Samples) -> Result<Vec<Outputs>, Error> {
        let Compiled { built, observed, .. } = self.compiled("simulated", AGAIN)?;
        let simulated = built.simulate(&samples.0, &Silent)?;
        let outputs = observed.observed.model.bodies.own_outputs(built.annotated.main());
        let names = crate::model::ports(&built.annotated, outputs);
        let named = |outputs: &Vec<Arc<strait_execute::Tensor>>| {
            let tensors = outputs.iter().map(|tensor| Tensor(tensor.as_ref().clone()));
            names.iter().map(|port| port.name.clone()).zip(tensors).collect()
        };
        Ok(simulated.outputs.iter().map(named).collect())
    }

    /// Writes the artifact to a folder. Returns the digest that identifies it, as 64 hexadecimal digits. An artifact
    /// that is already there is replaced as soon as this one is complete.
    ///
    /// # Errors
    /// If the folder cannot be written or holds something else, if the model's file was changed in the meantime, or if
    /// the artifact was opened from a folder.
    pub fn write(&self, folder: impl AsRef<Path>) -> Result<String, Error> {
        let Compiled {
            built,
            observed,
            target,
            rules,
        } = self.compiled("written again", "copy the folder")?;
        unchanged(observed.files.as_ref())?;
        let writer = ArtifactWriter::create(folder.as_ref())?;
        let parts = CommonParts {
            built,
            report: &self.report()?,
            deployment: &observed.deployment(target),
        };
        let samples = observed.observed.samples().digest().into_iter();
        let sources = Sources {
            config: sha256(rules.text()?.as_bytes()),
            data: samples
                .map(|digest| ("calibration".to_owned(), Digest(digest)))
                .collect(),
            model: observed.model,
            not_for_deployment: None,
            readers: Default::default(),
        };
        let of = (target.target.spec(), &target.origin);
        let (digest, ()) = write(&parts, of, sources, writer, NonZeroUsize::MIN, |_| Ok::<_, Error>(()))?;
        Ok(digest.to_string())
    }

    /// Verifies the artifact as `strait verify` does. If the artifact is in a folder, its files are compared with their
    /// digests and with each other. Every certificate is derived again. Each fused layer is compared with the
    /// operations that it replaces, on `samples` and on a few random samples. The result says what is wrong.
    ///
    /// The fused layers run with the target's kernels, if this program has the target with the same table that the
    /// artifact was made with. Otherwise they run with the host's kernels.
    ///
    /// # Errors
    /// If the folder is no longer an artifact, samples do not fit, or a run needs more than the limits allow.
    pub fn verify(&self, samples: &Samples, options: &SessionOptions) -> Result<Verification, Error> {
        let request = RunSamples {
            random: RANDOM,
            seed: 0,
            given: Some(samples.0.as_ref()),
        };
        let means = options.means();
        match &self.content.origin {
            Origin::Folder(folder, digest, _) => {
                let found = verify_files::<IgnoredAny>(folder, &Registry::builtin()?, Some(*digest), &Silent)?;
                match found {
                    (found, Some(opened)) => Ok(found.with_model(&opened, &request, &means, &Silent)?),
                    (found, None) => Ok(found),
                }
            }
            Origin::Compiled(compiled) => {
                let made_from = (&compiled.target.target, &compiled.observed.observed.ranges);
                Ok(verify_built(&compiled.built, made_from, &request, &means, &Silent)?)
            }
        }
    }
}
