//! Parsing of the mount options of `-o`, with the names that mount(8) and FUSE
//! programs use.

use std::path::PathBuf;

use fuser::MountOption;

use crate::base::referenced::SourceMap;
use crate::cbh::CodePage;
use crate::fuse::{Audience, ReadDirPlus};
use crate::import::page_of_label;
use crate::pgn::EightBitPage;
use crate::vfs::Shown;

/// Options that are of use here, for completions.
pub(super) const NAMES: [&str; 27] = [
    "ro",
    "rw",
    "allow_other",
    "allow_root",
    "auto_unmount",
    "cache_size=",
    "clean",
    "codepage=",
    "drop_foreign_tags",
    "export_limit=",
    "fsname=",
    "gid=",
    "hide=",
    "html=list",
    "merge",
    "names=long",
    "noatime",
    "noexec",
    "nofail",
    "nonempty",
    "password_file=",
    "readdirplus=auto",
    "readdirplus=off",
    "readdirplus=on",
    "scratch_size=",
    "uid=",
    "xattr",
];

/// Standard options that have no effect here, or are handled by mount(8).
const IGNORED: [&str; 24] = [
    "defaults",
    "auto",
    "noauto",
    "user",
    "nouser",
    "users",
    "group",
    "owner",
    "nofail",
    "_netdev",
    "relatime",
    "norelatime",
    "strictatime",
    "nostrictatime",
    "lazytime",
    "nolazytime",
    "diratime",
    "nodiratime",
    "iversion",
    "noiversion",
    "silent",
    "loud",
    "symfollow",
    // Always enabled.
    "default_permissions",
];

/// Prefixes of standard options with a value that have no effect here.
const IGNORED_PREFIXES: [&str; 9] = [
    "x-",
    "X-",
    "comment=",
    "subtype=",
    "max_read=",
    "context=",
    "fscontext=",
    "defcontext=",
    "rootcontext=",
];

/// Whether a mount is writable.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Writing {
    /// If the base is writable.
    #[default]
    IfPossible,
    /// Writable, or else the mount fails.
    Needed,
    /// Read-only.
    Off,
}

/// The parsed mount options.
#[derive(Clone, Debug, Default, PartialEq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a word that was said or not"
)]
pub(super) struct MountOptions {
    pub(super) access: Audience,
    pub(super) writing: Writing,
    pub(super) scratch_bytes: Option<usize>,
    pub(super) drops_foreign_tags: bool,
    pub(super) is_clean: bool,
    /// Whether directories of players and the like are merged by a rename.
    pub(super) merges: bool,
    pub(super) shown: Shown,
    pub(super) uid: Option<u32>,
    pub(super) gid: Option<u32>,
    pub(super) cache_bytes: Option<usize>,
    pub(super) code_page: Option<CodePage>,
    pub(super) export_limit: Option<u32>,
    pub(super) source_maps: Vec<SourceMap>,
    pub(super) readdirplus: ReadDirPlus,
    pub(super) xattr: bool,
    pub(super) auto_unmount: bool,
    pub(super) nonempty: bool,
    pub(super) source_name: Option<String>,
    pub(super) password_file: Option<PathBuf>,
    pub(super) flags: Vec<MountOption>,
}

impl MountOptions {
    /// Parses option lists: `a,b=c`, with a comma in a value written as `\,`.
    /// The later of two contradicting options applies.
    pub(super) fn parse(lists: &[String]) -> Result<MountOptions, String> {
        let mut options = MountOptions::default();
        for list in lists {
            // Names after `hide=` belong to its value.
            let mut is_hiding = false;
            for option in split(list) {
                is_hiding =
                    option.starts_with("hide=") || is_hiding && options.shown.hide(&option).is_ok();
                if !is_hiding || option.contains('=') {
                    options.add(&option)?;
                }
            }
        }
        if options.auto_unmount && options.access == Audience::Owner {
            return Err("auto_unmount needs allow_other or allow_root".to_owned());
        }
        Ok(options)
    }

    fn add(&mut self, option: &str) -> Result<(), String> {
        if option.is_empty()
            || IGNORED.contains(&option)
            || IGNORED_PREFIXES
                .iter()
                .any(|prefix| option.starts_with(prefix))
            || self.add_flag(option)
        {
            return Ok(());
        }
        match option.split_once('=') {
            None => self.add_word(option),
            Some((key, value)) => self.add_pair(key, value),
        }
    }

    fn add_flag(&mut self, option: &str) -> bool {
        let (yes, no) = match option {
            "suid" | "nosuid" => (MountOption::Suid, MountOption::NoSuid),
            "dev" | "nodev" => (MountOption::Dev, MountOption::NoDev),
            "exec" | "noexec" => (MountOption::Exec, MountOption::NoExec),
            "atime" | "noatime" => (MountOption::Atime, MountOption::NoAtime),
            "async" | "sync" => (MountOption::Async, MountOption::Sync),
            "dirsync" => (MountOption::DirSync, MountOption::DirSync),
            _ => return false,
        };
        self.flags.retain(|flag| *flag != yes && *flag != no);
        // Without these options, a mount allows the same.
        if option.starts_with("no") || option.ends_with("sync") && option != "async" {
            self.flags.push(no);
        }
        true
    }

    fn add_word(&mut self, option: &str) -> Result<(), String> {
        match option {
            "allow_other" => self.access = Audience::AllUsers,
            "allow_root" => self.access = Audience::OwnerAndRoot,
            "auto_unmount" => self.auto_unmount = true,
            "nonempty" => self.nonempty = true,
            "xattr" => self.xattr = true,
            "ro" => self.writing = Writing::Off,
            "rw" => self.writing = Writing::Needed,
            "clean" => self.is_clean = true,
            "merge" => self.merges = true,
            "drop_foreign_tags" => self.drops_foreign_tags = true,
            "remount" => {
                return Err(
                    "remount is an option of mount(8): mount -o remount,ro DIRECTORY".to_owned(),
                );
            }
            _ => {
                return Err(format!(
                    "unknown mount option {option:?}; see cbfs mount --help"
                ));
            }
        }
        Ok(())
    }

    fn add_pair(&mut self, key: &str, value: &str) -> Result<(), String> {
        let number = || {
            value
                .parse()
                .map_err(|_| format!("{key}={value}: not a number"))
        };
        let size = || parse_size(value).map_err(|why| format!("{key}={value}: {why}"));
        match key {
            "uid" => self.uid = Some(number()?),
            "gid" => self.gid = Some(number()?),
            "password_file" => self.password_file = Some(PathBuf::from(value)),
            "hide" => {
                for name in value.split(',').filter(|name| !name.is_empty()) {
                    let added = self.shown.hide(name);
                    added.map_err(|why| format!("{key}={value}: {why}"))?;
                }
            }
            "html" if value == "list" => self.shown.list_pages(),
            "html" => return Err(format!("html={value}: the only value is list")),
            "names" if value == "long" => self.shown.describe_games(),
            "names" => return Err(format!("names={value}: the only value is long")),
            "fsname" if value.is_empty() => return Err(format!("{key}=: a name is missing")),
            "fsname" => self.source_name = Some(value.to_owned()),
            "cache_size" => match size()? {
                bytes if bytes <= MOST_CACHE_BYTES => self.cache_bytes = Some(bytes),
                _ => return Err(format!("{key}={value}: more than 1024G")),
            },
            "scratch_size" => self.scratch_bytes = Some(size()?),
            "codepage" => {
                self.code_page =
                    Some(parse_code_page(value).map_err(|why| format!("{key}={value}: {why}"))?);
            }
            "export_limit" => {
                let limit = value.parse();
                let limit = limit.map_err(|_| format!("{key}={value}: not a number"))?;
                self.export_limit = Some(limit);
            }
            "source_map" => {
                let map = parse_source_map(value);
                let map = map.map_err(|why| format!("{key}={value}: {why}"))?;
                self.source_maps.push(map);
            }
            "readdirplus" => {
                self.readdirplus = match value {
                    "auto" => ReadDirPlus::Auto,
                    "on" => ReadDirPlus::On,
                    "off" => ReadDirPlus::Off,
                    _ => return Err(format!("{key}={value}: not auto, on or off")),
                }
            }
            _ => {
                return Err(format!(
                    "unknown mount option {key:?}; see cbfs mount --help"
                ));
            }
        }
        Ok(())
    }
}

/// The largest cache of texts. Its table is made for that at once.
const MOST_CACHE_BYTES: usize = 1 << 40;

/// Parses a size in bytes: `64M`, `64MiB`, `1G`, `1048576`, in powers of 1024.
pub(super) fn parse_size(text: &str) -> Result<usize, String> {
    let digits = text.trim_end_matches(|c: char| !c.is_ascii_digit());
    let shift = match text.get(digits.len()..).unwrap_or_default() {
        "" | "B" => 0,
        "k" | "K" | "KiB" => 10,
        "m" | "M" | "MiB" => 20,
        "g" | "G" | "GiB" => 30,
        _ => return Err("not a size such as 64M or 1G".to_owned()),
    };
    let number: usize = digits
        .parse()
        .map_err(|_| "not a size such as 64M or 1G".to_owned())?;
    number
        .checked_mul(1 << shift)
        .ok_or_else(|| "too large".to_owned())
}

/// Parses the label of an 8-bit code page: `1251`, `cp1251`, `windows-1251`,
/// `iso-8859-5`.
pub(super) fn parse_code_page(label: &str) -> Result<CodePage, String> {
    if label.eq_ignore_ascii_case("utf-8") || label.eq_ignore_ascii_case("utf8") {
        return Err("UTF-8 is always recognized; name the code page of other text".to_owned());
    }
    CodePage::from_label(label).ok_or_else(|| {
        "not an 8-bit code page such as 1252, 1251, 1250, iso-8859-2 or koi8-r".to_owned()
    })
}

/// As [`parse_code_page`], plus the code pages of DOS, which occur in texts but
/// not in bases.
pub(super) fn parse_text_page(label: &str) -> Result<EightBitPage, String> {
    let page = page_of_label(label);
    page.map_or_else(|| Err(parse_code_page(label).err().unwrap_or_default()), Ok)
}

/// Parses `FROM=TO`, where `TO` is a folder of this computer.
pub(super) fn parse_source_map(pair: &str) -> Result<SourceMap, String> {
    let mut map: SourceMap = pair.parse()?;
    // The daemon changes its working directory.
    map.to = std::path::absolute(&map.to).map_err(|error| error.to_string())?;
    Ok(map)
}

/// Splits at commas without a backslash before them. A backslash before any
/// other character stays, because Windows paths contain many.
fn split(list: &str) -> Vec<String> {
    let mut options = vec![String::new()];
    let mut characters = list.chars();
    while let Some(character) = characters.next() {
        if character == ',' {
            options.push(String::new());
            continue;
        }
        let escaped = characters.clone().next();
        let literal = match escaped.filter(|next| character == '\\' && matches!(next, ',' | '\\')) {
            Some(_) => characters.next().unwrap_or(character),
            None => character,
        };
        if let Some(option) = options.last_mut() {
            option.push(literal);
        }
    }
    options
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(list: &str) -> Result<MountOptions, String> {
        MountOptions::parse(&[list.to_owned()])
    }

    #[test]
    fn options_that_are_completed_are_understood() {
        for name in NAMES {
            let value = match name {
                "hide=" => "pgn",
                "codepage=" => "1252",
                name if name.ends_with('=') => "1",
                _ => "",
            };
            let option = format!("{name}{value},allow_other");
            MountOptions::parse(&[option]).unwrap();
        }
    }

    #[test]
    fn options_from_fstab_are_accepted() {
        let list = "ro,sync,noatime,noexec,nosuid,nodev,allow_other,uid=1000,gid=100,user,nofail,\
                    _netdev,x-systemd.automount,comment=mine,default_permissions,auto_unmount";
        let options = parse(list).unwrap();
        assert_eq!((options.uid, options.gid), (Some(1000), Some(100)));
        assert_eq!(options.access, Audience::AllUsers);
        assert!(options.auto_unmount);
        assert_eq!(
            options.flags,
            [
                MountOption::Sync,
                MountOption::NoAtime,
                MountOption::NoExec,
                MountOption::NoSuid,
                MountOption::NoDev
            ]
        );
    }

    #[test]
    fn the_later_of_two_contradicting_options_applies() {
        assert_eq!(parse("noexec,exec,sync,async").unwrap().flags, []);
        assert_eq!(parse("exec,noexec").unwrap().flags, [MountOption::NoExec]);
        assert_eq!(parse("uid=1,uid=2").unwrap().uid, Some(2));
    }

    #[test]
    fn unknown_options_and_values_are_refused() {
        for (list, expected) in [
            ("lang=de", "unknown mount option \"lang\""),
            ("allow_others", "unknown mount option \"allow_others\""),
            ("uid=me", "uid=me: not a number"),
            ("ro,fsname=", "fsname=: a name is missing"),
            ("cache_size=much", "cache_size=much: not a size"),
            ("cache_size=1025G", "cache_size=1025G: more than 1024G"),
            (
                "codepage=klingon",
                "codepage=klingon: not an 8-bit code page",
            ),
            (
                "codepage=utf-8",
                "codepage=utf-8: UTF-8 is always recognized",
            ),
            ("source_map=/only", "source_map=/only: not FROM=TO"),
            ("readdirplus=maybe", "readdirplus=maybe: not auto"),
            ("auto_unmount", "auto_unmount needs allow_other"),
        ] {
            let error = parse(list).unwrap_err();
            assert!(error.starts_with(expected), "{list}: {error}");
        }
    }

    #[test]
    fn directories_are_hidden_by_name_several_at_once() {
        let hidden = |list: &str| {
            let options = parse(list).unwrap();
            (options.shown.hidden().collect::<Vec<_>>(), options.writing)
        };
        let three = vec!["games", "years", "pgn"];
        assert_eq!(
            hidden("hide=pgn,games,years,ro"),
            (three.clone(), Writing::Off)
        );
        assert_eq!(
            hidden(r"ro,hide=pgn\,games,hide=years"),
            (three, Writing::Off)
        );
        assert_eq!(hidden("ro").0, Vec::<&str>::new());
        for (list, expected) in [
            ("hide=book", "hide=book: \"book\" is none of games, players"),
            ("hide=pgn,book", "unknown mount option \"book\""),
            ("pgn,hide=games", "unknown mount option \"pgn\""),
        ] {
            let error = parse(list).unwrap_err();
            assert!(error.starts_with(expected), "{list}: {error}");
        }
    }

    #[test]
    fn a_comma_in_a_value_is_escaped() {
        let options = parse(r"fsname=/a\,b\\c,uid=7").unwrap();
        assert_eq!(options.source_name.as_deref(), Some(r"/a,b\c"));
        assert_eq!(options.uid, Some(7));
    }

    #[test]
    fn folders_of_another_computer_keep_their_backslashes() {
        let options = parse(r"source_map=C:\Bases\a\,b=/x=y,ro,source_map=\\\\host\d=/z").unwrap();
        let maps = options.source_maps.iter();
        let maps: Vec<_> = maps
            .map(|map| (map.from.as_str(), map.to.as_path()))
            .collect();
        let path = std::path::Path::new;
        assert_eq!(
            maps,
            [(r"C:\Bases\a,b", path("/x=y")), (r"\\host\d", path("/z"))]
        );
        assert_eq!(options.writing, Writing::Off);
    }

    #[test]
    fn sizes_are_in_powers_of_1024() {
        for (text, bytes) in [
            ("0", 0),
            ("17", 17),
            ("64M", 64 << 20),
            ("1GiB", 1 << 30),
            ("2k", 2048),
        ] {
            assert_eq!(parse_size(text), Ok(bytes));
        }
        for text in ["", "M", "1.5M", "-1", "1T", "99999999999999G"] {
            assert!(parse_size(text).is_err(), "{text}");
        }
    }
}
