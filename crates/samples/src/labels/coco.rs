//! Reads boxes from COCO annotations: lists of images, annotations and categories that refer to each other by id.
//!
//! The samples are the images in the order of the list of images. The classes are the categories in the order of their
//! ids, counted from 0, as in networks that are trained on such a file. A box is given by left, top, width and height
//! in pixels of its image. If the caller gives a size, boxes are scaled as if the image had that size. Annotations of
//! crowds are left out.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::Object;

/// The parts of a file that we read.
#[derive(Debug, Deserialize)]
pub(super) struct Annotations {
    images: Vec<Image>,
    annotations: Vec<Annotation>,
    categories: Vec<Category>,
}

#[derive(Debug, Deserialize)]
struct Image {
    id: i64,
    width: Option<f64>,
    height: Option<f64>,
}

#[derive(Debug, Deserialize)]
struct Annotation {
    image_id: i64,
    category_id: i64,
    bbox: [f64; 4],
    #[serde(default)]
    iscrowd: u8,
}

#[derive(Debug, Deserialize)]
struct Category {
    id: i64,
}

impl Annotations {
    /// The objects of each image, or a message that says what is wrong.
    pub(super) fn objects(&self, size: Option<[f64; 2]>) -> Result<Vec<Vec<Object>>, String> {
        let mut categories: Vec<i64> = self.categories.iter().map(|category| category.id).collect();
        categories.sort_unstable();
        categories.dedup();
        let mut places = BTreeMap::new();
        for (at, image) in self.images.iter().enumerate() {
            if places.insert(image.id, at).is_some() {
                return Err(format!("two images have the id {}", image.id));
            }
        }
        let mut objects: Vec<Vec<Object>> = self.images.iter().map(|_| Vec::new()).collect();
        for one in self.annotations.iter().filter(|one| one.iscrowd == 0) {
            let place = places.get(&one.image_id);
            let image = place.and_then(|&at| Some((self.images.get(at)?, objects.get_mut(at)?)));
            let Some((image, objects)) = image else {
                return Err(format!(
                    "an annotation is of the image {}, which is not there",
                    one.image_id
                ));
            };
            let Ok(class) = categories.binary_search(&one.category_id) else {
                return Err(format!(
                    "an annotation is of the category {}, which is not there",
                    one.category_id
                ));
            };
            let [wide, high] = match (size, image.width, image.height) {
                (None, ..) => [1.0; 2],
                (Some([wide, high]), Some(width), Some(height)) if width > 0.0 && height > 0.0 => {
                    [wide / width, high / height]
                }
                (Some(_), ..) => {
                    return Err(format!(
                        "the image {} has no width and height to be scaled by `size`",
                        image.id
                    ));
                }
            };
            let [left, top, width, height] = one.bbox;
            objects.push(Object {
                class: class as u32,
                corners: [left * wide, top * high, (left + width) * wide, (top + height) * high],
            });
        }
        Ok(objects)
    }
}
