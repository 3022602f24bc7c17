"""The command line: what each verb takes (`options`), and what it does (`verbs`)."""
