//! Artifacts. An artifact has the integer model for one target. It has either been compiled by this program or opened
//! from a folder.

use std::{
    fmt,
    path::{Path, PathBuf},
    sync::Arc,
};

use strait_container::{Digest, Integrity};
#[cfg(feature = "onnx")]
use strait_core::codes;
use strait_core::{CertificateRecord, Module, Placement};

#[cfg(feature = "onnx")]
use crate::Fault;
use crate::{Error, Session, SessionOptions};

/// The integer model for one target, with the certificates of its fusions.
///
/// ```
/// # #[cfg(all(feature = "onnx", feature = "generic-int8"))] {
/// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../models/digits/digits.onnx");
/// # let image = strait::Tensor::new(&[1, 1, 8, 8], &[0.5f32; 64])?;
/// # let samples = strait::Samples::new([vec![image.clone()]]);
/// # let folder = tempfile::tempdir().unwrap();
/// # let folder = folder.path().join("digits");
/// # let (model, target) = (strait::Model::open(path)?, strait::Target::named("generic-int8")?);
/// use strait::{Artifact, Rules, SessionOptions};
///
/// let built = strait::compile(&model, &target, &samples, &Rules::new())?;
/// let digest = built.write(&folder)?;
///
/// let opened = Artifact::open(&folder)?;
/// assert_eq!((opened.target(), opened.digest()), ("generic-int8", Some(digest)));
/// for layer in opened.layers()? {
///     println!("{} from {:?}: {}", layer.name, layer.sources, layer.host.unwrap_or(layer.op));
/// }
/// let (all, exact) = opened.fusions();
/// assert!(exact <= all);
/// let mut session = opened.session_with(&SessionOptions::default())?;
/// let outputs = session.run(&[("image", image.view())])?;
/// # }
/// # Ok::<(), strait::Error>(())
/// ```
#[derive(Clone)]
pub struct Artifact {
    pub(crate) content: Arc<Content>,
}

impl fmt::Debug for Artifact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let folder = match &self.content.origin {
            Origin::Folder(folder, ..) => Some(folder),
            #[cfg(feature = "compile")]
            Origin::Compiled(_) => None,
        };
        f.debug_struct("Artifact")
            .field("target", &self.content.target)
            .field("folder", &folder)
            .finish_non_exhaustive()
    }
}

pub(crate) struct Content {
    pub(crate) target: String,
    pub(crate) origin: Origin,
}

/// Where an artifact comes from.
pub(crate) enum Origin {
    /// A folder, with the digest of its contents.
    Folder(PathBuf, Digest, Box<strait_container::Model>),
    /// The artifact was compiled by this program.
    #[cfg(feature = "compile")]
    Compiled(Box<crate::observed::Compiled>),
}

/// An operation of the integer model.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Layer {
    /// Name of the operation.
    pub name: String,
    /// The layers of the float model that the operation was made from.
    pub sources: Vec<String>,
    /// The word for the operation in reports and rules.
    pub op: String,
    /// Why the operation runs on the host in float; `None` if it runs on the accelerator.
    pub host: Option<String>,
}

impl Artifact {
    /// Opens the artifact in a folder. Every file that is read is compared with its digest.
    ///
    /// # Errors
    /// If the folder is not an artifact, or the artifact is damaged.
    pub fn open(folder: impl AsRef<Path>) -> Result<Artifact, Error> {
        let artifact = strait_container::Artifact::open(folder.as_ref())?;
        let model = artifact.model(Integrity::Full)?;
        let manifest = artifact.manifest();
        Ok(Artifact {
            content: Arc::new(Content {
                target: manifest.target.id.clone(),
                origin: Origin::Folder(folder.as_ref().to_owned(), manifest.digest(), Box::new(model)),
            }),
        })
    }

    /// The module with the lowered graph and the fused graph, which is `main`.
    fn module(&self) -> &Module {
        match &self.content.origin {
            Origin::Folder(.., model) => &model.module,
            #[cfg(feature = "compile")]
            Origin::Compiled(compiled) => &compiled.built.module,
        }
    }

    /// Id of the target that the artifact is for.
    pub fn target(&self) -> &str {
        &self.content.target
    }

    /// Returns the digest that identifies an artifact in a folder, as 64 hexadecimal digits. Returns `None` for an
    /// artifact that this program has compiled; [`Artifact::write`] returns the digest of the artifact that it writes.
    pub fn digest(&self) -> Option<String> {
        match &self.content.origin {
            Origin::Folder(_, digest, _) => Some(digest.to_string()),
            #[cfg(feature = "compile")]
            Origin::Compiled(_) => None,
        }
    }

    /// Returns the operations of the integer model, in the order in which they run.
    ///
    /// # Errors
    /// If the graph has a cycle, which does not happen with artifacts that Strait has written.
    pub fn layers(&self) -> Result<Vec<Layer>, Error> {
        let module = self.module();
        let graph = module.main();
        let order = graph.topological_order().map_err(Error::defect)?;
        let nodes = order.into_iter().filter_map(|id| graph.node(id));
        let layer = |node: &strait_core::Node| Layer {
            name: module.name(node.name).to_owned(),
            sources: module.sources(node),
            op: node.op.term().to_string(),
            host: match &node.place {
                Placement::Host(reason) => Some(reason.text.clone()),
                Placement::Accelerator => None,
            },
        };
        Ok(nodes.map(layer).collect())
    }

    /// Returns the number of fusions, and how many of them are certified to compute exactly what they replace. Each of
    /// the other fusions has a certificate with a bound on the difference.
    pub fn fusions(&self) -> (usize, usize) {
        let exact = |record: &&CertificateRecord| record.certificate.worst().max_lsb() == 0;
        let all = match &self.content.origin {
            Origin::Folder(.., model) => &model.certificates,
            #[cfg(feature = "compile")]
            Origin::Compiled(compiled) => &compiled.built.certificates,
        };
        (all.len(), all.iter().filter(exact).count())
    }

    /// Prepares the integer model for running on one thread, with the default limits.
    ///
    /// # Errors
    /// If the graph cannot be run, or needs more than the limits allow.
    pub fn session(&self) -> Result<Session, Error> {
        self.session_with(&SessionOptions::default())
    }

    /// Prepares the integer model for running, with these options.
    ///
    /// # Errors
    /// As for [`Artifact::session`].
    pub fn session_with(&self, options: &SessionOptions) -> Result<Session, Error> {
        Session::new(self.module(), options)
    }

    /// Prepares the integer model for runs whose outputs are the codes in front of the real numbers, for an output that a
    /// dequantization computes. The file `manifest.json` has their scale and zero point, in `ports`.
    ///
    /// # Errors
    /// As for [`Artifact::session`].
    pub fn session_of_codes(&self, options: &SessionOptions) -> Result<Session, Error> {
        Session::of_codes(self.module(), options)
    }

    /// Prepares the whole model for running: the integer model, and the float model behind the tensors at which the model was
    /// cut, if the configuration asked for it. Without one, this is [`Artifact::session_with`].
    ///
    /// # Errors
    /// As for [`Artifact::session`], and if the file of the float model is not one that Strait has written.
    #[cfg(feature = "onnx")]
    pub fn session_of_whole(&self, options: &SessionOptions) -> Result<Session, Error> {
        let front = self.session_with(options)?;
        match self.tail()? {
            None => Ok(front),
            Some(tail) => front.followed_by(self.module(), Session::new(&tail.module, options)?),
        }
    }

    /// The float model behind the cut.
    #[cfg(feature = "onnx")]
    fn tail(&self) -> Result<Option<crate::Model>, Error> {
        let Origin::Folder(folder, digest, _) = &self.content.origin else {
            return Ok(None);
        };
        let artifact = strait_container::Artifact::open(folder)?;
        if artifact.manifest().digest() != *digest {
            let message = format!("{} has another artifact than the one that was opened", folder.display());
            return Err(Error::new(Fault::System, codes::ARTIFACT, message).help("open it again"));
        }
        /// The key of the file that names what runs behind the model.
        #[derive(serde::Deserialize)]
        struct Named {
            tail: Option<String>,
        }
        let deployment = artifact.file(strait_artifact::DEPLOYMENT_FILE)?;
        let named: Named = serde_json::from_slice(&deployment).map_err(Error::defect)?;
        let tail = named.tail.map(|file| crate::Model::from_bytes(artifact.file(&file)?));
        tail.transpose()
    }
}
