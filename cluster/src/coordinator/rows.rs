//! Takes rows of a result from the processes: as bytes, or as cross-memory transfers, which the coordinator reads in
//! their memory.

use std::sync::Mutex;

use arrow_schema::SchemaRef;
use engine::distributed::wire::transfer;
use engine::execution::run::Sink;

use super::group::Group;
use crate::error::{Error, Result};
use crate::locked;
use crate::message::{LENT_BYTES, Order};

/// Takes the rows of a query.
pub(super) struct Rows<'a> {
    group: &'a Group,
    /// Where the rows go, and their columns; none if the processes write the rows.
    to: Option<(&'a Sink, &'a SchemaRef)>,
    /// Of each process, the transfers that were read and not yet given back, and their bytes.
    read: Vec<Mutex<(Vec<u64>, usize)>>,
}

impl Rows<'_> {
    pub fn new<'a>(group: &'a Group, to: Option<(&'a Sink, &'a SchemaRef)>) -> Rows<'a> {
        Rows { group, to, read: group.members.iter().map(|_| Mutex::default()).collect() }
    }

    /// Takes rows that a process has sent.
    ///
    /// # Errors
    /// The bytes are no rows of these columns, the memory can't be read, or the consumer wants no more rows.
    pub fn take(&self, process: usize, bytes: &[u8]) -> Result<()> {
        let wrong = |what: String| Error::Protocol { host: self.group.name(process), what };
        let Some((sink, schema)) = self.to else {
            return Err(wrong("it told rows that it was to write".into()));
        };
        let batch = match transfer::number(bytes) {
            None => engine::distributed::wire::decode(bytes, schema),
            Some(number) => {
                let memory = *locked(&self.group.members[process].memory);
                let memory = memory.ok_or_else(|| wrong("it lends rows that can't be read".into()))?;
                let batch = transfer::read(bytes, schema, &memory);
                if let Ok(batch) = &batch {
                    self.give_back(process, number, engine::dataflow::batch::batch_bytes(batch));
                }
                batch
            }
        };
        let batch = match batch {
            Err(engine::Error::Cancelled) => return Err(Error::Cancelled),
            batch => batch.map_err(|e| wrong(e.to_string()))?,
        };
        if sink.give(&batch) { Ok(()) } else { Err(Error::Cancelled) }
    }

    /// Tells a process which transfers were read, once they are a quarter of what it may lend: each order wakes some
    /// threads.
    fn give_back(&self, process: usize, number: u64, bytes: usize) {
        let mut read = locked(&self.read[process]);
        read.0.push(number);
        read.1 += bytes;
        if read.1 >= LENT_BYTES / 4 {
            let (numbers, _) = std::mem::take(&mut *read);
            self.group.members[process].tell(Order::Returned(numbers));
        }
    }
}
