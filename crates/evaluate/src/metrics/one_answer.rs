//! The only answer to a sample, which is the note of the metric `answered.rs`.

/// A model's answer to one sample.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OneAnswer {
    /// The class.
    pub class: i64,
    /// The score of the class, and how much larger it is than the next largest score. `None` if the output has no scores.
    pub score: Option<[f64; 2]>,
}
