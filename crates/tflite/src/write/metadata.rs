//! TFLite's metadata: how the inputs are normalised, and the names of the classes.
//!
//! The metadata is a flatbuffer in a buffer of the model, and the file with the names of the classes is in a zip archive
//! behind the model. Format: `metadata_schema.fbs` of tflite-support, version 1.1.0.

use super::flatbuffer::{Field, Table, TooLarge, encode};
use std::io::{Cursor, Write};
use zip::write::SimpleFileOptions;

/// What a file says about its model, besides the graph.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct About {
    /// The name of the model.
    pub name: String,
    /// The inputs, in the order of the graph.
    pub inputs: Vec<AboutInput>,
    /// The names of the classes, one in a line: labels of the last axis of the first output. `None` if they are not known.
    pub labels: Option<String>,
}

/// How an input is computed from what is stored or recorded.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AboutInput {
    /// True if the input is an image.
    pub is_image: bool,
    /// True if the image has the colours red, green and blue, in this order.
    pub is_rgb: bool,
    /// `mean` and `std` of (x − mean) / std, each with one number for all channels or one for each. Both are empty if the
    /// input is not normalised.
    pub normalization: [Vec<f32>; 2],
}

/// The name of the buffer in the model.
pub(super) const NAME: &str = "TFLITE_METADATA";

const LABELS: &str = "labels.txt";

impl About {
    /// The flatbuffer. `inputs` and `outputs` are the graph's inputs and outputs, each with its name.
    pub(super) fn encode(&self, inputs: &[(String, i32)], outputs: &[(String, i32)]) -> Result<Vec<u8>, TooLarge> {
        let named = |name: &str| Table::default().with(0, Field::Text(name.to_owned()));
        let input = |(at, (name, _)): (usize, &(String, i32))| match self.inputs.get(at) {
            Some(about) => about.describe(named(name)),
            None => named(name),
        };
        let output = |(at, (name, _)): (usize, &(String, i32))| match self.labels.is_some() && at == 0 {
            // 2: the file has labels of an axis.
            true => named(name).with(6, Field::Tables(vec![named(LABELS).byte(2, 2, 0)])),
            false => named(name),
        };
        let graph = Table::default()
            .with(2, Field::Tables(inputs.iter().enumerate().map(input).collect()))
            .with(3, Field::Tables(outputs.iter().enumerate().map(output).collect()));
        let about = named(&self.name)
            .with(3, Field::Tables(vec![graph]))
            .with(7, Field::Text("1.0.0".into()));
        encode(about, *b"M001")
    }

    /// Appends the zip archive to the file, if there is something to put into it.
    pub(super) fn append(&self, file: Vec<u8>) -> Result<Vec<u8>, TooLarge> {
        let Some(labels) = &self.labels else { return Ok(file) };
        let mut cursor = Cursor::new(file);
        cursor.set_position(cursor.get_ref().len() as u64);
        let mut archive = zip::ZipWriter::new(cursor);
        // No compression and no time, so that the bytes do not depend on anything else.
        let options = SimpleFileOptions::default().compression_method(zip::CompressionMethod::Stored);
        let written = archive.start_file(LABELS, options).map_err(|_| TooLarge);
        written.and_then(|()| archive.write_all(labels.as_bytes()).map_err(|_| TooLarge))?;
        archive.finish().map(Cursor::into_inner).map_err(|_| TooLarge)
    }
}

impl AboutInput {
    fn describe(&self, input: Table) -> Table {
        let input = match self.is_image {
            true => {
                let image = Table::default().byte(0, i8::from(self.is_rgb), 0);
                // 2: the properties of an image.
                let content = Table::default().with(0, Field::Byte(2)).with(1, Field::Table(image));
                input.with(3, Field::Table(content))
            }
            false => input,
        };
        let [mean, std] = &self.normalization;
        if mean.is_empty() {
            return input;
        }
        let normalization = Table::default()
            .with(0, Field::Floats(mean.clone()))
            .with(1, Field::Floats(std.clone()));
        // 1: a normalization.
        let unit = Table::default()
            .with(0, Field::Byte(1))
            .with(1, Field::Table(normalization));
        input.with(4, Field::Tables(vec![unit]))
    }
}
