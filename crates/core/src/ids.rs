//! One type per kind of index, so that a node can never be looked up where a value is meant.

use std::fmt;

/// The limit on the number of entries in any arena; ids are 32 bits wide.
pub const MAX_ENTRIES: usize = u32::MAX as usize;

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident = $letter:literal;)*) => { $(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(u32);

        impl $name {
            /// The id of the entry at `index`. Arenas refuse to grow past [`MAX_ENTRIES`], hence the cast loses nothing.
            pub fn new(index: usize) -> Self {
                debug_assert!(index < MAX_ENTRIES);
                Self(index as u32)
            }

            /// The position in the arena that handed this id out.
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
    /// The outside of a graph, which hands over its inputs and reads its outputs. No node has this id.
    pub const OUTSIDE: NodeId = NodeId(u32::MAX);
}

impl Symbol {
    /// The name of what has none yet. No table hands it out.
    pub(crate) const UNNAMED: Symbol = Symbol(u32::MAX);

    /// The first of as many symbols that stand for names to come.
    const PLACEHOLDERS: u32 = u32::MAX - (1 << 20);

    /// The stand-in of a name to come, by its number, in what is not applied yet.
    pub(crate) fn placeholder(number: u32) -> Symbol {
        Symbol(Symbol::PLACEHOLDERS + number % (1 << 20))
    }

    /// True of [`Symbol::placeholder`].
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
    /// A tensor in the pool of one module.
    DataId = "data";
    /// A quantization config in the side table of one graph.
    ConfigId = "config";
    /// An interned name of one module.
    Symbol = "symbol";
}
