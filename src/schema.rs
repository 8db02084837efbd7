//! `palais schema`: the schema of a table, as text that `--schema NAME=FILE` reads, or for other tools.

use arrow_schema::Schema;
use schema::Table;

use crate::args;
use crate::print;
use crate::tables;

/// The form of the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Form {
    /// `CREATE TABLE`, for people.
    Ddl,
    /// The JSON form of Arrow's specification.
    Json,
    /// Protocol Buffers' language, for tools that read and write the encoding protobuf.
    Proto,
    /// Cap'n Proto's language, for tools that read and write the encodings capnproto and capnproto-packed.
    Capnp,
}

/// `palais schema`.
pub fn run(s: &args::Schema) -> anyhow::Result<()> {
    let table = tables::sources(&s.input)?.open_one(&s.path)?;
    Ok(print::text(&text(&table, s.form)?)?)
}

/// The schema of the files of a table, without the columns of directories, which do not lie in the files.
fn text(table: &Table, form: Form) -> anyhow::Result<String> {
    let fields = match &table.source {
        schema::Source::Files(set) => {
            // If a directory gives a column of the same name, the column of the file is not seen, but lies in the file.
            let whole = set.layouts.iter().map(|l| l.schema.fields()).find(|f| f.len() > set.file_columns);
            whole.map_or(&table.schema.fields()[..set.file_columns], |fields| &fields[..])
        }
        _ => &table.schema.fields()[..],
    };
    let fields = Schema::new(fields.to_vec());
    Ok(match form {
        Form::Ddl => schema::text::ddl::print(&table.name, &fields)?,
        Form::Json => schema::text::json::print(&fields)?,
        Form::Proto => schema::text::proto::print(&table.name, &fields)?,
        Form::Capnp => schema::text::capnp::print(&table.name, &fields)?,
    })
}
