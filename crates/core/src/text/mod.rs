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
//! * A name is letters, digits, `_` and `.`, or a string. A second thing with the same name is `%name~1`, and so on.
//! * The header's stage is the main graph's; another graph says its own. Without `main` the first graph is it.
//! * A node is called like its first result and answers for that name alone, unless `name` and `sources` say otherwise.
//! * `call @g(…)` calls a graph; `if @a, @b(…)` and `loop @b(…)` name graphs in the same place. `host` gives code and text of the [`crate::Reason`]. `_` is an absent operand.
//! * A constant `@w` belongs to each graph that names it. `same` shares the tensor of another constant under a name or
//!   grid of its own. Tensors that nothing uses are not printed.
//! * Floats are the shortest decimals that read back as the same bits, with a point or an exponent; `inf`, `-inf`, and
//!   `nan(0x7fc00000)` with its bits. An empty list of floats is `f32[]`.
//! * `random SEED` is [`random`]: every element of a tensor from a stream of its own.
//! * `;` starts a comment that ends with the line. Line ends mean nothing else.
//! * `quant` gives the configs of an annotated graph's operands and results: the type and range of the codes
//!   (`i8[-128,127]`, or a small float: `e4m3`), the policy, the rounding, and where the grid comes from. `float` says that
//!   the config is taken out of quantization and would become what follows again. NODE is the name of a node, a word or a
//!   string; a second node of that name is `name~1`. `overlapped` names the config whose grid is read. A derived grid is
//!   not in the text.
//! * Not in the text: ids.

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

use crate::module::Module;
use crate::tensor::TensorData;

/// The version in the first line.
const VERSION: &str = "1";

/// The largest text that is read, in bytes.
pub const MAX_TEXT: usize = 1 << 30;

/// Number of bytes that all `splat` and `random` tensors of one text may have together: they cost nothing to write
/// down.
pub const MAX_GENERATED: u64 = 1 << 28;

/// Where the tensors that a text calls `blob` lie: the container beside it.
pub trait BlobSource {
    /// The bytes of blob `index`, if there are any. The reader compares their number with the type, and `digest`, the
    /// BLAKE3 digest in the text in hexadecimal, is for the source to compare.
    fn blob(&self, index: usize, digest: Option<&str>) -> Option<bytes::Bytes>;
}

/// A text that stands alone has no blobs.
struct NoBlobs;

impl BlobSource for NoBlobs {
    fn blob(&self, _: usize, _: Option<&str>) -> Option<bytes::Bytes> {
        None
    }
}

/// The tensors of another module, `blob 3` being its pool's fourth; digests are not compared.
impl BlobSource for [TensorData] {
    fn blob(&self, index: usize, _: Option<&str>) -> Option<bytes::Bytes> {
        self.get(index).map(|t| t.bytes().clone())
    }
}

/// Reads a module from a text without blobs. It is not verified: a test of the verifier needs broken ones.
pub fn parse(text: &str) -> Result<Module, TextError> {
    parse_beside(text, &NoBlobs)
}

/// Reads a module from a text and the container beside it.
pub fn parse_beside<B: BlobSource + ?Sized>(text: &str, blobs: &B) -> Result<Module, TextError> {
    build::build(parse::file(text)?, &|index, digest| blobs.blob(index, digest))
}
