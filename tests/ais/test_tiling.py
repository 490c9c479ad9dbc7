import pytest
import torch

from pmcnet.ais.tiling import even_size, free_memory


@pytest.mark.parametrize(
    ("n", "most", "size"),
    [(400, 32, 25), (45000, 2236, 1875), (20, 32, 20), (7, 3, 3), (12, 4, 4), (1, 1, 1)],
)
def test_pieces_are_equal_where_a_divisor_is_near(n, most, size):
    assert even_size(n, most) == size


def test_free_memory_is_some_of_what_there_is():
    assert 1 << 20 < free_memory(torch.device("cpu")) < 1 << 45
