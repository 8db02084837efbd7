//! Cuts batches into blocks of exactly the rows that a format asks for.

use std::collections::VecDeque;

use arrow_array::RecordBatch;

/// A piece of work for the encoders.
pub enum Built {
    /// Rows that become a block.
    Block {
        /// The number of its first row among all rows.
        first: u64,
        /// The rows.
        batches: Vec<RecordBatch>,
    },
    /// The file has no more blocks.
    EndOfFile,
}

/// Cuts batches into blocks.
pub struct BlockBuilder {
    block_rows: usize,
    files: usize,
    /// The number of the file to which `held` belongs.
    file: usize,
    held: VecDeque<RecordBatch>,
    held_rows: usize,
    /// The number of rows that were cut.
    done: u64,
}

impl BlockBuilder {
    /// Builds blocks of `block_rows` rows, for `files` files.
    pub fn new(block_rows: usize, files: usize) -> BlockBuilder {
        BlockBuilder {
            block_rows: block_rows.max(1),
            files,
            file: 0,
            held: VecDeque::new(),
            held_rows: 0,
            done: 0,
        }
    }

    /// Adds rows of a file, and appends the blocks that they complete to `works`. File numbers ascend.
    pub fn add(&mut self, file: usize, batch: RecordBatch, works: &mut Vec<Built>) {
        debug_assert!(self.file <= file && file < self.files, "files ascend");
        while self.file < file {
            self.finish_file(works);
        }
        self.held_rows += batch.num_rows();
        self.held.push_back(batch);
        while self.held_rows >= self.block_rows {
            self.cut(self.block_rows, works);
        }
    }

    /// Appends the last blocks and the ends of all files that are left.
    pub fn finish(&mut self, works: &mut Vec<Built>) {
        while self.file < self.files {
            self.finish_file(works);
        }
    }

    fn finish_file(&mut self, works: &mut Vec<Built>) {
        self.cut(self.held_rows, works);
        works.push(Built::EndOfFile);
        self.file += 1;
    }

    fn cut(&mut self, rows: usize, works: &mut Vec<Built>) {
        let mut block = Vec::new();
        let mut missing = rows;
        while missing > 0 {
            let Some(batch) = self.held.pop_front() else { break };
            let taken = batch.num_rows().min(missing);
            if taken < batch.num_rows() {
                self.held.push_front(batch.slice(taken, batch.num_rows() - taken));
            }
            if taken > 0 {
                block.push(batch.slice(0, taken));
            }
            missing -= taken;
        }
        self.held_rows -= rows;
        if rows > 0 {
            works.push(Built::Block { first: self.done, batches: block });
            self.done += rows as u64;
        }
    }
}
