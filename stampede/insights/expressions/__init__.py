"""Expressions as SQL: fields, literals, operators, conditions and aggregates, each value with
its kind."""
