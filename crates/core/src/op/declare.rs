//! [`Op`](super::Op) and [`Term`](super::Term), made from the list of ops.

/// Declares the closed set of ops, and functions of `Op` and `Term`. Each of these functions calls the function of the
/// same name on the op's struct. A family is an op, such as `unary`, whose members have terms of their own.
macro_rules! ops {
    (
        ($d:tt)
        plain { $($module:ident::$op:ident,)* }
        families { $($of:ident::$family:ident by $field:ident: $member_type:ident {
            $($member_term:ident = $member_word:literal $member:ident: $kind:ident,)*
        })* }
        last { $($last_module:ident::$last:ident,)* }
        functions of $unary_module:ident::$unary:ident by $function_field:ident: $function_type:ident
        $($(#[$doc:meta])* $function:ident = $word:literal: $real:expr, $wide:expr $(, $narrow:expr)?;)*
    ) => {
        ops! {
            ($d)
            all:
            $($module::$op,)* $($last_module::$last,)* $unary_module::$unary, $($of::$family),*
        }

        impl Op {
            /// The index of the operand that has the node's weights, if the node has weights: the table of a `gather`,
            /// and the second operand of all other ops.
            pub fn weights_operand(&self) -> usize {
                usize::from(!matches!(self, Op::Gather(_)))
            }

            /// Returns the term that tables, rules and reports use for this op.
            pub fn term(&self) -> Term {
                match self {
                    $(Op::$op(_) => Term::$op,)*
                    $(Op::$last(_) => Term::$last,)*
                    Op::$unary(op) => op.$function_field.term(),
                    $(Op::$family(op) => op.$field.term(),)*
                }
            }
        }

        impl $function_type {
            /// Returns the term of a `unary` op with this function.
            pub fn term(self) -> Term {
                match self { $($function_type::$function => Term::$function),* }
            }
        }

        $(impl $member_type {
            /// Returns the term of an op with this member of its family.
            pub fn term(self) -> Term {
                match self { $($member_type::$member => Term::$member_term),* }
            }
        })*

        /// The word that tables, rules and reports use for an op. It is the op's name, except for two families of ops:
        /// for a `unary`, it is the function (`sigmoid`), and for a `reduce`, the reduction (`reduce_mean`). A
        /// misspelled term does not compile:
        ///
        /// ```compile_fail,E0599
        /// let anchor = strait_core::Term::BatchNormalisation;
        /// ```
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum Term {
            $(#[doc = concat!("Of [`struct@", stringify!($op), "`].")] $op,)*
            $(#[doc = concat!("`", $word, "`.")] $function,)*
            $($(#[doc = concat!("`", $member_word, "`.")] $member_term,)*)*
            $(#[doc = concat!("Of [`struct@", stringify!($last), "`].")] $last,)*
        }

        impl Term {
            /// All terms, in the order of their declaration.
            pub const ALL: &'static [Term] = &[
                $(Term::$op,)* $(Term::$function,)* $($(Term::$member_term,)*)* $(Term::$last,)*
            ];

            /// Returns the term as tables and reports write it, for example `conv`.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Term::$op => <$op as Attributes>::NAME,)*
                    $(Term::$function => $word,)*
                    $($(Term::$member_term => $member_word,)*)*
                    $(Term::$last => <$last as Attributes>::NAME,)*
                }
            }

            /// Returns the kind of computation that the op with this term does.
            pub const fn kind(self) -> Kind {
                match self {
                    $(Term::$op => $op::KIND,)*
                    $(Term::$function => $function_type::$function.kind(),)*
                    $($(Term::$member_term => Kind::$kind,)*)*
                    $(Term::$last => $last::KIND,)*
                }
            }

            /// Returns the name of the op that this term belongs to ([`Op::name`]).
            pub const fn op_name(self) -> &'static str {
                match self {
                    $(Term::$function => <$unary as Attributes>::NAME,)*
                    $($(Term::$member_term => <$family as Attributes>::NAME,)*)*
                    _ => self.name(),
                }
            }
        }
    };
    (($d:tt) all: $($module:ident::$variant:ident),*) => {
        $(pub use $module::*;)*

        /// An operation with its attributes.
        #[derive(Clone, Debug, PartialEq)]
        pub enum Op { $(
            #[doc = concat!("See [`struct@", stringify!($variant), "`].")]
            $variant(Box<$variant>)
        ),* }

        /// Evaluates an expression on the struct inside of an `Op`: `for_op!(op, name => name.method())`. With this
        /// macro, a crate can call a method of its own trait on any op. The crate only compiles if every op implements
        /// the trait.
        #[macro_export]
        macro_rules! for_op {
            ($d of:expr, $d op:ident => $d value:expr) => {
                match $d of { $($crate::Op::$variant($d op) => $d value),* }
            };
        }

        impl Op {
            /// Name, version and attribute keys of every op, in declaration order.
            pub const ALL: &'static [(&'static str, u16, &'static [&'static str])] =
                &[$((<$variant as Attributes>::NAME, <$variant as Attributes>::VERSION, <$variant as Attributes>::KEYS)),*];

            /// Returns the name of the op in the text form, IR bytes and tables.
            pub fn name(&self) -> &'static str {
                match self { $(Op::$variant(_) => <$variant as Attributes>::NAME),* }
            }

            /// Returns the words that the attribute `key` of the op called `name` can have, if the attribute's type is
            /// a closed set of words. Otherwise returns an empty list.
            pub fn words(name: &str, key: &str) -> Vec<&'static str> {
                $(if name == <$variant as Attributes>::NAME {
                    return <$variant as Attributes>::words(key);
                })*
                Vec::new()
            }

            /// True if the attribute `key` of the op called `name` is a list.
            pub fn is_list(name: &str, key: &str) -> bool {
                $(if name == <$variant as Attributes>::NAME {
                    return <$variant as Attributes>::is_list(key);
                })*
                false
            }

            /// Returns the version of the op's attributes.
            pub fn version(&self) -> u16 {
                match self { $(Op::$variant(_) => <$variant as Attributes>::VERSION),* }
            }

            /// Calls `put` for every attribute, in order.
            pub fn attributes(&self, put: &mut dyn FnMut(&'static str, Attribute)) {
                match self { $(Op::$variant(op) => op.write(put)),* }
            }

            /// Makes the op called `name` from its attributes. Returns `None` if there is no such op.
            pub fn read(
                name: &str,
                get: &mut dyn FnMut(&'static str) -> Option<Attribute>,
            ) -> Option<Result<Op, AttributeError>> {
                $(if name == <$variant as Attributes>::NAME {
                    return Some(<$variant as Attributes>::read(get).map(|op| Op::$variant(Box::new(op))));
                })*
                None
            }

            /// Returns the smallest and the largest number of operands.
            pub fn arity(&self) -> (usize, usize) {
                match self { $(Op::$variant(_) => <$variant as Attributes>::ARITY),* }
            }

            /// See [`OpFacts::channel_axis`].
            pub fn channel_axis(&self, rank: usize) -> Option<usize> {
                match self { $(Op::$variant(op) => op.channel_axis(rank)),* }
            }

            /// See [`OpFacts::channel_operand`].
            pub fn channel_operand(&self) -> Option<usize> {
                match self { $(Op::$variant(op) => op.channel_operand()),* }
            }

            /// See [`OpFacts::weight_zero`].
            pub fn weight_zero(&self) -> Option<&WeightZero> {
                match self { $(Op::$variant(op) => op.weight_zero()),* }
            }

            /// See [`OpFacts::zeros`].
            pub fn zeros(&self) -> SmallVec<[Zero; 2]> {
                match self { $(Op::$variant(op) => op.zeros()),* }
            }

            /// See [`OpFacts::real`].
            pub fn real(&self) -> Option<Real> {
                match self { $(Op::$variant(op) => op.real()),* }
            }

            /// Infers the types of the results; see [`OpFacts::infer`]. This function first checks the number of
            /// operands, and that no required operand is absent. So each op's own `infer` may index its required
            /// operands.
            pub fn infer(&self, operands: &Operands<'_>) -> Result<Results, Reason> {
                let (least, most) = self.arity();
                if operands.len() < least || operands.len() > most {
                    return Err(Reason::new(ReasonCode::Arity, format!(
                        "{} takes {least} to {most} operands, but has {}", self.name(), operands.len())));
                }
                if let Some(absent) = operands.iter().take(least).position(Option::is_none) {
                    return Err(Reason::new(ReasonCode::Arity, format!("{}: operand {absent} is absent", self.name())));
                }
                let results = match self { $(Op::$variant(op) => op.infer(operands)),* }?;
                support::within_limits(&results)?;
                Ok(results)
            }
        }

        $(impl From<$variant> for Op { fn from(op: $variant) -> Op { Op::$variant(Box::new(op)) } })*
    };
}
pub(super) use ops;
