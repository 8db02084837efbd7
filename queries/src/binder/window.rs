//! Functions over windows: `OVER (…)`, `WINDOW` and `QUALIFY`.
//!
//! A call becomes a column, and what it asks for is noted beside the SELECT ([`Windows`]), until the rows or groups are
//! there. Calls of one partition whose orders begin each other become one [`Window`], so that one sort serves them. Keys
//! and arguments are columns by then: a [`Map`](Rel::Map) below computes those that are none.

use std::cell::RefCell;
use std::collections::BTreeSet;

use arrow_schema::{DataType, TimeUnit};
use datafusion_common::ScalarValue;
use datafusion_expr::Operator;
use sqlparser::ast::{
    Expr as Ast, Function, Ident, NamedWindowDefinition, NamedWindowExpr, OrderByExpr, Spanned, WindowFrame,
    WindowFrameBound, WindowFrameUnits, WindowSpec, WindowType,
};

use super::Binder;
use super::call::Written;
use super::grouping::Group;
use super::query::mapped;
use super::scope::{Env, Scope};
use crate::algebra::window::{Bound, Exclude, Frame, Units};
use crate::algebra::{Call, ColumnId, Expr, Kind, Rel, SortKey, Window, WindowCall, WindowFunction};
use crate::error::{Error, Result};
use crate::names::same;
use crate::parse::exclude;
use crate::types::means::OfMicros;

/// The calls over windows of a SELECT, in the order in which they were met.
#[derive(Debug, Default)]
pub struct Windows(Vec<Over>);

/// A call over a window.
#[derive(Debug)]
struct Over {
    /// The column that it becomes.
    id: ColumnId,
    partition: Vec<Expr>,
    order: Vec<SortKey>,
    call: WindowCall,
    /// How it is written.
    written: Ast,
}

impl Windows {
    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The expressions of all calls, to be changed, with how the call is written.
    pub fn exprs_mut(&mut self) -> impl Iterator<Item = (&mut Expr, &Ast)> {
        self.0.iter_mut().flat_map(|Over { partition, order, call, written, .. }| {
            let order = order.iter_mut().map(|key| &mut key.expr);
            let all = partition.iter_mut().chain(order).chain(call.exprs_mut());
            all.map(|e| (e, &*written))
        })
    }

    /// The column of a call: that of an equal one, if its value is the same each time.
    fn add(&mut self, over: Over) -> ColumnId {
        let mut exprs = over.partition.iter().chain(over.order.iter().map(|key| &key.expr));
        let is_volatile = exprs.any(Expr::is_volatile) || over.call.exprs().any(Expr::is_volatile);
        let is_same = |known: &&Over| {
            known.partition == over.partition && known.order == over.order && known.call == over.call
        };
        if !is_volatile && let Some(known) = self.0.iter().find(is_same) {
            return known.id;
        }
        let id = over.id;
        self.0.push(over);
        id
    }
}

/// A window as it is written, with what it inherits.
struct Spec<'q> {
    partition_by: &'q [Ast],
    order_by: &'q [OrderByExpr],
    frame: Option<&'q WindowFrame>,
    exclude: Exclude,
}

impl<'a> Binder<'a> {
    /// A call of a function over a window. It is a column of the SELECT that it stands in.
    pub(super) fn over(
        &mut self,
        function: &Function,
        over: &WindowType,
        written: &Written<'_>,
        env: &Env<'_>,
    ) -> Result<Expr> {
        let name = written.name.as_str();
        let place = function.name.span();
        let Some(windows) = env.windows else {
            return Err(misplaced(name, env.clause).at(place));
        };
        let spec = spec(over, env.named)?;
        let inside = Env { windows: None, unnested: None, clause: "a window function", ..*env };
        let own = WindowFunction::named(name);
        let (mut call, micros) = match own {
            Some(function) => (self.window_function(function, written, &inside)?, None),
            None => match self.functions.aggregate(name) {
                Some(aggregate) => self.window_aggregate(aggregate, written, &inside)?,
                None if self.functions.scalar(name).is_some() => {
                    let message =
                        format!("{name}() is neither an aggregate nor a window function, as OVER needs");
                    return Err(Error::Invalid(message).at(place));
                }
                None => return Err(self.no_function(name).at(place)),
            },
        };
        let mut partition: Vec<Expr> = Vec::with_capacity(spec.partition_by.len());
        for key in spec.partition_by {
            let key = self.expr(key, &inside)?;
            if key.as_literal().is_none() && !partition.contains(&key) {
                partition.push(key);
            }
        }
        let mut order = self.keys(spec.order_by, &inside)?;
        let frame = Frame { exclude: spec.exclude, ..self.frame(spec.frame, &order, &inside)? };
        // All rows are equal by a constant, and those of a partition by its keys.
        if frame.key.is_none() {
            order.retain(|key| key.expr.as_literal().is_none() && !partition.contains(&key.expr));
        }
        if call.function.has_frame() {
            call.frame = frame;
        }
        call.order = order.len();
        if order.is_empty() && call.frame.units != Units::Rows {
            whole_group(&mut call.frame);
        }
        let data_type = self.type_of(&call)?;
        let holds = self.columns.holds_of_results(call.function.name(), &call.args);
        let id = self.columns.add(name, data_type);
        self.columns.mark(id, holds);
        let of = Ast::Function(function.clone());
        let id = windows.borrow_mut().add(Over { id, partition, order, call, written: of });
        let result = self.columns.read(id);
        self.made_of(name, result, micros.as_ref())
    }

    /// A call of a function that is no aggregate.
    fn window_function(
        &mut self,
        function: WindowFunction,
        written: &Written<'_>,
        env: &Env<'_>,
    ) -> Result<WindowCall> {
        let name = written.name.as_str();
        let is_of_values = matches!(
            function,
            WindowFunction::Lag
                | WindowFunction::Lead
                | WindowFunction::FirstValue
                | WindowFunction::LastValue
                | WindowFunction::NthValue
        );
        let only_others = [
            (written.distinct, "DISTINCT"),
            (written.filter.is_some(), "FILTER"),
            (!written.within_group.is_empty(), "WITHIN GROUP"),
            (written.ignore_nulls.is_some() && !is_of_values, "IGNORE NULLS"),
        ];
        if let Some((_, what)) = only_others.into_iter().find(|(is, _)| *is) {
            return Err(Error::Invalid(format!("{what} in {name}(), which does not take it")));
        }
        if !written.order_by.is_empty() {
            return Err(Error::Unsupported(format!("ORDER BY among the arguments of {name}() OVER (…)")));
        }
        let mut args = self.args(written, env)?;
        let (least, most) = match function {
            WindowFunction::Ntile | WindowFunction::FirstValue | WindowFunction::LastValue => (1, 1),
            WindowFunction::NthValue => (2, 2),
            WindowFunction::Lag | WindowFunction::Lead => (1, 3),
            _ => (0, 0),
        };
        if !(least..=most).contains(&args.len()) {
            let wanted = match (least, most) {
                (0, _) => "no argument".to_string(),
                (1, 1) => "one argument".to_string(),
                (least, most) if least == most => format!("{least} arguments"),
                (least, most) => format!("{least} to {most} arguments"),
            };
            return Err(Error::Invalid(format!("{name}() takes {wanted}, and {} were given", args.len())));
        }
        let number = if function == WindowFunction::Ntile { 0 } else { 1 };
        if let Some(arg) = args.get_mut(number) {
            *arg = self.types.cast(arg.clone(), &DataType::Int64, false)?;
        }
        if let [value, _, default] = args.as_mut_slice() {
            *default = self.types.in_place_of(default.clone(), &value.data_type, &format!("{name}()"))?;
        }
        let ignore_nulls = written.ignore_nulls == Some(true);
        let (frame, within) = (Frame::whole(), vec![]);
        Ok(WindowCall {
            function,
            args,
            order: 0,
            frame,
            filter: None,
            distinct: false,
            ignore_nulls,
            within,
        })
    }

    /// A call of an aggregate. Its arguments are asked for where FILTER is true.
    fn window_aggregate(
        &mut self,
        aggregate: std::sync::Arc<datafusion_expr::AggregateUDF>,
        written: &Written<'_>,
        env: &Env<'_>,
    ) -> Result<(WindowCall, Option<OfMicros>)> {
        let (call, _, micros) = self.aggregate_call(aggregate, written, env)?;
        let Call { function, mut args, distinct, filter, order_by, ignore_nulls } = call;
        let is_ordered_set = order_by.iter().all(|key| args.first() == Some(&key.expr));
        if !is_ordered_set {
            let name = &written.name;
            return Err(Error::Unsupported(format!("ORDER BY among the arguments of {name}() OVER (…)")));
        }
        if let Some(filter) = &filter {
            for arg in args.iter_mut().filter(|arg| crate::compile::fails(arg)) {
                let data_type = arg.data_type.clone();
                let branches = vec![(filter.clone(), arg.clone())];
                let otherwise = Some(Box::new(Expr::null(&data_type)));
                *arg = Expr { kind: Kind::Case { operand: None, branches, otherwise }, data_type };
            }
        }
        let within = order_by.iter().map(|key| key.descending).collect();
        let function = WindowFunction::Aggregate(function);
        let (frame, ignore_nulls) = (Frame::whole(), ignore_nulls == Some(true));
        let call = WindowCall { function, args, order: 0, frame, filter, distinct, ignore_nulls, within };
        Ok((call, micros))
    }

    /// The type of a call's result.
    fn type_of(&self, call: &WindowCall) -> Result<DataType> {
        Ok(match &call.function {
            WindowFunction::RowNumber
            | WindowFunction::Rank
            | WindowFunction::DenseRank
            | WindowFunction::Ntile => DataType::Int64,
            WindowFunction::PercentRank | WindowFunction::CumeDist => DataType::Float64,
            WindowFunction::Lag
            | WindowFunction::Lead
            | WindowFunction::FirstValue
            | WindowFunction::LastValue
            | WindowFunction::NthValue => {
                call.args.first().map_or(DataType::Null, |value| value.data_type.clone())
            }
            WindowFunction::Aggregate(function) => self.types.result(function, &call.args)?,
        })
    }

    /// The frame of a window with this order: by default all rows up to the row's peers.
    fn frame(&mut self, frame: Option<&WindowFrame>, order: &[SortKey], env: &Env<'_>) -> Result<Frame> {
        let Some(WindowFrame { units, start_bound, end_bound }) = frame else {
            let (start, end) = (Bound::First, Bound::Current);
            return Ok(Frame { start, end, ..Frame::whole() });
        };
        let end_bound = end_bound.as_ref().unwrap_or(&WindowFrameBound::CurrentRow);
        check_bounds(start_bound, end_bound)?;
        let units = match units {
            WindowFrameUnits::Rows => Units::Rows,
            WindowFrameUnits::Range => Units::Range,
            WindowFrameUnits::Groups => Units::Groups,
        };
        if units == Units::Range {
            return self.range_frame(start_bound, end_bound, order, env);
        }
        let (start, end) = (self.counted_bound(start_bound, env)?, self.counted_bound(end_bound, env)?);
        Ok(Frame { units, start, end, ..Frame::whole() })
    }

    /// A bound that counts rows or groups.
    fn counted_bound(&mut self, bound: &WindowFrameBound, env: &Env<'_>) -> Result<Bound> {
        let (written, is_before) = match bound {
            WindowFrameBound::CurrentRow => return Ok(Bound::Current),
            WindowFrameBound::Preceding(None) => return Ok(Bound::First),
            WindowFrameBound::Following(None) => return Ok(Bound::Last),
            WindowFrameBound::Preceding(Some(e)) => (e, true),
            WindowFrameBound::Following(Some(e)) => (e, false),
        };
        let count = self.expr(written, env)?;
        let Some(value) = count.as_literal() else { return Err(not_constant(written)) };
        let number = match value.data_type().is_integer() && !value.is_null() {
            true => value.cast_to(&DataType::Int64).ok(),
            false => None,
        };
        match number {
            Some(ScalarValue::Int64(Some(n))) => match u64::try_from(n) {
                Ok(n) if is_before => Ok(Bound::Before(n)),
                Ok(n) => Ok(Bound::After(n)),
                Err(_) => Err(negative(n, written)),
            },
            _ => {
                let message = "the bound of a frame of ROWS or GROUPS is a number of them, 0 or more";
                Err(Error::Invalid(message.into()).at(written.span()))
            }
        }
    }

    /// A frame of RANGE. What its bounds are from row to row is computed as values of the key.
    fn range_frame(
        &mut self,
        start: &WindowFrameBound,
        end: &WindowFrameBound,
        order: &[SortKey],
        env: &Env<'_>,
    ) -> Result<Frame> {
        let (mut start, mut end) = (self.range_bound(start, order, env)?, self.range_bound(end, order, env)?);
        let values: Vec<DataType> =
            [&start, &end].iter().filter_map(|bound| bound.value()).map(|e| e.data_type.clone()).collect();
        let mut key = None;
        if let (Some(order), false) = (order.first(), values.is_empty()) {
            let common = self.types.union(&values)?;
            for bound in [&mut start, &mut end] {
                if let Bound::Value(value) = bound {
                    *value = self.types.cast(value.clone(), &common, false)?;
                }
            }
            key = Some(self.types.cast(order.expr.clone(), &common, false)?);
        }
        Ok(Frame { units: Units::Range, start, end, exclude: Exclude::Nothing, key })
    }

    fn range_bound(&mut self, bound: &WindowFrameBound, order: &[SortKey], env: &Env<'_>) -> Result<Bound> {
        let (written, is_before) = match bound {
            WindowFrameBound::CurrentRow => return Ok(Bound::Current),
            WindowFrameBound::Preceding(None) => return Ok(Bound::First),
            WindowFrameBound::Following(None) => return Ok(Bound::Last),
            WindowFrameBound::Preceding(Some(e)) => (e, true),
            WindowFrameBound::Following(Some(e)) => (e, false),
        };
        let [key] = order else {
            let message = "RANGE with a distance takes a window with one key in ORDER BY";
            return Err(Error::Invalid(message.into()).at(written.span()));
        };
        if key.expr.as_literal().is_some() {
            let message = "RANGE with a distance takes a key in ORDER BY that is not constant";
            return Err(Error::Invalid(message.into()).at(written.span()));
        }
        let distance = self.expr(written, env)?;
        let Some(value) = distance.as_literal() else { return Err(not_constant(written)) };
        if value.is_null() {
            return Err(Error::Invalid("a distance of RANGE is NULL".into()).at(written.span()));
        }
        let is_interval = matches!(distance.data_type, DataType::Interval(_));
        let zero = match is_interval {
            true => Expr::literal(ScalarValue::IntervalMonthDayNano(Some(Default::default()))),
            false => Expr::literal(ScalarValue::Int64(Some(0))),
        };
        let is_negative = self.types.binary(distance.clone(), Operator::Lt, zero);
        if is_negative.is_ok_and(|e| e.as_bool() == Some(Some(true))) {
            return Err(negative(value, written));
        }
        let key_type = &key.expr.data_type;
        let takes = match key_type {
            DataType::Date32 => is_interval || distance.data_type.is_integer(),
            DataType::Timestamp(..) | DataType::Interval(_) | DataType::Time64(_) => is_interval,
            t => t.is_numeric() && distance.data_type.is_numeric(),
        };
        if !takes {
            let (key, distance) =
                (expressions::text::shown(key_type), expressions::text::shown(&distance.data_type));
            let message = format!("RANGE takes no distance of type {distance} between keys of type {key}");
            return Err(Error::Invalid(message).at(written.span()));
        }
        // A date has no hours.
        let key_expr = match (key_type, is_interval) {
            (DataType::Date32, true) => {
                let timestamp = DataType::Timestamp(TimeUnit::Nanosecond, None);
                self.types.cast(key.expr.clone(), &timestamp, false)?
            }
            _ => key.expr.clone(),
        };
        let op = if is_before == key.descending { Operator::Plus } else { Operator::Minus };
        let value = self.types.binary(key_expr, op, distance);
        Ok(Bound::Value(value.map_err(|error| error.at(written.span()))?))
    }

    /// The rows of a relation beside what is computed over windows.
    pub(super) fn windowed(&mut self, rel: Rel, windows: Windows) -> Rel {
        let given = rel.columns();
        let mut computed: Vec<(ColumnId, Expr)> = Vec::new();
        let mut all = windows.0;
        for over in &mut all {
            let order = over.order.iter_mut().map(|key| &mut key.expr);
            for e in over.partition.iter_mut().chain(order).chain(over.call.exprs_mut()) {
                let is_given = e.as_column().is_some_and(|id| given.contains(&id));
                if is_given || e.as_literal().is_some() {
                    continue;
                }
                let known = computed.iter().find(|(_, known)| known == e && !e.is_volatile());
                let id = known.map(|(id, _)| *id).unwrap_or_else(|| {
                    let name = self.columns.show_names(e);
                    let name = if name.len() <= SHORT { name } else { "value".into() };
                    let id = self.columns.add_of(name, e);
                    computed.push((id, e.clone()));
                    id
                });
                *e = self.columns.read(id);
            }
        }
        // The longest orders come first, those that begin them join them.
        all.sort_by_key(|over| std::cmp::Reverse(over.order.len()));
        let mut nodes: Vec<Window> = Vec::new();
        for Over { id, partition, order, call, .. } in all {
            let is_same = |node: &&mut Window| {
                node.partition.len() == partition.len()
                    && partition.iter().all(|key| node.partition.contains(key))
                    && node.order.starts_with(&order)
            };
            match nodes.iter_mut().find(is_same) {
                Some(node) => node.calls.push((id, call)),
                None => {
                    let input = Box::new(crate::algebra::Values::one());
                    nodes.push(Window { input, partition, order, calls: vec![(id, call)] });
                }
            }
        }
        nodes
            .into_iter()
            .fold(mapped(rel, computed), |rel, node| Rel::Window(Window { input: Box::new(rel), ..node }))
    }

    /// Has the calls read keys and aggregates of a grouped SELECT, and checks that they read nothing else.
    pub(super) fn windows_above(&self, windows: &mut Windows, scope: &Scope, group: &Group) -> Result<()> {
        windows.exprs_mut().try_for_each(|(e, written)| {
            group.above(e);
            self.check_above(e, scope, group, "", Some(written))
        })
    }
}

/// A key or argument is named by its text if that has at most so many characters.
const SHORT: usize = 40;

/// A window without an order has one group of peers.
fn whole_group(frame: &mut Frame) {
    if frame.start == Bound::Current {
        frame.start = Bound::First;
    }
    if frame.end == Bound::Current {
        frame.end = Bound::Last;
    }
}

fn misplaced(name: &str, clause: &str) -> Error {
    let help = match clause {
        "a window function" | "an aggregate" => "compute it in a subquery in FROM",
        "WHERE" | "HAVING" => "QUALIFY has conditions on window functions",
        _ => "compute it in a subquery, or in the select list",
    };
    Error::Invalid(format!("{name}() OVER is a window function, and can't stand in {clause}\n  help: {help}"))
}

fn not_constant(written: &Ast) -> Error {
    Error::Unsupported("a frame whose bounds are not constant".into()).at(written.span())
}

fn negative(value: impl std::fmt::Display, written: &Ast) -> Error {
    Error::Invalid(format!("the bound of a frame must not be negative, {value} was given")).at(written.span())
}

/// Refuses frames that end before they begin, whatever the row is.
fn check_bounds(start: &WindowFrameBound, end: &WindowFrameBound) -> Result<()> {
    use WindowFrameBound::{CurrentRow, Following, Preceding};
    let wrong = match (start, end) {
        (Following(None), _) => "a frame can't begin with UNBOUNDED FOLLOWING",
        (_, Preceding(None)) => "a frame can't end with UNBOUNDED PRECEDING",
        (CurrentRow, Preceding(_)) => "a frame that begins with CURRENT ROW can't end before it",
        (Following(_), Preceding(_) | CurrentRow) => {
            "a frame that begins behind CURRENT ROW can't end before that"
        }
        _ => return Ok(()),
    };
    let place = [start, end].into_iter().find_map(|bound| match bound {
        Preceding(Some(e)) | Following(Some(e)) => Some(e.span()),
        _ => None,
    });
    let error = Error::Invalid(wrong.into());
    Err(match place {
        Some(place) => error.at(place),
        None => error.at_word("BETWEEN"),
    })
}

/// What a window is, with what it inherits from a named one.
fn spec<'q>(over: &'q WindowType, named: &'q [NamedWindowDefinition]) -> Result<Spec<'q>> {
    match over {
        WindowType::NamedWindow(name) => named_spec(name, named),
        WindowType::WindowSpec(own) => inherited(own, named),
    }
}

/// The window of a name. One may be made of another one that stands before it.
fn named_spec<'q>(name: &Ident, named: &'q [NamedWindowDefinition]) -> Result<Spec<'q>> {
    let place = named.iter().position(|NamedWindowDefinition(known, _)| same(&known.value, &name.value));
    let Some((place, NamedWindowDefinition(_, definition))) =
        place.and_then(|place| Some((place, named.get(place)?)))
    else {
        let help = "give it in the clause WINDOW, which stands behind HAVING".into();
        let message = format!("there is no window '{}'", name.value);
        return Err(Error::Name { message, help: Some(help) }.at(name.span));
    };
    let before = &named[..place];
    match definition {
        NamedWindowExpr::NamedWindow(other) => named_spec(other, before),
        NamedWindowExpr::WindowSpec(own) => inherited(own, before),
    }
}

fn inherited<'q>(own: &'q WindowSpec, named: &'q [NamedWindowDefinition]) -> Result<Spec<'q>> {
    let WindowSpec { window_name, partition_by, order_by, window_frame } = own;
    let (order_by, exclude) = exclude::split(order_by);
    let frame = window_frame.as_ref();
    let Some(name) = window_name else { return Ok(Spec { partition_by, order_by, frame, exclude }) };
    let base = named_spec(name, named)?;
    let wrong = if !partition_by.is_empty() {
        "a window that begins with the name of another one can't have PARTITION BY"
    } else if !order_by.is_empty() && !base.order_by.is_empty() {
        "a window that begins with the name of another one can't have ORDER BY if that has it"
    } else if base.frame.is_some() {
        "a window that has a frame can't be the begin of another one; write OVER and its name without parentheses"
    } else {
        let order_by = if order_by.is_empty() { base.order_by } else { order_by };
        return Ok(Spec { partition_by: base.partition_by, order_by, frame, exclude });
    };
    Err(Error::Invalid(wrong.into()).at(name.span))
}

/// The columns that windows at the top of a SELECT make.
pub(super) fn made(rel: &Rel) -> BTreeSet<ColumnId> {
    let (mut rel, mut made) = (rel, BTreeSet::new());
    loop {
        rel = match rel {
            Rel::Map(node) => &node.input,
            Rel::Filter(node) => &node.input,
            Rel::Window(node) => {
                made.extend(node.calls.iter().map(|(id, _)| *id));
                &node.input
            }
            _ => return made,
        };
    }
}

/// Refuses two windows of one name.
///
/// # Errors
/// There are two.
pub(super) fn check_names(named: &[NamedWindowDefinition]) -> Result<()> {
    for (i, NamedWindowDefinition(name, _)) in named.iter().enumerate() {
        if named[..i].iter().any(|NamedWindowDefinition(other, _)| same(&other.value, &name.value)) {
            let message = format!("two windows are called '{}'", name.value);
            return Err(Error::Name { message, help: None }.at(name.span));
        }
    }
    Ok(())
}

/// The calls over windows of a SELECT while its expressions are bound.
pub(super) type Noted = RefCell<Windows>;
