//! The source from which the samples of one input are read.

use bytes::Bytes;
use sha2::{Digest as _, Sha256};

use crate::{
    digest::text,
    error::{DataError, Kind},
    images::Images,
    marks::{self, Mark, Marks},
    npy::Array,
    numbers::NumberType,
    random::Random,
};

/// Arrays that are read as one list of samples: first all samples of the first array, then those of the second.
pub(crate) type Pieces = Vec<Array>;

/// The source of the samples for one input.
#[derive(Debug)]
pub(crate) enum Source {
    /// A list of arrays. None of them is empty or a single number. For each array, `ends` has the number of samples up
    /// to and including that array.
    Arrays { pieces: Pieces, ends: Vec<usize> },
    /// An array that is each of the samples. Its first axis has one element, the array as it is stored.
    Shared(Array),
    /// Images, each of which is a sample.
    Images(Images),
    /// Random numbers instead of samples.
    Random(Random),
}

/// A sample as it is stored.
pub(crate) struct Stored {
    pub(crate) number_type: NumberType,
    /// The numbers: little-endian, where the last axis varies fastest.
    pub(crate) bytes: Bytes,
}

impl Source {
    /// Makes a source of arrays. All their samples must have the same shape.
    pub(crate) fn arrays(mut pieces: Pieces, input: &str) -> Result<Source, DataError> {
        if let Some(single) = pieces.iter().find(|array| array.shape().is_empty()) {
            let message = format!("{} is a single number, not samples along a first axis", single.name());
            return Err(DataError::new(Kind::Shape, message));
        }
        pieces.retain(|array| array.samples() != Some(0));
        let Some(first) = pieces.first() else {
            let message = format!("there are no samples for the input {input:?}");
            return Err(DataError::new(Kind::Count, message));
        };
        if let Some(other) = pieces.iter().find(|array| array.shape()[1..] != first.shape()[1..]) {
            let message = format!(
                "samples of the input {input:?} have different shapes: {:?} in {}, {:?} in {}",
                &first.shape()[1..],
                first.name(),
                &other.shape()[1..],
                other.name()
            );
            return Err(DataError::new(Kind::Shape, message));
        }
        let mut total = 0;
        let ends = pieces.iter().map(|array| {
            total += array.shape()[0];
            total
        });
        let ends = ends.collect();
        Ok(Source::Arrays { pieces, ends })
    }

    /// Makes a source of arrays, or of one array that is every sample if it has exactly the shape `shared`.
    pub(crate) fn arrays_or_shared(mut pieces: Pieces, input: &str, shared: &[usize]) -> Result<Source, DataError> {
        match pieces.as_slice() {
            [only] if only.shape() == shared => Ok(Source::Shared(pieces.remove(0).into_sample())),
            _ => Source::arrays(pieces, input),
        }
    }

    /// Number of samples. `None` if there are as many as are needed.
    pub(crate) fn count(&self) -> Option<usize> {
        match self {
            Source::Arrays { ends, .. } => Some(ends.last().copied().unwrap_or(0)),
            Source::Shared(_) => None,
            Source::Images(images) => Some(images.count()),
            Source::Random(random) => Some(random.count),
        }
    }

    /// The shape of a sample as it is stored.
    pub(crate) fn shape(&self) -> &[usize] {
        match self {
            Source::Arrays { pieces, .. } => pieces.first().map_or(&[], |array| &array.shape()[1..]),
            Source::Shared(array) => &array.shape()[1..],
            Source::Images(images) => images.shape(),
            Source::Random(random) => &random.shape,
        }
    }

    /// The type of the numbers in each array or image, with the name of the array or image.
    pub(crate) fn types(&self) -> Vec<(NumberType, &str)> {
        match self {
            Source::Arrays { pieces, .. } => {
                let types = pieces.iter().map(|array| (array.number_type(), array.name()));
                types.collect()
            }
            Source::Shared(array) => vec![(array.number_type(), array.name())],
            Source::Images(images) => vec![(NumberType::U8, images.first())],
            Source::Random(random) => vec![(random.number_type, "random numbers")],
        }
    }

    /// Returns the numbers of a sample as they are stored.
    ///
    /// # Errors
    /// A file cannot be read, its bytes do not match the sample's hash in `marks`, or an image cannot be decoded or has
    /// another size.
    pub(crate) fn read(&self, sample: usize, marks: Marks<'_>) -> Result<Stored, DataError> {
        Ok(match self {
            Source::Arrays { pieces, ends } => {
                let (array, position) = locate(pieces, ends, sample);
                let bytes = array.read_sample(position)?;
                marks::hold(&bytes, sample, marks, || array.name().to_owned())?;
                Stored {
                    number_type: array.number_type(),
                    bytes,
                }
            }
            Source::Shared(array) => {
                let bytes = array.read_sample(0)?;
                marks::hold(&bytes, 0, marks, || array.name().to_owned())?;
                Stored {
                    number_type: array.number_type(),
                    bytes,
                }
            }
            Source::Images(images) => Stored {
                number_type: NumberType::U8,
                bytes: images.read(sample, marks)?.into(),
            },
            Source::Random(random) => Stored {
                number_type: random.number_type,
                bytes: random.read(sample).into(),
            },
        })
    }

    /// The name of the place where a sample is stored, for messages.
    pub(crate) fn place(&self, sample: usize) -> String {
        match self {
            Source::Arrays { pieces, ends } => {
                let (array, position) = locate(pieces, ends, sample);
                format!("it is number {position} of {}, counted from 0", array.name())
            }
            Source::Shared(array) => format!("it is {}", array.name()),
            Source::Images(images) => format!("it is {}", images.path(sample).display()),
            Source::Random(_) => "it is random numbers".to_owned(),
        }
    }

    /// Adds the first `count` samples to a hash: types, shapes, numbers as stored, and how they are split into arrays.
    /// Returns the mark of each sample, which is a hash of its bytes. Random numbers have no marks, because they are in
    /// no file.
    ///
    /// # Errors
    /// A file cannot be read.
    pub(crate) fn digest(&self, count: usize, hasher: &mut Sha256) -> Result<Vec<Mark>, DataError> {
        match self {
            Source::Arrays { pieces, ends } => {
                let mut taken = Vec::with_capacity(count);
                for (array, &end) in pieces.iter().zip(ends) {
                    let available = array.shape()[0];
                    let used = available.min(count.saturating_sub(end - available));
                    if used > 0 {
                        let head = format!("{} {:?}", array.number_type().name(), &array.shape()[1..]);
                        text(hasher, &head);
                        for sample in 0..used {
                            let bytes = array.read_sample(sample)?;
                            hasher.update(&bytes);
                            taken.push(marks::mark(&bytes));
                        }
                    }
                }
                Ok(taken)
            }
            Source::Shared(array) => {
                text(
                    hasher,
                    &format!("shared {} {:?}", array.number_type().name(), &array.shape()[1..]),
                );
                let bytes = array.read_sample(0)?;
                hasher.update(&bytes);
                Ok(vec![marks::mark(&bytes)])
            }
            Source::Images(images) => images.digest(count, hasher),
            Source::Random(random) => {
                text(hasher, &random.describe());
                Ok(Vec::new())
            }
        }
    }
}

/// Finds the array that contains a sample, and the position of the sample in that array.
fn locate<'a>(pieces: &'a [Array], ends: &[usize], sample: usize) -> (&'a Array, usize) {
    let piece = ends.partition_point(|&end| end <= sample);
    let begin = piece.checked_sub(1).map_or(0, |before| ends[before]);
    (&pieces[piece], sample - begin)
}
