/// Why recorded layers cannot be used. The file is at fault.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}{}: {wrong}; right is: {right}", .array.as_ref().map(|array| format!(", {array}")).unwrap_or_default())]
pub struct VectorsError {
    /// Path of the file.
    pub file: String,
    /// Name of the array, if a single array is wrong.
    pub array: Option<String>,
    /// What is wrong with the file or the array.
    pub wrong: String,
    /// What the file or the array should contain instead.
    pub right: String,
}
