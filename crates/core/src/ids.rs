//! Ids. Nodes, values, graphs, constants, configs and names have ids of different types, so that they cannot be
//! confused.

use std::fmt;
use std::num::NonZeroU32;

/// The largest number of entries in an arena. Ids have 32 bits, and two of their values have another meaning: one says
/// that an optional id is absent, and the other is [`NodeId::OUTSIDE`].
pub const MAX_ENTRIES: usize = u32::MAX as usize - 1;

/// The smallest number that no entry has.
const NO_ENTRY: u32 = MAX_ENTRIES as u32;

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident = $letter:literal;)*) => { $(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(NonZeroU32);

        impl $name {
            /// Makes the id of the entry at `index`. Arenas never have more than [`MAX_ENTRIES`] entries, so the
            /// conversion loses nothing.
            pub fn new(index: usize) -> Self {
                debug_assert!(index < MAX_ENTRIES);
                Self::of(index as u32)
            }

            /// Returns the index of the entry in its arena.
            pub fn index(self) -> usize {
                self.number() as usize
            }

            // The number is stored with 1 added, so that an optional id takes no more memory than an id. No entry has
            // either of the two largest numbers, which become the same id.
            pub(crate) const fn of(number: u32) -> Self {
                Self(NonZeroU32::MIN.saturating_add(number))
            }

            const fn number(self) -> u32 {
                self.0.get() - 1
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!($letter, "{}"), self.number())
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
    /// The id that stands for everything outside of a graph. The outside provides the graph's inputs and reads its
    /// outputs. No node has this id.
    pub const OUTSIDE: NodeId = NodeId::of(NO_ENTRY);
}

impl Symbol {
    /// The symbol for a name that has not been chosen yet. No table of names contains it.
    pub(crate) const UNNAMED: Symbol = Symbol::of(NO_ENTRY);

    /// The first symbol that is a placeholder for a name.
    const PLACEHOLDERS: u32 = NO_ENTRY - (1 << 20);

    /// Returns the placeholder with this number. In a patch that has not been applied yet, it stands for the name of an
    /// extent.
    pub(crate) fn placeholder(number: u32) -> Symbol {
        Symbol::of(Symbol::PLACEHOLDERS + number % (1 << 20))
    }

    /// True if the symbol is a [`Symbol::placeholder`].
    pub(crate) fn is_placeholder(self) -> bool {
        self.number() >= Symbol::PLACEHOLDERS && self != Symbol::UNNAMED
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

/// A use of a value, as an operand of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Use {
    /// The node that uses the value.
    pub node: NodeId,
    /// The position of the operand.
    pub operand: u16,
}

/// A link in the list of all operands that use the same value: the previous and the next operand.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Link {
    pub(crate) previous: Option<Use>,
    pub(crate) next: Option<Use>,
}

/// The largest number of results of one node. The position of a result has 8 bits.
pub const MAX_RESULTS: usize = 1 << 8;

/// The largest number of operands of one node. The position of an operand has 16 bits.
pub const MAX_OPERANDS: usize = 1 << 16;
