//! A separate type for each kind of index, so that a node can never be mistaken for a value.

use std::fmt;

/// The largest number of entries in an arena, because ids are 32 bits wide.
pub const MAX_ENTRIES: usize = u32::MAX as usize;

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident = $letter:literal;)*) => { $(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(u32);

        impl $name {
            /// The id of the entry at `index`. Arenas never grow beyond [`MAX_ENTRIES`], so the conversion loses
            /// nothing.
            pub fn new(index: usize) -> Self {
                debug_assert!(index < MAX_ENTRIES);
                Self(index as u32)
            }

            /// The position in the arena that the id belongs to.
            pub fn index(self) -> usize {
                self.0 as usize
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!($letter, "{}"), self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }
    )* };
}

impl NodeId {
    /// Stands for the outside of a graph, which provides its inputs and reads its outputs. No node has this id.
    pub const OUTSIDE: NodeId = NodeId(u32::MAX);
}

impl Symbol {
    /// Stands for a name that has not been given yet. No table uses it.
    pub(crate) const UNNAMED: Symbol = Symbol(u32::MAX);

    /// The first of the symbols that are placeholders for names.
    const PLACEHOLDERS: u32 = u32::MAX - (1 << 20);

    /// A numbered placeholder for a name in a patch that has not been applied yet.
    pub(crate) fn placeholder(number: u32) -> Symbol {
        Symbol(Symbol::PLACEHOLDERS + number % (1 << 20))
    }

    /// True if the symbol is a [`Symbol::placeholder`].
    pub(crate) fn is_placeholder(self) -> bool {
        self.0 >= Symbol::PLACEHOLDERS && self != Symbol::UNNAMED
    }
}

ids! {
    /// A node of one graph.
    NodeId = "node";
    /// A value of one graph.
    ValueId = "value";
    /// A graph of one module.
    GraphId = "graph";
    /// A constant in the pool of one module.
    DataId = "data";
    /// A quantization config in the table of one graph.
    ConfigId = "config";
    /// An interned name of one module.
    Symbol = "symbol";
}

/// A use of a value: one operand of one node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Use {
    /// The node that uses the value.
    pub node: NodeId,
    /// The position of the operand.
    pub operand: u16,
}

/// The previous and the next operand in the use list of a value.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Link {
    pub(crate) previous: Option<Use>,
    pub(crate) next: Option<Use>,
}

/// The largest number of results of one node. Their positions are 8 bits wide.
pub const MAX_RESULTS: usize = 1 << 8;

/// The largest number of operands of one node. Their positions are 16 bits wide.
pub const MAX_OPERANDS: usize = 1 << 16;
