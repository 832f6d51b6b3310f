"""Serving a compact model (.l0gm): no LibTorch, no training code, numpy alone.

    import l0gm
    model = l0gm.load("adult.l0gm")
    model.predict_proba(frame)   # pandas DataFrame, dict of columns, list of dicts, or rows of numbers
    model.predict(frame)         # the most probable class of each row
"""

from ._library import Error, library_path, library_version
from ._model import Counts, Model, load

__all__ = ["Counts", "Error", "Model", "library_path", "library_version", "load"]
