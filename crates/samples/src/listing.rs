//! Lists the files of a set of samples, in a fixed order.
//!
//! ```text
//! a folder        all .png, .jpg and .jpeg in it and in the folders below it, in the order of their paths
//! a pattern       all files that the pattern matches, such as `images/**/*.jpg`, in the order of their paths
//! a list (.txt)   one path in each line, relative to the folder of the list, in this order; `#` begins a remark
//! ```
//!
//! Paths are compared component by component and byte by byte, so that the order is the same on every system. Each
//! folder directly below the folder of the set is a class. The number of the class is the position of its folder in
//! this order.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use strait_document::Glob;

use crate::{
    error::{DataError, Kind},
    names::extension,
};

/// How deep folders may be nested.
const DEEPEST: usize = 64;

/// The largest number of folders in a set.
const MOST_FOLDERS: usize = 1_000_000;

/// The largest number of files in a set.
const MOST_FILES: usize = 50_000_000;

/// The largest size of a list, in bytes.
const MOST_LIST: u64 = 1 << 30;

/// A list of files that are images or arrays. Each file has a name.
#[derive(Clone, Debug, Default)]
pub(crate) struct Listing {
    /// The root: the folder to which the names are relative.
    root: PathBuf,
    /// The paths of the files relative to the root, with `/`.
    names: Vec<String>,
    /// The names of images that were left out.
    left_out: Vec<String>,
    /// The names of the folders directly below the root that hold images, in order.
    folders: Vec<String>,
}

impl Listing {
    fn new(root: &Path, names: Vec<String>) -> Listing {
        let folders: BTreeSet<&str> = names.iter().filter_map(|name| folder(name)).collect();
        Listing {
            root: root.to_owned(),
            folders: folders.into_iter().map(str::to_owned).collect(),
            names,
            left_out: Vec::new(),
        }
    }

    /// Lists the images in a folder and in all folders below it.
    pub(crate) fn of_folder(root: &Path) -> Result<Listing, DataError> {
        Ok(Listing::new(root, walk(root, &is_image, MOST_FOLDERS)?))
    }

    /// Lists the images that a pattern matches; `None` if the path is not a pattern.
    pub(crate) fn of_pattern(pattern: &Path) -> Option<Result<Listing, DataError>> {
        let text = pattern.to_str()?.replace('\\', "/");
        let wild = text.find(['*', '?'])?;
        let (root, rest) = match text[..wild].rfind('/') {
            Some(slash) => (&text[..=slash], &text[slash + 1..]),
            None => ("", &text[..]),
        };
        let (root, glob) = (Path::new(root), Glob::new(rest));
        let folder = if root.as_os_str().is_empty() {
            Path::new(".")
        } else {
            root
        };
        Some(
            walk(folder, &|name| glob.matches(name), MOST_FOLDERS).and_then(|names| match names.is_empty() {
                true => Err(DataError::new(Kind::Count, format!("no file matches {text}"))),
                false => Ok(Listing::new(root, names)),
            }),
        )
    }

    /// Reads a list, and lists the files that it names.
    pub(crate) fn of_list(file: &Path) -> Result<Listing, DataError> {
        let root = file.parent().unwrap_or(Path::new(""));
        let text = read_text(file)?;
        let lines = text.lines().map(str::trim);
        let names: Vec<String> = lines
            .filter(|line| !line.is_empty() && !line.starts_with('#'))
            .map(str::to_owned)
            .collect();
        match names.is_empty() {
            true => Err(DataError::new(Kind::Count, format!("{} names no file", file.display()))),
            false => Ok(Listing::new(root, names)),
        }
    }

    /// Lists exactly these files.
    pub(crate) fn of_paths(paths: &[PathBuf]) -> Result<Listing, DataError> {
        let name = |path: &PathBuf| {
            let name = path.to_str().map(|name| name.replace('\\', "/"));
            name.ok_or_else(|| DataError::new(Kind::File, format!("the name of {} is not UTF-8", path.display())))
        };
        match paths.is_empty() {
            true => Err(DataError::new(Kind::Count, "the list of files is empty")),
            false => Ok(Listing::new(
                Path::new(""),
                paths.iter().map(name).collect::<Result<_, _>>()?,
            )),
        }
    }

    pub(crate) fn count(&self) -> usize {
        self.names.len()
    }

    /// The name of an image.
    ///
    /// # Panics
    /// If there is no such image, which would be a bug in the caller.
    pub(crate) fn name(&self, image: usize) -> &str {
        &self.names[image]
    }

    pub(crate) fn names(&self) -> &[String] {
        &self.names
    }

    pub(crate) fn path(&self, image: usize) -> PathBuf {
        self.root.join(&self.names[image])
    }

    pub(crate) fn left_out(&self) -> &[String] {
        &self.left_out
    }

    /// Leaves out the images at these positions, which are in ascending order.
    pub(crate) fn leave_out(&mut self, images: &[usize]) {
        let names = std::mem::take(&mut self.names);
        for (image, name) in names.into_iter().enumerate() {
            match images.binary_search(&image) {
                Ok(_) => self.left_out.push(name),
                Err(_) => self.names.push(name),
            }
        }
    }

    /// The class of an image: the position of the image's folder among the folders of the set.
    pub(crate) fn class(&self, image: usize) -> Option<usize> {
        let folder = folder(&self.names[image])?;
        self.folders.binary_search_by(|other| other.as_str().cmp(folder)).ok()
    }
}

/// The first folder in the name of a file.
fn folder(name: &str) -> Option<&str> {
    name.split_once('/').map(|(folder, _)| folder)
}

/// True if the file name has the extension of an image.
pub(crate) fn is_image(name: &str) -> bool {
    matches!(extension(Path::new(name)).as_str(), "png" | "jpg" | "jpeg")
}

/// Reads a text file.
pub(crate) fn read_text(file: &Path) -> Result<String, DataError> {
    let bytes = strait_mapped::read(file, MOST_LIST).map_err(|error| DataError::unreadable(file, error))?;
    String::from_utf8(bytes)
        .map_err(|_| DataError::new(Kind::Format, format!("{} is not text in UTF-8", file.display())))
}

/// Lists, in order, all files below the folder `root` whose names `wanted` accepts. The result has the paths of the
/// files relative to `root`. Links are followed, except a link that leads back to a folder which contains the link.
fn walk(root: &Path, wanted: &dyn Fn(&str) -> bool, most_folders: usize) -> Result<Vec<String>, DataError> {
    let too_many = |what: String| {
        let message = format!("{} holds {what}", root.display());
        let help = "links that lead to one another can make few folders look like many";
        DataError::new(Kind::Count, message).help(help)
    };
    let mut found = Vec::new();
    // For each folder that still has to be read: its path, and the folders that contain it.
    let mut folders = vec![(String::new(), Vec::new())];
    let mut opened = 0;
    while let Some((prefix, above)) = folders.pop() {
        let folder = root.join(&prefix);
        let unreadable = |error| DataError::unreadable(&folder, error);
        let identity = identity(&folder).map_err(unreadable)?;
        if above.contains(&identity) {
            continue;
        }
        opened += 1;
        if opened > most_folders {
            return Err(too_many(format!("more than {most_folders} folders")));
        }
        if above.len() >= DEEPEST {
            return Err(too_many(format!("more than {DEEPEST} folders in one another")));
        }
        let within: Vec<_> = above.into_iter().chain([identity]).collect();
        for entry in fs::read_dir(&folder).map_err(unreadable)? {
            let path = entry.map_err(unreadable)?.path();
            // A name that is not valid UTF-8 is skipped, because no list or label file could refer to it.
            let Some(name) = path.file_name().and_then(|name| name.to_str()) else {
                continue;
            };
            let name = format!("{prefix}{name}");
            if path.is_dir() {
                folders.push((format!("{name}/"), within.clone()));
            } else if wanted(&name) {
                found.push(name);
                if found.len() > MOST_FILES {
                    return Err(too_many(format!("more than {MOST_FILES} images")));
                }
            }
        }
    }
    found.sort_by(|a, b| a.split('/').cmp(b.split('/')));
    Ok(found)
}

/// Identifies a folder by its device and inode number, which are the same for all paths that lead to the folder.
#[cfg(unix)]
fn identity(folder: &Path) -> std::io::Result<(u64, u64)> {
    use std::os::unix::fs::MetadataExt as _;
    fs::metadata(folder).map(|metadata| (metadata.dev(), metadata.ino()))
}

/// Identifies a folder by its path after links have been resolved.
#[cfg(not(unix))]
fn identity(folder: &Path) -> std::io::Result<PathBuf> {
    fs::canonicalize(folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(files: &[&str]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for file in files {
            let path = folder.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        folder
    }

    #[test]
    fn folders_patterns_and_lists_have_an_order() {
        let folder = tree(&[
            "b/2.jpg",
            "b/1.JPEG",
            "a-b/x.png",
            "a/3.png",
            "a/deep/4.png",
            "notes.txt",
            "a/5.gif",
        ]);
        let at = |name: &str| folder.path().join(name);
        let all = Listing::of_folder(folder.path()).unwrap();
        let expected = ["a/3.png", "a/deep/4.png", "a-b/x.png", "b/1.JPEG", "b/2.jpg"];
        assert_eq!(all.names(), expected);
        let classes: Vec<_> = (0..all.count()).map(|image| all.class(image)).collect();
        assert_eq!(classes, [Some(0), Some(0), Some(1), Some(2), Some(2)]);
        let matched = Listing::of_pattern(&at("*/?.*g")).unwrap().unwrap();
        assert_eq!(matched.names(), ["a/3.png", "a-b/x.png", "b/2.jpg"]);
        assert!(Listing::of_pattern(&at("*.bmp")).unwrap().is_err());
        assert!(Listing::of_pattern(&at("a")).is_none());
        fs::write(at("list.txt"), "# two\nb/2.jpg\n\n a/3.png \n").unwrap();
        let listed = Listing::of_list(&at("list.txt")).unwrap();
        assert_eq!(
            (listed.names(), listed.path(1)),
            (&["b/2.jpg".to_owned(), "a/3.png".to_owned()][..], at("a/3.png"))
        );
        fs::write(at("list.txt"), "# none\n").unwrap();
        assert!(Listing::of_list(&at("list.txt")).is_err());
    }

    #[test]
    fn a_class_keeps_its_number_where_all_its_images_are_left_out() {
        let folder = tree(&["a/1.png", "b/1.png", "c/1.png"]);
        let mut listing = Listing::of_folder(folder.path()).unwrap();
        listing.leave_out(&[1]);
        assert_eq!(
            (listing.names().len(), listing.class(1), listing.left_out()),
            (2, Some(2), &["b/1.png".to_owned()][..])
        );
    }

    #[cfg(unix)]
    #[test]
    fn links_in_circles_are_not_followed_and_others_are() {
        use std::os::unix::fs::symlink;
        let folder = tree(&["a/1.png"]);
        symlink(folder.path(), folder.path().join("a/again")).unwrap();
        // Three links from the folder to itself give 3^DEEPEST paths up to the deepest nesting.
        for name in ["x", "y", "z"] {
            symlink(".", folder.path().join(name)).unwrap();
        }
        symlink("a", folder.path().join("b")).unwrap();
        let found = Listing::of_folder(folder.path()).unwrap();
        assert_eq!(found.names(), ["a/1.png", "b/1.png"]);
    }

    /// Tests links that do not form a circle, but lead to 3^14 different paths of folders.
    #[cfg(unix)]
    #[test]
    fn links_that_make_few_folders_look_like_many_are_an_error() {
        use std::os::unix::fs::symlink;
        let folder = tempfile::tempdir().unwrap();
        for level in 0..14 {
            let place = folder.path().join(format!("l{level}"));
            fs::create_dir(&place).unwrap();
            for name in ["x", "y", "z"] {
                symlink(format!("../l{}", level + 1), place.join(name)).unwrap();
            }
        }
        fs::create_dir(folder.path().join("l14")).unwrap();
        let error = walk(&folder.path().join("l0"), &is_image, 1000).unwrap_err();
        assert!(error.message.contains("more than 1000 folders"), "{error}");
    }
}
