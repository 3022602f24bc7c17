"""What the download experiment knows a cell by."""

from stampede.experiment import Values


class DownloadValues(Values):
    """The variables and keys of the work order that it reads."""

    object_size_mb: int
    method: str
    sink: str
    range_parallel: int
    range_part_mb: int
