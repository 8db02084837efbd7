//! Aggregates that DataFusion has not. An [`Own`] says which arguments it takes and of which types its states are; its
//! [`States`] are those of many groups at once.
//!
//! - [`statistics`]: sums, products, moments: states of a few floats.
//! - [`rows`]: values as bytes that are ordered as they are.
//! - [`lists`]: states that are lists of values.
//! - [`arg_extreme`]: the value at the least or greatest key.
//! - [`counted`]: how often each value is there.
//! - [`discrete`]: a value at a place, which is `quantile_disc`.

pub mod arg_extreme;
pub mod counted;
pub mod discrete;
mod lists;
pub(crate) mod rows;
pub mod statistics;

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use arrow_array::{Array, ArrayRef, BooleanArray};
use arrow_schema::{DataType, Field, FieldRef};
use arrow_select::filter::FilterBuilder;
use datafusion_common::{Result, ScalarValue, not_impl_err, plan_err};
use datafusion_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion_expr::utils::format_state_name;
use datafusion_expr::{
    Accumulator, AggregateUDF, AggregateUDFImpl, EmitTo, GroupsAccumulator, Signature, Volatility,
};

/// An aggregate of palais' own.
pub trait Own: Send + Sync + 'static {
    /// The states of many groups.
    type Groups: States;

    /// Its name.
    fn name(&self) -> &'static str;

    /// The types in which arguments are taken, if they are.
    fn taken(&self, given: &[DataType]) -> Option<Vec<DataType>>;

    /// The type of its result: that of its first argument, if nothing else is said.
    fn gives(&self, taken: &[DataType]) -> DataType {
        taken.first().cloned().unwrap_or(DataType::Null)
    }

    /// The types of the columns of a state.
    fn states(&self, taken: &[DataType]) -> Vec<DataType>;

    /// Its value of no rows: NULL, if nothing else is said.
    ///
    /// # Errors
    /// There is no NULL of the type.
    fn of_nothing(&self, gives: &DataType) -> Result<ScalarValue> {
        ScalarValue::try_from(gives)
    }

    /// The states of no groups.
    ///
    /// # Errors
    /// An argument that has to be a constant is none.
    fn groups(&self, taken: &[DataType], args: &AccumulatorArgs) -> Result<Self::Groups>;
}

/// The states of many groups, which have numbers from 0 on.
pub trait States: Send + Sync + 'static {
    /// Has states of so many groups, of which the new ones have no rows.
    fn resize(&mut self, total: usize);

    /// Adds rows, each to the state of its group.
    ///
    /// # Errors
    /// A state can't hold more.
    fn add(&mut self, args: &[ArrayRef], groups: &[usize]) -> Result<()>;

    /// Adds what [`States::state`] gave, each row to the state of its group.
    ///
    /// # Errors
    /// A state can't hold more.
    fn merge(&mut self, states: &[ArrayRef], groups: &[usize]) -> Result<()>;

    /// Takes the first groups out and gives their results.
    ///
    /// # Errors
    /// A result is out of range.
    fn evaluate(&mut self, emit: EmitTo) -> Result<ArrayRef>;

    /// Takes the first groups out and gives their states, in columns of the types of [`Own::states`].
    ///
    /// # Errors
    /// They don't fit a column.
    fn state(&mut self, emit: EmitTo) -> Result<Vec<ArrayRef>>;

    /// About the bytes that they take.
    fn size(&self) -> usize;
}

/// The aggregates.
pub fn all() -> Vec<Arc<AggregateUDF>> {
    let mut all = statistics::all();
    all.extend(arg_extreme::all());
    all.extend(counted::all());
    all.push(discrete::quantile_disc());
    all
}

/// The aggregates of one argument that see each value once with `DISTINCT`, and don't look for that themselves.
pub const COUNTED_APART: [&str; 11] = [
    "entropy",
    "favg",
    "fsum",
    "geomean",
    "histogram",
    "kurtosis",
    "kurtosis_pop",
    "mode",
    "product",
    "sem",
    "skewness",
];

/// An aggregate as DataFusion knows one.
struct OwnAggregate<O> {
    own: O,
    signature: Signature,
}

/// An aggregate as DataFusion knows one.
fn aggregate<O: Own>(own: O) -> Arc<AggregateUDF> {
    let signature = Signature::user_defined(Volatility::Immutable);
    Arc::new(AggregateUDF::new_from_impl(OwnAggregate { own, signature }))
}

impl<O: Own> fmt::Debug for OwnAggregate<O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.own.name())
    }
}

impl<O: Own> PartialEq for OwnAggregate<O> {
    fn eq(&self, other: &Self) -> bool {
        self.own.name() == other.own.name()
    }
}

impl<O: Own> Eq for OwnAggregate<O> {}

impl<O: Own> Hash for OwnAggregate<O> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.own.name().hash(state);
    }
}

/// The types of arguments.
fn types(fields: &[FieldRef]) -> Vec<DataType> {
    fields.iter().map(|field| field.data_type().clone()).collect()
}

impl<O: Own> AggregateUDFImpl for OwnAggregate<O> {
    fn name(&self) -> &str {
        self.own.name()
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, given: &[DataType]) -> Result<Vec<DataType>> {
        match self.own.taken(given) {
            Some(taken) => Ok(taken),
            None => plan_err!("{}() takes no such arguments", self.own.name()),
        }
    }

    fn return_type(&self, taken: &[DataType]) -> Result<DataType> {
        Ok(self.own.gives(taken))
    }

    fn state_fields(&self, args: StateFieldsArgs) -> Result<Vec<FieldRef>> {
        let states = self.own.states(&types(args.input_fields)).into_iter().enumerate();
        let field = |(at, state): (usize, DataType)| {
            Arc::new(Field::new(format_state_name(args.name, &at.to_string()), state, true))
        };
        Ok(states.map(field).collect())
    }

    fn default_value(&self, gives: &DataType) -> Result<ScalarValue> {
        self.own.of_nothing(gives)
    }

    fn accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        Ok(Box::new(OneGroup(self.own.groups(&types(args.expr_fields), &args)?)))
    }

    fn groups_accumulator_supported(&self, _: AccumulatorArgs) -> bool {
        true
    }

    fn create_groups_accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn GroupsAccumulator>> {
        Ok(Box::new(ManyGroups(self.own.groups(&types(args.expr_fields), &args)?)))
    }
}

/// The state of one group, as DataFusion knows it.
struct OneGroup<S>(S);

impl<S> fmt::Debug for OneGroup<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("one group")
    }
}

/// The group of each row.
fn first_group(args: &[ArrayRef]) -> Vec<usize> {
    vec![0; args.first().map_or(0, |arg| arg.len())]
}

impl<S: States> Accumulator for OneGroup<S> {
    fn update_batch(&mut self, args: &[ArrayRef]) -> Result<()> {
        self.0.resize(1);
        self.0.add(args, &first_group(args))
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        self.0.resize(1);
        ScalarValue::try_from_array(&self.0.evaluate(EmitTo::All)?, 0)
    }

    fn size(&self) -> usize {
        self.0.size()
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        self.0.resize(1);
        self.0.state(EmitTo::All)?.iter().map(|state| ScalarValue::try_from_array(state, 0)).collect()
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        self.0.resize(1);
        self.0.merge(states, &first_group(states))
    }
}

/// The states of many groups, as DataFusion knows them.
struct ManyGroups<S>(S);

impl<S: States> GroupsAccumulator for ManyGroups<S> {
    fn update_batch(
        &mut self,
        args: &[ArrayRef],
        groups: &[usize],
        condition: Option<&BooleanArray>,
        total: usize,
    ) -> Result<()> {
        self.0.resize(total);
        let Some(condition) = condition else { return self.0.add(args, groups) };
        let passes = FilterBuilder::new(condition).optimize().build();
        let args = args.iter().map(|arg| Ok(passes.filter(arg)?)).collect::<Result<Vec<_>>>()?;
        let groups = groups.iter().zip(condition).filter(|(_, passes)| *passes == Some(true));
        self.0.add(&args, &groups.map(|(group, _)| *group).collect::<Vec<_>>())
    }

    fn evaluate(&mut self, emit: EmitTo) -> Result<ArrayRef> {
        self.0.evaluate(emit)
    }

    fn state(&mut self, emit: EmitTo) -> Result<Vec<ArrayRef>> {
        self.0.state(emit)
    }

    fn merge_batch(&mut self, states: &[ArrayRef], groups: &[usize], total: usize) -> Result<()> {
        self.0.resize(total);
        self.0.merge(states, groups)
    }

    fn convert_to_state(&self, _: &[ArrayRef], _: Option<&BooleanArray>) -> Result<Vec<ArrayRef>> {
        not_impl_err!("rows are grouped before they become states")
    }

    fn size(&self) -> usize {
        self.0.size()
    }
}
