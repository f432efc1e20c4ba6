//! From a model and samples to artifacts.

use std::{fmt, num::NonZeroUsize, path::Path, sync::Arc};

use serde::{Serialize, de::IgnoredAny};

use strait_artifact::{
    DEPLOYMENT_SCHEMA, DeployedInput, Deployment, Parts, Reading, Request, Verification, verify_built, verify_files,
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

/// Help for what only an artifact can do that was compiled by this program.
const AGAIN: &str = "an artifact in a folder has no float model and no statistics: compile it again";

/// Random inputs of a verification.
const RANDOM: usize = 3;

/// A model and what was observed of it on samples, for any number of targets.
///
/// ```
/// # #[cfg(all(feature = "onnx", feature = "generic-int8"))] {
/// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../models/digits/digits.onnx");
/// # let image = strait::Tensor::new(&[1, 1, 8, 8], &[0.5f32; 64])?;
/// # let samples = strait::Samples::new([vec![image.clone()]]);
/// use strait::{LayerRule, Model, Rules, SessionOptions, Target};
///
/// let observed = Model::open(path)?.observe(&samples, &SessionOptions::default())?;
/// for note in observed.notes() {
///     println!("{note}");
/// }
/// let target = Target::named("generic-int8")?;
/// let built = observed.compile(&target, &Rules::new())?;
/// // The same from the same statistics, but for what other rules touch.
/// let rules = Rules::new().layer(LayerRule::of("/head/**").float("it is looked at"));
/// let better = built.revise(&rules)?;
/// # assert!(better.layers()?.iter().any(|layer| layer.host.is_some()));
/// # }
/// # Ok::<(), strait::Error>(())
/// ```
#[derive(Clone)]
pub struct Observed {
    observed: Arc<strait_compile::Observed>,
    model: Digest,
    files: Option<ModelFiles>,
    reading: Reading,
}

impl fmt::Debug for Observed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Observed")
            .field("samples", &self.observed.samples().count())
            .finish_non_exhaustive()
    }
}

/// An artifact that this program has compiled, with all that it was made from.
pub(crate) struct Compiled {
    pub(crate) built: Built,
    observed: Observed,
    target: Target,
    rules: Rules,
}

/// Observes a model on samples, compiles it for a target, and verifies the result: on one thread, and with as much memory as it
/// takes. For models of others set [`Limits::memory`](crate::Limits) in the options of [`Model::observe`].
/// The example of this [crate] shows it.
///
/// # Errors
/// As for [`Model::observe`] and [`Observed::compile`].
pub fn compile(model: &Model, target: &Target, samples: &Samples, rules: &Rules) -> Result<Artifact, Error> {
    model
        .observe(samples, &SessionOptions::default())?
        .compile(target, rules)
}

impl Model {
    /// Runs the model on all samples, and keeps the statistics of its values.
    ///
    /// # Errors
    /// Samples that cannot be used; a model that cannot be run, or takes more than it may, or whose file was changed in the
    /// meantime.
    pub fn observe(&self, samples: &Samples, options: &SessionOptions) -> Result<Observed, Error> {
        self.observe_watched(samples, options, &Silent)
    }

    /// The same with somebody who watches and may stop it.
    ///
    /// # Errors
    /// As for [`Model::observe`]; an interruption.
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

/// Makes sure that nobody has written to the model's files: its tensors lie in them.
fn unchanged(files: Option<&ModelFiles>) -> Result<(), Error> {
    let changed = files.map_or(Ok(()), ModelFiles::unchanged);
    changed.map_err(|error| Error::new(Fault::System, codes::MODEL, error).help(ModelChanged::HELP))
}

impl Observed {
    /// A sentence for each value of the model that has NaN in runs on the samples: these are left out of its range.
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

    /// Compiles for one target, and verifies the result.
    ///
    /// # Errors
    /// Rules that match nothing, or ask for what cannot be; code of the target that fails or computes something else than its
    /// forms; a defect.
    pub fn compile(&self, target: &Target, rules: &Rules) -> Result<Artifact, Error> {
        self.compile_watched(target, rules, &Silent)
    }

    /// The same with somebody who watches and may stop it.
    ///
    /// # Errors
    /// As for [`Observed::compile`]; an interruption.
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

/// Samples are given as the model takes them.
#[derive(Serialize)]
struct AsTheyAre {}

impl Observed {
    fn deployment(&self, target: &Target) -> Deployment<AsTheyAre> {
        let inputs = crate::model::ports(&self.observed.model.module, self.observed.model.module.main().inputs());
        let input = |port: crate::Port| DeployedInput {
            range: self.observed.ranges.0.get(&port.name).copied(),
            name: port.name,
            preprocess: AsTheyAre {},
        };
        Deployment {
            schema: DEPLOYMENT_SCHEMA,
            reading: self.reading.clone(),
            inputs: inputs.into_iter().map(input).collect(),
            options: target.options.clone(),
        }
    }
}

impl Artifact {
    /// All that an artifact was made from, if this program has compiled it.
    fn compiled(&self, what: &str, help: &str) -> Result<&Compiled, Error> {
        match &self.content.origin {
            Origin::Compiled(compiled) => Ok(compiled),
            Origin::Folder(folder, ..) => {
                let message = format!("the artifact in {} was opened, and cannot be {what}", folder.display());
                Err(Error::new(Fault::Call, codes::ARTIFACT, message).help(help))
            }
        }
    }

    /// The report of the compilation: layers, fusions, evidence and findings.
    ///
    /// # Errors
    /// An artifact that was opened, which has it in `report.json`.
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

    /// Compiles by other rules: what these do not touch is taken from this artifact. The result is that of
    /// [`Observed::compile`].
    ///
    /// # Errors
    /// As for [`Observed::compile`]; an artifact that was opened.
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

    /// Outputs of the float model that rounds where this artifact has codes, for each sample. After [`Artifact::revise`] the same
    /// samples run through what the rules touch alone.
    ///
    /// # Errors
    /// Samples that cannot be used; a model that takes more than it may; an artifact that was opened.
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

    /// Writes the artifact into a folder, and answers with the digest by which it is known, as 64 hexadecimal digits. An artifact that is there is replaced
    /// when this one is whole.
    ///
    /// # Errors
    /// A folder that cannot be written, or holds something else; a model whose file was changed in the meantime; an artifact that was opened, which is in its folder already.
    pub fn write(&self, folder: impl AsRef<Path>) -> Result<String, Error> {
        let Compiled {
            built,
            observed,
            target,
            rules,
        } = self.compiled("written again", "copy the folder")?;
        unchanged(observed.files.as_ref())?;
        let writer = ArtifactWriter::create(folder.as_ref())?;
        let parts = Parts {
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

    /// Verifies the artifact as `strait verify` does: the files of one in a folder against their digests and against each other;
    /// every certificate, derived anew; and each fused layer against what it stands for, on these samples and on a few random ones.
    /// What does not hold is in the answer.
    ///
    /// The target's kernels compute the fused layers where this program has the target, with the table that the artifact was made
    /// with; otherwise the definitions of its forms do.
    ///
    /// # Errors
    /// A folder that is no artifact any more; samples that do not fit; a run that takes more than it may.
    pub fn verify(&self, samples: &Samples, options: &SessionOptions) -> Result<Verification, Error> {
        let request = Request {
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
