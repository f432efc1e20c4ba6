//! An artifact, opened to be run.

use std::path::Path;

use serde::{Serialize, de::DeserializeOwned};
use strait_compile::{Shares, TargetLoops};
use strait_container::{Artifact, Digest, Integrity, Model, TargetOrigin};
use strait_core::{Bodies, Module};
use strait_execute::{LoopsFor, Standard};
use strait_target::Registry;
use strait_verify::Ranges;

use crate::{DEPLOYMENT_FILE, DEPLOYMENT_SCHEMA, Deployment, Error, write::recorded};

/// See the module. `P` is the preprocessing of an input, as whoever has written the artifact says it.
pub struct Opened<P> {
    /// The folder's content.
    pub artifact: Artifact,
    /// The graphs, with the bodies of control flow open in them.
    pub model: Model,
    /// The bodies of control flow that lie open in the main graph of [`Opened::module`].
    pub bodies: Bodies,
    /// The module as it runs, where there are bodies.
    whole: Option<Module>,
    /// Deployment of the model.
    pub deployment: Deployment<P>,
    /// Computes its requantizations.
    pub loops: Box<dyn LoopsFor>,
    /// Who that is.
    pub computed: Computed,
    /// True where the target's kernels are asked for, and nobody else may compute in their stead.
    pub own_kernels: bool,
    /// The layers that the target's own model computes, where it is asked to, and those that the host does.
    pub own_model: Option<Shares>,
    /// Where the registered target comes from, if that is not where the artifact's came from.
    pub elsewhere: Option<String>,
}

/// Who computes the requantizations of an artifact.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "by", content = "because")]
pub enum Computed {
    /// The kernels that the registry has for its forms: the target's own, or the host's.
    Target,
    /// The target's own model of its arithmetic, out of the library of its plugin.
    OwnModel,
    /// The host, by the definition of the forms, and why.
    Host(String),
}

impl<P: DeserializeOwned> Opened<P> {
    /// Opens the artifact in a folder.
    ///
    /// The target computes the requantizations if it is registered with the table that the artifact was made with;
    /// otherwise the host does. The bits are the same: forms are data.
    ///
    /// # Errors
    /// A folder that is no artifact, or a damaged one.
    pub fn open(folder: &Path, registry: &Registry) -> Result<Opened<P>, Error> {
        let artifact = Artifact::open(folder)?;
        let model = artifact.model(Integrity::Full)?;
        Opened::new(artifact, model, registry)
    }

    /// The same, of an artifact whose graphs have been read.
    ///
    /// # Errors
    /// A damaged `deployment.json`.
    pub fn new(artifact: Artifact, mut model: Model, registry: &Registry) -> Result<Opened<P>, Error> {
        let deployment: Deployment<P> = json(&artifact, DEPLOYMENT_FILE)?;
        if deployment.schema != DEPLOYMENT_SCHEMA {
            return Err(Error::Json {
                folder: artifact.folder().to_owned(),
                file: DEPLOYMENT_FILE,
                fault: format!(
                    "is of schema {}, this version reads {DEPLOYMENT_SCHEMA}",
                    deployment.schema
                ),
            });
        }
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
    /// The integer module, with the bodies of control flow open in its graphs.
    pub fn module(&self) -> &Module {
        &self.model.module
    }

    /// The integer module as it runs.
    pub fn whole(&self) -> &Module {
        self.whole.as_ref().unwrap_or(&self.model.module)
    }

    /// The integers that random inputs are drawn from.
    pub fn ranges(&self) -> Ranges {
        let inputs = self.deployment.inputs.iter();
        Ranges(
            inputs
                .filter_map(|input| Some((input.name.clone(), input.range?)))
                .collect(),
        )
    }
}

/// A file of JSON in an artifact.
pub(crate) fn json<T: DeserializeOwned>(artifact: &Artifact, file: &'static str) -> Result<T, Error> {
    let bytes = artifact.file(file)?;
    serde_json::from_slice(&bytes).map_err(|error| Error::Json {
        folder: artifact.folder().to_owned(),
        file,
        fault: format!("cannot be read: {error}"),
    })
}
