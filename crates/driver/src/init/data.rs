//! What stored samples tell about themselves.

use std::{fs, path::Path};

use strait_samples::{Array, NumberType, read_arrays};

use crate::{
    diagnostic::Diagnostic,
    failure::{self, codes},
    stop::Stop,
};

/// How samples are stored.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Stored {
    /// PNG or JPEG files.
    Images,
    /// Arrays by the names of inputs. A single `.npy` has no name.
    Arrays(Vec<Stack>),
}

/// An array with the samples along its first axis.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Stack {
    pub(super) name: Option<String>,
    pub(super) numbers: NumberType,
    /// The shape of one sample.
    pub(super) shape: Vec<usize>,
    pub(super) samples: usize,
    /// The smallest and the largest number of the first samples.
    pub(super) range: [f32; 2],
}

/// An archive with more bytes is not read for a draft.
const MOST_BYTES: u64 = 8 << 30;

/// At most this many entries of a folder are looked at.
const MOST_ENTRIES: usize = 10_000;

/// Folders in folders are looked at down to this depth.
const DEPTH: usize = 4;

/// The range of numbers is that of so many samples.
const RANGED: usize = 16;

impl Stored {
    /// Looks at a file or a folder.
    pub(super) fn look(path: &Path) -> Result<Stored, Stop> {
        let wrong = |text: String| {
            let help = "samples are an .npy or .npz, a folder of .npy files named after the inputs, or a folder of PNG and JPEG images";
            Stop::from(Diagnostic::error(codes::NO_SAMPLES, text).help(help))
        };
        if path.is_dir() {
            let mut arrays = Vec::new();
            for (name, file) in arrays_in(path) {
                arrays.push(Stack::of(Some(name), &Array::open(&file).map_err(failure::data)?));
            }
            return match (arrays.is_empty(), has_images(path, DEPTH, &mut 0)) {
                (_, true) => Ok(Stored::Images),
                (false, false) => Ok(Stored::Arrays(arrays)),
                (true, false) => Err(wrong(format!("{} has neither arrays nor images", path.display()))),
            };
        }
        match extension(path).as_str() {
            "npy" => {
                let array = Array::open(path).map_err(failure::data)?;
                Ok(Stored::Arrays(vec![Stack::of(None, &array)]))
            }
            "npz" => {
                let arrays = read_arrays(path, MOST_BYTES).map_err(failure::data)?;
                let stacks = arrays.iter().map(|(name, array)| Stack::of(Some(name.clone()), array));
                Ok(Stored::Arrays(stacks.collect()))
            }
            "png" | "jpg" | "jpeg" => Ok(Stored::Images),
            _ if path.exists() => Err(wrong(format!("{} has no samples that Strait reads", path.display()))),
            _ => Err(wrong(format!("there is no {}", path.display()))),
        }
    }
}

impl Stack {
    fn of(name: Option<String>, array: &Array) -> Stack {
        let samples = array.samples().unwrap_or(0);
        let mut range = [f32::INFINITY, f32::NEG_INFINITY];
        for sample in 0..samples.min(RANGED) {
            for number in array.reals_of(sample) {
                range = [range[0].min(number), range[1].max(number)];
            }
        }
        Stack {
            name,
            numbers: array.number_type(),
            shape: array.shape().get(1..).unwrap_or_default().to_vec(),
            samples,
            range,
        }
    }
}

fn extension(path: &Path) -> String {
    let extension = path
        .extension()
        .map(|extension| extension.to_string_lossy().to_lowercase());
    extension.unwrap_or_default()
}

/// The `.npy` files of a folder, with their names without the extension, in the order of the names.
fn arrays_in(folder: &Path) -> Vec<(String, std::path::PathBuf)> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().take(MOST_ENTRIES);
    let files = entries
        .map(|entry| entry.path())
        .filter(|path| extension(path) == "npy");
    let mut found: Vec<_> = files
        .filter_map(|path| Some((path.file_stem()?.to_string_lossy().into_owned(), path)))
        .collect();
    found.sort();
    found
}

/// True if there is an image in a folder or below it.
fn has_images(folder: &Path, depth: usize, seen: &mut usize) -> bool {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    for path in entries.map(|entry| entry.path()) {
        *seen += 1;
        if *seen > MOST_ENTRIES {
            return false;
        }
        let is_one = ["png", "jpg", "jpeg"].contains(&extension(&path).as_str());
        if is_one || depth > 0 && path.is_dir() && has_images(&path, depth - 1, seen) {
            return true;
        }
    }
    false
}
