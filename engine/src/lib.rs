//! Plan to timely dataflow to record batches.
