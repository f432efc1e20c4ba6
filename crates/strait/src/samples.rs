//! Samples on which a model is observed.

use std::{
    fmt,
    fs::File,
    io::{Read as _, Seek as _, SeekFrom, Write as _},
    path::Path,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use strait_container::sha256;
use strait_core::codes;
use strait_exchange::{Exchange, Quiet, Share};
use strait_execute::ExecuteError;
use strait_quantize::observe;

use crate::{Elem, Error, Fault, Tensor};

/// A source of samples that are only made when they are needed.
///
/// ```
/// use strait::{Samples, Source, Tensor};
///
/// /// Images in one array of bytes.
/// struct Images(Vec<[u8; 64]>);
///
/// impl Source for Images {
///     fn count(&self) -> usize {
///         self.0.len()
///     }
///
///     fn sample(&self, index: usize) -> Result<Vec<Tensor>, String> {
///         let image = self.0.get(index).ok_or("there is no such image")?;
///         let pixels = image.map(|pixel| f32::from(pixel) / 255.0);
///         Ok(vec![Tensor::new(&[1, 1, 8, 8], &pixels).map_err(|error| error.to_string())?])
///     }
/// }
///
/// let samples = Samples::from_source(Images(vec![[0; 64], [255; 64]]));
/// ```
pub trait Source: Send + Sync {
    /// Number of samples.
    fn count(&self) -> usize;

    /// Returns the tensors of the sample with this index, one for each input of the model, in the order of the model's
    /// inputs. This method may be called several times for the same sample, and from several threads.
    ///
    /// # Errors
    /// A sentence that says what is wrong with the sample.
    fn sample(&self, index: usize) -> Result<Vec<Tensor>, String>;

    /// Returns the SHA-256 digest of the samples' contents, which is recorded in an artifact's manifest. Returns `None`
    /// if the digest is not known.
    fn digest(&self) -> Option<[u8; 32]> {
        None
    }
}

/// Samples from the real use of a model. Each sample has a tensor for each input of the model, in the order of the
/// model.
///
/// ```
/// use strait::{Samples, Tensor};
///
/// let image = |level: f32| Tensor::new(&[1, 1, 8, 8], &[level; 64]).map(|image| vec![image]);
/// let in_memory = Samples::new([image(0.0)?, image(0.5)?]);
/// let in_a_file = Samples::spool([image(0.0)?, image(0.5)?])?;
/// # Ok::<(), strait::Error>(())
/// ```
#[derive(Clone)]
pub struct Samples(pub(crate) Arc<dyn observe::Samples>);

impl fmt::Debug for Samples {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Samples")
            .field("count", &self.0.count())
            .finish_non_exhaustive()
    }
}

impl Samples {
    /// Samples that are made when they are needed.
    pub fn from_source(source: impl Source + 'static) -> Samples {
        Samples(Arc::new(Adapter(source)))
    }

    /// Makes samples from tensors that stay in memory.
    pub fn new(samples: impl IntoIterator<Item = Vec<Tensor>>) -> Samples {
        Samples::from_source(InMemory(samples.into_iter().collect()))
    }

    /// Makes samples from an iterator that can be run only once, such as a data loader. They are stored in a temporary
    /// file, so that they need not fit into memory. The file has no name and is removed when the samples are no longer
    /// used.
    ///
    /// # Errors
    /// If the disk is full.
    pub fn spool(samples: impl IntoIterator<Item = Vec<Tensor>>) -> Result<Samples, Error> {
        let failed = |error: std::io::Error| {
            Error::new(
                Fault::System,
                codes::OUTPUT,
                format!("samples cannot be kept in a file: {error}"),
            )
        };
        let mut file = tempfile::tempfile().map_err(failed)?;
        let (mut places, mut digests, mut at) = (Vec::new(), Vec::new(), 0);
        for sample in samples {
            digests.push(digest(&sample));
            let mut tensors = Vec::with_capacity(sample.len());
            for tensor in sample {
                let bytes = tensor.bytes();
                file.write_all(bytes).map_err(failed)?;
                tensors.push(SpooledTensor {
                    elem: tensor.elem(),
                    shape: tensor.shape().to_vec(),
                    at,
                    length: bytes.len(),
                });
                at += bytes.len() as u64;
            }
            places.push(tensors);
        }
        let file = Mutex::new(file);
        let digest = digest_of_all(digests.into_iter());
        Ok(Samples::from_source(Spooled { file, places, digest }))
    }
}

impl Samples {
    /// Shares these samples with other processes, each of which has another share of them. [`Model::observe`] then runs only the
    /// samples of this share, and has the statistics of all samples, to the last bit. The processes exchange them through files in
    /// `folder`, which is empty at first. All processes have to do the same with the samples. `patience` is how long this process
    /// waits while another one delivers nothing.
    ///
    /// ```
    /// use std::time::Duration;
    /// use strait::{Samples, Share, Tensor};
    ///
    /// let folder = tempfile::tempdir()?;
    /// let samples = Samples::new([vec![Tensor::new(&[1, 1, 8, 8], &[0.5f32; 64])?]]);
    /// let share = Share::new(1, 1).ok_or("there is no such share")?;
    /// let shared = samples.shared(share, folder.path(), Duration::from_secs(600))?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// [`Model::observe`]: crate::Model::observe
    ///
    /// # Errors
    /// If the folder cannot be used, another process has other samples or another version of this library, or does not come.
    pub fn shared(&self, share: Share, folder: impl AsRef<Path>, patience: Duration) -> Result<Samples, Error> {
        let version = sha256(env!("CARGO_PKG_VERSION").as_bytes()).0;
        let count = sha256(&self.0.count().to_le_bytes()).0;
        let digest = self.0.digest().unwrap_or_default();
        let facts = [
            ("version of Strait", version),
            ("number of samples", count),
            ("set of samples", digest),
        ];
        let begun = Exchange::new(folder.as_ref(), share, patience, Quiet);
        let begun = begun.and_then(|exchange| exchange.agree("agree", &facts).map(|()| exchange));
        let exchange = begun.map_err(|error| Error::from(ExecuteError::from(error)))?;
        Ok(Samples(Arc::new(Shared {
            samples: self.0.clone(),
            exchange,
        })))
    }
}

struct Shared {
    samples: Arc<dyn observe::Samples>,
    exchange: Exchange<'static>,
}

impl observe::Samples for Shared {
    fn count(&self) -> usize {
        self.samples.count()
    }

    fn sample(&self, index: usize) -> Result<Vec<strait_execute::Tensor>, String> {
        self.samples.sample(index)
    }

    fn digest(&self) -> Option<[u8; 32]> {
        self.samples.digest()
    }

    fn exchange(&self) -> Option<&Exchange<'_>> {
        Some(&self.exchange)
    }
}

struct Adapter<S>(S);

impl<S: Source> observe::Samples for Adapter<S> {
    fn count(&self) -> usize {
        self.0.count()
    }

    fn sample(&self, index: usize) -> Result<Vec<strait_execute::Tensor>, String> {
        Ok(self.0.sample(index)?.into_iter().map(|tensor| tensor.0).collect())
    }

    fn digest(&self) -> Option<[u8; 32]> {
        self.0.digest()
    }
}

struct InMemory(Vec<Vec<Tensor>>);

impl Source for InMemory {
    fn count(&self) -> usize {
        self.0.len()
    }

    fn sample(&self, index: usize) -> Result<Vec<Tensor>, String> {
        let sample = self.0.get(index).cloned();
        sample.ok_or_else(|| format!("there is no sample {index}"))
    }

    fn digest(&self) -> Option<[u8; 32]> {
        Some(digest_of_all(self.0.iter().map(|sample| digest(sample))))
    }
}

/// Returns the digest of one sample. It is computed from a text with a line for each tensor: its type, its shape and
/// the digest of its bytes.
fn digest(sample: &[Tensor]) -> [u8; 32] {
    let line = |tensor: &Tensor| format!("{} {:?} {}\n", tensor.elem(), tensor.shape(), sha256(tensor.bytes()));
    sha256(sample.iter().map(line).collect::<String>().as_bytes()).0
}

/// Digest of all samples, computed from the digests of the single samples.
fn digest_of_all(samples: impl Iterator<Item = [u8; 32]>) -> [u8; 32] {
    sha256(&samples.flatten().collect::<Vec<u8>>()).0
}

/// The place of a tensor in the temporary file, and its type and shape.
struct SpooledTensor {
    elem: Elem,
    shape: Vec<usize>,
    at: u64,
    length: usize,
}

struct Spooled {
    file: Mutex<File>,
    places: Vec<Vec<SpooledTensor>>,
    digest: [u8; 32],
}

impl Source for Spooled {
    fn count(&self) -> usize {
        self.places.len()
    }

    fn sample(&self, index: usize) -> Result<Vec<Tensor>, String> {
        let places = self.places.get(index);
        let places = places.ok_or_else(|| format!("there is no sample {index}"))?;
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        let tensor = |place: &SpooledTensor| {
            let mut bytes = vec![0; place.length];
            let read = file
                .seek(SeekFrom::Start(place.at))
                .and_then(|_| file.read_exact(&mut bytes));
            read.map_err(|error| error.to_string())?;
            Tensor::from_bytes(place.elem, &place.shape, &bytes).map_err(|error| error.to_string())
        };
        places.iter().map(tensor).collect()
    }

    fn digest(&self) -> Option<[u8; 32]> {
        Some(self.digest)
    }
}
