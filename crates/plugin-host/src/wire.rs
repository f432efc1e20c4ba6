//! Frames between host and worker. A frame consists of the sizes of its header and its body, a header in JSON, and a
//! body of bytes.
//!
//! The host sends requests and the worker answers. Before the last answer to a request, the worker may send other
//! frames, which report messages or have pieces of files. Neither side relies on the sizes that the other one sends:
//! each kind of frame has a largest body, which is checked before memory is allocated.

use serde::{Deserialize, Serialize, de::DeserializeOwned};
use std::io::{self, IoSlice, Read, Write};
use std::path::PathBuf;
use strait_core::Elem;
use strait_kernels::integer::{Axis, Tile};
use strait_requantize::IntType;
use strait_target::Options;

use crate::conduct::{Misdeed, Traces, Trial};
use crate::node::Refused;
use crate::{LoadError, Probe};

/// Largest header, in bytes. Headers consist of names, numbers and short texts.
const MOST_HEADER: u32 = 1 << 20;

/// A request of the host.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Request {
    /// Load the library. This is the first request, and it is sent only once.
    Load { path: PathBuf, sha256: String },
    /// Open a target with these options.
    Open { options: Options },
    /// Store a form. Later requests refer to the form by its number. The body is the form as JSON.
    Prepare { form: u64, row: String },
    /// Compute the codes of a tile. The body contains the accumulators.
    Requantize(TileHeader),
    /// Compute the codes of tiles in test calls, and watch what the library does besides. The body contains the
    /// accumulators, tile by tile.
    Try { tiles: Vec<TileHeader>, trial: Trial },
    /// Report the state of the process.
    Traces,
    /// Make a test call, with a form that the library computes.
    Probe { target: u32, form: u64, probe: Probe },
    /// Ask the library about nodes. The body is a list of `NodeHeader` as JSON.
    Admit { target: u32 },
    /// Write the target's files. The body contains the IR bytes, and after them the tensors.
    Emit {
        target: u32,
        ir: u64,
        tensors: Vec<TensorHeader>,
        fenced: Option<Fence>,
    },
}

/// Says on which side of a piece of memory a guard page follows without a gap.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Fence {
    Before,
    Behind,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct TileHeader {
    pub(crate) target: u32,
    pub(crate) form: u64,
    pub(crate) out: IntType,
    pub(crate) wide: bool,
    pub(crate) rows: u64,
    pub(crate) columns: u64,
    pub(crate) along_columns: bool,
    pub(crate) first_channel: u32,
}

impl TileHeader {
    /// Makes the header of a tile for the form with the number `form`. Its field `target` is 0 until the session sets
    /// it.
    pub(crate) fn new(form: u64, out: IntType, wide: bool, tile: &Tile) -> TileHeader {
        TileHeader {
            target: 0,
            form,
            out,
            wide,
            rows: tile.rows as u64,
            columns: tile.columns as u64,
            along_columns: tile.channels == Axis::Columns,
            first_channel: tile.first_channel as u32,
        }
    }

    /// Size of one accumulator of the tile in bytes.
    pub(crate) fn bytes(&self) -> usize {
        if self.wide { 8 } else { 4 }
    }

    /// Size of all accumulators in bytes.
    pub(crate) fn size(&self) -> Option<usize> {
        let count = self.rows.checked_mul(self.columns)?;
        usize::try_from(count).ok()?.checked_mul(self.bytes())
    }

    /// Size of all codes in bytes.
    pub(crate) fn room(&self) -> u64 {
        let width = Elem::from(self.out).size() as u64;
        self.rows.saturating_mul(self.columns).saturating_mul(width)
    }
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct TensorHeader {
    /// Tag of the element type, as in IR bytes.
    pub(crate) element: u8,
    pub(crate) extents: Vec<u64>,
    pub(crate) size: u64,
}

/// An answer of the worker.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Answer {
    /// The library is loaded. The body is the text of the library's table.
    Loaded(Description),
    Refused(LoadError),
    Opened(u32),
    Prepared,
    /// The tile is computed. The body contains its codes.
    Codes,
    /// The test calls are done. The body contains the codes of the first tile.
    Tried(Vec<Misdeed>),
    /// The state of the process, before the library was loaded and now.
    Traced(Box<[Traces; 2]>),
    /// What the library did wrong in a test call, if anything.
    Probed(Option<String>),
    /// The answer about the next node: the refusal, if the library refuses it.
    Admitted(Option<Refused>),
    /// The body is a piece of a file. More answers to the request follow.
    Piece {
        path: String,
    },
    Done,
    Failed {
        status: i32,
        node: Option<u32>,
        message: String,
    },
}

/// What a plugin says about itself: its package, its versions and which functions it has.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Description {
    /// Name and version of the plugin's package, as the plugin states them.
    pub package: String,
    /// Major and minor version of the interface that the library is built for.
    pub interface: [u32; 2],
    /// True if the library has `open`, which makes targets from options.
    pub opens: bool,
    /// True if the library has `close`, which is called when a target is no longer used.
    pub closes: bool,
    /// True if the library has a model of its chip's arithmetic.
    pub requantizes: bool,
    /// True if the library may refuse nodes that are within the limits of its table.
    pub admits: bool,
    /// Version of the IR bytes that the library makes its files from; `None` if it writes no files.
    pub emits: Option<[u32; 2]>,
}

/// The start of a frame: the sizes of its header and body.
pub(crate) struct Sizes {
    header: u32,
    body: u64,
}

impl Sizes {
    pub(crate) const BYTES: usize = 12;

    pub(crate) fn parse(bytes: [u8; Sizes::BYTES]) -> Sizes {
        let [a, b, c, d, rest @ ..] = bytes;
        Sizes {
            header: u32::from_le_bytes([a, b, c, d]),
            body: u64::from_le_bytes(rest),
        }
    }

    /// Size of the header, or an error if the header is too large.
    pub(crate) fn header(&self) -> io::Result<usize> {
        if self.header > MOST_HEADER {
            return Err(garbage(format!("a header of {} bytes", self.header)));
        }
        Ok(self.header as usize)
    }

    /// Size of the body, or an error if it is larger than `most` bytes.
    pub(crate) fn body(&self, most: u64) -> io::Result<usize> {
        let size = usize::try_from(self.body).ok().filter(|_| self.body <= most);
        size.ok_or_else(|| garbage(format!("{} bytes where {most} are the most", self.body)))
    }
}

/// The error for bytes that are not a frame.
pub(crate) fn garbage(message: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, message)
}

/// The bytes at the start of a frame: the sizes and the header.
fn start(header: &impl Serialize, body: u64) -> io::Result<Vec<u8>> {
    let json = serde_json::to_vec(header).map_err(io::Error::other)?;
    let size = u32::try_from(json.len()).ok().filter(|&size| size <= MOST_HEADER);
    let size = size.ok_or_else(|| garbage("a header that is too long".into()))?;
    let mut bytes = Vec::with_capacity(Sizes::BYTES + json.len());
    bytes.extend(size.to_le_bytes());
    bytes.extend(body.to_le_bytes());
    bytes.extend(json);
    Ok(bytes)
}

pub(crate) fn header<T: DeserializeOwned>(json: &[u8]) -> io::Result<T> {
    serde_json::from_slice(json).map_err(|error| garbage(error.to_string()))
}

/// Writes a frame to a pipe that blocks.
pub(crate) fn write(to: &mut impl Write, of: &impl Serialize, body: &[u8]) -> io::Result<()> {
    write_parts(to, of, &[body], Err)
}

/// Writes a frame. If the pipe has room, the frame is written at once, so that the other side wakes up only once. After
/// an error of the pipe, `refused` decides whether writing continues.
pub(crate) fn write_parts(
    to: &mut impl Write,
    of: &impl Serialize,
    body: &[&[u8]],
    mut refused: impl FnMut(io::Error) -> io::Result<()>,
) -> io::Result<()> {
    let start = start(of, body.iter().map(|part| part.len() as u64).sum())?;
    let parts = std::iter::once(&start[..]).chain(body.iter().copied());
    let mut parts: Vec<IoSlice<'_>> = parts.map(IoSlice::new).collect();
    let mut rest = &mut parts[..];
    // Empty parts at the start are skipped.
    IoSlice::advance_slices(&mut rest, 0);
    while !rest.is_empty() {
        match to.write_vectored(rest) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(count) => IoSlice::advance_slices(&mut rest, count),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => refused(error)?,
        }
    }
    Ok(())
}

/// Reads the start of a frame and its header from a pipe that blocks; `None` if the other side has ended.
pub(crate) fn read<T: DeserializeOwned>(from: &mut impl Read) -> io::Result<Option<(T, Sizes)>> {
    let mut sizes = [0; Sizes::BYTES];
    let mut filled = 0;
    while filled < sizes.len() {
        match from.read(&mut sizes[filled..]) {
            Ok(0) if filled == 0 => return Ok(None),
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(count) => filled += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    let sizes = Sizes::parse(sizes);
    let mut json = vec![0; sizes.header()?];
    from.read_exact(&mut json)?;
    Ok(Some((header(&json)?, sizes)))
}
