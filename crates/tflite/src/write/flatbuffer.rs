//! Writes flatbuffers. A tree of tables becomes bytes, from the root on: each table, vector and string is appended when
//! its parent is complete, so all offsets point forward. Equal trees give equal bytes. Each table has a vtable of its
//! own in front of it: readers such as planus refuse a vtable that lies before the parent of its table.

use bytes::Bytes;
use smallvec::SmallVec;
use std::collections::BTreeMap;

/// The value of a field.
#[derive(PartialEq)]
pub(super) enum Field {
    Byte(i8),
    Int(i32),
    UInt(u32),
    Float(f32),
    Table(Table),
    Text(String),
    Ints(Vec<i32>),
    Longs(Vec<i64>),
    Floats(Vec<f32>),
    /// Bytes that start at a multiple of 16.
    Bytes(Bytes),
    Tables(Vec<Table>),
}

impl Field {
    /// The bytes of a number. `None` for everything that is stored elsewhere, so that the table has its offset.
    fn number(&self) -> Option<SmallVec<[u8; 4]>> {
        match self {
            Field::Byte(byte) => Some(byte.to_le_bytes().as_slice().into()),
            Field::Int(int) => Some(int.to_le_bytes().into()),
            Field::UInt(int) => Some(int.to_le_bytes().into()),
            Field::Float(float) => Some(float.to_le_bytes().into()),
            _ => None,
        }
    }
}

/// A table: its fields by slot.
#[derive(Default, PartialEq)]
pub(super) struct Table(BTreeMap<u16, Field>);

impl Table {
    /// Sets a field.
    pub(super) fn with(mut self, slot: u16, field: Field) -> Table {
        self.0.insert(slot, field);
        self
    }

    /// A field that is set.
    pub(super) fn get_mut(&mut self, slot: u16) -> Option<&mut Field> {
        self.0.get_mut(&slot)
    }

    /// Sets a number, unless it is the default of the field, which is not stored.
    pub(super) fn int(self, slot: u16, value: i32, default: i32) -> Table {
        match value == default {
            true => self,
            false => self.with(slot, Field::Int(value)),
        }
    }

    /// Sets an enum or a boolean, unless it is the default of the field, which is not stored.
    pub(super) fn byte(self, slot: u16, value: i8, default: i8) -> Table {
        match value == default {
            true => self,
            false => self.with(slot, Field::Byte(value)),
        }
    }
}

/// The file does not fit into the 2 GiB that offsets of flatbuffers reach.
#[derive(Debug)]
pub(super) struct TooLarge;

/// The largest size of a file.
const MOST_BYTES: usize = i32::MAX as usize;

/// The bytes of a file with this root, and with an identifier of four letters.
pub(super) fn encode(root: Table, identifier: [u8; 4]) -> Result<Vec<u8>, TooLarge> {
    let mut writer = Writer {
        bytes: vec![0; 4],
        open: Vec::new(),
    };
    writer.bytes.extend(identifier);
    writer.open.push((0, Field::Table(root)));
    // The last one that was opened is written first, so that children follow their parent.
    while let Some((offset, object)) = writer.open.pop() {
        let at = writer.object(object)?;
        let distance = u32::try_from(at - offset).map_err(|_| TooLarge)?;
        writer.bytes[offset..offset + 4].copy_from_slice(&distance.to_le_bytes());
    }
    Ok(writer.bytes)
}

struct Writer {
    bytes: Vec<u8>,
    /// Positions of offsets that are still to be set, with the tables, vectors and strings that they point to.
    open: Vec<(usize, Field)>,
}

impl Writer {
    /// Pads until the position `ahead` bytes further is a multiple of `alignment`.
    fn align(&mut self, alignment: usize, ahead: usize) -> Result<(), TooLarge> {
        let at = self.bytes.len() + ahead;
        let padded = at.next_multiple_of(alignment) - ahead;
        self.bytes.resize(padded, 0);
        if padded > MOST_BYTES { Err(TooLarge) } else { Ok(()) }
    }

    /// Appends a table, vector or string, and returns its position. A number, which has no offset, is appended as it is.
    fn object(&mut self, object: Field) -> Result<usize, TooLarge> {
        match object {
            Field::Byte(_) | Field::Int(_) | Field::UInt(_) | Field::Float(_) => {
                let at = self.bytes.len();
                self.bytes.extend(object.number().unwrap_or_default());
                Ok(at)
            }
            Field::Table(table) => self.table(table),
            Field::Text(text) => {
                let at = self.vector(text.len(), 4, text.bytes())?;
                self.bytes.push(0);
                Ok(at)
            }
            Field::Bytes(bytes) => {
                let at = self.vector(bytes.len(), 16, [])?;
                if bytes.len() > MOST_BYTES - self.bytes.len().min(MOST_BYTES) {
                    return Err(TooLarge);
                }
                self.bytes.extend_from_slice(&bytes);
                Ok(at)
            }
            Field::Ints(ints) => self.vector(ints.len(), 4, ints.iter().flat_map(|int| int.to_le_bytes())),
            Field::Longs(longs) => self.vector(longs.len(), 8, longs.iter().flat_map(|long| long.to_le_bytes())),
            Field::Floats(floats) => self.vector(floats.len(), 4, floats.iter().flat_map(|float| float.to_le_bytes())),
            Field::Tables(tables) => {
                let at = self.vector(tables.len(), 4, std::iter::repeat_n(0, tables.len() * 4))?;
                let offsets = (0..tables.len()).map(|index| at + 4 + 4 * index);
                let open: Vec<_> = offsets
                    .zip(tables)
                    .map(|(offset, table)| (offset, Field::Table(table)))
                    .collect();
                self.open.extend(open.into_iter().rev());
                Ok(at)
            }
        }
    }

    /// Writes the length of a vector and its elements, whose first byte is aligned. Returns the vector's position.
    fn vector(
        &mut self,
        length: usize,
        alignment: usize,
        elements: impl IntoIterator<Item = u8>,
    ) -> Result<usize, TooLarge> {
        self.align(alignment.max(4), 4)?;
        let at = self.bytes.len();
        let length = u32::try_from(length).map_err(|_| TooLarge)?;
        self.bytes.extend(length.to_le_bytes());
        self.bytes.extend(elements);
        Ok(at)
    }

    fn table(&mut self, table: Table) -> Result<usize, TooLarge> {
        // The vtable: its own size, the size of the table, and the place of each field in the table.
        let slots = table.0.keys().next_back().map_or(0, |&last| usize::from(last) + 1);
        let (mut vtable, mut size) = (vec![0; 2 + slots], 4u16);
        for (&slot, field) in &table.0 {
            let own = field.number().map_or(4, |number| number.len() as u16);
            size = size.next_multiple_of(own);
            vtable[2 + usize::from(slot)] = size;
            size += own;
        }
        vtable[0] = 2 * vtable.len() as u16;
        vtable[1] = size;
        self.align(2, 0)?;
        let vtable_at = self.bytes.len();
        self.bytes.extend(vtable.iter().flat_map(|number| number.to_le_bytes()));
        self.align(4, 0)?;
        let at = self.bytes.len();
        // Both positions are below `MOST_BYTES`.
        self.bytes.extend((at as i32 - vtable_at as i32).to_le_bytes());
        self.bytes.resize(at + usize::from(size), 0);
        let mut open = Vec::new();
        for (slot, field) in table.0 {
            let place = at + usize::from(vtable[2 + usize::from(slot)]);
            match field.number() {
                Some(number) => self.bytes[place..place + number.len()].copy_from_slice(&number),
                None => open.push((place, field)),
            }
        }
        self.open.extend(open.into_iter().rev());
        Ok(at)
    }
}
