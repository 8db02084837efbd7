//! SQL to physical plan: parse, bind, optimise, decide.
