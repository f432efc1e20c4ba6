//! Opens an artifact in order to run it.

use std::path::Path;

use serde::{Serialize, de::DeserializeOwned};
use strait_compile::{Shares, TargetLoops};
use strait_container::{Artifact, Digest, Integrity, Model, TargetOrigin};
use strait_core::{Bodies, Module};
use strait_execute::{LoopsFor, Standard};
use strait_target::Registry;
use strait_verify::Ranges;

use crate::{DEPLOYMENT_FILE, DEPLOYMENT_SCHEMA, Deployment, Error, write::recorded};

/// An artifact that is ready to run. `P` is the type that describes an input's preprocessing. The code that wrote the
/// artifact chose this type.
pub struct Opened<P> {
    /// The files of the artifact.
    pub artifact: Artifact,
    /// The graphs of the artifact, with the bodies of control flow inlined.
    pub model: Model,
    /// The bodies of control flow that are inlined in the main graph of [`Opened::module`].
    pub bodies: Bodies,
    /// The module as it is executed: the bodies of control flow (loops and branches) are graphs of their own. `None` if
    /// there are no bodies.
    whole: Option<Module>,
    /// What is needed to run the model on stored samples.
    pub deployment: Deployment<P>,
    /// The kernels that compute the artifact's requantizations.
    pub loops: Box<dyn LoopsFor>,
    /// Who computes the requantizations if [`Opened::loops`] is used.
    pub computed: Computed,
    /// True if the user asked for the target's own kernels. Then it is an error if other kernels would have to be used.
    pub own_kernels: bool,
    /// How many layers the target's own model of its arithmetic computes, and how many the host computes in its place.
    /// Only set if the target's own model was asked for.
    pub own_model: Option<Shares>,
    /// The origin of the registered target, if the artifact was made with a target of another origin.
    pub elsewhere: Option<String>,
}

/// Who computes the requantizations of an artifact.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "by", content = "because")]
pub enum Computed {
    /// The kernels that the registry has for the forms: the target's own or the host's.
    Target,
    /// The target's own model of its arithmetic, from the plugin's library.
    OwnModel,
    /// The host, which follows the definition of the forms. The text says why the target's kernels are not used.
    Host(String),
}

impl<P: DeserializeOwned> Opened<P> {
    /// Opens the artifact in a folder.
    ///
    /// If the target is registered with the same table that the artifact was made with, its kernels compute the
    /// requantizations. Otherwise the host computes them. The results have the same bits in both cases, since the
    /// artifact itself defines what each requantization computes.
    ///
    /// # Errors
    /// If the folder is not an artifact, or the artifact is damaged.
    pub fn open(folder: &Path, registry: &Registry) -> Result<Opened<P>, Error> {
        let artifact = Artifact::open(folder)?;
        let model = artifact.model(Integrity::Full)?;
        Opened::new(artifact, model, registry)
    }

    /// Prepares an artifact for running. Its graphs have already been read.
    ///
    /// # Errors
    /// If `deployment.json` is damaged.
    pub fn new(artifact: Artifact, mut model: Model, registry: &Registry) -> Result<Opened<P>, Error> {
        let deployment: Deployment<P> = json(&artifact, DEPLOYMENT_FILE, DEPLOYMENT_SCHEMA)?;
        let version = &artifact.manifest().target;
        let entry = registry.entry(&version.id).ok();
        let here = entry.map(|entry| recorded(entry.origin(), entry.table().bases()));
        let told = |here: Option<TargetOrigin>| here.map_or("a table in a file".to_owned(), |here| here.to_string());
        let elsewhere = here.filter(|here| *here != version.origin).map(told);
        let computed = match entry {
            Some(entry) if Digest(entry.table().digest()) == version.table => Computed::Target,
            Some(_) => Computed::Host(format!("the target `{}` is registered with another table", version.id)),
            None => Computed::Host(format!("no target `{}` is registered", version.id)),
        };
        let loops: Box<dyn LoopsFor> = match computed {
            Computed::Target => Box::new(TargetLoops(registry.get(&version.id, &deployment.options)?)),
            _ => Box::new(Standard),
        };
        let whole = model.module.clone();
        let bodies = strait_verify::lay_open(&mut model.module);
        Ok(Opened {
            artifact,
            model,
            whole: Some(whole).filter(|_| !bodies.is_empty()),
            bodies,
            deployment,
            loops,
            computed,
            own_kernels: false,
            own_model: None,
            elsewhere,
        })
    }
}

impl<P> Opened<P> {
    /// The integer module, with the bodies of control flow inlined in its graphs.
    pub fn module(&self) -> &Module {
        &self.model.module
    }

    /// The integer module as it is executed, with the bodies of control flow as graphs of their own.
    pub fn whole(&self) -> &Module {
        self.whole.as_ref().unwrap_or(&self.model.module)
    }

    /// For each input of integers, the range from which random inputs are drawn.
    pub fn ranges(&self) -> Ranges {
        let inputs = self.deployment.inputs.iter();
        Ranges(
            inputs
                .filter_map(|input| Some((input.name.clone(), input.range?)))
                .collect(),
        )
    }
}

/// Reads a JSON file of an artifact, whose key `schema` has to be `known`.
///
/// # Errors
/// The file is damaged or of another schema. If a newer program wrote it, the error says so.
pub(crate) fn json<T: DeserializeOwned>(artifact: &Artifact, file: &'static str, known: u32) -> Result<T, Error> {
    /// The key that is read first, so that files of other schemas are recognized.
    #[derive(serde::Deserialize)]
    struct Head {
        schema: u64,
    }
    let bytes = artifact.file(file)?;
    let wrong = |fault: String| Error::Json {
        folder: artifact.folder().to_owned(),
        file,
        fault,
    };
    let schema = serde_json::from_slice::<Head>(&bytes).map(|head| head.schema);
    match schema {
        Ok(schema) if schema > known.into() => {
            let what = format!("is of schema {schema}, and schema {known} is read");
            return Err(artifact.newer(file, what).into());
        }
        Ok(schema) if schema < known.into() => {
            return Err(wrong(format!("is of schema {schema}, and schema {known} is read")));
        }
        _ => {}
    }
    serde_json::from_slice(&bytes).map_err(|error| match artifact.is_of_later_version() {
        true => artifact.newer(file, format!("cannot be read: {error}")).into(),
        false => wrong(format!("cannot be read: {error}")),
    })
}
