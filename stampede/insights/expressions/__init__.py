"""Expressions as SQL: fields, literals, operators, conditions and aggregates, each with
its kind."""
