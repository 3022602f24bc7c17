"""The pictures of the report, a class in a module each, drawn from the numbers of statistics.json.

`picture` is what each of them is, `subject` the cells of a run as the lines of a picture, `panels` and `ranked` what
many of them become, `drawing` holds what all pictures share.
"""
