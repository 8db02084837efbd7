//! The files of one process among several that write a dataset together.

use std::fs;
use std::sync::atomic::AtomicUsize;

use schema::manifest::{FILE_NAME, Manifest, PartFile};

use super::{Output, Parts};
use crate::context::query::QueryState;
use crate::error::Result;
use crate::writing::verify;

impl Output {
    /// Numbers the files from `first` on. Each process must know how many files the processes before it write.
    pub fn with_first(mut self, first: usize) -> Output {
        (self.place.next, self.place.step) = (AtomicUsize::new(first), 1);
        self
    }

    /// Verifies the files of this process, if that was asked for: they hold this process's part of the rows, in their
    /// order. They are not verified again when all files appear.
    ///
    /// # Errors
    /// Files that differ from their source or can't be read, and directories that can't be changed.
    pub fn verify_own(&mut self, parts: &Parts, state: &QueryState) -> Result<()> {
        let Some(content) = self.content.take() else { return Ok(()) };
        let [(number, _), ..] = parts.as_slice() else { return Ok(()) };
        // The files lie beside those of other processes, and a dataset may hold only the files of its manifest. So they
        // move into a directory of their own meanwhile.
        let directory = self.place.directory.join(format!("verify-{number}"));
        let failed = |action| {
            let path = self.path.clone();
            move |e| formats::Error::io(path, action, e)
        };
        fs::create_dir(&directory).map_err(failed("create a directory in"))?;
        let files: Vec<PartFile> = parts.iter().map(|(_, part)| part.clone()).collect();
        for PartFile { name, .. } in &files {
            fs::rename(self.place.directory.join(name), directory.join(name))
                .map_err(failed("rename a file in"))?;
        }
        let manifest = Manifest { files, ..self.manifest.clone() };
        manifest.write(&directory).map_err(formats::Error::from)?;
        verify::verify(&directory, &self.path, &manifest, &content, self.workers, state)?;
        for PartFile { name, .. } in &manifest.files {
            fs::rename(directory.join(name), self.place.directory.join(name))
                .map_err(failed("rename a file in"))?;
        }
        fs::remove_file(directory.join(FILE_NAME)).map_err(failed("remove a file in"))?;
        Ok(fs::remove_dir(&directory).map_err(failed("remove a directory in"))?)
    }
}
