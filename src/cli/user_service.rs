//! A mount that is there after each login: a unit of the user's systemd.

use std::ffi::{OsStr, OsString};
use std::fmt::Write as _;
use std::fs;
use std::io::{self, Write as _};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::{Failure, mount, places, print};
use crate::fuse::canonical;

/// The longest name of a file.
const MOST_BYTES: usize = 255;

/// Writes and starts the unit that mounts as `args` say.
pub(super) fn install(args: &mount::Args, (verbose, quiet): (u8, bool)) -> Result<(), Failure> {
    let args = absolute(args)?;
    mount::check(&args)?;
    fs::metadata(&args.source).map_err(|error| Failure::about(&args.source, error))?;
    let unit = Unit::of(&args.mountpoint)?;
    let program = std::env::current_exe().map_err(Failure::new)?;
    let mut words = vec![
        program.into_os_string(),
        "mount".into(),
        "--foreground".into(),
    ];
    words.extend(args.for_daemon(verbose, quiet).into_iter().skip(2));
    let text = text_of(&args, &words).map_err(|why| Failure::about(&args.mountpoint, why))?;
    unit.write(&text)
        .map_err(|error| Failure::about(&unit.path, error))?;
    let start = format!("systemctl --user enable --now '{}'", unit.name);
    if !(systemctl(&["daemon-reload"]) && systemctl(&["enable", "--now", &unit.name])) {
        return Err(Failure::new(format_args!(
            "{} is written, but could not be started: try `{start}`, and `journalctl --user -u '{}'`",
            unit.path.display(),
            unit.name
        )));
    }
    if quiet {
        return Ok(());
    }
    let place = args.mountpoint.display();
    print(
        format!(
            "mounted at {place} now and after each login; `cbfs umount --user-service {place}` takes that back\n"
        )
        .as_bytes(),
    )
}

/// Stops the unit that mounts at a directory, and removes it.
pub(super) fn remove(mountpoint: &Path) -> Result<(), Failure> {
    // A folder above it may be gone, or have been a link when the unit was written.
    let places = [
        place_of(mountpoint).ok(),
        std::path::absolute(mountpoint).ok(),
    ];
    let units = places.iter().flatten().map(|place| Unit::of(place));
    let units: Vec<Unit> = units.collect::<Result<_, Failure>>()?;
    let Some(unit) = units.into_iter().find(|unit| unit.path.exists()) else {
        let why = "no service of this user mounts there";
        return Err(Failure::about(mountpoint, why));
    };
    let is_stopped = systemctl(&["disable", "--now", &unit.name]);
    fs::remove_file(&unit.path).map_err(|error| Failure::about(&unit.path, error))?;
    systemctl(&["daemon-reload"]);
    if is_stopped {
        return Ok(());
    }
    let why = "the service is removed, but systemd could not stop it; `cbfs umount` unmounts";
    Err(Failure::about(mountpoint, why))
}

/// The arguments with paths that are the same wherever the daemon starts.
fn absolute(args: &mount::Args) -> Result<mount::Args, Failure> {
    let whole =
        |path: &Path| std::path::absolute(path).map_err(|error| Failure::about(path, error));
    let mut args = args.clone();
    args.source = whole(&args.source)?;
    args.mountpoint = place_of(&args.mountpoint)?;
    if let Some(file) = &args.password.password_file {
        if file == Path::new("-") {
            let why = "a service reads its password from a file: --password-file FILE";
            return Err(Failure::new(why));
        }
        args.password.password_file = Some(whole(file)?);
    }
    Ok(args)
}

/// A mount point as all ways to write it, and all links to it, name it.
fn place_of(mountpoint: &Path) -> Result<PathBuf, Failure> {
    let place = if mountpoint.is_symlink() {
        mountpoint.canonicalize()
    } else {
        canonical(mountpoint)
    };
    place.map_err(|error| Failure::about(mountpoint, error))
}

/// A unit of the user.
struct Unit {
    name: String,
    path: PathBuf,
}

impl Unit {
    fn of(mountpoint: &Path) -> Result<Unit, Failure> {
        let name = format!("cbfs-{}.service", escaped(mountpoint.as_os_str()));
        if name.len() > MOST_BYTES {
            let why = "too long a path for the name of a service";
            return Err(Failure::about(mountpoint, why));
        }
        let units = places::user_units();
        let units = units.ok_or_else(|| Failure::new("there is no home directory; set HOME"))?;
        let path = units.join(&name);
        Ok(Unit { name, path })
    }

    fn write(&self, text: &[u8]) -> io::Result<()> {
        let folder = self.path.parent().unwrap_or(Path::new("/"));
        fs::create_dir_all(folder)?;
        let mut file = tempfile::NamedTempFile::new_in(folder)?;
        file.write_all(text)?;
        file.persist(&self.path)?;
        Ok(())
    }
}

/// A path as systemd-escape(1) writes it.
fn escaped(path: &OsStr) -> String {
    let path = path.as_bytes();
    let path = path.strip_prefix(b"/").unwrap_or(path);
    let mut name = String::new();
    for (at, byte) in path.iter().enumerate() {
        match byte {
            b'/' => name.push('-'),
            b'.' if at > 0 => name.push('.'),
            b':' | b'_' | b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' => name.push(char::from(*byte)),
            byte => {
                // Writing to a string does not fail.
                let _ = write!(name, "\\x{byte:02x}");
            }
        }
    }
    name
}

/// The text of the unit. The reason, if a path cannot stand in it.
fn text_of(args: &mount::Args, words: &[OsString]) -> Result<Vec<u8>, String> {
    let line: Result<Vec<String>, String> = words.iter().map(|word| quoted(word)).collect();
    let (source, place) = (args.source.display(), args.mountpoint.display());
    let program = quoted(
        words
            .first()
            .map_or(OsStr::new("cbfs"), OsString::as_os_str),
    )?;
    let at = quoted(args.mountpoint.as_os_str())?;
    Ok(format!(
        "[Unit]\n\
         Description={} at {}\n\
         \n\
         [Service]\n\
         Type=notify\n\
         ExecStart={}\n\
         # A daemon that is killed cannot unmount.\n\
         ExecStopPost=-/bin/sh -c 'case $$EXIT_CODE in killed|dumped) exec \"$$0\" umount \"$$1\";; esac' {program} {at}\n\
         Restart=on-abnormal\n\
         TimeoutStopSec=60\n\
         \n\
         [Install]\n\
         WantedBy=default.target\n",
        source.to_string().replace('%', "%%"),
        place.to_string().replace('%', "%%"),
        line?.join(" ")
    )
    .into_bytes())
}

/// A word of a command line in a unit, see systemd.service(5).
fn quoted(word: &OsStr) -> Result<String, String> {
    let word = word.to_str().ok_or("no UTF-8, as a service needs")?;
    let mut quoted = String::from("\"");
    for c in word.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            '%' | '$' => quoted.extend([c, c]),
            c if c.is_control() => return Err("a control character, as no service has".to_owned()),
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    Ok(quoted)
}

fn systemctl(arguments: &[&str]) -> bool {
    let ran = Command::new("systemctl")
        .arg("--user")
        .args(arguments)
        .stdin(Stdio::null())
        .status();
    ran.is_ok_and(|status| status.success())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_escaped_as_systemd_does() {
        for (path, name) in [
            ("/home/me/chess", "home-me-chess"),
            ("/home/my chess/a-b", "home-my\\x20chess-a\\x2db"),
            ("/.hidden/x.y", "\\x2ehidden-x.y"),
            ("/Großmeister", "Gro\\xc3\\x9fmeister"),
        ] {
            assert_eq!(escaped(OsStr::new(path)), name);
        }
    }

    #[test]
    fn words_are_quoted_for_a_unit() {
        for (word, expected) in [
            ("/a b", "\"/a b\""),
            ("100%$HOME", "\"100%%$$HOME\""),
            ("a\"b\\c", "\"a\\\"b\\\\c\""),
        ] {
            assert_eq!(quoted(OsStr::new(word)).unwrap(), expected);
        }
        assert!(quoted(OsStr::new("a\nb")).is_err());
        assert!(quoted(OsStr::from_bytes(b"\xff")).is_err());
    }
}
