//! Directories of the user for data that are not in a base: caches, rejected drafts,
//! records of merges, systemd units.

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use nix::unistd::{AccessFlags, User, access, getuid};

/// Directory of drafts without a home directory, as when mount(8) mounts at
/// boot.
const SYSTEM_STATE: &str = "/var/lib/cbfs";

/// The state directory of a user, without `XDG_STATE_HOME`.
const STATE_IN_HOME: &str = ".local/state";

/// Returns the directory for caches: lengths of texts, indexes of positions, results of
/// book walks.
pub(super) fn cache() -> Option<PathBuf> {
    let of_unit = absolute(&variable, "CACHE_DIRECTORY");
    of_unit.or_else(|| of_user(&variable, "XDG_CACHE_HOME", ".cache"))
}

/// Returns the directories for rejected drafts and records of merges: all usable ones,
/// the preferred one first.
pub(super) fn state() -> Vec<PathBuf> {
    let user = User::from_uid(getuid()).ok().flatten();
    let home = user.map(|user| user.dir).filter(|home| home.is_absolute());
    let all = state_directories(&variable, getuid().as_raw(), home);
    all.into_iter().filter(|path| can_be_used(path)).collect()
}

/// The directory of the units of the user's systemd.
pub(super) fn user_units() -> Option<PathBuf> {
    let config = absolute(&variable, "XDG_CONFIG_HOME");
    let config = config.or_else(|| Some(absolute(&variable, "HOME")?.join(".config")));
    config.map(|config| config.join("systemd/user"))
}

fn variable(name: &str) -> Option<OsString> {
    std::env::var_os(name)
}

type Variables<'v> = dyn Fn(&str) -> Option<OsString> + 'v;

/// Candidates in this order: the directory that systemd provides for a unit,
/// cbfs's part of the user's state directory, that of the system, the one in `home`, and
/// cbfs's part of the runtime directory, which lasts until logout. `home` is the
/// directory that the system has for the user: the variables may be another user's.
fn state_directories(variables: &Variables<'_>, uid: u32, home: Option<PathBuf>) -> Vec<PathBuf> {
    let runtime = absolute(variables, "XDG_RUNTIME_DIR");
    let runtime = runtime.unwrap_or_else(|| PathBuf::from(format!("/run/user/{uid}")));
    let all = [
        absolute(variables, "STATE_DIRECTORY").map(resolved),
        of_user(variables, "XDG_STATE_HOME", STATE_IN_HOME),
        Some(PathBuf::from(SYSTEM_STATE)),
        home.map(|home| home.join(STATE_IN_HOME).join("cbfs")),
        Some(runtime.join("cbfs")),
    ];
    all.into_iter().flatten().collect()
}

fn of_user(variables: &Variables<'_>, name: &str, in_home: &str) -> Option<PathBuf> {
    let home = || Some(absolute(variables, "HOME")?.join(in_home));
    let directory = absolute(variables, name).or_else(home);
    directory.map(|directory| directory.join("cbfs"))
}

/// The target of a path. systemd may provide a symbolic link; symbolic links in
/// further components are not followed later.
fn resolved(path: PathBuf) -> PathBuf {
    path.canonicalize().unwrap_or(path)
}

fn absolute(variables: &Variables<'_>, name: &str) -> Option<PathBuf> {
    let path = variables(name).map(PathBuf::from);
    path.filter(|path| path.is_absolute())
}

/// Returns whether the directory belongs to this user and is writable, or can
/// be created in one that belongs to this user or the system. A directory of
/// another user could be replaced.
fn can_be_used(path: &Path) -> bool {
    let above = path
        .ancestors()
        .find(|path| path.symlink_metadata().is_ok());
    let Some((above, stat)) = above.and_then(|above| Some((above, fs::metadata(above).ok()?)))
    else {
        return false;
    };
    let ours = getuid().as_raw();
    let is_ours = stat.uid() == ours || (stat.uid() == 0 && above != path);
    let needed = AccessFlags::W_OK | AccessFlags::X_OK;
    stat.is_dir() && is_ours && access(above, needed).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn directories(variables: &[(&str, &str)]) -> Vec<String> {
        let value = |name: &str| {
            let found = variables.iter().find(|(it, _)| *it == name);
            found.map(|(_, value)| OsString::from(value))
        };
        let all = state_directories(&value, 7, Some(PathBuf::from("/home/me")));
        all.iter().map(|path| path.display().to_string()).collect()
    }

    #[test]
    fn drafts_are_kept_with_or_without_a_home() {
        let none = [
            "/var/lib/cbfs",
            "/home/me/.local/state/cbfs",
            "/run/user/7/cbfs",
        ];
        assert_eq!(directories(&[]), none);
        assert_eq!(directories(&[("HOME", ""), ("XDG_STATE_HOME", "x")]), none);
        let home = directories(&[("HOME", "/h"), ("XDG_RUNTIME_DIR", "/r")]);
        let home_of_user = "/home/me/.local/state/cbfs";
        assert_eq!(
            home,
            [
                "/h/.local/state/cbfs",
                "/var/lib/cbfs",
                home_of_user,
                "/r/cbfs"
            ]
        );
        let unit = [
            ("HOME", "/h"),
            ("XDG_STATE_HOME", "/s"),
            ("STATE_DIRECTORY", "/u"),
        ];
        assert_eq!(directories(&unit)[..2], ["/u", "/s/cbfs"]);
    }

    #[test]
    fn a_directory_that_cannot_be_made_or_is_anothers_is_not_used() {
        let folder = tempfile::tempdir().unwrap();
        assert!(can_be_used(&folder.path().join("a/b")));
        assert!(can_be_used(folder.path()));
        fs::write(folder.path().join("file"), "").unwrap();
        assert!(!can_be_used(&folder.path().join("file/b")));
        std::os::unix::fs::symlink("nowhere", folder.path().join("link")).unwrap();
        assert!(!can_be_used(&folder.path().join("link/b")));
        assert!(!can_be_used(Path::new("")));
        if getuid().is_root() {
            let others = folder.path().join("others");
            fs::create_dir(&others).unwrap();
            std::os::unix::fs::chown(&others, Some(12_345), None).unwrap();
            assert!(!can_be_used(&others));
            assert!(!can_be_used(&others.join("b")));
        }
    }
}
