/// Vectors that cannot be used. The fault is the file's.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}{}: {wrong}; right is: {right}", .array.as_ref().map(|array| format!(", {array}")).unwrap_or_default())]
pub struct VectorsError {
    /// The file.
    pub file: String,
    /// The array, where it is the fault of one.
    pub array: Option<String>,
    /// Description of the fault.
    pub wrong: String,
    /// Content that would be right.
    pub right: String,
}
