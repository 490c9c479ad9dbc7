import io
import pickle
import zipfile

import numpy as np
import pytest

from data.making import made, npy, pixels
from pmcnet.data.readers.npy import BYTES, REAL, Wanted, read_npy, read_npz
from pmcnet.errors import InputError

WANTED = Wanted((10, 4), BYTES)


@pytest.mark.parametrize("version", [None, (1, 0), (2, 0)])
@pytest.mark.parametrize("array", [pixels(3, 4), np.asfortranarray(pixels(3, 4)), pixels(10, 4)])
def test_read_npy_gives_back_what_was_written(tmp_path, array, version):
    read = read_npy(made(tmp_path / "a.npy", npy(array, version)), WANTED)
    assert np.array_equal(read, array)
    read[:] = 0  # its own


def test_read_npy_takes_either_byte_order(tmp_path):
    array = np.arange(4, dtype=">f8")
    assert np.array_equal(read_npy(made(tmp_path / "a.npy", npy(array)), Wanted((4,), REAL)), array)


def header(text: str) -> bytes:
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode()


def described(shape: str, dtype: str = "|u1") -> bytes:
    return header(f"{{'descr': '{dtype}', 'fortran_order': False, 'shape': {shape}}}\n")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "damaged or of another kind"),
        (b"\x93NUMPY", "damaged or of another kind"),
        (b"PK no array", "damaged or of another kind"),
        (npy(pixels(3, 4))[:-1], "cut short: 12 bytes were announced where 11 are left"),
        (npy(pixels(3, 4)) + b"x", "goes on after"),
        (npy(pixels(3, 4), (3, 0)), r"version \(3, 0\)"),
        (npy(pixels(11, 4)), r"announces the shape \(11, 4\); 1 to 10 entries of 4"),
        (npy(pixels(0, 4)), r"announces the shape \(0, 4\)"),
        (npy(pixels(3, 5)), r"announces the shape \(3, 5\)"),
        (npy(pixels(3)), r"announces the shape \(3,\)"),
        (npy(pixels(3, 4).astype(np.uint16)), "type uint16; uint8 is possible"),
        (described("(1000000000000, 4)"), "announces the shape"),
        (described("(-1, 4)"), "announces the shape"),
        (described("(3, 4)", "|O"), "type object"),
        (header("{'descr': __import__('os').system('true')}\n"), "damaged or of another kind"),
        (header("7\n"), "damaged or of another kind"),
    ],
)
def test_malformed_array_is_refused(tmp_path, content, message):
    with pytest.raises(InputError, match=message):
        read_npy(made(tmp_path / "a.npy", content), WANTED)


def test_objects_are_never_unpickled(tmp_path):
    file = io.BytesIO()
    np.save(file, np.array([{}, {}], object), allow_pickle=True)
    with pytest.raises(InputError, match="type object"):
        read_npy(made(tmp_path / "a.npy", file.getvalue()), Wanted((2,), BYTES))
    with pytest.raises(InputError, match="damaged"):
        read_npy(made(tmp_path / "b.npy", pickle.dumps([1])), WANTED)


def test_read_npz_keeps_the_order_asked(tmp_path):
    np.savez(tmp_path / "a.npz", a=pixels(1, 4), b=pixels(2, 4), c=pixels(3, 4))
    b, a = read_npz(tmp_path / "a.npz", {"b": WANTED, "a": WANTED})
    assert (len(b), len(a)) == (2, 1)


def test_read_npz_names_the_array_that_is_missing(tmp_path):
    np.savez(tmp_path / "a.npz", a=pixels(1, 4))
    with pytest.raises(
        InputError, match=r"a\.npz has no array 'b'. Replace it by a file that has a, b"
    ):
        read_npz(tmp_path / "a.npz", {"a": WANTED, "b": WANTED})


def test_read_npz_names_the_array_that_is_of_another_form(tmp_path):
    np.savez_compressed(tmp_path / "a.npz", a=pixels(1, 4), b=pixels(20, 4))
    with pytest.raises(InputError, match=r"'b' in .*a\.npz announces the shape \(20, 4\)"):
        read_npz(tmp_path / "a.npz", {"a": WANTED, "b": WANTED})


def test_damaged_archive_is_refused(tmp_path):
    np.savez_compressed(tmp_path / "a.npz", a=pixels(10, 4))
    content = bytearray((tmp_path / "a.npz").read_bytes())
    content[60] ^= 0xFF
    for damaged in (b"", b"no zip", bytes(content), bytes(content)[:-30]):
        with pytest.raises(InputError, match=r"a\.npz is (damaged|cut short)|a\.npz.*Replace it"):
            read_npz(made(tmp_path / "a.npz", damaged), {"a": WANTED})


def test_encrypted_member_is_refused(tmp_path):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as packed:
        packed.writestr("a.npy", npy(pixels(1, 4)))
    content = bytearray(file.getvalue())
    content[6] |= 1  # local header: encrypted
    content[content.index(b"PK\x01\x02") + 8] |= 1
    with pytest.raises(InputError, match=r"damaged or of another kind.*encrypted"):
        read_npz(made(tmp_path / "a.npz", bytes(content)), {"a": WANTED})
