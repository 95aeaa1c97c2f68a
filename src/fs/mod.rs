//! A filesystem without a kernel and without a format.
//!
//! | module | what |
//! |---|---|
//! | `volume` | what can be mounted: one state of a database or book |
//! | `editor`, `source` | what saves edits of it; what it is opened from |
//! | `tree` | what requests are routed to |
//! | `mount` | one thing that is mounted, opened anew when it changed; a directory of them |
//! | `content` | texts and lengths: made once, kept, read ahead |
//! | `kernel` | what the kernel was told, to call it back |
//! | `status` | `.cbfs/` |
//! | `background` | what is to be done beside the requests |
//!
//! Terms: a **node** is a file, directory or link with its inode number
//! ([`volume::Ino`]); a **rendered** file is one whose text is generated when
//! it is read; a **mark** tells such a text from others; a **cookie** is a
//! position in a listing; a **snapshot** is one state of a base, with
//! everything computed from it.

pub(crate) mod background;
pub(crate) mod content;
pub(crate) mod editor;
pub(crate) mod error;
pub(crate) mod kernel;
pub(crate) mod mount;
pub(crate) mod source;
pub(crate) mod status;
pub(crate) mod tree;
mod types;
pub(crate) mod volume;

pub(crate) use background::Background;
pub(crate) use content::text::Text;
pub(crate) use content::texts::TextCache;
pub(crate) use editor::{ChangedTexts, Editor, Refusal, Role, Saved};
pub use error::Error;
pub(crate) use source::Source;
pub use types::{Attr, Bytes, Changes, ListingWithAttrs};
pub(crate) use volume::{Ino, NodeKind, Volume};
