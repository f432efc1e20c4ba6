//! The main graph of a file while it is being written.

use crate::proto::{GraphProto, NodeProto, TensorProto, ValueInfoProto};
use prost::Message;
use prost::encoding::message;
use std::io::{self, Write};

/// Encoded messages are collected in pieces of about this many bytes, which never move once they are full.
const PIECE: usize = 1 << 16;

/// Tensors that have fewer bytes than this stay in the model's file.
const LEAST_BYTES: usize = 1 << 12;

/// True for a tensor that is moved to the second file if there is one.
pub(super) fn is_large(tensor: &TensorProto) -> bool {
    tensor.raw_data.as_ref().is_some_and(|data| data.len() >= LEAST_BYTES)
}

/// The main graph. A graph may have millions of nodes, whose messages take many times as much memory as their bytes, so
/// they are encoded as soon as they are made. Only messages with large tensors stay messages until the file is written:
/// these tensors are shared with the module, and may still move to another file.
#[derive(Debug)]
pub(super) struct MainGraph {
    pub(super) nodes: Messages<NodeProto>,
    pub(super) initializers: Messages<TensorProto>,
    pub(super) value_info: Messages<ValueInfoProto>,
    name: String,
    ports: GraphProto,
}

impl MainGraph {
    pub(super) fn new() -> MainGraph {
        MainGraph {
            nodes: Messages::new(1),
            initializers: Messages::new(5),
            value_info: Messages::new(13),
            name: String::new(),
            ports: GraphProto::default(),
        }
    }

    /// Takes over a node. Only graphs inside of it can have large tensors that move to another file.
    pub(super) fn add_node(&mut self, node: NodeProto) {
        let stays = node.attribute.iter().any(|attribute| attribute.g.is_some());
        self.nodes.add(node, stays);
    }

    /// Takes over a constant.
    pub(super) fn add_initializer(&mut self, tensor: TensorProto) {
        let stays = is_large(&tensor);
        self.initializers.add(tensor, stays);
    }

    /// Sets the name, the inputs and the outputs.
    pub(super) fn set_ports(&mut self, name: String, input: Vec<ValueInfoProto>, output: Vec<ValueInfoProto>) {
        self.name = name;
        self.ports = GraphProto {
            input,
            output,
            ..GraphProto::default()
        };
    }

    pub(super) fn encoded_len(&self) -> usize {
        let lists = [
            self.nodes.encoded_len(),
            self.initializers.encoded_len(),
            self.value_info.encoded_len(),
        ];
        lists.iter().sum::<usize>() + self.named().encoded_len() + self.ports.encoded_len()
    }

    /// Writes the graph, with the fields in the order of their numbers.
    pub(super) fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        self.nodes.write(out)?;
        out.write_all(&self.named().encode_to_vec())?;
        self.initializers.write(out)?;
        out.write_all(&self.ports.encode_to_vec())?;
        self.value_info.write(out)
    }

    fn named(&self) -> GraphProto {
        GraphProto {
            name: self.name.clone(),
            ..GraphProto::default()
        }
    }
}

/// The messages of one field of a graph, most of them as bytes.
#[derive(Debug)]
pub(super) struct Messages<M> {
    /// The number of the field.
    field: u32,
    pieces: Vec<Piece<M>>,
}

#[derive(Debug)]
enum Piece<M> {
    /// Whole messages, each with its key and its length.
    Bytes(Vec<u8>),
    Message(Box<M>),
}

impl<M: Message> Messages<M> {
    fn new(field: u32) -> Messages<M> {
        Messages {
            field,
            pieces: Vec::new(),
        }
    }

    /// Adds a message, as bytes unless it has to stay a message.
    pub(super) fn add(&mut self, message: M, stays: bool) {
        match self.pieces.last_mut() {
            _ if stays => self.pieces.push(Piece::Message(Box::new(message))),
            Some(Piece::Bytes(bytes)) if bytes.len() < PIECE => message::encode(self.field, &message, bytes),
            _ => {
                let mut bytes = Vec::new();
                message::encode(self.field, &message, &mut bytes);
                self.pieces.push(Piece::Bytes(bytes));
            }
        }
    }

    /// The messages that stayed messages.
    pub(super) fn messages(&mut self) -> impl Iterator<Item = &mut M> {
        self.pieces.iter_mut().filter_map(|piece| match piece {
            Piece::Bytes(_) => None,
            Piece::Message(message) => Some(message.as_mut()),
        })
    }

    fn encoded_len(&self) -> usize {
        let of = |piece: &Piece<M>| match piece {
            Piece::Bytes(bytes) => bytes.len(),
            Piece::Message(message) => message::encoded_len(self.field, message.as_ref()),
        };
        self.pieces.iter().map(of).sum()
    }

    fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let mut buffer = Vec::new();
        for piece in &self.pieces {
            match piece {
                Piece::Bytes(bytes) => out.write_all(bytes)?,
                Piece::Message(message) => {
                    buffer.clear();
                    message::encode(self.field, message.as_ref(), &mut buffer);
                    out.write_all(&buffer)?;
                }
            }
        }
        Ok(())
    }
}
