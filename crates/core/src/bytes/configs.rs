//! Writes and reads grids, and a graph's table of quantization configs, as IR bytes.

use super::decode::Decoder;
use super::encode::Encoder;
use super::grid::{block, elem, read_grid, write_grid};
use super::reader::{Read, Reader};
use super::writer::{Writer, count};
use super::{ABSENT, BytesError};
use crate::graph::Graph;
use crate::ids::{ConfigId, NodeId};
use crate::quant::{
    CodesOrigin, Derivation, Entry, FloatFormat, Granularity, Grid, Origin, Parameter, ParameterCodes, Policy, Port,
    QuantTable, Scheme, Standing, State,
};
use strait_requantize::Rounding;

/// The length of the shortest possible config in bytes, including the field that states the length.
const CONFIG_SIZE: usize = 27;

// ---- writing ----

impl Encoder<'_> {
    /// Writes the configs of a graph. `order` is the order of the graph's nodes.
    pub(super) fn configs(&mut self, w: &mut Writer, graph: &Graph, order: &[NodeId]) -> Result<(), BytesError> {
        let entries = graph.quant.entries(order).map_err(|node| {
            let name = self.module.name(graph.name).to_string();
            BytesError::Broken(name, format!("{node} has a config but was removed"))
        })?;
        let mut position = 0;
        w.u32(count(entries.len()));
        for entry in &entries {
            // Entries are written in the order of the nodes that they belong to.
            let node = if entry.port.is_border() {
                ABSENT
            } else {
                while order.get(position).is_some_and(|node| *node != entry.node) {
                    position += 1;
                }
                count(position)
            };
            w.record(|w| self.config(w, node, entry))?;
        }
        Ok(())
    }

    fn config(&mut self, w: &mut Writer, node: u32, entry: &Entry) -> Result<(), BytesError> {
        w.u32(node);
        let (tag, index) = match entry.port {
            Port::Operand(index) => (0, index),
            Port::Result(index) => (1, index),
            Port::Input(index) => (2, index),
            Port::Output(index) => (3, index),
        };
        w.u8(tag);
        w.u32(count(index));
        self.scheme(w, &entry.scheme);
        w.u8(u8::from(entry.float));
        match &entry.standing {
            Standing::Initial => self.text(w, State::Initial.name()),
            Standing::Own(grid) => {
                self.text(w, State::Activated.name());
                write_grid(w, &grid.params);
                self.text(w, grid.origin.name());
            }
            Standing::Overlapped(root) => {
                self.text(w, State::Overlapped.name());
                w.u32(count(root.index()));
            }
            Standing::Passive(derivation) => {
                self.text(w, State::Passive.name());
                // The tag says how the grid is derived: 0, 1 or 2. After tag 2, the number of bits of the shift
                // follows.
                match *derivation {
                    Derivation::Same(_) => w.u8(0),
                    Derivation::Product(..) => w.u8(1),
                    Derivation::Shifted(_, bits) => {
                        w.u8(2);
                        w.u8(bits);
                    }
                }
                derivation.masters().for_each(|master| w.u32(count(master.index())));
            }
        }
        let (tag, data) = match entry.parameter {
            Parameter::Real => (0, None),
            Parameter::Given(data) => (1, Some(data)),
            Parameter::Baked(codes) => (tag_of(codes.origin), Some(codes.data)),
        };
        w.u8(tag);
        if let Some(data) = data {
            let position = self.tensor(data).ok_or(BytesError::MissingTensor(data.index()))?;
            w.u32(position);
        }
        Ok(())
    }

    fn scheme(&mut self, w: &mut Writer, scheme: &Scheme) {
        match scheme.policy() {
            Policy::Linear {
                symmetric,
                power_of_two,
                dynamic,
                ..
            } => {
                w.u8(0);
                for flag in [symmetric, power_of_two, dynamic] {
                    w.u8(flag.into());
                }
                // A scheme has a type and a range only if its policy is linear.
                scheme.elem().into_iter().for_each(|elem| w.u8(elem.tag()));
                scheme.range().into_iter().flatten().for_each(|end| w.i64(end));
            }
            Policy::Floating { format, .. } => {
                w.u8(1);
                w.u8(format.exponent());
                w.u8(format.mantissa());
            }
        }
        match scheme.policy().per() {
            Granularity::Tensor => w.u8(0),
            Granularity::Channel { axis } => [1, axis].into_iter().for_each(|byte| w.u8(byte)),
            Granularity::Block { axis, size } => {
                [2, axis].into_iter().for_each(|byte| w.u8(byte));
                w.u32(size);
            }
        }
        self.text(w, scheme.rounding().name());
    }
}

// ---- reading ----

impl<'a> Decoder<'a> {
    /// Reads the configs of a graph whose nodes have already been read.
    pub(super) fn configs(&self, r: &mut Reader<'a>, graph: &Graph) -> Read<QuantTable> {
        let mut entries = Vec::new();
        let bound = r.count(CONFIG_SIZE, "the configs of a graph")?;
        for _ in 0..bound {
            entries.push(r.record("a config", |r| self.config(r, graph, bound))?);
        }
        QuantTable::from_entries(&entries).map_err(|(index, error)| BytesError::Config { index, error })
    }

    fn config(&self, r: &mut Reader<'a>, graph: &Graph, bound: usize) -> Read<Entry> {
        const WHAT: &str = "the place of a config";
        let at = r.at;
        let node = match r.u32(WHAT)? {
            ABSENT => NodeId::OUTSIDE,
            node if (node as usize) < graph.node_bound() => NodeId::new(node as usize),
            node => return Err(BytesError::malformed("the number of a node of the graph", at, node)),
        };
        let (tag, index) = (r.u8(WHAT)?, r.u32(WHAT)? as usize);
        let port = match tag {
            0 => Port::Operand(index),
            1 => Port::Result(index),
            2 => Port::Input(index),
            3 => Port::Output(index),
            other => return Err(BytesError::malformed(WHAT, at, other)),
        };
        let is_there = graph.value_at(node, port).is_some() && port.is_border() == (node == NodeId::OUTSIDE);
        if !is_there {
            let what = "an operand or a result of its node, or an input or an output of the graph";
            return Err(BytesError::malformed(what, at, index as u64));
        }
        Ok(Entry {
            node,
            port,
            scheme: self.scheme(r)?,
            float: r.flag("whether a config is float")?,
            standing: self.standing(r, bound)?,
            parameter: self.parameter(r)?,
        })
    }

    fn baked(&self, r: &mut Reader<'a>, origin: CodesOrigin) -> Read<Parameter> {
        let data = self.data(r)?;
        Ok(Parameter::Baked(ParameterCodes { data, origin }))
    }

    fn parameter(&self, r: &mut Reader<'a>) -> Read<Parameter> {
        let (at, what) = (r.at, "whether a config is baked");
        Ok(match r.u8(what)? {
            0 => Parameter::Real,
            1 => Parameter::Given(self.data(r)?),
            2 => self.baked(r, CodesOrigin::Rounded)?,
            3 => self.baked(r, CodesOrigin::Given)?,
            4 => self.baked(r, CodesOrigin::Optimised)?,
            other => return Err(BytesError::malformed(what, at, other)),
        })
    }

    fn scheme(&self, r: &mut Reader<'a>) -> Read<Scheme> {
        const WHAT: &str = "the scheme of a config";
        let at = r.at;
        if r.flag(WHAT)? {
            let (exponent, mantissa) = (r.u8(WHAT)?, r.u8(WHAT)?);
            let format = FloatFormat::new(exponent, mantissa);
            let format = format.ok_or(BytesError::malformed("a small float", at, exponent))?;
            let per = granularity(r)?;
            let rounding = self.named(r, "a rounding", Rounding::parse)?;
            return Ok(Scheme::floats(format, per, rounding));
        }
        let (symmetric, power_of_two, dynamic) = (r.flag(WHAT)?, r.flag(WHAT)?, r.flag(WHAT)?);
        let (elem, range) = (elem(r)?, [r.i64(WHAT)?, r.i64(WHAT)?]);
        let per = granularity(r)?;
        let policy = Policy::Linear {
            symmetric,
            power_of_two,
            dynamic,
            per,
        };
        let rounding = self.named(r, "a rounding", Rounding::parse)?;
        Ok(Scheme::integers(policy, elem, range, rounding)?)
    }

    fn standing(&self, r: &mut Reader<'a>, bound: usize) -> Read<Standing> {
        const STORED: [State; 4] = [State::Initial, State::Activated, State::Overlapped, State::Passive];
        let at = r.at;
        let stored = |word: &str| State::parse(word).filter(|state| STORED.contains(state));
        let state = self.named(r, "a state that is stored", stored)?;
        let other = |r: &mut Reader<'a>| self.index(r, bound, "the number of a config").map(ConfigId::new);
        Ok(match state {
            State::Activated => {
                let params = read_grid(r)?;
                let origin = self.named(r, "an origin", Origin::parse)?;
                Standing::Own(Grid::new(params, origin))
            }
            State::Overlapped => Standing::Overlapped(other(r)?),
            State::Passive => {
                const WHAT: &str = "a derivation";
                Standing::Passive(match r.u8(WHAT)? {
                    0 => Derivation::Same(other(r)?),
                    1 => Derivation::Product(other(r)?, other(r)?),
                    2 => {
                        let bits = r.u8(WHAT)?;
                        Derivation::Shifted(other(r)?, bits)
                    }
                    found => return Err(BytesError::malformed(WHAT, at, found)),
                })
            }
            State::Initial | State::PassiveInitial | State::Baked | State::PassiveBaked | State::Float => {
                Standing::Initial
            }
        })
    }

    /// Reads the number of a word in the table of strings, and returns what the word stands for.
    fn named<T>(&self, r: &mut Reader<'a>, what: &'static str, parse: impl Fn(&str) -> Option<T>) -> Read<T> {
        let at = r.at;
        let index = self.index(r, self.strings.len(), what)?;
        parse(self.strings[index]).ok_or_else(|| BytesError::malformed(what, at, index as u64))
    }
}

fn granularity(r: &mut Reader<'_>) -> Read<Granularity> {
    let (at, what) = (r.at, "a granularity");
    match r.u8(what)? {
        0 => Ok(Granularity::Tensor),
        1 => Ok(Granularity::Channel { axis: r.u8(what)? }),
        2 => Ok(Granularity::Block {
            axis: r.u8(what)?,
            size: block(r)?.get(),
        }),
        other => Err(BytesError::malformed(what, at, other)),
    }
}

/// The tag of a baked parameter.
fn tag_of(origin: CodesOrigin) -> u8 {
    match origin {
        CodesOrigin::Rounded => 2,
        CodesOrigin::Given => 3,
        CodesOrigin::Optimised => 4,
    }
}
