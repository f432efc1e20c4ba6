//! Opens the data at a path, and assigns arrays and images to the model's inputs.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use strait_document::nearest;

use crate::{
    archive::Archive,
    error::{DataError, Kind},
    listing::{Listing, is_image},
    names::{self, extension},
    npy::Array,
    place::SampleSource,
    source::Pieces,
};

/// The data that was found for an input.
#[derive(Debug)]
pub(crate) enum InputSource {
    /// Arrays with the samples of the input.
    Arrays(Pieces),
    /// Images, each of which is a sample of the input.
    Images(Listing),
    /// Random numbers. The field is the number of samples.
    Random(usize),
}

/// Opens the samples for each of `inputs`, in the order of `inputs`.
///
/// | `path` is | read as |
/// |---|---|
/// | `.npy` | the samples of the only input |
/// | `.npz` | one array for each input, by its name |
/// | a folder of `NAME.npy` | one file for each input, by its [escaped](names::escape) name |
/// | a folder of `.npy` | for a model of one input: batches, in the order of their names |
/// | a folder of `.npz` | batches, in the order of their names |
/// | a list or a pattern of `.npy` or `.npz` | batches, in this order |
/// | an image, a list or a pattern of images, a folder of images or of such folders | the samples of the only input |
/// | a folder of folders of images | one folder for each of several inputs, by its escaped name; or an array of that name |
pub(crate) fn open(place: &SampleSource, inputs: &[&str]) -> Result<Vec<InputSource>, DataError> {
    match place {
        SampleSource::Path(path) => open_path(path, inputs),
        SampleSource::Listed(paths) => listed(Listing::of_paths(paths)?, "a list of files", inputs),
        SampleSource::Random(count) => Ok(inputs
            .iter()
            .map(|_| InputSource::Random(count.get() as usize))
            .collect()),
    }
}

/// Opens the files of a listing: images, or arrays and archives that are read as batches of one set of samples.
fn listed(listing: Listing, shown: &str, inputs: &[&str]) -> Result<Vec<InputSource>, DataError> {
    let paths: Vec<PathBuf> = (0..listing.count()).map(|file| listing.path(file)).collect();
    let is = |path: &&PathBuf, kind: &str| extension(path) == kind;
    let (arrays, archives) = (
        paths.iter().filter(|path| is(path, "npy")).count(),
        paths.iter().filter(|path| is(path, "npz")).count(),
    );
    match (arrays, archives, inputs) {
        (0, 0, _) => only(listing, shown, inputs),
        (_, 0, [_]) if arrays == paths.len() => Ok(vec![InputSource::Arrays(joined(&paths)?)]),
        (0, _, _) if archives == paths.len() => archives_of(&paths, inputs),
        (_, 0, _) if arrays == paths.len() => Err(one_array(shown, inputs)),
        _ => {
            let message = format!("{shown} has files of several kinds: it is not clear which are meant");
            Err(DataError::new(Kind::Name, message).help("name .npy files, .npz files or images alone"))
        }
    }
}

/// Opens arrays for one input. The samples of each array follow those of the array before it.
fn joined<'p>(paths: impl IntoIterator<Item = &'p PathBuf>) -> Result<Pieces, DataError> {
    paths.into_iter().map(|path| Array::open(path)).collect()
}

/// Opens archives, each of which has a batch of samples. For each input, the archives' arrays are joined in the order
/// of the archives.
fn archives_of<'p>(
    paths: impl IntoIterator<Item = &'p PathBuf>,
    inputs: &[&str],
) -> Result<Vec<InputSource>, DataError> {
    let mut pieces = vec![Pieces::new(); inputs.len()];
    for path in paths {
        for (pieces, more) in pieces.iter_mut().zip(open_archive(path, inputs)?) {
            pieces.extend(more);
        }
    }
    Ok(pieces.into_iter().map(InputSource::Arrays).collect())
}

fn one_array(shown: &str, inputs: &[&str]) -> DataError {
    let message = format!("{shown} is one array, and the model has {} inputs", inputs.len());
    let help = format!("give an .npz, or a folder of .npy, with {}", list(inputs));
    DataError::new(Kind::Name, message).help(help)
}

/// Opens images as the samples of the model's only input.
fn only(listing: Listing, shown: &str, inputs: &[&str]) -> Result<Vec<InputSource>, DataError> {
    match inputs {
        [_] => Ok(vec![InputSource::Images(listing)]),
        _ => {
            let message = format!("{shown} is for one input, and the model has {} inputs", inputs.len());
            let help = format!(
                "give a folder that holds a folder or an array for each: {}",
                list(inputs)
            );
            Err(DataError::new(Kind::Name, message).help(help))
        }
    }
}

fn open_path(path: &Path, inputs: &[&str]) -> Result<Vec<InputSource>, DataError> {
    let shown = path.display().to_string();
    let metadata = match fs::metadata(path) {
        Ok(metadata) => metadata,
        Err(error) => match Listing::of_pattern(path) {
            Some(listing) => return listed(listing?, &shown, inputs),
            None => return Err(DataError::unreadable(path, error)),
        },
    };
    if metadata.is_dir() {
        return open_folder(path, inputs);
    }
    match (extension(path).as_str(), inputs) {
        ("txt", _) => listed(Listing::of_list(path)?, &shown, inputs),
        _ if is_image(&shown) => only(Listing::of_paths(&[path.to_owned()])?, &shown, inputs),
        ("npy", [_]) => Ok(vec![InputSource::Arrays(vec![Array::open(path)?])]),
        ("npy", _) => Err(one_array(&shown, inputs)),
        ("npz", _) => Ok(open_archive(path, inputs)?
            .into_iter()
            .map(InputSource::Arrays)
            .collect()),
        _ => {
            let message = format!(
                "{} is neither .npy nor .npz, nor an image or a list (.txt) of files, nor a folder",
                path.display()
            );
            let help = "write arrays with numpy.save or numpy.savez, and images as PNG or JPEG";
            Err(DataError::new(Kind::Format, message).help(help))
        }
    }
}

/// Opens one file or folder for each input.
///
/// # Errors
/// There is no file for an input, or a file does not belong to any input.
pub(crate) fn open_by_name(files: &BTreeMap<String, PathBuf>, inputs: &[&str]) -> Result<Vec<InputSource>, DataError> {
    if let Some(stranger) = files.keys().find(|name| !inputs.contains(&name.as_str())) {
        let message = format!("the model has no input {stranger:?}");
        let finding = DataError::new(Kind::Name, message).note(format!("its inputs are {}", list(inputs)));
        return Err(meant(finding, stranger, inputs.iter().copied()));
    }
    let file = |&input: &&str| {
        let file = files.get(input).ok_or_else(|| {
            let message = format!("there are no samples for the input {input:?}");
            DataError::new(Kind::Name, message).help(format!("give {}", list(inputs)))
        })?;
        match is_image(&file.to_string_lossy()) || file.is_dir() || extension(file) == "txt" {
            true => Ok(open_path(file, &[input])?),
            false if extension(file) == "npz" => {
                let pieces = open_archive(file, &[input])?;
                Ok(pieces.into_iter().map(InputSource::Arrays).collect())
            }
            false => Array::open(file).map(|array| vec![InputSource::Arrays(vec![array])]),
        }
    };
    let found: Vec<Vec<InputSource>> = inputs.iter().map(file).collect::<Result<_, _>>()?;
    Ok(found.into_iter().flatten().collect())
}

fn open_folder(folder: &Path, inputs: &[&str]) -> Result<Vec<InputSource>, DataError> {
    let unreadable = |error| DataError::unreadable(folder, error);
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        if path.is_file() {
            files.push(path);
        }
    }
    files.sort();
    let of_kind = |kind| files.iter().filter(move |file| extension(file) == kind);
    let named: Vec<PathBuf> = inputs
        .iter()
        .map(|name| folder.join(format!("{}.npy", names::escape(name))))
        .collect();
    // For each input there must be an array with the input's name. If there are several inputs, a folder of images with
    // this name is also allowed.
    let several = inputs.len() > 1;
    let images = |file: &PathBuf| Some(file.with_extension("")).filter(|folder| several && folder.is_dir());
    if named.iter().all(|file| files.contains(file) || images(file).is_some()) {
        let open = |file: &PathBuf| match (files.contains(file), images(file)) {
            (false, Some(folder)) => Listing::of_folder(&folder).map(InputSource::Images),
            _ => Array::open(file).map(|array| InputSource::Arrays(vec![array])),
        };
        return named.iter().map(open).collect();
    }
    let (arrays, archives) = (of_kind("npy").count(), of_kind("npz").count());
    match (arrays, archives, inputs) {
        (1.., 0, [_]) => Ok(vec![InputSource::Arrays(joined(of_kind("npy"))?)]),
        (0, 1.., _) => archives_of(of_kind("npz"), inputs),
        (1.., 1.., _) => {
            let message = format!(
                "{} holds .npy and .npz files: it is not clear which are meant",
                folder.display()
            );
            Err(DataError::new(Kind::Name, message).help("leave one kind in the folder"))
        }
        (0, 0, [_]) => match Listing::of_folder(folder)? {
            none if none.count() == 0 => {
                let message = format!(
                    "{} holds neither .npy nor .npz files, and there are no images in it or below it",
                    folder.display()
                );
                Err(DataError::new(Kind::Count, message))
            }
            listing => Ok(vec![InputSource::Images(listing)]),
        },
        (0, 0, _) => {
            let message = format!("{} holds neither .npy nor .npz files", folder.display());
            let help = format!("give each input an array or a folder of images: {}", list(inputs));
            Err(DataError::new(Kind::Count, message).help(help))
        }
        (1.., 0, _) => {
            let message = format!("{} does not hold a file for each input", folder.display());
            let missing: Vec<String> = named
                .iter()
                .filter(|file| !files.contains(file))
                .filter_map(|file| Some(file.file_name()?.to_string_lossy().into_owned()))
                .collect();
            Err(DataError::new(Kind::Name, message).note(format!("missing: {}", missing.join(", "))))
        }
    }
}

fn open_archive(path: &Path, inputs: &[&str]) -> Result<Vec<Pieces>, DataError> {
    let shown = path.display();
    let mut archive = Archive::open(path)?;
    let mut found = Vec::new();
    for &input in inputs {
        let Some(content) = archive.member(&format!("{input}.npy"))? else {
            let names = archive
                .names()
                .filter_map(|name| Some(name.strip_suffix(".npy")?.to_owned()));
            let names: Vec<String> = names.take(20).collect();
            let message = format!("{shown} has no array for the input {input:?}");
            let finding = DataError::new(Kind::Name, message).note(format!("its arrays are {}", list(&names)));
            // A file that belongs to another input is not suggested.
            let free = names.iter().map(String::as_str).filter(|name| !inputs.contains(name));
            return Err(meant(finding, input, free));
        };
        found.push(vec![Array::of_member(&format!("{shown}, {input}"), &content)?]);
    }
    Ok(found)
}

/// Adds advice to an error: the item of `names` that the user probably meant when writing `name`.
fn meant<'a>(finding: DataError, name: &str, names: impl IntoIterator<Item = &'a str>) -> DataError {
    match nearest::did_you_mean(name, names).first() {
        Some(near) => finding.help(format!("did you mean {near:?}?")),
        None => finding,
    }
}

fn list(names: &[impl AsRef<str>]) -> String {
    let names: Vec<&str> = names.iter().map(AsRef::as_ref).collect();
    if names.is_empty() {
        "none".to_owned()
    } else {
        names.join(", ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::archive::tests::archive;
    use crate::{NumberType, Writer};

    fn save(path: &Path, values: &[u8]) {
        let mut writer = Writer::create(path, NumberType::U8, &[values.len()]).unwrap();
        writer.append(values).unwrap();
        writer.finish().unwrap();
    }

    fn npy_bytes(values: &[u8]) -> Vec<u8> {
        let file = tempfile::NamedTempFile::new().unwrap();
        save(file.path(), values);
        fs::read(file.path()).unwrap()
    }

    fn bytes_of(found: &[InputSource]) -> Vec<Vec<u8>> {
        let joined = |found: &InputSource| match found {
            InputSource::Arrays(pieces) => pieces.iter().flat_map(|array| array.bytes().to_vec()).collect(),
            other => panic!("{other:?}"),
        };
        found.iter().map(joined).collect()
    }

    #[test]
    fn each_way_to_store_samples_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            path
        };
        save(&at("one.npy"), &[1, 2]);
        save(&at("named/x.npy"), &[1, 2]);
        save(&at("named/%2Fy%3A0.npy"), &[3]);
        save(&at("named/labels.npy"), &[9]);
        save(&at("batches/b.npy"), &[3]);
        save(&at("batches/a.npy"), &[1, 2]);
        let (x, y) = (npy_bytes(&[1, 2]), npy_bytes(&[3]));
        for (file, deflated) in [
            ("stored.npz", false),
            ("deflated.npz", true),
            ("archives/1.npz", true),
            ("archives/2.npz", false),
        ] {
            fs::write(at(file), archive(&[("/y:0.npy", &y), ("x.npy", &x)], deflated)).unwrap();
        }
        fs::write(at("list.txt"), "batches/b.npy\nbatches/a.npy\n").unwrap();
        let two: &[&str] = &["x", "/y:0"];
        for (path, inputs, expected) in [
            ("one.npy", &["x"][..], vec![vec![1, 2]]),
            ("named", two, vec![vec![1, 2], vec![3]]),
            ("named", &["x"], vec![vec![1, 2]]),
            ("batches", &["x"], vec![vec![1, 2, 3]]),
            ("stored.npz", two, vec![vec![1, 2], vec![3]]),
            ("deflated.npz", two, vec![vec![1, 2], vec![3]]),
            ("archives", two, vec![vec![1, 2, 1, 2], vec![3, 3]]),
            ("batches/*.npy", &["x"], vec![vec![1, 2, 3]]),
            ("archives/*.npz", two, vec![vec![1, 2, 1, 2], vec![3, 3]]),
            ("list.txt", &["x"], vec![vec![3, 1, 2]]),
        ] {
            let found = open(&SampleSource::Path(at(path)), inputs).unwrap_or_else(|error| panic!("{path}: {error}"));
            assert_eq!(bytes_of(&found), expected, "{path}");
        }
    }

    #[test]
    fn what_does_not_correspond_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        save(&path("one.npy"), &[1]);
        fs::write(path("some.npz"), archive(&[("input.npy", &npy_bytes(&[1]))], false)).unwrap();
        fs::write(path("cut.npz"), b"PK").unwrap();
        fs::write(path("x.csv"), b"1").unwrap();
        fs::create_dir(path("empty")).unwrap();
        for (name, inputs, expected) in [
            ("one.npy", &["x", "y"][..], Kind::Name),
            ("some.npz", &["inputs"], Kind::Name),
            ("cut.npz", &["x"], Kind::Format),
            ("x.csv", &["x"], Kind::Format),
            ("absent.npy", &["x"], Kind::File),
            ("empty", &["x"], Kind::Count),
            ("", &["x"], Kind::Name),
            ("*.np?", &["x"], Kind::Name),
            ("o*.npy", &["x", "y"], Kind::Name),
        ] {
            let found = open(&SampleSource::Path(path(name)), inputs).expect_err(name);
            assert_eq!(found.kind, expected, "{name}: {found}");
        }
        let message = open(&SampleSource::Path(path("some.npz")), &["inputs"])
            .unwrap_err()
            .help
            .join("; ");
        assert!(message.contains("did you mean \"input\"?"), "{message}");
    }

    #[test]
    fn files_and_inputs_are_one_to_one() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("x.npy");
        save(&file, &[1]);
        let files = |names: &[&str]| names.iter().map(|&name| (name.to_owned(), file.clone())).collect();
        assert!(open_by_name(&files(&["x", "y"]), &["y", "x"]).is_ok());
        assert!(open_by_name(&files(&["x"]), &["y", "x"]).is_err());
        assert!(open_by_name(&files(&["x", "z"]), &["x"]).is_err());
    }
}
