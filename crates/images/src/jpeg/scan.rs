//! Decodes the coefficients of a scan.
//!
//! A scan has either the blocks of a single component, one after the other, or the blocks of several components.
//! Several components are interleaved in units (MCUs), whose sizes follow from the sampling factors of the components.
//! A sequential scan has all coefficients of a block. A progressive scan has only the coefficients of a band of
//! frequencies. The first scan of a band has the coefficients without their lowest bits, and each further scan has one
//! more bit of these coefficients.

use super::{Component, Frame, Quantization, ZIGZAG, bits::Bits, damaged, huffman::Huffman, idct, no_table};
use crate::ImageError;

/// The Huffman tables that have been read so far.
#[derive(Default)]
pub(super) struct Tables {
    pub(super) dc: [Option<Huffman>; 4],
    pub(super) ac: [Option<Huffman>; 4],
}

/// A component in a scan, with the component's tables.
struct Part<'a> {
    /// The component's position in the frame.
    component: usize,
    dc: Option<&'a Huffman>,
    ac: Option<&'a Huffman>,
    /// The DC coefficient of the previous block.
    before: i32,
}

/// The frequencies and bits that a progressive scan has.
#[derive(Clone, Copy)]
struct Band {
    /// The first coefficient of the band, in zigzag order.
    first: usize,
    /// The last coefficient of the band, in zigzag order.
    last: usize,
    /// True if earlier scans have already set higher bits of these coefficients.
    refines: bool,
    /// The position of the lowest bit that this scan has.
    bit: u32,
}

/// Decodes the scan with this header. Returns the number of bytes of the scan's data.
pub(super) fn decode(
    frame: &mut Frame,
    header: &[u8],
    data: &[u8],
    tables: &Tables,
    quantization: &[Option<Quantization>; 4],
    restart: usize,
    seen: &mut [bool; 256],
) -> Result<usize, ImageError> {
    let broken = || damaged("a scan has no header");
    let (&count, rest) = header.split_first().ok_or_else(broken)?;
    let (chosen, rest) = rest.split_at_checked(2 * usize::from(count)).ok_or_else(broken)?;
    let &[first, last, bits] = rest else {
        return Err(broken());
    };
    let band = Band {
        first: first.into(),
        last: last.into(),
        refines: bits >> 4 != 0,
        bit: u32::from(bits & 15),
    };
    let mut parts = Vec::new();
    for choice in chosen.chunks_exact(2) {
        let component = frame.components.iter().position(|component| component.id == choice[0]);
        let component = component.ok_or_else(|| damaged("a scan is of no component"))?;
        if parts.iter().any(|part: &Part<'_>| part.component == component) {
            return Err(damaged("a scan has a component twice"));
        }
        seen[usize::from(choice[0])] = true;
        let table = |tables: &'_ [Option<Huffman>; 4], at: u8| tables.get(usize::from(at)).is_some_and(Option::is_some);
        let (dc, ac) = (choice[1] >> 4, choice[1] & 15);
        let needs_dc = !frame.progressive || band.first == 0 && !band.refines;
        let needs_ac = !frame.progressive || band.first > 0;
        if needs_dc && !table(&tables.dc, dc) || needs_ac && !table(&tables.ac, ac) {
            return Err(damaged("a scan has no Huffman table"));
        }
        parts.push(Part {
            component,
            dc: tables.dc.get(usize::from(dc)).and_then(Option::as_ref),
            ac: tables.ac.get(usize::from(ac)).and_then(Option::as_ref),
            before: 0,
        });
    }
    let fits = match frame.progressive {
        true => band.first <= band.last && band.last < 64 && band.bit < 14 && (band.first > 0 || band.last == 0),
        false => true,
    };
    let alone = parts.len() == 1;
    if parts.is_empty() || !fits || frame.progressive && band.first > 0 && !alone {
        return Err(broken());
    }
    let mut work = Work {
        bits: Bits::new(data),
        band,
        run: 0,
    };
    let [across, down] = match parts.first() {
        Some(part) if alone => frame.components[part.component].size.map(|side| side.div_ceil(8)),
        _ => frame.units(),
    };
    let mut until_restart = restart;
    for unit in 0..across * down {
        if restart > 0 {
            if until_restart == 0 {
                if work.bits.is_over() || !work.bits.restart() {
                    return Err(damaged("a restart is missing"));
                }
                work.run = 0;
                parts.iter_mut().for_each(|part| part.before = 0);
                until_restart = restart;
            }
            until_restart -= 1;
        }
        let (x, y) = (unit % across, unit / across);
        for part in &mut parts {
            let progressive = frame.progressive;
            let component = &mut frame.components[part.component];
            let [h, v] = if alone { [1; 2] } else { component.sampling };
            for block in 0..h * v {
                let place = [x * h + block % h, y * v + block / h];
                let done = if progressive {
                    work.progressive(component, part, place)
                } else {
                    let table = quantization[component.table].as_ref().ok_or_else(no_table)?;
                    work.sequential(component, part, place, table)
                };
                done.ok_or_else(|| damaged("a code is none"))?;
            }
        }
        if work.bits.is_over() {
            return Err(damaged("it is cut short"));
        }
    }
    Ok(work.bits.marker())
}

struct Work<'a> {
    bits: Bits<'a>,
    band: Band,
    /// Number of blocks that follow and have no coefficients in the band.
    run: u32,
}

impl Work<'_> {
    /// Decodes all coefficients of a block, and transforms them to levels.
    fn sequential(
        &mut self,
        component: &mut Component,
        part: &mut Part<'_>,
        [x, y]: [usize; 2],
        table: &Quantization,
    ) -> Option<()> {
        let (dc, ac) = (part.dc?, part.ac?);
        let mut block = [0i16; 64];
        self.bits.fill();
        let size = u32::from(dc.symbol(&mut self.bits)?);
        if size > 15 {
            return None;
        }
        part.before = part.before.wrapping_add(self.bits.signed(size));
        block[0] = part.before as i16;
        let mut at = 1;
        while at < 64 {
            self.bits.fill();
            let symbol = ac.symbol(&mut self.bits)?;
            let (zeros, size) = (usize::from(symbol >> 4), u32::from(symbol & 15));
            if size == 0 {
                if zeros < 15 {
                    break;
                }
                at += 16;
                continue;
            }
            at += zeros;
            let place = *ZIGZAG.get(at)?;
            block[usize::from(place & 63)] = self.bits.signed(size) as i16;
            at += 1;
        }
        let row = 8 * component.blocks[0];
        let place = y * 8 * row + x * 8;
        idct::transform(&block, table, component.levels.get_mut(place..)?, row);
        Some(())
    }

    /// Decodes the bits that a progressive scan has for one block, and adds them to the block's coefficients.
    fn progressive(&mut self, component: &mut Component, part: &mut Part<'_>, [x, y]: [usize; 2]) -> Option<()> {
        let at = y * component.blocks[0] + x;
        let (blocks, _) = component.coefficients.as_chunks_mut::<64>();
        let block = blocks.get_mut(at)?;
        match (self.band.first, self.band.refines) {
            (0, false) => {
                self.bits.fill();
                let size = u32::from(part.dc?.symbol(&mut self.bits)?);
                if size > 15 {
                    return None;
                }
                part.before = part.before.wrapping_add(self.bits.signed(size));
                block[0] = (part.before << self.band.bit) as i16;
                Some(())
            }
            (0, true) => {
                self.bits.fill();
                if self.bits.take(1) == 1 {
                    block[0] |= 1 << self.band.bit;
                }
                Some(())
            }
            (_, false) => self.first_bits(block, part.ac?),
            (_, true) => self.further_bit(block, part.ac?),
        }
    }

    fn first_bits(&mut self, block: &mut [i16; 64], ac: &Huffman) -> Option<()> {
        if self.run > 0 {
            self.run -= 1;
            return Some(());
        }
        let mut at = self.band.first;
        while at <= self.band.last {
            self.bits.fill();
            let symbol = ac.symbol(&mut self.bits)?;
            let (zeros, size) = (u32::from(symbol >> 4), u32::from(symbol & 15));
            if size == 0 {
                if zeros < 15 {
                    self.run = (1 << zeros) - 1 + self.bits.take(zeros);
                    break;
                }
                at += 16;
                continue;
            }
            at += zeros as usize;
            let place = *ZIGZAG.get(at)?;
            block[usize::from(place & 63)] = (self.bits.signed(size) << self.band.bit) as i16;
            at += 1;
        }
        Some(())
    }

    /// Reads one more bit of each coefficient that is not 0. Between these bits, the scan may also state that a
    /// coefficient that was 0 so far becomes plus or minus 2^n, where n is the position of the bit that the scan adds.
    fn further_bit(&mut self, block: &mut [i16; 64], ac: &Huffman) -> Option<()> {
        let bit = 1i16 << self.band.bit;
        let mut at = self.band.first;
        if self.run == 0 {
            while at <= self.band.last {
                self.bits.fill();
                let symbol = ac.symbol(&mut self.bits)?;
                let (mut zeros, size) = (u32::from(symbol >> 4), symbol & 15);
                let mut new = 0;
                match size {
                    0 if zeros < 15 => {
                        self.run = (1 << zeros) + self.bits.take(zeros);
                        break;
                    }
                    0 => {}
                    1 => new = if self.bits.take(1) == 1 { bit } else { -bit },
                    _ => return None,
                }
                while at <= self.band.last {
                    let place = usize::from(ZIGZAG[at & 63] & 63);
                    at += 1;
                    if block[place] != 0 {
                        self.refine(&mut block[place], bit);
                    } else if zeros == 0 {
                        block[place] = new;
                        break;
                    } else {
                        zeros -= 1;
                    }
                }
            }
        }
        if self.run > 0 {
            for &place in ZIGZAG.get(at..=self.band.last).unwrap_or_default() {
                let coefficient = &mut block[usize::from(place & 63)];
                if *coefficient != 0 {
                    self.refine(coefficient, bit);
                }
            }
            self.run -= 1;
        }
        Some(())
    }

    fn refine(&mut self, coefficient: &mut i16, bit: i16) {
        self.bits.fill();
        if self.bits.take(1) == 1 && *coefficient & bit == 0 {
            *coefficient = coefficient.wrapping_add(if *coefficient > 0 { bit } else { -bit });
        }
    }
}
