//! Makes test calls that show whether a library does something else besides computing codes, and whether it computes
//! the same codes in every call.

#![allow(unsafe_code, reason = "the C interface")]

use std::mem::size_of;
use std::slice;
use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

use strait_plugin_interface as c;
use strait_plugin_interface::ALIGNMENT;
use strait_requantize::IntType;

use super::calls::{Fault, Plugin};
use super::memory::{Aligned, Fenced, Room};
use super::probes::Handed;
use super::tiles::CheckedTile;
use crate::conduct::{Misdeed, Trial};
use crate::wire::{Fence, TileHeader};

/// The two bytes with which the memory for codes is filled before a call. The two bytes differ, so a code that the
/// library does not write differs between calls.
const FILLS: [u8; 2] = [0x5a, 0xa5];

/// Repeated calls stop after this time.
const OFTEN: Duration = Duration::from_millis(100);

/// The most repeated calls that are made.
const MOST_OFTEN: usize = 4096;

impl Plugin {
    /// Asks the library for the codes of tiles, in the way that `trial` says. The accumulators of the tiles follow each
    /// other in memory. The result has the codes of the first tile, from the first call for it.
    pub(super) fn attempt(
        &self,
        tiles: &[TileHeader],
        trial: Trial,
        accumulators: &Aligned,
        codes: &mut Aligned,
    ) -> Result<Vec<Misdeed>, Fault> {
        let mut rest = accumulators.bytes();
        let mut all = Vec::with_capacity(tiles.len());
        for &tile in tiles {
            let size = tile.size().filter(|&size| size <= rest.len());
            let (own, behind) = rest.split_at(size.ok_or_else(|| Fault::ours("tiles of more accumulators than came"))?);
            rest = behind;
            all.push(CheckedTile::new(self, tile, own)?);
        }
        let first = all.first().ok_or_else(|| Fault::ours("no tile"))?;
        match trial {
            Trial::Once => once(first, codes).map(|()| Vec::new()),
            Trial::Alone => alone(first, codes),
            Trial::Fenced => fenced(first).map(|()| Vec::new()),
            Trial::Together { rounds } => together(&all, rounds),
            Trial::Often => often(first).map(|()| Vec::new()),
        }
    }
}

/// The result of one call in which the memory for codes, the form and the tile are followed by guard bytes.
struct Watched {
    codes: Room,
    misdeeds: Vec<Misdeed>,
}

/// Makes a call with guard bytes around all memory that is handed over. Before the call, the memory for codes is filled
/// with `fill`. The accumulators have bytes with the value `mark` on both sides.
fn watched(checked: &CheckedTile<'_>, fill: u8, mark: u8) -> Result<Watched, Fault> {
    let input = Room::holding(checked.accumulators, mark);
    let mut codes = Room::new(checked.room(), fill, !fill);
    let arrays = checked.arrays.clone();
    let form = Handed::new(checked.arrays.form(), size_of::<c::Form>());
    let tile = checked.tile(input.inside().as_ptr(), codes.inside_mut().as_mut_ptr());
    let tile = Handed::new(tile, size_of::<c::Tile>());
    // SAFETY: all arguments live until the call returns, and arrays and tiles have the sizes that are stated.
    unsafe { checked.call(form.at(), tile.at()) }?;
    let [before, behind] = codes.touched();
    let input = input.inside() != checked.accumulators || input.touched() != [false; 2];
    let found = [
        (before, Misdeed::Before),
        (behind, Misdeed::Behind),
        (input, Misdeed::Accumulators),
        (
            !form.is_intact() || !tile.is_intact() || arrays != *checked.arrays,
            Misdeed::Structs,
        ),
    ];
    let misdeeds = found.into_iter().filter_map(|(is, misdeed)| is.then_some(misdeed));
    Ok(Watched {
        codes,
        misdeeds: misdeeds.collect(),
    })
}

/// Memory for accumulators and codes, with margins in case the library writes there.
struct Places {
    input: Room,
    codes: Room,
}

impl Places {
    fn new(checked: &CheckedTile<'_>) -> Places {
        Places {
            input: Room::holding(checked.accumulators, 0),
            codes: Room::new(checked.room(), FILLS[0], 0),
        }
    }

    /// Makes a call without checking whether the library writes to other memory.
    fn call(&mut self, checked: &CheckedTile<'_>) -> Result<(), Fault> {
        let form = checked.arrays.form();
        let tile = checked.tile(self.input.inside().as_ptr(), self.codes.inside_mut().as_mut_ptr());
        // SAFETY: all arguments live until the call returns, and arrays and tiles have the sizes that are stated.
        unsafe { checked.call(&raw const form, &raw const tile) }
    }
}

fn once(checked: &CheckedTile<'_>, codes: &mut Aligned) -> Result<(), Fault> {
    let mut places = Places::new(checked);
    places.call(checked)?;
    codes.resize(checked.room());
    codes.bytes_mut().copy_from_slice(places.codes.inside());
    Ok(())
}

/// Computes the same tile four times. Before the second call, the memory for codes is filled with other bytes. In the
/// fourth call, there are other bytes around the accumulators.
fn alone(checked: &CheckedTile<'_>, codes: &mut Aligned) -> Result<Vec<Misdeed>, Fault> {
    let calls = [(0, 0x00), (1, 0x00), (0, 0x00), (0, 0x7f)];
    let mut misdeeds = Vec::new();
    let mut answers = Vec::with_capacity(calls.len());
    for (fill, mark) in calls {
        let Watched { codes, misdeeds: its } = watched(checked, FILLS[fill], mark)?;
        misdeeds.extend(its);
        answers.push(codes);
    }
    let [first, second, third, fourth] = &answers[..] else {
        return Err(Fault::ours("a call without an answer"));
    };
    let (width, out) = (checked.width(), checked.header.out);
    let unwritten = if first.inside() == second.inside() {
        None
    } else {
        let mut both = first.inside().iter().zip(second.inside());
        both.position(|(a, b)| [*a, *b] == FILLS)
    };
    if let Some(at) = unwritten {
        misdeeds.push(Misdeed::Unwritten {
            at: (at / width) as u64,
        });
    } else if let Some((at, codes)) = [second, third]
        .iter()
        .find_map(|again| differing(first, again, out, width))
    {
        misdeeds.push(Misdeed::Again { at, codes });
    } else if let Some((at, codes)) = differing(third, fourth, out, width) {
        misdeeds.push(Misdeed::Around { at, codes });
    }
    misdeeds.dedup();
    codes.resize(checked.room());
    codes.bytes_mut().copy_from_slice(first.inside());
    Ok(misdeeds)
}

/// Index and both values of the first code that differs between two calls; `None` if none does.
fn differing(a: &Room, b: &Room, out: IntType, width: usize) -> Option<(u64, [i32; 2])> {
    let (a, b) = (a.inside(), b.inside());
    if a == b {
        return None;
    }
    let mut codes = a.chunks_exact(width).zip(b.chunks_exact(width)).enumerate();
    let (at, (a, b)) = codes.find(|(_, (a, b))| a != b)?;
    Some((at as u64, [a, b].map(|bytes| out.decode(bytes).unwrap_or(0))))
}

/// Makes calls in which all memory that is handed over lies between guard pages, and only the codes are in writable
/// memory. Reading or writing too far crashes.
fn fenced(checked: &CheckedTile<'_>) -> Result<(), Fault> {
    for side in [Fence::Behind, Fence::Before] {
        let short = |_| Fault::ours("this system gives no memory for the call");
        let input = Fenced::holding(checked.accumulators, side, ALIGNMENT).map_err(short)?;
        let codes = Fenced::new(checked.room(), side, ALIGNMENT).map_err(short)?;
        let (form, _arrays) = checked.arrays.fenced(side).map_err(short)?;
        let tile = checked.tile(input.start(), codes.start());
        let [form, tile] = [bytes(&form), bytes(&tile)].map(|bytes| Fenced::holding(bytes, side, align_of::<u64>()));
        let (form, tile) = (form.map_err(short)?, tile.map_err(short)?);
        // SAFETY: all arguments live until the call returns, and arrays and tiles have the sizes that are stated.
        unsafe { checked.call(form.start().cast(), tile.start().cast()) }?;
    }
    Ok(())
}

/// The bytes of a struct of the interface.
pub(super) fn bytes<T: c::Layout>(of: &T) -> &[u8] {
    // SAFETY: structs of the interface have no gaps between their fields.
    unsafe { slice::from_raw_parts(std::ptr::from_ref(of).cast(), size_of::<T>()) }
}

/// Computes the tiles on several threads at once. Each thread computes one of the tiles, many times. Its codes are
/// compared with the codes of a call that is made while no other call runs.
fn together(tiles: &[CheckedTile<'_>], rounds: u32) -> Result<Vec<Misdeed>, Fault> {
    let alone = tiles.iter().map(|checked| {
        let mut places = Places::new(checked);
        places.call(checked).map(|()| places.codes)
    });
    let alone: Vec<Room> = alone.collect::<Result<_, _>>()?;
    let start = Barrier::new(tiles.len());
    let one = |at: usize, checked: &CheckedTile<'_>, alone: &Room| -> Result<Option<Misdeed>, Fault> {
        let mut places = Places::new(checked);
        start.wait();
        // The threads do not wait between their calls. So even on a single processor, the system interrupts threads in
        // the middle of calls.
        for _ in 0..rounds {
            places.codes.inside_mut().fill(FILLS[1]);
            places.call(checked)?;
            if let Some((code, codes)) = differing(alone, &places.codes, checked.header.out, checked.width()) {
                let (tile, at) = (at as u64, code);
                return Ok(Some(Misdeed::Together { tile, at, codes }));
            }
        }
        Ok(None)
    };
    let one = &one;
    let found = thread::scope(|scope| {
        let threads = tiles.iter().zip(&alone).enumerate();
        let threads: Vec<_> = threads
            .map(|(at, (checked, alone))| scope.spawn(move || one(at, checked, alone)))
            .collect();
        let ended = |_| Err(Fault::ours("a thread of the worker ended"));
        let joined = threads.into_iter().map(|thread| thread.join().unwrap_or_else(ended));
        joined.collect::<Result<Vec<_>, _>>()
    })?;
    Ok(found.into_iter().flatten().collect())
}

/// Computes the same tile some thousand times.
fn often(checked: &CheckedTile<'_>) -> Result<(), Fault> {
    let begun = Instant::now();
    let mut places = Places::new(checked);
    for _ in 0..MOST_OFTEN {
        places.call(checked)?;
        if begun.elapsed() > OFTEN {
            break;
        }
    }
    Ok(())
}
