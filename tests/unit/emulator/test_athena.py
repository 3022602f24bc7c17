"""How the embedded Athena reads objects; tests/emulator tests its answers."""

import duckdb
from ministack.services import athena

from stampede.emulator.athena import behave

TABLE = {
    "PartitionKeys": [{"Name": "bytes", "Type": "string"}],
    "StorageDescriptor": {
        "Columns": [{"Name": "value", "Type": "int"}, {"Name": "pad", "Type": "string"}],
        "SerdeInfo": {"SerializationLibrary": "JsonSerDe"},
    },
}


def test_hundreds_of_objects_are_read_in_little_memory_by_the_tables_columns(tmp_path, monkeypatch):
    for name in ("_start_query_execution", "_execute_query", "_table_relation"):
        monkeypatch.setattr(athena, name, getattr(athena, name))  # restored afterwards
    behave()
    folder = tmp_path / "bytes=10"
    folder.mkdir()
    for number in range(200):
        (folder / f"{number}.json").write_text(
            '{"value": 1, "pad": "a"}\n{"value":   2, "pad": "b", "more": 1}\n'
        )
    relation = athena._table_relation(TABLE, [str(path) for path in folder.iterdir()])
    connection = duckdb.connect(config={"memory_limit": "1GB"})
    query = f"SELECT count(*), sum(value), max(pad) FROM {relation} WHERE bytes = '10'"
    assert connection.execute(query).fetchall() == [(400, 600, "b")]
