"""What stands in a table? The lines of a CSV file as rows: a line a trial.

    $ python3 convert.py csv tests/data/convert/scores.csv --case task --trial run --config model --score correct | wc -l
    note: trials of config 'small': 4
    note: trials of config 'large': 4
    8

Files are read line by line.
"""

import argparse
import csv
import re

from core.files import RunError
from importers.rows import Rows, lines, score_of


def cmd_csv(args: argparse.Namespace, rows: Rows) -> None:
    csv.field_size_limit(2**27)  # an answer kept in a column may be longer than the usual 128 KiB
    for path in args.logs:
        reader = csv.reader(lines(path), delimiter="\t" if args.delimiter == "tab" else args.delimiter, strict=True)
        try:
            header = next(reader, [])
            named = [name for name in (args.case, args.trial, args.config) if name]
            for name in filter(None, (*named, args.score, args.cluster, args.error, *(args.tag or ()))):
                if header.count(name) != 1:
                    raise RunError(f"{path}:1: {header.count(name) or 'no'} columns {name!r}; there are: "
                                   f"{', '.join(header) or 'none'}")
            for cells in filter(None, reader):
                where, row = f"{path}:{reader.line_num}", dict(zip(header, cells))
                if len(cells) != len(header):
                    raise RunError(f"{where}: {len(cells)} cells, but {len(header)} columns; correct the line")
                if blank := [name for name in named if not row[name].strip()]:
                    raise RunError(f"{where}: {blank[0]} is blank; fill it in")
                seed, given = row[args.trial] if args.trial else "1", row[args.score].strip()
                score, error = score_of(given) if given else (None, "no score")
                if error and given:
                    raise RunError(f"{where}: score {given!r:.60} is no number, true or false; correct it")
                rows.add(where, row[args.case], int(seed) if re.fullmatch(r"0|[1-9]\d{0,17}", seed, re.ASCII) else seed,
                         row[args.config], score, args.error and row[args.error].strip() or error, row)
        except csv.Error as error:
            raise RunError(f"{path}:{reader.line_num}: {error}; correct the quotes, or give --delimiter") from None
