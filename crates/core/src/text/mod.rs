//! The text form of a module, for tests and people.
//!
//! ```text
//! strait 1 integer
//! graph @main(%x: i8[N,3,32,32] scale=0.0078125 zero=0) {
//!   %c: i32[N,16,32,32] = conv(%x, @w, @b) {stride=[1,1], pad=[1,1,1,1], dilation=[1,1], groups=1, pad_value=0}
//!   %q: i8[N,16,32,32] scale=0.05 zero=3 = requantize(%c) {form={arith_folded shift=7 rounding=half_even out=i8}, axis=1}
//!   return %q
//! }
//! data @w: i8[16,3,3,3] scale=[0.5,…] zero=0 axis=0 = random 7
//! data @b: i32[16] = splat 1
//! ```
//!
//! ```text
//! module    := 'strait' '1' stage ['main' '=' '@'NAME] { graph | quant | data }
//! graph     := 'graph' '@'NAME '(' [value {',' value}] ')' ['stage' '=' stage] '{' {node} 'return' [operand {',' operand}] '}'
//! node      := (value {',' value} | '(' ')') '=' OP ['@'NAME] '(' [operand {',' operand}] ')' ['{' attribute {',' attribute} '}'] {clause}
//! operand   := '%'NAME | '@'NAME | '_'
//! value     := '%'NAME ':' type [grid]
//! type      := ELEM '[' [dim {',' dim}] ']'
//! grid      := 'scale' '=' numbers 'zero' '=' numbers ['axis' '=' INTEGER ['block' '=' INTEGER]] ['codes' '=' ELEM]
//! attribute := KEY '=' (INTEGER | FLOAT | list | WORD | STRING | '@'NAME | form)
//! form      := '{' KIND {KEY '=' (INTEGER | FLOAT | list | WORD)} '}'
//! clause    := 'name' '=' STRING | 'sources' '=' strings | 'fused' '=' form | 'clamp' '=' list
//!            | 'addend' '=' '[' INTEGER ',' form ']' | 'host' '=' '[' STRING ',' STRING ']'
//! data      := 'data' '@'NAME ':' type [grid] '=' ('inline' list | 'splat' NUMBER | 'random' INTEGER | 'blob' INTEGER ['blake3' '=' STRING] | 'same' '@'NAME)
//! quant     := 'quant' '@'NAME '{' {port ':' scheme ['float'] standing [codes]} '}'
//! port      := NODE ('operand' | 'result') INTEGER
//! scheme    := (ELEM '[' LOW ',' HIGH ']' ('symmetric' | 'asymmetric') ['power_of_two'] ['dynamic'] | FLOAT_FORMAT) [per] ROUNDING
//! per       := 'channel' '=' INTEGER | 'axis' '=' INTEGER 'block' '=' INTEGER
//! standing  := 'initial' | ('activated' | 'baked') grid ORIGIN | 'overlapped' port
//!            | ('passive' | 'passive_baked') ('same' port | 'product' port ',' port | 'shifted' INTEGER ',' port)
//! codes     := ('codes' | 'given_codes') '=' '@'NAME
//! ```
//!
//! * A name is letters, digits, `_` and `.`, or a string. A second item with the same name is `%name~1`, and so on.
//! * The stage in the header is that of the main graph; every other graph states its own. If `main` is absent, the
//!   first graph is the main graph.
//! * A node has the name of its first result, and this is also its only source name, unless `name` and `sources` say
//!   otherwise.
//! * `call @g(…)` calls a graph; `if @a, @b(…)` and `loop @b(…)` name their graphs in the same place. `host` gives the
//!   code and the text of the [`crate::Reason`]. `_` stands for an absent operand.
//! * Each graph that names a constant `@w` has a value for it. A constant with `same` shares the tensor of another
//!   constant, but has another name or another grid. Constants that nothing uses are not printed.
//! * Floats are written as the shortest decimals that read back as the same bits, always with a point or an exponent.
//!   The only other spellings are `inf`, `-inf`, and `nan(0x7fc00000)` with the bits of the NaN. An empty list of
//!   floats is `f32[]`.
//! * `random SEED` stands for the elements that [`random`] generates. Each tensor has a generator of its own.
//! * `;` starts a comment that ends with the line. Otherwise line ends have no meaning.
//! * `quant` has the configs of an annotated graph's operands and results: the type and range of the codes
//!   (`i8[-128,127]`, or a small float such as `e4m3`), the policy, the rounding, and where the grid comes from.
//!   `float` means that the config is excluded from quantization; the words after it are what would be restored. NODE
//!   is the name of a node, a word or a string; a second node with that name is `name~1`. `overlapped` is followed by
//!   the port of the config whose grid is read. Derived grids are not in the text.
//! * Ids are not in the text.

mod build;
mod cursor;
mod dot;
mod error;
mod json;
mod labels;
mod lexer;
mod number;
mod parse;
mod parse_attribute;
mod print;
mod quant_parse;
mod quant_print;
pub mod random;
mod spell;
mod syntax;

#[cfg(test)]
mod quant_tests;
#[cfg(test)]
mod tests;

pub use dot::to_dot;
pub use error::{Position, TextError, TextFault};
pub use json::to_json;
pub(crate) use print::NodePrinter;
pub use print::{PrintOptions, print, type_text};
pub use quant_parse::scheme_from_text;
pub use quant_print::scheme_text;
pub use syntax::{MAX_GENERATED, MAX_TEXT};

use crate::module::Module;
use crate::tensor::TensorData;

/// Provides the bytes of `blob` tensors, which are stored in the container beside the text.
pub trait BlobSource {
    /// Returns the bytes of blob `index`, or `None` if there is no such blob. `digest` is the BLAKE3 digest that the
    /// text states for the blob, in hexadecimal. The implementation has to check that the bytes have this digest. The
    /// caller checks that the number of bytes matches the type.
    fn blob(&self, index: usize, digest: Option<&str>) -> Option<bytes::Bytes>;
}

/// Takes blobs from the constants of another module: `blob 3` is the fourth constant of its pool. Digests are not
/// checked.
impl BlobSource for [TensorData] {
    fn blob(&self, index: usize, _: Option<&str>) -> Option<bytes::Bytes> {
        self.get(index).map(|t| t.bytes().clone())
    }
}

/// Reads a module from a text without blobs. The module is not verified, so that tests of the verifier can use broken
/// modules.
pub fn parse(text: &str) -> Result<Module, TextError> {
    parse_beside::<[TensorData]>(text, &[])
}

/// Reads a module from a text and the container beside it. The module is not verified.
pub fn parse_beside<B: BlobSource + ?Sized>(text: &str, blobs: &B) -> Result<Module, TextError> {
    build::build(parse::file(text)?, &|index, digest| blobs.blob(index, digest))
}
