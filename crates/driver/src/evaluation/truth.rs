//! Labels that are arrays: classes, masks, references.

use std::path::Path;

use strait_samples::{Array, Kind, Samples, read_arrays, read_labels};

use crate::{config::leaf::are_folders, diagnostic::Diagnostic, failure, stop::Stop, table};

/// Arrays of an archive that are larger together are no labels.
const MOST_BYTES: u64 = 1 << 40;

/// Number of labels that there are to be: one for each of these samples, or for all `stored` ones.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wanted {
    pub(crate) samples: usize,
    pub(crate) stored: usize,
}

/// True for labels that know their images by name, and so need not be as many as these.
pub(crate) fn by_name(path: &Path) -> bool {
    let is_text = |extension: &std::ffi::OsStr| ["csv", "txt"].iter().any(|text| extension.eq_ignore_ascii_case(text));
    are_folders(path) || path.extension().is_some_and(is_text)
}

/// The classes in a file, or those of images by their folders.
pub(crate) fn classes(path: &Path, names: &[&str], wanted: Wanted, samples: &Samples) -> Result<Vec<u32>, Stop> {
    if by_name(path) {
        let found = match are_folders(path) {
            true => samples.folder_classes(),
            false => samples.named_classes(path),
        };
        return Ok(found.map_err(failure::data)?);
    }
    if !is_archive(path) {
        return Ok(read_labels(path, wanted.samples, wanted.stored).map_err(failure::data)?);
    }
    let array = array(path, names, wanted)?;
    if array.shape().iter().skip(1).any(|&extent| extent != 1) {
        let message = format!(
            "{} has the shape {:?}, and labels are one number for each sample",
            array.name(),
            array.shape()
        );
        return Err(Diagnostic::error(Kind::Shape.code(), message).into());
    }
    let class = |sample: usize| {
        let number = array.integers_of(sample).and_then(|numbers| numbers.first().copied());
        number.and_then(|number| u32::try_from(number).ok()).ok_or_else(|| {
            let message = format!(
                "label {sample} of {} is not a class: a whole number from 0 on",
                array.name()
            );
            Diagnostic::error(Kind::Label.code(), message).into()
        })
    };
    (0..wanted.samples).map(class).collect()
}

/// The array of an `.npy`, or that of an `.npz` which has one of these names or is the only one, with a label for each
/// sample along its first axis.
pub(crate) fn array(path: &Path, names: &[&str], wanted: Wanted) -> Result<Array, Stop> {
    let array = match is_archive(path) {
        false => Array::open(path).map_err(failure::data)?,
        true => {
            let mut arrays = read_arrays(path, MOST_BYTES).map_err(failure::data)?;
            let named = names.iter().find_map(|&name| arrays.remove(name));
            match (named, arrays.len()) {
                (Some(array), _) => array,
                (None, 1) => arrays
                    .into_values()
                    .next()
                    .ok_or_else(|| Stop::Defect("an array is lost".into()))?,
                (None, _) => {
                    let message = format!("{} has no array {}", path.display(), names.join(" or "));
                    let there: Vec<&str> = arrays.keys().map(String::as_str).take(20).collect();
                    let finding = Diagnostic::error(Kind::Name.code(), message);
                    return Err(finding.note(format!("its arrays are {}", there.join(", "))).into());
                }
            }
        }
    };
    let labels = array.samples().unwrap_or(0);
    if array.shape().is_empty() || !(wanted.samples..=wanted.stored.max(wanted.samples)).contains(&labels) {
        let samples = if labels < wanted.samples {
            wanted.samples
        } else {
            wanted.stored
        };
        let message = format!(
            "{} has {} for {}",
            array.name(),
            table::count(labels, "label"),
            table::count(samples, "sample")
        );
        return Err(Diagnostic::error(Kind::Count.code(), message).into());
    }
    Ok(array)
}

fn is_archive(path: &Path) -> bool {
    path.extension()
        .is_some_and(|extension| extension.eq_ignore_ascii_case("npz"))
}
