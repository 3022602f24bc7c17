"""All of Stampede's Python except the loader and the experiments, from the command line down to
the model."""
