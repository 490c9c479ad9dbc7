import pytest
import torch

from pmcnet.bnn.networks.precision import PRECISIONS, _search, _tf32, in_precision

CPU = torch.device("cpu")


@pytest.mark.parametrize("precision", PRECISIONS)
def test_only_bf16_rounds_on_a_cpu(precision):
    x = torch.randn(8, 8, generator=torch.Generator().manual_seed(0))
    with in_precision(precision, CPU):
        found = x @ x
    assert found.dtype == (torch.bfloat16 if precision == "bf16" else torch.float32)
    assert (x @ x).dtype == torch.float32
    assert torch.equal(found.float(), x @ x) == (precision != "bf16")


@pytest.mark.parametrize("allowed", [False, True])
def test_tf32_is_as_asked_and_then_as_before(allowed):
    products, convolutions = torch.backends.cuda.matmul, torch.backends.cudnn
    before = products.allow_tf32, convolutions.allow_tf32

    def within():
        with _tf32(allowed):
            assert (products.allow_tf32, convolutions.allow_tf32) == (allowed, allowed)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        within()
    assert (products.allow_tf32, convolutions.allow_tf32) == before


@pytest.mark.parametrize("already", [False, True])
def test_search_for_convolutions_is_as_asked_and_then_as_before(already, monkeypatch):
    monkeypatch.setattr(torch.backends.cudnn, "benchmark", already)
    for asked in (False, True):
        with _search(asked):
            assert torch.backends.cudnn.benchmark == (asked or already)
        assert torch.backends.cudnn.benchmark == already
