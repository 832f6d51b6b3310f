"""LightGBM behind FastAPI, as bench/peers/serve_load.py measures it: the same rows in the same JSON as l0gm-serve reads.
Usage: MODEL_DIR=runs/lightgbm uvicorn fastapi_lightgbm:app --workers 2   (MODEL_DIR: what peers/train.py lightgbm has written)"""
import json
import math
import os
from pathlib import Path

import lightgbm
import numpy as np
from fastapi import FastAPI, Request

folder = Path(os.environ["MODEL_DIR"])
encoding = json.loads((folder / "encoding.json").read_text())
booster = lightgbm.Booster(model_file=str(folder / "model.txt"))
columns = [*encoding["categorical"], *encoding["numeric"]]
codes = {name: {text: float(code) for code, text in enumerate(texts)} for name, texts in encoding["categorical"].items()}
app = FastAPI()


def number(column: str, value: object) -> float:
    if column in codes:
        return codes[column].get(value, math.nan)
    return math.nan if value is None else float(value)


@app.post("/predict")
async def predict(request: Request) -> dict:
    rows = (await request.json())["rows"]
    numbers = np.array([[number(column, row[column]) for column in columns] for row in rows])
    shares = booster.predict(numbers, num_threads=1)  # two workers on two cores
    return {"probabilities": [[1 - p, p] for p in shares.tolist()]}
