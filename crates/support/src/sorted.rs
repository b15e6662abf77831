//! Maps and sets as sorted vectors, for what is looked up by key and listed in order: cards, names, legs of a line.
//!
//! An entry is found in log n steps. A new one moves those after it, so single entries should come in order, or be a few
//! thousand at most; many at once are sorted together. `BTreeMap` has no such limit, but for each type of key and value the compiler makes 6000 to 12 000 lines of
//! LLVM of it, and a tenth of that of these. Of the crates with such maps sorted_vector_map has no serde, and litemap no set.

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde::ser::{Serialize, Serializer};
use std::borrow::Borrow;
use std::cmp::Ordering;
use std::fmt;
use std::marker::PhantomData;
use std::ops::{Index, Sub};
use std::{slice, vec};

/// Sorts items; of equal ones the last stays.
fn sort<T>(items: &mut Vec<T>, compare: impl Fn(&T, &T) -> Ordering) {
    if items.is_sorted_by(|a, b| compare(a, b).is_lt()) {
        return;
    }
    let order = order(items.len(), &|a, b| compare(&items[a], &items[b]));
    let mut taken: Vec<Option<T>> = std::mem::take(items).into_iter().map(Some).collect();
    items.extend(order.into_iter().filter_map(|at| taken[at].take()));
}

/// Returns the indices below a number in an order, without all but the last of equal ones. The compiler makes a sort once
/// for all types.
fn order(count: usize, compare: &dyn Fn(usize, usize) -> Ordering) -> Vec<usize> {
    let mut order: Vec<usize> = (0..count).collect();
    order.sort_by(|&a, &b| compare(a, b));
    order.dedup_by(|later, earlier| {
        let are_equal = compare(*later, *earlier).is_eq();
        if are_equal {
            *earlier = *later;
        }
        are_equal
    });
    order
}

/// A map as a vector of entries, sorted by their keys.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SortedMap<K, V> {
    entries: Vec<(K, V)>,
}

impl<K, V> SortedMap<K, V> {
    /// An empty map.
    pub const fn new() -> Self {
        SortedMap {
            entries: Vec::new(),
        }
    }

    /// The number of entries.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether the map has no entry.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The entries in order of their keys.
    pub fn iter(&self) -> Iter<'_, K, V> {
        Iter(self.entries.iter())
    }

    /// As [`iter`](Self::iter), with mutable values.
    pub fn iter_mut(&mut self) -> impl DoubleEndedIterator<Item = (&K, &mut V)> {
        self.entries.iter_mut().map(|(key, value)| (&*key, value))
    }

    /// The keys in order.
    pub fn keys(&self) -> impl DoubleEndedIterator<Item = &K> + ExactSizeIterator + Clone {
        self.entries.iter().map(|(key, _)| key)
    }

    /// The values in order of their keys.
    pub fn values(&self) -> impl DoubleEndedIterator<Item = &V> + ExactSizeIterator + Clone {
        self.entries.iter().map(|(_, value)| value)
    }

    /// As [`values`](Self::values), mutably.
    pub fn values_mut(&mut self) -> impl DoubleEndedIterator<Item = &mut V> {
        self.entries.iter_mut().map(|(_, value)| value)
    }

    /// The values in order of their keys.
    pub fn into_values(self) -> impl DoubleEndedIterator<Item = V> + ExactSizeIterator {
        self.entries.into_iter().map(|(_, value)| value)
    }

    /// Removes all entries.
    pub fn clear(&mut self) {
        self.entries.clear();
    }

    /// Keeps only the entries for which `keep` is true.
    pub fn retain(&mut self, mut keep: impl FnMut(&K, &mut V) -> bool) {
        self.entries.retain_mut(|(key, value)| keep(key, value));
    }
}

impl<K: Ord, V> SortedMap<K, V> {
    /// Where the key is, or else where it belongs.
    fn position<Q: Ord + ?Sized>(&self, key: &Q) -> Result<usize, usize>
    where
        K: Borrow<Q>,
    {
        self.entries
            .binary_search_by(|(other, _)| other.borrow().cmp(key))
    }

    /// The value of a key.
    pub fn get<Q: Ord + ?Sized>(&self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
    {
        let at = self.position(key).ok()?;
        Some(&self.entries[at].1)
    }

    /// As [`get`](Self::get), mutably.
    pub fn get_mut<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<&mut V>
    where
        K: Borrow<Q>,
    {
        let at = self.position(key).ok()?;
        Some(&mut self.entries[at].1)
    }

    /// Whether there is such a key.
    pub fn contains_key<Q: Ord + ?Sized>(&self, key: &Q) -> bool
    where
        K: Borrow<Q>,
    {
        self.position(key).is_ok()
    }

    /// Sets the value of a key, and returns the one that it had.
    pub fn insert(&mut self, key: K, value: V) -> Option<V> {
        match self.position(&key) {
            Ok(at) => Some(std::mem::replace(&mut self.entries[at].1, value)),
            Err(at) => {
                self.entries.insert(at, (key, value));
                None
            }
        }
    }

    /// Removes a key, and returns its value.
    pub fn remove<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
    {
        let at = self.position(key).ok()?;
        Some(self.entries.remove(at).1)
    }

    /// The entry of a key, which may have to be made.
    pub fn entry(&mut self, key: K) -> SortedEntry<'_, K, V> {
        let place = self.position(&key);
        SortedEntry {
            entries: &mut self.entries,
            place,
            key,
        }
    }
}

/// An entry of a map, which may have to be made.
pub struct SortedEntry<'a, K, V> {
    entries: &'a mut Vec<(K, V)>,
    place: Result<usize, usize>,
    key: K,
}

impl<'a, K, V> SortedEntry<'a, K, V> {
    /// The value, which is that of `make` if the entry is new.
    pub fn or_insert_with(self, make: impl FnOnce() -> V) -> &'a mut V {
        let at = match self.place {
            Ok(at) => at,
            Err(at) => {
                self.entries.insert(at, (self.key, make()));
                at
            }
        };
        &mut self.entries[at].1
    }

    /// The value, which is `value` if the entry is new.
    pub fn or_insert(self, value: V) -> &'a mut V {
        self.or_insert_with(|| value)
    }

    /// The value, which is that of `Default` if the entry is new.
    pub fn or_default(self) -> &'a mut V
    where
        V: Default,
    {
        self.or_insert_with(V::default)
    }
}

impl<K, V> Default for SortedMap<K, V> {
    fn default() -> Self {
        SortedMap::new()
    }
}

impl<K: fmt::Debug, V: fmt::Debug> fmt::Debug for SortedMap<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self).finish()
    }
}

impl<K: Ord + Borrow<Q>, Q: Ord + ?Sized, V> Index<&Q> for SortedMap<K, V> {
    type Output = V;

    fn index(&self, key: &Q) -> &V {
        self.get(key).expect("the map has this key")
    }
}

impl<K: Ord, V> Extend<(K, V)> for SortedMap<K, V> {
    fn extend<I: IntoIterator<Item = (K, V)>>(&mut self, entries: I) {
        self.entries.extend(entries);
        sort(&mut self.entries, |(a, _), (b, _)| a.cmp(b));
    }
}

impl<K: Ord, V> FromIterator<(K, V)> for SortedMap<K, V> {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(entries: I) -> Self {
        let mut map = SortedMap::new();
        map.extend(entries);
        map
    }
}

impl<K: Ord, V, const N: usize> From<[(K, V); N]> for SortedMap<K, V> {
    fn from(entries: [(K, V); N]) -> Self {
        SortedMap::from_iter(entries)
    }
}

/// The entries of a [`SortedMap`].
pub struct Iter<'a, K, V>(slice::Iter<'a, (K, V)>);

impl<K, V> Clone for Iter<'_, K, V> {
    fn clone(&self) -> Self {
        Iter(self.0.clone())
    }
}

impl<'a, K, V> Iterator for Iter<'a, K, V> {
    type Item = (&'a K, &'a V);

    fn next(&mut self) -> Option<Self::Item> {
        self.0.next().map(|(key, value)| (key, value))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.0.size_hint()
    }
}

impl<K, V> DoubleEndedIterator for Iter<'_, K, V> {
    fn next_back(&mut self) -> Option<Self::Item> {
        self.0.next_back().map(|(key, value)| (key, value))
    }
}

impl<K, V> ExactSizeIterator for Iter<'_, K, V> {}

impl<'a, K, V> IntoIterator for &'a SortedMap<K, V> {
    type Item = (&'a K, &'a V);
    type IntoIter = Iter<'a, K, V>;

    fn into_iter(self) -> Iter<'a, K, V> {
        self.iter()
    }
}

impl<K, V> IntoIterator for SortedMap<K, V> {
    type Item = (K, V);
    type IntoIter = vec::IntoIter<(K, V)>;

    fn into_iter(self) -> vec::IntoIter<(K, V)> {
        self.entries.into_iter()
    }
}

impl<K: Serialize, V: Serialize> Serialize for SortedMap<K, V> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self)
    }
}

impl<'de, K: Deserialize<'de> + Ord, V: Deserialize<'de>> Deserialize<'de> for SortedMap<K, V> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Entries<K, V>(PhantomData<(K, V)>);

        impl<'de, K: Deserialize<'de> + Ord, V: Deserialize<'de>> Visitor<'de> for Entries<K, V> {
            type Value = SortedMap<K, V>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a map")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Self::Value, A::Error> {
                let mut entries = Vec::new();
                while let Some(entry) = access.next_entry()? {
                    entries.push(entry);
                }
                Ok(SortedMap::from_iter(entries))
            }
        }

        deserializer.deserialize_map(Entries(PhantomData))
    }
}

/// A set as a sorted vector.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SortedSet<T> {
    items: Vec<T>,
}

impl<T> SortedSet<T> {
    /// An empty set.
    pub const fn new() -> Self {
        SortedSet { items: Vec::new() }
    }

    /// The number of items.
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// Whether the set has no item.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// The items in order.
    pub fn iter(&self) -> slice::Iter<'_, T> {
        self.items.iter()
    }

    /// The smallest item.
    pub fn first(&self) -> Option<&T> {
        self.items.first()
    }

    /// The largest item.
    pub fn last(&self) -> Option<&T> {
        self.items.last()
    }

    /// Keeps only the items for which `keep` is true.
    pub fn retain(&mut self, keep: impl FnMut(&T) -> bool) {
        self.items.retain(keep);
    }
}

impl<T: Ord> SortedSet<T> {
    /// Whether the set contains this item.
    pub fn contains<Q: Ord + ?Sized>(&self, item: &Q) -> bool
    where
        T: Borrow<Q>,
    {
        self.position(item).is_ok()
    }

    /// Adds an item; false if it was there.
    pub fn insert(&mut self, item: T) -> bool {
        let place = self.position(&item);
        if let Err(at) = place {
            self.items.insert(at, item);
        }
        place.is_err()
    }

    /// Removes an item; false if it was not there.
    pub fn remove<Q: Ord + ?Sized>(&mut self, item: &Q) -> bool
    where
        T: Borrow<Q>,
    {
        let place = self.position(item);
        if let Ok(at) = place {
            self.items.remove(at);
        }
        place.is_ok()
    }

    /// Where the item is, or else where it belongs.
    fn position<Q: Ord + ?Sized>(&self, item: &Q) -> Result<usize, usize>
    where
        T: Borrow<Q>,
    {
        self.items
            .binary_search_by(|other| other.borrow().cmp(item))
    }

    /// The items that `other` lacks, in order.
    pub fn difference<'a>(&'a self, other: &'a Self) -> impl Iterator<Item = &'a T> {
        self.items.iter().filter(|&item| !other.contains(item))
    }

    /// The items that are in `other`, too, in order.
    pub fn intersection<'a>(&'a self, other: &'a Self) -> impl Iterator<Item = &'a T> {
        self.items.iter().filter(|&item| other.contains(item))
    }

    /// Whether all items are in `other`.
    pub fn is_subset(&self, other: &Self) -> bool {
        self.difference(other).next().is_none()
    }

    /// Whether no item is in `other`.
    pub fn is_disjoint(&self, other: &Self) -> bool {
        self.intersection(other).next().is_none()
    }
}

impl<T> Default for SortedSet<T> {
    fn default() -> Self {
        SortedSet::new()
    }
}

impl<T: fmt::Debug> fmt::Debug for SortedSet<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self).finish()
    }
}

impl<T: Ord> Extend<T> for SortedSet<T> {
    fn extend<I: IntoIterator<Item = T>>(&mut self, items: I) {
        self.items.extend(items);
        sort(&mut self.items, T::cmp);
    }
}

impl<T: Ord> FromIterator<T> for SortedSet<T> {
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Self {
        let mut set = SortedSet::new();
        set.extend(items);
        set
    }
}

impl<T: Ord, const N: usize> From<[T; N]> for SortedSet<T> {
    fn from(items: [T; N]) -> Self {
        SortedSet::from_iter(items)
    }
}

impl<'a, T> IntoIterator for &'a SortedSet<T> {
    type Item = &'a T;
    type IntoIter = slice::Iter<'a, T>;

    fn into_iter(self) -> slice::Iter<'a, T> {
        self.iter()
    }
}

impl<T> IntoIterator for SortedSet<T> {
    type Item = T;
    type IntoIter = vec::IntoIter<T>;

    fn into_iter(self) -> vec::IntoIter<T> {
        self.items.into_iter()
    }
}

impl<T: Ord + Clone> Sub for &SortedSet<T> {
    type Output = SortedSet<T>;

    fn sub(self, other: Self) -> SortedSet<T> {
        SortedSet {
            items: self.difference(other).cloned().collect(),
        }
    }
}

impl<T: Serialize> Serialize for SortedSet<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.items.serialize(serializer)
    }
}

impl<'de, T: Deserialize<'de> + Ord> Deserialize<'de> for SortedSet<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Vec::deserialize(deserializer).map(SortedSet::from_iter)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::{BTreeMap, BTreeSet};

    /// Numbers below 50 in no order.
    fn numbers() -> impl Iterator<Item = u32> {
        (0..200u32)
            .map(|i| i.wrapping_mul(2654435761) >> 7)
            .map(|x| x % 50)
    }

    #[test]
    fn a_map_is_that_of_the_standard_library() {
        let (mut map, mut known) = (SortedMap::new(), BTreeMap::new());
        for (value, key) in numbers().enumerate() {
            match value % 4 {
                0 => assert_eq!(map.remove(&key), known.remove(&key)),
                1 => *map.entry(key).or_default() += value,
                _ => assert_eq!(map.insert(key, value), known.insert(key, value)),
            }
            if value % 4 == 1 {
                *known.entry(key).or_default() += value;
            }
            assert!(map.iter().eq(known.iter()));
            assert_eq!(map.get(&(key + 1)), known.get(&(key + 1)));
        }
        assert_eq!(format!("{map:?}"), format!("{known:?}"));
        map.retain(|key, _| key % 2 == 0);
        known.retain(|key, _| key % 2 == 0);
        assert!(map.into_iter().eq(known));
    }

    #[test]
    fn many_entries_are_sorted_at_once() {
        let entries = || numbers().zip(0u32..);
        let (mut map, mut known) = (
            SortedMap::from_iter(entries()),
            BTreeMap::from_iter(entries()),
        );
        assert!(map.iter().eq(known.iter()));
        let more = || numbers().map(|x| 3 * x).zip(1000u32..);
        map.extend(more());
        known.extend(more());
        assert!(map.iter().eq(known.iter()));
        let (set, known): (SortedSet<u32>, BTreeSet<u32>) =
            (numbers().collect(), numbers().collect());
        assert!(set.iter().eq(known.iter()));
    }

    #[test]
    fn a_set_is_that_of_the_standard_library() {
        let (mut set, mut known) = (SortedSet::new(), BTreeSet::new());
        for (i, item) in numbers().enumerate() {
            match i % 3 {
                0 => assert_eq!(set.remove(&item), known.remove(&item)),
                _ => assert_eq!(set.insert(item), known.insert(item)),
            }
            assert!(set.iter().eq(known.iter()));
        }
        let other: SortedSet<u32> = numbers().filter(|x| x % 3 == 0).collect();
        let known_other: BTreeSet<u32> = other.iter().copied().collect();
        assert!((&set - &other).iter().eq((&known - &known_other).iter()));
        assert!(
            set.intersection(&other)
                .eq(known.intersection(&known_other))
        );
        assert_eq!(set.is_subset(&other), known.is_subset(&known_other));
        assert!((&set - &other).is_disjoint(&other) && (&set - &other).is_subset(&set));
    }
}
