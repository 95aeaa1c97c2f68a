//! PGN as the world has it, on its way into a base.
//!
//! A file may be packed, and a zip archive holds many: [`for_each_text`]
//! gives each text in it, unpacked as it is read.

mod packed;
mod utf16;

pub use packed::{Input, Text, for_each_text};
