"""All Python of Stampede but the loader and the experiments: from the command line down to the
model."""
