//! Float models, read from any format that this program supports.

use std::path::Path;

use bytes::Bytes;
use strait_artifact::ModelReading;
use strait_container::{Digest, ModelFiles, sha256};
use strait_core::{Module, Stage, bytes::decode as decode_ir, codes};
use strait_import::{Format, FreeDimension, ReadOptions};

use crate::{Elem, Error, Fault, Port};

/// A float model with fixed shapes.
///
/// ```
/// # #[cfg(feature = "onnx")] {
/// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../models/digits/digits.onnx");
/// use strait::{Model, ReadOptions, extend::Bytes, formats};
///
/// let model = Model::open(path)?;
/// assert_eq!(model.inputs()[0].shape, [1, 1, 8, 8]);
/// assert_eq!(model.outputs()[0].name, "logits");
/// for note in model.notes() {
///     println!("{note}");
/// }
///
/// // Read the same model from memory, but only up to its first layer.
/// let bytes = std::fs::read(path).unwrap();
/// let stem = ReadOptions { outputs: vec!["/stem/conv/Conv".to_owned()], ..ReadOptions::default() };
/// let stem = Model::read(Bytes::from(bytes), None, &formats(), &stem)?;
/// assert_eq!(stem.inputs(), model.inputs());
/// # }
/// # Ok::<(), strait::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Model {
    pub(crate) module: Module,
    pub(crate) digest: Digest,
    /// The files that the model's tensors are in. A model that a program has built has no files.
    pub(crate) files: Option<ModelFiles>,
    pub(crate) reading: ModelReading,
    notes: Vec<String>,
}

/// The model formats that this program reads. They depend on the features of this crate that are enabled.
///
/// ```
/// for format in strait::formats() {
///     println!("{}", format.name());
/// }
/// ```
pub fn formats() -> Vec<&'static dyn Format> {
    vec![
        #[cfg(feature = "tflite")]
        &strait_tflite::TfLite,
        #[cfg(feature = "tensorflow")]
        &strait_tensorflow::TensorFlow,
        #[cfg(feature = "onnx")]
        &strait_onnx::Onnx,
    ]
}

impl Model {
    /// Reads a model from a file. The format is recognized from the file's bytes. If the batch size is open, it is set
    /// to 1, and [`Model::notes`] says so.
    ///
    /// The file is mapped into memory and must not change while the model is in use. [`Model::observe`] and
    /// [`Artifact::write`](crate::Artifact::write) check that the file has not changed.
    ///
    /// # Errors
    /// If the file cannot be read, or the model contradicts itself, has unknown operators, or has dimensions without a
    /// size.
    pub fn open(path: impl AsRef<Path>) -> Result<Model, Error> {
        Model::open_with(path, &formats(), &ReadOptions::default())
    }

    /// Reads a model from a file, with formats of the caller's own and with options: sizes of dimensions, and where the
    /// graph begins and ends.
    ///
    /// # Errors
    /// As for [`Model::open`], and if the options do not fit the model.
    pub fn open_with(path: impl AsRef<Path>, formats: &[&dyn Format], options: &ReadOptions) -> Result<Model, Error> {
        let path = path.as_ref();
        let bytes = strait_mapped::map(path, strait_import::most_bytes(formats))
            .map_err(|error| Error::new(Fault::System, codes::MODEL, format!("{}: {error}", path.display())))?;
        read(path.display().to_string(), bytes, path.parent(), formats, options)
    }

    /// Reads a model from memory. A model whose weights are in separate files is refused, since no file is opened.
    ///
    /// # Errors
    /// As for [`Model::open`].
    pub fn from_bytes(bytes: impl Into<Bytes>) -> Result<Model, Error> {
        Model::read(bytes.into(), None, &formats(), &ReadOptions::default())
    }

    /// Reads a model from memory. If the weights of the model are in separate files, these files are read from
    /// `folder`. Without a folder, no file is opened.
    ///
    /// # Errors
    /// As for [`Model::open`], and if the options do not fit the model.
    pub fn read(
        bytes: Bytes,
        folder: Option<&Path>,
        formats: &[&dyn Format],
        options: &ReadOptions,
    ) -> Result<Model, Error> {
        read("the model".to_owned(), bytes, folder, formats, options)
    }

    /// Makes a model from the bytes of the intermediate representation, for programs that build graphs themselves. The
    /// main graph must be in the float stage. `tensors` returns the elements of each constant.
    ///
    /// # Errors
    /// If the bytes are invalid, or the graph breaks an invariant of its stage.
    pub fn from_ir(ir: &[u8], tensors: &dyn Fn(usize) -> Option<Bytes>) -> Result<Model, Error> {
        let refused = |error: &dyn std::fmt::Display| Error::new(Fault::Model, codes::MODEL, error);
        let module = decode_ir(ir, tensors).map_err(|error| refused(&error))?;
        if module.main().stage() != Stage::Float {
            return Err(refused(&"the main graph is not of the float stage"));
        }
        fixed(&module)?;
        let constants = module.pool().iter().flat_map(|tensor| sha256(tensor.bytes()).0);
        let parts: Vec<u8> = sha256(ir).0.into_iter().chain(constants).collect();
        Ok(Model {
            module,
            digest: sha256(&parts),
            files: None,
            reading: ModelReading::default(),
            notes: Vec::new(),
        })
    }

    /// Returns the assumptions that were made when the model was read, where the file says nothing or contradicts its
    /// own operators.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// The inputs, in the order of the model.
    pub fn inputs(&self) -> Vec<Port> {
        ports(&self.module, self.module.main().inputs())
    }

    /// The outputs, in the order of the model.
    pub fn outputs(&self) -> Vec<Port> {
        ports(&self.module, self.module.main().outputs())
    }
}

/// Reads a model. Errors name the model's file `name`.
fn read(
    name: String,
    bytes: Bytes,
    folder: Option<&Path>,
    formats: &[&dyn Format],
    options: &ReadOptions,
) -> Result<Model, Error> {
    let decoded = strait_import::decode(formats, bytes.clone(), folder)?;
    let (module, assumed) = decoded.read_single(options)?;
    fixed(&module)?;
    let files = ModelFiles::new(name, bytes, decoded.data_files());
    let batch = (assumed.batch.iter()).map(|free| {
        format!(
            "`{}` of the input `{}` is taken for the batch, and is 1",
            free.name, free.input
        )
    });
    Ok(Model {
        module,
        digest: files.digest(),
        files: Some(files),
        reading: ModelReading {
            bind: options.bind.clone(),
            inputs: options.inputs.clone(),
            outputs: options.outputs.clone(),
            hybrid_as_float: options.hybrid_as_float,
            batch: options.batch.clone(),
            embedded: Vec::new(),
        },
        notes: batch.chain(assumed.misstated).chain(assumed.dropped).collect(),
    })
}

/// Refuses a graph whose inputs have dimensions without a size.
fn fixed(module: &Module) -> Result<(), Error> {
    let free = strait_import::free_dimensions(module);
    let Some(first) = free.first() else { return Ok(()) };
    let named = |free: &FreeDimension| {
        format!(
            "dimension {} of the input `{}` (`{}`)",
            free.axis, free.input, free.name
        )
    };
    let named: Vec<String> = free.iter().map(named).collect();
    let message = format!("dimensions of inputs have no size: {}", named.join(", "));
    let help = format!(
        "give each one in `ReadOptions::bind`, by the key in brackets: `{}`",
        first.name
    );
    Err(Error::new(Fault::Call, codes::FREE_DIMENSION, message).help(help))
}

pub(crate) fn ports(module: &Module, values: &[strait_core::ValueId]) -> Vec<Port> {
    let graph = module.main();
    let port = |&id: &strait_core::ValueId| {
        let value = graph.value(id);
        let extents = value.map(|value| value.ty.shape.iter().map(|extent| extent.fixed().unwrap_or(0) as usize));
        Port {
            name: value.map_or("", |value| module.name(value.name)).to_owned(),
            elem: value.map_or(Elem::F32, |value| value.ty.elem),
            shape: extents.into_iter().flatten().collect(),
        }
    };
    values.iter().map(port).collect()
}
