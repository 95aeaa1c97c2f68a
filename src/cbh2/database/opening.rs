//! Opening a base: locates its files and reads their headers.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::UNIX_EPOCH;

use super::{Database, FileKind, defect};
use crate::bytes::Malformed;
use crate::cbh::{CachedLists, CodePage, Error, Options};
use crate::cbh2::entities::Entities;
use crate::cbh2::record::{Cbh2Header, RECORD_BYTES};
use crate::cbh2::{Family, annotations, frame};
use crate::game::Defect;
use crate::storage::{Directory, DiskDirectory, MemoryFile, ReadBuffer, Storage};

/// Maximum number of records; more are damage. The largest known base has 12
/// million.
const MOST_RECORDS: u32 = 1 << 26;

/// Number of bytes of the annotations that are used to detect the code page.
const TEXT_SAMPLE_BYTES: usize = 1 << 18;

/// Number of players and tournaments that are used to detect it.
const NAME_SAMPLE: u32 = 512;

impl Database {
    /// Opens the base of the file `path` for reading.
    ///
    /// # Errors
    ///
    /// See [`Family::locate`]; [`Error::Malformed`] if `.2cbh` has another
    /// format; [`Error::Io`] from the system. Other damage is listed by
    /// [`defects`](Database::defects).
    pub fn open(path: &Path, options: &Options) -> Result<Database, Error> {
        Database::open_family(Family::locate(path)?, options)
    }

    /// As [`open`](Database::open), for a base whose files are located already,
    /// such as those [inside](Family::inside) an archive.
    ///
    /// # Errors
    ///
    /// As [`open`](Database::open).
    pub fn open_family(family: Family, options: &Options) -> Result<Database, Error> {
        let files = OpenFiles::of(family)?;
        let mut defects = Vec::new();
        let headers = files.required(FileKind::Headers)?;
        let header = files.header(headers.as_ref())?;
        let last_id = last_id(header, headers.as_ref(), &mut defects)
            .map_err(|source| files.error(FileKind::Headers, source))?;
        let moves = files.required(FileKind::Moves)?;
        files.check_head(FileKind::Moves, moves.as_ref(), &mut defects)?;
        let annotations = files.optional(FileKind::Annotations)?;
        match &annotations {
            Some(file) => files.check_head(FileKind::Annotations, file.as_ref(), &mut defects)?,
            None if last_id > 0 => defects.push(Defect {
                file: FileKind::Annotations.extension(),
                offset: 0,
                what: "not found, so that no game has its remarks".to_owned(),
            }),
            None => {}
        }
        let entities = files.entities(&mut defects)?;
        let page = match options.code_page {
            Some(page) => page,
            None => detect_page(&entities, annotations.as_deref())
                .map_err(|source| files.error(FileKind::Entities, source))?,
        };
        let stat = files.family.length_and_time(FileKind::Headers);
        Ok(Database {
            page,
            is_page_given: options.code_page.is_some(),
            modified: stat.map_or(UNIX_EPOCH, |(_, modified)| modified),
            header,
            last_id,
            headers,
            moves,
            annotations,
            entities,
            defects,
            lists: CachedLists::default(),
            family: files.family,
        })
    }

    /// Whether the file of remarks is missing, to which each record refers, also that
    /// of a game without any.
    pub fn lacks_remarks(&self) -> bool {
        self.annotations.is_none() && self.last_id > 0
    }

    /// Adds these defects to its own.
    #[must_use]
    pub fn with_defects(mut self, defects: impl IntoIterator<Item = Defect>) -> Database {
        self.defects.extend(defects);
        self
    }
}

/// Opens the files of a base, without following links.
struct OpenFiles {
    family: Family,
    directory: Arc<dyn Directory>,
}

impl OpenFiles {
    fn of(family: Family) -> Result<OpenFiles, Error> {
        if let Some(tree) = family.tree() {
            let directory = Arc::clone(tree) as Arc<dyn Directory>;
            return Ok(OpenFiles { family, directory });
        }
        let headers = family.default_path(FileKind::Headers);
        let model = headers.file_name().unwrap_or_default();
        let directory = DiskDirectory::open(family.directory(), model);
        let directory =
            directory.map_err(|source| Error::of_file(family.directory().to_path_buf(), source))?;
        let directory = Arc::new(directory);
        Ok(OpenFiles { family, directory })
    }

    fn error(&self, kind: FileKind, source: io::Error) -> Error {
        Error::of_file(self.family.default_path(kind), source)
    }

    fn required(&self, kind: FileKind) -> Result<Box<dyn Storage>, Error> {
        let path = self.family.default_path(kind);
        let name = path.file_name().unwrap_or_default();
        let file = self.directory.open(name);
        Ok(file.map_err(|source| self.error(kind, source))?)
    }

    fn optional(&self, kind: FileKind) -> Result<Option<Box<dyn Storage>>, Error> {
        let is_there = self.family.path(kind).is_some();
        is_there.then(|| self.required(kind)).transpose()
    }

    fn header(&self, headers: &dyn Storage) -> Result<Cbh2Header, Error> {
        let mut buffer = ReadBuffer::default();
        let bytes = headers
            .read_up_to(0, RECORD_BYTES, &mut buffer)
            .map_err(|source| self.error(FileKind::Headers, source))?;
        Cbh2Header::decode(bytes).map_err(|fault| Error::Malformed {
            file: self.family.default_path(FileKind::Headers),
            offset: fault.offset as u64,
            what: fault.what,
        })
    }

    /// Adds the defects of the header of a file of frames.
    fn check_head(
        &self,
        kind: FileKind,
        storage: &dyn Storage,
        defects: &mut Vec<Defect>,
    ) -> Result<(), Error> {
        let error = |source| self.error(kind, source);
        let mut buffer = ReadBuffer::default();
        let len = storage.len().map_err(error)?;
        let head = storage.read_up_to(0, frame::FILE_HEAD_BYTES, &mut buffer);
        let faults = frame::check_file_head(head.map_err(error)?, len);
        let faults = faults.unwrap_or_else(|fault| vec![fault]);
        let name = kind.extension();
        defects.extend(faults.into_iter().map(|fault| defect(name, 0, fault)));
        Ok(())
    }

    /// Opens the entities. A file without a header has none, which is a defect.
    fn entities(&self, defects: &mut Vec<Defect>) -> Result<Entities, Error> {
        let kind = FileKind::Entities;
        let opened = Entities::open(self.required(kind)?);
        match opened.map_err(|source| self.error(kind, source))? {
            Ok(entities) => Ok(entities),
            Err(fault) => {
                defects.push(defect(kind.extension(), 0, fault));
                Ok(Entities::none(Box::new(MemoryFile::from(Vec::new()))))
            }
        }
    }
}

/// Number of records in the file, whatever the header says.
fn last_id(
    header: Cbh2Header,
    headers: &dyn Storage,
    defects: &mut Vec<Defect>,
) -> io::Result<u32> {
    let len = headers.len()?;
    let mut note = |offset: usize, what: String| {
        let fault = Malformed::new(offset, what);
        defects.push(defect(FileKind::Headers.extension(), 0, fault));
    };
    if !header.is_known() {
        let Cbh2Header { used, version, .. } = header;
        let what = format!("version {version} ({used} bytes of header) of .2cbh is not known");
        note(13, what);
    }
    let record = RECORD_BYTES as u64;
    let present = (len / record).saturating_sub(1);
    if !len.is_multiple_of(record) {
        note(0, format!("{len} bytes are no whole number of records"));
    }
    if u64::from(header.next_id) != present + 1 {
        let claimed = i64::from(header.next_id) - 1;
        note(16, format!("{claimed} records claimed, {present} found"));
    }
    if present > u64::from(MOST_RECORDS) {
        note(0, format!("{present} records; cbfs reads {MOST_RECORDS}"));
    }
    Ok(u32::try_from(present).unwrap_or(u32::MAX).min(MOST_RECORDS))
}

/// Detects the code page from names, and from texts on moves, which keep their
/// old code page in a converted base.
fn detect_page(entities: &Entities, annotations: Option<&dyn Storage>) -> io::Result<CodePage> {
    let names = entities.sample(NAME_SAMPLE)?;
    let mut buffer = ReadBuffer::default();
    let sample = match annotations {
        Some(annotations) => annotations.read_up_to(0, TEXT_SAMPLE_BYTES, &mut buffer)?,
        None => &[],
    };
    let texts = frame::sample(sample).flat_map(annotations::texts);
    Ok(CodePage::detect(names.iter().map(Vec::as_slice), texts))
}
