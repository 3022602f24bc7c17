"""What the file system experiment knows a cell by."""

from stampede.experiment import Values


class FilesystemValues(Values):
    """The variables and keys of the work order that it reads."""

    storage: str
    throughput_mode: str
    subnet_count: int
    cache: str
    read_method: str
    large_file_mb: int
    small_files: int
    with_s3files: bool
    direct_s3_read: str
    dataset: str  # of the work order, as all below
    threads: int
    connections: int
