//! Boxes of objects, as labels.

use std::{fs, path::Path};

use serde::Deserialize;
use strait_samples::Kind;

use crate::{diagnostic::Diagnostic, stop::Stop, table};

use super::truth::Wanted;

/// A larger file holds no boxes of an image, and one of JSON those of a million.
const MOST_TEXT: u64 = 16 << 20;
const MOST_JSON: u64 = 1 << 30;

/// A larger class is a mistake.
pub(crate) const MOST_CLASSES: u32 = 1 << 20;

/// An object of a label.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Object {
    /// Its class.
    pub(crate) class: u32,
    /// Left, top, right and bottom.
    #[serde(rename = "box")]
    pub(crate) corners: [f64; 4],
}

/// The objects of each sample, with corners in the unit of an image of this size.
///
/// # Errors
/// Files that are absent, cannot be read, or say something else; labels for fewer samples or for more.
pub(crate) fn objects(path: &Path, size: [f64; 2], wanted: Wanted) -> Result<Vec<Vec<Object>>, Stop> {
    let is_json = path
        .extension()
        .is_some_and(|extension| extension.eq_ignore_ascii_case("json"));
    let mut objects = match (path.is_dir(), is_json) {
        (true, _) => of_folder(path, size, wanted)?,
        (false, true) => of_json(path)?,
        (false, false) => {
            let message = format!("{} is neither a folder of .txt nor a .json with boxes", path.display());
            return Err(Diagnostic::error(Kind::Format.code(), message).into());
        }
    };
    counted(path, objects.len(), wanted)?;
    objects.truncate(wanted.samples);
    for (sample, object) in objects
        .iter()
        .enumerate()
        .flat_map(|(at, all)| all.iter().map(move |one| (at, one)))
    {
        let [left, top, right, bottom] = object.corners;
        let is_box = object.corners.iter().all(|x| x.is_finite()) && left <= right && top <= bottom;
        if !is_box || object.class >= MOST_CLASSES {
            let message = format!(
                "an object of sample {sample} of {} is none: class {}, box [{left}, {top}, {right}, {bottom}]",
                path.display(),
                object.class
            );
            return Err(Diagnostic::error(Kind::Label.code(), message).into());
        }
    }
    Ok(objects)
}

fn counted(path: &Path, found: usize, wanted: Wanted) -> Result<(), Stop> {
    if (wanted.samples..=wanted.stored.max(wanted.samples)).contains(&found) {
        return Ok(());
    }
    let samples = if found < wanted.samples {
        wanted.samples
    } else {
        wanted.stored
    };
    let message = format!(
        "{} has labels of {} for {}",
        path.display(),
        table::count(found, "image"),
        table::count(samples, "sample")
    );
    let help = "a sample without objects has an empty file, or an empty list";
    Err(Diagnostic::error(Kind::Count.code(), message).help(help).into())
}

/// One file for each sample. A list of the classes' names, which often lies beside them, is none.
fn of_folder(folder: &Path, size: [f64; 2], wanted: Wanted) -> Result<Vec<Vec<Object>>, Stop> {
    let unreadable = |path: &Path, error: std::io::Error| {
        Diagnostic::error(Kind::File.code(), format!("{} cannot be read: {error}", path.display()))
    };
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).map_err(|error| unreadable(folder, error))? {
        let path = entry.map_err(|error| unreadable(folder, error))?.path();
        let is_text = path
            .extension()
            .is_some_and(|extension| extension.eq_ignore_ascii_case("txt"));
        if is_text && path.is_file() && path.file_name().is_some_and(|name| name != "classes.txt") {
            files.push(path);
        }
    }
    files.sort();
    counted(folder, files.len(), wanted)?;
    let read = |path: &std::path::PathBuf| {
        let bytes = strait_mapped::read(path, MOST_TEXT).map_err(|error| unreadable(path, error))?;
        let text = String::from_utf8_lossy(&bytes);
        let mut objects = Vec::new();
        for (line, number) in text.lines().zip(1..).filter(|(line, _)| !line.trim().is_empty()) {
            objects.push(of_line(line, size).ok_or_else(|| {
                let message = format!("line {number} of {} is {:?}", path.display(), shortened(line));
                let wanted = "a line is `class x y width height`, with numbers from 0 to 1 behind the class";
                Diagnostic::error(Kind::Label.code(), message).help(wanted)
            })?);
        }
        Ok::<_, Stop>(objects)
    };
    files.iter().take(wanted.samples).map(read).collect()
}

fn of_line(line: &str, [wide, high]: [f64; 2]) -> Option<Object> {
    let mut words = line.split_whitespace();
    let class = words.next()?.parse().ok()?;
    let numbers: Option<Vec<f64>> = words.map(|word| word.parse().ok()).collect();
    let [x, y, width, height] = numbers?.try_into().ok()?;
    let (x, y, width, height): (f64, f64, f64, f64) = (x, y, width, height);
    Some(Object {
        class,
        corners: [
            (x - width / 2.0) * wide,
            (y - height / 2.0) * high,
            (x + width / 2.0) * wide,
            (y + height / 2.0) * high,
        ],
    })
}

fn of_json(path: &Path) -> Result<Vec<Vec<Object>>, Stop> {
    let bytes = strait_mapped::read(path, MOST_JSON)
        .map_err(|error| Diagnostic::error(Kind::File.code(), format!("{} cannot be read: {error}", path.display())))?;
    let read: Result<Vec<Vec<Object>>, _> = serde_json::from_slice(&bytes);
    Ok(read.map_err(|error| {
        let message = format!("{} is no list of boxes for each sample: {error}", path.display());
        let wanted = "it is [[{\"class\": 0, \"box\": [left, top, right, bottom]}, …], …]";
        Diagnostic::error(Kind::Format.code(), message).help(wanted)
    })?)
}

fn shortened(line: &str) -> String {
    line.chars().take(60).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TWO: Wanted = Wanted { samples: 2, stored: 3 };

    fn told(path: &Path) -> String {
        objects(path, [1.0; 2], TWO).unwrap_err().to_string()
    }

    #[test]
    fn a_folder_has_a_file_for_each_sample_in_the_order_of_names() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
        write("b.txt", "3 0.5 0.5 0.2 0.4\n\n1 0.25 0.5 0.5 1\n");
        write("a.txt", "");
        write("classes.txt", "cat\ndog\n");
        write("a.jpg", "no image");
        let found = objects(folder.path(), [100.0, 10.0], TWO).unwrap();
        assert_eq!((found.len(), found[0].len(), found[1].len()), (2, 0, 2));
        assert_eq!(
            found[1][1],
            Object {
                class: 1,
                corners: [0.0, 0.0, 50.0, 10.0]
            }
        );
        write("c.txt", "0 0.5 0.5");
        // Only as many are read as there are samples.
        assert!(objects(folder.path(), [1.0; 2], TWO).is_ok());
        write("a.txt", "0 0.5 0.5");
        assert!(told(folder.path()).contains("a.txt is \"0 0.5 0.5\""));
        write("a.txt", "-1 0.5 0.5 0.1 0.1");
        assert!(told(folder.path()).contains("line 1"));
        write("a.txt", "0 0.5 0.5 NaN 0.1");
        assert!(told(folder.path()).contains("an object of sample 0"));
        write("a.txt", "0 0.5 0.5 -0.5 0.1");
        assert!(told(folder.path()).contains("an object of sample 0"));
        write("d.txt", "");
        assert!(told(folder.path()).contains("labels of 4 images for 3 samples"));
    }

    #[test]
    fn a_list_of_json_has_a_list_for_each_sample() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("boxes.json");
        fs::write(&file, r#"[[], [{"class": 2, "box": [1, 2, 3, 4.5]}]]"#).unwrap();
        let found = objects(&file, [9.0; 2], TWO).unwrap();
        assert_eq!(
            found[1],
            [Object {
                class: 2,
                corners: [1.0, 2.0, 3.0, 4.5]
            }]
        );
        for (text, part) in [
            ("[[]]", "labels of 1 image for 2 samples"),
            ("[[], [[1, 2]]]", "no list of boxes"),
            ("{}", "no list of boxes"),
            (r#"[[], [{"class": 2, "box": [1, 2, 3]}]]"#, "no list of boxes"),
            (r#"[[], [{"class": 2, "box": [3, 2, 1, 4]}]]"#, "an object of sample 1"),
        ] {
            fs::write(&file, text).unwrap();
            assert!(told(&file).contains(part), "{text}: {}", told(&file));
        }
        assert!(told(&folder.path().join("absent")).contains("neither a folder of .txt nor a .json"));
    }
}
