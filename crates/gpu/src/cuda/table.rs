//! Things that are named by numbers.
//!
//! A number is never given out twice in a program. A thing is dropped when it is out of the table and nobody works with
//! it any more. So no number that is passed in can name something that is gone, or something of another GPU.

use mebridge_support::error::{Error, Result};
use rustc_hash::FxHashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

/// The number of what comes next, in whichever table.
static NEXT: AtomicUsize = AtomicUsize::new(0);

/// Things by their numbers.
pub struct HandleTable<T> {
    /// What an error calls them.
    kind: &'static str,
    things: Mutex<FxHashMap<usize, Arc<T>>>,
}

impl<T> HandleTable<T> {
    /// An empty one.
    pub fn new(kind: &'static str) -> HandleTable<T> {
        HandleTable {
            kind,
            things: Mutex::default(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, FxHashMap<usize, Arc<T>>> {
        // Nothing panics between two states of it.
        self.things.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// Puts something in and gives its number.
    pub fn add(&self, thing: T) -> usize {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        self.lock().insert(number, Arc::new(thing));
        number
    }

    /// What has this number.
    pub fn get(&self, number: usize) -> Result<Arc<T>> {
        let thing = self.lock().get(&number).cloned();
        thing.ok_or_else(|| Error::GpuCall {
            call: self.kind,
            what: format!("there is none with number {number}"),
        })
    }

    /// Takes out what has this number.
    pub fn remove(&self, number: usize) -> Option<Arc<T>> {
        self.lock().remove(&number)
    }

    /// Takes out all for which this does not hold.
    pub fn retain(&self, keep: impl Fn(&T) -> bool) {
        let mut gone = Vec::new();
        self.lock().retain(|_, thing| {
            let keep = keep(thing);
            if !keep {
                gone.push(thing.clone());
            }
            keep
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_names_one_thing_for_ever() {
        let table = HandleTable::new("a word");
        let (a, b) = (table.add("a"), table.add("b"));
        assert_eq!(*table.get(a).unwrap(), "a");
        assert!(table.remove(a).is_some());
        assert!(table.remove(a).is_none());
        let message = table.get(a).unwrap_err().to_string();
        assert!(message.contains("a word"), "{message}");
        assert_ne!(table.add("c"), a);
        table.retain(|thing| *thing == "b");
        assert_eq!(*table.get(b).unwrap(), "b");
        let other = HandleTable::new("another word");
        let c = other.add("c");
        assert!(table.get(c).is_err() && other.get(b).is_err());
    }
}
