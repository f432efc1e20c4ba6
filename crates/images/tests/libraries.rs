//! Compares decoding, resizing and the conversion to gray with the results of Pillow and OpenCV for the same files and
//! pixels. `xtask/python/image_vectors.py` has recorded these results.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may panic")]

use std::{fs, path::Path};

use strait_images::{Filter, ImageError, Like, Pipeline, Pixels, Resize, Size, Step, decode};

fn read(name: &str) -> Vec<u8> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recorded");
    fs::read(folder.join(name)).unwrap()
}

/// The names of all recorded results of Pillow and OpenCV, without their file extensions.
fn recorded() -> Vec<String> {
    let of = |library: &str| {
        let results = names(library, ".png").into_iter();
        results.map(move |name| format!("{library}{name}")).collect::<Vec<_>>()
    };
    [of("pillow-"), of("opencv-")].concat()
}

/// The library and the step that produced the recorded image with this name.
fn step(name: &str) -> (Like, Step) {
    let parts: Vec<&str> = name.split('-').collect();
    let like = match parts[0] {
        "pillow" => Like::Pillow,
        _ => Like::Opencv,
    };
    let filter = match parts[1] {
        "gray" => {
            return (
                like,
                Step::Gray {
                    like,
                    first_is_blue: false,
                },
            );
        }
        "nearest" => Filter::Nearest,
        "box" => Filter::Box,
        "bilinear" => Filter::Bilinear,
        "hamming" => Filter::Hamming,
        "bicubic" => Filter::Bicubic,
        "lanczos" => Filter::Lanczos,
        "area" => Filter::Area,
        other => panic!("{other}"),
    };
    let (width, height) = parts[2].split_once('x').unwrap();
    let size = Size::Both([width.parse().unwrap(), height.parse().unwrap()]);
    (like, Step::Resize(Resize { size, filter, like }))
}

/// The largest difference between the levels of two images, and the number of levels that differ.
fn distance(found: &Pixels, expected: &Pixels) -> (u8, usize) {
    assert_eq!((found.width, found.height), (expected.width, expected.height));
    let expected = expected
        .levels
        .chunks_exact(3)
        .flat_map(|pixel| &pixel[..found.channels]);
    let distances = found.levels.iter().zip(expected).map(|(a, b)| a.abs_diff(*b));
    distances.fold((0, 0), |(most, count), distance| {
        (most.max(distance), count + usize::from(distance > 0))
    })
}

/// For each recorded file whose name has this beginning and this end: the part of the name between them.
fn names(beginning: &str, end: &str) -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recorded");
    let names = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names
        .filter_map(|name| Some(name.strip_prefix(beginning)?.strip_suffix(end)?.to_owned()))
        .collect();
    names.sort();
    names
}

fn jpegs() -> Vec<String> {
    names("", ".jpg")
}

#[test]
fn every_kind_of_jpeg_has_the_levels_that_pillow_decodes() {
    let names = jpegs();
    assert_eq!(names.len(), 19);
    for name in names {
        let found = decode(&read(&format!("{name}.jpg")), false).unwrap_or_else(|error| panic!("{name}: {error}"));
        let expected = decode(&read(&format!("{name}.png")), false).unwrap();
        assert_eq!(distance(&found, &expected), (0, 0), "{name}");
    }
}

#[test]
fn every_kind_of_png_has_the_levels_that_opencv_decodes() {
    let kinds = names("kind-", ".png");
    assert_eq!(kinds.len(), 15);
    for kind in kinds {
        let found = decode(&read(&format!("kind-{kind}.png")), false).unwrap_or_else(|error| panic!("{kind}: {error}"));
        let expected = decode(&read(&format!("seen-{kind}.png")), false).unwrap();
        assert_eq!(distance(&found, &expected), (0, 0), "{kind}");
    }
}

#[test]
fn a_turned_photograph_is_upright_where_that_is_asked_for() {
    let turned = read("jpeg-turned.jpg");
    let [stored, upright] = [false, true].map(|turn| decode(&turned, turn).unwrap());
    assert_eq!([upright.width, upright.height], [stored.height, stored.width]);
    // The pixel in the last row of the first column of the stored image is now in the top left corner.
    assert_eq!(
        upright.levels[..3],
        stored.levels[(stored.height - 1) * stored.width * 3..][..3]
    );
}

#[test]
fn damaged_files_are_refused_or_read_without_harm() {
    let files = jpegs()
        .into_iter()
        .map(|name| format!("{name}.jpg"))
        .filter(|name| !name.contains("line"));
    // A file with several frames is left out, because its first frame is complete before the file ends.
    let kinds = names("kind-", ".png").into_iter().filter(|kind| kind != "animated");
    let kinds = kinds.map(|kind| format!("kind-{kind}.png"));
    for name in files.chain(kinds) {
        let whole = read(&name);
        // A file that is cut before its last code cannot be decoded. Only the end marker may be missing.
        for length in (0..whole.len()).step_by(1 + whole.len() / 80) {
            let found = decode(&whole[..length], true);
            assert!(found.is_err() || length + 64 > whole.len(), "{name} of {length} bytes");
        }
        for at in (0..whole.len()).step_by(1 + whole.len() / 80) {
            for flip in [0xff, 1, 0x80] {
                let mut other = whole.clone();
                other[at] ^= flip;
                if let Ok(pixels) = decode(&other, true) {
                    assert_eq!(pixels.levels.len(), pixels.width * pixels.height * pixels.channels);
                }
            }
        }
    }
}

#[test]
fn a_file_that_states_more_pixels_than_an_image_has_takes_no_memory() {
    let mut jpeg = read("jpeg-444.jpg");
    let frame = jpeg.windows(2).position(|pair| pair == [0xff, 0xc0]).unwrap();
    jpeg[frame + 5..frame + 9].fill(0xff);
    let mut png = read("source.png");
    png[16..24].copy_from_slice(&[0, 1, 0, 0, 0, 1, 0, 0]);
    let mut encoder = png_crc(&png[12..29]).to_be_bytes().to_vec();
    png.splice(29..33, encoder.drain(..));
    for bytes in [jpeg, png] {
        let error = decode(&bytes, false).unwrap_err();
        assert!(matches!(error, ImageError::TooLarge { .. }), "{error}");
    }
}

/// The checksum (CRC-32) of a PNG chunk.
fn png_crc(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0u32, |crc, &byte| {
        (0..8).fold(crc ^ u32::from(byte), |crc, _| {
            (crc >> 1) ^ (0xedb8_8320 & (crc & 1).wrapping_neg())
        })
    })
}

#[test]
fn levels_are_those_of_pillow_and_at_most_one_from_those_of_opencv() {
    let source = read("source.png");
    let names = recorded();
    assert_eq!(names.len(), 10 * 10 + 2);
    let mut far = Vec::new();
    for name in names {
        let (like, step) = step(&name);
        let pipeline = Pipeline {
            turn: false,
            steps: vec![step],
        };
        let found = pipeline.run(&source).unwrap();
        let (most, count) = distance(&found, &decode(&read(&format!("{name}.png")), false).unwrap());
        let allowed = match like {
            Like::Pillow => 0,
            Like::Opencv => 1,
        };
        if most > 0 {
            eprintln!(
                "{name}: {count} of {} levels differ, by at most {most}",
                found.levels.len()
            );
        }
        if most > allowed {
            far.push(name);
        }
    }
    assert!(far.is_empty(), "{far:?}");
}
