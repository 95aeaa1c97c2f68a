//! PGN as the world has it, on its way into a base.
//!
//! A file may be packed, and a zip archive holds many: [`for_each_text`]
//! gives each text in it, unpacked as it is read. A [`Session`] appends the
//! games of texts to a base, and tells what is bad in them and what it
//! understood in another way than it is written.

mod known;
mod notes;
mod packed;
mod page;
mod session;
mod utf16;

pub use known::Known;
pub(crate) use notes::Notes;
pub use packed::{GamesInput, UnpackedText, for_each_text};
pub use page::page_of_label;
pub use session::{
    BadGame, BadText, ImportOptions, ImportStop, Session, Understood, Watch, cut_names,
};
