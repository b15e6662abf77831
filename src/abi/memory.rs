//! Which memory of this process may be read and written, from `/proc/self/maps`.
//!
//! The Fortran door uses it to test the addresses that it is given before it follows them. Where
//! the system has no such file there is no [`Maps`], and the door is left with weaker tests.

use std::ops::Range;

/// The mapped regions, in ascending order.
#[derive(Clone, Debug)]
pub struct Maps {
    readable: Vec<Range<usize>>,
    writable: Vec<Range<usize>>,
}

impl Maps {
    /// The regions at this moment.
    pub fn read() -> Option<Maps> {
        let bytes = std::fs::read("/proc/self/maps").ok()?;
        // Paths of files stand in it, which may be any bytes.
        Maps::parse(&String::from_utf8_lossy(&bytes))
    }

    /// Reads the text of `/proc/<pid>/maps`.
    fn parse(text: &str) -> Option<Maps> {
        let mut maps = Maps {
            readable: Vec::new(),
            writable: Vec::new(),
        };
        for line in text.lines() {
            // 55d0c8a00000-55d0c8a21000 rw-p 00000000 00:00 0    [heap]
            let mut words = line.split_ascii_whitespace();
            let (start, end) = words.next()?.split_once('-')?;
            let start = usize::from_str_radix(start, 16).ok();
            let end = usize::from_str_radix(end, 16).ok();
            // A region beyond the address space (vsyscall, on 32 bits) is none that we are given.
            let (Some(start), Some(end)) = (start, end) else {
                continue;
            };
            let permissions = words.next()?.as_bytes();
            if permissions.first() == Some(&b'r') {
                join(&mut maps.readable, start..end);
            }
            if permissions.get(1) == Some(&b'w') {
                join(&mut maps.writable, start..end);
            }
        }
        (!maps.readable.is_empty()).then_some(maps)
    }

    /// Whether these bytes may be read.
    pub fn readable(&self, address: usize, bytes: usize) -> bool {
        inside(&self.readable, address, bytes)
    }

    /// Whether these bytes may be written.
    pub fn writable(&self, address: usize, bytes: usize) -> bool {
        inside(&self.writable, address, bytes)
    }
}

/// So many numbers are asked for before they are followed.
pub const LARGE: usize = 1 << 26;

/// Whether a large array is not there, as far as the system tells. Small ones are taken for what the caller says.
pub fn lacks<T>(pointer: *const T, n: usize, written: bool) -> bool {
    if n < LARGE {
        return false;
    }
    let Some(bytes) = n.checked_mul(size_of::<T>()) else {
        return true;
    };
    Maps::read().is_some_and(|maps| match written {
        true => !maps.writable(pointer as usize, bytes),
        false => !maps.readable(pointer as usize, bytes),
    })
}

/// Appends a region, or lengthens the last one where they touch.
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
            "1000-2000 r--p 00000000 08:01 1 /bin/x\n\
             2000-3000 rw-p 00001000 08:01 1 /bin/x\n\
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
        assert!(Maps::parse("no maps at all").is_none());
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
        // SAFETY: a new region, which nobody else uses.
        let region = unsafe {
            let (null, fd) = (std::ptr::null_mut(), file.as_raw_fd());
            libc::mmap(null, 4096, libc::PROT_READ, libc::MAP_PRIVATE, fd, 0)
        };
        assert_ne!(region, libc::MAP_FAILED);
        let maps = Maps::read().expect("maps");
        assert!(maps.readable(region as usize, 4096));
        // SAFETY: the region from above.
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
