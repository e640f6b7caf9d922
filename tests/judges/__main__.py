"""python -m tests.judges ops|modules|optimisers [--only NAME] [--samples 8] [-v]"""

import argparse
import collections
import importlib
import time

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("which", choices=["ops", "modules", "optimisers"])
parser.add_argument("--only", help="one entry, by PyTorch's name")
parser.add_argument("--samples", type=int, default=8, help="samples of an entry (8)")
parser.add_argument("-v", action="store_true", help="each entry, also those that are whole")
options = parser.parse_args()

began = time.time()
judge = importlib.import_module(f".{options.which}", __package__)
found = list(judge.entries(options.samples, options.only))
for entry in sorted(found, key=lambda e: (e.verdict, e.name)):
    if options.v or options.only or entry.verdict not in ("whole", "apart"):
        print(f"{entry.verdict:9} {entry.share:>6} {entry.name:45} {entry.why}")
        if options.only:
            for verdict, why in entry.found:
                print("   ", verdict, why)
totals = collections.Counter(entry.verdict for entry in found)
asked = len(found) - totals["apart"]
good = totals["whole"] + totals["otherwise"]
print(f"\n{options.which}: " + ", ".join(f"{n} {verdict}" for verdict, n in totals.most_common()))
print(f"{good} of {asked} whole: {100 * good / max(asked, 1):.1f} %   ({time.time() - began:.0f} s)")
