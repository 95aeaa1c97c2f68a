//! What can be mounted: the seam between the filesystem and what it shows.

use std::fmt::Debug;
use std::time::SystemTime;

use crate::fs::{Editor, Error};

/// Number of a file or directory: `base_number << 40 | kind << 32 | index`.
///
/// A volume computes its numbers as `kind << 32 | index`, so that they need
/// no table and are the same at the next mount; where several volumes are
/// mounted as one, each has a base number of its own. All stay below 2^53: programs
/// that hold them in a double, and NFS and Samba, keep them whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Ino(pub u64);

impl Ino {
    /// The root directory of every volume.
    pub const ROOT: Ino = Ino(1);

    /// The last base number.
    pub const LAST_BASE_NUMBER: u64 = (1 << 13) - 1;

    /// Returns the number with this index within its kind. Kinds count from 1;
    /// kind 0 holds the numbers of nodes that exist once.
    pub const fn new(kind: u8, index: u32) -> Ino {
        Ino((kind as u64) << 32 | index as u64)
    }

    /// Which kind of thing it is; 0 for what is there once.
    pub const fn kind(self) -> u8 {
        self.0.to_le_bytes()[4]
    }

    /// Its number among those of its kind.
    pub const fn index(self) -> u32 {
        let [a, b, c, d, ..] = self.0.to_le_bytes();
        u32::from_le_bytes([a, b, c, d])
    }

    /// Which volume of the mount it belongs to.
    pub const fn base_number(self) -> u64 {
        self.0 >> 40
    }

    /// Returns the number within its volume, without that of the base.
    pub(crate) const fn within_base(self) -> Ino {
        Ino(self.0 & ((1 << 40) - 1))
    }

    /// As the mount knows it, if it belongs to the base of this number.
    pub(crate) const fn in_base(self, base_number: u64) -> Ino {
        Ino(self.0 | base_number << 40)
    }
}

/// How many bytes there are in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Size {
    /// This many; they are read piece by piece with [`Volume::read`].
    Known(u64),
    /// As many as [`Volume::size`] says, which takes a while; read piece by
    /// piece too. A listing leaves it at that.
    Computed,
    /// As many as [`Volume::render`] gives. Such files are small (one game)
    /// and many; their lengths are remembered, their texts while there is
    /// room.
    Rendered,
    /// As many as all rendered files that this directory lists; the content
    /// is their texts, one after the other.
    Concatenation(Ino),
}

/// What a number stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeKind {
    /// A directory.
    Directory,
    /// A file, and how long it is.
    File(Size),
    /// A symbolic link; its target comes from [`Volume::target`].
    Symlink,
}

/// A file or directory, as a volume knows it without effort.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Node {
    /// Its number.
    pub ino: Ino,
    /// What it is.
    pub kind: NodeKind,
    /// How many names it has.
    pub links: u32,
    /// When its content last changed.
    pub modified: SystemTime,
}

/// One name in a directory.
#[derive(Clone, Copy, Debug)]
pub struct DirEntry<'a> {
    /// The name.
    pub name: &'a str,
    /// What it names.
    pub node: Node,
    /// Place in the listing: asking for what comes after it continues there.
    pub cookie: u64,
}

/// Receives the entries of a directory one by one. Returns `false` if there is
/// no room for this entry; the listing then ends.
pub type Listing<'a> = dyn FnMut(&DirEntry<'_>) -> bool + 'a;

/// Takes number and cookie of files one by one, as a [`Listing`] does.
pub type NumberListing<'a> = dyn FnMut(Ino, u64) -> bool + 'a;

/// Whether a rendered text is all there is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Completeness {
    /// The whole content.
    Whole,
    /// Only what could be read. Such a file is never writable.
    Partial,
}

/// How large the whole is, for `df`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct VolumeSize {
    /// Bytes on disk of what is mounted.
    pub bytes: u64,
    /// Number of games in a database, or of positions in a book.
    pub files: u64,
}

/// What a volume says of itself, for `.cbfs/status`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// What it is, as `database`.
    pub kind: &'static str,
    /// What there is in it, and how many of that; `None` if they were not
    /// counted yet.
    pub counts: Vec<(&'static str, Option<u64>)>,
    /// Versions of its files, by their extensions.
    pub versions: Vec<(&'static str, u32)>,
    /// Code page of what is not UTF-8, and whether it was given.
    pub code_page: Option<(&'static str, bool)>,
    /// Bytes of its files on disk.
    pub bytes: u64,
    /// Number of files of the main rendered kind, see [`Volume::rendered`]; `None` if
    /// they were not counted yet.
    pub rendered: Option<u64>,
    /// Why it cannot be changed, if it cannot.
    pub read_only_because: Option<String>,
    /// What to say of the format, where it is young.
    pub advice: Option<&'static str>,
    /// What there is of an index of positions, if it may have one.
    pub positions: Option<String>,
    /// A line for each query that was refused lately, and why.
    pub refused_queries: String,
}

/// Something wrong with what is shown, in the order in which they are told.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Fault {
    /// Number of the game or text it was met in; 0 for the whole.
    pub record: u32,
    /// Which file, as its extension.
    pub file: &'static str,
    /// Where in that file.
    pub offset: u64,
    /// File, place and fact, for people.
    pub line: String,
}

/// Renders one file after the other.
pub(crate) type Renderer<'v> =
    Box<dyn FnMut(Ino, &mut Vec<u8>) -> Result<Completeness, Error> + 'v>;

/// Something that can be shown as directories and files: a database, a book.
///
/// All methods take `&self` and are called by many threads at once. The
/// methods a volume need not have belong to things it does not show.
pub trait Volume: Debug + Send + Sync {
    /// What `name` in `directory` stands for.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`], [`Error::NotADirectory`], or that of reading.
    fn lookup(&self, directory: Ino, name: &[u8]) -> Result<Node, Error>;

    /// Returns the node with this number.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`], or that of reading.
    fn node(&self, ino: Ino) -> Result<Node, Error>;

    /// The directory that this one lies in.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`] and [`Error::NotADirectory`].
    fn parent(&self, directory: Ino) -> Result<Ino, Error>;

    /// Lists `directory` from the first entry whose cookie is greater than
    /// `after`, until `listing` is full. Cookies rise and are at least 3: 1
    /// and 2 are those of `.` and `..`, which are not the volume's to list.
    /// An entry keeps its cookie while others come and go.
    ///
    /// # Errors
    ///
    /// [`Error::NotADirectory`], or that of reading.
    fn list(&self, directory: Ino, after: u64, listing: &mut Listing<'_>) -> Result<(), Error>;

    /// The files of [`Size::Rendered`] that `directory` lists, with their
    /// cookies, from the first one whose cookie is greater than `after`, until
    /// `page` is full. Names cost time, and here nobody wants them.
    ///
    /// # Errors
    ///
    /// As [`list`](Volume::list).
    fn rendered_in(
        &self,
        directory: Ino,
        after: u64,
        page: &mut NumberListing<'_>,
    ) -> Result<(), Error> {
        rendered_among_listed(self, directory, after, page)
    }

    /// Appends the whole content of a file of [`Size::Rendered`] to `text`.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`], or that of reading.
    fn render(&self, ino: Ino, text: &mut Vec<u8>) -> Result<Completeness, Error>;

    /// As [`render`](Volume::render), for many files in the order of their
    /// numbers: it may keep what it read, so it must not be kept long.
    fn renderer(&self) -> Renderer<'_> {
        Box::new(|ino, text| self.render(ino, text))
    }

    /// How many bytes there are in a file of [`Size::Computed`].
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`], or that of reading.
    fn size(&self, _: Ino) -> Result<u64, Error> {
        Err(Error::NotFound)
    }

    /// As [`size`](Volume::size), if that can be told at once.
    fn known_size(&self, _: Ino) -> Option<u64> {
        None
    }

    /// Appends up to `length` bytes from `offset` on of a file of
    /// [`Size::Known`] or [`Size::Computed`] to `bytes`; fewer at its end only.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`], or that of reading.
    fn read(&self, ino: Ino, offset: u64, length: u32, bytes: &mut Vec<u8>) -> Result<(), Error> {
        let _ = (ino, offset, length, bytes);
        Err(Error::NotFound)
    }

    /// The extended attribute `name` of a file, if it has one.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`], or that of reading.
    fn attribute(&self, ino: Ino, name: &[u8]) -> Result<Option<Vec<u8>>, Error> {
        let _ = (ino, name);
        Ok(None)
    }

    /// Names the extended attributes that a file has.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`], or that of reading.
    fn list_attributes(&self, ino: Ino, listing: &mut dyn FnMut(&str)) -> Result<(), Error> {
        let _ = (ino, listing);
        Ok(())
    }

    /// Where a symbolic link points.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`], or that of reading.
    fn target(&self, _: Ino) -> Result<Vec<u8>, Error> {
        Err(Error::NotFound)
    }

    /// Returns the file or directory that must be computed before `name` can be
    /// looked up in this directory or, without a name, before it can be listed
    /// or the length and text of this file be read. Returns `None` if the
    /// request is fast. The call itself must be fast. Only a
    /// [constant](Volume::is_constant) volume has slow requests.
    fn long_work(&self, ino: Ino, name: Option<&[u8]>) -> Option<Ino> {
        let _ = (ino, name);
        None
    }

    /// Whether a file of [`Size::Known`] is one of the disk, shown as it is:
    /// then it is another content exactly when its length or time is another.
    /// All others count as changed whenever the volume is opened anew.
    fn is_as_stored(&self, _: Ino) -> bool {
        false
    }

    /// Looks at what is asked for first, so that it is in memory then. Takes a
    /// moment.
    fn look_ahead(&self) {}

    /// Whether no file gets another content while the volume is open. Then
    /// contents are told from others without their lengths.
    fn is_constant(&self) -> bool {
        false
    }

    /// Returns whether the number is valid only while the volume remembers it.
    /// The volume remembers it while the kernel has it;
    /// [`forget`](Volume::forget) reports the end.
    fn is_held(&self, _: Ino) -> bool {
        false
    }

    /// Reports that the kernel no longer has this number.
    fn forget(&self, _: Ino) {}

    /// How large the whole is.
    fn statistics(&self) -> VolumeSize;

    /// Returns the first and the last number of the main kind of rendered files
    /// ([`Size::Rendered`]). Some numbers between may be unused. These files
    /// are rendered ahead of requests; there may be others.
    fn rendered(&self) -> (Ino, Ino);

    /// Returns facts about the volume for `.cbfs/status`. Must be fast however
    /// large the volume is.
    fn facts(&self) -> Facts {
        Facts::default()
    }

    /// Passes the defects that were found at opening to `note`.
    fn faults(&self, _: &mut dyn FnMut(Fault)) {}

    /// Passes the defects of a rendered file to `note`, if it is incomplete or
    /// cannot be rendered.
    fn faults_of(&self, _: Ino, _: &mut dyn FnMut(Fault)) {}

    /// Reads everything that rendering the files does not read, and passes
    /// defects to `note`. Slow.
    ///
    /// # Errors
    ///
    /// That of reading; what was found before has been told.
    fn examine(&self, _: &mut dyn FnMut(Fault)) -> Result<(), Error> {
        Ok(())
    }

    /// Finds out ahead of edits what one would read the whole volume for, as long as
    /// `goes_on` says so. Slow.
    ///
    /// # Errors
    ///
    /// That of reading; an edit that needs the same tells it.
    fn prepare_edits(&self, _: &mut dyn FnMut() -> bool) -> Result<(), Error> {
        Ok(())
    }

    /// Returns a line that identifies the content of all rendered texts: what
    /// is shown, its state, and the options. The lengths of texts are stored
    /// under it for the next mount. Returns `None` if they are not to be
    /// stored.
    fn fingerprint(&self) -> Option<String> {
        None
    }

    /// Returns whether a later save has replaced this state. Reads then return
    /// [`Error::Stale`].
    fn is_superseded(&self) -> bool {
        false
    }

    /// What saves edits of it, if it can be edited.
    fn editor(&self) -> Option<&dyn Editor> {
        None
    }
}

/// [`Volume::rendered_in`] by [`Volume::list`].
pub(crate) fn rendered_among_listed(
    volume: &(impl Volume + ?Sized),
    directory: Ino,
    after: u64,
    page: &mut NumberListing<'_>,
) -> Result<(), Error> {
    volume.list(directory, after, &mut |entry| {
        entry.node.kind != NodeKind::File(Size::Rendered) || page(entry.node.ino, entry.cookie)
    })
}
