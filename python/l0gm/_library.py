"""Loads libl0gm_runtime through its C interface (l0gm/c_api.h): its location, function types and errors."""

import ctypes
import functools
import os
from ctypes import POINTER, c_char_p, c_double, c_float, c_int, c_int32, c_int64, c_size_t, c_void_p
from pathlib import Path

FILE_NAME = "libl0gm_runtime.so"
ABI_VERSION = 2  # L0GM_ABI_VERSION of the header that the types below are written from


class Error(ValueError):
    """An error of the library or of this package; the message says what was found, what was wanted and what to do."""


class Options(ctypes.Structure):
    _fields_ = [("threads", c_int32), ("calibrated", c_int32)]


_HANDLE = c_void_p  # l0gm_model*, l0gm_layout*: opaque
_FUNCTIONS = {
    "l0gm_abi_version": (c_int32, []),
    "l0gm_version": (c_char_p, []),
    "l0gm_last_error": (c_char_p, []),
    "l0gm_load": (c_int, [c_char_p, POINTER(Options), POINTER(_HANDLE)]),
    "l0gm_free": (None, [_HANDLE]),
    "l0gm_column_count": (c_size_t, [_HANDLE]),
    "l0gm_column_name": (c_char_p, [_HANDLE, c_size_t]),
    "l0gm_column_is_numeric": (c_int32, [_HANDLE, c_size_t]),
    "l0gm_class_count": (c_size_t, [_HANDLE]),
    "l0gm_class_name": (c_char_p, [_HANDLE, c_size_t]),
    "l0gm_manifest": (c_char_p, [_HANDLE]),
    "l0gm_memory_bytes": (c_size_t, [_HANDLE]),
    "l0gm_is_calibrated": (c_int32, [_HANDLE]),
    "l0gm_layout_create": (c_int, [_HANDLE, POINTER(c_char_p), c_size_t, POINTER(_HANDLE)]),
    "l0gm_layout_free": (None, [_HANDLE]),
    "l0gm_code": (c_int, [_HANDLE, c_size_t, c_char_p, c_size_t, POINTER(c_int32)]),
    "l0gm_predict_numbers": (c_int, [_HANDLE, _HANDLE, POINTER(c_double), c_size_t, POINTER(c_float), POINTER(c_int64)]),
    # cells and lengths are passed as addresses of numpy arrays.
    "l0gm_predict_text": (c_int, [_HANDLE, _HANDLE, c_void_p, c_void_p, c_size_t, POINTER(c_float), POINTER(c_int64)]),
}


def library_path() -> Path:
    """The library that is loaded: $L0GM_RUNTIME_LIBRARY, else beside this package, else in the release build of a checkout."""
    package = Path(__file__).resolve().parent
    named = os.environ.get("L0GM_RUNTIME_LIBRARY")
    places = [*([Path(named)] if named else []), package / FILE_NAME, package.parents[1] / "build" / "release" / FILE_NAME]
    for place in places:
        if place.is_file():
            return place
    raise Error(f"{FILE_NAME} was not found; looked for {', '.join(str(place) for place in places)}. "
                "Install the package with pip, or name the library in L0GM_RUNTIME_LIBRARY.")


@functools.cache
def library() -> ctypes.CDLL:
    path = library_path()
    try:
        loaded = ctypes.CDLL(str(path))
        for name, (result, arguments) in _FUNCTIONS.items():
            function = getattr(loaded, name)
            function.restype, function.argtypes = result, arguments
    except (OSError, AttributeError) as problem:
        raise Error(f"{path} is not a library of L0GM that can be used here: {problem}. Build or install it again.") from problem
    found = loaded.l0gm_abi_version()
    if found != ABI_VERSION:
        raise Error(f"{path} has the ABI version {found}, this package wants {ABI_VERSION}. Install both from the same version.")
    return loaded


def library_version() -> str:
    return library().l0gm_version().decode()


def check(status: int) -> None:
    """Raises Error with the library's message unless the status is L0GM_OK."""
    if status != 0:
        message = (library().l0gm_last_error() or b"").decode(errors="replace")
        raise Error(message or f"the library returned status {status} without a message")
