"""Make a data set whose collection mixes two languages, out of two parallel ones (XQuAD zh and en, in BEIR layout).

    python -m tests.bench.mixed_languages DATA/xquad-zh DATA/xquad-en OUT && ragledger eval --dataset OUT

Every other passage stands in the first language only, the rest in the second only; every question is asked in both, so
that half of the questions find their answer in the other language, among as many passages in their own.
"""

# ruff: noqa: T201 - it prints

import argparse
import json
import sys
from pathlib import Path


def main() -> int:
    arguments = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    arguments.add_argument("first", type=Path)
    arguments.add_argument("second", type=Path)
    arguments.add_argument("out", type=Path)
    options = arguments.parse_args()
    corpora = [read(folder / "corpus.jsonl") for folder in (options.first, options.second)]
    ids = [entry["_id"] for entry in corpora[0]]
    if ids != [entry["_id"] for entry in corpora[1]]:
        raise SystemExit("the two sets are not parallel: their passages differ in number or order")
    options.out.mkdir(parents=True, exist_ok=True)
    write(options.out / "corpus.jsonl", [corpora[at % 2][at] for at in range(len(ids))])
    questions = [
        entry | {"_id": f"{entry['_id']}-{number}"}
        for number, folder in enumerate((options.first, options.second))
        for entry in read(folder / "queries.jsonl")
    ]
    write(options.out / "queries.jsonl", questions)
    head, *rows = (options.first / "qrels.tsv").read_text(encoding="utf-8").splitlines()
    both = [
        f"{question}-{number}\t{rest}" for row in rows for question, rest in [row.split("\t", 1)] for number in (0, 1)
    ]
    (options.out / "qrels.tsv").write_text("\n".join([head, *both]) + "\n", encoding="utf-8")
    print(f"{len(ids)} passages, {len(questions)} questions")
    return 0


def read(path: Path) -> list[dict[str, str]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def write(path: Path, entries: list[dict[str, str]]) -> None:
    path.write_text("".join(json.dumps(entry, ensure_ascii=False) + "\n" for entry in entries), encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
