//! `mount -t fuse.cbfs`: the interface for mount(8), which runs
//! `mount.fuse.cbfs`.
//!
//! `mount.fuse.cbfs SOURCE DIRECTORY [-sfnv] [-o OPTIONS] [-t TYPE]`

mod remount;

use std::ffi::{OsStr, OsString};
use std::path::Path;

use self::remount::REMOUNT;
use super::{Failure, daemon, mount};

const USAGE: u8 = 1;
const FAILED: u8 = 32;

/// Returns whether the program was called by one of the names of the mount
/// helper.
pub(super) fn is_called_as_helper(arguments: &[OsString]) -> bool {
    arguments
        .first()
        .and_then(|name| Path::new(name).file_name())
        .is_some_and(|name| name == "mount.fuse.cbfs" || name == "mount.cbfs")
}

/// Mounts as requested by mount(8).
pub(super) fn run(arguments: &[OsString]) -> Result<(), Failure> {
    let (args, is_fake) = parse(arguments).map_err(|why| Failure {
        code: USAGE,
        ..Failure::new(why)
    })?;
    let options = args.options.join(",");
    let is_remount = options.split(',').any(|option| option == REMOUNT);
    let mounted = if is_remount && is_fake {
        Ok(())
    } else if is_remount {
        remount::run(&args.mountpoint, &options)
    } else if is_fake {
        mount::check(&args).map(|_| ())
    } else {
        daemon::start(&args.for_daemon(0, false), None)
    };
    mounted.map_err(|failure| Failure {
        code: FAILED,
        ..failure
    })
}

/// Parses the arguments. The flag is set if mounting is only simulated.
fn parse(arguments: &[OsString]) -> Result<(mount::Args, bool), String> {
    let mut args = mount::Args::default();
    let mut places = Vec::new();
    let mut is_fake = false;
    let mut rest = arguments.iter().skip(1);
    while let Some(argument) = rest.next() {
        match argument.to_str() {
            Some("-o") => args.options.push(list(rest.next())?),
            // `-t` gives the type, which is cbfs.
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

/// The options. mount(8) passes `rw` whenever `ro` was not given, so it is ignored,
/// but for a mount that is there.
fn list(options: Option<&OsString>) -> Result<String, String> {
    let options = options
        .map(OsString::as_os_str)
        .and_then(OsStr::to_str)
        .ok_or("-o needs options")?;
    if options.split(',').any(|option| option == REMOUNT) {
        return Ok(options.to_owned());
    }
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
    fn arguments_of_mount_are_parsed() {
        let (args, is_fake) =
            parse_line("mount.fuse.cbfs /a.cbh /mnt -n -sv -o rw,noexec,uid=7").unwrap();
        assert_eq!(args.source, Path::new("/a.cbh"));
        assert_eq!(args.mountpoint, Path::new("/mnt"));
        assert_eq!(args.options, ["noexec,uid=7"]);
        assert!(!is_fake);
        assert!(parse_line("mount.cbfs a b -f").unwrap().1);
    }

    #[test]
    fn invalid_arguments_are_refused() {
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
    fn the_helper_is_recognized_by_its_name() {
        for (name, expected) in [
            ("/sbin/mount.fuse.cbfs", true),
            ("mount.cbfs", true),
            ("cbfs", false),
            ("/mount.cbfs/cbfs", false),
        ] {
            assert_eq!(is_called_as_helper(&[name.into()]), expected, "{name}");
        }
    }
}
