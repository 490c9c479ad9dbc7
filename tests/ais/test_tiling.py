import pytest

from pmcnet.ais.tiling import even_size


@pytest.mark.parametrize(
    ("n", "most", "size"), [(400, 32, 25), (45000, 2236, 1875), (20, 32, 20), (7, 3, 3), (12, 4, 4), (1, 1, 1)]
)
def test_pieces_are_equal_where_a_divisor_is_near(n, most, size):
    assert even_size(n, most) == size
