//! Adds notes to the nodes of a file, as `metadata_props`, which viewers show beside the attributes of a node. All other bytes
//! of the file stay as they are, so that this works for files of any version and size.

use strait_import::wire::{self, Value};

/// The field of a model that has its graph.
const GRAPH: u64 = 7;

/// The fields of a graph that have its nodes and its name.
const NODE: u64 = 1;
const GRAPH_NAME: u64 = 2;

/// The fields of a node that have its name and its notes.
const NAME: u64 = 3;
const METADATA_PROPS: u64 = 9;

/// A file that is not a message of Protocol Buffers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the file is damaged: it is no message of Protocol Buffers")]
pub struct Damaged;

/// The name of the graph of a model.
///
/// # Errors
/// If the file is damaged.
pub fn graph_name(model: &[u8]) -> Result<Option<String>, Damaged> {
    for field in fields(model)? {
        if let Some(graph) = field.message(GRAPH) {
            let mut names = fields(graph)?.into_iter().filter_map(|field| field.message(GRAPH_NAME));
            return Ok(names.next().map(|name| String::from_utf8_lossy(name).into_owned()));
        }
    }
    Ok(None)
}

/// Adds notes to the nodes of the main graph. `of` returns the keys and values for the node with a name.
///
/// # Errors
/// If the file is damaged.
pub fn with_notes(model: &[u8], of: &dyn Fn(&str) -> Vec<(String, String)>) -> Result<Vec<u8>, Damaged> {
    let mut out = Vec::with_capacity(model.len());
    for field in fields(model)? {
        match field.message(GRAPH) {
            Some(graph) => message(&mut out, GRAPH, &graph_with(graph, of)?),
            None => out.extend_from_slice(field.whole),
        }
    }
    Ok(out)
}

fn graph_with(graph: &[u8], of: &dyn Fn(&str) -> Vec<(String, String)>) -> Result<Vec<u8>, Damaged> {
    let mut out = Vec::with_capacity(graph.len());
    for field in fields(graph)? {
        let notes = match field.message(NODE) {
            Some(node) => of(&name(node)?),
            None => Vec::new(),
        };
        match field.message(NODE).filter(|_| !notes.is_empty()) {
            Some(node) => {
                let mut node = node.to_vec();
                for (key, value) in notes {
                    let mut entry = Vec::new();
                    message(&mut entry, 1, key.as_bytes());
                    message(&mut entry, 2, value.as_bytes());
                    message(&mut node, METADATA_PROPS, &entry);
                }
                message(&mut out, NODE, &node);
            }
            None => out.extend_from_slice(field.whole),
        }
    }
    Ok(out)
}

fn name(node: &[u8]) -> Result<String, Damaged> {
    let mut names = fields(node)?.into_iter().filter_map(|field| field.message(NAME));
    Ok(names
        .next()
        .map(|name| String::from_utf8_lossy(name).into_owned())
        .unwrap_or_default())
}

/// A field of a message.
struct Field<'a> {
    number: u64,
    /// The content of a field of bytes.
    content: Option<&'a [u8]>,
    /// The bytes of the field, with its key.
    whole: &'a [u8],
}

impl<'a> Field<'a> {
    /// The content, if this is the field of bytes with this number.
    fn message(&self, number: u64) -> Option<&'a [u8]> {
        self.content.filter(|_| self.number == number)
    }
}

fn fields(message: &[u8]) -> Result<Vec<Field<'_>>, Damaged> {
    let (mut rest, mut found) = (message, Vec::new());
    while !rest.is_empty() {
        found.push(field(&mut rest).ok_or(Damaged)?);
    }
    Ok(found)
}

fn field<'a>(rest: &mut &'a [u8]) -> Option<Field<'a>> {
    let start = *rest;
    let (number, value) = wire::field(rest)?;
    let content = match value {
        Value::Bytes(bytes) => Some(bytes),
        Value::Number(_) | Value::Fixed => None,
        Value::Cut { .. } => return None,
    };
    let whole = start.get(..start.len() - rest.len())?;
    Some(Field { number, content, whole })
}

/// Appends a field of bytes.
fn message(out: &mut Vec<u8>, number: u64, content: &[u8]) {
    number_to(out, number << 3 | 2);
    number_to(out, content.len() as u64);
    out.extend_from_slice(content);
}

fn number_to(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A model of two nodes, with a field of each kind before and behind them.
    fn model() -> Vec<u8> {
        let node = |name: &str| {
            let mut node = Vec::new();
            message(&mut node, 1, b"x");
            message(&mut node, NAME, name.as_bytes());
            node
        };
        let mut graph = Vec::new();
        message(&mut graph, NODE, &node("first"));
        message(&mut graph, NODE, &node("second"));
        message(&mut graph, GRAPH_NAME, b"net");
        let mut model = vec![0x08, 0x96, 0x01, 0x3d, 1, 2, 3, 4, 0x41, 1, 2, 3, 4, 5, 6, 7, 8];
        message(&mut model, GRAPH, &graph);
        model.extend([0x10, 7]);
        model
    }

    #[test]
    fn a_note_is_added_to_its_node_and_all_else_stays() {
        let model = model();
        assert_eq!(graph_name(&model), Ok(Some("net".to_owned())));
        assert_eq!(with_notes(&model, &|_| Vec::new()), Ok(model.clone()));
        let long = "x".repeat(300);
        let of = |name: &str| match name {
            "second" => vec![("key".to_owned(), long.clone())],
            _ => Vec::new(),
        };
        let noted = with_notes(&model, &of).unwrap();
        assert_eq!(graph_name(&noted), Ok(Some("net".to_owned())));
        // The entry, its key and its value, each with the lengths in front of them.
        assert_eq!(noted.len(), model.len() + 300 + 3 + 3 + 3 + 2 + 2);
        let graph = fields(&noted)
            .unwrap()
            .iter()
            .find_map(|field| field.message(GRAPH))
            .unwrap();
        let nodes: Vec<&[u8]> = fields(graph)
            .unwrap()
            .iter()
            .filter_map(|field| field.message(NODE))
            .collect();
        let counts = |node: &&[u8]| {
            let notes = fields(node).unwrap();
            notes
                .iter()
                .filter(|field| field.message(METADATA_PROPS).is_some())
                .count()
        };
        assert_eq!(nodes.iter().map(counts).collect::<Vec<_>>(), [0, 1]);
    }

    #[test]
    fn a_damaged_file_is_refused() {
        let model = model();
        for end in 0..model.len() {
            // What is left may be a shorter message, but nothing panics.
            let _ = with_notes(&model[..end], &|_| vec![("a".to_owned(), "b".to_owned())]);
        }
        assert_eq!(with_notes(&[0x0b], &|_| Vec::new()), Err(Damaged));
        assert_eq!(graph_name(&model[..20]), Err(Damaged));
    }
}
