//! Parses tokens to a syntax tree. The grammar has no recursion, so the functions do not need it either.

use super::cursor::{Parsed, Parser};
use super::error::Position;
use super::lexer::Token;
use super::number::Number;
use super::syntax::{Content, Data, Dim, File, Graph, MAX_TEXT, Name, Node, Operand, VERSION, Value};
use crate::elem::Elem;
use crate::op::Op;
use crate::quant::QuantParams;
use crate::shape::MAX_RANK;
use crate::stage::Stage;
use std::num::NonZeroU32;
use strait_requantize::Per;

/// What may follow the `=` of a `data` line, for error messages.
const CONTENTS: &str = "`inline`, `splat`, `random`, `blob` or `same`";

/// Reads a whole text.
pub(super) fn file(text: &str) -> Parsed<File> {
    let start = Position { line: 1, column: 1 };
    if text.len() > MAX_TEXT {
        return Err(start.past("the text", MAX_TEXT as u64));
    }
    Parser::new(text)?.file()
}

impl Parser<'_> {
    // ---- the module ----

    fn file(mut self) -> Parsed<File> {
        if !self.eat_word("strait")? {
            return self.unexpected("`strait 1` and a stage");
        }
        let is_version = matches!(&self.token, Token::Number(Number::Decimal(text)) if text == VERSION);
        if !is_version {
            return self.unexpected(format!("version `{VERSION}`, the only one there is"));
        }
        self.advance()?;
        let stage = self.stage()?;
        let main = self.keyed("main", Self::global)?;
        let (mut graphs, mut quants, mut data) = (Vec::new(), Vec::new(), Vec::new());
        loop {
            if self.eat_word("graph")? {
                graphs.push(self.graph()?);
            } else if self.eat_word("quant")? {
                quants.push(self.quant()?);
            } else if self.eat_word("data")? {
                data.push(self.data()?);
            } else if self.token == Token::End {
                let end = self.at;
                return Ok(File {
                    stage,
                    main,
                    graphs,
                    quants,
                    data,
                    end,
                });
            } else {
                return self.unexpected("`graph`, `quant`, `data` or the end of the text");
            }
        }
    }

    fn stage(&mut self) -> Parsed<Stage> {
        self.one_of("a stage", &Stage::ALL, Stage::name)
    }

    pub(super) fn ordinal(&mut self, at: Position, text: String) -> Parsed<Name> {
        let ordinal = if self.eat('~')? {
            self.integer("a number behind `~`")?
        } else {
            0
        };
        Ok(Name { at, text, ordinal })
    }

    pub(super) fn global(&mut self) -> Parsed<Name> {
        let (at, Token::Global(text)) = (self.at, &self.token) else {
            return self.unexpected("a name with `@`");
        };
        let text = text.clone();
        self.advance()?;
        self.ordinal(at, text)
    }

    fn graph(&mut self) -> Parsed<Graph> {
        let name = self.global()?;
        self.mark('(')?;
        let inputs = self.items(')', Self::value)?;
        let stage = self.keyed("stage", Self::stage)?;
        self.mark('{')?;
        let mut nodes = Vec::new();
        while !self.eat_word("return")? {
            nodes.push(self.node()?);
        }
        let mut outputs = Vec::new();
        while !self.eat('}')? {
            if !outputs.is_empty() {
                self.mark(',')?;
            }
            match self.operand()? {
                Some(operand) => outputs.push(operand),
                None => return self.unexpected("a value or a constant in front of this"),
            }
        }
        Ok(Graph {
            name,
            stage,
            inputs,
            nodes,
            outputs,
        })
    }

    fn operand(&mut self) -> Parsed<Option<Operand>> {
        let at = self.at;
        match &self.token {
            Token::Word(word) if word == "_" => {
                self.advance()?;
                Ok(None)
            }
            Token::Value(text) => {
                let text = text.clone();
                self.advance()?;
                Ok(Some(Operand::Value(self.ordinal(at, text)?)))
            }
            Token::Global(_) => Ok(Some(Operand::Constant(self.global()?))),
            _ => self.unexpected("an operand: `%value`, `@constant` or `_`"),
        }
    }

    fn value(&mut self) -> Parsed<Value> {
        let (at, Token::Value(text)) = (self.at, &self.token) else {
            return self.unexpected("a value, `%name: type`");
        };
        let text = text.clone();
        self.advance()?;
        let name = self.ordinal(at, text)?;
        self.typed(name)
    }

    /// Parses `: type grid` after a name.
    fn typed(&mut self, name: Name) -> Parsed<Value> {
        self.mark(':')?;
        let elem = self.elem()?;
        let at = self.at;
        self.mark('[')?;
        let dims = self.items(']', |parser| match parser.token {
            Token::Number(_) => parser.integer("an extent").map(Dim::Fixed),
            _ => parser.text("an extent or the name of one").map(Dim::Named),
        })?;
        if dims.len() > MAX_RANK {
            return Err(at.past("the rank", MAX_RANK as u64));
        }
        let quant = self.grid()?;
        Ok(Value {
            name,
            elem,
            dims,
            quant,
        })
    }

    fn elem(&mut self) -> Parsed<Elem> {
        self.one_of("an element type", &Elem::ALL, Elem::name)
    }

    pub(super) fn grid(&mut self) -> Parsed<Option<QuantParams>> {
        if !self.key("scale")? {
            return Ok(None);
        }
        let scale = self.per("a scale, or a list of them", Number::f32)?;
        if !self.key("zero")? {
            return self.unexpected("`zero=` behind a scale");
        }
        let zero_point = self.per("a zero point, or a list of them", Number::integer::<i32>)?;
        let axis = self.keyed("axis", |parser| parser.integer("an axis"))?;
        let block = self.keyed("block", |parser| {
            let at = parser.at;
            let size = NonZeroU32::new(parser.integer("a size of blocks")?);
            size.ok_or_else(|| at.expected("a size of blocks", "0"))
        })?;
        let codes = self.keyed("codes", Self::elem)?;
        Ok(Some(QuantParams {
            scale,
            zero_point,
            axis,
            block,
            codes,
        }))
    }

    fn per<T>(&mut self, expected: &str, read: impl Fn(&Number) -> Option<T>) -> Parsed<Per<T>> {
        let one = |parser: &mut Self| {
            let at = parser.at;
            let number = parser.number(expected)?;
            read(&number).ok_or_else(|| at.expected(expected, Token::Number(number).describe()))
        };
        if self.eat('[')? {
            Ok(Per::Channel(self.items(']', one)?.into()))
        } else {
            one(self).map(Per::Tensor)
        }
    }

    // ---- nodes ----

    fn node(&mut self) -> Parsed<Node> {
        let at = self.at;
        let mut results = Vec::new();
        if self.eat('(')? {
            self.mark(')')?;
        } else {
            if !matches!(self.token, Token::Value(_)) {
                return self.unexpected("a node, `%result: type = op(…)`, or `return`");
            }
            results.push(self.value()?);
            while self.eat(',')? {
                results.push(self.value()?);
            }
        }
        self.mark('=')?;
        let op_at = self.at;
        let op = self.word("an op")?;
        let mut graphs = Vec::new();
        for position in 0..Op::graph_count(&op) {
            if position > 0 {
                self.mark(',')?;
            }
            if !matches!(self.token, Token::Global(_)) {
                return self.unexpected("a graph of the module, `@name`");
            }
            graphs.push(self.global()?);
        }
        self.mark('(')?;
        let operands = self.items(')', Self::operand)?;
        let attributes = if self.eat('{')? {
            self.items('}', Self::attribute)?
        } else {
            Vec::new()
        };
        Ok(Node {
            at: if results.is_empty() { at } else { op_at },
            results,
            op,
            graphs,
            operands,
            attributes,
            clauses: self.clauses()?,
        })
    }

    // ---- constants ----

    fn data(&mut self) -> Parsed<Data> {
        let name = self.global()?;
        let value = self.typed(name)?;
        self.mark('=')?;
        let elem = value.elem;
        let at = self.at;
        let content = match self.word(CONTENTS)?.as_str() {
            "inline" => {
                self.mark('[')?;
                let mut bytes = Vec::new();
                self.items(']', |parser| parser.element(elem, &mut bytes))?;
                Content::Inline(bytes)
            }
            "splat" => {
                let mut bytes = Vec::new();
                self.element(elem, &mut bytes)?;
                Content::Splat(bytes)
            }
            "random" => Content::Random(self.integer("a seed of 64 bits")?),
            "blob" => {
                let index = self.integer("the position of a blob")?;
                Content::Blob(index, self.keyed("blake3", Self::digest)?)
            }
            "same" => Content::Same(self.global()?),
            other => return Err(at.expected(CONTENTS, format!("`{other}`"))),
        };
        Ok(Data { value, content })
    }

    fn element(&mut self, elem: Elem, bytes: &mut Vec<u8>) -> Parsed<()> {
        let at = self.at;
        let number = self.number("an element")?;
        number
            .push_element(elem, bytes)
            .ok_or_else(|| at.expected(format!("an element of {elem}"), Token::Number(number).describe()))
    }

    fn digest(&mut self) -> Parsed<String> {
        self.take("a digest, in quotes", |token| match token {
            Token::Text(digest) => Some(digest.clone()),
            _ => None,
        })
    }
}
