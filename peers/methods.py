"""The libraries that we compare with, each trained on a table with early stopping on its validation rows and otherwise as it comes."""

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

import numpy as np
import pandas as pd

MOST_ROUNDS = 5000  # early stopping on validation ends training long before
PATIENCE = 100
MOST_CATEGORIES = 255  # of a column, in scikit-learn's trees


@dataclass
class Table:
    rows: pd.Series
    labels: np.ndarray  # index into the classes; -1 where the label is unknown
    features: pd.DataFrame  # columns f0, f1, ...: the libraries refuse some characters that real column names have

    @property
    def categorical(self) -> list[str]:
        return [name for name, column in self.features.items() if column.dtype == "category"]


@dataclass
class Task:
    train: Table
    valid: Table
    class_count: int
    seed: int
    threads: int
    settings: dict[str, object] = field(default_factory=dict)  # of the library, in place of ours and its defaults


@dataclass
class Trained:
    predict: Callable[[pd.DataFrame], np.ndarray]  # features -> probabilities; binary tasks may return P(class 1) only
    rounds: int | None  # none: the library does not say
    parameters: dict[str, object]
    save: Callable[[Path], None]  # to the folder, in the library's own format; only the trees that predict() uses
    gain: np.ndarray | None = None  # what each column's splits gained, where trees say it


def train_xgboost(task: Task) -> Trained:
    import xgboost

    parameters = {"objective": "binary:logistic" if task.class_count == 2 else "multi:softprob", "tree_method": "hist",
                  "learning_rate": 0.05, "max_depth": 6, "seed": task.seed, "nthread": task.threads,
                  "eval_metric": "logloss" if task.class_count == 2 else "mlogloss"}
    if task.class_count > 2:
        parameters["num_class"] = task.class_count
    parameters.update(task.settings)

    def matrix(table: Table) -> "xgboost.DMatrix":
        return xgboost.DMatrix(table.features, label=table.labels, enable_categorical=True, nthread=task.threads)

    booster = xgboost.train(parameters, matrix(task.train), MOST_ROUNDS, evals=[(matrix(task.valid), "valid")],
                            early_stopping_rounds=PATIENCE, verbose_eval=False)
    rounds = booster.best_iteration + 1

    def predict(features: pd.DataFrame) -> np.ndarray:
        return booster.predict(xgboost.DMatrix(features, enable_categorical=True, nthread=task.threads), iteration_range=(0, rounds))

    return Trained(predict, rounds, parameters, lambda folder: booster[:rounds].save_model(folder / "model.ubj"))


def train_lightgbm(task: Task) -> Trained:
    import lightgbm

    parameters = {"objective": "binary" if task.class_count == 2 else "multiclass", "learning_rate": 0.05, "num_leaves": 31,
                  "seed": task.seed, "num_threads": task.threads, "verbosity": -1}
    if task.class_count > 2:
        parameters["num_class"] = task.class_count
    parameters.update(task.settings)
    train = lightgbm.Dataset(task.train.features, label=task.train.labels)
    valid = lightgbm.Dataset(task.valid.features, label=task.valid.labels, reference=train)
    booster = lightgbm.train(parameters, train, MOST_ROUNDS, valid_sets=[valid],
                             callbacks=[lightgbm.early_stopping(PATIENCE, verbose=False)])
    return Trained(lambda features: booster.predict(features, num_iteration=booster.best_iteration), booster.best_iteration, parameters,
                   lambda folder: booster.save_model(folder / "model.txt", num_iteration=booster.best_iteration),
                   booster.feature_importance("gain", iteration=booster.best_iteration))


def train_catboost(task: Task) -> Trained:
    import catboost

    parameters = {"loss_function": "Logloss" if task.class_count == 2 else "MultiClass", "learning_rate": 0.05, "depth": 6,
                  "random_seed": task.seed, "thread_count": task.threads}
    if task.class_count > 2:
        parameters["classes_count"] = task.class_count
    parameters.update(task.settings)
    categorical = task.train.categorical

    def pool(features: pd.DataFrame, labels: np.ndarray | None = None) -> "catboost.Pool":
        texts = {name: features[name].astype(object).where(features[name].notna(), "") for name in categorical}
        return catboost.Pool(features.assign(**texts), labels, cat_features=categorical)

    model = catboost.CatBoost({**parameters, "iterations": MOST_ROUNDS, "allow_writing_files": False, "verbose": False})
    model.fit(pool(task.train.features, task.train.labels), eval_set=pool(task.valid.features, task.valid.labels),
              early_stopping_rounds=PATIENCE, use_best_model=True)
    return Trained(lambda features: model.predict(pool(features), prediction_type="Probability"), model.tree_count_, parameters,
                   lambda folder: model.save_model(str(folder / "model.cbm")))


def train_hist_gradient_boosting(task: Task) -> Trained:
    """scikit-learn's trees. Categories beyond the most frequent count as missing; predictions use the rounds up to the best on validation."""
    import joblib
    from sklearn.ensemble import HistGradientBoostingClassifier
    from threadpoolctl import threadpool_limits

    frequent = {name: list(task.train.features[name].value_counts().index[:MOST_CATEGORIES - 1]) for name in task.train.categorical}

    def narrowed(features: pd.DataFrame) -> pd.DataFrame:
        return features.assign(**{name: features[name].cat.set_categories(values) for name, values in frequent.items()})

    parameters = {"learning_rate": 0.05, "max_iter": MOST_ROUNDS, "n_iter_no_change": PATIENCE, "tol": 0.0, "random_state": task.seed,
                  **task.settings}
    model = HistGradientBoostingClassifier(**parameters, early_stopping=True, scoring="loss", categorical_features="from_dtype")
    with threadpool_limits(task.threads):
        model.fit(narrowed(task.train.features), task.train.labels, X_val=narrowed(task.valid.features), y_val=task.valid.labels)
    rounds = int(np.argmax(model.validation_score_[1:])) + 1  # minus the loss; the first is that of the prior

    def predict(features: pd.DataFrame) -> np.ndarray:
        found = next(islice(model.staged_predict_proba(narrowed(features)), rounds - 1, None))
        return of_all_classes(found, model.classes_, task.class_count)

    return Trained(predict, rounds, parameters, lambda folder: joblib.dump(model, folder / "model.joblib"))


def of_all_classes(found: np.ndarray, classes: np.ndarray, class_count: int) -> np.ndarray:
    """Probabilities of all classes from those of the classes that the training rows have."""
    probabilities = np.zeros((len(found), class_count))
    probabilities[:, np.asarray(classes, dtype=int)] = found
    return probabilities


class WithoutMissing:
    """Features as the networks of pytabkit take them: missing numbers become the training rows' median, with a column that says so; missing
    categories are a category."""

    def __init__(self, train: Table) -> None:
        from sklearn.impute import SimpleImputer

        self.categorical = train.categorical
        self.numeric = [name for name in train.features if name not in self.categorical]
        self.imputer = SimpleImputer(strategy="median", add_indicator=True, keep_empty_features=True)
        if self.numeric:
            self.imputer.fit(train.features[self.numeric])

    def __call__(self, features: pd.DataFrame) -> pd.DataFrame:
        texts = {name: features[name].astype(object).where(features[name].notna(), "").astype(str) for name in self.categorical}
        if not self.numeric:
            return pd.DataFrame(texts)
        values = self.imputer.transform(features[self.numeric])
        numbers = {f"n{place}": values[:, place] for place in range(values.shape[1])}
        return pd.DataFrame({**texts, **numbers})


class OfLogProbabilities:
    """TabM in pytabkit 1.7 hands probabilities to a validation metric that expects logits, and so keeps an epoch far beyond the best (log loss 1.06 in place
    of .70 on 1,200 rows of three classes). Here it gets their logarithms, which are logits."""

    @staticmethod
    def apply(predicted, labels, metric_name: str):
        from pytabkit.models.training.metrics import Metrics

        return Metrics.apply(predicted.clamp_min(1e-15).log(), labels, metric_name)


def train_pytabkit(task: Task, kind: str) -> Trained:
    """RealMLP with its tuned defaults or TabM with its defaults; both keep the epoch of the best log loss on validation, as the package's
    documentation advises where log loss is judged (for RealMLP together with no label smoothing)."""
    import joblib
    import pytabkit
    from pytabkit.models.alg_interfaces import tabm_interface

    tabm_interface.Metrics = OfLogProbabilities
    parameters: dict[str, object] = {"val_metric_name": "cross_entropy", "random_state": task.seed}
    if kind == "realmlp":
        parameters["use_ls"] = False
    parameters.update(task.settings)
    maker = pytabkit.RealMLP_TD_Classifier if kind == "realmlp" else pytabkit.TabM_D_Classifier
    model = maker(**parameters, device="cpu", n_threads=task.threads)
    complete = WithoutMissing(task.train)
    model.fit(complete(task.train.features), task.train.labels, complete(task.valid.features), task.valid.labels,
              cat_col_names=complete.categorical)
    return Trained(lambda features: of_all_classes(model.predict_proba(complete(features)), model.classes_, task.class_count), None, parameters,
                   lambda folder: joblib.dump(model, folder / "model.joblib"))


@dataclass
class Method:
    train: Callable[[Task], Trained]
    packages: tuple[str, ...]  # whose versions a run names


METHODS = {
    "xgboost": Method(train_xgboost, ("xgboost-cpu",)),
    "lightgbm": Method(train_lightgbm, ("lightgbm",)),
    "catboost": Method(train_catboost, ("catboost",)),
    "hist-gradient-boosting": Method(train_hist_gradient_boosting, ("scikit-learn",)),
    "realmlp": Method(lambda task: train_pytabkit(task, "realmlp"), ("pytabkit", "torch")),
    "tabm": Method(lambda task: train_pytabkit(task, "tabm"), ("pytabkit", "torch")),
}
