//! Statement to logical plan, over a catalog.

use std::any::Any;
use std::sync::Arc;

use arrow_schema::{DataType, Field, Schema, SchemaRef};
use datafusion_common::config::ConfigOptions;
use datafusion_common::tree_node::{Transformed, TreeNodeRecursion};
use datafusion_common::{DataFusionError, Result as DfResult, ScalarValue, TableReference, plan_err};
use datafusion_expr::expr::Expr;
use datafusion_expr::logical_plan::{Projection, Sort};
use datafusion_expr::planner::{ContextProvider, ExprPlanner, RelationPlanner};
use datafusion_expr::{
    AggregateUDF, ExprSchemable, HigherOrderUDF, LogicalPlan, Operator, ScalarUDF,
    TableProviderFilterPushDown, TableSource, WindowUDF,
};
use datafusion_sql::parser::Statement as DfStatement;
use datafusion_sql::planner::{NullOrdering, ParserOptions, SqlToRel};
use datafusion_sql::sqlparser::ast;
use schema::bdb::{Kind, Sizes};
use schema::{Source, Table};

use crate::Settings;
use crate::bounds;
use crate::catalog::Catalog;
use crate::error::{Error, Result};
use crate::functions::Functions;
use crate::names::Names;
use crate::optimise;
use crate::optimise::dependencies::Relations;
use crate::parse::Query;
use crate::rewrite::{casts, dates, multiset, nulls, numbers, repeated_keys};
use crate::subqueries;
use crate::tree;

/// A table as the logical plan carries it.
#[derive(Debug, Clone)]
pub struct PlanTable {
    /// The table.
    pub table: Arc<Table>,
    /// Its schema in the spellings of the query.
    pub schema: SchemaRef,
    /// The command that its lines are streamed through, and what it prints.
    pub transform: Option<Transform>,
}

/// A user's command that reads lines and prints tab-separated rows.
#[derive(Debug, Clone, PartialEq)]
pub struct Transform {
    /// The command, run by `sh -c`.
    pub command: String,
    /// The columns that it prints.
    pub schema: SchemaRef,
}

impl TableSource for PlanTable {
    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }

    fn supports_filters_pushdown(&self, filters: &[&Expr]) -> DfResult<Vec<TableProviderFilterPushDown>> {
        // The scan uses filters for zone maps only; the filter itself stays in the plan.
        let kind = match self.transform {
            Some(_) => TableProviderFilterPushDown::Unsupported,
            None => TableProviderFilterPushDown::Inexact,
        };
        Ok(vec![kind; filters.len()])
    }
}

/// Binds names and types.
pub fn bind(query: &Query, names: &Names, catalog: &Catalog, settings: &Settings) -> Result<LogicalPlan> {
    let context = Context {
        names,
        catalog,
        settings,
        functions: Functions::all(),
        options: optimise::config(),
        relations: [Arc::new(Relations::default())],
    };
    let options = ParserOptions::new()
        .with_enable_ident_normalization(false)
        .with_default_null_ordering(NullOrdering::NullsLast);
    let planner = SqlToRel::new_with_options(&context, options);
    let statement = DfStatement::Statement(Box::new(ast::Statement::Query(Box::new(query.clone()))));
    let plan = planner.statement_to_plan(statement)?;
    bounds::check_plan(&plan)?;
    refuse(&plan)?;
    let plan = numbers::of_values(order_added_columns(plan)?)?;
    let plan = multiset::apply(casts::unwrap(plan)?)?;
    let plan = refuse_nested(repeated_keys::rewrite(plan)?)?;
    let plan = nulls::rewrite(numbers::rewrite(dates::rewrite(plan)?)?)?;
    let plan = subqueries::rewrite(plan)?;
    Ok(plan)
}

/// Functions that take lists, structs and maps as they are. Others would be given their text.
const OF_NESTED: [&str; 12] = [
    "get_field",
    "greatest",
    "least",
    "coalesce",
    "nvl",
    "nvl2",
    "ifnull",
    "nullif",
    "arrow_typeof",
    "arrow_cast",
    "struct",
    "named_struct",
];

/// Refuses a list, struct or map where text is taken: the planner would cast it in silence, and the length of a list be that
/// of its text.
fn refuse_nested(plan: LogicalPlan) -> Result<LogicalPlan> {
    Ok(tree::all_expressions_up(plan, &mut |e, schema| {
        // What names a column of a query around has no type here, and is bound again with it.
        let is_nested = |e: &Expr| e.get_type(schema).is_ok_and(|t| t.is_nested());
        let of = match &e {
            Expr::ScalarFunction(f)
                if !OF_NESTED.contains(&f.func.name())
                    // `= any`, of a list.
                    && !f.func.name().contains(' ')
                    && f.args.iter().any(is_nested) =>
            {
                format!("{}()", f.func.name())
            }
            Expr::BinaryExpr(b)
                if b.op == Operator::StringConcat && (is_nested(&b.left) || is_nested(&b.right)) =>
            {
                "||".into()
            }
            _ => return Ok(Transformed::no(e)),
        };
        Err(DataFusionError::NotImplemented(format!(
            "{of} of a list, struct or map\n  help: CAST(… AS VARCHAR) makes a text of it"
        )))
    })?)
}

/// The columns that ORDER BY needs beyond those selected are added to the projection in the order of a hash set, which
/// differs from process to process: they are put in the order of their names.
fn order_added_columns(plan: LogicalPlan) -> Result<LogicalPlan> {
    let ordered = tree::plan_up(plan, &mut |node| {
        let LogicalPlan::Projection(outer) = &node else { return Ok(Transformed::no(node)) };
        let LogicalPlan::Sort(sort) = outer.input.as_ref() else { return Ok(Transformed::no(node)) };
        let LogicalPlan::Projection(inner) = sort.input.as_ref() else { return Ok(Transformed::no(node)) };
        if inner.expr.len() <= outer.expr.len() + 1 {
            return Ok(Transformed::no(node));
        }
        let mut exprs = inner.expr.clone();
        exprs[outer.expr.len()..].sort_by_cached_key(ToString::to_string);
        let inner = LogicalPlan::Projection(Projection::try_new(exprs, inner.input.clone())?);
        let sort = LogicalPlan::Sort(Sort { input: Arc::new(inner), ..sort.clone() });
        let outer = Projection::try_new(outer.expr.clone(), Arc::new(sort))?;
        Ok(Transformed::yes(LogicalPlan::Projection(outer)))
    })?;
    Ok(ordered.data)
}

/// Names the first construct that palais does not run.
fn refuse(plan: &LogicalPlan) -> Result<()> {
    let mut found = None;
    tree::look_at_plans(plan, &mut |node| {
        let what = match node {
            LogicalPlan::Window(_) => "window functions (OVER)",
            LogicalPlan::RecursiveQuery(_) => "recursive CTEs (WITH RECURSIVE)",
            LogicalPlan::Unnest(_) => "UNNEST",
            LogicalPlan::Extension(_) | LogicalPlan::Dml(_) | LogicalPlan::Ddl(_) => "this statement",
            LogicalPlan::Statement(_) => "transactions and settings",
            LogicalPlan::Aggregate(aggregate) => {
                let calls = || aggregate.aggr_expr.iter();
                let distinct = calls().find_map(distinct_of_several).map(|name| {
                    format!("DISTINCT in {name}(), which has several arguments; a subquery with SELECT DISTINCT may do")
                });
                let outer = || {
                    let name = calls().find_map(of_outer_columns)?;
                    Some(format!(
                        "{name}() in a subquery over columns of the query around it alone, to which it belongs then"
                    ))
                };
                found = distinct.or_else(outer);
                return Ok(match found {
                    Some(_) => TreeNodeRecursion::Stop,
                    None => TreeNodeRecursion::Continue,
                });
            }
            _ => return Ok(TreeNodeRecursion::Continue),
        };
        found = Some(what.to_string());
        Ok(TreeNodeRecursion::Stop)
    })?;
    match found {
        Some(what) => Err(Error::Unsupported(what)),
        None => Ok(()),
    }
}

/// The name of an aggregate that would be given each combination of its arguments, and not each value of the first.
fn distinct_of_several(e: &Expr) -> Option<String> {
    const OF_THE_FIRST: [&str; 2] = ["string_agg", "percentile_cont"];
    let mut name = None;
    tree::any_expr(e, &mut |e| match e {
        Expr::AggregateFunction(f)
            if f.params.distinct && f.params.args.len() > 1 && !OF_THE_FIRST.contains(&f.func.name()) =>
        {
            name = Some(f.func.name().to_string());
            true
        }
        _ => false,
    });
    name
}

/// The name of an aggregate whose arguments name columns, and none of the query in which it stands: by the standard it is
/// one of the query around, which has these columns.
fn of_outer_columns(e: &Expr) -> Option<String> {
    let mut name = None;
    tree::any_expr(e, &mut |e| {
        let Expr::AggregateFunction(f) = e else { return false };
        let names = |is: fn(&Expr) -> bool| {
            f.params.args.iter().chain(f.params.filter.as_deref()).any(|e| tree::any_expr(e, &mut |e| is(e)))
        };
        let is_outer = names(|e| matches!(e, Expr::OuterReferenceColumn(..)))
            && !names(|e| matches!(e, Expr::Column(_)));
        if is_outer {
            name = Some(f.func.name().to_string());
        }
        is_outer
    });
    name
}

struct Context<'a> {
    names: &'a Names,
    catalog: &'a Catalog,
    settings: &'a Settings,
    functions: &'static Functions,
    options: ConfigOptions,
    relations: [Arc<dyn RelationPlanner>; 1],
}

impl Context<'_> {
    fn source(&self, table: Table) -> Arc<dyn TableSource> {
        let schema = self.names.schema(&table.schema);
        Arc::new(PlanTable { table: Arc::new(table), schema, transform: None })
    }
}

impl ContextProvider for Context<'_> {
    fn get_table_source(&self, name: TableReference) -> DfResult<Arc<dyn TableSource>> {
        let table =
            self.catalog.table(&name.to_string()).map_err(|e| DataFusionError::Plan(e.to_string()))?.clone();
        let schema = self.names.schema(&table.schema);
        Ok(Arc::new(PlanTable { table, schema, transform: None }))
    }

    fn get_table_function_source(&self, name: &str, args: Vec<Expr>) -> DfResult<Arc<dyn TableSource>> {
        let args: Vec<ScalarValue> = args
            .into_iter()
            .map(|e| constant(&e).ok_or_else(|| DataFusionError::Plan(format!("{name}() takes constants"))))
            .collect::<DfResult<_>>()?;
        match name.to_ascii_lowercase().as_str() {
            "range" | "generate_series" => {
                Ok(self.source(range(name, &args, name.eq_ignore_ascii_case("generate_series"))?))
            }
            "bdb" => Ok(self.source(bdb(&args)?)),
            "transform" => self.transform(&args),
            _ => plan_err!(
                "there is no table function '{name}'; there are range, generate_series, bdb and transform"
            ),
        }
    }

    fn get_expr_planners(&self) -> &[Arc<dyn ExprPlanner>] {
        self.functions.planners()
    }

    fn get_relation_planners(&self) -> &[Arc<dyn RelationPlanner>] {
        &self.relations
    }

    fn get_function_meta(&self, name: &str) -> Option<Arc<ScalarUDF>> {
        self.functions.scalar(&name.to_ascii_lowercase())
    }

    fn get_higher_order_meta(&self, _name: &str) -> Option<Arc<HigherOrderUDF>> {
        None
    }

    fn get_aggregate_meta(&self, name: &str) -> Option<Arc<AggregateUDF>> {
        self.functions.aggregate(&name.to_ascii_lowercase())
    }

    fn get_window_meta(&self, _name: &str) -> Option<Arc<WindowUDF>> {
        None
    }

    fn get_variable_type(&self, _variable_names: &[String]) -> Option<DataType> {
        None
    }

    fn options(&self) -> &ConfigOptions {
        &self.options
    }

    fn udf_names(&self) -> Vec<String> {
        self.functions.scalar_names()
    }

    fn higher_order_function_names(&self) -> Vec<String> {
        Vec::new()
    }

    fn udaf_names(&self) -> Vec<String> {
        self.functions.aggregate_names()
    }

    fn udwf_names(&self) -> Vec<String> {
        Vec::new()
    }
}

impl Context<'_> {
    /// `transform('table', 'command', 'column TYPE, …')`.
    fn transform(&self, args: &[ScalarValue]) -> DfResult<Arc<dyn TableSource>> {
        let usage = "transform() takes a table, a command and the columns that it prints: \
                     transform('logs', './parse.py', 'host VARCHAR, hits BIGINT')";
        let [table, command, columns] = args else { return plan_err!("{usage}") };
        let text = |v: &ScalarValue| v.try_as_str().flatten().map(str::to_string);
        let (Some(table), Some(command), Some(columns)) = (text(table), text(command), text(columns)) else {
            return plan_err!("{usage}");
        };
        if !self.settings.allow_scripts {
            return plan_err!("transform() starts the command '{command}'; allow it with --allow-scripts");
        }
        let table = self.catalog.table(&table).map_err(|e| DataFusionError::Plan(e.to_string()))?.clone();
        let printed = self.columns(&columns)?;
        let transform = Transform { command, schema: printed.clone() };
        Ok(Arc::new(PlanTable { table, schema: self.names.schema(&printed), transform: Some(transform) }))
    }

    /// A list of columns as `CREATE TABLE` has it.
    fn columns(&self, text: &str) -> DfResult<SchemaRef> {
        use datafusion_sql::sqlparser::{dialect::GenericDialect, parser::Parser};
        let statement = Parser::parse_sql(&GenericDialect {}, &format!("CREATE TABLE t ({text})"))?;
        let [ast::Statement::CreateTable(create)] = statement.as_slice() else {
            return plan_err!("'{text}' is not a list of columns such as 'host VARCHAR, hits BIGINT'");
        };
        let options = ParserOptions::new().with_enable_ident_normalization(false);
        Ok(Arc::new(SqlToRel::new_with_options(self, options).build_schema(create.columns.clone())?))
    }
}

/// The value of a literal, or of a negated one.
fn constant(e: &Expr) -> Option<ScalarValue> {
    match e {
        Expr::Literal(v, _) => Some(v.clone()),
        Expr::Negative(inner) => constant(inner)?.arithmetic_negate().ok(),
        Expr::Cast(cast) => constant(&cast.expr)?.cast_to(cast.field.data_type()).ok(),
        other => constant(casts::wrapped(other)?),
    }
}

/// `range(end)`, `range(start, end)`, `range(start, end, step)`; `generate_series` includes the end.
pub(crate) fn range(name: &str, args: &[ScalarValue], inclusive: bool) -> DfResult<Table> {
    let whole = |v: &ScalarValue, n: &ScalarValue| {
        v.data_type().is_integer() || n.cast_to(&v.data_type()).is_ok_and(|same| same == *v)
    };
    let number = |v: &ScalarValue| match v.cast_to(&DataType::Int64) {
        Ok(n @ ScalarValue::Int64(Some(number))) if whole(v, &n) => Ok(number),
        _ => plan_err!("{name}() takes 64-bit integers"),
    };
    let (start, end, step) = match args {
        [end] => (0, number(end)?, 1),
        [start, end] => (number(start)?, number(end)?, 1),
        [start, end, step] => (number(start)?, number(end)?, number(step)?),
        _ => return plan_err!("{name}() takes one to three numbers: an end; a start and an end; and a step"),
    };
    if step == 0 {
        return plan_err!("the step of {name}() must not be 0");
    }
    let end = match inclusive {
        true => match end.checked_add(step.signum()) {
            Some(end) => end,
            None => return plan_err!("the end of {name}() is out of range"),
        },
        false => end,
    };
    let distance = (i128::from(end) - i128::from(start)) * i128::from(step.signum());
    let rows = if distance <= 0 { 0 } else { (distance - 1) / i128::from(step).abs() + 1 };
    let column = if inclusive { "generate_series" } else { "range" };
    Ok(Table {
        name: name.to_string(),
        schema: Arc::new(Schema::new(vec![Field::new(column, DataType::Int64, false)])),
        source: Source::Range { start, end, step },
        rows: Some(rows as u64),
        spans: vec![Some((start.min(end) as f64, start.max(end) as f64))],
        guesses: schema::Guesses::default(),
    })
}

/// `bdb('uservisits', 'tiny')` or `bdb('uservisits', rankings, uservisits)`, with documents' bytes and a seed behind
/// them: a table of the benchmark, made while it is read.
pub(crate) fn bdb(args: &[ScalarValue]) -> DfResult<Table> {
    let usage = || {
        DataFusionError::Plan(
            "bdb() takes a table (rankings, uservisits, documents) and a set (tiny, 1node, 5nodes), or the rows of \
             rankings and of uservisits, the bytes of documents and a seed"
                .into(),
        )
    };
    let text = |i: usize| args.get(i).and_then(|v| v.try_as_str().flatten());
    let number = |i: usize, default: u64| match args.get(i).map(|v| v.cast_to(&DataType::UInt64)) {
        None => Ok(default),
        Some(Ok(ScalarValue::UInt64(Some(n)))) => Ok(n),
        Some(_) => Err(usage()),
    };
    let kind = text(0).and_then(Kind::parse).ok_or_else(usage)?;
    let spec = match text(1) {
        Some(set) => Sizes::of_set(set).ok_or_else(usage)?.table(kind, number(2, 0)?),
        None => {
            let sizes = Sizes {
                rankings: number(1, 1_200)?,
                uservisits: number(2, 10_000)?,
                documents_bytes: number(3, 6_800_000)?,
            };
            sizes.table(kind, number(4, 0)?)
        }
    };
    spec.check().map_err(DataFusionError::Plan)?;
    Ok(Table {
        name: kind.name().to_string(),
        schema: spec.schema(),
        source: Source::Generated(spec),
        rows: spec.rows(),
        spans: vec![],
        guesses: schema::Guesses::default(),
    })
}

/// The palais table behind a source of the logical plan.
pub fn plan_table(source: &Arc<dyn TableSource>) -> Result<&PlanTable> {
    (source.as_ref() as &dyn Any)
        .downcast_ref::<PlanTable>()
        .ok_or_else(|| Error::Invalid("a table of the plan is not one of the catalog".into()))
}
