//! The answers that changed, which are the notes of the metric `flips.rs`.

/// The answers to one sample that changed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Flipped {
    /// Number of answers that were compared.
    pub answers: u64,
    /// The answers that changed.
    pub flips: Vec<Flip>,
}

/// An answer that changed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Flip {
    /// Index of the answer among those to the sample.
    pub answer: usize,
    /// The right class.
    pub label: Option<i64>,
    /// Answer of the float model, absent if it is several numbers.
    pub float: Option<i64>,
    /// Answer of the integer model, absent if it is several numbers.
    pub integer: Option<i64>,
    /// Margin of the float model, and of the integer model.
    pub margins: Option<[f64; 2]>,
}
