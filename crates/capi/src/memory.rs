//! The memory map of this process, from `/proc/self/maps`: which memory may be read and written, and which file it
//! maps.
//!
//! The interfaces check addresses against it before they dereference them ([`super::pointers`]), and a library finds
//! the file that it was loaded from. On systems without such a list there is no [`Maps`], and the checks are weaker.

use std::ops::Range;
use std::path::{Path, PathBuf};

/// The mapped regions, in ascending order.
#[derive(Clone, Debug)]
pub struct Maps {
    readable: Vec<Range<usize>>,
    writable: Vec<Range<usize>>,
    /// Regions that map files.
    files: Vec<(Range<usize>, PathBuf)>,
}

impl Maps {
    /// Reads the current regions.
    pub fn read() -> Option<Maps> {
        Maps::parse(&std::fs::read("/proc/self/maps").ok()?)
    }

    /// Parses the text of `/proc/<pid>/maps`, in which file names may contain any bytes.
    fn parse(text: &[u8]) -> Option<Maps> {
        let mut maps = Maps {
            readable: Vec::new(),
            writable: Vec::new(),
            files: Vec::new(),
        };
        for bytes in text
            .split(|&byte| byte == b'\n')
            .filter(|line| !line.is_empty())
        {
            let at = bytes.iter().position(|&byte| byte == b'/');
            let (head, file) = bytes.split_at(at.unwrap_or(bytes.len()));
            let line = String::from_utf8_lossy(head);
            // 55d0c8a00000-55d0c8a21000 rw-p 00000000 00:00 0    [heap]
            let mut words = line.split_ascii_whitespace();
            let (start, end) = words.next()?.split_once('-')?;
            let start = usize::from_str_radix(start, 16).ok();
            let end = usize::from_str_radix(end, 16).ok();
            // No caller's address lies in a region beyond the address space (vsyscall, on 32 bits).
            let (Some(start), Some(end)) = (start, end) else {
                continue;
            };
            let permissions = words.next()?.as_bytes();
            if !file.is_empty() {
                maps.files.push((start..end, path_of(file)));
            }
            if permissions.first() == Some(&b'r') {
                join(&mut maps.readable, start..end);
            }
            if permissions.get(1) == Some(&b'w') {
                join(&mut maps.writable, start..end);
            }
        }
        (!maps.readable.is_empty()).then_some(maps)
    }

    /// Returns whether these bytes may be read.
    pub fn readable(&self, address: usize, bytes: usize) -> bool {
        inside(&self.readable, address, bytes)
    }

    /// Returns whether these bytes may be written.
    pub fn writable(&self, address: usize, bytes: usize) -> bool {
        inside(&self.writable, address, bytes)
    }

    /// Returns the file mapped at an address, by its current name.
    pub fn file(&self, address: usize) -> Option<&Path> {
        let mut files = self.files.iter();
        let found = files.find(|(region, _)| region.contains(&address))?;
        Some(&found.1)
    }
}

/// Converts a path as the system reports it.
#[cfg(unix)]
pub fn path_of(bytes: &[u8]) -> PathBuf {
    use std::os::unix::ffi::OsStrExt;
    std::ffi::OsStr::from_bytes(bytes).into()
}

/// Converts a path as the system reports it.
#[cfg(not(unix))]
pub fn path_of(bytes: &[u8]) -> PathBuf {
    String::from_utf8_lossy(bytes).into_owned().into()
}

/// Appends a region, merging it into the last one if they touch.
fn join(regions: &mut Vec<Range<usize>>, region: Range<usize>) {
    match regions.last_mut() {
        Some(last) if last.end == region.start => last.end = region.end,
        _ => regions.push(region),
    }
}

fn inside(regions: &[Range<usize>], address: usize, bytes: usize) -> bool {
    let Some(end) = address.checked_add(bytes) else {
        return false;
    };
    let above = regions.partition_point(|r| r.start <= address);
    above > 0 && end <= regions[above - 1].end && bytes > 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn regions_that_touch_are_one() {
        let maps = Maps::parse(
            b"1000-2000 r--p 00000000 08:01 1 /bin/x\n\
             2000-3000 rw-p 00001000 08:01 1 /bin/x y\n\
             4000-5000 ---p 00000000 00:00 0\n\
             ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0 [vsyscall]\n",
        )
        .unwrap();
        assert!(maps.readable(0x1000, 0x2000));
        assert!(!maps.readable(0x1000, 0x2001));
        assert!(maps.writable(0x2800, 0x800));
        assert!(!maps.writable(0x1fff, 2));
        assert!(!maps.readable(0x4000, 1));
        assert!(!maps.readable(0xfff, 1));
        assert!(!maps.readable(0, 1));
        assert!(!maps.readable(0x1000, usize::MAX));
        assert_eq!(maps.file(0x1fff), Some(Path::new("/bin/x")));
        assert_eq!(maps.file(0x2000), Some(Path::new("/bin/x y")));
        assert_eq!(maps.file(0x4000), None);
        assert!(Maps::parse(b"no maps at all").is_none());
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_mapped_file_may_have_any_name() {
        use std::os::fd::AsRawFd;
        use std::os::unix::ffi::OsStrExt;
        let folder = tempfile::tempdir().unwrap();
        let name = std::ffi::OsStr::from_bytes(b"caf\xe9.so");
        let path = folder.path().join(name);
        std::fs::write(&path, [0; 4096]).unwrap();
        let file = std::fs::File::open(&path).unwrap();
        // SAFETY: a new region that nothing else uses.
        let region = unsafe {
            let (null, fd) = (std::ptr::null_mut(), file.as_raw_fd());
            libc::mmap(null, 4096, libc::PROT_READ, libc::MAP_PRIVATE, fd, 0)
        };
        assert_ne!(region, libc::MAP_FAILED);
        let maps = Maps::read().expect("maps");
        assert!(maps.readable(region as usize, 4096));
        assert_eq!(maps.file(region as usize), Some(path.as_path()));
        // SAFETY: the region mapped above.
        unsafe { libc::munmap(region, 4096) };
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn own_memory_is_known() {
        static CONSTANT: [u64; 4] = [1, 2, 3, 4];
        let mut local = [0u8; 100];
        let heap = vec![0u8; 1 << 20];
        let maps = Maps::read().unwrap();
        assert!(maps.writable(local.as_mut_ptr() as usize, 100));
        assert!(maps.writable(heap.as_ptr() as usize, heap.len()));
        let constant = CONSTANT.as_ptr() as usize;
        assert!(maps.readable(constant, 32));
        assert!(!maps.writable(constant, 32));
        assert!(!maps.readable(8, 8));
    }
}
