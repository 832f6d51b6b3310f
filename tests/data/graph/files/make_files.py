"""Writes the archives beside it, with numpy and scipy: one small graph in every layout and pickle protocol that readers meet."""
import io
import pathlib
import pickle
import zipfile

import numpy as np
from scipy.sparse import csr_array, csr_matrix

FOLDER = pathlib.Path(__file__).parent
# Edges 0 -> 1, 1 -> 2, 2 -> 0, 3 -> 3 (a loop), 4 -> 3, 3 -> 4; node 5 is isolated; 5 -> 0 is stored with the value 0: no edge.
ADJACENCY = ([1, 1, 1, 1, 1, 1, 0], [1, 2, 0, 4, 3, 3, 0], [0, 1, 2, 3, 5, 6, 7])
# Not ascending in row 0, a place given twice in row 1 (its values add up), a stored 0 in row 2.
ATTRIBUTES = ([2.0, 1.0, 0.5, 0.25, 0.0, -1.5], [3, 1, 2, 2, 0, 4], [0, 2, 4, 5, 5, 6, 6])
LABELS = np.array([0, 1, 2, 0, 1, -1], dtype=np.int32)
CLASSES = ["first", "second", "dritte über"]


def matrix(parts, shape, kind=csr_matrix):
    data, indices, indptr = parts
    made = kind(shape)
    made.data, made.indices = np.array(data, dtype=np.float32), np.array(indices, dtype=np.int32)
    made.indptr = np.array(indptr, dtype=np.int32)
    return made


def npy(value):
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, np.asarray(value), allow_pickle=False)
    return buffer.getvalue()


def pickled_npy(value, protocol, rename):
    box = np.empty((), dtype=object)
    box[()] = value
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "|O", "fortran_order": False, "shape": ()})
    body = pickle.dumps(box, protocol=protocol)
    if rename:  # what older numpy and scipy call the same things
        body = body.replace(b"numpy._core.multiarray", b"numpy.core.multiarray").replace(b"scipy.sparse._csr", b"scipy.sparse.csr")
    return header.getvalue() + body


def write_pickled(name, protocol, classes, kind=csr_matrix, rename=False):
    with zipfile.ZipFile(FOLDER / name, "w", zipfile.ZIP_DEFLATED) as archive:
        def put(entry, body):
            archive.writestr(zipfile.ZipInfo(entry, (1980, 1, 1, 0, 0, 0)), body, zipfile.ZIP_DEFLATED)
        put("adj_matrix.npy", pickled_npy(matrix(ADJACENCY, (6, 6), kind), protocol, rename))
        put("node_attr.npy", pickled_npy(matrix(ATTRIBUTES, (6, 5), kind), protocol, rename))
        put("node_label.npy", npy(LABELS))
        put("metadata.npy", pickled_npy({"class_names": classes}, protocol, rename))


def main():
    objects = np.empty(3, dtype=object)
    objects[:] = CLASSES
    write_pickled("protocol2.npz", 2, np.array(CLASSES), rename=True)
    write_pickled("protocol3.npz", 3, objects, rename=True)
    write_pickled("protocol4.npz", 4, np.array(CLASSES), kind=csr_array)
    parts = {}
    for prefix, source, shape in (("adj", ADJACENCY, (6, 6)), ("attr", ATTRIBUTES, (6, 5))):
        data, indices, indptr = source
        parts[prefix + "_data"] = np.array(data, dtype=np.float64)
        parts[prefix + "_indices"] = np.array(indices, dtype=np.int64)
        parts[prefix + "_indptr"] = np.array(indptr, dtype=np.int64)
        parts[prefix + "_shape"] = np.array(shape)
    np.savez(FOLDER / "plain.npz", labels=LABELS.astype(np.int64), class_names=np.array(CLASSES), **parts)


main()
