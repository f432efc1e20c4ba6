//! Parses the table of configs of a graph.

use super::cursor::{Parsed, Parser};
use super::error::{TextError, TextFault};
use super::lexer::Token;
use super::quant_print::{CODES, GIVEN_CODES, OPTIMISED_CODES, scheme_text};
use super::syntax::{Config, Name, NamedPort, Quant, Written};
use crate::attribute::{Attribute, Field};
use crate::elem::Elem;
use crate::graph::Graph;
use crate::ids::{ConfigId, DataId, NodeId, Symbol};
use crate::names::Names;
use crate::quant::{
    CodesOrigin, Derivation, Entry, FloatFormat, Granularity, Grid, Origin, Parameter, ParameterCodes, Policy, Port,
    QuantTable, Scheme, Standing, State,
};
use std::collections::BTreeMap;
use strait_requantize::Rounding;

impl Parser<'_> {
    /// Parses the block that follows the word `quant`.
    pub(super) fn quant(&mut self) -> Parsed<Quant> {
        let graph = self.global()?;
        self.mark('{')?;
        let mut configs = Vec::new();
        while !self.eat('}')? {
            configs.push(self.config()?);
        }
        Ok(Quant { graph, configs })
    }

    fn config(&mut self) -> Parsed<Config> {
        let place = self.place()?;
        self.mark(':')?;
        let scheme = self.scheme()?;
        let float = self.eat_word(State::Float.name())?;
        let (standing, baked) = self.standing()?;
        let origin = if self.key(GIVEN_CODES)? {
            Some(CodesOrigin::Given)
        } else if !baked {
            None
        } else if self.key(OPTIMISED_CODES)? {
            Some(CodesOrigin::Optimised)
        } else if self.key(CODES)? {
            Some(CodesOrigin::Rounded)
        } else {
            return self.unexpected("`codes=`, `optimised_codes=` or `given_codes=` of a baked config");
        };
        Ok(Config {
            place,
            scheme,
            float,
            standing,
            baked,
            codes: origin.map(|origin| Ok((self.global()?, origin))).transpose()?,
        })
    }

    fn place(&mut self) -> Parsed<NamedPort> {
        let at = self.at;
        let text = self.text("a node and its operand or result, `name operand 0`, or an `input` or `output`")?;
        let border = match text.as_str() {
            "input" => Some(Port::Input as fn(usize) -> Port),
            "output" => Some(Port::Output as fn(usize) -> Port),
            _ => None,
        };
        // `input` and `output` may also be names of nodes, so the next token decides.
        if let (Some(border), Token::Number(_)) = (border, &self.token) {
            let port = border(self.integer("the position of an input or an output")?);
            let node = Name { at, text, ordinal: 0 };
            return Ok(NamedPort { node, port });
        }
        let node = self.ordinal(at, text)?;
        let operand = self.eat_word("operand")?;
        if !operand && !self.eat_word("result")? {
            return self.unexpected("`operand` or `result`");
        }
        let index = self.integer("the position of an operand or a result")?;
        let port = if operand {
            Port::Operand(index)
        } else {
            Port::Result(index)
        };
        Ok(NamedPort { node, port })
    }

    fn scheme(&mut self) -> Parsed<Scheme> {
        let at = self.at;
        let word = self.word("a type of codes")?;
        if let Some(format) = FloatFormat::parse(&word) {
            let per = self.granularity()?;
            return Ok(Scheme::floats(format, per, self.rounding()?));
        }
        let Some(elem) = Elem::parse(&word) else {
            return Err(at.expected("a type of codes, as in `i8[-128,127]` or `e4m3`", format!("`{word}`")));
        };
        let range = self.ends()?;
        let symmetric = self.eat_word("symmetric")?;
        if !symmetric && !self.eat_word("asymmetric")? {
            return self.unexpected("`symmetric` or `asymmetric`");
        }
        let policy = Policy::Linear {
            symmetric,
            power_of_two: self.eat_word("power_of_two")?,
            dynamic: self.eat_word("dynamic")?,
            per: self.granularity()?,
        };
        let rounding = self.rounding()?;
        Scheme::integers(policy, elem, range, rounding).map_err(|error| at.fault(error))
    }

    fn granularity(&mut self) -> Parsed<Granularity> {
        if let Some(axis) = self.keyed("channel", |parser| parser.integer("an axis"))? {
            return Ok(Granularity::Channel { axis });
        }
        if !self.key("axis")? {
            return Ok(Granularity::Tensor);
        }
        let axis = self.integer("an axis")?;
        if !self.key("block")? {
            return self.unexpected("`block=` behind an axis");
        }
        let at = self.at;
        match self.integer("a size of blocks")? {
            0 => Err(at.expected("a size of blocks", "`0`")),
            size => Ok(Granularity::Block { axis, size }),
        }
    }

    fn rounding(&mut self) -> Parsed<Rounding> {
        self.one_of("a rounding", &Rounding::ALL, Rounding::name)
    }

    /// Parses where the grid of a config comes from. Also returns whether the config has codes to which its parameter
    /// was converted.
    fn standing(&mut self) -> Parsed<(Written, bool)> {
        // The word `float` has already been parsed by the caller. Every passive config is written as `passive`, whether
        // its grid exists yet or not.
        const STATES: [State; 6] = [
            State::Initial,
            State::Activated,
            State::Overlapped,
            State::Passive,
            State::Baked,
            State::PassiveBaked,
        ];
        let state = self.one_of("a state", &STATES, State::name)?;
        let baked = matches!(state, State::Baked | State::PassiveBaked);
        let written = match state {
            State::Activated | State::Baked => {
                let Some(params) = self.grid()? else {
                    return self.unexpected("the grid of the config, `scale=`");
                };
                let origin = self.one_of("an origin", &Origin::ALL, Origin::name)?;
                Written::Own(Grid::new(params, origin))
            }
            State::Overlapped => Written::Overlapped(self.place()?),
            State::Passive | State::PassiveBaked => {
                if self.eat_word("same")? {
                    Written::Same(self.place()?)
                } else if self.eat_word("product")? {
                    let one = self.place()?;
                    self.mark(',')?;
                    Written::Product([one, self.place()?])
                } else if self.eat_word("shifted")? {
                    let bits = self.integer("the bits of a shift")?;
                    self.mark(',')?;
                    Written::Shifted(self.place()?, bits)
                } else {
                    return self.unexpected("`same`, `product` or `shifted`");
                }
            }
            State::Initial | State::PassiveInitial | State::Float => Written::Initial,
        };
        Ok((written, baked))
    }
}

/// Reads a scheme from its text; the inverse of [`scheme_text`].
pub fn scheme_from_text(text: &str) -> Option<Scheme> {
    let mut parser = Parser::new(text).ok()?;
    let scheme = parser.scheme().ok()?;
    (parser.token == Token::End).then_some(scheme)
}

/// Makes a scheme an attribute of ops, written as its text.
impl Field for Scheme {
    fn to_attribute(&self) -> Attribute {
        Attribute::Text(scheme_text(self))
    }
    fn from_attribute(attribute: &Attribute) -> Option<Self> {
        attribute.text().and_then(scheme_from_text)
    }
    fn allowed() -> String {
        "a scheme is expected, as configs have them".into()
    }
}

/// Finds the nodes and ports of a graph by their names.
struct Places<'a> {
    graph: &'a Graph,
    nodes: BTreeMap<(Symbol, u32), NodeId>,
    configs: BTreeMap<(NodeId, Port), ConfigId>,
}

impl Places<'_> {
    fn unknown(place: &NamedPort, where_not: &'static str) -> TextError {
        let name = match place.port.is_border() {
            true => place.port.to_string(),
            false => format!("{} {}", place.node.spelled(), place.port),
        };
        place.node.at.fault(TextFault::Unknown(name, where_not))
    }

    fn find(&self, place: &NamedPort, names: &mut Names) -> Parsed<(NodeId, Port)> {
        let node = match place.port.is_border() {
            true => Some(NodeId::OUTSIDE),
            false => {
                let key = (names.intern(&place.node.text), place.node.ordinal);
                self.nodes.get(&key).copied()
            }
        };
        let there = node.filter(|&id| self.graph.value_at(id, place.port).is_some());
        let node = there.ok_or_else(|| Places::unknown(place, " in the graph"))?;
        Ok((node, place.port))
    }

    fn config(&self, place: &NamedPort, names: &mut Names) -> Parsed<ConfigId> {
        let found = self.configs.get(&self.find(place, names)?).copied();
        found.ok_or_else(|| Places::unknown(place, " as a config"))
    }
}

/// Makes the table of configs from the block `quant` of the text. `tensor` finds a constant by its name.
pub(super) fn build(
    quant: Quant,
    graph: &Graph,
    names: &mut Names,
    tensor: &dyn Fn(&Name) -> Parsed<DataId>,
) -> Parsed<QuantTable> {
    let mut places = Places {
        graph,
        nodes: BTreeMap::new(),
        configs: BTreeMap::new(),
    };
    let mut next: BTreeMap<Symbol, u32> = BTreeMap::new();
    for (id, node) in graph.nodes() {
        let ordinal = next.entry(node.name).or_default();
        places.nodes.insert((node.name, *ordinal), id);
        *ordinal += 1;
    }
    let mut found = Vec::with_capacity(quant.configs.len());
    for (position, config) in quant.configs.iter().enumerate() {
        let place = places.find(&config.place, names)?;
        places.configs.entry(place).or_insert(ConfigId::new(position));
        found.push(place);
    }
    let mut entries = Vec::with_capacity(found.len());
    let mut starts = Vec::with_capacity(found.len());
    for (config, (node, port)) in quant.configs.into_iter().zip(found) {
        starts.push(config.place.node.at);
        let mut other = |place: &NamedPort| places.config(place, names);
        let standing = match config.standing {
            Written::Initial => Standing::Initial,
            Written::Own(grid) => Standing::Own(grid),
            Written::Overlapped(root) => Standing::Overlapped(other(&root)?),
            Written::Same(of) => Standing::Passive(Derivation::Same(other(&of)?)),
            Written::Shifted(of, bits) => Standing::Passive(Derivation::Shifted(other(&of)?, bits)),
            Written::Product([one, another]) => Standing::Passive(Derivation::Product(other(&one)?, other(&another)?)),
        };
        let codes = config
            .codes
            .map(|(name, origin)| Ok((tensor(&name)?, origin)))
            .transpose()?;
        let parameter = match codes {
            None => Parameter::Real,
            Some((data, origin)) if config.baked => Parameter::Baked(ParameterCodes { data, origin }),
            Some((data, _)) => Parameter::Given(data),
        };
        entries.push(Entry {
            node,
            port,
            scheme: config.scheme,
            standing,
            parameter,
            float: config.float,
        });
    }
    QuantTable::from_entries(&entries).map_err(|(position, error)| starts[position].fault(error))
}
