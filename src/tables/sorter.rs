//! Sorts more numbers than fit in memory: sorted runs in a file, merged.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// Number of records of a run.
const RUN: usize = 1 << 21;

/// Number of records that are read at a time of each run.
const BLOCK: usize = 1 << 12;

/// Sorts records of `N` numbers by the first, then the next.
#[derive(Debug)]
pub(super) struct Sorter<const N: usize> {
    /// The folder for the file of runs.
    folder: PathBuf,
    /// Records of the run that is filled.
    run: Vec<[u64; N]>,
    most: usize,
    spilled: Option<Spilled>,
}

/// Sorted runs in a file that has no name.
#[derive(Debug)]
struct Spilled {
    out: BufWriter<File>,
    /// Number of records after each run.
    ends: Vec<u64>,
}

impl<const N: usize> Sorter<N> {
    /// Records that do not fit in memory go to a file in `folder`.
    pub(super) fn new(folder: &Path) -> Sorter<N> {
        Sorter {
            folder: folder.to_path_buf(),
            run: Vec::new(),
            most: RUN,
            spilled: None,
        }
    }

    /// Adds a record.
    pub(super) fn push(&mut self, record: [u64; N]) -> io::Result<()> {
        if self.run.len() >= self.most {
            self.spill()?;
        }
        self.run.push(record);
        Ok(())
    }

    /// Writes the run to the file.
    fn spill(&mut self) -> io::Result<()> {
        self.run.sort_unstable();
        let spilled = match &mut self.spilled {
            Some(spilled) => spilled,
            none => none.insert(Spilled {
                out: BufWriter::new(tempfile::tempfile_in(&self.folder)?),
                ends: Vec::new(),
            }),
        };
        for number in self.run.as_flattened() {
            spilled.out.write_all(&number.to_le_bytes())?;
        }
        let end = spilled.ends.last().copied().unwrap_or(0);
        spilled.ends.push(end + self.run.len() as u64);
        self.run.clear();
        Ok(())
    }

    /// Returns the records in order.
    pub(super) fn sorted(mut self) -> io::Result<SortedRecords<N>> {
        if self.spilled.is_none() {
            self.run.sort_unstable();
            return Ok(SortedRecords::Memory(self.run.into_iter()));
        }
        self.spill()?;
        drop(std::mem::take(&mut self.run));
        let Some(Spilled { out, ends }) = self.spilled else {
            return Ok(SortedRecords::Memory(Vec::new().into_iter()));
        };
        let file = out.into_inner().map_err(io::IntoInnerError::into_error)?;
        RunMerge::new(file, &ends).map(SortedRecords::File)
    }
}

/// Sorted records.
#[derive(Debug)]
pub(super) enum SortedRecords<const N: usize> {
    Memory(std::vec::IntoIter<[u64; N]>),
    File(RunMerge<N>),
}

impl<const N: usize> Iterator for SortedRecords<N> {
    type Item = io::Result<[u64; N]>;

    fn next(&mut self) -> Option<Self::Item> {
        match self {
            SortedRecords::Memory(records) => records.next().map(Ok),
            SortedRecords::File(merge) => merge.next().transpose(),
        }
    }
}

/// Merges sorted runs.
#[derive(Debug)]
pub(super) struct RunMerge<const N: usize> {
    file: File,
    runs: Vec<SortedRun<N>>,
    /// The first record of each run, with the number of the run.
    heads: BinaryHeap<Reverse<([u64; N], usize)>>,
}

/// A run, of which some records were read.
#[derive(Debug)]
struct SortedRun<const N: usize> {
    /// The records in the file that were not read.
    next: u64,
    end: u64,
    block: std::vec::IntoIter<[u64; N]>,
}

impl<const N: usize> RunMerge<N> {
    fn new(file: File, ends: &[u64]) -> io::Result<RunMerge<N>> {
        let starts = std::iter::once(&0).chain(ends);
        let run = |(&next, &end)| SortedRun {
            next,
            end,
            block: Vec::new().into_iter(),
        };
        let mut merge = RunMerge {
            file,
            runs: starts.zip(ends).map(run).collect(),
            heads: BinaryHeap::new(),
        };
        for run in 0..ends.len() {
            merge.advance(run)?;
        }
        Ok(merge)
    }

    fn next(&mut self) -> io::Result<Option<[u64; N]>> {
        let Some(Reverse((record, run))) = self.heads.pop() else {
            return Ok(None);
        };
        self.advance(run)?;
        Ok(Some(record))
    }

    /// Puts the next record of a run on the heap.
    fn advance(&mut self, number: usize) -> io::Result<()> {
        let Some(run) = self.runs.get_mut(number) else {
            return Ok(());
        };
        let head = match run.block.next() {
            Some(record) => Some(record),
            None => run.read(&self.file)?,
        };
        self.heads.extend(head.map(|head| Reverse((head, number))));
        Ok(())
    }
}

impl<const N: usize> SortedRun<N> {
    /// Reads the next block; returns its first record.
    fn read(&mut self, file: &File) -> io::Result<Option<[u64; N]>> {
        let left = usize::try_from(self.end - self.next).unwrap_or(BLOCK);
        let mut bytes = vec![0; left.min(BLOCK) * N * size_of::<u64>()];
        let record = (N * size_of::<u64>()) as u64;
        file.read_exact_at(&mut bytes, self.next * record)?;
        let (numbers, _) = bytes.as_chunks();
        let numbers: Vec<u64> = numbers.iter().map(|&n| u64::from_le_bytes(n)).collect();
        let (records, _) = numbers.as_chunks::<N>();
        self.next += records.len() as u64;
        self.block = Vec::from(records).into_iter();
        Ok(self.block.next())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_come_in_order_from_memory_and_from_runs() {
        let folder = tempfile::tempdir().unwrap();
        let mut state = 1_u64;
        let records: Vec<[u64; 2]> = (0..20_000)
            .map(|at| {
                state = state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1);
                [state >> 54, at]
            })
            .collect();
        for most in [1, 7, 4096, 5000, 1 << 20] {
            let mut sorter = Sorter::new(folder.path());
            sorter.most = most;
            let records = records.iter().take(most.saturating_mul(1000));
            let mut expected = records.clone().copied().collect::<Vec<_>>();
            expected.sort_unstable();
            for &record in records {
                sorter.push(record).unwrap();
            }
            let sorted: Vec<_> = sorter.sorted().unwrap().map(Result::unwrap).collect();
            assert!(sorted == expected, "runs of {most}");
        }
        let nothing = Sorter::<2>::new(folder.path()).sorted().unwrap();
        assert_eq!(nothing.count(), 0);
    }
}
