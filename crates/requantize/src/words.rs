//! A macro for enums whose members have names.

/// Declares an enum whose members have names in text, JSON and tables. All functions that read or write a name are
/// generated from this one list of members.
macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($(#[$of:meta])* $member:ident = $word:literal,)* }) => {
        $(#[$doc])*
        #[derive(
            Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize,
        )]
        pub enum $name { $($(#[$of])* #[serde(rename = $word)] $member,)* }

        impl $name {
            /// Every member, in the order of the declaration.
            pub const ALL: [$name; [$($word),*].len()] = [$($name::$member),*];

            /// The name in text, JSON and tables.
            pub const fn name(self) -> &'static str {
                match self { $($name::$member => $word,)* }
            }

            /// The member with this name.
            pub fn parse(name: &str) -> Option<$name> {
                $name::ALL.into_iter().find(|member| member.name() == name)
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.name())
            }
        }
    };
}
pub(crate) use words;
