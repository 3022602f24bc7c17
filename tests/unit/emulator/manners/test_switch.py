"""What the environment says of AWS's manners."""

import pytest

from stampede.emulator import ministack
from stampede.errors import UsageError


def test_a_scale_is_a_number_above_0(tmp_path, monkeypatch):
    assert ministack.manners_scale({}) == ministack.USUAL_SCALE
    assert ministack.manners_scale({ministack.MANNERS_SCALE: "1"}) == 1
    for text in ("0", "x", "nan", "inf"):
        monkeypatch.setenv(ministack.MANNERS_SCALE, text)
        with pytest.raises(UsageError, match=f"STAMPEDE_MANNERS_SCALE='{text}': must be a number above 0"):
            ministack.start(tmp_path)
