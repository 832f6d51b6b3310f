"""A folder of weights as the transformers library wants it: the only *.safetensors file under the name that it knows."""

import os
import tempfile
from pathlib import Path


def hf_folder(folder: str | Path) -> str:
    folder = Path(folder).resolve()
    files = list(folder.glob("*.safetensors"))
    if (folder / "model.safetensors").exists() or len(files) != 1:
        return str(folder)
    renamed = Path(tempfile.mkdtemp(prefix="weights-"))
    for file in folder.iterdir():
        os.symlink(file, renamed / ("model.safetensors" if file in files else file.name))
    return str(renamed)
