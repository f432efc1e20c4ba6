//! Reads labels that are boxes of objects.

use std::{
    fs,
    path::{Path, PathBuf},
};

use strait_core::counted;

use crate::{
    error::{DataError, Kind},
    names::extension,
};

use super::{LabelCount, coco, object::Object};

/// The largest size, in bytes, of a text file with the boxes of one image.
const MOST_TEXT: u64 = 16 << 20;
/// The largest size, in bytes, of a JSON file, which has the boxes of all images, up to a million.
const MOST_JSON: u64 = 1 << 30;

/// This class number and all larger ones are refused as a mistake.
pub const MOST_CLASSES: u32 = 1 << 20;

/// Reads the objects of each sample. If `path` is a folder, the boxes are fractions of the image; they are multiplied
/// by `size`, which is 1 by 1 by default.
///
/// # Errors
/// Files are missing, cannot be read, or are malformed, or the number of labels does not match.
pub fn read_boxes(path: &Path, size: Option<[f64; 2]>, wanted: LabelCount) -> Result<Vec<Vec<Object>>, DataError> {
    let mut objects = match (path.is_dir(), extension(path) == "json") {
        (true, _) => of_folder(path, size.unwrap_or([1.0; 2]), wanted)?,
        (false, true) => of_json(path, size)?,
        (false, false) => {
            let message = format!("{} is neither a folder of .txt nor a .json with boxes", path.display());
            return Err(DataError::new(Kind::Format, message));
        }
    };
    fitting(path, objects.len(), wanted)?;
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
            return Err(DataError::new(Kind::Label, message));
        }
    }
    Ok(objects)
}

fn fitting(path: &Path, found: usize, wanted: LabelCount) -> Result<(), DataError> {
    if wanted.fits(found) {
        return Ok(());
    }
    let labels = format!("labels of {}", counted(found, "image"));
    let refused = wanted.refused(path.display(), &labels, found);
    Err(refused.help("a sample without objects has an empty file, or an empty list"))
}

/// Reads one file for each sample. The folder often also has a list of class names, which is not a label file.
fn of_folder(folder: &Path, size: [f64; 2], wanted: LabelCount) -> Result<Vec<Vec<Object>>, DataError> {
    let unreadable = |error| DataError::unreadable(folder, error);
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        if extension(&path) == "txt" && path.is_file() && path.file_name().is_some_and(|name| name != "classes.txt") {
            files.push(path);
        }
    }
    files.sort();
    fitting(folder, files.len(), wanted)?;
    let read = |path: &PathBuf| {
        let bytes = strait_mapped::read(path, MOST_TEXT).map_err(|error| DataError::unreadable(path, error))?;
        let text = String::from_utf8_lossy(&bytes);
        let mut objects = Vec::new();
        for (line, number) in text.lines().zip(1..).filter(|(line, _)| !line.trim().is_empty()) {
            objects.push(of_line(line, size).ok_or_else(|| {
                let message = format!("line {number} of {} is {:?}", path.display(), shortened(line));
                let wanted = "a line is `class x y width height`, with numbers from 0 to 1 behind the class";
                DataError::new(Kind::Label, message).help(wanted)
            })?);
        }
        Ok(objects)
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

fn of_json(path: &Path, size: Option<[f64; 2]>) -> Result<Vec<Vec<Object>>, DataError> {
    let bytes = strait_mapped::read(path, MOST_JSON).map_err(|error| DataError::unreadable(path, error))?;
    let refused = |what: String| {
        let wanted = "it is [[{\"class\": 0, \"box\": [left, top, right, bottom]}, …], …], or COCO's images, annotations and \
                      categories";
        DataError::new(Kind::Format, what).help(wanted)
    };
    let unread = |error| {
        refused(format!(
            "{} is no list of boxes for each sample: {error}",
            path.display()
        ))
    };
    // The first character shows which of the two formats the file has, so that an error refers to the right format.
    if bytes.trim_ascii_start().first() == Some(&b'[') {
        return serde_json::from_slice(&bytes).map_err(unread);
    }
    let annotations: coco::Annotations = serde_json::from_slice(&bytes).map_err(unread)?;
    let objects = annotations.objects(size);
    objects.map_err(|error| refused(format!("{}: {error}", path.display())))
}

fn shortened(line: &str) -> String {
    line.chars().take(60).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TWO: LabelCount = LabelCount { samples: 2, stored: 3 };

    fn told(path: &Path) -> String {
        read_boxes(path, None, TWO).unwrap_err().to_string()
    }

    #[test]
    fn a_folder_has_a_file_for_each_sample_in_the_order_of_names() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
        write("b.txt", "3 0.5 0.5 0.2 0.4\n\n1 0.25 0.5 0.5 1\n");
        write("a.txt", "");
        write("classes.txt", "cat\ndog\n");
        write("a.jpg", "no image");
        let found = read_boxes(folder.path(), Some([100.0, 10.0]), TWO).unwrap();
        assert_eq!((found.len(), found[0].len(), found[1].len()), (2, 0, 2));
        assert_eq!(
            found[1][1],
            Object {
                class: 1,
                corners: [0.0, 0.0, 50.0, 10.0]
            }
        );
        write("c.txt", "0 0.5 0.5");
        // Only as many files are read as there are samples, so the faulty `c.txt` is not read.
        assert!(read_boxes(folder.path(), None, TWO).is_ok());
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
        let found = read_boxes(&file, Some([9.0; 2]), TWO).unwrap();
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

    #[test]
    fn annotations_of_coco_know_their_images_and_categories_by_ids() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("instances.json");
        let write = |annotations: &str| {
            let text = format!(
                r#"{{"info": {{}}, "images": [{{"id": 7, "width": 100, "height": 50, "file_name": "b.jpg"}}, {{"id": 3}}],
                "annotations": [{annotations}], "categories": [{{"id": 90, "name": "toothbrush"}}, {{"id": 1}}]}}"#
            );
            fs::write(&file, text).unwrap();
        };
        write(
            r#"{"id": 1, "image_id": 7, "category_id": 90, "bbox": [10, 5, 20, 10], "area": 200, "iscrowd": 0},
               {"image_id": 7, "category_id": 1, "bbox": [0, 0, 1, 1], "iscrowd": 1}"#,
        );
        let found = read_boxes(&file, None, TWO).unwrap();
        let corners = [10.0, 5.0, 30.0, 15.0];
        assert_eq!(found, [vec![Object { class: 1, corners }], vec![]]);
        let corners = [0.1, 0.1, 0.3, 0.3];
        let found = read_boxes(&file, Some([1.0, 1.0]), TWO).unwrap();
        assert!(
            found[0][0]
                .corners
                .iter()
                .zip(corners)
                .all(|(a, b)| (a - b).abs() < 1e-12)
        );
        for (annotation, part) in [
            (
                r#"{"image_id": 8, "category_id": 1, "bbox": [0, 0, 1, 1]}"#,
                "the image 8, which is not there",
            ),
            (
                r#"{"image_id": 7, "category_id": 2, "bbox": [0, 0, 1, 1]}"#,
                "the category 2, which is not there",
            ),
            (
                r#"{"image_id": 7, "category_id": 1, "bbox": [0, 0, -1, 1]}"#,
                "an object of sample 0",
            ),
            (r#"{"image_id": 7, "category_id": 1}"#, "missing field `bbox`"),
        ] {
            write(annotation);
            assert!(told(&file).contains(part), "{}", told(&file));
        }
        write(r#"{"image_id": 3, "category_id": 1, "bbox": [0, 0, 1, 1]}"#);
        let unsized_image = read_boxes(&file, Some([1.0; 2]), TWO).unwrap_err().to_string();
        assert!(
            unsized_image.contains("the image 3 has no width and height"),
            "{unsized_image}"
        );
    }
}
