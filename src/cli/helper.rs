//! `mount -t fuse.cbfs`: what mount(8) calls as `mount.fuse.cbfs`.
//!
//! `mount.fuse.cbfs SOURCE DIRECTORY [-sfnv] [-o OPTIONS] [-t TYPE]`

use std::ffi::{OsStr, OsString};
use std::path::Path;

use super::{Failure, daemon, mount};

const USAGE: u8 = 1;
const FAILED: u8 = 32;

/// Whether the program was called by one of the helper's names.
pub(super) fn is_called_so(arguments: &[OsString]) -> bool {
    arguments
        .first()
        .and_then(|name| Path::new(name).file_name())
        .is_some_and(|name| name == "mount.fuse.cbfs" || name == "mount.cbfs")
}

/// Mounts as mount(8) asks.
pub(super) fn run(arguments: &[OsString]) -> Result<(), Failure> {
    let (args, is_fake) = parse(arguments).map_err(|why| Failure {
        code: USAGE,
        ..Failure::new(why)
    })?;
    let mounted = if is_fake {
        mount::check(&args).map(|_| ())
    } else {
        daemon::start(&args.for_daemon(0, false), None)
    };
    mounted.map_err(|failure| Failure {
        code: FAILED,
        ..failure
    })
}

/// The arguments, and whether nothing shall really be mounted.
fn parse(arguments: &[OsString]) -> Result<(mount::Args, bool), String> {
    let mut args = mount::Args::default();
    let mut places = Vec::new();
    let mut is_fake = false;
    let mut rest = arguments.iter().skip(1);
    while let Some(argument) = rest.next() {
        match argument.to_str() {
            Some("-o") => args.options.push(list(rest.next())?),
            // The type, which is ours, and sloppiness, which is not.
            Some("-t") => drop(rest.next()),
            Some(flags) if flags.starts_with('-') && flags.len() > 1 => {
                for flag in flags.chars().skip(1) {
                    match flag {
                        'f' => is_fake = true,
                        's' | 'n' | 'v' => {}
                        _ => return Err(format!("unknown option -{flag}")),
                    }
                }
            }
            _ => places.push(argument),
        }
    }
    let [source, mountpoint] = places.as_slice() else {
        return Err("usage: mount.fuse.cbfs SOURCE DIRECTORY [-sfnv] [-o OPTIONS]".to_owned());
    };
    args.source = source.into();
    args.mountpoint = mountpoint.into();
    Ok((args, is_fake))
}

/// mount(8) says `rw` whenever nobody said `ro`.
fn list(options: Option<&OsString>) -> Result<String, String> {
    let options = options
        .map(OsString::as_os_str)
        .and_then(OsStr::to_str)
        .ok_or("-o needs options")?;
    let kept: Vec<&str> = options
        .split(',')
        .filter(|option| *option != "rw")
        .collect();
    Ok(kept.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse_line(line: &str) -> Result<(mount::Args, bool), String> {
        let arguments: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        parse(&arguments)
    }

    #[test]
    fn what_mount_passes_is_understood() {
        let (args, is_fake) =
            parse_line("mount.fuse.cbfs /a.cbh /mnt -n -sv -o rw,noexec,uid=7").unwrap();
        assert_eq!(args.source, Path::new("/a.cbh"));
        assert_eq!(args.mountpoint, Path::new("/mnt"));
        assert_eq!(args.options, ["noexec,uid=7"]);
        assert!(!is_fake);
        assert!(parse_line("mount.cbfs a b -f").unwrap().1);
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        for line in [
            "mount.cbfs a",
            "mount.cbfs a b c",
            "mount.cbfs a b -x",
            "mount.cbfs a b -o",
        ] {
            assert!(parse_line(line).is_err(), "{line}");
        }
    }

    #[test]
    fn the_name_decides() {
        for (name, expected) in [
            ("/sbin/mount.fuse.cbfs", true),
            ("mount.cbfs", true),
            ("cbfs", false),
            ("/mount.cbfs/cbfs", false),
        ] {
            assert_eq!(is_called_so(&[name.into()]), expected, "{name}");
        }
    }
}
