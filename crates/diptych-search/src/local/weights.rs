//! Tensors from a safetensors file, one by one.
//!
//! By hand, because the format's own crate wants the whole file in memory, and half of this one is a table of words
//! of which a text needs a few rows.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::Path;

use ndarray::Array2;
use serde::Deserialize;
use sha2::{Digest as _, Sha256};

/// More than any header has.
const LONGEST_HEADER: u64 = 16 * 1024 * 1024;

#[derive(Deserialize)]
struct Info {
    dtype: String,
    shape: Vec<usize>,
    data_offsets: (u64, u64),
}

/// An open file of weights. Its problems are the ends of a sentence that begins with the file's name.
pub(super) struct Weights {
    file: File,
    tensors: BTreeMap<String, Info>,
    /// Where the numbers begin.
    start: u64,
}

impl Weights {
    pub(super) fn open(path: &Path) -> Result<Self, String> {
        let mut file = File::open(path).map_err(cannot_read)?;
        let size = file.metadata().map_err(cannot_read)?.len();
        let mut length = [0; 8];
        file.read_exact(&mut length).map_err(cannot_read)?;
        let length = u64::from_le_bytes(length);
        if length > LONGEST_HEADER || length + 8 > size {
            return Err("is not a safetensors file".to_owned());
        }
        let mut header = vec![0; usize::try_from(length).unwrap_or_default()];
        file.read_exact(&mut header).map_err(cannot_read)?;
        let entries: BTreeMap<String, serde_json::Value> =
            serde_json::from_slice(&header).map_err(|_| "is not a safetensors file")?;
        let mut tensors = BTreeMap::new();
        for (name, value) in entries.into_iter().filter(|(name, _)| name != "__metadata__") {
            let info = Info::deserialize(value).map_err(|_| "is not a safetensors file")?;
            if info.data_offsets.0 > info.data_offsets.1
                || info.data_offsets.1.saturating_add(length + 8) > size
            {
                return Err("is incomplete".to_owned());
            }
            // Some models are saved with the name of the whole before the names of its parts.
            tensors.insert(name.strip_prefix("bert.").unwrap_or(&name).to_owned(), info);
        }
        Ok(Self { file, tensors, start: length + 8 })
    }

    /// A row of numbers.
    pub(super) fn vector(&mut self, name: &str, length: usize) -> Result<Vec<f32>, String> {
        self.read(name, &[length])
    }

    /// A table, with its rows as they are in the file.
    pub(super) fn matrix(&mut self, name: &str, rows: usize, columns: usize) -> Result<Array2<f32>, String> {
        let numbers = self.read(name, &[rows, columns])?;
        Array2::from_shape_vec((rows, columns), numbers).map_err(|_| odd(name))
    }

    /// Rows of a table that stays in the file.
    pub(super) fn rows(&self, name: &str, rows: usize, columns: usize) -> Result<Rows, String> {
        let start = self.check(name, &[rows, columns])?;
        let file = self.file.try_clone().map_err(cannot_read)?;
        Ok(Rows { file: file.into(), start, rows, columns })
    }

    /// Goes over all small tensors: no two trainings end with the same.
    pub(super) fn fingerprint(&mut self, hash: &mut Sha256) -> Result<(), String> {
        let small: Vec<(String, usize)> = self
            .tensors
            .iter()
            .filter(|(_, info)| info.shape.len() == 1 && info.dtype == "F32")
            .map(|(name, info)| (name.clone(), info.shape[0]))
            .collect();
        for (name, length) in small {
            hash.update(name.as_bytes());
            for number in self.vector(&name, length)? {
                hash.update(number.to_le_bytes());
            }
        }
        Ok(())
    }

    fn check(&self, name: &str, shape: &[usize]) -> Result<u64, String> {
        let info = self.tensors.get(name).ok_or_else(|| format!("has no tensor {name}"))?;
        let bytes = shape.iter().try_fold(4_u64, |bytes, size| bytes.checked_mul(*size as u64));
        let has = info.data_offsets.1 - info.data_offsets.0;
        if info.dtype != "F32" || info.shape != shape || bytes != Some(has) {
            return Err(odd(name));
        }
        Ok(self.start + info.data_offsets.0)
    }

    fn read(&mut self, name: &str, shape: &[usize]) -> Result<Vec<f32>, String> {
        let start = self.check(name, shape)?;
        let mut bytes = vec![0; shape.iter().product::<usize>() * 4];
        self.file.seek(SeekFrom::Start(start)).map_err(cannot_read)?;
        self.file.read_exact(&mut bytes).map_err(cannot_read)?;
        Ok(numbers(&bytes))
    }
}

/// A table of which single rows are read.
pub(super) struct Rows {
    file: std::sync::Mutex<File>,
    start: u64,
    rows: usize,
    columns: usize,
}

impl Rows {
    pub(super) fn len(&self) -> usize {
        self.rows
    }

    /// Adds a row to numbers of the same count.
    pub(super) fn add_to(&self, numbers_of: &mut [f32], row: usize) -> Result<(), String> {
        let mut bytes = vec![0; self.columns * 4];
        {
            let mut file = self.file.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            let at = self.start + (row.min(self.rows - 1) * self.columns * 4) as u64;
            file.seek(SeekFrom::Start(at)).map_err(cannot_read)?;
            file.read_exact(&mut bytes).map_err(cannot_read)?;
        }
        for (sum, number) in numbers_of.iter_mut().zip(numbers(&bytes)) {
            *sum += number;
        }
        Ok(())
    }
}

fn numbers(bytes: &[u8]) -> Vec<f32> {
    bytes.chunks_exact(4).map(|bytes| f32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])).collect()
}

#[allow(clippy::needless_pass_by_value, reason = "it is the end of a chain")]
fn cannot_read(error: std::io::Error) -> String {
    format!("cannot be read ({})", error.kind())
}

fn odd(name: &str) -> String {
    format!("has another shape than its configuration says, at {name}")
}
