//! Files that are either written completely or not at all.

use crate::text::without_number;
use mebridge::{Error, Result};
use mebridge_support::files::temporary::{Temporary, folder_of};
use std::fs::{self, File, Metadata, Permissions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};
use std::path::{Path, PathBuf};

/// Largest number of links followed, as in Linux.
const MAX_LINKS: usize = 40;

/// The file that `output` refers to, if it can be written and is not one of the `inputs`. Links are followed: the
/// target of a link is replaced, not the link.
///
/// # Errors
/// It is not a regular file, is one of the inputs, or cannot be written.
pub fn target<'a>(output: &Path, inputs: impl IntoIterator<Item = &'a Path>) -> Result<PathBuf> {
    let path = leads_to(output).map_err(|error| unwritten(output, &error))?;
    let seen = Temporary::file(folder_of(&path), 0o666).and_then(|_| look(&path));
    let Some(seen) = seen.map_err(|error| unwritten(&path, &error))? else {
        return Ok(path);
    };
    let shown = output.display();
    if !seen.is_file() {
        return Err(Error::run(
            format!("{shown} is a folder, a device or a pipe, no file"),
            "name a file for the events",
        ));
    }
    let is_it = |other: Metadata| (other.dev(), other.ino()) == (seen.dev(), seen.ino());
    if inputs
        .into_iter()
        .any(|input| fs::metadata(input).is_ok_and(is_it))
    {
        let what = format!("{shown} is read by this run");
        return Err(Error::run(what, "name another file for the events"));
    }
    Ok(path)
}

/// Writes a file under a temporary name, which then replaces `output`, a file or a link. Owner and permissions of a
/// replaced file are kept.
///
/// # Errors
/// The file cannot be written, or `write` fails.
pub fn replace(output: &Path, write: impl FnOnce(&File) -> Result<()>) -> Result<()> {
    let failed = |error: io::Error| unwritten(output, &error);
    let (part, file) = Temporary::file(folder_of(output), 0o666).map_err(failed)?;
    write(&file)?;
    let whole = || {
        resemble(&file, output)?;
        file.sync_all()
    };
    whole().map_err(failed)?;
    part.keep(output).map_err(failed)
}

/// Writes a text file with [`replace`].
///
/// # Errors
/// The file cannot be written.
pub fn write_text(output: &Path, text: &str) -> Result<()> {
    replace(output, |mut file| {
        let written = file.write_all(text.as_bytes());
        written.map_err(|error| unwritten(output, &error))
    })
}

/// The error for a file that cannot be written.
pub fn unwritten(output: &Path, error: &io::Error) -> Error {
    let why = without_number(error);
    Error::run(format!("{} cannot be written: {why}", output.display()), "")
}

/// The absolute path that a name leads to, which need not exist.
fn leads_to(name: &Path) -> io::Result<PathBuf> {
    let mut path = std::path::absolute(name)?;
    for _ in 0..MAX_LINKS {
        let Ok(to) = fs::read_link(&path) else {
            break;
        };
        path = folder_of(&path).join(to);
    }
    if let Ok(found) = path.canonicalize() {
        return Ok(found);
    }
    Ok(match (path.file_name(), folder_of(&path).canonicalize()) {
        (Some(name), Ok(folder)) => folder.join(name),
        _ => path,
    })
}

fn look(path: &Path) -> io::Result<Option<Metadata>> {
    match fs::metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        seen => seen.map(Some),
    }
}

/// Gives a file the owner and permissions of the one that it replaces; nothing is copied from a link.
fn resemble(file: &File, former: &Path) -> io::Result<()> {
    let before = match fs::symlink_metadata(former) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        before => before?,
    };
    if before.is_symlink() {
        return Ok(());
    }
    let here = file.metadata()?;
    if (before.uid(), before.gid()) != (here.uid(), here.gid()) {
        // Only root may change the owner.
        match fchown(file, Some(before.uid()), Some(before.gid())) {
            Err(error) if error.kind() != ErrorKind::PermissionDenied => return Err(error),
            _ => {}
        }
    }
    file.set_permissions(Permissions::from_mode(before.mode() & 0o777))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::CString;
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::fs::symlink;

    fn names(folder: &Path) -> usize {
        fs::read_dir(folder).unwrap().count()
    }

    #[test]
    fn what_is_no_file_or_is_read_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let pipe = CString::new(at("pipe").as_os_str().as_bytes()).unwrap();
        // SAFETY: the name ends with a zero byte.
        assert_eq!(unsafe { libc::mkfifo(pipe.as_ptr(), 0o600) }, 0);
        fs::write(at("card.dat"), "a card").unwrap();
        symlink(at("card.dat"), at("link")).unwrap();
        let card = at("card.dat");
        let refused = |output: PathBuf, why: &str| {
            let error = target(&output, [card.as_path()]).unwrap_err().to_string();
            assert!(error.contains(why), "{error}");
        };
        refused(
            at("no/x.lhe"),
            "x.lhe cannot be written: No such file or directory",
        );
        refused(at("card.dat/x.lhe"), "cannot be written: Not a directory");
        refused(at(&"x".repeat(300)), "File name too long");
        refused(at("x\0y"), "NUL");
        for output in [folder.path().to_owned(), at("pipe"), "/dev/null".into()] {
            refused(output, "no file; name a file for the events");
        }
        for output in [at("card.dat"), at("link"), at("./card.dat")] {
            refused(output, "is read by this run; name another file");
        }
        let other = target(&at("link"), [at("none").as_path()]).unwrap();
        assert_eq!(other, card.canonicalize().unwrap());
        assert_eq!(fs::read(&card).unwrap(), b"a card");
        assert_eq!(names(folder.path()), 3);
    }

    #[test]
    fn a_link_leads_to_a_file_that_is_not_there_yet() {
        let folder = tempfile::tempdir().unwrap();
        let real = folder.path().canonicalize().unwrap().join("real.lhe");
        symlink("link", folder.path().join("x.lhe")).unwrap();
        symlink("real.lhe", folder.path().join("link")).unwrap();
        let found = target(&folder.path().join("x.lhe"), []).unwrap();
        assert_eq!(found, real);
        symlink("round", folder.path().join("round")).unwrap();
        let error = target(&folder.path().join("round"), []).unwrap_err();
        assert!(error.to_string().contains("cannot be written"), "{error}");
    }

    #[test]
    fn a_file_is_whole_and_keeps_its_permissions() {
        let folder = tempfile::tempdir().unwrap();
        let (path, link) = (folder.path().join("a"), folder.path().join("link"));
        write_text(&path, "one").unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o640)).unwrap();
        let failed = replace(&path, |mut file| {
            file.write_all(b"tw").unwrap();
            Err(Error::run("it fails", ""))
        });
        assert_eq!(failed.unwrap_err().to_string(), "it fails");
        assert_eq!(fs::read(&path).unwrap(), b"one");
        write_text(&path, "two").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"two");
        assert_eq!(path.metadata().unwrap().mode() & 0o777, 0o640);
        // The link itself is replaced, not its target.
        symlink(&path, &link).unwrap();
        write_text(&link, "three").unwrap();
        assert!(!link.is_symlink());
        assert_eq!(fs::read(&path).unwrap(), b"two");
        let nowhere = write_text(&folder.path().join("no/a"), "").unwrap_err();
        assert!(nowhere.to_string().ends_with("No such file or directory"));
        assert_eq!(names(folder.path()), 2);
    }
}
