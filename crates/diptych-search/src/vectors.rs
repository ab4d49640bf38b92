//! Vectors in little memory, and the ones nearest to another.
//!
//! A number of a vector takes one byte: the vector's greatest number becomes 127, and what that stands for is kept
//! beside it. For vectors of length 1 with some hundred dimensions that moves a cosine by less than 0.01, and a
//! hundred thousand of 384 dimensions fit into 45 MB.
//!
//! Searching looks at all of them. At this size that takes a few milliseconds, and nothing is missed, as an
//! approximate index would; there is also nothing to build, tune or repair.
//!
//! **Why there is `unsafe` in here.** A program for any x86-64 processor may use none of the instructions of the last
//! fifteen years. The scan is compiled a second time for AVX2, which takes it from 13 ms to 7, and calling that is safe
//! only where the processor has it: which is asked just before. There is no other unsafe code, and no pointer.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use foldhash::{HashMap, HashMapExt};

/// How many vectors lie in one block. Blocks do not move when there are more, so that growing never needs twice the
/// memory.
const BLOCK: usize = 4_096;
/// From how many vectors on a second thread is worth its while.
const WORTH_A_THREAD: usize = 16_384;
/// More threads than this only wait for the memory.
const MOST_THREADS: usize = 4;

/// A vector with a byte for each dimension.
#[derive(Debug, Clone, PartialEq)]
pub struct Quantised {
    /// What a step of one stands for.
    pub scale: f32,
    /// The numbers, in steps.
    pub steps: Box<[i8]>,
}

impl Quantised {
    /// Rounds a vector.
    pub fn of(vector: &[f32]) -> Self {
        let greatest = vector.iter().fold(0.0_f32, |greatest, number| greatest.max(number.abs()));
        let scale = if greatest > 0.0 && greatest.is_finite() { greatest / 127.0 } else { 1.0 };
        #[allow(clippy::cast_possible_truncation, reason = "between -127 and 127")]
        let steps = vector.iter().map(|number| (number / scale).round() as i8).collect();
        Self { scale, steps }
    }

    /// The vector again, as near as it was kept.
    pub fn vector(&self) -> Vec<f32> {
        self.steps.iter().map(|step| f32::from(*step) * self.scale).collect()
    }

    /// The bytes of the steps.
    pub fn to_bytes(&self) -> Vec<u8> {
        self.steps.iter().map(|step| step.cast_unsigned()).collect()
    }

    /// The vector of these bytes.
    pub fn from_bytes(scale: f32, bytes: &[u8]) -> Self {
        Self { scale, steps: bytes.iter().map(|byte| byte.cast_signed()).collect() }
    }
}

/// Many vectors, each with a key and a label to filter by.
#[derive(Debug)]
pub struct Vectors {
    dimensions: usize,
    blocks: Vec<Vec<i8>>,
    scales: Vec<f32>,
    keys: Vec<i64>,
    labels: Vec<u32>,
    places: HashMap<i64, u32>,
}

/// A vector that was found.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Neighbour {
    /// Its key.
    pub key: i64,
    /// The cosine of the angle to what was asked for: 1 for the same direction.
    pub cosine: f32,
}

impl Eq for Neighbour {}

impl Ord for Neighbour {
    fn cmp(&self, other: &Self) -> Ordering {
        // The greatest of a heap is the worst of the best; among equals the lower key is the better one.
        other.cosine.total_cmp(&self.cosine).then(self.key.cmp(&other.key))
    }
}

impl PartialOrd for Neighbour {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Vectors {
    /// No vectors yet, of so many dimensions.
    pub fn new(dimensions: usize) -> Self {
        Self {
            dimensions,
            blocks: Vec::new(),
            scales: Vec::new(),
            keys: Vec::new(),
            labels: Vec::new(),
            places: HashMap::new(),
        }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.keys.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// How many numbers each has.
    pub fn dimensions(&self) -> usize {
        self.dimensions
    }

    /// How many bytes of memory they take.
    pub fn memory(&self) -> usize {
        let beside = size_of::<f32>() + size_of::<i64>() + size_of::<u32>();
        self.blocks.iter().map(Vec::capacity).sum::<usize>()
            + self.keys.capacity() * beside
            + self.places.capacity() * (size_of::<(i64, u32)>() + 1)
    }

    /// Adds a vector or replaces the one of this key. `false`, and nothing happens, if it has other dimensions.
    pub fn set(&mut self, key: i64, label: u32, vector: &Quantised) -> bool {
        if vector.steps.len() != self.dimensions || self.dimensions == 0 {
            return false;
        }
        let place = match self.places.get(&key) {
            Some(place) => *place as usize,
            None => {
                let place = self.keys.len();
                if place.is_multiple_of(BLOCK) {
                    self.blocks.push(Vec::with_capacity(BLOCK * self.dimensions));
                }
                self.blocks[place / BLOCK].extend_from_slice(&vector.steps);
                self.keys.push(key);
                self.scales.push(vector.scale);
                self.labels.push(label);
                self.places.insert(key, place as u32);
                return true;
            }
        };
        self.row_mut(place).copy_from_slice(&vector.steps);
        self.scales[place] = vector.scale;
        self.labels[place] = label;
        true
    }

    /// Takes a vector out, if there is one of this key. The last one moves into its place.
    pub fn remove(&mut self, key: i64) {
        let Some(place) = self.places.remove(&key).map(|place| place as usize) else { return };
        let last = self.keys.len() - 1;
        if place != last {
            let moved = self.row(last).to_vec();
            self.row_mut(place).copy_from_slice(&moved);
            self.places.insert(self.keys[last], place as u32);
        }
        self.keys.swap_remove(place);
        self.scales.swap_remove(place);
        self.labels.swap_remove(place);
        let block = last / BLOCK;
        self.blocks[block].truncate((last % BLOCK) * self.dimensions);
        if last.is_multiple_of(BLOCK) {
            self.blocks.pop();
        }
    }

    /// The cosine of the vector of this key to another; `None` when there is no such vector.
    pub fn cosine(&self, key: i64, query: &Quantised) -> Option<f32> {
        let place = *self.places.get(&key)? as usize;
        let query_steps = widened(query, self.dimensions)?;
        Some(product(self.row(place), &query_steps) as f32 * self.scales[place] * query.scale)
    }

    /// The nearest vectors at this cosine or above, nearest first, of those that `wanted` lets through by key and
    /// label.
    pub fn nearest(
        &self,
        query: &Quantised,
        limit: usize,
        least: f32,
        wanted: impl Fn(i64, u32) -> bool + Sync,
    ) -> Vec<Neighbour> {
        let Some(steps) = widened(query, self.dimensions).filter(|_| limit > 0) else { return Vec::new() };
        let threads = match self.len() {
            0..WORTH_A_THREAD => 1,
            _ => std::thread::available_parallelism().map_or(1, |cores| cores.get().min(MOST_THREADS)),
        };
        let scan = |blocks: std::ops::Range<usize>| {
            let mut best = BinaryHeap::with_capacity(limit + 1);
            let mut of_block = Vec::with_capacity(BLOCK);
            for block in blocks {
                products(&self.blocks[block], &steps, &mut of_block);
                for (place, product) in (block * BLOCK..).zip(&of_block) {
                    let cosine = *product as f32 * self.scales[place] * query.scale;
                    if cosine < least || !wanted(self.keys[place], self.labels[place]) {
                        continue;
                    }
                    let found = Neighbour { key: self.keys[place], cosine };
                    if best.len() < limit {
                        best.push(found);
                    } else if best.peek().is_some_and(|worst| found < *worst) {
                        best.pop();
                        best.push(found);
                    }
                }
            }
            best.into_vec()
        };
        let share = self.blocks.len().div_ceil(threads).max(1);
        let shares = (0..self.blocks.len()).step_by(share);
        let mut found: Vec<Neighbour> = if threads == 1 {
            scan(0..self.blocks.len())
        } else {
            std::thread::scope(|scope| {
                let scan = &scan;
                let running: Vec<_> = shares
                    .map(|first| scope.spawn(move || scan(first..(first + share).min(self.blocks.len()))))
                    .collect();
                // Scanning does not panic; were it to, its share would be missing and not the whole answer.
                running.into_iter().flat_map(|thread| thread.join().unwrap_or_default()).collect()
            })
        };
        found.sort_unstable();
        found.truncate(limit);
        found
    }

    fn row(&self, place: usize) -> &[i8] {
        let start = (place % BLOCK) * self.dimensions;
        &self.blocks[place / BLOCK][start..start + self.dimensions]
    }

    fn row_mut(&mut self, place: usize) -> &mut [i8] {
        let start = (place % BLOCK) * self.dimensions;
        &mut self.blocks[place / BLOCK][start..start + self.dimensions]
    }
}

/// The steps of a query, as the product wants them; `None` if they are not for these vectors.
fn widened(query: &Quantised, dimensions: usize) -> Option<Vec<i16>> {
    (query.steps.len() == dimensions && dimensions > 0)
        .then(|| query.steps.iter().map(|step| i16::from(*step)).collect())
}

/// The products of a query with all rows of a block.
fn products(rows: &[i8], query: &[i16], into: &mut Vec<i32>) {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has AVX2, and the function asks for nothing else.
        #[allow(unsafe_code, reason = "see the header")]
        unsafe {
            products_with_avx2(rows, query, into);
        }
        return;
    }
    products_anywhere(rows, query, into);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn products_with_avx2(rows: &[i8], query: &[i16], into: &mut Vec<i32>) {
    products_anywhere(rows, query, into);
}

#[inline(always)]
fn products_anywhere(rows: &[i8], query: &[i16], into: &mut Vec<i32>) {
    into.clear();
    for row in rows.chunks_exact(query.len()) {
        into.push(product(row, query));
    }
}

/// The product of two vectors. Written so that compilers make it multiply and add sixteen bits at a time, in
/// whatever registers there are: pairs of products never leave thirty-two bits.
#[inline(always)]
fn product(row: &[i8], query: &[i16]) -> i32 {
    row.iter().zip(query).map(|(step, other)| i32::from(i16::from(*step)) * i32::from(*other)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ways_to_multiply_agree() {
        let rows: Vec<i8> = (0..5 * 384).map(|number: i32| ((number * 37 + 11) % 255 - 127) as i8).collect();
        let query: Vec<i16> = (0..384).map(|number: i32| ((number * 53 + 7) % 255 - 127) as i16).collect();
        let (mut here, mut anywhere) = (Vec::new(), Vec::new());
        products(&rows, &query, &mut here);
        products_anywhere(&rows, &query, &mut anywhere);
        assert_eq!((here.len(), &here), (5, &anywhere));
        let extremes = [-127_i8; 384];
        products(&extremes, &[-127; 384], &mut here);
        assert_eq!(here, [384 * 127 * 127]);
    }
}
